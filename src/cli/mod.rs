//! The command line: one file a command. The only part that prints.

mod apply;
pub mod args;
mod audit;
mod audit_args;
mod author_args;
mod ci;
mod completions;
mod convert;
mod demo;
mod diagnose;
mod end_process;
mod env;
mod env_args;
mod environment;
pub mod fixture;
mod help;
mod help_zh;
mod hints;
mod history;
mod list;
mod man;
mod output;
mod own_file;
mod placing;
mod plan;
mod planfile;
mod policy_file;
mod progress;
mod reading;
mod recipe;
mod repair;
mod report;
mod report_dir;
mod reset_npu;
mod rollback;
mod run;
mod run_end;
mod run_report;
mod script_environment;
mod selecting;
mod sentences;
mod session;
mod showing;
mod trial;
pub mod vocabulary;
mod writing;

use std::process::ExitCode;

use crate::os::signals;
use crate::recipe::{Lang, Text};
use crate::report::{Failure, Outcome, Refusal};
use args::Command;
use session::Session;

/// Exit status for usage, an unknown id, a broken recipe, or an internal error.
const FAILED: u8 = 2;
/// Exit status of `fix run` when `fix` itself failed, as `env` and `timeout` have it.
const RUN_FAILED: u8 = 125;

/// Something that is refused: a guard held. Exit status 1.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{}", self.sentence(Lang::En))]
pub struct Refused(pub Box<Refusal>);

impl Refused {
    pub fn new(refusal: Refusal) -> Self {
        Self(Box::new(refusal))
    }

    /// Says it, the hint on a line of its own.
    pub fn sentence(&self, lang: Lang) -> String {
        let mut text = self.0.says.get(lang).to_owned();
        if let Some(hint) = &self.0.hint {
            text.push_str(match lang {
                Lang::En => "\nhint: ",
                Lang::Zh => "\n提示：",
            });
            text.push_str(hint.get(lang));
        }
        text
    }
}

/// Runs `fix` with this process's arguments.
pub fn main() -> ExitCode {
    let cli = match args::parse(std::env::args_os()) {
        Ok(cli) => cli.with_folder(),
        Err(error) => {
            let code = if error.use_stderr() { FAILED } else { 0 };
            // A closed pipe (`fix --help | head`) is nobody's failure.
            let words: Vec<std::ffi::OsString> = std::env::args_os().collect();
            let lang = args::language(&words, |name| std::env::var(name).ok());
            match help_zh::refusal(&error).filter(|_| lang == Lang::Zh && error.use_stderr()) {
                Some(says) => output::tell(&format!("错误：{}\n", session::for_screen(&says))),
                None => {
                    let _ = error.print();
                }
            }
            if error.use_stderr() && args::asks_for_json(std::env::args_os()) {
                print_failure(&anyhow::anyhow!("{}", args::message(&error)), Outcome::Failed, code, Vec::new());
            }
            return ExitCode::from(code);
        }
    };
    let own_failure = if matches!(cli.command, Command::Run(_)) { RUN_FAILED } else { FAILED };
    let json = cli.common.json;
    let session = match Session::new(cli.common) {
        Ok(session) if asks_programs(&cli.command) => session.asking_programs(),
        Ok(session) => session,
        Err(error) => {
            output::tell(&format!("error: {}\n", session::for_screen(&format!("{error:#}"))));
            if json {
                print_failure(&error, Outcome::Failed, own_failure, Vec::new());
            }
            return ExitCode::from(own_failure);
        }
    };
    let done = dispatch(&cli.command, &session);
    let passed = matches!((&cli.command, &done), (Command::Run(_), Ok(Code::Exit(0))));
    if looks_at_the_project(&cli.command) && !passed {
        mention_a_path_that_is_no_text(&session);
    }
    let flushed = output::finish();
    match (done, flushed) {
        (Ok(Code::Exit(code)), Ok(())) => ExitCode::from(code),
        (Ok(Code::Signal(signal)), _) => {
            signals::leave_by(signal);
            ExitCode::from(u8::try_from(128 + signal).unwrap_or(FAILED))
        }
        (Ok(Code::Exit(code)), Err(error)) => {
            if error.kind() == std::io::ErrorKind::BrokenPipe {
                return ExitCode::from(code);
            }
            output::tell(&format!("error: cannot write the output: {error}\n"));
            ExitCode::from(own_failure)
        }
        (Err(error), _) => {
            session.fail(&error);
            let refused = error.downcast_ref::<Refused>();
            let outcome = if refused.is_some() { Outcome::Refused } else { Outcome::Failed };
            let code = if refused.is_some() && own_failure == FAILED { 1 } else { own_failure };
            if json {
                print_failure(&error, outcome, code, Vec::new());
            }
            ExitCode::from(code)
        }
    }
}

