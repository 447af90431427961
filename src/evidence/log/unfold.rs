//! Rejoins what something cut at one column, in mid-word: `fold`, captures of terminals, viewers of CI systems.
//!
//! A log is taken for cut when no line is longer than one width, and lines of just that width go on in the next one in
//! the middle of a word. It must never believe so of a log whose longest lines merely have the same length, and what it
//! rejoins is only searched beside the log as it stands.

use memchr::{memchr, memchr_iter, memrchr};
use unicode_width::UnicodeWidthStr;

use super::normalise::visible;

/// Few terminals are narrower, or wider; the narrower, the more lines have the same length by chance.
const LEAST_WIDTH: usize = 64;
const MOST_WIDTH: usize = 320;
/// A longer line is no line that was cut, whatever its bytes show.
const MOST_BYTES: usize = 4 * MOST_WIDTH;
/// A log that is cut is so from its beginning: after so much text without a sign of it no more is looked for.
const PATIENCE: usize = 4 << 20;
/// So many signs are no chance, in a log of one block and in a part of a long one.
const SURE: usize = 4;
const SURE_OF_MANY: usize = 16;
/// What is kept back of an incomplete line.
const MOST_HELD: usize = 32 << 10;
/// Lines before and after that show how lines begin here.
const NEIGHBOURS: usize = 4;
/// As much of a line's beginning as tells its kind.
const BEGINNING: usize = 6;

/// From one place of the rejoined text on: how much of the log is missing in it before that.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Fold {
    pub at: u64,
    pub bytes: u64,
    pub lines: u64,
}

/// Returns what is missing before a place of the rejoined text.
pub fn missing(folds: &[Fold], place: u64) -> Fold {
    let after = folds.partition_point(|fold| fold.at <= place);
    after.checked_sub(1).map_or_else(Fold::default, |index| folds[index])
}

/// How much the rejoined text is to be believed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Belief {
    /// A cut here and there, in a short log: it adds what the log as it stands does not show.
    Weak,
    /// The log is cut: what it shows as it stands is torn.
    Strong,
}

/// How wide a line counts.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Measure {
    /// As a terminal shows it.
    Columns,
    /// As `fold` counts.
    Bytes,
}

/// Whether more of the log comes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Part {
    Some,
    Last,
}

/// Takes a log in parts, in order.
#[derive(Debug)]
pub struct Unfold {
    state: State,
    /// The next part begins at a line's beginning.
    at_line: bool,
    seen: usize,
    /// Removed so far, and written.
    removed: Fold,
    held: Vec<u8>,
}

#[derive(Debug)]
enum State {
    Looking,
    Hopeless,
    Joining { width: usize, measure: Measure, belief: Belief },
}

/// The next stretch of the rejoined text.
pub struct Rejoined {
    pub text: Vec<u8>,
    pub folds: Vec<Fold>,
}

impl Default for Unfold {
    fn default() -> Self {
        Self { state: State::Looking, at_line: true, seen: 0, removed: Fold::default(), held: Vec::new() }
    }
}

impl Unfold {
    /// How much what was rejoined is to be believed; `None` when nothing was.
    pub fn belief(&self) -> Option<Belief> {
        match self.state {
            State::Looking | State::Hopeless => None,
            State::Joining { belief, .. } => Some(belief),
        }
    }

    /// Looks at the next part; `before` has the bytes and line breaks of the log before it. Returns what to search.
    pub fn push(&mut self, text: &[u8], part: Part, before: impl FnOnce() -> Fold) -> Option<Rejoined> {
        let first = self.seen == 0;
        if matches!(self.state, State::Looking) {
            // What a line began before the part is not known here.
            let skipped = if self.at_line { 0 } else { memchr(b'\n', text).map_or(text.len(), |at| at + 1) };
            self.state = look(&text[skipped..], first && part == Part::Last);
            if matches!(self.state, State::Looking) && self.seen + text.len() > PATIENCE {
                self.state = State::Hopeless;
            }
            if self.belief().is_some() {
                let before = before();
                let lines = memchr_iter(b'\n', &text[..skipped]).count() as u64;
                self.removed = Fold { at: 0, bytes: before.bytes + skipped as u64, lines: before.lines + lines };
                self.held.extend_from_slice(&text[skipped..]);
            }
        } else if self.belief().is_some() {
            self.held.extend_from_slice(text);
        }
        self.seen += text.len();
        self.at_line = text.last().map_or(self.at_line, |byte| *byte == b'\n');
        let State::Joining { width, measure, .. } = self.state else { return None };
        Some(self.rejoin(width, measure, part))
    }

