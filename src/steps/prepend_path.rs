//! Puts folders in front of a search path for our own commands and the re-run; changes no file.

use super::{LowerError, Lowered, Order, Verb, one_edit};
use crate::change::EnvEdit;
use crate::evidence::questions::ArgSpec;
use crate::recipe::Text;

/// `prepend_path = { name = "PATH", folders = "${clang.bin}" }`
pub const PREPEND_PATH: Verb = Verb {
    name: "prepend_path",
    about: "Puts folders in front of a list such as PATH for the re-run.",
    args: &[
        ArgSpec { name: "name", required: true, about: "The variable" },
        ArgSpec { name: "folders", required: true, about: "The folders, first one first" },
    ],
    lower: prepend_path,
};

fn prepend_path(order: &Order<'_>) -> Result<Lowered, LowerError> {
    let folders = order.list("folders");
    // A relative folder, or a list in disguise, would make a search path depend on where a command runs.
    if let Some(odd) = folders.iter().find(|folder| !folder.starts_with('/') || folder.contains([':', '\0', '\n'])) {
        return Err(LowerError(Text::new(
            format!("`{odd}` is no absolute folder for a search path"),
            format!("`{odd}` 不是可用于搜索路径的绝对目录"),
        )));
    }
    if folders.is_empty() {
        return Ok(Lowered::default());
    }
    one_edit(&order.require("name")?, EnvEdit::Prepend(folders))
}
