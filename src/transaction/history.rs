//! What was done: the list of groups.

use std::time::Duration;

use super::TransactionError;
use super::damage::damage;
use super::journal::{GroupRecord, Summary};
use super::lock::Locks;
use super::past::Past;
use super::state::{GroupDir, StateDir};
use super::{Title, newcomers};
use crate::change::AbsPath;
use crate::os::files::{FileError, Kind};
use crate::os::machine;
use crate::os::trees::{self, Descend};

/// One invocation.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct GroupSummary {
    pub id: String,
    /// The project.
    pub root: AbsPath,
    /// Redacted.
    pub command: Vec<String>,
    /// Since 1970.
    pub at: Duration,
    pub state: GroupState,
    pub transactions: Vec<TransactionSummary>,
    /// What is kept for it, the user's own included.
    pub bytes: u64,
    /// What the user had made since, and an undo moved out of the way.
    pub newcomers: Vec<AbsPath>,
}

impl GroupSummary {
    /// Says whether it holds what the user had changed before a forced rollback: it comes back by name only.
    pub fn is_save(&self) -> bool {
        let is_save = |change: &Summary| matches!(change, Summary::Save(_));
        self.transactions.iter().any(|transaction| transaction.changes.iter().any(is_save))
    }
}

/// Whether a group can be taken back.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum GroupState {
    /// Something of it stays.
    Applied,
    /// All of it was undone at once.
    Undone,
    RolledBack,
    /// A rollback was begun and not finished.
    RollingBack,
    /// A repair, or a rollback, is being made right now.
    AtWork,
    /// A repair was cut off.
    Unfinished,
    /// Its journal cannot be read: a newer version's, damaged or lost. The text says it.
    Unreadable(String),
}

/// Reads what a group's journals hold, line by line as they are stored: arguments and excerpts are redacted there.
pub fn journals(state: &StateDir, group: &str) -> Vec<(String, Vec<u8>)> {
    let dir = state.group(group);
    let own = dir.folder().map(|folder| folder.join("group.jsonl".as_ref()));
    let files = own.into_iter().chain(dir.journals());
    files
        .filter_map(|path| Some((path.file_name()?.to_str()?.to_owned(), std::fs::read(path.as_path()).ok()?)))
        .collect()
}

/// One repair.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TransactionSummary {
    pub id: String,
    pub recipe: String,
    pub slug: String,
    pub case: String,
    pub title: Title,
    pub digest: String,
    pub changes: Vec<Summary>,
    pub state: TransactionState,
}

/// What became of a repair.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum TransactionState {
    Committed { at: Duration },
    Undone { why: String },
    Unfinished,
}

/// Lists all groups, oldest first. Nothing is written.
pub fn history(state: &StateDir) -> Result<Vec<GroupSummary>, TransactionError> {
    Ok(state.groups()?.iter().filter_map(|group| summarise(state, group)).collect())
}

/// The project of a group.
pub(crate) fn root_of(group: &GroupDir) -> Result<AbsPath, TransactionError> {
    match group.records()?.into_iter().next() {
        Some(GroupRecord::Created { root, .. }) => Ok(root),
        Some(_) | None => Err(TransactionError::Refused(format!("the group `{}` never began", group.id))),
    }
}

pub(super) fn summarise(state: &StateDir, group: &GroupDir) -> Option<GroupSummary> {
    let unreadable = |error: TransactionError| GroupSummary {
        id: group.id.clone(),
        root: state.path().clone(),
        command: Vec::new(),
        at: Duration::ZERO,
        state: GroupState::Unreadable(error.to_string()),
        transactions: Vec::new(),
        bytes: 0,
        newcomers: Vec::new(),
    };
    let records = match group.records() {
        Ok(records) => records,
        Err(error) => return Some(unreadable(error)),
    };
    let pasts: Result<Vec<Past>, _> =
        group.journals().iter().filter_map(|journal| Past::read(group, journal).transpose()).collect();
    let Some(GroupRecord::Created { root, command, at, .. }) = records.first().cloned() else {
        return lost_head(group, pasts, unreadable);
    };
    let damaged = |error| GroupSummary {
        root: root.clone(),
        command: command.clone(),
        at: Duration::from_nanos(at),
        ..unreadable(error)
    };
    let pasts = match pasts {
        Ok(pasts) => pasts,
        Err(error) => return Some(damaged(error)),
    };
    if records.iter().any(|record| matches!(record, GroupRecord::Pruned { .. })) {
        return None;
    }
    match damage(group, &pasts) {
        Ok(None) => {}
        Ok(Some(why)) => return Some(damaged(TransactionError::Refused(why))),
        Err(error) => return Some(damaged(error)),
    }
    Some(GroupSummary {
        id: group.id.clone(),
        root,
        command,
        at: Duration::from_nanos(at),
        state: group_state(state, &records, &pasts),
        bytes: kept_bytes(group, &pasts),
        newcomers: newcomers::all_of(group, &pasts),
        transactions: pasts.into_iter().map(transaction).collect(),
    })
}

