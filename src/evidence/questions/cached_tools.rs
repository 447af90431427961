//! What a build tree's cache says about tools and linker flags.

use std::collections::BTreeMap;
use std::io::ErrorKind;
use std::path::{Path, PathBuf};

use super::{Answer, ArgSpec, Inquiry, Question};
use crate::evidence::Host;
use crate::recipe::Text;

/// The questions of this file.
pub const QUESTIONS: &[Question] = &[
    Question {
        name: "cached_tools",
        about: "Finds tools in the build tree's cache (CMAKE_AR, CMAKE_RANLIB, CMAKE_LINKER, compilers) that are gone.",
        args: &[
            TREE,
            ArgSpec { name: "tool", required: false, about: "Tools that the log names; others are looked at as well" },
            ArgSpec { name: "names", required: false, about: "Names of the entries to look at; all tools when absent" },
        ],
        answers: &["gone", "compiler_gone", "present", "no_tree"],
        values: &["tools", "paths", "entries"],
        ask: cached_tools,
    },
    Question {
        name: "cached_compilers",
        about: "Says whether the build tree's cache names real compilers; a run that did not find its compiler leaves bare names or none.",
        args: &[TREE],
        answers: &["half_made", "gone", "made", "no_tree"],
        values: &["compilers"],
        ask: cached_compilers,
    },
    Question {
        name: "cached_linker_flags",
        about: "Says whether the linker flags in the build tree's cache search the given folders, for all three kinds.",
        args: &[TREE, ArgSpec { name: "folders", required: true, about: "Folders that `-L` shall name" }],
        answers: &["all", "some", "none", "no_tree"],
        values: &["flags", "lacking"],
        ask: cached_linker_flags,
    },
];

const TREE: ArgSpec = ArgSpec { name: "tree", required: false, about: "The build tree" };

/// Caches of LLVM have about 200 KiB.
const LARGEST: u64 = 16 << 20;

/// Entries that hold the path of a tool without which nothing is built.
const NEEDED: &[&str] = &["CMAKE_AR", "CMAKE_RANLIB", "CMAKE_C_COMPILER", "CMAKE_CXX_COMPILER", "CMAKE_ASM_COMPILER"];

/// Entries that hold the path of a tool that some builds use. That one is gone shows where the needed ones came from.
const OTHERS: &[&str] = &[
    "CMAKE_LINKER",
    "CMAKE_NM",
    "CMAKE_OBJCOPY",
    "CMAKE_OBJDUMP",
    "CMAKE_READELF",
    "CMAKE_STRIP",
    "CMAKE_C_COMPILER_AR",
    "CMAKE_C_COMPILER_RANLIB",
    "CMAKE_CXX_COMPILER_AR",
    "CMAKE_CXX_COMPILER_RANLIB",
];

/// The entries of a CMakeCache.txt.
pub struct Cache(BTreeMap<String, String>);

impl Cache {
    /// Reads the cache of a build tree; `None` where there is none.
    pub fn read(host: &dyn Host, tree: &Path) -> Option<Self> {
        if !tree.is_absolute() {
            return None;
        }
        let bytes = host.read(&tree.join("CMakeCache.txt"), LARGEST).ok()?;
        Some(Self(entries(&String::from_utf8_lossy(&bytes))))
    }

    pub fn get(&self, name: &str) -> Option<&str> {
        self.0.get(name).map(String::as_str)
    }
}

/// Reads `NAME:TYPE=value` lines.
fn entries(text: &str) -> BTreeMap<String, String> {
    let mut entries = BTreeMap::new();
    for line in text.lines() {
        if line.starts_with(['#', '/']) {
            continue;
        }
        let Some((name, rest)) = line.split_once(':') else { continue };
        let Some((_, value)) = rest.split_once('=') else { continue };
        entries.insert(name.trim_matches('"').to_owned(), value.trim_end_matches('\r').to_owned());
    }
    entries
}

fn no_tree() -> Answer {
    Answer::new("no_tree", Text::new("no build tree is known here", "本机没有已知的构建目录"))
}

