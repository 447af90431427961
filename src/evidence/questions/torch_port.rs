//! Which port does a torchrun job want, who has it, and which one is free?

use std::collections::BTreeSet;
use std::ffi::OsString;
use std::os::unix::ffi::OsStrExt;
use std::path::Path;

use super::{Answer, ArgSpec, Inquiry, Question, UNKNOWN};
use crate::evidence::Host;
use crate::evidence::ports::{Holder, PortRange, listeners, reserved};
use crate::evidence::torch_launch::{self, Launch, Launches, Place, Said, Stuck};
use crate::os::ports::PortState;
use crate::recipe::Text;

/// Where jobs are moved unless the user says otherwise: registered to nobody much, and below what kernels hand out.
const USUAL_RANGE: &str = "20000-29999";
/// Ports tried before a range counts as full.
const MOST_TRIED: u32 = 4096;

pub const QUESTIONS: &[Question] = &[
    Question {
        name: "torch_launch",
        about: "Where does the user's command say the port that torchrun listens on?",
        args: &[ArgSpec {
            name: "ports",
            required: false,
            about: "Ports that the log names: the job's is one of them",
        }],
        answers: &[
            "given",
            "default",
            "variable",
            "port_zero",
            "another_port",
            "several_nodes",
            "takes_any_port",
            "unclear",
            "none",
        ],
        values: &["port", "place", "variable"],
        ask: torch_launch,
    },
    Question {
        name: "port_holder",
        about: "Who listens on a TCP port of this machine, on any address?",
        args: &[ArgSpec { name: "port", required: true, about: "The port" }],
        answers: &["free", "lingering", "own_leftover", "own", "other_user", "unseen", "denied"],
        values: &["pid", "start", "command", "user"],
        ask: port_holder,
    },
    Question {
        name: "free_port",
        about: "Which port may a job use: in the range, free on all addresses, not handed out to clients by chance, and \
                not one of HCCL's?",
        args: &[
            ArgSpec { name: "range", required: false, about: "`20000-29999` when not given" },
            ArgSpec { name: "count", required: false, about: "So many in a row, of which the first is told; 1" },
        ],
        answers: &["found", "none", "bad_range"],
        values: &["port"],
        ask: free_port,
    },
];

fn torch_launch(inquiry: &Inquiry<'_>) -> Answer {
    let Some(command) = inquiry.command else {
        return Answer::new(UNKNOWN, Text::new("no command is given", "未给出命令"));
    };
    let all = match torch_launch::find(command, inquiry.host) {
        Launches::Found(all) => all,
        Launches::None => {
            return Answer::new("none", Text::new("the command starts no torchrun", "命令未启动 torchrun"));
        }
        Launches::Stuck(Stuck::SeveralNodes) => {
            let seen = Text::new("other processes of the job must name the same port", "任务的其他进程须使用相同端口");
            return Answer::new("several_nodes", seen);
        }
        Launches::Stuck(Stuck::TakesAnyPort) => {
            let seen = Text::new("torchrun takes any free port here", "此处 torchrun 会自动选择空闲端口");
            return Answer::new("takes_any_port", seen);
        }
        Launches::Stuck(Stuck::Unclear) => {
            let seen = Text::new("the command does not tell plainly which port it uses", "命令未明确说明所用端口");
            return Answer::new("unclear", seen);
        }
    };
    let named: Vec<u16> = inquiry.list("ports").iter().filter_map(|port| port.parse().ok()).collect();
    let wanted: Vec<&Launch> = all.iter().filter(|one| named.is_empty() || named.contains(&one.port)).collect();
    if wanted.is_empty() {
        let port = all[0].port;
        return Answer::new(
            "another_port",
            Text::new(
                format!("the command uses port {port}, and the log speaks of another one"),
                format!("命令使用端口 {port}，而日志中是另一个端口"),
            ),
        );
    }
    let in_use = |launch: &&&Launch| inquiry.host.port(launch.port) == PortState::Taken;
    let taken: Vec<&Launch> = wanted.iter().filter(in_use).copied().collect();
    let candidates = if taken.is_empty() { wanted } else { taken };
    let ports: BTreeSet<u16> = candidates.iter().map(|launch| launch.port).collect();
    if ports.len() > 1 {
        return Answer::new("unclear", Text::new("several launches use several ports", "多处启动使用了不同端口"));
    }
    let launch = candidates[0];
    let (port, place) = (launch.port, shown(&launch.place, inquiry.host));
    let word = match &launch.said {
        Said::Given if port == 0 => "port_zero",
        Said::Given => "given",
        Said::Default => "default",
        Said::Variable(_) => "variable",
    };
    let seen = match &launch.said {
        Said::Given => Text::new(format!("{} says port {port}", place.en), format!("{}指定端口 {port}", place.zh)),
        Said::Default => Text::new(
            format!("{} names no port: it is {port} then", place.en),
            format!("{}未指定端口，默认为 {port}", place.zh),
        ),
        Said::Variable(name) => Text::new(
            format!("{} takes port {port} from {name}", place.en),
            format!("{}从 {name} 取得端口 {port}", place.zh),
        ),
    };
    let answer = Answer::new(word, seen).with("port", port.to_string()).with("place", place.en);
    match &launch.said {
        Said::Variable(name) => answer.with("variable", name.as_str()),
        Said::Given | Said::Default => answer,
    }
}

