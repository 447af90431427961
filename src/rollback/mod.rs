//! Undo: the newest group of a folder, whole, or a refusal.
//!
//! What stands there now is compared with what the repair left. What the user changed since is never replaced:
//! it is refused, or saved first, as a group that can itself be rolled back.

mod drift;
mod save_first;

use drift::Missing;

use crate::change::AbsPath;
use crate::os::machine;
use crate::transaction::{
    Drift, ForgottenBy, GroupDir, GroupRecord, GroupState, GroupSummary, Locks, Past, RecoveredOutcome, SeenAt,
    StateDir, Tombstone, TransactionError, Trust, Unrecoverable, Watch, damage, finish_rollback, history, recover_one,
    refuse_unfinished, roots_of, tombstones,
};

/// Which group to take back.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Which {
    /// The newest one of the project that this folder is in, but for what a forced rollback saved: that one brings
    /// back what was just taken back, and goes by name only.
    NewestIn(AbsPath),
    Id(String),
}

/// What to do about files that the user changed since.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum OnDrift {
    Refuse,
    /// Save them as a group of their own, then go on.
    SaveFirst,
}

/// What was taken back.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct RolledBack {
    pub group: String,
    /// The group that takes the forced rollback back.
    pub saved: Option<String>,
    /// What was built since and moved out of the way, and where it lies now.
    pub kept: Vec<AbsPath>,
    /// What can never be undone, a sentence each.
    pub left: Vec<String>,
}

