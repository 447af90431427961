//! A recipe with everything in it and a vocabulary for it, for tests.

use super::{ArgTerm, QuestionTerm, VerbTerm, Vocabulary};

/// The file's name of [`RECIPE`].
pub const FILE: &str = "recipes/tda-1.9.toml";

pub const RECIPE: &str = r#####"id = "tda-1.9"
slug = "llvmcgdata-residue"
aliases = ["tda-3.9"]
family = "cmake"
applicability = "confirm"
masks = ["cmake-imported-targets-missing"]
references = ["https://example.org/faq#1.9"]

[title]
en = "LLVM targets are missing"
zh = "缺少 LLVM 目标"

[cause]
en = "The cache is of another LLVM."
zh = "缓存来自另一个 LLVM。"

[remedy]
en = "Set the build tree aside."
zh = "移开构建目录。"

[why]
en = "The tree may hold work."
zh = "目录中可能有你的工作。"

[[param]]
name = "missing_targets"
type = "text"
list = true
identifying = true
capture = "missing_targets"

[[param]]
name = "clean"
type = "text"
default = "tree"
choices = ["tree", "narrow"]
help = { en = "how much to clean", zh = "清理多少" }

[[param]]
name = "llvm_dir"
type = "path"
probe = "llvm.dir"
env = "LLVM_DIR"

[[signature]]
role = "required"
lines = 12
any = [
  '''imported targets are referenced, but are missing: (?P<missing_targets>\S+(?: \S+)*)''',
]

[[signature]]
role = "veto"
any = ["Could not find a package configuration file"]

[[probe]]
name = "tree"
ask = { cmake_tree = { hint = "${missing_targets}" } }

[[probe]]
name = "llvm"
ask = { llvm_pair = { build_dir = "${tree.path}" } }

[[case]]
name = "stale-cache"
when = { llvm = ["stale"], tree = "found" }
verdict = "certain"
says = { en = "`${tree.path}` is stale", zh = "`${tree.path}` 已过时" }

[[case.step]]
set_aside_tree = { path = "${tree.path}" }
only_if = { clean = ["tree"] }

[[case.verify]]
probe = "llvm"
is = ["consistent"]

[[case]]
name = "mismatch"
when = { llvm = ["mismatch"] }
verdict = "likely"
applicability = "manual"
says = { en = "two LLVMs in ${llvm_dir}", zh = "${llvm_dir} 中有两个 LLVM" }
advice = [{ en = "Install one pair.", zh = "请安装配套的一对。" }]

[[case]]
name = "unclear"
verdict = "possible"
says = { en = "this cannot be told here", zh = "此处无法判断" }
advice = [{ en = "Look at the cache.", zh = "请查看缓存。" }]
"#####;

const fn arg(name: &'static str, required: bool) -> ArgTerm {
    ArgTerm { name, required, about: "a folder" }
}

/// The questions and verbs that [`RECIPE`] names.
pub fn vocabulary() -> Vocabulary {
    Vocabulary {
        questions: vec![
            QuestionTerm {
                name: "cmake_tree",
                about: "Finds the build tree.",
                args: vec![arg("hint", false)],
                answers: vec!["found", "none"],
                values: vec!["path"],
            },
            QuestionTerm {
                name: "llvm_pair",
                about: "Compares LLVM and LLD.",
                args: vec![arg("build_dir", true)],
                answers: vec!["consistent", "stale", "mismatch"],
                values: vec!["dir"],
            },
        ],
        verbs: vec![VerbTerm {
            name: "set_aside_tree",
            about: "Moves a build tree away.",
            args: vec![arg("path", true), arg("keep", false)],
        }],
        anchors,
        least_anchor: 14,
    }
}

/// Stands in for the scanner's own, which recipes must not import: the longest phrase of plain words.
fn anchors(regex: &str) -> Result<Vec<String>, String> {
    let phrases = regex.split(|c: char| !c.is_ascii_alphabetic() && !matches!(c, ' ' | ','));
    let longest = phrases.max_by_key(|phrase| phrase.len()).unwrap_or_default();
    if longest.len() < 12 { Err("no usable anchor: too short".to_owned()) } else { Ok(vec![longest.to_owned()]) }
}
