//! A folder set aside: renamed away, which takes no time at any size, or emptied entry by entry, or copied.
//!
//! Which of these works is found out by trying; every attempt is in the journal before it begins. An undo may
//! be cut off and repeated: what lies in the trash is moved back, what does not was never moved.

use std::ffi::{OsStr, OsString};
use std::path::{Path, PathBuf};

use rustix::io::Errno;
use serde::{Deserialize, Serialize};

use super::TransactionError;
use super::beside::{self, BESIDE};
use super::newcomers::is_newcomer;
use super::state::GroupDir;
use crate::change::{AbsPath, RemoveTree, TreeFolder, TreeKind};
use crate::os::files::{FileError, FileTime, Folder, Kind, Status};
use crate::os::survey::{self, Sizes};
use crate::os::trees::{self, Copier, Found, Place};
use crate::os::{Name, machine};

/// One attempt to set a folder aside.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct SetAside {
    pub anchor: AbsPath,
    pub path: AbsPath,
    pub kind: TreeKind,
    pub status: Status,
    /// The folder that holds the record and what was moved.
    pub trash: AbsPath,
    /// An existing folder above `trash`.
    pub trash_anchor: AbsPath,
    pub by: By,
    pub parts: Parts,
}

/// How it is moved.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum By {
    Rename,
    Copy,
}

/// What of it is moved.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Parts {
    Whole,
    /// The folder stays, for it is somebody's working folder, a mount point, or cannot be moved.
    Entries {
        entries: Vec<Name>,
        folders: Vec<StayingFolder>,
    },
}

/// A folder that stays where it is, with the times it had.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct StayingFolder {
    /// Relative to the folder that is emptied; empty for that itself.
    pub path: Name,
    pub accessed: FileTime,
    pub modified: FileTime,
}

/// How far a change had got when its undo began.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Stage {
    /// What stands at the path is what was not yet moved.
    Begun,
    /// The copy is complete, the original perhaps not any more.
    Copied,
    /// What stands at the path appeared since.
    Done,
    /// What appeared since is out of the way.
    Cleared,
}

/// Where trash may be.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Where {
    State,
    /// In `.fix` beside the folder.
    Beside,
    /// In `.fix` in the folder itself, which is emptied.
    Within,
}

/// Lists the attempts to make, best first. Later ones are for when earlier ones fail.
pub(crate) fn attempts(
    group: &GroupDir,
    anchor: &AbsPath,
    tree: &RemoveTree,
    status: Status,
    name: &str,
) -> Result<Vec<SetAside>, TransactionError> {
    let (path, kind) = (&tree.path, tree.kind);
    let real = std::fs::canonicalize(path).unwrap_or_else(|_| path.as_path().to_owned());
    let pinned: Vec<PathBuf> = machine::pinned_below(&real)
        .into_iter()
        .filter_map(|pin| pin.strip_prefix(&real).map(Path::to_owned).ok())
        .collect();
    let entries = listed(anchor, path, &pinned)?;
    let mut ways = Vec::new();
    if pinned.is_empty() && tree.folder == TreeFolder::Goes {
        let ways_of_the_whole = [(Where::State, By::Rename), (Where::Beside, By::Rename), (Where::State, By::Copy)];
        ways.extend(ways_of_the_whole.map(|(place, by)| (place, by, Parts::Whole)));
    }
    for (place, by) in
        [(Where::State, By::Rename), (Where::Beside, By::Rename), (Where::Within, By::Rename), (Where::State, By::Copy)]
    {
        if place == Where::Beside && tree.folder == TreeFolder::StaysBehindLink {
            continue;
        }
        ways.push((place, by, entries.clone()));
    }
    let mut list = Vec::new();
    for (n, (place, by, parts)) in ways.into_iter().enumerate() {
        // Each has a trash of its own: an undo must not take the content of one for that of another.
        let (trash, trash_anchor) = match place {
            Where::State => (group.path.resolve("trash").resolve(format!("{name}-{n}")), group.state.clone()),
            Where::Beside | Where::Within => {
                let folder = if place == Where::Within { Some(path.clone()) } else { path.parent() };
                let Some(folder) = folder else { continue };
                (folder.resolve(BESIDE).resolve(format!("{}-{name}-{n}", group.id)), anchor.clone())
            }
        };
        let (anchor, path) = (anchor.clone(), path.clone());
        list.push(SetAside { anchor, path, kind, status, trash, trash_anchor, by, parts });
    }
    Ok(list)
}

