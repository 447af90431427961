//! Gives a build more linker flags by the environment variable that its setup.py appends to CMake's arguments.
//!
//! What is appended comes last, and CMake takes the last `-D` of a name: the value must hold what setup.py itself
//! says, a `-fuse-ld=lld` for example.

use crate::change::EnvEdit;
use crate::evidence::questions::ArgSpec;
use crate::evidence::questions::setup_cmake_args::{LARGEST_SCRIPT, choose_function};
use crate::formats::cmake_args::{self, Effective, Inspection, Kind, MergeOrder};
use crate::recipe::Text;

use super::{LowerError, Lowered, Order, Verb};

pub const VERB: Verb = Verb {
    name: "append_linker_flags_env",
    about: "Adds `-L` folders to all three kinds of linker flags by TRITON_APPEND_CMAKE_ARGS or its like, keeping its value and what setup.py sets.",
    args: &[
        ArgSpec { name: "folder", required: true, about: "Folders that hold the missing libraries" },
        ArgSpec { name: "name", required: false, about: "The variable; TRITON_APPEND_CMAKE_ARGS when absent" },
        ArgSpec { name: "path", required: false, about: "The setup.py, whose own linker flags are kept" },
        ArgSpec {
            name: "function",
            required: false,
            about: "Functions of the traceback, one of which may hold the list",
        },
    ],
    lower,
};

fn lower(order: &Order<'_>) -> Result<Lowered, LowerError> {
    let name = order.text("name").unwrap_or_else(|| "TRITON_APPEND_CMAKE_ARGS".to_owned());
    let folders = order.list("folder");
    if folders.is_empty() || folders.iter().any(|folder| !is_plain(folder)) {
        let list = folders.join(", ");
        return Err(LowerError(Text::new(
            format!("`{list}` cannot stand in linker flags"),
            format!("`{list}` 不能直接写入链接参数"),
        )));
    }
    // A pyproject.toml is named as well, and holds no list.
    let script = order.text("path").filter(|path| path.ends_with(".py"));
    let inspection = script.map(|path| inspect(order, &path, &folders[0])).transpose()?;
    let effective = inspection.as_ref().map_or_else(
        || [Effective::Unset, Effective::Unset, Effective::Unset],
        |inspection| inspection.effective.clone(),
    );
    let value =
        appended(&current(order, &name, inspection.as_ref()), &effective, &folders).map_err(|reason| match reason {
            Refusal::Unreadable => LowerError(Text::new(
                format!("the present value of {name} is no list of arguments"),
                format!("{name} 的现有取值不是合法的参数列表"),
            )),
            Refusal::Undecided(kind) => LowerError(Text::new(
                format!(
                    "what setup.py gives to {} depends on more than the environment; `--set how=patch` edits it there",
                    kind.variable()
                ),
                format!("setup.py 传给 {} 的取值不仅取决于环境变量；可用 `--set how=patch` 直接修改", kind.variable()),
            )),
        })?;
    let mut lowered = Lowered::default();
    lowered.overlay.edit(name, EnvEdit::Set(value));
    Ok(lowered)
}

fn is_plain(folder: &str) -> bool {
    folder.starts_with('/') && folder.chars().all(|c| c.is_ascii_alphanumeric() || "/._+-@,:~".contains(c))
}

fn inspect(order: &Order<'_>, path: &str, folder: &str) -> Result<Inspection, LowerError> {
    let failed = |error: String| {
        LowerError(Text::new(format!("`{path}` cannot be read: {error}"), format!("无法读取 `{path}`：{error}")))
    };
    let host = order.host;
    let bytes = host.read(std::path::Path::new(path), LARGEST_SCRIPT).map_err(|error| failed(error.to_string()))?;
    let function = choose_function(&bytes, &order.list("function"));
    let env = |name: &str| {
        let now = host.env(name);
        order.so_far.overlay.value(name, now.as_deref()).and_then(|value| value.into_string().ok())
    };
    let merge = MergeOrder { folder, function: function.as_deref(), env: &env };
    cmake_args::inspect(&bytes, &merge).map_err(|error| failed(error.to_string()))
}

/// Returns the value that the variable has: the plan's, the user's, or the default that setup.py would give it.
fn current(order: &Order<'_>, name: &str, inspection: Option<&Inspection>) -> String {
    let now = order.host.env(name);
    let set = order.so_far.overlay.value(name, now.as_deref()).map(|value| value.to_string_lossy().into_owned());
    let default = || inspection?.defaults.iter().find(|(known, _)| known == name).map(|(_, value)| value.clone());
    set.or_else(default).unwrap_or_default()
}

