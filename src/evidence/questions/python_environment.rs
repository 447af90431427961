//! The Pythons of this machine, and what is installed in one.

use super::python_wheel::interpreter;
use super::{Answer, ArgSpec, Inquiry, Question, UNKNOWN};
use crate::evidence::python::at_work::installer_at_work;
use crate::evidence::python::distributions::{self, Compare};
use crate::evidence::python::leftovers::{self, Interrupted, State};
use crate::evidence::python::tags::Supported;
use crate::evidence::python::{Interpreter, Wheel, machine};
use crate::formats::wheel_name::WheelName;
use crate::os::AbsPath;
use crate::recipe::Text;

/// The questions of this file.
pub const QUESTIONS: &[Question] = &[
    Question {
        name: "python_interpreters",
        about: "Looks for interpreters of this machine that take a wheel: environments of the project first.",
        args: &[
            ArgSpec { name: "wheel", required: true, about: "The wheel, or its file name" },
            ArgSpec { name: "python", required: false, about: "The interpreter that does not fit" },
        ],
        answers: &["project", "others", "none"],
        values: &["python", "version", "pythons"],
        ask: python_interpreters,
    },
    Question {
        name: "python_distribution",
        about: "Says whether a distribution is installed and whole: its files are what its RECORD says.",
        args: &[
            ArgSpec { name: "name", required: true, about: "The project's name" },
            ArgSpec { name: "version", required: false, about: "The version that is wanted" },
            ArgSpec { name: "python", required: false, about: "The interpreter; the command's own when absent" },
        ],
        answers: &["intact", "other_version", "damaged", "no_record", "editable", "absent"],
        values: &["version", "folder", "source", "missing", "altered", "python"],
        ask: python_distribution,
    },
    Question {
        name: "pip_leftovers",
        about: "Says whether an interrupted pip left the old version of a package under names that begin with `~`.",
        args: &[
            ArgSpec { name: "folder", required: false, about: "The folder of packages, as the log names it" },
            ArgSpec { name: "python", required: false, about: "The interpreter; the command's own when absent" },
        ],
        answers: &["restorable", "replaced", "incomplete", "none", "busy"],
        values: &["folder", "names", "versions", "lost", "process"],
        ask: pip_leftovers,
    },
];

/// Names told to the user at most.
const TOLD: usize = 8;

fn python_interpreters(inquiry: &Inquiry<'_>) -> Answer {
    let host = inquiry.host;
    let Some(wheel) = inquiry.text("wheel") else {
        return Answer::new(UNKNOWN, Text::new("no wheel is known", "wheel 未知"));
    };
    let on_disk = AbsPath::new(&wheel).ok().and_then(|path| Wheel::read(host, &path).ok());
    let Some(name) = wheel.rsplit('/').next().and_then(|file| WheelName::parse(file).ok()) else {
        return Answer::new(UNKNOWN, Text::new("it is no name of a wheel", "不是 wheel 的文件名"));
    };
    let unfit = inquiry.text("python");
    let takes = |python: &Interpreter| {
        let fits = Supported::by(python).is_some_and(|supported| supported.fit(&name.tags).is_ok());
        let allowed = on_disk.as_ref().is_none_or(|wheel| wheel.allows(&python.version()) == Some(true));
        fits && allowed && unfit.as_deref() != Some(&*python.executable.to_string())
    };
    let told = |python: &Interpreter| format!("{} ({})", python.executable, python.version());
    let of_project: Vec<Interpreter> = machine::of_project(host).into_iter().filter(takes).collect();
    if let [python] = of_project.as_slice() {
        let seen = Text::new(
            format!("the project's own environment `{}` takes the wheel", python.prefix),
            format!("项目自己的环境 `{}` 与该 wheel 相符", python.prefix),
        );
        return Answer::new("project", seen)
            .with("python", python.executable.to_string())
            .with("version", python.version())
            .with("pythons", vec![told(python)]);
    }
    let others: Vec<Interpreter> = machine::interpreters(host).into_iter().filter(takes).collect();
    let Some(first) = others.first() else {
        return Answer::new(
            "none",
            Text::new("no Python of this machine takes the wheel", "本机没有与该 wheel 相符的 Python"),
        );
    };
    let list: Vec<String> = others.iter().take(TOLD).map(told).collect();
    let seen =
        Text::new(format!("the wheel fits {}", list.join(", ")), format!("与该 wheel 相符的有 {}", list.join("、")));
    Answer::new("others", seen)
        .with("python", first.executable.to_string())
        .with("version", first.version())
        .with("pythons", list)
}

