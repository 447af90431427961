//! Byte edits of list literals in the style of the file.

use std::ops::Range;

use super::literal::{Element, Value};
use super::sites::Site;
use super::source::Source;

/// Replaces a range by a text; an empty range inserts.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Edit {
    pub range: Range<usize>,
    pub text: Vec<u8>,
}

impl Edit {
    pub fn insert(at: usize, text: impl Into<Vec<u8>>) -> Self {
        Self { range: at..at, text: text.into() }
    }

    pub fn replace(range: Range<usize>, text: impl Into<Vec<u8>>) -> Self {
        Self { range, text: text.into() }
    }
}

/// Applies edits; of two insertions at one place the first given comes first. `None` when edits overlap.
pub fn apply(bytes: &[u8], mut edits: Vec<Edit>) -> Option<Vec<u8>> {
    edits.sort_by_key(|edit| (edit.range.start, edit.range.end));
    let mut out = Vec::with_capacity(bytes.len() + 256);
    let mut at = 0;
    for edit in edits {
        out.extend_from_slice(bytes.get(at..edit.range.start)?);
        out.extend_from_slice(&edit.text);
        at = edit.range.end;
    }
    out.extend_from_slice(bytes.get(at..)?);
    Some(out)
}

/// Adds arguments to a list behind its element `after`, or into an empty list.
///
/// Keeps what the file does: one element a line or several, its indentation, quotes and trailing comma.
pub fn add(source: &Source<'_>, site: &Site, after: Option<usize>, arguments: &[String]) -> Vec<Edit> {
    let quote = quote_near(site, after);
    let literals: Vec<String> = arguments.iter().map(|argument| format!("{quote}{argument}{quote}")).collect();
    let Some(element) = after.and_then(|index| site.elements.get(index)) else {
        let separator = if site.elements.is_empty() { "" } else { ", " };
        return vec![Edit::insert(site.range.start + 1, literals.join(", ") + separator)];
    };
    let line = source.line_start(element.range.start);
    let alone_before = line > site.range.start && source.text[line..element.range.start].trim().is_empty();
    if !alone_before {
        return vec![Edit::insert(element.range.end, format!(", {}", literals.join(", ")))];
    }
    let indent = &source.text[line..element.range.start];
    let newline = source.newline(element.range.start);
    let Some(comma) = &element.comma else {
        // The last element of a list without a trailing comma: the new last one has none either.
        let added = format!("{newline}{indent}{}", literals.join(&format!(",{newline}{indent}")));
        let end = end_of_comment(source, element.range.end, site.range.end - 1);
        return if end == element.range.end {
            vec![Edit::insert(end, format!(",{added}"))]
        } else {
            vec![Edit::insert(element.range.end, ","), Edit::insert(end, added)]
        };
    };
    let rest = &source.text[comma.end..source.line_end(comma.end).min(site.range.end - 1)];
    if !rest.trim().is_empty() && !rest.trim_start().starts_with('#') {
        // Another element follows on the line.
        return vec![Edit::insert(comma.end, format!(" {},", literals.join(", ")))];
    }
    let added: String = literals.iter().map(|literal| format!("{newline}{indent}{literal},")).collect();
    vec![Edit::insert(end_of_comment(source, comma.end, site.range.end - 1), added)]
}

/// Takes an element out of its list, with its comma, and its line where it stands alone. Comments stay.
pub fn remove(source: &Source<'_>, element: &Element) -> Edit {
    let end = element.comma.as_ref().map_or(element.range.end, |comma| comma.end);
    let gap = &source.text[element.range.end..element.comma.as_ref().map_or(end, |comma| comma.start)];
    if gap.contains('#') {
        // A comment stands before the comma: only the element itself goes, and the comma goes with the line.
        return Edit::replace(element.range.start..end, gap.as_bytes());
    }
    let line = source.line_start(element.range.start);
    let line_end = source.line_end(end);
    let alone_before = source.text[line..element.range.start].trim().is_empty();
    let rest = &source.text[end..line_end];
    if alone_before && rest.trim().is_empty() && line_end < source.bytes.len() {
        let next = source.text[line_end..].find('\n').map_or(source.bytes.len(), |newline| line_end + newline + 1);
        return Edit::replace(line..next, "");
    }
    let blanks = rest.len() - rest.trim_start_matches([' ', '\t']).len();
    Edit::replace(element.range.start..end + blanks, "")
}

/// Returns where the comment behind `from` ends, or `from` where something else stands there.
fn end_of_comment(source: &Source<'_>, from: usize, limit: usize) -> usize {
    let rest = &source.text[from..source.line_end(from).min(limit)];
    if rest.trim_start().starts_with('#') { from + rest.trim_end().len() } else { from }
}

/// Returns the quote that the list uses near a place.
fn quote_near(site: &Site, near: Option<usize>) -> char {
    let quote = |element: &Element| match &element.value {
        Value::Literal(literal) => Some(literal.quote),
        Value::Computed(_) => None,
    };
    let here = near.and_then(|index| site.elements.get(index)).and_then(quote);
    here.or_else(|| site.elements.iter().rev().find_map(quote)).unwrap_or('"')
}
