//! `kill -9` of a real process at random times in real repairs and rollbacks: the next one finds the whole old
//! or the whole new state.

use std::fs;
use std::io::{BufRead, BufReader, Write};
use std::path::Path;
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use crate::repairs::{Project, abs, timeless};
use build_fix::change::TreeKind;
use build_fix::rollback::{OnDrift, Which, roll_back};
use build_fix::transaction::{
    ForgottenBy, GroupState, Limits, Outcome, Proof, RecoveredOutcome, Scope, StateDir, Unwatched, history, pending,
    prune, recover,
};

/// Set for the process that repairs until it is killed; names its folder.
const VICTIM: &str = "FIX_TEST_VICTIM";
const KILLS: u64 = 200;

fn repair(base: &Path) -> Project {
    let mut project = Project::reopen(base);
    project.write("setup.py", Some(("new line\n", 0o755)));
    project.set_aside("build", TreeKind::Derived);
    project.run(&["/bin/cp", "gone.txt", "copy.txt"], &["copy.txt"]);
    project
}

/// Not a test: what the killed process runs.
#[test]
fn victim() {
    let Some(base) = std::env::var_os(VICTIM) else { return };
    println!("\nready");
    std::io::stdout().flush().unwrap();
    loop {
        let project = repair(Path::new(&base));
        let outcome = project.apply(&mut Unwatched, &mut |_| {
            fs::create_dir(project.path("build")).unwrap();
            fs::write(project.path("build/fresh.o"), "newer").unwrap();
            Proof::Proved
        });
        assert!(matches!(outcome, Ok(Outcome::Committed { .. })), "{outcome:?}");
        roll_back(&project.state(), &Which::NewestIn(project.root()), OnDrift::Refuse, &mut Unwatched).unwrap();
    }
}

#[test]
fn killed_at_random_times() {
    let project = Project::new();
    for n in 0..300 {
        fs::write(project.path(&format!("build/CMakeFiles/{n}.o")), format!("object {n}")).unwrap();
    }
    let old = timeless(&project.picture());
    let (mut undone, mut stayed, mut untouched) = (0, 0, 0);
    for kill in 0..KILLS {
        // Any spread will do; a fixed one can be repeated.
        let hash = blake3::hash(&kill.to_le_bytes());
        let micros = u64::from(u16::from_le_bytes([hash.as_bytes()[0], hash.as_bytes()[1]]));
        kill_after(project.base.path(), Duration::from_micros(micros));

        let when = format!("kill {kill}, after {micros} µs");
        let was_cut_off = !pending(&project.state()).unwrap().is_empty();
        recover_all(&project.state(), &when);
        assert!(pending(&project.state()).unwrap().is_empty(), "{when}");
        let found = timeless(&project.picture());
        let newest = history(&project.state()).unwrap().pop().map(|group| group.state);
        if newest == Some(GroupState::Applied) {
            stayed += 1;
            assert_eq!(fs::read_to_string(project.path("setup.py")).unwrap(), "new line\n", "{when}");
            assert_eq!(fs::read_to_string(project.path("copy.txt")).unwrap(), "goes away\n", "{when}");
            assert_eq!(fs::read_dir(project.path("build")).unwrap().count(), 1, "{when}");
            roll_back(&project.state(), &Which::NewestIn(project.root()), OnDrift::Refuse, &mut Unwatched).unwrap();
            assert_eq!(timeless(&project.picture()), old, "{when}, rolled back");
        } else {
            assert_eq!(found, old, "{when}: {newest:?}");
        }
        if was_cut_off {
            undone += 1;
        } else {
            untouched += 1;
        }
        prune(&project.state(), &Limits { groups: 2, ..Limits::default() }, ForgottenBy::User).unwrap();
    }
    println!(
        "{KILLS} kills: {undone} cut off and finished by the recovery, {stayed} found applied, {untouched} between"
    );
    assert!(undone > KILLS / 10, "too few kills hit a repair: {undone}");
}

