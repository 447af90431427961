//! Output that goes to pipes and files, statuses, signals, time limits.

use std::fs;
use std::io::{Read, Write};
use std::process::{Command, Stdio};

use super::place::{Place, at_signal, is_alive, text, wait_until};

#[test]
fn ends_as_the_command_ends() {
    let place = Place::new();
    fs::write(place.path().join("text"), "echo\n").unwrap();
    for (command, code, report) in [
        ("true", 0, "Exited(0)"),
        ("sh -c 'exit 3'", 3, "Exited(3)"),
        ("sh -c 'exit 255'", 255, "Exited(255)"),
        ("sh -c 'kill -9 $$'", 137, "Signalled(9)"),
        ("sh -c 'kill -SEGV $$'", 139, "Signalled(11)"),
        ("no-such-program", 127, "error `no-such-program`: command not found"),
        ("./no-such-program", 127, "error `./no-such-program`: command not found"),
        ("./text", 126, "error `./text`: cannot be executed: Permission denied"),
        ("/", 126, "error `/`: cannot be executed: is a directory"),
        ("''", 127, "error ``: command not found"),
    ] {
        let output = place.output(&format!("./t {command}; echo $?"));
        assert_eq!(text(&output.stdout).lines().last(), Some(code.to_string().as_str()), "{command}");
        assert!(place.report().starts_with(report), "{command}: {}", place.report());
    }
}

#[test]
fn keeps_streams_apart_when_they_go_apart() {
    let place = Place::new();
    let output = place.output("./t sh -c 'printf out; printf err >&2; printf out; exit 5'");
    assert_eq!((text(&output.stdout), text(&output.stderr)), ("outout".to_owned(), "err".to_owned()));
    assert_eq!(output.status.code(), Some(5));
    assert!(place.report().contains("stdout 6 ") && place.report().contains("stderr 3 "));
}

#[test]
fn keeps_order_when_they_go_together() {
    let place = Place::new();
    let script = "for i in $(seq 2000); do echo $i; echo $i >&2; done";
    let want: String = (1..=2000).map(|i| format!("{i}\n{i}\n")).collect();
    assert!(text(&place.output(&format!("./t bash -c '{script}' 2>&1")).stdout) == want);
    place.output(&format!("./t bash -c '{script}' >log 2>&1"));
    assert!(place.read("log") == want);
    place.output(&format!("./t bash -c '{script}' >>log 2>&1"));
    assert!(place.read("log") == want.repeat(2));
}

#[test]
fn hands_everything_through() {
    let place = Place::new();
    // Lines of all lengths with every byte value, 200 MB.
    let program =
        "import sys\nblock = bytes(range(256)) * 40 + b'end\\n'\nfor i in range(19523): sys.stdout.buffer.write(block)";
    let mut child = place.bash(&format!("./t python3 -c \"{program}\"")).stdout(Stdio::piped()).spawn().unwrap();
    let mut hasher = blake3::Hasher::new();
    std::io::copy(&mut child.stdout.take().unwrap(), &mut hasher).unwrap();
    assert!(child.wait().unwrap().success());
    let block: Vec<u8> = (0..=255).collect::<Vec<u8>>().repeat(40).into_iter().chain(*b"end\n").collect();
    let mut want = blake3::Hasher::new();
    for _ in 0..19523 {
        want.update(&block);
    }
    assert_eq!(hasher.finalize(), want.finalize());
    assert!(place.report().contains(&format!("stdout {} {}", want.count(), want.finalize())));
}

#[test]
fn hands_on_at_once() {
    let place = Place::new();
    let mut child = place.bash("./t sh -c 'printf prompt; read answer; echo $answer'");
    let mut child = child.stdin(Stdio::piped()).stdout(Stdio::piped()).spawn().unwrap();
    let mut seen = [0; 6];
    child.stdout.as_mut().unwrap().read_exact(&mut seen).unwrap();
    assert_eq!(&seen, b"prompt");
    child.stdin.take().unwrap().write_all(b"reply\n").unwrap();
    assert_eq!(text(&child.wait_with_output().unwrap().stdout), "reply\n");
}

#[test]
fn a_closed_reader_ends_the_command() {
    let place = Place::new();
    for wrapper in ["", "./t "] {
        let output = place.output(&format!("{wrapper}yes | head -1; echo ${{PIPESTATUS[@]}}"));
        assert_eq!(text(&output.stdout), "y\n141 0\n", "{wrapper}");
    }
    assert!(place.report().contains("Signalled(13)") && place.report().contains("lost=None"));
}

#[test]
fn a_full_disk_is_no_success() {
    let place = Place::new();
    let output = place.output("./t cat /dev/zero >/dev/full");
    assert_eq!(output.status.code(), Some(141));
    assert!(place.report().contains("lost=Some(StorageFull)"), "{}", place.report());
}

