//! Where do LLVM's imported targets come from: the build tree's cache, the command, the environment, or an install that
//! never fits?
//!
//! LLD, MLIR and Clang check at the end of their Targets file that LLVM's targets are there. The LLVM that is loaded
//! first stays (`if(NOT TARGET LLVMSupport)`), so that a cached or shadowing LLVM of another build lacks some, while the
//! one beside the package has them all.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};

use super::{Answer, ArgSpec, Inquiry, Question};
use crate::evidence::Host;
use crate::evidence::build_command::{self, BuildCommand};
use crate::evidence::build_tree;
use crate::evidence::llvm_packages::{self as packages, LLVM, Llvm, MLIR, PREFIX_PATH, Package, USERS};
use crate::formats::cmake_cache::CMakeCache;
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
    answers: &["stale", "given", "mismatch", "shadowed", "shadowed_prefix", "consistent", "no_tree"],
    values: &[
        "entries",
        "prefixes",
        "variables",
        "giver",
        "fresh",
        "fresh_version",
        "cached",
        "cached_version",
        "missing",
    ],
    ask: cmake_llvm_origin,
}];

/// Variables whose words build scripts hand on to cmake.
const ARGUMENT_VARIABLES: &[&str] = &["TRITON_APPEND_CMAKE_ARGS", "CMAKE_ARGS", "SKBUILD_CMAKE_ARGS"];

/// What was found out before anything is decided.
struct Facts<'a> {
    host: &'a dyn Host,
    cache: Option<&'a CMakeCache<'a>>,
    package: &'static Package,
    /// The package's folder in the LLVM that the build means.
    folder: AbsPath,
    /// Where the package's own variable leads elsewhere: the variable and the folder that CMake took.
    own_variable: Option<(String, AbsPath)>,
    need: BTreeSet<String>,
    /// The LLVM beside the package: what an empty build tree would use.
    fresh: Llvm,
    fresh_version: Option<String>,
}

/// A cached LLVM that is not the fresh one.
struct Stale {
    entry: &'static str,
    llvm: Llvm,
    missing: Vec<String>,
}

