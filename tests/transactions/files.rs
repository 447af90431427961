//! What a repair and its rollback do to files, with real files and programs.

use std::fs;
use std::os::unix::fs::{MetadataExt, PermissionsExt, symlink};
use std::path::{Path, PathBuf};
use std::time::Duration;

use crate::repairs::{Project, abs, fast_dir, timeless};
use build_fix::change::{AllowedRoots, Change, EnvEdit, EnvOverlay, Reversible, TreeKind};
use build_fix::rollback::{OnDrift, RollbackError, RolledBack, Which, roll_back};
use build_fix::transaction::{
    Clock, Event, ForgottenBy, Group, GroupState, Limits, Order, Outcome, Proof, Scope, StateDir, Title,
    TransactionError, Unwatched, Version, Watch, history, pending, prune, recover,
};

fn commit(project: &Project) -> String {
    match project.apply(&mut Unwatched, &mut |_| Proof::Proved).unwrap() {
        Outcome::Committed { transaction } => transaction,
        outcome => panic!("{outcome:?}"),
    }
}

fn undone(project: &Project) -> String {
    match project.apply(&mut Unwatched, &mut |_| Proof::Proved).unwrap() {
        Outcome::Undone { why, .. } => why,
        outcome => panic!("{outcome:?}"),
    }
}

fn back(project: &Project, on_drift: OnDrift) -> Result<RolledBack, RollbackError> {
    roll_back(&project.state(), &Which::NewestIn(project.root()), on_drift, &mut Unwatched)
}

fn read(project: &Project, below: &str) -> String {
    fs::read_to_string(project.path(below)).unwrap()
}

#[test]
fn a_rollback_restores_everything_to_the_time() {
    let mut project = Project::new();
    let old = project.picture();
    project.write("setup.py", Some(("new line\n", 0o600)));
    project.write("gone.txt", None);
    project.write("a/b/c.txt", Some(("fresh\n", 0o640)));
    project.write("linked.txt", Some(("changed\n", 0o644)));
    project.set_aside("build", TreeKind::Derived);
    let script = "echo x >> made; rm run.sh";
    project.run(&["/bin/sh", "-c", script], &["made", "run.sh"]);
    commit(&project);
    assert_eq!(read(&project, "setup.py"), "new line\n");
    assert_eq!(fs::metadata(project.path("setup.py")).unwrap().mode() & 0o777, 0o600);
    assert_eq!(fs::metadata(project.path("a/b/c.txt")).unwrap().mode() & 0o777, 0o640);
    assert!(!project.path("gone.txt").exists() && !project.path("build").exists() && !project.path("run.sh").exists());
    assert_eq!(read(&project, "other-name.txt"), "two names\n", "a file's other names are not edited");
    let result = back(&project, OnDrift::Refuse).unwrap();
    assert_eq!((result.saved, result.kept, result.left), (None, vec![], vec![]));
    assert_eq!(project.picture(), old);
    assert!(matches!(back(&project, OnDrift::Refuse), Err(RollbackError::Nothing(_))));
    let id = history(&project.state()).unwrap()[0].id.clone();
    let again = roll_back(&project.state(), &Which::Id(id), OnDrift::Refuse, &mut Unwatched);
    assert!(matches!(again, Err(RollbackError::Already(_))));
    let unknown = roll_back(&project.state(), &Which::Id("../x".into()), OnDrift::Refuse, &mut Unwatched);
    assert!(matches!(unknown, Err(RollbackError::Unknown(_))));
}

#[test]
fn nothing_is_written_before_the_first_change() {
    let project = Project::new();
    let group = Group::new(&project.state(), project.root(), vec![]);
    assert_eq!(group.id(), "");
    assert!(pending(&project.state()).unwrap().is_empty() && history(&project.state()).unwrap().is_empty());
    assert!(!project.base.path().join("state").exists());
}

