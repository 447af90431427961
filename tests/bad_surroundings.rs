//! Homes, state folders, locales, widths and streams that are not as usual.

mod support;

use std::fs;
use std::io::Read;
use std::os::unix::fs::PermissionsExt;
use std::path::Path;
use std::process::Stdio;

use support::user::{PLAIN, give, is_root};
use support::{Done, Picture, Sandbox, differences, done, picture};

fn repair(sandbox: &Sandbox) -> Done {
    sandbox.fix(Sandbox::run_args(&["--yes"]))
}

#[track_caller]
fn assert_same(before: &Picture, after: &Picture) {
    assert_eq!(differences(before, after), [""; 0]);
}

/// Commands that only read.
const READING: [&[&str]; 6] = [
    &["list"],
    &["show", "tda-1.9"],
    &["history"],
    &["diagnose", "CMakeLists.txt"],
    &["run", "-n", "--", "true"],
    &["rollback", "-n"],
];

#[test]
fn no_home_no_state() {
    for home in [None, Some("/nowhere/at/all"), Some(""), Some("relative")] {
        let mut sandbox = Sandbox::with_moved_tree();
        sandbox.unset("XDG_STATE_HOME");
        match home {
            None => sandbox.unset("HOME"),
            Some(home) => sandbox.set("HOME", home),
        }
        let before = picture(&sandbox.root());
        for args in READING {
            let done = sandbox.fix(args);
            // Without a place for state there is no history to show: that is said, not guessed.
            let fine = done.code == 0 || (matches!(args[0], "history" | "rollback") && done.code == 1);
            assert!(fine && !done.all().contains("panicked"), "{args:?} {home:?}: {}", done.all());
        }
        let done = repair(&sandbox).says("there is no place for the state").says("--state-dir");
        assert_eq!(done.code, 1, "the command's own status: {}", done.all());
        fs::remove_file(sandbox.root().join("runs")).unwrap();
        assert_same(&before, &picture(&sandbox.root()));
        let state = format!("--state-dir={}", sandbox.root().join("named").display());
        sandbox.fix(Sandbox::run_args(&["--yes", &state])).expect(0);
        sandbox.fix(["rollback", &state]).expect(0);
    }
}

#[test]
fn root_in_the_home_of_another_user() {
    if !is_root() {
        // Anybody else cannot write there: the state folder is the first to be refused.
        return a_state_that_cannot_be_written();
    }
    for with_state in [true, false] {
        let mut sandbox = Sandbox::with_moved_tree();
        give(&sandbox.home(), PLAIN);
        if !with_state {
            sandbox.unset("XDG_STATE_HOME");
        }
        let before = picture(&sandbox.root());
        let done = repair(&sandbox).says("another user").says("set HOME to root's own home");
        assert_eq!(done.code, 1, "the command's own status");
        fs::remove_file(sandbox.root().join("runs")).unwrap();
        for args in [&["cmake-source-moved", "--yes"][..], &["plan", "cmake-source-moved", "-o", "plan.json"]] {
            sandbox.fix(args).expect(1).says("another user");
        }
        sandbox.fix(["list"]).expect(0);
        sandbox.fix(["diagnose", "CMakeLists.txt"]).expect(0);
        assert_same(&before, &picture(&sandbox.root()));
    }
}

#[test]
fn a_state_that_cannot_be_written() {
    let sandbox = Sandbox::with_moved_tree();
    sandbox.fix_as_plain_user();
    let before = sandbox.project_picture();
    fs::set_permissions(sandbox.state(), fs::Permissions::from_mode(0o500)).unwrap();
    let done = done(sandbox.fix_as_plain_user().args(Sandbox::run_args(&["--yes"])).output().unwrap());
    done.expect(1).says("Permission denied").says("state/fix");
    assert_same(&before, &sandbox.project_picture());
}

/// A file of another user in a folder where anybody may write: it could be replaced, but not be given back.
#[test]
fn a_file_that_could_not_be_put_back_is_refused_and_blocks_nothing() {
    if !is_root() {
        eprintln!("only root can give files to others");
        return;
    }
    let text = "import subprocess\ncmake_args = [\n    \"-DCMAKE_EXE_LINKER_FLAGS=-fuse-ld=lld\",\n    \
                \"-DCMAKE_EXE_LINKER_FLAGS=-L/opt/zlib/lib\",\n]\nsubprocess.check_call([\"cmake\", \".\"] + cmake_args)\n";
    let sandbox = Sandbox::new();
    let setup = sandbox.write("setup.py", text);
    sandbox.fix_as_plain_user();
    give(&setup, 0);
    let apply = || {
        let args = ["cmake-linker-flag-twice", "--yes=confirm"];
        done(sandbox.fix_as_plain_user_keeping(&args).output().unwrap())
    };
    for _ in 0..2 {
        let before = picture(&sandbox.project());
        apply().expect(1).says("it belongs to user 0").says("nothing was changed");
        assert_same(&before, &picture(&sandbox.project()));
    }
    give(&setup, PLAIN);
    fs::hard_link(&setup, sandbox.project().join("other.py")).unwrap();
    apply().expect(0).says("has 1 other name (hard links), which keeps the old content");
    assert_eq!(fs::read_to_string(sandbox.project().join("other.py")).unwrap(), text);
}

