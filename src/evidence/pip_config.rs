//! pip's effective configuration, as pip itself would find it, without starting pip.
//!
//! Files from the weakest: global (`$XDG_CONFIG_DIRS/pip/pip.conf`, `/etc/pip.conf`), user (`~/.pip/pip.conf`, then
//! `~/.config/pip/pip.conf`), the environment's own, `$PIP_CONFIG_FILE`. Above any file's `[global]` stands any file's
//! section of the command, above both the `PIP_*` variables, above all the command line. A value replaces another
//! whole: lists are never merged, but by options of the command line.

use std::collections::BTreeMap;
use std::ffi::OsString;
use std::path::{Path, PathBuf};

use super::build_command::{base_name, plain_words, shell_parts, strip_wrappers};
use super::python::installer::program_path;
use super::{FileKind, Host};
use crate::formats::ini::{Ini, Reason, Refusal};
use crate::os::AbsPath;

/// No configuration of a person comes near it.
const LIMIT: u64 = 4 << 20;

/// What pip would use.
#[derive(Debug, Clone)]
pub struct PipConfig {
    /// The files that pip looks into, from the weakest, whether they are there or not.
    pub files: Vec<AbsPath>,
    /// The file that a repair may add to where nothing says more.
    pub user_file: Option<AbsPath>,
    /// The command that pip runs: `install`.
    pub command: String,
    /// Every setting that counts, from the weakest.
    settings: Vec<Setting>,
}

/// A value that somebody gave to an option.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Setting {
    /// The long option without its dashes: `index-url`.
    pub option: String,
    pub value: String,
    pub origin: Origin,
}

/// Who gave it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Origin {
    File {
        path: AbsPath,
        /// 1-based.
        line: usize,
        section: String,
        /// The option as the file spells it, in lower case.
        key: String,
    },
    Variable(String),
    CommandLine,
}

/// A file that pip would stop at, as each of its commands does.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Unread {
    pub path: AbsPath,
    pub line: usize,
    /// `None`: the file is there and cannot be read.
    pub reason: Option<Reason>,
}

/// An index that pip asks, in its order.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Index {
    pub url: String,
    pub option: &'static str,
    /// `None`: nobody gave it, it is pip's own default.
    pub origin: Option<Origin>,
}

/// What pip asks when nobody says otherwise.
pub const DEFAULT_INDEX: &str = "https://pypi.org/simple";

impl PipConfig {
    /// Reads what the pip of `command` would read; without a command, what `pip install` would.
    pub fn read(host: &dyn Host, command: Option<&[OsString]>) -> Result<Self, Unread> {
        let call = command.map(|command| Call::of(command, host)).unwrap_or_default();
        let user_files = user_files(host);
        let variable = host.env("PIP_CONFIG_FILE");
        let named = variable.as_ref().filter(|value| !value.is_empty()).map(|value| host.project().resolve(value));
        let mut files = Vec::new();
        if variable.as_deref().is_none_or(|value| value != "/dev/null") {
            files.extend(global_files(host));
            let replaced = named.as_ref().is_some_and(|path| host.follow(path.as_path()).is_ok());
            if !call.isolated && !replaced {
                files.extend(user_files.iter().cloned());
            }
            files.extend(prefix(host, &call).map(|prefix| prefix.resolve("pip.conf")));
            files.extend(named.clone());
        }
        let command = call.command.clone().unwrap_or_else(|| "install".to_owned());
        // By section and option: a stronger file's value takes the place of a weaker one's, even when it is empty.
        let mut by_section: BTreeMap<(bool, String), Setting> = BTreeMap::new();
        for path in &files {
            for (is_command, setting) in file_settings(host, path, &command)? {
                by_section.insert((is_command, setting.option.clone()), setting);
            }
        }
        // `[global]` first, then the command's own.
        let mut settings: Vec<Setting> = by_section.into_values().collect();
        if !call.isolated {
            settings.extend(variables(host));
        }
        settings.retain(|setting| !setting.value.is_empty());
        settings.extend(call.options);
        let user_file = match &named {
            // What stands in the user's own files is not read then.
            Some(named) if files.contains(named) => Some(named.clone()),
            _ => {
                let there = |path: &&AbsPath| host.follow(path.as_path()).is_ok();
                user_files.iter().rev().find(there).or(user_files.last()).filter(|path| files.contains(path)).cloned()
            }
        };
        Ok(Self { files, user_file, command, settings })
    }