#[test]
fn drift_is_refused_before_anything_is_done() {
    type Spoil = fn(&Project);
    let cases: [(&str, Spoil); 5] = [
        ("other bytes", |p| fs::write(p.path("setup.py"), "mine\n").unwrap()),
        ("other mode", |p| fs::set_permissions(p.path("setup.py"), fs::Permissions::from_mode(0o600)).unwrap()),
        ("a link", |p| {
            fs::rename(p.path("setup.py"), p.path("real.py")).unwrap();
            symlink("real.py", p.path("setup.py")).unwrap();
        }),
        ("gone", |p| fs::remove_file(p.path("setup.py")).unwrap()),
        ("another tree", |p| {
            fs::rename(p.path("build"), p.path("old-build")).unwrap();
            fs::create_dir(p.path("build")).unwrap();
        }),
    ];
    for (name, spoil) in cases {
        let mut project = Project::new();
        project.write("run.sh", Some(("changed first\n", 0o644)));
        project.write("setup.py", Some(("new line\n", 0o644)));
        project.set_aside("build", TreeKind::Derived);
        spoil(&project);
        let before = project.picture();
        let result = project.apply(&mut Unwatched, &mut |_| Proof::Proved);
        let Err(TransactionError::Drift(drifts)) = result else { panic!("{name}: {result:?}") };
        assert_eq!(drifts.len(), 1, "{name}");
        assert_eq!(project.picture(), before, "{name}");
        assert!(history(&project.state()).unwrap().is_empty(), "{name}");
    }
}

#[test]
fn links_and_strange_places_are_refused() {
    let outside = fast_dir();
    fs::write(outside.path().join("victim.txt"), "do not touch\n").unwrap();
    let mut project = Project::new();
    symlink(outside.path(), project.path("link")).unwrap();
    project.write("link/victim.txt", Some(("touched\n", 0o644)));
    let error = project.apply(&mut Unwatched, &mut |_| Proof::Proved).unwrap_err();
    assert!(error.to_string().contains("links are not followed"), "{error}");
    assert_eq!(fs::read_to_string(outside.path().join("victim.txt")).unwrap(), "do not touch\n");

    for path in [outside.path().join("victim.txt"), project.path("../beside.txt")] {
        let mut project = Project::new();
        project.write(path.to_str().unwrap(), Some(("touched\n", 0o644)));
        let error = project.apply(&mut Unwatched, &mut |_| Proof::Proved).unwrap_err();
        assert!(matches!(error, TransactionError::Outside(_)), "{error}");
    }

    // The link appears between the plan and the act: in a command of the same repair.
    let mut project = Project::new();
    let script = format!("rmdir build/empty && ln -s {} build/empty", outside.path().display());
    project.run(&["/bin/sh", "-c", &script], &["build/empty"]);
    project.write("build/empty/victim.txt", Some(("touched\n", 0o644)));
    let old = project.picture();
    let why = undone(&project);
    assert!(why.contains("links are not followed"), "{why}");
    assert_eq!(timeless(&project.picture()), timeless(&old));
    assert_eq!(fs::read_to_string(outside.path().join("victim.txt")).unwrap(), "do not touch\n");

    let mut project = Project::new();
    project.set_aside("build", TreeKind::Derived);
    let state = StateDir::open(abs(project.path("build/state")));
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
    let result = Group::new(&state, project.root(), vec![]).apply(&order, &mut Unwatched, &mut |_| Proof::Proved);
    assert!(matches!(result, Err(TransactionError::HoldsState(_))), "{result:?}");
}

#[test]
fn what_the_user_changed_since_is_refused_or_saved() {
    let mut project = Project::new();
    let old = project.picture();
    project.write("setup.py", Some(("new line\n", 0o644)));
    project.write("gone.txt", None);
    commit(&project);
    fs::write(project.path("setup.py"), "my words\n").unwrap();
    fs::create_dir(project.path("gone.txt")).unwrap();
    fs::write(project.path("gone.txt/inner"), "mine\n").unwrap();
    let mine = project.picture();

    let Err(RollbackError::Drift { drifts, .. }) = back(&project, OnDrift::Refuse) else { panic!() };
    let paths: Vec<_> = drifts.iter().map(|drift| drift.path.clone()).collect();
    assert_eq!(paths, [abs(project.path("gone.txt")), abs(project.path("setup.py"))]);
    assert_eq!(drifts[0].expected, Version::Absent);
    assert_eq!(drifts[0].present, Version::Folder { changed: vec![PathBuf::from("inner")] });
    let file = |text: &str| Version::File { bytes: Some(text.into()), mode: 0o644 };
    assert_eq!((&drifts[1].expected, &drifts[1].present), (&file("new line\n"), &file("my words\n")));
    assert_eq!(project.picture(), mine);

    let forced = back(&project, OnDrift::SaveFirst).unwrap();
    assert_eq!(timeless(&project.picture()), timeless(&old));
    let saved = forced.saved.unwrap();
    let result = roll_back(&project.state(), &Which::Id(saved), OnDrift::Refuse, &mut Unwatched).unwrap();
    assert!(result.left.is_empty());
    assert_eq!(timeless(&project.picture()), timeless(&mine));
    assert!(matches!(back(&project, OnDrift::Refuse), Err(RollbackError::Nothing(_))));
}

