//! `os::process` with real programs: as if we were not there, with pipes, files and terminals.

mod terminal;

use std::fs;
use std::io::{Read, Write};
use std::os::unix::process::ExitStatusExt;
use std::path::{Path, PathBuf};
use std::process::{Command, Output, Stdio};
use std::sync::OnceLock;

use tempfile::TempDir;
use terminal::Terminal;

/// Builds `examples/transparent.rs` beside this test and returns its path.
fn transparent() -> &'static Path {
    static BUILT: OnceLock<PathBuf> = OnceLock::new();
    BUILT.get_or_init(|| {
        let test = std::env::current_exe().unwrap();
        let profile = test.ancestors().nth(2).unwrap();
        let mut build = Command::new(env!("CARGO"));
        build.args(["build", "--quiet", "--example", "transparent", "--target-dir"]).arg(profile.parent().unwrap());
        build.args(["--manifest-path", concat!(env!("CARGO_MANIFEST_DIR"), "/Cargo.toml")]);
        if profile.ends_with("release") {
            build.arg("--release");
        }
        assert!(build.status().unwrap().success());
        profile.join("examples/transparent")
    })
}

/// A folder with `t`, a link to the program under test, and the report that it writes.
struct Place {
    folder: TempDir,
}

impl Place {
    fn new() -> Self {
        let folder = tempfile::tempdir().unwrap();
        std::os::unix::fs::symlink(transparent(), folder.path().join("t")).unwrap();
        Self { folder }
    }

    fn path(&self) -> &Path {
        self.folder.path()
    }

    /// A shell line without a controlling terminal, in which `./t` is the program under test.
    fn bash(&self, line: &str) -> Command {
        let mut command = Command::new("setsid");
        command.args(["--wait", "bash", "-c", line]).current_dir(self.path()).stdin(Stdio::null());
        command.env("TRANSPARENT_REPORT", self.path().join("report"));
        command
    }

    fn output(&self, line: &str) -> Output {
        self.bash(line).output().unwrap()
    }

    /// The same line on a terminal of its own.
    fn terminal(&self, line: &str) -> Terminal {
        Terminal::start(self.path(), &["bash", "-c", line])
    }

    fn read(&self, name: &str) -> String {
        fs::read_to_string(self.path().join(name)).unwrap()
    }

    fn report(&self) -> String {
        self.read("report")
    }
}

fn text(bytes: &[u8]) -> String {
    String::from_utf8_lossy(bytes).into_owned()
}

/// Waits until `condition` holds; a test that waits longer than this hangs for a reason.
fn wait_until(what: &str, condition: impl Fn() -> bool) {
    for _ in 0..3000 {
        if condition() {
            return;
        }
        std::thread::sleep(std::time::Duration::from_millis(10));
    }
    panic!("never happened: {what}");
}

fn is_alive(pid: &str) -> bool {
    fs::read_to_string(format!("/proc/{pid}/stat")).is_ok_and(|stat| !stat.contains(") Z "))
}

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
        let output = place.output(&format!("./t sh -c '{daemon} & echo $! >pid; exit 6' | tail -c 1 >/dev/null"));
        assert_eq!(output.status.code(), Some(0));
        assert!(place.report().starts_with("Exited(6)"));
        if daemon != "yes" {
            let pid = place.read("pid");
            assert!(is_alive(pid.trim()));
            Command::new("kill").arg(pid.trim()).status().unwrap();
        }
    }
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
    std::thread::sleep(std::time::Duration::from_millis(600));
    let mut seen = Vec::new();
    child.stdout.take().unwrap().read_to_end(&mut seen).unwrap();
    assert_eq!(seen.len(), 300_004);
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

