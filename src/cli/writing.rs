//! What every command does before and after it writes: finish what was cut off, open a group, forget the old.

use std::ffi::OsString;
use std::time::Duration;

use anyhow::Result;

use super::progress::Progress;
use super::repair::withheld;
use super::session::Session;
use super::{Refused, convert};
use crate::change::{AbsPath, EnvOverlay};
use crate::recipe::Text;
use crate::redact::{Profile, Redactor};
use crate::report::RefusalReason;
use crate::transaction::{
    self, ForgottenBy, Group, GroupState, Limits, RecoveredOutcome, Remembered, Scope, StateDir, Unrecoverable,
};

/// Undoes what an earlier `fix` left behind when it was killed, for the same folder.
pub fn recover(session: &Session, state: &StateDir, root: &AbsPath) -> Result<()> {
    let met = transaction::recover(state, &Scope::Root(root.clone()), &mut Progress::new(session))
        .map_err(|error| Refused::new(convert::transaction_refusal(&error)))?;
    for one in met {
        let (group, recipe) = (&one.unfinished.group, &one.unfinished.recipe);
        match one.outcome {
            RecoveredOutcome::Undone { kept } => {
                session.say(&Text::new(
                    format!("an earlier repair (`{recipe}`) was cut off; the state before it is back"),
                    format!("先前的修复（`{recipe}`）被中断；已恢复到修复之前的状态"),
                ));
                mention_kept(session, &kept);
            }
            RecoveredOutcome::NeedsAttention { left, kept } => {
                mention_kept(session, &kept);
                let left = left.join("; ");
                return Err(Refused::new(withheld(
                    RefusalReason::Surroundings,
                    Text::new(
                        format!("an earlier repair (`{recipe}`) was cut off and could not be undone: {left}"),
                        format!("先前的修复（`{recipe}`）被中断且无法撤销：{left}"),
                    ),
                    Text::new(
                        format!("mend what is named, then `fix rollback {group}`"),
                        format!("处理上述问题后，请用 `fix rollback {group}`"),
                    ),
                ))
                .into());
            }
            // It is not cut off. Where this command wants the same files, it is refused with the holder's name.
            RecoveredOutcome::Left(Unrecoverable::AtWork(_)) => {}
            RecoveredOutcome::Left(
                why @ (Unrecoverable::OtherMachine
                | Unrecoverable::OtherBoot
                | Unrecoverable::OtherFileSystem(_)
                | Unrecoverable::ChildRuns(_)),
            ) => session.say(&Text::new(
                format!("an earlier repair (`{recipe}`) was cut off and is left alone: {why}"),
                format!("先前的修复（`{recipe}`）被中断，未作处理：{why}"),
            )),
        }
    }
    Ok(())
}

/// Names what an undo moved out of the way, and how long it is kept.
pub fn mention_kept(session: &Session, kept: &[AbsPath]) {
    for path in kept {
        session.say(&Text::new(
            format!("what stood in the way of the undo is kept in `{path}`"),
            format!("挡在撤销路径上的内容保留在 `{path}`"),
        ));
    }
    if !kept.is_empty() {
        let days = limits(session).age.as_secs() / 86_400;
        session.say(&Text::new(
            format!("what stood in the way is kept for {days} days, or until `fix history prune` deletes it"),
            format!("挡在原位的内容会保留 {days} 天，或直到被 `fix history prune` 删除"),
        ));
    }
}

/// What a dry run says instead of writing a file that the user named.
pub fn would_write(path: &AbsPath) -> Text {
    Text::new(format!("dry run: would write `{path}`"), format!("试运行：将写入 `{path}`"))
}

/// Mentions what was cut off, for commands that only read.
pub fn mention_unfinished(session: &Session) {
    // A state folder that cannot be found or read holds nothing to mention; a writing command says why.
    let Ok(state) = session.state() else { return };
    for one in transaction::pending(&state).unwrap_or_default() {
        let (recipe, root) = (&one.recipe, &one.root);
        session.say(&Text::new(
            format!("note: a repair (`{recipe}`) in `{root}` was cut off; the next `fix` that writes there undoes it"),
            format!("注意：`{root}` 中的修复（`{recipe}`）被中断；下次在该处写入的 `fix` 会先撤销它"),
        ));
    }
}

/// Prepares a group for what this invocation does to a project.
pub fn group(state: &StateDir, root: &AbsPath, command: &[OsString]) -> Group {
    let words: Vec<String> = command.iter().map(|word| word.to_string_lossy().into_owned()).collect();
    let mut redactor = Redactor::new(Profile::Secrets);
    let redacted = redactor.redact_words(&words).into_iter().map(|word| word.into_string()).collect();
    Group::new(state, root.clone(), redacted)
}

/// How much is kept without being asked.
pub fn limits(session: &Session) -> Limits {
    let number = |name: &str, usual: u64| {
        session.env(name).and_then(|value| value.to_str()?.parse::<u64>().ok()).unwrap_or(usual)
    };
    let usual = Limits::default();
    let days = usual.age.as_secs() / 86_400;
    Limits {
        groups: usize::try_from(number("FIX_KEEP_REPAIRS", usual.groups as u64)).unwrap_or(usual.groups),
        age: Duration::from_secs(number("FIX_KEEP_DAYS", days).saturating_mul(86_400)),
        bytes: number("FIX_KEEP_GIB", usual.bytes >> 30).saturating_mul(1 << 30),
        newcomers: usual.newcomers,
        clock: usual.clock,
    }
}

/// Forgets old backups after something new was kept. What cannot be forgotten now is tried again next time.
pub fn prune(session: &Session, state: &StateDir) {
    let pruned = transaction::beyond(state, &limits(session)).and_then(|going| {
        let ids: Vec<String> = going.iter().map(|group| group.id.clone()).collect();
        let pruned = transaction::prune_these(state, &ids, ForgottenBy::Limits)?;
        Ok(going.into_iter().filter(move |group| pruned.groups.contains(&group.id)).collect::<Vec<_>>())
    });
    // Nobody misses the backup of what was taken back.
    for group in pruned.iter().flatten().filter(|group| group.state == GroupState::Applied) {
        let (id, root) = (&group.id, &group.root);
        session.say(&Text::new(
            format!("note: more is kept than FIX_KEEP_… allows: the backup of {id} in `{root}` was deleted, that repair stays"),
            format!("注意：保留的内容超出 FIX_KEEP_… 的上限：已删除 `{root}` 中 {id} 的备份，该修复不再能撤销"),
        ));
    }
    if let Err(error) = pruned {
        session
            .say(&Text::new(format!("old backups could not be deleted: {error}"), format!("无法删除旧备份：{error}")));
    }
}

/// Remembers the environment of a kept repair for `fix env`. Where that fails, the repair stands and is told whole.
pub fn remember(session: &Session, root: &AbsPath, recipes: &[String], group: Option<&str>, overlay: &EnvOverlay) {
    if overlay.is_empty() {
        return;
    }
    let one = Remembered::new(root.clone(), recipes.to_vec(), group.map(str::to_owned), overlay.clone());
    let done = session.state().and_then(|state| Ok(transaction::remember(&state, &one)?));
    if let Err(error) = done {
        session.say(&Text::new(
            format!("`fix env` will not know this environment: {error:#}"),
            format!("`fix env` 将无法得知这些环境变量：{error:#}"),
        ));
    }
}
