//! Which time a file has when it is back.

use std::fs;
use std::time::{Duration, SystemTime};

use build_fix::rollback::{OnDrift, Which, roll_back};
use build_fix::transaction::Unwatched;

use crate::afterwards::commit;
use crate::repairs::Project;

fn modified(project: &Project, name: &str) -> SystemTime {
    fs::metadata(project.path(name)).unwrap().modified().unwrap()
}

#[test]
fn an_edited_source_is_new_where_something_was_built_since_and_all_else_keeps_its_time() {
    let long_ago = SystemTime::now() - Duration::from_secs(6 * 365 * 86_400);
    for built_since in [false, true] {
        let mut project = Project::new();
        for name in ["setup.py", "gone.txt", "run.sh"] {
            fs::File::open(project.path(name)).unwrap().set_modified(long_ago).unwrap();
        }
        fs::write(project.path("a.o"), "").unwrap();
        fs::File::open(project.path("a.o")).unwrap().set_modified(long_ago).unwrap();
        project.write("setup.py", Some(("new line\n", 0o644)));
        project.write("gone.txt", None);
        project.write("a.o", None);
        // Permissions alone are no other input.
        project.write("run.sh", Some(("#!/bin/sh\n", 0o755)));
        commit(&project);
        if built_since {
            fs::write(project.path("built"), "from setup.py\n").unwrap();
        }
        roll_back(&project.state(), &Which::NewestIn(project.root()), OnDrift::Refuse, &mut Unwatched).unwrap();
        for name in ["gone.txt", "a.o", "run.sh"] {
            assert_eq!(modified(&project, name), long_ago, "{name} {built_since}");
        }
        if built_since {
            assert!(modified(&project, "setup.py") >= modified(&project, "built"), "make must see it");
        } else {
            assert_eq!(modified(&project, "setup.py"), long_ago);
        }
    }
}