/// A program that prints `ready`, and does `at` each time that it gets `signal`. It waits for the signal instead of
/// being interrupted by it, so that it misses none.
fn at_signal(signal: &str, at: &str) -> String {
    format!(
        "python3 -c \"import signal, sys, os, itertools\nwaited = [signal.SIG{signal}]\n\
         say = lambda text: os.write(1, (text + chr(10)).encode())\n\
         signal.signal(signal.SIGINT, signal.SIG_DFL)\n\
         signal.pthread_sigmask(signal.SIG_BLOCK, waited)\nsay('ready')\n\
         for count in itertools.count(1):\n  signal.sigwait(waited)\n  {at}\""
    )
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
    for name in ["script", "bin/found"] {
        fs::write(place.path().join(name), "#!/bin/sh\necho \"$0 $*\"\n").unwrap();
        Command::new("chmod").arg("+x").arg(place.path().join(name)).status().unwrap();
    }
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

#[test]
fn is_a_terminal_exactly_where_we_have_one() {
    let place = Place::new();
    let script = "for fd in 0 1 2; do [ -t $fd ] && r=tty || r=no; echo $r >&3; done";
    for (redirection, want) in [
        ("", "tty\ntty\ntty\n"),
        (">out", "tty\nno\ntty\n"),
        ("2>out", "tty\ntty\nno\n"),
        (">out 2>&1", "tty\nno\nno\n"),
        ("</dev/null", "no\ntty\ntty\n"),
        ("2>/dev/tty", "tty\ntty\ntty\n"),
    ] {
        let mut terminal = place.terminal(&format!("./t bash -c '{script}' {redirection} 3>seen"));
        assert_eq!(terminal.finish().code(), Some(0));
        assert_eq!(place.read("seen"), want, "{redirection}");
    }
}

#[test]
fn a_terminal_shows_the_same_bytes_as_without_us() {
    let place = Place::new();
    fs::create_dir(place.path().join("folder")).unwrap();
    for command in [
        "ls --color=auto -d folder t",
        "sh -c 'printf \"a\\nb\\tc\\r\\n\\033[1mbold\\033[0m\\n\"; printf error\\\\n >&2; stty size; stty size <&1'",
        "sh -c 'for i in $(seq 500); do echo out $i; echo err $i >&2; done'",
        "head -c 100000 /dev/zero",
    ] {
        let [ours, without] = ["./t ", ""].map(|wrapper| {
            let mut terminal = place.terminal(&format!("{wrapper}{command}"));
            terminal.finish();
            terminal.text()
        });
        assert!(!without.is_empty());
        assert!(ours == without, "{command}:\n{ours:?}\n{without:?}");
    }
}

#[test]
fn a_new_window_size_arrives() {
    let place = Place::new();
    let command = at_signal("WINCH", "say('{}x{}'.format(*os.get_terminal_size(1)))");
    let mut terminal = place.terminal(&format!("./t {command}"));
    terminal.expect("ready");
    for (rows, columns) in [(40, 100), (10, 20), (50, 132)] {
        terminal.resize(rows, columns);
        terminal.expect(&format!("{columns}x{rows}"));
    }
    terminal.type_keys("\x03");
    assert_eq!(terminal.finish().signal(), Some(2));
}

#[test]
fn ctrl_c_reaches_the_command_once_each_time() {
    let place = Place::new();
    let command = at_signal("INT", "say('caught'); count == 3 and sys.exit(9)");
    let mut terminal = place.terminal(&format!("trap : INT; TRANSPARENT_REPORT=report ./t {command}; echo code $?"));
    terminal.expect("ready");
    for _ in 0..3 {
        terminal.type_keys("\x03");
        terminal.expect("caught");
    }
    terminal.expect("code 9");
    terminal.finish();
    assert_eq!(terminal.text().matches("caught").count(), 3);
    assert!(place.report().contains("Exited(9)") && place.report().contains("interrupted=Some(2)"));
}

#[test]
fn ctrl_c_ends_a_command_and_the_script_around_it() {
    let place = Place::new();
    let mut terminal = place.terminal("for i in 1 2; do ./t sh -c 'echo ready$1; exec sleep 600' x $i; done");
    terminal.expect("ready1");
    terminal.type_keys("\x03");
    assert_eq!(terminal.finish().signal(), Some(2));
    assert!(!terminal.text().contains("ready2"));
    let mut terminal = place.terminal("trap : INT; ./t sh -c 'echo ready; exec sleep 600'; echo code $?");
    terminal.expect("ready");
    terminal.type_keys("\x03");
    terminal.expect("code 130");
}

#[test]
fn a_script_that_signals_its_own_group_does_not_interrupt_us() {
    let place = Place::new();
    let script = "trap : TERM; kill -TERM 0; sleep 0.1; exit 4";
    let line = format!("set -m; TRANSPARENT_REPORT=report ./t bash -c '{script}'; echo code $?");
    let mut terminal = place.terminal(&line);
    terminal.expect("code 4");
    assert!(place.report().contains("interrupted=None"), "{}", place.report());
}

#[test]
fn a_prompt_is_answered() {
    let place = Place::new();
    let script =
        "read -p \"name? \" name; echo \"hello $name\"; read -s -p secret? secret </dev/tty; echo; echo $secret";
    let mut terminal = place.terminal(&format!("./t bash -c '{script}'"));
    terminal.expect("name? ");
    terminal.type_keys("you\n");
    terminal.expect("hello you");
    terminal.expect("secret?");
    terminal.type_keys("word\n");
    assert_eq!(terminal.finish().code(), Some(0));
    assert_eq!(terminal.text().matches("word").count(), 1, "the echo was off");
}

#[test]
fn a_program_with_a_full_screen_gets_its_keys() {
    let place = Place::new();
    let program = "import curses; screen = curses.initscr(); curses.cbreak(); curses.noecho(); screen.addstr(\"ready\"); \
                   screen.refresh(); key = screen.getch(); curses.endwin(); print(\"key\", key)";
    let mut terminal = place.terminal(&format!("stty -a >before; ./t python3 -c '{program}'; stty -a >after"));
    terminal.expect("ready");
    // Neither echoed nor followed by the end of a line.
    terminal.type_keys("x");
    terminal.expect("key 120");
    assert_eq!(terminal.finish().code(), Some(0));
    assert_eq!(place.read("before"), place.read("after"));
}

#[test]
fn ctrl_z_stops_us_and_fg_continues() {
    let place = Place::new();
    let mut shell = Terminal::start(place.path(), &["bash", "--norc", "--noprofile", "-i"]);
    let script = "echo rea\"\"dy; while read line; do echo \"got\"-$line; done; exit 3";
    shell.type_keys(&format!("./t sh -c '{script}'\n"));
    shell.expect("ready");
    for word in ["one", "two"] {
        shell.type_keys("\x1a");
        shell.expect("Stopped");
        shell.type_keys("echo in-\"\"shell\n");
        shell.expect("in-shell");
        shell.type_keys("fg\n");
        shell.expect("./t sh -c");
        shell.type_keys(&format!("{word}\n"));
        shell.expect(&format!("got-{word}"));
    }
    shell.type_keys("\x04");
    shell.type_keys("echo code-$?\n");
    shell.expect("code-3");
    // The leader of this group is gone when the stop comes.
    shell.type_keys("true | ./t sh -c 'echo rea\"\"dy; exec sleep 600'\n");
    shell.expect("ready");
    shell.type_keys("\x1a");
    shell.expect("Stopped");
    shell.type_keys("kill %1; fg\n");
    shell.type_keys("echo code-$?; exit 0\n");
    shell.expect("code-143");
    assert_eq!(shell.finish().code(), Some(0));
}

#[test]
fn a_command_that_catches_ctrl_z_goes_on() {
    let place = Place::new();
    let mut shell = Terminal::start(place.path(), &["bash", "--norc", "--noprofile", "-i"]);
    shell.type_keys(&format!("./t {}\n", at_signal("TSTP", "say('no stop'); sys.exit(9)")));
    shell.expect("\rready");
    shell.type_keys("\x1a");
    shell.expect("^Zno stop");
    shell.type_keys("echo code-$?; exit 0\n");
    shell.expect("code-9");
    assert!(!shell.text().contains("Stopped"));
}

#[test]
fn a_background_command_waits_for_the_terminal() {
    let place = Place::new();
    let mut shell = Terminal::start(place.path(), &["bash", "--norc", "--noprofile", "-i"]);
    shell.type_keys("./t sh -c 'read line; echo \"got\"-$line' &\n");
    shell.type_keys("while [ -z \"$(jobs -s)\" ]; do sleep 0.05; done; echo stop\"\"ped; fg\n");
    shell.expect("stopped");
    shell.expect("./t sh");
    shell.type_keys("word\n");
    shell.expect("got-word");
    shell.type_keys("exit 0\n");
    assert_eq!(shell.finish().code(), Some(0));
}

#[test]
fn a_terminal_that_goes_away_ends_the_command() {
    let place = Place::new();
    let mut terminal = place.terminal("echo $$ >pid; exec ./t yes");
    terminal.expect("y");
    terminal.hang_up();
    wait_until("the command is gone", || !is_alive(place.read("pid").trim()));
}

#[test]
fn what_is_meant_for_us_is_noted_once_and_obeyed_twice() {
    let place = Place::new();
    let mut shell = Terminal::start(place.path(), &["bash", "--norc", "--noprofile", "-i"]);
    shell.type_keys("(echo $BASHPID >pid; exec ./t)\n");
    shell.expect("ready");
    shell.type_keys("\x1a");
    shell.expect("Stopped");
    shell.type_keys("fg\n");
    wait_until("it has the terminal again", || {
        let stat = fs::read_to_string(format!("/proc/{}/stat", place.read("pid").trim())).unwrap();
        let fields: Vec<&str> = stat.rsplit_once(") ").unwrap().1.split(' ').collect();
        fields[0] != "T" && fields[2] == fields[5]
    });
    shell.type_keys("\x03");
    shell.expect("helper Signalled(2), it Some(2), we Some(2)");
    shell.type_keys("\x03");
    shell.type_keys("echo code-$?; exit 0\n");
    shell.expect("code-130");
}
