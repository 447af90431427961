//! Whole trees: walk, copy with everything kept, remove. Built on [`Folder`]; links are never followed.

use std::collections::BTreeMap;
use std::ffi::{OsStr, OsString};
use std::io::{self, Read, Write};
use std::path::Path;

use rustix::io::Errno;

use super::AbsPath;
use super::files::{FileError, Folder, Gone, Kind, Status};

/// Levels that a tree may have: each open level holds a descriptor, and a hostile tree may have any number.
const MAX_DEPTH: usize = 400;

/// Told of every file with its size; an error stops the work.
pub type Progress<'a> = &'a mut dyn FnMut(u64) -> io::Result<()>;

/// An entry by its opened parent.
#[derive(Debug)]
pub struct Place {
    pub folder: Folder,
    pub name: OsString,
}

/// Where a path leads.
#[derive(Debug)]
pub enum Found {
    /// Its parent exists.
    Here(Place),
    /// Its parent is missing: `folder` is the deepest one that exists, `missing` the names between.
    NoParent { folder: Folder, missing: Vec<OsString>, name: OsString },
}

impl Place {
    /// Finds the parent of `path` from `anchor`, an existing folder above it, without following a link below it.
    pub fn find(anchor: &AbsPath, path: &AbsPath) -> Result<Found, FileError> {
        let outside = || FileError {
            action: "open",
            path: path.clone(),
            source: io::Error::other(format!("it does not lie below `{anchor}`")),
        };
        let below = path.as_path().strip_prefix(anchor.as_path()).map_err(|_| outside())?;
        let mut names: Vec<OsString> = below.iter().map(OsStr::to_owned).collect();
        let name = names.pop().ok_or_else(outside)?;
        let mut folder = Folder::open(anchor)?;
        for (at, parent) in names.iter().enumerate() {
            folder = match folder.open_child(parent) {
                Ok(child) => child,
                Err(error) if error.errno() == Some(Errno::NOENT) => {
                    return Ok(Found::NoParent { folder, missing: names[at..].to_vec(), name });
                }
                Err(error) => return Err(error),
            };
        }
        Ok(Found::Here(Place { folder, name }))
    }

    /// As [`Place::find`], creating missing parents.
    pub fn make(anchor: &AbsPath, path: &AbsPath, mode: u32) -> Result<Place, FileError> {
        match Place::find(anchor, path)? {
            Found::Here(place) => Ok(place),
            Found::NoParent { mut folder, missing, name } => {
                for parent in missing {
                    let child = folder.create_or_open(&parent, mode)?;
                    folder.sync()?;
                    folder = child;
                }
                Ok(Place { folder, name })
            }
        }
    }

    pub fn path(&self) -> AbsPath {
        self.folder.join(&self.name)
    }

    pub fn status(&self) -> Result<Option<Status>, FileError> {
        self.folder.status(&self.name)
    }
}

/// Told of an entry by its folder and name, its path below the top, and what it is.
pub type Visit<'a, E> = &'a mut dyn FnMut(&Folder, &OsStr, &Path, &Status) -> Result<Descend, E>;

/// Visits every entry below `folder`, parents first, in order.
pub fn walk<E: From<FileError>>(folder: &Folder, visit: Visit<'_, E>) -> Result<(), E> {
    walk_at(folder, Path::new(""), 0, visit)
}

/// What a visitor wants of a folder.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Descend {
    Into,
    Skip,
}

fn walk_at<E: From<FileError>>(folder: &Folder, below: &Path, depth: usize, visit: Visit<'_, E>) -> Result<(), E> {
    check_depth(folder, depth)?;
    for name in folder.names()? {
        // It may have gone since it was listed.
        let Some(status) = folder.status(&name)? else { continue };
        let relative = below.join(&name);
        let descend = visit(folder, &name, &relative, &status)?;
        if status.kind == Kind::Folder && descend == Descend::Into {
            walk_at(&folder.open_child(&name)?, &relative, depth + 1, visit)?;
        }
    }
    Ok(())
}

fn check_depth(folder: &Folder, depth: usize) -> Result<(), FileError> {
    if depth < MAX_DEPTH {
        return Ok(());
    }
    let source = io::Error::other(format!("folders are nested more than {MAX_DEPTH} deep"));
    Err(FileError { action: "enter", path: folder.path().clone(), source })
}

