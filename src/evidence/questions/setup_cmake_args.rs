//! How does the project's build script take linker flags?

use std::ffi::OsString;
use std::path::{Path, PathBuf};

use super::{Answer, ArgSpec, Inquiry, Question, UNKNOWN};
use crate::evidence::{FileKind, Host};
use crate::formats::cmake_args::{self, Effective, Inspection, Kind, MergeError, MergeOrder, Merged};
use crate::os::AbsPath;
use crate::recipe::Text;

/// The questions of this file.
pub const QUESTIONS: &[Question] = &[Question {
    name: "setup_cmake_args",
    about: "Says how the project's setup.py takes linker flags: by an environment variable, in a list that can be merged, or not.",
    args: &[
        ArgSpec { name: "path", required: false, about: "The setup.py, where the user names it" },
        ArgSpec {
            name: "hint",
            required: false,
            about: "Paths of setup.py that the log names; taken only inside the project",
        },
        ArgSpec {
            name: "function",
            required: false,
            about: "Functions of the traceback, one of which may hold the list",
        },
        ArgSpec { name: "folders", required: false, about: "Folders that `-L` shall name" },
    ],
    answers: &["merged", "append_env", "list", "manual", "none"],
    values: &["path", "env_name", "current", "kinds", "duplicate", "manual", "line"],
    ask: setup_cmake_args,
}];

/// A larger file is no build script.
pub const LARGEST_SCRIPT: u64 = 1 << 20;

fn setup_cmake_args(inquiry: &Inquiry<'_>) -> Answer {
    let host = inquiry.host;
    let Some(path) = find_script(host, inquiry.command, inquiry.text("path"), &inquiry.list("hint")) else {
        return without_script(host, inquiry.command);
    };
    let bytes = match host.read(path.as_path(), LARGEST_SCRIPT) {
        Ok(bytes) => bytes,
        Err(error) => {
            let seen = Text::new(format!("{path} cannot be read: {error}"), format!("无法读取 {path}：{error}"));
            return Answer::new(UNKNOWN, seen);
        }
    };
    let env = |name: &str| host.env(name).and_then(|value| value.into_string().ok());
    let functions = inquiry.list("function");
    let function = choose_function(&bytes, &functions);
    let folders = inquiry.list("folders");
    // Without a folder any will do to see whether the list can be edited.
    let first = folders.first().map_or("/nowhere", String::as_str);
    let order = MergeOrder { folder: first, function: function.as_deref(), env: &env };
    let inspected = cmake_args::inspect(&bytes, &order);
    let merged = cmake_args::merge(&bytes, &order);
    match (inspected, merged) {
        (Ok(inspection), Ok(merged)) => {
            let complete = !folders.is_empty() && is_complete(&bytes, &folders, function.as_deref(), &env);
            describe(host, &path, &inspection, &merged, complete)
        }
        (Err(error), _) | (_, Err(error)) => cannot(&path, &error),
    }
}

/// A project without setup.py: scikit-build-core takes arguments from CMAKE_ARGS.
fn without_script(host: &dyn Host, command: Option<&[OsString]>) -> Answer {
    let project = host.project();
    let beside = command.map(|command| from_command(command, project)).unwrap_or_default();
    let folders = beside.iter().filter_map(AbsPath::parent).chain([project.clone(), project.resolve("python")]);
    for path in folders.map(|folder| folder.resolve("pyproject.toml")) {
        let Ok(bytes) = host.read(path.as_path(), LARGEST_SCRIPT) else { continue };
        let text = String::from_utf8_lossy(&bytes);
        // Whether its own flags or the variable's come last is not for us to guess.
        if text.contains("scikit_build_core") && !text.contains("LINKER_FLAGS") {
            let seen = Text::new(
                format!("{path} builds with scikit-build-core, which takes more arguments from CMAKE_ARGS"),
                format!("{path} 使用 scikit-build-core，会从 CMAKE_ARGS 读取附加参数"),
            );
            let answer = Answer::new("append_env", seen).with("path", path.to_string()).with("env_name", "CMAKE_ARGS");
            let current = host.env("CMAKE_ARGS").and_then(|value| value.into_string().ok());
            return current.map_or(answer.clone(), |current| answer.with("current", current));
        }
    }
    Answer::new("none", Text::new("there is no setup.py here", "此处没有 setup.py"))
}

