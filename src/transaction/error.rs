//! What can go wrong before, in and after a transaction.

use std::path::PathBuf;

use crate::change::AbsPath;
use crate::os::files::FileError;
use crate::os::rights::Pinned;

/// Why a transaction was not begun, or why the state folder cannot be used.
#[derive(Debug, thiserror::Error)]
pub enum TransactionError {
    #[error(transparent)]
    File(#[from] FileError),
    /// Another process works on the same files.
    #[error("`{root}` is being worked on by {holder}")]
    Locked { root: AbsPath, holder: String },
    /// The files are not what the plan saw.
    #[error("{}", drifted(.0))]
    Drift(Vec<Drift>),
    #[error("refusing to touch `{0}`: it lies outside the allowed roots")]
    Outside(AbsPath),
    #[error("refusing to touch `{0}`: it holds the state of `fix`")]
    HoldsState(AbsPath),
    /// What is mounted there lies elsewhere, outside the allowed roots perhaps.
    #[error("refusing to touch `{path}`: `{mount}` is mounted in it")]
    HoldsMount { path: AbsPath, mount: AbsPath },
    #[error("there is no place for the state: neither XDG_STATE_HOME nor HOME names an existing folder")]
    NoState,
    #[error("refusing to keep state in `{path}`: it belongs to user {owner}")]
    ForeignState { path: AbsPath, owner: u32 },
    #[error("`{path}` was written by a newer version (format {format}); this one reads up to format {known}")]
    NewerFormat { path: AbsPath, format: u64, known: u32 },
    #[error("the journal `{path}` is damaged in line {line}: {why}")]
    Damaged { path: AbsPath, line: usize, why: String },
    /// Something of a group that was cut off is gone.
    #[error("{why}")]
    Lost { group: AbsPath, why: String },
    /// It could not be put back as it was.
    #[error("refusing to change `{path}`: {}", pinned(*.why))]
    Pinned { path: AbsPath, why: Pinned },
    /// An earlier repair of the same files was cut off.
    #[error("the repair `{0}` was cut off and is not yet undone")]
    Unfinished(String),
    /// The order itself cannot be carried out here.
    #[error("{0}")]
    Refused(String),
}

/// One path that is not as expected.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Drift {
    pub path: AbsPath,
    pub expected: Version,
    pub present: Version,
}

/// What stands, or should stand, at a path.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Version {
    Absent,
    /// `bytes` is `None` where the file is too large to be shown.
    File {
        bytes: Option<Vec<u8>>,
        mode: u32,
    },
    /// A file that is somebody else's now, or open to others.
    Rights {
        user: u32,
        group: u32,
        is_listed: bool,
    },
    Link(PathBuf),
    /// A folder; `changed` names some of the entries that differ, relative to it.
    Folder {
        changed: Vec<PathBuf>,
    },
    Other,
    Unreadable(String),
}

fn pinned(why: Pinned) -> String {
    match why {
        Pinned::Folder => "its folder is not writable".to_owned(),
        Pinned::LockedFolder => "its folder is immutable or append-only".to_owned(),
        Pinned::Locked => "it is immutable or append-only".to_owned(),
        Pinned::Owner(user) => format!("it belongs to user {user}"),
        Pinned::Group(group) => format!("it belongs to group {group}, which you are not in"),
    }
}

fn drifted(drifts: &[Drift]) -> String {
    match drifts {
        [] => "something changed meanwhile".to_owned(),
        [one] => format!("`{}` changed meanwhile", one.path),
        [one, rest @ ..] => format!("`{}` and {} more changed meanwhile", one.path, rest.len()),
    }
}
