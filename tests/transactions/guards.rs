//! What a repair must not do on the way: give away rights, believe a damaged journal, leave links or groups behind.

use std::fs;
use std::os::unix::fs::{MetadataExt, PermissionsExt};
use std::path::Path;

use build_fix::change::TreeKind;
use build_fix::rollback::{OnDrift, RollbackError, Which, roll_back};
use build_fix::transaction::{
    ForgottenBy, GroupState, Limits, Newcomers, Outcome, Proof, Scope, Unwatched, Version, history, prune, recover,
};

use crate::afterwards::commit;
use crate::crash::dies_at;
use crate::repairs::{Project, as_of_old, timeless};

/// An access list that gives user 65534 reading and writing, in the form of the kernel.
fn list_for_somebody() -> Vec<u8> {
    const NOBODY: u32 = u32::MAX;
    let mut list = 2_u32.to_le_bytes().to_vec();
    for (tag, rights, id) in [(1_u16, 7_u16, NOBODY), (2, 6, 65534), (4, 5, NOBODY), (16, 7, NOBODY), (32, 0, NOBODY)] {
        list.extend([tag.to_le_bytes(), rights.to_le_bytes()].concat());
        list.extend(id.to_le_bytes());
    }
    list
}

#[test]
fn what_a_folder_hands_down_gives_nobody_a_right_to_what_is_written() {
    for separate in [false, true] {
        let mut project = Project::new();
        if xattr::set(project.path(""), "system.posix_acl_default", &list_for_somebody()).is_err() {
            eprintln!("no access lists on this file system");
            return;
        }
        if separate {
            // No link can be kept: the old file comes back as a new one.
            build_fix::os::fault::separate(vec![project.base.path().join("state")]);
        }
        let lists = |project: &Project| -> Vec<&str> {
            let names = ["setup.py", "fresh.cfg", "build/notes.txt"];
            let has = |name: &&str| matches!(xattr::get(project.path(name), "system.posix_acl_access"), Ok(Some(_)));
            names.into_iter().filter(has).collect()
        };
        fs::write(project.path("build/notes.txt"), "notes\n").unwrap();
        xattr::set(project.path("build"), "system.posix_acl_default", &list_for_somebody()).unwrap();
        project.write("setup.py", Some(("new line\n", 0o660)));
        project.write("fresh.cfg", Some(("token\n", 0o660)));
        project.run(&["/bin/sh", "-c", "rm build/notes.txt"], &["build"]);
        assert_eq!(lists(&project), [""; 0], "before");
        commit(&project);
        assert_eq!(lists(&project), [""; 0], "repaired");
        roll_back(&project.state(), &Which::NewestIn(project.root()), OnDrift::Refuse, &mut Unwatched).unwrap();
        assert_eq!(lists(&project), [""; 0], "rolled back");
        assert_eq!(fs::read_to_string(project.path("build/notes.txt")).unwrap(), "notes\n");
        assert_eq!(fs::metadata(project.path("setup.py")).unwrap().permissions().mode() & 0o777, 0o644);
        build_fix::os::fault::separate(Vec::new());
    }
}

/// A project with a standing repair of files and a folder, and the folder of its group.
fn repaired() -> (Project, std::path::PathBuf) {
    let mut project = Project::new();
    project.write("setup.py", Some(("new line\n", 0o644)));
    project.run(&["/bin/sh", "-c", "echo x > made"], &["made"]);
    project.set_aside("build", TreeKind::Derived);
    let id = commit(&project);
    // Beside each name that a damaged path may become.
    fs::write(project.path("setup.px"), "another script\n").unwrap();
    let folder = project.state().path().as_path().join("groups").join(id);
    (project, folder)
}

fn spoilt(text: &[u8], at: usize) -> [Vec<u8>; 2] {
    let mut flipped = text.to_vec();
    flipped[at] ^= 1 << (at % 7);
    [flipped, text[..at].to_vec()]
}

