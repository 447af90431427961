//! Which machine and boot this is, who runs on it, and what time it is.

use std::ffi::OsString;
use std::os::unix::ffi::OsStringExt;
use std::path::{Path, PathBuf};
use std::time::{SystemTime, UNIX_EPOCH};

use serde::{Deserialize, Serialize};

/// Tells one running system from another.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Machine {
    pub id: String,
    /// Process ids mean something within one boot only.
    pub boot: String,
    /// Process ids mean something within one pid namespace (container) only.
    pub namespace: String,
}

/// One process, not confused with a later one of the same number.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct ProcessId {
    pub pid: u32,
    /// Start time in clock ticks after boot, from `/proc/<pid>/stat`.
    pub start: u64,
}

impl Machine {
    /// Describes this machine.
    pub fn here() -> Self {
        let read = |path: &str| std::fs::read_to_string(path).map(|text| text.trim().to_owned()).unwrap_or_default();
        let mut id = read("/etc/machine-id");
        if id.is_empty() {
            id = rustix::system::uname().nodename().to_string_lossy().into_owned();
        }
        let namespace =
            std::fs::read_link("/proc/self/ns/pid").map(|link| link.to_string_lossy().into_owned()).unwrap_or_default();
        Self { id, boot: read("/proc/sys/kernel/random/boot_id"), namespace }
    }
}

impl ProcessId {
    /// Describes a process that runs; `None` when there is none.
    pub fn of(pid: u32) -> Option<Self> {
        let stat = std::fs::read(format!("/proc/{pid}/stat")).ok()?;
        // The program's name is in parentheses and may hold anything: fields count from the last `)`.
        let after = stat.iter().rposition(|byte| *byte == b')')? + 1;
        let text = String::from_utf8_lossy(&stat[after..]).into_owned();
        let mut fields = text.split_ascii_whitespace();
        if fields.next()? == "Z" {
            return None;
        }
        Some(Self { pid, start: fields.nth(18)?.parse().ok()? })
    }

    /// Describes this process.
    pub fn here() -> Self {
        let pid = std::process::id();
        Self::of(pid).unwrap_or(Self { pid, start: 0 })
    }

    /// Says whether this very process still runs.
    pub fn is_alive(&self) -> bool {
        Self::of(self.pid).is_some_and(|now| now.start == self.start)
    }
}

/// Returns the time since 1970: the one place where this library asks for it.
pub fn now() -> std::time::Duration {
    SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default()
}

/// Lists the folders in or below `folder` (a real path) in which some process works or on which something is
/// mounted; they cannot be moved away without harm.
pub fn pinned_below(folder: &Path) -> Vec<PathBuf> {
    let mut pinned: Vec<PathBuf> = working_folders().chain(mount_points()).filter(|p| p.starts_with(folder)).collect();
    pinned.sort();
    pinned.dedup();
    pinned
}

fn working_folders() -> impl Iterator<Item = PathBuf> {
    let entries = std::fs::read_dir("/proc").into_iter().flatten().flatten();
    entries
        .filter(|entry| entry.file_name().as_encoded_bytes().iter().all(u8::is_ascii_digit))
        .filter_map(|entry| std::fs::read_link(entry.path().join("cwd")).ok())
}

/// Lists what is mounted below `folder` (a real path), but for the folder itself.
pub fn mounted_below(folder: &Path) -> Vec<PathBuf> {
    mount_points().into_iter().filter(|point| point != folder && point.starts_with(folder)).collect()
}

fn mount_points() -> Vec<PathBuf> {
    mount_points_in(&std::fs::read(MOUNT_INFO).unwrap_or_default())
}

/// Where the kernel lists what is mounted.
pub const MOUNT_INFO: &str = "/proc/self/mountinfo";

/// Lists the mount points that the text of [`MOUNT_INFO`] names, sorted.
pub fn mount_points_in(text: &[u8]) -> Vec<PathBuf> {
    let mut points: Vec<PathBuf> = text
        .split(|byte| *byte == b'\n')
        .filter_map(|line| line.split(|byte| *byte == b' ').nth(4))
        .map(|field| PathBuf::from(OsString::from_vec(unescape_octal(field))))
        .collect();
    points.sort();
    points.dedup();
    points
}

/// Undoes the `\040` of `/proc/self/mountinfo`.
fn unescape_octal(field: &[u8]) -> Vec<u8> {
    let mut out = Vec::with_capacity(field.len());
    let mut at = 0;
    while at < field.len() {
        let digits =
            field.get(at + 1..at + 4).filter(|digits| digits.iter().all(|digit| (b'0'..=b'7').contains(digit)));
        match (field[at], digits) {
            (b'\\', Some(digits)) => {
                let value = digits.iter().fold(0u32, |value, digit| value * 8 + u32::from(digit - b'0'));
                out.push(value as u8);
                at += 4;
            }
            (byte, _) => {
                out.push(byte);
                at += 1;
            }
        }
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn mount_points_with_blanks() {
        for (given, want) in [(&b"/a\\040b"[..], &b"/a b"[..]), (b"/a\\b", b"/a\\b"), (b"\\134x\\04", b"\\x\\04")] {
            assert_eq!(unescape_octal(given), want);
        }
    }

    #[test]
    fn this_process_lives_and_an_older_one_of_its_number_does_not() {
        let here = ProcessId::here();
        assert!(here.is_alive());
        assert!(!ProcessId { start: here.start + 1, ..here }.is_alive());
    }

    #[test]
    fn a_working_folder_is_pinned() {
        let here = std::fs::canonicalize(std::env::current_dir().unwrap()).unwrap();
        assert!(pinned_below(&here).contains(&here));
    }
}
