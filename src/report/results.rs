//! What the commands besides `diagnose` hand out.

use serde::Serialize;

use crate::change::{EnvEdit, EnvOverlay};
use crate::recipe::{Applicability, ParamKind, Recipe, Text};

use super::{Finding, Outcome, RefusalReason, Unmatched, all_english, english, maybe_english, words};

/// The result of `fix apply`.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct ApplyResult {
    pub outcome: Outcome,
    pub exit_code: u8,
    /// What `fix rollback` takes.
    pub group: Option<String>,
    pub repairs: Vec<RepairLine>,
    pub refused: Vec<Refusal>,
    /// The command to run next, where it was not run for the user.
    pub next: Vec<String>,
}

/// The result of `fix run`.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct RunResult {
    pub outcome: Outcome,
    pub exit_code: u8,
    pub command: Vec<String>,
    /// Each run of the command, in order.
    pub runs: Vec<RunLine>,
    pub group: Option<String>,
    pub repairs: Vec<RepairLine>,
    pub refused: Vec<Refusal>,
    /// What is still wrong.
    pub remaining: Vec<Finding>,
    /// What there is to go by when nothing known matches.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub unmatched: Option<Unmatched>,
}

impl RunResult {
    /// Says whether it failed and nothing was tried.
    pub fn is_first_failure(&self) -> bool {
        self.outcome == Outcome::StillFailing && self.runs.len() < 2 && self.repairs.is_empty()
    }

    /// Says how it ended.
    pub fn sentence(&self) -> Text {
        if self.is_first_failure() { words::command_failed() } else { self.outcome.sentence() }
    }
}

/// The result of `fix plan`.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct PlanResult {
    pub outcome: Outcome,
    pub exit_code: u8,
    /// Where it was written.
    pub file: Option<String>,
    pub digest: Option<String>,
    pub repairs: Vec<RepairLine>,
    pub refused: Vec<Refusal>,
}

/// The result of `fix rollback`.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct RollbackResult {
    pub outcome: Outcome,
    pub exit_code: u8,
    pub group: Option<String>,
    /// Paths that are as before again.
    pub restored: Vec<String>,
    /// Where newcomers were moved that stood in the way.
    pub kept: Vec<String>,
    pub refused: Vec<Refusal>,
}

/// A command that could not do what it was asked for.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Failure {
    pub outcome: Outcome,
    pub exit_code: u8,
    pub error: String,
    pub hint: Option<String>,
    /// The same, where a guard held.
    pub refused: Vec<Refusal>,
    /// What is known of it; absent when nothing is.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub findings: Vec<super::Finding>,
}

/// Several explanations that were asked for at once; one alone is its own document.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Pages {
    pub outcome: Outcome,
    /// Each as it is alone.
    pub pages: Vec<serde_json::Value>,
}

/// One repair within a result.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct RepairLine {
    pub id: String,
    pub slug: String,
    /// The recipe's case.
    pub case: String,
    pub applicability: Applicability,
    pub outcome: Outcome,
    #[serde(serialize_with = "english")]
    pub title: Text,
    /// Why it is not `safe`.
    #[serde(serialize_with = "all_english")]
    pub limits: Vec<Text>,
    pub changes: Vec<ChangeLine>,
    pub checks: Vec<CheckLine>,
}

/// One change.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct ChangeLine {
    pub kind: ChangeKind,
    /// The file, folder, variable, or the command's folder.
    pub path: String,
    /// Of a command.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub argv: Vec<String>,
    /// Of a folder.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub files: Option<u64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub bytes: Option<u64>,
}

/// What a change does.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum ChangeKind {
    WriteFile,
    RemoveFile,
    RemoveTree,
    Run,
    Environment,
    /// The user's command runs again with other words: these are `argv`.
    Command,
    /// What must hold then: `port` is free.
    Precondition,
}

/// A fact that was looked at after the repair.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct CheckLine {
    pub question: String,
    pub answer: String,
    /// Whether the answer proves the repair.
    pub holds: bool,
    #[serde(serialize_with = "english")]
    pub seen: Text,
}

/// Something that was not done.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Refusal {
    pub reason: RefusalReason,
    pub path: Option<String>,
    /// Lower-case fragment.
    #[serde(serialize_with = "english")]
    pub says: Text,
    /// What the user can do.
    #[serde(serialize_with = "maybe_english")]
    pub hint: Option<Text>,
}

/// One run of the user's command.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct RunLine {
    pub status: i32,
    /// Ids of the repairs in place at that run.
    pub with: Vec<String>,
}

/// The catalogue: `fix list`.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Catalogue {
    pub outcome: Outcome,
    pub recipes: Vec<CatalogueLine>,
}

