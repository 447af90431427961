//! A plan as a person reads it: redacted, escaped, bounded, understandable without colour.

use std::ffi::OsString;
use std::os::unix::ffi::OsStrExt;

use anstyle::{AnsiColor, Style};

use crate::change::{
    AbsPath, Change, EnvEdit, FileImage, FileState, RemoveTree, Reversible, Run, TreeImage, TreeKind, WriteFile,
    posix_prepend,
};
use crate::os::terminal::{decode_visibly, escape_for_terminal, escape_line};
use crate::plan::{Plan, Precondition};
use crate::recipe::{Applicability, Lang, Text};
use crate::redact::{Profile, Redactor};

use super::unified::{self, LineKind};
use super::words;
use super::wrap::wrap;

/// How a plan is shown.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ScreenStyle {
    pub colour: Colour,
    /// Lines of one file's diff; the rest is counted.
    pub lines_a_file: usize,
    /// Columns at which sentences are wrapped; paths and lines of files never are.
    pub width: Option<usize>,
}

/// Whether escape sequences of ours are in the text.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Colour {
    Never,
    Always,
}

/// Characters of one line that are shown; the rest is counted.
const WIDEST: usize = 500;

const HEADING: Style = Style::new().bold();
const ADDED: Style = AnsiColor::Green.on_default();
const REMOVED: Style = AnsiColor::Red.on_default();
const HEAD: Style = AnsiColor::Cyan.on_default();
const PLAIN: Style = Style::new();

impl Default for ScreenStyle {
    fn default() -> Self {
        Self { colour: Colour::Never, lines_a_file: 200, width: None }
    }
}

/// Renders everything that `plan` does, in its order, and how freely it may be done.
pub fn render_for_screen(plan: &Plan, lang: Lang, style: &ScreenStyle) -> String {
    let mut screen =
        Screen { out: String::new(), root: &plan.root, lang, style, redactor: Redactor::new(Profile::Secrets) };
    screen.plan(plan);
    screen.out
}

/// Renders how one file differs from what it was.
pub fn render_file(path: &AbsPath, before: &FileImage, after: &FileImage, lang: Lang, style: &ScreenStyle) -> String {
    let mut screen = Screen { out: String::new(), root: path, lang, style, redactor: Redactor::new(Profile::Secrets) };
    screen.file(&WriteFile {
        path: path.clone(),
        before: FileState::Present(before.clone()),
        after: FileState::Present(after.clone()),
    });
    screen.out
}

/// Shows a command as one would type it, redacted and on one line.
pub fn shown_command(argv: &[OsString], redactor: &mut Redactor) -> String {
    let words: Vec<String> =
        argv.iter().map(|word| shell_words::quote(&decode_visibly(word.as_bytes())).into_owned()).collect();
    escape_line(redactor.redact(&words.join(" ")).as_str())
}

struct Screen<'a> {
    out: String,
    root: &'a AbsPath,
    lang: Lang,
    style: &'a ScreenStyle,
    redactor: Redactor,
}

