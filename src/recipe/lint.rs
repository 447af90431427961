//! What a good recipe keeps to beyond what loading one demands: order, names, telling signatures, both languages.

use std::collections::BTreeSet;
use std::path::Path;

use super::catalogue::{FolderError, read_file, read_folder};
use super::check::Rules;
use super::nearest::{quoted, suggest};
use super::parse::{self, Loaded};
use super::{CaseVerdict, ParamSource, Recipe, RecipeError, Template, UNKNOWN, Vocabulary, names, signatures};

/// The order of fields at the top of a file.
const TOP_ORDER: &[&str] = &[
    "id",
    "slug",
    "aliases",
    "family",
    "applicability",
    "masks",
    "only_here",
    "references",
    "symptoms",
    "title",
    "cause",
    "remedy",
    "departs",
    "why",
    "audit",
    "param",
    "signature",
    "probe",
    "case",
];

/// The order of fields in a case.
const CASE_ORDER: &[&str] =
    &["name", "when", "verdict", "applicability", "title", "remedy", "says", "advice", "step", "verify"];

/// Checks all recipes of a folder and how they go together, or one file and how it goes with those beside it.
/// Returns mistakes in the order of the files.
pub fn lint_path(path: &Path, vocabulary: &Vocabulary) -> Result<Vec<RecipeError>, FolderError> {
    if path.is_dir() {
        let files = read_folder(path)?;
        return Ok(lint(files.iter().map(|(file, text)| (file.as_str(), text.as_str())), vocabulary));
    }
    let text = read_file(path).map_err(|source| FolderError::Read { path: path.to_owned(), source })?;
    let file = path.display().to_string();
    let folder = path.parent().filter(|folder| !folder.as_os_str().is_empty()).unwrap_or(Path::new("."));
    // What cannot be read beside it is not this file's fault.
    let mut beside = read_folder(folder).unwrap_or_default();
    beside.retain(|other, _| Path::new(other).file_name() != path.file_name());
    // Of two recipes with one name the last is blamed: that must be this one.
    let all = beside.iter().map(|(file, text)| (file.as_str(), text.as_str())).chain([(file.as_str(), text.as_str())]);
    let mut mistakes = lint(all, vocabulary);
    mistakes.retain(|mistake| mistake.file == file);
    Ok(mistakes)
}

/// Checks one recipe.
pub fn lint_text(file: &str, text: &str, vocabulary: &Vocabulary) -> Vec<RecipeError> {
    match parse::load(file, text, &rules(vocabulary)) {
        Ok(loaded) => style(&loaded, vocabulary),
        Err(mistakes) => mistakes,
    }
}

/// Checks recipes that are all there are: their names must be unique and their masks must exist.
pub fn lint<'t>(files: impl IntoIterator<Item = (&'t str, &'t str)>, vocabulary: &Vocabulary) -> Vec<RecipeError> {
    let mut mistakes = Vec::new();
    let mut loaded = Vec::new();
    let mut ids = BTreeSet::new();
    for (file, text) in files {
        // A recipe that is broken for now still counts as there.
        ids.extend(Path::new(file).file_stem().map(|stem| stem.to_string_lossy().into_owned()));
        match parse::load(file, text, &rules(vocabulary)) {
            Ok(recipe) => loaded.push(recipe),
            Err(errors) => mistakes.extend(errors),
        }
    }
    for recipe in &loaded {
        mistakes.extend(style(recipe, vocabulary));
        for (at, mask) in recipe.recipe.masks.iter().enumerate().filter(|(_, mask)| !ids.contains(*mask)) {
            let hint = suggest(mask, ids.iter().map(String::as_str), "");
            mistakes.push(recipe.source.error(&format!("masks[{at}]"), format!("no recipe `{mask}`"), hint));
        }
    }
    mistakes.extend(names::clashes(loaded.iter().map(|loaded| (&loaded.recipe, &loaded.source))));
    mistakes.sort();
    mistakes
}

fn rules(vocabulary: &Vocabulary) -> Rules<'_> {
    Rules { anchors: vocabulary.anchors, vocabulary: Some(vocabulary) }
}

