//! The patch, taken by the real `git apply` and `patch -p1`.

use std::ffi::OsStr;
use std::fs;
use std::io::Write;
use std::os::unix::fs::PermissionsExt;
use std::process::{Command, Stdio};

use proptest::prelude::*;

use super::*;
use crate::change::WriteFile;

struct Case {
    about: &'static str,
    name: Vec<u8>,
    before: FileState,
    after: FileState,
}

fn present(bytes: impl AsRef<[u8]>, mode: u32) -> FileState {
    FileState::Present(FileImage { bytes: bytes.as_ref().to_vec(), mode })
}

fn case(about: &'static str, name: impl AsRef<[u8]>, before: Option<&[u8]>, after: Option<&[u8]>) -> Case {
    let state = |bytes: Option<&[u8]>| bytes.map_or(FileState::Absent, |bytes| present(bytes, 0o644));
    Case { about, name: name.as_ref().to_vec(), before: state(before), after: state(after) }
}

fn cases() -> Vec<Case> {
    let long: Vec<u8> = (0..60).flat_map(|i| format!("line {i}\n").into_bytes()).collect();
    let changed: Vec<u8> = (0..60)
        .filter(|i| *i != 7)
        .flat_map(|i| if i == 50 { "LINE 50\nnew\n".to_owned() } else { format!("line {i}\n") }.into_bytes())
        .collect();
    let binary: Vec<u8> = (0..=255).cycle().take(900).collect();
    let mut other_binary = binary.clone();
    other_binary[3] = 9;
    let same = present("1\n", 0o644);
    vec![
        case("modified", "a/setup.py", Some(&long), Some(&changed)),
        case("new", "d/pip.conf", None, Some(b"[global]\nx = 1\n")),
        case("deleted", "old.txt", Some(b"a\nb\n"), None),
        case("new and empty", "e.txt", None, Some(b"")),
        case("empty before", "e2.txt", Some(b""), Some(b"x\n")),
        case("empty after", "e4.txt", Some(b"x\n"), Some(b"")),
        case("no newline before", "n1", Some(b"a\nb"), Some(b"a\nb\n")),
        case("no newline after", "n2", Some(b"a\nb\n"), Some(b"a\nb")),
        case("no newline in both", "n3", Some(b"a\nb"), Some(b"c\nb")),
        case("CRLF", "crlf.ini", Some(b"a\r\nb\r\nc\r\n"), Some(b"a\r\nB\r\nc\r\n")),
        case("LF to CRLF", "lf.ini", Some(b"a\nb\n"), Some(b"a\r\nb\r\n")),
        case("lone CR", "cr", Some(b"a\rb\nc\n"), Some(b"a\rb\nd\n")),
        case("latin-1 text", "l1", Some(b"caf\xe9\nx\n"), Some(b"caf\xe9\ny\n")),
        case("UTF-8 text", "u8", Some("清华\n源\n".as_bytes()), Some("清华\n镜像\n".as_bytes())),
        case("binary", "b.bin", Some(&binary), Some(&other_binary)),
        case("blanks in the name", "a b/c d.txt", Some(b"1\n"), Some(b"2\n")),
        case("new with blanks", "a b/new one.txt", None, Some(b"2\n")),
        case("deleted with blanks", "a b/old one.txt", Some(b"2\n"), None),
        case("UTF-8 name", "清华.txt", Some(b"1\n"), Some(b"2\n")),
        case("latin-1 name", b"caf\xe9.txt", Some(b"1\n"), Some(b"2\n")),
        case("quotes in the name", "q\"t\\.txt", Some(b"1\n"), Some(b"2\n")),
        case("newline in the name", "n\nl.txt", Some(b"1\n"), Some(b"2\n")),
        case("lines like headers", "s.sql", Some(b"-- a\n++ b\n@@ c\n"), Some(b"-- a\n-- d\n@@ c\n")),
        Case { about: "mode only", name: b"x.sh".to_vec(), before: same.clone(), after: present("1\n", 0o755) },
        Case { about: "mode and text", name: b"y.sh".to_vec(), before: same, after: present("2\n", 0o755) },
        Case {
            about: "new executable",
            name: b"z.sh".to_vec(),
            before: FileState::Absent,
            after: present("1\n", 0o755),
        },
    ]
}

