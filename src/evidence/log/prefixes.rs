//! Prefixes that launchers, loggers and CI systems put before a message.
//!
//! Each is recognised by its whole form: what may be a message's own beginning stays.

use super::speakers::Speaker;

/// Prefixes nest: a CI time stamp before docker's before a launcher's before pip's gutter.
const MOST_PREFIXES: usize = 8;
/// The place in a source file that a logger names, and other things in brackets, are shorter.
const LONGEST_SOURCE: usize = 160;

const LEVELS: &[&[u8]] = &[b"ERROR", b"WARNING", b"WARN", b"INFO", b"DEBUG", b"CRITICAL", b"FATAL"];
/// How hosts of a cluster are called, before a number.
const HOSTS: &[&[u8]] =
    &[b"node", b"host", b"worker", b"server", b"master", b"slave", b"compute", b"npu", b"gpu", b"cn"];

/// Cuts known prefixes and blanks off.
pub fn peel(line: &[u8]) -> &[u8] {
    let mut rest = line.trim_ascii();
    for _ in 0..MOST_PREFIXES {
        if !may_have_one(rest) {
            break;
        }
        let Some(shorter) = PREFIXES.iter().find_map(|prefix| prefix(rest)) else { break };
        rest = shorter.trim_ascii();
    }
    rest
}

/// Says which of several programs wrote a line, where a launcher, a runtime or a CI system put that before it.
pub fn speaker(line: &[u8]) -> Speaker {
    let (mut rest, mut speaker) = (line.trim_ascii(), Speaker::default());
    for _ in 0..MOST_PREFIXES {
        if !may_have_one(rest) {
            break;
        }
        let Some(shorter) = SPEAKERS.iter().find_map(|prefix| prefix(rest)) else {
            let Some(shorter) = PREFIXES.iter().find_map(|prefix| prefix(rest)) else { break };
            rest = shorter.trim_ascii();
            continue;
        };
        // Of a job and its step the job counts.
        let said = rest[..rest.len() - shorter.len()].split(|byte| *byte == b'\t').next().unwrap_or_default();
        speaker.add(said.trim_ascii_end());
        rest = shorter.trim_ascii();
    }
    speaker
}

/// Says whether a look is worth while: most lines have no prefix, and a word's first letter says so.
fn may_have_one(line: &[u8]) -> bool {
    match line {
        [] => false,
        [b'E', ..] | [b'I' | b'W' | b'F', b'0'..=b'9', ..] => true,
        [b'f', b'a', ..] if task(line).is_some() => true,
        [first, ..] if first.is_ascii_alphabetic() => {
            line[..line.len().min(64)].iter().any(|byte| matches!(byte, b'|' | b'\t')) || host_name(line).is_some()
        }
        [..] => true,
    }
}

/// Returns what is left after a prefix.
type Prefix = fn(&[u8]) -> Option<&[u8]>;

/// Those of programs that write through one channel.
const SPEAKERS: &[Prefix] = &[rank, mpi, compose, actor, pod, job, task_number, host];

const PREFIXES: &[Prefix] = &[
    rank,
    mpi,
    pod,
    job,
    stamp,
    clock,
    github,
    buildkit,
    compose,
    counter,
    gutter,
    pytest,
    actor,
    server,
    glog,
    named,
    sourced,
    mindspore,
    task_number,
    host,
    task,
];

/// `[rank0]:`, `[default3]:`
fn rank(line: &[u8]) -> Option<&[u8]> {
    let rest = line.strip_prefix(b"[")?;
    let rest = [&b"rank"[..], b"default", b"worker", b"node"].iter().find_map(|word| rest.strip_prefix(*word))?;
    digits(rest)?.strip_prefix(b"]:")
}

/// `[1,0]<stderr>:`, `[prterun-node7-4711@1,0]<stderr>: ` (since Open MPI 5)
fn mpi(line: &[u8]) -> Option<&[u8]> {
    let rest = line.strip_prefix(b"[")?;
    let name = rest.iter().take(96).take_while(|byte| byte.is_ascii_alphanumeric() || b"_.-".contains(byte)).count();
    let rest = rest[name..].strip_prefix(b"@").unwrap_or(rest);
    let rest = digits(rest)?;
    let rest = digits(rest.strip_prefix(b",")?)?.strip_prefix(b"]<std")?;
    rest.strip_prefix(b"err>:").or_else(|| rest.strip_prefix(b"out>:"))
}

