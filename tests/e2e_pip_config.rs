//! pip's configuration with the real pip: dead indexes on this machine are found, replaced, and put back.

mod support;

use std::fs;
use std::os::unix::fs::{PermissionsExt, symlink};
use std::path::{Path, PathBuf};

use support::index::{Index, PACKAGE, dead_url};
use support::story::{Story, assert_same};
use support::{Picture, Sandbox, picture, tools};

const MESSAGE: &str = "No matching distribution found for labdemo";
const REPLACE: [&str; 5] = ["run", "--yes=confirm", "--set", "private=replace", "--set"];

/// A sandbox with a private environment and the real pip.
struct Place {
    sandbox: Sandbox,
    index: Index,
    dead: String,
}

impl Place {
    fn new() -> Self {
        let mut sandbox = Sandbox::new();
        let environment = sandbox.root().join("environment");
        let python = tools::python_tools().join("python");
        sandbox.run(python.to_str().unwrap(), ["-m", "venv", "--without-pip", environment.to_str().unwrap()]).expect(0);
        let packages = |python: &Path| {
            let code = "import sysconfig; print(sysconfig.get_path('purelib'))";
            PathBuf::from(sandbox.run(python.to_str().unwrap(), ["-c", code]).expect(0).stdout.trim())
        };
        let (own, shared) = (packages(&environment.join("bin/python")), packages(&python));
        fs::write(own.join("tools.pth"), format!("{}\n", shared.display())).unwrap();
        sandbox.prepend_path(&environment.join("bin"));
        sandbox.set("VIRTUAL_ENV", environment);
        sandbox.set("PIP_DISABLE_PIP_VERSION_CHECK", "1");
        sandbox.set("PIP_NO_CACHE_DIR", "1");
        sandbox.set("PIP_RETRIES", "1");
        // Where there is a configuration for the whole machine, the tests have their own all the same.
        sandbox.set("XDG_CONFIG_DIRS", sandbox.root().join("none"));
        let index = Index::start(&sandbox);
        Self { index, sandbox, dead: dead_url() }
    }

    fn home(&self, name: &str, text: &str) -> PathBuf {
        let path = self.sandbox.home().join(name);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(&path, text.replace("@DEAD@", &self.dead).replace("@LIVE@", &self.index.url())).unwrap();
        path
    }

    fn story(&self) -> Story<'_> {
        Story::new(&self.sandbox, ["python", "-m", "pip", "install", "--no-deps", PACKAGE], MESSAGE)
    }

    fn uninstall(&self) {
        self.sandbox.run("/usr/bin/env", ["python", "-m", "pip", "uninstall", "-q", "-y", PACKAGE]).expect(0);
    }

    fn pictures(&self) -> Picture {
        let mut all = picture(&self.sandbox.home());
        all.values_mut().for_each(|entry| entry.modified = 0);
        all
    }

    /// Repairs by `fix run`, looks, takes it back.
    fn is_repaired(&self, flags: &[&str], check: impl FnOnce()) {
        let story = self.story();
        story.fails();
        let before = self.pictures();
        story.fix_command(flags).expect(0).says("pip-index-unreachable").says("Successfully installed labdemo-1.0");
        check();
        self.uninstall();
        story.passes();
        self.uninstall();
        story.fix(&["rollback", "--yes"]).expect(0);
        assert_same(&before, &self.pictures());
        story.fails();
    }

    fn index_flag(&self) -> String {
        format!("index_url={}", self.index.url())
    }
}

#[test]
fn the_file_that_wins_is_edited_and_comes_back() {
    let place = Place::new();
    // The FAQ's file, which has no effect beside the other one.
    let legacy = place.home(".pip/pip.conf", "[global]\nindex-url = @LIVE@\n");
    let text =
        "# ask bob\r\n[global]\r\ntimeout = 7\r\nindex-url = @DEAD@ \r\n; mirrors\r\n[install]\r\nno-compile: yes";
    let file = place.home(".config/pip/pip.conf", text);
    fs::set_permissions(&file, fs::Permissions::from_mode(0o600)).unwrap();
    let (before, untouched) = (fs::read_to_string(&file).unwrap(), fs::read(&legacy).unwrap());
    let flag = place.index_flag();
    let flags: Vec<&str> = REPLACE.iter().copied().chain([flag.as_str()]).collect();
    place.is_repaired(&flags, || {
        assert_eq!(fs::read_to_string(&file).unwrap(), before.replace(&place.dead, &place.index.url()));
        assert_eq!(fs::read(&legacy).unwrap(), untouched);
        assert_eq!(fs::metadata(&file).unwrap().permissions().mode() & 0o7777, 0o600);
    });
}