#[test]
fn a_state_that_is_somebody_elses_or_no_folder() {
    let sandbox = Sandbox::with_moved_tree();
    let before = sandbox.project_picture();
    fs::write(sandbox.state().join("fix"), "a file").unwrap();
    let done = repair(&sandbox).says("state/fix");
    assert_eq!(done.code, 1, "{}", done.all());
    assert_same(&before, &sandbox.project_picture());
    fs::remove_file(sandbox.state().join("fix")).unwrap();
    if is_root() {
        fs::create_dir(sandbox.state().join("fix")).unwrap();
        give(&sandbox.state().join("fix"), PLAIN);
        let done = repair(&sandbox).says("belongs to user 65534").says("--state-dir");
        assert_eq!(done.code, 1, "{}", done.all());
        // Nor where it is named.
        let named = format!("--state-dir={}", sandbox.state().join("fix").display());
        repair_with(&sandbox, &named).expect(1).says("belongs to user 65534");
        assert_same(&before, &sandbox.project_picture());
        assert!(picture(&sandbox.state()).keys().all(|path| path.iter().count() == 1), "nothing was written into it");
    }
}

fn repair_with(sandbox: &Sandbox, flag: &str) -> Done {
    sandbox.fix(Sandbox::run_args(&["--yes", flag]))
}

#[test]
fn a_state_that_everybody_may_read_becomes_private() {
    let sandbox = Sandbox::with_moved_tree();
    let state = sandbox.state().join("fix");
    fs::create_dir(&state).unwrap();
    fs::set_permissions(&state, fs::Permissions::from_mode(0o777)).unwrap();
    repair(&sandbox).expect(0);
    for (path, entry) in picture(&state) {
        if entry.mode & 0o170_000 == 0o100_000 && !path.iter().any(|part| part == "trash") {
            assert_eq!(entry.mode & 0o077, 0, "{}", path.display());
        }
    }
    assert_eq!(fs::metadata(&state).unwrap().permissions().mode() & 0o777, 0o700);
}

#[test]
fn a_state_that_was_damaged_stops_what_would_write() {
    let sandbox = Sandbox::with_moved_tree();
    repair(&sandbox).expect(0);
    let groups = sandbox.state().join("fix/groups");
    let group = fs::read_dir(&groups).unwrap().next().unwrap().unwrap().path();
    let journal = group.join("1.jsonl");
    let good = fs::read(&journal).unwrap();
    let middle = good.len() / 2;
    for (bad, what) in [
        ([&good[..middle], b"\x00garbage\n{}\n", &good[middle..]].concat(), "garbage"),
        (b"{\"begin\":{\"format\":99}}\n".to_vec(), "a newer format"),
        (b"\0\0\0\n{}\n".to_vec(), "zeros"),
    ] {
        fs::write(&journal, &bad).unwrap();
        let before = sandbox.project_picture();
        let done = sandbox.fix(["rollback"]);
        assert!(done.code == 1 || done.code == 2, "{what}: {}", done.all());
        assert!(!done.all().contains("panicked") && done.all().contains("1.jsonl"), "{what}: {}", done.all());
        let done = sandbox.fix(["history"]);
        assert!(done.code == 0 && !done.all().contains("panicked"), "{what}: {}", done.all());
        assert_same(&before, &sandbox.project_picture());
    }
    fs::write(&journal, &good).unwrap();
    sandbox.fix(["rollback"]).expect(0);
    assert!(sandbox.project().join("build/lib/libold.a").exists());
}

