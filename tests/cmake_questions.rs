//! Questions and verbs about CMake builds, on trees that the real cmake made and failed on.

mod cmake_lab;

use build_fix::change::{Change, EnvEdit, FileState};
use cmake_lab::Lab;

const MISSING: &str = "The following imported targets are referenced, but are missing: LLVMCGData";

/// Configures `app/build` against one LLVM, then against another with the part that needs LLD.
fn stale_tree(lab: &Lab, old: &str, new: &str, first: &[&str]) -> String {
    let library = |name: &str| format!("-DLLVM_LIBRARY_DIR={}/lib", lab.path(name));
    let first_library = library(old);
    lab.passes(&[&["cmake", "-B", "build", &first_library], first].concat());
    lab.fails(&["cmake", "-B", "build", &library(new), "-DAPP_BACKENDS=amd"], MISSING)
}

#[test]
fn a_cached_llvm_of_the_same_version_is_stale() {
    let mut lab = Lab::with_app();
    lab.install("old", "20.0.0", "OFF");
    lab.install("new", "20.0.0", "ON");
    let log = stale_tree(&lab, "old", "new", &[]);
    let config = lab.path("new/lib/cmake/lld/LLDConfig.cmake");
    assert!(log.contains(&config), "{log}");
    lab.command(&[
        "cmake",
        "-B",
        "build",
        "-DAPP_BACKENDS=amd",
        &format!("-DLLVM_LIBRARY_DIR={}", lab.path("new/lib")),
    ]);

    let tree = lab.ask("cmake_tree", &[]);
    assert_eq!((tree.word, lab.value(&tree, "path")), ("found", lab.path("app/build")));
    assert_eq!(lab.value(&tree, "generator"), "Unix Makefiles");
    let origin = |lab: &Lab| lab.ask("cmake_llvm_origin", &[("tree", &lab.path("app/build")), ("config", &config)]);
    let answer = origin(&lab);
    assert_eq!(answer.word, "stale", "{answer:?}");
    assert_eq!(lab.value(&answer, "entries"), "LLVM_DIR");
    assert_eq!(lab.value(&answer, "missing"), "LLVMCGData");
    assert_eq!(lab.value(&answer, "cached"), lab.path("old/lib/cmake/llvm"));
    assert_eq!(lab.value(&answer, "fresh"), lab.path("new/lib/cmake/llvm"));
    // Without the message the cache's LLVM_LIBRARY_DIR leads to the same package.
    assert_eq!(lab.ask("cmake_llvm_origin", &[("tree", &lab.path("app/build"))]).word, "stale");

    // A second run alone does not help.
    let again = lab.command.clone();
    lab.fails(&again.iter().map(String::as_str).collect::<Vec<_>>(), MISSING);

    let narrow =
        lab.lower("unset_cache_entries", &[("path", &lab.path("app/build")), ("entries", "LLVM_DIR")]).unwrap();
    let [Change::WriteFile(write)] = narrow.changes.as_slice() else { panic!("{narrow:?}") };
    let (FileState::Present(before), FileState::Present(after)) = (&write.before, &write.after) else { panic!() };
    assert_eq!(
        String::from_utf8_lossy(&before.bytes).replace(
            &format!(
                "//The directory containing a CMake configuration file for LLVM.\nLLVM_DIR:PATH={}\n\n",
                lab.path("old/lib/cmake/llvm")
            ),
            ""
        ),
        String::from_utf8_lossy(&after.bytes)
    );
    lab.keep_copy("app/build", "saved");
    lab.apply(&narrow);
    assert_eq!(origin(&lab).word, "consistent");
    assert!(
        lab.lower("unset_cache_entries", &[("path", &lab.path("app/build")), ("entries", "LLVM_DIR")])
            .unwrap()
            .changes
            .is_empty()
    );
    lab.rerun(&narrow);
    assert_eq!(origin(&lab).word, "consistent");

    lab.restore_copy("saved", "app/build");
    assert_eq!(origin(&lab).word, "stale");
    let whole = lab.lower("set_aside_tree", &[("path", &lab.path("app/build"))]).unwrap();
    let [Change::RemoveTree(removed)] = whole.changes.as_slice() else { panic!("{whole:?}") };
    assert_eq!(removed.before.files, lab.count_files("app/build"));
    assert!(whole.rerun_args.is_empty(), "the command gives both values itself: {:?}", whole.rerun_args);
    lab.apply(&whole);
    assert_eq!(origin(&lab).word, "no_tree");
    lab.rerun(&whole);
    assert_eq!(origin(&lab).word, "consistent");
}

