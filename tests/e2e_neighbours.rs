//! Build trees that CMake refuses or that hold broken files, with the real CMake 3.31, CMake 4, Ninja and make.

mod support;

use std::ffi::OsString;
use std::fs;
use std::path::Path;

use support::story::{Story, cached};
use support::{Sandbox, copy_tree, tools};

fn sandbox() -> Sandbox {
    let mut sandbox = Sandbox::new();
    sandbox.prepend_path(tools::python_tools());
    sandbox
}

/// A project that compiles nothing, and so configures at once on any machine.
fn plain_project(sandbox: &Sandbox, folder: &str) {
    let text = "cmake_minimum_required(VERSION 3.20)\nproject(plain LANGUAGES NONE)\n\
        add_custom_target(app ALL COMMAND ${CMAKE_COMMAND} -E touch app.done)\n";
    sandbox.write(&format!("{folder}CMakeLists.txt"), text);
}

/// A static library and a program.
fn c_project(sandbox: &Sandbox) {
    let text = "cmake_minimum_required(VERSION 3.20)\nproject(small C)\nadd_library(part STATIC part.c)\n\
        add_executable(main main.c)\ntarget_link_libraries(main part)\n";
    sandbox.write("CMakeLists.txt", text);
    sandbox.write("part.c", "int part(void) { return 0; }\n");
    sandbox.write("main.c", "int part(void);\nint main(void) { return part(); }\n");
}

#[test]
fn another_generator_gets_a_new_tree_with_the_old_settings() {
    let sandbox = sandbox();
    plain_project(&sandbox, "");
    sandbox.run("cmake", ["-G", "Unix Makefiles", "-B", "build", "-DMY_OPT=7"]).expect(0);
    let build = sandbox.project().join("build");
    let message = "Error: generator : Ninja Does not match the generator used previously: Unix Makefiles";
    let story = Story::new(&sandbox, ["cmake", "-G", "Ninja", "-B", "build"], message);
    story.is_repaired_by_name("cmake-generator-mismatch", &[], |_| {
        assert_eq!(cached(&build, "CMAKE_GENERATOR").as_deref(), Some("Ninja"));
        assert_eq!(cached(&build, "MY_OPT").as_deref(), Some("7"));
    });
    story.is_repaired("cmake-generator-mismatch", &[], |_| assert!(build.join("build.ninja").exists()));
}

#[test]
fn the_tree_of_a_log_from_outside_is_the_one_that_the_user_gives() {
    let sandbox = sandbox();
    plain_project(&sandbox, "");
    for tree in ["build", "other"] {
        sandbox.run("cmake", ["-G", "Unix Makefiles", "-B", tree]).expect(0);
    }
    let command = ["cmake", "-G", "Ninja", "-B", "build"];
    let story = Story::new(&sandbox, command, "Does not match the generator used previously");
    let log = sandbox.root().join("failed.log");
    fs::write(&log, story.fails().all()).unwrap();
    let log = log.to_str().unwrap();
    let build = sandbox.project().join("build");
    // By itself the log tells neither the machine nor the tree.
    let before = support::picture(&sandbox.project());
    for given in ["clean=tree", "build_dir=nonesuch", "build_dir=CMakeLists.txt"] {
        story.fix(&["cmake-generator-mismatch", "--yes=confirm", "--log", log, "--set", given]);
        support::story::assert_same(&before, &support::picture(&sandbox.project()));
    }
    for given in ["build".to_owned(), build.display().to_string()] {
        let set = format!("build_dir={given}");
        story.fix(&["diagnose", log, "--set", &set]).says("apply it with");
        story.fix(&["cmake-generator-mismatch", "--yes", "--log", log, "--set", &set]).expect(0);
        assert!(!build.join("CMakeCache.txt").exists());
        story.fix(&["rollback"]).expect(0);
        assert!(build.join("CMakeCache.txt").exists());
    }
}

