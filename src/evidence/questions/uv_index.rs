//! Where does the package index stand that uv could not reach?

use super::{Answer, ArgSpec, Inquiry, Place, Question, UNKNOWN};
use crate::evidence::index_url::{IndexUrl, shown};
use crate::evidence::pip_config::DEFAULT_INDEX;
use crate::evidence::pixi_files::PixiCommand;
use crate::evidence::uv_config::{UvIndex, UvOrigin, indexes};
use crate::recipe::Text;

/// The questions of this file.
pub const QUESTIONS: &[Question] = &[
    Question {
        name: "uv_index",
        about: "Finds the file or variable that gives uv the index whose page it did not reach.",
        args: &[ArgSpec {
            name: "page",
            required: true,
            about: "The URL that was asked for: `https://…/simple/numpy/`",
        }],
        answers: &[
            "in_file",
            "private_in_file",
            "in_variable",
            "private_in_variable",
            "on_command_line",
            "default",
            "pixi_default",
            "no_network",
            "not_configured",
            "broken",
        ],
        values: VALUES,
        ask: uv_index,
    },
    Question {
        name: "uv_uses_index",
        about: "Says whether uv's files, the environment or the command give it an index.",
        args: &[ArgSpec { name: "url", required: true, about: "The index's URL without credentials" }],
        answers: &["used", "unused", "broken"],
        values: VALUES,
        ask: uv_uses_index,
    },
];

const VALUES: &[&str] = &["url", "place", "file", "line", "variable", "reason", "reason_zh"];

fn configured(inquiry: &Inquiry<'_>) -> Result<Vec<UvIndex>, Answer> {
    indexes(inquiry.host, inquiry.command).map_err(|unread| {
        let (path, line) = (unread.path, unread.line);
        let en = unread.reason.map_or("the file cannot be read", |reason| reason.en());
        let zh = unread.reason.map_or("文件无法读取", |reason| reason.zh());
        let seen = Text::new(format!("uv cannot read {path}:{line}: {en}"), format!("uv 无法读取 {path}:{line}：{zh}"));
        let answer = Answer::new("broken", seen).with("place", format!("{path}:{line}")).with("file", path.to_string());
        answer.with("line", line.to_string()).with("reason", en).with("reason_zh", zh)
    })
}

fn uv_index(inquiry: &Inquiry<'_>) -> Answer {
    let page = inquiry.text("page").unwrap_or_default();
    let Some(asked) = IndexUrl::parse(&page) else {
        return Answer::new(UNKNOWN, Text::new("no page of an index is named", "没有给出索引页面"));
    };
    let all = match configured(inquiry) {
        Ok(all) => all,
        Err(broken) => return broken,
    };
    let serves = |url: &str| {
        IndexUrl::parse(url).is_some_and(|index| {
            index.host.eq_ignore_ascii_case(asked.host)
                && index.port_or_default() == asked.port_or_default()
                && index.scheme.eq_ignore_ascii_case(asked.scheme)
                && index.serves(asked.path)
        })
    };
    let found = all.iter().find(|index| serves(&index.url));
    let (url, origin) = match found {
        Some(index) => (index.url.as_str(), Some(&index.origin)),
        None if serves(DEFAULT_INDEX) => (DEFAULT_INDEX, None),
        None => {
            let seen = Text::new(
                "uv is configured here with no index that the log shows to be unreachable",
                "本机的 uv 配置中没有日志所示无法访问的索引",
            );
            return Answer::new("not_configured", seen);
        }
    };
    let public = IndexUrl::parse(url).is_some_and(|url| url.is_public());
    let loopback = IndexUrl::parse(url).is_some_and(|url| url.is_loopback());
    let word = match (origin, public) {
        _ if !loopback && !super::pip_index::has_route(inquiry.host) => "no_network",
        (None, _) if inquiry.command.and_then(PixiCommand::read).is_some() => "pixi_default",
        (None, _) => "default",
        (Some(UvOrigin::CommandLine), _) => "on_command_line",
        (Some(UvOrigin::File { .. }), true) => "in_file",
        (Some(UvOrigin::File { .. }), false) => "private_in_file",
        (Some(UvOrigin::Variable(_)), true) => "in_variable",
        (Some(UvOrigin::Variable(_)), false) => "private_in_variable",
    };
    describe(word, url, origin)
}

fn uv_uses_index(inquiry: &Inquiry<'_>) -> Answer {
    let url = inquiry.text("url").map(|url| shown(&url)).unwrap_or_default();
    let all = match configured(inquiry) {
        Ok(all) => all,
        Err(broken) => return broken,
    };
    match all.iter().find(|index| shown(&index.url) == url) {
        Some(index) => describe("used", &index.url, Some(&index.origin)),
        None => {
            Answer::new("unused", Text::new(format!("nothing gives uv {url}"), format!("没有任何地方为 uv 指定 {url}")))
        }
    }
}

fn describe(word: &'static str, url: &str, origin: Option<&UvOrigin>) -> Answer {
    let url = shown(url);
    let answer = |en: &str, zh: &str| {
        let seen = Text::new(format!("{url} comes from {en}"), format!("{url} 来自{zh}"));
        Answer::new(word, seen).with("url", url.clone())
    };
    match origin {
        None => answer("uv's own default", " uv 的默认设置"),
        Some(UvOrigin::CommandLine) => answer("the command line", "命令行"),
        Some(UvOrigin::Variable(name)) => {
            let answer = answer(&format!("the variable {name}"), &format!("环境变量 {name}"));
            answer.with("variable", name.clone()).with("place", name.clone())
        }
        Some(UvOrigin::File { path, line, .. }) => {
            let place = format!("{path}:{line}");
            let mut answer = answer(&place, &format!(" {place}"));
            let says = Text::new("uv takes the index from here", "uv 从此处取得索引");
            let line = u32::try_from(*line).unwrap_or(u32::MAX);
            answer.places.push(Place { path: path.clone(), line, column: 1, says });
            answer.with("place", place).with("file", path.to_string()).with("line", line.to_string())
        }
    }
}
