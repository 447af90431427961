//! Which versions of the software that matters are here, as its own files say it: for a bug report.
//!
//! Nothing is executed and nothing is imported; what no file tells is left out.

use std::path::{Path, PathBuf};

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

/// Lists what is here, sorted by name.
pub fn installed(host: &dyn Host) -> Vec<Installed> {
    let mut all = Vec::new();
    system(host, &mut all);
    python(host, &mut all);
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

fn python(host: &dyn Host, all: &mut Vec<Installed>) {
    let mut prefixes: Vec<PathBuf> =
        ["VIRTUAL_ENV", "CONDA_PREFIX"].iter().filter_map(|name| host.env(name).map(PathBuf::from)).collect();
    prefixes.extend([".venv", "venv"].map(|name| host.project().as_path().join(name)));
    prefixes.extend(host.home().map(|home| home.as_path().join(".local")));
    prefixes.extend(["/usr/local", "/usr"].map(PathBuf::from));
    let mut versions = 0;
    for prefix in prefixes.into_iter().filter(|prefix| prefix.is_absolute()) {
        let config = text(host, &prefix.join("pyvenv.cfg"));
        for key in ["version_info", "version"] {
            let found = value(&config, key).map(|version| version.trim_end_matches(".final.0").to_owned());
            if let Some(version) = found.filter(|_| versions == 0) {
                add(all, "python", &version, "pyvenv.cfg");
                versions += 1;
            }
        }
        for name in names(host, &prefix.join("conda-meta")) {
            let version = name.strip_prefix("python-").and_then(|rest| rest.split('-').next());
            if let Some(version) =
                version.filter(|text| versions == 0 && text.starts_with(|c: char| c.is_ascii_digit()))
            {
                add(all, "python", version, "conda-meta");
                versions += 1;
            }
        }
        for folder in names(host, &prefix.join("lib")).into_iter().filter(|name| name.starts_with("python3")) {
            let has_packages = ["site-packages", "dist-packages"]
                .map(|kind| prefix.join("lib").join(&folder).join(kind))
                .into_iter()
                .any(|packages| packages_in(host, &packages, all) > 0);
            if has_packages && versions == 0 && folder.contains('.') {
                add(all, "python", folder.trim_start_matches("python"), "site-packages");
                versions += 1;
            }
        }
    }
    if versions == 0
        && let Ok(target) = host.link(Path::new("/usr/bin/python3"))
    {
        add(all, "python", target.to_string_lossy().trim_start_matches("python"), "/usr/bin/python3");
    }
}

/// Adds the packages of one folder; the first folder that has one wins. Returns how many it has.
fn packages_in(host: &dyn Host, folder: &Path, all: &mut Vec<Installed>) -> usize {
    let mut found = 0;
    for name in names(host, folder) {
        let Some(stem) = name.strip_suffix(".dist-info").or_else(|| name.strip_suffix(".egg-info")) else { continue };
        let mut parts = stem.split('-');
        let (Some(package), Some(version)) = (parts.next(), parts.next()) else { continue };
        found += 1;
        let package = package.to_ascii_lowercase();
        if PACKAGES.contains(&package.as_str()) && !all.iter().any(|one| one.name == package) {
            add(all, &package, version, "dist-info");
        }
    }
    found
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
    let cmake = names(host, Path::new("/usr/share"))
        .into_iter()
        .find_map(|name| name.strip_prefix("cmake-").map(str::to_owned));
    if !all.iter().any(|one| one.name == "cmake") {
        add(all, "cmake", &cmake.unwrap_or_default(), "/usr/share/cmake");
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
