//! Takes channels that are gone out of conda's configuration, where they stand.
//!
//! Files are edited entry by entry; a variable is overlaid for the re-run, and the command's own `-c` left out of it;
//! conda's built-in list is written out without them. Never leaves a list empty, nor a command without any channel.

use super::own_config::{Follow, OwnFile, own_config};
use super::{LowerError, Lowered, Order, Verb};
use crate::change::{AbsPath, EnvEdit};
use crate::evidence::conda::{self, BUILT_IN_DEFAULTS, Dead, Effective, Origin, Tool};
use crate::evidence::questions::ArgSpec;
use crate::formats::yaml::Refusal;
use crate::recipe::{Applicability, Text};

/// `remove_conda_channel = { url = "${channel_url}" }`
pub const REMOVE_CONDA_CHANNEL: Verb = Verb {
    name: "remove_conda_channel",
    about: "Takes a channel out of every file and variable that names it for conda; keeps all else, and never leaves an empty list.",
    args: &[
        ArgSpec { name: "url", required: false, about: "URLs of the channels" },
        ArgSpec { name: "name", required: false, about: "Their names, for logs without URL" },
    ],
    lower,
};

fn lower(order: &Order<'_>) -> Result<Lowered, LowerError> {
    let dead = Dead::all(&order.list("url"), &order.list("name"));
    let found = conda::effective(order.host, order.command);
    if !found.has_other_than(&dead) {
        return Err(LowerError(Text::new("no channel would be left", "删除后将没有任何频道")));
    }
    let mut lowered = Lowered::default();
    command(order, &found, &dead, &mut lowered)?;
    let mut edited: Vec<(OwnFile, Vec<u8>)> = Vec::new();
    for (file, entries) in found.entries_by_file(&dead) {
        let own = present(order, &file)?;
        let bytes = conda::removed(&own.bytes(), &entries).map_err(|why| refused(&file, &why))?;
        edited.push((own, bytes));
    }
    for (file, entries) in found.toml_entries_by_file(&dead) {
        let own = present(order, &file)?;
        let (bytes, gone) = conda::removed_from_toml(&own.bytes(), &entries).map_err(|why| {
            let (line, reason) = (why.line, why.reason);
            by_hand(&file, line, [reason.en(), reason.zh()])
        })?;
        pixi(&gone, &mut lowered);
        edited.push((own, bytes));
    }
    variables(&found, &dead, &mut lowered);
    if found.places(&dead).any(|channel| channel.origin == Origin::BuiltIn) {
        built_in(order, &dead, &mut edited, &mut lowered)?;
    }
    falls_back(&found, &dead, &mut lowered);
    edited.into_iter().for_each(|(own, bytes)| own.write(&mut lowered, bytes));
    if lowered.changes.is_empty() && lowered.overlay.is_empty() && lowered.rerun_argv.is_none() {
        return Err(LowerError(Text::new("no configuration names it any more", "配置中已没有该频道")));
    }
    Ok(lowered)
}

/// Takes it out of the words of the command that runs again.
fn command(order: &Order<'_>, found: &Effective, dead: &[Dead], lowered: &mut Lowered) -> Result<(), LowerError> {
    let gone = found.command_words(dead);
    let Some(first) = gone.first() else { return Ok(()) };
    let command = order.so_far.rerun_argv.as_deref().or(order.command);
    let rewritten = command.filter(|_| found.command.tool != Tool::Pixi);
    let rewritten = rewritten.and_then(|command| conda::without_channels(command, &|word| gone.contains(&word)));
    if rewritten.is_none() {
        let place = Origin::CommandLine((*first).to_owned()).told();
        return Err(LowerError(Text::new(
            format!("it stands on {}: leave it out there", place.en),
            format!("该频道写在{}中：请从命令中去掉", place.zh),
        )));
    }
    lowered.rerun_argv = rewritten;
    lowered.advice.push(Text::new(
        format!("Leave `-c {first}` out of the command from now on: here it is left out of this one run."),
        format!("今后请从命令中去掉 `-c {first}`：此处只对这一次执行去掉。"),
    ));
    Ok(())
}

/// What the user should know of an edit of pixi's files.
fn pixi(gone: &[String], lowered: &mut Lowered) {
    lowered.limits.push((
        Applicability::Confirm,
        Text::new(
            "pixi may have a login for the channel that is not seen here, and it solves the workspace anew without it",
            "pixi 可能存有此处无法看到的频道登录凭据；去掉该频道后 pixi 会重新求解整个工作区",
        ),
    ));
    for key in gone {
        lowered.notes.push(Text::new(
            format!("`{key}` held nothing else and goes as a whole: the channels of the workspace, or pixi's own, count there"),
            format!("`{key}` 中没有其他频道，将整体删除：此后由工作区（或 pixi 默认）的频道生效"),
        ));
    }
}

