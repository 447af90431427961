//! Which compiler of this machine could the build use?
//!
//! Programs are judged by their files and never run.

use std::collections::BTreeSet;
use std::ffi::OsStr;
use std::path::{Path, PathBuf};

use super::cached_tools::Cache;
use super::distribution::Distribution;
use super::object_kind::is_program;
use super::setup_cmake_args::{LARGEST_SCRIPT, find_script};
use super::{Answer, ArgSpec, Inquiry, Question};
use crate::evidence::Host;
use crate::evidence::ownership::is_of_no_stranger;
use crate::recipe::Text;

/// The questions of this file.
pub const QUESTIONS: &[Question] = &[Question {
    name: "compiler_on_machine",
    about: "Finds a usable clang, clang++ and lld of one folder for a build that does not find its compiler.",
    args: &[
        ArgSpec {
            name: "tools",
            required: false,
            about: "The compilers that the log names; clang and clang++ when absent",
        },
        ArgSpec { name: "tree", required: false, about: "The build tree, whose cache may name the compiler" },
        ArgSpec { name: "env_var", required: false, about: "CC or CXX, where the log says that it named the compiler" },
    ],
    answers: &["on_path", "prefix", "no_lld", "versioned_only", "gone_in_cache", "gone_path", "none"],
    values: &["bin", "clang", "clangxx", "lld", "version", "note", "requested", "entries", "packages", "install"],
    ask: compiler_on_machine,
}];

/// Older ones do not build current LLVM projects at all.
const OLDEST: u32 = 14;
/// What the projects ask for.
const WANTED: u32 = 15;
/// Entries of a folder such as `/opt`.
const MOST_NAMES: usize = 10_000;

/// A folder with a compiler.
#[derive(Debug, Clone)]
struct Candidate {
    bin: PathBuf,
    version: Option<u32>,
    lld: bool,
    /// Named by the user's environment.
    named: bool,
}

fn compiler_on_machine(inquiry: &Inquiry<'_>) -> Answer {
    let host = inquiry.host;
    let tools = inquiry.list("tools");
    let by_variable = inquiry.text("env_var").and_then(|_| named_by_variables(host));
    let answer = if let Some(answer) = by_variable {
        answer
    } else if let Some(path) = tools.iter().find(|tool| tool.starts_with('/')) {
        gone(inquiry, path)
    } else {
        let names = needed(&tools);
        match on_path(host, &names) {
            Some(bin) => at(
                &bin,
                &names,
                Answer::new(
                    "on_path",
                    Text::new(
                        format!("{} is on PATH, in {}", names[0], bin.display()),
                        format!("PATH 中有 {}，位于 {}", names[0], bin.display()),
                    ),
                ),
            ),
            None => elsewhere(inquiry, &names),
        }
    };
    let distribution = Distribution::of(host);
    let packages = packages(&distribution, &tools);
    let install = distribution.install(&packages);
    let requested = if tools.is_empty() { vec!["clang".to_owned(), "clang++".to_owned()] } else { tools };
    let answer = answer.with("requested", requested);
    // Without a package there is nothing to advise.
    if packages.is_empty() { answer } else { answer.with("packages", packages).with("install", install) }
}

/// Says that CC and CXX lead to compilers by their full paths.
fn named_by_variables(host: &dyn Host) -> Option<Answer> {
    let program = |name: &str| {
        let path = PathBuf::from(host.env(name)?);
        (path.is_absolute() && is_program(host, &path)).then(|| path.display().to_string())
    };
    let (clang, clangxx) = (program("CC")?, program("CXX")?);
    let seen =
        Text::new(format!("CC and CXX name {clang} and {clangxx}"), format!("CC 与 CXX 指向 {clang} 和 {clangxx}"));
    Some(Answer::new("on_path", seen).with("clang", clang).with("clangxx", clangxx))
}

/// Lists the names that must stand in one folder: the pair, of the version that is asked for.
fn needed(tools: &[String]) -> Vec<String> {
    let suffix = tools.iter().find_map(|tool| version_suffix(tool)).unwrap_or_default();
    vec![format!("clang{suffix}"), format!("clang++{suffix}")]
}

