//! Ends a process of this user's own that is in the way. It cannot be taken back, so that it is never done unasked.
//!
//! The process is named by its number and its start time, which are looked at again when it is ended: no later process of
//! the same number is touched, and none of another user.

use std::path::Path;

use super::{LowerError, Lowered, Order, Verb};
use crate::change::{AbsPath, Change, EnvOverlay, Reversible, Run};
use crate::evidence::ports::holder;
use crate::evidence::questions::ArgSpec;
use crate::recipe::Text;

/// `end_process = { pid = "${holder.pid}", start = "${holder.start}" }`
pub const END_PROCESS: Verb = Verb {
    name: "end_process",
    about: "Ends a process of this user's own (SIGTERM). Needs `--allow-irreversible`.",
    args: &[
        ArgSpec { name: "pid", required: true, about: "Its number" },
        ArgSpec { name: "start", required: true, about: "When it started, in clock ticks after boot" },
    ],
    lower: end_process,
};

/// Asked to end, a process has so long to do it.
const TIMEOUT_SECONDS: u64 = 30;

fn end_process(order: &Order<'_>) -> Result<Lowered, LowerError> {
    let (pid, start) = (order.require("pid")?, order.require("start")?);
    let found = pid.parse().ok().and_then(|pid| holder(order.host, pid));
    let Some(found) = found.filter(|found| found.start.to_string() == start) else {
        return Err(LowerError(Text::new(format!("process {pid} is gone"), format!("进程 {pid} 已不存在"))));
    };
    // The kernel's own and the first process of a container are nobody's leftover.
    if found.user != order.host.user() || found.pid <= 1 || found.pid == std::process::id() {
        return Err(LowerError(Text::new(
            format!("process {pid} is not yours to end"),
            format!("进程 {pid} 不能由您结束"),
        )));
    }
    let own = order.host.real(Path::new("/proc/self/exe")).ok();
    let Some(own) = own.and_then(|own| AbsPath::new(own).ok()) else {
        return Err(LowerError(Text::new("`/proc/self/exe` cannot be read", "无法读取 `/proc/self/exe`")));
    };
    let mut lowered = Lowered::default();
    lowered.changes.push(Change::Run(Run {
        argv: vec![own.as_path().as_os_str().to_owned(), "end-process".into(), pid.into(), start.into()],
        cwd: order.host.project().clone(),
        env: EnvOverlay::default(),
        writes: Vec::new(),
        reversible: Reversible::No,
        timeout_seconds: TIMEOUT_SECONDS,
    }));
    Ok(lowered)
}
