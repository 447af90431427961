//! A folder saved in place: hard links to its files and a listing of what they were.
//!
//! A program that replaces files leaves the links with the old content. What is known to be edited in place is copied
//! instead ([`super::in_place`]). Any other file that was edited in place has changed under its link too: it is
//! recognised by size and time, and refused by name at restore.
//!
//! An environment has tens of thousands of files: nothing here looks into a linked file, and a restore looks at the
//! snapshot of those files alone that are not the very ones any more.

use std::collections::{HashMap, HashSet};
use std::ffi::{OsStr, OsString};
use std::io::Write;
use std::path::{Path, PathBuf};

use rustix::io::Errno;
use serde::{Deserialize, Serialize};

use super::TransactionError;
use super::beside;
use super::in_place::{Pack, Packed};
use super::saved::{Save, read_blob, store_bytes};
use super::state::GroupDir;
use super::strangers::Strangers;
use crate::change::AbsPath;
use crate::os::Name;
use crate::os::files::{FileError, Folder, Kind, Status};
use crate::os::trees::{self, Copier, Descend, Found, Place, walk};

/// A saved folder.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct SavedTree {
    /// The folder itself.
    pub status: Status,
    /// Where the links are: a folder `tree` in here.
    pub snapshot: AbsPath,
    /// The listing, a blob.
    pub manifest: String,
    /// The bytes of what is edited in place, a blob.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub pack: Option<String>,
    pub files: u64,
    pub bytes: u64,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
struct Entry {
    path: Name,
    status: Status,
    target: Option<Name>,
    how: How,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
enum How {
    /// The snapshot has a link to the very file.
    Linked,
    /// The snapshot has a copy.
    Copied,
    /// The pack has the bytes.
    Packed(Packed),
    /// Saved on its own.
    Apart,
    /// The listing says all.
    Listed,
}

impl Entry {
    fn path(&self) -> &Path {
        Path::new(&self.path.0)
    }

