//! `fix diagnose [LOG…|-]`: what is wrong and why, ranked. Writes nothing.

use std::path::{Path, PathBuf};

use anyhow::{Result, bail};

use super::args::Diagnose;
use super::output;
use super::reading::{Asking, Reader, origin_of};
use super::session::Session;
use super::{convert, selecting, writing};
use crate::diagnosis::{Confidence, Origin, Resemblance, nearest};
use crate::evidence::leftovers;
use crate::plan::{self, Surroundings};
use crate::recipe::catalogue::Catalogue;
use crate::recipe::{Role, Text};
use crate::report::{self, Nearest, Outcome, Unmatched};

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
    let reading = reader.read_named(session, logs.iter().copied())?;
    let origin = origin_of(session, &reading, &logs, &checked);
    let asking = Asking { host: session.host(), origin, command: None };
    let findings = reader.diagnose(&reading, &asking, session)?;
    let roots = session.roots();
    let shown: Vec<report::Finding> = findings
        .iter()
        .enumerate()
        .map(|(at, finding)| {
            // Of a log from elsewhere, nothing can be planned here.
            let plan = roots.as_ref().ok().filter(|_| origin == Origin::ThisMachine).and_then(|roots| {
                plan::build(finding, &Surroundings { host: session.host(), command: None, roots }).ok()
            });
            convert::finding(finding, at + 1, plan.as_ref())
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
    let unmatched = (outcome == Outcome::NoMatch).then(|| {
        let nearest = resembling(&catalogue, &telling);
        Unmatched { telling, nearest }
    });
    let diagnosis = report::Diagnosis { findings: shown, outcome, unmatched };
    if session.common.json {
        output::hand_out(report::json::render(&diagnosis).as_bytes());
    } else {
        output::show(&report::text::render_diagnosis(&diagnosis, &session.text_style()));
        writing::mention_unfinished(session);
    }
    Ok(u8::from(standing))
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
