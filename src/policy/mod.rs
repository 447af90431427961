//! What a project says about findings: which count, which are known and accepted, and from which on a check fails.
//!
//! It only sorts what was found. It never changes a finding, and what it takes out is counted and told.

mod baseline;
mod config;
mod pattern;

pub use baseline::{Baseline, BaselineError};
pub use config::{FAIL_ON, FILE, LONGEST, read};
pub use pattern::{matches_name, matches_path};

use crate::recipe::reader::Day;
use crate::report::{Confidence, Finding, Place, Suppressed, SuppressedBy};

/// The project's word, from `fix.toml` and the command line.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Policy {
    /// Only these; empty is all.
    pub select: Vec<String>,
    pub ignore: Vec<String>,
    pub fail_on: Option<FailOn>,
    pub comments: Comments,
    /// The file of findings that were there before, as it is named beside the configuration.
    pub baseline: Option<String>,
    pub suppress: Vec<Suppression>,
}

/// From which confidence on a check fails.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum FailOn {
    Possible,
    Likely,
    Certain,
    Never,
}

/// Whether `fix: ignore[…]` comments count.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum Comments {
    #[default]
    Honour,
    Refuse,
}

/// A finding that is known and accepted.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Suppression {
    pub id: String,
    /// A file, a folder, or a pattern; everywhere when absent.
    pub path: Option<String>,
    pub reason: String,
    /// The last day that it counts.
    pub expires: Option<Day>,
    /// Where it stands: `fix.toml:12`.
    pub stands_at: String,
}

/// Names under which a finding is known: id, slug, aliases.
pub type Names<'a> = &'a dyn Fn(&str) -> Vec<String>;

/// What is left of findings, and what became of the rest.
#[derive(Debug, Default, PartialEq)]
pub struct Sifted {
    pub findings: Vec<Finding>,
    pub suppressed: Vec<Suppressed>,
    /// Suppressions that are over, by their place in the policy.
    pub expired: Vec<usize>,
    /// Suppressions that nothing here needs.
    pub unused: Vec<usize>,
}

impl FailOn {
    /// Says whether a finding of this confidence fails the check.
    pub fn fails(self, confidence: Confidence) -> bool {
        match self {
            FailOn::Possible => confidence >= Confidence::Possible,
            FailOn::Likely => confidence >= Confidence::Likely,
            FailOn::Certain => confidence >= Confidence::Certain,
            FailOn::Never => false,
        }
    }
}

impl Policy {
    /// Says whether findings of a recipe are looked for at all.
    pub fn wants(&self, names: &[String]) -> bool {
        let any =
            |patterns: &[String]| patterns.iter().any(|pattern| names.iter().any(|name| matches_name(pattern, name)));
        (self.select.is_empty() || any(&self.select)) && !any(&self.ignore)
    }

    /// Takes out what is suppressed. A finding goes when none of its places is left; ranks stay as they were.
    pub fn sift(&self, findings: Vec<Finding>, names: Names<'_>, baseline: Option<&Baseline>, today: Day) -> Sifted {
        let mut sifted = Sifted::default();
        let is_over = |one: &Suppression| one.expires.is_some_and(|day| day < today);
        let mut used = vec![false; self.suppress.len()];
        for mut finding in findings {
            let known = names(&finding.id);
            let mut places = std::mem::take(&mut finding.places);
            places.retain(|place| {
                let taken = self.by_comment(&known, place).or_else(|| {
                    let at = self.suppress.iter().position(|one| !is_over(one) && one.is_about(&known, place))?;
                    used[at] = true;
                    Some((SuppressedBy::Config, Some(self.suppress[at].reason.clone())))
                });
                let known_before = || baseline.is_some_and(|baseline| baseline.has(&place.fingerprint));
                let taken = taken.or_else(|| known_before().then_some((SuppressedBy::Baseline, None)));
                let Some((by, reason)) = taken else { return true };
                sifted.suppressed.push(Suppressed {
                    id: finding.id.clone(),
                    path: place.path.clone(),
                    line: place.line,
                    fingerprint: place.fingerprint.clone(),
                    by,
                    reason,
                });
                false
            });
            if !places.is_empty() {
                finding.places = places;
                sifted.findings.push(finding);
            }
        }
        for (at, one) in self.suppress.iter().enumerate() {
            if is_over(one) {
                sifted.expired.push(at);
            } else if !used[at] {
                sifted.unused.push(at);
            }
        }
        sifted
    }

    fn by_comment(&self, known: &[String], place: &Place) -> Option<(SuppressedBy, Option<String>)> {
        let named = place.ignored.iter().any(|id| known.iter().any(|name| name.eq_ignore_ascii_case(id)));
        (self.comments == Comments::Honour && named).then_some((SuppressedBy::Comment, None))
    }
}

impl Suppression {
    fn is_about(&self, known: &[String], place: &Place) -> bool {
        let here = self.path.as_ref().is_none_or(|path| !place.anchor && matches_path(path, &place.path));
        here && known.iter().any(|name| matches_name(&self.id, name))
    }
}

/// Lists the names in the `fix: ignore[…]` comments of a line.
pub fn ignored_in(line: &str) -> Vec<String> {
    let mut names = Vec::new();
    let mut rest = line;
    while let Some(at) = rest.find("fix: ignore[") {
        let before = &rest[..at];
        rest = &rest[at + "fix: ignore[".len()..];
        let Some(end) = rest.find(']') else { break };
        // It is a comment's: the same words in a string are not.
        if ["#", "//", "--", ";", "/*", "<!--"].iter().any(|mark| before.trim_end().ends_with(mark)) {
            names.extend(rest[..end].split(',').map(|name| name.trim().to_owned()).filter(|name| !name.is_empty()));
        }
        rest = &rest[end..];
    }
    names
}

#[cfg(test)]
mod tests;
