//! Hostile and odd configuration files of pip: repaired to the byte, or refused and left as they are.

mod support;

use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};

use support::user::is_root;
use support::{Done, Sandbox, done, picture};

const DEAD: &str = "http://127.0.0.1:9/simple";
const NEW: &str = "https://mirror.example/simple";

/// What pip says of a dead index.
const LOG: &str = "Looking in indexes: http://127.0.0.1:9/simple\n\
    WARNING: Retrying (Retry(total=0, connect=None, read=None, redirect=None, status=None)) after connection broken by \
    'NewConnectionError(\"HTTPConnection(host='127.0.0.1', port=9): Failed to establish a new connection: [Errno 111] \
    Connection refused\")': /simple/labdemo/\n\
    ERROR: Could not find a version that satisfies the requirement labdemo (from versions: none)\n\
    ERROR: No matching distribution found for labdemo\n";

/// A sandbox with the user's pip.conf and the log of the failure.
fn place(config: &[u8]) -> (Sandbox, PathBuf) {
    let mut sandbox = Sandbox::new();
    sandbox.set("XDG_CONFIG_DIRS", sandbox.root().join("none"));
    sandbox.write("failed.log", LOG);
    let file = sandbox.home().join(".config/pip/pip.conf");
    fs::create_dir_all(file.parent().unwrap()).unwrap();
    fs::write(&file, config).unwrap();
    (sandbox, file)
}

fn args(flags: &[&str]) -> Vec<String> {
    let set = ["--set", "private=replace", "--set", &format!("index_url={NEW}")].map(str::to_owned);
    let head = ["pip-index-unreachable", "--log", "failed.log"].map(str::to_owned);
    head.into_iter().chain(set).chain(flags.iter().map(ToString::to_string)).collect()
}

fn repair(sandbox: &Sandbox) -> Done {
    sandbox.fix(args(&["--yes=confirm"]))
}

#[test]
fn odd_files_that_pip_reads_are_edited_to_the_byte_and_come_back() {
    let long = format!("[global]\nx = {}\nindex-url = {DEAD}\n", "y".repeat(1 << 20));
    let many: String = (0..20_000).map(|at| format!("[s{at}]\nindex-url = {DEAD}\n")).collect();
    for text in [
        long,
        format!("{many}[global]\nindex-url={DEAD}"),
        format!("[global]\nproxy = %(nothing)s %% %\nindex-url = {DEAD}\n[install]\nindex-url =\n"),
        format!("\r\n# \u{6e05}\u{534e}\r\n[global]\r\n  Index_URL :{DEAD}\t\r\n  timeout = 3\r\n"),
    ] {
        let (sandbox, file) = place(text.as_bytes());
        fs::set_permissions(&file, fs::Permissions::from_mode(0o640)).unwrap();
        let before = picture(&sandbox.home());
        let last = text.rfind(DEAD).unwrap();
        // Of equal sections only the one that counts is changed.
        let want = format!("{}{NEW}{}", &text[..last], &text[last + DEAD.len()..]);
        repair(&sandbox).expect(0);
        let now = fs::read_to_string(&file).unwrap();
        assert!(now == want, "{} bytes instead of {}", now.len(), want.len());
        assert_eq!(fs::metadata(&file).unwrap().permissions().mode() & 0o7777, 0o640);
        sandbox.fix(["rollback", "--yes"]).expect(0);
        let (mut before, mut after) = (before, picture(&sandbox.home()));
        before.values_mut().chain(after.values_mut()).for_each(|entry| entry.modified = 0);
        assert!(support::differences(&before, &after).is_empty());
    }
}

#[test]
fn files_that_pip_does_not_read_are_named_with_their_line_and_left_alone() {
    let text = |middle: &str| format!("[global]\nindex-url = {DEAD}\n{middle}\n");
    for (bytes, line) in [
        (text("[global]").into_bytes(), 3),
        (text("index-url = x").into_bytes(), 3),
        (text("nothing").into_bytes(), 3),
        (format!("\u{feff}{}", text("")).into_bytes(), 1),
        ([text("").as_bytes(), b"k = \xff\xfe\n"].concat(), 4),
    ] {
        let (sandbox, file) = place(&bytes);
        repair(&sandbox).expect(1).says(&format!("pip.conf:{line}"));
        assert_eq!(fs::read(&file).unwrap(), bytes);
        assert!(picture(&sandbox.state()).is_empty());
    }
}

