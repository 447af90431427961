//! Failures of builds that anybody meets, with the real GCC, clang, CMake, Ninja and make.

mod support;

use std::fs;
use std::os::unix::fs::symlink;
use std::path::Path;

use support::story::Story;
use support::{Sandbox, tools};

const GENERATORS: [&str; 2] = ["Ninja", "Unix Makefiles"];

/// A sandbox with CMake and Ninja, and a project of a library and a program.
fn sandbox() -> Sandbox {
    let mut sandbox = Sandbox::new();
    sandbox.prepend_path(tools::python_tools());
    sandbox.write(
        "CMakeLists.txt",
        "cmake_minimum_required(VERSION 3.20)\nproject(small C)\nadd_library(part STATIC part.c)\n\
         add_executable(app app.c main.c)\ntarget_link_libraries(app part)\n",
    );
    sandbox.write("part.c", "int part(void) { return 0; }\n");
    sandbox.write("app.c", "int part(void);\nint helper(void) { return part(); }\n");
    sandbox.write("main.c", "int helper(void);\nint main(void) { return helper(); }\n");
    sandbox
}

fn configure(sandbox: &Sandbox, generator: &str, more: &[&str]) {
    let args = ["-G", generator, "-B", "build"];
    sandbox.run("cmake", args.iter().chain(more)).expect(0);
}

/// Takes programs away from PATH, and nothing else of the machine.
fn hide(sandbox: &mut Sandbox, hidden: &[&str]) {
    let bin = sandbox.root().join("bin");
    fs::create_dir(&bin).unwrap();
    for folder in ["/usr/bin", tools::python_tools().to_str().unwrap()] {
        for entry in fs::read_dir(folder).unwrap() {
            let entry = entry.unwrap();
            let name = entry.file_name();
            let is_hidden = hidden.iter().any(|start| name.to_string_lossy().starts_with(start));
            if !is_hidden && !bin.join(&name).exists() {
                symlink(entry.path(), bin.join(name)).unwrap();
            }
        }
    }
    sandbox.set("PATH", bin);
}

/// Leaves a file empty, as a loss of power does: its time stays.
fn empty(path: &Path) {
    let time = fs::metadata(path).unwrap().modified().unwrap();
    let file = fs::OpenOptions::new().write(true).truncate(true).open(path).unwrap();
    file.set_modified(time).unwrap();
}

#[test]
fn empty_inputs_of_the_failed_link_step_are_built_again() {
    for generator in GENERATORS {
        for (file, message) in [
            ("CMakeFiles/app.dir/main.c.o", "undefined reference to `main'"),
            ("libpart.a", "undefined reference to `part'"),
        ] {
            let sandbox = sandbox();
            configure(&sandbox, generator, &[]);
            sandbox.run("cmake", ["--build", "build"]).expect(0);
            let build = sandbox.project().join("build");
            empty(&build.join(file));
            fs::remove_file(build.join("app")).unwrap();
            let story = Story::new(&sandbox, ["cmake", "--build", "build"], message);
            story.fails();
            story.fix_command(&["run", "--yes"]).expect(0).says("cmake-empty-objects").says(file);
            assert!(fs::metadata(build.join(file)).unwrap().len() > 0);
            sandbox.run("./build/app", [""; 0]).expect(0);
        }
    }
}

#[test]
fn what_is_really_undefined_is_nothing_of_ours() {
    for generator in GENERATORS {
        let sandbox = sandbox();
        sandbox.write("main.c", "int nowhere(void);\nint main(void) { return nowhere(); }\n");
        // Empty, and no input of this step.
        sandbox.write("build/CMakeFiles/other.dir/main.c.o", "");
        configure(&sandbox, generator, &[]);
        let story = Story::new(&sandbox, ["cmake", "--build", "build"], "undefined reference to `nowhere'");
        story.is_left_alone(&[]).says("no known issue");
    }
}

