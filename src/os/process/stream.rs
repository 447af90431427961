//! Carries a program's output to where ours goes, byte for byte and as soon as it is there.

use std::io;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::mpsc::sync_channel;
use std::sync::{Arc, Mutex, PoisonError};
use std::thread;
use std::time::{Duration, Instant};

use rustix::event::{EventfdFlags, PollFd, PollFlags, Timespec, eventfd, poll};
use rustix::fs::{OFlags, SeekFrom, fcntl_getfl, fcntl_setfl, fstat, seek};
use rustix::io::Errno;
use rustix::pipe::{PipeFlags, fcntl_setpipe_size, pipe_with};
use rustix::termios::isatty;

use super::Output;
use crate::os::pty::{InputModes, Pty};

/// As much as is read at once, and as a pipe holds.
const CHUNK: usize = 256 * 1024;
/// As much as is read from a terminal at once.
const TERMINAL_CHUNK: usize = 32 * 1024;
/// Chunks of a terminal that are under way at once.
const QUEUE: usize = 4;
/// After the program's end, a daemon that holds our pipe must be silent for so long that we stop listening.
const QUIET: Duration = Duration::from_millis(50);
/// After the program's end, we listen no longer than this to a daemon that goes on printing.
const LINGER: Duration = Duration::from_millis(200);

/// One of the two output streams.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Stream {
    Stdout,
    Stderr,
}

impl Stream {
    /// Returns our own descriptor of this stream.
    pub(crate) fn ours(self) -> BorrowedFd<'static> {
        match self {
            Stream::Stdout => rustix::stdio::stdout(),
            Stream::Stderr => rustix::stdio::stderr(),
        }
    }
}

/// The way from a program to one of our streams.
#[derive(Debug)]
pub(super) struct Channel {
    /// Our end; the program's writes fail when its last owner lets it go.
    pub(super) source: Arc<OwnedFd>,
    pub(super) carries: Stream,
    written_through: bool,
    /// What the program has made of its terminal; `None` for a pipe.
    modes: Option<InputModes>,
}

/// The channels of one program, and the ends that it gets.
#[derive(Debug)]
pub(super) struct Connection {
    pub(super) channels: Vec<Channel>,
    pub(super) stdout: OwnedFd,
    pub(super) stderr: OwnedFd,
}

impl Connection {
    /// Gives a program a terminal exactly where we have one, and a pipe elsewhere.
    ///
    /// Two streams that lead to the same place share one channel, so that the order of what is written stays.
    pub(super) fn like_ours() -> io::Result<Self> {
        let (first, stdout) = Channel::like_ours(Stream::Stdout)?;
        if lead_to_same_place(Stream::Stdout.ours(), Stream::Stderr.ours()) {
            let stderr = stdout.try_clone()?;
            return Ok(Self { channels: vec![first], stdout, stderr });
        }
        let (second, stderr) = Channel::like_ours(Stream::Stderr)?;
        Ok(Self { channels: vec![first, second], stdout, stderr })
    }

    /// Gives a program two pipes whose content goes nowhere but to the [`Output`].
    pub(super) fn captured() -> io::Result<Self> {
        let (first, stdout) = Channel::pipe(Stream::Stdout)?;
        let (second, stderr) = Channel::pipe(Stream::Stderr)?;
        Ok(Self { channels: vec![first, second], stdout, stderr })
    }
}

impl Channel {
    pub(super) fn is_terminal(&self) -> bool {
        self.modes.is_some()
    }

    /// Gives the user's terminal the modes that the program has set on its own.
    fn follow_modes(&mut self) {
        if let Some(modes) = &mut self.modes {
            modes.follow(&*self.source, self.carries.ours());
        }
    }

