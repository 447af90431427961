//! Does the project's build script give CMake a linker flag twice, so that the last one drops the linker?

use super::setup_cmake_args::{LARGEST_SCRIPT, find_script};
use super::{Answer, ArgSpec, Inquiry, Place, Question, UNKNOWN};
use crate::formats::cmake_args::{self, Effective, Inspection, MergeOrder};
use crate::recipe::Text;

/// The questions of this file.
pub const QUESTIONS: &[Question] = &[Question {
    name: "setup_dropped_linker",
    about: "Finds linker flags that setup.py gives CMake twice: CMake takes the last, and a `-fuse-ld=` in the first is lost.",
    args: &[ArgSpec { name: "path", required: false, about: "The setup.py, where the user names it" }],
    answers: &["mergeable", "dropped", "whole", "none"],
    values: &["path", "lines", "folders"],
    ask: setup_dropped_linker,
}];

fn setup_dropped_linker(inquiry: &Inquiry<'_>) -> Answer {
    let host = inquiry.host;
    let Some(path) = find_script(host, inquiry.command, inquiry.text("path"), &[]) else {
        return Answer::new("none", Text::new("there is no setup.py here", "此处没有 setup.py"));
    };
    let unknown = |error: &dyn std::fmt::Display| {
        Answer::new(UNKNOWN, Text::new(format!("{path} cannot be read: {error}"), format!("无法读取 {path}：{error}")))
    };
    let bytes = match host.read(path.as_path(), LARGEST_SCRIPT) {
        Ok(bytes) => bytes,
        Err(error) => return unknown(&error),
    };
    let env = |name: &str| host.env(name).and_then(|value| value.into_string().ok());
    let order = MergeOrder { folder: "/nowhere", function: None, env: &env };
    let inspection = match cmake_args::inspect(&bytes, &order) {
        Ok(inspection) => inspection,
        Err(error) => return unknown(&error),
    };
    if inspection.dropped.is_empty() {
        let seen = Text::new(format!("{path} drops no linker"), format!("{path} 没有丢掉链接器"));
        return Answer::new("whole", seen).with("path", path.to_string());
    }
    let says = Text::new(
        "this flag stands here a second time: CMake takes the last, and `-fuse-ld=` of the first is lost",
        "此参数第二次出现：CMake 只取最后一个，前一个中的 `-fuse-ld=` 会丢失",
    );
    let text = String::from_utf8_lossy(&bytes).into_owned();
    let indent = |line: usize| {
        let line = text.lines().nth(line - 1).unwrap_or_default();
        line.chars().take_while(|c| c.is_whitespace()).count() + 1
    };
    let places = inspection.dropped.iter().map(|line| Place {
        path: path.clone(),
        line: u32::try_from(*line).unwrap_or(u32::MAX),
        column: u32::try_from(indent(*line)).unwrap_or(1),
        says: says.clone(),
    });
    let places: Vec<Place> = places.collect();
    let lines: Vec<String> = inspection.dropped.iter().map(|line| format!("{path}:{line}")).collect();
    let list = lines.join(", ");
    let seen = Text::new(format!("the linker is dropped at {list}"), format!("{list} 处丢掉了链接器"));
    let folders = mergeable(&bytes, &inspection, &env);
    let word = if folders.is_empty() { "dropped" } else { "mergeable" };
    let mut answer = Answer::new(word, seen).with("path", path.to_string()).with("lines", lines);
    if !folders.is_empty() {
        answer = answer.with("folders", folders);
    }
    answer.places = places;
    answer
}

/// The folders of the flags' own `-L`, where bringing them into all kinds makes one argument of each two, and leaves
/// nothing to do by hand.
fn mergeable(bytes: &[u8], inspection: &Inspection, env: &dyn Fn(&str) -> Option<String>) -> Vec<String> {
    let mut folders: Vec<String> = Vec::new();
    for words in inspection.effective.iter().filter_map(|effective| match effective {
        Effective::Words(words) => Some(words),
        Effective::Unset | Effective::Unknown => None,
    }) {
        let named = words.iter().filter_map(|word| word.strip_prefix("-L")).filter(|folder| folder.starts_with('/'));
        folders.extend(named.map(str::to_owned).filter(|folder| !folders.contains(folder)).collect::<Vec<_>>());
    }
    let mut merged = bytes.to_vec();
    for folder in &folders {
        let order = MergeOrder { folder, function: None, env };
        match cmake_args::merge(&merged, &order) {
            Ok(done) if done.manual.is_empty() && !done.done.is_empty() => merged = done.bytes,
            Ok(_) | Err(_) => return Vec::new(),
        }
    }
    let order = MergeOrder { folder: "/nowhere", function: None, env };
    let heals = cmake_args::inspect(&merged, &order).is_ok_and(|after| after.dropped.is_empty());
    if heals { folders } else { Vec::new() }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::evidence::LocalHost;
    use crate::evidence::questions::testing::NoGit;
    use crate::os::AbsPath;
    use std::collections::BTreeMap;

    #[test]
    fn a_second_flag_that_drops_the_linker_is_found() {
        let ask = |script: &str| {
            let folder = tempfile::tempdir().unwrap();
            let root = AbsPath::new(folder.path().canonicalize().unwrap()).unwrap();
            std::fs::write(root.resolve("setup.py").as_path(), script).unwrap();
            let host = LocalHost::new(root, [], Box::new(NoGit));
            setup_dropped_linker(&Inquiry { args: &BTreeMap::new(), host: &host, command: None })
        };
        let first = "cmake_args = [\n    \"-DCMAKE_EXE_LINKER_FLAGS=-fuse-ld=lld\",\n";
        let answer = ask(&format!("{first}    \"-DCMAKE_EXE_LINKER_FLAGS=-L/x\",\n]\n"));
        assert_eq!((answer.word, answer.places[0].line, answer.places[0].column), ("mergeable", 3, 5));
        assert_eq!(answer.values["folders"].to_text(), "/x");
        // Nothing says which folder all kinds need.
        let other = ask(&format!("{first}    \"-DCMAKE_EXE_LINKER_FLAGS=-Wl,-x\",\n]\n"));
        assert_eq!((other.word, other.values.contains_key("folders")), ("dropped", false));
        // A part that only a person can edit.
        let by_hand =
            format!("{first}    \"-DCMAKE_EXE_LINKER_FLAGS=-L/x\",\n    f\"-DCMAKE_SHARED_LINKER_FLAGS={{x}}\",\n]\n");
        assert_eq!(ask(&by_hand).word, "dropped");
        assert_eq!(ask(&format!("{first}    \"-DCMAKE_EXE_LINKER_FLAGS=-fuse-ld=lld -L/x\",\n]\n")).word, "whole");
        assert_eq!(ask(&format!("{first}    \"-DCMAKE_MODULE_LINKER_FLAGS=-L/x\",\n]\n")).word, "whole");
        assert_eq!(ask(&"# a line\n".repeat(200_000)).word, UNKNOWN);
    }
}
