//! The text of a configuration file without dead channels.

use super::{BUILT_IN_DEFAULTS, Base, Dead, FileEntry};
use crate::formats::yaml::{Reason, Refusal, Yaml};

/// Returns the file without the entries. A list that would be left without entries goes with its key: an empty
/// list tells conda to ask nobody.
pub fn removed(bytes: &[u8], entries: &[FileEntry]) -> Result<Vec<u8>, Refusal> {
    let mut bytes = bytes.to_vec();
    let mut paths: Vec<&Vec<String>> = entries.iter().map(|entry| &entry.path).collect();
    paths.sort();
    paths.dedup();
    for path in paths {
        let keys: Vec<&str> = path.iter().map(String::as_str).collect();
        let goes = |text: &str| entries.iter().any(|entry| entry.path == *path && entry.entry.text == text);
        let yaml = Yaml::parse(&bytes)?;
        bytes = match yaml.without_entries(&keys, &goes) {
            // A group of channels without members would be taken for a channel of that name.
            Err(Refusal { reason: Reason::NothingLeft, .. }) if keys.len() == 1 => yaml.without_key(&keys)?,
            other => other?,
        };
    }
    Ok(bytes)
}

/// Returns the file with `default_channels` written out: conda's own without the dead ones. The second value lists
/// what it holds.
pub fn written_defaults(bytes: &[u8], dead: &[Dead]) -> Result<(Vec<u8>, Vec<String>), Refusal> {
    let is_dead = |url: &str| {
        let channel = Base::of(url).map(|base| super::Channel { base, origin: super::Origin::BuiltIn });
        channel.is_some_and(|channel| dead.iter().any(|dead| dead.is(&channel)))
    };
    let kept: Vec<String> = BUILT_IN_DEFAULTS.iter().filter(|url| !is_dead(url)).map(ToString::to_string).collect();
    let yaml = Yaml::parse(bytes)?;
    if kept.is_empty() {
        return Err(Refusal { line: 1, reason: Reason::NothingLeft });
    }
    Ok((yaml.with_list("default_channels", &kept)?, kept))
}
