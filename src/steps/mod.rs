//! Verbs: parameters in, changes out. One file a verb; none writes.

mod append_linker_flags_env;
mod build_wheel;
mod define_macro;
mod edit_python;
mod end_process;
mod link_backends;
mod make_environment;
mod merge_linker_flags;
mod merge_pip_config;
mod merge_uv_config;
mod own_config;
mod path_after_source;
mod pip_install;
mod prepend_path;
mod python_environment;
mod rebuild_npu_ir;
mod remove_conda_channel;
mod remove_files;
mod reset_npu;
mod restore_interrupted_install;
mod set_aside_objects;
mod set_aside_tree;
mod set_env;
mod source_env;
mod unset_cache_entries;
mod unset_env;
mod use_compilers;
mod use_port;

use std::collections::BTreeMap;
use std::ffi::OsString;

use crate::change::AbsPath;
use crate::change::{Change, EnvEdit, EnvOverlay, FileImage, FileState, Precondition};
use crate::evidence::{FileKind, Host, questions::ArgSpec};
use crate::recipe::{Applicability, Text, Value};

pub use reset_npu::forbidden as forbidden_reset;
pub use source_env::{CLEAN_PATH, Evaluate};

/// A verb that recipes can name.
pub struct Verb {
    pub name: &'static str,
    /// One sentence for authors of recipes.
    pub about: &'static str,
    pub args: &'static [ArgSpec],
    pub lower: fn(&Order<'_>) -> Result<Lowered, LowerError>,
}

/// Files that a verb edits or removes are read whole, and none of them is larger.
const FILE_LIMIT: u64 = 256 << 20;

/// What a verb is asked to do.
pub struct Order<'a> {
    /// Arguments by name, already filled.
    pub args: &'a BTreeMap<String, Value>,
    pub host: &'a dyn Host,
    /// The user's command, where there is one.
    pub command: Option<&'a [OsString]>,
    /// What earlier steps of the same plan want, so that two edits of one file add up.
    pub so_far: &'a Lowered,
    /// Runs a script of an installation in a clean shell, where the user asked for more than a diagnosis.
    pub evaluate: Option<&'a Evaluate<'a>>,
}

/// What a verb comes to.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Lowered {
    pub changes: Vec<Change>,
    pub overlay: EnvOverlay,
    /// Arguments added to the user's command on the re-run (`-DNAME:TYPE=VALUE` carried over from an old cache).
    pub rerun_args: Vec<OsString>,
    /// The user's command with other words, for the re-run; arguments are added to it.
    pub rerun_argv: Option<Vec<OsString>>,
    /// What must hold when the repair is made.
    pub preconditions: Vec<Precondition>,
    /// What the user should know beside the diff.
    pub notes: Vec<Text>,
    /// What is left for the user to do.
    pub advice: Vec<Text>,
    /// Links of the user's own inside an allowed root, with the folder or file that each leads to. The plan allows
    /// such a target when it finds the same itself.
    pub links: Vec<(AbsPath, AbsPath)>,
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

    /// Returns an argument as an absolute path, or the error that it is none.
    pub fn path(&self, name: &str) -> Result<AbsPath, LowerError> {
        AbsPath::new(self.require(name)?).map_err(|error| LowerError(Text::new(error.to_string(), error.to_string())))
    }

    /// Reads a regular file as it is now, before any step of this plan; a link is refused, since a write would
    /// replace it.
    pub fn file(&self, path: &AbsPath) -> Result<FileState, LowerError> {
        let failed = |error: std::io::Error| {
            LowerError(Text::new(format!("`{path}` cannot be read: {error}"), format!("无法读取 `{path}`：{error}")))
        };
        let meta = match self.host.inspect(path.as_path()) {
            Err(error) if error.kind() == std::io::ErrorKind::NotFound => return Ok(FileState::Absent),
            other => other.map_err(failed)?,
        };
        if meta.kind != FileKind::File {
            return Err(LowerError(Text::new(
                format!("`{path}` is no regular file"),
                format!("`{path}` 不是普通文件"),
            )));
        }
        let bytes = self.host.read(path.as_path(), FILE_LIMIT).map_err(failed)?;
        Ok(FileState::Present(FileImage { bytes, mode: meta.mode }))
    }

    /// Returns what earlier steps of this plan make of a file, where they touch it.
    pub fn pending(&self, path: &AbsPath) -> Option<FileState> {
        self.so_far.changes.iter().rev().find_map(|change| match change {
            Change::WriteFile(write) if write.path == *path => Some(write.after.clone()),
            Change::RemoveTree(tree) if path.is_within(&tree.path) => Some(FileState::Absent),
            Change::WriteFile(_) | Change::RemoveTree(_) | Change::Run(_) => None,
        })
    }
}

/// Makes an overlay of one edit; the name must be one that every shell takes.
fn one_edit(name: &str, edit: EnvEdit) -> Result<Lowered, LowerError> {
    let starts = name.bytes().next().is_some_and(|byte| byte.is_ascii_alphabetic() || byte == b'_');
    if !starts || !name.bytes().all(|byte| byte.is_ascii_alphanumeric() || byte == b'_') {
        return Err(LowerError(Text::new(
            format!("`{name}` is no name of a variable"),
            format!("`{name}` 不是合法的环境变量名"),
        )));
    }
    let mut lowered = Lowered::default();
    lowered.overlay.edit(name, edit);
    Ok(lowered)
}

/// All verbs.
const VERBS: &[&Verb] = &[
    &append_linker_flags_env::VERB,
    &edit_python::EDIT_PYTHON,
    &define_macro::DEFINE_MACRO,
    &merge_linker_flags::VERB,
    &merge_pip_config::VERB,
    &merge_uv_config::VERB,
    &build_wheel::BUILD_WHEEL,
    &link_backends::LINK_BACKENDS,
    &make_environment::MAKE_ENVIRONMENT,
    &pip_install::PIP_INSTALL,
    &end_process::END_PROCESS,
    &path_after_source::PATH_AFTER_SOURCE,
    &prepend_path::PREPEND_PATH,
    &rebuild_npu_ir::REBUILD_NPU_IR,
    &remove_conda_channel::REMOVE_CONDA_CHANNEL,
    &reset_npu::RESET_NPU,
    &remove_files::REMOVE_FILES,
    &set_aside_objects::SET_ASIDE_OBJECTS,
    &restore_interrupted_install::RESTORE_INTERRUPTED_INSTALL,
    &set_aside_tree::SET_ASIDE_TREE,
    &set_env::SET_ENV,
    &source_env::SOURCE_ENV,
    &unset_cache_entries::UNSET_CACHE_ENTRIES,
    &unset_env::UNSET_ENV,
    &use_compilers::USE_COMPILERS,
    &use_port::USE_PORT,
];

/// Finds a verb by name.
pub fn find(name: &str) -> Option<&'static Verb> {
    all().find(|verb| verb.name == name)
}

/// Lists all verbs.
pub fn all() -> impl Iterator<Item = &'static Verb> {
    VERBS.iter().copied()
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    #[test]
    fn no_two_verbs_have_one_name() {
        let mut names = BTreeSet::new();
        for verb in super::all() {
            assert!(names.insert(verb.name), "{}", verb.name);
        }
    }
}
