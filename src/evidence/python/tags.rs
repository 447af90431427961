//! Which wheels an interpreter takes, and what about a wheel does not fit.

use std::collections::BTreeMap;

use super::{Interpreter, Libc};
use crate::formats::wheel_name::Tag;

/// The tags that an interpreter takes, best first.
pub struct Supported {
    tags: Vec<Tag>,
    ranks: BTreeMap<Tag, usize>,
    arch: String,
}

/// The part of a wheel's tags that does not fit.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Misfit {
    Python,
    Abi,
    /// Another operating system.
    System,
    /// Another processor.
    Arch,
    /// A newer C library, or another one.
    Libc,
}

impl Misfit {
    /// The word for it in answers.
    pub fn word(self) -> &'static str {
        match self {
            Misfit::Python => "python",
            Misfit::Abi => "abi",
            Misfit::System => "platform",
            Misfit::Arch => "arch",
            Misfit::Libc => "libc",
        }
    }
}

/// Processors that manylinux covers.
const MANYLINUX: &[&str] = &["x86_64", "aarch64", "ppc64", "ppc64le", "s390x", "loongarch64", "riscv64", "i686"];

/// Names of older policies, by the glibc that they stand for.
const LEGACY: &[(u32, &str)] = &[(17, "manylinux2014"), (12, "manylinux2010"), (5, "manylinux1")];

impl Supported {
    /// Works out the tags as `packaging.tags.sys_tags` does; `None` where that cannot be told from files: another
    /// Python than CPython 3.8 or later, a platform that is not known.
    pub fn by(interpreter: &Interpreter) -> Option<Self> {
        let platform = interpreter.platform.as_ref()?;
        let minor = interpreter.minor;
        // Of older ones the name of the ABI depends on how they were built (`cp37m`, `cp27mu`).
        if interpreter.major != 3 || minor < 8 {
            return None;
        }
        let arch = &platform.arch;
        let mut platforms = Vec::new();
        match platform.libc {
            // glibc 2.x is all there was so far.
            Libc::Glibc(2, newest) if MANYLINUX.contains(&arch.as_str()) => {
                let oldest = if matches!(arch.as_str(), "x86_64" | "i686") { 5 } else { 17 };
                for version in (oldest..=newest).rev() {
                    platforms.push(format!("manylinux_2_{version}_{arch}"));
                    if let Some((_, name)) = LEGACY.iter().find(|(legacy, _)| *legacy == version) {
                        platforms.push(format!("{name}_{arch}"));
                    }
                }
            }
            Libc::Glibc(..) | Libc::Musl | Libc::Unknown => return None,
        }
        platforms.push(format!("linux_{arch}"));
        let own = interpreter.tag();
        let abi = format!("{own}{}", if interpreter.free_threaded { "t" } else { "" });
        let mut tags = Vec::new();
        let mut add = |python: &str, abi: &str, platforms: &[String]| {
            tags.extend(platforms.iter().map(|platform| Tag {
                python: python.to_owned(),
                abi: abi.to_owned(),
                platform: platform.clone(),
            }));
        };
        let any = ["any".to_owned()];
        add(&own, &abi, &platforms);
        if !interpreter.free_threaded {
            add(&own, "abi3", &platforms);
        }
        add(&own, "none", &platforms);
        if !interpreter.free_threaded {
            for minor in (2..minor).rev() {
                add(&format!("cp3{minor}"), "abi3", &platforms);
            }
        }
        let versions: Vec<String> = [format!("py3{minor}"), "py3".to_owned()]
            .into_iter()
            .chain((0..minor).rev().map(|minor| format!("py3{minor}")))
            .collect();
        versions.iter().for_each(|version| add(version, "none", &platforms));
        add(&own, "none", &any);
        versions.iter().for_each(|version| add(version, "none", &any));
        let ranks = tags.iter().cloned().enumerate().map(|(rank, tag)| (tag, rank)).collect();
        Some(Self { tags, ranks, arch: arch.clone() })
    }

    /// Lists the tags, best first.
    pub fn tags(&self) -> &[Tag] {
        &self.tags
    }

