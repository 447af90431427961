//! The symbols that a file defines and those that it wants.

use std::collections::BTreeMap;

use object::elf;

use super::{Elf, INDEX, NotElf, string};

/// A dynamic symbol.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Symbol {
    pub name: String,
    /// The version it is bound to, on either side.
    pub version: Option<String>,
    pub defined: bool,
    pub weak: bool,
    /// Given to whoever asks for this very version only.
    pub hidden: bool,
}

impl Symbol {
    /// Says whether this definition is what `wanted` asks for.
    pub fn meets(&self, wanted: &Symbol) -> bool {
        let version_fits = match (&wanted.version, &self.version) {
            (Some(wanted), Some(given)) => wanted == given,
            // A library without versions serves everyone.
            (Some(_), None) | (None, _) => true,
        };
        self.defined && self.name == wanted.name && version_fits
    }
}

/// Symbols of one file at most.
const MOST_SYMBOLS: u64 = 4_000_000;
/// Hash values of a chain that are read at once.
const CHAIN: u64 = 64;
/// `VERSYM` entries below this are the file's own and no version.
const FIRST_VERSION: u16 = 2;

impl Elf<'_> {
    /// Lists all dynamic symbols but the nameless.
    pub fn symbols(&self) -> Result<Vec<Symbol>, NotElf> {
        let count = self.symbol_count()?;
        let Some(address) = self.image.value(elf::DT_SYMTAB).filter(|_| count > 0) else { return Ok(Vec::new()) };
        let size = self.symbol_size();
        let table = self.image.bytes(address, count * size)?;
        let strings = self.strings()?;
        let indexes = match self.image.value(elf::DT_VERSYM) {
            Some(address) => self.image.bytes(address, count * 2)?,
            None => Vec::new(),
        };
        let versions = self.versions_by_index()?;
        let mut symbols = Vec::new();
        for (at, entry) in table.chunks_exact(size as usize).enumerate().skip(1) {
            let symbol = self.symbol(entry, &strings).ok_or(NotElf::Damaged)?;
            let Some((name, info, section)) = symbol else { continue };
            let index = self.image.u16(&indexes, at * 2).unwrap_or(0);
            symbols.push(Symbol {
                name,
                version: versions.get(&(index & INDEX)).filter(|_| index & INDEX >= FIRST_VERSION).cloned(),
                defined: section != 0,
                weak: info >> 4 == elf::STB_WEAK.0,
                hidden: index & !INDEX != 0,
            });
        }
        Ok(symbols)
    }

    /// Lists the symbols that another file must give: undefined, and not weak.
    pub fn wanted(&self) -> Result<Vec<Symbol>, NotElf> {
        Ok(self.symbols()?.into_iter().filter(|symbol| !symbol.defined && !symbol.weak).collect())
    }

    /// Says whether the file gives a symbol of this name, by its hash table: cheap on a library of any size.
    pub fn gives(&self, name: &str) -> Result<bool, NotElf> {
        let Some(address) = self.image.value(elf::DT_GNU_HASH) else {
            return Ok(self.symbols()?.iter().any(|symbol| symbol.defined && symbol.name == name));
        };
        let image = &self.image;
        let header = image.bytes(address, 16)?;
        let field = |at: usize| image.u32(&header, at).map(u64::from).ok_or(NotElf::Damaged);
        let (buckets, first, bloom, shift) = (field(0)?, field(4)?, field(8)?, field(12)?);
        if buckets == 0 || bloom == 0 {
            return Ok(false);
        }
        let hash = elf::gnu_hash(name.as_bytes());
        let word = self.word_size();
        let bits = word * 8;
        let at = |base: u64, index: u64, size: u64| {
            index.checked_mul(size).and_then(|offset| base.checked_add(offset)).ok_or(NotElf::Damaged)
        };
        let filters = at(address, 16, 1)?;
        let filter = image.bytes(at(filters, (u64::from(hash) / bits) % bloom, word)?, word)?;
        let filter = image.word(&filter, 0).ok_or(NotElf::Damaged)?;
        let second = u64::from(hash.checked_shr(shift as u32).unwrap_or(0));
        if filter >> (u64::from(hash) % bits) & filter >> (second % bits) & 1 == 0 {
            return Ok(false);
        }
        let heads = at(filters, bloom, word)?;
        let head = image.bytes(at(heads, u64::from(hash) % buckets, 4)?, 4)?;
        let mut index = u64::from(image.u32(&head, 0).ok_or(NotElf::Damaged)?);
        if index < first {
            return Ok(false);
        }
        let chains = at(heads, buckets, 4)?;
        let strings = self.image.value(elf::DT_STRTAB).ok_or(NotElf::Damaged)?;
        while index < MOST_SYMBOLS {
            let chain = image.bytes_from(at(chains, index - first, 4)?, CHAIN * 4)?;
            if chain.len() < 4 {
                return Err(NotElf::Damaged);
            }
            for value in chain.chunks_exact(4) {
                let value = image.u32(value, 0).ok_or(NotElf::Damaged)?;
                if value | 1 == hash | 1 && self.is_named(index, name, strings)? {
                    return Ok(true);
                }
                if value & 1 == 1 {
                    return Ok(false);
                }
                index += 1;
            }
        }
        Err(NotElf::TooLarge)
    }

    fn is_named(&self, index: u64, name: &str, strings: u64) -> Result<bool, NotElf> {
        let table = self.image.value(elf::DT_SYMTAB).ok_or(NotElf::Damaged)?;
        let address = index.checked_mul(self.symbol_size()).and_then(|offset| table.checked_add(offset));
        let entry = self.image.bytes(address.ok_or(NotElf::Damaged)?, self.symbol_size())?;
        let offset = self.image.u32(&entry, 0).ok_or(NotElf::Damaged)?;
        let (_, section) = self.info(&entry).ok_or(NotElf::Damaged)?;
        let address = strings.checked_add(offset.into()).ok_or(NotElf::Damaged)?;
        let found = self.image.bytes_from(address, name.len() as u64 + 1)?;
        Ok(section != 0 && found.strip_suffix(&[0]) == Some(name.as_bytes()))
    }

    fn symbol_size(&self) -> u64 {
        if self.image.is_64 { 24 } else { 16 }
    }

    fn word_size(&self) -> u64 {
        if self.image.is_64 { 8 } else { 4 }
    }

    /// Takes kind and section of a symbol's entry; the two classes order the fields differently.
    fn info(&self, entry: &[u8]) -> Option<(u8, u16)> {
        let (info, section) = if self.image.is_64 { (4, 6) } else { (12, 14) };
        Some((*entry.get(info)?, self.image.u16(entry, section)?))
    }

    /// Takes name, kind and section of a symbol; `Some(None)` where it has no name.
    fn symbol(&self, entry: &[u8], strings: &[u8]) -> Option<Option<(String, u8, u16)>> {
        let name = string(strings, self.image.u32(entry, 0)?.into())?;
        let (info, section) = self.info(entry)?;
        Some((!name.is_empty()).then_some((name, info, section)))
    }

    fn versions_by_index(&self) -> Result<BTreeMap<u16, String>, NotElf> {
        let mut all: BTreeMap<u16, String> =
            self.needed_versions()?.into_iter().map(|(index, need)| (index, need.version)).collect();
        all.extend(self.given_versions()?.into_iter().map(|(index, given)| (index, given.name)));
        Ok(all)
    }

    /// Counts the symbols: only the hash tables say how many there are.
    fn symbol_count(&self) -> Result<u64, NotElf> {
        let image = &self.image;
        let count = if let Some(address) = image.value(elf::DT_HASH) {
            let header = image.bytes(address, 8)?;
            u64::from(image.u32(&header, 4).ok_or(NotElf::Damaged)?)
        } else if let Some(address) = image.value(elf::DT_GNU_HASH) {
            self.count_hashed(address)?
        } else {
            0
        };
        if count > MOST_SYMBOLS { Err(NotElf::TooLarge) } else { Ok(count) }
    }

    fn count_hashed(&self, address: u64) -> Result<u64, NotElf> {
        let image = &self.image;
        let header = image.bytes(address, 16)?;
        let field = |at: usize| image.u32(&header, at).map(u64::from).ok_or(NotElf::Damaged);
        let (buckets, first, bloom) = (field(0)?, field(4)?, field(8)?);
        let heads = (bloom * self.word_size()).checked_add(16).and_then(|offset| address.checked_add(offset));
        let heads = heads.ok_or(NotElf::Damaged)?;
        let table = image.bytes(heads, buckets * 4)?;
        let last = table.chunks_exact(4).filter_map(|head| image.u32(head, 0)).max().unwrap_or(0);
        let mut last = u64::from(last);
        if last < first {
            return Ok(first);
        }
        let chains = heads.checked_add(buckets * 4).ok_or(NotElf::Damaged)?;
        while last < MOST_SYMBOLS {
            let chain = image.bytes_from(chains.checked_add((last - first) * 4).ok_or(NotElf::Damaged)?, CHAIN * 4)?;
            if chain.len() < 4 {
                return Err(NotElf::Damaged);
            }
            for value in chain.chunks_exact(4) {
                last += 1;
                if image.u32(value, 0).ok_or(NotElf::Damaged)? & 1 == 1 {
                    return Ok(last);
                }
            }
        }
        Err(NotElf::TooLarge)
    }
}
