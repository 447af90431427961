//! Users: who runs the tests, and a plain one for whom permissions count.

use std::fs;
use std::os::unix::fs::{MetadataExt, lchown};
use std::os::unix::process::CommandExt;
use std::path::Path;
use std::process::Command;

use super::Sandbox;

/// The user that root becomes; any other does.
pub const PLAIN: u32 = 65534;

/// Says whether the tests run as root.
pub fn is_root() -> bool {
    fs::metadata("/proc/self").unwrap().uid() == 0
}

/// Gives a tree to a user.
pub fn give(path: &Path, user: u32) {
    lchown(path, Some(user), Some(user)).unwrap();
    if fs::symlink_metadata(path).unwrap().is_dir() {
        fs::read_dir(path).unwrap().for_each(|entry| give(&entry.unwrap().path(), user));
    }
}

impl Sandbox {
    /// `fix` as a plain user who owns the sandbox: root passes every permission, and becomes somebody else.
    pub fn fix_as_plain_user(&self) -> Command {
        if !is_root() {
            return self.fix_command();
        }
        // The program may lie where only root may go.
        let program = self.root().join("fix");
        if !program.exists() {
            // Not by this process: what another test starts meanwhile would hold it open for writing.
            let copied = Command::new("cp").arg(env!("CARGO_BIN_EXE_fix")).arg(&program).status().unwrap();
            assert!(copied.success(), "the program cannot be copied");
        }
        give(&self.root(), PLAIN);
        self.fix_as_plain_user_keeping(&[])
    }

    /// The same, once that is prepared, with every file left to whom it belongs.
    pub fn fix_as_plain_user_keeping(&self, args: &[&str]) -> Command {
        let mut command = self.command(self.root().join("fix"));
        command.uid(PLAIN).gid(PLAIN).args(args);
        command
    }
}
