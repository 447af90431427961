//! What changed since a repair, compared with what it left.

use super::RollbackError;
use crate::change::AbsPath;
use crate::os::trees::Place;
use crate::transaction::{
    Act, Drift, GroupDir, Past, Rights, Saved, Seen, SeenAt, SetAside, Summary, TransactionError, Version,
    changed_in_place, present_version, refuse_mounts as refuse_mounts_in,
};

/// The transactions of a group that are still in effect, oldest first.
pub(super) fn standing(group: &GroupDir) -> Result<Vec<Past>, TransactionError> {
    let mut pasts = Vec::new();
    for journal in group.journals() {
        pasts.extend(Past::read(group, &journal)?.filter(|past| !past.closed));
    }
    Ok(pasts)
}

/// What stood at a path before the group, where that can be compared: what is there again is taken back already, by
/// `git checkout` for example.
fn former(pasts: &[Past], path: &AbsPath) -> Option<Seen> {
    let saves = pasts.iter().flat_map(|past| &past.intents).flat_map(|(_, act)| match act {
        Act::Write { save, .. } => std::slice::from_ref(save),
        Act::Run { saves, .. } => saves,
        Act::SetAside(_) | Act::Scratch { .. } => &[],
    });
    saves.into_iter().find(|save| save.path == *path).and_then(|save| save.before.seen())
}

/// The rights that a file had before the group.
fn former_rights(pasts: &[Past], path: &AbsPath) -> Option<Rights> {
    let file = pasts.iter().flat_map(|past| &past.intents).find_map(|(_, act)| match act {
        Act::Write { save, .. } if save.path == *path => match &save.before {
            Saved::File(file) => Some(file),
            Saved::Absent | Saved::Link { .. } | Saved::Tree(_) => None,
        },
        Act::Write { .. } | Act::Run { .. } | Act::SetAside(_) | Act::Scratch { .. } => None,
    })?;
    Some(Rights::of(&file.status, file.attributes.iter().map(|(key, value)| (key.0.as_os_str(), value.as_bytes()))))
}

/// Says whether somebody has given the file away, or opened it to others, since.
fn has_other_rights(pasts: &[Past], seen: &SeenAt, now: Option<&Rights>) -> bool {
    match (&seen.rights, now) {
        (Some(then), Some(now)) => then != now && former_rights(pasts, &seen.path).as_ref() != Some(now),
        // Old formats do not tell; what is no file any more is another matter.
        (None, _) | (_, None) => false,
    }
}

/// Lists the paths that are neither as the group left them nor as it found them.
///
/// The last commit has looked at all that the group touched: the user's command ran once more before it.
pub(super) fn since(pasts: &[Past]) -> Result<Vec<SeenAt>, TransactionError> {
    let Some(committed) = pasts.iter().rev().find_map(|past| past.committed.as_ref()) else { return Ok(Vec::new()) };
    let mut drifted = Vec::new();
    for seen in &committed.seen {
        let (now, rights) = match Place::find(&seen.anchor, &seen.path) {
            Ok(found) => (Seen::find(&found)?, Rights::find(&found)),
            // A parent has become a link or a file.
            Err(_) => (Seen::Other, None),
        };
        let is_other = now != seen.seen && former(pasts, &seen.path) != Some(now);
        if is_other || has_other_rights(pasts, seen, rights.as_ref()) {
            drifted.push(seen.clone());
        }
    }
    Ok(drifted)
}

/// Adds what stands there now, for a diff.
pub(super) fn shown(group: &GroupDir, drifted: Vec<SeenAt>) -> Vec<Drift> {
    drifted
        .into_iter()
        .map(|seen| {
            let found = Place::find(&seen.anchor, &seen.path);
            let version = |rights: &Rights| Version::Rights {
                user: rights.user,
                group: rights.group,
                is_listed: rights.list.is_some(),
            };
            let (mut expected, mut present) = (
                seen.seen.version(group),
                match &found {
                    Ok(found) => present_version(group, found, &seen.seen),
                    Err(error) => Version::Unreadable(error.to_string()),
                },
            );
            if expected == present
                && let (Some(then), Some(now)) = (&seen.rights, found.ok().and_then(|found| Rights::find(&found)))
            {
                (expected, present) = (version(then), version(&now));
            }
            Drift { path: seen.path, expected, present }
        })
        .collect()
}

/// Refuses when the folders that all of it lay in are gone: nothing could be put back, and a rollback that was begun
/// would stay begun.
pub(super) fn refuse_moved(group: &GroupDir, pasts: &[Past]) -> Result<(), RollbackError> {
    match pasts.iter().find_map(Past::missing_anchor) {
        Some(path) => Err(RollbackError::Moved { group: group.id.clone(), path }),
        None => Ok(()),
    }
}

/// Refuses when somebody mounted something into what would have to be moved out of the way.
pub(super) fn refuse_mounts(pasts: &[Past]) -> Result<(), TransactionError> {
    pasts.iter().flat_map(Past::set_aside).try_for_each(SetAside::refuse_mounts)?;
    for (_, act) in pasts.iter().flat_map(|past| &past.intents) {
        let Act::Run { saves, .. } = act else { continue };
        saves.iter().try_for_each(|save| refuse_mounts_in(&save.path))?;
    }
    Ok(())
}

/// Refuses when something that was set aside is no longer where it was put.
pub(super) fn refuse_gone(pasts: &[Past]) -> Result<(), RollbackError> {
    for past in pasts {
        for (at, (change, act)) in past.intents.iter().enumerate() {
            let is_last = !past.intents[at + 1..].iter().any(|(later, _)| later == change);
            let Act::SetAside(attempt) = act else { continue };
            if is_last && !past.undone.contains(change) && !attempt.is_restorable()? {
                return Err(RollbackError::Gone { path: attempt.path.clone(), trash: attempt.trash.clone() });
            }
        }
    }
    Ok(())
}

/// What of a folder that was set aside is no longer in the trash.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Missing {
    pub path: AbsPath,
    pub trash: AbsPath,
    pub missing: u64,
    pub of: u64,
}

/// Counts what was set aside, and compares with what the plan counted.
pub(super) fn missing(pasts: &[Past]) -> Result<Option<Missing>, TransactionError> {
    for past in pasts {
        for (at, (change, act)) in past.intents.iter().enumerate() {
            let Act::SetAside(attempt) = act else { continue };
            let is_last = !past.intents[at + 1..].iter().any(|(later, _)| later == change);
            // What an earlier change of the same repair took from it the plan has counted too.
            let is_first = past.touched_before(at).all(|path| !path.is_within(&attempt.path));
            let Some(Summary::SetAside { files, .. }) = past.begin.changes.get(*change) else { continue };
            if !is_last || !is_first || past.undone.contains(change) {
                continue;
            }
            let here = attempt.files_kept()?;
            if here < *files {
                let (path, trash) = (attempt.path.clone(), attempt.trash.clone());
                return Ok(Some(Missing { path, trash, missing: files - here, of: *files }));
            }
        }
    }
    Ok(None)
}

/// Lists the files whose former content was kept as a link only and changed in place since.
pub(super) fn lost(group: &GroupDir, pasts: &[Past]) -> Result<Vec<AbsPath>, TransactionError> {
    let mut lost = Vec::new();
    for (_, act) in pasts.iter().flat_map(|past| &past.intents) {
        let Act::Run { saves, .. } = act else { continue };
        for save in saves {
            let Saved::Tree(tree) = &save.before else { continue };
            let changed = changed_in_place(group, save, tree)?;
            lost.extend(changed.into_iter().map(|below| save.path.resolve(below)));
        }
    }
    Ok(lost)
}
