//! Which files the dynamic loader of this machine would take, told from files and the environment.
//!
//! The order is glibc's: what is loaded already, `DT_RPATH` (where the object has no `DT_RUNPATH`), LD_LIBRARY_PATH,
//! `DT_RUNPATH`, the cache of `ldconfig`, the default folders. Files of another machine are passed over. Nothing is
//! run: `ldd` would run what it looks at.

mod cache;

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use super::elf::{Elf, NotElf, Symbol, VersionNeed};
use super::questions::object_kind::Target;
use super::{FileKind, Host};

/// Objects of one process at most.
const MOST_OBJECTS: usize = 500;

/// The loader, with the environment that the user's command gets.
pub struct Loader<'h> {
    host: &'h dyn Host,
    by_environment: Vec<PathBuf>,
    cache: Vec<(String, PathBuf)>,
    defaults: Vec<PathBuf>,
}

/// An object of a process.
pub struct Loaded<'h> {
    pub elf: Elf<'h>,
    /// The name it was asked for by.
    pub asked: String,
    /// Its `DT_RPATH`, and that of all that led to it.
    rpath: Vec<PathBuf>,
}

/// What gets loaded with a file.
pub struct Scope<'h> {
    /// In the order of a look-up; the file itself is the last of what was there before, then what it needs.
    pub objects: Vec<Loaded<'h>>,
    /// Names that no file was found for, with who asks.
    pub missing: Vec<(String, PathBuf)>,
    /// Set when the bound on objects was reached: what is not found may yet be there.
    pub cut: bool,
}

/// A version that the library which would be loaded does not give.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Lacking {
    pub need: VersionNeed,
    /// Who needs it.
    pub by: PathBuf,
    /// The library that lacks it.
    pub library: PathBuf,
}

impl<'h> Loader<'h> {
    /// Reads how this machine finds libraries.
    pub fn of(host: &'h dyn Host) -> Self {
        let given = host.env("LD_LIBRARY_PATH").unwrap_or_default();
        // Entries are parted by `;` as well; an empty one is the working folder.
        let given = given.to_string_lossy().into_owned();
        let project = host.project().as_path();
        let by_environment = match given.is_empty() {
            true => Vec::new(),
            false => given.split([':', ';']).map(|entry| project.join(entry)).collect(),
        };
        let mut defaults: Vec<PathBuf> = Vec::new();
        let machine = std::env::consts::ARCH;
        for folder in [format!("/lib/{machine}-linux-gnu"), format!("/usr/lib/{machine}-linux-gnu")] {
            defaults.push(folder.into());
        }
        for folder in ["/lib64", "/usr/lib64", "/lib", "/usr/lib"] {
            defaults.push(folder.into());
        }
        Self { host, by_environment, cache: cache::read(host), defaults }
    }

    /// Puts folders in front of LD_LIBRARY_PATH, to see what that would change.
    #[must_use]
    pub fn with_first(mut self, folders: &[PathBuf]) -> Self {
        self.by_environment.retain(|folder| !folders.contains(folder));
        self.by_environment.splice(0..0, folders.iter().cloned());
        self
    }

    /// The folders of LD_LIBRARY_PATH.
    pub fn environment(&self) -> &[PathBuf] {
        &self.by_environment
    }

    /// Says whether the loader looks into a folder without being told to.
    pub fn is_default(&self, folder: &Path) -> bool {
        let in_cache = || self.cache.iter().any(|(_, file)| file.parent() == Some(folder));
        self.defaults.iter().any(|default| default == folder) || in_cache()
    }

    /// Lists the files of the system's libraries.
    pub fn known(&self) -> impl Iterator<Item = PathBuf> {
        self.cache.iter().map(|(_, file)| file.clone())
    }

    /// Lists all files that go by a name, in the order in which the loader meets them without any `DT_RPATH`.
    pub fn all(&self, name: &str) -> Vec<PathBuf> {
        let in_folders = |folders: &[PathBuf]| folders.iter().map(|folder| folder.join(name)).collect::<Vec<_>>();
        let cached = self.cache.iter().filter(|(have, _)| have == name).map(|(_, file)| file.clone());
        let mut found: Vec<PathBuf> = Vec::new();
        for file in in_folders(&self.by_environment).into_iter().chain(cached).chain(in_folders(&self.defaults)) {
            if self.fits(&file, Target::here()) && !found.iter().any(|have| self.is_same(have, &file)) {
                found.push(file);
            }
        }
        found
    }

