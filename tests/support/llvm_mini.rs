//! Tiny LLVM installs and a project that uses them, for the failures of stale and mismatched packages.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::OnceLock;

use super::{Sandbox, copy_tree, fixture_project, tools};

/// What every LLD says that misses the LLVM part.
pub const MISSING: &str = "The following imported targets are referenced, but are missing: LLVMCGData";

/// The installs of a sandbox, beside the project: as toolchains lie outside of projects.
pub struct Installs(PathBuf);

impl Installs {
    /// Puts the app of llvm-mini into the project and returns where its LLVMs are to be.
    pub fn with_app(sandbox: &Sandbox) -> Self {
        copy_tree(&fixture_project("llvm-mini/app"), &sandbox.project());
        Self(sandbox.root())
    }

    /// Two commits of one version: only the newer has the part that LLD asks for.
    pub fn two_commits(sandbox: &Sandbox) -> Self {
        let installs = Self::with_app(sandbox);
        installs.add("llvm-old", "20.0.0", "OFF");
        installs.add("llvm-new", "20.0.0", "ON");
        installs
    }

    pub fn add(&self, name: &str, version: &str, cgdata: &str) {
        copy_tree(&install(version, cgdata), &self.path(name));
    }

    /// LLD of the newer commit laid over LLVM of the older one: nothing but a new install helps.
    pub fn mix(&self, name: &str) {
        self.add(name, "20.0.0", "ON");
        let llvm = self.path(name).join("lib/cmake/llvm");
        fs::remove_dir_all(&llvm).unwrap();
        copy_tree(&install("20.0.0", "OFF").join("lib/cmake/llvm"), &llvm);
    }

    pub fn path(&self, name: &str) -> PathBuf {
        self.0.join(name)
    }

    /// The argument that triton's setup.py gives at each configure.
    pub fn library(&self, name: &str) -> String {
        format!("-DLLVM_LIBRARY_DIR={}/lib", self.path(name).display())
    }

    /// A package's folder, as `<Package>_DIR` holds it.
    pub fn package(&self, name: &str, package: &str) -> String {
        self.path(name).join("lib/cmake").join(package).display().to_string()
    }
}

/// Makes an install once a test binary; installed CMake packages can be copied anywhere.
fn install(version: &str, cgdata: &str) -> PathBuf {
    static MADE: OnceLock<tempfile::TempDir> = OnceLock::new();
    let made = MADE.get_or_init(|| {
        let folder = tempfile::Builder::new().prefix("fix-llvm-").tempdir().unwrap();
        for (version, cgdata) in [("20.0.0", "OFF"), ("20.0.0", "ON"), ("19.1.7", "OFF"), ("22.1.8", "ON")] {
            make(folder.path(), version, cgdata);
        }
        folder
    });
    made.path().join(format!("{version}-{cgdata}"))
}

fn make(folder: &Path, version: &str, cgdata: &str) {
    let name = format!("{version}-{cgdata}");
    let run = |args: &[String]| {
        let mut command = Command::new(tools::python_tools().join("cmake"));
        command.args(args).current_dir(folder).env_clear().env("PATH", "/usr/bin:/bin");
        let done = super::done(command.output().unwrap());
        assert_eq!(done.code, 0, "{}", done.all());
    };
    let tree = format!("{name}-tree");
    run(&[
        "-G".to_owned(),
        "Ninja".to_owned(),
        format!("-DCMAKE_MAKE_PROGRAM={}", tools::python_tools().join("ninja").display()),
        "-S".to_owned(),
        fixture_project("llvm-mini/toolchain").display().to_string(),
        "-B".to_owned(),
        tree.clone(),
        format!("-DCMAKE_INSTALL_PREFIX={}", folder.join(&name).display()),
        format!("-DLLVM_MINI_VERSION={version}"),
        format!("-DLLVM_MINI_CGDATA={cgdata}"),
    ]);
    run(&["--install".to_owned(), tree]);
}
