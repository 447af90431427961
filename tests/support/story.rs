//! The story of a repair, told with real tools: it fails, is repaired, passes, is taken back, and fails again.

use std::collections::BTreeMap;
use std::ffi::OsString;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use super::{Done, Picture, Sandbox, differences, done, picture};

/// A command that fails until it is repaired.
pub struct Story<'s> {
    pub sandbox: &'s Sandbox,
    /// Where the command runs.
    pub folder: PathBuf,
    pub command: Vec<OsString>,
    /// What the failure says, line breaks and indentation aside.
    pub message: String,
}

impl<'s> Story<'s> {
    /// A failing command in the project.
    pub fn new<S: Into<OsString>>(
        sandbox: &'s Sandbox,
        command: impl IntoIterator<Item = S>,
        message: impl Into<String>,
    ) -> Self {
        let command = command.into_iter().map(Into::into).collect();
        Self { sandbox, folder: sandbox.project(), command, message: message.into() }
    }

    /// Lets the command run in a folder of the project.
    pub fn inside(mut self, folder: &str) -> Self {
        self.folder = self.sandbox.project().join(folder);
        self
    }

    fn run(&self, program: impl AsRef<Path>, args: &[OsString]) -> Done {
        let mut command = Command::new(program.as_ref());
        command.args(args).current_dir(&self.folder).env_clear().envs(self.sandbox.env()).stdin(Stdio::null());
        done(command.output().unwrap())
    }

    /// Runs the command alone.
    pub fn alone(&self) -> Done {
        // Found as the sandbox's own shell would find it, not as this process would.
        self.run("/usr/bin/env", &self.command)
    }

    /// Runs `fix` where the command runs.
    pub fn fix(&self, args: &[&str]) -> Done {
        self.run(env!("CARGO_BIN_EXE_fix"), &args.iter().map(OsString::from).collect::<Vec<_>>())
    }

    /// Runs `fix … -- CMD`.
    pub fn fix_command(&self, args: &[&str]) -> Done {
        let mut all: Vec<OsString> = args.iter().map(OsString::from).collect();
        all.push("--".into());
        all.extend(self.command.iter().cloned());
        self.run(env!("CARGO_BIN_EXE_fix"), &all)
    }

    /// Sees the command fail with its message.
    #[track_caller]
    pub fn fails(&self) -> Done {
        let failed = self.alone();
        assert_ne!(failed.code, 0, "it passes\n{}", failed.all());
        failed.says_in_any_layout(&self.message)
    }

    /// Sees the command pass.
    #[track_caller]
    pub fn passes(&self) -> Done {
        self.alone().expect(0)
    }

    /// From failure to failure: `check` looks at the sandbox while the repair stands, and at what `fix run` said.
    ///
    /// The project comes back byte for byte.
    #[track_caller]
    pub fn is_repaired(&self, recipe: &str, flags: &[&str], check: impl FnOnce(&Done)) {
        // The failing command writes as well, and less when it fails again.
        self.fails();
        self.fails();
        let before = contents(&self.sandbox.project());
        let mut args = vec!["run"];
        args.extend((!flags.iter().any(|flag| flag.starts_with("--yes"))).then_some("--yes"));
        args.extend(flags);
        let done = self.fix_command(&args).expect(0).says(recipe);
        check(&done);
        self.fix(&["rollback"]).expect(0);
        assert_same(&before, &contents(&self.sandbox.project()));
        self.fails();
    }

    /// Like [`Self::is_repaired`] by `fix <recipe> --log`: the command does not run before the repair, so that times
    /// come back exactly as well.
    #[track_caller]
    pub fn is_repaired_by_name(&self, recipe: &str, flags: &[&str], check: impl FnOnce(&Done)) {
        let log = self.sandbox.root().join("failed.log");
        std::fs::write(&log, self.fails().all()).unwrap();
        let before = picture(&self.sandbox.project());
        let mut args = vec![recipe, "--log", log.to_str().unwrap()];
        args.extend((!flags.iter().any(|flag| flag.starts_with("--yes"))).then_some("--yes"));
        args.extend(flags);
        let done = self.fix_command(&args).expect(0).says(recipe);
        check(&done);
        self.fix(&["rollback"]).expect(0);
        assert_same(&before, &picture(&self.sandbox.project()));
        self.fails();
    }

    /// Sees that `fix run` changes nothing and ends as the command does; returns what it said.
    #[track_caller]
    pub fn is_left_alone(&self, flags: &[&str]) -> Done {
        self.fails();
        let status = self.fails().code;
        let (project, home) = (contents(&self.sandbox.project()), picture(&self.sandbox.home()));
        let state = picture(&self.sandbox.state());
        let mut args = vec!["run", "--yes=confirm"];
        args.extend(flags);
        let done = self.fix_command(&args).expect(status).says_in_any_layout(&self.message);
        assert_same(&project, &contents(&self.sandbox.project()));
        assert_same(&home, &picture(&self.sandbox.home()));
        assert_same(&state, &picture(&self.sandbox.state()));
        done
    }
}

impl Story<'_> {
    /// Sees that repairing by name, with the log of the failure, changes nothing at all: not even a time.
    #[track_caller]
    pub fn is_left_alone_by_name(&self, recipe: &str) {
        let log = self.sandbox.root().join("failed.log");
        std::fs::write(&log, self.fails().all()).unwrap();
        let log = log.to_str().unwrap();
        let before = picture(&self.sandbox.root());
        // 0: no sign of it here; 1: found, and nothing that may be applied helps.
        let done = self.fix_command(&[recipe, "--yes=confirm", "--log", log]);
        assert!([0, 1].contains(&done.code), "{}: {}", done.code, done.all());
        let done = self.fix(&["diagnose", log]);
        assert!([0, 1].contains(&done.code), "{}: {}", done.code, done.all());
        assert_same(&before, &picture(&self.sandbox.root()));
    }
}

#[track_caller]
pub fn assert_same(before: &Picture, after: &Picture) {
    let differences = differences(before, after);
    assert!(differences.is_empty(), "{}", differences.join("\n"));
}

/// A picture without times and without the logs that CMake goes on writing.
pub fn contents(folder: &Path) -> Picture {
    let mut all: BTreeMap<_, _> = picture(folder);
    all.retain(|path, _| {
        let name = path.file_name().unwrap_or_default().to_string_lossy();
        !(name.starts_with("CMakeConfigureLog") || name.starts_with("CMakeError.log") || name.starts_with(".ninja_"))
    });
    all.values_mut().for_each(|entry| entry.modified = 0);
    all
}

/// A value of a build tree's cache.
pub fn cached(tree: &Path, name: &str) -> Option<String> {
    let cache = std::fs::read_to_string(tree.join("CMakeCache.txt")).ok()?;
    cache.lines().find_map(|line| {
        let (entry, value) = line.split_once('=')?;
        let (entry, _) = entry.split_once(':')?;
        (entry == name).then(|| value.to_owned())
    })
}
