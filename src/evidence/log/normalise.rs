//! Takes away what terminals, launchers and CI systems put around a message, one line at a time.
//!
//! A normalised line has no escape sequences, no overwritten progress, no prefix of a known kind, and no blanks at
//! either end. It must never join two lines nor touch the inside of a message: anchors are looked for in the log as it
//! stands.

use std::borrow::Cow;

use memchr::{memchr, memchr2, memchr3, memrchr};

const ESCAPE: u8 = 0x1b;
const BACKSPACE: u8 = 0x08;

/// Prefixes nest: a CI time stamp before docker's before a launcher's before pip's gutter.
const MOST_PREFIXES: usize = 8;

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
    if memchr2(ESCAPE, BACKSPACE, part).is_none() {
        return Cow::Borrowed(part);
    }
    Cow::Owned(rubbed_out(unescaped(part)))
}

/// Copies all but ECMA-48 escape sequences. An unfinished one ends where its own alphabet does.
fn unescaped(mut line: &[u8]) -> Vec<u8> {
    let mut out = Vec::with_capacity(line.len());
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
    out
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

/// Cuts known prefixes and blanks off.
fn peel(line: &[u8]) -> &[u8] {
    let mut rest = line.trim_ascii();
    for _ in 0..MOST_PREFIXES {
        // Most lines have none; a word's first letter says so.
        if rest.first().is_some_and(u8::is_ascii_alphabetic)
            && rest[0] != b'E'
            && !rest[..rest.len().min(64)].contains(&b'|')
        {
            break;
        }
        let Some(shorter) = PREFIXES.iter().find_map(|prefix| prefix(rest)) else { break };
        rest = shorter.trim_ascii();
    }
    rest
}

/// Returns what is left after a prefix.
type Prefix = fn(&[u8]) -> Option<&[u8]>;

const PREFIXES: &[Prefix] =
    &[rank, mpi, stamp, clock, github, buildkit, compose, counter, gutter, pytest, actor, server];

/// `[rank0]:`, `[default3]:`
fn rank(line: &[u8]) -> Option<&[u8]> {
    let rest = line.strip_prefix(b"[")?;
    let rest = [&b"rank"[..], b"default", b"worker", b"node"].iter().find_map(|word| rest.strip_prefix(*word))?;
    digits(rest)?.strip_prefix(b"]:")
}

/// `[1,0]<stderr>:`
fn mpi(line: &[u8]) -> Option<&[u8]> {
    let rest = digits(line.strip_prefix(b"[")?)?;
    let rest = digits(rest.strip_prefix(b",")?)?.strip_prefix(b"]<std")?;
    rest.strip_prefix(b"err>:").or_else(|| rest.strip_prefix(b"out>:"))
}

/// `2026-03-14T09:21:34.567Z `, also in brackets (Jenkins), also with GitLab's stream mark `00O `.
fn stamp(line: &[u8]) -> Option<&[u8]> {
    let (line, bracket) = match line.strip_prefix(b"[") {
        Some(rest) => (rest, true),
        None => (line, false),
    };
    let rest = shape(line, b"0000-00-00")?;
    let rest = rest.strip_prefix(b"T").or_else(|| rest.strip_prefix(b" "))?;
    let rest = fraction(shape(rest, b"00:00:00")?);
    let rest = zone(rest);
    let rest = match bracket {
        true => rest.strip_prefix(b"]")?,
        false if rest.is_empty() => rest,
        false => rest.strip_prefix(b" ")?,
    };
    Some(gitlab_stream(rest).unwrap_or(rest))
}

/// `00O `, `01E+`: number of the stream, out or error, and whether the line goes on.
fn gitlab_stream(rest: &[u8]) -> Option<&[u8]> {
    match shape(rest, b"00")? {
        [b'O' | b'E'] => Some(&[]),
        [b'O' | b'E', b' ' | b'+', rest @ ..] => Some(rest),
        _ => None,
    }
}

/// `12:00:00 ` (Jenkins)
fn clock(line: &[u8]) -> Option<&[u8]> {
    fraction(shape(line, b"00:00:00")?).strip_prefix(b" ")
}

/// `##[error]` (GitHub)
fn github(line: &[u8]) -> Option<&[u8]> {
    let rest = line.strip_prefix(b"##[")?;
    let end = rest.iter().take(12).position(|byte| *byte == b']')?;
    rest[..end].iter().all(u8::is_ascii_lowercase).then_some(&rest[end + 1..])
}

/// `#12 3.456 `
fn buildkit(line: &[u8]) -> Option<&[u8]> {
    let rest = digits(line.strip_prefix(b"#")?)?.strip_prefix(b" ")?;
    let rest = digits(digits(rest)?.strip_prefix(b".")?)?;
    if rest.is_empty() { Some(rest) } else { rest.strip_prefix(b" ") }
}

/// `web-1  | `: compose pads names with at least two blanks, or numbers them.
fn compose(line: &[u8]) -> Option<&[u8]> {
    let name = line.iter().take(64).take_while(|byte| byte.is_ascii_alphanumeric() || b"_.-".contains(byte)).count();
    if !line.first()?.is_ascii_alphabetic() {
        return None;
    }
    let blanks = line[name..].iter().take_while(|byte| **byte == b' ').count();
    let bare = line[..name].iter().rev().skip_while(|byte| byte.is_ascii_digit()).count();
    let numbered = bare < name && matches!(line[..bare].last(), Some(b'-' | b'_'));
    if blanks < 2 && !(numbered && blanks == 1) {
        return None;
    }
    let rest = line[name + blanks..].strip_prefix(b"|")?;
    if rest.is_empty() { Some(rest) } else { rest.strip_prefix(b" ") }
}

/// `[3/10] ` (ninja), `[ 50%] ` (make)
fn counter(line: &[u8]) -> Option<&[u8]> {
    let rest = digits(line.strip_prefix(b"[")?.trim_ascii_start())?;
    let rest = match rest.strip_prefix(b"%") {
        Some(rest) => rest,
        None => digits(rest.strip_prefix(b"/")?)?,
    };
    rest.strip_prefix(b"] ")
}

/// pip's and rich's frames.
fn gutter(line: &[u8]) -> Option<&[u8]> {
    let bars = ["╰─>", "│", "|", "×"];
    let rest = bars.iter().find_map(|bar| line.strip_prefix(bar.as_bytes()))?;
    if rest.is_empty() { Some(rest) } else { rest.strip_prefix(b" ") }
}

/// `E   `
fn pytest(line: &[u8]) -> Option<&[u8]> {
    if line == b"E" { Some(&[]) } else { line.strip_prefix(b"E  ") }
}

/// `(Worker rank=1 pid=4711) `, `(TaskRunner pid=4711, ip=192.0.2.1) ` (Ray, vLLM)
fn actor(line: &[u8]) -> Option<&[u8]> {
    let rest = line.strip_prefix(b"(")?;
    let end = rest.iter().take(96).position(|byte| *byte == b')')?;
    let inside = &rest[..end];
    let plain = |byte: &u8| byte.is_ascii_alphanumeric() || b" =,._:-".contains(byte);
    let named = inside.first()?.is_ascii_alphabetic() && inside.iter().all(plain);
    (named && memchr::memmem::find(inside, b" pid=").is_some()).then_some(&rest[end + 1..])
}

/// `ERROR 09-03 03:02:37 [engine.py:522] ` (vLLM); only errors are written over several lines.
fn server(line: &[u8]) -> Option<&[u8]> {
    let rest = shape(line.strip_prefix(b"ERROR ")?, b"00-00 00:00:00 [")?;
    let end = rest.iter().take(96).position(|byte| *byte == b']')?;
    let source = &rest[..end];
    let colon = source.iter().rposition(|byte| *byte == b':')?;
    (source[..colon].ends_with(b".py") && digits(&source[colon + 1..])?.is_empty()).then_some(&rest[end + 1..])
}

/// Returns what follows one or more digits.
fn digits(line: &[u8]) -> Option<&[u8]> {
    let count = line.iter().take_while(|byte| byte.is_ascii_digit()).count();
    (count > 0).then(|| &line[count..])
}

/// Returns what follows a text in which `0` stands for a digit.
fn shape<'a>(line: &'a [u8], shape: &[u8]) -> Option<&'a [u8]> {
    let (head, rest) = line.split_at_checked(shape.len())?;
    let fits = head.iter().zip(shape).all(|(byte, wanted)| match wanted {
        b'0' => byte.is_ascii_digit(),
        wanted => byte == wanted,
    });
    fits.then_some(rest)
}

fn fraction(line: &[u8]) -> &[u8] {
    match line {
        [b'.' | b',', rest @ ..] => digits(rest).unwrap_or(line),
        _ => line,
    }
}

fn zone(line: &[u8]) -> &[u8] {
    match line {
        [b'Z', rest @ ..] => rest,
        [b'+' | b'-', rest @ ..] => shape(rest, b"00:00").or_else(|| shape(rest, b"0000")).unwrap_or(line),
        _ => line,
    }
}

/// The text inside a JSON log line (docker, logging libraries).
fn json_message(line: &[u8]) -> Option<String> {
    if !could_be_json(line) || memrchr(b'}', line) != Some(line.len() - 1) {
        return None;
    }
    let serde_json::Value::Object(mut fields) = serde_json::from_slice(line).ok()? else { return None };
    ["log", "message", "msg", "MESSAGE"].iter().find_map(|key| match fields.remove(*key) {
        Some(serde_json::Value::String(text)) => Some(text),
        _ => None,
    })
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