#[test]
fn a_given_mlir_tells_where_llvm_was_rewritten() {
    let mut lab = Lab::with_app();
    lab.install("old", "19.1.7", "OFF");
    lab.install("new", "22.1.8", "ON");
    let mlir = format!("-DMLIR_DIR={}", lab.path("old/lib/cmake/mlir"));
    stale_tree(&lab, "old", "new", &[&mlir, "-DCMAKE_BUILD_TYPE=Release", "-G", "Ninja"]);
    let tree = lab.path("app/build");
    let answer = lab.ask("cmake_llvm_origin", &[("tree", &tree), ("package", "LLD")]);
    assert_eq!((answer.word, lab.value(&answer, "entries")), ("stale", "MLIR_DIR".into()), "{answer:?}");
    assert_eq!(
        (lab.value(&answer, "cached_version"), lab.value(&answer, "fresh_version")),
        ("19.1.7".into(), "22.1.8".into())
    );

    let library = format!("-DLLVM_LIBRARY_DIR={}", lab.path("new/lib"));
    lab.command(&["cmake", "-B", "build", &library, "-DAPP_BACKENDS=amd"]);
    let whole = lab.lower("set_aside_tree", &[("path", &tree), ("drop", "MLIR_DIR")]).unwrap();
    assert_eq!(whole.rerun_args, ["-DCMAKE_BUILD_TYPE=Release", "-G", "Ninja"]);
    assert!(whole.notes[0].en.contains("MLIR_DIR"), "{:?}", whole.notes);
    lab.apply(&whole);
    lab.rerun(&whole);
    let answer = lab.ask("cmake_llvm_origin", &[("tree", &tree), ("package", "LLD")]);
    assert_eq!(answer.word, "consistent", "{answer:?}");
}

#[test]
fn what_the_command_itself_gives_is_no_residue() {
    let mut lab = Lab::with_app();
    lab.install("old", "20.0.0", "OFF");
    lab.install("new", "20.0.0", "ON");
    let library = format!("-DLLVM_LIBRARY_DIR={}", lab.path("new/lib"));
    let old = format!("-DLLVM_DIR={}", lab.path("old/lib/cmake/llvm"));
    let command = ["cmake", "-B", "build", &library, "-DAPP_BACKENDS=amd", &old];
    lab.fails(&command, MISSING);
    let ask = |lab: &Lab| lab.ask("cmake_llvm_origin", &[("tree", &lab.path("app/build"))]);
    lab.command(&command);
    let answer = ask(&lab);
    assert_eq!((answer.word, lab.value(&answer, "entries")), ("given", "LLVM_DIR".into()), "{answer:?}");
    lab.command(&["pip", "install", "."]);
    assert_eq!(ask(&lab).word, "stale");
    lab.set_env("TRITON_APPEND_CMAKE_ARGS", Some(&format!("-DX=1 '{old}'")));
    let answer = ask(&lab);
    assert_eq!((answer.word, lab.value(&answer, "giver")), ("given", "TRITON_APPEND_CMAKE_ARGS".into()));
    lab.command(&["cmake", "-B", "build", &library, "-DAPP_BACKENDS=amd"]);
    assert_eq!(ask(&lab).word, "stale");
}

#[test]
fn what_heals_by_itself_is_not_called_stale() {
    let lab = Lab::with_app();
    lab.install("old", "19.1.7", "OFF");
    lab.install("new", "22.1.8", "ON");
    lab.passes(&["cmake", "-B", "build", &format!("-DLLVM_LIBRARY_DIR={}", lab.path("old/lib"))]);
    lab.passes(&["cmake", "-B", "build", &format!("-DLLVM_LIBRARY_DIR={}", lab.path("new/lib")), "-DAPP_BACKENDS=amd"]);
    assert_eq!(lab.ask("cmake_llvm_origin", &[("tree", &lab.path("app/build"))]).word, "consistent");
}

#[test]
fn a_pair_that_never_fits_is_no_residue() {
    let lab = Lab::with_app();
    lab.install("old", "20.0.0", "OFF");
    lab.install("mixed", "20.0.0", "ON");
    // An LLVM of an older commit laid over an install whose LLD is newer.
    std::fs::remove_dir_all(lab.path("mixed/lib/cmake/llvm")).unwrap();
    lab.keep_copy("old/lib/cmake/llvm", "mixed/lib/cmake/llvm");
    let command = format!("-DLLVM_LIBRARY_DIR={}", lab.path("mixed/lib"));
    lab.fails(&["cmake", "-B", "build", &command, "-DAPP_BACKENDS=amd"], MISSING);
    let config = lab.path("mixed/lib/cmake/lld/LLDConfig.cmake");
    for tree in [lab.path("app/build"), lab.path("nowhere")] {
        let answer = lab.ask("cmake_llvm_origin", &[("tree", &tree), ("config", &config)]);
        assert_eq!((answer.word, lab.value(&answer, "missing")), ("mismatch", "LLVMCGData".into()));
    }
    // The log of another machine tells nothing here.
    let elsewhere = [("tree", lab.path("app/build")), ("config", "/nowhere/LLDConfig.cmake".to_owned())];
    let elsewhere = elsewhere.each_ref().map(|(name, value)| (*name, value.as_str()));
    assert_eq!(lab.ask("cmake_llvm_origin", &elsewhere).word, "unknown");
}