    /// Lists what is said about an option, from the weakest.
    pub fn all<'s, 'o>(&'s self, option: &'o str) -> impl DoubleEndedIterator<Item = &'s Setting> + use<'s, 'o> {
        self.settings.iter().filter(move |setting| setting.option == option)
    }

    /// Returns the setting that wins over the other ones of its option.
    pub fn winning(&self, option: &str) -> Option<&Setting> {
        self.all(option).next_back()
    }

    /// Lists the words of a list option, each with who gave it: the command line adds to what else wins.
    pub fn list(&self, option: &str) -> Vec<(String, Origin)> {
        let given = self.all(option).filter(|setting| setting.origin == Origin::CommandLine);
        let winning = self.all(option).rfind(|setting| setting.origin != Origin::CommandLine);
        let words = |setting: &Setting| {
            let words = setting.value.split_whitespace().map(|word| (word.to_owned(), setting.origin.clone()));
            words.collect::<Vec<_>>()
        };
        winning.into_iter().chain(given).flat_map(words).collect()
    }

    /// Lists the indexes that pip asks.
    pub fn indexes(&self) -> Vec<Index> {
        if self.winning("no-index").is_some_and(|setting| is_true(&setting.value)) {
            return Vec::new();
        }
        let first = match self.winning("index-url") {
            Some(setting) => {
                Index { url: setting.value.clone(), option: "index-url", origin: Some(setting.origin.clone()) }
            }
            None => Index { url: DEFAULT_INDEX.to_owned(), option: "index-url", origin: None },
        };
        let more = self.list("extra-index-url").into_iter();
        let more = more.map(|(url, origin)| Index { url, option: "extra-index-url", origin: Some(origin) });
        std::iter::once(first).chain(more).collect()
    }
}

/// Reads a boolean as pip does.
fn is_true(value: &str) -> bool {
    matches!(value.to_ascii_lowercase().as_str(), "y" | "yes" | "t" | "true" | "on" | "1")
}

/// Makes a name the same wherever it comes from.
fn option_name(name: &str) -> String {
    let name = name.to_lowercase().replace('_', "-");
    let name = name.strip_prefix("--").unwrap_or(&name);
    // pip's other name of it.
    if name == "pypi-url" { "index-url".to_owned() } else { name.to_owned() }
}

/// Reads the settings of a file that count for a command; `true` where they are the command's own.
fn file_settings(host: &dyn Host, path: &AbsPath, command: &str) -> Result<Vec<(bool, Setting)>, Unread> {
    // pip asks whether it exists, and opens it; a folder is no file, and is passed over by Python.
    match host.follow(path.as_path()) {
        Ok(meta) if meta.kind == FileKind::File => {}
        Ok(_) | Err(_) => return Ok(Vec::new()),
    }
    let unread = |line, reason| Unread { path: path.clone(), line, reason };
    let bytes = host.read(path.as_path(), LIMIT).map_err(|_| unread(1, None))?;
    let ini = Ini::parse(&bytes).map_err(|Refusal { line, reason }| unread(line, Some(reason)))?;
    let defaults = ini.section("DEFAULT");
    let mut settings = Vec::new();
    for section in ini.sections().iter().filter(|section| section.name == "global" || section.name == command) {
        let own: Vec<_> = section.settings.iter().map(|setting| (section, setting)).collect();
        let inherited = defaults.into_iter().flat_map(|defaults| defaults.settings.iter().map(move |s| (defaults, s)));
        let inherited = inherited.filter(|(_, setting)| own.iter().all(|(_, other)| other.key != setting.key));
        let mut seen = BTreeMap::new();
        for (stands_in, setting) in inherited.chain(own.iter().copied()) {
            let option = option_name(&setting.key);
            // `index_url` beside `index-url`: current pip stops there, older ones take the last.
            if seen.insert(setting.key.replace('_', "-"), setting.line()).is_some() {
                return Err(unread(setting.line(), Some(Reason::OptionTwice)));
            }
            let origin = Origin::File {
                path: path.clone(),
                line: setting.line(),
                section: stands_in.name.clone(),
                key: setting.key.clone(),
            };
            settings.push((section.name == command, Setting { option, value: setting.value.clone(), origin }));
        }
    }
    Ok(settings)
}

