//! Which Python a command installs into, and what it installs.
//!
//! `pip` and `python` may belong to two interpreters: the first line of `pip` tells whose it is.

use std::ffi::OsString;
use std::path::PathBuf;

use super::interpreter::pyenv_program;
use super::{Interpreter, Kind};
use crate::evidence::build_command::{base_name, is_literal, plain_words, strip_wrappers};
use crate::evidence::trusted_programs::{InProject, trusted};
use crate::evidence::{FileKind, Host};
use crate::os::AbsPath;

/// A command that installs packages.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Installer {
    pub tool: Tool,
    /// The interpreter that gets the packages; `None` where it is not found or options lead elsewhere.
    pub python: Option<Interpreter>,
    /// The user's words, wrappers included.
    pub words: Vec<String>,
    /// Where in `words` the tool itself stands.
    pub program: usize,
    /// Where in `words` the tool's own verb stands (`install`).
    pub verb: usize,
}

/// A tool that installs.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Tool {
    Pip,
    Uv,
}

/// A wheel among the words of a command.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct NamedWheel {
    pub at: usize,
    pub path: AbsPath,
    /// `[dev]`, or empty.
    pub extras: String,
}

/// Options of pip and uv that change what fits or where it goes.
const ELSEWHERE: &[&str] = &[
    "--target",
    "--prefix",
    "--root",
    "--user",
    "--platform",
    "--python-platform",
    "--python-version",
    "--implementation",
    "--abi",
    "--python",
    "--system",
    "--dry-run",
];
const ELSEWHERE_SHORT: &[&str] = &["-t", "-p"];
/// Variables that say the same.
const ELSEWHERE_ENV: &[&str] = &[
    "PIP_TARGET",
    "PIP_PREFIX",
    "PIP_ROOT",
    "PIP_USER",
    "PIP_PLATFORM",
    "PIP_PYTHON",
    "PIP_PYTHON_VERSION",
    "PIP_DRY_RUN",
    "UV_PYTHON",
    "UV_SYSTEM_PYTHON",
];
/// Assignments of `env` before the command that change which Python is meant.
const DECIDING: &[&str] = &["PATH=", "VIRTUAL_ENV=", "CONDA_PREFIX=", "PIP_", "UV_", "PYENV_VERSION=", "HOME="];
/// A script's first lines.
const HEAD: u64 = 1024;

/// Reads a command that calls pip or uv itself; a shell's line is not looked into.
pub fn direct(host: &dyn Host, command: &[OsString]) -> Option<Installer> {
    let words = plain_words(command)?;
    let rest = strip_wrappers(&words)?;
    let program = words.len() - rest.len();
    let decides = |word: &String| DECIDING.iter().any(|prefix| word.starts_with(prefix));
    if words[..program].iter().any(decides) {
        return None;
    }
    let name = base_name(rest.first()?);
    let (tool, verb, python) = if is_pip(name) {
        (Tool::Pip, 1, pip_owner(host, &rest[0]))
    } else if name == "uv" && rest.get(1)? == "pip" {
        (Tool::Uv, 2, uv_environment(host))
    } else if is_python(name) {
        let module = rest.iter().position(|word| word == "-m")?;
        // Options of Python alone stand before it.
        if rest.get(module + 1)? != "pip" || rest[1..module].iter().any(|word| !word.starts_with('-')) {
            return None;
        }
        (Tool::Pip, module + 2, program_path(host, &rest[0]).and_then(|path| Interpreter::at(host, &path)))
    } else {
        return None;
    };
    let verb = program + verb;
    words.get(verb)?;
    let python = python.filter(|_| !leads_elsewhere(host, &words[verb..]));
    Some(Installer { tool, python, words, program, verb })
}

/// Finds the Python that is meant where no command tells: the active environment, else the owner of `pip` on PATH.
pub fn active(host: &dyn Host) -> Option<Interpreter> {
    environment_of_variables(host).or_else(|| pip_owner(host, "pip")).or_else(|| {
        let python = program_path(host, "python").or_else(|| program_path(host, "python3"))?;
        Interpreter::at(host, &python)
    })
}

