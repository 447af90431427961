//! Private paths: what leads to the user's files is replaced, a last part that many have stays.
//!
//! `/home/alice/proj/build/CMakeCache.txt` becomes `<path-1>/build/CMakeCache.txt`. The folders of systems and of well
//! known packages stay whole.

use std::ops::Range;
use std::sync::LazyLock;

use regex::Regex;

use super::super::kinds::{Rule, ends_in_placeholder};
use super::public::{self, PACKAGES};
use super::{Found, begins_after};

/// Below these everything came with the system.
const SYSTEM: &[&str] = &[
    "/bin/",
    "/sbin/",
    "/lib/",
    "/lib64/",
    "/dev/",
    "/sys/",
    "/proc/",
    "/boot/",
    "/usr/bin/",
    "/usr/sbin/",
    "/usr/lib/",
    "/usr/lib64/",
    "/usr/include/",
    "/usr/share/",
    "/usr/libexec/",
    "/usr/src/",
    "/usr/lib32/",
    "/etc/ld.so.",
    "/nix/store/",
];

/// Folders whose own name tells nothing; the homes in `HOMES` hold a user's name.
const OPEN_ROOTS: &[&str] = &["usr", "etc", "opt", "tmp", "var", "local", "run", "mnt", "media", "srv"];
const HOMES: &[&str] = &["home", "Users"];

/// A quoted path with blanks is not looked for further than this.
const LONGEST_QUOTED: usize = 512;

/// Finds private paths, and the users whose homes they name.
pub(super) fn find(text: &str, found: &mut Found) {
    let mut done = 0;
    for (at, _) in text.match_indices('/') {
        if at < done {
            continue;
        }
        let Some(start) = start_of(text, at).filter(|start| *start >= done) else { continue };
        let end = end_of(text, start);
        done = end;
        take(text, start..end, '/', found);
    }
    written_otherwise(text, found);
}

/// Says where the path begins whose first slash stands at `at`, if one begins there.
fn start_of(text: &str, at: usize) -> Option<usize> {
    let before = &text[..at];
    for home in ["~", "$HOME", "${HOME}"] {
        if let Some(rest) = before.strip_suffix(home) {
            return begins_after(rest).then_some(at - home.len());
        }
    }
    if before.ends_with("-isystem") {
        return Some(at);
    }
    match before.chars().next_back() {
        None => Some(at),
        Some(':') if text[at..].starts_with("//") => {
            let of_a_file = before.ends_with("file:") || before.ends_with("FILE:");
            (of_a_file && text[at + 2..].starts_with('/')).then_some(at + 2)
        }
        Some(c) if c.is_ascii_alphanumeric() => {
            let option = ["-I", "-L", "-B", "-F"].iter().find_map(|option| before.strip_suffix(option));
            option.filter(|rest| begins_after(rest)).map(|_| at)
        }
        Some('>') => (!ends_in_placeholder(before)).then_some(at),
        Some('_' | '.' | '~' | ')' | ']' | '}' | '/' | '%' | '$' | '-' | '\\' | '?') => None,
        Some(_) => Some(at),
    }
}

/// Says where the path ends: at a blank or a mark, or at the quote that encloses it.
fn end_of(text: &str, start: usize) -> usize {
    let rest = &text[start..];
    if let Some(quote) = text[..start].chars().next_back().filter(|c| matches!(c, '"' | '\'' | '`')) {
        let near = &rest[..rest.floor_char_boundary(LONGEST_QUOTED)];
        let inner = near.find([quote, '\n']).map(|end| &near[..end]);
        let is_path = |inner: &&str| {
            near[inner.len()..].starts_with(quote)
                && ![" -", " /", "=", "\\", ", ", ": ", "<", ">"].iter().any(|mark| inner.contains(mark))
        };
        if let Some(inner) = inner.filter(is_path) {
            return start + inner.len();
        }
    }
    let end = rest.find(ends_path).unwrap_or(rest.len());
    start + rest[..end].trim_end_matches('.').len()
}

fn ends_path(c: char) -> bool {
    c.is_whitespace()
        || c.is_control()
        || matches!(c, '"' | '\'' | '`' | ':' | ';' | ',' | '(' | ')' | '<' | '>' | '[' | ']' | '|' | '\\' | '?' | '&')
        || matches!(
            c,
            '，' | '。' | '；' | '：' | '、' | '（' | '）' | '【' | '】' | '「' | '」' | '《' | '》' | '“' | '”'
        )
}

/// Judges a path and takes what is private of it.
fn take(text: &str, range: Range<usize>, separator: char, found: &mut Found) {
    let path = &text[range.clone()];
    if let Some(user) = user_of(path, separator) {
        found.names.push((user.to_owned(), Rule::UserName));
    }
    if let Some(length) = private_part(path, separator) {
        found.spans.push((range.start..range.start + length, Rule::Path));
    }
}

fn user_of(path: &str, separator: char) -> Option<&str> {
    let parts: Vec<&str> = path.split(separator).filter(|part| !part.is_empty()).take(4).collect();
    let home = parts.iter().position(|part| HOMES.contains(part))?;
    parts.get(home + 1).copied().filter(|user| !user.contains(['*', '$', '{']))
}