/// A damaged journal changes nothing, or what it was going to, and never says that all is back when it is not.
#[test]
fn no_damage_of_a_journal_makes_a_rollback_write_another_file_or_lie() {
    for name in ["1.jsonl", "group.jsonl"] {
        let (_project, folder) = repaired();
        let length = fs::read(folder.join(name)).unwrap().len();
        for at in (0..length).step_by(if std::env::var_os("FIX_CRASH_ALL").is_some() { 1 } else { 61 }) {
            for (way, kind) in ["flipped", "cut"].into_iter().enumerate() {
                let (project, folder) = repaired();
                let text = fs::read(folder.join(name)).unwrap();
                let Some(bytes) = (at < text.len()).then(|| spoilt(&text, at)[way].clone()) else { continue };
                fs::write(folder.join(name), bytes).unwrap();
                let before = project.picture();
                let when = format!("{name}, {kind} at {at}");
                let recovered = recover(&project.state(), &Scope::All, &mut Unwatched);
                let which = Which::NewestIn(project.root());
                let result = roll_back(&project.state(), &which, OnDrift::Refuse, &mut Unwatched);
                assert_eq!(fs::read_to_string(project.path("setup.px")).unwrap(), "another script\n", "{when}");
                let is_back = fs::read_to_string(project.path("setup.py")).unwrap() == "old line\n";
                let says_back = result.is_ok() || recovered.is_ok_and(|met| !met.is_empty());
                assert_eq!(is_back, says_back, "{when}: {result:?}");
                if !is_back {
                    assert_eq!(project.picture(), before, "{when}");
                }
            }
        }
    }
}

#[test]
fn a_path_that_the_plan_does_not_have_is_damage_in_old_journals_too() {
    let (project, folder) = repaired();
    as_of_old(&folder);
    let text = fs::read_to_string(folder.join("1.jsonl")).unwrap();
    let at = text.find("\"intent\"").unwrap();
    let path = at + text[at..].find("setup.py").unwrap();
    fs::write(folder.join("1.jsonl"), format!("{}setup.px{}", &text[..path], &text[path + 8..])).unwrap();
    let before = project.picture();
    let state = history(&project.state()).unwrap()[0].state.clone();
    assert!(matches!(&state, GroupState::Unreadable(why) if why.contains("the plan has no")), "{state:?}");
    roll_back(&project.state(), &Which::NewestIn(project.root()), OnDrift::SaveFirst, &mut Unwatched).unwrap_err();
    assert_eq!(project.picture(), before);
}

#[test]
fn a_file_that_was_given_away_or_opened_since_is_drift() {
    type Give = fn(&Path);
    let ways: [(Give, &str); 2] = [
        (|path| std::os::unix::fs::chown(path, Some(65534), Some(65534)).unwrap(), "owner"),
        (|path| xattr::set(path, "system.posix_acl_access", &list_for_somebody()).unwrap(), "access list"),
    ];
    for (give, what) in ways {
        let mut project = Project::new();
        if fs::metadata("/proc/self").unwrap().uid() != 0
            || xattr::set(project.path("run.sh"), "system.posix_acl_access", &list_for_somebody()).is_err()
        {
            eprintln!("only root can give files away");
            return;
        }
        project.write("setup.py", Some(("new line\n", 0o644)));
        commit(&project);
        let setup = project.path("setup.py");
        give(&setup);
        let rights = || {
            let list = xattr::get(&setup, "system.posix_acl_access").unwrap();
            (fs::metadata(&setup).unwrap().uid(), list)
        };
        let given = rights();
        // A list changes the mode as well; the rights alone are what counts here.
        fs::set_permissions(&setup, fs::Permissions::from_mode(0o644)).unwrap();
        let given_with_mode = rights();
        let which = Which::NewestIn(project.root());
        let refused = roll_back(&project.state(), &which, OnDrift::Refuse, &mut Unwatched);
        let Err(RollbackError::Drift { drifts, .. }) = refused else { panic!("{what}: {refused:?}") };
        assert!(matches!(drifts[0].present, Version::Rights { .. }), "{what}: {drifts:?}");
        assert_eq!(rights(), given_with_mode, "{what}");
        let saved = roll_back(&project.state(), &which, OnDrift::SaveFirst, &mut Unwatched).unwrap().saved.unwrap();
        assert_eq!(rights(), (0, None), "{what}");
        roll_back(&project.state(), &Which::Id(saved), OnDrift::Refuse, &mut Unwatched).unwrap();
        assert_eq!(rights(), given_with_mode, "{what}");
        assert_ne!(given, (0, None), "{what}");
    }
}

