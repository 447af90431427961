//! What git knows about a folder, read from its files; git itself is never run.
//!
//! The answers decide where a repair may write and which trees it must leave alone. So everything that cannot
//! be found out counts against the repair: an index that cannot be read tracks everything.
//!
//! `GIT_DIR`, `GIT_WORK_TREE`, `GIT_INDEX_FILE` and `GIT_CEILING_DIRECTORIES` are ignored: a variable that is
//! left over in a shell, or set by a hook, must not widen where we write. `core.worktree` does not move the top
//! level either, because an unpacked archive can bring a `.git/config` along. The user's own configuration is
//! read for one thing only: `safe.directory`.

use std::fs;
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::MetadataExt;
use std::path::Path;

use super::AbsPath;
use super::survey;

/// Entries of a tree that are looked through for nested repositories; a larger tree counts as tracked.
const MOST_ENTRIES: u64 = 4_000_000;

/// The work tree that a folder lies in, and what git tracks around it.
///
/// Indexes are read anew for each answer: the user's command may have changed them meanwhile.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct GitKnowledge {
    top_level: Option<AbsPath>,
}

/// Why a repository's index cannot be read.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Unreadable {
    /// The repository belongs to another user, whom `safe.directory` does not name.
    Owner(AbsPath),
    /// Corrupt, without permission, or of a kind that is not known here (SHA-256).
    Other(AbsPath),
}

/// What an index says of a path.
enum Held {
    Yes,
    No,
    Unknown(Unreadable),
}

impl GitKnowledge {
    /// Finds the innermost work tree around `dir`.
    ///
    /// A `.git` that belongs to somebody else counts only when `dir` is theirs as well (a checkout mounted into
    /// a container): else anybody could plant one in `/tmp` and so widen where we write.
    pub fn discover(dir: &AbsPath) -> Self {
        let real = dir.real();
        let top_level = innermost(&real).filter(|top| belongs(top, &real));
        // A link on the way stays as the user wrote it where it leads to the same folder.
        let named = top_level.as_ref().and_then(|top| as_named(dir, top));
        Self { top_level: named.or(top_level) }
    }

    /// Returns the work tree's top level: the folder that holds `.git`.
    pub fn top_level(&self) -> Option<&AbsPath> {
        self.top_level.as_ref()
    }

    /// Says whether `path` is tracked, or is a folder that holds something tracked.
    ///
    /// Asked of every repository around `path` up to the top level, and of every repository below it: a nested
    /// one or a submodule makes the tree around it one that holds tracked files. `.git` itself counts as tracked.
    pub fn tracks(&self, path: &AbsPath) -> bool {
        // Both what the user calls it (a tracked link) and where it really lies (a tracked folder behind a link).
        let entry = match (path.parent(), path.file_name()) {
            (Some(parent), Some(name)) => parent.real().resolve(name),
            _ => path.clone(),
        };
        let target = path.real();
        let held = |path: &AbsPath| !matches!(self.held(path), Held::No);
        held(&entry) || (target != entry && held(&target)) || holds_a_repository(&target)
    }

    /// Returns the repository whose index would tell whether `path` is tracked, where it cannot be read. Such a path
    /// counts as tracked.
    pub fn unreadable(&self, path: &AbsPath) -> Option<Unreadable> {
        match self.held(&path.real()) {
            Held::Unknown(why) => Some(why),
            Held::Yes | Held::No => None,
        }
    }

    fn held(&self, path: &AbsPath) -> Held {
        if path.as_path().components().any(|component| component.as_os_str() == ".git") {
            return Held::Yes;
        }
        let outermost = self.top_level.as_ref().map(AbsPath::real).filter(|top| path.is_within(top));
        for folder in path.as_path().ancestors() {
            if is_work_tree(folder) {
                let inside = path.as_path().strip_prefix(folder).expect("an ancestor is a prefix");
                match index_holds(folder, inside) {
                    Held::No if outermost.is_some() => {}
                    held => return held,
                }
            }
            if outermost.as_ref().is_some_and(|top| top.as_path() == folder) {
                return Held::No;
            }
        }
        Held::No
    }
}

