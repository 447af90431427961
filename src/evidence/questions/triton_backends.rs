//! Are the backends that distributions register with Triton there, and why not?
//!
//! Told from entry points, RECORDs and links; Triton is not imported.

use super::{Answer, ArgSpec, Inquiry, Question, UNKNOWN};
use crate::evidence::python::distributions::{self, Distribution};
use crate::evidence::python::{Interpreter, installer, modules};
use crate::evidence::{FileKind, Host};
use crate::formats::python_metadata::entry_points;
use crate::os::AbsPath;
use crate::recipe::Text;

/// The questions of this file.
pub const QUESTIONS: &[Question] = &[Question {
    name: "triton_backends",
    about: "Says why a backend that is registered with Triton cannot be imported.",
    args: &[ArgSpec { name: "package_root", required: false, about: "The folder of `triton`, as the log names it" }],
    answers: &["whole", "several_owners", "lost", "never_packed", "unlinked", "no_target", "text_link", "elsewhere"],
    values: &[
        "folder",
        "backends",
        "links",
        "targets",
        "distribution",
        "version",
        "owners",
        "python",
        "source",
        "missing",
    ],
    ask: triton_backends,
}];

const GROUP: &str = "triton.backends";
const TEXT: u64 = 1 << 20;
/// What Triton imports of each backend.
pub(crate) const FILES: &[&str] = &["compiler.py", "driver.py"];

/// A backend that somebody registered.
struct Backend {
    /// `amd`
    name: String,
    folder: AbsPath,
    by: Distribution,
}

fn triton_backends(inquiry: &Inquiry<'_>) -> Answer {
    let host = inquiry.host;
    let unknown = |en: &str, zh: &str| Answer::new(UNKNOWN, Text::new(en, zh));
    let Some(python) = installer::running(host, inquiry.command) else {
        return unknown("which Python runs is not known", "无法确定运行的是哪个 Python");
    };
    let Some(folder) = modules::package_folder(host, &python, "triton") else {
        return unknown("this Python has no triton", "此 Python 中没有 triton");
    };
    let real = |path: &AbsPath| host.real(path.as_path()).unwrap_or_else(|_| path.as_path().to_owned());
    let named = inquiry.text("package_root").and_then(|root| AbsPath::new(root).ok());
    if let Some(named) = named.map(|root| root.resolve("triton")).filter(|named| real(named) != real(&folder)) {
        let seen = Text::new(
            format!("the log is of `{named}`, `{}` imports `{folder}`", python.executable),
            format!("日志来自 `{named}`，而 `{}` 导入的是 `{folder}`", python.executable),
        );
        return Answer::new("elsewhere", seen).with("folder", folder.to_string());
    }
    let about =
        |answer: Answer| answer.with("folder", folder.to_string()).with("python", python.executable.to_string());
    if is_text_link(host, &folder) {
        return about(Answer::new(
            "text_link",
            Text::new(
                format!("`{folder}` is a text file: git wrote the link as text"),
                format!("`{folder}` 是文本文件：git 把链接检出成了文本"),
            ),
        ));
    }
    let backends = registered(host, &python, &folder);
    if backends.is_empty() {
        return about(unknown("nothing registers a backend", "没有任何发行包登记后端"));
    }
    let broken: Vec<&Backend> = backends.iter().filter(|backend| !lacking(host, &backend.folder).is_empty()).collect();
    let Some(first) = broken.first() else {
        let names: Vec<&str> = backends.iter().map(|backend| backend.name.as_str()).collect();
        let names = names.join(", ");
        return about(Answer::new(
            "whole",
            Text::new(format!("the backends are there: {names}"), format!("后端都在：{names}")),
        ));
    };
    let names: Vec<String> = broken.iter().map(|backend| backend.name.clone()).collect();
    let owners = owners(host, &python);
    let missing: Vec<String> =
        broken.iter().flat_map(|one| lacking(host, &one.folder)).take(8).map(|path| path.to_string()).collect();
    about(cause(host, first, &broken, &owners))
        .with("backends", names)
        .with("missing", missing)
        .with("distribution", first.by.name.clone())
        .with("version", first.by.version.clone())
}