/// Old journals go on as they began: without check sums.
#[test]
fn an_old_journal_is_taken_back() {
    let mut project = Project::new();
    let old = project.picture();
    project.write("setup.py", Some(("new line\n", 0o644)));
    project.set_aside("build", TreeKind::Derived);
    let id = commit(&project);
    let folder = project.state().path().as_path().join("groups").join(&id);
    as_of_old(&folder);
    roll_back(&project.state(), &Which::Id(id), OnDrift::Refuse, &mut Unwatched).unwrap();
    assert_eq!(timeless(&project.picture()), timeless(&old));
    assert_eq!(history(&project.state()).unwrap()[0].state, GroupState::RolledBack);
    assert!(!fs::read_to_string(folder.join("1.jsonl")).unwrap().contains('\t'));
}

#[test]
fn no_link_to_a_file_of_the_user_is_left_in_the_state() {
    for at in 0.. {
        let mut project = Project::new();
        project.write("setup.py", Some(("new line\n", 0o644)));
        project.run(&["/bin/sh", "-c", "echo x > build/a.txt"], &["build"]);
        let names = |project: &Project| {
            let names = |below: &str| fs::metadata(project.path(below)).unwrap().nlink();
            (names("setup.py"), names("build/CMakeFiles/a.o"))
        };
        let over = dies_at(at, || drop(project.apply(&mut Unwatched, &mut |_| Proof::Proved)));
        if over {
            return;
        }
        recover(&project.state(), &Scope::All, &mut Unwatched).unwrap();
        if fs::read_to_string(project.path("setup.py")).unwrap() == "old line\n" {
            assert_eq!(names(&project), (1, 1), "death at step {at}");
        }
    }
}

#[test]
fn a_prune_that_was_cut_off_leaves_no_group_that_cannot_be_read() {
    let none = Limits { groups: 0, newcomers: Newcomers::AsTheRest, ..Limits::default() };
    for at in 0.. {
        let mut project = Project::new();
        project.write("setup.py", Some(("new line\n", 0o644)));
        project.set_aside("build", TreeKind::Derived);
        commit(&project);
        let over = dies_at(at, || drop(prune(&project.state(), &none, ForgottenBy::User)));
        let when = format!("death at step {at}");
        for group in history(&project.state()).unwrap() {
            assert_eq!(group.state, GroupState::Applied, "{when}");
        }
        prune(&project.state(), &none, ForgottenBy::User).unwrap();
        assert!(history(&project.state()).unwrap().is_empty(), "{when}");
        let left = |below: &str| fs::read_dir(project.state().path().as_path().join(below)).unwrap().count();
        assert_eq!(left("groups"), 0, "{when}");
        if Path::new(&project.state().path().as_path().join("going")).exists() {
            assert_eq!(left("going"), 0, "{when}");
        }
        if over {
            return;
        }
    }
}

/// What cannot be changed in the last step is found out before the first.
#[test]
fn a_locked_file_is_refused_before_anything_is_begun() {
    let mut project = Project::in_dir(tempfile::tempdir().unwrap());
    project.write("run.sh", Some(("#!/bin/bash\n", 0o644)));
    project.write("setup.py", Some(("new line\n", 0o644)));
    let lock = |on: &str| {
        let done = std::process::Command::new("chattr").arg(on).arg(project.path("setup.py")).output();
        done.is_ok_and(|done| done.status.success())
    };
    if !lock("+i") {
        eprintln!("no immutable files here");
        return;
    }
    let before = project.picture();
    let refused = project.apply(&mut Unwatched, &mut |_| Proof::Proved);
    let after = project.picture();
    assert!(lock("-i"));
    let text = refused.unwrap_err().to_string();
    assert!(text.contains("immutable"), "{text}");
    assert_eq!(before, after);
    assert!(history(&project.state()).unwrap().is_empty());
    assert!(matches!(project.apply(&mut Unwatched, &mut |_| Proof::Proved), Ok(Outcome::Committed { .. })));
}
