//! From results to the report's model.

use super::sentences;
use crate::change::AbsPath;
use crate::diagnosis::{Confidence, Finding};
use crate::evidence::ProbeAnswer;
use crate::evidence::log::{LogLine, LogScan};
use crate::plan::{Plan, PlanError};
use crate::recipe::{Applicability, Case, Text};
use crate::report::{self, CheckLine, Outcome, Refusal, RefusalReason, RepairLine};
use crate::transaction::TransactionError;
use crate::verify::Checked;

/// Shows a finding with its plan, or with the reason why there is none: then nothing can be applied.
pub fn finding_with(found: &Finding, rank: usize, plan: Option<Result<&Plan, &PlanError>>) -> report::Finding {
    let mut shown = finding(found, rank, plan.and_then(Result::ok));
    if let Some(Err(error)) = plan {
        shown.applicability = Applicability::Manual;
        shown.limits = vec![plan_refusal(error).says];
    }
    shown
}

/// Shows a finding; `plan` says what `fix` would do about it.
pub fn finding(finding: &Finding, rank: usize, plan: Option<&Plan>) -> report::Finding {
    let confidence = match finding.confidence {
        Confidence::Refuted => report::Confidence::Refuted,
        Confidence::Possible => report::Confidence::Possible,
        Confidence::Likely => report::Confidence::Likely,
        Confidence::Certain => report::Confidence::Certain,
    };
    let cause = finding.says();
    let told = |case: &Case| case.advice.iter().filter_map(|text| text.fill(&finding.values)).collect();
    let advice = finding.case().map(told);
    let advice: Vec<Text> = plan.map(|plan| plan.advice.clone()).or(advice).unwrap_or_default();
    // Advice stands for the remedy only where `fix` does nothing itself; else the plan shows it beside what it does.
    let remedy = match advice.as_slice() {
        [] => finding.remedy().clone(),
        _ if plan.is_some_and(Plan::acts) => finding.remedy().clone(),
        advice => join(advice),
    };
    report::Finding {
        id: finding.recipe.id.clone(),
        slug: finding.recipe.slug.clone(),
        rank,
        confidence,
        applicability: plan.map_or(finding.applicability, |plan| plan.applicability),
        case: finding.case().map(|case| case.name.clone()).unwrap_or_default(),
        params: finding.params(),
        evidence: finding
            .evidence
            .iter()
            .map(|excerpt| report::Evidence {
                source: excerpt.source.clone(),
                first_line: excerpt.first_line,
                last_line: excerpt.last_line,
                text: excerpt.text.clone(),
            })
            .collect(),
        answers: finding
            .answers
            .iter()
            .filter(|answer| answer.answer.word != crate::evidence::questions::UNKNOWN)
            .map(|answer| report::AnswerLine {
                question: answer.question.clone(),
                answer: answer.answer.word.to_owned(),
                seen: answer.answer.seen.clone(),
                beside: is_beside(finding, answer),
            })
            .collect(),
        places: Vec::new(),
        changes: plan.map(report::ChangeLine::all_of).unwrap_or_default(),
        edits: Vec::new(),
        rule: report::Rule {
            family: finding.recipe.family.clone(),
            cause: finding.recipe.cause.clone(),
            remedy: finding.recipe.remedy.clone(),
            references: finding.recipe.references.clone(),
        },
        apply_with: apply_with(finding),
        title: finding.title().clone(),
        cause,
        remedy,
        repair: plan.map(report::would_do).unwrap_or_default(),
        limits: plan.map(|plan| plan.limits.clone()).unwrap_or_default(),
    }
}

/// Says whether another probe of the same question told what counted: the one that the case goes by, else the first.
fn is_beside(finding: &Finding, answer: &ProbeAnswer) -> bool {
    let counts = |probe: &str| finding.case().is_some_and(|case| case.when.contains_key(probe));
    let known = |other: &&ProbeAnswer| other.answer.word != crate::evidence::questions::UNKNOWN;
    let mut same = finding.answers.iter().filter(known).filter(|other| other.question == answer.question);
    let first = same.clone().next();
    match (counts(&answer.probe), same.any(|other| counts(&other.probe))) {
        (true, _) => false,
        (false, true) => true,
        (false, false) => first.is_some_and(|first| first.probe != answer.probe),
    }
}

/// The command that repairs a finding; what an audit asked about is named.
fn apply_with(finding: &Finding) -> String {
    let mut command = format!("fix {}", finding.recipe.id);
    let each = finding.recipe.audit.as_ref().and_then(|audit| audit.each.as_ref());
    if let (Some(each), None) = (each, finding.first_seen)
        && let Some(value) = finding.given.get(&each.param)
    {
        let given = format!("{}={}", each.param, value.to_text());
        command.push_str(&format!(" --set {}", shell_words::quote(&given)));
    }
    command
}

fn join(texts: &[Text]) -> Text {
    let of = |pick: fn(&Text) -> &str| texts.iter().map(pick).collect::<Vec<_>>().join("\n");
    Text::new(of(|text| &text.en), of(|text| &text.zh))
}

/// What became of a plan.
pub fn repair(plan: &Plan, outcome: Outcome, checks: &[Checked]) -> RepairLine {
    let checks = checks
        .iter()
        .map(|checked| CheckLine {
            question: checked.probe.clone(),
            answer: checked.answer.clone(),
            holds: checked.holds,
            seen: checked.seen.clone(),
        })
        .collect();
    RepairLine::of(plan, outcome, checks)
}