    fn like_ours(stream: Stream) -> io::Result<(Self, OwnedFd)> {
        if !isatty(stream.ours()) {
            let (channel, end) = Self::pipe(stream)?;
            return Ok((Self { written_through: true, ..channel }, end));
        }
        let Pty { master, slave } = Pty::like(stream.ours())?;
        let modes = Some(InputModes::found_on(&master));
        let channel = Self { source: Arc::new(master), carries: stream, written_through: true, modes };
        Ok((channel, slave))
    }

    fn pipe(stream: Stream) -> io::Result<(Self, OwnedFd)> {
        let (source, end) = pipe_with(PipeFlags::CLOEXEC)?;
        // The program's end is another open file, which stays blocking.
        fcntl_setfl(&source, fcntl_getfl(&source)? | OFlags::NONBLOCK)?;
        // Fails when this user has many pipes already; the usual size only costs speed.
        let _ = fcntl_setpipe_size(&source, CHUNK);
        Ok((Self { source: Arc::new(source), carries: stream, written_through: false, modes: None }, end))
    }
}

/// Says whether two descriptors are copies of one open file (`2>&1`), as far as can be seen from outside.
fn lead_to_same_place(one: BorrowedFd<'_>, other: BorrowedFd<'_>) -> bool {
    let place = |it: BorrowedFd<'_>| {
        let metadata = fstat(it)?;
        // Two openings of one file have places of their own to write at, so they are not the same.
        let offset = seek(it, SeekFrom::Current(0)).ok();
        Ok::<_, Errno>((metadata.st_dev, metadata.st_ino, metadata.st_rdev, offset))
    };
    // The flags need not be equal: a terminal is often open for reading as well on one of the two.
    matches!((place(one), place(other)), (Ok(one), Ok(other)) if one == other)
}

/// Tells the copying threads that the program has ended.
#[derive(Debug)]
pub(super) struct Gate {
    opened: AtomicBool,
    wake: OwnedFd,
}

impl Gate {
    pub(super) fn new() -> io::Result<Self> {
        Ok(Self { opened: AtomicBool::new(false), wake: eventfd(0, EventfdFlags::CLOEXEC | EventfdFlags::NONBLOCK)? })
    }

    pub(super) fn open(&self) {
        self.opened.store(true, Ordering::SeqCst);
        // A counter that was never added to cannot overflow.
        let _ = rustix::io::write(&self.wake, &1_u64.to_ne_bytes());
    }

    fn is_open(&self) -> bool {
        self.opened.load(Ordering::SeqCst)
    }
}

/// What is still expected of a channel after the program's end.
struct Rest {
    deadline: Instant,
    /// Bytes that were on their way when the program ended: these are carried however long our reader takes.
    owed: u64,
}

/// Carries everything that comes through `channel`; returns why that ended early, if it did.
///
/// `busy` counts the chunks that were read and are not yet written.
pub(super) fn carry(
    channel: Channel,
    output: &Mutex<&mut dyn Output>,
    gate: &Gate,
    busy: &AtomicUsize,
) -> Option<io::Error> {
    let Channel { carries, written_through, .. } = channel;
    let deliver = move |bytes: &[u8]| {
        if written_through {
            write_all(carries.ours(), bytes)?;
        }
        let mut output = output.lock().unwrap_or_else(PoisonError::into_inner);
        match carries {
            Stream::Stdout => output.stdout(bytes),
            Stream::Stderr => output.stderr(bytes),
        }
        busy.fetch_sub(1, Ordering::SeqCst);
        Ok(())
    };
    let carried = if channel.is_terminal() {
        carry_with_two_threads(channel, gate, busy, deliver)
    } else {
        let mut buffer = vec![0; CHUNK];
        pump(channel, gate, busy, &mut buffer, |buffer, count| deliver(&buffer[..count]))
    };
    match carried {
        // A closed reader is no error of ours: the program learns it by SIGPIPE, as without us.
        Ok(()) | Err(Errno::PIPE) => None,
        Err(error) => Some(error.into()),
    }
}

