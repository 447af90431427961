//! Chinese forms of the sentences that come from below in English: errors of files, transactions and rollbacks.
//!
//! The layers below say what happened as English errors; here, at the border to the user, each is said in the
//! reader's language. What is not known here stays English rather than being lost.

use std::sync::LazyLock;

use regex::Regex;

/// A sentence with `{}` for each part that varies, and its Chinese form with `{0}`, `{1}` for the same parts.
#[rustfmt::skip]
const SENTENCES: &[(&str, &str)] = &[
    // Transactions.
    ("`{}` is being worked on by {}", "`{0}` 正被 {1} 使用"),
    ("something changed meanwhile", "期间内容发生了变化"),
    ("`{}` and {} more changed meanwhile", "`{0}` 及另外 {1} 处在此期间发生了变化"),
    ("`{}` changed meanwhile", "`{0}` 在此期间发生了变化"),
    ("refusing to touch `{}`: it lies outside the allowed roots", "拒绝改动 `{0}`：它不在允许的目录之内"),
    ("refusing to touch `{}`: it holds the state of `fix`", "拒绝改动 `{0}`：其中存放着 `fix` 的状态"),
    ("refusing to touch `{}`: `{}` is mounted in it", "拒绝改动 `{0}`：其中挂载了 `{1}`"),
    ("refusing to change `{}`: {}", "拒绝修改 `{0}`：{1}"),
    ("its folder is not writable", "其所在目录不可写"),
    ("its folder is immutable or append-only", "其所在目录被设为不可变或只能追加"),
    ("it is immutable or append-only", "它被设为不可变或只能追加"),
    ("it belongs to user {}", "它属于用户 {0}"),
    ("it belongs to group {}, which you are not in", "它属于用户组 {0}，而您不在该组中"),
    ("there is no place for the state: neither XDG_STATE_HOME nor HOME names an existing folder",
     "没有可存放状态的位置：XDG_STATE_HOME 与 HOME 均未指向已有目录"),
    ("refusing to keep state in `{}`: it belongs to user {}", "拒绝在 `{0}` 中存放状态：它属于用户 {1}"),
    ("`{}` was written by a newer version (format {}); this one reads up to format {}",
     "`{0}` 由更新的版本写入（格式 {1}），当前版本最高只能读取格式 {2}"),
    ("the journal `{}` is damaged in line {}: {}", "日志 `{0}` 的第 {1} 行已损坏：{2}"),
    ("the journal `{}` has lost its end", "日志 `{0}` 的末尾已丢失"),
    ("the journal `{}` is gone or empty", "日志 `{0}` 已不存在或为空"),
    ("the repair `{}` was cut off and is not yet undone", "修复 `{0}` 曾被中断，尚未撤销"),
    ("it began on another machine", "它是在另一台机器上开始的"),
    ("the machine was started anew since", "此后机器已重新启动"),
    ("`{}` is on another file system now, or gone", "`{0}` 现位于另一文件系统，或已不存在"),
    ("process {}, which it started, still runs", "它启动的进程 {0} 仍在运行"),
    ("the group `{}` never began", "修复组 `{0}` 从未开始"),
    // Rollback.
    ("there is nothing to take back in `{}`", "`{0}` 中没有可撤销的修复"),
    ("the backup of the repair `{}` was deleted on {} by {}", "修复 `{0}` 的备份已于 {1} 被 {2} 删除"),
    ("a later repair, by the limits of what is kept", "之后的一次修复（按保留上限）"),
    ("there is no repair `{}`", "没有修复 `{0}`"),
    ("the repair `{}` is undone already", "修复 `{0}` 已经撤销"),
    ("{} changed since the repair `{}`", "{0} 在修复 `{1}` 之后被改动过"),
    ("the former content of {} is lost: it was changed in place", "{0} 的原内容已丢失：它被就地修改过"),
    ("what was set aside of `{}` is no longer in `{}`", "从 `{0}` 移走的内容已不在 `{1}` 中"),
    ("`{}`, where the repair `{}` was made, is gone", "进行修复 `{1}` 的位置 `{0}` 已不存在"),
    ("{} of the {} files that were set aside of `{}` are no longer in `{}`", "从 `{2}` 移走的 {1} 个文件中有 {0} 个已不在 `{3}` 中"),
    ("the repair `{}` cannot be read: {}", "修复 `{0}` 无法读取：{1}"),
    ("the repair `{}` was cut off and cannot be undone now: {}", "修复 `{0}` 曾被中断，目前无法撤销：{1}"),
    ("the rollback of `{}` is not complete: {}", "`{0}` 的撤销未完成：{1}"),
    ("`fix history` lists the repairs", "`fix history` 列出所有修复"),
    // Commands.
    ("`{}`: command not found", "`{0}`：未找到命令"),
    ("`{}`: cannot be executed: {}", "`{0}`：无法执行：{1}"),
    ("cannot start a program: {}", "无法启动程序：{0}"),
    ("the current folder does not exist any more", "当前目录已不存在"),
    ("cannot work in `{}`: it is not a folder", "无法在 `{0}` 中工作：它不是目录"),
    ("cannot work in `{}`", "无法在 `{0}` 中工作"),
    ("cannot read standard input", "无法读取标准输入"),
    ("cannot make the patch", "无法生成补丁"),
    ("`{}` exists and is none of `fix`'s own files", "`{0}` 已存在，且不是 `fix` 自己的文件"),
    ("name a new file", "请换一个新文件名"),
    ("which log? name files, or `-` for standard input; no tool left one here",
     "要读取哪个日志？请给出文件名，或用 `-` 表示标准输入；此处没有工具留下的日志"),
    ("`{}` stands for several issues: {}", "`{0}` 对应多个问题：{1}"),
    ("name one of them", "请指定其中一个"),
    ("which issue?", "要规划哪个问题？"),
    ("which issue? standard input is read once only", "要规划哪个问题？标准输入只能读取一次"),
    ("name one, or give the log with `--log FILE`; `fix list` lists the issues", "请指定问题，或用 `--log FILE` 给出日志；`fix list` 列出所有问题"),
    ("name the issue, or give the log as a file", "请指定问题，或以文件形式给出日志"),
    ("the log tells of several issues: {}", "日志中有多个问题：{0}"),
    ("`{}` is neither a command nor a known issue", "`{0}` 既不是命令，也不是已知问题"),
    ("`fix list` lists the issues, `fix --help` the commands", "`fix list` 列出所有问题，`fix --help` 列出所有命令"),
    ("did you mean {}? `fix list` lists all issues", "您是否想输入 {0}？`fix list` 列出所有问题"),
    ("`--set {}` is not NAME=VALUE", "`--set {0}` 不是 NAME=VALUE 的形式"),
    ("`--set {}`: no such parameter here", "`--set {0}`：此处没有这个参数"),
    ("there are {}", "可用参数：{0}"),
    ("did you mean {}?", "您是否想输入 {0}？"),
    ("`fix show ISSUE` lists the parameters of an issue", "`fix show ISSUE` 列出某个问题的参数"),
    ("`--set {}`: this is not a {}", "`--set {0}`：该值不是 {1} 类型"),
    ("`--set {}`: the value must be one of {}", "`--set {0}`：取值必须是以下之一：{1}"),
    ("the parameter `{}` holds a secret, and a plan file is read by others", "参数 `{0}` 含有机密信息，而计划文件会被他人阅读"),
    ("use `fix {}` here", "请在此处直接使用 `fix {0}`"),
    ("the command holds a secret, and a plan file is read by others", "命令含有机密信息，而计划文件会被他人阅读"),
    ("pass secrets by the environment", "请通过环境变量传递机密信息"),
    ("`{}` is not UTF-8", "`{0}` 不是 UTF-8"),
    ("`{}` is too large for a plan file", "`{0}` 过大，不可能是计划文件"),
    ("`{}` is not a plan file: it has no `schema_version`", "`{0}` 不是计划文件：缺少 `schema_version`"),
    ("`{}` is not a plan file: it has no repairs", "`{0}` 不是计划文件：其中没有修复"),
    ("`{}` is not a plan file", "`{0}` 不是计划文件"),
    ("`{}` has the format {}; this `fix` reads {}", "`{0}` 的格式为 {1}，当前 `fix` 只能读取格式 {2}"),
    ("the recipe `{}` is broken", "配方 `{0}` 有误"),
    // Files.
    ("cannot read `{}`", "无法读取 `{0}`"),
    ("cannot write `{}`", "无法写入 `{0}`"),
    ("cannot append to `{}`", "无法追加写入 `{0}`"),
    ("cannot change the folder `{}`", "无法切换目录 `{0}`"),
    ("cannot remove an attribute of `{}`", "无法移除 `{0}` 的扩展属性"),
    ("cannot change the mode of `{}`", "无法更改权限 `{0}`"),
    ("cannot change the owner of `{}`", "无法更改所有者 `{0}`"),
    ("cannot copy `{}`", "无法复制 `{0}`"),
    ("cannot create `{}`", "无法创建 `{0}`"),
    ("cannot create the folder `{}`", "无法创建目录 `{0}`"),
    ("cannot create the link `{}`", "无法创建链接 `{0}`"),
    ("cannot enter `{}`", "无法进入目录 `{0}`"),
    ("cannot find `{}`", "无法找到 `{0}`"),
    ("cannot inspect `{}`", "无法查看 `{0}`"),
    ("cannot link `{}`", "无法建立硬链接 `{0}`"),
    ("cannot list `{}`", "无法列出 `{0}`"),
    ("cannot lock `{}`", "无法锁定 `{0}`"),
    ("cannot move `{}`", "无法移动 `{0}`"),
    ("cannot open `{}`", "无法打开 `{0}`"),
    ("cannot open the folder `{}`", "无法打开目录 `{0}`"),
    ("cannot read the journal `{}`", "无法读取日志 `{0}`"),
    ("cannot read the link `{}`", "无法读取链接 `{0}`"),
    ("cannot remove `{}`", "无法删除 `{0}`"),
    ("cannot restore `{}`", "无法还原 `{0}`"),
    ("cannot remove the folder `{}`", "无法删除目录 `{0}`"),
    ("cannot save `{}`", "无法保存 `{0}`"),
    ("cannot set an attribute of `{}`", "无法设置扩展属性 `{0}`"),
    ("cannot set the times of `{}`", "无法设置时间 `{0}`"),
    ("cannot synchronise `{}`", "无法同步 `{0}`"),
    ("`{}` is not an absolute path", "`{0}` 不是绝对路径"),
    ("`{}` holds a NUL byte", "`{0}` 含有 NUL 字节"),
    ("No such file or directory (os error {})", "没有此文件或目录（os error {0}）"),
    ("Permission denied (os error {})", "权限不足（os error {0}）"),
    ("Is a directory (os error {})", "它是目录（os error {0}）"),
    ("Not a directory (os error {})", "它不是目录（os error {0}）"),
    ("No space left on device (os error {})", "磁盘空间不足（os error {0}）"),
    ("Read-only file system (os error {})", "文件系统为只读（os error {0}）"),
    ("Too many levels of symbolic links (os error {})", "符号链接层数过多（os error {0}）"),
    ("stream did not contain valid UTF-8", "内容不是有效的 UTF-8"),
];

