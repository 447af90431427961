//! The files and variables that conda reads, in conda's own order.

use std::collections::{BTreeMap, BTreeSet};
use std::io;
use std::path::Path;

use super::command::{CondaCommand, Environment, Tool};
use crate::evidence::{FileKind, Host};
use crate::formats::yaml::{Entry, LARGEST, List, Reason, Yaml};
use crate::os::AbsPath;
use crate::recipe::Text;

/// Files of one folder that are looked at.
const LIST_LIMIT: usize = 1000;

/// A list of a source, and the keys that lead to it.
pub type KeyedList = (Vec<String>, List);

/// One place that settings come from, the weakest first.
#[derive(Debug, Clone)]
pub struct Source {
    pub kind: SourceKind,
    lists: BTreeMap<&'static str, KeyedList>,
    pub custom_channels: BTreeMap<String, String>,
    /// `custom_multichannels`.
    pub groups: Vec<(String, List)>,
    pub channel_alias: Option<String>,
    /// Which solver shall be used.
    pub solver: Option<String>,
    /// Logs in or goes by a proxy of its own.
    pub has_own_ways: bool,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub enum SourceKind {
    File(AbsPath),
    Variable(&'static str),
}

/// Configuration that cannot be taken as conda takes it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Broken {
    pub file: AbsPath,
    /// 1-based.
    pub line: u32,
    pub why: Text,
    /// The file, as far as it can be read as text.
    pub text: String,
}

/// What was read.
pub struct Read {
    pub sources: Vec<Source>,
    pub broken: Vec<Broken>,
}

/// Variables that name the solver; the second is what older versions have.
pub const SOLVER_VARIABLES: [&str; 2] = ["CONDA_SOLVER", "CONDA_EXPERIMENTAL_SOLVER"];

const CHANNELS: &str = "channels";
const DEFAULT_CHANNELS: &str = "default_channels";

impl Source {
    fn new(kind: SourceKind) -> Self {
        Self {
            kind,
            lists: BTreeMap::new(),
            custom_channels: BTreeMap::new(),
            groups: Vec::new(),
            channel_alias: None,
            solver: None,
            has_own_ways: false,
        }
    }

    pub fn channels(&self) -> Option<&KeyedList> {
        self.lists.get(CHANNELS)
    }

