//! Python source as the parser may see it.

use super::MergeError;

/// Larger files are no `setup.py`.
const LONGEST: usize = 1 << 20;

/// The bytes of a file, and an ASCII text of the same length that has the same syntax.
///
/// Letters outside ASCII stand only in strings, comments and names; each of their bytes becomes an `x`, so that
/// offsets agree and no encoding can confuse the parser.
pub struct Source<'a> {
    pub bytes: &'a [u8],
    pub text: String,
}

/// How letters outside ASCII are written.
enum Encoding {
    /// No byte of a letter looks like ASCII: UTF-8, Latin-1 and its relatives, EUC.
    Transparent,
    /// The second byte of a letter may look like ASCII, a backslash among them.
    DoubleByte { lead: fn(u8) -> bool },
}

impl<'a> Source<'a> {
    /// Takes a file's bytes; refuses what Python would read in another way than this editor.
    pub fn new(bytes: &'a [u8]) -> Result<Self, MergeError> {
        if bytes.len() > LONGEST {
            return Err(MergeError::TooLarge);
        }
        if bytes.contains(&0) {
            return Err(MergeError::NotText);
        }
        let lone_return = |at: usize| bytes[at] == b'\r' && bytes.get(at + 1) != Some(&b'\n');
        if (0..bytes.len()).any(lone_return) {
            return Err(MergeError::LoneCarriageReturn);
        }
        let text = match encoding(bytes)? {
            Encoding::Transparent => bytes.iter().map(|byte| ascii(*byte)).collect(),
            Encoding::DoubleByte { lead } => mask_pairs(bytes, lead),
        };
        let mut source = Self { bytes, text };
        if bytes.starts_with(b"\xef\xbb\xbf") {
            // Empty lines keep the offsets and the indentation of the first line.
            source.text.replace_range(..3, "\n\n\n");
        }
        Ok(source)
    }

    /// Returns the 1-based line of a byte offset.
    pub fn line(&self, at: usize) -> usize {
        1 + memchr::memchr_iter(b'\n', &self.bytes[..at]).count()
    }

    /// Returns the offset at which the line of `at` begins.
    pub fn line_start(&self, at: usize) -> usize {
        memchr::memrchr(b'\n', &self.bytes[..at]).map_or(0, |newline| newline + 1)
    }

    /// Returns the offset of the line end after `at`, before a carriage return.
    pub fn line_end(&self, at: usize) -> usize {
        let end = memchr::memchr(b'\n', &self.bytes[at..]).map_or(self.bytes.len(), |newline| at + newline);
        if end > at && self.bytes[end - 1] == b'\r' { end - 1 } else { end }
    }

    /// Returns the line end that the file uses before `at`.
    pub fn newline(&self, at: usize) -> &'static str {
        if self.bytes[..self.line_start(at)].ends_with(b"\r\n") { "\r\n" } else { "\n" }
    }
}

fn ascii(byte: u8) -> char {
    if byte.is_ascii() { char::from(byte) } else { 'x' }
}

fn mask_pairs(bytes: &[u8], lead: fn(u8) -> bool) -> String {
    let mut text = String::with_capacity(bytes.len());
    let mut rest = bytes.iter().peekable();
    while let Some(&byte) = rest.next() {
        text.push(ascii(byte));
        if lead(byte) && rest.peek().is_some_and(|next| **next >= 0x30) {
            rest.next();
            text.push('x');
        }
    }
    text
}

/// Reads the coding cookie of the first two lines, as Python does.
fn encoding(bytes: &[u8]) -> Result<Encoding, MergeError> {
    let head = bytes.splitn(3, |byte| *byte == b'\n').take(2);
    let Some(name) = head.into_iter().find_map(cookie) else {
        return Ok(Encoding::Transparent);
    };
    let transparent =
        ["utf", "ascii", "us-ascii", "latin", "iso-8859", "iso8859", "cp125", "windows-125", "koi8", "euc"];
    let pairs = ["gbk", "gb2312", "gb18030", "cp936", "big5", "cp950"];
    let japanese = ["shift", "sjis", "cp932"];
    let is = |names: &[&str]| names.iter().any(|prefix| name.starts_with(prefix));
    if is(&["utf-16", "utf16", "utf-32", "utf32", "utf-7", "utf7"]) {
        return Err(MergeError::Encoding(name));
    }
    if is(&transparent) {
        return Ok(Encoding::Transparent);
    }
    if is(&pairs) {
        return Ok(Encoding::DoubleByte { lead: |byte| (0x81..=0xfe).contains(&byte) });
    }
    if is(&japanese) {
        return Ok(Encoding::DoubleByte { lead: |byte| matches!(byte, 0x81..=0x9f | 0xe0..=0xfc) });
    }
    Err(MergeError::Encoding(name))
}

fn cookie(line: &[u8]) -> Option<String> {
    let line = String::from_utf8_lossy(line);
    let comment = line.trim_start_matches('\u{feff}').trim_start().strip_prefix('#')?.to_owned();
    let after = &comment[comment.find("coding")? + "coding".len()..];
    let value = after.strip_prefix(':').or_else(|| after.strip_prefix('='))?.trim_start();
    let fits = |c: char| c.is_ascii_alphanumeric() || matches!(c, '-' | '_' | '.');
    let name: String = value.chars().take_while(|c| fits(*c)).collect();
    (!name.is_empty()).then(|| name.to_ascii_lowercase().replace('_', "-"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn masked_text_has_the_offsets_of_the_file() {
        let cases: &[(&[u8], &str)] = &[
            ("a = 'é' # 注".as_bytes(), "a = 'xx' # xxx"),
            (b"\xef\xbb\xbfimport os", "\n\n\nimport os"),
            (b"# -*- coding: latin-1 -*-\n'\xe9'", "# -*- coding: latin-1 -*-\n'x'"),
            // The second byte of this letter is a backslash, which would escape the quote.
            (b"# coding: gbk\n'\x81\\'", "# coding: gbk\n'xx'"),
            (b"# coding=cp932\n'\xb1\\n'", "# coding=cp932\n'x\\n'"),
        ];
        for (bytes, want) in cases {
            let source = Source::new(bytes).unwrap();
            assert_eq!(source.text, *want);
            assert_eq!(source.text.len(), bytes.len());
        }
    }

    #[test]
    fn what_python_reads_otherwise_is_refused() {
        assert_eq!(Source::new(b"a\rb").err(), Some(MergeError::LoneCarriageReturn));
        assert_eq!(Source::new(b"a\0b").err(), Some(MergeError::NotText));
        assert_eq!(Source::new(b"# coding: utf-7\n").err(), Some(MergeError::Encoding("utf-7".into())));
        assert_eq!(
            Source::new(b"# vim: set fileencoding=ebcdic :\n").err(),
            Some(MergeError::Encoding("ebcdic".into()))
        );
    }
}
