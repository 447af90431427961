//! Undo: the newest group of a folder, whole, or a refusal.
//!
//! What stands there now is compared with what the repair left. What the user changed since is never replaced:
//! it is refused, or saved first, as a group that can itself be rolled back.

mod drift;
mod save_first;

use crate::change::AbsPath;
use crate::transaction::{
    Drift, GroupDir, GroupRecord, GroupState, Locks, Past, RecoveredOutcome, StateDir, TransactionError, Trust,
    Unrecoverable, Watch, finish_rollback, history, recover_one, refuse_unfinished, roots_of,
};

/// Which group to take back.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Which {
    /// The newest one of the project that this folder is in.
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
    #[error("the repair `{group}` was cut off and cannot be undone now: {why}")]
    Left { group: String, why: Unrecoverable },
    /// The rollback began and did not end; the next attempt goes on.
    #[error("the rollback of `{group}` is not complete: {}", left.join("; "))]
    Incomplete { group: String, left: Vec<String> },
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
    // A repair that is still at work is not cut off: its holder is named instead.
    drop(Locks::take(state, &roots_of(&group)?, "fix rollback")?);
    undo_cut_off(state, &group, watch)?;
    let roots = roots_of(&group)?;
    let _locks = Locks::take(state, &roots, "fix rollback")?;
    let mut result = RolledBack { group: group.id.clone(), ..RolledBack::default() };
    match group.records()?.last() {
        Some(GroupRecord::RolledBack { .. }) => return Err(RollbackError::Already(group.id)),
        // It was cut off: what is left of it was compared when it began.
        Some(GroupRecord::RollingBack { saved, .. }) => result.saved = saved.clone(),
        Some(GroupRecord::Created { .. } | GroupRecord::Pruned { .. }) | None => {
            refuse_unfinished(state, &roots)?;
            result.saved = begin(state, &group, on_drift, watch)?;
        }
    }
    let undone = finish_rollback(state, &group, result.saved.as_deref(), watch)?;
    if !undone.failed.is_empty() {
        return Err(RollbackError::Incomplete { group: group.id, left: undone.failed });
    }
    Ok(RolledBack { kept: undone.kept, left: undone.left, ..result })
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
            let summary = summary.ok_or_else(|| RollbackError::Unknown(id.clone()))?;
            if is_undone(&summary.state) {
                return Err(RollbackError::Already(id.clone()));
            }
            Ok(state.group(id))
        }
        Which::NewestIn(folder) => summaries
            .iter()
            .rev()
            .find(|summary| folder.is_within(&summary.root) && !is_undone(&summary.state))
            .map(|summary| state.group(&summary.id))
            .ok_or_else(|| RollbackError::Nothing(folder.clone())),
    }
}

/// Undoes what of the group was cut off: the user asked for the group by name or place, so that another boot or
/// file system is no reason to leave it alone.
fn undo_cut_off(state: &StateDir, group: &GroupDir, watch: &mut dyn Watch) -> Result<(), RollbackError> {
    if matches!(group.records()?.last(), Some(GroupRecord::RollingBack { .. })) {
        return Ok(());
    }
    for journal in group.journals().iter().rev() {
        let Some(past) = Past::read(group, journal)?.filter(Past::is_unfinished) else { continue };
        match recover_one(state, group, &past, Trust::UserAsked, watch)? {
            RecoveredOutcome::Undone { .. } => {}
            RecoveredOutcome::NeedsAttention { left } => {
                return Err(RollbackError::Incomplete { group: group.id.clone(), left });
            }
            RecoveredOutcome::Left(why) => return Err(RollbackError::Left { group: group.id.clone(), why }),
        }
    }
    Ok(())
}

/// Compares, saves what shall be saved, and records that the rollback begins. Returns the group of the save.
fn begin(
    state: &StateDir,
    group: &GroupDir,
    on_drift: OnDrift,
    watch: &mut dyn Watch,
) -> Result<Option<String>, RollbackError> {
    let pasts = drift::standing(group)?;
    drift::refuse_gone(&pasts)?;
    let drifts = drift::since(&pasts)?;
    let lost = drift::lost(group, &pasts)?;
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
    let at = crate::os::machine::now().as_nanos() as u64;
    group.append(&GroupRecord::RollingBack { at, saved: saved.clone() })?;
    Ok(saved)
}
