//! Finds literals that something cut at a space: a line break with what follows it, a tab, several blanks.
//!
//! `grams` finds a literal as it is written. Here only the places are looked at where blanks are something else than
//! one space: the bytes before such a place are those before a space of some literal, or nothing more is done.
//! However often a literal is cut, the part before its first cut stands in one line, and the rest follows, prefixes of
//! its lines and escape sequences aside.

use std::ops::Range;

use memchr::memmem::Finder;
use memchr::{memchr, memchr2_iter, memchr3, memrchr};

use super::normalise::{could_be_json, normalise, unwrapped};
use super::speakers::own_lines_after;
use super::window::Place;
use super::work::count;

/// As much of a line as is looked at.
const LOOK: usize = 32 << 10;
/// A phrase goes over so many lines at most, empty ones counted.
const MOST_LINES: usize = 8;
/// Where the rest of a phrase begins, prefixes and empty lines counted.
const NEAR: usize = 512;
/// As much is looked at of the line that a phrase is cut in.
const REST: usize = 4 * NEAR;

/// The bytes before a space that are looked at first: as many as there are of these.
const WIDTHS: [usize; 5] = [8, 5, 3, 2, 1];
const BITS: u32 = 16;

/// The spaces of all literals.
#[derive(Debug)]
pub struct Breaks {
    literals: Vec<Vec<u8>>,
    /// A bit for each key.
    bits: Vec<u64>,
    /// In the order of their keys.
    spaces: Vec<Space>,
    longest: usize,
    several: Finder<'static>,
}

/// A space of a literal.
#[derive(Debug, Clone, Copy)]
struct Space {
    /// The bytes before it.
    key: u64,
    literal: usize,
    at: usize,
}

impl Breaks {
    /// Takes literals in lower case.
    pub fn new(literals: Vec<Vec<u8>>) -> Self {
        let mut spaces = Vec::new();
        for (literal, bytes) in literals.iter().enumerate() {
            for at in 1..bytes.len().saturating_sub(1) {
                if let Some(width) = WIDTHS.iter().find(|width| **width <= at)
                    && bytes[at] == b' '
                    && bytes[at - 1] != b' '
                {
                    spaces.push(Space { key: key(last_bytes(&bytes[..at]), *width), literal, at });
                }
            }
        }
        spaces.sort_unstable_by_key(|space| space.key);
        let mut bits = vec![0; 1 << (BITS - 6)];
        for space in &spaces {
            let (word, bit) = slot(space.key);
            bits[word] |= 1 << bit;
        }
        let longest = literals.iter().map(Vec::len).max().unwrap_or(0);
        Self { literals, bits, spaces, longest, several: Finder::new("  ") }
    }

    /// Adds what is cut within `range` of `text`. Returns the number of line breaks there.
    pub fn find(&self, text: &[u8], range: Range<usize>, mut found: impl FnMut(usize, Place)) -> u64 {
        let mut lines = 0;
        for index in memchr2_iter(b'\n', b'\t', &text[range.clone()]) {
            let at = range.start + index;
            if text[at] == b'\n' {
                lines += 1;
            }
            self.at(text, at, &mut found);
        }
        for index in self.several.find_iter(&text[range.clone()]) {
            let at = range.start + index;
            if at > 0 && !is_blank(text[at - 1]) {
                self.at(text, at, &mut found);
            }
        }
        lines
    }

    /// Looks at blanks that begin at `at` or before.
    #[inline]
    fn at(&self, text: &[u8], at: usize, found: &mut impl FnMut(usize, Place)) {
        let mut end = at;
        while end > 0 && is_blank(text[end - 1]) {
            end -= 1;
        }
        // Blanks at a line's beginning were looked at from the end of the line before.
        if end == 0 || text[end - 1] == b'\n' {
            return;
        }
        if text[end - 1] == b'}' && text[at] == b'\n' {
            self.after_json(text, at, found);
        }
        let before = &text[..end];
        if self.may_cut(before) {
            self.confirm(before, text, at, |literal| {
                found(literal, Place { start: end - 1, end });
            });
        }
    }

