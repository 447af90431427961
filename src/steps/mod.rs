//! Verbs: parameters in, changes out. One file a verb; none writes.

mod append_linker_flags_env;
mod merge_linker_flags;

use std::collections::BTreeMap;
use std::ffi::OsString;

use crate::change::{Change, EnvOverlay};
use crate::evidence::{Host, questions::ArgSpec};
use crate::recipe::{Applicability, Text, Value};

/// A verb that recipes can name.
pub struct Verb {
    pub name: &'static str,
    /// One sentence for authors of recipes.
    pub about: &'static str,
    pub args: &'static [ArgSpec],
    pub lower: fn(&Order<'_>) -> Result<Lowered, LowerError>,
}

/// What a verb is asked to do.
pub struct Order<'a> {
    /// Arguments by name, already filled.
    pub args: &'a BTreeMap<String, Value>,
    pub host: &'a dyn Host,
    /// The user's command, where there is one.
    pub command: Option<&'a [OsString]>,
    /// What earlier steps of the same plan want, so that two edits of one file add up.
    pub so_far: &'a Lowered,
}

/// What a verb comes to.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Lowered {
    pub changes: Vec<Change>,
    pub overlay: EnvOverlay,
    /// Arguments added to the user's command on the re-run (`-DNAME:TYPE=VALUE` carried over from an old cache).
    pub rerun_args: Vec<OsString>,
    /// What the user should know beside the diff.
    pub notes: Vec<Text>,
    /// What is left for the user to do.
    pub advice: Vec<Text>,
    /// Reasons that make the plan stricter than the recipe says.
    pub limits: Vec<(Applicability, Text)>,
}

/// Why a verb cannot do what it is asked here; nothing of the plan is done then.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{}", .0.en)]
pub struct LowerError(pub Text);

impl Order<'_> {
    /// Returns an argument as text, where it is given and not empty.
    pub fn text(&self, name: &str) -> Option<String> {
        self.args.get(name).map(Value::to_text).filter(|text| !text.is_empty())
    }

    /// Returns an argument as text, or the error that it has no value.
    pub fn require(&self, name: &str) -> Result<String, LowerError> {
        self.text(name).ok_or_else(|| {
            LowerError(Text::new(format!("`{name}` has no value here"), format!("`{name}` 在此没有取值")))
        })
    }

    /// Returns an argument as a list; absent is empty.
    pub fn list(&self, name: &str) -> Vec<String> {
        self.args.get(name).map(Value::to_list).unwrap_or_default()
    }
}

/// All verbs.
const VERBS: &[&Verb] = &[&append_linker_flags_env::VERB, &merge_linker_flags::VERB];

/// Finds a verb by name.
pub fn find(name: &str) -> Option<&'static Verb> {
    all().find(|verb| verb.name == name)
}

/// Lists all verbs.
pub fn all() -> impl Iterator<Item = &'static Verb> {
    VERBS.iter().copied()
}
