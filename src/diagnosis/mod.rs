//! Which recipes explain the evidence, in which order, and how sure.
//!
//! Signatures decide whether a recipe applies; the machine's answers decide which of its causes it is, how sure
//! that is, and whether a repair may follow. Nothing here writes or runs anything.

mod audit;
mod excerpt;
mod nearest;
mod ranking;
pub mod stage;
pub mod went_on;

use std::collections::BTreeMap;
use std::ffi::OsString;

use serde::{Deserialize, Serialize};

use crate::evidence::log::{Hit, LogScan};
use crate::evidence::{Host, Machine, ProbeAnswer, interrogate};
use crate::recipe::{
    Applicability, Case, CaseVerdict, Param, ParamKind, ParamSource, Recipe, Role, Side, Text, Value, Values,
};

pub use audit::audit;
pub use excerpt::Excerpt;
pub use nearest::{Resemblance, nearest};
pub use ranking::rank;
use went_on::Course;

/// How sure a finding is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Confidence {
    Refuted,
    Possible,
    Likely,
    Certain,
}

/// One recipe that explains the evidence, or that the machine refutes.
#[derive(Debug, Clone, PartialEq)]
pub struct Finding {
    pub recipe: Recipe,
    /// Index of the recipe's case that was taken; `None` when none holds.
    pub case: Option<usize>,
    pub confidence: Confidence,
    /// The strictest of recipe and case.
    pub applicability: Applicability,
    /// Parameters from logs and the command line: what the failure itself gave.
    pub given: Values,
    /// All parameters and `probe.value`s.
    pub values: Values,
    pub answers: Vec<ProbeAnswer>,
    pub evidence: Vec<Excerpt>,
    /// The log went on after it: something else may be what failed in the end.
    pub went_on: bool,
    /// This machine was asked about it.
    pub asked: bool,
    /// Log and line of the first required match, for ranking; `None` without a log.
    pub first_seen: Option<(usize, u64)>,
}

/// What a diagnosis goes by.
pub struct Evidence<'a> {
    pub logs: &'a [LogScan],
    /// Which signature each scanned pattern belongs to.
    pub patterns: &'a [PatternOwner],
    pub host: &'a dyn Host,
    pub origin: Origin,
    /// The user's command, where there is one.
    pub command: Option<&'a [OsString]>,
    /// Values from `--set`, already checked against the recipe.
    pub set: &'a Values,
}

/// The signature that a pattern comes from.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PatternOwner {
    pub recipe: String,
    /// Index into the recipe's signatures.
    pub signature: usize,
    pub role: Role,
    /// Lines within which a veto counts, none for its own lines alone.
    pub lines: u32,
    pub side: Side,
}

/// Whose log it is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Origin {
    /// Written by a command that `fix` ran here, or it names this project: the machine is asked.
    ThisMachine,
    /// It came through a pipe into this project: the machine may confirm it, and never refutes it.
    Piped,
    /// From somewhere else: only the log speaks.
    Elsewhere,
}

/// Lists the recipes whose required signatures all match in one log and are not vetoed, in order of appearance.
pub fn candidates(logs: &[LogScan], patterns: &[PatternOwner], required: &BTreeMap<String, Vec<usize>>) -> Vec<String> {
    let mut found: Vec<(usize, u64, String)> = Vec::new();
    for (at, log) in logs.iter().enumerate() {
        for (recipe, signatures) in required {
            let hits = standing_hits(log, patterns, recipe);
            let whole = !signatures.is_empty()
                && signatures
                    .iter()
                    .all(|signature| hits.iter().any(|hit| patterns[hit.pattern].signature == *signature));
            if let (true, Some(first)) = (whole, hits.iter().map(|hit| hit.first_line).min())
                && !found.iter().any(|(_, _, id)| id == recipe)
            {
                found.push((at, first, recipe.clone()));
            }
        }
    }
    found.sort();
    found.into_iter().map(|(_, _, id)| id).collect()
}

