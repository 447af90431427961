//! Logs that are no logs, are unreadable, endless on one line, hostile, or in another encoding.

mod support;

use std::fs;
use std::io::Write;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::process::Stdio;

use support::waiting::{send, wait_until};
use support::{Done, Picture, Sandbox, done, picture};

fn fixture() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("fixtures/tda-1.9/stale-cache")
}

/// A sandbox with the project of a stale cache, and the log that the failure leaves.
fn stale() -> (Sandbox, Vec<u8>) {
    let sandbox = Sandbox::new();
    support::unpack(&fixture().join("before"), &sandbox.project(), &sandbox.project());
    let log = support::with_root(&fs::read(fixture().join("log.txt")).unwrap(), &sandbox.project());
    (sandbox, log)
}

/// Everything of the sandbox that `fix diagnose` must leave alone.
fn everything(sandbox: &Sandbox) -> Picture {
    picture(&sandbox.root())
}

fn diagnose(sandbox: &Sandbox, log: &[u8], flags: &[&str]) -> Done {
    let mut command = sandbox.fix_command();
    command.args(["diagnose", "-"]).args(flags);
    let mut child = command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
    let mut stdin = child.stdin.take().unwrap();
    let log = log.to_owned();
    let writer = std::thread::spawn(move || stdin.write_all(&log).unwrap());
    let done = done(child.wait_with_output().unwrap());
    writer.join().unwrap();
    done
}

fn json(done: &Done) -> serde_json::Value {
    serde_json::from_str(&done.stdout).unwrap_or_else(|error| panic!("{error}: {}", done.all()))
}

/// Bytes without any meaning, the same in every run.
fn random(count: usize) -> Vec<u8> {
    let mut state = 0x9e37_79b9_7f4a_7c15_u64;
    let mut next = || {
        state ^= state << 13;
        state ^= state >> 7;
        state ^= state << 17;
        state as u8
    };
    (0..count).map(|_| next()).collect()
}

#[test]
fn random_bytes_are_no_failure() {
    let sandbox = Sandbox::new();
    let before = everything(&sandbox);
    for log in
        [random(1 << 20), vec![0; 1 << 20], vec![0xff; 4096], b"\xff\xfe\x00".to_vec(), Vec::new(), b"\r".repeat(9999)]
    {
        let done = diagnose(&sandbox, &log, &[]).expect(0);
        assert!(!done.all().contains('\u{1b}'), "{:?}", done.all());
        let done = diagnose(&sandbox, &log, &["--json"]).expect(0);
        assert_eq!(json(&done)["findings"], serde_json::json!([]));
        assert_eq!(json(&done)["outcome"], "nothing_wrong");
    }
    assert_eq!(everything(&sandbox), before);
}

#[test]
fn a_failure_among_random_bytes_is_found() {
    let (sandbox, log) = stale();
    let mut noisy = random(1 << 20);
    noisy.extend(b"\n");
    noisy.extend(&log);
    noisy.extend(b"\n");
    noisy.extend(random(1 << 20));
    let done = diagnose(&sandbox, &noisy, &["--json"]).expect(1);
    assert_eq!(json(&done)["findings"][0]["id"], "tda-1.9", "{}", done.stdout);
}

/// More than may be resident by far; the whole two gigabytes only where the scanner is compiled with optimisation.
const LINE: usize = if cfg!(debug_assertions) { 96 << 20 } else { 2 << 30 };

#[test]
fn a_line_of_two_gigabytes_takes_no_memory() {
    let sandbox = Sandbox::new();
    let mut command = sandbox.fix_command();
    let mut child = command.args(["diagnose", "-"]).stdin(Stdio::piped()).stdout(Stdio::piped()).spawn().unwrap();
    let mut stdin = child.stdin.take().unwrap();
    let block: Vec<u8> = [vec![b'x'; 1 << 20], b" CMake Error: imported target ".to_vec(), random(1 << 16)].concat();
    let block: Vec<u8> = block.into_iter().filter(|byte| !matches!(byte, b'\n' | b'\r')).collect();
    let mut left = LINE;
    while left > 0 {
        let count = left.min(block.len());
        stdin.write_all(&block[..count]).unwrap();
        left -= count;
    }
    let status = fs::read_to_string(format!("/proc/{}/status", child.id())).unwrap();
    drop(stdin);
    let output = child.wait_with_output().unwrap();
    assert!(output.status.success(), "{output:?}");
    let peak = status.lines().find_map(|line| line.strip_prefix("VmHWM:")).unwrap().trim();
    let kib: u64 = peak.trim_end_matches("kB").trim().parse().unwrap();
    assert!(kib < 64 << 10, "{peak} resident");
}

#[test]
fn the_same_failure_a_thousand_times_is_one_finding() {
    let (sandbox, log) = stale();
    let done = diagnose(&sandbox, &log.repeat(1000), &["--json"]).expect(1);
    assert_eq!(json(&done)["findings"].as_array().unwrap().len(), 1, "{}", done.stdout);
    assert!(done.stdout.len() < 64 << 10, "{} bytes", done.stdout.len());
}

