//! Which versions of the software that matters are here, as its own files say it: for a bug report.
//!
//! Nothing is executed and nothing is imported; what no file tells is left out.

use std::ffi::OsString;
use std::path::{Path, PathBuf};

use super::python::{Interpreter, Kind, installer};
use super::{FileKind, Host, build_tree};
use crate::formats::cmake_cache::CMakeCache;

/// One piece of software.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub struct Installed {
    pub name: String,
    pub version: String,
    /// The kind of file that says it.
    pub told_by: &'static str,
}

/// Python packages that a report names.
const PACKAGES: &[&str] = &[
    "torch",
    "torch_npu",
    "mindspore",
    "triton",
    "triton_ascend",
    "triton_dist",
    "hyper_parallel",
    "pytorch_triton",
    "torchvision",
    "numpy",
    "setuptools",
    "pip",
    "wheel",
    "cmake",
    "ninja",
    "pybind11",
    "lit",
    "scikit_build_core",
    "vllm",
    "vllm_ascend",
];

/// Where CANN stands when no variable says it.
const CANN: &[&str] =
    &["/usr/local/Ascend/ascend-toolkit/latest", "/usr/local/Ascend/cann", "/usr/local/Ascend/latest"];

/// Names of a folder of packages that are looked at.
const MOST_NAMES: usize = 20_000;
const LARGEST: u64 = 1 << 20;

/// Python packages that builds need and that a report misses where they are not there.
const BUILD_PACKAGES: &[&str] = &["pip", "setuptools", "wheel"];
/// Stands for the version of what is not there.
pub const NOT_INSTALLED: &str = "not installed";

/// Lists what is here for a command, or for the environment where it is empty, sorted by name.
pub fn installed(host: &dyn Host, command: &[OsString]) -> Vec<Installed> {
    let mut all = Vec::new();
    system(host, &mut all);
    let interpreter = python_of(host, command);
    if let Some(interpreter) = &interpreter {
        python(host, interpreter, &mut all);
    }
    cmake_on_path(host, interpreter.as_ref(), &mut all);
    cann(host, &mut all);
    native(host, &mut all);
    all.retain(|one| !one.version.is_empty());
    all.sort();
    all.dedup();
    all
}

/// The devices that the PCI bus names, where they are of the maker of Ascend chips.
pub fn accelerators(host: &dyn Host) -> Vec<String> {
    let mut all = Vec::new();
    let bus = Path::new("/sys/bus/pci/devices");
    for device in host.list(bus, 4096).unwrap_or_default() {
        let read = |name: &str| text(host, &bus.join(&device).join(name)).trim().to_owned();
        if read("vendor") == "0x19e5" && read("class").starts_with("0x12") {
            all.push(format!("PCI 19e5:{}", read("device").trim_start_matches("0x")));
        }
    }
    all.sort();
    all
}

fn system(host: &dyn Host, all: &mut Vec<Installed>) {
    for file in ["/etc/os-release", "/usr/lib/os-release"] {
        let content = text(host, Path::new(file));
        if let Some(name) = value(&content, "PRETTY_NAME") {
            add(all, "os", name.trim_matches(['"', '\'']), "os-release");
            break;
        }
    }
    let kernel = text(host, Path::new("/proc/sys/kernel/osrelease"));
    // What follows the numbers may be a company's own.
    let numbers: String = kernel.trim().chars().take_while(|c| c.is_ascii_digit() || *c == '.').collect();
    add(all, "kernel", &format!("{} {}", numbers.trim_end_matches('.'), std::env::consts::ARCH), "/proc");
}

/// The Python that the command means, else the one of the active environment or of PATH: that one alone. What another
/// Python has says nothing about the build.
fn python_of(host: &dyn Host, command: &[OsString]) -> Option<Interpreter> {
    let command = (!command.is_empty()).then_some(command);
    let of_command = command.and_then(|command| {
        let installs = installer::direct(host, command).and_then(|found| found.python);
        installs.or_else(|| installer::running(host, Some(command)))
    });
    of_command.or_else(|| installer::running(host, None))
}

