//! The flags of `fix audit`, and those of every command that reports findings.

use std::path::PathBuf;

use clap::builder::PossibleValuesParser;
use clap::{Args, ValueEnum};

/// How findings are handed out, and from which on the command fails.
#[derive(Debug, Clone, Args)]
pub struct Reporting {
    /// Format of the output
    #[arg(long, value_name = "FORMAT")]
    pub format: Option<Format>,
    /// End with status 1 from this confidence on: possible, likely, certain, never
    #[arg(long, value_name = "LEVEL", value_parser = PossibleValuesParser::new(["possible", "likely", "certain", "never"]), hide_possible_values = true)]
    pub fail_on: Option<String>,
}

/// Formats of findings.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub enum Format {
    Text,
    Json,
    /// JSON lines
    Jsonl,
    /// SARIF 2.1.0, for code scanning
    Sarif,
    /// Annotations of GitHub Actions
    Github,
    /// GitLab code quality
    Gitlab,
    Junit,
    Markdown,
}

#[derive(Debug, Args)]
pub struct Audit {
    /// Look here instead of the current folder
    #[arg(value_name = "DIR")]
    pub dir: Option<PathBuf>,
    /// Show the repairs as diffs
    #[arg(long)]
    pub diff: bool,
    #[command(flatten)]
    pub reporting: Reporting,
    /// Only these issues (repeatable; `pip-*` for all that begin so)
    #[arg(long, value_name = "ISSUE")]
    pub select: Vec<String>,
    /// None of these issues (repeatable)
    #[arg(long, value_name = "ISSUE")]
    pub ignore: Vec<String>,
    /// Tell only what FILE does not know; fix.toml may name it
    #[arg(long, value_name = "FILE")]
    pub baseline: Option<PathBuf>,
    /// Write what is found into the baseline
    #[arg(long)]
    pub write_baseline: bool,
    /// Read FILE instead of the project's fix.toml
    #[arg(long, value_name = "FILE", conflicts_with = "config_from")]
    pub config: Option<PathBuf>,
    /// Read fix.toml as it is in this commit: a pull request cannot suppress its own findings
    #[arg(long, value_name = "REV")]
    pub config_from: Option<String>,
}
