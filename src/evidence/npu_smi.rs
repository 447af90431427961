//! What `npu-smi info` says of this machine: the driver, the chips, and the processes on them.
//!
//! The program is run only through a host that may ask programs, from `/`, with a bounded time, and only where it is
//! nobody's but root's or this user's: never one of the project, and none that strangers could have put there.

use std::time::Duration;

use super::Host;
use super::ascend::{is_runnable, search_path};
use super::ascend_tables::{Chip, Tables};
use super::trusted_programs::{InProject, trusted};
use crate::os::AbsPath;
use crate::os::process::{Command, Status, run_captured};

/// A driver that is in trouble lets it wait.
const LONGEST: Duration = Duration::from_secs(15);
const MOST_OUTPUT: usize = 256 << 10;

/// The tables that it prints.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct NpuSmi {
    pub driver: Option<String>,
    pub chips: Vec<NpuChip>,
    pub processes: Vec<NpuProcess>,
    /// Whether the table of processes was printed: without it nobody knows who is on a card.
    pub tells_processes: bool,
    /// Whether chips have numbers of their own (Phy-ID): on these machines a reset takes all chips along.
    pub numbered: bool,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct NpuChip {
    pub npu: u32,
    pub chip: u32,
    pub name: String,
    pub health: String,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct NpuProcess {
    pub npu: u32,
    pub pid: u32,
}

impl NpuSmi {
    /// What it says here, where it may be asked and answers.
    pub fn of(host: &dyn Host) -> Option<Self> {
        let read = Self::read(&host.npu_smi_info()?);
        (!read.chips.is_empty()).then_some(read)
    }

    /// Reads the tables, by their bars: their widths differ from version to version.
    pub fn read(text: &str) -> Self {
        let mut all = Self::default();
        let mut upper: Option<(u32, String, String)> = None;
        for line in text.lines() {
            let Some(inner) = line.trim().strip_prefix('|').and_then(|rest| rest.strip_suffix('|')) else { continue };
            let cells: Vec<&str> = inner.split('|').map(str::trim).collect();
            if let Some((_, version)) = inner.split_once("Version:") {
                all.driver = version.split_whitespace().next().map(str::to_owned);
                continue;
            }
            all.numbered |= cells[0].starts_with("Chip") && cells[0].ends_with("Phy-ID");
            all.tells_processes |= cells.get(1).is_some_and(|cell| cell.starts_with("Process id"));
            let words: Vec<&str> = cells[0].split_whitespace().collect();
            let number = |at: usize| words.get(at).and_then(|word| word.parse::<u32>().ok());
            let Some(first) = number(0) else { continue };
            if all.tells_processes {
                if let Some(pid) = cells.get(1).and_then(|cell| cell.parse().ok()) {
                    all.processes.push(NpuProcess { npu: first, pid });
                }
            } else if let (Some(name), Some(health), None) = (words.get(1), cells.get(1), number(1)) {
                upper = Some((first, (*name).to_owned(), (*health).to_owned()));
            } else if let Some((npu, name, health)) = upper.take() {
                all.chips.push(NpuChip { npu, chip: first, name, health });
            }
        }
        all
    }

    /// The chip that all of the machine's are; `None` where they differ or are not known.
    pub fn chip(&self) -> Option<&'static Chip> {
        let mut kinds = self.chips.iter().map(|chip| Tables::embedded().chip_named(&chip.name, self.numbered));
        let first = kinds.next()??;
        kinds.all(|kind| kind.is_some_and(|kind| kind.name == first.name)).then_some(first)
    }
}

/// Runs `npu-smi info`.
pub fn ask(host: &dyn Host) -> Option<String> {
    let program = program(host)?;
    let mut command = Command::new([program.as_path().as_os_str(), "info".as_ref()], AbsPath::new("/").ok()?);
    command.timeout = Some(LONGEST);
    let done = run_captured(&command, MOST_OUTPUT).ok()?;
    let whole = done.status == Status::Exited(0) && !done.timed_out && !done.truncated;
    whole.then(|| String::from_utf8_lossy(&done.stdout).into_owned())
}

/// The npu-smi that PATH finds, without folders and files that are the project's or that strangers may write.
pub fn program(host: &dyn Host) -> Option<AbsPath> {
    trusted(host, "npu-smi", search_path(host), InProject::Never).find(|path| is_runnable(path.as_path(), host))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::evidence::LocalHost;
    use crate::evidence::questions::testing::NoGit;
    use std::fs;
    use std::os::unix::fs::PermissionsExt;

    const A2: &str = include_str!("../../fixtures/npu-smi/a2.txt");
    const A3: &str = include_str!("../../fixtures/npu-smi/a3.txt");

    #[test]
    fn the_tables_of_a2_and_a3() {
        let a2 = NpuSmi::read(A2);
        assert_eq!((a2.driver.as_deref(), a2.numbered, a2.chips.len()), (Some("24.1.0"), false, 2));
        let sick = NpuChip { npu: 1, chip: 0, name: "910B1".into(), health: "Critical".into() };
        assert_eq!(a2.chips[1], sick);
        assert_eq!(a2.processes, [NpuProcess { npu: 0, pid: 99910 }]);
        assert_eq!(a2.chip().unwrap().name, "Atlas A2");
        let a3 = NpuSmi::read(A3);
        assert_eq!((a3.driver.as_deref(), a3.numbered, a3.chips.len()), (Some("25.2.1"), true, 4));
        assert_eq!((a3.chips[3].npu, a3.chips[3].chip), (1, 1));
        assert!(a3.tells_processes && a3.processes.is_empty());
        assert_eq!(a3.chip().unwrap().name, "Atlas A3");
        assert_eq!(NpuSmi::read("dcmi module initialize failed. ret is -8005\n"), NpuSmi::default());
    }

    #[test]
    fn a_program_of_strangers_or_of_the_project_is_not_taken() {
        let folder = tempfile::tempdir().unwrap();
        let root = fs::canonicalize(folder.path()).unwrap();
        let tool = |at: &str, mode: u32| {
            let bin = root.join(at);
            fs::create_dir_all(&bin).unwrap();
            fs::write(bin.join("npu-smi"), "#!/bin/sh\n").unwrap();
            fs::set_permissions(bin.join("npu-smi"), fs::Permissions::from_mode(0o755)).unwrap();
            fs::set_permissions(&bin, fs::Permissions::from_mode(mode)).unwrap();
        };
        tool("project/bin", 0o755);
        tool("open", 0o777);
        tool("good", 0o755);
        let find = |path: &str| {
            let path = path.replace('@', root.to_str().unwrap());
            let env = [("PATH".into(), path.into())];
            let host = LocalHost::new(AbsPath::new(root.join("project")).unwrap(), env, Box::new(NoGit));
            program(&host).map(|found| found.as_path().strip_prefix(&root).unwrap().display().to_string())
        };
        assert_eq!(find("@/project/bin:bin:.:@/open"), None);
        assert_eq!(find("@/project/bin:bin:@/open:@/good").as_deref(), Some("good/npu-smi"));
    }
}
