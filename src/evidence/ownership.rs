//! Whose a file is: whether others than root and the user could have written it, or put something else in its place.
//!
//! What `fix` runs by itself must be out of everybody else's reach, by each folder that leads to it.

use std::io;
use std::path::{Path, PathBuf};

use super::{FileKind, Host, Metadata};

const BY_GROUP: u32 = 0o020;
const BY_ALL: u32 = 0o002;
/// In a folder like `/tmp` nobody can touch what belongs to others.
const STICKY: u32 = 0o1000;

/// Says whether `path`, what a link there leads to, and every folder above both are root's or the user's own, and
/// writable by nobody else. What cannot be seen is not.
pub fn is_out_of_reach(host: &dyn Host, path: &Path, kind: FileKind) -> bool {
    let Ok(real) = host.real(path) else { return false };
    let is_ours = host.follow(&real).is_ok_and(|meta| meta.kind == kind && belongs_to_us(host, &meta));
    let above = |path: &Path| path.ancestors().skip(1).all(|folder| holds_fast(host, folder));
    is_ours && above(&real) && above(path)
}

/// Says whether a file or folder is root's or the user's own and not open to everybody: enough for what is only handed on
/// to the user's own build, as a team's folder that its group may write is.
pub fn is_of_no_stranger(host: &dyn Host, path: &Path) -> bool {
    host.follow(path).is_ok_and(|meta| is_owned(host, &meta) && meta.mode & BY_ALL == 0)
}

fn belongs_to_us(host: &dyn Host, meta: &Metadata) -> bool {
    is_owned(host, meta) && !others_write(meta)
}

/// Says whether others can put nothing into a folder in the place of what is ours.
fn holds_fast(host: &dyn Host, folder: &Path) -> bool {
    host.follow(folder).is_ok_and(|meta| is_owned(host, &meta) && (!others_write(&meta) || meta.mode & STICKY != 0))
}

fn is_owned(host: &dyn Host, meta: &Metadata) -> bool {
    meta.user == 0 || meta.user == host.user()
}

/// A group of root's, or the owner's own (of the same number, as most systems make one for each user), is nobody else.
fn others_write(meta: &Metadata) -> bool {
    let is_own_group = meta.group == 0 || meta.group == meta.user;
    meta.mode & BY_ALL != 0 || (meta.mode & BY_GROUP != 0 && !is_own_group)
}

/// Folders of an installation are looked into so deep, and so many entries in all.
const DEEP: usize = 5;
const MOST_ENTRIES: usize = 200_000;

/// Finds what others could have put among the shell scripts of an installation, or a folder that cannot be looked through.
pub fn script_in_reach(host: &dyn Host, root: &Path) -> Option<PathBuf> {
    let mut folders = vec![(root.to_owned(), 0)];
    let mut left = MOST_ENTRIES;
    while let Some((folder, depth)) = folders.pop() {
        let entries = match host.entries(&folder, left) {
            Ok(entries) => entries,
            Err(error) if matches!(error.kind(), io::ErrorKind::PermissionDenied | io::ErrorKind::NotFound) => continue,
            // Too many to look at: nobody knows.
            Err(_) => return Some(folder),
        };
        left = left.saturating_sub(entries.len());
        for (name, kind) in entries {
            let path = folder.join(&name);
            let is_script = || {
                let name = name.to_string_lossy();
                name.ends_with(".sh") || name.ends_with(".bash") || name.contains("setenv")
            };
            match kind {
                FileKind::Folder if depth < DEEP => folders.push((path, depth + 1)),
                FileKind::File | FileKind::Link if is_script() => {
                    let is_file = host.follow(&path).is_ok_and(|meta| meta.kind == FileKind::File);
                    if is_file && !is_out_of_reach(host, &path, FileKind::File) {
                        return Some(path);
                    }
                }
                _ => {}
            }
        }
    }
    None
}

#[cfg(test)]
mod tests {
    use std::fs;
    use std::os::unix::fs::{PermissionsExt, chown};

    use super::*;
    use crate::evidence::LocalHost;
    use crate::os::AbsPath;
    use crate::os::git::GitKnowledge;

    #[test]
    fn what_others_can_change() {
        let folder = tempfile::tempdir().unwrap();
        let root = AbsPath::new(folder.path()).unwrap();
        let host = LocalHost::new(root.clone(), [], Box::new(GitKnowledge::discover(&root)));
        let inner = folder.path().join("a/b");
        fs::create_dir_all(&inner).unwrap();
        let file = inner.join("program");
        let set = |path: &Path, mode: u32| fs::set_permissions(path, fs::Permissions::from_mode(mode)).unwrap();
        let reset = || {
            fs::write(&file, "").unwrap();
            set(&file, 0o755);
            set(&inner, 0o755);
            set(inner.parent().unwrap(), 0o755);
            is_out_of_reach(&host, &file, FileKind::File)
        };
        assert!(reset());
        assert!(!is_out_of_reach(&host, &file, FileKind::Folder) && is_out_of_reach(&host, &inner, FileKind::Folder));
        assert!(!is_out_of_reach(&host, &inner.join("none"), FileKind::File));
        for (path, mode, expected) in [
            (file.as_path(), 0o757, false),
            (&inner, 0o777, false),
            (inner.parent().unwrap(), 0o777, false),
            (inner.parent().unwrap(), 0o1777, true),
        ] {
            assert!(reset());
            set(path, mode);
            assert_eq!(is_out_of_reach(&host, &file, FileKind::File), expected, "{path:?} {mode:o}");
        }
        // Handing on asks less: not open to everybody.
        assert!(reset() && is_of_no_stranger(&host, &file));
        set(&file, 0o775);
        assert!(is_of_no_stranger(&host, &file));
        set(&file, 0o757);
        assert!(!is_of_no_stranger(&host, &file));
        // A group's members are others, where the group is not the owner's own.
        assert!(reset());
        set(&file, 0o775);
        let meta = host.follow(&file).unwrap();
        assert_eq!(is_out_of_reach(&host, &file, FileKind::File), meta.group == 0 || meta.group == meta.user);
        if host.user() == 0 {
            chown(&file, Some(0), Some(65_534)).unwrap();
            assert!(!is_out_of_reach(&host, &file, FileKind::File));
            chown(&file, Some(65_534), Some(0)).unwrap();
            assert!(!is_out_of_reach(&host, &file, FileKind::File));
        }
        // A link counts with both ends.
        let link = folder.path().join("link");
        std::os::unix::fs::symlink(&file, &link).unwrap();
        if host.user() == 0 {
            chown(&file, Some(0), Some(0)).unwrap();
        }
        assert!(reset() && is_out_of_reach(&host, &link, FileKind::File));
        set(&inner, 0o777);
        assert!(!is_out_of_reach(&host, &link, FileKind::File));
    }
}