#[test]
fn a_linker_of_another_folder_is_put_on_path() {
    let clang = tools::llvm().join("clang");
    for (compiler, message) in [
        ("gcc", "collect2: fatal error: cannot find"),
        ("old/bin/clang", "invalid linker name in argument '-fuse-ld=lld'"),
    ] {
        let mut sandbox = sandbox();
        hide(&mut sandbox, &["clang", "lld", "ld.lld"]);
        // A clang that has no linker beside it.
        let old = sandbox.project().join("old/bin");
        fs::create_dir_all(&old).unwrap();
        fs::copy(&clang, old.join("clang")).unwrap();
        let compiler = if compiler == "gcc" { compiler.into() } else { sandbox.project().join(compiler) };
        let compiler = format!("-DCMAKE_C_COMPILER={}", compiler.display());
        let command = ["cmake", "-B", "build", &compiler, "-DCMAKE_EXE_LINKER_FLAGS=-fuse-ld=lld"];
        let story = Story::new(&sandbox, command, message);
        story.fails();
        story.fix_command(&["run", "--yes=confirm"]).expect(0).says("cc-linker-missing").says("ld.lld is on PATH");
        // The repair was of the run alone.
        fs::remove_dir_all(sandbox.project().join("build")).unwrap();
        story.fails();
    }
}

#[test]
fn a_linker_that_is_not_here_is_named() {
    for generator in GENERATORS {
        let mut sandbox = sandbox();
        hide(&mut sandbox, &["mold", "ld.mold"]);
        configure(&sandbox, generator, &[]);
        // CMake has looked at the compiler already; make does not show the command that fails.
        configure(&sandbox, generator, &["-DCMAKE_EXE_LINKER_FLAGS=-fuse-ld=mold"]);
        let story = Story::new(&sandbox, ["cmake", "--build", "build"], "collect2: fatal error: cannot find");
        story.is_left_alone(&[]).says("cc-linker-missing").says("misses `ld.mold`");
    }
}

#[test]
fn a_moved_project_is_recognised_when_it_is_only_built() {
    for (generator, command) in [
        ("Ninja", &["ninja", "-C", "build"][..]),
        ("Ninja", &["cmake", "--build", "build"]),
        ("Unix Makefiles", &["make", "-C", "build"]),
    ] {
        let sandbox = sandbox();
        let old = sandbox.root().join("old");
        support::copy_tree(&sandbox.project(), &old);
        let mut first = sandbox.command("cmake");
        first.args(["-G", generator, "-B", "build"]).current_dir(&old);
        support::done(first.output().unwrap()).expect(0);
        fs::remove_dir_all(sandbox.project()).unwrap();
        fs::rename(&old, sandbox.project()).unwrap();
        let story = Story::new(&sandbox, command.iter().copied(), "The source directory");
        story.is_left_alone(&[]).says("cmake-source-moved").says("cmake -S");
        // With a command that configures it is repaired.
        let line = format!("{} || cmake -G '{generator}' -B build", command.join(" "));
        let story = Story::new(&sandbox, ["bash", "-c", &line], "The source directory");
        story.fix_command(&["run", "--yes"]).expect(0).says("cmake-source-moved");
    }
}

#[test]
fn a_search_folder_that_does_not_exist_is_named() {
    for generator in GENERATORS {
        let sandbox = sandbox();
        sandbox.write(
            "CMakeLists.txt",
            "cmake_minimum_required(VERSION 3.20)\nproject(small C)\nadd_executable(app alone.c)\n\
             target_link_directories(app PRIVATE /nowhere/lib)\ntarget_link_libraries(app oddly)\n",
        );
        sandbox.write("alone.c", "int main(void) { return 0; }\n");
        configure(&sandbox, generator, &[]);
        let story = Story::new(&sandbox, ["cmake", "--build", "build"], "cannot find -loddly");
        let done = story.is_left_alone(&[]).says("tda-1.10").says("/nowhere/lib, which does not exist");
        assert!(!done.stderr.contains("<install>"), "{}", done.stderr);
    }
}