/// The required matches of a recipe in a log that no veto stands beside.
fn standing_hits<'a>(log: &'a LogScan, patterns: &[PatternOwner], recipe: &str) -> Vec<&'a Hit> {
    let of = |role: Role| {
        log.hits.iter().filter(move |hit| {
            let owner = &patterns[hit.pattern];
            owner.recipe == recipe && owner.role == role
        })
    };
    of(Role::Required)
        .filter(|hit| {
            !of(Role::Veto).any(|veto| {
                let owner = &patterns[veto.pattern];
                // Where programs write by turns, only so many lines are the same program's.
                let reach = u64::from(owner.lines) * u64::from(hit.programs);
                // What another rank, container or job wrote says nothing about this one's failure.
                if hit.program.is_other(veto.program) {
                    return false;
                }
                let (back, ahead) = match owner.side {
                    Side::Before => (0, reach),
                    Side::After => (reach, 0),
                    Side::Around => (reach, reach),
                };
                veto.first_line <= hit.last_line + back && hit.first_line <= veto.last_line + ahead
            })
        })
        .collect()
}

/// Examines one recipe against the evidence.
///
/// Returns `None` when logs were given and the recipe's signatures do not match, or when no log was given and
/// the machine shows nothing of it.
pub fn examine(recipe: &Recipe, evidence: &Evidence<'_>) -> Option<Finding> {
    let as_if = |origin| examine_as(recipe, &Evidence { origin, ..*evidence });
    match evidence.origin {
        Origin::ThisMachine | Origin::Elsewhere => as_if(evidence.origin),
        Origin::Piped => {
            let here = as_if(Origin::ThisMachine)?;
            if here.confidence >= Confidence::Likely { Some(here) } else { as_if(Origin::Elsewhere) }
        }
    }
}

fn examine_as(recipe: &Recipe, evidence: &Evidence<'_>) -> Option<Finding> {
    let mut hits: Vec<(usize, &Hit)> = Vec::new();
    let mut stopped = false;
    for (at, log) in evidence.logs.iter().enumerate() {
        let standing = standing_hits(log, evidence.patterns, &recipe.id);
        if standing.is_empty() {
            continue;
        }
        match went_on::course(log, evidence.patterns, &standing) {
            Course::Stopped => stopped = true,
            Course::WentOn => {}
            Course::Ended => continue,
        }
        hits.extend(log.hits.iter().map(|hit| (at, hit)).filter(|(_, hit)| {
            let owner = &evidence.patterns[hit.pattern];
            owner.recipe == recipe.id
                && owner.role == Role::Supporting
                && standing.iter().any(|failed| !failed.program.is_other(hit.program))
        }));
        hits.extend(standing.into_iter().map(|hit| (at, hit)));
    }
    if hits.is_empty() && !evidence.logs.is_empty() {
        return None;
    }
    hits.sort_by_key(|(at, hit)| (*at, hit.first_line, hit.pattern));
    let mut values = captured(&recipe.params, &hits);
    values.extend(evidence.set.iter().map(|(name, value)| (name.clone(), value.clone())));

    let machine = match evidence.origin {
        Origin::ThisMachine => Machine::Here(evidence.host),
        Origin::Elsewhere | Origin::Piped => Machine::Elsewhere,
    };
    let given = values.clone();
    let (answers, values) = interrogate(recipe, values, machine, evidence.command);
    let case = recipe.cases.iter().position(|case| holds(case, &answers, &values));
    let verdict = case.map_or(CaseVerdict::Possible, |at| recipe.cases[at].verdict);
    let nothing_shown = matches!(verdict, CaseVerdict::Possible | CaseVerdict::Refuted);
    if recipe.only_here && nothing_shown {
        return None;
    }
    if hits.is_empty() && (verdict == CaseVerdict::Possible || verdict == CaseVerdict::Refuted) {
        return None;
    }
    let confidence = match verdict {
        CaseVerdict::Certain => Confidence::Certain,
        CaseVerdict::Refuted => Confidence::Refuted,
        // The log itself says it; which cause it is stays open.
        CaseVerdict::Possible | CaseVerdict::Likely => {
            if hits.is_empty() || verdict == CaseVerdict::Likely {
                Confidence::Likely
            } else {
                Confidence::Possible
            }
        }
    };
    // A log from elsewhere proves its own failure, not anything about this machine.
    let confidence = match evidence.origin {
        Origin::Elsewhere | Origin::Piped => Confidence::Likely,
        Origin::ThisMachine => confidence,
    };
    let applicability =
        case.map_or(Applicability::Manual, |at| recipe.cases[at].applicability).min(recipe.applicability);
    let first_seen = hits
        .iter()
        .filter(|(_, hit)| evidence.patterns[hit.pattern].role == Role::Required)
        .map(|(at, hit)| (*at, hit.first_line))
        .min();
    let excerpts = excerpt::from_hits(evidence.logs, &hits);
    let went_on = !hits.is_empty() && !stopped;
    Some(Finding {
        recipe: recipe.clone(),
        case,
        confidence,
        applicability,
        given,
        values,
        answers,
        evidence: excerpts,
        went_on,
        asked: evidence.origin == Origin::ThisMachine,
        first_seen,
    })
}

