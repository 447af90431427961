//! Labelled logs as other programs would have shown them: cut at a column, behind a logger's prefix.
//!
//! The answer must be that of the log as it was.

mod support;

use std::collections::BTreeMap;
use std::fs;
use std::io::Write;

use build_fix::cli::vocabulary::vocabulary;
use build_fix::diagnosis::{Evidence, Origin, PatternOwner, candidates, examine, rank};
use build_fix::evidence::log::{LogScan, Pattern, Scanner};
use build_fix::evidence::{GitState, LocalHost};
use build_fix::os::AbsPath;
use build_fix::recipe::catalogue::Catalogue;
use build_fix::recipe::{Recipe, Role, Values};

use support::labelled::{Case, cases, known, mistakes, root};

/// All recipes, in this process: a thousand logs are too many for a process each.
struct Diagnosis {
    recipes: BTreeMap<String, Recipe>,
    scanner: Scanner,
    owners: Vec<PatternOwner>,
    required: BTreeMap<String, Vec<usize>>,
    host: LocalHost,
}

struct NoGit;

impl GitState for NoGit {
    fn top_level(&self) -> Option<&AbsPath> {
        None
    }

    fn tracks(&self, _: &AbsPath) -> bool {
        false
    }
}

impl Diagnosis {
    fn new() -> Self {
        let catalogue = Catalogue::embedded();
        let mut required: BTreeMap<String, Vec<usize>> = BTreeMap::new();
        let (mut patterns, mut owners) = (Vec::new(), Vec::new());
        for pattern in catalogue.patterns() {
            let recipe = pattern.entry.id.to_string();
            if pattern.role == Role::Required {
                let signatures = required.entry(recipe.clone()).or_default();
                if !signatures.contains(&pattern.signature) {
                    signatures.push(pattern.signature);
                }
            }
            patterns.push(Pattern {
                regex: pattern.regex.to_owned(),
                anchors: pattern.anchors.iter().map(ToString::to_string).collect(),
                lines: pattern.lines.max(1),
            });
            let (signature, role, lines, side) = (pattern.signature, pattern.role, pattern.lines, pattern.side);
            owners.push(PatternOwner { recipe, signature, role, lines, side });
        }
        let host = LocalHost::new(AbsPath::new(root()).unwrap(), [], Box::new(NoGit));
        let vocabulary = vocabulary();
        let recipes =
            catalogue.entries().iter().map(|entry| (entry.id.to_string(), entry.recipe(&vocabulary).unwrap()));
        Self { recipes: recipes.collect(), scanner: Scanner::new(patterns), owners, required, host }
    }

    /// What `fix diagnose --log-only --json` says of a log, as far as labels go.
    fn of(&self, log: &[u8]) -> Vec<serde_json::Value> {
        let logs = [self.scanner.scan("log", log).unwrap()];
        let findings = self.findings(&logs);
        findings
            .into_iter()
            .map(|finding| {
                let params = finding.params();
                let params: BTreeMap<_, _> = params.iter().map(|(name, value)| (name, value.to_list())).collect();
                serde_json::json!({ "id": finding.recipe.id, "params": params })
            })
            .collect()
    }

    fn findings(&self, logs: &[LogScan]) -> Vec<build_fix::diagnosis::Finding> {
        let set = Values::new();
        let evidence = Evidence {
            logs,
            patterns: &self.owners,
            host: &self.host,
            origin: Origin::Elsewhere,
            command: None,
            set: &set,
        };
        let found = candidates(logs, &self.owners, &self.required);
        rank(found.iter().filter_map(|id| examine(&self.recipes[id], &evidence)).collect())
    }
}

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
