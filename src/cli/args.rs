//! The grammar of the command line.

use std::ffi::OsString;
use std::path::PathBuf;

use clap::{ArgAction, Args, CommandFactory, FromArgMatches, Parser, Subcommand, ValueEnum};

pub use super::audit_args::{Audit, Format, Reporting};
pub use super::author_args::{Recipe, RecipeAction};
pub use super::env_args::{EndProcess, Env, EnvFormat, ResetNpu};
use super::{help, help_zh};
use crate::recipe::Lang;

/// Recognises a failed build, repairs it, proves it, and can take it back.
#[derive(Debug, Parser)]
#[command(
    name = "fix",
    version,
    max_term_width = 100,
    disable_help_subcommand = true,
    before_help = "Examples:
  fix run -- pip install -e .        run a build; when it fails: diagnose, repair, run again
  fix diagnose build.log             say what went wrong, and why
  fix tda-1.9                        diagnose and repair one known issue here
  fix 1.9 -- cmake -B build          repair it, then run the command again
  fix rollback                       take the last repair back
  fix demo                           watch the whole story in under a minute

CMD is executed, never a shell line; for one, write: fix run -- bash -c 'cd build && cmake ..'"
)]
pub struct Cli {
    #[command(flatten)]
    pub common: Common,
    #[command(subcommand)]
    pub command: Command,
}

