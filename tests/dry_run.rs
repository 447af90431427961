//! The law of `-n`: whatever the command, the project, HOME and the state are as before.

mod support;

use std::fs;

use build_fix::cli::args::command_names;
use support::moved::COMMAND;
use support::{Picture, Sandbox, differences, picture};

/// Each command with a form that writes something without `-n`, and the status of its dry run.
const COMMANDS: &[(&str, &[&str], i32)] = &[
    ("apply", &["cmake-source-moved", "--yes", "--log", "build.log"], 1),
    ("apply", &["apply", "--plan", "../plan.json", "--yes"], 1),
    ("run", &["run", "--yes", "--report-dir", "fix-report", "--"], 1),
    ("diagnose", &["diagnose", "build.log"], 1),
    ("audit", &["audit", "--baseline", "known.json", "--write-baseline"], 1),
    ("plan", &["plan", "cmake-source-moved", "--log", "build.log", "-o", "plan.json"], 1),
    ("list", &["list"], 0),
    ("show", &["show", "tda-1.9"], 0),
    ("history", &["history"], 0),
    ("history", &["history", "prune", "--keep", "0", "--yes"], 1),
    ("history", &["history", "prune", "--keep", "0", "--yes", "--json"], 1),
    ("rollback", &["rollback", "--yes"], 1),
    ("rollback", &["rollback", "--force"], 1),
    ("env", &["env", "--persist", "--yes"], 1),
    ("recipe", &["recipe", "new", "cmake-my-issue"], 1),
    ("recipe", &["recipe", "docs"], 1),
    ("recipe", &["recipe", "lint"], 0),
    ("recipe", &["recipe", "test"], 0),
    ("report", &["report", "build.log", "-o", "report.md"], 1),
    ("completions", &["completions", "bash"], 0),
    ("man", &["man", "pages"], 1),
    ("demo", &["demo", "--fast"], 1),
];

/// A project with a repair that stands, its environment, and a second tree to be repaired.
fn repaired() -> Sandbox {
    let mut sandbox = Sandbox::with_moved_tree();
    sandbox.set("SHELL", "/bin/bash");
    sandbox.write("build.log", sandbox.moved_log());
    sandbox.write("build.log", fs::read_to_string(sandbox.project().join("build.log")).unwrap());
    sandbox.fix(Sandbox::run_args(&["--yes"])).expect(0);
    sandbox.write_moved_tree("build");
    let plan = ["plan", "cmake-source-moved", "--log", "build.log", "-o", "../plan.json", "--"];
    sandbox.fix(plan.iter().chain(&COMMAND)).expect(0);
    // As the repair of a compiler leaves it.
    let mut overlay = build_fix::change::EnvOverlay::default();
    overlay.edit("CC", build_fix::change::EnvEdit::Set("clang".into()));
    let abs = |path: std::path::PathBuf| build_fix::change::AbsPath::new(path).unwrap();
    let state = build_fix::transaction::StateDir::open(abs(sandbox.state().join("fix")));
    let root = abs(sandbox.project());
    let one = build_fix::transaction::Remembered::new(root, vec!["tda-1.1".into()], None, overlay);
    build_fix::transaction::remember(&state, &one).unwrap();
    // Recipes as a checkout has them.
    let recipe = concat!(env!("CARGO_MANIFEST_DIR"), "/recipes/cmake-source-moved.toml");
    sandbox.write("recipes/cmake-source-moved.toml", fs::read(recipe).unwrap());
    fs::create_dir_all(sandbox.project().join("fixtures")).unwrap();
    fs::create_dir_all(sandbox.project().join("docs")).unwrap();
    sandbox
}

fn everything(sandbox: &Sandbox) -> [Picture; 3] {
    [sandbox.project(), sandbox.home(), sandbox.state()].map(|folder| picture(&folder))
}

