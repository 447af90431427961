//! Where do LLVM's imported targets come from: the build tree's cache, the environment, or an install that never fits?
//!
//! LLD, MLIR and Clang check at the end of their Targets file that LLVM's targets are there. The LLVM that is loaded
//! first stays (`if(NOT TARGET LLVMSupport)`), so that a cached or shadowing LLVM of another build lacks some, while the
//! one beside the package has them all.

use std::collections::BTreeSet;
use std::path::Path;

use super::{Answer, ArgSpec, Inquiry, Question};
use crate::evidence::Host;
use crate::evidence::build_tree;
use crate::formats::{cmake_cache::CMakeCache, cmake_targets};
use crate::os::AbsPath;
use crate::recipe::{Text, Value};

/// The questions of this file.
pub const QUESTIONS: &[Question] = &[Question {
    name: "cmake_llvm_origin",
    about: "Tells a stale or shadowed LLVM from an LLD, MLIR or Clang that no LLVM here fits.",
    args: &[
        ArgSpec { name: "tree", required: false, about: "The build tree" },
        ArgSpec { name: "config", required: false, about: "The package's Config file, as the message names it" },
        ArgSpec { name: "package", required: false, about: "LLD, MLIR or Clang" },
        ArgSpec { name: "missing_targets", required: false, about: "The missing targets, as the message names them" },
    ],
    answers: &["stale", "mismatch", "shadowed", "shadowed_prefix", "consistent", "no_tree"],
    values: &[
        "entries",
        "prefixes",
        "variables",
        "fresh",
        "fresh_mlir",
        "fresh_version",
        "cached",
        "cached_version",
        "missing",
        "package_dir",
    ],
    ask: cmake_llvm_origin,
}];

/// Real ones have a few hundred kilobytes.
const TARGETS_LIMIT: u64 = 16 << 20;

/// The packages that pull an LLVM in, with the folder below `lib/cmake` and the files that tell.
struct Package {
    name: &'static str,
    folder: &'static str,
    targets: &'static str,
    config: &'static str,
}

const LLVM: Package =
    Package { name: "LLVM", folder: "llvm", targets: "LLVMExports.cmake", config: "LLVMConfig.cmake" };
const MLIR: Package =
    Package { name: "MLIR", folder: "mlir", targets: "MLIRTargets.cmake", config: "MLIRConfig.cmake" };
const USERS: &[&Package] = &[
    &Package { name: "LLD", folder: "lld", targets: "LLDTargets.cmake", config: "LLDConfig.cmake" },
    &MLIR,
    &Package { name: "Clang", folder: "clang", targets: "ClangTargets.cmake", config: "ClangConfig.cmake" },
];

/// An LLVM's `lib/cmake/llvm`.
#[derive(Clone, PartialEq, Eq)]
struct Llvm(AbsPath);