    /// Returns how well a wheel of these tags fits, 0 best, or the part that does not fit.
    pub fn fit(&self, tags: &[Tag]) -> Result<usize, Misfit> {
        if let Some(rank) = tags.iter().filter_map(|tag| self.ranks.get(tag)).min() {
            return Ok(*rank);
        }
        // `cp39` alone is among the tags, with `abi3`: only pairs tell.
        let is_pair = |tag: &&Tag| self.tags.iter().any(|own| own.python == tag.python && own.abi == tag.abi);
        let pairs: Vec<&Tag> = tags.iter().filter(is_pair).collect();
        if !pairs.is_empty() {
            return Err(pairs
                .iter()
                .map(|tag| self.of_platform(&tag.platform))
                .min_by_key(|part| match part {
                    Misfit::Libc => 0,
                    Misfit::Arch => 1,
                    Misfit::System | Misfit::Python | Misfit::Abi => 2,
                })
                .unwrap_or(Misfit::System));
        }
        let own = &self.tags[0].python;
        Err(if tags.iter().any(|tag| tag.python == *own) { Misfit::Abi } else { Misfit::Python })
    }

    fn of_platform(&self, platform: &str) -> Misfit {
        let is_linux = ["linux_", "manylinux", "musllinux"].iter().any(|prefix| platform.starts_with(prefix));
        match (is_linux, platform.ends_with(&format!("_{}", self.arch))) {
            (false, _) => Misfit::System,
            (true, false) => Misfit::Arch,
            (true, true) => Misfit::Libc,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::super::{Kind, Platform};
    use super::*;
    use crate::os::AbsPath;

    fn supported(minor: u32, free_threaded: bool, arch: &str) -> Supported {
        let root = AbsPath::new("/p").unwrap();
        let interpreter = Interpreter {
            executable: root.resolve("bin/python"),
            prefix: root.clone(),
            base: root,
            major: 3,
            minor,
            full: None,
            free_threaded,
            kind: Kind::Base,
            platform: Some(Platform { arch: arch.into(), libc: Libc::Glibc(2, 36) }),
            packages: Vec::new(),
            externally_managed: false,
        };
        Supported::by(&interpreter).unwrap()
    }

    #[test]
    fn tells_the_part_that_does_not_fit() {
        let fit = |supported: &Supported, set: &str| match supported.fit(&Tag::parse_set(set).unwrap()) {
            Ok(_) => "fits",
            Err(part) => part.word(),
        };
        let here = supported(11, false, "x86_64");
        for (set, want) in [
            ("cp311-cp311-linux_x86_64", "fits"),
            ("py3-none-any", "fits"),
            ("py2.py3-none-any", "fits"),
            ("cp39-abi3-manylinux_2_17_x86_64.manylinux2014_x86_64", "fits"),
            ("cp311-none-any", "fits"),
            ("py38-none-any", "fits"),
            ("cp311-cp311-manylinux1_x86_64", "fits"),
            ("cp310-cp310-linux_x86_64", "python"),
            ("cp312-cp312-linux_x86_64", "python"),
            ("cp312-abi3-linux_x86_64", "python"),
            ("cp39-none-linux_x86_64", "python"),
            ("py2-none-any", "python"),
            ("py312-none-any", "python"),
            ("pp39-pypy39_pp73-linux_x86_64", "python"),
            ("cp311-cp311m-linux_x86_64", "abi"),
            ("cp311-cp311-any", "platform"),
            ("cp311-cp311-linux_aarch64", "arch"),
            ("cp311-cp311-manylinux_2_17_aarch64", "arch"),
            ("cp311-cp311-manylinux_2_37_x86_64", "libc"),
            ("cp311-cp311-manylinux_2_99_x86_64.manylinux_2_37_aarch64", "libc"),
            ("cp311-cp311-musllinux_1_1_x86_64", "libc"),
            ("cp311-cp311-win_amd64", "platform"),
            ("py3-none-macosx_11_0_arm64", "platform"),
        ] {
            assert_eq!(fit(&here, set), want, "{set}");
        }
        let free = supported(13, true, "aarch64");
        for (set, want) in [
            ("cp313-cp313t-manylinux_2_17_aarch64", "fits"),
            ("cp313-cp313-linux_aarch64", "abi"),
            ("cp39-abi3-linux_aarch64", "python"),
            ("py3-none-any", "fits"),
            ("cp313-cp313t-manylinux1_aarch64", "libc"),
        ] {
            assert_eq!(fit(&free, set), want, "{set}");
        }
    }

    #[test]
    fn a_closer_tag_goes_first() {
        let here = supported(11, false, "x86_64");
        let rank = |set: &str| here.fit(&Tag::parse_set(set).unwrap()).unwrap();
        assert!(rank("cp311-cp311-linux_x86_64") < rank("cp311-abi3-linux_x86_64"));
        assert!(rank("cp39-abi3-linux_x86_64") < rank("py3-none-any"));
    }
}
