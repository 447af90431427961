//! What stood at a path: saved before it is changed, put back by an undo that may be cut off and repeated.

use std::ffi::OsStr;
use std::fs::File;
use std::io::{self, Read, Write};

use serde::{Deserialize, Serialize};

use super::TransactionError;
use super::seen::Seen;
use super::snapshot::{self, SavedTree};
use super::state::GroupDir;
use super::strangers::Known;
use crate::change::AbsPath;
use crate::os::Name;
use crate::os::fault::step;
use crate::os::files::{FileError, Folder, Kind, Status};
use crate::os::trees::{self, Found, Place};

/// A path and what stood there.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Save {
    /// An existing folder above `path`; no link below it is followed.
    pub anchor: AbsPath,
    pub path: AbsPath,
    /// Names what is kept of it in the group's folder.
    pub name: String,
    pub before: Saved,
}

/// What stood at a path.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Saved {
    Absent,
    File(SavedFile),
    Link { target: Name },
    Tree(SavedTree),
}

impl Saved {
    /// What was seen there; a folder's content cannot be told from what is kept of it alone.
    pub(crate) fn seen(&self) -> Option<Seen> {
        match self {
            Saved::Absent => Some(Seen::Absent),
            Saved::File(file) => Some(Seen::File { hash: file.hash.clone(), mode: file.status.mode }),
            Saved::Link { target } => Some(Seen::Link { target: target.clone() }),
            Saved::Tree(_) => None,
        }
    }
}

/// A regular file: its bytes lie in `blobs/` under their hash.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct SavedFile {
    pub hash: String,
    pub status: Status,
    pub attributes: Vec<(Name, Name)>,
}

/// Copies the bytes of a file into `blobs/` and returns their hash.
pub(crate) fn store_blob(group: &GroupDir, folder: &Folder, name: &OsStr) -> Result<String, TransactionError> {
    let mut source = folder.open_file(name)?;
    store(group, &mut |block| source.read(block).map_err(|error| folder.error("read", name, error)))
}

/// Stores bytes in `blobs/` and returns their hash.
pub(crate) fn store_bytes(group: &GroupDir, bytes: &[u8]) -> Result<String, TransactionError> {
    let mut rest = bytes;
    store(group, &mut |block| Ok(rest.read(block).expect("reading a slice cannot fail")))
}

fn store(
    group: &GroupDir,
    read: &mut dyn FnMut(&mut [u8]) -> Result<usize, FileError>,
) -> Result<String, TransactionError> {
    const INCOMPLETE: &str = "incomplete";
    let blobs = group.inner("blobs")?;
    blobs.remove_file(INCOMPLETE.as_ref())?;
    let mut file = blobs.create_file(INCOMPLETE.as_ref(), 0o600)?;
    let failed = |source| blobs.error("write", INCOMPLETE.as_ref(), source);
    let mut hasher = blake3::Hasher::new();
    let mut block = vec![0; 256 << 10];
    loop {
        let got = read(&mut block)?;
        if got == 0 {
            break;
        }
        hasher.update(&block[..got]);
        step().and_then(|()| file.write_all(&block[..got])).map_err(failed)?;
    }
    step().and_then(|()| file.sync_all()).map_err(failed)?;
    let hash = hasher.finalize().to_hex().to_string();
    blobs.replace(INCOMPLETE.as_ref(), &blobs, hash.as_ref())?;
    blobs.sync()?;
    Ok(hash)
}

/// Reads a blob of at most `limit` bytes; `None` when it is larger.
pub(crate) fn read_blob(group: &GroupDir, hash: &str, limit: u64) -> Option<Vec<u8>> {
    let mut bytes = Vec::new();
    let file = File::open(group.path.resolve("blobs").resolve(hash)).ok()?;
    file.take(limit + 1).read_to_end(&mut bytes).ok()?;
    (bytes.len() as u64 <= limit).then_some(bytes)
}

