//! Is the C library of this machine new enough for a file?
//!
//! The file's own table of versions and that of the C library are compared; neither is loaded.

use std::path::PathBuf;

use super::{Answer, ArgSpec, Inquiry, Question, UNKNOWN};
use crate::evidence::elf::{Elf, NotElf};
use crate::evidence::loader::Loader;
use crate::recipe::Text;

/// The questions of this file.
pub const QUESTIONS: &[Question] = &[Question {
    name: "glibc_for",
    about: "Compares the versions of glibc that a library asks for with those of this machine's glibc.",
    args: &[
        ArgSpec { name: "library", required: false, about: "The library that the log names" },
        ArgSpec { name: "version", required: false, about: "Versions that the log names, without `GLIBC_`" },
    ],
    answers: &["too_old", "met", "gone"],
    values: &["needed", "have", "lacking", "images", "libc"],
    ask: glibc_for,
}];

/// Release images and their glibc, oldest first.
const IMAGES: &[(Version, &str)] = &[
    (Version(2, 17), "CentOS 7, manylinux2014"),
    (Version(2, 27), "Ubuntu 18.04"),
    (Version(2, 28), "openEuler 20.03, Debian 10, EL 8, manylinux_2_28"),
    (Version(2, 31), "Ubuntu 20.04, Debian 11"),
    (Version(2, 34), "openEuler 22.03, EL 9, manylinux_2_34"),
    (Version(2, 35), "Ubuntu 22.04"),
    (Version(2, 36), "Debian 12"),
    (Version(2, 38), "openEuler 24.03"),
    (Version(2, 39), "Ubuntu 24.04, EL 10"),
    (Version(2, 41), "Debian 13"),
];

/// A version of glibc.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
struct Version(u32, u32);

impl Version {
    /// Takes `2.34`, `GLIBC_2.34` and `GLIBC_2.2.5`; a private name is none.
    fn read(text: &str) -> Option<Self> {
        let (major, rest) = text.strip_prefix("GLIBC_").unwrap_or(text).split_once('.')?;
        let minor = rest.split('.').next()?;
        Some(Self(major.parse().ok()?, minor.parse().ok()?))
    }
}

impl std::fmt::Display for Version {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{}.{}", self.0, self.1)
    }
}

fn glibc_for(inquiry: &Inquiry<'_>) -> Answer {
    let host = inquiry.host;
    let unknown = |en: &str, zh: &str| Answer::new(UNKNOWN, Text::new(en, zh));
    let loader = Loader::of(host);
    let libc = ["libc.so.6"].iter().flat_map(|name| loader.all(name)).next();
    let Some(libc) = libc else { return unknown("there is no glibc here", "本机没有 glibc") };
    let have = Elf::open(host, &libc).and_then(|libc| libc.versions());
    let have = have.unwrap_or_default().iter().filter_map(|name| Version::read(name)).max();
    let Some(have) = have else { return unknown("the glibc here cannot be read", "无法读取本机的 glibc") };
    let mut asked: Vec<(Version, String)> = Vec::new();
    let mut gone = Vec::new();
    let mut is_read = false;
    for name in inquiry.list("library") {
        let path: PathBuf = host.project().as_path().join(&name);
        match Elf::open(host, &path).and_then(|elf| elf.version_needs()) {
            Ok(needs) => {
                is_read = true;
                let of_libc = needs.into_iter().filter(|need| !need.weak);
                asked.extend(of_libc.filter_map(|need| Some((Version::read(&need.version)?, name.clone()))));
            }
            Err(NotElf::Missing) => gone.push(name),
            Err(_) => {}
        }
    }
    let libc = libc.display().to_string();
    if !is_read && !gone.is_empty() {
        let list = gone.join(", ");
        return Answer::new("gone", Text::new(format!("`{list}` is not there any more"), format!("`{list}` 已不存在")))
            .with("have", have.to_string())
            .with("libc", libc);
    }
    if !is_read {
        // The loader's own words count where its file is not named.
        asked.extend(inquiry.list("version").iter().filter_map(|text| Some((Version::read(text)?, String::new()))));
    }
    let Some((needed, by)) = asked.iter().max() else {
        return unknown("no version that is asked for is known", "不知道所需的版本");
    };
    let named = if by.is_empty() { String::new() } else { format!("`{by}`") };
    if *needed <= have && !is_read {
        return unknown(
            "the log is of another machine, or its library cannot be read",
            "日志来自其他机器，或无法读取其中的库",
        );
    }
    if *needed <= have {
        let seen = Text::new(
            format!("{named} asks for glibc {needed}, and {have} is here (`{libc}`)"),
            format!("{named} 需要 glibc {needed}，本机为 {have}（`{libc}`）"),
        );
        return Answer::new("met", seen).with("needed", needed.to_string()).with("have", have.to_string());
    }
    let mut lacking: Vec<Version> =
        asked.iter().map(|(version, _)| *version).filter(|version| *version > have).collect();
    lacking.sort();
    lacking.dedup();
    let lacking: Vec<String> = lacking.iter().map(Version::to_string).collect();
    let seen = Text::new(
        format!("{named} asks for glibc {needed}; `{libc}` is {have}"),
        format!("{named} 需要 glibc {needed}；`{libc}` 为 {have}"),
    );
    let images: Vec<&str> = IMAGES.iter().filter(|(version, _)| version >= needed).map(|(_, name)| *name).collect();
    let answer = Answer::new("too_old", seen)
        .with("needed", needed.to_string())
        .with("have", have.to_string())
        .with("lacking", lacking)
        .with("libc", libc);
    match images.first() {
        Some(image) => answer.with("images", (*image).to_owned()),
        None => answer,
    }
}