#[test]
fn a_generator_beside_the_sources_is_left_alone() {
    let sandbox = sandbox();
    plain_project(&sandbox, "");
    sandbox.run("cmake", ["-G", "Unix Makefiles", "."]).expect(0);
    let message = "Does not match the generator used previously";
    let story = Story::new(&sandbox, ["cmake", "-G", "Ninja", "."], message);
    story.is_left_alone(&[]).says("may hold more than a build");
    story.is_left_alone_by_name("cmake-generator-mismatch");
}

#[test]
fn a_generator_that_does_not_exist_is_no_mismatch() {
    let sandbox = sandbox();
    plain_project(&sandbox, "");
    sandbox.run("cmake", ["-G", "Ninja", "-B", "build"]).expect(0);
    let story = Story::new(&sandbox, ["cmake", "-G", "Nonesuch", "-B", "build"], "Could not create named generator");
    story.is_left_alone(&[]).says("no known issue");
}

#[test]
fn a_copied_project_gets_a_tree_of_its_own() {
    let sandbox = sandbox();
    let one = sandbox.root().join("one");
    plain_project(&sandbox, "../one/");
    let source = one.display().to_string();
    let tree = one.join("build").display().to_string();
    sandbox.run("cmake", ["-G", "Ninja", "-S", &source, "-B", &tree, "-DMY_OPT=7"]).expect(0);
    copy_tree(&one, &sandbox.project());
    let original = support::picture(&one);
    let message = "is different than the directory";
    let story = Story::new(&sandbox, ["cmake", "-G", "Ninja", "-B", "build"], message);
    story.is_repaired("cmake-source-moved", &[], |_| {
        let build = sandbox.project().join("build");
        assert_eq!(cached(&build, "CMAKE_HOME_DIRECTORY"), Some(sandbox.project().display().to_string()));
        assert_eq!(cached(&build, "MY_OPT").as_deref(), Some("7"));
    });
    support::story::assert_same(&original, &support::picture(&one));
}

#[test]
fn a_tree_of_a_source_that_is_gone_is_made_anew() {
    let sandbox = sandbox();
    plain_project(&sandbox, "old/");
    sandbox.run("cmake", ["-G", "Ninja", "-S", "old", "-B", "build"]).expect(0);
    fs::rename(sandbox.project().join("old"), sandbox.project().join("new")).unwrap();
    let message = "used to generate cache. Re-run cmake with a different source directory.";
    let story = Story::new(&sandbox, ["cmake", "-G", "Ninja", "-S", "new", "-B", "build"], message);
    story.is_repaired("cmake-source-moved", &[], |_| {
        let home = cached(&sandbox.project().join("build"), "CMAKE_HOME_DIRECTORY");
        assert_eq!(home, Some(sandbox.project().join("new").display().to_string()));
    });
}

#[test]
fn the_tree_of_another_project_that_is_there_is_left_alone() {
    let sandbox = sandbox();
    plain_project(&sandbox, "one/");
    plain_project(&sandbox, "two/");
    sandbox.run("cmake", ["-G", "Ninja", "-S", "one", "-B", "build"]).expect(0);
    let message = "used to generate cache. Re-run cmake with a different source directory.";
    let story = Story::new(&sandbox, ["cmake", "-G", "Ninja", "-S", "two", "-B", "build"], message);
    story.is_left_alone(&[]).says("which is still there");
    story.is_left_alone_by_name("cmake-source-moved");
}

/// A project that was configured in its own folder, and the log of what CMake said after `place` was made of it.
fn in_source(sandbox: &Sandbox, place: impl FnOnce(&Path, &Path)) {
    plain_project(sandbox, "one/");
    sandbox.write("one/main.c", "int main(void) { return 0; }\n");
    sandbox.run("cmake", ["-S", "one", "-B", "one"]).expect(0);
    place(&sandbox.project().join("one"), &sandbox.project().join("two"));
}

