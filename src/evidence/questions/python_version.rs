//! Which Python of this machine is new enough, where the one in use is not?

use super::{Answer, ArgSpec, Inquiry, Question, UNKNOWN};
use crate::evidence::Host;
use crate::evidence::python::{Interpreter, Kind, distributions, installer, machine};
use crate::os::AbsPath;
use crate::recipe::Text;

/// The questions of this file.
pub const QUESTIONS: &[Question] = &[
    Question {
        name: "python_new_enough",
        about: "Looks for a Python of at least some version, where the one that the command runs is older.",
        args: &[
            ArgSpec { name: "least", required: true, about: "The oldest that will do: `3.10`" },
            ArgSpec { name: "best", required: false, about: "The one that is recommended: `3.11`" },
            ArgSpec { name: "seen", required: false, about: "The version that the log names" },
        ],
        answers: &["found", "packages", "no_venv", "none", "another", "new_enough"],
        values: &["python", "version", "newer", "newer_version", "pythons", "place", "count", "install"],
        ask: python_new_enough,
    },
    Question {
        name: "python_environment",
        about: "Says whether a folder is a virtual environment of at least some version.",
        args: &[
            ArgSpec { name: "path", required: true, about: "The folder" },
            ArgSpec { name: "least", required: true, about: "The oldest version that will do: `3.10`" },
        ],
        answers: &["there", "too_old", "absent"],
        values: &["python", "version"],
        ask: python_environment,
    },
];

/// Interpreters told to the user at most.
const TOLD: usize = 6;
/// What every environment has.
const OWN: &[&str] = &["pip", "setuptools", "wheel", "distribute", "uv"];

fn number(version: &str) -> Option<(u32, u32)> {
    let mut parts = version.split('.');
    Some((parts.next()?.parse().ok()?, parts.next()?.parse().ok()?))
}

fn python_new_enough(inquiry: &Inquiry<'_>) -> Answer {
    let host = inquiry.host;
    let (Some(least), Some(python)) =
        (inquiry.text("least").and_then(|least| number(&least)), installer::running(host, inquiry.command))
    else {
        return Answer::new(UNKNOWN, Text::new("which Python runs is not known", "无法确定运行的是哪个 Python"));
    };
    let program = python.executable.to_string();
    let about = |answer: Answer| answer.with("python", program.clone()).with("version", python.version());
    let own = (python.major, python.minor);
    let version = python.version();
    if let Some(seen) = inquiry.text("seen").and_then(|seen| number(&seen)).filter(|seen| *seen != own) {
        let seen = format!("{}.{}", seen.0, seen.1);
        return about(Answer::new(
            "another",
            Text::new(
                format!("the log is of Python {seen}, `{program}` is {version}"),
                format!("日志来自 Python {seen}，而 `{program}` 是 {version}"),
            ),
        ));
    }
    if own >= least {
        return about(Answer::new(
            "new_enough",
            Text::new(format!("`{program}` is {version}"), format!("`{program}` 是 {version}")),
        ));
    }
    let newer = newer(host, least, inquiry.text("best").and_then(|best| number(&best)));
    let Some(best) = newer.iter().find(|one| makes_environments(host, one)).or(newer.first()) else {
        let (major, minor) = least;
        return about(Answer::new(
            "none",
            Text::new(
                format!("`{program}` is {version}, and no Python of this machine is {major}.{minor} or later"),
                format!("`{program}` 是 {version}，且本机没有 {major}.{minor} 或更高版本的 Python"),
            ),
        ));
    };
    let told: Vec<String> =
        newer.iter().take(TOLD).map(|one| format!("{} ({})", one.executable, one.version())).collect();
    let packages: Vec<String> = packages(host, &python);
    let seen = Text::new(
        format!("`{program}` is {version}; `{}` is {}", best.executable, best.version()),
        format!("`{program}` 是 {version}；`{}` 是 {}", best.executable, best.version()),
    );
    let word = if !makes_environments(host, best) && installer::helper_path(host, "uv").is_none() {
        "no_venv"
    } else if inquiry.command.is_some() && !packages.is_empty() {
        "packages"
    } else {
        "found"
    };
    let mut answer = about(Answer::new(word, seen))
        .with("newer", best.executable.to_string())
        .with("newer_version", best.version())
        .with("pythons", told)
        .with("count", packages.len().to_string());
    if let Some(place) = place(host, &python, best) {
        answer = answer.with("place", place.to_string());
    }
    answer
}