#[test]
fn what_may_not_be_written_is_left_alone() {
    let text = format!("[global]\nindex-url = {DEAD}\n");
    // Outside of the allowed roots.
    let (mut sandbox, file) = place(text.as_bytes());
    let outside = sandbox.root().join("outside.conf");
    fs::rename(&file, &outside).unwrap();
    sandbox.set("PIP_CONFIG_FILE", &outside);
    repair(&sandbox).expect(1).says("outside the allowed roots").says("--allow-path");
    assert_eq!(fs::read_to_string(&outside).unwrap(), text);
    sandbox.fix(args(&["--yes=confirm", "--allow-path", outside.to_str().unwrap()])).expect(0);
    assert_eq!(fs::read_to_string(&outside).unwrap(), text.replace(DEAD, NEW));

    // In a folder that the user may not write to.
    let (sandbox, file) = place(text.as_bytes());
    let mut command = sandbox.fix_as_plain_user();
    let folder = file.parent().unwrap();
    fs::set_permissions(folder, fs::Permissions::from_mode(0o555)).unwrap();
    let refused = done(command.args(args(&["--yes=confirm"])).output().unwrap());
    fs::set_permissions(folder, fs::Permissions::from_mode(0o755)).unwrap();
    assert_ne!(refused.code, 0, "{}", refused.all());
    assert_eq!(fs::read_to_string(&file).unwrap(), text);

    // Another user's, behind a link.
    if is_root() {
        let (sandbox, file) = place(text.as_bytes());
        let foreign = sandbox.root().join("foreign.conf");
        fs::rename(&file, &foreign).unwrap();
        support::user::give(&foreign, support::user::PLAIN);
        std::os::unix::fs::symlink(&foreign, &file).unwrap();
        repair(&sandbox).expect(1).says("another user's");
        assert_eq!(fs::read_to_string(&foreign).unwrap(), text);
    }
}

#[test]
fn a_file_that_changes_between_plan_and_apply_is_left_alone() {
    let text = format!("[global]\nindex-url = {DEAD}\n");
    let (sandbox, file) = place(text.as_bytes());
    let mut plan = args(&["-o", "plan.json"]);
    plan.insert(0, "plan".to_owned());
    sandbox.fix(&plan).expect(0);
    let changed = format!("{text}timeout = 3\n");
    fs::write(&file, &changed).unwrap();
    let applied = sandbox.fix(["apply", "--plan", "plan.json", "--yes=confirm"]);
    assert_ne!(applied.code, 0, "{}", applied.all());
    assert_eq!(fs::read_to_string(&file).unwrap(), changed);
    // A change after the repair is not lost by the rollback either.
    repair(&sandbox).expect(0);
    let mine = fs::read_to_string(&file).unwrap() + "retries = 1\n";
    fs::write(&file, &mine).unwrap();
    sandbox.fix(["rollback", "--yes"]).expect(1);
    assert_eq!(fs::read_to_string(&file).unwrap(), mine);
    assert!(Path::new(&file).exists());
}

#[test]
fn the_default_index_gets_a_new_file_that_goes_again() {
    let mut sandbox = Sandbox::new();
    sandbox.set("XDG_CONFIG_DIRS", sandbox.root().join("none"));
    let log =
        LOG.replace(&format!("Looking in indexes: {DEAD}\n"), "").replace("127.0.0.1', port=9", "pypi.org', port=443");
    sandbox.write("failed.log", log.replace("HTTPConnection", "HTTPSConnection"));
    let done = repair(&sandbox);
    // Without any network it is the network.
    if done.code != 0 {
        done.says("no way to other networks");
        assert!(picture(&sandbox.home()).is_empty());
        return;
    }
    let file = sandbox.home().join(".config/pip/pip.conf");
    assert_eq!(fs::read_to_string(&file).unwrap(), format!("[global]\nindex-url = {NEW}\n"));
    sandbox.fix(["rollback", "--yes"]).expect(0);
    assert!(picture(&sandbox.home()).is_empty(), "{:?}", picture(&sandbox.home()).keys());
}
