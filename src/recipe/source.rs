//! A recipe file's text, where its values stand, and the mistakes found in it.

use std::cell::{Cell, RefCell};
use std::collections::BTreeMap;
use std::fmt;
use std::ops::Range;

/// A file with more mistakes than this is no recipe; finding line numbers for them all would take long.
const MOST_ERRORS: usize = 100;

/// A mistake in a recipe file.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub struct RecipeError {
    pub file: String,
    /// 1-based.
    pub line: usize,
    /// 1-based, in characters.
    pub column: usize,
    pub message: String,
    pub hint: String,
}

impl fmt::Display for RecipeError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}:{}:{}: {}", self.file, self.line, self.column, self.message)
    }
}

impl std::error::Error for RecipeError {}

/// A recipe file's text: where its values stand, and what is wrong with it.
#[derive(Debug)]
pub struct Source<'t> {
    file: &'t str,
    text: &'t str,
    errors: RefCell<Vec<RecipeError>>,
    /// Where a value stands, by its path: `case[2].says.en`.
    places: RefCell<BTreeMap<String, Range<usize>>>,
    incomplete: Cell<bool>,
}

impl<'t> Source<'t> {
    /// Takes a file's name, as messages show it, and its text.
    pub fn new(file: &'t str, text: &'t str) -> Self {
        Self { file, text, errors: RefCell::default(), places: RefCell::default(), incomplete: Cell::new(false) }
    }

    /// The file's name.
    pub fn file(&self) -> &'t str {
        self.file
    }

    /// The file's text.
    pub fn text(&self) -> &'t str {
        self.text
    }

    /// Notes a mistake at a byte.
    pub fn complain_at(&self, at: usize, message: impl Into<String>, hint: impl Into<String>) {
        let mut errors = self.errors.borrow_mut();
        if errors.len() < MOST_ERRORS {
            errors.push(self.error_at(at, message.into(), hint.into()));
        }
    }

    /// Notes a mistake in the value at `path`.
    pub fn complain(&self, path: &str, message: impl Into<String>, hint: impl Into<String>) {
        self.complain_at(self.place(path).start, message, hint);
    }

    /// Notes a mistake in the string at `path`, where `part` first stands in it as written.
    pub fn complain_about(&self, path: &str, part: &str, message: impl Into<String>, hint: impl Into<String>) {
        let place = self.place(path);
        let offset = self.text.get(place.clone()).and_then(|raw| raw.find(part)).unwrap_or(0);
        self.complain_at(place.start + offset, message, hint);
    }

    /// Notes a mistake at a byte of the string at `path`; with escapes before it, at the string.
    pub fn complain_inside(&self, path: &str, byte: usize, message: impl Into<String>, hint: impl Into<String>) {
        let place = self.place(path);
        let raw = self.text.get(place.clone()).unwrap_or_default();
        let start = content_start(raw);
        let direct = raw.starts_with('\'') || !raw.get(..start + byte).unwrap_or(raw).contains('\\');
        let offset = if direct && raw.is_char_boundary(start + byte) { start + byte } else { 0 };
        self.complain_at(place.start + offset, message, hint);
    }

    /// Makes an error for the value at `path` that is not kept with the file's own.
    pub fn error(&self, path: &str, message: impl Into<String>, hint: impl Into<String>) -> RecipeError {
        self.error_at(self.place(path).start, message.into(), hint.into())
    }

    /// Where the value at `path` stands; the nearest table around it when it is absent.
    pub fn place(&self, path: &str) -> Range<usize> {
        let places = self.places.borrow();
        let mut path = path;
        loop {
            if let Some(place) = places.get(path) {
                return place.clone();
            }
            let Some(cut) = path.rfind(['.', '[']) else { return 0..0 };
            path = &path[..cut];
        }
    }

    /// Where the value at `path` itself stands.
    pub fn exact_place(&self, path: &str) -> Option<Range<usize>> {
        self.places.borrow().get(path).cloned()
    }

    /// Lists the paths of all values, sorted.
    pub fn paths(&self) -> Vec<String> {
        self.places.borrow().keys().cloned().collect()
    }

    /// The file's text at a place.
    pub fn slice(&self, place: Range<usize>) -> &'t str {
        self.text.get(place).unwrap_or_default()
    }

    /// Says whether nothing was missing or of a wrong type, so that what was read can be looked into.
    pub fn is_complete(&self) -> bool {
        !self.incomplete.get()
    }

    /// Takes out all mistakes, in the order of the file.
    pub fn take_errors(&self) -> Vec<RecipeError> {
        let mut errors = std::mem::take(&mut *self.errors.borrow_mut());
        errors.sort();
        errors.dedup();
        errors
    }

    fn error_at(&self, at: usize, message: String, hint: String) -> RecipeError {
        let mut at = at.min(self.text.len());
        while !self.text.is_char_boundary(at) {
            at -= 1;
        }
        let before = &self.text[..at];
        let line_start = before.rfind('\n').map_or(0, |newline| newline + 1);
        RecipeError {
            file: self.file.to_owned(),
            line: before.matches('\n').count() + 1,
            column: before[line_start..].chars().count() + 1,
            message,
            hint,
        }
    }

    /// Notes a mistake that leaves the recipe incomplete.
    pub fn fail(&self, at: usize, message: impl Into<String>, hint: impl Into<String>) {
        self.incomplete.set(true);
        self.complain_at(at, message, hint);
    }

    /// Remembers where a value stands.
    pub fn remember(&self, path: String, place: Range<usize>) {
        self.places.borrow_mut().insert(path, place);
    }
}

/// The length of a TOML string's opening quotes; TOML drops a line break right after three.
fn content_start(raw: &str) -> usize {
    for quotes in ["'''", "\"\"\""] {
        if let Some(rest) = raw.strip_prefix(quotes) {
            let newline = if rest.starts_with("\r\n") { 2 } else { usize::from(rest.starts_with('\n')) };
            return 3 + newline;
        }
    }
    usize::from(raw.starts_with(['\'', '"']))
}
