//! Stale and mismatched LLVM packages, with the real CMake: seen to fail, repaired, taken back, and seen to fail again.

mod support;

use std::fs;
use std::path::Path;

use support::llvm_mini::{Installs, MISSING};
use support::story::{Story, assert_same, cached, contents};
use support::{Sandbox, tools};

/// A sandbox with CMake 3.31 and Ninja.
fn sandbox() -> Sandbox {
    let mut sandbox = Sandbox::new();
    sandbox.prepend_path(tools::python_tools());
    sandbox
}

/// Configures against the old LLVM without LLD: that passes, and what it found stays in the cache.
fn configure_old(sandbox: &Sandbox, installs: &Installs, more: &[&str]) {
    let library = installs.library("llvm-old");
    let mut args = vec!["-G", "Ninja", "-B", "build", &library];
    args.extend(more);
    sandbox.run("cmake", args).expect(0);
}

/// The command that asks for LLD as well, of the new LLVM.
fn configure_new(installs: &Installs, tree: &[&str]) -> Vec<String> {
    let mut command = vec!["cmake".to_owned()];
    command.extend(tree.iter().map(|word| (*word).to_owned()));
    command.extend([installs.library("llvm-new"), "-DAPP_BACKENDS=amd".to_owned()]);
    command
}

fn built_with(tree: &Path) -> String {
    fs::read_to_string(tree.join("app.txt")).unwrap_or_default()
}

#[test]
fn a_stale_llvm_dir_goes_with_its_tree_and_settings_are_carried_over() {
    let sandbox = sandbox();
    let installs = Installs::two_commits(&sandbox);
    configure_old(&sandbox, &installs, &["-DCMAKE_BUILD_TYPE=Debug", "-DMY_OPT=7", "-DMY_LIST:STRING=a;b c"]);
    let build = sandbox.project().join("build");
    let story = Story::new(&sandbox, configure_new(&installs, &["-B", "build"]), MISSING);
    story.is_repaired("tda-1.9", &[], |done| {
        assert!(done.stderr.contains("MY_OPT"), "{}", done.stderr);
        assert_eq!(cached(&build, "LLVM_DIR"), Some(installs.package("llvm-new", "llvm")));
        assert!(built_with(&build).contains("llvm-new"));
        assert_eq!(cached(&build, "CMAKE_BUILD_TYPE").as_deref(), Some("Debug"));
        assert_eq!(cached(&build, "MY_OPT").as_deref(), Some("7"));
        assert_eq!(cached(&build, "MY_LIST").as_deref(), Some("a;b c"));
        assert_eq!(cached(&build, "CMAKE_GENERATOR").as_deref(), Some("Ninja"));
    });
    assert_eq!(cached(&build, "LLVM_DIR"), Some(installs.package("llvm-old", "llvm")));
}

#[test]
fn a_preset_tells_which_tree_of_two_is_meant() {
    let sandbox = sandbox();
    let installs = Installs::two_commits(&sandbox);
    sandbox.write(
        "CMakePresets.json",
        r#"{"version": 3, "configurePresets": [
            {"name": "base", "hidden": true, "generator": "Ninja", "binaryDir": "${sourceDir}/out/${presetName}"},
            {"name": "dev", "inherits": "base"}, {"name": "other", "inherits": "base"}]}"#,
    );
    let (old, new) = (installs.library("llvm-old"), installs.library("llvm-new"));
    for preset in ["dev", "other"] {
        sandbox.run("cmake", ["--preset", preset, &old, "-DMY_OPT=7"]).expect(0);
    }
    let other = contents(&sandbox.project().join("out/other"));
    let command = ["cmake", "--preset", "dev", &new, "-DAPP_BACKENDS=amd"].map(str::to_owned).to_vec();
    Story::new(&sandbox, command, MISSING).is_repaired("tda-1.9", &[], |_| {
        let tree = sandbox.project().join("out/dev");
        assert!(built_with(&tree).contains("llvm-new"));
        assert_eq!(cached(&tree, "MY_OPT").as_deref(), Some("7"));
    });
    assert_same(&other, &contents(&sandbox.project().join("out/other")));
}

