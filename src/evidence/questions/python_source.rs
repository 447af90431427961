//! Is the source of a package here, so that it can be built for another Python?

use pep440_rs::{Version, VersionSpecifiers};

use super::python_wheel::interpreter;
use super::{Answer, ArgSpec, Inquiry, Question, UNKNOWN};
use crate::evidence::build_command::{self, BuildCommand};
use crate::evidence::python::{Interpreter, distributions};
use crate::evidence::{FileKind, Host};
use crate::formats::wheel_name::normalise;
use crate::os::AbsPath;
use crate::recipe::Text;

/// The questions of this file.
pub const QUESTIONS: &[Question] = &[
    Question {
        name: "python_source_tree",
        about: "Looks for the source of a package: the project's folder, the top of its repository, the folder above `dist`.",
        args: &[
            ArgSpec { name: "name", required: true, about: "The project's name" },
            ArgSpec { name: "python", required: true, about: "The interpreter to build for" },
            ArgSpec { name: "version", required: false, about: "The version that is wanted" },
            ArgSpec { name: "near", required: false, about: "A wheel of it" },
        ],
        answers: &["found", "other_version", "excludes", "another", "none"],
        values: &["path", "into", "requires", "lacks", "version"],
        ask: python_source_tree,
    },
    Question {
        name: "python_build_requirements",
        about: "Says which of the packages that a project's build asks for the interpreter does not have.",
        args: &[],
        answers: &["lacking", "met", "none"],
        values: &["path", "lacks", "python"],
        ask: python_build_requirements,
    },
];

const TEXT: u64 = 4 << 20;

fn python_source_tree(inquiry: &Inquiry<'_>) -> Answer {
    let host = inquiry.host;
    let (Some(python), Some(name)) = (interpreter(inquiry), inquiry.text("name").map(|name| normalise(&name))) else {
        return Answer::new(UNKNOWN, Text::new("interpreter or name is not known", "解释器或名称未知"));
    };
    let mut folders = vec![host.project().clone()];
    folders.extend(host.git().top_level().cloned());
    let near = inquiry.text("near").and_then(|near| AbsPath::new(near).ok());
    let above =
        near.and_then(|near| near.parent()).filter(|folder| folder.file_name().is_some_and(|name| name == "dist"));
    folders.extend(above.and_then(|folder| folder.parent()));
    folders.extend([host.project().resolve("python")]);
    let sources: Vec<Source> = folders.iter().filter_map(|folder| Source::read(host, folder)).collect();
    if let Some(source) = sources.iter().find(|source| source.names.contains(&name)) {
        return found(inquiry, source, &name, &python);
    }
    match sources.first() {
        Some(source) => {
            let folder = &source.folder;
            let seen = Text::new(
                format!("`{folder}` is the source of another package, or does not name its own"),
                format!("`{folder}` 是其他软件包的源码，或未写明包名"),
            );
            Answer::new("another", seen).with("path", folder.to_string())
        }
        None => Answer::new(
            "none",
            Text::new(format!("the source of `{name}` is not in the project"), format!("项目中没有 `{name}` 的源码")),
        ),
    }
}

fn python_build_requirements(inquiry: &Inquiry<'_>) -> Answer {
    let host = inquiry.host;
    let Some(python) = interpreter(inquiry) else {
        return Answer::new(UNKNOWN, Text::new("which Python builds is not known", "无法确定由哪个 Python 构建"));
    };
    let builds = inquiry.command.map(|command| build_command::recognise(command, host)).unwrap_or_default();
    let folder = builds.into_iter().find_map(|build| match build {
        BuildCommand::Python(build) => Some(build.folder),
        BuildCommand::Configure(_) | BuildCommand::Build { .. } => None,
    });
    let folder = folder.unwrap_or_else(|| host.project().clone());
    let Some(source) = Source::read(host, &folder) else {
        let seen = Text::new(format!("`{folder}` is no Python project"), format!("`{folder}` 不是 Python 项目"));
        return Answer::new("none", seen);
    };
    let (lacks, program) = (source.lacking(host, &python), python.executable.to_string());
    let about = |answer: Answer| answer.with("path", folder.to_string()).with("python", program.clone());
    if lacks.is_empty() {
        let seen = Text::new(
            format!("`{program}` has what the build of `{folder}` asks for"),
            format!("`{program}` 中已有 `{folder}` 构建所需的包"),
        );
        return about(Answer::new("met", seen));
    }
    let list = lacks.join(", ");
    let seen = Text::new(
        format!("`{program}` lacks {list}, which the build of `{folder}` asks for"),
        format!("`{program}` 缺少 `{folder}` 构建所需的 {list}"),
    );
    // As one would type them.
    let words: Vec<String> = lacks.iter().map(|one| shell_words::quote(one).into_owned()).collect();
    about(Answer::new("lacking", seen)).with("lacks", words.join(" "))
}

