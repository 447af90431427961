//! One pass over a log for all signatures: anchors first, then each candidate's own regular expression around them.
//!
//! Bounded memory at any size, any line length. The result depends on the log's bytes alone, not on how they arrive.
//! A match is found when it spans at most its pattern's lines and lies within [`REACH`] of its anchor.

use std::collections::BTreeMap;
use std::io::{self, Read};
use std::ops::Range;
use std::sync::{Arc, OnceLock};

use memchr::memrchr_iter;
use regex::bytes::Regex;

use super::blocks::{Blocks, Keep};
use super::decode::Decoding;
use super::grams::{self, Literals};
use super::hidden::{PIECE, find_hidden};
use super::kept::{Kept, in_order, merge};
use super::pattern::{compile, has_space};
use super::speakers;
use super::telling::{LAST_BYTES, tell};
use super::unfold::{Fold, Part, Unfold};
use super::window::{Match, Place, REACH, Stretch, Window, back, count_lines, forward};
use super::{LogScan, Pattern};

/// Undecoded bytes are held back up to here.
const RAW: usize = 64 << 10;
/// A sentence with spaces may be wrapped, with empty lines around a name.
const WRAPPED_LINES: usize = 8;
/// More lines are for nobody's signature.
const MOST_LINES: usize = 64;

/// Looks for a set of patterns. Cheap to make and to clone; regular expressions are compiled when first needed.
#[derive(Clone)]
pub struct Scanner {
    shared: Arc<Shared>,
}

struct Shared {
    patterns: Vec<Prepared>,
    literals: Literals,
    /// Patterns of each literal.
    owners: Vec<Vec<usize>>,
    /// Patterns without a usable anchor: tried everywhere.
    unanchored: Vec<usize>,
    most_lines: usize,
}

struct Prepared {
    source: String,
    lines: usize,
    regex: OnceLock<Option<Regex>>,
}

impl Prepared {
    /// `None` for an expression that `check_pattern` rejects.
    fn regex(&self) -> Option<&Regex> {
        self.regex.get_or_init(|| compile(&self.source).ok()).as_ref()
    }
}

impl Scanner {
    /// Prepares to look for `patterns`, which `check_pattern` accepts; others never match.
    /// A pattern without anchors is tried on every line, which is slow.
    pub fn new(patterns: Vec<Pattern>) -> Self {
        let mut literals: BTreeMap<Vec<u8>, Vec<usize>> = BTreeMap::new();
        let mut unanchored = Vec::new();
        let mut prepared = Vec::new();
        for (index, pattern) in patterns.into_iter().enumerate() {
            if pattern.anchors.is_empty() || pattern.anchors.iter().any(|anchor| anchor.len() < grams::LEAST_BYTES) {
                unanchored.push(index);
            } else {
                for anchor in &pattern.anchors {
                    literals.entry(anchor.to_ascii_lowercase().into_bytes()).or_default().push(index);
                }
            }
            let least = if has_space(&pattern.regex) { WRAPPED_LINES } else { 1 };
            let lines = usize::try_from(pattern.lines).unwrap_or(MOST_LINES).clamp(least, MOST_LINES);
            prepared.push(Prepared { source: pattern.regex, lines, regex: OnceLock::new() });
        }
        let most_lines = prepared.iter().map(|pattern| pattern.lines).max().unwrap_or(1);
        let (literals, owners) = literals.into_iter().unzip();
        let literals = Literals::new(literals);
        Self { shared: Arc::new(Shared { patterns: prepared, literals, owners, unanchored, most_lines }) }
    }

    /// Scans a log to its end.
    pub fn scan(&self, source: &str, mut reader: impl Read) -> io::Result<LogScan> {
        let mut session = self.session(source);
        loop {
            match reader.read(session.room()) {
                Ok(0) => return Ok(session.finish()),
                Ok(count) => session.filled_by(count),
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                Err(error) => return Err(error),
            }
        }
    }

    /// Begins to scan a log that arrives bit by bit.
    pub fn session(&self, source: &str) -> Session {
        let rejoined = Some(Rejoined { unfold: Unfold::default(), session: None });
        Session { source: source.to_owned(), rejoined, ..Session::new(&self.shared, Keep::Last(LAST_BYTES)) }
    }
}

