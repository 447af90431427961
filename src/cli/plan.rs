//! `fix plan <issue>… -o FILE`: a repair, written down for review.

use std::path::Path;

use anyhow::Result;

use super::apply::{examine_all, non_empty, show, write_patch};
use super::args::Plan as Args;
use super::output;
use super::session::Session;
use super::{convert, planfile, selecting};
use crate::diagnosis::Confidence;
use crate::recipe::Applicability;
use crate::recipe::catalogue::Catalogue;
use crate::report::{self, Outcome, PlanResult};

/// Plans issues; returns 0 when a plan was written, 1 when it would change something and was only shown.
pub fn run(args: &Args, session: &Session) -> Result<u8> {
    let catalogue = Catalogue::embedded();
    let entries = selecting::entries(&catalogue, &args.issues)?;
    let found = examine_all(session, &entries, non_empty(&args.cmd), None)?;
    let to_stdout = args.output.as_deref() == Some(Path::new("-"));
    if !to_stdout {
        show(session, &found);
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
