//! Reads a recipe file. What is wrong with it is told with line, column and a hint, all of it in one go.

use toml_edit::Document;

use super::check::{self, Rules};
use super::reader::Reader;
use super::source::{RecipeError, Source};
use super::{
    Applicability, Audit, Case, CaseVerdict, Check, Each, Param, ParamKind, ParamSource, Probe, Recipe, Role, Side,
    Signature, Stage, Step, Vocabulary,
};

/// No recipe is longer; a file that is was not written by hand.
pub const LONGEST_FILE: usize = 256 * 1024;

/// Lines that a match spans unless the signature says otherwise.
const DEFAULT_LINES: u32 = 8;

const APPLICABILITIES: &[(&str, Applicability)] =
    &[("manual", Applicability::Manual), ("confirm", Applicability::Confirm), ("safe", Applicability::Safe)];
const PARAM_KINDS: &[(&str, ParamKind)] = &[
    ("text", ParamKind::Text),
    ("path", ParamKind::Path),
    ("url", ParamKind::Url),
    ("port", ParamKind::Port),
    ("version", ParamKind::Version),
];
const SIDES: &[(&str, Side)] = &[("around", Side::Around), ("before", Side::Before), ("after", Side::After)];
const ROLES: &[(&str, Role)] = &[("required", Role::Required), ("supporting", Role::Supporting), ("veto", Role::Veto)];
const VERDICTS: &[(&str, CaseVerdict)] = &[
    ("certain", CaseVerdict::Certain),
    ("likely", CaseVerdict::Likely),
    ("possible", CaseVerdict::Possible),
    ("refuted", CaseVerdict::Refuted),
];
const STAGES: &[(&str, Stage)] = &[("static", Stage::Static), ("rerun", Stage::Rerun)];

/// Reads a recipe and checks all of it.
///
/// `file_name` is what messages show; its last part without `.toml` must be the recipe's id.
pub fn parse(file_name: &str, text: &str, vocabulary: &Vocabulary) -> Result<Recipe, Vec<RecipeError>> {
    let rules = Rules { anchors: vocabulary.anchors, vocabulary: Some(vocabulary) };
    load(file_name, text, &rules).map(|loaded| loaded.recipe)
}

/// Reads a recipe that was checked before: when this program was built and its recipes were tested, or when its folder
/// was taken into the catalogue. The checks take longer than the reading.
pub fn read_checked(file_name: &str, text: &str) -> Result<Recipe, Vec<RecipeError>> {
    let source = Source::new(file_name, text);
    let Some(document) = document(&source, text) else { return Err(source.take_errors()) };
    let recipe = read(Reader::root(&source, document.as_table()));
    let errors = source.take_errors();
    if errors.is_empty() { Ok(recipe) } else { Err(errors) }
}

/// A recipe together with its source, so that later checks can still point into it.
#[derive(Debug)]
pub struct Loaded<'t> {
    pub recipe: Recipe,
    /// Anchors of every alternative of every signature.
    pub anchors: Vec<Vec<Vec<String>>>,
    pub source: Source<'t>,
}

/// Reads a recipe and checks what the rules allow to check; without a vocabulary, questions and verbs are taken
/// on trust.
pub fn load<'t>(file_name: &'t str, text: &'t str, rules: &Rules<'_>) -> Result<Loaded<'t>, Vec<RecipeError>> {
    let source = Source::new(file_name, text);
    if text.len() > LONGEST_FILE {
        let message = format!("the file has {} bytes, more than the {LONGEST_FILE} that a recipe may have", text.len());
        source.complain_at(0, message, "is this a recipe? split it by issue");
        return Err(source.take_errors());
    }
    let Some(document) = document(&source, text) else { return Err(source.take_errors()) };
    let recipe = read(Reader::root(&source, document.as_table()));
    // With a field missing or of a wrong type, further complaints would only be about what stands in its place.
    let anchors = if source.is_complete() { check::check(&recipe, &source, rules) } else { Vec::new() };
    let errors = source.take_errors();
    if errors.is_empty() { Ok(Loaded { recipe, anchors, source }) } else { Err(errors) }
}

fn document<'t>(source: &Source<'_>, text: &'t str) -> Option<Document<&'t str>> {
    Document::parse(text)
        .inspect_err(|error| {
            let at = error.span().map_or(text.len(), |span| span.start);
            source.complain_at(at, error.message().trim_end(), "this is not valid TOML; see https://toml.io");
        })
        .ok()
}

