//! One repair from plan to proof: permission, transaction, re-run, judgement.

use std::cell::RefCell;
use std::ffi::OsString;
use std::time::Duration;

use anyhow::Result;

use super::convert;
use super::output;
use super::progress::Progress;
use super::reading::{Asking, Reader, Reading};
use super::report_dir::{Kept, ReportDir, Tee};
use super::session::Session;
use super::writing;
use crate::change::{AllowedRoots, Change, EnvOverlay};
use crate::diagnosis::stage::Stage as BuildStage;
use crate::diagnosis::{Finding, Origin};
use crate::evidence::Host;
use crate::os::process::{self, Ended, ReplayableStdin, SpawnError};
use crate::plan::{Plan, Rerun};
use crate::recipe::{Applicability, Stage, Text};
use crate::redact::{Profile, Redactor};
use crate::report::{Refusal, RefusalReason};
use crate::transaction::{Applied, Group, Order, Proof, Title};
use crate::verify::{self, Checked};

/// Whether a plan may be carried out.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Permission {
    Granted,
    /// A person said no.
    Declined,
    /// Nobody may say yes here; how it could be done.
    Withheld(Refusal),
}

/// Finds out whether a plan may be carried out, asking where that is possible.
pub fn permission(session: &Session, plan: &Plan) -> Result<Permission> {
    let answer = |yes: bool| if yes { Permission::Granted } else { Permission::Declined };
    if plan.is_irreversible() {
        let allowed = session.common.allow_irreversible.as_deref();
        if allowed != Some(plan.recipe.as_str()) {
            if allowed == Some("") && session.can_ask() {
                return Ok(answer(session.ask_for_word(&plan.recipe)?));
            }
            let id = &plan.recipe;
            return Ok(Permission::Withheld(withheld(
                RefusalReason::Irreversible,
                Text::new("this cannot be taken back", "此操作无法撤销"),
                Text::new(
                    format!("`--allow-irreversible={id}` allows it"),
                    format!("如确认，请加 `--allow-irreversible={id}`"),
                ),
            )));
        }
    }
    if session.unasked().is_some_and(|level| plan.applicability >= level) {
        return Ok(Permission::Granted);
    }
    if session.can_ask() {
        return Ok(answer(session.ask(&Text::new("Apply this repair?", "应用此修复？"))?));
    }
    let asked = Text::new("nobody can be asked here", "此处无法询问");
    Ok(Permission::Withheld(match (plan.applicability, session.unasked()) {
        (Applicability::Safe, _) => withheld(RefusalReason::NoInput, asked, Text::new("add `--yes`", "请加 `--yes`")),
        (Applicability::Confirm, None) => {
            withheld(RefusalReason::NoInput, asked, Text::new("add `--yes=confirm`", "请加 `--yes=confirm`"))
        }
        (Applicability::Confirm, Some(_)) => withheld(
            RefusalReason::Level,
            Text::new("it needs a yes of its own", "此修复需要单独确认"),
            Text::new("add `--yes=confirm`", "请加 `--yes=confirm`"),
        ),
        (Applicability::Manual, _) => withheld(
            RefusalReason::Level,
            Text::new("this is advice only", "仅为建议"),
            Text::new("follow the advice above", "请按上面的建议操作"),
        ),
    }))
}

pub fn withheld(reason: RefusalReason, says: Text, hint: Text) -> Refusal {
    Refusal { reason, path: None, says, hint: Some(hint) }
}

/// What the user's command did.
#[derive(Debug)]
pub struct Attempt {
    pub ended: Ended,
    pub reading: Reading,
    pub findings: Vec<Finding>,
}

impl Attempt {
    pub fn passed(&self) -> bool {
        self.ended.shell_code() == 0
    }
}

/// The user's command, to be run as often as it takes.
pub struct Build<'a> {
    pub reader: &'a Reader<'a>,
    pub session: &'a Session,
    /// Of re-runs; the first run is never limited.
    pub timeout: Option<Duration>,
    pub stdin: Option<ReplayableStdin>,
    /// Where what it prints is kept as well.
    pub kept: Option<&'a RefCell<ReportDir>>,
}

