//! Measures how long it takes to set a build tree aside and to put it back, against `rm -rf` of a copy.
//!
//! `scripts/bench/set-aside.sh` runs it. Nothing outside of the given folder is touched.

use std::fs;
use std::os::unix::fs::MetadataExt;
use std::path::Path;
use std::process::Command;
use std::time::Instant;

use anyhow::{Context, ensure};
use build_fix::change::{AbsPath, AllowedRoots, Change, EnvOverlay, RemoveTree, TreeFolder, TreeImage, TreeKind};
use build_fix::rollback::{OnDrift, Which, roll_back};
use build_fix::transaction::{Group, Order, Outcome, Proof, StateDir, Title, Unwatched};

const FILES_A_FOLDER: u64 = 500;

fn main() -> anyhow::Result<()> {
    let mut arguments = std::env::args_os().skip(1);
    let folder = arguments.next().context("usage: set_aside FOLDER [FILES] [BYTES]")?;
    let mut number = |default: u64| -> anyhow::Result<u64> {
        Ok(match arguments.next() {
            Some(text) => text.to_string_lossy().parse()?,
            None => default,
        })
    };
    let (files, bytes) = (number(200_000)?, number(4_096)?);
    let base = tempfile::Builder::new().prefix("set-aside-").tempdir_in(folder)?;
    let root = AbsPath::new(fs::canonicalize(base.path())?.join("project"))?;
    let state = StateDir::open(AbsPath::new(base.path().join("state"))?);
    let build = root.resolve("build");
    fill(build.as_path(), files, bytes)?;
    let copy = root.resolve("copy");
    let copied = Command::new("cp").arg("-a").arg(build.as_path()).arg(copy.as_path()).status()?;
    ensure!(copied.success(), "cp failed");
    Command::new("sync").status()?;

    let meta = fs::metadata(&build)?;
    let before = TreeImage {
        device: meta.dev(),
        inode: meta.ino(),
        files,
        bytes: files * bytes,
        estimated: false,
        at_least: false,
    };
    let changes = [Change::RemoveTree(RemoveTree {
        path: build.clone(),
        before,
        kind: TreeKind::Derived,
        folder: TreeFolder::Goes,
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
    let begin = Instant::now();
    let outcome =
        Group::new(&state, root.clone(), vec!["bench".into()]).apply(&order, &mut Unwatched, &mut |_| Proof::Proved)?;
    let aside = begin.elapsed();
    ensure!(matches!(outcome, Outcome::Committed { .. }), "{outcome:?}");
    ensure!(!build.as_path().exists(), "the tree is still there");

    let begin = Instant::now();
    roll_back(&state, &Which::NewestIn(root), OnDrift::Refuse, &mut Unwatched)?;
    let back = begin.elapsed();
    ensure!(fs::metadata(&build)?.ino() == meta.ino(), "it is another tree");

    let begin = Instant::now();
    ensure!(Command::new("rm").arg("-rf").arg(copy.as_path()).status()?.success(), "rm failed");
    let removed = begin.elapsed();

    println!("{files} files of {bytes} bytes");
    println!("set aside      {:>12.3} ms", aside.as_secs_f64() * 1e3);
    println!("put back       {:>12.3} ms", back.as_secs_f64() * 1e3);
    println!("rm -rf a copy  {:>12.3} ms", removed.as_secs_f64() * 1e3);
    println!("both, of rm    {:>12.4} %", (aside + back).as_secs_f64() / removed.as_secs_f64() * 100.0);
    Ok(())
}

fn fill(build: &Path, files: u64, bytes: u64) -> anyhow::Result<()> {
    let content = vec![b'x'; usize::try_from(bytes)?];
    for n in 0..files {
        let folder = build.join(format!("CMakeFiles/{}.dir", n / FILES_A_FOLDER));
        if n % FILES_A_FOLDER == 0 {
            fs::create_dir_all(&folder)?;
        }
        fs::write(folder.join(format!("{n}.o")), &content)?;
    }
    Ok(())
}
