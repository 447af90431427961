//! Into which environment would pip install, and who manages it? Is a hash pinned here?
//!
//! Files decide; no Python is started.

use std::path::Path;

use super::{Answer, ArgSpec, Inquiry, Place, Question, UNKNOWN};
use crate::evidence::pip_config::installs_into;
use crate::evidence::{FileKind, Host};
use crate::os::AbsPath;
use crate::recipe::Text;

/// The questions of this file.
pub const QUESTIONS: &[Question] = &[
    Question {
        name: "pip_environment",
        about: "Says whether the command's pip installs into a Python that the system manages (PEP 668).",
        args: &[],
        answers: &["managed", "managed_environment_here", "private"],
        values: &["prefix", "marker", "own", "bin"],
        ask: pip_environment,
    },
    Question {
        name: "pinned_hash",
        about: "Says whether a requirements file of the project pins a hash, and where.",
        args: &[ArgSpec { name: "hash", required: true, about: "The hash in hexadecimal" }],
        answers: &["pinned", "not_pinned"],
        values: &["place"],
        ask: pinned_hash,
    },
];

/// Names that environments beside a project have.
const NAMES: &[&str] = &[".venv", "venv", "env", ".env"];

fn pip_environment(inquiry: &Inquiry<'_>) -> Answer {
    let host = inquiry.host;
    let unknown = |en: &str, zh: &str| Answer::new(UNKNOWN, Text::new(en, zh));
    let Some((program, prefix)) = inquiry.command.and_then(|command| installs_into(host, command)) else {
        return unknown("the command does not tell which Python it uses", "无法从命令得知使用哪个 Python");
    };
    let is_there = |path: &AbsPath| host.follow(path.as_path()).is_ok();
    if is_there(&prefix.resolve("pyvenv.cfg")) || is_there(&prefix.resolve("conda-meta")) {
        let seen = Text::new(format!("{prefix} is an environment of its own"), format!("{prefix} 是独立的环境"));
        return Answer::new("private", seen).with("prefix", prefix.to_string());
    }
    let Some(marker) = marker(host, &prefix) else {
        return unknown("the Python of the command bears no mark", "命令所用的 Python 没有相应标记");
    };
    let seen = Text::new(format!("{marker} is there"), format!("存在 {marker}"));
    let with =
        |word| Answer::new(word, seen.clone()).with("prefix", prefix.to_string()).with("marker", marker.to_string());
    match own_environment(host, &program) {
        Some(own) => {
            with("managed_environment_here").with("bin", own.resolve("bin").to_string()).with("own", own.to_string())
        }
        None => with("managed"),
    }
}

/// Finds the mark of the system beside the standard library.
fn marker(host: &dyn Host, prefix: &AbsPath) -> Option<AbsPath> {
    let lib = prefix.resolve("lib");
    let names = host.list(lib.as_path(), 100_000).unwrap_or_default();
    let of_python = names.iter().filter(|name| name.to_string_lossy().starts_with("python3"));
    let mut marks = of_python.map(|name| lib.resolve(name).resolve("EXTERNALLY-MANAGED"));
    marks.find(|mark| host.follow(mark.as_path()).is_ok_and(|meta| meta.kind == FileKind::File))
}

/// Finds the project's own environment, where the command's program would be taken from it.
fn own_environment(host: &dyn Host, program: &str) -> Option<AbsPath> {
    if program.contains('/') {
        return None;
    }
    let is_own = |path: &AbsPath| host.follow(path.as_path()).is_ok_and(|meta| meta.user == host.user());
    let has = |path: AbsPath| {
        host.follow(path.as_path()).is_ok_and(|meta| meta.mode & 0o111 != 0 && meta.kind == FileKind::File)
    };
    let mut found = NAMES.iter().map(|name| host.project().resolve(name));
    found.find(|folder| {
        is_own(&folder.resolve("pyvenv.cfg"))
            && has(folder.resolve("bin").resolve(program))
            && has(folder.resolve("bin").resolve("python"))
            && has(folder.resolve("bin").resolve("pip"))
    })
}

/// Files of a folder that are looked into, and their largest size.
const MOST_FILES: usize = 4096;
const LIMIT: u64 = 16 << 20;

fn pinned_hash(inquiry: &Inquiry<'_>) -> Answer {
    let host = inquiry.host;
    let hash = inquiry.text("hash").unwrap_or_default().to_ascii_lowercase();
    if hash.len() < 32 || !hash.bytes().all(|byte| byte.is_ascii_hexdigit()) {
        return Answer::new(UNKNOWN, Text::new("no hash is named", "没有给出哈希"));
    }
    for folder in [host.project().clone(), host.project().resolve("requirements")] {
        let names = host.list(folder.as_path(), MOST_FILES).unwrap_or_default();
        let is_list = |name: &str| {
            let extension = Path::new(name).extension().and_then(|extension| extension.to_str());
            matches!(extension, Some("txt" | "in" | "lock")) || name.starts_with("pylock") || name == "Pipfile.lock"
        };
        for name in names.iter().filter(|name| name.to_str().is_some_and(is_list)) {
            let path = folder.resolve(name);
            let bytes = host.read(path.as_path(), LIMIT).unwrap_or_default();
            let text = String::from_utf8_lossy(&bytes);
            let line = text.lines().position(|line| line.contains(&format!("sha256:{hash}")));
            if let Some(line) = line.and_then(|line| u32::try_from(line + 1).ok()) {
                let seen = Text::new(format!("{path}:{line} pins it"), format!("{path}:{line} 锁定了它"));
                let mut answer = Answer::new("pinned", seen).with("place", format!("{path}:{line}"));
                let says = Text::new("this hash is expected", "预期的是此哈希");
                answer.places.push(Place { path, line, column: 1, says });
                return answer;
            }
        }
    }
    let seen = Text::new("no requirements file of the project pins it", "项目的 requirements 文件都没有锁定它");
    Answer::new("not_pinned", seen)
}
