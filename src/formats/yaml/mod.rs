//! YAML configuration (`.condarc`, `environment.yml`): reads lists and texts with their lines, takes entries and keys
//! out, adds a list, and keeps every other byte: comments, quotes, order, indentation, line ends, BOM.
//!
//! A parser of others finds the places, and only bytes are cut here. What cannot be done safely is refused with line
//! and reason. Each edit is parsed again and compared with the same edit of the parsed tree: a text that does not say
//! exactly what it should is never returned.

mod edits;
mod refusal;
mod tree;

use std::ops::Range;

pub use refusal::{Reason, Refusal};
use tree::{Kind, Node};

/// A larger file is no configuration.
pub const LARGEST: usize = 1 << 20;

/// A configuration file, parsed: one mapping.
#[derive(Debug, Clone)]
pub struct Yaml<'a> {
    text: &'a str,
    root: Option<Node>,
}

/// A text in the file.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Entry {
    pub text: String,
    /// 1-based.
    pub line: u32,
    /// 1-based, in characters.
    pub column: u32,
}

/// A list of texts under a key.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct List {
    pub entries: Vec<Entry>,
    /// Line of the key.
    pub line: u32,
    /// What the comment on the key's own line says, without `#`.
    pub comment: String,
}

impl<'a> Yaml<'a> {
    /// Parses a file. An empty one has no keys.
    pub fn parse(bytes: &'a [u8]) -> Result<Self, Refusal> {
        if bytes.len() > LARGEST {
            return Err(Refusal::new(1, Reason::TooLarge));
        }
        let text = std::str::from_utf8(bytes).map_err(|error| {
            let line = bytes[..error.valid_up_to()].iter().filter(|byte| **byte == b'\n').count() + 1;
            Refusal::at(line, Reason::NotUtf8)
        })?;
        let root = tree::parse(text)?;
        if let Some(root) = &root {
            match root.kind {
                Kind::Mapping(_) => {}
                Kind::Scalar | Kind::Sequence(_) | Kind::Alias => {
                    return Err(Refusal::new(root.line, Reason::NoMapping));
                }
            }
        }
        Ok(Self { text, root })
    }

    /// Lists the keys of the mapping at `path`, in order; empty where there is none.
    pub fn keys(&self, path: &[&str]) -> Vec<String> {
        match self.node(path).map(|node| &node.kind) {
            Some(Kind::Mapping(pairs)) => pairs.iter().map(|(key, _)| key.text.clone()).collect(),
            Some(Kind::Scalar | Kind::Sequence(_) | Kind::Alias) | None => Vec::new(),
        }
    }

    /// Returns the text at `path`, where there is one.
    pub fn text(&self, path: &[&str]) -> Option<Entry> {
        self.node(path).filter(|node| matches!(node.kind, Kind::Scalar)).map(Node::entry)
    }

    /// Returns the list of texts at `path`; `None` where the key is absent or has no value.
    pub fn list(&self, path: &[&str]) -> Result<Option<List>, Refusal> {
        let Some((key, value)) = self.pair(path) else { return Ok(None) };
        let items = match &value.kind {
            Kind::Sequence(items) => items,
            Kind::Scalar if value.is_null() => return Ok(None),
            Kind::Scalar | Kind::Mapping(_) => return Err(Refusal::new(value.line, Reason::NoList)),
            Kind::Alias => return Err(Refusal::new(value.line, Reason::Anchor)),
        };
        let mut entries = Vec::new();
        for item in items {
            match item.kind {
                Kind::Scalar => entries.push(item.entry()),
                Kind::Alias => return Err(Refusal::new(item.line, Reason::Anchor)),
                Kind::Sequence(_) | Kind::Mapping(_) => return Err(Refusal::new(item.line, Reason::NoText)),
            }
        }
        let rest = &self.text[key.span.end..line_end(self.text, key.span.end)];
        let comment = rest.split_once('#').map(|(_, comment)| comment.trim().to_owned()).unwrap_or_default();
        Ok(Some(List { entries, line: key.line, comment }))
    }

    /// Says whether a `<<` brings in keys from elsewhere; returns its line.
    pub fn merge_key(&self) -> Option<u32> {
        let Some(Kind::Mapping(pairs)) = self.root.as_ref().map(|root| &root.kind) else { return None };
        pairs.iter().find(|(key, _)| key.text == "<<").map(|(key, _)| key.line)
    }

    /// Returns the file without the entries of the list at `path` that `goes` picks. At least one entry must stay:
    /// a list without entries is another setting than no list.
    pub fn without_entries(&self, path: &[&str], goes: &dyn Fn(&str) -> bool) -> Result<Vec<u8>, Refusal> {
        edits::without_entries(self, path, goes)
    }

    /// Returns the file without the key at `path` and its value.
    pub fn without_key(&self, path: &[&str]) -> Result<Vec<u8>, Refusal> {
        edits::without_key(self, path)
    }

    /// Returns the file with a list under a key that it does not have yet.
    pub fn with_list(&self, key: &str, entries: &[String]) -> Result<Vec<u8>, Refusal> {
        edits::with_list(self, key, entries)
    }

    fn node(&self, path: &[&str]) -> Option<&Node> {
        match path {
            [] => self.root.as_ref(),
            _ => self.pair(path).map(|(_, value)| value),
        }
    }

    fn pair(&self, path: &[&str]) -> Option<(&Node, &Node)> {
        let (name, above) = path.split_last()?;
        match &self.node(above)?.kind {
            Kind::Mapping(pairs) => pairs.iter().find(|(key, _)| key.text == *name).map(|(key, value)| (key, value)),
            Kind::Scalar | Kind::Sequence(_) | Kind::Alias => None,
        }
    }
}

/// Where the line that holds `at` begins.
fn line_start(text: &str, at: usize) -> usize {
    text[..at].rfind('\n').map_or(0, |end| end + 1)
}

/// Where the line that holds `at` ends, before its line break.
fn line_end(text: &str, at: usize) -> usize {
    let end = text[at..].find('\n').map_or(text.len(), |length| at + length);
    if text[at..end].ends_with('\r') { end - 1 } else { end }
}

/// The line break at `at`, if there is one.
fn line_break(text: &str, at: usize) -> Range<usize> {
    let length = ["\r\n", "\n"].iter().find(|end| text[at..].starts_with(**end)).map_or(0, |end| end.len());
    at..at + length
}