/// Returns the `-20` of `clang++-20`.
fn version_suffix(tool: &str) -> Option<String> {
    let rest = tool.strip_prefix("clang")?;
    let rest = rest.strip_prefix("++").unwrap_or(rest);
    let version = rest.strip_prefix('-')?;
    let fits = !version.is_empty() && version.bytes().all(|byte| byte.is_ascii_digit() || byte == b'.');
    fits.then(|| rest.to_owned())
}

fn packages(distribution: &Distribution, tools: &[String]) -> Vec<String> {
    let suffix = tools.iter().find_map(|tool| version_suffix(tool));
    match (suffix, distribution) {
        (Some(suffix), Distribution::Debian { .. }) => vec![format!("clang{suffix}"), format!("lld{suffix}")],
        (_, known) => known.compilers(),
    }
}

/// A compiler given by its full path that is not there: only who named the path can be helped.
fn gone(inquiry: &Inquiry<'_>, path: &str) -> Answer {
    let host = inquiry.host;
    if is_program(host, Path::new(path)) {
        let seen = Text::new(format!("{path} exists now"), format!("{path} 现在存在"));
        return Answer::new("on_path", seen).with("clang", path);
    }
    let cache = inquiry.text("tree").and_then(|tree| Cache::read(host, Path::new(&tree)));
    let keys = ["CMAKE_C_COMPILER", "CMAKE_CXX_COMPILER", "CMAKE_ASM_COMPILER"];
    let value = |key: &&str| cache.as_ref().and_then(|cache| cache.get(key)).map(str::to_owned);
    let cached = keys.iter().any(|key| value(key).as_deref() == Some(path));
    let lost =
        |key: &&&str| value(key).is_some_and(|value| value.starts_with('/') && host.follow(Path::new(&value)).is_err());
    let entries: Vec<String> = keys.iter().filter(lost).map(|key| (*key).to_owned()).collect();
    let in_command = inquiry.command.unwrap_or_default().iter().any(|word| word.to_string_lossy().contains(path));
    let in_env = host
        .env_names()
        .iter()
        .filter_map(|name| host.env(name.to_str()?))
        .any(|value| value.to_string_lossy().contains(path));
    let in_script = script(inquiry).is_some_and(|text| text.contains(path));
    let (word, seen) = if cached && !in_command && !in_env && !in_script {
        (
            "gone_in_cache",
            Text::new(
                format!("{path} is gone, and only the build tree's cache still names it"),
                format!("{path} 已不存在，只有构建目录的缓存还记着它"),
            ),
        )
    } else {
        ("gone_path", Text::new(format!("{path} does not exist here"), format!("本机没有 {path}")))
    };
    let answer = Answer::new(word, seen).with("entries", entries);
    let names = needed(&[]);
    let candidate = candidates(host).into_iter().find(|candidate| holds(host, &candidate.bin, &names));
    candidate.map_or(answer.clone(), |candidate| at(&candidate.bin, &names, answer))
}

/// Finds the first folder of PATH with all names, as a shell would; relative entries depend on where one stands.
fn on_path(host: &dyn Host, names: &[String]) -> Option<PathBuf> {
    let path = host.env("PATH").unwrap_or_default();
    let folders: Vec<PathBuf> = std::env::split_paths(&path).filter(|folder| folder.is_absolute()).collect();
    let has = |name: &String| folders.iter().find(|folder| is_program(host, &folder.join(name)));
    let first = has(&names[0])?;
    names.iter().all(|name| has(name).is_some()).then(|| first.clone())
}