#[derive(Debug, PartialEq, Eq)]
enum Refusal {
    Unreadable,
    Undecided(Kind),
}

/// Returns the value with all three kinds of linker flags at its end.
fn appended(current: &str, script: &[Effective; 3], folders: &[String]) -> Result<String, Refusal> {
    let mut arguments = shell_words::split(current).map_err(|_| Refusal::Unreadable)?;
    let mut given: [Option<Vec<String>>; 3] = [None, None, None];
    for (kind, given) in Kind::ALL.into_iter().zip(&mut given) {
        let value = |argument: &String| {
            let rest = argument.strip_prefix("-D")?.strip_prefix(kind.variable())?;
            let (typed, value) = rest.split_once('=')?;
            (typed.is_empty() || typed.starts_with(':'))
                .then(|| value.split_whitespace().map(str::to_owned).collect::<Vec<_>>())
        };
        // The last one counts.
        *given = arguments.iter().rev().find_map(value);
        arguments.retain(|argument| value(argument).is_none());
    }
    let linker = |words: &[String]| words.iter().rev().find(|word| word.starts_with("-fuse-ld=")).cloned();
    let scripted = |effective: &Effective| match effective {
        Effective::Words(words) => linker(words),
        Effective::Unset | Effective::Unknown => None,
    };
    let common =
        given.iter().flatten().rev().find_map(|words| linker(words)).or_else(|| script.iter().rev().find_map(scripted));
    for (index, kind) in Kind::ALL.into_iter().enumerate() {
        let mut words = match (&given[index], &script[index]) {
            (Some(words), _) => words.clone(),
            (None, Effective::Words(words)) => words.clone(),
            (None, Effective::Unset) => Vec::new(),
            (None, Effective::Unknown) => return Err(Refusal::Undecided(kind)),
        };
        if let Some(common) = common.clone().filter(|_| linker(&words).is_none()) {
            words.insert(0, common);
        }
        for folder in folders {
            let flag = format!("-L{folder}");
            if !words.contains(&flag) {
                words.push(flag);
            }
        }
        arguments.push(format!("-D{}={}", kind.variable(), words.join(" ")));
    }
    Ok(shell_words::join(arguments))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_value_keeps_what_was_said() {
        let unset = || [Effective::Unset, Effective::Unset, Effective::Unset];
        let words = |text: &str| Effective::Words(text.split_whitespace().map(str::to_owned).collect());
        let lld = || [words("-fuse-ld=lld"), words("-fuse-ld=lld"), words("-fuse-ld=lld")];
        let flags = |exe: &str, shared: &str, module: &str| {
            format!(
                "'-DCMAKE_EXE_LINKER_FLAGS={exe}' '-DCMAKE_SHARED_LINKER_FLAGS={shared}' '-DCMAKE_MODULE_LINKER_FLAGS={module}'"
            )
        };
        let plain = flags("-L/x", "-L/x", "-L/x");
        let merged = "-fuse-ld=lld -L/x";
        for (current, script, want) in [
            ("", unset(), Ok(plain.clone())),
            ("", lld(), Ok(flags(merged, merged, merged))),
            ("-DTRITON_BUILD_UT=OFF", unset(), Ok(format!("'-DTRITON_BUILD_UT=OFF' {plain}"))),
            // What the FAQ tells to append drops the linker for two kinds; the merge heals it.
            (
                "-DCMAKE_EXE_LINKER_FLAGS=-L/x -DCMAKE_SHARED_LINKER_FLAGS=-L/x",
                lld(),
                Ok(flags(merged, merged, merged)),
            ),
            (
                "-DCMAKE_EXE_LINKER_FLAGS:STRING='-s -fuse-ld=mold'",
                unset(),
                Ok(flags("-s -fuse-ld=mold -L/x", "-fuse-ld=mold -L/x", "-fuse-ld=mold -L/x")),
            ),
            ("-DX='unclosed", unset(), Err(Refusal::Unreadable)),
            ("", [words("-s"), Effective::Unknown, Effective::Unset], Err(Refusal::Undecided(Kind::Shared))),
        ] {
            let value = appended(current, &script, &["/x".to_owned()]);
            assert_eq!(value, want, "{current}");
            // Applying twice changes nothing.
            if let Ok(value) = value {
                assert_eq!(appended(&value, &script, &["/x".to_owned()]).as_deref(), Ok(value.as_str()));
            }
        }
    }
}