impl Build<'_> {
    /// Runs the command for the first time, as the user would.
    pub fn first(&self, rerun: &Rerun) -> Result<Attempt, SpawnError> {
        self.run(rerun, &EnvOverlay::default(), None, &mut |_| {})
    }

    /// Runs the command again after a repair and diagnoses what it prints.
    pub fn again(&self, rerun: &Rerun, overlay: &EnvOverlay, applied: Option<&Applied<'_>>) -> Result<Attempt> {
        if let Some(stdin) = &self.stdin {
            stdin.rewind()?;
        }
        let style = self.session.styles().command;
        if !self.session.common.quiet {
            let command = crate::diff::shown_command(&rerun.argv, &mut Redactor::new(Profile::Secrets));
            output::tell(&format!("{style}$ {command}{style:#}\n"));
        }
        let mut noted = Ok(());
        let mut attempt = self.run(rerun, overlay, self.timeout, &mut |pid| {
            if let Some(applied) = applied {
                noted = applied.started(pid);
            }
        })?;
        noted?;
        if !attempt.passed() {
            self.diagnose(&mut attempt, rerun, overlay)?;
        }
        Ok(attempt)
    }

    fn run(
        &self,
        rerun: &Rerun,
        overlay: &EnvOverlay,
        timeout: Option<Duration>,
        started: &mut dyn FnMut(u32),
    ) -> Result<Attempt, SpawnError> {
        let env = self.session.env_with(overlay);
        let mut command = process::Command::new(rerun.argv.clone(), rerun.cwd.clone());
        command.env = overlay
            .iter()
            .map(|(name, _)| {
                let name = OsString::from(name);
                let value = env.get(&name).cloned();
                (name, value)
            })
            .collect();
        command.timeout = timeout;
        let mut listener = self.reader.listen();
        let mut kept = self.kept.map(|_| Kept::default());
        let mut tee = Tee { first: &mut listener, kept: kept.as_mut() };
        let ended = process::run_noted(&command, &mut tee, started)?;
        if let (Some(dir), Some(kept)) = (self.kept, &kept)
            && let Err(error) = dir.borrow_mut().log(kept)
        {
            self.session.warn(&Text::new(format!("{error:#}"), format!("{error:#}")));
        }
        Ok(Attempt { ended, reading: listener.finish(), findings: Vec::new() })
    }

    /// Diagnoses an attempt on this machine, in the environment that the attempt had.
    pub fn diagnose(&self, attempt: &mut Attempt, rerun: &Rerun, overlay: &EnvOverlay) -> Result<()> {
        let host = self.session.host_with(overlay);
        let asking = Asking { host: &host, origin: Origin::ThisMachine, command: Some(&rerun.argv) };
        attempt.findings = self.reader.diagnose(&attempt.reading, &asking, self.session)?;
        Ok(())
    }
}

/// What a re-run says about a repair.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Judgement {
    /// The checks hold and, where there is a command, it passed.
    Repaired,
    /// The command fails for another reason now, further on: the repair stands.
    Further,
    /// The repair is not proved; why.
    NotProved(Text),
}

/// Judges the checks that are made before the command runs again; `None` when all hold.
pub fn judge_checks(checks: &[Checked]) -> Option<Judgement> {
    let failed = checks.iter().find(|checked| !checked.holds)?;
    let (probe, answer) = (&failed.probe, &failed.answer);
    Some(Judgement::NotProved(Text::new(
        format!("the check `{probe}` says `{answer}`: {}", failed.seen.en),
        format!("检查 `{probe}` 的结果为 `{answer}`：{}", failed.seen.zh),
    )))
}

/// Judges a re-run. `repaired` are the findings whose repairs are to be proved, `before` is the stage that the
/// failed run reached, where it is known.
pub fn judge(attempt: &Attempt, repaired: &[&Finding], checks: &[Checked], before: Option<BuildStage>) -> Judgement {
    if attempt.ended.timed_out {
        return Judgement::NotProved(Text::new(
            "the command took longer than `--rerun-timeout`",
            "命令超过 `--rerun-timeout` 限时",
        ));
    }
    if let Some(signal) = attempt.ended.interrupted {
        return Judgement::NotProved(Text::new(
            format!("the command was interrupted by signal {signal}"),
            format!("命令被信号 {signal} 中断"),
        ));
    }
    let of_one_recipe = |finding: &&Finding| repaired.iter().any(|one| one.recipe.id == finding.recipe.id);
    let is_same = |finding: &&Finding| repaired.iter().any(|one| one.fingerprint() == finding.fingerprint());
    let same = attempt.findings.iter().find(is_same);
    if let (false, Some(same)) = (attempt.passed(), same) {
        let id = &same.recipe.id;
        return Judgement::NotProved(Text::new(
            format!("the same failure came again (`{id}`)"),
            format!("同样的失败再次出现（`{id}`）"),
        ));
    }
    if let Some(not_proved) = judge_checks(checks) {
        return not_proved;
    }
    if attempt.passed() {
        return Judgement::Repaired;
    }
    // One of several of a kind is mended: tools name them one after the other, and the checks say that this one is gone.
    let next_of_a_kind = attempt.findings.iter().any(|finding| of_one_recipe(&finding));
    let got_further = before.is_some_and(|before| attempt.reading.stage > before);
    if (got_further || next_of_a_kind) && !checks.is_empty() {
        return Judgement::Further;
    }
    let code = attempt.ended.shell_code();
    Judgement::NotProved(Text::new(
        format!("the command still fails (status {code}) and got no further than before"),
        format!("命令仍然失败（状态 {code}），且没有比之前走得更远"),
    ))
}

