//! What a build of Python extensions keeps for the next build: `build/temp.*` and `build/lib.*` of setuptools, and the
//! folders of PyTorch's just-in-time builds.
//!
//! A tree is set aside on this word alone, so that every doubt is a "no" with its reason. A folder is recognised by
//! where it lies, how it is named and what is in it; the name alone is never enough.

use std::path::{Path, PathBuf};

use super::build_command::BuildCommand;
use super::{FileKind, Host, tracked_folder};
use crate::os::AbsPath;
use crate::recipe::Text;

/// Entries that are looked at before a folder is too large to be judged.
const MOST_ENTRIES: usize = 20_000;
const DEEPEST: usize = 32;

/// Endings of what compilers and ninja leave in a folder of objects.
const OBJECTS: &[&str] = &["o", "d", "obj", "a", "so", "lo", "gch", "pch", "ninja", "ninja_deps", "ninja_log", "rsp"];
/// Endings of what PyTorch writes beside them for a build at run time.
const JIT: &[&str] = &["cpp", "cu", "cc", "c", "cxx", "hip", "lock"];

/// Says why a folder is not what a build of extensions made, or returns its real path.
pub fn recognise(host: &dyn Host, named: &AbsPath) -> Result<AbsPath, Text> {
    let refused = |en: &str, zh: &str| Text::new(format!("`{named}` {en}"), format!("`{named}` {zh}"));
    let real = host.real(named.as_path()).ok().and_then(|real| AbsPath::new(real).ok());
    let real = real.ok_or_else(|| refused("is not there", "不存在"))?;
    let meta = host.inspect(named.as_path()).map_err(|_| refused("cannot be read", "无法读取"))?;
    if meta.kind != FileKind::Folder {
        return Err(refused("is no folder of its own", "不是独立的目录"));
    }
    if meta.user != host.user() && host.user() != 0 {
        return Err(refused("belongs to another user", "属于其他用户"));
    }
    let name = named.file_name().and_then(|name| name.to_str()).unwrap_or_default();
    let parent = named.parent().ok_or_else(|| refused("is no build folder", "不是构建目录"))?;
    let of_setuptools = parent.file_name().is_some_and(|name| name == "build")
        && parent.parent().is_some_and(|project| is_package(host, &project));
    let known = if of_setuptools && is_tagged(name, "temp.") {
        only_holds(host, &real, &[OBJECTS])
    } else if of_setuptools && is_tagged(name, "lib.") {
        // Copies of the package's own files lie here beside the products.
        Ok(())
    } else if is_jit(host, named) {
        only_holds(host, &real, &[OBJECTS, JIT])
    } else {
        return Err(refused("is no folder that a build of extensions keeps", "不是扩展构建所保留的目录"));
    };
    known.map_err(|odd| {
        Text::new(
            format!("`{named}` holds `{}`, which no compiler makes", odd.display()),
            format!("`{named}` 中有 `{}`，并非编译产物", odd.display()),
        )
    })?;
    match tracked_folder(host, named).or_else(|| tracked_folder(host, &real)) {
        Some(why) => Err(why),
        None => Ok(real),
    }
}

/// Says whether a folder is one that setup tools build a package in.
pub fn is_package(host: &dyn Host, folder: &AbsPath) -> bool {
    ["setup.py", "pyproject.toml", "setup.cfg"].iter().any(|name| host.follow(folder.resolve(name).as_path()).is_ok())
}

/// Says whether a name is `temp.linux-x86_64-cpython-311` or, of older releases, `temp.linux-x86_64-3.8`.
fn is_tagged(name: &str, prefix: &str) -> bool {
    let Some((platform, python)) = name.strip_prefix(prefix).and_then(|rest| rest.rsplit_once('-')) else {
        return false;
    };
    let fits = |c: char| c.is_ascii_alphanumeric() || matches!(c, '_' | '-' | '.');
    platform.contains('-') && platform.chars().all(fits) && python.starts_with(|c: char| c.is_ascii_digit() || c == 'c')
}

/// Says whether a folder is `<root>/py311_cpu/<name>` with the `build.ninja` that PyTorch writes, below its cache.
fn is_jit(host: &dyn Host, folder: &AbsPath) -> bool {
    let below_root = jit_roots(host).iter().any(|root| folder.is_within(root) && folder != root);
    let script = host.read(folder.resolve("build.ninja").as_path(), 4 << 20).unwrap_or_default();
    below_root && memchr::memmem::find(&script, b"TORCH_EXTENSION_NAME").is_some()
}

