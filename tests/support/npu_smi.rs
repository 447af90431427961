//! A stub of npu-smi that prints what the real one printed, notes what it is told to set, and lets a reset cure.

use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::PathBuf;

use super::Sandbox;

const A2: &str = include_str!("../../fixtures/npu-smi/a2.txt");
const A3: &str = include_str!("../../fixtures/npu-smi/a3.txt");

const STUB: &str = r#"#!/bin/sh
here=$(dirname "$0")
echo "$@" >> "$here/calls"
case "$1" in
info) cat "$here/info.txt" ;;
set)
    sed -i 's/Critical/OK      /' "$here/info.txt"
    echo 'Status : OK'
    ;;
esac
"#;

impl Sandbox {
    /// Atlas A2 with a sick NPU 1 that nobody uses; returns the folder of the stub.
    pub fn with_a2(&mut self) -> PathBuf {
        self.with_npu_smi(A2)
    }

    /// Atlas A3.
    pub fn with_a3(&mut self) -> PathBuf {
        self.with_npu_smi(A3)
    }

    fn with_npu_smi(&mut self, info: &str) -> PathBuf {
        let bin = self.root().join("driver-bin");
        fs::create_dir(&bin).unwrap();
        fs::write(bin.join("npu-smi"), STUB).unwrap();
        fs::set_permissions(bin.join("npu-smi"), fs::Permissions::from_mode(0o755)).unwrap();
        fs::write(bin.join("info.txt"), info).unwrap();
        self.prepend_path(&bin);
        bin
    }
}
