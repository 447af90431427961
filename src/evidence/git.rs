//! Git's knowledge, as the read-only [`Host`](super::Host) hands it out.

use super::{GitState, Host};
use crate::os::AbsPath;
use crate::os::git::{GitKnowledge, Unreadable};
use crate::recipe::Text;

impl GitState for GitKnowledge {
    fn top_level(&self) -> Option<&AbsPath> {
        GitKnowledge::top_level(self)
    }

    fn tracks(&self, path: &AbsPath) -> bool {
        GitKnowledge::tracks(self, path)
    }

    fn unreadable(&self, path: &AbsPath) -> Option<Unreadable> {
        GitKnowledge::unreadable(self, path)
    }
}

/// Says why a file is treated as tracked by git, where it is.
pub fn tracked_file(host: &dyn Host, path: &AbsPath) -> Option<Text> {
    let yes = || Text::new(format!("`{path}` is tracked by git"), format!("`{path}` 由 git 跟踪"));
    host.git().tracks(path).then(|| unreadable(host, path).unwrap_or_else(yes))
}

/// Says why a folder is treated as one that git tracks files in, where it is.
pub fn tracked_folder(host: &dyn Host, path: &AbsPath) -> Option<Text> {
    let yes = || Text::new(format!("`{path}` holds files that git tracks"), format!("`{path}` 中有 git 跟踪的文件"));
    host.git().tracks(path).then(|| unreadable(host, path).unwrap_or_else(yes))
}

fn unreadable(host: &dyn Host, path: &AbsPath) -> Option<Text> {
    Some(match host.git().unreadable(path)? {
        Unreadable::Owner(top) => Text::new(
            format!(
                "git's index of `{top}` cannot be read, since that repository belongs to another user: `{path}` may \
                 hold tracked files (`git config --global --add safe.directory {top}` lets it be read)"
            ),
            format!(
                "仓库 `{top}` 属于其他用户，无法读取其 git 索引：`{path}` 中可能有被跟踪的文件（执行 \
                 `git config --global --add safe.directory {top}` 后即可读取）"
            ),
        ),
        Unreadable::Other(top) => Text::new(
            format!(
                "git's index of `{top}` cannot be read here (damaged, without permission, or of another format): \
                 `{path}` may hold tracked files"
            ),
            format!("此处无法读取 `{top}` 的 git 索引（已损坏、没有权限或格式不同）：`{path}` 中可能有被跟踪的文件"),
        ),
    })
}
