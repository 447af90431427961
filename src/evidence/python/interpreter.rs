//! A Python interpreter and its environment, read from the files around its program.

use std::cell::RefCell;
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use crate::evidence::{FileKind, Host};
use crate::formats::python_metadata;
use crate::os::AbsPath;

/// A Python interpreter with its environment.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Interpreter {
    /// As the user calls it; its links are not followed, since a virtual environment is found by the link's place.
    pub executable: AbsPath,
    /// The environment: `sys.prefix`.
    pub prefix: AbsPath,
    /// Where the standard library is: `sys.base_prefix`.
    pub base: AbsPath,
    pub major: u32,
    pub minor: u32,
    /// `3.11.7`, where some file tells.
    pub full: Option<String>,
    /// Built without the global lock (3.13t).
    pub free_threaded: bool,
    pub kind: Kind,
    /// `None` where the program does not tell.
    pub platform: Option<Platform>,
    /// Where packages are, the folder that pip installs into first.
    pub packages: Vec<AbsPath>,
    /// Kept by the system's package manager (PEP 668).
    pub externally_managed: bool,
}

/// What kind of environment an interpreter is in.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Kind {
    Virtual,
    Conda,
    /// An installation that virtual environments are made from.
    Base,
}

/// What machine code and which C library an interpreter is made of.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Platform {
    /// As tags name it: `x86_64`, `aarch64`.
    pub arch: String,
    pub libc: Libc,
}

/// A C library and its version.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Libc {
    Glibc(u32, u32),
    Musl,
    Unknown,
}

/// Settings of an environment are short.
const SHORT: u64 = 64 << 10;
/// Program headers stand near the beginning.
const HEAD: u64 = 16 << 10;
/// A C library.
const LIBC: u64 = 16 << 20;
const MOST_NAMES: usize = 10_000;

impl Interpreter {
    /// Reads the interpreter that a program is; `None` where it is no CPython that this machine can run.
    pub fn at(host: &dyn Host, executable: &AbsPath) -> Option<Self> {
        let executable = behind_shim(host, executable)?;
        let real = host.real(executable.as_path()).ok()?;
        if host.follow(&real).ok()?.mode & 0o111 == 0 {
            return None;
        }
        let platform = platform(host, &real);
        let name = real.file_name()?.to_str()?;
        let rest = name.strip_prefix("python")?;
        let folder = executable.parent()?;
        let config = [folder.parent(), Some(folder.clone())]
            .into_iter()
            .flatten()
            .find_map(|prefix| Some((settings(host, &prefix)?, prefix)));
        let base = AbsPath::new(real.parent()?.parent()?).ok()?;
        let told = config.as_ref().and_then(|(config, _)| {
            config.get("version").or_else(|| config.get("version_info")).map(|version| release(version))
        });
        let (major, minor, free_threaded) = version_of_name(rest)
            .or_else(|| told.as_deref().and_then(version_of_name))
            .or_else(|| only(host, &base))?;
        let short = format!("{major}.{minor}");
        let belongs = |full: &String| *full == short || full.starts_with(&format!("{short}."));
        let full = told.filter(|full| belongs(full) && full.matches('.').count() == 2);
        let full = full.or_else(|| full_version(host, &base, &short));
        let free_threaded = free_threaded || is_free_threaded(host, &base, &short);
        let library = format!("python{short}{}", if free_threaded { "t" } else { "" });
        let managed = [&base, &base.resolve("local")].iter().any(|base| {
            host.follow(base.resolve("lib").resolve(&library).resolve("EXTERNALLY-MANAGED").as_path()).is_ok()
        });
        let (prefix, kind) = match &config {
            Some((_, prefix)) => (prefix.clone(), Kind::Virtual),
            None if host.follow(base.resolve("conda-meta").as_path()).is_ok() => (base.clone(), Kind::Conda),
            None => (base.clone(), Kind::Base),
        };
        let mut packages = Vec::new();
        add_packages(host, &prefix, &library, &mut packages);
        let sees_base = config
            .as_ref()
            .is_none_or(|(config, _)| config.get("include-system-site-packages").is_some_and(|v| v == "true"));
        if sees_base {
            add_packages(host, &base, &library, &mut packages);
            add_system_packages(host, &base, &library, &mut packages);
        }
        Some(Self {
            executable,
            prefix,
            base,
            major,
            minor,
            full,
            free_threaded,
            externally_managed: kind == Kind::Base && managed,
            kind,
            platform,
            packages,
        })
    }

