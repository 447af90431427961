//! One stale LLVM, built by commands of many forms: the tree that each really uses is found, or none is touched.

mod support;

use std::fs;
use std::path::PathBuf;

use support::llvm_mini::{Installs, MISSING};
use support::story::{Story, cached};
use support::{Sandbox, picture, tools};

/// The app, configured against the old LLVM in `tree`, after a run that asked for the new one failed.
fn stale_in(tree: &str) -> (Sandbox, Installs, PathBuf) {
    let mut sandbox = Sandbox::new();
    sandbox.prepend_path(tools::python_tools());
    let installs = Installs::two_commits(&sandbox);
    sandbox.run("cmake", ["-G", "Ninja", "-B", tree, &installs.library("llvm-old"), "-DMY_OPT=7"]).expect(0);
    let folder = sandbox.project().join(tree);
    (sandbox, installs, folder)
}

/// Puts the new LLVM into a tree's cache by a configure that fails.
fn ask_for_new(sandbox: &Sandbox, installs: &Installs, tree: &str) {
    let library = installs.library("llvm-new");
    let failed = sandbox.run("cmake", ["-B", tree, &library, "-DAPP_BACKENDS=amd"]);
    assert_ne!(failed.code, 0);
}

#[test]
fn a_command_that_only_builds_keeps_its_tree_and_loses_entries() {
    for command in [&["cmake", "--build", "build"][..], &["ninja", "-C", "build"]] {
        let (sandbox, installs, build) = stale_in("build");
        ask_for_new(&sandbox, &installs, "build");
        let cache = build.join("CMakeCache.txt");
        let story = Story::new(&sandbox, command.iter().copied(), MISSING);
        story.fails();
        let before = fs::read(&cache).unwrap();
        story.fix_command(&["run", "--yes"]).expect(0).says("tda-1.9");
        assert_eq!(cached(&build, "LLVM_DIR"), Some(installs.package("llvm-new", "llvm")));
        assert_eq!(cached(&build, "MY_OPT").as_deref(), Some("7"));
        story.fix(&["rollback"]).expect(0);
        assert_eq!(fs::read(&cache).unwrap(), before);
        story.fails();
    }
}

#[test]
fn a_tree_that_holds_the_source_needs_a_yes_and_loses_entries_only() {
    let (sandbox, installs, project) = stale_in(".");
    let library = installs.library("llvm-new");
    let story = Story::new(&sandbox, ["cmake", ".", &library, "-DAPP_BACKENDS=amd"], MISSING);
    story.fails();
    let cache = project.join("CMakeCache.txt");
    let (before, source) = (fs::read(&cache).unwrap(), fs::read(project.join("CMakeLists.txt")).unwrap());
    story.fix_command(&["run", "--yes"]).expect(1).says("--yes=confirm");
    assert_eq!(fs::read(&cache).unwrap(), before);
    story.fix_command(&["run", "--yes=confirm"]).expect(0).says("tda-1.9");
    assert_eq!(cached(&project, "LLVM_DIR"), Some(installs.package("llvm-new", "llvm")));
    assert_eq!(fs::read(project.join("CMakeLists.txt")).unwrap(), source);
    story.fix(&["rollback"]).expect(0);
    assert_eq!(fs::read(&cache).unwrap(), before);
    story.fails();
}

#[test]
fn a_shell_line_is_repaired_and_its_settings_are_told() {
    let (sandbox, installs, build) = stale_in("build");
    let line = format!("cd build && cmake -G Ninja .. {} -DAPP_BACKENDS=amd", installs.library("llvm-new"));
    let story = Story::new(&sandbox, ["bash", "-c", &line], MISSING);
    story.fix_command(&["run", "--yes"]).expect(1).says("-DMY_OPT=7");
    story.is_repaired("tda-1.9", &["--yes=confirm"], |done| {
        assert!(done.stderr.contains("MY_OPT"), "{}", done.stderr);
        assert_eq!(cached(&build, "LLVM_DIR"), Some(installs.package("llvm-new", "llvm")));
    });
}

