//! CMake build trees: recognising one that belongs to this project, and finding those on disk.
//!
//! A tree is set aside or edited on this word alone, so that every doubt is a "no" with its reason: a tree that holds
//! its source, that git tracks, that is another user's or another project's is never [`BuildTree`].

use std::path::{Path, PathBuf};

use super::build_command::BuildCommand;
use super::{FileKind, Host, own_files, tracked_folder};
use crate::formats::cmake_cache::{CMakeCache, Entry};
use crate::formats::cmake_lists;
use crate::os::AbsPath;
use crate::recipe::Text;

/// No cache of a real project comes near it.
pub const CACHE_LIMIT: u64 = 16 << 20;

/// Entries of a folder that a search looks at; a folder with more is no place where trees are kept.
const LIST_LIMIT: usize = 4096;

/// A recognised build tree of this project.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct BuildTree {
    /// As the user names it.
    pub named: AbsPath,
    /// The real folder.
    pub path: AbsPath,
    /// CMAKE_HOME_DIRECTORY of its cache.
    pub source: PathBuf,
    /// CMAKE_CACHEFILE_DIR of its cache.
    pub made_in: PathBuf,
    /// CMAKE_GENERATOR of its cache.
    pub generator: String,
}

/// Why a folder is no build tree that may be touched.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum NotATree {
    /// There is no cache.
    NoCache,
    /// The build was made in its source folder, or around it.
    InSource(Box<BuildTree>),
    /// Git tracks files in it, or that cannot be told; with what there is to say.
    Tracked(Box<BuildTree>, Text),
    /// Anything else, for the user.
    Refused(Text),
}

/// Where a path comes from, and so how far it is trusted.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum NamedBy {
    /// The command or the environment of the user.
    User,
    /// A log, or a search on disk: must lie inside the project.
    Hint,
}

/// Reads a tree's cache.
pub fn read_cache(host: &dyn Host, tree: &Path) -> Option<Vec<u8>> {
    host.read(&tree.join("CMakeCache.txt"), CACHE_LIMIT).ok()
}

/// Lists the settings of a tree that are the user's, as far as files tell: what came by `-D`, and declared options whose
/// value is not the default that the CMakeLists.txt of `source` gives, the folder that it has now.
pub fn user_settings(host: &dyn Host, source: &Path, cache: &CMakeCache<'_>) -> Vec<Entry> {
    let lists = host.read(&source.join("CMakeLists.txt"), CACHE_LIMIT).unwrap_or_default();
    let declared = cmake_lists::declared_defaults(&String::from_utf8_lossy(&lists));
    let given: Vec<&Entry> = cache.user_given();
    let differs = |entry: &&Entry| match declared.get(&entry.name) {
        Some(Some(default)) => !cmake_lists::same_value(&entry.kind, default, &entry.value),
        Some(None) | None => false,
    };
    let is_given = |entry: &&Entry| given.contains(entry);
    cache.entries.iter().filter(|entry| is_given(entry) || differs(entry)).cloned().collect()
}