/// Hashes a regular file.
pub(crate) fn hash_file(folder: &Folder, name: &OsStr) -> Result<String, FileError> {
    let mut hasher = blake3::Hasher::new();
    hasher.update_reader(folder.open_file(name)?).map_err(|source| folder.error("read", name, source))?;
    Ok(hasher.finalize().to_hex().to_string())
}

/// Saves a regular file: a copy of the bytes, and where that is possible the file itself under a second name,
/// so that an undo needs no space and other names of the file stay names of it.
pub(crate) fn save_file(group: &GroupDir, place: &Place, name: &str) -> Result<SavedFile, TransactionError> {
    let gone = || place.folder.error("save", &place.name, io::ErrorKind::NotFound.into());
    let status = place.status()?.ok_or_else(gone)?;
    let hash = store_blob(group, &place.folder, &place.name)?;
    let attributes =
        place.folder.attributes(&place.name).into_iter().map(|(k, v)| (Name(k), Name::from_bytes(v))).collect();
    let kept = group.inner("kept")?;
    if let Err(error) = place.folder.link(&place.name, &kept, name.as_ref()) {
        // Another file system, no links, or not ours: the copy serves as well.
        if !error.is_unlinkable() {
            return Err(error.into());
        }
    }
    Ok(SavedFile { hash, status, attributes })
}

/// Saves whatever stands at a path. Files of `apart` are saved on their own and left out of a tree.
pub(crate) fn save(
    group: &GroupDir,
    anchor: &AbsPath,
    path: &AbsPath,
    name: String,
    apart: &[&AbsPath],
    progress: trees::Progress,
) -> Result<Save, TransactionError> {
    let before = match Place::find(anchor, path)? {
        Found::NoParent { .. } => Saved::Absent,
        Found::Here(place) => match place.status()?.map(|status| status.kind) {
            None => Saved::Absent,
            Some(Kind::File) => Saved::File(save_file(group, &place, &name)?),
            Some(Kind::Link) => Saved::Link { target: Name(place.folder.link_target(&place.name)?) },
            Some(Kind::Folder) => Saved::Tree(snapshot::take(group, &place, &name, apart, progress)?),
            Some(Kind::Pipe | Kind::Socket | Kind::Device) => {
                return Err(TransactionError::Refused(format!("`{path}` is no file, folder or link")));
            }
        },
    };
    Ok(Save { anchor: anchor.clone(), path: path.clone(), name, before })
}

/// Puts back what was saved; what is somebody's there is moved away first. May be repeated. Returns the names of
/// files whose former content is lost because they were changed in place.
pub(crate) fn restore(
    group: &GroupDir,
    save: &Save,
    known: &Known,
    also: &[&Seen],
) -> Result<Vec<String>, TransactionError> {
    let place = match (Place::find(&save.anchor, &save.path)?, &save.before) {
        (Found::Here(place), _) => place,
        (Found::NoParent { .. }, Saved::Absent) => return Ok(Vec::new()),
        (Found::NoParent { .. }, _) => Place::make(&save.anchor, &save.path, 0o777)?,
    };
    let is_folder = |there: Option<Status>| there.is_some_and(|there| there.kind == Kind::Folder);
    // In a folder each entry is looked at on its own.
    if !(matches!(save.before, Saved::Tree(_)) && is_folder(place.status()?)) {
        known.keep_stranger(save, &place, also)?;
    }
    let here = place.status()?;
    match &save.before {
        Saved::Absent => {
            trees::remove(&place.folder, &place.name)?;
            place.folder.sync()?;
        }
        Saved::File(file) => {
            if is_folder(here) {
                trees::remove(&place.folder, &place.name)?;
            }
            restore_file(group, &place, file, &save.name)?;
        }
        Saved::Link { target } => {
            let same =
                here.is_some_and(|here| here.kind == Kind::Link) && place.folder.link_target(&place.name)? == target.0;
            if !same {
                trees::remove(&place.folder, &place.name)?;
                place.folder.create_link(&target.0, &place.name)?;
                place.folder.sync()?;
            }
        }
        Saved::Tree(tree) => return snapshot::restore(group, save, &place, tree, &mut known.in_folder(save)),
    }
    Ok(Vec::new())
}

