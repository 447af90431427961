//! Merges `-L<folder>` into the linker flags that a setup.py gives to CMake.

use crate::change::AbsPath;
use crate::change::{Change, FileImage, FileState, WriteFile};
use crate::evidence::Host;
use crate::evidence::questions::ArgSpec;
use crate::evidence::questions::setup_cmake_args::{LARGEST_SCRIPT, choose_function};
use crate::evidence::tracked_file;
use crate::formats::cmake_args::{self, Left, MergeOrder, Reason};
use crate::recipe::{Applicability, Text};

use super::{LowerError, Lowered, Order, Verb};

pub const VERB: Verb = Verb {
    name: "merge_linker_flags",
    about: "Merges `-L` folders into every -DCMAKE_{EXE,SHARED,MODULE}_LINKER_FLAGS of a setup.py's list; refuses where any part would be left to do by hand.",
    args: &[
        ArgSpec { name: "folder", required: true, about: "Folders that hold the missing libraries" },
        ArgSpec { name: "path", required: true, about: "The setup.py" },
        ArgSpec {
            name: "function",
            required: false,
            about: "Functions of the traceback, one of which may hold the list",
        },
    ],
    lower,
};

fn lower(order: &Order<'_>) -> Result<Lowered, LowerError> {
    let host = order.host;
    let path = AbsPath::new(order.require("path")?)
        .and_then(|path| AbsPath::new(host.real(path.as_path()).unwrap_or(path.as_path().to_owned())))
        .map_err(|error| LowerError(Text::new(error.to_string(), format!("路径无效：{error}"))))?;
    let before = image(host, &path)?;
    let start = written(order, &path).unwrap_or_else(|| before.bytes.clone());
    let env = |name: &str| host.env(name).and_then(|value| value.into_string().ok());
    let function = choose_function(&start, &order.list("function"));
    let mut bytes = start;
    let mut left: Vec<Left> = Vec::new();
    for folder in order.list("folder") {
        let merge = MergeOrder { folder: &folder, function: function.as_deref(), env: &env };
        let merged = cmake_args::merge(&bytes, &merge).map_err(|error| {
            LowerError(Text::new(format!("{path}: {error}"), format!("{path}：无法安全编辑（{error}）")))
        })?;
        if !merged.manual.is_empty() {
            return Err(by_hand(&path, &merged.manual));
        }
        if merged.done.is_empty() {
            return Err(LowerError(Text::new(
                format!("{path} has no list of arguments for CMake"),
                format!("{path} 中没有 CMake 参数列表"),
            )));
        }
        bytes = merged.bytes;
        left = merged.left;
    }
    let mut lowered = Lowered::default();
    if bytes == before.bytes {
        return Ok(lowered);
    }
    lowered.notes.extend(
        left.iter()
            .filter(|left| left.reason != Reason::OtherFunction || left.function.is_some())
            .map(|left| note(&path, left)),
    );
    lowered.limits.extend(tracked_file(host, &path).map(|why| (Applicability::Confirm, why)));
    let after = FileImage { bytes, mode: before.mode };
    lowered.changes.push(Change::WriteFile(WriteFile {
        path,
        before: FileState::Present(before),
        after: FileState::Present(after),
    }));
    Ok(lowered)
}

fn image(host: &dyn Host, path: &AbsPath) -> Result<FileImage, LowerError> {
    let failed = |error: std::io::Error| {
        LowerError(Text::new(format!("`{path}` cannot be read: {error}"), format!("无法读取 `{path}`：{error}")))
    };
    let bytes = host.read(path.as_path(), LARGEST_SCRIPT).map_err(failed)?;
    let mode = host.follow(path.as_path()).map_err(failed)?.mode;
    Ok(FileImage { bytes, mode })
}

/// Returns what an earlier step of the same plan writes there.
fn written(order: &Order<'_>, path: &AbsPath) -> Option<Vec<u8>> {
    order.so_far.changes.iter().rev().find_map(|change| match change {
        Change::WriteFile(WriteFile { path: other, after: FileState::Present(image), .. }) if other == path => {
            Some(image.bytes.clone())
        }
        Change::WriteFile(_) | Change::RemoveTree(_) | Change::Run(_) => None,
    })
}