/// Finds the Python that a command runs: by its own name, or by the first line of the script that it is; what a shell
/// does, and no command at all, mean the active one.
pub fn running(host: &dyn Host, command: Option<&[OsString]>) -> Option<Interpreter> {
    let on_path = || {
        let python = program_path(host, "python").or_else(|| program_path(host, "python3"))?;
        Interpreter::at(host, &python)
    };
    let active = || environment_of_variables(host).or_else(on_path);
    let Some(words) = command.and_then(plain_words) else { return active() };
    let rest = strip_wrappers(&words)?;
    let program = rest.first()?;
    if words[..words.len() - rest.len()].iter().any(|word| DECIDING.iter().any(|prefix| word.starts_with(prefix))) {
        return None;
    }
    match base_name(program) {
        "sh" | "bash" | "dash" | "zsh" => active(),
        name if is_python(name) => Interpreter::at(host, &program_path(host, program)?),
        _ => {
            let script = program_path(host, program)?;
            Interpreter::at(host, &python_of_script(host, &script)?)
        }
    }
}

impl Installer {
    /// Says whether it installs, and not something else.
    pub fn installs(&self) -> bool {
        self.words[self.verb] == "install"
    }

    /// Lists the wheels among its words; what an option may take is none.
    pub fn wheels(&self, host: &dyn Host) -> Vec<NamedWheel> {
        let mut found = Vec::new();
        for (at, word) in self.words.iter().enumerate().skip(self.verb + 1) {
            let before = self.words[at - 1].as_str();
            let is_value =
                matches!(before, "-f" | "--find-links" | "-r" | "-c" | "--requirement" | "--constraint" | "--report");
            if word.starts_with('-') || is_value || !is_literal(word) || word.contains("://") {
                continue;
            }
            let (path, extras) = match word.split_once(".whl[") {
                Some((stem, extras)) if extras.ends_with(']') => (format!("{stem}.whl"), format!("[{extras}")),
                _ => (word.clone(), String::new()),
            };
            if path.ends_with(".whl") {
                found.push(NamedWheel { at, path: host.project().resolve(path), extras });
            }
        }
        found
    }
}

fn is_pip(name: &str) -> bool {
    name.strip_prefix("pip").is_some_and(|rest| rest.bytes().all(|byte| byte.is_ascii_digit() || byte == b'.'))
}

fn is_python(name: &str) -> bool {
    let version = |rest: &str| rest.trim_end_matches('t').bytes().all(|byte| byte.is_ascii_digit() || byte == b'.');
    name.strip_prefix("python").is_some_and(version)
}

/// Says whether options or variables name another place or other tags than the interpreter's own. Both tools take
/// unique beginnings of long options.
fn leads_elsewhere(host: &dyn Host, words: &[String]) -> bool {
    let by_word = words.iter().any(|word| {
        let option = word.split('=').next().unwrap_or_default();
        // `--pre` is an option of its own.
        let is_long = option.len() > 4 && option != "--pre" && ELSEWHERE.iter().any(|one| one.starts_with(option));
        is_long || ELSEWHERE_SHORT.iter().any(|short| word.starts_with(short) && !word.starts_with("--"))
    });
    by_word || ELSEWHERE_ENV.iter().any(|name| host.env(name).is_some_and(|value| !value.is_empty() && value != "0"))
}

/// Finds a program as a shell would; relative entries of PATH depend on where one stands and are passed over.
pub fn program_path(host: &dyn Host, program: &str) -> Option<AbsPath> {
    let is_there = |path: &AbsPath| {
        host.follow(path.as_path()).is_ok_and(|meta| meta.kind == FileKind::File && meta.mode & 0o111 != 0)
    };
    if program.contains('/') {
        return Some(host.project().resolve(program)).filter(is_there);
    }
    std::env::split_paths(&host.env("PATH")?)
        .filter_map(|folder| AbsPath::new(folder).ok())
        .map(|folder| folder.resolve(program))
        .find(is_there)
}

/// Finds a program that a repair itself runs. What the project or another user may have put on PATH is passed over; an
/// active environment in the project is the user's word.
pub fn helper_path(host: &dyn Host, program: &str) -> Option<AbsPath> {
    let path = host.env("PATH")?;
    let folders: Vec<PathBuf> = std::env::split_paths(&path).collect();
    trusted(host, program, folders, InProject::ActiveEnvironment).next()
}

/// Finds the interpreter that a `pip` belongs to by its first line.
fn pip_owner(host: &dyn Host, program: &str) -> Option<Interpreter> {
    let script = program_path(host, program)?;
    if let Some(shims) = script.parent().filter(|folder| folder.file_name().is_some_and(|name| name == "shims")) {
        let behind = pyenv_program(host, &shims.parent()?, script.file_name()?.to_str()?)?;
        return Interpreter::at(host, &python_of_script(host, &behind)?);
    }
    Interpreter::at(host, &python_of_script(host, &script)?)
}

