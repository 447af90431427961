//! Are the submodules of this checkout there?

use super::{Answer, ArgSpec, Inquiry, Question, UNKNOWN};
use crate::evidence::Host;
use crate::os::AbsPath;
use crate::recipe::Text;

/// The questions of this file.
pub const QUESTIONS: &[Question] = &[Question {
    name: "git_submodules",
    about: "Finds submodules that `.gitmodules` names and whose folder is missing or empty.",
    args: &[ArgSpec { name: "path", required: false, about: "What the log misses; only its submodule counts then" }],
    answers: &["empty", "all_there", "none"],
    values: &["submodules", "top", "paths", "all_empty"],
    ask: git_submodules,
}];

const LARGEST: u64 = 1 << 20;
const MOST: usize = 500;

fn git_submodules(inquiry: &Inquiry<'_>) -> Answer {
    let host = inquiry.host;
    let top = host.git().top_level().unwrap_or(host.project()).clone();
    let Ok(bytes) = host.read(top.resolve(".gitmodules").as_path(), LARGEST) else {
        let seen = Text::new(format!("`{top}` has no `.gitmodules`"), format!("`{top}` 中没有 `.gitmodules`"));
        return Answer::new("none", seen);
    };
    let declared = paths(&String::from_utf8_lossy(&bytes));
    let missing: Vec<String> = declared.iter().filter(|path| is_empty(host, &top.resolve(path))).cloned().collect();
    if missing.is_empty() {
        let seen = Text::new(
            format!("all {} submodules of `{top}` are checked out", declared.len()),
            format!("`{top}` 的 {} 个子模块均已检出", declared.len()),
        );
        return Answer::new("all_there", seen);
    }
    // The log's path may be of another machine: then any empty submodule is only a hint.
    let hints: Vec<AbsPath> = inquiry.list("path").iter().map(|path| host.project().resolve(path)).collect();
    let meant: Vec<String> =
        missing.iter().filter(|path| hints.iter().any(|hint| hint.is_within(&top.resolve(path)))).cloned().collect();
    if meant.is_empty() && !hints.is_empty() {
        let list = missing.join(", ");
        let seen = Text::new(
            format!("{list} is empty, and what the log misses does not lie there"),
            format!("{list} 为空，但日志所缺的文件不在其中"),
        );
        return Answer::new(UNKNOWN, seen).with("all_empty", missing);
    }
    let meant = if meant.is_empty() { missing.clone() } else { meant };
    let list = meant.join(", ");
    let seen = Text::new(format!("the submodule {list} of `{top}` is empty"), format!("`{top}` 的子模块 {list} 为空"));
    let words = meant.iter().map(|path| shell_words::quote(path).into_owned()).collect::<Vec<_>>().join(" ");
    Answer::new("empty", seen)
        .with("submodules", meant)
        .with("paths", words)
        .with("all_empty", missing)
        .with("top", top.to_string())
}

/// Lists the `path = …` of a `.gitmodules`; one that could lead out of the checkout is none.
fn paths(text: &str) -> Vec<String> {
    let values = text.lines().filter_map(|line| {
        let (name, value) = line.split_once('=')?;
        (name.trim() == "path").then(|| value.trim().trim_matches('"').to_owned())
    });
    let is_inside =
        |path: &String| !path.is_empty() && !path.starts_with(['/', '-']) && path.split('/').all(|part| part != "..");
    values.filter(is_inside).take(MOST).collect()
}

fn is_empty(host: &dyn Host, folder: &AbsPath) -> bool {
    match host.list(folder.as_path(), 2) {
        Ok(names) => names.is_empty(),
        Err(error) => error.kind() == std::io::ErrorKind::NotFound,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn reads_paths() {
        let text = "[submodule \"a\"]\n\tpath = 3rdparty/a\n\turl = https://x/a\n[submodule \"b\"]\npath=\"b c\"\n\
                    path = ../out\npath = /abs\npath = -x\npathological = no\n";
        assert_eq!(paths(text), ["3rdparty/a", "b c"]);
    }
}