#[test]
fn what_cannot_be_read_is_one_clear_message() {
    let sandbox = Sandbox::new();
    fs::create_dir(sandbox.project().join("folder")).unwrap();
    let locked = sandbox.write("locked.log", "text\n");
    fs::set_permissions(&locked, fs::Permissions::from_mode(0o000)).unwrap();
    let hidden = sandbox.write("hidden/in.log", "text\n");
    fs::set_permissions(hidden.parent().unwrap(), fs::Permissions::from_mode(0o000)).unwrap();
    std::os::unix::fs::symlink("loop", sandbox.project().join("loop")).unwrap();
    for (name, why) in [
        ("missing.log", "No such file or directory"),
        ("folder", "a directory"),
        ("locked.log", "Permission denied"),
        ("hidden/in.log", "Permission denied"),
        ("locked.log/x", "Not a directory"),
        ("loop", "symbolic link"),
    ] {
        for args in [vec!["diagnose", name], vec!["tda-1.9", "--log", name], vec!["diagnose", "--json", name]] {
            let done = done(sandbox.fix_as_plain_user().args(&args).output().unwrap()).expect(2);
            let lower = done.stderr.to_lowercase();
            assert!(
                done.stderr.contains(&format!("{name}`")) && lower.contains(&why.to_lowercase()),
                "{}",
                done.stderr
            );
            assert!(done.stderr.lines().count() <= 2, "{}", done.stderr);
            if args.contains(&"--json") {
                assert_eq!(json(&done)["outcome"], "failed");
            } else {
                assert_eq!(done.stdout, "");
            }
        }
    }
    fs::set_permissions(hidden.parent().unwrap(), fs::Permissions::from_mode(0o755)).unwrap();
}

fn make_fifo(path: &Path) {
    let made = std::process::Command::new("mkfifo").arg(path).status().unwrap();
    assert!(made.success());
}

#[test]
fn a_fifo_is_read_to_its_end() {
    let (sandbox, log) = stale();
    let fifo = sandbox.root().join("fifo");
    make_fifo(&fifo);
    let mut command = sandbox.fix_command();
    command.arg("diagnose").arg(&fifo).stdout(Stdio::piped()).stderr(Stdio::piped());
    let child = command.spawn().unwrap();
    fs::OpenOptions::new().write(true).open(&fifo).unwrap().write_all(&log).unwrap();
    done(child.wait_with_output().unwrap()).expect(1).says("tda-1.9");
}

#[test]
fn a_fifo_that_nobody_writes_can_be_left() {
    let sandbox = Sandbox::new();
    let fifo = sandbox.root().join("fifo");
    make_fifo(&fifo);
    let mut command = sandbox.fix_command();
    command.arg("diagnose").arg(&fifo).stdout(Stdio::piped()).stderr(Stdio::piped());
    let child = command.spawn().unwrap();
    let waits = || fs::read_to_string(format!("/proc/{}/wchan", child.id())).is_ok_and(|place| place.contains("fifo"));
    let sleeps = || fs::read_to_string(format!("/proc/{}/stat", child.id())).is_ok_and(|stat| stat.contains(") S "));
    wait_until("it waits for a writer", || waits() || sleeps());
    send(child.id(), "INT");
    done(child.wait_with_output().unwrap()).expect(130);
}

#[test]
fn other_encodings_read_the_same() {
    let (sandbox, log) = stale();
    let text = String::from_utf8(log.clone()).unwrap();
    let plain = json(&diagnose(&sandbox, &log, &["--json"]).expect(1))["findings"].clone();
    let with = |unit: fn(u16) -> [u8; 2], mark: &[u8]| -> Vec<u8> {
        mark.iter().copied().chain(text.encode_utf16().flat_map(unit)).collect()
    };
    let chinese = format!("正在构建项目，请稍候：编译器检查完成，链接器检查失败。\n{text}");
    let (gbk, _, bad) = encoding_rs::GBK.encode(&chinese);
    assert!(!bad);
    for (name, bytes, shift) in [
        ("UTF-16LE with its mark", with(u16::to_le_bytes, b"\xff\xfe"), 0),
        ("UTF-16BE with its mark", with(u16::to_be_bytes, b"\xfe\xff"), 0),
        ("UTF-16LE", with(u16::to_le_bytes, b""), 0),
        ("UTF-8 with a mark", [b"\xef\xbb\xbf", &*log].concat(), 0),
        ("CRLF", text.replace('\n', "\r\n").into_bytes(), 0),
        ("GBK", gbk.into_owned(), 1),
        ("Latin-1 bytes in UTF-8", [b"caf\xe9 \xff\n", &*log].concat(), 1),
    ] {
        let done = diagnose(&sandbox, &bytes, &["--json"]).expect(1);
        let found = &json(&done)["findings"][0];
        assert_eq!((&found["id"], &found["params"]), (&plain[0]["id"], &plain[0]["params"]), "{name}");
        let line = |of: &serde_json::Value| of["evidence"][0]["first_line"].as_u64().unwrap();
        assert_eq!(line(found), line(&plain[0]) + shift, "{name}");
    }
}

