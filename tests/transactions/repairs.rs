//! Small projects with repairs of every kind, for the tests of transactions.

use std::collections::BTreeMap;
use std::ffi::OsString;
use std::fs;
use std::os::unix::fs::{MetadataExt, PermissionsExt, symlink};
use std::path::{Path, PathBuf};

use build_fix::change::{
    AbsPath, AllowedRoots, Change, EnvOverlay, FileImage, FileState, RemoveTree, Reversible, Run, TreeFolder,
    TreeImage, TreeKind, WriteFile,
};
use build_fix::transaction::{Applied, Group, Order, Outcome, Proof, StateDir, Title, TransactionError, Watch};

/// A project, its state folder beside it, and a repair of it.
pub struct Project {
    pub base: Base,
    pub changes: Vec<Change>,
}

/// Where the project lies, and whether it goes away with it.
pub enum Base {
    Own(tempfile::TempDir),
    Other(PathBuf),
}

impl Base {
    pub fn path(&self) -> &Path {
        match self {
            Base::Own(folder) => folder.path(),
            Base::Other(path) => path,
        }
    }
}

pub fn abs(path: impl AsRef<Path>) -> AbsPath {
    AbsPath::new(path).unwrap()
}

/// A folder in memory where there is one: the exhaustive tests synchronise hundreds of thousands of times.
pub fn fast_dir() -> tempfile::TempDir {
    let shm = Path::new("/dev/shm");
    let place = if shm.is_dir() { shm.to_owned() } else { std::env::temp_dir() };
    tempfile::Builder::new().prefix("fix-test-").tempdir_in(&place).or_else(|_| tempfile::tempdir()).unwrap()
}

fn put(path: PathBuf, text: &str, mode: u32) {
    fs::create_dir_all(path.parent().unwrap()).unwrap();
    fs::write(&path, text).unwrap();
    fs::set_permissions(&path, fs::Permissions::from_mode(mode)).unwrap();
    age(&path);
}

/// Makes a file an hour old, so that nothing in a fresh project is newer than a repair.
fn age(path: &Path) {
    let time = std::time::SystemTime::now() - std::time::Duration::from_secs(3600);
    fs::File::open(path).unwrap().set_modified(time).unwrap();
}

impl Project {
    pub fn new() -> Self {
        Self::in_dir(fast_dir())
    }

    pub fn in_dir(base: tempfile::TempDir) -> Self {
        let root = base.path().join("project");
        put(root.join("setup.py"), "old line\n", 0o644);
        put(root.join("run.sh"), "#!/bin/sh\n", 0o644);
        put(root.join("gone.txt"), "goes away\n", 0o640);
        put(root.join("linked.txt"), "two names\n", 0o644);
        fs::hard_link(root.join("linked.txt"), root.join("other-name.txt")).unwrap();
        put(root.join("build/CMakeCache.txt"), "CMAKE_BUILD_TYPE=Release\n", 0o644);
        put(root.join("build/CMakeFiles/a.o"), "object", 0o600);
        put(root.join("build/bin/tool"), "#!/bin/sh\n", 0o755);
        fs::hard_link(root.join("build/bin/tool"), root.join("build/bin/tool-2")).unwrap();
        symlink("tool", root.join("build/bin/link")).unwrap();
        symlink("nowhere", root.join("build/dangling")).unwrap();
        fs::create_dir(root.join("build/empty")).unwrap();
        for folder in ["build/empty", "build/bin", "build/CMakeFiles", "build"] {
            age(&root.join(folder));
        }
        Self { base: Base::Own(base), changes: Vec::new() }
    }

    /// Takes a project that another process made.
    pub fn reopen(base: &Path) -> Self {
        Self { base: Base::Other(base.to_owned()), changes: Vec::new() }
    }

    pub fn path(&self, below: &str) -> PathBuf {
        self.base.path().join("project").join(below)
    }

    pub fn root(&self) -> AbsPath {
        abs(self.base.path().join("project"))
    }

    pub fn state(&self) -> StateDir {
        StateDir::open(abs(self.base.path().join("state")))
    }

    /// Adds the change of a file from what it is now; `None` deletes it.
    pub fn write(&mut self, below: &str, after: Option<(&str, u32)>) {
        let path = self.path(below);
        let before = match fs::read(&path) {
            Ok(bytes) => FileState::Present(FileImage { bytes, mode: fs::metadata(&path).unwrap().mode() & 0o7777 }),
            Err(_) => FileState::Absent,
        };
        let after = match after {
            Some((text, mode)) => FileState::Present(FileImage { bytes: text.into(), mode }),
            None => FileState::Absent,
        };
        self.changes.push(Change::WriteFile(WriteFile { path: abs(path), before, after }));
    }

    pub fn set_aside(&mut self, below: &str, kind: TreeKind) {
        let path = self.path(below);
        let meta = fs::metadata(&path).unwrap();
        let files = picture(&path).values().filter(|text| !text.starts_with("folder")).count() as u64;
        let before =
            TreeImage { device: meta.dev(), inode: meta.ino(), files, bytes: 100, estimated: false, at_least: false };
        self.changes.push(Change::RemoveTree(RemoveTree { path: abs(path), before, kind, folder: TreeFolder::Goes }));
    }

