//! `fix <issue>… [-- CMD]`: diagnose these issues here, show the diff, ask, apply, verify.

use std::collections::BTreeSet;
use std::ffi::OsString;
use std::path::Path;
use std::time::Duration;

use anyhow::{Context, Result};

use super::args::Apply;
use super::output;
use super::reading::{Asking, Reader, Reading, Stages, mention_not_asked, origin_of, recipe_of};
use super::repair::{
    Build, Carried, Judgement, Permission, carry_out, checks, judge, judge_checks, permission, unmet, withheld,
};
use super::script_environment::evaluate;
use super::session::{Session, for_screen};
use super::{convert, environment, hints, own_file, planfile, selecting, writing};
use crate::change::{AbsPath, Change, EnvOverlay};
use crate::diagnosis::{Confidence, Finding, Origin, examine};
use crate::diff::{Reason, render_for_screen, render_patch};
use crate::os::process::ReplayableStdin;
use crate::os::signals::Interrupts;
use crate::plan::{self, Plan, Rerun, Surroundings};
use crate::recipe::catalogue::{Catalogue, Entry};
use crate::recipe::{Applicability, Recipe, Stage, Text, Values};
use crate::report::{self, ApplyResult, Outcome, Refusal, RefusalReason};
use crate::steps::Evaluate;
use crate::verify::Checked;

/// One issue that was found here.
pub struct Found {
    pub finding: Finding,
    pub plan: Result<Plan, Refusal>,
    pub reading: Reading,
}

/// Applies issues, or a reviewed plan; returns the exit status.
pub fn run(args: &Apply, session: &Session) -> Result<u8> {
    let timeout = args.rerun.rerun_timeout.map(Duration::from_secs);
    if let Some(path) = &args.plan {
        let reviewed = planfile::read(session, path)?;
        let command = reviewed.command();
        let found = reviewed.make_again(session)?;
        return carry(session, found, non_empty(&command), timeout, Sources::Plan);
    }
    let catalogue = Catalogue::embedded();
    let entries = selecting::entries(&catalogue, &args.issues)?;
    let command = non_empty(&args.cmd);
    let found = examine_all(session, &entries, command, None)?;
    let sources = if session.common.log.is_empty() { Sources::Machine } else { Sources::Logs };
    carry(session, found, command, timeout, sources)
}

/// What an issue was looked for in.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Sources {
    /// No log was read.
    Machine,
    Logs,
    Plan,
}

/// Returns a command, or `None` for an empty one.
pub fn non_empty(command: &[OsString]) -> Option<&[OsString]> {
    (!command.is_empty()).then_some(command)
}

