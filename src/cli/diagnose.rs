//! `fix diagnose [LOG…|-]`: what is wrong and why, ranked. Writes nothing.

use std::path::{Path, PathBuf};

use anyhow::{Result, bail};

use super::args::{Diagnose, Format};
use super::placing::Placer;
use super::reading::{Asking, Reader, Stages, mention_not_asked, origin_of};
use super::session::{Session, for_screen};
use super::{convert, hints, output, selecting, showing, writing};
use crate::diagnosis::{Confidence, Resemblance, nearest};
use crate::evidence::leftovers;
use crate::evidence::log::LogScan;
use crate::plan::{self, Surroundings};
use crate::policy::FailOn;
use crate::recipe::catalogue::Catalogue;
use crate::recipe::{Role, Text, codes};
use crate::report::{self, Nearest, Outcome, Unmatched, words};

/// Diagnoses logs; returns 1 when something stands that the machine does not refute.
pub fn run(args: &Diagnose, session: &Session) -> Result<u8> {
    let catalogue = match &args.recipes {
        None => Catalogue::embedded(),
        Some(folder) => Catalogue::embedded().with_folder(session.resolve(folder).as_path(), session.vocabulary())?,
    };
    let checked = selecting::check_set_of_any(session, &catalogue)?;
    let reader = Reader::new(catalogue.entries().iter().collect());
    let named: Vec<PathBuf> = args.logs.iter().chain(&session.common.log).cloned().collect();
    let named = if named.is_empty() { on_disk(session)? } else { named };
    let logs: Vec<&Path> = named.iter().map(AsRef::as_ref).collect();
    let reading = reader.read_named(session, logs.iter().copied(), Stages::Unasked)?;
    let origin = origin_of(session, &reading, &logs, &checked);
    let asking = Asking { host: session.host(), origin, command: None };
    let findings = reader.diagnose(&reading, &asking, session)?;
    let roots = session.roots();
    let format = args.reporting.format(session)?;
    let placer = Placer::new(session.host());
    let shown: Vec<report::Finding> = findings
        .iter()
        .enumerate()
        .map(|(at, finding)| {
            // Of a log from elsewhere, nothing can be planned here.
            let plan = roots.as_ref().ok().filter(|_| finding.asked).map(|roots| {
                plan::build(finding, &Surroundings { host: session.host(), command: None, roots, evaluate: None })
            });
            let plan = plan.as_ref().map(Result::as_ref);
            let mut shown = convert::finding_with(finding, at + 1, plan);
            placer.place(finding, plan.and_then(Result::ok), &mut shown);
            match format {
                Format::Text | Format::Json => {}
                Format::Jsonl | Format::Sarif | Format::Github | Format::Gitlab | Format::Junit | Format::Markdown => {
                    placer.anchor(finding, &mut shown)
                }
            }
            // Which cause it is, the log tells as well: the repair needs to see it.
            shown.apply_with = hints::again(session, &shown.apply_with, &logs, &[]);
            shown
        })
        .collect();
    let standing = findings.iter().any(|finding| finding.confidence != Confidence::Refuted);
    let telling = convert::telling(&reading.logs);
    let nothing_failed = telling.is_empty() || reading.logs.iter().all(|log| log.telling.is_empty());
    let outcome = match (standing, nothing_failed) {
        (true, _) => Outcome::Found,
        (false, true) => Outcome::NothingWrong,
        (false, false) => Outcome::NoMatch,
    };
    let unmatched = (outcome == Outcome::NoMatch).then(|| Unmatched {
        nearest: resembling(&catalogue, &telling),
        telling,
        report_with: report_with(&logs),
    });
    let diagnosis = report::Diagnosis { findings: shown, outcome, unmatched, suppressed: Vec::new() };
    if session.common.quiet && format == Format::Text {
        for finding in &diagnosis.findings {
            output::show(&for_screen(&format!("{}  {}\n", finding.id, finding.title.get(session.lang()))));
        }
    } else {
        showing::hand_out(session, &diagnosis, format);
    }
    if format == Format::Text && !session.common.quiet {
        for (id, title) in codes_in(&diagnosis) {
            session.say(&Text { en: words::code_in_log(&id, &title.en).en, zh: words::code_in_log(&id, &title.zh).zh });
        }
        if session.common.verbose > 0 {
            for log in &reading.logs {
                tell_what_was_read(session, log);
            }
        }
        if !findings.is_empty() {
            mention_not_asked(session, origin, &findings);
        }
        writing::mention_unfinished(session);
    }
    let fail_on = args.reporting.fail_on(format, None, FailOn::Possible);
    Ok(u8::from(showing::fails(&diagnosis, fail_on)))
}

