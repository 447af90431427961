//! Laws of the merge on random build scripts, judged by Python itself.

use std::collections::BTreeMap;
use std::io::Write;
use std::process::{Command, Stdio};

use proptest::prelude::*;
use proptest::strategy::ValueTree;
use proptest::test_runner::TestRunner;
use regex::Regex;
use serde::Deserialize;

use super::*;

const FOLDER: &str = "/opt/system/lib";
const SCRIPTS: usize = 400;

/// Runs each script's `build_extension` with the flag off and on, and prints the arguments it makes.
const JUDGE: &str = r#"
import json, shlex, sys
out = []
for text in json.load(sys.stdin):
    pair = []
    for on in (False, True):
        made = []
        scope = {"check_env_flag": lambda name, default="": on, "shlex": shlex, "extra": ["-DEXTRA=1"],
                 "ninja": "/n", "other": lambda: ["-DOTHER=1"], "run": made.extend}
        exec(compile(text, "setup.py", "exec"), scope)
        scope["build_extension"]()
        pair.append(made)
    out.append(pair)
json.dump(out, sys.stdout)
"#;

#[derive(Debug, Clone, Deserialize)]
#[serde(transparent)]
struct Arguments(Vec<String>);

impl Arguments {
    fn effective(&self, flags: &Regex) -> BTreeMap<String, Vec<String>> {
        let found = self.0.iter().filter_map(|argument| flags.captures(argument));
        found.map(|found| (found[1].to_owned(), found[2].split_whitespace().map(str::to_owned).collect())).collect()
    }

    fn others(&self) -> Vec<&String> {
        self.0.iter().filter(|argument| !argument.contains("_LINKER_FLAGS")).collect()
    }
}

fn judge(texts: &[String]) -> Vec<(Arguments, Arguments)> {
    let mut python = Command::new("python3")
        .args(["-I", "-c", JUDGE])
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .spawn()
        .expect("these laws need python3");
    python.stdin.take().unwrap().write_all(&serde_json::to_vec(texts).unwrap()).unwrap();
    let output = python.wait_with_output().unwrap();
    assert!(output.status.success(), "a script does not run");
    serde_json::from_slice(&output.stdout).unwrap()
}

/// An element of a list: its Python text.
fn element() -> impl Strategy<Value = String> {
    let flags = (
        prop::sample::select(vec!["EXE", "SHARED", "MODULE"]),
        prop::sample::select(vec!["", ":STRING"]),
        prop::sample::select(vec![
            "-fuse-ld=lld",
            "-L/opt/system/lib",
            "-Wl,-z,now  -s",
            "",
            "-fuse-ld=lld -L/opt/system/lib",
        ]),
        prop::sample::select(vec!["\"", "'", "r\"", "u'", "\"\"\""]),
    )
        .prop_map(|(kind, typed, value, quote)| {
            let close = quote.trim_start_matches(['r', 'u']);
            format!("{quote}-DCMAKE_{kind}_LINKER_FLAGS{typed}={value}{close}")
        });
    let others = prop::sample::select(vec![
        "\"-G\", \"Ninja\"",
        "'-DA=1'",
        "\"-DM=\" + ninja",
        "\"-DP=\" +\n            ninja",
        "f\"-DN={ninja}\"",
        "*extra",
        "\"-DB=é # no comment\"",
        "\"-DJ=\" + ';'.join([b for b in extra if b])",
    ])
    .prop_map(str::to_owned);
    prop_oneof![flags, others]
}

/// A list literal in one of the layouts that people write.
fn list() -> impl Strategy<Value = String> {
    (prop::collection::vec(element(), 0..6), 0..5_u8).prop_map(|(elements, layout)| match layout {
        0 => format!("[{}]", elements.join(", ")),
        1 if !elements.is_empty() => {
            format!("[\n            {},  # résumé\n        ]", elements.join(",\n            "))
        }
        2 if !elements.is_empty() => {
            format!("[\n            {}  # last, no comma\n        ]", elements.join(",  # c, d\n            "))
        }
        3 if !elements.is_empty() => format!("[{}]", elements.join(",\n                      ")),
        _ => format!("[ # none\n            {}\n        ]", elements.join(" , ")),
    })
}

/// A statement that adds to the list.
fn addition() -> impl Strategy<Value = String> {
    prop_oneof![
        list().prop_map(|list| format!("    cmake_args += {list}\n")),
        list().prop_map(|list| format!("    cmake_args.extend({list})\n")),
        list().prop_map(|list| format!("    cmake_args = cmake_args + {list}\n")),
        list().prop_map(|list| format!("    if check_env_flag(\"LLD\"):\n        cmake_args += {list}\n")),
        element()
            .prop_filter("a single argument", |element| !element.contains(", ") && !element.starts_with('*'))
            .prop_map(|element| format!("    cmake_args.append({element})\n")),
        Just("    cmake_args += other()\n".to_owned()),
        Just("    # cmake_args += [\"-DCMAKE_EXE_LINKER_FLAGS=comment\"]\n".to_owned()),
    ]
}

