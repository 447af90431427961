//! A temporary folder with small LLVM installs and projects, and the real cmake at work in it.

use std::collections::BTreeMap;
use std::ffi::OsString;
use std::path::Path;
use std::process::{Command, Output};

use build_fix::change::{AbsPath, Change, FileState};
use build_fix::evidence::questions::{self, Answer, Inquiry};
use build_fix::evidence::{GitState, LocalHost};
use build_fix::recipe::Value;
use build_fix::steps::{self, LowerError, Lowered, Order};

pub struct Lab {
    folder: tempfile::TempDir,
    root: String,
    work: String,
    env: BTreeMap<String, String>,
    pub command: Vec<String>,
}

/// What git says, asked of git itself.
struct RealGit(Option<AbsPath>);

impl GitState for RealGit {
    fn top_level(&self) -> Option<&AbsPath> {
        self.0.as_ref()
    }

    fn tracks(&self, path: &AbsPath) -> bool {
        let Some(top) = &self.0 else { return false };
        let output =
            Command::new("git").args(["ls-files", "--"]).arg(path.as_path()).current_dir(top.as_path()).output();
        path.is_within(top) && !output.expect("git runs").stdout.is_empty()
    }
}

impl Lab {
    /// A lab with the project of fixtures/projects/llvm-mini in `app`, under git.
    pub fn with_app() -> Self {
        let folder = tempfile::tempdir().unwrap();
        let root = folder.path().canonicalize().unwrap().to_str().unwrap().to_owned();
        let env = [("PATH", "/usr/bin:/bin"), ("LC_ALL", "C.UTF-8"), ("HOME", &format!("{root}/home"))];
        let env = env.map(|(name, value)| (name.to_owned(), value.to_owned())).into();
        let mut lab = Self { folder, root, work: String::new(), env, command: Vec::new() };
        std::fs::create_dir(lab.path("home")).unwrap();
        copy(&fixture("app"), Path::new(&lab.path("app")));
        lab.work_in("app");
        lab.run_in("app", &["git", "init", "-q"]);
        lab.run_in("app", &["git", "add", "-A"]);
        lab
    }

    /// Installs a small LLVM, MLIR and LLD.
    pub fn install(&self, name: &str, version: &str, cgdata: &str) {
        let tree = self.path(&format!("tool-build-{name}"));
        let source = fixture("toolchain").to_str().unwrap().to_owned();
        let options = [
            format!("-DCMAKE_INSTALL_PREFIX={}", self.path(name)),
            format!("-DLLVM_MINI_VERSION={version}"),
            format!("-DLLVM_MINI_CGDATA={cgdata}"),
        ];
        let options = options.each_ref().map(String::as_str);
        self.passes(&[&["cmake", "-S", &source, "-B", &tree][..], &options].concat());
        self.passes(&["cmake", "--install", &tree]);
    }

    pub fn path(&self, name: &str) -> String {
        assert!(self.folder.path().exists());
        if name.is_empty() { self.root.clone() } else { format!("{}/{name}", self.root) }
    }

    pub fn work_in(&mut self, name: &str) {
        self.work = self.path(name);
    }

    pub fn command(&mut self, words: &[&str]) {
        self.command = words.iter().map(|word| (*word).to_owned()).collect();
    }

    pub fn set_env(&mut self, name: &str, value: Option<&str>) {
        match value {
            Some(value) => self.env.insert(name.to_owned(), value.to_owned()),
            None => self.env.remove(name),
        };
    }

    pub fn write(&self, name: &str, text: &str) {
        let path = self.path(name);
        std::fs::create_dir_all(Path::new(&path).parent().unwrap()).unwrap();
        std::fs::write(path, text).unwrap();
    }

    pub fn keep_copy(&self, from: &str, to: &str) {
        copy(Path::new(&self.path(from)), Path::new(&self.path(to)));
    }

    pub fn restore_copy(&self, from: &str, to: &str) {
        std::fs::remove_dir_all(self.path(to)).unwrap();
        self.keep_copy(from, to);
    }

    pub fn count_files(&self, name: &str) -> u64 {
        let output = Command::new("find").args([&self.path(name), "!", "-type", "d"]).output().unwrap();
        String::from_utf8(output.stdout).unwrap().lines().count() as u64
    }

    pub fn run_in(&self, folder: &str, words: &[&str]) {
        let output = self.output(&self.path(folder), words);
        assert!(output.status.success(), "{words:?}: {output:?}");
    }

    pub fn passes(&self, words: &[&str]) {
        let output = self.output(&self.work, words);
        assert!(output.status.success(), "{words:?}: {}", all_text(&output));
    }

