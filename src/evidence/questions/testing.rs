//! What tests of questions share.

use crate::evidence::GitState;
use crate::os::AbsPath;

/// A project outside git.
pub struct NoGit;

impl GitState for NoGit {
    fn top_level(&self) -> Option<&AbsPath> {
        None
    }

    fn tracks(&self, _: &AbsPath) -> bool {
        false
    }
}
