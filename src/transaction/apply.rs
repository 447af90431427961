//! One invocation is one group of transactions; each is all or nothing.

use super::journal::{Act, Begin, FORMAT, Lines, LockedRoot, Record, Scratch, SeenAt, Summary};
use super::lock::Locks;
use super::past::Past;
use super::recovery::rolling_back;
use super::saved::save;
use super::set_aside::{self, Next, Stage};
use super::state::{GroupDir, StateDir};
use super::strangers::displaced;
use super::undo::{Undone, undo};
use super::{
    Applied, Drift, Event, Order, Outcome, Proof, RESERVE, TransactionError, Version, Watch, refuse_mounts, run, write,
};
use crate::change::{AbsPath, AllowedRoots, Change, FileState, RemoveTree, Run, TreeKind};
use crate::os::Name;
use crate::os::files::{Folder, Kind};
use crate::os::machine::{self, Machine, ProcessId};
use crate::os::trees::{Found, Place};

/// The transactions of one invocation, undone together by a rollback.
#[derive(Debug)]
pub struct Group {
    state: StateDir,
    root: AbsPath,
    command: Vec<String>,
    dir: Option<GroupDir>,
}

impl Group {
    /// Prepares a group for the project at `root`. Nothing is written before the first [`Group::apply`].
    ///
    /// `command` is what the history shows; it must be redacted already.
    pub fn new(state: &StateDir, root: AbsPath, command: Vec<String>) -> Group {
        Group { state: state.clone(), root, command, dir: None }
    }

    /// Its name; empty before the first transaction.
    pub fn id(&self) -> &str {
        self.dir.as_ref().map_or("", |dir| &dir.id)
    }

    /// Makes all changes of an order, has them proved, and keeps or undoes them.
    ///
    /// An error means that nothing was begun.
    pub fn apply(
        &mut self,
        order: &Order,
        watch: &mut dyn Watch,
        prove: &mut dyn FnMut(&Applied) -> Proof,
    ) -> Result<Outcome, TransactionError> {
        let mut roots = vec![self.root.clone()];
        for path in order.changes.iter().flat_map(Change::touches) {
            let root = order.roots.containing(path).ok_or_else(|| TransactionError::Outside(path.clone()))?;
            roots.push(root.clone());
        }
        roots.sort();
        roots.dedup();
        let locks = Locks::take(&self.state, &roots, &self.command.join(" "))?;
        refuse_unfinished(&self.state, &roots)?;
        let anchors = order
            .changes
            .iter()
            .map(|change| change.touches().into_iter().map(|path| anchor_of(order.roots, path)).collect())
            .collect::<Result<Vec<Vec<AbsPath>>, _>>()?;
        check(&self.state, order.changes, &anchors)?;
        let dir = match &self.dir {
            Some(dir) => dir.clone(),
            None => self.state.new_group(&self.root, &self.command)?,
        };
        self.dir = Some(dir.clone());
        let begin = begin(&dir, &roots, order);
        let mut transaction = Transaction::begin(dir, begin)?;
        let why = match transaction.carry_out(order, &anchors, &locks, watch, prove) {
            Ok(()) => return Ok(Outcome::Committed { transaction: transaction.past.begin.transaction }),
            Err(Stop::Why(why)) => why,
            Err(Stop::Error(error)) => error.to_string(),
        };
        Ok(transaction.undo(why, watch))
    }
}

fn begin(dir: &GroupDir, roots: &[AbsPath], order: &Order) -> Begin {
    let n = dir.journals().len() + 1;
    Begin {
        format: FORMAT,
        transaction: format!("{}.{n}", dir.id),
        at: machine::now().as_nanos() as u64,
        machine: Machine::here(),
        process: ProcessId::here(),
        locks: roots.iter().map(locked_root).collect(),
        recipe: order.recipe.to_owned(),
        slug: order.slug.to_owned(),
        case: order.case.to_owned(),
        title: order.title.clone(),
        digest: order.digest.to_owned(),
        changes: order.changes.iter().map(summary).collect(),
        saves_for: None,
    }
}

