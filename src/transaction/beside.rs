//! The folder `.fix` beside what is set aside, where the state folder is on another file system.
//!
//! It tells git and backup programs to leave it alone, and goes away with its last content.

use std::ffi::OsStr;
use std::io::Write;

use rustix::io::Errno;

use crate::os::fault::step;
use crate::os::files::{FileError, Folder, Gone};

/// Its name.
pub(crate) const BESIDE: &str = ".fix";

const SIGNS: [(&str, &str); 2] = [
    (".gitignore", "*\n"),
    (
        "CACHEDIR.TAG",
        "Signature: 8a477f597d28d172789f06886806bc55\n# Set aside by `fix`; `fix rollback` puts it back.\n",
    ),
];

/// Opens `.fix` in a folder, made where it is absent.
pub(crate) fn open_or_make(folder: &Folder) -> Result<Folder, FileError> {
    let beside = folder.create_or_open(BESIDE.as_ref(), 0o700)?;
    for (name, text) in SIGNS {
        write_small(&beside, name.as_ref(), text.as_bytes())?;
    }
    folder.sync()?;
    Ok(beside)
}

/// Removes `.fix` from a folder when nothing but its signs is left in it.
pub(crate) fn remove_if_empty(folder: &Folder) -> Result<(), FileError> {
    let beside = match folder.open_child(BESIDE.as_ref()) {
        Ok(beside) => beside,
        Err(error) if error.errno() == Some(Errno::NOENT) => return Ok(()),
        Err(error) => return Err(error),
    };
    let is_sign = |name: &OsStr| SIGNS.iter().any(|(sign, _)| name == *sign);
    if beside.names()?.iter().any(|name| !is_sign(name)) {
        return Ok(());
    }
    for (name, _) in SIGNS {
        beside.remove_file(name.as_ref())?;
    }
    match folder.remove_folder_if_empty(BESIDE.as_ref())? {
        Gone::Yes | Gone::No => folder.sync(),
    }
}

/// Writes a small file where there is none of the name; an interrupted one is written again.
pub(crate) fn write_small(folder: &Folder, name: &OsStr, bytes: &[u8]) -> Result<(), FileError> {
    match folder.status(name)? {
        Some(status) if status.len == bytes.len() as u64 => return Ok(()),
        Some(_) => folder.remove_file(name)?,
        None => {}
    }
    let mut file = folder.create_file(name, 0o600)?;
    step().and_then(|()| file.write_all(bytes)).map_err(|source| folder.error("write", name, source))
}
