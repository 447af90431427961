//! String literals of Python, and the cache entries that CMake arguments set.

use std::ops::Range;

use super::{Kind, Reason};

/// An element of a list of CMake arguments.
#[derive(Debug, Clone)]
pub struct Element {
    pub range: Range<usize>,
    /// The comma behind it.
    pub comma: Option<Range<usize>>,
    pub value: Value,
}

/// What an element is.
#[derive(Debug, Clone, PartialEq)]
pub enum Value {
    /// A plain literal: what stands between the quotes is the text, but for escapes.
    Literal(Literal),
    /// Anything that Python has to compute.
    Computed(Reason),
}

/// A plain string literal.
#[derive(Debug, Clone, PartialEq)]
pub struct Literal {
    pub content: Range<usize>,
    pub raw: bool,
    pub quote: char,
}

/// A `-D` argument that sets the linker flags of one kind.
#[derive(Debug, Clone, PartialEq)]
pub struct Define {
    pub kind: Kind,
    /// The value's range in the file.
    pub value: Range<usize>,
}

impl Literal {
    /// Reads a literal of one piece; `start` is its offset in the file.
    pub fn read(text: &str, start: usize) -> Result<Self, Reason> {
        let prefix_len = text.bytes().take_while(u8::is_ascii_alphabetic).count();
        let prefix = text[..prefix_len].to_ascii_lowercase();
        if prefix.contains(['f', 't']) {
            return Err(Reason::FormatString);
        }
        if prefix.contains('b') {
            return Err(Reason::Bytes);
        }
        let body = &text[prefix_len..];
        let Some(quote) = body.chars().next().filter(|c| matches!(c, '"' | '\'')) else {
            return Err(Reason::Expression);
        };
        let triple = body.len() >= 6 && body.chars().take(3).all(|c| c == quote);
        let width = if triple { 3 } else { 1 };
        if body.len() < 2 * width {
            return Err(Reason::Expression);
        }
        let content = start + prefix_len + width..start + text.len() - width;
        Ok(Self { content, raw: prefix.contains('r'), quote })
    }

    /// Returns the linker flags that this argument sets.
    ///
    /// `Ok(None)` is another argument; an error is one that sets them in a way that cannot be edited.
    pub fn define(&self, text: &str) -> Result<Option<Define>, Reason> {
        let content = &text[self.content.clone()];
        let Some((kind, offset)) = Kind::ALL.into_iter().find_map(|kind| Some((kind, value_offset(content, kind)?)))
        else {
            return if mentions(content) { Err(Reason::SeveralInOne) } else { Ok(None) };
        };
        let value = &content[offset..];
        if mentions(value) || value.split_ascii_whitespace().any(|word| word.starts_with("-D")) {
            return Err(Reason::SeveralInOne);
        }
        if value.contains(['"', '\'']) {
            return Err(Reason::Quotes);
        }
        if value.contains('\n') || (value.contains('\\') && !self.raw) {
            return Err(Reason::Escape);
        }
        Ok(Some(Define { kind, value: self.content.start + offset..self.content.end }))
    }
}

/// Says whether a text sets linker flags anywhere.
pub fn mentions(text: &str) -> bool {
    Kind::ALL.into_iter().any(|kind| mentions_kind(text, kind))
}

/// Says whether a text sets the linker flags of this kind anywhere: `-DNAME=`, `-D NAME=`, `-DNAME:STRING=`.
pub fn mentions_kind(text: &str, kind: Kind) -> bool {
    let name = kind.variable();
    text.match_indices(name).any(|(at, _)| {
        let before = text[..at].trim_end();
        let after = &text[at + name.len()..];
        // `CMAKE_EXE_LINKER_FLAGS_RELEASE` is another variable.
        before.ends_with("-D") && after.starts_with(['=', ':'])
    })
}

/// Returns where the value begins in `-DNAME=value` or `-DNAME:TYPE=value`.
fn value_offset(content: &str, kind: Kind) -> Option<usize> {
    let after = content.strip_prefix("-D")?.strip_prefix(kind.variable())?;
    let start = content.len() - after.len();
    if after.starts_with('=') {
        return Some(start + 1);
    }
    let typed = after.strip_prefix(':')?;
    let equals = typed.find('=')?;
    typed[..equals].bytes().all(|byte| byte.is_ascii_uppercase()).then_some(start + 1 + equals + 1)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn define(text: &str) -> Result<Option<(Kind, &str)>, Reason> {
        let literal = Literal::read(text, 0)?;
        Ok(literal.define(text)?.map(|define| (define.kind, &text[define.value])))
    }

    #[test]
    fn reads_defines() {
        let set = |kind, value| Ok(Some((kind, value)));
        for (text, want) in [
            (r#""-DCMAKE_EXE_LINKER_FLAGS=-fuse-ld=lld""#, set(Kind::Exe, "-fuse-ld=lld")),
            (r"r'-DCMAKE_SHARED_LINKER_FLAGS:STRING=a\b'", set(Kind::Shared, r"a\b")),
            (r#"u"""-DCMAKE_MODULE_LINKER_FLAGS=""""#, set(Kind::Module, "")),
            (r#""-DCMAKE_EXE_LINKER_FLAGS_RELEASE=x""#, Ok(None)),
            (r#""-DCMAKE_STATIC_LINKER_FLAGS=x""#, Ok(None)),
            (r#"f"-DCMAKE_EXE_LINKER_FLAGS={x}""#, Err(Reason::FormatString)),
            (r#"b"-DCMAKE_EXE_LINKER_FLAGS=""#, Err(Reason::Bytes)),
            (r#""-DCMAKE_EXE_LINKER_FLAGS=\"a b\"""#, Err(Reason::Quotes)),
            (r#""-DCMAKE_EXE_LINKER_FLAGS=a\tb""#, Err(Reason::Escape)),
            (r#""-DA=1 -DCMAKE_EXE_LINKER_FLAGS=x""#, Err(Reason::SeveralInOne)),
            (r#""-DCMAKE_EXE_LINKER_FLAGS=x -DA=1""#, Err(Reason::SeveralInOne)),
        ] {
            assert_eq!(define(text), want, "{text}");
        }
    }
}