/// Makes the files, gives the patch to `tool`, and compares what is there then.
fn apply(cases: &[Case], tool: &[&str]) -> Result<(), String> {
    let folder = tempfile::tempdir().unwrap();
    let root = AbsPath::new(fs::canonicalize(folder.path()).unwrap()).unwrap();
    let path = |case: &Case| root.resolve(OsStr::from_bytes(&case.name));
    let mut changes = Vec::new();
    for case in cases {
        let path = path(case);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        if let FileState::Present(image) = &case.before {
            fs::write(&path, &image.bytes).unwrap();
            fs::set_permissions(&path, fs::Permissions::from_mode(image.mode)).unwrap();
        }
        changes.push(Change::WriteFile(WriteFile { path, before: case.before.clone(), after: case.after.clone() }));
    }
    let patch = render_patch(&root, &changes).unwrap();
    if !patch.left_out.is_empty() {
        return Err(format!("left out: {:?}", patch.left_out));
    }
    let mut child = Command::new(tool[0])
        .args(&tool[1..])
        .current_dir(&root)
        .env("LC_ALL", "C")
        .env("HOME", root.as_path())
        .env_remove("GIT_DIR")
        .env_remove("GIT_WORK_TREE")
        .env_remove("GIT_INDEX_FILE")
        .env("GIT_CEILING_DIRECTORIES", root.parent().unwrap().as_path())
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    child.stdin.take().unwrap().write_all(&patch.bytes).unwrap();
    let out = child.wait_with_output().unwrap();
    for case in cases {
        let now = match fs::read(path(case)) {
            Err(_) => FileState::Absent,
            Ok(bytes) => present(bytes, fs::metadata(path(case)).unwrap().permissions().mode() & 0o777),
        };
        if now != case.after || !out.status.success() {
            return Err(format!(
                "{}: {now:?} instead of {:?}\n{}{}\n{}",
                case.about,
                case.after,
                String::from_utf8_lossy(&out.stdout),
                String::from_utf8_lossy(&out.stderr),
                String::from_utf8_lossy(&patch.bytes)
            ));
        }
    }
    Ok(())
}

const GIT: &[&str] = &["git", "apply", "-"];
const PATCH: &[&str] = &["patch", "-p1", "-s", "--binary"];

#[test]
fn git_apply_and_patch_take_every_case() {
    for tool in [GIT, PATCH] {
        let failures: Vec<String> =
            cases().iter().filter_map(|case| apply(std::slice::from_ref(case), tool).err()).collect();
        assert!(failures.is_empty(), "{tool:?}:\n{}", failures.join("\n"));
        apply(&cases(), tool).unwrap();
    }
    // GNU patch asks whether a patch that deletes an empty file is reversed, however it is written.
    apply(&[case("deleted and empty", "e3.txt", Some(b""), None)], GIT).unwrap();
}

#[test]
fn a_patch_reads_like_gits() {
    let root = AbsPath::new("/p").unwrap();
    let write = |name: &str, before, after| Change::WriteFile(WriteFile { path: root.resolve(name), before, after });
    let changes = [
        write("b c.txt", present("1\n", 0o644), present("2\n", 0o755)),
        write("a.txt", FileState::Absent, present("x", 0o600)),
        write("same", present("x", 0o600), present("x", 0o600)),
        // A second change of the same file continues the first.
        write("b c.txt", present("2\n", 0o755), present("3\n", 0o755)),
    ];
    let patch = render_patch(&root, &changes).unwrap();
    let want = "diff --git a/a.txt b/a.txt\nnew file mode 100644\n--- /dev/null\n+++ b/a.txt\n@@ -0,0 +1 @@\n+x\n\\ No newline at end of file\n\
                diff --git a/b c.txt b/b c.txt\nold mode 100644\nnew mode 100755\n--- a/b c.txt\t\n+++ b/b c.txt\t\n@@ -1 +1 @@\n-1\n+3\n";
    assert_eq!(String::from_utf8(patch.bytes).unwrap(), want);
    assert_eq!(patch.left_out, [LeftOut { path: root.resolve("a.txt"), reason: Reason::Permissions }]);
}

