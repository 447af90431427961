//! Finishes what was cut off: repairs are undone, rollbacks are completed.
//!
//! Only on the machine, boot and file system where it began, and never beside a process that still works on
//! the files.

use super::apply::locked_root;
use super::damage::refuse_damage;
use super::history::root_of;
use super::journal::{Act, GroupRecord, Lines, Record, SeenAt};
use super::lock::Locks;
use super::past::Past;
use super::state::{GroupDir, StateDir};
use super::undo::{Undone, undo};
use super::{Title, TransactionError, Watch};
use crate::change::AbsPath;
use crate::os::machine::{self, Machine};

/// Something that was cut off.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Unfinished {
    pub group: String,
    pub root: AbsPath,
    pub recipe: String,
    pub title: Title,
    pub what: Interrupted,
}

/// What was cut off.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Interrupted {
    Repair,
    Rollback,
}

/// Which projects a recovery looks at.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Scope {
    All,
    /// Those that touched this folder, one above or one below it.
    Root(AbsPath),
}

/// One thing that a recovery met.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Recovered {
    pub unfinished: Unfinished,
    pub outcome: RecoveredOutcome,
}

/// What became of it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum RecoveredOutcome {
    /// All is as before the repair. `kept` names what was moved out of the way.
    Undone { kept: Vec<AbsPath> },
    /// Not all could be undone; `left` has a sentence for each thing, `kept` names what was moved out of the way.
    NeedsAttention { left: Vec<String>, kept: Vec<AbsPath> },
    /// It was left alone.
    Left(Unrecoverable),
}

/// Why a recovery leaves something alone. `fix rollback <group>` undoes it on the user's word, but for the last.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum Unrecoverable {
    #[error("it began on another machine")]
    OtherMachine,
    #[error("the machine was started anew since")]
    OtherBoot,
    #[error("`{0}` is on another file system now, or gone")]
    OtherFileSystem(AbsPath),
    #[error("process {0}, which it started, still runs")]
    ChildRuns(u32),
    #[error("{0}")]
    AtWork(String),
}

/// Lists what was cut off, without writing anything. A repair that is still at work is not among it, nor is what
/// cannot be read: the history shows that.
pub fn pending(state: &StateDir) -> Result<Vec<Unfinished>, TransactionError> {
    let mut all = Vec::new();
    for group in state.groups()? {
        let (Ok(rollback), Ok(pasts)) = (rolling_back(&group), unfinished(&group)) else { continue };
        if (rollback.is_some() || !pasts.is_empty()) && refuse_damage(&group).is_err() {
            continue;
        }
        if rollback.is_some() && !Locks::is_held(state, roots_of(&group)?.iter()) {
            all.extend(describe(&group, None, Interrupted::Rollback));
        }
        for past in pasts {
            if !(past.begin.machine == Machine::here() && past.begin.process.is_alive()) {
                all.extend(describe(&group, Some(&past), Interrupted::Repair));
            }
        }
    }
    Ok(all)
}

/// Finishes what was cut off. To be called by a command that is about to write.
pub fn recover(state: &StateDir, scope: &Scope, watch: &mut dyn Watch) -> Result<Vec<Recovered>, TransactionError> {
    let mut met = Vec::new();
    let mut groups = Vec::new();
    for group in state.groups()? {
        match concerns(scope, &group) {
            Ok(true) => groups.push(group),
            Ok(false) => {}
            // A stranger's unreadable journal is no reason to do nothing here.
            Err(error) => match scope {
                Scope::Root(root) if group.may_concern(std::slice::from_ref(root)) => return Err(error),
                Scope::All | Scope::Root(_) => {}
            },
        }
    }
    for group in &groups {
        if let Some(begun) = rolling_back(group)?
            && let Some(unfinished) = describe(group, None, Interrupted::Rollback)
        {
            refuse_damage(group)?;
            let outcome = finish(state, group, &begun, watch)?;
            met.push(Recovered { unfinished, outcome });
        }
    }
    // The newest first: it may stand on what an older one left.
    for group in groups.iter().rev() {
        for past in unfinished(group)?.into_iter().rev() {
            let Some(described) = describe(group, Some(&past), Interrupted::Repair) else { continue };
            refuse_damage(group)?;
            let outcome = match &past.begin.saves_for {
                Some(other) => settle_save(state, group, &past, other)?,
                None => recover_one(state, group, &past, Trust::SameBoot, watch)?,
            };
            // A save that was dropped or kept is nothing to speak of.
            if past.begin.saves_for.is_none() || !matches!(outcome, RecoveredOutcome::Undone { .. }) {
                met.push(Recovered { unfinished: described, outcome });
            }
        }
    }
    Ok(met)
}

/// The recipe name of what a forced rollback saves first.
pub(crate) const SAVES: &str = "rollback";

