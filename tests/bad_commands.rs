//! Commands that are not there, hang, read the terminal, leave programs behind or are interrupted: `fix run` ends as
//! they do, and what was not proved is undone.

mod support;

use std::fs;
use std::os::unix::process::ExitStatusExt;
use std::process::Stdio;

use support::moved::{COMMAND, executable};
use support::waiting::{is_alive, send, wait_for_end, wait_for_file, wait_until};
use support::{Done, Sandbox, differences, done};

#[test]
fn the_plain_repair_works() {
    let sandbox = Sandbox::with_moved_tree();
    let before = sandbox.project_picture();
    sandbox.fix(Sandbox::run_args(&["--yes"])).expect(0);
    assert_eq!(sandbox.runs(), 2);
    assert!(!sandbox.project().join("build/lib/libold.a").exists());
    sandbox.fix(["rollback"]).expect(0);
    assert_eq!(differences(&before, &sandbox.project_picture()), [""; 0]);
}

/// Asserts that a repair was tried and all of it undone.
#[track_caller]
fn assert_undone(sandbox: &Sandbox, before: &support::Picture) {
    assert_eq!(differences(before, &sandbox.project_picture()), [""; 0]);
    assert_eq!(sandbox.runs(), 2, "the command ran again");
}

#[test]
fn a_command_that_cannot_be_started() {
    let sandbox = Sandbox::new();
    sandbox.write("text", "no program\n");
    for (program, code, says) in [
        ("no-such-program", 127, "`no-such-program`: command not found"),
        ("./no-such-program", 127, "`./no-such-program`: command not found"),
        ("./text", 126, "`./text`: cannot be executed: Permission denied"),
        ("/", 126, "`/`: cannot be executed: is a directory"),
        ("", 127, "command not found"),
    ] {
        let done = sandbox.fix(["run", "--yes", "--", program]).expect(code).says(says);
        assert_eq!((done.stdout.as_str(), done.stderr.lines().count()), ("", 1), "{}", done.stderr);
        let done = sandbox.fix(["run", "--json", "--", program]).expect(code);
        let json: serde_json::Value = serde_json::from_str(&done.stdout).expect(&done.stdout);
        assert_eq!((&json["outcome"], &json["exit_code"]), (&"failed".into(), &code.into()), "{json}");
    }
    assert!(support::picture(&sandbox.state()).is_empty());
}

#[test]
fn a_missing_tool_that_is_the_command_is_known() {
    for (program, id) in [("clang", "tda-1.1"), ("bishengir-compile", "tda-1.4")] {
        let mut sandbox = Sandbox::new();
        sandbox.set("PATH", "/nonexistent");
        let told = sandbox.fix(["run", "--", program, "x.c"]);
        assert_eq!(told.code, 127, "{}", told.stderr);
        assert!(told.stderr.contains(id), "{}", told.stderr);
        let told = sandbox.fix(["run", "--json", "--", program, "x.c"]);
        let document: serde_json::Value = serde_json::from_str(&told.stdout).unwrap();
        assert_eq!((told.code, &document["findings"][0]["id"]), (127, &id.into()), "{document}");
    }
    let told = Sandbox::new().fix(["run", "--json", "--", "no-such-program"]);
    let document: serde_json::Value = serde_json::from_str(&told.stdout).unwrap();
    assert!(document.get("findings").is_none(), "{document}");
}

#[test]
fn a_command_that_is_no_repair_of_ours_ends_as_without_us() {
    let sandbox = Sandbox::new();
    for (script, code) in [("exit 0", 0), ("exit 3", 3), ("kill -TERM $$", 143), ("kill -KILL $$", 137)] {
        sandbox.fix(["run", "--yes", "--", "sh", "-c", script]).expect(code);
    }
    assert!(support::picture(&sandbox.state()).is_empty());
}

#[test]
fn a_rerun_that_ignores_sigterm_is_ended() {
    let sandbox = Sandbox::with_moved_tree();
    let before = sandbox.project_picture();
    sandbox.on_rerun(
        "trap '' TERM INT; mkdir build; echo new >build/new; echo $$ >\"$LOG.pid\"; while :; do sleep 1; done",
    );
    let done = sandbox.fix(Sandbox::run_args(&["--yes", "--rerun-timeout", "1"]));
    let done = done.expect(137).says("`--rerun-timeout`");
    assert_undone(&sandbox, &before);
    assert!(!is_alive(&wait_for_file(&sandbox.root().join("runs.pid"))));
    done.says("taken back");
}

