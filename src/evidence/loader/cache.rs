//! `/etc/ld.so.cache`: where the loader looks the system's libraries up.

use std::path::{Path, PathBuf};

use crate::evidence::Host;

/// The file that `ldconfig` writes.
const CACHE: &str = "/etc/ld.so.cache";
/// A machine with 10,000 libraries has half a megabyte.
const CACHE_LIMIT: u64 = 32 << 20;
const MAGIC: &[u8] = b"glibc-ld.so.cache1.1";
const HEADER: usize = 48;
const ENTRY: usize = 24;
const MOST_ENTRIES: usize = 200_000;

/// Lists names and files in the order of the cache; empty where there is none that can be read.
pub(super) fn read(host: &dyn Host) -> Vec<(String, PathBuf)> {
    let bytes = host.read(Path::new(CACHE), CACHE_LIMIT).unwrap_or_default();
    // The format before 2.32 puts an older table in front.
    let start = memchr::memmem::find(&bytes, MAGIC);
    start.map(|start| entries(&bytes[start..])).unwrap_or_default()
}

fn entries(cache: &[u8]) -> Vec<(String, PathBuf)> {
    let number = |at: usize| {
        let four = cache.get(at..at.checked_add(4)?)?;
        Some(u32::from_ne_bytes(four.try_into().ok()?) as usize)
    };
    let text = |at: usize| {
        let rest = cache.get(at..)?;
        let end = memchr::memchr(0, &rest[..rest.len().min(4096)])?;
        std::str::from_utf8(&rest[..end]).ok()
    };
    let count = number(MAGIC.len()).unwrap_or(0).min(MOST_ENTRIES);
    let entry = |index: usize| {
        let at = HEADER + index * ENTRY;
        let (name, file) = (text(number(at + 4)?)?, text(number(at + 8)?)?);
        // Variants for newer processors; the plain file beside them gives the same names.
        (!file.contains("/glibc-hwcaps/") && file.starts_with('/')).then(|| (name.to_owned(), PathBuf::from(file)))
    };
    (0..count).filter_map(entry).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn damaged_caches_are_empty_or_shorter() {
        let mut cache = MAGIC.to_vec();
        cache.extend(1u32.to_ne_bytes());
        cache.resize(HEADER, 0);
        for value in [0u32, 72, 82, 0, 0, 0] {
            cache.extend(value.to_ne_bytes());
        }
        cache.extend(b"libx.so.1\0/lib/libx.so.1\0");
        assert_eq!(entries(&cache), [("libx.so.1".to_owned(), PathBuf::from("/lib/libx.so.1"))]);
        for end in 0..cache.len() {
            assert!(entries(&cache[..end]).is_empty(), "{end}");
        }
        cache[MAGIC.len()..MAGIC.len() + 4].fill(0xff);
        assert_eq!(entries(&cache).len(), 1);
    }
}
