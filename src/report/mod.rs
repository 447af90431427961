//! One model of a result, and its renderings.
//!
//! The structs here are what leaves `fix`: whoever diagnoses, applies or undoes converts into them. Everything
//! that is rendered, as JSON or as text, is redacted on the way out; no caller has to think of it. JSON is
//! English and only ever gains keys; [`SCHEMA_VERSION`] rises when one changes its meaning.

pub mod bug;
mod edits;
mod from_plan;
pub mod github;
pub mod gitlab;
pub mod json;
pub mod junit;
pub mod markdown;
mod outcome;
mod place;
mod results;
pub mod sarif;
pub mod text;
mod time;
pub mod words;

use serde::{Deserialize, Serialize, Serializer};

use crate::recipe::{Applicability, CaseVerdict, Text, Values};

pub use edits::{Edit, edits_of};
pub use from_plan::{argv, would_do};
pub use outcome::{Outcome, RefusalReason};
pub use place::{Place, Rule, Suppressed, SuppressedBy, fingerprint};
pub use results::{
    ApplyResult, CaseLine, Catalogue, CatalogueLine, ChangeKind, ChangeLine, CheckLine, CodePage, Environment, Failure,
    History, HistoryLine, Pages, ParamLine, PlanResult, RecipePage, Refusal, RepairLine, RollbackResult, RunLine,
    RunResult, VariableLine,
};
pub use time::rfc3339;

/// The number in every JSON document.
pub const SCHEMA_VERSION: u32 = 1;

/// What is wrong and why: the document of `fix diagnose` and `fix audit`.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Diagnosis {
    /// By rank, the likeliest cause first.
    pub findings: Vec<Finding>,
    pub outcome: Outcome,
    /// What there is to go by when nothing known matches.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub unmatched: Option<Unmatched>,
    /// What was found and is not told, on the project's word.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub suppressed: Vec<Suppressed>,
}

/// A known issue that explains what was seen.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Finding {
    pub id: String,
    pub slug: String,
    /// 1 is the cause to deal with first.
    pub rank: usize,
    pub confidence: Confidence,
    pub applicability: Applicability,
    /// The recipe's case that was taken; empty when none holds.
    pub case: String,
    pub params: Values,
    pub evidence: Vec<Evidence>,
    pub answers: Vec<AnswerLine>,
    #[serde(serialize_with = "english")]
    pub title: Text,
    /// What is wrong, here where the machine tells, else in general.
    #[serde(serialize_with = "english")]
    pub cause: Text,
    #[serde(serialize_with = "english")]
    pub remedy: Text,
    /// Where it is, for editors and CI: at least one, where a machine-readable format is asked for.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub places: Vec<Place>,
    /// What `fix` would change.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub changes: Vec<ChangeLine>,
    /// The same as lines to replace, for SARIF.
    #[serde(skip)]
    pub edits: Vec<Edit>,
    /// What the recipe says in general, for SARIF.
    #[serde(skip)]
    pub rule: Rule,
    /// The command that applies it; for the terminal.
    #[serde(skip)]
    pub apply_with: String,
    /// What `fix` would do, one sentence a change; for the terminal.
    #[serde(skip)]
    pub repair: Vec<Text>,
    /// Why it is not `safe`; for the terminal.
    #[serde(skip)]
    pub limits: Vec<Text>,
}

/// How sure a finding is, in rising order after `Refuted`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Confidence {
    Refuted,
    Possible,
    Likely,
    Certain,
}

/// Lines of a log.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Evidence {
    /// Name of the file, `-` for standard input, or the stream of a command.
    pub source: String,
    /// 1-based, of the original.
    pub first_line: u64,
    pub last_line: u64,
    pub text: String,
}

/// What the machine said.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct AnswerLine {
    pub question: String,
    pub answer: String,
    #[serde(serialize_with = "english")]
    pub seen: Text,
    /// The same question, asked about something else, told what counted; for the terminal.
    #[serde(skip)]
    pub beside: bool,
}

/// What there is to go by when no recipe matches.
#[derive(Debug, Clone, Default, PartialEq, Serialize)]
pub struct Unmatched {
    /// The lines that look most like a first error.
    pub telling: Vec<Evidence>,
    pub nearest: Vec<Nearest>,
    /// The command that writes a report of it; for the terminal.
    #[serde(skip)]
    pub report_with: String,
}

