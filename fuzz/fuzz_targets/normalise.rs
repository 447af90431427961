//! Any bytes as lines of a log: the normaliser does not panic, and what is found in its text stands in the lines that are
//! named.

#![no_main]

use std::sync::LazyLock;

use build_fix::evidence::log::{Pattern, Scanner};
use libfuzzer_sys::fuzz_target;

/// Without anchors, so that every line is normalised: one pattern within a line, one over two.
static SCANNER: LazyLock<Scanner> = LazyLock::new(|| {
    let everywhere = |regex: &str| Pattern { regex: regex.to_owned(), anchors: Vec::new(), lines: 2 };
    Scanner::new(vec![everywhere(r"(?P<text>[a-z]\w+)"), everywhere(r"(?P<text>[a-z]+) (?P<next>[a-z]+)")])
});

fuzz_target!(|log: &[u8]| {
    let scan = SCANNER.scan("log", log).expect("memory can be read");
    let lines: Vec<&[u8]> = log.split(|byte| *byte == b'\n').collect();
    // Other encodings, escape sequences, overwriting and JSON show other bytes than there are.
    let plain = std::str::from_utf8(log).is_ok() && !log.iter().any(|byte| b"\0\x1b\x08\r\\{\xef".contains(byte));
    for hit in &scan.hits {
        assert!(1 <= hit.first_line && hit.first_line <= hit.last_line, "{hit:?}");
        if !plain {
            continue;
        }
        assert!(hit.last_line <= lines.len() as u64, "{hit:?}");
        for text in hit.captures.values().flatten() {
            let mut named = lines[hit.first_line as usize - 1..hit.last_line as usize].iter();
            let stands = named.any(|line| line.windows(text.len()).any(|part| part == text.as_bytes()));
            // What was cut at a column is put together again.
            assert!(stands || hit.first_line < hit.last_line, "{hit:?}");
        }
    }
});
