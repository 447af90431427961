//! Tells apart what several programs wrote through one channel, line by line: ranks, containers, jobs.
//!
//! A message over several lines goes on in the next line of its own program, which need not be the next line of the log.
//! Only lines that say whose they are count: one that does not say so belongs to the one before it.

use std::collections::{BTreeMap, BTreeSet};
use std::ops::Range;

use memchr::memchr;

use super::normalise::unwrapped;
use super::prefixes;

/// So many programs may write by turns.
pub const MOST: usize = 16;
/// As much of a line as tells whose it is.
const HEAD: usize = 512;

/// Who wrote a line, as far as it says so: a rank, a container, a job, or a rank in a container.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Default)]
pub struct Speaker {
    /// Numbers that stand for names, 0 for none.
    outer: u64,
    inner: u64,
}

impl Speaker {
    /// Reads what stands before a line's message.
    pub fn of(line: &[u8]) -> Self {
        prefixes::speaker(line)
    }

    /// Takes the next name within what is known; of a third one nothing is made.
    pub(super) fn add(&mut self, name: &[u8]) {
        let number = match (self.outer, self.inner) {
            (0, _) => &mut self.outer,
            (_, 0) => &mut self.inner,
            _ => return,
        };
        for byte in name {
            *number = (*number ^ u64::from(*byte)).wrapping_mul(0x0100_0000_01b3).rotate_left(7);
        }
        *number |= 1;
    }

    /// Says whether both are known, and not one.
    pub fn is_other(self, other: Self) -> bool {
        let differ = |one, other| one != 0 && other != 0 && one != other;
        differ(self.outer, other.outer) || (self.outer == other.outer && differ(self.inner, other.inner))
    }
}

/// A line of a log, without its line break.
#[derive(Debug, Clone)]
pub struct Line {
    pub range: Range<usize>,
    /// Lines since the first one that was looked at.
    pub below: u64,
    pub speaker: Speaker,
}

/// Reads whose the line is that begins at `start`.
fn speaker_at(text: &[u8], start: usize) -> Speaker {
    let head = &text[start..(start + HEAD).min(text.len())];
    let head = memchr(b'\n', head).map_or(head, |end| &head[..end]);
    Speaker::of(&unwrapped(head))
}

/// Lists the lines of `range`; what a line does not say of its speaker is as it was before.
fn lines(text: &[u8], range: Range<usize>) -> impl Iterator<Item = Line> {
    let (mut at, mut below) = (Some(range.start), 0);
    let (mut last, mut last_of) = (Speaker::default(), BTreeMap::new());
    std::iter::from_fn(move || {
        let start = at?;
        let end = memchr(b'\n', &text[start..range.end]).map_or(range.end, |index| start + index);
        at = (end < range.end).then_some(end + 1);
        let said = speaker_at(text, start);
        if said.inner != 0 {
            last_of.insert(said.outer, said);
            last = said;
        } else if said.outer != 0 {
            last = last_of.get(&said.outer).copied().unwrap_or(said);
        }
        below += 1;
        Some(Line { range: start..end, below: below - 1, speaker: last })
    })
}

/// Says whether more than one program wrote the lines of `range`.
pub fn are_several(text: &[u8], range: Range<usize>) -> bool {
    let mut known = Speaker::default();
    lines(text, range).any(|line| {
        let is_other = line.speaker.is_other(known);
        known = known.max(line.speaker);
        is_other
    })
}

/// Says which program wrote the line at `place`, and how many wrote the lines of `range`, at least 1.
pub fn around(text: &[u8], range: Range<usize>, place: usize) -> (Speaker, u32) {
    let (mut speaker, mut all) = (Speaker::default(), BTreeSet::new());
    for line in lines(text, range).filter(|line| line.speaker != Speaker::default()) {
        all.insert(line.speaker);
        if line.range.start <= place {
            speaker = line.speaker;
        }
    }
    (speaker, u32::try_from(all.len()).unwrap_or(u32::MAX).max(1))
}

/// Sorts the lines of `range` by the program that wrote them.
pub fn by_speaker(text: &[u8], range: Range<usize>) -> BTreeMap<Speaker, Vec<Line>> {
    let mut sorted: BTreeMap<Speaker, Vec<Line>> = BTreeMap::new();
    lines(text, range).for_each(|line| sorted.entry(line.speaker).or_default().push(line));
    sorted
}

/// Lists the lines after the one in `line`, which ends in a line break, that the same program wrote; none when the next
/// one is its own, or does not say whose it is.
pub fn own_lines_after(text: &[u8], line: Range<usize>, most: usize) -> Vec<Range<usize>> {
    let mut own = Vec::new();
    let next = speaker_at(text, line.end + 1);
    if next == Speaker::default() {
        return own;
    }
    let speaker = speaker_at(text, line.start);
    if !speaker.is_other(next) {
        return own;
    }
    for line in lines(text, line.end + 1..text.len()).take(most * MOST) {
        if !speaker.is_other(line.speaker) {
            own.push(line.range);
            if own.len() == most {
                break;
            }
        }
    }
    own
}

#[cfg(test)]
mod tests {
    use super::*;

    const LOG: &[u8] = b"make: entering\n[rank0]: a\n[rank1]: b\n[rank0]: c\n  of c\n[rank1]: d";

    fn shown(lines: &[Line]) -> String {
        let shown = lines.iter().map(|line| String::from_utf8_lossy(&LOG[line.range.clone()]));
        shown.collect::<Vec<_>>().join("+")
    }

    #[test]
    fn lines_by_their_speakers() {
        assert!(are_several(LOG, 0..LOG.len()) && !are_several(LOG, 0..25));
        let sorted = by_speaker(LOG, 0..LOG.len());
        let sorted: BTreeSet<String> = sorted.values().map(|lines| shown(lines)).collect();
        let expected = ["make: entering", "[rank0]: a+[rank0]: c+  of c", "[rank1]: b+[rank1]: d"];
        assert_eq!(sorted, expected.map(str::to_owned).into());
        let rank = |place| around(LOG, 0..LOG.len(), place);
        assert_eq!(rank(0), (Speaker::default(), 2));
        assert_eq!((rank(15).0, around(LOG, 0..25, 15)), (rank(48).0, (rank(15).0, 1)));
        let own = own_lines_after(LOG, 15..25, 8);
        let own: Vec<&[u8]> = own.into_iter().map(|line| &LOG[line]).collect();
        assert_eq!(own, [&b"[rank0]: c"[..], b"  of c"]);
        assert!(own_lines_after(LOG, 0..14, 8).is_empty());
    }

    #[test]
    fn a_rank_in_a_container_goes_on_where_the_container_does() {
        let log = b"app-1  | x\ndb-1   | x\napp-1  | [rank0]: a\ndb-1   | y\napp-1  | b";
        let sizes: Vec<usize> = by_speaker(log, 0..log.len()).values().map(Vec::len).collect();
        assert_eq!(sizes.iter().sum::<usize>(), 5);
        assert!(sizes.contains(&2) && are_several(log, 0..log.len()));
        assert!(!are_several(b"app-1  | x\napp-1  | [rank0]: a\napp-1  | b", 0..38));
        assert!(are_several(b"app-1  | [rank0]: a\napp-1  | [rank1]: a", 0..39));
    }
}
