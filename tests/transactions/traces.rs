//! What the history says, and a rollback does, when the traces of a repair are damaged, incomplete or being written.

use std::fs;
use std::path::{Path, PathBuf};
use std::time::Duration;

use build_fix::change::TreeKind;
use build_fix::rollback::{OnDrift, RollbackError, Which, roll_back};
use build_fix::transaction::{Clock, ForgottenBy, GroupState, Limits, Newcomers, Proof, Unwatched, history, prune};

use crate::afterwards::commit;
use crate::repairs::{Picture, Project, timeless};

/// A project with a standing repair, the repair's name and folder, and the project's picture before it.
fn repaired() -> (Project, String, PathBuf, Picture) {
    let mut project = Project::new();
    let old = project.picture();
    project.set_aside("build", TreeKind::Derived);
    project.write("setup.py", Some(("new line\n", 0o644)));
    let id = commit(&project);
    let folder = project.state().path().as_path().join("groups").join(&id);
    (project, id, folder, old)
}

fn state(project: &Project) -> GroupState {
    let all = history(&project.state()).unwrap();
    assert_eq!(all.len(), 1, "{all:?}");
    all[0].state.clone()
}

#[test]
fn damage_is_told_and_nothing_of_it_is_forgotten() {
    type Spoil = fn(&Path);
    let kinds: [(&str, Spoil); 6] = [
        ("1.jsonl", |folder| fs::remove_file(folder.join("1.jsonl")).unwrap()),
        ("1.jsonl", |folder| fs::write(folder.join("1.jsonl"), "").unwrap()),
        ("1.jsonl", |folder| {
            let text = fs::read(folder.join("1.jsonl")).unwrap();
            fs::write(folder.join("1.jsonl"), &text[..40]).unwrap();
        }),
        ("1.jsonl", |folder| fs::rename(folder.join("1.jsonl"), folder.join("2.jsonl")).unwrap()),
        ("has lost its end", |folder| {
            let text = fs::read_to_string(folder.join("1.jsonl")).unwrap();
            fs::write(folder.join("1.jsonl"), format!("{}\n", text.lines().next().unwrap())).unwrap();
        }),
        ("line 2", |folder| {
            let text = fs::read_to_string(folder.join("1.jsonl")).unwrap();
            fs::write(folder.join("1.jsonl"), format!("{}\nnonsense\n", text.lines().next().unwrap())).unwrap();
        }),
    ];
    for (at, (said, spoil)) in kinds.into_iter().enumerate() {
        let (project, id, folder, _) = repaired();
        spoil(&folder);
        match state(&project) {
            GroupState::Unreadable(why) => assert!(why.contains(said), "{at}: {why}"),
            other => panic!("{at}: {other:?}"),
        }
        for which in [Which::NewestIn(project.root()), Which::Id(id)] {
            let result = roll_back(&project.state(), &which, OnDrift::SaveFirst, &mut Unwatched);
            assert!(matches!(result, Err(RollbackError::Unreadable { .. })), "{at}: {result:?}");
        }
        let none = Limits { groups: 0, bytes: 0, ..Limits::default() };
        assert!(prune(&project.state(), &none, ForgottenBy::User).unwrap().groups.is_empty(), "{at}");
        assert!(folder.join("trash").exists(), "{at}");
    }
}

#[test]
fn a_group_whose_own_file_is_lost_is_told_and_taken_back_by_name() {
    type Spoil = fn(&Path);
    let kinds: [Spoil; 3] = [
        |file| fs::remove_file(file).unwrap(),
        |file| fs::write(file, "").unwrap(),
        |file| fs::write(file, "{\"record\":\"crea").unwrap(),
    ];
    for spoil in kinds {
        let (project, id, folder, old) = repaired();
        spoil(&folder.join("group.jsonl"));
        assert!(matches!(state(&project), GroupState::Unreadable(why) if why.contains("group.jsonl")));
        let none = Limits { groups: 0, ..Limits::default() };
        assert!(prune(&project.state(), &none, ForgottenBy::User).unwrap().groups.is_empty());
        roll_back(&project.state(), &Which::Id(id), OnDrift::Refuse, &mut Unwatched).unwrap();
        assert_eq!(timeless(&project.picture()), timeless(&old));
        assert_eq!(state(&project), GroupState::RolledBack);
    }
}

