//! `fix report [LOG…] [-- CMD]`: a bug report without anything that must not leave. Nothing is sent anywhere.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::sync::LazyLock;

use anyhow::Result;
use regex::Regex;

use super::args::{Report, ReportFormat};
use super::output;
use super::own_file;
use super::reading::{Asking, Reader, Reading, Stages, origin_of};
use super::session::{Session, for_screen};
use super::writing::would_write;
use super::{convert, history};
use crate::evidence::npu_smi::NpuSmi;
use crate::evidence::{Host, inventory, leftovers};
use crate::recipe::Text;
use crate::recipe::catalogue::Catalogue;
use crate::redact::{Profile, Redactor, Rule};
use crate::report::bug::{self, Attempt, BugReport, Known, VersionLine};
use crate::report::{Evidence, Outcome};
use crate::transaction;

/// Most of each list: more says no more.
const MOST: usize = 12;

/// Writes the report.
pub fn run(args: &Report, session: &Session) -> Result<u8> {
    let named: Vec<PathBuf> = args.logs.iter().chain(&session.common.log).cloned().collect();
    let named = if named.is_empty() { newest_left(session) } else { named };
    let logs: Vec<&Path> = named.iter().map(AsRef::as_ref).collect();
    let catalogue = Catalogue::embedded();
    let reader = Reader::new(catalogue.entries().iter().collect());
    let reading = reader.read_named(session, logs.iter().copied(), Stages::Unasked)?;
    let report = collect(session, args, &reader, &reading, &logs)?;
    let mut redactor = redactor(session, args);
    // Names that stand in lines which are not shown.
    for log in &reading.logs {
        for text in
            log.tail.iter().chain(&log.telling).map(|line| &line.text).chain(log.hits.iter().map(|hit| &hit.text))
        {
            redactor.learn_from(text);
        }
    }
    let wants_json = session.common.json || args.format == ReportFormat::Json;
    let text = if wants_json {
        bug::json(&report, &mut redactor)
    } else {
        bug::markdown(&report, session.lang(), &mut redactor)
    };
    match args.output.as_deref().filter(|path| *path != Path::new("-")) {
        None => output::hand_out(text.as_bytes()),
        Some(path) => {
            let path = session.resolve(path);
            if session.common.dry_run {
                output::hand_out(text.as_bytes());
                session.say(&would_write(&path));
                return Ok(1);
            }
            let beginning = if wants_json { "{\n" } else { bug::BEGINNING };
            own_file::write(&path, text.as_bytes(), beginning.as_bytes())?;
            if !session.common.quiet && !session.common.json {
                output::show(&for_screen(&text));
            }
            session.say(&Text::new(
                format!("written to `{path}`; read it once more before you share it"),
                format!("已写入 `{path}`；分享前请再通读一遍"),
            ));
        }
    }
    Ok(0)
}

/// The newest log that a tool left here, where the user names none.
/// How many chips of each kind and health there are.
fn kinds_of(told: &NpuSmi) -> Vec<String> {
    let mut counted: BTreeMap<String, usize> = BTreeMap::new();
    for chip in &told.chips {
        *counted.entry(format!("{} ({})", chip.name, chip.health)).or_default() += 1;
    }
    counted.into_iter().map(|(name, count)| format!("{count} × {name}")).collect()
}

fn newest_left(session: &Session) -> Vec<PathBuf> {
    let newest = leftovers::find(session.host()).into_iter().next();
    newest.map(|leftover| leftover.path.as_path().to_owned()).into_iter().collect()
}

fn collect(
    session: &Session,
    args: &Report,
    reader: &Reader<'_>,
    reading: &Reading,
    logs: &[&Path],
) -> Result<BugReport> {
    let asking = Asking { host: session.host(), origin: origin_of(session, reading, logs, &[]), command: None };
    let findings = reader.diagnose(reading, &asking, session)?;
    let shown: Vec<_> =
        findings.iter().enumerate().map(|(at, finding)| convert::finding(finding, at + 1, None)).collect();
    let mut excerpts: Vec<Evidence> =
        shown.iter().take(3).flat_map(|finding| finding.evidence.iter().cloned()).collect();
    for line in convert::telling(&reading.logs) {
        let told = excerpts.iter().any(|one| {
            one.source == line.source && one.first_line <= line.first_line && line.last_line <= one.last_line
        });
        if !told && excerpts.len() < MOST {
            excerpts.push(line);
        }
    }
    // The name of a log may be private, its place in the list is not.
    for excerpt in &mut excerpts {
        let at = reading.logs.iter().position(|log| log.source == excerpt.source).unwrap_or_default();
        excerpt.source = format!("log {}", at + 1);
    }
    let command: Vec<String> = args.cmd.iter().map(|word| word.to_string_lossy().into_owned()).collect();
    let (recorded, attempts) = attempts(session);
    let command = if command.is_empty() { recorded } else { command };
    let mut seen: String = excerpts.iter().map(|one| format!("{}\n", one.text)).collect();
    seen.extend(reading.logs.iter().flat_map(|log| log.tail.iter().map(|line| format!("{}\n", line.text))));
    seen.push_str(&command.join(" "));
    let words: Vec<std::ffi::OsString> = command.iter().map(Into::into).collect();
    let chips =
        NpuSmi::of(session.host()).map_or_else(|| inventory::accelerators(session.host()), |told| kinds_of(&told));
    Ok(BugReport {
        outcome: Outcome::Listed,
        fix_version: env!("CARGO_PKG_VERSION").to_owned(),
        findings: shown
            .iter()
            .map(|one| Known { id: one.id.clone(), confidence: one.confidence, title: one.title.clone() })
            .collect(),
        excerpts,
        versions: inventory::installed(session.host(), &words)
            .into_iter()
            .map(|one| VersionLine { name: one.name, version: one.version, told_by: one.told_by.to_owned() })
            .collect(),
        chips,
        ranks: ranks(session, &seen),
        shapes: shapes(&seen),
        dtypes: dtypes(&seen),
        command,
        attempts,
    })
}

