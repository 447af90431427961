//! Where a log's bytes lie while they are searched: they are read in place, searched there, and moved seldom.
//!
//! A chunk takes several blocks. When it is full, only the context that is still needed goes to the next one, and the
//! full one is kept for the report on a log's end, as long as it is among the last.

use std::collections::VecDeque;

/// Read at once; must hold twice the reach of a match and something new.
pub const BLOCK: usize = 256 << 10;
/// Room of several blocks and of the context before them.
pub const CHUNK: usize = 8 * BLOCK;

/// Whether full chunks are kept.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Keep {
    Nothing,
    /// At least so many last bytes.
    Last(usize),
}

/// The part of a log that is being searched.
pub struct Blocks {
    chunk: Vec<u8>,
    /// What is before this is no longer needed.
    base: usize,
    filled: usize,
    /// The current block ends here.
    end: usize,
    keep: Keep,
    full: VecDeque<Vec<u8>>,
}

impl Blocks {
    pub fn new(keep: Keep) -> Self {
        Self { chunk: vec![0; CHUNK], base: 0, filled: 0, end: BLOCK, keep, full: VecDeque::new() }
    }

    /// The bytes that are needed.
    pub fn text(&self) -> &[u8] {
        &self.chunk[self.base..self.filled]
    }

    /// Where the next bytes of the block go.
    pub fn room(&mut self) -> &mut [u8] {
        &mut self.chunk[self.filled..self.end]
    }

    pub fn fill(&mut self, count: usize) {
        self.filled = (self.filled + count).min(self.end);
    }

    pub fn is_full(&self) -> bool {
        self.filled == self.end
    }

    /// Takes back what follows the first `length` bytes of the text.
    pub fn truncate(&mut self, length: usize) {
        self.filled = self.filled.min(self.base + length);
    }

    /// Takes `count` bytes out before anything else was read.
    pub fn skip(&mut self, count: usize) {
        self.chunk.copy_within(self.base + count..self.filled, self.base);
        self.filled -= count;
    }

    /// Begins the next block; the first `count` bytes of the text are no longer needed.
    pub fn pass(&mut self, count: usize) {
        self.base += count;
        if self.chunk.len() - self.filled < BLOCK {
            self.change();
        }
        self.end = self.filled + BLOCK;
    }

    /// Goes on in another chunk.
    fn change(&mut self) {
        let mut next = match self.keep {
            Keep::Nothing => None,
            Keep::Last(bytes) => {
                let kept: usize = self.full.iter().skip(1).map(Vec::len).sum();
                if kept >= bytes { self.full.pop_front() } else { None }
            }
        }
        .unwrap_or_default();
        if self.keep == Keep::Nothing {
            self.chunk.copy_within(self.base..self.filled, 0);
        } else {
            next.resize(CHUNK, 0);
            next[..self.filled - self.base].copy_from_slice(&self.chunk[self.base..self.filled]);
            std::mem::swap(&mut self.chunk, &mut next);
            // The capacity stays, so that the chunk can be used again.
            next.truncate(self.base);
            self.full.push_back(next);
        }
        self.filled -= self.base;
        self.base = 0;
    }

    /// Joins what is kept: the last `most` bytes of all.
    pub fn last(mut self, most: usize) -> Vec<u8> {
        let mut left = most.saturating_sub(self.filled);
        let mut parts = vec![&self.chunk[self.filled.saturating_sub(most)..self.filled]];
        for chunk in self.full.make_contiguous().iter().rev() {
            parts.push(&chunk[chunk.len().saturating_sub(left)..]);
            left = left.saturating_sub(chunk.len());
        }
        parts.reverse();
        parts.concat()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_last_bytes_stay() {
        for (size, step, most) in [(10, 3, 100), (5 * CHUNK + 77, BLOCK, 2 * CHUNK), (3 * CHUNK, 1000, CHUNK + 1)] {
            let bytes: Vec<u8> = (0..size).map(|index| (index / 7 % 251) as u8).collect();
            let mut blocks = Blocks::new(Keep::Last(most));
            let mut rest = &bytes[..];
            while !rest.is_empty() {
                let room = blocks.room();
                let count = room.len().min(step).min(rest.len());
                room[..count].copy_from_slice(&rest[..count]);
                blocks.fill(count);
                rest = &rest[count..];
                assert!(bytes[..size - rest.len()].ends_with(blocks.text()));
                if blocks.is_full() {
                    let passed = blocks.text().len().saturating_sub(50_000);
                    blocks.pass(passed);
                }
            }
            assert_eq!(blocks.last(most), &bytes[size.saturating_sub(most)..], "{size} {step}");
        }
    }
}
