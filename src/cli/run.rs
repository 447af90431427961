//! `fix run -- CMD`: run it; when it fails, diagnose, repair and run it again, until it passes or nothing helps.

use std::collections::BTreeSet;
use std::time::Duration;

use anyhow::Result;

use super::args::Run;
use super::reading::Reader;
use super::repair::{
    Attempt, Build, Carried, Judgement, Permission, Timeout, carry_out, checks, judge, permission,
};
use super::session::Session;
use super::{showing, writing};
use crate::change::EnvOverlay;
use crate::diagnosis::{Confidence, Finding};
use crate::os::process::{self, SpawnError};
use crate::plan::{self, Plan, Rerun, Surroundings};
use crate::recipe::{Applicability, Catalogue, Stage, Text};
use crate::report::{RepairReport, RunReport};
use crate::transaction::Group;

/// Status when `fix` itself failed, as `env` and `timeout` have it.
const OWN_FAILURE: u8 = 125;

/// Runs the command and repairs what it can; returns the status of the last run of the command.
pub fn run(args: &Run, session: &Session) -> u8 {
    match try_run(args, session) {
        Ok(status) => status,
        Err(error) => {
            session.fail(&error);
            OWN_FAILURE
        }
    }
}

fn try_run(args: &Run, session: &Session) -> Result<u8> {
    let catalogue = Catalogue::embedded();
    let reader = Reader::new(catalogue.entries().collect());
    let rerun = Rerun { argv: args.cmd.clone(), cwd: session.project().clone() };
    let timeout = args.rerun.rerun_timeout.map(Duration::from_secs);
    let build = Build { reader: &reader, session, timeout };
    let mut attempt = match build.run(&rerun, &EnvOverlay::default(), Timeout::None) {
        Ok(attempt) => attempt,
        Err(error) => return Ok(not_started(session, &error)),
    };
    if (attempt.passed() && !args.check_success) || attempt.ended.interrupted.is_some() {
        return Ok(status_of(&attempt));
    }
    build.diagnose(&mut attempt, &rerun, &EnvOverlay::default())?;
    let mut course = Course {
        session,
        build,
        rerun,
        overlay: EnvOverlay::default(),
        tried: BTreeSet::new(),
        report: RunReport::default(),
        group: None,
    };
    let last = course.follow(attempt, args.max_repairs)?;
    course.close(&last)
}

fn not_started(session: &Session, error: &SpawnError) -> u8 {
    session.warn(&Text::new(error.to_string(), error.to_string()));
    status(error.shell_code())
}

fn status(code: i32) -> u8 {
    u8::try_from(code).unwrap_or(u8::MAX)
}

fn status_of(attempt: &Attempt) -> u8 {
    status(attempt.ended.shell_code())
}

/// The repairs of one `fix run`, one after the other.
struct Course<'a> {
    session: &'a Session,
    build: Build<'a>,
    rerun: Rerun,
    /// What the kept repairs say of the environment.
    overlay: EnvOverlay,
    /// Fingerprints of failures whose repair was tried.
    tried: BTreeSet<String>,
    report: RunReport,
    group: Option<Group>,
}

/// What to do about a failure.
enum Choice {
    Repair(Box<Finding>, Box<Plan>),
    Nothing,
}

