//! Logs that tools leave on disk: what there is to go by when nobody kept the output.
//!
//! Only names and times are looked at here; whoever reads them does so bounded. Nothing outside the project is named
//! but what the user's own environment and HOME say.

use std::path::PathBuf;
use std::time::SystemTime;

use super::{FileKind, Host, build_tree};
use crate::os::AbsPath;

/// More files than this tell no more.
const MOST: usize = 12;
/// Names of a log folder that are looked at.
const MOST_NAMES: usize = 10_000;

/// What CMake writes below `CMakeFiles`: the first since 3.26, the second before.
const OF_CMAKE: &[&str] = &["CMakeConfigureLog.yaml", "CMakeError.log"];

/// A log on disk.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Leftover {
    pub path: AbsPath,
    pub modified: SystemTime,
}

/// Finds the logs of CMake in the project's build trees, pip's own log, and CANN's process logs (plog), newest first.
pub fn find(host: &dyn Host) -> Vec<Leftover> {
    let mut all = Vec::new();
    let mut look = |path: AbsPath| {
        if let Ok(meta) = host.follow(path.as_path())
            && meta.kind == FileKind::File
            && meta.len > 0
        {
            all.push(Leftover { path, modified: meta.modified });
        }
    };
    for tree in build_tree::search(host, host.project()) {
        OF_CMAKE.iter().for_each(|name| look(tree.resolve("CMakeFiles").resolve(name)));
    }
    if let Some(log) = host.env("PIP_LOG") {
        look(host.project().resolve(PathBuf::from(log)));
    }
    for folder in ascend_folders(host) {
        for kind in ["debug/plog", "run/plog"] {
            let folder = folder.resolve(kind);
            for name in host.list(folder.as_path(), MOST_NAMES).unwrap_or_default() {
                if name.to_string_lossy().ends_with(".log") {
                    look(folder.resolve(&name));
                }
            }
        }
    }
    all.sort_by(|a, b| b.modified.cmp(&a.modified).then_with(|| a.path.cmp(&b.path)));
    all.truncate(MOST);
    all
}

/// Where CANN writes its logs: what the environment says, else `~/ascend/log`.
fn ascend_folders(host: &dyn Host) -> Vec<AbsPath> {
    let named = host.env("ASCEND_PROCESS_LOG_PATH").and_then(|path| AbsPath::new(path).ok());
    let usual = host.home().map(|home| home.resolve("ascend/log"));
    named.or(usual).into_iter().collect()
}
