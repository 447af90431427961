//! Who listens on a TCP port here, and which ports a job may take.
//!
//! Reads `/proc` and binds for a moment; it never connects to a port and never signals a process.

use std::collections::BTreeSet;
use std::ffi::OsString;
use std::os::unix::ffi::OsStringExt;
use std::path::PathBuf;

use super::Host;

/// A process that has a listening socket.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Holder {
    pub pid: u32,
    /// Its owner, by user id.
    pub user: u32,
    pub command: Vec<OsString>,
    /// Clock ticks after boot: with the pid it names this process and no later one.
    pub start: u64,
}

/// Who listens on a port, as far as this process may see.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Listeners {
    /// By pid.
    pub holders: Vec<Holder>,
    /// Owners of the sockets, also where the process itself is hidden from this user.
    pub users: BTreeSet<u32>,
}

const TABLE_LIMIT: u64 = 32 << 20;
const PROCESSES: usize = 65_536;
const DESCRIPTORS: usize = 65_536;
const COMMAND_LIMIT: u64 = 64 << 10;

/// The state of a listening socket in `/proc/net/tcp`.
const LISTEN: &str = "0A";

/// Finds the listeners of a port: socket → inode → process.
pub fn listeners(host: &dyn Host, port: u16) -> Listeners {
    let mut inodes = BTreeSet::new();
    let mut found = Listeners::default();
    for table in ["/proc/net/tcp", "/proc/net/tcp6"] {
        let bytes = host.read(table.as_ref(), TABLE_LIMIT).unwrap_or_default();
        for (inode, user) in listening(&String::from_utf8_lossy(&bytes), port) {
            inodes.insert(format!("socket:[{inode}]"));
            found.users.insert(user);
        }
    }
    if inodes.is_empty() {
        return found;
    }
    let names = host.list("/proc".as_ref(), PROCESSES).unwrap_or_default();
    let mut pids: Vec<u32> = names.iter().filter_map(|name| name.to_str()?.parse().ok()).collect();
    pids.sort_unstable();
    found.holders = pids.into_iter().filter(|pid| holds(host, *pid, &inodes)).filter_map(|p| holder(host, p)).collect();
    found
}

/// Describes a process; `None` when it is gone.
pub fn holder(host: &dyn Host, pid: u32) -> Option<Holder> {
    let folder = PathBuf::from(format!("/proc/{pid}"));
    let user = host.inspect(&folder).ok()?.user;
    let start = start_of(&host.read(&folder.join("stat"), COMMAND_LIMIT).ok()?)?;
    let bytes = host.head(&folder.join("cmdline"), COMMAND_LIMIT).unwrap_or_default();
    let words = bytes.split(|byte| *byte == 0).map(|word| OsString::from_vec(word.to_vec()));
    let mut command: Vec<OsString> = words.collect();
    if command.last().is_some_and(|word| word.is_empty()) {
        command.pop();
    }
    Some(Holder { pid, user, command, start })
}

fn holds(host: &dyn Host, pid: u32, inodes: &BTreeSet<String>) -> bool {
    let folder = PathBuf::from(format!("/proc/{pid}/fd"));
    // Another user's process does not show its descriptors.
    let descriptors = host.list(&folder, DESCRIPTORS).unwrap_or_default();
    descriptors.iter().any(|name| {
        host.link(&folder.join(name)).is_ok_and(|link| link.to_str().is_some_and(|link| inodes.contains(link)))
    })
}

/// Lists inode and owner of each listening socket on a port in the text of `/proc/net/tcp` or `tcp6`.
fn listening(table: &str, port: u16) -> Vec<(u64, u32)> {
    let line = |line: &str| {
        let fields: Vec<&str> = line.split_ascii_whitespace().collect();
        let (_, hex) = fields.get(1)?.rsplit_once(':')?;
        let own = u16::from_str_radix(hex, 16).ok()? == port && *fields.get(3)? == LISTEN;
        let (user, inode) = (fields.get(7)?.parse().ok()?, fields.get(9)?.parse().ok()?);
        own.then_some((inode, user))
    };
    table.lines().skip(1).filter_map(line).collect()
}

/// Takes the start time out of `/proc/<pid>/stat`.
fn start_of(stat: &[u8]) -> Option<u64> {
    // The program's name is in parentheses and may hold anything: fields count from the last `)`.
    let after = stat.iter().rposition(|byte| *byte == b')')? + 1;
    String::from_utf8_lossy(&stat[after..]).split_ascii_whitespace().nth(19)?.parse().ok()
}

/// Ports from `first` to `last`, both included.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct PortRange {
    pub first: u16,
    pub last: u16,
}

impl PortRange {
    /// Reads `20000-29999` or `29500`; a privileged port is none.
    pub fn parse(text: &str) -> Option<Self> {
        let (first, last) = text.split_once('-').unwrap_or((text, text));
        let number = |text: &str| text.trim().parse::<u16>().ok().filter(|port| *port >= 1024);
        let range = Self { first: number(first)?, last: number(last)? };
        (range.first <= range.last).then_some(range)
    }

