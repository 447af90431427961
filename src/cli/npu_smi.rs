//! `npu-smi info`, where it is installed: which chips there are.
//!
//! A program is run here, so that its place is looked at first: an absolute entry of PATH outside the project, owned
//! like the program by root or the user, and writable by nobody else.

use std::path::{Path, PathBuf};
use std::time::Duration;

use super::session::Session;
use crate::change::AbsPath;
use crate::evidence::{FileKind, Host};
use crate::os::process::{Command, run_captured};

/// Asks for the chips; none where it cannot be asked.
pub fn chips(session: &Session) -> Vec<String> {
    let Some(program) = find(session) else { return Vec::new() };
    let Ok(root) = AbsPath::new("/") else { return Vec::new() };
    let mut command = Command::new([program.into_os_string(), "info".into()], root);
    command.timeout = Some(Duration::from_secs(20));
    match run_captured(&command, 256 << 10) {
        Ok(captured) => names(&String::from_utf8_lossy(&captured.stdout)),
        Err(_) => Vec::new(),
    }
}

fn find(session: &Session) -> Option<PathBuf> {
    let path = session.env("PATH").unwrap_or_default();
    let usual = ["/usr/local/sbin", "/usr/local/bin", "/usr/sbin", "/usr/bin"].map(PathBuf::from);
    let folders: Vec<PathBuf> = std::env::split_paths(&path).chain(usual).collect();
    folders.into_iter().filter(|folder| folder.is_absolute()).find_map(|folder| {
        let program = session.host().real(&folder.join("npu-smi")).ok()?;
        let inside = AbsPath::new(&program).is_ok_and(|path| path.is_within(session.project()));
        let folder = program.parent()?;
        (!inside && is_ours(session, folder, FileKind::Folder) && is_ours(session, &program, FileKind::File))
            .then_some(program)
    })
}

/// Owned by root or the user, and nobody else may write it.
fn is_ours(session: &Session, path: &Path, kind: FileKind) -> bool {
    let host = session.host();
    host.follow(path)
        .is_ok_and(|meta| meta.kind == kind && (meta.user == 0 || meta.user == host.user()) && meta.mode & 0o022 == 0)
}

/// Reads the table: rows of a device begin with a number and a name, and tell its health.
fn names(table: &str) -> Vec<String> {
    let mut counted: std::collections::BTreeMap<String, usize> = std::collections::BTreeMap::new();
    for line in table.lines() {
        let cells: Vec<&str> = line.trim().trim_matches('|').split('|').map(str::trim).collect();
        let [first, health, ..] = cells.as_slice() else { continue };
        let mut words = first.split_whitespace();
        let (Some(number), Some(name), None) = (words.next(), words.next(), words.next()) else { continue };
        let is_health =
            ["OK", "Warning", "Alarm", "Critical", "UNKNOWN"].iter().any(|word| health.eq_ignore_ascii_case(word));
        if number.bytes().all(|byte| byte.is_ascii_digit()) && is_health {
            *counted.entry(format!("{name} ({health})")).or_default() += 1;
        }
    }
    counted.into_iter().map(|(name, count)| format!("{count} × {name}")).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn reads_the_table() {
        let table = "\
+--------------------------------------------------------------------------------------+
| npu-smi 24.1.0.3                 Version: 24.1.0.3                                   |
| NPU   Name                | Health        | Power(W)    Temp(C)                      |
| Chip                      | Bus-Id        | AICore(%)   Memory-Usage(MB)             |
| 0     910B2               | OK            | 89.2        50                0    / 0   |
| 0                         | 0000:C1:00.0  | 0           0    / 0                     |
| 1     910B2               | OK            | 90.1        51                0    / 0   |
| 0     0                   | 12345         | python                  | 1024           |";
        assert_eq!(names(table), ["2 × 910B2 (OK)"]);
        assert_eq!(names("dcmi module initialize failed"), [""; 0]);
    }
}