fn python(host: &dyn Host, python: &Interpreter, all: &mut Vec<Installed>) {
    let told_by = match python.kind {
        Kind::Virtual => "pyvenv.cfg",
        Kind::Conda => "conda-meta",
        Kind::Base => "the interpreter's files",
    };
    add(all, "python", &python.version(), told_by);
    let path = host.env("PYTHONPATH").unwrap_or_default();
    let given = std::env::split_paths(&path).filter(|folder| folder.is_absolute());
    let folders: Vec<PathBuf> = given.chain(python.packages.iter().map(|folder| folder.as_path().to_owned())).collect();
    for folder in &folders {
        packages_in(host, folder, all);
    }
    for name in BUILD_PACKAGES {
        if !all.iter().any(|one| one.name == *name) {
            add(all, name, NOT_INSTALLED, "site-packages");
        }
    }
}

/// Adds the packages of one folder; the first folder that has one wins.
fn packages_in(host: &dyn Host, folder: &Path, all: &mut Vec<Installed>) {
    for name in names(host, folder) {
        let Some(stem) = name.strip_suffix(".dist-info").or_else(|| name.strip_suffix(".egg-info")) else { continue };
        let mut parts = stem.split('-');
        let (Some(package), Some(version)) = (parts.next(), parts.next()) else { continue };
        let package = package.to_ascii_lowercase();
        if PACKAGES.contains(&package.as_str()) && !all.iter().any(|one| one.name == package) {
            add(all, &package, version, "dist-info");
        }
    }
}

fn cann(host: &dyn Host, all: &mut Vec<Installed>) {
    let named = ["ASCEND_HOME_PATH", "ASCEND_TOOLKIT_HOME"].iter().filter_map(|name| host.env(name).map(PathBuf::from));
    let roots = named.chain(CANN.iter().map(PathBuf::from)).filter(|root| root.is_absolute());
    for root in roots {
        let files = [
            "aarch64-linux/ascend_toolkit_install.info",
            "x86_64-linux/ascend_toolkit_install.info",
            "share/info/runtime/version.info",
            "runtime/version.info",
            "version.cfg",
        ];
        let version = files.iter().find_map(|file| {
            let content = text(host, &root.join(file));
            value(&content, "version").or_else(|| value(&content, "Version")).map(str::to_owned)
        });
        if let Some(version) = version {
            add(all, "CANN", &version, "version.info");
            let opp = text(host, &root.join("opp/version.info"));
            add(all, "CANN opp", value(&opp, "Version").unwrap_or_default(), "version.info");
            break;
        }
    }
    let place = text(host, Path::new("/etc/ascend_install.info"));
    let driver = place
        .lines()
        .find(|line| line.to_ascii_lowercase().starts_with("driver_install_path_param="))
        .and_then(|line| line.split_once('='))
        .map_or("/usr/local/Ascend", |(_, path)| path.trim());
    for part in ["driver", "firmware"] {
        let content = text(host, &Path::new(driver).join(part).join("version.info"));
        add(all, part, value(&content, "Version").unwrap_or_default(), "version.info");
    }
}

/// CMake and the compilers, as the project's build trees know them.
fn native(host: &dyn Host, all: &mut Vec<Installed>) {
    for tree in build_tree::search(host, host.project()).into_iter().take(3) {
        let Some(bytes) = build_tree::read_cache(host, tree.as_path()) else { continue };
        let cache = CMakeCache::parse(&bytes);
        let part = |name: &str| cache.value(name).unwrap_or_default().to_owned();
        let version = ["MAJOR", "MINOR", "PATCH"].map(|which| part(&format!("CMAKE_CACHE_{which}_VERSION"))).join(".");
        if version.trim_matches('.').is_empty() {
            continue;
        }
        add(all, "cmake", &version, "CMakeCache.txt");
        add(all, "cmake generator", &part("CMAKE_GENERATOR"), "CMakeCache.txt");
        for (language, file) in [("c", "CMakeCCompiler.cmake"), ("c++", "CMakeCXXCompiler.cmake")] {
            let content = text(host, &tree.as_path().join("CMakeFiles").join(&version).join(file));
            let said = |name: &str| {
                let tail = content
                    .lines()
                    .find_map(|line| line.trim().strip_prefix("set(")?.strip_prefix(name)?.strip_prefix(' '));
                tail.unwrap_or_default().trim_end_matches(')').trim_matches('"').to_owned()
            };
            let name = if language == "c" { "CMAKE_C" } else { "CMAKE_CXX" };
            let compiler =
                format!("{} {}", said(&format!("{name}_COMPILER_ID")), said(&format!("{name}_COMPILER_VERSION")));
            add(all, &format!("{language} compiler"), compiler.trim(), file_kind(language));
        }
        return;
    }
    let mut gcc: Vec<u32> = Vec::new();
    for triple in names(host, Path::new("/usr/lib/gcc")) {
        gcc.extend(
            names(host, &Path::new("/usr/lib/gcc").join(triple)).iter().filter_map(|name| name.parse::<u32>().ok()),
        );
    }
    if let Some(newest) = gcc.into_iter().max() {
        add(all, "gcc", &newest.to_string(), "/usr/lib/gcc");
    }
}