#[test]
fn closed_descriptors_are_survived() {
    let place = Place::new();
    for (redirection, stdout, stderr) in [(">&-", "", "err"), ("2>&-", "out", ""), ("<&-", "out", "err")] {
        let output = place.output(&format!("./t sh -c 'printf out; printf err >&2; exit 4' {redirection}"));
        assert_eq!((text(&output.stdout).as_str(), text(&output.stderr).as_str()), (stdout, stderr), "{redirection}");
        assert_eq!(output.status.code(), Some(4), "{redirection}");
    }
}

#[test]
fn a_daemon_left_behind_is_not_waited_for() {
    let place = Place::new();
    for daemon in ["sleep 600", "yes"] {
        // Both streams lead into files: whoever reads a pipe waits for the daemon, with us as without us.
        let output = place.output(&format!("./t sh -c '{daemon} & echo $! >pid; exit 6' >out 2>err; echo code $?"));
        assert_eq!(text(&output.stdout), "code 6\n");
        assert!(place.report().starts_with("Exited(6)"));
        let pid = place.read("pid");
        assert!(is_alive(pid.trim()));
        Command::new("kill").arg(pid.trim()).status().unwrap();
    }
}

#[test]
fn what_a_daemon_prints_after_the_end_arrives() {
    let place = Place::new();
    let daemon = "(until [ -e go ]; do sleep 0.05; done; echo late; echo late >&2; echo >done) &";
    let output = place.output(&format!("./t sh -c '{daemon} echo started' >out 2>err; echo code $?"));
    assert_eq!(text(&output.stdout), "code 0\n");
    assert_eq!(place.read("out"), "started\n");
    fs::write(place.path().join("go"), "").unwrap();
    wait_until("the daemon is done", || place.path().join("done").exists());
    wait_until("its words arrived", || place.read("out") == "started\nlate\n" && place.read("err") == "late\n");
}

#[test]
fn what_was_printed_before_the_end_is_not_lost_to_a_slow_reader() {
    let place = Place::new();
    // The daemon keeps the pipe, and nobody reads before the command is long gone.
    let line = "./t sh -c 'head -c 300000 /dev/zero; echo end; sleep 600 & echo $! >pid'";
    let mut child = place.bash(line).stdout(Stdio::piped()).spawn().unwrap();
    wait_until("the command has ended", || {
        fs::read_to_string(place.path().join("pid")).is_ok_and(|pid| pid.ends_with('\n'))
    });
    // Longer than a silent daemon is listened to: nobody could see from outside that this time is over.
    std::thread::sleep(std::time::Duration::from_millis(600));
    // Not to the end: the daemon still holds the pipe, as it would without us.
    let mut seen = vec![1; 300_004];
    child.stdout.take().unwrap().read_exact(&mut seen).unwrap();
    assert!(seen.ends_with(b"\0end\n"));
    assert!(child.wait().unwrap().success());
    Command::new("kill").arg(place.read("pid").trim()).status().unwrap();
}

#[test]
fn time_is_limited_even_for_the_stubborn() {
    let place = Place::new();
    let script = "trap \"\" TERM; (trap \"\" TERM; while :; do sleep 1; done) & echo $! >pid; echo ready; \
                  while :; do sleep 1; done";
    let mut command = place.bash(&format!("exec ./t sh -c '{script}'"));
    let output = command.env("TRANSPARENT_TIMEOUT_MS", "700").output().unwrap();
    assert_eq!((text(&output.stdout).as_str(), output.status.code()), ("ready\n", Some(137)));
    assert!(place.report().starts_with("Signalled(9) timed_out=true"));
    wait_until("the grandchild is gone", || !is_alive(place.read("pid").trim()));
}

#[test]
fn time_is_limited_on_a_terminal_too() {
    let place = Place::new();
    let script =
        "trap \"\" TERM; (trap \"\" TERM; while :; do sleep 1; done) & echo $! >pid; while :; do sleep 1; done";
    let line = format!("TRANSPARENT_REPORT=report TRANSPARENT_TIMEOUT_MS=700 ./t sh -c '{script}'; echo code $?");
    let mut terminal = place.terminal(&line);
    terminal.expect("code 137");
    assert!(place.report().starts_with("Signalled(9) timed_out=true"));
    wait_until("the grandchild is gone", || !is_alive(place.read("pid").trim()));
    assert_eq!(terminal.finish().code(), Some(0));
}

