//! Removes single files that a build makes anew.
//!
//! Never removes a file that nobody named, nor one outside a build tree that is recognised anew.

use std::path::{Component, Path, PathBuf};

use super::{LowerError, Lowered, Order, Verb, set_aside_tree};
use crate::change::AbsPath;
use crate::change::{Change, FileState, WriteFile};
use crate::evidence::questions::ArgSpec;
use crate::evidence::tracked_file;
use crate::recipe::{Applicability, Text};

/// `remove_files = { files = "${products.files}", named = "${broken_file}", within = "${tree.path}" }`
pub const REMOVE_FILES: Verb = Verb {
    name: "remove_files",
    about: "Removes regular files that the log names inside a recognised CMake build tree.",
    args: &[
        ArgSpec { name: "files", required: true, about: "The files" },
        ArgSpec { name: "named", required: true, about: "The files, as the log names them: no other is removed" },
        ArgSpec { name: "within", required: true, about: "The build tree that all of them lie in" },
    ],
    lower: remove_files,
};

fn remove_files(order: &Order<'_>) -> Result<Lowered, LowerError> {
    let mut lowered = Lowered::default();
    let within = order.path("within")?;
    let tree = set_aside_tree::recognised(order, &within)?;
    let named = order.list("named");
    for file in order.list("files") {
        let path = within.resolve(&file);
        let parent = path.parent().and_then(|parent| order.host.real(parent.as_path()).ok());
        let parent = parent.and_then(|parent| AbsPath::new(parent).ok());
        // A link on the way would lead out of the folder.
        let inside = parent.as_ref().is_some_and(|parent| parent.is_within(&tree.path));
        if path == within || !path.is_within(&within) || !inside {
            return Err(LowerError(Text::new(
                format!("`{path}` does not lie in `{within}`"),
                format!("`{path}` 不在 `{within}` 之中"),
            )));
        }
        if !named.iter().any(|name| is_named(order, &path, name)) {
            return Err(LowerError(Text::new(
                format!("`{path}` is not a file that the log names"),
                format!("日志中没有提到 `{path}`"),
            )));
        }
        if order.pending(&path).is_some() {
            continue;
        }
        let before = order.file(&path)?;
        if before == FileState::Absent {
            continue;
        }
        lowered.limits.extend(tracked_file(order.host, &path).map(|why| (Applicability::Confirm, why)));
        lowered.changes.push(Change::WriteFile(WriteFile { path, before, after: FileState::Absent }));
    }
    Ok(lowered)
}

/// Says whether `name`, relative to whatever folder the program that printed it stood in, can mean `path`.
fn is_named(order: &Order<'_>, path: &AbsPath, name: &str) -> bool {
    let name = Path::new(name);
    if name.is_absolute() {
        let real = |path: &Path| Some(order.host.real(path.parent()?).ok()?.join(path.file_name()?));
        return real(name).is_some() && real(name) == real(path.as_path());
    }
    let end: PathBuf = name.components().filter(|part| matches!(part, Component::Normal(_))).collect();
    !end.as_os_str().is_empty() && path.as_path().ends_with(end)
}
