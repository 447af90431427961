//! How much memory of the host may a process here still take, and which variables are set?

use super::{Answer, ArgSpec, Inquiry, Question, UNKNOWN};
use crate::evidence::Host;
use crate::recipe::Text;

pub const QUESTIONS: &[Question] = &[
    Question {
        name: "host_memory",
        about: "How much memory of the host is left, by the kernel and by the container's limit?",
        args: &[],
        answers: &["limited", "tight", "roomy"],
        values: &["available", "total", "limit"],
        ask: host_memory,
    },
    Question {
        name: "variable_is_set",
        about: "Is an environment variable set for the command?",
        args: &[ArgSpec { name: "name", required: true, about: "The variable" }],
        answers: &["set", "unset"],
        values: &["value"],
        ask: variable_is_set,
    },
];

const TEXT_LIMIT: u64 = 64 << 10;
/// Below this part of the memory an allocation of a framework's pool fails.
const TIGHT_PERCENT: u64 = 10;

fn host_memory(inquiry: &Inquiry<'_>) -> Answer {
    let host = inquiry.host;
    let (Some(total), Some(available)) = (meminfo("MemTotal:", host), meminfo("MemAvailable:", host)) else {
        return Answer::new(UNKNOWN, Text::new("`/proc/meminfo` does not tell", "无法读取 `/proc/meminfo`"));
    };
    let number = |path: &str| {
        let bytes = host.read(path.as_ref(), TEXT_LIMIT).ok()?;
        String::from_utf8_lossy(&bytes).trim().parse::<u64>().ok()
    };
    let limit = number("/sys/fs/cgroup/memory.max").filter(|limit| *limit < total);
    let used = number("/sys/fs/cgroup/memory.current").unwrap_or_default();
    let left = limit.map_or(available, |limit| available.min(limit.saturating_sub(used)));
    let whole = limit.unwrap_or(total);
    let (shown, of) = (gib(left), gib(whole));
    let word = match limit {
        _ if left.saturating_mul(100) / whole.max(1) >= TIGHT_PERCENT => "roomy",
        Some(_) => "limited",
        None => "tight",
    };
    let seen = Text::new(format!("{shown} of {of} of the host are left"), format!("主机内存 {of} 中还剩 {shown}"));
    let answer = Answer::new(word, seen).with("available", shown).with("total", gib(total));
    match limit {
        Some(limit) => answer.with("limit", gib(limit)),
        None => answer,
    }
}

/// Reads a line of `/proc/meminfo`, in bytes.
fn meminfo(name: &str, host: &dyn Host) -> Option<u64> {
    let bytes = host.read("/proc/meminfo".as_ref(), TEXT_LIMIT).ok()?;
    let text = String::from_utf8_lossy(&bytes).into_owned();
    let line = text.lines().find_map(|line| line.strip_prefix(name))?;
    line.split_whitespace().next()?.parse::<u64>().ok()?.checked_mul(1024)
}

fn gib(bytes: u64) -> String {
    let tenths = bytes / ((1 << 30) / 10);
    format!("{}.{} GiB", tenths / 10, tenths % 10)
}

fn variable_is_set(inquiry: &Inquiry<'_>) -> Answer {
    let name = inquiry.text("name").unwrap_or_default();
    match inquiry.host.env(&name).filter(|value| !value.is_empty()) {
        Some(value) => {
            let value = value.to_string_lossy().into_owned();
            Answer::new("set", Text::new(format!("{name} is `{value}`"), format!("{name} 为 `{value}`")))
                .with("value", value)
        }
        None => Answer::new("unset", Text::new(format!("{name} is not set"), format!("未设置 {name}"))),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::evidence::LocalHost;
    use crate::evidence::questions::testing::NoGit;
    use crate::os::AbsPath;
    use std::collections::BTreeMap;

    #[test]
    fn this_machine_has_memory() {
        let host = LocalHost::new(AbsPath::new("/").unwrap(), [], Box::new(NoGit));
        let answer = host_memory(&Inquiry { args: &BTreeMap::new(), host: &host, command: None });
        assert_ne!(answer.word, UNKNOWN);
        assert!(answer.values["total"].to_text().ends_with(" GiB"));
        assert_eq!([gib(0), gib(3 << 29)], ["0.0 GiB", "1.5 GiB"]);
    }
}
