//! The compilers of this machine by family: what one was that is gone, and what there is of the same kind.
//!
//! Programs are judged by their names and files and never run.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};

use super::Host;
use super::questions::object_kind::is_program;

/// Entries of a folder of programs.
const MOST_NAMES: usize = 100_000;
/// A program of a few lines, as CMake builds one to learn about a compiler.
const SMALL_PROGRAM: u64 = 4 << 20;

/// Compilers that take each other's place: they agree in flags, warnings and what they are known to miscompile.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Family {
    Clang,
    Gnu,
}

/// What is known of a compiler.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Kind {
    pub family: Family,
    /// `14.0.6`, or as much as is known.
    pub version: Option<String>,
}

/// A compiler for C and one for C++ of one folder and version; one may be absent when nobody asked for it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Pair {
    pub c: Option<PathBuf>,
    pub cxx: Option<PathBuf>,
    pub major: Option<u32>,
}

impl Family {
    /// Reads CMake's `CMAKE_<LANG>_COMPILER_ID`.
    fn of_id(id: &str) -> Option<Self> {
        match id {
            "Clang" => Some(Self::Clang),
            "GNU" => Some(Self::Gnu),
            _ => None,
        }
    }

    /// Reads the name of a program: `x86_64-conda-linux-gnu-g++`, `clang-15`.
    fn of_name(name: &str) -> Option<Self> {
        let (_, stem, _) = split(name)?;
        match stem {
            "clang" | "clang++" => Some(Self::Clang),
            "gcc" | "g++" => Some(Self::Gnu),
            _ => None,
        }
    }

    fn stems(self) -> [&'static str; 2] {
        match self {
            Self::Clang => ["clang", "clang++"],
            Self::Gnu => ["gcc", "g++"],
        }
    }

    pub fn name(self) -> &'static str {
        match self {
            Self::Clang => "Clang",
            Self::Gnu => "GCC",
        }
    }
}

impl Kind {
    pub fn major(&self) -> Option<u32> {
        self.version.as_ref()?.split('.').next()?.parse().ok()
    }

    /// As a person reads it: `Clang 14.0.6`.
    pub fn told(&self) -> String {
        match &self.version {
            Some(version) => format!("{} {version}", self.family.name()),
            None => self.family.name().to_owned(),
        }
    }
}

/// Splits a program's name into what stands before, the compiler's own name, and a version: `x86_64-linux-gnu-`, `g++`,
/// `-12`.
fn split(name: &str) -> Option<(&str, &'static str, &str)> {
    ["clang++", "clang", "g++", "gcc", "c++", "cc"].into_iter().find_map(|stem| {
        let (before, after) = name.rsplit_once(stem)?;
        let is_whole = before.is_empty() || before.ends_with('-');
        let version = after.strip_prefix('-').unwrap_or(after);
        let is_version = version.bytes().all(|byte| byte.is_ascii_digit() || byte == b'.');
        (is_whole && is_version && (after.is_empty() || !version.is_empty())).then_some((before, stem, after))
    })
}

/// The prefixes that a compiler in the place of another may have, best first. One that builds for another machine
/// (`aarch64-linux-gnu-`) has one only; a plain name is as good as this machine's own prefix.
pub fn prefixes(name: &str) -> Vec<String> {
    let before = split(name).map_or("", |(before, _, _)| before);
    if before.matches('-').count() < 2 {
        return vec![String::new()];
    }
    let is_ours = before.starts_with(std::env::consts::ARCH) && before.contains("linux");
    let plain = is_ours.then(String::new);
    std::iter::once(before.to_owned()).chain(plain).collect()
}

