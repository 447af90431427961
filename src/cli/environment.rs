//! The environment of a repair as lines for shells, for the next steps of a CI job, and as JSON.

use std::ffi::OsString;
use std::os::unix::ffi::OsStrExt;

use crate::change::{AbsPath, EnvEdit, EnvOverlay, posix_prepend};

/// Writes one line a variable for a POSIX shell; values are quoted.
pub fn shell_lines(overlay: &EnvOverlay) -> Vec<String> {
    overlay
        .iter()
        .map(|(name, edit)| match edit {
            EnvEdit::Set(value) => format!("export {name}={}", shell_words::quote(value)),
            EnvEdit::Unset => format!("unset {name}"),
            EnvEdit::Prepend(folders) => {
                let folders = folders.join(":");
                posix_prepend(name, &shell_words::quote(&folders))
            }
        })
        .collect()
}

/// Like [`shell_lines`], for fish.
pub fn fish_lines(overlay: &EnvOverlay) -> Vec<String> {
    let quote = |text: &str| format!("'{}'", text.replace('\\', "\\\\").replace('\'', "\\'"));
    overlay
        .iter()
        .map(|(name, edit)| match edit {
            EnvEdit::Set(value) => format!("set -gx {name} {}", quote(value)),
            EnvEdit::Unset => format!("set -e {name}"),
            EnvEdit::Prepend(folders) => {
                // A list in fish, split at colons and joined by them for programs.
                let folders: Vec<String> = folders.iter().map(|folder| quote(folder)).collect();
                format!("set -gx --path {name} {} ${name}", folders.join(" "))
            }
        })
        .collect()
}

/// Lines for `$GITHUB_ENV`, and the names that cannot go there.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct GithubLines {
    pub lines: Vec<String>,
    /// Unset variables, of which GitHub's file knows nothing, and values of several lines.
    pub impossible: Vec<String>,
    /// Names that would change what later steps run (`LD_PRELOAD`, `PYTHONPATH`).
    pub withheld: Vec<String>,
}

/// Writes whole values for `$GITHUB_ENV`, each between delimiters that nobody can guess: a value must not be able to
/// set another variable.
pub fn github_lines(
    overlay: &EnvOverlay,
    now: &dyn Fn(&str) -> Option<OsString>,
    delimiter: &dyn Fn() -> String,
) -> GithubLines {
    let mut all = GithubLines { lines: Vec::new(), impossible: Vec::new(), withheld: Vec::new() };
    for (name, _) in overlay.iter() {
        if EnvOverlay::steers_programs(name) {
            all.withheld.push(name.to_owned());
            continue;
        }
        let value = overlay.value(name, now(name).as_deref()).and_then(|value| value.into_string().ok());
        match value.filter(|value| !value.contains(['\n', '\r', '\0'])) {
            None => all.impossible.push(name.to_owned()),
            Some(value) => {
                let delimiter = delimiter();
                all.lines.extend([format!("{name}<<{delimiter}"), value, delimiter]);
            }
        }
    }
    all
}

/// Puts `lines` into a start-up file's text as a block of its own, in place of an older block of the same folder.
pub fn with_block(text: &str, folder: &AbsPath, lines: &[String]) -> String {
    let name = in_one_comment(folder);
    let (begin, end) = (format!("# >>> fix: {name} >>>"), format!("# <<< fix: {name} <<<"));
    let block = format!(
        "{begin}\n# Written by `fix env --persist`; `fix rollback` takes it out.\n{}\n{end}\n",
        lines.join("\n")
    );
    let is_line = |at: usize, marker: &str| {
        let after = &text[at + marker.len()..];
        let starts = at == 0 || text[..at].ends_with('\n');
        starts && (after.is_empty() || after.starts_with('\n') || after.starts_with("\r\n"))
    };
    // The last beginning: one above it that is never closed belongs to whoever cut it off, with all that follows it.
    let start = text.rmatch_indices(&begin).map(|(at, _)| at).find(|at| is_line(*at, &begin));
    let stop = start.and_then(|start| {
        let mut ends = text[start..].match_indices(&end).map(|(at, _)| start + at);
        ends.find(|at| is_line(*at, &end))
    });
    if let (Some(start), Some(stop)) = (start, stop) {
        let rest = &text[stop + end.len()..];
        let rest = rest.strip_prefix("\r\n").or(rest.strip_prefix('\n')).unwrap_or(rest);
        return format!("{}{block}{rest}", &text[..start]);
    }
    let gap = if text.is_empty() || text.ends_with('\n') { "" } else { "\n" };
    format!("{text}{gap}{block}")
}

/// Writes a folder so that it ends no comment: whoever names a folder must not get a line of a start-up file. Two folders
/// are never written alike.
fn in_one_comment(folder: &AbsPath) -> String {
    let mut name = String::new();
    for chunk in folder.as_path().as_os_str().as_bytes().utf8_chunks() {
        for letter in chunk.valid().chars() {
            if letter.is_control() || letter == '\\' {
                name.extend(letter.escape_default());
            } else {
                name.push(letter);
            }
        }
        name.extend(chunk.invalid().iter().map(|byte| format!("\\x{byte:02x}")));
    }
    name
}

#[cfg(test)]
#[path = "environment_tests.rs"]
mod tests;
