//! Who may do what with an entry of a folder: access lists and other attributes, and what keeps it from being replaced.

use std::ffi::{OsStr, OsString};
use std::io;
use std::os::fd::OwnedFd;
use std::os::unix::ffi::OsStrExt;

use rustix::fs::{self, AtFlags, Mode, OFlags, StatxAttributes, StatxFlags};
use rustix::io::Errno;

use super::files::{FileError, Folder, by_descriptor, failed};

/// Why an entry cannot be replaced by another file of the same owner.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Pinned {
    /// Nothing may be added to or removed from its folder.
    Folder,
    /// The folder is immutable, or only grows.
    LockedFolder,
    /// The file is immutable, or only grows.
    Locked,
    /// It belongs to this user, and this process may give it to nobody.
    Owner(u32),
    /// It belongs to this group, which this process is not in.
    Group(u32),
}

/// The attribute that gives single users and groups rights to a file.
pub const ACCESS_LIST: &str = "system.posix_acl_access";

impl Folder {
    /// Says why an entry cannot be replaced by another file of the same owner, where that can be known beforehand.
    pub fn why_not_replaceable(&self, name: &OsStr) -> Result<Option<Pinned>, FileError> {
        if let Err(error) = self.check_writable() {
            return if error.is_pinned() { Ok(Some(Pinned::Folder)) } else { Err(error) };
        }
        let is_locked = |fd: &OwnedFd, name: &OsStr, flags| {
            let locks = StatxAttributes::IMMUTABLE | StatxAttributes::APPEND;
            fs::statx(fd, name, flags, StatxFlags::BASIC_STATS).is_ok_and(|told| told.stx_attributes.intersects(locks))
        };
        if is_locked(&self.fd, "".as_ref(), AtFlags::EMPTY_PATH) {
            return Ok(Some(Pinned::LockedFolder));
        }
        let Some(status) = self.status(name)? else { return Ok(None) };
        if is_locked(&self.fd, name, AtFlags::SYMLINK_NOFOLLOW) {
            return Ok(Some(Pinned::Locked));
        }
        let me = rustix::process::geteuid();
        if me.is_root() {
            return Ok(None);
        }
        if status.user != me.as_raw() {
            return Ok(Some(Pinned::Owner(status.user)));
        }
        let groups = rustix::process::getgroups().unwrap_or_default();
        let is_in = rustix::process::getegid().as_raw() == status.group
            || groups.iter().any(|group| group.as_raw() == status.group);
        Ok((!is_in).then_some(Pinned::Group(status.group)))
    }

    /// Reads the extended attributes of a regular file or folder, sorted; none where there is no support.
    pub fn attributes(&self, name: &OsStr) -> Vec<(OsString, Vec<u8>)> {
        let flags = OFlags::RDONLY | OFlags::NOFOLLOW | OFlags::NONBLOCK | OFlags::CLOEXEC;
        let Ok(fd) = fs::openat(&self.fd, name, flags, Mode::empty()) else { return Vec::new() };
        let path = by_descriptor(&fd);
        let Ok(names) = xattr::list_deref(&path) else { return Vec::new() };
        let mut found: Vec<_> =
            names.filter_map(|name| xattr::get_deref(&path, &name).ok().flatten().map(|value| (name, value))).collect();
        found.sort();
        found
    }

    /// Gives a file or folder these extended attributes and no others. The system's own (labels, signatures) are only
    /// set, never removed; an access list that cannot be removed is an error.
    pub fn set_attributes(&self, name: &OsStr, attributes: &[(OsString, Vec<u8>)]) -> Result<(), FileError> {
        let present = self.attributes(name);
        for (key, _) in &present {
            if !key.as_bytes().starts_with(b"security.") && !attributes.iter().any(|(wanted, _)| wanted == key) {
                self.remove_attribute(name, key)?;
            }
        }
        for (key, value) in attributes {
            if !present.iter().any(|(k, v)| k == key && v == value) {
                self.set_attribute(name, key, value)?;
            }
        }
        Ok(())
    }

    fn remove_attribute(&self, name: &OsStr, key: &OsStr) -> Result<(), FileError> {
        self.step("remove an attribute of", name)?;
        let flags = OFlags::RDONLY | OFlags::NOFOLLOW | OFlags::NONBLOCK | OFlags::CLOEXEC;
        let fd =
            fs::openat(&self.fd, name, flags, Mode::empty()).map_err(|errno| failed("open", self.join(name), errno))?;
        match xattr::remove_deref(by_descriptor(&fd), key) {
            Err(error) if key == ACCESS_LIST || !is_unsupported(&error) => {
                Err(self.error("remove an attribute of", name, error))
            }
            Ok(()) | Err(_) => Ok(()),
        }
    }

    /// Sets an extended attribute of a file or folder. What this user or file system may not set is left out.
    fn set_attribute(&self, name: &OsStr, key: &OsStr, value: &[u8]) -> Result<(), FileError> {
        self.step("set an attribute of", name)?;
        let flags = OFlags::RDONLY | OFlags::NOFOLLOW | OFlags::NONBLOCK | OFlags::CLOEXEC;
        let fd =
            fs::openat(&self.fd, name, flags, Mode::empty()).map_err(|errno| failed("open", self.join(name), errno))?;
        match xattr::set_deref(by_descriptor(&fd), key, value) {
            Err(error) if !is_unsupported(&error) => Err(self.error("set an attribute of", name, error)),
            Ok(()) | Err(_) => Ok(()),
        }
    }
}

fn is_unsupported(error: &io::Error) -> bool {
    [Errno::NOTSUP, Errno::PERM, Errno::ACCESS, Errno::INVAL]
        .into_iter()
        .any(|errno| Errno::from_io_error(error) == Some(errno))
}
