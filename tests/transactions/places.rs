//! Unkind places: full, read-only and foreign file systems, mount points, folders without permission.
//!
//! The cases run in a mount namespace of their own, where that may be made.

use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::process::Command;

use build_fix::change::{AllowedRoots, EnvOverlay, TreeKind};
use build_fix::rollback::{OnDrift, Which, roll_back};
use build_fix::transaction::{
    ForgottenBy, Group, GroupState, Limits, Newcomers, Order, Outcome, Proof, Scope, StateDir, Title, TransactionError,
    Unwatched, history, pending, prune, recover,
};

use crate::repairs::{Picture, Project, abs, timeless};

const INSIDE: &str = "FIX_TEST_INSIDE";

#[test]
fn unkind_places() {
    let run = |program: &str, arguments: &[&str]| {
        Command::new(program).args(arguments).env(INSIDE, "1").output().expect("it is part of every Linux")
    };
    if !run("unshare", &["--map-root-user", "--mount", "true"]).status.success() {
        // Written past the capture of the test harness: what is not tried is said.
        let said = b"places::unkind_places: not tried, no mount namespace may be made here\n";
        std::io::Write::write_all(&mut std::io::stderr(), said).unwrap();
        return;
    }
    let me = std::env::current_exe().unwrap();
    let output = run(
        "unshare",
        &["--map-root-user", "--mount", me.to_str().unwrap(), "--exact", "places::inside", "--nocapture"],
    );
    let text = [output.stdout, output.stderr].concat();
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&text));
    assert!(String::from_utf8_lossy(&text).contains("all places done"));
}

/// Not a test: what runs in the namespace.
#[test]
fn inside() {
    if std::env::var_os(INSIDE).is_none() {
        return;
    }
    full_project();
    full_state();
    mount_point();
    mount_points_below();
    mount_made_after_the_repair();
    read_only();
    println!("all places done");
}

fn mount(options: &str, at: &Path) {
    let status = Command::new("mount").args(["-t", "tmpfs", "-o", options, "none"]).arg(at).status().unwrap();
    assert!(status.success(), "mount {options} at {}", at.display());
}

fn apply(project: &Project, state: &StateDir) -> Result<Outcome, TransactionError> {
    let order = Order {
        recipe: "x",
        slug: "x",
        case: "x",
        title: &Title::default(),
        digest: "",
        changes: &project.changes,
        roots: &AllowedRoots::new([project.root()]),
        overlay: &EnvOverlay::default(),
    };
    Group::new(state, project.root(), vec![]).apply(&order, &mut Unwatched, &mut |_| Proof::Proved)
}

/// A file system of one mebibyte with nothing left on it.
fn fill(at: &Path) -> PathBuf {
    let filler = at.join("filler");
    let mut size = 1 << 20;
    let mut bytes = Vec::new();
    while size > 0 {
        bytes.resize(bytes.len() + size, b'x');
        if fs::write(&filler, &bytes).is_err() {
            bytes.truncate(bytes.len() - size);
            size /= 2;
        }
    }
    let _ = fs::write(&filler, &bytes);
    filler
}

fn full_project() {
    let base = tempfile::tempdir().unwrap();
    mount("size=1m", base.path());
    let inner = tempfile::tempdir_in(base.path()).unwrap();
    let mut project = Project::in_dir(inner);
    let state_base = tempfile::tempdir().unwrap();
    let state = StateDir::open(abs(state_base.path().join("fix")));
    let old = project.picture();
    project.set_aside("build", TreeKind::Derived);
    project.write("run.sh", Some(("#!/bin/sh\n", 0o755)));
    project.write("setup.py", Some((&"x".repeat(3 << 20), 0o644)));
    let outcome = apply(&project, &state);
    let Ok(Outcome::Undone { why, .. }) = outcome else { panic!("{outcome:?}") };
    assert!(why.contains("No space left on device") && why.contains("setup.py") || why.contains(".tmp"), "{why}");
    assert_eq!(project.picture(), old);
}

