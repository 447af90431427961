//! Where does the channel that is gone stand, and is it really gone?

use std::ffi::OsString;

use super::{Answer, ArgSpec, Inquiry, Place, Question, UNKNOWN};
use crate::evidence::conda::{self, Base, Channel, Dead, Effective, Origin, Tool};
use crate::evidence::{Host, OnlineError};
use crate::formats::toml_file;
use crate::formats::yaml::LARGEST;
use crate::os::AbsPath;
use crate::recipe::{Text, Value};

const URL: ArgSpec = ArgSpec { name: "url", required: false, about: "URLs of the channels, as the log names them" };
const NAME: ArgSpec = ArgSpec { name: "name", required: false, about: "Their names, for logs without URL" };

/// The questions of this file.
pub const QUESTIONS: &[Question] = &[
    Question {
        name: "conda_channel",
        about: "Says where conda's configuration, the command or its environment file names a channel.",
        args: &[URL, NAME],
        answers: &[
            "file",
            "environment_variable",
            "builtin_default",
            "in_command",
            "command_line",
            "only_channel",
            "uneditable",
            "nowhere",
        ],
        values: &["places", "file", "line", "key", "entry", "variable", "words"],
        ask: conda_channel,
    },
    Question {
        name: "conda_channel_online",
        about: "Asks the channel's server for `noarch/repodata.json`, where the user allows it by `--online`.",
        args: &[URL, NAME],
        answers: &["missing", "there", "other_form", "forbidden", "moved", "other_status", "private", "offline"],
        values: &["asked", "status"],
        ask: conda_channel_online,
    },
];

fn dead(inquiry: &Inquiry<'_>) -> Vec<Dead> {
    Dead::all(&inquiry.list("url"), &inquiry.list("name"))
}

fn unknown(en: impl Into<String>, zh: impl Into<String>) -> Answer {
    Answer::new(UNKNOWN, Text::new(en, zh))
}

/// The configuration that counts, or why nothing can be said of it.
fn effective(inquiry: &Inquiry<'_>) -> Result<Effective, Answer> {
    let found = conda::effective(inquiry.host, inquiry.command);
    if found.command.tool == Tool::Other {
        return Err(unknown("the command does not read conda's configuration", "该命令不读取 conda 的配置"));
    }
    if found.command.other_configuration {
        return Err(unknown("the command names a configuration of its own", "该命令指定了自己的配置文件"));
    }
    Ok(found)
}

fn conda_channel(inquiry: &Inquiry<'_>) -> Answer {
    let dead = dead(inquiry);
    if dead.is_empty() {
        return unknown("no channel is known", "频道未知");
    }
    let found = match effective(inquiry) {
        Ok(found) => found,
        Err(answer) => return answer,
    };
    if let Some(broken) = found.broken.iter().find(|broken| dead.iter().any(|dead| dead.is_mentioned(&broken.text))) {
        let (file, line) = (&broken.file, broken.line);
        let seen = Text::new(
            format!("`{file}`:{line} names it and cannot be edited: {}", broken.why.en),
            format!("`{file}`:{line} 写有该频道，但无法自动修改：{}", broken.why.zh),
        );
        return Answer::new("uneditable", seen).with("file", file.to_string()).with("line", line.to_string());
    }
    let places: Vec<&Channel> = found.places(&dead).collect();
    if places.is_empty() {
        return match found.broken.first() {
            Some(broken) => {
                let (file, line) = (&broken.file, broken.line);
                unknown(format!("`{file}`:{line}: {}", broken.why.en), format!("`{file}`:{line}：{}", broken.why.zh))
            }
            None => Answer::new(
                "nowhere",
                Text::new("no configuration that conda reads here names it", "此处 conda 读取的配置中没有该频道"),
            ),
        };
    }
    if let Some(Origin::Toml(at)) =
        found.pins.iter().find(|pin| dead.iter().any(|dead| dead.is(pin))).map(|pin| &pin.origin)
    {
        let (file, line) = (&at.file, at.line);
        let seen = Text::new(
            format!("`{file}`:{line} wants a dependency from this very channel"),
            format!("`{file}`:{line} 的依赖指定必须来自该频道"),
        );
        return Answer::new("uneditable", seen).with("file", file.to_string()).with("line", line.to_string());
    }
    describe(inquiry, &found, &dead, &places)
}