/// Whether an undo is done on the user's word.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Trust {
    SameBoot,
    UserAsked,
}

/// Undoes one transaction that was cut off.
pub(crate) fn recover_one(
    state: &StateDir,
    group: &GroupDir,
    past: &Past,
    trust: Trust,
    watch: &mut dyn Watch,
) -> Result<RecoveredOutcome, TransactionError> {
    if trust == Trust::SameBoot
        && let Some(why) = elsewhere(past, &past.begin.machine)
    {
        return Ok(RecoveredOutcome::Left(why));
    }
    let roots: Vec<AbsPath> = past.begin.locks.iter().map(|lock| lock.path.clone()).collect();
    // Before its children are looked at: those of a repair that is still at work are no survivors.
    let _locks = match Locks::take(state, &roots, "recovery") {
        Err(error @ TransactionError::Locked { .. }) => {
            return Ok(RecoveredOutcome::Left(Unrecoverable::AtWork(error.to_string())));
        }
        taken => taken?,
    };
    if let Some(path) = past.missing_anchor() {
        return Ok(RecoveredOutcome::Left(Unrecoverable::OtherFileSystem(path)));
    }
    let here = Machine::here();
    if here.boot == past.begin.machine.boot
        && let Some(child) = past.children.iter().find(|child| child.is_alive())
    {
        return Ok(RecoveredOutcome::Left(Unrecoverable::ChildRuns(child.pid)));
    }
    // Its owner may have finished it since it was read.
    let Some((mut past, mut lines)) = Past::reopen(group, &past.journal)? else {
        return Ok(RecoveredOutcome::Undone { kept: Vec::new() });
    };
    if !past.is_unfinished() {
        return Ok(RecoveredOutcome::Undone { kept: Vec::new() });
    }
    outcome_of(undo(&mut past, &mut lines, "it was cut off", watch))
}

fn outcome_of(undone: Result<Undone, TransactionError>) -> Result<RecoveredOutcome, TransactionError> {
    Ok(match undone? {
        Undone { kept, left, failed } if left.is_empty() && failed.is_empty() => RecoveredOutcome::Undone { kept },
        Undone { kept, left, failed } => RecoveredOutcome::NeedsAttention { left: [left, failed].concat(), kept },
    })
}

fn elsewhere(past: &Past, there: &Machine) -> Option<Unrecoverable> {
    let here = Machine::here();
    if here.id != there.id || (here.namespace != there.namespace && !past.children.is_empty()) {
        return Some(Unrecoverable::OtherMachine);
    }
    if here.boot != there.boot {
        return Some(Unrecoverable::OtherBoot);
    }
    past.begin.locks.iter().find_map(|lock| {
        let now = locked_root(&lock.anchor);
        let same = now.anchor == lock.anchor && (now.device, now.inode) == (lock.device, lock.inode);
        (!same).then(|| Unrecoverable::OtherFileSystem(lock.anchor.clone()))
    })
}

fn finish(
    state: &StateDir,
    group: &GroupDir,
    begun: &RollingBack,
    watch: &mut dyn Watch,
) -> Result<RecoveredOutcome, TransactionError> {
    let roots = roots_of(group)?;
    for journal in group.journals() {
        let Some(past) = Past::read(group, &journal)?.filter(|past| !past.closed) else { continue };
        if let Some(why) = elsewhere(&past, begun.machine.as_ref().unwrap_or(&past.begin.machine)) {
            return Ok(RecoveredOutcome::Left(why));
        }
        if let Some(path) = past.missing_anchor() {
            return Ok(RecoveredOutcome::Left(Unrecoverable::OtherFileSystem(path)));
        }
    }
    match Locks::take(state, &roots, "recovery") {
        Err(error @ TransactionError::Locked { .. }) => {
            Ok(RecoveredOutcome::Left(Unrecoverable::AtWork(error.to_string())))
        }
        Err(error) => Err(error),
        Ok(_locks) => outcome_of(finish_rollback(state, group, begun.saved.as_deref(), watch)),
    }
}

/// The locked roots of all transactions of a group.
pub(crate) fn roots_of(group: &GroupDir) -> Result<Vec<AbsPath>, TransactionError> {
    let mut roots = Vec::new();
    for journal in group.journals() {
        roots.extend(Past::read(group, &journal)?.into_iter().flat_map(|past| past.begin.locks).map(|lock| lock.path));
    }
    roots.sort();
    roots.dedup();
    Ok(roots)
}