/// Lists what is moved when the folders in `pinned` (relative) and those above them have to stay.
fn listed(anchor: &AbsPath, path: &AbsPath, pinned: &[PathBuf]) -> Result<Parts, TransactionError> {
    let mut entries = Vec::new();
    let mut folders = Vec::new();
    let mut stay = vec![PathBuf::new()];
    while let Some(below) = stay.pop() {
        let Found::Here(place) = Place::find(anchor, &path.resolve(&below))? else { continue };
        let Some(status) = place.status()?.filter(|status| status.kind == Kind::Folder) else { continue };
        folders.push(StayingFolder { path: Name::new(&below), accessed: status.accessed, modified: status.modified });
        for name in place.folder.open_child(&place.name)?.names()? {
            let entry = below.join(&name);
            if entry == Path::new(BESIDE) {
                continue;
            }
            if pinned.iter().any(|pin| pin.starts_with(&entry)) {
                stay.push(entry);
            } else {
                entries.push(Name::new(&entry));
            }
        }
    }
    Ok(Parts::Entries { entries, folders })
}

/// What follows from an attempt that failed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Next {
    /// The next one may work.
    Following,
    /// Only one that leaves the folder itself in place may work.
    ByEntries,
    /// None will.
    Never,
}

impl SetAside {
    /// Says what to try after this attempt failed so.
    pub fn after(&self, error: &TransactionError) -> Next {
        let TransactionError::File(error) = error else { return Next::Never };
        match (&self.parts, self.by) {
            _ if error.is_cross_device() => Next::Following,
            (Parts::Whole, By::Rename) if error.is_pinned() => Next::ByEntries,
            (Parts::Entries { .. }, By::Rename) if error.is_pinned() => Next::Following,
            (Parts::Whole | Parts::Entries { .. }, By::Rename | By::Copy) => Next::Never,
        }
    }

    /// Sets the folder aside. `copied` is called when a copy is complete, before the original is touched.
    pub fn act(
        &self,
        group: &GroupDir,
        copied: &mut dyn FnMut() -> Result<(), TransactionError>,
        progress: trees::Progress,
    ) -> Result<(), TransactionError> {
        if self.by == By::Copy {
            // Before gigabytes are copied in vain.
            for (_, below) in self.items() {
                self.live(&below)?.folder.check_writable()?;
            }
        }
        let trash = self.make_trash(group)?;
        let inner = self.items_folder(&trash)?;
        let items = inner.as_ref().unwrap_or(&trash);
        match self.by {
            By::Rename => {
                for (name, below) in self.items() {
                    let place = self.live(&below)?;
                    progress(0).map_err(|source| place.folder.error("move", &place.name, source))?;
                    place.folder.rename(&place.name, items, &name)?;
                }
                // Once at the end: whichever of the moves survive a power cut, the undo finds its way.
                items.sync()?;
                self.sync_parents()?;
            }
            By::Copy => {
                let mut copier = Copier::new(self.trash_anchor.clone());
                for (name, below) in self.items() {
                    let place = self.live(&below)?;
                    copier.copy(&place.folder, &place.name, items, &name, progress)?;
                }
                items.sync_file_system()?;
                copied()?;
                for (_, below) in self.items() {
                    let place = self.live(&below)?;
                    trees::remove(&place.folder, &place.name)?;
                }
                self.sync_parents()?;
            }
        }
        Ok(())
    }

