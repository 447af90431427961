//! Golden texts of the screen.

use proptest::prelude::*;

use super::*;
use crate::change::{AllowedRoots, EnvOverlay, FileImage, TreeFolder, TreeImage};
use crate::os::terminal::is_unsafe;
use crate::plan::Rerun;
use crate::recipe::Values;

fn path(path: &str) -> AbsPath {
    AbsPath::new(path).unwrap()
}

fn present(bytes: &[u8], mode: u32) -> FileState {
    FileState::Present(FileImage { bytes: bytes.to_vec(), mode })
}

fn write(name: &str, before: FileState, after: FileState) -> Change {
    Change::WriteFile(WriteFile { path: path(name), before, after })
}

fn plan(changes: Vec<Change>) -> Plan {
    Plan {
        recipe: "tda-1.9".into(),
        slug: "llvmcgdata-residue".into(),
        case: "stale-cache".into(),
        title: Text::new("title", "标题"),
        says: Text::new("says", "说明"),
        params: Values::new(),
        applicability: Applicability::Safe,
        limits: Vec::new(),
        root: path("/p"),
        roots: AllowedRoots::default(),
        changes,
        overlay: EnvOverlay::default(),
        rerun: None,
        preconditions: Vec::new(),
        notes: Vec::new(),
        advice: Vec::new(),
    }
}

fn show(plan: &Plan) -> String {
    render_for_screen(plan, Lang::En, &ScreenStyle::default())
}

fn full() -> Plan {
    let before = TreeImage { device: 1, inode: 2, files: 1234, bytes: 56_000_000, estimated: false, at_least: false };
    let mut plan = plan(vec![
        Change::RemoveTree(RemoveTree {
            path: path("/p/build/cmake"),
            before,
            kind: TreeKind::Derived,
            folder: TreeFolder::Goes,
        }),
        write("/p/setup.py", present(b"a\nb\n", 0o644), present(b"a\nc", 0o755)),
        Change::Run(Run {
            argv: ["/usr/bin/pip", "install", "a b", "--token", "abcdef"].map(OsString::from).to_vec(),
            cwd: path("/p"),
            env: EnvOverlay::default(),
            writes: vec![path("/p/.venv")],
            reversible: Reversible::No,
            timeout_seconds: 60,
        }),
    ]);
    plan.overlay.edit("PATH", EnvEdit::Prepend(vec!["/opt/llvm/bin".into()]));
    plan.overlay.edit("FLAGS", EnvEdit::Set("-L/a -L/b".into()));
    plan.overlay.edit("LLVM_DIR", EnvEdit::Unset);
    plan.overlay.edit("HF_TOKEN", EnvEdit::Set("abcdef".into()));
    plan.rerun = Some(Rerun {
        argv: ["pip", "install", "-e", "."].map(OsString::from).to_vec(),
        cwd: path("/p/python"),
        instead_of: None,
    });
    plan.notes = vec![Text::new("the link stays", "链接保留")];
    plan.advice = vec![Text::new("update LLVM", "升级 LLVM")];
    plan.applicability = Applicability::Confirm;
    plan.limits = vec![Text::new("`setup.py` is tracked by git", "`setup.py` 由 git 跟踪")];
    plan
}

#[test]
fn other_words_for_the_command() {
    let mut plan = plan(Vec::new());
    let words = |line: &str| line.split(' ').map(OsString::from).collect();
    let instead_of = Some(words("torchrun x.py"));
    plan.rerun = Some(Rerun { argv: words("torchrun --master_port=20001 x.py"), cwd: path("/p"), instead_of });
    plan.preconditions = vec![crate::plan::Precondition::PortFree(20001)];
    let want = "\
then, with these words instead, in /p:
- torchrun x.py
+ torchrun '--master_port=20001' x.py
  looked at again before that: port 20001 is free
safe: `--yes` applies it
";
    assert_eq!(show(&plan), want);
    let other = Plan { preconditions: Vec::new(), ..plan.clone() };
    assert_ne!(plan.digest(), other.digest());
}

#[test]
fn a_whole_plan() {
    let want = "\
set aside build/cmake/
  1,234 files, 56.0 MB; restorable with `fix rollback`
  a build tree: your build makes it again
change setup.py
permissions 644 → 755
--- a/setup.py
+++ b/setup.py
@@ -1,2 +1,2 @@
 a
-b
+c
\\ No newline at end of file
run, in /p:
  /usr/bin/pip install 'a b' --token <secret-1>
  it writes .venv; saved before
  this cannot be taken back
environment of the commands and of the re-run:
+ export FLAGS='-L/a -L/b'
+ export HF_TOKEN='<secret-1>'
- unset LLVM_DIR
+ export PATH=/opt/llvm/bin\"${PATH:+:$PATH}\"
then again, in python:
  pip install -e .
note: the link stays
left for you: update LLVM
confirm: applied after a yes, or with `--yes=confirm`
  reason: `setup.py` is tracked by git
";
    assert_eq!(show(&full()), want);
}

