//! Saves what the user changed, before a forced rollback replaces it: a group that can be rolled back itself.

use crate::change::{AbsPath, Reversible};
use crate::os::machine::{self, Machine, ProcessId};
use crate::transaction::{
    Act, Begin, Event, FORMAT, GroupDir, Lines, Past, Record, SAVES, Scratch, SeenAt, StateDir, Summary, Title,
    TransactionError, Watch, place_beside, root_of, save,
};

/// Saves the paths and returns the group. It counts once the rollback is through.
pub(super) fn save_first(
    state: &StateDir,
    group: &GroupDir,
    pasts: &[Past],
    drifts: &[SeenAt],
    watch: &mut dyn Watch,
) -> Result<String, TransactionError> {
    let saver = state.new_group(&root_of(group)?, &["fix rollback".to_owned(), group.id.clone()])?;
    let paths: Vec<AbsPath> = drifts.iter().map(|drift| drift.path.clone()).collect();
    let mut locks: Vec<_> = pasts.iter().flat_map(|past| past.begin.locks.clone()).collect();
    locks.sort_by(|a, b| a.path.cmp(&b.path));
    locks.dedup_by(|a, b| a.path == b.path);
    let begin = Begin {
        format: FORMAT,
        transaction: format!("{}.1", saver.id),
        at: machine::now().as_nanos() as u64,
        machine: Machine::here(),
        process: ProcessId::here(),
        locks,
        recipe: SAVES.to_owned(),
        slug: String::new(),
        case: String::new(),
        title: Title {
            en: format!("your changes, saved before `{}` was rolled back", group.id),
            zh: format!("回退 `{}` 之前保存的您的改动", group.id),
        },
        digest: String::new(),
        changes: vec![Summary::Save(paths.clone())],
        saves_for: Some(group.id.clone()),
    };
    let mut lines = Lines::create(&saver.folder()?, "1.jsonl", &Record::Begin(begin))?;
    let name = |part: usize| format!("1-0-{part}");
    let places = drifts
        .iter()
        .enumerate()
        .filter_map(|(part, drift)| {
            Some(Scratch { anchor: drift.anchor.clone(), path: place_beside(&saver, &drift.path, &name(part))? })
        })
        .collect();
    lines.append(&Record::Intent { change: 0, act: Act::Scratch { places } })?;
    let apart: Vec<&AbsPath> = paths.iter().collect();
    let mut saves = Vec::new();
    for (part, drift) in drifts.iter().enumerate() {
        watch.event(Event::Saving { path: drift.path.clone() });
        saves.push(save(&saver, &drift.anchor, &drift.path, name(part), &apart, &mut |bytes| {
            watch.event(Event::Copied { bytes });
            Ok(())
        })?);
    }
    lines.append(&Record::Intent { change: 0, act: Act::Run { saves, reversible: Reversible::Yes } })?;
    lines.append(&Record::Done { change: 0 })?;
    Ok(saver.id)
}
