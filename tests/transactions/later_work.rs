//! A repair, or a rollback, is cut off; the user works on, and only then is it finished: nothing of that work is lost,
//! and what had to be moved away is named.

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};

use build_fix::change::{AbsPath, TreeKind};
use build_fix::os::fault::{self, Fault};
use build_fix::rollback::{OnDrift, RollbackError, Which, roll_back};
use build_fix::transaction::{
    ForgottenBy, Limits, Outcome, Proof, RecoveredOutcome, Scope, TransactionError, Unrecoverable, Unwatched, history,
    prune, recover,
};

use crate::afterwards::commit;
use crate::crash::{Scenario, dies_at};
use crate::repairs::{Project, as_of_old};

/// Places where the user works: files that a repair writes, removes or creates, and files in folders that it sets aside
/// or that a command writes to.
const PLACES: [&str; 10] = [
    "setup.py",
    "run.sh",
    "gone.txt",
    "linked.txt",
    "new/deep/file.cfg",
    "made",
    "build/CMakeCache.txt",
    "build/bin/tool",
    "build/CMakeFiles/a.o",
    "build/mine/notes.md",
];

/// How an editor stores a file.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Store {
    InPlace,
    Anew,
}

fn words(below: &str) -> String {
    format!("three hours of work on {below}\n")
}

/// Works in every place, as far as it is there; folders of the user's own are made.
fn work(project: &Project, store: Store) -> Vec<&'static str> {
    let mut done = Vec::new();
    if project.path("build").is_dir() {
        fs::create_dir_all(project.path("build/mine")).unwrap();
    }
    for below in PLACES {
        let path = project.path(below);
        if !path.parent().unwrap().is_dir() || path.is_dir() {
            continue;
        }
        match store {
            Store::InPlace => fs::write(&path, words(below)).unwrap(),
            Store::Anew => {
                let other = path.with_extension("swp");
                fs::write(&other, words(below)).unwrap();
                fs::rename(&other, &path).unwrap();
            }
        }
        done.push(below);
    }
    done
}

/// All files below a folder, by what they hold.
fn holders(top: &Path) -> BTreeMap<Vec<u8>, Vec<PathBuf>> {
    let mut all: BTreeMap<Vec<u8>, Vec<PathBuf>> = BTreeMap::new();
    let mut folders = vec![top.to_owned()];
    while let Some(folder) = folders.pop() {
        for entry in fs::read_dir(&folder).unwrap() {
            let entry = entry.unwrap();
            if entry.file_type().unwrap().is_dir() {
                folders.push(entry.path());
            } else if entry.file_type().unwrap().is_file() {
                all.entry(fs::read(entry.path()).unwrap()).or_default().push(entry.path());
            }
        }
    }
    all
}

/// Each file that was worked on is in its place, or where it was said to be.
fn assert_nothing_lost(project: &Project, done: &[&str], kept: &[AbsPath], when: &str) {
    let all = holders(project.base.path());
    for below in done {
        let place = project.path(below);
        let paths = all.get(words(below).as_bytes()).unwrap_or_else(|| panic!("{when}: {below} is lost"));
        let is_named = |path: &PathBuf| kept.iter().any(|kept| path.starts_with(kept.as_path()));
        assert!(paths.contains(&place) || paths.iter().any(is_named), "{when}: {paths:?} is not named in {kept:?}");
    }
}

fn finish(project: &Project, when: &str) -> Vec<AbsPath> {
    let met = recover(&project.state(), &Scope::All, &mut Unwatched).unwrap_or_else(|e| panic!("{when}: {e}"));
    met.into_iter().flat_map(|one| kept_of(one.outcome, when)).collect()
}

fn kept_of(outcome: RecoveredOutcome, when: &str) -> Vec<AbsPath> {
    match outcome {
        RecoveredOutcome::Undone { kept } => kept,
        // Whoever edits in place what is kept as a link only has changed both.
        RecoveredOutcome::NeedsAttention { left, kept } if left.iter().all(|one| one.contains("in place")) => kept,
        other => panic!("{when}: {other:?}"),
    }
}

/// How the work is stored, and where the recovery dies once more. Each step has one way, unless `FIX_CRASH_ALL=1`.
fn variants(at: u64) -> Vec<(Store, Option<u64>)> {
    let again = Some(7 + at % 61);
    let all = [(Store::Anew, None), (Store::InPlace, again), (Store::Anew, again), (Store::InPlace, None)];
    match std::env::var_os("FIX_CRASH_ALL") {
        Some(_) => all.to_vec(),
        None => vec![all[at as usize % all.len()]],
    }
}

