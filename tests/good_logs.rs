//! Logs in which nothing failed: no recipe may fire on them, whatever words they hold.

mod support;

use std::fmt::Write;
use std::fs;
use std::path::Path;

use support::in_process::Diagnosis;
use support::labelled::root;

/// Builds that went well, made of lines that tools print then; `FIX_LAWS=full` asks for ten times as many.
fn count() -> usize {
    if std::env::var("FIX_LAWS").is_ok_and(|laws| laws == "full") { 2000 } else { 200 }
}

/// The same numbers each time.
struct Dice(u64);

impl Dice {
    fn below(&mut self, bound: usize) -> usize {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        (self.0 % bound as u64) as usize
    }

    fn one<'a>(&mut self, of: &[&'a str]) -> &'a str {
        of[self.below(of.len())]
    }
}

const FILES: &[&str] = &[
    "lib/Dialect/Triton/IR/Ops.cpp",
    "third_party/ascend/lib/TritonToLinalg/FailedLowering.cpp",
    "lib/Support/ErrorHandling.cpp",
    "src/undefined_behavior_sanitizer.cc",
    "test/fatal_error_test.cpp",
    "tests/test_out_of_memory.py",
    "csrc/hccl_timeout_test.cpp",
    "lib/LLVMCGData/missing_target_info.cpp",
    "python/triton/backends/not_found_error.py",
    "unittest/Link/UnableToFindLibrary.cpp",
];
const TOOLS: &[&str] = &["clang", "clang++", "llvm-ar", "ld.lld", "ninja", "hivmc", "bishengir-opt", "npuc", "gcc"];
const PACKAGES: &[&str] = &["torch", "torch_npu", "triton", "exceptiongroup", "error-handling", "numpy", "retrying"];

/// A line of a good build. Its scary words are names, counts of nothing, or tests that ought to fail and did.
fn line(dice: &mut Dice) -> String {
    let (file, tool, package) = (dice.one(FILES), dice.one(TOOLS), dice.one(PACKAGES));
    let number = dice.below(9000) + 1;
    match dice.below(24) {
        0 => format!("[{number}/9999] Building CXX object {file}.o"),
        1 => format!("[{number}/9999] Linking CXX shared library lib{package}_error.so"),
        2 => format!("-- Looking for {tool} - not found"),
        3 => format!("-- Performing Test HAVE_{} - Failed", package.to_uppercase()),
        4 => format!("-- Could NOT find {package} (missing: {package}_LIBRARY {package}_INCLUDE_DIR)"),
        5 => format!("-- Found {tool}: /usr/bin/{tool} (found version \"17.0.{number}\")"),
        6 => format!("/home/user/src/{file}:{number}:12: warning: unused variable 'error' [-Wunused-variable]"),
        7 => format!("/home/user/src/{file}:{number}:3: note: candidate function not viable: no known conversion"),
        8 => format!("copying {file} -> build/lib/{file}"),
        9 => format!("Requirement already satisfied: {package} in /usr/lib/python3/dist-packages (1.{number})"),
        10 => format!("Successfully installed {package}-1.{number}"),
        11 => format!("{file}::test_raises_runtime_error PASSED [ 50%]"),
        12 => format!("{file}::test_missing_compiler_is_reported XFAIL (expected to fail) [ 51%]"),
        13 => "0 errors, 0 failed, 0 warnings treated as errors".to_owned(),
        14 => format!("[ OK ] ErrorTest.FatalErrorIsCaught ({number} ms)"),
        15 => format!("make[1]: Entering directory '/home/user/build/{package}_failed'"),
        16 => format!("checking whether {tool} fails on unknown options... no"),
        17 => format!("[rank{}]: step {number} loss 0.{number} error_rate 0.0", dice.below(8)),
        18 => format!("INFO: retry policy: timeout 1800 s, connection refused is retried {number} times"),
        19 => format!("Compiling error-chain v0.12.{number}"),
        20 => format!("patching file {file}: Hunk #1 succeeded at {number} (offset 2 lines)"),
        21 => format!("ccache: cache miss ({number}), errors while compiling: 0"),
        22 => format!("DEBUG using {tool} from PATH, it was found at /opt/llvm/bin/{tool}"),
        _ => format!("Removing intermediate container {number:x}: no such option is needed"),
    }
}

fn log(dice: &mut Dice) -> String {
    let mut log = String::new();
    for _ in 0..dice.below(120) + 5 {
        writeln!(log, "{}", line(dice)).unwrap();
    }
    log + "ninja: no work to do.\nBuild finished successfully\n"
}

/// Hard-wrapped, prefixed or coloured, good news stays good news.
fn dressed(log: &str, dice: &mut Dice) -> String {
    let kind = dice.below(4);
    log.lines()
        .map(|line| match kind {
            0 => format!("{line}\n"),
            1 => format!("[rank0]: {line}\n"),
            2 => format!("\u{1b}[1m{}\u{1b}[0m\n", line.replace(": ", ":\u{1b}[31m ")),
            _ => format!("2026-03-14T09:21:34.1156676Z {}\n", line.replacen(' ', "\n    ", 1)),
        })
        .collect()
}

#[test]
fn nothing_fires_on_builds_that_went_well() {
    let (diagnosis, mut dice) = (Diagnosis::new(), Dice(88_172_645_463_325_252));
    let mut wrong = Vec::new();
    for number in 0..count() {
        let log = log(&mut dice);
        for log in [dressed(&log, &mut dice), log] {
            let found = diagnosis.of(log.as_bytes());
            if !found.is_empty() {
                wrong.push(format!("{number}: {found:?}"));
            }
        }
    }
    assert!(wrong.is_empty(), "{}:\n{}", wrong.len(), wrong.join("\n"));
}

fn texts(below: &Path, out: &mut Vec<std::path::PathBuf>) {
    for entry in fs::read_dir(below).unwrap() {
        let path = entry.unwrap().path();
        if path.is_dir() {
            texts(&path, out);
        } else if path.extension().is_some_and(|extension| extension == "md" || extension == "yml") {
            out.push(path);
        }
    }
}

/// Left out: the README shows a whole failure with its repair, and the reference of the recipes quotes what each of them
/// looks for.
const QUOTES_LOGS: &[&str] = &["README.md", "docs/recipes.md"];

#[test]
fn nothing_fires_on_the_documentation() {
    let diagnosis = Diagnosis::new();
    let mut files = Vec::new();
    for folder in ["docs", "recipes", ".github"] {
        if root().join(folder).is_dir() {
            texts(&root().join(folder), &mut files);
        }
    }
    for file in ["README.md", "CHANGELOG.md", "CONTRIBUTING.md", "fixtures/cases/README.md"] {
        files.push(root().join(file));
    }
    assert!(files.len() > 5, "{files:?}");
    let mut wrong = Vec::new();
    for file in files {
        let name = file.strip_prefix(root()).unwrap().to_str().unwrap();
        let found = diagnosis.of(&fs::read(&file).unwrap());
        if !found.is_empty() && !QUOTES_LOGS.contains(&name) {
            wrong.push(format!("{name}: {found:?}"));
        }
    }
    assert!(wrong.is_empty(), "{}:\n{}", wrong.len(), wrong.join("\n"));
}
