//! `fix run -- CMD`: run it; when it fails, diagnose, repair and run it again, until it passes or nothing helps.

use std::cell::RefCell;
use std::collections::BTreeSet;
use std::time::Duration;

use anyhow::Result;

use super::args::{Run, WorkflowCommands};
use super::ci::{Ci, Fence, grouped};
use super::output;
use super::placing::Placer;
use super::reading::Reader;
use super::repair::{
    Attempt, Build, Carried, Judgement, Permission, carry_out, checks, judge, judge_checks, permission, unmet, withheld,
};
use super::report_dir::ReportDir;
use super::run_end::{self, ending, not_started, status};
use super::script_environment::evaluate;
use super::session::{Session, for_screen};
use super::{Code, convert, diagnose, hints, run_report, selecting, writing};
use crate::change::{AbsPath, EnvOverlay};
use crate::diagnosis::{Confidence, Finding};
use crate::evidence::Host;
use crate::os::process::ReplayableStdin;
use crate::os::signals::Interrupts;
use crate::plan::{self, Plan, Rerun, Surroundings};
use crate::recipe::catalogue::Catalogue;
use crate::recipe::{Applicability, Stage, Text};
use crate::redact::{Profile, Redactor};
use crate::report::{self, Outcome, RefusalReason, RunLine, RunResult};
use crate::transaction::Group;

/// Runs the command and repairs what it can; ends as the last run of the command did.
pub fn run(args: &Run, session: &Session) -> Result<Code> {
    let catalogue = Catalogue::embedded();
    selecting::check_set_of_any(session, &catalogue)?;
    let reader = Reader::new(catalogue.entries().iter().collect());
    let rerun = Rerun { argv: args.cmd.clone(), cwd: session.project().clone(), instead_of: None };
    let timeout = args.rerun.rerun_timeout.map(Duration::from_secs);
    if let Some(path) = args.report_dir.as_ref().filter(|_| session.common.dry_run) {
        session.say(&writing::would_write(&session.resolve(path)));
    }
    let report_dir = args.report_dir.as_ref().filter(|_| !session.common.dry_run);
    let kept = report_dir.map(|path| ReportDir::open(session, path)).transpose()?.map(RefCell::new);
    let build = Build { reader: &reader, session, timeout, stdin: ReplayableStdin::remember(), kept: kept.as_ref() };
    let fence = match (Ci::here(session), args.workflow_commands) {
        (Some(Ci::Github), WorkflowCommands::Stop) => Fence::raise(),
        (Some(Ci::Github), WorkflowCommands::Allow) | (Some(Ci::Gitlab | Ci::Other) | None, _) => Fence::none(),
    };
    let mut attempt = match build.first(&rerun) {
        Ok(attempt) => attempt,
        Err(error) => return not_started(&build, &rerun, &error),
    };
    let interrupted = attempt.ended.interrupted.is_some();
    let uninteresting = (attempt.passed() && !args.check_success) || interrupted;
    if uninteresting && !session.common.json && kept.is_none() {
        return Ok(ending(session, &attempt));
    }
    if !uninteresting {
        build.diagnose(&mut attempt, &rerun, &EnvOverlay::default())?;
    }
    let mut course = Course::new(session, build, rerun, &attempt, fence);
    // A run that went well has no failure to repair: what was found in it is only told.
    let last = if attempt.passed() || interrupted { attempt } else { course.follow(attempt, args.max_repairs)? };
    course.close(&last)
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
    result: RunResult,
    group: Option<Group>,
    /// Recipes whose findings were shown already.
    shown: BTreeSet<String>,
    /// The signal that stopped a repair of ours.
    stopped_by: Option<i32>,
    /// Between the command's output and the runner of a CI system.
    fence: Fence,
}

/// Where a repair leads.
enum Next {
    Passed(Attempt),
    GoOn(Attempt),
    Stop(Attempt),
}

impl<'a> Course<'a> {
    fn new(session: &'a Session, build: Build<'a>, rerun: Rerun, first: &Attempt, fence: Fence) -> Self {
        let result = RunResult {
            outcome: Outcome::Passed,
            exit_code: 0,
            command: rerun.argv.iter().map(|word| word.to_string_lossy().into_owned()).collect(),
            runs: vec![RunLine { status: first.ended.shell_code(), with: Vec::new() }],
            group: None,
            repairs: Vec::new(),
            refused: Vec::new(),
            remaining: Vec::new(),
            unmatched: None,
        };
        let (overlay, tried) = (EnvOverlay::default(), BTreeSet::new());
        Self {
            session,
            build,
            rerun,
            overlay,
            tried,
            result,
            group: None,
            shown: BTreeSet::new(),
            stopped_by: None,
            fence,
        }
    }