/// What is known of a log that is cut at one column.
struct Rejoined {
    unfold: Unfold,
    /// Searches the rejoined text, once there is one.
    session: Option<Box<Session>>,
}

impl Session {
    fn new(shared: &Arc<Shared>, keep: Keep) -> Self {
        Self {
            shared: Arc::clone(shared),
            source: String::new(),
            decoding: Decoding::Unknown,
            raw: Vec::new(),
            raw_filled: 0,
            blocks: Blocks::new(keep),
            looked_at: 0,
            searched: 0,
            searched_breaks: 0,
            first_line: 1,
            offset: 0,
            at_line: true,
            bytes: 0,
            kept: BTreeMap::new(),
            folds: Vec::new(),
            rejoined: None,
        }
    }
}

/// A log on its way through the scanner.
pub struct Session {
    shared: Arc<Shared>,
    source: String,
    decoding: Decoding,
    /// Bytes to decode, where the log is not taken as it is.
    raw: Vec<u8>,
    raw_filled: usize,
    /// Context of what was searched, then what was not yet: the text.
    blocks: Blocks,
    /// The text up to here was looked at for its encoding.
    looked_at: usize,
    /// Anchors that start in the text before this were followed.
    searched: usize,
    /// Line breaks before that.
    searched_breaks: u64,
    /// The line that the text begins in, and its place in the log.
    first_line: u64,
    offset: u64,
    at_line: bool,
    bytes: u64,
    kept: BTreeMap<usize, Kept>,
    /// Where the text is rejoined, from the last one before it on.
    folds: Vec<Fold>,
    /// `None` for what is rejoined already.
    rejoined: Option<Rejoined>,
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Rest {
    MoreComes,
    Nothing,
}

impl Session {
    /// Takes the next bytes, cut anywhere.
    pub fn feed(&mut self, mut bytes: &[u8]) {
        while !bytes.is_empty() {
            let room = self.room();
            let count = room.len().min(bytes.len());
            room[..count].copy_from_slice(&bytes[..count]);
            self.filled_by(count);
            bytes = &bytes[count..];
        }
    }

    /// Ends the log.
    pub fn finish(mut self) -> LogScan {
        self.end();
        if let Some(Rejoined { unfold, session: Some(mut session) }) = self.rejoined.take()
            && let Some(belief) = unfold.belief()
        {
            session.end();
            merge(&mut self.kept, session.kept, belief);
        }
        let text = self.blocks.text();
        let breaks = self.first_line - 1 + count_lines(text);
        let open = text.last().is_some_and(|byte| *byte != b'\n');
        let (telling, tail) = tell(&self.blocks.last(LAST_BYTES), breaks);
        let totals = self.kept.iter().map(|(pattern, kept)| (*pattern, kept.total)).collect();
        LogScan {
            source: self.source,
            hits: in_order(self.kept),
            totals,
            telling,
            tail,
            lines: breaks + u64::from(open),
            bytes: self.bytes,
        }
    }

    /// Searches what is left.
    fn end(&mut self) {
        if matches!(self.decoding, Decoding::Transcoded(_)) {
            self.transcode_held(Rest::Nothing);
        } else {
            self.take_block(Rest::Nothing);
        }
    }

    /// Where the next bytes go; never empty.
    fn room(&mut self) -> &mut [u8] {
        if matches!(self.decoding, Decoding::Transcoded(_)) {
            self.raw.resize(RAW, 0);
            &mut self.raw[self.raw_filled..]
        } else {
            self.blocks.room()
        }
    }

    fn filled_by(&mut self, count: usize) {
        self.bytes += count as u64;
        if matches!(self.decoding, Decoding::Transcoded(_)) {
            self.raw_filled += count;
            if self.raw_filled == self.raw.len() {
                self.transcode_held(Rest::MoreComes);
            }
        } else {
            self.blocks.fill(count);
            if self.blocks.is_full() {
                self.take_block(Rest::MoreComes);
            }
        }
    }

