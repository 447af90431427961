//! Where a command's own scripts source CANN's `set_env.sh`: what was on PATH before stands behind CANN's folders then.

use std::ffi::OsString;

use super::Host;
use super::build_command::{base_name, plain_words, strip_wrappers};
use super::torch_launch::{Place, is_shell_script, read_script};
use crate::formats::shell_script::commands;
use crate::os::AbsPath;

/// The last place of a text where `set_env.sh` is sourced.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Sourced {
    pub place: Place,
    /// 1-based, for the user.
    pub line: u32,
    /// Where a command that is to follow is put in.
    at: usize,
    /// What stands between the two commands.
    joint: &'static str,
    text: String,
}

/// What follows may not be split by more than this.
const NAME: &str = "set_env.sh";

impl Sourced {
    /// The text with one more command behind the sourcing.
    pub fn with(&self, command: &str) -> (String, String) {
        let (before, after) = self.text.split_at(self.at);
        let joint = if self.joint == "\n" && (before.ends_with('\n') || before.is_empty()) { "" } else { self.joint };
        let end = if self.joint == "\n" && !after.is_empty() && joint.is_empty() { "\n" } else { "" };
        (self.text.clone(), format!("{before}{joint}{command}{end}{after}"))
    }

    /// Says whether PATH is set behind it with this folder already.
    pub fn has_behind(&self, folder: &str) -> bool {
        self.text[self.at..].contains(folder)
    }
}

/// Finds where the command, or the script that it runs, sources `set_env.sh` last.
pub fn find(command: &[OsString], host: &dyn Host) -> Option<Sourced> {
    let words = plain_words(command)?;
    let rest = strip_wrappers(&words)?;
    let skipped = words.len() - rest.len();
    let first = rest.first()?;
    if !matches!(base_name(first), "sh" | "bash" | "dash" | "zsh") {
        let path = host.project().resolve(first);
        let is_script = first.contains('/') && is_shell_script(&path, host);
        return if is_script { in_script(path, host) } else { None };
    }
    let at = rest.iter().position(|word| word.starts_with('-') && !word.starts_with("--") && word.ends_with('c'));
    if let Some(at) = at {
        let line = rest.get(at + 1)?;
        return in_text(line, Place::Line(skipped + at + 1));
    }
    let script = rest.iter().skip(1).find(|word| !word.starts_with('-'))?;
    in_script(host.project().resolve(script), host)
}

fn in_script(path: AbsPath, host: &dyn Host) -> Option<Sourced> {
    let text = read_script(&path, host)?;
    in_text(&text, Place::Script(path))
}

fn in_text(text: &str, place: Place) -> Option<Sourced> {
    let commands = commands(text)?;
    let sources = |command: &&crate::formats::shell_script::Command| match command.words.as_slice() {
        [verb, file, ..] => {
            let named = text[file.span.clone()].trim_end_matches(['"', '\'']);
            matches!(verb.literal.as_deref(), Some("source" | ".")) && named.ends_with(NAME)
        }
        _ => false,
    };
    let last = commands.iter().rev().find(sources)?;
    let end = last.words.last()?.span.end;
    let line = u32::try_from(text[..end].matches('\n').count()).ok()? + 1;
    let rest_of_line = text[end..].split('\n').next().unwrap_or_default();
    let (at, joint) = match &place {
        // A line of its own, behind the one that sources.
        Place::Script(_) if !rest_of_line.ends_with('\\') => ((end + rest_of_line.len() + 1).min(text.len()), "\n"),
        Place::Line(_) | Place::Command => {
            let next = text[end..].trim_start_matches([' ', '\t']);
            let joint = if next.starts_with("&&") {
                " && "
            } else if next.is_empty() || next.starts_with([';', '\n']) {
                "; "
            } else {
                return None;
            };
            (end, joint)
        }
        Place::Script(_) => return None,
    };
    Some(Sourced { place, line, at, joint, text: text.to_owned() })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::evidence::LocalHost;
    use crate::evidence::questions::testing::NoGit;

    #[test]
    fn one_more_command_behind_the_last_sourcing() {
        let folder = tempfile::tempdir().unwrap();
        let root = AbsPath::new(folder.path().canonicalize().unwrap()).unwrap();
        let host = LocalHost::new(root.clone(), [], Box::new(NoGit));
        for (text, want) in [
            ("source /c/set_env.sh\npython k.py\n", "source /c/set_env.sh\nX\npython k.py\n"),
            (
                "export PATH=/b:$PATH\n. \"$CANN/set_env.sh\" || exit 1  # CANN\npython k.py",
                "export PATH=/b:$PATH\n. \"$CANN/set_env.sh\" || exit 1  # CANN\nX\npython k.py",
            ),
            ("source a/set_env.sh\nsource b/set_env.sh", "source a/set_env.sh\nsource b/set_env.sh\nX"),
            ("# source a/set_env.sh\npython k.py\n", "-"),
            ("source other.sh\n", "-"),
        ] {
            std::fs::write(root.resolve("t.sh").as_path(), text).unwrap();
            let got = find(&["bash".into(), "t.sh".into()], &host).map_or("-".into(), |found| found.with("X").1);
            assert_eq!(got, want, "{text}");
        }
        for (line, want) in [
            ("source /c/set_env.sh && python k.py", "source /c/set_env.sh && X && python k.py"),
            ("source /c/set_env.sh; python k.py", "source /c/set_env.sh; X; python k.py"),
            ("source /c/set_env.sh || exit; python k.py", "-"),
            ("python k.py", "-"),
        ] {
            let got =
                find(&["bash".into(), "-c".into(), line.into()], &host).map_or("-".into(), |found| found.with("X").1);
            assert_eq!(got, want, "{line}");
        }
    }
}
