//! Measures what it costs to be able to take a pip command back, against `cp -al` of the same tree in the same run.
//!
//! `scripts/bench/snapshot.sh` runs it. Nothing outside of the given folder is touched.

use std::ffi::OsString;
use std::fs;
use std::path::Path;
use std::process::Command;
use std::time::{Duration, Instant};

use anyhow::{Context, ensure};
use build_fix::change::{AbsPath, AllowedRoots, Change, EnvOverlay, Reversible, Run};
use build_fix::rollback::{OnDrift, Which, roll_back};
use build_fix::transaction::{Event, Group, Order, Outcome, Proof, StateDir, Title, Watch};

/// A package of an environment: modules, byte code, and what is edited in place.
const FILES_A_PACKAGE: u64 = 80;
const FILES_A_FOLDER: u64 = 16;
/// One in so many is a file that an installer or a person edits in place.
const EDITED: u64 = 40;

fn main() -> anyhow::Result<()> {
    let mut arguments = std::env::args_os().skip(1);
    let folder = arguments.next().context("usage: snapshot FOLDER [FILES] [ROUNDS]")?;
    let mut number = |default: u64| -> anyhow::Result<u64> {
        Ok(match arguments.next() {
            Some(text) => text.to_string_lossy().parse()?,
            None => default,
        })
    };
    let (files, rounds) = (number(20_000)?, number(5)?);
    let base = tempfile::Builder::new().prefix("snapshot-").tempdir_in(folder)?;
    let root = AbsPath::new(fs::canonicalize(base.path())?.join("project"))?;
    let state = StateDir::open(AbsPath::new(base.path().join("state"))?);
    fill(root.resolve("environment").as_path(), files)?;
    ensure!(Command::new("sync").status()?.success(), "sync failed");

    let mut best: Option<Times> = None;
    for _ in 0..rounds {
        let times = round(&state, &root)?;
        best = Some(best.map_or(times, |best| best.least(times)));
    }
    let Some(best) = best else { return Ok(()) };
    println!("{files} files, the best of {rounds} rounds");
    let of = |what: Duration, whole: Duration| what.as_secs_f64() / whole.as_secs_f64();
    let line = |name: &str, what: Duration, whole: Duration, of_what: &str| {
        println!("{name:28} {:>9.1} ms   {:>5.2} x {of_what}", what.as_secs_f64() * 1e3, of(what, whole));
    };
    line("cp -al", best.copy, best.copy, "cp -al");
    line("snapshot", best.snapshot, best.copy, "cp -al");
    line("restore, nothing changed", best.restore_same, best.snapshot, "snapshot");
    line("restore, a third is gone", best.restore_third, best.snapshot, "snapshot");
    line("whole repair", best.repair, best.copy, "cp -al");
    line("whole rollback", best.rollback, best.copy, "cp -al");
    Ok(())
}

#[derive(Clone, Copy)]
struct Times {
    copy: Duration,
    snapshot: Duration,
    restore_same: Duration,
    restore_third: Duration,
    repair: Duration,
    rollback: Duration,
}

impl Times {
    fn least(self, other: Self) -> Self {
        Self {
            copy: self.copy.min(other.copy),
            snapshot: self.snapshot.min(other.snapshot),
            restore_same: self.restore_same.min(other.restore_same),
            restore_third: self.restore_third.min(other.restore_third),
            repair: self.repair.min(other.repair),
            rollback: self.rollback.min(other.rollback),
        }
    }
}

/// The rival, a command that changes nothing, and one that removes a third of the packages.
fn round(state: &StateDir, root: &AbsPath) -> anyhow::Result<Times> {
    let (tree, copy) = (root.resolve("environment"), root.resolve("copy"));
    let begin = Instant::now();
    let copied = Command::new("cp").arg("-al").arg(tree.as_path()).arg(copy.as_path()).status()?;
    let copy_time = begin.elapsed();
    ensure!(copied.success(), "cp failed");
    fs::remove_dir_all(&copy)?;

    let (snapshot, repair) = run(state, root, "true")?;
    let (restore_same, _) = back(state, root)?;
    let before = count(tree.as_path())?;
    let (again, _) = run(state, root, "rm -r environment/lib/p*[036]")?;
    ensure!(count(tree.as_path())? < before, "nothing was removed");
    let (restore_third, rollback) = back(state, root)?;
    ensure!(count(tree.as_path())? == before, "the tree is not whole again");
    Ok(Times { copy: copy_time, snapshot: snapshot.min(again), restore_same, restore_third, repair, rollback })
}

/// When the saving, and when the undoing began; when the command began.
#[derive(Default)]
struct Clock {
    saving: Option<Instant>,
    running: Option<Instant>,
    undoing: Option<Instant>,
}

impl Watch for Clock {
    fn event(&mut self, event: Event) {
        match event {
            Event::Saving { .. } => self.saving = Some(Instant::now()),
            Event::Running { .. } => self.running = Some(Instant::now()),
            Event::Undoing => self.undoing = Some(Instant::now()),
            Event::Change { .. } | Event::Moving { .. } | Event::Copied { .. } | Event::Proving => {}
        }
    }

    fn interrupted(&self) -> bool {
        false
    }
}

fn run(state: &StateDir, root: &AbsPath, line: &str) -> anyhow::Result<(Duration, Duration)> {
    let changes = [Change::Run(Run {
        argv: ["/bin/sh", "-c", line].map(OsString::from).to_vec(),
        cwd: root.clone(),
        env: EnvOverlay::default(),
        writes: vec![root.resolve("environment")],
        reversible: Reversible::Yes,
        timeout_seconds: 600,
    })];
    let order = Order {
        recipe: "bench",
        slug: "bench",
        case: "bench",
        title: &Title::default(),
        digest: "",
        changes: &changes,
        roots: &AllowedRoots::new([root.clone()]),
        overlay: &EnvOverlay::default(),
    };
    let mut clock = Clock::default();
    let begin = Instant::now();
    let outcome =
        Group::new(state, root.clone(), vec!["bench".into()]).apply(&order, &mut clock, &mut |_| Proof::Proved)?;
    let whole = begin.elapsed();
    ensure!(matches!(outcome, Outcome::Committed { .. }), "{outcome:?}");
    let (saving, running) = (clock.saving.context("nothing was saved")?, clock.running.context("nothing ran")?);
    Ok((running - saving, whole))
}

fn back(state: &StateDir, root: &AbsPath) -> anyhow::Result<(Duration, Duration)> {
    let mut clock = Clock::default();
    let begin = Instant::now();
    roll_back(state, &Which::NewestIn(root.clone()), OnDrift::Refuse, &mut clock)?;
    let end = Instant::now();
    Ok((end - clock.undoing.context("nothing was undone")?, end - begin))
}

fn fill(environment: &Path, files: u64) -> anyhow::Result<()> {
    let content = vec![b'x'; 2000];
    for n in 0..files {
        let folder = environment.join(format!("lib/p{}/s{}", n / FILES_A_PACKAGE, n / FILES_A_FOLDER));
        if n % FILES_A_FOLDER == 0 {
            fs::create_dir_all(&folder)?;
        }
        let end = if n % EDITED == 0 { "json" } else { "py" };
        fs::write(folder.join(format!("m{n}.{end}")), &content)?;
    }
    Ok(())
}

fn count(folder: &Path) -> anyhow::Result<u64> {
    let mut files = 0;
    for entry in fs::read_dir(folder)? {
        let entry = entry?;
        files += if entry.file_type()?.is_dir() { count(&entry.path())? } else { 1 };
    }
    Ok(files)
}
