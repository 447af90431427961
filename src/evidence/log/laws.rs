//! The scanner against the slow way, for the whole catalogue: what a signature's expression matches in the normalised
//! text is found, wherever it stands, however it is cut, coloured or prefixed.
//!
//! A text is made for each expression. `FIX_LAWS=full` tries all alignments and all places of a break.

use std::fmt::Write;

use regex::bytes::Regex;
use regex_syntax::ParserBuilder;
use regex_syntax::hir::{Class, Hir, HirKind};

use super::normalise::normalise;
use super::pattern::compile;
use super::{Pattern, Scanner, expand_spaces};
use crate::recipe::catalogue::Catalogue;

const FILLER: &str = "[3/10] Building CXX object lib/CMakeFiles/x.dir/error.cpp.o\n";

fn is_full() -> bool {
    std::env::var("FIX_LAWS").is_ok_and(|laws| laws == "full")
}

fn patterns() -> Vec<Pattern> {
    let catalogue = Catalogue::embedded();
    let patterns = catalogue.patterns().into_iter().map(|pattern| Pattern {
        regex: pattern.regex.to_owned(),
        anchors: pattern.anchors.iter().map(ToString::to_string).collect(),
        lines: pattern.lines.max(1),
    });
    patterns.collect()
}

/// Writes a text that an expression matches; `choice` picks branches and members.
fn write_match(hir: &Hir, choice: usize, out: &mut Vec<u8>) {
    match hir.kind() {
        HirKind::Empty | HirKind::Look(_) => {}
        HirKind::Literal(literal) => out.extend_from_slice(&literal.0),
        HirKind::Capture(capture) => write_match(&capture.sub, choice, out),
        HirKind::Concat(parts) => parts.iter().for_each(|part| write_match(part, choice, out)),
        HirKind::Alternation(branches) => write_match(&branches[choice % branches.len()], choice / 2, out),
        HirKind::Class(class) => out.push(member(class)),
        HirKind::Repetition(repetition) => {
            let most = repetition.max.unwrap_or(u32::MAX).min(repetition.min.max(1));
            let times = if choice.is_multiple_of(2) { repetition.min } else { most };
            (0..times).for_each(|_| write_match(&repetition.sub, choice, out));
        }
    }
}

/// A space for what stands for a space, else what can be seen.
fn member(class: &Class) -> u8 {
    let Class::Bytes(class) = class else { return b'x' };
    let holds = |byte: u8| class.ranges().iter().any(|range| (range.start()..=range.end()).contains(&byte));
    let ranges = class.ranges().iter().map(|range| (range.start(), range.end()));
    if ranges.eq([(b'\t', b'\n'), (b'\r', b'\r'), (b' ', b' ')]) {
        return b' ';
    }
    b"x7/_-.,:'\"(\n ".iter().copied().find(|byte| holds(*byte)).unwrap_or_else(|| class.ranges()[0].start())
}

/// Texts that `regex` matches as a whole or in part, as the slow way sees them.
fn examples(source: &str, regex: &Regex) -> Vec<String> {
    let hir = ParserBuilder::new().utf8(false).unicode(false).build().parse(&expand_spaces(source)).unwrap();
    let mut texts = Vec::new();
    for choice in 0..8 {
        let mut text = Vec::new();
        write_match(&hir, choice, &mut text);
        if let Ok(text) = String::from_utf8(text)
            && regex.is_match(text.as_bytes())
            && !texts.contains(&text)
        {
            texts.push(text);
        }
    }
    texts.truncate(if is_full() { 8 } else { 1 });
    texts
}

