//! `fix recipe test`: recipes on their fixtures, and every recipe on every log.

use std::collections::BTreeMap;
use std::ffi::OsString;
use std::path::{Path, PathBuf};

use anyhow::{Context, Result};

use super::args::Common;
use super::fixture::{Fixture, with_root};
use super::output;
use super::reading::{Asking, Reader, Reading, Stages, recipe_of};
use super::selecting;
use super::session::{Session, for_screen};
use crate::change::AbsPath;
use crate::diagnosis::{Confidence, Finding, Origin, examine};
use crate::evidence::LocalHost;
use crate::os::git::GitKnowledge;
use crate::recipe::catalogue::Catalogue;

/// Runs recipes on their fixtures; returns 1 when one does not do what its fixture says.
pub fn run(session: &Session, ids: &[String], recipes: &Path, fixtures: &Path) -> Result<u8> {
    let catalogue = Catalogue::from_folder(session.resolve(recipes).as_path(), session.vocabulary())?;
    for id in ids {
        anyhow::ensure!(catalogue.by_id(id).is_some(), "`{id}` is not a recipe of `{}`", recipes.display());
    }
    let reader = Reader::new(catalogue.entries().iter().collect());
    let mut failed = 0;
    let mut passed = 0;
    for fixture in Fixture::all(session.resolve(fixtures).as_path())? {
        if catalogue.by_id(&fixture.id).is_none() || (!ids.is_empty() && !ids.contains(&fixture.id)) {
            continue;
        }
        let (mistakes, taken) = match try_one(session, &catalogue, &reader, &fixture) {
            Ok(findings) => (judge(&fixture, &findings), tell_taken(&fixture, &findings)),
            Err(error) => (vec![format!("cannot be tried: {error:#}")], String::new()),
        };
        if mistakes.is_empty() {
            passed += 1;
            // Of the whole catalogue it would be hundreds.
            if !ids.is_empty() || session.common.verbose > 0 {
                output::show(&for_screen(&format!("{}/{}: {taken}\n", fixture.id, fixture.name)));
            }
        } else {
            failed += 1;
            for mistake in mistakes {
                output::show(&for_screen(&format!("{}/{}: {mistake}\n", fixture.id, fixture.name)));
            }
        }
    }
    output::show(&format!("{passed} passed, {failed} failed\n"));
    Ok(u8::from(failed > 0))
}

/// Tries one fixture in a temporary folder; returns what is found.
fn try_one(session: &Session, catalogue: &Catalogue, reader: &Reader<'_>, fixture: &Fixture) -> Result<Vec<Finding>> {
    let folder = tempfile::Builder::new().prefix("fix-recipe-").tempdir()?;
    let root: PathBuf = std::fs::canonicalize(folder.path())?;
    let log = fixture.unpack(&root)?;
    let project = AbsPath::new(&root)?;
    let mut env: BTreeMap<OsString, OsString> = BTreeMap::new();
    for name in ["PATH", "HOME"] {
        if let Some(value) = session.env(name) {
            env.insert(name.into(), value);
        }
    }
    for (name, value) in &fixture.env {
        let value = with_root(value.as_bytes(), &root);
        env.insert(name.into(), String::from_utf8(value).context("the folder's name is UTF-8")?.into());
    }
    let host = LocalHost::new(project.clone(), env, Box::new(GitKnowledge::discover(&project)));
    let command: Vec<OsString> = fixture
        .command
        .iter()
        .map(|word| String::from_utf8_lossy(&with_root(word.as_bytes(), &root)).into_owned().into())
        .collect();
    let reading: Reading = match &log {
        Some(log) => reader.read("log.txt", log.as_slice(), Stages::Unasked)?,
        None => Reading::default(),
    };
    let origin = if fixture.folder.join("before").is_dir() { Origin::ThisMachine } else { Origin::Elsewhere };
    let asking = Asking { host: &host, origin, command: (!command.is_empty()).then_some(&command) };
    let common = Common { set: fixture.set.clone(), ..session.common.clone() };
    let given = Session::new(common)?;
    let findings = match (&log, catalogue.by_id(&fixture.id)) {
        // Without a log only the recipe that the user names is looked for.
        (None, Some(entry)) => {
            let recipe = recipe_of(entry)?;
            let set = selecting::set_for(&given, &recipe);
            examine(&recipe, &reader.evidence(&reading, &asking, &set)).into_iter().collect()
        }
        (Some(_) | None, _) => reader.diagnose(&reading, &asking, &given)?,
    };
    Ok(findings)
}

/// Which case a fixture took, and what an author still has to add.
fn tell_taken(fixture: &Fixture, findings: &[Finding]) -> String {
    let own = findings.iter().find(|finding| finding.recipe.id == fixture.id);
    let Some(own) = own.filter(|own| own.confidence != Confidence::Refuted) else { return "left alone".to_owned() };
    let case = own.case();
    let mut told = format!("case `{}`", case.map_or("", |case| case.name.as_str()));
    if fixture.expect.is_none() {
        told.push_str("; no `expect` in case.toml says that it must be");
    }
    let repairs = case.is_some_and(|case| !case.steps.is_empty());
    if repairs && !fixture.folder.join("plan.diff").exists() {
        told.push_str("; no plan.diff: `FIX_BLESS=1 cargo test --test recipes the_plan` writes it, read it");
    }
    told
}

fn judge(fixture: &Fixture, findings: &[Finding]) -> Vec<String> {
    let mut mistakes = Vec::new();
    let standing: Vec<&Finding> = findings.iter().filter(|finding| finding.confidence != Confidence::Refuted).collect();
    let own = findings.iter().find(|finding| finding.recipe.id == fixture.id);
    match (own, fixture.is_look_alike()) {
        (None, false) => mistakes.push("the recipe does not fire".to_owned()),
        (Some(finding), true) if finding.confidence != Confidence::Refuted => {
            mistakes.push("the recipe fires on a look-alike".to_owned());
        }
        (Some(_) | None, _) => {}
    }
    let expected = fixture.expect.as_ref().filter(|case| !case.is_empty());
    if let (Some(expected), Some(finding)) = (expected, own) {
        let case = finding.case().map_or("", |case| case.name.as_str());
        if case != expected {
            let answers: Vec<String> = finding
                .answers
                .iter()
                .map(|answer| format!("{} = {} ({})", answer.probe, answer.answer.word, answer.answer.seen.en))
                .collect();
            mistakes.push(format!("the case is `{case}`, not `{expected}`\n    {}", answers.join("\n    ")));
        }
    }
    for finding in standing {
        let id = &finding.recipe.id;
        if *id != fixture.id && !fixture.also.contains(id) {
            mistakes.push(format!("`{id}` fires as well"));
        }
    }
    mistakes
}