/// The command of the newest repair here, and what became of all of them.
fn attempts(session: &Session) -> (Vec<String>, Vec<Attempt>) {
    // A state folder that cannot be read holds nothing to tell.
    let Ok(state) = session.state() else { return (Vec::new(), Vec::new()) };
    let groups = transaction::history(&state).unwrap_or_default();
    let here: Vec<_> =
        groups.iter().filter(|group| session.project().is_within(&group.root)).rev().take(MOST).collect();
    let command = here.first().map(|group| group.command.clone()).unwrap_or_default();
    let attempts = here
        .iter()
        .map(|group| Attempt {
            recipes: group.transactions.iter().map(|transaction| transaction.recipe.clone()).collect(),
            outcome: history::outcome(&group.state),
        })
        .filter(|attempt| !attempt.recipes.is_empty())
        .collect();
    (command, attempts)
}

/// A redactor that knows this machine's own names.
fn redactor(session: &Session, args: &Report) -> Redactor {
    let mut redactor = Redactor::new(Profile::Private);
    for text in &args.hide {
        redactor.learn(text, Rule::Named);
    }
    for name in ["USER", "LOGNAME", "SUDO_USER", "USERNAME"] {
        if let Some(user) = session.env(name).and_then(|value| value.into_string().ok()) {
            redactor.learn(&user, Rule::UserName);
        }
    }
    if let Some(name) = session.host().home().and_then(|home| home.as_path().file_name()) {
        redactor.learn(&name.to_string_lossy(), Rule::UserName);
    }
    let host = rustix::system::uname().nodename().to_string_lossy().into_owned();
    redactor.learn(host.split('.').next().unwrap_or_default(), Rule::HostName);
    redactor.learn(&host, Rule::HostName);
    if let Some(name) = session.project().as_path().file_name() {
        redactor.learn(&name.to_string_lossy(), Rule::Path);
    }
    redactor
}

fn ranks(session: &Session, text: &str) -> Vec<String> {
    static COUNT: LazyLock<Regex> = LazyLock::new(|| {
        regex(
            r"(?i)\b(?:world[_ -]?size|rank[_ ]?size|nproc[_-]per[_-]node|nnodes|rank[_ ]?num|local_world_size)\b[ =:]{1,3}[0-9]{1,5}\b",
        )
    });
    static RANK: LazyLock<Regex> =
        LazyLock::new(|| regex(r"(?i)(?:\brank\[?[ =:]{0,2}|\[rank|RankID:)(?P<rank>[0-9]{1,5})\b"));
    let mut found = texts(&COUNT, text);
    for name in ["WORLD_SIZE", "RANK_SIZE"] {
        if let Some(value) = session.env(name).and_then(|value| value.to_str()?.parse::<u32>().ok()) {
            found.push(format!("{name}={value}"));
        }
    }
    let named: std::collections::BTreeSet<u32> =
        RANK.captures_iter(text).filter_map(|captures| captures["rank"].parse().ok()).collect();
    if !named.is_empty() {
        let named: Vec<String> = named.iter().take(MOST).map(ToString::to_string).collect();
        found.push(format!("rank {}", named.join(", ")));
    }
    found.dedup();
    found
}

fn shapes(text: &str) -> Vec<String> {
    static SHAPE: LazyLock<Regex> = LazyLock::new(|| {
        regex(
            r"(?i)(?:torch\.Size\(|\b(?:[a-z_]*shape|size|sizes)s?\b[ =:]{0,3})[\[(]{1,2}[0-9x, -]{1,80}[\])]{1,2}|tensor<[0-9x?]{1,60}[a-z0-9]{2,8}>",
        )
    });
    texts(&SHAPE, text)
}

fn dtypes(text: &str) -> Vec<String> {
    static DTYPE: LazyLock<Regex> = LazyLock::new(|| {
        regex(
            r"\b(?:torch\.(?:bfloat16|float16|float32|float64|half|float|double|int8|int16|int32|int64|uint8|bool|complex64|complex128)|DT_[A-Z0-9]{3,10}|ACL_(?:FLOAT|BF|INT|UINT)[A-Z0-9]{0,4}|bfloat16|float16|float32|bf16|fp16|fp32|fp8|int8)\b",
        )
    });
    texts(&DTYPE, text)
}

/// What an expression finds, each once, in order.
fn texts(expression: &Regex, text: &str) -> Vec<String> {
    let mut all: Vec<String> = Vec::new();
    for found in expression.find_iter(text) {
        let one = found.as_str().to_owned();
        if !all.contains(&one) {
            all.push(one);
        }
        if all.len() == MOST {
            break;
        }
    }
    all
}

fn regex(pattern: &str) -> Regex {
    Regex::new(pattern).expect("the pattern is a constant that a test compiles")
}