/// Why nothing, or not all, was taken back.
#[derive(Debug, thiserror::Error)]
pub enum RollbackError {
    #[error(transparent)]
    Transaction(#[from] TransactionError),
    #[error("there is nothing to take back in `{0}`")]
    Nothing(AbsPath),
    /// It stands, and what would take it back is gone.
    #[error("the backup of the repair `{group}` was deleted on {day} by {by}")]
    Forgotten { group: String, day: String, by: ForgottenBy },
    #[error("there is no repair `{0}`")]
    Unknown(String),
    #[error("the repair `{0}` is undone already")]
    Already(String),
    /// Changed since; nothing was touched.
    #[error("{} changed since the repair `{group}`", names(drifts))]
    Drift { group: String, drifts: Vec<Drift> },
    /// The former content is lost: the files were changed in place while it was kept only as a link.
    #[error("the former content of {} is lost: it was changed in place", listed(paths))]
    Lost { group: String, paths: Vec<AbsPath> },
    /// What was set aside is not where it was put.
    #[error("what was set aside of `{path}` is no longer in `{trash}`")]
    Gone { path: AbsPath, trash: AbsPath },
    /// Nothing was touched: where the files were, there is nothing any more.
    #[error("`{path}`, where the repair `{group}` was made, is gone")]
    Moved { group: String, path: AbsPath },
    #[error("{missing} of the {of} files that were set aside of `{path}` are no longer in `{trash}`")]
    Partial { group: String, path: AbsPath, trash: AbsPath, missing: u64, of: u64 },
    #[error("the repair `{group}` cannot be read: {why}")]
    Unreadable { group: String, why: String },
    #[error("the repair `{group}` was cut off and cannot be undone now: {why}")]
    Left { group: String, why: Unrecoverable },
    /// The rollback began and did not end; the next attempt goes on.
    #[error("the rollback of `{group}` is not complete: {}", left.join("; "))]
    Incomplete { group: String, left: Vec<String>, kept: Vec<AbsPath> },
}

fn names(drifts: &[Drift]) -> String {
    listed(&drifts.iter().map(|drift| drift.path.clone()).collect::<Vec<_>>())
}

fn listed(paths: &[AbsPath]) -> String {
    match paths {
        [] => "nothing".to_owned(),
        [one] => format!("`{one}`"),
        [one, rest @ ..] => format!("`{one}` and {} more", rest.len()),
    }
}

/// Takes a group back, whole, in reverse.
pub fn roll_back(
    state: &StateDir,
    which: &Which,
    on_drift: OnDrift,
    watch: &mut dyn Watch,
) -> Result<RolledBack, RollbackError> {
    let group = choose(state, which)?;
    drift::refuse_moved(&group, &drift::standing(&group)?)?;
    group.mend_head()?;
    // A repair that is still at work is not cut off: its holder is named instead.
    drop(Locks::take(state, &roots_of(&group)?, "fix rollback")?);
    let kept = undo_cut_off(state, &group, watch)?;
    let roots = roots_of(&group)?;
    let _locks = Locks::take(state, &roots, "fix rollback")?;
    let mut result = RolledBack { group: group.id.clone(), kept, ..RolledBack::default() };
    match group.records()?.last() {
        Some(GroupRecord::RolledBack { .. }) => return Err(RollbackError::Already(group.id)),
        // It was cut off: it goes on, and keeps what came since.
        Some(GroupRecord::RollingBack { saved, .. }) => result.saved = saved.clone(),
        Some(GroupRecord::Created { .. } | GroupRecord::Sealed { .. } | GroupRecord::Pruned { .. }) | None => {
            refuse_unfinished(state, &roots)?;
            let begun = begin(state, &group, on_drift, watch)?;
            result.saved = begun.saved;
            result.left = begun.left;
        }
    }
    let undone = finish_rollback(state, &group, result.saved.as_deref(), watch)?;
    if !undone.failed.is_empty() {
        let kept = [result.kept, undone.kept].concat();
        return Err(RollbackError::Incomplete { group: group.id, left: undone.failed, kept });
    }
    result.kept.extend(undone.kept);
    result.left.extend(undone.left);
    Ok(result)
}

/// Finds the group that [`roll_back`] would take, by name; writes nothing.
pub fn find(state: &StateDir, which: &Which) -> Result<String, RollbackError> {
    choose(state, which).map(|group| group.id)
}

fn choose(state: &StateDir, which: &Which) -> Result<GroupDir, RollbackError> {
    let summaries = history(state)?;
    let is_undone = |state: &GroupState| matches!(state, GroupState::Undone | GroupState::RolledBack);
    match which {
        Which::Id(id) => {
            let summary = summaries.iter().find(|summary| summary.id == *id);
            let Some(summary) = summary else {
                let forgotten = tombstones(state)?.into_iter().rev().find(|stone| stone.group == *id);
                return Err(match forgotten {
                    Some(stone) if !stone.stood => RollbackError::Already(id.clone()),
                    Some(stone) => forgotten_one(&stone),
                    None => RollbackError::Unknown(id.clone()),
                });
            };
            if is_undone(&summary.state) {
                return Err(RollbackError::Already(id.clone()));
            }
            readable(state, summary)
        }
        Which::NewestIn(folder) => {
            let newest = summaries
                .iter()
                .rev()
                .find(|summary| folder.is_within(&summary.root) && !is_undone(&summary.state) && !summary.is_save());
            if let Some(summary) = newest {
                return readable(state, summary);
            }
            let forgotten = tombstones(state)?.into_iter().rev();
            let newest = forgotten.into_iter().find(|stone| stone.stood && folder.is_within(&stone.root));
            Err(newest.map_or_else(|| RollbackError::Nothing(folder.clone()), |stone| forgotten_one(&stone)))
        }
    }
}

fn forgotten_one(stone: &Tombstone) -> RollbackError {
    RollbackError::Forgotten { group: stone.group.clone(), day: stone.day(), by: stone.by }
}

/// A group may have lost its own file: its journals tell all that a rollback needs.
fn readable(state: &StateDir, summary: &GroupSummary) -> Result<GroupDir, RollbackError> {
    let group = state.group(&summary.id);
    match &summary.state {
        GroupState::Unreadable(_) if has_lost_its_head_only(&group) => Ok(group),
        GroupState::Unreadable(why) => Err(RollbackError::Unreadable { group: summary.id.clone(), why: why.clone() }),
        GroupState::Applied
        | GroupState::Undone
        | GroupState::RolledBack
        | GroupState::RollingBack
        | GroupState::AtWork
        | GroupState::Unfinished => Ok(group),
    }
}

fn has_lost_its_head_only(group: &GroupDir) -> bool {
    let pasts: Result<Vec<Past>, _> =
        group.journals().iter().filter_map(|journal| Past::read(group, journal).transpose()).collect();
    let is_headless = group.records().is_ok_and(|records| records.is_empty());
    is_headless && pasts.is_ok_and(|pasts| !pasts.is_empty() && matches!(damage(group, &pasts), Ok(None)))
}

/// Undoes what of the group was cut off: the user asked for the group by name or place, so that another boot or
/// file system is no reason to leave it alone. Returns what was moved out of the way.
fn undo_cut_off(state: &StateDir, group: &GroupDir, watch: &mut dyn Watch) -> Result<Vec<AbsPath>, RollbackError> {
    let mut all_kept = Vec::new();
    if matches!(group.records()?.last(), Some(GroupRecord::RollingBack { .. })) {
        return Ok(all_kept);
    }
    for journal in group.journals().iter().rev() {
        let Some(past) = Past::read(group, journal)?.filter(Past::is_unfinished) else { continue };
        match recover_one(state, group, &past, Trust::UserAsked, watch)? {
            RecoveredOutcome::Undone { kept } => all_kept.extend(kept),
            RecoveredOutcome::NeedsAttention { left, kept } => {
                all_kept.extend(kept);
                return Err(RollbackError::Incomplete { group: group.id.clone(), left, kept: all_kept });
            }
            RecoveredOutcome::Left(why) => return Err(RollbackError::Left { group: group.id.clone(), why }),
        }
    }
    Ok(all_kept)
}

/// A rollback that may go on.
struct Begun {
    /// The group of the save.
    saved: Option<String>,
    /// What will not be back, a sentence each.
    left: Vec<String>,
}

/// Compares, saves what shall be saved, and records that the rollback begins.
fn begin(state: &StateDir, group: &GroupDir, on_drift: OnDrift, watch: &mut dyn Watch) -> Result<Begun, RollbackError> {
    let pasts = drift::standing(group)?;
    drift::refuse_mounts(&pasts)?;
    drift::refuse_gone(&pasts)?;
    let mut left = Vec::new();
    if let Some(Missing { path, trash, missing, of }) = drift::missing(&pasts)? {
        let partial = RollbackError::Partial { group: group.id.clone(), path, trash, missing, of };
        match on_drift {
            OnDrift::Refuse => return Err(partial),
            OnDrift::SaveFirst => left.push(partial.to_string()),
        }
    }
    let drifts = drift::since(&pasts)?;
    let lost = drift::lost(group, &pasts)?;
    // Before it is saved: what changes from here on is neither, and is kept apart.
    let record = |drift: &SeenAt| SeenAt::record(group, &drift.anchor, &drift.path);
    let seen = match on_drift {
        OnDrift::Refuse => Vec::new(),
        OnDrift::SaveFirst => drifts.iter().map(record).collect::<Result<_, _>>()?,
    };
    let saved = match on_drift {
        OnDrift::Refuse if !drifts.is_empty() => {
            return Err(RollbackError::Drift { group: group.id.clone(), drifts: drift::shown(group, drifts) });
        }
        OnDrift::Refuse if !lost.is_empty() => {
            return Err(RollbackError::Lost { group: group.id.clone(), paths: lost });
        }
        OnDrift::SaveFirst if !drifts.is_empty() => Some(save_first::save_first(state, group, &pasts, &drifts, watch)?),
        OnDrift::Refuse | OnDrift::SaveFirst => None,
    };
    let at = machine::now().as_nanos() as u64;
    let machine = Some(machine::Machine::here());
    group.append(&GroupRecord::RollingBack { at, saved: saved.clone(), seen, machine })?;
    Ok(Begun { saved, left })
}