#[test]
fn a_project_that_is_its_own_build_tree_is_left_alone_where_it_was_moved() {
    let sandbox = sandbox();
    in_source(&sandbox, copy_tree);
    let story = Story::new(&sandbox, ["cmake", "."], "is different than the directory").inside("two");
    story.is_left_alone(&[]).says("left alone");
    story.is_left_alone_by_name("cmake-source-moved");
    // From its log alone, in the folder itself.
    let log = sandbox.root().join("two.log");
    fs::write(&log, story.fails().all()).unwrap();
    let before = support::picture(&sandbox.project());
    story.fix(&["cmake-source-moved", "--yes=confirm", "--log", log.to_str().unwrap()]);
    support::story::assert_same(&before, &support::picture(&sandbox.project()));
}

#[test]
fn a_project_that_is_its_own_build_tree_is_left_alone_from_outside() {
    for (source, tree) in [("two", "two"), ("two/app", "two")] {
        let sandbox = sandbox();
        if source == tree {
            in_source(&sandbox, |one, two| fs::rename(one, two).unwrap());
        } else {
            plain_project(&sandbox, "one/app/");
            sandbox.run("cmake", ["-S", "one/app", "-B", "one"]).expect(0);
            fs::rename(sandbox.project().join("one"), sandbox.project().join("two")).unwrap();
        }
        let story = Story::new(&sandbox, ["cmake", "-S", source, "-B", tree], "CMakeCache.txt");
        story.is_left_alone(&[]).says("left alone");
        story.is_left_alone_by_name("cmake-source-moved");
    }
}

#[test]
fn a_tree_that_holds_the_source_of_the_command_is_left_alone() {
    let sandbox = sandbox();
    plain_project(&sandbox, "one/");
    sandbox.run("cmake", ["-S", "one", "-B", "out"]).expect(0);
    fs::rename(sandbox.project().join("one"), sandbox.project().join("out/one")).unwrap();
    let message = "used to generate cache. Re-run cmake with a different source directory.";
    let story = Story::new(&sandbox, ["cmake", "-S", "out/one", "-B", "out"], message);
    story.is_left_alone(&[]).says("left alone");
    story.is_left_alone_by_name("cmake-source-moved");
}

#[test]
fn a_tree_with_a_project_of_its_own_is_left_alone() {
    for name in ["CMakeLists.txt", "setup.py", "pyproject.toml"] {
        let sandbox = sandbox();
        plain_project(&sandbox, "");
        sandbox.run("cmake", ["-G", "Unix Makefiles", "-B", "build"]).expect(0);
        sandbox.write(&format!("build/{name}"), "# by hand\n");
        let message = "Does not match the generator used previously";
        let story = Story::new(&sandbox, ["cmake", "-G", "Ninja", "-B", "build"], message);
        story.is_left_alone(&[]).says("may hold more than a build");
    }
    // What CMake itself wrote is no source.
    for generator in ["Unix Makefiles", "Ninja"] {
        let sandbox = sandbox();
        plain_project(&sandbox, "");
        sandbox.write("setup.py.in", "setup()\n");
        let text = fs::read_to_string(sandbox.project().join("CMakeLists.txt")).unwrap();
        sandbox.write("CMakeLists.txt", text + "configure_file(setup.py.in setup.py)\n");
        sandbox.run("cmake", ["-G", generator, "-B", "build"]).expect(0);
        let other = if generator == "Ninja" { "Unix Makefiles" } else { "Ninja" };
        let message = "Does not match the generator used previously";
        let story = Story::new(&sandbox, ["cmake", "-G", other, "-B", "build"], message);
        story.is_repaired("cmake-generator-mismatch", &[], |_| {});
    }
}

