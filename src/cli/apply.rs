//! `fix <issue>… [-- CMD]`: diagnose these issues here, show the diff, ask, apply, verify.

use std::ffi::OsString;
use std::path::Path;
use std::time::Duration;

use anyhow::Result;

use super::args::Apply;
use super::reading::{Asking, Reader, Reading, origin_of, recipe_of};
use super::repair::{
    Build, Carried, Judgement, Permission, Timeout, carry_out, checks, judge, permission,
};
use super::session::Session;
use super::{planfile, selecting, showing, writing};
use crate::change::EnvOverlay;
use crate::diagnosis::{Confidence, Finding, Origin, examine};
use crate::plan::{self, Plan, Surroundings};
use crate::recipe::{Applicability, Entry, Stage, Text, Values};
use crate::report::RepairReport;

/// Exit status: nothing wrong, nothing to do, or repaired and verified.
const DONE: u8 = 0;
/// Exit status: findings, declined, refused, or not proved.
const NOT_DONE: u8 = 1;
/// Exit status: an undo did not complete.
const ATTENTION: u8 = 2;

/// One issue that was found here, with its plan.
pub struct Found {
    pub finding: Finding,
    pub plan: Plan,
    pub reading: Reading,
}

/// Applies issues, or a reviewed plan; returns the exit status.
pub fn run(args: &Apply, session: &Session) -> Result<u8> {
    if let Some(path) = &args.plan {
        let reviewed = planfile::read(session, path)?;
        return planfile::apply(session, &reviewed, |found, command| carry(session, args, found, command));
    }
    let entries = selecting::entries(&args.issues)?;
    let found = look(session, &entries, non_empty(&args.cmd), &session.set_for(&entries)?)?;
    carry(session, args, found, non_empty(&args.cmd))
}

fn non_empty(command: &[OsString]) -> Option<&[OsString]> {
    (!command.is_empty()).then_some(command)
}