fn cannot(path: &AbsPath, error: &MergeError) -> Answer {
    let seen = Text::new(format!("{path} cannot be edited here: {error}"), format!("此处无法编辑 {path}：{error}"));
    Answer::new("manual", seen).with("path", path.to_string()).with("manual", vec![error.to_string()])
}

/// Says whether every folder is in every kind of linker flags already.
fn is_complete(bytes: &[u8], folders: &[String], function: Option<&str>, env: &dyn Fn(&str) -> Option<String>) -> bool {
    folders.iter().all(|folder| {
        let order = MergeOrder { folder, function, env };
        cmake_args::merge(bytes, &order)
            .is_ok_and(|merged| merged.manual.is_empty() && !merged.done.is_empty() && merged.bytes == bytes)
    })
}

/// Chooses the function of the traceback that has a list of its own.
pub fn choose_function(bytes: &[u8], functions: &[String]) -> Option<String> {
    let text = String::from_utf8_lossy(bytes);
    let fits = |name: &&String| {
        name.chars().all(|c| c.is_ascii_alphanumeric() || c == '_') && text.contains(&format!("def {name}("))
    };
    functions.iter().rev().find(fits).cloned()
}

fn describe(host: &dyn Host, path: &AbsPath, inspection: &Inspection, merged: &Merged, complete: bool) -> Answer {
    // What is appended comes last, so that it has to repeat what the script says: that must be known.
    let known = inspection.effective.iter().all(|effective| *effective != Effective::Unknown);
    let env_name = append_variable(host, path, inspection).filter(|_| known);
    let kinds: Vec<String> = Kind::ALL
        .iter()
        .zip(&inspection.effective)
        .filter_map(|(kind, effective)| match effective {
            Effective::Words(words) => Some(format!("{}={}", kind.variable(), words.join(" "))),
            Effective::Unknown => Some(format!("{}=?", kind.variable())),
            Effective::Unset => None,
        })
        .collect();
    let manual: Vec<String> =
        merged.manual.iter().map(|manual| format!("{path}:{}: {}", manual.line, manual.reason.en())).collect();
    let editable = manual.is_empty() && !merged.done.is_empty();
    let (word, seen) = match &env_name {
        _ if complete => {
            ("merged", Text::new(format!("{path} names the folder already"), format!("{path} 中已有该目录")))
        }
        Some(name) => (
            "append_env",
            Text::new(format!("{path} takes more arguments from {name}"), format!("{path} 会从 {name} 读取附加参数")),
        ),
        None if editable => {
            let line = inspection.line.unwrap_or(1);
            (
                "list",
                Text::new(
                    format!("{path}:{line} has a list of arguments for CMake"),
                    format!("{path}:{line} 有 CMake 参数列表"),
                ),
            )
        }
        None if manual.is_empty() => {
            ("none", Text::new(format!("{path} gives CMake no arguments"), format!("{path} 不向 CMake 传递参数")))
        }
        None => ("manual", Text::new(manual.join("; "), in_chinese(path, merged))),
    };
    let mut answer = Answer::new(word, seen).with("path", path.to_string()).with("kinds", kinds);
    if let Some(name) = env_name {
        let default = inspection.defaults.iter().find(|(known, _)| *known == name).map(|(_, value)| value.clone());
        let current = host.env(&name).and_then(|value| value.into_string().ok()).or(default);
        answer = answer.with("env_name", name);
        answer = current.map_or(answer.clone(), |current| answer.with("current", current));
    }
    if let Some(line) = inspection.dropped.first() {
        answer = answer.with("duplicate", format!("{path}:{line}"));
    }
    if !manual.is_empty() {
        answer = answer.with("manual", manual);
    }
    inspection.line.map_or(answer.clone(), |line| answer.with("line", line.to_string()))
}

fn in_chinese(path: &AbsPath, merged: &Merged) -> String {
    let lines: Vec<String> =
        merged.manual.iter().map(|manual| format!("{path}:{} {}", manual.line, manual.reason.zh())).collect();
    lines.join("；")
}

