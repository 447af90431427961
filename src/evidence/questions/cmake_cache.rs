//! What a build tree's cache says, against the machine: paths that are gone, generator, source, policy minimum.

use std::path::{Path, PathBuf};

use super::{Answer, ArgSpec, Inquiry, Question, UNKNOWN};
use crate::evidence::build_command;
use crate::evidence::build_tree;
use crate::evidence::ownership::is_of_no_stranger;
use crate::evidence::{FileKind, Host};
use crate::formats::cmake_cache::{CMakeCache, Entry};
use crate::os::AbsPath;
use crate::recipe::Text;

const TREE: ArgSpec = ArgSpec { name: "tree", required: false, about: "The build tree" };

/// The questions of this file.
pub const QUESTIONS: &[Question] = &[
    Question {
        name: "cmake_cache_paths",
        about: "Finds cache entries whose programs, libraries or packages are gone; `build_env` where one lay in a temporary build environment.",
        args: &[
            TREE,
            ArgSpec { name: "only", required: false, about: "Names of the entries to look at; all when absent" },
            ArgSpec { name: "path", required: false, about: "A path: only entries that name it count" },
            ArgSpec {
                name: "same_environment",
                required: false,
                about: "A path: only entries that lie in the same temporary build environment count",
            },
        ],
        answers: &["build_env", "dangling", "whole", "no_tree"],
        values: &["entries", "paths", "build_env", "make_program"],
        ask: cmake_cache_paths,
    },
    Question {
        name: "cmake_generator",
        about: "Compares the generator in the cache with the one that is asked for.",
        args: &[
            TREE,
            ArgSpec { name: "previous", required: false, about: "The cached generator, as the message names it" },
            ArgSpec { name: "requested", required: false, about: "The new generator, as the message names it" },
        ],
        answers: &["differs", "same", "no_tree"],
        values: &["cached", "requested"],
        ask: cmake_generator,
    },
    Question {
        name: "cmake_source",
        about: "Tells whether a build tree was copied, lost its source, or is another project's.",
        args: &[TREE, ArgSpec { name: "source", required: false, about: "The source that the log asks for" }],
        answers: &["copied", "source_gone", "other_project", "here", "no_tree"],
        values: &["home", "made_in", "old", "source"],
        ask: cmake_source,
    },
    Question {
        name: "cmake_policy_minimum",
        about: "Reads CMAKE_POLICY_VERSION_MINIMUM of the environment.",
        args: &[ArgSpec { name: "minimum", required: false, about: "The least version that this CMake takes" }],
        answers: &["unset", "too_low", "enough"],
        values: &["value", "minimum"],
        ask: cmake_policy_minimum,
    },
];

/// Folders that a Python build front end makes for one build and removes afterwards.
const BUILD_ENVIRONMENTS: &[&str] = &["pip-build-env-", "build-env-", "pip-ephem-", "pep517-env-"];

fn cmake_cache_paths(inquiry: &Inquiry<'_>) -> Answer {
    let host = inquiry.host;
    let Some(bytes) = tree_cache(inquiry) else { return no_tree() };
    let only = inquiry.list("only");
    let same = inquiry.text("same_environment").and_then(|path| build_environment(&path));
    let named = inquiry.list("path");
    let cache = CMakeCache::parse(&bytes);
    let wanted = |entry: &&Entry| if only.is_empty() { is_input(entry) } else { only.contains(&entry.name) };
    let mut entries: Vec<String> = Vec::new();
    let mut paths: Vec<String> = Vec::new();
    for entry in cache.entries.iter().filter(wanted) {
        let is_named = |path: &&str| named.is_empty() || named.iter().any(|named| named == path);
        let gone = entry.paths().into_iter().filter(is_named).filter(|path| is_gone(host, path));
        // A build front end makes a new environment each time; the check after a re-run is about the old one.
        let gone: Vec<&str> = gone.filter(|path| same.is_none() || build_environment(path) == same).collect();
        if !gone.is_empty() && !entries.contains(&entry.name) {
            entries.push(entry.name.clone());
            paths.extend(gone.into_iter().map(str::to_owned));
        }
    }
    if entries.is_empty() {
        return Answer::new("whole", Text::new("all paths in the cache exist", "缓存中的路径都存在"));
    }
    let environment = paths.iter().find_map(|path| build_environment(path));
    let list = entries.iter().zip(&paths).map(|(entry, path)| format!("{entry}={path}")).take(5).collect::<Vec<_>>();
    let list = list.join(", ");
    let seen = Text::new(format!("gone, but in the cache: {list}"), format!("缓存中有已不存在的路径：{list}"));
    let mut answer = Answer::new(if environment.is_some() { "build_env" } else { "dangling" }, seen)
        .with("entries", entries)
        .with("paths", paths);
    let make_program = make_program(host, cache.value("CMAKE_GENERATOR").unwrap_or_default());
    answer.values.extend(environment.map(|environment| ("build_env", environment.into())));
    answer.values.extend(make_program.map(|program| ("make_program", program.to_string().into())));
    answer
}

