//! clang that is not on PATH, with the real clang, lld and CMake.

mod support;

use std::fs;

use support::mini_triton::{BUILD, assert_linked_by_lld, mini_triton, tree};
use support::story::{Story, cached};
use support::{Sandbox, tools};

/// Takes clang and lld from PATH, and nothing else of the machine.
fn hide_clang(sandbox: &mut Sandbox) {
    let bin = sandbox.root().join("bin");
    fs::create_dir(&bin).unwrap();
    for entry in fs::read_dir("/usr/bin").unwrap() {
        let entry = entry.unwrap();
        let name = entry.file_name();
        if !["clang", "lld", "ld.lld"].iter().any(|tool| name.to_string_lossy().starts_with(tool)) {
            std::os::unix::fs::symlink(entry.path(), bin.join(name)).unwrap();
        }
    }
    sandbox.set("PATH", bin);
    sandbox.prepend_path(tools::python_tools());
}

fn sandbox_without_clang() -> Sandbox {
    let mut sandbox = Sandbox::new();
    hide_clang(&mut sandbox);
    let text = "cmake_minimum_required(VERSION 3.20)\nproject(small C CXX)\nadd_library(part STATIC part.c)\n";
    sandbox.write("CMakeLists.txt", text);
    sandbox.write("part.c", "int part(void) { return 0; }\n");
    sandbox
}

const CLANG: [&str; 7] =
    ["cmake", "-G", "Ninja", "-B", "build", "-DCMAKE_C_COMPILER=clang", "-DCMAKE_CXX_COMPILER=clang++"];
const NOT_ON_PATH: &str = "The CMAKE_C_COMPILER: clang is not a full path and was not found in the PATH.";

#[test]
fn a_clang_of_a_prefix_is_put_on_path_and_the_half_made_cache_goes() {
    let sandbox = sandbox_without_clang();
    let build = sandbox.project().join("build");
    let llvm = tools::llvm().display().to_string();
    let story = Story::new(&sandbox, CLANG, NOT_ON_PATH);
    story.is_repaired("tda-1.1", &[], |done| {
        assert!(done.stderr.contains("PATH"), "{}", done.stderr);
        assert!(cached(&build, "CMAKE_C_COMPILER").unwrap().ends_with("/bin/clang"));
        // The failed run had taken GNU's archiver; clang's own stands beside it now.
        assert_eq!(cached(&build, "CMAKE_AR"), Some(format!("{llvm}/llvm-ar")));
    });
}

#[test]
fn a_missing_gnu_compiler_is_no_missing_clang() {
    let mut sandbox = Sandbox::new();
    hide_clang(&mut sandbox);
    let bin = sandbox.root().join("bin");
    for entry in fs::read_dir(&bin).unwrap() {
        let path = entry.unwrap().path();
        if path.file_name().unwrap().to_string_lossy().contains("++") {
            fs::remove_file(path).unwrap();
        }
    }
    sandbox.write("CMakeLists.txt", "cmake_minimum_required(VERSION 3.20)\nproject(small C CXX)\n");
    let command = ["cmake", "-G", "Unix Makefiles", "-B", "build"];
    let story = Story::new(&sandbox, command, "No CMAKE_CXX_COMPILER could be found.");
    story.is_left_alone(&[]).says("no known issue");
    story.is_left_alone_by_name("tda-1.1");
}

#[test]
fn a_second_failure_behind_the_first_is_repaired_too_and_both_go_back_at_once() {
    let mut sandbox = mini_triton();
    hide_clang(&mut sandbox);
    let script = sandbox.project().join("setup.py");
    let before = fs::read(&script).unwrap();
    let story = Story::new(&sandbox, BUILD, NOT_ON_PATH);
    story.is_repaired("tda-1.1", &["--set", "how=patch"], |done| {
        assert!(done.stderr.contains("tda-1.10"), "{}", done.stderr);
        assert_linked_by_lld(&tree(&sandbox));
        assert_ne!(fs::read(&script).unwrap(), before);
    });
    assert_eq!(fs::read(&script).unwrap(), before);
}

#[test]
fn a_clang_that_cc_names_is_put_on_path() {
    let mut sandbox = sandbox_without_clang();
    sandbox.set("CC", "clang");
    sandbox.set("CXX", "clang++");
    let command = ["cmake", "-G", "Ninja", "-B", "build"];
    let story = Story::new(&sandbox, command, "Could not find compiler set in environment variable CC: clang.");
    story.is_repaired("tda-1.1", &[], |_| {
        assert!(cached(&sandbox.project().join("build"), "CMAKE_C_COMPILER").unwrap().ends_with("/bin/clang"));
    });
}

#[test]
fn a_cache_that_was_made_without_clang_goes_when_clang_is_there() {
    let mut sandbox = sandbox_without_clang();
    let build = sandbox.project().join("build");
    let log = Story::new(&sandbox, CLANG, NOT_ON_PATH).fails().all();
    sandbox.write("failed.log", log);
    // The user mends PATH; the tree would go on with the archiver that the failed run found.
    sandbox.prepend_path(&tools::llvm());
    let story = Story::new(&sandbox, CLANG, "");
    let before = support::picture(&sandbox.project());
    story.fix_command(&["tda-1.1", "--yes", "--log", "failed.log"]).expect(0);
    assert_eq!(cached(&build, "CMAKE_AR"), Some(format!("{}/llvm-ar", tools::llvm().display())));
    story.fix(&["rollback"]).expect(0);
    support::story::assert_same(&before, &support::picture(&sandbox.project()));
}

#[test]
fn a_clang_of_a_version_that_is_not_installed_gets_advice_only() {
    let sandbox = sandbox_without_clang();
    let command =
        ["cmake", "-G", "Ninja", "-B", "build", "-DCMAKE_C_COMPILER=clang-99", "-DCMAKE_CXX_COMPILER=clang++-99"];
    let message = "The CMAKE_C_COMPILER: clang-99 is not a full path and was not found in the PATH.";
    let story = Story::new(&sandbox, command, message);
    story.is_left_alone(&[]).says("is installed in the usual folders");
    story.is_left_alone_by_name("tda-1.1");
}

#[test]
fn a_compiler_that_the_command_names_wrongly_is_left_alone() {
    let sandbox = sandbox_without_clang();
    let command = ["cmake", "-G", "Ninja", "-B", "build", "-DCMAKE_C_COMPILER=/nowhere/bin/clang"];
    Story::new(&sandbox, command, "/nowhere/bin/clang is not a full path to an existing compiler tool.")
        .is_left_alone(&[])
        .says("does not exist here");
}

#[test]
fn another_compiler_that_is_missing_is_not_this_issue() {
    let sandbox = sandbox_without_clang();
    let command = ["cmake", "-G", "Ninja", "-B", "build", "-DCMAKE_C_COMPILER=nonesuch-cc"];
    let done = Story::new(&sandbox, command, "The CMAKE_C_COMPILER: nonesuch-cc is not a full path").is_left_alone(&[]);
    done.says("no known issue matches").does_not_say("1. tda-1.1");
}
