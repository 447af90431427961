//! Removes single files that a build makes anew.

use super::{LowerError, Lowered, Order, Verb};
use crate::change::AbsPath;
use crate::change::{Change, FileState, WriteFile};
use crate::evidence::questions::ArgSpec;
use crate::recipe::{Applicability, Text};

/// `remove_files = { files = "${products.files}", within = "${tree.path}" }`
pub const REMOVE_FILES: Verb = Verb {
    name: "remove_files",
    about: "Removes regular files inside one folder.",
    args: &[
        ArgSpec { name: "files", required: true, about: "The files" },
        ArgSpec { name: "within", required: true, about: "The folder that all of them lie in" },
    ],
    lower: remove_files,
};

fn remove_files(order: &Order<'_>) -> Result<Lowered, LowerError> {
    let mut lowered = Lowered::default();
    let within = order.path("within")?;
    for file in order.list("files") {
        let path = within.resolve(&file);
        let parent = path.parent().and_then(|parent| order.host.real(parent.as_path()).ok());
        let parent = parent.and_then(|parent| AbsPath::new(parent).ok());
        let real_within = order.host.real(within.as_path()).ok().and_then(|real| AbsPath::new(real).ok());
        // A link on the way would lead out of the folder.
        let inside = parent.zip(real_within).is_some_and(|(parent, within)| parent.is_within(&within));
        if path == within || !path.is_within(&within) || !inside {
            return Err(LowerError(Text::new(
                format!("`{path}` does not lie in `{within}`"),
                format!("`{path}` 不在 `{within}` 之中"),
            )));
        }
        if order.pending(&path).is_some() {
            continue;
        }
        let before = order.file(&path)?;
        if before == FileState::Absent {
            continue;
        }
        if order.host.git().tracks(&path) {
            lowered.limits.push((
                Applicability::Confirm,
                Text::new(format!("`{path}` is tracked by git"), format!("`{path}` 由 git 跟踪")),
            ));
        }
        lowered.changes.push(Change::WriteFile(WriteFile { path, before, after: FileState::Absent }));
    }
    Ok(lowered)
}
