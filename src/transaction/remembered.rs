//! The environment of the last repair of each project: it changes no file of the user's and would be lost with `fix`.

use std::io::Write;

use serde::{Deserialize, Serialize};

use super::{StateDir, TransactionError};
use crate::change::{AbsPath, EnvOverlay};
use crate::os::files::{FileError, Folder};
use crate::os::machine;

/// The environment that a repair needs.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Remembered {
    format: u32,
    pub root: AbsPath,
    /// Ids of the recipes.
    pub recipes: Vec<String>,
    /// What `fix rollback` takes, where files were changed as well.
    pub group: Option<String>,
    /// Seconds since 1970.
    pub at: u64,
    pub overlay: EnvOverlay,
}

const FORMAT: u32 = 1;
const FOLDER: &str = "environment";

impl Remembered {
    pub fn new(root: AbsPath, recipes: Vec<String>, group: Option<String>, overlay: EnvOverlay) -> Self {
        Self { format: FORMAT, root, recipes, group, at: machine::now().as_secs(), overlay }
    }
}

/// Remembers an environment in place of an older one of the same project.
pub fn remember(state: &StateDir, remembered: &Remembered) -> Result<(), TransactionError> {
    let folder = state.create()?.create_or_open(FOLDER.as_ref(), 0o700)?;
    let name = file_name(&remembered.root);
    let beside = format!("{name}.{}", std::process::id());
    // One that was cut off before is in nobody's way.
    drop(folder.remove_file(beside.as_ref()));
    let mut file = folder.create_file(beside.as_ref(), 0o600)?;
    let text = serde_json::to_vec(remembered).unwrap_or_default();
    let written = file.write_all(&text).and_then(|()| file.sync_all());
    written.map_err(|error| folder.error("write", beside.as_ref(), error))?;
    folder.replace(beside.as_ref(), &folder, name.as_ref())?;
    Ok(())
}

/// Recalls the environment of a project's last repair. A file that this version cannot read is none.
pub fn recall(state: &StateDir, root: &AbsPath) -> Result<Option<Remembered>, TransactionError> {
    let bytes = match open(state).and_then(|folder| folder.read(file_name(root).as_ref())) {
        Err(error) if error.source.kind() == std::io::ErrorKind::NotFound => return Ok(None),
        bytes => bytes?,
    };
    let remembered: Option<Remembered> = serde_json::from_slice(&bytes).ok();
    Ok(remembered.filter(|one| one.format == FORMAT && one.root == *root))
}

/// Forgets what belonged to a repair that was taken back.
pub fn forget(state: &StateDir, group: &str) -> Result<(), TransactionError> {
    let folder = match open(state) {
        Err(error) if error.source.kind() == std::io::ErrorKind::NotFound => return Ok(()),
        folder => folder?,
    };
    for name in folder.names()? {
        let Ok(bytes) = folder.read(&name) else { continue };
        let remembered: Option<Remembered> = serde_json::from_slice(&bytes).ok();
        if remembered.is_some_and(|one| one.group.as_deref() == Some(group)) {
            folder.remove_file(&name)?;
        }
    }
    Ok(())
}

fn open(state: &StateDir) -> Result<Folder, FileError> {
    Folder::open(&state.path().resolve(FOLDER))
}

fn file_name(root: &AbsPath) -> String {
    use std::os::unix::ffi::OsStrExt;
    format!("{}.json", &blake3::hash(root.as_path().as_os_str().as_bytes()).to_hex()[..32])
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::change::EnvEdit;

    #[test]
    fn the_last_environment_of_a_project_is_recalled_until_it_is_taken_back() {
        let folder = tempfile::tempdir().unwrap();
        let state = StateDir::open(AbsPath::new(folder.path().join("state")).unwrap());
        let root = |name: &str| AbsPath::new(name).unwrap();
        assert_eq!(recall(&state, &root("/p")).unwrap(), None);
        forget(&state, "x").unwrap();
        for (value, group) in [("1", None), ("2", Some("x".to_owned()))] {
            let mut overlay = EnvOverlay::default();
            overlay.edit("A", EnvEdit::Set(value.into()));
            let one = Remembered::new(root("/p"), vec!["tda-1.1".into()], group, overlay);
            remember(&state, &one).unwrap();
            assert_eq!(recall(&state, &root("/p")).unwrap(), Some(one));
        }
        assert_eq!(recall(&state, &root("/q")).unwrap(), None);
        forget(&state, "y").unwrap();
        assert!(recall(&state, &root("/p")).unwrap().is_some());
        forget(&state, "x").unwrap();
        assert_eq!(recall(&state, &root("/p")).unwrap(), None);
    }
}
