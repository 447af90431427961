//! The narrow waist: what a repair may do to a machine.
//!
//! Every verb lowers to a [`Change`]. Diff, journal, drift and undo know only these three.
//! The environment is no change (a child cannot alter its parent's shell): see [`EnvOverlay`].
//! This module describes; it never touches the machine.

mod overlay;
mod precondition;
mod roots;

use std::ffi::OsString;

use serde::{Deserialize, Serialize};

pub use crate::os::AbsPath;
pub use overlay::{EnvEdit, EnvOverlay, posix_prepend};
pub use precondition::Precondition;
pub use roots::AllowedRoots;

/// One thing that a repair does to the machine.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Change {
    /// Creates, rewrites or deletes one file.
    WriteFile(WriteFile),
    /// Sets a folder aside, restorable.
    RemoveTree(RemoveTree),
    /// Runs a program that declares what it writes.
    Run(Run),
}

/// A regular file before and after a repair.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct WriteFile {
    /// Where the bytes really stand: a configuration file's own link is already followed.
    pub path: AbsPath,
    /// What the plan saw there. Anything else at apply time is drift.
    pub before: FileState,
    /// What shall be there.
    pub after: FileState,
}

/// A file that is there, or not.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum FileState {
    Absent,
    Present(FileImage),
}

/// Content and permissions of a regular file.
#[derive(Clone, PartialEq, Eq)]
pub struct FileImage {
    pub bytes: Vec<u8>,
    /// Permission bits, `0o7777` at most.
    pub mode: u32,
}

impl std::fmt::Debug for FileImage {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "FileImage({} bytes, mode {:o})", self.bytes.len(), self.mode)
    }
}

/// A folder that is set aside.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RemoveTree {
    /// The real folder. Where the user's build tree is a symlink, this is the target and the link stays.
    pub path: AbsPath,
    /// What the plan saw there.
    pub before: TreeImage,
    /// What the folder is to the user.
    pub kind: TreeKind,
    pub folder: TreeFolder,
}

/// Whether the folder of a tree goes with what is in it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum TreeFolder {
    Goes,
    /// It stays, empty: the command may count on it (`cd build && cmake ..`).
    Stays,
    /// A link leads to it: it stays as well, since no build makes a folder behind a link that leads nowhere, and what
    /// stands beside it is not this project's.
    StaysBehindLink,
}

/// What identifies a folder and how large it is.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct TreeImage {
    pub device: u64,
    pub inode: u64,
    /// Regular files, links and special files below it.
    pub files: u64,
    /// Apparent size of the regular files, in bytes.
    pub bytes: u64,
    /// Set when the size of so many files was estimated.
    #[serde(default)]
    pub estimated: bool,
    /// Set when counting stopped at a bound: the figures are lower limits.
    pub at_least: bool,
}

/// What a folder is to its user.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum TreeKind {
    /// A recognised build tree: what the re-run builds in its place is no drift.
    Derived,
    /// Anything else: whatever appears in its place is the user's.
    Plain,
}

/// A program to run as part of a repair.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Run {
    /// Program (absolute) and arguments; never a shell line.
    pub argv: Vec<OsString>,
    pub cwd: AbsPath,
    /// On top of the environment of `fix`.
    pub env: EnvOverlay,
    /// Files and folders that it writes; these are saved first. Nothing else is undone.
    pub writes: Vec<AbsPath>,
    pub reversible: Reversible,
    /// Seconds after which the program and its children are ended and the repair undone.
    pub timeout_seconds: u64,
}

/// Whether a [`Run`] can be taken back from what was saved of its `writes`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Reversible {
    Yes,
    /// Needs `--allow-irreversible`.
    No,
}

impl Change {
    /// The paths that this change writes, for locks, allowed roots and drift.
    pub fn touches(&self) -> Vec<&AbsPath> {
        match self {
            Change::WriteFile(write) => vec![&write.path],
            Change::RemoveTree(tree) => vec![&tree.path],
            Change::Run(run) => run.writes.iter().collect(),
        }
    }
}
