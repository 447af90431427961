//! The reference of questions, verbs and recipes, as markdown.

use std::fmt::Write as _;

use super::catalogue::Catalogue;
use super::vocabulary::ArgTerm;
use super::{Applicability, CaseVerdict, Recipe, RecipeError, Text, UNKNOWN, Vocabulary};

/// Where the reference lies in the repository.
pub const PATH: &str = "docs/recipes.md";

/// Whether a reference that was rendered before still holds.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Freshness {
    Fresh,
    /// The first line that differs, 1-based: what stands there and what should.
    Stale {
        line: usize,
        found: String,
        expected: String,
    },
}

/// Renders the reference. Equal input gives equal bytes.
pub fn render(vocabulary: &Vocabulary, catalogue: &Catalogue) -> Result<String, Vec<RecipeError>> {
    let mut recipes = Vec::new();
    let mut mistakes = Vec::new();
    for entry in catalogue.entries() {
        match entry.recipe(vocabulary) {
            Ok(recipe) => recipes.push(recipe),
            Err(errors) => mistakes.extend(errors),
        }
    }
    if !mistakes.is_empty() {
        return Err(mistakes);
    }
    let mut page = Page(String::new());
    page.line("<!-- Written by `fix recipe docs`. Do not edit: change the recipe, question or verb. -->");
    page.line("# Recipes, questions and verbs");
    page.line("[recipes/AUTHORING.md](../recipes/AUTHORING.md) says how a recipe is written.");
    questions(&mut page, vocabulary);
    verbs(&mut page, vocabulary);
    page.line("## Recipes");
    page.row(&["id", "slug", "title", "applicability"]);
    page.row(&["---", "---", "---", "---"]);
    for recipe in &recipes {
        let link = format!("[{0}](#{1})", recipe.id, anchor(&recipe.id));
        let slug = format!("`{}`", recipe.slug);
        page.row(&[&link, &slug, &recipe.title.en, applicability(recipe.applicability)]);
    }
    page.blank();
    for recipe in &recipes {
        describe(&mut page, recipe);
    }
    Ok(page.0.trim_end().to_owned() + "\n")
}

/// Compares a reference that was rendered before with what is rendered now.
pub fn compare(stored: &str, rendered: &str) -> Freshness {
    if stored == rendered {
        return Freshness::Fresh;
    }
    let mut stored_lines = stored.split('\n');
    let mut rendered_lines = rendered.split('\n');
    let mut line = 1;
    loop {
        match (stored_lines.next(), rendered_lines.next()) {
            (Some(found), Some(expected)) if found == expected => line += 1,
            (found, expected) => {
                let owned = |line: Option<&str>| line.unwrap_or_default().to_owned();
                return Freshness::Stale { line, found: owned(found), expected: owned(expected) };
            }
        }
    }
}

fn questions(page: &mut Page, vocabulary: &Vocabulary) {
    page.line("## Questions");
    page.line(&format!("Every question can also answer `{UNKNOWN}`: it cannot be found out here."));
    let mut questions: Vec<_> = vocabulary.questions.iter().collect();
    questions.sort_by_key(|question| question.name);
    for question in questions {
        page.line(&format!("### `{}`", question.name));
        page.line(question.about);
        page.line(&format!("Answers: {}.", codes(&question.answers)));
        if !question.values.is_empty() {
            page.line(&format!("Values: {}.", codes(&question.values)));
        }
        args(page, &question.args);
    }
}

fn verbs(page: &mut Page, vocabulary: &Vocabulary) {
    page.line("## Verbs");
    let mut verbs: Vec<_> = vocabulary.verbs.iter().collect();
    verbs.sort_by_key(|verb| verb.name);
    for verb in verbs {
        page.line(&format!("### `{}`", verb.name));
        page.line(verb.about);
        args(page, &verb.args);
    }
}

fn args(page: &mut Page, args: &[ArgTerm]) {
    if args.is_empty() {
        return;
    }
    page.row(&["argument", "", "about"]);
    page.row(&["---", "---", "---"]);
    for arg in args {
        let name = format!("`{}`", arg.name);
        page.row(&[&name, if arg.required { "required" } else { "optional" }, arg.about]);
    }
    page.blank();
}

