//! Any bytes, cut anywhere: the whole catalogue's scanner does not panic, and what it finds does not depend on the cuts.

#![no_main]

use std::sync::LazyLock;

use build_fix::evidence::log::{Pattern, Scanner};
use build_fix::recipe::catalogue::Catalogue;
use libfuzzer_sys::fuzz_target;

static SCANNER: LazyLock<Scanner> = LazyLock::new(|| {
    let catalogue = Catalogue::embedded();
    let patterns = catalogue.patterns().into_iter().map(|pattern| Pattern {
        regex: pattern.regex.to_owned(),
        anchors: pattern.anchors.iter().map(ToString::to_string).collect(),
        lines: pattern.lines.max(1),
    });
    Scanner::new(patterns.collect())
});

fuzz_target!(|input: (u16, &[u8])| {
    let (cut, log) = input;
    let whole = SCANNER.scan("log", log).expect("memory can be read");
    let mut session = SCANNER.session("log");
    for part in log.chunks(usize::from(cut) + 1) {
        session.feed(part);
    }
    assert_eq!(session.finish(), whole);
    let lines = log.split(|byte| *byte == b'\n').count() as u64 + 1;
    for hit in &whole.hits {
        assert!(1 <= hit.first_line && hit.first_line <= hit.last_line, "{hit:?}");
        // Other encodings have other line breaks.
        assert!(hit.last_line <= lines || log.contains(&0), "{hit:?}");
    }
});
