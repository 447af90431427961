//! Builds a wheel from the project's own source for one interpreter, into a folder that is not there yet.
//!
//! Never unasked: a build runs the project's own script and may take long. What setuptools left of other builds is set
//! aside first: it packs whatever lies in `build/lib`.

use std::ffi::OsString;

use super::python_environment::{self, Program};
use super::set_aside_tree::measure;
use super::{LowerError, Lowered, Order, Verb};
use crate::change::{AbsPath, Change, EnvOverlay, RemoveTree, Reversible, Run, TreeFolder, TreeKind};
use crate::evidence::python::Interpreter;
use crate::evidence::questions::ArgSpec;
use crate::evidence::questions::python_source::Source;
use crate::evidence::{FileKind, Host, tracked_folder};
use crate::formats::wheel_name::normalise;
use crate::recipe::{Applicability, Text};

/// `build_wheel = { python = "${fit.python}", source = "${tree.path}", into = "${tree.into}", name = "${fit.name}" }`
pub const BUILD_WHEEL: Verb = Verb {
    name: "build_wheel",
    about: "Builds a wheel of the project for an interpreter, into a new folder; what it writes beside that is restorable.",
    args: &[
        ArgSpec { name: "python", required: true, about: "The interpreter to build for" },
        ArgSpec { name: "source", required: true, about: "The folder of pyproject.toml or setup.py" },
        ArgSpec { name: "into", required: true, about: "A folder that is not there yet" },
        ArgSpec { name: "name", required: true, about: "The project's name" },
    ],
    lower: build_wheel,
};

/// LLVM and the like are compiled by some builds.
const TIMEOUT_SECONDS: u64 = 6 * 3600;

fn build_wheel(order: &Order<'_>) -> Result<Lowered, LowerError> {
    let host = order.host;
    let python = python_environment::environment(order, "python")?;
    let (folder, into, name) = (order.path("source")?, order.path("into")?, normalise(&order.require("name")?));
    let source = Source::read(host, &folder).filter(|source| source.names.contains(&name)).ok_or_else(|| {
        LowerError(Text::new(
            format!("`{folder}` is not the source of `{name}`"),
            format!("`{folder}` 不是 `{name}` 的源码"),
        ))
    })?;
    if !into.is_within(&folder) || host.inspect(into.as_path()).is_ok() {
        return Err(LowerError(Text::new(format!("`{into}` is there already"), format!("`{into}` 已存在"))));
    }
    let mut lowered = Lowered::default();
    let mut writes = vec![first_missing(host, &into)];
    writes.extend(egg_infos(host, &folder, &source));
    match leavings(host, &folder.resolve("build"))? {
        Leavings::None => writes.push(folder.resolve("build")),
        // Another tool's trees may hold hours of work: they stay where they are.
        Leavings::Others => writes.push(folder.resolve("build")),
        Leavings::OfSetuptools => lowered.changes.push(Change::RemoveTree(RemoveTree {
            before: measure(host, &folder.resolve("build"))?,
            path: folder.resolve("build"),
            kind: TreeKind::Derived,
            folder: TreeFolder::Goes,
        })),
    }
    let lacks = source.lacking(host, &python);
    lowered.changes.push(Change::Run(Run {
        argv: argv(host, &python, &folder, &into, &lacks)?,
        cwd: folder.clone(),
        env: EnvOverlay::default(),
        writes,
        reversible: Reversible::Yes,
        timeout_seconds: TIMEOUT_SECONDS,
    }));
    lowered.limits.push((
        Applicability::Confirm,
        Text::new("it runs the project's own build, which may take long", "会执行项目自己的构建，可能耗时较长"),
    ));
    if !lacks.is_empty() {
        let list = lacks.join(", ");
        lowered.notes.push(Text::new(
            format!("the build fetches what it asks for and the environment lacks: {list}"),
            format!("构建会自行下载环境中缺少的依赖：{list}"),
        ));
    }
    lowered.notes.push(Text::new(
        "what the build writes into the source folder outside of `build`, `dist` and `*.egg-info` stays there",
        "构建写入源码目录中 `build`、`dist`、`*.egg-info` 之外的内容不会被撤销",
    ));
    Ok(lowered)
}