#[test]
fn a_tree_with_sources_of_the_user_is_set_aside_only_after_a_question() {
    for generator in ["Unix Makefiles", "Ninja"] {
        let sandbox = sandbox();
        plain_project(&sandbox, "");
        sandbox.write("made.h.in", "");
        let text = fs::read_to_string(sandbox.project().join("CMakeLists.txt")).unwrap();
        sandbox.write("CMakeLists.txt", text + "configure_file(made.h.in made.h)\n");
        sandbox.run("cmake", ["-G", generator, "-B", "build"]).expect(0);
        sandbox.write("build/mine.c", "int mine;\n");
        sandbox.write("build/proj/CMakeLists.txt", "# by hand\n");
        let other = if generator == "Ninja" { "Unix Makefiles" } else { "Ninja" };
        let message = "Does not match the generator used previously";
        let story = Story::new(&sandbox, ["cmake", "-G", other, "-B", "build"], message);
        story.fails();
        let before = support::story::contents(&sandbox.project());
        let done = story.fix_command(&["run", "--yes"]);
        done.says_in_any_layout("your own sources: `mine.c`, `proj/CMakeLists.txt`");
        support::story::assert_same(&before, &support::story::contents(&sandbox.project()));
        story.fix_command(&["run", "--yes=confirm"]).expect(0);
        story.fix(&["rollback"]).expect(0);
        support::story::assert_same(&before, &support::story::contents(&sandbox.project()));
    }
}

#[test]
fn a_tree_in_a_repository_that_cannot_be_read_is_left_alone_for_that_reason() {
    let sandbox = sandbox();
    plain_project(&sandbox, "");
    sandbox.run("git", ["init", "-q", "--object-format=sha256"]).expect(0);
    sandbox.run("git", ["add", "."]).expect(0);
    sandbox.run("cmake", ["-G", "Unix Makefiles", "-B", "build"]).expect(0);
    let message = "Does not match the generator used previously";
    let story = Story::new(&sandbox, ["cmake", "-G", "Ninja", "-B", "build"], message);
    let done = story.is_left_alone(&[]);
    let index = format!("git's index of `{}` cannot be read", sandbox.project().display());
    assert!(!done.says_in_any_layout(&index).all().contains("holds files that git tracks"));
}

/// Configures with the Ninja of a temporary build environment, as pip makes one, and removes that environment.
fn build_environment_gone(sandbox: &Sandbox) {
    plain_project(sandbox, "");
    let bin = sandbox.root().join("pip-build-env-x1y2/overlay/bin");
    fs::create_dir_all(&bin).unwrap();
    std::os::unix::fs::symlink(tools::python_tools().join("ninja"), bin.join("ninja")).unwrap();
    let mut path = bin.as_os_str().to_owned();
    path.push(":");
    path.push(&sandbox.env()[&OsString::from("PATH")]);
    let mut first = sandbox.command("/usr/bin/env");
    first.args(["cmake", "-G", "Ninja", "-B", "build", "-DMY_OPT=7"]).env("PATH", path);
    support::done(first.output().unwrap()).expect(0);
    fs::remove_dir_all(sandbox.root().join("pip-build-env-x1y2")).unwrap();
}

#[test]
fn a_tree_of_a_removed_build_environment_is_made_anew() {
    let sandbox = sandbox();
    build_environment_gone(&sandbox);
    let build = sandbox.project().join("build");
    let message = "'--version' failed with: no such file or directory";
    let story = Story::new(&sandbox, ["cmake", "-G", "Ninja", "-B", "build"], message);
    story.is_repaired("cmake-build-env-gone", &[], |_| {
        assert!(!cached(&build, "CMAKE_MAKE_PROGRAM").unwrap().contains("pip-build-env"));
        assert_eq!(cached(&build, "MY_OPT").as_deref(), Some("7"));
    });
}

#[test]
fn a_build_of_a_tree_whose_environment_is_gone_gets_its_program_back() {
    let sandbox = sandbox();
    build_environment_gone(&sandbox);
    let cache = sandbox.project().join("build/CMakeCache.txt");
    let before = fs::read(&cache).unwrap();
    let story = Story::new(&sandbox, ["cmake", "--build", "build"], "pip-build-env-x1y2/overlay/bin/ninja");
    story.fails();
    story.fix_command(&["run", "--yes"]).expect(0).says("cmake-build-env-gone");
    assert!(sandbox.project().join("build/app.done").exists());
    story.fix(&["rollback"]).expect(0);
    assert_eq!(fs::read(&cache).unwrap(), before);
    story.fails();
}