/// Reads and writes at the same time: both take long on a terminal, where the kernel looks at every byte.
fn carry_with_two_threads(
    channel: Channel,
    gate: &Gate,
    busy: &AtomicUsize,
    deliver: impl Fn(&[u8]) -> Result<(), Errno> + Send,
) -> Result<(), Errno> {
    let (full, to_write) = sync_channel::<(Vec<u8>, usize)>(QUEUE);
    let (written, empty) = sync_channel::<Vec<u8>>(QUEUE);
    for _ in 1..QUEUE {
        // There is room for all of them.
        let _ = written.try_send(vec![0; TERMINAL_CHUNK]);
    }
    thread::scope(|scope| {
        let write = move || {
            for (buffer, count) in to_write {
                deliver(&buffer[..count])?;
                // Fails when the reading side has come to its end.
                let _ = written.send(buffer);
            }
            Ok(())
        };
        let writer = thread::Builder::new().spawn_scoped(scope, write).map_err(|_| Errno::AGAIN)?;
        let read = pump(channel, gate, busy, &mut vec![0; TERMINAL_CHUNK], |buffer, count| {
            // The writer has given up, for a reason that it tells below.
            let gone = Errno::PIPE;
            full.send((std::mem::take(buffer), count)).map_err(|_| gone)?;
            *buffer = empty.recv().map_err(|_| gone)?;
            Ok(())
        });
        drop((full, empty));
        let written = writer.join().unwrap_or_else(|panic| std::panic::resume_unwind(panic));
        written.and(read)
    })
}

/// Reads `channel` to its end, and lets go of it; gives each chunk, with its length, to `hand_on`.
fn pump(
    mut channel: Channel,
    gate: &Gate,
    busy: &AtomicUsize,
    buffer: &mut Vec<u8>,
    mut hand_on: impl FnMut(&mut Vec<u8>, usize) -> Result<(), Errno>,
) -> Result<(), Errno> {
    let mut rest: Option<Rest> = None;
    loop {
        if rest.is_none() && gate.is_open() {
            let owed = rustix::io::ioctl_fionread(&*channel.source).unwrap_or(0);
            rest = Some(Rest { deadline: Instant::now() + LINGER, owed });
        }
        let count = match read_some(&channel, buffer) {
            Ok(0) => return Ok(()),
            Ok(count) => count,
            Err(Errno::AGAIN) => {
                let more = wait(&channel, gate, rest.as_ref());
                channel.follow_modes();
                if more {
                    continue;
                }
                hand_over(&channel);
                return Ok(());
            }
            // A terminal whose other end was closed says so by this error.
            Err(Errno::IO) if channel.is_terminal() => {
                channel.follow_modes();
                return Ok(());
            }
            Err(error) => return Err(error),
        };
        busy.fetch_add(1, Ordering::SeqCst);
        hand_on(buffer, count)?;
        if let Some(rest) = &mut rest {
            rest.owed = rest.owed.saturating_sub(count as u64);
            if rest.owed == 0 && Instant::now() >= rest.deadline {
                hand_over(&channel);
                return Ok(());
            }
        }
    }
}

/// Leaves a channel that somebody still holds (a background job, a daemon that the build started) to a `cat` of its own,
/// so that what is printed later arrives where it would without us, and nobody dies of a closed pipe.
fn hand_over(channel: &Channel) {
    if !channel.written_through {
        return;
    }
    let carry_on = || -> io::Result<()> {
        fcntl_setfl(&*channel.source, fcntl_getfl(&*channel.source)? - OFlags::NONBLOCK)?;
        let program = ["/bin/cat", "/usr/bin/cat"].into_iter().find(|path| std::path::Path::new(path).exists());
        let program = program.ok_or(io::ErrorKind::NotFound)?;
        std::process::Command::new(program)
            .stdin(channel.source.try_clone()?)
            .stdout(channel.carries.ours().try_clone_to_owned()?)
            .stderr(std::process::Stdio::null())
            .current_dir("/")
            .spawn()?;
        Ok(())
    };
    // Without a `cat` the job learns by SIGPIPE that nobody reads any more.
    let _ = carry_on();
}