    /// Writes out the lines that are held as far as they are complete.
    fn rejoin(&mut self, width: usize, measure: Measure, part: Part) -> Rejoined {
        let held = std::mem::take(&mut self.held);
        let mut rejoined = Rejoined { text: Vec::with_capacity(held.len()), folds: vec![self.removed] };
        let mut written = self.removed;
        let (mut at, mut done) = (0, 0);
        while at < held.len() {
            let end = memchr(b'\n', &held[at..]).map_or(held.len(), |index| at + index);
            let line = &held[at..end];
            let full = end < held.len() && is_full(line, width, measure);
            let joins = full && end + 1 < held.len() && goes_on(&held, at, end, width);
            let text = if joins { without_return(line) } else { &held[at..(end + 1).min(held.len())] };
            rejoined.text.extend_from_slice(text);
            written.at += text.len() as u64;
            if joins {
                written.bytes += (end + 1 - at - text.len()) as u64;
                written.lines += 1;
                rejoined.folds.push(written);
            }
            at = end + 1;
            if !full && end < held.len() {
                done = at;
                self.removed = written;
            }
        }
        if part == Part::Last || held.len() - done > MOST_HELD {
            self.removed = written;
            return rejoined;
        }
        // What may still go on waits for the next part.
        self.held.extend_from_slice(&held[done..]);
        let kept = (self.removed.at - rejoined.folds[0].at) as usize;
        rejoined.folds.retain(|fold| fold.at <= self.removed.at);
        rejoined.text.truncate(kept);
        rejoined
    }
}

/// Decides whether a part of a log is cut.
fn look(text: &[u8], whole: bool) -> State {
    let mut hopeless = true;
    for measure in [Measure::Columns, Measure::Bytes] {
        let Some(width) = longest(text, measure) else { continue };
        hopeless = false;
        if width >= LEAST_WIDTH
            && let Some(belief) = weigh(text, width, measure, whole)
        {
            return State::Joining { width, measure, belief };
        }
        if text.is_ascii() {
            break;
        }
    }
    if hopeless { State::Hopeless } else { State::Looking }
}

/// Returns the length of the longest line, `None` when it is longer than any terminal is wide.
///
/// Shorter lines than the longest so far are skipped several at a time.
fn longest(text: &[u8], measure: Measure) -> Option<usize> {
    let (mut width, mut at) = (LEAST_WIDTH - 1, 0);
    while at + width < text.len() {
        if let Some(index) = memrchr(b'\n', &text[at..=at + width]) {
            at += index + 1;
            continue;
        }
        let end = memchr(b'\n', &text[at..]).map_or(text.len(), |index| at + index);
        if end - at <= MOST_BYTES || memchr(b'\r', &text[at..end]).is_some() {
            width = width.max(length(&text[at..end], measure));
        }
        if width > MOST_WIDTH || end - at > 16 * MOST_BYTES {
            return None;
        }
        at = end + 1;
    }
    Some(width)
}

/// Weighs lines of just that width that go on in the next line against those that do not.
fn weigh(text: &[u8], width: usize, measure: Measure, whole: bool) -> Option<Belief> {
    let (mut signs, mut cut, mut chance, mut at) = (0, 0, 0, 0);
    // Where the line before went on, if it did.
    let mut continued = usize::MAX;
    while at + width < text.len() && signs < 8 * SURE_OF_MANY {
        let last = memrchr(b'\n', &text[at..=at + width]);
        if let Some(index) = last
            && (index < width || memchr(b'\n', &text[at..]) != Some(index))
        {
            at += index + 1;
            continue;
        }
        let Some(length) = memchr(b'\n', &text[at..]) else { break };
        let end = at + length;
        if is_full(&text[at..end], width, measure) && end + 1 < text.len() {
            if goes_on(text, at, end, width) {
                let sides = [without_return(&text[at..end]).last().copied(), Some(text[end + 1])];
                let in_word = sides.iter().all(|side| side.is_some_and(is_word));
                // A line of three pieces or more says most.
                signs += 1 + usize::from(in_word) + usize::from(continued == at);
                cut += 1;
                continued = end + 1;
            } else {
                chance += 1;
            }
        }
        at = end + 1;
    }
    if chance * 2 > cut || signs == 0 {
        return None;
    }
    if signs >= if whole { SURE } else { SURE_OF_MANY } {
        return Some(Belief::Strong);
    }
    whole.then_some(Belief::Weak)
}