fn found(inquiry: &Inquiry<'_>, source: &Source, name: &str, python: &Interpreter) -> Answer {
    let host = inquiry.host;
    let folder = &source.folder;
    let wanted = inquiry.text("version").and_then(|wanted| wanted.parse::<Version>().ok());
    let own = source.version.as_ref().and_then(|own| own.parse::<Version>().ok());
    if let (Some(wanted), Some(own)) = (&wanted, &own)
        && wanted != own
    {
        let seen = Text::new(
            format!("the source of `{name}` in `{folder}` is version {own}, not {wanted}"),
            format!("`{folder}` 中 `{name}` 的源码版本是 {own}，而不是 {wanted}"),
        );
        return Answer::new("other_version", seen).with("path", folder.to_string()).with("version", own.to_string());
    }
    if let Some(requires) = source.requires_python.as_ref().filter(|requires| excludes(requires, python)) {
        let version = python.version();
        let seen = Text::new(
            format!("`{folder}` asks for Python {requires}, `{}` is {version}", python.executable),
            format!("`{folder}` 要求 Python {requires}，而 `{}` 是 {version}", python.executable),
        );
        return Answer::new("excludes", seen).with("path", folder.to_string()).with("requires", requires.clone());
    }
    let seen = Text::new(format!("the source of `{name}` is `{folder}`"), format!("`{name}` 的源码位于 `{folder}`"));
    let lacks = source.lacking(host, python);
    let mut answer = Answer::new("found", seen).with("path", folder.to_string());
    if let Some(into) = empty_folder(host, folder, python) {
        answer = answer.with("into", into.to_string());
    }
    if !lacks.is_empty() {
        answer = answer.with("lacks", lacks);
    }
    answer
}

/// Says whether a requirement is known to leave an interpreter out.
fn excludes(requires: &str, python: &Interpreter) -> bool {
    let (Ok(wanted), Ok(version)) = (requires.parse::<VersionSpecifiers>(), python.version().parse::<Version>()) else {
        return false;
    };
    !wanted.contains(&version)
}

/// Names a folder that is not there yet, for the wheel to be built.
fn empty_folder(host: &dyn Host, source: &AbsPath, python: &Interpreter) -> Option<AbsPath> {
    let stem = format!("dist/for-{}", python.tag());
    let names = std::iter::once(stem.clone()).chain((2..100).map(|n| format!("{stem}-{n}")));
    names.map(|name| source.resolve(name)).find(|folder| host.inspect(folder.as_path()).is_err())
}

/// The source of a package, as far as its files tell without running them.
pub(crate) struct Source {
    pub folder: AbsPath,
    /// Normalised names that it gives itself.
    pub names: Vec<String>,
    /// The same as they are written.
    pub raw_names: Vec<String>,
    /// The version, where its files tell without running them.
    pub version: Option<String>,
    pub requires_python: Option<String>,
    /// What its build asks for.
    pub build_requires: Vec<String>,
}

impl Source {
    /// Reads `pyproject.toml`, `setup.cfg` and the literal names of `setup.py`.
    pub(crate) fn read(host: &dyn Host, folder: &AbsPath) -> Option<Self> {
        let text = |name: &str| {
            let path = folder.resolve(name);
            let is_file = host.follow(path.as_path()).is_ok_and(|meta| meta.kind == FileKind::File);
            let bytes = is_file.then(|| host.read(path.as_path(), TEXT).ok())??;
            Some(String::from_utf8_lossy(&bytes).into_owned())
        };
        let (pyproject, setup, config) = (text("pyproject.toml"), text("setup.py"), text("setup.cfg"));
        if pyproject.is_none() && setup.is_none() {
            return None;
        }
        let toml = pyproject.and_then(|text| text.parse::<toml_edit::DocumentMut>().ok());
        let value = |table: &str, key: &str| toml.as_ref().and_then(|toml| toml.get(table)?.get(key)).cloned();
        let string = |item: Option<toml_edit::Item>| item.and_then(|item| item.as_str().map(str::to_owned));
        let mut names: Vec<String> = string(value("project", "name")).into_iter().collect();
        names.extend(config.iter().flat_map(|text| assigned(text, "name", Quotes::May)));
        names.extend(setup.iter().flat_map(|text| assigned(text, "name", Quotes::Must)));
        let requires_python = string(value("project", "requires-python"))
            .or_else(|| config.iter().flat_map(|text| assigned(text, "python_requires", Quotes::May)).next())
            .or_else(|| setup.iter().flat_map(|text| assigned(text, "python_requires", Quotes::Must)).next());
        let build_requires = match value("build-system", "requires").as_ref().and_then(|item| item.as_array()) {
            Some(list) => list.iter().filter_map(|item| item.as_str().map(str::to_owned)).collect(),
            // What pip takes for a project that does not say.
            None => vec!["setuptools>=40.8.0".to_owned()],
        };
        let version = string(value("project", "version"))
            .or_else(|| setup.iter().flat_map(|text| assigned(text, "version", Quotes::Must)).next());
        let raw_names = names;
        let names = raw_names.iter().map(|name| normalise(name)).collect();
        Some(Self { folder: folder.clone(), names, raw_names, version, requires_python, build_requires })
    }

