//! Does a wheel fit the Python that was to have it; is there one that does?
//!
//! Judged by files alone: tags are worked out as installers do, wheels are read without unpacking, nothing is run.

use std::path::Path;

use pep440_rs::Version;

use super::{Answer, ArgSpec, Inquiry, Question, UNKNOWN};
use crate::evidence::python::tags::Supported;
use crate::evidence::python::{BrokenWheel, Interpreter, Libc, Wheel, distributions, installer};
use crate::evidence::{FileKind, Host};
use crate::formats::wheel_name::{Tag, WheelName, normalise};
use crate::os::AbsPath;
use crate::recipe::Text;

/// The questions of this file.
pub const QUESTIONS: &[Question] = &[
    Question {
        name: "python_wheel_fit",
        about: "Says which part of a wheel does not fit the Python that was to install it.",
        args: &[
            ArgSpec { name: "wheel", required: false, about: "The wheel's file name, as the log names it" },
            ArgSpec { name: "python", required: false, about: "The interpreter; the command's own when absent" },
        ],
        answers: &[
            "fits",
            "python",
            "abi",
            "platform",
            "arch",
            "libc",
            "old_pip",
            "requires_python",
            "renamed",
            "broken",
            "bad_name",
        ],
        values: &[
            "path",
            "file",
            "name",
            "version",
            "wheel_tags",
            "python",
            "python_version",
            "python_tags",
            "built_for",
            "requires",
            "why",
        ],
        ask: python_wheel_fit,
    },
    Question {
        name: "python_fitting_wheel",
        about: "Looks for a wheel of the same project and version that fits an interpreter, beside another one and in `dist`.",
        args: &[
            ArgSpec { name: "python", required: true, about: "The interpreter" },
            ArgSpec { name: "name", required: true, about: "The project's name" },
            ArgSpec { name: "version", required: true, about: "The version" },
            ArgSpec { name: "near", required: false, about: "A wheel: its folder is looked in first" },
        ],
        answers: &["found", "other_version", "none"],
        values: &["path", "file", "files"],
        ask: python_fitting_wheel,
    },
];

/// Names of a folder of wheels.
const MOST_NAMES: usize = 20_000;
/// Wheels that are opened in one search.
const MOST_OPENED: usize = 200;

fn python_wheel_fit(inquiry: &Inquiry<'_>) -> Answer {
    let host = inquiry.host;
    let Some(python) = interpreter(inquiry) else {
        return unknown("which Python was to have the wheel is not known", "无法确定 wheel 要装到哪个 Python");
    };
    let named = inquiry.text("wheel");
    let Some(path) = locate(inquiry, named.as_deref()) else {
        let Some(file) = named else { return unknown("no wheel is named", "没有指明 wheel") };
        // Not on this disk: its name still tells.
        return match WheelName::parse(&file) {
            Ok(name) => judged(host, &python, &name, None),
            Err(bad) => about(Answer::new("bad_name", says(&file, &bad.to_string())), &python).with("file", file),
        };
    };
    let file = file_name(&path);
    let answer = match Wheel::read(host, &path) {
        Ok(wheel) => judged(host, &python, &wheel.file, Some(&wheel)),
        Err(BrokenWheel::Name(bad)) => about(Answer::new("bad_name", says(&file, &bad.to_string())), &python),
        Err(broken) => {
            let answer = match WheelName::parse(&file) {
                Ok(name) => of_name(Answer::new("broken", says(&file, &broken.to_string())), &name),
                Err(_) => Answer::new("broken", says(&file, &broken.to_string())),
            };
            about(answer, &python).with("why", broken.to_string())
        }
    };
    answer.with("path", path.to_string()).with("file", file)
}

fn unknown(en: &str, zh: &str) -> Answer {
    Answer::new(UNKNOWN, Text::new(en, zh))
}

fn says(file: &str, why: &str) -> Text {
    Text::new(format!("`{file}`: {why}"), format!("`{file}`：{why}"))
}

fn file_name(path: &AbsPath) -> String {
    path.file_name().map(|name| name.to_string_lossy().into_owned()).unwrap_or_default()
}

/// The interpreter that is asked about, else the one that the command installs into, else the active one.
pub(super) fn interpreter(inquiry: &Inquiry<'_>) -> Option<Interpreter> {
    if let Some(python) = inquiry.text("python") {
        return Interpreter::at(inquiry.host, &AbsPath::new(python).ok()?);
    }
    match inquiry.command.and_then(|command| installer::direct(inquiry.host, command)) {
        Some(installer) => installer.python,
        None => installer::active(inquiry.host),
    }
}