/// Makes the checks of findings on a machine.
pub fn checks(findings: &[&Finding], host: &dyn Host, command: Option<&[OsString]>, stage: Stage) -> Vec<Checked> {
    let mut all = Vec::new();
    for finding in findings {
        if let Some(case) = finding.case() {
            let proof = verify::Proof { case, answers: &finding.answers, host, command };
            all.extend(proof.check(stage));
        }
    }
    all
}

/// Says which precondition of plans does not hold now. To be asked right before the command runs as well: some
/// commands do not fail without it but wait for ever.
pub fn unmet(session: &Session, plans: &[&Plan]) -> Option<Text> {
    plans.iter().find_map(|plan| verify::unmet(&plan.preconditions, session.host()))
}

/// What became of repairs.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Carried {
    /// They stay.
    Kept(Judgement),
    /// They were taken back; why.
    Undone(Text),
    /// Nothing was begun; why.
    Refused(Refusal),
    /// An undo did not complete; `left` names what is not as it was.
    NeedsAttention { why: String, left: Vec<String> },
}

/// Carries out the changes of plans as one transaction and lets `prove` decide whether they stay.
///
/// Plans without changes (an environment alone) need no transaction: `prove` decides about the overlay only.
pub fn carry_out(
    session: &Session,
    group: &mut Group,
    plans: &[&Plan],
    prove: &mut dyn FnMut(Option<&Applied<'_>>) -> Judgement,
) -> Result<Carried> {
    let changes: Vec<Change> = plans.iter().flat_map(|plan| plan.changes.iter().cloned()).collect();
    if let Some(why) = unmet(session, plans) {
        return Ok(Carried::Refused(withheld(
            RefusalReason::Drift,
            why,
            Text::new("run `fix` again: it plans anew", "请重新运行 `fix`，它会重新规划"),
        )));
    }
    if changes.is_empty() {
        return Ok(match prove(None) {
            Judgement::NotProved(why) => Carried::Undone(why),
            proved @ (Judgement::Repaired | Judgement::Further) => Carried::Kept(proved),
        });
    }
    let mut overlay = EnvOverlay::default();
    plans.iter().for_each(|plan| overlay.extend(&plan.overlay));
    let joined = |part: &dyn Fn(&Plan) -> String| plans.iter().map(|plan| part(plan)).collect::<Vec<_>>().join(", ");
    let title = Title { en: joined(&|plan| plan.title.en.clone()), zh: joined(&|plan| plan.title.zh.clone()) };
    let (recipe, slug) = (joined(&|plan| plan.recipe.clone()), joined(&|plan| plan.slug.clone()));
    let (case, digest) = (joined(&|plan| plan.case.clone()), joined(&Plan::digest));
    // A plan may have roots of its own: a build tree that a link leads to.
    let roots = AllowedRoots::new(plans.iter().flat_map(|plan| plan.roots.iter().cloned()));
    let order = Order {
        recipe: &recipe,
        slug: &slug,
        case: &case,
        title: &title,
        digest: &digest,
        changes: &changes,
        roots: &roots,
        overlay: &overlay,
    };
    let mut judgement = None;
    let outcome = group.apply(&order, &mut Progress::new(session), &mut |applied| {
        let verdict = prove(Some(applied));
        let proof = match &verdict {
            Judgement::Repaired | Judgement::Further => Proof::Proved,
            Judgement::NotProved(why) => Proof::Failed { why: why.en.clone() },
        };
        judgement = Some(verdict);
        proof
    });
    use crate::transaction::Outcome;
    if let Ok(Outcome::Undone { kept, .. } | Outcome::NeedsAttention { kept, .. }) = &outcome {
        writing::mention_kept(session, kept);
    }
    Ok(match (outcome, judgement) {
        (Err(error), _) => Carried::Refused(convert::transaction_refusal(&error)),
        (Ok(Outcome::Committed { .. }), Some(judgement)) => Carried::Kept(judgement),
        (Ok(Outcome::Committed { .. }), None) => Carried::Kept(Judgement::Repaired),
        (Ok(Outcome::Undone { why: _, kept: _ }), Some(Judgement::NotProved(why))) => Carried::Undone(why),
        (Ok(Outcome::Undone { why, kept: _ }), _) => Carried::Undone(Text::new(why.clone(), why)),
        (Ok(Outcome::NeedsAttention { why, left, kept: _ }), _) => Carried::NeedsAttention { why, left },
    })
}
