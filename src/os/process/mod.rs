//! Running programs: the user's command as if we were not there, and our own helpers with bounded output.
//!
//! Never a shell line: an argument vector goes to `execve` as it is. Never prints anything of its own.

mod capture;
pub(crate) mod family;
mod lookup;
mod stdin;
pub(crate) mod stream;
mod supervise;

use std::ffi::{OsStr, OsString};
use std::io;
use std::time::Duration;

use crate::os::AbsPath;

pub use capture::{Captured, run_captured};
pub use stdin::{ReplayableStdin, stdin_can_be_read_again};
pub use supervise::{run_noted, run_transparently};

/// A program to run.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Command {
    /// Name and arguments; the name is looked up as a shell does it, in the edited environment.
    pub argv: Vec<OsString>,
    /// The folder to run it in.
    pub cwd: AbsPath,
    /// Edits on top of our own environment, later ones win: a value sets, `None` unsets.
    pub env: Vec<(OsString, Option<OsString>)>,
    /// When the program and all that it started is ended, first by SIGTERM and then by SIGKILL.
    pub timeout: Option<Duration>,
}

impl Command {
    /// A command with our own environment and no time limit.
    pub fn new<I, S>(argv: I, cwd: AbsPath) -> Self
    where
        I: IntoIterator<Item = S>,
        S: Into<OsString>,
    {
        Self { argv: argv.into_iter().map(Into::into).collect(), cwd, env: Vec::new(), timeout: None }
    }

    /// Returns the name of the program, empty when the argument vector is.
    pub fn program(&self) -> &OsStr {
        self.argv.first().map_or(OsStr::new(""), OsString::as_os_str)
    }

    /// Returns a variable as the program will see it.
    fn variable(&self, name: &str) -> Option<OsString> {
        match self.env.iter().rev().find(|(edited, _)| edited == name) {
            Some((_, value)) => value.clone(),
            None => std::env::var_os(name),
        }
    }
}

/// Receives what a command prints, chunk by chunk, each after it was written through.
pub trait Output: Send {
    /// A chunk of standard output; of both streams when both lead to the same place and so share one order.
    fn stdout(&mut self, bytes: &[u8]);
    /// A chunk of standard error.
    fn stderr(&mut self, bytes: &[u8]);
}

/// How a program ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Status {
    /// By itself, with this code.
    Exited(i32),
    /// By this signal.
    Signalled(i32),
}

impl Status {
    /// Returns the code a shell gives in `$?`.
    pub fn shell_code(self) -> i32 {
        match self {
            Status::Exited(code) => code,
            Status::Signalled(signal) => 128 + signal,
        }
    }
}

/// A command that ran and ended.
#[derive(Debug)]
pub struct Ended {
    /// How it ended.
    pub status: Status,
    /// It ended because its time was up.
    pub timed_out: bool,
    /// The last signal that the user sent while it ran, whatever the command made of it.
    pub interrupted: Option<i32>,
    /// Why some of its output could not be written to where it belongs; a closed pipe (`| head`) is no such error.
    pub output_lost: Option<io::Error>,
}

impl Ended {
    /// Returns the code a shell gives in `$?`.
    pub fn shell_code(&self) -> i32 {
        self.status.shell_code()
    }
}

/// Why a program was not run.
#[derive(Debug, thiserror::Error)]
pub enum SpawnError {
    /// There is no such program.
    #[error("`{}`: command not found", .0.display())]
    NotFound(OsString),
    /// There is one, but it cannot be executed.
    #[error("`{}`: cannot be executed: {reason}", .0.display(), reason = .1)]
    NotExecutable(OsString, #[source] io::Error),
    /// The system refused something else.
    #[error("cannot start a program: {0}")]
    Other(#[from] io::Error),
}

impl SpawnError {
    /// Returns the code a shell gives in `$?`, and 125 when it is not the command's fault.
    pub fn shell_code(&self) -> i32 {
        match self {
            SpawnError::NotFound(_) => 127,
            SpawnError::NotExecutable(..) => 126,
            SpawnError::Other(_) => 125,
        }
    }
}
