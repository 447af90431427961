//! Sets a variable for our own commands and the re-run; changes no file.

use super::{LowerError, Lowered, Order, Verb, one_edit};
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

fn set_env(order: &Order<'_>) -> Result<Lowered, LowerError> {
    let value = order.require("value")?;
    if value.contains(['\0', '\n']) {
        return Err(LowerError(Text::new("the value of a variable is one line", "环境变量的值必须是单行")));
    }
    one_edit(&order.require("name")?, EnvEdit::Set(value))
}
