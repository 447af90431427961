//! Puts a recipe's probes to the machine, in order, each with the values known so far.

use std::collections::BTreeMap;
use std::ffi::OsString;

use super::Host;
use super::questions::{self, Answer, Inquiry, UNKNOWN};
use crate::recipe::{Param, ParamSource, Probe, Recipe, Text, Value, Values};

/// What the machine said to one probe.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ProbeAnswer {
    pub probe: String,
    pub question: String,
    /// What it was asked with. A check asks with the same again: asked anew, it might find another thing to ask about.
    pub args: BTreeMap<String, Value>,
    pub answer: Answer,
}

/// Whether the machine may be asked about this evidence.
#[derive(Clone, Copy)]
pub enum Machine<'a> {
    /// The evidence is of this machine.
    Here(&'a dyn Host),
    /// Only the log speaks: every answer is unknown.
    Elsewhere,
}

/// Asks all probes of `recipe`. `values` are the parameters known from logs and the command line; parameters
/// that come from an answer or the environment are added as soon as they are known.
///
/// Returns the answers in the order of the probes, and the values with `probe.value` names added.
pub fn interrogate(
    recipe: &Recipe,
    mut values: Values,
    machine: Machine<'_>,
    command: Option<&[OsString]>,
) -> (Vec<ProbeAnswer>, Values) {
    let mut answers = Vec::new();
    bind_params(&recipe.params, &mut values, machine, &recipe.probes[..0]);
    for (at, probe) in recipe.probes.iter().enumerate() {
        let args: BTreeMap<String, Value> = probe
            .args
            .iter()
            .filter_map(|(name, template)| Some((name.clone(), template.fill(&values).ok()?)))
            .collect();
        let answer = ask(&probe.question, &args, machine, command);
        for (name, value) in &answer.values {
            values.insert(format!("{}.{name}", probe.name), value.clone());
        }
        let question = probe.question.clone();
        answers.push(ProbeAnswer { probe: probe.name.clone(), question, args, answer });
        bind_params(&recipe.params, &mut values, machine, &recipe.probes[..=at]);
    }
    (answers, values)
}

/// Asks one question with arguments that are known.
pub fn ask(
    question: &str,
    args: &BTreeMap<String, Value>,
    machine: Machine<'_>,
    command: Option<&[OsString]>,
) -> Answer {
    let not_asked = || Answer::new(UNKNOWN, Text::new("not asked: only the log speaks", "未询问本机：仅依据日志"));
    let Machine::Here(host) = machine else { return not_asked() };
    let Some(question) = questions::find(question) else { return not_asked() };
    if let Some(missing) = question.args.iter().find(|spec| spec.required && !args.contains_key(spec.name)) {
        let name = missing.name;
        return Answer::new(UNKNOWN, Text::new(format!("`{name}` is not known"), format!("`{name}` 未知")));
    }
    // Values are text: a path that is none would be another path in them.
    if host.project().as_path().to_str().is_none() {
        return no_text(&host.project().to_string());
    }
    let answer = (question.ask)(&Inquiry { args, host, command });
    let is_torn = |text: &&String| text.starts_with('/') && text.contains(char::REPLACEMENT_CHARACTER);
    let mut texts = answer.values.values().flat_map(|value| match value {
        Value::Text(text) => std::slice::from_ref(text),
        Value::List(items) => items.as_slice(),
    });
    match texts.find(is_torn) {
        Some(text) => no_text(text),
        None => answer,
    }
}

fn no_text(path: &str) -> Answer {
    Answer::new(
        UNKNOWN,
        Text::new(
            format!("`{path}` is not UTF-8: `fix` cannot tell what stands there"),
            format!("`{path}` 不是 UTF-8：`fix` 无法判断其中的内容"),
        ),
    )
}

/// Gives each parameter that has no value yet the first of its sources that has one by now. A default counts
/// only when every probe that could still bind the parameter has been asked.
fn bind_params(params: &[Param], values: &mut Values, machine: Machine<'_>, asked: &[Probe]) {
    for param in params {
        if values.contains_key(&param.name) {
            continue;
        }
        let value = param.from.iter().map_while(|source| match source {
            // A capture that was there is bound already.
            ParamSource::Capture(_) => Some(None),
            ParamSource::Probe { probe, value } => {
                let known = values.get(&format!("{probe}.{value}")).cloned();
                let was_asked = asked.iter().any(|asked| asked.name == *probe);
                // Stops at a probe that is still to come, so that a later source does not overtake it.
                (known.is_some() || was_asked).then_some(known)
            }
            ParamSource::Env(name) => Some(match machine {
                Machine::Here(host) => {
                    host.env(name).and_then(|value| value.into_string().ok()).filter(|v| !v.is_empty()).map(Value::Text)
                }
                Machine::Elsewhere => None,
            }),
            ParamSource::Default(text) => Some(Some(Value::Text(text.clone()))),
        });
        let found = value.flatten().find_map(|value| param.kind.admit(&value, param.choices.as_slice()));
        if let Some(value) = found {
            values.insert(param.name.clone(), value);
        }
    }
}
