//! The prefilter: finds all literals in one pass that looks at one short gram every few bytes.
//!
//! A literal of `m` bytes holds, wherever it stands, a gram of `q` bytes at one of any `m - q + 1` neighbouring places.
//! So it is enough to look every `m - q + 1` bytes: hash the gram, test one bit of a table, and only on a hit compare
//! literals. The cost does not grow with the number of literals and no step depends on the one before, so the loads
//! overlap. Letters are folded by setting one bit, which costs nothing. Two tables: long literals pay for a wide
//! stride, the few short ones have a pass of their own, so that they do not narrow it.

use std::collections::BTreeSet;
use std::ops::Range;

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
/// 32 KiB a table: most of it stays in the nearest cache, and random text hits less than one bit in a hundred.
const WORD_BITS: u32 = 12;
const WORDS: usize = 1 << WORD_BITS;
/// Grams looked at in one round.
const ROUND: usize = 8;
const FOLD: u64 = 0x2020_2020_2020_2020;

/// What good builds print all the time: a literal is looked for by a part of it that does not stand here.
const ORDINARY: &[u8] = b"[12/99] Building CXX object lib/CMakeFiles/dir/src/file.cpp.o Linking CXX static library shared \
    executable /usr/bin/c++ -DNDEBUG -D_GNU_SOURCE -I/home/user/build/include -isystem -Wall -Wextra -Wno-unused-parameter \
    -Werror -fPIC -std=gnu++17 -MD -MT -MF /usr/lib/x86_64-linux-gnu/ third_party/ tools/ test/ unittest python3.11 \
    site-packages /opt/llvm/bin/ -- Looking for -- Found -- Performing Test HAVE -- Success -- Failed - not found \
    -- Could NOT find (missing: LIBRARY INCLUDE_DIR) -- Check for working C compiler: /usr/bin/cc - skipped \
    -- Detecting CXX compiler ABI info - done compile features - done -- The CXX compiler identification is GNU \
    -- Configuring done -- Generating done -- Build files have been written to: warning: unused variable \
    [-Wunused-variable] note: in instantiation of member function requested here In file included from required from \
    error undefined reference to symbol Collecting Downloading https://files.pythonhosted.org/packages Requirement \
    already satisfied: in /usr/lib/python3/dist-packages Installing collected packages: Successfully installed \
    Building wheels for collected packages: running build_ext running egg_info copying adding creating build/lib \
    writing manifest file 'SOURCES.txt' reading Traceback (most recent call last): File line in <module> return \
    self. import raise Error Exception make[1]: Entering directory Leaving directory Nothing to be done for 'all'. \
    WARNING: The directory is not writable by the current user. Created Release Debug passed failed errors";

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
        let of = |range: Range<usize>| -> Vec<usize> {
            (0..literals.len()).filter(|index| range.contains(&literals[*index].len())).collect()
        };
        Self {
            long: Table::new(&literals, &of(LONG_BYTES..usize::MAX)),
            short: Table::new(&literals, &of(SHORT..LONG_BYTES)),
            longest: literals.iter().map(Vec::len).max().unwrap_or(0),
            literals,
        }
    }

    /// Appends what starts in `range`, in no order; text after it may be looked at.
    pub fn find(&self, text: &[u8], range: Range<usize>, found: &mut Vec<Found>) {
        let end = range.end.min(text.len());
        let area = Area { text: &text[..(end + self.longest).min(text.len())], starts: range.start..end };
        if let Some(table) = &self.long {
            table.find(&self.literals, &area, found);
        }
        if let Some(table) = &self.short {
            table.find(&self.literals, &area, found);
        }
    }
}

/// A text and where literals of interest start in it.
struct Area<'a> {
    text: &'a [u8],
    starts: Range<usize>,
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
    /// A bit for each gram's hash.
    bits: Box<[u64; WORDS]>,
    /// Sorted.
    grams: Vec<Gram>,
}

impl<const Q: usize> Table<Q> {
    const MASK: u64 = if Q == 8 { u64::MAX } else { (1 << (Q * 8)) - 1 };