/// Takes back all transactions of a group whose rollback is recorded as begun. May be repeated.
pub(crate) fn finish_rollback(
    state: &StateDir,
    group: &GroupDir,
    saved: Option<&str>,
    watch: &mut dyn Watch,
) -> Result<Undone, TransactionError> {
    let mut all = Undone::default();
    for journal in group.journals().iter().rev() {
        let Some((mut past, mut lines)) = Past::reopen(group, journal)? else { continue };
        if past.closed {
            continue;
        }
        let undone = undo(&mut past, &mut lines, "rolled back", watch)?;
        all.kept.extend(undone.kept);
        all.left.extend(undone.left);
        all.failed.extend(undone.failed);
        if !all.failed.is_empty() {
            // What is older may lie below what is not yet undone.
            return Ok(all);
        }
    }
    group.append(&GroupRecord::RolledBack { at: machine::now().as_nanos() as u64 })?;
    if let Some(saved) = saved {
        commit_save(&state.group(saved))?;
    }
    Ok(all)
}

/// What was saved before a forced rollback counts from the moment when that is through.
fn commit_save(group: &GroupDir) -> Result<(), TransactionError> {
    let Some((past, mut lines)) = Past::reopen(group, &group.journal(1))? else { return Ok(()) };
    if past.committed.is_some() || past.closed {
        return Ok(());
    }
    let mut seen = Vec::new();
    for (_, act) in &past.intents {
        let Act::Run { saves, .. } = act else { continue };
        for save in saves {
            seen.push(SeenAt::record(group, &save.anchor, &save.path)?);
        }
    }
    lines.append(&Record::Committed { at: machine::now().as_nanos() as u64, seen })?;
    group.seal(1, &lines)
}

/// A save whose rollback never began is dropped: nothing was changed. Else it stays.
fn settle_save(
    state: &StateDir,
    group: &GroupDir,
    past: &Past,
    other: &str,
) -> Result<RecoveredOutcome, TransactionError> {
    let roots: Vec<AbsPath> = past.begin.locks.iter().map(|lock| lock.path.clone()).collect();
    let _locks = match Locks::take(state, &roots, "recovery") {
        Err(error @ TransactionError::Locked { .. }) => {
            return Ok(RecoveredOutcome::Left(Unrecoverable::AtWork(error.to_string())));
        }
        taken => taken?,
    };
    let records = state.group(other).records()?;
    let began = records
        .iter()
        .any(|record| matches!(record, GroupRecord::RollingBack { saved: Some(saved), .. } if *saved == group.id));
    if began {
        if records.iter().any(|record| matches!(record, GroupRecord::RolledBack { .. })) {
            commit_save(group)?;
        }
        return Ok(RecoveredOutcome::Undone { kept: Vec::new() });
    }
    let (mut lines, _) = Lines::<Record>::reopen(&past.journal)?;
    super::undo::clean_all(past)?;
    lines.append(&Record::Closed { at: machine::now().as_nanos() as u64 })?;
    Ok(RecoveredOutcome::Undone { kept: Vec::new() })
}

/// A rollback that was begun and not finished.
pub(crate) struct RollingBack {
    /// The group that saves what the user had changed.
    saved: Option<String>,
    /// Where it began; old formats do not tell.
    machine: Option<Machine>,
}

/// The rollback of a group that was begun and not finished, if there is one.
pub(crate) fn rolling_back(group: &GroupDir) -> Result<Option<RollingBack>, TransactionError> {
    let mut begun = None;
    for record in group.records()? {
        match record {
            GroupRecord::RollingBack { saved, machine, .. } => begun = Some(RollingBack { saved, machine }),
            GroupRecord::RolledBack { .. } => begun = None,
            GroupRecord::Created { .. } | GroupRecord::Sealed { .. } | GroupRecord::Pruned { .. } => {}
        }
    }
    Ok(begun)
}

/// The transactions of a group that were cut off. A group that is being rolled back has none: its rollback is.
fn unfinished(group: &GroupDir) -> Result<Vec<Past>, TransactionError> {
    if rolling_back(group)?.is_some() {
        return Ok(Vec::new());
    }
    let mut found = Vec::new();
    for journal in group.journals() {
        found.extend(Past::read(group, &journal)?.filter(Past::is_unfinished));
    }
    Ok(found)
}

fn concerns(scope: &Scope, group: &GroupDir) -> Result<bool, TransactionError> {
    match scope {
        Scope::All => roots_of(group).map(|_| true),
        Scope::Root(root) => Ok(roots_of(group)?.iter().any(|path| path.is_within(root) || root.is_within(path))),
    }
}

fn describe(group: &GroupDir, past: Option<&Past>, what: Interrupted) -> Option<Unfinished> {
    let first = match past {
        Some(past) => Some(past.clone()),
        None => Past::read(group, &group.journal(1)).ok().flatten(),
    };
    let root = root_of(group).ok()?;
    let (recipe, title) = first.map(|past| (past.begin.recipe, past.begin.title)).unwrap_or_default();
    Some(Unfinished { group: group.id.clone(), root, recipe, title, what })
}