    /// Follows what a file needs. `before` are files that the process has loaded already, the program first.
    pub fn scope(&self, file: &Path, before: &[PathBuf]) -> Result<Scope<'h>, NotElf> {
        let mut scope = Scope { objects: Vec::new(), missing: Vec::new(), cut: false };
        let mut by_name: BTreeMap<String, usize> = BTreeMap::new();
        let program_rpath = match before.first().map(|program| Elf::open(self.host, program)) {
            Some(Ok(program)) if program.runpath()?.is_none() => program.rpath()?,
            Some(Ok(_) | Err(_)) | None => Vec::new(),
        };
        for path in before {
            // What cannot be read was not loaded from here.
            let Ok(elf) = Elf::open(self.host, path) else { continue };
            self.add(&mut scope, &mut by_name, elf, "", &program_rpath)?;
        }
        let first = scope.objects.len();
        self.add(&mut scope, &mut by_name, Elf::open(self.host, file)?, "", &program_rpath)?;
        let mut at = 0;
        while at < scope.objects.len() {
            let object = &scope.objects[at];
            let target = object.elf.target();
            let rpath = object.rpath.clone();
            for name in object.elf.needed()? {
                if by_name.contains_key(&name) {
                    continue;
                }
                if scope.objects.len() == MOST_OBJECTS {
                    scope.cut = true;
                    break;
                }
                let asked_by = scope.objects[at].elf.path().to_owned();
                let found = self.find(&name, &scope.objects[at], target)?;
                match found.map(|path| Elf::open(self.host, &path)) {
                    Some(Ok(elf)) => self.add(&mut scope, &mut by_name, elf, &name, &rpath)?,
                    Some(Err(_)) | None if at >= first || first == 0 => scope.missing.push((name, asked_by)),
                    Some(Err(_)) | None => {}
                }
            }
            at += 1;
        }
        Ok(scope)
    }

    fn add(
        &self,
        scope: &mut Scope<'h>,
        by_name: &mut BTreeMap<String, usize>,
        elf: Elf<'h>,
        asked: &str,
        inherited: &[PathBuf],
    ) -> Result<(), NotElf> {
        let at = scope.objects.len();
        if !asked.is_empty() {
            by_name.insert(asked.to_owned(), at);
        }
        if let Some(soname) = elf.soname()? {
            by_name.entry(soname).or_insert(at);
        }
        let own = if elf.runpath()?.is_none() { elf.rpath()? } else { Vec::new() };
        let rpath = own.into_iter().chain(inherited.iter().cloned()).collect();
        scope.objects.push(Loaded { elf, asked: asked.to_owned(), rpath });
        Ok(())
    }

    /// Finds the file for a name that `by` needs.
    fn find(&self, name: &str, by: &Loaded<'_>, target: Target) -> Result<Option<PathBuf>, NotElf> {
        if name.contains('/') {
            let path = self.host.project().as_path().join(name);
            return Ok(self.fits(&path, target).then_some(path));
        }
        let runpath = by.elf.runpath()?;
        let rpath: &[PathBuf] = if runpath.is_none() { &by.rpath } else { &[] };
        let runpath = runpath.unwrap_or_default();
        let in_folders =
            |folders: &[PathBuf]| folders.iter().map(|folder| folder.join(name)).find(|path| self.fits(path, target));
        let cached = || {
            let files = self.cache.iter().filter(|(have, _)| have == name).map(|(_, file)| file);
            files.into_iter().find(|file| self.fits(file, target)).cloned()
        };
        Ok(in_folders(rpath)
            .or_else(|| in_folders(&self.by_environment))
            .or_else(|| in_folders(&runpath))
            .or_else(cached)
            .or_else(|| in_folders(&self.defaults)))
    }

    fn fits(&self, path: &Path, target: Target) -> bool {
        self.host.follow(path).is_ok_and(|meta| meta.kind == FileKind::File)
            && self.host.head(path, 64).is_ok_and(|head| Target::of_elf(&head) == Some(target))
    }

    fn is_same(&self, one: &Path, two: &Path) -> bool {
        one == two || matches!((self.host.real(one), self.host.real(two)), (Ok(one), Ok(two)) if one == two)
    }
}

impl<'h> Scope<'h> {
    /// Returns the file that a name was answered with.
    pub fn library(&self, name: &str) -> Option<&Elf<'h>> {
        let is_it =
            |loaded: &&Loaded<'h>| loaded.asked == name || loaded.elf.soname().ok().flatten().as_deref() == Some(name);
        self.objects.iter().find(is_it).map(|loaded| &loaded.elf)
    }

    /// Lists the versions that the libraries of the scope do not give.
    pub fn lacking(&self) -> Result<Vec<Lacking>, NotElf> {
        let mut lacking = Vec::new();
        let mut given: BTreeMap<PathBuf, Vec<String>> = BTreeMap::new();
        for object in &self.objects {
            for need in object.elf.version_needs()? {
                let Some(library) = self.library(&need.library) else { continue };
                if !given.contains_key(library.path()) {
                    given.insert(library.path().to_owned(), library.versions()?);
                }
                let versions = &given[library.path()];
                // A library without versions serves everyone; the loader only warns.
                if !need.weak && !versions.is_empty() && !versions.contains(&need.version) {
                    let (by, library) = (object.elf.path().to_owned(), library.path().to_owned());
                    lacking.push(Lacking { need, by, library });
                }
            }
        }
        Ok(lacking)
    }

    /// Lists the symbols of one object that nothing in the scope gives.
    pub fn unresolved(&self, object: &Elf<'_>) -> Result<Vec<Symbol>, NotElf> {
        let mut left = object.wanted()?;
        for loaded in &self.objects {
            if left.is_empty() {
                break;
            }
            let mut given: BTreeMap<&str, Vec<&Symbol>> = BTreeMap::new();
            let symbols = loaded.elf.symbols()?;
            for symbol in symbols.iter().filter(|symbol| symbol.defined) {
                given.entry(&symbol.name).or_default().push(symbol);
            }
            left.retain(|wanted| {
                !given.get(wanted.name.as_str()).is_some_and(|given| given.iter().any(|given| given.meets(wanted)))
            });
        }
        Ok(left)
    }

    /// Returns the first library of the scope that gives a symbol of this name.
    pub fn giver(&self, name: &str) -> Option<&Elf<'h>> {
        self.objects.iter().map(|loaded| &loaded.elf).find(|elf| elf.gives(name).unwrap_or(false))
    }
}