fn cached_tools(inquiry: &Inquiry<'_>) -> Answer {
    let host = inquiry.host;
    let Some(tree) = inquiry.text("tree").map(PathBuf::from) else { return no_tree() };
    let Some(cache) = Cache::read(host, &tree) else { return no_tree() };
    let names = inquiry.list("names");
    let named = inquiry.list("tool");
    let looked_at = |name: &str| names.is_empty() || names.iter().any(|wanted| wanted == name);
    let mut gone: BTreeMap<String, String> = BTreeMap::new();
    for name in NEEDED.iter().chain(OTHERS).filter(|name| looked_at(name)) {
        if let Some(value) = cache.get(name)
            && is_gone(host, &tree, name, value, &named)
        {
            gone.insert((*name).to_owned(), value.to_owned());
        }
    }
    // CMake keeps the tools a second time, and heals neither copy from the other.
    for (name, value) in detected(host, &tree) {
        if looked_at(&name) && is_gone(host, &tree, &name, &value, &named) {
            gone.entry(name).or_insert(value);
        }
    }
    let counts = |(name, value): (&String, &String)| NEEDED.contains(&name.as_str()) || named.contains(value);
    if !gone.iter().any(counts) {
        let seen = Text::new(
            format!("the tools in the cache of {} exist", tree.display()),
            format!("{} 缓存中的工具都存在", tree.display()),
        );
        return Answer::new("present", seen);
    }
    let tools: Vec<String> = gone.iter().map(|(name, path)| format!("{name}={path}")).collect();
    let entries: Vec<String> = gone.keys().cloned().collect();
    let mut paths: Vec<String> = gone.into_values().collect();
    paths.sort();
    paths.dedup();
    let list = tools.join(", ");
    let seen = Text::new(
        format!("the cache of {} names tools that do not exist: {list}", tree.display()),
        format!("{} 的缓存记录了已不存在的工具：{list}", tree.display()),
    );
    // Without its compiler a tree is another matter: what is to take the compiler's place is the user's choice.
    let word = if entries.iter().any(|name| name.ends_with("_COMPILER")) { "compiler_gone" } else { "gone" };
    Answer::new(word, seen).with("tools", tools).with("paths", paths).with("entries", entries)
}

fn is_gone(host: &dyn Host, tree: &Path, name: &str, value: &str, named: &[String]) -> bool {
    if value.ends_with("-NOTFOUND") {
        // The compilers' own archivers are often not found and rarely used; the log tells when one was.
        return matches!(name, "CMAKE_AR" | "CMAKE_RANLIB") || named.iter().any(|tool| tool == value);
    }
    let path = Path::new(value);
    // `-DCMAKE_LINKER=lld` becomes a path in the tree, where nothing ever was.
    let made_up = path.parent() == Some(tree) || path.parent() == host.real(tree).ok().as_deref();
    path.is_absolute()
        && !made_up
        && matches!(host.follow(path), Err(error) if error.kind() == ErrorKind::NotFound || error.kind() == ErrorKind::NotADirectory)
}

/// Reads `set(CMAKE_AR "/path")` of `CMakeFiles/<version>/CMake{C,CXX,ASM}Compiler.cmake`.
fn detected(host: &dyn Host, tree: &Path) -> Vec<(String, String)> {
    let files = tree.join("CMakeFiles");
    let mut found = Vec::new();
    for version in host.list(&files, 10_000).unwrap_or_default() {
        if !version.to_string_lossy().starts_with(|c: char| c.is_ascii_digit()) {
            continue;
        }
        for language in ["C", "CXX", "ASM"] {
            let file = files.join(&version).join(format!("CMake{language}Compiler.cmake"));
            let Ok(bytes) = host.read(&file, 1 << 20) else { continue };
            for line in String::from_utf8_lossy(&bytes).lines() {
                let Some(rest) = line.trim().strip_prefix("set(") else { continue };
                let Some((name, value)) = rest.split_once(' ') else { continue };
                let value = value.trim_end_matches(')').trim().trim_matches('"');
                if NEEDED.iter().chain(OTHERS).any(|tool| *tool == name) && !value.is_empty() {
                    found.push((name.to_owned(), value.to_owned()));
                }
            }
        }
    }
    found
}