    pub fn default_channels(&self) -> Option<&KeyedList> {
        self.lists.get(DEFAULT_CHANNELS)
    }
}

/// The file that conda itself writes to: `~/.condarc`.
pub fn user_file(host: &dyn Host) -> Option<AbsPath> {
    host.home().map(|home| home.resolve(".condarc"))
}

/// Reads all sources, the weakest first.
pub fn read(host: &dyn Host, command: &CondaCommand) -> Read {
    let mut read = Read { sources: Vec::new(), broken: Vec::new() };
    for file in files(host, command) {
        match of_file(host, &file) {
            Ok(source) => read.sources.push(source),
            Err(broken) => read.broken.push(broken),
        }
    }
    read.sources.extend(variables(host));
    read
}

/// Lists the configuration files that are there, each once.
fn files(host: &dyn Host, command: &CondaCommand) -> Vec<AbsPath> {
    if command.no_rc {
        return Vec::new();
    }
    if !command.rc_files.is_empty() {
        return command.rc_files.clone();
    }
    let tool = command.tool;
    let folder_of = |name: &str| host.env(name).and_then(|value| AbsPath::new(value).ok());
    let mut candidates: Vec<AbsPath> = Vec::new();
    let mut folder = |folder: Option<AbsPath>| {
        let names = [".condarc", "condarc", "condarc.d"];
        candidates.extend(folder.into_iter().flat_map(|folder| names.map(|name| folder.resolve(name))));
    };
    folder(AbsPath::new("/etc/conda").ok());
    folder(AbsPath::new("/var/lib/conda").ok());
    folder(root(host, tool));
    folder(folder_of("XDG_CONFIG_HOME").map(|base| base.resolve("conda")));
    folder(host.home().map(|home| home.resolve(".config/conda")));
    folder(host.home().map(|home| home.resolve(".conda")));
    candidates.extend(user_file(host));
    if matches!(tool, Tool::Mamba | Tool::Unknown) {
        candidates.extend(host.home().map(|home| home.resolve(".mambarc")));
    }
    let prefix = folder_of("CONDA_PREFIX");
    candidates.extend(
        prefix.into_iter().flat_map(|prefix| [".condarc", "condarc", "condarc.d"].map(|name| prefix.resolve(name))),
    );
    if tool == Tool::Mamba {
        let inside = [".condarc", "condarc", "condarc.d", ".mambarc"];
        let target = target(host, command);
        candidates.extend(target.into_iter().flat_map(|prefix| inside.map(|name| prefix.resolve(name))));
    }
    candidates.extend(named(host));
    let mut seen = BTreeSet::new();
    let mut files = Vec::new();
    for path in candidates {
        let found = match host.follow(path.as_path()).map(|meta| meta.kind) {
            Ok(FileKind::File) if is_configuration(path.as_path()) => vec![path],
            Ok(FileKind::Folder) => {
                let names = host.list(path.as_path(), LIST_LIMIT).unwrap_or_default();
                let inside = names.iter().map(|name| path.resolve(name)).filter(|file| has_yaml_ending(file.as_path()));
                inside
                    .filter(|file| host.follow(file.as_path()).is_ok_and(|meta| meta.kind == FileKind::File))
                    .collect()
            }
            Ok(FileKind::File | FileKind::Link | FileKind::Other) | Err(_) => Vec::new(),
        };
        // Two ways to one file are one file.
        files.extend(
            found
                .into_iter()
                .filter(|file| seen.insert(host.real(file.as_path()).unwrap_or_else(|_| file.as_path().to_owned()))),
        );
    }
    files
}

/// The environment that the command names: mamba reads its files too, conda those of the active one alone.
fn target(host: &dyn Host, command: &CondaCommand) -> Option<AbsPath> {
    match command.environment.as_ref()? {
        Environment::Prefix(prefix) => Some(prefix.clone()),
        Environment::Name(name) if name == "base" => root(host, command.tool),
        Environment::Name(name) if name.contains('/') || name == ".." => None,
        Environment::Name(name) => Some(root(host, command.tool)?.resolve("envs").resolve(name)),
    }
}

/// `$CONDARC` may be relative to the folder that the command runs in, or begin with `~`.
fn named(host: &dyn Host) -> Option<AbsPath> {
    let name = host.env("CONDARC").and_then(|value| value.into_string().ok()).filter(|value| !value.is_empty())?;
    match (name.strip_prefix("~/"), host.home()) {
        (Some(rest), Some(home)) => Some(home.resolve(rest)),
        _ => Some(host.project().resolve(&name)),
    }
}

/// Where conda itself is installed.
pub fn root(host: &dyn Host, tool: Tool) -> Option<AbsPath> {
    let folder = |name: &str| host.env(name).and_then(|value| AbsPath::new(value).ok());
    if tool == Tool::Mamba
        && let Some(root) = folder("MAMBA_ROOT_PREFIX")
    {
        return Some(root);
    }
    let above = |program: AbsPath| program.parent().and_then(|bin| bin.parent());
    if let Some(root) = folder("CONDA_ROOT").or_else(|| folder("CONDA_EXE").and_then(above)) {
        return Some(root);
    }
    let path = host.env("PATH")?;
    let programs = std::env::split_paths(&path).filter_map(|folder| AbsPath::new(folder.join("conda")).ok());
    let mut there =
        programs.filter(|program| host.follow(program.as_path()).is_ok_and(|meta| meta.kind == FileKind::File));
    there.next().and_then(|program| AbsPath::new(host.real(program.as_path()).ok()?).ok()).and_then(above)
}

fn is_configuration(path: &Path) -> bool {
    let name = path.file_name().and_then(|name| name.to_str()).unwrap_or_default();
    matches!(name, ".condarc" | "condarc" | ".mambarc") || has_yaml_ending(path)
}

fn has_yaml_ending(path: &Path) -> bool {
    path.extension().is_some_and(|end| end == "yml" || end == "yaml")
}

fn text_of(host: &dyn Host, file: &AbsPath) -> Result<Vec<u8>, Broken> {
    host.read(file.as_path(), LARGEST as u64).map_err(|error| {
        let why = match error.kind() {
            io::ErrorKind::FileTooLarge => Text::new(Reason::TooLarge.en(), Reason::TooLarge.zh()),
            _ => Text::new(format!("it cannot be read: {error}"), format!("无法读取：{error}")),
        };
        Broken { file: file.clone(), line: 1, why, text: String::new() }
    })
}

fn broken(file: &AbsPath, bytes: &[u8], line: u32, reason: Reason) -> Broken {
    let why = Text::new(reason.en(), reason.zh());
    Broken { file: file.clone(), line, why, text: String::from_utf8_lossy(bytes).into_owned() }
}

fn of_file(host: &dyn Host, file: &AbsPath) -> Result<Source, Broken> {
    let bytes = text_of(host, file)?;
    let fail = |line: u32, reason: Reason| broken(file, &bytes, line, reason);
    let yaml = Yaml::parse(&bytes).map_err(|refusal| fail(refusal.line, refusal.reason))?;
    if let Some(line) = yaml.merge_key() {
        return Err(fail(line, Reason::MergeKey));
    }
    let mut source = Source::new(SourceKind::File(file.clone()));
    let list = |path: &[&str]| yaml.list(path).map_err(|refusal| fail(refusal.line, refusal.reason));
    // `channel` is an older name of the same.
    for (name, keys) in [(CHANNELS, ["channels", "channel"].as_slice()), (DEFAULT_CHANNELS, &["default_channels"])] {
        for key in keys {
            if let Some(found) = list(&[key])? {
                source.lists.insert(name, (vec![(*key).to_owned()], found));
            }
        }
    }
    for name in yaml.keys(&["custom_channels"]) {
        if let Some(location) = yaml.text(&["custom_channels", &name]) {
            source.custom_channels.insert(name.trim_matches('/').to_owned(), located(&location.text));
        }
    }
    for name in yaml.keys(&["custom_multichannels"]) {
        if let Some(found) = list(&["custom_multichannels", &name])? {
            source.groups.push((name, found));
        }
    }
    source.channel_alias =
        yaml.text(&["channel_alias"]).map(|alias| located(&alias.text)).filter(|alias| !alias.is_empty());
    let solver = ["solver", "experimental_solver"].iter().find_map(|key| yaml.text(&[key]));
    source.solver = solver.map(|solver| solver.text.trim().to_lowercase());
    source.has_own_ways = ["channel_settings", "proxy_servers"]
        .iter()
        .any(|key| !yaml.keys(&[key]).is_empty() || yaml.list(&[key]).is_ok_and(|list| list.is_some()));
    Ok(source)
}

/// Reads the channels of an environment file; one that is not there has none.
pub fn environment_file(host: &dyn Host, file: &AbsPath) -> Result<Option<List>, Broken> {
    if host.follow(file.as_path()).is_err() {
        return Ok(None);
    }
    let bytes = text_of(host, file)?;
    let fail = |line: u32, reason: Reason| broken(file, &bytes, line, reason);
    let yaml = Yaml::parse(&bytes).map_err(|refusal| fail(refusal.line, refusal.reason))?;
    yaml.list(&["channels"]).map_err(|refusal| fail(refusal.line, refusal.reason))
}

/// A location of `custom_channels` or `channel_alias`; without a scheme conda takes https.
fn located(text: &str) -> String {
    let text = text.trim().trim_end_matches('/');
    if text.contains("://") || text.is_empty() { text.to_owned() } else { format!("https://{text}") }
}

fn variables(host: &dyn Host) -> Vec<Source> {
    let value = |name: &str| host.env(name).and_then(|value| value.into_string().ok()).filter(|text| !text.is_empty());
    let mut all = Vec::new();
    for (name, key) in
        [("CONDA_CHANNELS", CHANNELS), ("CONDA_CHANNEL", CHANNELS), ("CONDA_DEFAULT_CHANNELS", DEFAULT_CHANNELS)]
    {
        let Some(text) = value(name) else { continue };
        let entries: Vec<Entry> =
            split(&text).map(|text| Entry { text: text.to_owned(), line: 1, column: 1 }).collect();
        if entries.is_empty() {
            continue;
        }
        let mut source = Source::new(SourceKind::Variable(name));
        source.lists.insert(key, (Vec::new(), List { entries, line: 1, comment: String::new() }));
        all.push(source);
    }
    for name in SOLVER_VARIABLES {
        let Some(solver) = value(name) else { continue };
        let mut source = Source::new(SourceKind::Variable(name));
        source.solver = Some(solver.trim().to_lowercase());
        all.push(source);
    }
    if let Some(alias) = value("CONDA_CHANNEL_ALIAS") {
        let mut source = Source::new(SourceKind::Variable("CONDA_CHANNEL_ALIAS"));
        source.channel_alias = Some(located(&alias));
        all.push(source);
    }
    all
}

/// Splits a list in a variable.
pub fn split(text: &str) -> impl Iterator<Item = &str> {
    text.split(',').map(str::trim).filter(|part| !part.is_empty())
}

/// Says whether conda has tokens that it sends to channels.
pub fn has_tokens(host: &dyn Host) -> bool {
    let folders = [".continuum/anaconda-client/tokens", ".local/share/binstar", ".config/binstar", ".conda/aau_token"];
    let Some(home) = host.home() else { return false };
    folders.iter().any(|name| {
        let path = home.resolve(name);
        host.list(path.as_path(), LIST_LIMIT).map_or_else(
            |_| host.follow(path.as_path()).is_ok_and(|meta| meta.kind == FileKind::File),
            |names| names.iter().any(|name| name.to_string_lossy().ends_with(".token")),
        )
    })
}
