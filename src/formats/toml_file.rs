//! Edits strings and lists of a TOML file in place: `uv.toml`, `pyproject.toml`, `pixi.toml`.
//!
//! The parser only tells where things stand; the text itself is cut and joined here, so that line breaks, a byte order
//! mark, comments, quotes and the end of the file stay as they are. Every edit is read again before it is handed out.

use std::collections::BTreeMap;
use std::ops::Range;

use toml_edit::{Document, Item, Value};

/// A step on the way to a value.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub enum Step {
    Key(String),
    At(usize),
}

/// A string of the file, with its place.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Text {
    pub path: Vec<Step>,
    pub value: String,
    /// 1-based.
    pub line: usize,
    /// 1-based, in characters.
    pub column: usize,
    range: Range<usize>,
}

/// What shall be different.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Edit {
    /// Another string in the place of one.
    Replace { path: Vec<Step>, value: String },
    /// A string more at the end of a list that is there.
    Append { path: Vec<Step>, value: String },
    /// A string less in a list.
    Remove { path: Vec<Step> },
    /// A key less, with the lines of its value; only where nothing else stands on them.
    RemoveKey { path: Vec<Step> },
    /// A key more at the top of the file, before its first table.
    Set { key: String, value: String },
}

/// Why a file is not read, or not edited.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("line {line}: {}", .reason.en())]
pub struct Refusal {
    /// 1-based.
    pub line: usize,
    pub reason: Reason,
}

/// What stands in the way.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Reason {
    NotUtf8,
    NotToml,
    NotThere,
    NothingLeft,
    BadWord,
    OtherMeaning,
}

impl Reason {
    pub fn en(self) -> &'static str {
        match self {
            Self::NotUtf8 => "the text is not UTF-8",
            Self::NotToml => "this is not TOML",
            Self::NotThere => "there is no such string or list",
            Self::NothingLeft => "the list would be left empty",
            Self::BadWord => "the new text cannot stand in such a file",
            Self::OtherMeaning => "an edit here would change what other lines mean",
        }
    }

    pub fn zh(self) -> &'static str {
        match self {
            Self::NotUtf8 => "文本不是 UTF-8 编码",
            Self::NotToml => "不是合法的 TOML",
            Self::NotThere => "没有这样的字符串或列表",
            Self::NothingLeft => "列表将变为空",
            Self::BadWord => "要写入的内容不能出现在这种文件中",
            Self::OtherMeaning => "在此处修改会改变其他行的含义",
        }
    }
}

/// What a file means.
#[derive(Debug, Clone, PartialEq)]
enum Tree {
    Text(String),
    /// Numbers, times and the like, as they are written.
    Other(String),
    List(Vec<Tree>),
    Table(BTreeMap<String, Tree>),
}

const MARK: &str = "\u{feff}";

/// Lists all strings of a file.
pub fn strings(bytes: &[u8]) -> Result<Vec<Text>, Refusal> {
    let text = utf8(bytes)?;
    let document = parse(text)?;
    let mut found = Vec::new();
    walk(document.as_item(), &mut Vec::new(), &mut |path, item| {
        if let (Some(value), Some(range)) = (item.as_str(), item.span()) {
            let range = shift(text, range);
            let line = line_of(text, range.start);
            let begin = text[..range.start].rfind('\n').map_or(0, |at| at + 1);
            let column = text[begin..range.start].trim_start_matches(MARK).chars().count() + 1;
            found.push(Text { path: path.to_vec(), value: value.to_owned(), line, column, range });
        }
    });
    Ok(found)
}

/// Edits a file's bytes.
pub fn edit(bytes: &[u8], edit: &Edit) -> Result<Vec<u8>, Refusal> {
    let text = utf8(bytes)?;
    let document = parse(text)?;
    let word = match edit {
        Edit::Replace { value, .. } | Edit::Append { value, .. } | Edit::Set { value, .. } => Some(value),
        Edit::Remove { .. } | Edit::RemoveKey { .. } => None,
    };
    if word.is_some_and(|word| word.chars().any(char::is_control)) {
        return Err(Refusal { line: 1, reason: Reason::BadWord });
    }
    let mut wanted = tree(document.as_item());
    let (range, new) = splice(text, &document, edit, &mut wanted)?;
    let after = format!("{}{new}{}", &text[..range.start], &text[range.end..]);
    let refused = Refusal { line: line_of(text, range.start), reason: Reason::OtherMeaning };
    let again = parse(&after).map_err(|_| refused.clone())?;
    if tree(again.as_item()) == wanted { Ok(after.into_bytes()) } else { Err(refused) }
}

fn utf8(bytes: &[u8]) -> Result<&str, Refusal> {
    std::str::from_utf8(bytes).map_err(|error| {
        let line = bytes[..error.valid_up_to()].iter().filter(|byte| **byte == b'\n').count() + 1;
        Refusal { line, reason: Reason::NotUtf8 }
    })
}

