//! Checks of a recipe that was read: names, variables, regular expressions, questions and verbs.

use std::collections::BTreeMap;

use regex_syntax::hir::{Hir, HirKind};

use super::nearest::{quoted, suggest};
use super::source::Source;
use super::vocabulary::{AnchorFinder, ArgTerm, QuestionTerm, VerbTerm, Vocabulary};
use super::{Applicability, Param, ParamKind, ParamSource, Recipe, Role, Template, names};
use super::{audit, cases};

/// Arguments that take several names, none of which has a blank or a comma.
const SEVERAL: &[&str] = &["names", "targets", "missing_targets", "entries"];

/// What recipes are checked against.
pub struct Rules<'v> {
    pub anchors: AnchorFinder,
    /// Absent where the questions and verbs cannot be known yet: in the build script.
    pub vocabulary: Option<&'v Vocabulary>,
}

/// Checks a recipe; returns the anchors of every alternative of every signature.
pub fn check(recipe: &Recipe, source: &Source<'_>, rules: &Rules<'_>) -> Vec<Vec<Vec<String>>> {
    let scope = Scope { recipe, source, rules };
    scope.identity();
    let (anchors, captures) = scope.signatures();
    scope.params(captures.as_deref());
    scope.probes();
    cases::check(&scope);
    audit::check(&scope);
    anchors
}

/// A recipe under check.
pub struct Scope<'a, 't> {
    pub recipe: &'a Recipe,
    pub source: &'a Source<'t>,
    pub rules: &'a Rules<'a>,
}

