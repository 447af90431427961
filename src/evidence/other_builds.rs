//! Commands that are known to use no CMake build tree.
//!
//! A tree that a search of the disk brings up is nobody's business where the command does without one. Only what is
//! known counts: whatever may run CMake by itself (a script, a Makefile that says so, a package to build) is not here.

use std::ffi::OsString;

use super::Host;
use super::build_command::{base_name, folder_option, is_literal, plain_words, shell_parts, strip_wrappers};
use crate::os::AbsPath;

/// No Makefile of a real project comes near it.
const MAKEFILE_LIMIT: u64 = 4 << 20;

/// Words of a Makefile that may lead to a build tree of CMake.
const MAY_USE_CMAKE: &[&str] = &["cmake", "ninja", "setup.py", "pip", "python", "uv ", "$(MAKE)", "${MAKE}", ".sh"];

/// Shell words that build nothing.
const BUILD_NOTHING: &[&str] =
    &["cd", "pushd", "popd", "echo", "printf", "export", "unset", "set", "true", "test", "[", "mkdir", "rm", "ls"];

/// Says whether `command` is one that is known to use no build tree of CMake. Asked about commands in which
/// [`super::build_command::recognise`] finds no build.
pub fn does_without_cmake(command: &[OsString], host: &dyn Host) -> bool {
    let Some(words) = plain_words(command) else { return false };
    let Some(words) = strip_wrappers(&words) else { return false };
    let Some(parts) = shell_parts(words) else { return one_does_without(words, host.project(), host) };
    let mut some = false;
    for part in parts {
        let Ok(words) = shell_words::split(part) else { return false };
        if words.is_empty() {
            continue;
        }
        let Some(words) = strip_wrappers(&words) else { return false };
        let program = words.first().map(String::as_str).unwrap_or_default();
        if BUILD_NOTHING.contains(&program) {
            // Where the rest runs is not followed.
            if matches!(program, "cd" | "pushd" | "popd") {
                return false;
            }
            continue;
        }
        if !one_does_without(words, host.project(), host) {
            return false;
        }
        some = true;
    }
    some
}

fn one_does_without(words: &[String], folder: &AbsPath, host: &dyn Host) -> bool {
    let Some((program, arguments)) = words.split_first() else { return false };
    match base_name(program) {
        "make" | "gmake" => makefile_does_without(arguments, folder, host),
        // One that CMake wrote has its cache beside it, and was recognised.
        "ninja" | "ninja-build" | "samu" => true,
        name => {
            is_compiler(name) || matches!(name, "cargo" | "rustc" | "go" | "ld" | "ld.lld" | "ld.gold" | "mold" | "ar")
        }
    }
}

/// `gcc`, `clang++-15`, `x86_64-linux-gnu-g++`.
fn is_compiler(name: &str) -> bool {
    let stem = name.trim_end_matches(|c: char| c.is_ascii_digit() || c == '.').trim_end_matches('-');
    ["gcc", "g++", "cc", "c++", "clang", "clang++"]
        .iter()
        .any(|compiler| stem.strip_suffix(compiler).is_some_and(|before| before.is_empty() || before.ends_with('-')))
}

fn makefile_does_without(arguments: &[String], folder: &AbsPath, host: &dyn Host) -> bool {
    let Some(folder) = folder_option(arguments, &["-C", "--directory"], folder) else { return false };
    let mut named = None;
    let mut words = arguments.iter();
    while let Some(word) = words.next() {
        let joined = ["--file=", "--makefile=", "-f"].iter().find_map(|option| word.strip_prefix(option));
        if let Some(joined) = joined {
            let name = if joined.is_empty() { words.next().cloned() } else { Some(joined.to_owned()) };
            // Of several files none is followed.
            match name.filter(|name| named.is_none() && is_literal(name)) {
                Some(name) => named = Some(name),
                None => return false,
            }
        }
    }
    let names = match named {
        Some(name) => vec![name],
        None => ["GNUmakefile", "makefile", "Makefile"].map(str::to_owned).to_vec(),
    };
    let text = names.iter().find_map(|name| host.read(folder.resolve(name).as_path(), MAKEFILE_LIMIT).ok());
    let Some(text) = text else { return false };
    let text = String::from_utf8_lossy(&text).into_owned();
    let includes = text.lines().any(|line| {
        let line = line.trim_start().trim_start_matches(['-', 's']);
        line.starts_with("include ")
    });
    !includes && !MAY_USE_CMAKE.iter().any(|word| text.contains(word))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::evidence::LocalHost;
    use crate::evidence::questions::testing::NoGit;

    #[test]
    fn only_what_is_known_does_without() {
        let folder = tempfile::tempdir().unwrap();
        let root = AbsPath::new(folder.path().canonicalize().unwrap()).unwrap();
        let makefiles = [
            ("plain", "all:\n\tclang -c a.c\n"),
            ("wrapper", "all:\n\tcmake -B build\n"),
            ("deeper", "all:\n\t$(MAKE) -C sub\n"),
            ("more", "-include rules.mk\nall:\n\tclang -c a.c\n"),
        ];
        for (name, text) in makefiles {
            std::fs::create_dir(root.resolve(name)).unwrap();
            std::fs::write(root.resolve(name).as_path().join("Makefile"), text).unwrap();
        }
        std::fs::write(root.resolve("plain.mk"), "all:\n\tclang -c a.c\n").unwrap();
        let host = LocalHost::new(root, [], Box::new(NoGit));
        for (line, want) in [
            ("make -C plain", true),
            ("make -f plain.mk all", true),
            ("make --file=plain.mk", true),
            ("make -j4 -C plain CC=clang", true),
            ("make -C wrapper", false),
            ("make -C deeper", false),
            ("make -C more", false),
            ("make", false),
            ("make -f plain.mk -f wrapper/Makefile", false),
            ("env A=b nice make -C plain", true),
            ("gcc main.c -lzstd", true),
            ("/usr/bin/x86_64-linux-gnu-g++-12 a.cpp", true),
            ("clang++-15 a.cpp", true),
            ("ninja -C out", true),
            ("cargo build", true),
            ("cmake -P x.cmake", false),
            ("pip install torch", false),
            ("python train.py", false),
            ("./build.sh", false),
            ("bash build.sh", false),
            ("sh -c 'echo a; make -C plain'", true),
            ("sh -c 'make -C plain && ./build.sh'", false),
            ("sh -c 'cd plain && make'", false),
            ("sh -c 'make -C $X'", false),
            ("sh -c 'echo a'", false),
            ("", false),
        ] {
            let command: Vec<OsString> = shell_words::split(line).unwrap().into_iter().map(OsString::from).collect();
            assert_eq!(does_without_cmake(&command, &host), want, "{line}");
        }
    }
}
