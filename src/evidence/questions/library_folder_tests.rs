//! Real folders and real libraries, in a temporary place.

use std::process::Command;

use super::*;
use crate::evidence::LocalHost;
use crate::evidence::questions::testing::NoGit;
use crate::os::AbsPath;
use crate::recipe::Value;

fn ask(root: &Path, env: &[(&str, String)], args: &[(&str, Value)]) -> Answer {
    let env = env.iter().map(|(name, value)| (OsString::from(name), OsString::from(value)));
    let host = LocalHost::new(AbsPath::new(root).unwrap(), env, Box::new(NoGit));
    let args = args.iter().map(|(name, value)| ((*name).to_owned(), value.clone())).collect();
    library_folder(&Inquiry { args: &args, host: &host, command: None })
}

/// Makes `lib<name>.so.1` with a real compiler.
fn runtime(folder: &Path, name: &str) {
    std::fs::create_dir_all(folder).unwrap();
    std::fs::write(folder.join("s.c"), "int answer(void){return 42;}\n").unwrap();
    let output = folder.join(format!("lib{name}.so.1"));
    let built =
        Command::new("cc").args(["-shared", "-fPIC", "-o"]).arg(output).arg(folder.join("s.c")).status().unwrap();
    assert!(built.success());
}

#[test]
fn tells_a_linkable_library_from_one_that_only_runs() {
    let root = tempfile::tempdir().unwrap();
    let root = root.path();
    let odd = root.join("odd-linux-gnu");
    runtime(&odd, "oddone");
    let env = [("LD_LIBRARY_PATH", odd.display().to_string())];
    let library = [("library", Value::from("oddone"))];

    let answer = ask(root, &env, &library);
    assert_eq!(answer.word, "only_runtime", "{answer:?}");
    assert_eq!(ask(root, &[], &library).word, "absent");

    std::os::unix::fs::symlink("gone", odd.join("liboddone.so")).unwrap();
    assert_eq!(ask(root, &env, &library).word, "only_runtime", "a link that leads nowhere links nothing");
    std::fs::remove_file(odd.join("liboddone.so")).unwrap();

    std::fs::write(odd.join("liboddone.so"), "/* GNU ld script */\nGROUP ( liboddone.so.1 AS_NEEDED ( -lm ) )\n")
        .unwrap();
    let answer = ask(root, &env, &library);
    assert_eq!((answer.word, answer.values["folder"].to_text()), ("found", odd.display().to_string()));
    std::fs::write(odd.join("liboddone.so"), "GROUP ( /nowhere/liboddone.so.1 )\n").unwrap();
    assert_eq!(ask(root, &env, &library).word, "only_runtime");

    // A library of another machine is none.
    let mut foreign = std::fs::read(odd.join("liboddone.so.1")).unwrap();
    foreign[18] ^= 0xff;
    std::fs::write(odd.join("liboddone.so"), &foreign).unwrap();
    std::fs::write(odd.join("liboddone.so.1"), &foreign).unwrap();
    assert_eq!(ask(root, &env, &library).word, "absent");
}

#[test]
fn folders_of_the_user_come_first_and_several_libraries_may_need_several() {
    let root = tempfile::tempdir().unwrap();
    let root = root.path();
    for (folder, name) in [("a", "oddone"), ("b", "oddtwo"), ("c", "oddone")] {
        runtime(&root.join(folder), name);
        std::fs::rename(
            root.join(folder).join(format!("lib{name}.so.1")),
            root.join(folder).join(format!("lib{name}.so")),
        )
        .unwrap();
    }
    let at = |name: &str| root.join(name).display().to_string();
    let env = [("LIBRARY_PATH", format!("{}:relative:{}", at("a"), at("b")))];
    let both = Value::from(vec!["oddone".to_owned(), "-loddtwo".to_owned(), "../evil".to_owned()]);
    let answer = ask(root, &env, &[("library", both.clone())]);
    assert_eq!((answer.word, answer.values["folders"].to_list()), ("found", vec![at("a"), at("b")]));
    let answer = ask(root, &env, &[("library", both), ("folders", Value::from(at("c")))]);
    assert_eq!(answer.values["folders"].to_list(), vec![at("c"), at("b")]);
    assert_eq!(ask(root, &env, &[("library", Value::from("../../etc"))]).word, UNKNOWN);
}

#[test]
fn the_systems_linker_has_looked_into_default_folders() {
    let root = tempfile::tempdir().unwrap();
    let library = ("library", Value::from("c"));
    assert_eq!(ask(root.path(), &[], &[library.clone(), ("linker", "/usr/bin/ld".into())]).word, "searched");
    assert_eq!(ask(root.path(), &[], &[library.clone(), ("linker", "/opt/gcc/bin/ld".into())]).word, "found");
    assert_eq!(ask(root.path(), &[], &[library]).word, "found");
}

#[test]
fn a_compiler_of_conda_gets_the_library_of_conda() {
    let root = tempfile::tempdir().unwrap();
    let root = root.path();
    let conda = root.join("conda");
    std::fs::create_dir_all(conda.join("lib")).unwrap();
    std::fs::write(conda.join("lib/libc.so"), "INPUT ( -lm )\n").unwrap();
    let cache = |compiler: &str| {
        std::fs::write(root.join("CMakeCache.txt"), format!("CMAKE_CXX_COMPILER:FILEPATH={compiler}\n")).unwrap()
    };
    let env = [("CONDA_PREFIX", conda.display().to_string())];
    let args = [("library", Value::from("c")), ("tree", Value::from(root.display().to_string()))];
    cache(&conda.join("bin/x86_64-conda-linux-gnu-c++").display().to_string());
    assert_eq!(ask(root, &env, &args).values["folder"].to_text(), conda.join("lib").display().to_string());
    cache("/opt/llvm/bin/clang++");
    assert_ne!(ask(root, &env, &args).values["folder"].to_text(), conda.join("lib").display().to_string());
}
