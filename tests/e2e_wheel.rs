//! `pip install` of a wheel for another Python, with the real pip and setuptools.

mod support;

use std::fs;
use std::path::{Path, PathBuf};

use support::environment::{KILLS_PIP, activate_environment};
use support::story::{Story, assert_same};
use support::{Done, Picture, Sandbox, copy_tree, fixture_project, picture, tools};

const REFUSED: &str = "is not a supported wheel on this platform";

/// mini-ext with its wheel for this interpreter and one for another, in an environment of its own.
struct Wheels {
    sandbox: Sandbox,
    packages: PathBuf,
    /// Fits, below the sandbox's root.
    fitting: PathBuf,
    /// In `dist`, as the user names it.
    unfit: String,
}

impl Wheels {
    fn new() -> Self {
        let mut sandbox = Sandbox::new();
        let packages = activate_environment(&mut sandbox);
        let project = fixture_project("mini-ext");
        copy_tree(&project, &sandbox.project());
        // Built elsewhere: the project stays as it comes out of a repository.
        let scratch = sandbox.root().join("scratch");
        copy_tree(&project, &scratch);
        let words = ["-m", "pip", "wheel", "-q", "--no-deps", "--no-build-isolation", "-w"];
        let words = words.iter().copied().chain([scratch.to_str().unwrap(), scratch.to_str().unwrap()]);
        sandbox.run(sandbox.root().join("environment/bin/python").to_str().unwrap(), words).expect(0);
        let wheel = wheels_in(&scratch).remove(0);
        let other = "mini_ext-1.0-cp38-cp38-linux_x86_64.whl";
        let tags = ["-m", "wheel", "tags", "--python-tag=cp38", "--abi-tag=cp38", "--platform-tag=linux_x86_64"];
        let tools = tools::python_tools().join("python");
        sandbox.run(tools.to_str().unwrap(), tags.iter().copied().chain([wheel.to_str().unwrap()])).expect(0);
        fs::create_dir(sandbox.project().join("dist")).unwrap();
        fs::rename(scratch.join(other), sandbox.project().join("dist").join(other)).unwrap();
        Self { sandbox, packages, fitting: wheel, unfit: format!("dist/{other}") }
    }

    /// Puts the wheel that fits beside the other one.
    fn with_fitting(self) -> Self {
        let to = self.sandbox.project().join("dist").join(self.fitting.file_name().unwrap());
        fs::copy(&self.fitting, to).unwrap();
        self
    }

    fn story(&self) -> Story<'_> {
        Story::new(&self.sandbox, ["python", "-m", "pip", "install", &*self.unfit], REFUSED)
    }

    fn environment(&self) -> Picture {
        picture(&self.sandbox.root().join("environment"))
    }

    /// Runs what the package installs, away from its source.
    fn answer(&self) -> Done {
        let script = self.sandbox.root().join("environment/bin/mini-ext");
        let mut command = self.sandbox.command(&script);
        command.current_dir("/");
        support::done(command.output().unwrap())
    }

    fn is_installed(&self) -> bool {
        fs::read_dir(&self.packages)
            .unwrap()
            .any(|entry| entry.unwrap().file_name().to_string_lossy().starts_with("mini_ext"))
    }

    /// From failure to failure: the project and the environment come back to the byte, the mode and the time.
    fn is_repaired(&self, flags: &[&str], check: impl FnOnce(&Done)) {
        let story = self.story();
        story.fails();
        let before = (picture(&self.sandbox.project()), self.environment());
        let done = story.fix_command(&[&["run"], flags].concat()).expect(0).says("hp-wheel-tag");
        assert_eq!(self.answer().expect(0).stdout.trim(), "42");
        check(&done);
        story.fix(&["rollback"]).expect(0);
        assert_same(&before.0, &picture(&self.sandbox.project()));
        assert_same(&before.1, &self.environment());
        assert!(!self.is_installed());
        story.fails();
    }
}

fn wheels_in(folder: &Path) -> Vec<PathBuf> {
    let entries = fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path());
    let mut found: Vec<PathBuf> = entries.filter(|path| path.extension().is_some_and(|end| end == "whl")).collect();
    found.sort();
    found
}

#[test]
fn the_wheel_that_fits_is_installed_and_taken_out_again() {
    let wheels = Wheels::new().with_fitting();
    wheels.is_repaired(&["--yes"], |done| {
        let file = wheels.fitting.file_name().unwrap().to_str().unwrap();
        assert!(done.all().contains(&format!(
            "$ python -m pip install {}",
            wheels.sandbox.project().join("dist").join(file).display()
        )));
    });
}