/// Finds the wheel: among the command's words, else by its name in the project, in its `dist` and in `wheelhouse`.
fn locate(inquiry: &Inquiry<'_>, named: Option<&str>) -> Option<AbsPath> {
    let host = inquiry.host;
    let is_file = |path: &AbsPath| host.follow(path.as_path()).is_ok_and(|meta| meta.kind == FileKind::File);
    let given = inquiry.command.and_then(|command| installer::direct(host, command));
    let given: Vec<AbsPath> =
        given.map(|one| one.wheels(host)).unwrap_or_default().into_iter().map(|one| one.path).collect();
    let Some(named) = named else { return (given.len() == 1).then(|| given[0].clone()).filter(is_file) };
    if let Some(path) = given.into_iter().find(|path| file_name(path) == named && is_file(path)) {
        return Some(path);
    }
    if named.contains('/') {
        return None;
    }
    places(host, None).into_iter().map(|folder| folder.resolve(named)).find(is_file)
}

/// Where wheels lie.
fn places(host: &dyn Host, near: Option<&AbsPath>) -> Vec<AbsPath> {
    let mut folders: Vec<AbsPath> = near.and_then(AbsPath::parent).into_iter().collect();
    let project = [Some(host.project()), host.git().top_level()].into_iter().flatten();
    for root in project {
        folders.extend([root.clone(), root.resolve("dist"), root.resolve("wheelhouse"), root.resolve("python/dist")]);
    }
    let mut seen = std::collections::BTreeSet::new();
    folders.retain(|folder| seen.insert(folder.clone()));
    folders
}

fn judged(host: &dyn Host, python: &Interpreter, name: &WheelName, wheel: Option<&Wheel>) -> Answer {
    let answer =
        |word: &'static str, en: String, zh: String| about(of_name(Answer::new(word, Text::new(en, zh)), name), python);
    let Some(supported) = Supported::by(python) else {
        return answer(
            UNKNOWN,
            format!("what `{}` takes cannot be told from its files", python.executable),
            format!("无法从文件判断 `{}` 接受哪些 wheel", python.executable),
        );
    };
    let program = &python.executable;
    let takes = taken(python);
    let mut found = match supported.fit(&name.tags) {
        Err(part) => answer(
            part.word(),
            format!("the wheel is for {}, `{program}` takes {takes}", name.parts.join("-")),
            format!("该 wheel 面向 {}，而 `{program}` 接受 {takes}", name.parts.join("-")),
        ),
        Ok(_) if needs_newer_pip(host, python, &supported, name) => answer(
            "old_pip",
            format!("the wheel fits `{program}`, but its pip is too old to know the tag {}", name.parts[2]),
            format!("该 wheel 与 `{program}` 相符，但其 pip 过旧，不认识标签 {}", name.parts[2]),
        ),
        Ok(_) if wheel.is_some_and(|wheel| wheel.is_renamed() && supported.fit(&wheel.built_for).is_err()) => answer(
            "renamed",
            "the file was renamed: it was built for another Python or platform than its name says".to_owned(),
            "该文件被改过名：其内容是为文件名所示之外的 Python 或平台构建的".to_owned(),
        ),
        Ok(_) if wheel.is_some_and(|wheel| wheel.allows(&python.version()) == Some(false)) => answer(
            "requires_python",
            format!("the tags fit, but the wheel asks for another Python than {}", python.version()),
            format!("标签相符，但该 wheel 不支持 Python {}", python.version()),
        ),
        Ok(_) => answer("fits", format!("the wheel fits `{program}`"), format!("该 wheel 与 `{program}` 相符")),
    };
    if let Some(wheel) = wheel {
        if let Some(requires) = &wheel.requires_python {
            found = found.with("requires", requires.clone());
        }
        if wheel.is_renamed() {
            let tags: Vec<String> = wheel.built_for.iter().map(Tag::to_string).collect();
            found = found.with("built_for", tags);
        }
    }
    found
}

/// Tags with the number of glibc are known since pip 20.3.
fn needs_newer_pip(host: &dyn Host, python: &Interpreter, supported: &Supported, name: &WheelName) -> bool {
    let older: Vec<Tag> = name.tags.iter().filter(|tag| !tag.platform.starts_with("manylinux_2_")).cloned().collect();
    if supported.fit(&older).is_ok() {
        return false;
    }
    let pip = distributions::find(host, python, "pip").and_then(|pip| pip.version.parse::<Version>().ok());
    pip.is_some_and(|pip| pip < Version::new([20, 3]))
}

