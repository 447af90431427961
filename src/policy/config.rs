//! `fix.toml`: read whole, and every mistake told with its place.

use std::path::Path;

use toml_edit::Document;

use super::{Comments, FailOn, Policy, Suppression, matches_name};
use crate::recipe::RecipeError;
use crate::recipe::nearest::suggest;
use crate::recipe::reader::Reader;
use crate::recipe::source::Source;

/// The file's name, at the top of a work tree.
pub const FILE: &str = "fix.toml";

/// No configuration is longer.
pub const LONGEST: u64 = 1 << 20;

/// The words of `fail-on`.
pub const FAIL_ON: &[(&str, FailOn)] = &[
    ("possible", FailOn::Possible),
    ("likely", FailOn::Likely),
    ("certain", FailOn::Certain),
    ("never", FailOn::Never),
];
const COMMENTS: &[(&str, Comments)] = &[("honour", Comments::Honour), ("refuse", Comments::Refuse)];

/// Reads a configuration. `known` are all names of recipes; `file` is what messages show.
pub fn read(file: &str, text: &str, known: &[String]) -> Result<Policy, Vec<RecipeError>> {
    let source = Source::new(file, text);
    let document = match Document::parse(text) {
        Ok(document) => document,
        Err(error) => {
            let at = error.span().map_or(text.len(), |span| span.start);
            source.complain_at(at, error.message().trim_end(), "this is not valid TOML; see https://toml.io");
            return Err(source.take_errors());
        }
    };
    let mut top = Reader::root(&source, document.as_table());
    let mut policy = Policy::default();
    if let Some(mut audit) = top.optional_table("audit") {
        policy.select = audit.texts("select");
        policy.ignore = audit.texts("ignore");
        policy.fail_on = audit.optional_word("fail-on", FAIL_ON);
        policy.comments = audit.optional_word("comments", COMMENTS).unwrap_or_default();
        policy.baseline = audit.optional_text("baseline");
        audit.finish();
    }
    for (at, mut table) in top.tables("suppress").into_iter().enumerate() {
        let mut one = Suppression {
            id: table.text("id"),
            path: table.optional_text("path"),
            reason: table.text("reason"),
            expires: table.optional_day("expires"),
            stands_at: String::new(),
        };
        table.finish();
        let line = source.error(&format!("suppress[{at}].id"), "", "").line;
        one.stands_at = format!("{file}:{line}");
        policy.suppress.push(one);
    }
    top.finish();
    if source.is_complete() {
        names(&source, &policy, known);
    }
    let mistakes = source.take_errors();
    if mistakes.is_empty() { Ok(policy) } else { Err(mistakes) }
}

/// Complains about names that stand for no recipe: a typing error would suppress nothing, or select nothing.
fn names(source: &Source<'_>, policy: &Policy, known: &[String]) {
    let check = |path: &str, name: &str| {
        if !name.is_empty() && !known.iter().any(|known| matches_name(name, known)) {
            let hint = suggest(name, known.iter().map(String::as_str), "`fix list` lists the issues");
            source.complain(path, format!("`{name}` is no known issue"), hint);
        }
    };
    for (key, names) in [("select", &policy.select), ("ignore", &policy.ignore)] {
        for (at, name) in names.iter().enumerate() {
            check(&format!("audit.{key}[{at}]"), name);
        }
    }
    // It is read and written by this name: never outside of the work tree.
    let plain = |part| matches!(part, std::path::Component::Normal(_));
    if policy.baseline.as_ref().is_some_and(|path| path.is_empty() || !Path::new(path).components().all(plain)) {
        let hint = "a path below the folder of this file, without `..`";
        source.complain("audit.baseline", "the baseline is outside of the work tree", hint);
    }
    for (at, one) in policy.suppress.iter().enumerate() {
        check(&format!("suppress[{at}].id"), &one.id);
    }
}
