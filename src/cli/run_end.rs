//! How `fix run` ends: as the command did, or with what kept it from starting.

use super::reading::{Asking, Stages};
use super::repair::{Attempt, Build};
use super::session::Session;
use super::{Code, convert, output};
use crate::change::EnvOverlay;
use crate::diagnosis::Origin;
use crate::os::process::{SpawnError, Status};
use crate::plan::Rerun;
use crate::recipe::Text;
use crate::report::{self, Outcome};

/// A command whose reader has gone ends by this signal.
const SIGPIPE: i32 = rustix::process::Signal::PIPE.as_raw();

/// Says whether the command ended since nobody reads what it prints any more.
pub fn reader_left(attempt: &Attempt) -> bool {
    attempt.ended.status == Status::Signalled(SIGPIPE)
}

/// Tells why the command could not be started, and what is known of that: our own words are all the log there is.
pub fn not_started(build: &Build<'_>, rerun: &Rerun, error: &SpawnError) -> anyhow::Result<Code> {
    let session = build.session;
    let code = status(error.shell_code());
    session.warn(&Text::new(error.to_string(), error.to_string()));
    let reading = build.reader.read("fix", format!("fix: {error}\n").as_bytes(), Stages::Unasked)?;
    let host = session.host_with(&EnvOverlay::default());
    let asking = Asking { host: &host, origin: Origin::ThisMachine, command: Some(&rerun.argv) };
    let findings = build.reader.diagnose(&reading, &asking, session)?;
    let findings: Vec<_> =
        findings.iter().enumerate().map(|(at, finding)| convert::finding(finding, at + 1, None)).collect();
    if session.common.json {
        super::print_failure(&anyhow::anyhow!("{error}"), Outcome::Failed, code, findings);
    } else if !session.common.quiet && !findings.is_empty() {
        let diagnosis =
            report::Diagnosis { findings, outcome: Outcome::Found, unmatched: None, suppressed: Vec::new() };
        output::tell(&format!("\n{}", report::text::render_diagnosis(&diagnosis, &session.text_style())));
    }
    Ok(Code::Exit(code))
}

/// A status as an exit code.
pub fn status(code: i32) -> u8 {
    u8::try_from(code).unwrap_or(u8::MAX)
}

/// The end of the command, as our own.
pub fn ending(session: &Session, attempt: &Attempt) -> Code {
    if let (true, Some(error)) = (attempt.passed(), &attempt.ended.output_lost) {
        session.warn(&Text::new(
            format!("the command's output could not be written: {error}"),
            format!("命令的输出无法写出：{error}"),
        ));
        return Code::Exit(super::RUN_FAILED);
    }
    match attempt.ended.status {
        Status::Exited(code) => Code::Exit(status(code)),
        // A shell loop around `fix` ends at Ctrl-C only when `fix` ends by the signal, too. What killed the command
        // alone (SIGSEGV, the OOM killer) is told as a shell tells it.
        Status::Signalled(signal) if attempt.ended.interrupted == Some(signal) => Code::Signal(signal),
        Status::Signalled(signal) => Code::Exit(status(128 + signal)),
    }
}
