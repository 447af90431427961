//! From what the user typed to recipes and parameters.

use anyhow::{Result, bail};

use super::session::Session;
use crate::recipe::catalogue::{Catalogue, Entry, Found};
use crate::recipe::{Recipe, Value, Values};

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
        Found::None { nearest } if nearest.is_empty() => {
            bail!(
                "`{name}` is neither a command nor a known issue\nhint: `fix list` lists the issues, `fix --help` the commands"
            )
        }
        Found::None { nearest } => bail!(
            "`{name}` is neither a command nor a known issue\nhint: did you mean {}? `fix list` lists all",
            nearest.iter().map(|near| format!("`{near}`")).collect::<Vec<_>>().join(", ")
        ),
    }
}

/// Checks `--set NAME=VALUE` against the parameters of recipes: every name must be known to one of them.
pub fn set_values(session: &Session, recipes: &[Recipe]) -> Result<Values> {
    let mut values = Values::new();
    for given in &session.common.set {
        let Some((name, text)) = given.split_once('=') else {
            bail!("`--set {given}` is not NAME=VALUE");
        };
        let params: Vec<_> =
            recipes.iter().flat_map(|recipe| &recipe.params).filter(|param| param.name == name).collect();
        if params.is_empty() {
            let known: Vec<String> =
                recipes.iter().flat_map(|recipe| &recipe.params).map(|param| format!("`{}`", param.name)).collect();
            bail!("`--set {given}`: no such parameter here\nhint: there are {}", known.join(", "));
        }
        for param in params {
            let value = if param.list {
                Value::List(text.split(',').map(str::trim).filter(|item| !item.is_empty()).map(str::to_owned).collect())
            } else {
                Value::Text(text.to_owned())
            };
            let Some(value) = param.kind.admit(&value, &param.choices) else {
                if param.choices.is_empty() {
                    bail!("`--set {given}`: this is not a {:?}", param.kind);
                }
                bail!("`--set {given}`: the value must be one of {}", param.choices.join(", "));
            };
            values.insert(name.to_owned(), value);
        }
    }
    Ok(values)
}