impl Course<'_> {
    /// Repairs and re-runs until the command passes or nothing helps; returns the last attempt.
    fn follow(&mut self, mut attempt: Attempt, most: u32) -> Result<Attempt> {
        for _ in 0..most {
            let Choice::Repair(finding, plan) = self.choose(&attempt)? else { break };
            self.tried.insert(finding.fingerprint());
            showing::plan(self.session, &plan, showing::Stream::Stderr)?;
            if let Some(why) = self.cannot_act(&plan)? {
                self.session.say(&why);
                self.report.repairs.push(RepairReport::withheld(&plan, &why));
                break;
            }
            match self.attempt_repair(&finding, &plan, attempt)? {
                Next::Passed(passed) => return Ok(passed),
                Next::GoOn(newest) => attempt = newest,
                Next::Stop(newest) => return Ok(newest),
            }
        }
        Ok(attempt)
    }

    /// Takes the best finding that has a repair and was not tried for this failure.
    fn choose(&self, attempt: &Attempt) -> Result<Choice> {
        let roots = self.session.roots()?;
        let host = self.session.host_with(&self.overlay);
        let surroundings = Surroundings { host: &host, command: Some(&self.rerun.argv), roots: &roots };
        for finding in &attempt.findings {
            if finding.confidence == Confidence::Refuted || self.tried.contains(&finding.fingerprint()) {
                continue;
            }
            match plan::build(finding, &surroundings) {
                Ok(plan) if plan.acts() && plan.applicability > Applicability::Manual => {
                    return Ok(Choice::Repair(Box::new(finding.clone()), Box::new(plan)));
                }
                Ok(_) => {}
                Err(error) => self.session.warn(&showing::plan_error(&error)),
            }
        }
        Ok(Choice::Nothing)
    }

    /// Why a plan is not carried out here, if so.
    fn cannot_act(&self, plan: &Plan) -> Result<Option<Text>> {
        if self.session.common.dry_run {
            return Ok(Some(Text::new("dry run: nothing was changed", "试运行：未作任何改动")));
        }
        if !process::stdin_can_be_read_again() {
            let id = &plan.recipe;
            return Ok(Some(Text::new(
                format!("standard input cannot be read twice, so that CMD is not run again; to repair: `fix {id} -- CMD`"),
                format!("标准输入无法重复读取，因此不会重跑 CMD；修复请用：`fix {id} -- CMD`"),
            )));
        }
        Ok(match permission(self.session, plan)? {
            Permission::Granted => None,
            Permission::Declined => Some(Text::new("declined: nothing was changed", "已拒绝：未作任何改动")),
            Permission::Withheld(why) => Some(why),
        })
    }

    /// Carries out one repair and re-runs the command as its proof.
    fn attempt_repair(&mut self, finding: &Finding, plan: &Plan, before: Attempt) -> Result<Next> {
        writing::recover(self.session, &plan.root)?;
        let mut group = match self.group.take() {
            Some(group) => group,
            None => writing::group(self.session, &plan.root, &self.rerun.argv)?,
        };
        let mut overlay = self.overlay.clone();
        overlay.extend(&plan.overlay);
        let rerun = plan.rerun.clone().unwrap_or_else(|| self.rerun.clone());
        let host = self.session.host_with(&overlay);
        let fingerprints: Vec<String> = self.tried.iter().cloned().collect();
        let mut newest: Option<Attempt> = None;
        let mut broken: Option<anyhow::Error> = None;
        let (build, session) = (&self.build, self.session);
        let carried = carry_out(session, &mut group, std::slice::from_ref(plan), &mut || {
            let at_once = checks(&[finding], &host, Some(&rerun.argv), Stage::Static);
            if at_once.iter().any(|checked| !checked.holds) {
                return showing::first_failure(&at_once);
            }
            showing::rerun(session, &rerun);
            let mut attempt = match build.run(&rerun, &overlay, Timeout::OfReruns) {
                Ok(attempt) => attempt,
                Err(error) => return Judgement::NotProved(Text::new(error.to_string(), error.to_string())),
            };
            if !attempt.passed()
                && let Err(error) = build.diagnose(&mut attempt, &rerun, &overlay)
            {
                broken = Some(error);
            }
            let after = checks(&[finding], &host, Some(&rerun.argv), Stage::Rerun);
            let judgement = judge(&attempt, &fingerprints, &after, Some(before.reading.stage));
            newest = Some(attempt);
            judgement
        })?;
        self.group = Some(group);
        if let Some(error) = broken {
            self.session.fail(&error);
        }
        let interrupted = newest.as_ref().is_some_and(|attempt| attempt.ended.interrupted.is_some());
        let newest = newest.unwrap_or(before);
        self.report.repairs.push(RepairReport::of(plan, &carried));
        showing::carried(self.session, plan, &carried);
        Ok(match carried {
            Carried::Kept(Judgement::Repaired) => {
                self.overlay = overlay;
                Next::Passed(newest)
            }
            Carried::Kept(_) => {
                self.overlay = overlay;
                self.rerun = rerun;
                Next::GoOn(newest)
            }
            Carried::Undone(_) if interrupted => Next::Stop(newest),
            Carried::Undone(_) => Next::GoOn(newest),
            Carried::NeedsAttention { .. } => Next::Stop(newest),
        })
    }

    /// Says at the end what was changed, how to take it back, and what is still wrong.
    fn close(mut self, last: &Attempt) -> Result<u8> {
        let code = status_of(last);
        if code != 0 || self.report.repairs.is_empty() {
            showing::left_over(self.session, last)?;
        }
        self.report.group = self.group.as_ref().filter(|group| group.has_committed()).map(|group| group.id().to_owned());
        self.report.status = code;
        self.report.findings = last.findings.iter().map(showing::finding).collect();
        self.report.overlay = self.overlay.clone();
        showing::run_summary(self.session, &self.report)?;
        Ok(code)
    }
}

/// Where a repair leads.
enum Next {
    Passed(Attempt),
    GoOn(Attempt),
    Stop(Attempt),
}