/// Reads a file as it is in a commit, without touching the work tree; `None` where the commit has no such file.
///
/// # Errors
/// The revision is unknown, or what is there is no file or longer than `most`.
pub fn file_at(top: &AbsPath, revision: &str, path: &Path, most: u64) -> Result<Option<Vec<u8>>, git2::Error> {
    let repository = git2::Repository::open(top.as_path())?;
    let tree = repository.revparse_single(revision)?.peel_to_tree()?;
    let entry = match tree.get_path(path) {
        Ok(entry) => entry,
        Err(error) if error.code() == git2::ErrorCode::NotFound => return Ok(None),
        Err(error) => return Err(error),
    };
    let blob = entry.to_object(&repository)?.peel_to_blob()?;
    if blob.size() as u64 > most {
        return Err(git2::Error::from_str("the file is too large"));
    }
    Ok(Some(blob.content().to_owned()))
}

/// Returns the ancestor of `dir`, as the user wrote it, that is the folder `top`.
fn as_named(dir: &AbsPath, top: &AbsPath) -> Option<AbsPath> {
    let same = dir.as_path().ancestors().find(|folder| fs::canonicalize(folder).is_ok_and(|it| it == top.as_path()))?;
    AbsPath::new(same).ok()
}

/// Finds the innermost folder around `dir` that holds a repository; as git does, within one file system.
fn innermost(dir: &AbsPath) -> Option<AbsPath> {
    let device = |path: &Path| fs::metadata(path).map(|meta| meta.dev()).ok();
    let mut last = None;
    for folder in dir.as_path().ancestors() {
        let here = device(folder);
        if last.is_some() && here.is_some() && here != last {
            return None;
        }
        last = here.or(last);
        if is_work_tree(folder) {
            return AbsPath::new(folder).ok();
        }
    }
    None
}

/// Says whether `folder` holds a `.git` that is, or once was, a repository.
fn is_work_tree(folder: &Path) -> bool {
    let git = folder.join(".git");
    let Ok(meta) = fs::metadata(&git) else {
        // A link that leads nowhere, or a folder that we may not look into: somebody's repository.
        return fs::symlink_metadata(&git).is_ok();
    };
    if meta.is_dir() {
        return ["HEAD", "index", "objects"].iter().any(|name| fs::symlink_metadata(git.join(name)).is_ok());
    }
    // A worktree's or submodule's `.git` is a file that names the real folder.
    meta.is_file()
}

/// Says whether the repository of `top` is ours or root's, or belongs to whom `dir` belongs to.
fn belongs(top: &AbsPath, dir: &AbsPath) -> bool {
    let owner = |path: &Path| fs::symlink_metadata(path).map(|meta| meta.uid());
    let Ok(git) = owner(&top.as_path().join(".git")) else {
        return false;
    };
    let existing = dir.as_path().ancestors().find_map(|folder| owner(folder).ok());
    git == rustix::process::geteuid().as_raw() || git == 0 || existing == Some(git)
}

/// Asks the index of the work tree `top` for `inside` and what is below it.
fn index_holds(top: &Path, inside: &Path) -> Held {
    // The work tree itself: what it holds belongs to a repository.
    if inside.as_os_str().is_empty() {
        return Held::Yes;
    }
    let unknown = |why: fn(AbsPath) -> Unreadable| AbsPath::new(top).map_or(Held::Yes, |top| Held::Unknown(why(top)));
    let repository = match git2::Repository::open(top) {
        Ok(repository) => repository,
        Err(error) if error.code() == git2::ErrorCode::Owner => return unknown(Unreadable::Owner),
        Err(_) => return unknown(Unreadable::Other),
    };
    if !repository.workdir().is_some_and(|workdir| is_same_folder(workdir, top)) {
        return unknown(Unreadable::Other);
    }
    let Ok(index) = repository.index() else {
        return unknown(Unreadable::Other);
    };
    let on_disk = index.path().is_some_and(|path| fs::symlink_metadata(path).is_ok());
    if !on_disk {
        // A new repository has no index yet; one with a commit has lost it.
        return if repository.head().is_ok() { unknown(Unreadable::Other) } else { Held::No };
    }
    let wanted = inside.as_os_str().as_bytes();
    let below = |path: &[u8]| path.strip_prefix(wanted).is_some_and(|rest| rest.is_empty() || rest[0] == b'/');
    if index.iter().any(|entry| below(&entry.path)) { Held::Yes } else { Held::No }
}