/// Describes a root by the deepest existing folder on the way to it.
pub(crate) fn locked_root(path: &AbsPath) -> LockedRoot {
    let anchor = existing_folder(path);
    let status = Folder::open(&anchor).and_then(|folder| folder.own_status());
    let (device, inode) = status.map_or((0, 0), |status| (status.device, status.inode));
    LockedRoot { path: path.clone(), anchor, device, inode }
}

fn existing_folder(path: &AbsPath) -> AbsPath {
    let mut at = path.clone();
    while !at.as_path().is_dir() {
        let Some(parent) = at.parent() else { break };
        at = parent;
    }
    at
}

/// The existing folder from which `path` is reached without following a link.
pub(crate) fn anchor_of(roots: &AllowedRoots, path: &AbsPath) -> Result<AbsPath, TransactionError> {
    let outside = || TransactionError::Outside(path.clone());
    let root = roots.containing(path).ok_or_else(outside)?;
    if path != root && root.as_path().is_dir() {
        return Ok(root.clone());
    }
    // A root that is the very file, or not there yet: what lies above it is the user's word.
    root.parent().map(|parent| existing_folder(&parent)).ok_or_else(outside)
}

fn summary(change: &Change) -> Summary {
    match change {
        Change::WriteFile(write) => match (&write.before, &write.after) {
            (FileState::Absent, _) => Summary::Create(write.path.clone()),
            (FileState::Present(_), FileState::Present(_)) => Summary::Modify(write.path.clone()),
            (FileState::Present(_), FileState::Absent) => Summary::Delete(write.path.clone()),
        },
        Change::RemoveTree(tree) => {
            Summary::SetAside { path: tree.path.clone(), files: tree.before.files, bytes: tree.before.bytes }
        }
        Change::Run(run) => Summary::Run {
            program: Name::new(run.argv.first().cloned().unwrap_or_default()),
            writes: run.writes.clone(),
        },
    }
}

/// Refuses to work on top of a repair that was cut off.
pub(crate) fn refuse_unfinished(state: &StateDir, roots: &[AbsPath]) -> Result<(), TransactionError> {
    let roots: Vec<AbsPath> = roots.iter().map(AbsPath::real).collect();
    let roots = roots.as_slice();
    // One whose project is gone is in nobody's way.
    let overlap = |lock: &LockedRoot| {
        let path = lock.path.real();
        let is_relative = |other: &AbsPath| path.is_within(other) || other.is_within(&path);
        lock.anchor.as_path().is_dir() && roots.iter().any(is_relative)
    };
    for group in state.groups()? {
        let is_rolling = rolling_back(&group).is_ok_and(|begun| begun.is_some());
        for journal in group.journals() {
            let past = match Past::read(&group, &journal) {
                Err(TransactionError::Damaged { .. } | TransactionError::NewerFormat { .. })
                    if !group.may_concern(roots) =>
                {
                    continue;
                }
                past => past?,
            };
            let is_cut_off = |past: &Past| past.is_unfinished() || (is_rolling && !past.closed);
            if past.is_some_and(|past| is_cut_off(&past) && past.begin.locks.iter().any(overlap)) {
                return Err(TransactionError::Unfinished(group.id));
            }
        }
    }
    Ok(())
}

/// Looks for drift before anything is written. What an earlier change of the same order touches is looked at
/// when its turn comes.
fn check(state: &StateDir, changes: &[Change], anchors: &[Vec<AbsPath>]) -> Result<(), TransactionError> {
    let no_group = state.group("none");
    let mut drifts = Vec::new();
    let mut earlier: Vec<&AbsPath> = Vec::new();
    for (change, anchors) in changes.iter().zip(anchors) {
        let is_fresh = |path: &AbsPath| !earlier.iter().any(|other| path.is_within(other) || other.is_within(path));
        match change {
            Change::WriteFile(write) if is_fresh(&write.path) => {
                let found = Place::find(&anchors[0], &write.path)?;
                drifts.extend(write::drift(&no_group, write, &found)?);
                refuse_pinned(&found, &write.path)?;
            }
            Change::RemoveTree(tree) => {
                if state.path().is_within(&tree.path) {
                    return Err(TransactionError::HoldsState(tree.path.clone()));
                }
                refuse_mounts(&tree.path)?;
                if is_fresh(&tree.path) {
                    drifts.extend(tree_drift(&anchors[0], tree)?);
                }
            }
            Change::Run(run) => {
                if let Some(path) = run.writes.iter().find(|path| state.path().is_within(path)) {
                    return Err(TransactionError::HoldsState(path.clone()));
                }
                run.writes.iter().try_for_each(refuse_mounts)?;
            }
            Change::WriteFile(_) => {}
        }
        earlier.extend(change.touches());
    }
    if drifts.is_empty() { Ok(()) } else { Err(TransactionError::Drift(drifts)) }
}