/// Recognises `named` as a build tree of this project.
///
/// `moved_from` are folders that a log names as the cache's old home; a cache that names one of them is this
/// project's, moved or copied. `builds` is what the user's command builds: its sources lie in no build tree.
pub fn recognise(
    host: &dyn Host,
    named: &AbsPath,
    by: NamedBy,
    moved_from: &[PathBuf],
    builds: &[BuildCommand],
) -> Result<BuildTree, NotATree> {
    let path = host.real(named.as_path()).ok().and_then(|real| AbsPath::new(real).ok()).ok_or(NotATree::NoCache)?;
    let bytes = read_cache(host, path.as_path()).ok_or(NotATree::NoCache)?;
    let cache = CMakeCache::parse(&bytes);
    let (Some(home), Some(made_in)) = (cache.value("CMAKE_HOME_DIRECTORY"), cache.value("CMAKE_CACHEFILE_DIR")) else {
        return Err(refused(
            format!("the cache of `{named}` names no source"),
            format!("`{named}` 的缓存没有写明源码目录"),
        ));
    };
    let tree = BuildTree {
        named: named.clone(),
        path: path.clone(),
        source: home.into(),
        made_in: made_in.into(),
        generator: cache.value("CMAKE_GENERATOR").unwrap_or_default().to_owned(),
    };
    let roots = project_roots(host);
    let inside = |path: &AbsPath| roots.iter().any(|root| path.is_within(root));
    if by == NamedBy::Hint && !inside(named) {
        return Err(refused(format!("`{named}` lies outside the project"), format!("`{named}` 在项目之外")));
    }
    let holds_home = host.home().is_some_and(|home| real_or(host, home.as_path()).is_within(&path));
    if path.parent().is_none() || holds_home {
        return Err(refused(
            format!("`{named}` is no build folder of its own"),
            format!("`{named}` 不是独立的构建目录"),
        ));
    }
    // Behind a link lies somebody's storage; in its place a tree may belong to whoever runs the container.
    let owner = host.follow(path.as_path()).ok().map(|meta| (meta.kind, meta.user));
    let may_be_anyones = host.user() == 0 && inside(&path);
    let is_ours = matches!(owner, Some((FileKind::Folder, user)) if user == host.user() || may_be_anyones);
    if !is_ours {
        return Err(refused(format!("`{named}` belongs to another user"), format!("`{named}` 属于其他用户")));
    }
    let source = real_or(host, &tree.source);
    let project = real_or(host, host.project().as_path());
    let holds_repository = host.git().top_level().is_some_and(|top| real_or(host, top.as_path()).is_within(&path));
    if source.is_within(&path) || holds_repository {
        return Err(NotATree::InSource(Box::new(tree)));
    }
    let is_old_home = |old: &PathBuf| same_folder(host, old, &tree.source) || same_folder(host, old, &tree.made_in);
    let moved = moved_from.iter().any(is_old_home);
    // That it was moved is the log's word alone: never about a folder that a link of the project leads out to, unless
    // the user's command names it.
    let moved = moved && inside(named) && (by == NamedBy::User || inside(&path));
    if !moved && !same_folder(host, &tree.made_in, path.as_path()) {
        return Err(refused(
            format!("the cache of `{named}` was made in `{made_in}`"),
            format!("`{named}` 的缓存是在 `{made_in}` 中生成的"),
        ));
    }
    if holds_sources(host, &tree, builds) {
        return Err(NotATree::InSource(Box::new(tree)));
    }
    // Whoever works in a tree means this tree: its source is above it, or wherever the cache says.
    let works_inside = project == path || (project.is_within(&path) && path.is_within(&source));
    if !moved && !works_inside && !roots.iter().any(|root| source.is_within(root)) {
        return Err(refused(
            format!("`{named}` is a build of `{home}`, not of this project"),
            format!("`{named}` 是 `{home}` 的构建目录，不属于本项目"),
        ));
    }
    if let Some(why) = tracked_folder(host, named).or_else(|| tracked_folder(host, &path)) {
        return Err(NotATree::Tracked(Box::new(tree), why));
    }
    Ok(tree)
}

/// Says whether the project itself lies in a tree. Its cache does not tell where the folder was moved or copied since.
fn holds_sources(host: &dyn Host, tree: &BuildTree, builds: &[BuildCommand]) -> bool {
    let (source, made_in) = (AbsPath::new(&tree.source), AbsPath::new(&tree.made_in));
    let was_made_around_it = source.is_ok_and(|source| made_in.is_ok_and(|made_in| source.is_within(&made_in)));
    let is_inside = |folder: &AbsPath| real_or(host, folder.as_path()).is_within(&tree.path);
    let builds_what_is_inside = builds.iter().any(|build| match build {
        BuildCommand::Configure(configure) => configure.source.as_ref().is_some_and(is_inside),
        BuildCommand::Python(python) => is_inside(&python.folder),
        BuildCommand::Build { .. } => false,
    });
    was_made_around_it || builds_what_is_inside || own_files::project_file(host, &tree.path).is_some()
}

/// Says whether the user's command makes the tree again once it is gone: a command that only builds does not.
pub fn can_be_made_again(host: &dyn Host, builds: &[BuildCommand], tree: &BuildTree) -> bool {
    let is_it = |other: &AbsPath| same_folder(host, other.as_path(), tree.path.as_path());
    let needs_it = builds.iter().any(|build| match build {
        BuildCommand::Build { tree } => is_it(tree),
        // `cmake <tree>` takes the source from the cache that would be gone.
        BuildCommand::Configure(configure) => configure.source.is_none() && configure.tree.as_ref().is_some_and(is_it),
        BuildCommand::Python(_) => false,
    });
    let makes_it = builds.iter().any(|build| match build {
        BuildCommand::Configure(configure) => configure.source.is_some(),
        BuildCommand::Build { .. } | BuildCommand::Python(_) => false,
    });
    makes_it || !needs_it
}