/// Takes parameters out of the captures: the first match gives a single value, all matches give a list.
fn captured(params: &[Param], hits: &[(usize, &Hit)]) -> Values {
    let mut values = Values::new();
    for param in params {
        let groups: Vec<&str> = param
            .from
            .iter()
            .filter_map(|source| match source {
                ParamSource::Capture(group) => Some(group.as_str()),
                ParamSource::Probe { .. } | ParamSource::Env(_) | ParamSource::Default(_) => None,
            })
            .collect();
        let mut items: Vec<String> = Vec::new();
        for text in
            hits.iter().flat_map(|(_, hit)| groups.iter().filter_map(|group| hit.captures.get(*group)).flatten())
        {
            // One capture may list several names, as CMake does: "A, B" or "A B". A path may hold blanks itself.
            let several = param.list && param.kind == ParamKind::Text;
            let parts: Vec<&str> = if several {
                text.split([',', ' ', ';']).filter(|part| !part.is_empty()).collect()
            } else {
                vec![text]
            };
            for part in parts {
                if !items.iter().any(|item| item == part) {
                    items.push(part.to_owned());
                }
            }
        }
        let value = if param.list {
            param.kind.admit(&Value::List(items), &param.choices)
        } else {
            items.into_iter().find_map(|item| param.kind.admit(&Value::Text(item), &param.choices))
        };
        if let Some(value) = value {
            values.insert(param.name.clone(), value);
        }
    }
    values
}

/// Says whether all conditions of a case hold.
fn holds(case: &Case, answers: &[ProbeAnswer], values: &Values) -> bool {
    case.when.iter().all(|(name, words)| {
        if let Some(answer) = answers.iter().find(|answer| answer.probe == *name) {
            return words.iter().any(|word| word == answer.answer.word);
        }
        let value = values.get(name).map(Value::to_list).unwrap_or_default();
        value.iter().any(|item| words.contains(item))
    })
}

impl Finding {
    /// The case that was taken.
    pub fn case(&self) -> Option<&Case> {
        self.case.map(|at| &self.recipe.cases[at])
    }

    /// What is wrong here; in general where no case says.
    pub fn says(&self) -> Text {
        self.case().and_then(|case| case.says.fill(&self.values)).unwrap_or_else(|| self.recipe.cause.clone())
    }

    /// What it is called: by the case that was taken, else by the recipe.
    pub fn title(&self) -> &Text {
        self.case().and_then(|case| case.title.as_ref()).unwrap_or(&self.recipe.title)
    }

    /// What helps: by the case that was taken, else by the recipe.
    pub fn remedy(&self) -> &Text {
        self.case().and_then(|case| case.remedy.as_ref()).unwrap_or(&self.recipe.remedy)
    }

    /// The recipe's parameters that have a value, without probe values.
    pub fn params(&self) -> Values {
        self.recipe
            .params
            .iter()
            .filter_map(|param| Some((param.name.clone(), self.values.get(&param.name)?.clone())))
            .collect()
    }

    /// What tells this failure from another of the same recipe: id and identifying parameters, no line numbers,
    /// process ids or temporary paths.
    pub fn fingerprint(&self) -> String {
        let identifying = self.recipe.params.iter().filter(|param| param.identifying);
        let parts: Vec<String> = identifying
            .filter_map(|param| Some(format!("{}={}", param.name, self.values.get(&param.name)?.to_text())))
            .collect();
        format!("{}[{}]", self.recipe.id, parts.join(";"))
    }
}

#[cfg(test)]
#[path = "veto_tests.rs"]
mod tests;