fn cached_compilers(inquiry: &Inquiry<'_>) -> Answer {
    let host = inquiry.host;
    let Some(tree) = inquiry.text("tree").map(PathBuf::from) else { return no_tree() };
    let Some(cache) = Cache::read(host, &tree) else { return no_tree() };
    let named = ["CMAKE_C_COMPILER", "CMAKE_CXX_COMPILER"].map(|name| cache.get(name));
    let compilers: Vec<String> = named.iter().flatten().map(|value| (*value).to_owned()).collect();
    // A found compiler is replaced by its full path, and then stays in the cache.
    let made = !compilers.is_empty() && compilers.iter().all(|value| Path::new(value).is_absolute());
    let list = if compilers.is_empty() { "-".to_owned() } else { compilers.join(", ") };
    let is_lost = |value: &String| is_gone(host, &tree, "", value, &[]);
    let (word, seen) = if made && compilers.iter().any(is_lost) {
        let seen = Text::new(
            format!("the cache of {} names a compiler that is gone: {list}", tree.display()),
            format!("{} 的缓存记录了已不存在的编译器：{list}", tree.display()),
        );
        ("gone", seen)
    } else if made {
        let seen = Text::new(
            format!("the cache of {} has its compilers: {list}", tree.display()),
            format!("{} 的缓存中编译器完整：{list}", tree.display()),
        );
        ("made", seen)
    } else {
        let seen = Text::new(
            format!("the cache of {} was made without its compilers: {list}", tree.display()),
            format!("{} 的缓存是在找不到编译器时生成的：{list}", tree.display()),
        );
        ("half_made", seen)
    };
    Answer::new(word, seen).with("compilers", compilers)
}

