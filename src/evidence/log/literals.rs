//! Anchors: literals of a signature, one of which stands in every text that it matches.
//!
//! The scanner looks for anchors only and runs a regular expression where one was found, so an anchor that can be
//! missing costs a diagnosis. What is guaranteed of [`anchors`]: every normalised text that the signature matches holds
//! one of the returned literals, letter case aside, where each space of a literal may be what a space of a signature
//! matches: a line break, several blanks. `breaks` finds literals that something cut so; a phrase never goes over the end
//! of a sentence, where CMake prints two blanks.
//!
//! A space that no tool breaks is written `\ `: it is as good as a letter.
//!
//! The build script includes this file: it must use nothing but `std` and `regex-syntax`.

use std::fmt;

use regex_syntax::ParserBuilder;
use regex_syntax::hir::{Class, Hir, HirKind, Repetition};

/// What an anchor should have, and must have with spaces: `not found` is everywhere. The scanner looks at fewer places the
/// longer the shortest anchor is.
pub const GOOD_BYTES: usize = 11;
/// What an anchor must have; for those under [`GOOD_BYTES`] the scanner would go over each log a second time.
pub const LEAST_BYTES: usize = 8;
/// From here on ordinary text hardly ever holds an anchor.
const TELLING_BYTES: usize = 16;
/// What a space of a signature matches: blanks, a line break with its indentation, empty lines.
const BLANK: &str = r"[ \t\r\n]+";
/// Stands for [`BLANK`] in literals. A signature that means this control character itself has no anchor there.
const BREAK: char = '\u{1f}';
/// Longer pieces would tell no more and could be broken more often.
const PIECE_BYTES: usize = 28;
/// From here on whole words are worth more than more bytes.
const WORDS_BYTES: usize = 16;
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
                "no usable anchor (longest literal: `{best}`): every alternative needs {LEAST_BYTES} literal bytes \
                 without a space, or {GOOD_BYTES} with spaces (better {TELLING_BYTES}), not just a word of every log"
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
        .parse(&expand_spaces(regex))
        .map_err(|error| AnchorError::Syntax { message: last_line(&error.to_string()) })?;
    let mut search = Search { longest: String::new() };
    match search.required(&hir) {
        Some(choice) => Ok(choice.pieces),
        None => Err(AnchorError::NoAnchor { best: search.longest }),
    }
}

