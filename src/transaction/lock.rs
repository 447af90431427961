//! One lock a touched root, so that two repairs never work on the same files.
//!
//! The lock files lie in the state folder. A root is locked exclusively and every folder above it shared:
//! a repair of `/p` and one of `/p/sub` exclude each other, two of siblings do not. Nobody waits.

use std::collections::BTreeMap;
use std::fs::{File, TryLockError};
use std::io::{Read, Seek, SeekFrom, Write};
use std::process::Stdio;

use serde::{Deserialize, Serialize};

use super::TransactionError;
use super::state::StateDir;
use crate::change::AbsPath;
use crate::os::files::{FileError, Folder};
use crate::os::machine::ProcessId;

/// Held locks. Dropping them lets go, also of what a child inherited: a daemon that a finished repair left
/// behind locks nobody out. When we die instead, the child's hold stays.
#[derive(Debug)]
pub(crate) struct Locks {
    exclusive: Vec<File>,
    shared: Vec<File>,
}

/// Who holds a lock, as written into its file.
#[derive(Debug, Serialize, Deserialize)]
struct Holder {
    process: ProcessId,
    command: String,
    root: AbsPath,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum Strength {
    Shared,
    Exclusive,
}

impl Locks {
    /// Takes all locks or none, in the order of the paths. Two names of one folder, by a link, are one lock.
    pub fn take(state: &StateDir, roots: &[AbsPath], command: &str) -> Result<Self, TransactionError> {
        let folder = state.create()?.create_or_open("locks".as_ref(), 0o700)?;
        let mut wanted: BTreeMap<AbsPath, Strength> = BTreeMap::new();
        for root in roots.iter().map(AbsPath::real) {
            wanted.insert(root.clone(), Strength::Exclusive);
            let mut above = root.parent();
            while let Some(path) = above {
                wanted.entry(path.clone()).or_insert(Strength::Shared);
                above = path.parent();
            }
        }
        let (mut exclusive, mut shared) = (Vec::new(), Vec::new());
        for (root, strength) in wanted {
            let file = take_one(&folder, &root, strength, command)?;
            match strength {
                Strength::Exclusive => exclusive.push(file),
                Strength::Shared => shared.push(file),
            }
        }
        Ok(Self { exclusive, shared })
    }

    /// Says whether a process of this machine that lives has locked one of the roots; nothing is written, nor locked.
    pub fn is_held<'a>(state: &StateDir, mut roots: impl Iterator<Item = &'a AbsPath>) -> bool {
        let Ok(folder) = Folder::open(&state.path().resolve("locks")) else { return false };
        roots.any(|root| {
            let holder = read_holder(&folder, lock_name(&root.real()).as_ref());
            holder.is_some_and(|holder| holder.process.is_alive())
        })
    }

    /// Returns the standard input of a child: the file of the first exclusive lock, at its end.
    ///
    /// It reads like `/dev/null`, and the lock stays held as long as the child lives, even when we die.
    pub fn for_child(&self) -> std::io::Result<Stdio> {
        let Some(mut file) = self.exclusive.first() else { return Ok(Stdio::null()) };
        file.seek(SeekFrom::End(0))?;
        Ok(file.try_clone()?.into())
    }
}

impl Drop for Locks {
    fn drop(&mut self) {
        for file in &self.exclusive {
            // Names nobody any more.
            let _ = file.set_len(0);
        }
        for file in self.exclusive.iter().chain(&self.shared) {
            // Closing the file lets go too, unless somebody inherited it.
            let _ = file.unlock();
        }
    }
}

fn lock_name(root: &AbsPath) -> String {
    let hash = blake3::hash(root.as_path().as_os_str().as_encoded_bytes()).to_hex();
    format!("{}.lock", &hash[..32])
}

fn take_one(folder: &Folder, root: &AbsPath, strength: Strength, command: &str) -> Result<File, TransactionError> {
    let path = folder.join(lock_name(root).as_ref());
    let failed = |source| FileError { action: "lock", path: path.clone(), source };
    let mut file = open_private(&path).map_err(failed)?;
    let taken = match strength {
        Strength::Exclusive => file.try_lock(),
        Strength::Shared => file.try_lock_shared(),
    };
    match taken {
        Ok(()) => {}
        Err(TryLockError::WouldBlock) => {
            return Err(TransactionError::Locked { root: root.clone(), holder: holder_of(folder, root) });
        }
        Err(TryLockError::Error(source)) => return Err(failed(source).into()),
    }
    if strength == Strength::Exclusive {
        let holder = Holder { process: ProcessId::here(), command: command.to_owned(), root: root.clone() };
        let text = serde_json::to_vec(&holder).expect("a holder is plain text and numbers");
        // Only for messages: an unreadable holder is no error.
        let _ = file.set_len(0).and_then(|()| file.rewind()).and_then(|()| file.write_all(&text));
    }
    Ok(file)
}

