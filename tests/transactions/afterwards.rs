//! What happens between a repair and its rollback: files go back by other means, projects and state folders move.

use std::fs;
use std::os::unix::fs::MetadataExt;
use std::path::Path;

use build_fix::change::TreeKind;
use build_fix::rollback::{OnDrift, RollbackError, RolledBack, Which, roll_back};
use build_fix::transaction::{GroupState, Outcome, Proof, StateDir, Unwatched, history, pending};

use crate::repairs::{Project, abs, timeless};

pub fn commit(project: &Project) -> String {
    match project.apply(&mut Unwatched, &mut |_| Proof::Proved).unwrap() {
        Outcome::Committed { transaction } => transaction.rsplit_once('.').unwrap().0.to_owned(),
        outcome => panic!("{outcome:?}"),
    }
}

fn back(project: &Project, which: Which, on_drift: OnDrift) -> Result<RolledBack, RollbackError> {
    roll_back(&project.state(), &which, on_drift, &mut Unwatched)
}

fn newest(project: &Project) -> Which {
    Which::NewestIn(project.root())
}

fn read(project: &Project, below: &str) -> String {
    fs::read_to_string(project.path(below)).unwrap()
}

#[test]
fn what_a_forced_rollback_saved_comes_back_by_name_only() {
    let mut project = Project::new();
    project.write("setup.py", Some(("new line\n", 0o644)));
    commit(&project);
    fs::write(project.path("setup.py"), "new line, edited\n").unwrap();
    let saved = back(&project, newest(&project), OnDrift::SaveFirst).unwrap().saved.unwrap();
    assert_eq!(read(&project, "setup.py"), "old line\n");
    for _ in 0..2 {
        let again = back(&project, newest(&project), OnDrift::Refuse);
        assert!(matches!(again, Err(RollbackError::Nothing(_))), "{again:?}");
        assert_eq!(read(&project, "setup.py"), "old line\n");
    }
    let all = history(&project.state()).unwrap();
    assert_eq!(all.iter().map(|group| group.is_save()).collect::<Vec<_>>(), [false, true]);
    back(&project, Which::Id(saved), OnDrift::Refuse).unwrap();
    assert_eq!(read(&project, "setup.py"), "new line, edited\n");
}

#[test]
fn what_is_back_is_not_tied_to_what_was_kept() {
    for proof in [Proof::Proved, Proof::Failed { why: "no".into() }] {
        let mut project = Project::new();
        fs::create_dir_all(project.path("lib/sub")).unwrap();
        fs::write(project.path("lib/sub/kept.py"), "kept\n").unwrap();
        project.write("setup.py", Some(("new line\n", 0o644)));
        project.write("gone.txt", None);
        project.run(&["/bin/sh", "-c", "echo x > run.sh; rm -r lib/sub"], &["run.sh", "lib"]);
        project.apply(&mut Unwatched, &mut |_| proof.clone()).unwrap();
        if proof == Proof::Proved {
            back(&project, newest(&project), OnDrift::Refuse).unwrap();
        }
        for name in ["setup.py", "gone.txt", "run.sh", "lib/sub/kept.py"] {
            assert_eq!(fs::metadata(project.path(name)).unwrap().nlink(), 1, "{name}");
        }
        assert_eq!(fs::metadata(project.path("linked.txt")).unwrap().nlink(), 2);
    }
}

