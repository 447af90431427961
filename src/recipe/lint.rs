//! What a good recipe keeps to beyond what loading one demands: order, names, telling signatures, both languages.

use std::collections::BTreeSet;
use std::path::Path;

use regex_syntax::hir::{Hir, HirKind};

use super::catalogue::{FolderError, read_file, read_folder};
use super::check::{Rules, capture_names};
use super::nearest::{quoted, suggest};
use super::parse::{self, Loaded};
use super::{CaseVerdict, ParamSource, Recipe, RecipeError, Role, UNKNOWN, Vocabulary, names};

/// Lines that failures of all kinds print: whoever matches one of them recognises nothing.
const GENERIC: &[&str] = &[
    "ninja: build stopped: subcommand failed.",
    "FAILED: lib/foo.o",
    "make: *** [Makefile:2: all] Error 2",
    "make[1]: *** [CMakeFiles/Makefile2:83: CMakeFiles/foo.dir/all] Error 2",
    "gmake: *** [Makefile:136: all] Error 2",
    "CMake Error at CMakeLists.txt",
    "CMake Error at CMakeLists.txt:12 (find_package):",
    "CMake Error at CMakeLists.txt:12 (message):",
    "CMake Error:",
    "-- Configuring incomplete, errors occurred!",
    "See also \"/src/build/CMakeFiles/CMakeOutput.log\".",
    "error: subprocess-exited-with-error",
    "error: metadata-generation-failed",
    "note: This error originates from a subprocess, and is likely not a problem with pip.",
    "ERROR: Failed building wheel for foo",
    "error: legacy-install-failure",
    "Traceback (most recent call last):",
    "subprocess.CalledProcessError: Command '['cmake', '--build', '.']' returned non-zero exit status 1.",
    "collect2: error: ld returned 1 exit status",
    "clang: error: linker command failed with exit code 1 (use -v to see invocation)",
    "fatal error: too many errors emitted, stopping now [-ferror-limit=]",
    "compilation terminated.",
    "error: command '/usr/bin/gcc' failed with exit code 1",
    // The first is how CANN spells it.
    "ERR99999 UNKNOWN applicaiton exception",
    "ERR99999 UNKNOWN application exception",
    "torch.distributed.elastic.multiprocessing.errors.ChildFailedError:",
    "RuntimeError: ",
    "Process completed with exit code 1.",
];

/// Longer regular expressions are unreadable, and slow to compile.
const LONGEST_REGEX: usize = 2_000;

/// The memory that a compiled regular expression may take.
const LARGEST_REGEX: usize = 2 * 1024 * 1024;

/// Alternatives of one signature.
const MOST_ALTERNATIVES: usize = 40;

/// The order of fields at the top of a file.
const TOP_ORDER: &[&str] = &[
    "id",
    "slug",
    "aliases",
    "family",
    "applicability",
    "masks",
    "references",
    "title",
    "cause",
    "remedy",
    "departs",
    "why",
    "param",
    "signature",
    "probe",
    "case",
];

/// The order of fields in a case.
const CASE_ORDER: &[&str] = &["name", "when", "verdict", "applicability", "says", "advice", "step", "verify"];

/// Checks a file, or all recipes of a folder and how they go together. Returns mistakes in the order of the files.
pub fn lint_path(path: &Path, vocabulary: &Vocabulary) -> Result<Vec<RecipeError>, FolderError> {
    if path.is_dir() {
        let files = read_folder(path)?;
        return Ok(lint(files.iter().map(|(file, text)| (file.as_str(), text.as_str())), vocabulary));
    }
    let text = read_file(path).map_err(|source| FolderError::Read { path: path.to_owned(), source })?;
    Ok(lint_text(&path.display().to_string(), &text, vocabulary))
}