fn describe(page: &mut Page, recipe: &Recipe) {
    page.line(&format!("### {}", recipe.id));
    page.line(&format!("**{}** · {}", one_line(&recipe.title.en), one_line(&recipe.title.zh)));
    let mut facts = format!(
        "`{}` · family `{}` · applicability {}",
        recipe.slug,
        recipe.family,
        applicability(recipe.applicability)
    );
    for (label, names) in [("also", &recipe.aliases), ("masks", &recipe.masks)] {
        if !names.is_empty() {
            facts.push_str(&format!(" · {label} {}", codes(names)));
        }
    }
    page.line(&facts);
    let texts = [
        ("Cause", "原因", Some(&recipe.cause)),
        ("Remedy", "解决办法", Some(&recipe.remedy)),
        ("Why not `safe`", "为何不是 `safe`", recipe.why.as_ref()),
        ("Departs from the reference", "与参考资料不同之处", recipe.departs.as_ref()),
    ];
    for (en, zh, text) in texts {
        let Some(Text { en: in_english, zh: in_chinese }) = text else { continue };
        page.item(&format!("{en}: {}", one_line(in_english)));
        page.item(&format!("{zh}：{}", one_line(in_chinese)));
    }
    page.blank();
    page.row(&["case", "verdict", "applicability", "steps"]);
    page.row(&["---", "---", "---", "---"]);
    for case in &recipe.cases {
        let steps: Vec<&str> = case.steps.iter().map(|step| step.verb.as_str()).collect();
        let steps = if steps.is_empty() { "advice".to_owned() } else { codes(&steps) };
        page.row(&[&case.name, verdict(case.verdict), applicability(case.applicability), &steps]);
    }
    page.blank();
    for reference in &recipe.references {
        page.item(&format!("see {}", one_line(reference)));
    }
    page.blank();
}

fn applicability(applicability: Applicability) -> &'static str {
    match applicability {
        Applicability::Manual => "manual",
        Applicability::Confirm => "confirm",
        Applicability::Safe => "safe",
    }
}

fn verdict(verdict: CaseVerdict) -> &'static str {
    match verdict {
        CaseVerdict::Certain => "certain",
        CaseVerdict::Likely => "likely",
        CaseVerdict::Possible => "possible",
        CaseVerdict::Refuted => "refuted",
    }
}

fn codes(names: &[impl AsRef<str>]) -> String {
    names.iter().map(|name| format!("`{}`", name.as_ref())).collect::<Vec<_>>().join(", ")
}

/// The name that markdown renderers give to a heading: without dots.
fn anchor(id: &str) -> String {
    id.replace('.', "")
}

fn one_line(text: &str) -> String {
    text.split_whitespace().collect::<Vec<_>>().join(" ")
}

/// Markdown under way.
struct Page(String);

impl Page {
    fn line(&mut self, text: &str) {
        self.blank();
        writeln!(self.0, "{text}\n").expect("writing to a String cannot fail");
    }

    fn item(&mut self, text: &str) {
        writeln!(self.0, "- {text}").expect("writing to a String cannot fail");
    }

    fn row(&mut self, cells: &[&str]) {
        let cells: Vec<String> = cells.iter().map(|cell| one_line(cell).replace('|', "\\|")).collect();
        writeln!(self.0, "| {} |", cells.join(" | ")).expect("writing to a String cannot fail");
    }

    fn blank(&mut self) {
        if !self.0.is_empty() && !self.0.ends_with("\n\n") {
            self.0.push('\n');
        }
    }
}

#[cfg(test)]
mod tests {
    use super::super::samples::{RECIPE, vocabulary};
    use super::*;

    #[test]
    fn renders_what_there_is_and_notices_what_is_stale() {
        let folder = tempfile::tempdir().unwrap();
        std::fs::write(folder.path().join("tda-1.9.toml"), RECIPE).unwrap();
        let catalogue = Catalogue::from_folder(folder.path(), &vocabulary()).unwrap();
        let mut reversed = vocabulary();
        reversed.questions.reverse();
        let page = render(&vocabulary(), &catalogue).unwrap();
        assert_eq!(page, render(&reversed, &catalogue).unwrap());
        for expected in [
            "\n### `llvm_pair`\n\nCompares LLVM and LLD.\n\nAnswers: `consistent`, `stale`, `mismatch`.\n\nValues: `dir`.\n",
            "\n| `path` | required | a folder |\n",
            "\n| [tda-1.9](#tda-19) | `llvmcgdata-residue` | LLVM targets are missing | confirm |\n",
            "\n- 原因：缓存来自另一个 LLVM。\n",
            "\n| stale-cache | certain | confirm | `set_aside_tree` |\n",
            "\n| mismatch | likely | manual | advice |\n",
        ] {
            assert!(page.contains(expected), "{expected}\n{page}");
        }
        assert!(!page.contains("\n\n\n"), "{page}");
        assert_eq!(compare(&page, &page), Freshness::Fresh);
        let stale = page.replace("Compares", "Compared");
        let Freshness::Stale { line, found, expected } = compare(&stale, &page) else { panic!("it is stale") };
        assert_eq!(page.lines().nth(line - 1), Some(expected.as_str()));
        assert_eq!(found, "Compared LLVM and LLD.");
        assert_ne!(compare(page.trim_end(), &page), Freshness::Fresh);
    }
}
