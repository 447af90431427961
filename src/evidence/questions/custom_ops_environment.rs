//! Does the environment lead a build to one whole CANN, and does the MindSpore here have what custom operators need?

use std::path::{Path, PathBuf};

use super::{Answer, ArgSpec, Inquiry, Question, UNKNOWN};
use crate::evidence::elf::Elf;
use crate::evidence::loader::Loader;
use crate::evidence::python_places::PythonPlaces;
use crate::evidence::{FileKind, Host, cann_libraries};
use crate::os::AbsPath;
use crate::recipe::Text;

/// The questions of this file.
pub const QUESTIONS: &[Question] = &[
    Question {
        name: "custom_ops_environment",
        about: "Says whether ASCEND_HOME_PATH and ASCEND_OPP_PATH lead to one whole CANN, and which one is installed.",
        args: &[],
        answers: &[
            "whole",
            "not_set",
            "several",
            "home_gone",
            "no_headers",
            "opp_not_set",
            "opp_elsewhere",
            "opp_cut",
            "none",
        ],
        values: &["root", "opp", "bin", "lib", "set_env", "roots", "named", "cut"],
        ask: custom_ops_environment,
    },
    Question {
        name: "mindspore_builder",
        about: "Says whether the installed MindSpore has `ops.CustomOpBuilder`, by its files.",
        args: &[],
        answers: &["there", "too_old", "absent"],
        values: &["version", "folder"],
        ask: mindspore_builder,
    },
    Question {
        name: "shared_library",
        about: "Finds a library by its file name: where the loader looks, in CANN, in an installed package.",
        args: &[ArgSpec { name: "library", required: true, about: "Names such as `libhccl.so`" }],
        answers: &["found", "in_cann", "in_package", "absent"],
        values: &["file", "folder", "set_env", "missing"],
        ask: shared_library,
    },
];

const LARGEST_SOURCE: u64 = 8 << 20;
const MOST_NAMES: usize = 20_000;

fn custom_ops_environment(inquiry: &Inquiry<'_>) -> Answer {
    let host = inquiry.host;
    let variable = |name: &str| host.env(name).filter(|value| !value.is_empty()).map(PathBuf::from);
    let roots = distinct(host, cann_libraries::roots(host));
    let list: Vec<String> = roots.iter().map(|root| root.display().to_string()).collect();
    let found = |word: &'static str, root: &Path, seen: Text| {
        let shown = |path: PathBuf| path.display().to_string();
        let answer = Answer::new(word, seen)
            .with("root", shown(root.to_owned()))
            .with("opp", shown(root.join("opp")))
            .with("bin", shown(root.join("bin")))
            .with("lib", shown(root.join("lib64")))
            .with("roots", list.clone());
        match cann_libraries::set_env(host, root) {
            Some(script) => answer.with("set_env", shown(script)),
            None => answer,
        }
    };
    let Some(home) = variable("ASCEND_HOME_PATH") else {
        return match roots.as_slice() {
            [] => Answer::new("none", Text::new("no CANN is found here", "本机没有找到 CANN")),
            [root] => found(
                "not_set",
                root,
                Text::new(
                    format!("ASCEND_HOME_PATH is not set; CANN is in `{}`", root.display()),
                    format!("未设置 ASCEND_HOME_PATH；CANN 位于 `{}`", root.display()),
                ),
            ),
            [..] => {
                let all = list.join(", ");
                let seen = Text::new(format!("several are here: {all}"), format!("本机有多个：{all}"));
                Answer::new("several", seen).with("roots", list.clone())
            }
        };
    };
    let shown = home.display().to_string();
    if !cann_libraries::is_root(host, &home) {
        let seen = Text::new(
            format!("ASCEND_HOME_PATH names `{shown}`, which is no installation of CANN"),
            format!("ASCEND_HOME_PATH 指向 `{shown}`，其中没有 CANN"),
        );
        return match roots.as_slice() {
            [root] => found("home_gone", root, seen),
            [] | [..] => Answer::new("home_gone", seen).with("roots", list.clone()),
        }
        .with("named", shown);
    }
    if host.follow(&home.join("include/acl/acl.h")).is_err() {
        let seen = Text::new(
            format!("`{shown}` has libraries and no headers: the runtime package alone"),
            format!("`{shown}` 只有库而没有头文件：仅安装了运行包"),
        );
        return found("no_headers", &home, seen);
    }
    let own = home.join("opp");
    let Some(opp) = variable("ASCEND_OPP_PATH") else {
        let seen = Text::new(
            format!("ASCEND_OPP_PATH is not set; `{}` is there", own.display()),
            format!("未设置 ASCEND_OPP_PATH；`{}` 存在", own.display()),
        );
        let is_there = host.follow(&own).is_ok_and(|meta| meta.kind == FileKind::Folder);
        return if is_there { found("opp_not_set", &home, seen) } else { Answer::new(UNKNOWN, seen) };
    };
    let named = opp.display().to_string();
    let real = |path: &Path| host.real(path).ok();
    if real(&opp).is_none() || real(&opp) != real(&own) {
        let seen = Text::new(
            format!("ASCEND_OPP_PATH names `{named}`, not `{}`", own.display()),
            format!("ASCEND_OPP_PATH 指向 `{named}`，而不是 `{}`", own.display()),
        );
        return found("opp_elsewhere", &home, seen).with("named", named);
    }
    // MindSpore takes what stands before the first `opp` of the path for the root.
    let cut = named.split("opp").next().unwrap_or_default().to_owned();
    if !cann_libraries::is_root(host, Path::new(&cut)) {
        let seen = Text::new(
            format!("MindSpore cuts `{named}` at its first `opp` and looks into `{cut}`"),
            format!("MindSpore 会在 `{named}` 的首个 `opp` 处截断，到 `{cut}` 中查找"),
        );
        return found("opp_cut", &home, seen).with("named", named).with("cut", cut);
    }
    let seen = Text::new(format!("`{shown}` is a whole CANN"), format!("`{shown}` 是完整的 CANN"));
    found("whole", &home, seen)
}

