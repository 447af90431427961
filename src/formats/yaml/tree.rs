//! A YAML text as a tree whose nodes know where they stand.

use std::collections::BTreeSet;
use std::ops::Range;

use saphyr_parser::{Event, Parser, ScalarStyle, Span};

use super::{Entry, Reason, Refusal};

/// Deeper nesting is no configuration.
const DEEPEST: usize = 32;

/// A node and where it stands.
#[derive(Debug, Clone)]
pub struct Node {
    pub kind: Kind,
    /// Of a scalar: what it says. Else empty.
    pub text: String,
    /// Of a scalar or alias the whole; of a collection from its first character to the end of its last part.
    pub span: Range<usize>,
    pub line: u32,
    pub column: u32,
    pub style: Style,
    /// It is shared by an anchor.
    pub is_anchored: bool,
    pub is_tagged: bool,
}

/// What a node is.
#[derive(Debug, Clone)]
pub enum Kind {
    Scalar,
    Alias,
    Sequence(Vec<Node>),
    Mapping(Vec<(Node, Node)>),
}

/// How a node is written.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Style {
    /// A scalar without quotes, or a collection by indentation.
    Plain,
    /// A quoted scalar, or a collection in brackets.
    Delimited,
    /// A scalar of whole lines, after `|` or `>`.
    Lines,
}

impl Node {
    pub fn entry(&self) -> Entry {
        Entry { text: self.text.clone(), line: self.line, column: self.column }
    }

    /// Says whether a scalar stands for "no value".
    pub fn is_null(&self) -> bool {
        self.style == Style::Plain && matches!(self.text.as_str(), "" | "~" | "null" | "Null" | "NULL")
    }

    /// Says whether two trees mean the same, wherever they stand.
    pub fn means(&self, other: &Node) -> bool {
        let flags = |node: &Node| (node.is_anchored, node.is_tagged);
        if flags(self) != flags(other) {
            return false;
        }
        match (&self.kind, &other.kind) {
            (Kind::Scalar, Kind::Scalar) => {
                self.text == other.text && (self.style == Style::Plain) == (other.style == Style::Plain)
            }
            (Kind::Alias, Kind::Alias) => true,
            (Kind::Sequence(a), Kind::Sequence(b)) => a.len() == b.len() && a.iter().zip(b).all(|(a, b)| a.means(b)),
            (Kind::Mapping(a), Kind::Mapping(b)) => {
                a.len() == b.len() && a.iter().zip(b).all(|(a, b)| a.0.means(&b.0) && a.1.means(&b.1))
            }
            (Kind::Scalar | Kind::Alias | Kind::Sequence(_) | Kind::Mapping(_), _) => false,
        }
    }

    /// Lists the node and all below it.
    pub fn all(&self) -> Vec<&Node> {
        let mut all = vec![self];
        let mut at = 0;
        while at < all.len() {
            match &all[at].kind {
                Kind::Scalar | Kind::Alias => {}
                Kind::Sequence(items) => all.extend(items),
                Kind::Mapping(pairs) => all.extend(pairs.iter().flat_map(|(key, value)| [key, value])),
            }
            at += 1;
        }
        all
    }
}

/// Parses a text of one document; `None` when it holds nothing.
pub fn parse(text: &str) -> Result<Option<Node>, Refusal> {
    tabs(text)?;
    let skipped = if text.starts_with('\u{feff}') { '\u{feff}'.len_utf8() } else { 0 };
    // The parser counts characters, edits count bytes.
    let body = &text[skipped..];
    let mut bytes: Vec<usize> = body.char_indices().map(|(at, _)| at + skipped).collect();
    bytes.push(text.len());
    let mut builder = Builder { text, bytes, open: Vec::new(), root: None, documents: 0 };
    let mut parser = Parser::new_from_str(body);
    while let Some(event) = parser.next_event() {
        let (event, span) = event.map_err(|error| Refusal::at(error.marker().line(), Reason::Syntax))?;
        builder.take(&event, span)?;
    }
    let Some(root) = builder.root else { return Ok(None) };
    // A file of comments is an empty scalar to the parser.
    if matches!(root.kind, Kind::Scalar) && root.text.is_empty() && root.style == Style::Plain {
        return Ok(None);
    }
    Ok(Some(root))
}

/// YAML forbids tabs in indentation, and parsers differ in what they forgive.
fn tabs(text: &str) -> Result<(), Refusal> {
    let indents = |line: &str| line[..line.len() - line.trim_start_matches([' ', '\t']).len()].contains('\t');
    match text.lines().position(indents) {
        Some(line) => Err(Refusal::at(line + 1, Reason::TabIndent)),
        None => Ok(()),
    }
}

