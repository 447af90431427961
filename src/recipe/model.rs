//! The types of a recipe, as its file has them.
//!
//! `build.rs` compiles this file too: it may use nothing but `template` and `text` beside it.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use super::{Template, Text};

/// One known issue.
#[derive(Debug, Clone, PartialEq)]
pub struct Recipe {
    /// `tda-1.9`; equal to the file's name.
    pub id: String,
    /// Names the symptom: `llvmcgdata-residue`.
    pub slug: String,
    pub aliases: Vec<String>,
    /// Family of the id: `cmake`, `cc`, `pip`, …
    pub family: String,
    /// The most that may ever be done on this recipe's word; a case may be stricter.
    pub applicability: Applicability,
    /// Why it is not `safe`; required then.
    pub why: Option<Text>,
    pub title: Text,
    /// What is wrong, in general; a case says what it is here.
    pub cause: Text,
    /// What helps, in general.
    pub remedy: Text,
    /// Where and why the repair departs from the FAQ.
    pub departs: Option<Text>,
    pub references: Vec<String>,
    /// What a user sees or types, for searching. A recipe that no log tells of has these and no signature.
    pub symptoms: Vec<Text>,
    /// Ids whose findings this one explains, so that they are not reported beside it.
    pub masks: Vec<String>,
    /// Nothing is said unless this machine shows a cause: the signature's words are those of many other failures.
    pub only_here: bool,
    /// What may be found without a log; `None` where only a log tells.
    pub audit: Option<Audit>,
    pub params: Vec<Param>,
    pub signatures: Vec<Signature>,
    pub probes: Vec<Probe>,
    /// The causes told apart, most specific first: the first whose `when` holds is taken.
    pub cases: Vec<Case>,
}

/// What may be found without a log.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Audit {
    /// Names of the cases that the machine alone shows.
    pub cases: Vec<String>,
    /// A parameter that is given each value of a probe's list, one after the other: a project may have several trees.
    pub each: Option<Each>,
}

/// A parameter and the list that it takes its values from.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Each {
    pub param: String,
    pub probe: String,
    pub value: String,
}

/// How much may be done without asking, in rising order.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize, Hash)]
#[serde(rename_all = "kebab-case")]
pub enum Applicability {
    /// Advice only.
    Manual,
    /// Done after a yes, or with `--yes=confirm`.
    Confirm,
    /// Done with plain `--yes`.
    Safe,
}

/// A named, typed value of a recipe.
#[derive(Debug, Clone, PartialEq)]
pub struct Param {
    pub name: String,
    pub kind: ParamKind,
    /// Several values, in order of appearance, without repetition.
    pub list: bool,
    /// Part of the fingerprint that tells two failures of one recipe apart.
    pub identifying: bool,
    /// Sources, tried in this order after `--set`.
    pub from: Vec<ParamSource>,
    /// The only values allowed, when not empty.
    pub choices: Vec<String>,
    /// What `--set` help and questions say.
    pub help: Option<Text>,
}

/// What a parameter's text must look like; checked before it is used anywhere.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum ParamKind {
    Path,
    Url,
    Port,
    Version,
    Text,
}

/// Where a parameter's value comes from.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum ParamSource {
    /// A named group of a signature's regular expression.
    Capture(String),
    /// A value of a probe's answer.
    Probe {
        probe: String,
        value: String,
    },
    /// An environment variable.
    Env(String),
    Default(String),
}

/// Text that a log shows.
#[derive(Debug, Clone, PartialEq)]
pub struct Signature {
    pub role: Role,
    /// Alternatives; one match is enough. A space matches a line break and its indentation.
    pub any: Vec<String>,
    /// Lines that a match may span; of a veto also how far it reaches, none for its own line alone.
    pub lines: u32,
    /// Where a veto reaches.
    pub side: Side,
}

/// On which side of a veto a match must stand to be vetoed; on its own lines it always is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Side {
    /// The veto stands before the match.
    Before,
    /// The veto stands after the match.
    After,
    Around,
}

