//! Pseudo-terminals for a program's output.
//!
//! Only output goes through them. Standard input and the controlling terminal stay the user's, so Ctrl-C, Ctrl-Z,
//! prompts and `/dev/tty` work as without us, no mode of the user's terminal is changed, and nothing has to be
//! restored after a crash.

use std::io;
use std::os::fd::{AsFd, OwnedFd};

use rustix::fs::{Mode, OFlags};
use rustix::pty::{OpenptFlags, grantpt, openpt, ptsname, unlockpt};
use rustix::termios::{OptionalActions, OutputModes, tcgetattr, tcgetwinsize, tcsetattr, tcsetwinsize};

/// Both ends of a pseudo-terminal.
#[derive(Debug)]
pub struct Pty {
    /// Our end: what the program wrote is read here.
    pub master: OwnedFd,
    /// The program's end, which it finds to be a terminal.
    pub slave: OwnedFd,
}

/// What became of the window size of a pseudo-terminal.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum WindowSize {
    /// It is another one than before.
    Changed,
    /// It was right already, or the terminal has none.
    Same,
}

impl Pty {
    /// Opens a pseudo-terminal with the modes and the window size of `terminal`, whose output is not processed.
    pub fn like(terminal: impl AsFd) -> io::Result<Self> {
        let master = openpt(OpenptFlags::RDWR | OpenptFlags::NOCTTY | OpenptFlags::CLOEXEC)?;
        grantpt(&master)?;
        unlockpt(&master)?;
        let name = ptsname(&master, Vec::new())?;
        let slave = rustix::fs::open(name, OFlags::RDWR | OFlags::NOCTTY | OFlags::CLOEXEC, Mode::empty())?;
        let mut modes = tcgetattr(&terminal).or_else(|_| tcgetattr(&slave))?;
        // The user's terminal makes `\r\n` of `\n`; ours would make a second `\r` of it.
        modes.output_modes.remove(OutputModes::OPOST);
        tcsetattr(&slave, OptionalActions::Now, &modes)?;
        copy_window_size(&terminal, &master);
        // A program that never lets us sleep is read in large chunks only if a read need not block.
        rustix::fs::fcntl_setfl(&master, rustix::fs::fcntl_getfl(&master)? | OFlags::NONBLOCK)?;
        Ok(Self { master, slave })
    }
}

/// Gives a pseudo-terminal the window size of the user's terminal.
pub fn copy_window_size(from: impl AsFd, to: impl AsFd) -> WindowSize {
    let Ok(wanted) = tcgetwinsize(from) else { return WindowSize::Same };
    let sizes_equal = tcgetwinsize(&to).is_ok_and(|now| {
        (now.ws_row, now.ws_col, now.ws_xpixel, now.ws_ypixel)
            == (wanted.ws_row, wanted.ws_col, wanted.ws_xpixel, wanted.ws_ypixel)
    });
    if sizes_equal || tcsetwinsize(to, wanted).is_err() { WindowSize::Same } else { WindowSize::Changed }
}

#[cfg(test)]
mod tests {
    use super::*;
    use rustix::termios::{Winsize, isatty};

    #[test]
    fn looks_like_the_terminal_it_stands_for() {
        let outer = Pty::like(rustix::fs::open("/dev/null", OFlags::RDWR, Mode::empty()).unwrap()).unwrap();
        let size = Winsize { ws_row: 31, ws_col: 93, ws_xpixel: 0, ws_ypixel: 0 };
        tcsetwinsize(&outer.master, size).unwrap();
        let inner = Pty::like(&outer.slave).unwrap();
        assert!(isatty(&inner.slave));
        assert_eq!(tcgetwinsize(&inner.slave).unwrap().ws_col, 93);
        assert_eq!(copy_window_size(&outer.slave, &inner.master), WindowSize::Same);
        tcsetwinsize(&outer.master, Winsize { ws_col: 40, ..size }).unwrap();
        assert_eq!(copy_window_size(&outer.slave, &inner.master), WindowSize::Changed);
        assert_eq!(tcgetwinsize(&inner.slave).unwrap().ws_col, 40);
    }

    #[test]
    fn hands_bytes_through_unchanged() {
        let pty = Pty::like(rustix::fs::open("/dev/null", OFlags::RDWR, Mode::empty()).unwrap()).unwrap();
        rustix::io::write(&pty.slave, b"a\nb\tc\r\n").unwrap();
        drop(pty.slave);
        let mut seen = Vec::new();
        let mut buffer = [0; 64];
        // The master reports the end of the slave as an input/output error, after everything was read.
        loop {
            match rustix::io::read(&pty.master, &mut buffer) {
                Ok(count) => seen.extend_from_slice(&buffer[..count]),
                Err(rustix::io::Errno::AGAIN) => std::thread::yield_now(),
                Err(error) => break assert_eq!(error, rustix::io::Errno::IO),
            }
        }
        assert_eq!(seen, b"a\nb\tc\r\n");
    }
}