impl Screen<'_> {
    fn plan(&mut self, plan: &Plan) {
        if !plan.acts() {
            self.say(PLAIN, "", &words::nothing());
        }
        for change in &plan.changes {
            match change {
                Change::WriteFile(write) => self.file(write),
                Change::RemoveTree(tree) => self.tree(tree),
                Change::Run(run) => self.command(run),
            }
        }
        self.environment(plan);
        if let Some(rerun) = &plan.rerun {
            let folder = self.name(&rerun.cwd);
            let command = shown_command(&rerun.argv, &mut self.redactor);
            match &rerun.instead_of {
                None => {
                    self.say(HEADING, "", &words::rerun(folder));
                    self.line(PLAIN, &format!("  {command}"));
                }
                Some(typed) => {
                    self.say(HEADING, "", &words::rerun_instead(folder));
                    let typed = shown_command(typed, &mut self.redactor);
                    self.line(REMOVED, &format!("- {typed}"));
                    self.line(ADDED, &format!("+ {command}"));
                }
            }
        }
        for precondition in &plan.preconditions {
            match precondition {
                Precondition::PortFree(port) => self.say(PLAIN, "  ", &words::port_free(port)),
            }
        }
        for note in &plan.notes {
            self.say(PLAIN, "", &framed(note, |text| words::note(text)));
        }
        for advice in &plan.advice {
            self.say(PLAIN, "", &framed(advice, |text| words::advice(text)));
        }
        self.say(HEADING, "", &applicability(plan.applicability));
        for limit in &plan.limits {
            self.say(PLAIN, "  ", &framed(limit, |text| words::because(text)));
        }
    }

    fn file(&mut self, write: &WriteFile) {
        let name = self.name(&write.path);
        let heading = match (&write.before, &write.after) {
            (FileState::Absent, _) => words::create(&name),
            (_, FileState::Absent) => words::delete(&name),
            (FileState::Present(_), FileState::Present(_)) => words::change(&name),
        };
        self.say(HEADING, "", &heading);
        match (&write.before, &write.after) {
            (FileState::Present(old), FileState::Present(new)) if old.mode != new.mode => {
                self.say(PLAIN, "", &words::mode(format!("{:o}", old.mode), format!("{:o}", new.mode)));
            }
            (FileState::Absent, FileState::Present(new)) if new.mode != 0o644 => {
                self.say(PLAIN, "", &words::new_mode(format!("{:o}", new.mode)));
            }
            (FileState::Present(_) | FileState::Absent, _) => {}
        }
        let (old, new) = (bytes(&write.before), bytes(&write.after));
        if old.contains(&0) || new.contains(&0) {
            let (was, is) = (thousands(old.len() as u64), thousands(new.len() as u64));
            self.say(
                PLAIN,
                "",
                &match (&write.before, &write.after) {
                    (FileState::Present(_), FileState::Present(_)) => words::binary(was, is),
                    (FileState::Present(_), FileState::Absent) => words::binary_of(was),
                    (FileState::Absent, _) => words::binary_of(is),
                },
            );
        } else if old == new {
            if old.is_empty() {
                self.say(PLAIN, "", &words::empty_file());
            }
        } else {
            self.hunks(&name, write, old, new);
        }
    }

    fn hunks(&mut self, name: &str, write: &WriteFile, old: &[u8], new: &[u8]) {
        // Redacted as wholes: within a hunk, the middle of a key looks like any text.
        let shown = |redactor: &mut Redactor, bytes: &[u8]| redactor.redact(&decode_visibly(bytes)).into_string();
        // The old side first, for its numbers, and again with what the new side tells.
        shown(&mut self.redactor, old);
        let new = shown(&mut self.redactor, new);
        let old = shown(&mut self.redactor, old);
        let Ok(lines) = unified::lines(old.as_bytes(), new.as_bytes()) else {
            return self.say(PLAIN, "", &words::cannot_compare());
        };
        if lines.is_empty() {
            return self.say(PLAIN, "", &words::differs_invisibly());
        }
        let prefix = |prefix: &str| if name.starts_with('/') { "" } else { prefix }.to_owned();
        let side = |state: &FileState, before: &str| match state {
            FileState::Absent => "/dev/null".to_owned(),
            FileState::Present(_) => format!("{}{name}", prefix(before)),
        };
        self.line(HEADING, &format!("--- {}", side(&write.before, "a/")));
        self.line(HEADING, &format!("+++ {}", side(&write.after, "b/")));
        for line in lines.iter().take(self.style.lines_a_file) {
            let style = match line.kind {
                LineKind::Head => HEAD,
                LineKind::Added => ADDED,
                LineKind::Removed => REMOVED,
                LineKind::Same | LineKind::NoNewline => PLAIN,
            };
            let text = String::from_utf8_lossy(&line.bytes);
            let text = escape_for_terminal(text.strip_suffix('\n').unwrap_or(&text));
            let text = self.bounded(&text);
            self.line(style, &format!("{}{text}", line.kind.sign()));
        }
        if let Some(more) = lines.len().checked_sub(self.style.lines_a_file).filter(|more| *more > 0) {
            self.say(PLAIN, "", &words::more_lines(thousands(more as u64)));
        }
    }

    fn tree(&mut self, tree: &RemoveTree) {
        let name = self.name(&tree.path);
        self.say(HEADING, "", &words::set_aside(format!("{name}/")));
        let (files, size) = (thousands(tree.before.files), bytes_for_reading(tree.before.bytes));
        let restorable = match &tree.before {
            TreeImage { at_least: true, .. } => words::restorable_at_least(files, size),
            TreeImage { estimated: true, .. } => words::restorable_about(files, size),
            TreeImage { .. } => words::restorable(files, size),
        };
        self.say(PLAIN, "  ", &restorable);
        match tree.kind {
            TreeKind::Derived => self.say(PLAIN, "  ", &words::derived()),
            TreeKind::Plain => {}
        }
    }

    fn command(&mut self, run: &Run) {
        let folder = self.name(&run.cwd);
        self.say(HEADING, "", &words::run(folder));
        let edits: Vec<(&str, &EnvEdit)> = run.env.iter().collect();
        for (name, edit) in edits {
            self.variable("  ", name, edit);
        }
        let command = shown_command(&run.argv, &mut self.redactor);
        self.line(PLAIN, &format!("  {command}"));
        if !run.writes.is_empty() {
            let paths: Vec<String> = run.writes.iter().map(|path| self.name(path)).collect();
            self.say(PLAIN, "  ", &words::writes(paths.join(", ")));
        }
        match run.reversible {
            Reversible::Yes => {}
            Reversible::No => self.say(REMOVED, "  ", &words::irreversible()),
        }
    }

    fn environment(&mut self, plan: &Plan) {
        if plan.overlay.is_empty() {
            return;
        }
        self.say(HEADING, "", &words::environment());
        for (name, edit) in plan.overlay.iter() {
            self.variable("", name, edit);
        }
    }

    fn variable(&mut self, indent: &str, name: &str, edit: &EnvEdit) {
        let mut quoted =
            |value: &str| shell_words::quote(self.redactor.redact_value(name, value).as_str()).into_owned();
        let (style, text) = match edit {
            EnvEdit::Set(value) => (ADDED, format!("+ export {name}={}", quoted(value))),
            EnvEdit::Unset => (REMOVED, format!("- unset {name}")),
            EnvEdit::Prepend(folders) => (ADDED, format!("+ {}", posix_prepend(name, &quoted(&folders.join(":"))))),
        };
        let text = self.bounded(&escape_line(&text));
        self.line(style, &format!("{indent}{text}"));
    }

    /// Names a path: relative to the project where it lies in it; escaped.
    fn name(&mut self, path: &AbsPath) -> String {
        let short = path.as_path().strip_prefix(self.root).unwrap_or(path.as_path());
        let short = if short.as_os_str().is_empty() { path.as_path() } else { short };
        escape_line(self.redactor.redact(&decode_visibly(short.as_os_str().as_bytes())).as_str())
    }

    /// Adds a sentence: redacted and escaped, as what it quotes comes from elsewhere.
    fn say(&mut self, style: Style, indent: &str, text: &Text) {
        let text = escape_for_terminal(self.redactor.redact(text.get(self.lang)).as_str());
        let mut indent = indent.to_owned();
        for line in text.lines() {
            let Some(width) = self.style.width else {
                self.line(style, &format!("{indent}{line}"));
                continue;
            };
            for (at, part) in wrap(line, width.saturating_sub(indent.len() + 2)).into_iter().enumerate() {
                if at == 1 {
                    indent.push_str("  ");
                }
                self.line(style, &format!("{indent}{part}"));
            }
        }
    }

    /// Adds a line that is safe already.
    fn line(&mut self, style: Style, text: &str) {
        if self.style.colour == Colour::Never || style.is_plain() {
            self.out.push_str(text);
        } else {
            self.out.push_str(&format!("{style}{text}{style:#}"));
        }
        self.out.push('\n');
    }

    fn bounded(&self, text: &str) -> String {
        let Some((cut, _)) = text.char_indices().nth(WIDEST) else {
            return text.to_owned();
        };
        let more = words::more_characters(thousands(text[cut..].chars().count() as u64));
        format!("{} {}", &text[..cut], more.get(self.lang))
    }
}

