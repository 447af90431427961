//! Labelled logs as other programs would have shown them: cut at a column, behind a logger's prefix.
//!
//! The answer must be that of the log as it was.

mod support;

use std::collections::BTreeSet;
use std::fs;
use std::io::Write;

use support::in_process::Diagnosis;
use support::labelled::{Case, cases, known, mistakes};

/// A case with its log in UTF-8, as other encodings cannot be rewritten byte by byte.
fn readable(case: Case) -> Option<(Case, Vec<u8>)> {
    let log = fs::read(&case.log).unwrap();
    std::str::from_utf8(&log).is_ok().then_some((case, log))
}

/// Cases in which something is to be found.
fn positives() -> Vec<(Case, Vec<u8>)> {
    cases().into_iter().filter(|case| !case.expect.is_empty()).filter_map(readable).collect()
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

/// What a launcher, a runtime or a CI system puts before the lines of two programs, so that they can be told apart.
const TAGS: &[(&str, [&str; 2])] = &[
    ("ranks", ["[rank0]: ", "[rank1]: "]),
    ("torchrun", ["[default0]:", "[default1]:"]),
    ("compose", ["app-1  | ", "db-1   | "]),
    ("compose in colours", ["\u{1b}[36mapp-1  |\u{1b}[0m ", "\u{1b}[33mdb-1   |\u{1b}[0m "]),
    ("mpirun", ["[1,0]<stderr>:", "[1,1]<stderr>:"]),
    ("Open MPI 5", ["[prterun-node7-4711@1,0]<stderr>: ", "[prterun-node7-4711@1,1]<stderr>: "]),
    ("srun", ["0: ", "1: "]),
    ("pdsh", ["node011: ", "node012: "]),
    ("actors", ["(TaskRunner pid=4711) ", "(TaskRunner pid=4712) "]),
    (
        "GitHub jobs",
        ["build (3.11)\tRun make\t2026-03-14T09:21:34.1156676Z ", "test\tRun pytest\t2026-03-14T09:21:34.1156676Z "],
    ),
    ("pods", ["[pod/train-0/main] ", "[pod/train-1/main] "]),
];

/// One line of each by turns, then the rest of the longer one.
fn interleaved(logs: [&str; 2], tags: [&str; 2]) -> Vec<u8> {
    let (mut out, mut lines) = (Vec::new(), logs.map(|log| log.lines()));
    loop {
        let next = lines.each_mut().map(Iterator::next);
        if next == [None, None] {
            return out;
        }
        for (tag, line) in tags.iter().zip(next) {
            if let Some(line) = line {
                writeln!(out, "{tag}{line}").unwrap();
            }
        }
    }
}

/// A case with what is said of its log by itself.
struct Told {
    case: Case,
    log: String,
    findings: Vec<serde_json::Value>,
    /// Recipes of which the log holds anything.
    touched: BTreeSet<String>,
}

impl Told {
    /// Whether a recipe is asked of this log or said of it.
    fn concerns(&self, id: &str) -> bool {
        let said = || self.findings.iter().any(|finding| finding["id"] == id);
        self.case.expect.contains(id) || self.case.accept.contains(id) || said()
    }

    /// Whether the other log's findings leave these as they are: two failures of one recipe share its parameters, and one
    /// finding may explain another.
    fn is_apart_from(&self, other: &Told, diagnosis: &Diagnosis) -> bool {
        let said = other.findings.iter().map(|finding| finding["id"].as_str().unwrap());
        let mut all = said.chain(other.case.expect.union(&other.case.accept).map(String::as_str));
        !all.any(|id| self.concerns(id) || diagnosis.masked_by(id).iter().any(|masked| self.concerns(masked)))
    }
}

fn told(diagnosis: &Diagnosis) -> Vec<Told> {
    let told = cases().into_iter().filter_map(readable).map(|(case, log)| {
        let findings = diagnosis.of(&log);
        let touched = diagnosis.touched_by(&log);
        Told { case, log: String::from_utf8(log).unwrap(), findings, touched }
    });
    told.collect()
}

/// What is said of two logs that came through one channel is what is said of each.
#[test]
fn logs_of_two_programs_line_by_line() {
    let (diagnosis, known) = (Diagnosis::new(), known());
    let all = told(&diagnosis);
    let mut wrong = Vec::new();
    for (number, one) in all.iter().enumerate() {
        let plain = mistakes(&one.case, &one.findings, &known);
        // Of look-alikes and good logs some kinds of tags show as much as all.
        let step = if one.case.expect.is_empty() { 4 } else { 1 };
        for (turn, (name, tags)) in TAGS.iter().enumerate().skip(number % step).step_by(step) {
            let from = (number * TAGS.len() + turn) * 7919 % all.len();
            let other = all.iter().cycle().skip(from).find(|other| one.is_apart_from(other, &diagnosis)).unwrap();
            let both = match turn % 2 {
                0 => interleaved([&one.log, &other.log], *tags),
                _ => interleaved([&other.log, &one.log], *tags),
            };
            for mistake in mistakes(&one.case, &diagnosis.of(&both), &known) {
                let of_the_other = mistake.strip_prefix("false alarm ").is_some_and(|id| other.concerns(id));
                // Which of two failures came first is not the question.
                if !plain.contains(&mistake) && !of_the_other && !mistake.starts_with("first is ") {
                    wrong.push(format!("{name}: {} beside {}: {mistake}", one.case.name, other.case.name));
                }
            }
        }
    }
    assert!(wrong.is_empty(), "{}:\n{}", wrong.len(), wrong.join("\n"));
}

/// What stands in one line is found wherever that line lands, also where nothing says whose it is.
#[test]
fn single_lines_among_those_of_another_program() {
    let (diagnosis, known) = (Diagnosis::new(), known());
    let all = told(&diagnosis);
    let (mut wrong, mut tried) = (Vec::new(), 0);
    let of_one_line =
        |one: &&Told| !one.findings.is_empty() && one.findings.iter().all(|found| found["one_line"] == true);
    for (number, one) in all.iter().enumerate().filter(|(_, one)| of_one_line(one)) {
        let plain = mistakes(&one.case, &one.findings, &known);
        for turn in 0..8 {
            let others = all.iter().cycle().skip((number * 8 + turn) * 7919 % all.len());
            let mut others = others.filter(|other| one.is_apart_from(other, &diagnosis));
            // Whose success it is, or what takes a failure back, nobody can tell here.
            let is_silent = |other: &&Told| {
                let concerned = other.touched.iter().any(|id| one.concerns(id));
                !concerned && !other.log.contains("Successfully installed")
            };
            let other = others.find(is_silent).unwrap();
            let both = interleaved([&one.log, &other.log], ["", ""]);
            tried += 1;
            for mistake in mistakes(&one.case, &diagnosis.of(&both), &known) {
                let of_the_other = mistake.strip_prefix("false alarm ").is_some_and(|id| other.concerns(id));
                if !plain.contains(&mistake) && !of_the_other && !mistake.starts_with("first is ") {
                    wrong.push(format!("{} beside {}: {mistake}", one.case.name, other.case.name));
                }
            }
        }
    }
    assert!(tried > 400, "{tried}");
    assert!(wrong.is_empty(), "{} of {tried}:\n{}", wrong.len(), wrong.join("\n"));
}
