//! Which of the files that a log names are only half there?

use std::collections::BTreeSet;
use std::path::Path;

use super::{Answer, ArgSpec, Inquiry, Question, UNKNOWN};
use crate::evidence::{FileKind, Host};
use crate::os::AbsPath;
use crate::recipe::Text;

/// The questions of this file.
pub const QUESTIONS: &[Question] = &[Question {
    name: "cmake_truncated",
    about: "Finds which of the named objects, archives and libraries of a build tree are empty or cut off.",
    args: &[
        ArgSpec { name: "tree", required: false, about: "The build tree" },
        ArgSpec { name: "named", required: false, about: "The files, as the linker names them" },
    ],
    answers: &["truncated", "whole", "no_tree"],
    values: &["files", "count"],
    ask: cmake_truncated,
}];

/// A search ends there with what it has: so many entries are looked at in one tree.
const ENTRY_LIMIT: usize = 400_000;
const LIST_LIMIT: usize = 100_000;
/// Larger products are not read.
const PRODUCT_LIMIT: u64 = 256 << 20;
/// All products together.
const TOTAL_LIMIT: u64 = 1 << 30;

fn cmake_truncated(inquiry: &Inquiry<'_>) -> Answer {
    let host = inquiry.host;
    let no_tree = || Answer::new("no_tree", Text::new("there is no configured build tree", "没有已配置的构建目录"));
    let Some(tree) = inquiry.text("tree").and_then(|tree| AbsPath::new(tree).ok()) else { return no_tree() };
    if host.follow(&tree.as_path().join("CMakeCache.txt")).is_err() {
        return no_tree();
    }
    let named = inquiry.list("named");
    if named.is_empty() {
        return Answer::new(UNKNOWN, Text::new("no file is named", "没有给出文件名"));
    }
    let mut scan = Scan { folders: Vec::new(), objects: BTreeSet::new(), complete: true };
    scan.walk(host, &tree, &named);
    let places = named.iter().flat_map(|name| scan.places(host, &tree, name));
    let places: BTreeSet<AbsPath> = places.filter(|path| is_product(path.as_path())).collect();
    let mut broken = Vec::new();
    let mut read = 0;
    for path in places {
        let Ok(meta) = host.inspect(path.as_path()) else { continue };
        if meta.kind != FileKind::File {
            continue;
        }
        read += meta.len;
        if read > TOTAL_LIMIT {
            scan.complete = false;
            break;
        }
        if host.read(path.as_path(), PRODUCT_LIMIT).is_ok_and(|bytes| is_cut_off(&bytes)) {
            broken.push(path.to_string());
        }
    }
    if !broken.is_empty() {
        let (count, list) = (broken.len(), broken.iter().take(3).cloned().collect::<Vec<_>>().join(", "));
        let seen = Text::new(format!("{count} half-written: {list}"), format!("{count} 个文件不完整：{list}"));
        return Answer::new("truncated", seen).with("count", count.to_string()).with("files", broken);
    }
    if !scan.complete {
        return Answer::new(UNKNOWN, Text::new("the tree is too large to look through", "构建目录过大，无法逐一检查"));
    }
    Answer::new(
        "whole",
        Text::new("none of the files that are named is cut off here", "所提到的文件在此处都没有不完整的"),
    )
}

/// What a walk through a tree found.
struct Scan {
    /// Folders that CMake builds in: linkers run there, and name files from there.
    folders: Vec<AbsPath>,
    /// Objects that go by one of the names alone, as members of archives do.
    objects: BTreeSet<AbsPath>,
    complete: bool,
}

