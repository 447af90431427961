//! Linker flags and tools that are gone, with the real clang, lld, setuptools, CMake and Ninja.

mod support;

use std::fs;

use support::mini_triton::{BUILD, NOT_FOUND, assert_linked_by_lld, mini_triton, tree};
use support::story::{Story, cached};
use support::{Sandbox, tools};

fn git(sandbox: &Sandbox, args: &[&str]) {
    let settings = ["-c", "user.name=a", "-c", "user.email=a@b", "-c", "init.defaultBranch=main"];
    sandbox.run("git", settings.iter().chain(args)).expect(0);
}

#[test]
fn the_projects_own_variable_carries_the_flags() {
    let sandbox = mini_triton();
    let script = sandbox.project().join("setup.py");
    let before = fs::read(&script).unwrap();
    let story = Story::new(&sandbox, BUILD, NOT_FOUND);
    story.fails();
    let done = story.fix_command(&["run", "--yes"]).expect(0).says("tda-1.10").says("TRITON_APPEND_CMAKE_ARGS");
    assert_linked_by_lld(&tree(&sandbox));
    assert_eq!(fs::read(&script).unwrap(), before);
    // What is printed for the user's own shell does the same there.
    let lines: Vec<&str> = done.stderr.lines().map(str::trim).filter(|line| line.starts_with("export ")).collect();
    assert_eq!(lines.len(), 1, "{}", done.stderr);
    sandbox.run("bash", ["-c", &format!("{}\n{}", lines[0], BUILD.join(" "))]).expect(0);
    // Nothing was written, so that there is nothing to take back; without the variable it fails as before.
    story.fix(&["rollback"]).expect(0);
    story.fails();
}

#[test]
fn what_the_user_appends_already_is_kept() {
    let mut sandbox = mini_triton();
    let exe = "-DCMAKE_EXE_LINKER_FLAGS='-fuse-ld=lld -Wl,--build-id'";
    sandbox.set("TRITON_APPEND_CMAKE_ARGS", format!("-DMY_OPT=7 {exe}"));
    let story = Story::new(&sandbox, BUILD, NOT_FOUND);
    story.fails();
    story.fix_command(&["run", "--yes"]).expect(0).says("tda-1.10");
    let tree = tree(&sandbox);
    assert_linked_by_lld(&tree);
    assert_eq!(cached(&tree, "MY_OPT").as_deref(), Some("7"));
    let flags = cached(&tree, "CMAKE_EXE_LINKER_FLAGS").unwrap();
    assert!(flags.contains("-Wl,--build-id") && flags.contains("-fuse-ld=lld") && flags.contains("-L"), "{flags}");
    story.fails();
}

#[test]
fn a_plain_cmake_project_gets_the_folder_by_library_path() {
    for compiler in ["gcc", "clang"] {
        let mut sandbox = mini_triton();
        fs::remove_file(sandbox.project().join("setup.py")).unwrap();
        sandbox.set("LIBRARY_PATH", "/nowhere/lib");
        let (cc, cxx) = if compiler == "gcc" { ("gcc", "g++") } else { ("clang", "clang++") };
        let line = format!(
            "cmake -G Ninja -B build -DCMAKE_C_COMPILER={cc} -DCMAKE_CXX_COMPILER={cxx} && cmake --build build -j1"
        );
        let story = Story::new(&sandbox, ["bash", "-c", &line], "cannot find -loddlib");
        story.fails();
        let done = story.fix_command(&["run", "--yes"]).expect(0).says("tda-1.10").says("LIBRARY_PATH");
        assert!(done.stderr.contains("/odd\"${LIBRARY_PATH:+:$LIBRARY_PATH}\""), "{}", done.stderr);
        let build = sandbox.project().join("build");
        assert!(build.join("mini_ext.so").exists() && build.join("mini-opt").exists());
        fs::remove_dir_all(build).unwrap();
        story.fails();
    }
}

