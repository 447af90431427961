//! What a CI system is told of a `fix run`, and what is kept for it.

use anyhow::Result;

use super::ci::{Ci, channel};
use super::placing::Placer;
use super::report_dir::ReportDir;
use super::session::Session;
use super::showing;
use crate::diagnosis::Finding;
use crate::recipe::Text;
use crate::report::{self, Diagnosis, Outcome, RunResult, github, markdown};
use crate::transaction;

/// Keeps the diagnosis, the result and the journal of a run.
pub fn keep(session: &Session, dir: &ReportDir, result: &RunResult, group: Option<&str>) -> Result<()> {
    let journals = match (group, session.state()) {
        (Some(group), Ok(state)) => transaction::journals(&state, group),
        (None, _) | (_, Err(_)) => Vec::new(),
    };
    dir.close(&remaining(result), result, &journals)
}

/// Tells the runner of GitHub Actions what is still wrong, as annotations, and adds to the step's summary.
pub fn tell_runner(session: &Session, result: &RunResult, findings: &[Finding], placer: &Placer<'_>) {
    if Ci::here(session) != Some(Ci::Github) || (result.remaining.is_empty() && result.repairs.is_empty()) {
        return;
    }
    let mut diagnosis = remaining(result);
    for (shown, finding) in diagnosis.findings.iter_mut().zip(findings) {
        placer.anchor(finding, shown);
    }
    let lang = session.lang();
    let annotations = github::render(&diagnosis, lang);
    channel(&annotations.text);
    let mut summary = format!("### fix: {}\n\n", markdown::escape(result.sentence().get(lang)));
    for repair in &result.repairs {
        let line = format!("{}: {} – {}", repair.id, repair.title.get(lang), repair.outcome.sentence().get(lang));
        summary.push_str(&format!("- {}\n", markdown::escape(&line)));
    }
    if let Some(group) = &result.group {
        let back =
            Text::new(format!("take it back with `fix rollback {group}`"), format!("用 `fix rollback {group}` 撤回"));
        summary.push_str(&format!("- {}\n", markdown::escape(back.get(lang))));
    }
    if !diagnosis.findings.is_empty() {
        summary.push_str(&format!("\n{}", markdown::render(&diagnosis, lang)));
    }
    showing::step_summary(session, &summary);
}

/// What is still wrong, as `fix diagnose` tells it.
fn remaining(result: &RunResult) -> Diagnosis {
    let outcome = match (result.remaining.is_empty(), result.outcome) {
        (false, _) => Outcome::Found,
        (true, Outcome::Passed | Outcome::Repaired) => Outcome::NothingWrong,
        (true, _) => Outcome::NoMatch,
    };
    Diagnosis {
        findings: result.remaining.clone(),
        outcome,
        unmatched: result.unmatched.clone(),
        suppressed: Vec::<report::Suppressed>::new(),
    }
}
