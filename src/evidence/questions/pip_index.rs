//! Where does the package index stand that pip could not use, and which setting of pip wins?
//!
//! The log says what failed; only what pip is configured with here counts as its cause. Nothing is asked over the
//! network, and no URL leaves with its credentials.

use std::path::Path;

use super::{Answer, ArgSpec, Inquiry, Place, Question};
use crate::evidence::Host;
use crate::evidence::index_url::{IndexUrl, shown};
use crate::evidence::pip_config::{Index, Origin, PipConfig, Unread};
use crate::recipe::Text;

/// The questions of this file.
pub const QUESTIONS: &[Question] = &[
    Question {
        name: "pip_index",
        about: "Finds the setting that gives pip the index which a log shows to be unreachable.",
        args: &[
            ArgSpec { name: "request", required: true, about: "Paths that were asked for: `/simple/numpy/`" },
            ArgSpec { name: "host", required: false, about: "Hosts that did not answer, where the log names them" },
            ArgSpec {
                name: "among",
                required: false,
                about: "The indexes that pip said it would look in, with commas",
            },
        ],
        answers: &[
            "in_file",
            "private_in_file",
            "extra_in_file",
            "variable_over_file",
            "in_variable",
            "private_in_variable",
            "extra_in_variable",
            "on_command_line",
            "default",
            "several",
            "no_network",
            "not_configured",
            "broken",
        ],
        values: &["url", "option", "place", "file", "line", "variable", "reason", "reason_zh"],
        ask: pip_index,
    },
    Question {
        name: "pip_plain_http",
        about: "Finds the setting that gives pip an index over plain http whose host it does not trust.",
        args: &[ArgSpec {
            name: "host",
            required: false,
            about: "The host that pip ignored; else the first that it would",
        }],
        answers: &["in_file", "elsewhere", "trusted", "not_configured", "broken"],
        values: &["url", "secure", "option", "place", "file", "line", "variable", "reason", "reason_zh"],
        ask: pip_plain_http,
    },
    Question {
        name: "pip_uses_index",
        about: "Says whether pip would ask an index, by its configuration, the environment and the command.",
        args: &[ArgSpec { name: "url", required: true, about: "The index's URL without credentials" }],
        answers: &["used", "unused", "broken"],
        values: &["url", "option", "place", "file", "line", "variable", "reason", "reason_zh"],
        ask: pip_uses_index,
    },
    Question {
        name: "pip_option",
        about: "Says which file, variable or argument gives pip the value of an option.",
        args: &[ArgSpec { name: "option", required: true, about: "The long option without dashes: `index-url`" }],
        answers: &["in_file", "in_variable", "on_command_line", "not_set", "broken"],
        values: &["value", "place", "file", "line", "variable", "shadowed", "reason", "reason_zh"],
        ask: pip_option,
    },
    Question {
        name: "pip_configuration",
        about: "Says whether pip can read its configuration files, and at which line it stops.",
        args: &[],
        answers: &["broken", "reads"],
        values: &["place", "file", "line", "reason", "reason_zh"],
        ask: pip_configuration,
    },
];

/// Reads pip's configuration, or answers that pip itself would stop at it.
fn configuration(inquiry: &Inquiry<'_>) -> Result<PipConfig, Answer> {
    PipConfig::read(inquiry.host, inquiry.command).map_err(|unread| {
        let Unread { path, line, reason } = unread;
        let [en, zh] = [
            reason.map_or("the file cannot be read", |reason| reason.en()),
            reason.map_or("文件无法读取", |reason| reason.zh()),
        ];
        let mut answer = Answer::new(
            "broken",
            Text::new(format!("pip cannot read {path}:{line}: {en}"), format!("pip 无法读取 {path}:{line}：{zh}")),
        );
        let says = Text::new(en, zh);
        answer.places.push(Place { path: path.clone(), line: to_line(line), column: 1, says });
        let place = format!("{path}:{line}");
        answer
            .with("place", place)
            .with("file", path.to_string())
            .with("line", line.to_string())
            .with("reason", en)
            .with("reason_zh", zh)
    })
}

fn pip_configuration(inquiry: &Inquiry<'_>) -> Answer {
    match configuration(inquiry) {
        Ok(_) => Answer::new("reads", Text::new("pip can read its configuration files", "pip 能够读取其配置文件")),
        Err(broken) => broken,
    }
}

fn to_line(line: usize) -> u32 {
    u32::try_from(line).unwrap_or(u32::MAX)
}

