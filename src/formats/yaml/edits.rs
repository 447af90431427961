//! The byte edits, each proved by parsing what came out.

use std::ops::Range;

use super::tree::{self, Kind, Node, Style};
use super::{Reason, Refusal, Yaml, line_break, line_end, line_start};

pub(super) fn without_entries(yaml: &Yaml<'_>, path: &[&str], goes: &dyn Fn(&str) -> bool) -> Result<Vec<u8>, Refusal> {
    let (key, list) = found(yaml, path)?;
    can_change(yaml, path, key, list)?;
    let Kind::Sequence(items) = &list.kind else { return Err(Refusal::new(list.line, Reason::NoList)) };
    if let Some(odd) = items.iter().find(|item| !matches!(item.kind, Kind::Scalar)) {
        let reason = if matches!(odd.kind, Kind::Alias) { Reason::Anchor } else { Reason::NoText };
        return Err(Refusal::new(odd.line, reason));
    }
    let gone: Vec<usize> = (0..items.len()).filter(|at| goes(&items[*at].text)).collect();
    if gone.is_empty() {
        return Err(Refusal::new(list.line, Reason::Absent));
    }
    if gone.len() == items.len() {
        return Err(Refusal::new(list.line, Reason::NothingLeft));
    }
    let mut cuts = Vec::new();
    let mut expected = yaml.clone();
    for at in gone.iter().rev() {
        let item = &items[*at];
        if item.is_anchored {
            return Err(Refusal::new(item.line, Reason::Anchor));
        }
        if item.is_tagged {
            return Err(Refusal::new(item.line, Reason::Tag));
        }
        cuts.push(match list.style {
            Style::Plain => whole_line(yaml.text, item, "-")?,
            Style::Delimited | Style::Lines => in_brackets(yaml.text, items, *at, &gone)?,
        });
        if let Some(Kind::Sequence(items)) = node_mut(&mut expected, path).map(|node| &mut node.kind) {
            items.remove(*at);
        }
    }
    proved(yaml, &cuts, expected.root)
}

pub(super) fn without_key(yaml: &Yaml<'_>, path: &[&str]) -> Result<Vec<u8>, Refusal> {
    let (key, value) = found(yaml, path)?;
    can_change(yaml, path, key, value)?;
    if let Some(shared) = value.all().into_iter().find(|node| node.is_anchored) {
        return Err(Refusal::new(shared.line, Reason::Anchor));
    }
    let (above, mapping) = match path.split_last() {
        Some((_, above)) => (above, yaml.node(above)),
        None => return Err(Refusal::new(1, Reason::Absent)),
    };
    let Some(mapping) = mapping else { return Err(Refusal::new(1, Reason::Absent)) };
    let Kind::Mapping(pairs) = &mapping.kind else { return Err(Refusal::new(key.line, Reason::NoMapping)) };
    // Below the top an emptied mapping would turn into "no value".
    if mapping.style != Style::Plain || (pairs.len() == 1 && !above.is_empty()) {
        return Err(Refusal::new(key.line, Reason::Layout));
    }
    let start = line_start(yaml.text, key.span.start);
    if !is_blank(without_bom(&yaml.text[start..key.span.start])) {
        return Err(Refusal::new(key.line, Reason::Layout));
    }
    let end = value.span.end.max(key.span.end);
    if value.all().iter().any(|node| node.style == Style::Lines) {
        return Err(Refusal::new(value.line, Reason::Layout));
    }
    // After the key alone stands its colon.
    let rest = &yaml.text[end..line_end(yaml.text, end)];
    let rest = if end == key.span.end { rest.trim_start_matches([' ', ':']) } else { rest };
    if !is_blank_or_comment(rest) {
        return Err(Refusal::new(value.line, Reason::Layout));
    }
    let mut expected = yaml.clone();
    if let Some(Kind::Mapping(pairs)) = node_mut(&mut expected, above).map(|node| &mut node.kind) {
        pairs.retain(|(other, _)| other.text != key.text);
        if pairs.is_empty() {
            expected.root = None;
        }
    }
    let keeps_bom =
        start + yaml.text[start..key.span.start].len() - without_bom(&yaml.text[start..key.span.start]).len();
    proved(yaml, &[lines(yaml.text, keeps_bom, end)], expected.root)
}

