//! Quick looks over whole trees: how much is in one, and which of its folders hold a certain name.
//!
//! Read only, links are never followed. A build tree has hundreds of thousands of files: nothing here asks the file
//! system about a file where the listing of its folder, or the folder itself, tells enough.

use std::collections::BTreeMap;
use std::ffi::OsStr;
use std::io;
use std::os::fd::OwnedFd;
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};

use rustix::fs::{self, AtFlags, FileType, Mode, OFlags};

/// How much is in a tree.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Tally {
    /// Regular files, links and special files.
    pub files: u64,
    /// Apparent size of the regular files, in bytes; 0 where it was not asked for.
    pub bytes: u64,
    /// Set when the size was estimated: of many files only a part is looked at.
    pub estimated: bool,
    /// Set when something could not be counted: the figures are lower limits.
    pub at_least: bool,
}

/// Whether a tally needs the sizes: these cost a look at every file.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Sizes {
    Add,
    Skip,
}

/// Files that are all looked at; of further ones, one in [`EVERY`] stands for the others.
const LOOKED_AT: u64 = 20_000;
const EVERY: u64 = 32;

/// Counts what is below `top`, at most `most` entries.
pub fn tally(top: &Path, sizes: Sizes, most: u64) -> Tally {
    let mut tally = Tally::default();
    let mut regular = 0;
    let mut folders = vec![top.to_owned()];
    let mut seen = 0;
    while let Some(folder) = folders.pop() {
        let listed = open(&folder).and_then(|fd| {
            for entry in fs::Dir::read_from(&fd)? {
                let entry = entry?;
                let name = entry.file_name();
                if matches!(name.to_bytes(), b"." | b"..") {
                    continue;
                }
                seen += 1;
                if seen > most {
                    return Ok(false);
                }
                let mut kind = entry.file_type();
                regular += u64::from(kind == FileType::RegularFile);
                let stands_for = if regular <= LOOKED_AT { 1 } else { EVERY };
                tally.estimated |= stands_for > 1 && sizes == Sizes::Add;
                let is_looked_at = sizes == Sizes::Add && regular % stands_for == 0;
                if kind == FileType::Unknown || (kind == FileType::RegularFile && is_looked_at) {
                    let Ok(stat) = fs::statat(&fd, name, AtFlags::SYMLINK_NOFOLLOW) else {
                        tally.at_least = true;
                        continue;
                    };
                    kind = FileType::from_raw_mode(stat.st_mode);
                    if kind == FileType::RegularFile && is_looked_at {
                        let size = u64::try_from(stat.st_size).unwrap_or_default();
                        tally.bytes = tally.bytes.saturating_add(size.saturating_mul(stands_for));
                    }
                }
                match kind {
                    FileType::Directory => folders.push(folder.join(OsStr::from_bytes(name.to_bytes()))),
                    _ => tally.files += 1,
                }
            }
            Ok(true)
        });
        match listed {
            Ok(true) => {}
            Ok(false) => return Tally { at_least: true, ..tally },
            Err(_) => tally.at_least = true,
        }
    }
    tally
}

/// Looks for a folder, `top` or one below it, that holds an entry `name` and that `is_wanted`.
///
/// Fails where a folder cannot be looked into, or there are more than `most` entries to look at.
pub fn any_folder_with(
    top: &Path,
    name: &str,
    most: u64,
    is_wanted: &mut dyn FnMut(&Path) -> bool,
) -> io::Result<bool> {
    let mut folders = vec![top.to_owned()];
    let mut leaves = Leaves::default();
    let mut seen = 0;
    while let Some(folder) = folders.pop() {
        let fd = open(&folder)?;
        let is_leaf = leaves.has_no_folder(&fd)?;
        seen += 1;
        let is_there = match fs::statat(&fd, name, AtFlags::SYMLINK_NOFOLLOW) {
            Ok(_) => true,
            Err(rustix::io::Errno::NOENT) => false,
            Err(errno) => return Err(errno.into()),
        };
        if is_there && is_wanted(&folder) {
            return Ok(true);
        }
        if is_leaf {
            continue;
        }
        seen += push_folders(&folder, &fd, &mut folders)?;
        if seen > most {
            return Err(io::ErrorKind::FileTooLarge.into());
        }
    }
    Ok(false)
}

