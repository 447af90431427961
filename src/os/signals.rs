//! Signals to us: an interrupt to obey, or one that is meant for the program we run.
//!
//! One thread receives them for the whole process, so nothing runs inside a signal handler. A signal that was ignored
//! when we were started (`nohup`, a background job of a script) stays ignored, for us and for our children.

use std::collections::BTreeMap;
use std::fs;
use std::io;
use std::os::fd::OwnedFd;
use std::sync::atomic::{AtomicI32, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, OnceLock, PoisonError, TryLockError, Weak};
use std::thread;
use std::time::Duration;

use rustix::process::{Pid, Signal, getpid, kill_current_process_group, kill_process, kill_process_group};
use signal_hook::consts::{SIGCHLD, SIGHUP, SIGINT, SIGQUIT, SIGTERM, SIGTSTP, SIGWINCH};
use signal_hook::iterator::SignalsInfo;
use signal_hook::iterator::exfiltrator::WithOrigin;
use signal_hook::low_level::siginfo::{Cause, Origin};
use signal_hook::low_level::{emulate_default_handler, exit};

use super::process::family::{Family, is_of_family, somebody_would_continue_us};
use super::process::stream::Stream;
use super::pty::{self, WindowSize};

/// The process's interrupts: installed once, never taken away.
///
/// The first Ctrl-C, SIGTERM, SIGHUP or SIGQUIT that is not meant for a program of the user's is only noted; the
/// second leaves at once.
#[derive(Debug, Clone)]
pub struct Interrupts {
    shared: Arc<Shared>,
}

#[derive(Debug, Default)]
struct Shared {
    requested: AtomicI32,
    running: Mutex<BTreeMap<i32, Running>>,
}

/// Whose program is running, and so whom a signal is meant for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Owner {
    /// The user's command: a signal is for it alone, as if we were not there.
    User,
    /// A helper of ours: a signal is for us, and ends the helper too.
    Us,
}

/// Which process group a child is in.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Group {
    /// Ours: what the terminal sends, it gets by itself.
    Ours,
    /// One that it leads.
    Own,
}

/// A child that signals are passed on to.
#[derive(Debug)]
pub(crate) struct Running {
    pub(crate) pid: Pid,
    pub(crate) owner: Owner,
    pub(crate) group: Group,
    /// Which of our streams are terminals, and the pseudo-terminals that stand for them.
    pub(crate) terminals: Vec<(Stream, Weak<OwnedFd>)>,
    /// The child has ended, and its pid may soon be another's; only its output is still on its way.
    pub(crate) ended: bool,
    pub(crate) interrupted: Option<i32>,
}

impl Interrupts {
    /// Starts to receive signals, at the first call; every call returns the same.
    pub fn install() -> io::Result<Self> {
        static INSTALLED: OnceLock<Interrupts> = OnceLock::new();
        static INSTALLING: Mutex<()> = Mutex::new(());
        let _installing = INSTALLING.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(installed) = INSTALLED.get() {
            return Ok(installed.clone());
        }
        let ignored = ignored_signals();
        let wanted = [SIGINT, SIGTERM, SIGHUP, SIGQUIT, SIGTSTP, SIGWINCH];
        let is_ignored = |signal: i32| ignored & (1 << (signal - 1)) != 0;
        let mut wanted: Vec<i32> = wanted.into_iter().filter(|signal| !is_ignored(*signal)).collect();
        if is_ignored(SIGCHLD) {
            // The kernel would throw away the status of our children.
            wanted.push(SIGCHLD);
        }
        let mut signals = SignalsInfo::<WithOrigin>::new(wanted)?;
        let interrupts = Interrupts { shared: Arc::default() };
        let shared = Arc::clone(&interrupts.shared);
        thread::Builder::new().name("signals".to_owned()).spawn(move || {
            for origin in signals.forever() {
                shared.receive(&origin);
            }
        })?;
        Ok(INSTALLED.get_or_init(|| interrupts).clone())
    }

    /// Returns the signal that asked us to stop what we are doing, if any did.
    pub fn requested(&self) -> Option<i32> {
        match self.shared.requested.load(Ordering::SeqCst) {
            0 => None,
            signal => Some(signal),
        }
    }

    /// Starts a child and passes signals on to it from its first moment.
    pub(crate) fn attend<T, E>(&self, start: impl FnOnce() -> Result<(Running, T), E>) -> Result<(Pid, T), E> {
        // Held while the child starts: a signal that arrives meanwhile is passed on when it exists.
        let mut running = self.shared.lock();
        let (child, rest) = start()?;
        let pid = child.pid;
        running.insert(pid.as_raw_nonzero().get(), child);
        Ok((pid, rest))
    }

    /// Calls `change` with what is known of the child `pid`.
    pub(crate) fn with<T>(&self, pid: Pid, change: impl FnOnce(&mut Running) -> T) -> Option<T> {
        self.shared.lock().get_mut(&pid.as_raw_nonzero().get()).map(change)
    }