#[test]
fn variables_that_shadow_are_named() {
    let mut lab = Lab::with_app();
    lab.install("old", "20.0.0", "OFF");
    lab.install("new", "20.0.0", "ON");
    let library = format!("-DLLVM_LIBRARY_DIR={}", lab.path("new/lib"));
    let command = ["cmake", "-B", "build", &library, "-DAPP_BACKENDS=amd"];
    let tree = lab.path("app/build");
    let cases = [
        ("LLVM_DIR", "old/lib/cmake/llvm", "shadowed"),
        ("LLVM_ROOT", "old", "shadowed"),
        ("CMAKE_PREFIX_PATH", "old", "shadowed_prefix"),
    ];
    for (variable, value, word) in cases {
        lab.command(&command);
        lab.set_env(variable, Some(&lab.path(value)));
        lab.fails(&command, MISSING);
        let answer = lab.ask("cmake_llvm_origin", &[("tree", &tree)]);
        assert_eq!(answer.word, word, "{variable}: {answer:?}");
        assert_eq!(lab.value(&answer, "entries"), "LLVM_DIR");
        let whole = lab.lower("set_aside_tree", &[("path", &tree)]).unwrap();
        lab.apply(&whole);
        // The tree alone does not help.
        lab.fails(&command, MISSING);
        lab.apply(&lab.lower("set_aside_tree", &[("path", &tree)]).unwrap());
        if word == "shadowed" {
            assert_eq!(lab.value(&answer, "variables"), variable);
            let unset = lab.lower("unset_env", &[("names", variable)]).unwrap();
            assert_eq!(unset.overlay.iter().collect::<Vec<_>>(), [(variable, &EnvEdit::Unset)]);
            lab.set_env(variable, None);
        } else {
            let fresh = lab.value(&answer, "fresh");
            let set = lab.lower("set_env", &[("name", "LLVM_DIR"), ("value", &fresh)]).unwrap();
            assert_eq!(set.overlay.iter().collect::<Vec<_>>(), [("LLVM_DIR", &EnvEdit::Set(fresh.clone()))]);
            lab.set_env("LLVM_DIR", Some(&fresh));
        }
        assert_eq!(lab.ask("cmake_llvm_origin", &[("tree", &tree), ("package", "LLD")]).word, "no_tree");
        lab.rerun(&whole);
        assert_eq!(lab.ask("cmake_llvm_origin", &[("tree", &tree)]).word, "consistent", "{variable}");
        lab.set_env(variable, None);
        lab.set_env("LLVM_DIR", None);
        std::fs::remove_dir_all(&tree).unwrap();
    }
}

#[test]
fn an_lld_past_the_given_llvm_is_named() {
    let mut lab = Lab::with_app();
    lab.install("old", "20.0.0", "OFF");
    lab.install("new", "20.0.0", "ON");
    lab.write(
        "app/CMakeLists.txt",
        "cmake_minimum_required(VERSION 3.20)\nproject(app LANGUAGES NONE)\n\
        find_package(LLVM REQUIRED CONFIG PATHS ${LLVM_LIBRARY_DIR}/cmake/llvm NO_DEFAULT_PATH)\n\
        find_package(LLD REQUIRED CONFIG PATHS ${LLVM_LIBRARY_DIR}/cmake/lld)\n",
    );
    lab.set_env("LLD_DIR", Some(&lab.path("new/lib/cmake/lld")));
    let log = lab.fails(&["cmake", "-B", "build", &format!("-DLLVM_LIBRARY_DIR={}", lab.path("old/lib"))], MISSING);
    let config = lab.path("new/lib/cmake/lld/LLDConfig.cmake");
    assert!(log.contains(&config));
    let answer = lab.ask("cmake_llvm_origin", &[("tree", &lab.path("app/build")), ("config", &config)]);
    assert_eq!((answer.word, lab.value(&answer, "variables")), ("shadowed", "LLD_DIR".into()), "{answer:?}");
    assert_eq!(lab.value(&answer, "entries"), "LLD_DIR");
}

