//! Findings as Markdown, for a step's summary or a comment. What is quoted cannot become a link, a mention or HTML.

use crate::recipe::Lang;
use crate::redact::{Profile, Redactor};

use super::text::{confidence, level};
use super::{Diagnosis, words};

/// Renders a diagnosis.
pub fn render(diagnosis: &Diagnosis, lang: Lang) -> String {
    let mut redactor = Redactor::new(Profile::Secrets);
    let mut safe = |text: &str| escape(redactor.redact(text).as_str());
    let mut out = String::new();
    let marks: Vec<_> = diagnosis.marks().collect();
    let heading = if marks.is_empty() { diagnosis.outcome.sentence() } else { words::count_findings(marks.len()) };
    out.push_str(&format!("### fix: {}\n\n", safe(heading.get(lang))));
    if !marks.is_empty() {
        let heads = [words::column_where(), words::column_what(), words::column_sure(), words::column_level()];
        let heads: Vec<&str> = heads.iter().map(|head| head.get(lang)).collect();
        out.push_str(&format!("| {} |\n|---|---|---|---|\n", heads.join(" | ")));
        for (finding, place) in marks {
            let place_name =
                if place.anchor { "–".to_owned() } else { safe(&format!("{}:{}", place.path, place.line)) };
            let what =
                safe(&format!("{}: {}\n{}", finding.id, finding.title.get(lang), finding.message(place).get(lang)));
            let sure = safe(confidence(finding.confidence).get(lang));
            let level = safe(level(finding.applicability).get(lang));
            out.push_str(&format!("| {place_name} | {what} | {sure} | {level} |\n"));
        }
    }
    if let Some(counted) = diagnosis.count_suppressed() {
        out.push_str(&format!("\n{}\n", safe(counted.get(lang))));
    }
    out
}

/// Escapes text for one cell: code in backticks stays code, everything else is plain text.
pub fn escape(text: &str) -> String {
    let mut out = String::new();
    let balanced = text.matches('`').count().is_multiple_of(2);
    for (at, part) in text.split('`').enumerate() {
        let is_code = balanced && at % 2 == 1;
        if at > 0 {
            out.push_str(if balanced { "`" } else { "\\`" });
        }
        for character in part.chars() {
            match character {
                '|' => out.push_str("\\|"),
                '\r' => {}
                '\n' if is_code => out.push(' '),
                '\n' => out.push_str("<br>"),
                other if is_code => out.push(other),
                '<' => out.push_str("&lt;"),
                '>' => out.push_str("&gt;"),
                '&' => out.push_str("&amp;"),
                '@' => out.push_str("&#64;"),
                '\\' | '*' | '_' | '[' | ']' | '#' | '~' | '!' => {
                    out.push('\\');
                    out.push(character);
                }
                other => out.push(other),
            }
        }
    }
    // Addresses become links by themselves.
    out.replace("://", ":&#8203;//")
}

#[cfg(test)]
mod tests {
    use super::super::text::samples;
    use super::*;

    #[test]
    fn a_table_with_what_is_suppressed_below() {
        let text = render(&samples::placed(), Lang::En);
        assert!(text.starts_with("### fix: known issues: 2\n\n| WHERE | WHAT | CONFIDENCE | LEVEL |\n"), "{text}");
        assert!(text.contains("| src/a b.py:3 | tda-1.9: a target of an older LLVM is missing<br>"), "{text}");
        assert!(text.ends_with("\n1 suppressed: 1 by `fix.toml`\n"), "{text}");
    }

    #[test]
    fn nothing_quoted_is_markup() {
        assert_eq!(
            escape("<b>|[x](http://a) @me `a|<b>\nc`"),
            "&lt;b&gt;\\|\\[x\\](http:&#8203;//a) &#64;me `a\\|<b> c`"
        );
        assert_eq!(escape("one ` two"), "one \\` two");
    }
}
