//! Extensions that do not fit what they are loaded with: C++ ABI, libstdc++, glibc; with the real gcc and Python.

mod support;

use std::fs;
use std::path::{Path, PathBuf};

use support::environment::activate_environment;
use support::story::Story;
use support::{Sandbox, tools};

/// A package in PyTorch's shape: a C++ library that its module loads for everyone.
fn framework(sandbox: &Sandbox, folder: &Path, name: &str, abi: u8) {
    let lib = folder.join(name).join("lib");
    fs::create_dir_all(&lib).unwrap();
    fs::create_dir_all(folder.join(name).join("include")).unwrap();
    let scope = if name == "torch" { "c10" } else { name };
    let header = format!(
        "#pragma once\n#include <string>\n\
         namespace {scope} {{ std::string device_name(const std::string &); void check(bool, const std::string &); }}\n"
    );
    fs::write(folder.join(name).join("include/core.h"), header).unwrap();
    let source = format!(
        "#include \"core.h\"\n#include <stdexcept>\nnamespace {scope} {{\n\
         std::string device_name(const std::string &want) {{ return \"npu:\" + want; }}\n\
         void check(bool ok, const std::string &why) {{ if (!ok) throw std::runtime_error(why); }}\n}}\n"
    );
    let core = sandbox.root().join("core.cpp");
    fs::write(&core, source).unwrap();
    let library = lib.join("libc10.so");
    sandbox
        .run(
            "g++",
            [
                "-shared",
                "-fPIC",
                &format!("-D_GLIBCXX_USE_CXX11_ABI={abi}"),
                &format!("-I{}", folder.join(name).join("include").display()),
                "-Wl,-soname,libc10.so",
                "-o",
                library.to_str().unwrap(),
                core.to_str().unwrap(),
            ],
        )
        .expect(0);
    let module = "import ctypes, os\n\
                  ctypes.CDLL(os.path.join(os.path.dirname(__file__), 'lib', 'libc10.so'), ctypes.RTLD_GLOBAL)\n";
    fs::write(folder.join(name).join("__init__.py"), module).unwrap();
}

/// An extension that calls the framework.
fn extension(sandbox: &Sandbox, packages: &Path, framework: &str, flags: &str) {
    let scope = if framework == "torch" { "c10" } else { framework };
    let include = packages.join(framework).join("include");
    sandbox.write(
        "setup.py",
        format!(
            "from setuptools import Extension, setup\n\
             setup(name='custom-ops', version='1', py_modules=[], ext_modules=[Extension('custom_ops', ['ops.cpp'],\n\
             \x20   include_dirs=[{:?}], extra_compile_args=[{flags}])])\n",
            include.to_str().unwrap()
        ),
    );
    sandbox.write(
        "ops.cpp",
        format!(
            "#include <Python.h>\n#include \"core.h\"\n\
             static PyObject *name(PyObject *, PyObject *) {{\n\
             \x20 {scope}::check(true, \"x\"); return PyUnicode_FromString({scope}::device_name(\"0\").c_str()); }}\n\
             static PyMethodDef methods[] = {{{{\"name\", name, METH_NOARGS, 0}}, {{0, 0, 0, 0}}}};\n\
             static PyModuleDef module = {{PyModuleDef_HEAD_INIT, \"custom_ops\", 0, -1, methods}};\n\
             PyMODINIT_FUNC PyInit_custom_ops(void) {{ return PyModule_Create(&module); }}\n"
        ),
    );
}

const BUILD: &str = "python setup.py -q build_ext --inplace";

fn import(framework: &str) -> String {
    format!("python -c 'import {framework}, custom_ops; print(custom_ops.name())'")
}

fn build_and_import(framework: &str) -> [String; 3] {
    ["bash".to_owned(), "-c".to_owned(), format!("{BUILD} && {}", import(framework))]
}

/// A project whose extension was built with the other ABI than the framework's, in an earlier shell.
fn built_with(framework_name: &str, framework_abi: u8, built: u8) -> (Sandbox, PathBuf) {
    let mut sandbox = Sandbox::new();
    sandbox.prepend_path(tools::python_tools());
    let packages = activate_environment(&mut sandbox);
    framework(&sandbox, &packages, framework_name, framework_abi);
    extension(&sandbox, &packages, framework_name, "");
    let line = format!("CPPFLAGS=-D_GLIBCXX_USE_CXX11_ABI={built} {BUILD}");
    sandbox.run("bash", ["-c", &line]).expect(0);
    (sandbox, packages)
}

