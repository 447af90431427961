//! A transaction as its journal tells it.

use std::collections::BTreeSet;
use std::path::Path;

use super::TransactionError;
use super::apply::touched;
use super::journal::{Act, Begin, Lines, Record, SeenAt, Summary, Told, damaged, read};
use super::saved::Saved;
use super::set_aside::{SetAside, Stage};
use super::state::GroupDir;
use crate::change::AbsPath;
use crate::os::machine::ProcessId;

/// Journals name what is kept by whole paths. What lay in the group's folder lies there still, wherever the state
/// folder was moved.
fn moved_along(group: &GroupDir, act: &mut Act) {
    match act {
        Act::SetAside(attempt) => {
            let old = attempt.trash_anchor.resolve("groups").resolve(&group.id);
            if let Ok(below) = attempt.trash.as_path().strip_prefix(&old) {
                attempt.trash = group.path.resolve(below);
                attempt.trash_anchor = group.state.clone();
            }
        }
        Act::Run { saves, .. } => {
            for save in saves {
                let Saved::Tree(tree) = &mut save.before else { continue };
                let in_group = Path::new("groups").join(&group.id).join("snapshots").join(&save.name);
                if tree.snapshot.as_path().ends_with(&in_group) {
                    tree.snapshot = group.path.resolve("snapshots").resolve(&save.name);
                }
            }
        }
        Act::Write { .. } | Act::Scratch { .. } => {}
    }
}

/// What a journal says.
#[derive(Debug, Clone)]
pub(crate) struct Past {
    pub group: GroupDir,
    pub journal: AbsPath,
    pub begin: Begin,
    /// The check sum of each line, where the format has them.
    pub sums: Option<Vec<String>>,
    /// Changes whose files were being saved.
    pub saving: BTreeSet<usize>,
    pub intents: Vec<(usize, Act)>,
    pub copied: BTreeSet<usize>,
    pub done: BTreeSet<usize>,
    pub children: Vec<ProcessId>,
    /// What commands left when they ended.
    pub left: Vec<SeenAt>,
    pub committed: Option<Committed>,
    pub undoing: Option<String>,
    pub cleared: BTreeSet<usize>,
    pub undone: BTreeSet<usize>,
    pub closed: bool,
}

#[derive(Debug, Clone)]
pub(crate) struct Committed {
    pub at: u64,
    pub seen: Vec<SeenAt>,
}

impl Past {
    /// Reads a journal; `None` when it was cut off before it began.
    pub fn read(group: &GroupDir, journal: &AbsPath) -> Result<Option<Past>, TransactionError> {
        Past::tell(group, journal, read(journal)?)
    }

    /// Reads a journal to go on writing it.
    pub fn reopen(group: &GroupDir, journal: &AbsPath) -> Result<Option<(Past, Lines<Record>)>, TransactionError> {
        let (lines, told) = Lines::reopen(journal)?;
        Ok(Past::tell(group, journal, told)?.map(|past| (past, lines)))
    }

    /// A transaction that has just begun.
    pub fn started(group: GroupDir, journal: AbsPath, begin: Begin) -> Past {
        Past {
            group,
            journal,
            begin,
            sums: None,
            saving: BTreeSet::new(),
            intents: Vec::new(),
            copied: BTreeSet::new(),
            done: BTreeSet::new(),
            children: Vec::new(),
            left: Vec::new(),
            committed: None,
            undoing: None,
            cleared: BTreeSet::new(),
            undone: BTreeSet::new(),
            closed: false,
        }
    }

    fn tell(group: &GroupDir, journal: &AbsPath, told: Told<Record>) -> Result<Option<Past>, TransactionError> {
        let mut records = told.records.into_iter().enumerate();
        let Some((_, Record::Begin(begin))) = records.next() else { return Ok(None) };
        let mut past = Past::started(group.clone(), journal.clone(), begin);
        past.sums = told.sums;
        for (line, record) in records {
            past.learn(record);
            if let Some(why) = past.contradiction() {
                return Err(damaged(journal, line, why));
            }
        }
        Ok(Some(past))
    }