    fn new(literals: &[Vec<u8>], chosen: &[usize]) -> Option<Self> {
        let shortest = chosen.iter().map(|index| literals[*index].len()).min()?;
        let stride = (shortest + 1 - Q).min(MOST_STRIDE);
        let bits = vec![0; WORDS].try_into().expect("made with that length");
        let mut table = Self { stride, bits, grams: Vec::new() };
        let ordinary: BTreeSet<u64> = (0..=ORDINARY.len() - Q).map(|at| Self::gram(ORDINARY, at)).collect();
        for &literal in chosen {
            let bytes = &literals[literal];
            let common = |first: &usize| {
                (*first..first + stride).filter(|at| ordinary.contains(&Self::gram(bytes, *at))).count()
            };
            // Any stretch of `stride` grams will do.
            let first = (0..=bytes.len() + 1 - Q - stride).min_by_key(common).unwrap_or(0);
            for offset in first..first + stride {
                let folded = Self::gram(bytes, offset);
                let (word, bit) = hash(folded);
                table.bits[word] |= 1 << bit;
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

    fn find(&self, literals: &[Vec<u8>], area: &Area<'_>, found: &mut Vec<Found>) {
        // The stride as a constant lets the compiler drop all bounds checks of a round.
        match self.stride {
            1 => self.find_by::<1>(literals, area, found),
            2 => self.find_by::<2>(literals, area, found),
            3 => self.find_by::<3>(literals, area, found),
            4 => self.find_by::<4>(literals, area, found),
            5 => self.find_by::<5>(literals, area, found),
            6 => self.find_by::<6>(literals, area, found),
            7 => self.find_by::<7>(literals, area, found),
            8 => self.find_by::<8>(literals, area, found),
            _ => self.find_by::<MOST_STRIDE>(literals, area, found),
        }
    }

    fn find_by<const STRIDE: usize>(&self, literals: &[Vec<u8>], area: &Area<'_>, found: &mut Vec<Found>) {
        let text = area.text;
        let mut at = area.starts.start;
        loop {
            while let Some(round) = text.get(at..at + ROUND * STRIDE + 8) {
                let mut any = 0;
                for index in 0..ROUND {
                    let bytes = &round[index * STRIDE..index * STRIDE + 8];
                    any |= self.shifted(u64::from_le_bytes(bytes.try_into().expect("eight bytes were cut")));
                }
                if any & 1 != 0 {
                    break;
                }
                at += ROUND * STRIDE;
            }
            for _ in 0..ROUND {
                if at + Q > text.len() {
                    return;
                }
                let gram = Self::gram(text, at);
                if self.shifted(gram) & 1 != 0 {
                    self.confirm(literals, area, gram, at, found);
                }
                at += STRIDE;
            }
        }
    }

    /// Returns the bit of a gram in the lowest place, others above it.
    #[inline(always)]
    fn shifted(&self, bytes: u64) -> u64 {
        let (word, bit) = hash((bytes | FOLD) & Self::MASK);
        self.bits[word] >> bit
    }

    fn confirm(&self, literals: &[Vec<u8>], area: &Area<'_>, folded: u64, at: usize, found: &mut Vec<Found>) {
        let first = self.grams.partition_point(|gram| gram.folded < folded);
        for gram in self.grams[first..].iter().take_while(|gram| gram.folded == folded) {
            let Some(start) = at.checked_sub(gram.offset) else { continue };
            let literal = &literals[gram.literal];
            let Some(text) = area.text.get(start..start + literal.len()) else { continue };
            if area.starts.contains(&start) && text.eq_ignore_ascii_case(literal) {
                found.push(Found { start, end: start + literal.len(), literal: gram.literal });
            }
        }
    }
}

/// Returns the word and the bit of a gram.
#[inline(always)]
fn hash(folded: u64) -> (usize, u32) {
    let mixed = folded.wrapping_mul(0x9E37_79B9_7F4A_7C15);
    ((mixed >> (64 - WORD_BITS)) as usize, (mixed >> 40) as u32 & 63)
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
                            tables.find(&text, from..to, &mut found);
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
        Literals::new(Vec::new()).find(b"text", 0..4, &mut found);
        assert!(found.is_empty());
    }
}
