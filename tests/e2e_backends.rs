//! Triton's backends that are registered and not there, in real editable and wheel installs of a small double.

mod support;

use std::fs;
use std::os::unix::fs::symlink;
use std::path::PathBuf;

use support::environment::activate_environment;
use support::story::{Story, assert_same};
use support::{Picture, Sandbox, copy_tree, fixture_project, picture};

const MISSING: &str = "No module named 'triton.backends.amd";
const IMPORT: [&str; 3] = ["python", "-c", "from triton.backends import backends; print(sorted(backends))"];

/// The checkout, in the project, and an environment of its own; returns its folder of packages.
fn checkout() -> (Sandbox, PathBuf) {
    let mut sandbox = Sandbox::new();
    let packages = activate_environment(&mut sandbox);
    copy_tree(&fixture_project("mini-backends"), &sandbox.project());
    (sandbox, packages)
}

fn pip(sandbox: &Sandbox, words: &[&str]) {
    sandbox.run("/usr/bin/env", ["python", "-m", "pip"].iter().chain(words)).expect(0);
}

fn editable() -> (Sandbox, PathBuf) {
    let (sandbox, packages) = checkout();
    pip(&sandbox, &["install", "-q", "--no-build-isolation", "-e", "."]);
    (sandbox, packages)
}

/// A wheel install, with the wheel in `dist`.
fn installed() -> (Sandbox, PathBuf) {
    let (sandbox, packages) = checkout();
    pip(&sandbox, &["wheel", "-q", "--no-build-isolation", "--no-deps", "-w", "dist", "."]);
    let wheel = sandbox.project().join("dist/triton-3.5.0-py3-none-any.whl");
    pip(&sandbox, &["install", "-q", wheel.to_str().unwrap()]);
    (sandbox, packages)
}

fn link(sandbox: &Sandbox, name: &str) -> PathBuf {
    sandbox.project().join("python/triton/backends").join(name)
}

fn everything(sandbox: &Sandbox) -> [Picture; 2] {
    [picture(&sandbox.project()), picture(&sandbox.root().join("environment"))]
}

/// From failure to failure, to the byte and the time.
fn is_repaired(sandbox: &Sandbox) {
    let story = Story::new(sandbox, IMPORT, MISSING);
    story.fails();
    let before = everything(sandbox);
    story.fix_command(&["run", "--yes"]).expect(1).says("tda-1.3");
    let done = story.fix_command(&["run", "--yes=confirm"]).expect(0);
    assert!(done.stdout.contains("['amd', 'nvidia']"), "{}", done.stdout);
    story.fix(&["rollback"]).expect(0);
    for (before, now) in before.iter().zip(everything(sandbox)) {
        assert_same(before, &now);
    }
    story.fails();
}

#[test]
fn a_lost_link_of_an_editable_install_is_made_again() {
    let (sandbox, _) = editable();
    fs::remove_file(link(&sandbox, "amd")).unwrap();
    is_repaired(&sandbox);
}

#[test]
fn links_of_a_moved_checkout_lead_into_it_again() {
    let (sandbox, _) = editable();
    for name in ["amd", "nvidia"] {
        fs::remove_file(link(&sandbox, name)).unwrap();
        symlink(format!("/nonexistent/third_party/{name}/backend"), link(&sandbox, name)).unwrap();
    }
    is_repaired(&sandbox);
}

#[test]
fn a_backend_whose_source_is_gone_is_left_alone() {
    let (sandbox, _) = editable();
    fs::remove_dir_all(sandbox.project().join("third_party/amd")).unwrap();
    Story::new(&sandbox, IMPORT, MISSING).is_left_alone(&[]).says("submodule update --init");
}

#[test]
fn a_folder_of_the_users_own_in_the_place_is_left_alone() {
    let (sandbox, _) = editable();
    fs::remove_file(link(&sandbox, "amd")).unwrap();
    fs::create_dir(link(&sandbox, "amd")).unwrap();
    fs::write(link(&sandbox, "amd").join("notes"), "mine").unwrap();
    Story::new(&sandbox, IMPORT, MISSING).is_left_alone(&[]).says("tda-1.3");
}

#[test]
fn lost_files_are_installed_again_from_the_wheel() {
    let (sandbox, packages) = installed();
    fs::remove_dir_all(packages.join("triton/backends/amd")).unwrap();
    is_repaired(&sandbox);
}

#[test]
fn without_its_wheel_the_command_is_told() {
    let (sandbox, packages) = installed();
    fs::remove_dir_all(sandbox.project().join("dist")).unwrap();
    fs::remove_dir_all(packages.join("triton/backends/amd")).unwrap();
    let story = Story::new(&sandbox, IMPORT, MISSING);
    story.is_left_alone(&[]).says("-m pip install --force-reinstall --no-deps triton==3.5.0");
}

#[test]
fn two_owners_of_the_folder_are_named() {
    let (sandbox, packages) = installed();
    let setup = fs::read_to_string(sandbox.project().join("setup.py")).unwrap();
    let setup = setup.replace("name=\"triton\"", "name=\"triton-ascend\"").replace("3.5.0", "3.2.0");
    let other = sandbox.root().join("other");
    copy_tree(&fixture_project("mini-backends"), &other);
    fs::write(other.join("setup.py"), setup).unwrap();
    pip(&sandbox, &["install", "-q", "--no-build-isolation", "--no-deps", other.to_str().unwrap()]);
    // It deletes what both own; only the registration of the other is left.
    pip(&sandbox, &["install", "-q", "--no-deps", "--force-reinstall", "dist/triton-3.5.0-py3-none-any.whl"]);
    fs::remove_dir_all(packages.join("triton/backends/amd")).unwrap();
    let story = Story::new(&sandbox, IMPORT, MISSING);
    story.is_left_alone(&[]).says("triton 3.5.0").says("triton-ascend 3.2.0");
}