/// The closest tags of an interpreter, for a reader.
fn taken(python: &Interpreter) -> String {
    let tag = python.tag();
    let abi = if python.free_threaded { format!("{tag}t") } else { tag.clone() };
    let platform = python.platform.as_ref().map_or_else(String::new, |platform| match platform.libc {
        Libc::Glibc(major, minor) => format!("-linux_{0}, manylinux_{major}_{minor}_{0}", platform.arch),
        Libc::Musl | Libc::Unknown => format!("-linux_{}", platform.arch),
    });
    format!("{tag}-{abi}{platform}")
}

fn of_name(answer: Answer, name: &WheelName) -> Answer {
    let answer = answer.with("name", name.name.clone()).with("version", name.version.to_string());
    answer.with("wheel_tags", name.parts.join("-"))
}

fn about(answer: Answer, python: &Interpreter) -> Answer {
    let answer = answer.with("python", python.executable.to_string()).with("python_version", python.version());
    answer.with("python_tags", taken(python))
}

fn python_fitting_wheel(inquiry: &Inquiry<'_>) -> Answer {
    let host = inquiry.host;
    let (Some(python), Some(name), Some(version)) =
        (interpreter(inquiry), inquiry.text("name"), inquiry.text("version"))
    else {
        return unknown("interpreter, name or version is not known", "解释器、名称或版本未知");
    };
    let (Some(supported), Ok(version)) = (Supported::by(&python), version.parse::<Version>()) else {
        return unknown("what the interpreter takes is not known", "无法确定解释器接受哪些 wheel");
    };
    let near = inquiry.text("near").and_then(|near| AbsPath::new(near).ok());
    let mut found = fitting(host, &python, &supported, &normalise(&name), near.as_ref());
    let program = &python.executable;
    let files: Vec<String> = found.iter().map(|(_, wheel)| wheel.path.to_string()).collect();
    if let Some(at) = found.iter().position(|(_, wheel)| wheel.file.version == version) {
        let wheel = found.swap_remove(at).1;
        let seen = Text::new(
            format!("`{}` is the same version and fits `{program}`", wheel.path),
            format!("`{}` 版本相同，且与 `{program}` 相符", wheel.path),
        );
        let file = file_name(&wheel.path);
        return Answer::new("found", seen).with("path", wheel.path.to_string()).with("file", file).with("files", files);
    }
    if let Some((_, wheel)) = found.first() {
        let seen = Text::new(
            format!("`{}` fits `{program}`, but is another version", wheel.path),
            format!("`{}` 与 `{program}` 相符，但版本不同", wheel.path),
        );
        return Answer::new("other_version", seen).with("path", wheel.path.to_string()).with("files", files);
    }
    Answer::new(
        "none",
        Text::new(
            format!("no wheel of `{name}` for `{program}` lies beside it or in `dist`"),
            format!("旁边和 `dist` 中都没有适合 `{program}` 的 `{name}` wheel"),
        ),
    )
}

/// Lists the whole, not renamed wheels of a project that fit, the best first; of equally good ones the newest.
fn fitting(
    host: &dyn Host,
    python: &Interpreter,
    supported: &Supported,
    name: &str,
    near: Option<&AbsPath>,
) -> Vec<(usize, Wheel)> {
    let mut found = Vec::new();
    let mut opened = 0;
    let mut folders = places(host, near);
    // Where an earlier repair built one.
    let built = folders.iter().filter(|folder| folder.file_name().is_some_and(|name| name == "dist"));
    let built: Vec<AbsPath> = built.map(|folder| folder.resolve(format!("for-{}", python.tag()))).collect();
    folders.extend(built);
    for folder in folders {
        for file in host.list(folder.as_path(), MOST_NAMES).unwrap_or_default() {
            let Some(parsed) = file.to_str().and_then(|file| WheelName::parse(file).ok()) else { continue };
            let Some(rank) = supported.fit(&parsed.tags).ok().filter(|_| parsed.name == name) else { continue };
            opened += 1;
            if opened > MOST_OPENED || needs_newer_pip(host, python, supported, &parsed) {
                continue;
            }
            let Ok(wheel) = Wheel::read(host, &folder.resolve(&file)) else { continue };
            if !wheel.is_renamed() && wheel.allows(&python.version()) == Some(true) {
                found.push((rank, wheel));
            }
        }
    }
    let modified = |path: &Path| host.follow(path).ok().map(|meta| meta.modified);
    found.sort_by_cached_key(|(rank, wheel)| {
        let version = std::cmp::Reverse(wheel.file.version.clone());
        (version, *rank, std::cmp::Reverse(modified(wheel.path.as_path())))
    });
    found
}