fn pip_index(inquiry: &Inquiry<'_>) -> Answer {
    let config = match configuration(inquiry) {
        Ok(config) => config,
        Err(broken) => return broken,
    };
    let (requests, hosts) = (inquiry.list("request"), inquiry.list("host"));
    let among: Vec<String> = inquiry
        .list("among")
        .iter()
        .flat_map(|list| list.split(", ").map(|url| shown(url.trim())).collect::<Vec<_>>())
        .collect();
    let indexes = config.indexes();
    let is_named = |index: &&Index| {
        let told = among.is_empty() || among.contains(&shown(&index.url));
        told && IndexUrl::parse(&index.url).is_some_and(|url| {
            requests.iter().any(|request| url.serves(request))
                && (hosts.is_empty() || hosts.iter().any(|host| host.eq_ignore_ascii_case(url.host)))
        })
    };
    let mut named: Vec<&Index> = indexes.iter().filter(is_named).collect();
    named.dedup_by(|one, other| one.url == other.url);
    let index = match named.as_slice() {
        [] => {
            return Answer::new(
                "not_configured",
                Text::new(
                    "pip is configured here with no index that the log shows to be unreachable",
                    "本机的 pip 配置中没有日志所示无法访问的索引",
                ),
            );
        }
        [index] => *index,
        [first, ..] => {
            let urls: Vec<String> = named.iter().map(|index| shown(&index.url)).collect();
            let urls = urls.join(", ");
            let seen = Text::new(
                format!("the log fits several indexes of this configuration: {urls}"),
                format!("日志与本机配置中的多个索引相符：{urls}"),
            );
            return describe(Answer::new("several", seen), first);
        }
    };
    let loopback = IndexUrl::parse(&index.url).is_some_and(|url| url.is_loopback());
    if !loopback && !has_route(inquiry.host) {
        let seen = Text::new("this machine has no route to other networks", "本机没有通往外部网络的路由");
        return describe(Answer::new("no_network", seen), index);
    }
    let public = IndexUrl::parse(&index.url).is_some_and(|url| url.is_public());
    let extra = index.option == "extra-index-url";
    let word = match &index.origin {
        None => "default",
        Some(Origin::CommandLine) => "on_command_line",
        Some(Origin::File { .. }) if extra => "extra_in_file",
        Some(Origin::File { .. }) if public => "in_file",
        Some(Origin::File { .. }) => "private_in_file",
        Some(Origin::Variable(_)) if extra => "extra_in_variable",
        Some(Origin::Variable(_)) => {
            let below = config.all(index.option).rev().nth(1);
            let in_file = below.is_some_and(|setting| matches!(setting.origin, Origin::File { .. }));
            // A file's own index is the user's word as well; without one pip would ask the public index.
            match (in_file, public) {
                (true, _) => "variable_over_file",
                (false, true) => "in_variable",
                (false, false) => "private_in_variable",
            }
        }
    };
    let (url, place) = (shown(&index.url), place_of(index));
    let seen = Text::new(format!("{url} comes from {}", place.en), format!("{url} 来自{}", place.zh));
    describe(Answer::new(word, seen), index)
}

fn pip_uses_index(inquiry: &Inquiry<'_>) -> Answer {
    let config = match configuration(inquiry) {
        Ok(config) => config,
        Err(broken) => return broken,
    };
    let url = inquiry.text("url").map(|url| shown(&url)).unwrap_or_default();
    match config.indexes().iter().find(|index| shown(&index.url) == url) {
        Some(index) => {
            let place = place_of(index);
            let seen = Text::new(format!("{url} comes from {}", place.en), format!("{url} 来自{}", place.zh));
            describe(Answer::new("used", seen), index)
        }
        None => Answer::new("unused", Text::new(format!("pip does not ask {url}"), format!("pip 不会访问 {url}"))),
    }
}