/// Examines issues on this machine, with the logs that the user named; says which are not found. `given` are the
/// parameters of a reviewed plan, which then stand for the logs.
pub fn examine_all(
    session: &Session,
    entries: &[&Entry],
    command: Option<&[OsString]>,
    given: Option<&Values>,
) -> Result<Vec<Found>> {
    let recipes: Vec<Recipe> = entries.iter().map(|entry| recipe_of(entry)).collect::<Result<_>>()?;
    let reader = Reader::new(entries.to_vec());
    let logs: Vec<&Path> = match given {
        Some(_) => Vec::new(),
        None => session.common.log.iter().map(AsRef::as_ref).collect(),
    };
    let reading = reader.read_named(session, logs.iter().copied(), Stages::Followed)?;
    if given.is_none() {
        selecting::check_set(session, &recipes)?;
    }
    // A log that comes with the command which wrote it is of this machine; else it must speak of this project.
    let origin = match (session.common.log_only, logs.is_empty(), command) {
        (true, _, _) => Origin::Elsewhere,
        (false, false, None) => origin_of(session, &reading, &logs, &recipes),
        (false, _, _) => Origin::ThisMachine,
    };
    let roots = session.roots()?;
    let asking = Asking { host: session.host(), origin, command };
    let mut all = Vec::new();
    for recipe in &recipes {
        let set = given.cloned().unwrap_or_else(|| selecting::set_for(session, recipe));
        let Some(finding) = examine(recipe, &reader.evidence(&reading, &asking, &set)) else {
            let (id, title) = (&recipe.id, &recipe.title);
            let place = if logs.is_empty() { ("here", "此处") } else { ("in the log", "日志中") };
            session.say(&Text::new(
                format!("{id}: no sign of it {} ({})", place.0, title.en),
                format!("{id}：{}没有该问题的迹象（{}）", place.1, title.zh),
            ));
            if logs.is_empty() && given.is_none() {
                session.say(&no_log());
            }
            continue;
        };
        let evaluate = |script: &AbsPath| evaluate(session, script);
        let evaluate = Some(&evaluate as &Evaluate<'_>);
        let surroundings = Surroundings { host: session.host(), command, roots: &roots, evaluate };
        let plan = plan::build(&finding, &surroundings).map_err(|error| convert::plan_refusal(&error));
        all.push(Found { finding, plan, reading: reading.clone() });
    }
    if !all.is_empty() && !session.common.json {
        mention_not_asked(session, origin, all.iter().map(|one: &Found| &one.finding));
    }
    Ok(all)
}

/// Says that no log was read, and how it can be: most failures show in their log alone.
fn no_log() -> Text {
    Text::new(
        "no log was read: give it with `--log FILE`, or let `fix run -- CMD` run the build",
        "未读取日志：请用 `--log FILE` 指定日志，或用 `fix run -- CMD` 运行构建",
    )
}

/// The command that repairs a finding as it was found here.
pub fn repair_with(session: &Session, finding: &str, command: Option<&[OsString]>) -> String {
    let logs: Vec<&Path> = session.common.log.iter().map(AsRef::as_ref).collect();
    hints::again(session, finding, &logs, &report::argv(command.unwrap_or_default()))
}

/// Shows findings and their plans; `repair_with` makes the command that applies one.
pub fn show(session: &Session, found: &[Found], repair_with: &dyn Fn(&str) -> String) {
    if session.common.json || session.common.quiet {
        return;
    }
    for (at, one) in found.iter().enumerate() {
        let mut shown = convert::finding(&one.finding, at + 1, one.plan.as_ref().ok());
        shown.apply_with = repair_with(&shown.apply_with);
        // The plan is shown whole right below.
        shown.repair = Vec::new();
        let diagnosis = report::Diagnosis {
            findings: vec![shown],
            outcome: Outcome::Found,
            unmatched: None,
            suppressed: Vec::new(),
        };
        output::show(&report::text::render_diagnosis(&diagnosis, &session.text_style()));
        if let Ok(plan) = &one.plan
            && plan.acts()
        {
            output::show(&render_for_screen(plan, session.lang(), &session.screen_style()));
        }
    }
}

/// Writes the patch that `--patch` asks for: exact bytes, mode 0600.
pub fn write_patch<'p>(session: &Session, plans: impl IntoIterator<Item = &'p Plan>) -> Result<()> {
    let Some(target) = &session.common.patch else { return Ok(()) };
    let plans: Vec<&Plan> = plans.into_iter().collect();
    let Some(first) = plans.first() else { return Ok(()) };
    let changes: Vec<Change> = plans.iter().flat_map(|plan| plan.changes.iter().cloned()).collect();
    let patch = render_patch(&first.root, &changes).context("cannot make the patch")?;
    for left in &patch.left_out {
        let path = &left.path;
        let (en, zh) = match left.reason {
            Reason::OutsideRoot => ("it lies outside the project", "位于项目之外"),
            Reason::HoldsSecret => ("its lines hold a secret", "其内容含敏感信息"),
            Reason::GitsOwn => ("it is git's own", "属于 git 自身"),
            Reason::Permissions => ("a patch does not carry its permissions", "补丁无法携带其权限"),
            Reason::Folder => ("a folder is set aside", "整个目录将被移走"),
            Reason::WrittenByCommand => ("a command writes it", "由命令写入"),
        };
        session.say(&Text::new(format!("not in the patch: {path} ({en})"), format!("未包含在补丁中：{path}（{zh}）")));
    }
    if target == Path::new("-") {
        output::hand_out(&patch.bytes);
        return Ok(());
    }
    let path = session.resolve(target);
    own_file::write(&path, &patch.bytes, b"diff --git ")
}

