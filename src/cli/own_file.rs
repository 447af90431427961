//! Files that `fix` writes where the user says: patches and plans.

use std::fs::OpenOptions;
use std::io::{Read, Write};
use std::os::unix::fs::OpenOptionsExt;

use anyhow::{Context, Result, bail};

use crate::change::AbsPath;

/// Writes a file of a folder that is ours, mode 0600, whatever it held; a link is not followed.
pub fn replace(path: &AbsPath, bytes: &[u8]) -> Result<()> {
    let mut open = OpenOptions::new();
    open.write(true).create(true).truncate(true).mode(0o600);
    open.custom_flags(rustix::fs::OFlags::NOFOLLOW.bits().cast_signed());
    let mut file = open.open(path.as_path()).with_context(|| format!("cannot write `{path}`"))?;
    file.write_all(bytes).with_context(|| format!("cannot write `{path}`"))
}

/// Writes a file, mode 0600. What stands there already is replaced only when it begins like one of ours, or is empty;
/// a link is not followed.
pub fn write(path: &AbsPath, bytes: &[u8], beginning: &[u8]) -> Result<()> {
    let mut open = OpenOptions::new();
    open.read(true).write(true).create(true).truncate(false).mode(0o600);
    open.custom_flags(rustix::fs::OFlags::NOFOLLOW.bits().cast_signed());
    let mut file = open.open(path.as_path()).with_context(|| format!("cannot write `{path}`"))?;
    // Devices and pipes (`/dev/stdout`, a named pipe) hold nothing to lose.
    if file.metadata()?.is_file() {
        let mut old = Vec::new();
        (&mut file)
            .take(beginning.len() as u64)
            .read_to_end(&mut old)
            .with_context(|| format!("cannot read `{path}`"))?;
        if !old.is_empty() && old != beginning {
            bail!("`{path}` exists and is none of `fix`'s own files\nhint: name a new file");
        }
        std::io::Seek::rewind(&mut file)?;
        file.set_len(0).with_context(|| format!("cannot write `{path}`"))?;
    }
    file.write_all(bytes).with_context(|| format!("cannot write `{path}`"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_files_like_ours_are_replaced() {
        let folder = tempfile::tempdir().unwrap();
        let at = |name: &str| AbsPath::new(folder.path().join(name)).unwrap();
        write(&at("new"), b"diff --git one", b"diff --git ").unwrap();
        write(&at("new"), b"diff --git 2", b"diff --git ").unwrap();
        assert_eq!(std::fs::read(at("new")).unwrap(), b"diff --git 2");
        std::fs::write(at("setup.py"), "import os\n").unwrap();
        assert!(write(&at("setup.py"), b"diff --git 2", b"diff --git ").is_err());
        assert_eq!(std::fs::read(at("setup.py")).unwrap(), b"import os\n");
        std::os::unix::fs::symlink("new", at("link")).unwrap();
        assert!(write(&at("link"), b"diff --git 3", b"diff --git ").is_err());
    }
}
