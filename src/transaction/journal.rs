//! The journal: what was intended and what was done, one JSON line each, on disk before it happens.
//!
//! A file grows only at its end. A torn last line never happened. The first line carries the format number:
//! a newer format is refused as a whole, an older one stays readable for ever (`fixtures/journals/`).

use std::fs::File;
use std::io::{self, Seek, SeekFrom, Write};
use std::marker::PhantomData;

use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};

use super::TransactionError;
use super::saved::Save;
use super::seen::Seen;
use super::set_aside::SetAside;
use crate::change::{AbsPath, Reversible};
use crate::os::Name;
use crate::os::fault::step;
use crate::os::files::{FileError, Folder};
use crate::os::machine::{Machine, ProcessId};

/// The format that this version writes.
pub const FORMAT: u32 = 1;

/// A line of a group's own file, `group.jsonl`.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "record", rename_all = "kebab-case")]
pub enum GroupRecord {
    Created {
        format: u32,
        id: String,
        root: AbsPath,
        command: Vec<String>,
        at: u64,
    },
    /// `saved` is the group that holds what the user had changed meanwhile.
    RollingBack {
        at: u64,
        saved: Option<String>,
    },
    RolledBack {
        at: u64,
    },
    Pruned {
        at: u64,
    },
}

/// A line of a transaction's journal, `<n>.jsonl`.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "record", rename_all = "kebab-case")]
pub enum Record {
    Begin(Begin),
    /// What is about to be done for a change. A change may have several: each attempt is one.
    Intent {
        change: usize,
        act: Act,
    },
    /// The copy of a tree is complete and durable; from here on the original may be incomplete.
    Copied {
        change: usize,
    },
    Done {
        change: usize,
    },
    /// A child of ours runs.
    Child {
        process: ProcessId,
    },
    ChildGone {
        process: ProcessId,
    },
    Committed {
        at: u64,
        seen: Vec<SeenAt>,
    },
    Undoing {
        at: u64,
        why: String,
    },
    /// What stood in the way of a change's undo is out of it.
    Cleared {
        change: usize,
    },
    Undone {
        change: usize,
    },
    /// All is as before the transaction.
    Closed {
        at: u64,
    },
}

/// The head of a transaction.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Begin {
    pub format: u32,
    pub transaction: String,
    /// Nanoseconds since 1970.
    pub at: u64,
    pub machine: Machine,
    pub process: ProcessId,
    /// The roots that are locked, with the file systems they were on.
    pub locks: Vec<LockedRoot>,
    pub recipe: String,
    pub slug: String,
    pub case: String,
    pub title: super::Title,
    pub digest: String,
    pub changes: Vec<Summary>,
    /// Set where this transaction saves what the rollback of that group is about to replace.
    pub saves_for: Option<String>,
}

/// A locked root, and where it lay.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct LockedRoot {
    pub path: AbsPath,
    /// The deepest existing folder on the way to it, and what identifies that.
    pub anchor: AbsPath,
    pub device: u64,
    pub inode: u64,
}

/// One change in a line, for the history.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Summary {
    Create(AbsPath),
    Modify(AbsPath),
    Delete(AbsPath),
    SetAside {
        path: AbsPath,
        files: u64,
        bytes: u64,
    },
    /// Program and declared writes; arguments may hold secrets and are not kept.
    Run {
        program: Name,
        writes: Vec<AbsPath>,
    },
    /// What the user had changed, before a forced rollback.
    Save(Vec<AbsPath>),
}

/// What a change does, with all that its undo needs.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Act {
    Write {
        save: Save,
        /// Folders that are made for it, outermost first.
        made: Vec<AbsPath>,
        /// The name of the temporary file beside it.
        temporary: String,
        after: Seen,
    },
    SetAside(SetAside),
    /// Folders that saving may make outside of the state folder.
    Scratch {
        places: Vec<Scratch>,
    },
    Run {
        saves: Vec<Save>,
        reversible: Reversible,
    },
}

/// A folder of ours in a `.fix` beside something that is saved.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Scratch {
    pub anchor: AbsPath,
    pub path: AbsPath,
}

/// A path and what stood there at commit.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct SeenAt {
    pub anchor: AbsPath,
    pub path: AbsPath,
    pub seen: Seen,
}

/// An append-only file of lines.
#[derive(Debug)]
pub struct Lines<T> {
    file: File,
    path: AbsPath,
    /// The length of all complete lines.
    good: u64,
    /// Set while something may stand behind them: a line that failed half-way, for want of space.
    torn: bool,
    kind: PhantomData<T>,
}

impl<T: Serialize + DeserializeOwned> Lines<T> {
    /// Creates the file with its first line. Until that is complete the file counts as not there.
    pub fn create(folder: &Folder, name: &str, first: &T) -> Result<Self, TransactionError> {
        let file = folder.create_file(name.as_ref(), 0o600)?;
        let mut lines = Self { file, path: folder.join(name.as_ref()), good: 0, torn: false, kind: PhantomData };
        lines.append(first)?;
        folder.sync()?;
        Ok(lines)
    }

