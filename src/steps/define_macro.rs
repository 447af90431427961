//! Gives compilers a macro by the environment, for our own commands and the re-run; changes no file.

use super::{LowerError, Lowered, Order, Verb, one_edit, set_aside_tree};
use crate::change::EnvEdit;
use crate::evidence::build_command::BuildCommand;
use crate::evidence::questions::ArgSpec;
use crate::recipe::Text;

/// `define_macro = { name = "_GLIBCXX_USE_CXX11_ABI", value = "1" }`
pub const DEFINE_MACRO: Verb = Verb {
    name: "define_macro",
    about: "Defines a macro for C and C++ compilers by CPPFLAGS (for CMake by CXXFLAGS), in place of other values that \
            the variables give it.",
    args: &[
        ArgSpec { name: "name", required: true, about: "The macro" },
        ArgSpec { name: "value", required: true, about: "Its value" },
    ],
    lower: define_macro,
};

fn define_macro(order: &Order<'_>) -> Result<Lowered, LowerError> {
    let (name, value) = (order.require("name")?, order.require("value")?);
    let fits = |text: &str| !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_alphanumeric() || byte == b'_');
    if !fits(&name) || !fits(&value) {
        return Err(LowerError(Text::new(
            format!("`{name}={value}` is no definition of a macro"),
            format!("`{name}={value}` 不是合法的宏定义"),
        )));
    }
    let define = format!("-D{name}={value}");
    let builds = set_aside_tree::builds_of(order);
    let by_cmake = builds.iter().any(|build| match build {
        BuildCommand::Configure(_) => true,
        BuildCommand::Build { .. } | BuildCommand::Python(_) => false,
    });
    let mut lowered = Lowered::default();
    // setuptools puts CPPFLAGS behind its own flags; CXXFLAGS would take the place of them. CMake reads CXXFLAGS only.
    for variable in ["CFLAGS", "CPPFLAGS", "CXXFLAGS"] {
        let now = order.host.env(variable).unwrap_or_default().to_string_lossy().into_owned();
        let kept = without(&now, &name);
        let has_other = kept.len() != now.split_whitespace().count();
        let gets_it = variable == "CPPFLAGS" || (variable == "CXXFLAGS" && by_cmake);
        if !gets_it && !has_other {
            continue;
        }
        let words = kept.into_iter().chain(gets_it.then_some(define.as_str()));
        let text = words.collect::<Vec<_>>().join(" ");
        let edit = if text.is_empty() { EnvEdit::Unset } else { EnvEdit::Set(text) };
        lowered.overlay.extend(&one_edit(variable, edit)?.overlay);
    }
    Ok(lowered)
}

/// Lists the flags that do not define or undefine a macro.
fn without<'f>(flags: &'f str, name: &str) -> Vec<&'f str> {
    let is_about = |flag: &str| {
        let rest = flag.strip_prefix("-D").or_else(|| flag.strip_prefix("-U"));
        rest.is_some_and(|rest| rest.split('=').next() == Some(name))
    };
    flags.split_whitespace().filter(|flag| !is_about(flag)).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn other_flags_stay() {
        let flags = "-O2 -D_ABI=0 -D_ABI_X=1  -U_ABI -DX=_ABI -D_ABI";
        assert_eq!(without(flags, "_ABI"), ["-O2", "-D_ABI_X=1", "-DX=_ABI"]);
    }
}