fn full_state() {
    for left in [0, 1, 2, 3, 5, 8, 13, 21, 34, 55] {
        let base = tempfile::tempdir().unwrap();
        mount("size=1m", base.path());
        let state = StateDir::open(abs(base.path().join("fix")));
        let mut project = Project::new();
        project.write("run.sh", Some(("#!/bin/sh\n", 0o755)));
        project.set_aside("build", TreeKind::Derived);
        project.write("setup.py", Some((&"x\n".repeat(16 << 10), 0o644)));
        let old = project.picture();
        let filler = fill(base.path());
        let size = fs::metadata(&filler).unwrap().len();
        fs::File::options().write(true).open(&filler).unwrap().set_len(size - left * 4096).unwrap();
        let outcome = apply(&project, &state);
        let when = format!("{left} pages left: {outcome:?}");
        match outcome {
            Err(TransactionError::File(error)) => assert!(error.to_string().contains("No space"), "{when}"),
            Ok(Outcome::Undone { why, .. }) => assert!(why.contains("No space"), "{when}"),
            // All the rest may come to nothing, but nothing may be lost.
            Ok(Outcome::NeedsAttention { .. } | Outcome::Committed { .. }) | Err(_) => {}
        }
        if !matches!(fs::read_to_string(project.path("setup.py")), Ok(text) if text.len() > 100) {
            fs::remove_file(&filler).unwrap();
            recover(&state, &Scope::All, &mut Unwatched).unwrap();
            // This process lives: only the history would tell of it.
            assert_eq!(timeless(&project.picture()), timeless(&old), "{when}");
        } else {
            fs::remove_file(&filler).unwrap();
            roll_back(&state, &Which::NewestIn(project.root()), OnDrift::Refuse, &mut Unwatched).unwrap();
            assert_eq!(timeless(&project.picture()), timeless(&old), "{when}");
        }
        assert!(pending(&state).unwrap().is_empty(), "{when}");
    }
}

fn round_trip(project: &Project, old: &Picture, gone: &str) {
    let outcome = apply(project, &project.state());
    assert!(matches!(outcome, Ok(Outcome::Committed { .. })), "{outcome:?}");
    assert!(project.path("build").is_dir() && !project.path(gone).exists());
    fs::write(project.path("build/newer"), "newer").unwrap();
    let result =
        roll_back(&project.state(), &Which::NewestIn(project.root()), OnDrift::Refuse, &mut Unwatched).unwrap();
    assert_eq!(result.kept.len(), 1, "{result:?}");
    let kept = fs::read_to_string(&result.kept[0]).unwrap();
    assert_eq!(kept, "newer");
    let mut found = project.picture();
    // What was built since is kept on the same file system, in a folder that git does not see.
    found.retain(|path, _| !path.iter().any(|name| name == ".fix"));
    assert_eq!(timeless(&found), timeless(old));
}

fn mount_point() {
    let mut project = Project::new();
    mount("size=1m", &project.path("build"));
    fs::write(project.path("build/CMakeCache.txt"), "old\n").unwrap();
    fs::create_dir(project.path("build/sub")).unwrap();
    let old = project.picture();
    project.set_aside("build", TreeKind::Derived);
    round_trip(&project, &old, "build/CMakeCache.txt");
}

fn bind(from: &Path, at: &Path) {
    let status = Command::new("mount").arg("--bind").args([from, at]).status().unwrap();
    assert!(status.success(), "bind {} at {}", from.display(), at.display());
}

/// What a mount point shows lies elsewhere: a tree that holds one is refused as a whole, before anything moves.
fn mount_points_below() {
    type Mount = fn(&Path, &Path);
    let kinds: [(&str, Mount); 3] = [
        ("another file system", |_, at| mount("size=1m", at)),
        ("a folder of the same file system", bind),
        ("a file of the same file system", |elsewhere, at| {
            fs::remove_dir_all(at).unwrap();
            fs::write(at, "").unwrap();
            bind(&elsewhere.join("model.bin"), at);
        }),
    ];
    for (kind, mount_it) in kinds {
        let elsewhere = tempfile::tempdir().unwrap();
        fs::write(elsewhere.path().join("model.bin"), "dear\n").unwrap();
        let mut project = Project::new();
        let at = project.path("build/bin");
        mount_it(elsewhere.path(), &at);
        let old = project.picture();
        project.set_aside("build", TreeKind::Derived);
        match apply(&project, &project.state()) {
            Err(TransactionError::HoldsMount { path, mount }) => {
                assert_eq!((path, mount), (abs(project.path("build")), abs(&at)), "{kind}");
            }
            other => panic!("{kind}: {other:?}"),
        }
        assert_eq!(project.picture(), old, "{kind}");
        assert!(!project.base.path().join("state/groups").exists(), "{kind}");
        assert_eq!(fs::read_to_string(elsewhere.path().join("model.bin")).unwrap(), "dear\n");
    }
    // A command may not write there either: its undo would.
    let mut project = Project::new();
    mount("size=1m", &project.path("build/bin"));
    project.run(&["/bin/sh", "-c", "true"], &["build"]);
    let outcome = apply(&project, &project.state());
    assert!(matches!(outcome, Err(TransactionError::HoldsMount { .. })), "{outcome:?}");
}

