//! The file name of a wheel: `{name}-{version}(-{build})?-{python}-{abi}-{platform}.whl`.
//!
//! Reads names as pip does, and never guesses: what pip would refuse is refused here.

use std::str::FromStr;

use pep440_rs::Version;

/// A wheel, by its file name.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct WheelName {
    /// Normalised: lower case, runs of `-_.` as one `-`.
    pub name: String,
    pub version: Version,
    pub build: Option<String>,
    /// Every combination of the compressed sets, in order.
    pub tags: Vec<Tag>,
    /// The three parts as they stand in the name.
    pub parts: [String; 3],
}

/// What a wheel is for, or what an interpreter takes.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Tag {
    pub python: String,
    pub abi: String,
    pub platform: String,
}

/// Why a file name is none of a wheel.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum BadName {
    #[error("it does not end in .whl")]
    NoWheel,
    #[error("it has {0} parts between dashes instead of five or six")]
    Parts(usize),
    #[error("the part for the project is malformed")]
    Project,
    #[error("the part for the version is none")]
    Version,
    #[error("the build number does not begin with a digit")]
    Build,
    #[error("it has too many tags")]
    Tags,
}

/// Combinations of compressed sets; real wheels have some dozens at most.
const MOST_TAGS: usize = 2000;

impl Tag {
    /// Lists the tags of a compressed set such as `py2.py3-none-any`; `None` where it has not three parts.
    pub fn parse_set(text: &str) -> Option<Vec<Tag>> {
        let text = text.to_ascii_lowercase();
        let parts: Vec<&str> = text.split('-').collect();
        let [pythons, abis, platforms] = parts.as_slice() else { return None };
        let count = |part: &str| part.split('.').count();
        if count(pythons).saturating_mul(count(abis)).saturating_mul(count(platforms)) > MOST_TAGS {
            return None;
        }
        let mut tags = Vec::new();
        for python in pythons.split('.') {
            for abi in abis.split('.') {
                for platform in platforms.split('.') {
                    tags.push(Tag { python: python.into(), abi: abi.into(), platform: platform.into() });
                }
            }
        }
        Some(tags)
    }
}

impl std::fmt::Display for Tag {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{}-{}-{}", self.python, self.abi, self.platform)
    }
}

impl WheelName {
    /// Reads a file name.
    pub fn parse(file_name: &str) -> Result<Self, BadName> {
        let stem = file_name.strip_suffix(".whl").ok_or(BadName::NoWheel)?;
        let parts: Vec<&str> = stem.split('-').collect();
        let (name, version, build, tags) = match parts.as_slice() {
            [name, version, tags @ ..] if tags.len() == 3 => (*name, *version, None, tags),
            [name, version, build, tags @ ..] if tags.len() == 3 => (*name, *version, Some(*build), tags),
            _ => return Err(BadName::Parts(parts.len())),
        };
        let is_word = |c: char| c.is_alphanumeric() || matches!(c, '_' | '.');
        if name.is_empty() || name.contains("__") || !name.chars().all(is_word) {
            return Err(BadName::Project);
        }
        let version = Version::from_str(&version.replace('_', "-")).map_err(|_| BadName::Version)?;
        if build.is_some_and(|build| !build.starts_with(|c: char| c.is_ascii_digit())) {
            return Err(BadName::Build);
        }
        let set = tags.join("-");
        Ok(Self {
            name: normalise(name),
            version,
            build: build.map(str::to_owned),
            tags: Tag::parse_set(&set).ok_or(BadName::Tags)?,
            parts: [tags[0].to_owned(), tags[1].to_owned(), tags[2].to_owned()],
        })
    }
}

/// Returns a project's name as all tools compare it (PEP 503).
pub fn normalise(name: &str) -> String {
    let mut out = String::with_capacity(name.len());
    for c in name.chars() {
        if matches!(c, '-' | '_' | '.') {
            if !out.ends_with('-') {
                out.push('-');
            }
        } else {
            out.extend(c.to_lowercase());
        }
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn reads_names_as_pip_does() {
        let told = |file: &str| match WheelName::parse(file) {
            Ok(name) => format!(
                "{} {} {} {}",
                name.name,
                name.version,
                name.build.as_deref().unwrap_or("-"),
                name.tags.iter().map(Tag::to_string).collect::<Vec<_>>().join(",")
            ),
            Err(bad) => bad.to_string(),
        };
        for (file, want) in [
            ("pip-23.2.1-py3-none-any.whl", "pip 23.2.1 - py3-none-any"),
            ("Six_x.y-1.0-py2.py3-none-any.whl", "six-x-y 1.0 - py2-none-any,py3-none-any"),
            ("a-1.0_local-1a-CP311-cp311-Linux_x86_64.whl", "the part for the version is none"),
            ("a-1.0+local.1-1a-CP311-cp311-Linux_x86_64.whl", "a 1.0+local.1 1a cp311-cp311-linux_x86_64"),
            (
                "a-1-cp39-abi3-manylinux_2_17_x86_64.manylinux2014_x86_64.whl",
                "a 1 - cp39-abi3-manylinux_2_17_x86_64,cp39-abi3-manylinux2014_x86_64",
            ),
            ("a-1.tar.gz", "it does not end in .whl"),
            ("minitriton-1.0.whl", "it has 2 parts between dashes instead of five or six"),
            ("a-1-2-3-py3-none-any.whl", "it has 7 parts between dashes instead of five or six"),
            ("a__b-1-py3-none-any.whl", "the part for the project is malformed"),
            ("-1-py3-none-any.whl", "the part for the project is malformed"),
            ("a-one-py3-none-any.whl", "the part for the version is none"),
            ("a-1-x1-py3-none-any.whl", "the build number does not begin with a digit"),
            ("", "it does not end in .whl"),
            ("-----.whl", "the part for the project is malformed"),
        ] {
            assert_eq!(told(file), want, "{file}");
        }
        let many = format!("a-1-{0}-{0}-{0}.whl", vec!["x"; 100].join("."));
        assert_eq!(WheelName::parse(&many), Err(BadName::Tags));
    }
}
