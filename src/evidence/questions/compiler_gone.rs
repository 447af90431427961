//! Was a build tree configured with a compiler that is gone, and is there another of its family?
//!
//! A compiler of another family, or of an unknown one, is never offered: the build would silently become another build.

use std::path::{Path, PathBuf};

use super::cached_tools::Cache;
use super::distribution::Distribution;
use super::setup_cmake_args::{LARGEST_SCRIPT, find_script};
use super::toolchain;
use super::{Answer, ArgSpec, Inquiry, Question, UNKNOWN};
use crate::evidence::Host;
use crate::evidence::compilers::{self, Kind};
use crate::recipe::Text;

const TREE: ArgSpec = ArgSpec { name: "tree", required: false, about: "The build tree" };

/// The questions of this file.
pub const QUESTIONS: &[Question] = &[
    Question {
        name: "compiler_gone",
        about: "Finds compilers in the build tree's cache that are gone, and one of the same family that is here.",
        args: &[
            TREE,
            ArgSpec {
                name: "tools",
                required: false,
                about: "The compilers that the log names; one of them must be it",
            },
        ],
        answers: &["same_family", "other_version", "no_replacement", "asked_for", "present", "no_tree"],
        values: &["gone", "entries", "was", "offer", "c", "cxx", "settings", "install", "source"],
        ask: compiler_gone,
    },
    Question {
        name: "configured_compiler",
        about: "Says whether the build tree is configured with the compilers that were meant.",
        args: &[
            TREE,
            ArgSpec { name: "c", required: false, about: "The C compiler that was meant" },
            ArgSpec { name: "cxx", required: false, about: "The C++ compiler that was meant" },
        ],
        answers: &["as_meant", "another", "no_tree"],
        values: &["compilers"],
        ask: configured_compiler,
    },
];

/// Languages whose compilers have the families that are known here.
const KNOWN: [&str; 2] = ["C", "CXX"];
/// Languages whose compiler is looked at as well; what takes its place is not known here.
const OTHERS: [&str; 5] = ["CUDA", "Fortran", "HIP", "OBJC", "OBJCXX"];

/// A compiler that the cache names and that is not there.
struct Gone {
    language: &'static str,
    path: PathBuf,
    kind: Option<Kind>,
}