/// Removes an entry and all below it; an absent one is fine. It stops at a mount point.
pub fn remove(folder: &Folder, name: &OsStr) -> Result<(), FileError> {
    remove_at(folder, name, 0)
}

fn remove_at(folder: &Folder, name: &OsStr, depth: usize) -> Result<(), FileError> {
    let Some(status) = folder.status(name)? else { return Ok(()) };
    if status.kind != Kind::Folder {
        return folder.remove_file(name);
    }
    check_depth(folder, depth)?;
    refuse_mount(folder, name)?;
    if status.mode & 0o700 != 0o700 {
        folder.set_mode(name, status.mode | 0o700)?;
    }
    let inner = folder.open_child(name)?;
    for child in inner.names()? {
        remove_at(&inner, &child, depth + 1)?;
    }
    match folder.remove_folder_if_empty(name)? {
        Gone::Yes => Ok(()),
        Gone::No => Err(folder.error("remove the folder", name, io::Error::from(Errno::NOTEMPTY))),
    }
}

/// What is mounted lies elsewhere: it is never emptied, nor copied in order to be.
fn refuse_mount(folder: &Folder, name: &OsStr) -> Result<(), FileError> {
    if folder.is_mount_point(name)? {
        return Err(folder.error("enter", name, io::Error::other("it is a mount point")));
    }
    Ok(())
}

/// Copies entries and all below them: bytes, modes, owners, times, attributes, links between the copied files.
///
/// Goes on where an interrupted copy stopped: what is complete there already is left alone.
#[derive(Debug)]
pub struct Copier {
    /// A folder above all destinations.
    anchor: AbsPath,
    /// Where the first name of a file with several names was copied to.
    seen: BTreeMap<(u64, u64), AbsPath>,
}

impl Copier {
    /// Prepares to copy below `anchor`, an existing folder.
    pub fn new(anchor: AbsPath) -> Self {
        Self { anchor, seen: BTreeMap::new() }
    }

    /// Copies one entry.
    pub fn copy(
        &mut self,
        from: &Folder,
        name: &OsStr,
        to: &Folder,
        to_name: &OsStr,
        progress: Progress,
    ) -> Result<(), FileError> {
        self.entry((from, name), (to, to_name), 0, progress)
    }

    /// Learns that a copy was moved: further names of the file are linked to where it is now.
    pub fn moved(&mut self, from: &AbsPath, to: AbsPath) {
        if let Some(first) = self.seen.values_mut().find(|first| *first == from) {
            *first = to;
        }
    }

    fn entry(
        &mut self,
        (from, name): (&Folder, &OsStr),
        (to, to_name): (&Folder, &OsStr),
        depth: usize,
        progress: Progress,
    ) -> Result<(), FileError> {
        let missing = || from.error("copy", name, io::Error::from(Errno::NOENT));
        let status = from.status(name)?.ok_or_else(missing)?;
        if status.kind == Kind::Folder {
            check_depth(from, depth)?;
            refuse_mount(from, name)?;
            self.folder((from, name), (to, to_name), depth, progress)?;
            return dress(from, name, to, to_name, &status);
        }
        let there = to.status(to_name)?;
        let has_more_names = status.kind == Kind::File && status.names > 1;
        if has_more_names {
            if let Some(first) = self.seen.get(&(status.device, status.inode)) {
                return link_to(&self.anchor, first, to, to_name, there);
            }
            self.seen.insert((status.device, status.inode), to.join(to_name));
        }
        if let Some(there) = there {
            if is_complete(&status, &there, || Ok(from.link_target(name)? == to.link_target(to_name)?))? {
                return Ok(());
            }
            to.remove_file(to_name)?;
        }
        progress(status.len).map_err(|source| from.error("copy", name, source))?;
        match status.kind {
            Kind::File => {
                let mut file = to.create_file(to_name, 0o600)?;
                copy_bytes(from, name, &mut file).map_err(|source| to.error("write", to_name, source))?;
            }
            Kind::Link => to.create_link(&from.link_target(name)?, to_name)?,
            Kind::Pipe | Kind::Socket | Kind::Device => to.create_special(to_name, status.kind, 0o600)?,
            Kind::Folder => unreachable!("folders were handled above"),
        }
        dress(from, name, to, to_name, &status)
    }

