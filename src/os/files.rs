//! Files below an opened folder: the only calls of this program that change a file system.
//!
//! A [`Folder`] is a descriptor, so that a parent that is swapped for a link cannot redirect a write.
//! Names are single components; links are never followed. Every change passes [`step`] first.

use std::ffi::{OsStr, OsString};
use std::fs::File;
use std::io::{self, Read};
use std::os::fd::{AsFd, OwnedFd};
use std::os::unix::ffi::{OsStrExt, OsStringExt};
use std::path::Path;

use rustix::fs::{
    self, AtFlags, FileType, Mode, OFlags, RenameFlags, StatxAttributes, StatxFlags, Timespec, Timestamps,
};
use rustix::io::Errno;
use serde::{Deserialize, Serialize};

use super::AbsPath;
use super::fault::{is_separate, step};

/// A step on a file that the system refused.
#[derive(Debug, thiserror::Error)]
#[error("cannot {action} `{path}`: {source}")]
pub struct FileError {
    pub action: &'static str,
    pub path: AbsPath,
    pub source: io::Error,
}

/// An opened folder.
#[derive(Debug)]
pub struct Folder {
    pub(super) fd: OwnedFd,
    path: AbsPath,
    /// Opened without the right to list it: it cannot be synchronised either.
    traverse_only: bool,
}

/// The kind of an entry.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Kind {
    File,
    Folder,
    Link,
    Pipe,
    Socket,
    Device,
}

/// A time of a file: seconds since 1970 and nanoseconds.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
pub struct FileTime(pub i64, pub u32);

/// What the file system says about an entry itself.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct Status {
    pub kind: Kind,
    /// Permission bits, `0o7777` at most.
    pub mode: u32,
    pub user: u32,
    pub group: u32,
    pub len: u64,
    pub device: u64,
    pub inode: u64,
    pub names: u64,
    pub modified: FileTime,
    pub accessed: FileTime,
}

impl FileError {
    /// The system's error number, where it has one.
    pub fn errno(&self) -> Option<Errno> {
        Errno::from_io_error(&self.source)
    }

    /// Says whether the two ends lie on different file systems.
    pub fn is_cross_device(&self) -> bool {
        self.errno() == Some(Errno::XDEV)
    }

    /// Says whether links are impossible here, so that a copy has to serve. A full disk is no such reason.
    pub fn is_unlinkable(&self) -> bool {
        [Errno::XDEV, Errno::PERM, Errno::ACCESS, Errno::MLINK, Errno::NOTSUP, Errno::NOSYS]
            .into_iter()
            .any(|errno| self.errno() == Some(errno))
    }

    /// Says whether the entry cannot be moved as a whole, though perhaps piece by piece.
    pub fn is_pinned(&self) -> bool {
        [Errno::ACCESS, Errno::PERM, Errno::BUSY, Errno::ROFS].into_iter().any(|errno| self.errno() == Some(errno))
    }
}

impl Folder {
    /// Opens a folder; links in `path` are followed, so it must be a trusted one.
    pub fn open(path: &AbsPath) -> Result<Self, FileError> {
        let flags = OFlags::RDONLY | OFlags::DIRECTORY | OFlags::CLOEXEC;
        let (fd, traverse_only) = match fs::open(path.as_path(), flags, Mode::empty()) {
            // A folder of mode 0711 may be passed through, though not listed.
            Err(Errno::ACCESS) => (fs::open(path.as_path(), flags | OFlags::PATH, Mode::empty()), true),
            opened => (opened, false),
        };
        let fd = fd.map_err(|errno| failed("open the folder", path.clone(), errno))?;
        Ok(Self { fd, path: path.clone(), traverse_only })
    }

    /// Opens a folder in this one; a link is refused.
    pub fn open_child(&self, name: &OsStr) -> Result<Self, FileError> {
        let flags = OFlags::RDONLY | OFlags::DIRECTORY | OFlags::NOFOLLOW | OFlags::CLOEXEC;
        let (fd, traverse_only) = match fs::openat(&self.fd, name, flags, Mode::empty()) {
            Err(Errno::ACCESS) => (fs::openat(&self.fd, name, flags | OFlags::PATH, Mode::empty()), true),
            opened => (opened, false),
        };
        let fd = fd.map_err(|errno| match errno {
            Errno::LOOP | Errno::NOTDIR if self.is_link(name) => {
                self.error("open the folder", name, io::Error::other("it is a link, and links are not followed here"))
            }
            errno => failed("open the folder", self.join(name), errno),
        })?;
        Ok(Self { fd, path: self.join(name), traverse_only })
    }

    pub fn path(&self) -> &AbsPath {
        &self.path
    }

    /// Returns the path of an entry, for messages.
    pub fn join(&self, name: &OsStr) -> AbsPath {
        self.path.resolve(name)
    }

