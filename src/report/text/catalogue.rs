//! The catalogue, a recipe's page, and the operation log.

use crate::diff::bytes_for_reading;

use super::super::{CaseLine, Catalogue, CodePage, History, ParamLine, RecipePage, time, words};
use super::TextStyle;
use super::page::{BOLD, PLAIN, Page, framed, level};

/// Renders an error code's page.
pub fn render_code(code: &CodePage, style: &TextStyle) -> String {
    let mut page = Page::new(style);
    page.prose(BOLD, 0, &format!("{}: {}", code.id, code.title.get(style.lang)));
    page.say(PLAIN, 2, &framed(&code.meaning, |text| words::cause(text)));
    page.say(PLAIN, 2, &framed(&code.remedy, |text| words::remedy(text)));
    if let Some(recipe) = &code.recipe {
        page.say(PLAIN, 2, &words::code_recipe(recipe));
    }
    if !code.installed.is_empty() {
        page.say(PLAIN, 2, &words::code_installed());
        for line in &code.installed {
            let line = page.safe(line);
            page.line(PLAIN, 4, &line);
        }
    }
    page.say(PLAIN, 2, &words::code_source(&code.source));
    page.finish()
}

/// Renders the catalogue as a table.
pub fn render_catalogue(catalogue: &Catalogue, style: &TextStyle) -> String {
    let mut page = Page::new(style);
    if catalogue.recipes.is_empty() {
        page.say(PLAIN, 0, &words::no_recipes());
        return page.finish();
    }
    let rows: Vec<[String; 3]> = catalogue
        .recipes
        .iter()
        .map(|recipe| {
            let level = level(recipe.applicability).get(style.lang).to_owned();
            [recipe.id.clone(), level, recipe.title.get(style.lang).to_owned()]
        })
        .collect();
    page.table([words::column_id(), words::column_level(), words::column_title()], &rows);
    page.finish()
}

/// Renders everything that a recipe says to its users.
pub fn render_recipe(recipe: &RecipePage, style: &TextStyle) -> String {
    let mut page = Page::new(style);
    page.prose(BOLD, 0, &format!("{} {}: {}", recipe.id, recipe.slug, recipe.title.get(style.lang)));
    if !recipe.aliases.is_empty() {
        page.say(PLAIN, 0, &words::also(recipe.aliases.join(", ")));
    }
    page.say(PLAIN, 0, &framed_level(recipe));
    if let Some(why) = &recipe.why {
        page.say(PLAIN, 0, &framed(why, |text| words::why(text)));
    }
    page.blank();
    page.say(PLAIN, 0, &framed(&recipe.cause, |text| words::cause(text)));
    page.say(PLAIN, 0, &framed(&recipe.remedy, |text| words::remedy(text)));
    if let Some(departs) = &recipe.departs {
        page.say(PLAIN, 0, &framed(departs, |text| words::departs(text)));
    }
    if !recipe.cases.is_empty() {
        page.blank();
        page.say(BOLD, 0, &words::causes());
        recipe.cases.iter().for_each(|case| show_case(&mut page, case));
    }
    if !recipe.params.is_empty() {
        page.blank();
        page.say(BOLD, 0, &words::params());
        recipe.params.iter().for_each(|param| show_param(&mut page, param));
    }
    if !recipe.references.is_empty() {
        page.blank();
        page.say(BOLD, 0, &words::references());
        for reference in &recipe.references {
            let reference = page.safe(reference);
            page.line(PLAIN, 2, &reference);
        }
    }
    page.finish()
}

fn framed_level(recipe: &RecipePage) -> crate::recipe::Text {
    framed(&level(recipe.applicability), |text| words::level(text))
}

fn show_case(page: &mut Page<'_>, case: &CaseLine) {
    let heading = words::case(&case.name, level(case.applicability).get(page.style.lang));
    page.say(PLAIN, 2, &heading);
    page.say(PLAIN, 4, &case.says);
    let steps = if case.steps.is_empty() { words::advice_only() } else { words::steps(case.steps.join(", ")) };
    page.say(PLAIN, 4, &steps);
}

fn show_param(page: &mut Page<'_>, param: &ParamLine) {
    page.prose(PLAIN, 2, &param.name);
    if let Some(help) = &param.help {
        page.say(PLAIN, 4, help);
    }
    if !param.choices.is_empty() {
        page.say(PLAIN, 4, &words::one_of(param.choices.join(", ")));
    }
}

/// Renders the operation log as a table, newest first.
pub fn render_history(history: &History, style: &TextStyle) -> String {
    let mut page = Page::new(style);
    if history.groups.is_empty() {
        page.say(PLAIN, 0, &words::no_history());
        return page.finish();
    }
    let rows: Vec<[String; 7]> = history
        .groups
        .iter()
        .map(|group| {
            [
                group.id.clone(),
                time::short(group.time),
                serde_json::to_string(&group.outcome).expect("a word serialises").replace('"', ""),
                group.changes.to_string(),
                bytes_for_reading(group.bytes),
                group.recipes.join(" "),
                group.folder.clone(),
            ]
        })
        .collect();
    let heads = [
        words::column_id(),
        words::column_time(),
        words::column_outcome(),
        words::column_changes(),
        words::column_kept(),
        words::column_issues(),
        words::column_folder(),
    ];
    page.table(heads, &rows);
    page.finish()
}
