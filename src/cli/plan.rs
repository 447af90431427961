//! `fix plan <issue>… -o FILE`: a repair, written down for review.

use std::ffi::OsString;
use std::path::Path;

use anyhow::{Result, bail};

use super::apply::{examine_all, non_empty, repair_with, show, write_patch};
use super::args::Plan as Args;
use super::output;
use super::reading::{Asking, Reader, Stages, origin_of};
use super::session::Session;
use super::{convert, hints, planfile, selecting};
use crate::diagnosis::{Confidence, Origin};
use crate::recipe::Applicability;
use crate::recipe::catalogue::{Catalogue, Entry};
use crate::report::{self, Outcome, PlanResult};

/// Plans issues; returns 0 when a plan was written, 1 when it would change something and was only shown.
pub fn run(args: &Args, session: &Session) -> Result<u8> {
    let catalogue = Catalogue::embedded();
    let entries = if args.issues.is_empty() {
        of_logs(session, &catalogue, non_empty(&args.cmd))?
    } else {
        selecting::entries(&catalogue, &args.issues)?
    };
    let found = examine_all(session, &entries, non_empty(&args.cmd), None)?;
    let to_stdout = args.output.as_deref() == Some(Path::new("-"));
    if !to_stdout {
        show(session, &found, &|finding| match &args.output {
            Some(path) => hints::again(
                session,
                &format!("fix apply --plan {}", shell_words::quote(&path.to_string_lossy())),
                &[],
                &[],
            ),
            None => repair_with(session, finding, non_empty(&args.cmd)),
        });
    }
    write_patch(session, found.iter().filter_map(|one| one.plan.as_ref().ok()))?;
    let mut result = PlanResult {
        outcome: Outcome::NothingToDo,
        exit_code: 0,
        file: None,
        digest: None,
        repairs: Vec::new(),
        refused: Vec::new(),
    };
    let mut planned = Vec::new();
    for one in found.iter().filter(|one| one.finding.confidence != Confidence::Refuted) {
        match &one.plan {
            Ok(plan) if plan.acts() && plan.applicability > Applicability::Manual => planned.push((&one.finding, plan)),
            Ok(plan) => result.repairs.push(convert::repair(plan, Outcome::NotRepaired, &[])),
            Err(refusal) => result.refused.push(refusal.clone()),
        }
    }
    result.repairs.extend(planned.iter().map(|(_, plan)| convert::repair(plan, Outcome::Planned, &[])));
    (result.outcome, result.exit_code) = match (&args.output, planned.is_empty()) {
        _ if !result.refused.is_empty() => (Outcome::Refused, 1),
        (_, true) if result.repairs.is_empty() => (Outcome::NothingToDo, 0),
        (_, true) => (Outcome::NotRepaired, 1),
        (None, false) => (Outcome::WouldChange, 1),
        (Some(_), false) if session.common.dry_run && !to_stdout => (Outcome::WouldChange, 1),
        (Some(path), false) => {
            result.digest = Some(planfile::write(session, path, &planned, &args.cmd)?);
            result.file = Some(path.display().to_string());
            (Outcome::Planned, 0)
        }
    };
    if to_stdout {
        return Ok(result.exit_code);
    }
    if session.common.json {
        output::hand_out(report::json::render(&result).as_bytes());
    } else if !session.common.quiet {
        output::show(&report::text::render_plan(&result, &session.text_style()));
    }
    Ok(result.exit_code)
}

/// Finds the issue that the named logs tell, where the user names none: the one that can be planned, else all of them,
/// so that each can say why it is not.
fn of_logs<'c>(session: &Session, catalogue: &'c Catalogue, command: Option<&[OsString]>) -> Result<Vec<&'c Entry>> {
    let logs: Vec<&Path> = session.common.log.iter().map(AsRef::as_ref).collect();
    if logs.is_empty() {
        bail!("which issue?\nhint: name one, or give the log with `--log FILE`; `fix list` lists the issues");
    }
    if logs.contains(&Path::new("-")) {
        bail!("which issue? standard input is read once only\nhint: name the issue, or give the log as a file");
    }
    selecting::check_set_of_any(session, catalogue)?;
    let reader = Reader::new(catalogue.entries().iter().collect());
    let reading = reader.read_named(session, logs.iter().copied(), Stages::Unasked)?;
    let origin = match command {
        None => origin_of(session, &reading, &logs, &[]),
        Some(_) if session.common.log_only => Origin::Elsewhere,
        Some(_) => Origin::ThisMachine,
    };
    let asking = Asking { host: session.host(), origin, command };
    let findings = reader.diagnose(&reading, &asking, session)?;
    let standing: Vec<_> = findings.iter().filter(|finding| finding.confidence != Confidence::Refuted).collect();
    let can_be_planned: Vec<_> =
        standing.iter().copied().filter(|finding| finding.applicability > Applicability::Manual).collect();
    let chosen = if can_be_planned.is_empty() { &standing } else { &can_be_planned };
    if let [_, _, ..] = can_be_planned.as_slice() {
        let ids: Vec<&str> = chosen.iter().map(|finding| finding.recipe.id.as_str()).collect();
        bail!("the log tells of several issues: {}\nhint: name one of them", ids.join(", "));
    }
    if chosen.is_empty() {
        session.say(&Outcome::NoMatch.sentence());
    }
    Ok(chosen.iter().filter_map(|finding| catalogue.by_id(&finding.recipe.id)).collect())
}
