//! The scanner against its own definition: regular expressions over the whole normalised log.

use std::io::{self, Read};

use proptest::prelude::*;

use super::*;
use crate::evidence::log::blocks::{BLOCK, CHUNK};
use crate::evidence::log::normalise::normalise;
use crate::evidence::log::{LogLine, anchors};

const REGEXES: &[&str] = &[
    r"The following imported targets are referenced, but are missing: (?P<missing_targets>[\w: -]+)",
    "is not a full path and was not found in the PATH",
    r"ld\.lld: error: unable to find library -l(?P<missing_library>[\w.+-]+)",
    r"/bin/sh: (?:1: |line 1: )?(?P<missing_tool>\S+): not found",
    "Does not match the generator used previously",
    r#"The (?P<variable>CMAKE_\w+_COMPILER): (?P<missing_tool>\S+) is not a full path and was not found in the PATH"#,
    "找不到编译器 (?P<name>\\S+)",
];

/// Texts that the expressions of the same index match.
const EXAMPLES: &[&str] = &[
    "The following imported targets are referenced, but are missing: LLVMCGData LLVM::X",
    "is not a full path and was not found in the PATH.",
    "ld.lld: error: unable to find library -lsysdep",
    "/bin/sh: 1: /opt/llvm/bin/llvm-ar: not found",
    "Does not match the generator used previously: Unix Makefiles",
    "The CMAKE_CXX_COMPILER: clang++ is not a full path and was not found in the PATH.",
    "错误：找不到编译器 clang",
];

const FILLER: &[&str] = &[
    "[3/10] Building CXX object lib/CMakeFiles/x.dir/error.cpp.o",
    "-- Could NOT find ZLIB (missing: ZLIB_LIBRARY)",
    "",
    "is not a full path and was",
    "/bin/sh: nothing else",
    "  \u{2502} exit code: 1",
    "C:\\Users\\x\\{\"a\" \\ b",
    " 10%\r 20%\r",
];

fn patterns() -> Vec<Pattern> {
    let of = |regex: &&str| Pattern { regex: (*regex).to_owned(), anchors: anchors(regex).unwrap(), lines: 1 };
    REGEXES.iter().map(of).collect()
}

/// Compiled once for all cases.
fn scanner() -> &'static Scanner {
    static SCANNER: OnceLock<Scanner> = OnceLock::new();
    SCANNER.get_or_init(|| Scanner::new(patterns()))
}

fn scan(log: &[u8]) -> LogScan {
    scanner().scan("log", log).unwrap()
}

fn fed(log: &[u8], sizes: &[usize]) -> LogScan {
    let mut session = scanner().session("log");
    let (mut rest, mut sizes) = (log, sizes.iter().cycle());
    while !rest.is_empty() {
        let size = (*sizes.next().unwrap()).clamp(1, rest.len());
        session.feed(&rest[..size]);
        rest = &rest[size..];
    }
    session.finish()
}

/// (pattern, first line, last line, matched text) over the whole log at once.
fn expected(text: &str) -> Vec<(usize, u64, u64)> {
    let (mut normal, mut numbers) = (Vec::new(), Vec::new());
    for (line, number) in text.split('\n').zip(1u64..) {
        let start = normal.len();
        normalise(line.as_bytes(), &mut normal);
        normal.push(b'\n');
        numbers.resize(normal.len(), 0);
        numbers[start..].fill(number);
    }
    let mut found = Vec::new();
    for (index, pattern) in scanner().shared.patterns.iter().enumerate() {
        for matched in pattern.regex().unwrap().find_iter(&normal) {
            let end = matched.start() + matched.as_bytes().trim_ascii_end().len();
            found.push((matched.start(), index, numbers[matched.start()], numbers[end - 1]));
        }
    }
    found.sort_unstable();
    found.into_iter().map(|(_, index, first, last)| (index, first, last)).collect()
}

fn seen(scan: &LogScan) -> Vec<(usize, u64, u64)> {
    scan.hits.iter().map(|hit| (hit.pattern, hit.first_line, hit.last_line)).collect()
}

fn capture<'a>(scan: &'a LogScan, name: &str) -> Vec<&'a str> {
    scan.hits.iter().filter_map(|hit| hit.captures.get(name)).flatten().map(String::as_str).collect()
}

#[derive(Debug, Clone, Copy)]
enum Wrapping {
    None,
    Rank,
    Github,
    Pip,
    Json,
    Colour,
    Carriage,
}

