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

/// The readers of YAML that conda and other tools use; returns the `bin` of their Python.
pub fn yaml_readers() -> &'static Path {
    static BIN: OnceLock<PathBuf> = OnceLock::new();
    BIN.get_or_init(|| environment("yaml", &["PyYAML==6.0.2", "ruamel.yaml==0.18.6"]))
}

/// A private Python environment with auditwheel.
pub fn auditwheel() -> &'static Path {
    static BIN: OnceLock<PathBuf> = OnceLock::new();
    BIN.get_or_init(|| environment("auditwheel", &["auditwheel==6.4.2", "pyelftools==0.32", "packaging==25.0"]))
}

/// Fetches small wheels with compiled modules from PyPI, once; returns their files.
pub fn wheels(names: &[&str]) -> Vec<PathBuf> {
    let bin = auditwheel();
    let folder = bin.parent().unwrap().join("wheels");
    fs::create_dir_all(&folder).unwrap();
    let list = || {
        let files = fs::read_dir(&folder).unwrap().map(|entry| entry.unwrap().path());
        let mut files: Vec<PathBuf> = files.filter(|path| path.extension().is_some_and(|end| end == "whl")).collect();
        files.sort();
        files
    };
    if list().len() < names.len() {
        let done = Command::new(bin.join("python"))
            .args(["-m", "pip", "download", "--quiet", "--disable-pip-version-check", "--no-deps"])
            .args(["--only-binary=:all:", "-d"])
            .arg(&folder)
            .args(names)
            .output()
            .unwrap();
        assert!(done.status.success(), "cannot fetch {names:?}: {}", String::from_utf8_lossy(&done.stderr));
    }
    list()
}

/// A folder of small wheels for many Pythons and platforms, of the kinds that PyPI has.
pub fn wheels_of_many_kinds() -> &'static Path {
    static FOLDER: OnceLock<PathBuf> = OnceLock::new();
    FOLDER.get_or_init(|| {
        let python = python_tools().join("python");
        let folder = Path::new(env!("CARGO_TARGET_TMPDIR")).parent().unwrap().join("e2e/wheels");
        let lock = File::create(folder.with_extension("lock")).unwrap();
        lock.lock().unwrap();
        let complete = folder.join("complete");
        let wanted = format!("{WHEELS:?}");
        if fs::read_to_string(&complete).is_ok_and(|have| have == wanted) {
            return folder;
        }
        let _ = fs::remove_dir_all(&folder);
        for (package, options) in WHEELS {
            let mut command = Command::new(&python);
            command.args(["-m", "pip", "download", "--quiet", "--disable-pip-version-check", "--no-deps"]);
            command.args(["--only-binary=:all:", "--dest"]).arg(&folder).args(*options).arg(package);
            let done = command.output().unwrap();
            let said = String::from_utf8_lossy(&done.stderr).into_owned();
            assert!(done.status.success(), "cannot fetch {package} from PyPI:\n{said}");
        }
        fs::write(complete, wanted).unwrap();
        folder
    })
}

/// What [`wheels_of_many_kinds`] fetches: pure, by ABI, stable ABI, musl, another processor, another system.
const WHEELS: &[(&str, &[&str])] = &[
    ("six==1.17.0", &[]),
    ("pip==25.2", &[]),
    ("MarkupSafe==3.0.2", &["--python-version=3.9", "--platform=manylinux2014_x86_64"]),
    ("MarkupSafe==3.0.2", &["--python-version=3.11", "--platform=manylinux2014_aarch64"]),
    ("MarkupSafe==3.0.2", &["--python-version=3.12", "--platform=musllinux_1_2_x86_64"]),
    ("MarkupSafe==3.0.2", &["--python-version=3.13", "--abi=cp313t", "--platform=manylinux2014_x86_64"]),
    ("MarkupSafe==3.0.2", &["--python-version=3.11", "--platform=win_amd64"]),
    ("psutil==7.0.0", &["--python-version=3.11", "--platform=manylinux2014_x86_64"]),
    ("charset-normalizer==3.4.3", &["--python-version=3.11", "--platform=manylinux_2_28_x86_64"]),
];

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

/// uv, as PyPI has it; about 40 MB.
pub fn uv() -> PathBuf {
    static BIN: OnceLock<PathBuf> = OnceLock::new();
    BIN.get_or_init(|| environment("uv", &["uv==0.13.9"])).join("uv")
}
