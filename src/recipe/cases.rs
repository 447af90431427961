//! Checks of a recipe's cases: their words, their steps, their proof, and whether each can be taken at all.

use std::collections::{BTreeMap, BTreeSet};

use super::check::Scope;
use super::nearest::{quoted, suggest};
use super::{Case, CaseVerdict, Check, Stage};

/// A recipe with more cases is several recipes.
const MOST_CASES: usize = 64;

/// Splitting "all but what earlier cases take" further than this is not worth it: the case counts as reachable.
const MOST_BOXES: usize = 2_000;

/// Complains about cases.
pub fn check(scope: &Scope<'_, '_>) {
    let cases = &scope.recipe.cases;
    if cases.is_empty() {
        scope.source.complain_at(0, "the recipe has no case", "add a `[[case]]`: what is wrong, and what to do");
    }
    if cases.len() > MOST_CASES {
        let message = format!("the recipe has more than {MOST_CASES} cases");
        scope.source.complain(&format!("case[{MOST_CASES}]"), message, "split it by symptom");
        return;
    }
    for (index, case) in cases.iter().enumerate() {
        let path = format!("case[{index}]");
        if cases[..index].iter().any(|earlier| earlier.name == case.name) {
            scope.duplicate(&format!("{path}.name"), "case", &case.name);
        }
        check_case(scope, &path, case);
    }
    shadowing(scope);
}

fn check_case(scope: &Scope<'_, '_>, path: &str, case: &Case) {
    let source = scope.source;
    let probes = scope.recipe.probes.len();
    if case.applicability > scope.recipe.applicability {
        let message = "the case allows more than the recipe";
        source.complain(&format!("{path}.applicability"), message, "a case may only be stricter: raise the recipe's");
    }
    for (name, words) in &case.when {
        check_condition(scope, &format!("{path}.when.{name}"), name, words);
    }
    scope.variables(&format!("{path}.says.en"), &case.says.en, probes);
    scope.variables(&format!("{path}.says.zh"), &case.says.zh, probes);
    for (index, advice) in case.advice.iter().enumerate() {
        scope.variables(&format!("{path}.advice[{index}].en"), &advice.en, probes);
        scope.variables(&format!("{path}.advice[{index}].zh"), &advice.zh, probes);
    }
    if !case.steps.is_empty() && case.verify.is_empty() {
        let message = format!("case `{}` has steps and no `[[case.verify]]`", case.name);
        source.complain(path, message, "name a probe and the answers that prove the repair");
    }
    if !case.steps.is_empty() && matches!(case.verdict, CaseVerdict::Possible | CaseVerdict::Refuted) {
        let message = "a case that is only possible, or refuted, cannot have steps";
        source.complain(&format!("{path}.verdict"), message, "a repair needs positive evidence: ask a question first");
    }
    for (index, step) in case.steps.iter().enumerate() {
        let path = format!("{path}.step[{index}]");
        for (name, words) in &step.only_if {
            if scope.param(name).is_some() {
                check_condition(scope, &format!("{path}.only_if.{name}"), name, words);
            } else {
                let known = scope.recipe.params.iter().map(|param| param.name.as_str());
                let hint = suggest(name, known, "`only_if` takes parameters; an answer makes another case");
                source.complain(&format!("{path}.only_if.{name}"), format!("no parameter `{name}`"), hint);
            }
        }
        let call = format!("{path}.{}", step.verb);
        for (name, template) in &step.args {
            scope.variables(&format!("{call}.{name}"), template, probes);
        }
        let Some(vocabulary) = scope.rules.vocabulary else { continue };
        match scope.verb(&step.verb) {
            Some(verb) => scope.arguments(&call, verb.name, &step.args, &verb.args),
            None => {
                let hint = suggest(&step.verb, vocabulary.verbs.iter().map(|verb| verb.name), "there are no verbs yet");
                source.complain(&call, format!("unknown verb `{}`", step.verb), hint);
            }
        }
    }
    check_verify(scope, path, case);
}

fn check_verify(scope: &Scope<'_, '_>, path: &str, case: &Case) {
    for (index, check) in case.verify.iter().enumerate() {
        let path = format!("{path}.verify[{index}]");
        if !scope.recipe.probes.iter().any(|probe| probe.name == check.probe) {
            let known = scope.recipe.probes.iter().map(|probe| probe.name.as_str());
            let hint = suggest(&check.probe, known, "add a `[[probe]]`");
            scope.source.complain(&format!("{path}.probe"), format!("no probe `{}`", check.probe), hint);
            continue;
        }
        check_words(scope, &format!("{path}.is"), &check.probe, &check.is);
        let covers = |words: Vec<&str>| words.into_iter().all(|word| check.is.iter().any(|is| is == word));
        if scope.question_of(&check.probe).is_some_and(|question| covers(question.answers.clone())) {
            let message = "the check holds whatever the answer is";
            scope.source.complain(&format!("{path}.is"), message, "name only the answers that prove the repair");
        }
        let contradicts = |other: &Check| {
            let same_probe = other.probe == check.probe && !other.is.iter().any(|word| check.is.contains(word));
            same_probe && other.stage == Stage::Static && check.stage == Stage::Rerun
        };
        if case.verify.iter().any(contradicts) {
            let message = format!("no answer of `{}` passes this check and the static one", check.probe);
            let hint = "static checks are made after the re-run as well: name its answers in both";
            scope.source.complain(&format!("{path}.is"), message, hint);
        }
    }
}

