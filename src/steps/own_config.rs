//! A configuration file of the user, and where its bytes really stand.
//!
//! A link is followed once, and only to a file of the user's own: the link stays, and so does everything that it was
//! made for. A chain of links, or a file of somebody else, is refused.

use super::{LowerError, Lowered, Order};
use crate::change::{AbsPath, Change, FileImage, FileState, WriteFile};
use crate::evidence::{FileKind, tracked_file};
use crate::recipe::{Applicability, Text};

/// A file that a verb edits.
pub(super) struct OwnFile {
    /// As the tool names it.
    pub named: AbsPath,
    /// Where the bytes stand.
    path: AbsPath,
    before: FileState,
    /// What earlier steps make of it.
    now: FileState,
    limit: Option<Text>,
    /// The plan may allow the file although the way to it is a link.
    is_linked: bool,
}

/// Which links on the way to a file may lead out of the allowed roots.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Follow {
    /// The file's own, and those of the folders above it (`~/.config → ~/dotfiles/config`).
    Folders,
    /// The file's own only: a project may link its folders to anywhere.
    FileOnly,
}

/// What a new file of the user gets.
const NEW_MODE: u32 = 0o644;

/// Finds the file; it may be absent.
pub(super) fn own_config(order: &Order<'_>, named: &AbsPath, follow: Follow) -> Result<OwnFile, LowerError> {
    let path = real_place(order, named)?;
    let is_link = order.host.inspect(named.as_path()).is_ok_and(|meta| meta.kind == FileKind::Link);
    let is_linked = path != *named && (is_link || follow == Follow::Folders);
    let before = order.file(&path)?;
    let now = order.pending(&path).unwrap_or_else(|| before.clone());
    let limit = tracked_file(order.host, &path);
    Ok(OwnFile { named: named.clone(), path, before, now, limit, is_linked })
}

fn real_place(order: &Order<'_>, named: &AbsPath) -> Result<AbsPath, LowerError> {
    let host = order.host;
    let refused = |en: String, zh: String| Err(LowerError(Text::new(en, zh)));
    let kind = |path: &AbsPath| host.inspect(path.as_path()).ok().map(|meta| meta.kind);
    if kind(named) == Some(FileKind::Link) {
        let target = host.link(named.as_path()).ok().zip(named.parent()).map(|(to, parent)| parent.resolve(to));
        if target.as_ref().and_then(kind) != Some(FileKind::File) {
            return refused(
                format!("`{named}` is a link that leads to no regular file, or to another link"),
                format!("`{named}` 是链接，但没有直接指向普通文件"),
            );
        }
    }
    // The folder may not be there yet; a folder that is a link counts as the link that it is.
    let mut missing = Vec::new();
    let mut at = named.clone();
    let real = loop {
        match host.real(at.as_path()) {
            Ok(real) => break real,
            Err(_) => match (at.file_name().map(ToOwned::to_owned), at.parent()) {
                (Some(name), Some(parent)) => {
                    missing.push(name);
                    at = parent;
                }
                _ => return Ok(named.clone()),
            },
        }
    };
    let real = missing.iter().rev().fold(real, |path, name| path.join(name));
    let path =
        AbsPath::new(real).map_err(|error| LowerError(Text::new(error.to_string(), format!("路径无效：{error}"))))?;
    let foreign = host.follow(path.as_path()).is_ok_and(|meta| meta.user != host.user());
    if path != *named && foreign {
        return refused(
            format!("`{named}` leads to `{path}`, which is another user's"),
            format!("`{named}` 指向其他用户的 `{path}`"),
        );
    }
    Ok(path)
}

impl OwnFile {
    /// Says whether the file is there, as earlier steps leave it.
    pub fn is_there(&self) -> bool {
        matches!(self.now, FileState::Present(_))
    }

    /// Says whether both are one file.
    pub fn is_same(&self, other: &OwnFile) -> bool {
        self.path == other.path
    }

    /// The bytes to edit; an absent file is empty.
    pub fn bytes(&self) -> Vec<u8> {
        match &self.now {
            FileState::Present(image) => image.bytes.clone(),
            FileState::Absent => Vec::new(),
        }
    }

    /// Adds the change, where there is one.
    pub fn write(self, lowered: &mut Lowered, bytes: Vec<u8>) {
        let mode = match (&self.now, &self.before) {
            (FileState::Present(image), _) | (FileState::Absent, FileState::Present(image)) => image.mode,
            (FileState::Absent, FileState::Absent) => NEW_MODE,
        };
        let after = FileState::Present(FileImage { bytes, mode });
        if after == self.now {
            return;
        }
        if self.is_linked {
            lowered.links.push((self.named, self.path.clone()));
        }
        lowered.limits.extend(self.limit.map(|why| (Applicability::Confirm, why)));
        lowered.changes.push(Change::WriteFile(WriteFile { path: self.path, before: self.before, after }));
    }
}