#[test]
fn a_rerun_that_leaves_a_daemon() {
    for (end, code) in [("", 0), ("exit 9", 9)] {
        let sandbox = Sandbox::with_moved_tree();
        let before = sandbox.project_picture();
        // One that keeps our output would hold up whoever reads it to its end, as without us.
        sandbox.on_rerun(&format!("sleep 1000 >/dev/null 2>&1 & echo $! >\"$LOG.pid\"; {end}"));
        sandbox.fix(Sandbox::run_args(&["--yes"])).expect(code);
        let daemon = wait_for_file(&sandbox.root().join("runs.pid"));
        assert!(is_alive(&daemon), "it is the command's own affair");
        if code != 0 {
            assert_undone(&sandbox, &before);
        } else {
            // Its group holds no lock that would bar the way back.
            sandbox.fix(["rollback"]).expect(0);
            assert_eq!(differences(&before, &sandbox.project_picture()), [""; 0]);
        }
        send(daemon.parse().unwrap(), "KILL");
    }
}

#[test]
fn a_rerun_that_closes_its_output() {
    let sandbox = Sandbox::with_moved_tree();
    sandbox.on_rerun("exec >&- 2>&-");
    sandbox.fix(Sandbox::run_args(&["--yes"])).expect(0);
}

#[test]
fn a_rerun_that_reads_finds_what_the_first_run_found() {
    let sandbox = Sandbox::with_moved_tree();
    sandbox.on_rerun("cat >\"$LOG.input\"");
    fs::write(sandbox.root().join("input"), "typed\n").unwrap();
    let mut command = sandbox.fix_command();
    command.args(Sandbox::run_args(&["--yes"])).stdin(fs::File::open(sandbox.root().join("input")).unwrap());
    done(command.output().unwrap()).expect(0);
    assert_eq!(fs::read_to_string(sandbox.root().join("runs.input")).unwrap(), "typed\n");
}

#[test]
fn a_pipe_cannot_be_read_twice() {
    let sandbox = Sandbox::with_moved_tree();
    let before = sandbox.project_picture();
    let mut command = sandbox.fix_command();
    let mut child = command.args(Sandbox::run_args(&["--yes"]));
    child = child.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
    let done = done(child.spawn().unwrap().wait_with_output().unwrap());
    done.expect(1)
        .says("standard input cannot be read a second time")
        .says("fix run --yes -- cmake -B build </dev/null");
    assert_eq!(differences(&before, &sandbox.project_picture()), [""; 0]);
    assert_eq!(sandbox.runs(), 1);
}

/// Starts `fix run --yes` whose re-run waits; returns when it does, with the pid of the re-run.
fn waiting_rerun(sandbox: &Sandbox, script: &str) -> (std::process::Child, String) {
    sandbox.on_rerun(&format!(
        "mkdir build; echo new >build/new; {script} echo $$ >\"$LOG.pid\"; while :; do sleep 0.05; done"
    ));
    let mut command = sandbox.fix_command();
    command.args(Sandbox::run_args(&["--yes"])).stdout(Stdio::piped()).stderr(Stdio::piped());
    let child = command.spawn().unwrap();
    let rerun = wait_for_file(&sandbox.root().join("runs.pid"));
    (child, rerun)
}

#[test]
fn a_signal_during_the_rerun_undoes_all() {
    for (signal, number) in [("INT", 2), ("TERM", 15), ("HUP", 1)] {
        let sandbox = Sandbox::with_moved_tree();
        let before = sandbox.project_picture();
        let (child, rerun) = waiting_rerun(&sandbox, "");
        send(child.id(), signal);
        let output = child.wait_with_output().unwrap();
        assert_eq!(output.status.signal(), Some(number), "{output:?}");
        done(output).says("taken back");
        assert_undone(&sandbox, &before);
        wait_until("the re-run has ended", || !is_alive(&rerun));
        sandbox.fix(["rollback"]).expect(0).says("nothing");
    }
}

