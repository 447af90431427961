//! Every command that `fix` prints as a hint works as it is printed.

mod support;

use std::fs;
use std::io::Write;
use std::process::Stdio;

use support::{Done, Sandbox, done};

const ISSUE: &str = "cmake-source-moved";

/// A project that fails, with its log in it, and `fix` on PATH.
fn failing() -> Sandbox {
    let mut sandbox = Sandbox::with_moved_tree();
    let tools = sandbox.root().join("bin");
    fs::create_dir(&tools).unwrap();
    std::os::unix::fs::symlink(env!("CARGO_BIN_EXE_fix"), tools.join("fix")).unwrap();
    sandbox.prepend_path(&tools);
    sandbox.write("build.log", sandbox.moved_log());
    sandbox
}

/// The commands of ours that stand between backticks.
fn printed(done: &Done) -> Vec<String> {
    let all = done.all();
    let quoted = all.split('`').skip(1).step_by(2);
    quoted.filter(|text| text.starts_with("fix ") || text.contains("| fix ")).map(str::to_owned).collect()
}

/// The one that a result says to apply it with.
fn apply_with(done: &Done) -> String {
    let all = done.all().split_whitespace().collect::<Vec<_>>().join(" ");
    let tail = all.split("apply it with `").nth(1).unwrap_or_else(|| panic!("no hint: {}", done.all()));
    tail.split('`').next().unwrap().to_owned()
}

/// Runs what was printed in a shell; `…` stands for whoever made the log.
fn follow(sandbox: &Sandbox, command: &str) -> Done {
    let command = command.replace("… |", "cat build.log |");
    sandbox.run("bash", ["-c", &command])
}

fn piped(sandbox: &Sandbox, args: &[&str], input: &str) -> Done {
    let mut command = sandbox.fix_command();
    command.args(args).stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
    let mut child = command.spawn().unwrap();
    child.stdin.take().unwrap().write_all(input.as_bytes()).unwrap();
    done(child.wait_with_output().unwrap())
}

#[test]
fn what_is_said_to_apply_a_repair_applies_it() {
    type Ask = fn(&Sandbox) -> Done;
    let ways: [(&str, Ask); 8] = [
        ("a log", |s| s.fix(["diagnose", "build.log"])),
        ("a log by flag", |s| s.fix(["diagnose", "--log", "build.log"])),
        ("a log and a value", |s| s.fix(["diagnose", "build.log", "--set", "build_dir=build"])),
        ("another folder", |s| {
            let mut command = s.fix_command();
            let project = s.project();
            command
                .current_dir(s.root())
                .args(["diagnose", "project/build.log", "-C"])
                .arg(project.file_name().unwrap());
            done(command.output().unwrap())
        }),
        ("a pipe", |s| piped(s, &["diagnose", "-"], &fs::read_to_string(s.project().join("build.log")).unwrap())),
        ("plan", |s| s.fix(["plan", ISSUE, "--log", "build.log"])),
        ("plan -o", |s| s.fix(["plan", ISSUE, "--log", "build.log", "-o", "../plan.json"])),
        ("run", |s| s.fix(Sandbox::run_args(&["-n"]))),
    ];
    for (name, ask) in ways {
        let sandbox = failing();
        let hint = apply_with(&ask(&sandbox));
        let at = if name == "another folder" { "cd ..; " } else { "" };
        // Who reads it has a terminal and says yes.
        let yes = match hint.split_once(" -- ") {
            Some((own, command)) => format!("{own} --yes -- {command}"),
            None => format!("{hint} --yes"),
        };
        let yes = if hint.contains("--yes") { hint.clone() } else { yes };
        follow(&sandbox, &format!("{at}{yes}")).expect(0).says("repaired and verified");
        assert!(!sandbox.project().join("build/lib/libold.a").exists(), "{name}: {hint}");
    }
}

