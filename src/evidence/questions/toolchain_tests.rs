//! Folders with real programs of this machine under compilers' names.

use std::collections::BTreeMap;
use std::ffi::OsString;
use std::os::unix::fs::{PermissionsExt, symlink};

use super::*;
use crate::evidence::LocalHost;
use crate::evidence::questions::testing::NoGit;
use crate::os::AbsPath;
use crate::recipe::Value;

struct Machine {
    root: tempfile::TempDir,
    env: BTreeMap<String, String>,
    command: Vec<OsString>,
}

impl Machine {
    fn new() -> Self {
        let root = tempfile::tempdir().unwrap();
        std::fs::create_dir(root.path().join("empty")).unwrap();
        let env = BTreeMap::from([("PATH".to_owned(), root.path().join("empty").display().to_string())]);
        Self { root, env, command: Vec::new() }
    }

    fn at(&self, name: &str) -> PathBuf {
        self.root.path().join(name)
    }

    /// Puts links to a real program of this machine into a folder.
    fn programs(&self, folder: &str, names: &[&str]) {
        let folder = self.at(folder);
        std::fs::create_dir_all(&folder).unwrap();
        for name in names {
            symlink("/proc/self/exe", folder.join(name)).unwrap();
        }
    }

    fn ask(&self, tools: &[&str], tree: Option<&Path>) -> Answer {
        self.ask_with(tools, tree, None)
    }

    fn ask_with(&self, tools: &[&str], tree: Option<&Path>, env_var: Option<&str>) -> Answer {
        let env = self.env.iter().map(|(name, value)| (OsString::from(name), OsString::from(value)));
        let host = LocalHost::new(AbsPath::new(self.root.path()).unwrap(), env, Box::new(NoGit));
        let tools: Vec<String> = tools.iter().map(|tool| (*tool).to_owned()).collect();
        let mut args = BTreeMap::from([("tools".to_owned(), Value::from(tools))]);
        args.extend(tree.map(|tree| ("tree".to_owned(), Value::from(tree.display().to_string()))));
        args.extend(env_var.map(|name| ("env_var".to_owned(), Value::from(name))));
        let command = (!self.command.is_empty()).then_some(self.command.as_slice());
        compiler_on_machine(&Inquiry { args: &args, host: &host, command })
    }
}

#[test]
fn the_prefix_that_the_user_names_comes_first() {
    let mut machine = Machine::new();
    machine.programs("llvm-18/bin", &["clang", "clang++", "ld.lld"]);
    machine.env.insert("LLVM_SYSPATH".into(), machine.at("llvm-18").display().to_string());
    let answer = machine.ask(&["clang", "clang++"], None);
    assert_eq!(answer.word, "prefix", "{answer:?}");
    assert_eq!(answer.values["bin"].to_text(), machine.at("llvm-18/bin").display().to_string());
    assert_eq!(answer.values["version"].to_text(), "18");

    // On PATH it needs no help.
    machine.env.insert("PATH".into(), machine.at("llvm-18/bin").display().to_string());
    assert_eq!(machine.ask(&["clang"], None).word, "on_path");
}

#[test]
fn half_a_compiler_is_none() {
    let mut machine = Machine::new();
    machine.env.insert("LLVM_INSTALL_PREFIX".into(), machine.at("odd/llvm-17").display().to_string());
    let bin = |answer: &Answer| answer.values.get("bin").map(Value::to_text).unwrap_or_default();
    let odd = machine.at("odd/llvm-17/bin").display().to_string();

    machine.programs("odd/llvm-17/bin", &["clang"]);
    assert_ne!(bin(&machine.ask(&["clang"], None)), odd, "clang++ is missing");
    // A file that cannot run here is no compiler.
    std::fs::write(
        machine.at("odd/llvm-17/bin/clang++"),
        b"\x7fELF\x02\x01 of another machine, padded to sixty-four bytes and a bit more",
    )
    .unwrap();
    std::fs::set_permissions(machine.at("odd/llvm-17/bin/clang++"), std::fs::Permissions::from_mode(0o755)).unwrap();
    assert_ne!(bin(&machine.ask(&["clang"], None)), odd);
    std::fs::remove_file(machine.at("odd/llvm-17/bin/clang++")).unwrap();
    machine.programs("odd/llvm-17/bin", &["clang++"]);
    assert_eq!(bin(&machine.ask(&["clang"], None)), odd);
    // A folder that anybody can write to is not trusted.
    std::fs::set_permissions(machine.at("odd/llvm-17/bin"), std::fs::Permissions::from_mode(0o777)).unwrap();
    assert_ne!(bin(&machine.ask(&["clang"], None)), odd);
}

#[test]
fn the_device_compiler_of_cann_is_no_host_compiler() {
    let mut machine = Machine::new();
    machine.programs("cann/ccec_compiler/bin", &["clang", "clang++", "ld.lld"]);
    machine.env.insert("LLVM_INSTALL_PREFIX".into(), machine.at("cann/ccec_compiler").display().to_string());
    let answer = machine.ask(&["clang"], None);
    assert!(!answer.values.get("bin").is_some_and(|bin| bin.to_text().contains("ccec")), "{answer:?}");
}

#[test]
fn lld_counts_where_the_build_asks_for_it() {
    let mut machine = Machine::new();
    machine.programs("llvm-99/bin", &["clang-99", "clang++-99"]);
    machine.env.insert("LLVM_SYSPATH".into(), machine.at("llvm-99").display().to_string());
    assert_eq!(machine.ask(&["clang++-99"], None).word, "prefix");
    std::fs::write(machine.at("setup.py"), "cmake_args = ['-DCMAKE_EXE_LINKER_FLAGS=-fuse-ld=lld']\n").unwrap();
    assert_eq!(machine.ask(&["clang++-99"], None).word, "no_lld");
    machine.programs("llvm-99/bin", &["ld.lld"]);
    assert_eq!(machine.ask(&["clang++-99"], None).word, "prefix");
    assert_eq!(machine.ask(&["clang++-98"], None).word, "none", "another version is no answer");
}

#[test]
fn a_path_that_only_the_cache_names_is_told_from_one_that_is_asked_for() {
    let mut machine = Machine::new();
    let tree = machine.at("build");
    std::fs::create_dir(&tree).unwrap();
    let gone = "/nowhere/llvm/bin/clang";
    assert_eq!(machine.ask(&[gone], Some(&tree)).word, "gone_path");
    std::fs::write(tree.join("CMakeCache.txt"), format!("CMAKE_C_COMPILER:FILEPATH={gone}\n")).unwrap();
    assert_eq!(machine.ask(&[gone], Some(&tree)).word, "gone_in_cache");
    machine.command = vec!["cmake".into(), format!("-DCMAKE_C_COMPILER={gone}").into()];
    assert_eq!(machine.ask(&[gone], Some(&tree)).word, "gone_path");
}

#[test]
fn compilers_named_by_variables_count_where_the_variables_were_at_fault() {
    let mut machine = Machine::new();
    machine.programs("odd", &["clang-42", "clang++-42"]);
    machine.env.insert("CC".into(), machine.at("odd/clang-42").display().to_string());
    assert_ne!(machine.ask_with(&["clang"], None, Some("CC")).word, "on_path", "CXX is not named");
    machine.env.insert("CXX".into(), machine.at("odd/clang++-42").display().to_string());
    assert_eq!(machine.ask_with(&["clang"], None, Some("CC")).word, "on_path");
    assert_ne!(machine.ask(&["clang"], None).word, "on_path", "`-DCMAKE_C_COMPILER=clang` goes before CC");
}