/// Returns the variable whose value the build adds to CMake's arguments.
pub fn append_variable(host: &dyn Host, path: &AbsPath, inspection: &Inspection) -> Option<String> {
    let read = |part: &str| inspection.variables.iter().find(|name| name.contains(part)).cloned();
    if let Some(name) = read("APPEND_CMAKE_ARGS").or_else(|| read("CMAKE_ARGS")) {
        return Some(name);
    }
    let folder = path.parent()?;
    let text = |name: &str| host.read(folder.resolve(name).as_path(), LARGEST_SCRIPT).unwrap_or_default();
    let has = |bytes: &[u8], words: &[&str]| {
        let text = String::from_utf8_lossy(bytes).into_owned();
        words.iter().any(|word| text.contains(word))
    };
    // scikit-build and scikit-build-core both split CMAKE_ARGS like a shell line.
    let scikit = has(&text("pyproject.toml"), &["scikit_build_core", "skbuild"])
        || has(&text("setup.py"), &["from skbuild import", "import skbuild"]);
    scikit.then(|| "CMAKE_ARGS".to_owned())
}

/// Finds the project's setup.py: what the user names, what the command builds, what the log names inside the
/// project, and the usual places.
pub fn find_script(
    host: &dyn Host,
    command: Option<&[OsString]>,
    named: Option<String>,
    hints: &[String],
) -> Option<AbsPath> {
    let project = host.project();
    let is_file = |path: &AbsPath| host.follow(path.as_path()).is_ok_and(|meta| meta.kind == FileKind::File);
    if let Some(named) = named {
        return Some(project.resolve(named)).filter(|path| is_file(path));
    }
    let top = host.git().top_level().unwrap_or(project);
    let inside = |path: &AbsPath| path.is_within(project) || path.is_within(top);
    let hinted = hints.iter().map(PathBuf::from).filter(|path| path.file_name().is_some_and(|name| name == "setup.py"));
    let mut candidates: Vec<AbsPath> = command.map(|command| from_command(command, project)).unwrap_or_default();
    candidates.extend(hinted.map(|path| project.resolve(path)).filter(inside));
    candidates.extend(["setup.py", "python/setup.py"].map(|name| project.resolve(name)));
    candidates.extend(["setup.py", "python/setup.py"].map(|name| top.resolve(name)));
    candidates.into_iter().find(is_file)
}