#[test]
fn the_tree_is_the_one_that_the_build_uses() {
    let mut lab = Lab::with_app();
    lab.write("app/CMakeLists.txt", "cmake_minimum_required(VERSION 3.20)\nproject(app LANGUAGES NONE)\n");
    let trees = [
        "app/build/cmake.linux-x86_64-cpython-3.11",
        "app/build/cmake.linux-x86_64-cpython-3.12",
        "app/_skbuild/linux-x86_64-3.9/cmake-build",
        "scratch/real",
    ];
    for tree in trees {
        lab.passes(&["cmake", "-B", &lab.path(tree)]);
    }
    std::os::unix::fs::symlink(lab.path("scratch/real"), lab.path("app/linked")).unwrap();
    lab.write("bin/python3.12", "");
    lab.write("bin/pip", &format!("#!{}\nimport pip\n", lab.path("bin/python")));
    std::os::unix::fs::symlink("python3.12", lab.path("bin/python")).unwrap();
    lab.set_env("PATH", Some(&format!("{}:/usr/bin:/bin", lab.path("bin"))));
    let (three_eleven, three_twelve) = (trees[0], trees[1]);
    let log_line = format!("-- Build files have been written to: {}", lab.path(three_twelve));
    let deep = format!("See also \"{}/CMakeFiles/CMakeOutput.log\".", lab.path(three_eleven));
    let outside = lab.path("scratch/real");
    // folder, command, hint, word, path
    let cases: &[(&str, &[&str], &str, &str, &str)] = &[
        ("app", &["cmake", "-B", "linked"], "", "found", "scratch/real"),
        ("app", &["cmake", "-B", "new"], "", "none", ""),
        ("app", &["cmake", "--build", "linked"], &log_line, "found", "scratch/real"),
        ("app", &["ninja", "-C", &outside], "", "found", "scratch/real"),
        ("app", &["bash", "-c", "cd linked && cmake .."], "", "found", "scratch/real"),
        ("app", &["uv", "pip", "install", "-e", "."], "", "several", ""),
        // The pip on PATH is a script of Python 3.12.
        ("app", &["pip", "install", "-e", "."], "", "found", three_twelve),
        ("app", &["pip3.11", "install", "-e", "."], "", "found", three_eleven),
        ("app", &["python3.12", "setup.py", "develop"], "", "found", three_twelve),
        ("app", &["pip", "install", "-e", "."], &deep, "found", three_eleven),
        ("app", &["uv", "pip", "install", "-e", "."], &log_line, "found", three_twelve),
        ("app", &["bash", "build.sh"], &deep, "found", three_eleven),
        ("app", &[], &deep, "found", three_eleven),
        ("app", &[], "", "several", ""),
        // A log may not lead out of the project.
        ("app", &[], &outside, "several", ""),
        ("app/build/cmake.linux-x86_64-cpython-3.11", &["cmake", "../.."], "", "found", three_eleven),
        ("app/build/cmake.linux-x86_64-cpython-3.11", &["make"], "", "found", three_eleven),
        ("app/build/cmake.linux-x86_64-cpython-3.11", &[], "", "found", three_eleven),
        ("scratch/real", &["make"], "", "found", "scratch/real"),
        ("scratch", &["cmake", "--build", "real"], "", "none", ""),
    ];
    for (folder, command, hint, word, path) in cases {
        lab.work_in(folder);
        lab.command(command);
        let answer = lab.ask("cmake_tree", &[("hint", hint)]);
        let want = if path.is_empty() { String::new() } else { lab.path(path) };
        assert_eq!(
            (answer.word, lab.value(&answer, "path")),
            (*word, want),
            "{folder} {command:?} {hint:?}: {answer:?}"
        );
    }
    lab.work_in("app");
    lab.command(&["pip", "install", "."]);
    lab.set_env("TRITON_BUILD_DIR", Some("linked"));
    let answer = lab.ask("cmake_tree", &[]);
    assert_eq!((answer.word, lab.value(&answer, "named")), ("found", lab.path("app/linked")));
    lab.command(&["cmake", "--build", "linked"]);
    assert_eq!(lab.value(&lab.ask("cmake_tree", &[]), "clean"), "narrow");
    let refused = lab.lower("set_aside_tree", &[("path", &lab.path("scratch/real"))]).unwrap_err();
    assert!(refused.0.en.contains("give the configure command"), "{refused}");
}

#[test]
fn what_is_not_only_a_build_tree_stays() {
    let mut lab = Lab::with_app();
    lab.write("app/CMakeLists.txt", "cmake_minimum_required(VERSION 3.20)\nproject(app LANGUAGES NONE)\n");
    lab.write("other/CMakeLists.txt", "cmake_minimum_required(VERSION 3.20)\nproject(other LANGUAGES NONE)\n");
    lab.passes(&["cmake", "-B", "tracked"]);
    lab.write("app/tracked/notes.txt", "mine\n");
    lab.run_in("app", &["git", "add", "-f", "tracked/notes.txt"]);
    lab.passes(&["cmake", "-S", &lab.path("other"), "-B", "foreign"]);
    lab.passes(&["cmake", "-B", "copied-from"]);
    lab.keep_copy("app/copied-from", "app/copied");
    lab.write("app/empty/CMakeCache.txt", "");
    lab.write("app/broken/CMakeCache.txt", "CMAKE_HOME_DIRECTORY:INTERNAL=\0\nCMAKE_CACHEFILE_DIR:INTERNAL=//\n");
    let cases =
        [("tracked", "tracked"), ("foreign", "none"), ("copied", "none"), ("empty", "none"), ("broken", "none")];
    for (tree, word) in cases {
        lab.command(&["cmake", "-B", tree]);
        let answer = lab.ask("cmake_tree", &[]);
        assert_eq!(answer.word, word, "{tree}: {answer:?}");
        lab.command(&[]);
        assert!(lab.lower("set_aside_tree", &[("path", &lab.path(&format!("app/{tree}")))]).is_err(), "{tree}");
    }
    lab.passes(&["cmake", "."]);
    for command in [&["cmake", "."][..], &["make"], &[]] {
        lab.command(command);
        let answer = lab.ask("cmake_tree", &[("hint", &lab.path("app"))]);
        // The trees beside it come into question as well where no command names one.
        assert!(matches!(answer.word, "in_source" | "several"), "{command:?} {answer:?}");
        assert_eq!(answer.word == "in_source", !command.is_empty(), "{command:?} {answer:?}");
        assert!(lab.lower("set_aside_tree", &[("path", &lab.path("app"))]).is_err());
    }
    for path in ["/", &lab.path(""), &lab.path("app/.git"), &lab.path("app/nowhere")] {
        assert!(lab.lower("set_aside_tree", &[("path", path)]).is_err(), "{path}");
    }
}