fn cmake_llvm_origin(inquiry: &Inquiry<'_>) -> Answer {
    let host = inquiry.host;
    let named_missing = inquiry.list("missing_targets");
    if !named_missing.is_empty() && !named_missing.iter().any(|names| names.contains("LLVM")) {
        return unknown("the missing targets are not LLVM's own", "缺少的目标不属于 LLVM 本身");
    }
    let tree = inquiry.text("tree").and_then(|tree| AbsPath::new(tree).ok());
    let bytes = tree.as_ref().and_then(|tree| build_tree::read_cache(host, tree.as_path()));
    let cache = bytes.as_deref().map(CMakeCache::parse);
    let Some((package, folder)) = package_folder(inquiry, cache.as_ref()) else {
        return match cache {
            None => Answer::new(
                "no_tree",
                Text::new("there is no build tree and no package to look at", "没有构建目录，也没有可检查的软件包"),
            ),
            Some(_) => {
                unknown("neither the log nor the cache tells where the package is", "日志和缓存都没有说明软件包的位置")
            }
        };
    };
    let shadowed = shadowed_package(host, package, &folder, cache.as_ref());
    let (own_variable, folder) = match shadowed {
        Some((variable, meant)) => (Some((variable, folder)), meant),
        None => (None, folder),
    };
    let Some(text) = read(host, &folder.resolve(package.targets)) else {
        return unknown("the package's Targets file cannot be read", "无法读取该软件包的 Targets 文件");
    };
    let need = cmake_targets::required(&text);
    if need.is_empty() {
        return unknown("the package's Targets file needs nothing of others", "该软件包的 Targets 文件不依赖其他目标");
    }
    let fresh = Llvm(folder.resolve("../llvm"));
    let Some(fresh_missing) = fresh.missing(host, &need) else {
        return unknown("no LLVM is installed beside the package", "该软件包旁没有安装 LLVM");
    };
    let fresh_version = fresh.version(host);
    let wanted = read(host, &folder.resolve(package.config))
        .and_then(|text| cmake_targets::wanted_llvm_version(&text).map(str::to_owned));
    let base = |word, en: String, zh: String| {
        let mut answer = Answer::new(word, Text::new(en, zh))
            .with("fresh", fresh.0.to_string())
            .with("package_dir", folder.to_string());
        answer.values.extend(fresh_version.clone().map(|version| ("fresh_version", Value::Text(version))));
        let mlir = folder.resolve("../mlir");
        if holds(host, &mlir, MLIR.config) {
            answer = answer.with("fresh_mlir", mlir.to_string());
        }
        answer
    };

    if !fresh_missing.is_empty() {
        let names = fresh_missing.join(", ");
        return base(
            "mismatch",
            format!("`{}`, beside {}, itself lacks {names}", fresh.0, package.name),
            format!("与 {} 同一安装的 `{}` 本身就缺少 {names}", package.name, fresh.0),
        )
        .with("missing", fresh_missing);
    }
    if let (Some(wanted), Some(have)) = (&wanted, &fresh_version)
        && wanted != have
    {
        return base(
            "mismatch",
            format!("{} wants LLVM {wanted}, beside it is LLVM {have}", package.name),
            format!("{} 要求 LLVM {wanted}，而同一安装中是 LLVM {have}", package.name),
        )
        .with("missing", Vec::new());
    }

    let other = |llvm: &Llvm| {
        let missing = llvm.missing(host, &need).unwrap_or_default();
        let version = llvm.version(host);
        let differs = version.is_some() && fresh_version.is_some() && version != fresh_version;
        (!missing.is_empty() || differs).then_some(missing)
    };
    let cached = cache.as_ref().map(|cache| cached_llvms(cache, host)).unwrap_or_default();
    let stale: Vec<(&str, &Llvm, Vec<String>)> =
        cached.iter().filter_map(|(entry, llvm)| Some((*entry, llvm, other(llvm)?))).collect();
    let with_stale = |mut answer: Answer| {
        let entries: Vec<String> = stale.iter().map(|(entry, ..)| (*entry).to_owned()).collect();
        let mut prefixes: Vec<String> = stale.iter().map(|(_, llvm, _)| llvm.prefix().to_string()).collect();
        prefixes.dedup();
        answer = answer.with("entries", entries).with("prefixes", prefixes);
        if let Some((_, llvm, missing)) = stale.first() {
            answer = answer.with("cached", llvm.0.to_string()).with("missing", missing.clone());
            answer.values.extend(llvm.version(host).map(|version| ("cached_version", Value::Text(version))));
        }
        answer
    };

    let shadows: Vec<Shadow> = shadowing(host)
        .into_iter()
        .filter(|shadow| shadow.llvm != fresh && other(&shadow.llvm).is_some_and(|missing| !missing.is_empty()))
        // A project may name its MLIR itself; the environment's counts only where the cache shows that it was taken.
        .filter(|shadow| shadow.package == LLVM.name || cached.iter().any(|(_, llvm)| *llvm == shadow.llvm))
        .collect();
    if let Some((variable, taken)) = own_variable {
        let answer = with_stale(base(
            "shadowed",
            format!("{variable} leads to `{taken}`, past `{folder}` of the LLVM that the build was given"),
            format!("{variable} 指向 `{taken}`，而不是构建所指定的 LLVM 中的 `{folder}`"),
        ));
        let entry = format!("{}_DIR", package.name);
        let is_cached = cache.as_ref().and_then(|cache| cache.found_path(&entry)) == taken.as_path().to_str();
        let mut entries = answer.values.get("entries").map(Value::to_list).unwrap_or_default();
        entries.extend(is_cached.then_some(entry));
        return answer.with("entries", entries).with("variables", vec![variable]);
    }
    if let Some(first) = shadows.first() {
        let mut variables: Vec<String> = shadows.iter().map(|shadow| shadow.variable.clone()).collect();
        variables.dedup();
        let names = variables.join(", ");
        let by_prefix = variables.iter().any(|variable| variable == PREFIX_PATH);
        let mut answer = base(
            if by_prefix { "shadowed_prefix" } else { "shadowed" },
            format!(
                "{names} leads to `{}`, which lacks targets that the LLVM beside {} has",
                first.llvm.0, package.name
            ),
            format!("{names} 指向 `{}`，它缺少与 {} 同一安装的 LLVM 所具有的目标", first.llvm.0, package.name),
        );
        answer = with_stale(answer)
            .with("cached", first.llvm.0.to_string())
            .with("missing", other(&first.llvm).unwrap_or_default());
        variables.retain(|variable| variable != PREFIX_PATH);
        // What only CMAKE_PREFIX_PATH does is overridden, not unset: other packages are found by it.
        return answer.with("variables", variables);
    }
    if cache.is_none() {
        return base(
            "no_tree",
            "there is no build tree, and the installed packages fit".into(),
            "没有构建目录，已安装的软件包彼此匹配".into(),
        );
    }
    let Some((entry, llvm, _)) = stale.first() else {
        return base(
            "consistent",
            format!("cache and environment lead to the LLVM beside {}", package.name),
            format!("缓存和环境变量都指向与 {} 同一安装的 LLVM", package.name),
        );
    };
    with_stale(base(
        "stale",
        format!("the cache's {entry} leads to `{}`; the LLVM beside {} is complete", llvm.0, package.name),
        format!("缓存中的 {entry} 指向 `{}`；与 {} 同一安装的 LLVM 是完整的", llvm.0, package.name),
    ))
}

