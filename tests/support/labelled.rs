//! The labelled logs of `fixtures/cases`, and what is wrong with an answer to one.

use std::collections::BTreeSet;
use std::fs;
use std::path::{Path, PathBuf};

/// A labelled log.
pub struct Case {
    pub name: String,
    pub log: PathBuf,
    pub expect: BTreeSet<String>,
    pub accept: BTreeSet<String>,
    pub primary: String,
    pub debatable: bool,
    /// Names whose value is not written in the log.
    pub derived: BTreeSet<String>,
    pub params: Vec<(String, Vec<String>)>,
}

pub fn root() -> &'static Path {
    Path::new(env!("CARGO_MANIFEST_DIR"))
}

pub fn cases() -> Vec<Case> {
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

pub fn known() -> BTreeSet<String> {
    fs::read_dir(root().join("recipes"))
        .unwrap()
        .filter_map(|entry| Some(entry.unwrap().file_name().to_str()?.strip_suffix(".toml")?.to_owned()))
        .collect()
}

/// What is wrong with the findings of a case, as far as the recipes that exist go.
pub fn mistakes(case: &Case, findings: &[serde_json::Value], known: &BTreeSet<String>) -> Vec<String> {
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
