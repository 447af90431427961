//! Logs made to be slow: what is done for each of their bytes must not grow with their length.

use super::work;
use super::{Pattern, Scanner};
use crate::recipe::catalogue::Catalogue;

/// From more than a block on, what a byte costs stays as it is.
const SMALL: usize = 272 << 10;
const LARGE: usize = 2 * SMALL;
/// Where each line holds another pattern's literal, all patterns are tried everywhere: this bounds it for a part of them.
const EACH: usize = 160;
const MOST_PER_BYTE: u64 = 200;

fn patterns() -> Vec<Pattern> {
    let catalogue = Catalogue::embedded();
    let patterns = catalogue.patterns().into_iter().step_by(EACH).map(|pattern| Pattern {
        regex: pattern.regex.to_owned(),
        anchors: pattern.anchors.iter().map(ToString::to_string).collect(),
        lines: pattern.lines.max(1),
    });
    patterns.collect()
}

/// The beginning of a literal up to one of its spaces.
fn begun(anchor: &str) -> &str {
    anchor.rfind(' ').map_or(anchor, |space| &anchor[..space])
}

/// Adds one more part to a log, by its number.
type Part = fn(&[String], usize, &mut String);

const KINDS: &[(&str, Part)] = &[
    ("anchors in one line", |anchors, n, log| *log += &format!("{} ", anchors[n % anchors.len()])),
    ("one anchor in one line", |anchors, _, log| *log += &format!("{} ", anchors[0])),
    ("anchors in lines", |anchors, n, log| *log += &format!("{}\n", anchors[n % anchors.len()])),
    ("one anchor a line", |anchors, _, log| *log += &format!("{}\n", anchors[anchors.len() - 1])),
    ("begun anchors at ends of lines", |anchors, n, log| *log += &format!("{}\n", begun(&anchors[n % anchors.len()]))),
    ("begun anchors before tabs", |anchors, n, log| *log += &format!("{}\t", begun(&anchors[n % anchors.len()]))),
    ("anchors of ranks by turns", |anchors, n, log| {
        *log += &format!("[rank{}]: {}\n", n % 40, anchors[n % anchors.len()]);
    }),
    ("begun anchors of ranks by turns", |anchors, n, log| {
        *log += &format!("[rank{}]: {}\n", n % 40, begun(&anchors[n % anchors.len()]));
    }),
    ("as many ranks as lines", |anchors, n, log| *log += &format!("[rank{n}]: {}\n", anchors[n % anchors.len()])),
    ("escape sequences", |anchors, n, log| *log += &format!("\u{1b}[1m{}\u{1b}", &anchors[n % anchors.len()][..4])),
    ("unfinished escape sequences", |_, _, log| *log += "\u{1b}]\u{1b}[0;\u{1b}P"),
    ("escape sequences in lines", |anchors, n, log| *log += &format!("\u{1b}[1m{}\n", anchors[n % anchors.len()])),
    ("backspaces", |_, _, log| *log += "a\u{8}\u{8}"),
    ("carriage returns", |anchors, n, log| *log += &format!("{}\r", anchors[n % anchors.len()])),
    ("nothing but carriage returns", |_, _, log| *log += "\r"),
    ("prefixes in one line", |_, _, log| *log += "[rank0]: [1,0]<stderr>: E   | #1 0.1 "),
    ("prefixes in lines", |_, _, log| *log += "2026-03-14T09:21:34Z [rank0]: app-1  | E   [3/10] node1: 0: x\n"),
    ("blanks", |_, n, log| *log += if n.is_multiple_of(3) { "  \t" } else { " \n" }),
    ("braces", |_, _, log| *log += "{\"a\": {\"log\": \"\\n\\\\"),
    ("JSON", |anchors, n, log| {
        *log += &format!("{{\"log\": \"{}\\n\"}}\n", anchors[n % anchors.len()].replace('"', ""))
    }),
    ("backslashes", |_, _, log| *log += "\\\\\n"),
    ("lines of one length", |_, n, log| *log += &format!("{n:080}\n")),
];

#[test]
fn work_is_linear_in_the_log() {
    let patterns = patterns();
    let mut anchors: Vec<String> = patterns.iter().flat_map(|pattern| pattern.anchors.clone()).collect();
    anchors.retain(|anchor| anchor.is_ascii() && anchor.contains(' '));
    let scanner = Scanner::new(patterns);
    let mut wrong = Vec::new();
    for (name, part) in KINDS {
        let mut log = String::new();
        let per_byte = [SMALL, LARGE].map(|size| {
            for number in 0.. {
                if log.len() >= size {
                    break;
                }
                part(&anchors, number, &mut log);
            }
            work::take();
            let scan = scanner.scan("log", log.as_bytes()).unwrap();
            assert_eq!(scan.bytes, log.len() as u64, "{name}");
            work::take() * 10 / log.len() as u64
        });
        if per_byte[1] > per_byte[0] * 3 / 2 + 20 || per_byte[1] > MOST_PER_BYTE * 10 {
            wrong.push(format!("{name}: {} and {} tenths of a byte for each byte", per_byte[0], per_byte[1]));
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}