fn compiler_gone(inquiry: &Inquiry<'_>) -> Answer {
    let host = inquiry.host;
    let Some((tree, cache)) = cache(inquiry) else { return no_tree() };
    let is_gone = |language: &str| {
        let value = cache.get(&format!("CMAKE_{language}_COMPILER"))?;
        let path = PathBuf::from(value);
        let not_there = |error: std::io::Error| {
            matches!(error.kind(), std::io::ErrorKind::NotFound | std::io::ErrorKind::NotADirectory)
        };
        (path.is_absolute() && host.follow(&path).is_err_and(not_there)).then_some(path)
    };
    let gone: Vec<Gone> = KNOWN
        .into_iter()
        .chain(OTHERS)
        .filter_map(|language| {
            let path = is_gone(language)?;
            let kind = compilers::remembered(host, &tree, language, &path).filter(|_| KNOWN.contains(&language));
            Some(Gone { language, path, kind })
        })
        .collect();
    let named = inquiry.list("tools");
    let is_named = |gone: &Gone| named.iter().any(|tool| Path::new(tool) == gone.path);
    if gone.is_empty() || !(named.is_empty() || gone.iter().any(is_named)) {
        return Answer::new(
            "present",
            Text::new(
                format!("no compiler that the cache of {} names by its path is gone", tree.display()),
                format!("{} 缓存中以完整路径记录的编译器都还在", tree.display()),
            ),
        );
    }
    let mut entries: Vec<String> = gone.iter().map(|gone| format!("CMAKE_{}_COMPILER", gone.language)).collect();
    if is_gone("ASM").is_some() {
        // CMake takes the C compiler for it.
        entries.push("CMAKE_ASM_COMPILER".to_owned());
    }
    let told = |gone: &Gone| format!("CMAKE_{}_COMPILER={}", gone.language, gone.path.display());
    let list: Vec<String> = gone.iter().map(told).collect();
    let list = list.join(", ");
    let seen = Text::new(
        format!("the cache of {} names a compiler that is gone: {list}", tree.display()),
        format!("{} 的缓存记录了已不存在的编译器：{list}", tree.display()),
    );
    let common = |word| {
        let answer = Answer::new(word, seen.clone()).with("gone", list.clone()).with("entries", entries.clone());
        let source = cache.get("CMAKE_HOME_DIRECTORY").unwrap_or_default();
        let answer = if source.is_empty() { answer } else { answer.with("source", source) };
        match kinds(&gone) {
            was if was.is_empty() => answer,
            was => answer.with("was", was),
        }
    };
    if let Some(place) = gone.iter().find_map(|gone| asked_for(inquiry, &cache, &gone.path)) {
        let mut answer = common("asked_for");
        answer.seen = place;
        return answer;
    }
    let Some((kind, pair)) = replacement(host, &gone) else {
        let answer = common("no_replacement");
        return match install(host, &gone) {
            Some(install) => answer.with("install", install),
            None => answer,
        };
    };
    let same = kind.major().is_none_or(|major| pair.major == Some(major));
    let answer = common(if same { "same_family" } else { "other_version" });
    let files = [("C", "c", &pair.c), ("CXX", "cxx", &pair.cxx)];
    let mut settings = Vec::new();
    let mut paths = Vec::new();
    let mut answer = answer;
    for (language, name, path) in files {
        let Some(path) = path else { continue };
        let path = path.display().to_string();
        settings.push(format!("-DCMAKE_{language}_COMPILER={path}"));
        answer = answer.with(name, path.clone());
        paths.push(path);
    }
    let version = pair.major.map(|major| major.to_string());
    let offered = Kind { family: kind.family, version }.told();
    answer.with("offer", format!("{} ({offered})", paths.join(", "))).with("settings", settings.join(" "))
}

/// The kinds of what is gone, each once: `Clang 14.0.6`.
fn kinds(gone: &[Gone]) -> String {
    let mut kinds: Vec<String> = gone.iter().filter_map(|gone| Some(gone.kind.as_ref()?.told())).collect();
    kinds.dedup();
    kinds.join(", ")
}

/// Finds compilers of one family for all that is gone.
fn replacement(host: &dyn Host, gone: &[Gone]) -> Option<(Kind, compilers::Pair)> {
    let kinds: Vec<&Kind> = gone.iter().filter_map(|gone| gone.kind.as_ref()).collect();
    let first = (*kinds.first()?).clone();
    let are_alike = kinds.iter().all(|kind| kind.family == first.family && kind.major() == first.major());
    let prefixes_of = |gone: &Gone| compilers::prefixes(&gone.path.file_name().unwrap_or_default().to_string_lossy());
    let prefixes = prefixes_of(gone.first()?);
    if kinds.len() != gone.len() || !are_alike || gone.iter().any(|gone| prefixes_of(gone) != prefixes) {
        return None;
    }
    let needs = KNOWN.map(|language| gone.iter().any(|gone| gone.language == language));
    let folders = toolchain::folders_of_programs(host);
    let pair = prefixes.iter().find_map(|prefix| compilers::find(host, &folders, &first, prefix, needs))?;
    Some((first, pair))
}