#[test]
fn what_was_built_in_place_of_a_derived_tree_is_no_drift() {
    for kind in [TreeKind::Derived, TreeKind::Plain] {
        let mut project = Project::new();
        let old = project.picture();
        let inode = fs::metadata(project.path("build")).unwrap().ino();
        project.set_aside("build", kind);
        commit(&project);
        fs::create_dir(project.path("build")).unwrap();
        fs::write(project.path("build/new.o"), "newer").unwrap();
        match (kind, back(&project, OnDrift::Refuse)) {
            (TreeKind::Derived, Ok(result)) => {
                let [kept] = &result.kept[..] else { panic!("{result:?}") };
                assert_eq!(fs::read_to_string(kept.as_path().join("new.o")).unwrap(), "newer");
                assert_eq!(project.picture(), old);
                assert_eq!(fs::metadata(project.path("build")).unwrap().ino(), inode);
            }
            (TreeKind::Plain, Err(RollbackError::Drift { drifts, .. })) => {
                assert_eq!(drifts[0].present, Version::Folder { changed: vec!["new.o".into()] });
            }
            (kind, result) => panic!("{kind:?}: {result:?}"),
        }
    }
}

#[test]
fn a_restored_input_is_newer_than_what_was_built_from_the_repaired_one() {
    for built in [true, false] {
        let mut project = Project::new();
        let old = fs::metadata(project.path("setup.py")).unwrap().modified().unwrap();
        project.write("setup.py", Some(("new line\n", 0o644)));
        commit(&project);
        if built {
            fs::write(project.path("setup.so"), "built").unwrap();
        }
        back(&project, OnDrift::Refuse).unwrap();
        let now = fs::metadata(project.path("setup.py")).unwrap().modified().unwrap();
        assert_eq!(read(&project, "setup.py"), "old line\n");
        if built {
            assert!(now >= fs::metadata(project.path("setup.so")).unwrap().modified().unwrap());
        } else {
            assert_eq!(now, old);
        }
    }
}

#[test]
fn a_file_edited_in_place_is_refused_by_name() {
    let mut project = Project::new();
    project.run(&["/bin/sh", "-c", "echo > build/new"], &["build"]);
    commit(&project);
    let id = history(&project.state()).unwrap()[0].id.clone();
    let mut file = fs::File::options().append(true).open(project.path("build/CMakeFiles/a.o")).unwrap();
    std::io::Write::write_all(&mut file, b" edited").unwrap();
    drop(file);
    match roll_back(&project.state(), &Which::Id(id), OnDrift::Refuse, &mut Unwatched) {
        Err(RollbackError::Drift { drifts, .. }) => {
            assert_eq!(drifts[0].present, Version::Folder { changed: vec!["CMakeFiles/a.o".into()] });
        }
        result => panic!("{result:?}"),
    }

    let mut project = Project::new();
    project.run(&["/bin/sh", "-c", "echo edited >> build/CMakeFiles/a.o; exit 3"], &["build"]);
    let outcome = project.apply(&mut Unwatched, &mut |_| Proof::Proved).unwrap();
    let Outcome::NeedsAttention { why, left, kept: _ } = outcome else { panic!("{outcome:?}") };
    assert!(why.contains("ended with status 3"), "{why}");
    assert!(left.len() == 1 && left[0].contains("CMakeFiles/a.o"), "{left:?}");
    assert!(pending(&project.state()).unwrap().is_empty(), "there is nothing more to try");
}

