//! PyTorch: the real one with `FIX_E2E=full`, else the stand-in for its launcher.
//!
//! The real one is 800 MB to fetch and 1.8 GB on disk: PyPI has it for x86-64 only with CUDA, whose libraries are not
//! fetched but replaced by empty ones, so that it imports and works on the processor.

use std::fs::{self, File};
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::OnceLock;

use super::Sandbox;

/// The last one that takes port 29500 by itself on one machine.
const TORCH: &str = "torch==2.7.1";
const NEEDED: &[&str] = &[
    "typing_extensions==4.15.0",
    "filelock==3.20.0",
    "sympy==1.14.0",
    "mpmath==1.3.0",
    "networkx==3.4.2",
    "jinja2==3.1.6",
    "markupsafe==3.0.2",
    "fsspec==2025.9.0",
    "numpy==2.2.6",
    "setuptools==80.9.0",
];

/// Sums the ranks over gloo.
const SUM: &str = r#"import os, sys
import torch, torch.distributed as dist
dist.init_process_group("gloo")
total = torch.ones(1) * (dist.get_rank() + 1)
dist.all_reduce(total)
assert total.item() == dist.get_world_size() * (dist.get_world_size() + 1) / 2
if dist.get_rank() == 0:
    print("trained on", os.environ["MASTER_PORT"], *sys.argv[1:], flush=True)
dist.destroy_process_group()
"#;

/// Whether the real PyTorch takes part.
pub fn is_real() -> bool {
    std::env::var_os("FIX_E2E").is_some_and(|value| value == "full")
}

impl Sandbox {
    /// Puts `torchrun` and a `python3` with `torch.distributed.run` on PATH, and `train.py` into the project.
    pub fn with_torch(&mut self) {
        if is_real() {
            self.prepend_path(real());
            self.write("train.py", SUM);
            return;
        }
        self.with_torchrun();
        let package = self.root().join("packages/torch/distributed");
        fs::create_dir_all(&package).unwrap();
        fs::write(package.join("run.py"), include_str!("torchrun.py")).unwrap();
        self.set("PYTHONPATH", self.root().join("packages"));
    }
}

/// The `bin` of an environment with the real PyTorch.
fn real() -> &'static Path {
    static BIN: OnceLock<PathBuf> = OnceLock::new();
    BIN.get_or_init(|| {
        let folder = Path::new(env!("CARGO_TARGET_TMPDIR")).parent().unwrap().join("e2e");
        fs::create_dir_all(&folder).unwrap();
        let lock = File::create(folder.join("torch.lock")).unwrap();
        lock.lock().unwrap();
        let venv = folder.join("torch");
        let (bin, stamp) = (venv.join("bin"), venv.join("complete"));
        if fs::read_to_string(&stamp).is_ok_and(|have| have == TORCH) {
            return bin;
        }
        let _ = fs::remove_dir_all(&venv);
        let run = |command: &mut Command| {
            let done = command.output().unwrap();
            let said = String::from_utf8_lossy(&done.stderr).into_owned();
            assert!(done.status.success(), "cannot set up {TORCH} from PyPI:\n{said}");
            String::from_utf8(done.stdout).unwrap().trim().to_owned()
        };
        run(Command::new("python3").args(["-m", "venv"]).arg(&venv));
        let python = bin.join("python");
        let install =
            ["-m", "pip", "install", "--quiet", "--disable-pip-version-check", "--only-binary=:all:", "--no-deps"];
        run(Command::new(&python).args(install).arg(TORCH).args(NEEDED));
        let place = "import sysconfig; print(sysconfig.get_path('platlib') + '/torch/lib')";
        let libraries = run(Command::new(&python).args(["-c", place]));
        let script = folder.join("empty_libraries.py");
        fs::write(&script, include_str!("empty_libraries.py")).unwrap();
        run(Command::new(&python).arg(&script).arg(libraries));
        let works = "import torch.distributed; assert torch.distributed.is_gloo_available()";
        run(Command::new(&python).args(["-c", works]));
        fs::write(&stamp, TORCH).unwrap();
        assert!(fs::metadata(bin.join("torchrun")).unwrap().permissions().mode() & 0o100 != 0);
        bin
    })
}