fn is_same_folder(one: &Path, other: &Path) -> bool {
    match (fs::metadata(one), fs::metadata(other)) {
        (Ok(one), Ok(other)) => (one.dev(), one.ino()) == (other.dev(), other.ino()),
        _ => false,
    }
}

/// Says whether a repository lies anywhere below `path`; what cannot be looked into counts as one.
fn holds_a_repository(path: &AbsPath) -> bool {
    if !fs::symlink_metadata(path).is_ok_and(|meta| meta.is_dir()) {
        return false;
    }
    let mut is_repository = |folder: &Path| is_work_tree(folder) && !is_fetched_by_cmake(folder);
    survey::any_folder_with(path.as_path(), ".git", MOST_ENTRIES, &mut is_repository).unwrap_or(true)
}

/// Says whether CMake itself cloned `folder` into a build tree: FetchContent's `_deps/x-src` has `x-subbuild` beside
/// it, ExternalProject's `src/x` has `src/x-stamp`. Such a clone is a product of the build.
fn is_fetched_by_cmake(folder: &Path) -> bool {
    let Some(name) = folder.file_name().and_then(std::ffi::OsStr::to_str) else {
        return false;
    };
    let beside = |name: String| folder.with_file_name(name).is_dir();
    name.strip_suffix("-src").is_some_and(|name| beside(format!("{name}-subbuild"))) || beside(format!("{name}-stamp"))
}

#[cfg(test)]
mod tests {
    use std::process::Command;

    use super::*;

    /// A temporary folder with the real git program at work in it.
    struct Lab(tempfile::TempDir);

    impl Lab {
        fn new() -> Self {
            Self(tempfile::tempdir().unwrap())
        }

        fn path(&self, name: &str) -> AbsPath {
            AbsPath::new(self.0.path()).unwrap().resolve(name)
        }

        fn git(&self, dir: &str, args: &[&str]) {
            let out = Command::new("git")
                .args(["-c", "user.name=a", "-c", "user.email=a@b", "-c", "protocol.file.allow=always"])
                .args(args)
                .current_dir(self.path(dir))
                .env("HOME", self.0.path())
                .env("GIT_CONFIG_NOSYSTEM", "1")
                .env_remove("GIT_DIR")
                .env_remove("GIT_INDEX_FILE")
                .env_remove("GIT_WORK_TREE")
                .output()
                .unwrap();
            assert!(out.status.success(), "git {args:?}: {}", String::from_utf8_lossy(&out.stderr));
        }

        fn write(&self, name: &str) {
            let path = self.path(name);
            fs::create_dir_all(path.parent().unwrap()).unwrap();
            fs::write(path, "x\n").unwrap();
        }

        /// A repository with a tracked file at the top and one in `src`, and an untracked build tree.
        fn project(&self, name: &str) {
            for file in ["setup.py", "src/a.c", "build/CMakeCache.txt", "src-not/b.c"] {
                self.write(&format!("{name}/{file}"));
            }
            self.git(name, &["init", "-q"]);
            self.git(name, &["add", "setup.py", "src"]);
            self.git(name, &["commit", "-qm", "one"]);
        }

        fn check(&self, from: &str, cases: &[(&str, bool)]) {
            let knowledge = GitKnowledge::discover(&self.path(from));
            for (path, want) in cases {
                assert_eq!(knowledge.tracks(&self.path(path)), *want, "{path} from {from}");
            }
        }
    }