#[test]
fn a_patch_of_setup_py_comes_and_goes_with_the_build_tree() {
    let sandbox = mini_triton();
    let script = sandbox.project().join("setup.py");
    let before = fs::read_to_string(&script).unwrap();
    let flags = format!("-fuse-ld=lld -L{}", sandbox.root().join("odd").display());
    let story = Story::new(&sandbox, BUILD, NOT_FOUND);
    let patched = |_: &support::Done| {
        assert_linked_by_lld(&tree(&sandbox));
        let after = fs::read_to_string(&script).unwrap();
        for kind in ["EXE", "SHARED", "MODULE"] {
            let name = format!("CMAKE_{kind}_LINKER_FLAGS");
            assert_eq!(after.matches(&format!("-D{name}=")).count(), 1, "{after}");
            assert_eq!(cached(&tree(&sandbox), &name).as_deref(), Some(&*flags));
        }
        // The rest of the file is as it was.
        let changed = before.lines().zip(after.lines()).filter(|(old, new)| old != new).count();
        assert_eq!((changed, before.lines().count()), (3, after.lines().count()));
    };
    story.is_repaired("tda-1.10", &["--set", "how=patch"], patched);
    assert_eq!(fs::read_to_string(&script).unwrap(), before);
    assert_eq!(cached(&tree(&sandbox), "CMAKE_EXE_LINKER_FLAGS").as_deref(), Some("-fuse-ld=lld"));
    story.is_repaired_by_name("tda-1.10", &["--set", "how=patch"], patched);
}

#[test]
fn a_patch_of_a_tracked_file_needs_a_yes_of_its_own() {
    let sandbox = mini_triton();
    sandbox.write(".gitignore", "build/\n");
    git(&sandbox, &["init", "-q"]);
    git(&sandbox, &["add", "."]);
    git(&sandbox, &["commit", "-q", "-m", "project"]);
    let story = Story::new(&sandbox, BUILD, NOT_FOUND);
    let status = |sandbox: &Sandbox| sandbox.run("git", ["status", "--porcelain"]).expect(0).stdout;
    story.fix_command(&["run", "--yes", "--set", "how=patch"]).expect(1).says("--yes=confirm");
    assert_eq!(status(&sandbox), "");
    story.fix_command(&["run", "--yes=confirm", "--set", "how=patch"]).expect(0);
    assert_linked_by_lld(&tree(&sandbox));
    assert_eq!(status(&sandbox), " M setup.py\n");
    story.fix(&["rollback"]).expect(0);
    assert_eq!(status(&sandbox), "");
    story.fails();
}

#[test]
fn pasted_duplicates_that_drop_lld_are_healed() {
    let sandbox = mini_triton();
    let odd = sandbox.root().join("odd").display().to_string();
    let script = sandbox.project().join("setup.py");
    let text = fs::read_to_string(&script).unwrap();
    // As the FAQ is followed to the letter: a second `-D` of two kinds, and none of the third.
    let last = "            \"-DCMAKE_SHARED_LINKER_FLAGS=-fuse-ld=lld\",\n";
    let pasted = format!(
        "            \"-DCMAKE_EXE_LINKER_FLAGS=-L{odd}\",\n            \"-DCMAKE_SHARED_LINKER_FLAGS=-L{odd}\",\n"
    );
    let (start, end) = (text.find("    cmake_args_append").unwrap(), text.find("    folder = cmake_dir()").unwrap());
    let text = format!("{}{}", &text[..start], &text[end..]).replace(last, &format!("{last}{pasted}"));
    fs::write(&script, text).unwrap();
    let story = Story::new(&sandbox, BUILD, NOT_FOUND);
    story.is_repaired("tda-1.10", &[], |_| {
        assert_linked_by_lld(&tree(&sandbox));
        let after = fs::read_to_string(&script).unwrap();
        for kind in ["EXE", "SHARED", "MODULE"] {
            assert_eq!(after.matches(&format!("-DCMAKE_{kind}_LINKER_FLAGS=")).count(), 1, "{after}");
        }
    });
}

#[test]
fn gnu_ld_gets_the_folder_as_well() {
    let mut sandbox = mini_triton();
    sandbox.set("TRITON_BUILD_WITH_CLANG_LLD", "0");
    let story = Story::new(&sandbox, BUILD, "cannot find -loddlib");
    story.fails();
    story.fix_command(&["run", "--yes"]).expect(0).says("tda-1.10");
    // This setup.py gives GNU ld no flags of its own, so that CMake keeps those of the run in its cache.
    fs::remove_dir_all(sandbox.project().join("build")).unwrap();
    story.fails();
}

#[test]
fn a_library_that_is_nowhere_is_left_alone() {
    let sandbox = mini_triton();
    let text = fs::read_to_string(sandbox.project().join("CMakeLists.txt")).unwrap();
    sandbox.write("CMakeLists.txt", text.replace("oddlib", "nowherelib"));
    let message = "ld.lld: error: unable to find library -lnowherelib";
    let story = Story::new(&sandbox, BUILD, message);
    story.is_left_alone(&[]).says("in no folder of this machine");
    story.is_left_alone_by_name("tda-1.10");
}