#[test]
fn a_stale_mlir_dir_tells_where_llvm_dir_was_rewritten() {
    let sandbox = sandbox();
    let installs = Installs::with_app(&sandbox);
    installs.add("llvm-old", "19.1.7", "OFF");
    installs.add("llvm-new", "22.1.8", "ON");
    configure_old(&sandbox, &installs, &[&format!("-DMLIR_DIR={}", installs.package("llvm-old", "mlir"))]);
    let build = sandbox.project().join("build");
    let story = Story::new(&sandbox, configure_new(&installs, &["-B", "build"]), MISSING);
    // MLIR_DIR was typed: it is never dropped unasked.
    story.is_repaired_by_name("tda-1.9", &["--yes=confirm"], |_| {
        assert_ne!(cached(&build, "MLIR_DIR"), Some(installs.package("llvm-old", "mlir")));
        assert!(built_with(&build).contains("llvm-new"));
    });
    assert_eq!(cached(&build, "MLIR_DIR"), Some(installs.package("llvm-old", "mlir")));
}

#[test]
fn the_narrow_way_only_takes_entries_out() {
    let sandbox = sandbox();
    let installs = Installs::two_commits(&sandbox);
    configure_old(&sandbox, &installs, &["-DMY_OPT=7"]);
    let build = sandbox.project().join("build");
    let kept = sandbox.write("build/kept.o", "compiled");
    let story = Story::new(&sandbox, configure_new(&installs, &["-B", "build"]), MISSING);
    story.fails();
    let before = fs::read(build.join("CMakeCache.txt")).unwrap();
    story.fix_command(&["run", "--yes", "--set", "clean=narrow"]).expect(0).says("tda-1.9");
    assert_eq!(fs::read(&kept).unwrap(), b"compiled");
    assert_eq!(cached(&build, "MY_OPT").as_deref(), Some("7"));
    assert_eq!(cached(&build, "LLVM_DIR"), Some(installs.package("llvm-new", "llvm")));
    // What the re-run made beside the cache is the build's; only the cache was edited, and only it comes back.
    story.fix(&["rollback"]).expect(0);
    assert_eq!(fs::read(build.join("CMakeCache.txt")).unwrap(), before);
    assert_eq!(fs::read(&kept).unwrap(), b"compiled");
    story.fails();
}

#[test]
fn a_mismatched_pair_is_told_and_left_alone() {
    let sandbox = sandbox();
    let installs = Installs::with_app(&sandbox);
    installs.mix("llvm-new");
    let story = Story::new(&sandbox, configure_new(&installs, &["-G", "Ninja", "-B", "build"]), MISSING);
    let done = story.is_left_alone(&[]);
    assert!(done.stderr.contains("tda-1.9"), "{}", done.stderr);
    done.says_in_any_layout("were not built together");
    story.is_left_alone_by_name("tda-1.9");
}

#[test]
fn a_package_of_others_gets_advice_only() {
    let sandbox = sandbox();
    sandbox.write(
        "CMakeLists.txt",
        "cmake_minimum_required(VERSION 3.20)\nproject(app LANGUAGES NONE)\nfind_package(Demo REQUIRED CONFIG)\n",
    );
    // As CMake's own install(EXPORT) ends: targets of another package must have been loaded before.
    let config = sandbox.root().join("demo/lib/cmake/Demo/DemoConfig.cmake");
    fs::create_dir_all(config.parent().unwrap()).unwrap();
    fs::write(&config, DEMO_CONFIG).unwrap();
    let prefix = format!("-DCMAKE_PREFIX_PATH={}", sandbox.root().join("demo").display());
    let message = "The following imported targets are referenced, but are missing: Other::core";
    let story = Story::new(&sandbox, ["cmake", "-G", "Ninja", "-B", "build", &prefix], message);
    let done = story.is_left_alone(&[]);
    assert!(
        done.stderr.contains("cmake-imported-targets-missing") && !done.stderr.contains("tda-1.9"),
        "{}",
        done.all()
    );
    done.says_in_any_layout("nothing that was loaded before defines");
}

const DEMO_CONFIG: &str = r#"
set(_missing "")
foreach(_target "Other::core")
  if(NOT TARGET "${_target}")
    set(_missing "${_missing} ${_target}")
  endif()
endforeach()
if(NOT _missing STREQUAL "")
  set(${CMAKE_FIND_PACKAGE_NAME}_FOUND FALSE)
  set(${CMAKE_FIND_PACKAGE_NAME}_NOT_FOUND_MESSAGE
    "The following imported targets are referenced, but are missing:${_missing}")
  return()
endif()
"#;

