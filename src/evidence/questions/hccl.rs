//! Are the variables of HCCL well-formed, and do they name what is there?

use super::{Answer, Inquiry, Question};
use crate::evidence::Host;
use crate::evidence::ports::{PortRange, port_list};
use crate::recipe::Text;

pub const QUESTIONS: &[Question] = &[
    Question {
        name: "hccl_environment",
        about: "Is each HCCL variable that is set one that HCCL takes, and does HCCL_SOCKET_IFNAME name an interface of \
                this machine?",
        args: &[],
        answers: &["fits", "out_of_range", "malformed", "overlap", "no_interface"],
        values: &["variable", "value", "expected", "suggested", "interfaces"],
        ask: hccl_environment,
    },
    Question {
        name: "hccl_socket_ranges",
        about: "Is HCCL_NPU_SOCKET_PORT_RANGE set, so that several processes may share an NPU?",
        args: &[],
        answers: &["set", "unset"],
        values: &["value"],
        ask: hccl_socket_ranges,
    },
    Question {
        name: "hccl_host_ports",
        about: "On which ports of the host does HCCL listen here, by its variables?",
        args: &[super::ArgSpec { name: "port", required: true, about: "A port that may be one of them" }],
        answers: &["one_of_them", "another"],
        values: &["ports"],
        ask: hccl_host_ports,
    },
];

/// Numbers and their limits, from HCCL's user guide.
const NUMBERS: &[(&str, u64, u64)] = &[
    ("HCCL_CONNECT_TIMEOUT", 120, 7200),
    ("HCCL_EXEC_TIMEOUT", 0, 2_147_483_647),
    ("HCCL_IF_BASE_PORT", 1024, 65_520),
];
const RANGES: &[&str] = &["HCCL_NPU_SOCKET_PORT_RANGE", "HCCL_HOST_SOCKET_PORT_RANGE"];
const MOST_NAMES: usize = 4096;

fn value(name: &str, host: &dyn Host) -> Option<String> {
    host.env(name).and_then(|value| value.into_string().ok()).filter(|value| !value.is_empty())
}

fn hccl_environment(inquiry: &Inquiry<'_>) -> Answer {
    let host = inquiry.host;
    for (name, least, most) in NUMBERS {
        let Some(text) = value(name, host) else { continue };
        let expected = format!("{least}-{most}");
        let wrong = |word, seen: Text| {
            Answer::new(word, seen)
                .with("variable", *name)
                .with("value", text.as_str())
                .with("expected", expected.as_str())
        };
        match text.parse::<u64>() {
            Err(_) => {
                let seen = Text::new(
                    format!("{name} is `{text}`, which is no number"),
                    format!("{name} 的值 `{text}` 不是数字"),
                );
                return wrong("malformed", seen);
            }
            Ok(number) if number < *least || number > *most => {
                let seen = Text::new(
                    format!("{name} is {number}, and HCCL takes {expected}"),
                    format!("{name} 的值为 {number}，HCCL 允许 {expected}"),
                );
                return wrong("out_of_range", seen).with("suggested", number.clamp(*least, *most).to_string());
            }
            Ok(_) => {}
        }
    }
    for name in RANGES {
        let Some(text) = value(name, host).filter(|text| text != "auto") else { continue };
        let wrong = |word, seen: Text| {
            let expected = "auto, or a list such as 61000,61050-61100";
            Answer::new(word, seen).with("variable", *name).with("value", text.as_str()).with("expected", expected)
        };
        let Some(ranges) = port_list(&text) else {
            let seen = Text::new(
                format!("{name} is `{text}`, which is no list of ports"),
                format!("{name} 的值 `{text}` 不是端口列表"),
            );
            return wrong("malformed", seen);
        };
        let overlaps = |at: usize, one: &PortRange| ranges[at + 1..].iter().any(|other| one.overlaps(other));
        if ranges.iter().enumerate().any(|(at, one)| overlaps(at, one)) {
            let seen = Text::new(
                format!("the ranges of {name} overlap: `{text}`"),
                format!("{name} 的区间相互重叠：`{text}`"),
            );
            return wrong("overlap", seen);
        }
    }
    if let Some(text) = value("HCCL_SOCKET_IFNAME", host)
        && let Ok(names) = host.list("/sys/class/net".as_ref(), MOST_NAMES)
    {
        let interfaces: Vec<String> = names.iter().filter_map(|name| name.to_str().map(str::to_owned)).collect();
        if !interfaces.iter().any(|name| admits(&text, name)) {
            let there = interfaces.join(", ");
            let seen = Text::new(
                format!("HCCL_SOCKET_IFNAME is `{text}`, and this machine has {there}"),
                format!("HCCL_SOCKET_IFNAME 的值为 `{text}`，而本机网卡为 {there}"),
            );
            return Answer::new("no_interface", seen)
                .with("variable", "HCCL_SOCKET_IFNAME")
                .with("value", text)
                .with("interfaces", there);
        }
    }
    Answer::new("fits", Text::new("the HCCL variables are well-formed", "HCCL 变量取值合法"))
}

