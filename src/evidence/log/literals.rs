//! Anchors: literals of a signature, one of which stands in every text that it matches.
//!
//! The scanner looks for anchors only and runs a regular expression where one was found, so an anchor that can be
//! missing costs a diagnosis. What is guaranteed of [`anchors`]: every text that the signature matches holds one of
//! the returned literals, letter case aside,
//!
//! - whatever happens at the signature's spaces, when the literals hold no space;
//! - as long as at most one space inside the anchor phrase stands for a line break, indentation or several blanks,
//!   when they hold one. CMake wraps at 77 columns, pip and others wrap somewhere; so a phrase is cut at a space near
//!   its middle into two literals of at most 24 bytes each, one of which a single break leaves whole. A phrase never
//!   goes over the end of a sentence, where CMake prints two blanks.
//!
//! The build script includes this file: it must use nothing but `std` and `regex-syntax`.

use std::fmt;

use regex_syntax::ParserBuilder;
use regex_syntax::hir::{Class, Hir, HirKind};

/// What an anchor should have; the scanner looks at fewer places the longer the shortest anchor is.
pub const GOOD_BYTES: usize = 12;
/// What an anchor must have. Only a run without spaces may be this short.
pub const LEAST_BYTES: usize = 8;
/// Longer pieces would tell no more and could be broken more often.
const PIECE_BYTES: usize = 24;
/// The most alternatives that are told apart.
const MOST_LITERALS: usize = 48;

/// Why a signature has no anchors.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum AnchorError {
    /// The text is no regular expression.
    Syntax { message: String },
    /// No literal is long enough; `best` is the longest one there is.
    NoAnchor { best: String },
}

impl fmt::Display for AnchorError {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Syntax { message } => write!(formatter, "not a regular expression: {message}"),
            Self::NoAnchor { best } => write!(
                formatter,
                "no usable anchor (longest literal: `{best}`): each alternative needs {LEAST_BYTES} literal bytes \
                 without a space, or a phrase with a space that has {GOOD_BYTES} bytes on either side"
            ),
        }
    }
}

impl std::error::Error for AnchorError {}

/// Finds literals of which every text that matches `regex` holds one.
pub fn anchors(regex: &str) -> Result<Vec<String>, AnchorError> {
    let hir = ParserBuilder::new()
        .utf8(false)
        .unicode(false)
        .build()
        .parse(regex)
        .map_err(|error| AnchorError::Syntax { message: last_line(&error.to_string()) })?;
    let mut search = Search { longest: String::new() };
    match search.required(&hir) {
        Some(choice) => Ok(choice.pieces),
        None => Err(AnchorError::NoAnchor { best: search.longest }),
    }
}

/// The parser draws the place over several lines; the last one is the message.
fn last_line(message: &str) -> String {
    message.lines().last().unwrap_or_default().trim_start_matches("error: ").to_owned()
}

/// An any-of set and how good it is.
#[derive(Clone)]
struct Choice {
    quality: Quality,
    pieces: Vec<String>,
}

/// Compared field by field, in this order.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
struct Quality {
    /// At least [`GOOD_BYTES`].
    long: bool,
    /// Free of what writers of JSON escape.
    plain: bool,
    /// Free of spaces: no line break can cut it.
    unbroken: bool,
    /// Of the shortest piece.
    bytes: usize,
}

type Set = Vec<Vec<u8>>;

/// Walks an expression; remembers the longest literal for the error message.
struct Search {
    longest: String,
}

impl Search {
    /// Finds the best set of which each match holds one.
    fn required(&mut self, hir: &Hir) -> Option<Choice> {
        if let Some(set) = exact(hir) {
            return self.choose(&set);
        }
        match hir.kind() {
            HirKind::Capture(capture) => self.required(&capture.sub),
            HirKind::Repetition(repetition) if repetition.min > 0 => self.required(&repetition.sub),
            HirKind::Alternation(branches) => {
                let mut all: Option<Choice> = None;
                for branch in branches {
                    let choice = self.required(branch)?;
                    all = Some(match all {
                        None => choice,
                        Some(before) => join(before, choice)?,
                    });
                }
                all
            }
            HirKind::Concat(parts) => self.of_sequence(parts),
            HirKind::Empty | HirKind::Literal(_) | HirKind::Class(_) | HirKind::Look(_) | HirKind::Repetition(_) => {
                None
            }
        }
    }