fn variables(host: &dyn Host) -> Vec<Setting> {
    let names = host.env_names().into_iter().filter_map(|name| name.into_string().ok());
    let settings = names.filter_map(|name| {
        let option = option_name(name.strip_prefix("PIP_")?);
        let value = host.env(&name)?.into_string().ok()?;
        (option != "version" && option != "help").then_some(Setting { option, value, origin: Origin::Variable(name) })
    });
    settings.collect()
}

fn global_files(host: &dyn Host) -> Vec<AbsPath> {
    let dirs = host.env("XDG_CONFIG_DIRS").filter(|dirs| !dirs.to_string_lossy().trim().is_empty());
    let dirs = dirs.unwrap_or_else(|| "/etc/xdg".into());
    let mut files: Vec<AbsPath> =
        std::env::split_paths(&dirs).filter_map(|dir| AbsPath::new(dir.join("pip/pip.conf")).ok()).collect();
    files.extend(AbsPath::new("/etc/pip.conf"));
    files
}

fn user_files(host: &dyn Host) -> Vec<AbsPath> {
    let Some(home) = host.home() else { return Vec::new() };
    let config = host.env("XDG_CONFIG_HOME").filter(|config| !config.to_string_lossy().trim().is_empty());
    let config = config.map_or_else(|| home.resolve(".config"), |config| host.project().resolve(config));
    vec![home.resolve(".pip/pip.conf"), config.resolve("pip/pip.conf")]
}

/// How a command calls pip.
#[derive(Debug, Default)]
struct Call {
    /// The program as the command names it.
    program: Option<String>,
    command: Option<String>,
    isolated: bool,
    options: Vec<Setting>,
}

/// Options of pip that say where packages come from, with their short names.
const OPTIONS: &[(&str, &[&str])] = &[
    ("index-url", &["--index-url", "--pypi-url", "-i"]),
    ("extra-index-url", &["--extra-index-url"]),
    ("find-links", &["--find-links", "-f"]),
    ("trusted-host", &["--trusted-host"]),
];

/// Options of pip itself that take the next word, before its command.
const TAKE_WORD: &[&str] = &[
    "--proxy",
    "--timeout",
    "--retries",
    "--cert",
    "--client-cert",
    "--cache-dir",
    "--log",
    "--python",
    "--exists-action",
];

impl Call {
    fn of(command: &[OsString], host: &dyn Host) -> Self {
        let Some(words) = plain_words(command) else { return Self::default() };
        let Some(words) = strip_wrappers(&words) else { return Self::default() };
        let Some(parts) = shell_parts(words) else { return Self::of_words(words, host).unwrap_or_default() };
        let calls = parts.iter().filter_map(|part| {
            let words = shell_words::split(part).ok()?;
            Self::of_words(strip_wrappers(&words)?, host)
        });
        calls.last().unwrap_or_default()
    }

    fn of_words(words: &[String], host: &dyn Host) -> Option<Self> {
        let (program, mut rest) = words.split_first()?;
        let is = |word: &str, name: &str| {
            let version = word.strip_prefix(name);
            version.is_some_and(|version| version.bytes().all(|byte| byte.is_ascii_digit() || byte == b'.'))
        };
        let name = base_name(program);
        if is(name, "python") {
            let at = rest.windows(2).position(|pair| pair[0] == "-m" && pair[1] == "pip")?;
            rest = &rest[at + 2..];
        } else if !is(name, "pip") {
            return None;
        }
        let mut call = Self { program: Some(program.clone()), ..Self::default() };
        let mut words = rest.iter();
        while let Some(word) = words.next() {
            let (name, joined) = match word.split_once('=') {
                Some((name, value)) if word.starts_with("--") => (name, Some(value.to_owned())),
                _ => (word.as_str(), None),
            };
            if name == "--isolated" {
                call.isolated = true;
            } else if name == "--no-index" {
                call.options.push(given("no-index", "1"));
            } else if let Some((option, _)) = OPTIONS.iter().find(|(_, names)| names.contains(&name)) {
                let value = joined.or_else(|| words.next().cloned()).unwrap_or_default();
                call.options.push(given(option, &value));
            } else if let Some((option, value)) = short(word) {
                call.options.push(given(option, value));
            } else if TAKE_WORD.contains(&name) && joined.is_none() {
                words.next();
            } else if !word.starts_with('-') && call.command.is_none() {
                call.command = Some(word.clone());
            } else if let Some(file) = requirements(word, joined.as_deref(), &mut words) {
                call.options.extend(requirement_options(host, &file));
            }
        }
        Some(call)
    }
}

