//! `fix history`: what was changed, and forgetting the oldest of it.

use std::time::Duration;

use anyhow::Result;

use super::args::{History, HistoryAction, Prune};
use super::output;
use super::repair::withheld;
use super::session::{Session, for_screen};
use super::{Refused, writing};
use crate::diff::bytes_for_reading;
use crate::recipe::Text;
use crate::report::{self, HistoryLine, Outcome, RefusalReason};
use crate::transaction::{self, Clock, ForgottenBy, GroupState, GroupSummary, Limits, Newcomers, StateDir};

/// Shows the operation log, or forgets old entries.
pub fn run(args: &History, session: &Session) -> Result<u8> {
    let state = session.state()?;
    match &args.action {
        Some(HistoryAction::Prune(args)) => prune(args, session, &state),
        None => show(session, &state, Outcome::Listed, &[]).map(|()| 0),
    }
}

/// Shows the log; `deleted` is what was, or would be, deleted from it.
fn show(session: &Session, state: &StateDir, outcome: Outcome, deleted: &[GroupSummary]) -> Result<()> {
    let groups = transaction::history(state)?;
    let document = report::History {
        outcome,
        groups: groups.iter().rev().map(line).collect(),
        deleted: deleted.iter().rev().map(line).collect(),
    };
    if session.common.json {
        output::hand_out(report::json::render(&document).as_bytes());
    } else {
        output::show(&report::text::render_history(&document, &session.text_style()));
        groups.iter().for_each(|group| mention_unreadable(session, group));
        writing::mention_unfinished(session);
    }
    Ok(())
}

/// Says why a repair cannot be read: nothing of it is forgotten meanwhile.
fn mention_unreadable(session: &Session, group: &GroupSummary) {
    let (id, GroupState::Unreadable(why)) = (&group.id, &group.state) else { return };
    session.warn(&Text::new(
        format!("{id} cannot be read: {why}; what it kept is not deleted"),
        format!("{id} 无法读取：{why}；其保留的内容不会被删除"),
    ));
}

fn line(group: &GroupSummary) -> HistoryLine {
    HistoryLine {
        id: group.id.clone(),
        time: i64::try_from(group.at.as_secs()).unwrap_or(i64::MAX),
        outcome: outcome(&group.state),
        folder: group.root.to_string(),
        recipes: group.transactions.iter().map(|transaction| transaction.recipe.clone()).collect(),
        changes: group.transactions.iter().map(|transaction| transaction.changes.len()).sum(),
        bytes: group.bytes,
    }
}

/// What became of a group, as a result tells it.
pub fn outcome(state: &GroupState) -> Outcome {
    match state {
        GroupState::Applied => Outcome::Repaired,
        GroupState::Undone => Outcome::RolledBack,
        GroupState::RolledBack => Outcome::Restored,
        GroupState::AtWork => Outcome::AtWork,
        GroupState::RollingBack | GroupState::Unfinished => Outcome::NeedsAttention,
        GroupState::Unreadable(_) => Outcome::Failed,
    }
}

/// Deletes backups beyond the limits, after it has named them and was told to; returns the exit status.
fn prune(args: &Prune, session: &Session, state: &StateDir) -> Result<u8> {
    let usual = writing::limits(session);
    let limits = Limits {
        groups: args.keep.unwrap_or(usual.groups),
        age: args.days.map_or(usual.age, |days| Duration::from_secs(days.saturating_mul(86_400))),
        bytes: args.gib.map_or(usual.bytes, |gib| gib.saturating_mul(1 << 30)),
        newcomers: Newcomers::AsTheRest,
        clock: if args.days.is_some() { Clock::AsItIs } else { usual.clock },
    };
    let going = transaction::beyond(state, &limits)?;
    if going.is_empty() {
        if !session.common.dry_run {
            // What is left of some that were being deleted when that was cut off.
            transaction::prune_these(state, &[], ForgottenBy::User)?;
        }
        session.say(&Text::new("no backup is beyond the limits", "没有超出保留上限的备份"));
        return show(session, state, Outcome::Listed, &[]).map(|()| 0);
    }
    if !session.common.json {
        going.iter().for_each(|group| tell_going(session, group));
    }
    if session.common.dry_run {
        if session.common.json {
            return show(session, state, Outcome::WouldChange, &going).map(|()| 1);
        }
        session.say(&Outcome::WouldChange.sentence());
        return Ok(1);
    }
    if !may(session, &going)? {
        session.say(&Outcome::Declined.sentence());
        return Ok(1);
    }
    let ids: Vec<String> = going.iter().map(|group| group.id.clone()).collect();
    let pruned = transaction::prune_these(state, &ids, ForgottenBy::User)?;
    let (count, size) = (pruned.groups.len(), bytes_for_reading(pruned.bytes));
    session.say(&Text::new(
        format!("deleted the backups of {count} repairs ({size})"),
        format!("已删除 {count} 次修复的备份（{size}）"),
    ));
    if pruned.newcomers > 0 {
        let count = pruned.newcomers;
        session.say(&Text::new(
            format!("with {count} of them went what had been made since the repair and stood in the way of an undo"),
            format!("其中 {count} 次还包括修复之后产生、因挡住撤销而被移走的内容"),
        ));
    }
    let deleted: Vec<GroupSummary> = going.into_iter().filter(|group| pruned.groups.contains(&group.id)).collect();
    show(session, state, Outcome::Listed, &deleted).map(|()| 0)
}

/// Names a backup that goes, and what is lost with it.
fn tell_going(session: &Session, group: &GroupSummary) {
    let (id, folder, size) = (&group.id, &group.root, bytes_for_reading(group.bytes));
    let recipes: Vec<&str> = group.transactions.iter().map(|transaction| transaction.recipe.as_str()).collect();
    let recipes = recipes.join(", ");
    let lost = match (&group.state, group.is_save(), group.newcomers.is_empty()) {
        (_, true, _) => Text::new("holds changes of yours", "其中有您自己的改动"),
        (GroupState::Applied, ..) => {
            Text::new("the repair stands and cannot be taken back then", "该修复仍然有效，删除后将无法撤销")
        }
        (_, _, false) => Text::new("taken back; holds what was made since", "已撤销；其中有修复之后产生的内容"),
        _ => Text::new("taken back already", "已撤销"),
    };
    let text = Text::new(
        format!("would delete {id} in {folder} ({recipes}; {size}): {}", lost.en),
        format!("将删除 {folder} 中的 {id}（{recipes}；{size}）：{}", lost.zh),
    );
    output::show(&format!("{}\n", for_screen(text.get(session.lang()))));
}

/// Whether these may be deleted: nothing brings them back.
fn may(session: &Session, going: &[GroupSummary]) -> Result<bool> {
    if session.common.yes.is_some() {
        return Ok(true);
    }
    let count = going.len();
    if session.can_ask() {
        return session.ask(&Text::new(
            format!("Delete {count} backups? Nothing brings them back."),
            format!("删除这 {count} 份备份？删除后无法恢复。"),
        ));
    }
    Err(Refused::new(withheld(
        RefusalReason::NoInput,
        Text::new("nobody can be asked here", "此处无法询问"),
        Text::new("add `--yes`", "请加 `--yes`"),
    ))
    .into())
}
