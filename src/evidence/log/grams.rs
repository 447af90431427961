//! The prefilter: finds all literals in one pass that looks at one short gram every few bytes.
//!
//! A literal of `m` bytes holds, wherever it stands, a gram of `q` bytes at one of any `m - q + 1` neighbouring places.
//! So it is enough to look every `m - q + 1` bytes: hash the gram, test a slot in either of two tables, and only on a
//! hit compare literals. The cost does not grow with the number of literals and no step depends on the one before, so
//! the loads overlap. Letters are folded by setting one bit, which costs nothing. The few literals that are too short
//! for the stride have a pass of their own, if there are any.

use std::ops::Range;

use super::breaks::Breaks;
use super::window::Place;

/// Shorter literals cannot be found.
pub const LEAST_BYTES: usize = SHORT;

const LONG: usize = 7;
const SHORT: usize = 5;
/// From here on a literal goes to the table of the long ones.
const LONG_BYTES: usize = 11;
const MOST_STRIDE: usize = 7;
/// Two tables of 32 KiB, of which few lines are in use at a time; random text passes less than one time in a thousand.
const SLOT_BITS: u32 = 15;
const SLOTS: usize = 1 << SLOT_BITS;
/// Grams that passed are looked up in so many buckets.
const BUCKET_BITS: u32 = 13;
/// Grams looked at in one round.
const ROUND: usize = 8;
const FOLD: u64 = 0x2020_2020_2020_2020;
const MIX: u64 = 0x9E37_79B9_7F4A_7C15;

/// What good builds print all the time: a literal is looked for by a part of it that does not stand here.
const ORDINARY: &[u8] = include_bytes!("ordinary.txt");

/// Finds any of a fixed set of literals, ASCII case aside.
#[derive(Debug)]
pub struct Literals {
    literals: Vec<Vec<u8>>,
    long: Option<Table<LONG>>,
    short: Option<Table<SHORT>>,
    longest: usize,
    breaks: Breaks,
}

impl Literals {
    /// Builds the tables; a literal shorter than [`LEAST_BYTES`] is never found.
    pub fn new(literals: Vec<Vec<u8>>) -> Self {
        let of = |range: Range<usize>| -> Vec<usize> {
            (0..literals.len()).filter(|index| range.contains(&literals[*index].len())).collect()
        };
        Self {
            long: Table::new(&literals, &of(LONG_BYTES..usize::MAX)),
            short: Table::new(&literals, &of(SHORT..LONG_BYTES)),
            longest: literals.iter().map(Vec::len).max().unwrap_or(0),
            breaks: Breaks::new(literals.clone()),
            literals,
        }
    }

    /// Finds the same literals where they are cut at a space.
    pub fn breaks(&self) -> &Breaks {
        &self.breaks
    }

    /// Adds what starts in `range`, in no order; text after it may be looked at.
    pub fn find(&self, text: &[u8], range: Range<usize>, mut found: impl FnMut(usize, Place)) {
        let end = range.end.min(text.len());
        let area = Area { text: &text[..(end + self.longest).min(text.len())], starts: range.start..end };
        if let Some(table) = &self.long {
            table.find(&self.literals, &area, &mut found);
        }
        if let Some(table) = &self.short {
            table.find(&self.literals, &area, &mut found);
        }
    }
}

/// A text and where literals of interest start in it.
struct Area<'a> {
    text: &'a [u8],
    starts: Range<usize>,
}

/// One gram of a literal.
#[derive(Debug, Clone, Copy)]
struct Gram {
    folded: u64,
    literal: usize,
    offset: usize,
}

/// Grams of `Q` bytes.
#[derive(Debug)]
struct Table<const Q: usize> {
    stride: usize,
    /// One bit for each gram, the same in either, at places that differ.
    first: Box<[u8; SLOTS]>,
    second: Box<[u8; SLOTS]>,
    /// Where the grams of each bucket begin, and in the end their number.
    buckets: Vec<u32>,
    /// In the order of their buckets.
    grams: Vec<Gram>,
}