#[test]
fn a_link_into_a_folder_of_dotfiles_stays_a_link() {
    let place = Place::new();
    let real = place.home("dotfiles/pip.conf", "[global]\nindex-url=@DEAD@\n");
    let link = place.sandbox.home().join(".config/pip/pip.conf");
    fs::create_dir_all(link.parent().unwrap()).unwrap();
    symlink("../../dotfiles/pip.conf", &link).unwrap();
    let flag = place.index_flag();
    let flags: Vec<&str> = REPLACE.iter().copied().chain([flag.as_str()]).collect();
    place.is_repaired(&flags, || {
        assert_eq!(fs::read_link(&link).unwrap(), Path::new("../../dotfiles/pip.conf"));
        assert_eq!(fs::read_to_string(&real).unwrap(), format!("[global]\nindex-url={}\n", place.index.url()));
    });
}

#[test]
fn a_file_that_pip_cannot_read_is_named_with_its_line() {
    let place = Place::new();
    for (text, line) in [
        ("[global]\nindex-url = @LIVE@\n# twice\nindex-url = @LIVE@\n", 4),
        ("[global]\ntimeout = 3\nnothing\n", 3),
        ("index-url = @LIVE@\n", 1),
    ] {
        let file = place.home(".config/pip/pip.conf", text);
        let mut story = place.story();
        story.message = "Configuration file could not be loaded".to_owned();
        story.is_left_alone(&[]).says("pip-config-broken").says(&format!("{}:{line}", file.display()));
    }
    place.home(".config/pip/pip.conf", "[global]\nindex-url = @LIVE@\n");
    place.story().passes();
}

#[test]
fn a_chain_of_links_is_refused() {
    let place = Place::new();
    place.home("dotfiles/pip.conf", "[global]\nindex-url=@DEAD@\n");
    let link = place.sandbox.home().join(".config/pip/pip.conf");
    fs::create_dir_all(link.parent().unwrap()).unwrap();
    symlink(place.sandbox.home().join("dotfiles/pip.conf"), place.sandbox.home().join("middle")).unwrap();
    symlink(place.sandbox.home().join("middle"), &link).unwrap();
    let flag = place.index_flag();
    place.story().is_left_alone(&["--set", "private=replace", "--set", &flag]).says("leads to no regular file");
}

#[test]
fn the_environments_own_file_wins_over_the_users() {
    let place = Place::new();
    place.home(".config/pip/pip.conf", "[global]\nindex-url = @LIVE@\n");
    let file = place.sandbox.root().join("environment/pip.conf");
    fs::write(&file, format!("[install]\nindex-url = {}\n", place.dead)).unwrap();
    let flag = place.index_flag();
    let flags: Vec<&str> = REPLACE.iter().copied().chain([flag.as_str()]).collect();
    place.is_repaired(&flags, || {
        assert_eq!(fs::read_to_string(&file).unwrap(), format!("[install]\nindex-url = {}\n", place.index.url()));
    });
}

#[test]
fn a_variable_that_hides_a_file_is_unset_for_the_re_run() {
    let mut place = Place::new();
    place.home(".config/pip/pip.conf", "[global]\nindex-url = @LIVE@\n");
    place.sandbox.set("PIP_INDEX_URL", place.dead.clone());
    let story = place.story();
    story.fails();
    let before = place.pictures();
    story.fix_command(&["run", "--yes=confirm"]).expect(0).says("PIP_INDEX_URL").says("Successfully installed");
    assert_same(&before, &place.pictures());
    place.uninstall();
    // The shell still has it.
    story.fails();
}

#[test]
fn a_dead_extra_index_goes_and_the_list_stays() {
    let place = Place::new();
    let text = "[global]\nindex-url = @LIVE@/nothing\nextra-index-url =\n    @DEAD@\n    # ours\n    @LIVE@/other\n";
    let file = place.home(".config/pip/pip.conf", text);
    let before = fs::read_to_string(&file).unwrap();
    let flag = format!("extra_index_url={}", place.index.url());
    let story = place.story();
    story.fix_command(&["run", "--yes=confirm"]).expect(1).says("extra=replace");
    assert_eq!(fs::read_to_string(&file).unwrap(), before);
    place.is_repaired(&["run", "--yes=confirm", "--set", "extra=replace", "--set", &flag], || {
        assert_eq!(fs::read_to_string(&file).unwrap(), before.replace(&place.dead, &place.index.url()));
    });
    // Without it the package is nowhere: not proved, and taken back.
    let done = story.fix_command(&["run", "--yes=confirm", "--set", "extra=remove"]);
    assert_eq!(done.code, 1, "{}", done.all());
    assert_eq!(fs::read_to_string(&file).unwrap(), before);
}

