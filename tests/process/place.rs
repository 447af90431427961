//! A folder to run programs in, and what the tests ask of them.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Output, Stdio};
use std::sync::OnceLock;

use tempfile::TempDir;

use super::terminal::Terminal;

/// Builds `examples/transparent.rs` beside this test and returns its path.
fn transparent() -> &'static Path {
    static BUILT: OnceLock<PathBuf> = OnceLock::new();
    BUILT.get_or_init(|| {
        let test = std::env::current_exe().unwrap();
        let profile = test.ancestors().nth(2).unwrap();
        let mut build = Command::new(env!("CARGO"));
        build.args(["build", "--quiet", "--example", "transparent", "--target-dir"]).arg(profile.parent().unwrap());
        build.args(["--manifest-path", concat!(env!("CARGO_MANIFEST_DIR"), "/Cargo.toml")]);
        if profile.ends_with("release") {
            build.arg("--release");
        }
        assert!(build.status().unwrap().success());
        profile.join("examples/transparent")
    })
}

/// A folder with `t`, a link to the program under test, and the report that it writes.
pub struct Place {
    folder: TempDir,
}

impl Place {
    pub fn new() -> Self {
        let folder = tempfile::tempdir().unwrap();
        std::os::unix::fs::symlink(transparent(), folder.path().join("t")).unwrap();
        Self { folder }
    }

    pub fn path(&self) -> &Path {
        self.folder.path()
    }

    /// A shell line without a controlling terminal, in which `./t` is the program under test.
    pub fn bash(&self, line: &str) -> Command {
        let mut command = Command::new("setsid");
        // What the runner of the tests ignores (`nohup`) is no matter of theirs.
        command.args(["--wait", "env", "--default-signal=HUP,INT,QUIT,TERM", "bash", "-c", line]);
        command.current_dir(self.path()).stdin(Stdio::null());
        command.env("TRANSPARENT_REPORT", self.path().join("report"));
        command
    }

    pub fn output(&self, line: &str) -> Output {
        self.bash(line).output().unwrap()
    }

    /// The same line on a terminal of its own.
    pub fn terminal(&self, line: &str) -> Terminal {
        Terminal::start(self.path(), &["env", "--default-signal=HUP,INT,QUIT,TERM", "bash", "-c", line])
    }

    pub fn read(&self, name: &str) -> String {
        fs::read_to_string(self.path().join(name)).unwrap()
    }

    pub fn report(&self) -> String {
        self.read("report")
    }
}

pub fn text(bytes: &[u8]) -> String {
    String::from_utf8_lossy(bytes).into_owned()
}

/// Waits until `condition` holds; a test that waits longer than this hangs for a reason.
pub fn wait_until(what: &str, condition: impl Fn() -> bool) {
    for _ in 0..3000 {
        if condition() {
            return;
        }
        std::thread::sleep(std::time::Duration::from_millis(10));
    }
    panic!("never happened: {what}");
}

pub fn is_alive(pid: &str) -> bool {
    fs::read_to_string(format!("/proc/{pid}/stat")).is_ok_and(|stat| !stat.contains(") Z "))
}

/// A program that prints `ready`, and does `at` each time that it gets `signal`. It waits for the signal instead of
/// being interrupted by it, so that it misses none.
pub fn at_signal(signal: &str, at: &str) -> String {
    format!(
        "python3 -c \"import signal, sys, os, itertools\nwaited = [signal.SIG{signal}]\n\
         say = lambda text: os.write(1, (text + chr(10)).encode())\n\
         signal.signal(signal.SIGINT, signal.SIG_DFL)\n\
         signal.pthread_sigmask(signal.SIG_BLOCK, waited)\nsay('ready')\n\
         for count in itertools.count(1):\n  signal.sigwait(waited)\n  {at}\""
    )
}