#[test]
fn objects_of_the_other_abi_are_compiled_anew() {
    for (framework, recipe) in [("minitorch", "cc-undefined-symbol"), ("torch", "hp-torch-ext")] {
        // A compiler's own choice is 1: the old ABI needs the macro as well.
        for (abi, built) in [(1, 0), (0, 1)] {
            let (sandbox, _) = built_with(framework, abi, built);
            let story = Story::new(&sandbox, build_and_import(framework), "undefined symbol: _ZN");
            story.is_repaired(recipe, &[], |done| {
                assert!(done.stdout.contains("npu:0"), "{}", done.all());
                assert!(done.stderr.contains(&format!("_GLIBCXX_USE_CXX11_ABI={abi}")), "{}", done.stderr);
            });
        }
    }
}

#[test]
fn a_macro_in_the_environment_gives_way() {
    let (mut sandbox, _) = built_with("minitorch", 1, 0);
    sandbox.set("CXXFLAGS", "-O1 -D_GLIBCXX_USE_CXX11_ABI=0");
    let story = Story::new(&sandbox, build_and_import("minitorch"), "undefined symbol: _ZN");
    story.is_repaired("cc-undefined-symbol", &[], |done| {
        assert!(done.stderr.contains("-O1"), "{}", done.stderr);
    });
}

#[test]
fn a_macro_that_the_project_sets_is_told_with_its_place() {
    let (sandbox, packages) = built_with("minitorch", 1, 0);
    extension(&sandbox, &packages, "minitorch", "'-D_GLIBCXX_USE_CXX11_ABI=0'");
    let story = Story::new(&sandbox, build_and_import("minitorch"), "undefined symbol: _ZN");
    story.is_left_alone(&[]).says("setup.py:3").says("_GLIBCXX_USE_CXX11_ABI=0");
}

#[test]
fn a_command_that_only_imports_loses_nothing() {
    let (sandbox, _) = built_with("minitorch", 1, 0);
    let story = Story::new(&sandbox, ["bash", "-c", &import("minitorch")], "undefined symbol: _ZN");
    story.is_left_alone(&[]).says("this command does not build it again");
}

#[test]
fn objects_that_are_not_only_objects_are_left_alone() {
    let (sandbox, _) = built_with("minitorch", 1, 0);
    let build = sandbox.project().join("build");
    let temp = fs::read_dir(&build).unwrap().map(|entry| entry.unwrap().path());
    let temp = temp.into_iter().find(|path| path.file_name().unwrap().to_string_lossy().starts_with("temp.")).unwrap();
    fs::write(temp.join("notes.txt"), "mine").unwrap();
    let story = Story::new(&sandbox, build_and_import("minitorch"), "undefined symbol: _ZN");
    story.is_left_alone(&[]);
    story.is_left_alone_by_name("cc-undefined-symbol");
}

#[test]
fn a_symbol_of_another_torch_is_told_as_such() {
    let (sandbox, packages) = built_with("torch", 1, 1);
    let line = build_and_import("torch");
    sandbox.run("bash", &line[1..]).expect(0);
    // The function is gone in the version that is installed now.
    let header = "#pragma once\n#include <string>\nnamespace c10 { std::string name_of(const std::string &); }\n";
    fs::write(packages.join("torch/include/core.h"), header).unwrap();
    let core = sandbox.root().join("core.cpp");
    let source = "#include <string>\nnamespace c10 { std::string name_of(const std::string &a) { return a; } }\n";
    fs::write(&core, source).unwrap();
    let library = packages.join("torch/lib/libc10.so");
    let words = ["-shared", "-fPIC", "-Wl,-soname,libc10.so", "-o"];
    let files = [library.to_str().unwrap(), core.to_str().unwrap()];
    sandbox.run("g++", words.iter().copied().chain(files)).expect(0);
    let story = Story::new(&sandbox, ["bash", "-c", &import("torch")], "undefined symbol: _ZN3c10");
    story.is_left_alone(&[]).says("hp-torch-ext").says("made for another version");
}

/// A library that asks for `version` of the library `soname`, made as on a machine that has it.
fn asking_for(sandbox: &Sandbox, soname: &str, version: &str, symbol: &str, name: &str) -> PathBuf {
    let newer = sandbox.root().join("newer");
    fs::create_dir_all(&newer).unwrap();
    stub(sandbox, &newer, soname, &[version], &[symbol]);
    let source = sandbox.root().join("asks.c");
    fs::write(&source, format!("void {symbol}(void); int ask(void) {{ {symbol}(); return 1; }}\n")).unwrap();
    let library = sandbox.project().join(name);
    let words = ["-shared", "-fPIC", "-w", "-o", library.to_str().unwrap(), source.to_str().unwrap()];
    let stub = newer.join(soname);
    sandbox.run("cc", words.iter().copied().chain([stub.to_str().unwrap()])).expect(0);
    library
}