#[test]
fn a_build_program_of_another_kind_that_is_gone_is_left_alone() {
    let sandbox = sandbox();
    plain_project(&sandbox, "");
    let program = sandbox.root().join("tools/ninja");
    fs::create_dir(program.parent().unwrap()).unwrap();
    std::os::unix::fs::symlink(tools::python_tools().join("ninja"), &program).unwrap();
    let given = format!("-DCMAKE_MAKE_PROGRAM={}", program.display());
    sandbox.run("cmake", ["-G", "Ninja", "-B", "build", &given]).expect(0);
    fs::remove_file(&program).unwrap();
    let message = "failed with: no such file or directory";
    let story = Story::new(&sandbox, ["cmake", "-G", "Ninja", "-B", "build"], message);
    story.is_left_alone(&[]);
    story.is_left_alone_by_name("cmake-build-env-gone");
}

#[test]
fn half_written_files_are_built_again_and_the_rest_is_kept() {
    let sandbox = sandbox();
    c_project(&sandbox);
    sandbox.run("cmake", ["-G", "Unix Makefiles", "-B", "build"]).expect(0);
    sandbox.run("cmake", ["--build", "build"]).expect(0);
    let build = sandbox.project().join("build");
    let library = build.join("libpart.a");
    let whole = build.join("CMakeFiles/part.dir/part.c.o");
    let kept = fs::metadata(&whole).unwrap().modified().unwrap();
    // Truncated after its sources: make takes it for done.
    fs::write(&library, &fs::read(&library).unwrap()[..40]).unwrap();
    fs::remove_file(build.join("main")).unwrap();
    let story = Story::new(&sandbox, ["cmake", "--build", "build"], "not recognized");
    story.fails();
    story.fix_command(&["run", "--yes"]).expect(0).says("cmake-truncated-objects");
    assert!(fs::metadata(&library).unwrap().len() > 40 && build.join("main").exists());
    assert_eq!(fs::metadata(&whole).unwrap().modified().unwrap(), kept);
    story.fix(&["rollback"]).expect(0);
    assert_eq!(fs::read(&library).unwrap().len(), 40);
    // What make linked meanwhile is the build's own; without it the half file shows again.
    fs::remove_file(build.join("main")).unwrap();
    story.fails();
}

/// The linker names half files one after the other; each is the next failure of a kind, not the same again.
#[test]
fn several_half_written_files_are_repaired_in_one_run() {
    let sandbox = sandbox();
    c_project(&sandbox);
    sandbox.run("cmake", ["-G", "Unix Makefiles", "-B", "build"]).expect(0);
    sandbox.run("cmake", ["--build", "build"]).expect(0);
    let build = sandbox.project().join("build");
    let (library, object) = (build.join("libpart.a"), build.join("CMakeFiles/main.dir/main.c.o"));
    fs::write(&library, &fs::read(&library).unwrap()[..40]).unwrap();
    fs::write(&object, &fs::read(&object).unwrap()[..500]).unwrap();
    fs::remove_file(build.join("main")).unwrap();
    let story = Story::new(&sandbox, ["cmake", "--build", "build"], "main.c.o");
    story.fails();
    story.fix_command(&["run", "--yes"]).expect(0).says("cmake-truncated-objects");
    assert!(build.join("main").exists());
    story.fix(&["rollback"]).expect(0);
    assert_eq!((fs::read(&library).unwrap().len(), fs::read(&object).unwrap().len()), (40, 500));
}

