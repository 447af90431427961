//! The Pythons of this machine, as far as somebody would look for them.

use std::collections::BTreeSet;
use std::path::PathBuf;

use super::{Interpreter, Kind};
use crate::evidence::Host;
use crate::evidence::ownership::is_of_no_stranger;
use crate::os::AbsPath;

/// Interpreters listed at most.
const MOST: usize = 64;
/// Entries of a folder that are looked at.
const MOST_NAMES: usize = 20_000;
/// Environments below one folder.
const MOST_ENVIRONMENTS: usize = 200;
/// A list of conda's environments.
const LIST: u64 = 1 << 20;

/// Lists the interpreters of this machine: environments of the project first, then PATH, pyenv, uv, conda and the usual
/// folders. Each environment is named once.
pub fn interpreters(host: &dyn Host) -> Vec<Interpreter> {
    let mut found: Vec<Interpreter> = Vec::new();
    let mut seen = BTreeSet::new();
    for candidate in candidates(host) {
        if found.len() == MOST {
            break;
        }
        let Ok(real) = host.real(candidate.as_path()) else { continue };
        if !is_of_no_stranger(host, &real) {
            continue;
        }
        let Some(interpreter) = Interpreter::at(host, &candidate) else { continue };
        // The same installation under several names: `/usr/bin/python3`, `/bin/python3.11`.
        let prefix = match interpreter.kind {
            Kind::Virtual => interpreter.prefix.as_path().to_owned(),
            Kind::Conda | Kind::Base => PathBuf::new(),
        };
        if seen.insert((host.real(interpreter.executable.as_path()).ok(), prefix)) {
            found.push(interpreter);
        }
    }
    found
}

/// Lists the environments that lie in the project.
pub fn of_project(host: &dyn Host) -> Vec<Interpreter> {
    environments_below(host, host.project())
        .iter()
        .filter_map(|program| Interpreter::at(host, program))
        .filter(|interpreter| interpreter.kind != Kind::Base)
        .collect()
}

fn candidates(host: &dyn Host) -> Vec<AbsPath> {
    let mut all = environments_below(host, host.project());
    if let Some(top) = host.git().top_level().filter(|top| *top != host.project()) {
        all.extend(environments_below(host, top));
    }
    for name in ["VIRTUAL_ENV", "CONDA_PREFIX"] {
        all.extend(
            host.env(name).and_then(|prefix| AbsPath::new(prefix).ok()).map(|prefix| prefix.resolve("bin/python")),
        );
    }
    for folder in std::env::split_paths(&host.env("PATH").unwrap_or_default()) {
        // A shim stands for whatever is chosen at the moment; what it leads to is found below.
        if let Ok(folder) = AbsPath::new(&folder)
            && !folder.as_path().ends_with("shims")
        {
            all.extend(pythons_in(host, &folder));
        }
    }
    let home = host.home();
    let of_variable = |name: &str| host.env(name).and_then(|value| AbsPath::new(value).ok());
    let below_home = |name: &str| home.map(|home| home.resolve(name));
    if let Some(root) = of_variable("PYENV_ROOT").or_else(|| below_home(".pyenv")) {
        all.extend(programs_below(host, &root.resolve("versions")));
    }
    if let Some(root) = of_variable("UV_PYTHON_INSTALL_DIR").or_else(|| below_home(".local/share/uv/python")) {
        all.extend(programs_below(host, &root));
    }
    if let Some(list) = below_home(".conda/environments.txt").and_then(|list| host.read(list.as_path(), LIST).ok()) {
        let text = String::from_utf8_lossy(&list).into_owned();
        let prefixes = text.lines().take(MOST_ENVIRONMENTS).filter_map(|line| AbsPath::new(line.trim()).ok());
        all.extend(prefixes.map(|prefix| prefix.resolve("bin/python")));
    }
    for root in ["miniconda3", "anaconda3", "miniforge3", "mambaforge", ".local/share/mamba"]
        .iter()
        .filter_map(|name| below_home(name))
    {
        all.push(root.resolve("bin/python"));
        all.extend(programs_below(host, &root.resolve("envs")));
    }
    for folder in
        [".virtualenvs", "venvs", ".venvs"].iter().filter_map(|name| below_home(name)).chain(of_variable("WORKON_HOME"))
    {
        all.extend(programs_below(host, &folder));
    }
    for folder in ["/usr/bin", "/usr/local/bin"].iter().filter_map(|folder| AbsPath::new(folder).ok()) {
        all.extend(pythons_in(host, &folder));
    }
    if let Ok(opt) = AbsPath::new("/opt") {
        all.extend(programs_below(host, &opt));
        for root in ["conda/envs", "miniconda3/envs", "miniforge3/envs", "anaconda3/envs"] {
            all.extend(programs_below(host, &opt.resolve(root)));
        }
    }
    all
}

/// Lists the environments right below a folder.
fn environments_below(host: &dyn Host, folder: &AbsPath) -> Vec<AbsPath> {
    let names = host.list(folder.as_path(), MOST_NAMES).unwrap_or_default();
    let is_environment = |prefix: &AbsPath| {
        ["pyvenv.cfg", "conda-meta"].iter().any(|mark| host.follow(prefix.resolve(mark).as_path()).is_ok())
    };
    let prefixes = names.iter().map(|name| folder.resolve(name)).filter(is_environment);
    prefixes.take(MOST_ENVIRONMENTS).map(|prefix| prefix.resolve("bin/python")).collect()
}

/// Lists `*/bin/python3` below a folder.
fn programs_below(host: &dyn Host, folder: &AbsPath) -> Vec<AbsPath> {
    let names = host.list(folder.as_path(), MOST_NAMES).unwrap_or_default();
    let programs = names.iter().take(MOST_ENVIRONMENTS).filter_map(|name| {
        let bin = folder.resolve(name).resolve("bin");
        ["python", "python3"].iter().map(|name| bin.resolve(name)).find(|path| host.follow(path.as_path()).is_ok())
    });
    programs.collect()
}

/// Lists `python`, `python3` and `python3.11` in a folder of programs, the most exact names first.
fn pythons_in(host: &dyn Host, folder: &AbsPath) -> Vec<AbsPath> {
    let is_python = |name: &&str| {
        name.strip_prefix("python")
            .is_some_and(|rest| rest.trim_end_matches('t').bytes().all(|byte| byte.is_ascii_digit() || byte == b'.'))
    };
    let names = host.list(folder.as_path(), 200_000).unwrap_or_default();
    let mut found: Vec<&str> = names.iter().filter_map(|name| name.to_str()).filter(is_python).collect();
    found.sort_by_key(|name| std::cmp::Reverse(name.len()));
    found.into_iter().map(|name| folder.resolve(name)).collect()
}
