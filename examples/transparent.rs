//! Runs a command as `fix run` does, without any diagnosis: for the tests and the benchmark of `os::process`.
//!
//! `TRANSPARENT_REPORT` names a file for what was seen, `TRANSPARENT_TIMEOUT_MS` limits the time, and
//! `TRANSPARENT_TWICE` runs the command a second time when its input can be read again. Without a command it runs a
//! helper that never ends, tells how that was interrupted, and waits to be interrupted again.

use std::fmt::Write;
use std::process::exit;
use std::time::Duration;

use build_fix::os::AbsPath;
use build_fix::os::process::{
    Command, Ended, Output, ReplayableStdin, SpawnError, Status, run_captured, run_transparently,
};
use build_fix::os::signals::{Interrupts, leave_by};

#[derive(Default)]
struct Seen {
    stdout: blake3::Hasher,
    stderr: blake3::Hasher,
}

/// Costs nothing, so that the benchmark measures the carrying alone.
struct Nothing;

impl Output for Seen {
    fn stdout(&mut self, bytes: &[u8]) {
        self.stdout.update(bytes);
    }

    fn stderr(&mut self, bytes: &[u8]) {
        self.stderr.update(bytes);
    }
}

impl Output for Nothing {
    fn stdout(&mut self, _bytes: &[u8]) {}

    fn stderr(&mut self, _bytes: &[u8]) {}
}

fn main() -> anyhow::Result<()> {
    let cwd = AbsPath::new(std::env::current_dir()?)?;
    if std::env::args_os().len() == 1 {
        return wait_to_be_interrupted(cwd);
    }
    let mut command = Command::new(std::env::args_os().skip(1), cwd);
    if let Some(limit) = std::env::var("TRANSPARENT_TIMEOUT_MS").ok().and_then(|limit| limit.parse().ok()) {
        command.timeout = Some(Duration::from_millis(limit));
    }
    let report = std::env::var_os("TRANSPARENT_REPORT");
    for name in ["TRANSPARENT_TIMEOUT_MS", "TRANSPARENT_REPORT", "TRANSPARENT_TWICE"] {
        command.env.push((name.into(), None));
    }
    let input = ReplayableStdin::remember();
    let mut seen = Seen::default();
    let result = match &report {
        None => run_transparently(&command, &mut Nothing),
        Some(_) => run_transparently(&command, &mut seen),
    };
    let mut text = describe(&result, &seen)?;
    if std::env::var_os("TRANSPARENT_TWICE").is_some() {
        match input {
            None => text.push_str("input cannot be read again\n"),
            Some(input) => {
                input.rewind()?;
                let mut seen = Seen::default();
                let again = run_transparently(&command, &mut seen);
                text.push_str(&describe(&again, &seen)?);
            }
        }
    }
    if let Some(path) = report {
        std::fs::write(path, text)?;
    }
    match result {
        Ok(ended) => {
            if let Status::Signalled(signal) = ended.status
                && ended.interrupted == Some(signal)
            {
                leave_by(signal);
            }
            exit(ended.shell_code())
        }
        Err(error) => {
            eprintln!("transparent: {error}");
            exit(error.shell_code())
        }
    }
}

fn wait_to_be_interrupted(cwd: AbsPath) -> anyhow::Result<()> {
    let interrupts = Interrupts::install()?;
    println!("ready");
    let captured = run_captured(&Command::new(["sleep", "600"], cwd), 0)?;
    println!("helper {:?}, it {:?}, we {:?}", captured.status, captured.interrupted, interrupts.requested());
    loop {
        std::thread::park();
    }
}

fn describe(result: &Result<Ended, SpawnError>, seen: &Seen) -> anyhow::Result<String> {
    let mut text = String::new();
    match result {
        Err(error) => writeln!(text, "error {error}")?,
        Ok(ended) => {
            let lost = ended.output_lost.as_ref().map(|error| error.kind());
            writeln!(text, "{:?} timed_out={}", ended.status, ended.timed_out)?;
            writeln!(text, "interrupted={:?} lost={lost:?}", ended.interrupted)?;
            writeln!(text, "stdout {} {}", seen.stdout.count(), seen.stdout.finalize())?;
            writeln!(text, "stderr {} {}", seen.stderr.count(), seen.stderr.finalize())?;
        }
    }
    Ok(text)
}
