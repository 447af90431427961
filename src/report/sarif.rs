//! Findings as SARIF 2.1.0, with what GitHub's code scanning asks for and within its limits.

use std::collections::BTreeMap;

use serde_json::{Value, json};

use crate::recipe::{Applicability, Lang};
use crate::redact::redact;

use super::{Confidence, Diagnosis, Edit, Finding, Place, json, words};

/// Results that GitHub shows of a run; it takes more and drops them by severity.
const MOST_RESULTS: usize = 5_000;
/// Characters of a rule's descriptions that GitHub takes.
const LONGEST_TEXT: usize = 1_024;

/// Renders a diagnosis; texts are in the reader's language.
pub fn render(diagnosis: &Diagnosis, lang: Lang) -> String {
    let mut rules: BTreeMap<&str, &Finding> = BTreeMap::new();
    for (finding, _) in diagnosis.marks() {
        // The surest finding speaks for the rule.
        let kept = rules.entry(&finding.id).or_insert(finding);
        if finding.confidence > kept.confidence {
            *kept = finding;
        }
    }
    let index: BTreeMap<&str, usize> = rules.keys().enumerate().map(|(at, id)| (*id, at)).collect();
    let mut marks: Vec<(&Finding, &Place)> = diagnosis.marks().collect();
    // What cannot be taken shall be the least sure; the order stays else.
    marks.sort_by_key(|(finding, _)| std::cmp::Reverse(finding.confidence));
    let left_out = marks.len().saturating_sub(MOST_RESULTS);
    marks.truncate(MOST_RESULTS);
    let mut with_fix: Vec<*const Finding> = Vec::new();
    let results: Vec<Value> = marks
        .iter()
        .map(|(finding, place)| {
            // A repair mends a finding at all its places: it stands at the first.
            let first = !with_fix.contains(&std::ptr::from_ref(*finding));
            with_fix.push(std::ptr::from_ref(*finding));
            result(finding, place, index[finding.id.as_str()], first, lang)
        })
        .collect();
    let mut notes = Vec::new();
    notes.extend(diagnosis.count_suppressed().map(|text| note(text.get(lang))));
    notes.extend((left_out > 0).then(|| note(words::beyond_limit(left_out).get(lang))));
    json::render_foreign(json!({
        "$schema": "https://json.schemastore.org/sarif-2.1.0.json",
        "version": "2.1.0",
        "runs": [{
            "tool": {"driver": {
                "name": "fix",
                "semanticVersion": env!("CARGO_PKG_VERSION"),
                "rules": rules.values().map(|finding| rule(finding, lang)).collect::<Vec<_>>(),
            }},
            "automationDetails": {"id": "fix/"},
            "columnKind": "unicodeCodePoints",
            "invocations": [{"executionSuccessful": true, "toolExecutionNotifications": notes}],
            "results": results,
            "properties": {"suppressed": diagnosis.suppressed.len()},
        }],
    }))
}

fn note(text: &str) -> Value {
    json!({"level": "note", "message": {"text": text}})
}

fn rule(finding: &Finding, lang: Lang) -> Value {
    let general = &finding.rule;
    let (cause, remedy) = (general.cause.get(lang), general.remedy.get(lang));
    let cause = if cause.is_empty() { finding.cause.get(lang) } else { cause };
    let remedy = if remedy.is_empty() { finding.remedy.get(lang) } else { remedy };
    let help = format!("{cause}\n\n{remedy}");
    let severity = match finding.confidence {
        Confidence::Certain => "error",
        Confidence::Likely => "warning",
        Confidence::Possible | Confidence::Refuted => "recommendation",
    };
    let tags: Vec<&str> = ["build", &general.family].into_iter().filter(|tag| !tag.is_empty()).collect();
    let mut rule = json!({
        "id": finding.id,
        "name": finding.slug,
        "shortDescription": {"text": cut(finding.title.get(lang))},
        "fullDescription": {"text": cut(cause)},
        "help": {"text": help, "markdown": help},
        "defaultConfiguration": {"level": level(finding.confidence)},
        "properties": {
            "tags": tags,
            "precision": "high",
            "problem.severity": severity,
        },
    });
    if let Some(reference) = general.references.iter().find(|reference| reference.starts_with("https://")) {
        rule["helpUri"] = json!(reference);
    }
    rule
}

fn result(finding: &Finding, place: &Place, rule: usize, with_fix: bool, lang: Lang) -> Value {
    let mut result = json!({
        "ruleId": finding.id,
        "ruleIndex": rule,
        "level": level(finding.confidence),
        "message": {"text": finding.message(place).get(lang)},
        "locations": [{"physicalLocation": {
            "artifactLocation": location(&place.path),
            "region": {
                "startLine": place.line.max(1),
                "startColumn": place.column.max(1),
                "endLine": place.line.max(1),
                "endColumn": place.column.max(1).saturating_add(1),
            },
        }}],
        // GitHub goes by the first; `:1` is the count of equal lines, which is in the hash here.
        "partialFingerprints": {
            "primaryLocationLineHash": format!("{}:1", place.fingerprint),
            "fix/v1": place.fingerprint,
        },
        "properties": {"confidence": finding.confidence, "applicability": finding.applicability, "case": finding.case},
    });
    if with_fix && finding.applicability > Applicability::Manual && may_be_shown(&finding.edits) {
        result["fixes"] = json!([fix(finding, lang)]);
    }
    result
}

