//! Commands that a result tells the user to run: as they are printed, they work.

use std::path::Path;

use super::session::Session;

/// Adds what this invocation was given to a command of ours: its folder, logs, values and allowed paths, and the
/// user's command. Without them it would look at something else, or see nothing.
pub fn again(session: &Session, base: &str, logs: &[&Path], command: &[String]) -> String {
    let mut words = String::new();
    let piped = logs.contains(&Path::new("-"));
    if piped {
        // What came through the pipe is gone: whoever made it makes it again.
        words.push_str("… | ");
    }
    words.push_str(base);
    let mut add = |flag: &str, value: &str| words.push_str(&format!(" {flag} {}", shell_words::quote(value)));
    if let Some(directory) = &session.common.directory {
        add("-C", &directory.to_string_lossy());
    }
    for log in logs {
        add("--log", &log.to_string_lossy());
    }
    for value in session.common.set.iter().filter(|value| !base.contains(value.as_str())) {
        add("--set", value);
    }
    for path in &session.common.allow_path {
        add("--allow-path", &path.to_string_lossy());
    }
    if let Some(folder) = &session.common.state_dir {
        add("--state-dir", &folder.to_string_lossy());
    }
    with_command(words, command)
}

/// `fix run` with flags and the user's command.
pub fn run(session: &Session, flags: &str, command: &[String]) -> String {
    again(session, format!("fix run {flags}").trim_end(), &[], command)
}

fn with_command(mut words: String, command: &[String]) -> String {
    if !command.is_empty() {
        words.push_str(&format!(" -- {}", shell_words::join(command)));
    }
    words
}
