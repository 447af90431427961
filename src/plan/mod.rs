//! What `fix` is going to do, as a value: complete, comparable, with no decision left for apply time.

use std::ffi::OsString;

use crate::change::{AbsPath, AllowedRoots, Change, EnvOverlay};
use crate::recipe::{Applicability, Text, Values};

/// A repair, decided.
#[derive(Debug, Clone, PartialEq)]
pub struct Plan {
    pub recipe: String,
    pub slug: String,
    /// The recipe's case that was taken.
    pub case: String,
    pub title: Text,
    /// What is wrong here.
    pub says: Text,
    pub params: Values,
    /// The strictest of recipe, case, changes and surroundings.
    pub applicability: Applicability,
    /// Why it is not `safe`.
    pub limits: Vec<Text>,
    /// The project: where the locks are and what patches are relative to.
    pub root: AbsPath,
    pub roots: AllowedRoots,
    pub changes: Vec<Change>,
    pub overlay: EnvOverlay,
    /// The user's command again, where there is one.
    pub rerun: Option<Rerun>,
    pub notes: Vec<Text>,
    pub advice: Vec<Text>,
}

/// The user's command, as it runs after the repair.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Rerun {
    pub argv: Vec<OsString>,
    pub cwd: AbsPath,
}
