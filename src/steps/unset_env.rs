//! Removes variables for our own commands and the re-run; changes no file.

use super::{LowerError, Lowered, Order, Verb, one_edit};
use crate::change::EnvEdit;
use crate::evidence::questions::ArgSpec;

/// `unset_env = { names = "${llvm.variables}" }`
pub const UNSET_ENV: Verb = Verb {
    name: "unset_env",
    about: "Removes environment variables for the re-run.",
    args: &[ArgSpec { name: "names", required: true, about: "The variables" }],
    lower: unset_env,
};

fn unset_env(order: &Order<'_>) -> Result<Lowered, LowerError> {
    let mut lowered = Lowered::default();
    for name in order.list("names") {
        lowered.overlay.extend(&one_edit(&name, EnvEdit::Unset)?.overlay);
    }
    Ok(lowered)
}
