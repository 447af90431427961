//! What the tests share: a sandbox with its own HOME and state, pictures of trees, and the real tools.
#![expect(dead_code, reason = "each test binary uses a part of it")]

pub mod ascend;
pub mod conda;
pub mod environment;
pub mod in_process;
pub mod index;
pub mod labelled;
pub mod llvm_mini;
pub mod mini_triton;
pub mod moved;
pub mod npu_smi;
pub mod story;
pub mod tools;
pub mod torch;
pub mod torchrun;
pub mod user;
pub mod waiting;

use std::collections::BTreeMap;
use std::ffi::{OsStr, OsString};
use std::fs;
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};
use std::process::{Command, Output, Stdio};

/// A temporary folder with a project, a HOME and a state folder of its own; the environment is empty else.
pub struct Sandbox {
    folder: tempfile::TempDir,
    env: BTreeMap<OsString, OsString>,
}

/// What `fix` did.
pub struct Done {
    pub code: i32,
    pub stdout: String,
    pub stderr: String,
}

impl Sandbox {
    pub fn new() -> Self {
        let folder = tempfile::Builder::new().prefix("fix-test-").tempdir().unwrap();
        for name in ["project", "home", "state"] {
            fs::create_dir(folder.path().join(name)).unwrap();
        }
        let mut sandbox = Self { folder, env: BTreeMap::new() };
        sandbox.set("PATH", "/usr/local/bin:/usr/bin:/bin");
        sandbox.set("HOME", sandbox.home());
        sandbox.set("XDG_STATE_HOME", sandbox.state());
        sandbox.set("LC_ALL", "C.UTF-8");
        sandbox.set("PYTHONDONTWRITEBYTECODE", "1");
        sandbox
    }

    /// The folder of everything, real path.
    pub fn root(&self) -> PathBuf {
        fs::canonicalize(self.folder.path()).unwrap()
    }

    pub fn project(&self) -> PathBuf {
        self.root().join("project")
    }

    pub fn home(&self) -> PathBuf {
        self.root().join("home")
    }

    pub fn state(&self) -> PathBuf {
        self.root().join("state")
    }

    pub fn set(&mut self, name: impl Into<OsString>, value: impl Into<OsString>) {
        self.env.insert(name.into(), value.into());
    }

    pub fn unset(&mut self, name: &str) {
        self.env.remove(OsStr::new(name));
    }

    pub fn env(&self) -> &BTreeMap<OsString, OsString> {
        &self.env
    }

    pub fn prepend_path(&mut self, folder: &Path) {
        let old = self.env[OsStr::new("PATH")].clone();
        let mut value = folder.as_os_str().to_owned();
        value.push(":");
        value.push(old);
        self.set("PATH", value);
    }

    /// A command in the project, with the sandbox's environment and nothing on standard input.
    pub fn command(&self, program: impl AsRef<OsStr>) -> Command {
        let mut command = Command::new(program);
        command.current_dir(self.project()).env_clear().envs(&self.env).stdin(Stdio::null());
        command
    }

    /// `fix`, with the default disposition of the signals that end a program: what was started by `nohup`, or as a
    /// background job of a script, has some of them ignored, and so would all that it starts.
    pub fn fix_command(&self) -> Command {
        let mut command = self.command("/usr/bin/env");
        command.args(["--default-signal=HUP,INT,QUIT,TERM", env!("CARGO_BIN_EXE_fix")]);
        command
    }

    /// Runs `fix` in the project.
    pub fn fix<S: AsRef<OsStr>>(&self, args: impl IntoIterator<Item = S>) -> Done {
        let mut command = self.fix_command();
        command.args(args);
        done(command.output().unwrap())
    }

    /// Runs a program in the project and returns what it did.
    pub fn run<S: AsRef<OsStr>>(&self, program: &str, args: impl IntoIterator<Item = S>) -> Done {
        let mut command = self.command(program);
        command.args(args);
        done(command.output().unwrap())
    }

    pub fn write(&self, name: &str, text: impl AsRef<[u8]>) -> PathBuf {
        let path = self.project().join(name);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(&path, text).unwrap();
        path
    }
}

pub fn done(output: Output) -> Done {
    use std::os::unix::process::ExitStatusExt;
    Done {
        code: output.status.code().unwrap_or_else(|| 128 + output.status.signal().unwrap_or(0)),
        stdout: String::from_utf8_lossy(&output.stdout).into_owned(),
        stderr: String::from_utf8_lossy(&output.stderr).into_owned(),
    }
}

impl Done {
    /// Fails the test with everything that was printed when the status is another.
    #[track_caller]
    pub fn expect(self, code: i32) -> Self {
        assert_eq!(self.code, code, "status\n--- stdout\n{}\n--- stderr\n{}", self.stdout, self.stderr);
        self
    }

    /// Fails the test when a text was not printed, wherever lines were broken.
    #[track_caller]
    pub fn says(self, text: &str) -> Self {
        let words = |text: &str| text.split_whitespace().collect::<Vec<_>>().join(" ");
        let both = words(&format!("{} {}", self.stdout, self.stderr));
        assert!(
            both.contains(&words(text)),
            "`{text}` is missing\n--- stdout\n{}\n--- stderr\n{}",
            self.stdout,
            self.stderr
        );
        self
    }

