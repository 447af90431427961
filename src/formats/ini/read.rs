//! The reader: lines, sections, settings, each with its place in the text.

use std::collections::BTreeSet;
use std::ops::Range;

use super::{Reason, Refusal};

/// A file that Python would read.
#[derive(Debug, Clone)]
pub struct Ini<'t> {
    text: &'t str,
    lines: Vec<Line>,
    sections: Vec<Section>,
}

/// A line of the text, in bytes.
#[derive(Debug, Clone, Copy)]
pub(super) struct Line {
    pub start: usize,
    /// Where the line break begins.
    pub end: usize,
    /// Where the next line begins.
    pub next: usize,
}

/// A `[section]`; what stands twice is refused, but for `[DEFAULT]`, whose settings add up.
#[derive(Debug, Clone)]
pub struct Section {
    pub name: String,
    /// Index of the header's line; of the last one, where there are several.
    pub(super) header: usize,
    pub settings: Vec<Setting>,
}

/// An option with its value.
#[derive(Debug, Clone)]
pub struct Setting {
    /// In lower case, as Python knows it.
    pub key: String,
    /// The lines from the option to the last that adds to its value.
    pub(super) lines: Range<usize>,
    /// What adds to the value, line by line; the first may be empty.
    pub pieces: Vec<Piece>,
    /// The value as Python returns it.
    pub value: String,
}

/// The part of a value that one line holds, without the blanks around it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Piece {
    /// Index of the line.
    pub line: usize,
    /// Bytes of the text.
    pub range: Range<usize>,
}

/// Python's `str.isspace`: four more than Unicode's White_Space.
pub(super) fn is_space(c: char) -> bool {
    c.is_whitespace() || ('\u{1c}'..='\u{1f}').contains(&c)
}

impl<'t> Ini<'t> {
    /// Reads a file's bytes.
    pub fn parse(bytes: &'t [u8]) -> Result<Self, Refusal> {
        let text = std::str::from_utf8(bytes).map_err(|error| {
            let before = String::from_utf8_lossy(&bytes[..error.valid_up_to()]);
            Refusal { line: split(&before).len().max(1), reason: Reason::NotUtf8 }
        })?;
        Self::parse_text(text)
    }

    fn parse_text(text: &'t str) -> Result<Self, Refusal> {
        if text.starts_with('\u{feff}') {
            return Err(Refusal { line: 1, reason: Reason::ByteOrderMark });
        }
        let mut ini = Self { text, lines: split(text), sections: Vec::new() };
        let mut names = BTreeSet::new();
        let mut keys: BTreeSet<(usize, String)> = BTreeSet::new();
        // The section that lines belong to, and whether its last setting may go on.
        let mut at: Option<usize> = None;
        let (mut open, mut indent) = (false, 0);
        for number in 0..ini.lines.len() {
            let range = ini.stripped(number);
            let stripped = &text[range.clone()];
            let refuse = |reason| Err(Refusal { line: number + 1, reason });
            if is_comment(stripped) {
                continue;
            }
            if stripped.is_empty() {
                if open && let Some(setting) = at.and_then(|at| ini.sections[at].settings.last_mut()) {
                    setting.value.push('\n');
                }
                continue;
            }
            let depth = text[ini.lines[number].start..range.start].chars().count();
            if open
                && depth > indent
                && let Some(setting) = at.and_then(|at| ini.sections[at].settings.last_mut())
            {
                setting.value.push('\n');
                setting.value.push_str(stripped);
                setting.pieces.push(Piece { line: number, range });
                setting.lines.end = number + 1;
                continue;
            }
            indent = depth;
            if let Some(name) = section_name(stripped) {
                open = false;
                // Only these add up; looking for every name in every section would take squared time.
                let known = match name {
                    "DEFAULT" => ini.sections.iter().position(|section| section.name == name),
                    _ => None,
                };
                if known.is_none() && !names.insert(name.to_owned()) {
                    return refuse(Reason::SectionTwice);
                }
                at = Some(known.unwrap_or(ini.sections.len()));
                match known {
                    Some(known) => ini.sections[known].header = number,
                    None => ini.sections.push(Section { name: name.to_owned(), header: number, settings: Vec::new() }),
                }
                continue;
            }
            let Some(section) = at else { return refuse(Reason::NoSection) };
            let Some(delimiter) = stripped.find(['=', ':']) else { return refuse(Reason::NoDelimiter) };
            let key = stripped[..delimiter].trim_end_matches(is_space).to_lowercase();
            if key.is_empty() {
                return refuse(Reason::NoName);
            }
            if !keys.insert((section, key.clone())) {
                return refuse(Reason::OptionTwice);
            }
            let value = stripped[delimiter + 1..].trim_start_matches(is_space);
            let piece = Piece { line: number, range: range.end - value.len()..range.end };
            let setting = Setting { key, lines: number..number + 1, pieces: vec![piece], value: value.to_owned() };
            ini.sections[section].settings.push(setting);
            open = true;
        }
        for setting in ini.sections.iter_mut().flat_map(|section| &mut section.settings) {
            setting.value.truncate(setting.value.trim_end_matches(is_space).len());
        }
        Ok(ini)
    }