/// Adds the folders right below `folder`; returns how many entries were listed.
fn push_folders(folder: &Path, fd: &OwnedFd, folders: &mut Vec<PathBuf>) -> io::Result<u64> {
    let mut listed = 0;
    for entry in fs::Dir::read_from(fd)? {
        let entry = entry?;
        let name = entry.file_name();
        if matches!(name.to_bytes(), b"." | b"..") {
            continue;
        }
        listed += 1;
        let kind = match entry.file_type() {
            FileType::Unknown => FileType::from_raw_mode(fs::statat(fd, name, AtFlags::SYMLINK_NOFOLLOW)?.st_mode),
            kind => kind,
        };
        if kind == FileType::Directory {
            folders.push(folder.join(OsStr::from_bytes(name.to_bytes())));
        }
    }
    Ok(listed)
}

/// Where the number of a folder's links tells that no folder is in it: `.` and its own name are two, each folder in it
/// adds its `..`. Not every file system keeps to that (btrfs and overlays have 1 for all).
#[derive(Default)]
struct Leaves {
    counts: BTreeMap<u64, bool>,
}

impl Leaves {
    /// Magic numbers of ext2 to ext4, XFS and tmpfs (statfs(2)), which keep to it.
    const COUNTING: [u64; 3] = [0xEF53, 0x5846_5342, 0x0102_1994];

    fn has_no_folder(&mut self, fd: &OwnedFd) -> io::Result<bool> {
        let stat = fs::fstat(fd)?;
        if stat.st_nlink != 2 {
            return Ok(false);
        }
        let counts = self.counts.entry(stat.st_dev).or_insert_with(|| {
            #[expect(clippy::cast_sign_loss, reason = "the magic number is 32 bits wide, of either sign by platform")]
            fs::fstatfs(fd).is_ok_and(|of| Self::COUNTING.contains(&(of.f_type as u64 & 0xFFFF_FFFF)))
        });
        Ok(*counts)
    }
}

fn open(folder: &Path) -> io::Result<OwnedFd> {
    let flags = OFlags::RDONLY | OFlags::DIRECTORY | OFlags::NOFOLLOW | OFlags::CLOEXEC | OFlags::NONBLOCK;
    Ok(fs::open(folder, flags, Mode::empty())?)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn lab() -> tempfile::TempDir {
        let folder = tempfile::tempdir().unwrap();
        for (name, bytes) in [("a", 3), ("d/b", 5), ("d/e/c", 7), ("d/e/f/g/h", 11), ("leaf/i", 13)] {
            let path = folder.path().join(name);
            std::fs::create_dir_all(path.parent().unwrap()).unwrap();
            std::fs::write(path, vec![0; bytes]).unwrap();
        }
        std::os::unix::fs::symlink("/", folder.path().join("d/link")).unwrap();
        folder
    }

    #[test]
    fn a_tally_counts_all_and_follows_no_link() {
        let lab = lab();
        assert_eq!(tally(lab.path(), Sizes::Add, 100), Tally { files: 6, bytes: 39, ..Tally::default() });
        assert_eq!(tally(lab.path(), Sizes::Skip, 100), Tally { files: 6, ..Tally::default() });
        assert!(tally(lab.path(), Sizes::Add, 3).at_least);
        assert!(tally(&lab.path().join("none"), Sizes::Add, 3).at_least);
    }

    #[test]
    fn of_many_files_a_part_is_looked_at() {
        let lab = tempfile::tempdir().unwrap();
        for number in 0..LOOKED_AT + 10 * EVERY {
            let folder = lab.path().join((number / 1000).to_string());
            std::fs::create_dir_all(&folder).unwrap();
            std::fs::write(folder.join(number.to_string()), "12345").unwrap();
        }
        let files = LOOKED_AT + 10 * EVERY;
        assert_eq!(
            tally(lab.path(), Sizes::Add, u64::MAX),
            Tally { files, bytes: 5 * files, estimated: true, at_least: false }
        );
    }

    #[test]
    fn a_name_is_found_in_every_folder() {
        let lab = lab();
        let find = |name: &str| any_folder_with(lab.path(), name, 1000, &mut |_| true).unwrap();
        for name in ["a", "b", "c", "h", "i", "d", "g", "link"] {
            assert!(find(name), "{name}");
        }
        assert!(!find("none") && !find("etc"));
        let mut asked = Vec::new();
        let found = any_folder_with(lab.path(), "c", 1000, &mut |folder| {
            asked.push(folder.to_owned());
            false
        });
        assert_eq!((found.unwrap(), asked), (false, vec![lab.path().join("d/e")]));
        assert!(any_folder_with(lab.path(), "none", 3, &mut |_| true).is_err());
    }
}