/// A library of which only the names count: its own, its versions, its symbols.
fn stub(sandbox: &Sandbox, folder: &Path, soname: &str, versions: &[&str], symbols: &[&str]) {
    let (source, script) = (sandbox.root().join("stub.c"), sandbox.root().join("stub.map"));
    fs::write(&source, symbols.iter().map(|name| format!("void {name}(void) {{}}\n")).collect::<String>()).unwrap();
    let all = symbols.join("; ");
    let nodes = versions.iter().enumerate().map(|(at, version)| match at {
        0 => format!("{version} {{ {all}; }};\n"),
        _ => format!("{version} {{ }};\n"),
    });
    fs::write(&script, nodes.collect::<String>()).unwrap();
    let script = format!("-Wl,--version-script={}", script.display());
    let (soname_flag, file) = (format!("-Wl,-soname,{soname}"), folder.join(soname));
    let words = ["-shared", "-nostdlib", "-fPIC", "-w", &soname_flag, &script, "-o"];
    let files = [file.to_str().unwrap(), source.to_str().unwrap()];
    sandbox.run("cc", words.iter().copied().chain(files)).expect(0);
}

fn load(library: &Path) -> [String; 3] {
    let code = format!("import ctypes; ctypes.CDLL({:?})", library.to_str().unwrap());
    ["python3".to_owned(), "-c".to_owned(), code]
}

/// A C++ library of this machine's compiler.
fn plain_cxx(sandbox: &Sandbox) -> PathBuf {
    let source = sandbox.root().join("plain.cpp");
    let code = "#include <string>\n#include <iostream>\n\
                std::string twice(const std::string &a) { std::cout << a; return a + a; }\n";
    fs::write(&source, code).unwrap();
    let library = sandbox.project().join("libplain.so");
    sandbox.run("g++", ["-shared", "-fPIC", "-o", library.to_str().unwrap(), source.to_str().unwrap()]).expect(0);
    library
}

#[test]
fn an_older_libstdcxx_on_the_path_is_passed_over() {
    let mut sandbox = Sandbox::new();
    let library = plain_cxx(&sandbox);
    let old = sandbox.root().join("old");
    fs::create_dir(&old).unwrap();
    stub(&sandbox, &old, "libstdc++.so.6", &["GLIBCXX_3.4"], &["old"]);
    sandbox.set("LD_LIBRARY_PATH", &old);
    let story = Story::new(&sandbox, load(&library), "libstdc++.so.6: version `");
    story.fails();
    let done = story.fix_command(&["run", "--yes"]).expect(0).says("glibcxx-not-found");
    // Only the order of folders changes, and only for this run.
    assert!(done.stderr.contains("LD_LIBRARY_PATH"), "{}", done.stderr);
    assert!(!done.stderr.contains("LD_PRELOAD"), "{}", done.stderr);
    story.fix(&["rollback"]).expect(0);
    story.fails();
}

#[test]
fn other_libraries_that_would_change_as_well_need_a_yes() {
    let mut sandbox = Sandbox::new();
    let library = plain_cxx(&sandbox);
    let old = sandbox.root().join("old");
    fs::create_dir(&old).unwrap();
    stub(&sandbox, &old, "libstdc++.so.6", &["GLIBCXX_3.4"], &["old"]);
    fs::write(old.join("libresolv.so.2"), "kept for some reason").unwrap();
    sandbox.set("LD_LIBRARY_PATH", &old);
    let story = Story::new(&sandbox, load(&library), "libstdc++.so.6: version `");
    let status = story.fails().code;
    story.fix_command(&["run", "--yes"]).expect(status).says("libresolv.so.2");
    story.fix_command(&["run", "--yes=confirm"]).expect(0);
}

#[test]
fn a_libstdcxx_that_is_nowhere_is_told() {
    let sandbox = Sandbox::new();
    let library = asking_for(&sandbox, "libstdc++.so.6", "GLIBCXX_3.4.99", "_ZSt6futurev", "libasks.so");
    let story = Story::new(&sandbox, load(&library), "version `GLIBCXX_3.4.99' not found");
    story.is_left_alone(&[]).says("glibcxx-not-found").says("no libstdc++ here has GLIBCXX_3.4.99");
}

#[test]
fn a_newer_glibc_is_never_put_in_place() {
    let sandbox = Sandbox::new();
    let library = asking_for(&sandbox, "libc.so.6", "GLIBC_2.99", "__isoc99_future", "libasks.so");
    let story = Story::new(&sandbox, load(&library), "version `GLIBC_2.99' not found");
    let done = story.is_left_alone(&[]);
    done.says("hp-undefined-symbol").says("glibc 2.99 is asked for, and this machine has 2.").does_not_say("Ubuntu");
    let library = asking_for(&sandbox, "libc.so.6", "GLIBC_2.41", "__isoc99_future", "libasks41.so");
    let log = sandbox.write("failed.log", story_log(&library));
    let done = sandbox.fix(["diagnose", log.to_str().unwrap()]).expect(1);
    done.says("glibc 2.41 is asked for").says("Debian 13");
}