#[test]
fn a_failing_or_endless_command_is_undone() {
    let mut project = Project::new();
    let old = project.picture();
    project.run(&["/bin/sh", "-c", "echo half > made; echo no such thing >&2; exit 7"], &["made"]);
    assert_eq!(undone(&project), "`/bin/sh` ended with status 7: no such thing");
    assert_eq!(project.picture(), old);

    for argv in [&["/nowhere/program"][..], &[]] {
        let mut project = Project::new();
        project.run(argv, &["made"]);
        let why = undone(&project);
        assert!(why.contains("run"), "{why}");
        assert_eq!(project.picture(), project.picture());
    }

    let mut project = Project::new();
    let script = "trap '' TERM; sleep 1000 & echo $! > pid; wait; sleep 1000";
    project.run(&["/bin/sh", "-c", script], &["pid"]);
    let Change::Run(run) = &mut project.changes[0] else { unreachable!() };
    run.timeout_seconds = 1;
    let kept = project.base.path().join("pid");
    let mut group = Group::new(&project.state(), project.root(), vec![]);
    let mut watch = KeepPid { from: project.path("pid"), to: kept.clone() };
    let outcome = project.apply_in(&mut group, &mut watch, &mut |_| Proof::Proved).unwrap();
    let Outcome::Undone { why, .. } = outcome else { panic!("{outcome:?}") };
    assert!(why.contains("did not end within 1 seconds"), "{why}");
    assert!(!project.path("pid").exists());
    let grandchild = fs::read_to_string(kept).unwrap();
    // Killed; how soon it is gone is the kernel's affair.
    let stat = format!("/proc/{}/stat", grandchild.trim());
    let lives = || fs::read_to_string(&stat).is_ok_and(|state| !state.contains(") Z "));
    for _ in 0..1000 {
        if !lives() {
            return;
        }
        std::thread::sleep(Duration::from_millis(10));
    }
    panic!("the grandchild lives");
}

/// Keeps a file of the command that the undo takes away.
struct KeepPid {
    from: PathBuf,
    to: PathBuf,
}

impl Watch for KeepPid {
    fn event(&mut self, event: Event) {
        if event == Event::Undoing {
            fs::copy(&self.from, &self.to).unwrap();
        }
    }

    fn interrupted(&self) -> bool {
        false
    }
}

#[test]
fn a_command_gets_the_overlay_and_its_own_variables() {
    let mut project = Project::new();
    project.run(&["/bin/sh", "-c", "echo $ONE $TWO $LC_ALL > made; cat"], &["made"]);
    let Change::Run(run) = &mut project.changes[0] else { unreachable!() };
    run.env.edit("TWO", EnvEdit::Set("own".into()));
    let mut overlay = EnvOverlay::default();
    overlay.edit("ONE", EnvEdit::Set("plan".into()));
    overlay.edit("TWO", EnvEdit::Set("plan".into()));
    let order = Order {
        recipe: "x",
        slug: "x",
        case: "x",
        title: &Title::default(),
        digest: "",
        changes: &project.changes,
        roots: &AllowedRoots::new([project.root()]),
        overlay: &overlay,
    };
    let outcome = Group::new(&project.state(), project.root(), vec![])
        .apply(&order, &mut Unwatched, &mut |_| Proof::Proved)
        .unwrap();
    assert!(matches!(outcome, Outcome::Committed { .. }), "{outcome:?}");
    assert_eq!(read(&project, "made"), "plan own C.UTF-8\n");
}

#[test]
fn what_cannot_be_taken_back_is_said() {
    let mut project = Project::new();
    project.run(&["/bin/true"], &[]);
    let Change::Run(run) = &mut project.changes[0] else { unreachable!() };
    run.reversible = Reversible::No;
    let outcome = project.apply(&mut Unwatched, &mut |_| Proof::Failed { why: "still broken".into() }).unwrap();
    assert!(matches!(&outcome, Outcome::NeedsAttention { left, .. } if left.len() == 1), "{outcome:?}");
}

/// Interrupts at the n-th look.
struct Impatient(std::cell::Cell<u32>);

impl Watch for Impatient {
    fn event(&mut self, _event: Event) {}

