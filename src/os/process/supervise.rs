//! Starts a program, stands aside while it runs, and says how it ended.

use std::ffi::{OsStr, OsString};
use std::io;
use std::os::fd::OwnedFd;
use std::os::unix::process::{CommandExt, ExitStatusExt};
use std::process::ExitStatus;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::mpsc::{Receiver, RecvTimeoutError, Sender, channel};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread::{self, Scope, ScopedJoinHandle};
use std::time::Duration;

use rustix::io::Errno;
use rustix::process::{Pid, Signal, WaitId, WaitIdOptions, waitid};
use signal_hook::consts::{SIGCONT, SIGINT, SIGQUIT, SIGTSTP, SIGTTIN, SIGTTOU};
use signal_hook::low_level::emulate_default_handler;

use super::family::{Family, has_controlling_terminal, somebody_would_continue_us};
use super::lookup::{find_program, script_arguments};
use super::stream::{Channel, Connection, Gate, carry};
use super::{Command, Ended, Output, SpawnError, Status};
use crate::os::signals::{Group, Interrupts, Owner, Running};

/// How long a program may take to end itself after its time is up.
const GRACE: Duration = Duration::from_secs(2);
/// How long we wait for the last words of a program that was stopped, before we stop as well.
const LAST_WORDS: Duration = Duration::from_millis(200);
/// How long a signal from the terminal may take to reach us after it has reached the command.
const NEWS: Duration = Duration::from_millis(30);

/// Runs the user's command as if we were not there, and shows `output` what it prints.
///
/// It finds a terminal exactly where we have one; standard input, controlling terminal, environment, signals, stops and
/// status are as without us. What was printed before must have been flushed.
pub fn run_transparently(command: &Command, output: &mut dyn Output) -> Result<Ended, SpawnError> {
    run_noted(command, output, &mut |_| {})
}

/// Like [`run_transparently`]; `started` is told the process id right after the start.
pub fn run_noted(
    command: &Command,
    output: &mut dyn Output,
    started: &mut dyn FnMut(u32),
) -> Result<Ended, SpawnError> {
    // Two at a time would fight for the terminal, and a signal could not be meant for one of them.
    static ONE_AT_A_TIME: Mutex<()> = Mutex::new(());
    let _turn = ONE_AT_A_TIME.lock().unwrap_or_else(PoisonError::into_inner);
    // With a terminal, job control needs the command in our group; without, a group of its own lets us end it whole.
    let group = if has_controlling_terminal() { Group::Ours } else { Group::Own };
    supervise(command, Connection::like_ours()?, Owner::User, group, output, started)
}

/// Runs `command` on the ends of `connection` until it has ended and its output was carried away.
pub(super) fn supervise(
    command: &Command,
    connection: Connection,
    owner: Owner,
    group: Group,
    output: &mut dyn Output,
    started: &mut dyn FnMut(u32),
) -> Result<Ended, SpawnError> {
    let interrupts = Interrupts::install()?;
    check_folder(command)?;
    let program = find_program(command)?;
    let Connection { channels, stdout, stderr } = connection;
    let terminals = channels.iter().filter(|channel| channel.is_terminal());
    let terminals = terminals.map(|channel| (channel.carries, Arc::downgrade(&channel.source))).collect();
    let ends = Ends { stdout, stderr };
    let gate = Gate::new()?;
    let output = Mutex::new(output);
    let busy: Vec<AtomicUsize> = channels.iter().map(|_| AtomicUsize::new(0)).collect();
    thread::scope(|scope| {
        // Threads first: once the program runs, nothing may fail. If it does not start, its ends are closed and they
        // come to an end by themselves.
        let carriers = start_carriers(scope, channels, &output, &gate, &busy)?;
        let timer = Timer::start(scope, command.timeout, &interrupts)?;
        let (pid, child) = interrupts.attend(|| {
            let child = spawn(command, program, ends, owner, group)?;
            let pid = pid_of(&child)?;
            let running = Running { pid, owner, group, terminals, ended: false, interrupted: None };
            Ok::<_, SpawnError>((running, child))
        })?;
        timer.begin(pid);
        started(pid.as_raw_nonzero().get().unsigned_abs());
        wait_for_end(pid, || match (owner, group) {
            (Owner::User, Group::Ours) => stop_as_well(pid, &busy, &interrupts),
            (Owner::User, Group::Own) | (Owner::Us, _) => forget_stop(pid),
        });
        // The pid stays taken until the program is reaped, so until here a signal reached nobody else.
        interrupts.with(pid, |running| running.ended = true);
        let timed_out = timer.end();
        let status = child.wait().map(|output| status_of(output.status));
        gate.open();
        let mut output_lost = None;
        for carrier in carriers {
            let lost = carrier.join().unwrap_or_else(|panic| std::panic::resume_unwind(panic));
            output_lost = output_lost.or(lost);
        }
        let status = match status {
            Ok(status) => status,
            Err(error) => {
                interrupts.forget(pid);
                return Err(error.into());
            }
        };
        let interrupted = match status {
            // Who else would: and the command may have heard of it, and be gone, before us.
            Status::Signalled(signal @ (SIGINT | SIGQUIT)) => Some(signal),
            Status::Exited(0) => None,
            Status::Exited(_) | Status::Signalled(_) if group == Group::Own => None,
            Status::Exited(_) | Status::Signalled(_) => late_interrupt(pid, &interrupts),
        };
        let noticed = interrupts.forget(pid).and_then(|running| running.interrupted);
        Ok(Ended { status, timed_out, interrupted: noticed.or(interrupted), output_lost })
    })
}