/// What a launcher or a CI system makes of a message; one line each.
fn wrapped(message: &str, wrapping: Wrapping) -> String {
    let each = |prefix: &str| message.split('\n').map(|line| format!("{prefix}{line}\n")).collect::<String>();
    match wrapping {
        Wrapping::None => each(""),
        Wrapping::Rank => each("[rank12]: "),
        Wrapping::Github => each("2026-03-14T09:21:34.5671074Z "),
        Wrapping::Pip => each("      \u{2502} "),
        Wrapping::Json => message
            .split('\n')
            .map(|line| format!("{}\n", serde_json::json!({"log": format!("\"{line}\"\n"), "stream": "stderr"})))
            .collect(),
        Wrapping::Colour => each("\u{1b}[1;31m").replace(' ', "\u{1b}[0m \u{1b}[1m"),
        Wrapping::Carriage => each(" 10%\r 99%\r"),
    }
}

fn message() -> impl Strategy<Value = String> {
    let wrappings = prop_oneof![
        Just(Wrapping::None),
        Just(Wrapping::Rank),
        Just(Wrapping::Github),
        Just(Wrapping::Pip),
        Just(Wrapping::Json),
        Just(Wrapping::Colour),
        Just(Wrapping::Carriage),
    ];
    let breaks = prop_oneof![Just("\n"), Just("\n  "), Just("\n\n    "), Just("  "), Just("\t")];
    (0..EXAMPLES.len(), any::<prop::sample::Index>(), breaks, wrappings, any::<bool>()).prop_map(
        |(example, place, line_break, wrapping, is_broken)| {
            let text = EXAMPLES[example];
            let spaces: Vec<usize> = text.match_indices(' ').map(|(at, _)| at).collect();
            let space = spaces[place.index(spaces.len())];
            let text = match is_broken {
                true => format!("{}{line_break}{}", &text[..space], &text[space + 1..]),
                false => text.to_owned(),
            };
            wrapped(&text, wrapping)
        },
    )
}

fn log() -> impl Strategy<Value = String> {
    let filler = (0..FILLER.len()).prop_map(|index| format!("{}\n", FILLER[index]));
    let long = (1usize..90_000).prop_map(|count| format!("{}\n", "x".repeat(count)));
    prop::collection::vec(prop_oneof![4 => filler, 4 => message(), 1 => long], 0..24).prop_map(|parts| parts.concat())
}

proptest! {
    // `PROPTEST_CASES` asks for more.
    #![proptest_config(ProptestConfig {
        cases: ProptestConfig::default().cases / 8,
        failure_persistence: None,
        ..ProptestConfig::default()
    })]

    #[test]
    fn finds_what_the_expressions_find(log in log(), sizes in prop::collection::vec(1usize..70_000, 1..5)) {
        let scan = scan(log.as_bytes());
        prop_assert_eq!(seen(&scan), expected(&log));
        prop_assert_eq!(scan.lines, log.lines().count() as u64);
        prop_assert_eq!(&fed(log.as_bytes(), &sizes), &scan);

        let crlf = log.replace('\n', "\r\n");
        prop_assert_eq!(seen(&fed(crlf.as_bytes(), &sizes)), expected(&crlf));
    }

    #[test]
    fn finds_the_same_in_other_encodings(log in log(), sizes in prop::collection::vec(1usize..70_000, 1..5)) {
        let log = format!("# build started\n错误：找不到编译器 gcc\n{}", log.replace('\u{2502}', "|"));
        let wanted = expected(&log);
        let little: Vec<u8> = "\u{feff}".encode_utf16().chain(log.encode_utf16()).flat_map(u16::to_le_bytes).collect();
        let big: Vec<u8> = log.encode_utf16().flat_map(u16::to_be_bytes).collect();
        let (gbk, ..) = encoding_rs::GBK.encode(&log);
        for bytes in [&little[..], &big, &gbk] {
            let scan = fed(bytes, &sizes);
            prop_assert_eq!(seen(&scan), wanted.clone());
            prop_assert_eq!(scan.bytes, bytes.len() as u64);
            prop_assert!(capture(&scan, "name").contains(&"gcc"));
        }
    }

    #[test]
    fn any_bytes(
        log in prop::collection::vec(prop_oneof![any::<u8>(), prop::sample::select(b"\n\r\x1b[]\\{\"\x08\0 :".to_vec())], 0..5000),
        sizes in prop::collection::vec(1usize..3000, 1..4),
    ) {
        prop_assert_eq!(fed(&log, &sizes), scan(&log));
    }
}