    fn interrupted(&self) -> bool {
        let left = self.0.get();
        self.0.set(left.saturating_sub(1));
        left == 0
    }
}

#[test]
fn an_interrupt_undoes_everything() {
    let mut n = 0;
    loop {
        let mut project = Project::new();
        let old = project.picture();
        project.write("setup.py", Some(("new line\n", 0o644)));
        project.set_aside("build", TreeKind::Derived);
        project.run(&["/bin/sh", "-c", "echo x > made"], &["made"]);
        let outcome = project.apply(&mut Impatient(n.into()), &mut |_| Proof::Proved).unwrap();
        match outcome {
            Outcome::Undone { why, .. } => assert!(why.contains("interrupted"), "{why}"),
            Outcome::Committed { .. } => break,
            Outcome::NeedsAttention { .. } => panic!("{outcome:?}"),
        }
        assert_eq!(project.picture(), old);
        n += 1;
    }
    assert!(n > 4, "only {n} looks");
}

#[test]
fn another_repair_of_the_same_files_is_refused_and_named() {
    let mut project = Project::new();
    project.write("setup.py", Some(("new line\n", 0o644)));
    let mut other = Project::reopen(project.base.path());
    other.write("run.sh", Some(("other\n", 0o644)));
    let mut stranger = Project::reopen(project.base.path());
    fs::create_dir(project.base.path().join("stranger")).unwrap();
    stranger.write("run.sh", None);
    let outcome = project.apply(&mut Unwatched, &mut |_| {
        let error = other.apply(&mut Unwatched, &mut |_| Proof::Proved).unwrap_err();
        assert!(matches!(error, TransactionError::Locked { .. }), "{error}");
        assert!(error.to_string().contains(&format!("process {} (`fix test`", std::process::id())), "{error}");
        assert!(
            recover(&project.state(), &Scope::All, &mut Unwatched)
                .unwrap()
                .iter()
                .all(|recovered| { matches!(recovered.outcome, build_fix::transaction::RecoveredOutcome::Left(_)) })
        );
        Proof::Proved
    });
    assert!(matches!(outcome, Ok(Outcome::Committed { .. })), "{outcome:?}");
    commit(&other);
}

#[test]
fn a_group_of_several_repairs_is_taken_back_whole() {
    let mut project = Project::new();
    let old = project.picture();
    let mut group = Group::new(&project.state(), project.root(), vec!["fix".into(), "run".into()]);
    for text in ["first\n", "second\n", "third\n"] {
        project.changes.clear();
        project.write("setup.py", Some((text, 0o644)));
        let proof = if text == "second\n" { Proof::Failed { why: "no".into() } } else { Proof::Proved };
        project.apply_in(&mut group, &mut Unwatched, &mut |_| proof.clone()).unwrap();
    }
    assert_eq!(read(&project, "setup.py"), "third\n");
    let all = history(&project.state()).unwrap();
    assert_eq!((all.len(), all[0].transactions.len(), &all[0].state), (1, 3, &GroupState::Applied));
    assert_eq!(back(&project, OnDrift::Refuse).unwrap().group, group.id());
    assert_eq!(project.picture(), old);
}

#[test]
fn what_the_proof_changed_is_what_a_rollback_compares_with() {
    let mut project = Project::new();
    project.write("setup.py", Some(("new line\n", 0o644)));
    let outcome = project.apply(&mut Unwatched, &mut |_| {
        fs::write(project.path("setup.py"), "new line, and more by the build\n").unwrap();
        Proof::Proved
    });
    assert!(matches!(outcome, Ok(Outcome::Committed { .. })));
    back(&project, OnDrift::Refuse).unwrap();
    assert_eq!(read(&project, "setup.py"), "old line\n");
}

#[test]
fn what_the_user_wrote_while_it_was_proved_is_kept() {
    let mut project = Project::new();
    project.write("setup.py", Some(("new line\n", 0o644)));
    let outcome = project.apply(&mut Unwatched, &mut |_| {
        fs::write(project.path("setup.py"), "written meanwhile\n").unwrap();
        Proof::Failed { why: "no".into() }
    });
    let Ok(Outcome::Undone { kept, .. }) = outcome else { panic!("{outcome:?}") };
    assert_eq!(read(&project, "setup.py"), "old line\n");
    assert_eq!(fs::read_to_string(&kept[0]).unwrap(), "written meanwhile\n");
}