#[test]
fn a_cached_library_that_is_gone_is_looked_for_anew() {
    let mut sandbox = sandbox();
    sandbox.write(
        "CMakeLists.txt",
        "cmake_minimum_required(VERSION 3.20)\nproject(small C)\nfind_library(ODD oddly REQUIRED)\n\
         add_executable(app alone.c)\ntarget_link_libraries(app ${ODD})\n",
    );
    sandbox.write("alone.c", "int main(void) { return 0; }\n");
    let folder = |name: &str| sandbox.root().join(name);
    let (old, new) = (folder("old-libs"), folder("new-libs"));
    fs::create_dir(&old).unwrap();
    sandbox.run("gcc", ["-shared", "-o", old.join("liboddly.so").to_str().unwrap(), "-x", "c", "/dev/null"]).expect(0);
    sandbox.set("CMAKE_LIBRARY_PATH", format!("{}:{}", old.display(), new.display()));
    configure(&sandbox, "Ninja", &[]);
    fs::rename(&old, &new).unwrap();
    let story = Story::new(&sandbox, ["ninja", "-C", "build"], "missing and no known rule to make it");
    story.is_left_alone(&[]).says("cmake-library-gone");
    let line = "cmake -G Ninja -B build && ninja -C build";
    let story = Story::new(&sandbox, ["bash", "-c", line], "missing and no known rule to make it");
    story.is_repaired("cmake-library-gone", &["--yes=confirm"], |done| {
        let has = support::story::cached(&sandbox.project().join("build"), "ODD");
        assert_eq!(has, Some(new.join("liboddly.so").display().to_string()), "{}", done.stderr);
    });
}

#[test]
fn a_ninja_of_another_folder_is_put_on_path_and_none_is_told() {
    let mut sandbox = sandbox();
    hide(&mut sandbox, &["ninja"]);
    let command = ["cmake", "-G", "Ninja", "-B", "build"];
    let own = sandbox.home().join(".local/bin");
    fs::create_dir_all(&own).unwrap();
    symlink(tools::python_tools().join("ninja"), own.join("ninja")).unwrap();
    let story = Story::new(&sandbox, command, "unable to find a build program corresponding to \"Ninja\"");
    story.fails();
    story.fix_command(&["run", "--yes=confirm"]).expect(0).says("cmake-build-program-missing");
}

#[test]
fn a_package_that_is_not_found_is_advised_about_and_never_chosen() {
    let sandbox = sandbox();
    let package = |name: &str, how: &str| {
        let text = "cmake_minimum_required(VERSION 3.20)\nproject(small C)\n";
        sandbox.write("CMakeLists.txt", format!("{text}find_package({name} {how})\n"));
        Story::new(&sandbox, ["cmake", "-B", "build"], "Could not find a package configuration file")
    };
    package("Oddly", "REQUIRED").is_left_alone(&[]).says("no configuration file of Oddly");
    package("Oddly", "CONFIG REQUIRED").is_left_alone(&[]).says("cmake-package-not-found").does_not_say("<install>");
}

#[test]
fn a_folder_that_is_not_configured_is_told_from_one_that_is_half() {
    let sandbox = sandbox();
    let ninja = |message: &str| Story::new(&sandbox, ["ninja", "-C", "build"], message.to_owned());
    ninja("chdir to 'build'").is_left_alone(&[]).says("is not configured");
    fs::create_dir(sandbox.project().join("build")).unwrap();
    let loading = "loading 'build.ninja'";
    ninja(loading).is_left_alone(&[]).says("is not configured");
    sandbox.run("cmake", ["-G", "Ninja", "-B", "build", "-DCMAKE_C_COMPILER=nonesuch"]);
    ninja(loading).is_left_alone(&[]).says("did not end well");
    fs::remove_dir_all(sandbox.project().join("build")).unwrap();
    configure(&sandbox, "Unix Makefiles", &[]);
    ninja(loading).is_left_alone(&[]).says("is configured for Unix Makefiles");
}
