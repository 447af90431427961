//! The process dies at every single file-system step of a repair, of its recovery and of its rollback: what is
//! found afterwards is the whole old or the whole new state.
//!
//! Death is simulated inside the test: from step N on no file-system step is made any more. `kill.rs`
//! kills real processes.

use std::fs;
use std::process::{Child, Command, Stdio};

use crate::repairs::{Picture, Project, installed, timeless, without_kept};
use build_fix::change::TreeKind;
use build_fix::os::fault::{self, Fault};
use build_fix::rollback::{OnDrift, Which, roll_back};
use build_fix::transaction::{
    Outcome, Proof, RecoveredOutcome, Scope, TransactionError, Unwatched, history, pending, recover,
};

/// One kind of repair.
#[derive(Clone, Copy)]
pub struct Scenario {
    pub make: fn() -> Project,
    /// Folders that shall behave as file systems of their own.
    separate: &'static [&'static str],
    /// What the user's command leaves behind while the repair is being proved.
    pub builds: fn(&Project),
    /// Somebody works in this folder.
    working_in: Option<&'static str>,
}

pub const PLAIN: Scenario = Scenario { make: tree, separate: &[], builds: |_| (), working_in: None };

fn tree() -> Project {
    let mut project = Project::new();
    project.set_aside("build", TreeKind::Derived);
    project
}

fn files() -> Project {
    let mut project = Project::new();
    project.write("setup.py", Some(("new line\n", 0o644)));
    project.write("run.sh", Some(("#!/bin/sh\n", 0o755)));
    project.write("gone.txt", None);
    project.write("new/deep/file.cfg", Some(("fresh\n", 0o600)));
    project.write("linked.txt", Some(("changed\n", 0o644)));
    project
}

fn command() -> Project {
    let mut project = Project::new();
    project.write("setup.py", Some(("new line\n", 0o644)));
    let script = "cp setup.py run.sh; rm build/bin/tool; cp gone.txt build/bin/tool; mkdir build/bin/new;
        echo x > build/bin/new/y; rm -r build/empty; echo more >> build/CMakeCache.txt; rm gone.txt; echo z > made";
    project.run(&["/bin/sh", "-c", script], &["run.sh", "gone.txt", "build", "build/CMakeCache.txt", "made"]);
    project
}

fn mixed() -> Project {
    let mut project = Project::new();
    project.write("setup.py", Some(("new line\n", 0o644)));
    project.set_aside("build", TreeKind::Derived);
    project
}

fn rebuilds(project: &Project) {
    fs::create_dir_all(project.path("build/bin")).unwrap();
    fs::write(project.path("build/bin/tool"), "newer").unwrap();
    fs::write(project.path("build/fresh.o"), "newer").unwrap();
}

/// A process that works in a folder until it is dropped.
struct Worker(Child);

impl Worker {
    fn start(folder: std::path::PathBuf) -> Self {
        Self(Command::new("/bin/cat").current_dir(folder).stdin(Stdio::piped()).spawn().unwrap())
    }
}

impl Drop for Worker {
    fn drop(&mut self) {
        drop(self.0.stdin.take());
        self.0.wait().unwrap();
    }
}

pub struct Stage {
    pub project: Project,
    _worker: Option<Worker>,
}

impl Scenario {
    pub fn stage(&self) -> Stage {
        let project = (self.make)();
        fault::separate(self.separate.iter().map(|below| project.base.path().join(below)).collect());
        let worker = self.working_in.map(|below| Worker::start(project.path(below)));
        Stage { project, _worker: worker }
    }

    fn apply(&self, project: &Project, fault: Fault, proof: Proof) -> Result<Outcome, TransactionError> {
        fault::arm(fault);
        project.apply(&mut Unwatched, &mut |_| {
            (self.builds)(project);
            proof.clone()
        })
    }
}

/// Lets the process die at step `at`; returns whether the work ended before that.
pub fn dies_at(at: u64, work: impl FnOnce()) -> bool {
    fault::arm(Fault::DeadFrom(at));
    work();
    let used = fault::steps();
    fault::arm(Fault::None);
    used <= at
}

/// The steps at which the second death happens. All of them are too many for every day: the first death moves
/// the raster, so that every second step is met. `FIX_CRASH_ALL=1` makes it the full square.
fn nested(first: u64) -> impl Iterator<Item = u64> {
    let raster: u64 = if std::env::var_os("FIX_CRASH_ALL").is_some() { 1 } else { 29 };
    (first % raster..).step_by(raster as usize)
}

