//! Does a link step search folders that do not exist?

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};

use super::{Answer, ArgSpec, Inquiry, Question, UNKNOWN};
use crate::evidence::{FileKind, Host};
use crate::recipe::Text;

/// The questions of this file.
pub const QUESTIONS: &[Question] = &[Question {
    name: "link_folders",
    about: "Finds folders of `-L` that do not exist, in the link steps of a build tree that ask for a library.",
    args: &[
        ArgSpec { name: "tree", required: false, about: "The build tree" },
        ArgSpec { name: "library", required: true, about: "Names as after `-l`" },
    ],
    answers: &["gone", "here", "no_tree"],
    values: &["folders"],
    ask: link_folders,
}];

/// A build.ninja of LLVM has about 30 MB.
const LARGEST: u64 = 128 << 20;
/// Folders that are looked into for link.txt files.
const MOST_FOLDERS: usize = 20_000;

fn link_folders(inquiry: &Inquiry<'_>) -> Answer {
    let host = inquiry.host;
    let Some(tree) = inquiry.text("tree").map(PathBuf::from).filter(|tree| tree.is_absolute()) else {
        return Answer::new("no_tree", Text::new("no build tree is known here", "本机没有已知的构建目录"));
    };
    let libraries = inquiry.list("library");
    let steps = steps(host, &tree);
    let asks = |step: &&String| {
        step.split_whitespace()
            .any(|word| word.strip_prefix("-l").is_some_and(|name| libraries.iter().any(|l| l == name)))
    };
    let mut gone = BTreeSet::new();
    let mut any = false;
    for step in steps.iter().filter(asks) {
        any = true;
        let mut words = step.split_whitespace();
        while let Some(word) = words.next() {
            let Some(rest) = word.strip_prefix("-L") else { continue };
            let folder = if rest.is_empty() { words.next().unwrap_or_default() } else { rest }.trim_matches('"');
            let not_there = |error: std::io::Error| error.kind() == std::io::ErrorKind::NotFound;
            if folder.starts_with('/') && host.follow(Path::new(folder)).is_err_and(not_there) {
                gone.insert(folder.to_owned());
            }
        }
    }
    if !any {
        return Answer::new(
            UNKNOWN,
            Text::new("the link step is not found in the build tree", "在构建目录中找不到该链接步骤"),
        );
    }
    if gone.is_empty() {
        return Answer::new("here", Text::new("all folders of `-L` exist", "`-L` 给出的目录都存在"));
    }
    let folders: Vec<String> = gone.into_iter().collect();
    let list = folders.join(", ");
    let seen = Text::new(
        format!("the link step searches {list}, which does not exist"),
        format!("链接步骤要搜索的 {list} 不存在"),
    );
    Answer::new("gone", seen).with("folders", folders)
}

/// The link commands of a tree: the variables of each statement in build.ninja, or make's link.txt files.
fn steps(host: &dyn Host, tree: &Path) -> Vec<String> {
    if let Ok(bytes) = host.read(&tree.join("build.ninja"), LARGEST) {
        let text = String::from_utf8_lossy(&bytes).into_owned();
        return text.split("\nbuild ").map(str::to_owned).collect();
    }
    let mut found = Vec::new();
    let mut folders = vec![tree.to_owned()];
    let mut seen = 0;
    while let Some(folder) = folders.pop() {
        seen += 1;
        if seen > MOST_FOLDERS {
            break;
        }
        for name in host.list(&folder, MOST_FOLDERS).unwrap_or_default() {
            let path = folder.join(&name);
            match host.inspect(&path).map(|meta| meta.kind) {
                Ok(FileKind::Folder) => folders.push(path),
                Ok(FileKind::File) if name == "link.txt" => {
                    let bytes = host.read(&path, 4 << 20).unwrap_or_default();
                    found.push(String::from_utf8_lossy(&bytes).into_owned());
                }
                Ok(FileKind::File | FileKind::Link | FileKind::Other) | Err(_) => {}
            }
        }
    }
    found
}