/// Flags that every command takes, before or after its name.
#[derive(Debug, Clone, Args)]
pub struct Common {
    /// Work in DIR instead of the current folder
    #[arg(short = 'C', value_name = "DIR", global = true)]
    pub directory: Option<PathBuf>,
    /// Show what would be done; write nothing but what `--patch` names
    #[arg(short = 'n', long, global = true)]
    pub dry_run: bool,
    /// Apply without asking: repairs up to `safe` (plain), or up to `confirm`. A `safe` repair is exact and can be
    /// taken back whole; a `confirm` repair costs something or leaves a choice, so it asks; `manual` is advice, and
    /// nothing applies it
    #[arg(short = 'y', long, value_name = "LEVEL", num_args = 0..=1, require_equals = true, default_missing_value = "safe", global = true)]
    pub yes: Option<Level>,
    /// Allow what cannot be taken back (unattended: for one issue, `=ID`)
    #[arg(long, value_name = "ID", num_args = 0..=1, require_equals = true, default_missing_value = "", global = true)]
    pub allow_irreversible: Option<String>,
    /// Read this log (repeatable; `-` is standard input)
    #[arg(long, value_name = "FILE", global = true)]
    pub log: Vec<PathBuf>,
    /// Let only the log speak: do not ask this machine
    #[arg(long, global = true)]
    pub log_only: bool,
    /// Let questions ask web servers that your own configuration names, without credentials
    #[arg(long, global = true)]
    pub online: bool,
    /// Give a parameter of the issue a value (repeatable)
    #[arg(long, value_name = "NAME=VALUE", global = true)]
    pub set: Vec<String>,
    /// Allow writing to PATH, outside the usual places (repeatable)
    #[arg(long, value_name = "PATH", global = true)]
    pub allow_path: Vec<PathBuf>,
    /// Write the patch to FILE (`-`: standard output)
    #[arg(long, value_name = "FILE", global = true)]
    pub patch: Option<PathBuf>,
    /// Print one JSON document instead of text; with `run`, as the last line of standard output
    #[arg(long, global = true)]
    pub json: bool,
    /// Language of the output; else LC_ALL, LC_MESSAGES, LANG decide
    #[arg(long, value_name = "LANG", global = true)]
    pub lang: Option<Language>,
    /// Colours
    #[arg(long, value_name = "WHEN", default_value = "auto", global = true)]
    pub color: When,
    /// Say less: no remarks, and for `diagnose` one line a finding
    #[arg(short, long, global = true)]
    pub quiet: bool,
    /// Say more: `diagnose` also tells how much of each log was read, and how many places matched
    #[arg(short, long, action = ArgAction::Count, global = true)]
    pub verbose: u8,
    /// Never ask
    #[arg(long, global = true)]
    pub no_input: bool,
    /// Keep journals and backups in DIR instead of $XDG_STATE_HOME/fix
    #[arg(long, value_name = "DIR", global = true)]
    pub state_dir: Option<PathBuf>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub enum Level {
    Safe,
    Confirm,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub enum Language {
    Zh,
    En,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub enum When {
    Auto,
    Always,
    Never,
}

#[derive(Debug, Subcommand)]
pub enum Command {
    /// Diagnose the issue here, show the diff, ask, apply, verify; with CMD also run it again
    #[command(before_help = "Examples:
  fix tda-1.9                               (the same as: fix apply tda-1.9)
  fix tda-1.9 -n                            show the repair, write nothing
  fix 1.9 --yes -- pip install -e .         repair, then run the command and see it pass
  fix 1.10 --set how=patch                  choose the way of repair
  fix apply --plan plan.json                apply a plan that was reviewed")]
    Apply(Apply),
    /// Run CMD; when it fails: diagnose, repair and run it again, until it passes or nothing helps
    #[command(before_help = "Examples:
  fix run -- pip install -e .
  fix run --yes -- cmake -B build -G Ninja
  fix run -n -- make -j8                    show what would be repaired
  fix run --yes --report-dir fix-report -- pip install -e .       in CI
  fix run -- bash -c 'cd build && cmake ..'")]
    Run(Run),
    /// Say what is wrong in a log and why, ranked
    #[command(before_help = "Examples:
  fix diagnose build.log
  cmake -B build 2>&1 | fix diagnose -
  fix diagnose --json --log-only ci.log")]
    Diagnose(Diagnose),
    /// Find known issues that show without a log; write nothing, run nothing of the project
    #[command(before_help = "Examples:
  fix audit
  fix audit --diff                          show what `fix` would change
  fix audit --format sarif > fix.sarif      for code scanning
  fix audit --baseline known.json           fail only for what is new (made by --write-baseline)
  fix audit --config-from origin/main       in a pull request: fix.toml of the target branch")]
    Audit(Audit),
    /// Write a repair to a file for review
    #[command(before_help = "Examples:
  fix plan tda-1.9 -o plan.json             then: fix apply --plan plan.json
  fix plan tda-1.10 --log build.log -o plan.json -- pip install -e .")]
    Plan(Plan),
    /// List the known issues
    #[command(before_help = "Examples:
  fix list
  fix list cmake
  fix list --search 'linker flags'
  fix list --json")]
    List(List),
    /// Explain a known issue: cause, remedy, and where the repair departs from the FAQ
    #[command(before_help = "Examples:
  fix show tda-1.9
  fix show 1.10 --lang zh")]
    Show(Show),
    /// Show what was changed, newest first
    #[command(before_help = "Examples:
  fix history
  fix history prune")]
    History(History),
    /// Take a repair back: the newest one of this folder, or ID
    #[command(before_help = "Examples:
  fix rollback
  fix rollback -n                           show what would be put back
  fix rollback 20261130-101500-1a2b
  fix rollback --force                      save what was changed since, then put back")]
    Rollback(Rollback),
    /// Print the environment of the last repair of this folder, or of ISSUE
    #[command(before_help = "Examples:
  eval \"$(fix env)\"                       into this shell
  fix env --format fish | source
  fix env --format github >> \"$GITHUB_ENV\"    for the next steps of a job
  fix env tda-1.1                           what the repair of an issue would set here
  fix env --persist                         into your shell's start-up file; `fix rollback` takes it out")]
    Env(Env),
    /// End one process of yours: what a repair runs
    #[command(hide = true)]
    EndProcess(EndProcess),
    /// Reset one NPU that is not well and that nobody uses: what a repair runs
    #[command(hide = true)]
    ResetNpu(ResetNpu),
    /// Write, check and test recipes
    #[command(before_help = "Examples:
  fix recipe new cmake-my-issue
  fix recipe lint
  fix recipe test cmake-my-issue
  fix recipe docs --check")]
    Recipe(Recipe),
    /// Write a bug report: what maintainers ask for, without names, addresses, paths and secrets
    #[command(before_help = "Examples:
  fix report build.log -- pip install -e .
  fix report build.log -o report.md         (nothing is sent anywhere)
  fix report build.log --hide 'project x' --format json")]
    Report(Report),
    /// Print a completion script for a shell
    #[command(before_help = "Examples:
  fix completions bash > ~/.local/share/bash-completion/completions/fix
  fix completions zsh > ~/.zfunc/_fix
  fix completions fish > ~/.config/fish/completions/fix.fish")]
    Completions(Completions),
    /// Write the manual pages into DIR, or print the main one
    #[command(before_help = "Examples:
  fix man | man -l -
  fix man ~/.local/share/man/man1")]
    Man(Man),
    /// Watch a real CMake project fail, be diagnosed, repaired, pass, and the repair be taken back
    #[command(before_help = "Examples:
  fix demo
  fix demo --keep")]
    Demo(Demo),
}

#[derive(Debug, Args)]
pub struct Apply {
    /// Issues: id, slug, alias, or a section number of the FAQ
    #[arg(value_name = "ISSUE", required_unless_present = "plan")]
    pub issues: Vec<String>,
    /// Apply this reviewed plan; refused when it is stale
    #[arg(long, value_name = "FILE", conflicts_with = "issues")]
    pub plan: Option<PathBuf>,
    #[command(flatten)]
    pub rerun: Rerun,
    /// Command to run again after the repair
    #[arg(last = true, value_name = "CMD")]
    pub cmd: Vec<OsString>,
}

#[derive(Debug, Args)]
pub struct Run {
    /// Most repairs before giving up
    #[arg(long, value_name = "N", default_value_t = 5)]
    pub max_repairs: u32,
    /// Look at runs that end with status 0 as well
    #[arg(long)]
    pub check_success: bool,
    #[command(flatten)]
    pub rerun: Rerun,
    /// Keep logs, plans, diagnosis and journal in DIR, redacted
    #[arg(long, value_name = "DIR")]
    pub report_dir: Option<PathBuf>,
    /// In GitHub Actions: whether the runner obeys `::` commands that CMD prints
    #[arg(long, value_name = "WHAT", default_value = "stop")]
    pub workflow_commands: WorkflowCommands,
    /// Command to run
    #[arg(value_name = "CMD", required = true, trailing_var_arg = true, allow_hyphen_values = true)]
    pub cmd: Vec<OsString>,
}

/// What becomes of workflow commands in a command's output.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub enum WorkflowCommands {
    /// They are text
    Stop,
    /// They are obeyed
    Allow,
}

#[derive(Debug, Clone, Args)]
pub struct Rerun {
    /// End a re-run that takes longer, and put everything back
    #[arg(long, value_name = "SECONDS")]
    pub rerun_timeout: Option<u64>,
}

#[derive(Debug, Args)]
pub struct Diagnose {
    /// Logs to read; `-` is standard input
    #[arg(value_name = "LOG")]
    pub logs: Vec<PathBuf>,
    /// Use the recipe files of DIR as well, for authors: one with a known id takes its place
    #[arg(long, value_name = "DIR")]
    pub recipes: Option<PathBuf>,
    #[command(flatten)]
    pub reporting: Reporting,
}

#[derive(Debug, Args)]
pub struct Plan {
    /// Issues: id, slug, alias, or a section number of the FAQ; none: the one that `--log` tells
    #[arg(value_name = "ISSUE")]
    pub issues: Vec<String>,
    /// Write the plan to FILE
    #[arg(short, long, value_name = "FILE")]
    pub output: Option<PathBuf>,
    /// Command to run again after the repair
    #[arg(last = true, value_name = "CMD")]
    pub cmd: Vec<OsString>,
}

#[derive(Debug, Args)]
pub struct List {
    /// Only ids, slugs, families and titles that hold this text
    #[arg(value_name = "TEXT")]
    pub text: Option<String>,
    /// Search by symptom: titles, causes and remedies in both languages; every word must be there
    #[arg(long, value_name = "TEXT")]
    pub search: Option<String>,
}

#[derive(Debug, Args)]
pub struct Show {
    #[arg(value_name = "ISSUE", required = true)]
    pub issues: Vec<String>,
}

#[derive(Debug, Args)]
pub struct History {
    #[command(subcommand)]
    pub action: Option<HistoryAction>,
}

#[derive(Debug, Subcommand)]
pub enum HistoryAction {
    /// Delete old backups, after they were named and you said yes
    #[command(before_help = "Examples:
  fix history prune -n                      name what would be deleted
  fix history prune --keep 3                the newest three of all folders stay; what was taken back goes first")]
    Prune(Prune),
}

#[derive(Debug, Args)]
pub struct Prune {
    /// Repairs to keep, of all folders; else FIX_KEEP_REPAIRS, or 10
    #[arg(long, value_name = "N")]
    pub keep: Option<usize>,
    /// Days to keep; else FIX_KEEP_DAYS, or 14
    #[arg(long, value_name = "N")]
    pub days: Option<u64>,
    /// GiB to keep; else FIX_KEEP_GIB, or 10
    #[arg(long, value_name = "N")]
    pub gib: Option<u64>,
}

#[derive(Debug, Args)]
pub struct Rollback {
    /// Repair to take back, as `fix history` names it
    #[arg(value_name = "ID")]
    pub id: Option<String>,
    /// Save what was changed since the repair, then put back
    #[arg(long)]
    pub force: bool,
}

#[derive(Debug, Args)]
pub struct Report {
    /// Logs to read; `-` is standard input; none: the newest that a tool left here
    #[arg(value_name = "LOG")]
    pub logs: Vec<PathBuf>,
    /// Write the report to FILE, mode 0600, and show it
    #[arg(short, long, value_name = "FILE")]
    pub output: Option<PathBuf>,
    /// Form of the report
    #[arg(long, value_name = "FORMAT", default_value = "markdown")]
    pub format: ReportFormat,
    /// Hide this text as well wherever it stands: a product, a customer (repeatable)
    #[arg(long, value_name = "TEXT")]
    pub hide: Vec<String>,
    /// Command to reproduce it; it is not run
    #[arg(last = true, value_name = "CMD")]
    pub cmd: Vec<OsString>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub enum ReportFormat {
    Markdown,
    Json,
}

#[derive(Debug, Args)]
pub struct Completions {
    /// Shell
    #[arg(value_name = "SHELL")]
    pub shell: Shell,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub enum Shell {
    Bash,
    Zsh,
    Fish,
}

#[derive(Debug, Args)]
pub struct Man {
    /// Folder to write into; it is made where it is not there
    #[arg(value_name = "DIR")]
    pub folder: Option<PathBuf>,
}

#[derive(Debug, Args)]
pub struct Demo {
    /// Keep the folder to play with
    #[arg(long)]
    pub keep: bool,
    /// Go on without waiting between the steps
    #[arg(long)]
    pub fast: bool,
}

impl Cli {
    /// Takes the folder that a command names as the one to work in.
    #[must_use]
    pub fn with_folder(mut self) -> Self {
        if let Command::Audit(Audit { dir: Some(dir), .. }) = &self.command {
            let base = self.common.directory.take().unwrap_or_default();
            self.common.directory = Some(base.join(dir));
        }
        self
    }
}

/// Parses the command line; `fix <issue>…` is `fix apply <issue>…`.
pub fn parse(args: impl IntoIterator<Item = OsString>) -> Result<Cli, clap::Error> {
    let args = with_apply(args.into_iter().collect());
    let mut command = help::fitted(Cli::command());
    if language(&args, |name| std::env::var(name).ok()) == Lang::Zh {
        command = help_zh::chinese(command);
    }
    let matches = command.try_get_matches_from(args)?;
    Cli::from_arg_matches(&matches)
}

/// The language of the help: `--lang` counts also where the rest does not parse.
pub fn language(args: &[OsString], env: impl Fn(&str) -> Option<String>) -> Lang {
    let own: Vec<&str> = args.iter().skip(1).map_while(|word| word.to_str().filter(|word| *word != "--")).collect();
    let given = own.iter().enumerate().rev().find_map(|(at, word)| match word.strip_prefix("--lang") {
        Some("") => own.get(at + 1).copied(),
        Some(value) => value.strip_prefix('='),
        None => None,
    });
    let given = match given {
        Some("zh") => Some(Lang::Zh),
        Some("en") => Some(Lang::En),
        _ => None,
    };
    Lang::choose(given, env)
}

/// Says whether `--json` stands among our own words, also where they do not parse.
pub fn asks_for_json(args: impl IntoIterator<Item = OsString>) -> bool {
    let mut own = args.into_iter().skip(1).take_while(|word| word != "--");
    own.any(|word| word == "--json")
}

/// What is wrong with the command line, without the usage.
pub fn message(error: &clap::Error) -> String {
    let text = error.render().to_string();
    let says = text.split("\n\nUsage:").next().unwrap_or_default().trim();
    says.strip_prefix("error: ").unwrap_or(says).to_owned()
}

/// Names of the commands, for suggestions.
pub fn command_names() -> Vec<String> {
    let command = Cli::command();
    command.get_subcommands().filter(|sub| !sub.is_hide_set()).map(|sub| sub.get_name().to_owned()).collect()
}

/// Puts `apply` before the first word that is neither an option nor a command.
fn with_apply(mut args: Vec<OsString>) -> Vec<OsString> {
    let command = Cli::command();
    let takes_value = |flag: &str| {
        command.get_arguments().any(|arg| {
            let named = arg.get_long().is_some_and(|long| flag == format!("--{long}"))
                || arg.get_short().is_some_and(|short| flag == format!("-{short}"));
            named && arg.get_action().takes_values() && !arg.is_require_equals_set()
        })
    };
    let mut at = 1;
    while at < args.len() {
        let word = args[at].to_string_lossy().into_owned();
        if word == "--" {
            break;
        }
        if word.starts_with('-') && word.len() > 1 {
            at += if takes_value(&word) { 2 } else { 1 };
            continue;
        }
        if command.find_subcommand(&word).is_none() {
            args.insert(at, "apply".into());
        }
        return args;
    }
    // `fix --plan FILE` and `fix --log FILE -- CMD` are repairs as well; plain `fix` and `fix --help` are not.
    args
}

#[cfg(test)]
#[path = "args_tests.rs"]
mod tests;