/// How deep a sentence may hold others.
const DEEPEST: usize = 4;

/// Longer texts are no sentences of ours.
const LONGEST: usize = 16 << 10;

/// Says an English error in Chinese, as far as it is known; a hint stands on a line of its own as before.
pub fn in_chinese(text: &str) -> String {
    let lines: Vec<String> = text
        .lines()
        .map(|line| match line.strip_prefix("hint: ") {
            Some(hint) => format!("提示：{}", say(hint, DEEPEST)),
            None => say(line, DEEPEST),
        })
        .collect();
    lines.join("\n")
}

fn say(text: &str, depth: usize) -> String {
    if depth == 0 || text.len() > LONGEST {
        return text.to_owned();
    }
    if let Some(said) = whole(text, depth) {
        return said;
    }
    // A chain of causes: each part by itself.
    for (at, _) in text.match_indices(": ") {
        if let Some(first) = whole(&text[..at], depth) {
            return format!("{first}：{}", say(&text[at + 2..], depth - 1));
        }
    }
    text.to_owned()
}

fn whole(text: &str, depth: usize) -> Option<String> {
    static KNOWN: LazyLock<Vec<(Regex, &str)>> = LazyLock::new(|| {
        let expression = |english: &str| {
            let pattern: Vec<String> = english.split("{}").map(regex::escape).collect();
            Regex::new(&format!("^{}$", pattern.join("(.*?)"))).expect("an escaped sentence is an expression")
        };
        SENTENCES.iter().map(|(english, chinese)| (expression(english), *chinese)).collect()
    });
    let (captures, chinese) = KNOWN.iter().find_map(|(known, chinese)| Some((known.captures(text)?, *chinese)))?;
    let mut said = String::new();
    let mut rest = chinese;
    // Not by replacing one after the other: a name may hold `{1}` itself.
    while let Some(at) = rest.find('{') {
        let (number, after) =
            (rest[at + 1..].chars().next().and_then(|c| c.to_digit(10)), &rest[(at + 3).min(rest.len())..]);
        said.push_str(&rest[..at]);
        let part = number.and_then(|number| captures.get(number as usize + 1)).map_or("", |part| part.as_str());
        said.push_str(&say(part, depth - 1));
        rest = after;
    }
    said.push_str(rest);
    Some(said)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sentences_are_said_in_chinese() {
        let cases = [
            (
                "cannot read `/x: y`: No such file or directory (os error 2)",
                "无法读取 `/x: y`：没有此文件或目录（os error 2）",
            ),
            (
                "`a` is neither a command nor a known issue\nhint: name a new file",
                "`a` 既不是命令，也不是已知问题\n提示：请换一个新文件名",
            ),
            (
                "the repair `g` was cut off and cannot be undone now: the machine was started anew since",
                "修复 `g` 曾被中断，目前无法撤销：此后机器已重新启动",
            ),
            ("`/p{1}` and 3 more changed meanwhile", "`/p{1}` 及另外 3 处在此期间发生了变化"),
            ("something nobody knows", "something nobody knows"),
        ];
        for (given, want) in cases {
            assert_eq!(in_chinese(given), want);
        }
    }

    #[test]
    fn every_part_is_said() {
        for (english, chinese) in SENTENCES {
            for number in 0..english.matches("{}").count() {
                assert!(chinese.contains(&format!("{{{number}}}")), "{english}");
            }
            assert!(chinese.chars().any(|c| c > '\u{2e80}'), "{english}");
            assert!(!english.chars().any(|c| c > '\u{2e80}'), "{english}");
        }
    }

    #[test]
    fn every_step_on_a_file_is_known() {
        let root = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("src");
        let step = Regex::new(r#"(?:\b(?:failed|error)\(|action: )"(?P<verb>[a-z][a-z ]{1,24})""#).unwrap();
        let mut seen = 0;
        for folder in ["os", "transaction"] {
            for file in std::fs::read_dir(root.join(folder)).unwrap() {
                let Ok(source) = std::fs::read_to_string(file.unwrap().path()) else { continue };
                for captures in step.captures_iter(&source) {
                    let sentence = format!("cannot {} `/x`", &captures["verb"]);
                    assert!(in_chinese(&sentence).starts_with("无法"), "{sentence}");
                    seen += 1;
                }
            }
        }
        assert!(seen > 20, "{seen}");
    }

    #[test]
    fn every_error_of_the_layers_below_is_known() {
        let root = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("src");
        let attribute = Regex::new(r#"#\[error\("(?P<text>[^"]+)""#).unwrap();
        let hole = Regex::new(r"\{[^}]*\}").unwrap();
        let mut missing = Vec::new();
        for file in
            ["transaction/error.rs", "transaction/recovery.rs", "rollback/mod.rs", "os/path.rs", "os/process/mod.rs"]
        {
            let source = std::fs::read_to_string(root.join(file)).unwrap();
            for captures in attribute.captures_iter(&source) {
                let text = hole.replace_all(&captures["text"], "x").into_owned();
                // A sentence that is nothing but another one is looked up as that.
                if text != "x" && in_chinese(&text) == text {
                    missing.push(format!("{file}: {text}"));
                }
            }
        }
        assert!(missing.is_empty(), "{}", missing.join("\n"));
    }
}