    /// Lists the sections in order.
    pub fn sections(&self) -> &[Section] {
        &self.sections
    }

    /// Finds a section by its exact name.
    pub fn section(&self, name: &str) -> Option<&Section> {
        self.sections.iter().find(|section| section.name == name)
    }

    /// Finds a setting that stands in this very section; the option in lower case.
    pub fn setting(&self, section: &str, key: &str) -> Option<&Setting> {
        self.section(section)?.settings.iter().find(|setting| setting.key == key)
    }

    /// Returns the words of a value, each with its place.
    pub fn items(&self, setting: &Setting) -> Vec<(&'t str, Piece)> {
        let mut items = Vec::new();
        for piece in &setting.pieces {
            let text = &self.text[piece.range.clone()];
            for word in text.split(is_space).filter(|word| !word.is_empty()) {
                let start = piece.range.start + (word.as_ptr() as usize - text.as_ptr() as usize);
                items.push((word, Piece { line: piece.line, range: start..start + word.len() }));
            }
        }
        items
    }

    pub(super) fn text(&self) -> &'t str {
        self.text
    }

    pub(super) fn lines(&self) -> &[Line] {
        &self.lines
    }

    /// The bytes of a line without the blanks around it.
    pub(super) fn stripped(&self, number: usize) -> Range<usize> {
        let line = self.lines[number];
        let text = &self.text[line.start..line.end];
        let end = line.start + text.trim_end_matches(is_space).len();
        let start = line.start + (text.len() - text.trim_start_matches(is_space).len());
        start.min(end)..end
    }
}

impl Setting {
    /// The 1-based line that the option stands in.
    pub fn line(&self) -> usize {
        self.lines.start + 1
    }
}

pub(super) fn is_comment(stripped: &str) -> bool {
    stripped.starts_with(['#', ';'])
}

/// Takes the name of `[name]`, up to the last bracket of the line, as Python 3.9 and later do.
fn section_name(stripped: &str) -> Option<&str> {
    let rest = stripped.strip_prefix('[')?;
    let name = &rest[..rest.rfind(']')?];
    (!name.is_empty()).then_some(name)
}

/// Splits as Python's text files do: at `\n`, `\r\n` and a lone `\r`.
fn split(text: &str) -> Vec<Line> {
    let bytes = text.as_bytes();
    let mut lines = Vec::new();
    let mut start = 0;
    while start < bytes.len() {
        let end = memchr::memchr2(b'\n', b'\r', &bytes[start..]).map_or(bytes.len(), |at| start + at);
        let next = match &bytes[end..] {
            [] => end,
            [b'\r', b'\n', ..] => end + 2,
            _ => end + 1,
        };
        lines.push(Line { start, end, next });
        start = next;
    }
    lines
}
