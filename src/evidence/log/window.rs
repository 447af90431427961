//! The text around anchors: normalised, searched by one regular expression, mapped back to the log's lines.

use std::collections::BTreeMap;
use std::ops::Range;

use memchr::{memchr, memchr_iter, memrchr};
use regex::bytes::{Captures, Regex};

use super::Hit;
use super::decode::readable;
use super::normalise::{normalise, unwrapped, visible};
use super::speakers::{self, Line, Speaker};
use super::unfold::{Fold, missing};
use super::work::count;

/// A match reaches no further than this from its anchor, in bytes, whatever its lines.
pub const REACH: usize = 32 << 10;

/// Lines before and after a match that show how many programs write by turns.
const NEIGHBOURS: usize = 2 * speakers::MOST;
const TEXT_LINES: usize = 40;
const TEXT_BYTES: usize = 8 << 10;
const CAPTURE_BYTES: usize = 4 << 10;
/// What is kept of a long line before a match.
const LEAD_BYTES: usize = 200;
/// A match over too many lines is tried again from its next line, so often.
const MOST_RETRIES: usize = 64;

/// A stretch of the log in memory.
#[derive(Clone, Copy)]
pub struct Stretch<'a> {
    pub text: &'a [u8],
    /// Number of the line that `text` begins in.
    pub first_line: u64,
    /// Place of `text` in the log, in decoded bytes.
    pub offset: u64,
    /// `text` begins at a line's beginning.
    pub at_line: bool,
    /// Where `text` leaves out something of the log; `first_line` and `offset` count without it.
    pub folds: &'a [Fold],
}

/// Where an anchor stands, or may stand: in escaped lines the place is not exact.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub struct Place {
    pub start: usize,
    pub end: usize,
}

/// A match, not yet written out.
pub struct Match {
    /// Who wrote it, where several programs wrote by turns.
    pub program: Speaker,
    /// Places in the log, for telling repetitions.
    pub start: u64,
    pub end: u64,
    /// Line breaks that the text leaves out before its beginning and before its end.
    left_out: [u64; 2],
    found: usize,
    first: usize,
    last: usize,
    shown: usize,
}

/// Returns the beginning of the line `lines` above the one at `place`, but no further than [`REACH`].
pub fn back(text: &[u8], place: usize, lines: usize) -> usize {
    let floor = place.saturating_sub(REACH);
    let mut at = place;
    for left in (0..=lines).rev() {
        match memrchr(b'\n', &text[floor..at]) {
            None => return floor,
            Some(index) if left == 0 => return floor + index + 1,
            Some(index) => at = floor + index,
        }
    }
    at
}

/// Returns the end of the line `lines` below the one at `place`, without its line break, but no further than [`REACH`].
pub fn forward(text: &[u8], place: usize, lines: usize) -> usize {
    let ceiling = (place + REACH).min(text.len());
    memchr_iter(b'\n', &text[place..ceiling]).nth(lines).map_or(ceiling, |index| place + index)
}

/// A line, or the part of a long one that lies in the window.
struct Part {
    /// Where its text begins in the normalised one.
    at: usize,
    start: usize,
    end: usize,
    /// Lines since the window's first.
    below: u64,
    whole: bool,
}

/// Normalised lines, joined by line breaks.
pub struct Window<'a> {
    stretch: Stretch<'a>,
    text: Vec<u8>,
    parts: Vec<Part>,
    start: usize,
    program: Speaker,
}

impl<'a> Window<'a> {
    /// Normalises `stretch.text[start..end]`.
    pub fn new(stretch: Stretch<'a>, start: usize, end: usize) -> Self {
        let mut window = Self {
            stretch,
            text: Vec::with_capacity(end - start + 1),
            parts: Vec::new(),
            start,
            program: Speaker::default(),
        };
        let mut below = 0;
        let mut at = start;
        loop {
            let stop = memchr(b'\n', &stretch.text[at..end]).map_or(end, |index| at + index);
            window.add_line(at..stop, below);
            if stop >= end {
                return window;
            }
            below += 1;
            at = stop + 1;
        }
    }