/// Finds the build program that CMake would find on PATH for a generator.
fn make_program(host: &dyn Host, generator: &str) -> Option<AbsPath> {
    let names: &[&str] = match generator {
        "Unix Makefiles" => &["gmake", "make"],
        "Ninja" | "Ninja Multi-Config" => &["ninja-build", "ninja", "samu"],
        _ => &[],
    };
    let path = host.env("PATH")?;
    let folders: Vec<AbsPath> = std::env::split_paths(&path).filter_map(|folder| AbsPath::new(folder).ok()).collect();
    let trusted = |path: &AbsPath, kind| {
        is_of_no_stranger(host, path.as_path())
            && host.follow(path.as_path()).is_ok_and(|meta| meta.kind == kind && meta.mode & 0o111 != 0)
    };
    let fits = |program: &AbsPath| {
        let folder = program.parent();
        folder.is_some_and(|folder| !folder.is_within(host.project()) && trusted(&folder, FileKind::Folder))
            && trusted(program, FileKind::File)
    };
    let candidates = names.iter().flat_map(|name| folders.iter().map(move |folder| folder.resolve(name)));
    candidates.into_iter().find(fits)
}

/// Says whether an entry names something that must be there before a build; what a build makes need not be.
fn is_input(entry: &Entry) -> bool {
    let name = entry.name.as_str();
    if entry.kind == "STATIC" || entry.is_output() {
        return false;
    }
    let ends = [
        "_DIR",
        "_DIRS",
        "_EXECUTABLE",
        "_LIBRARY",
        "_LIBRARIES",
        "_INCLUDE_DIR",
        "_COMPILER",
        "_COMPILER_AR",
        "_COMPILER_RANLIB",
        "_PROGRAM",
        "_COMMAND",
        "_ROOT",
    ];
    match entry.kind.as_str() {
        "FILEPATH" => true,
        "INTERNAL" => name == "CMAKE_COMMAND",
        _ => ends.iter().any(|end| name.ends_with(end)),
    }
}

/// Says whether a path leads nowhere. A folder that may not be entered tells nothing.
fn is_gone(host: &dyn Host, path: &str) -> bool {
    let path = path.trim_matches('\'');
    host.follow(Path::new(path)).is_err_and(|error| error.kind() == std::io::ErrorKind::NotFound)
}

/// Returns the temporary build environment that a path lies in.
fn build_environment(path: &str) -> Option<String> {
    let parts: Vec<&str> = path.split('/').collect();
    let is_uv = |at: usize| parts[at].starts_with(".tmp") && at > 0 && parts[at - 1].starts_with("builds-v");
    let at = (0..parts.len())
        .find(|at| BUILD_ENVIRONMENTS.iter().any(|prefix| parts[*at].starts_with(prefix)) || is_uv(*at))?;
    Some(parts[..=at].join("/"))
}

fn cmake_generator(inquiry: &Inquiry<'_>) -> Answer {
    let Some(bytes) = tree_cache(inquiry) else { return no_tree() };
    let cache = CMakeCache::parse(&bytes);
    let Some(cached) = cache.value("CMAKE_GENERATOR").map(str::to_owned) else {
        return Answer::new(UNKNOWN, Text::new("the cache names no generator", "缓存没有写明生成器"));
    };
    let by_command = inquiry
        .command
        .and_then(|command| build_command::direct_configure(command, inquiry.host))
        .and_then(|configure| configure.generator);
    let Some(requested) = by_command.or_else(|| inquiry.text("requested")) else {
        return Answer::new(UNKNOWN, Text::new("no generator is asked for", "没有指定生成器")).with("cached", cached);
    };
    let same = requested.eq_ignore_ascii_case(&cached);
    if !same && inquiry.text("previous").is_some_and(|previous| !previous.eq_ignore_ascii_case(&cached)) {
        let seen = Text::new(
            format!("this tree's generator is {cached}, not the one in the message"),
            format!("该目录的生成器是 {cached}，与报错中的不同"),
        );
        return Answer::new(UNKNOWN, seen).with("cached", cached);
    }
    let word = if same { "same" } else { "differs" };
    let seen = Text::new(
        format!("the cache has {cached}, asked for is {requested}"),
        format!("缓存中的生成器是 {cached}，本次要求的是 {requested}"),
    );
    Answer::new(word, seen).with("cached", cached).with("requested", requested)
}