/// Says whether HCCL would take an interface: `eth,enp` are beginnings of names, `=eth0` a whole name, `^…` all others.
fn admits(text: &str, interface: &str) -> bool {
    let (excluded, text) = text.strip_prefix('^').map_or((false, text), |rest| (true, rest));
    let (whole, text) = text.strip_prefix('=').map_or((false, text), |rest| (true, rest));
    let named = text
        .split(',')
        .map(str::trim)
        .filter(|name| !name.is_empty())
        .any(|name| if whole { interface == name } else { interface.starts_with(name) });
    named != excluded
}

fn hccl_socket_ranges(inquiry: &Inquiry<'_>) -> Answer {
    match value("HCCL_NPU_SOCKET_PORT_RANGE", inquiry.host) {
        Some(text) => {
            let seen = Text::new(
                format!("HCCL_NPU_SOCKET_PORT_RANGE is `{text}`"),
                format!("HCCL_NPU_SOCKET_PORT_RANGE 为 `{text}`"),
            );
            Answer::new("set", seen).with("value", text)
        }
        None => {
            let seen = Text::new(
                "HCCL_NPU_SOCKET_PORT_RANGE is not set: one process an NPU",
                "未设置 HCCL_NPU_SOCKET_PORT_RANGE：每张 NPU 只支持一个进程",
            );
            Answer::new("unset", seen)
        }
    }
}

fn hccl_host_ports(inquiry: &Inquiry<'_>) -> Answer {
    let host = inquiry.host;
    let ranges = match value("HCCL_HOST_SOCKET_PORT_RANGE", host).and_then(|text| port_list(&text)) {
        Some(ranges) => ranges,
        None => {
            let base = value("HCCL_IF_BASE_PORT", host).and_then(|text| text.parse::<u16>().ok()).unwrap_or(60_000);
            vec![PortRange { first: base, last: base.saturating_add(31) }]
        }
    };
    let shown: Vec<String> = ranges.iter().map(|range| format!("{}-{}", range.first, range.last)).collect();
    let shown = shown.join(",");
    let port = inquiry.text("port").and_then(|port| port.parse::<u16>().ok());
    let own = port.is_some_and(|port| ranges.iter().any(|range| range.contains(port)));
    let seen = Text::new(format!("HCCL listens on {shown} of the host"), format!("HCCL 监听主机端口 {shown}"));
    Answer::new(if own { "one_of_them" } else { "another" }, seen).with("ports", shown)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::evidence::LocalHost;
    use crate::evidence::questions::testing::NoGit;
    use crate::os::AbsPath;
    use std::collections::BTreeMap;

    fn ask(env: &[(&str, &str)]) -> &'static str {
        let env = env.iter().map(|(name, value)| ((*name).into(), (*value).into()));
        let host = LocalHost::new(AbsPath::new("/").unwrap(), env, Box::new(NoGit));
        hccl_environment(&Inquiry { args: &BTreeMap::new(), host: &host, command: None }).word
    }

    #[test]
    fn values() {
        for (name, value, want) in [
            ("HCCL_CONNECT_TIMEOUT", "1800", "fits"),
            ("HCCL_CONNECT_TIMEOUT", "60", "out_of_range"),
            ("HCCL_CONNECT_TIMEOUT", "7201", "out_of_range"),
            ("HCCL_CONNECT_TIMEOUT", "2h", "malformed"),
            ("HCCL_EXEC_TIMEOUT", "0", "fits"),
            ("HCCL_NPU_SOCKET_PORT_RANGE", "auto", "fits"),
            ("HCCL_NPU_SOCKET_PORT_RANGE", "61000-61050", "fits"),
            ("HCCL_NPU_SOCKET_PORT_RANGE", "61050-61000", "malformed"),
            ("HCCL_NPU_SOCKET_PORT_RANGE", "61000-61050,61050", "overlap"),
            ("HCCL_SOCKET_IFNAME", "lo", "fits"),
            ("HCCL_SOCKET_IFNAME", "=lo", "fits"),
            ("HCCL_SOCKET_IFNAME", "=l", "no_interface"),
            ("HCCL_SOCKET_IFNAME", "no-such-interface", "no_interface"),
            ("HCCL_SOCKET_IFNAME", "^docker", "fits"),
        ] {
            assert_eq!(ask(&[(name, value)]), want, "{name}={value}");
        }
        assert_eq!(ask(&[]), "fits");
    }
}