    fn folder(
        &mut self,
        (from, name): (&Folder, &OsStr),
        (to, to_name): (&Folder, &OsStr),
        depth: usize,
        progress: Progress,
    ) -> Result<(), FileError> {
        let inner_to = match to.create_folder(to_name, 0o700) {
            Err(error) if error.errno() == Some(Errno::EXIST) => {
                if to.status(to_name)?.is_some_and(|there| there.mode & 0o700 != 0o700) {
                    to.set_mode(to_name, 0o700)?;
                }
                to.open_child(to_name)?
            }
            made => made?,
        };
        let inner = from.open_child(name)?;
        for child in inner.names()? {
            self.entry((&inner, &child), (&inner_to, &child), depth + 1, progress)?;
        }
        Ok(())
    }
}

/// Copies one entry, as [`Copier::copy`].
pub fn copy(from: &Folder, name: &OsStr, to: &Folder, to_name: &OsStr, progress: Progress) -> Result<(), FileError> {
    Copier::new(to.path().clone()).copy(from, name, to, to_name, progress)
}

/// Says whether nothing would be lost if a tree were replaced by its copy: it is a part of it, be it that files of
/// either were cut off while they were copied.
pub fn is_part_of(
    (folder, name): (&Folder, &OsStr),
    (copies, copy_name): (&Folder, &OsStr),
) -> Result<bool, FileError> {
    let Some(there) = folder.status(name)? else { return Ok(true) };
    let Some(copy) = copies.status(copy_name)?.filter(|copy| copy.kind == there.kind) else { return Ok(false) };
    match there.kind {
        Kind::File if is_complete(&copy, &there, || Ok(true))? => Ok(true),
        Kind::File => begins_with((copies, copy_name), (folder, name)),
        Kind::Link => Ok(folder.link_target(name)? == copies.link_target(copy_name)?),
        Kind::Pipe | Kind::Socket | Kind::Device => Ok(true),
        Kind::Folder => {
            let (inner, inner_copies) = (folder.open_child(name)?, copies.open_child(copy_name)?);
            for child in inner.names()? {
                if !is_part_of((&inner, &child), (&inner_copies, &child))? {
                    return Ok(false);
                }
            }
            Ok(true)
        }
    }
}

/// Says whether the bytes of the second file are the first ones of the first.
fn begins_with((a, a_name): (&Folder, &OsStr), (b, b_name): (&Folder, &OsStr)) -> Result<bool, FileError> {
    let (mut whole, mut part) = (io::BufReader::new(a.open_file(a_name)?), b.open_file(b_name)?);
    let (mut want, mut block) = (Vec::new(), vec![0; 256 << 10]);
    loop {
        let got = part.read(&mut block).map_err(|source| b.error("read", b_name, source))?;
        if got == 0 {
            return Ok(true);
        }
        want.resize(got, 0);
        match whole.read_exact(&mut want) {
            Ok(()) if want == block[..got] => {}
            Ok(()) => return Ok(false),
            Err(error) if error.kind() == io::ErrorKind::UnexpectedEof => return Ok(false),
            Err(source) => return Err(a.error("read", a_name, source)),
        }
    }
}

/// Makes an entry one more name of a file that was copied before.
fn link_to(
    anchor: &AbsPath,
    first: &AbsPath,
    to: &Folder,
    to_name: &OsStr,
    there: Option<Status>,
) -> Result<(), FileError> {
    let Found::Here(place) = Place::find(anchor, first)? else {
        return Err(to.error("link", to_name, io::Error::from(Errno::NOENT)));
    };
    if let Some(there) = there {
        if place.status()?.is_some_and(|first| (first.device, first.inode) == (there.device, there.inode)) {
            return Ok(());
        }
        to.remove_file(to_name)?;
    }
    place.folder.link(&place.name, to, to_name)
}

/// The time is set last, so that equal times mean that all before it was done.
fn is_complete(
    source: &Status,
    there: &Status,
    same_link: impl FnOnce() -> Result<bool, FileError>,
) -> Result<bool, FileError> {
    if source.kind != there.kind || source.modified != there.modified {
        return Ok(false);
    }
    match source.kind {
        Kind::File => Ok(source.len == there.len && source.mode == there.mode),
        Kind::Link => same_link(),
        Kind::Folder | Kind::Pipe | Kind::Socket | Kind::Device => Ok(true),
    }
}

