//! A `pip install` that was killed while it replaced a package, with the real pip.

mod support;

use std::fs;
use std::path::PathBuf;
use std::process::Stdio;

use support::environment::{KILLS_PIP, activate_environment};
use support::story::{Story, assert_same, contents};
use support::{Done, Picture, Sandbox, copy_tree, fixture_project, picture};

const LEFT: &str = "~ini_ext";

/// An environment whose mini-ext was being replaced when pip was killed.
struct Interrupted {
    sandbox: Sandbox,
    packages: PathBuf,
    wheel: PathBuf,
    /// The environment before the pip that was killed.
    whole: Picture,
}

impl Interrupted {
    fn new() -> Self {
        let mut sandbox = Sandbox::new();
        let packages = activate_environment(&mut sandbox);
        let source = sandbox.root().join("source");
        copy_tree(&fixture_project("mini-ext"), &source);
        let temporary = sandbox.root().join("temporary");
        fs::create_dir(&temporary).unwrap();
        sandbox.set("TMPDIR", temporary);
        let source = source.to_str().unwrap();
        let this = |words: &[&str]| sandbox.run("/usr/bin/env", ["python", "-m", "pip"].iter().chain(words));
        this(&["wheel", "-q", "--no-deps", "--no-build-isolation", "-w", source, source]).expect(0);
        let mut wheels = fs::read_dir(source).unwrap().map(|entry| entry.unwrap().path());
        let wheel = wheels.find(|path| path.extension().is_some_and(|end| end == "whl")).unwrap();
        let file = wheel.to_str().unwrap();
        this(&["install", "-q", file]).expect(0);
        let killer = packages.join("sitecustomize.py");
        fs::write(&killer, KILLS_PIP).unwrap();
        let whole = contents(&sandbox.root().join("environment"));
        let killed = this(&["install", "--isolated", "--no-index", "--no-deps", "--force-reinstall", file]);
        assert_eq!(killed.code, 128 + 9, "{}", killed.all());
        assert!(packages.join(LEFT).is_dir());
        drop(wheels);
        Self { sandbox, packages, wheel, whole }
    }

    fn environment(&self) -> Picture {
        picture(&self.sandbox.root().join("environment"))
    }

    /// What works with a whole mini-ext only; pip warns before it.
    fn story(&self) -> Story<'_> {
        let line = "cd /; python -m pip list; exec mini-ext";
        Story::new(&self.sandbox, ["bash", "-c", line], "WARNING: Ignoring invalid distribution ~ini_ext")
    }
}

#[test]
fn the_old_version_is_given_its_name_again() {
    let interrupted = Interrupted::new();
    let story = interrupted.story();
    let story = Story { message: String::new(), ..story };
    story.fails().says("WARNING: Ignoring");
    let before = interrupted.environment();
    story.fix_command(&["run", "--yes"]).expect(story.alone().code).says("pip-interrupted");
    assert_same(&before, &interrupted.environment());
    let done: Done = story.fix_command(&["run", "--yes=confirm"]).expect(0);
    assert!(done.stdout.ends_with("42\n"), "{}", done.stdout);
    // What was there before pip began, to the byte and the mode: its script as well.
    assert_same(&interrupted.whole, &contents(&interrupted.sandbox.root().join("environment")));
    story.fix(&["rollback"]).expect(0);
    assert_same(&before, &interrupted.environment());
    story.fails();
}

#[test]
fn what_is_left_beside_a_whole_version_is_set_aside() {
    let interrupted = Interrupted::new();
    fs::remove_file(interrupted.packages.join("sitecustomize.py")).unwrap();
    let file = interrupted.wheel.to_str().unwrap();
    let words = ["python", "-m", "pip", "install", "-q", "--no-deps", "--force-reinstall", file];
    interrupted.sandbox.run("/usr/bin/env", words).expect(0);
    assert!(interrupted.packages.join(LEFT).is_dir());
    let before = interrupted.environment();
    let story = interrupted.story();
    story.passes().says("WARNING: Ignoring");
    story.fix(&["pip-interrupted", "--yes=confirm"]).expect(0).says("repaired and verified");
    assert!(!interrupted.packages.join(LEFT).exists());
    story.passes().does_not_say("WARNING");
    story.fix(&["rollback"]).expect(0);
    assert_same(&before, &interrupted.environment());
}

#[test]
fn an_old_version_that_is_not_whole_is_left_alone() {
    let interrupted = Interrupted::new();
    fs::remove_file(interrupted.packages.join(LEFT).join("__init__.py")).unwrap();
    let before = interrupted.environment();
    interrupted.story().fix_command(&["run", "--yes=confirm"]).says("--force-reinstall --no-deps mini-ext==1.0");
    assert_same(&before, &interrupted.environment());
}

/// Does not outlive its test.
struct Stopped(std::process::Child);

impl Drop for Stopped {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

/// A pip in the middle of its work has renamed the old version as well, and will bring it back or away by itself.
#[test]
fn what_a_pip_at_work_has_renamed_is_left_to_it() {
    let interrupted = Interrupted::new();
    fs::write(interrupted.packages.join("sitecustomize.py"), KILLS_PIP.replace("os.getpid(), 9", "os.getpid(), 19"))
        .unwrap();
    let file = interrupted.wheel.to_str().unwrap();
    let words = ["-m", "pip", "install", "-q", "--isolated", "--no-index", "--no-deps", "--force-reinstall", file];
    let mut pip = Stopped(interrupted.sandbox.command("python").args(words).stdout(Stdio::null()).spawn().unwrap());
    let status = format!("/proc/{}/status", pip.0.id());
    let is_stopped = || fs::read_to_string(&status).unwrap().contains("T (stopped)");
    let begun = std::time::Instant::now();
    while !is_stopped() {
        assert!(begun.elapsed().as_secs() < 120 && pip.0.try_wait().unwrap().is_none(), "pip did not come to its work");
        std::thread::sleep(std::time::Duration::from_millis(50));
    }
    let before = interrupted.environment();
    let story = interrupted.story();
    story.fix(&["pip-interrupted", "--yes=confirm"]).says(&format!("process {}", pip.0.id()));
    assert_same(&before, &interrupted.environment());
    assert!(interrupted.sandbox.run("/bin/kill", ["-CONT", &pip.0.id().to_string()]).code == 0);
    assert!(pip.0.wait().unwrap().success());
    story.fix(&["pip-interrupted", "--yes=confirm"]).expect(0).says("repaired and verified");
}
