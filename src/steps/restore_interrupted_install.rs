//! Puts back what pip renamed before it was cut off, or sets its waste aside.
//!
//! Works out anew what there is: neither the log nor the recipe says what is moved.

use std::ffi::OsString;

use super::set_aside_tree::measure;
use super::{LowerError, Lowered, Order, Verb};
use crate::change::{
    AbsPath, Change, EnvOverlay, FileImage, FileState, RemoveTree, Reversible, Run, TreeFolder, TreeKind, WriteFile,
};
use crate::evidence::python::installer;
use crate::evidence::python::leftovers::{self, Interrupted, State};
use crate::evidence::questions::ArgSpec;
use crate::recipe::Text;

/// `restore_interrupted_install = { folder = "${left.folder}", names = "${left.names}" }`
pub const RESTORE_INTERRUPTED_INSTALL: Verb = Verb {
    name: "restore_interrupted_install",
    about: "Gives the folders that an interrupted pip renamed their names again, or sets them aside where another version is whole.",
    args: &[
        ArgSpec { name: "folder", required: true, about: "The folder of packages" },
        ArgSpec { name: "names", required: true, about: "The distributions" },
    ],
    lower: restore_interrupted_install,
};

const TIMEOUT_SECONDS: u64 = 600;

fn restore_interrupted_install(order: &Order<'_>) -> Result<Lowered, LowerError> {
    let folder = order.path("folder")?;
    let names = order.list("names");
    let mut lowered = Lowered::default();
    for found in leftovers::of_folder(order.host, &folder).iter().filter(|found| names.contains(&found.name)) {
        match found.state {
            State::Restorable => restore(order, &folder, found, &mut lowered)?,
            State::Replaced => {
                for (from, _) in &found.moves {
                    set_aside(order, from, &mut lowered)?;
                }
            }
            State::Incomplete => {
                let name = &found.name;
                return Err(LowerError(Text::new(
                    format!("the old version of `{name}` is not whole any more"),
                    format!("`{name}` 的旧版本已不完整"),
                )));
            }
        }
    }
    if lowered.changes.is_empty() {
        return Err(LowerError(Text::new(
            format!("nothing of these is left in `{folder}`"),
            format!("`{folder}` 中没有这些残留"),
        )));
    }
    Ok(lowered)
}

fn restore(order: &Order<'_>, folder: &AbsPath, found: &Interrupted, lowered: &mut Lowered) -> Result<(), LowerError> {
    let mover = installer::helper_path(order.host, "mv")
        .ok_or_else(|| LowerError(Text::new("there is no `mv` on PATH", "PATH 中没有 `mv`")))?;
    for path in &found.in_the_way {
        set_aside(order, path, lowered)?;
    }
    for (from, to) in &found.moves {
        let words: [OsString; 5] =
            [mover.as_path().into(), "-T".into(), "--".into(), from.as_path().into(), to.as_path().into()];
        lowered.changes.push(Change::Run(Run {
            argv: words.to_vec(),
            cwd: folder.clone(),
            env: EnvOverlay::default(),
            writes: vec![from.clone(), to.clone()],
            reversible: Reversible::Yes,
            timeout_seconds: TIMEOUT_SECONDS,
        }));
    }
    for (from, to) in &found.scripts {
        let FileState::Present(image) = order.file(from)? else { continue };
        let after = FileState::Present(FileImage { mode: image.mode, ..image });
        lowered.changes.push(Change::WriteFile(WriteFile { path: to.clone(), before: order.file(to)?, after }));
    }
    Ok(())
}

fn set_aside(order: &Order<'_>, path: &AbsPath, lowered: &mut Lowered) -> Result<(), LowerError> {
    lowered.changes.push(Change::RemoveTree(RemoveTree {
        path: path.clone(),
        before: measure(order.host, path)?,
        kind: TreeKind::Plain,
        folder: TreeFolder::Goes,
    }));
    Ok(())
}