fn assert_is_one_of(found: &Picture, old: &Picture, new: &Picture, when: &str) {
    if found == old {
        return;
    }
    let (found, new) = (without_kept(found), without_kept(new));
    if found != new {
        let lines =
            |picture: &Picture| picture.iter().map(|(k, v)| format!("  {}: {v}\n", k.display())).collect::<String>();
        panic!("{when}: neither old nor new\nfound:\n{}old:\n{}new:\n{}", lines(&found), lines(old), lines(&new));
    }
}

fn assert_nothing_pending(project: &Project, when: &str) {
    let left = pending(&project.state()).unwrap();
    assert!(left.is_empty(), "{when}: {left:?}");
}

fn recover_fully(project: &Project, when: &str) {
    for recovered in recover(&project.state(), &Scope::All, &mut Unwatched).unwrap_or_else(|e| panic!("{when}: {e}")) {
        assert!(matches!(recovered.outcome, RecoveredOutcome::Undone { .. }), "{when}: {recovered:?}");
    }
}

/// Dies at every step of the repair and, nested, at every step of the recovery.
fn every_step_of_the_repair(scenario: Scenario, proof: Proof) {
    let expected = scenario.stage();
    let apply_outcome = scenario.apply(&expected.project, Fault::None, proof.clone()).unwrap();
    match (&proof, &apply_outcome) {
        (Proof::Proved, Outcome::Committed { .. }) | (Proof::Failed { .. }, Outcome::Undone { .. }) => {}
        (proof, outcome) => panic!("{proof:?} gave {outcome:?}"),
    }
    let new = expected.project.picture();
    for at in 0.. {
        let mut over = false;
        for within in nested(at) {
            let stage = scenario.stage();
            let project = &stage.project;
            let old = project.picture();
            over = dies_at(at, || {
                let _ = project.apply(&mut Unwatched, &mut |_| {
                    (scenario.builds)(project);
                    proof.clone()
                });
            });
            let when = format!("death at step {at}, in the recovery at step {within}");
            let recovered = dies_at(within, || {
                let _ = recover(&project.state(), &Scope::All, &mut Unwatched);
            });
            recover_fully(project, &when);
            assert_is_one_of(&project.picture(), &old, &new, &when);
            assert_nothing_pending(project, &when);
            if recovered || over {
                break;
            }
            assert!(within < 10_000, "the recovery does not end");
        }
        if over {
            assert!(at > 5, "a repair has more steps than {at}");
            return;
        }
        assert!(at < 2000, "the repair does not end");
    }
}

/// Dies at every step of the rollback and, nested, at every step of its completion.
fn every_step_of_the_rollback(scenario: Scenario, on_drift: OnDrift, then: fn(&Project)) {
    for at in 0.. {
        let mut over = false;
        for within in nested(at) {
            let stage = scenario.stage();
            let project = &stage.project;
            let old = project.picture();
            let outcome = scenario.apply(project, Fault::None, Proof::Proved).unwrap();
            assert!(matches!(outcome, Outcome::Committed { .. }), "{outcome:?}");
            then(project);
            let new = project.picture();
            let which = Which::NewestIn(project.root());
            let mut result = None;
            over = dies_at(at, || {
                result = Some(roll_back(&project.state(), &which, on_drift, &mut Unwatched));
            });
            let when = format!("death in the rollback at step {at}, in its completion at step {within}");
            let recovered = dies_at(within, || {
                let _ = recover(&project.state(), &Scope::All, &mut Unwatched);
            });
            recover_fully(project, &when);
            let found = project.picture();
            if over {
                result.unwrap().unwrap();
                assert_eq!(timeless(&found), timeless(&old), "{when}");
            }
            // The present time is given where something was built since.
            assert_is_one_of(&timeless(&found), &timeless(&old), &new, &when);
            assert_nothing_pending(project, &when);
            if recovered || over {
                break;
            }
            assert!(within < 10_000, "the completion does not end");
        }
        if over {
            return;
        }
        assert!(at < 2000, "the rollback does not end");
    }
}