fn given(option: &str, value: &str) -> Setting {
    Setting { option: option.to_owned(), value: value.to_owned(), origin: Origin::CommandLine }
}

/// Takes `-ihttps://…` apart.
fn short(word: &str) -> Option<(&'static str, &str)> {
    let names = OPTIONS.iter().flat_map(|(option, names)| names.iter().map(move |name| (*option, *name)));
    let mut shorts = names.filter(|(_, name)| name.len() == 2);
    shorts.find_map(|(option, name)| Some((option, word.strip_prefix(name).filter(|value| !value.is_empty())?)))
}

/// Takes the file of `-r file`.
fn requirements<'w>(word: &str, joined: Option<&str>, words: &mut impl Iterator<Item = &'w String>) -> Option<String> {
    match word {
        "-r" | "--requirement" | "-c" | "--constraint" => words.next().cloned(),
        _ if word.starts_with("--requirement=") => joined.map(str::to_owned),
        _ => word.strip_prefix("-r").filter(|file| !file.is_empty() && !word.starts_with("--")).map(str::to_owned),
    }
}

/// Reads the options that a requirements file gives, which count as the command's own.
fn requirement_options(host: &dyn Host, file: &str) -> Vec<Setting> {
    let bytes = host.read(host.project().resolve(file).as_path(), LIMIT).unwrap_or_default();
    let text = String::from_utf8_lossy(&bytes);
    let options = text.lines().filter_map(|line| {
        let line = line.split(" #").next().unwrap_or_default().trim();
        if line.starts_with("--no-index") {
            return Some(given("no-index", "1"));
        }
        let (name, value) = line.split_once(['=', ' '])?;
        let (option, _) = OPTIONS.iter().find(|(_, names)| names.contains(&name))?;
        Some(given(option, value.trim()))
    });
    options.collect()
}

/// Says which program a command calls pip by, and the prefix of the Python that it installs into.
pub fn installs_into(host: &dyn Host, command: &[OsString]) -> Option<(String, AbsPath)> {
    let call = Call::of(command, host);
    let program = call.program.clone()?;
    Some((program, prefix(host, &call)?))
}

/// Finds the prefix of the Python that runs pip; `None` where that cannot be told without running it.
fn prefix(host: &dyn Host, call: &Call) -> Option<AbsPath> {
    let Some(program) = &call.program else {
        let active = ["VIRTUAL_ENV", "CONDA_PREFIX"].iter().find_map(|name| AbsPath::new(host.env(name)?).ok());
        return active.or_else(|| prefix_of(host, &program_path(host, "python3")?));
    };
    let path = program_path(host, program)?;
    prefix_of(host, &path)
}

/// Reads the prefix off a `python`, or a `pip` that names its own in the first line.
fn prefix_of(host: &dyn Host, program: &AbsPath) -> Option<AbsPath> {
    let mut python = program.as_path().to_owned();
    let head = host.head(&python, 512).ok()?;
    if let Some(line) = head.strip_prefix(b"#!") {
        let line = line.split(|byte| *byte == b'\n').next().unwrap_or_default();
        let named = std::str::from_utf8(line).ok()?.trim();
        let is_python = base_name(named).starts_with("python") && Path::new(named).is_absolute();
        // Anything else (`env bash`) decides at run time.
        python = is_python.then(|| PathBuf::from(named))?;
    }
    let above = |path: &Path| Some(path.parent()?.parent()?.to_owned());
    // An environment's python is a link to another's.
    let mut at = python.clone();
    for _ in 0..8 {
        let prefix = above(&at)?;
        if host.follow(&prefix.join("pyvenv.cfg")).is_ok() {
            return AbsPath::new(prefix).ok();
        }
        let Ok(target) = host.link(&at) else { break };
        at = at.parent()?.join(target);
    }
    AbsPath::new(above(&host.real(&python).ok()?)?).ok()
}

#[cfg(test)]
#[path = "pip_config_tests.rs"]
mod tests;
