//! Workflow commands of GitHub Actions: annotations, within what a step may have.
//!
//! The runner takes every line that begins with `::` for a command: nothing of a log or a file may get there unescaped.

use crate::recipe::Lang;
use crate::redact::{Profile, Redactor};

use super::{Confidence, Diagnosis, Finding, Place, words};

/// Annotations of one kind that the runner keeps of a step.
pub const MOST_OF_A_KIND: usize = 10;
/// Bytes that the runner takes as a step's summary.
pub const LARGEST_SUMMARY: usize = 1 << 20;

/// What goes to a step's log.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Annotations {
    /// Lines for standard output.
    pub text: String,
    /// Findings that have no annotation; they stand in the summary.
    pub left: usize,
}

/// Renders a diagnosis as annotations, the surest first.
pub fn render(diagnosis: &Diagnosis, lang: Lang) -> Annotations {
    let mut marks: Vec<(&Finding, &Place)> = diagnosis.marks().collect();
    marks.sort_by_key(|(finding, _)| std::cmp::Reverse(finding.confidence));
    let mut counts = [0usize; 3];
    let mut redactor = Redactor::new(Profile::Secrets);
    let mut text = String::new();
    let mut left = 0;
    for (finding, place) in marks {
        let kind = kind(finding.confidence);
        counts[kind.0] += 1;
        if counts[kind.0] > MOST_OF_A_KIND {
            left += 1;
            continue;
        }
        let mut safe = |text: &str| redactor.redact(text).into_string();
        let title = safe(&format!("{}: {}", finding.id, finding.title.get(lang)));
        let (path, message) = (safe(&place.path), safe(finding.message(place).get(lang)));
        let file = if path.is_empty() { String::new() } else { format!("file={},", property(&path)) };
        let (line, column, title) = (place.line.max(1), place.column.max(1), property(&title));
        let message = data(&message);
        text.push_str(&format!("::{} {file}line={line},col={column},title={title}::{message}\n", kind.1));
    }
    let total: usize = counts.iter().sum();
    let count = words::count_findings(total);
    let suppressed = diagnosis.count_suppressed();
    let summary = match (&suppressed, lang) {
        (Some(suppressed), Lang::En) => format!("{}, {}", count.en, suppressed.en),
        (Some(suppressed), Lang::Zh) => format!("{}，{}", count.zh, suppressed.zh),
        (None, _) => count.get(lang).to_owned(),
    };
    text.push_str(&format!("fix: {}\n", data(&summary)));
    Annotations { text, left }
}

fn kind(confidence: Confidence) -> (usize, &'static str) {
    match confidence {
        Confidence::Certain => (0, "error"),
        Confidence::Likely => (1, "warning"),
        Confidence::Possible | Confidence::Refuted => (2, "notice"),
    }
}

/// Escapes a command's message.
pub fn data(text: &str) -> String {
    text.replace('%', "%25").replace('\r', "%0D").replace('\n', "%0A")
}

/// Escapes a command's property.
pub fn property(text: &str) -> String {
    data(text).replace(':', "%3A").replace(',', "%2C")
}

/// Makes one line that the runner takes for no command.
pub fn plain(text: &str) -> String {
    let line = text.replace(['\r', '\n'], " ");
    let line = line.trim_start();
    // The old form counts anywhere in a line.
    let line = line.replace("##[", "# #[");
    if line.starts_with("::") { format!("> {line}") } else { line }
}

/// Cuts a step's summary where it would be refused whole.
pub fn fit_summary(text: &str, already: usize) -> &str {
    let mut end = LARGEST_SUMMARY.saturating_sub(already).min(text.len());
    while !text.is_char_boundary(end) {
        end -= 1;
    }
    if end == text.len() { text } else { text[..end].rfind('\n').map_or("", |at| &text[..=at]) }
}

#[cfg(test)]
mod tests {
    use super::super::text::samples;
    use super::*;
    use crate::recipe::Text;
    use proptest::prelude::*;

    #[test]
    fn annotations_are_ranked_and_counted() {
        let mut diagnosis = samples::placed();
        let place = diagnosis.findings[0].places[0].clone();
        diagnosis.findings[0].places = vec![place.clone(); 12];
        diagnosis.findings[0].confidence = Confidence::Likely;
        diagnosis.findings.push(Finding { id: "z".into(), places: vec![place], ..samples::finding() });
        let annotations = render(&diagnosis, Lang::En);
        let lines: Vec<&str> = annotations.text.lines().collect();
        assert!(lines[0].starts_with("::error file=src/a b.py,line=3,col=5,title=z%3A a target"), "{}", lines[0]);
        assert_eq!(lines.iter().filter(|line| line.starts_with("::warning ")).count(), MOST_OF_A_KIND);
        assert_eq!(
            (annotations.left, *lines.last().unwrap()),
            (2, "fix: known issues: 13, 1 suppressed: 1 by `fix.toml`")
        );
    }

    #[test]
    fn a_summary_fits() {
        assert_eq!(fit_summary("a\nb\n", LARGEST_SUMMARY - 3), "a\n");
        assert_eq!(fit_summary("中\n", LARGEST_SUMMARY - 1), "");
        assert_eq!(fit_summary("a\n", 0), "a\n");
    }

    proptest! {
        #[test]
        fn nothing_that_is_quoted_is_a_command(text in any::<String>()) {
            let words = Text::new(text.clone(), text.clone());
            let place = Place { path: text.clone(), says: words.clone(), ..Place::default() };
            let finding = Finding { title: words, places: vec![place], ..samples::finding() };
            let diagnosis = Diagnosis { findings: vec![finding], ..samples::placed() };
            let lines = render(&diagnosis, Lang::En).text;
            prop_assert_eq!(lines.split(['\r', '\n']).filter(|line| line.trim_start().starts_with("::")).count(), 1);
            prop_assert!(!plain(&text).trim_start().starts_with("::"));
        }
    }
}
