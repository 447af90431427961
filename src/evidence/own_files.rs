//! What lies in a build tree beside the products of the build: a project's sources, files that a user wrote.
//!
//! Looks at names only. What CMake or the build is told to make counts as theirs; whatever is not found to be so is the
//! user's.

use std::collections::BTreeSet;

use super::{FileKind, Host};
use crate::os::AbsPath;
use crate::recipe::Text;

/// Files by which a folder is a project of its own, and a repository's folders.
const PROJECT: &[&str] = &["CMakeLists.txt", "setup.py", "pyproject.toml", ".git", ".hg", ".svn"];

/// Entries of a folder that are looked at.
const LIST_LIMIT: usize = 4096;
/// Texts of the build that are read: the largest are `build.ninja` of projects like LLVM.
const TEXT_LIMIT: u64 = 64 << 20;

/// Endings of files that people write.
const SOURCES: &[&str] = &[
    "c", "cc", "cpp", "cu", "cuh", "cxx", "f", "f90", "h", "hh", "hpp", "hxx", "ipynb", "proto", "py", "pyx", "rs",
    "td",
];

/// Names told to the user at most.
const TOLD: usize = 5;

/// Returns what makes `folder` a project, where it is one and the build itself did not write that file.
pub fn project_file(host: &dyn Host, folder: &AbsPath) -> Option<&'static str> {
    let present = |name: &&&str| host.inspect(folder.resolve(name).as_path()).is_ok();
    let mut candidates = PROJECT.iter().filter(present).peekable();
    candidates.peek()?;
    let rules = Rules::read(host, folder);
    candidates.find(|name| !rules.make(name)).copied()
}

/// Lists sources at the top of a build tree, and projects in the folders right below, that nothing is seen to make.
pub fn sources(host: &dyn Host, tree: &AbsPath) -> Vec<String> {
    let Ok(names) = host.list(tree.as_path(), LIST_LIMIT) else { return Vec::new() };
    let names: Vec<&str> = names.iter().filter_map(|name| name.to_str()).collect();
    let mut candidates: Vec<String> = Vec::new();
    for name in &names {
        let path = tree.resolve(name);
        let Ok(meta) = host.inspect(path.as_path()) else { continue };
        // Old ways to get googletest put its source and build side by side.
        let was_fetched = name.strip_suffix("-src").is_some_and(|stem| names.contains(&&*format!("{stem}-build")));
        match meta.kind {
            FileKind::File if is_source(name) => candidates.push((*name).to_owned()),
            FileKind::Folder if *name != "CMakeFiles" && !was_fetched => {
                let own = PROJECT.iter().find(|file| host.inspect(path.resolve(file).as_path()).is_ok());
                candidates.extend(own.map(|file| format!("{name}/{file}")));
            }
            FileKind::File | FileKind::Folder | FileKind::Link | FileKind::Other => {}
        }
    }
    if candidates.is_empty() {
        return candidates;
    }
    let rules = Rules::read(host, tree);
    candidates.retain(|name| !rules.make(name));
    candidates
}

/// Says in a few words which sources lie in a tree.
pub fn told(tree: &AbsPath, sources: &[String]) -> Text {
    let mut list: Vec<String> = sources.iter().take(TOLD).map(|name| format!("`{name}`")).collect();
    if sources.len() > TOLD {
        list.push(format!("… (+{})", sources.len() - TOLD));
    }
    Text::new(
        format!("`{tree}` holds what may be your own sources: {}", list.join(", ")),
        format!("`{tree}` 中有可能是您自己编写的源码：{}", list.join("、")),
    )
}

fn is_source(name: &str) -> bool {
    PROJECT.contains(&name) || name.rsplit_once('.').is_some_and(|(_, end)| SOURCES.contains(&end))
}

/// What the files of a build say that it makes.
struct Rules {
    /// Of `configure_file`, by the Makefile generators; and outputs of rules.
    outputs: BTreeSet<String>,
    /// Names of the files that CMake read while it configured; Ninja files do not name what it wrote.
    inputs: BTreeSet<String>,
}

impl Rules {
    fn read(host: &dyn Host, tree: &AbsPath) -> Self {
        let read = |path: &AbsPath| {
            let bytes = host.read(path.as_path(), TEXT_LIMIT).unwrap_or_default();
            String::from_utf8_lossy(&bytes).into_owned()
        };
        let files = tree.resolve("CMakeFiles");
        let makefile = read(&files.resolve("Makefile.cmake"));
        let products = makefile.split_once("CMAKE_MAKEFILE_PRODUCTS").map(|(_, rest)| rest).unwrap_or_default();
        let quoted = products.lines().take_while(|line| line.trim() != ")").map(|line| line.trim().trim_matches('"'));
        let mut outputs: BTreeSet<String> = quoted.map(str::to_owned).collect();
        let mut inputs = BTreeSet::new();
        for line in read(&tree.resolve("build.ninja")).lines() {
            let Some((output, rest)) = line.strip_prefix("build ").and_then(|line| line.split_once([' ', ':'])) else {
                continue;
            };
            if output == "build.ninja" {
                inputs.extend(rest.split(' ').filter_map(|word| Some(word.rsplit_once('/')?.1.to_owned())));
            } else {
                outputs.insert(output.to_owned());
            }
        }
        let targets = host.list(files.as_path(), LIST_LIMIT).unwrap_or_default();
        for target in targets.iter().filter(|target| target.to_string_lossy().ends_with(".dir")) {
            let rules = read(&files.resolve(target).resolve("build.make"));
            outputs.extend(rules.lines().filter_map(|line| Some(line.split_once(':')?.0.to_owned())));
        }
        Self { outputs, inputs }
    }

