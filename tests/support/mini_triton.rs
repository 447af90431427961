//! A small build in triton's shape that needs clang and lld, and a library that no linker finds by itself.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use super::{Sandbox, fixture_project, tools};

pub const BUILD: [&str; 3] = ["python", "setup.py", "build"];
pub const NOT_FOUND: &str = "ld.lld: error: unable to find library -loddlib";

/// mini-triton, and a library that no linker finds by itself.
pub fn mini_triton() -> Sandbox {
    let mut sandbox = Sandbox::new();
    sandbox.prepend_path(&tools::llvm());
    sandbox.prepend_path(tools::python_tools());
    let project = fixture_project("mini-triton");
    for name in ["CMakeLists.txt", "check.c", "core.c", "extension.c", "opt.cpp", "setup.py"] {
        fs::copy(project.join(name), sandbox.project().join(name)).unwrap();
    }
    fs::create_dir(sandbox.root().join("odd")).unwrap();
    let library = sandbox.root().join("odd/liboddlib.so");
    let source = project.join("oddlib/odd.c");
    sandbox.run("cc", ["-shared", "-fPIC", "-o", library.to_str().unwrap(), source.to_str().unwrap()]).expect(0);
    sandbox.set("LD_LIBRARY_PATH", sandbox.root().join("odd"));
    sandbox.set("TRITON_BUILD_WITH_CLANG_LLD", "1");
    sandbox
}

/// The build tree that setup.py made.
pub fn tree(sandbox: &Sandbox) -> PathBuf {
    let mut entries = fs::read_dir(sandbox.project().join("build")).unwrap().map(|entry| entry.unwrap().path());
    entries.find(|path| path.file_name().unwrap().to_string_lossy().starts_with("cmake.")).expect("a build tree")
}

/// lld signs what it links; GNU ld leaves nothing.
pub fn assert_linked_by_lld(tree: &Path) {
    for name in ["mini-opt", "libmini_core.so", "mini_ext.so"] {
        let output = Command::new(tools::llvm().join("llvm-readelf"))
            .args(["--string-dump=.comment"])
            .arg(tree.join(name))
            .output()
            .unwrap();
        let comment = String::from_utf8_lossy(&output.stdout);
        assert!(comment.contains("Linker: ") && comment.contains("LLD"), "{name}: {comment}");
    }
}