    /// `3.11`
    pub fn short_version(&self) -> String {
        format!("{}.{}", self.major, self.minor)
    }

    /// The version as exactly as it is known.
    pub fn version(&self) -> String {
        self.full.clone().unwrap_or_else(|| self.short_version())
    }

    /// The tag of this very version: `cp311`.
    pub fn tag(&self) -> String {
        format!("cp{}{}", self.major, self.minor)
    }

    /// Where pip puts packages of this environment.
    pub fn site_packages(&self) -> Option<&AbsPath> {
        self.packages.iter().find(|folder| folder.is_within(&self.prefix))
    }

    /// Where pip puts scripts of this environment.
    pub fn scripts(&self) -> AbsPath {
        self.prefix.resolve("bin")
    }
}

/// Follows pyenv's shim, a script, to the program that it starts in the project; anything else is returned as it is.
fn behind_shim(host: &dyn Host, executable: &AbsPath) -> Option<AbsPath> {
    let folder = executable.parent()?;
    if folder.file_name()? != "shims" {
        return Some(executable.clone());
    }
    let root = folder.parent()?;
    pyenv_program(host, &root, executable.file_name()?.to_str()?)
}

/// Finds the program of a name in the version that pyenv takes for the project.
pub(super) fn pyenv_program(host: &dyn Host, root: &AbsPath, name: &str) -> Option<AbsPath> {
    let wanted = match host.env("PYENV_VERSION").and_then(|value| value.into_string().ok()).filter(|v| !v.is_empty()) {
        Some(versions) => versions.split(':').map(str::to_owned).collect(),
        None => {
            let mut folders = Vec::new();
            let mut at = Some(host.project().clone());
            while let Some(folder) = at {
                folders.push(folder.resolve(".python-version"));
                at = folder.parent();
            }
            folders.push(root.resolve("version"));
            let text = folders.iter().find_map(|file| host.read(file.as_path(), SHORT).ok())?;
            let text = String::from_utf8_lossy(&text).into_owned();
            text.split_whitespace().map(str::to_owned).collect::<Vec<String>>()
        }
    };
    let is_plain = |version: &&String| !version.contains('/') && version.as_str() != "..";
    wanted.iter().filter(is_plain).find_map(|version| {
        let program = root.resolve("versions").resolve(version).resolve("bin").resolve(name);
        host.follow(program.as_path()).is_ok_and(|meta| meta.kind == FileKind::File).then_some(program)
    })
}

fn settings(host: &dyn Host, prefix: &AbsPath) -> Option<std::collections::BTreeMap<String, String>> {
    let bytes = host.read(prefix.resolve("pyvenv.cfg").as_path(), SHORT).ok()?;
    Some(python_metadata::settings(&String::from_utf8_lossy(&bytes)))
}

/// Returns the first three numbers: `3.11.7` of `3.11.7.final.0`.
fn release(version: &str) -> String {
    version.split('.').take(3).collect::<Vec<_>>().join(".")
}

/// Reads `3.11`, `3.13t` or `3.11.7`.
fn version_of_name(rest: &str) -> Option<(u32, u32, bool)> {
    let (major, rest) = rest.split_once('.')?;
    let rest = rest.split('.').next()?;
    let (minor, free) = rest.strip_suffix('t').map_or((rest, false), |minor| (minor, true));
    let number = |text: &str| text.parse::<u32>().ok().filter(|number| *number < 1000);
    Some((number(major)?, number(minor)?, free))
}

/// Takes the version from the only standard library below a prefix.
fn only(host: &dyn Host, base: &AbsPath) -> Option<(u32, u32, bool)> {
    let lib = base.resolve("lib");
    let names = host.list(lib.as_path(), MOST_NAMES).ok()?;
    let mut found = names.iter().filter_map(|name| {
        let version = version_of_name(name.to_str()?.strip_prefix("python")?)?;
        host.follow(lib.resolve(name).resolve("os.py").as_path()).ok().map(|_| version)
    });
    let first = found.next()?;
    found.next().is_none().then_some(first)
}

