//! Takes channels that are gone out of conda's configuration, where they stand.
//!
//! Files are edited entry by entry; a variable is overlaid for the re-run; conda's built-in list is written out
//! without them. What stands on the command line is the user's to leave out.

use super::{LowerError, Lowered, Order, Verb};
use crate::change::{AbsPath, Change, EnvEdit, FileImage, FileState, WriteFile};
use crate::evidence::FileKind;
use crate::evidence::conda::{self, BUILT_IN_DEFAULTS, Dead, Effective, Origin};
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
    if let Some(channel) = found.places(&dead).find(|channel| matches!(channel.origin, Origin::CommandLine(_))) {
        let place = channel.origin.told();
        return Err(LowerError(Text::new(
            format!("it stands on {}: leave it out there", place.en),
            format!("该频道写在{}中：请从命令中去掉", place.zh),
        )));
    }
    if !found.has_other_than(&dead) {
        return Err(LowerError(Text::new("no channel would be left", "删除后将没有任何频道")));
    }
    let mut lowered = Lowered::default();
    for (file, entries) in found.entries_by_file(&dead) {
        let target = target(order, &file, &mut lowered)?;
        let before = present(order, &target)?;
        let bytes = conda::removed(&current(order, &target, &before), &entries).map_err(|why| refused(&file, &why))?;
        write(&mut lowered, target, FileState::Present(before.clone()), bytes, before.mode);
    }
    variables(&found, &dead, &mut lowered);
    if found.places(&dead).any(|channel| channel.origin == Origin::BuiltIn) {
        built_in(order, &dead, &mut lowered)?;
    }
    falls_back(&found, &dead, &mut lowered);
    if lowered.changes.is_empty() && lowered.overlay.is_empty() {
        return Err(LowerError(Text::new("no configuration names it any more", "配置中已没有该频道")));
    }
    Ok(lowered)
}

/// Returns the file that the bytes stand in: a configuration file's own link is followed once, when its target is the
/// user's.
fn target(order: &Order<'_>, file: &AbsPath, lowered: &mut Lowered) -> Result<AbsPath, LowerError> {
    let host = order.host;
    let is_link = host.inspect(file.as_path()).is_ok_and(|meta| meta.kind == FileKind::Link);
    let real = host.real(file.as_path()).ok().and_then(|real| AbsPath::new(real).ok());
    let Some(real) = real else {
        return Err(LowerError(Text::new(format!("`{file}` is gone"), format!("`{file}` 已不存在"))));
    };
    if !is_link {
        return Ok(real);
    }
    let direct = host.link(file.as_path()).ok().zip(file.parent()).map(|(to, folder)| folder.resolve(to));
    let is_own = direct.is_some_and(|direct| {
        host.inspect(direct.as_path()).is_ok_and(|meta| meta.kind == FileKind::File && meta.user == host.user())
    });
    if !is_own {
        return Err(LowerError(Text::new(
            format!("`{file}` is a link to what is not yours, or to another link"),
            format!("`{file}` 是指向他人文件或另一个链接的符号链接"),
        )));
    }
    lowered.links.push((file.clone(), real.clone()));
    Ok(real)
}

fn present(order: &Order<'_>, file: &AbsPath) -> Result<FileImage, LowerError> {
    match order.file(file)? {
        FileState::Present(image) => Ok(image),
        FileState::Absent => Err(LowerError(Text::new(format!("`{file}` is gone"), format!("`{file}` 已不存在")))),
    }
}

/// The bytes as an earlier step of the plan leaves them.
fn current(order: &Order<'_>, file: &AbsPath, before: &FileImage) -> Vec<u8> {
    match order.pending(file) {
        Some(FileState::Present(image)) => image.bytes,
        Some(FileState::Absent) | None => before.bytes.clone(),
    }
}

fn write(lowered: &mut Lowered, path: AbsPath, before: FileState, bytes: Vec<u8>, mode: u32) {
    let after = FileState::Present(FileImage { bytes, mode });
    lowered.changes.push(Change::WriteFile(WriteFile { path, before, after }));
}

fn refused(file: &AbsPath, why: &Refusal) -> LowerError {
    let line = why.line;
    LowerError(Text::new(
        format!("`{file}`:{line} has to be edited by hand: {}", why.reason.en()),
        format!("`{file}`:{line} 需要手工修改：{}", why.reason.zh()),
    ))
}

fn variables(found: &Effective, dead: &[Dead], lowered: &mut Lowered) {
    for name in ["CONDA_CHANNELS", "CONDA_CHANNEL", "CONDA_DEFAULT_CHANNELS"] {
        let in_it = |origin: &Origin| match origin {
            Origin::Variable { name: other, text } => (*other == name).then(|| text.clone()),
            Origin::Entry(_) | Origin::CommandLine(_) | Origin::BuiltIn => None,
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

fn built_in(order: &Order<'_>, dead: &[Dead], lowered: &mut Lowered) -> Result<(), LowerError> {
    let Some(file) = conda::user_file(order.host) else {
        return Err(LowerError(Text::new(
            "there is no home to keep a `.condarc` in",
            "没有可存放 `.condarc` 的主目录",
        )));
    };
    let is_there = order.host.inspect(file.as_path()).is_ok();
    let path = if is_there { target(order, &file, lowered)? } else { file.clone() };
    let before = order.file(&path)?;
    let (bytes, mode) = match &before {
        FileState::Present(image) => (current(order, &path, image), image.mode),
        FileState::Absent => (Vec::new(), 0o644),
    };
    // This very plan may edit the same file already.
    let edited = lowered.changes.iter().position(|change| change.touches().contains(&&path));
    let bytes = match edited.map(|at| lowered.changes.remove(at)) {
        Some(Change::WriteFile(WriteFile { after: FileState::Present(image), .. })) => image.bytes,
        Some(Change::WriteFile(_) | Change::RemoveTree(_) | Change::Run(_)) | None => bytes,
    };
    let (bytes, kept) = conda::written_defaults(&bytes, dead).map_err(|why| refused(&file, &why))?;
    let kept = kept.join(", ");
    lowered.notes.push(Text::new(
        format!("conda's own list of default channels cannot be edited: `default_channels` is written with the rest of it ({kept})"),
        format!("conda 内置的默认频道列表无法修改：将写入 `default_channels`，保留其余频道（{kept}）"),
    ));
    write(lowered, path, before, bytes, mode);
    Ok(())
}

/// A `default_channels` that goes as a whole brings conda's own list back.
fn falls_back(found: &Effective, dead: &[Dead], lowered: &mut Lowered) {
    let key_of = |origin: &Origin| match origin {
        Origin::Entry(at) => at.path == ["default_channels"],
        Origin::Variable { name, .. } => *name == "CONDA_DEFAULT_CHANNELS",
        Origin::CommandLine(_) | Origin::BuiltIn => false,
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
