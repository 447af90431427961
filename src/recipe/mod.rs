//! What a recipe file says: one known issue, how to recognise it, what tells its causes apart, how to repair it.
//!
//! A recipe is data. It names questions ([`crate::evidence::questions`]) and verbs ([`crate::steps`]) and never
//! holds a shell line. This module reads files and checks them; it looks at no machine. What recipes may name
//! is handed in as a [`Vocabulary`]. The files that `build.rs` compiles too (see there) use nothing of ours.

mod audit;
mod cases;
pub mod catalogue;
mod check;
pub mod codes;
pub mod docs;
mod kind;
pub mod lint;
mod model;
mod names;
pub mod nearest;
mod parse;
pub mod reader;
#[cfg(test)]
mod samples;
pub mod scaffold;
mod signatures;
pub mod source;
mod template;
#[cfg(test)]
mod tests;
mod text;
mod vocabulary;

pub use model::{
    Applicability, Audit, Case, CaseVerdict, Check, Each, Param, ParamKind, ParamSource, Probe, Recipe, Role, Side,
    Signature, Stage, Step, TextTemplate, Value, Values,
};
pub use names::RESERVED;
pub use parse::parse;
pub use source::RecipeError;
pub use template::{Template, TemplateError};
pub use text::{Lang, Text};
pub use vocabulary::{AnchorFinder, ArgTerm, QuestionTerm, UNKNOWN, VerbTerm, Vocabulary};