/// Lists the scripts that a command builds: `python setup.py …`, `pip install -e DIR`, `python -m build DIR`.
fn from_command(command: &[OsString], project: &AbsPath) -> Vec<AbsPath> {
    let words: Vec<&str> = command.iter().filter_map(|word| word.to_str()).collect();
    if let Some(script) = words.iter().find(|word| Path::new(word).file_name().is_some_and(|name| name == "setup.py")) {
        return vec![project.resolve(script)];
    }
    let builds = words.iter().position(|word| matches!(*word, "install" | "wheel" | "build" | "develop"));
    let Some(builds) = builds else { return Vec::new() };
    // `-e DIR` is an option with a value that is what we look for; `.[test]` names extras.
    let folders = words[builds + 1..].iter().map(|word| word.strip_prefix("--editable=").unwrap_or(word));
    folders
        .filter(|word| !word.starts_with('-'))
        .map(|word| word.split('[').next().unwrap_or(word))
        .map(|word| project.resolve(word).resolve("setup.py"))
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::evidence::LocalHost;
    use crate::evidence::questions::testing::NoGit;
    use crate::recipe::Value;

    const LIST: &str =
        "def build_extension(self, ext):\n    cmake_args = ['-GNinja', '-DCMAKE_EXE_LINKER_FLAGS=-fuse-ld=lld']\n";
    const ENV: &str = "    cmake_args += shlex.split(os.environ.get(\"TRITON_APPEND_CMAKE_ARGS\", \"\"))\n";

    fn ask(root: &Path, env: &[(&str, &str)], command: &[&str], args: &[(&str, Value)]) -> Answer {
        let env = env.iter().map(|(name, value)| (OsString::from(name), OsString::from(value)));
        let host = LocalHost::new(AbsPath::new(root).unwrap(), env, Box::new(NoGit));
        let args = args.iter().map(|(name, value)| ((*name).to_owned(), value.clone())).collect();
        let command: Vec<OsString> = command.iter().map(OsString::from).collect();
        setup_cmake_args(&Inquiry { args: &args, host: &host, command: (!command.is_empty()).then_some(&command) })
    }

    #[test]
    fn says_how_flags_are_taken() {
        let root = tempfile::tempdir().unwrap();
        let root = root.path();
        let folders = [("folders", Value::from("/opt/x"))];
        assert_eq!(ask(root, &[], &[], &folders).word, "none");
        for (text, word) in [
            (LIST.to_owned(), "list"),
            (format!("{LIST}{ENV}"), "append_env"),
            ("cmake_args = [f'-DCMAKE_EXE_LINKER_FLAGS={x}']\n".to_owned(), "manual"),
            ("print('hello')\n".to_owned(), "none"),
            (format!("# coding: klingon\n{LIST}"), "manual"),
            (LIST.replace("lld'", "lld -L/opt/x', '-DCMAKE_SHARED_LINKER_FLAGS=-fuse-ld=lld -L/opt/x', '-DCMAKE_MODULE_LINKER_FLAGS=-fuse-ld=lld -L/opt/x'"), "merged"),
            (format!("from skbuild import setup\n{LIST}"), "append_env"),
            // What the list sets depends on the platform: the variable would have to repeat it.
            (format!("{}{ENV}", LIST.replace("'-GNinja', ", "]\n    if linux():\n        cmake_args += [")), "list"),
        ] {
            std::fs::write(root.join("setup.py"), &text).unwrap();
            assert_eq!(ask(root, &[], &[], &folders).word, word, "{text}");
        }
    }

    #[test]
    fn the_present_value_is_the_users_or_the_scripts() {
        let root = tempfile::tempdir().unwrap();
        let root = root.path();
        let default = "os.environ.setdefault('TRITON_APPEND_CMAKE_ARGS', '-DTRITON_BUILD_UT=OFF')\n";
        let more = "def hit():\n    os.environ['TRITON_APPEND_CMAKE_ARGS'] = os.environ.get('TRITON_APPEND_CMAKE_ARGS', '') + ' -DHIT=ON'\n";
        std::fs::write(root.join("setup.py"), format!("{default}{LIST}{ENV}{more}")).unwrap();
        let current = |env: &[(&str, &str)]| ask(root, env, &[], &[]).values["current"].to_text();
        assert_eq!(current(&[]), "-DTRITON_BUILD_UT=OFF");
        assert_eq!(current(&[("TRITON_APPEND_CMAKE_ARGS", "-DX=1")]), "-DX=1");
    }

    #[test]
    fn scikit_build_core_needs_no_script() {
        let root = tempfile::tempdir().unwrap();
        let root = root.path();
        let write = |text: &str| std::fs::write(root.join("pyproject.toml"), text).unwrap();
        write("[build-system]\nbuild-backend = \"scikit_build_core.build\"\n");
        let answer = ask(root, &[("CMAKE_ARGS", "-DX=1")], &["pip", "install", "."], &[]);
        assert_eq!((answer.word, answer.values["env_name"].to_text()), ("append_env", "CMAKE_ARGS".to_owned()));
        assert_eq!(answer.values["current"].to_text(), "-DX=1");
        write(
            "[build-system]\nbuild-backend = \"scikit_build_core.build\"\n[tool.scikit-build.cmake.define]\nCMAKE_EXE_LINKER_FLAGS = \"-s\"\n",
        );
        assert_eq!(ask(root, &[], &[], &[]).word, "none");
        write("[build-system]\nbuild-backend = \"setuptools.build_meta\"\n");
        assert_eq!(ask(root, &[], &[], &[]).word, "none");
    }

    #[test]
    fn finds_the_script_that_is_built() {
        let root = tempfile::tempdir().unwrap();
        let root = root.path();
        for folder in ["", "python", "other"] {
            std::fs::create_dir_all(root.join(folder)).unwrap();
            std::fs::write(root.join(folder).join("setup.py"), LIST).unwrap();
        }
        let hint = Value::from(root.join("python/setup.py").display().to_string());
        for (command, hint, want) in [
            (&["python", "setup.py", "build_ext"][..], None, "setup.py"),
            (&["pip", "install", "-e", "./other[test]"], None, "other/setup.py"),
            (&["python3", "-m", "pip", "wheel", "--no-deps", "python"], None, "python/setup.py"),
            (&[], Some(hint), "python/setup.py"),
            // Nothing outside of the project is taken on a log's word.
            (&[], Some(Value::from("/usr/lib/python3/setup.py")), "setup.py"),
            (&["make"], None, "setup.py"),
        ] {
            let args: Vec<(&str, Value)> = hint.map(|hint| ("hint", hint)).into_iter().collect();
            let path = ask(root, &[], command, &args).values["path"].to_text();
            assert_eq!(path, root.join(want).display().to_string(), "{command:?}");
        }
    }
}