    /// Repairs and re-runs until the command passes or nothing helps; returns the last attempt.
    fn follow(&mut self, mut attempt: Attempt, most: u32) -> Result<Attempt> {
        for _ in 0..most {
            let Some((finding, plan)) = self.choose(&attempt)? else { break };
            self.tried.insert(finding.fingerprint());
            self.show(&finding, &plan);
            if let Some(dir) = self.build.kept {
                dir.borrow_mut().plan(self.session, &plan)?;
            }
            if !self.may(&plan)? {
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
    fn choose(&mut self, attempt: &Attempt) -> Result<Option<(Finding, Plan)>> {
        let host = self.session.host_with(&self.overlay);
        let roots = match self.session.roots() {
            Ok(roots) => roots,
            Err(error) => return self.refuse(error).map(|()| None),
        };
        let evaluate = |script: &AbsPath| evaluate(self.session, script);
        let command = Some(self.rerun.argv.as_slice());
        let surroundings = Surroundings { host: &host, command, roots: &roots, evaluate: Some(&evaluate) };
        for finding in &attempt.findings {
            if finding.confidence == Confidence::Refuted || self.tried.contains(&finding.fingerprint()) {
                continue;
            }
            match plan::build(finding, &surroundings) {
                Ok(plan) if plan.acts() && plan.applicability > Applicability::Manual => {
                    return Ok(Some((finding.clone(), plan)));
                }
                Ok(_) => {}
                Err(error) => self.result.refused.push(convert::plan_refusal(&error)),
            }
        }
        Ok(None)
    }

    /// Shows a finding and its plan on standard error: standard output is the command's.
    fn show(&mut self, finding: &Finding, plan: &Plan) {
        self.shown.insert(finding.recipe.id.clone());
        if self.session.common.quiet || self.session.common.json {
            return;
        }
        let mut shown = convert::finding(finding, 1, Some(plan));
        // The plan is shown whole right below.
        shown.repair = Vec::new();
        shown.apply_with = self.repair_with(shown.applicability);
        let diagnosis = report::Diagnosis {
            findings: vec![shown],
            outcome: Outcome::Found,
            unmatched: None,
            suppressed: Vec::new(),
        };
        output::tell("\n");
        output::tell(&report::text::render_diagnosis(&diagnosis, &self.session.text_style()));
        let lang = self.session.lang();
        output::tell(&crate::diff::render_for_screen(plan, lang, &self.session.screen_style()));
    }

    /// The command that carries out a repair of this level.
    fn repair_with(&self, level: Applicability) -> String {
        let flags = if level == Applicability::Safe { "--yes" } else { "--yes=confirm" };
        hints::run(self.session, flags, &self.result.command)
    }

    /// Says whether a plan may be carried out; notes why not.
    fn may(&mut self, plan: &Plan) -> Result<bool> {
        if self.session.common.dry_run {
            self.result.repairs.push(convert::repair(plan, Outcome::WouldChange, &[]));
            return Ok(false);
        }
        if self.build.stdin.is_none() {
            let again = self.repair_with(plan.applicability);
            self.result.refused.push(withheld(
                RefusalReason::NoInput,
                Text::new(
                    "standard input cannot be read a second time, so that the command is not run again",
                    "标准输入无法重复读取，因此不会重跑命令",
                ),
                Text::new(format!("`{again} </dev/null`"), format!("`{again} </dev/null`")),
            ));
            return Ok(false);
        }
        Ok(match permission(self.session, plan)? {
            Permission::Granted => true,
            Permission::Declined => {
                self.result.repairs.push(convert::repair(plan, Outcome::Declined, &[]));
                false
            }
            Permission::Withheld(refusal) => {
                self.result.refused.push(refusal);
                false
            }
        })
    }

    /// Notes a refusal: the command's own failure stands. Any other error is ours.
    fn refuse(&mut self, error: anyhow::Error) -> Result<()> {
        let refused: super::Refused = error.downcast()?;
        if !self.result.refused.contains(&refused.0) {
            self.result.refused.push(*refused.0);
        }
        Ok(())
    }

    /// Carries out one repair and re-runs the command as its proof.
    fn attempt_repair(&mut self, finding: &Finding, plan: &Plan, before: Attempt) -> Result<Next> {
        let (session, build) = (self.session, &self.build);
        let ready = session.state().and_then(|state| writing::recover(session, &state, &plan.root).map(|()| state));
        let state = match ready {
            Ok(state) => state,
            Err(error) => return self.refuse(error).map(|()| Next::Stop(before)),
        };
        let mut group = match self.group.take() {
            Some(group) => group,
            None => writing::group(&state, &plan.root, &self.rerun.argv),
        };
        let mut overlay = self.overlay.clone();
        overlay.extend(&plan.overlay);
        let rerun = plan.rerun.clone().unwrap_or_else(|| self.rerun.clone());
        let host = session.host_with(&overlay);
        let mut newest: Option<Attempt> = None;
        let mut checked = Vec::new();
        let carried = carry_out(session, &mut group, &[plan], &mut |applied| {
            checked = checks(&[finding], &host, Some(&rerun.argv), Stage::Static);
            if let Some(not_proved) = judge_checks(&checked) {
                return not_proved;
            }
            if let Some(why) = unmet(session, &[plan]) {
                return Judgement::NotProved(why);
            }
            let attempt = match build.again(&rerun, &overlay, applied) {
                Ok(attempt) => attempt,
                Err(error) => return Judgement::NotProved(Text::new(format!("{error:#}"), format!("{error:#}"))),
            };
            checked = checks(&[finding], &host, Some(&rerun.argv), Stage::Rerun);
            let judgement = judge(&attempt, &[finding], &checked, Some(before.reading.stage));
            newest = Some(attempt);
            judgement
        })?;
        self.group = Some(group);
        let with = vec![plan.recipe.clone()];
        if let Some(attempt) = &newest {
            self.result.runs.push(RunLine { status: attempt.ended.shell_code(), with });
        }
        self.stopped_by = Interrupts::install().ok().and_then(|interrupts| interrupts.requested());
        let interrupted = newest.as_ref().is_some_and(|attempt| attempt.ended.interrupted.is_some());
        let interrupted = interrupted || self.stopped_by.is_some();
        let newest = match (newest, &carried) {
            (Some(newest), Carried::Kept(_)) => newest,
            // What was seen while the repair stood may be another thing now that it is taken back.
            (Some(mut newest), _) if !newest.passed() => {
                self.build.diagnose(&mut newest, &self.rerun, &self.overlay)?;
                newest
            }
            // It passed only with what was taken back again.
            (Some(_) | None, _) => before,
        };
        let next = match &carried {
            Carried::Kept(Judgement::Repaired) => {
                self.overlay = overlay;
                self.rerun = rerun;
                Next::Passed(newest)
            }
            Carried::Kept(_) => {
                self.overlay = overlay;
                self.rerun = rerun;
                Next::GoOn(newest)
            }
            Carried::Undone(_) if !interrupted => Next::GoOn(newest),
            Carried::Undone(_) | Carried::Refused(_) | Carried::NeedsAttention { .. } => Next::Stop(newest),
        };
        self.note(plan, &carried, &checked);
        if matches!(carried, Carried::Kept(_)) && !plan.changes.is_empty() {
            writing::prune(session, &state);
        }
        Ok(next)
    }

    fn note(&mut self, plan: &Plan, carried: &Carried, checked: &[crate::verify::Checked]) {
        let outcome = match carried {
            Carried::Kept(_) => Outcome::Repaired,
            Carried::Undone(why) => {
                self.session.say(&Text::new(
                    format!("the repair was taken back: {}", why.en),
                    format!("修复已撤回：{}", why.zh),
                ));
                Outcome::RolledBack
            }
            Carried::Refused(refusal) => {
                self.result.refused.push(refusal.clone());
                return;
            }
            Carried::NeedsAttention { why, left } => {
                let left = left.join("; ");
                self.session.warn(&Text::new(
                    format!("taking the repair back did not complete ({why}): {left}"),
                    format!("撤回修复未能完成（{why}）：{left}"),
                ));
                Outcome::NeedsAttention
            }
        };
        // What held while a repair stood proves nothing once it is taken back.
        let failed: Vec<_> = checked.iter().filter(|checked| !checked.holds).cloned().collect();
        let checked = if outcome == Outcome::Repaired { checked } else { &failed };
        self.result.repairs.push(convert::repair(plan, outcome, checked));
    }

    /// Says at the end what was changed, how to take it back, and what is still wrong.
    fn close(mut self, last: &Attempt) -> Result<Code> {
        let kept = self.result.repairs.iter().any(|repair| repair.outcome == Outcome::Repaired);
        let changed = kept && self.group.as_ref().is_some_and(|group| !group.id().is_empty());
        self.result.group = self.group.as_ref().filter(|_| changed).map(|group| group.id().to_owned());
        let attention = self.result.repairs.iter().any(|repair| repair.outcome == Outcome::NeedsAttention);
        let would = self.result.repairs.iter().any(|repair| repair.outcome == Outcome::WouldChange);
        let declined = self.result.repairs.iter().any(|repair| repair.outcome == Outcome::Declined);
        self.result.outcome = match (last.passed(), kept) {
            _ if attention => Outcome::NeedsAttention,
            _ if last.ended.interrupted.is_some() || self.stopped_by.is_some() => Outcome::Interrupted,
            (true, true) => Outcome::Repaired,
            (true, false) => Outcome::Passed,
            (false, _) if would => Outcome::WouldChange,
            (false, _) if declined => Outcome::Declined,
            (false, _) => Outcome::StillFailing,
        };
        let code = match self.stopped_by {
            Some(signal) => Code::Signal(signal),
            None => ending(self.session, last),
        };
        self.result.exit_code = match code {
            Code::Exit(code) => code,
            Code::Signal(signal) => status(128 + signal),
        };
        if kept {
            let repaired = self.result.repairs.iter().filter(|repair| repair.outcome == Outcome::Repaired);
            let recipes: Vec<String> = repaired.map(|repair| repair.id.clone()).collect();
            let root = self.session.host().git().top_level().unwrap_or(self.session.project());
            writing::remember(self.session, root, &recipes, self.result.group.as_deref(), &self.overlay);
        }
        // The runner listens again.
        drop(std::mem::take(&mut self.fence));
        let placer = Placer::new(self.session.host());
        // Where nothing may be written, nothing is planned.
        let roots = self.session.roots().ok();
        let host = self.session.host_with(&self.overlay);
        if !last.passed() || !kept {
            self.result.remaining = last
                .findings
                .iter()
                .enumerate()
                .map(|(at, finding)| {
                    let plan = roots.as_ref().map(|roots| {
                        let command = Some(self.rerun.argv.as_slice());
                        plan::build(finding, &Surroundings { host: &host, command, roots, evaluate: None })
                    });
                    let mut shown = convert::finding_with(finding, at + 1, plan.as_ref().map(Result::as_ref));
                    placer.place(finding, plan.as_ref().and_then(|plan| plan.as_ref().ok()), &mut shown);
                    shown.apply_with = self.repair_with(shown.applicability);
                    shown
                })
                .collect();
        }
        let nothing_known =
            self.result.repairs.is_empty() && self.result.refused.is_empty() && self.result.remaining.is_empty();
        let reader_left = run_end::reader_left(last);
        if nothing_known && !last.passed() && last.ended.interrupted.is_none() && !reader_left {
            let logs = &last.reading.logs;
            self.result.unmatched = Some(diagnose::unmatched(&Catalogue::embedded(), logs, &self.result.command));
        }
        if let Some(dir) = self.build.kept {
            let group = self.group.as_ref().map(Group::id).filter(|id| !id.is_empty());
            run_report::keep(self.session, &dir.borrow(), &self.result, group)?;
        }
        self.tell()?;
        if !self.session.common.json {
            run_report::tell_runner(self.session, &self.result, &last.findings, &placer);
        }
        Ok(code)
    }

    fn tell(&self) -> Result<()> {
        if self.session.common.json {
            // Behind what the command printed: the last line of standard output.
            output::hand_out(report::json::render_line(&self.result).as_bytes());
            return Ok(());
        }
        // A failure that no recipe knows is the command's own: what tells most of it, and how it is reported.
        if let Some(unmatched) = &self.result.unmatched {
            let diagnosis = report::Diagnosis {
                findings: Vec::new(),
                outcome: Outcome::NoMatch,
                unmatched: Some(unmatched.clone()),
                suppressed: Vec::new(),
            };
            if !self.session.common.quiet {
                let text = report::text::render_diagnosis(&diagnosis, &self.session.text_style());
                output::tell(&format!("\n{text}"));
            }
            return Ok(());
        }
        if self.result.repairs.is_empty() && self.result.refused.is_empty() && self.result.remaining.is_empty() {
            return Ok(());
        }
        if !self.session.common.quiet {
            // What was shown whole before its repair is not shown again.
            let mut result = self.result.clone();
            result.remaining.retain(|finding| !self.shown.contains(&finding.id));
            let text = report::text::render_run(&result, &self.session.text_style());
            let title = format!("fix: {}", result.sentence().get(self.session.lang()));
            grouped(Ci::here(self.session), &title, || output::tell(&format!("\n{text}")));
            self.tell_environment();
            self.tell_command();
        }
        Ok(())
    }

    /// The environment of the kept repairs dies with `fix`: says how the user gets it.
    fn tell_environment(&self) {
        if self.overlay.is_empty() {
            return;
        }
        self.session.say(&Text::new(
            "the repair holds for this run only; for your shell (`fix env` prints it again):",
            "此修复仅对本次运行有效；如需用于您的 shell（`fix env` 可再次输出）：",
        ));
        for line in super::environment::shell_lines(&self.overlay) {
            output::tell(&format!("  {}\n", for_screen(&line)));
        }
    }

    /// Says how the command is written from now on, where a kept repair changed its words.
    fn tell_command(&self) {
        if self.rerun.instead_of.is_none() {
            return;
        }
        self.session.say(&Text::new("the command that ran last:", "最后运行的命令："));
        let command = crate::diff::shown_command(&self.rerun.argv, &mut Redactor::new(Profile::Secrets));
        output::tell(&format!("  {command}\n"));
    }
}
