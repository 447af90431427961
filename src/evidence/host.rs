//! The machine, read-only.

use std::cell::OnceCell;
use std::collections::BTreeMap;
use std::ffi::{OsStr, OsString};
use std::io::{self, Read, Seek};
use std::os::unix::fs::{FileTypeExt, MetadataExt};
use std::path::{Path, PathBuf};
use std::time::SystemTime;

use super::Memo;
use super::npu_smi;
use crate::os::AbsPath;
use crate::os::git::Unreadable;
use crate::os::ports::{self, PortState};
pub use crate::os::survey::Tally;
use crate::os::survey::{self, Sizes};
use crate::os::web::{self, WebError};

/// Room for all that is read at once, and a little more, so that the second read shows the end. On the word of a file's
/// size alone not more than 1 MiB is set aside.
fn room(size: u64, len: u64) -> usize {
    usize::try_from(size.min(len).min(1 << 20) + 64).unwrap_or_default()
}

/// What a question may read of a machine.
///
/// There is no way to write through it, and none to run a project's program.
pub trait Host {
    /// Reads at most `limit` bytes of a regular file; a longer file is an error (`FileTooLarge`).
    fn read(&self, path: &Path, limit: u64) -> io::Result<Vec<u8>>;
    /// Reads the first bytes of a regular file, at most `len`.
    fn head(&self, path: &Path, len: u64) -> io::Result<Vec<u8>>;
    /// Reads exactly `len` bytes of a regular file from `offset` on; fewer are an error (`UnexpectedEof`).
    fn read_at(&self, path: &Path, offset: u64, len: u64) -> io::Result<Vec<u8>>;
    /// Reads at most `len` bytes of a regular file from `offset` on; fewer at its end.
    fn read_up_to(&self, path: &Path, offset: u64, len: u64) -> io::Result<Vec<u8>>;
    /// Describes what `path` itself is, without following a link.
    fn inspect(&self, path: &Path) -> io::Result<Metadata>;
    /// Describes what `path` leads to.
    fn follow(&self, path: &Path) -> io::Result<Metadata>;
    /// Lists the names in a folder, sorted; at most `limit`, more is an error.
    fn list(&self, path: &Path, limit: usize) -> io::Result<Vec<OsString>>;
    /// Lists names and kinds in a folder, sorted by name; at most `limit`, more is an error. Files are not looked at
    /// where their folder tells what they are.
    fn entries(&self, path: &Path, limit: usize) -> io::Result<Vec<(OsString, FileKind)>>;
    /// Counts files and bytes below a folder, without following links; at most `limit` entries.
    fn tally(&self, path: &Path, limit: u64) -> Tally;
    /// Returns what a link holds.
    fn link(&self, path: &Path) -> io::Result<PathBuf>;
    /// Returns `path` with every link followed.
    fn real(&self, path: &Path) -> io::Result<PathBuf>;
    /// Returns an environment variable as the user's command would see it.
    fn env(&self, name: &str) -> Option<OsString>;
    /// Lists the names of all environment variables, sorted.
    fn env_names(&self) -> Vec<OsString>;
    /// The folder that the user works in, or `-C DIR`.
    fn project(&self) -> &AbsPath;
    /// The user's home, where it exists.
    fn home(&self) -> Option<&AbsPath>;
    /// The effective user id of this process.
    fn user(&self) -> u32;
    /// Says whether a TCP port can be listened on, by binding it for a moment.
    fn port(&self, port: u16) -> PortState;
    /// What git says about the project folder.
    fn git(&self) -> &dyn GitState;
    /// Returns what `npu-smi info` prints on this machine, where programs of the system may be asked.
    fn npu_smi_info(&self) -> Option<String> {
        None
    }
    /// Returns the status that a web address answers with, where the user allows to ask. Nothing that identifies the
    /// user is sent, and no content is kept.
    fn http_status(&self, _url: &str) -> Result<u16, OnlineError> {
        Err(OnlineError::NotAllowed)
    }
    /// What was worked out for the questions before; none where each is to look anew.
    fn memo(&self) -> Option<&Memo> {
        None
    }
    /// Who goes by `# fix: ignore[…]`.
    fn comments(&self) -> Comments {
        Comments::Heeded
    }
}

/// What a question does with findings that a comment of the project ignores.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Comments {
    /// Leaves them out.
    Heeded,
    /// Tells them: the caller counts them, or does not heed comments at all.
    Told,
}