/// Puts a saved file back, exact to the time.
pub(crate) fn restore_file(
    group: &GroupDir,
    place: &Place,
    saved: &SavedFile,
    name: &str,
) -> Result<(), TransactionError> {
    let (folder, status) = (&place.folder, &saved.status);
    // The very file, when it is still there and nobody changed it through another name.
    let is_it =
        |there: Option<Status>| there.is_some_and(|there| (there.device, there.inode) == (status.device, status.inode));
    if is_it(folder.status(&place.name)?) && hash_file(folder, &place.name).is_ok_and(|hash| hash == saved.hash) {
        // It may be another's, or locked: what is as it was is not set again.
        return Ok(dress(folder, &place.name, saved)?);
    }
    let kept = group.inner("kept")?;
    let temporary = temporary_name(group, name);
    folder.remove_file(temporary.as_ref())?;
    if is_it(kept.status(name.as_ref())?) && hash_file(&kept, name.as_ref()).is_ok_and(|hash| hash == saved.hash) {
        // By a link and a move over the old name, so that the path is never without a file.
        match kept.link(name.as_ref(), folder, temporary.as_ref()) {
            Ok(()) => {
                folder.replace(temporary.as_ref(), folder, &place.name)?;
                dress(folder, &place.name, saved)?;
                return Ok(folder.sync()?);
            }
            Err(error) if error.is_unlinkable() => {}
            Err(error) => return Err(error.into()),
        }
    }
    let blobs = group.inner("blobs")?;
    if hash_file(&blobs, saved.hash.as_ref())? != saved.hash {
        return Err(TransactionError::Refused(format!("the saved copy of `{}` is damaged", place.path())));
    }
    let mut file = folder.create_file(temporary.as_ref(), 0o600)?;
    let failed = |source| folder.error("write", temporary.as_ref(), source);
    trees::copy_bytes(&blobs, saved.hash.as_ref(), &mut file).map_err(failed)?;
    dress(folder, temporary.as_ref(), saved)?;
    step().and_then(|()| file.sync_all()).map_err(failed)?;
    folder.replace(temporary.as_ref(), folder, &place.name)?;
    Ok(folder.sync()?)
}

/// The name of a file that is being written beside its final place.
pub(crate) fn temporary_name(group: &GroupDir, name: &str) -> String {
    format!(".fix-{}-{name}.tmp", group.id)
}

/// Gives a file the owner, attributes, mode and times that were saved; the times last. What is so already is left
/// alone, what a new file got from its folder is taken away.
pub(crate) fn dress(folder: &Folder, name: &OsStr, saved: &SavedFile) -> Result<(), FileError> {
    let status = &saved.status;
    let there = folder.status(name)?.ok_or_else(|| folder.error("inspect", name, io::ErrorKind::NotFound.into()))?;
    if (there.user, there.group) != (status.user, status.group) {
        folder.set_owner(name, status.user, status.group)?;
    }
    let saved: Vec<_> =
        saved.attributes.iter().map(|(key, value)| (key.0.clone(), value.as_bytes().to_vec())).collect();
    folder.set_attributes(name, &saved)?;
    // A change of owner takes the set-user-id bit away, an access list changes the rights of the group.
    if folder.status(name)?.is_none_or(|there| there.mode != status.mode) {
        folder.set_mode(name, status.mode)?;
    }
    if there.modified != status.modified {
        return folder.set_times(name, status.accessed, status.modified);
    }
    if there.accessed != status.accessed {
        // It was read in order to be compared; nobody needs that undone.
        let _ = folder.set_times(name, status.accessed, status.modified);
    }
    Ok(())
}