#[test]
fn a_signal_that_the_rerun_answers_with_a_status() {
    let sandbox = Sandbox::with_moved_tree();
    let before = sandbox.project_picture();
    let (child, _) = waiting_rerun(&sandbox, "trap 'exit 7' INT;");
    send(child.id(), "INT");
    done(child.wait_with_output().unwrap()).expect(7);
    assert_undone(&sandbox, &before);
}

#[test]
fn a_signal_that_the_rerun_answers_with_success() {
    let sandbox = Sandbox::with_moved_tree();
    let before = sandbox.project_picture();
    let (child, _) = waiting_rerun(&sandbox, "trap 'exit 0' INT;");
    send(child.id(), "INT");
    // It passed only with what was taken back: the failure before stands.
    done(child.wait_with_output().unwrap()).expect(1).says("taken back");
    assert_undone(&sandbox, &before);
}

#[test]
fn a_signal_to_apply_during_the_rerun_undoes_all() {
    let sandbox = Sandbox::with_moved_tree();
    let before = sandbox.project_picture();
    let log = sandbox.root().join("log");
    fs::write(&log, sandbox.moved_log()).unwrap();
    sandbox.on_rerun("mkdir build; echo new >build/new; echo $$ >\"$LOG.pid\"; while :; do sleep 0.05; done");
    let mut command = sandbox.fix_command();
    command.args(["cmake-source-moved", "--yes", "--json", "--log"]).arg(&log).arg("--").args(COMMAND);
    let child = command.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
    wait_for_file(&sandbox.root().join("runs.pid"));
    send(child.id(), "INT");
    let done = done(child.wait_with_output().unwrap()).expect(1);
    assert!(done.stdout.contains("\"outcome\": \"interrupted\""), "{}", done.stdout);
    assert_eq!(differences(&before, &sandbox.project_picture()), [""; 0]);
}

#[test]
fn the_next_command_restores_what_a_killed_one_left() {
    for next in ["run", "rollback"] {
        let sandbox = Sandbox::with_moved_tree();
        let before = sandbox.project_picture();
        let (mut child, rerun) = waiting_rerun(&sandbox, "");
        send(child.id(), "KILL");
        child.wait().unwrap();
        assert_ne!(differences(&before, &sandbox.project_picture()), [""; 0]);
        // The command lives on: nothing is done beside it.
        assert!(is_alive(&rerun));
        let half = sandbox.project_picture();
        let done = sandbox.fix(["rollback"]);
        assert!(done.code == 1 || done.code == 0, "{}", done.all());
        done.says(&rerun);
        assert_eq!(differences(&half, &sandbox.project_picture()), [""; 0]);
        send(rerun.parse().unwrap(), "KILL");
        wait_until("the re-run has ended", || !is_alive(&rerun));
        sandbox.fix(["diagnose", "CMakeLists.txt"]).expect(0).says("cut off");
        assert_eq!(differences(&half, &sandbox.project_picture()), [""; 0]);
        fs::remove_file(sandbox.root().join("hook")).unwrap();
        if next == "run" {
            // The old tree is back only when the failure is to be repaired again: so make it fail first.
            fs::remove_dir_all(sandbox.project().join("build")).unwrap();
            sandbox.write_moved_tree("build");
            sandbox.fix(Sandbox::run_args(&["--yes"])).says("cut off; the state before it is back");
        } else {
            sandbox.fix(["rollback"]).expect(0).says("cut off; the state before it is back");
            assert_eq!(differences(&before, &sandbox.project_picture()), [""; 0]);
        }
    }
}

