//! Has conda a channel at all, and the solver that it is told to use?

use super::{Answer, Inquiry, Question, UNKNOWN};
use crate::evidence::FileKind;
use crate::evidence::conda::{self, Origin, Tool};
use crate::recipe::Text;

/// The questions of this file.
pub const QUESTIONS: &[Question] = &[
    Question {
        name: "conda_channels",
        about: "Says whether conda's configuration or the command names any channel, and where an empty list stands.",
        args: &[],
        answers: &["some", "none", "emptied"],
        values: &["file", "line"],
        ask: conda_channels,
    },
    Question {
        name: "conda_solver",
        about: "Says which solver conda is told to use, and whether libmamba's plugin is installed beside conda.",
        args: &[],
        answers: &["classic", "libmamba_missing", "libmamba_there", "other"],
        values: &["root", "set_by", "variable", "plugin"],
        ask: conda_solver,
    },
];

fn unknown(en: &str, zh: &str) -> Answer {
    Answer::new(UNKNOWN, Text::new(en, zh))
}

fn conda_channels(inquiry: &Inquiry<'_>) -> Answer {
    let found = conda::effective(inquiry.host, inquiry.command);
    if !found.broken.is_empty()
        || found.command.other_configuration
        || matches!(found.command.tool, Tool::Other | Tool::Pixi)
    {
        return unknown("not all of the configuration can be read", "配置未能全部读取");
    }
    if let Some(channel) =
        found.channels.iter().find(|channel| !matches!(channel.origin, Origin::BuiltIn | Origin::Toml(_)))
    {
        return Answer::new("some", channel.origin.told());
    }
    match found.empty_lists.last() {
        Some((file, line)) => {
            let seen = Text::new(format!("`{file}`:{line} has an empty list"), format!("`{file}`:{line} 是空列表"));
            Answer::new("emptied", seen).with("file", file.to_string()).with("line", line.to_string())
        }
        None => Answer::new("none", Text::new("no configuration names a channel", "没有任何配置写有频道")),
    }
}

fn conda_solver(inquiry: &Inquiry<'_>) -> Answer {
    let host = inquiry.host;
    let solver = conda::solver(host, inquiry.command);
    if solver.is_uncertain {
        return unknown("not all of the configuration can be read", "配置未能全部读取");
    }
    let set_by = solver.set_by.clone().unwrap_or_else(|| "conda".to_owned());
    let name = solver.name.clone().unwrap_or_else(|| "libmamba".to_owned());
    let with = |answer: Answer| {
        let answer = answer.with("set_by", set_by.clone()).with("variable", solver.variable);
        match &solver.root {
            Some(root) => answer.with("root", root.to_string()),
            None => answer,
        }
    };
    if name == "classic" {
        return with(Answer::new("classic", Text::new(format!("{set_by}: classic"), format!("{set_by}：classic"))));
    }
    if name != "libmamba" {
        return with(Answer::new("other", Text::new(format!("{set_by}: {name}"), format!("{set_by}：{name}"))));
    }
    // A folder that holds conda itself, else its packages say nothing.
    let Some(root) = solver
        .root
        .as_ref()
        .filter(|root| host.follow(root.resolve("lib").as_path()).is_ok_and(|meta| meta.kind == FileKind::Folder))
    else {
        return unknown("it is not known where conda is installed", "不知道 conda 安装在哪里");
    };
    match &solver.libmamba {
        Some(plugin) => with(
            Answer::new("libmamba_there", Text::new(format!("`{plugin}` is there"), format!("`{plugin}` 存在")))
                .with("plugin", plugin.to_string()),
        ),
        None => with(Answer::new(
            "libmamba_missing",
            Text::new(
                format!("`{root}` has no package conda-libmamba-solver"),
                format!("`{root}` 中没有 conda-libmamba-solver 包"),
            ),
        )),
    }
}