    fn name(&self) -> &OsStr {
        self.path().file_name().unwrap_or_default()
    }
}

/// Where a snapshot outside the state folder would be.
pub(crate) fn place_beside(group: &GroupDir, path: &AbsPath, name: &str) -> Option<AbsPath> {
    Some(path.parent()?.resolve(beside::BESIDE).resolve(format!("{}-{name}", group.id)))
}

/// Saves the folder at `place`.
pub(crate) fn take(
    group: &GroupDir,
    place: &Place,
    name: &str,
    apart: &[&AbsPath],
    progress: trees::Progress,
) -> Result<SavedTree, TransactionError> {
    let in_state = group.inner("snapshots")?;
    match try_in(group, &in_state, place, name, apart, OnOtherFileSystem::GiveUp, progress) {
        Err(TransactionError::File(error)) if error.is_cross_device() => {}
        taken => return taken,
    }
    trees::remove(&in_state, name.as_ref())?;
    let beside_name = format!("{}-{name}", group.id);
    let beside = match beside::open_or_make(&place.folder) {
        Ok(folder) => Some(folder),
        Err(error) if error.is_pinned() => None,
        Err(error) => return Err(error.into()),
    };
    if let Some(folder) = beside {
        match try_in(group, &folder, place, &beside_name, apart, OnOtherFileSystem::GiveUp, progress) {
            Err(TransactionError::File(error)) if error.is_cross_device() => {}
            taken => return taken,
        }
        trees::remove(&folder, beside_name.as_ref())?;
        beside::remove_if_empty(&place.folder)?;
    }
    try_in(group, &in_state, place, name, apart, OnOtherFileSystem::Copy, progress)
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum OnOtherFileSystem {
    GiveUp,
    Copy,
}

fn try_in(
    group: &GroupDir,
    folder: &Folder,
    place: &Place,
    name: &str,
    apart: &[&AbsPath],
    other: OnOtherFileSystem,
    progress: trees::Progress,
) -> Result<SavedTree, TransactionError> {
    let gone = || place.folder.error("save", &place.name, Errno::NOENT.into());
    let status = place.status()?.ok_or_else(gone)?;
    let path = place.path();
    let snapshot = folder.create_folder(name.as_ref(), 0o700)?;
    let top = snapshot.create_folder("tree".as_ref(), 0o700)?;
    let live = place.folder.open_child(&place.name)?;
    let mut parents = Parents::new(&top);
    let mut copier = Copier::new(top.path().clone());
    let mut manifest = Vec::new();
    let mut pack = Pack::default();
    let apart: HashSet<&Path> =
        apart.iter().filter_map(|one| one.as_path().strip_prefix(path.as_path()).ok()).collect();
    let (mut files, mut bytes) = (0, 0);
    walk::<FileError>(&live, &mut |from, name, below, status| {
        let to = parents.of(below)?;
        let mut target = None;
        let how = match status.kind {
            Kind::Folder => {
                to.create_folder(name, 0o700)?;
                How::Listed
            }
            Kind::Link => {
                target = Some(Name(from.link_target(name)?));
                How::Listed
            }
            Kind::Pipe | Kind::Socket | Kind::Device => How::Listed,
            Kind::File if !apart.is_empty() && apart.contains(below) => How::Apart,
            Kind::File => {
                files += 1;
                bytes += status.len;
                progress(status.len).map_err(|source| from.error("save", name, source))?;
                match pack.take(from, name, below, status)? {
                    Some(packed) => How::Packed(packed),
                    None => match from.link(name, to, name) {
                        Ok(()) => How::Linked,
                        Err(error) if error.is_cross_device() && other == OnOtherFileSystem::GiveUp => {
                            return Err(error);
                        }
                        // Files of others, too many links, a file system without them.
                        Err(error) if error.is_unlinkable() => {
                            copier.copy(from, name, to, name, &mut |_| Ok(()))?;
                            How::Copied
                        }
                        Err(error) => return Err(error),
                    },
                }
            }
        };
        let entry = Entry { path: Name::new(below), status: *status, target, how };
        serde_json::to_writer(&mut manifest, &entry).expect("an entry holds nothing that JSON cannot express");
        manifest.write_all(b"\n").expect("a vector takes everything");
        Ok(Descend::Into)
    })?;
    top.sync_file_system()?;
    let manifest = store_bytes(group, &manifest)?;
    let pack = pack.store(group)?;
    Ok(SavedTree { status, snapshot: snapshot.path().clone(), manifest, pack, files, bytes })
}

/// Opens parents below a folder; consecutive entries mostly share theirs.
struct Parents<'a> {
    top: &'a Folder,
    last: Option<(PathBuf, Folder)>,
}

impl<'a> Parents<'a> {
    fn new(top: &'a Folder) -> Self {
        Self { top, last: None }
    }

