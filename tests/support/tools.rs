//! The real tools of the end-to-end tests.
//!
//! CMake, Ninja and setuptools are fetched from PyPI once, into `target/e2e`; compilers must be on the machine
//! (`scripts/test` sees to it). A tool that is missing fails the test with what to do: nothing is skipped.

use std::fs::{self, File};
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::OnceLock;

/// What is fetched, pinned: a new release must not turn the tests red by itself.
const PACKAGES: &[&str] = &[
    "cmake==3.31.10",
    "ninja==1.13.0",
    "setuptools==80.9.0",
    "wheel==0.45.1",
    "scikit-build-core==0.11.6",
    "packaging==25.0",
    "pathspec==0.12.1",
];

/// A private Python environment with CMake 3.31, Ninja, setuptools and scikit-build-core; returns its `bin`.
pub fn python_tools() -> &'static Path {
    static BIN: OnceLock<PathBuf> = OnceLock::new();
    BIN.get_or_init(|| environment("tools", PACKAGES))
}

/// Like [`python_tools`], with CMake 4.
pub fn cmake4() -> &'static Path {
    static BIN: OnceLock<PathBuf> = OnceLock::new();
    BIN.get_or_init(|| environment("cmake4", &["cmake==4.1.2", "ninja==1.13.0"]))
}

/// A Python with the `jsonschema` and `yaml` libraries.
pub fn validator() -> PathBuf {
    static BIN: OnceLock<PathBuf> = OnceLock::new();
    let packages = ["jsonschema==4.17.3", "attrs==25.3.0", "pyrsistent==0.20.0", "PyYAML==6.0.2"];
    BIN.get_or_init(|| environment("validator", &packages)).join("python")
}

fn environment(name: &str, packages: &[&str]) -> PathBuf {
    let folder = Path::new(env!("CARGO_TARGET_TMPDIR")).parent().unwrap().join("e2e");
    fs::create_dir_all(&folder).unwrap();
    // Test binaries run side by side: one fetches, the others wait.
    let lock = File::create(folder.join(format!("{name}.lock"))).unwrap();
    lock.lock().unwrap();
    let venv = folder.join(name);
    let stamp = venv.join("complete");
    let wanted = packages.join("\n");
    if fs::read_to_string(&stamp).is_ok_and(|have| have == wanted) {
        return venv.join("bin");
    }
    let _ = fs::remove_dir_all(&venv);
    let run = |command: &mut Command| {
        let done = command.output().unwrap();
        assert!(
            done.status.success(),
            "cannot fetch {packages:?} from PyPI:\n{}{}",
            String::from_utf8_lossy(&done.stdout),
            String::from_utf8_lossy(&done.stderr)
        );
    };
    run(Command::new("python3").args(["-m", "venv"]).arg(&venv));
    run(Command::new(venv.join("bin/python"))
        .args(["-m", "pip", "install", "--quiet", "--disable-pip-version-check", "--only-binary=:all:"])
        .args(packages));
    fs::write(&stamp, wanted).unwrap();
    venv.join("bin")
}

/// The `bin` of a clang with lld and llvm-ar on this machine, the newest.
pub fn llvm() -> PathBuf {
    let mut found: Vec<(u32, PathBuf)> = Vec::new();
    for entry in fs::read_dir("/usr/lib").unwrap().flatten() {
        let name = entry.file_name().to_string_lossy().into_owned();
        let Some(version) = name.strip_prefix("llvm-").and_then(|version| version.parse().ok()) else { continue };
        let bin = entry.path().join("bin");
        if ["clang", "clang++", "ld.lld", "llvm-ar"].iter().all(|tool| bin.join(tool).exists()) {
            found.push((version, bin));
        }
    }
    found.sort();
    found.pop().expect("these tests need clang, lld and llvm; hint: run `scripts/test`").1
}