#[test]
fn another_generator_is_seen() {
    let mut lab = Lab::with_app();
    lab.write("app/CMakeLists.txt", "cmake_minimum_required(VERSION 3.20)\nproject(app LANGUAGES NONE)\n");
    let declared = "option(DECLARED \"one\" OFF)\nset(LEFT 5 CACHE STRING \"two\")\n";
    lab.write(
        "app/CMakeLists.txt",
        &format!("cmake_minimum_required(VERSION 3.20)\nproject(app LANGUAGES NONE)\n{declared}"),
    );
    lab.passes(&["cmake", "-B", "b", "-DMINE=1", "-DCMAKE_INSTALL_PREFIX=/opt/mine", "-DDECLARED=ON"]);
    let log =
        lab.fails(&["cmake", "-B", "b", "-G", "Ninja"], "Does not match the generator used previously: Unix Makefiles");
    assert!(log.contains("Error: generator : Ninja"));
    let tree = lab.path("app/b");
    let message = [("tree", tree.as_str()), ("previous", "Unix Makefiles"), ("requested", "Ninja")];
    assert_eq!(lab.ask("cmake_generator", &message).word, "differs");
    let other_log = [("tree", tree.as_str()), ("previous", "Xcode"), ("requested", "Ninja")];
    assert_eq!(lab.ask("cmake_generator", &other_log).word, "unknown");
    lab.command(&["cmake", "-B", "b", "-G", "Unix Makefiles"]);
    assert_eq!(lab.ask("cmake_generator", &message).word, "same");
    lab.command(&["cmake", "-B", "b", "-G", "Ninja"]);
    assert_eq!(lab.ask("cmake_generator", &message).word, "differs");
    let whole = lab.lower("set_aside_tree", &[("path", &tree)]).unwrap();
    assert_eq!(whole.rerun_args, ["-DCMAKE_INSTALL_PREFIX:PATH=/opt/mine", "-DDECLARED:BOOL=ON", "-DMINE=1"]);
    lab.apply(&whole);
    assert_eq!(lab.ask("cmake_generator", &message).word, "no_tree");
    lab.rerun(&whole);
    assert_eq!(lab.ask("cmake_generator", &[("tree", &tree), ("requested", "Ninja")]).word, "same");
}

#[test]
fn a_moved_source_is_told_from_another_project() {
    let mut lab = Lab::with_app();
    let project = "cmake_minimum_required(VERSION 3.20)\nproject(app LANGUAGES NONE)\n";
    lab.write("one/src/CMakeLists.txt", project);
    lab.passes(&[
        "cmake",
        "-S",
        &lab.path("one/src"),
        "-B",
        &lab.path("one/build"),
        "-DMINE=7",
        &format!("-DOLD={}", lab.path("one/src")),
        "-DMY_OUTPUT=/nowhere/out",
        "-DMY_TOOL=/nowhere/tool",
    ]);
    lab.keep_copy("one", "two");
    lab.work_in("two");
    let command = ["cmake", "-S", "src", "-B", "build"];
    lab.command(&command);
    let log = lab.fails(&command, "is different than the directory");
    assert!(log.contains("does not match the source"));
    let (one, two) = (lab.path("one/build"), lab.path("two/build"));
    let source = lab.ask("cmake_source", &[("tree", &two)]);
    assert_eq!((source.word, lab.list(&source, "old")), ("copied", vec![lab.path("one/src"), one.clone()]));
    let old = lab.list(&source, "old").join("\n");
    assert_eq!(lab.ask("cmake_tree", &[]).word, "none");
    let tree = lab.ask("cmake_tree", &[("moved_from", &one)]);
    assert_eq!((tree.word, lab.value(&tree, "path")), ("found", two.clone()));
    let whole = lab.lower("set_aside_tree", &[("path", &two), ("moved_from", &one), ("drop_under", &old)]).unwrap();
    assert_eq!(whole.rerun_args, ["-DMINE=7", "-DMY_OUTPUT=/nowhere/out"]);
    lab.apply(&whole);
    lab.rerun(&whole);
    assert_eq!(lab.ask("cmake_source", &[("tree", &two)]).word, "here");

    lab.work_in("one");
    std::fs::rename(lab.path("one/src"), lab.path("one/moved")).unwrap();
    let command = ["cmake", "-S", "moved", "-B", "build"];
    lab.command(&command);
    lab.fails(&command, "does not match the source");
    assert_eq!(lab.ask("cmake_source", &[("tree", &one)]).word, "source_gone");
    assert_eq!(lab.ask("cmake_tree", &[]).word, "found");

    lab.write("one/src/CMakeLists.txt", project);
    lab.fails(&command, "does not match the source");
    assert_eq!(lab.ask("cmake_source", &[("tree", &one)]).word, "other_project");
    let by_log = [("tree", one.as_str()), ("source", &lab.path("one/moved"))];
    lab.command(&[]);
    assert_eq!(lab.ask("cmake_source", &by_log).word, "other_project");
}

