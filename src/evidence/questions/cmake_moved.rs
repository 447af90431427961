//! Which build trees were moved or copied together with their project?
//!
//! Without a log, that a tree was made elsewhere is not enough: it may be anybody's. Here it lies to a source of this
//! project as it lay to its old source, and that source has the project of the cache.

use std::path::{Path, PathBuf};

use super::{Answer, ArgSpec, Inquiry, Question};
use crate::evidence::{Host, build_tree};
use crate::formats::cmake_cache::CMakeCache;
use crate::os::AbsPath;
use crate::recipe::Text;

/// The questions of this file.
pub const QUESTIONS: &[Question] = &[Question {
    name: "cmake_moved",
    about: "Finds build trees that were moved or copied together with their project, without the help of a log.",
    args: &[ArgSpec { name: "tree", required: false, about: "Look at this tree only" }],
    answers: &["moved", "none"],
    values: &["trees", "made_in", "old_source"],
    ask: cmake_moved,
}];

/// A tree that was moved, and where it was made.
struct Moved {
    tree: AbsPath,
    made_in: PathBuf,
    home: PathBuf,
}

fn cmake_moved(inquiry: &Inquiry<'_>) -> Answer {
    let host = inquiry.host;
    let named: Vec<AbsPath> = inquiry.list("tree").iter().map(|tree| host.project().resolve(tree)).collect();
    let candidates = if named.is_empty() { build_tree::in_usual_places(host) } else { named };
    let moved: Vec<Moved> = candidates.into_iter().filter_map(|tree| moved(host, tree)).collect();
    let Some(first) = moved.first() else {
        return Answer::new(
            "none",
            Text::new("no build tree was moved with its project", "没有随项目一起移动的构建目录"),
        );
    };
    let list: Vec<String> = moved.iter().map(|moved| moved.tree.to_string()).collect();
    let (tree, made_in) = (&first.tree, first.made_in.display());
    let seen = Text::new(
        format!("`{tree}` was made in `{made_in}`, and moved or copied with its source"),
        format!("`{tree}` 是在 `{made_in}` 中生成的，之后随源码一起移动或复制"),
    );
    let answer = Answer::new("moved", seen).with("trees", list);
    // Of several, each is asked about by itself.
    if moved.len() > 1 {
        return answer;
    }
    answer.with("made_in", made_in.to_string()).with("old_source", first.home.display().to_string())
}

fn moved(host: &dyn Host, tree: AbsPath) -> Option<Moved> {
    let bytes = build_tree::read_cache(host, tree.as_path())?;
    let cache = CMakeCache::parse(&bytes);
    let made_in = AbsPath::new(cache.value("CMAKE_CACHEFILE_DIR")?).ok()?;
    let home = AbsPath::new(cache.value("CMAKE_HOME_DIRECTORY")?).ok()?;
    if build_tree::same_folder(host, made_in.as_path(), tree.as_path()) {
        return None;
    }
    let shared = made_in.as_path().ancestors().find(|folder| home.as_path().starts_with(folder))?;
    let tree_below = made_in.as_path().strip_prefix(shared).ok().filter(|below| !below.as_os_str().is_empty())?;
    let home_below = home.as_path().strip_prefix(shared).ok()?;
    if !tree.as_path().ends_with(tree_below) {
        return None;
    }
    let depth = tree_below.components().count();
    let root = AbsPath::new(tree.as_path().ancestors().nth(depth)?).ok()?;
    let source = root.resolve(home_below);
    let inside = [Some(host.project()), host.git().top_level()].into_iter().flatten().any(|top| source.is_within(top));
    (inside && has_project(host, source.as_path(), cache.value("CMAKE_PROJECT_NAME")?)).then(|| Moved {
        tree,
        made_in: made_in.as_path().to_owned(),
        home: home.as_path().to_owned(),
    })
}

/// Says whether a folder's CMakeLists.txt declares the project that the cache is of.
fn has_project(host: &dyn Host, source: &Path, name: &str) -> bool {
    let Ok(bytes) = host.read(&source.join("CMakeLists.txt"), build_tree::CACHE_LIMIT) else { return false };
    let text = String::from_utf8_lossy(&bytes).into_owned();
    let lower = text.to_ascii_lowercase();
    let declares = |at: usize| {
        let rest = text[at + "project".len()..].trim_start();
        let word = rest.strip_prefix('(').map(str::trim_start).unwrap_or_default();
        let word = word.trim_start_matches('"');
        word.strip_prefix(name)
            .is_some_and(|rest| !rest.starts_with(|c: char| c.is_alphanumeric() || "_-.".contains(c)))
    };
    !name.is_empty() && lower.match_indices("project").any(|(at, _)| declares(at))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::evidence::LocalHost;
    use crate::evidence::questions::testing::NoGit;
    use std::collections::BTreeMap;

    #[test]
    fn only_a_tree_that_moved_with_its_own_project_counts() {
        for (lists, home, made_in, want) in [
            ("project(demo C)\n", "/old/demo", "/old/demo/build", "moved"),
            ("Project( \"demo\" )\n", "/old/demo", "/old/demo/build", "moved"),
            // Another project, another place in it, a source outside, and a tree that stayed.
            ("project(demo2 C)\n", "/old/demo", "/old/demo/build", "none"),
            ("project(demo C)\n", "/old/demo", "/old/demo/other", "none"),
            ("project(demo C)\n", "/elsewhere/demo", "/old/demo/build", "none"),
            ("project(demo C)\n", "@", "@/build", "none"),
        ] {
            let folder = tempfile::tempdir().unwrap();
            let root = AbsPath::new(folder.path().canonicalize().unwrap()).unwrap();
            std::fs::create_dir(root.resolve("build").as_path()).unwrap();
            std::fs::write(root.resolve("CMakeLists.txt").as_path(), lists).unwrap();
            let here = |path: &str| path.replace('@', &root.to_string());
            let cache = format!(
                "CMAKE_CACHEFILE_DIR:INTERNAL={}\nCMAKE_HOME_DIRECTORY:INTERNAL={}\nCMAKE_PROJECT_NAME:STATIC=demo\n",
                here(made_in),
                here(home)
            );
            std::fs::write(root.resolve("build/CMakeCache.txt").as_path(), cache).unwrap();
            let host = LocalHost::new(root, [], Box::new(NoGit));
            let args = BTreeMap::new();
            let answer = cmake_moved(&Inquiry { args: &args, host: &host, command: None });
            assert_eq!(answer.word, want, "{lists} {home} {made_in}");
        }
    }
}
