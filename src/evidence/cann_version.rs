//! Versions of CANN and their order: alpha, beta, release candidate, release.

use std::cmp::Ordering;

/// `8.0.RC3`, `8.5.0.alpha001`, `9.0.0-beta.2`, `9.1.0`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct CannVersion {
    numbers: [u32; 3],
    stage: Stage,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum Stage {
    Alpha(u32),
    Beta(u32),
    Candidate(u32),
    Release,
}

impl CannVersion {
    /// Reads a version; `None` for anything that is none.
    pub fn parse(text: &str) -> Option<Self> {
        let lower = text.trim().to_ascii_lowercase();
        let mut numbers = Vec::new();
        let mut parts = lower.split(['.', '-']).peekable();
        while let Some(number) = parts.peek().and_then(|part| part.parse::<u32>().ok()) {
            numbers.push(number);
            parts.next();
        }
        let rest: String = parts.collect();
        let letters = rest.trim_end_matches(|c: char| c.is_ascii_digit());
        let digits = &rest[letters.len()..];
        let number = if digits.is_empty() { 0 } else { digits.parse().ok()? };
        let stage = match (letters, digits.is_empty()) {
            ("", true) => Stage::Release,
            ("alpha", _) => Stage::Alpha(number),
            ("beta", _) => Stage::Beta(number),
            ("rc", false) => Stage::Candidate(number),
            _ => return None,
        };
        let numbers: [u32; 3] = match numbers.as_slice() {
            [major, minor] => [*major, *minor, 0],
            [major, minor, patch] | [major, minor, patch, _] => [*major, *minor, *patch],
            _ => return None,
        };
        Some(Self { numbers, stage })
    }
}

impl PartialOrd for CannVersion {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

impl Ord for CannVersion {
    fn cmp(&self, other: &Self) -> Ordering {
        (self.numbers, self.stage).cmp(&(other.numbers, other.stage))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn versions_in_their_order() {
        let order = [
            "7.0.0",
            "8.0.RC1",
            "8.0.RC3",
            "8.0.0",
            "8.3.RC2",
            "8.5.0.alpha001",
            "8.5.0.alpha002",
            "8.5.0",
            "9.0.0-beta.2",
            "9.0.0",
            "9.1.0.alpha001",
            "9.1.0",
        ];
        for pair in order.windows(2) {
            let [one, other] = [pair[0], pair[1]].map(|text| CannVersion::parse(text).unwrap());
            assert!(one < other, "{pair:?}");
        }
        assert_eq!(CannVersion::parse("9.1"), CannVersion::parse("9.1.0"));
        for text in ["", "x", "9", "9.1.rc", "9.1.0.gamma1", "latest", "V100R001C21"] {
            assert_eq!(CannVersion::parse(text), None, "{text}");
        }
    }
}
