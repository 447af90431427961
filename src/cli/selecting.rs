//! From what the user typed to recipes and parameters.

use std::collections::BTreeSet;

use anyhow::{Result, bail};

use super::args;
use super::reading::recipe_of;
use super::session::Session;
use crate::recipe::catalogue::{Catalogue, Entry, Found};
use crate::recipe::nearest::{nearest, quoted};
use crate::recipe::{Param, ParamKind, Recipe, Value, Values};

/// Finds the recipes that the user named, each once.
pub fn entries<'c>(catalogue: &'c Catalogue, names: &[String]) -> Result<Vec<&'c Entry>> {
    let mut all: Vec<&Entry> = Vec::new();
    for name in names {
        let entry = entry(catalogue, name)?;
        if !all.iter().any(|seen| seen.id == entry.id) {
            all.push(entry);
        }
    }
    Ok(all)
}

/// Finds the recipe that the user named.
pub fn entry<'c>(catalogue: &'c Catalogue, name: &str) -> Result<&'c Entry> {
    match catalogue.find(name) {
        Found::One(entry) => Ok(entry),
        Found::Ambiguous(entries) => {
            let ids: Vec<&str> = entries.iter().map(|entry| &*entry.id).collect();
            bail!("`{name}` stands for several issues: {}\nhint: name one of them", ids.join(", "))
        }
        Found::None { nearest: issues } => {
            let commands = args::command_names();
            let mut near = nearest(name, commands.iter().map(String::as_str));
            near.extend(issues);
            let hint = match near.as_slice() {
                [] => "`fix list` lists the issues, `fix --help` the commands".to_owned(),
                near => format!("did you mean {}? `fix list` lists all issues", quoted(near.iter().copied(), ", ")),
            };
            bail!("`{name}` is neither a command nor a known issue\nhint: {hint}")
        }
    }
}

/// Parameters that a hint names.
const MOST_NAMED: usize = 5;

/// Checks `--set NAME=VALUE` against the parameters of recipes: one of them must know each name and take the value.
pub fn check_set(session: &Session, recipes: &[Recipe]) -> Result<()> {
    for given in &session.common.set {
        let Some((name, text)) = given.split_once('=') else {
            bail!("`--set {given}` is not NAME=VALUE");
        };
        let all = || recipes.iter().flat_map(|recipe| &recipe.params);
        let known: Vec<&Param> = all().filter(|param| param.name == name).collect();
        let Some(first) = known.first() else {
            let names: BTreeSet<&str> = all().map(|param| param.name.as_str()).collect();
            let near = nearest(name, names.iter().copied());
            let hint = match (near.as_slice(), names.len()) {
                ([], 1..=MOST_NAMED) => format!("there are {}", quoted(names, ", ")),
                ([], _) => "`fix show ISSUE` lists the parameters of an issue".to_owned(),
                (near, _) => format!("did you mean {}?", quoted(near.iter().copied(), ", ")),
            };
            bail!("`--set {given}`: no such parameter here\nhint: {hint}");
        };
        if known.iter().any(|param| admitted(param, text).is_some()) {
            continue;
        }
        if first.choices.is_empty() {
            bail!("`--set {given}`: this is not a {:?}", first.kind);
        }
        bail!("`--set {given}`: the value must be one of {}", first.choices.join(", "));
    }
    Ok(())
}

/// Checks `--set` against the whole catalogue, for commands that find out themselves which issue it is. Returns the
/// recipes that it was checked against.
pub fn check_set_of_any(session: &Session, catalogue: &Catalogue) -> Result<Vec<Recipe>> {
    if session.common.set.is_empty() {
        return Ok(Vec::new());
    }
    let recipes: Vec<Recipe> = catalogue.entries().iter().map(recipe_of).collect::<Result<_>>()?;
    check_set(session, &recipes)?;
    Ok(recipes)
}

/// The values that `--set` gives a recipe; recipes may take one name in different ways, or not at all.
pub fn set_for(session: &Session, recipe: &Recipe) -> Values {
    let mut values = Values::new();
    for (name, text) in session.common.set.iter().filter_map(|given| given.split_once('=')) {
        for param in recipe.params.iter().filter(|param| param.name == name) {
            values.extend(admitted(param, text).map(|value| (name.to_owned(), value)));
        }
    }
    values
}

/// The paths among the values that `--set` gives recipes.
pub fn given_paths(session: &Session, recipes: &[Recipe]) -> Vec<String> {
    let of = |recipe: &Recipe| {
        let is_path = |name: &String| recipe.params.iter().any(|p| p.name == *name && p.kind == ParamKind::Path);
        let values = set_for(session, recipe).into_iter().filter(move |(name, _)| is_path(name));
        values.flat_map(|(_, value)| value.to_list()).collect::<Vec<_>>()
    };
    recipes.iter().flat_map(of).collect()
}

fn admitted(param: &Param, text: &str) -> Option<Value> {
    let value = if param.list {
        Value::List(text.split(',').map(str::trim).filter(|item| !item.is_empty()).map(str::to_owned).collect())
    } else {
        Value::Text(text.to_owned())
    };
    param.kind.admit(&value, &param.choices)
}
