//! Which channels a conda command asks, and where each of them stands.
//!
//! Reads what conda reads, in conda's own order, without starting it: its configuration files, the environment, the
//! command's words and its environment file. What cannot be read is told, never passed over.

mod channel;
mod command;
mod pixi;
mod removal;
mod solver;
mod sources;

use std::collections::BTreeMap;
use std::ffi::OsString;

use super::Host;
use crate::evidence::pixi_files::PixiCommand;
use crate::formats::toml_file::Step;
use crate::formats::yaml::{Entry, List};
use crate::os::AbsPath;
use crate::recipe::Text;

pub use channel::{Base, Dead};
pub use command::{CondaCommand, Tool, without_channels};
pub use pixi::removed as removed_from_toml;
pub use removal::{removed, written_defaults};
pub use solver::{Solver, solver};
pub use sources::{Broken, KeyedList, Source, SourceKind, user_file};

/// What `defaults` stands for where no configuration says so.
pub const BUILT_IN_DEFAULTS: [&str; 2] = ["https://repo.anaconda.com/pkgs/main", "https://repo.anaconda.com/pkgs/r"];

const ALIAS: &str = "https://conda.anaconda.org";

/// Longest chain of look-ups that a list may have.
const MOST_CHANNELS: usize = 1000;

/// All that a conda command would ask.
#[derive(Debug)]
pub struct Effective {
    pub command: CondaCommand,
    pub channels: Vec<Channel>,
    /// Configuration that cannot be taken as conda takes it.
    pub broken: Vec<Broken>,
    /// Dependencies of pixi that name a channel of their own.
    pub pins: Vec<Channel>,
    /// Lists without entries, and their lines.
    pub empty_lists: Vec<(AbsPath, u32)>,
    /// Conda logs in, or goes by a proxy of its own, for some channel: an answer to us is not the answer to conda.
    pub has_own_ways: bool,
}

/// A channel with its place.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Channel {
    pub base: Base,
    pub origin: Origin,
}

/// Where a channel is written.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Origin {
    Entry(FileEntry),
    Toml(TomlEntry),
    Variable { name: &'static str, text: String },
    CommandLine(String),
    BuiltIn,
}

/// An entry of a list in a file.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct FileEntry {
    pub file: AbsPath,
    /// Keys that lead to the list.
    pub path: Vec<String>,
    pub entry: Entry,
}

/// An entry of a list in a file of pixi.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TomlEntry {
    pub file: AbsPath,
    /// The way to the string.
    pub at: Vec<Step>,
    /// 1-based.
    pub line: u32,
    /// 1-based, in characters.
    pub column: u32,
    pub text: String,
}

impl TomlEntry {
    /// The keys that lead to it: `feature.test.channels`.
    pub fn key(&self) -> String {
        let key = |step: &Step| match step {
            Step::Key(key) => Some(key.clone()),
            Step::At(_) => None,
        };
        self.at.iter().filter_map(key).collect::<Vec<_>>().join(".")
    }
}

impl Origin {
    /// Tells the place in a few words.
    pub fn told(&self) -> Text {
        match self {
            Origin::Entry(at) => {
                let (file, line, key) = (&at.file, at.entry.line, at.path.join("."));
                Text::new(format!("`{file}`:{line} ({key})"), format!("`{file}`:{line}（{key}）"))
            }
            Origin::Toml(at) => {
                let (file, line, key) = (&at.file, at.line, at.key());
                Text::new(format!("`{file}`:{line} ({key})"), format!("`{file}`:{line}（{key}）"))
            }
            Origin::Variable { name, .. } => {
                Text::new(format!("the environment variable {name}"), format!("环境变量 {name}"))
            }
            Origin::CommandLine(text) => {
                Text::new(format!("the command line (`-c {text}`)"), format!("命令行（`-c {text}`）"))
            }
            Origin::BuiltIn => Text::new("conda's built-in `default_channels`", "conda 内置的 `default_channels`"),
        }
    }
}

/// A word that conda takes for a channel, and where it stands.
type Word = (Origin, String);

