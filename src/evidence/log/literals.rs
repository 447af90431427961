//! Literals that a regular expression cannot match without.

use regex_syntax::hir::{Hir, HirKind};

/// Why a regular expression has no anchors.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum AnchorError {
    #[error("{0}")]
    Syntax(String),
    #[error("no usable anchor: no literal of {SHORTEST} bytes stands in every match")]
    NoLiteral,
}

/// Shorter literals stand in most lines of most logs.
const SHORTEST: usize = 6;

/// A half of a phrase must still be telling.
const SHORTEST_HALF: usize = 12;

/// Finds literals one of which stands in every text that `regex` matches.
pub fn anchors(regex: &str) -> Result<Vec<String>, AnchorError> {
    let hir = regex_syntax::parse(regex).map_err(|error| AnchorError::Syntax(error.to_string()))?;
    let found = best(&hir).filter(|found| found.iter().all(|text| text.len() >= SHORTEST));
    Ok(found.ok_or(AnchorError::NoLiteral)?.iter().flat_map(|text| halves(text)).collect())
}

/// A line break may stand at any one space of a phrase, so one of its halves is always whole.
fn halves(text: &str) -> Vec<String> {
    let spaces = text.match_indices(' ').map(|(at, _)| at);
    let middle = spaces
        .filter(|at| *at >= SHORTEST_HALF && text.len() - at > SHORTEST_HALF)
        .min_by_key(|at| at.abs_diff(text.len() / 2));
    match middle {
        Some(at) => vec![text[..at].to_owned(), text[at + 1..].to_owned()],
        None => vec![text.to_owned()],
    }
}

fn best(hir: &Hir) -> Option<Vec<String>> {
    match hir.kind() {
        HirKind::Literal(literal) => Some(vec![String::from_utf8(literal.0.to_vec()).ok()?]),
        HirKind::Capture(capture) => best(&capture.sub),
        HirKind::Repetition(repetition) if repetition.min > 0 => best(&repetition.sub),
        HirKind::Concat(parts) => parts.iter().filter_map(best).max_by_key(|found| found.iter().map(String::len).min()),
        HirKind::Alternation(parts) => parts.iter().map(best).collect::<Option<Vec<_>>>().map(|all| all.concat()),
        HirKind::Empty | HirKind::Class(_) | HirKind::Look(_) | HirKind::Repetition(_) => None,
    }
}