#[test]
fn what_a_patch_cannot_or_must_not_carry_is_named() {
    let root = AbsPath::new("/p").unwrap();
    let key = "-----BEGIN PRIVATE KEY-----\n1\n2\n3\n4\n5\n6\n-----END PRIVATE KEY-----\nx\n";
    let conf = "[global]\nindex-url = https://u:p@h/simple\na = 1\nb = 2\nc = 3\nd = 4\ne = 5\n";
    let cases = [
        ("/home/u/.pip/pip.conf", "a\n", "b\n", Some(Reason::OutsideRoot)),
        ("/p/.git/config", "a\n", "b\n", Some(Reason::GitsOwn)),
        ("/p/new-secret", "a\n", "token = abcdef\n", Some(Reason::HoldsSecret)),
        ("/p/old-secret", "password=abcdef\n", "", Some(Reason::HoldsSecret)),
        ("/p/in-context", conf, &conf.replace("b = 2", "b = 3"), Some(Reason::HoldsSecret)),
        ("/p/far-away", conf, &conf.replace("e = 5", "e = 6"), None),
        (
            "/p/told-above",
            "token=abc12345\n1\n2\n3\n4\n5\n",
            "token=abc12345\n1\n2\n3\n4\nabc12345\n",
            Some(Reason::HoldsSecret),
        ),
        ("/p/amid-a-key", key, &key.replace('6', "7"), Some(Reason::HoldsSecret)),
    ];
    for (path, before, after, want) in cases {
        let path = AbsPath::new(path).unwrap();
        let (before, after) = (present(before, 0o644), present(after, 0o644));
        let patch = render_patch(&root, &[Change::WriteFile(WriteFile { path: path.clone(), before, after })]).unwrap();
        let reasons: Vec<Reason> = patch.left_out.iter().map(|left| left.reason).collect();
        assert_eq!(reasons, Vec::from_iter(want), "{path}");
        assert_eq!(patch.bytes.is_empty(), want.is_some(), "{path}");
        assert!(!String::from_utf8_lossy(&patch.bytes).contains("u:p"), "{path}");
    }
}

/// Lines of few kinds, so that files resemble each other, with line ends of all sorts.
fn content_strategy() -> impl Strategy<Value = Vec<u8>> {
    let line = prop_oneof![
        4 => "[abc]{1,2}".prop_map(String::into_bytes),
        1 => Just(Vec::new()),
        1 => Just(b"-- a".to_vec()),
        1 => Just(b"@@ -1 +1 @@".to_vec()),
        1 => prop::collection::vec(any::<u8>(), 0..6),
    ];
    let end = prop_oneof![6 => Just("\n"), 1 => Just("\r\n"), 1 => Just("\r"), 1 => Just("")];
    prop::collection::vec((line, end), 0..24)
        .prop_map(|lines| lines.into_iter().flat_map(|(line, end)| [line, end.as_bytes().to_vec()].concat()).collect())
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]
    #[test]
    fn the_patch_gives_what_the_repair_gives(before in content_strategy(), after in content_strategy()) {
        prop_assume!(before != after);
        let case = case("random", "some file", Some(&before), Some(&after));
        apply(std::slice::from_ref(&case), GIT).unwrap();
        apply(std::slice::from_ref(&case), PATCH).unwrap();
    }
}
