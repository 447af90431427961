//! What an ELF file asks of others and gives to others, read from the file alone.
//!
//! Files come from strangers: every number in them is checked before it is used, tables have a limit, and what does
//! not fit together is [`NotElf::Damaged`], never a guess. Nothing is loaded and nothing is run.

mod image;
mod symbols;

use std::collections::BTreeMap;
use std::io;
use std::path::{Path, PathBuf};

use object::elf;

use crate::evidence::Host;
use crate::evidence::questions::object_kind::Target;
use image::Image;

pub use symbols::Symbol;

/// Why a file cannot be read as ELF.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum NotElf {
    #[error("there is no such file")]
    Missing,
    #[error("it cannot be read")]
    Unreadable,
    /// It is something else: a text, a placeholder of git-lfs, nothing at all.
    #[error("it is no ELF file")]
    Other,
    /// It ends before what its headers promise.
    #[error("it is cut off")]
    Truncated,
    #[error("it is damaged")]
    Damaged,
    #[error("its tables are too large")]
    TooLarge,
}

impl NotElf {
    fn from_io(error: io::Error) -> Self {
        match error.kind() {
            io::ErrorKind::NotFound | io::ErrorKind::NotADirectory => Self::Missing,
            _ => Self::Unreadable,
        }
    }
}

/// A version of a library that a file cannot do without.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub struct VersionNeed {
    /// As in `DT_NEEDED`: `libc.so.6`.
    pub library: String,
    /// `GLIBC_2.34`.
    pub version: String,
    /// The loader goes on without it.
    pub weak: bool,
}

/// An ELF file; its tables are read when they are asked for.
pub struct Elf<'h> {
    image: Image<'h>,
}

/// Entries of a version table at most.
const MOST_VERSIONS: usize = 10_000;
/// Bytes of a name in a string table at most; C++ makes long ones.
const NAME_LIMIT: usize = 1 << 20;

impl<'h> Elf<'h> {
    /// Opens a file.
    pub fn open(host: &'h dyn Host, path: &Path) -> Result<Self, NotElf> {
        Ok(Self { image: Image::open(host, path)? })
    }

    /// The file.
    pub fn path(&self) -> &Path {
        &self.image.path
    }

    /// What it is made for.
    pub fn target(&self) -> Target {
        self.image.target
    }

    /// Lists the libraries that it names (`DT_NEEDED`), in order.
    pub fn needed(&self) -> Result<Vec<String>, NotElf> {
        self.named(elf::DT_NEEDED)
    }

    /// Returns the name that others know it by.
    pub fn soname(&self) -> Result<Option<String>, NotElf> {
        Ok(self.named(elf::DT_SONAME)?.into_iter().next())
    }

    /// Lists the folders of `DT_RPATH`; the loader passes them over when there is a `DT_RUNPATH`.
    pub fn rpath(&self) -> Result<Vec<PathBuf>, NotElf> {
        self.folders(elf::DT_RPATH)
    }

    /// Lists the folders of `DT_RUNPATH`, or `None` where there is none.
    pub fn runpath(&self) -> Result<Option<Vec<PathBuf>>, NotElf> {
        match self.image.value(elf::DT_RUNPATH) {
            None => Ok(None),
            Some(_) => self.folders(elf::DT_RUNPATH).map(Some),
        }
    }

    /// Lists the versions that it needs of other libraries, sorted.
    pub fn version_needs(&self) -> Result<Vec<VersionNeed>, NotElf> {
        let mut needs: Vec<VersionNeed> = self.needed_versions()?.into_values().collect();
        needs.sort();
        needs.dedup();
        Ok(needs)
    }

    /// Lists the versions that it gives, in the order of the file; its own name, which stands first, is none.
    pub fn versions(&self) -> Result<Vec<String>, NotElf> {
        Ok(self.given_versions()?.into_iter().filter(|(_, given)| !given.base).map(|(_, given)| given.name).collect())
    }

    fn named(&self, tag: elf::DynamicTag) -> Result<Vec<String>, NotElf> {
        let offsets: Vec<u64> = self.image.values(tag).collect();
        if offsets.is_empty() {
            return Ok(Vec::new());
        }
        let strings = self.strings()?;
        offsets.into_iter().map(|offset| string(&strings, offset).ok_or(NotElf::Damaged)).collect()
    }

    /// Takes the folders of a search path, with `$ORIGIN` as the file's own folder; one with another variable is left
    /// out, since its value is the loader's secret.
    fn folders(&self, tag: elf::DynamicTag) -> Result<Vec<PathBuf>, NotElf> {
        let origin = self.image.path.parent().unwrap_or(Path::new("/")).display().to_string();
        let lists = self.named(tag)?;
        let folders = lists.iter().flat_map(|list| list.split(':')).filter(|folder| !folder.is_empty());
        let named = folders.map(|folder| folder.replace("${ORIGIN}", &origin).replace("$ORIGIN", &origin));
        Ok(named.filter(|folder| folder.starts_with('/') && !folder.contains('$')).map(PathBuf::from).collect())
    }