#[test]
fn a_reader_that_goes_away() {
    let sandbox = Sandbox::with_moved_tree();
    let fix = env!("CARGO_BIN_EXE_fix");
    for args in ["list", "list --json", "show tda-1.9", "--help", "history", "recipe anchors"] {
        // `true` reads nothing: whenever it ends, the pipe is closed.
        for reader in ["head -n 1", "true"] {
            let line = format!("{fix} {args} | {reader} >/dev/null; echo ${{PIPESTATUS[0]}}");
            let done = sandbox.run("bash", ["-c", &line]).expect(0);
            assert!(["0\n", "141\n"].contains(&done.stdout.as_str()), "{args}: {}", done.all());
            assert_eq!(done.stderr, "", "{args}");
        }
    }
    // A repair is finished all the same. (A command that is run again would meet the closed pipe itself.)
    let log = sandbox.root().join("log");
    fs::write(&log, sandbox.moved_log()).unwrap();
    let line = format!("{fix} cmake-source-moved --yes --log {} | true", log.display());
    sandbox.run("bash", ["-c", &line]).expect(0);
    assert!(!sandbox.project().join("build/lib/libold.a").exists());
    sandbox.fix(["rollback"]).expect(0);
}

#[test]
fn output_on_a_full_disk() {
    let sandbox = Sandbox::with_moved_tree();
    let fix = env!("CARGO_BIN_EXE_fix");
    for args in ["list", "list --json", "show tda-1.9"] {
        let done = sandbox.run("bash", ["-c", &format!("{fix} {args} >/dev/full")]).expect(2);
        assert!(done.stderr.contains("cannot write the output"), "{}", done.stderr);
    }
    // Neither a lost word on standard output nor on standard error stops a repair half-way.
    let log = sandbox.root().join("log");
    fs::write(&log, sandbox.moved_log()).unwrap();
    let before = sandbox.project_picture();
    for redirection in [">/dev/full", "2>/dev/full", ">/dev/full 2>&1", ">&- 2>&-"] {
        let line = format!("{fix} cmake-source-moved --yes --log {} -- true {redirection}", log.display());
        let done = sandbox.run("bash", ["-c", &line]);
        assert!(done.code <= 2, "{redirection}: {} {}", done.code, done.all());
        assert!(!sandbox.project().join("build/lib/libold.a").exists(), "{redirection}");
        let done = sandbox.run("bash", ["-c", &format!("{fix} rollback {redirection}")]);
        assert!(done.code == 0 || done.code == 2, "{redirection}: {} {}", done.code, done.all());
        assert_same(&before, &sandbox.project_picture());
    }
}

#[test]
fn odd_widths() {
    let mut sandbox = Sandbox::with_moved_tree();
    for columns in
        ["", "0", "1", "2", "7", "20", "100000", "18446744073709551616", "-5", "wide", "8\0".trim_end_matches('\0')]
    {
        sandbox.set("COLUMNS", columns);
        sandbox.fix(["list"]).expect(0).says("tda-1.9");
        sandbox.fix(["show", "tda-1.9"]).expect(0);
        let done = sandbox.fix(Sandbox::run_args(&["-n"])).expect(1);
        assert!(done.all().len() < 64 << 10);
    }
}

#[test]
fn languages() {
    let mut sandbox = Sandbox::with_moved_tree();
    let is_chinese = |text: &str| text.chars().any(|c| ('\u{4e00}'..='\u{9fff}').contains(&c));
    for (locale, chinese) in
        [("zh_CN.UTF-8", true), ("C", false), ("POSIX", false), ("zh_TW.Big5", true), ("no_SUCH", false), ("", false)]
    {
        sandbox.set("LC_ALL", locale);
        for args in [&["list"][..], &["show", "tda-1.9"], &["history"]] {
            let done = sandbox.fix(args).expect(0);
            if args[0] != "history" {
                assert_eq!(is_chinese(&done.stdout), chinese, "{locale} {args:?}: {}", done.stdout);
            }
        }
        let done = sandbox.fix(Sandbox::run_args(&["-n"])).expect(1);
        assert_eq!(is_chinese(&done.stderr), chinese, "{locale}: {}", done.stderr);
        let done = sandbox.fix(["show", "tda-1.99"]).expect(2);
        assert!(done.stderr.contains("tda-1.9"), "{}", done.stderr);
        // JSON is English in every language.
        let done = sandbox.fix(["list", "--json"]).expect(0);
        let _: serde_json::Value = serde_json::from_str(&done.stdout).unwrap();
    }
    sandbox.set("LC_ALL", "zh_CN.UTF-8");
    assert!(!is_chinese(&sandbox.fix(["list", "--lang=en"]).stdout));
    sandbox.set("LANG", "zh_CN.UTF-8");
    sandbox.unset("LC_ALL");
    assert!(is_chinese(&sandbox.fix(["list"]).stdout));
}