impl<const Q: usize> Table<Q> {
    const MASK: u64 = if Q == 8 { u64::MAX } else { (1 << (Q * 8)) - 1 };
    /// Leaves nothing of the bytes after a gram in the product.
    const FACTOR: u64 = MIX << (64 - Q * 8);

    fn new(literals: &[Vec<u8>], chosen: &[usize]) -> Option<Self> {
        let shortest = chosen.iter().map(|index| literals[*index].len()).min()?;
        let stride = (shortest + 1 - Q).min(MOST_STRIDE);
        let ordinary = Ordinary::new(Q);
        let mut grams = Vec::new();
        for &literal in chosen {
            let bytes = &literals[literal];
            let common = |first: &usize| {
                (*first..first + stride).map(|at| ordinary.count(hash::<Q>(Self::gram(bytes, at)))).sum::<u32>()
            };
            // Any stretch of `stride` grams will do.
            let first = (0..=bytes.len() + 1 - Q - stride).min_by_key(common).unwrap_or(0);
            grams.extend((first..first + stride).map(|offset| Gram {
                folded: Self::gram(bytes, offset),
                literal,
                offset,
            }));
        }
        let slots = || vec![0; SLOTS].try_into().expect("made with that length");
        let mut table =
            Self { stride, first: slots(), second: slots(), buckets: vec![0; (1 << BUCKET_BITS) + 1], grams };
        table.grams.sort_by_key(|gram| bucket(hash::<Q>(gram.folded)));
        for gram in &table.grams {
            let product = hash::<Q>(gram.folded);
            table.first[first(product)] |= 1 << (product >> 32 & 7);
            table.second[second(product)] |= 1 << (product >> 32 & 7);
            table.buckets[bucket(product) + 1] += 1;
        }
        for index in 0..1 << BUCKET_BITS {
            table.buckets[index + 1] += table.buckets[index];
        }
        Some(table)
    }

    /// Reads a gram that may stand at the end of the text.
    fn gram(text: &[u8], at: usize) -> u64 {
        let mut bytes = [0; 8];
        bytes[..Q].copy_from_slice(&text[at..at + Q]);
        (u64::from_le_bytes(bytes) | FOLD) & Self::MASK
    }

    fn find(&self, literals: &[Vec<u8>], area: &Area<'_>, found: &mut impl FnMut(usize, Place)) {
        // The stride as a constant lets the compiler drop all bounds checks of a round.
        match self.stride {
            1 => self.find_by::<1>(literals, area, found),
            2 => self.find_by::<2>(literals, area, found),
            3 => self.find_by::<3>(literals, area, found),
            4 => self.find_by::<4>(literals, area, found),
            5 => self.find_by::<5>(literals, area, found),
            6 => self.find_by::<6>(literals, area, found),
            _ => self.find_by::<MOST_STRIDE>(literals, area, found),
        }
    }

    fn find_by<const STRIDE: usize>(
        &self,
        literals: &[Vec<u8>],
        area: &Area<'_>,
        found: &mut impl FnMut(usize, Place),
    ) {
        let text = area.text;
        let mut at = area.starts.start;
        loop {
            while let Some(round) = text.get(at..at + ROUND * STRIDE + 8) {
                let mut any = 0u8;
                for index in 0..ROUND {
                    let bytes = &round[index * STRIDE..index * STRIDE + 8];
                    any |= self.passes(u64::from_le_bytes(bytes.try_into().expect("eight bytes were cut")));
                }
                if any != 0 {
                    break;
                }
                at += ROUND * STRIDE;
            }
            for _ in 0..ROUND {
                if at + Q > text.len() {
                    return;
                }
                let gram = Self::gram(text, at);
                if self.passes(gram) != 0 {
                    self.confirm(literals, area, gram, at, found);
                }
                at += STRIDE;
            }
        }
    }

    /// Returns zero for a gram that is not known, and for nearly no other.
    #[inline(always)]
    fn passes(&self, bytes: u64) -> u8 {
        let product = hash::<Q>(bytes | FOLD);
        self.first[first(product)] & self.second[second(product)]
    }

