//! The state folder: one folder a group, with its journals and all that was saved. Nobody else may read it.

use std::ffi::OsString;
use std::os::unix::fs::MetadataExt;

use super::TransactionError;
use super::journal::{FORMAT, GroupRecord, Lines, Record, parts, read};
use super::past::Past;
use crate::change::AbsPath;
use crate::os::files::{FileError, Folder};
use crate::os::machine;
use crate::os::trees::Place;

/// Where journals and backups are kept.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct StateDir {
    path: AbsPath,
}

/// One group's folder in it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct GroupDir {
    pub state: AbsPath,
    pub id: String,
    pub path: AbsPath,
}

impl StateDir {
    /// Chooses the folder: the one that was named, else `$XDG_STATE_HOME/fix`, else `$HOME/.local/state/fix`.
    ///
    /// A HOME of another user is refused: files of root in it would lock its owner out.
    pub fn locate(
        explicit: Option<&AbsPath>,
        env: &dyn Fn(&str) -> Option<OsString>,
    ) -> Result<AbsPath, TransactionError> {
        if let Some(path) = explicit {
            return Ok(path.clone());
        }
        let folder = |name: &str| env(name).and_then(|value| AbsPath::new(value).ok());
        let path = match (folder("XDG_STATE_HOME"), folder("HOME")) {
            (Some(state), _) => state.resolve("fix"),
            (None, Some(home)) if home.as_path().is_dir() => home.resolve(".local/state/fix"),
            (None, _) => return Err(TransactionError::NoState),
        };
        let owner = owner_of_existing(&path);
        if rustix::process::geteuid().is_root() && owner != 0 {
            return Err(TransactionError::ForeignState { path, owner });
        }
        Ok(path)
    }

    /// Takes the folder; creates nothing.
    pub fn open(path: AbsPath) -> StateDir {
        StateDir { path }
    }

    pub fn path(&self) -> &AbsPath {
        &self.path
    }

    /// Creates the folder where it is absent, for this user alone.
    pub(crate) fn create(&self) -> Result<Folder, TransactionError> {
        let folder = make_folder(&self.path)?;
        let status = folder.own_status()?;
        let me = rustix::process::geteuid().as_raw();
        if status.user != me {
            return Err(TransactionError::ForeignState { path: self.path.clone(), owner: status.user });
        }
        if status.mode & 0o077 != 0
            && let (Some(parent), Some(name)) = (self.path.parent(), self.path.file_name())
        {
            Folder::open(&parent)?.set_mode(name, 0o700)?;
        }
        Ok(folder)
    }

    pub(crate) fn group(&self, id: &str) -> GroupDir {
        GroupDir { state: self.path.clone(), id: id.to_owned(), path: self.path.resolve("groups").resolve(id) }
    }

    /// Lists the groups, oldest first. A state folder that is not there has none.
    pub(crate) fn groups(&self) -> Result<Vec<GroupDir>, TransactionError> {
        let folder = match Folder::open(&self.path.resolve("groups")) {
            Ok(folder) => folder,
            Err(error) if error.source.kind() == std::io::ErrorKind::NotFound => return Ok(Vec::new()),
            Err(error) => return Err(error.into()),
        };
        let mut groups: Vec<(u64, GroupDir)> = folder
            .names()?
            .into_iter()
            .filter_map(|name| name.into_string().ok())
            .map(|id| self.group(&id))
            .map(|group| (group.created_at(), group))
            .collect();
        groups.sort_by(|a, b| (a.0, &a.1.id).cmp(&(b.0, &b.1.id)));
        Ok(groups.into_iter().map(|(_, group)| group).collect())
    }

    /// Makes a new group with its first record.
    pub(crate) fn new_group(&self, root: &AbsPath, command: &[String]) -> Result<GroupDir, TransactionError> {
        let groups = self.create()?.create_or_open("groups".as_ref(), 0o700)?;
        let now = machine::now();
        let stamp = stamp(now.as_secs());
        // A clock may be set back: what is made later is newer all the same, for a rollback and for the limits.
        let newest = self.groups()?.iter().map(GroupDir::created_at).filter(|at| *at != u64::MAX).max();
        let at = newest.map_or(0, |newest| newest.saturating_add(1)).max(now.as_nanos() as u64);
        for attempt in 1.. {
            let id = if attempt == 1 { stamp.clone() } else { format!("{stamp}-{attempt}") };
            let folder = match groups.create_folder(id.as_ref(), 0o700) {
                Err(error) if error.source.kind() == std::io::ErrorKind::AlreadyExists => continue,
                made => made?,
            };
            groups.sync()?;
            let created = GroupRecord::Created {
                format: FORMAT,
                id: id.clone(),
                root: root.clone(),
                command: command.to_vec(),
                at,
            };
            Lines::create(&folder, "group.jsonl", &created)?;
            return Ok(self.group(&id));
        }
        unreachable!("one of the names is free")
    }
}

