//! `fix list` and `fix show`: the catalogue.

use anyhow::Result;

use super::args::{List, Show};
use super::output;
use super::reading::recipe_of;
use super::selecting;
use super::session::Session;
use crate::evidence::cann_codes;
use crate::recipe::catalogue::{Catalogue, Entry};
use crate::recipe::codes::{self, Code};
use crate::recipe::{Recipe, Text};
use crate::report::{self, CatalogueLine, CodePage, RecipePage};

/// Lists the known issues; with a text, those that hold it.
pub fn list(args: &List, session: &Session) -> Result<u8> {
    let catalogue = Catalogue::embedded();
    let wanted = args.text.as_deref().unwrap_or_default().to_lowercase();
    let holds = |entry: &&Entry| {
        [&entry.id, &entry.slug, &entry.family, &entry.title_en, &entry.title_zh]
            .iter()
            .any(|text| text.to_lowercase().contains(&wanted))
            || entry.aliases.iter().any(|alias| alias.to_lowercase().contains(&wanted))
    };
    let mut entries: Vec<&Entry> = catalogue.entries().iter().filter(holds).collect();
    if let Some(search) = &args.search {
        let words: Vec<String> = search.split_whitespace().map(str::to_lowercase).collect();
        let mut found = Vec::new();
        for entry in entries {
            let text = everything(&recipe_of(entry)?);
            if words.iter().all(|word| text.contains(word)) {
                found.push(entry);
            }
        }
        entries = found;
    }
    let recipes = entries
        .into_iter()
        .map(|entry| CatalogueLine {
            id: entry.id.to_string(),
            slug: entry.slug.to_string(),
            aliases: entry.aliases.iter().map(ToString::to_string).collect(),
            applicability: entry.applicability,
            title: Text::new(&*entry.title_en, &*entry.title_zh),
        })
        .collect();
    let document = report::Catalogue { outcome: report::Outcome::Listed, recipes };
    if session.common.json {
        output::hand_out(report::json::render(&document).as_bytes());
    } else {
        output::show(&report::text::render_catalogue(&document, &session.text_style()));
    }
    Ok(0)
}

/// All that a recipe says to a reader, in lower case.
fn everything(recipe: &Recipe) -> String {
    let mut texts = vec![recipe.title.clone(), recipe.cause.clone(), recipe.remedy.clone()];
    texts.extend(recipe.departs.clone());
    texts.extend(recipe.symptoms.iter().cloned());
    for case in &recipe.cases {
        texts.push(case.says.outline());
        texts.extend(case.advice.iter().map(|advice| advice.outline()));
    }
    let names = [recipe.id.as_str(), &recipe.slug].into_iter().chain(recipe.aliases.iter().map(String::as_str));
    let said = texts.iter().flat_map(|text| [text.en.as_str(), text.zh.as_str()]);
    names.chain(said).collect::<Vec<_>>().join("\n").to_lowercase()
}

/// Explains known issues.
pub fn show(args: &Show, session: &Session) -> Result<u8> {
    let catalogue = Catalogue::embedded();
    let mut pages = Vec::new();
    for name in &args.issues {
        // A code first: no recipe's name looks like one.
        let page = match codes::find(name) {
            Some(code) => Page::Code(code_page(session, code)),
            None => Page::Recipe(RecipePage::of(&recipe_of(selecting::entry(&catalogue, name)?)?)),
        };
        pages.push(page);
    }
    if session.common.json {
        let text = match pages.as_slice() {
            [Page::Recipe(page)] => report::json::render(page),
            [Page::Code(page)] => report::json::render(page),
            pages => {
                let values = pages.iter().map(|page| match page {
                    Page::Recipe(page) => serde_json::to_value(page),
                    Page::Code(page) => serde_json::to_value(page),
                });
                let pages = values.collect::<Result<_, _>>()?;
                report::json::render(&report::Pages { outcome: report::Outcome::Listed, pages })
            }
        };
        output::hand_out(text.as_bytes());
        return Ok(0);
    }
    let style = session.text_style();
    for (at, page) in pages.iter().enumerate() {
        if at > 0 {
            output::show("\n");
        }
        output::show(&match page {
            Page::Recipe(page) => report::text::render_recipe(page, &style),
            Page::Code(page) => report::text::render_code(page, &style),
        });
    }
    Ok(0)
}

enum Page {
    Recipe(RecipePage),
    Code(CodePage),
}

/// Explains a code, with what the installed CANN says of it.
fn code_page(session: &Session, code: Code) -> CodePage {
    let installed = cann_codes::look_up(session.host(), &code.id).map(|entry| {
        let parts = [entry.title, entry.message, entry.cause, entry.solution, entry.file.display().to_string()];
        parts.iter().flat_map(|part| part.lines()).filter(|line| !line.is_empty()).map(str::to_owned).collect()
    });
    CodePage {
        id: code.id,
        title: code.title,
        meaning: code.meaning,
        remedy: code.remedy,
        recipe: code.recipe,
        source: code.source,
        installed: installed.unwrap_or_default(),
    }
}