impl Llvm {
    /// Which of `need` it does not define; `None` when there is no LLVM.
    fn missing(&self, host: &dyn Host, need: &BTreeSet<String>) -> Option<Vec<String>> {
        let defined = cmake_targets::defined(&read(host, &self.0.resolve(LLVM.targets))?);
        // Targets of LLD, MLIR or Clang itself come from elsewhere: only LLVM's own count here.
        let is_llvm = |name: &&String| name.starts_with("LLVM") || name.starts_with("llvm");
        Some(need.iter().filter(is_llvm).filter(|name| !defined.contains(*name)).cloned().collect())
    }

    fn version(&self, host: &dyn Host) -> Option<String> {
        let text = read(host, &self.0.resolve("LLVMConfigVersion.cmake"))?;
        cmake_targets::package_version(&text).map(str::to_owned)
    }

    /// The install prefix: what lies above `lib/cmake/llvm`.
    fn prefix(&self) -> AbsPath {
        self.0.resolve("../../..")
    }
}

/// The package whose check failed, and its folder: the message names the one that CMake really used.
fn package_folder(inquiry: &Inquiry<'_>, cache: Option<&CMakeCache<'_>>) -> Option<(&'static Package, AbsPath)> {
    let host = inquiry.host;
    let exists = |package: &Package, folder: &AbsPath| holds(host, folder, package.targets);
    if let Some(config) = inquiry.text("config").and_then(|config| AbsPath::new(config).ok())
        && let Some(package) = USERS.iter().find(|package| config.as_path().ends_with(package.config))
        && let Some(folder) = config.parent()
    {
        return exists(package, &folder).then_some((*package, folder));
    }
    let name = inquiry.text("package").unwrap_or_else(|| "LLD".to_owned());
    let package = USERS.iter().find(|package| package.name.eq_ignore_ascii_case(&name))?;
    let cache = cache?;
    let own = cache.found_path(&format!("{}_DIR", package.name)).map(std::path::PathBuf::from);
    let beside =
        cache.found_path("LLVM_LIBRARY_DIR").map(|library| Path::new(library).join("cmake").join(package.folder));
    own.into_iter()
        .chain(beside)
        .filter_map(|folder| AbsPath::new(folder).ok())
        .find(|folder| exists(package, folder))
        .map(|folder| (*package, folder))
}

