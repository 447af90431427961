//! Scans a file for the signatures of a list and prints how long it took: `cargo bench --bench scan -- LOG PATTERNS`.
//!
//! PATTERNS has one regular expression a line; those without a usable anchor are named and left out.

use std::fs::File;
use std::process::ExitCode;
use std::time::Instant;

use build_fix::evidence::log::{Pattern, Scanner, anchors};

fn main() -> ExitCode {
    let arguments: Vec<String> = std::env::args().skip(1).filter(|argument| argument != "--bench").collect();
    // `cargo test --benches` and `cargo bench` without a file have nothing to measure.
    let [log, patterns, rest @ ..] = &arguments[..] else {
        eprintln!("usage: scan LOG PATTERNS [--literals]");
        return ExitCode::SUCCESS;
    };
    let begun = Instant::now();
    let patterns = std::fs::read_to_string(patterns).expect("PATTERNS can be read");
    let mut usable = Vec::new();
    for regex in patterns.lines() {
        match anchors(regex) {
            Ok(anchors) => usable.push(Pattern { regex: regex.to_owned(), anchors, lines: 1 }),
            Err(error) => eprintln!("{regex}: {error}"),
        }
    }
    let literals: usize = usable.iter().map(|pattern| pattern.anchors.len()).sum();
    if rest.iter().any(|argument| argument == "--literals") {
        usable.iter().flat_map(|pattern| &pattern.anchors).for_each(|anchor| println!("{anchor}"));
        return ExitCode::SUCCESS;
    }
    let (count, regexes) = (usable.len(), usable.iter().map(|pattern| pattern.regex.clone()).collect::<Vec<_>>());
    let scanner = Scanner::new(usable);
    let prepared = begun.elapsed();
    let scan = scanner.scan(log, File::open(log).expect("LOG can be opened")).expect("LOG can be read");
    let taken = begun.elapsed();
    println!(
        "{count} patterns, {literals} literals prepared in {prepared:.2?}; {} bytes, {} lines in {taken:.2?}, {:.2} GB/s",
        scan.bytes,
        scan.lines,
        scan.bytes as f64 / taken.as_secs_f64() / 1e9
    );
    for (pattern, total) in &scan.totals {
        println!("{total:8}  {}", regexes[*pattern]);
    }
    ExitCode::SUCCESS
}
