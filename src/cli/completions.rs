//! `fix completions SHELL`: a completion script, with the ids of the known issues.

use anyhow::Result;
use clap::{Command, CommandFactory};
use clap_complete::aot::{Shell as Target, generate};

use super::args::{Cli, Completions, Shell};
use super::{help, output};
use crate::recipe::catalogue::Catalogue;

/// Prints the script.
pub fn run(args: &Completions) -> Result<u8> {
    output::hand_out(&script(args.shell));
    Ok(0)
}

/// The script for a shell.
pub fn script(shell: Shell) -> Vec<u8> {
    let target = match shell {
        Shell::Bash => Target::Bash,
        Shell::Zsh => Target::Zsh,
        Shell::Fish => Target::Fish,
    };
    let mut script = Vec::new();
    generate(target, &mut with_issues(help::fitted(Cli::command())), "fix", &mut script);
    if shell == Shell::Fish {
        // The generator leaves the values of positional arguments out for fish.
        let commands = WITH_ISSUES.join(" ");
        let line =
            format!("complete -c fix -n \"__fish_seen_subcommand_from {commands}\" -f -a \"{}\"\n", ids().join(" "));
        script.extend(line.into_bytes());
    }
    script
}

/// Commands that take issues.
const WITH_ISSUES: [&str; 3] = ["apply", "show", "plan"];

fn ids() -> Vec<String> {
    Catalogue::embedded().entries().iter().map(|entry| entry.id.to_string()).collect()
}

/// Lets the arguments that are issues be completed; any other word stays allowed where it is parsed.
fn with_issues(command: Command) -> Command {
    WITH_ISSUES.iter().fold(command, |command, name| {
        command.mut_subcommand(name, |sub| {
            sub.mut_arg("issues", |arg| arg.value_parser(clap::builder::PossibleValuesParser::new(ids())))
        })
    })
}
