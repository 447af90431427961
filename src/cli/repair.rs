//! One repair from plan to proof: permission, transaction, re-run, judgement.

use std::ffi::OsString;

use anyhow::Result;

use super::reading::{Asking, Reader, Reading};
use super::session::Session;
use crate::change::EnvOverlay;
use crate::diagnosis::stage::Stage as BuildStage;
use crate::diagnosis::{Finding, Origin};
use crate::evidence::LocalHost;
use crate::os::process::{self, Ended};
use crate::plan::{Plan, Rerun};
use crate::recipe::{Applicability, Stage, Text};
use crate::transaction::{Event, Group, Order, Outcome, Proof, Watch};
use crate::verify::{self, Checked};

/// Whether a plan may be carried out.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Permission {
    Granted,
    /// A person said no.
    Declined,
    /// Nobody may be asked, or nobody may say yes; the text says how it could be done.
    Withheld(Text),
}

/// Finds out whether a plan may be carried out, asking where that is possible.
pub fn permission(session: &Session, plan: &Plan) -> Result<Permission> {
    if plan.is_irreversible() {
        let allowed = session.common.allow_irreversible.as_deref();
        let unattended = allowed == Some(plan.recipe.as_str());
        if !unattended {
            if allowed != Some("") || !session.can_ask() {
                let id = &plan.recipe;
                return Ok(Permission::Withheld(Text::new(
                    format!("this cannot be taken back; `--allow-irreversible={id}` allows it"),
                    format!("此操作无法撤销；如确认，请加 `--allow-irreversible={id}`"),
                )));
            }
            return Ok(if session.ask_for_word(&plan.recipe)? { Permission::Granted } else { Permission::Declined });
        }
    }
    match session.unasked() {
        Some(level) if plan.applicability >= level => return Ok(Permission::Granted),
        Some(_) | None => {}
    }
    if session.can_ask() {
        let question = Text::new("Apply this repair?", "应用此修复？");
        return Ok(if session.ask(&question)? { Permission::Granted } else { Permission::Declined });
    }
    Ok(Permission::Withheld(match plan.applicability {
        Applicability::Safe => Text::new("nothing was applied: add `--yes`", "未作任何改动：请加 `--yes`"),
        Applicability::Confirm => {
            Text::new("nothing was applied: it needs a yes; add `--yes=confirm`", "未作任何改动：需要确认；请加 `--yes=confirm`")
        }
        Applicability::Manual => Text::new("nothing was applied: this is advice only", "未作任何改动：仅为建议"),
    }))
}

/// What the user's command did after a repair.
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
    pub timeout: Option<std::time::Duration>,
}

impl Build<'_> {
    /// Runs the command with an environment and diagnoses what it prints.
    pub fn run(&self, rerun: &Rerun, overlay: &EnvOverlay, timeout: Timeout) -> Result<Attempt, process::SpawnError> {
        let env = self.session.env_with(overlay);
        let edits = overlay.iter().map(|(name, _)| {
            let name = OsString::from(name);
            let value = env.get(&name).cloned();
            (name, value)
        });
        let mut command = process::Command::new(rerun.argv.clone(), rerun.cwd.clone());
        command.env = edits.collect();
        command.timeout = match timeout {
            Timeout::None => None,
            Timeout::OfReruns => self.timeout,
        };
        let mut listener = self.reader.listen();
        let ended = process::run_transparently(&command, &mut listener)?;
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

/// Whether a run is limited in time.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Timeout {
    None,
    OfReruns,
}

/// What a re-run says about a repair.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Judgement {
    /// The command passed and the checks hold.
    Repaired,
    /// The command fails for another reason now, further on: the repair stands.
    Further,
    /// The repair is not proved; why.
    NotProved(Text),
}