#[test]
fn a_script_that_enters_its_tree_finds_the_folder() {
    let (sandbox, installs, build) = stale_in("build");
    sandbox.write("make.sh", "cd build\ncmake -G Ninja .. \"$@\" -DAPP_BACKENDS=amd\n");
    let story = Story::new(&sandbox, ["bash", "-e", "make.sh", &installs.library("llvm-new")], MISSING);
    story.is_repaired("tda-1.9", &[], |_| {
        assert_eq!(cached(&build, "LLVM_DIR"), Some(installs.package("llvm-new", "llvm")));
    });
}

#[test]
fn a_preset_is_repaired() {
    let (sandbox, installs, build) = stale_in("out/dev");
    let library = installs.path("llvm-new").join("lib").display().to_string();
    let presets = r#"{"version": 3, "configurePresets": [{"name": "dev", "generator": "Ninja",
        "binaryDir": "${sourceDir}/out/dev", "cacheVariables": {"LLVM_LIBRARY_DIR": "@", "APP_BACKENDS": "amd"}}]}"#;
    sandbox.write("CMakePresets.json", presets.replace('@', &library));
    let story = Story::new(&sandbox, ["cmake", "--preset", "dev"], MISSING);
    story.is_repaired("tda-1.9", &[], |_| {
        assert_eq!(cached(&build, "LLVM_DIR"), Some(installs.package("llvm-new", "llvm")));
    });
}

#[test]
fn of_several_trees_none_is_guessed() {
    let (sandbox, installs, _) = stale_in("build-a");
    sandbox.run("cmake", ["-G", "Ninja", "-B", "build-b", &installs.library("llvm-old")]).expect(0);
    // Which tree the script uses is nowhere to be seen.
    sandbox.write("make.sh", "cmake -S . -B build-\"$1\" \"$2\" -DAPP_BACKENDS=amd\n");
    let story = Story::new(&sandbox, ["bash", "make.sh", "a", &installs.library("llvm-new")], MISSING);
    story.is_left_alone(&[]).says("several build trees");
}

#[test]
fn a_tree_that_git_tracks_is_not_set_aside() {
    let (sandbox, installs, build) = stale_in("build");
    let git = |args: &[&str]| {
        let settings = ["-c", "user.name=a", "-c", "user.email=a@b", "-c", "init.defaultBranch=main"];
        sandbox.run("git", settings.iter().chain(args)).expect(0)
    };
    sandbox.write("build/notes.txt", "kept by its author\n");
    git(&["init", "-q"]);
    git(&["add", "CMakeLists.txt", "build/notes.txt"]);
    git(&["commit", "-q", "-m", "project"]);
    let command = ["cmake", "-B", "build", &installs.library("llvm-new"), "-DAPP_BACKENDS=amd"];
    let story = Story::new(&sandbox, command, MISSING);
    story.fails();
    let notes = picture(&build).remove(std::path::Path::new("notes.txt")).unwrap();
    story.fix_command(&["run", "--yes"]).expect(1);
    story.fix_command(&["run", "--yes=confirm"]).expect(0);
    assert_eq!(picture(&build).remove(std::path::Path::new("notes.txt")).unwrap(), notes);
    story.fix(&["rollback"]).expect(0);
    assert_eq!(picture(&build).remove(std::path::Path::new("notes.txt")).unwrap(), notes);
    story.fails();
}

#[test]
fn a_dry_run_runs_the_command_once_and_changes_nothing() {
    let (sandbox, installs, _) = stale_in("build");
    let command = ["cmake", "-B", "build", &installs.library("llvm-new"), "-DAPP_BACKENDS=amd"];
    Story::new(&sandbox, command, MISSING).is_left_alone(&["-n"]).says("set aside build/");
}