fn is_free_threaded(host: &dyn Host, base: &AbsPath, short: &str) -> bool {
    let has = |name: String| host.follow(base.resolve("lib").resolve(name).resolve("os.py").as_path()).is_ok();
    has(format!("python{short}t")) && !has(format!("python{short}"))
}

/// Finds the whole version in a header file, or in the name of the installation's folder.
fn full_version(host: &dyn Host, base: &AbsPath, short: &str) -> Option<String> {
    let header = base.resolve("include").resolve(format!("python{short}")).resolve("patchlevel.h");
    if let Ok(text) = host.read(header.as_path(), SHORT) {
        let text = String::from_utf8_lossy(&text).into_owned();
        let version = text.lines().find_map(|line| {
            let mut words = line.split_whitespace();
            (words.next() == Some("#define") && words.next() == Some("PY_VERSION")).then(|| words.next())?
        });
        if let Some(version) = version {
            return Some(version.trim_matches('"').trim_end_matches('+').to_owned());
        }
    }
    // `versions/3.11.7` of pyenv, `cpython-3.11.7-linux-x86_64-gnu` of uv.
    let name = base.file_name()?.to_str()?;
    let version = name.strip_prefix("cpython-").and_then(|rest| rest.split('-').next()).unwrap_or(name);
    let is_full = version.split('.').count() == 3 && version.bytes().all(|byte| byte.is_ascii_digit() || byte == b'.');
    (is_full && version.starts_with(&format!("{short}."))).then(|| version.to_owned())
}

fn add_packages(host: &dyn Host, prefix: &AbsPath, library: &str, packages: &mut Vec<AbsPath>) {
    for lib in ["lib", "lib64"] {
        let folder = prefix.resolve(lib).resolve(library).resolve("site-packages");
        add(host, folder, packages);
    }
}

/// Where Debian keeps what its own packages and pip install, and where users have theirs.
fn add_system_packages(host: &dyn Host, base: &AbsPath, library: &str, packages: &mut Vec<AbsPath>) {
    if base.as_path() == Path::new("/usr") {
        let local = base.resolve("local/lib").resolve(library);
        for folder in
            [local.resolve("dist-packages"), local.resolve("site-packages"), base.resolve("lib/python3/dist-packages")]
        {
            add(host, folder, packages);
        }
    }
    if let Some(home) = host.home() {
        add(host, home.resolve(".local/lib").resolve(library).resolve("site-packages"), packages);
    }
}

/// Adds a folder that is there; `lib64` is mostly a link to `lib`.
fn add(host: &dyn Host, folder: AbsPath, packages: &mut Vec<AbsPath>) {
    let Ok(real) = host.real(folder.as_path()) else { return };
    if !packages.iter().any(|known| host.real(known.as_path()).is_ok_and(|known| known == real)) {
        packages.push(folder);
    }
}

/// Reads the program's header, and the version of the C library that its loader belongs to.
fn platform(host: &dyn Host, program: &Path) -> Option<Platform> {
    let head = host.head(program, HEAD).ok()?;
    let elf = Elf::read(&head)?;
    let arch = match (elf.machine, elf.bits, elf.big) {
        (62, 64, false) => "x86_64",
        (62 | 3, 32, false) => "i686",
        (183, 64, false) => "aarch64",
        (243, 64, false) => "riscv64",
        (258, 64, false) => "loongarch64",
        (21, 64, false) => "ppc64le",
        (21, 64, true) => "ppc64",
        (22, 64, true) => "s390x",
        (40, 32, false) => "armv7l",
        _ => return None,
    };
    let libc = elf.interpreter(&head).map_or(Libc::Unknown, |loader| libc(host, &loader));
    Some(Platform { arch: arch.to_owned(), libc })
}

fn libc(host: &dyn Host, loader: &Path) -> Libc {
    if loader.to_string_lossy().contains("/ld-musl-") {
        return Libc::Musl;
    }
    let Ok(real) = host.real(loader) else { return Libc::Unknown };
    let Some(folder) = real.parent() else { return Libc::Unknown };
    let library = folder.join("libc.so.6");
    let read = || host.read(&library, LIBC).ok().and_then(|bytes| glibc_version(&bytes));
    let version = match host.memo().map(|memo| memo.get_or(Libraries::default)) {
        Some(known) => *known.0.borrow_mut().entry(library.clone()).or_insert_with(read),
        None => read(),
    };
    version.map_or(Libc::Unknown, |(major, minor)| Libc::Glibc(major, minor))
}