/// A group that has lost its own file: `None` when it never began, and nothing is kept for it.
fn lost_head(
    group: &GroupDir,
    pasts: Result<Vec<Past>, TransactionError>,
    unreadable: impl Fn(TransactionError) -> GroupSummary,
) -> Option<GroupSummary> {
    match is_bare(group) {
        Ok(true) => return None,
        Ok(false) => {}
        Err(error) => return Some(unreadable(error.into())),
    }
    let why = TransactionError::Refused(format!("`{}` is gone or empty", group.path.resolve("group.jsonl")));
    let first = pasts.ok().and_then(|pasts| pasts.into_iter().next());
    let summary = unreadable(why);
    Some(match first {
        Some(Past { begin, .. }) => GroupSummary {
            root: begin.locks.first().map_or(summary.root, |lock| lock.path.clone()),
            at: Duration::from_nanos(begin.at),
            ..summary
        },
        None => summary,
    })
}

/// Says whether a group's folder has nothing but what a group begins with: its own file and empty folders.
fn is_bare(group: &GroupDir) -> Result<bool, FileError> {
    let mut is_bare = true;
    trees::walk::<FileError>(&group.folder()?, &mut |_, name, _, status| {
        is_bare &= status.kind == Kind::Folder || name == "group.jsonl" || name == super::RESERVE;
        Ok(if is_bare { Descend::Into } else { Descend::Skip })
    })?;
    Ok(is_bare)
}

fn group_state(state: &StateDir, records: &[GroupRecord], pasts: &[Past]) -> GroupState {
    let here = machine::Machine::here();
    let is_at_work = |past: &Past| past.begin.machine == here && past.begin.process.is_alive();
    let roots = || pasts.iter().flat_map(|past| &past.begin.locks).map(|lock| &lock.path);
    match records.last() {
        Some(GroupRecord::RolledBack { .. }) => return GroupState::RolledBack,
        Some(GroupRecord::RollingBack { .. }) if Locks::is_held(state, roots()) => return GroupState::AtWork,
        Some(GroupRecord::RollingBack { .. }) => return GroupState::RollingBack,
        Some(GroupRecord::Created { .. } | GroupRecord::Sealed { .. } | GroupRecord::Pruned { .. }) | None => {}
    }
    // Its process may live on without it, where a recovery is left to the next command.
    let mut unfinished = pasts.iter().filter(|past| past.is_unfinished()).peekable();
    if unfinished.peek().is_some() && unfinished.all(is_at_work) && Locks::is_held(state, roots()) {
        GroupState::AtWork
    } else if pasts.iter().any(Past::is_unfinished) {
        GroupState::Unfinished
    } else if pasts.iter().any(|past| !past.closed) {
        GroupState::Applied
    } else {
        GroupState::Undone
    }
}

fn transaction(past: Past) -> TransactionSummary {
    let state = match (&past.committed, past.undoing) {
        (Some(committed), _) => TransactionState::Committed { at: Duration::from_nanos(committed.at) },
        (None, Some(why)) if past.closed => TransactionState::Undone { why },
        (None, _) => TransactionState::Unfinished,
    };
    let begin = past.begin;
    TransactionSummary {
        id: begin.transaction,
        recipe: begin.recipe,
        slug: begin.slug,
        case: begin.case,
        title: begin.title,
        digest: begin.digest,
        changes: begin.changes,
        state,
    }
}

/// What a group holds: what was set aside as the plan counted it, copies as they are. Links cost nothing.
fn kept_bytes(group: &GroupDir, pasts: &[Past]) -> u64 {
    let trees: u64 = pasts
        .iter()
        .filter(|past| !past.closed)
        .flat_map(|past| &past.begin.changes)
        .map(|change| match change {
            Summary::SetAside { bytes, .. } => *bytes,
            Summary::Create(_) | Summary::Modify(_) | Summary::Delete(_) | Summary::Run { .. } | Summary::Save(_) => 0,
        })
        .sum();
    // Plain files of ours alone, so that the size of the folder is theirs; none is there before the first.
    let blobs = fs_extra::dir::get_size(group.path.resolve("blobs")).unwrap_or_default();
    trees + blobs + newcomers::all_of(group, pasts).iter().map(newcomers::size).sum::<u64>()
}
