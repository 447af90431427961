//! Findings as JUnit XML: a failed test a finding, a skipped one for what is suppressed.

use crate::recipe::Lang;
use crate::redact::{Profile, Redactor};

use super::{Diagnosis, SuppressedBy};

/// Renders a diagnosis. Without any finding there is one test that passed, since readers take none for a fault.
pub fn render(diagnosis: &Diagnosis, lang: Lang) -> String {
    let mut redactor = Redactor::new(Profile::Secrets);
    let mut safe = |text: &str| escape(redactor.redact(text).as_str());
    let mut cases = String::new();
    let mut failures = 0;
    for (finding, place) in diagnosis.marks() {
        failures += 1;
        let name = safe(&format!("{} {}:{}", finding.id, place.path, place.line));
        let (class, file) = (safe(&finding.slug), safe(&place.path));
        let (title, message) = (safe(finding.title.get(lang)), safe(finding.message(place).get(lang)));
        let line = place.line;
        cases.push_str(&format!(
            "    <testcase classname=\"fix.{class}\" name=\"{name}\" file=\"{file}\" line=\"{line}\">\n      \
             <failure message=\"{title}\">{message}</failure>\n    </testcase>\n"
        ));
    }
    for one in &diagnosis.suppressed {
        let name = safe(&format!("{} {}:{}", one.id, one.path, one.line));
        let by = match one.by {
            SuppressedBy::Comment => "comment",
            SuppressedBy::Config => "fix.toml",
            SuppressedBy::Baseline => "baseline",
        };
        let why = safe(&one.reason.as_ref().map_or(by.to_owned(), |reason| format!("{by}: {reason}")));
        cases.push_str(&format!(
            "    <testcase classname=\"fix.suppressed\" name=\"{name}\">\n      <skipped message=\"{why}\"/>\n    \
             </testcase>\n"
        ));
    }
    let skipped = diagnosis.suppressed.len();
    if failures == 0 && skipped == 0 {
        let sentence = safe(diagnosis.outcome.sentence().get(lang));
        cases.push_str(&format!("    <testcase classname=\"fix\" name=\"{sentence}\"/>\n"));
    }
    let tests = (failures + skipped).max(1);
    format!(
        "<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n\
         <testsuites name=\"fix\" tests=\"{tests}\" failures=\"{failures}\" errors=\"0\" skipped=\"{skipped}\">\n  \
         <testsuite name=\"fix\" tests=\"{tests}\" failures=\"{failures}\" errors=\"0\" skipped=\"{skipped}\">\n\
         {cases}  </testsuite>\n</testsuites>\n"
    )
}

/// Escapes text for an element or an attribute; what XML 1.0 cannot hold becomes `\u{fffd}`.
fn escape(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    for character in text.chars() {
        match character {
            '&' => out.push_str("&amp;"),
            '<' => out.push_str("&lt;"),
            '>' => out.push_str("&gt;"),
            '"' => out.push_str("&quot;"),
            '\n' => out.push_str("&#10;"),
            '\t' => out.push_str("&#9;"),
            '\u{0}'..='\u{1f}' | '\u{fffe}' | '\u{ffff}' => out.push('\u{fffd}'),
            other => out.push(other),
        }
    }
    out
}

#[cfg(test)]
mod tests {
    use super::super::text::samples;
    use super::*;
    use crate::report::Outcome;

    #[test]
    fn failures_and_skips_are_counted() {
        let xml = render(&samples::placed(), Lang::En);
        assert!(xml.contains("tests=\"3\" failures=\"2\" errors=\"0\" skipped=\"1\""), "{xml}");
        assert!(xml.contains("<skipped message=\"fix.toml: known &amp; accepted\"/>"), "{xml}");
        let clean =
            Diagnosis { findings: Vec::new(), suppressed: Vec::new(), outcome: Outcome::Clean, unmatched: None };
        assert!(render(&clean, Lang::Zh).contains("<testcase classname=\"fix\" name=\"此处未见已知问题\"/>"));
    }

    #[test]
    fn what_xml_cannot_hold_is_replaced() {
        assert_eq!(escape("<a \u{1b}[31m\u{0}&\"\n"), "&lt;a \u{fffd}[31m\u{fffd}&amp;&quot;&#10;");
    }
}
