//! Makes a virtual environment at a place where nothing is, with a list of what the old one has.
//!
//! Never over a folder that is there, and never the user's choice of packages: those are listed, not installed.

use std::ffi::OsString;

use super::{LowerError, Lowered, Order, Verb};
use crate::change::{AbsPath, Change, EnvEdit, EnvOverlay, FileImage, FileState, Reversible, Run, WriteFile};
use crate::evidence::python::{Interpreter, Kind, installer};
use crate::evidence::questions::ArgSpec;
use crate::evidence::questions::python_version::{makes_environments, requirements};
use crate::recipe::Text;

/// `make_environment = { python = "${pythons.newer}", path = "${pythons.place}", old = "${pythons.python}" }`
pub const MAKE_ENVIRONMENT: Verb = Verb {
    name: "make_environment",
    about: "Makes a virtual environment where nothing is yet, and puts it first for the re-run; what the old one has is listed in it.",
    args: &[
        ArgSpec { name: "python", required: true, about: "The interpreter to make it from" },
        ArgSpec { name: "path", required: true, about: "The new folder" },
        ArgSpec { name: "old", required: false, about: "The interpreter whose packages are listed" },
    ],
    lower: make_environment,
};

const TIMEOUT_SECONDS: u64 = 600;
/// The list, in the new environment.
const LIST: &str = "requirements-of-the-old.txt";

fn make_environment(order: &Order<'_>) -> Result<Lowered, LowerError> {
    let host = order.host;
    let (program, path) = (order.path("python")?, order.path("path")?);
    let python = Interpreter::at(host, &program).filter(|python| python.kind != Kind::Virtual).ok_or_else(|| {
        LowerError(Text::new(
            format!("`{program}` is no installation of Python"),
            format!("`{program}` 不是 Python 安装"),
        ))
    })?;
    // A list in disguise on PATH would lead into other folders, and a line of its own into the list of packages.
    if path.to_string().contains([':', '\n', '\r']) || path.as_path().to_str().is_none() {
        return Err(LowerError(Text::new(format!("`{path}` cannot stand on PATH"), format!("`{path}` 不能放入 PATH"))));
    }
    if host.inspect(path.as_path()).is_ok() {
        return Err(LowerError(Text::new(format!("`{path}` is there already"), format!("`{path}` 已存在"))));
    }
    let mut lowered = Lowered::default();
    let by_venv = makes_environments(host, &python);
    let words: Vec<String> = if by_venv {
        [&*program.to_string(), "-I", "-m", "venv", &path.to_string()].map(str::to_owned).to_vec()
    } else {
        let uv = installer::helper_path(host, "uv").ok_or_else(|| {
            LowerError(Text::new(
                format!("`{program}` lacks `venv` or `ensurepip`, and there is no uv on PATH"),
                format!("`{program}` 缺少 `venv` 或 `ensurepip`，PATH 中也没有 uv"),
            ))
        })?;
        [&*uv.to_string(), "venv", "--no-project", "--offline", "--python", &program.to_string(), &path.to_string()]
            .map(str::to_owned)
            .to_vec()
    };
    lowered.changes.push(Change::Run(Run {
        argv: words.into_iter().map(OsString::from).collect(),
        cwd: host.project().clone(),
        env: EnvOverlay::default(),
        writes: vec![path.clone()],
        reversible: Reversible::Yes,
        timeout_seconds: TIMEOUT_SECONDS,
    }));
    let bin = path.resolve("bin");
    lowered.overlay.edit("VIRTUAL_ENV", EnvEdit::Set(path.to_string()));
    lowered.overlay.edit("PATH", EnvEdit::Prepend(vec![bin.to_string()]));
    lowered.advice.push(Text::new(format!("activate it: `. {bin}/activate`"), format!("激活：`. {bin}/activate`")));
    let install = if by_venv {
        format!("{path}/bin/python -m pip install -r")
    } else {
        format!("uv pip install --python {path}/bin/python -r")
    };
    list(order, &path, &install, &mut lowered);
    if let Some(command) = order.command {
        lowered.rerun_argv = rewritten(command, &bin);
    }
    Ok(lowered)
}

/// Lists the packages of the old environment in the new one.
fn list(order: &Order<'_>, path: &AbsPath, install: &str, lowered: &mut Lowered) {
    let old = order.text("old").and_then(|old| Interpreter::at(order.host, &AbsPath::new(old).ok()?));
    let Some(old) = old else { return };
    let lines = requirements(order.host, &old);
    if lines.is_empty() {
        return;
    }
    let text = format!(
        "# installed for {} ({})\n{}\n",
        old.executable.to_string().escape_debug(),
        old.version(),
        lines.join("\n")
    );
    let file = path.resolve(LIST);
    lowered.advice.push(Text::new(
        format!(
            "`{file}` lists the {} packages of the old environment; install what you need of it: \
             `{install} {file}` (compiled packages need wheels for the new version)",
            lines.len()
        ),
        format!(
            "`{file}` 列出了旧环境中的 {} 个包；按需安装：`{install} {file}`（含编译产物的包需要新版本对应的 wheel）",
            lines.len()
        ),
    ));
    let after = FileState::Present(FileImage { bytes: text.into_bytes(), mode: 0o644 });
    lowered.changes.push(Change::WriteFile(WriteFile { path: file, before: FileState::Absent, after }));
}

/// A command that names its Python by a path does not look at PATH.
fn rewritten(command: &[OsString], bin: &AbsPath) -> Option<Vec<OsString>> {
    let program = command.first()?.to_str()?;
    let name = program.rsplit('/').next().unwrap_or(program);
    if !program.contains('/') || !name.starts_with("python") {
        return None;
    }
    let own = bin.resolve("python").as_path().as_os_str().to_owned();
    Some(std::iter::once(own).chain(command.iter().skip(1).cloned()).collect())
}
