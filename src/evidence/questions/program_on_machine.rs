//! Is a program that a build misses on this machine, under its own name or in a folder that is not on PATH?
//!
//! Programs are judged by their files and never run.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};

use super::cached_tools::Cache;
use super::distribution::Distribution;
use super::object_kind::is_program;
use super::toolchain;
use super::{Answer, ArgSpec, Inquiry, Question, UNKNOWN};
use crate::evidence::Host;
use crate::recipe::Text;

/// The questions of this file.
pub const QUESTIONS: &[Question] = &[
    Question {
        name: "linker_on_machine",
        about: "Finds the linker that the compiler is told to use (`-fuse-ld=…`) and does not find.",
        args: &[
            ArgSpec { name: "linker", required: false, about: "What stands after `-fuse-ld=`, where the log tells" },
            ArgSpec { name: "tree", required: false, about: "The build tree, whose cache may have the flags" },
        ],
        answers: &["elsewhere", "on_path", "versioned_only", "path_gone", "none"],
        values: &["linker", "program", "folder", "files", "install"],
        ask: linker_on_machine,
    },
    Question {
        name: "build_program_on_machine",
        about: "Finds the program that a generator of CMake builds with: ninja or make.",
        args: &[ArgSpec { name: "generator", required: true, about: "The generator" }],
        answers: &["elsewhere", "on_path", "none"],
        values: &["program", "folder", "install"],
        ask: build_program_on_machine,
    },
];

/// Linkers that compilers take by name, with the package that has them.
const LINKERS: &[(&str, &str)] =
    &[("lld", "lld"), ("mold", "mold"), ("gold", "binutils"), ("bfd", "binutils"), ("wild", "")];

/// Entries of a folder of programs.
const MOST_NAMES: usize = 100_000;
/// A CMakeLists.txt.
const LARGEST_LISTS: u64 = 1 << 20;

fn linker_on_machine(inquiry: &Inquiry<'_>) -> Answer {
    let host = inquiry.host;
    let Some(linker) = inquiry.text("linker").or_else(|| asked_for(inquiry)) else {
        return search(host, "ld", "ld", "binutils");
    };
    if linker.contains('/') {
        let path = Path::new(&linker);
        let word = if is_program(host, path) { "on_path" } else { "path_gone" };
        let seen = if word == "on_path" {
            Text::new(format!("{linker} exists now"), format!("{linker} 现在存在"))
        } else {
            Text::new(format!("{linker} does not exist here"), format!("本机没有 {linker}"))
        };
        return Answer::new(word, seen).with("linker", linker);
    }
    let Some((name, package)) = LINKERS.iter().find(|(name, _)| *name == linker) else {
        return Answer::new(
            UNKNOWN,
            Text::new(format!("no linker `{linker}` is known"), format!("未知的链接器 `{linker}`")),
        );
    };
    search(host, name, &format!("ld.{name}"), package)
}

/// Which linker the flags ask for, of the cache, the environment and the project's own list.
fn asked_for(inquiry: &Inquiry<'_>) -> Option<String> {
    let host = inquiry.host;
    let after_flag = |text: &str| {
        let rest = text.split_once("-fuse-ld=")?.1;
        let end = rest.find(|c: char| !(c.is_ascii_alphanumeric() || "/._+-".contains(c))).unwrap_or(rest.len());
        Some(rest[..end].to_owned()).filter(|linker| !linker.is_empty())
    };
    let cache = inquiry.text("tree").and_then(|tree| Cache::read(host, Path::new(&tree)));
    let entries = ["EXE_LINKER_FLAGS", "SHARED_LINKER_FLAGS", "MODULE_LINKER_FLAGS", "C_FLAGS", "CXX_FLAGS"];
    let cached = cache
        .as_ref()
        .and_then(|cache| entries.iter().find_map(|entry| after_flag(cache.get(&format!("CMAKE_{entry}"))?)));
    let by_variable = || {
        let variables = ["LDFLAGS", "CFLAGS", "CXXFLAGS"];
        variables.iter().find_map(|name| after_flag(&host.env(name)?.to_string_lossy()))
    };
    let by_command = || inquiry.command.unwrap_or_default().iter().find_map(|word| after_flag(&word.to_string_lossy()));
    let by_project = || {
        let source = cache.as_ref().and_then(|cache| cache.get("CMAKE_HOME_DIRECTORY")).map(PathBuf::from)?;
        let bytes = host.read(&source.join("CMakeLists.txt"), LARGEST_LISTS).ok()?;
        after_flag(&String::from_utf8_lossy(&bytes))
    };
    cached.or_else(by_command).or_else(by_variable).or_else(by_project)
}