fn cached_linker_flags(inquiry: &Inquiry<'_>) -> Answer {
    let Some(tree) = inquiry.text("tree").map(PathBuf::from) else { return no_tree() };
    let Some(cache) = Cache::read(inquiry.host, &tree) else { return no_tree() };
    let folders = inquiry.list("folders");
    let kinds = ["CMAKE_EXE_LINKER_FLAGS", "CMAKE_SHARED_LINKER_FLAGS", "CMAKE_MODULE_LINKER_FLAGS"];
    let value = |kind: &str| cache.get(kind).unwrap_or_default().to_owned();
    let searches = |value: &str| {
        let words: Vec<&str> = value.split_whitespace().collect();
        folders.iter().all(|folder| {
            let folder = folder.trim_end_matches('/');
            let is = |word: &str| word.trim_end_matches('/') == folder;
            words.iter().any(|word| word.strip_prefix("-L").is_some_and(is))
                || words.windows(2).any(|pair| pair[0] == "-L" && is(pair[1]))
        })
    };
    let flags: Vec<String> = kinds.iter().map(|kind| format!("{kind}={}", value(kind))).collect();
    let lacking: Vec<String> =
        kinds.iter().filter(|kind| !searches(&value(kind))).map(|kind| (*kind).to_owned()).collect();
    let (word, seen) = match lacking.len() {
        _ if folders.is_empty() => ("none", Text::new("no folder is given", "没有给出目录")),
        0 => (
            "all",
            Text::new(
                format!("all linker flags in the cache search {}", folders.join(", ")),
                format!("缓存中的三类链接参数都会搜索 {}", folders.join(", ")),
            ),
        ),
        3 => ("none", Text::new("no linker flags in the cache search it", "缓存中的链接参数都不搜索该目录")),
        _ => (
            "some",
            Text::new(
                format!("{} in the cache do not search it", lacking.join(", ")),
                format!("缓存中的 {} 不搜索该目录", lacking.join(", ")),
            ),
        ),
    };
    Answer::new(word, seen).with("flags", flags).with("lacking", lacking)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::evidence::LocalHost;
    use crate::evidence::questions::testing::NoGit;
    use crate::os::AbsPath;
    use crate::recipe::Value;

    fn ask(question: &str, tree: &Path, more: &[(&str, Value)]) -> Answer {
        let host = LocalHost::new(AbsPath::new(tree).unwrap(), [], Box::new(NoGit));
        let mut args: BTreeMap<String, Value> =
            more.iter().map(|(name, value)| ((*name).to_owned(), value.clone())).collect();
        args.insert("tree".into(), Value::from(tree.display().to_string()));
        let question = QUESTIONS.iter().find(|known| known.name == question).unwrap();
        (question.ask)(&Inquiry { args: &args, host: &host, command: None })
    }

    #[test]
    fn names_tools_that_are_gone() {
        let tree = tempfile::tempdir().unwrap();
        let tree = tree.path();
        let write = |text: &str| std::fs::write(tree.join("CMakeCache.txt"), text).unwrap();
        assert_eq!(ask("cached_tools", tree, &[]).word, "no_tree");
        for (text, word, paths) in [
            ("CMAKE_AR:FILEPATH=/bin/sh\n", "present", vec![]),
            (
                "// CMAKE_AR:FILEPATH=/gone/x\n#CMAKE_AR:FILEPATH=/gone/x\nCMAKE_AR:FILEPATH=/bin/sh\r\n",
                "present",
                vec![],
            ),
            (
                "CMAKE_AR:FILEPATH=/nowhere/bin/llvm-ar\nCMAKE_RANLIB:FILEPATH=/nowhere/bin/llvm-ranlib\n",
                "gone",
                vec!["/nowhere/bin/llvm-ar", "/nowhere/bin/llvm-ranlib"],
            ),
            ("CMAKE_C_COMPILER:UNINITIALIZED=clang\n", "present", vec![]),
            ("CMAKE_OBJDUMP:FILEPATH=/nowhere/bin/llvm-objdump\n", "present", vec![]),
            ("CMAKE_AR:FILEPATH=CMAKE_AR-NOTFOUND\n", "gone", vec!["CMAKE_AR-NOTFOUND"]),
            ("CMAKE_CXX_COMPILER_AR:FILEPATH=CMAKE_CXX_COMPILER_AR-NOTFOUND\n", "present", vec![]),
        ] {
            write(text);
            let answer = ask("cached_tools", tree, &[]);
            assert_eq!(answer.word, word, "{text}");
            assert_eq!(answer.values.get("paths").map(Value::to_list).unwrap_or_default(), paths, "{text}");
        }
        write(&format!("CMAKE_AR:FILEPATH=/bin/sh\nCMAKE_LINKER:FILEPATH={}/lld\n", tree.display()));
        assert_eq!(
            ask("cached_tools", tree, &[("tool", Value::from("lld"))]).word,
            "present",
            "a bare name made absolute"
        );

        write("CMAKE_CXX_COMPILER_AR:FILEPATH=CMAKE_CXX_COMPILER_AR-NOTFOUND\n");
        let named = [("tool", Value::from("CMAKE_CXX_COMPILER_AR-NOTFOUND"))];
        assert_eq!(ask("cached_tools", tree, &named).word, "gone");

        write("CMAKE_AR:FILEPATH=/bin/sh\n");
        let detected = tree.join("CMakeFiles/3.25.1");
        std::fs::create_dir_all(&detected).unwrap();
        std::fs::write(detected.join("CMakeCXXCompiler.cmake"), "set(CMAKE_AR \"/nowhere/llvm-ar\")\n").unwrap();
        assert_eq!(ask("cached_tools", tree, &[]).word, "gone", "`-DCMAKE_AR=` does not heal the second copy");
        let compilers = [("names", Value::from("CMAKE_C_COMPILER"))];
        assert_eq!(ask("cached_tools", tree, &compilers).word, "present");
    }

    #[test]
    fn a_cache_without_full_paths_of_compilers_is_half_made() {
        let tree = tempfile::tempdir().unwrap();
        assert_eq!(ask("cached_compilers", tree.path(), &[]).word, "no_tree");
        let (c, cxx) = ("CMAKE_C_COMPILER", "CMAKE_CXX_COMPILER");
        for (text, word) in [
            (format!("{c}:UNINITIALIZED=clang\n{cxx}:UNINITIALIZED=clang++\n"), "half_made"),
            (format!("{c}:STRING=/usr/bin/clang-14\n{cxx}:UNINITIALIZED=clang++\n"), "half_made"),
            ("CMAKE_HOME_DIRECTORY:INTERNAL=/x\n".to_owned(), "half_made"),
            (format!("{c}:STRING={c}-NOTFOUND\n"), "half_made"),
            (format!("{c}:FILEPATH=/bin/sh\n"), "made"),
            (format!("{c}:STRING=/bin/sh\n{cxx}:STRING=/nowhere/bin/clang++\n"), "gone"),
        ] {
            std::fs::write(tree.path().join("CMakeCache.txt"), &text).unwrap();
            assert_eq!(ask("cached_compilers", tree.path(), &[]).word, word, "{text}");
        }
    }

    #[test]
    fn all_three_kinds_count() {
        let tree = tempfile::tempdir().unwrap();
        let folders = [("folders", Value::from("/opt/x/"))];
        let kind = |kind: &str, value: &str| format!("CMAKE_{kind}_LINKER_FLAGS:STRING={value}\n");
        for (text, word) in [
            (String::new(), "none"),
            (kind("EXE", "-fuse-ld=lld -L/opt/x"), "some"),
            (kind("EXE", "-L/opt/x") + &kind("SHARED", "-L /opt/x") + &kind("MODULE", "-L/opt/xy"), "some"),
            (kind("EXE", "-L/opt/x") + &kind("SHARED", "-L /opt/x") + &kind("MODULE", "-L/opt/x/"), "all"),
        ] {
            std::fs::write(tree.path().join("CMakeCache.txt"), &text).unwrap();
            assert_eq!(ask("cached_linker_flags", tree.path(), &folders).word, word, "{text}");
        }
    }
}
