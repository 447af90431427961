//! Checks of what a recipe says can be found without a log.

use super::check::Scope;
use super::nearest::suggest;
use super::vocabulary::UNKNOWN;
use super::{Case, CaseVerdict, ParamSource, Template};

/// Checks the `[audit]` of a recipe.
pub fn check(scope: &Scope<'_, '_>) {
    let Some(audit) = &scope.recipe.audit else { return };
    for (at, name) in audit.cases.iter().enumerate() {
        let path = format!("audit.cases[{at}]");
        let Some(index) = scope.recipe.cases.iter().position(|case| case.name == *name) else {
            let known = scope.recipe.cases.iter().map(|case| case.name.as_str());
            scope.source.complain(&path, format!("no case `{name}`"), suggest(name, known, "add the `[[case]]`"));
            continue;
        };
        if audit.cases[..at].contains(name) {
            scope.source.complain(&path, format!("case `{name}` is named already"), "remove it");
        }
        case(scope, &path, index);
    }
    each(scope);
}

/// A case that an audit may report: the machine alone shows it, and can say what it is.
fn case(scope: &Scope<'_, '_>, path: &str, index: usize) {
    let case = &scope.recipe.cases[index];
    let name = &case.name;
    match case.verdict {
        CaseVerdict::Certain | CaseVerdict::Likely => {}
        CaseVerdict::Possible | CaseVerdict::Refuted => {
            let message = format!("case `{name}` is neither `certain` nor `likely`");
            scope.source.complain(path, message, "an audit reports what the machine shows; leave the case out");
        }
    }
    let told = case.when.iter().any(|(probe, words)| {
        scope.recipe.probes.iter().any(|known| known.name == *probe) && !words.iter().any(|word| word == UNKNOWN)
    });
    if !told {
        let message = format!("case `{name}` needs no answer of the machine");
        let hint = "an audit needs positive evidence: put a probe into the case's `when`, with answers but `unknown`";
        scope.source.complain(path, message, hint);
    }
    let mut complained: Vec<&str> = Vec::new();
    for variable in texts(case).flat_map(Template::required_variables).filter(|name| only_a_log_gives(scope, name)) {
        if !complained.contains(&variable) {
            let message = format!("case `{name}` says `${{{variable}}}`, which only a log gives");
            let hint = "say it without, or put that part into `$[…]`, which is left out where it has no value";
            scope.source.complain(path, message, hint);
            complained.push(variable);
        }
    }
}

fn texts(case: &Case) -> impl Iterator<Item = &Template> {
    std::iter::once(&case.says).chain(&case.advice).flat_map(|text| [&text.en, &text.zh])
}

fn only_a_log_gives(scope: &Scope<'_, '_>, name: &str) -> bool {
    let is_each = scope.recipe.audit.as_ref().and_then(|audit| audit.each.as_ref()).is_some_and(|it| it.param == name);
    let from_log = |source: &ParamSource| matches!(source, ParamSource::Capture(_));
    !is_each && scope.param(name).is_some_and(|param| param.from.iter().all(from_log))
}

fn each(scope: &Scope<'_, '_>) {
    let Some(each) = scope.recipe.audit.as_ref().and_then(|audit| audit.each.as_ref()) else { return };
    if each.param.is_empty() || each.probe.is_empty() {
        let hint = "write both: `each = \"parameter\"` and `of = \"probe.value\"`";
        scope.source.complain("audit", "`each` and `of` go together", hint);
        return;
    }
    if scope.param(&each.param).is_none() {
        let known = scope.recipe.params.iter().map(|param| param.name.as_str());
        let hint = suggest(&each.param, known, "add the `[[param]]`");
        scope.source.complain("audit.each", format!("no parameter `{}`", each.param), hint);
    }
    scope.param_probe("audit.of", &each.probe, &each.value);
}
