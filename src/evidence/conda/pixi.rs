//! Which channels a pixi command asks, and where each of them stands.
//!
//! A workspace's channels stand in its manifest; those of the configuration count for what works without one, and its
//! mirrors come before all. A feature's own list takes the place of the workspace's for that feature.

use super::sources::Broken;
use super::{ALIAS, Base, Channel, Effective, Origin, TomlEntry};
use crate::evidence::Host;
use crate::evidence::pixi_files::{self, PixiCommand, Unread};
use crate::formats::toml_file::{self, Edit, Reason, Refusal, Step, Text as Found};
use crate::os::AbsPath;
use crate::recipe::Text;

/// Adds what pixi would ask.
pub fn add(host: &dyn Host, command: &PixiCommand, found: &mut Effective) {
    let manifest = pixi_files::manifest(host, command);
    for text in &command.channels {
        found
            .channels
            .extend(resolved(host, text).map(|base| Channel { base, origin: Origin::CommandLine(text.clone()) }));
    }
    let workspace = manifest.as_ref().map(|(path, _)| path.clone());
    if let Some((path, table)) = &manifest
        && !matches!(command.verb.as_str(), "global" | "exec" | "init")
    {
        take(host, path, found, |text| {
            let own = text.path.strip_prefix(table.as_slice())?;
            if keys(own).last() == Some(&"channel") && !keys(own).contains(&"channels") {
                return Some(Kind::Pin);
            }
            list_of(own).filter(|list| is_channel_list(list)).map(|_| Kind::Channel)
        });
    }
    if command.verb == "global"
        && let Some(path) = pixi_files::global_manifest(host)
    {
        take(host, &path, found, |text| {
            let list = list_of(&text.path)?;
            matches!(keys(list).as_slice(), ["envs", _, "channels"]).then_some(Kind::Channel)
        });
    }
    let is_default = |text: &Found| {
        list_of(&text.path)
            .is_some_and(|list| matches!(keys(list).as_slice(), ["default-channels" | "default_channels"]))
    };
    let files = pixi_files::configurations(host, command, workspace.as_ref());
    // The strongest list counts alone.
    let strongest = files
        .iter()
        .rev()
        .find(|file| pixi_files::strings(host, file).is_ok_and(|strings| strings.iter().any(is_default)));
    let strongest = strongest.filter(|_| command.works_without_manifest()).cloned();
    for file in &files {
        take(host, file, found, |text| match list_of(&text.path) {
            Some(_) if is_default(text) => (strongest.as_ref() == Some(file)).then_some(Kind::Channel),
            Some(list) => matches!(keys(list).as_slice(), ["mirrors", _]).then_some(Kind::Channel),
            None => None,
        });
    }
    found.has_own_ways |= pixi_files::has_logins(host);
}

/// What a string of a file is to pixi.
enum Kind {
    Channel,
    /// A dependency that shall come from this channel alone.
    Pin,
}

fn take(host: &dyn Host, file: &AbsPath, found: &mut Effective, kind: impl Fn(&Found) -> Option<Kind>) {
    let strings = match pixi_files::strings(host, file) {
        Ok(strings) => strings,
        Err(unread) => return found.broken.push(broken(host, file, unread)),
    };
    for text in strings {
        let Some(kind) = kind(&text) else { continue };
        let Some(base) = resolved(host, &text.value) else { continue };
        let at = TomlEntry {
            file: file.clone(),
            at: text.path,
            line: u32::try_from(text.line).unwrap_or(u32::MAX),
            column: u32::try_from(text.column).unwrap_or(u32::MAX),
            text: text.value,
        };
        let channel = Channel { base, origin: Origin::Toml(at) };
        match kind {
            Kind::Channel => found.channels.push(channel),
            Kind::Pin => found.pins.push(channel),
        }
    }
}

fn broken(host: &dyn Host, file: &AbsPath, unread: Unread) -> Broken {
    let text = host.read(file.as_path(), 4 << 20).unwrap_or_default();
    let text = String::from_utf8_lossy(&text).into_owned();
    let (line, why) = match unread {
        Some(Refusal { line, reason }) => (line, Text::new(reason.en(), reason.zh())),
        None => (1, Text::new("it cannot be read", "无法读取")),
    };
    Broken { file: file.clone(), line: u32::try_from(line).unwrap_or(u32::MAX), why, text }
}

/// Turns a word into the place of its channel, as pixi does.
fn resolved(host: &dyn Host, text: &str) -> Option<Base> {
    if text.contains("://") {
        return Base::of(text);
    }
    if text.starts_with(['/', '.', '~']) {
        return Base::of(&format!("file://{}", host.project().resolve(text)));
    }
    Base::of(&format!("{ALIAS}/{}", text.trim_matches('/')))
}

/// The keys of a way, without places in lists.
fn keys(path: &[Step]) -> Vec<&str> {
    fn key(step: &Step) -> Option<&str> {
        match step {
            Step::Key(key) => Some(key.as_str()),
            Step::At(_) => None,
        }
    }
    path.iter().filter_map(key).collect()
}

/// The list that an entry stands in: the entry is a string, or a table with a string `channel`.
fn list_of(path: &[Step]) -> Option<&[Step]> {
    match path {
        [list @ .., Step::At(_)] => Some(list),
        [list @ .., Step::At(_), Step::Key(key)] if key == "channel" => Some(list),
        _ => None,
    }
}

fn is_channel_list(list: &[Step]) -> bool {
    matches!(
        keys(list).as_slice(),
        ["workspace" | "project", "channels"]
            | ["feature", _, "channels"]
            | ["package", "build", "channels"]
            | ["package", "build", "backend", "channels"]
    )
}

/// Says whether a list may go with its key: without its own a feature has the workspace's channels, and without
/// `default-channels` pixi has its own.
fn may_go(list: &[Step]) -> bool {
    let keys = keys(list);
    let keys = keys.strip_prefix(&["tool", "pixi"]).unwrap_or(&keys);
    matches!(keys, ["feature", _, "channels"] | ["default-channels" | "default_channels"])
}

/// Returns the file without the entries, and the lists that went with their keys.
pub fn removed(bytes: &[u8], entries: &[TomlEntry]) -> Result<(Vec<u8>, Vec<String>), Refusal> {
    let mut bytes = bytes.to_vec();
    let mut gone = Vec::new();
    let mut ways: Vec<(&[Step], usize, usize)> = Vec::new();
    for entry in entries {
        let Some(list) = list_of(&entry.at) else { continue };
        let Some(Step::At(index)) = entry.at.get(list.len()) else { continue };
        ways.push((list, *index, usize::try_from(entry.line).unwrap_or(usize::MAX)));
    }
    // The last of a list first, so that the places of the others stay.
    ways.sort_by(|one, other| other.cmp(one));
    ways.dedup();
    for (list, index, line) in &ways {
        let mut path = list.to_vec();
        path.push(Step::At(*index));
        let is_in = |text: &Found| text.path.starts_with(list) && !text.path.starts_with(&path);
        if toml_file::strings(&bytes)?.iter().any(is_in) {
            bytes = toml_file::edit(&bytes, &Edit::Remove { path })?;
        } else if !may_go(list) {
            return Err(Refusal { line: *line, reason: Reason::NothingLeft });
        } else {
            bytes = toml_file::edit(&bytes, &Edit::RemoveKey { path: list.to_vec() })?;
            gone.push(keys(list).join("."));
        }
    }
    Ok((bytes, gone))
}