/// Judges a re-run. `before` is the stage that the failed run reached, where it is known.
pub fn judge(attempt: &Attempt, fingerprints: &[String], checks: &[Checked], before: Option<BuildStage>) -> Judgement {
    if let Some(failed) = checks.iter().find(|checked| !checked.holds) {
        return Judgement::NotProved(unproved(failed));
    }
    if attempt.ended.timed_out {
        return Judgement::NotProved(Text::new("the command took longer than `--rerun-timeout`", "命令超过 `--rerun-timeout` 限时"));
    }
    if let Some(signal) = attempt.ended.interrupted {
        return Judgement::NotProved(Text::new(format!("interrupted by signal {signal}"), format!("被信号 {signal} 中断")));
    }
    if attempt.passed() {
        return Judgement::Repaired;
    }
    let recipe_of = |fingerprint: &str| fingerprint.split('[').next().unwrap_or_default().to_owned();
    let same = attempt.findings.iter().find(|finding| {
        fingerprints.iter().any(|seen| recipe_of(seen) == finding.recipe.id)
    });
    if let Some(same) = same {
        let id = &same.recipe.id;
        return Judgement::NotProved(Text::new(format!("the same failure again (`{id}`)"), format!("同样的失败再次出现（`{id}`）")));
    }
    match before {
        Some(before) if attempt.reading.stage > before && !checks.is_empty() => Judgement::Further,
        Some(_) | None => {
            let code = attempt.ended.shell_code();
            Judgement::NotProved(Text::new(
                format!("the command still fails (status {code}) and got no further than before"),
                format!("命令仍然失败（状态 {code}），且没有比之前走得更远"),
            ))
        }
    }
}

fn unproved(failed: &Checked) -> Text {
    let (probe, answer) = (&failed.probe, &failed.answer);
    Text::new(
        format!("the check `{probe}` says `{answer}`: {}", failed.seen.en),
        format!("检查 `{probe}` 的结果为 `{answer}`：{}", failed.seen.zh),
    )
}

/// Makes the checks of findings in an environment.
pub fn checks(findings: &[&Finding], host: &LocalHost, command: Option<&[OsString]>, stage: Stage) -> Vec<Checked> {
    let mut all = Vec::new();
    for finding in findings {
        if let Some(case) = finding.case() {
            let proof = verify::Proof { recipe: &finding.recipe, case, given: &finding.given, host, command };
            all.extend(proof.check(stage));
        }
    }
    all
}

/// Carries out the changes of plans as one transaction and lets `prove` decide whether they stay.
///
/// Plans without changes (an environment alone) need no transaction: `prove` decides about the overlay only.
pub fn carry_out(
    session: &Session,
    group: &mut Group,
    plans: &[Plan],
    prove: &mut dyn FnMut() -> Judgement,
) -> Result<Carried> {
    let changes: Vec<_> = plans.iter().flat_map(|plan| plan.changes.iter().cloned()).collect();
    let mut judgement = None;
    if changes.is_empty() {
        return Ok(match prove() {
            Judgement::NotProved(why) => Carried::Undone(why),
            proved @ (Judgement::Repaired | Judgement::Further) => Carried::Kept(proved),
        });
    }
    let mut overlay = EnvOverlay::default();
    plans.iter().for_each(|plan| overlay.extend(&plan.overlay));
    let roots = &plans[0].roots;
    let order = Order {
        recipes: plans.iter().map(|plan| plan.recipe.clone()).collect(),
        title: plans.iter().map(|plan| plan.title.en.clone()).collect::<Vec<_>>().join("; "),
        changes: &changes,
        roots,
        overlay: &overlay,
        digest: plans.iter().map(Plan::digest).collect::<Vec<_>>().join(":"),
    };
    let outcome = group.apply(&order, &mut Progress { session }, &mut |_| {
        let verdict = prove();
        let proof = match &verdict {
            Judgement::Repaired | Judgement::Further => Proof::Proved,
            Judgement::NotProved(why) => Proof::Failed { why: why.en.clone() },
        };
        judgement = Some(verdict);
        proof
    })?;
    Ok(match (outcome, judgement) {
        (Outcome::Committed { .. }, Some(judgement)) => Carried::Kept(judgement),
        (Outcome::Committed { .. }, None) => Carried::Kept(Judgement::Repaired),
        (Outcome::Undone { .. }, Some(Judgement::NotProved(why))) => Carried::Undone(why),
        (Outcome::Undone { why }, _) => Carried::Undone(Text::new(why.clone(), why)),
        (Outcome::NeedsAttention { why, left }, _) => Carried::NeedsAttention { why, left },
    })
}

/// What became of a transaction.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Carried {
    Kept(Judgement),
    Undone(Text),
    /// An undo did not complete; `left` names what is not as it was.
    NeedsAttention { why: String, left: Vec<String> },
}

/// Shows long steps of a transaction.
pub struct Progress<'a> {
    pub session: &'a Session,
}

impl Watch for Progress<'_> {
    fn event(&mut self, event: Event) {
        super::progress::show(self.session, &event);
    }

    fn interrupted(&self) -> bool {
        super::interrupts().requested().is_some()
    }
}