    #[test]
    fn a_plain_repository() {
        let lab = Lab::new();
        lab.project("p");
        assert_eq!(GitKnowledge::discover(&lab.path("p/src")).top_level(), Some(&lab.path("p")));
        assert_eq!(GitKnowledge::discover(&lab.path("p/not/yet/there")).top_level(), Some(&lab.path("p")));
        lab.check(
            "p/build",
            &[
                ("p", true),
                ("p/setup.py", true),
                ("p/src", true),
                ("p/src/a.c", true),
                ("p/src/new.c", false),
                ("p/src-not", false),
                ("p/sr", false),
                ("p/build", false),
                ("p/gone", false),
                ("p/.git", true),
                ("p/.git/hooks", true),
            ],
        );
        // What is only staged, or deleted on disk, is tracked as well.
        lab.write("p/build/kept.txt");
        lab.git("p", &["add", "-f", "build/kept.txt"]);
        fs::remove_file(lab.path("p/build/kept.txt")).unwrap();
        lab.check("p", &[("p/build", true), ("p/build/CMakeCache.txt", false)]);
    }

    #[test]
    fn what_cmake_fetched_is_a_product_of_the_build() {
        let lab = Lab::new();
        lab.project("p");
        for name in ["p/build/_deps/zlib-src", "p/build/x-prefix/src/x", "p/build/mine"] {
            lab.write(&format!("{name}/a.c"));
            lab.git(name, &["init", "-q"]);
            lab.git(name, &["add", "."]);
        }
        lab.check("p", &[("p/build/_deps", true), ("p/build/x-prefix", true), ("p/build/mine", true)]);
        lab.write("p/build/_deps/zlib-subbuild/CMakeLists.txt");
        lab.write("p/build/x-prefix/src/x-stamp/x-done");
        lab.check("p", &[("p/build/_deps", false), ("p/build/x-prefix", false), ("p/build", true)]);
        fs::remove_dir_all(lab.path("p/build/mine")).unwrap();
        lab.check("p", &[("p/build", false), ("p/src", true)]);
    }

    #[test]
    fn outside_git() {
        let lab = Lab::new();
        lab.write("a/build/x");
        fs::create_dir_all(lab.path("a/.git")).unwrap();
        assert_eq!(GitKnowledge::discover(&lab.path("a")).top_level(), None);
        lab.check("a", &[("a/build", false), ("a", false)]);
    }

    #[test]
    fn a_worktree_and_a_submodule() {
        let lab = Lab::new();
        lab.project("p");
        lab.project("lib");
        lab.git("p", &["worktree", "add", "-q", "../w"]);
        lab.git("p", &["submodule", "--quiet", "add", "../lib", "third/lib"]);
        lab.write("w/build/x");
        lab.write("p/third/lib/build/x");
        lab.write("p/third/other/x");
        assert_eq!(GitKnowledge::discover(&lab.path("w/src")).top_level(), Some(&lab.path("w")));
        assert_eq!(
            GitKnowledge::discover(&lab.path("p/third/lib/src")).top_level(),
            Some(&lab.path("p/third/lib")),
            "a submodule is a project of its own, as git has it"
        );
        lab.check("w", &[("w/src", true), ("w/build", false), ("w", true), ("p/src", true), ("p/build", false)]);
        lab.check(
            "p",
            &[
                ("p/third", true),
                ("p/third/lib", true),
                ("p/third/lib/src/a.c", true),
                ("p/third/lib/build", false),
                ("p/third/other", false),
                ("p/.gitmodules", true),
            ],
        );
    }

    #[test]
    fn a_nested_repository_makes_the_tree_tracked() {
        let lab = Lab::new();
        lab.project("p");
        lab.project("p/build/deps/inner");
        lab.check(
            "p",
            &[
                ("p/build", true),
                ("p/build/deps/inner/build", false),
                ("p/build/deps/inner/src", true),
                ("p/build/CMakeCache.txt", false),
            ],
        );
        assert!(GitKnowledge { top_level: None }.tracks(&lab.path("p/build")));
    }