/// A recipe that resembles what was seen.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Nearest {
    pub id: String,
    #[serde(serialize_with = "english")]
    pub title: Text,
}

/// Stands for a finding that nobody gave a place.
static NOWHERE: Place = Place {
    path: String::new(),
    line: 1,
    column: 1,
    says: Text { en: String::new(), zh: String::new() },
    fingerprint: String::new(),
    anchor: true,
    ignored: Vec::new(),
};

impl Diagnosis {
    /// Lists what stands, a finding at each of its places, in the order of rank.
    pub fn marks(&self) -> impl Iterator<Item = (&Finding, &Place)> {
        let standing = self.findings.iter().filter(|finding| finding.confidence != Confidence::Refuted);
        standing.flat_map(|finding| {
            let nowhere = finding.places.is_empty().then_some(&NOWHERE);
            finding.places.iter().chain(nowhere).map(move |place| (finding, place))
        })
    }

    /// Counts what is suppressed, by whose word; `None` where nothing is.
    pub fn count_suppressed(&self) -> Option<Text> {
        let count = |by| self.suppressed.iter().filter(|one| one.by == by).count();
        let parts: Vec<Text> = SuppressedBy::ALL
            .into_iter()
            .filter(|by| count(*by) > 0)
            .map(|by| match by {
                SuppressedBy::Comment => words::by_comment(count(by)),
                SuppressedBy::Config => words::by_config(count(by)),
                SuppressedBy::Baseline => words::by_baseline(count(by)),
            })
            .collect();
        let join = |pick: fn(&Text) -> &str, comma| parts.iter().map(pick).collect::<Vec<_>>().join(comma);
        let all = self.suppressed.len();
        (all > 0).then(|| {
            Text::new(
                words::suppressed(all, join(|text| &text.en, ", ")).en,
                words::suppressed(all, join(|text| &text.zh, "，")).zh,
            )
        })
    }
}

impl Finding {
    /// What a reader sees at a place: what is wrong there, and how to see the repair.
    pub fn message(&self, place: &Place) -> Text {
        let says = if place.says.en.is_empty() { &self.cause } else { &place.says };
        let how = match self.applicability {
            Applicability::Manual => words::repair_by_hand(),
            Applicability::Confirm | Applicability::Safe => words::see_repair(dry_run_of(&self.apply_with)),
        };
        let note = if place.anchor { words::stands_for_project() } else { Text::default() };
        let all = |pick: fn(&Text) -> &str| {
            let parts = [pick(says), pick(&self.remedy), pick(&how), pick(&note)];
            parts.into_iter().filter(|part| !part.is_empty()).collect::<Vec<_>>().join("\n")
        };
        Text::new(all(|text| &text.en), all(|text| &text.zh))
    }
}

/// A command of ours as a dry run: the flag stands before the user's command.
fn dry_run_of(command: &str) -> String {
    match command.split_once(" -- ") {
        Some((own, users)) => format!("{own} -n -- {users}"),
        None => format!("{command} -n"),
    }
}

impl From<CaseVerdict> for Confidence {
    fn from(verdict: CaseVerdict) -> Self {
        match verdict {
            CaseVerdict::Certain => Confidence::Certain,
            CaseVerdict::Likely => Confidence::Likely,
            CaseVerdict::Possible => Confidence::Possible,
            CaseVerdict::Refuted => Confidence::Refuted,
        }
    }
}

/// Serialises the English side of a text: JSON is for programs and for people of all languages.
pub(crate) fn english<S: Serializer>(text: &Text, serializer: S) -> Result<S::Ok, S::Error> {
    serializer.serialize_str(&text.en)
}

/// Serialises the English sides of texts.
pub(crate) fn all_english<S: Serializer>(texts: &[Text], serializer: S) -> Result<S::Ok, S::Error> {
    serializer.collect_seq(texts.iter().map(|text| &text.en))
}

/// Serialises the English side of a text that may be absent.
pub(crate) fn maybe_english<S: Serializer>(text: &Option<Text>, serializer: S) -> Result<S::Ok, S::Error> {
    text.as_ref().map(|text| &text.en).serialize(serializer)
}
