//! The journal: what was intended and what was done, one JSON line each, on disk before it happens.
//!
//! A file grows only at its end. A torn last line never happened. The first line carries the format number:
//! a newer format is refused as a whole, an older one stays readable for ever (`fixtures/journals/`).
//!
//! Since format 2 a check sum ends each line, over this line and the sum before it: a record that is not as it was
//! written, or in another place, would have an undo write another file.

use std::fs::File;
use std::io::{self, Seek, SeekFrom, Write};
use std::marker::PhantomData;

use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};

use super::TransactionError;
use super::saved::Save;
use super::seen::{Rights, Seen};
use super::set_aside::SetAside;
use super::state::GroupDir;
use crate::change::{AbsPath, Reversible};
use crate::os::Name;
use crate::os::fault::step;
use crate::os::files::{FileError, Folder};
use crate::os::machine::{Machine, ProcessId};
use crate::os::trees::Place;

/// The format that this version writes.
pub const FORMAT: u32 = 2;
/// The first format with check sums.
const SUMMED: u64 = 2;

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
    /// A transaction was committed with the line of this check sum: a journal that ends earlier has lost its end.
    Sealed {
        transaction: usize,
        seal: String,
    },
    /// `saved` is the group that holds what the user had changed meanwhile, `seen` what stood there then.
    RollingBack {
        at: u64,
        saved: Option<String>,
        #[serde(default, skip_serializing_if = "Vec::is_empty")]
        seen: Vec<SeenAt>,
        #[serde(default, skip_serializing_if = "Option::is_none")]
        machine: Option<Machine>,
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
    /// What a change will touch is about to be saved: nothing of it is touched before its intent.
    Saving {
        change: usize,
    },
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
    /// A command ended and left this: what stands there else later is somebody's.
    Left {
        change: usize,
        seen: Vec<SeenAt>,
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

impl Summary {
    /// The paths that the change names.
    pub(crate) fn paths(&self) -> &[AbsPath] {
        match self {
            Summary::Create(path) | Summary::Modify(path) | Summary::Delete(path) | Summary::SetAside { path, .. } => {
                std::slice::from_ref(path)
            }
            Summary::Run { writes, .. } | Summary::Save(writes) => writes,
        }
    }
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
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub rights: Option<Rights>,
}

impl SeenAt {
    /// Looks at a path, as a later comparison needs it.
    pub(crate) fn record(group: &GroupDir, anchor: &AbsPath, path: &AbsPath) -> Result<Self, TransactionError> {
        let found = Place::find(anchor, path)?;
        let seen = Seen::record(group, &found)?;
        Ok(Self { anchor: anchor.clone(), path: path.clone(), seen, rights: Rights::find(&found) })
    }
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
    /// The check sum of the last line; empty before the first, none in a file of an old format.
    sum: Option<String>,
    kind: PhantomData<T>,
}

/// What a file of lines holds.
#[derive(Debug, PartialEq, Eq)]
pub struct Told<T> {
    pub records: Vec<T>,
    /// The check sum of each line; none in a file of an old format.
    pub sums: Option<Vec<String>>,
    /// How many bytes all complete lines have.
    good: u64,
}

impl<T: Serialize + DeserializeOwned> Lines<T> {
    /// Creates the file with its first line. Until that is complete the file counts as not there.
    pub fn create(folder: &Folder, name: &str, first: &T) -> Result<Self, TransactionError> {
        let file = folder.create_file(name.as_ref(), 0o600)?;
        let path = folder.join(name.as_ref());
        let mut lines = Self { file, path, good: 0, torn: false, sum: Some(String::new()), kind: PhantomData };
        lines.append(first)?;
        folder.sync()?;
        Ok(lines)
    }

    /// Opens a file to go on writing; a torn last line is cut off first.
    pub fn reopen(path: &AbsPath) -> Result<(Self, Told<T>), TransactionError> {
        let told = read(path)?;
        let good = told.good;
        let failed = |source| FileError { action: "append to", path: path.clone(), source };
        let file = File::options().append(true).open(path).map_err(failed)?;
        let torn = file.metadata().map_err(failed)?.len() != good;
        // What is appended to an old file is as its other lines.
        let sum = told.sums.as_ref().map(|sums| sums.last().cloned().unwrap_or_default());
        Ok((Self { file, path: path.clone(), good, torn, sum, kind: PhantomData }, told))
    }

    /// The check sum of the last line; none in a file of an old format.
    pub fn seal(&self) -> Option<&str> {
        self.sum.as_deref()
    }

    /// Adds a line and waits until it is on the disk.
    pub fn append(&mut self, record: &T) -> Result<(), TransactionError> {
        let mut line = serde_json::to_vec(record).expect("records hold nothing that JSON cannot express");
        let sum = self.sum.as_deref().map(|before| sum(before, &line));
        if let Some(sum) = &sum {
            line.push(b'\t');
            line.extend_from_slice(sum.as_bytes());
        }
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
        write().map_err(|source| FileError { action: "append to", path: self.path.clone(), source })?;
        self.sum = sum;
        Ok(())
    }
}

/// The check sum of a line: over the one before it, so that no line can be lost or change places unnoticed.
fn sum(before: &str, record: &[u8]) -> String {
    let mut hasher = blake3::Hasher::new();
    hasher.update(before.as_bytes()).update(b"\t").update(record);
    hasher.finalize().to_hex()[..16].to_owned()
}

/// The record of a line and its check sum; JSON itself never holds a tab.
pub(super) fn parts(line: &[u8]) -> (&[u8], Option<&[u8]>) {
    let line = line.strip_suffix(b"\n").unwrap_or(line);
    match line.iter().position(|byte| *byte == b'\t') {
        Some(at) => (&line[..at], Some(&line[at + 1..])),
        None => (line, None),
    }
}

/// Reads all complete lines.
pub fn read<T: DeserializeOwned>(path: &AbsPath) -> Result<Told<T>, TransactionError> {
    let text =
        std::fs::read(path).map_err(|source| FileError { action: "read the journal", path: path.clone(), source })?;
    let mut told = Told { records: Vec::new(), sums: Some(Vec::new()), good: 0 };
    for (at, line) in text.split_inclusive(|byte| *byte == b'\n').enumerate() {
        if !line.ends_with(b"\n") {
            // A record that was cut off begins like one. Zeros, as a file system may leave them, are damage: to take
            // them for "never begun" would forget what was set aside.
            if line.contains(&0) || line[0] != b'{' {
                return Err(damaged(path, at, "this is no record"));
            }
            break;
        }
        let (record, found) = parts(line);
        if at == 0 && format(path, record)? < SUMMED {
            told.sums = None;
        }
        match (&mut told.sums, found) {
            (Some(sums), found) => {
                let want = sum(sums.last().map_or("", String::as_str), record);
                if found != Some(want.as_bytes()) {
                    return Err(damaged(path, at, "it is not as it was written"));
                }
                sums.push(want);
            }
            (None, Some(_)) => return Err(damaged(path, at, "a check sum in an old format")),
            (None, None) => {}
        }
        told.records.push(serde_json::from_slice(record).map_err(|error| damaged(path, at, error))?);
        told.good += line.len() as u64;
    }
    Ok(told)
}

/// An error about the line at `at`, counted from 0.
pub(super) fn damaged(path: &AbsPath, at: usize, why: impl ToString) -> TransactionError {
    TransactionError::Damaged { path: path.clone(), line: at + 1, why: why.to_string() }
}

/// The format of a file by its first line; a newer one is refused.
fn format(path: &AbsPath, line: &[u8]) -> Result<u64, TransactionError> {
    #[derive(Deserialize)]
    struct Head {
        format: u64,
    }
    match serde_json::from_slice::<Head>(line) {
        Ok(head) if head.format > u64::from(FORMAT) => {
            Err(TransactionError::NewerFormat { path: path.clone(), format: head.format, known: FORMAT })
        }
        Ok(head) => Ok(head.format),
        Err(error) => Err(damaged(path, 0, format!("no format number: {error}"))),
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
        let (mut lines, told) = Lines::<GroupRecord>::reopen(&path).unwrap();
        assert_eq!(told.records.len(), 1);
        lines.append(&rolled(7)).unwrap();
        let told = read::<GroupRecord>(&path).unwrap();
        assert_eq!((&told.records[1], told.sums), (&rolled(7), None));

        for (text, newer, message) in [
            (head.replace("\"format\":1", "\"format\":3"), true, "newer version (format 3)"),
            (head.replace("\"format\":1", "\"format\":2"), false, "damaged in line 1"),
            (head.replace("}\n", "}\t0123456789abcdef\n"), false, "damaged in line 1"),
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
            assert_eq!(read::<GroupRecord>(&path).unwrap().records, vec![]);
        }
    }

    #[test]
    fn no_byte_of_a_journal_can_change_unnoticed() {
        let dir = tempfile::tempdir().unwrap();
        let folder = Folder::open(&AbsPath::new(dir.path()).unwrap()).unwrap();
        let path = folder.join("group.jsonl".as_ref());
        let (id, root) = ("x".to_owned(), AbsPath::new("/p").unwrap());
        let created = GroupRecord::Created { format: FORMAT, id, root, command: Vec::new(), at: 1 };
        let mut lines = Lines::create(&folder, "group.jsonl", &created).unwrap();
        let all = [created, rolled(1), rolled(2), rolled(3)];
        all[1..].iter().for_each(|record| lines.append(record).unwrap());
        let good = std::fs::read(&path).unwrap();
        let read = |bytes: &[u8]| {
            std::fs::write(&path, bytes).unwrap();
            read::<GroupRecord>(&path).map(|told| told.records)
        };
        assert_eq!(read(&good).unwrap(), all);
        let is_told = |bytes: &[u8]| match read(bytes) {
            // The last line may be torn: it never happened.
            Ok(records) => assert_eq!(records, all[..3]),
            Err(error) => {
                assert!(matches!(error, TransactionError::Damaged { .. } | TransactionError::NewerFormat { .. }))
            }
        };
        for at in 0..good.len() {
            for bit in 0..8 {
                let mut bytes = good.clone();
                bytes[at] ^= 1 << bit;
                is_told(&bytes);
            }
        }
        // A line that is gone, and two that have changed places.
        let lines: Vec<&[u8]> = good.split_inclusive(|byte| *byte == b'\n').collect();
        is_told(&[lines[0], lines[2], lines[3]].concat());
        is_told(&[lines[0], lines[2], lines[1], lines[3]].concat());
    }
}
