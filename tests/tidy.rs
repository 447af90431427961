//! The rules of the source tree that a compiler does not check.

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};

/// Who may import whom; a module may always import itself.
const LAYERS: &[(&str, &[&str])] = &[
    ("os", &[]),
    ("formats", &[]),
    ("recipe", &[]),
    ("redact", &[]),
    ("change", &["os"]),
    ("evidence", &["recipe", "formats", "os"]),
    ("diagnosis", &["recipe", "evidence"]),
    ("steps", &["recipe", "evidence", "formats", "change"]),
    ("plan", &["recipe", "evidence", "diagnosis", "change", "steps"]),
    ("policy", &["recipe", "report"]),
    ("diff", &["change", "plan", "recipe", "redact", "os"]),
    ("transaction", &["change", "plan", "redact", "os"]),
    ("verify", &["recipe", "evidence", "plan", "os"]),
    ("rollback", &["change", "transaction", "os"]),
    (
        "report",
        &[
            "recipe",
            "evidence",
            "diagnosis",
            "change",
            "plan",
            "diff",
            "transaction",
            "verify",
            "rollback",
            "redact",
            "os",
        ],
    ),
];

fn root() -> PathBuf {
    PathBuf::from(env!("CARGO_MANIFEST_DIR"))
}

/// Says whether a file holds unit tests only: it is compiled under `cfg(test)` by the module that it belongs to.
fn is_test(path: &Path) -> bool {
    let stem = path.file_stem().unwrap().to_str().unwrap();
    stem.ends_with("tests")
        || ["golden", "laws", "samples", "testing"].contains(&stem)
        || path.components().any(|part| part.as_os_str() == "tests")
}

fn sources(below: &Path) -> Vec<PathBuf> {
    let mut found = Vec::new();
    let mut folders = vec![below.to_owned()];
    while let Some(folder) = folders.pop() {
        for entry in fs::read_dir(&folder).unwrap() {
            let path = entry.unwrap().path();
            if path.is_dir() {
                folders.push(path);
            } else if path.extension().is_some_and(|extension| extension == "rs") && !is_test(&path) {
                found.push(path);
            }
        }
    }
    found.sort();
    found
}

/// The part of a source file before its unit tests.
fn product(text: &str) -> &str {
    text.find("#[cfg(test)]\nmod ").map_or(text, |at| &text[..at])
}

/// The lines of a source file that are code, with their numbers.
fn code(text: &str) -> impl Iterator<Item = (usize, &str)> {
    product(text)
        .lines()
        .enumerate()
        .map(|(at, line)| (at + 1, line))
        .filter(|(_, line)| !line.trim().starts_with("//"))
}

fn module(path: &Path) -> String {
    let relative = path.strip_prefix(root().join("src")).unwrap();
    let first = relative.components().next().unwrap().as_os_str().to_str().unwrap();
    first.trim_end_matches(".rs").to_owned()
}

#[test]
fn modules_import_downwards_only() {
    let allowed: BTreeMap<&str, &[&str]> = LAYERS.iter().copied().collect();
    let mut broken = Vec::new();
    for path in sources(&root().join("src")) {
        let importer = module(&path);
        let Some(may) = allowed.get(importer.as_str()) else { continue };
        let text = fs::read_to_string(&path).unwrap();
        for (number, line) in code(&text) {
            for part in line.split("crate::").skip(1) {
                let used: String = part.chars().take_while(|c| c.is_alphanumeric() || *c == '_').collect();
                let names: Vec<&str> = if used.is_empty() {
                    part.trim_start_matches('{')
                        .split(',')
                        .map(|name| name.split("::").next().unwrap().trim())
                        .collect()
                } else {
                    vec![&used]
                };
                for name in names {
                    let is_module = allowed.contains_key(name) || name == "cli";
                    if is_module && name != importer && !may.contains(&name) {
                        broken.push(format!("{}:{number}: {importer} imports {name}", path.display()));
                    }
                }
            }
        }
    }
    assert!(broken.is_empty(), "imports against the layers:\n{}", broken.join("\n"));
}

#[test]
fn only_the_command_line_prints() {
    let mut broken = Vec::new();
    // The macros panic where nothing can be written: in cli, `output` is used instead.
    for path in sources(&root().join("src")) {
        let text = fs::read_to_string(&path).unwrap();
        for (number, line) in code(&text) {
            if ["println!(", "print!(", "dbg!("].iter().any(|word| line.contains(word)) {
                broken.push(format!("{}:{number}: {}", path.display(), line.trim()));
            }
        }
    }
    assert!(broken.is_empty(), "prints by a macro:\n{}", broken.join("\n"));
}

#[test]
fn product_code_does_not_unwrap_or_silence_lints() {
    let words = [".unwrap()", "#[allow(", "todo!(", "unimplemented!("];
    let mut broken = Vec::new();
    for path in sources(&root().join("src")) {
        let text = fs::read_to_string(&path).unwrap();
        for (number, line) in code(&text) {
            if words.iter().any(|word| line.contains(word)) {
                broken.push(format!("{}:{number}: {}", path.display(), line.trim()));
            }
        }
    }
    assert!(broken.is_empty(), "{}", broken.join("\n"));
}

#[test]
fn source_files_stay_readable_in_one_sitting() {
    let mut long = Vec::new();
    for path in sources(&root().join("src")) {
        let text = fs::read_to_string(&path).unwrap();
        let lines = product(&text).lines().count();
        if lines > 500 {
            long.push(format!("{}: {lines} lines before its tests", path.display()));
        }
        if !text.starts_with("//!") {
            long.push(format!("{}: does not say on top what it is for", path.display()));
        }
    }
    assert!(long.is_empty(), "{}", long.join("\n"));
}