#[test]
fn a_wheel_older_than_the_named_one_needs_a_yes_of_its_own() {
    let wheels = Wheels::new().with_fitting();
    let fitting = wheels.sandbox.project().join("dist").join(wheels.fitting.file_name().unwrap());
    let past = std::time::SystemTime::UNIX_EPOCH + std::time::Duration::from_secs(1_000_000_000);
    fs::File::options().write(true).open(fitting).unwrap().set_modified(past).unwrap();
    let story = wheels.story();
    story.fix_command(&["run", "--yes"]).expect(1).says("is older than the wheel that was to be installed");
    assert!(!wheels.is_installed());
    wheels.is_repaired(&["--yes=confirm"], |_| {});
}

#[test]
fn a_wheel_is_built_from_the_source_for_this_python() {
    let wheels = Wheels::new();
    let project = wheels.sandbox.project();
    // What setuptools packed long ago must not come into the new wheel.
    wheels.sandbox.write("build/lib/mini_ext/long_gone.py", "");
    wheels.story().fix_command(&["run", "--yes"]).expect(1).says("it runs the project's own build");
    assert!(!wheels.is_installed());
    wheels.is_repaired(&["--yes=confirm"], |done| {
        let folders: Vec<PathBuf> = fs::read_dir(project.join("dist"))
            .unwrap()
            .map(|entry| entry.unwrap().path())
            .filter(|path| path.is_dir())
            .collect();
        assert_eq!(folders.len(), 1, "{folders:?}");
        assert_eq!(wheels_in(&folders[0])[0].file_name(), wheels.fitting.file_name());
        assert!(!wheels.packages.join("mini_ext/long_gone.py").exists());
        assert!(done.all().contains("$ python -m pip install mini-ext"), "{}", done.all());
    });
}

#[test]
fn an_older_installation_comes_back() {
    let wheels = Wheels::new().with_fitting();
    let python = wheels.sandbox.root().join("environment/bin/python");
    let setup = "from setuptools import setup\nsetup(name='mini-ext', version='0.9', py_modules=['old_mini'], \
                 scripts=['mini-ext'])\n";
    let old = wheels.sandbox.root().join("old");
    fs::create_dir(&old).unwrap();
    fs::write(old.join("setup.py"), setup).unwrap();
    fs::write(old.join("old_mini.py"), "").unwrap();
    fs::write(old.join("mini-ext"), "#!python\nprint('old')\n").unwrap();
    let install = ["-m", "pip", "install", "-q", "--no-build-isolation", old.to_str().unwrap()];
    wheels.sandbox.run(python.to_str().unwrap(), install).expect(0);
    assert_eq!(wheels.answer().expect(0).stdout.trim(), "old");
    let before = wheels.environment();
    let story = wheels.story();
    story.fails();
    story.fix_command(&["run", "--yes"]).expect(0);
    assert_eq!(wheels.answer().expect(0).stdout.trim(), "42");
    assert!(!wheels.packages.join("old_mini.py").exists());
    story.fix(&["rollback"]).expect(0);
    assert_same(&before, &wheels.environment());
    assert_eq!(wheels.answer().expect(0).stdout.trim(), "old");
}

#[test]
fn a_pip_that_is_killed_half_way_leaves_nothing() {
    let wheels = Wheels::new().with_fitting();
    fs::write(wheels.packages.join("sitecustomize.py"), KILLS_PIP).unwrap();
    let story = wheels.story();
    story.fails();
    let before = (picture(&wheels.sandbox.project()), wheels.environment());
    story.fix_command(&["run", "--yes"]).expect(1).says("was ended by signal 9");
    assert_same(&before.0, &picture(&wheels.sandbox.project()));
    assert_same(&before.1, &wheels.environment());
    // It was really killed in the middle: without the repair's transaction the half of it stays.
    let fitting = wheels.fitting.to_str().unwrap();
    let python = wheels.sandbox.root().join("environment/bin/python");
    let alone = ["-m", "pip", "install", "--isolated", "--no-deps", fitting];
    assert_eq!(wheels.sandbox.run(python.to_str().unwrap(), alone).code, 128 + 9);
    assert!(wheels.is_installed());
}

#[test]
fn a_build_that_fails_leaves_nothing() {
    let wheels = Wheels::new();
    wheels.sandbox.write("core.c", "#error no\n");
    let story = wheels.story();
    story.fails();
    let before = (picture(&wheels.sandbox.project()), wheels.environment());
    story.fix_command(&["run", "--yes=confirm"]).expect(1).says("the repair was taken back");
    assert_same(&before.0, &picture(&wheels.sandbox.project()));
    assert_same(&before.1, &wheels.environment());
}

