//! Is a compiled product older than the sources that speak to it?

use std::path::{Path, PathBuf};

use super::{Answer, ArgSpec, Inquiry, Question, UNKNOWN};
use crate::evidence::elf::Elf;
use crate::evidence::{FileKind, Host};
use crate::recipe::Text;

/// The questions of this file.
pub const QUESTIONS: &[Question] = &[Question {
    name: "libtriton_age",
    about: "Says whether libtriton.so of a triton package was compiled before its Python backend was changed, and \
            whether it holds the pass that is called.",
    args: &[
        ArgSpec { name: "package", required: false, about: "The package's folder, as the traceback names it" },
        ArgSpec { name: "function", required: false, about: "The pass that was called" },
    ],
    answers: &["older", "newer", "without_pass", "absent"],
    values: &["library", "caller", "package"],
    ask: libtriton_age,
}];

/// A libtriton has hundreds of megabytes; its names are searched in parts.
const LARGEST: u64 = 4 << 30;
const PART: u64 = 8 << 20;

fn libtriton_age(inquiry: &Inquiry<'_>) -> Answer {
    let host = inquiry.host;
    let Some(package) = inquiry.text("package").map(PathBuf::from).filter(|path| path.is_absolute()) else {
        return Answer::new(UNKNOWN, Text::new("the package is not known", "不知道是哪个包"));
    };
    let library = package.join("_C/libtriton.so");
    let shown = library.display().to_string();
    let callers = ["backends/ascend/compiler.py", "../third_party/ascend/backend/compiler.py"];
    let caller = callers.iter().map(|name| package.join(name)).find(|path| host.follow(path).is_ok());
    let (Ok(built), true) = (host.follow(&library), Elf::open(host, &library).is_ok()) else {
        let seen = Text::new(format!("`{shown}` is not there"), format!("`{shown}` 不存在"));
        return Answer::new("absent", seen);
    };
    let with = |answer: Answer| answer.with("library", shown.clone()).with("package", package.display().to_string());
    if let Some(function) = inquiry.text("function")
        && holds(host, &library, built.len, function.as_bytes()) == Some(false)
    {
        let seen = Text::new(format!("`{shown}` has no `{function}`"), format!("`{shown}` 中没有 `{function}`"));
        return with(Answer::new("without_pass", seen));
    }
    let Some((caller, changed)) = caller.and_then(|path| host.follow(&path).ok().map(|meta| (path, meta))) else {
        let seen = Text::new("the ascend backend is not found beside it", "旁边没有找到 ascend 后端");
        return Answer::new(UNKNOWN, seen);
    };
    debug_assert!(changed.kind == FileKind::File || changed.kind == FileKind::Folder);
    let caller = caller.display().to_string();
    let (word, seen) = if built.modified < changed.modified {
        (
            "older",
            Text::new(
                format!("`{shown}` is older than `{caller}`, which calls it"),
                format!("`{shown}` 早于调用它的 `{caller}`"),
            ),
        )
    } else {
        (
            "newer",
            Text::new(
                format!("`{shown}` was compiled after `{caller}` was changed"),
                format!("`{shown}` 的编译时间晚于 `{caller}` 的修改时间"),
            ),
        )
    };
    with(Answer::new(word, seen)).with("caller", caller)
}

/// Searches a file for bytes, part by part; `None` where it cannot be read whole.
fn holds(host: &dyn Host, path: &Path, len: u64, wanted: &[u8]) -> Option<bool> {
    if wanted.is_empty() || len > LARGEST {
        return None;
    }
    let mut at = 0;
    while at < len {
        // Parts overlap, so that a name on the border is seen.
        let part = host.read_at(path, at, PART.min(len - at)).ok()?;
        if memchr::memmem::find(&part, wanted).is_some() {
            return Some(true);
        }
        at += PART - wanted.len().min(4096) as u64;
    }
    Some(false)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::evidence::LocalHost;
    use crate::evidence::questions::testing::NoGit;
    use crate::os::AbsPath;
    use crate::recipe::Value;
    use std::collections::BTreeMap;
    use std::fs::{self, File};
    use std::time::{Duration, SystemTime};

    #[test]
    fn tells_old_from_new() {
        let folder = tempfile::tempdir().unwrap();
        let root = AbsPath::new(folder.path().canonicalize().unwrap()).unwrap();
        let package = root.resolve("triton").as_path().to_owned();
        fs::create_dir_all(package.join("_C")).unwrap();
        fs::create_dir_all(package.join("backends/ascend")).unwrap();
        let host = LocalHost::new(root, [], Box::new(NoGit));
        let ask = |function: &str| {
            let args = BTreeMap::from([
                ("package".to_owned(), Value::Text(package.display().to_string())),
                ("function".to_owned(), Value::Text(function.to_owned())),
            ]);
            libtriton_age(&Inquiry { args: &args, host: &host, command: None }).word
        };
        assert_eq!(ask("add_pass"), "absent");
        // Any ELF file will do: the test itself, which holds this name.
        fs::copy("/proc/self/exe", package.join("_C/libtriton.so")).unwrap();
        assert_eq!(ask("tells_old_from_new"), UNKNOWN);
        let caller = File::create(package.join("backends/ascend/compiler.py")).unwrap();
        caller.set_modified(SystemTime::now() + Duration::from_secs(60)).unwrap();
        assert_eq!(ask("tells_old_from_new"), "older");
        caller.set_modified(SystemTime::UNIX_EPOCH).unwrap();
        assert_eq!(ask("tells_old_from_new"), "newer");
        let nowhere = ["add_pass_that", "_is_nowhere"].concat();
        assert_eq!(ask(&nowhere.replace("_is", "_was")), "without_pass");
    }
}
