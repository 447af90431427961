//! `fix recipe new|lint|test|docs`: for authors.

use std::path::Path;

use anyhow::{Context, Result, bail};

use super::args::RecipeAction;
use super::output;
use super::session::{Session, for_screen};
use super::trial;
use super::writing::would_write;
use crate::recipe::catalogue::Catalogue;
use crate::recipe::docs::{self, Freshness};
use crate::recipe::{Text, lint, scaffold};

/// Runs an author's command; returns the exit status.
pub fn run(action: &RecipeAction, session: &Session) -> Result<u8> {
    match action {
        RecipeAction::New { id, recipes } => new(session, id, recipes),
        RecipeAction::Lint { paths } => check(session, paths),
        RecipeAction::Test { ids, recipes, fixtures } => trial::run(session, ids, recipes, fixtures),
        RecipeAction::Anchors => anchors(),
        RecipeAction::Docs { file, recipes, check } => {
            reference(session, recipes, file, if *check { Mode::Compare } else { Mode::Write })
        }
    }
}

/// Prints what the scanner looks for, one literal a line.
fn anchors() -> Result<u8> {
    let catalogue = Catalogue::embedded();
    let mut all: Vec<String> =
        catalogue.patterns().into_iter().flat_map(|pattern| pattern.anchors.iter().map(ToString::to_string)).collect();
    all.sort();
    all.dedup();
    for anchor in all {
        output::show(&format!("{anchor}\n"));
    }
    Ok(0)
}

fn new(session: &Session, id: &str, recipes: &Path) -> Result<u8> {
    let made = scaffold::scaffold(id, &Catalogue::embedded())?;
    let base = session.resolve(recipes);
    anyhow::ensure!(
        base.as_path().is_dir(),
        "`{base}` is not a folder\nhint: run this in a checkout of the recipes, or pass `--recipes DIR`"
    );
    let root = base.parent().unwrap_or_else(|| base.clone());
    for (name, text) in std::iter::once(&made.recipe).chain(&made.files) {
        let path = root.resolve(name);
        if path.as_path().exists() {
            bail!("`{path}` exists already");
        }
        if session.common.dry_run {
            session.say(&would_write(&path));
            continue;
        }
        let folder = path.parent().context("a file lies in a folder")?;
        std::fs::create_dir_all(folder.as_path()).with_context(|| format!("cannot make `{folder}`"))?;
        std::fs::write(path.as_path(), text).with_context(|| format!("cannot write `{path}`"))?;
        output::show(&format!("{path}\n"));
    }
    if session.common.dry_run {
        return Ok(1);
    }
    for name in &made.folders {
        let folder = root.resolve(name);
        std::fs::create_dir_all(folder.as_path()).with_context(|| format!("cannot make `{folder}`"))?;
    }
    session.say(&Text::new(
        "fill in what is marked, then: fix recipe lint && fix recipe test",
        "请填写标记处，然后：fix recipe lint && fix recipe test",
    ));
    Ok(0)
}

fn check(session: &Session, paths: &[std::path::PathBuf]) -> Result<u8> {
    let mut mistakes = Vec::new();
    for path in paths {
        let path = session.resolve(path);
        mistakes.extend(lint::lint_path(path.as_path(), session.vocabulary())?);
    }
    for mistake in &mistakes {
        output::show(&for_screen(&format!("{mistake}\nhint: {}\n", mistake.hint)));
    }
    if mistakes.is_empty() {
        session.say(&Text::new("the recipes are sound", "配方检查通过"));
    }
    Ok(u8::from(!mistakes.is_empty()))
}

#[derive(Clone, Copy)]
enum Mode {
    Write,
    Compare,
}

fn reference(session: &Session, recipes: &Path, file: &Path, mode: Mode) -> Result<u8> {
    // The recipes as they stand in the folder, not as this program was built with.
    let catalogue = Catalogue::from_folder(session.resolve(recipes).as_path(), session.vocabulary())?;
    let text = docs::render(session.vocabulary(), &catalogue).map_err(|errors| {
        anyhow::anyhow!("{}", errors.iter().map(ToString::to_string).collect::<Vec<_>>().join("\n"))
    })?;
    let path = session.resolve(file);
    match mode {
        Mode::Write if session.common.dry_run => {
            let is_fresh = std::fs::read_to_string(path.as_path()).is_ok_and(|stored| stored == text);
            if !is_fresh {
                session.say(&would_write(&path));
            }
            Ok(u8::from(!is_fresh))
        }
        Mode::Write => {
            std::fs::write(path.as_path(), text).with_context(|| format!("cannot write `{path}`"))?;
            Ok(0)
        }
        Mode::Compare => {
            let stored = std::fs::read_to_string(path.as_path()).with_context(|| format!("cannot read `{path}`"))?;
            match docs::compare(&stored, &text) {
                Freshness::Fresh => Ok(0),
                Freshness::Stale { line, .. } => {
                    output::show(&format!("{path}:{line}: not what the recipes say\nhint: run `fix recipe docs`\n"));
                    Ok(1)
                }
            }
        }
    }
}