/// Returns the nearest folder at or above `path` that has a cache; paths in logs often lie deep in a tree.
pub fn around(host: &dyn Host, path: &AbsPath) -> Option<AbsPath> {
    let mut at = Some(path.clone());
    while let Some(folder) = at {
        if has_cache(host, &folder) {
            return Some(folder);
        }
        at = folder.parent();
    }
    None
}

/// Finds build trees in the usual places of a project's folder: the folder itself, its children, and what setuptools,
/// scikit-build and CMake presets make below them.
pub fn search(host: &dyn Host, folder: &AbsPath) -> Vec<AbsPath> {
    let mut found = Vec::new();
    let mut look = |path: AbsPath| {
        if has_cache(host, &path) && !found.contains(&path) {
            found.push(path);
        }
    };
    look(folder.clone());
    for child in children(host, folder) {
        look(child.clone());
        let name = child.file_name().and_then(|name| name.to_str()).unwrap_or_default();
        let (holds_trees, is_skbuild) = (matches!(name, "build" | "out"), name == "_skbuild");
        if !holds_trees && !is_skbuild {
            continue;
        }
        for grandchild in children(host, &child) {
            look(grandchild.clone());
            let name = grandchild.file_name().and_then(|name| name.to_str()).unwrap_or_default();
            if is_skbuild {
                look(grandchild.resolve("cmake-build"));
            } else if name.starts_with("temp.") || name == "build" {
                children(host, &grandchild).into_iter().for_each(&mut look);
            }
        }
    }
    found
}

/// Finds build trees in the usual places of this project: the user's folder, the git work tree, and their `python`.
pub fn in_usual_places(host: &dyn Host) -> Vec<AbsPath> {
    let mut found: Vec<AbsPath> = Vec::new();
    for folder in usual_folders(host) {
        found.extend(search(host, &folder).into_iter().filter(|tree| !found.contains(tree)).collect::<Vec<_>>());
    }
    found
}

/// The folders that are searched for build trees where no command says more.
pub fn usual_folders(host: &dyn Host) -> Vec<AbsPath> {
    let mut folders = Vec::new();
    for root in [Some(host.project()), host.git().top_level()].into_iter().flatten() {
        for folder in [root.clone(), root.resolve("python")] {
            if !folders.contains(&folder) {
                folders.push(folder);
            }
        }
    }
    folders
}

/// The folders that a build tree's source may lie in: the user's folder and the git work tree around it.
fn project_roots(host: &dyn Host) -> Vec<AbsPath> {
    let named = [Some(host.project()), host.git().top_level()];
    let mut roots: Vec<AbsPath> = named.into_iter().flatten().cloned().collect();
    roots.extend(roots.clone().iter().map(|root| real_or(host, root.as_path())));
    roots.sort();
    roots.dedup();
    roots
}

/// Says whether two names lead to one folder; a folder that is gone equals its own name only.
pub fn same_folder(host: &dyn Host, one: &Path, other: &Path) -> bool {
    let clean = |path: &Path| AbsPath::new(path).ok();
    let real = |path: &Path| host.real(path).ok();
    (clean(one).is_some() && clean(one) == clean(other)) || (real(one).is_some() && real(one) == real(other))
}

fn real_or(host: &dyn Host, path: &Path) -> AbsPath {
    let real = host.real(path).ok().and_then(|real| AbsPath::new(real).ok());
    real.or_else(|| AbsPath::new(path).ok()).unwrap_or_else(|| host.project().resolve(path))
}

fn has_cache(host: &dyn Host, folder: &AbsPath) -> bool {
    host.follow(&folder.as_path().join("CMakeCache.txt")).is_ok_and(|meta| meta.kind == FileKind::File)
}

fn children(host: &dyn Host, folder: &AbsPath) -> Vec<AbsPath> {
    let names = host.list(folder.as_path(), LIST_LIMIT).unwrap_or_default();
    names.into_iter().map(|name| folder.resolve(name)).collect()
}

fn refused(en: String, zh: String) -> NotATree {
    NotATree::Refused(Text::new(en, zh))
}
