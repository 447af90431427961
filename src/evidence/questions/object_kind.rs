//! What an object file, a shared library or an archive is made for, read from its first bytes.

use std::path::Path;

use crate::evidence::Host;

/// Enough of an archive to get past the symbol tables that most have.
const ARCHIVE_HEAD: u64 = 4 << 20;
/// A linker script is short.
const SCRIPT: u64 = 64 << 10;

/// Machine, class and byte order of an ELF file.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Target {
    pub machine: u16,
    pub bits: u8,
    pub big_endian: bool,
}

impl Target {
    /// Returns what this machine runs.
    pub fn here() -> Self {
        let machine = match std::env::consts::ARCH {
            "x86" => 3,
            "s390x" => 22,
            "powerpc64" => 21,
            "arm" => 40,
            "x86_64" => 62,
            "aarch64" => 183,
            "riscv64" => 243,
            "loongarch64" => 258,
            _ => 0,
        };
        let bits = if cfg!(target_pointer_width = "64") { 64 } else { 32 };
        Self { machine, bits, big_endian: cfg!(target_endian = "big") }
    }

    /// Reads an ELF header.
    pub fn of_elf(head: &[u8]) -> Option<Self> {
        if head.len() < 20 || !head.starts_with(b"\x7fELF") {
            return None;
        }
        let bits = match head[4] {
            1 => 32,
            2 => 64,
            _ => return None,
        };
        let big_endian = head[5] == 2;
        let machine = [head[18], head[19]];
        let machine = if big_endian { u16::from_be_bytes(machine) } else { u16::from_le_bytes(machine) };
        Some(Self { machine, bits, big_endian })
    }
}

/// Says whether a file is a program that this machine can run: ELF of this machine, or a script with an interpreter
/// (distributions wrap compilers), with a permission to execute.
pub fn is_program(host: &dyn Host, path: &Path) -> bool {
    let Ok(meta) = host.follow(path) else { return false };
    if meta.mode & 0o111 == 0 {
        return false;
    }
    host.head(path, 64).is_ok_and(|head| Target::of_elf(&head) == Some(Target::here()) || head.starts_with(b"#!/"))
}

/// Says whether the linker can take a file as a library of this machine.
pub fn is_library(host: &dyn Host, path: &Path) -> bool {
    library(host, path, 0)
}

fn library(host: &dyn Host, path: &Path, depth: u8) -> bool {
    let Ok(head) = host.head(path, 64) else { return false };
    if let Some(target) = Target::of_elf(&head) {
        return target == Target::here();
    }
    if head.starts_with(b"!<arch>\n") {
        return host.head(path, ARCHIVE_HEAD).is_ok_and(|bytes| archive(&bytes));
    }
    // A thin archive names its members; they lie beside it or nowhere.
    if head.starts_with(b"!<thin>\n") {
        return true;
    }
    // `libc.so` and `libncurses.so` are texts for the linker that name the real files.
    depth < 3 && host.read(path, SCRIPT).is_ok_and(|text| script(host, path, &text, depth))
}

/// Looks at the first member that tells; a member that is no ELF file (bitcode) tells nothing.
fn archive(bytes: &[u8]) -> bool {
    let mut at = 8;
    while let Some(header) = bytes.get(at..at + 60) {
        let size = std::str::from_utf8(&header[48..58]).ok().and_then(|size| size.trim().parse::<usize>().ok());
        let Some(size) = size else { return false };
        let body = &bytes[at + 60..];
        if let Some(target) = Target::of_elf(body) {
            return target == Target::here();
        }
        let Some(next) = at.checked_add(60).and_then(|at| at.checked_add(size)) else { return false };
        at = next + next % 2;
    }
    // An empty archive links.
    true
}

fn script(host: &dyn Host, path: &Path, text: &[u8], depth: u8) -> bool {
    let Ok(text) = std::str::from_utf8(text) else { return false };
    let Some(start) = ["GROUP", "INPUT"].iter().filter_map(|word| text.find(word)).min() else { return false };
    let Some(open) = text[start..].find('(') else { return false };
    let inside = &text[start + open + 1..];
    let inside = inside.rfind(')').map_or(inside, |end| &inside[..end]);
    let folder = path.parent().unwrap_or(Path::new("/"));
    let mut files = 0;
    for word in inside.split(|c: char| c.is_whitespace() || matches!(c, '(' | ')' | ',')) {
        // `-lname` is looked up by the linker anew; `AS_NEEDED` is no file.
        if word.is_empty() || word.starts_with('-') || word == "AS_NEEDED" {
            continue;
        }
        files += 1;
        if files > 16 || !library(host, &folder.join(word), depth + 1) {
            return false;
        }
    }
    true
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn reads_elf_headers() {
        let mut head = vec![0; 64];
        head[..6].copy_from_slice(b"\x7fELF\x02\x01");
        head[18] = 183;
        assert_eq!(Target::of_elf(&head), Some(Target { machine: 183, bits: 64, big_endian: false }));
        head[5] = 2;
        head[18..20].copy_from_slice(&[0, 22]);
        assert_eq!(Target::of_elf(&head), Some(Target { machine: 22, bits: 64, big_endian: true }));
        assert_eq!(Target::of_elf(b"\x7fELF"), None);
        assert_eq!(Target::of_elf(&std::fs::read("/proc/self/exe").unwrap()), Some(Target::here()));
    }

    #[test]
    fn archives_are_read_behind_their_tables() {
        let member = |name: &str, body: &[u8]| {
            let mut bytes = format!("{name:<16}{:<32}{:<10}`\n", "0", body.len()).into_bytes();
            assert_eq!(bytes.len(), 60);
            bytes.extend_from_slice(body);
            if body.len() % 2 == 1 {
                bytes.push(b'\n');
            }
            bytes
        };
        let here = std::fs::read("/proc/self/exe").unwrap()[..64].to_vec();
        let mut foreign = here.clone();
        foreign[18] ^= 0xff;
        let archive_of = |object: &[u8]| [b"!<arch>\n".to_vec(), member("/", b"odd"), member("a.o/", object)].concat();
        assert!(archive(&archive_of(&here)));
        assert!(!archive(&archive_of(&foreign)));
        assert!(archive(b"!<arch>\n"));
        assert!(!archive(&[&b"!<arch>\n"[..], &[b'x'; 60]].concat()));
    }
}