/// Why a web address was not asked, or did not answer.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum OnlineError {
    /// Only `--online` allows to ask.
    NotAllowed,
    /// It leads to this other host, which is not asked.
    Moved(String),
    Failed(String),
}

/// Whether the network may be asked.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Network {
    Allowed,
    NotAllowed,
}

/// Whether programs of the system may be asked about it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Programs {
    Allowed,
    NotAllowed,
}

/// What git knows, asked without running git.
pub trait GitState {
    /// The work tree's top level, or `None` outside git.
    fn top_level(&self) -> Option<&AbsPath>;
    /// Says whether `path` is tracked, or a folder that holds a tracked file.
    /// An index that cannot be read counts as tracking everything.
    fn tracks(&self, path: &AbsPath) -> bool;
    /// Returns why it cannot be told whether `path` is tracked, where it counts as tracked for that reason.
    fn unreadable(&self, _path: &AbsPath) -> Option<Unreadable> {
        None
    }
}

/// The kind of a directory entry.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum FileKind {
    File,
    Folder,
    Link,
    Other,
}

/// What the file system says about an entry.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Metadata {
    pub kind: FileKind,
    /// Size in bytes.
    pub len: u64,
    /// Permission bits, `0o7777` at most.
    pub mode: u32,
    pub user: u32,
    pub group: u32,
    pub device: u64,
    pub inode: u64,
    pub modified: SystemTime,
}

/// This machine, with the environment that the user's command gets.
pub struct LocalHost {
    project: AbsPath,
    home: Option<AbsPath>,
    env: BTreeMap<OsString, OsString>,
    git: Box<dyn GitState>,
    network: Network,
    programs: Programs,
    npu_smi: OnceCell<Option<String>>,
}

impl LocalHost {
    /// Takes the folder to work in and the environment; HOME counts only when it is an existing folder.
    pub fn new(project: AbsPath, env: impl IntoIterator<Item = (OsString, OsString)>, git: Box<dyn GitState>) -> Self {
        let env: BTreeMap<OsString, OsString> = env.into_iter().collect();
        let home =
            env.get(OsStr::new("HOME")).and_then(|home| AbsPath::new(home).ok()).filter(|home| home.as_path().is_dir());
        let (network, programs) = (Network::NotAllowed, Programs::NotAllowed);
        Self { project, home, env, git, network, programs, npu_smi: OnceCell::new() }
    }

    /// Allows to ask the network, or not.
    #[must_use]
    pub fn with_network(mut self, network: Network) -> Self {
        self.network = network;
        self
    }

    /// Allows to ask programs of the system, or not.
    #[must_use]
    pub fn with_programs(mut self, programs: Programs) -> Self {
        self.programs = programs;
        self
    }
}

impl LocalHost {
    /// A pipe or device could block for ever or never end: only regular files are evidence.
    fn open_regular(&self, path: &Path) -> io::Result<(std::fs::File, u64)> {
        let meta = self.follow(path)?;
        if meta.kind != FileKind::File {
            return Err(io::Error::new(io::ErrorKind::InvalidInput, "not a regular file"));
        }
        Ok((std::fs::File::open(path)?, meta.len))
    }
}

impl FileKind {
    fn of(kind: std::fs::FileType) -> Self {
        match kind {
            t if t.is_file() => Self::File,
            t if t.is_dir() => Self::Folder,
            t if t.is_symlink() => Self::Link,
            t => {
                debug_assert!(t.is_fifo() || t.is_socket() || t.is_block_device() || t.is_char_device());
                Self::Other
            }
        }
    }
}

impl From<&std::fs::Metadata> for Metadata {
    fn from(meta: &std::fs::Metadata) -> Self {
        Self {
            kind: FileKind::of(meta.file_type()),
            len: meta.len(),
            mode: meta.mode() & 0o7777,
            user: meta.uid(),
            group: meta.gid(),
            device: meta.dev(),
            inode: meta.ino(),
            modified: meta.modified().unwrap_or(SystemTime::UNIX_EPOCH),
        }
    }
}

impl Host for LocalHost {
    fn read(&self, path: &Path, limit: u64) -> io::Result<Vec<u8>> {
        let bytes = self.head(path, limit.saturating_add(1))?;
        if bytes.len() as u64 > limit {
            return Err(io::ErrorKind::FileTooLarge.into());
        }
        Ok(bytes)
    }

