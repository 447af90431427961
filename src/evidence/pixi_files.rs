//! The files that pixi reads, as pixi itself would find them, without starting pixi.

use std::ffi::OsString;

use super::build_command::{base_name, is_literal, plain_words, strip_wrappers};
use super::{FileKind, Host};
use crate::formats::toml_file::{self, Refusal, Step, Text};
use crate::os::AbsPath;

/// No manifest or configuration of a person comes near it.
const LIMIT: u64 = 4 << 20;

/// A pixi command, as far as its words tell.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct PixiCommand {
    /// `install`, `global`, `exec`; empty where nothing tells.
    pub verb: String,
    /// Of `-c`, where the verb has it.
    pub channels: Vec<String>,
    manifest: Option<String>,
    configuration: Option<String>,
    has_no_configuration: bool,
}

/// Why a file cannot be taken as pixi takes it; `None`: it is there and cannot be read.
pub type Unread = Option<Refusal>;

impl PixiCommand {
    /// Reads a command; `None` where it is none of pixi.
    pub fn read(command: &[OsString]) -> Option<Self> {
        let words = plain_words(command)?;
        let (program, arguments) = strip_wrappers(&words)?.split_first()?;
        if base_name(program) != "pixi" {
            return None;
        }
        let mut read = Self::default();
        let mut words = arguments.iter();
        while let Some(word) = words.next() {
            let (name, joined) = match word.split_once('=') {
                Some((name, value)) if word.starts_with("--") => (name, Some(value.to_owned())),
                _ => (word.as_str(), None),
            };
            let mut value = || joined.clone().or_else(|| words.next().cloned());
            match name {
                "--manifest-path" | "-m" => read.manifest = value(),
                "--config-file" => read.configuration = value(),
                "--no-config" => read.has_no_configuration = true,
                "-c" | "--channel" if read.works_without_manifest() => read.channels.extend(value()),
                // What follows is the words of the program that is run.
                _ if matches!(read.verb.as_str(), "run" | "exec") && !word.starts_with('-') => break,
                _ if read.verb.is_empty() && !word.starts_with('-') => read.verb = word.clone(),
                _ => {}
            }
        }
        Some(read)
    }

    /// Says whether the configuration's own channels count for it.
    pub fn works_without_manifest(&self) -> bool {
        matches!(self.verb.as_str(), "global" | "exec" | "init" | "search")
    }
}

/// Finds the manifest of the workspace, with the table that is pixi's.
pub fn manifest(host: &dyn Host, command: &PixiCommand) -> Option<(AbsPath, Vec<Step>)> {
    if let Some(named) = &command.manifest {
        let path = Some(named).filter(|named| is_literal(named)).map(|named| host.project().resolve(named))?;
        return if is_file(host, &path) { Some(with_table(path)) } else { inside(host, &path) };
    }
    let mut folder = Some(host.project().clone());
    while let Some(at) = folder {
        if let Some(found) = inside(host, &at) {
            return Some(found);
        }
        folder = at.parent();
    }
    let named = host.env("PIXI_IN_SHELL").and_then(|_| AbsPath::new(host.env("PIXI_PROJECT_MANIFEST")?).ok());
    named.filter(|path| is_file(host, path)).map(with_table)
}

fn with_table(path: AbsPath) -> (AbsPath, Vec<Step>) {
    let is_project = path.file_name().is_some_and(|name| name == "pyproject.toml");
    let table = if is_project { ["tool", "pixi"].map(|key| Step::Key(key.to_owned())).to_vec() } else { Vec::new() };
    (path, table)
}

fn inside(host: &dyn Host, folder: &AbsPath) -> Option<(AbsPath, Vec<Step>)> {
    let own = folder.resolve("pixi.toml");
    if is_file(host, &own) {
        return Some(with_table(own));
    }
    let (project, table) = with_table(folder.resolve("pyproject.toml"));
    let has_table = |strings: Vec<Text>| strings.iter().any(|text| text.path.starts_with(&table));
    let is_pixis = is_file(host, &project) && strings(host, &project).is_ok_and(has_table);
    is_pixis.then_some((project, table))
}

/// Lists the configuration files that are there, the weakest first.
pub fn configurations(host: &dyn Host, command: &PixiCommand, workspace: Option<&AbsPath>) -> Vec<AbsPath> {
    let folder_of = |name: &str| host.env(name).filter(|value| !value.is_empty()).and_then(|v| AbsPath::new(v).ok());
    let named = command.configuration.clone().map(OsString::from).or_else(|| host.env("PIXI_CONFIG_FILE"));
    let is_set = |value: OsString| !value.is_empty() && value != "0" && value != "false";
    let mut files = Vec::new();
    if let Some(named) = named.filter(|named| !named.is_empty()) {
        files.push(host.project().resolve(named));
    } else if !command.has_no_configuration && !host.env("PIXI_NO_CONFIG").is_some_and(is_set) {
        files.extend(AbsPath::new("/etc/pixi/config.toml").ok());
        files.extend(folder_of("XDG_CONFIG_HOME").map(|folder| folder.resolve("pixi/config.toml")));
        files.extend(host.home().map(|home| home.resolve(".config/pixi/config.toml")));
        files.extend(host.home().map(|home| home.resolve(".pixi/config.toml")));
        files.extend(folder_of("PIXI_HOME").map(|folder| folder.resolve("config.toml")));
    }
    files.extend(workspace.and_then(AbsPath::parent).map(|folder| folder.resolve(".pixi/config.toml")));
    let mut seen = Vec::new();
    files.retain(|file| {
        let real = host.real(file.as_path()).unwrap_or_else(|_| file.as_path().to_owned());
        let is_new = !seen.contains(&real);
        seen.push(real);
        is_new && is_file(host, file)
    });
    files
}

/// The manifest of what `pixi global` installs.
pub fn global_manifest(host: &dyn Host) -> Option<AbsPath> {
    let folder = host.env("PIXI_HOME").filter(|value| !value.is_empty()).and_then(|value| AbsPath::new(value).ok());
    let folder = folder.or_else(|| host.home().map(|home| home.resolve(".pixi")))?;
    Some(folder.resolve("manifests/pixi-global.toml")).filter(|file| is_file(host, file))
}

/// Lists all strings of a file.
pub fn strings(host: &dyn Host, file: &AbsPath) -> Result<Vec<Text>, Unread> {
    let bytes = host.read(file.as_path(), LIMIT).map_err(|_| None)?;
    toml_file::strings(&bytes).map_err(Some)
}

/// Says whether pixi keeps logins of channels in a file; those of a keyring are not seen.
pub fn has_logins(host: &dyn Host) -> bool {
    let named = host.env("RATTLER_AUTH_FILE").is_some_and(|value| !value.is_empty());
    named || host.home().is_some_and(|home| is_file(host, &home.resolve(".rattler/credentials.json")))
}

fn is_file(host: &dyn Host, path: &AbsPath) -> bool {
    host.follow(path.as_path()).is_ok_and(|meta| meta.kind == FileKind::File)
}
