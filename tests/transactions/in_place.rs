//! What a command does to a saved folder is taken back exactly, whether it replaces files or writes into them.

use std::fs;
use std::os::unix::fs::MetadataExt;

use build_fix::rollback::{OnDrift, RollbackError, Which, roll_back};
use build_fix::transaction::{Outcome, Proof, Unwatched};

use crate::repairs::{Project, installed};

fn commit(project: &Project) {
    let outcome = project.apply(&mut Unwatched, &mut |_| Proof::Proved).unwrap();
    assert!(matches!(outcome, Outcome::Committed { .. }), "{outcome:?}");
}

fn back(project: &Project) -> Result<(), RollbackError> {
    roll_back(&project.state(), &Which::NewestIn(project.root()), OnDrift::Refuse, &mut Unwatched).map(|_| ())
}

#[test]
fn what_a_command_writes_into_scripts_and_lists_is_taken_back() {
    let project = installed();
    let old = project.picture();
    commit(&project);
    assert_ne!(project.picture(), old);
    back(&project).unwrap();
    assert_eq!(project.picture(), old);
}

#[test]
fn so_is_what_a_command_did_that_was_killed() {
    let mut project = installed();
    let old = project.picture();
    project.changes.clear();
    project.run(&["/bin/sh", "-c", "echo x >> build/bin/tool; rm -r build/CMakeFiles; kill -9 $$"], &["build"]);
    let outcome = project.apply(&mut Unwatched, &mut |_| Proof::Proved).unwrap();
    assert!(matches!(outcome, Outcome::Undone { .. }), "{outcome:?}");
    assert_eq!(project.picture(), old);
}

#[test]
fn a_copy_is_no_second_name() {
    let mut project = Project::new();
    fs::write(project.path("build/easy-install.pth"), "./a\n").unwrap();
    project
        .run(&["/bin/sh", "-c", "stat -c %h build/easy-install.pth build/CMakeFiles/a.o > names"], &["build", "names"]);
    commit(&project);
    // The list has one name while the command runs; the object has the snapshot's as well.
    assert_eq!(fs::read_to_string(project.path("names")).unwrap(), "1\n2\n");
}

#[test]
fn a_file_that_nobody_touched_stays_the_very_file() {
    let mut project = installed();
    let number = |below: &str| fs::metadata(project.path(below)).unwrap().ino();
    let (list, object) = (number("build/notes.json"), number("build/CMakeFiles/a.o"));
    project.changes.clear();
    project.run(&["/bin/sh", "-c", "echo x > build/made"], &["build"]);
    commit(&project);
    back(&project).unwrap();
    let number = |below: &str| fs::metadata(project.path(below)).unwrap().ino();
    assert_eq!((number("build/notes.json"), number("build/CMakeFiles/a.o")), (list, object));
}

#[test]
fn other_content_of_the_same_size_and_time_is_seen() {
    let mut project = installed();
    let old = project.picture();
    project.changes.clear();
    let script = "touch -r build/notes.json time; printf '[2]' > build/notes.json; touch -r time build/notes.json";
    project.run(&["/bin/sh", "-c", script], &["build", "time"]);
    commit(&project);
    assert_ne!(project.picture(), old);
    back(&project).unwrap();
    assert_eq!(project.picture(), old);
}

#[test]
fn an_object_that_was_written_into_is_refused_by_name() {
    let mut project = installed();
    project.changes.clear();
    project.run(&["/bin/sh", "-c", "echo more >> build/CMakeFiles/a.o"], &["build"]);
    commit(&project);
    let RollbackError::Lost { paths, .. } = back(&project).unwrap_err() else { panic!("it was not refused") };
    assert_eq!(
        paths,
        [project.path("build/CMakeFiles/a.o")].map(|path| build_fix::change::AbsPath::new(path).unwrap())
    );
}