#[test]
fn a_dry_run_shows_it_and_writes_nothing() {
    let wheels = Wheels::new();
    let story = wheels.story();
    story.fails();
    let before = picture(&wheels.sandbox.root());
    let done = story.fix_command(&["run", "-n"]).expect(1);
    let done = done.says("-m pip wheel").says("--no-index").says("it writes dist/for-cp3").says("saved before");
    done.says("then, with these words instead").does_not_say("wheel tags");
    assert_same(&before, &picture(&wheels.sandbox.root()));
}

#[test]
fn a_command_that_cannot_be_rewritten_is_left_alone() {
    let wheels = Wheels::new().with_fitting();
    let line = format!("python -m pip install {}", wheels.unfit);
    let story = Story::new(&wheels.sandbox, ["bash", "-c", &*line], REFUSED);
    story.is_left_alone(&[]).says("cannot be rewritten");
    assert!(!wheels.is_installed());
}

#[test]
fn an_environment_that_is_not_active_is_left_alone() {
    let mut wheels = Wheels::new().with_fitting();
    wheels.sandbox.unset("VIRTUAL_ENV");
    wheels.story().is_left_alone(&[]).says("--allow-path");
    assert!(!wheels.is_installed());
}

#[test]
fn a_wheel_of_another_package_or_version_helps_nobody() {
    let wheels = Wheels::new();
    // Another version of the source: what it builds is not what was asked for.
    let setup = fs::read_to_string(wheels.sandbox.project().join("setup.py")).unwrap();
    wheels.sandbox.write("setup.py", setup.replace("\"1.0\"", "\"2.0\""));
    let six = tools::wheels_of_many_kinds().join("six-1.17.0-py2.py3-none-any.whl");
    fs::copy(six, wheels.sandbox.project().join("dist/six-1.17.0-py2.py3-none-any.whl")).unwrap();
    wheels.story().is_left_alone(&[]).says("hp-wheel-tag");
    // A renamed one would install and not import.
    let file = wheels.fitting.file_name().unwrap();
    fs::copy(wheels.sandbox.project().join(&wheels.unfit), wheels.sandbox.project().join("dist").join(file)).unwrap();
    wheels.story().is_left_alone(&[]);
}

/// What `pip` of another Python says to the wheel; a program, since an interpreter is judged by its header.
const OTHER_PYTHON: &str = r#"
#include <stdio.h>
int main(int argc, char **argv)
{
    fprintf(stderr, "ERROR: %s is not a supported wheel on this platform.\n", argc > 4 ? argv[4] + 5 : "?");
    return 1;
}
"#;

#[test]
fn the_projects_own_environment_takes_what_another_python_refuses() {
    let mut wheels = Wheels::new().with_fitting();
    // The active Python is a stub with the layout of an installation of 3.9.
    let old = wheels.sandbox.root().join("old");
    fs::create_dir_all(old.join("bin")).unwrap();
    fs::create_dir_all(old.join("lib/python3.9/site-packages")).unwrap();
    fs::write(old.join("lib/python3.9/os.py"), "").unwrap();
    fs::write(old.join("stub.c"), OTHER_PYTHON).unwrap();
    let (program, source) = (old.join("bin/python3.9"), old.join("stub.c"));
    wheels.sandbox.run("cc", ["-o", program.to_str().unwrap(), source.to_str().unwrap()]).expect(0);
    std::os::unix::fs::symlink("python3.9", old.join("bin/python")).unwrap();
    let own = wheels.sandbox.project().join(".venv");
    let tools = tools::python_tools().join("python");
    wheels.sandbox.run(tools.to_str().unwrap(), ["-m", "venv", own.to_str().unwrap()]).expect(0);
    wheels.sandbox.unset("VIRTUAL_ENV");
    wheels.sandbox.prepend_path(&old.join("bin"));
    let file = format!("dist/{}", wheels.fitting.file_name().unwrap().to_str().unwrap());
    let story = Story::new(&wheels.sandbox, ["python", "-m", "pip", "install", &*file], REFUSED);
    story.fails();
    let before = picture(&wheels.sandbox.project());
    story.fix_command(&["run", "--yes"]).expect(1).says("the project's own environment");
    story.fix_command(&["run", "--yes=confirm"]).expect(0).says("hp-wheel-tag");
    let done = wheels.sandbox.run(own.join("bin/mini-ext").to_str().unwrap(), [""; 0]).expect(0);
    assert_eq!(done.stdout.trim(), "42");
    story.fix(&["rollback"]).expect(0);
    assert_same(&before, &picture(&wheels.sandbox.project()));
}