/// Examines issues on this machine; says which are not found.
pub fn look(
    session: &Session,
    entries: &[&'static Entry],
    command: Option<&[OsString]>,
    set: &Values,
) -> Result<Vec<Found>> {
    let reader = Reader::new(entries.to_vec());
    let logs: Vec<&Path> = session.common.log.iter().map(AsRef::as_ref).collect();
    let reading = reader.read_named(session, logs.iter().copied())?;
    let origin = if session.common.log_only { Origin::Elsewhere } else { Origin::ThisMachine };
    // A log given by name with a command to repair is of this machine unless the user says otherwise; with no
    // command it must speak of this project.
    let origin = match (origin, logs.is_empty(), command) {
        (Origin::ThisMachine, false, None) => origin_of(session, &reading, &logs),
        (origin, _, _) => origin,
    };
    let roots = session.roots()?;
    let asking = Asking { host: session.host(), origin, command };
    let mut found = Vec::new();
    for entry in entries {
        let recipe = recipe_of(entry, session)?;
        let set: Values = set
            .iter()
            .filter(|(name, _)| recipe.params.iter().any(|param| param.name == **name))
            .map(|(name, value)| (name.clone(), value.clone()))
            .collect();
        let Some(finding) = examine(&recipe, &reader.evidence(&reading, &asking, &set)) else {
            showing::not_found(session, &recipe);
            continue;
        };
        let surroundings = Surroundings { host: session.host(), command, roots: &roots };
        match plan::build(&finding, &surroundings) {
            Ok(plan) => found.push(Found { finding, plan, reading: reading.clone() }),
            Err(error) => return Err(showing::plan_failure(&error)),
        }
    }
    Ok(found)
}

/// Shows, asks, applies and verifies.
fn carry(session: &Session, args: &Apply, found: Vec<Found>, command: Option<&[OsString]>) -> Result<u8> {
    let mut report = Vec::new();
    for one in &found {
        showing::finding_and_plan(session, &one.finding, &one.plan)?;
    }
    showing::patch(session, found.iter().map(|one| &one.plan))?;
    let standing: Vec<&Found> =
        found.iter().filter(|one| one.finding.confidence != Confidence::Refuted).collect();
    if standing.is_empty() {
        showing::repairs(session, "nothing_to_do", &report)?;
        return Ok(DONE);
    }
    let acting: Vec<&Found> = standing
        .iter()
        .copied()
        .filter(|one| one.plan.acts() && one.plan.applicability > Applicability::Manual)
        .collect();
    if acting.is_empty() {
        report.extend(standing.iter().map(|one| RepairReport::advice(&one.plan)));
        showing::repairs(session, "advice", &report)?;
        return Ok(NOT_DONE);
    }
    let plans: Vec<Plan> = acting.iter().map(|one| one.plan.clone()).collect();
    if session.common.dry_run {
        session.say(&Text::new("dry run: nothing was changed", "试运行：未作任何改动"));
        report.extend(plans.iter().map(RepairReport::dry_run));
        showing::repairs(session, "would_change", &report)?;
        return Ok(NOT_DONE);
    }
    for plan in &plans {
        let why = match permission(session, plan)? {
            Permission::Granted => continue,
            Permission::Declined => Text::new("declined: nothing was changed", "已拒绝：未作任何改动"),
            Permission::Withheld(why) => why,
        };
        session.say(&why);
        report.push(RepairReport::withheld(plan, &why));
        showing::repairs(session, "not_applied", &report)?;
        return Ok(NOT_DONE);
    }
    let carried = apply(session, args, &acting, &plans, command)?;
    for plan in &plans {
        showing::carried(session, plan, &carried);
        report.push(RepairReport::of(plan, &carried));
    }
    let (word, code) = match &carried {
        Carried::Kept(Judgement::Repaired) => ("repaired", DONE),
        Carried::Kept(_) => ("repaired_but_failing", NOT_DONE),
        Carried::Undone(_) => ("rolled_back", NOT_DONE),
        Carried::NeedsAttention { .. } => ("needs_attention", ATTENTION),
    };
    if code == DONE && command.is_none() {
        showing::next_command(session, &plans);
    }
    showing::repairs(session, word, &report)?;
    Ok(code)
}

fn apply(
    session: &Session,
    args: &Apply,
    acting: &[&Found],
    plans: &[Plan],
    command: Option<&[OsString]>,
) -> Result<Carried> {
    let mut overlay = EnvOverlay::default();
    plans.iter().for_each(|plan| overlay.extend(&plan.overlay));
    let host = session.host_with(&overlay);
    let findings: Vec<&Finding> = acting.iter().map(|one| &one.finding).collect();
    let fingerprints: Vec<String> = findings.iter().map(|finding| finding.fingerprint()).collect();
    let before = acting.iter().filter(|one| !one.reading.logs.is_empty()).map(|one| one.reading.stage).max();
    let entries: Vec<&'static Entry> = crate::recipe::Catalogue::embedded().entries().collect();
    let reader = Reader::new(entries);
    let build =
        Build { reader: &reader, session, timeout: args.rerun.rerun_timeout.map(Duration::from_secs) };
    let root = &plans[0].root;
    writing::recover(session, root)?;
    let mut group = writing::group(session, root, command.unwrap_or_default())?;
    let rerun = command.and_then(|_| merged_rerun(plans));
    carry_out(session, &mut group, plans, &mut || {
        let at_once = checks(&findings, &host, command, Stage::Static);
        if at_once.iter().any(|checked| !checked.holds) {
            return showing::first_failure(&at_once);
        }
        let Some(rerun) = &rerun else { return Judgement::Repaired };
        showing::rerun(session, rerun);
        let mut attempt = match build.run(rerun, &overlay, Timeout::OfReruns) {
            Ok(attempt) => attempt,
            Err(error) => return Judgement::NotProved(Text::new(error.to_string(), error.to_string())),
        };
        if !attempt.passed()
            && let Err(error) = build.diagnose(&mut attempt, rerun, &overlay)
        {
            return Judgement::NotProved(Text::new(error.to_string(), error.to_string()));
        }
        let after = checks(&findings, &host, command, Stage::Rerun);
        judge(&attempt, &fingerprints, &after, before)
    })
}

/// The command with what every plan adds to it.
fn merged_rerun(plans: &[Plan]) -> Option<plan::Rerun> {
    let mut plans = plans.iter().filter_map(|plan| plan.rerun.clone());
    let mut all = plans.next()?;
    for other in plans {
        for word in other.argv {
            if !all.argv.contains(&word) {
                all.argv.push(word);
            }
        }
    }
    Some(all)
}