#[test]
fn nothing_is_written_by_a_dry_run() {
    let sandbox = repaired();
    let before = everything(&sandbox);
    for (name, words, code) in COMMANDS {
        let mut args: Vec<&str> = words.to_vec();
        let at = args.iter().position(|word| *word == "--").unwrap_or(args.len());
        args.insert(at, "-n");
        if *name == "run" {
            args.extend(COMMAND);
        }
        let done = sandbox.fix(&args);
        let after = everything(&sandbox);
        let changed: Vec<String> = before.iter().zip(&after).flat_map(|(old, new)| differences(old, new)).collect();
        assert_eq!(changed, [""; 0], "{args:?}\n{}", done.all());
        assert_eq!(done.code, *code, "{args:?}\n{}", done.all());
    }
    let missing: Vec<String> =
        command_names().into_iter().filter(|name| !COMMANDS.iter().any(|(known, ..)| known == name)).collect();
    assert_eq!(missing, [""; 0], "every command stands in the table");
}

/// The table above could hold commands that write nothing anyway: each that says 1 does write without `-n`.
#[test]
fn without_it_they_write() {
    for (name, words, code) in COMMANDS {
        let reads_only = ["diagnose", "demo"].contains(name);
        if *code == 0 || reads_only {
            continue;
        }
        let sandbox = repaired();
        let before = everything(&sandbox);
        let mut args: Vec<&str> = words.to_vec();
        if *name == "run" {
            args.extend(COMMAND);
        }
        let done = sandbox.fix(&args);
        let after = everything(&sandbox);
        assert!(before != after, "{args:?} wrote nothing\n{}", done.all());
    }
}

#[test]
fn backups_are_deleted_only_when_they_were_named_and_somebody_said_yes() {
    let sandbox = repaired();
    let state = || picture(&sandbox.state());
    let before = state();
    for (args, code) in
        [(vec!["history", "prune", "--keep", "0", "-n"], 1), (vec!["history", "prune", "--keep", "0"], 1)]
    {
        let done =
            sandbox.fix(args).expect(code).says("would delete").says("the repair stands").says("cmake-source-moved");
        assert!(done.stdout.contains(sandbox.project().to_str().unwrap()), "{}", done.all());
        assert_eq!(differences(&before, &state()), [""; 0]);
    }
    sandbox.fix(["history", "prune"]).expect(0).says("no backup is beyond the limits");
    sandbox.fix(["history", "prune", "--keep", "0", "--yes"]).expect(0).says("deleted the backups of 1 repairs");
    sandbox.fix(["rollback"]).expect(1).says("was deleted on").says("by `fix history prune`");
    sandbox.fix(["rollback", "--lang", "zh"]).expect(1).says("的备份已于");
}

#[test]
fn pruning_takes_the_limits_that_are_set_in_the_environment() {
    let mut sandbox = repaired();
    sandbox.fix(["history", "prune", "-n"]).expect(0).does_not_say("would delete");
    sandbox.set("FIX_KEEP_REPAIRS", "0");
    sandbox.fix(["history", "prune", "-n"]).expect(1).says("would delete");
    sandbox.fix(["history", "prune", "-n", "--keep", "5"]).expect(0).does_not_say("would delete");
    sandbox.unset("FIX_KEEP_REPAIRS");
    sandbox.set("FIX_KEEP_GIB", "0");
    sandbox.fix(["history", "prune", "-n"]).expect(1).says("would delete");
}

#[test]
fn a_repair_that_loses_its_backup_to_a_later_one_is_named() {
    let mut sandbox = repaired();
    sandbox.set("FIX_KEEP_REPAIRS", "1");
    let done = sandbox.fix(Sandbox::run_args(&["--yes"])).expect(0).says("was deleted, that repair stays");
    assert!(done.all().contains(sandbox.project().to_str().unwrap()), "{}", done.all());
    sandbox.fix(["rollback"]).expect(0);
    // What was taken back makes room first, and nobody is told.
    sandbox.write_moved_tree("build");
    sandbox.fix(Sandbox::run_args(&["--yes"])).expect(0).does_not_say("was deleted");
    sandbox.fix(["rollback"]).expect(0);
    sandbox.fix(["rollback"]).expect(1).says("by a later repair, by the limits of what is kept");
}