#[test]
fn another_fix_at_work() {
    let sandbox = Sandbox::with_moved_tree();
    let (child, rerun) = waiting_rerun(&sandbox, "");
    let pid = child.id();
    // Everything that would write here is refused at once, with the holder's name.
    let log = sandbox.root().join("log");
    fs::write(&log, "").unwrap();
    sandbox.write_moved_tree("build");
    let busy = sandbox.project_picture();
    fs::write(&log, {
        let project = sandbox.project();
        let build = project.join("build");
        format!(
            "CMake Error: The current CMakeCache.txt directory {}/CMakeCache.txt is different than the directory \
             /nowhere/first/build where CMakeCache.txt was created.\n",
            build.display()
        )
    })
    .unwrap();
    for args in [vec!["cmake-source-moved", "--yes", "--log", log.to_str().unwrap()], vec!["rollback"]] {
        let done = sandbox.fix(&args).expect(1).says(&format!("process {pid}"));
        assert!(done.all().contains("cmake -B build"), "{}", done.all());
        assert_eq!(differences(&busy, &sandbox.project_picture()), [""; 0]);
    }
    // Another project with the same state folder is free.
    let mut other = Sandbox::with_moved_tree();
    other.set("XDG_STATE_HOME", sandbox.state());
    other.fix(Sandbox::run_args(&["--yes"])).expect(0);
    other.fix(["rollback"]).expect(0);
    send(pid, "TERM");
    let output = child.wait_with_output().unwrap();
    assert_eq!(output.status.signal(), Some(15));
    assert!(!is_alive(&rerun));
}

/// Runs a line under a terminal of its own; returns what was seen there.
fn on_terminal(sandbox: &Sandbox, line: &str, typed: &str) -> Done {
    use std::io::Write;
    let mut command = sandbox.command("script");
    command.args(["--quiet", "--return", "--flush", "--echo", "never", "--command", line, "/dev/null"]);
    let mut child = command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
    let mut stdin = child.stdin.take().unwrap();
    stdin.write_all(typed.as_bytes()).unwrap();
    // An end of the input would end `script` before the program under test.
    let output = child.wait_with_output().unwrap();
    drop(stdin);
    done(output)
}

#[test]
fn on_a_terminal_it_asks() {
    let fix = env!("CARGO_BIN_EXE_fix");
    let line = format!("{fix} run -- cmake -B build");
    for (typed, code) in [("n\n", 1), ("\n", 1), ("y\n", 0)] {
        let sandbox = Sandbox::with_moved_tree();
        let before = sandbox.project_picture();
        let done = on_terminal(&sandbox, &line, typed).expect(code).says("[y/N]");
        assert_eq!(sandbox.project_picture() == before, code == 1, "{}", done.all());
    }
}

#[test]
fn a_rerun_that_reads_the_terminal_gets_what_is_typed() {
    let fix = env!("CARGO_BIN_EXE_fix");
    let sandbox = Sandbox::with_moved_tree();
    sandbox.on_rerun("test -t 0 && test -t 1 && read answer </dev/tty && echo \"$answer\" >\"$LOG.answer\"");
    on_terminal(&sandbox, &format!("{fix} run --yes -- cmake -B build"), "typed\n").expect(0);
    assert_eq!(fs::read_to_string(sandbox.root().join("runs.answer")).unwrap(), "typed\n");
}

/// Runs its arguments on a terminal of their own, with SIGHUP as its first argument says; writes the pid to `$LOG.fix`
/// and hangs up when its standard input ends.
const HANG_UP: &str = "#!/usr/bin/env python3
import os, pty, signal, sys
pid, terminal = pty.fork()
if pid == 0:
    signal.signal(signal.SIGHUP, getattr(signal, sys.argv[1]))
    os.execvp(sys.argv[2], sys.argv[2:])
open(os.environ['LOG'] + '.fix', 'w').write(f'{pid}\\n')
seen = b''
while b'[y/N]' not in seen and not os.path.exists(os.environ['LOG'] + '.pid'):
    seen += os.read(terminal, 4096)
open(os.environ['LOG'] + '.asked', 'w').write('yes\\n')
sys.stdin.read(1)
";

/// Starts `fix run` on a terminal that hangs up when the child's standard input ends; returns the pid of `fix`, too.
fn on_terminal_that_hangs_up(sandbox: &Sandbox, disposition: &str, flags: &[&str]) -> (std::process::Child, String) {
    let tool = executable(&sandbox.root().join("hang-up.py"), HANG_UP);
    let mut command = sandbox.command(tool);
    command.arg(disposition).arg(env!("CARGO_BIN_EXE_fix")).args(Sandbox::run_args(flags)).stdin(Stdio::piped());
    let child = command.spawn().unwrap();
    let fix = wait_for_file(&sandbox.root().join("runs.fix"));
    (child, fix)
}

