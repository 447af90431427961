//! What appeared where a folder was set aside: moved out of the way by the undo, and kept in the trash.

use std::ffi::{OsStr, OsString};
use std::path::Path;

use super::TransactionError;
use super::beside::BESIDE;
use super::past::Past;
use super::set_aside::{Parts, SetAside, WHOLE};
use super::state::GroupDir;
use crate::change::AbsPath;
use crate::os::files::{FileError, Folder, Kind};
use crate::os::trees::{self, Found, Place};

const NEWCOMER: &str = "newcomer-";

/// Lists all that the undo of a group moved out of the way; none where nothing can be looked at.
pub(super) fn all_of(group: &GroupDir, pasts: &[Past]) -> Vec<AbsPath> {
    let in_trash = pasts.iter().flat_map(Past::set_aside).flat_map(|attempt| attempt.newcomers().unwrap_or_default());
    let displaced = group.folder().and_then(|folder| folder.open_child("displaced".as_ref()));
    let displaced = displaced.and_then(|folder| Ok(folder.names()?.iter().map(|name| folder.join(name)).collect()));
    in_trash.chain(displaced.unwrap_or_else(|_| Vec::new())).collect()
}

/// How many bytes an entry and all below it have.
pub(super) fn size(path: &AbsPath) -> u64 {
    let (Some(parent), Some(name)) = (path.parent(), path.file_name()) else { return 0 };
    let Ok(folder) = Folder::open(&parent) else { return 0 };
    let own = folder.status(name).ok().flatten().filter(|status| status.kind == Kind::File);
    let mut bytes = own.map_or(0, |status| status.len);
    if let Ok(inner) = folder.open_child(name) {
        // What cannot be entered is not counted.
        let _ = trees::walk::<FileError>(&inner, &mut |_, _, _, status| {
            bytes += if status.kind == Kind::File { status.len } else { 0 };
            Ok(trees::Descend::Into)
        });
    }
    bytes
}

impl SetAside {
    /// Lists what appeared at the path meanwhile and was moved out of the way.
    pub fn newcomers(&self) -> Result<Vec<AbsPath>, TransactionError> {
        let Some(trash) = self.open_trash()? else { return Ok(Vec::new()) };
        Ok(trash.names()?.iter().filter(|name| is_newcomer(name)).map(|name| trash.join(name)).collect())
    }

    /// Moves away what appeared at the path since. Nothing is in the way when nothing was moved.
    pub(super) fn clear(&self, trash: &Folder, items: &Folder) -> Result<(), TransactionError> {
        match &self.parts {
            Parts::Whole => {
                if items.status(WHOLE.as_ref())?.is_some()
                    && let Found::Here(place) = Place::find(&self.anchor, &self.path)?
                    && place.status()?.is_some()
                {
                    self.move_away(trash, &place)?;
                }
            }
            Parts::Entries { folders, .. } => {
                let stays: Vec<&Path> = folders.iter().map(|folder| folder.path.as_ref()).collect();
                for folder in folders {
                    let below: &Path = folder.path.as_ref();
                    let Found::Here(place) = Place::find(&self.anchor, &self.path.resolve(below))? else { continue };
                    let Ok(inner) = place.folder.open_child(&place.name) else { continue };
                    for name in inner.names()? {
                        let path = below.join(&name);
                        if path == Path::new(BESIDE) || stays.contains(&path.as_path()) {
                            continue;
                        }
                        let place = Place { folder: place.folder.open_child(&place.name)?, name };
                        self.move_away(trash, &place)?;
                    }
                }
            }
        }
        Ok(())
    }

    /// Moves an entry into the trash under a free name.
    pub(super) fn move_away(&self, trash: &Folder, place: &Place) -> Result<(), TransactionError> {
        let taken = trash.names()?;
        let free = |name: &OsString| !taken.contains(name);
        let mut names = (1..).map(|n| {
            let mut name = OsString::from(format!("{NEWCOMER}{n}-"));
            name.push(&place.name);
            name
        });
        let name = names.find(free).expect("one of the names is free");
        match place.folder.rename(&place.name, trash, &name) {
            Ok(()) => {}
            Err(error) if error.is_cross_device() => {
                trees::copy(&place.folder, &place.name, trash, &name, &mut |_| Ok(()))?;
                trash.sync_file_system()?;
                trees::remove(&place.folder, &place.name)?;
            }
            Err(error) => return Err(error.into()),
        }
        trash.sync()?;
        Ok(place.folder.sync()?)
    }
}

pub(super) fn is_newcomer(name: &OsStr) -> bool {
    name.as_encoded_bytes().starts_with(NEWCOMER.as_bytes())
}
