//! What a group's folder holds that its journals do not account for: a journal is lost, or a part of one.
//!
//! Every journal begins before anything is kept for it, and every tree that is set aside is in a journal before it is
//! moved: what nothing tells of was not cut off, it lost its record.

use std::ffi::{OsStr, OsString};

use super::TransactionError;
use super::past::Past;
use super::state::GroupDir;
use crate::os::files::Folder;

/// Says what of the group is missing; `None` when all is accounted for.
pub(crate) fn damage(group: &GroupDir, pasts: &[Past]) -> Result<Option<String>, TransactionError> {
    let folder = group.folder()?;
    let begun: Vec<u64> =
        pasts.iter().filter_map(|past| leading_number(past.journal.file_name().unwrap_or_default())).collect();
    let mut owed: Vec<u64> = folder.names()?.iter().filter_map(|name| journal_number(name)).collect();
    for inner in ["kept", "snapshots", "displaced", "trash"] {
        owed.extend(names(&folder, inner)?.iter().filter_map(|name| leading_number(name)));
    }
    if !names(&folder, "blobs")?.is_empty() {
        owed.push(1);
    }
    owed.sort_unstable();
    // An empty last journal without anything kept never began.
    let is_bare = |n: &u64| pasts.len() as u64 + 1 == *n && journals_only(&folder, *n).unwrap_or_default();
    let last = owed.last().copied().unwrap_or_default();
    if let Some(lost) = (1..=last).find(|n| !begun.contains(n) && !is_bare(n)) {
        return Ok(Some(format!("the journal `{}` is gone or empty", group.journal(lost as usize))));
    }
    let told: Vec<OsString> = pasts
        .iter()
        .flat_map(Past::set_aside)
        .filter_map(|attempt| attempt.trash.file_name().map(OsStr::to_owned))
        .collect();
    let untold = names(&folder, "trash")?.into_iter().find(|name| !told.contains(name));
    Ok(untold.map(|name| format!("no journal tells of `{}`", group.path.resolve("trash").resolve(name))))
}

/// Says whether nothing but its own file is there of a transaction.
fn journals_only(folder: &Folder, n: u64) -> Result<bool, TransactionError> {
    for inner in ["kept", "snapshots", "displaced", "trash"] {
        if names(folder, inner)?.iter().any(|name| leading_number(name) == Some(n)) {
            return Ok(false);
        }
    }
    let later = folder.names()?.iter().filter_map(|name| journal_number(name)).any(|other| other > n);
    Ok(!later && (n > 1 || names(folder, "blobs")?.is_empty()))
}

fn names(folder: &Folder, inner: &str) -> Result<Vec<OsString>, TransactionError> {
    if folder.status(inner.as_ref())?.is_none() {
        return Ok(Vec::new());
    }
    Ok(folder.open_child(inner.as_ref())?.names()?)
}

fn journal_number(name: &OsStr) -> Option<u64> {
    name.to_str()?.strip_suffix(".jsonl")?.parse().ok()
}

/// The transaction that something was kept for: names begin with its number.
fn leading_number(name: &OsStr) -> Option<u64> {
    let text = name.to_str()?;
    text[..text.find(|c: char| !c.is_ascii_digit()).unwrap_or(text.len())].parse().ok()
}
