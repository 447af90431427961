//! Takes away what terminals, launchers and CI systems put around a message, one line at a time.
//!
//! A normalised line has no escape sequences, no overwritten progress, no prefix of a known kind, and no blanks at
//! either end. It must never join two lines nor touch the inside of a message: anchors are looked for in the log as it
//! stands.

use std::borrow::Cow;

use memchr::{memchr, memchr2, memchr3, memrchr};

use super::prefixes::peel;
use super::work::count;

const ESCAPE: u8 = 0x1b;
const BACKSPACE: u8 = 0x08;

/// Appends the normalised line; it has line breaks inside when it is a JSON string with some.
pub fn normalise(line: &[u8], out: &mut Vec<u8>) {
    let shown = visible(line);
    let text = peel(&shown);
    if let Some(message) = json_message(text) {
        for (index, part) in message.trim_end_matches(['\n', '\r']).split('\n').enumerate() {
            if index > 0 {
                out.push(b'\n');
            }
            out.extend_from_slice(peel(&visible(part.as_bytes())));
        }
        return;
    }
    out.extend_from_slice(text);
}

/// What a terminal would show in the end: without escape sequences, erased characters and overwritten progress.
pub fn visible(line: &[u8]) -> Cow<'_, [u8]> {
    count(line.len());
    if memchr3(ESCAPE, BACKSPACE, b'\r', line).is_none() {
        return Cow::Borrowed(line);
    }
    let mut text = unescaped(line);
    if memchr(b'\r', &text).is_some() {
        // Whatever was written last stays, unless that is nothing: `message\r\n`, `100%\r`.
        let last = text.split(|byte| *byte == b'\r').rev().find(|part| !part.trim_ascii().is_empty());
        text = last.unwrap_or_default().to_vec();
    }
    Cow::Owned(rubbed_out(text))
}

/// What is visible of a part of a long line, where no carriage return is applied: the rest of it is not known.
pub fn unwrapped(part: &[u8]) -> Cow<'_, [u8]> {
    count(part.len());
    if memchr2(ESCAPE, BACKSPACE, part).is_none() {
        return Cow::Borrowed(part);
    }
    Cow::Owned(rubbed_out(unescaped(part)))
}

/// Appends a line without escape sequences and erased characters, but with what was overwritten and all prefixes: more
/// than is visible.
pub fn unescape(line: &[u8], out: &mut Vec<u8>) {
    count(line.len());
    if memchr(BACKSPACE, line).is_none() {
        copy_unescaped(line, out);
    } else {
        out.extend_from_slice(&rubbed_out(unescaped(line)));
    }
}

fn unescaped(line: &[u8]) -> Vec<u8> {
    let mut out = Vec::with_capacity(line.len());
    copy_unescaped(line, &mut out);
    out
}

/// Copies all but ECMA-48 escape sequences. An unfinished one ends where its own alphabet does.
fn copy_unescaped(mut line: &[u8], out: &mut Vec<u8>) {
    while let Some(at) = memchr(ESCAPE, line) {
        out.extend_from_slice(&line[..at]);
        line = &line[at + 1..];
        match line.first() {
            Some(b'[') => {
                let parameters = line[1..].iter().take_while(|byte| (0x20..=0x3f).contains(*byte)).count();
                let end = 1 + parameters;
                let finished = line.get(end).is_some_and(|byte| (0x40..=0x7e).contains(byte));
                line = &line[end + usize::from(finished)..];
            }
            Some(b']' | b'P' | b'X' | b'^' | b'_') => {
                // Ended by BEL or ESC \. Without an end it is no such string, and the text after it is kept.
                match line.iter().position(|byte| matches!(*byte, 0x07 | ESCAPE)) {
                    Some(end) if line[end] == 0x07 => line = &line[end + 1..],
                    Some(end) => line = &line[(end + 2).min(line.len())..],
                    None => line = &line[1..],
                }
            }
            Some(b'(' | b')') => line = &line[line.len().min(2)..],
            Some(_) => line = &line[1..],
            None => {}
        }
    }
    out.extend_from_slice(line);
}

/// Applies backspaces, as spinners and overstriking use them.
fn rubbed_out(text: Vec<u8>) -> Vec<u8> {
    if memchr(BACKSPACE, &text).is_none() {
        return text;
    }
    let mut left: Vec<u8> = Vec::with_capacity(text.len());
    for byte in text {
        if byte != BACKSPACE {
            left.push(byte);
            continue;
        }
        // A whole character.
        while left.pop().is_some_and(|last| last & 0xc0 == 0x80) {}
    }
    left
}

