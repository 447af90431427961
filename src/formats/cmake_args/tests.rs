//! The shapes that build scripts have, each with what the merge makes of it.

use std::fmt::Write;
use std::path::{Path, PathBuf};

use super::*;

const FOLDER: &str = "/opt/system/lib";

fn shapes() -> Vec<PathBuf> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("fixtures/formats/cmake_args");
    let mut shapes: Vec<PathBuf> = std::fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path()).collect();
    shapes.sort();
    shapes
}

fn with_lld(name: &str) -> Option<String> {
    (name == "TRITON_BUILD_WITH_CLANG_LLD").then(|| "ON".to_owned())
}

fn order(env: &dyn Fn(&str) -> Option<String>) -> MergeOrder<'_> {
    MergeOrder { folder: FOLDER, function: None, env }
}

fn merged(text: &str) -> String {
    String::from_utf8(merge(text.as_bytes(), &order(&with_lld)).unwrap().bytes).unwrap()
}

fn report(merged: &Merged) -> String {
    let mut text = String::new();
    for done in &merged.done {
        writeln!(text, "{}: {:?} {:?}", done.line, done.deed, done.kind).unwrap();
    }
    for manual in &merged.manual {
        writeln!(text, "{}: by hand, {}", manual.line, manual.reason.en()).unwrap();
    }
    for left in &merged.left {
        let function = left.function.as_deref().unwrap_or("-");
        writeln!(text, "{}: left alone in {function}, {}", left.line, left.reason.en()).unwrap();
    }
    text
}

#[test]
fn every_shape_is_merged_or_reported() {
    let bless = std::env::var_os("FIX_BLESS").is_some();
    assert!(shapes().len() >= 16);
    for shape in shapes() {
        let before = std::fs::read(shape.join("before/setup.py")).unwrap();
        let merged = merge(&before, &order(&with_lld)).unwrap();
        let report = report(&merged);
        assert!(!report.is_empty(), "{shape:?} is neither merged nor reported");
        let (after, text) = (shape.join("after/setup.py"), shape.join("report.txt"));
        if bless {
            std::fs::create_dir_all(after.parent().unwrap()).unwrap();
            std::fs::write(&after, &merged.bytes).unwrap();
            std::fs::write(&text, &report).unwrap();
        }
        assert_eq!(String::from_utf8(merged.bytes).unwrap(), std::fs::read_to_string(after).unwrap(), "{shape:?}");
        assert_eq!(report, std::fs::read_to_string(text).unwrap(), "{shape:?}");
    }
}

#[test]
fn known_conditions_decide_where_flags_are_added() {
    let text = "def build_extension(self):\n    cmake_args = ['-GNinja']\n    if check_env_flag('TRITON_BUILD_WITH_CLANG_LLD'):\n        cmake_args += ['-DCMAKE_EXE_LINKER_FLAGS=-fuse-ld=lld']\n";
    let lines = |text: &str| text.lines().filter(|line| line.contains(FOLDER)).count();
    assert_eq!(lines(&merged(text)), 1, "the arm that is taken is enough");
    let without = merge(text.as_bytes(), &order(&|_| None)).unwrap();
    assert_eq!(lines(std::str::from_utf8(&without.bytes).unwrap()), 2, "an arm that is not taken repairs nothing");
    let default = text.replace("LLD')", "LLD', 'ON')");
    let by_default = merge(default.as_bytes(), &order(&|_| None)).unwrap();
    assert_eq!(lines(std::str::from_utf8(&by_default.bytes).unwrap()), 1);
}

#[test]
fn bytes_that_are_not_utf_8_stay() {
    let latin = b"# -*- coding: latin-1 -*-\r\ncmake_args = [\r\n\t'-DA=\xe9',  # caf\xe9\r\n]\r\nprint \"x\"\r\n";
    let merged = merge(latin, &order(&with_lld)).unwrap();
    let want: Vec<u8> = [
        &b"# -*- coding: latin-1 -*-\r\ncmake_args = [\r\n\t'-DA=\xe9',  # caf\xe9\r\n"[..],
        b"\t'-DCMAKE_EXE_LINKER_FLAGS=-L/opt/system/lib',\r\n",
        b"\t'-DCMAKE_SHARED_LINKER_FLAGS=-L/opt/system/lib',\r\n",
        b"\t'-DCMAKE_MODULE_LINKER_FLAGS=-L/opt/system/lib',\r\n]\r\nprint \"x\"\r\n",
    ]
    .concat();
    assert_eq!(merged.bytes, want);
    let marked = [b"\xef\xbb\xbf", "cmake_args = []\n".as_bytes()].concat();
    let merged = super::merge(&marked, &order(&with_lld)).unwrap();
    assert!(merged.bytes.starts_with(b"\xef\xbb\xbfcmake_args = [\"-DCMAKE_EXE"));
}

