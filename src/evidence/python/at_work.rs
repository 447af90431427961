//! Whether an installer is at work on an environment right now: what it has moved away it will still bring back itself.

use std::path::{Path, PathBuf};

use crate::evidence::Host;
use crate::os::AbsPath;

const MOST_PROCESSES: usize = 100_000;
const MOST_BYTES: u64 = 1 << 20;

/// Returns the process of a pip or uv that works on the environment with this folder of packages, as far as its command
/// line and its environment tell.
pub fn installer_at_work(host: &dyn Host, packages: &AbsPath) -> Option<u32> {
    // `lib/python3.11/site-packages`
    let prefix = packages.as_path().ancestors().nth(3)?.to_owned();
    let mut pids: Vec<u32> = host
        .list(Path::new("/proc"), MOST_PROCESSES)
        .unwrap_or_default()
        .iter()
        .filter_map(|name| name.to_str()?.parse().ok())
        .collect();
    pids.sort_unstable();
    pids.into_iter().find(|pid| {
        let folder = PathBuf::from(format!("/proc/{pid}"));
        let words = |name: &str| -> Vec<String> {
            let bytes = host.read_up_to(&folder.join(name), 0, MOST_BYTES).unwrap_or_default();
            bytes.split(|byte| *byte == 0).map(|word| String::from_utf8_lossy(word).into_owned()).collect()
        };
        let line = words("cmdline");
        is_installer(&line) && works_on(host, &prefix, &line, &words("environ"))
    })
}

/// `pip …`, `uv …`, `python /x/bin/pip …`, `python -m pip …`.
fn is_installer(line: &[String]) -> bool {
    let names = |word: Option<&String>| {
        let name = word.and_then(|word| word.rsplit('/').next()).unwrap_or_default();
        name == "uv"
            || name
                .strip_prefix("pip")
                .is_some_and(|rest| rest.bytes().all(|byte| byte.is_ascii_digit() || byte == b'.'))
    };
    let module = line.iter().skip(1).take(4).position(|word| word == "-m").and_then(|at| line.get(at + 2));
    names(line.first()) || names(line.get(1)) || module.is_some_and(|module| module == "pip")
}

fn works_on(host: &dyn Host, prefix: &Path, line: &[String], environment: &[String]) -> bool {
    let real = |path: &Path| host.real(path).unwrap_or_else(|_| path.to_owned());
    let prefix = real(prefix);
    // The program of an environment is a link that leads out of it.
    let is_inside = |path: &Path| {
        path.parent().is_some_and(|folder| real(folder).starts_with(&prefix)) || real(path).starts_with(&prefix)
    };
    let value = |name: &str| environment.iter().find_map(|pair| pair.strip_prefix(name)?.strip_prefix('='));
    let named = line.iter().any(|word| {
        let path = word.split_once('=').map_or(word.as_str(), |(_, path)| path);
        path.starts_with('/') && is_inside(Path::new(path))
    });
    let active = ["VIRTUAL_ENV", "CONDA_PREFIX"].iter().filter_map(|name| value(name));
    let found = line.first().filter(|program| !program.contains('/')).and_then(|program| {
        let folders = value("PATH")?.split(':').filter(|folder| folder.starts_with('/'));
        folders.map(|folder| Path::new(folder).join(program)).find(|path| host.follow(path).is_ok())
    });
    named
        || active.into_iter().any(|active| real(Path::new(active)) == prefix)
        || found.is_some_and(|path| is_inside(&path))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn command_lines_of_installers() {
        let words = |line: &str| line.split(' ').map(str::to_owned).collect::<Vec<_>>();
        for line in
            ["pip install x", "/e/bin/python3 /e/bin/pip3.11 install x", "python -I -m pip install x", "/bin/uv sync"]
        {
            assert!(is_installer(&words(line)), "{line}");
        }
        for line in
            ["python pipeline.py", "fix run -- pip install x", "less pip.log", "python -m piptools", "bash -c pip", ""]
        {
            assert!(!is_installer(&words(line)), "{line}");
        }
    }
}
