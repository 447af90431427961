//! CMakeLists.txt: which cache entries it declares, with their literal defaults.
//!
//! Reads commands and their words, expands nothing and follows no condition: what is declared twice, or by a variable,
//! has no known default.

use std::collections::BTreeMap;

/// Lists the entries that `option()` and `set(… CACHE …)` declare, with the default where it is one literal.
pub fn declared_defaults(text: &str) -> BTreeMap<String, Option<String>> {
    let mut declared: BTreeMap<String, Option<String>> = BTreeMap::new();
    for (command, words) in commands(text) {
        let (name, default) = match (command.to_ascii_lowercase().as_str(), words.as_slice()) {
            ("option", [name, _]) => (name, "OFF"),
            ("option", [name, _, default]) => (name, default.as_str()),
            ("set", [name, default, cache, ..]) if cache == "CACHE" => (name, default.as_str()),
            _ => continue,
        };
        let literal = |word: &str| !word.contains("${") && !word.contains("$<") && !word.contains("$ENV");
        let default = (literal(name) && literal(default)).then(|| default.to_owned());
        // Two declarations stand under conditions: neither default is sure.
        declared.entry(name.clone()).and_modify(|known| *known = None).or_insert(default);
    }
    declared
}

/// Says whether two values of a BOOL entry, or two texts, mean the same.
pub fn same_value(kind: &str, one: &str, other: &str) -> bool {
    let truth = |value: &str| match value.to_ascii_uppercase().as_str() {
        "1" | "ON" | "YES" | "TRUE" | "Y" => Some(true),
        "" | "0" | "OFF" | "NO" | "FALSE" | "N" | "IGNORE" => Some(false),
        _ => None,
    };
    one == other || (kind == "BOOL" && truth(one).is_some() && truth(one) == truth(other))
}

/// Splits a file into commands with their words; what cannot be read ends the list.
fn commands(text: &str) -> Vec<(String, Vec<String>)> {
    let mut commands = Vec::new();
    let mut rest = skip_blank(text);
    while !rest.is_empty() {
        let end = rest.find(|c: char| !(c.is_ascii_alphanumeric() || c == '_')).unwrap_or(rest.len());
        let (name, after) = rest.split_at(end);
        let Some(mut arguments) = skip_blank(after).strip_prefix('(').filter(|_| !name.is_empty()) else { break };
        let (mut words, mut depth) = (Vec::new(), 1);
        while depth > 0 {
            arguments = skip_blank(arguments);
            let Some((word, after)) = next_word(arguments) else { return commands };
            match word.as_str() {
                "(" if arguments.starts_with('(') => depth += 1,
                ")" if arguments.starts_with(')') => depth -= 1,
                _ => {}
            }
            words.push(word);
            arguments = after;
        }
        words.pop();
        commands.push((name.to_owned(), words));
        rest = skip_blank(arguments);
    }
    commands
}

/// Takes one word: a parenthesis, `"quoted"`, `[=[bracketed]=]` or bare.
fn next_word(text: &str) -> Option<(String, &str)> {
    let first = text.chars().next()?;
    if matches!(first, '(' | ')') {
        return Some((first.to_string(), &text[1..]));
    }
    if let Some((content, after)) = bracket(text) {
        return Some((content.to_owned(), after));
    }
    let mut word = String::new();
    let quoted = first == '"';
    let mut characters = text.char_indices().skip(usize::from(quoted));
    while let Some((at, character)) = characters.next() {
        match character {
            '\\' => word.extend(characters.next().map(|(_, escaped)| escaped)),
            '"' if quoted => return Some((word, &text[at + 1..])),
            ' ' | '\t' | '\r' | '\n' | '(' | ')' | '#' if !quoted => return Some((word, &text[at..])),
            other => word.push(other),
        }
    }
    None
}

/// Takes `[[…]]`, `[=[…]=]` and so on.
fn bracket(text: &str) -> Option<(&str, &str)> {
    let inner = text.strip_prefix('[')?;
    let equals = inner.len() - inner.trim_start_matches('=').len();
    let content = inner[equals..].strip_prefix('[')?;
    let end = format!("]{}]", "=".repeat(equals));
    content.split_once(end.as_str())
}

/// Skips blanks and comments.
fn skip_blank(mut text: &str) -> &str {
    loop {
        text = text.trim_start();
        let Some(comment) = text.strip_prefix('#') else { return text };
        text = match bracket(comment) {
            Some((_, after)) => after,
            None => comment.split_once('\n').map_or("", |(_, after)| after),
        };
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn finds_literal_defaults() {
        let text = r#"
            cmake_minimum_required(VERSION 3.20) # comment (
            project("demo" C)
            option(DEMO_X "doc (with parens)" ON)
            OPTION (DEMO_PLAIN "doc")
            set(DEMO_Y "a b" CACHE STRING "doc \" more")
            set(DEMO_COMPUTED ${OTHER} CACHE STRING "doc")
            set(LOCAL value)
            #[[ option(HIDDEN "doc" ON) ]]
            if(A AND (B OR C))
              option(DEMO_TWICE "doc" ON)
            else()
              option(DEMO_TWICE "doc" OFF)
            endif()
            set(DEMO_BRACKET [=[x]]y]=] CACHE STRING [[doc]])
        "#;
        let got: Vec<(String, Option<String>)> = declared_defaults(text).into_iter().collect();
        let want = [
            ("DEMO_BRACKET", Some("x]]y")),
            ("DEMO_COMPUTED", None),
            ("DEMO_PLAIN", Some("OFF")),
            ("DEMO_TWICE", None),
            ("DEMO_X", Some("ON")),
            ("DEMO_Y", Some("a b")),
        ];
        assert_eq!(got, want.map(|(name, default)| (name.to_owned(), default.map(str::to_owned))));
        for broken in ["set(A", "set(A \"", "][", "\"", "option((", "set(A [[", "é(", "a\\"] {
            assert_eq!(declared_defaults(broken), BTreeMap::new(), "{broken}");
        }
    }

    #[test]
    fn booleans_have_many_spellings() {
        assert!(same_value("BOOL", "ON", "TRUE") && same_value("BOOL", "", "OFF"));
        assert!(!same_value("BOOL", "ON", "OFF") && !same_value("STRING", "ON", "TRUE"));
    }
}