fn describe(inquiry: &Inquiry<'_>, found: &Effective, dead: &[Dead], places: &[&Channel]) -> Answer {
    let host = inquiry.host;
    let told: Vec<Text> = {
        let mut told: Vec<Text> = places.iter().map(|channel| channel.origin.told()).collect();
        told.dedup();
        told
    };
    let join = |of: fn(&Text) -> &str, by: &str| told.iter().map(of).collect::<Vec<_>>().join(by);
    let mut seen = Text::new(join(|text| &text.en, ", "), join(|text| &text.zh, "、"));
    let has = |is: fn(&Origin) -> bool| places.iter().any(|channel| is(&channel.origin));
    let is_file = |origin: &Origin| matches!(origin, Origin::Entry(_) | Origin::Toml(_));
    let in_words = has(|origin| matches!(origin, Origin::CommandLine(_)));
    let mut word = if in_words && (found.command.tool == Tool::Pixi || rewritten(inquiry, found, dead).is_none()) {
        "command_line"
    } else if !found.has_other_than(dead) {
        "only_channel"
    } else if in_words {
        "in_command"
    } else if has(is_file) {
        "file"
    } else if has(|origin| matches!(origin, Origin::Variable { .. })) {
        "environment_variable"
    } else {
        "builtin_default"
    };
    if word == "file" || word == "in_command" {
        for (file, entries) in found.toml_entries_by_file(dead) {
            let Ok(bytes) = host.read(file.as_path(), LARGEST as u64) else { continue };
            if let Err(refusal) = conda::removed_from_toml(&bytes, &entries) {
                let (line, reason) = (refusal.line, refusal.reason);
                let is_mirror = entries.iter().any(|entry| entry.key().starts_with("mirrors."));
                seen = Text::new(
                    format!("`{file}`:{line} names it and cannot be edited: {}", reason.en()),
                    format!("`{file}`:{line} 写有该频道，但无法自动修改：{}", reason.zh()),
                );
                let is_only = reason == toml_file::Reason::NothingLeft && !is_mirror;
                word = if is_only { "only_channel" } else { "uneditable" };
            }
        }
        for (file, entries) in found.entries_by_file(dead) {
            let Ok(bytes) = host.read(file.as_path(), LARGEST as u64) else { continue };
            if let Err(refusal) = conda::removed(&bytes, &entries) {
                let line = refusal.line;
                seen = Text::new(
                    format!("`{file}`:{line} names it and cannot be edited: {}", refusal.reason.en()),
                    format!("`{file}`:{line} 写有该频道，但无法自动修改：{}", refusal.reason.zh()),
                );
                word = "uneditable";
            }
        }
    }
    let mut answer = Answer::new(word, seen);
    let words: Vec<String> = places
        .iter()
        .filter_map(|channel| match &channel.origin {
            Origin::CommandLine(text) => Some(text.clone()),
            Origin::Entry(_) | Origin::Toml(_) | Origin::Variable { .. } | Origin::BuiltIn => None,
        })
        .collect();
    answer = answer.with("places", told.iter().map(|text| text.en.clone()).collect::<Vec<_>>());
    if !words.is_empty() {
        answer = answer.with("words", words);
    }
    for channel in places {
        match &channel.origin {
            Origin::Entry(at) => {
                let (line, column) = (at.entry.line, at.entry.column);
                answer = at_place(answer, &at.file, (line, column), at.path.join("."), &at.entry.text);
            }
            Origin::Toml(at) => answer = at_place(answer, &at.file, (at.line, at.column), at.key(), &at.text),
            Origin::Variable { name, .. } => answer = answer.with("variable", *name),
            Origin::CommandLine(_) | Origin::BuiltIn => {}
        }
    }
    answer.places.sort();
    answer.places.dedup();
    answer
}

/// Adds a place; the first is the one that is told of.
fn at_place(mut answer: Answer, file: &AbsPath, (line, column): (u32, u32), key: String, text: &str) -> Answer {
    let says = Text::new("this channel does not exist", "该频道不存在");
    answer.places.push(Place { path: file.clone(), line, column, says });
    if answer.values.contains_key("file") {
        return answer;
    }
    let answer = answer.with("file", file.to_string()).with("line", line.to_string());
    answer.with("key", key).with("entry", shown(text))
}