    /// Describes an entry itself; `None` when there is none.
    pub fn status(&self, name: &OsStr) -> Result<Option<Status>, FileError> {
        match fs::statat(&self.fd, name, AtFlags::SYMLINK_NOFOLLOW) {
            Ok(stat) => Ok(Some(Status::from(&stat))),
            Err(Errno::NOENT) => Ok(None),
            Err(errno) => Err(failed("inspect", self.join(name), errno)),
        }
    }

    /// Says whether something is mounted on an entry, or the entry lies on another file system than this folder.
    ///
    /// A part of the same file system may be mounted, so that the device alone does not tell; old kernels tell no
    /// more.
    pub fn is_mount_point(&self, name: &OsStr) -> Result<bool, FileError> {
        let flags = AtFlags::SYMLINK_NOFOLLOW | AtFlags::NO_AUTOMOUNT;
        if let Ok(told) = fs::statx(&self.fd, name, flags, StatxFlags::BASIC_STATS)
            && told.stx_attributes_mask.contains(StatxAttributes::MOUNT_ROOT)
        {
            return Ok(told.stx_attributes.contains(StatxAttributes::MOUNT_ROOT));
        }
        let own = self.own_status()?.device;
        Ok(self.status(name)?.is_some_and(|status| status.kind == Kind::Folder && status.device != own))
    }

    fn is_link(&self, name: &OsStr) -> bool {
        self.status(name).is_ok_and(|status| status.is_some_and(|status| status.kind == Kind::Link))
    }

    /// Describes this folder.
    pub fn own_status(&self) -> Result<Status, FileError> {
        let stat = fs::fstat(&self.fd).map_err(|errno| failed("inspect", self.path.clone(), errno))?;
        Ok(Status::from(&stat))
    }

    /// Lists the names in this folder, sorted.
    pub fn names(&self) -> Result<Vec<OsString>, FileError> {
        let list = || -> Result<Vec<OsString>, Errno> {
            let mut names = Vec::new();
            for entry in fs::Dir::read_from(&self.fd)? {
                let name = OsString::from_vec(entry?.file_name().to_bytes().to_vec());
                if name != "." && name != ".." {
                    names.push(name);
                }
            }
            names.sort();
            Ok(names)
        };
        list().map_err(|errno| failed("list", self.path.clone(), errno))
    }

    /// Opens a regular file for reading; anything else is refused, so that no pipe can block.
    pub fn open_file(&self, name: &OsStr) -> Result<File, FileError> {
        let flags = OFlags::RDONLY | OFlags::NOFOLLOW | OFlags::NONBLOCK | OFlags::CLOEXEC;
        let fd =
            fs::openat(&self.fd, name, flags, Mode::empty()).map_err(|errno| failed("open", self.join(name), errno))?;
        let file = File::from(fd);
        let meta = file.metadata().map_err(|source| self.error("inspect", name, source))?;
        if !meta.is_file() {
            return Err(self.error("read", name, io::Error::other("not a regular file")));
        }
        Ok(file)
    }

    /// Reads a whole regular file.
    pub fn read(&self, name: &OsStr) -> Result<Vec<u8>, FileError> {
        let mut bytes = Vec::new();
        self.open_file(name)?.read_to_end(&mut bytes).map_err(|source| self.error("read", name, source))?;
        Ok(bytes)
    }

    /// Returns what a link holds.
    pub fn link_target(&self, name: &OsStr) -> Result<OsString, FileError> {
        let target = fs::readlinkat(&self.fd, name, Vec::new());
        let target = target.map_err(|errno| failed("read the link", self.join(name), errno))?;
        Ok(OsString::from_vec(target.into_bytes()))
    }

    /// Creates a file that must not exist, for writing.
    pub fn create_file(&self, name: &OsStr, mode: u32) -> Result<File, FileError> {
        let flags = OFlags::WRONLY | OFlags::CREATE | OFlags::EXCL | OFlags::NOFOLLOW | OFlags::CLOEXEC;
        self.step("create", name)?;
        fs::openat(&self.fd, name, flags, Mode::from_raw_mode(mode))
            .map(File::from)
            .map_err(|errno| failed("create", self.join(name), errno))
    }

    /// Creates a folder that must not exist.
    pub fn create_folder(&self, name: &OsStr, mode: u32) -> Result<Folder, FileError> {
        self.step("create the folder", name)?;
        fs::mkdirat(&self.fd, name, Mode::from_raw_mode(mode))
            .map_err(|errno| failed("create the folder", self.join(name), errno))?;
        self.open_child(name)
    }

