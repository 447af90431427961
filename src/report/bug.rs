//! A bug report: what the maintainers of a project ask for, and nothing that must not leave.
//!
//! The caller hands over plain facts; both renderings take everything private out with one redactor, so that a host
//! has one number throughout, and end with a manifest of what was taken out.

use std::fmt::Write;

use serde::Serialize;
use serde_json::Value;

use super::{Confidence, Evidence, Outcome, SCHEMA_VERSION, english};
use crate::recipe::{Lang, Text};
use crate::redact::{Redactor, Replaced, Rule};

/// What a report holds.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct BugReport {
    pub outcome: Outcome,
    pub fix_version: String,
    pub findings: Vec<Known>,
    /// The lines that tell most of what went wrong.
    pub excerpts: Vec<Evidence>,
    pub versions: Vec<VersionLine>,
    pub chips: Vec<String>,
    pub ranks: Vec<String>,
    pub shapes: Vec<String>,
    pub dtypes: Vec<String>,
    pub command: Vec<String>,
    pub attempts: Vec<Attempt>,
}

/// A known issue that explains it.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Known {
    pub id: String,
    pub confidence: Confidence,
    #[serde(serialize_with = "english")]
    pub title: Text,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct VersionLine {
    pub name: String,
    pub version: String,
    pub told_by: String,
}

/// What was tried with `fix`.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Attempt {
    pub recipes: Vec<String>,
    pub outcome: Outcome,
}

/// Begins every report, so that a file of ours is known again.
pub const BEGINNING: &str = "<!-- fix report -->\n";

/// Renders a report as Markdown.
pub fn markdown(report: &BugReport, lang: Lang, redactor: &mut Redactor) -> String {
    let say = |en: &'static str, zh: &'static str| match lang {
        Lang::En => en,
        Lang::Zh => zh,
    };
    let mut body = String::new();
    let mut section = |title: &str, lines: &str| {
        let none = say("(not found out; please add it)", "（未能得知，请补充）");
        let _ = write!(body, "\n## {title}\n\n{}\n", if lines.is_empty() { none } else { lines.trim_end() });
    };
    let mut known = String::new();
    for one in &report.findings {
        let _ = writeln!(known, "- `{}` ({}): {}", one.id, confidence(one.confidence), one.title.get(lang));
    }
    let mut errors = String::new();
    for excerpt in &report.excerpts {
        let place = match lang {
            Lang::En => format!("{}, lines {}–{}", excerpt.source, excerpt.first_line, excerpt.last_line),
            Lang::Zh => format!("{}，第 {}–{} 行", excerpt.source, excerpt.first_line, excerpt.last_line),
        };
        let fence = fence_for(&excerpt.text);
        let _ = writeln!(errors, "{place}\n\n{fence}text\n{}\n{fence}\n", excerpt.text.trim_end());
    }
    section(say("Key error", "关键报错"), &errors);
    let none_known = say("no known issue of `fix` matches", "未匹配到 `fix` 的已知问题");
    section(say("Known issue", "已知问题"), if known.is_empty() { none_known } else { &known });
    let lines: String = report
        .versions
        .iter()
        .map(|one| format!("- {}: {} ({})\n", one.name, version_in(one, lang), one.told_by))
        .collect();
    section(say("Versions", "软件版本"), &lines);
    section(say("Chip", "芯片型号"), &list(&report.chips));
    section(say("Ranks", "rank 数"), &list(&report.ranks));
    section(say("Shapes", "shape"), &list(&report.shapes));
    section(say("Dtypes", "dtype"), &list(&report.dtypes));
    let command = shell_words::join(&report.command);
    let command = if command.is_empty() { command } else { format!("```sh\n{command}\n```") };
    section(say("Command to reproduce", "复现命令"), &command);
    let tried: String = report
        .attempts
        .iter()
        .map(|one| format!("- {}: {}\n", one.recipes.join(", "), one.outcome.sentence().get(lang)))
        .collect();
    let nothing_tried =
        say("nothing with `fix`; please add what else was tried", "未使用 `fix` 尝试过修复；请补充其他已尝试的方案");
    section(say("Tried so far", "已尝试方案"), if tried.is_empty() { nothing_tried } else { &tried });
    let body = redactor.redact(&body).into_string();
    let title = say("Bug report", "问题反馈");
    let version = &report.fix_version;
    let mut out = format!(
        "{BEGINNING}# {title}\n\n{}\n{body}",
        say("Made by `fix report`", "由 `fix report` 生成").to_owned() + " " + version
    );
    let _ = writeln!(out, "\n## {}\n", say("Taken out", "已移除的内容"));
    let manifest = redactor.manifest();
    if manifest.is_empty() {
        let _ = writeln!(out, "- {}", say("nothing", "无"));
    }
    for one in manifest {
        let name = rule(one.rule);
        let _ = writeln!(out, "- `<{}-…>` {}: {}", one.kind.word(), name.get(lang), one.count);
    }
    let _ = writeln!(
        out,
        "\n{}",
        say(
            "Nothing was sent. Data of your business have no shape that a program knows: read this once more before you share it.",
            "本报告未发送到任何地方。程序无法识别业务数据，分享前请再通读一遍。",
        )
    );
    out
}

