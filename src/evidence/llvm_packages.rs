//! Installed CMake packages of LLVM, MLIR, LLD and Clang: what they define and need, and where a search meets them.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};

use super::Host;
use crate::formats::{cmake_cache::CMakeCache, cmake_targets};
use crate::os::AbsPath;

/// Real Targets files have a few hundred kilobytes.
const TARGETS_LIMIT: u64 = 16 << 20;

/// The list of prefixes that serves all packages.
pub const PREFIX_PATH: &str = "CMAKE_PREFIX_PATH";

/// A CMake package, with its folder below `lib/cmake` and the files that tell.
#[derive(Debug, PartialEq, Eq)]
pub struct Package {
    pub name: &'static str,
    pub folder: &'static str,
    pub targets: &'static str,
    pub config: &'static str,
}

pub const LLVM: Package =
    Package { name: "LLVM", folder: "llvm", targets: "LLVMExports.cmake", config: "LLVMConfig.cmake" };
pub const MLIR: Package =
    Package { name: "MLIR", folder: "mlir", targets: "MLIRTargets.cmake", config: "MLIRConfig.cmake" };
const LLD: Package = Package { name: "LLD", folder: "lld", targets: "LLDTargets.cmake", config: "LLDConfig.cmake" };
const CLANG: Package =
    Package { name: "Clang", folder: "clang", targets: "ClangTargets.cmake", config: "ClangConfig.cmake" };

/// The packages that pull an LLVM in and check its targets.
pub const USERS: &[&Package] = &[&LLD, &MLIR, &CLANG];

/// An LLVM, by its `lib/cmake/llvm`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Llvm(pub AbsPath);

impl Llvm {
    /// The LLVM that a package in `folder` pulls in: its own folder, or the one beside it.
    pub fn of(package: &Package, folder: &AbsPath) -> Self {
        Self(if package.name == LLVM.name { folder.clone() } else { folder.resolve("../llvm") })
    }

    /// Which of `need` it does not define; `None` where there is no LLVM.
    pub fn missing(&self, host: &dyn Host, need: &BTreeSet<String>) -> Option<Vec<String>> {
        let defined = cmake_targets::defined(&read(host, &self.0.resolve(LLVM.targets))?);
        // Targets of LLD, MLIR or Clang come from elsewhere: only LLVM's own count here.
        let is_llvm = |name: &&String| name.starts_with("LLVM") || name.starts_with("llvm");
        Some(need.iter().filter(is_llvm).filter(|name| !defined.contains(*name)).cloned().collect())
    }

    /// Its version, as `find_package(… EXACT)` compares it.
    pub fn version(&self, host: &dyn Host) -> Option<String> {
        let text = read(host, &self.0.resolve("LLVMConfigVersion.cmake"))?;
        cmake_targets::package_version(&text).map(str::to_owned)
    }

    /// The install prefix, where it is this LLVM's own: a system or an environment holds much else.
    pub fn own_prefix(&self, host: &dyn Host) -> Option<AbsPath> {
        let prefix = self.0.resolve("../../..");
        let path = prefix.as_path();
        let is_env = |name: &str| host.env(name).is_some_and(|value| Path::new(&value) == path);
        let is_shared =
            ["/", "/usr", "/usr/local", "/opt", "/opt/local"].iter().any(|shared| path == Path::new(shared))
                || host.home() == Some(&prefix)
                || is_env("CONDA_PREFIX")
                || is_env("VIRTUAL_ENV")
                || ["conda-meta", "pyvenv.cfg"].iter().any(|mark| host.follow(&path.join(mark)).is_ok());
        (!is_shared).then_some(prefix)
    }
}

/// Lists the targets of other packages that a package needs; `None` where it cannot be read.
pub fn required(host: &dyn Host, package: &Package, folder: &AbsPath) -> Option<BTreeSet<String>> {
    read(host, &folder.resolve(package.targets)).map(|text| cmake_targets::required(&text))
}

/// Returns the version of LLVM that a package asks for.
pub fn wanted_llvm(host: &dyn Host, package: &Package, folder: &AbsPath) -> Option<String> {
    let text = read(host, &folder.resolve(package.config))?;
    cmake_targets::wanted_llvm_version(&text).map(str::to_owned)
}

/// Finds the folder of a package that a cache leads to.
pub fn cached_folder(host: &dyn Host, package: &Package, cache: &CMakeCache<'_>) -> Option<AbsPath> {
    let own = cache.found_path(&format!("{}_DIR", package.name)).map(PathBuf::from);
    let library = cache.found_path("LLVM_LIBRARY_DIR").map(Path::new);
    let beside = library.map(|library| library.join("cmake").join(package.folder));
    let folders = own.into_iter().chain(beside).filter_map(|folder| AbsPath::new(folder).ok());
    folders.into_iter().find(|folder| holds(host, folder, package.targets))
}

/// Lists the LLVMs that a cache may load first, with the entry. LLVM_DIR alone is not enough: a failing Config file may
/// have rewritten it already, while a cached MLIR_DIR pulled the old one in before.
pub fn cached_llvms(host: &dyn Host, cache: &CMakeCache<'_>) -> Vec<(&'static str, Llvm)> {
    let mut llvms = Vec::new();
    for (entry, package) in [("MLIR_DIR", &MLIR), ("LLVM_DIR", &LLVM), ("Clang_DIR", &CLANG)] {
        let folder = cache.found_path(entry).and_then(|path| AbsPath::new(path).ok());
        if let Some(folder) = folder.filter(|folder| holds(host, folder, package.config)) {
            llvms.push((entry, Llvm::of(package, &folder)));
        }
    }
    llvms
}

/// Where the environment alone leads `find_package`, with the variable: `<Package>_ROOT`, `<Package>_DIR`,
/// CMAKE_PREFIX_PATH, all of which come before HINTS and PATHS.
pub fn first_in_environment(host: &dyn Host, package: &Package) -> Option<(String, AbsPath)> {
    let name = package.name;
    let below = |prefix: &AbsPath| {
        let folders = ["", "cmake", "lib/cmake", "lib64/cmake", "share/cmake"].map(|place| prefix.resolve(place));
        folders.map(|folder| [folder.clone(), folder.resolve(package.folder)]).concat()
    };
    let own = format!("{name}_DIR");
    for variable in [&format!("{name}_ROOT"), &own, PREFIX_PATH] {
        let value = host.env(variable).unwrap_or_default();
        let entries = std::env::split_paths(&value).filter(|entry| entry.is_absolute());
        for entry in entries.filter_map(|entry| AbsPath::new(entry).ok()) {
            let folders = if *variable == own { vec![entry] } else { below(&entry) };
            if let Some(folder) = folders.into_iter().find(|folder| holds(host, folder, package.config)) {
                return Some((variable.to_string(), folder));
            }
        }
    }
    None
}

/// Says whether a file is in a folder.
pub fn holds(host: &dyn Host, folder: &AbsPath, file: &str) -> bool {
    host.follow(&folder.as_path().join(file)).is_ok()
}

fn read(host: &dyn Host, path: &AbsPath) -> Option<String> {
    let bytes = host.read(path.as_path(), TARGETS_LIMIT).ok()?;
    Some(String::from_utf8_lossy(&bytes).into_owned())
}
