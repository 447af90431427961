//! Which CMake build tree does the failing build really use?

use std::path::{Path, PathBuf};

use super::{Answer, ArgSpec, Inquiry, Question};
use crate::evidence::Host;
use crate::evidence::build_command::{self, BuildCommand, Python};
use crate::evidence::build_tree::{self, BuildTree, NamedBy, NotATree};
use crate::evidence::other_builds::does_without_cmake;
use crate::evidence::present_source::present_source;
use crate::formats::cmake_cache::CMakeCache;
use crate::os::AbsPath;
use crate::recipe::{Text, Value};

/// The questions of this file.
pub const QUESTIONS: &[Question] = &[Question {
    name: "cmake_tree",
    about: "Finds the CMake build tree that the failing build uses, from the command, the log, TRITON_BUILD_DIR and the caches on disk.",
    args: &[
        ArgSpec {
            name: "hint",
            required: false,
            about: "Paths or lines of a log that name the tree or something in it",
        },
        ArgSpec {
            name: "moved_from",
            required: false,
            about: "Folders that the log names as the cache's old source or tree",
        },
    ],
    answers: &["found", "several", "in_source", "tracked", "none"],
    values: &["path", "named", "source", "generator", "user_given", "clean", "trees"],
    ask: cmake_tree,
}];

fn cmake_tree(inquiry: &Inquiry<'_>) -> Answer {
    let host = inquiry.host;
    let moved_from: Vec<PathBuf> = inquiry.list("moved_from").into_iter().map(PathBuf::from).collect();
    let builds = inquiry.command.map(|command| build_command::recognise(command, host)).unwrap_or_default();
    let judge = |named: &AbsPath, by| build_tree::recognise(host, named, by, &moved_from, &builds);

    // What the command names is the tree, whatever else is on disk.
    let by_command = named_trees(&builds);
    if !by_command.is_empty() {
        let outcomes = by_command.iter().map(|named| (named.clone(), judge(named, NamedBy::User))).collect();
        return decide(outcomes, host, &builds);
    }
    // Its cache is in the log: a path in it counts where it lies in a recognised tree.
    let hints: Vec<AbsPath> = inquiry.list("hint").iter().flat_map(|text| hinted_paths(text, host)).collect();
    let by_hint = judged(hints, NamedBy::Hint, &judge);
    if !by_hint.is_empty() {
        return decide(by_hint, host, &builds);
    }
    if let Some(named) = host.env("TRITON_BUILD_DIR").filter(|value| !value.is_empty()) {
        let named = host.project().resolve(named);
        let outcome = judge(&named, NamedBy::User);
        if outcome != Err(NotATree::NoCache) {
            return decide(vec![(named, outcome)], host, &builds);
        }
    }
    let python = builds.iter().find_map(|build| match build {
        BuildCommand::Python(python) => Some(python),
        BuildCommand::Configure(_) | BuildCommand::Build { .. } => None,
    });
    let here = if python.is_none() { build_tree::around(host, host.project()) } else { None };
    let by_folder = judged(here.into_iter().collect(), NamedBy::Hint, &judge);
    if by_folder.iter().any(|(_, outcome)| outcome.is_ok()) {
        return decide(by_folder, host, &builds);
    }
    // What lies about on the disk is no matter of a command that is known to use none of it.
    if builds.is_empty() && inquiry.command.is_some_and(|command| does_without_cmake(command, host)) {
        return decide(Vec::new(), host, &builds);
    }
    let mut on_disk: Vec<AbsPath> = Vec::new();
    for folder in search_folders(host, python) {
        on_disk.extend(build_tree::search(host, &folder));
    }
    let on_disk = judged(on_disk, NamedBy::Hint, &judge);
    decide(for_this_python(on_disk, python, host), host, &builds)
}

type Outcome = (AbsPath, Result<BuildTree, NotATree>);