#[test]
fn colour_only_adds_escapes_and_chinese_keeps_the_facts() {
    let coloured =
        render_for_screen(&full(), Lang::En, &ScreenStyle { colour: Colour::Always, ..ScreenStyle::default() });
    assert!(coloured.contains("\u{1b}[31m-b\u{1b}[0m\n\u{1b}[32m+c\u{1b}[0m\n"), "{coloured:?}");
    assert_eq!(anstream::adapter::strip_str(&coloured).to_string(), show(&full()));
    let chinese = render_for_screen(&full(), Lang::Zh, &ScreenStyle::default());
    for fact in ["build/cmake/", "1,234", "56.0 MB", "+c\n", "export FLAGS=", "说明：链接保留", "由 git 跟踪"]
    {
        assert!(chinese.contains(fact), "{fact} in {chinese}");
    }
}

#[test]
fn files_of_all_kinds() {
    let long: Vec<u8> = (0..50).flat_map(|line| format!("{line}\n").into_bytes()).collect();
    let cases = [
        (
            write("/h/pip.conf", FileState::Absent, present(b"x\n", 0o600)),
            "create /h/pip.conf\npermissions 600\n--- /dev/null\n+++ /h/pip.conf\n@@ -0,0 +1 @@\n+x\n",
        ),
        (
            write("/p/old", present(b"x\n", 0o644), FileState::Absent),
            "delete old\n--- a/old\n+++ /dev/null\n@@ -1 +0,0 @@\n-x\n",
        ),
        (write("/p/b", present(b"\0a", 0o644), present(b"\0ab", 0o644)), "change b\nbinary file, 2 → 3 bytes\n"),
        (write("/p/b", present(b"\0a", 0o644), FileState::Absent), "delete b\nbinary file, 2 bytes\n"),
        (write("/p/b", FileState::Absent, present(b"\0a", 0o644)), "create b\nbinary file, 2 bytes\n"),
        (write("/p/e", FileState::Absent, present(b"", 0o644)), "create e\nempty file\n"),
        (
            write("/p/x\u{1b}[2J", present(b"caf\xe9\r\n", 0o644), present(b"\x1b[2Jcaf\xe8\n", 0o644)),
            "change x\\x1b[2J\n--- a/x\\x1b[2J\n+++ b/x\\x1b[2J\n@@ -1 +1 @@\n-caf\\xe9\\r\n+\\x1b[2Jcaf\\xe8\n",
        ),
        (
            write("/p/s", present(b"url = https://u:a@h\n", 0o644), present(b"url = https://u:b@h\n", 0o644)),
            "change s\n--- a/s\n+++ b/s\n@@ -1 +1 @@\n-url = https://<secret-1>@h\n+url = https://<secret-2>@h\n",
        ),
    ];
    for (change, want) in cases {
        assert_eq!(show(&plan(vec![change])), format!("{want}safe: `--yes` applies it\n"));
    }
    let style = ScreenStyle { lines_a_file: 3, ..ScreenStyle::default() };
    let change = write("/p/l", FileState::Absent, present(&long, 0o644));
    let shown = render_for_screen(&plan(vec![change]), Lang::En, &style);
    assert!(shown.contains("+0\n+1\n… 48 more lines\n"), "{shown}");
    let wide = write("/p/w", FileState::Absent, present("x".repeat(2600).as_bytes(), 0o644));
    assert!(show(&plan(vec![wide])).contains(" … 2,100 more characters\n"));
    assert!(show(&plan(Vec::new())).starts_with("changes nothing\n"));
}

#[test]
fn sentences_are_wrapped_where_a_width_is_said() {
    let mut advised = plan(Vec::new());
    advised.advice =
        vec![Text::new("update the packages that the log names, one after the other", "更新日志所列的软件包")];
    let style = ScreenStyle { width: Some(40), ..ScreenStyle::default() };
    let shown = render_for_screen(&advised, Lang::En, &style);
    let want = "left for you: update the packages that\n  the log names, one after the other\n";
    assert!(shown.contains(want), "{shown}");
    assert!(show(&advised).contains("left for you: update the packages that the log names, one after the other\n"));
}

#[test]
fn sizes() {
    let cases = [
        (0, "0 B"),
        (999, "999 B"),
        (1000, "1.0 kB"),
        (999_949, "999.9 kB"),
        (999_950, "1.0 MB"),
        (56_000_000, "56.0 MB"),
    ];
    for (bytes, want) in cases {
        assert_eq!(bytes_for_reading(bytes), want);
    }
    assert_eq!([0, 999, 1000, 1_234_567].map(thousands), ["0", "999", "1,000", "1,234,567"]);
}

proptest! {
    #[test]
    fn nothing_of_a_file_reaches_the_terminal_raw(before in any::<Vec<u8>>(), text in any::<String>()) {
        let mut plan = plan(vec![write("/p/f", present(&before, 0o644), present(text.as_bytes(), 0o644))]);
        plan.notes = vec![Text::new(text.clone(), text.clone())];
        plan.overlay.edit("X", EnvEdit::Set(text.replace('\0', "")));
        prop_assert!(show(&plan).chars().all(|c| c == '\n' || !is_unsafe(c)));
    }
}