/// Lists the installations that are new enough: the recommended version first, then the closest above the least.
fn newer(host: &dyn Host, least: (u32, u32), best: Option<(u32, u32)>) -> Vec<Interpreter> {
    let mut found: Vec<Interpreter> = machine::interpreters(host)
        .into_iter()
        // Of an environment that others made the packages are theirs: a new one is made from an installation.
        .filter(|one| one.kind != Kind::Virtual && !one.free_threaded && (one.major, one.minor) >= least)
        .collect();
    let system = |one: &Interpreter| one.externally_managed;
    found.sort_by_key(|one| ((Some((one.major, one.minor)) != best), (one.major, one.minor), system(one)));
    found
}

/// Says whether `python -m venv` can work: Debian keeps what it needs in a package of its own.
pub(crate) fn makes_environments(host: &dyn Host, python: &Interpreter) -> bool {
    let library = python.base.resolve("lib").resolve(format!("python{}", python.short_version()));
    let has = |name: &str| host.follow(library.resolve(name).as_path()).is_ok();
    has("venv/__init__.py") && has("ensurepip/__init__.py")
}

/// What is installed beside what every environment has.
fn packages(host: &dyn Host, python: &Interpreter) -> Vec<String> {
    requirements(host, python).into_iter().filter(|line| !line.starts_with('#')).collect()
}

/// Lists what is installed, as lines of a file of requirements.
pub(crate) fn requirements(host: &dyn Host, python: &Interpreter) -> Vec<String> {
    distributions::installed(host, python)
        .into_iter()
        .filter(|one| !OWN.contains(&one.name.as_str()))
        .map(|one| match one.editable {
            Some(source) => format!("-e {source}"),
            None => format!("{}=={}", one.name, one.version),
        })
        .collect()
}

/// A folder that is not there yet: beside the old environment where that lies in the project, else in the project.
fn place(host: &dyn Host, old: &Interpreter, new: &Interpreter) -> Option<AbsPath> {
    let project = host.project();
    let beside = (old.kind == Kind::Virtual && old.prefix.is_within(project)).then(|| old.prefix.parent()).flatten();
    let folder = beside.unwrap_or_else(|| project.clone());
    let stem = format!(".venv-{}", new.short_version());
    let names = std::iter::once(stem.clone()).chain((2..100).map(|n| format!("{stem}-{n}")));
    names.map(|name| folder.resolve(name)).find(|path| host.inspect(path.as_path()).is_err())
}

fn python_environment(inquiry: &Inquiry<'_>) -> Answer {
    let (Some(path), Some(least)) = (inquiry.text("path"), inquiry.text("least").and_then(|least| number(&least)))
    else {
        return Answer::new(UNKNOWN, Text::new("no folder is known", "目录未知"));
    };
    let found = AbsPath::new(&path).ok().and_then(|prefix| installer::in_environment(inquiry.host, &prefix));
    let Some(python) = found else {
        return Answer::new(
            "absent",
            Text::new(format!("`{path}` is no environment"), format!("`{path}` 不是虚拟环境")),
        );
    };
    let version = python.version();
    let word = if (python.major, python.minor) >= least { "there" } else { "too_old" };
    let seen = Text::new(format!("`{path}` has Python {version}"), format!("`{path}` 的 Python 是 {version}"));
    Answer::new(word, seen).with("python", python.executable.to_string()).with("version", version)
}