/// The versions of C libraries that were looked through: all of one is read.
#[derive(Default)]
struct Libraries(RefCell<BTreeMap<PathBuf, Option<(u32, u32)>>>);

/// Finds `GNU C Library (…) stable release version 2.36.` in the library itself.
fn glibc_version(bytes: &[u8]) -> Option<(u32, u32)> {
    let banner = memchr::memmem::find(bytes, b"GNU C Library")?;
    let line = bytes[banner..].split(|byte| *byte == b'\n').next()?;
    let text = String::from_utf8_lossy(&line[..line.len().min(300)]).into_owned();
    let version = text.split_once("release version ")?.1;
    let mut numbers = version.split(|c: char| !c.is_ascii_digit());
    Some((numbers.next()?.parse().ok()?, numbers.next()?.parse().ok()?))
}

/// What an ELF header says.
struct Elf {
    machine: u16,
    bits: u8,
    big: bool,
}

impl Elf {
    fn read(head: &[u8]) -> Option<Self> {
        if head.len() < 64 || !head.starts_with(b"\x7fELF") {
            return None;
        }
        let bits = if head[4] == 2 { 64 } else { 32 };
        let elf = Self { machine: 0, bits, big: head[5] == 2 };
        Some(Self { machine: elf.number(head, 18, 2)? as u16, ..elf })
    }

    fn number(&self, bytes: &[u8], at: usize, len: usize) -> Option<u64> {
        let field = bytes.get(at..at.checked_add(len)?)?;
        let fold = |sum: u64, byte: &u8| (sum << 8) | u64::from(*byte);
        Some(if self.big { field.iter().fold(0, fold) } else { field.iter().rev().fold(0, fold) })
    }

    /// Returns the loader that the program asks for.
    fn interpreter(&self, head: &[u8]) -> Option<PathBuf> {
        let wide = self.bits == 64;
        let number = |at, len| self.number(head, at, len);
        let table = if wide { number(32, 8)? } else { number(28, 4)? };
        let (size, count) = if wide { (number(54, 2)?, number(56, 2)?) } else { (number(42, 2)?, number(44, 2)?) };
        for index in 0..count.min(64) {
            let at = usize::try_from(table.checked_add(index * size)?).ok()?;
            if number(at, 4)? != 3 {
                continue;
            }
            let (offset, len) = if wide {
                (number(at.checked_add(8)?, 8)?, number(at.checked_add(32)?, 8)?)
            } else {
                (number(at.checked_add(4)?, 4)?, number(at.checked_add(16)?, 4)?)
            };
            let start = usize::try_from(offset).ok()?;
            let end = start.checked_add(usize::try_from(len).ok()?)?;
            let text = std::str::from_utf8(head.get(start..end)?).ok()?;
            return Some(PathBuf::from(text.trim_end_matches('\0')));
        }
        None
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn versions_are_read_from_names() {
        for (rest, want) in [
            ("3.11", Some((3, 11, false))),
            ("3.13t", Some((3, 13, true))),
            ("3.11.7", Some((3, 11, false))),
            ("2.7", Some((2, 7, false))),
            ("3", None),
            ("", None),
            ("3.11-config", None),
            ("3.99999", None),
        ] {
            assert_eq!(version_of_name(rest), want, "{rest}");
        }
    }

    #[test]
    fn the_banner_of_glibc_is_read() {
        let banner = b"\0\0GNU C Library (Debian GLIBC 2.36-9+deb12u9) stable release version 2.36.\nCopyright";
        assert_eq!(glibc_version(banner), Some((2, 36)));
        assert_eq!(glibc_version(b"GNU C Library (GNU libc) development release version 2.40.9000.\n"), Some((2, 40)));
        assert_eq!(glibc_version(b"musl libc"), None);
    }

    #[test]
    fn a_cut_or_strange_header_is_no_error() {
        let program = std::fs::read("/bin/sh").unwrap();
        for len in (0..program.len().min(4096)).step_by(7) {
            if let Some(elf) = Elf::read(&program[..len]) {
                let _ = elf.interpreter(&program[..len]);
            }
        }
        let mut odd = program[..1024].to_vec();
        odd[32..64].fill(0xff);
        let elf = Elf::read(&odd).unwrap();
        assert_eq!(elf.interpreter(&odd), None);
    }
}