impl GroupDir {
    pub fn folder(&self) -> Result<Folder, FileError> {
        Folder::open(&self.path)
    }

    /// Opens a folder in the group's, made where it is absent.
    pub fn inner(&self, name: &str) -> Result<Folder, FileError> {
        self.folder()?.create_or_open(name.as_ref(), 0o700)
    }

    /// Reads the group's own records; an empty list is a group that was cut off before it began.
    pub fn records(&self) -> Result<Vec<GroupRecord>, TransactionError> {
        let path = self.path.resolve("group.jsonl");
        if !path.as_path().exists() {
            return Ok(Vec::new());
        }
        Ok(read(&path)?.records)
    }

    /// Says whether an unreadable group may be about these folders: by the project in its first line, whatever
    /// else that holds. One that does not even tell its project is about nothing.
    pub fn may_concern(&self, roots: &[AbsPath]) -> bool {
        #[derive(serde::Deserialize)]
        struct Head {
            root: AbsPath,
        }
        let text = std::fs::read(self.path.resolve("group.jsonl")).unwrap_or_default();
        let first = text.split(|byte| *byte == b'\n').next().unwrap_or_default();
        serde_json::from_slice::<Head>(parts(first).0)
            .is_ok_and(|head| roots.iter().any(|root| root.is_within(&head.root) || head.root.is_within(root)))
    }

    /// Writes a first record anew from what the first journal tells; not where there is one.
    pub fn mend_head(&self) -> Result<(), TransactionError> {
        let Some(past) = Past::read(self, &self.journal(1))? else { return Ok(()) };
        let Some(lock) = past.begin.locks.first().filter(|_| self.records().is_ok_and(|all| all.is_empty())) else {
            return Ok(());
        };
        let (id, root) = (self.id.clone(), lock.path.clone());
        let created = GroupRecord::Created { format: FORMAT, id, root, command: Vec::new(), at: past.begin.at };
        if self.path.resolve("group.jsonl").as_path().exists() {
            return self.append(&created);
        }
        Lines::create(&self.folder()?, "group.jsonl", &created).map(|_| ())
    }

    pub fn append(&self, record: &GroupRecord) -> Result<(), TransactionError> {
        let (mut lines, _) = Lines::reopen(&self.path.resolve("group.jsonl"))?;
        lines.append(record)
    }

    /// Records that a transaction is committed with the last line of its journal.
    pub fn seal(&self, transaction: usize, lines: &Lines<Record>) -> Result<(), TransactionError> {
        match lines.seal() {
            Some(seal) => self.append(&GroupRecord::Sealed { transaction, seal: seal.to_owned() }),
            None => Ok(()),
        }
    }

    /// The journals of its transactions, in order.
    pub fn journals(&self) -> Vec<AbsPath> {
        (1..).map(|n| self.journal(n)).take_while(|path| path.as_path().exists()).collect()
    }

    pub fn journal(&self, n: usize) -> AbsPath {
        self.path.resolve(format!("{n}.jsonl"))
    }

    fn created_at(&self) -> u64 {
        match self.records().as_deref() {
            Ok([GroupRecord::Created { at, .. }, ..]) => *at,
            // Unreadable ones are the newest: the user shall hear of them.
            Ok(_) | Err(_) => u64::MAX,
        }
    }
}

/// Creates a folder and its parents for this user alone; links in the existing part are followed.
pub(crate) fn make_folder(path: &AbsPath) -> Result<Folder, FileError> {
    let mut existing = path.clone();
    while !existing.as_path().is_dir() {
        let Some(parent) = existing.parent() else { break };
        existing = parent;
    }
    if existing == *path {
        return Folder::open(path);
    }
    let place = Place::make(&existing, path, 0o700)?;
    let folder = place.folder.create_or_open(&place.name, 0o700)?;
    place.folder.sync()?;
    Ok(folder)
}

/// The owner of `path`, or of the deepest folder above it that exists.
fn owner_of_existing(path: &AbsPath) -> u32 {
    let mut at = Some(path.clone());
    while let Some(path) = at {
        if let Ok(meta) = std::fs::metadata(&path) {
            return meta.uid();
        }
        at = path.parent();
    }
    0
}