fn build_program_on_machine(inquiry: &Inquiry<'_>) -> Answer {
    let generator = inquiry.text("generator").unwrap_or_default();
    let (program, package) = match generator.as_str() {
        "Ninja" | "Ninja Multi-Config" => ("ninja", "ninja-build"),
        "Unix Makefiles" => ("make", "make"),
        _ => {
            let text = Text::new(format!("`{generator}` is not known"), format!("未知的生成器 `{generator}`"));
            return Answer::new(UNKNOWN, text);
        }
    };
    let package = match (program, Distribution::of(inquiry.host)) {
        ("ninja", Distribution::Suse | Distribution::Arch) => "ninja",
        _ => package,
    };
    let answer = search(inquiry.host, program, program, package);
    // A name with a version is no use to CMake.
    if answer.word == "versioned_only" { Answer { word: "none", ..answer } } else { answer }
}

/// Looks for a program on PATH, then in the other folders of programs, then under names with a version.
fn search(host: &dyn Host, linker: &str, program: &str, package: &str) -> Answer {
    let path = host.env("PATH").unwrap_or_default();
    let on_path: Vec<PathBuf> = std::env::split_paths(&path).filter(|folder| folder.is_absolute()).collect();
    let has = |folder: &PathBuf| is_program(host, &folder.join(program));
    let common = |word, folder: &Path, en: String, zh: String| {
        Answer::new(word, Text::new(en, zh))
            .with("linker", linker)
            .with("program", program)
            .with("folder", folder.display().to_string())
    };
    if let Some(folder) = on_path.iter().find(|folder| has(folder)) {
        let at = folder.display();
        return common(
            "on_path",
            folder,
            format!("{program} is on PATH, in {at}"),
            format!("PATH 中有 {program}，位于 {at}"),
        );
    }
    let mut folders = toolchain::folders_of_programs(host);
    for prefix in ["CONDA_PREFIX", "VIRTUAL_ENV"].iter().filter_map(|name| host.env(name)) {
        folders.push(Path::new(&prefix).join("bin"));
    }
    folders.extend(host.home().map(|home| home.resolve(".local/bin").as_path().to_owned()));
    let versioned = versioned(host, &folders, program);
    // `/usr/bin/ld.lld-14` is a link into the folder that has the plain name.
    let behind = versioned.iter().filter_map(|file| Some(host.real(file).ok()?.parent()?.to_owned()));
    folders.extend(behind.collect::<Vec<_>>());
    let mut newest: Vec<&PathBuf> = folders.iter().filter(|folder| !on_path.contains(folder) && has(folder)).collect();
    newest.sort_by_key(|folder| std::cmp::Reverse(number(&folder.to_string_lossy())));
    if let Some(folder) = newest.first() {
        let at = folder.display();
        return common(
            "elsewhere",
            folder,
            format!("{program} is in {at}, which is not on PATH"),
            format!("{program} 位于 {at}，但该目录不在 PATH 中"),
        );
    }
    let install = Distribution::of(host)
        .install(&[package.to_owned()].into_iter().filter(|name| !name.is_empty()).collect::<Vec<_>>());
    let files: Vec<String> = versioned.iter().map(|file| file.display().to_string()).collect();
    let answer = if files.is_empty() {
        let seen = Text::new(format!("{program} is in no usual folder"), format!("常用目录中都没有 {program}"));
        Answer::new("none", seen)
    } else {
        let list = files.join(", ");
        let seen = Text::new(
            format!("only {list} is here, under a name with a version"),
            format!("本机只有带版本号的 {list}"),
        );
        Answer::new("versioned_only", seen).with("files", files)
    };
    let answer = answer.with("linker", linker).with("program", program);
    if install.is_empty() { answer } else { answer.with("install", install) }
}

/// Lists `ld.lld-14` and the like, the newest first.
fn versioned(host: &dyn Host, folders: &[PathBuf], program: &str) -> Vec<PathBuf> {
    let start = format!("{program}-");
    let mut found = BTreeSet::new();
    for folder in folders {
        for name in host.list(folder, MOST_NAMES).unwrap_or_default() {
            let version = name.to_str().and_then(|name| name.strip_prefix(start.as_str())?.parse::<u32>().ok());
            if let Some(version) = version.filter(|_| is_program(host, &folder.join(&name))) {
                found.insert((std::cmp::Reverse(version), folder.join(&name)));
            }
        }
    }
    found.into_iter().map(|(_, file)| file).collect()
}

/// The 14 of `/usr/lib/llvm-14/bin`; 0 for another folder.
fn number(text: &str) -> u32 {
    let rest = text.rsplit_once("/llvm").map_or("", |(_, rest)| rest.trim_start_matches('-'));
    let digits: String = rest.chars().take_while(char::is_ascii_digit).collect();
    digits.parse().unwrap_or(0)
}
