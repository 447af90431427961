//! Installations of Ascend as they lie on disk, with stub programs, and a script that compiles as triton-ascend does.

use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};

use super::Sandbox;

/// As CANN's own: it puts its folders in front, whatever stood there.
const SET_ENV: &str = r#"# Environment of CANN, to be sourced by bash.
cann_root="$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)"
export ASCEND_HOME_PATH="$cann_root"
export ASCEND_OPP_PATH="$cann_root/opp"
export LD_LIBRARY_PATH="$cann_root/lib64:$LD_LIBRARY_PATH"
export PYTHONPATH="$cann_root/python/site-packages:$PYTHONPATH"
export PATH="$cann_root/bin:$cann_root/tools/ccec_compiler/bin:$PATH"
unset cann_root
"#;

/// Looks for its tools and fails in the words of triton-ascend.
const KERNEL: &str = r#"import os, shutil, subprocess, sys

def opt():
    return shutil.which("bishengir-opt") or os.path.join(os.getenv("TRITON_NPU_COMPILER_PATH", ""), "bishengir-opt")

def fail(stage, text):
    head, tail = "[ERROR][Triton][BEG]", "[ERROR][Triton][END]"
    line = "///------------------{}------------------"
    sys.exit(f"triton.compiler.errors.MLIRCompilationError: \n{line.format(head)}\n[{stage}] encounters error:\n{text}\n{line.format(tail)}")

for stage, tool in [("BytecodeToLinalgIRByBishengirOpt", opt()), ("ConvertLinalgIRToBinary", "bishengir-compile")]:
    try:
        subprocess.run([tool, __file__], check=True, capture_output=True, text=True)
    except subprocess.CalledProcessError as error:
        print(f"subprocess.CalledProcessError: {error}", file=sys.stderr)
        fail(stage, error.stderr)
print("compiled by", shutil.which("bishengir-opt"))
"#;

/// Needs the back end of CANN.
const COMPILE: &str = "#!/bin/sh\ncommand -v hivmc >/dev/null && exit 0\n\
    echo '[ERROR] Cannot find hivmc under $PATH ' >&2\necho '[ERROR] Failed to run BiShengIR pipeline' >&2\nexit 1\n";
const PATCHED: &str = "#!/bin/sh\n# no_side_effect\nexit 0\n";
const UNPATCHED: &str = "#!/bin/sh\necho \"loc(\\\"k.mlirbc\\\":0:0): error: 'hivm.hir.custom' op operand count (4) does not \
    match with the total size (0) specified in attribute 'operandSegmentSizes'\" >&2\nexit 1\n";

fn program(path: &Path, text: &str) {
    fs::create_dir_all(path.parent().unwrap()).unwrap();
    fs::write(path, text).unwrap();
    fs::set_permissions(path, fs::Permissions::from_mode(0o755)).unwrap();
}

impl Sandbox {
    /// A CANN in HOME; returns its root.
    pub fn with_cann(&self, version: &str) -> PathBuf {
        let root = self.home().join(format!("Ascend/cann-{version}"));
        for (name, text) in [
            ("set_env.sh", SET_ENV.to_owned()),
            ("share/info/runtime/version.info", format!("Version={version}\n")),
            ("opp/version.info", format!("Version={version}\n")),
        ] {
            let path = root.join(name);
            fs::create_dir_all(path.parent().unwrap()).unwrap();
            fs::write(path, text).unwrap();
        }
        program(&root.join("bin/hivmc"), "#!/bin/sh\necho hivmc 0.3.0\n");
        program(&root.join("bin/bishengir-opt"), UNPATCHED);
        program(&root.join("bin/bishengir-compile"), COMPILE);
        root
    }

    /// A build of AscendNPU-IR in HOME; returns its folder of programs.
    pub fn with_npu_ir(&self) -> PathBuf {
        let bin = self.home().join("AscendNPU-IR/build/bin");
        program(&bin.join("bishengir-opt"), PATCHED);
        program(&bin.join("bishengir-compile"), COMPILE);
        bin
    }

    /// A script that compiles a kernel.
    pub fn with_kernel(&self) {
        self.write("kernel.py", KERNEL);
    }
}
