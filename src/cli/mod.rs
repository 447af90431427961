//! The command line: one file a command. The only part that prints.

mod args;
pub mod vocabulary;

/// Runs `fix` with this process's arguments.
pub fn main() -> std::process::ExitCode {
    std::process::ExitCode::SUCCESS
}