/// What tools make of a message.
fn dressings(text: &str, turn: usize) -> Vec<String> {
    let each = |prefix: &str, text: &str| text.split('\n').map(|line| format!("{prefix}{line}\n")).collect::<String>();
    let spaces: Vec<usize> = text.match_indices(' ').map(|(at, _)| at).collect();
    let broken = |at: usize, with: &str| format!("{}{with}{}", &text[..at], &text[at + 1..]);
    let mut all = vec![
        each("", text),
        each("[rank0]: ", text),
        each("", &text.replace(' ', "\u{1b}[0m \u{1b}[1m")),
        each("\u{1b}[31m", text),
        each("", &text.to_ascii_uppercase()),
        serde_json::json!({ "message": text }).to_string() + "\n",
    ];
    let chosen: Vec<usize> = match spaces.len() {
        0 => Vec::new(),
        _ if is_full() => (0..spaces.len()).collect(),
        count => vec![turn % count, (turn * 7 + 3) % count],
    };
    for (index, place) in chosen.into_iter().enumerate() {
        let at = spaces[place];
        all.push(each("", &broken(at, "\n  ")));
        let odd = [
            each("", &broken(at, "\r\n\r\n    ")),
            each("2026-03-14T09:21:34.1156676Z ", &broken(at, "\n  ")),
            each("", &broken(at, "  ")),
            each("", &broken(at, "\t")),
            each("\u{1b}[1m", &broken(at, "\u{1b}[0m\n")),
            each("      \u{2502} ", &broken(at, "\n")),
            broken(at, "\n").lines().fold(String::new(), |mut log, line| {
                writeln!(log, "{}", serde_json::json!({ "log": format!("{line}\n") })).unwrap();
                log
            }),
        ];
        match is_full() {
            true => all.extend(odd),
            false => all.push(odd[(turn + index) % odd.len()].clone()),
        }
    }
    all
}

/// Says whether the expression matches the normalised log over no more lines than its pattern may.
fn slow_way(regex: &Regex, lines: usize, log: &str) -> bool {
    let mut text = Vec::new();
    for line in log.split('\n') {
        normalise(line.as_bytes(), &mut text);
        text.push(b'\n');
    }
    regex.find_iter(&text).any(|found| {
        let shown = found.as_bytes().trim_ascii();
        !shown.is_empty() && shown.iter().filter(|byte| **byte == b'\n').count() < lines
    })
}

#[test]
fn the_scanner_finds_what_the_slow_way_finds() {
    let patterns = patterns();
    let scanner = Scanner::new(patterns.clone());
    let (mut without, mut tried, mut missed) = (Vec::new(), 0, Vec::new());
    for (index, pattern) in patterns.iter().enumerate() {
        let regex = compile(&pattern.regex).unwrap();
        let lines = (pattern.lines as usize).max(if pattern.regex.contains(' ') { 8 } else { 1 }).min(64);
        let texts = examples(&pattern.regex, &regex);
        if texts.is_empty() {
            without.push(&pattern.regex);
        }
        for (number, text) in texts.iter().enumerate() {
            for (kind, dressed) in dressings(text, index + number).iter().enumerate() {
                let alignments = if is_full() { 0..49 } else { (index + kind) % 49..(index + kind) % 49 + 1 };
                for alignment in alignments {
                    let log = format!("{FILLER}{}\n{dressed}{FILLER}{FILLER}", "z".repeat(alignment));
                    if !slow_way(&regex, lines, &log) {
                        continue;
                    }
                    tried += 1;
                    let scan = scanner.scan("log", log.as_bytes()).unwrap();
                    if !scan.totals.contains_key(&index) {
                        missed.push(format!("{}\n  {dressed:?}\n  {:?}", pattern.regex, pattern.anchors));
                    }
                }
            }
        }
    }
    assert!(without.len() * 20 <= patterns.len(), "no text for {}: {without:#?}", without.len());
    assert!(tried > patterns.len() * 5, "{tried} texts only");
    assert!(missed.is_empty(), "{} of {tried}:\n{}", missed.len(), missed[..missed.len().min(20)].join("\n"));
}

/// The anchors of short literals would need a second pass over each log.
#[test]
fn one_table_is_enough() {
    let patterns = patterns();
    let short = patterns
        .iter()
        .filter(|pattern| pattern.anchors.iter().any(|anchor| anchor.len() < super::literals::GOOD_BYTES));
    let short: Vec<_> = short.map(|pattern| (&pattern.regex, &pattern.anchors)).collect();
    assert!(short.is_empty(), "{short:#?}");
}