    /// Looks at the end of the text inside a line of JSON.
    #[cold]
    fn after_json(&self, text: &[u8], at: usize, found: &mut impl FnMut(usize, Place)) {
        let floor = at.saturating_sub(LOOK);
        let Some(start) =
            memrchr(b'\n', &text[floor..at]).map_or((floor == 0).then_some(0), |index| Some(floor + index + 1))
        else {
            return;
        };
        if could_be_json(&text[start..at]) {
            let mut shown = Vec::new();
            normalise(&text[start..at], &mut shown);
            self.at_end(&shown, text, at, |literal| found(literal, Place { start, end: at }));
        }
    }

    /// Adds what `line` begins and the lines after `at` end, where `line` is what `text` shows before `at`.
    pub fn at_end(&self, line: &[u8], text: &[u8], at: usize, found: impl FnMut(usize)) {
        let line = line.trim_ascii_end();
        if self.may_cut(line) {
            self.confirm(line, text, at, found);
        }
    }

    #[inline]
    fn may_cut(&self, before: &[u8]) -> bool {
        let last = last_bytes(before);
        WIDTHS.iter().any(|width| {
            let (word, bit) = slot(key(last, *width));
            self.bits[word] >> bit & 1 != 0
        })
    }

    #[cold]
    fn confirm(&self, before: &[u8], text: &[u8], at: usize, mut found: impl FnMut(usize)) {
        let last = last_bytes(before);
        let (mut shown, mut own) = (None, None);
        for key in WIDTHS.map(|width| key(last, width)) {
            let first = self.spaces.partition_point(|space| space.key < key);
            for space in self.spaces[first..].iter().take_while(|space| space.key == key) {
                let literal = &self.literals[space.literal];
                count(literal.len());
                let (begun, rest) = (&literal[..space.at], &literal[space.at + 1..]);
                // Blanks inside of what is begun would be an earlier cut.
                let is_begun =
                    before.len() >= begun.len() && before[before.len() - begun.len()..].eq_ignore_ascii_case(begun);
                if !is_begun {
                    continue;
                }
                let is_rest =
                    |shown: &Vec<u8>| shown.get(..rest.len()).is_some_and(|text| text.eq_ignore_ascii_case(rest));
                if may_follow(&text[at..], rest)
                    && is_rest(shown.get_or_insert_with(|| following(text, at, self.longest)))
                    || is_rest(own.get_or_insert_with(|| following_of_its_own(text, at, self.longest)))
                {
                    found(space.literal);
                }
            }
        }
    }
}

const FOLD: u64 = 0x2020_2020_2020_2020;

/// Reads the last eight bytes, the last one in the highest place.
#[inline]
fn last_bytes(text: &[u8]) -> u64 {
    match text.last_chunk::<8>() {
        Some(last) => u64::from_le_bytes(*last),
        None => text.iter().fold(0, |read, byte| read >> 8 | u64::from(*byte) << 56),
    }
}

/// Returns the last bytes, folded.
#[inline]
fn key(last: u64, width: usize) -> u64 {
    (last | FOLD) >> (64 - width * 8)
}

#[inline]
fn slot(key: u64) -> (usize, u64) {
    let mixed = key.wrapping_mul(0x9E37_79B9_7F4A_7C15) >> (64 - BITS);
    ((mixed >> 6) as usize, mixed & 63)
}

#[inline]
fn is_blank(byte: u8) -> bool {
    matches!(byte, b' ' | b'\t' | b'\r')
}

/// Says whether the first word of `rest` stands soon in a text, or may be hidden there.
fn may_follow(text: &[u8], rest: &[u8]) -> bool {
    let near = &text[..text.len().min(NEAR)];
    count(near.len());
    let first = rest.split(|byte| *byte == b' ').next().unwrap_or(rest);
    let Some(byte) = first.first() else { return true };
    let stands = memchr2_iter(byte.to_ascii_lowercase(), byte.to_ascii_uppercase(), near)
        .any(|at| near[at..].get(..first.len()).is_some_and(|text| text.eq_ignore_ascii_case(first)));
    stands || memchr3(0x1b, 0x08, b'\\', near).is_some()
}