fn parse(text: &str) -> Result<Document<&str>, Refusal> {
    let body = text.strip_prefix(MARK).unwrap_or(text);
    Document::parse(body).map_err(|error| {
        let at = error.span().map_or(0, |span| span.start.min(body.len()));
        Refusal { line: line_of(body, at), reason: Reason::NotToml }
    })
}

/// Spans count from behind a byte order mark.
fn shift(text: &str, range: Range<usize>) -> Range<usize> {
    let by = if text.starts_with(MARK) { MARK.len() } else { 0 };
    range.start + by..range.end + by
}

fn line_of(text: &str, at: usize) -> usize {
    text.as_bytes()[..at].iter().filter(|byte| **byte == b'\n').count() + 1
}

/// Visits every item below one.
fn walk(item: &Item, path: &mut Vec<Step>, visit: &mut dyn FnMut(&[Step], &Item)) {
    visit(path, item);
    if let Some(table) = item.as_table_like() {
        for (key, below) in table.iter() {
            path.push(Step::Key(key.to_owned()));
            walk(below, path, visit);
            path.pop();
        }
    } else if let Some(tables) = item.as_array_of_tables() {
        for (at, table) in tables.iter().enumerate() {
            path.push(Step::At(at));
            walk(&Item::Table(table.clone()), path, visit);
            path.pop();
        }
    } else if let Some(array) = item.as_array() {
        for (at, value) in array.iter().enumerate() {
            path.push(Step::At(at));
            walk(&Item::Value(value.clone()), path, visit);
            path.pop();
        }
    }
}

fn tree(item: &Item) -> Tree {
    if let Some(text) = item.as_str() {
        return Tree::Text(text.to_owned());
    }
    if let Some(table) = item.as_table_like() {
        return Tree::Table(table.iter().map(|(key, below)| (key.to_owned(), tree(below))).collect());
    }
    if let Some(tables) = item.as_array_of_tables() {
        return Tree::List(tables.iter().map(|table| tree(&Item::Table(table.clone()))).collect());
    }
    if let Some(array) = item.as_array() {
        return Tree::List(array.iter().map(|value| tree(&Item::Value(value.clone()))).collect());
    }
    Tree::Other(item.to_string().trim().to_owned())
}

impl Tree {
    fn at(&mut self, path: &[Step]) -> Option<&mut Tree> {
        let Some((first, rest)) = path.split_first() else { return Some(self) };
        let below = match (self, first) {
            (Tree::Table(table), Step::Key(key)) => table.get_mut(key),
            (Tree::List(list), Step::At(at)) => list.get_mut(*at),
            (Tree::Text(_) | Tree::Other(_) | Tree::Table(_) | Tree::List(_), _) => None,
        };
        below?.at(rest)
    }
}

