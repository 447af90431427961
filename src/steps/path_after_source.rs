//! Puts a folder in front of PATH where it lasts: behind the line of a script that sources CANN's `set_env.sh`, which
//! would put CANN's own folders in front again.

use super::{LowerError, Lowered, Order, Verb};
use crate::change::{Change, EnvEdit, FileImage, FileState, WriteFile};
use crate::evidence::questions::ArgSpec;
use crate::evidence::sourced;
use crate::evidence::torch_launch::Place;
use crate::recipe::Text;

/// `path_after_source = { folder = "${order.bin}" }`
pub const PATH_AFTER_SOURCE: Verb = Verb {
    name: "path_after_source",
    about: "Puts a folder in front of PATH for the re-run: in the environment, and behind the place where the command's \
            own script sources set_env.sh.",
    args: &[ArgSpec { name: "folder", required: true, about: "The folder" }],
    lower: path_after_source,
};

fn path_after_source(order: &Order<'_>) -> Result<Lowered, LowerError> {
    let folder = order.path("folder")?.to_string();
    if folder.contains([':', '\n', '\0']) {
        return Err(LowerError(Text::new(
            format!("`{folder}` cannot stand on PATH"),
            format!("`{folder}` 不能放入 PATH"),
        )));
    }
    let mut lowered = Lowered::default();
    lowered.overlay.edit("PATH", EnvEdit::Prepend(vec![folder.clone()]));
    let Some(command) = order.so_far.rerun_argv.as_deref().or(order.command) else { return Ok(lowered) };
    let Some(found) = sourced::find(command, order.host).filter(|found| !found.has_behind(&folder)) else {
        return Ok(lowered);
    };
    let (old, new) = found.with(&format!("export PATH={}:\"$PATH\"", shell_words::quote(&folder)));
    match found.place {
        Place::Command => {}
        Place::Line(at) => {
            let mut argv = command.to_vec();
            if let Some(word) = argv.get_mut(at) {
                *word = new.into();
            }
            lowered.rerun_argv = Some(argv);
        }
        Place::Script(path) => {
            let before = order.file(&path)?;
            let changed =
                || LowerError(Text::new(format!("`{path}` changes meanwhile"), format!("`{path}` 在此期间发生了变化")));
            let FileState::Present(image) = &before else { return Err(changed()) };
            if image.bytes != old.as_bytes() || order.pending(&path).is_some() {
                return Err(changed());
            }
            let after = FileState::Present(FileImage { bytes: new.into_bytes(), mode: image.mode });
            lowered.changes.push(Change::WriteFile(WriteFile { path, before, after }));
        }
    }
    Ok(lowered)
}