/// Says whether the line `at..end`, which is full, goes on in the next one: that one does not begin as lines here do.
fn goes_on(text: &[u8], at: usize, end: usize, width: usize) -> bool {
    let next = &text[end + 1..];
    if matches!(next.first(), None | Some(b'\n' | b'\r')) || is_framed(&text[at..end]) {
        return false;
    }
    let kind = beginning(next);
    // Where all lines are of one length and kind, each of them looks full.
    if beginning(&text[at..]) == kind {
        return false;
    }
    // The line itself, and those before it that do not go on another one.
    let mut start = at;
    for _ in 0..NEIGHBOURS {
        let Some(above) = start.checked_sub(1) else { break };
        let before = memrchr(b'\n', &text[..above]).map_or(0, |index| index + 1);
        let full = above - before >= width;
        if !full && beginning(&text[start..]) == kind {
            return false;
        }
        start = before;
    }
    if start == 0 && beginning(text) == kind {
        return false;
    }
    let mut rest = next;
    for _ in 0..NEIGHBOURS {
        let Some(length) = memchr(b'\n', rest) else { break };
        let full = length >= width;
        rest = &rest[length + 1..];
        if !full && !rest.is_empty() && beginning(rest) == kind {
            return false;
        }
    }
    true
}

/// What a line begins with; digits count alike.
fn beginning(text: &[u8]) -> [u8; BEGINNING] {
    let mut kind = [b'\n'; BEGINNING];
    for (place, byte) in kind.iter_mut().zip(text) {
        if *byte == b'\n' {
            break;
        }
        *place = if byte.is_ascii_digit() { b'0' } else { byte.to_ascii_lowercase() };
    }
    kind
}

/// Rulers and the frames of tables have a width of their own.
fn is_framed(line: &[u8]) -> bool {
    let line = line.trim_ascii_end();
    let Some(last) = line.last() else { return true };
    if matches!(*last, b'|' | b'+') || line.ends_with("│".as_bytes()) || line.ends_with("┃".as_bytes()) {
        return true;
    }
    !last.is_ascii_alphanumeric() && line.len() >= 4 && line[line.len() - 4..].iter().all(|byte| byte == last)
}

fn is_word(byte: u8) -> bool {
    byte.is_ascii_alphanumeric() || byte == b'_' || byte >= 0x80
}

fn is_full(line: &[u8], width: usize, measure: Measure) -> bool {
    if line.len() < width / 8 {
        return false;
    }
    let length = length(line, measure);
    // A wide character does not fit into the last column.
    length == width || (measure == Measure::Columns && length + 1 == width && !line.is_ascii())
}

fn without_return(line: &[u8]) -> &[u8] {
    line.strip_suffix(b"\r").unwrap_or(line)
}

fn length(line: &[u8], measure: Measure) -> usize {
    let line = without_return(line);
    // Both write over what stands before a carriage return.
    let line = memrchr(b'\r', line).map_or(line, |at| &line[at + 1..]);
    match measure {
        Measure::Bytes => tabs_out(line, line.len()),
        Measure::Columns => {
            let shown = visible(line);
            if shown.is_ascii() {
                return tabs_out(&shown, shown.len());
            }
            tabs_out(&shown, String::from_utf8_lossy(&shown).replace('\t', " ").width())
        }
    }
}

/// A tab goes on to the next eighth column; where wide characters stand before it, this is near enough.
fn tabs_out(line: &[u8], length: usize) -> usize {
    if memchr(b'\t', line).is_none() {
        return length;
    }
    let expanded = line.iter().fold(0, |column, byte| if *byte == b'\t' { (column / 8 + 1) * 8 } else { column + 1 });
    length + (expanded - line.len())
}

#[cfg(test)]
#[path = "unfold_tests.rs"]
mod tests;