/// The loader's message on a machine that is older than the file.
fn story_log(library: &Path) -> String {
    format!("OSError: /lib/libc.so.6: version `GLIBC_2.41' not found (required by {})\n", library.display())
}

#[test]
fn a_copy_that_is_found_first_and_lacks_the_symbol_is_passed_over() {
    let mut sandbox = Sandbox::new();
    let (old, new) = (sandbox.root().join("old"), sandbox.root().join("new"));
    for folder in [&old, &new] {
        fs::create_dir(folder).unwrap();
    }
    let (one, two) = (sandbox.root().join("one.c"), sandbox.root().join("two.c"));
    fs::write(&one, "int hp_old(int x) { return x; }\n").unwrap();
    fs::write(&two, "int hp_old(int x) { return x; } int hp_layout_hash(int x) { return x + 1; }\n").unwrap();
    for (folder, source) in [(&old, &one), (&new, &two)] {
        let file = folder.join("libhp.so");
        let words =
            ["-shared", "-fPIC", "-Wl,-soname,libhp.so", "-o", file.to_str().unwrap(), source.to_str().unwrap()];
        sandbox.run("cc", words).expect(0);
    }
    let source = sandbox.root().join("uses.c");
    fs::write(&source, "int hp_layout_hash(int); int use(void) { return hp_layout_hash(1); }\n").unwrap();
    let library = sandbox.project().join("libuses.so");
    let (folder, file) = (format!("-L{}", new.display()), library.to_str().unwrap());
    sandbox
        .run("cc", ["-shared", "-fPIC", "-Wl,-z,now", "-o", file, source.to_str().unwrap(), &folder, "-lhp"])
        .expect(0);
    sandbox.set("LD_LIBRARY_PATH", format!("{}:{}", old.display(), new.display()));
    let story = Story::new(&sandbox, load(&library), "undefined symbol: hp_layout_hash");
    story.fails();
    story.fix_command(&["run", "--yes"]).expect(0).says("cc-undefined-symbol").says("LD_LIBRARY_PATH");
    story.fails();
    // Nothing here gives it: it is told, and nothing is done.
    fs::remove_file(new.join("libhp.so")).unwrap();
    story.is_left_alone(&[]).says("nothing that is installed here gives `hp_layout_hash`");
}

/// Builds the extension into PyTorch's cache when it is not there, as `torch.utils.cpp_extension.load` does.
const AT_RUN_TIME: &str = r#"
import importlib.util, os, subprocess, sysconfig
folder = os.path.expanduser('~/.cache/torch_extensions/py3_cpu/custom_ops')
module = folder + '/custom_ops.so'
import torch
if not os.path.exists(module):
    os.makedirs(folder, exist_ok=True)
    flags = os.environ.get('CPPFLAGS', '').split()
    with open(folder + '/build.ninja', 'w') as rules:
        rules.write('cflags = -DTORCH_EXTENSION_NAME=custom_ops ' + ' '.join(flags))
    include = os.path.join(os.path.dirname(torch.__file__), 'include')
    subprocess.check_call(['g++', '-shared', '-fPIC', '-I' + include, '-I' + sysconfig.get_path('include'), *flags,
                           '-o', module, 'ops.cpp'])
spec = importlib.util.spec_from_file_location('custom_ops', module)
loaded = importlib.util.module_from_spec(spec)
print(loaded.name())
"#;

#[test]
fn a_build_at_run_time_is_done_anew() {
    let (mut sandbox, _) = built_with("torch", 1, 1);
    sandbox.write("train.py", AT_RUN_TIME);
    sandbox.set("CPPFLAGS", "-D_GLIBCXX_USE_CXX11_ABI=0");
    let story = Story::new(&sandbox, ["python", "train.py"], "undefined symbol: _ZN3c10");
    let status = story.fails().code;
    let objects = sandbox.home().join(".cache/torch_extensions/py3_cpu/custom_ops");
    let before = support::picture(&objects);
    // The cache lies outside of the project: that takes a word on the command line.
    story.fix_command(&["run", "--yes"]).expect(status).says("--allow-path");
    assert_eq!(support::picture(&objects), before);
    let cache = objects.parent().unwrap().parent().unwrap().to_str().unwrap().to_owned();
    let done = story.fix_command(&["run", "--yes", "--allow-path", &cache]).expect(0).says("hp-torch-ext");
    assert!(done.stdout.contains("npu:0"), "{}", done.all());
    story.fix(&["rollback"]).expect(0);
    assert_eq!(support::picture(&objects), before);
    story.fails();
}