/// Leaves out what leads to the same folder: `cann` is a link to the newest version.
fn distinct(host: &dyn Host, roots: Vec<PathBuf>) -> Vec<PathBuf> {
    let mut seen: Vec<PathBuf> = Vec::new();
    roots
        .into_iter()
        .filter(|root| {
            let real = host.real(root).unwrap_or_else(|_| root.clone());
            let is_new = !seen.contains(&real);
            seen.push(real);
            is_new
        })
        .collect()
}

fn mindspore_builder(inquiry: &Inquiry<'_>) -> Answer {
    let host = inquiry.host;
    let places = PythonPlaces::of(host, inquiry.command, None);
    for folder in &places.folders {
        let package = folder.join("mindspore");
        if host.follow(&package.join("version.py")).is_err() && host.follow(&package.join("__init__.py")).is_err() {
            continue;
        }
        let names = host.list(folder, MOST_NAMES).unwrap_or_default();
        let version = names.iter().find_map(|name| {
            let rest = name.to_str()?.strip_prefix("mindspore")?.strip_suffix(".dist-info")?;
            rest.rsplit_once('-').map(|(_, version)| version.to_owned())
        });
        let source = host.read(&package.join("ops/operations/custom_ops.py"), LARGEST_SOURCE).unwrap_or_default();
        let has_it = memchr::memmem::find(&source, b"class CustomOpBuilder").is_some();
        let named = version.clone().unwrap_or_else(|| "?".to_owned());
        let folder = package.display().to_string();
        let (word, seen) = if has_it {
            (
                "there",
                Text::new(
                    format!("MindSpore {named} in `{folder}` has CustomOpBuilder"),
                    format!("`{folder}` 中的 MindSpore {named} 提供 CustomOpBuilder"),
                ),
            )
        } else {
            (
                "too_old",
                Text::new(
                    format!("MindSpore {named} in `{folder}` has no CustomOpBuilder"),
                    format!("`{folder}` 中的 MindSpore {named} 没有 CustomOpBuilder"),
                ),
            )
        };
        let answer = Answer::new(word, seen).with("folder", folder);
        return match version {
            Some(version) => answer.with("version", version),
            None => answer,
        };
    }
    if places.program.is_none() {
        return Answer::new(UNKNOWN, Text::new("which Python runs is not known", "不清楚由哪个 Python 运行"));
    }
    Answer::new("absent", Text::new("MindSpore is not installed for this Python", "该 Python 没有安装 MindSpore"))
}

fn shared_library(inquiry: &Inquiry<'_>) -> Answer {
    let host = inquiry.host;
    let fits = |name: &String| !name.is_empty() && !name.contains(['/', '\0']) && name.contains(".so");
    let names: Vec<String> = inquiry.list("library").into_iter().filter(fits).take(20).collect();
    let Some(name) = names.first() else {
        return Answer::new(UNKNOWN, Text::new("no library is named", "没有给出库名"));
    };
    let loader = Loader::of(host);
    let is_library = |path: &PathBuf| Elf::open(host, path).is_ok();
    let at = |word: &'static str, file: &Path| {
        let folder = file.parent().unwrap_or(Path::new("/")).display().to_string();
        let file = file.display().to_string();
        Answer::new(word, Text::new(format!("`{file}` is here"), format!("本机有 `{file}`")))
            .with("file", file)
            .with("folder", folder)
            .with("missing", name.clone())
    };
    if let Some(file) = loader.all(name).first() {
        return at("found", file);
    }
    for root in cann_libraries::roots(host) {
        let files = cann_libraries::folders(host, &root).into_iter().map(|folder| folder.join(name));
        if let Some(file) = files.into_iter().find(is_library) {
            let answer = at("in_cann", &file);
            return match cann_libraries::set_env(host, &root) {
                Some(script) => answer.with("set_env", script.display().to_string()),
                None => answer,
            };
        }
    }
    let places = PythonPlaces::of(host, inquiry.command, None);
    for folder in places.folders.iter().filter_map(|folder| AbsPath::new(folder).ok()) {
        for package in host.list(folder.as_path(), MOST_NAMES).unwrap_or_default() {
            let package = folder.resolve(Path::new(&package));
            let files = ["lib", ""].map(|below| package.as_path().join(below).join(name));
            if let Some(file) = files.iter().find(|file| is_library(file)) {
                return at("in_package", file);
            }
        }
    }
    let seen = Text::new(
        format!("{name} is neither where the loader looks, nor in CANN, nor in a package"),
        format!("{name} 既不在加载器的搜索路径中，也不在 CANN 或已安装的包中"),
    );
    Answer::new("absent", seen).with("missing", name.clone())
}