    /// Puts the folder back. `cleared` is called when what appeared since is out of the way.
    pub fn put_back(
        &self,
        stage: Stage,
        cleared: &mut dyn FnMut() -> Result<(), TransactionError>,
        progress: trees::Progress,
    ) -> Result<(), TransactionError> {
        let Some(trash) = self.open_trash()? else { return Ok(()) };
        let items = match self.parts {
            Parts::Whole => None,
            Parts::Entries { .. } => match trash.open_child(ENTRIES.as_ref()) {
                Ok(folder) => Some(folder),
                Err(error) if error.errno() == Some(Errno::NOENT) => return Ok(()),
                Err(error) => return Err(error.into()),
            },
        };
        let items = items.as_ref().unwrap_or(&trash);
        if self.by == By::Copy && stage == Stage::Begun {
            return Ok(());
        }
        if stage == Stage::Done {
            self.clear(&trash, items)?;
            cleared()?;
        }
        let mut copier = Copier::new(self.anchor.clone());
        for (name, below) in self.items() {
            if items.status(&name)?.is_none() {
                continue;
            }
            let place = Place::make(&self.anchor, &self.path.resolve(&below), 0o777)?;
            match self.by {
                By::Rename => {
                    if place.status()?.is_some() {
                        self.move_away(&trash, &place)?;
                    }
                    match items.rename(&name, &place.folder, &place.name) {
                        Err(error) if error.is_cross_device() => self.bring(items, &name, &place, progress)?,
                        renamed => renamed?,
                    }
                }
                By::Copy => {
                    // What is left of the folder, or was copied back already, is a part of the copy; else somebody
                    // works there.
                    if !trees::is_part_of((&place.folder, &place.name), (items, &name))? {
                        self.move_away(&trash, &place)?;
                    }
                    copier.copy(items, &name, &place.folder, &place.name, progress)?;
                }
            }
        }
        items.sync()?;
        self.sync_parents()?;
        if self.by == By::Copy
            && let Found::Here(place) = Place::find(&self.anchor, &self.path)?
        {
            place.folder.sync_file_system()?;
        }
        Ok(())
    }

    /// Puts a part back that was renamed away, where the trash has come to another file system since: complete under
    /// another name first, so that a copy that was cut off is never taken for a newcomer.
    fn bring(
        &self,
        items: &Folder,
        name: &OsStr,
        place: &Place,
        progress: trees::Progress,
    ) -> Result<(), TransactionError> {
        let mut coming = OsString::from(".fix-back-");
        coming.push(self.trash.file_name().unwrap_or_default());
        coming.push("-");
        coming.push(name);
        Copier::new(self.anchor.clone()).copy(items, name, &place.folder, &coming, progress)?;
        place.folder.sync_file_system()?;
        place.folder.rename(&coming, &place.folder, &place.name)?;
        place.folder.sync()?;
        Ok(trees::remove(items, name)?)
    }

    /// Removes the trash after the undo, unless it holds what appeared meanwhile.
    pub fn clean(&self) -> Result<(), TransactionError> {
        match self.open_trash()? {
            Some(trash) if trash.names()?.iter().any(|name| is_newcomer(name)) => {
                trees::remove(&trash, WHOLE.as_ref())?;
                trees::remove(&trash, ENTRIES.as_ref())?;
            }
            Some(_) | None => self.discard()?,
        }
        self.restore_times()
    }

    /// Removes the trash with all that is in it.
    pub fn discard(&self) -> Result<(), TransactionError> {
        if let Found::Here(place) = Place::find(&self.trash_anchor, &self.trash)? {
            trees::remove(&place.folder, &place.name)?;
            place.folder.sync()?;
        }
        self.clean_beside()
    }

    /// Says whether what was set aside is still in the trash.
    pub fn is_restorable(&self) -> Result<bool, TransactionError> {
        let Some(trash) = self.open_trash()? else { return Ok(false) };
        let here = match self.parts {
            Parts::Whole => trash.status(WHOLE.as_ref())?.is_some(),
            Parts::Entries { .. } => match trash.open_child(ENTRIES.as_ref()) {
                Ok(items) => {
                    let present = items.names()?;
                    self.items().iter().all(|(name, _)| present.contains(name))
                }
                Err(_) => false,
            },
        };
        Ok(here)
    }

    /// Counts the files in the trash, as a plan counts those of a folder.
    pub fn files_kept(&self) -> Result<u64, TransactionError> {
        let Some(trash) = self.open_trash()? else { return Ok(0) };
        let name = match self.parts {
            Parts::Whole => WHOLE,
            Parts::Entries { .. } => ENTRIES,
        };
        let kept = trash.open_child(name.as_ref())?;
        Ok(survey::tally(kept.path().as_path(), Sizes::Skip, u64::MAX).files)
    }

    fn clean_beside(&self) -> Result<(), TransactionError> {
        let Some(folder) = self.trash.parent().filter(|parent| parent.file_name() == Some(OsStr::new(BESIDE))) else {
            return Ok(());
        };
        if let Found::Here(place) = Place::find(&self.trash_anchor, &folder)? {
            beside::remove_if_empty(&place.folder)?;
        }
        Ok(())
    }