/// Lists the folders in which PyTorch builds extensions at run time.
pub fn jit_roots(host: &dyn Host) -> Vec<AbsPath> {
    let given = host.env("TORCH_EXTENSIONS_DIR").and_then(|folder| AbsPath::new(folder).ok());
    let cache = host.env("XDG_CACHE_HOME").and_then(|folder| AbsPath::new(folder).ok());
    let cache = cache.or_else(|| host.home().map(|home| home.resolve(".cache")));
    given.into_iter().chain(cache.map(|cache| cache.resolve("torch_extensions"))).collect()
}

/// Returns the first file with another ending; a folder that is too large is judged by its first entries only, which
/// is a "no".
fn only_holds(host: &dyn Host, folder: &AbsPath, endings: &[&[&str]]) -> Result<(), PathBuf> {
    let mut left = vec![(folder.as_path().to_owned(), 0)];
    let mut seen = 0;
    while let Some((folder, depth)) = left.pop() {
        let names = host.list(&folder, MOST_ENTRIES).map_err(|_| folder.clone())?;
        for name in names {
            seen += 1;
            let path = folder.join(&name);
            let kind = host.inspect(&path).map_err(|_| path.clone())?.kind;
            let text = name.to_str().unwrap_or_default();
            let ending = text.rsplit('.').next().unwrap_or_default();
            let is_known = text.contains('.') && endings.iter().any(|list| list.contains(&ending));
            let is_lock = text == "lock";
            match kind {
                FileKind::Folder if depth < DEEPEST && seen < MOST_ENTRIES => left.push((path, depth + 1)),
                FileKind::File if (is_known || is_lock) && seen < MOST_ENTRIES => {}
                FileKind::Folder | FileKind::File | FileKind::Link | FileKind::Other => return Err(path),
            }
        }
    }
    Ok(())
}

/// What a build of one extension has left.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Leftover {
    /// The package's folder; for a build at run time the folder of objects itself.
    pub project: AbsPath,
    /// Folders of objects and products, as they are named.
    pub trees: Vec<AbsPath>,
    /// The module itself, where it lies beside its sources.
    pub module: Option<AbsPath>,
}

/// Finds what the builds of the user's command have left of the module `library`.
pub fn left_by_command(host: &dyn Host, library: &AbsPath, builds: &[BuildCommand]) -> Option<Leftover> {
    let name = library.file_name()?.to_str()?;
    builds.iter().find_map(|build| match build {
        BuildCommand::Python(python) => left_in(host, library, name, &python.folder),
        BuildCommand::Configure(_) | BuildCommand::Build { .. } => None,
    })
}

/// Finds what a build of the package in `project` has left of a module.
pub fn left_in(host: &dyn Host, library: &AbsPath, name: &str, project: &AbsPath) -> Option<Leftover> {
    let build = project.resolve("build");
    let tag = name.split('.').find(|part| part.starts_with("cpython-")).map(|part| {
        let python: Vec<&str> = part.splitn(3, '-').take(2).collect();
        python.join("-")
    });
    let mut trees = Vec::new();
    let mut has_product = false;
    for child in host.list(build.as_path(), 4096).unwrap_or_default() {
        let Some(child) = child.to_str() else { continue };
        let folder = build.resolve(child);
        if !is_tagged(child, "temp.") && !is_tagged(child, "lib.") {
            continue;
        }
        // Objects of another Python are another build's; older names give the version with a dot.
        let is_its = tag.as_deref().is_none_or(|tag| child.ends_with(tag) || !child.contains("cpython-"));
        if is_its {
            has_product |= child.starts_with("lib.") && holds(host, folder.as_path(), name, 0);
            trees.push(folder);
        }
    }
    let inside = library.is_within(project);
    let in_tree = trees.iter().any(|tree| library.is_within(tree));
    if trees.is_empty() || !(inside || has_product) {
        return None;
    }
    Some(Leftover { project: project.clone(), trees, module: (inside && !in_tree).then(|| library.clone()) })
}

/// Finds the folder of a build at run time that `library` lies in.
pub fn left_at_run_time(host: &dyn Host, library: &AbsPath) -> Option<Leftover> {
    let folder = library.parent()?;
    is_jit(host, &folder).then(|| Leftover { project: folder.clone(), trees: vec![folder], module: None })
}