/// Refuses what could be neither replaced nor put back, before anything is begun.
fn refuse_pinned(found: &Found, path: &AbsPath) -> Result<(), TransactionError> {
    let (folder, name) = match found {
        Found::Here(place) => (&place.folder, &place.name),
        Found::NoParent { folder, missing, name } => (folder, missing.first().unwrap_or(name)),
    };
    match folder.why_not_replaceable(name)? {
        Some(why) => Err(TransactionError::Pinned { path: path.clone(), why }),
        None => Ok(()),
    }
}

fn tree_drift(anchor: &AbsPath, tree: &RemoveTree) -> Result<Option<Drift>, TransactionError> {
    let expected = Version::Folder { changed: Vec::new() };
    let drift = |present| Some(Drift { path: tree.path.clone(), expected: expected.clone(), present });
    let Found::Here(place) = Place::find(anchor, &tree.path)? else { return Ok(drift(Version::Absent)) };
    Ok(match place.status()? {
        None => drift(Version::Absent),
        Some(status) if status.kind == Kind::Link => {
            drift(Version::Link(place.folder.link_target(&place.name)?.into()))
        }
        Some(status) if status.kind != Kind::Folder => drift(Version::Other),
        Some(status) if (status.device, status.inode) != (tree.before.device, tree.before.inode) => {
            drift(Version::Folder { changed: Vec::new() })
        }
        Some(_) => None,
    })
}

/// Why the changes do not stay.
enum Stop {
    Why(String),
    Error(TransactionError),
}

impl<E: Into<TransactionError>> From<E> for Stop {
    fn from(error: E) -> Self {
        Stop::Error(error.into())
    }
}

/// A transaction under way.
struct Transaction {
    past: Past,
    lines: Lines<Record>,
}

impl Transaction {
    fn begin(dir: GroupDir, begin: Begin) -> Result<Self, TransactionError> {
        let n = dir.journals().len() + 1;
        let journal = dir.journal(n);
        let folder = dir.folder()?;
        reserve(&folder);
        let name = format!("{n}.jsonl");
        let lines = Lines::create(&folder, &name, &Record::Begin(begin.clone()))?;
        let past = Past::started(dir, journal, begin);
        Ok(Self { past, lines })
    }

    fn note(&mut self, record: Record) -> Result<(), TransactionError> {
        self.lines.append(&record)?;
        self.past.learn(record);
        Ok(())
    }

    fn carry_out(
        &mut self,
        order: &Order,
        anchors: &[Vec<AbsPath>],
        locks: &Locks,
        watch: &mut dyn Watch,
        prove: &mut dyn FnMut(&Applied) -> Proof,
    ) -> Result<(), Stop> {
        for (index, change) in order.changes.iter().enumerate() {
            stop_if_interrupted(watch)?;
            watch.event(Event::Change { index, total: order.changes.len() });
            match change {
                Change::WriteFile(file) => self.write(index, &anchors[index][0], file)?,
                Change::RemoveTree(tree) => self.set_aside(index, &anchors[index][0], tree, watch)?,
                Change::Run(run) => self.run(index, &anchors[index], run, order, locks, watch)?,
            }
            self.note(Record::Done { change: index })?;
        }
        stop_if_interrupted(watch)?;
        watch.event(Event::Proving);
        let transaction = self.past.begin.transaction.clone();
        let proof = {
            let mut note = |record| self.note(record);
            prove(&Applied {
                transaction: &transaction,
                changes: order.changes,
                note: (&mut note as &mut dyn FnMut(_) -> _).into(),
            })
        };
        if let Proof::Failed { why } = proof {
            return Err(Stop::Why(why));
        }
        stop_if_interrupted(watch)?;
        let seen = self.look()?;
        self.note(Record::Committed { at: machine::now().as_nanos() as u64, seen })?;
        // It stands, whether or not this can be written: without it the end of the journal is not watched over.
        let number = self.past.number().parse().expect("a transaction is named by its number");
        let _ = self.past.group.seal(number, &self.lines);
        // Only in the way from here on; the next prune finds it otherwise.
        let _ = self.past.group.folder().and_then(|folder| folder.remove_file(RESERVE.as_ref()));
        Ok(())
    }

