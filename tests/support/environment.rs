//! A private Python environment in the sandbox.

use std::fs;
use std::path::{Path, PathBuf};

use super::{Sandbox, tools};

/// Makes an environment active that is the sandbox's own, with pip and the build backends of the tools; returns the
/// folder of its packages. Nothing is fetched.
pub fn activate_environment(sandbox: &mut Sandbox) -> PathBuf {
    let environment = sandbox.root().join("environment");
    let python = tools::python_tools().join("python");
    let words = ["-m", "venv", "--without-pip", environment.to_str().unwrap()];
    sandbox.run(python.to_str().unwrap(), words).expect(0);
    let packages = |python: &Path| {
        let code = "import sysconfig; print(sysconfig.get_path('purelib'))";
        PathBuf::from(sandbox.run(python.to_str().unwrap(), ["-c", code]).expect(0).stdout.trim())
    };
    let (own, shared) = (packages(&environment.join("bin/python")), packages(&python));
    fs::write(own.join("tools.pth"), format!("{}\n", shared.display())).unwrap();
    sandbox.prepend_path(&environment.join("bin"));
    sandbox.set("VIRTUAL_ENV", environment);
    for (name, value) in [("PIP_NO_INDEX", "1"), ("PIP_NO_CACHE_DIR", "1"), ("PIP_DISABLE_PIP_VERSION_CHECK", "1")] {
        sandbox.set(name, value);
    }
    own
}

/// A `sitecustomize.py` that ends an isolated `pip install` the hard way when it is about to write the second file of
/// mini-ext: the old version is renamed by then, and there is a part of the new one.
pub const KILLS_PIP: &str = r#"
import os, sys
if "--isolated" in sys.orig_argv and "install" in sys.orig_argv:
    def hook(event, args):
        if event == "open" and isinstance(args[0], str) and "site-packages/mini_ext/_core" in args[0]:
            os.kill(os.getpid(), 9)
    sys.addaudithook(hook)
"#;