#[test]
fn what_a_terminal_would_obey_is_shown_instead() {
    let (sandbox, log) = stale();
    let text = String::from_utf8(log).unwrap();
    let hostile = "\u{1b}]0;owned\u{7}\u{1b}[2J\u{202e}gnp.exe\u{2066}\u{200b}\u{9b}31m\u{8}\u{85}";
    // Before, in and after the lines that match, and in the one that is quoted.
    let log: String = text.lines().map(|line| format!("{hostile}{line}{hostile}\n")).collect();
    for flags in [&[][..], &["--color=always"], &["--lang=zh"]] {
        let done = diagnose(&sandbox, log.as_bytes(), flags);
        let shown = done.all();
        for bad in ["\u{1b}]", "\u{1b}[2J", "\u{7}", "\u{8}", "\u{202e}", "\u{2066}", "\u{200b}", "\u{9b}", "\u{85}"] {
            assert!(!shown.contains(bad), "{bad:?} in {shown:?}");
        }
    }
    // A log that no recipe knows is quoted too.
    let unknown = format!("error: {hostile} something new failed\nmake: *** [{hostile}all] Error 2\n");
    let done = diagnose(&sandbox, unknown.as_bytes(), &[]);
    assert!(!done.all().contains(['\u{1b}', '\u{7}', '\u{202e}', '\u{9b}']), "{:?}", done.all());
    // So are names that the user gives.
    for name in ["\u{1b}[31mno.log", "--set=\u{1b}[31m", "--lang=\u{1b}[31m"] {
        let done = sandbox.fix(["diagnose", name]).expect(2);
        assert!(!done.all().contains('\u{1b}'), "{:?}", done.all());
    }
    let done = sandbox.fix(["run", "--", "\u{1b}[31mprogram"]).expect(127);
    assert!(!done.all().contains('\u{1b}'), "{:?}", done.all());
    let done = sandbox.fix(["\u{1b}[31missue"]).expect(2);
    assert!(!done.all().contains('\u{1b}'), "{:?}", done.all());
}

#[test]
fn secrets_are_not_repeated() {
    let (sandbox, log) = stale();
    let text = String::from_utf8(log).unwrap();
    let secrets = ["ghp_0123456789abcdefghijABCDEFGHIJ012345", "hunter2hunter2", "s3cr3t-passw0rd"];
    let noise = format!(
        " -- fetching https://user:{}@example.org/x --token {} PASSWORD={}",
        secrets[2], secrets[0], secrets[1]
    );
    let matched: String = text.lines().map(|line| format!("{line}{noise}\n")).collect();
    let unknown = format!("fatal error: it failed{noise}\n");
    for (log, flags) in [(&matched, &[][..]), (&matched, &["--json"]), (&unknown, &[]), (&unknown, &["--json"])] {
        let done = diagnose(&sandbox, log.as_bytes(), flags);
        assert!(done.all().contains("<secret-"), "{}", done.all());
        for secret in secrets {
            assert!(!done.all().contains(secret), "{secret} in {}", done.all());
        }
    }
}

/// A folder that a log names decides nothing: only what is recognised in the project is touched.
#[test]
fn paths_in_a_log_lead_nowhere() {
    let sandbox = Sandbox::with_moved_tree();
    fs::remove_dir_all(sandbox.project().join("build")).unwrap();
    // A tree that looks just right, but lies elsewhere, and a link to it from within.
    let outside = sandbox.root().join("outside");
    fs::create_dir(&outside).unwrap();
    sandbox.write_moved_tree("victim");
    fs::rename(sandbox.project().join("victim"), outside.join("build")).unwrap();
    std::os::unix::fs::symlink(&outside, sandbox.project().join("linked")).unwrap();
    let before = everything(&sandbox);
    let project = sandbox.project();
    let deep = format!("{}/../outside/build", project.display());
    let linked = format!("{}/linked/build", project.display());
    for tree in [
        "/etc",
        "/",
        "//",
        "/../..",
        "/proc/self/root",
        sandbox.home().to_str().unwrap(),
        outside.join("build").to_str().unwrap(),
        &deep,
        &linked,
    ] {
        let log = format!(
            "CMake Error: The current CMakeCache.txt directory {tree}/CMakeCache.txt is different than the directory \
             /nowhere/first/build where CMakeCache.txt was created. {}\n",
            project.display()
        );
        let file = sandbox.root().join("log");
        fs::write(&file, log).unwrap();
        for args in [vec!["diagnose"], vec!["cmake-source-moved", "--yes=confirm"]] {
            let done = sandbox.fix(args.iter().copied().chain(["--log", file.to_str().unwrap()]));
            assert!(done.code <= 1, "{tree}: {}", done.all());
        }
        fs::remove_file(&file).unwrap();
        assert_eq!(support::differences(&before, &everything(&sandbox)), [""; 0], "{tree}");
    }
}