#[test]
fn a_trash_that_is_half_deleted_is_told() {
    type Spoil = fn(&Path);
    let kinds: [Spoil; 2] = [
        |tree| fs::remove_dir_all(tree.join("bin")).unwrap(),
        |tree| fs::remove_file(tree.join("CMakeCache.txt")).unwrap(),
    ];
    for spoil in kinds {
        let (project, id, folder, _) = repaired();
        let trash = fs::read_dir(folder.join("trash")).unwrap().next().unwrap().unwrap().path();
        spoil(&trash.join("tree"));
        let repaired = project.picture();
        match roll_back(&project.state(), &Which::NewestIn(project.root()), OnDrift::Refuse, &mut Unwatched) {
            Err(RollbackError::Partial { missing, of, .. }) => assert!(missing > 0 && of == 6, "{missing} of {of}"),
            other => panic!("{other:?}"),
        }
        assert_eq!(project.picture(), repaired);
        // On the user's word what is left comes back.
        let result = roll_back(&project.state(), &Which::Id(id), OnDrift::SaveFirst, &mut Unwatched).unwrap();
        assert_eq!(result.left.len(), 1, "{result:?}");
        assert!(project.path("build/dangling").is_symlink());
    }
}

#[test]
fn a_repair_at_work_is_not_cut_off() {
    let mut project = Project::new();
    project.write("setup.py", Some(("new line\n", 0o644)));
    project
        .apply(&mut Unwatched, &mut |_| {
            assert_eq!(state(&project), GroupState::AtWork);
            Proof::Proved
        })
        .unwrap();
    assert_eq!(state(&project), GroupState::Applied);
}

#[test]
fn what_the_user_made_since_is_counted_and_not_crowded_out() {
    for displaced in [false, true] {
        let mut project = Project::new();
        if displaced {
            // Written over a file of the repair while that was proved, and moved away when the proof failed.
            project.write("setup.py", Some(("new line\n", 0o644)));
            let failed = Proof::Failed { why: "no".into() };
            project
                .apply(&mut Unwatched, &mut |_| {
                    fs::write(project.path("setup.py"), "mine".repeat(1000)).unwrap();
                    failed.clone()
                })
                .unwrap();
        } else {
            project.set_aside("build", TreeKind::Derived);
            commit(&project);
            fs::create_dir_all(project.path("build/sub")).unwrap();
            fs::write(project.path("build/sub/thesis.tex"), "mine".repeat(1000)).unwrap();
            roll_back(&project.state(), &Which::NewestIn(project.root()), OnDrift::Refuse, &mut Unwatched).unwrap();
        }
        let first = history(&project.state()).unwrap().remove(0);
        assert!((4000..5000).contains(&first.bytes), "{}", first.bytes);
        for n in 0..3 {
            project.changes.clear();
            project.write("run.sh", Some((&format!("line {n}\n"), 0o644)));
            commit(&project);
            prune(&project.state(), &Limits { groups: 1, bytes: 2000, ..Limits::default() }, ForgottenBy::User)
                .unwrap();
        }
        let ids = || -> Vec<String> { history(&project.state()).unwrap().into_iter().map(|group| group.id).collect() };
        assert_eq!(ids().len(), 2, "the newest, and the one with the user's files");
        assert_eq!(ids()[0], first.id);
        // By age they go, and on the user's word.
        let limits = if displaced {
            Limits { age: Duration::ZERO, clock: Clock::AsItIs, ..Limits::default() }
        } else {
            Limits { groups: 1, newcomers: Newcomers::AsTheRest, ..Limits::default() }
        };
        std::thread::sleep(Duration::from_millis(2));
        let pruned = prune(&project.state(), &limits, ForgottenBy::User).unwrap();
        assert!(pruned.groups.contains(&first.id) && pruned.bytes >= 4000, "{pruned:?}");
        assert_eq!(pruned.newcomers, 1);
    }
}