/// Reads what is there; from a terminal, which gives 4 KiB at a time, until nothing is left or the buffer is full.
fn read_some(channel: &Channel, buffer: &mut [u8]) -> Result<usize, Errno> {
    let mut filled = 0;
    loop {
        match rustix::io::read(&*channel.source, &mut buffer[filled..]) {
            Err(Errno::INTR) => {}
            Ok(0) => return Ok(filled),
            Ok(count) if channel.is_terminal() && filled + count < buffer.len() => filled += count,
            Ok(count) => return Ok(filled + count),
            // The error comes again at the next call.
            Err(_) if filled > 0 => return Ok(filled),
            Err(error) => return Err(error),
        }
    }
}

/// Waits until there is something to read or the program has ended; returns whether to go on reading.
fn wait(channel: &Channel, gate: &Gate, rest: Option<&Rest>) -> bool {
    match rest {
        None => {
            let source = PollFd::from_borrowed_fd(channel.source.as_fd(), PollFlags::IN);
            let wake = PollFd::from_borrowed_fd(gate.wake.as_fd(), PollFlags::IN);
            matches!(poll(&mut [source, wake], None), Ok(_) | Err(Errno::INTR))
        }
        Some(rest) => {
            let left = rest.deadline.saturating_duration_since(Instant::now()).min(QUIET);
            let left = Timespec { tv_sec: 0, tv_nsec: left.subsec_nanos().into() };
            let mut source = [PollFd::from_borrowed_fd(channel.source.as_fd(), PollFlags::IN)];
            match poll(&mut source, Some(&left)) {
                Ok(ready) => ready > 0,
                Err(error) => error == Errno::INTR,
            }
        }
    }
}

/// Writes all of `bytes`; the descriptor may have been made non-blocking by somebody, and stays as it is.
fn write_all(fd: BorrowedFd<'_>, mut bytes: &[u8]) -> Result<(), Errno> {
    while !bytes.is_empty() {
        match rustix::io::write(fd, bytes) {
            Ok(count) => bytes = &bytes[count..],
            Err(Errno::INTR) => {}
            Err(Errno::AGAIN) => match poll(&mut [PollFd::from_borrowed_fd(fd, PollFlags::OUT)], None) {
                Ok(_) | Err(Errno::INTR) => {}
                Err(error) => return Err(error),
            },
            Err(error) => return Err(error),
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn knows_copies_of_one_descriptor() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("log");
        let file = std::fs::File::create(&path).unwrap();
        let copy = file.try_clone().unwrap();
        let again = std::fs::File::create(&path).unwrap();
        let (_end, pipe) = io::pipe().unwrap();
        assert!(lead_to_same_place(file.as_fd(), copy.as_fd()));
        assert!(!lead_to_same_place(file.as_fd(), pipe.as_fd()));
        io::Write::write_all(&mut &file, b"x").unwrap();
        assert!(lead_to_same_place(file.as_fd(), copy.as_fd()));
        assert!(!lead_to_same_place(file.as_fd(), again.as_fd()));
    }

    #[test]
    fn waits_for_a_slow_reader_of_a_non_blocking_descriptor() {
        let (mut reader, writer) = io::pipe().unwrap();
        fcntl_setfl(&writer, fcntl_getfl(&writer).unwrap() | OFlags::NONBLOCK).unwrap();
        let bytes = vec![7; 1 << 20];
        std::thread::scope(|scope| {
            let writing = scope.spawn(|| {
                let written = write_all(writer.as_fd(), &bytes);
                drop(writer);
                written
            });
            let mut seen = Vec::new();
            io::Read::read_to_end(&mut reader, &mut seen).unwrap();
            assert_eq!(writing.join().unwrap(), Ok(()));
            assert!(seen == bytes);
        });
    }
}
