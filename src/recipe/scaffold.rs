//! The first file of a new recipe, and the folders of its fixtures.

use std::path::PathBuf;

use super::catalogue::{Catalogue, Found};
use super::names::RESERVED;

/// What `fix recipe new` lays down. Paths are relative to the repository.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Scaffold {
    /// `recipes/<id>.toml` and its text, which passes lint as it is.
    pub recipe: (PathBuf, String),
    /// Files of the fixtures, with their texts.
    pub files: Vec<(PathBuf, String)>,
    /// Folders of the fixtures.
    pub folders: Vec<PathBuf>,
}

/// Why there is no scaffold for an id.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum ScaffoldError {
    #[error("`{0}` is no id: use lower-case letters, digits, `-` and `.`, a letter first and no `-` last")]
    BadId(String),
    #[error("`{0}` is a subcommand of `fix`")]
    Reserved(String),
    #[error("`{id}` is a name of recipe `{owner}` already")]
    Taken { id: String, owner: String },
}

/// Stands in the new recipe's signature and in the log of its first fixture.
const SAMPLE: &str = "replace this by words that only this issue prints";

/// Makes a new recipe.
pub fn scaffold(id: &str, catalogue: &Catalogue) -> Result<Scaffold, ScaffoldError> {
    let fits = |c: char| c.is_ascii_lowercase() || c.is_ascii_digit() || matches!(c, '-' | '.');
    let shape = id.starts_with(|c: char| c.is_ascii_lowercase()) && id.ends_with(|c: char| c.is_ascii_alphanumeric());
    if !shape || !id.chars().all(fits) || id.contains("--") || id.contains("..") || id.len() > 64 {
        return Err(ScaffoldError::BadId(id.to_owned()));
    }
    if RESERVED.contains(&id) {
        return Err(ScaffoldError::Reserved(id.to_owned()));
    }
    let slug = format!("{}-symptom", id.replace('.', "-"));
    for name in [id, &slug] {
        // A section number or a shared beginning is no name: only what a recipe is really called counts.
        if let Found::One(entry) = catalogue.find(name)
            && entry.names().any(|known| known.eq_ignore_ascii_case(name))
        {
            return Err(ScaffoldError::Taken { id: name.to_owned(), owner: entry.id.to_string() });
        }
    }
    let family = id.split('-').next().unwrap_or(id).replace('.', "-");
    let fixture = |case: &str| PathBuf::from("fixtures").join(id).join(case);
    let log = format!("building\nerror: {SAMPLE}: something\n");
    let look_alike = "building\nerror: a message that looks like it and has another cause\n".to_owned();
    Ok(Scaffold {
        recipe: (PathBuf::from(format!("recipes/{id}.toml")), text(id, &slug, &family)),
        files: vec![
            (fixture("first").join("log.txt"), log),
            // git keeps no empty folder, and without `before` only the log speaks.
            (fixture("first").join("before/.keep"), String::new()),
            (fixture("not-look-alike").join("log.txt"), look_alike),
            (fixture("first").join("case.toml"), CASE.to_owned()),
        ],
        folders: Vec::new(),
    })
}

fn text(id: &str, slug: &str, family: &str) -> String {
    TEMPLATE.replace("@ID@", id).replace("@SLUG@", slug).replace("@FAMILY@", family).replace("@SAMPLE@", SAMPLE)
}

/// Beside the first fixture's log: a recipe that takes another case there does not pass.
const CASE: &str =
    "# The case of the recipe that must be taken here; \"\" where the recipe must not fire.\nexpect = \"unclear\"\n";

const TEMPLATE: &str = r#"# recipes/AUTHORING.md explains every field; docs/recipes.md lists the questions and verbs.
# `fix recipe lint recipes/@ID@.toml` checks this file, `fix recipe test @ID@` runs its fixtures.

id = "@ID@"
# Names the symptom, not the cure.
slug = "@SLUG@"
aliases = []
family = "@FAMILY@"
# The most that may be done on this recipe's word: manual (advice only), confirm (after a yes), safe.
applicability = "manual"
# Ids of recipes whose findings this one explains.
masks = []
references = []

[title]
en = "To do: the symptom in one line"
zh = "待写：用一句话描述现象"

[cause]
en = "To do: what is wrong, in general."
zh = "待写：一般来说哪里出了问题。"

[remedy]
en = "To do: what helps, in general."
zh = "待写：一般来说如何解决。"

# Only where the repair departs from the reference.
# [departs]
# en = "To do: where and why."
# zh = "待写：何处不同，为什么。"

# Required unless applicability is `safe`.
[why]
en = "To do: why a person must decide."
zh = "待写：为什么需要人来决定。"