/// Copies the bytes of a regular file to an open one.
pub fn copy_bytes(from: &Folder, name: &OsStr, to: &mut std::fs::File) -> io::Result<()> {
    let mut source = from.open_file(name).map_err(|error| error.source)?;
    let mut block = vec![0; 256 << 10];
    loop {
        let got = source.read(&mut block)?;
        if got == 0 {
            return Ok(());
        }
        super::fault::step()?;
        to.write_all(&block[..got])?;
    }
}

/// Gives a copy the owner, attributes, mode and times of its source; the times last.
fn dress(from: &Folder, name: &OsStr, to: &Folder, to_name: &OsStr, status: &Status) -> Result<(), FileError> {
    let there = to.status(to_name)?.ok_or_else(|| to.error("inspect", to_name, io::Error::from(Errno::NOENT)))?;
    if (there.user, there.group) != (status.user, status.group) {
        to.set_owner(to_name, status.user, status.group)?;
    }
    if matches!(status.kind, Kind::File | Kind::Folder) {
        to.set_attributes(to_name, &from.attributes(name))?;
    }
    // A change of owner takes the set-user-id bit away, an access list changes the rights of the group.
    if status.kind != Kind::Link && to.status(to_name)?.is_none_or(|there| there.mode != status.mode) {
        to.set_mode(to_name, status.mode)?;
    }
    if there.modified != status.modified {
        to.set_times(to_name, status.accessed, status.modified)?;
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::{MetadataExt, PermissionsExt, symlink};

    use super::*;

    fn abs(path: &Path) -> AbsPath {
        AbsPath::new(path).unwrap()
    }

    fn tree(at: &Path) {
        std::fs::create_dir_all(at.join("t/sub")).unwrap();
        std::fs::write(at.join("t/sub/f"), "one").unwrap();
        std::fs::hard_link(at.join("t/sub/f"), at.join("t/g")).unwrap();
        std::fs::set_permissions(at.join("t/g"), std::fs::Permissions::from_mode(0o755)).unwrap();
        symlink("nowhere", at.join("t/dangling")).unwrap();
        std::fs::set_permissions(at.join("t/sub"), std::fs::Permissions::from_mode(0o555)).unwrap();
    }

    #[test]
    fn a_copy_keeps_modes_times_and_links() {
        let dir = tempfile::tempdir().unwrap();
        tree(dir.path());
        let top = Folder::open(&abs(dir.path())).unwrap();
        let t = OsStr::new("t");
        for _ in 0..2 {
            copy(&top, t, &top, OsStr::new("copy"), &mut |_| Ok(())).unwrap();
        }
        let meta = |path: &str| std::fs::symlink_metadata(dir.path().join(path)).unwrap();
        for path in ["", "/g", "/sub", "/sub/f", "/dangling"] {
            let (a, b) = (meta(&format!("t{path}")), meta(&format!("copy{path}")));
            assert_eq!((a.mode(), a.mtime(), a.mtime_nsec()), (b.mode(), b.mtime(), b.mtime_nsec()), "{path}");
        }
        assert_eq!(meta("copy/g").ino(), meta("copy/sub/f").ino());
        assert_ne!(meta("copy/g").ino(), meta("t/g").ino());
        remove(&top, t).unwrap();
        remove(&top, OsStr::new("copy")).unwrap();
        assert_eq!(top.names().unwrap(), Vec::<OsString>::new());
    }

    #[test]
    fn a_linked_parent_is_refused() {
        let dir = tempfile::tempdir().unwrap();
        std::fs::create_dir_all(dir.path().join("root/real")).unwrap();
        symlink("real", dir.path().join("root/link")).unwrap();
        let root = abs(&dir.path().join("root"));
        let error = Place::find(&root, &root.resolve("link/f")).unwrap_err();
        assert!(error.to_string().contains("links are not followed"), "{error}");
        assert!(matches!(Place::find(&root, &root.resolve("real/f")).unwrap(), Found::Here(_)));
        assert!(
            matches!(Place::find(&root, &root.resolve("a/b/f")).unwrap(), Found::NoParent { missing, .. } if missing == ["a", "b"])
        );
        assert!(Place::find(&root, &root.resolve("../f")).is_err());
        assert!(Place::find(&root, &root).is_err());
    }
}
