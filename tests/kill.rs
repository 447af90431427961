//! `kill -9` of the real `fix` at random times in a real repair, 200 times: what the next `fix` finds is the old
//! state, or a repair that is complete and can be taken back.

mod support;

use std::fs;
use std::os::unix::process::CommandExt;
use std::process::Stdio;
use std::time::Instant;

use support::llvm_mini::{Installs, MISSING};
use support::waiting::{is_alive, wait_until};
use support::{Sandbox, differences, picture, tools};

const TIMES: u32 = 200;

#[test]
fn a_killed_repair_leaves_the_old_state_or_one_that_can_be_taken_back() {
    let mut sandbox = Sandbox::new();
    sandbox.prepend_path(tools::python_tools());
    let installs = Installs::two_commits(&sandbox);
    let configure = |llvm: &str, backend: &str| -> Vec<String> {
        let backend = format!("-DAPP_BACKENDS={backend}");
        ["cmake", "-B", "build", &installs.library(llvm), &backend].map(str::to_owned).to_vec()
    };
    let old = configure("llvm-old", "");
    sandbox.run(&old[0], &old[1..]).expect(0);
    let new = configure("llvm-new", "amd");
    let failed = sandbox.run(&new[0], &new[1..]).expect(1).says_in_any_layout(MISSING);
    let log = sandbox.root().join("build.log");
    fs::write(&log, failed.all()).unwrap();
    let before = picture(&sandbox.project());
    assert!(before.len() > 10);

    let repair = || {
        let mut command = sandbox.fix_command();
        command.args(["tda-1.9", "--yes", "--log"]).arg(&log).arg("--").args(&new);
        // A group of its own, so that what it started can be waited for.
        command.stdout(Stdio::null()).stderr(Stdio::null()).process_group(0);
        command
    };
    let start = Instant::now();
    assert!(repair().status().unwrap().success());
    let whole = start.elapsed();
    sandbox.fix(["rollback", "--yes"]).expect(0);
    let found = differences(&before, &picture(&sandbox.project()));
    assert!(found.is_empty(), "{}", found.join("\n"));

    let (mut killed, mut complete) = (0, 0);
    // A fixed sequence of times, spread over the whole repair and a little beyond.
    let mut random: u64 = 0x9E37_79B9_7F4A_7C15;
    for round in 0..TIMES {
        random = random.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        let wait = whole.mul_f64((random >> 40) as f64 / f64::from(1 << 24) * 1.1);
        let mut child = repair().spawn().unwrap();
        std::thread::sleep(wait);
        match child.try_wait().unwrap() {
            Some(status) => {
                complete += 1;
                assert!(status.success(), "round {round}: {status}");
            }
            None => {
                killed += 1;
                child.kill().unwrap();
                child.wait().unwrap();
            }
        }
        // The user's command goes on without us; nothing is undone beside it.
        wait_until("the command has ended", || !works_in(&sandbox));
        let back = sandbox.fix(["rollback", "--yes"]);
        assert_eq!(back.code, 0, "round {round}, after {wait:?}: {}", back.all());
        let found = differences(&before, &picture(&sandbox.project()));
        assert!(found.is_empty(), "round {round}, killed after {wait:?}:\n{}\n{}", found.join("\n"), back.all());
    }
    println!("{killed} killed, {complete} complete");
    assert!(killed >= TIMES / 2, "only {killed} were killed in time");
}

/// Says whether a process has its working folder in the sandbox.
fn works_in(sandbox: &Sandbox) -> bool {
    let root = sandbox.root();
    fs::read_dir("/proc").unwrap().flatten().any(|entry| {
        let pid = entry.file_name().to_string_lossy().into_owned();
        pid.bytes().all(|byte| byte.is_ascii_digit())
            && fs::read_link(entry.path().join("cwd")).is_ok_and(|cwd| cwd.starts_with(&root))
            && is_alive(&pid)
    })
}