/// The cmake that a shell would find. The one of a Python package counts where it is that one.
fn cmake_on_path(host: &dyn Host, python: Option<&Interpreter>, all: &mut Vec<Installed>) {
    let Some(program) = installer::program_path(host, "cmake") else { return };
    let is_of_python = python.is_some_and(|python| program.is_within(&python.scripts()));
    let real = host.real(program.as_path()).unwrap_or_else(|_| program.as_path().to_owned());
    let share = real.parent().and_then(Path::parent).map(|prefix| names(host, &prefix.join("share")));
    let version =
        share.and_then(|share| share.into_iter().find_map(|name| Some(name.strip_prefix("cmake-")?.to_owned())));
    if is_of_python && all.iter().any(|one| one.name == "cmake") {
        return;
    }
    if let Some(version) = version {
        all.retain(|one| one.name != "cmake");
        add(all, "cmake", &version, "share/cmake");
    }
}

fn file_kind(language: &str) -> &'static str {
    if language == "c" { "CMakeCCompiler.cmake" } else { "CMakeCXXCompiler.cmake" }
}

fn add(all: &mut Vec<Installed>, name: &str, version: &str, told_by: &'static str) {
    // A version is short and of one line; anything else in such a file is none.
    let version: String = version.trim().chars().take_while(|c| !c.is_control()).take(60).collect();
    all.push(Installed { name: name.to_owned(), version, told_by });
}

/// The value of `key=value` or `key = value`.
fn value<'t>(content: &'t str, key: &str) -> Option<&'t str> {
    content.lines().find_map(|line| {
        let (name, value) = line.split_once('=')?;
        (name.trim() == key).then(|| value.trim()).filter(|value| !value.is_empty())
    })
}

fn text(host: &dyn Host, path: &Path) -> String {
    let is_file = host.follow(path).is_ok_and(|meta| meta.kind == FileKind::File);
    let bytes = if is_file { host.head(path, LARGEST).unwrap_or_default() } else { Vec::new() };
    String::from_utf8_lossy(&bytes).into_owned()
}

fn names(host: &dyn Host, folder: &Path) -> Vec<String> {
    let names = host.list(folder, MOST_NAMES).unwrap_or_default();
    names.into_iter().filter_map(|name| name.into_string().ok()).collect()
}

#[cfg(test)]
mod tests {
    use std::fs;
    use std::os::unix::fs::{PermissionsExt, symlink};

    use super::*;
    use crate::evidence::LocalHost;
    use crate::evidence::questions::testing::NoGit;
    use crate::os::AbsPath;