    /// Opens a file to go on writing; a torn last line is cut off first.
    pub fn reopen(path: &AbsPath) -> Result<(Self, Vec<T>), TransactionError> {
        let (records, good) = read(path)?;
        let failed = |source| FileError { action: "append to", path: path.clone(), source };
        let file = File::options().append(true).open(path).map_err(failed)?;
        let torn = file.metadata().map_err(failed)?.len() != good;
        Ok((Self { file, path: path.clone(), good, torn, kind: PhantomData }, records))
    }

    /// Adds a line and waits until it is on the disk.
    pub fn append(&mut self, record: &T) -> Result<(), TransactionError> {
        let mut line = serde_json::to_vec(record).expect("records hold nothing that JSON cannot express");
        line.push(b'\n');
        let (first, rest) = line.split_at(line.len() / 2);
        let mut write = || -> io::Result<()> {
            if self.torn {
                step()?;
                self.file.set_len(self.good)?;
                self.file.seek(SeekFrom::Start(self.good))?;
            }
            self.torn = true;
            step()?;
            self.file.write_all(first)?;
            step()?;
            self.file.write_all(rest)?;
            step()?;
            self.file.sync_data()?;
            self.good += line.len() as u64;
            self.torn = false;
            Ok(())
        };
        Ok(write().map_err(|source| FileError { action: "append to", path: self.path.clone(), source })?)
    }
}

/// Reads all complete lines, and says how many bytes they have.
pub fn read<T: DeserializeOwned>(path: &AbsPath) -> Result<(Vec<T>, u64), TransactionError> {
    let text =
        std::fs::read(path).map_err(|source| FileError { action: "read the journal", path: path.clone(), source })?;
    let mut records = Vec::new();
    let mut good = 0;
    for (at, line) in text.split_inclusive(|byte| *byte == b'\n').enumerate() {
        if !line.ends_with(b"\n") {
            // A record that was cut off begins like one. Zeros, as a file system may leave them, are damage: to take
            // them for "never begun" would forget what was set aside.
            if line.contains(&0) || line[0] != b'{' {
                let why = "this is no record".to_owned();
                return Err(TransactionError::Damaged { path: path.clone(), line: at + 1, why });
            }
            break;
        }
        if at == 0 {
            refuse_newer(path, line)?;
        }
        let damaged = |error: serde_json::Error| TransactionError::Damaged {
            path: path.clone(),
            line: at + 1,
            why: error.to_string(),
        };
        records.push(serde_json::from_slice(line).map_err(damaged)?);
        good += line.len() as u64;
    }
    Ok((records, good))
}

fn refuse_newer(path: &AbsPath, line: &[u8]) -> Result<(), TransactionError> {
    #[derive(Deserialize)]
    struct Head {
        format: u64,
    }
    match serde_json::from_slice::<Head>(line) {
        Ok(head) if head.format > u64::from(FORMAT) => {
            Err(TransactionError::NewerFormat { path: path.clone(), format: head.format, known: FORMAT })
        }
        Ok(_) => Ok(()),
        Err(error) => {
            Err(TransactionError::Damaged { path: path.clone(), line: 1, why: format!("no format number: {error}") })
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn rolled(at: u64) -> GroupRecord {
        GroupRecord::RolledBack { at }
    }

    #[test]
    fn torn_newer_and_damaged_files() {
        let dir = tempfile::tempdir().unwrap();
        let path = AbsPath::new(dir.path().join("group.jsonl")).unwrap();
        let head = "{\"record\":\"created\",\"format\":1,\"id\":\"x\",\"root\":\"/p\",\"command\":[],\"at\":1}\n";
        std::fs::write(&path, format!("{head}{{\"record\":\"rolled-ba")).unwrap();
        let (mut lines, records) = Lines::<GroupRecord>::reopen(&path).unwrap();
        assert_eq!(records.len(), 1);
        lines.append(&rolled(7)).unwrap();
        assert_eq!(read::<GroupRecord>(&path).unwrap().0[1], rolled(7));

        for (text, newer, message) in [
            (head.replace("\"format\":1", "\"format\":2"), true, "newer version (format 2)"),
            (head.replace("\"format\":1", "\"format\":99999999999"), true, "format 99999999999"),
            (format!("{head}nonsense\n"), false, "damaged in line 2"),
            ("\0\u{1}\n".to_owned(), false, "damaged in line 1"),
            ("\0\0\0\0".to_owned(), false, "damaged in line 1"),
        ] {
            std::fs::write(&path, &text).unwrap();
            let error = read::<GroupRecord>(&path).unwrap_err();
            assert_eq!(matches!(error, TransactionError::NewerFormat { .. }), newer);
            assert!(error.to_string().contains(message), "{error}");
        }
        for text in ["", "{\"record\":\"cre"] {
            std::fs::write(&path, text).unwrap();
            assert_eq!(read::<GroupRecord>(&path).unwrap(), (vec![], 0));
        }
    }
}