fn elsewhere(inquiry: &Inquiry<'_>, names: &[String]) -> Answer {
    let host = inquiry.host;
    let found: Vec<Candidate> =
        candidates(host).into_iter().filter(|candidate| holds(host, &candidate.bin, names)).collect();
    let lld_on_path = std::env::split_paths(&host.env("PATH").unwrap_or_default())
        .any(|folder| folder.is_absolute() && is_program(host, &folder.join("ld.lld")));
    let needs_lld = wants_lld(inquiry) && !lld_on_path;
    if let Some(best) = found.iter().find(|candidate| candidate.lld || !needs_lld) {
        let bin = best.bin.display();
        let seen = Text::new(
            format!("{} and {} are in {bin}, which is not on PATH", names[0], names[1]),
            format!("{} 与 {} 位于 {bin}，但该目录不在 PATH 中", names[0], names[1]),
        );
        let answer = at(&best.bin, names, Answer::new("prefix", seen));
        let answer = if best.lld { answer.with("lld", best.bin.join("ld.lld").display().to_string()) } else { answer };
        return with_version(answer, best.version);
    }
    if let Some(best) = found.first() {
        let bin = best.bin.display();
        let seen = Text::new(
            format!("{bin} has clang but no ld.lld, which this build asks for"),
            format!("{bin} 有 clang，但没有本构建所需的 ld.lld"),
        );
        return with_version(at(&best.bin, names, Answer::new("no_lld", seen)), best.version);
    }
    let plain = names[0] == "clang";
    if let Some((version, bin)) = versioned(host).filter(|_| plain) {
        let [clang, clangxx] =
            ["clang", "clang++"].map(|name| bin.join(format!("{name}-{version}")).display().to_string());
        let seen = Text::new(
            format!("only {clang} and {clangxx} are here, under names with a version"),
            format!("本机只有带版本号的 {clang} 与 {clangxx}"),
        );
        let answer = Answer::new("versioned_only", seen).with("bin", bin.display().to_string());
        return with_version(answer.with("clang", clang).with("clangxx", clangxx), Some(version));
    }
    Answer::new(
        "none",
        Text::new(format!("no {} is in the usual folders", names[0]), format!("常用目录中都没有 {}", names[0])),
    )
}

fn at(bin: &Path, names: &[String], answer: Answer) -> Answer {
    let file = |name: &String| bin.join(name).display().to_string();
    answer.with("bin", bin.display().to_string()).with("clang", file(&names[0])).with("clangxx", file(&names[1]))
}

fn with_version(answer: Answer, version: Option<u32>) -> Answer {
    let Some(version) = version else { return answer };
    let answer = answer.with("version", version.to_string());
    if version >= WANTED { answer } else { answer.with("note", format!("clang {version} < {WANTED}")) }
}

fn holds(host: &dyn Host, bin: &Path, names: &[String]) -> bool {
    names.iter().all(|name| is_program(host, &bin.join(name)))
}

/// Says whether the project's script or the command asks for lld.
fn wants_lld(inquiry: &Inquiry<'_>) -> bool {
    let asks = |text: &str| {
        text.contains("fuse-ld=lld") || text.contains("CMAKE_LINKER=lld") || text.contains("ENABLE_LLD=ON")
    };
    let command = inquiry.command.unwrap_or_default().iter().any(|word| asks(&word.to_string_lossy()));
    command || script(inquiry).is_some_and(|text| asks(&text))
}

fn script(inquiry: &Inquiry<'_>) -> Option<String> {
    let path = find_script(inquiry.host, inquiry.command, None, &[])?;
    let bytes = inquiry.host.read(path.as_path(), LARGEST_SCRIPT).ok()?;
    Some(String::from_utf8_lossy(&bytes).into_owned())
}

/// Lists the folders that hold compilers and linkers: those on PATH first, none that strangers can write to.
pub(super) fn folders_of_programs(host: &dyn Host) -> Vec<PathBuf> {
    let path = host.env("PATH").unwrap_or_default();
    let on_path = std::env::split_paths(&path).collect::<Vec<_>>();
    let named = toolchain_folders(host).into_iter().map(|(folder, _)| folder);
    let mut seen = BTreeSet::new();
    let is_ours = |folder: &PathBuf| {
        folder.is_absolute() && is_of_no_stranger(host, folder) && !is_device_compilers(host, folder)
    };
    on_path.into_iter().chain(named).filter(is_ours).filter(|folder| seen.insert(folder.clone())).collect()
}

/// CANN's device compiler calls itself clang in some releases.
fn is_device_compilers(host: &dyn Host, bin: &Path) -> bool {
    host.real(bin).is_ok_and(|real| real.to_string_lossy().contains("ccec_compiler"))
}