#[test]
fn a_project_that_was_moved_away_is_refused_and_hinders_nobody() {
    for on_drift in [OnDrift::Refuse, OnDrift::SaveFirst] {
        for with_file in [false, true] {
            let mut project = Project::new();
            let old = project.picture();
            project.set_aside("build", TreeKind::Derived);
            if with_file {
                project.write("setup.py", Some(("new line\n", 0o644)));
            }
            let id = commit(&project);
            let elsewhere = project.base.path().join("elsewhere");
            fs::rename(project.path(""), &elsewhere).unwrap();
            let state = || -> Vec<GroupState> {
                history(&project.state()).unwrap().into_iter().map(|group| group.state).collect()
            };
            match back(&project, Which::Id(id.clone()), on_drift) {
                Err(RollbackError::Moved { path, .. }) => assert_eq!(path, project.root()),
                other => panic!("{other:?}"),
            }
            assert_eq!(state(), [GroupState::Applied]);
            assert!(pending(&project.state()).unwrap().is_empty());
            fs::rename(&elsewhere, project.path("")).unwrap();
            back(&project, Which::Id(id), on_drift).unwrap();
            assert_eq!(timeless(&project.picture()), timeless(&old));
        }
    }
}

/// A rollback, or a repair, that was cut off before its project went away is no business of the folder above.
#[test]
#[cfg(debug_assertions)]
fn what_was_cut_off_in_a_project_that_is_gone_hinders_nobody() {
    use crate::repairs::fast_dir;
    use build_fix::os::fault::{Fault, arm};
    use build_fix::transaction::{Group, RecoveredOutcome, Scope, recover};
    for of_the_rollback in [false, true] {
        let base = fast_dir();
        let above = Project::in_dir(tempfile::tempdir_in(base.path()).unwrap());
        let mut below = Project::reopen(above.path("").as_path());
        fs::create_dir_all(below.path("build")).unwrap();
        let state = above.state();
        fs::write(below.path("setup.py"), "old line\n").unwrap();
        below.write("setup.py", Some(("new line\n", 0o644)));
        let roots = build_fix::change::AllowedRoots::new([below.root()]);
        let order = build_fix::transaction::Order {
            recipe: "x",
            slug: "x",
            case: "x",
            title: &Default::default(),
            digest: "",
            changes: &below.changes,
            roots: &roots,
            overlay: &Default::default(),
        };
        let mut group = Group::new(&state, below.root(), vec![]);
        if !of_the_rollback {
            arm(Fault::DeadFrom(45));
        }
        let outcome = group.apply(&order, &mut Unwatched, &mut |_| Proof::Proved);
        if of_the_rollback {
            assert!(matches!(outcome, Ok(Outcome::Committed { .. })), "{outcome:?}");
            arm(Fault::DeadFrom(12));
            roll_back(&state, &Which::NewestIn(below.root()), OnDrift::Refuse, &mut Unwatched).unwrap_err();
        }
        arm(Fault::None);
        let cut_off = history(&state).unwrap()[0].state.clone();
        let want = if of_the_rollback { GroupState::RollingBack } else { GroupState::Unfinished };
        assert_eq!(cut_off, want);
        fs::rename(below.path(""), above.path("moved")).unwrap();

        let met = recover(&state, &Scope::Root(above.root()), &mut Unwatched).unwrap();
        assert!(met.iter().all(|one| matches!(one.outcome, RecoveredOutcome::Left(_))), "{met:?}");
        let mut above = Project::reopen(above.base.path());
        above.write("setup.py", Some(("new line\n", 0o644)));
        commit(&above);
        // It is there again: what was cut off is finished.
        fs::rename(above.path("moved"), below.path("")).unwrap();
        recover(&state, &Scope::Root(below.root()), &mut Unwatched).unwrap();
        assert_eq!(read(&below, "setup.py"), "old line\n");
    }
}