/// Messages across each block's border; both anchors of a message stand whole, on different lines.
#[test]
fn block_borders_and_line_numbers() {
    let message = "CMake Error at CMakeLists.txt:2:\n  The CMAKE_CXX_COMPILER:\n\n    clang++\n\n  \
                   is not a full path and\n  was not found in the PATH.\n";
    let filler = format!("-- {}\n", "Detecting CXX compiler ABI info - done ".repeat(8));
    for shift in (0..message.len() + 40).step_by(15) {
        let mut log = format!("{}\n", "y".repeat(shift));
        while log.len() < BLOCK - 2 * message.len() - filler.len() {
            log += &filler;
        }
        log += &message.repeat(4);
        log += &filler.repeat(BLOCK / filler.len());
        log += message;
        let scan = fed(log.as_bytes(), &[4096]);
        assert_eq!(seen(&scan), expected(&log), "{shift}");
        assert_eq!(scan.totals, BTreeMap::from([(1, 5), (5, 5)]));
        assert_eq!(capture(&scan, "missing_tool"), ["clang++"; 5]);
    }
}

#[test]
fn captures_and_texts() {
    let log = "a\r\n[rank0]: The following imported targets are referenced, but are missing: \r\n[rank0]:   LLVMA LLVMB\r\n\x1b[31mld.lld: \x1b[0merror: unable to find library -lx\x1b[0m\r\n";
    let scan = scan(log.as_bytes());
    let texts: Vec<&str> = scan.hits.iter().map(|hit| hit.text.as_str()).collect();
    assert_eq!(
        texts,
        [
            "[rank0]: The following imported targets are referenced, but are missing:\n[rank0]:   LLVMA LLVMB",
            "ld.lld: error: unable to find library -lx",
        ]
        .map(|text| text.replace("missing:\n", "missing: \n"))
    );
    assert_eq!(capture(&scan, "missing_targets"), ["LLVMA LLVMB"]);
    assert_eq!(capture(&scan, "missing_library"), ["x"]);
    assert_eq!((scan.hits[0].first_line, scan.hits[0].last_line, scan.hits[1].first_line), (2, 3, 4));
    assert_eq!(scan.tail.last(), Some(&LogLine { number: 4, text: scan.hits[1].text.clone() }));
    assert_eq!((scan.lines, scan.bytes), (4, log.len() as u64));
}

/// The same failure as pip, GitHub, docker and a launcher show it.
#[test]
fn logs_of_build_systems() {
    let cmake = [
        "CMake Error at CMakeLists.txt:2 (project):",
        "  The CMAKE_CXX_COMPILER:",
        "",
        "    clang++",
        "",
        "  is not a full path and was not found in the PATH.",
        "",
        "  Tell CMake where to find the compiler by setting either the environment",
        "",
    ];
    let each = |shown: fn(&str) -> String| cmake.map(shown).join("\n");
    let docker = |line: &str| serde_json::json!({"log": format!("{line}\r\n"), "stream": "stderr"}).to_string();
    let table = [
        ("plain", each(str::to_owned)),
        ("pip", each(|line| format!("      {line}"))),
        ("pip -v, indented", each(|line| format!("  \u{2502}   {line}"))),
        ("GitHub", each(|line| format!("2026-03-14T09:21:34.1156676Z {line}"))),
        ("GitLab", each(|line| format!("2026-03-14T09:21:34.115667Z 01E {line}"))),
        ("Jenkins", each(|line| format!("[2026-03-14T09:21:34.115Z] {line}"))),
        ("buildkit", each(|line| format!("#11 0.741 {line}"))),
        ("compose", each(|line| format!("builder-1  | {line}"))),
        ("torchrun", each(|line| format!("[default3]:{line}"))),
        ("mpirun", each(|line| format!("[1,3]<stderr>:{line}"))),
        ("GitHub, then a launcher, then pip", each(|line| format!("2026-03-14T09:21:34Z [rank1]:       {line}"))),
        ("coloured", each(|line| format!("\u{1b}[0m\u{1b}[31;1m{}\u{1b}[m", line.replace("full", "\u{1b}[1mfull")))),
        ("docker's file", cmake.map(docker).join("\n")),
        ("one JSON message", serde_json::json!({"level": "error", "message": cmake.join("\n")}).to_string()),
        ("pytest", each(|line| format!("E   {line}"))),
    ];
    for (name, log) in table {
        let scan = scan(log.as_bytes());
        assert_eq!(scan.totals, BTreeMap::from([(1, 1), (5, 1)]), "{name}");
        assert_eq!(
            (capture(&scan, "missing_tool"), capture(&scan, "variable")),
            (vec!["clang++"], vec!["CMAKE_CXX_COMPILER"])
        );
        let lines = if name == "one JSON message" { (1, 1) } else { (2, 6) };
        assert_eq!((scan.hits[0].first_line, scan.hits[0].last_line), lines, "{name}");
        assert!(scan.telling.iter().any(|line| line.text.starts_with("CMake Error at CMakeLists.txt:2")), "{name}");
    }
}