/// A recipe in the catalogue.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct CatalogueLine {
    pub id: String,
    pub slug: String,
    pub aliases: Vec<String>,
    pub applicability: Applicability,
    #[serde(serialize_with = "english")]
    pub title: Text,
}

/// A recipe's page: `fix show`.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct RecipePage {
    pub outcome: Outcome,
    pub id: String,
    pub slug: String,
    pub aliases: Vec<String>,
    pub applicability: Applicability,
    #[serde(serialize_with = "maybe_english")]
    pub why: Option<Text>,
    #[serde(serialize_with = "english")]
    pub title: Text,
    #[serde(serialize_with = "english")]
    pub cause: Text,
    #[serde(serialize_with = "english")]
    pub remedy: Text,
    #[serde(serialize_with = "maybe_english")]
    pub departs: Option<Text>,
    pub references: Vec<String>,
    pub params: Vec<ParamLine>,
    pub cases: Vec<CaseLine>,
}

/// An error code, explained: `fix show EI0020`.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct CodePage {
    pub id: String,
    #[serde(serialize_with = "english")]
    pub title: Text,
    #[serde(serialize_with = "english")]
    pub meaning: Text,
    #[serde(serialize_with = "english")]
    pub remedy: Text,
    /// The known issue that prints it.
    pub recipe: Option<String>,
    pub source: String,
    /// What the installed CANN says, line by line.
    pub installed: Vec<String>,
}

/// A parameter that `--set` takes.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct ParamLine {
    pub name: String,
    pub kind: ParamKind,
    pub choices: Vec<String>,
    #[serde(serialize_with = "maybe_english")]
    pub help: Option<Text>,
}

/// A cause that the recipe tells apart.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct CaseLine {
    pub name: String,
    pub applicability: Applicability,
    #[serde(serialize_with = "english")]
    pub says: Text,
    /// Verbs, in order; none is advice only.
    pub steps: Vec<String>,
}

/// The environment of a repair: `fix env`.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Environment {
    pub outcome: Outcome,
    /// Ids of the recipes that it comes from.
    pub recipes: Vec<String>,
    pub variables: Vec<VariableLine>,
}

/// What happens to one variable.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct VariableLine {
    pub name: String,
    /// `set`, `unset` or `prepend`.
    pub action: &'static str,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub value: Option<String>,
    /// Folders to put in front of the list, first one first.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub folders: Vec<String>,
}

impl VariableLine {
    /// Lists the variables of an overlay, by name.
    pub fn all_of(overlay: &EnvOverlay) -> Vec<Self> {
        let of = |(name, edit): (&str, &EnvEdit)| {
            let (action, value, folders) = match edit {
                EnvEdit::Set(value) => ("set", Some(value.clone()), Vec::new()),
                EnvEdit::Unset => ("unset", None, Vec::new()),
                EnvEdit::Prepend(folders) => ("prepend", None, folders.clone()),
            };
            Self { name: name.to_owned(), action, value, folders }
        };
        overlay.iter().map(of).collect()
    }
}

/// The operation log: `fix history`.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct History {
    pub outcome: Outcome,
    /// Newest first.
    pub groups: Vec<HistoryLine>,
    /// What `prune` deleted, or would delete.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub deleted: Vec<HistoryLine>,
}

/// One invocation that changed something.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct HistoryLine {
    pub id: String,
    /// Seconds since 1970, UTC.
    #[serde(serialize_with = "super::time::serialize")]
    pub time: i64,
    pub outcome: Outcome,
    pub folder: String,
    pub recipes: Vec<String>,
    pub changes: usize,
    /// What is kept for undoing it; gone after pruning.
    pub bytes: u64,
}

impl RecipePage {
    /// Shows what a recipe says.
    pub fn of(recipe: &Recipe) -> Self {
        Self {
            outcome: Outcome::Listed,
            id: recipe.id.clone(),
            slug: recipe.slug.clone(),
            aliases: recipe.aliases.clone(),
            applicability: recipe.applicability,
            why: recipe.why.clone(),
            title: recipe.title.clone(),
            cause: recipe.cause.clone(),
            remedy: recipe.remedy.clone(),
            departs: recipe.departs.clone(),
            references: recipe.references.clone(),
            params: recipe
                .params
                .iter()
                .map(|param| ParamLine {
                    name: param.name.clone(),
                    kind: param.kind,
                    choices: param.choices.clone(),
                    help: param.help.clone(),
                })
                .collect(),
            cases: recipe
                .cases
                .iter()
                .map(|case| CaseLine {
                    name: case.name.clone(),
                    applicability: case.applicability,
                    says: case.says.outline(),
                    steps: case.steps.iter().map(|step| step.verb.clone()).collect(),
                })
                .collect(),
        }
    }
}