pub(super) fn with_list(yaml: &Yaml<'_>, key: &str, entries: &[String]) -> Result<Vec<u8>, Refusal> {
    let text = yaml.text;
    if let Some((there, _)) = yaml.pair(&[key]) {
        return Err(Refusal::new(there.line, Reason::KeyIsThere));
    }
    if let Some(line) = yaml.merge_key() {
        return Err(Refusal::new(line, Reason::MergeKey));
    }
    if let Some(root) = yaml.root.as_ref().filter(|root| root.style != Style::Plain) {
        return Err(Refusal::new(root.line, Reason::Layout));
    }
    let ends = if text.contains("\r\n") { "\r\n" } else { "\n" };
    let indent = yaml.root.as_ref().map_or(0, |root| match &root.kind {
        Kind::Mapping(pairs) => pairs.first().map_or(0, |(key, _)| key.column as usize - 1),
        Kind::Scalar | Kind::Sequence(_) | Kind::Alias => 0,
    });
    let indent = " ".repeat(indent);
    let mut added = format!("{indent}{key}:");
    for entry in entries {
        added.push_str(&format!("{ends}{indent}  - {}", written(entry)));
    }
    let is_open = !without_bom(text).is_empty() && !text.ends_with('\n');
    let whole = if is_open { format!("{text}{ends}{added}") } else { format!("{text}{added}{ends}") };
    let bytes = whole.into_bytes();
    let disagrees = Refusal::new(1, Reason::Disagrees);
    let again = Yaml::parse(&bytes).map_err(|_| disagrees)?;
    let told = again.list(&[key]).ok().flatten().ok_or(disagrees)?;
    let mut rest = again.root.clone();
    if let Some(Kind::Mapping(pairs)) = rest.as_mut().map(|root| &mut root.kind) {
        pairs.pop();
    }
    let rest = rest.filter(|_| yaml.root.is_some());
    let same = told.entries.iter().map(|entry| &entry.text).eq(entries) && agree(rest.as_ref(), yaml.root.as_ref());
    if same { Ok(bytes) } else { Err(disagrees) }
}

/// Writes a text as a scalar that every reader takes for a text.
fn written(text: &str) -> String {
    let is_plain = |c: char| c.is_ascii_alphanumeric() || "/._-+@~".contains(c);
    let is_word = text.starts_with(|c: char| c.is_ascii_alphabetic()) && text.chars().all(is_plain);
    let is_url = text.split_once("://").is_some_and(|(scheme, rest)| {
        scheme.chars().all(|c| c.is_ascii_lowercase())
            && !rest.is_empty()
            && !rest.ends_with(':')
            && rest.chars().all(|c| is_plain(c) || c == ':')
    });
    let is_special = ["true", "false", "yes", "no", "on", "off", "null", "y", "n"].contains(&&*text.to_lowercase());
    if (is_word || is_url) && !is_special {
        return text.to_owned();
    }
    let escaped: String =
        text.chars().flat_map(|c| if matches!(c, '"' | '\\') { vec!['\\', c] } else { vec![c] }).collect();
    format!("\"{escaped}\"")
}

fn found<'y>(yaml: &'y Yaml<'_>, path: &[&str]) -> Result<(&'y Node, &'y Node), Refusal> {
    yaml.pair(path).ok_or_else(|| Refusal::new(1, Reason::Absent))
}

/// Refuses where the key, its value or a mapping above is shared, tagged or mixed with another.
fn can_change(yaml: &Yaml<'_>, path: &[&str], key: &Node, value: &Node) -> Result<(), Refusal> {
    for depth in 0..path.len() {
        let Some(mapping) = yaml.node(&path[..depth]) else { continue };
        if let Kind::Mapping(pairs) = &mapping.kind
            && let Some((merge, _)) = pairs.iter().find(|(key, _)| key.text == "<<")
        {
            return Err(Refusal::new(merge.line, Reason::MergeKey));
        }
        refuse_shared(mapping)?;
    }
    refuse_shared(key)?;
    refuse_shared(value)
}

fn refuse_shared(node: &Node) -> Result<(), Refusal> {
    if node.is_anchored || matches!(node.kind, Kind::Alias) {
        return Err(Refusal::new(node.line, Reason::Anchor));
    }
    if node.is_tagged { Err(Refusal::new(node.line, Reason::Tag)) } else { Ok(()) }
}

/// The line of an entry that stands alone in it, after its `-`.
fn whole_line(text: &str, item: &Node, mark: &str) -> Result<Range<usize>, Refusal> {
    let layout = Refusal::new(item.line, Reason::Layout);
    let start = line_start(text, item.span.start);
    let before = text[start..item.span.start].trim_end_matches(' ');
    let Some(indent) = before.strip_suffix(mark) else { return Err(layout) };
    let end = line_end(text, item.span.start);
    if !is_blank(indent) || item.style == Style::Lines || item.span.end > end {
        return Err(layout);
    }
    if !is_blank_or_comment(&text[item.span.end..end]) {
        return Err(layout);
    }
    Ok(lines(text, start, item.span.end))
}

