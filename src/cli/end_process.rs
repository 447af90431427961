//! `fix end-process PID START`, which a repair runs: ends this very process of this user, and no other.

use std::fs;
use std::os::unix::fs::MetadataExt;

use anyhow::{Context, Result, bail, ensure};
use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::process::{Pid, PidfdFlags, Signal, pidfd_open, pidfd_send_signal};

use super::args::EndProcess;
use super::session::Session;
use crate::os::machine::ProcessId;
use crate::recipe::Text;

/// How long a process has to end, in seconds. Nothing is killed by force.
const PATIENCE: i64 = 20;

/// Asks the process to end and waits for it; returns the exit status.
pub fn run(args: &EndProcess, session: &Session) -> Result<u8> {
    let pid = args.pid;
    let number = i32::try_from(pid).ok().and_then(Pid::from_raw).context("that is no process")?;
    // From here on the handle means this one process, whatever becomes of its number.
    let Ok(handle) = pidfd_open(number, PidfdFlags::empty()) else {
        bail!("process {pid} is gone");
    };
    let found = ProcessId::of(pid);
    ensure!(found.is_some_and(|found| found.start == args.start), "process {pid} is gone, another one has its number");
    let owner = fs::metadata(format!("/proc/{pid}")).with_context(|| format!("process {pid} is gone"))?.uid();
    ensure!(owner == rustix::process::geteuid().as_raw(), "process {pid} belongs to another user");
    if session.common.dry_run {
        session.say(&Text::new(format!("would end process {pid}"), format!("将结束进程 {pid}")));
        return Ok(1);
    }
    pidfd_send_signal(&handle, Signal::TERM).with_context(|| format!("cannot end process {pid}"))?;
    // The handle becomes readable when the process has ended.
    let mut ended = [PollFd::new(&handle, PollFlags::IN)];
    let time = Timespec { tv_sec: PATIENCE, tv_nsec: 0 };
    let ready = poll(&mut ended, Some(&time)).with_context(|| format!("cannot wait for process {pid}"))?;
    ensure!(ready > 0, "process {pid} was asked to end and goes on");
    Ok(0)
}