/// Answers for the trees that came into question; none may be preferred by guessing.
fn decide(mut outcomes: Vec<Outcome>, host: &dyn Host, builds: &[BuildCommand]) -> Answer {
    if outcomes.len() > 1 {
        let names: Vec<String> = outcomes.iter().map(|(named, _)| named.to_string()).collect();
        let seen = Text::new(
            format!("several build trees: {}", names.join(", ")),
            format!("有多个构建目录：{}", names.join("、")),
        );
        return Answer::new("several", seen).with("trees", names);
    }
    let Some((named, outcome)) = outcomes.pop() else {
        return Answer::new("none", Text::new("no build tree of this project found", "未找到本项目的构建目录"));
    };
    let described = |word, tree: &BuildTree, en: &str, zh: &str| {
        let seen = Text::new(
            format!("`{named}` {en} (source `{}`, {})", tree.source.display(), tree.generator),
            format!("`{named}` {zh}（源码 `{}`，{}）", tree.source.display(), tree.generator),
        );
        Answer::new(word, seen)
            .with("path", tree.path.to_string())
            .with("named", named.to_string())
            .with("source", tree.source.display().to_string())
            .with("generator", tree.generator.as_str())
            .with("trees", vec![named.to_string()])
    };
    match outcome {
        Ok(tree) => described("found", &tree, "is the build tree", "是构建目录")
            .with("user_given", Value::List(user_given(host, &tree, builds)))
            .with("clean", way_to_clean(&tree, builds, host)),
        Err(NotATree::InSource(tree)) => {
            described("in_source", &tree, "holds its own source", "与源码在同一目录").with("clean", "narrow")
        }
        Err(NotATree::Tracked(tree, why)) => {
            let mut answer = described("tracked", &tree, "", "").with("clean", "narrow");
            answer.seen = why;
            answer
        }
        Err(NotATree::NoCache) => Answer::new(
            "none",
            Text::new(format!("`{named}` has no CMakeCache.txt"), format!("`{named}` 中没有 CMakeCache.txt")),
        ),
        Err(NotATree::Refused(why)) => Answer::new("none", why),
    }
}

/// `narrow` where the command could not make the tree again once it is gone.
fn way_to_clean(tree: &BuildTree, builds: &[BuildCommand], host: &dyn Host) -> &'static str {
    if build_tree::can_be_made_again(host, builds, tree) { "tree" } else { "narrow" }
}

fn user_given(host: &dyn Host, tree: &BuildTree, builds: &[BuildCommand]) -> Vec<String> {
    let Some(bytes) = build_tree::read_cache(host, tree.path.as_path()) else { return Vec::new() };
    let cache = CMakeCache::parse(&bytes);
    let source = present_source(host, builds, tree);
    build_tree::user_settings(host, &source, &cache).iter().map(|entry| entry.to_argument()).collect()
}

/// The trees that the command names, each once.
fn named_trees(builds: &[BuildCommand]) -> Vec<AbsPath> {
    let mut trees: Vec<AbsPath> = Vec::new();
    for build in builds {
        let tree = match build {
            BuildCommand::Configure(configure) => configure.tree.clone(),
            BuildCommand::Build { tree } => Some(tree.clone()),
            BuildCommand::Python(_) => None,
        };
        trees.extend(tree.filter(|tree| !trees.contains(tree)));
    }
    trees
}

/// Reads the paths out of a hint: the whole, or the absolute paths among its words.
fn hinted_paths(hint: &str, host: &dyn Host) -> Vec<AbsPath> {
    let trim = |word: &str| -> String {
        word.trim_matches(|c: char| c.is_whitespace() || "\"'`<>()[],;:".contains(c)).trim_end_matches('.').to_owned()
    };
    let whole = host.project().resolve(trim(hint));
    let words = hint.split_whitespace().map(trim).filter(|word| word.starts_with('/'));
    let paths = std::iter::once(whole).chain(words.filter_map(|word| AbsPath::new(word).ok()));
    let inside = |path: &AbsPath| path != host.project() && host.git().top_level() != Some(path);
    let mut trees: Vec<AbsPath> = Vec::new();
    for tree in paths.filter(inside).filter_map(|path| build_tree::around(host, &path)) {
        if !trees.contains(&tree) {
            trees.push(tree);
        }
    }
    trees
}