#[test]
fn a_build_environment_that_is_gone_is_found() {
    let mut lab = Lab::with_app();
    lab.write(
        "app/CMakeLists.txt",
        "cmake_minimum_required(VERSION 3.20)\nproject(app LANGUAGES NONE)\n\
        find_package(pybind11 CONFIG QUIET)\nadd_custom_target(x ALL)\n",
    );
    lab.write("pip-build-env-x1/overlay/share/pybind11Config.cmake", "");
    let bin = lab.path("pip-build-env-x1/overlay/bin");
    std::fs::create_dir_all(&bin).unwrap();
    std::fs::copy("/usr/bin/ninja", format!("{bin}/ninja")).unwrap();
    lab.set_env("PATH", Some(&format!("{bin}:/usr/bin:/bin")));
    lab.passes(&[
        "cmake",
        "-B",
        "b",
        "-G",
        "Ninja",
        &format!("-Dpybind11_DIR={}", lab.path("pip-build-env-x1/overlay/share")),
    ]);
    let tree = lab.path("app/b");
    assert_eq!(lab.ask("cmake_cache_paths", &[("tree", &tree)]).word, "whole");
    std::fs::rename(lab.path("pip-build-env-x1"), lab.path("gone")).unwrap();
    lab.set_env("PATH", Some("/usr/bin:/bin"));
    lab.fails(&["cmake", "--build", "b"], "pip-build-env-x1/overlay/bin/ninja");
    let command = ["cmake", "-B", "b", "-G", "Ninja"];
    lab.command(&command);
    lab.fails(&command, "failed with:");
    let answer = lab.ask("cmake_cache_paths", &[("tree", &tree)]);
    assert_eq!(answer.word, "build_env", "{answer:?}");
    assert_eq!(lab.value(&answer, "entries"), "CMAKE_MAKE_PROGRAM, pybind11_DIR");
    assert_eq!(lab.value(&answer, "build_env"), lab.path("pip-build-env-x1"));
    let only = lab.ask("cmake_cache_paths", &[("tree", &tree), ("only", "CMAKE_AR")]);
    assert_eq!(only.word, "whole");

    lab.keep_copy("app/b", "saved");
    let make_program = lab.value(&answer, "make_program");
    assert_eq!(make_program, "/usr/bin/ninja");
    let entries = "CMAKE_MAKE_PROGRAM\npybind11_DIR";
    // Without a build program a tree can be configured, with it also built at once.
    for (program, command) in [("", &command[..]), (&make_program, &["cmake", "--build", "b"])] {
        lab.command(command);
        let narrow = [("path", tree.as_str()), ("entries", entries), ("make_program", program)];
        let narrow = lab.lower("unset_cache_entries", &narrow).unwrap();
        lab.apply(&narrow);
        lab.rerun(&narrow);
        lab.restore_copy("saved", "app/b");
    }
    let gone = lab.lower("unset_cache_entries", &[("path", &tree), ("entries", "CMAKE_COMMAND")]).unwrap_err();
    assert!(gone.0.en.contains("give the configure command"), "{gone}");
    lab.command(&command);
    let whole = lab.lower("set_aside_tree", &[("path", &tree)]).unwrap();
    assert!(whole.rerun_args.is_empty(), "{:?}", whole.rerun_args);
    assert!(whole.notes[0].en.contains("pybind11_DIR"), "{:?}", whole.notes);
    lab.apply(&whole);
    lab.rerun(&whole);
    assert_eq!(lab.ask("cmake_cache_paths", &[("tree", &tree)]).word, "whole");
}