/// The text inside a JSON log line (docker, logging libraries) or of a task that failed (Ansible).
fn json_message(line: &[u8]) -> Option<String> {
    if !could_be_json(line) || memrchr(b'}', line) != Some(line.len() - 1) {
        return None;
    }
    let serde_json::Value::Object(mut fields) = serde_json::from_slice(line).ok()? else { return None };
    let mut text = |key: &str| match fields.remove(key) {
        Some(serde_json::Value::String(text)) => Some(text),
        _ => None,
    };
    let streams: Vec<String> =
        ["stdout", "stderr"].iter().filter_map(|key| text(key)).filter(|text| !text.trim().is_empty()).collect();
    if let (false, Some(message)) = (streams.is_empty(), text("msg")) {
        return Some(format!("{}\n{message}", streams.join("\n")));
    }
    ["log", "message", "msg", "MESSAGE"].iter().find_map(|key| text(key))
}

/// Tells by its first bytes whether a line may be a JSON object, prefixes aside.
pub fn could_be_json(line: &[u8]) -> bool {
    let brace = memchr(b'{', &line[..line.len().min(96)]);
    brace.is_some_and(|at| line[at + 1..].trim_ascii_start().first() == Some(&b'"'))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines() {
        let table = [
            ("plain", "plain"),
            ("  is not a full path  \r", "is not a full path"),
            ("\x1b[1;31mCMake Error\x1b[0m at", "CMake Error at"),
            ("ld.lld: \x1b[0;31merror: \x1b[0munable", "ld.lld: error: unable"),
            ("\x1b]8;;http://x\x1b\\link\x1b]8;;\x07 \x1b(Btext\x1b[", "link text"),
            ("\x1b]never ends", "never ends"),
            (" 10%\r 20%\rerror: x", "error: x"),
            (" 10%\r 20%\r   \r", "20%"),
            ("|\x08/\x08-\x08done 编\x08译", "done 译"),
            ("[rank0]: ld.lld: error", "ld.lld: error"),
            ("[default12]:ImportError", "ImportError"),
            ("[1,0]<stderr>:ImportError", "ImportError"),
            ("2026-03-14T09:21:35.0921841Z   is not", "is not"),
            ("2026-03-14T09:21:35.4527550Z", ""),
            ("2026-03-14T09:21:35.000000Z 00O CMake", "CMake"),
            ("2026-03-14T09:21:35.000000Z 01E+ more", "more"),
            ("[2026-03-14T09:21:35.000Z] make: ***", "make: ***"),
            ("09:21:35 make: ***", "make: ***"),
            ("2026-03-14 09:21:35,123 ERROR x", "ERROR x"),
            ("#12 3.456   FOUND.  Reason", "FOUND.  Reason"),
            ("#12 ERROR: process", "#12 ERROR: process"),
            ("web-1  | error: x", "error: x"),
            ("builder_1 | error: x", "error: x"),
            ("cat | grep", "cat | grep"),
            ("[3/10] Linking", "Linking"),
            ("[ 50%] Linking", "Linking"),
            ("      │ exit code: 1", "exit code: 1"),
            ("  ╰─> [82 lines of output]", "[82 lines of output]"),
            ("E   ModuleNotFoundError: No", "ModuleNotFoundError: No"),
            ("Error: E", "Error: E"),
            ("2026-03-14T09:21:35Z #9 0.1       [rank1]: [1/2] x", "x"),
            (r#"{"log":"  missing: \"A\"\n","stream":"stderr"}"#, "missing: \"A\""),
            (r#"web-1  | {"level":"e","message":"a \u003cb\u003e\n  [rank0]: c"}"#, "a <b>\nc"),
            (r#"{"log": 1}"#, r#"{"log": 1}"#),
            (r#"{"log":"cut"#, r#"{"log":"cut"#),
            (
                r#"fatal: [a]: FAILED! => {"changed": true, "msg": "non-zero", "stderr": "x\n y", "stdout": ""}"#,
                "x\ny\nnon-zero",
            ),
            ("##[error]Process", "Process"),
            ("(TaskRunner pid=467613) RuntimeError: x", "RuntimeError: x"),
            ("(NPUWorker pid=45464, ip=192.0.2.1) [rank0]: x", "x"),
            ("(Worker_TP1 rank=1 pid=7) ERROR 09-03 03:02:37 [a/executor.py:522]   x", "x"),
            ("ERROR 12-10 10:52:09 [patch_core.py:58]", ""),
            ("(see the pid file) x", "(see the pid file) x"),
            ("ERROR 12-10 failed", "ERROR 12-10 failed"),
            ("(unclosed pid=1", "(unclosed pid=1"),
        ];
        for (line, expected) in table {
            let mut out = Vec::new();
            normalise(line.as_bytes(), &mut out);
            assert_eq!(String::from_utf8_lossy(&out), expected, "{line:?}");
        }
    }
}
