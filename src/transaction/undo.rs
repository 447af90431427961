//! Takes a transaction back, in reverse. May be cut off at any step and repeated.

use std::path::Path;

use rustix::io::Errno;

use super::journal::{Act, Lines, Record, Scratch};
use super::past::Past;
use super::saved::{Save, Saved, restore};
use super::seen::Seen;
use super::set_aside::SetAside;
use super::strangers::{Known, displaced};
use super::{Event, TransactionError, Watch, snapshot};
use crate::change::{AbsPath, Reversible};
use crate::os::files::{FileError, FileTime, Folder, Gone, Kind, Status};
use crate::os::machine;
use crate::os::trees::{self, Descend, Found, Place, walk};

/// What an undo came to.
#[derive(Debug, Default)]
pub(crate) struct Undone {
    /// Moved out of the way and kept there.
    pub kept: Vec<AbsPath>,
    /// What can never be undone, a sentence each.
    pub left: Vec<String>,
    /// What could not be undone now; the next attempt may.
    pub failed: Vec<String>,
}

/// Undoes all changes of a transaction and closes its journal.
pub(crate) fn undo(
    past: &mut Past,
    lines: &mut Lines<Record>,
    why: &str,
    watch: &mut dyn Watch,
) -> Result<Undone, TransactionError> {
    watch.event(Event::Undoing);
    let known = Known::of(&past.group);
    // Room for what has to be written now, even on a full disk. Without this record, too, the journal says that
    // there is something to undo.
    let _ = past.group.folder().and_then(|folder| folder.remove_file(super::RESERVE.as_ref()));
    let _ = note(past, lines, Record::Undoing { at: machine::now().as_nanos() as u64, why: why.to_owned() });
    let mut undone = Undone::default();
    for at in (0..past.intents.len()).rev() {
        let (change, act) = past.intents[at].clone();
        if past.undone.contains(&change) {
            continue;
        }
        if let Err(error) = undo_act(past, lines, at, &act, &known, &mut undone, watch) {
            undone.failed.push(error.to_string());
            continue;
        }
        // A change with several intents is undone when its first is.
        let is_first = !past.intents[..at].iter().any(|(earlier, _)| *earlier == change);
        if is_first && undone.failed.is_empty() {
            note(past, lines, Record::Undone { change })?;
        }
    }
    // What an attempt that was cut off had moved away is told of as well.
    undone.kept.extend(displaced(past));
    if undone.failed.is_empty() {
        settle_times(past)?;
        for (_, act) in &past.intents {
            clean(act, &mut undone)?;
        }
        let_go(past, &mut undone)?;
        note(past, lines, Record::Closed { at: machine::now().as_nanos() as u64 })?;
    }
    Ok(undone)
}

fn note(past: &mut Past, lines: &mut Lines<Record>, record: Record) -> Result<(), TransactionError> {
    lines.append(&record)?;
    past.learn(record);
    Ok(())
}

fn undo_act(
    past: &mut Past,
    lines: &mut Lines<Record>,
    at: usize,
    act: &Act,
    known: &Known,
    undone: &mut Undone,
    watch: &mut dyn Watch,
) -> Result<(), TransactionError> {
    let change = past.intents[at].0;
    match act {
        Act::Write { save, made, temporary, after } => undo_write(past, save, made, temporary, after, known),
        Act::SetAside(attempt) => put_back(past, lines, at, attempt, watch),
        Act::Scratch { .. } => Ok(()),
        Act::Run { saves, reversible } => {
            for save in in_order(saves) {
                undone.left.extend(restore(&past.group, save, known, &[])?.into_iter().map(|path| {
                    format!("`{path}` was changed in place while its former content was kept only as a link")
                }));
            }
            for save in saves {
                let has_others = || saves.iter().any(|one| one.path != save.path && one.path.is_within(&save.path));
                if let Saved::Tree(tree) = &save.before
                    && has_others()
                {
                    snapshot::settle(&past.group, save, tree)?;
                }
            }
            if *reversible == Reversible::No && past.done.contains(&change) {
                undone.left.push("a command that cannot be taken back has run".to_owned());
            }
            Ok(())
        }
    }
}

/// Folders before the files that were saved apart from them.
fn in_order(saves: &[Save]) -> Vec<&Save> {
    let mut saves: Vec<&Save> = saves.iter().collect();
    saves.sort_by_key(|save| (!matches!(save.before, Saved::Tree(_)), save.path.clone()));
    saves
}

fn undo_write(
    past: &Past,
    save: &Save,
    made: &[AbsPath],
    temporary: &str,
    after: &Seen,
    known: &Known,
) -> Result<(), TransactionError> {
    if let Found::Here(place) = Place::find(&save.anchor, &save.path)?
        && place.folder.status(temporary.as_ref())?.is_some()
    {
        place.folder.remove_file(temporary.as_ref())?;
    }
    restore(&past.group, save, known, &[after])?;
    for folder in made.iter().rev() {
        if let Found::Here(place) = Place::find(&save.anchor, folder)? {
            match place.folder.remove_folder_if_empty(&place.name)? {
                Gone::Yes => place.folder.sync()?,
                Gone::No => break,
            }
        }
    }
    Ok(())
}

fn put_back(
    past: &mut Past,
    lines: &mut Lines<Record>,
    at: usize,
    attempt: &SetAside,
    watch: &mut dyn Watch,
) -> Result<(), TransactionError> {
    let (change, stage) = (past.intents[at].0, past.stage(at));
    watch.event(Event::Moving { path: attempt.path.clone() });
    let mut cleared = || note(past, lines, Record::Cleared { change });
    attempt.put_back(stage, &mut cleared, &mut |bytes| {
        watch.event(Event::Copied { bytes });
        Ok(())
    })
}