    /// Neighbours that are known exactly are taken together; the best stretch wins.
    fn of_sequence(&mut self, parts: &[Hir]) -> Option<Choice> {
        let mut best: Option<Choice> = None;
        let mut stretch: Set = vec![Vec::new()];
        for part in parts {
            let longer = exact(part).and_then(|set| cross(&stretch, &set));
            if let Some(longer) = longer {
                // Taken before it branches as well: fewer literals may be as good.
                if longer.len() > stretch.len() {
                    better(&mut best, self.choose(&stretch));
                }
                stretch = longer;
                continue;
            }
            better(&mut best, self.choose(&stretch));
            stretch = match exact(part) {
                Some(set) => set,
                None => {
                    better(&mut best, self.required(part));
                    vec![Vec::new()]
                }
            };
        }
        better(&mut best, self.choose(&stretch));
        best
    }

    /// Cuts each literal of a set into anchors; none when one of them gives none.
    fn choose(&mut self, set: &[Vec<u8>]) -> Option<Choice> {
        let mut all: Option<Choice> = None;
        for literal in set {
            let literal = String::from_utf8_lossy(literal);
            if literal.len() > self.longest.len() {
                self.longest = literal.trim().to_owned();
            }
            let choice = cut(&literal)?;
            all = Some(match all {
                None => choice,
                Some(before) => join(before, choice)?,
            });
        }
        all
    }
}

/// Keeps the better of two; the earlier and smaller one when they are equal.
fn better(best: &mut Option<Choice>, other: Option<Choice>) {
    let Some(other) = other else { return };
    let wins = match best {
        None => true,
        Some(best) => (other.quality, usize::MAX - other.pieces.len()) > (best.quality, usize::MAX - best.pieces.len()),
    };
    if wins {
        *best = Some(other);
    }
}

/// Any of either set; as good as the worse one.
fn join(mut left: Choice, right: Choice) -> Option<Choice> {
    for piece in right.pieces {
        if !left.pieces.iter().any(|known| known.eq_ignore_ascii_case(&piece)) {
            left.pieces.push(piece);
        }
    }
    left.quality = left.quality.min(right.quality);
    (left.pieces.len() <= MOST_LITERALS).then_some(left)
}

/// Returns all texts that `hir` matches, where they are few; letter case is not told apart.
fn exact(hir: &Hir) -> Option<Set> {
    match hir.kind() {
        HirKind::Empty | HirKind::Look(_) => Some(vec![Vec::new()]),
        HirKind::Literal(literal) => Some(vec![literal.0.to_vec()]),
        HirKind::Capture(capture) => exact(&capture.sub),
        HirKind::Class(class) => members(class),
        HirKind::Repetition(repetition) if repetition.min == 0 && repetition.max == Some(1) => {
            let mut set = exact(&repetition.sub)?;
            set.push(Vec::new());
            Some(set)
        }
        HirKind::Repetition(_) => None,
        HirKind::Alternation(branches) => {
            let mut set = Vec::new();
            for branch in branches {
                set.extend(exact(branch)?);
                if set.len() > MOST_LITERALS {
                    return None;
                }
            }
            Some(set)
        }
        HirKind::Concat(parts) => {
            let mut set = vec![Vec::new()];
            for part in parts {
                set = cross(&set, &exact(part)?)?;
            }
            Some(set)
        }
    }
}

/// Lists a class of up to four members.
fn members(class: &Class) -> Option<Set> {
    const MOST: usize = 8;
    let mut set: Set = Vec::new();
    let mut add = |member: Vec<u8>| {
        if !set.contains(&member) {
            set.push(member);
        }
        set.len()
    };
    match class {
        Class::Bytes(class) => {
            for range in class.ranges() {
                for byte in range.start()..=range.end() {
                    if add(vec![byte.to_ascii_lowercase()]) > MOST {
                        return None;
                    }
                }
            }
        }
        Class::Unicode(class) => {
            for range in class.ranges() {
                for character in range.start()..=range.end() {
                    if add(character.to_ascii_lowercase().to_string().into_bytes()) > MOST {
                        return None;
                    }
                }
            }
        }
    }
    // An empty class matches nothing at all; saying "no literal" is on the safe side.
    (!set.is_empty() && set.len() <= 4).then_some(set)
}

fn cross(left: &[Vec<u8>], right: &[Vec<u8>]) -> Option<Set> {
    if left.len() * right.len() > MOST_LITERALS {
        return None;
    }
    let pairs = left.iter().flat_map(|first| right.iter().map(move |second| [&first[..], &second[..]].concat()));
    Some(pairs.collect())
}

/// Takes the best anchor out of one literal: a run without spaces, or two halves of a phrase.
fn cut(literal: &str) -> Option<Choice> {
    let mut best = None;
    for phrase in phrases(literal) {
        for plain in phrase.split(|character: char| !survives_json(character)) {
            better(&mut best, cut_phrase(plain, true));
        }
        better(&mut best, cut_phrase(phrase, false));
    }
    best
}

/// What a JSON writer may print otherwise (`\"`, `\u003c`, `\u9519`).
fn survives_json(character: char) -> bool {
    character.is_ascii() && !matches!(character, '"' | '\\' | '<' | '>' | '&')
}