/// Shows, asks, applies and verifies; returns the exit status.
fn carry(
    session: &Session,
    found: Vec<Found>,
    command: Option<&[OsString]>,
    timeout: Option<Duration>,
    sources: Sources,
) -> Result<u8> {
    let mut result = ApplyResult {
        outcome: Outcome::NothingToDo,
        exit_code: 0,
        group: None,
        repairs: Vec::new(),
        refused: Vec::new(),
        next: Vec::new(),
    };
    show(session, &found, &|finding| repair_with(session, finding, command));
    write_patch(session, found.iter().filter_map(|one| one.plan.as_ref().ok()))?;
    let standing: Vec<&Found> = found.iter().filter(|one| one.finding.confidence != Confidence::Refuted).collect();
    if found.is_empty() && command.is_some() && sources == Sources::Machine {
        // The command may fail with exactly this: without its log nobody can say that there is nothing to do.
        let says = Text::new("nothing of it shows without the command's log", "没有该命令的日志，看不到该问题的迹象");
        let words = report::argv(command.unwrap_or_default());
        let run = hints::run(session, "", &words);
        let hint = Text::new(format!("`{run}`, or `--log FILE`"), format!("请用 `{run}`，或加 `--log FILE`"));
        result.refused.push(withheld(RefusalReason::Guard, says, hint));
        return close(session, result, Outcome::Refused, 1);
    }
    if standing.is_empty() {
        let outcome = if found.is_empty() { Outcome::NothingToDo } else { Outcome::NothingWrong };
        return close(session, result, outcome, 0);
    }
    let mut acting: Vec<(&Found, &Plan)> = Vec::new();
    for one in &standing {
        match &one.plan {
            Ok(plan) if plan.acts() && plan.applicability > Applicability::Manual => acting.push((one, plan)),
            Ok(plan) => result.repairs.push(convert::repair(plan, Outcome::NotRepaired, &[])),
            Err(refusal) => result.refused.push(refusal.clone()),
        }
    }
    if !result.refused.is_empty() {
        return close(session, result, Outcome::Refused, 1);
    }
    if acting.is_empty() {
        return close(session, result, Outcome::NotRepaired, 1);
    }
    if session.common.dry_run {
        result.repairs.extend(acting.iter().map(|(_, plan)| convert::repair(plan, Outcome::WouldChange, &[])));
        return close(session, result, Outcome::WouldChange, 1);
    }
    for (_, plan) in &acting {
        match permission(session, plan)? {
            Permission::Granted => {}
            Permission::Declined => {
                result.repairs.push(convert::repair(plan, Outcome::Declined, &[]));
                return close(session, result, Outcome::Declined, 1);
            }
            Permission::Withheld(refusal) => {
                result.refused.push(refusal);
                return close(session, result, Outcome::Refused, 1);
            }
        }
    }
    apply(session, result, &acting, command, timeout)
}

