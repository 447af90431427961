//! Which repairs are forgotten first, and what is said of them afterwards.

use std::fs;
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use build_fix::rollback::{OnDrift, RollbackError, Which, roll_back};
use build_fix::transaction::{
    Clock, ForgottenBy, GroupState, Limits, Unwatched, beyond, history, prune, prune_these, tombstones,
};

use crate::afterwards::commit;
use crate::repairs::{Project, abs, as_of_old};

/// Repairs a file of its own.
fn repair(project: &mut Project, name: &str) -> String {
    project.changes.clear();
    project.write(name, Some(("made\n", 0o644)));
    commit(project)
}

fn back(project: &Project, which: Which) -> Result<String, RollbackError> {
    roll_back(&project.state(), &which, OnDrift::Refuse, &mut Unwatched).map(|back| back.group)
}

fn states(project: &Project) -> Vec<(String, GroupState)> {
    history(&project.state()).unwrap().into_iter().map(|group| (group.id, group.state)).collect()
}

/// Makes a group as old as it would be, had the clock been right when it was made.
fn backdate(project: &Project, id: &str, days: u64) {
    let head = project.state().path().as_path().join("groups").join(id).join("group.jsonl");
    as_of_old(head.parent().unwrap());
    let text = fs::read_to_string(&head).unwrap();
    let (first, rest) = text.split_once('\n').unwrap();
    let mut created: serde_json::Value = serde_json::from_str(first).unwrap();
    let now = SystemTime::now().duration_since(UNIX_EPOCH).unwrap();
    let at = now - Duration::from_secs(days * 86_400);
    created["at"] = serde_json::json!(u64::try_from(at.as_nanos()).unwrap());
    fs::write(&head, format!("{created}\n{rest}")).unwrap();
}

#[test]
fn what_was_taken_back_goes_before_what_stands() {
    let mut project = Project::new();
    let stands = repair(&mut project, "a.txt");
    let undone: Vec<String> = ["b.txt", "c.txt", "d.txt"].map(|name| repair(&mut project, name)).to_vec();
    for id in &undone {
        back(&project, Which::Id(id.clone())).unwrap();
    }
    let one = Limits { groups: 1, ..Limits::default() };
    let going: Vec<String> = beyond(&project.state(), &one).unwrap().into_iter().map(|group| group.id).collect();
    assert_eq!(going, undone);
    assert_eq!(states(&project).len(), 4, "looking deletes nothing");
    assert_eq!(prune(&project.state(), &one, ForgottenBy::Limits).unwrap().groups, undone);
    assert_eq!(states(&project), [(stands.clone(), GroupState::Applied)]);
    // By size as well: what was taken back holds nothing of its own.
    let mut project = Project::new();
    let stands = repair(&mut project, "a.txt");
    let newer = repair(&mut project, "setup.py");
    back(&project, Which::Id(newer.clone())).unwrap();
    let bytes = history(&project.state()).unwrap()[0].bytes;
    prune(&project.state(), &Limits { bytes, ..Limits::default() }, ForgottenBy::Limits).unwrap();
    assert!(states(&project).iter().any(|(id, state)| *id == stands && *state == GroupState::Applied));
}

#[test]
fn a_rollback_says_what_became_of_a_backup() {
    for (by, says) in [(ForgottenBy::User, "by `fix history prune`"), (ForgottenBy::Limits, "limits of what is kept")] {
        let mut project = Project::new();
        let stood = repair(&mut project, "a.txt");
        let undone = repair(&mut project, "b.txt");
        back(&project, Which::Id(undone.clone())).unwrap();
        let all = [stood.clone(), undone.clone()];
        assert_eq!(prune_these(&project.state(), &all, by).unwrap().groups, all);
        assert!(states(&project).is_empty());
        for which in [Which::NewestIn(project.root()), Which::Id(stood.clone())] {
            let error = back(&project, which).unwrap_err();
            assert!(matches!(&error, RollbackError::Forgotten { group, .. } if *group == stood), "{error:?}");
            assert!(error.to_string().contains(says), "{error}");
        }
        assert!(matches!(back(&project, Which::Id(undone)), Err(RollbackError::Already(_))));
        assert!(matches!(back(&project, Which::NewestIn(abs("/"))), Err(RollbackError::Nothing(_))));
        // A repair that is made since is the newest.
        let newer = repair(&mut project, "c.txt");
        assert_eq!(back(&project, Which::NewestIn(project.root())).unwrap(), newer);
        assert_eq!(tombstones(&project.state()).unwrap().len(), 2);
    }
}

#[test]
fn a_clock_that_jumps_ahead_makes_nothing_old() {
    let mut project = Project::new();
    let old = repair(&mut project, "a.txt");
    let undone = repair(&mut project, "b.txt");
    back(&project, Which::Id(undone.clone())).unwrap();
    for id in [&old, &undone] {
        backdate(&project, id, 400);
    }
    // The first repairs under the new clock, all within its first day.
    for name in ["c.txt", "d.txt"] {
        repair(&mut project, name);
        assert!(prune(&project.state(), &Limits::default(), ForgottenBy::Limits).unwrap().groups.is_empty());
    }
    // The user may count by it.
    let by_hand = Limits { clock: Clock::AsItIs, ..Limits::default() };
    assert_eq!(beyond(&project.state(), &by_hand).unwrap().len(), 2);
    // A repair of the day before yesterday confirms it.
    let newest = repair(&mut project, "e.txt");
    backdate(&project, &newest, 2);
    assert_eq!(prune(&project.state(), &Limits::default(), ForgottenBy::Limits).unwrap().groups.len(), 2);
    // And one that was set back makes nothing old either.
    backdate(&project, &newest, 0);
    assert!(prune(&project.state(), &by_hand, ForgottenBy::Limits).unwrap().groups.is_empty());
}
