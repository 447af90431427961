//! Reads single members of a zip archive, wherever they lie, without unpacking it.
//!
//! Offsets and sizes come from strangers: each is checked, and nothing is read or inflated beyond its limit.

use std::io::Read;

use crate::evidence::Host;
use crate::os::AbsPath;

/// An archive's directory.
pub struct Archive<'h> {
    host: &'h dyn Host,
    path: AbsPath,
    len: u64,
    pub members: Vec<Member>,
}

/// A file in an archive.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Member {
    pub name: String,
    pub size: u64,
    packed: u64,
    method: u16,
    crc: u32,
    offset: u64,
}

/// Why an archive cannot be read.
#[derive(Debug, thiserror::Error)]
pub enum ZipError {
    #[error("{0}")]
    Unreadable(#[from] std::io::Error),
    /// The directory at its end is missing: cut off, or no zip at all.
    #[error("it is cut off, or no zip archive")]
    NoEnd,
    #[error("its directory is damaged")]
    Damaged,
    #[error("`{0}` in it is damaged")]
    Member(String),
    #[error("`{0}` in it is too large")]
    TooLarge(String),
}

/// The end record with the longest comment.
const TAIL: u64 = 22 + 65_535;
/// A directory of some hundred thousand files.
const DIRECTORY: u64 = 64 << 20;
const MOST_MEMBERS: usize = 500_000;

impl<'h> Archive<'h> {
    /// Reads the directory of an archive.
    pub fn open(host: &'h dyn Host, path: &AbsPath) -> Result<Self, ZipError> {
        let len = host.follow(path.as_path())?.len;
        let start = len.saturating_sub(TAIL);
        let tail = host.read_up_to(path.as_path(), start, TAIL)?;
        let end = memchr::memmem::rfind(&tail, b"PK\x05\x06").ok_or(ZipError::NoEnd)?;
        let record = Bytes(&tail[end..]);
        let mut size = u64::from(record.u32(12).ok_or(ZipError::Damaged)?);
        let mut offset = u64::from(record.u32(16).ok_or(ZipError::Damaged)?);
        if size == 0xffff_ffff || offset == 0xffff_ffff {
            (size, offset) = end64(host, path, &tail[..end])?;
        }
        if size > DIRECTORY || offset.checked_add(size).is_none_or(|end| end > len) {
            return Err(ZipError::Damaged);
        }
        let directory = host.read_up_to(path.as_path(), offset, size)?;
        let members = members(&directory).ok_or(ZipError::Damaged)?;
        Ok(Self { host, path: path.clone(), len, members })
    }

    /// Reads one member of at most `limit` bytes.
    pub fn read(&self, member: &Member, limit: u64) -> Result<Vec<u8>, ZipError> {
        let damaged = || ZipError::Member(member.name.clone());
        if member.size > limit || member.packed > limit.saturating_mul(2).saturating_add(1024) {
            return Err(ZipError::TooLarge(member.name.clone()));
        }
        let head = self.host.read_up_to(self.path.as_path(), member.offset, 30)?;
        let head = Bytes(&head);
        if !head.0.starts_with(b"PK\x03\x04") {
            return Err(damaged());
        }
        let (name, extra) = head.u16(26).zip(head.u16(28)).ok_or_else(damaged)?;
        let start = member.offset + 30 + u64::from(name) + u64::from(extra);
        if start.checked_add(member.packed).is_none_or(|end| end > self.len) {
            return Err(damaged());
        }
        let packed = self.host.read_up_to(self.path.as_path(), start, member.packed)?;
        let bytes = match member.method {
            0 => packed,
            8 => {
                let mut bytes = Vec::new();
                let inflated = flate2::read::DeflateDecoder::new(packed.as_slice());
                inflated.take(member.size + 1).read_to_end(&mut bytes).map_err(|_| damaged())?;
                bytes
            }
            _ => return Err(damaged()),
        };
        let mut crc = flate2::Crc::new();
        crc.update(&bytes);
        if bytes.len() as u64 != member.size || crc.sum() != member.crc {
            return Err(damaged());
        }
        Ok(bytes)
    }
}

/// Reads place and size of the directory from the records of large archives, which stand before the end record.
fn end64(host: &dyn Host, path: &AbsPath, before: &[u8]) -> Result<(u64, u64), ZipError> {
    let at = before.len().checked_sub(20).ok_or(ZipError::Damaged)?;
    let locator = Bytes(&before[at..]);
    if !locator.0.starts_with(b"PK\x06\x07") {
        return Err(ZipError::Damaged);
    }
    let record = host.read_up_to(path.as_path(), locator.u64(8).ok_or(ZipError::Damaged)?, 56)?;
    let record = Bytes(&record);
    if !record.0.starts_with(b"PK\x06\x06") {
        return Err(ZipError::Damaged);
    }
    record.u64(40).zip(record.u64(48)).ok_or(ZipError::Damaged)
}

fn members(directory: &[u8]) -> Option<Vec<Member>> {
    let mut members = Vec::new();
    let mut rest = directory;
    while rest.starts_with(b"PK\x01\x02") && members.len() < MOST_MEMBERS {
        let head = Bytes(rest);
        let (name, extra, comment) = (head.u16(28)?, head.u16(30)?, head.u16(32)?);
        let (name, extra, comment) = (usize::from(name), usize::from(extra), usize::from(comment));
        let mut member = Member {
            name: String::from_utf8_lossy(rest.get(46..46 + name)?).into_owned(),
            size: head.u32(24)?.into(),
            packed: head.u32(20)?.into(),
            method: head.u16(10)?,
            crc: head.u32(16)?,
            offset: head.u32(42)?.into(),
        };
        widen(&mut member, rest.get(46 + name..46 + name + extra)?);
        members.push(member);
        rest = rest.get(46 + name + extra + comment..)?;
    }
    (!members.is_empty() || directory.is_empty()).then_some(members)
}

/// Takes the wide numbers of a large archive, in the order of those that do not fit.
fn widen(member: &mut Member, mut extra: &[u8]) {
    while let (Some(id), Some(len)) = (Bytes(extra).u16(0), Bytes(extra).u16(2)) {
        let Some(field) = extra.get(4..4 + usize::from(len)) else { return };
        if id == 1 {
            let mut at = 0;
            for value in [&mut member.size, &mut member.packed, &mut member.offset] {
                if *value == 0xffff_ffff
                    && let Some(wide) = Bytes(field).u64(at)
                {
                    *value = wide;
                    at += 8;
                }
            }
        }
        extra = &extra[4 + usize::from(len)..];
    }
}

/// Little-endian numbers at offsets.
struct Bytes<'b>(&'b [u8]);

impl Bytes<'_> {
    fn array<const N: usize>(&self, at: usize) -> Option<[u8; N]> {
        self.0.get(at..at.checked_add(N)?)?.try_into().ok()
    }

    fn u16(&self, at: usize) -> Option<u16> {
        self.array(at).map(u16::from_le_bytes)
    }

    fn u32(&self, at: usize) -> Option<u32> {
        self.array(at).map(u32::from_le_bytes)
    }

    fn u64(&self, at: usize) -> Option<u64> {
        self.array(at).map(u64::from_le_bytes)
    }
}
