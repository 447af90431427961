//! Which solver conda is told to use, and whether libmamba's is installed beside it.

use std::ffi::OsString;

use super::command::CondaCommand;
use super::sources::{self, SOLVER_VARIABLES, SourceKind};
use crate::evidence::build_command::plain_words;
use crate::evidence::{FileKind, Host};
use crate::os::AbsPath;

/// Folders of one installation that are looked at.
const LIST_LIMIT: usize = 1000;

/// What counts for the next command.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Solver {
    /// As set; `None` is conda's own default, libmamba since 23.10.
    pub name: Option<String>,
    /// The file or variable that says so.
    pub set_by: Option<String>,
    /// The variable that overrides it in this version of conda.
    pub variable: &'static str,
    /// Where conda is installed.
    pub root: Option<AbsPath>,
    /// The folder of libmamba's plugin there.
    pub libmamba: Option<AbsPath>,
    /// Some configuration could not be read.
    pub is_uncertain: bool,
}

/// Finds out which solver a command uses.
pub fn solver(host: &dyn Host, command: Option<&[OsString]>) -> Solver {
    let read_command = CondaCommand::read(host, command);
    let read = sources::read(host, &read_command);
    let root = sources::root(host, read_command.tool);
    let libmamba = root.as_ref().and_then(|root| plugin(host, root));
    let last = read.sources.iter().rev().find(|source| source.solver.is_some());
    let told = |kind: &SourceKind| match kind {
        SourceKind::File(file) => format!("`{file}`"),
        SourceKind::Variable(name) => (*name).to_owned(),
    };
    let has_old = host.env(SOLVER_VARIABLES[1]).is_some_and(|value| !value.is_empty());
    let on_line = command.and_then(plain_words).and_then(|words| named(&words));
    Solver {
        name: on_line.clone().or_else(|| last.and_then(|source| source.solver.clone())),
        set_by: on_line.map(|_| "--solver".to_owned()).or_else(|| last.map(|source| told(&source.kind))),
        // Both at once are an error to conda.
        variable: SOLVER_VARIABLES[usize::from(has_old)],
        root,
        libmamba,
        is_uncertain: !read.broken.is_empty() || read_command.other_configuration,
    }
}

fn named(words: &[String]) -> Option<String> {
    let at = words.iter().position(|word| word == "--solver" || word.starts_with("--solver="))?;
    let joined = words[at].strip_prefix("--solver=").map(str::to_owned);
    joined.or_else(|| words.get(at + 1).cloned())
}

/// Finds libmamba's plugin among the packages of conda's own Python.
fn plugin(host: &dyn Host, root: &AbsPath) -> Option<AbsPath> {
    let lib = root.resolve("lib");
    let names = host.list(lib.as_path(), LIST_LIMIT).ok()?;
    let pythons = names.iter().filter(|name| name.to_string_lossy().starts_with("python3"));
    let folders = pythons.map(|name| lib.resolve(name).resolve("site-packages/conda_libmamba_solver"));
    let is_folder = |path: &AbsPath| host.follow(path.as_path()).is_ok_and(|meta| meta.kind == FileKind::Folder);
    folders.into_iter().find(is_folder)
}
