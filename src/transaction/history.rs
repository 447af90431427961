//! What was done, and forgetting it: the list of groups, and the limits to what is kept.

use std::time::Duration;

use super::TransactionError;
use super::damage::damage;
use super::journal::{GroupRecord, Summary};
use super::lock::Locks;
use super::past::Past;
use super::state::{GroupDir, StateDir};
use super::{Title, newcomers, refuse_mounts, undo};
use crate::change::AbsPath;
use crate::os::files::{FileError, Folder, Kind};
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

/// How much is kept.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Limits {
    pub groups: usize,
    pub age: Duration,
    pub bytes: u64,
    pub newcomers: Newcomers,
}

/// When files go that the user made since a repair, and an undo moved out of the way: nothing else has them.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Newcomers {
    /// By their age alone, however much else is kept.
    WhenOld,
    /// With the repair that they were in the way of: the user asked for it.
    AsTheRest,
}

impl Default for Limits {
    fn default() -> Self {
        Self { groups: 10, age: Duration::from_secs(14 * 24 * 3600), bytes: 10 << 30, newcomers: Newcomers::WhenOld }
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

fn summarise(state: &StateDir, group: &GroupDir) -> Option<GroupSummary> {
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

/// Forgets the oldest groups until the limits hold. What was cut off is never forgotten.
pub fn prune(state: &StateDir, limits: &Limits) -> Result<Pruned, TransactionError> {
    let mut pruned = Pruned::default();
    empty_forgotten(state)?;
    let now = machine::now();
    let (mut kept, mut bytes) = (0, 0);
    // One that cannot be forgotten is no reason to keep all the others.
    let mut failed = None;
    for group in state.groups()?.iter().rev() {
        let Some(summary) = summarise(state, group) else {
            // Cut off before it began, or while it was being forgotten.
            if !is_young(group, now) {
                forget(state, group)?;
            }
            continue;
        };
        match summary.state {
            GroupState::AtWork | GroupState::Unfinished | GroupState::RollingBack | GroupState::Unreadable(_) => {
                continue;
            }
            GroupState::Applied | GroupState::Undone | GroupState::RolledBack => {}
        }
        let is_old = age(group, &summary, now) > limits.age;
        if !is_old && !summary.newcomers.is_empty() && limits.newcomers == Newcomers::WhenOld {
            continue;
        }
        kept += 1;
        bytes += summary.bytes;
        if is_in_use(group)? {
            continue;
        }
        if kept > limits.groups || bytes > limits.bytes || is_old {
            kept -= 1;
            bytes -= summary.bytes;
            if let Err(error) = forget(state, group) {
                failed.get_or_insert(error);
                continue;
            }
            pruned.groups.push(group.id.clone());
            pruned.bytes += summary.bytes;
            pruned.newcomers += usize::from(!summary.newcomers.is_empty());
        }
    }
    pruned.groups.sort();
    failed.map_or(Ok(pruned), Err)
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
    let forgotten = state.create()?.create_or_open(FORGOTTEN.as_ref(), 0o700)?;
    trees::remove(&forgotten, group.id.as_ref())?;
    groups.rename(group.id.as_ref(), &forgotten, group.id.as_ref())?;
    groups.sync()?;
    Ok(trees::remove(&forgotten, group.id.as_ref())?)
}

/// Where groups go to be deleted, beside those that there are.
const FORGOTTEN: &str = "forgotten";

/// Deletes what was cut off while it was deleted.
fn empty_forgotten(state: &StateDir) -> Result<(), TransactionError> {
    let Ok(folder) = Folder::open(&state.path().resolve(FORGOTTEN)) else { return Ok(()) };
    for name in folder.names()? {
        trees::remove(&folder, &name)?;
    }
    Ok(())
}