#[test]
fn credentials_are_neither_shown_nor_lost() {
    let place = Place::new();
    let secret = place.dead.replace("http://", "http://bob:hunter2horse@");
    let text = format!("[global]\nindex-url = {secret}\n");
    let file = place.home(".config/pip/pip.conf", &text);
    let flag = place.index_flag();
    let story = place.story();
    let done = story.fix_command(&["run", "--yes=confirm"]).expect(1).says("no known public mirror");
    done.does_not_say("hunter2horse");
    for extra in [&["-n"][..], &["--yes=confirm"][..], &["--json", "-n"][..]] {
        let mut args = vec!["run", "--set", "private=replace", "--set", flag.as_str()];
        args.extend(extra);
        story.fix_command(&args).does_not_say("hunter2horse");
    }
    assert!(fs::read_to_string(&file).unwrap().contains(&place.index.url()));
    story.fix(&["rollback", "--yes"]).expect(0).does_not_say("hunter2horse");
    assert_eq!(fs::read_to_string(&file).unwrap(), text);
}

#[test]
fn a_mirror_that_does_not_help_is_taken_back() {
    let place = Place::new();
    let file = place.home(".config/pip/pip.conf", "[global]\nindex-url = @DEAD@\n");
    let before = fs::read(&file).unwrap();
    let other = format!("index_url={}", dead_url());
    place.story().fix_command(&["run", "--yes=confirm", "--set", "private=replace", "--set", &other]).expect(1);
    assert_eq!(fs::read(&file).unwrap(), before);
}

#[test]
fn look_alikes_are_left_alone() {
    let mut place = Place::new();
    let flag = place.index_flag();
    let flags = ["--set", "private=replace", "--set", flag.as_str()];
    // The index answers and does not have it.
    place.home(".config/pip/pip.conf", "[global]\nindex-url = @LIVE@/nothing\n");
    place.story().is_left_alone(&flags);
    // The command gives the index itself.
    let command = ["python", "-m", "pip", "install", "-i", &place.dead, PACKAGE].map(str::to_owned);
    Story::new(&place.sandbox, command, MESSAGE).is_left_alone(&flags).says("the command itself");
    // A proxy that does not answer.
    place.sandbox.set("http_proxy", place.dead.replace("/simple", ""));
    place.home(
        ".config/pip/pip.conf",
        "[global]\nindex-url = http://nobody.invalid/simple\ntrusted-host = nobody.invalid\n",
    );
    place.story().is_left_alone(&flags);
    place.sandbox.unset("http_proxy");
    // pip itself stops at the file.
    place.home(".config/pip/pip.conf", "[global]\nindex-url = @DEAD@\nindex-url = @LIVE@\n");
    Story::new(&place.sandbox, ["python", "-m", "pip", "install", PACKAGE], "could not be loaded")
        .is_left_alone(&flags);
}

#[test]
fn plain_http_without_trust_goes_by_https_and_back() {
    let place = Place::new();
    let text = "[global]\nindex-url = http://u:hunter2horse@mirror.invalid/simple\n";
    let file = place.home(".config/pip/pip.conf", text);
    let log = place.sandbox.project().join("failed.log");
    fs::write(&log, place.story().fails().says("not a trusted or secure host").all()).unwrap();
    let log = log.to_str().unwrap();
    let story = place.story();
    let by_name = |more: &[&str]| {
        let mut args = vec!["pip-index-untrusted", "--yes=confirm", "--log", log];
        args.extend(more);
        story.fix(&args)
    };
    by_name(&[]).expect(0).does_not_say("hunter2horse");
    assert_eq!(fs::read_to_string(&file).unwrap(), text.replace("http:", "https:"));
    story.fix(&["rollback", "--yes"]).expect(0);
    assert_eq!(fs::read_to_string(&file).unwrap(), text);
    // Trust needs the host's name.
    by_name(&["--set", "how=trust"]).expect(1).says("trusted_host=mirror.invalid");
    by_name(&["--set", "how=trust", "--set", "trusted_host=other.invalid"]).expect(1);
    assert_eq!(fs::read_to_string(&file).unwrap(), text);
    by_name(&["--set", "how=trust", "--set", "trusted_host=mirror.invalid"]).expect(0);
    assert_eq!(fs::read_to_string(&file).unwrap(), format!("{text}trusted-host = mirror.invalid\n"));
    // The hidden one did not become the value.
    assert!(!fs::read_to_string(&file).unwrap().contains("****"));
}