/// Tells what a compiler was that a build tree was configured with, from what CMake wrote about it.
///
/// A configure that fails removes the description of the compiler; the small program that the compiler built stays.
pub fn remembered(host: &dyn Host, tree: &Path, language: &str, path: &Path) -> Option<Kind> {
    let name = path.file_name()?.to_string_lossy().into_owned();
    let files = tree.join("CMakeFiles");
    let versions = host.list(&files, 10_000).unwrap_or_default();
    for version in versions.iter().filter(|name| name.to_string_lossy().starts_with(|c: char| c.is_ascii_digit())) {
        let folder = files.join(version);
        if let Ok(bytes) = host.read(&folder.join(format!("CMake{language}Compiler.cmake")), 1 << 20) {
            let text = String::from_utf8_lossy(&bytes).into_owned();
            let value = |what: &str| {
                let start = format!("set(CMAKE_{language}_COMPILER{what} \"");
                text.lines().find_map(|line| line.trim().strip_prefix(start.as_str())?.strip_suffix("\")"))
            };
            let is_of_it = value("").is_some_and(|known| Path::new(known) == path);
            if let Some(id) = value("_ID").filter(|id| is_of_it && !id.is_empty()) {
                let version = value("_VERSION").filter(|version| !version.is_empty()).map(str::to_owned);
                return Family::of_id(id).map(|family| Kind { family, version });
            }
        }
        let program = folder.join(format!("CMakeDetermineCompilerABI_{language}.bin"));
        if let Some(kind) = host.read(&program, SMALL_PROGRAM).ok().and_then(|bytes| signed(&bytes)) {
            return Some(kind);
        }
    }
    let version = split(&name).map(|(_, _, after)| after.trim_start_matches('-')).filter(|text| !text.is_empty());
    Family::of_name(&name).map(|family| Kind { family, version: version.map(str::to_owned) })
}

/// Reads the signature that compilers leave in what they build. The C library's parts are signed by GCC in any program.
fn signed(bytes: &[u8]) -> Option<Kind> {
    let after = |mark: &[u8]| {
        let at = bytes.windows(mark.len()).position(|window| window == mark)? + mark.len();
        let rest = &bytes[at..];
        let end = rest.iter().position(|byte| *byte == 0).unwrap_or(rest.len()).min(200);
        Some(String::from_utf8_lossy(&rest[..end]).into_owned())
    };
    let version = |text: &str| {
        let text: String = text.chars().take_while(|c| c.is_ascii_digit() || *c == '.').collect();
        Some(text).filter(|text| !text.is_empty())
    };
    if let Some(rest) = after(b"clang version ") {
        return Some(Kind { family: Family::Clang, version: version(&rest) });
    }
    let rest = after(b"GCC: (")?;
    let number = rest.rsplit(')').next().unwrap_or_default().trim();
    Some(Kind { family: Family::Gnu, version: version(number) })
}

/// Finds a compiler of a kind in `folders`, for the languages that are asked for: of the same major version where there
/// is one, else the newest.
pub fn find(
    host: &dyn Host,
    folders: &[PathBuf],
    kind: &Kind,
    prefix: &str,
    [needs_c, needs_cxx]: [bool; 2],
) -> Option<Pair> {
    let [c_stem, cxx_stem] = kind.family.stems();
    let mut pairs: Vec<Pair> = Vec::new();
    for folder in folders {
        let names = host.list(folder, MOST_NAMES).unwrap_or_default();
        let mut versions: BTreeSet<String> = BTreeSet::new();
        for name in names.iter().filter_map(|name| name.to_str()) {
            if let Some((before, stem, version)) = split(name)
                && before == prefix
                && (stem == c_stem || stem == cxx_stem)
            {
                versions.insert(version.to_owned());
            }
        }
        for version in versions {
            let file = |stem: &str| {
                let path = folder.join(format!("{prefix}{stem}{version}"));
                (is_program(host, &path) && !is_front(host, &path)).then_some(path)
            };
            let (c, cxx) = (needs_c.then(|| file(c_stem)), needs_cxx.then(|| file(cxx_stem)));
            if c == Some(None) || cxx == Some(None) {
                continue;
            }
            let (c, cxx) = (c.flatten(), cxx.flatten());
            let major = c.as_ref().or(cxx.as_ref()).and_then(|path| major(host, path));
            pairs.push(Pair { c, cxx, major });
        }
    }
    let wanted = kind.major();
    // Of equals the first: the folders on PATH before the others.
    pairs.into_iter().rev().max_by_key(|pair| (wanted.is_some() && pair.major == wanted, pair.major, is_plain(pair)))
}

