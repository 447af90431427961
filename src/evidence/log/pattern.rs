//! What a recipe's regular expression means: spaces that may be line breaks, case, bytes, limits.

use regex::bytes::{Regex, RegexBuilder};
use regex_syntax::ast::{self, Ast};
use thiserror::Error;

use super::literals::expand_spaces;

/// A signature is a sentence; more than this is a mistake.
const MOST_BYTES: usize = 4096;
/// Bounds what one signature takes compiled, and what its automaton may cache while it runs.
const SIZE_LIMIT: usize = 1 << 20;
const CACHE_LIMIT: usize = 256 << 10;
const NEST_LIMIT: u32 = 32;

/// Why a regular expression cannot be a signature.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
pub enum PatternError {
    #[error("not a regular expression: {message}")]
    Syntax { message: String },
    #[error("the regular expression becomes too big (over {limit} bytes): use smaller counts or classes")]
    TooBig { limit: usize },
    #[error("the regular expression is longer than {limit} bytes")]
    TooLong { limit: usize },
    #[error("the regular expression matches the empty text")]
    Empty,
    #[error("the flag `x` is not allowed: spaces have a meaning in signatures")]
    IgnoresSpaces,
}

/// Checks what [`super::Scanner`] relies on: syntax, size, and that it does not match nothing.
pub fn check_pattern(regex: &str) -> Result<(), PatternError> {
    if regex.len() > MOST_BYTES {
        return Err(PatternError::TooLong { limit: MOST_BYTES });
    }
    let syntax = ast::parse::ParserBuilder::new().nest_limit(NEST_LIMIT).build().parse(regex);
    let syntax = syntax.map_err(|error| PatternError::Syntax { message: last_line(&error.to_string()) })?;
    if ignores_spaces(&syntax) {
        return Err(PatternError::IgnoresSpaces);
    }
    if compile(regex)?.is_match(b"") {
        return Err(PatternError::Empty);
    }
    Ok(())
}

/// Compiles a signature: bytes, case-insensitive, `^` and `$` at each line, spaces expanded.
pub(super) fn compile(regex: &str) -> Result<Regex, PatternError> {
    let built = RegexBuilder::new(&expand_spaces(regex))
        .unicode(false)
        .case_insensitive(true)
        .multi_line(true)
        .nest_limit(NEST_LIMIT)
        .size_limit(SIZE_LIMIT)
        .dfa_size_limit(CACHE_LIMIT)
        .build();
    match built {
        Ok(regex) => Ok(regex),
        Err(regex::Error::CompiledTooBig(limit)) => Err(PatternError::TooBig { limit }),
        Err(error) => Err(PatternError::Syntax { message: last_line(&error.to_string()) }),
    }
}

/// The parser draws the place over several lines; the last one is the message.
fn last_line(message: &str) -> String {
    message.lines().last().unwrap_or_default().trim_start_matches("error: ").to_owned()
}

/// Tells whether a signature has a space that may be a line break.
pub(super) fn has_space(regex: &str) -> bool {
    expand_spaces(regex) != regex
}

fn ignores_spaces(syntax: &Ast) -> bool {
    let sets = |flags: &ast::Flags| flags.flag_state(ast::Flag::IgnoreWhitespace) == Some(true);
    match syntax {
        Ast::Flags(set) => sets(&set.flags),
        Ast::Group(group) => group.flags().is_some_and(sets) || ignores_spaces(&group.ast),
        Ast::Repetition(repetition) => ignores_spaces(&repetition.ast),
        Ast::Alternation(alternation) => alternation.asts.iter().any(ignores_spaces),
        Ast::Concat(concat) => concat.asts.iter().any(ignores_spaces),
        Ast::Empty(_)
        | Ast::Literal(_)
        | Ast::Dot(_)
        | Ast::Assertion(_)
        | Ast::ClassUnicode(_)
        | Ast::ClassPerl(_)
        | Ast::ClassBracketed(_) => false,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn spaces() {
        let table = [
            ("a b", r"a[ \t\r\n]+b"),
            ("a  b", r"a[ \t\r\n]+b"),
            (r"a\ b[ x][^] ]c[[a ] ] d", r"a\ b[ x][^] ]c[[a ] ][ \t\r\n]+d"),
            ("a ?b *c {2}d", r"a(?:[ \t\r\n]+)?b(?:[ \t\r\n]+)*c(?:[ \t\r\n]+){2}d"),
            (r"\[ x \]", r"\[[ \t\r\n]+x[ \t\r\n]+\]"),
        ];
        for (regex, expected) in table {
            assert_eq!(expand_spaces(regex), expected, "{regex}");
            compile(regex).unwrap();
        }
    }

    #[test]
    fn checks() {
        assert_eq!(check_pattern(r"not found: (?P<name>\S+)"), Ok(()));
        assert_eq!(check_pattern("找不到 (?P<name>.+)"), Ok(()));
        assert_eq!(check_pattern("(?x) a b"), Err(PatternError::IgnoresSpaces));
        assert_eq!(check_pattern("(?:a)*"), Err(PatternError::Empty));
        assert!(matches!(check_pattern(r"(?:\w{999}){999}"), Err(PatternError::TooBig { .. })));
        assert!(matches!(check_pattern("(a"), Err(PatternError::Syntax { message }) if message == "unclosed group"));
        assert!(matches!(check_pattern(&"(".repeat(100)), Err(PatternError::Syntax { .. })));
        assert!(matches!(check_pattern(&"a".repeat(5000)), Err(PatternError::TooLong { .. })));
    }

    #[test]
    fn a_space_matches_a_break() {
        let regex = compile("was NOT found in the PATH").unwrap();
        assert!(regex.is_match(b"was not\r\n\r\n   found in\tthe path"));
        assert!(!regex.is_match(b"was notfound in the path"));
    }
}
