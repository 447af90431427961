//! Labelled logs as other programs would have shown them: cut at a column, behind a logger's prefix.
//!
//! The answer must be that of the log as it was.

mod support;

use std::fs;
use std::io::Write;

use support::in_process::Diagnosis;
use support::labelled::{Case, cases, known, mistakes};

/// Positive cases in UTF-8, as other encodings cannot be rewritten byte by byte.
fn positives() -> Vec<(Case, Vec<u8>)> {
    let all = cases().into_iter().filter(|case| !case.expect.is_empty());
    let read = all.map(|case| {
        let log = fs::read(&case.log).unwrap();
        (case, log)
    });
    read.filter(|(_, log)| std::str::from_utf8(log).is_ok()).collect()
}

/// Cuts lines as `fold -w` does.
fn fold(log: &[u8], width: usize) -> Vec<u8> {
    let mut out = Vec::new();
    for line in log.split_inclusive(|byte| *byte == b'\n') {
        let mut column = 0;
        for byte in line {
            let next = match byte {
                b'\n' | b'\r' => 0,
                b'\t' => (column / 8 + 1) * 8,
                0x08 => column.max(1) - 1,
                _ => column + 1,
            };
            if next > width {
                out.push(b'\n');
            }
            out.push(*byte);
            column = if next > width { 1 } else { next };
        }
    }
    out
}

#[test]
fn logs_cut_at_a_column() {
    let (diagnosis, known, positives) = (Diagnosis::new(), known(), positives());
    let mut report = String::new();
    let mut low = Vec::new();
    for width in [72, 80, 100, 120] {
        let (mut good, mut whole) = (0, 0);
        for (case, log) in &positives {
            let wrong = mistakes(case, &diagnosis.of(&fold(log, width)), &known);
            assert!(
                !wrong.iter().any(|mistake| mistake.starts_with("false alarm")),
                "{width} {}: {wrong:?}",
                case.name
            );
            good += usize::from(!wrong.iter().any(|mistake| mistake.starts_with("misses")));
            whole += usize::from(wrong.is_empty());
            wrong.iter().for_each(|mistake| report += &format!("  {width} {}: {mistake}\n", case.name));
        }
        report += &format!("{width}: {good} and {whole} of {}\n", positives.len());
        // A log with a single cut shows nothing of its width.
        if good * 100 < positives.len() * 98 || whole * 100 < positives.len() * 93 {
            low.push(width);
        }
    }
    println!("{report}");
    assert!(low.is_empty(), "{low:?}:\n{report}");
}

/// Puts something before each line; a program that numbers or times them does so here as well.
type Prefixer = fn(usize, &str) -> String;

const PREFIXERS: &[(&str, Prefixer)] = &[
    ("torch elastic", |n, line| {
        format!("W0317 14:27:33.{:06} 12345 torch/distributed/elastic/x.py:1125] {line}", n % 1000000)
    }),
    ("glog", |n, line| format!("E20240101 00:00:{:02}.123456 {n} x.cc:12] {line}", n % 60)),
    ("rank", |_, line| format!("[rank0]: {line}")),
    ("torchrun", |_, line| format!("[default0]:{line}")),
    ("container", |n, line| format!("2024-01-01T00:00:{:02}.123456789Z stderr F {line}", n % 60)),
    ("python", |n, line| format!("2024-01-01 12:00:{:02},123 - a.name - ERROR - {line}", n % 60)),
    ("deepspeed", |n, line| format!("[2024-01-01 12:00:{:02},123] [ERROR] [launch.py:12:main] {line}", n % 60)),
    ("mindspore", |n, line| {
        format!(
            "[ERROR] DEVICE(123,ffff8abc,python):2024-01-01-12:00:{:02}.123.456 [mindspore/ccsrc/x.cc:12] Init] {line}",
            n % 60
        )
    }),
    ("srun", |_, line| format!("0: {line}")),
    ("mpirun", |_, line| format!("[1,0]<stderr>:{line}")),
    ("pdsh", |_, line| format!("node012: {line}")),
    ("ray", |_, line| format!("(TaskRunner pid=4711, ip=192.0.2.1) {line}")),
    ("buildkit", |n, line| format!("#12 {n}.123 {line}")),
    ("compose", |_, line| format!("builder-1  | {line}")),
    ("jenkins", |n, line| format!("[2024-01-01T12:00:{:02}.123Z] {line}", n % 60)),
    ("pip", |_, line| format!("  │ {line}")),
];

