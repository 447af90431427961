//! A page that is written line by line; whatever goes onto it is redacted and escaped.

use anstyle::{AnsiColor, Style};
use unicode_width::UnicodeWidthStr;

use crate::diff::{pad, wrap};
use crate::os::terminal::{escape_for_terminal, escape_line};
use crate::recipe::{Applicability, Text};
use crate::redact::{Profile, Redactor};

use super::super::{Confidence, Evidence, words};
use super::{Colour, TextStyle};

pub const PLAIN: Style = Style::new();
pub const BOLD: Style = Style::new().bold();
pub const GOOD: Style = AnsiColor::Green.on_default();
pub const BAD: Style = AnsiColor::Red.on_default();

/// Lines of one piece of evidence that are shown; the rest is counted.
const MOST_LINES: usize = 40;
/// Characters of one line of a log that are shown.
const WIDEST: usize = 500;

/// Text in the making.
pub struct Page<'a> {
    out: String,
    pub style: &'a TextStyle,
    redactor: Redactor,
}

impl<'a> Page<'a> {
    pub fn new(style: &'a TextStyle) -> Self {
        Self { out: String::new(), style, redactor: Redactor::new(Profile::Secrets) }
    }

    pub fn finish(self) -> String {
        self.out
    }

    pub fn blank(&mut self) {
        self.out.push('\n');
    }

    /// Makes text from elsewhere safe to show, on one line.
    pub fn safe(&mut self, text: &str) -> String {
        escape_line(self.redactor.redact(text).as_str())
    }

    /// Shows a command's words as one would type them.
    pub fn command(&mut self, words: &[String]) -> String {
        let words = self.redactor.redact_words(words);
        let words: Vec<_> = words.iter().map(|word| shell_words::quote(word.as_str())).collect();
        escape_line(&words.join(" "))
    }

    /// Adds a sentence, wrapped; further lines are indented by two more.
    pub fn say(&mut self, style: Style, indent: usize, text: &Text) {
        self.prose(style, indent, text.get(self.style.lang));
    }

    /// Adds prose in the reader's language, wrapped.
    pub fn prose(&mut self, style: Style, indent: usize, text: &str) {
        let text = escape_for_terminal(self.redactor.redact(text).as_str());
        let mut further = indent;
        for paragraph in text.lines() {
            for line in wrap(paragraph, self.style.width.saturating_sub(indent + 2)) {
                self.line(style, further, &line);
                further = indent + 2;
            }
        }
    }

    /// Adds a line that is safe already, whatever its width.
    pub fn line(&mut self, style: Style, indent: usize, text: &str) {
        let text = text.trim_end();
        self.out.push_str(&" ".repeat(indent));
        if self.style.colour == Colour::Never || style.is_plain() {
            self.out.push_str(text);
        } else {
            self.out.push_str(&format!("{style}{text}{style:#}"));
        }
        self.out.push('\n');
    }

    /// Adds lines of a log with their numbers, never wrapped.
    pub fn evidence(&mut self, indent: usize, evidence: &[Evidence]) {
        let mut source: Option<&str> = None;
        let mut last = 0;
        let widest = evidence.iter().map(|piece| piece.last_line.to_string().len()).max().unwrap_or(1);
        for piece in evidence {
            if source != Some(&piece.source) {
                let heading = match piece.source.as_str() {
                    "-" => words::in_standard_input(),
                    name => words::in_source(self.safe(name)),
                };
                self.say(PLAIN, indent, &heading);
                source = Some(&piece.source);
            } else if piece.first_line != last + 1 {
                self.line(PLAIN, indent, &format!("{:>widest$}", "…"));
            }
            last = piece.last_line;
            // Redacted as a whole: rules may look across lines.
            let text = self.redactor.redact(&piece.text).into_string();
            let lines: Vec<&str> = text.lines().collect();
            for (index, line) in (0..).zip(lines.iter().take(MOST_LINES)) {
                let number = piece.first_line.saturating_add(index);
                let cut = line.char_indices().nth(WIDEST);
                let (line, more) = cut.map_or((*line, ""), |(at, _)| (&line[..at], " …"));
                let shown = escape_for_terminal(line);
                self.line(PLAIN, indent, &format!("{number:>widest$} | {shown}{more}"));
            }
            if lines.len() > MOST_LINES {
                self.say(PLAIN, indent, &words::more_evidence(lines.len() - MOST_LINES));
            }
        }
    }

    /// Adds a table; the last column is prose and is wrapped under itself.
    pub fn table<const N: usize>(&mut self, heads: [Text; N], rows: &[[String; N]]) {
        let heads = heads.map(|head| head.get(self.style.lang).to_owned());
        let rows: Vec<[String; N]> = rows.iter().map(|row| row.clone().map(|cell| self.safe(&cell))).collect();
        let widths: [usize; N] = std::array::from_fn(|column| {
            std::iter::once(&heads).chain(&rows).map(|row| row[column].width()).max().unwrap_or(0)
        });
        let before: usize = widths[..N - 1].iter().map(|width| width + 2).sum();
        let room = self.style.width.saturating_sub(before).max(self.style.width / 3);
        for (index, row) in std::iter::once(&heads).chain(&rows).enumerate() {
            let mut line: String = row[..N - 1].iter().zip(widths).map(|(cell, width)| pad(cell, width + 2)).collect();
            for part in wrap(&row[N - 1], room) {
                line.push_str(&part);
                self.line(if index == 0 { BOLD } else { PLAIN }, 0, &line);
                line = " ".repeat(before);
            }
        }
    }
}

/// Puts a sentence into a frame, each language into its own.
pub fn framed(text: &Text, frame: impl Fn(&str) -> Text) -> Text {
    Text::new(frame(&text.en).en, frame(&text.zh).zh)
}

/// Names a level.
pub fn level(applicability: Applicability) -> Text {
    match applicability {
        Applicability::Manual => words::manual(),
        Applicability::Confirm => words::confirm(),
        Applicability::Safe => words::safe(),
    }
}

/// Names a confidence.
pub fn confidence(confidence: Confidence) -> Text {
    match confidence {
        Confidence::Refuted => words::refuted(),
        Confidence::Possible => words::possible(),
        Confidence::Likely => words::likely(),
        Confidence::Certain => words::certain(),
    }
}
