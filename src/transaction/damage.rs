//! What a group's folder holds that its journals do not account for: a journal is lost, or a part of one.
//!
//! Every journal begins before anything is kept for it, and every tree that is set aside is in a journal before it is
//! moved: what nothing tells of was not cut off, it lost its record. A journal that was committed is sealed in the
//! group's own file: it cannot lose its end unnoticed.

use std::ffi::{OsStr, OsString};

use super::TransactionError;
use super::journal::GroupRecord;
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
    for past in pasts {
        if has_lost_its_end(group, past)? {
            return Ok(Some(format!("the journal `{}` has lost its end", past.journal)));
        }
    }
    let told: Vec<OsString> = pasts
        .iter()
        .flat_map(Past::set_aside)
        .filter_map(|attempt| attempt.trash.file_name().map(OsStr::to_owned))
        .collect();
    let untold = names(&folder, "trash")?.into_iter().find(|name| !told.contains(name));
    Ok(untold.map(|name| format!("no journal tells of `{}`", group.path.resolve("trash").resolve(name))))
}

/// Refuses to finish what is not all accounted for.
pub(super) fn refuse_damage(group: &GroupDir) -> Result<(), TransactionError> {
    let journals = group.journals();
    let pasts: Vec<Past> =
        journals.iter().filter_map(|journal| Past::read(group, journal).transpose()).collect::<Result<_, _>>()?;
    match damage(group, &pasts)? {
        Some(why) => Err(TransactionError::Lost { group: group.path.clone(), why }),
        None => Ok(()),
    }
}

fn has_lost_its_end(group: &GroupDir, past: &Past) -> Result<bool, TransactionError> {
    let number = past.number();
    let is_there = |seal: &String| past.sums.as_ref().is_some_and(|sums| sums.contains(seal));
    let is_lost = |record: &GroupRecord| match record {
        GroupRecord::Sealed { transaction, seal } => transaction.to_string() == number && !is_there(seal),
        GroupRecord::Created { .. }
        | GroupRecord::RollingBack { .. }
        | GroupRecord::RolledBack { .. }
        | GroupRecord::Pruned { .. } => false,
    };
    if group.records().is_ok_and(|records| records.iter().any(is_lost)) {
        return Ok(true);
    }
    if past.closed || !past.intents.is_empty() || !past.saving.is_empty() {
        return Ok(false);
    }
    // Nothing was about to be saved, and something is.
    let folder = group.folder()?;
    let mut kept = Vec::new();
    if folder.status("kept".as_ref())?.is_some() {
        let links = folder.open_child("kept".as_ref())?;
        for name in links.names()?.iter().filter(|name| leading_number(name).is_some_and(|n| n.to_string() == number)) {
            kept.extend(links.status(name)?);
        }
    }
    // Old formats do not tell that they are about to save: what has its other name still was not touched.
    let is_untouched = past.sums.is_none() && !kept.is_empty() && kept.iter().all(|status| status.names > 1);
    let is_something_saved = !kept.is_empty() || (number == "1" && !names(&folder, "blobs")?.is_empty());
    Ok(is_something_saved && !is_untouched)
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