/// `[pod/train-0/main] ` (`kubectl logs --prefix`)
fn pod(line: &[u8]) -> Option<&[u8]> {
    let rest = line.strip_prefix(b"[pod/")?;
    let end = rest.iter().take(LONGEST_SOURCE).position(|byte| *byte == b']')?;
    let plain = rest[..end].iter().all(|byte| byte.is_ascii_alphanumeric() || b"/_.-".contains(byte));
    let rest = &rest[end + 1..];
    (plain && rest.first().is_none_or(|byte| *byte == b' ')).then_some(rest)
}

/// `build (3.11)\tRun make\t2026-03-14T09:21:34.567Z `, of which the stamp stays (`gh run view --log`)
fn job(line: &[u8]) -> Option<&[u8]> {
    let tabs = &line[..line.len().min(2 * LONGEST_SOURCE)];
    let (name, step) = tabs.split_at(memchr::memchr(b'\t', tabs)?);
    let step = memchr::memchr(b'\t', &step[1..])?;
    let rest = &line[name.len() + step + 2..];
    let rest = rest.strip_prefix("\u{feff}".as_bytes()).unwrap_or(rest);
    (!name.is_empty() && stamp(rest).is_some()).then_some(rest)
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
    Some(gitlab_stream(rest).or_else(|| cri_stream(rest)).unwrap_or(rest))
}

/// `00O `, `01E+`: number of the stream, out or error, and whether the line goes on.
fn gitlab_stream(rest: &[u8]) -> Option<&[u8]> {
    match shape(rest, b"00")? {
        [b'O' | b'E'] => Some(&[]),
        [b'O' | b'E', b' ' | b'+', rest @ ..] => Some(rest),
        _ => None,
    }
}