#[test]
fn extended_attributes_are_kept() {
    let mut project = Project::in_dir(tempfile::tempdir().unwrap());
    if xattr::set(project.path("setup.py"), "user.note", b"keep").is_err() {
        return;
    }
    project.write("setup.py", Some(("new line\n", 0o644)));
    commit(&project);
    let note = || xattr::get(project.path("setup.py"), "user.note").unwrap();
    assert_eq!(note().as_deref(), Some(&b"keep"[..]));
    xattr::remove(project.path("setup.py"), "user.note").unwrap();
    back(&project, OnDrift::Refuse).unwrap();
    assert_eq!((read(&project, "setup.py").as_str(), note().as_deref()), ("old line\n", Some(&b"keep"[..])));
}

#[test]
fn another_file_system_for_the_state() {
    let device = |path: &Path| fs::metadata(path).unwrap().dev();
    let state_base = fast_dir();
    let mut project = Project::in_dir(tempfile::tempdir().unwrap());
    let separate = device(state_base.path()) != device(project.base.path());
    let state = StateDir::open(abs(state_base.path().join("fix")));
    let old = project.picture();
    project.set_aside("build", TreeKind::Derived);
    project.write("setup.py", Some(("new line\n", 0o644)));
    project.run(&["/bin/sh", "-c", "rm -r keep/sub; echo x > keep/y"], &["keep"]);
    fs::create_dir_all(project.path("keep/sub")).unwrap();
    fs::write(project.path("keep/sub/z"), "z").unwrap();
    let with_keep = project.picture();
    assert_ne!(with_keep, old);
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
    let outcome =
        Group::new(&state, project.root(), vec![]).apply(&order, &mut Unwatched, &mut |_| Proof::Proved).unwrap();
    assert!(matches!(outcome, Outcome::Committed { .. }), "{outcome:?}");
    if separate {
        assert_eq!(read(&project, ".fix/.gitignore"), "*\n");
        assert!(read(&project, ".fix/CACHEDIR.TAG").starts_with("Signature: 8a477f597d28d172789f06886806bc55"));
    }
    roll_back(&state, &Which::NewestIn(project.root()), OnDrift::Refuse, &mut Unwatched).unwrap();
    assert_eq!(timeless(&project.picture()), timeless(&with_keep));
}

#[test]
fn what_is_forgotten() {
    let mut project = Project::new();
    let mut ids = Vec::new();
    for n in 0..4 {
        project.changes.clear();
        project.write("setup.py", Some((&format!("line {n}\n"), 0o644)));
        ids.push(commit(&project).split('.').next().unwrap().to_owned());
    }
    let all = Limits::default();
    assert!(prune(&project.state(), &all, ForgottenBy::User).unwrap().groups.is_empty());
    let pruned = prune(&project.state(), &Limits { groups: 2, ..all }, ForgottenBy::User).unwrap();
    assert_eq!(pruned.groups, ids[..2]);
    let left: Vec<String> = history(&project.state()).unwrap().into_iter().map(|group| group.id).collect();
    assert_eq!(left, ids[2..]);
    assert_eq!(prune(&project.state(), &Limits { bytes: 0, ..all }, ForgottenBy::User).unwrap().groups, ids[2..]);
    assert!(history(&project.state()).unwrap().is_empty());

    project.changes.clear();
    project.write("setup.py", Some(("last\n", 0o644)));
    commit(&project);
    std::thread::sleep(Duration::from_millis(2));
    assert_eq!(
        prune(&project.state(), &Limits { age: Duration::ZERO, clock: Clock::AsItIs, ..all }, ForgottenBy::User)
            .unwrap()
            .groups
            .len(),
        1
    );
}