/// Why a finding has no plan.
pub fn plan_refusal(error: &PlanError) -> Refusal {
    match error {
        PlanError::OutsideRoots(path) => Refusal {
            reason: RefusalReason::OutsideRoots,
            path: Some(path.to_string()),
            says: Text::new(
                format!("refusing to touch `{path}`: it lies outside the allowed roots"),
                format!("拒绝改动 `{path}`：它不在允许的目录之内"),
            ),
            hint: Some(Text::new(
                format!("pass `--allow-path {path}` to allow it"),
                format!("如需允许，请加 `--allow-path {path}`"),
            )),
        },
        PlanError::Lower(error) => guard(error.0.clone()),
        PlanError::Conflict(path) => {
            guard(Text::new(format!("two steps want to change `{path}`"), format!("有两个步骤都要改动 `{path}`")))
        }
        PlanError::TwoCommands => guard(Text::new("two steps want to change the command", "有两个步骤都要改动命令")),
        PlanError::Unbound(name) => {
            guard(Text::new(format!("the repair is incomplete here: {name}"), format!("此处无法完成修复：{name}")))
        }
    }
}

fn guard(says: Text) -> Refusal {
    Refusal { reason: RefusalReason::Guard, path: None, says, hint: None }
}

/// Why nothing was begun.
pub fn transaction_refusal(error: &TransactionError) -> Refusal {
    let says = Text::new(error.to_string(), sentences::in_chinese(&error.to_string()));
    let refusal = |reason, path: Option<String>, hint| Refusal { reason, path, says: says.clone(), hint };
    match error {
        TransactionError::Locked { root, .. } => refusal(
            RefusalReason::Locked,
            Some(root.to_string()),
            Some(Text::new("try again when it has ended", "请待其结束后重试")),
        ),
        TransactionError::Drift(drifts) => refusal(
            RefusalReason::Drift,
            drifts.first().map(|drift| drift.path.to_string()),
            Some(Text::new("run `fix` again: it plans anew", "请重新运行 `fix`，它会重新规划")),
        ),
        TransactionError::Outside(path) => refusal(
            RefusalReason::OutsideRoots,
            Some(path.to_string()),
            Some(Text::new(
                format!("pass `--allow-path {path}` to allow it"),
                format!("如需允许，请加 `--allow-path {path}`"),
            )),
        ),
        TransactionError::HoldsState(path) => refusal(
            RefusalReason::Guard,
            Some(path.to_string()),
            Some(Text::new("name another `--state-dir`", "请另行指定 `--state-dir`")),
        ),
        TransactionError::HoldsMount { mount, .. } => refusal(
            RefusalReason::Guard,
            Some(mount.to_string()),
            Some(Text::new(format!("unmount `{mount}` first"), format!("请先卸载 `{mount}`"))),
        ),
        TransactionError::Pinned { path, .. } => refusal(
            RefusalReason::Guard,
            Some(path.to_string()),
            Some(Text::new(
                "nothing was changed; make it yours to change (`ls -ld`, `lsattr -d`), or apply the diff as its owner",
                "未作任何改动；请先使其可由您修改（`ls -ld`、`lsattr -d`），或以其所有者的身份应用该差异",
            )),
        ),
        TransactionError::Unfinished(group) => refusal(
            RefusalReason::Guard,
            None,
            Some(Text::new(
                format!("look at it with `fix rollback {group}`"),
                format!("请用 `fix rollback {group}` 处理"),
            )),
        ),
        TransactionError::Refused(_) => refusal(RefusalReason::Guard, None, None),
        TransactionError::NoState => refusal(
            RefusalReason::Surroundings,
            None,
            Some(Text::new("pass `--state-dir DIR`", "请加 `--state-dir DIR`")),
        ),
        TransactionError::ForeignState { path, .. } => refusal(
            RefusalReason::Surroundings,
            Some(path.to_string()),
            Some(Text::new("pass `--state-dir DIR`, a folder of yours", "请加 `--state-dir DIR`，指定您自己的目录")),
        ),
        TransactionError::Lost { group, .. } => without(refusal, group),
        TransactionError::Damaged { path, .. } => without(refusal, &path.parent().unwrap_or_else(|| path.clone())),
        TransactionError::File(_) | TransactionError::NewerFormat { .. } => {
            refusal(RefusalReason::Surroundings, None, None)
        }
    }
}

/// What to do about a repair whose record is damaged: its folder has all that was kept.
fn without(refusal: impl Fn(RefusalReason, Option<String>, Option<Text>) -> Refusal, group: &AbsPath) -> Refusal {
    let hint = Text::new(
        format!("what it kept is still there; to go on without it, move `{group}` somewhere else"),
        format!("其保留的内容仍在原处；如要放弃它继续，请把 `{group}` 移到别处"),
    );
    refusal(RefusalReason::Surroundings, Some(group.to_string()), Some(hint))
}

/// The lines that tell most, when nothing known matches.
pub fn telling(logs: &[LogScan]) -> Vec<report::Evidence> {
    let of = |log: &LogScan, line: &LogLine| report::Evidence {
        source: log.source.clone(),
        first_line: line.number,
        last_line: line.number,
        text: line.text.clone(),
    };
    let mut all: Vec<report::Evidence> =
        logs.iter().flat_map(|log| log.telling.iter().map(move |line| of(log, line))).take(20).collect();
    if all.is_empty() {
        let last = |log: &LogScan| log.tail.len().saturating_sub(10);
        all =
            logs.iter().flat_map(|log| log.tail[last(log)..].iter().map(move |line| of(log, line))).take(20).collect();
    }
    all
}