    /// Normalises lines of one of several programs; `start` is where the first line began that was looked at.
    pub fn of_lines(stretch: Stretch<'a>, start: usize, program: Speaker, lines: &[Line]) -> Self {
        let mut window = Self { stretch, text: Vec::new(), parts: Vec::new(), start, program };
        lines.iter().for_each(|line| window.add_line(line.range.clone(), line.below));
        window
    }

    fn add_line(&mut self, range: Range<usize>, below: u64) {
        let raw = self.stretch.text;
        let from_start = if range.start == 0 { self.stretch.at_line } else { raw[range.start - 1] == b'\n' };
        let to_end = range.end == raw.len() || raw[range.end] == b'\n';
        let whole = from_start && to_end;
        self.parts.push(Part { at: self.text.len(), start: range.start, end: range.end, below, whole });
        let line = &raw[range];
        // A long line's middle has no prefix to cut off; after a carriage return the middle does not matter.
        if to_end && (from_start || memchr(b'\r', line).is_some()) {
            normalise(line, &mut self.text);
        } else {
            self.text.extend_from_slice(&unwrapped(line));
        }
        self.text.push(b'\n');
    }

    /// Finds what `regex` matches over at most `lines` lines and at one of the `places`, in order.
    ///
    /// Starts and ends of the places rise.
    pub fn search(&self, regex: &Regex, lines: usize, places: &[Place]) -> Vec<Match> {
        let mut matches = Vec::new();
        let (mut from, mut retries) = (0, 0);
        count(self.text.len());
        while let Some(found) = regex.find_at(&self.text, from) {
            count(found.end() - from.min(found.end()));
            let shown = found.as_bytes().trim_ascii();
            if shown.is_empty() {
                from = found.end().max(found.start() + 1);
                if from > self.text.len() {
                    break;
                }
                continue;
            }
            let start = found.start() + (found.len() - found.as_bytes().trim_ascii_start().len());
            let end = start + shown.len();
            let (first, last) = (self.part_at(start), self.part_at(end - 1));
            if last - first >= lines {
                retries += 1;
                let Some(next) = memchr(b'\n', &self.text[start..]) else { break };
                if retries > MOST_RETRIES {
                    break;
                }
                from = start + next + 1;
                continue;
            }
            from = found.end();
            if !self.holds_one_of(places, first, last, start, end) {
                continue;
            }
            let (from, to) = (self.offset_of(first, start), self.offset_of(last, end));
            let before = missing(self.stretch.folds, from);
            let inside = missing(self.stretch.folds, self.end_of(last, end).saturating_sub(1).max(from));
            matches.push(Match {
                program: self.program,
                start: from + before.bytes,
                end: to + missing(self.stretch.folds, to.saturating_sub(1)).bytes,
                left_out: [before.lines, inside.lines],
                found: found.start(),
                first,
                last,
                shown: start,
            });
        }
        matches
    }

    /// Writes a match out.
    pub fn hit(&self, pattern: usize, regex: &Regex, found: &Match) -> Hit {
        let captures = regex.captures_at(&self.text, found.found);
        // Counted for matches only: most windows have none.
        let first_line = self.stretch.first_line + count_lines(&self.stretch.text[..self.start]);
        let [left_out_before, left_out] = found.left_out;
        let place = self.parts[found.first].start;
        let near = back(self.stretch.text, place, NEIGHBOURS)..forward(self.stretch.text, place, NEIGHBOURS);
        let (program, programs) = speakers::around(self.stretch.text, near, place);
        Hit {
            pattern,
            program,
            programs,
            first_line: first_line + self.parts[found.first].below + left_out_before,
            last_line: first_line + self.parts[found.last].below + left_out,
            text: self.excerpt(found.first, found.last, found.shown),
            captures: captures.map(|captures| named(regex, &captures)).unwrap_or_default(),
        }
    }

