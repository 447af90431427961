//! Linker flags in a real build: CMake, Ninja, clang and lld, driven by a setup.py in triton's shape.

use std::collections::BTreeMap;
use std::ffi::{OsStr, OsString};
use std::path::{Path, PathBuf};
use std::process::{Command, Output};

use build_fix::change::{AbsPath, Change, EnvOverlay, FileState};
use build_fix::evidence::questions::{self, Answer, Inquiry};
use build_fix::evidence::{GitState, LocalHost};
use build_fix::recipe::Value;
use build_fix::steps::{self, Lowered, Order};

struct NoGit;

impl GitState for NoGit {
    fn top_level(&self) -> Option<&AbsPath> {
        None
    }

    fn tracks(&self, _: &AbsPath) -> bool {
        false
    }
}

/// The project in a temporary place, a library that no linker finds by itself, and an environment.
struct Project {
    root: tempfile::TempDir,
    env: BTreeMap<OsString, OsString>,
}

impl Project {
    fn new() -> Self {
        let root = tempfile::tempdir().unwrap();
        let source = Path::new(env!("CARGO_MANIFEST_DIR")).join("fixtures/projects/mini-triton");
        for name in ["CMakeLists.txt", "check.c", "core.c", "extension.c", "opt.cpp", "setup.py"] {
            std::fs::copy(source.join(name), root.path().join(name)).unwrap();
        }
        let odd = root.path().join("odd");
        std::fs::create_dir(&odd).unwrap();
        let library = Command::new("cc")
            .args(["-shared", "-fPIC", "-o"])
            .arg(odd.join("liboddlib.so"))
            .arg(source.join("oddlib/odd.c"))
            .status();
        assert!(library.unwrap().success());
        let prefix = llvm_bin();
        let env = BTreeMap::from([
            ("PATH".into(), format!("{}:/usr/bin:/bin", prefix.display()).into()),
            ("HOME".into(), root.path().into()),
            ("LD_LIBRARY_PATH".into(), odd.into()),
            ("TRITON_BUILD_WITH_CLANG_LLD".into(), "1".into()),
        ]);
        Self { root, env }
    }

    fn host(&self) -> LocalHost {
        LocalHost::new(AbsPath::new(self.root.path()).unwrap(), self.env.clone(), Box::new(NoGit))
    }

    fn build(&self, overlay: &EnvOverlay) -> Output {
        let mut command = Command::new("python3");
        command.args(["setup.py", "build"]).current_dir(self.root.path()).env_clear().envs(&self.env);
        for (name, _) in overlay.iter() {
            let now = self.env.get(OsStr::new(name)).map(OsString::as_os_str);
            if let Some(value) = overlay.value(name, now) {
                command.env(name, value);
            }
        }
        command.output().unwrap()
    }

    fn ask(&self, question: &str, args: &[(&str, Value)]) -> Answer {
        let args = args.iter().map(|(name, value)| ((*name).to_owned(), value.clone())).collect();
        let host = self.host();
        (questions::find(question).unwrap().ask)(&Inquiry { args: &args, host: &host, command: None })
    }

    fn lower(&self, verb: &str, args: &[(&str, Value)]) -> Lowered {
        let args = args.iter().map(|(name, value)| ((*name).to_owned(), value.clone())).collect();
        let host = self.host();
        let so_far = Lowered::default();
        let order = Order { args: &args, host: &host, command: None, so_far: &so_far, evaluate: None };
        (steps::find(verb).unwrap().lower)(&order).unwrap()
    }

    fn tree(&self) -> PathBuf {
        let mut trees = std::fs::read_dir(self.root.path().join("build")).unwrap();
        trees.next().unwrap().unwrap().path()
    }

    fn assert_all_linked_by_lld(&self) {
        for name in ["mini-opt", "libmini_core.so", "mini_ext.so"] {
            let bytes = std::fs::read(self.tree().join(name)).unwrap();
            // lld signs its output; GNU ld leaves nothing.
            let signed = bytes.windows(8).any(|window| window == b"Linker: ");
            assert!(signed, "{name} was not linked by lld");
        }
    }

    fn library(&self) -> Answer {
        self.ask("library_folder", &[("library", "oddlib".into())])
    }
}

/// The folder with clang, clang++ and ld.lld under their bare names.
fn llvm_bin() -> PathBuf {
    let mut found: Vec<PathBuf> = std::fs::read_dir("/usr/lib")
        .unwrap()
        .map(|entry| entry.unwrap().path().join("bin"))
        .filter(|bin| ["clang", "clang++", "ld.lld"].iter().all(|name| bin.join(name).exists()))
        .collect();
    found.sort();
    found.pop().expect("these tests need clang and lld, as in Debian's packages `clang-14 lld-14`")
}

