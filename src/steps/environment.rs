//! Verbs that edit the environment of our own commands and of the re-run; they change no file.

use super::{LowerError, Lowered, Order, Verb};
use crate::change::EnvEdit;
use crate::evidence::questions::ArgSpec;
use crate::recipe::Text;

/// `set_env = { name = "CMAKE_POLICY_VERSION_MINIMUM", value = "3.5" }`
pub const SET_ENV: Verb = Verb {
    name: "set_env",
    about: "Sets an environment variable for the re-run.",
    args: &[
        ArgSpec { name: "name", required: true, about: "The variable" },
        ArgSpec { name: "value", required: true, about: "Its value" },
    ],
    lower: set_env,
};

/// `unset_env = { names = "${llvm.variables}" }`
pub const UNSET_ENV: Verb = Verb {
    name: "unset_env",
    about: "Removes environment variables for the re-run.",
    args: &[ArgSpec { name: "names", required: true, about: "The variables" }],
    lower: unset_env,
};

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

fn set_env(order: &Order<'_>) -> Result<Lowered, LowerError> {
    let value = order.require("value")?;
    if value.contains(['\0', '\n']) {
        return Err(LowerError(Text::new("the value of a variable is one line", "环境变量的值必须是单行")));
    }
    edit(&order.require("name")?, EnvEdit::Set(value))
}

fn unset_env(order: &Order<'_>) -> Result<Lowered, LowerError> {
    let mut lowered = Lowered::default();
    for name in order.list("names") {
        lowered.overlay.extend(&edit(&name, EnvEdit::Unset)?.overlay);
    }
    Ok(lowered)
}

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
    edit(&order.require("name")?, EnvEdit::Prepend(folders))
}

fn edit(name: &str, edit: EnvEdit) -> Result<Lowered, LowerError> {
    let starts = name.bytes().next().is_some_and(|byte| byte.is_ascii_alphabetic() || byte == b'_');
    if !starts || !name.bytes().all(|byte| byte.is_ascii_alphanumeric() || byte == b'_') {
        return Err(LowerError(Text::new(
            format!("`{name}` is no name of a variable"),
            format!("`{name}` 不是合法的环境变量名"),
        )));
    }
    let mut lowered = Lowered::default();
    lowered.overlay.edit(name, edit);
    Ok(lowered)
}