    fn of(&mut self, path: &Path) -> Result<&Folder, FileError> {
        let parent = path.parent().unwrap_or(Path::new(""));
        if parent.as_os_str().is_empty() {
            return Ok(self.top);
        }
        if self.last.as_ref().is_none_or(|(last, _)| last != parent) {
            let mut names = parent.iter();
            let first = names.next().expect("a path that is not empty has a component");
            let mut folder = self.top.open_child(first)?;
            for name in names {
                folder = folder.open_child(name)?;
            }
            self.last = Some((parent.to_owned(), folder));
        }
        Ok(self.last.as_ref().map_or(self.top, |(_, folder)| folder))
    }
}

/// Reads the listing: folders before what is in them.
fn entries(group: &GroupDir, tree: &SavedTree, path: &AbsPath) -> Result<Vec<Entry>, TransactionError> {
    let damaged = || TransactionError::Refused(format!("the saved listing of `{path}` is damaged"));
    let text = read_blob(group, &tree.manifest, u64::MAX - 1).ok_or_else(damaged)?;
    if blake3::hash(&text).to_hex().as_str() != tree.manifest {
        return Err(damaged());
    }
    serde_json::Deserializer::from_slice(&text).into_iter::<Entry>().map(|entry| entry.map_err(|_| damaged())).collect()
}

/// Names the files of a saved folder that were changed in place since: their former content is lost.
pub(crate) fn changed_in_place(
    group: &GroupDir,
    save: &Save,
    tree: &SavedTree,
) -> Result<Vec<PathBuf>, TransactionError> {
    let top = open_snapshot(group, save, tree)?;
    let mut parents = Parents::new(&top);
    let mut changed = Vec::new();
    for entry in entries(group, tree, &save.path)? {
        if matches!(entry.how, How::Linked | How::Copied) && is_lost(&mut parents, &entry)? {
            changed.push(entry.path().to_owned());
        }
    }
    Ok(changed)
}

fn is_lost(snapshot: &mut Parents<'_>, entry: &Entry) -> Result<bool, FileError> {
    let kept = snapshot.of(entry.path())?.status(entry.name())?;
    Ok(!kept.is_some_and(|kept| is_unchanged(&kept, &entry.status)))
}

/// Opens the links of a snapshot; one that lies in the project is reached without following a link there.
fn open_snapshot(group: &GroupDir, save: &Save, tree: &SavedTree) -> Result<Folder, TransactionError> {
    let anchor = if tree.snapshot.is_within(&group.state) { &group.state } else { &save.anchor };
    match Place::find(anchor, &tree.snapshot.resolve("tree"))? {
        Found::Here(place) => Ok(place.folder.open_child(&place.name)?),
        Found::NoParent { .. } => Err(TransactionError::Refused(format!(
            "what was saved of `{}` is no longer in `{}`",
            save.path, tree.snapshot
        ))),
    }
}

fn is_unchanged(there: &Status, before: &Status) -> bool {
    there.kind == before.kind && there.len == before.len && there.modified == before.modified
}

/// Says whether it is the very entry, to mode and owner.
fn is_same(there: &Status, before: &Status) -> bool {
    let who = |status: &Status| (status.device, status.inode, status.mode, status.user, status.group);
    is_unchanged(there, before) && who(there) == who(before)
}

/// Puts a saved folder back, to the modes and times. May be repeated. Returns what could not be restored.
pub(crate) fn restore(
    group: &GroupDir,
    save: &Save,
    place: &Place,
    tree: &SavedTree,
    strangers: &mut Strangers,
) -> Result<Vec<String>, TransactionError> {
    let entries = entries(group, tree, &save.path)?;
    let pack = Pack::read(group, tree.pack.as_deref(), &save.path)?;
    if place.status()?.is_some_and(|there| there.kind != Kind::Folder) {
        trees::remove(&place.folder, &place.name)?;
    }
    let live = place.folder.create_or_open(&place.name, 0o700)?;
    place.folder.set_mode(&place.name, tree.status.mode | 0o700)?;
    let same = clear(&live, &entries, &pack, strangers)?;
    let top = open_snapshot(group, save, tree)?;
    let mut copier = Copier::new(save.anchor.clone());
    let (mut from, mut to) = (Parents::new(&top), Parents::new(&live));
    let mut lost = Vec::new();
    // The new names of files that have several.
    let mut named: HashMap<(u64, u64), AbsPath> = HashMap::new();
    for (entry, _) in entries.iter().zip(&same).filter(|(_, same)| !**same) {
        let (folder, name) = (to.of(entry.path())?, entry.name());
        match &entry.how {
            How::Apart => {}
            How::Listed => restore_listed(folder, name, entry)?,
            How::Linked | How::Copied if is_lost(&mut from, entry)? => {
                lost.push(save.path.resolve(entry.path()).to_string());
            }
            How::Linked | How::Copied => restore_file(from.of(entry.path())?, folder, name, entry, &mut copier)?,
            How::Packed(packed) => {
                let number = (entry.status.device, entry.status.inode);
                let linked = match named.get(&number) {
                    Some(first) => link_to(&save.anchor, first, folder, name),
                    None => Ok(false),
                };
                if !linked? {
                    pack.restore(packed, folder, name, &temporary(name), &entry.status)?;
                    if entry.status.names > 1 {
                        named.insert(number, folder.join(name));
                    }
                }
                dress(folder, name, &entry.status)?;
            }
        }
    }
    dress_folders(&entries, place, tree)?;
    place.folder.sync_file_system()?;
    Ok(lost)
}

/// Makes `name` another name of a file that was put back; `false` where there can be none.
fn link_to(anchor: &AbsPath, first: &AbsPath, folder: &Folder, name: &OsStr) -> Result<bool, FileError> {
    let Found::Here(place) = Place::find(anchor, first)? else { return Ok(false) };
    let temporary = temporary(name);
    folder.remove_file(&temporary)?;
    match place.folder.link(&place.name, folder, &temporary) {
        Ok(()) => folder.replace(&temporary, folder, name).map(|()| true),
        Err(error) if error.is_unlinkable() => Ok(false),
        Err(error) => Err(error),
    }
}

/// Removes what was not there, and says of each entry of the listing whether it is the very one, unchanged. What is
/// somebody's is moved away instead.
fn clear(
    live: &Folder,
    entries: &[Entry],
    pack: &Pack,
    strangers: &mut Strangers,
) -> Result<Vec<bool>, TransactionError> {
    let places: HashMap<&OsStr, usize> =
        entries.iter().enumerate().map(|(at, entry)| (entry.path.0.as_os_str(), at)).collect();
    let mut same = vec![false; entries.len()];
    walk::<TransactionError>(live, &mut |folder, name, below, status| {
        let saved = places.get(below.as_os_str()).map(|at| (*at, &entries[*at]));
        let Some((at, entry)) = saved.filter(|(_, entry)| entry.status.kind == status.kind) else {
            match saved {
                // It is put back on its own, and looked at then.
                Some((_, entry)) if entry.how == How::Apart => {}
                None if status.kind == Kind::File && is_temporary(name) => folder.remove_file(name)?,
                Some(_) | None => strangers.clear(folder, name, below, status)?,
            }
            return Ok(Descend::Skip);
        };
        if status.kind == Kind::Folder {
            if status.mode & 0o700 != 0o700 {
                folder.set_mode(name, status.mode | 0o700)?;
            }
            same[at] = true;
            return Ok(Descend::Into);
        }
        same[at] = is_same(status, &entry.status)
            && match &entry.how {
                How::Linked | How::Copied | How::Apart | How::Listed => true,
                // Nothing keeps its number from being given to another file.
                How::Packed(packed) => pack.has(packed, folder, name),
            };
        // What is changed in place, or put back already and not yet dressed, is no stranger.
        let is_ours = || match &entry.how {
            How::Apart => true,
            How::Linked => (status.device, status.inode) == (entry.status.device, entry.status.inode),
            How::Copied => is_unchanged(status, &entry.status),
            How::Packed(packed) => pack.has(packed, folder, name),
            How::Listed => match &entry.target {
                Some(target) => folder.link_target(name).is_ok_and(|there| there == target.0),
                None => true,
            },
        };
        if !same[at] && !is_ours() && !strangers.is_known(below, status) {
            strangers.take(folder, name, below)?;
        }
        Ok(Descend::Into)
    })?;
    // Names of one file stay names of one file: all are put back, or none.
    let of_one = |entry: &Entry| matches!(entry.how, How::Packed(_)) && entry.status.names > 1;
    let number = |entry: &Entry| (entry.status.device, entry.status.inode);
    let changed: HashSet<(u64, u64)> = entries
        .iter()
        .zip(&same)
        .filter(|(entry, same)| of_one(entry) && !**same)
        .map(|(entry, _)| number(entry))
        .collect();
    for (entry, same) in entries.iter().zip(&mut same) {
        *same &= !(of_one(entry) && changed.contains(&number(entry)));
    }
    Ok(same)
}

/// Gives the folders of a tree their times again, after files that were saved apart were put back into them.
pub(crate) fn settle(group: &GroupDir, save: &Save, tree: &SavedTree) -> Result<(), TransactionError> {
    let Found::Here(place) = Place::find(&save.anchor, &save.path)? else { return Ok(()) };
    Ok(dress_folders(&entries(group, tree, &save.path)?, &place, tree)?)
}

/// The innermost folders first: every entry that is put back changes the time of its folder.
fn dress_folders(entries: &[Entry], place: &Place, tree: &SavedTree) -> Result<(), FileError> {
    let live = place.folder.open_child(&place.name)?;
    let mut parents = Parents::new(&live);
    for entry in entries.iter().rev().filter(|entry| entry.status.kind == Kind::Folder) {
        dress(parents.of(entry.path())?, entry.name(), &entry.status)?;
    }
    dress(&place.folder, &place.name, &tree.status)
}

fn restore_listed(folder: &Folder, name: &OsStr, entry: &Entry) -> Result<(), FileError> {
    match entry.status.kind {
        Kind::Folder => {
            folder.create_or_open(name, 0o700)?;
        }
        Kind::Link => {
            let target = entry.target.as_ref().map(|target| target.0.clone()).unwrap_or_default();
            if folder.status(name)?.is_some() {
                if folder.link_target(name)? == target {
                    return Ok(());
                }
                folder.remove_file(name)?;
            }
            folder.create_link(&target, name)?;
            dress(folder, name, &entry.status)?;
        }
        Kind::Pipe | Kind::Socket => {
            if folder.status(name)?.is_none() {
                folder.create_special(name, entry.status.kind, entry.status.mode)?;
            }
        }
        Kind::File | Kind::Device => {}
    }
    Ok(())
}

fn restore_file(from: &Folder, to: &Folder, name: &OsStr, entry: &Entry, copier: &mut Copier) -> Result<(), FileError> {
    let source = from.status(name)?;
    let there = to.status(name)?;
    let is_it = |a: &Status| there.as_ref().is_some_and(|b| (a.device, a.inode) == (b.device, b.inode));
    // A copy that an earlier attempt put there.
    let is_back = entry.how == How::Copied && there.as_ref().is_some_and(|there| is_unchanged(there, &entry.status));
    if !is_back && !source.as_ref().is_some_and(is_it) {
        let temporary = temporary(name);
        to.remove_file(&temporary)?;
        match from.link(name, to, &temporary) {
            Ok(()) => to.replace(&temporary, to, name)?,
            Err(error) if error.is_unlinkable() => {
                copier.copy(from, name, to, &temporary, &mut |_| Ok(()))?;
                to.replace(&temporary, to, name)?;
                copier.moved(&to.join(&temporary), to.join(name));
            }
            Err(error) => return Err(error),
        }
    }
    dress(to, name, &entry.status)
}

/// A name that the next run of the restore finds and removes, since the listing does not have it.
fn temporary(name: &OsStr) -> OsString {
    let hash = blake3::hash(name.as_encoded_bytes()).to_hex();
    OsString::from(format!("{TEMPORARY}{}", &hash[..16]))
}

const TEMPORARY: &str = ".fix-restore-";

fn is_temporary(name: &OsStr) -> bool {
    name.as_encoded_bytes().starts_with(TEMPORARY.as_bytes())
}

fn dress(folder: &Folder, name: &OsStr, status: &Status) -> Result<(), FileError> {
    let Some(there) = folder.status(name)? else { return Ok(()) };
    let is_foreign = (there.user, there.group) != (status.user, status.group);
    if is_foreign {
        folder.set_owner(name, status.user, status.group)?;
    }
    if status.kind != Kind::Link && (is_foreign || there.mode != status.mode) {
        folder.set_mode(name, status.mode)?;
    }
    if there.modified != status.modified {
        folder.set_times(name, status.accessed, status.modified)?;
    }
    Ok(())
}