    /// Looks at a block's encoding, then searches it.
    fn take_block(&mut self, rest: Rest) {
        let block = &self.blocks.text()[self.looked_at..];
        let skip = self.decoding.look_at(block);
        if matches!(self.decoding, Decoding::Transcoded(_)) {
            let raw = block[skip..].to_vec();
            self.blocks.truncate(self.looked_at);
            self.transcode(&raw, rest);
            return;
        }
        if skip > 0 {
            self.blocks.skip(skip);
        }
        self.search(rest);
    }

    fn transcode_held(&mut self, rest: Rest) {
        let raw = std::mem::take(&mut self.raw);
        self.transcode(&raw[..self.raw_filled], rest);
        self.raw = raw;
        self.raw_filled = 0;
    }

    fn transcode(&mut self, mut raw: &[u8], rest: Rest) {
        loop {
            let Decoding::Transcoded(decoder) = &mut self.decoding else { return };
            let last = rest == Rest::Nothing;
            let (result, read, written, _) = decoder.decode_to_utf8(raw, self.blocks.room(), last);
            self.blocks.fill(written);
            self.looked_at = self.blocks.text().len();
            raw = &raw[read..];
            match result {
                encoding_rs::CoderResult::OutputFull => self.search(Rest::MoreComes),
                encoding_rs::CoderResult::InputEmpty if last => return self.search(Rest::Nothing),
                encoding_rs::CoderResult::InputEmpty => return,
            }
        }
    }

    /// Follows the anchors whose surroundings are complete, then drops what is no longer needed.
    fn search(&mut self, rest: Rest) {
        let text = self.blocks.text();
        let to = match rest {
            Rest::Nothing => text.len(),
            Rest::MoreComes => self.shared.complete_up_to(text).max(self.searched),
        };
        let (first_line, offset) = (self.first_line, self.offset);
        let stretch = Stretch { text, first_line, offset, at_line: self.at_line, folds: &self.folds };
        let breaks = self.shared.search(stretch, self.searched, to, &mut self.kept);
        if let Some(rejoined) = &mut self.rejoined {
            let (bytes, lines) = (offset + self.searched as u64, first_line - 1 + self.searched_breaks);
            rejoined.push(&self.shared, &text[self.searched..to], rest, || Fold { at: 0, bytes, lines });
        }
        if rest == Rest::Nothing {
            return;
        }
        let from = back(text, to, self.shared.most_lines * speakers::MOST);
        let all_breaks = self.searched_breaks + breaks;
        self.searched_breaks = count_lines(&text[from..to]);
        self.first_line += all_breaks - self.searched_breaks;
        self.offset += from as u64;
        self.at_line = if from == 0 { self.at_line } else { text[from - 1] == b'\n' };
        self.searched = to - from;
        self.looked_at = text.len() - from;
        self.blocks.pass(from);
        let passed = self.folds.partition_point(|fold| fold.at <= self.offset);
        self.folds.drain(..passed.saturating_sub(1));
    }
}

impl Rejoined {
    fn push(&mut self, shared: &Arc<Shared>, text: &[u8], rest: Rest, before: impl FnOnce() -> Fold) {
        let part = match rest {
            Rest::MoreComes => Part::Some,
            Rest::Nothing => Part::Last,
        };
        let Some(stretch) = self.unfold.push(text, part, before) else { return };
        let new = || Box::new(Session { decoding: Decoding::AsIs, ..Session::new(shared, Keep::Nothing) });
        let session = self.session.get_or_insert_with(new);
        session.folds.extend(stretch.folds);
        session.feed(&stretch.text);
    }
}

impl Shared {
    /// An anchor that starts before this has all the lines after it that any pattern wants.
    fn complete_up_to(&self, text: &[u8]) -> usize {
        let by_bytes = text.len().saturating_sub(REACH + PIECE);
        let by_lines = memrchr_iter(b'\n', text).nth(self.most_lines * speakers::MOST - 1).map_or(0, |at| at + 1);
        by_bytes.max(by_lines)
    }