/// Splits where no anchor may go over: control characters, bytes that are no text, the end of a sentence, and
/// several spaces, which a signature takes as one.
fn phrases(literal: &str) -> Vec<&str> {
    let mut phrases = Vec::new();
    for part in literal.split(|character: char| character.is_control() || character == '\u{fffd}') {
        for part in part.split("  ") {
            let mut rest = part;
            while let Some(end) = [". ", "! ", "? "].iter().filter_map(|stop| rest.find(stop)).min() {
                phrases.push(&rest[..=end]);
                rest = &rest[end + 2..];
            }
            phrases.push(rest);
        }
    }
    phrases
}

fn cut_phrase(phrase: &str, plain: bool) -> Option<Choice> {
    let phrase = phrase.trim_matches(' ');
    let mut best = None;
    for run in phrase.split(' ').filter(|run| run.len() >= LEAST_BYTES) {
        let piece = first_bytes(run, PIECE_BYTES);
        let quality = Quality { long: piece.len() >= GOOD_BYTES, plain, unbroken: true, bytes: piece.len() };
        better(&mut best, Some(Choice { quality, pieces: vec![piece.to_owned()] }));
    }
    for (space, _) in phrase.match_indices(' ') {
        let (left, right) = (last_bytes(&phrase[..space], PIECE_BYTES), first_bytes(&phrase[space + 1..], PIECE_BYTES));
        let bytes = left.len().min(right.len());
        if bytes >= GOOD_BYTES {
            let quality = Quality { long: true, plain, unbroken: false, bytes };
            better(&mut best, Some(Choice { quality, pieces: vec![left.to_owned(), right.to_owned()] }));
        }
    }
    best
}

fn first_bytes(text: &str, most: usize) -> &str {
    text[..text.floor_char_boundary(most.min(text.len()))].trim_end()
}

fn last_bytes(text: &str, most: usize) -> &str {
    text[text.ceil_char_boundary(text.len().saturating_sub(most))..].trim_start()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn anchors_of_signatures() {
        let table: &[(&str, &[&str])] = &[
            (
                r"The following imported targets are referenced, but are missing: (?P<missing_targets>[\w: -]+)",
                &["llowing imported targets", "are referenced, but are"],
            ),
            (
                "is not a full path and was not found in the PATH",
                &["is not a full path and", "was not found in the PATH"],
            ),
            (
                r"ld\.lld: error: unable to find library -l(?P<missing_library>[\w.+-]+)",
                &["ld.lld: error: unable", "to find library -l"],
            ),
            (r"/bin/sh: (?:1: |line 1: )?(?P<missing_tool>\S+): not found", &["/bin/sh:"]),
            ("Does not match the generator used previously", &["Does not match the", "generator used previously"]),
            (r"No CMAKE_(?:C|CXX)_COMPILER could be found", &["CMAKE_C_COMPILER", "CMAKE_CXX_COMPILER"]),
            (r"^(?P<package>LLVMCGData)$", &["LLVMCGData"]),
            (r"(?i)eaddrinuse_here", &["eaddrinuse_here"]),
            (r"package \x22LLD\x22 is considered to be NOT FOUND", &["is considered", "to be NOT FOUND"]),
            ("找不到编译器错误", &["找不到编译器错误"]),
            (r"(?:first_alternative|second_alternative): \d+", &["first_alternative:", "second_alternative:"]),
        ];
        for (regex, expected) in table {
            assert_eq!(anchors(regex).unwrap(), *expected, "{regex}");
        }
    }

    #[test]
    fn no_anchor() {
        for regex in [
            "error",
            r"\w+",
            "a (?:long enough literal here|x)",
            "not found",
            "foo  bar  foo  bar",
            "(?:something_long)?",
        ] {
            let error = anchors(regex).unwrap_err();
            assert!(matches!(error, AnchorError::NoAnchor { .. }), "{regex}");
            assert!(error.to_string().contains("8 literal bytes"), "{error}");
        }
        assert!(matches!(anchors("(oops"), Err(AnchorError::Syntax { message }) if message == "unclosed group"));
    }

    /// One break anywhere in a phrase leaves one of its anchors whole.
    #[test]
    fn one_break_leaves_an_anchor() {
        for text in [
            "The following imported targets are referenced, but are missing: LLVMCGData",
            "is not a full path and was not found in the PATH",
            "Does not match the generator used previously",
            "has no member that could be found here. Reason given by package",
        ] {
            let found = anchors(&regex_syntax::escape(text)).unwrap();
            for (space, _) in text.match_indices(' ') {
                let broken = format!("{}\n\n  {}", &text[..space], &text[space + 1..]);
                assert!(found.iter().any(|anchor| broken.contains(anchor)), "{broken:?} {found:?}");
            }
        }
    }
}
