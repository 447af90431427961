//! What tools and people edit in place is copied before a command runs, never linked: a link would change with it.
//!
//! All copies of a tree go into one blob, the pack: one file to make durable, however many there are.

use std::ffi::OsStr;
use std::io::{self, Read, Write};
use std::path::Path;

use serde::{Deserialize, Serialize};

use super::TransactionError;
use super::saved::{read_blob, store_bytes};
use super::state::GroupDir;
use crate::change::AbsPath;
use crate::os::Name;
use crate::os::fault::step;
use crate::os::files::{FileError, Folder, Status};

/// Larger files are linked: nobody edits them in place, and the pack is built in memory.
const LARGEST: u64 = 256 << 10;
const LARGEST_PACK: usize = 64 << 20;

/// `easy-install.pth` and `.egg-link` keep their place when setuptools adds to them; the others are what people edit.
const ENDS: [&str; 11] = ["pth", "egg-link", "cfg", "conf", "ini", "toml", "json", "yaml", "yml", "txt", "sh"];
/// setuptools writes over its `PKG-INFO`, ninja appends to its logs.
const NAMES: [&str; 3] = ["PKG-INFO", ".ninja_log", ".ninja_deps"];
const SCRIPTS: [&str; 2] = ["bin", "Scripts"];

fn is_edited_in_place(name: &OsStr, below: &Path, status: &Status) -> bool {
    let is_script =
        || below.parent().and_then(Path::file_name).is_some_and(|parent| SCRIPTS.iter().any(|s| parent == *s));
    let has_end = || Path::new(name).extension().is_some_and(|end| ENDS.iter().any(|one| end == *one));
    status.len <= LARGEST && (has_end() || NAMES.iter().any(|one| name == *one) || is_script())
}

/// A file of the pack.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Packed {
    at: u64,
    len: u64,
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    attributes: Vec<(Name, Name)>,
}

/// The bytes of the files of one tree that are edited in place.
#[derive(Debug, Default)]
pub(crate) struct Pack(Vec<u8>);

impl Pack {
    /// Copies a file, if it is one that is edited in place and that may be read.
    pub fn take(
        &mut self,
        folder: &Folder,
        name: &OsStr,
        below: &Path,
        status: &Status,
    ) -> Result<Option<Packed>, FileError> {
        if !is_edited_in_place(name, below, status) || self.0.len() > LARGEST_PACK {
            return Ok(None);
        }
        let at = self.0.len();
        let Ok(file) = folder.open_file(name) else { return Ok(None) };
        let len =
            file.take(LARGEST + 1).read_to_end(&mut self.0).map_err(|source| folder.error("read", name, source))?;
        if len as u64 != status.len {
            return Err(folder.error("save", name, io::Error::other("it is being written to")));
        }
        let attributes =
            folder.attributes(name).into_iter().map(|(key, value)| (Name(key), Name::from_bytes(value))).collect();
        Ok(Some(Packed { at: at as u64, len: len as u64, attributes }))
    }

    /// Stores the bytes, where there are any.
    pub fn store(&self, group: &GroupDir) -> Result<Option<String>, TransactionError> {
        if self.0.is_empty() { Ok(None) } else { store_bytes(group, &self.0).map(Some) }
    }

    /// Reads the pack of a tree.
    pub fn read(group: &GroupDir, pack: Option<&str>, path: &AbsPath) -> Result<Self, TransactionError> {
        let Some(hash) = pack else { return Ok(Self::default()) };
        match read_blob(group, hash, u64::MAX - 1) {
            Some(bytes) if blake3::hash(&bytes).to_hex().as_str() == hash => Ok(Self(bytes)),
            Some(_) | None => Err(TransactionError::Refused(format!("the saved copies of `{path}` are damaged"))),
        }
    }

    fn bytes(&self, packed: &Packed) -> Option<&[u8]> {
        let end = packed.at.checked_add(packed.len)?;
        self.0.get(usize::try_from(packed.at).ok()?..usize::try_from(end).ok()?)
    }

    /// Says whether a file has the saved bytes.
    pub fn has(&self, packed: &Packed, folder: &Folder, name: &OsStr) -> bool {
        folder.read(name).is_ok_and(|bytes| self.bytes(packed) == Some(&*bytes))
    }

    /// Writes a file anew beside its place and moves it there; owner, mode and times are the caller's.
    pub fn restore(
        &self,
        packed: &Packed,
        folder: &Folder,
        name: &OsStr,
        temporary: &OsStr,
        status: &Status,
    ) -> Result<(), FileError> {
        let missing = || folder.error("restore", name, io::Error::other("the saved copies lack it"));
        let bytes = self.bytes(packed).ok_or_else(missing)?;
        folder.remove_file(temporary)?;
        let mut file = folder.create_file(temporary, 0o600)?;
        step().and_then(|()| file.write_all(bytes)).map_err(|source| folder.error("write", temporary, source))?;
        drop(file);
        let attributes: Vec<_> =
            packed.attributes.iter().map(|(key, value)| (key.0.clone(), value.as_bytes().to_vec())).collect();
        folder.set_attributes(temporary, &attributes)?;
        if folder.status(temporary)?.is_none_or(|made| (made.user, made.group) != (status.user, status.group)) {
            folder.set_owner(temporary, status.user, status.group)?;
        }
        folder.set_mode(temporary, status.mode)?;
        folder.replace(temporary, folder, name)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::os::files::{FileTime, Kind};

    #[test]
    fn what_is_edited_in_place_is_known() {
        let status = |len| Status {
            kind: Kind::File,
            mode: 0o644,
            user: 0,
            group: 0,
            len,
            device: 0,
            inode: 0,
            names: 1,
            modified: FileTime(0, 0),
            accessed: FileTime(0, 0),
        };
        let is = |path: &str, len| {
            let path = Path::new(path);
            is_edited_in_place(path.file_name().unwrap(), path, &status(len))
        };
        for path in ["lib/easy-install.pth", "bin/tool", "pyvenv.cfg", "a.egg-info/PKG-INFO", "x/.ninja_log", "s.txt"] {
            assert!(is(path, 100), "{path}");
        }
        for (path, len) in [("lib/a.py", 10), ("bin/python3", 9_000_000), ("bin/x/y", 10), ("a.so", 10), ("RECORD", 1)]
        {
            assert!(!is(path, len), "{path}");
        }
    }
}