/// Returns how much of a path is private.
pub(super) fn private_part(path: &str, separator: char) -> Option<usize> {
    if SYSTEM.iter().any(|system| path.starts_with(system)) {
        return None;
    }
    let parts: Vec<(usize, &str)> = parts(path, separator).collect();
    let first = parts.first()?.1;
    let in_home = HOMES.contains(&first) || matches!(first, "~" | "$HOME" | "${HOME}" | "root");
    // A package's folder: what lies below tells nothing of whoever installed it.
    let package = parts.iter().position(|(_, part)| PACKAGES.contains(part)).unwrap_or(parts.len());
    let is_open = |at: usize, part: &str| {
        (at == 0 && OPEN_ROOTS.contains(&part))
            || matches!(part, "~" | "$HOME" | "${HOME}")
            || public::is_public_name(part)
    };
    let least = usize::from(HOMES.contains(&first)) + usize::from(in_home && !first.starts_with(['~', '$']));
    let last_private =
        (0..package.max(least).min(parts.len())).rev().find(|at| *at < least || !is_open(*at, parts[*at].1))?;
    let (at, name) = parts[last_private];
    // A lone word after a slash is a switch or a fragment rather than a path.
    if parts.len() == 1 && name.len() < 4 {
        return None;
    }
    let is_last = last_private + 1 == parts.len();
    let kept = if is_last && last_private >= least { public::extension(name).len() } else { 0 };
    Some(at + name.len() - kept)
}

/// The parts of a path with their places.
fn parts(path: &str, separator: char) -> impl Iterator<Item = (usize, &str)> {
    let mut at = 0;
    path.split(separator)
        .map(move |part| {
            let start = at;
            at += part.len() + separator.len_utf8();
            (start, part)
        })
        .filter(|(_, part)| !part.is_empty())
}

/// Homes within longer names, paths of Windows, of JSON and of URLs.
fn written_otherwise(text: &str, found: &mut Found) {
    static HOME: LazyLock<Regex> = LazyLock::new(|| regex(r#"/(?:home|Users)/(?P<user>[^\s/"'`:;,()<>|\\]+)"#));
    static WINDOWS: LazyLock<Regex> =
        LazyLock::new(|| regex(r#"\b(?P<path>[A-Za-z]:(?:\\{1,2}|/)[^\s"'`:;,()<>|*?/][^\s"'`:;,()<>|*?]*)"#));
    static SHARE: LazyLock<Regex> = LazyLock::new(|| {
        regex(r#"(?:^|[\s"'=(，：])(?P<path>\\{2,4}(?P<host>[A-Za-z0-9][A-Za-z0-9.-]+)\\{1,2}[^\s"'`<>|]+)"#)
    });
    static ESCAPED: LazyLock<Regex> = LazyLock::new(|| regex(r"(?P<path>(?:\\/[\p{L}\p{N}_.@~+-]+){2,})"));
    static ENCODED: LazyLock<Regex> =
        LazyLock::new(|| regex(r"(?i)(?P<path>(?:%2F[a-z0-9_.~+-]+(?:%[013-9a-f][0-9a-f][a-z0-9_.~+-]*)*){2,})"));
    static PROC: LazyLock<Regex> = LazyLock::new(|| regex(r"/proc/(?P<pid>[0-9]+)\b"));
    for captures in HOME.captures_iter(text) {
        let user = captures.name("user").expect("it is in the expression");
        if !public::is_common_name(user.as_str()) && !user.as_str().contains(['*', '$', '{']) {
            found.names.push((user.as_str().to_owned(), Rule::UserName));
            found.spans.push((user.range(), Rule::UserName));
        }
    }
    if text.contains(":\\") || text.contains(":/") {
        for captures in WINDOWS.captures_iter(text) {
            let path = captures.name("path").expect("it is in the expression");
            let separator = if path.as_str().contains('\\') { '\\' } else { '/' };
            // The drive is a part of the path, and none that would end it.
            let inner = &path.as_str()[2..];
            if let Some(user) = user_of(inner, separator) {
                found.names.push((user.to_owned(), Rule::UserName));
            }
            if let Some(length) = private_part(inner, separator) {
                found.spans.push((path.start()..path.start() + 2 + length, Rule::Path));
            }
        }
    }
    if text.contains("\\\\") {
        for captures in SHARE.captures_iter(text) {
            let (path, host) = (&captures["path"], &captures["host"]);
            if path.len() > host.len() + 4 {
                found.names.push((host.to_owned(), Rule::HostName));
                found.spans.push((captures.name("path").expect("it is in the expression").range(), Rule::Path));
            }
        }
    }
    if text.contains("\\/") {
        for captures in ESCAPED.captures_iter(text) {
            let plain = captures["path"].replace("\\/", "/");
            take_whole(&plain, captures.name("path").expect("it is in the expression").range(), found);
        }
    }
    if text.contains("%2F") || text.contains("%2f") {
        for captures in ENCODED.captures_iter(text) {
            let plain = captures["path"].replace("%2F", "/").replace("%2f", "/");
            take_whole(&plain, captures.name("path").expect("it is in the expression").range(), found);
        }
    }
    for captures in PROC.captures_iter(text) {
        found.spans.push((captures.name("pid").expect("it is in the expression").range(), Rule::ProcessId));
    }
}

fn take_whole(plain: &str, range: Range<usize>, found: &mut Found) {
    if let Some(user) = user_of(plain, '/') {
        found.names.push((user.to_owned(), Rule::UserName));
    }
    if private_part(plain, '/').is_some() {
        found.spans.push((range, Rule::Path));
    }
}

fn regex(pattern: &str) -> Regex {
    Regex::new(pattern).expect("the pattern is a constant that a test compiles")
}
