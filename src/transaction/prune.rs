//! Forgetting: the limits to what is kept, and which repairs go first.
//!
//! What was taken back already goes before any repair that stands: its backup is the only way back. A repair that
//! stands and is forgotten leaves a tombstone, so that a later rollback can say what became of it.

use std::collections::BTreeSet;
use std::time::Duration;

use super::history::summarise;
use super::journal::GroupRecord;
use super::past::Past;
use super::state::{GroupDir, StateDir};
use super::tombstone::{self, ForgottenBy, Tombstone};
use super::{GroupState, GroupSummary, TransactionError, refuse_mounts, undo};
use crate::os::files::Folder;
use crate::os::machine;
use crate::os::trees;

/// How much is kept.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Limits {
    pub groups: usize,
    pub age: Duration,
    pub bytes: u64,
    pub newcomers: Newcomers,
    pub clock: Clock,
}

/// When files go that the user made since a repair, and an undo moved out of the way: nothing else has them.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Newcomers {
    /// By their age alone, however much else is kept.
    WhenOld,
    /// With the repair that they were in the way of: the user asked for it.
    AsTheRest,
}

/// Which clock says how old something is. One that jumps ahead must not make all of it old at once.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Clock {
    /// As far as a repair confirms it that was made at least a day ago.
    Confirmed,
    /// This machine's, as it is: the user names days and sees what goes.
    AsItIs,
}

/// How long before now a repair must have been made to confirm the clock.
const A_DAY: Duration = Duration::from_secs(24 * 3600);

impl Default for Limits {
    fn default() -> Self {
        Self { groups: 10, age: 14 * A_DAY, bytes: 10 << 30, newcomers: Newcomers::WhenOld, clock: Clock::Confirmed }
    }
}

/// What was forgotten.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Pruned {
    pub groups: Vec<String>,
    pub bytes: u64,
    /// How many of them held what the user had made since.
    pub newcomers: usize,
}

/// Forgets repairs until the limits hold. What was cut off is never forgotten.
pub fn prune(state: &StateDir, limits: &Limits, by: ForgottenBy) -> Result<Pruned, TransactionError> {
    let chosen: Vec<String> = beyond(state, limits)?.into_iter().map(|group| group.id).collect();
    prune_these(state, &chosen, by)
}

/// Lists what is beyond the limits, oldest first: what [`prune`] would forget. Writes nothing.
pub fn beyond(state: &StateDir, limits: &Limits) -> Result<Vec<GroupSummary>, TransactionError> {
    let now = machine::now();
    let mut all = Vec::new();
    for group in state.groups()? {
        let Some(summary) = summarise(state, &group) else { continue };
        all.push((group, summary));
    }
    let clock = match limits.clock {
        Clock::AsItIs => now,
        Clock::Confirmed => {
            let made = all.iter().map(|(_, summary)| summary.at);
            made.filter(|at| *at + A_DAY <= now).max().unwrap_or_default()
        }
    };
    let mut going = Vec::new();
    let (mut kept, mut bytes) = (0, 0);
    // The newest first of those that stand, then the newest of those that were taken back.
    let (standing, undone): (Vec<_>, Vec<_>) =
        all.into_iter().rev().partition(|(_, summary)| summary.state == GroupState::Applied);
    for (group, summary) in standing.into_iter().chain(undone) {
        if !is_forgettable(&summary) {
            continue;
        }
        let is_old = age(&group, &summary, clock) > limits.age;
        if !is_old && !summary.newcomers.is_empty() && limits.newcomers == Newcomers::WhenOld {
            continue;
        }
        let fits = kept < limits.groups && bytes + summary.bytes <= limits.bytes && !is_old;
        if fits || is_in_use(&group)? {
            kept += 1;
            bytes += summary.bytes;
        } else {
            going.push(summary);
        }
    }
    going.sort_by(|a, b| (a.at, &a.id).cmp(&(b.at, &b.id)));
    Ok(going)
}