    /// Opens a folder in this one, creating it where it is absent.
    pub fn create_or_open(&self, name: &OsStr, mode: u32) -> Result<Folder, FileError> {
        match self.create_folder(name, mode) {
            Err(error) if error.errno() == Some(Errno::EXIST) => self.open_child(name),
            made => made,
        }
    }

    /// Removes an entry that is no folder; an absent one is fine.
    pub fn remove_file(&self, name: &OsStr) -> Result<(), FileError> {
        self.step("remove", name)?;
        match fs::unlinkat(&self.fd, name, AtFlags::empty()) {
            Ok(()) | Err(Errno::NOENT) => Ok(()),
            Err(errno) => Err(failed("remove", self.join(name), errno)),
        }
    }

    /// Removes an empty folder; an absent one is fine. Says whether it is gone.
    pub fn remove_folder_if_empty(&self, name: &OsStr) -> Result<Gone, FileError> {
        self.step("remove the folder", name)?;
        match fs::unlinkat(&self.fd, name, AtFlags::REMOVEDIR) {
            Ok(()) | Err(Errno::NOENT) => Ok(Gone::Yes),
            Err(Errno::NOTEMPTY | Errno::EXIST | Errno::BUSY) => Ok(Gone::No),
            Err(errno) => Err(failed("remove the folder", self.join(name), errno)),
        }
    }

    /// Moves an entry to a name that must be free.
    pub fn rename(&self, name: &OsStr, to: &Folder, to_name: &OsStr) -> Result<(), FileError> {
        self.rename_with(name, to, to_name, RenameFlags::NOREPLACE)
    }

    /// Moves an entry over another.
    pub fn replace(&self, name: &OsStr, to: &Folder, to_name: &OsStr) -> Result<(), FileError> {
        self.rename_with(name, to, to_name, RenameFlags::empty())
    }

    fn rename_with(&self, name: &OsStr, to: &Folder, to_name: &OsStr, flags: RenameFlags) -> Result<(), FileError> {
        self.step("move", name)?;
        if is_separate(self.join(name).as_path(), to.join(to_name).as_path()) {
            return Err(failed("move", self.join(name), Errno::XDEV));
        }
        let renamed = match fs::renameat_with(&self.fd, name, &to.fd, to_name, flags) {
            // Old kernels and some network file systems know no RENAME_NOREPLACE.
            Err(Errno::INVAL | Errno::NOSYS) if flags == RenameFlags::NOREPLACE => match to.status(to_name)? {
                Some(_) => Err(Errno::EXIST),
                None => fs::renameat(&self.fd, name, &to.fd, to_name),
            },
            renamed => renamed,
        };
        renamed.map_err(|errno| failed("move", self.join(name), errno))
    }

    /// Gives a file a second name.
    pub fn link(&self, name: &OsStr, to: &Folder, to_name: &OsStr) -> Result<(), FileError> {
        self.step("link", name)?;
        // Thousands of links are made at once: no path is put together where no test asks.
        if cfg!(debug_assertions) && is_separate(self.join(name).as_path(), to.join(to_name).as_path()) {
            return Err(failed("link", self.join(name), Errno::XDEV));
        }
        fs::linkat(&self.fd, name, &to.fd, to_name, AtFlags::empty())
            .map_err(|errno| failed("link", self.join(name), errno))
    }

    /// Creates a symbolic link.
    pub fn create_link(&self, target: &OsStr, name: &OsStr) -> Result<(), FileError> {
        self.step("create the link", name)?;
        fs::symlinkat(target, &self.fd, name).map_err(|errno| failed("create the link", self.join(name), errno))
    }

    /// Creates a pipe or socket.
    pub fn create_special(&self, name: &OsStr, kind: Kind, mode: u32) -> Result<(), FileError> {
        self.step("create", name)?;
        let kind = match kind {
            Kind::Pipe => FileType::Fifo,
            Kind::Socket => FileType::Socket,
            Kind::File | Kind::Folder | Kind::Link | Kind::Device => {
                return Err(self.error("copy", name, io::Error::other("it is a device")));
            }
        };
        fs::mknodat(&self.fd, name, kind, Mode::from_raw_mode(mode), 0)
            .map_err(|errno| failed("create", self.join(name), errno))
    }

    /// Sets permission bits of an entry that is no link.
    pub fn set_mode(&self, name: &OsStr, mode: u32) -> Result<(), FileError> {
        self.step("change the mode of", name)?;
        let change = || -> Result<(), Errno> {
            // There is no `chmod` that refuses links on older kernels: pin the entry, then name it by descriptor.
            let pin = fs::openat(&self.fd, name, OFlags::PATH | OFlags::NOFOLLOW | OFlags::CLOEXEC, Mode::empty())?;
            if FileType::from_raw_mode(fs::fstat(&pin)?.st_mode) == FileType::Symlink {
                return Err(Errno::LOOP);
            }
            fs::chmod(by_descriptor(&pin), Mode::from_raw_mode(mode))
        };
        change().map_err(|errno| failed("change the mode of", self.join(name), errno))
    }

