//! Literals in lines that show something else than they hold: escape sequences, backspaces, JSON strings.
//!
//! Such lines are gathered as they are shown and searched together. Where a literal stands in the log is known by its
//! line only.

use std::ops::Range;

use memchr::{memchr, memchr2, memchr3, memrchr};

use super::grams::Literals;
use super::normalise::{could_be_json, normalise, unescape};
use super::window::Place;

/// How much of a long line is looked at around an escape sequence, and how much of that twice.
pub const PIECE: usize = 32 << 10;
const OVERLAP: usize = 1 << 10;
/// As much is gathered before it is searched.
const ENOUGH: usize = 64 << 10;

/// Lines as they are shown.
#[derive(Default)]
struct Gathered {
    text: Vec<u8>,
    /// Where each line begins in `text`, and where it lies in the log.
    lines: Vec<(usize, Place)>,
}

/// Adds the literals that are shown by lines of `range`.
pub fn find_hidden(literals: &Literals, text: &[u8], range: Range<usize>, mut found: impl FnMut(usize, Place)) {
    let mut gathered = Gathered::default();
    // Before this everything was looked at.
    let mut at = range.start;
    while let Some(index) = memchr3(0x1b, 0x08, b'\\', &text[at.min(range.end)..range.end]) {
        let sign = at + index;
        let near = sign.saturating_sub(PIECE - OVERLAP);
        let line_start = memrchr(b'\n', &text[near..sign]).map(|index| near + index + 1);
        // Of a long line the part around is taken, with what a literal may reach back over.
        let start = line_start.unwrap_or(near.max(at.saturating_sub(OVERLAP)));
        let ceiling = (start + PIECE).min(text.len());
        let line_end = memchr(b'\n', &text[sign..ceiling]).map(|index| sign + index);
        let end = line_end.unwrap_or(ceiling);
        let is_whole = line_end.is_some() || ceiling == text.len();
        // A sequence next to the cut is looked at again with what follows it.
        at = if is_whole { end + 1 } else { end - OVERLAP / 2 };
        let line = &text[start..end];
        let is_json = is_whole && could_be_json(line);
        if text[sign] == b'\\' && !is_json && memchr2(0x1b, 0x08, line).is_none() {
            continue;
        }
        let begun = gathered.text.len();
        gathered.lines.push((begun, Place { start, end }));
        if is_json {
            normalise(line, &mut gathered.text);
        } else {
            unescape(line, &mut gathered.text);
        }
        let shown = &gathered.text[begun..];
        literals.breaks().at_end(shown, text, end, |literal| found(literal, Place { start, end }));
        gathered.text.push(b'\n');
        if gathered.text.len() >= ENOUGH {
            gathered.search(literals, &mut found);
        }
    }
    gathered.search(literals, &mut found);
}

impl Gathered {
    fn search(&mut self, literals: &Literals, found: &mut impl FnMut(usize, Place)) {
        let (text, lines) = (&self.text, &self.lines);
        let place = |at: usize| lines[lines.partition_point(|(begun, _)| *begun <= at) - 1].1;
        literals.find(text, 0..text.len(), |literal, at| found(literal, place(at.start)));
        // A break between two lines may be none in the log; then what is found is not confirmed there.
        literals.breaks().find(text, 0..text.len(), |literal, at| found(literal, place(at.start)));
        self.text.clear();
        self.lines.clear();
    }
}