fn style(loaded: &Loaded<'_>, vocabulary: &Vocabulary) -> Vec<RecipeError> {
    order(loaded, "", TOP_ORDER);
    for index in 0..loaded.recipe.cases.len() {
        order(loaded, &format!("case[{index}]."), CASE_ORDER);
    }
    kebab(loaded);
    characters(loaded);
    texts(loaded);
    signatures::check(loaded, vocabulary.least_anchor);
    usage(loaded);
    loaded.source.take_errors()
}

/// Complains about fields that stand after fields they belong before.
fn order(loaded: &Loaded<'_>, prefix: &str, fields: &[&str]) {
    let source = &loaded.source;
    let mut places: Vec<(usize, usize)> = Vec::new();
    for (rank, field) in fields.iter().enumerate() {
        let path = format!("{prefix}{field}");
        // An array of tables has no place of its own: its tables have.
        let tables = (0..).map_while(|index| source.exact_place(&format!("{path}[{index}]")));
        let before = places.len();
        places.extend(tables.map(|place| (place.start, rank)));
        if places.len() == before {
            places.extend(source.exact_place(&path).map(|place| (place.start, rank)));
        }
    }
    places.sort_unstable();
    let mut furthest = 0;
    for (at, rank) in places {
        if rank < furthest {
            let hint = format!("the order is {}", quoted(fields.iter().copied(), ", "));
            source.complain_at(at, format!("`{}` stands after `{}`", fields[rank], fields[furthest]), hint);
        }
        furthest = furthest.max(rank);
    }
}

fn kebab(loaded: &Loaded<'_>) {
    let recipe = &loaded.recipe;
    let check = |path: &str, name: &str, also: &[char]| {
        let fits = |c: char| c.is_ascii_lowercase() || c.is_ascii_digit() || c == '-' || also.contains(&c);
        let shape = name.starts_with(|c: char| c.is_ascii_lowercase()) && !name.ends_with('-') && !name.contains("--");
        if !shape || !name.chars().all(fits) {
            let message = format!("`{name}` is not in lower-case kebab");
            loaded.source.complain(path, message, "write it like `missing-import-library`");
        }
    };
    check("id", &recipe.id, &['.']);
    check("slug", &recipe.slug, &[]);
    check("family", &recipe.family, &[]);
    for (at, alias) in recipe.aliases.iter().enumerate() {
        check(&format!("aliases[{at}]"), alias, &['.']);
    }
    for (at, case) in recipe.cases.iter().enumerate() {
        check(&format!("case[{at}].name"), &case.name, &[]);
    }
}

/// Complains about characters that make a file read otherwise than it is.
fn characters(loaded: &Loaded<'_>) {
    let hidden =
        |c: char| matches!(c, '\u{200b}'..='\u{200f}' | '\u{202a}'..='\u{202e}' | '\u{2060}'..='\u{206f}' | '\u{feff}');
    for (at, character) in loaded.source.text().char_indices().filter(|(_, character)| hidden(*character)) {
        let message = format!("a character that cannot be seen: U+{:04X}", u32::from(character));
        loaded.source.complain_at(at, message, "remove it");
    }
}

fn texts(loaded: &Loaded<'_>) {
    let recipe = &loaded.recipe;
    for path in loaded.source.paths() {
        let Some((field, lang)) = path.rsplit_once('.').filter(|(field, _)| is_bilingual(field)) else { continue };
        let place = loaded.source.place(&path);
        let raw = loaded.source.slice(place);
        let chinese = raw.chars().any(is_chinese);
        match lang {
            "zh" if !chinese && has_prose(raw) => {
                let hint = "write it in Chinese; a mere command goes into backticks";
                loaded.source.complain(&path, format!("`{path}` is not Chinese"), hint);
            }
            "en" if chinese => loaded.source.complain(&path, format!("`{path}` is not English"), "write it in English"),
            _ => {}
        }
        if matches!(field.rsplit('.').next(), Some("title" | "says")) && (raw.contains('\n') || raw.contains("\\n")) {
            let message = format!("`{path}` is more than one line");
            loaded.source.complain(&path, message, "keep it short; the rest belongs into `cause` or `advice`");
        }
        // Only what cases say is filled; elsewhere a variable would be shown as it stands.
        if !field.starts_with("case[") {
            for param in &recipe.params {
                let variable = format!("${{{}}}", param.name);
                if raw.contains(&variable) {
                    let message = format!("`{field}` cannot hold variables");
                    loaded.source.complain_about(&path, &variable, message, "say it in a case's `says` or `advice`");
                }
            }
        }
    }
}