fn apply(
    session: &Session,
    mut result: ApplyResult,
    acting: &[(&Found, &Plan)],
    command: Option<&[OsString]>,
    timeout: Option<Duration>,
) -> Result<u8> {
    let mut overlay = EnvOverlay::default();
    acting.iter().for_each(|(_, plan)| overlay.extend(&plan.overlay));
    let host = session.host_with(&overlay);
    let findings: Vec<&Finding> = acting.iter().map(|(one, _)| &one.finding).collect();
    let plans: Vec<&Plan> = acting.iter().map(|(_, plan)| *plan).collect();
    let before = acting.iter().filter(|(one, _)| !one.reading.logs.is_empty()).map(|(one, _)| one.reading.stage).max();
    let catalogue = Catalogue::embedded();
    let reader = Reader::new(catalogue.entries().iter().collect());
    let build = Build { reader: &reader, session, timeout, stdin: ReplayableStdin::remember(), kept: None };
    let rerun = match command.map(|command| merged_rerun(command, &plans)) {
        Some(Err(refusal)) => {
            result.refused.push(*refusal);
            return close(session, result, Outcome::Refused, 1);
        }
        Some(Ok(rerun)) => rerun,
        None => None,
    };
    // What the repair makes of the command is what has to be right.
    let asked = rerun.as_ref().map(|rerun| rerun.argv.as_slice()).or(command);
    let state = session.state()?;
    let root = &plans[0].root;
    writing::recover(session, &state, root)?;
    let mut group = writing::group(&state, root, command.unwrap_or_default());
    let mut checked: Vec<Checked> = Vec::new();
    let mut interrupted = false;
    let carried = carry_out(session, &mut group, &plans, &mut |applied| {
        checked = checks(&findings, &host, asked, Stage::Static);
        if let Some(not_proved) = judge_checks(&checked) {
            return not_proved;
        }
        let Some(rerun) = &rerun else { return Judgement::Repaired };
        if let Some(why) = unmet(session, &plans) {
            return Judgement::NotProved(why);
        }
        let attempt = match build.again(rerun, &overlay, applied) {
            Ok(attempt) => attempt,
            Err(error) => return Judgement::NotProved(Text::new(format!("{error:#}"), format!("{error:#}"))),
        };
        interrupted = attempt.ended.interrupted.is_some();
        checked = checks(&findings, &host, asked, Stage::Rerun);
        judge(&attempt, &findings, &checked, before)
    })?;
    let (outcome, code) = match &carried {
        Carried::Kept(Judgement::Repaired) => (Outcome::Repaired, 0),
        Carried::Kept(_) => (Outcome::StillFailing, 1),
        Carried::Undone(why) => {
            session.say(&Text::new(format!("not proved: {}", why.en), format!("未能证实：{}", why.zh)));
            let asked = Interrupts::install().ok().and_then(|interrupts| interrupts.requested());
            match asked {
                Some(signal) => (Outcome::Interrupted, u8::try_from(128 + signal).unwrap_or(1)),
                None if interrupted => (Outcome::Interrupted, 1),
                None => (Outcome::RolledBack, 1),
            }
        }
        Carried::Refused(refusal) => {
            result.refused.push(refusal.clone());
            return close(session, result, Outcome::Refused, 1);
        }
        Carried::NeedsAttention { why, left } => {
            let left = left.join("; ");
            session.warn(&Text::new(
                format!("taking the repair back did not complete ({why}): {left}"),
                format!("撤回修复未能完成（{why}）：{left}"),
            ));
            (Outcome::NeedsAttention, 2)
        }
    };
    let each = if code == 1 && outcome == Outcome::StillFailing { Outcome::Repaired } else { outcome };
    result.repairs.extend(plans.iter().map(|plan| convert::repair(plan, each, &checked)));
    if matches!(carried, Carried::Kept(_)) {
        let id = Some(group.id()).filter(|id| !id.is_empty());
        let recipes: Vec<String> = plans.iter().map(|plan| plan.recipe.clone()).collect();
        writing::remember(session, root, &recipes, id, &overlay);
        if let Some(id) = id {
            result.group = Some(id.to_owned());
            writing::prune(session, &state);
        }
    }
    if code == 0 && command.is_none() {
        next_step(session, &overlay);
    }
    close(session, result, outcome, code)
}

/// Says what the user does next where no command was given: the environment to set, and to run the build again.
fn next_step(session: &Session, overlay: &EnvOverlay) {
    for line in environment::shell_lines(overlay) {
        output::tell(&format!("  {}\n", for_screen(&line)));
    }
    session.say(&Text::new(
        "next: run your build again (or let `fix run -- CMD` do it)",
        "接下来：重新运行您的构建（或使用 `fix run -- CMD`）",
    ));
}

fn close(session: &Session, mut result: ApplyResult, outcome: Outcome, code: u8) -> Result<u8> {
    result.outcome = outcome;
    result.exit_code = code;
    if session.common.json {
        output::hand_out(report::json::render(&result).as_bytes());
    } else if !session.common.quiet {
        output::show(&report::text::render_apply(&result, &session.text_style()));
    }
    Ok(code)
}

/// The command with what every plan makes of it; refused where two plans want different words.
fn merged_rerun(command: &[OsString], plans: &[&Plan]) -> Result<Option<Rerun>, Box<Refusal>> {
    let reruns: Vec<&Rerun> = plans.iter().filter_map(|plan| plan.rerun.as_ref()).collect();
    let mut rewritten = reruns.iter().filter(|rerun| rerun.instead_of.is_some());
    let base = rewritten.next().or(reruns.first()).map(|rerun| (*rerun).clone());
    if rewritten.next().is_some() {
        return Err(Box::new(withheld(
            RefusalReason::Guard,
            Text::new("two repairs want to change the words of the command", "有两个修复都要改动命令本身"),
            Text::new("repair them one after the other", "请逐个修复"),
        )));
    }
    let Some(mut all) = base else { return Ok(None) };
    let mut seen: BTreeSet<OsString> = all.argv.iter().chain(command).cloned().collect();
    for word in reruns.iter().flat_map(|other| &other.argv) {
        if seen.insert(word.clone()) {
            all.argv.push(word.clone());
        }
    }
    Ok(Some(all))
}
