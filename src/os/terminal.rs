//! Text that comes from elsewhere, made safe to show on a terminal.
//!
//! A log or a file may hold escape sequences that move the cursor, rename the window or type answers, and
//! bidirectional controls that reorder what a reader sees. Nothing of either may reach the terminal.

use std::fmt::Write;

/// Columns between tab stops.
const TAB: usize = 8;

/// Escapes control, bidirectional and invisible characters, so that they are seen instead of obeyed.
///
/// Line feeds stay; a tab becomes blanks up to the next stop, counted in characters from the line's start.
pub fn escape_for_terminal(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    let mut column = 0;
    for c in text.chars() {
        if c == '\n' {
            out.push(c);
            column = 0;
        } else if c == '\t' {
            let blanks = TAB - column % TAB;
            out.extend(std::iter::repeat_n(' ', blanks));
            column += blanks;
        } else {
            column += push_escaped(&mut out, c);
        }
    }
    out
}

/// Escapes as [`escape_for_terminal`] does, and line feeds and tabs too: the result is one line.
pub fn escape_line(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    for c in text.chars() {
        push_escaped(&mut out, c);
    }
    out
}

/// Decodes UTF-8 and shows each byte that is none as `\xNN`, so that different bytes look different.
pub fn decode_visibly(bytes: &[u8]) -> String {
    let mut out = String::with_capacity(bytes.len());
    for chunk in bytes.utf8_chunks() {
        out.push_str(chunk.valid());
        for byte in chunk.invalid() {
            write!(out, "\\x{byte:02x}").expect("writing to a string does not fail");
        }
    }
    out
}

/// Says whether a terminal would obey or hide `c` instead of showing it.
pub fn is_unsafe(c: char) -> bool {
    c.is_control()
        || matches!(c,
            '\u{ad}' | '\u{61c}' | '\u{180e}' | '\u{200b}'..='\u{200f}' | '\u{2028}'..='\u{202e}'
            | '\u{2060}'..='\u{206f}' | '\u{feff}' | '\u{fff9}'..='\u{fffb}' | '\u{e0000}'..='\u{e007f}')
}

/// Appends `c`, escaped where needed; returns how many characters that took.
fn push_escaped(out: &mut String, c: char) -> usize {
    if !is_unsafe(c) {
        out.push(c);
        return 1;
    }
    let escaped = match c {
        '\n' => "\\n".to_owned(),
        '\r' => "\\r".to_owned(),
        '\t' => "\\t".to_owned(),
        c if u32::from(c) < 0x100 => format!("\\x{:02x}", u32::from(c)),
        c => format!("\\u{{{:x}}}", u32::from(c)),
    };
    out.push_str(&escaped);
    escaped.len()
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn controls_are_seen_instead_of_obeyed() {
        let cases = [
            ("plain 清华 é", "plain 清华 é"),
            ("\u{1b}[31mred\u{7}", "\\x1b[31mred\\x07"),
            ("a\tb\n\tc", "a       b\n        c"),
            ("end\r\n", "end\\r\n"),
            ("\u{9b}2J \u{7f}", "\\x9b2J \\x7f"),
            ("admin\u{202e}gnp.exe", "admin\\u{202e}gnp.exe"),
            ("a\u{2028}b\u{feff}\u{2066}", "a\\u{2028}b\\u{feff}\\u{2066}"),
        ];
        for (given, want) in cases {
            assert_eq!(escape_for_terminal(given), want);
        }
        assert_eq!(escape_line("a\tb\r\n"), "a\\tb\\r\\n");
        assert_eq!(decode_visibly(b"caf\xe9 \xe6\xb8\x85 \xff"), "caf\\xe9 清 \\xff");
    }

    proptest! {
        #[test]
        fn nothing_unsafe_comes_out(text in any::<String>(), unsafe_ones in "[\\u{0}-\\u{9f}\\u{200b}-\\u{206f}]*") {
            for given in [&text, &unsafe_ones, &format!("{text}{unsafe_ones}")] {
                let shown = escape_for_terminal(given);
                prop_assert!(shown.chars().all(|c| c == '\n' || !is_unsafe(c)));
                prop_assert!(!escape_line(given).chars().any(is_unsafe));
                // What is shown is safe already: escaping again changes nothing.
                prop_assert_eq!(escape_for_terminal(&shown), shown);
            }
        }
    }
}