fn shown(place: &Place, host: &dyn Host) -> Text {
    match place {
        Place::Command | Place::Line(_) => Text::new("the command", "命令"),
        Place::Script(path) => {
            let short = path.as_path().strip_prefix(host.project()).unwrap_or(path.as_path()).display().to_string();
            Text::new(format!("`{short}`"), format!("`{short}` "))
        }
    }
}

fn port_holder(inquiry: &Inquiry<'_>) -> Answer {
    let Some(port) = inquiry.text("port").and_then(|port| port.parse::<u16>().ok()).filter(|port| *port > 0) else {
        return Answer::new(UNKNOWN, Text::new("no port is given", "未给出端口"));
    };
    let host = inquiry.host;
    match host.port(port) {
        PortState::Free => {
            return Answer::new("free", Text::new(format!("port {port} is free"), format!("端口 {port} 空闲")));
        }
        PortState::Lingering => {
            let seen = Text::new(
                format!("nothing listens on port {port}; closed connections of it linger for a minute"),
                format!("端口 {port} 无人监听；已关闭的连接会残留约一分钟"),
            );
            return Answer::new("lingering", seen);
        }
        PortState::Denied => {
            let seen =
                Text::new(format!("this user may not listen on port {port}"), format!("当前用户无权监听端口 {port}"));
            return Answer::new("denied", seen);
        }
        PortState::Unclear => {
            let seen = Text::new(format!("port {port} cannot be tried"), format!("无法检测端口 {port}"));
            return Answer::new(UNKNOWN, seen);
        }
        PortState::Taken => {}
    }
    let found = listeners(host, port);
    let me = host.user();
    let foreign = found.holders.iter().find(|holder| holder.user != me);
    if foreign.is_some() || found.users.iter().any(|user| *user != me) {
        let user = foreign.map(|holder| holder.user).or(found.users.iter().find(|user| **user != me).copied());
        let user = user.unwrap_or_default().to_string();
        let seen = Text::new(
            format!("a process of user {user} listens on port {port}"),
            format!("用户 {user} 的进程正在监听端口 {port}"),
        );
        return Answer::new("other_user", seen).with("user", user);
    }
    let same = |holder: &&Holder| inquiry.command.is_some_and(|command| is_run_of(holder, command, host));
    let Some(holder) = found.holders.iter().find(same).or(found.holders.first()) else {
        let seen = Text::new(
            format!("port {port} is in use; by whom is not to be seen here (another container, or not listening yet)"),
            format!("端口 {port} 已被占用；此处看不到占用者（可能在其他容器中，或尚未开始监听）"),
        );
        return Answer::new("unseen", seen);
    };
    let (pid, command) = (holder.pid, shown_command(&holder.command));
    let (word, seen) = if same(&holder) {
        let seen = Text::new(
            format!("an earlier run of this command, process {pid}, listens on port {port}"),
            format!("本命令先前的运行（进程 {pid}）仍在监听端口 {port}"),
        );
        ("own_leftover", seen)
    } else {
        let seen = Text::new(
            format!("your process {pid} (`{command}`) listens on port {port}"),
            format!("您的进程 {pid}（`{command}`）正在监听端口 {port}"),
        );
        ("own", seen)
    };
    Answer::new(word, seen)
        .with("pid", pid.to_string())
        .with("start", holder.start.to_string())
        .with("command", command)
        .with("user", me.to_string())
}