/// Replaces each literal space by what tools may print instead of it: blanks, a line break and its indentation,
/// empty lines. Several spaces count as one. A space in a class (`[ ]`) or after a backslash stays a space.
pub fn expand_spaces(regex: &str) -> String {
    let mut expanded = String::with_capacity(regex.len() * 2);
    let mut depth = 0usize;
    let mut characters = regex.chars().peekable();
    while let Some(character) = characters.next() {
        match character {
            '\\' => {
                expanded.push(character);
                expanded.extend(characters.next());
            }
            '[' => {
                depth += 1;
                expanded.push(character);
                // A `]` right after `[` or `[^` is a member.
                expanded.extend(characters.next_if_eq(&'^'));
                expanded.extend(characters.next_if_eq(&']'));
            }
            ']' => {
                depth = depth.saturating_sub(1);
                expanded.push(character);
            }
            ' ' if depth == 0 => {
                let mut more = false;
                while characters.next_if_eq(&' ').is_some() {
                    more = true;
                }
                if !matches!(characters.peek(), Some('?' | '*' | '+' | '{')) {
                    expanded.push_str(BLANK);
                    continue;
                }
                if more {
                    expanded.push_str(BLANK);
                }
                expanded.extend(["(?:", BLANK, ")"]);
            }
            other => expanded.push(other),
        }
    }
    expanded
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
    /// At least [`TELLING_BYTES`].
    telling: bool,
    /// Free of what writers of JSON escape.
    plain: bool,
    /// Free of spaces: no line break can cut it.
    unbroken: bool,
    /// Begins with a word: at lines that end with less, the next one would have to be looked at too often.
    worded: bool,
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
        let mut flat = Vec::new();
        flatten(parts, &mut flat);
        for part in flat {
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
                self.longest = literal.replace(BREAK, " ").trim().to_owned();
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

/// A group's parts are neighbours of what stands around it.
fn flatten<'a>(parts: &'a [Hir], out: &mut Vec<&'a Hir>) {
    for part in parts {
        match part.kind() {
            HirKind::Concat(parts) => flatten(parts, out),
            HirKind::Capture(capture) => flatten(std::slice::from_ref(&capture.sub), out),
            _ => out.push(part),
        }
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
        // What stands for a space must not come from the signature itself.
        HirKind::Literal(literal) => {
            Some(vec![literal.0.iter().map(|byte| if *byte == BREAK as u8 { 0 } else { *byte }).collect()])
        }
        HirKind::Capture(capture) => exact(&capture.sub),
        HirKind::Class(class) => members(class),
        HirKind::Repetition(repetition) if repetition.min == 0 && repetition.max == Some(1) => {
            let mut set = exact(&repetition.sub)?;
            set.push(Vec::new());
            Some(set)
        }
        HirKind::Repetition(repetition) if is_blank(repetition) => Some(vec![vec![BREAK as u8]]),
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

/// Recognises what [`expand_spaces`] puts for a space.
fn is_blank(repetition: &Repetition) -> bool {
    let HirKind::Class(Class::Bytes(class)) = repetition.sub.kind() else { return false };
    let ranges = class.ranges().iter().map(|range| (range.start(), range.end()));
    repetition.min == 1 && repetition.max.is_none() && ranges.eq([(b'\t', b'\n'), (b'\r', b'\r'), (b' ', b' ')])
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

/// Takes the best anchor out of one literal: a run without spaces, or whole words of a phrase.
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

/// Splits where no anchor may go over: control characters, bytes that are no text, the end of a sentence.
fn phrases(literal: &str) -> Vec<&str> {
    let mut phrases = Vec::new();
    let ends = |character: char| (character.is_control() && character != BREAK) || character == '\u{fffd}';
    for part in literal.split(ends) {
        let mut rest = part;
        let mut from = 0;
        while let Some(at) = rest[from..].find(BREAK) {
            let at = from + at;
            if rest[..at].ends_with(['.', '!', '?']) {
                phrases.push(&rest[..at]);
                rest = &rest[at + 1..];
                from = 0;
            } else {
                from = at + 1;
            }
        }
        phrases.push(rest);
    }
    phrases
}

fn cut_phrase(phrase: &str, plain: bool) -> Option<Choice> {
    let phrase = phrase.trim_matches(BREAK);
    let mut best = None;
    for run in phrase.split(BREAK) {
        better(&mut best, choice(plain, true, first_bytes(run, PIECE_BYTES)));
    }
    let starts = phrase.match_indices(BREAK).map(|(space, _)| space + 1);
    for start in std::iter::once(0).chain(starts) {
        better(&mut best, choice(plain, false, first_bytes(&phrase[start..], PIECE_BYTES)));
    }
    best
}

fn choice(plain: bool, unbroken: bool, piece: &str) -> Option<Choice> {
    let bytes = piece.len();
    if bytes < if unbroken { LEAST_BYTES } else { GOOD_BYTES } || is_common(piece) {
        return None;
    }
    let first = piece.split([' ', BREAK]).find(|word| !word.is_empty()).unwrap_or_default();
    let worded = first.len() >= 3
        && first.bytes().any(|byte| byte.is_ascii_alphanumeric() || byte >= 0x80)
        && !LAST_WORDS.split(' ').any(|word| first.eq_ignore_ascii_case(word));
    let quality =
        Quality { long: bytes >= GOOD_BYTES, telling: bytes >= TELLING_BYTES, plain, unbroken, worded, bytes };
    Some(Choice { quality, pieces: vec![piece.replace(BREAK, " ")] })
}

/// A single word that logs are full of would be tried too often.
fn is_common(piece: &str) -> bool {
    if piece.trim_matches([' ', BREAK]).contains([' ', BREAK]) {
        return false;
    }
    let word = piece.trim_matches(|character: char| character.is_ascii_punctuation()).to_ascii_lowercase();
    word.len() < 4 || COMMON_WORDS.split(' ').any(|common| common == word)
}

/// Words of good builds, of at least about [`LEAST_BYTES`] bytes.
const COMMON_WORDS: &str = "argument arguments building candidate checking collecting compiler compiling configuration configure \
    configuring conversion copying creating declaration declared defined definition dependencies dependency \
    deprecated detecting directory download downloading exception expected explicit extension features following \
    function generated generating identification implementation implicit included including information \
    initialized installed installing instantiation interface libraries library linking loading metadata missing \
    multiple namespace operator optional override package packages parameter parameters performing preparing \
    previous previously processing reference referenced requested required requirement requirements running \
    satisfied searching skipping standard successful successfully template undefined uninstall unknown unused \
    variable variables version virtual warning warnings writing";

/// Words that lines of good builds end with.
const LAST_WORDS: &str = "compiled copied created done error errors exists failed finished found installed library loaded \
    module name needed none object ops option output package passed required running skipped started status success successfully supported test tests \
    unknown used version yes";

/// Whole words, where enough of them are left.
fn first_bytes(text: &str, most: usize) -> &str {
    if text.len() <= most {
        return text;
    }
    let head = &text[..text.floor_char_boundary(most)];
    match head.rfind([' ', BREAK]) {
        Some(space) if space >= WORDS_BYTES => &head[..space],
        _ => head.trim_end_matches(BREAK),
    }
}

#[cfg(test)]
#[path = "literals_tests.rs"]
mod tests;
