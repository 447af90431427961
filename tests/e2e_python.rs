//! CMake builds that a setup.py drives, in trees that are named for platform and Python or by TRITON_BUILD_DIR.

mod support;

use std::fs;
use std::path::PathBuf;

use support::environment::activate_environment;
use support::llvm_mini::{Installs, MISSING};
use support::story::{Story, cached};
use support::{Sandbox, fixture_project, tools};

const BUILD: [&str; 3] = ["python", "setup.py", "build"];

/// A project whose build tree was made with the old LLVM; the environment asks for the new one.
fn stale(tree: Option<&str>) -> (Sandbox, Installs) {
    let mut sandbox = Sandbox::new();
    sandbox.prepend_path(tools::python_tools());
    let installs = Installs::two_commits(&sandbox);
    fs::copy(fixture_project("llvm-mini/setup.py"), sandbox.project().join("setup.py")).unwrap();
    if let Some(tree) = tree {
        sandbox.set("TRITON_BUILD_DIR", sandbox.project().join(tree));
    }
    sandbox.set("LLVM_SYSPATH", installs.path("llvm-old"));
    sandbox.run("/usr/bin/env", BUILD).expect(0);
    sandbox.set("LLVM_SYSPATH", installs.path("llvm-new"));
    sandbox.set("APP_BACKENDS", "amd");
    (sandbox, installs)
}

/// The one tree below `build`.
fn tagged_tree(sandbox: &Sandbox) -> PathBuf {
    let entries = fs::read_dir(sandbox.project().join("build")).unwrap();
    let mut trees: Vec<PathBuf> = entries.map(|entry| entry.unwrap().path()).filter(|path| is_tree(path)).collect();
    assert_eq!(trees.len(), 1, "{trees:?}");
    trees.remove(0)
}

fn is_tree(path: &std::path::Path) -> bool {
    path.file_name().unwrap().to_string_lossy().starts_with("cmake.")
}

#[test]
fn a_tree_named_for_platform_and_python_is_found() {
    let (sandbox, installs) = stale(None);
    let tree = tagged_tree(&sandbox);
    // Of another Python: it is not this build's.
    let other = tree.with_file_name("cmake.linux-x86_64-cpython-3.8");
    support::copy_tree(&tree, &other);
    Story::new(&sandbox, BUILD, MISSING).is_repaired("tda-1.9", &[], |_| {
        assert_eq!(cached(&tree, "LLVM_DIR"), Some(installs.package("llvm-new", "llvm")));
        assert_eq!(cached(&other, "LLVM_DIR"), Some(installs.package("llvm-old", "llvm")));
    });
}

#[test]
fn the_tree_that_triton_build_dir_names_is_found() {
    let (sandbox, installs) = stale(Some("elsewhere/tree"));
    let tree = sandbox.project().join("elsewhere/tree");
    Story::new(&sandbox, BUILD, MISSING).is_repaired("tda-1.9", &[], |_| {
        assert_eq!(cached(&tree, "LLVM_DIR"), Some(installs.package("llvm-new", "llvm")));
    });
}

#[test]
fn a_tree_outside_of_the_project_needs_a_word_on_the_command_line() {
    let (sandbox, installs) = stale(Some("../scratch"));
    let tree = sandbox.root().join("scratch");
    let story = Story::new(&sandbox, BUILD, MISSING);
    story.is_left_alone(&[]).says("--allow-path");
    story.fix_command(&["run", "--yes", "--allow-path", "../scratch"]).expect(0);
    assert_eq!(cached(&tree, "LLVM_DIR"), Some(installs.package("llvm-new", "llvm")));
    story.fix(&["rollback"]).expect(0);
    assert_eq!(cached(&tree, "LLVM_DIR"), Some(installs.package("llvm-old", "llvm")));
    story.fails();
}

#[test]
fn a_mismatched_pair_under_setuptools_is_left_alone() {
    let (sandbox, installs) = stale(None);
    fs::remove_dir_all(installs.path("llvm-new")).unwrap();
    installs.mix("llvm-new");
    Story::new(&sandbox, BUILD, MISSING).is_left_alone(&[]).says_in_any_layout("were not built together");
}

#[test]
fn a_tree_that_scikit_build_core_keeps_is_found() {
    let mut sandbox = Sandbox::new();
    sandbox.prepend_path(tools::python_tools());
    let installs = Installs::two_commits(&sandbox);
    activate_environment(&mut sandbox);
    let settings = |llvm: &str, backends: &str| {
        let library = installs.path(llvm).join("lib").display().to_string();
        let text = SCIKIT.replace("@LIBRARY@", &library).replace("@BACKENDS@", backends);
        sandbox.write("pyproject.toml", text);
    };
    let install = ["python", "-m", "pip", "install", "--no-build-isolation", "."];
    settings("llvm-old", "");
    sandbox.run("/usr/bin/env", install).expect(0);
    settings("llvm-new", "amd");
    let build = sandbox.project().join("build");
    let kept = || {
        let trees: Vec<PathBuf> = fs::read_dir(&build).unwrap().map(|entry| entry.unwrap().path()).collect();
        assert!(trees.len() == 1 && trees[0].join("CMakeInit.txt").exists(), "{trees:?}");
        cached(&trees[0], "LLVM_DIR")
    };
    let story = Story::new(&sandbox, install, MISSING);
    story.fails();
    story.fix_command(&["run", "--yes"]).expect(0).says("tda-1.9");
    assert_eq!(kept(), Some(installs.package("llvm-new", "llvm")));
    story.fix(&["rollback"]).expect(0);
    assert_eq!(kept(), Some(installs.package("llvm-old", "llvm")));
    story.fails();
}

const SCIKIT: &str = r#"
[build-system]
requires = ["scikit-build-core"]
build-backend = "scikit_build_core.build"

[project]
name = "app"
version = "1.0"

[tool.scikit-build]
build-dir = "build/{wheel_tag}"

[tool.scikit-build.cmake]
define = { LLVM_LIBRARY_DIR = "@LIBRARY@", APP_BACKENDS = "@BACKENDS@" }
"#;