    fn head(&self, path: &Path, len: u64) -> io::Result<Vec<u8>> {
        let (file, size) = self.open_regular(path)?;
        let mut bytes = Vec::with_capacity(room(size, len));
        file.take(len).read_to_end(&mut bytes)?;
        Ok(bytes)
    }

    fn read_up_to(&self, path: &Path, offset: u64, len: u64) -> io::Result<Vec<u8>> {
        let (mut file, size) = self.open_regular(path)?;
        if offset > 0 {
            file.seek(io::SeekFrom::Start(offset))?;
        }
        let mut bytes = Vec::with_capacity(room(size.saturating_sub(offset), len));
        file.take(len).read_to_end(&mut bytes)?;
        Ok(bytes)
    }

    fn read_at(&self, path: &Path, offset: u64, len: u64) -> io::Result<Vec<u8>> {
        let (mut file, _) = self.open_regular(path)?;
        // Nothing is set aside for bytes that a file only claims to have.
        if offset.checked_add(len).is_none_or(|end| end > file.metadata().map_or(0, |meta| meta.len())) {
            return Err(io::ErrorKind::UnexpectedEof.into());
        }
        file.seek(io::SeekFrom::Start(offset))?;
        let mut bytes = vec![0; usize::try_from(len).map_err(|_| io::ErrorKind::FileTooLarge)?];
        file.read_exact(&mut bytes)?;
        Ok(bytes)
    }

    fn inspect(&self, path: &Path) -> io::Result<Metadata> {
        Ok((&std::fs::symlink_metadata(path)?).into())
    }

    fn follow(&self, path: &Path) -> io::Result<Metadata> {
        Ok((&std::fs::metadata(path)?).into())
    }

    fn list(&self, path: &Path, limit: usize) -> io::Result<Vec<OsString>> {
        let mut names = Vec::new();
        for entry in std::fs::read_dir(path)? {
            if names.len() == limit {
                return Err(io::ErrorKind::FileTooLarge.into());
            }
            names.push(entry?.file_name());
        }
        names.sort();
        Ok(names)
    }

    fn entries(&self, path: &Path, limit: usize) -> io::Result<Vec<(OsString, FileKind)>> {
        let mut entries = Vec::new();
        for entry in std::fs::read_dir(path)? {
            if entries.len() == limit {
                return Err(io::ErrorKind::FileTooLarge.into());
            }
            let entry = entry?;
            // What is gone by now was never there.
            let Ok(kind) = entry.file_type() else { continue };
            entries.push((entry.file_name(), FileKind::of(kind)));
        }
        entries.sort_by(|one, other| one.0.cmp(&other.0));
        Ok(entries)
    }

    fn tally(&self, path: &Path, limit: u64) -> Tally {
        survey::tally(path, Sizes::Add, limit)
    }

    fn link(&self, path: &Path) -> io::Result<PathBuf> {
        std::fs::read_link(path)
    }

    fn real(&self, path: &Path) -> io::Result<PathBuf> {
        std::fs::canonicalize(path)
    }

    fn env(&self, name: &str) -> Option<OsString> {
        self.env.get(OsStr::new(name)).cloned()
    }

    fn env_names(&self) -> Vec<OsString> {
        self.env.keys().cloned().collect()
    }

    fn project(&self) -> &AbsPath {
        &self.project
    }

    fn home(&self) -> Option<&AbsPath> {
        self.home.as_ref()
    }

    fn user(&self) -> u32 {
        rustix::process::geteuid().as_raw()
    }

    fn port(&self, port: u16) -> PortState {
        ports::port_state(port)
    }

    fn git(&self) -> &dyn GitState {
        self.git.as_ref()
    }

    fn npu_smi_info(&self) -> Option<String> {
        match self.programs {
            Programs::NotAllowed => None,
            Programs::Allowed => self.npu_smi.get_or_init(|| npu_smi::ask(self)).clone(),
        }
    }

    fn http_status(&self, url: &str) -> Result<u16, OnlineError> {
        match self.network {
            Network::NotAllowed => Err(OnlineError::NotAllowed),
            Network::Allowed => {
                let env = |name: &str| self.env(name).and_then(|value| value.into_string().ok());
                web::status(url, &env).map_err(|error| match error {
                    WebError::OtherHost(host) => OnlineError::Moved(host),
                    error @ (WebError::NoUrl | WebError::Redirects | WebError::Proxy(_) | WebError::Failed(_)) => {
                        OnlineError::Failed(error.to_string())
                    }
                })
            }
        }
    }
}