    /// The name of each part in the trash, and its path relative to the folder.
    fn items(&self) -> Vec<(OsString, PathBuf)> {
        match &self.parts {
            Parts::Whole => vec![(WHOLE.into(), PathBuf::new())],
            Parts::Entries { entries, .. } => {
                entries.iter().enumerate().map(|(at, entry)| (at.to_string().into(), PathBuf::from(&entry.0))).collect()
            }
        }
    }

    fn live(&self, below: &Path) -> Result<Place, TransactionError> {
        let path = self.path.resolve(below);
        match Place::find(&self.anchor, &path)? {
            Found::Here(place) => Ok(place),
            Found::NoParent { folder, name, .. } => Err(folder.error("find", &name, Errno::NOENT.into()).into()),
        }
    }

    /// Makes durable what was moved out of and into the folders that stay.
    fn sync_parents(&self) -> Result<(), TransactionError> {
        match &self.parts {
            Parts::Whole => {
                if let Found::Here(place) = Place::find(&self.anchor, &self.path)? {
                    place.folder.sync()?;
                }
            }
            Parts::Entries { folders, .. } => {
                for folder in folders {
                    let Found::Here(place) = Place::find(&self.anchor, &self.path.resolve(&folder.path))? else {
                        continue;
                    };
                    match place.folder.open_child(&place.name) {
                        Ok(inner) => inner.sync()?,
                        Err(error) if error.errno() == Some(Errno::NOENT) => {}
                        Err(error) => return Err(error.into()),
                    }
                }
            }
        }
        Ok(())
    }

    fn make_trash(&self, group: &GroupDir) -> Result<Folder, TransactionError> {
        let name = self.trash.file_name().unwrap_or_default();
        let parent = self.trash.parent().unwrap_or_else(|| self.trash.clone());
        let holder = if parent.file_name() == Some(OsStr::new(BESIDE)) {
            let place = match Place::find(&self.trash_anchor, &parent)? {
                Found::Here(place) => place,
                Found::NoParent { folder, name, .. } => {
                    return Err(folder.error("find", &name, Errno::NOENT.into()).into());
                }
            };
            beside::open_or_make(&place.folder)?
        } else {
            group.inner("trash")?
        };
        let trash = holder.create_or_open(name, 0o700)?;
        beside::write_small(&trash, RECORD.as_ref(), self.record(group).as_bytes())?;
        holder.sync()?;
        Ok(trash)
    }

    /// Tells whoever finds the trash what it is.
    fn record(&self, group: &GroupDir) -> String {
        let entries: Vec<String> = match &self.parts {
            Parts::Whole => Vec::new(),
            Parts::Entries { entries, .. } => {
                entries.iter().enumerate().map(|(at, name)| format!("{ENTRIES}/{at} was {name}")).collect()
            }
        };
        let record = serde_json::json!({
            "what": "set aside by `fix`, which repairs builds; nothing of it is lost",
            "path": self.path,
            "put back by": format!("fix rollback {}", group.id),
            "state": group.path,
            "entries": entries,
        });
        format!("{record:#}\n")
    }

    fn items_folder(&self, trash: &Folder) -> Result<Option<Folder>, FileError> {
        match self.parts {
            Parts::Whole => Ok(None),
            Parts::Entries { .. } => trash.create_or_open(ENTRIES.as_ref(), 0o700).map(Some),
        }
    }

    pub(super) fn open_trash(&self) -> Result<Option<Folder>, FileError> {
        let Found::Here(place) = Place::find(&self.trash_anchor, &self.trash)? else { return Ok(None) };
        match place.folder.open_child(&place.name) {
            Ok(trash) => Ok(Some(trash)),
            Err(error) if error.errno() == Some(Errno::NOENT) => Ok(None),
            Err(error) => Err(error),
        }
    }

    /// A folder's time changes with its entries: it gets back the one it had.
    fn restore_times(&self) -> Result<(), TransactionError> {
        let Parts::Entries { folders, .. } = &self.parts else { return Ok(()) };
        for folder in folders {
            let Found::Here(place) = Place::find(&self.anchor, &self.path.resolve(&folder.path))? else { continue };
            if place.status()?.is_some_and(|there| there.kind == Kind::Folder && there.modified != folder.modified) {
                place.folder.set_times(&place.name, folder.accessed, folder.modified)?;
            }
        }
        Ok(())
    }
}

const RECORD: &str = "record.json";
pub(super) const WHOLE: &str = "tree";
const ENTRIES: &str = "entries";