fn script() -> impl Strategy<Value = String> {
    let typed = prop::sample::select(vec!["", ": list"]);
    (typed, list(), prop::collection::vec(addition(), 0..4), any::<bool>()).prop_map(|(typed, base, more, crlf)| {
        let text = format!(
            "# -*- coding: utf-8 -*-\ndef build_extension():\n    \"\"\"Ünïcode -DCMAKE_EXE_LINKER_FLAGS=doc\"\"\"\n    cmake_args{typed} = {base}\n{}    run(cmake_args)\n",
            more.concat()
        );
        if crlf { text.replace('\n', "\r\n") } else { text }
    })
}

/// What stands in a text beside linker flags and the punctuation of lists.
fn remainder(text: &str, flags: &Regex) -> String {
    flags.replace_all(text, "").chars().filter(|c| !c.is_whitespace() && *c != ',').collect()
}

#[test]
fn cmake_gets_the_folder_and_keeps_what_it_had() {
    let mut runner = TestRunner::deterministic();
    let strategy = script();
    let scripts: Vec<String> = (0..SCRIPTS).map(|_| strategy.new_tree(&mut runner).unwrap().current()).collect();
    let mut tried = Vec::new();
    let flags = Regex::new(r#"[ru]?("""|"|')-DCMAKE_(?:EXE|SHARED|MODULE)_LINKER_FLAGS[^"']*("""|"|')"#).unwrap();
    for on in [false, true] {
        let env = |name: &str| (name == "LLD" && on).then(|| "1".to_owned());
        for before in &scripts {
            let merged = merge(before.as_bytes(), &MergeOrder { folder: FOLDER, function: None, env: &env });
            let merged = merged.unwrap_or_else(|error| panic!("{error}\n{before}"));
            let after = String::from_utf8(merged.bytes.clone()).unwrap();
            assert_eq!(remainder(before, &flags), remainder(&after, &flags), "{before}\n{after}");
            assert_eq!(
                before.matches("\r\n").count() == before.matches('\n').count(),
                after.matches("\r\n").count() == after.matches('\n').count()
            );
            if merged.manual.is_empty() {
                tried.push((on, before.clone(), after));
            }
        }
    }
    assert!(tried.len() > SCRIPTS, "too few scripts could be merged: {}", tried.len());
    let before = judge(&tried.iter().map(|(_, before, _)| before.clone()).collect::<Vec<_>>());
    let after = judge(&tried.iter().map(|(_, _, after)| after.clone()).collect::<Vec<_>>());
    let define = Regex::new(r"(?s)^-DCMAKE_(EXE|SHARED|MODULE)_LINKER_FLAGS(?::[A-Z]+)?=(.*)$").unwrap();
    for (((on, old_text, new_text), old), new) in tried.iter().zip(&before).zip(&after) {
        let told = format!("{on}\n{old_text}\n{new_text}");
        for (on_here, old, new) in [(false, &old.0, &new.0), (true, &old.1, &new.1)] {
            assert_eq!(old.others(), new.others(), "{told}");
            let (old_flags, new_flags) = (old.effective(&define), new.effective(&define));
            let linker = old.0.iter().any(|argument| argument.contains("-fuse-ld=lld"));
            for kind in ["EXE", "SHARED", "MODULE"] {
                let Some(words) = new_flags.get(kind) else {
                    assert_ne!(on_here, *on, "{kind} is unset\n{told}");
                    continue;
                };
                assert!(words.iter().any(|word| word == "-L/opt/system/lib"), "{kind} lacks the folder\n{told}");
                for word in old_flags.get(kind).into_iter().flatten() {
                    assert!(words.contains(word), "{kind} lost {word}\n{told}");
                }
                if linker && on_here == *on {
                    assert!(words.iter().any(|word| word == "-fuse-ld=lld"), "{kind} lost its linker\n{told}");
                }
            }
        }
    }
}

/// Damages a script: takes out, doubles or replaces a piece of it.
fn damaged() -> impl Strategy<Value = Vec<u8>> {
    let piece = prop::sample::select(vec![
        "[", "]", "\"", "'", "(", ")", "\n", "    ", ",", "#", "\\", "if x:", "\r\n", "é", "\"\"\"", "f",
    ]);
    (script(), prop::collection::vec((any::<prop::sample::Index>(), 0..12_usize, piece), 1..6)).prop_map(
        |(text, damage)| {
            let mut bytes = text.into_bytes();
            for (at, length, piece) in damage {
                let at = at.index(bytes.len());
                let end = (at + length).min(bytes.len());
                bytes.splice(at..end, piece.bytes());
            }
            bytes
        },
    )
}

#[test]
fn damaged_scripts_are_refused_or_edited_soundly() {
    let mut runner = TestRunner::deterministic();
    let strategy = damaged();
    let mut edited = 0;
    for _ in 0..SCRIPTS {
        let before = strategy.new_tree(&mut runner).unwrap().current();
        let env = |_: &str| None;
        let order = MergeOrder { folder: FOLDER, function: None, env: &env };
        let Ok(merged) = merge(&before, &order) else { continue };
        edited += usize::from(merged.bytes != before);
        let again = merge(&merged.bytes, &order).unwrap();
        assert_eq!(again.bytes, merged.bytes, "{}", String::from_utf8_lossy(&before));
        let count = |bytes: &[u8]| bytes.iter().filter(|byte| !byte.is_ascii()).count();
        assert_eq!(count(&before), count(&merged.bytes));
    }
    assert!(edited > SCRIPTS / 10, "too few damaged scripts can be edited: {edited}");
}
