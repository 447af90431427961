//! Helper programs of ours: nothing to read, bounded output, a locale whose messages we know.

use super::stream::Connection;
use super::supervise::supervise;
use super::{Command, Output, SpawnError, Status};
use crate::os::signals::{Group, Owner};

/// What a helper program printed, and how it ended.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Captured {
    /// How it ended.
    pub status: Status,
    /// The beginning of its standard output.
    pub stdout: Vec<u8>,
    /// The beginning of its standard error.
    pub stderr: Vec<u8>,
    /// Whether something of either was left out.
    pub truncated: bool,
    /// It ended because its time was up.
    pub timed_out: bool,
    /// The signal by which the user stopped us while it ran; it was ended as well.
    pub interrupted: Option<i32>,
}

/// Runs a helper program to its end and keeps at most `limit` bytes of each of its streams.
///
/// It reads `/dev/null`, speaks `C.UTF-8` and leads a process group, so that its time limit ends all that it started.
pub fn run_captured(command: &Command, limit: usize) -> Result<Captured, SpawnError> {
    let mut command = command.clone();
    for (name, value) in [("LC_ALL", Some("C.UTF-8")), ("LANGUAGE", None)] {
        command.env.push((name.into(), value.map(Into::into)));
    }
    let mut kept = Kept { limit, stdout: Vec::new(), stderr: Vec::new(), truncated: false };
    let connection = Connection::captured()?;
    let ended = supervise(&command, connection, Owner::Us, Group::Own, &mut kept, &mut |_| {})?;
    Ok(Captured {
        status: ended.status,
        stdout: kept.stdout,
        stderr: kept.stderr,
        truncated: kept.truncated,
        timed_out: ended.timed_out,
        interrupted: ended.interrupted,
    })
}

struct Kept {
    limit: usize,
    stdout: Vec<u8>,
    stderr: Vec<u8>,
    truncated: bool,
}

impl Output for Kept {
    fn stdout(&mut self, bytes: &[u8]) {
        self.truncated |= keep(&mut self.stdout, bytes, self.limit);
    }

    fn stderr(&mut self, bytes: &[u8]) {
        self.truncated |= keep(&mut self.stderr, bytes, self.limit);
    }
}

/// Appends as much as the limit allows; returns whether something was left out.
fn keep(kept: &mut Vec<u8>, bytes: &[u8], limit: usize) -> bool {
    let room = limit.saturating_sub(kept.len()).min(bytes.len());
    kept.extend_from_slice(&bytes[..room]);
    room < bytes.len()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::os::AbsPath;
    use std::time::Duration;

    fn sh(script: &str) -> Command {
        Command::new(["sh", "-c", script], AbsPath::new("/").unwrap())
    }

    #[test]
    fn keeps_both_streams_apart_and_bounded() {
        let script = "printf out; printf error >&2; exit 3";
        let captured = run_captured(&sh(script), 4).unwrap();
        assert_eq!(captured.status, Status::Exited(3));
        assert_eq!((&captured.stdout[..], &captured.stderr[..]), (&b"out"[..], &b"erro"[..]));
        assert!(captured.truncated);
        assert!(!run_captured(&sh(script), 5).unwrap().truncated);
    }

    #[test]
    fn reads_more_than_it_keeps() {
        let captured = run_captured(&sh("head -c 3000000 /dev/zero"), 1000).unwrap();
        assert_eq!((captured.stdout.len(), captured.status), (1000, Status::Exited(0)));
    }

    #[test]
    fn runs_in_its_folder_with_its_environment_and_nothing_to_read() {
        let mut command = sh("pwd; echo $LC_ALL $GIVEN ${HOME-unset}; cat; readlink /proc/self/fd/0");
        command.env.extend([("GIVEN".into(), Some("value".into())), ("HOME".into(), None)]);
        let captured = run_captured(&command, 1000).unwrap();
        assert_eq!(String::from_utf8(captured.stdout).unwrap(), "/\nC.UTF-8 value unset\n/dev/null\n");
    }

    #[test]
    fn a_time_limit_ends_the_whole_group() {
        // The grandchild ignores SIGTERM and would keep the pipe; its pid tells whether it was ended.
        let mut command = sh("(trap '' TERM; exec sleep 600) & echo $!; wait");
        command.timeout = Some(Duration::from_millis(500));
        let captured = run_captured(&command, 1000).unwrap();
        assert!(captured.timed_out, "{captured:?}");
        assert_eq!(captured.status, Status::Signalled(15));
        let grandchild = String::from_utf8(captured.stdout).unwrap();
        let stat = format!("/proc/{}/stat", grandchild.trim());
        // Gone, or waiting to be reaped; a signal needs its moment.
        let is_gone = || std::fs::read_to_string(&stat).map_or(true, |stat| stat.contains(") Z"));
        assert!((0..1000).any(|_| is_gone() || {
            std::thread::sleep(Duration::from_millis(10));
            false
        }));
    }

    #[test]
    fn a_daemon_left_behind_is_not_waited_for() {
        let captured = run_captured(&sh("echo before; sleep 600 & echo $!"), 1000).unwrap();
        let text = String::from_utf8(captured.stdout).unwrap();
        let daemon = text.strip_prefix("before\n").unwrap().trim();
        assert!(std::process::Command::new("kill").arg(daemon).status().unwrap().success(), "it still ran");
    }

    #[test]
    fn says_why_it_did_not_run() {
        let folder = tempfile::tempdir().unwrap();
        let cwd = AbsPath::new(folder.path()).unwrap();
        // Copied by a program of its own: a child that another test starts meanwhile could hold our descriptor, and what
        // somebody has open for writing is not executed.
        let write = |name: &str, content: &[u8]| {
            let path = folder.path().join(name);
            std::fs::write(path.with_extension("content"), content).unwrap();
            let mut install = std::process::Command::new("install");
            install.args(["-m", "755"]).arg(path.with_extension("content")).arg(path);
            assert!(install.status().unwrap().success());
        };
        write("orphan", b"#!/nonexistent/interpreter\n");
        write("foreign", b"\x7fELF\0\0\0\0");
        write("plain", b"echo plain \"$1\" \"$0\"\n");
        for (name, code) in [("./absent", 127), ("absent", 127), ("./orphan", 126), ("./foreign", 126), ("/", 126)] {
            let error = run_captured(&Command::new([name], cwd.clone()), 10).unwrap_err();
            assert_eq!(error.shell_code(), code, "{error}");
        }
        let captured = run_captured(&Command::new(["./plain", "a b"], cwd.clone()), 100).unwrap();
        assert_eq!(String::from_utf8(captured.stdout).unwrap(), "plain a b ./plain\n");
        let nowhere = Command::new(["true"], cwd.resolve("nowhere"));
        assert!(run_captured(&nowhere, 10).unwrap_err().to_string().contains("nowhere"));
        assert!(run_captured(&Command::new([""; 0], cwd), 10).is_err());
    }
}