fn text(output: &Output) -> String {
    String::from_utf8_lossy(&output.stdout).into_owned() + &String::from_utf8_lossy(&output.stderr)
}

#[test]
fn the_appended_variable_links_everything_with_lld() {
    let project = Project::new();
    let failed = project.build(&EnvOverlay::default());
    assert!(!failed.status.success() && text(&failed).contains("unable to find library -loddlib"), "{}", text(&failed));

    let library = project.library();
    assert_eq!(library.word, "found", "{library:?}");
    let folders = library.values["folders"].clone();
    let setup = project.ask("setup_cmake_args", &[("folders", folders.clone())]);
    assert_eq!((setup.word, setup.values["env_name"].to_text()), ("append_env", "TRITON_APPEND_CMAKE_ARGS".to_owned()));
    let tree = ("tree", Value::from(project.tree().display().to_string()));
    // `-DCMAKE_LINKER=lld` leaves a path in the cache where nothing is: that is no lost tool.
    assert_eq!(project.ask("cached_tools", std::slice::from_ref(&tree)).word, "present");
    assert_eq!(project.ask("cached_linker_flags", &[tree.clone(), ("folders", folders.clone())]).word, "none");

    let lowered = project
        .lower("append_linker_flags_env", &[("folder", folders.clone()), ("path", setup.values["path"].clone())]);
    assert_eq!(lowered.changes, []);
    let passed = project.build(&lowered.overlay);
    assert!(passed.status.success(), "{}", text(&passed));
    project.assert_all_linked_by_lld();
    assert_eq!(project.ask("cached_linker_flags", &[tree, ("folders", folders)]).word, "all");
}

#[test]
fn a_pasted_duplicate_is_healed_in_setup_py() {
    let project = Project::new();
    let setup = project.root.path().join("setup.py");
    let script = std::fs::read_to_string(&setup).unwrap();
    let module = "            \"-DCMAKE_SHARED_LINKER_FLAGS=-fuse-ld=lld\",\n";
    let pasted = "            \"-DCMAKE_EXE_LINKER_FLAGS=-L/usr/lib/odd\",\n            \"-DCMAKE_SHARED_LINKER_FLAGS=-L/usr/lib/odd\"\n";
    assert!(script.contains(module));
    let start = script.find("    cmake_args_append").unwrap();
    let end = script.find("    folder = cmake_dir()").unwrap();
    let script = format!("{}{}", &script[..start], &script[end..]).replace(module, pasted);
    std::fs::write(&setup, &script).unwrap();

    let folders = project.library().values["folders"].clone();
    let asked = project.ask("setup_cmake_args", &[("folders", folders.clone())]);
    assert_eq!(asked.word, "list", "{asked:?}");
    assert!(asked.values.contains_key("duplicate"));
    assert!(!project.build(&EnvOverlay::default()).status.success());

    let lowered =
        project.lower("merge_linker_flags", &[("folder", folders.clone()), ("path", asked.values["path"].clone())]);
    let [Change::WriteFile(write)] = lowered.changes.as_slice() else { panic!("{lowered:?}") };
    let FileState::Present(after) = &write.after else { panic!("setup.py is not deleted") };
    std::fs::write(&setup, &after.bytes).unwrap();
    assert_eq!(project.ask("setup_cmake_args", &[("folders", folders.clone())]).word, "merged");
    // Applying twice changes nothing.
    let again = project.lower("merge_linker_flags", &[("folder", folders), ("path", asked.values["path"].clone())]);
    assert_eq!(again.changes, []);

    let passed = project.build(&EnvOverlay::default());
    assert!(passed.status.success(), "{}", text(&passed));
    project.assert_all_linked_by_lld();
}

#[test]
fn a_compiler_off_path_is_found_and_builds() {
    let mut project = Project::new();
    project.env.insert("PATH".into(), "/usr/bin:/bin".into());
    let compiler =
        project.ask("compiler_on_machine", &[("tools", vec!["clang".to_owned(), "clang++".to_owned()].into())]);
    if compiler.word == "on_path" {
        // The distribution's plain `clang` package is here: there is nothing to find.
        return;
    }
    let failed = project.build(&EnvOverlay::default());
    assert!(text(&failed).contains("is not a full path and was not found in the PATH"), "{}", text(&failed));
    assert_eq!(compiler.word, "prefix", "{compiler:?}");
    let bin = compiler.values["bin"].to_text();
    project.env.insert("PATH".into(), format!("{bin}:/usr/bin:/bin").into());
    project.env.insert("LIBRARY_PATH".into(), project.root.path().join("odd").into());
    std::fs::remove_dir_all(project.root.path().join("build")).unwrap();
    let passed = project.build(&EnvOverlay::default());
    assert!(passed.status.success(), "{}", text(&passed));
    project.assert_all_linked_by_lld();
}
