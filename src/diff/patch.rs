//! A patch for `git apply` and `patch -p1`, exact to the byte.

use std::collections::BTreeMap;
use std::collections::BTreeSet;
use std::os::unix::ffi::OsStrExt;
use std::path::Path;

use crate::change::{AbsPath, Change, FileImage, FileState};
use crate::redact::{Profile, Redactor};

use super::unified::{self, DiffError, LineKind};

/// What a plan does to files below one folder.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Patch {
    /// Names are relative to the folder; empty when nothing can be carried.
    pub bytes: Vec<u8>,
    /// What the plan does besides, in the plan's order.
    pub left_out: Vec<LeftOut>,
}

/// Something that a plan does and its patch does not.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct LeftOut {
    pub path: AbsPath,
    pub reason: Reason,
}

/// Why a patch leaves something out.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Reason {
    /// The file lies outside the folder that the patch is relative to.
    OutsideRoot,
    /// A line that the patch would show holds a secret.
    HoldsSecret,
    /// The file is git's own, which `git apply` refuses.
    GitsOwn,
    /// Only the executable bit is carried, other permissions are not.
    Permissions,
    /// A whole folder is set aside.
    Folder,
    /// A command writes it.
    WrittenByCommand,
}

/// Renders the files of `changes` that lie below `root`; several changes of one file become one.
pub fn render_patch(root: &AbsPath, changes: &[Change]) -> Result<Patch, DiffError> {
    let mut files: BTreeMap<&AbsPath, (&FileState, &FileState)> = BTreeMap::new();
    let mut left_out = Vec::new();
    for change in changes {
        match change {
            Change::WriteFile(write) => {
                files
                    .entry(&write.path)
                    .and_modify(|file| file.1 = &write.after)
                    .or_insert((&write.before, &write.after));
            }
            Change::RemoveTree(tree) => left_out.push(LeftOut { path: tree.path.clone(), reason: Reason::Folder }),
            Change::Run(run) => left_out
                .extend(run.writes.iter().map(|path| LeftOut { path: path.clone(), reason: Reason::WrittenByCommand })),
        }
    }
    let mut redactor = Redactor::new(Profile::Secrets);
    let mut bytes = Vec::new();
    for (path, (before, after)) in files {
        match render_file(root, path, before, after, &mut redactor)? {
            Ok(text) => {
                bytes.extend(text);
                if loses_permissions(before, after) {
                    left_out.push(LeftOut { path: path.clone(), reason: Reason::Permissions });
                }
            }
            Err(reason) => left_out.push(LeftOut { path: path.clone(), reason }),
        }
    }
    Ok(Patch { bytes, left_out })
}

fn render_file(
    root: &AbsPath,
    path: &AbsPath,
    before: &FileState,
    after: &FileState,
    redactor: &mut Redactor,
) -> Result<Result<Vec<u8>, Reason>, DiffError> {
    let Ok(name) = path.as_path().strip_prefix(root) else {
        return Ok(Err(Reason::OutsideRoot));
    };
    if name.components().any(|part| part.as_os_str().eq_ignore_ascii_case(".git")) {
        return Ok(Err(Reason::GitsOwn));
    }
    let (old, new) = (content(before), content(after));
    let lines = unified::lines(old, new).map_err(|source| DiffError { path: path.clone(), source })?;
    let mut text = header(name, before, after);
    if text.is_empty() && lines.is_empty() {
        return Ok(Ok(text));
    }
    // What one side tells is a secret on the other as well.
    secret_lines(redactor, old);
    let (new_secrets, old_secrets) = (secret_lines(redactor, new), secret_lines(redactor, old));
    let named = name.to_string_lossy();
    if redactor.redact(&named).as_str() != named
        || lines.iter().any(|line| old_secrets.contains(&line.old) || new_secrets.contains(&line.new))
    {
        return Ok(Err(Reason::HoldsSecret));
    }
    if text.is_empty() {
        text = git_line(name);
    }
    if !lines.is_empty() {
        text.extend(names(name, before, after));
    }
    for line in lines {
        text.extend(line.kind.sign().bytes());
        text.extend(&line.bytes);
        // The mark of the missing line feed stands on a line of its own.
        if line.kind != LineKind::NoNewline && !line.bytes.ends_with(b"\n") {
            text.push(b'\n');
        }
    }
    Ok(Ok(text))
}

