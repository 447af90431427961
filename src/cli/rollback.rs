//! `fix rollback`: taking a repair back.

use anyhow::{Result, bail};

use super::args::Rollback;
use super::output;
use super::progress::Progress;
use super::session::{Session, for_screen};
use super::{convert, sentences, writing};
use crate::change::AbsPath;
use crate::evidence::Host;
use crate::recipe::Text;
use crate::report::{self, Outcome, Refusal, RefusalReason, RollbackResult};
use crate::rollback::{self, OnDrift, RollbackError, Which, roll_back};
use crate::transaction::{self, Drift, GroupState, StateDir, Summary, Version};

/// Takes a repair back; returns the exit status.
pub fn run(args: &Rollback, session: &Session) -> Result<u8> {
    let state = session.state()?;
    let which = match &args.id {
        Some(id) => Which::Id(id.clone()),
        None => Which::NewestIn(session.project().clone()),
    };
    if session.common.dry_run {
        return preview(session, &state, &which);
    }
    let root = session.host().git().top_level().unwrap_or(session.project()).clone();
    // What was cut off in this folder is undone first; what is named is finished by the rollback itself.
    if matches!(which, Which::NewestIn(_)) {
        writing::recover(session, &state, &root)?;
    }
    let on_drift = if args.force { OnDrift::SaveFirst } else { OnDrift::Refuse };
    let done = roll_back(&state, &which, on_drift, &mut Progress::new(session));
    let restored = |id: &str| restored_paths(&state, id);
    let result = match done {
        Ok(back) => {
            // What cannot be forgotten now is set again at most: it is no file of the user's.
            drop(transaction::forget(&state, &back.group));
            if let Some(saved) = &back.saved {
                session.say(&Text::new(
                    format!("your changes were saved: `fix rollback {saved}` brings them back"),
                    format!("您的改动已保存：用 `fix rollback {saved}` 可恢复"),
                ));
            }
            if !back.kept.is_empty() {
                let days = writing::limits(session).age.as_secs() / 86_400;
                session.say(&Text::new(
                    format!("what stood in the way is kept for {days} days, or until `fix history prune` deletes it"),
                    format!("挡在原位的内容会保留 {days} 天，或直到被 `fix history prune` 删除"),
                ));
            }
            for left in &back.left {
                session.warn(&Text::new(format!("cannot be undone: {left}"), format!("无法撤销：{left}")));
            }
            RollbackResult {
                outcome: Outcome::Restored,
                exit_code: 0,
                restored: restored(&back.group),
                group: Some(back.group),
                kept: back.kept.iter().map(ToString::to_string).collect(),
                refused: Vec::new(),
            }
        }
        Err(error) => failed(session, &error)?,
    };
    let code = result.exit_code;
    print(session, &result);
    Ok(code)
}

fn print(session: &Session, result: &RollbackResult) {
    if session.common.json {
        output::hand_out(report::json::render(result).as_bytes());
    } else if !session.common.quiet {
        output::show(&report::text::render_rollback(result, &session.text_style()));
    }
}

fn preview(session: &Session, state: &StateDir, which: &Which) -> Result<u8> {
    let group = match rollback::find(state, which) {
        Ok(group) => group,
        Err(error) => {
            let result = failed(session, &error)?;
            print(session, &result);
            return Ok(result.exit_code);
        }
    };
    let restored = restored_paths(state, &group);
    if session.common.json {
        let result = RollbackResult {
            outcome: Outcome::WouldChange,
            exit_code: 1,
            group: Some(group),
            restored,
            kept: Vec::new(),
            refused: Vec::new(),
        };
        print(session, &result);
        return Ok(1);
    }
    for path in restored {
        output::show(&format!("{}\n", for_screen(&path)));
    }
    session.say(&Text::new(
        format!("dry run: `fix rollback {group}` would put these back"),
        format!("试运行：`fix rollback {group}` 会恢复以上内容"),
    ));
    Ok(1)
}

/// The paths that a group touched.
fn restored_paths(state: &StateDir, id: &str) -> Vec<String> {
    let groups = transaction::history(state).unwrap_or_default();
    let changes = groups.iter().filter(|group| group.id == id).flat_map(|group| &group.transactions);
    let mut paths: Vec<String> = changes
        .flat_map(|transaction| &transaction.changes)
        .flat_map(|change| match change {
            Summary::Create(path) | Summary::Modify(path) | Summary::Delete(path) | Summary::SetAside { path, .. } => {
                vec![path.to_string()]
            }
            Summary::Run { writes, .. } | Summary::Save(writes) => writes.iter().map(ToString::to_string).collect(),
        })
        .collect();
    paths.sort();
    paths.dedup();
    paths
}