impl Scan {
    /// Walks a tree without following links.
    fn walk(&mut self, host: &dyn Host, tree: &AbsPath, named: &[String]) {
        let mut folders = vec![(tree.clone(), Inside::Tree)];
        let mut entries = 0;
        while let Some((folder, inside)) = folders.pop() {
            let Ok(names) = host.list(folder.as_path(), LIST_LIMIT) else {
                self.complete = false;
                continue;
            };
            for name in names {
                let path = folder.resolve(&name);
                entries += 1;
                if entries > ENTRY_LIMIT {
                    self.complete = false;
                    return;
                }
                let Ok(meta) = host.inspect(path.as_path()) else { continue };
                match meta.kind {
                    FileKind::Folder if is_foreign_source(&path) => {}
                    FileKind::Folder if name == "CMakeFiles" => {
                        self.folders.push(folder.clone());
                        folders.push((path, Inside::CMakeFiles));
                    }
                    FileKind::Folder => folders.push((path, inside)),
                    FileKind::File if inside == Inside::CMakeFiles => {
                        if named.iter().any(|named| name == **named) {
                            self.objects.insert(path);
                        }
                    }
                    FileKind::File | FileKind::Link | FileKind::Other => {}
                }
            }
        }
    }

    /// Where in the tree a name can lead. Nothing behind a link that leads out.
    fn places(&self, host: &dyn Host, tree: &AbsPath, name: &str) -> Vec<AbsPath> {
        let mut places: Vec<AbsPath> = if name.starts_with('/') {
            AbsPath::new(name).into_iter().collect()
        } else {
            self.folders.iter().map(|folder| folder.resolve(name)).collect()
        };
        places.extend(self.objects.iter().filter(|path| path.file_name().is_some_and(|own| own == name)).cloned());
        let real = |path: AbsPath| {
            let parent = host.real(path.parent()?.as_path()).ok()?;
            Some(AbsPath::new(parent).ok()?.resolve(path.file_name()?))
        };
        places.into_iter().filter_map(real).filter(|path| path.is_within(tree)).collect()
    }
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Inside {
    Tree,
    CMakeFiles,
}

/// Says whether a folder holds sources that a build fetched: half files in there may be test data.
fn is_foreign_source(path: &AbsPath) -> bool {
    let name = |path: &AbsPath| path.file_name().map(|name| name.to_string_lossy().into_owned()).unwrap_or_default();
    let own = name(path);
    let parent = path.parent();
    let above = parent.as_ref().map(name).unwrap_or_default();
    let above_that = parent.and_then(|parent| parent.parent()).as_ref().map(name).unwrap_or_default();
    let fetched = above == "_deps" && own.ends_with("-src");
    let external = above == "src" && above_that.ends_with("-prefix") && !own.ends_with("-build");
    own == ".git" || fetched || external
}

fn is_product(path: &Path) -> bool {
    let name = path.file_name().and_then(|name| name.to_str()).unwrap_or_default();
    let end = name.rsplit_once('.').map_or("", |(_, end)| end);
    matches!(end, "o" | "a" | "so") || name.contains(".so.")
}

/// Says whether an object, archive or library ends too early. What is none of these (a linker script, LLVM bitcode, an
/// object of another system) is never called cut off.
pub(super) fn is_cut_off(bytes: &[u8]) -> bool {
    // Shorter than what such a file begins with, and the same as far as it goes.
    let magics: [&[u8]; 2] = [b"\x7fELF", b"!<arch>\n"];
    if magics.iter().any(|magic| bytes.len() < magic.len() && magic.starts_with(bytes)) {
        return true;
    }
    if bytes.starts_with(b"\x7fELF") {
        return elf_is_cut_off(bytes);
    }
    if bytes.starts_with(b"!<arch>\n") {
        return archive_is_cut_off(bytes);
    }
    // Blocks that a file system had reserved, but never written before the machine stopped.
    bytes.len() >= 64 && bytes.iter().take(4096).all(|byte| *byte == 0)
}

fn elf_is_cut_off(bytes: &[u8]) -> bool {
    let (Some(class), Some(order)) = (bytes.get(4), bytes.get(5)) else { return true };
    let wide = *class == 2;
    let number = |at: usize, width: usize| -> Option<u64> {
        let field = bytes.get(at..at + width)?;
        let digit = |value: u64, byte: &u8| (value << 8) | u64::from(*byte);
        Some(if *order == 2 { field.iter().fold(0, digit) } else { field.iter().rev().fold(0, digit) })
    };
    let header = || -> Option<(u64, u64, u64)> {
        Some(if wide {
            (number(0x28, 8)?, number(0x3a, 2)?, number(0x3c, 2)?)
        } else {
            (number(0x20, 4)?, number(0x2e, 2)?, number(0x30, 2)?)
        })
    };
    let Some((sections_at, section_size, sections)) = header() else { return true };
    // 0 sections with a table is the form for more than 65279 of them; the table itself must begin inside.
    let needed = sections_at.saturating_add(section_size.saturating_mul(sections.max(1)));
    sections_at != 0 && needed > bytes.len() as u64
}

fn archive_is_cut_off(bytes: &[u8]) -> bool {
    let mut at = 8;
    while at < bytes.len() {
        let Some(header) = bytes.get(at..at + 60) else { return true };
        let size = std::str::from_utf8(&header[48..58]).ok().and_then(|text| text.trim().parse::<usize>().ok());
        let (Some(size), b"`\n") = (size, &header[58..]) else { return true };
        let Some(end) = (at + 60).checked_add(size).filter(|end| *end <= bytes.len()) else { return true };
        // Members begin at even places; the filler after the last one may be missing.
        at = end + end % 2;
    }
    false
}

#[cfg(test)]
mod tests {
    use super::*;