# A value found by `capture`, `probe`, `env` or `default`, tried in this order; `--set` goes first.
[[param]]
name = "detail"
type = "text"
identifying = true
capture = "detail"

# `required`: must be in the log. `supporting`: adds parameters. `veto`: the recipe does not apply.
# A space matches a line break and its indentation, too.
[[signature]]
role = "required"
any = ['''@SAMPLE@: (?P<detail>\S+)''']

# A question to this machine, asked in this order; a probe may use parameters and earlier probes.
# [[probe]]
# name = "tree"
# ask = { cmake_tree = { hint = "${detail}" } }

# The first case whose `when` holds is taken. A case with steps needs the machine's word and a proof:
# [[case]]
# name = "stale-cache"
# when = { tree = ["found"] }
# verdict = "certain"
# says = { en = "`${tree.path}` is stale", zh = "`${tree.path}` 已过时" }
#
# [[case.step]]
# set_aside_tree = { path = "${tree.path}" }
#
# [[case.verify]]
# probe = "tree"
# is = ["none"]

# The last case takes what nothing above could tell: advice only.
[[case]]
name = "unclear"
verdict = "possible"
says = { en = "to do: what the log says about ${detail}", zh = "待写：日志对 ${detail} 的说明" }
advice = [{ en = "To do: what the user can do.", zh = "待写：用户可以做什么。" }]
"#;

#[cfg(test)]
mod tests {
    use super::super::lint;
    use super::super::samples::vocabulary;
    use super::*;

    #[test]
    fn a_new_recipe_passes_lint_and_fits_its_fixture() {
        for id in ["pip-no-module", "tda-9.9", "x", "tda-9.9b"] {
            let Scaffold { recipe: (path, text), files, folders } = scaffold(id, &Catalogue::embedded()).unwrap();
            assert_eq!(path.to_str(), Some(format!("recipes/{id}.toml").as_str()));
            assert_eq!(lint::lint_text(&path.to_string_lossy(), &text, &vocabulary()), [], "{id}");
            let recipe = super::super::parse(path.to_str().unwrap(), &text, &vocabulary()).unwrap();
            let signature = regex::Regex::new(&recipe.signatures[0].any[0]).unwrap();
            assert!(signature.is_match(&files[0].1));
            assert!(!signature.is_match(&files[1].1));
            assert!(folders.iter().all(|folder| folder.starts_with(format!("fixtures/{id}/first"))));
        }
    }

    #[test]
    fn what_the_comments_offer_passes_lint() {
        let Scaffold { recipe: (path, text), .. } = scaffold("x-y", &Catalogue::embedded()).unwrap();
        let (mut uncommented, mut taken) = (String::new(), false);
        for line in text.lines() {
            // A commented block starts with a table's header and ends with the comment.
            taken = line.starts_with("# [") || (taken && line.starts_with('#'));
            let line = if taken { line.trim_start_matches('#').trim_start() } else { line };
            uncommented.push_str(line);
            uncommented.push('\n');
        }
        let uncommented = uncommented.replace("applicability = \"manual\"", "applicability = \"confirm\"");
        assert_eq!(uncommented.matches("[[case.verify]]").count(), 1);
        assert_eq!(lint::lint_text(&path.to_string_lossy(), &uncommented, &vocabulary()), []);
    }

    #[test]
    fn what_authoring_md_shows_passes_lint() {
        let guide = include_str!("../../recipes/AUTHORING.md");
        let shown: Vec<&str> = guide.split("```toml\n").skip(1).map(|rest| rest.split("```").next().unwrap()).collect();
        let [signature, probe] = shown.as_slice() else { panic!("the guide has {} examples", shown.len()) };
        let Scaffold { recipe: (path, text), .. } = scaffold("x-y", &Catalogue::embedded()).unwrap();
        let head = &text[..text.find("# A value found by").unwrap()];
        let case = text[text.find("# The last case").unwrap()..].replace("${detail}", "${generator} and ${tree.path}");
        let text = format!("{head}{signature}\n{probe}\n{case}");
        assert_eq!(lint::lint_text(&path.to_string_lossy(), &text, &vocabulary()), []);
    }

    #[test]
    fn bad_ids_are_refused() {
        for id in ["", "A", "-a", "a-", "a/b", "../a", "a..b", "a--b", "ä", "9a", "a b"] {
            assert_eq!(scaffold(id, &Catalogue::embedded()), Err(ScaffoldError::BadId(id.to_owned())));
        }
        assert_eq!(scaffold("run", &Catalogue::embedded()), Err(ScaffoldError::Reserved("run".into())));
    }
}