fn cause(host: &dyn Host, first: &Backend, broken: &[&Backend], owners: &[Distribution]) -> Answer {
    let folder = &first.folder;
    let told: Vec<String> = owners.iter().map(|one| format!("{} {}", one.name, one.version)).collect();
    if owners.len() > 1 {
        let list = told.join(", ");
        let seen = Text::new(
            format!("`{folder}` is not whole, and several distributions own `triton/`: {list}"),
            format!("`{folder}` 不完整，且有多个发行包占用 `triton/`：{list}"),
        );
        return Answer::new("several_owners", seen).with("owners", told);
    }
    if let Some(source) = source_of(host, first) {
        let wanted: Vec<(AbsPath, Option<AbsPath>)> =
            broken.iter().map(|one| (one.folder.clone(), target(host, one))).collect();
        let all = wanted.iter().all(|(link, target)| target.is_some() && can_be_linked(host, link));
        if all {
            let links: Vec<String> = wanted.iter().map(|(link, _)| link.to_string()).collect();
            let targets: Vec<String> =
                wanted.iter().filter_map(|(_, target)| Some(target.as_ref()?.to_string())).collect();
            let seen = Text::new(
                format!("`{folder}` is not linked to `{}`", targets[0]),
                format!("`{folder}` 没有链接到 `{}`", targets[0]),
            );
            return Answer::new("unlinked", seen)
                .with("links", links)
                .with("targets", targets)
                .with("source", source.to_string());
        }
        let seen = Text::new(
            format!("`{folder}` is not there, and the checkout `{source}` has nothing for it that could be linked"),
            format!("`{folder}` 不存在，且源码 `{source}` 中没有可供链接的内容"),
        );
        return Answer::new("no_target", seen).with("source", source.to_string());
    }
    let by = &first.by;
    let prefix = format!("triton/backends/{}/", first.name);
    let files = distributions::recorded(host, by).unwrap_or_default();
    if files.iter().any(|file| file.path.starts_with(&prefix)) {
        let seen = Text::new(
            format!("`{}` {} installed `{folder}`, and it is not whole any more", by.name, by.version),
            format!("`{folder}` 由 `{}` {} 安装，现已不完整", by.name, by.version),
        );
        return Answer::new("lost", seen);
    }
    let seen = Text::new(
        format!("`{}` {} registers `{folder}` and never installed it", by.name, by.version),
        format!("`{}` {} 登记了 `{folder}`，但从未安装其内容", by.name, by.version),
    );
    Answer::new("never_packed", seen)
}

/// Lists the backends that installed distributions register.
fn registered(host: &dyn Host, python: &Interpreter, folder: &AbsPath) -> Vec<Backend> {
    let mut found = Vec::new();
    for by in distributions::installed(host, python) {
        let Ok(bytes) = host.read(by.info.resolve("entry_points.txt").as_path(), TEXT) else { continue };
        let groups = entry_points(&String::from_utf8_lossy(&bytes));
        for (name, value) in groups.get(GROUP).into_iter().flatten() {
            let Some(module) = value.split(':').next().and_then(|module| module.strip_prefix("triton.")) else {
                continue;
            };
            let is_plain = |part: &str| !part.is_empty() && part.chars().all(|c| c.is_alphanumeric() || c == '_');
            if module.split('.').all(is_plain) {
                let folder = folder.resolve(module.replace('.', "/"));
                found.push(Backend { name: name.clone(), folder, by: by.clone() });
            }
        }
    }
    found
}

/// Lists what Triton would import of a backend and does not find, or finds empty.
fn lacking(host: &dyn Host, folder: &AbsPath) -> Vec<AbsPath> {
    let is_there =
        |path: &AbsPath| host.follow(path.as_path()).is_ok_and(|meta| meta.kind == FileKind::File && meta.len > 0);
    FILES.iter().map(|file| folder.resolve(file)).filter(|path| !is_there(path)).collect()
}

/// Lists the distributions whose RECORD has files of `triton/`.
fn owners(host: &dyn Host, python: &Interpreter) -> Vec<Distribution> {
    let own = |one: &Distribution| {
        distributions::recorded(host, one)
            .is_some_and(|files| files.iter().any(|file| file.path.starts_with("triton/")))
    };
    distributions::installed(host, python).into_iter().filter(own).collect()
}

/// The checkout that an editable install is of, where the backend's folder lies in it.
fn source_of(host: &dyn Host, backend: &Backend) -> Option<AbsPath> {
    let source = backend.by.editable.clone().or_else(|| {
        // An `.egg-info` in the source itself.
        (!backend.by.folder.as_path().ends_with("site-packages")).then(|| backend.by.folder.clone())
    })?;
    let parent = backend.folder.parent()?;
    let real = |path: &AbsPath| host.real(path.as_path()).ok();
    real(&parent)?.starts_with(real(&source)?).then_some(source)
}

/// Finds what triton's own setup links a backend to: `third_party/<name>/backend` of the same checkout.
fn target(host: &dyn Host, backend: &Backend) -> Option<AbsPath> {
    let package = host.real(backend.folder.parent()?.as_path()).ok()?;
    // Triton-distributed links file by file below 3rdparty and refuses what it does not know: left to its own setup.
    if package.components().any(|part| part.as_os_str() == "3rdparty") {
        return None;
    }
    let name = backend.folder.file_name()?.to_str()?;
    let ancestors = package.ancestors().skip(1).take(3).filter_map(|folder| AbsPath::new(folder).ok());
    let mut targets = ancestors.map(|folder| folder.resolve("third_party").resolve(name).resolve("backend"));
    targets.find(|target| lacking(host, target).is_empty())
}

/// Says whether a link may take the place: nothing is there, or a link that leads nowhere.
pub(crate) fn can_be_linked(host: &dyn Host, link: &AbsPath) -> bool {
    match host.inspect(link.as_path()) {
        Err(error) => error.kind() == std::io::ErrorKind::NotFound,
        Ok(meta) => meta.kind == FileKind::Link && host.follow(link.as_path()).is_err(),
    }
}

/// Says whether git wrote a link as a small text file that holds the target.
fn is_text_link(host: &dyn Host, path: &AbsPath) -> bool {
    let Ok(meta) = host.inspect(path.as_path()) else { return false };
    meta.kind == FileKind::File
        && meta.len < 200
        && host.read(path.as_path(), 200).is_ok_and(|text| text.contains(&b'/'))
}