fn by_hand(path: &AbsPath, manual: &[cmake_args::Manual]) -> LowerError {
    let lines = |say: fn(Reason) -> &'static str| -> Vec<String> {
        manual.iter().map(|manual| format!("{path}:{}: {}", manual.line, say(manual.reason))).collect()
    };
    LowerError(Text::new(
        format!("these places have to be edited by hand: {}", lines(Reason::en).join("; ")),
        format!("以下位置需要手工修改：{}", lines(Reason::zh).join("；")),
    ))
}

fn note(path: &AbsPath, left: &Left) -> Text {
    let place = match &left.function {
        Some(function) => format!("{path}:{} ({function})", left.line),
        None => format!("{path}:{}", left.line),
    };
    Text::new(format!("{place} is left alone: {}", left.reason.en()), format!("{place} 未改动：{}", left.reason.zh()))
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use super::*;
    use crate::evidence::{GitState, LocalHost};
    use crate::recipe::Value;

    const LIST: &str = "cmake_args = ['-GNinja']\n";

    /// Git that tracks everything.
    struct Tracked;

    impl GitState for Tracked {
        fn top_level(&self) -> Option<&AbsPath> {
            None
        }

        fn tracks(&self, _: &AbsPath) -> bool {
            true
        }
    }

    fn merge(path: &std::path::Path, so_far: &Lowered) -> Result<Lowered, LowerError> {
        let folder = AbsPath::new(path.parent().unwrap()).unwrap();
        let host = LocalHost::new(folder, [], Box::new(Tracked));
        let args = BTreeMap::from([
            ("path".to_owned(), Value::from(path.display().to_string())),
            ("folder".to_owned(), Value::from(vec!["/opt/a".to_owned(), "/opt/b".to_owned()])),
        ]);
        lower(&Order { args: &args, host: &host, command: None, so_far, evaluate: None })
    }

    fn bytes(lowered: &Lowered) -> String {
        match lowered.changes.as_slice() {
            [Change::WriteFile(WriteFile { after: FileState::Present(image), .. })] => {
                String::from_utf8(image.bytes.clone()).unwrap()
            }
            other => panic!("{other:?}"),
        }
    }

    #[test]
    fn several_folders_and_a_file_of_git() {
        let root = tempfile::tempdir().unwrap();
        let (real, link) = (root.path().join("real.py"), root.path().join("setup.py"));
        std::fs::write(&real, LIST).unwrap();
        std::os::unix::fs::symlink(&real, &link).unwrap();
        let lowered = merge(&link, &Lowered::default()).unwrap();
        assert!(bytes(&lowered).contains("'-DCMAKE_MODULE_LINKER_FLAGS=-L/opt/a -L/opt/b'"), "{}", bytes(&lowered));
        assert_eq!(lowered.limits[0].0, Applicability::Confirm);
        // The bytes stand where the link leads to.
        let Change::WriteFile(write) = &lowered.changes[0] else { panic!("{lowered:?}") };
        assert_eq!(write.path.as_path(), real.canonicalize().unwrap());

        // What an earlier step writes is the text to edit; the state before stays that of the disk.
        let mut earlier = lowered.clone();
        let Change::WriteFile(write) = &mut earlier.changes[0] else { panic!("{earlier:?}") };
        let FileState::Present(image) = &mut write.after else { panic!("{write:?}") };
        image.bytes = b"# edited\ncmake_args = []\n".to_vec();
        let second = merge(&link, &earlier).unwrap();
        assert!(bytes(&second).starts_with("# edited\n"));
    }

    #[test]
    fn a_half_edit_is_refused_with_line_and_reason() {
        let root = tempfile::tempdir().unwrap();
        let path = root.path().join("setup.py");
        for (text, want) in [
            (
                "cmake_args = ['-GNinja',\n    f'-DCMAKE_EXE_LINKER_FLAGS={x}']\n",
                "setup.py:2: the argument is an f-string",
            ),
            ("print('no list')\n", "has no list of arguments"),
        ] {
            std::fs::write(&path, text).unwrap();
            let error = merge(&path, &Lowered::default()).unwrap_err();
            assert!(error.0.en.contains(want), "{error}");
        }
        std::fs::remove_file(&path).unwrap();
        assert!(merge(&path, &Lowered::default()).unwrap_err().0.en.contains("cannot be read"));
    }
}
