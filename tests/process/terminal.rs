//! A terminal with a session of its own, typed at and read from by a test.

use std::os::fd::{AsFd, OwnedFd};
use std::path::Path;
use std::process::{Child, Command, ExitStatus};
use std::time::{Duration, Instant};

use build_fix::os::pty::Pty;
use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::io::Errno;
use rustix::termios::{OptionalActions, Winsize, tcgetattr, tcsetattr, tcsetwinsize};

/// Longer than any program here takes: only a test that would hang gets this far.
const PATIENCE: Duration = Duration::from_secs(30);

pub struct Terminal {
    master: Option<OwnedFd>,
    child: Child,
    seen: Vec<u8>,
    /// Where `expect` goes on.
    read: usize,
}

impl Terminal {
    /// Starts a program as leader of a session whose controlling terminal is a new one of 31 rows and 93 columns.
    pub fn start(folder: &Path, argv: &[&str]) -> Self {
        let Pty { master, slave } = Pty::like(std::fs::File::open("/dev/null").unwrap()).unwrap();
        tcsetwinsize(&master, Winsize { ws_row: 31, ws_col: 93, ws_xpixel: 0, ws_ypixel: 0 }).unwrap();
        let mut modes = tcgetattr(&slave).unwrap();
        modes.output_modes.insert(rustix::termios::OutputModes::OPOST);
        tcsetattr(&slave, OptionalActions::Now, &modes).unwrap();
        let mut command = Command::new("setsid");
        command.arg("--ctty").args(argv).current_dir(folder).env("TERM", "xterm").env("PS1", "$ ");
        command.env_remove("LS_COLORS").env_remove("PROMPT_COMMAND");
        let end = || slave.try_clone().unwrap();
        let child = command.stdin(end()).stdout(end()).stderr(end()).spawn().unwrap();
        Self { master: Some(master), child, seen: Vec::new(), read: 0 }
    }

    pub fn type_keys(&mut self, keys: &str) {
        rustix::io::write(self.master.as_ref().unwrap(), keys.as_bytes()).unwrap();
    }

    pub fn resize(&mut self, rows: u16, columns: u16) {
        let size = Winsize { ws_row: rows, ws_col: columns, ws_xpixel: 0, ws_ypixel: 0 };
        tcsetwinsize(self.master.as_ref().unwrap(), size).unwrap();
    }

    /// Waits until `text` was shown after what was expected last.
    pub fn expect(&mut self, text: &str) {
        let started = Instant::now();
        loop {
            let rest = &self.seen[self.read..];
            if let Some(at) = rest.windows(text.len()).position(|window| window == text.as_bytes()) {
                self.read += at + text.len();
                return;
            }
            let ended = !self.read_more();
            assert!(!ended && started.elapsed() < PATIENCE, "no {text:?} in {:?}", self.text());
        }
    }

    /// Reads to the end of the session and returns how its leader ended.
    pub fn finish(&mut self) -> ExitStatus {
        let started = Instant::now();
        while self.read_more() {
            assert!(started.elapsed() < PATIENCE, "still running after {:?}", self.text());
        }
        self.child.wait().unwrap()
    }

    /// Takes the terminal away, as a closed window does.
    pub fn hang_up(&mut self) {
        self.master = None;
    }

    pub fn text(&self) -> String {
        String::from_utf8_lossy(&self.seen).into_owned()
    }

    fn read_more(&mut self) -> bool {
        let master = self.master.as_ref().unwrap();
        let wait = Timespec { tv_sec: 1, tv_nsec: 0 };
        poll(&mut [PollFd::from_borrowed_fd(master.as_fd(), PollFlags::IN)], Some(&wait)).unwrap();
        let mut buffer = [0; 4096];
        match rustix::io::read(master, &mut buffer) {
            Ok(count) => self.seen.extend_from_slice(&buffer[..count]),
            Err(Errno::AGAIN | Errno::INTR) => {}
            Err(_) => return false,
        }
        true
    }
}

impl Drop for Terminal {
    fn drop(&mut self) {
        // A test that failed leaves nobody behind: the session ends with its terminal.
        self.master = None;
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}
