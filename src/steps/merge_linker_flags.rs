//! Merges `-L<folder>` into the linker flags that a setup.py gives to CMake.

use crate::change::{Change, FileImage, FileState, WriteFile};
use crate::evidence::Host;
use crate::evidence::questions::ArgSpec;
use crate::evidence::questions::setup_cmake_args::{LARGEST_SCRIPT, choose_function};
use crate::formats::cmake_args::{self, Left, MergeOrder, Reason};
use crate::os::AbsPath;
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
    if host.git().tracks(&path) {
        lowered.limits.push((
            Applicability::Confirm,
            Text::new(format!("{path} is tracked by git"), format!("{path} 由 git 跟踪")),
        ));
    }
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