/// Somebody mounts into the tree that was built since: neither the rollback nor forgetting it empties that.
fn mount_made_after_the_repair() {
    let elsewhere = tempfile::tempdir().unwrap();
    let dear = elsewhere.path().join("model.bin");
    fs::write(&dear, "dear\n").unwrap();
    let mut project = Project::new();
    let old = project.picture();
    project.set_aside("build", TreeKind::Derived);
    let outcome = apply(&project, &project.state());
    assert!(matches!(outcome, Ok(Outcome::Committed { .. })), "{outcome:?}");
    let data = project.path("build/data");
    fs::create_dir_all(&data).unwrap();
    bind(elsewhere.path(), &data);
    let back = || roll_back(&project.state(), &Which::NewestIn(project.root()), OnDrift::Refuse, &mut Unwatched);
    let error = back().unwrap_err();
    assert!(error.to_string().contains(data.to_str().unwrap()), "{error}");
    assert_eq!(history(&project.state()).unwrap()[0].state, GroupState::Applied);
    assert!(Command::new("umount").arg(&data).status().unwrap().success());
    let result = back().unwrap();
    assert_eq!(timeless(&project.picture()), timeless(&old));

    let at = result.kept[0].resolve("data");
    bind(elsewhere.path(), at.as_path());
    let none = Limits { groups: 0, newcomers: Newcomers::AsTheRest, ..Limits::default() };
    let error = prune(&project.state(), &none, ForgottenBy::User).unwrap_err();
    assert!(error.to_string().contains(at.as_path().to_str().unwrap()), "{error}");
    assert_eq!(fs::read_to_string(&dear).unwrap(), "dear\n");
    assert!(Command::new("umount").arg(at.as_path()).status().unwrap().success());
    assert_eq!(prune(&project.state(), &none, ForgottenBy::User).unwrap().groups.len(), 1);
    assert_eq!(fs::read_to_string(&dear).unwrap(), "dear\n");
}

fn read_only() {
    let mut project = Project::new();
    let old = project.picture();
    project.set_aside("build", TreeKind::Derived);
    let root = project.root();
    for arguments in [&["--bind"][..], &["-o", "remount,ro,bind"]] {
        let status = Command::new("mount").args(arguments).args([root.as_path(), root.as_path()]).status().unwrap();
        assert!(status.success());
    }
    let outcome = apply(&project, &project.state());
    let Ok(Outcome::Undone { why, .. }) = outcome else { panic!("{outcome:?}") };
    assert!(why.contains("Read-only file system"), "{why}");
    assert_eq!(project.picture(), old);
}

/// Root may write everywhere, so that this runs as another user where the tests are root's.
#[test]
fn an_unwritable_parent() {
    if !rustix::process::geteuid().is_root() {
        unwritable_parent(tempfile::tempdir().unwrap());
        return;
    }
    let me = std::env::current_exe().unwrap();
    let copy = tempfile::tempdir().unwrap();
    let base = copy.path().join("base");
    fs::create_dir(&base).unwrap();
    for (path, mode) in [(copy.path(), 0o755), (base.as_path(), 0o777)] {
        fs::set_permissions(path, fs::Permissions::from_mode(mode)).unwrap();
    }
    fs::copy(me, copy.path().join("tests")).unwrap();
    let output = Command::new("setpriv")
        .args(["--reuid=65534", "--regid=65534", "--clear-groups"])
        .arg(copy.path().join("tests"))
        .args(["--exact", "places::as_another_user", "--nocapture"])
        .current_dir("/")
        .env(INSIDE, &base)
        .output()
        .unwrap();
    let text = [output.stdout, output.stderr].concat();
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&text));
}

/// Not a test: what runs as another user.
#[test]
fn as_another_user() {
    if let Some(base) = std::env::var_os(INSIDE).filter(|base| Path::new(base).is_absolute()) {
        unwritable_parent(tempfile::tempdir_in(base).unwrap());
    }
}

fn unwritable_parent(base: tempfile::TempDir) {
    let mut project = Project::in_dir(base);
    let old = project.picture();
    project.set_aside("build", TreeKind::Derived);
    let lock = |mode| fs::set_permissions(project.path(""), fs::Permissions::from_mode(mode)).unwrap();
    lock(0o555);
    round_trip(&project, &old, "build/CMakeCache.txt");

    let mut project = Project::reopen(project.base.path());
    project.write("setup.py", Some(("new line\n", 0o644)));
    let refused = apply(&project, &project.state());
    assert!(matches!(refused, Err(TransactionError::Pinned { .. })), "{refused:?}");
    assert_eq!(fs::read_to_string(project.path("setup.py")).unwrap(), "old line\n");
    lock(0o755);
}