/// Removes what the undo needs no more. What is a link to a file that is back would change with that.
fn clean(act: &Act, undone: &mut Undone) -> Result<(), TransactionError> {
    match act {
        Act::SetAside(attempt) => {
            undone.kept.extend(attempt.newcomers()?);
            attempt.clean()
        }
        Act::Scratch { places } => clean_scratch(places),
        Act::Write { .. } | Act::Run { .. } => Ok(()),
    }
}

/// Removes the links that were kept of what is back now, whether or not their intent was reached; the copies in
/// `blobs/` stay.
fn let_go(past: &Past, undone: &mut Undone) -> Result<(), TransactionError> {
    let begin = format!("{}-", past.number());
    for inner in ["kept", "snapshots"] {
        let links = match past.group.folder()?.open_child(inner.as_ref()) {
            Err(error) if error.errno() == Some(Errno::NOENT) => continue,
            opened => opened?,
        };
        let names = links.names()?.into_iter().filter(|name| name.as_encoded_bytes().starts_with(begin.as_bytes()));
        for name in names.collect::<Vec<_>>() {
            let is_only_name =
                |status: Option<Status>| status.is_some_and(|status| status.kind == Kind::File && status.names == 1);
            if past.intents.is_empty() && is_only_name(links.status(&name)?) {
                // Nobody of us took its other name away.
                undone.kept.push(links.join(&name));
                continue;
            }
            trees::remove(&links, &name)?;
            links.sync()?;
        }
    }
    Ok(())
}

/// Removes what a transaction that changed nothing left outside of the state folder.
pub(crate) fn clean_all(past: &Past) -> Result<(), TransactionError> {
    let mut undone = Undone::default();
    past.intents.iter().try_for_each(|(_, act)| clean(act, &mut undone))?;
    let_go(past, &mut undone)
}

/// Removes all that is kept for a transaction outside of its group's folder: it cannot be undone any more.
pub(crate) fn discard(past: &Past) -> Result<(), TransactionError> {
    past.intents.iter().try_for_each(|(_, act)| match act {
        Act::SetAside(attempt) => match attempt.discard() {
            // The project has gone, and what was kept beside it.
            Err(TransactionError::File(error)) if error.source.kind() == std::io::ErrorKind::NotFound => Ok(()),
            discarded => discarded,
        },
        Act::Scratch { places } => clean_scratch(places),
        Act::Write { .. } | Act::Run { .. } => Ok(()),
    })
}

fn clean_scratch(places: &[Scratch]) -> Result<(), TransactionError> {
    for scratch in places {
        let Some(beside) = scratch.path.parent() else { continue };
        if !scratch.anchor.as_path().is_dir() {
            continue;
        }
        if let Found::Here(place) = Place::find(&scratch.anchor, &scratch.path)? {
            trees::remove(&place.folder, &place.name)?;
        }
        if let Found::Here(place) = Place::find(&scratch.anchor, &beside)? {
            super::beside::remove_if_empty(&place.folder)?;
        }
    }
    Ok(())
}

/// More entries than this are not looked at: something newer is assumed.
const LOOKED_AT: usize = 300_000;

/// Gives restored inputs the present time where something was built since: make and ninja compare times, and
/// would otherwise take what was built from the repaired file for up to date. What a repair deleted (an object, a lock)
/// is a product or nobody's input, and keeps its time: a damaged object that is new would pass for a good one.
fn settle_times(past: &Past) -> Result<(), TransactionError> {
    let Ok(root) = super::history::root_of(&past.group) else { return Ok(()) };
    let mut inputs = Vec::new();
    for (_, act) in &past.intents {
        let Act::Write { save, after, .. } = act else { continue };
        let Saved::File(before) = &save.before else { continue };
        let was_edited = matches!(after, Seen::File { hash, .. } if *hash != before.hash);
        if was_edited && save.path.is_within(&root) {
            inputs.push(save);
        }
    }
    let Ok(folder) = Folder::open(&root) else { return Ok(()) };
    if inputs.is_empty() || !is_anything_newer(past, &folder, &inputs) {
        return Ok(());
    }
    let now = machine::now();
    let now = FileTime(now.as_secs() as i64, now.subsec_nanos());
    for save in inputs {
        if let Found::Here(place) = Place::find(&save.anchor, &save.path)?
            && place.status()?.is_some_and(|there| there.kind == Kind::File)
        {
            place.folder.set_times(&place.name, now, now)?;
        }
    }
    Ok(())
}

/// Says whether a file of the project is newer than the repair. What cannot be looked at counts as newer.
fn is_anything_newer(past: &Past, folder: &Folder, inputs: &[&Save]) -> bool {
    enum Stop {
        Found,
        Failed,
    }
    impl From<FileError> for Stop {
        fn from(_: FileError) -> Self {
            Stop::Failed
        }
    }
    let (seconds, nanos) = (past.begin.at / 1_000_000_000, past.begin.at % 1_000_000_000);
    let since = FileTime(seconds as i64, nanos as u32);
    let mut looked_at = 0;
    let found = walk::<Stop>(folder, &mut |parent, name, _: &Path, status| {
        looked_at += 1;
        let path = parent.join(name);
        if name == ".git" || name == super::beside::BESIDE || path == past.group.state {
            return Ok(Descend::Skip);
        }
        // Some file systems keep whole seconds only.
        let is_later = status.modified >= since || (status.modified.0 == since.0 && status.modified.1 == 0);
        let is_newer = status.kind == Kind::File && is_later;
        if looked_at > LOOKED_AT || (is_newer && !inputs.iter().any(|save| save.path == path)) {
            return Err(Stop::Found);
        }
        Ok(Descend::Into)
    });
    found.is_err()
}