    /// Says what of the last record cannot be true: what old formats have instead of check sums. An undo that believed
    /// a damaged path would write another file.
    fn contradiction(&self) -> Option<String> {
        if let Some((change, act)) = self.intents.last() {
            let planned = self.begin.changes.get(*change).map(Summary::paths).unwrap_or_default();
            let paths: Vec<&AbsPath> = match act {
                Act::Write { save, .. } => vec![&save.path],
                Act::SetAside(attempt) => vec![&attempt.path],
                Act::Run { saves, .. } => saves.iter().map(|save| &save.path).collect(),
                Act::Scratch { .. } => Vec::new(),
            };
            if let Some(path) = paths.into_iter().find(|path| !planned.contains(path)) {
                return Some(format!("the plan has no `{path}`"));
            }
        }
        let committed = self.committed.as_ref()?;
        let is_seen = |path: &AbsPath| committed.seen.iter().any(|seen| seen.path == *path);
        touched(self)
            .into_iter()
            .find(|(path, _)| !is_seen(path))
            .map(|(path, _)| format!("nothing was seen at `{path}`"))
    }

    /// Takes in one more record.
    pub fn learn(&mut self, record: Record) {
        match record {
            // One head is enough.
            Record::Begin(_) => {}
            Record::Saving { change } => {
                self.saving.insert(change);
            }
            Record::Intent { change, mut act } => {
                moved_along(&self.group, &mut act);
                self.intents.push((change, act));
            }
            Record::Copied { change } => {
                self.copied.insert(change);
            }
            Record::Done { change } => {
                self.done.insert(change);
            }
            Record::Child { process } => self.children.push(process),
            Record::ChildGone { process } => self.children.retain(|child| *child != process),
            Record::Left { seen, .. } => self.left.extend(seen),
            Record::Committed { at, seen } => self.committed = Some(Committed { at, seen }),
            Record::Undoing { why, .. } => self.undoing = Some(why),
            Record::Cleared { change } => {
                self.cleared.insert(change);
            }
            Record::Undone { change } => {
                self.undone.insert(change);
            }
            Record::Closed { .. } => self.closed = true,
        }
    }

    /// Its number in its group; the names of all that is kept for it begin with that.
    pub fn number(&self) -> &str {
        self.begin.transaction.rsplit('.').next().unwrap_or_default()
    }

    /// Says whether it was cut off: neither committed and left so, nor undone to the end.
    pub fn is_unfinished(&self) -> bool {
        !self.closed && (self.committed.is_none() || self.undoing.is_some())
    }

    /// Names a folder that all of it lay in and that is gone: the project was moved, deleted or is not mounted.
    pub fn missing_anchor(&self) -> Option<AbsPath> {
        let anchors = self.intents.iter().flat_map(|(_, act)| match act {
            Act::Write { save, .. } => vec![&save.anchor],
            Act::SetAside(attempt) => vec![&attempt.anchor],
            Act::Run { saves, .. } => saves.iter().map(|save| &save.anchor).collect(),
            Act::Scratch { .. } => Vec::new(),
        });
        anchors.into_iter().find(|anchor| !anchor.as_path().is_dir()).cloned()
    }

    /// Lists the files and folders that the intents before the one at `at` may have changed.
    pub fn touched_before(&self, at: usize) -> impl Iterator<Item = &AbsPath> {
        self.intents[..at].iter().flat_map(|(_, act)| match act {
            Act::Write { save, .. } => vec![&save.path],
            Act::Run { saves, .. } => saves.iter().map(|save| &save.path).collect(),
            Act::SetAside(_) | Act::Scratch { .. } => Vec::new(),
        })
    }

    /// Lists the attempts to set folders aside.
    pub fn set_aside(&self) -> impl Iterator<Item = &SetAside> {
        self.intents.iter().filter_map(|(_, act)| match act {
            Act::SetAside(attempt) => Some(attempt),
            Act::Write { .. } | Act::Scratch { .. } | Act::Run { .. } => None,
        })
    }

    /// How far the attempt at `at` among the intents had got. Only the last attempt of a change can have
    /// succeeded.
    pub fn stage(&self, at: usize) -> Stage {
        let change = self.intents[at].0;
        if self.intents[at + 1..].iter().any(|(later, _)| *later == change) {
            return Stage::Begun;
        }
        if self.cleared.contains(&change) {
            Stage::Cleared
        } else if self.done.contains(&change) {
            Stage::Done
        } else if self.copied.contains(&change) {
            Stage::Copied
        } else {
            Stage::Begun
        }
    }
}
