//! What the user's command builds, as far as its words tell.
//!
//! Nothing is run and no shell is imitated: a word that a shell would still expand tells nothing.

use std::ffi::OsString;

use super::Host;
use super::cmake_presets::{configure_preset, tree_of_build_preset};
use crate::os::AbsPath;

/// A build that a command does.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum BuildCommand {
    /// `cmake -S … -B …` and its older forms: makes the build tree where there is none.
    Configure(Configure),
    /// `cmake --build`, `ninja`, `make`: needs a configured build tree.
    Build { tree: AbsPath },
    /// pip, `python setup.py`, `python -m build` and their like: the build tree is the project's choice.
    Python(Python),
}

/// A configure call of CMake.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Configure {
    /// `None` where only the cache of the tree, or a preset, tells.
    pub source: Option<AbsPath>,
    /// `None` where a preset tells.
    pub tree: Option<AbsPath>,
    /// Names that it sets by `-D`, in order.
    pub defines: Vec<String>,
    pub generator: Option<String>,
}

/// A build of a Python package.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Python {
    /// Folder of the package.
    pub folder: AbsPath,
    /// `3.11`, where the program's name says so.
    pub version: Option<String>,
    /// The program as the command names it.
    pub program: String,
}

/// Returns the configure call that `command` itself is, so that arguments can be added at its end.
pub fn direct_configure(command: &[OsString], host: &dyn Host) -> Option<Configure> {
    let words = plain_words(command)?;
    match one_command(strip_wrappers(&words)?, host.project(), host)? {
        BuildCommand::Configure(configure) => Some(configure),
        BuildCommand::Build { .. } | BuildCommand::Python(_) => None,
    }
}

/// Lists the builds that `command` does; a `sh -c` line is read as far as it is plain.
pub fn recognise(command: &[OsString], host: &dyn Host) -> Vec<BuildCommand> {
    let Some(words) = plain_words(command) else { return Vec::new() };
    let Some(words) = strip_wrappers(&words) else { return Vec::new() };
    match shell_parts(words) {
        Some(parts) => shell_line(&parts, host),
        None => one_command(words, host.project(), host).into_iter().collect(),
    }
}

/// Splits the line of a `sh -c`, or nothing of another call of a shell; `None` where it is no shell.
pub(super) fn shell_parts(words: &[String]) -> Option<Vec<&str>> {
    let program = words.first().map(|word| base_name(word)).unwrap_or_default();
    if !matches!(program, "sh" | "bash" | "dash" | "zsh") {
        return None;
    }
    let line = words.iter().skip_while(|word| !is_command_option(word)).nth(1);
    let parts = line.into_iter().flat_map(|line| line.split([';', '\n', '|', '&']));
    Some(parts.map(|part| part.trim().trim_start_matches(['(', '{']).trim_end_matches([')', '}'])).collect())
}

/// Says whether a word is `-c` or a group of short options that ends in it (`-lc`, `-euxc`).
fn is_command_option(word: &str) -> bool {
    word.starts_with('-') && !word.starts_with("--") && word.ends_with('c')
}

/// Reads `cd x && cmake …; ninja` command by command.
fn shell_line(parts: &[&str], host: &dyn Host) -> Vec<BuildCommand> {
    let mut found = Vec::new();
    let mut folder = Some(host.project().clone());
    for part in parts {
        let Ok(words) = shell_words::split(part) else { continue };
        let mut words: &[String] = &words;
        while words.first().is_some_and(|word| is_assignment(word) || word == "exec") {
            words = &words[1..];
        }
        let Some(program) = words.first() else { continue };
        if matches!(program.as_str(), "cd" | "pushd") {
            let target = words.get(1).filter(|word| is_literal(word));
            folder = folder.zip(target).map(|(folder, target)| folder.resolve(target));
        } else if let Some(folder) = &folder
            && let Some(words) = strip_wrappers(words)
        {
            found.extend(one_command(words, folder, host));
        }
    }
    found
}

/// Takes a command without wrappers.
fn one_command(words: &[String], folder: &AbsPath, host: &dyn Host) -> Option<BuildCommand> {
    let (program, arguments) = words.split_first()?;
    let name = base_name(program);
    if name == "cmake" || name == "cmake3" {
        return cmake(arguments, folder, host);
    }
    if matches!(name, "ninja" | "ninja-build" | "samu" | "make" | "gmake") {
        let tree = folder_option(arguments, &["-C", "--directory"], folder)?;
        return has_cache(&tree, host).then_some(BuildCommand::Build { tree });
    }
    let (folder, version) = python(name, arguments, folder)?;
    Some(BuildCommand::Python(Python { folder, version, program: program.clone() }))
}

