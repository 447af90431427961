//! The order of findings: a cause before its symptoms, the first failure before its cascade.

use std::cmp::Reverse;

use super::{Confidence, Finding};

/// Sorts findings by rank and drops those that another finding explains.
///
/// What the machine refutes comes last and masks nothing. What the machine is certain of comes first. Within
/// that, the first failure of the log counts.
pub fn rank(mut findings: Vec<Finding>) -> Vec<Finding> {
    let masked: Vec<String> = findings
        .iter()
        .filter(|finding| finding.confidence != Confidence::Refuted)
        .flat_map(|finding| finding.recipe.masks.iter().cloned())
        .collect();
    findings.retain(|finding| !masked.contains(&finding.recipe.id));
    findings.sort_by(|a, b| key(a).cmp(&key(b)));
    findings
}

/// Standing first, then certain, then by place in the logs, then by id.
type Key<'a> = (Reverse<bool>, Reverse<bool>, Option<(usize, u64)>, &'a str);

fn key(finding: &Finding) -> Key<'_> {
    (
        Reverse(finding.confidence != Confidence::Refuted),
        Reverse(finding.confidence == Confidence::Certain),
        finding.first_seen,
        &finding.recipe.id,
    )
}
