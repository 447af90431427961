//! A plan as lines of a report.

use std::ffi::OsString;
use std::os::unix::ffi::OsStrExt;

use crate::change::{AbsPath, Change, FileState};
use crate::diff::{bytes_for_reading, thousands};
use crate::os::terminal::decode_visibly;
use crate::plan::{Plan, Precondition};
use crate::recipe::Text;

use super::{ChangeKind, ChangeLine, CheckLine, Outcome, RepairLine, words};

impl RepairLine {
    /// Tells what became of a plan.
    pub fn of(plan: &Plan, outcome: Outcome, checks: Vec<CheckLine>) -> Self {
        Self {
            id: plan.recipe.clone(),
            slug: plan.slug.clone(),
            case: plan.case.clone(),
            applicability: plan.applicability,
            outcome,
            title: plan.title.clone(),
            limits: plan.limits.clone(),
            changes: ChangeLine::all_of(plan),
            checks,
        }
    }
}

impl ChangeKind {
    /// Says whether a file is written or goes.
    pub fn of_file(after: &FileState) -> Self {
        match after {
            FileState::Absent => ChangeKind::RemoveFile,
            FileState::Present(_) => ChangeKind::WriteFile,
        }
    }
}

impl ChangeLine {
    /// Lists what a plan changes, and then the variables that it sets.
    pub fn all_of(plan: &Plan) -> Vec<Self> {
        let plain = |kind, path| Self { kind, path, argv: Vec::new(), files: None, bytes: None };
        let changes = plan.changes.iter().map(|change| match change {
            Change::WriteFile(write) => plain(ChangeKind::of_file(&write.after), shown(&plan.root, &write.path)),
            Change::RemoveTree(tree) => Self {
                files: Some(tree.before.files),
                bytes: Some(tree.before.bytes),
                ..plain(ChangeKind::RemoveTree, shown(&plan.root, &tree.path))
            },
            Change::Run(run) => Self { argv: argv(&run.argv), ..plain(ChangeKind::Run, shown(&plan.root, &run.cwd)) },
        });
        let variables = plan.overlay.iter().map(|(name, _)| plain(ChangeKind::Environment, name.to_owned()));
        let commands = plan
            .rerun
            .iter()
            .filter(|rerun| rerun.instead_of.is_some())
            .map(|rerun| Self { argv: argv(&rerun.argv), ..plain(ChangeKind::Command, shown(&plan.root, &rerun.cwd)) });
        let preconditions = plan.preconditions.iter().map(|precondition| match precondition {
            Precondition::PortFree(port) => plain(ChangeKind::Precondition, format!("port {port}")),
        });
        changes.chain(variables).chain(commands).chain(preconditions).collect()
    }
}

/// Says what a plan would do, one sentence a change; for [`super::Finding::repair`].
pub fn would_do(plan: &Plan) -> Vec<Text> {
    let mut sentences: Vec<Text> = plan
        .changes
        .iter()
        .map(|change| match change {
            Change::WriteFile(write) => {
                let path = shown(&plan.root, &write.path);
                match (&write.before, &write.after) {
                    (FileState::Absent, _) => words::would_create(path),
                    (FileState::Present(_), FileState::Absent) => words::would_delete(path),
                    (FileState::Present(_), FileState::Present(_)) => words::would_change_file(path),
                }
            }
            Change::RemoveTree(tree) => {
                let (files, size) = (thousands(tree.before.files), bytes_for_reading(tree.before.bytes));
                words::would_set_aside(shown(&plan.root, &tree.path), files, size)
            }
            Change::Run(run) => words::would_run(command(&run.argv)),
        })
        .collect();
    sentences.extend(plan.overlay.iter().map(|(name, _)| words::would_set(name)));
    sentences.extend(plan.rerun.iter().map(|rerun| words::would_rerun(command(&rerun.argv))));
    sentences
}

/// Names a path: relative to the project where it lies in it.
fn shown(root: &AbsPath, path: &AbsPath) -> String {
    let short = path.as_path().strip_prefix(root).unwrap_or(path.as_path());
    let short = if short.as_os_str().is_empty() { path.as_path() } else { short };
    decode_visibly(short.as_os_str().as_bytes())
}

/// Decodes the words of a command, so that different bytes look different.
pub fn argv(words: &[OsString]) -> Vec<String> {
    words.iter().map(|word| decode_visibly(word.as_bytes())).collect()
}

fn command(words: &[OsString]) -> String {
    shell_words::join(argv(words))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::change::{
        AllowedRoots, EnvEdit, EnvOverlay, FileImage, RemoveTree, TreeFolder, TreeImage, TreeKind, WriteFile,
    };
    use crate::plan::Rerun;
    use crate::recipe::{Applicability, Values};

    #[test]
    fn a_plan_as_sentences_and_lines() {
        let path = |path: &str| AbsPath::new(path).unwrap();
        let file = |bytes: &[u8]| FileState::Present(FileImage { bytes: bytes.to_vec(), mode: 0o644 });
        let write = |name: &str, before, after| Change::WriteFile(WriteFile { path: path(name), before, after });
        let tree = TreeImage { device: 1, inode: 1, files: 1234, bytes: 5_600_000, estimated: false, at_least: false };
        let mut overlay = EnvOverlay::default();
        overlay.edit("LIBRARY_PATH", EnvEdit::Prepend(vec!["/l".into()]));
        let plan = Plan {
            recipe: "tda-1.9".into(),
            slug: "s".into(),
            case: "c".into(),
            title: Text::new("title", "标题"),
            says: Text::new("says", "说明"),
            params: Values::new(),
            applicability: Applicability::Safe,
            limits: Vec::new(),
            root: path("/p"),
            roots: AllowedRoots::default(),
            changes: vec![
                Change::RemoveTree(RemoveTree {
                    path: path("/p/build/x"),
                    before: tree,
                    kind: TreeKind::Derived,
                    folder: TreeFolder::Goes,
                }),
                write("/p/a", file(b"1"), file(b"2")),
                write("/h/new", FileState::Absent, file(b"2")),
                write("/p/old", file(b"1"), FileState::Absent),
            ],
            overlay,
            rerun: Some(Rerun { argv: vec!["make".into(), "a b".into()], cwd: path("/p"), instead_of: None }),
            preconditions: Vec::new(),
            notes: Vec::new(),
            advice: Vec::new(),
        };
        let sentences: Vec<String> = would_do(&plan).into_iter().map(|text| text.en).collect();
        let want = [
            "set aside build/x (1,234 files, 5.6 MB), restorable",
            "change a",
            "create /h/new",
            "delete old",
            "set LIBRARY_PATH for the command",
            "run `make 'a b'` again",
        ];
        assert_eq!(sentences, want);
        let line = RepairLine::of(&plan, Outcome::Repaired, Vec::new());
        let kinds: Vec<ChangeKind> = line.changes.iter().map(|change| change.kind).collect();
        use ChangeKind::{Environment, RemoveFile as Remove, RemoveTree as Tree, WriteFile as Write};
        assert_eq!(kinds, [Tree, Write, Write, Remove, Environment]);
        assert_eq!((line.changes[0].path.as_str(), line.changes[0].files), ("build/x", Some(1234)));
    }
}