    /// Returns where the lines of a match stand in the stretch.
    pub fn lines_of(&self, found: &Match) -> Range<usize> {
        self.parts[found.first].start..self.parts[found.last].end
    }

    fn part_at(&self, at: usize) -> usize {
        self.parts.partition_point(|part| part.at <= at) - 1
    }

    fn offset_of(&self, part: usize, at: usize) -> u64 {
        let part = &self.parts[part];
        self.stretch.offset + (part.start + (at - part.at)) as u64
    }

    /// Like `offset_of`, but with what normalising took away before it: the last place where it may end.
    fn end_of(&self, part: usize, at: usize) -> u64 {
        let next = self.parts.get(part + 1).map_or(self.text.len(), |next| next.at);
        self.stretch.offset + (self.parts[part].end - (next - 1 - at).min(self.parts[part].end)) as u64
    }

    /// A match elsewhere in the window has its own anchor, and may be cut off by the window's edge here.
    fn holds_one_of(&self, places: &[Place], first: usize, last: usize, start: usize, end: usize) -> bool {
        let (mut from, mut to) = (self.parts[first].start, self.parts[last].end);
        // Lines tell well enough, except in a line that may hold thousands of anchors.
        if !self.parts[first].whole {
            from += start - self.parts[first].at;
        }
        if !self.parts[last].whole {
            to = (self.parts[last].start + (end - self.parts[last].at)).min(to);
        }
        let before = places.partition_point(|place| place.start < to.max(from + 1));
        before > 0 && places[before - 1].end > from
    }

    /// The lines as they stand, without what steers a terminal.
    fn excerpt(&self, first: usize, last: usize, start: usize) -> String {
        let mut text = String::new();
        for (index, part) in self.parts[first..=last].iter().take(TEXT_LINES).enumerate() {
            if index > 0 {
                text.push('\n');
            }
            let line = &self.stretch.text[part.start..part.end];
            let mut line = if part.whole { visible(line) } else { unwrapped(line) }.into_owned();
            let room = TEXT_BYTES.saturating_sub(text.len());
            if line.len() > room {
                let lead = if index == 0 { (start - part.at).saturating_sub(LEAD_BYTES) } else { 0 };
                line.drain(..lead.min(line.len()));
                line.truncate(room);
            }
            let line = readable(&line);
            text.push_str(&line[..line.floor_char_boundary(room.min(line.len()))]);
            if text.len() >= TEXT_BYTES {
                break;
            }
        }
        text.truncate(text.trim_end().len());
        text
    }
}

/// Counts line breaks.
pub fn count_lines(text: &[u8]) -> u64 {
    memchr_iter(b'\n', text).count() as u64
}

/// Wrapped text is rejoined by single spaces.
fn named(regex: &Regex, captures: &Captures<'_>) -> BTreeMap<String, Vec<String>> {
    let mut named = BTreeMap::new();
    for name in regex.capture_names().flatten() {
        let Some(group) = captures.name(name) else { continue };
        let bytes = &group.as_bytes()[..group.len().min(CAPTURE_BYTES)];
        let text = readable(bytes).split_ascii_whitespace().collect::<Vec<_>>().join(" ");
        named.insert(name.to_owned(), vec![text]);
    }
    named
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn edges() {
        let text = b"one\ntwo\nthree\nfour";
        let table = [(0, 0, 0, 3), (1, 1, 0, 7), (5, 0, 4, 7), (5, 1, 0, 13), (9, 1, 4, 18), (18, 9, 0, 18)];
        for (place, lines, start, end) in table {
            assert_eq!((back(text, place, lines), forward(text, place, lines)), (start, end), "{place} {lines}");
        }
        let long = vec![b'x'; 3 * REACH];
        assert_eq!((back(&long, 2 * REACH, 3), forward(&long, REACH, 3)), (REACH, 2 * REACH));
    }
}