/// Dies at every step of `cut_off`, works on, and finishes, now and then with one more death.
fn nothing_is_lost(scenario: Scenario, before: fn(&Project), cut_off: fn(&Scenario, &Project)) {
    for at in 0.. {
        let mut over = false;
        for (store, within) in variants(at) {
            let stage = scenario.stage();
            let project = &stage.project;
            before(project);
            over = dies_at(at, || cut_off(&scenario, project));
            let done = if over { Vec::new() } else { work(project, store) };
            let when = format!("death at step {at}, stored {store:?}, then at {within:?}");
            let mut kept = Vec::new();
            if let Some(within) = within {
                dies_at(within, || {
                    let met = recover(&project.state(), &Scope::All, &mut Unwatched).unwrap_or_default();
                    kept.extend(met.into_iter().flat_map(|one| match one.outcome {
                        RecoveredOutcome::Undone { kept } | RecoveredOutcome::NeedsAttention { kept, left: _ } => kept,
                        RecoveredOutcome::Left(_) => Vec::new(),
                    }));
                });
            }
            let met = finish(project, &when);
            if met.is_empty() && within.is_some() {
                // It was through but for its report; the history tells of it.
                kept.extend(history(&project.state()).unwrap().into_iter().flat_map(|group| group.newcomers));
            }
            kept.extend(met);
            assert_nothing_lost(project, &done, &kept, &when);
        }
        if over {
            return;
        }
        assert!(at < 2000, "it does not end");
    }
}

fn of_the_repair(scenario: Scenario) {
    nothing_is_lost(
        scenario,
        |_| (),
        |scenario, project| {
            let _ = project.apply(&mut Unwatched, &mut |_| {
                (scenario.builds)(project);
                Proof::Proved
            });
        },
    );
}

fn of_the_rollback(scenario: Scenario, on_drift: fn(&Scenario, &Project)) {
    nothing_is_lost(scenario, |project| drop(commit(project)), on_drift);
}

fn refusing(_: &Scenario, project: &Project) {
    let _ = roll_back(&project.state(), &Which::NewestIn(project.root()), OnDrift::Refuse, &mut Unwatched);
}

macro_rules! later_work {
    ($($name:ident: $scenario:expr;)*) => { $(
        mod $name {
            use super::*;
            use crate::crash::*;

            #[test]
            fn after_a_repair_that_was_cut_off() {
                of_the_repair($scenario);
            }

            #[test]
            fn after_a_rollback_that_was_cut_off() {
                of_the_rollback($scenario, refusing);
            }
        }
    )* };
}

later_work! {
    files_alone: FILES;
    tree_to_the_state: PLAIN;
    tree_beside: BESIDE;
    tree_copied: COPIED;
    tree_by_entries: ENTRIES;
    tree_by_entries_copied: ENTRIES_COPIED;
    command_alone: COMMAND;
    command_beside: COMMAND_BESIDE;
    command_in_place: INSTALLED;
}

/// Where nobody worked there is nothing to keep: an undo knows what the repair left.
#[test]
fn nothing_is_kept_where_nobody_worked() {
    for scenario in [crate::crash::FILES, crate::crash::COMMAND, crate::crash::INSTALLED] {
        let project = (scenario.make)();
        let outcome = project.apply(&mut Unwatched, &mut |_| Proof::Failed { why: "no".into() }).unwrap();
        assert!(matches!(&outcome, Outcome::Undone { kept, .. } if kept.is_empty()), "{outcome:?}");
        let project = (scenario.make)();
        commit(&project);
        let which = Which::NewestIn(project.root());
        let done = roll_back(&project.state(), &which, OnDrift::Refuse, &mut Unwatched).unwrap();
        assert!(done.kept.is_empty(), "{done:?}");
    }
}

/// Changes something while a rollback is at work, right before the step.
#[test]
fn what_is_written_while_a_rollback_is_at_work_is_kept() {
    struct Editor<'a>(&'a Project);
    impl build_fix::transaction::Watch for Editor<'_> {
        fn event(&mut self, event: build_fix::transaction::Event) {
            if event == build_fix::transaction::Event::Undoing {
                fs::write(self.0.path("setup.py"), words("setup.py")).unwrap();
            }
        }
        fn interrupted(&self) -> bool {
            false
        }
    }
    let mut project = Project::new();
    project.write("setup.py", Some(("new line\n", 0o644)));
    project.set_aside("build", TreeKind::Derived);
    commit(&project);
    let which = Which::NewestIn(project.root());
    let done = roll_back(&project.state(), &which, OnDrift::Refuse, &mut Editor(&project)).unwrap();
    assert_eq!(fs::read_to_string(project.path("setup.py")).unwrap(), "old line\n");
    assert_nothing_lost(&project, &["setup.py"], &done.kept, "meanwhile");
}