#[test]
fn journals_of_old_and_newer_formats() {
    let source = Path::new(env!("CARGO_MANIFEST_DIR")).join("fixtures/journals/v1");
    let base = fast_dir();
    let state = StateDir::open(abs(base.path()));
    copy_tree(&source, base.path());
    let all = history(&state).unwrap();
    let states: Vec<_> = all.iter().map(|group| (group.id.as_str(), &group.state)).collect();
    assert_eq!(
        states,
        [
            ("20260102-030405", &GroupState::Applied),
            ("20260102-030406", &GroupState::RolledBack),
            ("20260102-030407", &GroupState::Undone),
            ("20260102-030408", &GroupState::Unfinished),
        ]
    );
    assert_eq!(all[0].command, ["fix", "tda-1.9"]);
    assert_eq!(all[0].transactions[0].changes.len(), 3);
    let met = recover(&state, &Scope::All, &mut Unwatched).unwrap();
    assert!(
        matches!(&met[..], [one] if matches!(one.outcome, build_fix::transaction::RecoveredOutcome::Left(_))),
        "another machine's: {met:?}"
    );

    let journal = base.path().join("groups/20260102-030405/1.jsonl");
    let newer = fs::read_to_string(&journal).unwrap().replacen("\"format\":1", "\"format\":3", 1);
    fs::write(&journal, newer).unwrap();
    let result = roll_back(&state, &Which::Id("20260102-030405".into()), OnDrift::Refuse, &mut Unwatched);
    let text = result.unwrap_err().to_string();
    assert!(text.contains("newer version (format 3); this one reads up to format 2"), "{text}");
    assert!(matches!(history(&state).unwrap()[0].state, GroupState::Unreadable(_)));

    // It hinders nobody else.
    let mut project = Project::new();
    copy_tree(&base.path().join("groups"), &project.base.path().join("state/groups"));
    project.write("setup.py", Some(("new line\n", 0o644)));
    commit(&project);
    back(&project, OnDrift::Refuse).unwrap();
}

fn copy_tree(from: &Path, to: &Path) {
    fs::create_dir_all(to).unwrap();
    for entry in fs::read_dir(from).unwrap() {
        let entry = entry.unwrap();
        let target = to.join(entry.file_name());
        if entry.file_type().unwrap().is_dir() {
            copy_tree(&entry.path(), &target);
        } else {
            fs::copy(entry.path(), target).unwrap();
        }
    }
}

/// Writes the kinds of journals that there are, and reads them back. With FIX_SAMPLE_DIR they are written there, as new
/// samples of a new format; `fixtures/journals/README.md` says more.
#[test]
#[cfg(debug_assertions)]
fn journals_of_the_present_format() {
    use build_fix::os::fault::{Fault, arm};
    let own = tempfile::tempdir().unwrap();
    let target = std::env::var_os("FIX_SAMPLE_DIR").unwrap_or_else(|| own.path().join("state").into_os_string());
    let state = StateDir::open(abs(target));
    let order = |project: &Project, proof: Proof| {
        let title =
            Title { en: "stale entries in the build tree".into(), zh: "构建目录中有过期的缓存项".into() };
        let order = Order {
            recipe: "tda-1.9",
            slug: "llvmcgdata-residue",
            case: "stale",
            title: &title,
            digest: "1f2e3d",
            changes: &project.changes,
            roots: &AllowedRoots::new([project.root()]),
            overlay: &EnvOverlay::default(),
        };
        let command = vec!["fix".into(), "tda-1.9".into()];
        let _ = Group::new(&state, project.root(), command).apply(&order, &mut Unwatched, &mut |_| proof.clone());
        arm(Fault::None);
    };
    let failed = Proof::Failed { why: "the same failure".into() };
    for (n, proof) in [Proof::Proved, Proof::Proved, failed, Proof::Proved].into_iter().enumerate() {
        let mut project = Project::in_dir(tempfile::tempdir().unwrap());
        project.write("setup.py", Some(("new line\n", 0o644)));
        project.set_aside("build", TreeKind::Derived);
        project.run(&["/bin/sh", "-c", "echo x > made"], &["made"]);
        if n == 3 {
            arm(Fault::DeadFrom(60));
        }
        order(&project, proof);
        if n == 1 {
            roll_back(&state, &Which::NewestIn(project.root()), OnDrift::Refuse, &mut Unwatched).unwrap();
        }
    }
    let states: Vec<GroupState> = history(&state).unwrap().into_iter().map(|group| group.state).collect();
    assert_eq!(states, [GroupState::Applied, GroupState::RolledBack, GroupState::Undone, GroupState::Unfinished]);
}