/// Judges candidates and leaves out those that are no tree of this project; each real folder counts once.
fn judged(
    candidates: Vec<AbsPath>,
    by: NamedBy,
    judge: &dyn Fn(&AbsPath, NamedBy) -> Result<BuildTree, NotATree>,
) -> Vec<Outcome> {
    let mut outcomes: Vec<Outcome> = Vec::new();
    for named in candidates {
        let outcome = judge(&named, by);
        let path = match &outcome {
            Ok(tree) => tree.path.clone(),
            Err(NotATree::InSource(tree) | NotATree::Tracked(tree, _)) => tree.path.clone(),
            Err(NotATree::NoCache | NotATree::Refused(_)) => continue,
        };
        let is_same = |(_, other): &Outcome| match other {
            Ok(tree) => tree.path == path,
            Err(NotATree::InSource(tree) | NotATree::Tracked(tree, _)) => tree.path == path,
            Err(NotATree::NoCache | NotATree::Refused(_)) => false,
        };
        if !outcomes.iter().any(is_same) {
            outcomes.push((named, outcome));
        }
    }
    outcomes
}

fn search_folders(host: &dyn Host, python: Option<&Python>) -> Vec<AbsPath> {
    if let Some(python) = python {
        return vec![python.folder.clone(), python.folder.resolve("python")];
    }
    build_tree::usual_folders(host)
}

/// Of several trees keeps those that are named for the Python in use and for this processor.
fn for_this_python(outcomes: Vec<Outcome>, python: Option<&Python>, host: &dyn Host) -> Vec<Outcome> {
    let by_command = |python: &Python| python.version.clone().or_else(|| python_on_path(host, &python.program));
    let version = python.and_then(by_command).or_else(|| active_python(host));
    let Some(version) = version else {
        return outcomes;
    };
    let compact = version.replace('.', "");
    let ends = [format!("-{version}"), format!("-{compact}")];
    let wheel_tag = format!("cp{compact}-");
    let fits = |(named, _): &Outcome| {
        let parts: Vec<&str> = named.as_path().iter().filter_map(|part| part.to_str()).collect();
        let last_parts = &parts[parts.len().saturating_sub(2)..];
        let tagged =
            last_parts.iter().any(|part| ends.iter().any(|end| part.ends_with(end)) || part.starts_with(&wheel_tag));
        tagged
            && (!named_for_a_processor(last_parts)
                || last_parts.iter().any(|part| part.contains(std::env::consts::ARCH)))
    };
    if outcomes.len() < 2 || outcomes.iter().filter(|outcome| fits(outcome)).count() != 1 {
        return outcomes;
    }
    outcomes.into_iter().filter(fits).collect()
}

fn named_for_a_processor(parts: &[&str]) -> bool {
    parts.iter().any(|part| ["x86_64", "aarch64", "amd64", "arm64", "i686"].iter().any(|name| part.contains(name)))
}

/// Version of the Python that a program on PATH runs, read from the names of links and the first line of a script.
fn python_on_path(host: &dyn Host, program: &str) -> Option<String> {
    let path = host.env("PATH")?;
    let folders = std::env::split_paths(&path).filter(|folder| folder.is_absolute());
    let found = folders.map(|folder| folder.join(program)).find(|path| host.follow(path).is_ok())?;
    let version_of = |path: &Path| {
        let real = host.real(path).ok()?;
        let version = real.file_name()?.to_str()?.strip_prefix("python")?.to_owned();
        version.starts_with("3.").then_some(version)
    };
    version_of(&found).or_else(|| {
        let script = host.read(&found, 64 << 10).ok()?;
        let first_line = script.strip_prefix(b"#!")?.split(|byte| *byte == b'\n').next()?;
        version_of(Path::new(std::str::from_utf8(first_line).ok()?.trim()))
    })
}

/// Version of the active environment's Python, read from its files.
fn active_python(host: &dyn Host) -> Option<String> {
    let folder = host.project().resolve(host.env("VIRTUAL_ENV")?);
    let text = host.read(&folder.as_path().join("pyvenv.cfg"), 64 << 10).ok()?;
    let text = String::from_utf8_lossy(&text).into_owned();
    let version = text.lines().find_map(|line| {
        let (name, value) = line.split_once('=')?;
        matches!(name.trim(), "version" | "version_info").then(|| value.trim().to_owned())
    })?;
    let mut parts = version.split('.');
    Some(format!("{}.{}", parts.next()?, parts.next()?))
}