/// What a match of a signature means.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, Hash)]
#[serde(rename_all = "kebab-case")]
pub enum Role {
    /// Every required signature must be there.
    Required,
    /// Adds parameters and evidence, decides nothing.
    Supporting,
    /// The recipe does not apply.
    Veto,
}

/// A question put to the machine.
#[derive(Debug, Clone, PartialEq)]
pub struct Probe {
    pub name: String,
    /// Name of a question of [`crate::evidence::questions`].
    pub question: String,
    /// Arguments, by the question's argument names.
    pub args: BTreeMap<String, Template>,
}

/// One cause of the issue, told apart by the machine's answers.
#[derive(Debug, Clone, PartialEq)]
pub struct Case {
    /// `stale-cache`
    pub name: String,
    /// Probe or parameter name → words, one of which it must have. All must hold.
    pub when: BTreeMap<String, Vec<String>>,
    pub verdict: CaseVerdict,
    pub applicability: Applicability,
    /// Takes the place of the recipe's own title and remedy, where this cause is another matter.
    pub title: Option<Text>,
    pub remedy: Option<Text>,
    /// One line: what is wrong here.
    pub says: TextTemplate,
    pub steps: Vec<Step>,
    /// Shown when steps cannot or should not do it.
    pub advice: Vec<TextTemplate>,
    pub verify: Vec<Check>,
}

/// What a case says about the finding.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum CaseVerdict {
    /// The machine shows this cause.
    Certain,
    /// The machine fits this cause.
    Likely,
    /// Nothing here tells; advice only.
    Possible,
    /// The machine shows that this is not the issue.
    Refuted,
}

/// A verb with its arguments.
#[derive(Debug, Clone, PartialEq)]
pub struct Step {
    /// Name of a verb of [`crate::steps`].
    pub verb: String,
    pub args: BTreeMap<String, Template>,
    /// Parameter name → words, one of which it must have, else the step is left out.
    pub only_if: BTreeMap<String, Vec<String>>,
}

/// A fact that must hold after the repair: a probe asked again.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Check {
    pub probe: String,
    /// The answers that prove it.
    pub is: Vec<String>,
    pub stage: Stage,
}

/// When a check can be made.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Stage {
    /// Right after the changes, and again after the re-run.
    Static,
    /// Only after the user's command ran again.
    Rerun,
}

/// A bilingual template.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct TextTemplate {
    pub en: Template,
    pub zh: Template,
}

/// A value of a parameter or an answer.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(untagged)]
pub enum Value {
    Text(String),
    List(Vec<String>),
}

impl Value {
    /// Returns the value as one text: a list is joined by `, `.
    pub fn to_text(&self) -> String {
        match self {
            Value::Text(text) => text.clone(),
            Value::List(items) => items.join(", "),
        }
    }

    /// Returns the value as a list: a text is a list of one, an empty text an empty list.
    pub fn to_list(&self) -> Vec<String> {
        match self {
            Value::Text(text) if text.is_empty() => Vec::new(),
            Value::Text(text) => vec![text.clone()],
            Value::List(items) => items.clone(),
        }
    }
}

/// Values by name: `package`, or `tree.path` for a probe's.
pub type Values = BTreeMap<String, Value>;

impl TextTemplate {
    /// Fills both languages for a reader; `None` when a variable without a value leaves nothing to say.
    pub fn fill(&self, values: &Values) -> Option<Text> {
        Some(Text { en: self.en.fill_for_reading(values)?, zh: self.zh.fill_for_reading(values)? })
    }

    /// Shows both languages in the catalogue: variables are named, `<generator>`.
    pub fn outline(&self) -> Text {
        Text { en: self.en.outline(), zh: self.zh.outline() }
    }
}

impl From<String> for Value {
    fn from(text: String) -> Self {
        Value::Text(text)
    }
}

impl From<&str> for Value {
    fn from(text: &str) -> Self {
        Value::Text(text.to_owned())
    }
}

impl From<Vec<String>> for Value {
    fn from(items: Vec<String>) -> Self {
        Value::List(items)
    }
}
