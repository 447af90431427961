//! Which lines of a log look most like a first error, for reports on failures that no recipe knows.
//!
//! Looks at the last few MiB only: builds stop soon after their first error.

use std::collections::BTreeSet;
use std::sync::LazyLock;

use memchr::memmem::Finder;
use memchr::{memchr, memchr_iter, memrchr_iter};

use super::LogLine;
use super::decode::readable;
use super::normalise::{normalise, visible};

/// So much of a log's end is looked at.
pub const LAST_BYTES: usize = 4 << 20;
const MOST_TELLING: usize = 20;
const TAIL_LINES: usize = 40;
const LINE_BYTES: usize = 1000;
/// Longer lines are command lines or data.
const LONG_LINE: usize = 4096;

/// Lower case. A line's weight is its heaviest word's.
const WORDS: &[(&str, u32)] = &[
    ("traceback (most recent call last)", 3),
    ("cmake error", 6),
    ("fatal error", 6),
    ("fatal:", 6),
    ("error:", 5),
    ("exception:", 4),
    ("error", 2),
    ("failed", 2),
    ("failed:", 4),
    ("cannot find", 5),
    ("could not find", 2),
    ("not found", 4),
    ("no such file", 5),
    ("no module named", 5),
    ("no space left", 6),
    ("permission denied", 5),
    ("undefined symbol", 5),
    ("undefined reference", 5),
    ("already in use", 5),
    ("unable to", 4),
    ("segmentation fault", 6),
    ("killed", 3),
    ("错误", 5),
    ("找不到", 5),
    ("失败", 4),
    ("无法", 4),
    ("未定义", 4),
    ("没有那个文件", 5),
];

/// Lower case. What holds one of these is about something that went well, or says nothing.
const NOISE: &[&str] = &[
    "0 error",
    "0 failed",
    "no error",
    "without error",
    "-werror",
    "warning:",
    "note:",
    "building c",
    "copying ",
    "linking c",
    "-- looking for",
    "-- performing test",
    "could not find (missing",
    "subprocess-exited-with-error",
    "note: this error originates",
    "build stopped: subcommand failed",
    "errors occurred!",
    "err99999",
    "returned 1 exit status",
    "did not run successfully",
];

/// Returns the telling and the last lines of a log's last part; `breaks` is the number of line breaks in the whole log.
pub fn tell(last: &[u8], breaks: u64) -> (Vec<LogLine>, Vec<LogLine>) {
    let first = breaks - memchr_iter(b'\n', last).count() as u64 + 1;
    (telling(last, first), tail(last, breaks))
}

fn telling(text: &[u8], first: u64) -> Vec<LogLine> {
    let lower = text.to_ascii_lowercase();
    let mut weights: Vec<(usize, u32)> = Vec::new();
    for (word, weight) in WORDS {
        let mut after = 0;
        for at in memchr::memmem::find_iter(&lower, word) {
            // One word a line is enough; text full of it must not make this slow.
            if at >= after {
                let start = memchr::memrchr(b'\n', &lower[..at]).map_or(0, |index| index + 1);
                after = memchr(b'\n', &lower[at..]).map_or(lower.len(), |index| at + index);
                weights.push((start, *weight));
            }
        }
    }
    weights.sort_unstable_by_key(|(start, weight)| (*start, u32::MAX - weight));
    weights.dedup_by_key(|(start, _)| *start);
    weights.sort_by_key(|(start, weight)| (u32::MAX - weight, *start));

    let mut seen = BTreeSet::new();
    let mut chosen: Vec<(usize, String)> = Vec::new();
    for (start, _) in weights {
        let end = memchr(b'\n', &lower[start..]).map_or(lower.len(), |index| start + index);
        if end - start > LONG_LINE || is_noise(&lower[start..end]) {
            continue;
        }
        let mut line = Vec::new();
        normalise(&text[start..end], &mut line);
        // The same message about other lines, files or ranks' numbers is one message.
        let key: Vec<u8> = line.iter().copied().filter(|byte| !byte.is_ascii_digit()).collect();
        if !line.is_empty() && seen.insert(key) {
            chosen.push((start, shorten(&line)));
        }
        if chosen.len() == MOST_TELLING {
            break;
        }
    }
    chosen.sort_unstable();
    let (mut number, mut counted) = (first, 0);
    let mut lines = Vec::new();
    for (start, text) in chosen {
        number += memchr_iter(b'\n', &lower[counted..start]).count() as u64;
        counted = start;
        lines.push(LogLine { number, text });
    }
    lines
}

fn is_noise(line: &[u8]) -> bool {
    static FINDERS: LazyLock<Vec<Finder<'static>>> = LazyLock::new(|| NOISE.iter().map(Finder::new).collect());
    FINDERS.iter().any(|finder| finder.find(line).is_some())
}

fn tail(text: &[u8], breaks: u64) -> Vec<LogLine> {
    let body = text.strip_suffix(b"\n").unwrap_or(text);
    if text.is_empty() {
        return Vec::new();
    }
    let last = if body.len() < text.len() { breaks } else { breaks + 1 };
    let start = memrchr_iter(b'\n', body).nth(TAIL_LINES - 1).map_or(0, |at| at + 1);
    let lines: Vec<&[u8]> = body[start..].split(|byte| *byte == b'\n').collect();
    let first = last + 1 - lines.len() as u64;
    lines
        .into_iter()
        .zip(first..)
        .map(|(line, number)| LogLine {
            number,
            text: shorten(&visible(&line[line.len().saturating_sub(LONG_LINE)..])),
        })
        .collect()
}

fn shorten(line: &[u8]) -> String {
    let line = line.trim_ascii_end();
    if line.len() <= LINE_BYTES {
        return readable(line);
    }
    let text = readable(&line[..LINE_BYTES]);
    format!("{}…", text.trim_end_matches('\u{fffd}'))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn first_errors_are_told() {
        let mut log = String::new();
        for index in 0..200 {
            log += &format!("[{index}/200] Building CXX object error{index}.o\n");
            log += "0 errors, 0 failed\nfoo.c:1: warning: error ignored\n";
        }
        log += "[rank0]: ld.lld: error: unable to find library -lx\n";
        log += "/bin/sh: 1: llvm-ar: not found\nninja: build stopped: subcommand failed.\n错误：找不到 clang\nend";
        let (telling, tail) = tell(log.as_bytes(), log.matches('\n').count() as u64);
        let texts: Vec<(u64, &str)> = telling.iter().map(|line| (line.number, line.text.as_str())).collect();
        assert_eq!(
            texts,
            [
                (601, "ld.lld: error: unable to find library -lx"),
                (602, "/bin/sh: 1: llvm-ar: not found"),
                (604, "错误：找不到 clang")
            ]
        );
        assert_eq!((tail.len(), tail[0].number, tail[39].number, tail[39].text.as_str()), (40, 566, 605, "end"));
    }

    #[test]
    fn the_last_part_is_enough() {
        let (telling, tail) = tell(b"error: one\nfatal: last\n", 1000);
        assert_eq!(telling.iter().map(|line| line.number).collect::<Vec<_>>(), [999, 1000]);
        assert_eq!(tail.last().map(|line| (line.number, line.text.as_str())), Some((1000, "fatal: last")));
        assert_eq!(tell(b"", 0), (vec![], vec![]));
    }
}
