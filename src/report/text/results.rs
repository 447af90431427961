//! How applying, running, planning and undoing ended.

use crate::diff::{bytes_for_reading, thousands};
use crate::recipe::Text;

use super::super::{
    ApplyResult, ChangeKind, ChangeLine, Outcome, PlanResult, Refusal, RepairLine, RollbackResult, RunResult, words,
};
use super::TextStyle;
use super::diagnosis::show_finding;
use super::page::{BAD, BOLD, GOOD, PLAIN, Page, framed};

/// Renders the end of `fix apply`.
pub fn render_apply(result: &ApplyResult, style: &TextStyle) -> String {
    let mut page = Page::new(style);
    show_repairs(&mut page, &result.repairs);
    show_refused(&mut page, &result.refused);
    show_outcome(&mut page, result.outcome);
    show_way_back(&mut page, result.outcome, result.group.as_deref());
    if !result.next.is_empty() {
        let command = page.command(&result.next);
        page.line(PLAIN, 0, words::next(command).get(style.lang));
    }
    page.finish()
}

/// Renders the end of `fix run`.
pub fn render_run(result: &RunResult, style: &TextStyle) -> String {
    let mut page = Page::new(style);
    for (index, run) in result.runs.iter().enumerate() {
        let number = index + 1;
        let text = if run.with.is_empty() {
            words::ran(number, run.status)
        } else {
            words::ran_with(number, run.status, run.with.join(", "))
        };
        page.say(PLAIN, 0, &text);
    }
    show_repairs(&mut page, &result.repairs);
    show_refused(&mut page, &result.refused);
    if result.is_first_failure() {
        page.say(BAD, 0, &result.sentence());
    } else {
        show_outcome(&mut page, result.outcome);
    }
    show_way_back(&mut page, result.outcome, result.group.as_deref());
    if !result.remaining.is_empty() {
        page.say(BOLD, 0, &if result.is_first_failure() { words::what_is_wrong() } else { words::still_wrong() });
        result.remaining.iter().for_each(|finding| show_finding(&mut page, finding));
    }
    page.finish()
}

/// Renders the end of `fix plan`.
pub fn render_plan(result: &PlanResult, style: &TextStyle) -> String {
    let mut page = Page::new(style);
    show_refused(&mut page, &result.refused);
    show_outcome(&mut page, result.outcome);
    if let Some(file) = &result.file {
        let file = page.safe(file);
        page.line(PLAIN, 0, words::plan_file(file).get(style.lang));
    }
    page.finish()
}

/// Renders the end of `fix rollback`.
pub fn render_rollback(result: &RollbackResult, style: &TextStyle) -> String {
    let mut page = Page::new(style);
    for path in &result.restored {
        let path = page.safe(path);
        page.line(PLAIN, 0, words::restored_path(path).get(style.lang));
    }
    for path in &result.kept {
        let path = page.safe(path);
        page.line(PLAIN, 0, words::kept_path(path).get(style.lang));
    }
    show_refused(&mut page, &result.refused);
    show_outcome(&mut page, result.outcome);
    page.finish()
}

fn show_outcome(page: &mut Page<'_>, outcome: Outcome) {
    let style = match outcome {
        Outcome::NothingWrong
        | Outcome::Clean
        | Outcome::Repaired
        | Outcome::Restored
        | Outcome::Passed
        | Outcome::NothingToDo => GOOD,
        Outcome::Refused
        | Outcome::NotRepaired
        | Outcome::RolledBack
        | Outcome::NeedsAttention
        | Outcome::StillFailing
        | Outcome::Interrupted
        | Outcome::NoMatch
        | Outcome::Found
        | Outcome::Failed => BAD,
        Outcome::WouldChange | Outcome::Planned | Outcome::Declined | Outcome::AtWork | Outcome::Listed => PLAIN,
    };
    page.say(style, 0, &outcome.sentence());
}

/// Says how to undo, where something is left to be undone.
fn show_way_back(page: &mut Page<'_>, outcome: Outcome, group: Option<&str>) {
    let Some(group) = group else {
        return;
    };
    match outcome {
        Outcome::RolledBack | Outcome::Restored | Outcome::Interrupted | Outcome::WouldChange | Outcome::Declined => {}
        Outcome::NothingWrong
        | Outcome::Clean
        | Outcome::Found
        | Outcome::NoMatch
        | Outcome::NothingToDo
        | Outcome::Repaired
        | Outcome::Planned
        | Outcome::Refused
        | Outcome::NotRepaired
        | Outcome::NeedsAttention
        | Outcome::Passed
        | Outcome::StillFailing
        | Outcome::AtWork
        | Outcome::Listed
        | Outcome::Failed => page.say(PLAIN, 0, &words::take_back(group)),
    }
}

fn show_repairs(page: &mut Page<'_>, repairs: &[RepairLine]) {
    for repair in repairs {
        let lang = page.style.lang;
        let text = format!("{}: {} – {}", repair.id, repair.title.get(lang), repair.outcome.sentence().get(lang));
        page.prose(BOLD, 0, &text);
        // What was not done, or is undone, is not told as done; the plan was shown above. What an undo left is named
        // by it.
        let done = matches!(repair.outcome, Outcome::Repaired | Outcome::StillFailing);
        for change in repair.changes.iter().filter(|_| done) {
            let text = change_text(page, change);
            page.line(PLAIN, 2, text.get(lang));
        }
        let mut told: Vec<String> = Vec::new();
        for check in &repair.checks {
            let frame = if check.holds {
                words::check_holds(&check.question, &check.answer)
            } else {
                words::check_fails(&check.question, &check.answer)
            };
            let text = format!("{} – {}", frame.get(lang), check.seen.get(lang));
            // Two checks may ask the same.
            if !told.contains(&text) {
                page.prose(PLAIN, 2, &text);
                told.push(text);
            }
        }
    }
}

fn change_text(page: &mut Page<'_>, change: &ChangeLine) -> Text {
    let path = page.safe(&change.path);
    match change.kind {
        ChangeKind::WriteFile => words::change_write(path),
        ChangeKind::RemoveFile => words::change_delete(path),
        ChangeKind::RemoveTree => match change.files.zip(change.bytes) {
            Some((files, bytes)) => words::change_tree_of(path, thousands(files), bytes_for_reading(bytes)),
            None => words::change_tree(path),
        },
        ChangeKind::Run => words::change_run(page.command(&change.argv)),
        ChangeKind::Environment => words::change_environment(path),
        ChangeKind::Command => words::change_command(page.command(&change.argv)),
        ChangeKind::Precondition => words::change_precondition(path),
    }
}

fn show_refused(page: &mut Page<'_>, refused: &[Refusal]) {
    for refusal in refused {
        page.say(BAD, 0, &refusal.says);
        if let Some(hint) = &refusal.hint {
            page.say(PLAIN, 2, &framed(hint, |text| words::hint(text)));
        }
    }
}