fn open_private(path: &AbsPath) -> std::io::Result<File> {
    use std::os::unix::fs::OpenOptionsExt;
    File::options().read(true).write(true).create(true).truncate(false).mode(0o600).open(path)
}

/// Names who holds `root`, a folder above it or one below it.
fn holder_of(folder: &Folder, root: &AbsPath) -> String {
    let mut gone = None;
    for name in folder.names().unwrap_or_default() {
        let Some(holder) = read_holder(folder, &name) else { continue };
        if !holder.root.is_within(root) && !root.is_within(&holder.root) {
            continue;
        }
        if holder.process.is_alive() {
            let Holder { process, command, root } = holder;
            return format!("process {} (`{command}`, in `{root}`)", process.pid);
        }
        gone = Some(holder.process.pid);
    }
    match gone {
        Some(pid) => format!("a program that process {pid} started and left behind"),
        None => "another process".to_owned(),
    }
}

fn read_holder(folder: &Folder, name: &std::ffi::OsStr) -> Option<Holder> {
    let mut text = Vec::new();
    folder.open_file(name).ok()?.take(64 << 10).read_to_end(&mut text).ok()?;
    serde_json::from_slice(&text).ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn relatives_exclude_each_other_and_strangers_do_not() {
        let dir = tempfile::tempdir().unwrap();
        let state = StateDir::open(AbsPath::new(dir.path().join("state")).unwrap());
        let path = |text: &str| AbsPath::new(text).unwrap();
        let held = Locks::take(&state, &[path("/p/a"), path("/home/u/.condarc")], "fix one").unwrap();
        for (root, free) in
            [("/p/b", true), ("/p/ab", true), ("/p/a", false), ("/p/a/sub", false), ("/p", false), ("/", false)]
        {
            let taken = Locks::take(&state, &[path(root)], "fix two");
            assert_eq!(taken.is_ok(), free, "{root}");
            if let Err(error) = taken {
                let text = error.to_string();
                assert!(
                    text.contains(&format!("process {}", std::process::id())) && text.contains("`fix one`"),
                    "{text}"
                );
            }
        }
        drop(held);
        Locks::take(&state, &[path("/p/a")], "fix two").unwrap();
    }

    #[test]
    fn two_names_of_one_folder_are_one_lock() {
        let dir = tempfile::tempdir().unwrap();
        let root = AbsPath::new(dir.path()).unwrap();
        std::fs::create_dir(root.resolve("real")).unwrap();
        std::os::unix::fs::symlink("real", root.resolve("link")).unwrap();
        let state = StateDir::open(root.resolve("state"));
        for (one, other) in [("real", "link"), ("link/p", "real/p"), ("link/p", "real"), ("real", "link/p/q")] {
            let _held = Locks::take(&state, &[root.resolve(one)], "fix one").unwrap();
            let second = Locks::take(&state, &[root.resolve(other)], "fix two");
            assert!(matches!(second, Err(TransactionError::Locked { .. })), "{one} {other}");
            assert!(Locks::is_held(&state, [root.resolve(one)].iter()));
        }
    }

    #[test]
    fn a_child_keeps_the_lock() {
        let dir = tempfile::tempdir().unwrap();
        let state = StateDir::open(AbsPath::new(dir.path().join("state")).unwrap());
        let roots = [AbsPath::new("/p").unwrap()];
        let mut held = Locks::take(&state, &roots, "fix").unwrap();
        let mut child = std::process::Command::new("/bin/sh")
            .args(["-c", "cat; exec sleep 1000"])
            .stdin(held.for_child().unwrap())
            .stdout(Stdio::piped())
            .spawn()
            .unwrap();
        // As if this process had died: closed, not let go.
        held.exclusive.drain(..).for_each(drop);
        held.shared.drain(..).for_each(drop);
        assert!(matches!(Locks::take(&state, &roots, "fix"), Err(TransactionError::Locked { .. })));
        child.kill().unwrap();
        let output = child.wait_with_output().unwrap();
        assert_eq!(String::from_utf8_lossy(&output.stdout), "", "it reads nothing");
        Locks::take(&state, &roots, "fix").unwrap();
    }
}