#[test]
fn no_hint_is_a_mistake_of_usage() {
    let sandbox = failing();
    let mut seen = Vec::new();
    let mut take = |done: Done| {
        for command in printed(&done) {
            if !seen.contains(&command) {
                seen.push(command);
            }
        }
    };
    sandbox.write("other.log", "ld: error: nobody knows this\n");
    take(sandbox.fix(["diagnose", "other.log"]));
    take(sandbox.fix(["run", "--", "bash", "-c", "echo 'error: nobody knows this' >&2; exit 3"]));
    take(sandbox.fix(["diagnose", "build.log"]));
    take(sandbox.fix([ISSUE, "--", "cmake", "-B", "build2"]));
    take(sandbox.fix(["rollback", "no-such"]));
    take(sandbox.fix(["no-such-issue"]));
    take(sandbox.fix(["plan"]));
    take(sandbox.fix(Sandbox::run_args(&["--yes"])));
    take(sandbox.fix(["history"]));
    take(sandbox.fix(["env"]));
    take(sandbox.fix(["rollback", "-n"]));
    take(sandbox.fix(["rollback"]));
    assert!(seen.len() >= 8, "{seen:#?}");
    for hint in seen.iter().filter(|hint| !["CMD", "FILE", "ISSUE"].iter().any(|word| hint.contains(word))) {
        if hint.contains("--help") {
            follow(&sandbox, hint).expect(0);
            continue;
        }
        let done = follow(&sandbox, hint);
        assert!(!done.all().contains("Usage:") && !done.all().contains("neither a command"), "{hint}: {}", done.all());
        // Unless it says what the user's command does itself, it is none of a mistake.
        assert!(done.code != 2 || hint.starts_with("fix run"), "{hint}: {} {}", done.code, done.all());
    }
}

#[test]
fn a_failure_that_nobody_knows_is_shown_as_diagnose_shows_it() {
    let sandbox = failing();
    let args = ["run", "--", "bash", "-c", "echo building; echo 'x.c:7: error: nobody knows this' >&2; exit 3"];
    let done = sandbox.fix(args).expect(3);
    let text = done.stderr.clone();
    for says in [
        "no known issue matches",
        "the lines that tell most",
        "error: nobody knows this",
        "to report it",
        "fix report -- bash -c",
    ] {
        assert!(text.contains(says), "{says}: {text}");
    }
    assert!(!done.stdout.contains("no known issue"), "standard output is the command's: {}", done.stdout);
    let json =
        sandbox.fix(["run", "--json", "--", "bash", "-c", "echo 'error: nobody knows this' >&2; exit 3"]).expect(3);
    let document: serde_json::Value = serde_json::from_str(json.stdout.lines().last().unwrap()).unwrap();
    assert_eq!(document["unmatched"]["telling"][0]["text"], "error: nobody knows this");
    sandbox.fix(["run", "-q", "--", "false"]).expect(1).does_not_say("no known issue");
}

/// A log in a pipe may be anybody's: this machine confirms it, or keeps silent.
#[test]
fn a_log_through_a_pipe_is_confirmed_here_and_never_refuted() {
    let sandbox = failing();
    // Without the project's own folder in it, as tools print relative paths.
    let log = fs::read_to_string(sandbox.project().join("build.log")).unwrap();
    let log = log.replace(sandbox.project().to_str().unwrap(), "/somewhere/else");
    piped(&sandbox, &["diagnose", "-"], &log).does_not_say("refuted").expect(1);
    let named = fs::read_to_string(sandbox.project().join("build.log")).unwrap();
    let done = piped(&sandbox, &["diagnose", "-"], &named).expect(1).says("(certain)").says("in standard input:");
    done.does_not_say("was not asked");
    piped(&sandbox, &[ISSUE, "--log", "-", "-n"], &named).expect(1).says("set aside build/");
    // In a project that has nothing of it, it is told as the log says it.
    fs::remove_dir_all(sandbox.project().join("build")).unwrap();
    piped(&sandbox, &["diagnose", "-"], &log).expect(1).does_not_say("refuted");
}

