//! A set of edits to environment variables, for our own commands and the re-run.

use std::collections::BTreeMap;
use std::ffi::{OsStr, OsString};

use serde::{Deserialize, Serialize};

/// Edits to environment variables, by name, in a fixed order.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct EnvOverlay(BTreeMap<String, EnvEdit>);

/// What happens to one variable.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum EnvEdit {
    Set(String),
    Unset,
    /// Folders put in front of a `:`-separated list, first one first; already leading ones are not repeated.
    Prepend(Vec<String>),
}

/// The command that puts folders, which are quoted already, in front of a list, for a POSIX shell.
///
/// An empty list stays without a colon at its end: to compilers, the loader and Python that is the current folder.
pub fn posix_prepend(name: &str, quoted: &str) -> String {
    format!("export {name}={quoted}\"${{{name}:+:${name}}}\"")
}

impl EnvOverlay {
    /// Sets what happens to `name`; a second `Prepend` goes in front of the first.
    pub fn edit(&mut self, name: impl Into<String>, edit: EnvEdit) {
        let name = name.into();
        let edit = match (self.0.remove(&name), edit) {
            (Some(EnvEdit::Prepend(old)), EnvEdit::Prepend(mut new)) => {
                new.extend(old.into_iter().filter(|folder| !new.contains(folder)).collect::<Vec<_>>());
                EnvEdit::Prepend(new)
            }
            (_, edit) => edit,
        };
        self.0.insert(name, edit);
    }

    /// Adds all edits of `other` on top of these.
    pub fn extend(&mut self, other: &EnvOverlay) {
        for (name, edit) in &other.0 {
            self.edit(name.clone(), edit.clone());
        }
    }

    /// Says whether a variable makes programs load or run something: none that comes from a project, and none that is
    /// handed to the next steps of a job.
    pub fn steers_programs(name: &str) -> bool {
        const NAMES: &[&str] = &[
            "BASHOPTS",
            "BASH_ENV",
            "ENV",
            "HOME",
            "IFS",
            "LD_AUDIT",
            "LD_PRELOAD",
            "NODE_OPTIONS",
            "NODE_PATH",
            "PERL5LIB",
            "PERL5OPT",
            "PROMPT_COMMAND",
            "PS4",
            "RUBYLIB",
            "RUBYOPT",
            "SHELL",
            "SHELLOPTS",
            "ZDOTDIR",
        ];
        const BEGINNINGS: &[&str] = &["ACTIONS_", "BASH_FUNC_", "DYLD_", "GITHUB_", "GIT_", "PYTHON", "RUNNER_"];
        NAMES.contains(&name) || BEGINNINGS.iter().any(|beginning| name.starts_with(beginning))
    }

    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// Lists the edits by name.
    pub fn iter(&self) -> impl Iterator<Item = (&str, &EnvEdit)> {
        self.0.iter().map(|(name, edit)| (name.as_str(), edit))
    }

    /// Returns the value that `name` has after the edits, given the value it has now; `None` is unset.
    pub fn value(&self, name: &str, now: Option<&OsStr>) -> Option<OsString> {
        match self.0.get(name) {
            None => now.map(OsStr::to_owned),
            Some(EnvEdit::Unset) => None,
            Some(EnvEdit::Set(value)) => Some(value.into()),
            Some(EnvEdit::Prepend(folders)) => {
                let now = now.unwrap_or_default().to_owned();
                let old: Vec<OsString> = std::env::split_paths(&now)
                    .map(std::path::PathBuf::into_os_string)
                    .filter(|entry| !folders.iter().any(|folder| entry == folder.as_str()))
                    .collect();
                let mut value = OsString::from(folders.join(":"));
                // An empty PATH entry means the current folder, so that an unset variable gets no trailing colon.
                if !now.is_empty() {
                    for entry in old {
                        value.push(":");
                        value.push(entry);
                    }
                }
                Some(value)
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn prepend_moves_a_folder_to_the_front_once() {
        let mut overlay = EnvOverlay::default();
        overlay.edit("PATH", EnvEdit::Prepend(vec!["/b".into()]));
        overlay.edit("PATH", EnvEdit::Prepend(vec!["/a".into()]));
        let value = |now: Option<&str>| overlay.value("PATH", now.map(OsStr::new)).unwrap();
        assert_eq!(value(Some("/usr/bin:/b")), "/a:/b:/usr/bin");
        assert_eq!(value(None), "/a:/b");
        assert_eq!(overlay.value("HOME", Some(OsStr::new("/h"))).unwrap(), "/h");
    }
}
