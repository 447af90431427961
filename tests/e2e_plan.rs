//! Reviewed plans and repairs by name, on a real stale build tree.

mod support;

use std::fs;

use support::llvm_mini::{Installs, MISSING};
use support::story::{Story, assert_same, cached};
use support::{Sandbox, picture, tools};

/// A stale tree and the command that fails on it.
fn stale() -> (Sandbox, Vec<String>) {
    let mut sandbox = Sandbox::new();
    sandbox.prepend_path(tools::python_tools());
    let installs = Installs::two_commits(&sandbox);
    sandbox.run("cmake", ["-G", "Ninja", "-B", "build", &installs.library("llvm-old")]).expect(0);
    let command = ["cmake", "-B", "build", &installs.library("llvm-new"), "-DAPP_BACKENDS=amd"];
    (sandbox, command.map(str::to_owned).to_vec())
}

#[test]
fn a_reviewed_plan_is_applied_and_taken_back() {
    let (sandbox, command) = stale();
    let story = Story::new(&sandbox, command, MISSING);
    let log = sandbox.root().join("failed.log");
    fs::write(&log, story.fails().all()).unwrap();
    let before = picture(&sandbox.project());
    let plan = sandbox.root().join("plan.json");
    let (log, plan) = (log.to_str().unwrap(), plan.to_str().unwrap());
    story.fix_command(&["plan", "tda-1.9", "--log", log, "-o", plan]).expect(0);
    assert_same(&before, &picture(&sandbox.project()));

    story.fix(&["apply", "--plan", plan, "--yes"]).expect(0);
    let build = sandbox.project().join("build");
    assert!(cached(&build, "LLVM_DIR").unwrap().contains("llvm-new"));
    // It is done: the plan does not fit any more.
    let repaired = picture(&sandbox.project());
    story.fix(&["apply", "--plan", plan, "--yes"]).expect(1).says("refusing the reviewed plan");
    assert_same(&repaired, &picture(&sandbox.project()));

    story.fix(&["rollback"]).expect(0);
    assert_same(&before, &picture(&sandbox.project()));
    story.fails();
}

#[test]
fn a_plan_is_refused_when_the_tree_is_another_one() {
    let (sandbox, command) = stale();
    let story = Story::new(&sandbox, command, MISSING);
    let log = sandbox.root().join("failed.log");
    fs::write(&log, story.fails().all()).unwrap();
    let (log, plan) = (log.to_str().unwrap().to_owned(), sandbox.root().join("plan.json"));
    let plan = plan.to_str().unwrap();
    for clean in ["clean=tree", "clean=narrow"] {
        story.fix_command(&["plan", "tda-1.9", "--set", clean, "--log", &log, "-o", plan]).expect(0);
        let build = sandbox.project().join("build");
        if clean == "clean=tree" {
            // Copied and put in its place: nobody reviewed this one.
            let copy = sandbox.project().join("copy");
            support::copy_tree(&build, &copy);
            fs::remove_dir_all(&build).unwrap();
            fs::rename(&copy, &build).unwrap();
        } else {
            let cache = build.join("CMakeCache.txt");
            let edited = fs::read_to_string(&cache).unwrap() + "\n//Added since.\nADDED:STRING=1\n";
            fs::write(&cache, edited).unwrap();
        }
        let before = picture(&sandbox.root());
        story.fix(&["apply", "--plan", plan, "--yes"]).expect(1).says("refusing the reviewed plan");
        assert_same(&before, &picture(&sandbox.root()));
    }
}

#[test]
fn a_dry_run_shows_the_repair_and_writes_nothing() {
    let (sandbox, command) = stale();
    let story = Story::new(&sandbox, command, MISSING);
    let log = sandbox.root().join("failed.log");
    fs::write(&log, story.fails().all()).unwrap();
    let before = picture(&sandbox.root());
    story.fix_command(&["tda-1.9", "-n", "--log", log.to_str().unwrap()]).expect(1).says("set aside");
    assert_same(&before, &picture(&sandbox.root()));
    // Nobody to ask, and no `--yes`: nothing is applied, and one line says how.
    story.fix_command(&["tda-1.9", "--log", log.to_str().unwrap()]).expect(1).says("--yes");
    assert_same(&before, &picture(&sandbox.root()));
    story.fix_command(&["run"]).expect(1).says("--yes");
    assert_same(&picture(&sandbox.root().join("nothing")), &picture(&sandbox.state()));
}

#[test]
fn a_name_and_a_log_of_the_project_are_enough_without_a_command() {
    let (sandbox, command) = stale();
    let story = Story::new(&sandbox, command, MISSING);
    sandbox.write("failed.log", story.fails().all());
    let before = picture(&sandbox.project());
    story.fix(&["1.9", "--yes", "--log", "failed.log"]).expect(0).says("next:");
    // What the user types next may enter the folder.
    assert_eq!(fs::read_dir(sandbox.project().join("build")).unwrap().count(), 0);
    story.passes();
    story.fix(&["rollback"]).expect(0);
    assert_same(&before, &picture(&sandbox.project()));
    story.fails();
}

#[test]
fn a_name_alone_finds_what_is_wrong_here_and_nothing_where_all_is_well() {
    let (sandbox, command) = stale();
    let story = Story::new(&sandbox, command, MISSING);
    story.fails();
    story.fix(&["1.9", "--yes"]).expect(0).says("next:");
    story.passes();
    let before = picture(&sandbox.root());
    story.fix(&["1.9", "--yes"]).expect(0);
    assert_same(&before, &picture(&sandbox.root()));
}
