//! Recipes that resemble a failure which none of them explains.

use std::collections::BTreeSet;

/// What a recipe is compared by.
pub struct Resemblance<'a> {
    pub id: &'a str,
    /// Its titles and expressions.
    pub texts: Vec<&'a str>,
}

/// Words that failures of all kinds share.
const EVERYWHERE: &[&str] = &[
    "error",
    "errors",
    "failed",
    "failure",
    "fatal",
    "cannot",
    "could",
    "found",
    "file",
    "files",
    "directory",
    "build",
    "building",
    "cmake",
    "python",
    "command",
    "status",
    "returned",
    "exit",
    "line",
    "module",
    "warning",
    "with",
    "such",
    "that",
    "this",
    "from",
    "which",
    "because",
    "while",
    "during",
    "after",
    "before",
    "lists",
    "cmakelists",
];

/// Fewer shared words are chance.
const LEAST: usize = 2;
/// More than this is no help.
const MOST: usize = 3;

/// Ranks recipes by the telling words that they share with the lines of a log; the closest first.
pub fn nearest<'a>(lines: &[&str], recipes: &[Resemblance<'a>]) -> Vec<&'a str> {
    let seen: BTreeSet<String> = lines.iter().flat_map(|line| words(line)).collect();
    let mut scored: Vec<(usize, &str)> = recipes
        .iter()
        .filter_map(|recipe| {
            let own: BTreeSet<String> = recipe.texts.iter().flat_map(|text| words(text)).collect();
            let shared = own.intersection(&seen).count();
            (shared >= LEAST).then_some((shared, recipe.id))
        })
        .collect();
    scored.sort_by(|a, b| b.0.cmp(&a.0).then(a.1.cmp(b.1)));
    scored.into_iter().take(MOST).map(|(_, id)| id).collect()
}

/// The words of a text that tell something, in lower case.
fn words(text: &str) -> impl Iterator<Item = String> {
    text.split(|c: char| !c.is_alphanumeric() && c != '_')
        .filter(|word| word.chars().count() >= 4 && !word.chars().all(|c| c.is_ascii_digit()))
        .map(str::to_lowercase)
        .filter(|word| !EVERYWHERE.contains(&word.as_str()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn shared_words_decide() {
        let recipes = [
            Resemblance { id: "cmake-a", texts: vec!["generator does not match", "Unix Makefiles"] },
            Resemblance { id: "cc-b", texts: vec!["linker flags"] },
        ];
        assert_eq!(nearest(&["error: generator Ninja does not MATCH"], &recipes), ["cmake-a"]);
        assert!(nearest(&["error: cannot find the file"], &recipes).is_empty());
    }
}
