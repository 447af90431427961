//! Questions to the machine: one public function a question, in files by subject.
//!
//! A question reads, never writes, and never runs anything of the project. It answers with one word out of a
//! closed set and with values; what it cannot find out is [`UNKNOWN`], never a guess.

mod ascend_environment;
mod ascend_tools;
mod build_files;
mod build_memory;
mod built_before;
mod cached_tools;
mod cmake_cache;
mod cmake_link_inputs;
mod cmake_llvm;
mod cmake_moved;
mod cmake_package;
mod cmake_products;
mod cmake_tree;
mod compiler_gone;
mod conda_channel;
mod conda_setup;
mod custom_ops_environment;
mod distribution;
mod extension_build;
mod git_submodules;
mod glibc;
mod hccl;
mod library_folder;
mod libstdcxx;
mod link_folders;
mod loader_symbol;
mod memory;
mod npu;
pub(crate) mod object_kind;
mod paths;
mod pip_environment;
mod pip_index;
mod program_on_machine;
mod python_code;
mod python_environment;
mod python_headers;
pub(crate) mod python_source;
pub(crate) mod python_version;
mod python_wheel;
pub mod setup_cmake_args;
mod setup_dropped_linker;
#[cfg(test)]
pub(crate) mod testing;
mod toolchain;
mod torch_port;
pub(crate) mod triton_backends;
mod uv_index;

use std::collections::BTreeMap;
use std::ffi::OsString;

use super::Host;
use crate::os::AbsPath;
use crate::recipe::{Text, Value};

/// The word for "this cannot be found out here".
pub const UNKNOWN: &str = "unknown";

/// A question that recipes can name.
pub struct Question {
    pub name: &'static str,
    /// One sentence for authors of recipes.
    pub about: &'static str,
    pub args: &'static [ArgSpec],
    /// The words it can answer with, besides [`UNKNOWN`].
    pub answers: &'static [&'static str],
    /// Names of the values that come with an answer; each may be absent.
    pub values: &'static [&'static str],
    pub ask: fn(&Inquiry<'_>) -> Answer,
}

/// An argument that a question or a verb takes.
pub struct ArgSpec {
    pub name: &'static str,
    pub required: bool,
    pub about: &'static str,
}

/// What a question is asked with.
pub struct Inquiry<'a> {
    /// Arguments by name, already filled. An argument whose variables have no value is absent.
    pub args: &'a BTreeMap<String, Value>,
    pub host: &'a dyn Host,
    /// The user's command, where there is one.
    pub command: Option<&'a [OsString]>,
}

/// What the machine says.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Answer {
    /// One of the question's `answers`, or [`UNKNOWN`].
    pub word: &'static str,
    pub values: BTreeMap<&'static str, Value>,
    /// What was seen, for the user: paths and figures, no secrets.
    pub seen: Text,
    /// Where it was seen, for audits and editors: in the order of files and lines.
    pub places: Vec<Place>,
}

/// A place in a file that an answer points to.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub struct Place {
    pub path: AbsPath,
    /// 1-based.
    pub line: u32,
    /// 1-based, in characters.
    pub column: u32,
    /// What is wrong at this very place.
    pub says: Text,
}

impl Answer {
    /// Makes an answer without values and places.
    pub fn new(word: &'static str, seen: Text) -> Self {
        Self { word, values: BTreeMap::new(), seen, places: Vec::new() }
    }

    /// Adds a value.
    #[must_use]
    pub fn with(mut self, name: &'static str, value: impl Into<Value>) -> Self {
        self.values.insert(name, value.into());
        self
    }
}

impl Inquiry<'_> {
    /// Returns an argument as text, where it is given and not empty.
    pub fn text(&self, name: &str) -> Option<String> {
        self.args.get(name).map(Value::to_text).filter(|text| !text.is_empty())
    }

    /// Returns an argument as a list; absent is empty.
    pub fn list(&self, name: &str) -> Vec<String> {
        self.args.get(name).map(Value::to_list).unwrap_or_default()
    }
}

/// All questions, by subject.
const SUBJECTS: &[&[Question]] = &[
    build_files::QUESTIONS,
    build_memory::QUESTIONS,
    built_before::QUESTIONS,
    ascend_environment::QUESTIONS,
    npu::QUESTIONS,
    ascend_tools::QUESTIONS,
    cached_tools::QUESTIONS,
    custom_ops_environment::QUESTIONS,
    cmake_cache::QUESTIONS,
    cmake_link_inputs::QUESTIONS,
    cmake_llvm::QUESTIONS,
    cmake_moved::QUESTIONS,
    cmake_package::QUESTIONS,
    cmake_products::QUESTIONS,
    cmake_tree::QUESTIONS,
    compiler_gone::QUESTIONS,
    conda_channel::QUESTIONS,
    conda_setup::QUESTIONS,
    extension_build::QUESTIONS,
    git_submodules::QUESTIONS,
    glibc::QUESTIONS,
    library_folder::QUESTIONS,
    libstdcxx::QUESTIONS,
    link_folders::QUESTIONS,
    loader_symbol::QUESTIONS,
    hccl::QUESTIONS,
    memory::QUESTIONS,
    setup_cmake_args::QUESTIONS,
    setup_dropped_linker::QUESTIONS,
    toolchain::QUESTIONS,
    triton_backends::QUESTIONS,
    paths::QUESTIONS,
    pip_environment::QUESTIONS,
    pip_index::QUESTIONS,
    program_on_machine::QUESTIONS,
    uv_index::QUESTIONS,
    python_code::QUESTIONS,
    python_headers::QUESTIONS,
    python_environment::QUESTIONS,
    python_source::QUESTIONS,
    python_version::QUESTIONS,
    python_wheel::QUESTIONS,
    torch_port::QUESTIONS,
];

/// Finds a question by name.
pub fn find(name: &str) -> Option<&'static Question> {
    all().find(|question| question.name == name)
}

/// Lists all questions.
pub fn all() -> impl Iterator<Item = &'static Question> {
    SUBJECTS.iter().flat_map(|subject| subject.iter())
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    #[test]
    fn no_two_questions_have_one_name() {
        let mut names = BTreeSet::new();
        for question in super::all() {
            assert!(names.insert(question.name), "{}", question.name);
        }
    }
}