/// Renders seconds since 1970 as `20260131-235959`, UTC: short to type and in order.
pub(super) fn stamp(seconds: u64) -> String {
    let (days, rest) = (seconds / 86_400, seconds % 86_400);
    // Days to civil date, after Howard Hinnant: eras of 400 years that begin in March.
    let z = days + 719_468;
    let era = z / 146_097;
    let day_of_era = z % 146_097;
    let year_of_era = (day_of_era - day_of_era / 1_460 + day_of_era / 36_524 - day_of_era / 146_096) / 365;
    let day_of_year = day_of_era - (365 * year_of_era + year_of_era / 4 - year_of_era / 100);
    let shifted = (5 * day_of_year + 2) / 153;
    let day = day_of_year - (153 * shifted + 2) / 5 + 1;
    let month = if shifted < 10 { shifted + 3 } else { shifted - 9 };
    let year = year_of_era + era * 400 + u64::from(month <= 2);
    format!("{year:04}{month:02}{day:02}-{:02}{:02}{:02}", rest / 3600, rest / 60 % 60, rest % 60)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn stamps() {
        for (seconds, want) in
            [(0, "19700101-000000"), (951_827_696, "20000229-123456"), (1_798_761_599, "20261231-235959")]
        {
            assert_eq!(stamp(seconds), want);
        }
    }

    #[test]
    fn where_the_state_is() {
        let dir = tempfile::tempdir().unwrap();
        let home = dir.path().to_str().unwrap().to_owned();
        let locate = |vars: &[(&str, &str)]| {
            let vars: Vec<(String, String)> = vars.iter().map(|(k, v)| (k.to_string(), v.to_string())).collect();
            StateDir::locate(None, &|name| vars.iter().find(|(key, _)| key == name).map(|(_, value)| value.into()))
        };
        let want = |tail: &str| AbsPath::new(format!("{home}/{tail}")).unwrap();
        assert_eq!(locate(&[("HOME", &home)]).unwrap(), want(".local/state/fix"));
        assert_eq!(locate(&[("XDG_STATE_HOME", &format!("{home}/s")), ("HOME", "/nowhere")]).unwrap(), want("s/fix"));
        assert_eq!(locate(&[("XDG_STATE_HOME", "relative"), ("HOME", &home)]).unwrap(), want(".local/state/fix"));
        for vars in [&[][..], &[("HOME", "/nowhere/at/all")], &[("HOME", "")]] {
            assert!(matches!(locate(vars), Err(TransactionError::NoState)));
        }
        let explicit = want("x");
        assert_eq!(StateDir::locate(Some(&explicit), &|_| None).unwrap(), explicit);
    }

    #[test]
    fn the_state_is_private_and_made_late() {
        use std::os::unix::fs::PermissionsExt;
        let dir = tempfile::tempdir().unwrap();
        let state = StateDir::open(AbsPath::new(dir.path().join("a/b")).unwrap());
        assert!(state.groups().unwrap().is_empty());
        assert!(!dir.path().join("a").exists());
        let group = state.new_group(&AbsPath::new("/p").unwrap(), &["fix".into()]).unwrap();
        let mode = |path: &AbsPath| std::fs::metadata(path).unwrap().permissions().mode() & 0o777;
        assert_eq!(
            (mode(state.path()), mode(&group.path), mode(&group.path.resolve("group.jsonl"))),
            (0o700, 0o700, 0o600)
        );
        assert_eq!(state.groups().unwrap(), [group]);
    }

    #[test]
    fn a_clock_that_was_set_back_makes_no_new_group_an_old_one() {
        let dir = tempfile::tempdir().unwrap();
        let state = StateDir::open(AbsPath::new(dir.path().join("state")).unwrap());
        let root = AbsPath::new("/p").unwrap();
        let first = state.new_group(&root, &[]).unwrap();
        // As if it had been made in 2100.
        let (id, root_of_first, at) = (first.id.clone(), root.clone(), 4_102_444_800_000_000_000);
        let created = GroupRecord::Created { format: FORMAT, id, root: root_of_first, command: Vec::new(), at };
        std::fs::remove_file(first.path.resolve("group.jsonl")).unwrap();
        Lines::create(&first.folder().unwrap(), "group.jsonl", &created).unwrap();
        assert_eq!(first.created_at(), 4_102_444_800_000_000_000);
        let second = state.new_group(&root, &[]).unwrap();
        let third = state.new_group(&root, &[]).unwrap();
        assert_eq!(state.groups().unwrap(), [first, second, third]);
    }
}