#[test]
fn what_the_user_took_back_by_other_means_is_no_drift() {
    let mut project = Project::new();
    let old = project.picture();
    project.write("setup.py", Some(("new line\n", 0o644)));
    project.write("gone.txt", None);
    project.write("fresh.txt", Some(("fresh\n", 0o644)));
    project.write("setup.py", Some(("second line\n", 0o644)));
    // The second write is planned on the first.
    let build_fix::change::Change::WriteFile(second) = &mut project.changes[3] else { unreachable!() };
    second.before = build_fix::change::FileState::Present(build_fix::change::FileImage {
        bytes: b"new line\n".to_vec(),
        mode: 0o644,
    });
    project.run(&["/bin/sh", "-c", "rm run.sh"], &["run.sh"]);
    project.set_aside("build", TreeKind::Derived);
    commit(&project);
    let put = |name: &str, text: &str, mode: u32| {
        use std::os::unix::fs::PermissionsExt;
        let _ = fs::remove_file(project.path(name));
        fs::write(project.path(name), text).unwrap();
        fs::set_permissions(project.path(name), fs::Permissions::from_mode(mode)).unwrap();
    };
    put("setup.py", "old line\n", 0o644);
    put("gone.txt", "goes away\n", 0o640);
    put("run.sh", "#!/bin/sh\n", 0o644);
    fs::remove_file(project.path("fresh.txt")).unwrap();
    // But what is neither the repair's nor the former version is the user's.
    put("gone.txt", "mine\n", 0o640);
    match back(&project, newest(&project), OnDrift::Refuse) {
        Err(RollbackError::Drift { drifts, .. }) => {
            let paths: Vec<_> = drifts.iter().map(|drift| drift.path.clone()).collect();
            assert_eq!(paths, [abs(project.path("gone.txt"))]);
        }
        other => panic!("{other:?}"),
    }
    put("gone.txt", "goes away\n", 0o640);
    back(&project, newest(&project), OnDrift::Refuse).unwrap();
    assert_eq!(timeless(&project.picture()), timeless(&old));
}

fn copy(from: &Path, to: &Path) {
    let status = std::process::Command::new("cp").arg("-a").args([from, to]).status().unwrap();
    assert!(status.success());
}

#[test]
fn a_state_folder_that_was_moved_serves_where_it_is() {
    type Move = fn(&Path, &Path);
    let ways: [(&str, Move); 2] = [
        ("renamed", |from, to| fs::rename(from, to).unwrap()),
        ("copied", |from, to| {
            copy(from, to);
            fs::remove_dir_all(from).unwrap();
        }),
    ];
    for (way, move_it) in ways {
        for far in [false, true] {
            let mut project = Project::new();
            fs::create_dir_all(project.path("lib")).unwrap();
            fs::write(project.path("lib/kept.py"), "kept\n").unwrap();
            let old = project.picture();
            project.set_aside("build", TreeKind::Derived);
            project.write("setup.py", Some(("new line\n", 0o644)));
            project.run(&["/bin/sh", "-c", "rm lib/kept.py run.sh"], &["lib", "run.sh"]);
            let id = commit(&project);
            let new = tempfile::tempdir().unwrap();
            let to = if far { new.path().join("state") } else { project.base.path().join("other") };
            if way == "renamed" && far {
                continue;
            }
            move_it(project.state().path().as_path(), &to);
            let state = StateDir::open(abs(to));
            let result = roll_back(&state, &Which::NewestIn(project.root()), OnDrift::Refuse, &mut Unwatched);
            assert_eq!(result.unwrap().group, id, "{way} {far}");
            assert_eq!(timeless(&project.picture()), timeless(&old), "{way} {far}");
            assert!(!project.state().path().as_path().exists(), "{way} {far}: nothing is made where it was");
        }
    }
}

#[test]
fn a_rollback_takes_no_repair_of_a_project_below() {
    let mut project = Project::new();
    project.write("setup.py", Some(("new line\n", 0o644)));
    commit(&project);
    for folder in ["/", project.base.path().to_str().unwrap()] {
        let result = back(&project, Which::NewestIn(abs(folder)), OnDrift::Refuse);
        assert!(matches!(result, Err(RollbackError::Nothing(_))), "{folder}: {result:?}");
    }
    back(&project, Which::NewestIn(abs(project.path("build/bin"))), OnDrift::Refuse).unwrap();
    assert_eq!(read(&project, "setup.py"), "old line\n");
}
