//! Logs: decoding, taking away what tools and CI systems put around a message, and one pass for all signatures.
//!
//! In reading order: [`literals`] finds what must stand in a text that a signature matches, `grams` finds that in a
//! log, `breaks` where something cut it, `hidden` where colours or JSON hide it, `scanner` drives the pass over what
//! `blocks` holds, `window` runs the signature's expression around a find on lines that `normalise` cleaned, `speakers`
//! tells apart what several programs wrote, line by line, `unfold` rejoins logs that were cut at one column, to be searched beside, `telling` picks lines for failures that nothing
//! matches. A log is never trusted: time is linear in its size, memory bounded whatever it holds.
//!
//! A signature is matched against normalised lines joined by line breaks: no escape sequences, no overwritten
//! progress, no prefixes of launchers and CI systems, no blanks at either end. Letter case does not matter, classes
//! are ASCII, `^` and `$` match at lines, a space matches blanks and line breaks.

mod blocks;
mod breaks;
mod decode;
mod grams;
mod hidden;
#[cfg(test)]
mod hostile_tests;
mod kept;
#[cfg(test)]
mod laws;
pub mod literals;
mod normalise;
mod pattern;
mod prefixes;
mod scanner;
mod speakers;
mod telling;
mod unfold;
mod window;
mod work;

use std::collections::BTreeMap;

pub use literals::{AnchorError, anchors, expand_spaces};
pub use pattern::{PatternError, check_pattern};
pub use scanner::{Scanner, Session};
pub use speakers::Speaker;

/// One alternative of a signature, as the scanner takes it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Pattern {
    /// The regular expression as the recipe has it; a space matches a line break and its indentation.
    pub regex: String,
    /// One of these stands in every text that matches: what [`anchors`] returns for it.
    pub anchors: Vec<String>,
    /// Lines that a match may span. With a space in the expression at least 8: a sentence may be wrapped, with empty
    /// lines around a name. At most 64.
    pub lines: u32,
}

/// What one log shows.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct LogScan {
    /// Name of the file, `-` for standard input, or the stream of a command.
    pub source: String,
    /// Matches in order of appearance; of each pattern the first 32 and the last 32.
    pub hits: Vec<Hit>,
    /// How often each pattern matched, by its index, kept in `hits` or not; patterns that did not are absent.
    pub totals: BTreeMap<usize, u64>,
    /// The lines that look most like a first error, in order of appearance, at most 20.
    pub telling: Vec<LogLine>,
    /// The last lines, at most 40.
    pub tail: Vec<LogLine>,
    /// Lines read.
    pub lines: u64,
    /// Bytes read.
    pub bytes: u64,
}

/// A match.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Hit {
    /// Index of the pattern.
    pub pattern: usize,
    /// 1-based lines of the original, split at LF.
    pub first_line: u64,
    pub last_line: u64,
    /// The lines as they stand, decoded, bounded.
    pub text: String,
    /// Which of several programs wrote it, as far as its lines say so.
    pub program: Speaker,
    /// How many programs wrote by turns around it, at least 1.
    pub programs: u32,
    /// Named groups, wrapped text rejoined by single spaces.
    pub captures: BTreeMap<String, Vec<String>>,
}

/// A line of a log.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct LogLine {
    /// 1-based.
    pub number: u64,
    pub text: String,
}
