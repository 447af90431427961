//! The matrix: every recipe on every labelled log of `fixtures/cases`.
//!
//! What a label expects of the recipes that exist must be found, first where it is the primary one, with its
//! parameters; whatever else a recipe says of a log is a false alarm. `fixtures/cases/README.md` has the format.

mod support;

use std::collections::BTreeSet;
use std::fs;
use std::io::Write;
use std::path::{Path, PathBuf};
use std::process::Stdio;

use support::Sandbox;

/// A labelled log.
struct Case {
    name: String,
    log: PathBuf,
    expect: BTreeSet<String>,
    accept: BTreeSet<String>,
    primary: String,
    debatable: bool,
    /// Names whose value is not written in the log.
    derived: BTreeSet<String>,
    params: Vec<(String, Vec<String>)>,
}

fn root() -> &'static Path {
    Path::new(env!("CARGO_MANIFEST_DIR"))
}

fn cases() -> Vec<Case> {
    let mut all = Vec::new();
    for family in fs::read_dir(root().join("fixtures/cases")).unwrap() {
        let family = family.unwrap().path();
        if !family.is_dir() {
            continue;
        }
        for entry in fs::read_dir(&family).unwrap() {
            let path = entry.unwrap().path();
            if path.extension().is_some_and(|extension| extension == "toml") {
                all.push(read(&path));
            }
        }
    }
    all.sort_by(|a, b| a.log.cmp(&b.log));
    assert!(all.len() > 100, "only {} cases", all.len());
    all
}

fn read(path: &Path) -> Case {
    let text = fs::read_to_string(path).unwrap();
    let table: toml_edit::DocumentMut = text.parse().unwrap_or_else(|error| panic!("{}: {error}", path.display()));
    let strings = |item: Option<&toml_edit::Item>| -> Vec<String> {
        match item.and_then(toml_edit::Item::as_value) {
            Some(toml_edit::Value::Array(items)) => {
                items.iter().map(|item| item.as_str().unwrap().to_owned()).collect()
            }
            Some(value) => vec![value.as_str().unwrap().to_owned()],
            None => Vec::new(),
        }
    };
    let text = |key: &str| table.get(key).and_then(toml_edit::Item::as_str).unwrap_or_default().to_owned();
    let params = table.get("params").and_then(toml_edit::Item::as_table);
    Case {
        name: text("id"),
        log: path.with_extension("log"),
        expect: strings(table.get("expect")).into_iter().collect(),
        accept: strings(table.get("accept")).into_iter().collect(),
        primary: text("primary"),
        debatable: text("certainty") == "debatable",
        derived: strings(table.get("derived")).into_iter().collect(),
        params: params
            .into_iter()
            .flat_map(toml_edit::Table::iter)
            .map(|(name, item)| (name.to_owned(), strings(Some(item))))
            .collect(),
    }
}

fn known() -> BTreeSet<String> {
    fs::read_dir(root().join("recipes"))
        .unwrap()
        .filter_map(|entry| Some(entry.unwrap().file_name().to_str()?.strip_suffix(".toml")?.to_owned()))
        .collect()
}

fn diagnose(sandbox: &Sandbox, log: &Path, through: Through) -> Vec<serde_json::Value> {
    let mut command = sandbox.fix_command();
    command.args(["diagnose", "--log-only", "--json"]);
    let output = match through {
        Through::File => command.arg(log).output().unwrap(),
        Through::Stdin => {
            let mut child = command.arg("-").stdin(Stdio::piped()).stdout(Stdio::piped()).spawn().unwrap();
            child.stdin.take().unwrap().write_all(&fs::read(log).unwrap()).unwrap();
            child.wait_with_output().unwrap()
        }
    };
    assert!(output.status.code().is_some_and(|code| code <= 1), "{}: {:?}", log.display(), output.status);
    let document: serde_json::Value = serde_json::from_slice(&output.stdout).unwrap();
    document["findings"].as_array().unwrap().iter().filter(|found| found["confidence"] != "refuted").cloned().collect()
}

enum Through {
    File,
    Stdin,
}

