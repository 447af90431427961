//! The matches of one pattern that are kept, and those of a rejoined log put to those of the log as it stands.

use std::collections::{BTreeMap, VecDeque};

use super::Hit;
use super::speakers::Speaker;
use super::unfold::Belief;
use super::window::{Match, REACH};

/// Hits kept of each pattern: so many first ones, and as many last ones.
const KEPT_EACH: usize = 32;
/// Of more programs, those are forgotten that were last heard of so far back.
const MOST_PROGRAMS: usize = 256;
const FAR: u64 = 4 * REACH as u64;

/// Hits of one pattern, each with its place in the log.
#[derive(Default)]
pub struct Kept {
    first: Vec<(u64, Hit)>,
    last: VecDeque<(u64, Hit)>,
    pub total: u64,
    /// Where the newest one of each program lies: those of several programs may lie in one another.
    newest: BTreeMap<Speaker, (u64, u64)>,
}

impl Kept {
    /// Takes a window's matches in order, writing out those that are kept.
    pub fn take(&mut self, matches: &[Match], write_out: impl Fn(&Match) -> Hit) {
        for (index, found) in matches.iter().enumerate() {
            if !self.is_new(found) {
                continue;
            }
            self.total += 1;
            if self.first.len() < KEPT_EACH {
                self.first.push((found.start, write_out(found)));
                continue;
            }
            if index + KEPT_EACH < matches.len() {
                continue;
            }
            if self.last.len() == KEPT_EACH {
                self.last.pop_front();
            }
            self.last.push_back((found.start, write_out(found)));
        }
    }

    /// Tells what was found again from the next anchor or block.
    fn is_new(&mut self, found: &Match) -> bool {
        let newest = |program: Speaker| self.newest.get(&program).copied().unwrap_or_default();
        let (own, of_all) = (newest(found.program), newest(Speaker::default()));
        if found.start < own.1 || (found.start == of_all.0 && found.start < of_all.1) {
            return false;
        }
        if self.newest.len() >= MOST_PROGRAMS {
            self.newest.retain(|_, (_, end)| *end + FAR > found.start);
        }
        self.newest.insert(found.program, (found.start, found.end));
        true
    }

    fn into_hits(self) -> impl Iterator<Item = (u64, Hit)> {
        self.first.into_iter().chain(self.last)
    }

    /// Adds what a rejoined text showed of the same pattern.
    fn add(&mut self, rejoined: Self, belief: Belief) {
        let total = self.total.max(rejoined.total);
        let mut plain: Vec<(u64, Hit)> = std::mem::take(self).into_hits().collect();
        let mut rejoined: Vec<(u64, Hit)> = rejoined.into_hits().collect();
        let overlap = |one: &Hit, other: &Hit| one.first_line <= other.last_line && other.first_line <= one.last_line;
        match belief {
            Belief::Strong => plain.retain(|(_, hit)| !rejoined.iter().any(|(_, other)| overlap(hit, other))),
            Belief::Weak => rejoined.retain(|(_, hit)| !plain.iter().any(|(_, other)| overlap(hit, other))),
        }
        plain.append(&mut rejoined);
        plain.sort_by_key(|(start, _)| *start);
        self.total = total.max(plain.len() as u64);
        self.last = plain.split_off(plain.len().min(KEPT_EACH)).into();
        self.last.drain(..self.last.len().saturating_sub(KEPT_EACH));
        self.first = plain;
    }
}

/// Adds the hits of a rejoined text to those of the log as it stands.
pub fn merge(kept: &mut BTreeMap<usize, Kept>, rejoined: BTreeMap<usize, Kept>, belief: Belief) {
    for (pattern, of_pattern) in rejoined {
        kept.entry(pattern).or_default().add(of_pattern, belief);
    }
}

/// Lists all hits in order of appearance.
pub fn in_order(kept: BTreeMap<usize, Kept>) -> Vec<Hit> {
    let mut hits: Vec<(u64, Hit)> = kept.into_values().flat_map(Kept::into_hits).collect();
    hits.sort_by_key(|(start, hit)| (*start, hit.pattern));
    hits.into_iter().map(|(_, hit)| hit).collect()
}