    /// Says whether the build writes the file `name` of its tree: by `configure_file` or a rule.
    fn make(&self, name: &str) -> bool {
        let own = name.rsplit('/').next().unwrap_or(name);
        let (stem, end) = own.rsplit_once('.').unwrap_or((own, ""));
        let template = |input: &String| {
            input.strip_prefix(own).is_some_and(|rest| rest.starts_with('.')) || *input == format!("{stem}.in.{end}")
        };
        let is_export_header = || own.ends_with("_export.h") && self.inputs.contains("exportheader.cmake.in");
        self.outputs.contains(name) || self.inputs.iter().any(template) || is_export_header()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::evidence::LocalHost;
    use crate::evidence::questions::testing::NoGit;

    const MAKEFILE: &str = "set(CMAKE_MAKEFILE_DEPENDS\n  \"setup.py\"\n  )\nset(CMAKE_MAKEFILE_PRODUCTS\n  \"pyproject.toml\"\n  )\n\"CMakeLists.txt\"\n";

    #[test]
    fn a_project_is_told_by_its_own_files() {
        type Files<'a> = &'a [(&'a str, &'a str)];
        let cases: [(Files<'_>, Option<&str>); 9] = [
            (&[("main.o", "")], None),
            (&[("CMakeLists.txt", "")], Some("CMakeLists.txt")),
            (&[("setup.py", ""), ("CMakeFiles/Makefile.cmake", MAKEFILE)], Some("setup.py")),
            (&[("pyproject.toml", ""), ("CMakeFiles/Makefile.cmake", MAKEFILE)], None),
            (&[("CMakeLists.txt", ""), ("CMakeFiles/Makefile.cmake", MAKEFILE)], Some("CMakeLists.txt")),
            (&[("setup.py", ""), ("build.ninja", "build build.ninja: RERUN_CMAKE | /p/setup.py.in /p/a\n")], None),
            (&[("setup.py", ""), ("build.ninja", "build setup.pyc: R | /p/setup.py.in\n")], Some("setup.py")),
            (&[("setup.py", ""), ("build.ninja", "build setup.py | ${d}setup.py: CUSTOM\n")], None),
            (&[("setup.py", ""), ("CMakeFiles/a.dir/build.make", "setup.py: x\n")], None),
        ];
        for (files, want) in cases {
            let folder = tempfile::tempdir().unwrap();
            let root = AbsPath::new(folder.path()).unwrap();
            for (name, text) in files {
                let path = root.resolve(name);
                std::fs::create_dir_all(path.parent().unwrap()).unwrap();
                std::fs::write(path, text).unwrap();
            }
            let host = LocalHost::new(root.clone(), [], Box::new(NoGit));
            assert_eq!(project_file(&host, &root), want, "{files:?}");
        }
    }

    #[test]
    fn sources_that_nothing_makes_are_the_users() {
        let ninja = "build build.ninja: RERUN_CMAKE | /p/conf.h.in /p/ver.in.h /m/exportheader.cmake.in\n\
            build made.c | ${d}made.c: CUSTOM\n";
        let files = [
            ("build.ninja", ninja),
            ("conf.h", ""),
            ("ver.h", ""),
            ("lib_export.h", ""),
            ("made.c", ""),
            ("mine.c", ""),
            ("notes.py", ""),
            ("main", ""),
            ("lib.a", ""),
            ("proj/CMakeLists.txt", ""),
            ("gtest-src/CMakeLists.txt", ""),
            ("gtest-build/x", ""),
            ("CMakeFiles/CMakeLists.txt", ""),
            ("sub/deep.c", ""),
        ];
        let folder = tempfile::tempdir().unwrap();
        let root = AbsPath::new(folder.path()).unwrap();
        for (name, text) in files {
            std::fs::create_dir_all(root.resolve(name).parent().unwrap()).unwrap();
            std::fs::write(root.resolve(name), text).unwrap();
        }
        let host = LocalHost::new(root.clone(), [], Box::new(NoGit));
        assert_eq!(sources(&host, &root), ["mine.c", "notes.py", "proj/CMakeLists.txt"]);
    }
}
