//! What lies in a build tree beside the products of the build: a project's sources, files that a user wrote.
//!
//! Looks at names only. What CMake or the build is told to make counts as theirs; whatever is not found to be so is the
//! user's.

use super::Host;
use crate::os::AbsPath;

/// Files by which a folder is a project of its own, and a repository's folders.
const PROJECT: &[&str] = &["CMakeLists.txt", "setup.py", "pyproject.toml", ".git", ".hg", ".svn"];

/// Entries of a folder that are looked at.
const LIST_LIMIT: usize = 4096;
/// Texts of the build that are read: the largest are `build.ninja` of projects like LLVM.
const TEXT_LIMIT: u64 = 64 << 20;

/// Returns what makes `folder` a project, where it is one and the build itself did not write that file.
pub fn project_file(host: &dyn Host, folder: &AbsPath) -> Option<&'static str> {
    let present = |name: &&&str| host.inspect(folder.resolve(name).as_path()).is_ok();
    PROJECT.iter().find(|name| present(name) && !is_made(host, folder, name)).copied()
}

/// Says whether the build of `tree` writes the file `name` at its top: by `configure_file` or a rule.
fn is_made(host: &dyn Host, tree: &AbsPath, name: &str) -> bool {
    let read = |path: &AbsPath| {
        let bytes = host.read(path.as_path(), TEXT_LIMIT).unwrap_or_default();
        String::from_utf8_lossy(&bytes).into_owned()
    };
    let files = tree.resolve("CMakeFiles");
    let makefile = read(&files.resolve("Makefile.cmake"));
    let products = makefile.split_once("CMAKE_MAKEFILE_PRODUCTS").map(|(_, rest)| rest).unwrap_or_default();
    let quoted = format!("\"{name}\"");
    if products.lines().take_while(|line| line.trim() != ")").any(|line| line.trim() == quoted) {
        return true;
    }
    // Ninja files name what `configure_file` read, not what it wrote.
    let (ninja, template) = (read(&tree.resolve("build.ninja")), format!("/{name}.in"));
    let rule = format!("build {name}");
    let by_ninja = |line: &str| {
        line.strip_prefix(&rule).is_some_and(|rest| rest.starts_with([' ', ':']))
            || (line.starts_with("build build.ninja:") && line.split(' ').any(|word| word.ends_with(&template)))
    };
    if ninja.lines().any(by_ninja) {
        return true;
    }
    let targets = host.list(files.as_path(), LIST_LIMIT).unwrap_or_default();
    targets.iter().filter(|target| target.to_string_lossy().ends_with(".dir")).any(|target| {
        let rules = read(&files.resolve(target).resolve("build.make"));
        rules.lines().any(|line| line.strip_prefix(name).is_some_and(|rest| rest.starts_with(':')))
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::evidence::LocalHost;
    use crate::evidence::questions::testing::NoGit;

    const MAKEFILE: &str = "set(CMAKE_MAKEFILE_DEPENDS\n  \"setup.py\"\n  )\nset(CMAKE_MAKEFILE_PRODUCTS\n  \"pyproject.toml\"\n  )\n\"CMakeLists.txt\"\n";

    #[test]
    fn a_project_is_told_by_its_own_files() {
        type Files = &'static [(&'static str, &'static str)];
        let cases: [(Files, Option<&str>); 9] = [
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
}