#[test]
fn half_written_products_are_found_and_made_again() {
    let mut lab = Lab::with_app();
    lab.write(
        "app/CMakeLists.txt",
        "cmake_minimum_required(VERSION 3.20)\nproject(app C)\n\
        add_library(a STATIC a.c)\nadd_library(s SHARED a.c)\nadd_executable(m m.c)\ntarget_link_libraries(m a)\n",
    );
    lab.write("app/a.c", "int a(void) { return 0; }\n");
    lab.write("app/m.c", "int a(void);\nint main(void) { return a(); }\n");
    lab.passes(&["cmake", "-B", "b", "-G", "Unix Makefiles"]);
    lab.passes(&["cmake", "--build", "b"]);
    let tree = lab.path("app/b");
    let named = format!("liba.a\nCMakeFiles/m.dir/m.c.o\n{tree}/libs.so");
    let broken = |lab: &Lab| lab.ask("cmake_truncated", &[("tree", &tree), ("named", &named)]);
    assert_eq!(broken(&lab).word, "whole");
    assert_eq!(lab.ask("cmake_truncated", &[("tree", &tree)]).word, "unknown", "nothing is named");

    let cut = |name: &str, length: u64| {
        std::fs::OpenOptions::new().write(true).open(lab.path(name)).unwrap().set_len(length).unwrap();
    };
    cut("app/b/liba.a", 100);
    cut("app/b/CMakeFiles/m.dir/m.c.o", 0);
    cut("app/b/libs.so", 2000);
    lab.write("app/b/_deps/x-src/test/empty.a", "");
    std::fs::remove_file(lab.path("app/b/m")).unwrap();
    lab.fails(&["cmake", "--build", "b"], "undefined reference to `main'");
    // Empty on purpose, or of somebody else: nobody named them.
    lab.write("app/b/tests/golden.o", "");
    lab.write("app/b/other/liba.a", "");
    std::fs::create_dir(lab.path("app/b/links")).unwrap();
    std::os::unix::fs::symlink(lab.path("app"), lab.path("app/b/links/CMakeFiles")).unwrap();
    for (named, count) in [("m.c.o", 1), ("./liba.a", 1), ("../b/liba.a", 1), ("a.c", 0), ("golden.o", 0), ("x.o", 0)] {
        let answer = lab.ask("cmake_truncated", &[("tree", &tree), ("named", named)]);
        let word = if count == 0 { "whole" } else { "truncated" };
        assert_eq!((answer.word, lab.list(&answer, "files").len()), (word, count), "{named}: {answer:?}");
    }
    let answer = broken(&lab);
    assert_eq!((answer.word, lab.value(&answer, "count")), ("truncated", "3".into()), "{answer:?}");
    let files = lab.list(&answer, "files").join("\n");
    let remove = |lab: &Lab, files: &str, named: &str| {
        lab.lower("remove_files", &[("files", files), ("named", named), ("within", &tree)])
    };
    for (files, named) in [
        (&*lab.path("app/a.c"), "a.c"),
        ("../a.c", "a.c"),
        ("tests/golden.o", "liba.a"),
        ("other/liba.a", "x/liba.a"),
        ("liba.a", "a.a"),
        ("liba.a", ".."),
        ("liba.a", "/liba.a"),
    ] {
        assert!(remove(&lab, files, named).is_err(), "{files} {named}");
    }
    let elsewhere = [("files", "a.c"), ("named", "a.c"), ("within", &lab.path("app"))];
    assert!(lab.lower("remove_files", &elsewhere).is_err(), "no build tree");
    let removal = remove(&lab, &files, &named).unwrap();
    assert_eq!(removal.changes.len(), 3);
    lab.apply(&removal);
    assert_eq!(broken(&lab).word, "whole");
    lab.passes(&["cmake", "--build", "b"]);
    lab.passes(&["./b/m"]);
    std::fs::remove_dir_all(&tree).unwrap();
    assert_eq!(broken(&lab).word, "no_tree");
    lab.command(&[]);
}

#[test]
fn the_policy_minimum_of_the_environment_is_read() {
    let mut lab = Lab::with_app();
    for (value, word) in [(None, "unset"), (Some("3.1"), "too_low"), (Some("3.5"), "enough"), (Some("3.10"), "enough")]
    {
        lab.set_env("CMAKE_POLICY_VERSION_MINIMUM", value);
        assert_eq!(lab.ask("cmake_policy_minimum", &[("minimum", "3.5")]).word, word);
    }
}

#[test]
fn environment_verbs_take_names_and_folders_only() {
    let lab = Lab::with_app();
    let refused: &[(&str, &[(&str, &str)])] = &[
        ("set_env", &[("name", "A B"), ("value", "x")]),
        ("set_env", &[("name", "A=B"), ("value", "x")]),
        ("set_env", &[("name", "A"), ("value", "x\0y")]),
        ("set_env", &[("name", "A")]),
        ("unset_env", &[("names", "1A")]),
        ("prepend_path", &[("name", "PATH"), ("folders", "bin")]),
        ("prepend_path", &[("name", "PATH"), ("folders", "/a:/b")]),
    ];
    for (verb, arguments) in refused {
        assert!(lab.lower(verb, arguments).is_err(), "{verb} {arguments:?}");
    }
    let lowered = lab.lower("prepend_path", &[("name", "PATH"), ("folders", "/a\n/b")]).unwrap();
    assert_eq!(lowered.overlay.value("PATH", Some("/b:/usr/bin".as_ref())).unwrap(), "/a:/b:/usr/bin");
}