#[test]
fn a_terminal_that_hangs_up_undoes_all() {
    let sandbox = Sandbox::with_moved_tree();
    let before = sandbox.project_picture();
    sandbox.on_rerun("mkdir build; echo new >build/new; echo $$ >\"$LOG.pid\"; while :; do echo x; sleep 0.05; done");
    let (mut child, fix) = on_terminal_that_hangs_up(&sandbox, "SIG_DFL", &["--yes"]);
    wait_for_file(&sandbox.root().join("runs.pid"));
    drop(child.stdin.take());
    wait_for_end(&mut child);
    wait_until("fix has ended", || !is_alive(&fix));
    assert_undone(&sandbox, &before);
}

#[test]
fn a_repair_at_work_is_no_failure_in_the_history() {
    let sandbox = Sandbox::with_moved_tree();
    let seen = sandbox.root().join("seen");
    let fix = env!("CARGO_BIN_EXE_fix");
    sandbox.on_rerun(&format!("{fix} history --json > {}\nmkdir -p build", seen.display()));
    sandbox.fix(Sandbox::run_args(&["--yes"])).expect(0);
    let seen = fs::read_to_string(seen).unwrap();
    assert!(seen.contains("\"at_work\"") && !seen.contains("needs_attention"), "{seen}");
}

#[test]
fn a_lost_journal_is_told_with_its_reason() {
    let sandbox = Sandbox::with_moved_tree();
    sandbox.fix(Sandbox::run_args(&["--yes"])).expect(0);
    let groups = sandbox.state().join("fix/groups");
    let group = fs::read_dir(&groups).unwrap().next().unwrap().unwrap().path();
    fs::write(group.join("1.jsonl"), "").unwrap();
    let says = "1.jsonl` is gone or empty";
    sandbox.fix(["history"]).expect(0).says("failed").says_in_any_layout(says);
    sandbox.fix(["rollback"]).expect(1).says_in_any_layout(says);
    sandbox.fix(["history", "prune", "--keep", "0"]).expect(0);
    assert!(group.join("trash").exists());
}

/// As under `nohup`: the command lives on, and so does `fix`, until the command ends by itself.
#[test]
fn a_terminal_that_hangs_up_unheard_ends_nothing_and_holds_nothing_up() {
    for (during, kept) in [
        ("", true),
        ("read answer </dev/tty; read answer;", true),
        // Without us the first would fail; some are under way when ours is found to be lost.
        ("while echo unheard; do sleep 0.05; done; exit 9;", false),
        ("exec >/dev/null 2>&1; echo unheard;", true),
    ] {
        let sandbox = Sandbox::with_moved_tree();
        let before = sandbox.project_picture();
        sandbox.on_rerun(&format!(
            "echo $$ >\"$LOG.pid\"; until [ -e \"$LOG.gone\" ]; do echo x; sleep 0.05; done 2>/dev/null; {during}"
        ));
        let (mut child, fix) = on_terminal_that_hangs_up(&sandbox, "SIG_IGN", &["--yes"]);
        let rerun = wait_for_file(&sandbox.root().join("runs.pid"));
        drop(child.stdin.take());
        wait_for_end(&mut child);
        assert!(is_alive(&fix) && is_alive(&rerun), "{during}");
        fs::write(sandbox.root().join("runs.gone"), "").unwrap();
        wait_until("fix has ended", || !is_alive(&fix));
        assert_eq!(sandbox.runs(), 2, "{during}");
        if kept {
            assert!(!sandbox.project().join("build/lib/libold.a").exists(), "{during}");
            sandbox.fix(["rollback"]).expect(0);
        }
        assert_eq!(differences(&before, &sandbox.project_picture()), [""; 0], "{during}");
    }
}

#[test]
fn a_terminal_that_hangs_up_at_the_question_answers_no() {
    for disposition in ["SIG_IGN", "SIG_DFL"] {
        let sandbox = Sandbox::with_moved_tree();
        let before = sandbox.project_picture();
        let (mut child, fix) = on_terminal_that_hangs_up(&sandbox, disposition, &[]);
        wait_for_file(&sandbox.root().join("runs.asked"));
        drop(child.stdin.take());
        wait_for_end(&mut child);
        wait_until("fix has ended", || !is_alive(&fix));
        assert_eq!(sandbox.runs(), 1);
        assert_eq!(differences(&before, &sandbox.project_picture()), [""; 0]);
    }
}