/// The LLVMs that the cache may load first. LLVM_DIR alone is not enough: a failing Config file may have rewritten it
/// already, while a cached MLIR_DIR pulled the old one in before.
fn cached_llvms(cache: &CMakeCache<'_>, host: &dyn Host) -> Vec<(&'static str, Llvm)> {
    let mut llvms = Vec::new();
    for (entry, package) in [("MLIR_DIR", &MLIR), ("LLVM_DIR", &LLVM), ("Clang_DIR", USERS[2])] {
        let Some(folder) = cache.found_path(entry).and_then(|path| AbsPath::new(path).ok()) else { continue };
        if holds(host, &folder, package.config) {
            llvms.push((entry, Llvm(if package.name == LLVM.name { folder } else { folder.resolve("../llvm") })));
        }
    }
    llvms
}

/// An LLVM that the environment leads to.
struct Shadow {
    variable: String,
    package: &'static str,
    llvm: Llvm,
}

const PREFIX_PATH: &str = "CMAKE_PREFIX_PATH";

/// The first LLVM and the first MLIR that `find_package` meets in the environment.
fn shadowing(host: &dyn Host) -> Vec<Shadow> {
    let mut found = Vec::new();
    for package in [&MLIR, &LLVM] {
        if let Some((variable, folder)) = first_in_environment(host, package) {
            let llvm = Llvm(if package.name == LLVM.name { folder } else { folder.resolve("../llvm") });
            found.push(Shadow { variable, package: package.name, llvm });
        }
    }
    found
}

/// Where the environment alone leads `find_package`: `<Package>_ROOT`, `<Package>_DIR`, CMAKE_PREFIX_PATH, all of which
/// come before HINTS and PATHS.
fn first_in_environment(host: &dyn Host, package: &Package) -> Option<(String, AbsPath)> {
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

/// Says that the package itself came by its own variable, past the one of the LLVM that the build was given; returns the
/// variable and the folder that was passed over.
fn shadowed_package(
    host: &dyn Host,
    package: &Package,
    folder: &AbsPath,
    cache: Option<&CMakeCache<'_>>,
) -> Option<(String, AbsPath)> {
    let (variable, taken) = first_in_environment(host, package)?;
    let cached = cache.and_then(|cache| cache.found_path("LLVM_LIBRARY_DIR")).map(std::path::PathBuf::from);
    let given = cached.or_else(|| Some(Path::new(&host.env("LLVM_SYSPATH")?).join("lib")))?;
    let meant = AbsPath::new(given).ok()?.resolve("cmake").resolve(package.folder);
    let passed_over = variable != PREFIX_PATH && taken == *folder && meant != *folder;
    (passed_over && holds(host, &meant, package.targets)).then_some((variable, meant))
}

fn holds(host: &dyn Host, folder: &AbsPath, file: &str) -> bool {
    host.follow(&folder.as_path().join(file)).is_ok()
}

fn read(host: &dyn Host, path: &AbsPath) -> Option<String> {
    let bytes = host.read(path.as_path(), TARGETS_LIMIT).ok()?;
    Some(String::from_utf8_lossy(&bytes).into_owned())
}

fn unknown(en: &str, zh: &str) -> Answer {
    Answer::new(super::UNKNOWN, Text::new(en, zh))
}
