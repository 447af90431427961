//! `fix list` and `fix show`: the catalogue.

use anyhow::Result;

use super::args::{List, Show};
use super::output;
use super::reading::recipe_of;
use super::selecting;
use super::session::Session;
use crate::recipe::Text;
use crate::recipe::catalogue::{Catalogue, Entry};
use crate::report::{self, CatalogueLine, RecipePage};

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
    let recipes = catalogue
        .entries()
        .iter()
        .filter(holds)
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

/// Explains known issues.
pub fn show(args: &Show, session: &Session) -> Result<u8> {
    let catalogue = Catalogue::embedded();
    let pages: Vec<RecipePage> = selecting::entries(&catalogue, &args.issues)?
        .into_iter()
        .map(|entry| Ok(RecipePage::of(&recipe_of(entry, session)?)))
        .collect::<Result<_>>()?;
    for (at, page) in pages.iter().enumerate() {
        if session.common.json {
            output::hand_out(report::json::render(page).as_bytes());
            continue;
        }
        if at > 0 {
            output::show("\n");
        }
        output::show(&report::text::render_recipe(page, &session.text_style()));
    }
    Ok(0)
}