    /// Lists what its build asks for that an interpreter does not have. What cannot be compared counts as lacking.
    pub(crate) fn lacking(&self, host: &dyn Host, python: &Interpreter) -> Vec<String> {
        let installed = distributions::installed(host, python);
        let version = |name: &str| installed.iter().find(|one| one.name == name).map(|one| one.version.clone());
        let mut lacking: Vec<String> =
            self.build_requires.iter().filter(|requirement| !is_met(requirement, &version)).cloned().collect();
        let old_setuptools = version("setuptools")
            .and_then(|version| version.parse::<Version>().ok())
            .is_some_and(|version| version < Version::new([70, 1]));
        // Older ones leave `bdist_wheel` to another package.
        if old_setuptools && version("wheel").is_none() {
            lacking.push("wheel".to_owned());
        }
        lacking
    }
}

/// Says whether `name>=1,<2` is installed; extras and markers are not judged.
fn is_met(requirement: &str, version: &dyn Fn(&str) -> Option<String>) -> bool {
    if requirement.contains([';', '[', '@']) {
        return false;
    }
    let at =
        requirement.find(|c: char| !(c.is_alphanumeric() || matches!(c, '-' | '_' | '.'))).unwrap_or(requirement.len());
    let (name, rest) = requirement.split_at(at);
    let Some(have) = version(&normalise(name.trim())) else { return false };
    let rest = rest.trim().trim_start_matches('(').trim_end_matches(')');
    if rest.is_empty() {
        return true;
    }
    match (rest.parse::<VersionSpecifiers>(), have.parse::<Version>()) {
        (Ok(wanted), Ok(have)) => wanted.contains(&have),
        _ => false,
    }
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Quotes {
    Must,
    May,
}

/// Finds the literal values of `key = "value"` in a text, wherever they stand.
fn assigned(text: &str, key: &str, quotes: Quotes) -> Vec<String> {
    let mut found = Vec::new();
    for line in text.lines().map(str::trim).filter(|line| !line.starts_with('#')) {
        for (at, _) in line.match_indices(key) {
            let before = line[..at].chars().next_back();
            if before.is_some_and(|c| c.is_alphanumeric() || matches!(c, '_' | '.' | '"' | '\'')) {
                continue;
            }
            let Some(value) = line[at + key.len()..].trim_start().strip_prefix('=').map(str::trim_start) else {
                continue;
            };
            let quote = value.chars().next().filter(|c| matches!(c, '"' | '\''));
            match (quote, quotes) {
                (Some(quote), _) => found.extend(value[1..].split(quote).next().map(str::to_owned)),
                (None, Quotes::May) if at == 0 => found.push(value.to_owned()),
                (None, Quotes::May | Quotes::Must) => {}
            }
        }
    }
    found
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn literal_names_are_found() {
        let setup = "import x\nNAME = 'z'\nsetup(name=\"My_Pack\", version=get(), # name='c'\n  entry={'name': 1})\n";
        assert_eq!(assigned(setup, "name", Quotes::Must), ["My_Pack", "c"]);
        assert_eq!(assigned("setup(\n    name = NAME,\n", "name", Quotes::Must), [""; 0]);
        assert_eq!(assigned("[metadata]\nname = my-pack\n", "name", Quotes::May), ["my-pack"]);
        assert_eq!(assigned("python_requires='>=3.8'", "python_requires", Quotes::Must), [">=3.8"]);
        assert_eq!(assigned("distname='a', package.name='b'", "name", Quotes::Must), [""; 0]);
    }

    #[test]
    fn requirements_are_compared() {
        let version = |name: &str| (name == "set-up").then(|| "65.5.0".to_owned());
        for (requirement, want) in [
            ("Set_up", true),
            ("set-up>=40.8.0", true),
            ("set-up >= 61, < 70", true),
            ("set-up>=70", false),
            ("other", false),
            ("set-up; python_version<'4'", false),
            ("set-up[extra]", false),
            ("set-up @ file:///x", false),
            ("", false),
        ] {
            assert_eq!(is_met(requirement, &version), want, "{requirement}");
        }
    }
}
