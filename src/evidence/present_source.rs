//! Where the source of a build tree is now.
//!
//! The cache names the folder that the source had when the tree was made. Where the project was moved or copied since,
//! that is gone, or another copy's.

use std::path::{Path, PathBuf};

use super::Host;
use super::build_command::{BuildCommand, Configure};
use super::build_tree::{BuildTree, same_folder};

/// Returns the source folder that the next configure of `tree` is about: what the command says, else what moved along
/// with the tree, else the user's folder where the old one is gone; the cache's own where nothing tells better.
pub fn present_source(host: &dyn Host, builds: &[BuildCommand], tree: &BuildTree) -> PathBuf {
    let given = builds.iter().find_map(|build| match build {
        BuildCommand::Configure(Configure { source, tree: Some(at), .. })
            if same_folder(host, at.as_path(), tree.path.as_path()) =>
        {
            source.clone()
        }
        BuildCommand::Configure(_) | BuildCommand::Build { .. } | BuildCommand::Python(_) => None,
    });
    if let Some(given) = given {
        return given.as_path().to_owned();
    }
    let is_source = |folder: &Path| host.follow(&folder.join("CMakeLists.txt")).is_ok();
    let along = [&tree.named, &tree.path].into_iter().find_map(|now| moved_along(tree, now.as_path()));
    let here = Some(host.project().as_path().to_owned()).filter(|_| !is_source(&tree.source));
    [along, here].into_iter().flatten().find(|folder| is_source(folder)).unwrap_or_else(|| tree.source.clone())
}

/// Where the source lies if it was moved together with the tree, which is now at `now`.
fn moved_along(tree: &BuildTree, now: &Path) -> Option<PathBuf> {
    let (mut old, mut new) = (tree.made_in.as_path(), now);
    if old == new {
        return None;
    }
    while old.file_name().is_some() && old.file_name() == new.file_name() {
        (old, new) = (old.parent()?, new.parent()?);
    }
    let rest = tree.source.strip_prefix(old).ok()?;
    Some(new.join(rest).components().collect())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::os::AbsPath;

    #[test]
    fn a_source_moves_along_with_its_tree() {
        let along = |source: &str, made_in: &str, now: &str| {
            let now = AbsPath::new(now).unwrap();
            let tree = BuildTree {
                named: now.clone(),
                path: now.clone(),
                source: source.into(),
                made_in: made_in.into(),
                generator: String::new(),
            };
            moved_along(&tree, now.as_path()).map(|path| path.display().to_string())
        };
        for (source, made_in, now, want) in [
            ("/old", "/old/build", "/new/build", Some("/new")),
            ("/a/p/src", "/a/p/out/x", "/b/p/out/x", Some("/b/p/src")),
            ("/p", "/p/build", "/p/build2", None),
            ("/p", "/p/build", "/p/build", None),
            ("/src", "/old/build", "/new/build", None),
        ] {
            assert_eq!(along(source, made_in, now).as_deref(), want, "{source} {made_in} {now}");
        }
    }
}
