//! Where findings are, what tells them apart on every machine, and what is not told of them.

use serde::Serialize;

use super::english;
use crate::recipe::Text;

/// A place in a file of the project.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize)]
pub struct Place {
    /// Relative to the top of the work tree, with `/`.
    pub path: String,
    /// 1-based.
    pub line: u32,
    /// 1-based, in characters.
    pub column: u32,
    /// What is wrong at this very place; the finding's cause where nothing more is said.
    #[serde(serialize_with = "english")]
    pub says: Text,
    /// Tells this place from others: the same on every machine, and after edits elsewhere in the file.
    pub fingerprint: String,
    /// The finding is not in a file: this one only stands for the project.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub anchor: bool,
    /// Names in `fix: ignore[…]` comments at this place.
    #[serde(skip)]
    pub ignored: Vec<String>,
}

/// What a recipe says in general.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Rule {
    pub family: String,
    pub cause: Text,
    pub remedy: Text,
    pub references: Vec<String>,
}

/// A finding, or one of its places, that the project does not want to be told of.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Suppressed {
    pub id: String,
    pub path: String,
    pub line: u32,
    pub fingerprint: String,
    pub by: SuppressedBy,
    /// As the project gives it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub reason: Option<String>,
}

/// Whose word it is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum SuppressedBy {
    /// A `fix: ignore[…]` comment beside it.
    Comment,
    /// `fix.toml`.
    Config,
    /// The file of `--baseline`.
    Baseline,
}

impl SuppressedBy {
    pub const ALL: [Self; 3] = [Self::Comment, Self::Config, Self::Baseline];
}

/// Makes a fingerprint of parts that do not depend on the machine.
pub fn fingerprint(parts: &[&str]) -> String {
    let mut hasher = blake3::Hasher::new();
    for part in parts {
        // The length keeps `ab`, `c` from being `a`, `bc`.
        hasher.update(&(part.len() as u64).to_le_bytes());
        hasher.update(part.as_bytes());
    }
    hasher.finalize().to_hex()[..32].to_owned()
}
