//! The matrix: every recipe on every labelled log of `fixtures/cases`.
//!
//! What a label expects of the recipes that exist must be found, first where it is the primary one, with its
//! parameters; whatever else a recipe says of a log is a false alarm. `fixtures/cases/README.md` has the format.

mod support;

use std::collections::BTreeMap;
use std::fs;
use std::io::Write;
use std::path::Path;
use std::process::Stdio;

use support::Sandbox;
use support::labelled::{cases, known, mistakes, root};

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
    // A variable without a value is shown as `<name>`. Another recipe's name is a placeholder like any other.
    let vocabulary = build_fix::cli::vocabulary::vocabulary();
    let catalogue = build_fix::recipe::catalogue::Catalogue::embedded();
    let recipes = catalogue.entries().iter().map(|entry| entry.recipe(&vocabulary).unwrap());
    let names: BTreeMap<String, Vec<String>> = recipes
        .map(|recipe| (recipe.id, recipe.params.iter().map(|param| format!("<{}>", param.name)).collect()))
        .collect();
    let mut holes = Vec::new();
    for log in logs.chain(of_recipes) {
        for found in diagnose(&sandbox, &log, Through::File) {
            for told in ["cause", "remedy"] {
                let text = found[told].as_str().unwrap_or_default();
                if names[found["id"].as_str().unwrap()].iter().any(|name| text.contains(name)) {
                    holes.push(format!("{}: {} {told}: {text}", log.display(), found["id"]));
                }
            }
        }
    }
    assert!(holes.is_empty(), "{}", holes.join("\n"));
}
