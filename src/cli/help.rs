//! Which flags each command's help shows: those that do something there. All of them parse everywhere.

use clap::Command;

/// Flags that only a repair looks at, and what else a command does not.
const WITHOUT_EFFECT: &[(&str, &[&str])] = &[
    ("diagnose", &["dry_run", "yes", "allow_irreversible", "patch", "no_input"]),
    ("plan", &["yes", "allow_irreversible", "no_input", "verbose"]),
    ("list", READS_NOTHING),
    ("show", READS_NOTHING),
    ("history", &["allow_irreversible", "log", "log_only", "set", "allow_path", "patch", "verbose"]),
    ("rollback", &["yes", "no_input", "allow_irreversible", "log", "log_only", "set", "patch", "verbose"]),
    ("recipe", WRITES_RECIPES),
    ("report", &["yes", "allow_irreversible", "set", "allow_path", "patch", "verbose", "no_input"]),
    ("completions", NEEDS_NOTHING),
    ("man", NEEDS_BUT_A_FOLDER),
    ("demo", NEEDS_NOTHING),
];

const NEEDS_NOTHING: &[&str] = &[
    "directory",
    "dry_run",
    "yes",
    "allow_irreversible",
    "log",
    "log_only",
    "set",
    "allow_path",
    "patch",
    "json",
    "verbose",
    "no_input",
    "state_dir",
];

/// `man DIR` writes.
const NEEDS_BUT_A_FOLDER: &[&str] = &[
    "directory",
    "yes",
    "allow_irreversible",
    "log",
    "log_only",
    "set",
    "allow_path",
    "patch",
    "json",
    "verbose",
    "no_input",
    "state_dir",
];

const WRITES_RECIPES: &[&str] =
    &["yes", "allow_irreversible", "log", "log_only", "set", "allow_path", "patch", "verbose", "no_input", "state_dir"];

const READS_NOTHING: &[&str] = &[
    "dry_run",
    "yes",
    "allow_irreversible",
    "log",
    "log_only",
    "set",
    "allow_path",
    "patch",
    "verbose",
    "no_input",
    "state_dir",
];

/// Leaves out of each command's help what has no effect on it.
pub fn fitted(mut command: Command) -> Command {
    // Only then do subcommands know the flags that every command takes.
    command.build();
    for sub in command.get_subcommands_mut() {
        let Some((_, without)) = WITHOUT_EFFECT.iter().find(|(name, _)| *name == sub.get_name()) else { continue };
        let shown = std::mem::take(sub);
        *sub = shown.mut_args(|arg| if without.contains(&arg.get_id().as_str()) { arg.hide(true) } else { arg });
    }
    command
}

#[cfg(test)]
mod tests {
    use std::ffi::OsString;

    use clap::CommandFactory;

    use super::*;
    use crate::cli::args::{self, Cli};

    #[test]
    fn help_shows_what_has_an_effect() {
        let mut command = fitted(Cli::command());
        let names: Vec<String> = command.get_subcommands().map(|sub| sub.get_name().to_owned()).collect();
        assert!(WITHOUT_EFFECT.iter().all(|(name, _)| names.iter().any(|known| known == name)));
        let globals: Vec<String> = Cli::command().get_arguments().map(|arg| arg.get_id().to_string()).collect();
        for (name, hidden) in WITHOUT_EFFECT {
            assert!(hidden.iter().all(|id| globals.iter().any(|known| known == id)), "{name}");
            let help = command.find_subcommand_mut(name).unwrap().render_long_help().to_string();
            for id in *hidden {
                // By its long name at the beginning of a line: an example may hold it.
                let flag = format!("--{}", id.replace('_', "-"));
                assert!(!help.lines().any(|line| line.trim_start().starts_with(&flag)), "{name} {flag}:\n{help}");
            }
        }
        let help = command.find_subcommand_mut("apply").unwrap().render_long_help().to_string();
        assert!(help.contains("--yes") && help.contains("taken back whole"), "{help}");
        let parsed = args::parse(["fix", "list", "-n", "--yes"].map(OsString::from)).unwrap();
        assert!(parsed.common.dry_run);
    }
}