/// `stderr F `: containers' logs as Kubernetes keeps them; `P` when the line goes on.
fn cri_stream(rest: &[u8]) -> Option<&[u8]> {
    let rest = rest.strip_prefix(b"std")?;
    let rest = rest.strip_prefix(b"err ").or_else(|| rest.strip_prefix(b"out "))?;
    match rest {
        [b'F' | b'P'] => Some(&[]),
        [b'F' | b'P', b' ', rest @ ..] => Some(rest),
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

/// `W0317 14:27:33.123000 12345 torch/elastic/x.py:1125] ` (torch), `E20240101 12:00:00.123456 12345 x.cc:12] ` (glog),
/// `[W317 14:27:33.123456789 socket.cpp:464] ` (c10)
fn glog(line: &[u8]) -> Option<&[u8]> {
    let rest = line.strip_prefix(b"[").unwrap_or(line);
    let date = rest.strip_prefix(b"E").or_else(|| rest.strip_prefix(b"W")).or_else(|| {
        let [b'I' | b'F', date @ ..] = rest else { return None };
        Some(date)
    })?;
    let rest = digits(date)?;
    if !(3..=8).contains(&(date.len() - rest.len())) {
        return None;
    }
    let rest = fraction(shape(rest.strip_prefix(b" ")?, b"00:00:00")?).strip_prefix(b" ")?.trim_ascii_start();
    let source = digits(rest).and_then(|rest| rest.strip_prefix(b" ")).unwrap_or(rest);
    let end = source.iter().take(LONGEST_SOURCE).position(|byte| *byte == b']')?;
    let (file, number) = source[..end].split_at(source[..end].iter().rposition(|byte| *byte == b':')?);
    let is_place = !file.is_empty() && !file.contains(&b' ') && digits(&number[1..])?.is_empty();
    is_place.then_some(&source[end + 1..])
}

/// `- name - ERROR - `: what Python's logging is set up to write after the time.
fn named(line: &[u8]) -> Option<&[u8]> {
    let rest = line.strip_prefix(b"- ")?;
    let end = memchr::memmem::find(&rest[..rest.len().min(LONGEST_SOURCE)], b" - ")?;
    let is_name =
        !rest[..end].is_empty() && rest[..end].iter().all(|byte| byte.is_ascii_alphanumeric() || b"_.-".contains(byte));
    let (true, rest) = (is_name, &rest[end + 3..]) else { return None };
    let rest = LEVELS.iter().find_map(|level| rest.strip_prefix(*level)?.strip_prefix(b" -"))?;
    if rest.is_empty() { Some(rest) } else { rest.strip_prefix(b" ") }
}

/// `[ERROR] [launch.py:12:main] `: a level alone tells of too much to be cut off.
fn sourced(line: &[u8]) -> Option<&[u8]> {
    let rest = level_in_brackets(line)?.trim_ascii_start().strip_prefix(b"[")?;
    let end = rest.iter().take(LONGEST_SOURCE).position(|byte| *byte == b']')?;
    let mut fields = rest[..end].split(|byte| *byte == b':');
    let file = fields.next()?;
    let is_place = file.contains(&b'.') && !file.contains(&b' ') && digits(fields.next()?)?.is_empty();
    is_place.then_some(&rest[end + 1..])
}

/// `[ERROR] DEVICE(123,ffff8abc,python):2024-01-01-12:00:00.123.456 [mindspore/x.cc:12] Init] `. CANN's own logs name
/// no thread there, and stay as they are.
fn mindspore(line: &[u8]) -> Option<&[u8]> {
    let rest = level_in_brackets(line)?.strip_prefix(b" ")?;
    let module = rest.iter().take_while(|byte| byte.is_ascii_uppercase() || **byte == b'_').count();
    let rest = rest[module..].strip_prefix(b"(")?;
    let end = rest.iter().take(LONGEST_SOURCE).position(|byte| *byte == b')')?;
    let (inside, rest) = (&rest[..end], rest[end + 1..].strip_prefix(b":")?);
    if inside.iter().filter(|byte| **byte == b',').count() != 2 {
        return None;
    }
    let rest = fraction(fraction(shape(rest, b"0000-00-00-00:00:00")?)).strip_prefix(b" [")?;
    let end = rest.iter().take(LONGEST_SOURCE).position(|byte| *byte == b']')?;
    let rest = rest[end + 1..].trim_ascii_start();
    let function =
        rest.iter().take(LONGEST_SOURCE).take_while(|byte| !byte.is_ascii_whitespace() && **byte != b']').count();
    Some(rest[function..].strip_prefix(b"]").unwrap_or(rest))
}

fn level_in_brackets(line: &[u8]) -> Option<&[u8]> {
    let rest = line.strip_prefix(b"[")?;
    LEVELS.iter().find_map(|level| rest.strip_prefix(*level)?.strip_prefix(b"]"))
}

/// `12: ` (`srun --label`)
fn task_number(line: &[u8]) -> Option<&[u8]> {
    let rest = digits(line)?;
    if line.len() - rest.len() > 5 {
        return None;
    }
    if rest == b":" { Some(&[]) } else { rest.strip_prefix(b": ") }
}

/// `node12: ` (pdsh)
fn host(line: &[u8]) -> Option<&[u8]> {
    host_name(line).or_else(|| {
        let address = line.iter().take_while(|byte| byte.is_ascii_digit() || **byte == b'.').count();
        let is_address = line[..address].split(|byte| *byte == b'.').filter(|part| !part.is_empty()).count() == 4;
        if is_address { line[address..].strip_prefix(b": ") } else { None }
    })
}

/// Programs print their own name so too, also with a number at its end: only what hosts are called counts.
fn host_name(line: &[u8]) -> Option<&[u8]> {
    let rest = HOSTS.iter().find_map(|word| line.strip_prefix(*word))?;
    let name = rest.iter().take(64).take_while(|byte| byte.is_ascii_alphanumeric() || b"_.-".contains(byte)).count();
    let named = rest[..name].iter().any(u8::is_ascii_digit);
    let rest = rest[name..].strip_prefix(b":")?;
    if !named {
        return None;
    }
    if rest.is_empty() { Some(rest) } else { rest.strip_prefix(b" ") }
}

/// `fatal: [host]: FAILED! => `, before a JSON object (Ansible)
fn task(line: &[u8]) -> Option<&[u8]> {
    let rest = line.strip_prefix(b"fatal: [").or_else(|| line.strip_prefix(b"failed: ["))?;
    let arrow = memchr::memmem::find(&rest[..rest.len().min(LONGEST_SOURCE)], b" => ")?;
    let rest = &rest[arrow + 4..];
    (rest.first() == Some(&b'{')).then_some(rest)
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn prefixes() {
        let table = [
            ("W0317 14:27:33.123000 12345 torch/distributed/elastic/x.py:1125] message", "message"),
            ("E20240101 12:00:00.123456    77 file.cc:12] message", "message"),
            ("[rank0]:[W317 14:27:33.123456789 socket.cpp:464] [c10d] message", "[c10d] message"),
            ("E0317 is no date", "E0317 is no date"),
            ("W1234 12:00:00 no place] message", "W1234 12:00:00 no place] message"),
            ("2024-01-01T12:00:00.123456789Z stderr F message", "message"),
            ("2024-01-01T12:00:00.123456789+08:00 stdout P mess", "mess"),
            ("2024-01-01T12:00:00Z stderr Found", "stderr Found"),
            ("2024-01-01 12:00:00,123 - my.name - ERROR - message", "message"),
            ("2024-01-01 12:00:00,123 - my.name - ERROR - ", ""),
            ("- name - other - message", "- name - other - message"),
            ("[2024-01-01 12:00:00,123] [ERROR] [launch.py:12:main] message", "message"),
            ("[ERROR] message", "[ERROR] message"),
            ("[ERROR] [see notes: 12] message", "[ERROR] [see notes: 12] message"),
            (
                "[ERROR] DEVICE(123,ffff8abc,python):2024-01-01-12:00:00.123.456 [mindspore/ccsrc/x.cc:12] Init] message",
                "message",
            ),
            (
                "[ERROR] HCCP(4117,python):2024-01-01-12:00:00.123.456 [ra.c:12] message",
                "[ERROR] HCCP(4117,python):2024-01-01-12:00:00.123.456 [ra.c:12] message",
            ),
            ("0: message", "message"),
            (" 12: message", "message"),
            ("12:34: message", "12:34: message"),
            ("123456: message", "123456: message"),
            ("node012: message", "message"),
            ("worker-3.cluster: [rank3]: message", "message"),
            ("198.51.100.7: message", "message"),
            ("python3: cannot open file", "python3: cannot open file"),
            ("node: message", "node: message"),
            ("clang-15: error: message", "clang-15: error: message"),
            ("[prterun-node7-4711@1,0]<stderr>: message", "message"),
            ("[pod/train-0/main] message", "message"),
            ("[pod of peas] message", "[pod of peas] message"),
            ("build (3.11)\tRun make\t2026-03-14T09:21:34.1156676Z [1/2] message", "message"),
            ("build (3.11)\tRun make\t\u{feff}2026-03-14T09:21:34.1156676Z message", "message"),
            ("a table\tof three\tcolumns", "a table\tof three\tcolumns"),
            (r#"fatal: [web1]: FAILED! => {"msg": "m"}"#, r#"{"msg": "m"}"#),
            ("fatal: not a git repository", "fatal: not a git repository"),
        ];
        for (line, expected) in table {
            assert_eq!(String::from_utf8_lossy(peel(line.as_bytes())), expected, "{line:?}");
        }
    }

    #[test]
    fn speakers() {
        let of = |line: &str| speaker(line.as_bytes());
        let table = [
            ("[rank0]: a", "[rank0]:[W317 14:27:33.123456789 socket.cpp:464] b", false),
            ("2026-03-14T09:21:34Z app-1  | a", "2026-03-14T09:21:35Z app-1  | b", false),
            ("build\tRun make\t2026-03-14T09:21:34Z a", "build\tPost\t2026-03-14T09:21:35Z b", false),
            ("[1,0]<stderr>:a", "[1,0]<stderr>:", false),
            ("node1: 3: a", "node1: b", false),
            ("[rank0]: a", "b", false),
            ("[rank0]: a", "[rank1]: a", true),
            ("app-1  | a", "db-1  | a", true),
            ("0: a", "1: a", true),
            ("node1: 3: a", "node1: 4: a", true),
            ("node1: 3: a", "node2: 3: a", true),
            ("[default1]:[rank1]: a", "[default2]:a", true),
        ];
        for (one, other, expected) in table {
            assert_eq!(of(one).is_other(of(other)), expected, "{one:?} {other:?}");
        }
        for none in ["error: a", "[3/10] a", "2026-03-14T09:21:34Z a", "│ a", ""] {
            assert_eq!(of(none), Speaker::default(), "{none:?}");
        }
    }
}
