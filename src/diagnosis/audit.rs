//! What the machine shows of a recipe without any log.

use super::{Evidence, Finding, Origin, examine};
use crate::evidence::{Host, Machine, interrogate};
use crate::recipe::{Each, Recipe, Value, Values};

/// More values of one list than anybody has: build trees, environments.
const MOST_EACH: usize = 64;

/// Examines a recipe on this machine without a log. Only the cases that the recipe's `[audit]` names count.
pub fn audit(recipe: &Recipe, host: &dyn Host) -> Vec<Finding> {
    let Some(audit) = &recipe.audit else { return Vec::new() };
    let given = audit.each.as_ref().map(|each| each_of(recipe, each, host)).filter(|given| !given.is_empty());
    let mut found: Vec<Finding> = Vec::new();
    for set in given.unwrap_or_else(|| vec![Values::new()]) {
        let evidence =
            Evidence { logs: &[], patterns: &[], host, origin: Origin::ThisMachine, command: None, set: &set };
        let Some(finding) = examine(recipe, &evidence) else { continue };
        let is_new = |finding: &Finding| {
            !found
                .iter()
                .any(|other| other.case == finding.case && other.values_but_given() == finding.values_but_given())
        };
        if finding.case().is_some_and(|case| audit.cases.contains(&case.name)) && is_new(&finding) {
            found.push(finding);
        }
    }
    found
}

/// The parameter with each of the values that a probe finds on this machine.
fn each_of(recipe: &Recipe, each: &Each, host: &dyn Host) -> Vec<Values> {
    let Some(param) = recipe.params.iter().find(|param| param.name == each.param) else { return Vec::new() };
    let (_, values) = interrogate(recipe, Values::new(), Machine::Here(host), None);
    let listed = values.get(&format!("{}.{}", each.probe, each.value)).map(Value::to_list).unwrap_or_default();
    let admitted = listed.into_iter().take(MOST_EACH).filter_map(|item| {
        let value = if param.list { Value::List(vec![item]) } else { Value::Text(item) };
        Some(Values::from([(param.name.clone(), param.kind.admit(&value, &param.choices)?)]))
    });
    admitted.collect()
}

impl Finding {
    /// All values but those that the finding was asked with: two ways to one thing are one finding.
    fn values_but_given(&self) -> Values {
        self.values
            .iter()
            .filter(|(name, _)| !self.given.contains_key(*name))
            .map(|(n, v)| (n.clone(), v.clone()))
            .collect()
    }
}