fn content(state: &FileState) -> &[u8] {
    match state {
        FileState::Absent => b"",
        FileState::Present(image) => &image.bytes,
    }
}

/// Returns the 1-based numbers of the lines that hold a secret, of this file or of one seen before.
fn secret_lines(redactor: &mut Redactor, bytes: &[u8]) -> BTreeSet<usize> {
    // Neither decoding nor redacting changes the number of lines.
    let text = String::from_utf8_lossy(bytes);
    let redacted = redactor.redact(&text);
    let pairs = text.split('\n').zip(redacted.as_str().split('\n'));
    (1..).zip(pairs).filter(|(_, (line, shown))| line != shown).map(|(number, _)| number).collect()
}

fn git_line(name: &Path) -> Vec<u8> {
    [b"diff --git ", quoted("a/", name).as_slice(), b" ", &quoted("b/", name), b"\n"].concat()
}

/// Renders the lines that say what becomes of the file as such; nothing when only its content changes.
fn header(name: &Path, before: &FileState, after: &FileState) -> Vec<u8> {
    let modes = match (before, after) {
        (FileState::Absent, FileState::Absent) => return Vec::new(),
        (FileState::Absent, FileState::Present(new)) => format!("new file mode {}\n", git_mode(new)),
        (FileState::Present(old), FileState::Absent) => format!("deleted file mode {}\n", git_mode(old)),
        (FileState::Present(old), FileState::Present(new)) if git_mode(old) != git_mode(new) => {
            format!("old mode {}\nnew mode {}\n", git_mode(old), git_mode(new))
        }
        (FileState::Present(_), FileState::Present(_)) => return Vec::new(),
    };
    let mut out = git_line(name);
    out.extend(modes.bytes());
    out
}

fn git_mode(image: &FileImage) -> &'static str {
    if image.mode & 0o100 == 0 { "100644" } else { "100755" }
}

/// Says whether permissions change in more than git's executable bit.
fn loses_permissions(before: &FileState, after: &FileState) -> bool {
    match (before, after) {
        (FileState::Present(old), FileState::Present(new)) => old.mode & !0o111 != new.mode & !0o111,
        // git gives a new file what the umask leaves of 0666 or 0777.
        (FileState::Absent, FileState::Present(new)) => new.mode & 0o400 == 0 || new.mode & 0o044 == 0,
        (FileState::Present(_) | FileState::Absent, FileState::Absent) => false,
    }
}

/// Renders the two lines of names before the first hunk.
fn names(name: &Path, before: &FileState, after: &FileState) -> Vec<u8> {
    let side = |prefix: &str, state: &FileState| match state {
        FileState::Absent => b"/dev/null\n".to_vec(),
        FileState::Present(_) => {
            let mut out = quoted(prefix, name);
            // Without a TAB, `patch` takes what follows a blank for a time stamp.
            if !out.starts_with(b"\"") && out.contains(&b' ') {
                out.push(b'\t');
            }
            out.push(b'\n');
            out
        }
    };
    [b"--- ", side("a/", before).as_slice(), b"+++ ", &side("b/", after)].concat()
}

/// Writes a name as git does: as it is, or in quotes with C escapes.
fn quoted(prefix: &str, name: &Path) -> Vec<u8> {
    let bytes = name.as_os_str().as_bytes();
    let mut out = prefix.as_bytes().to_vec();
    if bytes.iter().all(|byte| matches!(byte, b' '..=b'~') && !matches!(byte, b'"' | b'\\')) {
        out.extend(bytes);
        return out;
    }
    out.insert(0, b'"');
    for byte in bytes {
        match byte {
            b'"' | b'\\' => out.extend([b'\\', *byte]),
            b'\n' => out.extend(b"\\n"),
            b'\t' => out.extend(b"\\t"),
            b' '..=b'~' => out.push(*byte),
            other => out.extend(format!("\\{other:03o}").bytes()),
        }
    }
    out.push(b'"');
    out
}

#[cfg(test)]
#[path = "patch_tests.rs"]
mod tests;