/// Checks one entry of a `when` or `only_if`.
fn check_condition(scope: &Scope<'_, '_>, path: &str, name: &str, words: &[String]) {
    let Some(param) = scope.param(name) else {
        if scope.recipe.probes.iter().any(|probe| probe.name == name) {
            return check_words(scope, path, name, words);
        }
        let known = scope.recipe.probes.iter().map(|probe| probe.name.as_str());
        let params = scope.recipe.params.iter().map(|param| param.name.as_str());
        let hint = suggest(name, known.chain(params), "add a `[[probe]]`");
        scope.source.complain(path, format!("no probe or parameter `{name}`"), hint);
        return;
    };
    if param.choices.is_empty() {
        let message = format!("parameter `{name}` has no `choices`, so no word can be expected of it");
        scope.source.complain(path, message, "give it `choices`, or ask a question about it");
        return;
    }
    let choices = || param.choices.iter().map(String::as_str);
    for (index, word) in words.iter().enumerate().filter(|(_, word)| !param.choices.contains(word)) {
        let message = format!("`{word}` is not a choice of parameter `{name}`");
        scope.source.complain(&format!("{path}[{index}]"), message, suggest(word, choices(), ""));
    }
}

/// Checks words that a probe is expected to answer with.
fn check_words(scope: &Scope<'_, '_>, path: &str, probe: &str, words: &[String]) {
    let Some(question) = scope.question_of(probe) else { return };
    let known = question.words();
    for (index, word) in words.iter().enumerate().filter(|(_, word)| !known.contains(&word.as_str())) {
        let message = format!("`{}` never answers `{word}`", question.name);
        let hint = format!("it answers {}", quoted(known.iter().copied(), ", "));
        scope.source.complain(&format!("{path}[{index}]"), message, hint);
    }
}

/// What a case takes: the words allowed by name; a name that is absent may have any word.
type Taken<'r> = BTreeMap<&'r str, BTreeSet<&'r str>>;

/// Complains about a case that earlier ones leave nothing to.
fn shadowing(scope: &Scope<'_, '_>) {
    let cases = &scope.recipe.cases;
    let taken: Vec<Taken<'_>> = cases.iter().map(|case| taken(scope, case)).collect();
    for index in 1..cases.len() {
        let mut left = vec![taken[index].clone()];
        let mut by: Vec<&str> = Vec::new();
        for (earlier, case) in taken[..index].iter().zip(cases) {
            let before = left.clone();
            left = left.iter().flat_map(|one| subtract(scope, one, earlier)).collect();
            if left != before {
                by.push(&case.name);
            }
            if left.is_empty() || left.len() > MOST_BOXES {
                break;
            }
        }
        if left.is_empty() {
            let message = format!("case `{}` is never taken", cases[index].name);
            let hint = format!("the first case that holds is taken: {} comes before it", quoted(by, ", "));
            scope.source.complain(&format!("case[{index}]"), message, hint);
        }
    }
}

/// What a case takes. A name with all the words there are is left out: it asks for nothing.
fn taken<'r>(scope: &Scope<'r, '_>, case: &'r Case) -> Taken<'r> {
    let sets = case.when.iter().map(|(name, words)| {
        let words: BTreeSet<&str> = words.iter().map(String::as_str).collect();
        (name.as_str(), words)
    });
    sets.filter(|(name, words)| all_words(scope, name).is_none_or(|all| !all.is_subset(words))).collect()
}

/// All words that a probe can answer with; unknown for a parameter, which may also have no value.
fn all_words<'r>(scope: &Scope<'r, '_>, name: &str) -> Option<BTreeSet<&'r str>> {
    scope.question_of(name).map(|question| question.words().into_iter().collect())
}

/// What is left of `one` without `other`, as disjoint parts.
fn subtract<'r>(scope: &Scope<'r, '_>, one: &Taken<'r>, other: &Taken<'r>) -> Vec<Taken<'r>> {
    let mut parts = Vec::new();
    // What has been held to `other` so far: each part differs from `other` in exactly one more name.
    let mut common = one.clone();
    for (name, words) in other {
        let mine = common.get(name).cloned().or_else(|| all_words(scope, name));
        let Some(mine) = mine else {
            // Not all words are known, so something outside `other` is always left.
            parts.push(common);
            return parts;
        };
        let outside: BTreeSet<&str> = mine.difference(words).copied().collect();
        let inside: BTreeSet<&str> = mine.intersection(words).copied().collect();
        if inside.is_empty() {
            return vec![one.clone()];
        }
        if !outside.is_empty() {
            let mut part = common.clone();
            part.insert(name, outside);
            parts.push(part);
        }
        common.insert(name, inside);
    }
    parts
}
