//! Are the headers of the Python that builds there, and which numpy does it have?

use std::path::{Path, PathBuf};

use super::distribution::Distribution;
use super::{Answer, ArgSpec, Inquiry, Question, UNKNOWN};
use crate::evidence::python_places::PythonPlaces;
use crate::recipe::Text;

/// The questions of this file.
pub const QUESTIONS: &[Question] = &[
    Question {
        name: "python_headers",
        about: "Says whether `Python.h` of the Python that builds is on this machine, and which package brings it.",
        args: &[],
        answers: &["missing", "here"],
        values: &["python", "include", "program", "package", "install"],
        ask: python_headers,
    },
    Question {
        name: "numpy_version",
        about: "Returns the numpy that is installed for the Python of the command: of the first or second series.",
        args: &[ArgSpec { name: "package", required: false, about: "Another package than numpy" }],
        answers: &["first", "second", "absent"],
        values: &["version", "folder"],
        ask: numpy_version,
    },
];

const MOST_NAMES: usize = 20_000;

fn python_headers(inquiry: &Inquiry<'_>) -> Answer {
    let host = inquiry.host;
    let places = PythonPlaces::of(host, inquiry.command, None);
    let (Some(program), Some((major, minor))) = (&places.program, places.version) else {
        return Answer::new(UNKNOWN, Text::new("which Python builds is not known", "不清楚由哪个 Python 执行构建"));
    };
    let version = format!("{major}.{minor}");
    let real = host.real(program).unwrap_or_else(|_| program.clone());
    let prefix = |program: &Path| program.parent().and_then(Path::parent).map(Path::to_owned);
    let prefixes = [prefix(&real), prefix(program)];
    let includes: Vec<PathBuf> =
        prefixes.into_iter().flatten().map(|prefix| prefix.join(format!("include/python{version}"))).collect();
    let found = includes.iter().find(|folder| host.follow(&folder.join("Python.h")).is_ok());
    let shown = program.display().to_string();
    if let Some(folder) = found {
        let folder = folder.display().to_string();
        let seen = Text::new(
            format!("`{folder}/Python.h` is there for `{shown}`"),
            format!("`{shown}` 的头文件 `{folder}/Python.h` 存在"),
        );
        return Answer::new("here", seen).with("include", folder).with("python", version).with("program", shown);
    }
    let list = includes.iter().map(|folder| format!("`{}`", folder.display())).collect::<Vec<_>>().join(", ");
    let seen = Text::new(
        format!("`{shown}` (Python {version}) has no Python.h in {list}"),
        format!("`{shown}`（Python {version}）在 {list} 中没有 Python.h"),
    );
    let answer = Answer::new("missing", seen).with("python", version.clone()).with("program", shown);
    // Only a Python of the distribution gets its headers from there.
    let of_system = real.starts_with("/usr/bin");
    let distribution = Distribution::of(host);
    let package = match &distribution {
        Distribution::Debian { .. } => format!("python{version}-dev"),
        Distribution::Rpm { .. } => "python3-devel".to_owned(),
        Distribution::Suse => "python3-devel".to_owned(),
        Distribution::Alpine => "python3-dev".to_owned(),
        Distribution::Arch | Distribution::Unknown => String::new(),
    };
    if !of_system || package.is_empty() {
        return answer;
    }
    let install = distribution.install(std::slice::from_ref(&package));
    answer.with("package", package).with("install", install)
}

fn numpy_version(inquiry: &Inquiry<'_>) -> Answer {
    let host = inquiry.host;
    let package = inquiry.text("package").unwrap_or_else(|| "numpy".to_owned());
    let places = PythonPlaces::of(host, inquiry.command, None);
    let prefix = format!("{package}-");
    for folder in places.folders.iter().skip(1) {
        let names = host.list(folder, MOST_NAMES).unwrap_or_default();
        let version = names.iter().find_map(|name| {
            let version = name.to_str()?.strip_prefix(&prefix)?.strip_suffix(".dist-info")?;
            version.starts_with(|c: char| c.is_ascii_digit()).then(|| version.to_owned())
        });
        let Some(version) = version else { continue };
        let folder = folder.display().to_string();
        let word = if version.starts_with("1.") { "first" } else { "second" };
        let seen =
            Text::new(format!("{package} {version} is in `{folder}`"), format!("`{folder}` 中为 {package} {version}"));
        return Answer::new(word, seen).with("version", version).with("folder", folder);
    }
    if places.program.is_none() {
        return Answer::new(UNKNOWN, Text::new("which Python runs is not known", "不清楚由哪个 Python 运行"));
    }
    Answer::new("absent", Text::new(format!("{package} is not installed"), format!("未安装 {package}")))
}
