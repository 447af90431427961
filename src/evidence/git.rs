//! Git's knowledge, as the read-only [`Host`](super::Host) hands it out.

use super::GitState;
use crate::os::AbsPath;
use crate::os::git::GitKnowledge;

impl GitState for GitKnowledge {
    fn top_level(&self) -> Option<&AbsPath> {
        GitKnowledge::top_level(self)
    }

    fn tracks(&self, path: &AbsPath) -> bool {
        GitKnowledge::tracks(self, path)
    }
}