/// Cuts a product of the build to each length, sees the build fail, and sees it repaired and taken back.
fn every_cut_is_mended(sandbox: &Sandbox, build: &[&str], product: &str, lengths: &[usize]) {
    let tree = sandbox.project().join("build");
    let product = tree.join(product);
    let whole = fs::read(&product).unwrap();
    let story = Story::new(sandbox, build.iter().copied(), product.file_name().unwrap().to_string_lossy());
    for length in lengths {
        fs::write(&product, &whole[..*length]).unwrap();
        fs::remove_file(tree.join("main")).unwrap();
        story.fails();
        story.fix_command(&["run", "--yes"]).expect(0).says("cmake-truncated-objects");
        assert!(tree.join("main").exists() && fs::read(&product).unwrap().len() == whole.len());
        story.fix(&["rollback"]).expect(0);
        assert_eq!(fs::read(&product).unwrap(), &whole[..*length]);
    }
    fs::write(&product, &whole).unwrap();
}

#[test]
fn what_gnu_ld_says_of_half_a_file_is_understood_at_any_length() {
    let sandbox = sandbox();
    c_project(&sandbox);
    sandbox.run("cmake", ["-G", "Unix Makefiles", "-B", "build"]).expect(0);
    sandbox.run("cmake", ["--build", "build"]).expect(0);
    let command = ["cmake", "--build", "build"];
    every_cut_is_mended(&sandbox, &command, "libpart.a", &[1, 100, 300]);
    every_cut_is_mended(&sandbox, &command, "CMakeFiles/main.dir/main.c.o", &[1, 40, 300]);
}

#[test]
fn what_lld_says_of_half_a_file_is_understood_at_any_length() {
    let mut sandbox = sandbox();
    sandbox.prepend_path(&tools::llvm());
    c_project(&sandbox);
    let lld = "-DCMAKE_EXE_LINKER_FLAGS=-fuse-ld=lld";
    let generator = ["-G", "Unix Makefiles", "-B", "build", "-DCMAKE_C_COMPILER=clang", lld];
    sandbox.run("cmake", generator).expect(0);
    sandbox.run("cmake", ["--build", "build"]).expect(0);
    let command = ["make", "-C", "build"];
    every_cut_is_mended(&sandbox, &command, "libpart.a", &[1, 100]);
    every_cut_is_mended(&sandbox, &command, "CMakeFiles/main.dir/main.c.o", &[8, 40, 300, 700]);
}

#[test]
fn ninja_links_half_a_library_and_it_is_made_again() {
    let mut sandbox = sandbox();
    sandbox.prepend_path(&tools::llvm());
    c_project(&sandbox);
    let lld = "-DCMAKE_EXE_LINKER_FLAGS=-fuse-ld=lld";
    sandbox.run("cmake", ["-G", "Ninja", "-B", "build", "-DCMAKE_C_COMPILER=clang", lld]).expect(0);
    sandbox.run("cmake", ["--build", "build"]).expect(0);
    every_cut_is_mended(&sandbox, &["ninja", "-C", "build"], "libpart.a", &[40]);
}

#[test]
fn a_broken_library_that_no_build_makes_is_left_alone() {
    let sandbox = sandbox();
    c_project(&sandbox);
    sandbox.write("vendor/libgiven.a", "version https://git-lfs.github.com/spec/v1\noid sha256:0\nsize 1\n");
    let text = fs::read_to_string(sandbox.project().join("CMakeLists.txt")).unwrap();
    sandbox.write("CMakeLists.txt", text + "target_link_libraries(main ${CMAKE_SOURCE_DIR}/vendor/libgiven.a)\n");
    sandbox.run("cmake", ["-G", "Unix Makefiles", "-B", "build"]).expect(0);
    let message = "vendor/libgiven.a: file format not recognized";
    let story = Story::new(&sandbox, ["cmake", "--build", "build"], message);
    story.is_left_alone(&[]);
    story.is_left_alone_by_name("cmake-truncated-objects");
}

