//! A Python that is too old for `X | Y` between types, with the real venv.
//!
//! The old one is a stub with the layout of an installation: it says what Python 3.9 says.

mod support;

use std::fs;
use std::os::unix::fs::{PermissionsExt, symlink};
use std::path::PathBuf;

use support::story::{Story, assert_same};
use support::{Picture, Sandbox, picture, tools};

const OLD: &str = r#"#!/bin/sh
cat >&2 <<END
Traceback (most recent call last):
  File "$PWD/$1", line 1, in <module>
    def tensor(shape, device: int | str = "cuda"):
TypeError: unsupported operand type(s) for |: 'type' and 'type'
END
exit 1
"#;
const REFUSED: &str = "unsupported operand type(s) for |: 'type' and 'type'";

fn old_python() -> (Sandbox, PathBuf) {
    let mut sandbox = Sandbox::new();
    let old = sandbox.root().join("old");
    let packages = old.join("lib/python3.9/site-packages");
    fs::create_dir_all(&packages).unwrap();
    fs::create_dir(old.join("bin")).unwrap();
    fs::write(old.join("lib/python3.9/os.py"), "").unwrap();
    let program = old.join("bin/python3.9");
    fs::write(&program, OLD).unwrap();
    fs::set_permissions(&program, fs::Permissions::from_mode(0o755)).unwrap();
    symlink("python3.9", old.join("bin/python")).unwrap();
    // The installation that the tools' own environment was made from can make another.
    let code = "import sys; print(sys.base_prefix)";
    let done = sandbox.run(tools::python_tools().join("python").to_str().unwrap(), ["-I", "-c", code]).expect(0);
    sandbox.prepend_path(&PathBuf::from(done.stdout.trim()).join("bin"));
    sandbox.prepend_path(&old.join("bin"));
    sandbox.write("app.py", "def tensor(shape, device: int | str = 'cuda'):\n    return shape\nprint(tensor(42))\n");
    (sandbox, packages)
}

fn story(sandbox: &Sandbox) -> Story<'_> {
    Story::new(sandbox, ["python", "app.py"], REFUSED)
}

/// The environments in the project, by name.
fn environments(sandbox: &Sandbox) -> Vec<String> {
    let names = fs::read_dir(sandbox.project()).unwrap().map(|entry| entry.unwrap().file_name());
    let mut names: Vec<String> = names.filter_map(|name| name.into_string().ok()).collect();
    names.retain(|name| name.starts_with(".venv"));
    names.sort();
    names
}

#[test]
fn a_newer_python_runs_it_in_an_environment_of_its_own() {
    let (sandbox, _) = old_python();
    let story = story(&sandbox);
    story.fails();
    let before = picture(&sandbox.project());
    story.fix_command(&["run", "--yes"]).expect(1).says("--yes=confirm");
    assert_same(&before, &picture(&sandbox.project()));
    let done = story.fix_command(&["run", "--yes=confirm"]).expect(0).says("tda-1.8");
    assert!(done.stdout.ends_with("42\n"), "{}", done.stdout);
    assert_eq!(environments(&sandbox).len(), 1);
    story.fix(&["rollback"]).expect(0);
    assert_same(&before, &picture(&sandbox.project()));
    story.fails();
}

#[test]
fn a_python_that_is_called_by_its_path_is_replaced_in_the_command() {
    let (sandbox, _) = old_python();
    let old = sandbox.root().join("old/bin/python3.9");
    let story = Story::new(&sandbox, [old.to_str().unwrap(), "app.py"], REFUSED);
    story.fails();
    let done = story.fix_command(&["run", "--yes=confirm"]).expect(0);
    assert!(done.stdout.ends_with("42\n"), "{}", done.stdout);
}

#[test]
fn packages_are_listed_and_nothing_is_overwritten() {
    let (sandbox, packages) = old_python();
    for (name, version) in [("torch", "2.7.1+cpu"), ("Some_Package", "1.0")] {
        let info = packages.join(format!("{name}-{version}.dist-info"));
        fs::create_dir(&info).unwrap();
        fs::write(info.join("METADATA"), format!("Metadata-Version: 2.1\nName: {name}\nVersion: {version}\n")).unwrap();
    }
    let story = story(&sandbox);
    // The command would only fail at the first import.
    story.is_left_alone(&[]).says("with 2 packages").says("fix tda-1.8 --yes=confirm");

    let taken = |name: &str| sandbox.write(&format!("{name}/of-the-user"), "kept");
    let log = sandbox.root().join("failed.log");
    fs::write(&log, story.fails().all()).unwrap();
    let log = log.to_str().unwrap();
    story.fix(&["tda-1.8", "--yes=confirm", "--log", log]).expect(0);
    let made = environments(&sandbox);
    assert_eq!(made.len(), 1, "{made:?}");
    let made = sandbox.project().join(&made[0]);
    let list = fs::read_to_string(made.join("requirements-of-the-old.txt")).unwrap();
    let lines: Vec<&str> = list.lines().skip(1).collect();
    assert_eq!(lines, ["some-package==1.0", "torch==2.7.1+cpu"]);
    sandbox.run(made.join("bin/python").to_str().unwrap(), ["-m", "pip", "--version"]).expect(0);
    story.fix(&["rollback"]).expect(0);
    assert!(environments(&sandbox).is_empty());

    let name = made.file_name().unwrap().to_str().unwrap();
    let users = taken(name);
    let before: Picture = picture(users.parent().unwrap());
    story.fix(&["tda-1.8", "--yes=confirm", "--log", log]).expect(0);
    assert_eq!(environments(&sandbox), [name.to_owned(), format!("{name}-2")]);
    assert_same(&before, &picture(users.parent().unwrap()));
}