/// Sessions are fed by the threads that copy a command's output.
#[test]
fn a_session_may_move_to_another_thread() {
    let mut session = scanner().session("stderr");
    let scan = std::thread::spawn(move || {
        session.feed(b"/bin/sh: 1: ninja: not found\n");
        session.finish()
    });
    assert_eq!(capture(&scan.join().unwrap(), "missing_tool"), ["ninja"]);
}

#[test]
fn many_hits_are_bounded() {
    let log: String = (0..10_000).map(|index| format!("/bin/sh: 1: tool{index}: not found\n")).collect();
    let scan = scan(log.as_bytes());
    assert_eq!((scan.hits.len(), scan.totals[&3]), (64, 10_000));
    assert_eq!((scan.hits[31].first_line, scan.hits[32].first_line, scan.hits[63].first_line), (32, 9969, 10_000));
}

#[test]
fn a_match_over_too_many_lines_is_none() {
    let pattern = |lines| Pattern {
        regex: r"begins_with_this\w+[\s\S]*?ends".to_owned(),
        anchors: vec!["begins_with_this".to_owned()],
        lines,
    };
    let log = "begins_with_this1\n\n\nbegins_with_this2\n\nends\n";
    let hits = |lines| Scanner::new(vec![pattern(lines)]).scan("", log.as_bytes()).unwrap().hits;
    assert_eq!((hits(2).len(), hits(3)[0].first_line, hits(6)[0].first_line), (0, 4, 1));
}

#[test]
fn patterns_without_anchors_and_bad_ones() {
    let pattern = |regex: &str| Pattern { regex: regex.to_owned(), anchors: vec![], lines: 1 };
    let scanner = Scanner::new(vec![pattern("x=(?P<x>\\d+)"), pattern("(")]);
    let log = format!("x=1\n{}x=2", "nothing\n".repeat(100_000));
    let scan = scanner.scan("", log.as_bytes()).unwrap();
    assert_eq!(capture(&scan, "x"), ["1", "2"]);
    assert_eq!(Scanner::new(vec![]).scan("", &b""[..]).unwrap(), LogScan::default());
}

/// One line of `size` bytes with a message every 10 MB; nothing of it lies in memory before it is read.
struct OneLine {
    at: u64,
    size: u64,
}

impl Read for OneLine {
    fn read(&mut self, room: &mut [u8]) -> io::Result<usize> {
        const EVERY: u64 = 10_000_000;
        let message = b" \x1b[1mld.lld: \x1b[0merror: unable to find library -lx ";
        let count = room.len().min(usize::try_from(self.size - self.at).unwrap());
        room[..count].fill(b'z');
        let first = self.at.next_multiple_of(EVERY);
        // A message is written when all of it fits, so the reads are cut for that.
        if first < self.at + count as u64 {
            let index = usize::try_from(first - self.at).unwrap();
            if index + message.len() > count {
                let cut = if index == 0 { count } else { index };
                self.at += cut as u64;
                return Ok(cut);
            }
            room[index..index + message.len()].copy_from_slice(message);
            self.at += (index + message.len()) as u64;
            return Ok(index + message.len());
        }
        self.at += count as u64;
        Ok(count)
    }
}

#[test]
fn one_line_of_a_hundred_megabytes() {
    let mut session = Scanner::new(patterns()).session("line");
    let mut reader = OneLine { at: 0, size: 100_000_000 };
    let mut block = vec![0; 1 << 20];
    loop {
        let count = reader.read(&mut block).unwrap();
        if count == 0 {
            break;
        }
        session.feed(&block[..count]);
        assert!(session.blocks.text().len() <= CHUNK && session.raw.len() <= RAW);
    }
    let scan = session.finish();
    assert_eq!(scan.totals, BTreeMap::from([(2, 10)]));
    assert!(scan.hits.iter().all(|hit| hit.text.len() <= 8 << 10 && hit.first_line == 1), "bounded excerpts");
    assert!(scan.hits[3].text.contains("error: unable to find library -lx"));
    assert_eq!((scan.lines, scan.bytes), (1, 100_000_000));
}

#[test]
fn a_reader_that_fails() {
    struct Broken;
    impl Read for Broken {
        fn read(&mut self, _: &mut [u8]) -> io::Result<usize> {
            Err(io::Error::other("gone"))
        }
    }
    assert_eq!(Scanner::new(patterns()).scan("", Broken).unwrap_err().to_string(), "gone");
}