    fn item(&self, index: usize, part: usize) -> String {
        format!("{}-{index}-{part}", self.past.number())
    }

    fn write(&mut self, change: usize, anchor: &AbsPath, file: &crate::change::WriteFile) -> Result<(), Stop> {
        self.note(Record::Saving { change })?;
        let act = write::intend(&self.past.group, anchor, file, self.item(change, 0))?;
        self.note(Record::Intent { change, act: act.clone() })?;
        Ok(write::act(anchor, file, &act)?)
    }

    fn set_aside(
        &mut self,
        change: usize,
        anchor: &AbsPath,
        tree: &RemoveTree,
        watch: &mut dyn Watch,
    ) -> Result<(), Stop> {
        if let Some(drift) = tree_drift(anchor, tree)? {
            return Err(TransactionError::Drift(vec![drift]).into());
        }
        refuse_mounts(&tree.path)?;
        watch.event(Event::Moving { path: tree.path.clone() });
        let Found::Here(place) = Place::find(anchor, &tree.path)? else {
            return Err(Stop::Why(format!("`{}` is gone", tree.path)));
        };
        let status = place.status()?.ok_or_else(|| Stop::Why(format!("`{}` is gone", tree.path)))?;
        let group = self.past.group.clone();
        let name = self.item(change, 0);
        let mut by_entries = false;
        let mut last = None;
        for attempt in set_aside::attempts(&group, anchor, tree, status, &name)? {
            if by_entries && attempt.parts == set_aside::Parts::Whole {
                continue;
            }
            self.note(Record::Intent { change, act: Act::SetAside(attempt.clone()) })?;
            if attempt.by == set_aside::By::Copy {
                watch.event(Event::Saving { path: tree.path.clone() });
            }
            let mut copied = || self.note(Record::Copied { change });
            let acted = attempt.act(&group, &mut copied, &mut |bytes| progress(watch, bytes));
            let Err(error) = acted else { return Ok(()) };
            let next = attempt.after(&error);
            if next == Next::Never {
                return Err(error.into());
            }
            attempt.put_back(Stage::Begun, &mut || Ok(()), &mut |_| Ok(()))?;
            attempt.clean()?;
            by_entries |= next == Next::ByEntries;
            last = Some(error);
        }
        Err(match last {
            Some(error) => error.into(),
            None => Stop::Why(format!("`{}` cannot be set aside", tree.path)),
        })
    }

    fn run(
        &mut self,
        change: usize,
        anchors: &[AbsPath],
        run: &Run,
        order: &Order,
        locks: &Locks,
        watch: &mut dyn Watch,
    ) -> Result<(), Stop> {
        let group = self.past.group.clone();
        let name = |part| self.item(change, part);
        let mut places = Vec::new();
        for (part, (path, anchor)) in run.writes.iter().zip(anchors).enumerate() {
            let beside = super::snapshot::place_beside(&group, path, &name(part));
            places.extend(beside.map(|path| Scratch { anchor: anchor.clone(), path }));
        }
        let names: Vec<String> = (0..run.writes.len()).map(name).collect();
        self.note(Record::Saving { change })?;
        if run.writes.iter().any(|path| path.as_path().is_dir()) {
            self.note(Record::Intent { change, act: Act::Scratch { places } })?;
        }
        let apart: Vec<&AbsPath> = run.writes.iter().collect();
        let mut saves = Vec::new();
        for ((path, anchor), name) in run.writes.iter().zip(anchors).zip(names) {
            watch.event(Event::Saving { path: path.clone() });
            saves.push(save(&group, anchor, path, name, &apart, &mut |bytes| progress(watch, bytes))?);
        }
        self.note(Record::Intent { change, act: Act::Run { saves, reversible: run.reversible } })?;
        watch.event(Event::Running {
            program: run.argv.first().map(|program| program.display().to_string()).unwrap_or_default(),
        });
        let mut child = None;
        let ran = run::run(run, order.overlay, locks, watch, &mut |process| {
            child = Some(process);
            self.note(Record::Child { process }).map_err(|error| error.to_string())
        });
        if let Some(process) = child {
            self.note(Record::ChildGone { process })?;
        }
        // What cannot be looked at now is told from what the user makes later by nothing: an undo keeps it then.
        if let Ok(seen) = self.seen_at(run.writes.iter().cloned().zip(anchors.iter().cloned())) {
            self.note(Record::Left { change, seen })?;
        }
        ran.map_err(Stop::Why)
    }