    /// A Python installation, two environments of it, and a pyenv beside them.
    fn machine() -> (tempfile::TempDir, AbsPath) {
        let folder = tempfile::tempdir().unwrap();
        let root = AbsPath::new(folder.path().canonicalize().unwrap()).unwrap();
        let program = |name: &str, text: &str| {
            let path = root.resolve(name);
            fs::create_dir_all(path.parent().unwrap()).unwrap();
            fs::write(&path, text).unwrap();
            fs::set_permissions(&path, fs::Permissions::from_mode(0o755)).unwrap();
        };
        let package = |folder: &str, name: &str| {
            fs::create_dir_all(root.resolve(folder).resolve(format!("{name}.dist-info"))).unwrap();
        };
        for (prefix, version) in [("base", "3.11"), ("pyenv/versions/3.9.18", "3.9")] {
            program(&format!("{prefix}/bin/python{version}"), "");
            for name in ["python", "python3"] {
                symlink(format!("python{version}"), root.resolve(prefix).resolve("bin").resolve(name)).unwrap();
            }
            program(&format!("{prefix}/bin/pip"), &format!("#!{}/bin/python{version}\n", root.resolve(prefix)));
        }
        program("base/bin/cmake", "");
        fs::create_dir_all(root.resolve("base/share/cmake-3.25")).unwrap();
        package("base/lib/python3.11/site-packages", "setuptools-65.5.0");
        package("base/lib/python3.11/site-packages", "pip-22.3");
        package("pyenv/versions/3.9.18/lib/python3.9/site-packages", "pip-23.0");
        program("pyenv/shims/python", "#!/bin/sh\n");
        fs::write(root.resolve("pyenv/version"), "3.9.18\n").unwrap();
        for (venv, shares) in [("venv", "false"), ("sharing", "true")] {
            fs::create_dir_all(root.resolve(venv).resolve("bin")).unwrap();
            symlink(root.resolve("base/bin/python3.11"), root.resolve(venv).resolve("bin/python")).unwrap();
            let text = format!("home = x\nversion = 3.11.9\ninclude-system-site-packages = {shares}\n");
            fs::write(root.resolve(venv).resolve("pyvenv.cfg"), text).unwrap();
            package(&format!("{venv}/lib/python3.11/site-packages"), "pip-24.0");
            package(&format!("{venv}/lib/python3.11/site-packages"), "cmake-3.31.2");
        }
        program("venv/bin/cmake", "");
        fs::create_dir_all(root.resolve("project")).unwrap();
        (folder, root)
    }

    #[test]
    fn the_python_that_would_run_is_told_and_no_other() {
        let (_folder, root) = machine();
        let told = |path: &[&str], variables: &[(&str, &str)], command: &[&str]| {
            let path = std::env::join_paths(path.iter().map(|name| root.resolve(name).as_path().to_owned())).unwrap();
            let mut env = vec![(OsString::from("PATH"), path)];
            env.extend(variables.iter().map(|(name, at)| ((*name).into(), root.resolve(at).as_path().into())));
            let host = LocalHost::new(root.resolve("project"), env, Box::new(NoGit));
            let command: Vec<OsString> = command.iter().map(OsString::from).collect();
            let all = installed(&host, &command);
            ["python", "pip", "setuptools", "cmake"].map(|name| {
                let versions: Vec<&str> =
                    all.iter().filter(|one| one.name == name).map(|one| one.version.as_str()).collect();
                versions.join(" ")
            })
        };
        let base = ["3.11", "22.3", "65.5.0", "3.25"];
        let venv = ["3.11.9", "24.0", "not installed", "3.31.2"];
        assert_eq!(told(&["base/bin"], &[], &[]), base);
        assert_eq!(told(&["venv/bin", "base/bin"], &[], &[]), venv, "by PATH alone");
        assert_eq!(told(&["base/bin"], &[("VIRTUAL_ENV", "venv")], &[])[..3], venv[..3]);
        // The command's own word goes before all.
        let python = root.resolve("base/bin/python3").to_string();
        assert_eq!(told(&["venv/bin", "base/bin"], &[], &[&python, "setup.py"])[..3], base[..3]);
        assert_eq!(told(&["venv/bin", "base/bin"], &[], &["cmake", "-B", "build"]), venv);
        // An environment that shares has what it does not have itself from where it was made.
        assert_eq!(told(&["sharing/bin", "base/bin"], &[], &[])[..3], ["3.11.9", "24.0", "65.5.0"]);
        assert_eq!(told(&["pyenv/shims", "base/bin"], &[], &[])[..3], ["3.9.18", "23.0", "not installed"]);
        assert_eq!(told(&["nowhere"], &[], &[]), ["", "", "", ""]);
    }
}
