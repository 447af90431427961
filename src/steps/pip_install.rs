//! Installs one wheel into an environment, offline and without its dependencies.
//!
//! Never touches the system's Python, asks no index, and never renames a wheel. The user's own command is run again with
//! the wheel that fits in the place of the one that does not.

use std::ffi::OsString;

use super::python_environment::{self, Program};
use super::{LowerError, Lowered, Order, Verb};
use crate::change::{AbsPath, Change, EnvEdit, EnvOverlay, Reversible, Run};
use crate::evidence::python::installer::{self, Installer, NamedWheel, Tool};
use crate::evidence::python::tags::Supported;
use crate::evidence::python::{Interpreter, Wheel};
use crate::evidence::questions::ArgSpec;
use crate::recipe::{Applicability, Text};

/// `pip_install = { python = "${fit.python}", wheel = "${other.path}", instead_of = "${fit.path}" }`
pub const PIP_INSTALL: Verb = Verb {
    name: "pip_install",
    about: "Installs a wheel into an environment of the user's own, offline and restorable; the re-run names it as well.",
    args: &[
        ArgSpec { name: "python", required: true, about: "The environment's interpreter" },
        ArgSpec { name: "wheel", required: false, about: "The wheel" },
        ArgSpec { name: "from", required: false, about: "A folder with the one wheel that an earlier step built" },
        ArgSpec { name: "name", required: false, about: "The project's name, with `from`" },
        ArgSpec { name: "instead_of", required: false, about: "The wheel that the user's command names" },
        ArgSpec {
            name: "again",
            required: false,
            about: "`yes`: also where this version counts as installed; the command stays",
        },
    ],
    lower: pip_install,
};

/// A wheel of some gigabytes takes its time.
const TIMEOUT_SECONDS: u64 = 3600;

fn pip_install(order: &Order<'_>) -> Result<Lowered, LowerError> {
    let host = order.host;
    let python = python_environment::environment(order, "python")?;
    let program = python_environment::program(host, &python)?;
    let what = What::read(order, &python)?;
    let again = order.text("again").is_some_and(|again| again == "yes");
    let mut lowered = Lowered::default();
    if let What::Wheel(wheel) = &what {
        lowered.limits.extend(older(order, wheel));
    }
    lowered.changes.push(Change::Run(Run {
        argv: argv(&python, &program, &what, again),
        cwd: host.project().clone(),
        env: environment(),
        writes: python_environment::writes(host, &python, what.data()),
        reversible: Reversible::Yes,
        timeout_seconds: TIMEOUT_SECONDS,
    }));
    match order.command {
        // What is installed anew is not what the command is about.
        Some(_) if again => {}
        Some(command) => lowered.rerun_argv = Some(rewritten(order, command, &python, &what)?),
        None => lowered.advice.push(Text::new(
            format!("dependencies are not installed by this: see `{} -m pip check`", python.executable),
            format!("此步骤不安装依赖：请用 `{} -m pip check` 查看", python.executable),
        )),
    }
    Ok(lowered)
}

/// What is installed.
enum What {
    Wheel(Wheel),
    /// The wheel that an earlier step of the plan builds.
    Built {
        folder: AbsPath,
        name: String,
    },
}

impl What {
    fn read(order: &Order<'_>, python: &Interpreter) -> Result<Self, LowerError> {
        if let Some(folder) = order.text("from") {
            let folder =
                AbsPath::new(folder).map_err(|error| LowerError(Text::new(error.to_string(), error.to_string())))?;
            let built = order.so_far.changes.iter().flat_map(Change::touches).any(|path| folder.is_within(path));
            if !built {
                return Err(LowerError(Text::new(
                    format!("no earlier step fills `{folder}`"),
                    format!("前面的步骤不会生成 `{folder}`"),
                )));
            }
            return Ok(What::Built { folder, name: order.require("name")? });
        }
        let path = order.path("wheel")?;
        let refused = |en: &str, zh: &str| LowerError(Text::new(format!("`{path}`: {en}"), format!("`{path}`：{zh}")));
        let wheel =
            Wheel::read(order.host, &path).map_err(|broken| refused(&broken.to_string(), &broken.to_string()))?;
        let fits = Supported::by(python).is_some_and(|supported| supported.fit(&wheel.file.tags).is_ok());
        if !fits || wheel.is_renamed() || wheel.allows(&python.version()) != Some(true) {
            return Err(refused("it does not fit this interpreter", "与该解释器不符"));
        }
        Ok(What::Wheel(wheel))
    }

    fn data(&self) -> &[String] {
        match self {
            What::Wheel(wheel) => &wheel.data,
            What::Built { .. } => &[],
        }
    }
}

/// A wheel that is older than the one that the user built or fetched may lack what is new.
fn older(order: &Order<'_>, wheel: &Wheel) -> Option<(Applicability, Text)> {
    let modified = |path: &AbsPath| order.host.follow(path.as_path()).ok().map(|meta| meta.modified);
    let named = order.text("instead_of").and_then(|path| AbsPath::new(path).ok())?;
    (modified(&wheel.path)? < modified(&named)?).then(|| {
        let path = &wheel.path;
        let why = Text::new(
            format!("`{path}` is older than the wheel that was to be installed"),
            format!("`{path}` 比原本要安装的 wheel 更旧"),
        );
        (Applicability::Confirm, why)
    })
}