/// The ends of the channels that the program gets.
struct Ends {
    stdout: OwnedFd,
    stderr: OwnedFd,
}

fn start_carriers<'scope, 'env>(
    scope: &'scope Scope<'scope, 'env>,
    channels: Vec<Channel>,
    output: &'env Mutex<&mut dyn Output>,
    gate: &'env Gate,
    busy: &'env [AtomicUsize],
) -> io::Result<Vec<ScopedJoinHandle<'scope, Option<io::Error>>>> {
    channels
        .into_iter()
        .zip(busy)
        .map(|(channel, busy)| thread::Builder::new().spawn_scoped(scope, move || carry(channel, output, gate, busy)))
        .collect()
}

fn check_folder(command: &Command) -> Result<(), SpawnError> {
    let named = |error: io::Error| io::Error::new(error.kind(), format!("`{}`: {error}", command.cwd));
    let metadata = std::fs::metadata(&command.cwd).map_err(named)?;
    if metadata.is_dir() { Ok(()) } else { Err(named(io::ErrorKind::NotADirectory.into()).into()) }
}

fn pid_of(child: &duct::Handle) -> io::Result<Pid> {
    let pid = child.pids().first().and_then(|pid| i32::try_from(*pid).ok()).and_then(Pid::from_raw);
    pid.ok_or_else(|| io::Error::other("the program has no process id"))
}

fn status_of(status: ExitStatus) -> Status {
    match (status.code(), status.signal()) {
        (Some(code), _) => Status::Exited(code),
        (None, signal) => Status::Signalled(signal.unwrap_or(0)),
    }
}

fn spawn(
    command: &Command,
    program: OsString,
    ends: Ends,
    owner: Owner,
    group: Group,
) -> Result<duct::Handle, SpawnError> {
    let arguments: Vec<OsString> = command.argv.iter().skip(1).cloned().collect();
    let error = match spawn_file(command, &program, command.program(), &arguments, &ends, owner, group) {
        Ok(child) => return Ok(child),
        Err(error) => error,
    };
    let not_executable = |error| Err(SpawnError::NotExecutable(command.program().to_owned(), error));
    match Errno::from_io_error(&error) {
        // A script without `#!` line: a shell runs it itself.
        Some(Errno::NOEXEC) => match script_arguments(command, &program) {
            Some(script) => {
                spawn_file(command, &script[0], &script[0], &script[1..], &ends, owner, group).or_else(not_executable)
            }
            None => not_executable(error),
        },
        // The file was found, so what is missing is its interpreter.
        Some(Errno::NOENT) => not_executable(io::Error::new(error.kind(), "its interpreter does not exist")),
        Some(Errno::ACCESS | Errno::PERM | Errno::TXTBSY | Errno::TOOBIG | Errno::LOOP | Errno::NOTDIR) => {
            not_executable(error)
        }
        _ => Err(error.into()),
    }
}

fn spawn_file(
    command: &Command,
    file: &OsStr,
    name: &OsStr,
    arguments: &[OsString],
    ends: &Ends,
    owner: Owner,
    group: Group,
) -> io::Result<duct::Handle> {
    let name = name.to_owned();
    let env = command.env.clone();
    // A change into the folder where we are already could only fail (its parents may be closed to us).
    let folder = Some(&command.cwd).filter(|cwd| std::env::current_dir().ok().as_deref() != Some(cwd.as_path()));
    let folder = folder.cloned();
    let expression = duct::cmd(file, arguments)
        .unchecked()
        .stdout_file(ends.stdout.try_clone()?)
        .stderr_file(ends.stderr.try_clone()?)
        // Not duct's `dir`: it rewrites the name of the program, which a script would find in `$0`.
        .before_spawn(move |child| {
            child.arg0(&name);
            for (name, value) in &env {
                match value {
                    Some(value) => child.env(name, value),
                    None => child.env_remove(name),
                };
            }
            if let Some(folder) = &folder {
                child.current_dir(folder);
            }
            if group == Group::Own {
                child.process_group(0);
            }
            Ok(())
        });
    match owner {
        Owner::User => expression.start(),
        Owner::Us => expression.stdin_null().start(),
    }
}

