//! What is somebody's where an undo is about to put something back: it is moved away first, and kept.
//!
//! An undo may go on where another process was cut off, hours ago, or take long itself. So it replaces only what it
//! knows: what was saved, what the repair left, and what the rollback compared or saved when it began.

use std::collections::HashMap;
use std::ffi::OsStr;
use std::path::Path;

use super::TransactionError;
use super::journal::{GroupRecord, SeenAt};
use super::past::Past;
use super::saved::Save;
use super::seen::{Listed, Seen, listed};
use super::state::GroupDir;
use crate::change::AbsPath;
use crate::os::Name;
use crate::os::files::{FileError, Folder, Kind, Status};
use crate::os::trees::{self, Descend, Place, walk};

/// What an undo may replace, besides what was saved.
#[derive(Debug)]
pub(crate) struct Known {
    group: GroupDir,
    seen: Vec<SeenAt>,
}

impl Known {
    /// Gathers what all repairs of the group left, and what stood there when its rollback began.
    pub fn of(group: &GroupDir) -> Known {
        let mut seen = Vec::new();
        for record in group.records().unwrap_or_default() {
            if let GroupRecord::RollingBack { seen: then, .. } = record {
                seen.extend(then);
            }
        }
        // What cannot be read tells of nothing: more is kept then.
        for past in group.journals().iter().filter_map(|journal| Past::read(group, journal).ok().flatten()) {
            seen.extend(past.left);
            seen.extend(past.committed.into_iter().flat_map(|committed| committed.seen));
        }
        Known { group: group.clone(), seen }
    }

    fn at(&self, path: &AbsPath) -> impl Iterator<Item = &Seen> {
        self.seen.iter().filter(move |seen| seen.path == *path).map(|seen| &seen.seen)
    }

    /// Moves away what stands at a place, unless it is known.
    pub fn keep_stranger(&self, save: &Save, place: &Place, also: &[&Seen]) -> Result<(), TransactionError> {
        let present = Seen::at(&place.folder, &place.name)?;
        let is_saved = || save.before.seen().is_some_and(|before| before == present);
        if present == Seen::Absent
            || also.contains(&&present)
            || is_saved()
            || self.at(&save.path).any(|s| *s == present)
        {
            return Ok(());
        }
        Displaced::new(&self.group, &save.name).take(&place.folder, &place.name, Path::new(""))
    }

    /// What may stand in a folder that a command wrote to.
    pub fn in_folder<'a>(&'a self, save: &'a Save) -> Strangers<'a> {
        let mut listings: HashMap<Name, Vec<Listed>> = HashMap::new();
        for seen in self.at(&save.path) {
            for line in listed(&self.group, seen) {
                listings.entry(line.path.clone()).or_default().push(line);
            }
        }
        Strangers { listings, displaced: Displaced::new(&self.group, &save.name) }
    }
}

/// Tells in a folder what is somebody's, and moves it away.
pub(crate) struct Strangers<'a> {
    listings: HashMap<Name, Vec<Listed>>,
    displaced: Displaced<'a>,
}

impl Strangers<'_> {
    /// Says whether the repair left an entry just so; nobody works on byte code caches.
    pub fn is_known(&self, below: &Path, status: &Status) -> bool {
        let lines = self.listings.get(&Name::new(below)).map(Vec::as_slice).unwrap_or_default();
        lines.iter().any(|line| line.is(status)) || below.iter().any(|name| name == "__pycache__")
    }

    /// Removes an entry that was not there before, or moves it away where anything in it is not known.
    pub fn clear(
        &mut self,
        folder: &Folder,
        name: &OsStr,
        below: &Path,
        status: &Status,
    ) -> Result<(), TransactionError> {
        if self.is_known(below, status) && (status.kind != Kind::Folder || self.is_all_known(folder, name, below)) {
            return Ok(trees::remove(folder, name)?);
        }
        self.take(folder, name, below)
    }

    fn is_all_known(&self, folder: &Folder, name: &OsStr, below: &Path) -> bool {
        let mut is_known = true;
        let walked = folder.open_child(name).and_then(|inner| {
            walk::<FileError>(&inner, &mut |_, _, inner, status| {
                is_known &= self.is_known(&below.join(inner), status);
                Ok(if is_known { Descend::Into } else { Descend::Skip })
            })
        });
        is_known && walked.is_ok()
    }

    /// Moves an entry away.
    pub fn take(&mut self, folder: &Folder, name: &OsStr, below: &Path) -> Result<(), TransactionError> {
        self.displaced.take(folder, name, below)
    }
}

const DISPLACED: &str = "displaced";

/// A folder of the group for what is moved away from one saved path, made when it is needed.
struct Displaced<'a> {
    group: &'a GroupDir,
    name: &'a str,
    folder: Option<AbsPath>,
}

impl<'a> Displaced<'a> {
    fn new(group: &'a GroupDir, name: &'a str) -> Self {
        Self { group, name, folder: None }
    }

    fn take(&mut self, folder: &Folder, name: &OsStr, below: &Path) -> Result<(), TransactionError> {
        let all = self.group.inner(DISPLACED)?;
        let top = match &self.folder {
            Some(top) => top.clone(),
            None => {
                // One of its own for each attempt: what an earlier one kept stays as it is.
                let free = (1..).map(|n| all.join(format!("{}-{n}", self.name).as_ref()));
                let top = free.into_iter().find(|top| !top.as_path().exists()).expect("one of the names is free");
                self.folder.insert(top).clone()
            }
        };
        let to = if below.as_os_str().is_empty() { top } else { top.resolve(below) };
        let to = Place::make(all.path(), &to, 0o700)?;
        match folder.rename(name, &to.folder, &to.name) {
            Ok(()) => {}
            Err(error) if error.is_cross_device() => {
                trees::copy(folder, name, &to.folder, &to.name, &mut |_| Ok(()))?;
                to.folder.sync_file_system()?;
                trees::remove(folder, name)?;
            }
            Err(error) => return Err(error.into()),
        }
        Ok(to.folder.sync()?)
    }
}

/// Lists what was moved away for a transaction, by whichever attempt to undo it.
pub(super) fn displaced(past: &Past) -> Vec<AbsPath> {
    let folder = past.group.folder().and_then(|folder| folder.open_child(DISPLACED.as_ref()));
    let Ok(folder) = folder else { return Vec::new() };
    let begin = format!("{}-", past.number());
    let is_ours = |name: &OsStr| name.as_encoded_bytes().starts_with(begin.as_bytes());
    folder.names().unwrap_or_default().iter().filter(|name| is_ours(name)).map(|name| folder.join(name)).collect()
}