/// The process aborts itself before its N-th step: `FIX_CRASH_AT` works from outside, too.
#[cfg(debug_assertions)]
#[test]
fn aborted_at_every_seventh_step() {
    let project = Project::new();
    let old = timeless(&project.picture());
    for at in (0..).step_by(7) {
        let output = Command::new(std::env::current_exe().unwrap())
            .args(["--exact", "kill::victim_of_itself", "--nocapture", "--test-threads=1"])
            .env(VICTIM, project.base.path())
            .env("FIX_CRASH_AT", at.to_string())
            .output()
            .unwrap();
        let when = format!("abort at {at}");
        if output.status.success() {
            assert!(at > 50, "a repair has more than {at} steps");
            assert_eq!(fs::read_to_string(project.path("copy.txt")).unwrap(), "goes away\n");
            return;
        }
        recover_all(&project.state(), &when);
        if history(&project.state()).unwrap().pop().is_some_and(|group| group.state == GroupState::Applied) {
            roll_back(&project.state(), &Which::NewestIn(project.root()), OnDrift::Refuse, &mut Unwatched).unwrap();
        }
        assert_eq!(timeless(&project.picture()), old, "{when}");
    }
}

/// Not a test: what the aborting process runs.
#[test]
fn victim_of_itself() {
    let Some(base) = std::env::var_os(VICTIM) else { return };
    let outcome = repair(Path::new(&base)).apply(&mut Unwatched, &mut |_| Proof::Proved);
    assert!(matches!(outcome, Ok(Outcome::Committed { .. })), "{outcome:?}");
}

fn kill_after(base: &Path, delay: Duration) {
    let mut victim = Command::new(std::env::current_exe().unwrap())
        .args(["--exact", "kill::victim", "--nocapture", "--test-threads=1"])
        .env(VICTIM, base)
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    let mut lines = BufReader::new(victim.stdout.take().unwrap()).lines();
    assert!(lines.any(|line| line.unwrap() == "ready"), "the victim did not start");
    std::thread::sleep(delay);
    assert!(victim.try_wait().unwrap().is_none(), "the victim ended by itself");
    victim.kill().unwrap();
    victim.wait().unwrap();
}

/// A `cp` that outlives its parent holds the lock for a moment.
fn recover_all(state: &StateDir, when: &str) {
    let deadline = Instant::now() + Duration::from_secs(30);
    loop {
        let met = recover(state, &Scope::All, &mut Unwatched).unwrap_or_else(|error| panic!("{when}: {error}"));
        let is_left = |outcome: &RecoveredOutcome| matches!(outcome, RecoveredOutcome::Left(_));
        if !met.iter().any(|recovered| is_left(&recovered.outcome)) {
            for recovered in met {
                assert!(matches!(recovered.outcome, RecoveredOutcome::Undone { .. }), "{when}: {recovered:?}");
            }
            return;
        }
        assert!(Instant::now() < deadline, "{when}: {met:?}");
        std::thread::yield_now();
    }
}

#[test]
fn a_recovery_waits_for_no_child_and_works_beside_none() {
    let project = Project::new();
    let gate = project.base.path().join("gate");
    let status = Command::new("/usr/bin/mkfifo").arg(&gate).status().unwrap();
    assert!(status.success());
    let mut victim = Command::new(std::env::current_exe().unwrap())
        .args(["--exact", "kill::victim_with_a_child", "--nocapture", "--test-threads=1"])
        .env(VICTIM, project.base.path())
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .spawn()
        .unwrap();
    // The child has begun when it opens the gate's other end.
    let open = fs::File::options().write(true).open(&gate).unwrap();
    victim.kill().unwrap();
    victim.wait().unwrap();
    let met = recover(&project.state(), &Scope::Root(abs(project.path("build"))), &mut Unwatched).unwrap();
    assert!(matches!(met[..], [ref one] if matches!(one.outcome, RecoveredOutcome::Left(_))), "{met:?}");
    assert_eq!(fs::read_to_string(project.path("setup.py")).unwrap(), "new line\n");
    drop(open);
    recover_all(&project.state(), "the child has ended");
    assert_eq!(fs::read_to_string(project.path("setup.py")).unwrap(), "old line\n");
}

/// Not a test: what the killed process runs.
#[test]
fn victim_with_a_child() {
    let Some(base) = std::env::var_os(VICTIM) else { return };
    let mut project = Project::reopen(Path::new(&base));
    project.write("setup.py", Some(("new line\n", 0o644)));
    project.run(&["/bin/cat", "../gate"], &[]);
    let _ = project.apply(&mut Unwatched, &mut |_| Proof::Proved);
}