#[test]
fn an_environment_that_is_not_text() {
    use std::ffi::OsStr;
    use std::os::unix::ffi::OsStrExt;
    let mut sandbox = Sandbox::with_moved_tree();
    for name in
        ["LC_ALL", "COLUMNS", "NO_COLOR", "TERM", "FIX_KEEP_DAYS", "VIRTUAL_ENV", "TRITON_BUILD_DIR", "CONDA_PREFIX"]
    {
        sandbox.set(name, OsStr::from_bytes(b"\xff\xfe\x1b[31m"));
    }
    sandbox.fix(["list"]).expect(0);
    let done = sandbox.fix(Sandbox::run_args(&["-n"])).expect(1);
    assert!(!done.all().contains('\u{1b}'), "{:?}", done.all());
    repair(&sandbox).expect(0);
    sandbox.fix(["rollback"]).expect(0);
}

#[test]
fn a_folder_whose_name_is_not_text() {
    use std::ffi::OsStr;
    use std::os::unix::ffi::OsStrExt;
    let sandbox = Sandbox::with_moved_tree();
    let odd = sandbox.root().join(OsStr::from_bytes(b"odd \xff\n\x1b[31m name"));
    fs::rename(sandbox.project(), &odd).unwrap();
    let before = picture(&odd);
    let mut command = sandbox.fix_command();
    let done = done(command.args(Sandbox::run_args(&["--yes"])).current_dir(&odd).output().unwrap());
    assert!(done.code <= 1, "{}", done.all());
    assert!(!done.all().contains("panicked"), "{}", done.all());
    if done.code == 0 {
        let mut command = sandbox.fix_command();
        support::done(command.arg("rollback").current_dir(&odd).output().unwrap()).expect(0);
    }
    assert_same(&before, &picture(&odd));
    let mut command = sandbox.fix_command();
    support::done(command.arg("history").current_dir(&odd).output().unwrap()).expect(0);
}

#[test]
fn a_working_folder_that_is_gone() {
    let sandbox = Sandbox::new();
    let fix = env!("CARGO_BIN_EXE_fix");
    let line = format!("mkdir gone; cd gone; rmdir ../gone; {fix} list; echo $?; {fix} run -- true; echo $?");
    let done = sandbox.run("bash", ["-c", &line]).expect(0);
    assert_eq!(done.stdout, "2\n125\n");
    assert_eq!(done.stderr.matches("the current folder does not exist any more").count(), 2, "{}", done.stderr);
    for (folder, says) in [("missing", "cannot work in"), ("CMakeLists.txt", "it is not a folder")] {
        sandbox.write("CMakeLists.txt", "");
        let done = sandbox.fix(["-C", folder, "list", "--json"]).expect(2).says(says);
        let json: serde_json::Value = serde_json::from_str(&done.stdout).unwrap();
        assert_eq!(json["outcome"], "failed");
    }
}

#[test]
fn standard_input_that_is_closed_or_a_pipe() {
    let sandbox = Sandbox::with_moved_tree();
    let fix = env!("CARGO_BIN_EXE_fix");
    sandbox.run("bash", ["-c", &format!("{fix} list <&-")]).expect(0);
    sandbox.run("bash", ["-c", &format!("{fix} diagnose - <&-")]).expect(0);
    // Without a terminal and without `--yes` nothing is applied, and one line says how.
    let before = sandbox.project_picture();
    let log = sandbox.root().join("log");
    fs::write(&log, sandbox.moved_log()).unwrap();
    let mut command = sandbox.fix_command();
    command.args(["cmake-source-moved", "--log"]).arg(&log).stdin(Stdio::piped());
    let mut child = command.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
    drop(child.stdin.take());
    let mut stdout = String::new();
    child.stdout.as_mut().unwrap().read_to_string(&mut stdout).unwrap();
    assert!(stdout.contains("add `--yes`"), "{stdout}");
    assert_eq!(child.wait().unwrap().code(), Some(1));
    assert_same(&before, &sandbox.project_picture());
}

/// Values of a recipe are text: a path that is none must not become another one.
#[test]
fn a_project_whose_path_is_no_text() {
    use std::ffi::OsStr;
    use std::os::unix::ffi::OsStrExt;

    let sandbox = Sandbox::new();
    let project = sandbox.root().join(OsStr::from_bytes(b"pr\xff\xfe j"));
    let fixture = Path::new(env!("CARGO_MANIFEST_DIR")).join("fixtures/cmake-linker-flag-twice/merged/before");
    support::unpack(&fixture, &project, &project);
    let before = picture(&sandbox.root());
    for args in
        [&["cmake-linker-flag-twice", "--yes=confirm"][..], &["run", "--yes=confirm", "--", "sh", "-c", "exit 3"]]
    {
        let done = done(sandbox.fix_command().args(args).current_dir(&project).output().unwrap());
        assert!(!done.all().contains("repaired and verified"), "{}", done.all());
        let code = if args[0] == "run" { 3 } else { 0 };
        done.expect(code).says_in_any_layout("is not UTF-8");
        assert_same(&before, &picture(&sandbox.root()));
    }
}