/// Finds the bytes that go and what stands there instead, and does the same to the meaning.
fn splice(
    text: &str,
    document: &Document<&str>,
    edit: &Edit,
    wanted: &mut Tree,
) -> Result<(Range<usize>, String), Refusal> {
    let missing = || Refusal { line: 1, reason: Reason::NotThere };
    let find = |path: &[Step]| {
        let mut found = None;
        walk(document.as_item(), &mut Vec::new(), &mut |at, item| {
            if at == path {
                found = Some(item.clone());
            }
        });
        found.ok_or_else(missing)
    };
    let span = |item: &Item| item.span().map(|range| shift(text, range)).ok_or_else(missing);
    match edit {
        Edit::Replace { path, value } => {
            let item = find(path)?;
            item.as_str().ok_or_else(missing)?;
            let range = span(&item)?;
            *wanted.at(path).ok_or_else(missing)? = Tree::Text(value.clone());
            let new = quoted(value, &text[range.clone()]);
            Ok((range, new))
        }
        Edit::Append { path, value } => {
            let item = find(path)?;
            let array = item.as_array().ok_or_else(missing)?;
            let Some(Tree::List(list)) = wanted.at(path) else { return Err(missing()) };
            list.push(Tree::Text(value.clone()));
            let range = span(&item)?;
            let spans: Vec<Range<usize>> =
                array.iter().filter_map(Value::span).map(|range| shift(text, range)).collect();
            let Some(last) = spans.last() else {
                return Ok((range.start + 1..range.start + 1, quoted(value, "")));
            };
            // As the last one stands: behind a line break and blanks, or behind a comma.
            let from = spans.len().checked_sub(2).map_or(range.start + 1, |before| spans[before].end);
            let gap = &text[from..last.start];
            let gap = gap.rfind(['\n']).map_or(" ", |at| {
                let start = if gap[..at].ends_with('\r') { at - 1 } else { at };
                &gap[start..]
            });
            // A comment between the two would be doubled.
            let gap = if gap.contains('#') { " " } else { gap };
            Ok((last.end..last.end, format!(",{gap}{}", quoted(value, &text[last.clone()]))))
        }
        Edit::Remove { path } => {
            let Some((Step::At(at), list)) = path.split_last() else { return Err(missing()) };
            let item = find(list)?;
            let array = item.as_array().ok_or_else(missing)?;
            let spans: Vec<Range<usize>> =
                array.iter().filter_map(Value::span).map(|range| shift(text, range)).collect();
            let own = spans.get(*at).ok_or_else(missing)?.clone();
            let Some(Tree::List(values)) = wanted.at(list) else { return Err(missing()) };
            values.remove(*at);
            // With the comma behind it, or the one before it where it is the last; a comment keeps its line.
            let (end, before) = (span(&item)?.end, at.checked_sub(1).map(|before| spans[before].end));
            let until = spans.get(at + 1).map_or(end - 1, |next| next.start);
            let comma = comma(&text[own.end..until]).map(|at| own.end + at + 1);
            let (mut start, mut stop) = match (comma, before) {
                (Some(comma), _) => (own.start, comma),
                (None, Some(before)) if comma_between(text, before, own.start) => {
                    let comma = before + self::comma(&text[before..own.start]).unwrap_or_default();
                    // Only blanks may stand between the comma and the item, else a comment would go.
                    match text[comma + 1..own.start].trim().is_empty() {
                        true => (comma, own.end),
                        false => (own.start, own.end),
                    }
                }
                (None, _) => (own.start, own.end),
            };
            let head = text[..start].trim_end_matches([' ', '\t']);
            let tail = text[stop..].trim_start_matches([' ', '\t']);
            if head.ends_with('\n') && (tail.starts_with('\n') || tail.starts_with("\r\n")) {
                // Alone on its line: the line goes.
                start = head.len();
                stop = text.len() - tail.len() + if tail.starts_with('\r') { 2 } else { 1 };
            } else if comma.is_some() {
                stop = text.len() - tail.len();
            }
            Ok((start..stop, String::new()))
        }
        Edit::RemoveKey { path } => {
            let Some((Step::Key(key), table)) = path.split_last() else { return Err(missing()) };
            let range = span(&find(path)?)?;
            let Some(Tree::Table(keys)) = wanted.at(table) else { return Err(missing()) };
            keys.remove(key);
            // What else stands on these lines would go as well; the comparison of meanings sees all but comments.
            let start = text[..range.start].rfind('\n').map_or(0, |at| at + 1);
            let start = if start == 0 && text.starts_with(MARK) { MARK.len() } else { start };
            let stop = text[range.end..].find('\n').map_or(text.len(), |at| range.end + at + 1);
            Ok((start..stop, String::new()))
        }
        Edit::Set { key, value } => {
            let Tree::Table(table) = &mut *wanted else { return Err(missing()) };
            let bare = !key.is_empty() && key.bytes().all(|b| b.is_ascii_alphanumeric() || b == b'-' || b == b'_');
            if !bare || table.insert(key.clone(), Tree::Text(value.clone())).is_some() {
                return Err(Refusal { line: 1, reason: Reason::BadWord });
            }
            let newline = if text.contains("\r\n") { "\r\n" } else { "\n" };
            // Behind the last key before any table, else at the very top.
            let mut after = if text.starts_with(MARK) { MARK.len() } else { 0 };
            for (_, item) in document.iter() {
                if let Some(range) = item.as_value().and_then(Value::span) {
                    after = after.max(shift(text, range).end);
                }
            }
            let line = format!("{key} = {}", quoted(value, ""));
            if text[..after].trim_start_matches(MARK).is_empty() {
                let gap = if text[after..].trim().is_empty() { "" } else { newline };
                return Ok((after..after, format!("{line}{newline}{gap}")));
            }
            match text[after..].find('\n') {
                Some(at) => Ok((after + at + 1..after + at + 1, format!("{line}{newline}"))),
                None => Ok((text.len()..text.len(), format!("{newline}{line}"))),
            }
        }
    }
}

/// Finds a comma that is no part of a comment.
fn comma(text: &str) -> Option<usize> {
    let mut in_comment = false;
    text.char_indices().find_map(|(at, c)| {
        in_comment = match c {
            '#' => true,
            '\n' => false,
            _ => in_comment,
        };
        (c == ',' && !in_comment).then_some(at)
    })
}

fn comma_between(text: &str, from: usize, to: usize) -> bool {
    comma(&text[from..to]).is_some()
}

/// Writes a string as another one is written.
fn quoted(value: &str, like: &str) -> String {
    if like.starts_with('\'') && !like.starts_with("'''") && !value.contains('\'') {
        return format!("'{value}'");
    }
    format!("\"{}\"", value.replace('\\', "\\\\").replace('"', "\\\""))
}

#[cfg(test)]
#[path = "toml_file_tests.rs"]
mod tests;
