//! A machine that is looked at once: what was read is remembered for the next question.
//!
//! An audit puts the questions of many recipes, and each searches the same folders for build trees. It must never
//! serve across a change: whoever writes, or runs the user's command, asks the machine itself again. Findings that
//! comments of the project ignore are told: an audit counts them, and may be told not to heed comments.

use std::cell::RefCell;
use std::collections::BTreeMap;
use std::ffi::OsString;
use std::io;
use std::path::{Path, PathBuf};

use super::{Comments, FileKind, GitState, Host, Memo, Metadata, OnlineError, Tally};
use crate::os::AbsPath;
use crate::os::git::Unreadable;
use crate::os::ports::PortState;

/// Bytes of files that are kept; what is beyond is read again.
const MOST_BYTES: usize = 64 << 20;

/// A host and what was read of it.
pub struct Remembering<'h> {
    host: &'h dyn Host,
    git: RememberedGit<'h>,
    files: Memory<(PathBuf, u64), Vec<u8>>,
    bytes: RefCell<usize>,
    inspected: Memory<PathBuf, Metadata>,
    followed: Memory<PathBuf, Metadata>,
    lists: Memory<(PathBuf, usize), Vec<OsString>>,
    links: Memory<PathBuf, PathBuf>,
    real: Memory<PathBuf, PathBuf>,
    memo: Memo,
}

struct RememberedGit<'h> {
    git: &'h dyn GitState,
    tracked: RefCell<BTreeMap<AbsPath, bool>>,
}

type Memory<K, V> = RefCell<BTreeMap<K, Seen<V>>>;

/// An answer of the file system; errors are told again by their kind and number.
#[derive(Clone)]
enum Seen<V> {
    There(V),
    Failed(io::ErrorKind, Option<i32>),
}

impl<V: Clone> Seen<V> {
    fn of(result: &io::Result<V>) -> Self {
        match result {
            Ok(value) => Self::There(value.clone()),
            Err(error) => Self::Failed(error.kind(), error.raw_os_error()),
        }
    }

    fn again(&self) -> io::Result<V> {
        match self {
            Self::There(value) => Ok(value.clone()),
            Self::Failed(_, Some(number)) => Err(io::Error::from_raw_os_error(*number)),
            Self::Failed(kind, None) => Err((*kind).into()),
        }
    }
}

fn remember<K: Ord, V: Clone>(memory: &Memory<K, V>, key: K, look: impl FnOnce() -> io::Result<V>) -> io::Result<V> {
    if let Some(seen) = memory.borrow().get(&key) {
        return seen.again();
    }
    let result = look();
    memory.borrow_mut().insert(key, Seen::of(&result));
    result
}

impl<'h> Remembering<'h> {
    pub fn new(host: &'h dyn Host) -> Self {
        Self {
            host,
            git: RememberedGit { git: host.git(), tracked: RefCell::default() },
            files: RefCell::default(),
            bytes: RefCell::default(),
            inspected: RefCell::default(),
            followed: RefCell::default(),
            lists: RefCell::default(),
            links: RefCell::default(),
            real: RefCell::default(),
            memo: Memo::default(),
        }
    }

    fn file(&self, path: &Path, limit: u64, look: impl FnOnce() -> io::Result<Vec<u8>>) -> io::Result<Vec<u8>> {
        let key = (path.to_owned(), limit);
        if let Some(seen) = self.files.borrow().get(&key) {
            return seen.again();
        }
        let result = look();
        let len = result.as_ref().map_or(0, Vec::len);
        let mut bytes = self.bytes.borrow_mut();
        if *bytes + len <= MOST_BYTES {
            *bytes += len;
            self.files.borrow_mut().insert(key, Seen::of(&result));
        }
        result
    }
}

/// Reading at most so much, and reading the first so much, are different questions about one number.
const HEAD: u64 = 1 << 63;