fn cmake_llvm_origin(inquiry: &Inquiry<'_>) -> Answer {
    let named_missing = inquiry.list("missing_targets");
    if !named_missing.is_empty() && !named_missing.iter().any(|names| names.contains("LLVM")) {
        return unknown("the missing targets are not LLVM's own", "缺少的目标不属于 LLVM 本身");
    }
    let host = inquiry.host;
    let tree = inquiry.text("tree").and_then(|tree| AbsPath::new(tree).ok());
    let bytes = tree.and_then(|tree| build_tree::read_cache(host, tree.as_path()));
    let cache = bytes.as_deref().map(CMakeCache::parse);
    let cache = cache.as_ref();
    let Some((package, taken)) = package_folder(inquiry, cache) else {
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
    let (own_variable, folder) = match passed_over(host, package, &taken, cache) {
        Some((variable, meant)) => (Some((variable, taken)), meant),
        None => (None, taken),
    };
    let Some(need) = packages::required(host, package, &folder) else {
        return unknown("the package's Targets file cannot be read", "无法读取该软件包的 Targets 文件");
    };
    if need.is_empty() {
        return unknown("the package's Targets file needs nothing of others", "该软件包的 Targets 文件不依赖其他目标");
    }
    let fresh = Llvm::of(package, &folder);
    let Some(missing) = fresh.missing(host, &need) else {
        return unknown("no LLVM is installed beside the package", "该软件包旁没有安装 LLVM");
    };
    let fresh_version = fresh.version(host);
    let facts = Facts { host, cache, package, folder, own_variable, need, fresh, fresh_version };
    if let Some(answer) = facts.mismatch(missing) {
        return answer;
    }
    let stale = facts.stale();
    if let Some(answer) = facts.given(&stale, inquiry).or_else(|| facts.shadowed(&stale)) {
        return answer;
    }
    facts.residue(&stale)
}

impl Facts<'_> {
    fn answer(&self, word: &'static str, en: String, zh: String) -> Answer {
        let mut answer = Answer::new(word, Text::new(en, zh)).with("fresh", self.fresh.0.to_string());
        answer.values.extend(self.fresh_version.clone().map(|version| ("fresh_version", Value::Text(version))));
        answer
    }

    /// No clean build helps where the LLVM beside the package does not fit it.
    fn mismatch(&self, missing: Vec<String>) -> Option<Answer> {
        let (name, fresh) = (self.package.name, &self.fresh.0);
        if !missing.is_empty() {
            let list = missing.join(", ");
            let en = format!("`{fresh}`, beside {name}, itself lacks {list}");
            let zh = format!("与 {name} 同一安装的 `{fresh}` 本身就缺少 {list}");
            return Some(self.answer("mismatch", en, zh).with("missing", missing));
        }
        let wanted = packages::wanted_llvm(self.host, self.package, &self.folder)?;
        let have = self.fresh_version.as_ref().filter(|have| **have != wanted)?;
        let en = format!("{name} wants LLVM {wanted}, beside it is LLVM {have}");
        let zh = format!("{name} 要求 LLVM {wanted}，而同一安装中是 LLVM {have}");
        Some(self.answer("mismatch", en, zh).with("missing", Vec::new()))
    }

    /// What an LLVM lacks, where it is another than the fresh one: targets, or the version.
    fn lacks(&self, llvm: &Llvm) -> Option<Vec<String>> {
        let missing = llvm.missing(self.host, &self.need).unwrap_or_default();
        let version = llvm.version(self.host);
        let differs = version.is_some() && self.fresh_version.is_some() && version != self.fresh_version;
        (!missing.is_empty() || differs).then_some(missing)
    }

    fn cached(&self) -> Vec<(&'static str, Llvm)> {
        self.cache.map(|cache| packages::cached_llvms(self.host, cache)).unwrap_or_default()
    }

    fn stale(&self) -> Vec<Stale> {
        let lacking =
            |(entry, llvm): (&'static str, Llvm)| self.lacks(&llvm).map(|missing| Stale { entry, llvm, missing });
        self.cached().into_iter().filter_map(lacking).collect()
    }

    fn with_stale(&self, mut answer: Answer, stale: &[Stale]) -> Answer {
        let entries: Vec<String> = stale.iter().map(|stale| stale.entry.to_owned()).collect();
        let prefixes = stale.iter().filter_map(|stale| stale.llvm.own_prefix(self.host));
        let mut prefixes: Vec<String> = prefixes.map(|prefix| prefix.to_string()).collect();
        prefixes.dedup();
        answer = answer.with("entries", entries).with("prefixes", prefixes);
        if let Some(first) = stale.first() {
            answer = answer.with("cached", first.llvm.0.to_string()).with("missing", first.missing.clone());
            let version = first.llvm.version(self.host);
            answer.values.extend(version.map(|version| ("cached_version", Value::Text(version))));
        }
        answer
    }

    /// What the command or a variable of arguments sets each time is no residue.
    fn given(&self, stale: &[Stale], inquiry: &Inquiry<'_>) -> Option<Answer> {
        let given = given_entries(inquiry);
        let is_given = |stale: &&Stale| given.iter().any(|(_, name)| name == stale.entry);
        let entries: Vec<String> = stale.iter().filter(is_given).map(|stale| stale.entry.to_owned()).collect();
        let first = entries.first()?;
        let giver = given.iter().find(|(_, name)| name == first).map(|(giver, _)| giver.clone())?;
        let list = entries.join(", ");
        let en = format!("{giver} itself gives {list}, which is not the LLVM beside {}", self.package.name);
        let zh = format!("{giver} 自身给出了 {list}，它不是与 {} 同一安装的 LLVM", self.package.name);
        let answer = self.with_stale(self.answer("given", en, zh), stale);
        Some(answer.with("entries", entries).with("giver", giver))
    }

    fn shadowed(&self, stale: &[Stale]) -> Option<Answer> {
        if let Some((variable, taken)) = &self.own_variable {
            let en =
                format!("{variable} leads to `{taken}`, past `{}` of the LLVM that the build was given", self.folder);
            let zh = format!("{variable} 指向 `{taken}`，而不是构建所指定的 LLVM 中的 `{}`", self.folder);
            let mut entries: Vec<String> = stale.iter().map(|stale| stale.entry.to_owned()).collect();
            let entry = format!("{}_DIR", self.package.name);
            let is_cached = self.cache.and_then(|cache| cache.found_path(&entry)) == taken.as_path().to_str();
            entries.extend(is_cached.then_some(entry));
            let answer = self.with_stale(self.answer("shadowed", en, zh), stale).with("cached", taken.to_string());
            return Some(answer.with("entries", entries).with("variables", vec![variable.clone()]));
        }
        let cached = self.cached();
        let mut variables: Vec<String> = Vec::new();
        let mut first: Option<(Llvm, Vec<String>)> = None;
        for package in [&MLIR, &LLVM] {
            let Some((variable, folder)) = packages::first_in_environment(self.host, package) else { continue };
            let llvm = Llvm::of(package, &folder);
            let Some(missing) = self.lacks(&llvm).filter(|missing| !missing.is_empty()) else { continue };
            // A project may name its MLIR itself; the environment's counts only where the cache shows that it was taken.
            if package.name == MLIR.name && !cached.iter().any(|(_, cached)| *cached == llvm) {
                continue;
            }
            if !variables.contains(&variable) {
                variables.push(variable);
            }
            first.get_or_insert((llvm, missing));
        }
        let (llvm, missing) = first?;
        let (name, list, folder) = (self.package.name, variables.join(", "), &llvm.0);
        let en = format!("{list} leads to `{folder}`, which lacks targets that the LLVM beside {name} has");
        let zh = format!("{list} 指向 `{folder}`，它缺少与 {name} 同一安装的 LLVM 所具有的目标");
        let by_prefix = variables.iter().any(|variable| variable == PREFIX_PATH);
        let word = if by_prefix { "shadowed_prefix" } else { "shadowed" };
        // What only CMAKE_PREFIX_PATH does is overridden, not unset: other packages are found by it.
        variables.retain(|variable| variable != PREFIX_PATH);
        let answer = self.with_stale(self.answer(word, en, zh), stale);
        Some(answer.with("cached", folder.to_string()).with("missing", missing).with("variables", variables))
    }

    fn residue(&self, stale: &[Stale]) -> Answer {
        let name = self.package.name;
        if self.cache.is_none() {
            let en = "there is no build tree, and the installed packages fit";
            return self.answer("no_tree", en.into(), "没有构建目录，已安装的软件包彼此匹配".into());
        }
        let Some(first) = stale.first() else {
            let en = format!("cache and environment lead to the LLVM beside {name}");
            return self.answer("consistent", en, format!("缓存和环境变量都指向与 {name} 同一安装的 LLVM"));
        };
        let (entry, old) = (first.entry, &first.llvm.0);
        let en = format!("the cache's {entry} leads to `{old}`; the LLVM beside {name} is complete");
        let zh = format!("缓存中的 {entry} 指向 `{old}`；与 {name} 同一安装的 LLVM 是完整的");
        self.with_stale(self.answer("stale", en, zh), stale)
    }
}

/// The package whose check failed, and its folder: the message names the one that CMake really used.
fn package_folder(inquiry: &Inquiry<'_>, cache: Option<&CMakeCache<'_>>) -> Option<(&'static Package, AbsPath)> {
    let config = inquiry.text("config").and_then(|config| AbsPath::new(config).ok());
    if let Some(config) = config
        && let Some(package) = USERS.iter().find(|package| config.as_path().ends_with(package.config))
        && let Some(folder) = config.parent()
    {
        return packages::holds(inquiry.host, &folder, package.targets).then_some((*package, folder));
    }
    let name = inquiry.text("package").unwrap_or_else(|| "LLD".to_owned());
    let package = USERS.iter().find(|package| package.name.eq_ignore_ascii_case(&name))?;
    packages::cached_folder(inquiry.host, package, cache?).map(|folder| (*package, folder))
}

/// Says that the package itself came by its own variable, past the one of the LLVM that the build was given; returns the
/// variable and the folder that was passed over.
fn passed_over(
    host: &dyn Host,
    package: &Package,
    taken: &AbsPath,
    cache: Option<&CMakeCache<'_>>,
) -> Option<(String, AbsPath)> {
    let (variable, led_to) = packages::first_in_environment(host, package)?;
    let cached = cache.and_then(|cache| cache.found_path("LLVM_LIBRARY_DIR")).map(PathBuf::from);
    let given = cached.or_else(|| Some(Path::new(&host.env("LLVM_SYSPATH")?).join("lib")))?;
    let meant = AbsPath::new(given).ok()?.resolve("cmake").resolve(package.folder);
    let is_past = variable != PREFIX_PATH && led_to == *taken && meant != *taken;
    (is_past && packages::holds(host, &meant, package.targets)).then_some((variable, meant))
}

/// Lists the cache entries that the command sets each time, with who says so.
fn given_entries(inquiry: &Inquiry<'_>) -> Vec<(String, String)> {
    let builds = inquiry.command.map(|command| build_command::recognise(command, inquiry.host)).unwrap_or_default();
    let mut given = Vec::new();
    for build in &builds {
        match build {
            BuildCommand::Configure(configure) => {
                given.extend(configure.defines.iter().map(|name| ("cmake".to_owned(), name.clone())));
            }
            BuildCommand::Build { .. } | BuildCommand::Python(_) => {}
        }
    }
    // Scripts read these; cmake itself does not.
    if builds.iter().all(|build| matches!(build, BuildCommand::Python(_))) {
        for variable in ARGUMENT_VARIABLES {
            let value = inquiry.host.env(variable).and_then(|value| value.into_string().ok()).unwrap_or_default();
            let words = shell_words::split(&value.replace(';', " ")).unwrap_or_default();
            let names = words.iter().filter_map(|word| word.strip_prefix("-D")?.split([':', '=']).next());
            given.extend(names.map(|name| ((*variable).to_owned(), name.to_owned())));
        }
    }
    given
}

fn unknown(en: &str, zh: &str) -> Answer {
    Answer::new(super::UNKNOWN, Text::new(en, zh))
}