/// Says whether a field holds `en` and `zh`; elsewhere these may be names of probes or arguments.
fn is_bilingual(field: &str) -> bool {
    let name = field.rsplit('.').next().unwrap_or(field);
    let name = name.split('[').next().unwrap_or(name);
    matches!(name, "title" | "cause" | "remedy" | "departs" | "why" | "help" | "says" | "advice")
}

fn is_chinese(c: char) -> bool {
    matches!(c, '\u{3400}'..='\u{9fff}' | '\u{20000}'..='\u{3ffff}')
}

/// Says whether there are letters outside of backticks.
fn has_prose(text: &str) -> bool {
    text.split('`').step_by(2).any(|outside| outside.chars().any(char::is_alphabetic))
}

/// Complains about questions that are asked for nothing, and about cases that leave the user alone or prove nothing.
fn usage(loaded: &Loaded<'_>) {
    let Loaded { recipe, source, .. } = loaded;
    for (index, probe) in recipe.probes.iter().enumerate() {
        if !is_probe_used(recipe, &probe.name) {
            let message = format!("probe `{}` is never used", probe.name);
            source.complain(&format!("probe[{index}].name"), message, "remove it, or tell cases apart by it");
        }
    }
    for (index, case) in recipe.cases.iter().enumerate() {
        if case.verdict != CaseVerdict::Refuted && case.steps.is_empty() && case.advice.is_empty() {
            let message = format!("case `{}` has neither steps nor advice", case.name);
            source.complain(&format!("case[{index}]"), message, "say what the user can do");
        }
        let told = |(name, words): (&String, &Vec<String>)| {
            recipe.probes.iter().any(|probe| probe.name == *name) && !words.iter().any(|word| word == UNKNOWN)
        };
        if !case.steps.is_empty() && !case.when.iter().any(told) {
            let message = format!("case `{}` has steps, and nothing that this machine says", case.name);
            let hint = "a repair needs positive evidence: put a probe into `when`, with answers other than `unknown`";
            source.complain(&format!("case[{index}]"), message, hint);
        }
        for (at, check) in case.verify.iter().enumerate() {
            let path = format!("case[{index}].verify[{at}].is");
            if check.is.iter().any(|word| word == UNKNOWN) {
                let message = format!("`{UNKNOWN}` proves nothing");
                source.complain(&path, message, "name answers that prove the repair");
            }
        }
    }
}

fn is_probe_used(recipe: &Recipe, name: &str) -> bool {
    let of_probe = |variable: &str| variable.split_once('.').is_some_and(|(probe, _)| probe == name);
    let in_params = recipe.params.iter().flat_map(|param| &param.from);
    let in_cases = |case: &super::Case| {
        let says = [&case.says.en, &case.says.zh].into_iter();
        let advice = case.advice.iter().flat_map(|advice| [&advice.en, &advice.zh]);
        let steps = case.steps.iter().flat_map(|step| step.args.values());
        case.when.contains_key(name)
            || case.verify.iter().any(|check| check.probe == name)
            || says.chain(advice).chain(steps).flat_map(Template::variables).any(of_probe)
    };
    in_params.into_iter().any(|source| matches!(source, ParamSource::Probe { probe, .. } if probe == name))
        || recipe.probes.iter().flat_map(|probe| probe.args.values()).flat_map(Template::variables).any(of_probe)
        || recipe.cases.iter().any(in_cases)
}
