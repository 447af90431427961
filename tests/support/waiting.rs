//! Waiting for conditions, and processes of the machine.

use std::fs;
use std::path::Path;
use std::process::{Child, ExitStatus};
use std::time::Duration;

/// Waits until `condition` holds; what takes longer than this hangs for a reason.
#[track_caller]
pub fn wait_until(what: &str, condition: impl Fn() -> bool) {
    for _ in 0..6000 {
        if condition() {
            return;
        }
        std::thread::sleep(Duration::from_millis(10));
    }
    panic!("never happened: {what}");
}

/// Waits until a file is there and not empty; returns its text.
#[track_caller]
pub fn wait_for_file(path: &Path) -> String {
    let read = || fs::read_to_string(path).unwrap_or_default();
    wait_until(&format!("`{}` is written", path.display()), || read().ends_with('\n'));
    read().trim().to_owned()
}

/// Waits for the end of a child that ought to end by itself.
#[track_caller]
pub fn wait_for_end(child: &mut Child) -> ExitStatus {
    for _ in 0..6000 {
        if let Some(status) = child.try_wait().unwrap() {
            return status;
        }
        std::thread::sleep(Duration::from_millis(10));
    }
    child.kill().unwrap();
    panic!("process {} never ended", child.id());
}

/// Says whether a process runs.
pub fn is_alive(pid: &str) -> bool {
    fs::read_to_string(format!("/proc/{pid}/stat")).is_ok_and(|stat| !stat.contains(") Z "))
}

/// Sends a signal.
pub fn send(pid: u32, signal: &str) {
    let status = std::process::Command::new("kill").args([&format!("-{signal}"), &pid.to_string()]).status();
    assert!(status.unwrap().success(), "signal {signal} to {pid}");
}