#[test]
fn files_that_the_linker_does_not_name_are_left_alone() {
    let sandbox = sandbox();
    c_project(&sandbox);
    sandbox.run("cmake", ["-G", "Unix Makefiles", "-B", "build"]).expect(0);
    sandbox.run("cmake", ["--build", "build"]).expect(0);
    let build = sandbox.project().join("build");
    for name in ["tests/golden.o", "empty.o", "libmarker.so", "CMakeFiles/part.dir/other.c.o"] {
        sandbox.write(&format!("build/{name}"), "");
    }
    let object = build.join("CMakeFiles/main.dir/main.c.o");
    let cut = fs::read(&object).unwrap()[..500].to_vec();
    fs::write(&object, &cut).unwrap();
    fs::remove_file(build.join("main")).unwrap();
    let story = Story::new(&sandbox, ["make", "-C", "build"], "CMakeFiles/main.dir/main.c.o");
    story.fails();
    let log = sandbox.root().join("failed.log");
    fs::write(&log, story.alone().all()).unwrap();
    let done = story.fix(&["cmake-truncated-objects", "--yes", "--log", log.to_str().unwrap()]).expect(0);
    assert!(!object.exists(), "{}", done.all());
    assert!(done.all().contains("deleted ") && !done.all().contains("wrote "), "{}", done.all());
    for name in ["tests/golden.o", "empty.o", "libmarker.so", "CMakeFiles/part.dir/other.c.o"] {
        assert!(build.join(name).exists(), "{name}: {}", done.all());
    }
    story.fix(&["rollback"]).expect(0);
    // The object is of another kind, and an empty file lies about: that one is not why.
    fs::write(&object, "MZ no object of this machine").unwrap();
    story.is_left_alone_by_name("cmake-truncated-objects");
    // The file that is named lies elsewhere.
    fs::write(&object, &cut).unwrap();
    fs::write(&log, "/usr/bin/ld: /opt/other/libfoo.so: file not recognized: file truncated\n").unwrap();
    let before = support::picture(&sandbox.project());
    story.fix(&["cmake-truncated-objects", "--yes=confirm", "--log", log.to_str().unwrap()]);
    support::story::assert_same(&before, &support::picture(&sandbox.project()));
}

fn sandbox_with_cmake4(minimum: &str) -> Sandbox {
    let mut sandbox = Sandbox::new();
    sandbox.prepend_path(tools::cmake4());
    let text = format!("cmake_minimum_required(VERSION {minimum})\nproject(old NONE)\n");
    sandbox.write("vendor/CMakeLists.txt", text);
    let text = "cmake_minimum_required(VERSION 3.20)\nproject(app LANGUAGES NONE)\nadd_subdirectory(vendor)\n";
    sandbox.write("CMakeLists.txt", text);
    sandbox
}

#[test]
fn a_minimum_that_cmake_4_refuses_is_lifted_for_the_run() {
    let sandbox = sandbox_with_cmake4("3.1");
    let message = "Compatibility with CMake < 3.5 has been removed from CMake.";
    let story = Story::new(&sandbox, ["cmake", "-G", "Ninja", "-B", "build"], message);
    story.fails();
    let sources = support::picture(&sandbox.project().join("vendor"));
    let done = story.fix_command(&["run", "--yes"]).expect(0);
    done.says("cmake-minimum-removed").says("CMAKE_POLICY_VERSION_MINIMUM=3.5");
    support::story::assert_same(&sources, &support::picture(&sandbox.project().join("vendor")));
    // Nothing of ours was written that could be taken back but what `fix env` tells; CMake keeps the value in the tree
    // that it made.
    let state = support::picture(&sandbox.state());
    let other = state.keys().find(|path| !path.starts_with("fix/environment") && !path.ends_with("fix"));
    assert_eq!(other, None);
    fs::remove_dir_all(sandbox.project().join("build")).unwrap();
    story.fails();
}

#[test]
fn a_minimum_that_is_too_new_is_left_alone() {
    let sandbox = sandbox_with_cmake4("99.0");
    let message = "CMake 99.0 or higher is required.";
    let story = Story::new(&sandbox, ["cmake", "-G", "Ninja", "-B", "build"], message);
    story.is_left_alone(&[]).says("no known issue");
    story.is_left_alone_by_name("cmake-minimum-removed");
}