/// The command without the dead channels of its `-c`, where that can be said in words.
fn rewritten(inquiry: &Inquiry<'_>, found: &Effective, dead: &[Dead]) -> Option<Vec<OsString>> {
    let gone = found.command_words(dead);
    conda::without_channels(inquiry.command?, &|word| gone.contains(&word))
}

/// An entry without what is secret in it.
fn shown(text: &str) -> String {
    Base::of(text).filter(|base| base.is_private).map_or_else(|| text.to_owned(), |base| base.url())
}

/// Only what conda itself would ask is asked, and only as conda would ask it.
fn conda_channel_online(inquiry: &Inquiry<'_>) -> Answer {
    let dead = dead(inquiry);
    let found = match effective(inquiry) {
        Ok(found) => found,
        Err(answer) => return answer,
    };
    let mut bases: Vec<&Base> = Vec::new();
    for channel in found.places(&dead) {
        if !bases.iter().any(|base| base.place == channel.base.place) {
            bases.push(&channel.base);
        }
    }
    if bases.is_empty() || bases.len() != dead.len() {
        return unknown("not asked: no configuration names it", "未查询：配置中没有该频道");
    }
    let mut answers = bases.iter().map(|base| ask(inquiry.host, &found, base));
    let Some(first) = answers.next() else { return unknown("no channel is known", "频道未知") };
    // Every one of them must be gone.
    answers.fold(first, |all, next| if all.word == "missing" { next } else { all })
}

fn ask(host: &dyn Host, found: &Effective, base: &Base) -> Answer {
    let private = found.channels.iter().any(|channel| channel.base.place == base.place && channel.base.is_private);
    if private || found.has_own_ways || has_login(host, base) {
        return Answer::new(
            "private",
            Text::new(
                "not asked: conda logs in to it, and we never do",
                "未查询：conda 会登录该频道，而本工具从不发送凭据",
            ),
        );
    }
    if base.scheme != "http" && base.scheme != "https" {
        return unknown("it is no address of the web", "不是网络地址");
    }
    let url = format!("{}/noarch/repodata.json", base.url());
    let answer = one_address(host, &url);
    if answer.word != "missing" {
        return answer;
    }
    // A channel may have its index in newer forms only, which the command did not ask for.
    for form in ["repodata.json.zst", "repodata_shards.msgpack.zst"] {
        let newer = one_address(host, &format!("{}/noarch/{form}", base.url()));
        match newer.word {
            "missing" => {}
            "there" => return Answer { word: "other_form", ..newer },
            _ => return newer,
        }
    }
    answer
}

fn one_address(host: &dyn Host, url: &str) -> Answer {
    let answer = match host.http_status(url) {
        Err(OnlineError::NotAllowed) => {
            return Answer::new(
                "offline",
                Text::new("not asked: `--online` allows it", "未查询：加上 `--online` 才会联网确认"),
            );
        }
        Err(OnlineError::Moved(to)) => Answer::new(
            "moved",
            Text::new(format!("`{url}` leads to another host, `{to}`"), format!("`{url}` 跳转到了另一台主机 `{to}`")),
        ),
        Err(OnlineError::Failed(why)) => {
            return unknown(format!("`{url}` gave no answer: {why}"), format!("`{url}` 没有应答：{why}"));
        }
        Ok(status) => {
            let word = match status {
                200 | 304 => "there",
                404 | 410 => "missing",
                401 | 403 | 407 | 451 => "forbidden",
                _ => "other_status",
            };
            let seen = Text::new(format!("`{url}` answers {status}"), format!("`{url}` 返回 {status}"));
            Answer::new(word, seen).with("status", status.to_string())
        }
    };
    answer.with("asked", Value::Text(url.to_owned()))
}

/// Says whether the user has a login for the host in ~/.netrc, which conda takes.
fn has_login(host: &dyn Host, base: &Base) -> bool {
    let named = host.env("NETRC").map(std::path::PathBuf::from);
    let usual = host.home().map(|home| home.resolve(".netrc").as_path().to_owned());
    named.or(usual).and_then(|file| host.read(&file, LARGEST as u64).ok()).is_some_and(|bytes| {
        let text = String::from_utf8_lossy(&bytes).into_owned();
        text.split_whitespace().any(|word| word == base.host() || word == "default")
    })
}

#[cfg(test)]
#[path = "conda_channel_tests.rs"]
mod tests;