/// Says whether a file of this name lies in a folder or at most three below.
fn holds(host: &dyn Host, folder: &Path, name: &str, depth: usize) -> bool {
    if host.inspect(&folder.join(name)).is_ok() {
        return true;
    }
    let names = if depth < 3 { host.list(folder, 4096).unwrap_or_default() } else { Vec::new() };
    names.iter().map(|child| folder.join(child)).any(|child| {
        host.inspect(&child).is_ok_and(|meta| meta.kind == FileKind::Folder) && holds(host, &child, name, depth + 1)
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::evidence::LocalHost;
    use crate::evidence::questions::testing::NoGit;
    use std::fs;

    fn project() -> (tempfile::TempDir, AbsPath, LocalHost) {
        let folder = tempfile::tempdir().unwrap();
        let root = AbsPath::new(folder.path().canonicalize().unwrap()).unwrap();
        let env = [("HOME".into(), root.as_path().as_os_str().to_owned())];
        let host = LocalHost::new(root.clone(), env, Box::new(NoGit));
        (folder, root, host)
    }

    fn write(root: &AbsPath, name: &str, text: &str) {
        let path = root.resolve(name);
        fs::create_dir_all(path.parent().unwrap().as_path()).unwrap();
        fs::write(path.as_path(), text).unwrap();
    }

    #[test]
    fn recognises_folders_by_place_name_and_content() {
        let (_folder, root, host) = project();
        write(&root, "p/setup.py", "");
        write(&root, "p/build/temp.linux-x86_64-cpython-311/src/a.o", "");
        write(&root, "p/build/temp.linux-x86_64-cpython-310/notes.txt", "");
        write(&root, "p/build/lib.linux-x86_64-3.8/x/a.so", "");
        write(&root, "p/build/temporary/a.o", "");
        write(&root, "q/build/temp.linux-x86_64-cpython-311/a.o", "");
        write(&root, ".cache/torch_extensions/py311_cpu/op/build.ninja", "-DTORCH_EXTENSION_NAME=op");
        write(&root, ".cache/torch_extensions/py311_cpu/op/op.so", "");
        write(&root, ".cache/torch_extensions/py311_cpu/mine/notes.md", "");
        write(&root, "elsewhere/op/build.ninja", "-DTORCH_EXTENSION_NAME=op");
        std::os::unix::fs::symlink(
            root.resolve("p").as_path(),
            root.resolve("p/build/lib.linux-x86_64-cpython-311").as_path(),
        )
        .unwrap();
        let cases = [
            ("p/build/temp.linux-x86_64-cpython-311", true),
            ("p/build/temp.linux-x86_64-cpython-310", false),
            ("p/build/lib.linux-x86_64-3.8", true),
            ("p/build/lib.linux-x86_64-cpython-311", false),
            ("p/build/temporary", false),
            ("p/build", false),
            ("p", false),
            ("q/build/temp.linux-x86_64-cpython-311", false),
            (".cache/torch_extensions/py311_cpu/op", true),
            (".cache/torch_extensions/py311_cpu/mine", false),
            (".cache/torch_extensions/py311_cpu", false),
            (".cache/torch_extensions", false),
            ("elsewhere/op", false),
            ("none", false),
        ];
        for (name, want) in cases {
            let path = root.resolve(name);
            assert_eq!(recognise(&host, &path).is_ok(), want, "{name}: {:?}", recognise(&host, &path));
        }
    }

    #[test]
    fn finds_what_is_left_of_a_module() {
        let (_folder, root, host) = project();
        write(&root, "p/setup.py", "");
        let name = "ops.cpython-311-x86_64-linux-gnu.so";
        write(&root, "p/build/temp.linux-x86_64-cpython-311/a.o", "");
        write(&root, "p/build/temp.linux-x86_64-cpython-310/a.o", "");
        write(&root, &format!("p/build/lib.linux-x86_64-cpython-311/pkg/{name}"), "");
        let project = root.resolve("p");
        let trees = ["lib", "temp"].map(|kind| project.resolve(format!("build/{kind}.linux-x86_64-cpython-311")));
        let beside = project.resolve(format!("pkg/{name}"));
        let left = left_in(&host, &beside, name, &project).unwrap();
        assert_eq!((left.trees.as_slice(), left.module.as_ref()), (&trees[..], Some(&beside)));
        let installed = root.resolve(format!("site-packages/pkg/{name}"));
        let left = left_in(&host, &installed, name, &project).unwrap();
        assert_eq!((left.trees.as_slice(), left.module), (&trees[..], None));
        // Of another package.
        let other = root.resolve("site-packages/other.cpython-311-x86_64-linux-gnu.so");
        assert_eq!(left_in(&host, &other, other.file_name().unwrap().to_str().unwrap(), &project), None);
    }
}
