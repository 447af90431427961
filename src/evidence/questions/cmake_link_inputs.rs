//! Which inputs of a failed link step are empty or cut off?
//!
//! Linkers take an empty object for one without symbols, so that their complaint is about something else. Only what the
//! failed step itself names is looked at.

use std::path::Path;

use super::cmake_products::is_cut_off;
use super::{Answer, ArgSpec, Inquiry, Question, UNKNOWN};
use crate::evidence::FileKind;
use crate::os::AbsPath;
use crate::recipe::Text;

/// The questions of this file.
pub const QUESTIONS: &[Question] = &[Question {
    name: "cmake_link_inputs",
    about: "Finds which objects and archives of a failed link step are empty or cut off.",
    args: &[
        ArgSpec { name: "tree", required: false, about: "The build tree" },
        ArgSpec { name: "line", required: false, about: "The words of the link command, as Ninja prints it" },
        ArgSpec { name: "target_dir", required: false, about: "The target's folder, as make names it" },
    ],
    answers: &["truncated", "whole", "no_tree"],
    values: &["files", "named", "count"],
    ask: cmake_link_inputs,
}];

/// A link command of a large program.
const LONGEST_COMMAND: u64 = 4 << 20;
/// Larger products are not read.
const LARGEST: u64 = 256 << 20;
/// All inputs together.
const TOTAL: u64 = 2 << 30;

fn cmake_link_inputs(inquiry: &Inquiry<'_>) -> Answer {
    let host = inquiry.host;
    let no_tree = || Answer::new("no_tree", Text::new("there is no configured build tree", "没有已配置的构建目录"));
    let Some(tree) = inquiry.text("tree").and_then(|tree| AbsPath::new(tree).ok()) else { return no_tree() };
    if host.follow(&tree.as_path().join("CMakeCache.txt")).is_err() {
        return no_tree();
    }
    // Ninja runs at the top of the tree, make in the folder above CMakeFiles.
    let (folder, words) = match inquiry.text("target_dir") {
        Some(target) => {
            let target = tree.resolve(target);
            let command = host.read(&target.as_path().join("link.txt"), LONGEST_COMMAND).unwrap_or_default();
            let words = String::from_utf8_lossy(&command).split_whitespace().map(str::to_owned).collect();
            let folder = target.parent().and_then(|folder| folder.parent());
            (folder.filter(|folder| folder.is_within(&tree)), words)
        }
        None => (Some(tree.clone()), inquiry.list("line")),
    };
    let is_input = |word: &String| {
        let name = word.trim_matches('"');
        [".o", ".a", ".so"].iter().any(|end| name.ends_with(end)) && !name.starts_with('-')
    };
    let named: Vec<String> = words.into_iter().filter(is_input).map(|word| word.trim_matches('"').to_owned()).collect();
    let (Some(folder), false) = (folder, named.is_empty()) else {
        return Answer::new(UNKNOWN, Text::new("the link step's inputs are not known", "无法得知该链接步骤的输入文件"));
    };
    let mut broken = Vec::new();
    let mut read = 0;
    for name in &named {
        let path = folder.resolve(name);
        let Ok(meta) = host.inspect(path.as_path()) else { continue };
        if meta.kind != FileKind::File || !is_inside(inquiry, &path, &tree) {
            continue;
        }
        read += meta.len;
        if read > TOTAL {
            break;
        }
        if host.read(path.as_path(), LARGEST).is_ok_and(|bytes| is_cut_off(&bytes)) {
            broken.push((path.to_string(), name.clone()));
        }
    }
    if broken.is_empty() {
        let seen = Text::new("no input of the link step is empty or cut off", "该链接步骤的输入文件都完整");
        return Answer::new("whole", seen);
    }
    let (files, named): (Vec<String>, Vec<String>) = broken.into_iter().unzip();
    let list = files.iter().take(3).cloned().collect::<Vec<_>>().join(", ");
    let count = files.len();
    let seen = Text::new(format!("{count} empty or cut off: {list}"), format!("{count} 个文件为空或不完整：{list}"));
    Answer::new("truncated", seen).with("count", count.to_string()).with("files", files).with("named", named)
}

/// A link on the way may lead out of the tree.
fn is_inside(inquiry: &Inquiry<'_>, path: &AbsPath, tree: &AbsPath) -> bool {
    let real = |path: &Path| inquiry.host.real(path).ok().and_then(|real| AbsPath::new(real).ok());
    path.parent()
        .and_then(|parent| real(parent.as_path()))
        .zip(real(tree.as_path()))
        .is_some_and(|(parent, tree)| parent.is_within(&tree))
}
