//! A plan's identity: what `fix apply --plan` compares.

use std::os::unix::ffi::OsStrExt;

use super::Plan;
use crate::change::{AbsPath, Change, FileState, Precondition, TreeFolder};

/// Hashes everything that the plan does, each part with its length so that no two plans share a text.
pub(super) fn of(plan: &Plan) -> String {
    let mut sum = Sum(blake3::Hasher::new());
    sum.text("build-fix plan 1");
    sum.text(&plan.recipe);
    sum.text(&plan.case);
    for (name, value) in &plan.params {
        sum.text(name);
        value.to_list().iter().for_each(|item| sum.text(item));
    }
    sum.path(&plan.root);
    for change in &plan.changes {
        match change {
            Change::WriteFile(write) => {
                sum.text("write-file");
                sum.path(&write.path);
                sum.state(&write.before);
                sum.state(&write.after);
            }
            Change::RemoveTree(tree) => {
                // The count and size change with every build; device and inode are the tree's identity.
                sum.text("remove-tree");
                sum.path(&tree.path);
                sum.text(&format!("{}:{}:{:?}", tree.before.device, tree.before.inode, tree.kind));
                match tree.folder {
                    TreeFolder::Goes => {}
                    TreeFolder::Stays | TreeFolder::StaysBehindLink => sum.text("the folder stays"),
                }
            }
            Change::Run(run) => {
                sum.text("run");
                run.argv.iter().for_each(|arg| sum.bytes(arg.as_bytes()));
                sum.path(&run.cwd);
                run.env.iter().for_each(|(name, edit)| sum.text(&format!("{name}={edit:?}")));
                run.writes.iter().for_each(|path| sum.path(path));
                sum.text(&format!("{:?}:{}", run.reversible, run.timeout_seconds));
            }
        }
    }
    for (name, edit) in plan.overlay.iter() {
        sum.text(&format!("{name}={edit:?}"));
    }
    if let Some(rerun) = &plan.rerun {
        sum.text("rerun");
        rerun.argv.iter().for_each(|arg| sum.bytes(arg.as_bytes()));
        sum.path(&rerun.cwd);
        if let Some(typed) = &rerun.instead_of {
            sum.text("instead of");
            typed.iter().for_each(|arg| sum.bytes(arg.as_bytes()));
        }
    }
    for precondition in &plan.preconditions {
        match precondition {
            Precondition::PortFree(port) => sum.text(&format!("port free: {port}")),
        }
    }
    sum.0.finalize().to_hex().to_string()
}

struct Sum(blake3::Hasher);

impl Sum {
    fn bytes(&mut self, bytes: &[u8]) {
        self.0.update(&(bytes.len() as u64).to_le_bytes());
        self.0.update(bytes);
    }

    fn text(&mut self, text: &str) {
        self.bytes(text.as_bytes());
    }

    fn path(&mut self, path: &AbsPath) {
        self.bytes(path.as_path().as_os_str().as_bytes());
    }

    fn state(&mut self, state: &FileState) {
        match state {
            FileState::Absent => self.text("absent"),
            FileState::Present(image) => {
                self.text(&format!("{:o}", image.mode));
                self.bytes(&image.bytes);
            }
        }
    }
}
