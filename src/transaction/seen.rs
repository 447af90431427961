//! What stands at a path, short enough to be stored and compared.

use std::collections::BTreeMap;
use std::ffi::OsStr;
use std::path::PathBuf;

use serde::{Deserialize, Serialize};

use super::TransactionError;
use super::error::Version;
use super::saved::{hash_file, read_blob, store_bytes};
use super::state::GroupDir;
use crate::change::FileState;
use crate::os::Name;
use crate::os::files::{FileError, FileTime, Folder, Kind, Status};
use crate::os::rights::ACCESS_LIST;
use crate::os::trees::{Descend, Found, Place, walk};

/// What stands at a path.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Seen {
    Absent,
    File {
        hash: String,
        mode: u32,
    },
    Link {
        target: Name,
    },
    /// The hash of the folder's listing; the listing itself lies in `blobs/`.
    Folder {
        listing: String,
    },
    Other,
}

/// Whose a file is, and to whom an access list gives more: not content, and yet not to be set back unasked.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Rights {
    pub user: u32,
    pub group: u32,
    /// The hash of the access list.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub list: Option<String>,
}

impl Rights {
    /// Looks at a file; what is no file has none that are watched over.
    pub(crate) fn find(found: &Found) -> Option<Rights> {
        let Found::Here(Place { folder, name }) = found else { return None };
        let status = folder.status(name).ok().flatten().filter(|status| status.kind == Kind::File)?;
        Some(Rights::of(&status, folder.attributes(name).iter().map(|(key, value)| (key.as_os_str(), &**value))))
    }

    pub(crate) fn of<'a>(status: &Status, mut attributes: impl Iterator<Item = (&'a OsStr, &'a [u8])>) -> Rights {
        let list = attributes.find(|(key, _)| *key == ACCESS_LIST);
        let list = list.map(|(_, list)| blake3::hash(list).to_hex().to_string());
        Rights { user: status.user, group: status.group, list }
    }
}

/// One line of a folder's listing.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Listed {
    pub path: Name,
    kind: Kind,
    mode: u32,
    len: u64,
    modified: Option<FileTime>,
}

impl Listed {
    fn of(path: Name, status: &Status) -> Self {
        // A folder's own size and time change with its byte code caches.
        let is_folder = status.kind == Kind::Folder;
        Listed {
            path,
            kind: status.kind,
            mode: status.mode,
            len: if is_folder { 0 } else { status.len },
            modified: (!is_folder).then_some(status.modified),
        }
    }

    /// Says whether an entry is as it was listed.
    pub fn is(&self, status: &Status) -> bool {
        *self == Listed::of(self.path.clone(), status)
    }
}

/// Reads the listing of a folder that was seen; what is no folder has none.
pub(crate) fn listed(group: &GroupDir, seen: &Seen) -> Vec<Listed> {
    let Seen::Folder { listing } = seen else { return Vec::new() };
    let text = read_blob(group, listing, u64::MAX - 1).filter(|text| blake3::hash(text).to_hex().as_str() == listing);
    lines(&text.unwrap_or_default()).collect()
}

fn lines(text: &[u8]) -> impl Iterator<Item = Listed> {
    serde_json::Deserializer::from_slice(text).into_iter::<Listed>().map_while(Result::ok)
}

/// Files that are too large to be shown in a diff are only named.
const SHOWN: u64 = 1 << 20;
/// Names that a report of a changed folder lists.
const NAMED: usize = 20;

impl Seen {
    /// Looks at an entry.
    pub(crate) fn at(folder: &Folder, name: &OsStr) -> Result<Seen, FileError> {
        Ok(look(folder, name)?.0)
    }

    /// Looks at a path; a missing parent is an absent entry.
    pub(crate) fn find(found: &Found) -> Result<Seen, FileError> {
        match found {
            Found::Here(place) => Seen::at(&place.folder, &place.name),
            Found::NoParent { .. } => Ok(Seen::Absent),
        }
    }

    /// Looks at a path and stores what a later comparison needs: a small file's bytes, a folder's listing.
    pub(crate) fn record(group: &GroupDir, found: &Found) -> Result<Seen, TransactionError> {
        let Found::Here(Place { folder, name }) = found else { return Ok(Seen::Absent) };
        let (seen, listing) = look(folder, name)?;
        match &seen {
            Seen::Folder { .. } => {
                store_bytes(group, &listing)?;
            }
            Seen::File { .. } if folder.status(name)?.is_some_and(|status| status.len <= SHOWN) => {
                store_bytes(group, &folder.read(name)?)?;
            }
            Seen::File { .. } | Seen::Absent | Seen::Link { .. } | Seen::Other => {}
        }
        Ok(seen)
    }

