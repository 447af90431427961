//! Whether a command can be run a second time with the same standard input.

use std::io;
use std::os::fd::AsFd;

use rustix::fs::{FileType, SeekFrom, fstat, seek};
use rustix::termios::isatty;

/// A standard input that a second run of a command reads as the first did.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ReplayableStdin {
    /// Where a regular file stood before the first run; terminals and `/dev/null` need nothing.
    offset: Option<u64>,
}

impl ReplayableStdin {
    /// Remembers where standard input stands, or returns `None` when it can be read only once.
    pub fn remember() -> Option<Self> {
        Self::of(rustix::stdio::stdin())
    }

    /// Puts standard input back to where it was remembered.
    pub fn rewind(&self) -> io::Result<()> {
        self.rewind_file(rustix::stdio::stdin())
    }

    fn of(input: impl AsFd) -> Option<Self> {
        if isatty(&input) {
            return Some(Self { offset: None });
        }
        let metadata = fstat(&input).ok()?;
        match FileType::from_raw_mode(metadata.st_mode) {
            FileType::RegularFile => Some(Self { offset: Some(seek(&input, SeekFrom::Current(0)).ok()?) }),
            FileType::CharacterDevice if metadata.st_rdev == rustix::fs::makedev(1, 3) => Some(Self { offset: None }),
            _ => None,
        }
    }

    fn rewind_file(self, input: impl AsFd) -> io::Result<()> {
        if let Some(offset) = self.offset {
            seek(input, SeekFrom::Start(offset))?;
        }
        Ok(())
    }
}

/// Says whether standard input is a terminal, `/dev/null` or a regular file.
pub fn stdin_can_be_read_again() -> bool {
    ReplayableStdin::remember().is_some()
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::io::{Read, Seek, Write};

    #[test]
    fn a_file_goes_back_to_where_it_was() {
        let mut file = tempfile::tempfile().unwrap();
        file.write_all(b"header body").unwrap();
        file.seek(io::SeekFrom::Start(7)).unwrap();
        let replayable = ReplayableStdin::of(&file).unwrap();
        for _ in 0..2 {
            let mut text = String::new();
            file.read_to_string(&mut text).unwrap();
            assert_eq!(text, "body");
            replayable.rewind_file(&file).unwrap();
        }
    }

    #[test]
    fn only_what_does_not_run_dry() {
        let open = |path| std::fs::OpenOptions::new().read(true).write(true).open(path).unwrap();
        assert!(ReplayableStdin::of(open("/dev/null")).is_some());
        assert!(ReplayableStdin::of(open("/dev/zero")).is_none());
        let (pipe, _end) = io::pipe().unwrap();
        assert!(ReplayableStdin::of(pipe).is_none());
        let (socket, _end) = std::os::unix::net::UnixStream::pair().unwrap();
        assert!(ReplayableStdin::of(socket).is_none());
    }
}
