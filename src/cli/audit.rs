//! `fix audit [DIR]`: known issues that show without a log. Writes nothing of the user's, runs nothing of the project.

use anyhow::Result;

use super::apply::write_patch;
use super::args::{Audit, Format};
use super::placing::{Placer, leaves_the_machine, needs_anchor};
use super::policy_file;
use super::reading::recipe_of;
use super::session::Session;
use super::{convert, output, showing, writing};
use crate::diagnosis::{self, Finding, rank};
use crate::diff::render_for_screen;
use crate::evidence::Remembering;
use crate::plan::{self, Plan, PlanError, Surroundings};
use crate::policy::{FailOn, Policy, Sifted};
use crate::recipe::Text;
use crate::recipe::catalogue::{Catalogue, Entry};
use crate::report::{self, Diagnosis, Outcome};

/// Audits a folder; returns 1 when a finding is as sure as `--fail-on` says.
pub fn run(args: &Audit, session: &Session) -> Result<u8> {
    let catalogue = Catalogue::embedded();
    let format = args.reporting.format(session)?;
    let policy = policy_file::policy(args, session, &catalogue)?;
    let baseline = policy_file::baseline(args, session, &policy)?;
    let host = Remembering::new(session.host());
    let mut findings: Vec<Finding> = Vec::new();
    for entry in catalogue.entries().iter().filter(|entry| entry.audits && policy.wants(&names(entry))) {
        findings.extend(diagnosis::audit(&recipe_of(entry)?, &host));
    }
    let findings = rank(findings);
    let roots = session.roots().ok();
    let plans: Vec<Option<Result<Plan, PlanError>>> = findings
        .iter()
        .map(|finding| {
            let roots = roots.as_ref()?;
            Some(plan::build(finding, &Surroundings { host: &host, command: None, roots, evaluate: None }))
        })
        .collect();
    let placer = Placer::new(&host);
    let shown = findings.iter().zip(&plans).enumerate().map(|(at, (finding, plan))| {
        let plan = plan.as_ref().map(Result::as_ref);
        let mut shown = convert::finding_with(finding, at + 1, plan);
        placer.place(finding, plan.and_then(Result::ok), &mut shown);
        placer.anchor(finding, &mut shown);
        if leaves_the_machine(format) {
            placer.shorten(&mut shown);
        }
        shown
    });
    let names_of = |id: &str| catalogue.by_id(id).map(names).unwrap_or_default();
    let Sifted { findings, suppressed, expired, unused } =
        policy.sift(shown.collect(), &names_of, baseline.as_ref(), policy_file::today());
    tell_policy(session, &policy, &expired, &unused);
    let mut diagnosis = Diagnosis {
        outcome: if findings.is_empty() { Outcome::Clean } else { Outcome::Found },
        findings,
        unmatched: None,
        suppressed,
    };
    let kept: Vec<Option<&Plan>> = diagnosis
        .findings
        .iter()
        .map(|finding| plans[finding.rank - 1].as_ref().and_then(|plan| plan.as_ref().ok()))
        .collect();
    for (at, finding) in diagnosis.findings.iter_mut().enumerate() {
        finding.rank = at + 1;
        if !needs_anchor(format) {
            finding.places.retain(|place| !place.anchor);
        }
    }
    write_patch(session, kept.iter().copied().flatten())?;
    if args.write_baseline {
        let count = policy_file::write_baseline(args, session, &policy, &diagnosis, baseline.as_ref())?;
        if session.common.dry_run {
            return Ok(1);
        }
        session.say(&Text::new(format!("the baseline holds {count} findings now"), format!("基线现有 {count} 项")));
        return Ok(0);
    }
    match format {
        Format::Text => {
            show(args, session, &diagnosis, &kept);
            writing::mention_unfinished(session);
        }
        Format::Json
        | Format::Jsonl
        | Format::Sarif
        | Format::Github
        | Format::Gitlab
        | Format::Junit
        | Format::Markdown => showing::hand_out(session, &diagnosis, format),
    }
    let fail_on = args.reporting.fail_on(format, policy.fail_on, FailOn::Likely);
    Ok(u8::from(showing::fails(&diagnosis, fail_on)))
}

fn names(entry: &Entry) -> Vec<String> {
    entry.names().map(str::to_owned).collect()
}

/// Shows findings as text, with `--diff` each with its repair.
fn show(args: &Audit, session: &Session, diagnosis: &Diagnosis, plans: &[Option<&Plan>]) {
    if !args.diff {
        output::show(&report::text::render_diagnosis(diagnosis, &session.text_style()));
        return;
    }
    for (finding, plan) in diagnosis.findings.iter().zip(plans) {
        let mut finding = finding.clone();
        // The plan is shown whole right below.
        finding.repair = Vec::new();
        let one =
            Diagnosis { findings: vec![finding], outcome: Outcome::Found, unmatched: None, suppressed: Vec::new() };
        output::show(&report::text::render_diagnosis(&one, &session.text_style()));
        if let Some(plan) = plan.filter(|plan| plan.acts()) {
            output::show(&render_for_screen(plan, session.lang(), &session.screen_style()));
        }
        output::show("\n");
    }
    let rest = Diagnosis { findings: Vec::new(), ..diagnosis.clone() };
    match (rest.outcome, rest.count_suppressed()) {
        (Outcome::Found, None) => {}
        (Outcome::Found, Some(counted)) => output::show(&format!("{}\n", counted.get(session.lang()))),
        (_, _) => output::show(&report::text::render_diagnosis(&rest, &session.text_style())),
    }
}

/// Tells what became of suppressions that do nothing: they are forgotten, or over.
fn tell_policy(session: &Session, policy: &Policy, expired: &[usize], unused: &[usize]) {
    for at in expired {
        let one = &policy.suppress[*at];
        let (place, id) = (&one.stands_at, &one.id);
        let day = one.expires.map(|day| day.to_string()).unwrap_or_default();
        session.say(&Text::new(
            format!("{place}: the suppression of `{id}` was over on {day}: what it hid is told again"),
            format!("{place}：对 `{id}` 的抑制已于 {day} 到期：相关问题会重新报告"),
        ));
    }
    for at in unused {
        let one = &policy.suppress[*at];
        let (place, id) = (&one.stands_at, &one.id);
        session.say(&Text::new(
            format!("{place}: the suppression of `{id}` hides nothing here"),
            format!("{place}：对 `{id}` 的抑制在此没有作用"),
        ));
    }
}
