//! uv's configuration with the real uv: a dead index on this machine is replaced where it stands, and put back.

mod support;

use std::fs;
use std::path::PathBuf;

use support::index::{Index, PACKAGE, dead_url};
use support::story::{Story, assert_same};
use support::{Sandbox, picture, tools};

/// A sandbox with an environment and the real uv.
fn place() -> (Sandbox, Index, String) {
    let mut sandbox = Sandbox::new();
    let environment = sandbox.root().join("environment");
    let python = tools::python_tools().join("python");
    sandbox.run(python.to_str().unwrap(), ["-m", "venv", "--without-pip", environment.to_str().unwrap()]).expect(0);
    for (name, value) in [("UV_HTTP_RETRIES", "0"), ("UV_PYTHON_DOWNLOADS", "never"), ("UV_NO_CACHE", "1")] {
        sandbox.set(name, value);
    }
    sandbox.set("VIRTUAL_ENV", environment);
    let index = Index::start(&sandbox);
    (sandbox, index, dead_url())
}

/// From failure to failure, with a file of the configuration.
fn is_repaired(sandbox: &Sandbox, index: &Index, dead: &str, file: &PathBuf, text: &str) {
    fs::create_dir_all(file.parent().unwrap()).unwrap();
    fs::write(file, text.replace("@DEAD@", dead)).unwrap();
    let uv = tools::uv();
    let story = Story::new(sandbox, [uv.to_str().unwrap(), "pip", "install", PACKAGE], "Connection refused");
    story.fails();
    let before = picture(&sandbox.home());
    story.fix_command(&["run", "--yes=confirm"]).expect(2).says("private=replace");
    let flag = format!("index_url={}", index.url());
    let flags = ["run", "--yes=confirm", "--set", "private=replace", "--set", &flag];
    story.fix_command(&flags).expect(0).says("uv-index-unreachable").says("labdemo==1.0");
    assert_eq!(fs::read_to_string(file).unwrap(), text.replace("@DEAD@", &index.url()));
    sandbox.run(uv.to_str().unwrap(), ["pip", "uninstall", PACKAGE]).expect(0);
    story.fix(&["rollback", "--yes"]).expect(0);
    let (mut before, mut after) = (before, picture(&sandbox.home()));
    before.values_mut().chain(after.values_mut()).for_each(|entry| entry.modified = 0);
    assert_same(&before, &after);
    story.fails();
}

#[test]
fn the_users_own_file_is_edited() {
    let (sandbox, index, dead) = place();
    let file = sandbox.home().join(".config/uv/uv.toml");
    let text = "# ask bob\r\n[[index]] # ours\r\nname = \"ours\"\r\nurl = '@DEAD@' # since 2024\r\ndefault = true";
    is_repaired(&sandbox, &index, &dead, &file, text);
}

#[test]
fn the_projects_pyproject_is_edited() {
    let (sandbox, index, dead) = place();
    let file = sandbox.project().join("pyproject.toml");
    let text = "[project]\nname = \"x\"\nversion = \"1\"\n\n[tool.uv]\nindex-url   =   \"@DEAD@\"\n\n[tool.other]\nk = [ 1,2 ]\n";
    is_repaired(&sandbox, &index, &dead, &file, text);
}