#[test]
fn what_cannot_be_merged_is_named() {
    for (text, want) in [
        ("cmake_args = [\"-DCMAKE_EXE_LINKER_FLAGS=%s\" % x]\n", "1: by hand, the argument is computed"),
        ("cmake_args = ['-DCMAKE_EXE_LINKER_FLAGS=' '-s']\n", "1: by hand, the argument is written in several pieces"),
        ("cmake_args = ['-D', 'CMAKE_EXE_LINKER_FLAGS=-s']\n", "1: by hand, `-D` and its definition are two elements"),
        ("cmake_args = ['-DA=1 -DCMAKE_EXE_LINKER_FLAGS=-s']\n", "1: by hand, one string holds several arguments"),
        (
            "cmake_args = f()\ncmake_args.append('-DCMAKE_EXE_LINKER_FLAGS=-s')\n",
            "2: by hand, no plain list that always runs",
        ),
        (
            "cmake_args = ['-DA=1']\ncmake_args = ['-DCMAKE_EXE_LINKER_FLAGS=-L/x']\n",
            "2: by hand, this assignment throws away",
        ),
        (
            "def a():\n    cmake_args = ['-DA=1']\ndef b():\n    cmake_args = ['-DB=1']\n",
            "2: by hand, several functions",
        ),
        ("run(['cmake', '-DCMAKE_EXE_LINKER_FLAGS=-s'])\n", "1: by hand, the flags stand outside a list"),
        ("cmake_args = ['-DCMAKE_EXE_LINKER_FLAGS=-s' '-x\n", "by hand"),
        ("cmake_args = ['-DCMAKE_EXE_LINKER_FLAGS=-s', '-B']\ncmake_args.append(d)\n", "1: Merged Exe"),
        ("cmake_args = ['-S']\ncmake_args.append(d)\n", "1: by hand, the list ends with an option"),
        ("if x:\n    cmake_args = ['-DA=1']\nelse:\n    cmake_args = ['-DB=1']\n", "2: Added Exe"),
    ] {
        let merged = merge(text.as_bytes(), &order(&with_lld)).unwrap();
        assert!(report(&merged).contains(want), "{text}\n{}", report(&merged));
    }
}

#[test]
fn hostile_files_end_soon() {
    let nested = format!("cmake_args = {}{}", "[".repeat(5000), "]".repeat(5000));
    assert_eq!(merge(nested.as_bytes(), &order(&with_lld)).err(), Some(MergeError::TooDeep));
    let many = "cmake_args += ['-DCMAKE_EXE_LINKER_FLAGS=-s']\n".repeat(20_000);
    assert_eq!(merge(many.as_bytes(), &order(&with_lld)).err(), Some(MergeError::TooLarge));
    assert_eq!(merge(&vec![b'a'; 2 << 20], &order(&with_lld)).err(), Some(MergeError::TooLarge));
    for folder in ["relative", "/a b", "/a\"b", "/a$(x)", "/a\n"] {
        let order = MergeOrder { folder, function: None, env: &with_lld };
        assert_eq!(merge(b"cmake_args = []", &order).err(), Some(MergeError::Folder(folder.into())));
    }
}

#[test]
fn the_function_of_the_traceback_is_the_build() {
    let text = "def a():\n    cmake_args = ['-DA=1']\ndef b():\n    cmake_args = ['-DB=1']\n";
    let order = MergeOrder { folder: FOLDER, function: Some("b"), env: &with_lld };
    let merged = merge(text.as_bytes(), &order).unwrap();
    assert_eq!(merged.manual, vec![]);
    assert!(merged.done.iter().all(|done| done.line == 4));
    assert_eq!(merged.left.len(), 1);
}

#[test]
fn inspection_says_what_cmake_gets() {
    let read = |name: &str| {
        let text = std::fs::read(
            Path::new(env!("CARGO_MANIFEST_DIR"))
                .join("fixtures/formats/cmake_args")
                .join(name)
                .join("before/setup.py"),
        );
        inspect(&text.unwrap(), &order(&with_lld)).unwrap()
    };
    let lld = |words: &[&str]| Effective::Words(words.iter().map(|word| (*word).to_owned()).collect());
    let repeated = read("06-repeated");
    assert_eq!(repeated.dropped, vec![12]);
    let system = "-L/opt/system/lib";
    assert_eq!(
        repeated.effective,
        [lld(&["-fuse-ld=lld", system]), lld(&["-fuse-ld=lld", system]), lld(&["-fuse-ld=lld"])]
    );
    let append = read("10-append-variable");
    assert_eq!(append.variables, vec!["TRITON_APPEND_CMAKE_ARGS"]);
    assert_eq!(append.dropped, Vec::<usize>::new());
    let early = "def build_extension(self):\n    cmake_args = shlex.split(os.getenv('TRITON_APPEND_CMAKE_ARGS'))\n    cmake_args += ['-DCMAKE_EXE_LINKER_FLAGS=-s']\n";
    let early = inspect(early.as_bytes(), &order(&with_lld)).unwrap();
    assert_eq!(early.variables, Vec::<String>::new(), "the list overrides what the variable says");
    assert_eq!(read("04-f-string").effective[0], Effective::Unknown);
}