    /// Looks at all that this group has touched so far, as a rollback will compare it.
    fn look(&self) -> Result<Vec<SeenAt>, TransactionError> {
        let group = &self.past.group;
        let mut paths = Vec::new();
        for journal in group.journals() {
            let past =
                if journal == self.past.journal { Some(self.past.clone()) } else { Past::read(group, &journal)? };
            paths.extend(past.iter().filter(|past| !past.closed).flat_map(touched));
        }
        paths.sort();
        paths.dedup();
        self.seen_at(paths.into_iter())
    }

    fn seen_at(&self, paths: impl Iterator<Item = (AbsPath, AbsPath)>) -> Result<Vec<SeenAt>, TransactionError> {
        paths.map(|(path, anchor)| SeenAt::record(&self.past.group, &anchor, &path)).collect()
    }

    fn undo(mut self, why: String, watch: &mut dyn Watch) -> Outcome {
        match undo(&mut self.past, &mut self.lines, &why, watch) {
            Ok(Undone { kept, left, failed }) if left.is_empty() && failed.is_empty() => Outcome::Undone { why, kept },
            Ok(Undone { kept, left, failed }) => Outcome::NeedsAttention { why, left: [left, failed].concat(), kept },
            Err(error) => Outcome::NeedsAttention { why, left: vec![error.to_string()], kept: displaced(&self.past) },
        }
    }
}

/// The paths of a transaction whose later change is the user's. What is built in place of a derived folder, or
/// in it, is not.
pub(crate) fn touched(past: &Past) -> Vec<(AbsPath, AbsPath)> {
    let derived: Vec<&AbsPath> =
        past.set_aside().filter(|tree| tree.kind == TreeKind::Derived).map(|tree| &tree.path).collect();
    let mut paths = Vec::new();
    for (_, act) in &past.intents {
        match act {
            Act::Write { save, .. } => paths.push((save.path.clone(), save.anchor.clone())),
            Act::SetAside(tree) => paths.push((tree.path.clone(), tree.anchor.clone())),
            Act::Run { saves, .. } => {
                paths.extend(saves.iter().map(|save| (save.path.clone(), save.anchor.clone())));
            }
            Act::Scratch { .. } => {}
        }
    }
    paths.retain(|(path, _)| !derived.iter().any(|tree| path.is_within(tree)));
    paths
}

fn stop_if_interrupted(watch: &mut dyn Watch) -> Result<(), Stop> {
    if watch.interrupted() { Err(Stop::Why("interrupted".to_owned())) } else { Ok(()) }
}

fn progress(watch: &mut dyn Watch, bytes: u64) -> std::io::Result<()> {
    if watch.interrupted() {
        return Err(std::io::Error::other("interrupted"));
    }
    watch.event(Event::Copied { bytes });
    Ok(())
}

/// Keeps some space, where the file system can, so that an undo on a full disk can write its journal.
fn reserve(folder: &Folder) {
    let Ok(file) = folder.create_file(RESERVE.as_ref(), 0o600) else { return };
    let _ = rustix::fs::fallocate(&file, rustix::fs::FallocateFlags::empty(), 0, 256 << 10);
}