    fn strings(&self) -> Result<Vec<u8>, NotElf> {
        let address = self.image.value(elf::DT_STRTAB).ok_or(NotElf::Damaged)?;
        let size = self.image.value(elf::DT_STRSZ).ok_or(NotElf::Damaged)?;
        self.image.bytes(address, size)
    }

    /// Reads `.gnu.version_r`: by the index that symbols refer to.
    fn needed_versions(&self) -> Result<BTreeMap<u16, VersionNeed>, NotElf> {
        let mut all = BTreeMap::new();
        let Some(address) = self.image.value(elf::DT_VERNEED) else { return Ok(all) };
        let (image, strings) = (&self.image, self.strings()?);
        let table = image.bytes_from(address, (MOST_VERSIONS * 32) as u64)?;
        let count = image.value(elf::DT_VERNEEDNUM).unwrap_or(0).min(MOST_VERSIONS as u64);
        let mut at = 0usize;
        for _ in 0..count {
            let field = |offset: usize| image.u32(&table, at.checked_add(offset)?);
            let parts = image.u16(&table, at + 2).zip(field(4)).zip(field(8).zip(field(12)));
            let ((parts, file), (first, next)) = parts.ok_or(NotElf::Damaged)?;
            let library = string(&strings, file.into()).ok_or(NotElf::Damaged)?;
            let mut part = at.checked_add(first as usize).ok_or(NotElf::Damaged)?;
            for _ in 0..parts {
                if all.len() > MOST_VERSIONS {
                    return Err(NotElf::TooLarge);
                }
                let half = |offset: usize| image.u16(&table, part.checked_add(offset)?);
                let whole = |offset: usize| image.u32(&table, part.checked_add(offset)?);
                let read = half(4).zip(half(6)).zip(whole(8).zip(whole(12)));
                let ((flags, index), (name, next)) = read.ok_or(NotElf::Damaged)?;
                let version = string(&strings, name.into()).ok_or(NotElf::Damaged)?;
                let need = VersionNeed { library: library.clone(), version, weak: flags & WEAK_VERSION != 0 };
                all.insert(index & INDEX, need);
                if next == 0 {
                    break;
                }
                part = part.checked_add(next as usize).ok_or(NotElf::Damaged)?;
            }
            if next == 0 {
                break;
            }
            at = at.checked_add(next as usize).ok_or(NotElf::Damaged)?;
        }
        Ok(all)
    }

    /// Reads `.gnu.version_d`: by the index that symbols refer to.
    fn given_versions(&self) -> Result<Vec<(u16, Given)>, NotElf> {
        let mut all = Vec::new();
        let Some(address) = self.image.value(elf::DT_VERDEF) else { return Ok(all) };
        let (image, strings) = (&self.image, self.strings()?);
        let table = image.bytes_from(address, (MOST_VERSIONS * 32) as u64)?;
        let count = image.value(elf::DT_VERDEFNUM).unwrap_or(0).min(MOST_VERSIONS as u64);
        let mut at = 0usize;
        for _ in 0..count {
            let half = |offset: usize| image.u16(&table, at.checked_add(offset)?);
            let whole = |offset: usize| image.u32(&table, at.checked_add(offset)?);
            let read = half(2).zip(half(4)).zip(whole(12).zip(whole(16)));
            let ((flags, index), (first, next)) = read.ok_or(NotElf::Damaged)?;
            let part = at.checked_add(first as usize).ok_or(NotElf::Damaged)?;
            let name = image.u32(&table, part).and_then(|name| string(&strings, name.into()));
            let given = Given { name: name.ok_or(NotElf::Damaged)?, base: flags & BASE_VERSION != 0 };
            all.push((index & INDEX, given));
            if next == 0 {
                break;
            }
            at = at.checked_add(next as usize).ok_or(NotElf::Damaged)?;
        }
        Ok(all)
    }
}

/// A version that a file defines.
struct Given {
    name: String,
    /// It is the file's own name.
    base: bool,
}

const BASE_VERSION: u16 = 1;
const WEAK_VERSION: u16 = 2;
/// The bits of a version index; the highest says `hidden`.
const INDEX: u16 = 0x7fff;

/// Takes a string out of a table; what is not UTF-8 is shown with marks.
fn string(table: &[u8], offset: u64) -> Option<String> {
    let rest = table.get(usize::try_from(offset).ok()?..)?;
    let rest = &rest[..rest.len().min(NAME_LIMIT)];
    let end = memchr::memchr(0, rest)?;
    Some(String::from_utf8_lossy(&rest[..end]).into_owned())
}
