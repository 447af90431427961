//! Output that goes to terminals, keys that come from them, job control.

use std::fs;
use std::os::unix::process::ExitStatusExt;

use super::place::{Place, at_signal, is_alive, wait_until};
use super::terminal::Terminal;

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