    pub fn run(&mut self, argv: &[&str], writes: &[&str]) {
        self.changes.push(Change::Run(Run {
            argv: argv.iter().map(OsString::from).collect(),
            cwd: self.root(),
            env: EnvOverlay::default(),
            writes: writes.iter().map(|below| abs(self.path(below))).collect(),
            reversible: Reversible::Yes,
            timeout_seconds: 60,
        }));
    }

    pub fn apply(
        &self,
        watch: &mut dyn Watch,
        prove: &mut dyn FnMut(&Applied) -> Proof,
    ) -> Result<Outcome, TransactionError> {
        let mut group = Group::new(&self.state(), self.root(), vec!["fix".into(), "test".into()]);
        self.apply_in(&mut group, watch, prove)
    }

    pub fn apply_in(
        &self,
        group: &mut Group,
        watch: &mut dyn Watch,
        prove: &mut dyn FnMut(&Applied) -> Proof,
    ) -> Result<Outcome, TransactionError> {
        let order = Order {
            recipe: "test-1",
            slug: "test",
            case: "only",
            title: &Title { en: "a test".into(), zh: "测试".into() },
            digest: "0",
            changes: &self.changes,
            roots: &AllowedRoots::new([self.root()]),
            overlay: &EnvOverlay::default(),
        };
        group.apply(&order, watch, prove)
    }

    pub fn picture(&self) -> Picture {
        picture(&self.base.path().join("project"))
    }
}

/// A command as an installer: it writes into scripts and lists, replaces, removes, adds, and touches one name of two.
pub fn installed() -> Project {
    let mut project = Project::new();
    put(project.path("build/easy-install.pth"), "./a\n", 0o640);
    put(project.path("build/notes.json"), "[1]", 0o644);
    put(project.path("build/kept.txt"), "two names\n", 0o644);
    fs::hard_link(project.path("build/kept.txt"), project.path("build/also-kept.txt")).unwrap();
    put(project.path("build/gone.cfg"), "goes\n", 0o600);
    put(project.path("build/x.egg-info/PKG-INFO"), "Name: x\n", 0o644);
    for folder in ["build/x.egg-info", "build"] {
        age(&project.path(folder));
    }
    let script = "echo ./b >> build/easy-install.pth; echo more >> build/bin/tool; chmod 600 build/notes.json;
        cp setup.py build/new; mv build/new build/kept.txt; rm build/gone.cfg; mkdir build/gone.cfg;
        echo y > build/gone.cfg/y; echo Version: 2 >> build/x.egg-info/PKG-INFO; rm -r build/CMakeFiles";
    project.run(&["/bin/sh", "-c", script], &["build"]);
    project
}

/// Takes the check sums out of the files of a group, so that they can be told what the test needs: as format 1 was.
pub fn as_of_old(folder: &Path) {
    for name in ["group.jsonl", "1.jsonl"] {
        let text = fs::read_to_string(folder.join(name)).unwrap();
        let lines = text.lines().map(|line| format!("{}\n", line.split('\t').next().unwrap()));
        let old: String = lines.filter(|line| !line.contains("\"sealed\"")).collect();
        fs::write(folder.join(name), old.replacen("\"format\":2", "\"format\":1", 1)).unwrap();
    }
}

/// All that a tree is: kinds, modes, bytes, times of files and of the folders of `build`, names of one file.
pub type Picture = BTreeMap<PathBuf, String>;

pub fn picture(top: &Path) -> Picture {
    let mut all = Picture::new();
    let mut names: BTreeMap<u64, Vec<PathBuf>> = BTreeMap::new();
    let mut folders = vec![top.to_owned()];
    while let Some(folder) = folders.pop() {
        for entry in fs::read_dir(&folder).unwrap() {
            let path = entry.unwrap().path();
            let meta = fs::symlink_metadata(&path).unwrap();
            let below = path.strip_prefix(top).unwrap().to_owned();
            let time = format!("{}.{}", meta.mtime(), meta.mtime_nsec());
            let mode = meta.mode();
            let text = if meta.is_dir() {
                folders.push(path.clone());
                let time = if below.starts_with("build") { time.as_str() } else { "" };
                format!("folder {mode:o} {time}")
            } else if meta.is_symlink() {
                format!("link {:?} {time}", fs::read_link(&path).unwrap())
            } else {
                names.entry(meta.ino()).or_default().push(below.clone());
                format!("file {mode:o} {time} {:?}", String::from_utf8_lossy(&fs::read(&path).unwrap()))
            };
            all.insert(below, text);
        }
    }
    for mut same in names.into_values().filter(|same| same.len() > 1) {
        same.sort();
        let text = format!(" = {same:?}");
        for name in same {
            all.get_mut(&name).unwrap().push_str(&text);
        }
    }
    all
}

/// As a picture, without the times of files: those of a repaired file differ from run to run.
pub fn timeless(picture: &Picture) -> Picture {
    let strip = |text: &String| {
        let mut words: Vec<&str> = text.splitn(4, ' ').collect();
        if words.len() > 2 {
            words[2] = "";
        }
        words.join(" ")
    };
    picture.iter().map(|(path, text)| (path.clone(), strip(text))).collect()
}

/// As a timeless picture, without what is kept in `.fix`: its names hold the group's.
pub fn without_kept(picture: &Picture) -> Picture {
    let is_kept = |path: &Path| path.iter().any(|name| name == ".fix");
    timeless(picture)
        .into_iter()
        .filter(|(path, _)| !is_kept(path))
        .map(|(path, text)| (path, text.split(" = [").next().unwrap().to_owned()))
        .collect()
}