/// Waits until the process has ended, without reaping it; calls `stopped` whenever it was stopped.
fn wait_for_end(pid: Pid, stopped: impl Fn()) {
    loop {
        let options = WaitIdOptions::EXITED | WaitIdOptions::STOPPED | WaitIdOptions::NOWAIT;
        match waitid(WaitId::Pid(pid), options) {
            Ok(Some(status)) if status.stopped() => stopped(),
            Ok(Some(_)) => return,
            Ok(None) | Err(Errno::INTR) => {}
            // Somebody else has reaped it.
            Err(_) => return,
        }
    }
}

/// Takes note of a stop, and returns the signal that made it when the process is still stopped.
fn take_stop(pid: Pid) -> Option<i32> {
    let status = waitid(WaitId::Pid(pid), WaitIdOptions::STOPPED | WaitIdOptions::NOHANG).ok()??;
    status.stopping_signal()
}

fn forget_stop(pid: Pid) {
    let _ = take_stop(pid);
}

/// Stops us because the command was stopped by Ctrl-Z or for want of the terminal, so that the shell takes over.
fn stop_as_well(pid: Pid, busy: &[AtomicUsize], interrupts: &Interrupts) {
    // If that cannot be told: the kernel found that the command may be stopped, and it is most likely in our group.
    if somebody_would_continue_us() == Some(false) {
        return forget_stop(pid);
    }
    // What it printed when it was told to stop comes first.
    let step = Duration::from_millis(10);
    for _ in 0..LAST_WORDS.as_millis() / step.as_millis() {
        thread::sleep(step);
        if busy.iter().all(|busy| busy.load(Ordering::SeqCst) == 0) {
            break;
        }
    }
    // If the terminal has stopped us too, we come here after `fg`, and the command is not stopped any more.
    let Some(SIGTSTP | SIGTTIN | SIGTTOU) = take_stop(pid) else { return };
    // Sent to this thread, so that nothing below happens before somebody continues us.
    let _ = emulate_default_handler(SIGTSTP);
    // A shell continues the whole group, and the command may even be stopped again by now. Whoever continued us alone
    // meant the command.
    let news = WaitIdOptions::STOPPED | WaitIdOptions::CONTINUED | WaitIdOptions::NOHANG | WaitIdOptions::NOWAIT;
    let still_stopped = matches!(waitid(WaitId::Pid(pid), news), Ok(None));
    interrupts.with(pid, |running| {
        running.copy_window_size();
        if still_stopped {
            running.send(SIGCONT);
        }
    });
}

/// Waits a little for the news that the user has interrupted the command.
///
/// The terminal tells the command and us at the same time, so a command that fails because of Ctrl-C may be gone before
/// we know why. Taken for a failure of its own, it would be repaired against the user's will.
fn late_interrupt(pid: Pid, interrupts: &Interrupts) -> Option<i32> {
    let step = Duration::from_millis(5);
    for _ in 0..NEWS.as_millis() / step.as_millis() {
        let interrupted = interrupts.with(pid, |running| running.interrupted).flatten();
        if interrupted.is_some() {
            return interrupted;
        }
        thread::sleep(step);
    }
    None
}

/// Ends a program whose time is up.
struct Timer<'scope> {
    begin: Sender<Pid>,
    thread: Option<ScopedJoinHandle<'scope, bool>>,
}

impl<'scope> Timer<'scope> {
    fn start<'env>(
        scope: &'scope Scope<'scope, 'env>,
        limit: Option<Duration>,
        interrupts: &'env Interrupts,
    ) -> io::Result<Self> {
        let (begin, pid) = channel();
        let thread = limit
            .map(|limit| thread::Builder::new().spawn_scoped(scope, move || end_after(limit, &pid, interrupts)))
            .transpose()?;
        Ok(Self { begin, thread })
    }

    fn begin(&self, pid: Pid) {
        // Without a limit nobody listens.
        let _ = self.begin.send(pid);
    }

    /// Tells that the program has ended; returns whether that was our doing.
    fn end(self) -> bool {
        drop(self.begin);
        self.thread.is_some_and(|thread| thread.join().unwrap_or(false))
    }
}

fn end_after(limit: Duration, program: &Receiver<Pid>, interrupts: &Interrupts) -> bool {
    let Ok(pid) = program.recv() else { return false };
    if program.recv_timeout(limit) != Err(RecvTimeoutError::Timeout) {
        return false;
    }
    let family = Family::of(pid);
    let send = |signal| interrupts.with(pid, |running| running.send_to_family(&family, signal));
    send(Signal::TERM);
    // One that is stopped could not end itself.
    send(Signal::CONT);
    let _ = program.recv_timeout(GRACE);
    // Also when the program has gone by itself: what it started may have stayed. It is not reaped yet, so its group is
    // still its own.
    send(Signal::KILL);
    Family::of(pid).signal(Signal::KILL);
    true
}
