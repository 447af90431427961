//! A small torchrun on PATH, and processes that have a port.

use std::fs;
use std::io::{BufRead, BufReader};
use std::os::unix::fs::PermissionsExt;
use std::process::{Child, Stdio};

use super::Sandbox;

/// Says its port and its arguments.
const SCRIPT: &str = "import os, sys\nprint('trained on', os.environ['MASTER_PORT'], *sys.argv[1:], flush=True)\n";

/// What PyTorch says of a port that is taken.
pub const IN_USE: &str = "The server socket has failed to listen on any local network address. port:";

impl Sandbox {
    /// Puts torchrun on PATH and a script into the project.
    pub fn with_torchrun(&mut self) {
        let bin = self.root().join("bin");
        fs::create_dir(&bin).unwrap();
        fs::write(bin.join("torchrun"), include_str!("torchrun.py")).unwrap();
        fs::set_permissions(bin.join("torchrun"), fs::Permissions::from_mode(0o755)).unwrap();
        self.prepend_path(&bin);
        self.write("train.py", SCRIPT);
    }
}

/// A process that listens on a port of 127.0.0.1 until it is dropped.
pub struct Squatter {
    child: Child,
    pub port: u16,
}

impl Squatter {
    /// Takes a port, 0 for any.
    pub fn take(sandbox: &Sandbox, port: u16) -> Self {
        let code = "import socket, sys, time\ns = socket.socket()\ns.bind(('127.0.0.1', int(sys.argv[1])))\n\
            s.listen(1)\nprint(s.getsockname()[1], flush=True)\ntime.sleep(3600)";
        let mut command = sandbox.command("python3");
        command.args(["-c", code, &port.to_string()]).stdout(Stdio::piped());
        let mut child = command.spawn().unwrap();
        let mut line = String::new();
        BufReader::new(child.stdout.take().unwrap()).read_line(&mut line).unwrap();
        let port = line.trim().parse().expect("the port can be listened on");
        Self { child, port }
    }

    pub fn pid(&self) -> u32 {
        self.child.id()
    }
}

impl Drop for Squatter {
    fn drop(&mut self) {
        self.child.kill().unwrap();
        self.child.wait().unwrap();
    }
}