/// Finds out which channels a command asks.
pub fn effective(host: &dyn Host, command: Option<&[OsString]>) -> Effective {
    let words = command.unwrap_or_default();
    let command = CondaCommand::read(host, command);
    if command.tool == Tool::Pixi {
        let mut found = Effective {
            command,
            channels: Vec::new(),
            broken: Vec::new(),
            pins: Vec::new(),
            empty_lists: Vec::new(),
            has_own_ways: false,
        };
        // A shell's line tells nothing but the workspace.
        pixi::add(host, &PixiCommand::read(words).unwrap_or_default(), &mut found);
        return found;
    }
    let mut read = sources::read(host, &command);
    let mut words: Vec<Word> =
        command.channels.iter().map(|text| (Origin::CommandLine(text.clone()), text.clone())).collect();
    let mut channels = Vec::new();
    let config = Merged { sources: &read.sources };
    if !command.overrides {
        let mut of_file = Vec::new();
        for file in &command.environment_files {
            match sources::environment_file(host, file) {
                Ok(Some(list)) => of_file.extend(of_list(file, &["channels"], &list)),
                Ok(None) => {}
                Err(broken) => read.broken.push(broken),
            }
        }
        let alone = of_file.iter().any(|(_, text)| text == "nodefaults");
        of_file.retain(|(_, text)| text != "nodefaults");
        words.extend(of_file);
        if !alone {
            let mut configured = config.words(&Source::channels);
            // Before 26.1 conda took `defaults` where nothing else was said.
            if configured.is_empty() {
                configured.push((Origin::BuiltIn, "defaults".to_owned()));
            }
            words.extend(configured);
        }
    }
    for (origin, text) in words.into_iter().take(MOST_CHANNELS) {
        config.resolve(host, origin, &text, &mut channels);
    }
    let has_own_ways = read.sources.iter().any(|source| source.has_own_ways) || sources::has_tokens(host);
    let empty = |source: &Source| match (&source.kind, source.channels()) {
        (SourceKind::File(file), Some((_, list))) if list.entries.is_empty() => Some((file.clone(), list.line)),
        (SourceKind::File(_) | SourceKind::Variable(_), _) => None,
    };
    let empty_lists = read.sources.iter().filter_map(empty).collect();
    let (pins, broken) = (Vec::new(), read.broken);
    let mut found = Effective { command, channels, broken, pins, empty_lists, has_own_ways };
    // What a script or an unknown command calls may be pixi as well, where the project is a workspace of it.
    if found.command.tool == Tool::Unknown {
        pixi::add(host, &PixiCommand::default(), &mut found);
    }
    found
}

impl Effective {
    /// Lists the places of dead channels.
    pub fn places<'e>(&'e self, dead: &'e [Dead]) -> impl Iterator<Item = &'e Channel> {
        self.channels.iter().filter(|channel| dead.iter().any(|dead| dead.is(channel)))
    }

    /// Says whether channels would be left without the dead ones, for each program that asks one of these.
    pub fn has_other_than(&self, dead: &[Dead]) -> bool {
        let is_pixis = |channel: &Channel| matches!(channel.origin, Origin::Toml(_));
        let is_dead = |channel: &Channel| dead.iter().any(|dead| dead.is(channel));
        let others =
            |place: &Channel| self.channels.iter().any(|other| is_pixis(other) == is_pixis(place) && !is_dead(other));
        self.places(dead).all(others)
    }

    /// Lists the words of `-c` that name dead channels.
    pub fn command_words<'e>(&'e self, dead: &'e [Dead]) -> Vec<&'e str> {
        let word = |channel: &'e Channel| match &channel.origin {
            Origin::CommandLine(text) => Some(text.as_str()),
            Origin::Entry(_) | Origin::Toml(_) | Origin::Variable { .. } | Origin::BuiltIn => None,
        };
        self.places(dead).filter_map(word).collect()
    }

    /// Returns the files of pixi, with the dead entries in them.
    pub fn toml_entries_by_file(&self, dead: &[Dead]) -> BTreeMap<AbsPath, Vec<TomlEntry>> {
        let mut files: BTreeMap<AbsPath, Vec<TomlEntry>> = BTreeMap::new();
        for channel in self.places(dead) {
            if let Origin::Toml(entry) = &channel.origin {
                files.entry(entry.file.clone()).or_default().push(entry.clone());
            }
        }
        files
    }

    /// Returns the files, with the dead entries of each list in them.
    pub fn entries_by_file(&self, dead: &[Dead]) -> BTreeMap<AbsPath, Vec<FileEntry>> {
        let mut files: BTreeMap<AbsPath, Vec<FileEntry>> = BTreeMap::new();
        for channel in self.places(dead) {
            if let Origin::Entry(entry) = &channel.origin {
                let entries = files.entry(entry.file.clone()).or_default();
                if !entries.contains(entry) {
                    entries.push(entry.clone());
                }
            }
        }
        files
    }
}

/// The configuration of all sources, the strongest last.
struct Merged<'a> {
    sources: &'a [Source],
}