fn pip_plain_http(inquiry: &Inquiry<'_>) -> Answer {
    let config = match configuration(inquiry) {
        Ok(config) => config,
        Err(broken) => return broken,
    };
    let trusts = |host: &str| {
        config.list("trusted-host").into_iter().any(|(word, _)| {
            let name = word.split(':').next().unwrap_or_default();
            name.eq_ignore_ascii_case(host) || name == "*"
        })
    };
    let named = inquiry.text("host");
    let indexes = config.indexes();
    let plain = indexes.iter().filter_map(|index| {
        let host = IndexUrl::parse(&index.url).filter(IndexUrl::is_plain)?;
        // pip trusts this machine itself.
        let host = (named.is_some() || !host.is_loopback()).then(|| host.host.to_owned())?;
        Some((index, host))
    });
    let found = plain.into_iter().find(|(_, host)| match &named {
        Some(named) => host.eq_ignore_ascii_case(named),
        None => !trusts(host),
    });
    let Some((index, host)) = found else {
        let seen = match &named {
            Some(host) => Text::new(
                format!("no index of this configuration is http://{host}"),
                format!("本机配置中没有位于 http://{host} 的索引"),
            ),
            None => Text::new("pip trusts all of its indexes", "pip 信任其全部索引"),
        };
        return Answer::new("not_configured", seen);
    };
    let trusted = trusts(&host);
    let word = match (&index.origin, trusted) {
        (_, true) => "trusted",
        (Some(Origin::File { .. }), false) => "in_file",
        (Some(Origin::Variable(_) | Origin::CommandLine) | None, false) => "elsewhere",
    };
    let (url, place) = (shown(&index.url), place_of(index));
    let seen = match trusted {
        true => Text::new(format!("{host} is a trusted host now"), format!("{host} 现已列入 trusted-host")),
        false => Text::new(format!("{url} comes from {}", place.en), format!("{url} 来自{}", place.zh)),
    };
    let secure = url.split_once("://").map(|(_, rest)| format!("https://{rest}")).unwrap_or_default();
    describe(Answer::new(word, seen), index).with("secure", secure)
}

fn pip_option(inquiry: &Inquiry<'_>) -> Answer {
    let config = match configuration(inquiry) {
        Ok(config) => config,
        Err(broken) => return broken,
    };
    let option = inquiry.text("option").unwrap_or_default();
    let Some(winning) = config.winning(&option) else {
        let seen = Text::new(format!("nothing sets `{option}`"), format!("没有任何地方设置 `{option}`"));
        return Answer::new("not_set", seen);
    };
    let word = match &winning.origin {
        Origin::File { .. } => "in_file",
        Origin::Variable(_) => "in_variable",
        Origin::CommandLine => "on_command_line",
    };
    let values: Vec<String> = winning.value.split_whitespace().map(shown).collect();
    let others: Vec<String> =
        config.all(&option).filter(|other| *other != winning).map(|other| told(&other.origin).en).collect();
    let place = told(&winning.origin);
    let seen = Text::new(format!("`{option}` comes from {}", place.en), format!("`{option}` 来自{}", place.zh));
    let answer = Answer::new(word, seen).with("value", values.join(" ")).with("shadowed", others);
    with_origin(answer, &winning.origin)
}

fn describe(answer: Answer, index: &Index) -> Answer {
    let answer = answer.with("url", shown(&index.url)).with("option", index.option);
    match &index.origin {
        Some(origin) => with_origin(answer, origin),
        None => answer,
    }
}

fn with_origin(mut answer: Answer, origin: &Origin) -> Answer {
    match origin {
        Origin::File { path, line, .. } => {
            let says = Text::new("this value wins", "此处的取值生效");
            answer.places.push(Place { path: path.clone(), line: to_line(*line), column: 1, says });
            let place = format!("{path}:{line}");
            answer.with("place", place).with("file", path.to_string()).with("line", line.to_string())
        }
        Origin::Variable(name) => answer.with("variable", name.clone()).with("place", name.clone()),
        Origin::CommandLine => answer,
    }
}

fn place_of(index: &Index) -> Text {
    index.origin.as_ref().map_or_else(|| Text::new("pip's own default", " pip 的默认设置"), told)
}

fn told(origin: &Origin) -> Text {
    match origin {
        Origin::File { path, line, .. } => Text::new(format!("{path}:{line}"), format!(" {path}:{line}")),
        Origin::Variable(name) => Text::new(format!("the variable {name}"), format!("环境变量 {name}")),
        Origin::CommandLine => Text::new("the command line", "命令行"),
    }
}

/// Says whether the kernel knows a way out of this machine.
pub(super) fn has_route(host: &dyn Host) -> bool {
    let read = |path: &str| {
        let bytes = host.read(Path::new(path), 1 << 20).unwrap_or_default();
        String::from_utf8_lossy(&bytes).into_owned()
    };
    let fourth = read("/proc/net/route").lines().skip(1).any(|line| {
        let mut fields = line.split_whitespace();
        fields.next().is_some_and(|device| device != "lo")
    });
    // Local and multicast addresses have routes without any network.
    let sixth = read("/proc/net/ipv6_route").lines().any(|line| {
        let fields: Vec<&str> = line.split_whitespace().collect();
        fields.len() >= 10 && fields[9] != "lo" && !fields[0].starts_with("fe80") && !fields[0].starts_with("ff00")
    });
    fourth || sixth
}
