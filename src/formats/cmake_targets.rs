//! Files that CMake's `install(EXPORT)` wrote: which targets they define, which they need, which version they say.
//!
//! Reads generated text only; it is no CMake interpreter and must never become one.

use std::collections::BTreeSet;

/// Lists the imported targets that an Exports or Targets file defines.
pub fn defined(text: &str) -> BTreeSet<String> {
    text.lines()
        .filter_map(|line| line.strip_prefix("add_library(").or_else(|| line.strip_prefix("add_executable(")))
        .filter(|arguments| arguments.contains("IMPORTED"))
        .filter_map(|arguments| arguments.split_whitespace().next())
        .map(str::to_owned)
        .collect()
}

/// Lists the targets of other export sets that a Targets file checks at its end.
pub fn required(text: &str) -> BTreeSet<String> {
    let Some(list) = text.lines().rev().find_map(|line| line.strip_prefix("foreach(_target \"")) else {
        return BTreeSet::new();
    };
    let list = list.trim_end().trim_end_matches(')').trim_end().trim_end_matches('"');
    list.split("\" \"").filter(|name| !name.is_empty()).map(str::to_owned).collect()
}

/// Returns the PACKAGE_VERSION of a ConfigVersion file.
pub fn package_version(text: &str) -> Option<&str> {
    assigned(text, "PACKAGE_VERSION")
}

/// Returns the version of LLVM that an LLD, MLIR or Clang Config file asks for.
pub fn wanted_llvm_version(text: &str) -> Option<&str> {
    assigned(text, "LLVM_VERSION")
}

/// Returns the literal that `set(<name> …)` gives, quoted or not.
fn assigned<'a>(text: &'a str, name: &str) -> Option<&'a str> {
    text.lines().find_map(|line| {
        let rest = line.trim_start().strip_prefix("set(")?.trim_start().strip_prefix(name)?;
        let value = rest.strip_prefix([' ', '\t'])?.trim_start().split(')').next()?.trim().trim_matches('"');
        (!value.is_empty() && !value.contains(['$', '"', ' '])).then_some(value)
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn set(names: &[&str]) -> BTreeSet<String> {
        names.iter().map(|name| (*name).to_owned()).collect()
    }

    #[test]
    fn reads_generated_files() {
        let text = "foreach(_cmake_expected_target IN ITEMS lldCommon lldELF)\nendforeach()\n\
            # Create imported target lldCommon\nadd_library(lldCommon STATIC IMPORTED)\n\
            add_library(lldELF INTERFACE IMPORTED)\nadd_executable(lld IMPORTED)\nadd_library(mine STATIC a.c)\n\
            foreach(_target \"LLVMSupport\" \"LLVMCodeGen\" \"LLVMCGData\" )\n  if(NOT TARGET \"${_target}\" )\n";
        assert_eq!(defined(text), set(&["lld", "lldCommon", "lldELF"]));
        assert_eq!(required(text), set(&["LLVMCGData", "LLVMCodeGen", "LLVMSupport"]));
        assert_eq!(required(&text.replace('\n', "\r\n")), set(&["LLVMCGData", "LLVMCodeGen", "LLVMSupport"]));
        assert_eq!(required("foreach(_target \"LLVM\")\n"), set(&["LLVM"]));
        assert_eq!(required(""), BTreeSet::new());
    }

    #[test]
    fn reads_versions() {
        let cases = [
            ("set(PACKAGE_VERSION \"20.0.0\")\n", Some("20.0.0")),
            ("set(PACKAGE_VERSION 20.0.0git)\n", Some("20.0.0git")),
            ("  set(PACKAGE_VERSION \"${X}\")\nset(PACKAGE_VERSION \"1\")", Some("1")),
            ("set(PACKAGE_VERSION_EXACT TRUE)\n", None),
            ("set(PACKAGE_VERSION", None),
        ];
        for (text, want) in cases {
            assert_eq!(package_version(text), want, "{text}");
        }
        assert_eq!(wanted_llvm_version("set(LLVM_VERSION 22.1.8)\n"), Some("22.1.8"));
    }
}