impl Merged<'_> {
    /// Lists the entries that conda puts together; what comes after a `#!final` does not count.
    fn words(&self, of: &dyn Fn(&Source) -> Option<&KeyedList>) -> Vec<Word> {
        let mut all = Vec::new();
        for source in self.sources {
            let Some((path, list)) = of(source) else { continue };
            all.extend(match &source.kind {
                SourceKind::File(file) => {
                    let path: Vec<&str> = path.iter().map(String::as_str).collect();
                    of_list(file, &path, list)
                }
                SourceKind::Variable(name) => {
                    let word =
                        |entry: &Entry| (Origin::Variable { name, text: entry.text.clone() }, entry.text.clone());
                    list.entries.iter().map(word).collect()
                }
            });
            if list.comment == "!final" {
                break;
            }
        }
        all
    }

    fn alias(&self) -> String {
        let named = self.sources.iter().rev().find_map(|source| source.channel_alias.clone());
        named.unwrap_or_else(|| ALIAS.to_owned())
    }

    fn has_group(&self, name: &str) -> bool {
        self.sources.iter().any(|source| source.groups.iter().any(|(other, _)| other == name))
    }

    fn group(&self, name: &str) -> Vec<Word> {
        let listed = |source: &Source| -> Option<KeyedList> {
            let (name, list) = source.groups.iter().find(|(other, _)| other == name)?;
            Some((vec!["custom_multichannels".to_owned(), name.clone()], list.clone()))
        };
        let mut all = Vec::new();
        for source in self.sources {
            if let (SourceKind::File(file), Some((path, list))) = (&source.kind, listed(source)) {
                let path: Vec<&str> = path.iter().map(String::as_str).collect();
                all.extend(of_list(file, &path, &list));
            }
        }
        all
    }

    fn defaults(&self) -> Vec<Word> {
        let named = self.words(&Source::default_channels);
        let is_named = self.sources.iter().any(|source| source.default_channels().is_some());
        if is_named {
            return named;
        }
        BUILT_IN_DEFAULTS.iter().map(|url| (Origin::BuiltIn, (*url).to_owned())).collect()
    }

    /// Turns a word into the channels that it stands for, as conda does.
    fn resolve(&self, host: &dyn Host, origin: Origin, text: &str, channels: &mut Vec<Channel>) {
        let text = channel::expanded(host, text);
        let mut add = |origin: Origin, url: String| {
            if let Some(base) = Base::of(&url) {
                channels.push(Channel { base, origin });
            }
        };
        if text.contains("://") {
            return add(origin, text);
        }
        if text.starts_with(['/', '.', '~']) {
            let path = match (text.strip_prefix("~/"), host.home()) {
                (Some(rest), Some(home)) => home.resolve(rest),
                _ => host.project().resolve(&text),
            };
            return add(origin, format!("file://{path}"));
        }
        let name = channel::without_platform(text.trim_matches('/'));
        let alias = self.alias();
        let members = if self.has_group(&name) {
            self.group(&name)
        } else if name == "defaults" {
            self.defaults()
        } else {
            let location = self.location(host, &name).unwrap_or(alias);
            return add(origin, format!("{}/{name}", location.trim_end_matches('/')));
        };
        for (origin, text) in members {
            // Members are no names of groups or custom channels.
            let text = channel::expanded(host, &text);
            let url = if text.contains("://") { text } else { format!("{}/{}", alias.trim_end_matches('/'), text) };
            add(origin, url);
        }
    }

    /// Returns where the member of a group lies that has this name: conda knows members by their paths too, so that
    /// `pkgs/r` beside a mirror's `default_channels` is that mirror's.
    fn location_of_member(&self, host: &dyn Host, name: &str) -> Option<String> {
        let alias = Base::of(&self.alias())?;
        let groups = self.sources.iter().flat_map(|source| source.groups.iter());
        let mut members: Vec<Word> = groups.flat_map(|(group, _)| self.group(group)).collect();
        if !self.has_group("defaults") {
            members.extend(self.defaults());
        }
        members.iter().rev().find_map(|(_, text)| {
            let text = channel::expanded(host, text);
            let Some(base) = Base::of(&text) else {
                return (text.trim_matches('/') == name).then(|| alias.url());
            };
            let place = base.place.strip_prefix(&alias.place).map_or_else(
                || base.place.split_once('/').map(|(host, path)| (host.to_owned(), path)),
                |path| Some((alias.place.clone(), path)),
            );
            let (place, path) = place?;
            (path.trim_matches('/') == name).then(|| format!("{}://{place}", base.scheme))
        })
    }

    /// Returns what `custom_channels` says of a name, or of the longest part of it that stands there.
    fn location(&self, host: &dyn Host, name: &str) -> Option<String> {
        let mut part = name;
        loop {
            let named = self.sources.iter().rev().find_map(|source| source.custom_channels.get(part));
            if let Some(location) = named {
                return Some(location.clone());
            }
            if part == "pkgs/pro" {
                return Some("https://repo.anaconda.com".to_owned());
            }
            if let Some(location) = self.location_of_member(host, part) {
                return Some(location);
            }
            part = part.rsplit_once('/')?.0;
        }
    }
}

fn of_list(file: &AbsPath, path: &[&str], list: &List) -> Vec<Word> {
    let path: Vec<String> = path.iter().map(ToString::to_string).collect();
    let word = |entry: &Entry| {
        let at = FileEntry { file: file.clone(), path: path.clone(), entry: entry.clone() };
        (Origin::Entry(at), entry.text.clone())
    };
    list.entries.iter().map(word).collect()
}