#[test]
fn signals_to_us_reach_the_command() {
    for (signal, number) in [("TERM", 15), ("HUP", 1), ("INT", 2), ("QUIT", 3)] {
        let command = at_signal(signal, "say('got'); sys.exit(8)");
        for with_terminal in [false, true] {
            let place = Place::new();
            let line = format!("echo $$ >pid; TRANSPARENT_REPORT=report exec ./t {command}");
            let kill = || {
                let pid = place.read("pid");
                assert!(Command::new("kill").args([&format!("-{signal}"), pid.trim()]).status().unwrap().success());
            };
            let (seen, status) = if with_terminal {
                let mut terminal = place.terminal(&line);
                terminal.expect("ready");
                kill();
                let status = terminal.finish();
                (terminal.text().replace('\r', ""), status)
            } else {
                let mut child = place.bash(&line);
                let mut child = child.stdout(Stdio::piped()).spawn().unwrap();
                let mut ready = vec![0; 6];
                child.stdout.as_mut().unwrap().read_exact(&mut ready).unwrap();
                kill();
                let output = child.wait_with_output().unwrap();
                (text(&[ready, output.stdout].concat()), output.status)
            };
            assert_eq!((seen.as_str(), status.code()), ("ready\ngot\n", Some(8)), "{signal} {with_terminal}");
            assert!(place.report().contains(&format!("interrupted=Some({number})")), "{}", place.report());
        }
    }
}

#[test]
fn an_ignored_signal_stays_ignored() {
    let place = Place::new();
    let output = place.output("trap '' HUP; ./t sh -c 'kill -HUP $PPID; kill -HUP $$; echo alive'");
    assert_eq!(text(&output.stdout), "alive\n");
    assert!(place.report().contains("interrupted=None"));
}

#[test]
fn a_status_is_known_even_when_nobody_wants_to_know_of_children() {
    let place = Place::new();
    let program = "import os, signal; signal.signal(signal.SIGCHLD, signal.SIG_IGN); \
                   os.execv('./t', ['./t', 'sh', '-c', 'exit 3'])";
    assert_eq!(place.output(&format!("exec python3 -c \"{program}\"")).status.code(), Some(3));
}

#[test]
fn the_command_has_default_signals() {
    let place = Place::new();
    // Ignored signals 32 and 33 belong to the C library, and come from whoever started the tests.
    let [ours, without] =
        ["./t ", ""].map(|it| text(&place.output(&format!("{it}grep -E 'Sig(Blk|Ign|Cgt)' /proc/self/status")).stdout));
    assert_eq!(ours, without);
    let mask = ours.lines().find_map(|line| line.strip_prefix("SigIgn:")).unwrap();
    assert_eq!(u64::from_str_radix(mask.trim(), 16).unwrap() & 0x7fff_ffff, 0);
}

#[test]
fn no_descriptor_of_ours_leaks() {
    let place = Place::new();
    let script = "ls /proc/self/fd";
    assert_eq!(text(&place.output(&format!("./t {script}")).stdout), text(&place.output(script).stdout));
    let mut terminal = place.terminal("./t ls /proc/self/fd; ls /proc/self/fd");
    terminal.finish();
    let (ours, without) = (terminal.text().lines().next().map(str::to_owned), terminal.text());
    assert_eq!(without.lines().nth(1).map(str::to_owned), ours);
}

#[test]
fn a_script_finds_the_name_that_was_typed() {
    let place = Place::new();
    fs::create_dir(place.path().join("bin")).unwrap();
    fs::write(place.path().join("content"), "#!/bin/sh\necho \"$0 $*\"\n").unwrap();
    // Installed by a program of its own: what a child of another test might hold open for writing is not executed.
    place.output("install -m 755 content script; install -m 755 content bin/found");
    for command in ["./script 'a  b'", "bin/../script", "found x"] {
        let [ours, without] =
            ["./t ", ""].map(|it| text(&place.output(&format!("PATH=bin:$PATH; {it}{command}")).stdout));
        assert_eq!(ours, without);
    }
    assert_eq!(text(&place.output("./t bash -c 'echo $0'").stdout), "bash\n");
}

#[test]
fn input_is_read_again_only_where_it_is_still_there() {
    let place = Place::new();
    fs::write(place.path().join("input"), "first\nsecond\n").unwrap();
    for (line, want) in [
        ("./t cat <input", "first\nsecond\nfirst\nsecond\n"),
        ("(read skipped; ./t cat) <input", "second\nsecond\n"),
        ("./t cat </dev/null", ""),
        ("cat input | ./t cat", "first\nsecond\n"),
    ] {
        let output = place.bash(line).env("TRANSPARENT_TWICE", "1").output().unwrap();
        assert_eq!(text(&output.stdout), want, "{line}");
        assert_eq!(place.report().contains("cannot be read again"), line.contains('|'), "{line}");
    }
}