#[test]
fn a_variable_that_shadows_llvm_is_taken_from_the_run() {
    let mut sandbox = sandbox();
    let installs = Installs::two_commits(&sandbox);
    sandbox.set("LLVM_DIR", installs.package("llvm-old", "llvm"));
    let build = sandbox.project().join("build");
    let story = Story::new(&sandbox, configure_new(&installs, &["-G", "Ninja", "-B", "build"]), MISSING);
    story.is_repaired("tda-1.9", &[], |done| {
        assert!(done.stderr.contains("unset LLVM_DIR"), "{}", done.stderr);
        assert_eq!(cached(&build, "LLVM_DIR"), Some(installs.package("llvm-new", "llvm")));
        // The variable still stands in the user's shell: there the next build of an empty tree fails again.
    });
}

#[test]
fn a_prefix_path_that_shadows_llvm_stays_and_is_overridden() {
    let mut sandbox = sandbox();
    let installs = Installs::two_commits(&sandbox);
    sandbox.set("CMAKE_PREFIX_PATH", installs.path("llvm-old"));
    let build = sandbox.project().join("build");
    let story = Story::new(&sandbox, configure_new(&installs, &["-G", "Ninja", "-B", "build"]), MISSING);
    story.is_repaired("tda-1.9", &[], |done| {
        assert!(done.stderr.contains("export LLVM_DIR="), "{}", done.stderr);
        assert_eq!(cached(&build, "LLVM_DIR"), Some(installs.package("llvm-new", "llvm")));
    });
}

#[test]
fn a_variable_that_leads_to_the_right_llvm_is_left_alone() {
    let mut sandbox = sandbox();
    let installs = Installs::with_app(&sandbox);
    installs.mix("llvm-new");
    sandbox.set("LLVM_DIR", installs.package("llvm-new", "llvm"));
    let story = Story::new(&sandbox, configure_new(&installs, &["-G", "Ninja", "-B", "build"]), MISSING);
    story.is_left_alone(&[]).says_in_any_layout("were not built together");
}

#[test]
fn a_build_from_inside_its_tree_is_repaired() {
    let sandbox = sandbox();
    let installs = Installs::two_commits(&sandbox);
    configure_old(&sandbox, &installs, &[]);
    let build = sandbox.project().join("build");
    let story = Story::new(&sandbox, configure_new(&installs, &[".."]), MISSING).inside("build");
    story.is_repaired("tda-1.9", &[], |_| assert!(built_with(&build).contains("llvm-new")));
}

#[test]
fn a_tree_of_any_name_is_found_from_the_command() {
    let sandbox = sandbox();
    let installs = Installs::two_commits(&sandbox);
    let library = installs.library("llvm-old");
    sandbox.run("cmake", ["-G", "Ninja", "-B", "out/x y", &library]).expect(0);
    // Another tree of the project, which has nothing to do with it.
    configure_old(&sandbox, &installs, &[]);
    let other = cached(&sandbox.project().join("build"), "LLVM_DIR");
    let tree = sandbox.project().join("out/x y");
    let story = Story::new(&sandbox, configure_new(&installs, &["-B", "out/x y"]), MISSING);
    story.is_repaired("tda-1.9", &[], |_| {
        assert!(built_with(&tree).contains("llvm-new"));
        assert_eq!(cached(&sandbox.project().join("build"), "LLVM_DIR"), other);
    });
}

#[test]
fn a_linked_tree_is_emptied_where_it_lies_and_the_link_stays() {
    let sandbox = sandbox();
    let installs = Installs::two_commits(&sandbox);
    let scratch = sandbox.root().join("scratch");
    fs::create_dir(&scratch).unwrap();
    let build = sandbox.project().join("build");
    std::os::unix::fs::symlink(&scratch, &build).unwrap();
    configure_old(&sandbox, &installs, &[]);
    let before = fs::read(scratch.join("CMakeCache.txt")).unwrap();
    let story = Story::new(&sandbox, configure_new(&installs, &["-B", "build"]), MISSING);
    story.is_repaired("tda-1.9", &[], |_| {
        assert_eq!(fs::read_link(&build).unwrap(), scratch);
        assert!(built_with(&scratch).contains("llvm-new"));
    });
    assert_eq!(fs::read_link(&build).unwrap(), scratch);
    let stale = |bytes: &[u8]| String::from_utf8_lossy(bytes).contains("llvm-old/lib/cmake/llvm");
    assert!(stale(&before) && stale(&fs::read(scratch.join("CMakeCache.txt")).unwrap()));
}