/// A project whose forced rollback was cut off right after it began.
fn begun_by_force() -> Project {
    for at in 20.. {
        let mut project = Project::new();
        project.write("setup.py", Some(("new line\n", 0o644)));
        let id = commit(&project);
        fs::write(project.path("setup.py"), "my own words\n").unwrap();
        let which = Which::NewestIn(project.root());
        let over = dies_at(at, || {
            let _ = roll_back(&project.state(), &which, OnDrift::SaveFirst, &mut Unwatched);
        });
        assert!(!over, "it never began");
        let own = project.state().path().as_path().join("groups").join(&id).join("group.jsonl");
        let text = fs::read_to_string(own).unwrap();
        if text.contains("rolling-back") && text.ends_with('\n') {
            return project;
        }
    }
    unreachable!("there is no last step")
}

/// What a forced rollback saved is not kept a second time.
#[test]
fn a_forced_rollback_that_was_cut_off_keeps_what_came_after_it() {
    for later in [false, true] {
        let project = begun_by_force();
        assert_eq!(fs::read_to_string(project.path("setup.py")).unwrap(), "my own words\n");
        if later {
            fs::write(project.path("setup.py"), words("setup.py")).unwrap();
        }
        let kept = finish(&project, "forced");
        assert_eq!(kept.len(), usize::from(later), "{kept:?}");
        assert_eq!(fs::read_to_string(project.path("setup.py")).unwrap(), "old line\n");
        if later {
            assert_nothing_lost(&project, &["setup.py"], &kept, "forced");
        }
    }
}

#[test]
fn a_rollback_that_was_cut_off_elsewhere_is_left_alone_and_blocks_its_files() {
    let mut project = Project::new();
    project.write("setup.py", Some(("new line\n", 0o644)));
    let id = commit(&project);
    let which = Which::NewestIn(project.root());
    dies_at(12, || {
        let _ = roll_back(&project.state(), &which, OnDrift::Refuse, &mut Unwatched);
    });
    let folder = project.state().path().as_path().join("groups").join(&id);
    as_of_old(&folder);
    for (name, places) in [("1.jsonl", 1), ("group.jsonl", 1)] {
        let text = fs::read_to_string(folder.join(name)).unwrap();
        let at = text.find("\"boot\":\"").unwrap() + 8;
        let end = at + text[at..].find('"').unwrap();
        assert_eq!(text.matches("\"boot\":\"").count(), places, "{text}");
        fs::write(folder.join(name), format!("{}another{}", &text[..at], &text[end..])).unwrap();
    }
    fs::write(project.path("setup.py"), words("setup.py")).unwrap();
    let met = recover(&project.state(), &Scope::All, &mut Unwatched).unwrap();
    assert!(matches!(&met[..], [one] if one.outcome == RecoveredOutcome::Left(Unrecoverable::OtherBoot)), "{met:?}");
    assert_eq!(fs::read_to_string(project.path("setup.py")).unwrap(), words("setup.py"));
    // Nothing is built on top of it.
    project.changes.clear();
    project.write("setup.py", Some(("third\n", 0o644)));
    let refused = project.apply(&mut Unwatched, &mut |_| Proof::Proved);
    assert!(matches!(refused, Err(TransactionError::Unfinished(_))), "{refused:?}");
    // On the user's word it goes on, and keeps what came since.
    let done = roll_back(&project.state(), &Which::Id(id.clone()), OnDrift::Refuse, &mut Unwatched).unwrap();
    assert_eq!(fs::read_to_string(project.path("setup.py")).unwrap(), "old line\n");
    assert_nothing_lost(&project, &["setup.py"], &done.kept, "elsewhere");
    let again = roll_back(&project.state(), &Which::Id(id), OnDrift::Refuse, &mut Unwatched);
    assert!(matches!(again, Err(RollbackError::Already(_))), "{again:?}");
    drop(prune(&project.state(), &Limits::default(), ForgottenBy::User).unwrap());
    fault::arm(Fault::None);
}