fn present(order: &Order<'_>, file: &AbsPath) -> Result<OwnFile, LowerError> {
    let own = own_config(order, file, Follow::FileOnly)?;
    if own.is_there() {
        return Ok(own);
    }
    Err(LowerError(Text::new(format!("`{file}` is gone"), format!("`{file}` 已不存在"))))
}

fn refused(file: &AbsPath, why: &Refusal) -> LowerError {
    by_hand(file, why.line, [why.reason.en(), why.reason.zh()])
}

fn by_hand(file: &AbsPath, line: impl std::fmt::Display, [en, zh]: [&str; 2]) -> LowerError {
    LowerError(Text::new(
        format!("`{file}`:{line} has to be edited by hand: {en}"),
        format!("`{file}`:{line} 需要手工修改：{zh}"),
    ))
}

fn variables(found: &Effective, dead: &[Dead], lowered: &mut Lowered) {
    for name in ["CONDA_CHANNELS", "CONDA_CHANNEL", "CONDA_DEFAULT_CHANNELS"] {
        let in_it = |origin: &Origin| match origin {
            Origin::Variable { name: other, text } => (*other == name).then(|| text.clone()),
            Origin::Entry(_) | Origin::Toml(_) | Origin::CommandLine(_) | Origin::BuiltIn => None,
        };
        let gone: Vec<String> = found.places(dead).filter_map(|channel| in_it(&channel.origin)).collect();
        if gone.is_empty() {
            continue;
        }
        let mut kept: Vec<String> = Vec::new();
        for text in found.channels.iter().filter_map(|channel| in_it(&channel.origin)) {
            if !gone.contains(&text) && !kept.contains(&text) {
                kept.push(text);
            }
        }
        let edit = if kept.is_empty() { EnvEdit::Unset } else { EnvEdit::Set(kept.join(",")) };
        lowered.overlay.edit(name, edit);
        lowered.advice.push(Text::new(
            format!("Take the channel out of {name} where you set it (a shell file, a CI variable): here it is changed for this command alone."),
            format!("请在设置 {name} 的地方（shell 配置或 CI 变量）去掉该频道：此处只对本次命令生效。"),
        ));
    }
}

fn built_in(
    order: &Order<'_>,
    dead: &[Dead],
    edited: &mut Vec<(OwnFile, Vec<u8>)>,
    lowered: &mut Lowered,
) -> Result<(), LowerError> {
    let Some(file) = conda::user_file(order.host) else {
        return Err(LowerError(Text::new(
            "there is no home to keep a `.condarc` in",
            "没有可存放 `.condarc` 的主目录",
        )));
    };
    let own = own_config(order, &file, Follow::FileOnly)?;
    // This very step may edit the same file already.
    let already = edited.iter_mut().find(|(other, _)| other.is_same(&own));
    let before = already.as_ref().map_or_else(|| own.bytes(), |(_, bytes)| bytes.clone());
    let (bytes, kept) = conda::written_defaults(&before, dead).map_err(|why| refused(&file, &why))?;
    let kept = kept.join(", ");
    lowered.notes.push(Text::new(
        format!("conda's own list of default channels cannot be edited: `default_channels` is written with the rest of it ({kept})"),
        format!("conda 内置的默认频道列表无法修改：将写入 `default_channels`，保留其余频道（{kept}）"),
    ));
    match already {
        Some((_, edited)) => *edited = bytes,
        None => edited.push((own, bytes)),
    }
    Ok(())
}

/// A `default_channels` that goes as a whole brings conda's own list back.
fn falls_back(found: &Effective, dead: &[Dead], lowered: &mut Lowered) {
    let key_of = |origin: &Origin| match origin {
        Origin::Entry(at) => at.path == ["default_channels"],
        Origin::Variable { name, .. } => *name == "CONDA_DEFAULT_CHANNELS",
        Origin::Toml(_) | Origin::CommandLine(_) | Origin::BuiltIn => false,
    };
    let mut listed = found.channels.iter().filter(|channel| key_of(&channel.origin)).peekable();
    if listed.peek().is_none() || !listed.all(|channel| dead.iter().any(|dead| dead.is(channel))) {
        return;
    }
    let own = BUILT_IN_DEFAULTS.join(", ");
    lowered.limits.push((
        Applicability::Confirm,
        Text::new(
            format!("without an entry in `default_channels`, `defaults` stands for conda's own list again: {own}"),
            format!("`default_channels` 清空后，`defaults` 会恢复为 conda 内置的列表：{own}"),
        ),
    ));
}

#[cfg(test)]
#[path = "remove_conda_channel_tests.rs"]
mod tests;
