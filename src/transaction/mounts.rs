//! Mount points in what is about to be moved or removed: what they show lies elsewhere, and is not ours.

use super::TransactionError;
use super::set_aside::{Parts, SetAside};
use crate::change::AbsPath;
use crate::os::machine;
use crate::os::trees::{Found, Place};

/// Refuses a folder with a mount point below it: what that shows lies elsewhere, and emptying the folder would
/// empty that. A folder that is one itself is the user's word.
pub(crate) fn refuse_mounts(path: &AbsPath) -> Result<(), TransactionError> {
    let real = std::fs::canonicalize(path).unwrap_or_else(|_| path.as_path().to_owned());
    let Some(mount) = machine::mounted_below(&real).into_iter().next() else { return Ok(()) };
    let mount = mount.strip_prefix(&real).map(|below| path.resolve(below)).unwrap_or_else(|_| path.clone());
    Err(TransactionError::HoldsMount { path: path.clone(), mount })
}

impl SetAside {
    /// Refuses to put the folder back, or to forget it, where that would move or empty what somebody mounted since.
    pub fn refuse_mounts(&self) -> Result<(), TransactionError> {
        refuse_mounts(&self.path)?;
        refuse_mounts(&self.trash)?;
        if self.parts == Parts::Whole
            && let Ok(Found::Here(place)) = Place::find(&self.anchor, &self.path)
            && place.folder.is_mount_point(&place.name).unwrap_or_default()
        {
            return Err(TransactionError::HoldsMount { path: self.path.clone(), mount: self.path.clone() });
        }
        Ok(())
    }
}
