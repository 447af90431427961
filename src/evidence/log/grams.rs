//! The prefilter: finds all literals in one pass that looks at one short gram every few bytes.
//!
//! A literal of `m` bytes holds, wherever it stands, a gram of `q` bytes at one of any `m - q + 1` neighbouring places.
//! So it is enough to look every `m - q + 1` bytes: hash the gram, test one byte of a table, and only on a hit compare
//! literals. The cost does not grow with the number of literals and no step depends on the one before, so the loads
//! overlap. Letters are folded by setting one bit, which costs nothing. Two tables: long literals pay for a wide
//! stride, the few short ones have a pass of their own, so that they do not narrow it.

/// Where a literal stands.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub struct Found {
    pub start: usize,
    pub end: usize,
    pub literal: usize,
}

/// Shorter literals cannot be found.
pub const LEAST_BYTES: usize = SHORT;

const LONG: usize = 8;
const SHORT: usize = 5;
/// From here on a literal goes to the table of the long ones.
const LONG_BYTES: usize = 12;
const MOST_STRIDE: usize = 9;
const SLOT_BITS: u32 = 16;
const SLOTS: usize = 1 << SLOT_BITS;
/// Grams looked at in one round.
const ROUND: usize = 8;
const FOLD: u64 = 0x2020_2020_2020_2020;
const FREE: u8 = 0;
/// Grams with different tags share the slot.
const SHARED: u8 = 1;

/// Finds any of a fixed set of literals, ASCII case aside.
#[derive(Debug)]
pub struct Literals {
    literals: Vec<Vec<u8>>,
    long: Option<Table<LONG>>,
    short: Option<Table<SHORT>>,
    longest: usize,
}

impl Literals {
    /// Builds the tables; a literal shorter than [`LEAST_BYTES`] is never found.
    pub fn new(literals: Vec<Vec<u8>>) -> Self {
        let of = |range: std::ops::Range<usize>| -> Vec<usize> {
            (0..literals.len()).filter(|index| range.contains(&literals[*index].len())).collect()
        };
        Self {
            long: Table::new(&literals, &of(LONG_BYTES..usize::MAX)),
            short: Table::new(&literals, &of(SHORT..LONG_BYTES)),
            longest: literals.iter().map(Vec::len).max().unwrap_or(0),
            literals,
        }
    }

    /// Appends what starts in `from..to`, in no order; text after `to` may be looked at.
    pub fn find(&self, text: &[u8], from: usize, to: usize, found: &mut Vec<Found>) {
        let to = to.min(text.len());
        let text = &text[..(to + self.longest).min(text.len())];
        if let Some(table) = &self.long {
            table.find(&self.literals, text, from, to, found);
        }
        if let Some(table) = &self.short {
            table.find(&self.literals, text, from, to, found);
        }
    }
}

/// One gram of a literal.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
struct Gram {
    folded: u64,
    literal: usize,
    offset: usize,
}

/// Grams of `Q` bytes.
#[derive(Debug)]
struct Table<const Q: usize> {
    stride: usize,
    /// [`FREE`], [`SHARED`], or the tag of the only gram there.
    slots: Box<[u8; SLOTS]>,
    /// Sorted.
    grams: Vec<Gram>,
}

impl<const Q: usize> Table<Q> {
    const MASK: u64 = if Q == 8 { u64::MAX } else { (1 << (Q * 8)) - 1 };

    fn new(literals: &[Vec<u8>], chosen: &[usize]) -> Option<Self> {
        let shortest = chosen.iter().map(|index| literals[*index].len()).min()?;
        let stride = (shortest + 1 - Q).min(MOST_STRIDE);
        let mut table =
            Self { stride, slots: vec![FREE; SLOTS].try_into().expect("made with that length"), grams: vec![] };
        for &literal in chosen {
            let bytes = &literals[literal];
            // Any stretch of `stride` grams will do; the middle is seldom a word's common ending or beginning.
            let first = (bytes.len() + 1 - Q - stride) / 2;
            for offset in first..first + stride {
                let folded = Self::gram(bytes, offset);
                let (slot, tag) = hash(folded);
                let known = table.slots[slot];
                table.slots[slot] = if known == FREE || known == tag { tag } else { SHARED };
                table.grams.push(Gram { folded, literal, offset });
            }
        }
        table.grams.sort_unstable();
        Some(table)
    }