/// Puts a sentence into a frame, each language into its own.
fn framed(text: &Text, frame: impl Fn(&str) -> Text) -> Text {
    Text::new(frame(&text.en).en, frame(&text.zh).zh)
}

fn applicability(applicability: Applicability) -> Text {
    match applicability {
        Applicability::Manual => words::manual(),
        Applicability::Confirm => words::confirm(),
        Applicability::Safe => words::safe(),
    }
}

fn bytes(state: &FileState) -> &[u8] {
    match state {
        FileState::Absent => b"",
        FileState::Present(image) => &image.bytes,
    }
}

/// Writes a number with commas: `1,234`.
pub(crate) fn thousands(number: u64) -> String {
    let digits = number.to_string();
    let mut out = String::new();
    for (index, digit) in digits.chars().enumerate() {
        if index > 0 && (digits.len() - index).is_multiple_of(3) {
            out.push(',');
        }
        out.push(digit);
    }
    out
}

/// Writes a size in decimal units: `56.0 MB`.
pub(crate) fn bytes_for_reading(bytes: u64) -> String {
    if bytes < 1000 {
        return format!("{bytes} B");
    }
    let mut size = bytes as f64;
    let mut unit = "B";
    for next in ["kB", "MB", "GB", "TB", "PB", "EB"] {
        if size < 999.95 {
            break;
        }
        size /= 1000.0;
        unit = next;
    }
    format!("{size:.1} {unit}")
}

#[cfg(test)]
#[path = "screen_tests.rs"]
mod tests;