/// Whether the system's own programs may be asked about the machine: to plan a repair, and to report it.
fn asks_programs(command: &Command) -> bool {
    match command {
        Command::Apply(_) | Command::Run(_) | Command::Plan(_) | Command::Report(_) | Command::ResetNpu(_) => true,
        Command::Diagnose(_)
        | Command::Audit(_)
        | Command::List(_)
        | Command::Show(_)
        | Command::History(_)
        | Command::Rollback(_)
        | Command::Env(_)
        | Command::Completions(_)
        | Command::Man(_)
        | Command::EndProcess(_)
        | Command::Recipe(_)
        | Command::Demo(_) => false,
    }
}

fn looks_at_the_project(command: &Command) -> bool {
    matches!(
        command,
        Command::Apply(_)
            | Command::Run(_)
            | Command::Plan(_)
            | Command::Diagnose(_)
            | Command::Audit(_)
            | Command::Report(_)
    )
}

/// Recipes hold paths as text: where the project's is none, the machine answers nothing.
fn mention_a_path_that_is_no_text(session: &Session) {
    let project = session.project();
    if project.as_path().to_str().is_none() {
        session.say(&Text::new(
            format!("note: the path of this project is not UTF-8 (`{project}`): `fix` finds and repairs nothing in it"),
            format!("注意：此项目的路径不是 UTF-8（`{project}`），`fix` 无法在其中查找或修复问题"),
        ));
    }
}

/// Hands a failure of ours to a program that asked for JSON.
fn print_failure(error: &anyhow::Error, outcome: Outcome, exit_code: u8, findings: Vec<crate::report::Finding>) {
    let text = format!("{error:#}");
    let (says, hint) = match text.split_once("\nhint: ") {
        Some((says, hint)) => (says.to_owned(), Some(hint.to_owned())),
        None => (text, None),
    };
    let refused = error.downcast_ref::<Refused>().map(|refused| (*refused.0).clone()).into_iter().collect();
    let document = Failure { outcome, exit_code, error: says, hint, refused, findings };
    output::hand_out(crate::report::json::render(&document).as_bytes());
    // Whoever went away does not want it.
    let _ = output::finish();
}

/// How the process ends.
pub enum Code {
    Exit(u8),
    /// By this signal, as the user's command did.
    Signal(i32),
}

fn dispatch(command: &Command, session: &Session) -> anyhow::Result<Code> {
    let code = match command {
        Command::Apply(args) => apply::run(args, session),
        Command::Run(args) => return run::run(args, session),
        Command::Diagnose(args) => diagnose::run(args, session),
        Command::Audit(args) => audit::run(args, session),
        Command::Plan(args) => plan::run(args, session),
        Command::List(args) => list::list(args, session),
        Command::Show(args) => list::show(args, session),
        Command::History(args) => history::run(args, session),
        Command::Rollback(args) => rollback::run(args, session),
        Command::Env(args) => env::run(args, session),
        Command::EndProcess(args) => end_process::run(args, session),
        Command::ResetNpu(args) => reset_npu::run(args, session),
        Command::Recipe(args) => recipe::run(&args.action, session),
        Command::Report(args) => report::run(args, session),
        Command::Completions(args) => completions::run(args),
        Command::Man(args) => man::run(args, session),
        Command::Demo(args) => demo::run(args, session),
    };
    code.map(Code::Exit)
}
