//! `pip install -e .` in a private environment, with the real pip, setuptools, clang and lld.

mod support;

use std::fs;
use std::path::{Path, PathBuf};

use support::environment::activate_environment;
use support::mini_triton::{NOT_FOUND, assert_linked_by_lld, mini_triton, tree};
use support::story::{Story, cached};
use support::{Sandbox, copy_tree, fixture_project};

const INSTALL: [&str; 6] = ["python", "-m", "pip", "install", "--no-build-isolation", "-e"];

/// mini-triton as a package, and the private environment's packages.
fn packaged() -> (Sandbox, PathBuf) {
    let mut sandbox = mini_triton();
    copy_tree(&fixture_project("mini-triton/packaged"), &sandbox.project());
    let packages = activate_environment(&mut sandbox);
    (sandbox, packages)
}

/// The extension that pip's build leaves in the project answers.
fn answer(sandbox: &Sandbox) -> String {
    let code = "import ctypes, glob; print(ctypes.CDLL(glob.glob('./mini_ext*.so')[0]).mini_extension())";
    sandbox.run("/usr/bin/env", ["python", "-c", code]).expect(0).stdout.trim().to_owned()
}

fn is_installed(packages: &Path) -> bool {
    fs::read_dir(packages).unwrap().any(|entry| entry.unwrap().file_name().to_string_lossy().contains("mini_triton"))
}

#[test]
fn an_editable_install_is_repaired_by_the_variable() {
    let (sandbox, packages) = packaged();
    let story = Story::new(&sandbox, INSTALL.iter().chain(&["."]), NOT_FOUND);
    story.fails();
    assert!(!is_installed(&packages));
    story.fix_command(&["run", "--yes"]).expect(0).says("tda-1.10").says("TRITON_APPEND_CMAKE_ARGS");
    assert!(is_installed(&packages));
    assert_linked_by_lld(&tree(&sandbox));
    assert_eq!(answer(&sandbox), "42");
    story.fails();
}

#[test]
fn an_editable_install_is_repaired_by_a_patch_and_taken_back() {
    let (sandbox, packages) = packaged();
    let script = sandbox.project().join("setup.py");
    let before = fs::read(&script).unwrap();
    let story = Story::new(&sandbox, INSTALL.iter().chain(&["."]), NOT_FOUND);
    story.fails();
    story.fix_command(&["run", "--yes", "--set", "how=patch"]).expect(0).says("tda-1.10");
    assert!(is_installed(&packages));
    assert_linked_by_lld(&tree(&sandbox));
    assert_eq!(answer(&sandbox), "42");
    assert!(cached(&tree(&sandbox), "CMAKE_MODULE_LINKER_FLAGS").unwrap().contains("-L"));
    story.fix(&["rollback"]).expect(0);
    assert_eq!(fs::read(&script).unwrap(), before);
    assert_eq!(cached(&tree(&sandbox), "CMAKE_MODULE_LINKER_FLAGS").as_deref(), Some("-fuse-ld=lld"));
    story.fails();
}

#[test]
fn an_install_that_fails_in_another_way_is_left_alone() {
    let (sandbox, packages) = packaged();
    let text = fs::read_to_string(sandbox.project().join("core.c")).unwrap();
    sandbox.write("core.c", text + "int broken(void) { return nonesuch; }\n");
    let story = Story::new(&sandbox, INSTALL.iter().chain(&["."]), "use of undeclared identifier 'nonesuch'");
    // The linker complains as well where it is asked before the compiler fails: one job makes the order certain.
    let script = sandbox.project().join("setup.py");
    let serial = fs::read_to_string(&script).unwrap().replace("\"-j2\"", "\"-j1\", \"--target\", \"mini_core\"");
    fs::write(&script, serial).unwrap();
    story.is_left_alone(&[]).says("no known issue");
    assert!(!is_installed(&packages));
}
