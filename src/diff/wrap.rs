//! Wrapping of prose, also Chinese, that never breaks a path.

use unicode_width::{UnicodeWidthChar, UnicodeWidthStr};

/// Wraps one paragraph to `width` columns; a longer word stands out on a line of its own.
///
/// Lines break at blanks and between Chinese characters, but not inside backticks and not in a word with a `/`.
pub fn wrap(text: &str, width: usize) -> Vec<String> {
    let mut lines = Vec::new();
    let mut line = String::new();
    for piece in pieces(text) {
        let fits = line.width() + piece.trim_end().width() <= width;
        if !fits && !line.trim().is_empty() {
            lines.push(line.trim_end().to_owned());
            line.clear();
        }
        // Blanks that a line break stands for are gone; those of an indentation at the very start stay.
        let piece = if line.is_empty() && !lines.is_empty() { piece.trim_start() } else { piece };
        line.push_str(piece);
    }
    if !line.trim().is_empty() || lines.is_empty() {
        lines.push(line.trim_end().to_owned());
    }
    lines
}

/// Fills `text` up to `width` columns with blanks.
pub fn pad(text: &str, width: usize) -> String {
    format!("{text}{}", " ".repeat(width.saturating_sub(text.width())))
}

/// Cuts the text where a line may break; the pieces together are the text.
fn pieces(text: &str) -> Vec<&str> {
    let mut pieces = Vec::new();
    let mut start = 0;
    let mut in_backticks = false;
    let mut in_path = false;
    let mut before: Option<char> = None;
    for (at, c) in text.char_indices() {
        let breaks = match before {
            None => false,
            Some(_) if in_backticks => false,
            Some(' ') => c != ' ',
            Some(_) if c == ' ' || in_path || is_closing(c) => false,
            // Around a Chinese character, except after an opening mark.
            Some(before) => (is_wide(before) || is_wide(c)) && !is_opening(before),
        };
        if breaks {
            pieces.push(&text[start..at]);
            start = at;
        }
        match c {
            '`' => in_backticks = !in_backticks,
            '/' => in_path = true,
            ' ' | '，' | '。' | '；' | '：' | '（' | '）' | '、' => in_path = false,
            _ => {}
        }
        before = Some(c);
    }
    pieces.push(&text[start..]);
    pieces
}

fn is_wide(c: char) -> bool {
    c.width() == Some(2)
}

fn is_closing(c: char) -> bool {
    "，。；：！？、）》」』”’….,;:!?)]}".contains(c)
}

fn is_opening(c: char) -> bool {
    "（《「『“‘([{".contains(c)
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn breaks_where_it_may() {
        let cases: [(&str, usize, &[&str]); 7] = [
            ("one two three", 7, &["one two", "three"]),
            ("see /a/very/long/path/name here", 10, &["see", "/a/very/long/path/name", "here"]),
            ("run `fix run -- make` now", 8, &["run", "`fix run -- make`", "now"]),
            ("构建目录记住了旧的目标。", 10, &["构建目录记", "住了旧的目", "标。"]),
            ("目录 /a/构建/目录名，其余", 12, &["目录", "/a/构建/目录名，", "其余"]),
            ("", 10, &[""]),
            ("  indented text", 10, &["  indented", "text"]),
        ];
        for (text, width, want) in cases {
            assert_eq!(wrap(text, width), want, "{text}");
        }
        assert_eq!(pad("编号", 6), "编号  ");
    }

    proptest! {
        #[test]
        fn nothing_is_lost(text in "[a-z /`构建（），。]{0,60}", width in 1usize..40) {
            let squeeze = |text: &str| text.replace(' ', "");
            prop_assert_eq!(squeeze(&wrap(&text, width).concat()), squeeze(&text));
        }
    }
}
