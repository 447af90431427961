//! Pseudo-terminals for a program's output.
//!
//! Only output goes through them. Standard input and the controlling terminal stay the user's, so Ctrl-C, Ctrl-Z,
//! prompts and `/dev/tty` work as without us. The user's terminal gets a mode only because the program asked for it on
//! its own, so we leave nothing behind that the program would not.

use std::io;
use std::os::fd::{AsFd, OwnedFd};

use rustix::fs::{Mode, OFlags};
use rustix::pty::{OpenptFlags, grantpt, openpt, ptsname, unlockpt};
use rustix::termios::{
    InputModes as InputFlags, LocalModes, OptionalActions, OutputModes, SpecialCodeIndex, Termios, tcgetattr,
    tcgetwinsize, tcsetattr, tcsetwinsize,
};

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

/// Carries the input modes that a program sets on its pseudo-terminal over to the user's terminal.
///
/// Programs with a full screen (curses: `ccmake`, `make menuconfig`, nano) switch line editing and echo off on the
/// terminal that they write to, while keys come from the user's.
#[derive(Debug)]
pub struct InputModes {
    last: Option<Modes>,
}

type Modes = (LocalModes, InputFlags, u8, u8);

impl InputModes {
    /// Takes the present modes of a pseudo-terminal as those that the program found.
    pub fn found_on(master: impl AsFd) -> Self {
        Self { last: tcgetattr(master).ok().map(|modes| input_modes(&modes)) }
    }

    /// Gives `terminal` what the program has changed since the last call, if anything.
    pub fn follow(&mut self, master: impl AsFd, terminal: impl AsFd) {
        let Ok(wanted) = tcgetattr(master) else { return };
        let now = input_modes(&wanted);
        if self.last.is_none_or(|last| last == now) {
            return;
        }
        self.last = Some(now);
        let Ok(mut modes) = tcgetattr(&terminal) else { return };
        modes.local_modes = wanted.local_modes;
        modes.input_modes = wanted.input_modes;
        for code in [SpecialCodeIndex::VMIN, SpecialCodeIndex::VTIME] {
            modes.special_codes[code] = wanted.special_codes[code];
        }
        // A terminal that has gone has no modes to keep.
        let _ = tcsetattr(terminal, OptionalActions::Now, &modes);
    }
}

fn input_modes(modes: &Termios) -> Modes {
    let code = |code| modes.special_codes[code];
    (modes.local_modes, modes.input_modes, code(SpecialCodeIndex::VMIN), code(SpecialCodeIndex::VTIME))
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
    fn a_mode_goes_over_only_when_the_program_changed_it() {
        let outer = Pty::like(rustix::fs::open("/dev/null", OFlags::RDWR, Mode::empty()).unwrap()).unwrap();
        let inner = Pty::like(&outer.slave).unwrap();
        let mut modes = InputModes::found_on(&inner.master);
        let set_echo = |fd: &OwnedFd, on: bool| {
            let mut modes = tcgetattr(fd).unwrap();
            modes.local_modes.set(LocalModes::ECHO, on);
            tcsetattr(fd, OptionalActions::Now, &modes).unwrap();
        };
        let echo = || tcgetattr(&outer.slave).unwrap().local_modes.contains(LocalModes::ECHO);
        // The user's `stty` on the terminal itself stands.
        set_echo(&outer.slave, false);
        modes.follow(&inner.master, &outer.slave);
        assert!(!echo());
        set_echo(&outer.slave, true);
        set_echo(&inner.slave, false);
        modes.follow(&inner.master, &outer.slave);
        assert!(!echo());
        // Set back just before the end, without a word.
        set_echo(&inner.slave, true);
        drop(inner.slave);
        modes.follow(&inner.master, &outer.slave);
        assert!(echo());
        let processed = tcgetattr(&outer.slave).unwrap().output_modes;
        assert_eq!(processed, tcgetattr(&outer.master).unwrap().output_modes);
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