impl<'a> Scope<'a, '_> {
    /// Finds the question that a probe asks, where the vocabulary is known.
    pub fn question_of(&self, probe: &str) -> Option<&'a QuestionTerm> {
        let probe = self.recipe.probes.iter().find(|known| known.name == probe)?;
        self.rules.vocabulary?.question(&probe.question)
    }

    /// Finds a verb, where the vocabulary is known.
    pub fn verb(&self, name: &str) -> Option<&'a VerbTerm> {
        self.rules.vocabulary?.verb(name)
    }

    /// Finds a parameter.
    pub fn param(&self, name: &str) -> Option<&'a Param> {
        self.recipe.params.iter().find(|param| param.name == name)
    }

    /// Complains about the variables of a template that have no value when the first `probes` are answered.
    pub fn variables(&self, path: &str, template: &Template, probes: usize) {
        for name in template.variables() {
            let Err((message, hint)) = self.variable(name, probes) else { continue };
            self.source.complain_about(path, &format!("${{{name}}}"), message, hint);
        }
    }

    /// Complains about arguments that are unknown or missing.
    pub fn arguments(&self, path: &str, owner: &str, args: &BTreeMap<String, Template>, known: &[ArgTerm]) {
        let names = || known.iter().map(|arg| arg.name);
        for name in args.keys().filter(|name| !names().any(|known| known == name.as_str())) {
            let message = format!("`{owner}` takes no argument `{name}`");
            self.source.complain(&format!("{path}.{name}.key"), message, suggest(name, names(), "it takes none"));
        }
        for (name, template) in args.iter().filter(|(name, _)| SEVERAL.contains(&name.as_str())) {
            let Some(text) = template.literal().filter(|text| text.contains([' ', ','])) else { continue };
            let items: Vec<&str> = text.split([' ', ',']).filter(|item| !item.is_empty()).collect();
            let list = items.iter().map(|item| format!("\"{item}\"")).collect::<Vec<_>>().join(", ");
            let message = format!("`{name}` is one name, `{text}`");
            self.source.complain(&format!("{path}.{name}"), message, format!("give several as `{name} = [{list}]`"));
        }
        for arg in known.iter().filter(|arg| arg.required && !args.contains_key(arg.name)) {
            let message = format!("`{owner}` needs the argument `{}`", arg.name);
            self.source.complain(path, message, format!("`{}`: {}", arg.name, arg.about));
        }
    }

    fn variable(&self, name: &str, probes: usize) -> Result<(), (String, String)> {
        let recipe = self.recipe;
        let Some((probe, value)) = name.split_once('.') else {
            let Some(param) = self.param(name) else {
                let known = recipe.params.iter().map(|param| param.name.as_str());
                return Err((format!("unbound variable `{name}`"), suggest(name, known, "add a `[[param]]`")));
            };
            for source in &param.from {
                let ParamSource::Probe { probe, .. } = source else { continue };
                if recipe.probes.iter().position(|known| known.name == *probe).is_some_and(|at| at >= probes) {
                    let message = format!("`{name}` may come from probe `{probe}`, which is not answered yet");
                    return Err((message, "probes are asked in order: use another parameter, or reorder them".into()));
                }
            }
            return Ok(());
        };
        let Some(at) = recipe.probes.iter().position(|known| known.name == probe) else {
            let known = recipe.probes.iter().map(|probe| probe.name.as_str());
            return Err((format!("unbound variable `{name}`: no probe `{probe}`"), suggest(probe, known, "add it")));
        };
        if at >= probes {
            let message = format!("unbound variable `{name}`: probe `{probe}` is not answered yet");
            return Err((message, "probes are asked in order: move that probe up".into()));
        }
        self.value(probe, value)
    }

    fn value(&self, probe: &str, value: &str) -> Result<(), (String, String)> {
        match self.question_of(probe) {
            Some(question) if !question.values.contains(&value) => {
                let message = format!("`{}` gives no value `{value}`", question.name);
                Err((message, suggest(value, question.values.iter().copied(), "it gives no values, only a word")))
            }
            Some(_) | None => Ok(()),
        }
    }

    fn identity(&self) {
        let Self { recipe, source, .. } = self;
        let name = source.file().rsplit('/').next().unwrap_or_default();
        let stem = name.strip_suffix(".toml").unwrap_or(name);
        if recipe.id != stem {
            let message = format!("id `{}` is not the file's name `{stem}`", recipe.id);
            source.complain("id", message, format!("rename the file to `{}.toml`, or the id", recipe.id));
        }
        names::check(recipe, source);
        if recipe.applicability < Applicability::Safe && recipe.why.is_none() {
            let message = "missing field `why`: applicability is not `safe`";
            source.complain("applicability", message, "add `[why]` with `en` and `zh`: why a person must decide");
        }
    }

    /// Returns the anchors, and the groups that parameters may take unless a regular expression is bad.
    fn signatures(&self) -> (Vec<Vec<Vec<String>>>, Option<Vec<String>>) {
        let mut anchors = Vec::new();
        let mut captures = Some(Vec::new());
        for (index, signature) in self.recipe.signatures.iter().enumerate() {
            let path = format!("signature[{index}]");
            if signature.any.is_empty() {
                self.source.complain(&path, "the signature has no regular expression", "add `any = ['''…''']`");
            }
            let mut found = Vec::new();
            for (at, regex) in signature.any.iter().enumerate() {
                let path = format!("{path}.any[{at}]");
                let Some(hir) = self.regex(&path, regex) else {
                    captures = None;
                    found.push(Vec::new());
                    continue;
                };
                // What a veto matches is about another issue: no parameter can be found there.
                if let Some(captures) = captures.as_mut().filter(|_| signature.role != Role::Veto) {
                    captures.extend(capture_names(&hir));
                }
                found.push(self.anchors(&path, regex));
            }
            anchors.push(found);
        }
        // What no log tells of is shown and searched for; with a signature, one must be required.
        let only_shown = self.recipe.signatures.is_empty() && !self.recipe.symptoms.is_empty();
        if !only_shown && !self.recipe.signatures.iter().any(|signature| signature.role == Role::Required) {
            let message = "no signature has the role `required`";
            let hint =
                "without one the recipe would fit every log; one that no log tells of has `symptoms` and no signature";
            self.source.complain("signature[0]", message, hint);
        }
        (anchors, captures)
    }

    fn regex(&self, path: &str, regex: &str) -> Option<Hir> {
        if regex.trim().is_empty() {
            // The reader has complained already.
            return None;
        }
        let (reason, at) = match parse_regex(regex) {
            Ok(hir) => return Some(hir),
            Err(error) => error,
        };
        let hint = "see https://docs.rs/regex/#syntax; there is no look-around and no back-reference";
        self.source.complain_inside(path, at, format!("bad regular expression: {reason}"), hint);
        None
    }

    fn anchors(&self, path: &str, regex: &str) -> Vec<String> {
        match (self.rules.anchors)(regex) {
            Ok(anchors) if !anchors.is_empty() => anchors,
            Ok(_) => self.no_anchor(path, "no usable anchor"),
            Err(message) => self.no_anchor(path, &message),
        }
    }

    fn no_anchor(&self, path: &str, message: &str) -> Vec<String> {
        let hint = "quote some words that the message always has; logs are searched for them first";
        self.source.complain(path, message, hint);
        Vec::new()
    }

    fn params(&self, captures: Option<&[String]>) {
        for (index, param) in self.recipe.params.iter().enumerate() {
            let path = format!("param[{index}]");
            self.name(&format!("{path}.name"), &param.name);
            if self.recipe.params[..index].iter().any(|earlier| earlier.name == param.name) {
                self.duplicate(&format!("{path}.name"), "parameter", &param.name);
            }
            for source in &param.from {
                match source {
                    ParamSource::Capture(group) => self.capture(&format!("{path}.capture"), group, captures),
                    ParamSource::Probe { probe, value } => self.param_probe(&format!("{path}.probe"), probe, value),
                    ParamSource::Default(text) => self.default(&format!("{path}.default"), param, text),
                    ParamSource::Env(_) => {}
                }
            }
        }
    }

    fn capture(&self, path: &str, group: &str, captures: Option<&[String]>) {
        // With a bad regular expression it is not known which groups there are.
        let Some(captures) = captures else { return };
        if !captures.iter().any(|known| known == group) {
            let hint = suggest(group, captures.iter().map(String::as_str), "name a group: `(?P<name>…)`");
            self.source.complain(path, format!("no signature has a group `{group}`"), hint);
        }
    }

    pub fn param_probe(&self, path: &str, probe: &str, value: &str) {
        if !self.recipe.probes.iter().any(|known| known.name == probe) {
            let known = self.recipe.probes.iter().map(|probe| probe.name.as_str());
            let hint = suggest(probe, known, "write `probe = \"name.value\"`, and add the `[[probe]]`");
            self.source.complain(path, format!("no probe `{probe}`"), hint);
        } else if value.is_empty() {
            let message = format!("probe `{probe}` is named without a value");
            self.source.complain(path, message, format!("write `probe = \"{probe}.value\"`"));
        } else if let Err((message, hint)) = self.value(probe, value) {
            self.source.complain(path, message, hint);
        }
    }

    fn default(&self, path: &str, param: &Param, text: &str) {
        if !param.choices.is_empty() && !param.choices.iter().any(|choice| choice == text) {
            let hint = format!("choose one of {}", quoted(param.choices.iter().map(String::as_str), ", "));
            self.source.complain(path, format!("the default `{text}` is not among the choices"), hint);
        }
        let fits = match param.kind {
            ParamKind::Port => text.parse::<u16>().is_ok_and(|port| port > 0),
            ParamKind::Url => text.contains("://"),
            ParamKind::Path | ParamKind::Version | ParamKind::Text => true,
        };
        if !fits {
            let message = format!("the default `{text}` is not of the parameter's type");
            self.source.complain(path, message, "a port is 1 to 65535; a URL has `://`");
        }
    }

    fn probes(&self) {
        for (index, probe) in self.recipe.probes.iter().enumerate() {
            let path = format!("probe[{index}]");
            self.name(&format!("{path}.name"), &probe.name);
            if self.recipe.probes[..index].iter().any(|earlier| earlier.name == probe.name) {
                self.duplicate(&format!("{path}.name"), "probe", &probe.name);
            } else if self.param(&probe.name).is_some() {
                let message = format!("`{}` is the name of a parameter already", probe.name);
                self.source.complain(&format!("{path}.name"), message, "`when` could mean either: rename one");
            }
            let ask = format!("{path}.ask.{}", probe.question);
            for (name, template) in &probe.args {
                self.variables(&format!("{ask}.{name}"), template, index);
            }
            let Some(vocabulary) = self.rules.vocabulary else { continue };
            match vocabulary.question(&probe.question) {
                Some(question) => self.arguments(&ask, question.name, &probe.args, &question.args),
                None => {
                    let known = vocabulary.questions.iter().map(|question| question.name);
                    let hint = suggest(&probe.question, known, "there are no questions yet");
                    self.source.complain(&ask, format!("unknown question `{}`", probe.question), hint);
                }
            }
        }
    }

    fn name(&self, path: &str, name: &str) {
        let fits = |c: char| c.is_ascii_lowercase() || c.is_ascii_digit() || c == '_';
        if !name.starts_with(|c: char| c.is_ascii_lowercase()) || !name.chars().all(fits) {
            let message = format!("`{name}` is not a name");
            self.source.complain(path, message, "use lower-case letters, digits and `_`, a letter first");
        }
    }

    /// Complains about a name that stands twice.
    pub fn duplicate(&self, path: &str, what: &str, name: &str) {
        self.source.complain(path, format!("there is a {what} `{name}` already"), "rename one of them");
    }
}