fn cmake_source(inquiry: &Inquiry<'_>) -> Answer {
    let host = inquiry.host;
    let Some(bytes) = tree_cache(inquiry) else { return no_tree() };
    let cache = CMakeCache::parse(&bytes);
    let (Some(home), Some(made_in)) = (cache.value("CMAKE_HOME_DIRECTORY"), cache.value("CMAKE_CACHEFILE_DIR")) else {
        return Answer::new(UNKNOWN, Text::new("the cache names no source", "缓存没有写明源码目录"));
    };
    let tree = inquiry.text("tree").unwrap_or_default();
    let configure = inquiry.command.and_then(|command| build_command::direct_configure(command, host));
    let by_command = configure.and_then(|configure| configure.source).map(|source| source.as_path().to_owned());
    let wanted = by_command.or_else(|| inquiry.text("source").map(PathBuf::from));
    let home_is_there = host.follow(&Path::new(home).join("CMakeLists.txt")).is_ok();
    let is_other = wanted.as_ref().is_some_and(|wanted| !build_tree::same_folder(host, wanted, Path::new(home)));
    let (word, en, zh) = if !build_tree::same_folder(host, Path::new(made_in), Path::new(&tree)) {
        ("copied", format!("made in `{made_in}`, now in `{tree}`"), format!("在 `{made_in}` 中生成，现位于 `{tree}`"))
    } else if !home_is_there {
        ("source_gone", format!("its source `{home}` is gone"), format!("其源码 `{home}` 已不存在"))
    } else if is_other {
        (
            "other_project",
            format!("it is the build of `{home}`, which is still there"),
            format!("它是 `{home}` 的构建目录，而该源码仍在"),
        )
    } else {
        ("here", format!("it is the build of `{home}`"), format!("它是 `{home}` 的构建目录"))
    };
    let mut answer = Answer::new(word, Text::new(en, zh)).with("home", home).with("made_in", made_in);
    if matches!(word, "copied" | "source_gone") {
        answer = answer.with("old", vec![home.to_owned(), made_in.to_owned()]);
    }
    match wanted {
        Some(wanted) => answer.with("source", wanted.display().to_string()),
        None => answer,
    }
}

fn cmake_policy_minimum(inquiry: &Inquiry<'_>) -> Answer {
    let minimum = inquiry.text("minimum").unwrap_or_else(|| "3.5".to_owned());
    let value = inquiry.host.env("CMAKE_POLICY_VERSION_MINIMUM").and_then(|value| value.into_string().ok());
    let Some(value) = value.filter(|value| !value.is_empty()) else {
        let seen = Text::new("CMAKE_POLICY_VERSION_MINIMUM is not set", "未设置 CMAKE_POLICY_VERSION_MINIMUM");
        return Answer::new("unset", seen).with("minimum", minimum);
    };
    let parts = |version: &str| -> Vec<u32> { version.split('.').map(|part| part.parse().unwrap_or(0)).collect() };
    let word = if parts(&value) < parts(&minimum) { "too_low" } else { "enough" };
    let seen = format!("CMAKE_POLICY_VERSION_MINIMUM={value}");
    Answer::new(word, Text::new(seen.clone(), seen)).with("value", value).with("minimum", minimum)
}

fn tree_cache(inquiry: &Inquiry<'_>) -> Option<Vec<u8>> {
    let tree = inquiry.text("tree").and_then(|tree| AbsPath::new(tree).ok())?;
    let is_folder = inquiry.host.follow(tree.as_path()).is_ok_and(|meta| meta.kind == FileKind::Folder);
    is_folder.then(|| build_tree::read_cache(inquiry.host, tree.as_path())).flatten()
}

fn no_tree() -> Answer {
    Answer::new("no_tree", Text::new("there is no configured build tree", "没有已配置的构建目录"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn knows_temporary_build_environments() {
        let cases = [
            ("/tmp/pip-build-env-x1/overlay/bin/ninja", Some("/tmp/pip-build-env-x1")),
            ("/tmp/build-env-7q_/bin/cmake", Some("/tmp/build-env-7q_")),
            ("/home/u/.cache/uv/builds-v0/.tmpQ1/bin/ninja", Some("/home/u/.cache/uv/builds-v0/.tmpQ1")),
            ("/usr/bin/ninja", None),
            ("/home/u/my-build-env-x/bin/ninja", None),
            ("/home/u/.tmpQ1/bin/ninja", None),
        ];
        for (path, want) in cases {
            assert_eq!(build_environment(path).as_deref(), want, "{path}");
        }
    }

    #[test]
    fn outputs_are_no_inputs() {
        let cases = [
            ("CMAKE_AR:FILEPATH=/x", true),
            ("pybind11_DIR:PATH=/x", true),
            ("pybind11_DIR:UNINITIALIZED=/x", true),
            ("Python3_INCLUDE_DIR:PATH=/x", true),
            ("CMAKE_COMMAND:INTERNAL=/x", true),
            ("CMAKE_INSTALL_PREFIX:PATH=/x", false),
            ("CMAKE_LIBRARY_OUTPUT_DIRECTORY:PATH=/x", false),
            ("app_BINARY_DIR:STATIC=/x", false),
            ("CMAKE_FIND_PACKAGE_REDIRECTS_DIR:STATIC=/x", false),
            ("SOME_TEXT:STRING=/x", false),
        ];
        for (line, want) in cases {
            let cache = CMakeCache::parse(line.as_bytes());
            assert_eq!(is_input(&cache.entries[0]), want, "{line}");
        }
    }
}