/// The folder itself, or the first above it that is missing: with it goes everything that is made for it.
fn first_missing(host: &dyn Host, path: &AbsPath) -> AbsPath {
    let mut at = path.clone();
    while let Some(parent) = at.parent() {
        if host.inspect(parent.as_path()).is_ok() {
            break;
        }
        at = parent;
    }
    at
}

/// What setuptools writes beside its `build`: here or below `src`, there already or not.
fn egg_infos(host: &dyn Host, folder: &AbsPath, source: &Source) -> Vec<AbsPath> {
    let mut all = Vec::new();
    for parent in [folder.clone(), folder.resolve("src")] {
        let Ok(names) = host.list(parent.as_path(), 20_000) else { continue };
        let own =
            |name: &str| name.strip_suffix(".egg-info").is_some_and(|stem| source.names.contains(&normalise(stem)));
        let there: Vec<AbsPath> =
            names.iter().filter(|name| name.to_str().is_some_and(own)).map(|name| parent.resolve(name)).collect();
        if there.is_empty() {
            let named =
                source.raw_names.iter().flat_map(|name| [name.replace('-', "_"), name.replace(['-', '.'], "_")]);
            all.extend(named.map(|name| parent.resolve(format!("{name}.egg-info"))));
        }
        all.extend(there);
    }
    all.sort();
    all.dedup();
    all
}

enum Leavings {
    None,
    OfSetuptools,
    Others,
}

/// Says whose the folder `build` is, by the names in it.
fn leavings(host: &dyn Host, build: &AbsPath) -> Result<Leavings, LowerError> {
    let Ok(meta) = host.inspect(build.as_path()) else { return Ok(Leavings::None) };
    if let Some(why) = tracked_folder(host, build) {
        return Err(LowerError(why));
    }
    if meta.kind != FileKind::Folder {
        return Err(LowerError(Text::new(
            format!("`{build}` is no folder of its own"),
            format!("`{build}` 不是普通目录"),
        )));
    }
    let names = host.list(build.as_path(), 10_000).unwrap_or_default();
    let of_setuptools = |name: &OsString| {
        let name = name.to_string_lossy().into_owned();
        ["lib", "temp", "bdist", "scripts"]
            .iter()
            .any(|stem| name.strip_prefix(stem).is_some_and(|rest| rest.is_empty() || rest.starts_with(['.', '-'])))
    };
    Ok(if !names.is_empty() && names.iter().all(of_setuptools) { Leavings::OfSetuptools } else { Leavings::Others })
}

/// The project's build by the first front end that is there. In the environment itself where that has all that the
/// build asks for, else in an environment that the front end makes for it.
fn argv(
    host: &dyn Host,
    python: &Interpreter,
    folder: &AbsPath,
    into: &AbsPath,
    lacks: &[String],
) -> Result<Vec<OsString>, LowerError> {
    let (executable, folder, into) = (python.executable.to_string(), folder.to_string(), into.to_string());
    let is_complete = lacks.is_empty();
    let own = |option: &'static str| is_complete.then_some(option);
    let has = |module: &str| python_environment::has_module(host, python, module);
    let words: Vec<String> = if has("build") && !has("pip") {
        [&*executable, "-I", "-m", "build", "--wheel"]
            .into_iter()
            .chain(own("--no-isolation"))
            .chain(["--outdir", &into, &folder])
            .map(str::to_owned)
            .collect()
    } else {
        match python_environment::program(host, python)? {
            Program::Pip => {
                [&*executable, "-I", "-m", "pip", "wheel", "--no-input", "--disable-pip-version-check", "--no-deps"]
                    .into_iter()
                    .chain(own("--no-build-isolation"))
                    .chain(["--wheel-dir", &into, &folder])
                    .map(str::to_owned)
                    .collect()
            }
            Program::Uv(uv) => [&*uv.to_string(), "build", "--wheel", "--python", &executable]
                .into_iter()
                .chain(own("--no-build-isolation"))
                .chain(["--out-dir", &into, &folder])
                .map(str::to_owned)
                .collect(),
        }
    };
    Ok(words.into_iter().map(OsString::from).collect())
}