/// Options of a configure call that take the next word.
const CMAKE_TAKES_WORD: &[&str] =
    &["-C", "-D", "-U", "-G", "-T", "-A", "-S", "-B", "-H", "--preset", "--toolchain", "--install-prefix"];

/// Options that make it another call than configure.
const CMAKE_OTHER_CALLS: &[&str] = &["-E", "-P", "-N", "--version", "-version", "--find-package", "--workflow"];

fn cmake(arguments: &[String], folder: &AbsPath, host: &dyn Host) -> Option<BuildCommand> {
    if let Some(at) = arguments.iter().position(|word| word == "--build" || word == "--install") {
        let words = &arguments[at + 1..];
        let preset = match words {
            [option, name, ..] if option == "--preset" => Some(name.as_str()),
            [word, ..] => word.strip_prefix("--preset="),
            [] => None,
        };
        let tree = match preset {
            Some(name) => tree_of_build_preset(host, folder, name)?,
            None => folder.resolve(words.first().filter(|word| is_literal(word) && !word.starts_with('-'))?),
        };
        return Some(BuildCommand::Build { tree });
    }
    let mut configure = Configure { source: None, tree: None, defines: Vec::new(), generator: None };
    let (mut positional, mut preset) = (None, None);
    let mut words = arguments.iter();
    while let Some(word) = words.next() {
        if CMAKE_OTHER_CALLS.contains(&word.as_str()) || word.starts_with("--help") {
            return None;
        }
        let option = CMAKE_TAKES_WORD.iter().find(|option| match option.strip_prefix("--") {
            Some(_) => word == *option || word.strip_prefix(**option).is_some_and(|rest| rest.starts_with('=')),
            None => word.starts_with(**option) && !word.starts_with("--"),
        });
        let Some(option) = option else {
            if !word.starts_with('-') {
                positional = Some(word.clone());
            }
            continue;
        };
        let joined = word[option.len()..].trim_start_matches('=');
        let value = if joined.is_empty() { words.next()?.clone() } else { joined.to_owned() };
        match *option {
            "-D" => configure.defines.push(value.split([':', '=']).next().unwrap_or_default().to_owned()),
            "-G" => configure.generator = Some(value),
            "-S" | "-H" if is_literal(&value) => configure.source = Some(folder.resolve(value)),
            "-B" if is_literal(&value) => configure.tree = Some(folder.resolve(value)),
            "-S" | "-H" | "-B" => return None,
            "--preset" => preset = Some(value),
            _ => {}
        }
    }
    match positional {
        // `cmake <tree>` configures a tree that is there already, from the source in its cache.
        Some(word) => {
            let given = is_literal(&word).then(|| folder.resolve(word))?;
            if configure.tree.is_none() && configure.source.is_none() && has_cache(&given, host) {
                configure.tree = Some(given);
            } else {
                configure.source = Some(given);
            }
        }
        None if configure.source.is_none() => configure.source = Some(folder.clone()),
        None => {}
    }
    let Some(name) = preset else {
        configure.tree.get_or_insert_with(|| folder.clone());
        return Some(BuildCommand::Configure(configure));
    };
    // What the command line gives goes before the preset.
    if let Some(preset) = configure.source.as_ref().and_then(|source| configure_preset(host, source, &name)) {
        configure.tree = configure.tree.or(preset.tree);
        configure.generator = configure.generator.or(preset.generator);
        configure.defines.extend(preset.defines);
    }
    Some(BuildCommand::Configure(configure))
}

/// Takes the folder of the package and the version of Python.
fn python(name: &str, arguments: &[String], folder: &AbsPath) -> Option<(AbsPath, Option<String>)> {
    let version = |stem: &str| {
        let version = name.strip_prefix(stem)?;
        let well_formed = version.split_once('.').is_some_and(|(major, minor)| {
            [major, minor].iter().all(|part| !part.is_empty() && part.bytes().all(|b| b.is_ascii_digit()))
        });
        well_formed.then(|| version.to_owned())
    };
    let is = |stem: &str| {
        name.strip_prefix(stem).is_some_and(|rest| rest.bytes().all(|byte| byte.is_ascii_digit() || byte == b'.'))
    };
    if is("pip") {
        return pip(arguments, folder, version("pip"));
    }
    if name == "uv" {
        let arguments = if arguments.first().is_some_and(|word| word == "pip") { &arguments[1..] } else { arguments };
        return pip(arguments, folder, None);
    }
    if name == "pyproject-build" {
        return Some((positional_folder(arguments, folder)?, None));
    }
    if !is("python") {
        return None;
    }
    let at = arguments.iter().position(|word| !word.starts_with('-') || word == "-m")?;
    let rest = &arguments[at + 1..];
    if arguments[at] == "-m" {
        return match rest.first()?.as_str() {
            "pip" => pip(&rest[1..], folder, version("python")),
            "build" => Some((positional_folder(&rest[1..], folder)?, version("python"))),
            _ => None,
        };
    }
    let script = &arguments[at];
    (base_name(script) == "setup.py" && is_literal(script))
        .then(|| folder.resolve(script).parent())
        .flatten()
        .map(|folder| (folder, version("python")))
}