/// Says where a compiler is asked for, besides the cache: there it must be put right.
fn asked_for(inquiry: &Inquiry<'_>, cache: &Cache, path: &Path) -> Option<Text> {
    let host = inquiry.host;
    let path = path.to_str()?;
    if inquiry.command.unwrap_or_default().iter().any(|word| word.to_string_lossy().contains(path)) {
        return Some(Text::new(format!("the command itself names {path}"), format!("命令本身指定了 {path}")));
    }
    let names_it = |value: &str| value.split(char::is_whitespace).any(|word| word == path);
    let by_variable = host.env_names().into_iter().find(|name| {
        let value = name.to_str().and_then(|name| host.env(name)).unwrap_or_default();
        names_it(&value.to_string_lossy())
    });
    if let Some(name) = by_variable {
        let name = name.to_string_lossy();
        return Some(Text::new(format!("{name} names {path}"), format!("环境变量 {name} 指定了 {path}")));
    }
    let source = Path::new(cache.get("CMAKE_HOME_DIRECTORY").unwrap_or_default());
    let mut files: Vec<PathBuf> =
        ["CMakeLists.txt", "CMakePresets.json", "CMakeUserPresets.json"].map(|name| source.join(name)).to_vec();
    files.extend(cache.get("CMAKE_TOOLCHAIN_FILE").map(PathBuf::from));
    files.extend(find_script(host, inquiry.command, None, &[]).map(|script| script.as_path().to_owned()));
    let holds = |file: &PathBuf| {
        let bytes = host.read(file, LARGEST_SCRIPT).unwrap_or_default();
        String::from_utf8_lossy(&bytes).contains(path)
    };
    let file = files.into_iter().filter(|file| file.is_absolute()).find(holds)?;
    let file = file.display();
    Some(Text::new(format!("{file} names {path}"), format!("{file} 中写明了 {path}")))
}

/// The command that installs a compiler of the family.
fn install(host: &dyn Host, gone: &[Gone]) -> Option<String> {
    let family = gone.iter().find_map(|gone| gone.kind.as_ref())?.family;
    let distribution = Distribution::of(host);
    let packages: Vec<String> = match (family, &distribution) {
        (compilers::Family::Clang, known) => known.compilers(),
        (compilers::Family::Gnu, Distribution::Debian { .. } | Distribution::Alpine) => {
            vec!["gcc".into(), "g++".into()]
        }
        (compilers::Family::Gnu, Distribution::Rpm { .. } | Distribution::Suse) => vec!["gcc".into(), "gcc-c++".into()],
        (compilers::Family::Gnu, Distribution::Arch) => vec!["gcc".into()],
        (compilers::Family::Gnu, Distribution::Unknown) => Vec::new(),
    };
    Some(distribution.install(&packages)).filter(|command| !command.is_empty())
}

fn configured_compiler(inquiry: &Inquiry<'_>) -> Answer {
    let host = inquiry.host;
    let Some((tree, cache)) = cache(inquiry) else { return no_tree() };
    let meant: Vec<(&str, String)> = [("CMAKE_C_COMPILER", "c"), ("CMAKE_CXX_COMPILER", "cxx")]
        .into_iter()
        .filter_map(|(entry, arg)| Some((entry, inquiry.text(arg)?)))
        .collect();
    if meant.is_empty() {
        return Answer::new(UNKNOWN, Text::new("no compiler is meant", "没有指定编译器"));
    }
    let is_it = |(entry, path): &(&str, String)| {
        let has = cache.get(entry).unwrap_or_default();
        let real = |path: &str| host.real(Path::new(path)).ok();
        has == path || (real(has).is_some() && real(has) == real(path))
    };
    let has: Vec<String> =
        meant.iter().map(|(entry, _)| format!("{entry}={}", cache.get(entry).unwrap_or("-"))).collect();
    let list = has.join(", ");
    if meant.iter().all(is_it) {
        let seen = Text::new(
            format!("{} is configured with {list}", tree.display()),
            format!("{} 配置所用的编译器为 {list}", tree.display()),
        );
        return Answer::new("as_meant", seen).with("compilers", has);
    }
    let wanted: Vec<&str> = meant.iter().map(|(_, path)| path.as_str()).collect();
    let wanted = wanted.join(", ");
    let seen = Text::new(
        format!("the cache of {} names {list}, not {wanted}", tree.display()),
        format!("{} 的缓存记录的是 {list}，而不是 {wanted}", tree.display()),
    );
    Answer::new("another", seen).with("compilers", has)
}

fn cache(inquiry: &Inquiry<'_>) -> Option<(PathBuf, Cache)> {
    let tree = PathBuf::from(inquiry.text("tree")?);
    let cache = Cache::read(inquiry.host, &tree)?;
    Some((tree, cache))
}

fn no_tree() -> Answer {
    Answer::new("no_tree", Text::new("there is no configured build tree", "没有已配置的构建目录"))
}