/// One error (no space left) at every step: all is undone, or a recovery undoes it.
fn every_step_fails_once(scenario: Scenario, errno: i32) {
    for at in 0.. {
        let stage = scenario.stage();
        let project = &stage.project;
        let old = project.picture();
        let outcome = scenario.apply(project, Fault::FailOnce(at, errno), Proof::Proved);
        let over = fault::steps() <= at;
        fault::arm(Fault::None);
        let when = format!("error {errno} at step {at}: {outcome:?}");
        match outcome {
            Ok(Outcome::Committed { .. }) => {
                // The step was one that may fail: another way was taken.
                roll_back(&project.state(), &Which::NewestIn(project.root()), OnDrift::Refuse, &mut Unwatched)
                    .unwrap_or_else(|error| panic!("{when}: {error}"));
                assert_eq!(timeless(&project.picture()), timeless(&old), "{when}");
            }
            Ok(Outcome::Undone { .. }) | Err(_) => assert_eq!(project.picture(), old, "{when}"),
            Ok(Outcome::NeedsAttention { .. }) => {}
        }
        recover_fully(project, &when);
        assert_eq!(timeless(&project.picture()), timeless(&old), "{when}");
        assert_nothing_pending(project, &when);
        if over {
            return;
        }
    }
}

fn failed() -> Proof {
    Proof::Failed { why: "the same failure".into() }
}

pub const FILES: Scenario = Scenario { make: files, ..PLAIN };
pub const BESIDE: Scenario = Scenario { separate: &["state"], ..PLAIN };
pub const COPIED: Scenario = Scenario { separate: &["state", "project/.fix"], ..PLAIN };
pub const ENTRIES: Scenario = Scenario { working_in: Some("build/bin"), ..PLAIN };
const ENTRIES_WITHIN: Scenario = Scenario { separate: &["state", "project/.fix"], ..ENTRIES };
pub const ENTRIES_COPIED: Scenario = Scenario { separate: &["state", "project/.fix", "project/build/.fix"], ..ENTRIES };
pub const COMMAND: Scenario = Scenario { make: command, ..PLAIN };
pub const COMMAND_BESIDE: Scenario = Scenario { separate: &["state"], ..COMMAND };
pub const INSTALLED: Scenario = Scenario { make: installed, ..PLAIN };
const REBUILT: Scenario = Scenario { make: mixed, builds: rebuilds, ..PLAIN };
const REBUILT_ENTRIES: Scenario = Scenario { make: mixed, builds: rebuilds, ..ENTRIES };

macro_rules! crashes {
    ($($name:ident: $scenario:expr;)*) => { $(
        mod $name {
            use super::*;

            #[test]
            fn at_every_step_of_the_repair() {
                every_step_of_the_repair($scenario, Proof::Proved);
            }

            #[test]
            fn at_every_step_of_a_repair_that_is_not_proved() {
                every_step_of_the_repair($scenario, failed());
            }

            #[test]
            fn at_every_step_of_the_rollback() {
                every_step_of_the_rollback($scenario, OnDrift::Refuse, |_| ());
            }

            #[test]
            fn no_space_at_every_step() {
                every_step_fails_once($scenario, 28);
            }
        }
    )* };
}

crashes! {
    files_alone: FILES;
    tree_to_the_state: PLAIN;
    tree_beside: BESIDE;
    tree_copied: COPIED;
    tree_by_entries: ENTRIES;
    tree_by_entries_within: ENTRIES_WITHIN;
    tree_by_entries_copied: ENTRIES_COPIED;
    command_alone: COMMAND;
    command_beside: COMMAND_BESIDE;
    command_in_place: INSTALLED;
    rebuilt: REBUILT;
    rebuilt_by_entries: REBUILT_ENTRIES;
}

#[test]
fn at_every_step_of_a_forced_rollback() {
    every_step_of_the_rollback(FILES, OnDrift::SaveFirst, |project| {
        fs::write(project.path("setup.py"), "my own words\n").unwrap();
        fs::write(project.path("gone.txt"), "back again\n").unwrap();
    });
}

#[test]
fn history_lists_what_was_cut_off() {
    let project = files();
    dies_at(60, || {
        let _ = project.apply(&mut Unwatched, &mut |_| Proof::Proved);
    });
    assert_eq!(pending(&project.state()).unwrap().len(), 0, "this process lives: it may be at work");
    let all = history(&project.state()).unwrap();
    assert_eq!(all.len(), 1);
    assert_eq!(all[0].state, build_fix::transaction::GroupState::Unfinished);
}
