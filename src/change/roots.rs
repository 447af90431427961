//! The folders below which `fix` may write.

use serde::{Deserialize, Serialize};

use super::AbsPath;

/// Folders and files that a repair may touch.
///
/// They come from the command line and from the machine (git top level, HOME's configuration files, the
/// active environment), never from a log, a project file or a recipe.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct AllowedRoots {
    roots: Vec<AbsPath>,
}

impl AllowedRoots {
    /// Takes the roots; the order does not matter.
    pub fn new(roots: impl IntoIterator<Item = AbsPath>) -> Self {
        let mut roots: Vec<AbsPath> = roots.into_iter().collect();
        roots.sort();
        roots.dedup();
        Self { roots }
    }

    /// Adds a root that the user named.
    pub fn allow(&mut self, root: AbsPath) {
        if !self.roots.contains(&root) {
            self.roots.push(root);
            self.roots.sort();
        }
    }

    /// Returns the root that `path` lies in, the deepest one.
    pub fn containing(&self, path: &AbsPath) -> Option<&AbsPath> {
        self.roots.iter().filter(|root| path.is_within(root)).max_by_key(|root| root.as_path().as_os_str().len())
    }

    /// Lists the roots in order.
    pub fn iter(&self) -> impl Iterator<Item = &AbsPath> {
        self.roots.iter()
    }
}