/// Takes the folder that `pip install [-e] <folder>` and its like build.
fn pip(arguments: &[String], folder: &AbsPath, version: Option<String>) -> Option<(AbsPath, Option<String>)> {
    let (verb, rest) = arguments.split_first()?;
    if verb == "build" || verb == "sync" {
        return Some((positional_folder(rest, folder)?, version));
    }
    if !matches!(verb.as_str(), "install" | "wheel") {
        return None;
    }
    let is_folder = |word: &str| is_literal(word) && (word.starts_with(['.', '/']) || word.ends_with('/'));
    let mut words = rest.iter().peekable();
    while let Some(word) = words.next() {
        let given = match word.as_str() {
            "-e" | "--editable" => words.next().map(String::as_str),
            _ => word.strip_prefix("--editable=").or((!word.starts_with('-')).then_some(word.as_str())),
        };
        // Extras follow the folder: `.[dev]`.
        let given = given.map(|word| word.split('[').next().unwrap_or_default());
        if let Some(given) = given.filter(|word| is_folder(word) || *word == ".") {
            return Some((folder.resolve(given), version));
        }
    }
    None
}

fn positional_folder(arguments: &[String], folder: &AbsPath) -> Option<AbsPath> {
    match arguments.iter().find(|word| !word.starts_with('-')) {
        None => Some(folder.clone()),
        Some(word) => is_literal(word).then(|| folder.resolve(word)),
    }
}

/// Takes the folder of `-C dir`, `-Cdir`, `--directory=dir`; the present folder where there is none.
pub(super) fn folder_option(arguments: &[String], options: &[&str], folder: &AbsPath) -> Option<AbsPath> {
    let mut at = folder.clone();
    let mut words = arguments.iter();
    while let Some(word) = words.next() {
        let Some(option) = options.iter().find(|option| word.starts_with(**option)) else { continue };
        let joined = word[option.len()..].trim_start_matches('=');
        let value = if joined.is_empty() { words.next()? } else { joined };
        if !is_literal(value) {
            return None;
        }
        at = at.resolve(value);
    }
    Some(at)
}

/// Takes away `env A=b`, `time`, `nice -n 5` and the like.
pub(super) fn strip_wrappers(words: &[String]) -> Option<&[String]> {
    let mut rest = words;
    loop {
        let (program, arguments) = rest.split_first()?;
        rest = match base_name(program) {
            "env" | "time" | "nohup" | "nice" | "ionice" | "stdbuf" | "setsid" | "chrt" => arguments,
            _ => return Some(rest),
        };
        while let Some(word) = rest.first() {
            // Of these options the next word is the value.
            if matches!(word.as_str(), "-u" | "--unset" | "-n" | "-c" | "-i" | "-o" | "-e" | "-f")
                && rest.len() > 1
                && !(base_name(program) == "env" && word == "-i")
            {
                rest = &rest[2..];
            } else if matches!(word.as_str(), "-C" | "--chdir" | "-S") || word.starts_with("--chdir=") {
                return None;
            } else if word.starts_with('-') || is_assignment(word) {
                rest = &rest[1..];
            } else {
                break;
            }
        }
    }
}

pub(super) fn plain_words(command: &[OsString]) -> Option<Vec<String>> {
    command.iter().map(|word| word.to_str().map(str::to_owned)).collect()
}

fn is_assignment(word: &str) -> bool {
    word.split_once('=').is_some_and(|(name, _)| {
        !name.is_empty() && name.bytes().all(|byte| byte.is_ascii_alphanumeric() || byte == b'_')
    })
}

/// Says whether no shell would expand anything in a word.
pub(super) fn is_literal(word: &str) -> bool {
    !word.is_empty() && !word.contains(['$', '`', '*', '?', '~', '\0', '\n'])
}

pub(super) fn base_name(program: &str) -> &str {
    program.rsplit('/').next().unwrap_or(program)
}