#[test]
fn a_linked_tree_is_emptied_into_itself_where_the_state_lies_on_another_disk() {
    let sandbox = sandbox();
    let installs = Installs::two_commits(&sandbox);
    let shared_memory = Path::new("/dev/shm");
    let elsewhere = if shared_memory.is_dir() { shared_memory.to_owned() } else { std::env::temp_dir() };
    let state = tempfile::Builder::new().prefix("fix-state-").tempdir_in(elsewhere).unwrap();
    let scratch = sandbox.root().join("disk/scratch");
    fs::create_dir_all(&scratch).unwrap();
    std::os::unix::fs::symlink(&scratch, sandbox.project().join("build")).unwrap();
    configure_old(&sandbox, &installs, &[]);
    let story = Story::new(&sandbox, configure_new(&installs, &["-B", "build"]), MISSING);
    story.fails();
    story.fails();
    let before = contents(&sandbox.root().join("disk"));
    let state = state.path().to_str().unwrap();
    story.fix_command(&["run", "--yes", "--state-dir", state]).expect(0);
    assert!(built_with(&scratch).contains("llvm-new"));
    // What stands beside the linked folder is not ours.
    let beside: Vec<_> = fs::read_dir(scratch.parent().unwrap()).unwrap().collect();
    assert_eq!(beside.len(), 1, "{beside:?}");
    story.fix(&["rollback", "--state-dir", state]).expect(0);
    let mut after = contents(&sandbox.root().join("disk"));
    // The newcomer is kept.
    after.retain(|path, _| !path.starts_with("scratch/.fix"));
    assert_same(&before, &after);
    story.fails();
}

#[test]
fn a_project_behind_a_link_is_repaired_from_elsewhere() {
    let sandbox = sandbox();
    let installs = Installs::two_commits(&sandbox);
    configure_old(&sandbox, &installs, &[]);
    let link = sandbox.root().join("link");
    std::os::unix::fs::symlink(sandbox.project(), &link).unwrap();
    let build = sandbox.project().join("build");
    let story = Story::new(&sandbox, configure_new(&installs, &["-B", "build"]), MISSING);
    story.fails();
    story.fails();
    let before = contents(&sandbox.project());
    let mut command = sandbox.fix_command();
    command.current_dir("/").arg("-C").arg(&link).args(["run", "--yes", "--"]).args(&story.command);
    support::done(command.output().unwrap()).expect(0).says("tda-1.9");
    assert!(built_with(&build).contains("llvm-new"));
    sandbox.fix(["-C", link.to_str().unwrap(), "rollback"]).expect(0);
    assert_same(&before, &contents(&sandbox.project()));
    story.fails();
}

/// Makes a project with a setting that only its CMakeLists.txt declares, configures it, and moves it.
fn moved_project() -> (Sandbox, std::path::PathBuf) {
    let sandbox = sandbox();
    let text = "cmake_minimum_required(VERSION 3.20)\nproject(small NONE)\noption(FOO \"a choice\" OFF)\n";
    let first = sandbox.root().join("first");
    fs::create_dir(&first).unwrap();
    fs::write(first.join("CMakeLists.txt"), text).unwrap();
    let (source, tree) = (first.display().to_string(), first.join("build").display().to_string());
    sandbox.run("cmake", ["-S", &source, "-B", &tree, "-DFOO=ON", "-DBAR=7"]).expect(0);
    fs::remove_dir(sandbox.project()).unwrap();
    fs::rename(&first, sandbox.project()).unwrap();
    (sandbox, first)
}

#[test]
fn a_moved_project_keeps_the_settings_that_its_lists_declare() {
    let (sandbox, _) = moved_project();
    let build = sandbox.project().join("build");
    sandbox.fix(["run", "--yes", "--", "cmake", "-B", "build"]).expect(0).says("cmake-source-moved");
    assert_eq!(cached(&build, "FOO").as_deref(), Some("ON"));
    assert_eq!(cached(&build, "BAR").as_deref(), Some("7"));
    assert_eq!(cached(&build, "CMAKE_HOME_DIRECTORY"), Some(sandbox.project().display().to_string()));
}

#[test]
fn a_moved_project_is_configured_from_where_it_is() {
    let (sandbox, first) = moved_project();
    let done = sandbox.fix(["run", "--yes", "--", "cmake", "--build", "build"]);
    assert_ne!(done.code, 0);
    let project = sandbox.project();
    let hint = format!("`cmake -S {0} -B {0}/build`", project.display());
    assert!(!done.stderr.contains(&format!("cmake -S {}", first.display())), "{}", done.stderr);
    done.says(&hint);
}