/// Says whether a process is a run of the command, in the same folder: an interpreter may stand in front of its words.
fn is_run_of(holder: &Holder, command: &[OsString], host: &dyn Host) -> bool {
    let Some((program, arguments)) = command.split_first() else { return false };
    let Some(front) = holder.command.strip_suffix(arguments) else { return false };
    let name = |word: &OsString| Path::new(word).file_name().map(|name| name.to_owned());
    let here = host.real(host.project().as_path()).ok();
    let cwd = host.link(Path::new(&format!("/proc/{}/cwd", holder.pid))).ok();
    !arguments.is_empty()
        && front.last().is_some_and(|word| name(word) == name(program))
        && here.is_some()
        && here == cwd
}

/// A command on one line, bounded.
fn shown_command(words: &[OsString]) -> String {
    let words = words.iter().map(|word| String::from_utf8_lossy(word.as_bytes()).into_owned());
    let line: String = shell_words::join(words).chars().map(|c| if c.is_control() { ' ' } else { c }).collect();
    match line.char_indices().nth(120) {
        Some((cut, _)) => format!("{}…", &line[..cut]),
        None => line,
    }
}

fn free_port(inquiry: &Inquiry<'_>) -> Answer {
    let host = inquiry.host;
    let text = inquiry.text("range").unwrap_or_else(|| USUAL_RANGE.to_owned());
    let Some(range) = PortRange::parse(&text) else {
        let seen = Text::new(format!("`{text}` is no range of ports"), format!("`{text}` 不是端口范围"));
        return Answer::new("bad_range", seen);
    };
    let count = inquiry.text("count").and_then(|count| count.parse::<u16>().ok()).unwrap_or(1).clamp(1, 256);
    let reserved = reserved(host);
    let size = u32::from(range.last - range.first) + 1;
    // Projects begin at different places, so that two of them rarely try for one port; one project always begins at
    // the same, so that a plan that was reviewed is made again.
    let sum = blake3::hash(host.project().as_path().as_os_str().as_bytes());
    let offset = u32::from_le_bytes(sum.as_bytes()[..4].try_into().unwrap_or_default()) % size;
    let candidates = (0..size.min(MOST_TRIED)).map(|step| range.first + ((offset + step) % size) as u16);
    let usable = |port: u16| {
        range.contains(port) && !reserved.iter().any(|range| range.contains(port)) && host.port(port) == PortState::Free
    };
    // Rows begin at multiples, so that a long one is looked at once.
    let mut starts = candidates.filter(|port| port % count == 0);
    let free = starts.find(|port| (*port..=port.saturating_add(count - 1)).all(usable));
    match free {
        Some(port) => Answer::new("found", Text::new(format!("port {port} is free"), format!("端口 {port} 空闲")))
            .with("port", port.to_string()),
        None => {
            Answer::new("none", Text::new(format!("no port of {text} may be used"), format!("{text} 中没有可用端口")))
        }
    }
}

#[cfg(test)]
#[path = "torch_port_tests.rs"]
mod tests;