/// Returns at least `wanted` bytes of what stands after `at`, as far as it goes: words with one space between.
fn following(text: &[u8], mut at: usize, wanted: usize) -> Vec<u8> {
    let (mut out, mut shown) = (Vec::new(), Vec::new());
    for _ in 0..=MOST_LINES {
        if at >= text.len() || out.len() > wanted {
            break;
        }
        let is_start = at > 0 && text[at - 1] == b'\n';
        // Within a line the rest of a phrase is near.
        let ceiling = (at + if is_start { LOOK } else { REST }).min(text.len());
        let end = memchr(b'\n', &text[at..ceiling]).map_or(ceiling, |index| at + index);
        shown.clear();
        // A cut line's end is not known, and in the middle of one there is no prefix.
        if is_start && (end < ceiling || end == text.len()) {
            normalise(&text[at..end], &mut shown);
        } else {
            shown.extend_from_slice(&unwrapped(&text[at..end]));
        }
        add_words(&shown, wanted, &mut out);
        if end == ceiling {
            break;
        }
        at = end + 1;
    }
    out
}

/// The same where other programs' lines stand between, and nothing where none does.
fn following_of_its_own(text: &[u8], at: usize, wanted: usize) -> Vec<u8> {
    let (mut out, mut shown) = (Vec::new(), Vec::new());
    if text.get(at) != Some(&b'\n') || at + 1 >= text.len() {
        return out;
    }
    let floor = at.saturating_sub(LOOK);
    let start = memrchr(b'\n', &text[floor..at]).map_or(floor, |index| floor + index + 1);
    let near = &text[..(at + LOOK).min(text.len())];
    for line in own_lines_after(near, start..at, MOST_LINES) {
        shown.clear();
        normalise(&text[line], &mut shown);
        add_words(&shown, wanted, &mut out);
        if out.len() > wanted {
            break;
        }
    }
    out
}

/// Adds words until there are more than `wanted` bytes.
fn add_words(shown: &[u8], wanted: usize, out: &mut Vec<u8>) {
    for word in shown.split(u8::is_ascii_whitespace).filter(|word| !word.is_empty()) {
        if !out.is_empty() {
            out.push(b' ');
        }
        out.extend_from_slice(word);
        if out.len() > wanted {
            break;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn found(literals: &[&str], text: &str) -> Vec<usize> {
        let literals: Vec<Vec<u8>> = literals.iter().map(|literal| literal.as_bytes().to_vec()).collect();
        let mut found = Vec::new();
        let lines = Breaks::new(literals).find(text.as_bytes(), 0..text.len(), |literal, _| found.push(literal));
        assert_eq!(lines, text.matches('\n').count() as u64);
        found
    }

    #[test]
    fn cut_literals() {
        let literals = ["was not found in", "a name of two", "other words"];
        let table: &[(&str, &[usize])] = &[
            ("was not found in", &[]),
            ("was not\nfound in", &[0]),
            ("xx WAS\r\n\r\n   Not found in", &[0]),
            ("was\nnot\nfound\nin", &[0]),
            ("was not  found in", &[0]),
            ("was\tnot found in", &[0]),
            ("was  not\n[rank0]:   found in", &[0]),
            ("\u{2502} was not\n\u{2502} found in", &[0]),
            ("was not\n\u{1b}[31mfound\u{1b}[0m in", &[0]),
            ("[rank0]: was not\n[rank1]: other\n[rank0]: found in\n[rank1]: words", &[0, 2]),
            ("was not\nfoundin", &[]),
            ("was not\n\n\n\n\n\n\n\n\n\n\n\nfound in", &[]),
            ("a\nname of two", &[1]),
            ("x a\nname of two other\n\twords", &[1, 2]),
            ("{\"log\":\"other \\n\"}\n{\"log\":\"words\"}\n", &[2]),
            ("other", &[]),
            ("\n \t \n", &[]),
        ];
        for (text, expected) in table {
            let mut found = found(&literals, text);
            found.dedup();
            assert_eq!(found, *expected, "{text:?}");
        }
    }
}
