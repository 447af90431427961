//! What is wrong, why, and what `fix` would do about it.

use crate::recipe::Applicability;

use super::super::{Confidence, Diagnosis, Finding, Unmatched, words};
use super::TextStyle;
use super::page::{BAD, BOLD, PLAIN, Page, confidence, framed};

/// Renders a diagnosis.
pub fn render_diagnosis(diagnosis: &Diagnosis, style: &TextStyle) -> String {
    let mut page = Page::new(style);
    for (index, finding) in diagnosis.findings.iter().enumerate() {
        if index > 0 {
            page.blank();
        }
        show_finding(&mut page, finding);
    }
    if diagnosis.findings.is_empty() {
        page.say(BOLD, 0, &diagnosis.outcome.sentence());
        if let Some(unmatched) = &diagnosis.unmatched {
            show_unmatched(&mut page, unmatched);
        }
    }
    if let Some(counted) = diagnosis.count_suppressed() {
        page.say(PLAIN, 0, &counted);
    }
    page.finish()
}

/// Adds one finding to a page.
pub fn show_finding(page: &mut Page<'_>, finding: &Finding) {
    let lang = page.style.lang;
    let headline = format!(
        "{}. {}: {} ({})",
        finding.rank,
        finding.id,
        finding.title.get(lang),
        confidence(finding.confidence).get(lang)
    );
    page.prose(BOLD, 0, &headline);
    page.say(PLAIN, 3, &framed(&finding.cause, |text| words::cause(text)));
    for place in finding.places.iter().filter(|place| !place.anchor) {
        let text = format!("{}:{}:{}: {}", place.path, place.line, place.column, place.says.get(lang));
        page.prose(PLAIN, 5, &text);
    }
    page.evidence(3, &finding.evidence);
    if !finding.answers.is_empty() {
        page.say(PLAIN, 3, &words::machine());
        let mut told: Vec<String> = Vec::new();
        for answer in finding.answers.iter().filter(|answer| !answer.beside) {
            let text = format!("{}: {} – {}", answer.question, answer.answer, answer.seen.get(lang));
            // Two probes may ask the same.
            if !told.contains(&text) {
                page.prose(PLAIN, 5, &text);
                told.push(text);
            }
        }
    }
    match finding.confidence {
        // Nothing is to be done about what this machine does not have.
        Confidence::Refuted => return,
        Confidence::Possible | Confidence::Likely | Confidence::Certain => {}
    }
    page.say(PLAIN, 3, &framed(&finding.remedy, |text| words::remedy(text)));
    // Advice alone does nothing.
    if !finding.repair.is_empty() && finding.applicability > Applicability::Manual {
        page.say(PLAIN, 3, &words::would_do());
        for change in &finding.repair {
            page.say(PLAIN, 5, change);
        }
    }
    let how = match finding.applicability {
        Applicability::Safe => words::apply_safe(&finding.apply_with),
        Applicability::Confirm => words::apply_confirm(&finding.apply_with),
        Applicability::Manual => words::apply_manual(),
    };
    page.say(BOLD, 3, &how);
    for limit in &finding.limits {
        page.say(PLAIN, 5, &framed(limit, |text| words::because(text)));
    }
}

fn show_unmatched(page: &mut Page<'_>, unmatched: &Unmatched) {
    if !unmatched.telling.is_empty() {
        page.say(PLAIN, 0, &words::telling_lines());
        page.evidence(2, &unmatched.telling);
    }
    if !unmatched.nearest.is_empty() {
        page.say(PLAIN, 0, &words::nearest());
        for nearest in &unmatched.nearest {
            let text = format!("{}: {}", nearest.id, nearest.title.get(page.style.lang));
            page.prose(PLAIN, 2, &text);
        }
    }
    page.say(BAD, 0, &words::how_to_report());
    if !unmatched.report_with.is_empty() {
        page.say(PLAIN, 2, &words::report_with(&unmatched.report_with));
    }
}