#[test]
fn a_library_without_its_link_is_left_alone() {
    let sandbox = mini_triton();
    let odd = sandbox.root().join("odd");
    fs::rename(odd.join("liboddlib.so"), odd.join("liboddlib.so.1")).unwrap();
    Story::new(&sandbox, BUILD, NOT_FOUND).is_left_alone(&[]).says("development package");
}

/// A C project with a static library, and an LLVM whose archiver is found on PATH; the compiler lies elsewhere.
fn archiver_gone(sandbox: &mut Sandbox, generator: &str) -> Vec<String> {
    let text = "cmake_minimum_required(VERSION 3.20)\nproject(small C)\nadd_library(part STATIC part.c)\n";
    sandbox.write("CMakeLists.txt", text);
    sandbox.write("part.c", "int part(void) { return 0; }\n");
    let (compilers, archivers) = (sandbox.root().join("cc"), sandbox.root().join("llvm-a/bin"));
    for (folder, names) in [(&compilers, &["clang"][..]), (&archivers, &["llvm-ar", "llvm-ranlib"][..])] {
        fs::create_dir_all(folder).unwrap();
        for name in names {
            std::os::unix::fs::symlink(tools::llvm().join(name), folder.join(name)).unwrap();
        }
    }
    sandbox.prepend_path(tools::python_tools());
    sandbox.prepend_path(&compilers);
    let command = ["cmake", "-G", generator, "-B", "build", "-DCMAKE_C_COMPILER=clang", "-DMY_OPT=7"];
    let path = format!("{}:{}", archivers.display(), sandbox.env()[std::ffi::OsStr::new("PATH")].display());
    let mut first = sandbox.command("/usr/bin/env");
    first.args(command).env("PATH", path);
    support::done(first.output().unwrap()).expect(0);
    assert_eq!(
        cached(&sandbox.project().join("build"), "CMAKE_AR"),
        Some(archivers.join("llvm-ar").display().to_string())
    );
    fs::rename(sandbox.root().join("llvm-a"), sandbox.root().join("llvm-b")).unwrap();
    sandbox.prepend_path(&sandbox.root().join("llvm-b/bin"));
    // CMake takes the cached paths when it configures again, and notices nothing; the build fails.
    let line = format!("cmake -G '{generator}' -B build -DCMAKE_C_COMPILER=clang && cmake --build build");
    ["bash", "-c", &line].map(str::to_owned).to_vec()
}

#[test]
fn a_cached_archiver_that_is_gone_is_looked_for_anew() {
    let mut sandbox = Sandbox::new();
    let command = archiver_gone(&mut sandbox, "Ninja");
    let build = sandbox.project().join("build");
    let story = Story::new(&sandbox, command, "llvm-a/bin/llvm-ar: not found");
    // The line configures without MY_OPT: never unasked.
    story.fix_command(&["run", "--yes"]).expect(127).says("--yes=confirm").says("MY_OPT");
    story.is_repaired("tda-1.10", &["--yes=confirm"], |done| {
        assert!(cached(&build, "CMAKE_AR").unwrap().contains("llvm-b/bin/llvm-ar"));
        assert!(build.join("libpart.a").exists());
        // A shell line takes no more arguments: the settings are told.
        assert!(done.stderr.contains("MY_OPT"), "{}", done.stderr);
    });
}

#[test]
fn make_names_no_archiver_and_is_understood() {
    let mut sandbox = Sandbox::new();
    let command = archiver_gone(&mut sandbox, "Unix Makefiles");
    let build = sandbox.project().join("build");
    let story = Story::new(&sandbox, command, "Error running link command: no such file or directory");
    story.is_repaired("tda-1.10", &["--yes=confirm"], |_| assert!(build.join("libpart.a").exists()));
}

#[test]
fn an_archiver_that_the_user_names_is_left_alone() {
    let mut sandbox = Sandbox::new();
    archiver_gone(&mut sandbox, "Ninja");
    fs::remove_dir_all(sandbox.project().join("build")).unwrap();
    // No residue: the project's own file says so at every configure.
    let text = "cmake_minimum_required(VERSION 3.20)\nproject(small C)\nset(CMAKE_AR /nowhere/bin/llvm-ar)\n\
        add_library(part STATIC part.c)\n";
    sandbox.write("CMakeLists.txt", text);
    let line = "cmake -G Ninja -B build -DCMAKE_C_COMPILER=clang && cmake --build build";
    let story = Story::new(&sandbox, ["bash", "-c", line], "/nowhere/bin/llvm-ar: not found");
    story.is_left_alone(&[]);
    story.is_left_alone_by_name("tda-1.10");
}