struct Builder<'a> {
    text: &'a str,
    /// Byte of each character.
    bytes: Vec<usize>,
    open: Vec<Open>,
    root: Option<Node>,
    documents: usize,
}

/// A collection whose end has not come yet.
struct Open {
    node: Node,
    /// Of a mapping: the key that waits for its value.
    key: Option<Node>,
    /// Of a mapping: its keys so far.
    keys: BTreeSet<String>,
}

impl Builder<'_> {
    fn take(&mut self, event: &Event<'_>, span: Span) -> Result<(), Refusal> {
        match event {
            Event::Nothing | Event::StreamStart | Event::StreamEnd | Event::DocumentEnd => Ok(()),
            Event::DocumentStart(_) => {
                self.documents += 1;
                let several = self.documents > 1;
                if several { Err(Refusal::at(span.start.line(), Reason::SeveralDocuments)) } else { Ok(()) }
            }
            Event::Alias(_) => {
                let node = self.node(Kind::Alias, span, Style::Plain, 0, None)?;
                self.add(node)
            }
            Event::Scalar(text, style, anchor, tag) => {
                let style = match style {
                    ScalarStyle::Plain => Style::Plain,
                    ScalarStyle::SingleQuoted | ScalarStyle::DoubleQuoted => Style::Delimited,
                    ScalarStyle::Literal | ScalarStyle::Folded => Style::Lines,
                };
                let mut node = self.node(Kind::Scalar, span, style, *anchor, tag.as_deref())?;
                node.text = text.clone().into_owned();
                self.add(node)
            }
            Event::SequenceStart(anchor, tag) => self.begin(Kind::Sequence(Vec::new()), span, *anchor, tag.as_deref()),
            Event::MappingStart(anchor, tag) => self.begin(Kind::Mapping(Vec::new()), span, *anchor, tag.as_deref()),
            Event::SequenceEnd | Event::MappingEnd => {
                let Some(Open { mut node, .. }) = self.open.pop() else { return Ok(()) };
                if node.style == Style::Delimited {
                    node.span.end = self.range(span)?.end;
                }
                self.add(node)
            }
        }
    }

    fn begin(
        &mut self,
        kind: Kind,
        span: Span,
        anchor: usize,
        tag: Option<&saphyr_parser::Tag>,
    ) -> Result<(), Refusal> {
        let mut node = self.node(kind, span, Style::Plain, anchor, tag)?;
        if self.open.len() == DEEPEST {
            return Err(Refusal::new(node.line, Reason::TooDeep));
        }
        if self.text[node.span.start..].starts_with(['[', '{']) && !span.is_empty() {
            node.style = Style::Delimited;
        }
        self.open.push(Open { node, key: None, keys: BTreeSet::new() });
        Ok(())
    }

    fn range(&self, span: Span) -> Result<Range<usize>, Refusal> {
        let byte = |at: usize| self.bytes.get(at).copied();
        byte(span.start.index())
            .zip(byte(span.end.index()))
            .filter(|(start, end)| start <= end)
            .map(|(start, end)| start..end)
            .ok_or_else(|| Refusal::at(span.start.line(), Reason::Syntax))
    }

    fn node(
        &self,
        kind: Kind,
        span: Span,
        style: Style,
        anchor: usize,
        tag: Option<&saphyr_parser::Tag>,
    ) -> Result<Node, Refusal> {
        let (line, column) = (span.start.line(), span.start.col() + 1);
        if tag.is_some_and(|tag| !tag.is_yaml_core_schema() || tag.suffix.contains("python")) {
            return Err(Refusal::at(line, Reason::ForeignTag));
        }
        let narrow = |number: usize| u32::try_from(number).unwrap_or(u32::MAX);
        Ok(Node {
            kind,
            text: String::new(),
            span: self.range(span)?,
            line: narrow(line),
            column: narrow(column),
            style,
            is_anchored: anchor > 0,
            is_tagged: tag.is_some(),
        })
    }

    fn add(&mut self, node: Node) -> Result<(), Refusal> {
        let Some(open) = self.open.last_mut() else {
            self.root = Some(node);
            return Ok(());
        };
        open.node.span.end = open.node.span.end.max(node.span.end);
        match &mut open.node.kind {
            Kind::Scalar | Kind::Alias => {}
            Kind::Sequence(items) => items.push(node),
            Kind::Mapping(pairs) => match open.key.take() {
                None => {
                    if matches!(node.kind, Kind::Scalar) && !open.keys.insert(node.text.clone()) {
                        return Err(Refusal::new(node.line, Reason::DuplicateKey));
                    }
                    open.key = Some(node);
                }
                Some(key) => pairs.push((key, node)),
            },
        }
        Ok(())
    }
}