/// Parses a regular expression as the scanner does: over bytes, with `^` and `$` at each line. An error comes with
/// its byte.
pub fn parse_regex(regex: &str) -> Result<Hir, (String, usize)> {
    let mut parser = regex_syntax::ParserBuilder::new();
    // The default of 250 groups in each other would let a signature take seconds to compile.
    let result = parser.utf8(false).unicode(false).multi_line(true).nest_limit(32).build().parse(regex);
    result.map_err(|error| match error {
        regex_syntax::Error::Parse(error) => (error.kind().to_string(), error.span().start.offset),
        regex_syntax::Error::Translate(error) => (error.kind().to_string(), error.span().start.offset),
        // The enum is open.
        other => (other.to_string(), 0),
    })
}

/// Lists the named groups of a regular expression.
pub fn capture_names(hir: &Hir) -> Vec<String> {
    let mut names = Vec::new();
    let mut left = vec![hir];
    while let Some(hir) = left.pop() {
        match hir.kind() {
            HirKind::Capture(capture) => {
                names.extend(capture.name.as_ref().map(|name| name.to_string()));
                left.push(&capture.sub);
            }
            HirKind::Repetition(repetition) => left.push(&repetition.sub),
            HirKind::Concat(parts) | HirKind::Alternation(parts) => left.extend(parts),
            HirKind::Empty | HirKind::Literal(_) | HirKind::Class(_) | HirKind::Look(_) => {}
        }
    }
    names
}