fn has_cache(folder: &AbsPath, host: &dyn Host) -> bool {
    host.follow(&folder.as_path().join("CMakeCache.txt")).is_ok()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::evidence::LocalHost;
    use crate::evidence::questions::testing::NoGit;

    /// Tells each build in one line, with `~` for the folder.
    fn read(line: &str) -> String {
        let folder = tempfile::tempdir().unwrap();
        let root = AbsPath::new(folder.path().canonicalize().unwrap()).unwrap();
        for tree in ["b", "b2"] {
            std::fs::create_dir(root.resolve(tree)).unwrap();
            std::fs::write(root.resolve(tree).as_path().join("CMakeCache.txt"), "").unwrap();
        }
        let presets = r#"{"configurePresets": [{"name": "here", "binaryDir": "p", "generator": "Ninja",
            "cacheVariables": {"P": "1"}}], "buildPresets": [{"name": "built", "configurePreset": "here"}]}"#;
        std::fs::write(root.resolve("CMakePresets.json"), presets).unwrap();
        let host = LocalHost::new(root.clone(), [], Box::new(NoGit));
        let command: Vec<OsString> = shell_words::split(line).unwrap().into_iter().map(OsString::from).collect();
        let show = |path: &AbsPath| path.to_string().replacen(&root.to_string(), "~", 1);
        let tell = |build: &BuildCommand| match build {
            BuildCommand::Configure(c) => format!(
                "configure {} in {} [{}] {}",
                c.source.as_ref().map_or("-".into(), show),
                c.tree.as_ref().map_or("-".into(), show),
                c.defines.join(" "),
                c.generator.as_deref().unwrap_or("-")
            ),
            BuildCommand::Build { tree } => format!("build {}", show(tree)),
            BuildCommand::Python(p) => format!("python {} {}", show(&p.folder), p.version.as_deref().unwrap_or("-")),
        };
        recognise(&command, &host).iter().map(tell).collect::<Vec<_>>().join("; ")
    }

    #[test]
    fn reads_commands() {
        let cases = [
            ("cmake -B new", "configure ~ in ~/new [] -"),
            ("cmake -Bb", "configure ~ in ~/b [] -"),
            ("cmake -S . -B b -G Ninja", "configure ~ in ~/b [] Ninja"),
            ("cmake -S. -Bb -GNinja -DA=1 -D B:BOOL=ON", "configure ~ in ~/b [A B] Ninja"),
            ("cmake ./src", "configure ~/src in ~ [] -"),
            ("cmake b", "configure - in ~/b [] -"),
            ("cmake --preset dev", "configure ~ in - [] -"),
            ("cmake --preset=dev -B b", "configure ~ in ~/b [] -"),
            ("cmake --preset here -DX=1", "configure ~ in ~/p [X P] Ninja"),
            ("cmake -S sub --preset here", "configure ~/sub in - [] -"),
            ("cmake --build --preset built -j4", "build ~/p"),
            ("cmake --build --preset=none", ""),
            ("cmake --build b -j4", "build ~/b"),
            ("cmake --install b", "build ~/b"),
            ("cmake --version", ""),
            ("cmake -E rm -rf b", ""),
            ("cmake -P script.cmake", ""),
            ("ninja -C b", "build ~/b"),
            ("ninja -Cb all", "build ~/b"),
            ("make --directory=b", "build ~/b"),
            ("make", ""),
            ("pip install -e .", "python ~ -"),
            ("pip3.11 install --no-build-isolation -v .[dev]", "python ~ 3.11"),
            ("/usr/bin/python3.11 -m pip wheel ./python", "python ~/python 3.11"),
            ("pip install torch", ""),
            ("python setup.py bdist_wheel", "python ~ -"),
            ("python3 -u python/setup.py develop", "python ~/python -"),
            ("python -m build --wheel", "python ~ -"),
            ("python train.py", ""),
            ("uv pip install -e .", "python ~ -"),
            ("env LC_ALL=C -u X cmake -B b", "configure ~ in ~/b [] -"),
            ("time nice -n 5 ninja -C b", "build ~/b"),
            ("env -C b cmake ..", ""),
            ("bash -c 'cmake -B new && cmake --build new'", "configure ~ in ~/new [] -; build ~/new"),
            ("bash -euxc 'cd b; cmake .. -DX=1; ninja'", "configure ~ in ~/b [X] -; build ~/b"),
            ("bash -c '(cd b && ninja)'", "build ~/b"),
            ("bash -c 'cmake -B $BUILD'", ""),
            ("bash -c 'cd $X; ninja'", ""),
            ("bash build.sh", ""),
        ];
        for (line, want) in cases {
            assert_eq!(read(line), want, "{line}");
        }
    }
}
