//! An ELF file as the loader sees it: program headers, the dynamic section, and bytes by address.
//!
//! Section headers are not looked at: the loader does without them, and `strip` may have taken them away. A file is
//! read in the pieces that are asked for; libraries of a gigabyte are common.

use std::io;
use std::path::{Path, PathBuf};

use object::elf::{self, FileHeader32, FileHeader64};
use object::pod;
use object::read::elf::{Dyn, FileHeader, ProgramHeader};
use object::{Endian, Endianness};

use super::NotElf;
use crate::evidence::questions::object_kind::Target;
use crate::evidence::{FileKind, Host};

/// Bytes of one table at most.
const TABLE_LIMIT: u64 = 256 << 20;
/// Program headers and entries of a dynamic section at most.
const MOST_HEADERS: u64 = 4096;
const MOST_ENTRIES: u64 = 65_536;

/// An opened ELF file.
pub(super) struct Image<'h> {
    host: &'h dyn Host,
    pub path: PathBuf,
    pub endian: Endianness,
    pub is_64: bool,
    pub target: Target,
    loads: Vec<Load>,
    /// Tags and values of the dynamic section, in order.
    pub dynamic: Vec<(i64, u64)>,
}

/// A part of the file that is mapped.
struct Load {
    address: u64,
    offset: u64,
    size: u64,
}

impl<'h> Image<'h> {
    /// Opens a file and reads its headers.
    pub fn open(host: &'h dyn Host, path: &Path) -> Result<Self, NotElf> {
        let meta = host.follow(path).map_err(NotElf::from_io)?;
        if meta.kind != FileKind::File {
            return Err(NotElf::Other);
        }
        let head = host.head(path, 64).map_err(NotElf::from_io)?;
        let target = Target::of_elf(&head).ok_or(NotElf::Other)?;
        let endian = if target.big_endian { Endianness::Big } else { Endianness::Little };
        let is_64 = target.bits == 64;
        let mut image =
            Self { host, path: path.to_owned(), endian, is_64, target, loads: Vec::new(), dynamic: Vec::new() };
        if is_64 {
            image.read_headers::<FileHeader64<Endianness>>(&head, meta.len)?;
        } else {
            image.read_headers::<FileHeader32<Endianness>>(&head, meta.len)?;
        }
        Ok(image)
    }

    fn read_headers<E: FileHeader<Endian = Endianness>>(&mut self, head: &[u8], len: u64) -> Result<(), NotElf> {
        let endian = self.endian;
        let (header, _) = pod::from_bytes::<E>(head).map_err(|_| NotElf::Damaged)?;
        let count = u64::from(header.e_phnum(endian));
        let size = u64::from(header.e_phentsize(endian));
        if count > MOST_HEADERS || (count > 0 && size != size_of::<E::ProgramHeader>() as u64) {
            return Err(NotElf::Damaged);
        }
        let table = self.read(header.e_phoff(endian).into(), count * size)?;
        let (headers, _) =
            pod::slice_from_bytes::<E::ProgramHeader>(&table, count as usize).map_err(|_| NotElf::Damaged)?;
        let mut dynamic = None;
        for header in headers {
            let (offset, size) = (header.p_offset(endian).into(), header.p_filesz(endian).into());
            let kind = header.p_type(endian);
            if kind == elf::PT_LOAD {
                // Past the end lies nothing: a truncated library ends the process that loads it.
                if offset.checked_add(size).is_none_or(|end: u64| end > len) {
                    return Err(NotElf::Truncated);
                }
                self.loads.push(Load { address: header.p_vaddr(endian).into(), offset, size });
            } else if kind == elf::PT_DYNAMIC {
                dynamic = Some((offset, size));
            }
        }
        let Some((offset, size)) = dynamic else { return Ok(()) };
        let count = (size / size_of::<E::Dyn>() as u64).min(MOST_ENTRIES);
        let bytes = self.read(offset, count * size_of::<E::Dyn>() as u64)?;
        let (entries, _) = pod::slice_from_bytes::<E::Dyn>(&bytes, count as usize).map_err(|_| NotElf::Damaged)?;
        let pairs = entries.iter().map(|entry| (entry.tag(endian).0, entry.val(endian)));
        self.dynamic = pairs.take_while(|(tag, _)| *tag != elf::DT_NULL.0).collect();
        Ok(())
    }

    /// Reads bytes by their place in the file.
    fn read(&self, offset: u64, len: u64) -> Result<Vec<u8>, NotElf> {
        if len > TABLE_LIMIT {
            return Err(NotElf::TooLarge);
        }
        self.host.read_at(&self.path, offset, len).map_err(|error| match error.kind() {
            io::ErrorKind::UnexpectedEof => NotElf::Truncated,
            _ => NotElf::from_io(error),
        })
    }

    /// Reads bytes by their address in memory.
    pub fn bytes(&self, address: u64, len: u64) -> Result<Vec<u8>, NotElf> {
        let (load, within) = self.load(address)?;
        if within.checked_add(len).is_none_or(|end| end > load.size) {
            return Err(NotElf::Damaged);
        }
        self.read(load.offset.checked_add(within).ok_or(NotElf::Damaged)?, len)
    }

    /// Reads all bytes of the mapped part from an address on, at most `most`.
    pub fn bytes_from(&self, address: u64, most: u64) -> Result<Vec<u8>, NotElf> {
        let (load, within) = self.load(address)?;
        self.read(load.offset.checked_add(within).ok_or(NotElf::Damaged)?, (load.size - within).min(most))
    }

    fn load(&self, address: u64) -> Result<(&Load, u64), NotElf> {
        let inside = |load: &&Load| address >= load.address && address - load.address < load.size;
        let load = self.loads.iter().find(inside).ok_or(NotElf::Damaged)?;
        Ok((load, address - load.address))
    }

    /// Returns the first value of a tag.
    pub fn value(&self, tag: elf::DynamicTag) -> Option<u64> {
        self.values(tag).next()
    }

    /// Lists the values of a tag.
    pub fn values(&self, tag: elf::DynamicTag) -> impl Iterator<Item = u64> {
        self.dynamic.iter().filter(move |(have, _)| *have == tag.0).map(|(_, value)| *value)
    }

    /// Reads a number of four bytes.
    pub fn u32(&self, bytes: &[u8], at: usize) -> Option<u32> {
        let four = bytes.get(at..at.checked_add(4)?)?;
        Some(self.endian.read_u32(four.try_into().ok()?))
    }

    /// Reads a number of two bytes.
    pub fn u16(&self, bytes: &[u8], at: usize) -> Option<u16> {
        let two = bytes.get(at..at.checked_add(2)?)?;
        Some(self.endian.read_u16(two.try_into().ok()?))
    }

    /// Reads a word of the file's class.
    pub fn word(&self, bytes: &[u8], at: usize) -> Option<u64> {
        if !self.is_64 {
            return self.u32(bytes, at).map(u64::from);
        }
        let eight = bytes.get(at..at.checked_add(8)?)?;
        Some(self.endian.read_u64(eight.try_into().ok()?))
    }
}
