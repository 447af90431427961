//! The bytes of a Python file as text whose offsets are those of the file.

use std::ops::Range;

/// A larger file is generated or data.
pub const LARGEST: u64 = 1 << 20;

/// A file's text.
#[derive(Debug)]
pub struct Source {
    /// As long as the file; what is no text of it is masked.
    pub text: String,
    /// Where each line begins.
    lines: Vec<usize>,
    /// Whether edits of this file are safe: plain UTF-8 and line ends that Python and editors agree on.
    pub editable: bool,
}

impl Source {
    /// Reads a file's bytes; `None` for what Python would not read as text either.
    pub fn new(bytes: &[u8]) -> Option<Self> {
        if bytes.len() as u64 > LARGEST || bytes.contains(&0) {
            return None;
        }
        let cookie = cookie(bytes);
        let utf8 = cookie.as_deref().is_none_or(|name| name == "utf-8" || name == "utf8" || name == "ascii");
        let (mut text, whole) = match std::str::from_utf8(bytes) {
            Ok(text) if utf8 => (text.to_owned(), true),
            // Without a cookie Python refuses it; with one, only ASCII is the same everywhere.
            Err(_) if cookie.is_none() => return None,
            Ok(_) | Err(_) => {
                (bytes.iter().map(|byte| if byte.is_ascii() { char::from(*byte) } else { 'x' }).collect(), false)
            }
        };
        if text.starts_with('\u{feff}') {
            // Empty lines keep the offsets and the indentation of the first line.
            text.replace_range(..3, "\n\n\n");
        }
        let lines = std::iter::once(0).chain(memchr::memchr_iter(b'\n', bytes).map(|newline| newline + 1)).collect();
        let lone_return = memchr::memchr_iter(b'\r', bytes).any(|at| bytes.get(at + 1) != Some(&b'\n'));
        Some(Self { text, lines, editable: whole && !lone_return && !bytes.contains(&b'\x0c') })
    }

    /// Returns the 1-based line of an offset.
    pub fn line(&self, at: usize) -> usize {
        self.lines.partition_point(|start| *start <= at)
    }

    /// Returns the 1-based column of an offset, in characters.
    pub fn column(&self, at: usize) -> usize {
        let start = self.line_start(at);
        self.text.get(start..at).map_or(1, |before| before.chars().count() + 1)
    }

    /// Returns where the line of an offset begins.
    pub fn line_start(&self, at: usize) -> usize {
        self.lines[self.line(at) - 1]
    }

    /// Returns where the line after that of an offset begins: behind its line end.
    pub fn next_line(&self, at: usize) -> usize {
        self.lines.get(self.line(at)).copied().unwrap_or(self.text.len())
    }

    /// Returns what stands before `at` on its line.
    pub fn before(&self, at: usize) -> &str {
        &self.text[self.line_start(at)..at]
    }

    /// Returns the whole lines that a range lies on.
    pub fn whole_lines(&self, range: &Range<usize>) -> Range<usize> {
        self.line_start(range.start)..self.next_line(range.end.max(range.start + 1) - 1)
    }

    /// Says whether nothing but blanks and a comment stands beside a range on its lines.
    pub fn is_alone(&self, range: &Range<usize>) -> bool {
        let after = self.text[range.end..self.next_line(range.end)].trim();
        self.before(range.start).trim().is_empty() && (after.is_empty() || after.starts_with('#'))
    }
}

/// Reads the coding cookie of the first two lines, as Python does.
fn cookie(bytes: &[u8]) -> Option<String> {
    let head = bytes.splitn(3, |byte| *byte == b'\n').take(2);
    head.filter_map(|line| {
        let line = String::from_utf8_lossy(&line[..line.len().min(200)]);
        let comment = line.trim_start_matches('\u{feff}').trim_start().strip_prefix('#')?.to_owned();
        let after = &comment[comment.find("coding")? + "coding".len()..];
        let value = after.strip_prefix(':').or_else(|| after.strip_prefix('='))?.trim_start();
        let name: String =
            value.chars().take_while(|c| c.is_ascii_alphanumeric() || matches!(c, '-' | '_' | '.')).collect();
        (!name.is_empty()).then(|| name.to_ascii_lowercase().replace('_', "-"))
    })
    .next()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn offsets_are_those_of_the_file() {
        for (bytes, want) in [
            ("a = 'é'\n".as_bytes(), Some(("a = 'é'\n", true))),
            (b"\xef\xbb\xbfimport os", Some(("\n\n\nimport os", true))),
            (b"# -*- coding: latin-1 -*-\n'\xe9'", Some(("# -*- coding: latin-1 -*-\n'x'", false))),
            (b"a\rb", Some(("a\rb", false))),
            (b"a\r\nb", Some(("a\r\nb", true))),
            (b"'\xe9'", None),
            (b"a\0", None),
        ] {
            let source = Source::new(bytes);
            let got = source.as_ref().map(|source| (source.text.as_str(), source.editable));
            assert_eq!(got, want, "{bytes:?}");
            assert!(source.is_none_or(|source| source.text.len() == bytes.len()));
        }
    }

    #[test]
    fn places_count_from_one_and_in_characters() {
        let source = Source::new("a\r\n\u{6ce8} b\n".as_bytes()).unwrap();
        let at = source.text.find('b').unwrap();
        assert_eq!((source.line(at), source.column(at)), (2, 3));
        assert_eq!((source.line(0), source.column(0)), (1, 1));
        assert_eq!(source.line(source.text.len()), 3);
        assert_eq!(source.whole_lines(&(at..at + 1)), 3..source.text.len());
    }
}