    #[cold]
    fn confirm(
        &self,
        literals: &[Vec<u8>],
        area: &Area<'_>,
        folded: u64,
        at: usize,
        found: &mut impl FnMut(usize, Place),
    ) {
        let bucket = bucket(hash::<Q>(folded));
        let grams = &self.grams[self.buckets[bucket] as usize..self.buckets[bucket + 1] as usize];
        for gram in grams.iter().filter(|gram| gram.folded == folded) {
            let Some(start) = at.checked_sub(gram.offset) else { continue };
            let literal = &literals[gram.literal];
            let Some(text) = area.text.get(start..start + literal.len()) else { continue };
            if area.starts.contains(&start) && text.eq_ignore_ascii_case(literal) {
                found(gram.literal, Place { start, end: start + literal.len() });
            }
        }
    }
}

/// Mixes the first `Q` bytes, which are folded; the high bits are good.
#[inline(always)]
fn hash<const Q: usize>(folded: u64) -> u64 {
    folded.wrapping_mul(Table::<Q>::FACTOR)
}

#[inline(always)]
fn first(product: u64) -> usize {
    (product >> (64 - SLOT_BITS)) as usize
}

#[inline(always)]
fn second(product: u64) -> usize {
    (product >> (64 - 2 * SLOT_BITS)) as usize & (SLOTS - 1)
}

fn bucket(product: u64) -> usize {
    (product >> (64 - BUCKET_BITS)) as usize
}

/// How often the grams of ordinary text stand there, roughly.
struct Ordinary {
    counts: Vec<u16>,
}

impl Ordinary {
    const BITS: u32 = 16;

    fn new(q: usize) -> Self {
        let mut counts = vec![0u16; 1 << Self::BITS];
        for gram in ORDINARY.windows(q) {
            let mut bytes = [0; 8];
            bytes[..q].copy_from_slice(gram);
            let product = (u64::from_le_bytes(bytes) | FOLD).wrapping_mul(MIX << (64 - q * 8));
            let count = &mut counts[(product >> (64 - Self::BITS)) as usize];
            *count = count.saturating_add(1);
        }
        Self { counts }
    }

    fn count(&self, product: u64) -> u32 {
        u32::from(self.counts[(product >> (64 - Self::BITS)) as usize])
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn naive(literals: &[&str], text: &[u8], from: usize, to: usize) -> Vec<(usize, Place)> {
        let mut found = Vec::new();
        for (index, literal) in literals.iter().enumerate() {
            for start in from..to.min(text.len()) {
                let end = start + literal.len();
                if end <= text.len() && text[start..end].eq_ignore_ascii_case(literal.as_bytes()) {
                    found.push((index, Place { start, end }));
                }
            }
        }
        found.sort_unstable();
        found
    }

    #[test]
    fn finds_each_literal_at_each_alignment() {
        let sets: &[&[&str]] = &[
            &["/bin/sh:", "was not found in the PATH", "Does not match the", "generator used previously"],
            &["LLVMCGData", "LLVMC", "LLVMCGDataLLVMCGData"],
            &["aaaaaaaaaaaa", "aaaaaaaaaaaaaaaaaaaa"],
            &["a sixteen bytes!", "another nineteen by"],
        ];
        for literals in sets {
            let tables = Literals::new(literals.iter().map(|literal| literal.as_bytes().to_vec()).collect());
            for literal in literals.iter() {
                for before in 0..80 {
                    for after in [0, 1, 7, 90] {
                        let mut text = vec![b'e'; before];
                        text.extend(literal.to_ascii_uppercase().bytes());
                        text.extend(vec![b'a'; after]);
                        for (from, to) in [(0, text.len()), (before, before + 1), (before + 1, text.len()), (0, before)]
                        {
                            let mut found = Vec::new();
                            tables.find(&text, from..to, |literal, place| found.push((literal, place)));
                            found.sort_unstable();
                            assert_eq!(
                                found,
                                naive(literals, &text, from, to),
                                "{literal} {before} {after} {from}..{to}"
                            );
                        }
                    }
                }
            }
        }
    }

    #[test]
    fn without_literals_nothing_is_found() {
        let mut found = Vec::new();
        Literals::new(Vec::new()).find(b"text", 0..4, |literal, _| found.push(literal));
        assert!(found.is_empty());
    }
}
