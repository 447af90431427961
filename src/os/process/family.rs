//! Who belongs to whom: descendants of a process, the controlling terminal, job control.
//!
//! Reads `/proc` only, and answers "no" where that cannot be read.

use std::collections::BTreeMap;

use rustix::fs::{Mode, OFlags};
use rustix::process::{Pid, Signal, getpid, kill_process};

/// No process has more ancestors than this, unless its parents change while we look.
const MOST_GENERATIONS: usize = 256;

/// The descendants of a process at one moment, with their start times so that a reused pid is not taken for one.
#[derive(Debug, Default)]
pub(crate) struct Family {
    members: Vec<Member>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Member {
    pid: i32,
    parent: i32,
    group: i32,
    session: i32,
    started: u64,
}

impl Family {
    /// Lists the descendants of `ancestor` that are in its session: a daemon that left it is on its own.
    pub(crate) fn of(ancestor: Pid) -> Self {
        let ancestor = ancestor.as_raw_nonzero().get();
        let Some(session) = member(ancestor).map(|it| it.session) else { return Self::default() };
        let everybody = everybody();
        let members = everybody
            .values()
            .filter(|it| it.session == session && it.pid != ancestor)
            .filter(|it| descends(it.parent, ancestor, |pid| everybody.get(&pid).map(|it| it.parent)))
            .copied()
            .collect();
        Self { members }
    }

    /// Sends `signal` to every member that is still the one that was listed.
    pub(crate) fn signal(&self, signal: Signal) {
        for listed in &self.members {
            let same = member(listed.pid).is_some_and(|now| now.started == listed.started);
            if same && let Some(pid) = Pid::from_raw(listed.pid) {
                // It may have ended meanwhile, which is what we want.
                let _ = kill_process(pid, signal);
            }
        }
    }
}

/// Says whether the process `pid` is `ancestor` or one of its descendants.
pub(crate) fn is_of_family(pid: i32, ancestor: Pid) -> bool {
    descends(pid, ancestor.as_raw_nonzero().get(), |pid| member(pid).map(|it| it.parent))
}

/// Says whether we have a controlling terminal.
pub(crate) fn has_controlling_terminal() -> bool {
    rustix::fs::open("/dev/tty", OFlags::RDWR | OFlags::NOCTTY | OFlags::CLOEXEC, Mode::empty()).is_ok()
}

/// Says whether a shell with job control looks after us, so that somebody would continue us after a stop.
///
/// The kernel does not stop a group that nobody could continue (it is orphaned), so we must not either. `None` when the
/// processes above us cannot be seen.
pub(crate) fn somebody_would_continue_us() -> Option<bool> {
    let us = member(getpid().as_raw_nonzero().get())?;
    let mut ancestor = us;
    for _ in 0..MOST_GENERATIONS {
        // The leader of the group may be long gone (`true | fix run …`), the way up is not.
        if ancestor.parent == 0 {
            return Some(false);
        }
        ancestor = member(ancestor.parent)?;
        if ancestor.session != us.session {
            return Some(false);
        }
        if ancestor.group != us.group {
            return Some(true);
        }
    }
    None
}

fn descends(mut pid: i32, ancestor: i32, parent_of: impl Fn(i32) -> Option<i32>) -> bool {
    for _ in 0..MOST_GENERATIONS {
        if pid == ancestor {
            return true;
        }
        match parent_of(pid) {
            Some(parent) if parent > 1 => pid = parent,
            Some(_) | None => return false,
        }
    }
    false
}

fn everybody() -> BTreeMap<i32, Member> {
    let Ok(entries) = std::fs::read_dir("/proc") else { return BTreeMap::new() };
    entries
        .filter_map(|entry| entry.ok()?.file_name().to_str()?.parse().ok())
        .filter_map(|pid| Some((pid, member(pid)?)))
        .collect()
}

fn member(pid: i32) -> Option<Member> {
    parse_stat(pid, &std::fs::read(format!("/proc/{pid}/stat")).ok()?)
}

/// Reads `/proc/<pid>/stat`; the name of the program may hold anything, so the fields begin after its last `)`.
fn parse_stat(pid: i32, stat: &[u8]) -> Option<Member> {
    let after_name = memchr::memrchr(b')', stat)? + 1;
    let fields: Vec<&str> = std::str::from_utf8(&stat[after_name..]).ok()?.split_ascii_whitespace().collect();
    Some(Member {
        pid,
        parent: fields.get(1)?.parse().ok()?,
        group: fields.get(2)?.parse().ok()?,
        session: fields.get(3)?.parse().ok()?,
        started: fields.get(19)?.parse().ok()?,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn reads_the_fields_after_a_hostile_name() {
        let stat = b"7 (a) S 1 (b\n) R 3 4 5 0 -1 4 0 0 0 0 0 0 0 0 20 0 1 0 99 0 0";
        assert_eq!(parse_stat(7, stat), Some(Member { pid: 7, parent: 3, group: 4, session: 5, started: 99 }));
        for broken in [&b"7 sh S 1"[..], b"7 (sh) S", b"7 (sh) S x y z", b""] {
            assert_eq!(parse_stat(7, broken), None);
        }
    }

    #[test]
    fn a_circle_of_parents_ends() {
        assert!(!descends(2, 9, |pid| Some(if pid == 2 { 3 } else { 2 })));
        assert!(descends(4, 9, |pid| Some(pid + 1)));
    }

    #[test]
    fn a_grandchild_is_of_the_family() {
        let script = "sleep 600 & echo $!; wait";
        let mut command = std::process::Command::new("sh");
        let mut child = command.args(["-c", script]).stdout(std::process::Stdio::piped()).spawn().unwrap();
        let mut line = String::new();
        let output = child.stdout.take().unwrap();
        std::io::BufRead::read_line(&mut std::io::BufReader::new(output), &mut line).unwrap();
        let grandchild: i32 = line.trim().parse().unwrap();
        let child_pid = Pid::from_raw(i32::try_from(child.id()).unwrap()).unwrap();
        assert!(is_of_family(grandchild, child_pid));
        assert!(is_of_family(grandchild, rustix::process::getpid()));
        assert!(!is_of_family(1, child_pid));
        let family = Family::of(child_pid);
        assert_eq!(family.members.iter().map(|it| it.pid).collect::<Vec<_>>(), [grandchild]);
        family.signal(Signal::KILL);
        // The shell comes to its end because the one it waited for did.
        child.wait().unwrap();
    }
}