    #[test]
    fn links_are_tracked_as_named_and_as_they_lead() {
        let lab = Lab::new();
        lab.project("p");
        lab.write("scratch/x");
        std::os::unix::fs::symlink(lab.path("scratch"), lab.path("p/out")).unwrap();
        std::os::unix::fs::symlink(lab.path("p/src"), lab.path("alias")).unwrap();
        std::os::unix::fs::symlink(lab.path("p"), lab.path("q")).unwrap();
        lab.check("p", &[("p/out", false), ("alias", true), ("q/src", true), ("q/build", false)]);
        lab.git("p", &["add", "out"]);
        lab.check("p", &[("p/out", true), ("scratch", false)]);
        assert_eq!(GitKnowledge::discover(&lab.path("q/src")).top_level(), Some(&lab.path("q")));
    }

    #[test]
    fn what_cannot_be_read_tracks_everything() {
        let lab = Lab::new();
        type Damage = fn(&Path);
        let damages: [(&str, Damage); 5] = [
            ("garbage", |git| fs::write(git.join("index"), b"garbage").unwrap()),
            ("cut off", |git| {
                let bytes = fs::read(git.join("index")).unwrap();
                fs::write(git.join("index"), &bytes[..bytes.len() / 2]).unwrap();
            }),
            ("lost", |git| fs::remove_file(git.join("index")).unwrap()),
            ("no HEAD", |git| fs::remove_file(git.join("HEAD")).unwrap()),
            ("config", |git| fs::write(git.join("config"), b"[core]\n\tworktree = /\n").unwrap()),
        ];
        for (name, damage) in damages {
            lab.project(name);
            lab.check(name, &[(&format!("{name}/build"), false)]);
            damage(&lab.path(name).as_path().join(".git"));
            lab.check(name, &[(&format!("{name}/build"), true)]);
            let git = GitKnowledge::discover(&lab.path(name));
            let build = lab.path(&format!("{name}/build"));
            assert_eq!(git.unreadable(&build), Some(Unreadable::Other(lab.path(name))), "{name}");
            assert_eq!(GitKnowledge::discover(&lab.path(name)).top_level(), Some(&lab.path(name)), "{name}");
        }
        lab.project("whole");
        assert_eq!(GitKnowledge::discover(&lab.path("whole")).unreadable(&lab.path("whole/src")), None);
        // A repository without a commit has no index yet, and tracks nothing.
        lab.write("new/build/x");
        lab.git("new", &["init", "-q"]);
        lab.check("new", &[("new/build", false)]);
    }

    #[test]
    fn a_repository_of_somebody_else() {
        if !rustix::process::geteuid().is_root() {
            // Only root can give files away.
            return;
        }
        let lab = Lab::new();
        lab.project("p");
        // The tester's own `safe.directory` may allow it.
        let refused = |lab: &Lab| git2::Repository::open(lab.path("p")).is_err();
        let chown = |path: &AbsPath| std::os::unix::fs::chown(path, Some(12345), Some(12345)).unwrap();
        chown(&lab.path("p/.git"));
        assert_eq!(GitKnowledge::discover(&lab.path("p/src")).top_level(), None, "planted around our folder");
        lab.check("p", &[("p/build", refused(&lab))]);
        for name in ["p", "p/src"] {
            chown(&lab.path(name));
        }
        assert_eq!(GitKnowledge::discover(&lab.path("p/src")).top_level(), Some(&lab.path("p")));
        lab.check("p/src", &[("p/build", refused(&lab)), ("p/src", true)]);
        let unreadable = GitKnowledge::discover(&lab.path("p/src")).unreadable(&lab.path("p/build"));
        assert_eq!(unreadable, refused(&lab).then(|| Unreadable::Owner(lab.path("p"))));
    }
}