#[test]
fn without_a_log_nobody_says_that_there_is_nothing_to_do() {
    let sandbox = failing();
    let log = sandbox.project().join("build.log");
    fs::rename(&log, sandbox.root().join("build.log")).unwrap();
    fs::remove_dir_all(sandbox.project().join("build")).unwrap();
    let with_command = [ISSUE, "--", "cmake", "-B", "build"];
    let done = sandbox.fix(with_command).expect(1).says("no log was read").says("fix run -- cmake -B build");
    done.does_not_say("nothing to do");
    sandbox.fix([ISSUE]).expect(0).says("no log was read");
    // With a log it is known that there is none.
    sandbox.write("clean.log", "all is well\n");
    sandbox.fix([ISSUE, "--log", "clean.log", "--", "true"]).expect(0).does_not_say("no log was read");
}

#[test]
fn a_plan_takes_the_issue_of_the_log() {
    let sandbox = failing();
    let done = sandbox.fix(["plan", "--log", "build.log", "-o", "../plan.json"]).expect(0).says(ISSUE);
    assert!(sandbox.root().join("plan.json").exists(), "{}", done.all());
    sandbox.fix(["plan"]).expect(2).says("which issue?").does_not_say("Usage");
    sandbox.write("other.log", "error: nobody knows this\n");
    sandbox.fix(["plan", "--log", "other.log"]).expect(0).says("no known issue matches");
    sandbox.fix(["apply", "--plan", "../plan.json", "--yes"]).expect(0).says("repaired");
}

#[test]
fn a_stale_plan_says_what_differs() {
    let sandbox = failing();
    sandbox.fix(["plan", ISSUE, "--log", "build.log", "-o", "../plan.json"]).expect(0);
    sandbox.write("build/one-more", "x\n");
    sandbox.fix(["apply", "--plan", "../plan.json", "--yes"]).expect(1).says("it was: 3 files").says("it is: 4 files");
}

#[test]
fn an_unknown_parameter_names_the_nearest_and_no_list() {
    let sandbox = failing();
    let done = sandbox.fix(["diagnose", "build.log", "--set", "nonsense=1"]).expect(2).says("no such parameter");
    assert!(done.stderr.len() < 300, "{}", done.stderr);
    sandbox.fix(["diagnose", "build.log", "--set", "build_dirr=1"]).expect(2).says("did you mean").says("`build_dir`");
    sandbox.fix(["rollback", "no-such"]).expect(2).says("there is no repair `no-such`").does_not_say("itself failed");
}

#[test]
fn sentences_fit_a_narrow_terminal() {
    let mut sandbox = failing();
    for width in [60, 40] {
        sandbox.set("COLUMNS", width.to_string());
        let done = sandbox.fix([ISSUE, "--log", "build.log", "-n"]).expect(1);
        for line in done.stdout.lines() {
            // Paths, commands and lines of logs are never broken.
            let longest = line.split(' ').map(|word| word.chars().count()).max().unwrap_or_default();
            let is_whole = line.contains('`') || line.contains(" | ") || line.contains('/');
            assert!(line.chars().count() <= width || is_whole || longest >= width, "{width}: {line}");
        }
    }
}

#[test]
fn nothing_is_told_twice_and_no_look_up_contradicts_the_one_that_counts() {
    let sandbox = Sandbox::new();
    let fixture = support::labelled::root().join("fixtures/cmake-source-moved/copied/before");
    support::unpack(&fixture, &sandbox.project(), &sandbox.project());
    let done = sandbox.fix(["audit"]).expect(1).says("cmake_source: copied").says("cmake_tree: found");
    for question in ["cmake_tree:", "cmake_source:"] {
        assert_eq!(done.all().matches(question).count(), 1, "{question}: {}", done.all());
    }
    let json = sandbox.fix(["audit", "--json"]).expect(1);
    assert!(json.stdout.matches("\"cmake_tree\"").count() > 1, "programs get all answers: {}", json.stdout);
}