/// An entry between brackets, with one comma.
fn in_brackets(text: &str, items: &[Node], at: usize, gone: &[usize]) -> Result<Range<usize>, Refusal> {
    let item = &items[at];
    let layout = Refusal::new(item.line, Reason::Layout);
    let Range { start, end } = item.span.clone();
    let first_of_line = line_start(text, start);
    if item.style == Style::Lines || end > line_end(text, start) {
        return Err(layout);
    }
    let rest = &text[end..line_end(text, end)];
    let after = rest.trim_start_matches(' ');
    let is_alone = is_blank(&text[first_of_line..start]);
    if let Some(after_comma) = after.strip_prefix(',') {
        let comma_end = end + rest.len() - after_comma.len();
        if is_alone && is_blank_or_comment(after_comma) {
            return Ok(lines(text, first_of_line, comma_end));
        }
        let spaces = after_comma.len() - after_comma.trim_start_matches(' ').len();
        if after_comma.trim_start_matches(' ').is_empty() && !is_alone {
            // The last one of a line: the blank before it would be left at the line's end.
            let blanks = text[first_of_line..start].len() - text[first_of_line..start].trim_end_matches(' ').len();
            return Ok(start - blanks..comma_end);
        }
        return Ok(start..comma_end + spaces);
    }
    if is_alone && is_blank_or_comment(after) && !after.is_empty() || is_alone && after.is_empty() {
        // A comma on the next line would be left alone.
        let next = text[line_end(text, end)..].trim_start();
        return if next.starts_with(']') { Ok(lines(text, first_of_line, end)) } else { Err(layout) };
    }
    if !after.starts_with(']') {
        return Err(layout);
    }
    // The last one: the comma before it goes, unless that goes with the entry before.
    let before = items[..at].iter().enumerate().rev().find(|(at, _)| !gone.contains(at));
    let neighbour = at.checked_sub(1);
    match (before, neighbour) {
        (Some((kept, node)), Some(neighbour)) if kept == neighbour => {
            let between = &text[node.span.end..start];
            if between.trim() == "," && !between.contains('\n') {
                return Ok(node.span.end..end);
            }
            if is_alone { Ok(start..end) } else { Err(layout) }
        }
        // A comma may stand before the bracket.
        (Some(_), Some(_)) | (None, _) | (_, None) => Ok(start..end),
    }
}

/// From the start of a line to the end of the line of `end`, with one line break: the one after, or at the end of a
/// file without one the one before.
fn lines(text: &str, start: usize, end: usize) -> Range<usize> {
    let end = line_end(text, end);
    let after = line_break(text, end);
    if !after.is_empty() || start == 0 {
        return start..after.end;
    }
    let before = if text[..start].ends_with("\r\n") { 2 } else { usize::from(text[..start].ends_with('\n')) };
    start - before..end
}

fn is_blank(text: &str) -> bool {
    text.bytes().all(|byte| byte == b' ')
}

fn is_blank_or_comment(text: &str) -> bool {
    let rest = text.trim_start_matches([' ', '\t']);
    rest.is_empty() || (rest.starts_with('#') && rest.len() < text.len())
}

fn without_bom(text: &str) -> &str {
    text.strip_prefix('\u{feff}').unwrap_or(text)
}

fn node_mut<'y>(yaml: &'y mut Yaml<'_>, path: &[&str]) -> Option<&'y mut Node> {
    let mut node = yaml.root.as_mut()?;
    for name in path {
        let Kind::Mapping(pairs) = &mut node.kind else { return None };
        node = pairs.iter_mut().find(|(key, _)| key.text == *name).map(|(_, value)| value)?;
    }
    Some(node)
}

/// Cuts, and parses what is left: it must say what is expected.
fn proved(yaml: &Yaml<'_>, cuts: &[Range<usize>], expected: Option<Node>) -> Result<Vec<u8>, Refusal> {
    let line = |at: usize| yaml.text[..at].matches('\n').count() + 1;
    let disagrees = Refusal::at(cuts.first().map_or(1, |cut| line(cut.start)), Reason::Disagrees);
    let mut text = yaml.text.to_owned();
    for cut in joined(&text, cuts).into_iter().rev() {
        text.replace_range(cut, "");
    }
    let again = tree::parse(&text).map_err(|_| disagrees)?;
    // A text of whole lines loses its last line break with the file's, and readers differ in whether it does.
    let is_lines = |node: &&Node| node.style == Style::Lines && node.span.end >= text.trim_end().len();
    if !text.ends_with('\n')
        && let Some(node) = again.iter().flat_map(Node::all).find(is_lines)
    {
        return Err(Refusal::new(node.line, Reason::Layout));
    }
    if agree(again.as_ref(), expected.as_ref()) { Ok(text.into_bytes()) } else { Err(disagrees) }
}

/// Makes one cut of those that meet. At the end of a file without a last line break, the one before goes.
fn joined(text: &str, cuts: &[Range<usize>]) -> Vec<Range<usize>> {
    let mut sorted = cuts.to_vec();
    sorted.sort_by_key(|cut| cut.start);
    let mut all: Vec<Range<usize>> = Vec::new();
    for cut in sorted {
        match all.last_mut() {
            Some(last) if cut.start <= last.end => last.end = last.end.max(cut.end),
            Some(_) | None => all.push(cut),
        }
    }
    if let Some(last) = all.last_mut().filter(|last| last.end == text.len() && !text.ends_with('\n'))
        && let Some(before) = text[..last.start].strip_suffix('\n')
    {
        last.start = before.strip_suffix('\r').unwrap_or(before).len();
    }
    all
}

fn agree(one: Option<&Node>, other: Option<&Node>) -> bool {
    match (one, other) {
        (None, None) => true,
        (Some(one), Some(other)) => one.means(other),
        (Some(_), None) | (None, Some(_)) => false,
    }
}
