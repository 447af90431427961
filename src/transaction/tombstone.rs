//! What is left of a repair whose backup was deleted: enough to say so when somebody wants it taken back.

use std::fmt;
use std::io::Write;
use std::time::Duration;

use serde::{Deserialize, Serialize};

use super::{GroupState, GroupSummary, StateDir, TransactionError};
use crate::change::AbsPath;
use crate::os::files::{FileError, Folder};

/// A repair that was forgotten.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Tombstone {
    format: u32,
    pub group: String,
    /// The project.
    pub root: AbsPath,
    /// Seconds since 1970 when the repair was made.
    pub made: u64,
    /// Seconds since 1970 when it was forgotten.
    pub forgotten: u64,
    pub by: ForgottenBy,
    /// Whether the repair stood, and its backup was the way back.
    pub stood: bool,
}

/// Who deleted a backup.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum ForgottenBy {
    /// The user, by `fix history prune`.
    User,
    /// A later repair, by the limits to what is kept.
    Limits,
}

impl fmt::Display for ForgottenBy {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            ForgottenBy::User => "`fix history prune`",
            ForgottenBy::Limits => "a later repair, by the limits of what is kept",
        })
    }
}

const FORMAT: u32 = 1;
const FOLDER: &str = "forgotten";
/// Tombstones that are kept.
const MOST: usize = 200;

impl Tombstone {
    pub(super) fn new(summary: &GroupSummary, now: Duration, by: ForgottenBy) -> Self {
        Self {
            format: FORMAT,
            group: summary.id.clone(),
            root: summary.root.clone(),
            made: summary.at.as_secs(),
            forgotten: now.as_secs(),
            by,
            // What a forced rollback saved comes back by name only, so that no repair is missed with it.
            stood: summary.state == GroupState::Applied && !summary.is_save(),
        }
    }

    /// The day it was forgotten, `2026-01-31`.
    pub fn day(&self) -> String {
        let stamp = super::state::stamp(self.forgotten);
        format!("{}-{}-{}", &stamp[..4], &stamp[4..6], &stamp[6..8])
    }
}

/// Puts a tombstone in place; the oldest go beyond the most that are kept.
pub(super) fn put(state: &StateDir, stone: &Tombstone) -> Result<(), TransactionError> {
    let folder = state.create()?.create_or_open(FOLDER.as_ref(), 0o700)?;
    let name = format!("{}.json", stone.group);
    let beside = format!(".{name}.{}", std::process::id());
    // One that was cut off before is in nobody's way.
    drop(folder.remove_file(beside.as_ref()));
    let mut file = folder.create_file(beside.as_ref(), 0o600)?;
    let text = serde_json::to_vec(stone).unwrap_or_default();
    let written = file.write_all(&text).and_then(|()| file.sync_all());
    written.map_err(|error| folder.error("write", beside.as_ref(), error))?;
    folder.replace(beside.as_ref(), &folder, name.as_ref())?;
    let mut names = folder.names()?;
    // Their names begin with the time of the repair.
    names.sort();
    for old in names.iter().take(names.len().saturating_sub(MOST)) {
        folder.remove_file(old)?;
    }
    Ok(())
}

/// Lists the tombstones, the newest repair last. What this version cannot read is none.
pub fn tombstones(state: &StateDir) -> Result<Vec<Tombstone>, TransactionError> {
    let folder = match open(state) {
        Err(error) if error.source.kind() == std::io::ErrorKind::NotFound => return Ok(Vec::new()),
        folder => folder?,
    };
    let mut all: Vec<Tombstone> = folder
        .names()?
        .iter()
        .filter_map(|name| serde_json::from_slice(&folder.read(name).ok()?).ok())
        .filter(|stone: &Tombstone| stone.format == FORMAT)
        .collect();
    all.sort_by(|a, b| (a.made, &a.group).cmp(&(b.made, &b.group)));
    Ok(all)
}

fn open(state: &StateDir) -> Result<Folder, FileError> {
    Folder::open(&state.path().resolve(FOLDER))
}
