//! The environment of a repair: into a shell, to the next step of a job, into a start-up file and out of it again.

mod support;

use std::fs;

use support::story::Story;
use support::torchrun::{IN_USE, Squatter};
use support::{Sandbox, picture};

/// A job whose script takes its port from MASTER_PORT.
fn job() -> (Sandbox, Squatter) {
    let mut sandbox = Sandbox::new();
    sandbox.with_torchrun();
    let squatter = Squatter::take(&sandbox, 0);
    sandbox.write("train.sh", "torchrun --master_port=${MASTER_PORT:-29501} train.py\n");
    sandbox.set("MASTER_PORT", squatter.port.to_string());
    (sandbox, squatter)
}

fn repaired(sandbox: &Sandbox) -> Story<'_> {
    let story = Story::new(sandbox, ["bash", "train.sh"], IN_USE);
    story.fails();
    story.fix_command(&["run", "--yes"]).expect(0);
    story
}

#[test]
fn the_last_repair_into_a_shell() {
    let (sandbox, _squatter) = job();
    sandbox.fix(["env"]).expect(0).says("no environment to set");
    repaired(&sandbox);
    let script = format!("eval \"$({} env)\" && bash train.sh", env!("CARGO_BIN_EXE_fix"));
    sandbox.run("bash", ["-c", &script]).expect(0).says("trained on");
    // It is of this project alone.
    let elsewhere = sandbox.root().join("elsewhere");
    fs::create_dir(&elsewhere).unwrap();
    let done = sandbox.fix(["env", "-C", elsewhere.to_str().unwrap()]).expect(0);
    assert_eq!(done.stdout, "");
}

#[test]
fn a_job_carries_it_to_the_next_step() {
    let (mut sandbox, _squatter) = job();
    let file = sandbox.root().join("github-env");
    fs::write(&file, "").unwrap();
    sandbox.set("GITHUB_ENV", &file);
    sandbox.set("GITHUB_ACTIONS", "true");
    repaired(&sandbox);
    let script = format!("{} env --format github >> \"$GITHUB_ENV\"", env!("CARGO_BIN_EXE_fix"));
    sandbox.run("bash", ["-e", "-c", &script]).expect(0);
    // The runner reads NAME<<DELIMITER, the value, DELIMITER.
    let text = fs::read_to_string(&file).unwrap();
    let lines: Vec<&str> = text.lines().collect();
    let [head, value, end] = lines.as_slice() else { panic!("{text}") };
    assert_eq!(*head, format!("MASTER_PORT<<{end}"));
    sandbox.set("MASTER_PORT", *value);
    sandbox.run("bash", ["train.sh"]).expect(0).says(&format!("trained on {value}"));
}

#[test]
fn json() {
    let (sandbox, _squatter) = job();
    repaired(&sandbox);
    let done = sandbox.fix(["env", "--format", "json"]).expect(0);
    let document: serde_json::Value = serde_json::from_str(&done.stdout).unwrap();
    assert_eq!(document["recipes"], serde_json::json!(["tda-1.2"]));
    assert_eq!(document["variables"][0]["name"], "MASTER_PORT");
    assert_eq!(document["variables"][0]["action"], "set");
}

#[test]
fn an_issue_that_is_here_now() {
    let (sandbox, squatter) = job();
    let before = picture(&sandbox.root());
    let done = sandbox.fix(["env", "tda-1.2", "--", "bash", "train.sh"]).expect(0);
    assert!(done.stdout.starts_with("export MASTER_PORT=2"), "{}", done.stdout);
    assert_eq!(picture(&sandbox.root()), before);
    drop(squatter);
    sandbox.fix(["env", "tda-1.2", "--", "bash", "train.sh"]).expect(0).says("no environment to set");
}

#[test]
fn a_start_up_file_behind_links_of_the_users_own() {
    use std::os::unix::fs::symlink;
    let (mut sandbox, _squatter) = job();
    sandbox.set("SHELL", "/bin/bash");
    repaired(&sandbox);
    // A home on another disk, and in it a file that is kept among others.
    let real = sandbox.home();
    let link = sandbox.root().join("home-by-link");
    symlink(&real, &link).unwrap();
    sandbox.set("HOME", &link);
    for own in ["dotfiles/bashrc", ".bashrc"] {
        fs::create_dir_all(real.join("dotfiles")).unwrap();
        fs::write(real.join(own), "# mine\n").unwrap();
        if own != ".bashrc" {
            symlink(own, real.join(".bashrc")).unwrap();
        }
        sandbox.fix(["env", "--persist", "--yes"]).expect(0);
        assert!(fs::read_to_string(real.join(own)).unwrap().contains("export MASTER_PORT=2"));
        sandbox.fix(["rollback"]).expect(0);
        assert_eq!(fs::read_to_string(real.join(own)).unwrap(), "# mine\n");
        fs::remove_file(real.join(".bashrc")).unwrap();
    }
    // What leads out of the user's own is left alone.
    symlink("/etc/hosts", real.join(".bashrc")).unwrap();
    if !support::user::is_root() {
        sandbox.fix(["env", "--persist", "--yes"]).expect(1).says("outside the allowed roots");
    }
}

#[test]
fn a_start_up_file_keeps_it_until_it_is_rolled_back() {
    let (mut sandbox, _squatter) = job();
    sandbox.set("SHELL", "/bin/bash");
    repaired(&sandbox);
    let file = sandbox.home().join(".bashrc");
    let own = "alias ll='ls -l'\n# no newline at the end";
    fs::write(&file, own).unwrap();
    sandbox.fix(["env", "--persist", "-n"]).expect(1).says("+export MASTER_PORT=2");
    assert_eq!(fs::read_to_string(&file).unwrap(), own);
    sandbox.fix(["env", "--persist"]).expect(1).says("--yes");
    assert_eq!(fs::read_to_string(&file).unwrap(), own);
    sandbox.fix(["env", "--persist", "--yes"]).expect(0);
    let once = fs::read_to_string(&file).unwrap();
    assert!(once.starts_with(own));
    let line = ["--rcfile", file.to_str().unwrap(), "-ic", "bash train.sh"];
    sandbox.run("bash", line).expect(0).says("trained on");
    sandbox.fix(["env", "--persist", "--yes"]).expect(0).says("has it already");
    assert_eq!(fs::read_to_string(&file).unwrap(), once);
    sandbox.fix(["rollback"]).expect(0);
    assert_eq!(fs::read_to_string(&file).unwrap(), own);
}

#[test]
fn zsh_with_a_folder_of_its_own() {
    let (mut sandbox, _squatter) = job();
    sandbox.set("SHELL", "/usr/bin/zsh");
    let folder = sandbox.home().join(".config/zsh");
    fs::create_dir_all(&folder).unwrap();
    sandbox.set("ZDOTDIR", &folder);
    repaired(&sandbox);
    sandbox.fix(["env", "--persist", "--yes"]).expect(0);
    // HOME's own is not read by this zsh.
    assert!(!sandbox.home().join(".zshrc").exists());
    let text = fs::read_to_string(folder.join(".zshrc")).unwrap();
    assert!(text.contains("export MASTER_PORT=2"), "{text}");
    sandbox.fix(["rollback"]).expect(0);
    assert!(!folder.join(".zshrc").exists());
    sandbox.set("ZDOTDIR", "/etc/zsh");
    sandbox.fix(["env", "--persist", "--yes"]).expect(1).says("outside");
}