impl Host for Remembering<'_> {
    fn read(&self, path: &Path, limit: u64) -> io::Result<Vec<u8>> {
        self.file(path, limit & !HEAD, || self.host.read(path, limit))
    }

    fn head(&self, path: &Path, len: u64) -> io::Result<Vec<u8>> {
        self.file(path, len | HEAD, || self.host.head(path, len))
    }

    fn read_at(&self, path: &Path, offset: u64, len: u64) -> io::Result<Vec<u8>> {
        self.host.read_at(path, offset, len)
    }

    fn read_up_to(&self, path: &Path, offset: u64, len: u64) -> io::Result<Vec<u8>> {
        self.host.read_up_to(path, offset, len)
    }

    fn tally(&self, path: &Path, limit: u64) -> Tally {
        self.host.tally(path, limit)
    }

    fn port(&self, port: u16) -> PortState {
        self.host.port(port)
    }

    fn npu_smi_info(&self) -> Option<String> {
        self.host.npu_smi_info()
    }

    fn http_status(&self, url: &str) -> Result<u16, OnlineError> {
        self.host.http_status(url)
    }

    fn inspect(&self, path: &Path) -> io::Result<Metadata> {
        remember(&self.inspected, path.to_owned(), || self.host.inspect(path))
    }

    fn follow(&self, path: &Path) -> io::Result<Metadata> {
        remember(&self.followed, path.to_owned(), || self.host.follow(path))
    }

    fn list(&self, path: &Path, limit: usize) -> io::Result<Vec<OsString>> {
        remember(&self.lists, (path.to_owned(), limit), || self.host.list(path, limit))
    }

    fn entries(&self, path: &Path, limit: usize) -> io::Result<Vec<(OsString, FileKind)>> {
        self.host.entries(path, limit)
    }

    fn memo(&self) -> Option<&Memo> {
        Some(&self.memo)
    }

    fn comments(&self) -> Comments {
        Comments::Told
    }

    fn link(&self, path: &Path) -> io::Result<PathBuf> {
        remember(&self.links, path.to_owned(), || self.host.link(path))
    }

    fn real(&self, path: &Path) -> io::Result<PathBuf> {
        remember(&self.real, path.to_owned(), || self.host.real(path))
    }

    fn env(&self, name: &str) -> Option<OsString> {
        self.host.env(name)
    }

    fn env_names(&self) -> Vec<OsString> {
        self.host.env_names()
    }

    fn project(&self) -> &AbsPath {
        self.host.project()
    }

    fn home(&self) -> Option<&AbsPath> {
        self.host.home()
    }

    fn user(&self) -> u32 {
        self.host.user()
    }

    fn git(&self) -> &dyn GitState {
        &self.git
    }
}

impl GitState for RememberedGit<'_> {
    fn top_level(&self) -> Option<&AbsPath> {
        self.git.top_level()
    }

    fn tracks(&self, path: &AbsPath) -> bool {
        if let Some(tracked) = self.tracked.borrow().get(path) {
            return *tracked;
        }
        let tracked = self.git.tracks(path);
        self.tracked.borrow_mut().insert(path.clone(), tracked);
        tracked
    }

    fn unreadable(&self, path: &AbsPath) -> Option<Unreadable> {
        self.git.unreadable(path)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::evidence::LocalHost;
    use crate::evidence::questions::testing::NoGit;

    #[test]
    fn what_was_seen_once_is_told_again_as_it_was() {
        let folder = tempfile::tempdir().unwrap();
        let root = AbsPath::new(folder.path().canonicalize().unwrap()).unwrap();
        let file = root.resolve("file");
        std::fs::write(file.as_path(), "one two").unwrap();
        let local = LocalHost::new(root.clone(), [], Box::new(NoGit));
        let host = Remembering::new(&local);
        let tell = || {
            let kind = |result: io::Result<Vec<u8>>| result.map_err(|error| error.kind());
            (
                kind(host.read(file.as_path(), 100)),
                kind(host.read(file.as_path(), 3)),
                kind(host.head(file.as_path(), 3)),
                kind(host.read(root.resolve("none").as_path(), 3)),
                host.list(root.as_path(), 10).unwrap(),
                host.follow(file.as_path()).unwrap().len,
                host.inspect(root.resolve("none").as_path()).unwrap_err().kind(),
            )
        };
        let first = tell();
        assert_eq!(first.0.as_deref(), Ok(&b"one two"[..]));
        assert_eq!(first.1, Err(io::ErrorKind::FileTooLarge));
        assert_eq!(first.2.as_deref(), Ok(&b"one"[..]));
        std::fs::write(file.as_path(), "three").unwrap();
        std::fs::write(root.resolve("none").as_path(), "x").unwrap();
        assert_eq!(tell(), first);
    }
}
