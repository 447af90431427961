//! Does this machine have the memory for so many compilers at once?

use std::path::{Path, PathBuf};

use super::{Answer, ArgSpec, Inquiry, Question, UNKNOWN};
use crate::evidence::Host;
use crate::recipe::Text;

/// The questions of this file.
pub const QUESTIONS: &[Question] = &[Question {
    name: "build_memory",
    about: "Compares the memory of this machine or container with the number of compilers that the build runs at once.",
    args: &[ArgSpec { name: "mib_per_job", required: false, about: "MiB that a compiler takes; 2048 when absent" }],
    answers: &["too_many_jobs", "fits", "even_one", "set_by_command"],
    values: &["jobs", "now", "memory", "kills", "option"],
    ask: build_memory,
}];

/// What a compiler of a large C++ project takes.
const MIB_PER_JOB: u64 = 2048;
const SMALL_FILE: u64 = 64 << 10;
/// Variables by which builds are told how many jobs to run, the first that is set counts.
const VARIABLES: &[&str] = &["MAX_JOBS", "CMAKE_BUILD_PARALLEL_LEVEL"];

fn build_memory(inquiry: &Inquiry<'_>) -> Answer {
    let host = inquiry.host;
    let each = inquiry.text("mib_per_job").and_then(|text| text.parse().ok()).filter(|mib| *mib > 0);
    let each: u64 = each.unwrap_or(MIB_PER_JOB);
    let Some(memory) = memory(host) else {
        return Answer::new(UNKNOWN, Text::new("the memory of this machine is not known", "无法得知本机内存"));
    };
    let now = jobs_now(host);
    let kills = kills(host);
    let fit = (memory / each).max(1);
    let gib = format!("{}.{} GiB", memory / 1024, memory % 1024 * 10 / 1024);
    let seen = |en: String, zh: String| Text::new(en, zh);
    let with = |answer: Answer| {
        answer.with("memory", gib.clone()).with("now", now.to_string()).with("kills", kills.to_string())
    };
    if let Some(option) = own_option(inquiry) {
        return with(Answer::new(
            "set_by_command",
            seen(format!("the command itself says `{option}`"), format!("命令自身给出了 `{option}`")),
        ))
        .with("option", option)
        .with("jobs", fit.to_string());
    }
    if now == 1 {
        return with(Answer::new(
            "even_one",
            seen(format!("one job at a time, with {gib} free"), format!("已是单任务编译，可用内存 {gib}")),
        ));
    }
    // That the kernel has ended processes here bears the log out, whatever the sum says. Once both variables are set,
    // the free memory of a moment later is no reason to begin anew.
    let told = VARIABLES.iter().all(|name| host.env(name).is_some());
    let too_many = if told { fit.saturating_mul(2) < now } else { fit < now || kills > 0 };
    let jobs = if fit < now { fit } else { (now / 2).max(1) };
    if too_many {
        let text = seen(
            format!("{gib} for {now} jobs; the kernel has ended {kills} processes for want of memory"),
            format!("{gib} 内存运行 {now} 个任务；内核已因内存不足结束 {kills} 个进程"),
        );
        return with(Answer::new("too_many_jobs", text)).with("jobs", jobs.to_string());
    }
    with(Answer::new("fits", seen(format!("{gib} for {now} jobs"), format!("{gib} 内存运行 {now} 个任务"))))
}

/// The number of compilers that a build runs here, when nothing on its command line says so.
fn jobs_now(host: &dyn Host) -> u64 {
    let given = VARIABLES.iter().filter_map(|name| host.env(name)?.to_str()?.trim().parse().ok());
    given
        .into_iter()
        .find(|jobs| *jobs > 0)
        .unwrap_or_else(|| std::thread::available_parallelism().map_or(1, |cpus| cpus.get() as u64))
}

/// Returns the `-j8` of a command that runs make or ninja: no variable wins over it.
fn own_option(inquiry: &Inquiry<'_>) -> Option<String> {
    let words: Vec<&str> = inquiry.command?.iter().filter_map(|word| word.to_str()).collect();
    let text = words.join(" ");
    let words: Vec<&str> = text.split_whitespace().collect();
    let runs = words.iter().any(|word| {
        matches!(word.rsplit('/').next(), Some("make" | "gmake" | "ninja" | "ninja-build")) || *word == "--build"
    });
    let is_option = |word: &&&str| {
        let rest = word.strip_prefix("--parallel").or_else(|| word.strip_prefix("-j"));
        rest.is_some_and(|rest| rest.is_empty() || rest.trim_start_matches('=').bytes().all(|b| b.is_ascii_digit()))
    };
    let option = words.iter().find(is_option)?;
    runs.then(|| (*option).to_owned())
}

/// Free memory in MiB: the machine's, or what is left of the container's.
fn memory(host: &dyn Host) -> Option<u64> {
    let text = read(host, Path::new("/proc/meminfo"))?;
    let available =
        text.lines().find_map(|line| line.strip_prefix("MemAvailable:")?.split_whitespace().next()?.parse().ok());
    let mut least: u64 = available.map(|kib: u64| kib / 1024)?;
    for (most, used) in [("memory.max", "memory.current"), ("memory.limit_in_bytes", "memory.usage_in_bytes")] {
        for folder in groups(host) {
            let number = |name: &str| read(host, &folder.join(name))?.trim().parse::<u64>().ok();
            if let (Some(most), Some(used)) = (number(most), number(used)) {
                // Files that are only cached count as used, and make way.
                let cached = cached(host, &folder);
                least = least.min(most.saturating_sub(used.saturating_sub(cached)) >> 20);
            }
        }
    }
    Some(least)
}

fn cached(host: &dyn Host, group: &Path) -> u64 {
    let text = read(host, &group.join("memory.stat")).unwrap_or_default();
    let field = |name: &str| text.lines().find_map(|line| line.strip_prefix(name)?.trim().parse::<u64>().ok());
    field("inactive_file ").or_else(|| field("total_inactive_file ")).unwrap_or(0)
}

/// The control groups of this process, as a container sees them.
fn groups(host: &dyn Host) -> Vec<PathBuf> {
    let text = read(host, Path::new("/proc/self/cgroup")).unwrap_or_default();
    let mut all = vec![PathBuf::from("/sys/fs/cgroup"), PathBuf::from("/sys/fs/cgroup/memory")];
    for line in text.lines() {
        if let Some(path) = line.strip_prefix("0::/") {
            all.push(Path::new("/sys/fs/cgroup").join(path));
        } else if let Some((_, path)) = line.split_once(":memory:/") {
            all.push(Path::new("/sys/fs/cgroup/memory").join(path));
        }
    }
    all
}

/// How many processes the kernel has ended for want of memory since it started.
fn kills(host: &dyn Host) -> u64 {
    let text = read(host, Path::new("/proc/vmstat")).unwrap_or_default();
    let of_machine = text.lines().find_map(|line| line.strip_prefix("oom_kill ")?.trim().parse().ok()).unwrap_or(0);
    let groups = groups(host);
    let of_groups = groups.iter().filter_map(|group| {
        let text = read(host, &group.join("memory.events"))?;
        text.lines().find_map(|line| line.strip_prefix("oom_kill ")?.trim().parse().ok())
    });
    of_groups.max().unwrap_or(0).max(of_machine)
}

/// Reads a file of the kernel.
fn read(host: &dyn Host, path: &Path) -> Option<String> {
    String::from_utf8(host.head(path, SMALL_FILE).ok()?).ok()
}