fn argv(python: &Interpreter, program: &Program, what: &What, again: bool) -> Vec<OsString> {
    let executable = python.executable.to_string();
    let mut words: Vec<String> = match program {
        // `-I`: neither the folder it runs in nor PYTHONPATH may bring another pip.
        Program::Pip => [
            &*executable,
            "-I",
            "-m",
            "pip",
            "install",
            "--isolated",
            "--no-input",
            "--disable-pip-version-check",
            "--no-deps",
            "--no-index",
        ]
        .map(str::to_owned)
        .to_vec(),
        Program::Uv(uv) => {
            let uv = uv.to_string();
            [&*uv, "pip", "install", "--python", &executable, "--no-config", "--offline", "--no-deps", "--no-index"]
                .map(str::to_owned)
                .to_vec()
        }
    };
    // Of what was just built the version may be the one that is installed: it is to take its place.
    if again || matches!(what, What::Built { .. }) {
        let option = match program {
            Program::Pip => "--force-reinstall",
            Program::Uv(_) => "--reinstall",
        };
        words.push(option.to_owned());
    }
    match what {
        What::Wheel(wheel) => words.push(wheel.path.to_string()),
        What::Built { folder, name } => words.extend(["--find-links".to_owned(), folder.to_string(), name.clone()]),
    }
    words.into_iter().map(OsString::from).collect()
}

/// Settings of the user's own may name other folders of wheels, or another place to install to.
fn environment() -> EnvOverlay {
    let mut env = EnvOverlay::default();
    env.edit("PIP_CONFIG_FILE", EnvEdit::Set("/dev/null".to_owned()));
    env
}

/// Puts what fits into the user's command; refuses where that is not the same command but for the wheel.
fn rewritten(
    order: &Order<'_>,
    command: &[OsString],
    python: &Interpreter,
    what: &What,
) -> Result<Vec<OsString>, LowerError> {
    let cannot = || {
        let name = match what {
            What::Wheel(wheel) => wheel.path.to_string(),
            What::Built { folder, .. } => folder.to_string(),
        };
        LowerError(Text::new(
            format!("the command names the wheel itself and cannot be rewritten; let it take `{name}` instead"),
            format!("该命令自行指定了 wheel，无法代为改写；请让它改用 `{name}`"),
        ))
    };
    let installer = installer::direct(order.host, command).filter(Installer::installs).ok_or_else(cannot)?;
    let unfit = order.path("instead_of")?;
    let wheels = installer.wheels(order.host);
    let mut named = wheels.iter().filter(|wheel| wheel.path == unfit);
    let (Some(named), None) = (named.next(), named.next()) else { return Err(cannot()) };
    let same_python = installer.python.as_ref().is_some_and(|own| own.executable == python.executable);
    let mut words = installer.words.clone();
    match what {
        What::Wheel(wheel) if wheel.path == unfit => {}
        What::Wheel(wheel) => words[named.at] = format!("{}{}", wheel.path, named.extras),
        What::Built { name, .. } => words = by_name(&installer, named, name).ok_or_else(cannot)?,
    }
    if !same_python {
        words = with_python(order, &installer, words, python).ok_or_else(cannot)?;
    }
    Ok(words.into_iter().map(OsString::from).collect())
}

/// Names the project in the place of the file: it is installed by then, and only its dependencies are looked for. What
/// would fetch another copy is left out.
fn by_name(installer: &Installer, named: &NamedWheel, name: &str) -> Option<Vec<String>> {
    const AGAIN: &[&str] = &["--force-reinstall", "--ignore-installed", "--upgrade", "--reinstall", "--refresh"];
    let mut words = Vec::new();
    for (at, word) in installer.words.iter().enumerate() {
        if at <= installer.verb {
            words.push(word.clone());
        } else if at == named.at {
            words.push(format!("{name}{}", named.extras));
        } else if word.starts_with("--") {
            let again = word.len() > 4 && AGAIN.iter().any(|option| option.starts_with(word.as_str()));
            words.extend((!again).then(|| word.clone()));
        } else if matches!(word.as_str(), "-U" | "-I") {
        } else if word.starts_with('-') && word.contains(['U', 'I']) {
            return None;
        } else {
            words.push(word.clone());
        }
    }
    Some(words)
}

/// Lets another interpreter's pip do the same.
fn with_python(
    order: &Order<'_>,
    installer: &Installer,
    mut words: Vec<String>,
    python: &Interpreter,
) -> Option<Vec<String>> {
    let executable = python.executable.to_string();
    match installer.tool {
        Tool::Pip if python_environment::has_module(order.host, python, "pip") => {
            let own = [&*executable, "-m", "pip"].map(str::to_owned);
            words.splice(installer.program..installer.verb, own);
        }
        Tool::Pip => return None,
        Tool::Uv => {
            words.splice(installer.verb + 1..installer.verb + 1, ["--python".to_owned(), executable]);
        }
    }
    Some(words)
}
