//! Results as JSON documents for programs.

use serde::Serialize;
use serde_json::Value;

use crate::redact::{Profile, Redactor};

use super::{Diagnosis, SCHEMA_VERSION};

/// Renders one document: `schema_version` added, secrets taken out of every string, ends with a line feed.
///
/// A document is a struct of this module, so that serialising it cannot fail.
pub fn render(document: &impl Serialize) -> String {
    let mut text = serde_json::to_string_pretty(&prepared(document)).expect("a value serialises");
    text.push('\n');
    text
}

/// Renders one document on one line, for where it follows other output.
pub fn render_line(document: &impl Serialize) -> String {
    format!("{}\n", prepared(document))
}

/// Renders a diagnosis as JSON lines: one a finding, one for what is suppressed each, and a summary as the last.
pub fn render_lines(diagnosis: &Diagnosis) -> String {
    let line = |kind: &str, mut value: Value| {
        if let Value::Object(map) = &mut value {
            map.insert("kind".to_owned(), kind.into());
        }
        format!("{value}\n")
    };
    let findings = diagnosis.findings.iter().map(|finding| line("finding", prepared(finding)));
    let suppressed = diagnosis.suppressed.iter().map(|one| line("suppressed", prepared(one)));
    let summary = serde_json::json!({
        "outcome": diagnosis.outcome,
        "findings": diagnosis.findings.len(),
        "suppressed": diagnosis.suppressed.len(),
    });
    findings.chain(suppressed).chain([line("summary", prepared(&summary))]).collect()
}

/// Takes the secrets out of a document of somebody else's format, and writes it.
pub(super) fn render_foreign(mut value: Value) -> String {
    redact(&mut value, "", &mut Redactor::new(Profile::Secrets));
    let mut text = serde_json::to_string_pretty(&value).expect("a value serialises");
    text.push('\n');
    text
}

fn prepared(document: &impl Serialize) -> Value {
    let mut value = serde_json::to_value(document).expect("structs with text keys serialise");
    redact(&mut value, "", &mut Redactor::new(Profile::Secrets));
    if let Value::Object(map) = &mut value {
        map.insert("schema_version".to_owned(), SCHEMA_VERSION.into());
    }
    value
}

/// Takes the secrets out; a list's strings belong to the list's name. Arguments are one command, so that
/// `--token` and what follows it are seen together.
fn redact(value: &mut Value, name: &str, redactor: &mut Redactor) {
    match value {
        Value::Null | Value::Bool(_) | Value::Number(_) => {}
        Value::String(text) => *text = redactor.redact_value(name, text).into_string(),
        Value::Array(items) if matches!(name, "argv" | "command" | "next") => redact_command(items, redactor),
        Value::Array(items) => items.iter_mut().for_each(|item| redact(item, name, redactor)),
        Value::Object(map) => map.iter_mut().for_each(|(name, item)| redact(item, name, redactor)),
    }
}

fn redact_command(items: &mut [Value], redactor: &mut Redactor) {
    let words: Vec<String> = items.iter().map(|item| item.as_str().unwrap_or_default().to_owned()).collect();
    for (item, word) in items.iter_mut().zip(redactor.redact_words(&words)) {
        *item = Value::String(word.into_string());
    }
}

#[cfg(test)]
mod tests {
    use super::super::text::samples;
    use super::*;

    #[test]
    fn a_diagnosis_has_the_documented_shape() {
        let want = serde_json::json!({
            "schema_version": 1,
            "outcome": "found",
            "findings": [{
                "id": "tda-1.9", "slug": "llvmcgdata-residue", "rank": 1, "confidence": "certain", "applicability": "safe", "case": "stale-cache",
                "params": {"package": "LLD", "missing_targets": ["LLVMCGData"]},
                "evidence": [{"source": "build.log", "first_line": 12, "last_line": 13,
                              "text": "CMake Error at \u{1b}[31mLLDTargets.cmake\nfrom https://<secret-1>@host/x"}],
                "answers": [{"question": "stale_entries", "answer": "yes", "seen": "build/cmake/CMakeCache.txt names LLVMCGData"}],
                "title": "a target of an older LLVM is missing", "cause": "the build tree remembers another LLVM",
                "remedy": "set the build tree aside and build again"}]
        });
        let got: Value = serde_json::from_str(&render(&samples::diagnosis())).unwrap();
        assert_eq!(got, want);
    }

    #[test]
    fn secrets_stay_inside() {
        for text in [render(&samples::apply_result()), render(&samples::diagnosis()), render(&samples::history())] {
            assert!(!text.contains("hunter2"), "{text}");
            assert!(text.contains("\"schema_version\": 1") && text.ends_with("}\n"), "{text}");
        }
        let applied: Value = serde_json::from_str(&render(&samples::apply_result())).unwrap();
        assert_eq!(applied["outcome"], "repaired");
        assert_eq!(applied["next"], serde_json::json!(["pip", "install", "--token", "<secret-1>", "."]));
        assert_eq!(applied["repairs"][0]["changes"][0]["kind"], "remove-tree");
    }
}