fn read(mut file: Reader<'_, '_>) -> Recipe {
    let applicability = file.word("applicability", APPLICABILITIES);
    let recipe = Recipe {
        id: file.text("id"),
        slug: file.text("slug"),
        aliases: file.texts("aliases"),
        family: file.text("family"),
        applicability,
        why: file.optional_bilingual("why"),
        title: file.bilingual("title"),
        cause: file.bilingual("cause"),
        remedy: file.bilingual("remedy"),
        departs: file.optional_bilingual("departs"),
        references: file.texts("references"),
        symptoms: file.tables("symptoms").into_iter().map(Reader::into_text).collect(),
        masks: file.texts("masks"),
        only_here: file.flag("only_here"),
        audit: file.optional_table("audit").map(read_audit),
        params: file.tables("param").into_iter().map(read_param).collect(),
        signatures: file.tables("signature").into_iter().map(read_signature).collect(),
        probes: file.tables("probe").into_iter().map(read_probe).collect(),
        cases: file.tables("case").into_iter().map(|case| read_case(case, applicability)).collect(),
    };
    file.finish();
    recipe
}

fn read_audit(mut table: Reader<'_, '_>) -> Audit {
    let cases = table.words("cases");
    let (param, of) = (table.optional_text("each"), table.optional_text("of"));
    // One without the other, or a value without a dot, leaves something empty: the check names it.
    let each = (param.is_some() || of.is_some()).then(|| {
        let of = of.unwrap_or_default();
        let (probe, value) = of.split_once('.').unwrap_or((&of, ""));
        Each { param: param.unwrap_or_default(), probe: probe.to_owned(), value: value.to_owned() }
    });
    table.finish();
    Audit { cases, each }
}

fn read_param(mut table: Reader<'_, '_>) -> Param {
    let mut from = Vec::new();
    from.extend(table.optional_text("capture").map(ParamSource::Capture));
    from.extend(table.optional_text("probe").map(|text| {
        // Without a dot the value is empty, which no question gives: the check names what it does give.
        let (probe, value) = text.split_once('.').unwrap_or((&text, ""));
        ParamSource::Probe { probe: probe.to_owned(), value: value.to_owned() }
    }));
    from.extend(table.optional_text("env").map(ParamSource::Env));
    from.extend(table.optional_text("default").map(ParamSource::Default));
    let param = Param {
        name: table.text("name"),
        kind: table.word("type", PARAM_KINDS),
        list: table.flag("list"),
        identifying: table.flag("identifying"),
        from,
        choices: table.texts("choices"),
        help: table.optional_bilingual("help"),
    };
    table.finish();
    param
}

fn read_signature(mut table: Reader<'_, '_>) -> Signature {
    let role = table.word("role", ROLES);
    // Only a veto has a reach: elsewhere `side` is no field, and no match spans less than a line.
    let is_veto = role == Role::Veto;
    let signature = Signature {
        role,
        any: table.texts("any"),
        lines: table.number("lines", u32::from(!is_veto)..=200, DEFAULT_LINES),
        side: if is_veto { table.optional_word("side", SIDES) } else { None }.unwrap_or(Side::Around),
    };
    table.finish();
    signature
}

fn read_probe(mut table: Reader<'_, '_>) -> Probe {
    let name = table.text("name");
    let (question, args) = match table.required_table("ask") {
        Some(ask) => ask.into_named("question"),
        None => Default::default(),
    };
    table.finish();
    Probe { name, question, args }
}

fn read_case(mut table: Reader<'_, '_>, most: Applicability) -> Case {
    let case = Case {
        name: table.text("name"),
        when: table.optional_table("when").map(Reader::into_words).unwrap_or_default(),
        verdict: table.word("verdict", VERDICTS),
        applicability: table.optional_word("applicability", APPLICABILITIES).unwrap_or(most),
        title: table.optional_bilingual("title"),
        remedy: table.optional_bilingual("remedy"),
        says: table.required_table("says").map(Reader::into_text_template).unwrap_or_default(),
        steps: table.tables("step").into_iter().map(read_step).collect(),
        advice: table.tables("advice").into_iter().map(Reader::into_text_template).collect(),
        verify: table.tables("verify").into_iter().map(read_check).collect(),
    };
    table.finish();
    case
}

fn read_step(mut table: Reader<'_, '_>) -> Step {
    let only_if = table.optional_table("only_if").map(Reader::into_words).unwrap_or_default();
    let (verb, args) = table.into_named("verb");
    Step { verb, args, only_if }
}

fn read_check(mut table: Reader<'_, '_>) -> Check {
    let check = Check {
        probe: table.text("probe"),
        is: table.words("is"),
        stage: table.optional_word("stage", STAGES).unwrap_or(Stage::Static),
    };
    table.finish();
    check
}
