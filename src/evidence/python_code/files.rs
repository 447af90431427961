//! Which Python files are a project's own: not those of tools, environments and builds.

use crate::evidence::{FileKind, Host};
use crate::os::AbsPath;

/// More files than this are not looked at.
const MOST_FILES: usize = 5_000;
/// Names that are looked at on the way.
const MOST_NAMES: usize = 200_000;
const MOST_IN_A_FOLDER: usize = 20_000;
const DEEPEST: usize = 24;

/// Folders that hold no source of the project.
const FOREIGN: &[&str] =
    &["__pycache__", "build", "dist", "env", "node_modules", "site-packages", "third_party", "venv", "virtualenv"];
/// A folder with one of these is an environment or a build tree.
const MARKS: &[&str] = &["pyvenv.cfg", "conda-meta", "CMakeCache.txt"];

/// Files, sorted.
#[derive(Debug, Default)]
pub struct Listing {
    pub files: Vec<AbsPath>,
    /// There are more.
    pub cut: bool,
}

/// Lists the Python files below a folder. No link is followed.
pub fn list(host: &dyn Host, top: &AbsPath) -> Listing {
    let mut listing = Listing::default();
    let mut seen = 0;
    let mut folders = vec![(top.clone(), 0)];
    while let Some((folder, depth)) = folders.pop() {
        let Ok(entries) = host.entries(folder.as_path(), MOST_IN_A_FOLDER) else {
            listing.cut |= host.inspect(folder.as_path()).is_ok();
            continue;
        };
        if depth > 0 && MARKS.iter().any(|mark| entries.iter().any(|(name, _)| name == mark)) {
            continue;
        }
        for (name, kind) in entries {
            seen += 1;
            if seen > MOST_NAMES || listing.files.len() >= MOST_FILES {
                listing.cut = true;
                folders.clear();
                break;
            }
            let text = name.to_string_lossy();
            if text.starts_with('.') || FOREIGN.contains(&&*text) || text.ends_with(".egg-info") {
                continue;
            }
            match kind {
                FileKind::File if text.ends_with(".py") => listing.files.push(folder.resolve(&name)),
                FileKind::Folder if depth < DEEPEST => folders.push((folder.resolve(&name), depth + 1)),
                FileKind::Folder => listing.cut = true,
                FileKind::File | FileKind::Link | FileKind::Other => {}
            }
        }
    }
    listing.files.sort();
    listing
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::evidence::LocalHost;
    use crate::evidence::questions::testing::NoGit;

    #[test]
    fn lists_the_projects_own_files() {
        let root = tempfile::tempdir().unwrap();
        let root = root.path();
        for name in [
            "a.py",
            "pkg/b.py",
            "pkg/c.txt",
            ".git/hooks/d.py",
            "venv/e.py",
            "myenv/pyvenv.cfg",
            "myenv/lib/f.py",
            "out/CMakeCache.txt",
            "out/g.py",
            "node_modules/h.py",
            "x/site-packages/i.py",
        ] {
            std::fs::create_dir_all(root.join(name).parent().unwrap()).unwrap();
            std::fs::write(root.join(name), "").unwrap();
        }
        std::os::unix::fs::symlink(root, root.join("loop")).unwrap();
        std::os::unix::fs::symlink(root.join("a.py"), root.join("link.py")).unwrap();
        let project = AbsPath::new(root).unwrap();
        let host = LocalHost::new(project.clone(), [], Box::new(NoGit));
        let listing = list(&host, &project);
        let names: Vec<AbsPath> = ["a.py", "pkg/b.py"].map(|name| project.resolve(name)).to_vec();
        assert_eq!((listing.files, listing.cut), (names, false));
    }
}