    /// Reads a gram that may stand at the end of the text.
    fn gram(text: &[u8], at: usize) -> u64 {
        let mut bytes = [0; 8];
        bytes[..Q].copy_from_slice(&text[at..at + Q]);
        (u64::from_le_bytes(bytes) | FOLD) & Self::MASK
    }

    fn find(&self, literals: &[Vec<u8>], text: &[u8], from: usize, to: usize, found: &mut Vec<Found>) {
        // The stride as a constant lets the compiler drop all bounds checks of a round.
        match self.stride {
            1 => self.find_by::<1>(literals, text, from, to, found),
            2 => self.find_by::<2>(literals, text, from, to, found),
            3 => self.find_by::<3>(literals, text, from, to, found),
            4 => self.find_by::<4>(literals, text, from, to, found),
            5 => self.find_by::<5>(literals, text, from, to, found),
            6 => self.find_by::<6>(literals, text, from, to, found),
            7 => self.find_by::<7>(literals, text, from, to, found),
            8 => self.find_by::<8>(literals, text, from, to, found),
            _ => self.find_by::<MOST_STRIDE>(literals, text, from, to, found),
        }
    }

    fn find_by<const STRIDE: usize>(
        &self,
        literals: &[Vec<u8>],
        text: &[u8],
        from: usize,
        to: usize,
        found: &mut Vec<Found>,
    ) {
        let mut at = from;
        loop {
            while let Some(round) = text.get(at..at + ROUND * STRIDE + 8) {
                let mut any = FREE;
                for index in 0..ROUND {
                    any |= self.slot(&round[index * STRIDE..index * STRIDE + 8]);
                }
                if any != FREE {
                    break;
                }
                at += ROUND * STRIDE;
            }
            for _ in 0..ROUND {
                if at + Q > text.len() {
                    return;
                }
                self.confirm(literals, text, at, from, to, found);
                at += STRIDE;
            }
        }
    }

    #[inline(always)]
    fn slot(&self, bytes: &[u8]) -> u8 {
        let gram = u64::from_le_bytes(bytes.try_into().expect("eight bytes were cut"));
        self.slots[hash((gram | FOLD) & Self::MASK).0]
    }

    #[inline]
    fn confirm(&self, literals: &[Vec<u8>], text: &[u8], at: usize, from: usize, to: usize, found: &mut Vec<Found>) {
        let folded = Self::gram(text, at);
        let (slot, tag) = hash(folded);
        let known = self.slots[slot];
        if known != tag && known != SHARED {
            return;
        }
        let first = self.grams.partition_point(|gram| gram.folded < folded);
        for gram in self.grams[first..].iter().take_while(|gram| gram.folded == folded) {
            let Some(start) = at.checked_sub(gram.offset) else { continue };
            let literal = &literals[gram.literal];
            let end = start + literal.len();
            if start >= from && start < to && end <= text.len() && text[start..end].eq_ignore_ascii_case(literal) {
                found.push(Found { start, end, literal: gram.literal });
            }
        }
    }
}

/// Returns the slot of a gram, and a tag out of other bits, never [`FREE`] nor [`SHARED`].
#[inline(always)]
fn hash(folded: u64) -> (usize, u8) {
    let mixed = folded.wrapping_mul(0x9E37_79B9_7F4A_7C15);
    ((mixed >> (64 - SLOT_BITS)) as usize, (mixed >> 32) as u8 | 2)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn naive(literals: &[&str], text: &[u8], from: usize, to: usize) -> Vec<Found> {
        let mut found = Vec::new();
        for (index, literal) in literals.iter().enumerate() {
            for start in from..to.min(text.len()) {
                let end = start + literal.len();
                if end <= text.len() && text[start..end].eq_ignore_ascii_case(literal.as_bytes()) {
                    found.push(Found { start, end, literal: index });
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
                            tables.find(&text, from, to, &mut found);
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
        Literals::new(Vec::new()).find(b"text", 0, 4, &mut found);
        assert!(found.is_empty());
    }
}
