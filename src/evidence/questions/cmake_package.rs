//! Is a CMake package on this machine, in a folder that a search did not meet?
//!
//! What is found is told and never chosen: another version would build something else.

use std::path::{Path, PathBuf};

use super::distribution::Distribution;
use super::{Answer, ArgSpec, Inquiry, Question, UNKNOWN};
use crate::evidence::Host;
use crate::recipe::Text;

/// The questions of this file.
pub const QUESTIONS: &[Question] = &[Question {
    name: "cmake_package_on_machine",
    about: "Looks for the configuration file of a CMake package in the usual prefixes of this machine.",
    args: &[ArgSpec { name: "package", required: true, about: "The package, as `find_package` names it" }],
    answers: &["found", "none"],
    values: &["package", "files", "folder", "install", "pip", "pip_folder"],
    ask: cmake_package_on_machine,
}];

/// Names in a folder.
const MOST_NAMES: usize = 10_000;

/// Packages that are often missed: CMake's name; Debian's package and that of Fedora's family; PyPI's, with the command
/// that prints its folder.
type Known = (&'static str, &'static str, &'static str, Option<(&'static str, &'static str)>);
const KNOWN: &[Known] = &[
    ("pybind11", "pybind11-dev", "pybind11-devel", Some(("pybind11", "python -m pybind11 --cmakedir"))),
    ("nanobind", "", "", Some(("nanobind", "python -m nanobind --cmake_dir"))),
    ("LLVM", "llvm-dev", "llvm-devel", None),
    ("MLIR", "libmlir-dev mlir-tools", "mlir-devel", None),
    ("Clang", "libclang-dev", "clang-devel", None),
    ("LLD", "liblld-dev", "lld-devel", None),
    ("Eigen3", "libeigen3-dev", "eigen3-devel", None),
    ("fmt", "libfmt-dev", "fmt-devel", None),
    ("spdlog", "libspdlog-dev", "spdlog-devel", None),
    ("nlohmann_json", "nlohmann-json3-dev", "nlohmann-json-devel", None),
    ("absl", "libabsl-dev", "abseil-cpp-devel", None),
    ("gflags", "libgflags-dev", "gflags-devel", None),
    ("glog", "libgoogle-glog-dev", "glog-devel", None),
    ("GTest", "libgtest-dev", "gtest-devel", None),
    ("benchmark", "libbenchmark-dev", "google-benchmark-devel", None),
    ("OpenCV", "libopencv-dev", "opencv-devel", None),
    ("yaml-cpp", "libyaml-cpp-dev", "yaml-cpp-devel", None),
    ("Torch", "", "", Some(("torch", "python -c 'import torch; print(torch.utils.cmake_prefix_path)'"))),
];

fn cmake_package_on_machine(inquiry: &Inquiry<'_>) -> Answer {
    let host = inquiry.host;
    let fits =
        |name: &String| !name.is_empty() && name.chars().all(|c| c.is_ascii_alphanumeric() || "_.+-".contains(c));
    let Some(package) = inquiry.list("package").into_iter().find(fits) else {
        return Answer::new(UNKNOWN, Text::new("no package is named", "没有给出软件包名"));
    };
    let names = [format!("{package}Config.cmake"), format!("{}-config.cmake", package.to_lowercase())];
    let mut found = Vec::new();
    for folder in folders(host, &package) {
        found.extend(names.iter().map(|name| folder.join(name)).filter(|file| host.follow(file).is_ok()));
    }
    if let Some(first) = found.first() {
        let folder = first.parent().unwrap_or(Path::new("/")).display().to_string();
        let files: Vec<String> = found.iter().take(4).map(|file| file.display().to_string()).collect();
        let list = files.join(", ");
        let seen = Text::new(format!("{list} is here"), format!("本机有 {list}"));
        return Answer::new("found", seen).with("package", package).with("files", files).with("folder", folder);
    }
    let seen = Text::new(
        format!("no configuration file of {package} is in the usual folders"),
        format!("常用目录中没有 {package} 的配置文件"),
    );
    let answer = Answer::new("none", seen).with("package", package.clone());
    let Some((_, debian, rpm, pip)) = KNOWN.iter().find(|(name, ..)| *name == package) else { return answer };
    let distribution = Distribution::of(host);
    let system = match distribution {
        Distribution::Debian { .. } => debian,
        Distribution::Rpm { .. } => rpm,
        Distribution::Suse | Distribution::Alpine | Distribution::Arch | Distribution::Unknown => "",
    };
    let install = distribution.install(&system.split_whitespace().map(str::to_owned).collect::<Vec<_>>());
    let answer = if install.is_empty() { answer } else { answer.with("install", install) };
    match pip {
        Some((pip, folder)) => answer.with("pip", *pip).with("pip_folder", *folder),
        None => answer,
    }
}

/// The folders where packages put their configuration files, below the usual prefixes.
fn folders(host: &dyn Host, package: &str) -> Vec<PathBuf> {
    let mut prefixes: Vec<PathBuf> = ["CONDA_PREFIX", "VIRTUAL_ENV", "LLVM_INSTALL_PREFIX", "LLVM_SYSPATH"]
        .iter()
        .filter_map(|name| host.env(name).map(PathBuf::from))
        .filter(|prefix| prefix.is_absolute())
        .collect();
    prefixes.extend(["/usr/local", "/usr"].map(PathBuf::from));
    for base in ["/opt", "/usr/lib"] {
        let names = host.list(Path::new(base), MOST_NAMES).unwrap_or_default();
        let is_own = |name: &&std::ffi::OsString| base == "/opt" || name.to_string_lossy().starts_with("llvm");
        prefixes.extend(names.iter().filter(is_own).map(|name| Path::new(base).join(name)));
    }
    let mut folders = Vec::new();
    for prefix in prefixes {
        let mut below: Vec<PathBuf> =
            ["lib/cmake", "lib64/cmake", "share/cmake", "lib", "share"].map(|place| prefix.join(place)).to_vec();
        for multiarch in host.list(&prefix.join("lib"), MOST_NAMES).unwrap_or_default() {
            let name = multiarch.to_string_lossy().into_owned();
            if name.contains("-linux-") {
                below.push(prefix.join("lib").join(&name).join("cmake"));
            }
            if name.starts_with("python3.") {
                let own = prefix.join("lib").join(&name).join("site-packages").join(package);
                folders.extend(["share/cmake", "cmake"].map(|place| own.join(place).join(package)));
                folders.push(own.join("cmake"));
            }
        }
        for place in below {
            let lower = package.to_lowercase();
            let is_it = |name: &&std::ffi::OsString| {
                let name = name.to_string_lossy().to_lowercase();
                name == lower || name.strip_prefix(lower.as_str()).is_some_and(|rest| rest.starts_with(['-', '.']))
            };
            let names = host.list(&place, MOST_NAMES).unwrap_or_default();
            for name in names.iter().filter(is_it) {
                folders.extend([place.join(name), place.join(name).join("cmake")]);
            }
        }
    }
    folders
}
