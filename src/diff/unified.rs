//! The lines of a unified diff of two texts, byte for byte.
//!
//! libgit2 compares; headers are written by the callers, because libgit2's own ones follow the user's git
//! configuration and lack the TAB that `patch` needs after a name with blanks. Nothing is read from disk.

use git2::{DiffOptions, Patch};

/// A line of a hunk, or its head.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct DiffLine {
    pub kind: LineKind,
    /// 1-based line before, 0 where there is none.
    pub old: usize,
    /// 1-based line after, 0 where there is none.
    pub new: usize,
    /// The line with its line feed, where it has one.
    pub bytes: Vec<u8>,
}

/// What a [`DiffLine`] is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum LineKind {
    /// `@@ -1,3 +1,4 @@`
    Head,
    Same,
    Removed,
    Added,
    /// `\ No newline at end of file`
    NoNewline,
}

/// A text that cannot be compared.
#[derive(Debug, thiserror::Error)]
#[error("cannot compare the contents of `{path}`")]
pub struct DiffError {
    pub path: crate::change::AbsPath,
    pub source: git2::Error,
}

/// Compares two contents as text, whatever bytes they hold; equal contents have no lines.
pub fn lines(before: &[u8], after: &[u8]) -> Result<Vec<DiffLine>, git2::Error> {
    let mut options = DiffOptions::new();
    // Raw bytes instead of `GIT binary patch`: `git apply` takes both, `patch` only these.
    options.force_text(true).context_lines(3).interhunk_lines(0);
    let mut patch = Patch::from_buffers(before, None, after, None, Some(&mut options))?;
    let mut lines = Vec::new();
    patch.print(&mut |_, _, line| {
        let kind = match line.origin() {
            'H' => LineKind::Head,
            ' ' => LineKind::Same,
            '-' => LineKind::Removed,
            '+' => LineKind::Added,
            '=' | '<' | '>' => LineKind::NoNewline,
            // The file's header.
            _ => return true,
        };
        let bytes = match kind {
            LineKind::Head => head_without_function(line.content()),
            LineKind::NoNewline => b"\\ No newline at end of file\n".to_vec(),
            LineKind::Same | LineKind::Removed | LineKind::Added => line.content().to_vec(),
        };
        let number = |number: Option<u32>| number.map_or(0, |number| number as usize);
        lines.push(DiffLine { kind, old: number(line.old_lineno()), new: number(line.new_lineno()), bytes });
        true
    })?;
    Ok(lines)
}

/// Cuts what git quotes of an earlier line behind `@@ -1,3 +1,4 @@`: it may be a line with a password.
fn head_without_function(head: &[u8]) -> Vec<u8> {
    let marks = b"@@";
    let end = head.windows(2).skip(2).position(|pair| pair == marks).map_or(head.len(), |at| at + 4);
    let mut head = head[..end].to_vec();
    if !head.ends_with(b"\n") {
        head.push(b'\n');
    }
    head
}

impl LineKind {
    /// Returns what stands before such a line.
    pub fn sign(self) -> &'static str {
        match self {
            LineKind::Head | LineKind::NoNewline => "",
            LineKind::Same => " ",
            LineKind::Removed => "-",
            LineKind::Added => "+",
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn signs_numbers_and_the_missing_line_feed() {
        let before = b"password = x\n a\n b\n c\n d\n e";
        let after = b"password = x\n a\n b\n c\n d\n f\n";
        let lines_of_both = lines(before, after).unwrap();
        let shown: Vec<(&str, &str)> =
            lines_of_both.iter().map(|line| (line.kind.sign(), str::from_utf8(&line.bytes).unwrap())).collect();
        let want = [
            ("", "@@ -3,4 +3,4 @@\n"),
            (" ", " b\n"),
            (" ", " c\n"),
            (" ", " d\n"),
            ("-", " e"),
            ("", "\\ No newline at end of file\n"),
            ("+", " f\n"),
        ];
        // libgit2's own mark begins with the line feed that the line lacks; ours does not.
        assert_eq!(shown, want);
        assert_eq!((lines_of_both[1].old, lines_of_both[1].new), (3, 3));
        assert_eq!((lines_of_both[4].old, lines_of_both[4].new), (6, 0));
        assert_eq!((lines_of_both[6].old, lines_of_both[6].new), (0, 6));
        assert!(lines(b"a\0b", b"a\0b").unwrap().is_empty());
    }
}
