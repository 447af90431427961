//! Continuous integration: which system it is, and how its log is kept from what a build prints.
//!
//! GitHub's runner takes lines that begin with `::` for commands, whoever prints them. While the user's command runs,
//! and while its output is quoted, commands are stopped by a token that nobody can guess.

use std::io::Read;

use super::output;
use super::session::Session;
use crate::os::machine;

/// A system that runs builds by itself.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Ci {
    Github,
    Gitlab,
    Other,
}

impl Ci {
    /// Finds out whether this is one, by the variables that they set.
    pub fn here(session: &Session) -> Option<Self> {
        let is_set =
            |name: &str| session.env(name).is_some_and(|value| !value.is_empty() && value != "false" && value != "0");
        if is_set("GITHUB_ACTIONS") {
            return Some(Ci::Github);
        }
        if is_set("GITLAB_CI") {
            return Some(Ci::Gitlab);
        }
        let known = ["CI", "BUILD_NUMBER", "TF_BUILD", "JENKINS_URL", "BUILDKITE", "TEAMCITY_VERSION"];
        known.into_iter().any(is_set).then_some(Ci::Other)
    }
}

/// Keeps the runner from taking lines for commands until it is dropped.
#[derive(Debug, Default)]
pub struct Fence {
    token: Option<String>,
}

impl Fence {
    /// Stops the runner's commands. Where no token can be had, nothing is stopped: the caller says so.
    pub fn raise() -> Self {
        let token = token();
        if let Some(token) = &token {
            channel(&format!("::stop-commands::{token}\n"));
        }
        Self { token }
    }

    /// No fence.
    pub fn none() -> Self {
        Self::default()
    }
}

impl Drop for Fence {
    fn drop(&mut self) {
        if let Some(token) = self.token.take() {
            // What came before may have left its last line open.
            channel(&format!("\n::{token}::\n"));
        }
    }
}

/// Puts what is told meanwhile into a part of the log that can be folded.
pub fn grouped(ci: Option<Ci>, title: &str, tell: impl FnOnce()) {
    match ci {
        Some(Ci::Github) => {
            channel(&format!("::group::{}\n", crate::report::github::data(title)));
            let fence = Fence::raise();
            tell();
            drop(fence);
            channel("::endgroup::\n");
        }
        Some(Ci::Gitlab) => {
            let now = || machine::now().as_secs();
            let title = crate::os::terminal::escape_line(title);
            channel(&format!("\x1b[0Ksection_start:{}:fix[collapsed=false]\r\x1b[0K{title}\n", now()));
            tell();
            channel(&format!("\x1b[0Ksection_end:{}:fix\r\x1b[0K\n", now()));
        }
        Some(Ci::Other) | None => tell(),
    }
}

/// Says something to the runner: it reads both streams, and standard output is the command's where both are kept.
pub fn channel(text: &str) {
    let is_file = rustix::fs::fstat(rustix::stdio::stderr())
        .is_ok_and(|stat| rustix::fs::FileType::from_raw_mode(stat.st_mode) == rustix::fs::FileType::RegularFile);
    if is_file { output::hand_out(text.as_bytes()) } else { output::say_raw(text) }
}

fn token() -> Option<String> {
    let mut bytes = [0u8; 16];
    std::fs::File::open("/dev/urandom").and_then(|mut file| file.read_exact(&mut bytes)).ok()?;
    Some(bytes.iter().map(|byte| format!("{byte:02x}")).collect())
}