/// A text with a placeholder in it would break the file that it is put into.
fn may_be_shown(edits: &[Edit]) -> bool {
    !edits.is_empty() && edits.iter().all(|edit| redact(&edit.new).as_str() == edit.new)
}

fn fix(finding: &Finding, lang: Lang) -> Value {
    let changes: Vec<Value> = finding
        .edits
        .iter()
        .map(|edit| {
            let ((start_line, start_column), (end_line, end_column)) = (edit.start, edit.end);
            json!({
                "artifactLocation": location(&edit.path),
                "replacements": [{
                    "deletedRegion": {
                        "startLine": start_line, "startColumn": start_column,
                        "endLine": end_line, "endColumn": end_column,
                    },
                    "insertedContent": {"text": edit.new},
                }],
            })
        })
        .collect();
    json!({"description": {"text": finding.remedy.get(lang)}, "artifactChanges": changes})
}

fn location(path: &str) -> Value {
    json!({"uri": uri(path), "uriBaseId": "%SRCROOT%"})
}

/// Writes a relative path as a URI reference.
fn uri(path: &str) -> String {
    let mut out = String::with_capacity(path.len());
    for byte in path.bytes() {
        if byte.is_ascii_alphanumeric() || b"-._~/".contains(&byte) {
            out.push(char::from(byte));
        } else {
            out.push_str(&format!("%{byte:02X}"));
        }
    }
    if out.is_empty() { ".".to_owned() } else { out }
}

fn level(confidence: Confidence) -> &'static str {
    match confidence {
        Confidence::Certain => "error",
        Confidence::Likely => "warning",
        Confidence::Possible | Confidence::Refuted => "note",
    }
}

fn cut(text: &str) -> String {
    if text.chars().count() <= LONGEST_TEXT {
        return text.to_owned();
    }
    let kept: String = text.chars().take(LONGEST_TEXT - 1).collect();
    format!("{kept}…")
}

#[cfg(test)]
mod tests {
    use super::super::text::samples;
    use super::*;
    use crate::recipe::Text;

    fn parsed(diagnosis: &Diagnosis) -> Value {
        serde_json::from_str(&render(diagnosis, Lang::En)).unwrap()
    }

    #[test]
    fn paths_are_uris() {
        assert_eq!(uri("a b/#1%/中.py"), "a%20b/%231%25/%E4%B8%AD.py");
    }

    #[test]
    fn results_rules_and_repairs_go_together() {
        let diagnosis = samples::placed();
        let sarif = parsed(&diagnosis);
        let run = &sarif["runs"][0];
        assert_eq!(run["results"].as_array().unwrap().len(), 2);
        let result = &run["results"][0];
        assert_eq!(
            run["tool"]["driver"]["rules"][result["ruleIndex"].as_u64().unwrap() as usize]["id"],
            result["ruleId"]
        );
        assert_eq!(result["fixes"][0]["artifactChanges"][0]["replacements"][0]["insertedContent"]["text"], "new\n");
        assert!(run["results"][1].get("fixes").is_none(), "once for the finding");
        assert_eq!(run["properties"]["suppressed"], 1);
        // A repair that would write a placeholder is not offered.
        let mut secret = samples::placed();
        secret.findings[0].edits[0].new = "url = https://me:hunter2@host/x\n".into();
        let sarif = render(&secret, Lang::En);
        assert!(!sarif.contains("hunter2") && !sarif.contains("\"fixes\""), "{sarif}");
    }

    #[test]
    fn no_more_than_is_taken_and_the_least_sure_go() {
        let mut diagnosis = samples::placed();
        let place = diagnosis.findings[0].places[0].clone();
        diagnosis.findings[0].confidence = Confidence::Likely;
        diagnosis.findings[0].places = vec![place.clone(); MOST_RESULTS + 3];
        let certain = Finding {
            id: "z".into(),
            places: vec![place],
            title: Text::new("字".repeat(2000), "z"),
            ..samples::finding()
        };
        diagnosis.findings.push(certain);
        let sarif = parsed(&diagnosis);
        let results = sarif["runs"][0]["results"].as_array().unwrap();
        assert_eq!((results.len(), &results[0]["ruleId"]), (MOST_RESULTS, &json!("z")));
        let rules = sarif["runs"][0]["tool"]["driver"]["rules"].as_array().unwrap();
        assert_eq!(rules[1]["shortDescription"]["text"].as_str().unwrap().chars().count(), LONGEST_TEXT);
        let notes = &sarif["runs"][0]["invocations"][0]["toolExecutionNotifications"];
        assert!(notes[1]["message"]["text"].as_str().unwrap().starts_with("4 more findings"), "{notes}");
    }
}
