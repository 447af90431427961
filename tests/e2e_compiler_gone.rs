//! A build tree whose compiler is gone, with the real GCC, clang, CMake, Ninja and make.

mod support;

use std::fs;
use std::os::unix::fs::symlink;
use std::path::{Path, PathBuf};

use support::story::{Story, cached};
use support::{Sandbox, tools};

/// A C++ project that is built with a compiler of a folder of its own, which is gone by now.
fn built_and_gone(generator: &str, compiler: &Path, name: &str) -> (Sandbox, PathBuf) {
    let mut sandbox = Sandbox::new();
    sandbox.prepend_path(tools::python_tools());
    let text = "cmake_minimum_required(VERSION 3.20)\nproject(small CXX)\nadd_executable(app app.cpp)\n";
    sandbox.write("CMakeLists.txt", text);
    sandbox.write("app.cpp", "int main() { return 0; }\n");
    let folder = sandbox.root().join("old-toolchain");
    fs::create_dir(&folder).unwrap();
    let old = folder.join(name);
    symlink(compiler, &old).unwrap();
    let given = format!("-DCMAKE_CXX_COMPILER={}", old.display());
    sandbox.run("cmake", ["-G", generator, "-B", "build", &given, "-DMY_OPT=7"]).expect(0);
    sandbox.run("cmake", ["--build", "build"]).expect(0);
    fs::remove_file(&old).unwrap();
    let build = sandbox.project().join("build");
    (sandbox, build)
}

const GONE: &str = "is not a full path to an existing compiler tool.";

#[test]
fn a_clang_that_is_gone_stays_a_clang() {
    let (sandbox, build) = built_and_gone("Ninja", &tools::llvm().join("clang++"), "clang++");
    let story = Story::new(&sandbox, ["cmake", "-B", "build"], GONE);
    story.fails();
    // Which compiler builds is the user's choice: never unasked.
    story.fix_command(&["run", "--yes"]).expect(1).says("--yes=confirm").says("Clang");
    story.is_repaired("tda-1.1", &["--yes=confirm"], |done| {
        let compiler = PathBuf::from(cached(&build, "CMAKE_CXX_COMPILER").unwrap());
        assert!(fs::canonicalize(compiler).unwrap().to_string_lossy().contains("clang"), "{}", done.stderr);
        assert_eq!(cached(&build, "MY_OPT").as_deref(), Some("7"));
        assert!(done.stderr.contains("meant is as_meant"), "{}", done.stderr);
        assert!(!done.stderr.contains("has its compilers"), "{}", done.stderr);
    });
}

#[test]
fn a_gcc_that_is_gone_stays_a_gcc_whatever_else_is_first() {
    for generator in ["Ninja", "Unix Makefiles"] {
        let (mut sandbox, build) = built_and_gone(generator, Path::new("/usr/bin/g++"), "my-g++");
        // A clang under the name that CMake tries first.
        let first = sandbox.root().join("first");
        fs::create_dir(&first).unwrap();
        symlink(tools::llvm().join("clang++"), first.join("c++")).unwrap();
        sandbox.prepend_path(&first);
        let story = Story::new(&sandbox, ["cmake", "-B", "build"], GONE);
        story.is_repaired("cmake-compiler-gone", &["--yes=confirm"], |done| {
            let compiler = PathBuf::from(cached(&build, "CMAKE_CXX_COMPILER").unwrap());
            assert!(fs::canonicalize(compiler).unwrap().to_string_lossy().contains("g++"), "{}", done.stderr);
        });
    }
}

#[test]
fn a_command_that_only_builds_is_told_which_compiler_there_is() {
    for (generator, command) in [
        ("Ninja", &["ninja", "-C", "build"][..]),
        ("Ninja", &["cmake", "--build", "build"]),
        ("Unix Makefiles", &["make", "-C", "build"]),
        ("Unix Makefiles", &["cmake", "--build", "build"]),
    ] {
        let (sandbox, _) = built_and_gone(generator, Path::new("/usr/bin/g++"), "my-g++");
        sandbox.write("app.cpp", "int main() { return 1; }\n");
        let story = Story::new(&sandbox, command.iter().copied(), "old-toolchain/my-g++: ");
        story.is_left_alone(&[]).says("cmake-compiler-gone").says("fix run -- cmake -S");
    }
}

#[test]
fn an_audit_finds_it_and_the_repair_by_name_asks() {
    let (sandbox, build) = built_and_gone("Ninja", Path::new("/usr/bin/g++"), "my-g++");
    sandbox
        .fix(["audit"])
        .expect(1)
        .says("cmake-compiler-gone")
        .says("of the same family is here")
        .does_not_say("librar");
    sandbox.fix(["cmake-compiler-gone", "--yes"]).expect(1);
    assert!(build.join("CMakeCache.txt").exists());
    // Without a command there is none to give the compiler to: the user is told.
    let done = sandbox.fix(["cmake-compiler-gone", "--yes=confirm"]).expect(0).says("-DCMAKE_CXX_COMPILER:FILEPATH=");
    assert!(!build.join("CMakeCache.txt").exists(), "{}", done.stderr);
    sandbox.fix(["rollback"]).expect(0);
    assert!(build.join("CMakeCache.txt").exists());
}

#[test]
fn a_compiler_for_another_machine_is_never_replaced_by_one_for_this() {
    let (sandbox, _) = built_and_gone("Ninja", Path::new("/usr/bin/g++"), "s390x-oddlib-linux-gnu-g++");
    let story = Story::new(&sandbox, ["cmake", "-B", "build"], GONE);
    story.is_left_alone(&[]).says("no other of its family is here");
}

#[test]
fn a_compiler_that_something_still_asks_for_is_left_to_the_user() {
    let (sandbox, _) = built_and_gone("Ninja", Path::new("/usr/bin/g++"), "my-g++");
    let path = sandbox.root().join("old-toolchain/my-g++");
    let given = format!("-DCMAKE_CXX_COMPILER={}", path.display());
    let story = Story::new(&sandbox, ["cmake", "-B", "build", &given], GONE);
    story.is_left_alone(&[]).says("the build is told to use a compiler that is gone");
}