#[test]
fn narrow_cleaning_also_serves_commands_that_only_build() {
    let mut lab = Lab::with_app();
    lab.install("old", "20.0.0", "OFF");
    lab.install("new", "20.0.0", "ON");
    // In a tree of its own with each generator, and beside the sources.
    for (generator, tree, build) in [
        ("Unix Makefiles", "build", &["cmake", "--build", "build"][..]),
        ("Ninja", "built", &["ninja", "-C", "built"]),
        ("Unix Makefiles", ".", &["make"]),
    ] {
        let library = |name: &str| format!("-DLLVM_LIBRARY_DIR={}/lib", lab.path(name));
        let first = ["-S", ".", "-B", tree, "-G", generator];
        lab.passes(&[&["cmake"][..], &first, &[&library("old")]].concat());
        lab.fails(&[&["cmake"][..], &first, &[&library("new"), "-DAPP_BACKENDS=amd"]].concat(), MISSING);
        lab.command(build);
        lab.fails(build, MISSING);
        let answer = lab.ask("cmake_tree", &[]);
        assert_eq!(answer.word, if tree == "." { "in_source" } else { "found" }, "{answer:?}");
        assert_eq!(lab.value(&answer, "clean"), "narrow");
        let path = lab.value(&answer, "path");
        assert!(lab.lower("set_aside_tree", &[("path", &path)]).is_err());
        let origin = lab.ask("cmake_llvm_origin", &[("tree", &path)]);
        assert_eq!(origin.word, "stale");
        let entries = lab.list(&origin, "entries").join("\n");
        let narrow = lab.lower("unset_cache_entries", &[("path", &path), ("entries", &entries)]).unwrap();
        lab.apply(&narrow);
        lab.rerun(&narrow);
        assert_eq!(lab.ask("cmake_llvm_origin", &[("tree", &path)]).word, "consistent");
    }
}

#[test]
fn caches_from_anywhere_are_read_without_harm() {
    let mut lab = Lab::with_app();
    lab.install("new", "20.0.0", "ON");
    let target = lab.path("new/lib/cmake/lld/LLDConfig.cmake");
    let app = lab.path("app");
    let caches = [
        String::new(),
        "\u{feff}\0\r\r\n".to_owned(),
        format!("CMAKE_HOME_DIRECTORY:INTERNAL={app}\nCMAKE_CACHEFILE_DIR:INTERNAL=/\n"),
        format!("CMAKE_HOME_DIRECTORY:INTERNAL=../..\nCMAKE_CACHEFILE_DIR:INTERNAL={app}/t\n"),
        format!("CMAKE_HOME_DIRECTORY:INTERNAL=/\nCMAKE_CACHEFILE_DIR:INTERNAL={app}/t\n"),
        format!(
            "CMAKE_HOME_DIRECTORY:INTERNAL={app}/t/src\nCMAKE_CACHEFILE_DIR:INTERNAL={app}/t\nLLVM_DIR:PATH=relative\n"
        ),
        format!(
            "CMAKE_HOME_DIRECTORY:INTERNAL={app}\nCMAKE_CACHEFILE_DIR:INTERNAL={app}/t\nLLVM_DIR:PATH={}\n",
            "/a".repeat(9000)
        ),
    ];
    let words = ["none", "none", "none", "none", "none", "in_source", "found"];
    for (cache, word) in caches.iter().zip(words) {
        lab.write("app/t/CMakeCache.txt", cache);
        lab.command(&["cmake", "-B", "t"]);
        let answer = lab.ask("cmake_tree", &[]);
        assert_eq!(answer.word, word, "{cache:.200}: {answer:?}");
        for question in ["cmake_llvm_origin", "cmake_cache_paths", "cmake_generator", "cmake_source", "cmake_truncated"]
        {
            let arguments = [("tree", lab.path("app/t")), ("config", target.clone())];
            let known: Vec<(&str, &str)> = arguments
                .iter()
                .filter(|(name, _)| *name == "tree" || question == "cmake_llvm_origin")
                .map(|(n, v)| (*n, v.as_str()))
                .collect();
            lab.ask(question, &known);
        }
    }
    // A pipe in the place of a cache must not make anybody wait.
    std::fs::remove_file(lab.path("app/t/CMakeCache.txt")).unwrap();
    lab.run_in("app", &["mkfifo", "t/CMakeCache.txt"]);
    assert_eq!(lab.ask("cmake_tree", &[]).word, "none");
    assert!(lab.lower("set_aside_tree", &[("path", &lab.path("app/t"))]).is_err());
    assert!(lab.lower("unset_cache_entries", &[("path", &lab.path("app/t")), ("entries", "X")]).is_err());
    // A linked cache would be replaced by a file.
    std::fs::remove_file(lab.path("app/t/CMakeCache.txt")).unwrap();
    lab.write("elsewhere.txt", &caches[6]);
    std::os::unix::fs::symlink(lab.path("elsewhere.txt"), lab.path("app/t/CMakeCache.txt")).unwrap();
    assert!(lab.lower("unset_cache_entries", &[("path", &lab.path("app/t")), ("entries", "LLVM_DIR")]).is_err());
    // A link out of the tree must not be followed to a file.
    std::os::unix::fs::symlink(lab.path("app"), lab.path("app/t/out")).unwrap();
    let outside = lab.path("app/t/out/CMakeLists.txt");
    assert!(
        lab.lower("remove_files", &[("files", &outside), ("named", &outside), ("within", &lab.path("app/t"))]).is_err()
    );
}