/// Forgets these repairs, and clears away what is left of some that were being forgotten when that was cut off.
pub fn prune_these(state: &StateDir, ids: &[String], by: ForgottenBy) -> Result<Pruned, TransactionError> {
    let mut pruned = Pruned::default();
    empty_going(state)?;
    let now = machine::now();
    let ids: BTreeSet<&String> = ids.iter().collect();
    // One that cannot be forgotten is no reason to keep all the others.
    let mut failed = None;
    for group in state.groups()? {
        let Some(summary) = summarise(state, &group) else {
            // Cut off before it began, or while it was being forgotten.
            if !is_young(&group, now) {
                forget(state, &group)?;
            }
            continue;
        };
        // It may be another one than when it was chosen.
        if !ids.contains(&group.id) || !is_forgettable(&summary) || is_in_use(&group)? {
            continue;
        }
        let stone = Tombstone::new(&summary, now, by);
        if let Err(error) = tombstone::put(state, &stone).and_then(|()| forget(state, &group)) {
            failed.get_or_insert(error);
            continue;
        }
        pruned.bytes += summary.bytes;
        pruned.newcomers += usize::from(!summary.newcomers.is_empty());
        pruned.groups.push(group.id);
    }
    pruned.groups.sort();
    failed.map_or(Ok(pruned), Err)
}

fn is_forgettable(summary: &GroupSummary) -> bool {
    match summary.state {
        GroupState::AtWork | GroupState::Unfinished | GroupState::RollingBack | GroupState::Unreadable(_) => false,
        GroupState::Applied | GroupState::Undone | GroupState::RolledBack => true,
    }
}

/// How old what a group keeps is: what the user made since came there with the undo.
fn age(group: &GroupDir, summary: &GroupSummary, now: Duration) -> Duration {
    let undone_at = group.records().unwrap_or_default().into_iter().rev().find_map(|record| match record {
        GroupRecord::RolledBack { at } => Some(Duration::from_nanos(at)),
        GroupRecord::Created { .. }
        | GroupRecord::Sealed { .. }
        | GroupRecord::RollingBack { .. }
        | GroupRecord::Pruned { .. } => None,
    });
    let since = if summary.newcomers.is_empty() { None } else { undone_at };
    now.saturating_sub(since.unwrap_or(summary.at))
}

/// Between two repairs of one invocation, its group looks finished.
fn is_in_use(group: &GroupDir) -> Result<bool, TransactionError> {
    let here = machine::Machine::here();
    for journal in group.journals() {
        if let Some(past) = Past::read(group, &journal)?
            && past.begin.machine == here
            && past.begin.process.pid != std::process::id()
            && past.begin.process.is_alive()
        {
            return Ok(true);
        }
    }
    Ok(false)
}

/// A group without records may be about to begin.
fn is_young(group: &GroupDir, now: Duration) -> bool {
    let status = group.folder().and_then(|folder| folder.own_status());
    status.is_ok_and(|status| now.as_secs().saturating_sub(status.modified.0 as u64) < 3600)
        && !group.records().is_ok_and(|records| !records.is_empty())
}

fn forget(state: &StateDir, group: &GroupDir) -> Result<(), TransactionError> {
    let groups = Folder::open(&state.path().resolve("groups"))?;
    refuse_mounts(&group.path)?;
    for journal in group.journals() {
        // Before it counts as forgotten.
        let past = Past::read(group, &journal)?;
        past.iter().flat_map(Past::set_aside).try_for_each(|attempt| refuse_mounts(&attempt.trash))?;
    }
    let records = group.records().unwrap_or_default();
    if !records.is_empty() && !matches!(records.last(), Some(GroupRecord::Pruned { .. })) {
        group.append(&GroupRecord::Pruned { at: machine::now().as_nanos() as u64 })?;
    }
    for journal in group.journals() {
        let Some(past) = Past::read(group, &journal)? else { continue };
        undo::discard(&past)?;
    }
    // Out of the list as a whole: what is deleted half-way is no group any more.
    let going = state.create()?.create_or_open(GOING.as_ref(), 0o700)?;
    trees::remove(&going, group.id.as_ref())?;
    groups.rename(group.id.as_ref(), &going, group.id.as_ref())?;
    groups.sync()?;
    Ok(trees::remove(&going, group.id.as_ref())?)
}

/// Where groups go to be deleted, beside those that there are.
const GOING: &str = "going";

/// Deletes what was cut off while it was deleted.
fn empty_going(state: &StateDir) -> Result<(), TransactionError> {
    let Ok(folder) = Folder::open(&state.path().resolve(GOING)) else { return Ok(()) };
    for name in folder.names()? {
        trees::remove(&folder, &name)?;
    }
    Ok(())
}
