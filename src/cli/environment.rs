//! The environment overlay as lines for a POSIX shell.

use crate::change::{EnvEdit, EnvOverlay};

/// Writes one line a variable; values are quoted.
pub fn shell_lines(overlay: &EnvOverlay) -> Vec<String> {
    overlay
        .iter()
        .map(|(name, edit)| match edit {
            EnvEdit::Set(value) => format!("export {name}={}", shell_words::quote(value)),
            EnvEdit::Unset => format!("unset {name}"),
            EnvEdit::Prepend(folders) => {
                let folders = folders.join(":");
                format!("export {name}={}${{{name}:+:${name}}}", shell_words::quote(&folders))
            }
        })
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_do_in_a_real_shell_what_the_overlay_says() {
        let mut overlay = EnvOverlay::default();
        overlay.edit("A", EnvEdit::Set("it's $HOME".into()));
        overlay.edit("B", EnvEdit::Unset);
        overlay.edit("P", EnvEdit::Prepend(vec!["/x y".into(), "/z".into()]));
        let script = format!("{}\nprintf '%s|%s|%s' \"$A\" \"${{B-unset}}\" \"$P\"", shell_lines(&overlay).join("\n"));
        for (before, want) in [(Some("/old"), "it's $HOME|unset|/x y:/z:/old"), (None, "it's $HOME|unset|/x y:/z")] {
            let mut command = std::process::Command::new("sh");
            command.args(["-c", &script]).env("B", "b").env_remove("P");
            if let Some(before) = before {
                command.env("P", before);
            }
            assert_eq!(String::from_utf8(command.output().unwrap().stdout).unwrap(), want);
        }
    }
}