    /// What a plan wants at a path.
    pub(crate) fn planned(state: &FileState) -> Seen {
        match state {
            FileState::Absent => Seen::Absent,
            FileState::Present(image) => {
                Seen::File { hash: blake3::hash(&image.bytes).to_hex().to_string(), mode: image.mode }
            }
        }
    }

    /// Shows what was recorded.
    pub(crate) fn version(&self, group: &GroupDir) -> Version {
        match self {
            Seen::Absent => Version::Absent,
            Seen::File { hash, mode } => Version::File { bytes: read_blob(group, hash, SHOWN), mode: *mode },
            Seen::Link { target } => Version::Link(PathBuf::from(&target.0)),
            Seen::Folder { .. } => Version::Folder { changed: Vec::new() },
            Seen::Other => Version::Other,
        }
    }
}

/// Shows what stands at a path now, given what was recorded there.
pub(crate) fn present_version(group: &GroupDir, found: &Found, expected: &Seen) -> Version {
    let Found::Here(Place { folder, name }) = found else { return Version::Absent };
    match look(folder, name) {
        Err(error) => Version::Unreadable(error.to_string()),
        Ok((Seen::File { mode, .. }, _)) => {
            let small = folder.status(name).ok().flatten().is_some_and(|status| status.len <= SHOWN);
            Version::File { bytes: if small { folder.read(name).ok() } else { None }, mode }
        }
        Ok((Seen::Folder { .. }, listing)) => {
            let before = match expected {
                Seen::Folder { listing } => read_blob(group, listing, u64::MAX - 1).unwrap_or_default(),
                Seen::Absent | Seen::File { .. } | Seen::Link { .. } | Seen::Other => Vec::new(),
            };
            Version::Folder { changed: differing(&before, &listing) }
        }
        Ok((seen @ (Seen::Absent | Seen::Link { .. } | Seen::Other), _)) => seen.version(group),
    }
}

fn look(folder: &Folder, name: &OsStr) -> Result<(Seen, Vec<u8>), FileError> {
    let Some(status) = folder.status(name)? else { return Ok((Seen::Absent, Vec::new())) };
    let seen = match status.kind {
        Kind::File => Seen::File { hash: hash_file(folder, name)?, mode: status.mode },
        Kind::Link => Seen::Link { target: Name(folder.link_target(name)?) },
        Kind::Folder => {
            let listing = list(&folder.open_child(name)?)?;
            return Ok((Seen::Folder { listing: blake3::hash(&listing).to_hex().to_string() }, listing));
        }
        Kind::Pipe | Kind::Socket | Kind::Device => Seen::Other,
    };
    Ok((seen, Vec::new()))
}

/// Lists a folder by names, modes, sizes and times. Python's byte code caches are left out: to import a module
/// is no change by the user.
fn list(folder: &Folder) -> Result<Vec<u8>, FileError> {
    let mut text = Vec::new();
    walk::<FileError>(folder, &mut |_, name, path, status| {
        if name == "__pycache__" {
            return Ok(Descend::Skip);
        }
        let line = Listed::of(Name::new(path), status);
        serde_json::to_writer(&mut text, &line).expect("a listing holds nothing that JSON cannot express");
        text.push(b'\n');
        Ok(Descend::Into)
    })?;
    Ok(text)
}

fn differing(before: &[u8], after: &[u8]) -> Vec<PathBuf> {
    let by_path =
        |text: &[u8]| -> BTreeMap<Name, Listed> { lines(text).map(|line| (line.path.clone(), line)).collect() };
    let (before, after) = (by_path(before), by_path(after));
    let mut changed: Vec<PathBuf> = before
        .iter()
        .filter(|(path, line)| after.get(*path) != Some(*line))
        .map(|(path, _)| path)
        .chain(after.keys().filter(|path| !before.contains_key(*path)))
        .map(|path| PathBuf::from(&path.0))
        .collect();
    changed.sort();
    changed.truncate(NAMED);
    changed
}
