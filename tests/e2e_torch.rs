//! The launcher of PyTorch with a port that is taken: real PyTorch and gloo with `FIX_E2E=full`.
//!
//! By default these tests run a stand-in for the launcher, which has its options and its words but no workers: that the
//! real one fails in these words, hangs in these forms and passes with another port is then NOT tested.

mod support;

use std::os::unix::process::CommandExt;
use std::time::Duration;

use support::story::Story;
use support::torchrun::{IN_USE, Squatter};
use support::{Done, Sandbox, torch};

fn sandbox() -> Sandbox {
    let mut sandbox = Sandbox::new();
    sandbox.with_torch();
    sandbox
}

fn trained_on(done: &Done) -> u16 {
    let all = done.all();
    let (_, rest) = all.split_once("trained on ").unwrap_or_else(|| panic!("not trained\n{all}"));
    rest.split_whitespace().next().unwrap().parse().unwrap()
}

/// Workers of a job: the stand-in has one.
fn workers() -> &'static str {
    if torch::is_real() { "--nproc-per-node=2" } else { "--nproc-per-node=1" }
}

#[test]
fn a_taken_port_is_left_by_real_torch_if_fix_e2e_is_full_else_by_the_stand_in() {
    let sandbox = sandbox();
    let squatter = Squatter::take(&sandbox, 0);
    let port = squatter.port;
    let option = format!("--master_port={port}");
    for launcher in [&["torchrun"][..], &["python3", "-m", "torch.distributed.run"]] {
        let command = [launcher, &[&option, workers(), "train.py", "--lr=1"]].concat();
        let story = Story::new(&sandbox, command, format!("{IN_USE} {port}"));
        story.is_repaired("tda-1.2", &[], |done| {
            let now = trained_on(done);
            assert!((20_000..30_000).contains(&now) && now != port, "{now}");
            assert!(done.stdout.contains("--lr=1"), "{}", done.all());
        });
        // The same again, from the start.
        let done = story.fix_command(&["run", "--yes"]).expect(0).says("tda-1.2");
        assert_ne!(trained_on(&done), port);
    }
}

#[test]
fn the_default_port_is_left_by_real_torch_if_fix_e2e_is_full_else_by_the_stand_in() {
    let sandbox = sandbox();
    // Something else on this machine may have it: then it is taken all the same.
    let _squatter = std::net::TcpListener::bind("127.0.0.1:29500");
    let story = Story::new(&sandbox, ["torchrun", workers(), "train.py"], format!("{IN_USE} 29500"));
    story.is_repaired("tda-1.2", &[], |done| assert_ne!(trained_on(done), 29500));
}

#[test]
fn forms_that_hang_are_rewritten_for_real_torch_if_fix_e2e_is_full_else_for_the_stand_in() {
    let sandbox = sandbox();
    let squatter = Squatter::take(&sandbox, 0);
    let endpoint = format!("--rdzv-endpoint=localhost:{}", squatter.port);
    for form in [&["--rdzv-backend=c10d", &endpoint][..], &["--master_port=0"]] {
        let command = [&["torchrun"], form, &[workers(), "train.py"]].concat();
        // It says nothing and goes on: that is the failure.
        let mut child = sandbox.command("/usr/bin/env").args(&command).process_group(0).spawn().unwrap();
        let patience = Duration::from_secs(if torch::is_real() { 30 } else { 3 });
        std::thread::sleep(patience);
        assert!(child.try_wait().unwrap().is_none(), "{form:?} does not hang");
        let group = rustix::process::Pid::from_child(&child);
        rustix::process::kill_process_group(group, rustix::process::Signal::KILL).unwrap();
        child.wait().unwrap();
        let args = [&["tda-1.2", "--yes", "--"], &command[..]].concat();
        let now = trained_on(&sandbox.fix(args).expect(0));
        assert!((20_000..30_000).contains(&now), "{now}");
    }
}