/// What is wrong with the findings of a case, as far as the recipes that exist go.
fn mistakes(case: &Case, findings: &[serde_json::Value], known: &BTreeSet<String>) -> Vec<String> {
    let ids: Vec<&str> = findings.iter().map(|found| found["id"].as_str().unwrap()).collect();
    let mut wrong = Vec::new();
    for id in case.expect.intersection(known) {
        if !ids.contains(&id.as_str()) {
            wrong.push(format!("misses {id}"));
        }
    }
    for id in &ids {
        let of_a_faq = id.starts_with("tda-") || id.starts_with("hp-");
        if of_a_faq && !case.expect.contains(*id) && !case.accept.contains(*id) {
            wrong.push(format!("false alarm {id}"));
        }
    }
    if known.contains(&case.primary)
        && case.expect.is_subset(known)
        && ids.first().is_some_and(|first| *first != case.primary && !case.accept.contains(*first))
    {
        wrong.push(format!("first is {}, not {}", ids[0], case.primary));
    }
    for (name, want) in &case.params {
        if case.derived.contains(name) || !case.expect.is_subset(known) {
            continue;
        }
        let mine = findings.iter().filter(|found| {
            let id = found["id"].as_str().unwrap();
            case.expect.contains(id) || case.accept.contains(id)
        });
        let mut have: Vec<Vec<String>> = mine
            .filter_map(|found| match &found["params"][name] {
                serde_json::Value::Null => None,
                serde_json::Value::Array(items) => {
                    Some(items.iter().map(|item| item.as_str().unwrap().to_owned()).collect())
                }
                value => Some(vec![value.as_str().unwrap().to_owned()]),
            })
            .collect();
        have.iter_mut().for_each(|items| items.sort());
        let mut want = want.clone();
        want.sort();
        if !have.contains(&want) {
            wrong.push(format!("{name} is {have:?}, not {want:?}"));
        }
    }
    wrong
}

#[test]
fn every_labelled_log() {
    let sandbox = Sandbox::new();
    let known = known();
    let (mut clear, mut debatable, mut order) = (Vec::new(), Vec::new(), Vec::new());
    let mut positives = 0;
    for case in cases() {
        let findings = diagnose(&sandbox, &case.log, Through::File);
        positives += usize::from(!case.expect.is_empty());
        for mistake in mistakes(&case, &findings, &known) {
            let list = match (case.debatable, mistake.starts_with("first is ")) {
                (true, _) => &mut debatable,
                (false, true) => &mut order,
                (false, false) => &mut clear,
            };
            list.push(format!("{}: {mistake}", case.name));
        }
    }
    // Where a sound expert could label it otherwise, so may we.
    println!("debatable:\n  {}", debatable.join("\n  "));
    // Of two independent causes either may be the one that ended the run: one in fifty may stand in another order.
    assert!(order.len() * 50 <= positives, "of {positives}:\n  {}", order.join("\n  "));
    assert!(clear.is_empty(), "{} mistakes:\n  {}", clear.len(), clear.join("\n  "));
}

#[test]
fn a_file_and_standard_input_say_the_same() {
    let sandbox = Sandbox::new();
    for case in cases().iter().step_by(5) {
        let strip = |findings: Vec<serde_json::Value>| -> Vec<serde_json::Value> {
            findings
                .into_iter()
                .map(|mut found| {
                    found.as_object_mut().unwrap().remove("evidence");
                    found
                })
                .collect()
        };
        let by_file = strip(diagnose(&sandbox, &case.log, Through::File));
        assert_eq!(by_file, strip(diagnose(&sandbox, &case.log, Through::Stdin)), "{}", case.name);
    }
}

#[test]
fn what_a_log_does_not_name_is_not_spoken_of() {
    let sandbox = Sandbox::new();
    let logs = cases().into_iter().map(|case| case.log);
    let of_recipes = build_fix::cli::fixture::Fixture::all(&root().join("fixtures")).unwrap();
    let of_recipes = of_recipes.into_iter().map(|fixture| fixture.folder.join("log.txt")).filter(|log| log.exists());
    // A variable without a value is shown as `<name>`.
    let vocabulary = build_fix::cli::vocabulary::vocabulary();
    let catalogue = build_fix::recipe::catalogue::Catalogue::embedded();
    let recipes = catalogue.entries().iter().map(|entry| entry.recipe(&vocabulary).unwrap());
    let names: Vec<String> =
        recipes.flat_map(|recipe| recipe.params).map(|param| format!("<{}>", param.name)).collect();
    let mut holes = Vec::new();
    for log in logs.chain(of_recipes) {
        for found in diagnose(&sandbox, &log, Through::File) {
            for told in ["cause", "remedy"] {
                let text = found[told].as_str().unwrap_or_default();
                if names.iter().any(|name| text.contains(name)) {
                    holes.push(format!("{}: {} {told}: {text}", log.display(), found["id"]));
                }
            }
        }
    }
    assert!(holes.is_empty(), "{}", holes.join("\n"));
}
