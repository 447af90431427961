//! A Python that its system manages, with the real pip: the command goes to the project's own environment.

mod support;

use std::fs;
use std::os::unix::fs::{PermissionsExt, symlink};
use std::path::{Path, PathBuf};

use support::story::Story;
use support::{Sandbox, tools};

const MARK: &str = "[externally-managed]\nError=Use the package manager of the system.\n";
const SETUP: &str = "from setuptools import setup\nsetup(name='labdemo', version='1.0', py_modules=['labdemo'])\n";

fn said(sandbox: &Sandbox, python: &Path, code: &str) -> PathBuf {
    PathBuf::from(sandbox.run(python.to_str().unwrap(), ["-c", code]).expect(0).stdout.trim())
}

/// A program `pip` that runs the shared pip by this Python.
fn give_pip(sandbox: &Sandbox, python: &Path, packages: &Path) {
    let shared =
        said(sandbox, &tools::python_tools().join("python"), "import sysconfig; print(sysconfig.get_path('purelib'))");
    fs::create_dir_all(packages).unwrap();
    fs::write(packages.join("tools.pth"), format!("{}\n", shared.display())).unwrap();
    let text =
        format!("#!{}\nimport sys\nfrom pip._internal.cli.main import main\nsys.exit(main())\n", python.display());
    let program = python.parent().unwrap().join("pip");
    fs::write(&program, text).unwrap();
    fs::set_permissions(program, fs::Permissions::from_mode(0o755)).unwrap();
}

/// An installation with the mark of the system, first on PATH: a copied interpreter among links to its library.
fn system_python(sandbox: &mut Sandbox) -> PathBuf {
    let real =
        said(sandbox, &tools::python_tools().join("python"), "import sys, os; print(os.path.realpath(sys.executable))");
    let library = said(sandbox, &real, "import sysconfig; print(sysconfig.get_path('stdlib'))");
    let system = sandbox.root().join("system");
    let own = system.join("lib").join(library.file_name().unwrap());
    fs::create_dir_all(system.join("bin")).unwrap();
    fs::create_dir_all(&own).unwrap();
    for entry in fs::read_dir(&library).unwrap() {
        let name = entry.unwrap().file_name();
        if name != "site-packages" && name != "EXTERNALLY-MANAGED" {
            symlink(library.join(&name), own.join(&name)).unwrap();
        }
    }
    fs::write(own.join("EXTERNALLY-MANAGED"), MARK).unwrap();
    let python = system.join("bin/python3");
    fs::copy(&real, &python).unwrap();
    give_pip(sandbox, &python, &own.join("site-packages"));
    sandbox.prepend_path(&system.join("bin"));
    sandbox.set("PIP_DISABLE_PIP_VERSION_CHECK", "1");
    system
}

fn story(sandbox: &Sandbox) -> Story<'_> {
    sandbox.write("setup.py", SETUP);
    sandbox.write("labdemo.py", "");
    let command = ["pip", "install", "--no-index", "--no-build-isolation", "--no-deps", "."];
    Story::new(sandbox, command, "error: externally-managed-environment")
}

#[test]
fn without_an_environment_it_is_the_users_to_make_one() {
    let mut sandbox = Sandbox::new();
    let system = system_python(&mut sandbox);
    let done = story(&sandbox).is_left_alone(&[]);
    done.says("pip-externally-managed").says(&system.display().to_string()).says("-m venv .venv");
}

#[test]
fn the_projects_own_environment_is_used() {
    let mut sandbox = Sandbox::new();
    let system = system_python(&mut sandbox);
    let own = sandbox.project().join(".venv");
    let python = tools::python_tools().join("python");
    sandbox.run(python.to_str().unwrap(), ["-m", "venv", "--without-pip", own.to_str().unwrap()]).expect(0);
    let packages = said(&sandbox, &own.join("bin/python"), "import sysconfig; print(sysconfig.get_path('purelib'))");
    give_pip(&sandbox, &own.join("bin/python"), &packages);
    let story = story(&sandbox);
    story.fails();
    let done = story.fix_command(&["run", "--yes=confirm"]).expect(0);
    done.says("pip-externally-managed").says("repaired and verified");
    assert!(packages.join("labdemo.py").is_file());
    assert!(
        !system
            .join("lib")
            .read_dir()
            .unwrap()
            .any(|library| { library.unwrap().path().join("site-packages/labdemo.py").exists() })
    );
    // The shell itself is as it was.
    story.fails();
}