/// Reads the interpreter out of a script's first line, in each of the forms that pip and distlib write.
pub fn python_of_script(host: &dyn Host, script: &AbsPath) -> Option<AbsPath> {
    let head = host.head(script.as_path(), HEAD).ok()?;
    let text = String::from_utf8_lossy(&head).into_owned();
    let mut lines = text.lines();
    let words = shell_words::split(lines.next()?.strip_prefix("#!")?).ok()?;
    let program = words.first()?;
    match base_name(program) {
        "env" => program_path(host, words.get(1)?),
        // A path that is too long or has blanks: `'''exec' "/path/python" "$0" "$@"`.
        "sh" => {
            let line = lines.next()?.strip_prefix("'''exec'")?;
            AbsPath::new(shell_words::split(line).ok()?.first()?).ok()
        }
        _ => AbsPath::new(program).ok(),
    }
}

fn environment_of_variables(host: &dyn Host) -> Option<Interpreter> {
    ["VIRTUAL_ENV", "CONDA_PREFIX"].iter().find_map(|name| in_environment(host, &AbsPath::new(host.env(name)?).ok()?))
}

/// Reads the interpreter of an environment's folder.
pub fn in_environment(host: &dyn Host, prefix: &AbsPath) -> Option<Interpreter> {
    let found = Interpreter::at(host, &prefix.resolve("bin/python"))?;
    (found.kind != Kind::Base && found.prefix == *prefix).then_some(found)
}

/// Finds the environment that `uv pip` takes: the active one, else a `.venv` here or above.
fn uv_environment(host: &dyn Host) -> Option<Interpreter> {
    if host.env("VIRTUAL_ENV").is_some() || host.env("CONDA_PREFIX").is_some() {
        return environment_of_variables(host);
    }
    let mut at = Some(host.project().clone());
    while let Some(folder) = at {
        if let Some(found) = in_environment(host, &folder.resolve(".venv")) {
            return Some(found);
        }
        at = folder.parent();
    }
    None
}

#[cfg(test)]
mod tests {
    use std::ffi::OsString;
    use std::fs;
    use std::os::unix::fs::{PermissionsExt, symlink};

    use super::*;
    use crate::evidence::LocalHost;
    use crate::evidence::questions::testing::NoGit;

    #[test]
    fn a_program_that_a_repair_runs_is_none_of_the_project_or_of_strangers() {
        let dir = tempfile::tempdir().unwrap();
        let root = AbsPath::new(dir.path().canonicalize().unwrap()).unwrap();
        let put = |folder: &str, folder_mode: u32, mode: u32| {
            let folder = root.resolve(folder);
            fs::create_dir_all(&folder).unwrap();
            fs::write(folder.resolve("mv"), "#!/bin/sh\n").unwrap();
            fs::set_permissions(folder.resolve("mv"), fs::Permissions::from_mode(mode)).unwrap();
            fs::set_permissions(&folder, fs::Permissions::from_mode(folder_mode)).unwrap();
            folder
        };
        let system = put("system", 0o755, 0o755);
        let link = root.resolve("link");
        let tools = put("p/tools", 0o755, 0o755);
        symlink(&tools, &link).unwrap();
        let found = |first: &AbsPath, active: Option<&AbsPath>| {
            let path = std::env::join_paths([first.as_path(), system.as_path()]).unwrap();
            let mut env = vec![(OsString::from("PATH"), path)];
            env.extend(active.map(|prefix| ("VIRTUAL_ENV".into(), prefix.as_path().into())));
            let host = LocalHost::new(root.resolve("p"), env, Box::new(NoGit));
            helper_path(&host, "mv").unwrap()
        };
        for passed_over in
            [&tools, &link, &put("open", 0o777, 0o755), &put("file", 0o755, 0o777), &put("plain", 0o755, 0o644)]
        {
            assert_eq!(found(passed_over, None), system.resolve("mv"), "{passed_over}");
        }
        let own = put("own", 0o755, 0o755);
        assert_eq!(found(&own, None), own.resolve("mv"));
        let venv = put("p/.venv/bin", 0o755, 0o755);
        assert_eq!(found(&venv, None), system.resolve("mv"));
        assert_eq!(found(&venv, venv.parent().as_ref()), venv.resolve("mv"));
    }
}
