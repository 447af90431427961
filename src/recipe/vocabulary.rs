//! The questions and verbs that a recipe may name, as plain data.
//!
//! Recipes are read below the modules that answer questions and carry out verbs, so whoever sees both builds this
//! value and hands it in.

/// The word that every question can answer with: this cannot be found out here.
pub const UNKNOWN: &str = "unknown";

/// Finds literals one of which stands in every text that a regular expression matches, or says why the expression
/// cannot be a signature: as a whole message.
pub type AnchorFinder = fn(&str) -> Result<Vec<String>, String>;

/// Everything that a recipe may name.
#[derive(Debug, Clone)]
pub struct Vocabulary {
    pub questions: Vec<QuestionTerm>,
    pub verbs: Vec<VerbTerm>,
    pub anchors: AnchorFinder,
    /// A literal of fewer bytes would have every log gone over once more.
    pub least_anchor: usize,
}

/// A question, without the function that answers it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct QuestionTerm {
    pub name: &'static str,
    pub about: &'static str,
    pub args: Vec<ArgTerm>,
    /// The words it answers with, besides [`UNKNOWN`].
    pub answers: Vec<&'static str>,
    /// Names of the values that may come with an answer.
    pub values: Vec<&'static str>,
}

/// A verb, without the function that lowers it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct VerbTerm {
    pub name: &'static str,
    pub about: &'static str,
    pub args: Vec<ArgTerm>,
}

/// An argument of a question or a verb.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ArgTerm {
    pub name: &'static str,
    pub required: bool,
    pub about: &'static str,
}

impl Vocabulary {
    /// Finds a question by name.
    pub fn question(&self, name: &str) -> Option<&QuestionTerm> {
        self.questions.iter().find(|question| question.name == name)
    }

    /// Finds a verb by name.
    pub fn verb(&self, name: &str) -> Option<&VerbTerm> {
        self.verbs.iter().find(|verb| verb.name == name)
    }
}

impl QuestionTerm {
    /// Lists all words it can answer with, [`UNKNOWN`] last.
    pub fn words(&self) -> Vec<&str> {
        self.answers.iter().copied().chain([UNKNOWN]).collect()
    }
}