#[test]
fn logs_behind_prefixes() {
    let (diagnosis, known, positives) = (Diagnosis::new(), known(), positives());
    let mut wrong = Vec::new();
    for (case, log) in &positives {
        let log = String::from_utf8_lossy(log);
        let plain = mistakes(case, &diagnosis.of(log.as_bytes()), &known);
        for (name, prefixer) in PREFIXERS {
            let mut rewritten = Vec::new();
            for (number, line) in log.lines().enumerate() {
                writeln!(rewritten, "{}", prefixer(number, line)).unwrap();
            }
            for mistake in mistakes(case, &diagnosis.of(&rewritten), &known) {
                if !plain.contains(&mistake) {
                    wrong.push(format!("{name}: {}: {mistake}", case.name));
                }
            }
        }
    }
    assert!(wrong.is_empty(), "{}:\n{}", wrong.len(), wrong.join("\n"));
}

/// The whole log, rewritten by something that it went through.
type Rewriter = fn(&str) -> Vec<u8>;

const FILLER: &str = "[1/9] Building CXX object lib/CMakeFiles/x.dir/x.cpp.o";

const REWRITERS: &[(&str, Rewriter)] = &[
    ("CRLF", |log| log.replace("\r\n", "\n").replace('\n', "\r\n").into_bytes()),
    ("UTF-16 with a mark", |log| {
        "\u{feff}".encode_utf16().chain(log.encode_utf16()).flat_map(u16::to_le_bytes).collect()
    }),
    ("UTF-16, big endian", |log| {
        "\u{feff}".encode_utf16().chain(log.encode_utf16()).flat_map(u16::to_be_bytes).collect()
    }),
    ("colours around lines", |log| each_line(log, |line| format!("\u{1b}[1;31m{line}\u{1b}[0m"))),
    ("colours inside", |log| each_line(log, |line| line.replace(' ', "\u{1b}[0m \u{1b}[1m"))),
    ("progress before", |log| {
        // Of an empty line the progress would be what a terminal shows.
        each_line(log, |line| if line.trim().is_empty() { line.to_owned() } else { format!(" 10%\r 99%\r{line}") })
    }),
    ("JSON of docker", |log| {
        each_line(log, |line| serde_json::json!({ "log": format!("{line}\n"), "stream": "stderr" }).to_string())
    }),
    ("JSON of a logger", |log| {
        each_line(log, |line| serde_json::json!({ "level": "error", "message": line }).to_string())
    }),
    ("a thousand lines around", |log| {
        let filler = format!("{FILLER}\n").repeat(1000);
        format!("{filler}{log}\n{filler}").into_bytes()
    }),
    ("a launcher in a launcher", |log| each_line(log, |line| format!("[default0]:[rank0]: {line}"))),
    ("GitHub", |log| each_line(log, |line| format!("2026-03-14T09:21:34.1156676Z {line}"))),
    ("GitLab", |log| each_line(log, |line| format!("2026-03-14T09:21:34.115667Z 01E {line}"))),
    ("pytest", |log| each_line(log, |line| format!("E   {line}"))),
];

fn each_line(log: &str, rewrite: impl Fn(&str) -> String) -> Vec<u8> {
    log.lines().map(|line| rewrite(line) + "\n").collect::<String>().into_bytes()
}

/// What a program between the failure and its reader does to all lines alike changes no answer.
#[test]
fn logs_rewritten_as_a_whole() {
    let (diagnosis, known, positives) = (Diagnosis::new(), known(), positives());
    let mut wrong = Vec::new();
    for (case, log) in &positives {
        let log = String::from_utf8_lossy(log);
        let plain = mistakes(case, &diagnosis.of(log.as_bytes()), &known);
        for (name, rewriter) in REWRITERS {
            // JSON inside of JSON is taken out once.
            if name.starts_with("JSON") && log.contains("{\"") {
                continue;
            }
            for mistake in mistakes(case, &diagnosis.of(&rewriter(&log)), &known) {
                if !plain.contains(&mistake) {
                    wrong.push(format!("{name}: {}: {mistake}", case.name));
                }
            }
        }
    }
    assert!(wrong.is_empty(), "{}:\n{}", wrong.len(), wrong.join("\n"));
}