/// Lists the folders that may hold a clang; true where the user's environment names it.
fn toolchain_folders(host: &dyn Host) -> Vec<(PathBuf, bool)> {
    let mut folders: Vec<(PathBuf, bool)> = Vec::new();
    for variable in ["LLVM_INSTALL_PREFIX", "LLVM_SYSPATH"] {
        folders.extend(host.env(variable).map(|prefix| (Path::new(&prefix).join("bin"), true)));
    }
    for (base, below) in [
        ("/usr/lib", "bin"),
        ("/usr/lib64", "bin"),
        ("/opt", "bin"),
        ("/usr/local", "bin"),
        ("/opt/rh", "root/usr/bin"),
    ] {
        let names = host.list(Path::new(base), MOST_NAMES).unwrap_or_default();
        let fits = |name: &&OsStr| {
            let name = name.to_string_lossy().to_ascii_lowercase();
            name.contains("llvm") || name.contains("clang")
        };
        folders.extend(
            names.iter().map(AsRef::as_ref).filter(fits).map(|name| (Path::new(base).join(name).join(below), false)),
        );
    }
    folders.extend(["/usr/local/bin", "/usr/bin"].map(|folder| (folder.into(), false)));
    folders.extend(host.env("CONDA_PREFIX").map(|prefix| (Path::new(&prefix).join("bin"), false)));
    folders
}

/// Lists the folders with a clang, best first: what the user's environment names, then the newest.
fn candidates(host: &dyn Host) -> Vec<Candidate> {
    let mut seen = BTreeSet::new();
    let mut candidates: Vec<Candidate> = Vec::new();
    for (bin, named) in toolchain_folders(host) {
        if !bin.is_absolute() || !is_of_no_stranger(host, &bin) {
            continue;
        }
        let Ok(real) = host.real(&bin) else { continue };
        if is_device_compilers(host, &bin) || !seen.insert(real) {
            continue;
        }
        let version = version(host, &bin);
        if version.is_some_and(|version| version < OLDEST) {
            continue;
        }
        let lld = is_program(host, &bin.join("ld.lld"));
        candidates.push(Candidate { bin, version, lld, named });
    }
    candidates.sort_by_key(|candidate| (!candidate.named, std::cmp::Reverse(candidate.version)));
    candidates
}

/// Reads the version from the folder's name, the program's real name, or the resource folder beside it.
fn version(host: &dyn Host, bin: &Path) -> Option<u32> {
    let digits = |text: &str, after: &str| {
        let rest = text.split_once(after)?.1.trim_start_matches('-');
        rest.split(|c: char| !c.is_ascii_digit()).next()?.parse().ok()
    };
    let folder = bin.to_string_lossy().into_owned();
    let real = host.real(&bin.join("clang")).unwrap_or_default();
    let name = real.file_name().map(|name| name.to_string_lossy().into_owned()).unwrap_or_default();
    let beside = || {
        let resources = real.parent()?.parent()?.join("lib/clang");
        let names = host.list(&resources, 100).ok()?;
        names.iter().filter_map(|name| name.to_str()?.split('.').next()?.parse().ok()).max()
    };
    digits(&folder, "/llvm")
        .or_else(|| digits(&name, "clang-"))
        .or_else(beside)
        .filter(|version| (3..100).contains(version))
}

/// Finds the newest pair with a version in its names, such as `/usr/bin/clang-15` and `/usr/bin/clang++-15`.
fn versioned(host: &dyn Host) -> Option<(u32, PathBuf)> {
    let mut best = None;
    for bin in ["/usr/bin", "/usr/local/bin"].map(PathBuf::from) {
        for name in host.list(&bin, 100_000).unwrap_or_default() {
            let version = name.to_str().and_then(|name| name.strip_prefix("clang-")?.parse::<u32>().ok());
            let Some(version) = version.filter(|version| *version >= OLDEST) else { continue };
            let names = [format!("clang-{version}"), format!("clang++-{version}")];
            if best.as_ref().is_none_or(|(known, _)| *known < version) && holds(host, &bin, &names) {
                best = Some((version, bin.clone()));
            }
        }
    }
    best
}

#[cfg(test)]
#[path = "toolchain_tests.rs"]
mod tests;