    /// Runs a command that must fail with a text, however it is wrapped; returns what it printed.
    pub fn fails(&self, words: &[&str], text: &str) -> String {
        let output = self.output(&self.work, words);
        let printed = all_text(&output);
        assert!(!output.status.success(), "{words:?}: {printed}");
        let flat = printed.split_whitespace().collect::<Vec<_>>().join(" ");
        assert!(flat.contains(text), "{words:?}: {printed}");
        printed
    }

    /// Runs the user's command again with what a repair adds; it must pass.
    pub fn rerun(&self, lowered: &Lowered) {
        let mut words: Vec<&str> = self.command.iter().map(String::as_str).collect();
        words.extend(lowered.rerun_args.iter().map(|word| word.to_str().unwrap()));
        self.passes(&words);
    }

    fn output(&self, folder: &str, words: &[&str]) -> Output {
        Command::new(words[0]).args(&words[1..]).current_dir(folder).env_clear().envs(&self.env).output().unwrap()
    }

    fn host(&self) -> LocalHost {
        let output = self.output(&self.work, &["git", "rev-parse", "--show-toplevel"]);
        let top = String::from_utf8(output.stdout).unwrap();
        let git = RealGit(AbsPath::new(top.trim()).ok());
        let env = self.env.iter().map(|(name, value)| (OsString::from(name), OsString::from(value)));
        LocalHost::new(AbsPath::new(&self.work).unwrap(), env, Box::new(git))
    }

    pub fn ask(&self, question: &str, arguments: &[(&str, &str)]) -> Answer {
        let question = questions::find(question).unwrap();
        let (arguments, command, host) = (values(arguments), self.words(), self.host());
        for name in arguments.keys() {
            assert!(question.args.iter().any(|spec| spec.name == name), "{name} is no argument of {}", question.name);
        }
        let command = (!command.is_empty()).then_some(command.as_slice());
        let answer = (question.ask)(&Inquiry { args: &arguments, host: &host, command });
        assert!(answer.word == questions::UNKNOWN || question.answers.contains(&answer.word), "{answer:?}");
        for name in answer.values.keys() {
            assert!(question.values.contains(name), "{name} is no value of {}", question.name);
        }
        assert!(!answer.seen.en.is_empty() && !answer.seen.zh.is_empty());
        answer
    }

    pub fn lower(&self, verb: &str, arguments: &[(&str, &str)]) -> Result<Lowered, LowerError> {
        let verb = steps::find(verb).unwrap();
        let (arguments, command, host, so_far) = (values(arguments), self.words(), self.host(), Lowered::default());
        let command = (!command.is_empty()).then_some(command.as_slice());
        (verb.lower)(&Order { args: &arguments, host: &host, command, so_far: &so_far, evaluate: None })
    }

    fn words(&self) -> Vec<OsString> {
        self.command.iter().map(OsString::from).collect()
    }

    pub fn value(&self, answer: &Answer, name: &str) -> String {
        answer.values.get(name).map(Value::to_text).unwrap_or_default()
    }

    pub fn list(&self, answer: &Answer, name: &str) -> Vec<String> {
        answer.values.get(name).map(Value::to_list).unwrap_or_default()
    }

    /// Does what the changes say, without any of the care that a transaction takes.
    pub fn apply(&self, lowered: &Lowered) {
        for change in &lowered.changes {
            match change {
                Change::RemoveTree(tree) => std::fs::remove_dir_all(tree.path.as_path()).unwrap(),
                Change::WriteFile(write) => match &write.after {
                    FileState::Absent => std::fs::remove_file(write.path.as_path()).unwrap(),
                    FileState::Present(image) => std::fs::write(write.path.as_path(), &image.bytes).unwrap(),
                },
                Change::Run(run) => panic!("no verb of this lab runs a program: {run:?}"),
            }
        }
    }
}

/// An argument with line breaks is a list.
fn values(arguments: &[(&str, &str)]) -> BTreeMap<String, Value> {
    let value = |text: &str| match text.split_once('\n') {
        Some(_) => Value::List(text.lines().map(str::to_owned).collect()),
        None => Value::Text(text.to_owned()),
    };
    arguments
        .iter()
        .filter(|(_, text)| !text.is_empty())
        .map(|(name, text)| ((*name).to_owned(), value(text)))
        .collect()
}

fn fixture(name: &str) -> std::path::PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("fixtures/projects/llvm-mini").join(name)
}

fn copy(from: &Path, to: &Path) {
    let status = Command::new("cp").arg("-a").args([from, to]).status().unwrap();
    assert!(status.success(), "cp {from:?} {to:?}");
}

fn all_text(output: &Output) -> String {
    String::from_utf8_lossy(&[output.stdout.as_slice(), &output.stderr].concat()).into_owned()
}