    /// Finds the matches at anchors that start in `from..to`. Returns the number of line breaks there.
    fn search(&self, stretch: Stretch<'_>, from: usize, to: usize, kept: &mut BTreeMap<usize, Kept>) -> u64 {
        let (mut places, breaks) = self.places(stretch.text, from..to);
        if from < to {
            places.extend(self.unanchored.iter().map(|pattern| (*pattern, Place { start: from, end: to })));
        }
        places.sort_unstable();
        places.dedup();
        for group in places.chunk_by(|left, right| left.0 == right.0) {
            let mut reached = 0;
            let rising = group.iter().map(|(_, place)| {
                reached = place.end.max(reached);
                Place { start: place.start, end: reached }
            });
            self.search_around(stretch, group[0].0, &rising.collect::<Vec<_>>(), kept);
        }
        breaks
    }

    /// Finds the anchors that start in `range`, and counts its line breaks.
    fn places(&self, text: &[u8], range: Range<usize>) -> (Vec<(usize, Place)>, u64) {
        let mut places: Vec<(usize, Place)> = Vec::new();
        let mut add = |literal: usize, place: Place| {
            places.extend(self.owners[literal].iter().map(|pattern| (*pattern, place)));
        };
        self.literals.find(text, range.clone(), &mut add);
        let breaks = self.literals.breaks().find(text, range.clone(), &mut add);
        find_hidden(&self.literals, text, range, &mut add);
        (places, breaks)
    }

    /// Searches around the places of one pattern, overlapping surroundings together: each byte once.
    fn search_around(&self, stretch: Stretch<'_>, pattern: usize, places: &[Place], kept: &mut BTreeMap<usize, Kept>) {
        let prepared = &self.patterns[pattern];
        let Some(regex) = prepared.regex() else { return };
        let context = prepared.lines - 1;
        let mut next = 0;
        while next < places.len() {
            let first = next;
            let start = back(stretch.text, places[first].start, context);
            let mut end = places[first].end;
            // Ends rise with places, so of all places inside only the last one tells how far it goes.
            while next < places.len()
                && (places[next].start <= end || back(stretch.text, places[next].start, context) <= end)
            {
                while next + 1 < places.len() && places[next + 1].start <= end {
                    next += 1;
                }
                end = forward(stretch.text, places[next].end, context).max(end);
                next += 1;
            }
            let places = &places[first..next];
            let window = Window::new(stretch, start, end);
            let mut matches = window.search(regex, prepared.lines, places);
            if context > 0 && speakers::are_several(stretch.text, start..end) {
                // What stands in two programs' lines is no message of either.
                matches.retain(|found| !speakers::are_several(stretch.text, window.lines_of(found)));
                self.search_by_speaker(stretch, pattern, places, &mut matches, kept);
            }
            if !matches.is_empty() {
                kept.entry(pattern).or_default().take(&matches, |found| window.hit(pattern, regex, found));
            }
        }
    }

    /// Searches what each of several programs wrote around the places; what is found there is no longer one of `matches`.
    #[cold]
    fn search_by_speaker(
        &self,
        stretch: Stretch<'_>,
        pattern: usize,
        places: &[Place],
        matches: &mut Vec<Match>,
        kept: &mut BTreeMap<usize, Kept>,
    ) {
        let prepared = &self.patterns[pattern];
        let (Some(regex), [first, ..]) = (prepared.regex(), places) else { return };
        let context = (prepared.lines - 1) * speakers::MOST;
        let start = back(stretch.text, first.start, context);
        let end = forward(stretch.text, places[places.len() - 1].end, context);
        for (program, lines) in speakers::by_speaker(stretch.text, start..end) {
            let is_here = |place: &Place| {
                let after = lines.partition_point(|line| line.range.start <= place.start);
                after > 0 && place.start <= lines[after - 1].range.end
            };
            let own: Vec<Place> = places.iter().copied().filter(is_here).collect();
            if own.is_empty() {
                continue;
            }
            let window = Window::of_lines(stretch, start, program, &lines);
            let found = window.search(regex, prepared.lines, &own);
            matches.retain(|other| !found.iter().any(|own| own.start < other.end && other.start < own.end));
            if !found.is_empty() {
                kept.entry(pattern).or_default().take(&found, |found| window.hit(pattern, regex, found));
            }
        }
    }
}

#[cfg(test)]
#[path = "scanner_tests.rs"]
mod tests;