/// What became of it where it did not go; an id that nobody knows is a mistake of usage.
fn failed(session: &Session, error: &RollbackError) -> Result<RollbackResult> {
    let mut result = RollbackResult {
        outcome: Outcome::Refused,
        exit_code: 1,
        group: None,
        restored: Vec::new(),
        kept: Vec::new(),
        refused: Vec::new(),
    };
    let says = Text::new(error.to_string(), sentences::in_chinese(&error.to_string()));
    let refusal = |reason, path: Option<&AbsPath>, hint: Option<Text>| Refusal {
        reason,
        path: path.map(ToString::to_string),
        says: says.clone(),
        hint,
    };
    match error {
        RollbackError::Transaction(error) => result.refused.push(convert::transaction_refusal(error)),
        RollbackError::Nothing(_) | RollbackError::Already(_) => {
            result.outcome = Outcome::NothingToDo;
            result.exit_code = 0;
            session.say(&says);
            mention_saves(session, error);
        }
        RollbackError::Unknown(_) => bail!("{error}\nhint: `fix history` lists the repairs"),
        RollbackError::Forgotten { group, .. } => {
            result.group = Some(group.clone());
            let hint = Text::new(
                "what it changed stays; your version control or your backups may have the old state",
                "它所做的改动会保留；旧内容可从版本控制或您自己的备份中找回",
            );
            result.refused.push(refusal(RefusalReason::Guard, None, Some(hint)));
        }
        RollbackError::Drift { group, drifts } => {
            drifts.iter().for_each(|drift| show_drift(session, drift));
            result.group = Some(group.clone());
            let hint = Text::new(
                "`--force` saves the present version first, then takes the repair back",
                "`--force` 会先保存当前版本，再撤销修复",
            );
            result.refused.push(refusal(RefusalReason::Drift, drifts.first().map(|drift| &drift.path), Some(hint)));
        }
        RollbackError::Lost { group, paths } => {
            result.group = Some(group.clone());
            result.refused.push(refusal(RefusalReason::Guard, paths.first(), None));
        }
        RollbackError::Partial { group, path, .. } => {
            result.group = Some(group.clone());
            let hint = Text::new("`--force` puts back what is left", "`--force` 会恢复其余部分");
            result.refused.push(refusal(RefusalReason::Guard, Some(path), Some(hint)));
        }
        RollbackError::Unreadable { group, .. } => {
            result.group = Some(group.clone());
            let hint = Text::new(
                "what it kept is still there, in the state folder, and is not deleted",
                "其保留的内容仍在状态目录中，不会被删除",
            );
            result.refused.push(refusal(RefusalReason::Surroundings, None, Some(hint)));
        }
        RollbackError::Gone { path, .. } => result.refused.push(refusal(RefusalReason::Guard, Some(path), None)),
        RollbackError::Moved { group, path } => {
            result.group = Some(group.clone());
            let hint = Text::new(
                format!("was it moved? move it back to `{path}`, then run `fix rollback {group}` again"),
                format!("是否被移动过？请将其移回 `{path}`，再运行 `fix rollback {group}`"),
            );
            result.refused.push(refusal(RefusalReason::Surroundings, Some(path), Some(hint)));
        }
        RollbackError::Left { group, .. } => {
            result.group = Some(group.clone());
            result.refused.push(refusal(RefusalReason::Surroundings, None, None));
        }
        RollbackError::Incomplete { group, left: _, kept } => {
            writing::mention_kept(session, kept);
            result.kept = kept.iter().map(ToString::to_string).collect();
            result.outcome = Outcome::NeedsAttention;
            result.exit_code = 2;
            result.group = Some(group.clone());
            let hint = Text::new(
                format!("mend what is named, then `fix rollback {group}` goes on"),
                format!("处理上述问题后，`fix rollback {group}` 会继续"),
            );
            result.refused.push(refusal(RefusalReason::Surroundings, None, Some(hint)));
        }
    }
    Ok(result)
}

/// Names what an earlier forced rollback saved here: it comes back by name only.
fn mention_saves(session: &Session, error: &RollbackError) {
    let (RollbackError::Nothing(folder), Ok(state)) = (error, session.state()) else { return };
    for group in transaction::history(&state).unwrap_or_default() {
        if group.is_save() && group.state == GroupState::Applied && folder.is_within(&group.root) {
            let id = group.id;
            session.say(&Text::new(
                format!("your changes from before a rollback are kept: `fix rollback {id}` brings them back"),
                format!("某次回退之前您的改动仍保留着：用 `fix rollback {id}` 可恢复"),
            ));
        }
    }
}

/// Shows what was changed since a repair, as a diff where both versions are text.
fn show_drift(session: &Session, drift: &Drift) {
    if session.common.quiet || session.common.json {
        return;
    }
    let path = &drift.path;
    if let (Version::File { bytes: Some(old), mode }, Version::File { bytes: Some(new), mode: now }) =
        (&drift.expected, &drift.present)
    {
        let before = crate::change::FileImage { bytes: old.clone(), mode: *mode };
        let after = crate::change::FileImage { bytes: new.clone(), mode: *now };
        let shown = crate::diff::render_file(path, &before, &after, session.lang(), &session.screen_style());
        output::tell(&shown);
        return;
    }
    let say = |version: &Version| match version {
        Version::Absent => Text::new("nothing", "不存在"),
        Version::File { .. } => Text::new("a file", "文件"),
        Version::Rights { user, group, is_listed } => {
            let (en, zh) = if *is_listed { (" with an access list", "，带访问控制列表") } else { ("", "") };
            Text::new(
                format!("a file of user {user} and group {group}{en}"),
                format!("属于用户 {user}、组 {group} 的文件{zh}"),
            )
        }
        Version::Link(_) => Text::new("a link", "链接"),
        Version::Folder { changed } if changed.is_empty() => Text::new("a folder", "目录"),
        Version::Folder { changed } => {
            let names: Vec<String> = changed.iter().map(|name| name.display().to_string()).collect();
            Text::new(
                format!("a folder (changed: {})", names.join(", ")),
                format!("目录（变化：{}）", names.join("、")),
            )
        }
        Version::Other => Text::new("something else", "其他"),
        Version::Unreadable(why) => Text::new(format!("unreadable: {why}"), format!("无法读取：{why}")),
    };
    let (expected, present) = (say(&drift.expected), say(&drift.present));
    session.say(&Text::new(
        format!("{path}: the repair left {}; now there is {}", expected.en, present.en),
        format!("{path}：修复后为{}，现在为{}", expected.zh, present.zh),
    ));
}