    fn archive(members: &[&[u8]]) -> Vec<u8> {
        let mut bytes = b"!<arch>\n".to_vec();
        for member in members {
            bytes.extend(
                format!("{:<16}{:<12}{:<6}{:<6}{:<8}{:<10}`\n", "a.o/", 0, 0, 0, 644, member.len()).into_bytes(),
            );
            bytes.extend_from_slice(member);
            if member.len() % 2 == 1 {
                bytes.push(b'\n');
            }
        }
        bytes
    }

    fn elf(wide: bool, big_endian: bool) -> Vec<u8> {
        let (header, section) = if wide { (64_u64, 64_u64) } else { (52, 40) };
        let mut bytes = vec![0; (header + 2 * section) as usize];
        bytes[..4].copy_from_slice(b"\x7fELF");
        bytes[4] = if wide { 2 } else { 1 };
        bytes[5] = if big_endian { 2 } else { 1 };
        let mut put = |at: usize, width: usize, value: u64| {
            let le = value.to_le_bytes();
            for index in 0..width {
                bytes[at + index] = if big_endian { le[width - 1 - index] } else { le[index] };
            }
        };
        if wide {
            put(0x28, 8, header);
            put(0x3a, 2, section);
            put(0x3c, 2, 2);
        } else {
            put(0x20, 4, header);
            put(0x2e, 2, section);
            put(0x30, 2, 2);
        }
        bytes
    }

    #[test]
    fn every_cut_of_a_product_is_seen() {
        let products =
            [archive(&[b"one", b"twos"]), elf(true, false), elf(false, false), elf(true, true), elf(false, true)];
        for bytes in products {
            assert!(!is_cut_off(&bytes));
            for length in 0..bytes.len() {
                // An archive cut between two members is a whole, smaller archive, and one may lack its last filler.
                let between = bytes.starts_with(b"!<arch>") && [8, 8 + 60 + 3, 8 + 60 + 4].contains(&length);
                assert_eq!(is_cut_off(&bytes[..length]), !between, "{length} of {}", bytes.len());
            }
        }
    }

    #[test]
    fn fetched_sources_are_no_products() {
        let cases = [
            ("/b/_deps/x-src", true),
            ("/b/_deps/x-build", false),
            ("/b/x-prefix/src/x", true),
            ("/b/x-prefix/src/x-build", false),
            ("/b/x-prefix/src", false),
            ("/b/lib", false),
            ("/", false),
        ];
        for (path, want) in cases {
            assert_eq!(is_foreign_source(&AbsPath::new(path).unwrap()), want, "{path}");
        }
    }

    #[test]
    fn strangers_are_left_alone() {
        let cases: [(&[u8], bool); 8] = [
            (b"", true),
            (&[0; 100], true),
            (b"!<arch>\n", false),
            (b"!<thin>\n/               ", false),
            (b"BC\xc0\xde1234", false),
            (b"GROUP ( libx.so.1 )\n", false),
            (b"\0\0", false),
            (b"\x7fELF", true),
        ];
        for (bytes, want) in cases {
            assert_eq!(is_cut_off(bytes), want, "{bytes:?}");
        }
    }
}