/// Renders a report as one JSON document, in English.
pub fn json(report: &BugReport, redactor: &mut Redactor) -> String {
    let mut value = serde_json::to_value(report).expect("structs with text keys serialise");
    // What a later string tells is hidden in an earlier one as well.
    learn(&value, redactor);
    hide(&mut value, "", redactor);
    if let Value::Object(map) = &mut value {
        map.insert("schema_version".to_owned(), SCHEMA_VERSION.into());
        let manifest: Vec<Replaced> = redactor.manifest();
        map.insert("replaced".to_owned(), serde_json::to_value(manifest).expect("structs with text keys serialise"));
    }
    let mut text = serde_json::to_string_pretty(&value).expect("a value serialises");
    text.push('\n');
    text
}

fn learn(value: &Value, redactor: &mut Redactor) {
    match value {
        Value::Null | Value::Bool(_) | Value::Number(_) => {}
        Value::String(text) => redactor.learn_from(text),
        Value::Array(items) => items.iter().for_each(|item| learn(item, redactor)),
        Value::Object(map) => map.values().for_each(|item| learn(item, redactor)),
    }
}

fn hide(value: &mut Value, name: &str, redactor: &mut Redactor) {
    match value {
        Value::Null | Value::Bool(_) | Value::Number(_) => {}
        Value::String(text) => *text = redactor.redact_value(name, text).into_string(),
        Value::Array(items) if name == "command" => {
            let words: Vec<String> = items.iter().filter_map(|item| item.as_str().map(str::to_owned)).collect();
            *items = redactor.redact_words(&words).into_iter().map(|word| Value::String(word.into_string())).collect();
        }
        Value::Array(items) => items.iter_mut().for_each(|item| hide(item, name, redactor)),
        Value::Object(map) => map.iter_mut().for_each(|(name, item)| hide(item, name, redactor)),
    }
}

/// A version, or the word that there is none.
fn version_in(line: &VersionLine, lang: Lang) -> &str {
    match (line.version.as_str(), lang) {
        ("not installed", Lang::Zh) => "未安装",
        (version, _) => version,
    }
}

/// A fence longer than any in the text.
fn fence_for(text: &str) -> String {
    let longest = text.split(|c| c != '`').map(str::len).max().unwrap_or_default();
    "`".repeat((longest + 1).max(3))
}

fn list(items: &[String]) -> String {
    items.iter().map(|item| format!("- {item}\n")).collect()
}

fn confidence(confidence: Confidence) -> &'static str {
    match confidence {
        Confidence::Refuted => "refuted",
        Confidence::Possible => "possible",
        Confidence::Likely => "likely",
        Confidence::Certain => "certain",
    }
}

/// What a rule takes out.
fn rule(rule: Rule) -> Text {
    match rule {
        Rule::Secret => Text::new("passwords, tokens, keys", "密码、令牌、密钥"),
        Rule::UserName => Text::new("user names", "用户名"),
        Rule::JobNumber => Text::new("job numbers", "工号"),
        Rule::HostName => Text::new("host names", "主机名"),
        Rule::Ipv4 => Text::new("IPv4 addresses", "IPv4 地址"),
        Rule::Ipv6 => Text::new("IPv6 addresses", "IPv6 地址"),
        Rule::Mac => Text::new("hardware addresses", "MAC 地址"),
        Rule::ProcessId => Text::new("process ids", "进程号"),
        Rule::Path => Text::new("private paths", "内部路径"),
        Rule::Link => Text::new("links within a private host", "内部链接"),
        Rule::Email => Text::new("e-mail addresses", "邮箱地址"),
        Rule::Named => Text::new("what you named by `--hide`", "您用 `--hide` 指定的内容"),
    }
}