/// Checks one recipe.
pub fn lint_text(file: &str, text: &str, vocabulary: &Vocabulary) -> Vec<RecipeError> {
    match parse::load(file, text, &rules(vocabulary)) {
        Ok(loaded) => style(&loaded),
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
        mistakes.extend(style(recipe));
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

fn style(loaded: &Loaded<'_>) -> Vec<RecipeError> {
    order(loaded, "", TOP_ORDER);
    for index in 0..loaded.recipe.cases.len() {
        order(loaded, &format!("case[{index}]."), CASE_ORDER);
    }
    kebab(loaded);
    texts(loaded);
    signatures(loaded);
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

fn signatures(loaded: &Loaded<'_>) {
    let source = &loaded.source;
    for (index, signature) in loaded.recipe.signatures.iter().enumerate() {
        if signature.any.len() > MOST_ALTERNATIVES {
            let message = format!("more than {MOST_ALTERNATIVES} alternatives");
            source.complain(&format!("signature[{index}]"), message, "split the signature, or the recipe");
        }
        for (at, regex) in signature.any.iter().enumerate() {
            let path = format!("signature[{index}].any[{at}]");
            if regex.len() > LONGEST_REGEX {
                let message = format!("the regular expression is longer than {LONGEST_REGEX} bytes");
                source.complain(&path, message, "make alternatives of it");
                continue;
            }
            let Ok(hir) = regex_syntax::parse(regex) else { continue };
            if has_nested_repetition(&hir) {
                let message = "a repetition of nothing but repetitions";
                source.complain(&path, message, "put something fixed into it: `(?: \\S+)*`, not `(?:\\s*\\S+)*`");
            }
            let unnamed =
                capture_names(&hir).into_iter().filter(|name| signature.role == Role::Veto || !is_param(loaded, name));
            for name in unnamed {
                let message = format!("group `{name}` is no parameter's `capture`");
                source.complain_about(&path, &format!("<{name}>"), message, "add a `[[param]]`, or use `(?:…)`");
            }
            match regex::RegexBuilder::new(regex).size_limit(LARGEST_REGEX).build() {
                Ok(compiled) if signature.role == Role::Required => {
                    for line in GENERIC.iter().filter(|line| compiled.is_match(line)) {
                        let message = format!("a required signature matches the generic line `{}`", line.trim_end());
                        source.complain(&path, message, "quote words that only this issue prints");
                    }
                }
                Ok(_) => {}
                Err(_) => {
                    let message = "the regular expression is too large when compiled";
                    source.complain(&path, message, "use smaller counts, and `[0-9a-z]` instead of `\\w`");
                }
            }
        }
    }
}

fn is_param(loaded: &Loaded<'_>, group: &str) -> bool {
    let captures = |source: &ParamSource| matches!(source, ParamSource::Capture(name) if name == group);
    loaded.recipe.params.iter().any(|param| param.from.iter().any(captures))
}

/// Says whether something like `(a+)+` or `(\s*\S*)*` is in it: there is no telling where one round ends.
fn has_nested_repetition(hir: &Hir) -> bool {
    let mut left = vec![hir];
    while let Some(hir) = left.pop() {
        match hir.kind() {
            HirKind::Repetition(repetition) => {
                if repetition.max.is_none_or(|max| max > 1) && is_only_repetitions(&repetition.sub) {
                    return true;
                }
                left.push(&repetition.sub);
            }
            HirKind::Capture(capture) => left.push(&capture.sub),
            HirKind::Concat(parts) | HirKind::Alternation(parts) => left.extend(parts),
            HirKind::Empty | HirKind::Literal(_) | HirKind::Class(_) | HirKind::Look(_) => {}
        }
    }
    false
}

/// Says whether every part of it is an unbounded repetition.
fn is_only_repetitions(hir: &Hir) -> bool {
    match hir.kind() {
        HirKind::Repetition(repetition) => repetition.max.is_none(),
        HirKind::Capture(capture) => is_only_repetitions(&capture.sub),
        HirKind::Concat(parts) => parts.iter().all(is_only_repetitions),
        HirKind::Alternation(parts) => parts.iter().any(is_only_repetitions),
        HirKind::Empty | HirKind::Literal(_) | HirKind::Class(_) | HirKind::Look(_) => false,
    }
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
            || says.chain(advice).chain(steps).flat_map(super::Template::variables).any(of_probe)
    };
    in_params.into_iter().any(|source| matches!(source, ParamSource::Probe { probe, .. } if probe == name))
        || recipe.probes.iter().flat_map(|probe| probe.args.values()).flat_map(super::Template::variables).any(of_probe)
        || recipe.cases.iter().any(in_cases)
}