    /// Like [`Self::says`], with every run of white space as one blank: CMake and pip wrap their messages.
    #[track_caller]
    pub fn says_in_any_layout(self, text: &str) -> Self {
        let squeeze = |text: &str| text.split_whitespace().collect::<Vec<_>>().join(" ");
        let found = squeeze(&self.stdout).contains(text) || squeeze(&self.stderr).contains(text);
        assert!(found, "`{text}` is missing\n--- stdout\n{}\n--- stderr\n{}", self.stdout, self.stderr);
        self
    }

    #[track_caller]
    pub fn does_not_say(self, text: &str) -> Self {
        let both = format!("{}{}", self.stdout, self.stderr);
        assert!(!both.contains(text), "`{text}` is there\n--- stdout\n{}\n--- stderr\n{}", self.stdout, self.stderr);
        self
    }

    pub fn all(&self) -> String {
        format!("{}{}", self.stdout, self.stderr)
    }
}

/// One entry of a tree, as exactly as the file system has it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Entry {
    pub mode: u32,
    /// Content of a file, target of a link, empty for a folder.
    pub content: Vec<u8>,
    /// Modification time in nanoseconds; 0 for folders, whose time any look-up of a name may change.
    pub modified: i128,
}

/// Every entry below a folder, by relative path.
pub type Picture = BTreeMap<PathBuf, Entry>;

/// Takes a picture of a tree; what does not exist is empty.
pub fn picture(folder: &Path) -> Picture {
    let mut all = Picture::new();
    let mut left = vec![PathBuf::new()];
    while let Some(relative) = left.pop() {
        let Ok(entries) = fs::read_dir(folder.join(&relative)) else { continue };
        for entry in entries {
            let relative = relative.join(entry.unwrap().file_name());
            let path = folder.join(&relative);
            let meta = fs::symlink_metadata(&path).unwrap();
            let (content, modified) = if meta.is_dir() {
                left.push(relative.clone());
                (Vec::new(), 0)
            } else if meta.is_symlink() {
                (fs::read_link(&path).unwrap().as_os_str().as_bytes().to_vec(), 0)
            } else {
                let time = i128::from(meta.mtime()) * 1_000_000_000 + i128::from(meta.mtime_nsec());
                (fs::read(&path).unwrap(), time)
            };
            all.insert(relative, Entry { mode: meta.mode(), content, modified });
        }
    }
    all
}

/// Says in words where two pictures differ.
pub fn differences(before: &Picture, after: &Picture) -> Vec<String> {
    let mut all = Vec::new();
    for (path, entry) in before {
        match after.get(path) {
            None => all.push(format!("gone: {}", path.display())),
            Some(now) if now.content != entry.content => all.push(format!("other content: {}", path.display())),
            Some(now) if now.mode != entry.mode => {
                all.push(format!("mode {:o} instead of {:o}: {}", now.mode, entry.mode, path.display()));
            }
            Some(now) if now.modified != entry.modified => all.push(format!("other time: {}", path.display())),
            Some(_) => {}
        }
    }
    all.extend(after.keys().filter(|path| !before.contains_key(*path)).map(|path| format!("new: {}", path.display())));
    all
}

/// A project that comes with the tests.
pub fn fixture_project(name: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("fixtures/projects").join(name)
}

/// Copies a tree of files and folders into a folder.
pub fn copy_tree(from: &Path, to: &Path) {
    fs::create_dir_all(to).unwrap();
    for entry in fs::read_dir(from).unwrap() {
        let entry = entry.unwrap();
        let to = to.join(entry.file_name());
        if entry.file_type().unwrap().is_dir() {
            copy_tree(&entry.path(), &to);
        } else {
            fs::copy(entry.path(), &to).unwrap();
        }
    }
}

/// Copies a fixture's tree, putting `root` in the place of `@ROOT@` in every file and link.
pub fn unpack(fixture: &Path, to: &Path, root: &Path) {
    fs::create_dir_all(to).unwrap();
    for entry in fs::read_dir(fixture).unwrap() {
        let entry = entry.unwrap();
        let (from, to) = (entry.path(), to.join(entry.file_name()));
        let kind = entry.file_type().unwrap();
        if kind.is_dir() {
            unpack(&from, &to, root);
        } else if kind.is_symlink() {
            let target = fs::read_link(&from).unwrap();
            let target = target.to_str().unwrap().replace("@ROOT@", root.to_str().unwrap());
            std::os::unix::fs::symlink(target, &to).unwrap();
        } else {
            fs::write(&to, with_root(&fs::read(&from).unwrap(), root)).unwrap();
            fs::set_permissions(&to, fs::metadata(&from).unwrap().permissions()).unwrap();
        }
    }
}

/// Puts `root` in the place of `@ROOT@`.
pub fn with_root(bytes: &[u8], root: &Path) -> Vec<u8> {
    let mark = b"@ROOT@";
    let mut out = Vec::with_capacity(bytes.len());
    let mut rest = bytes;
    while let Some(at) = rest.windows(mark.len()).position(|window| window == mark) {
        out.extend_from_slice(&rest[..at]);
        out.extend_from_slice(root.as_os_str().as_bytes());
        rest = &rest[at + mark.len()..];
    }
    out.extend_from_slice(rest);
    out
}