/// A plain name (`clang++`) stands beside the archiver of its own; what has a version in its name may not.
fn is_plain(pair: &Pair) -> bool {
    let name = pair.c.as_ref().or(pair.cxx.as_ref()).and_then(|path| path.file_name());
    name.is_some_and(|name| !name.to_string_lossy().ends_with(|c: char| c.is_ascii_digit()))
}

/// A compiler cache under a compiler's name runs whatever compiler it finds.
fn is_front(host: &dyn Host, path: &Path) -> bool {
    let real = host.real(path).unwrap_or_default();
    real.file_name().is_some_and(|name| ["ccache", "distcc", "icecc", "sccache"].iter().any(|front| name == *front))
}

/// Reads the major version from a program's names or from the folders that are installed beside it.
fn major(host: &dyn Host, path: &Path) -> Option<u32> {
    let real = host.real(path).ok()?;
    let number = |text: &str| text.split('.').next()?.parse::<u32>().ok();
    for path in [path, &real] {
        let name = path.file_name()?.to_string_lossy().into_owned();
        if let Some(major) = split(&name).and_then(|(_, _, after)| number(after.trim_start_matches('-'))) {
            return Some(major);
        }
    }
    let root = real.parent()?.parent()?;
    let listed = |folder: &Path| -> BTreeSet<u32> {
        let names = host.list(folder, 1000).unwrap_or_default();
        names.iter().filter_map(|name| number(name.to_str()?)).collect()
    };
    let mut majors = listed(&root.join("lib/clang"));
    if Family::of_name(&path.file_name()?.to_string_lossy()) == Some(Family::Gnu) {
        majors.clear();
        let triples = host.list(&root.join("lib/gcc"), 100).unwrap_or_default();
        for triple in triples.iter().filter(|name| name.to_string_lossy().starts_with(std::env::consts::ARCH)) {
            majors.extend(listed(&root.join("lib/gcc").join(triple)));
        }
    }
    // Of several it cannot be told which one the program belongs to.
    majors.first().copied().filter(|_| majors.len() == 1)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_tell_a_family() {
        for (name, want) in [
            ("clang++", Some(Family::Clang)),
            ("clang-15", Some(Family::Clang)),
            ("x86_64-conda-linux-gnu-g++", Some(Family::Gnu)),
            ("my-g++", Some(Family::Gnu)),
            ("gcc-12", Some(Family::Gnu)),
            ("cc", None),
            ("clang-cl", None),
            ("clang++-", None),
            ("icpx", None),
            ("tcc", None),
        ] {
            assert_eq!(Family::of_name(name), want, "{name}");
        }
        let own = format!("{}-conda-linux-gnu-", std::env::consts::ARCH);
        assert_eq!(prefixes("s390x-linux-gnu-g++-12"), ["s390x-linux-gnu-"]);
        assert_eq!(prefixes(&format!("{own}cc")), [own.as_str(), ""]);
        assert_eq!(prefixes("my-g++"), [""]);
    }

    #[test]
    fn what_a_compiler_built_tells_its_family() {
        let gnu = b"x\0GCC: (Debian 12.2.0-14+deb12u1) 12.2.0\0y";
        assert_eq!(signed(gnu).unwrap().told(), "GCC 12.2.0");
        let both = b"GCC: (Debian 12.2.0-14) 12.2.0\0Debian clang version 14.0.6\0";
        let kind = signed(both).unwrap();
        assert_eq!((kind.told().as_str(), kind.major()), ("Clang 14.0.6", Some(14)));
        assert_eq!(signed(b"\x7fELF nothing"), None);
    }
}