    pub fn contains(&self, port: u16) -> bool {
        (self.first..=self.last).contains(&port)
    }

    pub fn overlaps(&self, other: &Self) -> bool {
        self.first <= other.last && other.first <= self.last
    }
}

/// Reads a list as HCCL's variables have it: `61000,61050-61100`; `None` where it is not well-formed.
pub fn port_list(text: &str) -> Option<Vec<PortRange>> {
    let number = |text: &str| {
        let digits = !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_digit());
        text.parse::<u16>().ok().filter(|port| digits && *port > 0)
    };
    let text: String = text.chars().filter(|c| *c != ' ').collect();
    text.split(',')
        .map(|item| {
            let (first, last) = item.split_once('-').unwrap_or((item, item));
            let range = PortRange { first: number(first)?, last: number(last)? };
            (range.first <= range.last).then_some(range)
        })
        .collect()
}

/// Ports that something else is known to use: no job is moved there.
pub fn reserved(host: &dyn Host) -> Vec<PortRange> {
    let port = |port: u16| PortRange { first: port, last: port };
    // The defaults of torchrun and its c10d rendezvous, of aclshmem's bootstrap in the tutorials, and of HCCL's NPU side.
    let mut all = vec![port(29500), port(29400), port(8666), port(16666)];
    let base = host.env("HCCL_IF_BASE_PORT").and_then(|value| value.to_str()?.trim().parse::<u16>().ok());
    let base = base.filter(|port| *port > 0).unwrap_or(60_000);
    // HCCL listens on 32 ports of the host from its base on.
    all.push(PortRange { first: base, last: base.saturating_add(31) });
    for name in ["HCCL_NPU_SOCKET_PORT_RANGE", "HCCL_HOST_SOCKET_PORT_RANGE"] {
        all.extend(host.env(name).and_then(|value| port_list(value.to_str()?)).unwrap_or_default());
    }
    all.extend(ephemeral(host));
    all
}

/// The ports that the kernel hands out to clients by chance.
fn ephemeral(host: &dyn Host) -> Option<PortRange> {
    let text = host.read("/proc/sys/net/ipv4/ip_local_port_range".as_ref(), 256).ok()?;
    let text = String::from_utf8_lossy(&text).into_owned();
    let mut numbers = text.split_ascii_whitespace().map(|word| word.parse::<u16>().ok());
    Some(PortRange { first: numbers.next()??, last: numbers.next()?? })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::evidence::LocalHost;
    use crate::evidence::questions::testing::NoGit;
    use crate::os::AbsPath;

    #[test]
    fn this_process_holds_its_port() {
        let listener = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
        let port = listener.local_addr().unwrap().port();
        let host = LocalHost::new(AbsPath::new("/").unwrap(), [], Box::new(NoGit));
        let found = listeners(&host, port);
        let pids: Vec<u32> = found.holders.iter().map(|holder| holder.pid).collect();
        assert!(pids.contains(&std::process::id()), "{found:?}");
        assert!(found.holders.iter().all(|holder| holder.start > 0 && !holder.command.is_empty()));
        assert!(found.users.contains(&rustix::process::geteuid().as_raw()));
        drop(listener);
        assert_eq!(listeners(&host, port), Listeners::default());
    }

    #[test]
    fn only_listening_sockets_of_the_port_count() {
        let table = "  sl  local_address rem_address   st tx_queue rx_queue tr tm->when retrnsmt   uid  timeout inode\n\
            \x20  0: 0100007F:733C 00000000:0000 0A 00000000:00000000 00:00000000 00000000  1000        0 4242 1\n\
            \x20  1: 0100007F:733C 0100007F:9999 01 00000000:00000000 00:00000000 00000000  1000        0 4243 1\n\
            \x20  2: 00000000000000000000000001000000:733C 0:0 0A 0:0 00:0 0  7        0 4244 1\n\
            \x20  torn";
        assert_eq!(listening(table, 29500), [(4242, 1000), (4244, 7)]);
        assert_eq!(listening(table, 29501), []);
    }

    #[test]
    fn lists_of_ports() {
        for (text, want) in [
            ("61000-61050", Some(vec![(61000, 61050)])),
            ("61000, 61050-61100,5", Some(vec![(61000, 61000), (61050, 61100), (5, 5)])),
            ("61050-61000", None),
            ("0", None),
            ("+5", None),
            ("65536", None),
            ("", None),
            ("1,,2", None),
            ("1-2-3", None),
        ] {
            let got = port_list(text).map(|all| all.iter().map(|range| (range.first, range.last)).collect::<Vec<_>>());
            assert_eq!(got, want, "{text}");
        }
        assert_eq!(PortRange::parse("20000-29999"), Some(PortRange { first: 20000, last: 29999 }));
        assert_eq!([PortRange::parse("80-90"), PortRange::parse("3000-2000"), PortRange::parse("x")], [None; 3]);
    }
}
