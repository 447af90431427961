//! Runs a program of a repair: own process group, bounded output, a time limit, locks that it inherits.

use std::ffi::OsString;
use std::io::{Read, Seek, SeekFrom};
use std::os::unix::process::{CommandExt, ExitStatusExt};
use std::process::{Child, Command, ExitStatus};
use std::time::{Duration, Instant};

use rustix::process::{Pid, Signal, kill_process_group};

use super::Watch;
use super::lock::Locks;
use crate::change::{EnvOverlay, Run};
use crate::os::fault::step;
use crate::os::machine::ProcessId;
use crate::redact::redact;

/// Output beyond this is thrown away while the program runs.
const MOST_OUTPUT: u64 = 16 << 20;
/// What is quoted of the output when the program fails.
const QUOTED: u64 = 2 << 10;
const POLL: Duration = Duration::from_millis(20);
/// Between the polite signal and the other one.
const GRACE: Duration = Duration::from_secs(5);

/// Runs it to the end. The error says in one line why it does not count as done.
pub(crate) fn run(
    order: &Run,
    overlay: &EnvOverlay,
    locks: &Locks,
    watch: &mut dyn Watch,
    started: &mut dyn FnMut(ProcessId) -> Result<(), String>,
) -> Result<(), String> {
    let [program, arguments @ ..] = order.argv.as_slice() else {
        return Err("the command to run is empty".to_owned());
    };
    let name = program.display().to_string();
    let cannot = |error: std::io::Error| format!("cannot run `{name}`: {error}");
    // A file without a name: nothing is left of the output, whatever happens.
    let mut output = tempfile::tempfile().map_err(cannot)?;
    let mut command = Command::new(program);
    command
        .args(arguments)
        .current_dir(&order.cwd)
        .stdin(locks.for_child().map_err(cannot)?)
        .stdout(output.try_clone().map_err(cannot)?)
        .stderr(output.try_clone().map_err(cannot)?)
        .process_group(0);
    for (name, value) in environment(overlay, &order.env) {
        match value {
            Some(value) => command.env(name, value),
            None => command.env_remove(name),
        };
    }
    step().map_err(cannot)?;
    let mut child = command.spawn().map_err(cannot)?;
    // It holds our ends of the files.
    drop(command);
    let recorded = match ProcessId::of(child.id()) {
        Some(process) => started(process),
        // It is over already.
        None => Ok(()),
    };
    if let Err(why) = recorded {
        end(&mut child);
        return Err(why);
    }
    let deadline = Instant::now() + Duration::from_secs(order.timeout_seconds);
    let status = loop {
        if let Some(status) = child.try_wait().map_err(cannot)? {
            break status;
        }
        if watch.interrupted() {
            end(&mut child);
            return Err("interrupted".to_owned());
        }
        if Instant::now() >= deadline {
            end(&mut child);
            return Err(format!("`{name}` did not end within {} seconds", order.timeout_seconds));
        }
        if output.metadata().is_ok_and(|meta| meta.len() > MOST_OUTPUT) {
            // The program's own position goes on: what follows is sparse.
            let _ = output.set_len(0);
        }
        std::thread::sleep(POLL);
    };
    if status.success() {
        return Ok(());
    }
    Err(format!("`{name}` {}{}", outcome(status), quote(&mut output)))
}

/// The variables that the program gets on top of ours. Messages shall be in English and UTF-8.
fn environment(overlay: &EnvOverlay, own: &EnvOverlay) -> Vec<(String, Option<OsString>)> {
    let mut both = overlay.clone();
    both.extend(own);
    let mut values = vec![("LC_ALL".to_owned(), Some(OsString::from("C.UTF-8")))];
    for (name, _) in both.iter() {
        values.push((name.to_owned(), both.value(name, std::env::var_os(name).as_deref())));
    }
    values
}

/// Ends the program and all that it started in its group.
fn end(child: &mut Child) {
    let group = Pid::from_child(child);
    let _ = kill_process_group(group, Signal::TERM);
    let deadline = Instant::now() + GRACE;
    while Instant::now() < deadline && matches!(child.try_wait(), Ok(None)) {
        std::thread::sleep(POLL);
    }
    let _ = kill_process_group(group, Signal::KILL);
    let _ = child.wait();
}

fn outcome(status: ExitStatus) -> String {
    match (status.code(), status.signal()) {
        (Some(code), _) => format!("ended with status {code}"),
        (None, Some(signal)) => format!("was ended by signal {signal}"),
        (None, None) => "failed".to_owned(),
    }
}

fn quote(output: &mut std::fs::File) -> String {
    let len = output.metadata().map(|meta| meta.len()).unwrap_or_default();
    let mut bytes = Vec::new();
    let read = output
        .seek(SeekFrom::Start(len.saturating_sub(QUOTED)))
        .and_then(|_| output.take(QUOTED).read_to_end(&mut bytes));
    let text = String::from_utf8_lossy(&bytes).trim_matches(['\0', '\n', ' ']).to_owned();
    match read {
        // It is stored in the journal and shown: a program may print what it was given.
        Ok(_) if !text.is_empty() => format!(": {}", redact(&text)),
        Ok(_) | Err(_) => String::new(),
    }
}
