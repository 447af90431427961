//! Creates, replaces or deletes one file, so that every reader sees the old or the new one.

use std::io::Write;

use super::journal::Act;
use super::saved::{Save, Saved, dress, save_file, store_bytes, temporary_name};
use super::seen::{Seen, present_version};
use super::state::GroupDir;
use super::{Drift, TransactionError};
use crate::change::{AbsPath, FileImage, FileState, WriteFile};
use crate::os::fault::step;
use crate::os::files::Status;
use crate::os::trees::{Found, Place};

/// Saves what stands there and says what will be done.
pub(crate) fn intend(
    group: &GroupDir,
    anchor: &AbsPath,
    write: &WriteFile,
    name: String,
) -> Result<Act, TransactionError> {
    let found = Place::find(anchor, &write.path)?;
    if let Some(drift) = drift(group, write, &found)? {
        return Err(TransactionError::Drift(vec![drift]));
    }
    let mut made = Vec::new();
    let before = match (&write.before, &found) {
        (FileState::Present(_), Found::Here(place)) => Saved::File(save_file(group, place, &name)?),
        (FileState::Absent, Found::Here(_)) => Saved::Absent,
        (FileState::Absent | FileState::Present(_), Found::NoParent { folder, missing, .. }) => {
            let mut path = folder.path().clone();
            for parent in missing {
                path = path.resolve(parent);
                made.push(path.clone());
            }
            Saved::Absent
        }
    };
    if let FileState::Present(image) = &write.after {
        // What a later rollback compares with, and shows beside the user's version.
        store_bytes(group, &image.bytes)?;
    }
    let temporary = temporary_name(group, &name);
    let after = Seen::planned(&write.after);
    let save = Save { anchor: anchor.clone(), path: write.path.clone(), name, before };
    Ok(Act::Write { save, made, temporary, after })
}

/// Compares what stands there with what the plan saw.
pub(crate) fn drift(group: &GroupDir, write: &WriteFile, found: &Found) -> Result<Option<Drift>, TransactionError> {
    if Seen::find(found)? == Seen::planned(&write.before) {
        return Ok(None);
    }
    let expected = match &write.before {
        FileState::Absent => super::Version::Absent,
        FileState::Present(image) => super::Version::File { bytes: Some(image.bytes.clone()), mode: image.mode },
    };
    let present = present_version(group, found, &Seen::Absent);
    Ok(Some(Drift { path: write.path.clone(), expected, present }))
}

/// Does it.
pub(crate) fn act(anchor: &AbsPath, write: &WriteFile, act: &Act) -> Result<(), TransactionError> {
    let Act::Write { save, temporary, .. } = act else {
        unreachable!("`intend` makes nothing else");
    };
    match &write.after {
        FileState::Absent => {
            if let Found::Here(place) = Place::find(anchor, &write.path)? {
                place.folder.remove_file(&place.name)?;
                place.folder.sync()?;
            }
            Ok(())
        }
        FileState::Present(image) => put(&Place::make(anchor, &write.path, 0o755)?, image, &save.before, temporary),
    }
}

fn put(place: &Place, image: &FileImage, before: &Saved, temporary: &str) -> Result<(), TransactionError> {
    let (folder, name) = (&place.folder, temporary.as_ref());
    let mut file = folder.create_file(name, 0o600)?;
    let failed = |source| folder.error("write", name, source);
    let (first, rest) = image.bytes.split_at(image.bytes.len() / 2);
    step().and_then(|()| file.write_all(first)).map_err(failed)?;
    step().and_then(|()| file.write_all(rest)).map_err(failed)?;
    match before {
        Saved::File(saved) => {
            let times = Status::of(&file).map_err(failed)?;
            // As the old file, but for the mode that is wanted and the time of a new one.
            let status =
                Status { mode: image.mode, accessed: times.accessed, modified: times.modified, ..saved.status };
            dress(folder, name, &super::saved::SavedFile { status, ..saved.clone() })?;
        }
        Saved::Absent | Saved::Link { .. } | Saved::Tree(_) => {
            // The plan shows a mode: nobody else gets a right by a list that the folder hands down.
            folder.set_attributes(name, &[])?;
            folder.set_mode(name, image.mode)?;
        }
    }
    step().and_then(|()| file.sync_all()).map_err(failed)?;
    match before {
        // Whoever created it meanwhile keeps it.
        Saved::Absent => folder.rename(name, folder, &place.name)?,
        Saved::File(_) | Saved::Link { .. } | Saved::Tree(_) => folder.replace(name, folder, &place.name)?,
    }
    Ok(folder.sync()?)
}