fn python_distribution(inquiry: &Inquiry<'_>) -> Answer {
    let host = inquiry.host;
    let (Some(python), Some(name)) = (interpreter(inquiry), inquiry.text("name")) else {
        return Answer::new(UNKNOWN, Text::new("interpreter or name is not known", "解释器或名称未知"));
    };
    let program = python.executable.to_string();
    let Some(found) = distributions::find(host, &python, &name) else {
        let seen =
            Text::new(format!("`{name}` is not installed for `{program}`"), format!("`{program}` 中没有安装 `{name}`"));
        return Answer::new("absent", seen).with("python", program);
    };
    let version = found.version.clone();
    let answer = |word: &'static str, en: String, zh: String| {
        let answer = Answer::new(word, Text::new(en, zh));
        answer.with("version", version.clone()).with("folder", found.folder.to_string()).with("python", program.clone())
    };
    let same = |wanted: &str| match (wanted.parse::<pep440_rs::Version>(), version.parse()) {
        (Ok(wanted), Ok(have)) => wanted == have,
        _ => wanted == version,
    };
    if inquiry.text("version").is_some_and(|wanted| !same(&wanted)) {
        return answer(
            "other_version",
            format!("`{name}` {version} is installed"),
            format!("已安装的是 `{name}` {version}"),
        );
    }
    if let Some(source) = &found.editable {
        return answer(
            "editable",
            format!("`{name}` {version} is an editable install of `{source}`"),
            format!("`{name}` {version} 是 `{source}` 的可编辑安装"),
        )
        .with("source", source.to_string());
    }
    let Some(files) = distributions::recorded(host, &found) else {
        return answer(
            "no_record",
            format!("`{name}` {version} has no list of its files"),
            format!("`{name}` {version} 没有文件清单"),
        );
    };
    let damage = distributions::compare(host, &found.folder, &files, Compare::Contents);
    if damage.missing.is_empty() && damage.altered.is_empty() {
        let files = damage.files;
        return answer(
            "intact",
            format!("`{name}` {version} is installed, its {files} files are whole"),
            format!("`{name}` {version} 已安装，{files} 个文件均完整"),
        );
    }
    let (missing, altered) = (damage.missing.len(), damage.altered.len());
    let first = |list: &[String]| list.iter().take(TOLD).cloned().collect::<Vec<String>>();
    let mut answer = answer(
        "damaged",
        format!("of `{name}` {version}, {missing} files are missing and {altered} altered"),
        format!("`{name}` {version} 缺失 {missing} 个文件，{altered} 个文件被改动"),
    );
    if missing > 0 {
        answer = answer.with("missing", first(&damage.missing));
    }
    if altered > 0 {
        answer = answer.with("altered", first(&damage.altered));
    }
    answer
}

fn pip_leftovers(inquiry: &Inquiry<'_>) -> Answer {
    let host = inquiry.host;
    let named = inquiry.text("folder").and_then(|folder| AbsPath::new(folder).ok());
    // A log may name any folder: only one that an interpreter has its packages in counts.
    // Without a log only the active one is asked about.
    let others = if named.is_some() { machine::interpreters(host) } else { Vec::new() };
    let pythons = interpreter(inquiry).into_iter().chain(others);
    let mut folders = pythons.flat_map(|python| python.packages);
    let folder = match &named {
        Some(named) => folders
            .find(|folder| folder == named || host.real(folder.as_path()).is_ok_and(|real| real == named.as_path())),
        None => folders.next(),
    };
    let Some(folder) = folder else {
        return Answer::new(UNKNOWN, Text::new("no Python here has that folder", "本机没有使用该目录的 Python"));
    };
    let all = leftovers::of_folder(host, &folder);
    let of = |state: State| all.iter().filter(|one| one.state == state).collect::<Vec<&Interrupted>>();
    let groups = [
        ("restorable", of(State::Restorable)),
        ("replaced", of(State::Replaced)),
        ("incomplete", of(State::Incomplete)),
    ];
    let Some((word, found)) = groups.into_iter().find(|(_, found)| !found.is_empty()) else {
        let seen = Text::new(
            format!("nothing in `{folder}` was left by an interrupted pip"),
            format!("`{folder}` 中没有 pip 被中断后的残留"),
        );
        return Answer::new("none", seen).with("folder", folder.to_string());
    };
    if let Some(process) = installer_at_work(host, &folder) {
        let seen = Text::new(
            format!("process {process} installs into `{folder}` right now"),
            format!("进程 {process} 正在向 `{folder}` 安装"),
        );
        return Answer::new("busy", seen).with("folder", folder.to_string()).with("process", process.to_string());
    }
    let names: Vec<String> = found.iter().map(|one| one.name.clone()).collect();
    let lost: Vec<String> = found.iter().flat_map(|one| one.lost.iter().take(TOLD).cloned()).collect();
    let moves: Vec<String> = found
        .iter()
        .flat_map(|one| one.moves.iter())
        .filter_map(|(from, _)| Some(from.file_name()?.to_string_lossy().into_owned()))
        .take(TOLD)
        .collect();
    let list = moves.join(", ");
    let seen = Text::new(format!("`{folder}` has {list}"), format!("`{folder}` 中有 {list}"));
    let answer = Answer::new(word, seen)
        .with("folder", folder.to_string())
        .with("names", names)
        .with("versions", found.iter().map(|one| one.version.clone()).collect::<Vec<String>>());
    if lost.is_empty() { answer } else { answer.with("lost", lost) }
}