    /// Sets the owner of an entry itself.
    pub fn set_owner(&self, name: &OsStr, user: u32, group: u32) -> Result<(), FileError> {
        self.step("change the owner of", name)?;
        let (user, group) = (rustix::fs::Uid::from_raw(user), rustix::fs::Gid::from_raw(group));
        fs::chownat(&self.fd, name, Some(user), Some(group), AtFlags::SYMLINK_NOFOLLOW)
            .map_err(|errno| failed("change the owner of", self.join(name), errno))
    }

    /// Sets both times of an entry itself.
    pub fn set_times(&self, name: &OsStr, accessed: FileTime, modified: FileTime) -> Result<(), FileError> {
        self.step("set the times of", name)?;
        let spec = |time: FileTime| Timespec { tv_sec: time.0, tv_nsec: time.1.into() };
        let times = Timestamps { last_access: spec(accessed), last_modification: spec(modified) };
        fs::utimensat(&self.fd, name, &times, AtFlags::SYMLINK_NOFOLLOW)
            .map_err(|errno| failed("set the times of", self.join(name), errno))
    }

    /// Makes the names in this folder durable.
    pub fn sync(&self) -> Result<(), FileError> {
        step().map_err(|source| FileError { action: "synchronise", path: self.path.clone(), source })?;
        if self.traverse_only {
            return Ok(());
        }
        match fs::fsync(&self.fd) {
            // Some file systems cannot synchronise a folder; there is nothing more to be had from them.
            Ok(()) | Err(Errno::INVAL) => Ok(()),
            Err(errno) => Err(failed("synchronise", self.path.clone(), errno)),
        }
    }

    /// Makes the whole file system of this folder durable: one call for a tree of many files.
    pub fn sync_file_system(&self) -> Result<(), FileError> {
        step().map_err(|source| FileError { action: "synchronise", path: self.path.clone(), source })?;
        fs::syncfs(&self.fd).map_err(|errno| failed("synchronise", self.path.clone(), errno))
    }

    /// Asks whether entries may be added and removed here.
    pub fn check_writable(&self) -> Result<(), FileError> {
        let access = fs::Access::WRITE_OK | fs::Access::EXEC_OK;
        fs::accessat(&self.fd, ".", access, AtFlags::EACCESS)
            .map_err(|errno| failed("change the folder", self.path.clone(), errno))
    }

    /// Makes an error about an entry of this folder.
    pub fn error(&self, action: &'static str, name: &OsStr, source: io::Error) -> FileError {
        FileError { action, path: self.join(name), source }
    }

    pub(super) fn step(&self, action: &'static str, name: &OsStr) -> Result<(), FileError> {
        debug_assert!(!name.as_bytes().contains(&b'/'), "{name:?} is no single component");
        step().map_err(|source| self.error(action, name, source))
    }
}

/// Whether an entry is gone.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Gone {
    Yes,
    No,
}

impl From<&fs::Stat> for Status {
    fn from(stat: &fs::Stat) -> Self {
        let kind = match FileType::from_raw_mode(stat.st_mode) {
            FileType::RegularFile => Kind::File,
            FileType::Directory => Kind::Folder,
            FileType::Symlink => Kind::Link,
            FileType::Fifo => Kind::Pipe,
            FileType::Socket => Kind::Socket,
            FileType::CharacterDevice | FileType::BlockDevice | FileType::Unknown => Kind::Device,
        };
        Self {
            kind,
            mode: stat.st_mode & 0o7777,
            user: stat.st_uid,
            group: stat.st_gid,
            len: stat.st_size as u64,
            device: stat.st_dev,
            inode: stat.st_ino,
            names: wide(stat.st_nlink),
            modified: FileTime(stat.st_mtime, stat.st_mtime_nsec as u32),
            accessed: FileTime(stat.st_atime, stat.st_atime_nsec as u32),
        }
    }
}

/// Some fields have 32 bits on some architectures and 64 on others.
fn wide(number: impl Into<u64>) -> u64 {
    number.into()
}

impl Status {
    /// Describes an opened file.
    pub fn of(file: &File) -> io::Result<Self> {
        Ok(Self::from(&fs::fstat(file)?))
    }
}

pub(super) fn failed(action: &'static str, path: AbsPath, errno: Errno) -> FileError {
    FileError { action, path, source: errno.into() }
}

pub(super) fn by_descriptor(fd: &OwnedFd) -> std::path::PathBuf {
    use std::os::fd::AsRawFd;
    Path::new("/proc/self/fd").join(fd.as_fd().as_raw_fd().to_string())
}