    /// Forgets a child; must be called when its output has been read to the end.
    pub(crate) fn forget(&self, pid: Pid) -> Option<Running> {
        self.shared.lock().remove(&pid.as_raw_nonzero().get())
    }
}

/// Ends this process by `signal`, so that whoever started us sees the same end as without us: a shell script stops
/// at Ctrl-C only when the program it waited for was killed by SIGINT. Returns only when the signal does not kill.
pub fn leave_by(signal: i32) {
    match signal {
        // A core dump of ours would say nothing about the user's program.
        SIGQUIT => exit(128 + SIGQUIT),
        // The first process of a container cannot be killed from inside.
        _ if getpid().is_init() => exit(128 + signal),
        _ => {
            let _ = emulate_default_handler(signal);
        }
    }
}

impl Shared {
    fn lock(&self) -> MutexGuard<'_, BTreeMap<i32, Running>> {
        self.running.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Locks from the thread that receives signals.
    ///
    /// A stop that hits a child between fork and exec holds up the thread that starts it, and so this lock; then nobody
    /// but us can continue it.
    fn lock_patiently(&self) -> MutexGuard<'_, BTreeMap<i32, Running>> {
        loop {
            for _ in 0..10 {
                match self.running.try_lock() {
                    Ok(running) => return running,
                    Err(TryLockError::Poisoned(poisoned)) => return poisoned.into_inner(),
                    Err(TryLockError::WouldBlock) => thread::sleep(Duration::from_millis(5)),
                }
            }
            Family::of(getpid()).signal(Signal::CONT);
        }
    }

    fn receive(&self, origin: &Origin) {
        match origin.signal {
            SIGWINCH => self.lock_patiently().values().for_each(Running::copy_window_size),
            SIGTSTP => {
                // The user's command decides whether it stops, and then so do we (`process::supervise`).
                let decides = self.lock_patiently().values().any(|child| child.owner == Owner::User && !child.ended);
                if !decides && somebody_would_continue_us() == Some(true) {
                    let _ = emulate_default_handler(SIGTSTP);
                }
            }
            SIGCHLD => {}
            signal => self.interrupt(signal, origin),
        }
    }

    fn interrupt(&self, signal: i32, origin: &Origin) {
        let mut running = self.lock_patiently();
        let mut for_us = true;
        for child in running.values_mut() {
            // `kill 0` in the user's script hits us only because we share its group: it is not meant for us.
            if origin.process.as_ref().is_some_and(|sender| is_of_family(sender.pid, child.pid)) {
                return;
            }
            let again = child.interrupted.replace(signal).is_some();
            // Of a terminal that goes away only the session's leader is told, and that may be us.
            let by_terminal = matches!(origin.cause, Cause::Kernel) && child.group == Group::Ours && signal != SIGHUP;
            match child.owner {
                Owner::User if child.ended && again => leave_by(signal),
                Owner::User if child.ended => {}
                // A second SIGINT would make many programs give up their clean end, so exactly one must arrive.
                Owner::User if by_terminal => for_us = false,
                Owner::User => {
                    for_us = false;
                    child.send(signal);
                }
                Owner::Us if child.ended => {}
                Owner::Us => child.send(signal),
            }
        }
        drop(running);
        if for_us && self.requested.swap(signal, Ordering::SeqCst) != 0 {
            leave_by(signal);
        }
    }
}

impl Running {
    /// Passes a signal on, to the group that the child leads or to the child alone.
    pub(crate) fn send(&self, signal: i32) {
        let Some(signal) = Signal::from_named_raw(signal) else { return };
        // A child that has just ended, or that runs as another user, cannot be helped.
        let _ = match self.group {
            Group::Own => kill_process_group(self.pid, signal),
            Group::Ours => kill_process(self.pid, signal),
        };
    }

    /// Sends a signal to the child and everything it has started in this session.
    pub(crate) fn send_to_family(&self, family: &Family, signal: Signal) {
        self.send(signal.as_raw());
        family.signal(signal);
    }

    /// Gives the child's terminals the size of the user's, and tells the child when that changed something.
    pub(crate) fn copy_window_size(&self) {
        let mut changed = false;
        for (stream, pty) in &self.terminals {
            if let Some(pty) = pty.upgrade() {
                changed |= pty::copy_window_size(stream.ours(), &*pty) == WindowSize::Changed;
            }
        }
        // The child may have had its SIGWINCH, and looked, before we knew the new size. We get this one too, and find
        // nothing changed.
        if changed && !self.ended {
            let _ = match self.group {
                Group::Own => kill_process_group(self.pid, Signal::WINCH),
                Group::Ours => kill_current_process_group(Signal::WINCH),
            };
        }
    }
}

fn ignored_signals() -> u64 {
    let status = fs::read_to_string("/proc/self/status").unwrap_or_default();
    let mask = status.lines().find_map(|line| line.strip_prefix("SigIgn:"));
    mask.and_then(|mask| u64::from_str_radix(mask.trim(), 16).ok()).unwrap_or(0)
}
