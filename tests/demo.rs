//! `fix demo`: the whole story, with the machine's cmake, with one from PyPI, and offline.

mod support;

use std::path::{Path, PathBuf};
use std::process::Command;

use support::{Sandbox, tools};

#[test]
fn the_story_is_told_and_leaves_nothing() {
    let mut sandbox = Sandbox::new();
    sandbox.prepend_path(tools::python_tools());
    let temporary = sandbox.root().join("tmp");
    std::fs::create_dir(&temporary).unwrap();
    sandbox.set("TMPDIR", &temporary);
    // Variables that would change what is shown.
    sandbox.set("LLVM_DIR", "/nowhere");
    sandbox.set("CMAKE_GENERATOR", "Xcode");
    let told = sandbox.fix(["demo", "--fast"]).expect(0);
    let told = told.says("tda-1.9").says("repaired and verified").says("the state before the repair is back");
    assert_eq!(told.stdout.matches("are referenced, but are missing: LLVMCGData").count(), 3, "{}", told.all());
    assert_eq!(std::fs::read_dir(&temporary).unwrap().count(), 0);
    assert!(support::picture(&sandbox.home()).is_empty());

    sandbox.fix(["demo", "--fast", "--keep", "--lang", "zh"]).expect(0).says("已修复并通过验证");
    assert_eq!(std::fs::read_dir(&temporary).unwrap().count(), 1);
}

/// A PATH with python3 and a shell, and without cmake.
fn without_cmake(sandbox: &mut Sandbox) {
    let bin = sandbox.root().join("bin");
    std::fs::create_dir(&bin).unwrap();
    // The interpreter itself: a shim of pyenv would need more programs.
    let python = Command::new("python3").args(["-c", "import sys; print(sys.executable)"]).output().unwrap();
    let python = PathBuf::from(String::from_utf8(python.stdout).unwrap().trim());
    std::os::unix::fs::symlink(python, bin.join("python3")).unwrap();
    std::os::unix::fs::symlink("/bin/sh", bin.join("sh")).unwrap();
    sandbox.set("PATH", bin);
}

#[test]
fn cmake_comes_from_pypi_where_there_is_none() {
    let mut sandbox = Sandbox::new();
    without_cmake(&mut sandbox);
    for name in ["PIP_INDEX_URL", "PIP_CERT", "PIP_FIND_LINKS", "PIP_CONFIG_FILE", "SSL_CERT_FILE"] {
        if let Some(value) = std::env::var_os(name) {
            sandbox.set(name, value);
        }
    }
    // pip's own configuration of this machine says where PyPI is.
    let home = std::env::var_os("HOME").unwrap();
    for name in [".config/pip/pip.conf", ".pip/pip.conf"] {
        let (from, to) = (Path::new(&home).join(name), sandbox.home().join(name));
        if from.exists() {
            std::fs::create_dir_all(to.parent().unwrap()).unwrap();
            std::fs::copy(from, to).unwrap();
        }
    }
    sandbox.fix(["demo", "--fast"]).expect(0).says("from PyPI").says("repaired and verified");
}

#[test]
fn offline_it_says_so() {
    let mut sandbox = Sandbox::new();
    without_cmake(&mut sandbox);
    sandbox.set("PIP_NO_INDEX", "1");
    sandbox.set("PIP_CONFIG_FILE", "/dev/null");
    let done = sandbox.fix(["demo", "--fast"]).expect(2);
    done.says("is this machine offline?").says("hint: install cmake and ninja");
}
