//! A wheel on disk: what its name says, and what it says of itself.

use super::zip::{Archive, ZipError};
use crate::evidence::Host;
use crate::formats::python_metadata::header;
use crate::formats::wheel_name::{BadName, Tag, WheelName, normalise};
use crate::os::AbsPath;

/// A wheel whose name and metadata could be read.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Wheel {
    pub path: AbsPath,
    pub file: WheelName,
    /// The tags that it was built with; its file name may have been changed since.
    pub built_for: Vec<Tag>,
    pub requires_python: Option<String>,
    /// Folders below the environment that it installs data into: `share`, `etc`.
    pub data: Vec<String>,
}

/// Why a wheel cannot be installed by anybody.
#[derive(Debug, thiserror::Error)]
pub enum BrokenWheel {
    #[error("its name is none of a wheel: {0}")]
    Name(#[from] BadName),
    #[error("it cannot be read: {0}")]
    Zip(#[from] ZipError),
    #[error("it has no {0}")]
    Lacks(&'static str),
    /// The metadata belong to another project or version than the file's name.
    #[error("inside it is `{0}`")]
    Another(String),
}

/// METADATA may hold a long description.
const TEXT: u64 = 8 << 20;

impl Wheel {
    /// Reads a wheel's name, WHEEL and METADATA.
    pub fn read(host: &dyn Host, path: &AbsPath) -> Result<Self, BrokenWheel> {
        let name = path.file_name().and_then(|name| name.to_str()).ok_or(BadName::NoWheel)?;
        let file = WheelName::parse(name)?;
        let archive = Archive::open(host, path)?;
        let own = |member: &str| -> Option<String> {
            let (folder, rest) = member.split_once('/')?;
            let stem = folder.strip_suffix(".dist-info")?;
            let project = stem.split('-').next().unwrap_or_default();
            (normalise(project) == file.name).then(|| rest.to_owned())
        };
        let text = |name: &'static str| -> Result<String, BrokenWheel> {
            let member = archive.members.iter().find(|member| own(&member.name).as_deref() == Some(name));
            let bytes = archive.read(member.ok_or(BrokenWheel::Lacks(name))?, TEXT)?;
            Ok(String::from_utf8_lossy(&bytes).into_owned())
        };
        let (wheel, metadata) = (text("WHEEL")?, text("METADATA")?);
        if !archive.members.iter().any(|member| own(&member.name).as_deref() == Some("RECORD")) {
            return Err(BrokenWheel::Lacks("RECORD"));
        }
        let first = |name: &str| header(&metadata, name).first().map(|value| (*value).to_owned());
        let (project, version) = (first("Name").unwrap_or_default(), first("Version").unwrap_or_default());
        let same_version = version.parse().is_ok_and(|version: pep440_rs::Version| version == file.version);
        if normalise(&project) != file.name || !same_version {
            return Err(BrokenWheel::Another(format!("{project} {version}")));
        }
        let built_for = header(&wheel, "Tag").into_iter().filter_map(Tag::parse_set).flatten().collect();
        let mut data: Vec<String> = archive
            .members
            .iter()
            .filter_map(|member| {
                let (folder, rest) = member.name.split_once('/')?;
                let below = rest.strip_prefix("data/").filter(|_| folder.ends_with(".data"))?;
                below.split('/').next().filter(|name| !name.is_empty() && *name != "..").map(str::to_owned)
            })
            .collect();
        data.sort();
        data.dedup();
        Ok(Self { path: path.clone(), file, built_for, requires_python: first("Requires-Python"), data })
    }

    /// Says whether the file has another name than it was built with: the same words would import nothing.
    pub fn is_renamed(&self) -> bool {
        let sorted = |tags: &[Tag]| {
            let mut tags = tags.to_vec();
            tags.sort();
            tags
        };
        !self.built_for.is_empty() && sorted(&self.built_for) != sorted(&self.file.tags)
    }

    /// Says whether its Requires-Python allows a version; `None` where that cannot be told.
    pub fn allows(&self, version: &str) -> Option<bool> {
        let Some(wanted) = &self.requires_python else { return Some(true) };
        let wanted: pep440_rs::VersionSpecifiers = wanted.parse().ok()?;
        let known: pep440_rs::Version = version.parse().ok()?;
        if known.release().len() >= 3 {
            return Some(wanted.contains(&known));
        }
        // Of `3.11` alone the last number is not known: it tells only where the first and the last one agree.
        let ends: Vec<bool> = ["0", "999"]
            .iter()
            .map(|patch| format!("{version}.{patch}").parse().map(|version| wanted.contains(&version)))
            .collect::<Result<_, _>>()
            .ok()?;
        (ends[0] == ends[1]).then_some(ends[0])
    }
}
