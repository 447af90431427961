//! The names under which a recipe is called: id, slug and aliases.

use std::collections::BTreeMap;

use super::Recipe;
use super::source::{RecipeError, Source};

/// Subcommands, present and reserved: `fix NAME` must never be in doubt.
pub const RESERVED: &[&str] = &[
    "apply",
    "audit",
    "completions",
    "demo",
    "diagnose",
    "env",
    "help",
    "history",
    "lint",
    "list",
    "man",
    "plan",
    "recipe",
    "report",
    "rollback",
    "run",
    "show",
    "version",
];

/// Checks a recipe's own names.
pub fn check(recipe: &Recipe, source: &Source<'_>) {
    let mut seen: Vec<String> = Vec::new();
    for (path, name) in all(recipe) {
        let lower = name.to_lowercase();
        if RESERVED.contains(&lower.as_str()) {
            source.complain(&path, format!("`{name}` is a subcommand of `fix`"), "choose another name");
        }
        if lower.starts_with('-') || lower.contains(|c: char| c.is_whitespace() || c.is_control() || c == '/') {
            let message = format!("`{name}` cannot be typed as an argument");
            source.complain(&path, message, "use letters, digits, `-` and `.`");
        }
        if seen.contains(&lower) {
            source.complain(&path, format!("the recipe is called `{name}` already"), "remove it");
        }
        seen.push(lower);
    }
}

/// Finds names that two recipes share; the later file gets the blame.
pub fn clashes<'r>(recipes: impl IntoIterator<Item = (&'r Recipe, &'r Source<'r>)>) -> Vec<RecipeError> {
    let mut owners: BTreeMap<String, &str> = BTreeMap::new();
    let mut errors = Vec::new();
    for (recipe, source) in recipes {
        for (path, name) in all(recipe) {
            match owners.get(&name.to_lowercase()) {
                Some(owner) => {
                    let message = format!("`{name}` is a name of recipe `{owner}` already");
                    errors.push(source.error(&path, message, "names are unique over all recipes: choose another"));
                }
                None => {
                    owners.insert(name.to_lowercase(), &recipe.id);
                }
            }
        }
    }
    errors
}

/// Lists a recipe's names with their places.
pub fn all(recipe: &Recipe) -> impl Iterator<Item = (String, &str)> {
    let aliases = recipe.aliases.iter().enumerate().map(|(at, alias)| (format!("aliases[{at}]"), alias.as_str()));
    [("id".to_owned(), recipe.id.as_str()), ("slug".to_owned(), recipe.slug.as_str())].into_iter().chain(aliases)
}
