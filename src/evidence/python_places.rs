//! Where the Python of the user's command keeps what it imports, told from files and the environment.
//!
//! Only as much as a look-up of libraries needs: the interpreter's file and the folders with packages. Nothing is run.

use std::ffi::OsString;
use std::path::{Path, PathBuf};

use super::build_command::{base_name, plain_words, shell_parts, strip_wrappers};
use super::python::installer::program_path;
use super::{FileKind, Host};

/// What was found of a Python.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct PythonPlaces {
    /// The interpreter, as the environment leads to it.
    pub program: Option<PathBuf>,
    /// `(3, 11)`, from the name of its file or of its folder of packages.
    pub version: Option<(u32, u32)>,
    /// Folders that hold packages, in the order of a look-up.
    pub folders: Vec<PathBuf>,
}

/// Names in a folder at most.
const MOST_NAMES: usize = 20_000;

impl PythonPlaces {
    /// Looks for the Python that `command` runs, else for the one of the environment. `library` is a file that it
    /// imports: where that lies among packages, the others are beside it.
    pub fn of(host: &dyn Host, command: Option<&[OsString]>, library: Option<&Path>) -> Self {
        let program = program(host, command);
        let mut places = Self { program: program.clone(), ..Self::default() };
        let mut add = |folder: PathBuf| {
            let is_folder = host.follow(&folder).is_ok_and(|meta| meta.kind == FileKind::Folder);
            if is_folder && !places.folders.contains(&folder) {
                places.folders.push(folder);
            }
        };
        add(host.project().as_path().to_owned());
        let given = host.env("PYTHONPATH").unwrap_or_default();
        for folder in std::env::split_paths(&given).filter(|folder| !folder.as_os_str().is_empty()) {
            add(host.project().as_path().join(folder));
        }
        for folder in library.into_iter().flat_map(Path::ancestors).skip(1) {
            let name = folder.file_name().unwrap_or_default();
            if name == "site-packages" || name == "dist-packages" {
                add(folder.to_owned());
            }
        }
        let Some(program) = program else { return places };
        let real = host.real(&program).unwrap_or_else(|_| program.clone());
        let mut version = real.file_name().and_then(|name| version_of(name.to_str()?.strip_prefix("python")?));
        // An environment of its own comes first, then what it was made from.
        for prefix in [&program, &real].into_iter().filter_map(|program| program.parent()?.parent()) {
            for lib in [prefix.join("lib"), prefix.join("lib64"), prefix.join("local/lib")] {
                for name in host.list(&lib, MOST_NAMES).unwrap_or_default() {
                    let found = name.to_str().and_then(|name| version_of(name.strip_prefix("python")?));
                    if found.is_none() || (version.is_some() && version != found) {
                        continue;
                    }
                    version = found;
                    add(lib.join(&name).join("site-packages"));
                    add(lib.join(&name).join("dist-packages"));
                }
            }
            if host.follow(&prefix.join("pyvenv.cfg")).is_ok() {
                break;
            }
            add(prefix.join("lib/python3/dist-packages"));
        }
        places.version = version;
        places
    }

    /// Lists the library folders of a package that is installed: `<package>/lib`.
    pub fn of_package(&self, host: &dyn Host, package: &str) -> Option<PathBuf> {
        let folders = self.folders.iter().map(|folder| folder.join(package).join("lib"));
        folders.into_iter().find(|folder| host.follow(folder).is_ok_and(|meta| meta.kind == FileKind::Folder))
    }
}

/// Takes `3.11` apart; anything behind it but a letter of a build is no version.
fn version_of(text: &str) -> Option<(u32, u32)> {
    let (major, minor) = text.split_once('.')?;
    Some((major.parse().ok()?, minor.parse().ok()?))
}

fn program(host: &dyn Host, command: Option<&[OsString]>) -> Option<PathBuf> {
    let find = |name: &str| program_path(host, name).map(|path| path.as_path().to_owned());
    let named = command.and_then(named_python).and_then(|name| find(&name));
    let of_environment = ["VIRTUAL_ENV", "CONDA_PREFIX"].iter().find_map(|name| {
        let program = PathBuf::from(host.env(name)?).join("bin/python");
        host.follow(&program).is_ok().then_some(program)
    });
    named.or_else(|| ["python3", "python"].iter().find_map(|name| find(name))).or(of_environment)
}

/// Returns the last Python that a command names: the one that imports comes after the one that builds.
fn named_python(command: &[OsString]) -> Option<String> {
    let words = plain_words(command)?;
    let words = strip_wrappers(&words)?;
    let is_python = |word: &String| {
        base_name(word).strip_prefix("python").is_some_and(|rest| rest.bytes().all(|b| b.is_ascii_digit() || b == b'.'))
    };
    match shell_parts(words) {
        None => words.first().filter(|word| is_python(word)).cloned(),
        Some(parts) => parts.iter().rev().find_map(|part| {
            let words = shell_words::split(part).ok()?;
            strip_wrappers(&words)?.iter().find(|word| is_python(word)).cloned()
        }),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::evidence::LocalHost;
    use crate::evidence::questions::testing::NoGit;
    use crate::os::AbsPath;
    use std::fs;
    use std::os::unix::fs::{PermissionsExt, symlink};

    #[test]
    fn an_environment_hides_what_it_was_made_from() {
        let folder = tempfile::tempdir().unwrap();
        let root = AbsPath::new(folder.path().canonicalize().unwrap()).unwrap();
        let path = |name: &str| root.resolve(name).as_path().to_owned();
        for name in [
            "base/bin",
            "base/lib/python3.11/site-packages",
            "base/lib/python3.9/site-packages",
            "venv/bin",
            "venv/lib/python3.11/site-packages",
            "project",
        ] {
            fs::create_dir_all(path(name)).unwrap();
        }
        fs::write(path("base/bin/python3.11"), "").unwrap();
        fs::set_permissions(path("base/bin/python3.11"), fs::Permissions::from_mode(0o755)).unwrap();
        symlink(path("base/bin/python3.11"), path("venv/bin/python")).unwrap();
        fs::write(path("venv/pyvenv.cfg"), "home = …").unwrap();
        let env = [("PATH".into(), path("venv/bin").into_os_string())];
        let host = LocalHost::new(root.resolve("project"), env, Box::new(NoGit));
        let places = PythonPlaces::of(&host, None, None);
        assert_eq!(places.program, Some(path("venv/bin/python")));
        assert_eq!(places.version, Some((3, 11)));
        assert_eq!(places.folders, [path("project"), path("venv/lib/python3.11/site-packages")]);
        let line = format!("pip install . && {} -c 'import x'", path("base/bin/python3.11").display());
        let command = ["bash", "-c", &line].map(OsString::from);
        let places = PythonPlaces::of(&host, Some(&command), None);
        assert_eq!(places.folders, [path("project"), path("base/lib/python3.11/site-packages")]);
    }
}
