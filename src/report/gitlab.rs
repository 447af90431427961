//! Findings as a GitLab code quality report: an array, without any room for more.

use serde_json::{Value, json};

use crate::recipe::Lang;

use super::{Confidence, Diagnosis, json};

/// Renders a diagnosis.
pub fn render(diagnosis: &Diagnosis, lang: Lang) -> String {
    let issues: Vec<Value> = diagnosis
        .marks()
        .map(|(finding, place)| {
            let severity = match finding.confidence {
                Confidence::Certain => "critical",
                Confidence::Likely => "major",
                Confidence::Possible | Confidence::Refuted => "minor",
            };
            json!({
                "description": format!("{}: {}", finding.title.get(lang), finding.message(place).get(lang)),
                "check_name": finding.id,
                "fingerprint": place.fingerprint,
                "severity": severity,
                "location": {"path": place.path, "lines": {"begin": place.line.max(1)}},
            })
        })
        .collect();
    json::render_foreign(Value::Array(issues))
}

#[cfg(test)]
mod tests {
    use super::super::text::samples;
    use super::*;

    #[test]
    fn every_issue_has_what_gitlab_needs() {
        let issues: Value = serde_json::from_str(&render(&samples::placed(), Lang::En)).unwrap();
        let issues = issues.as_array().unwrap();
        assert_eq!(issues.len(), 2);
        assert_eq!(issues[0]["location"], json!({"path": "src/a b.py", "lines": {"begin": 3}}));
        assert_ne!(issues[0]["fingerprint"], issues[1]["fingerprint"]);
        assert_eq!(issues[0]["severity"], "critical");
    }
}