/// How much of a log there was, and how many places of it any recipe's words match, counted or vetoed.
fn tell_what_was_read(session: &Session, log: &LogScan) {
    let (name, places): (_, u64) = (&log.source, log.totals.values().sum());
    let name = if name == "-" { "standard input" } else { name };
    session.say(&Text::new(
        format!("read {name}: {} lines, {} bytes, {places} places that match", log.lines, log.bytes),
        format!(
            "已读取 {}：{} 行，{} 字节，{places} 处匹配",
            name.replace("standard input", "标准输入"),
            log.lines,
            log.bytes
        ),
    ));
}

/// The logs that tools left on disk, where the user names none; says which.
fn on_disk(session: &Session) -> Result<Vec<PathBuf>> {
    let found: Vec<PathBuf> =
        leftovers::find(session.host()).into_iter().map(|leftover| leftover.path.as_path().to_owned()).collect();
    if found.is_empty() {
        bail!(
            "which log? name files, or `-` for standard input; no tool left one here\n\
             hint: cmake -B build 2>&1 | fix diagnose -"
        );
    }
    for path in &found {
        session.say(&Text::new(format!("reading {}", path.display()), format!("读取 {}", path.display())));
    }
    Ok(found)
}

/// The command that writes a report of logs.
fn report_with(logs: &[&Path]) -> String {
    let words: Vec<String> = logs.iter().map(|log| log.to_string_lossy().into_owned()).collect();
    let piped = if logs.contains(&Path::new("-")) { "… | " } else { "" };
    format!("{piped}fix report {}", shell_words::join(words))
}

/// What there is to go by when nothing known matches what a command printed.
pub fn unmatched(catalogue: &Catalogue, logs: &[LogScan], command: &[String]) -> Unmatched {
    let telling = convert::telling(logs);
    let report_with = format!("fix report -- {}", shell_words::join(command));
    Unmatched { nearest: resembling(catalogue, &telling), telling, report_with }
}

/// The recipes that resemble what nobody explains.
fn resembling(catalogue: &Catalogue, telling: &[report::Evidence]) -> Vec<Nearest> {
    let recipes: Vec<Resemblance<'_>> = catalogue
        .entries()
        .iter()
        .map(|entry| {
            let expressions = entry.signatures.iter().filter(|signature| signature.role != Role::Veto);
            let expressions = expressions.flat_map(|signature| signature.any.iter().map(|any| &*any.regex));
            let texts = [&*entry.title_en, &*entry.title_zh].into_iter().chain(expressions).collect();
            Resemblance { id: &entry.id, texts }
        })
        .collect();
    let lines: Vec<&str> = telling.iter().map(|line| line.text.as_str()).collect();
    nearest(&lines, &recipes)
        .into_iter()
        .filter_map(|id| catalogue.by_id(id))
        .map(|entry| Nearest { id: entry.id.to_string(), title: Text::new(&*entry.title_en, &*entry.title_zh) })
        .collect()
}

/// The error codes that stand in the lines of a diagnosis, in order, with their titles.
fn codes_in(diagnosis: &report::Diagnosis) -> Vec<(String, Text)> {
    let of_findings = diagnosis.findings.iter().flat_map(|finding| &finding.evidence);
    let of_nobody = diagnosis.unmatched.iter().flat_map(|unmatched| &unmatched.telling);
    let mut all: Vec<(String, Text)> = Vec::new();
    for line in of_findings.chain(of_nobody) {
        for word in line.text.split(|c: char| !c.is_ascii_alphanumeric()) {
            if codes::looks_like_code(word)
                && !all.iter().any(|(id, _)| id == word)
                && let Some(code) = codes::find(word)
            {
                all.push((word.to_owned(), code.title));
            }
        }
    }
    all
}
