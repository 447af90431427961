//! The help in Chinese: what the grammar says in English, by command and argument.
//!
//! `args.rs` is the grammar and its English; a test sees that nothing of it lacks here.

use clap::error::{ContextKind, ContextValue, ErrorKind};
use clap::{Arg, Command};

/// A command with its path below `fix`, what it is for, and its examples.
#[rustfmt::skip]
const COMMANDS: &[(&str, &str, &str)] = &[
    ("", "识别失败的构建，修复并验证，且可撤销", "示例：
  fix run -- pip install -e .        运行构建；失败时诊断、修复并重新运行
  fix diagnose build.log             说明出了什么问题以及原因
  fix tda-1.9                        诊断并修复此处的某个已知问题
  fix 1.9 -- cmake -B build          修复后重新运行该命令
  fix rollback                       撤销上一次修复
  fix demo                           一分钟内看完整个过程

CMD 直接执行，不经过 shell；如需 shell，请写：fix run -- bash -c 'cd build && cmake ..'"),
    ("apply", "在此处诊断该问题，显示差异，询问，应用并验证；给出 CMD 时再运行一次", "示例：
  fix tda-1.9                               （等同于 fix apply tda-1.9）
  fix tda-1.9 -n                            只显示修复，不写入任何内容
  fix 1.9 --yes -- pip install -e .         修复后运行该命令并确认通过
  fix 1.10 --set how=patch                  选择修复方式
  fix apply --plan plan.json                应用已审阅的计划"),
    ("run", "运行 CMD；失败时诊断、修复并重新运行，直到通过或无法继续", "示例：
  fix run -- pip install -e .
  fix run --yes -- cmake -B build -G Ninja
  fix run -n -- make -j8                    只显示将如何修复
  fix run --yes --report-dir fix-report -- pip install -e .   保留日志与诊断作为产物
  fix run -- bash -c 'cd build && cmake ..'"),
    ("diagnose", "说明日志中的问题及其原因，按可能性排序", "示例：
  fix diagnose build.log
  cmake -B build 2>&1 | fix diagnose -
  fix diagnose --json --log-only ci.log"),
    ("audit", "无需日志即可查出的已知问题；不写入任何内容，也不运行项目中的任何程序", "示例：
  fix audit
  fix audit --diff                          显示 `fix` 将做的改动
  fix audit --format sarif > fix.sarif      用于代码扫描
  fix audit --baseline known.json           只在出现新问题时失败（基线由 --write-baseline 生成）
  fix audit --config-from origin/main       合并请求中：使用目标分支的 fix.toml"),
    ("env", "打印此目录中上一次修复或某个问题的环境变量", "示例：
  eval \"$(fix env)\"                       用于当前 shell
  fix env --format fish | source
  fix env --format github >> \"$GITHUB_ENV\"    用于同一作业的后续步骤
  fix env tda-1.1                           此问题的修复在此处会设置的内容
  fix env --persist                         写入 shell 的启动文件；`fix rollback` 可撤销"),
    ("end-process", "结束您的一个进程：由修复调用", ""),
    ("reset-npu", "复位一个状态异常且无人使用的 NPU：由修复调用", ""),
    ("plan", "把修复写入文件以供审阅", "示例：
  fix plan tda-1.9 -o plan.json             之后：fix apply --plan plan.json
  fix plan tda-1.10 --log build.log -o plan.json -- pip install -e ."),
    ("list", "列出已知问题", "示例：
  fix list
  fix list cmake
  fix list --search 'linker flags'
  fix list --json"),
    ("show", "说明某个已知问题：原因、处理方法，以及与 FAQ 的不同之处", "示例：
  fix show tda-1.9
  fix show 1.10 --lang zh"),
    ("history", "显示做过的改动，最新的在前", "示例：
  fix history
  fix history prune"),
    ("history prune", "列出并经您确认后删除旧备份", "示例：
  fix history prune -n                      列出将被删除的备份
  fix history prune --keep 3                所有目录中最新的三次保留；已撤销的先删除"),
    ("rollback", "撤销一次修复：此目录中最新的一次，或指定的 ID", "示例：
  fix rollback
  fix rollback -n                           显示将恢复的内容
  fix rollback 20261130-101500-1a2b
  fix rollback --force                      先保存此后的改动，再恢复"),
    ("recipe", "编写、检查和测试配方", "示例：
  fix recipe new cmake-my-issue
  fix recipe lint
  fix recipe test cmake-my-issue
  fix recipe docs --check"),
    ("recipe new", "新建配方文件及其测试样例", ""),
    ("recipe lint", "检查配方文件", ""),
    ("recipe test", "在测试样例上运行配方", ""),
    ("recipe anchors", "打印扫描器查找的字面量，用于与其他工具比较", ""),
    ("recipe docs", "生成配方、问题与动词的参考文档", ""),
    ("report", "生成问题反馈报告：包含维护者所需的信息，去除姓名、地址、路径与机密", "示例：
  fix report build.log -- pip install -e .
  fix report build.log -o report.md         （不会发送到任何地方）
  fix report build.log --hide 'project x' --format json"),
    ("completions", "打印 shell 的补全脚本", "示例：
  fix completions bash > ~/.local/share/bash-completion/completions/fix
  fix completions zsh > ~/.zfunc/_fix
  fix completions fish > ~/.config/fish/completions/fix.fish"),
    ("man", "把手册页写入 DIR，或打印主手册页", "示例：
  fix man | man -l -
  fix man ~/.local/share/man/man1"),
    ("demo", "观看一个真实的 CMake 项目失败、被诊断、被修复、通过，再撤销修复", "示例：
  fix demo
  fix demo --keep"),
];

/// An argument: its command where it differs between commands, its id, its help.
#[rustfmt::skip]
const ARGUMENTS: &[(&str, &str, &str)] = &[
    ("", "directory", "在 DIR 而非当前目录中工作"),
    ("", "dry_run", "只显示将要做的事，除 `--patch` 指定的文件外不写入任何内容"),
    ("", "yes", "不询问直接应用：默认到 `safe` 级，或到 `confirm` 级。`safe` 修复精确且可完整撤销；`confirm` 修复有代价或需要取舍，因此会询问；`manual` 只是建议，不会被应用"),
    ("", "allow_irreversible", "允许无法撤销的操作（无人值守时针对某个问题：`=ID`）"),
    ("", "log", "读取此日志（可重复；`-` 表示标准输入）"),
    ("", "log_only", "只依据日志，不询问本机"),
    ("", "set", "为问题的参数赋值（可重复）"),
    ("", "allow_path", "允许写入通常范围之外的 PATH（可重复）"),
    ("", "patch", "把补丁写入 FILE（`-`：标准输出）"),
    ("", "json", "以一个 JSON 文档代替文本输出；用于 `run` 时为标准输出的最后一行"),
    ("", "lang", "输出语言；否则由 LC_ALL、LC_MESSAGES、LANG 决定"),
    ("", "color", "颜色"),
    ("", "quiet", "少说：不显示备注；`diagnose` 每个结果一行"),
    ("", "verbose", "多说：`diagnose` 还会说明每个日志读了多少、有多少处匹配"),
    ("", "no_input", "从不询问"),
    ("", "online", "允许查询您自己的配置所指定的网络服务器，不发送任何凭据"),
    ("", "state_dir", "把日志与备份存放在 DIR，而非 $XDG_STATE_HOME/fix"),
    ("", "help", "显示帮助（`-h` 显示摘要）"),
    ("", "version", "显示版本"),
    ("", "issues", "问题：id、slug、别名，或 FAQ 的章节号"),
    ("plan", "issues", "问题：id、slug、别名，或 FAQ 的章节号；不给出时取 `--log` 所示的问题"),
    ("apply", "plan", "应用这份已审阅的计划；过期则拒绝"),
    ("apply", "cmd", "修复后重新运行的命令"),
    ("plan", "cmd", "修复后重新运行的命令"),
    ("plan", "output", "把计划写入 FILE"),
    ("", "rerun_timeout", "重新运行超过此时间则终止，并全部恢复原状"),
    ("run", "max_repairs", "最多修复次数"),
    ("run", "check_success", "也检查以状态 0 结束的运行"),
    ("run", "cmd", "要运行的命令"),
    ("run", "report_dir", "把日志、计划、诊断与记录保存在 DIR，均已脱敏"),
    ("run", "workflow_commands", "在 GitHub Actions 中：runner 是否执行 CMD 打印的 `::` 命令"),
    ("diagnose", "format", "输出格式"),
    ("diagnose", "fail_on", "从此置信度起以状态 1 结束：possible、likely、certain、never"),
    ("audit", "dir", "检查此目录，而非当前目录"),
    ("audit", "diff", "以差异形式显示修复"),
    ("audit", "format", "输出格式"),
    ("audit", "fail_on", "从此置信度起以状态 1 结束：possible、likely、certain、never"),
    ("audit", "select", "只检查这些问题（可重复；`pip-*` 表示以此开头的所有问题）"),
    ("audit", "ignore", "不检查这些问题（可重复）"),
    ("audit", "baseline", "只报告 FILE 中没有的结果；fix.toml 可以指定它"),
    ("audit", "write_baseline", "把结果写入基线文件"),
    ("audit", "config", "读取 FILE，而非项目的 fix.toml"),
    ("audit", "config_from", "按此提交中的 fix.toml：合并请求无法屏蔽自己引入的问题"),
    ("env", "format", "输出的写法"),
    ("env", "persist", "写入 shell 的启动文件"),
    ("env", "cmd", "该问题所涉及的命令"),
    ("end-process", "pid", "进程号"),
    ("end-process", "start", "启动时刻：开机后的时钟滴答数"),
    ("reset-npu", "npu", "NPU 编号"),
    ("reset-npu", "chip", "芯片编号"),
    ("diagnose", "logs", "要读取的日志；`-` 表示标准输入"),
    ("diagnose", "recipes", "同时使用 DIR 中的配方文件（供作者使用）：id 相同者取代内置配方"),
    ("list", "text", "只列出 id、slug、类别或标题含有此文本的问题"),
    ("list", "search", "按症状搜索：两种语言的标题、原因与处理方法；每个词都须出现"),
    ("history prune", "keep", "保留的修复次数（所有目录合计）；否则取 FIX_KEEP_REPAIRS，或 10"),
    ("history prune", "days", "保留的天数；否则取 FIX_KEEP_DAYS，或 14"),
    ("history prune", "gib", "保留的 GiB 数；否则取 FIX_KEEP_GIB，或 10"),
    ("rollback", "id", "要撤销的修复，名称见 `fix history`"),
    ("rollback", "force", "先保存修复之后的改动，再恢复"),
    ("recipe new", "id", "新配方的 id"),
    ("", "recipes", "配方文件所在目录"),
    ("recipe lint", "paths", "文件或目录"),
    ("recipe test", "ids", "只测试这些配方"),
    ("recipe test", "fixtures", "测试样例所在目录"),
    ("recipe docs", "file", "要写入的文件"),
    ("recipe docs", "check", "只比较，不写入"),
    ("report", "logs", "要读取的日志；`-` 表示标准输入；不给出时取工具在此处留下的最新日志"),
    ("report", "output", "把报告写入 FILE（权限 0600）并显示"),
    ("report", "format", "报告的格式"),
    ("report", "hide", "同时隐藏所有出现的此文本：产品名、客户名（可重复）"),
    ("report", "cmd", "用于复现的命令；不会运行"),
    ("completions", "shell", "shell 的名称"),
    ("man", "folder", "要写入的目录；不存在时创建"),
    ("demo", "keep", "保留该目录以供试用"),
    ("demo", "fast", "步骤之间不等待"),
];

const TEMPLATE: &str = "{before-help}{about-with-newline}\n用法：{usage}\n\n{all-args}{after-help}";

/// Puts Chinese in place of English, in a command that is built already and in all below it.
pub fn chinese(command: Command) -> Command {
    below(command, "")
}

fn below(command: Command, path: &str) -> Command {
    let mut command = command.help_template(TEMPLATE).subcommand_help_heading("命令").disable_help_subcommand(true);
    if let Some((_, about, examples)) = COMMANDS.iter().find(|(known, ..)| *known == path) {
        command = command.about(*about).long_about(None::<&str>);
        if !examples.is_empty() {
            command = command.before_help(*examples);
        }
    }
    command = command.mut_args(|arg| argument(arg, path));
    for sub in command.get_subcommands_mut() {
        let inner = if path.is_empty() { sub.get_name().to_owned() } else { format!("{path} {}", sub.get_name()) };
        let taken = std::mem::take(sub);
        *sub = below(taken, &inner);
    }
    command
}

fn argument(arg: Arg, path: &str) -> Arg {
    let id = arg.get_id().to_string();
    let Some(help) = help_of(path, &id) else { return arg };
    let mut text = help.to_owned();
    let defaults: Vec<String> =
        arg.get_default_values().iter().map(|value| value.to_string_lossy().into_owned()).collect();
    let choices: Vec<String> = if arg.get_action().takes_values() {
        arg.get_possible_values().iter().map(|value| value.get_name().to_owned()).collect()
    } else {
        Vec::new()
    };
    if !defaults.is_empty() && arg.get_action().takes_values() {
        text.push_str(&format!(" [默认值：{}]", defaults.join("、")));
    }
    if !choices.is_empty() {
        text.push_str(&format!(" [可选值：{}]", choices.join("、")));
    }
    let heading = if arg.is_positional() { "参数" } else { "选项" };
    let action_is_help = matches!(id.as_str(), "help" | "version");
    let arg = arg.help(text).long_help(None::<&str>).help_heading(heading);
    if action_is_help { arg } else { arg.hide_default_value(true).hide_possible_values(true) }
}

/// Says in Chinese what is wrong with a command line; none where it is known in English only.
pub fn refusal(error: &clap::Error) -> Option<String> {
    let part = |kind: ContextKind| match error.get(kind) {
        Some(ContextValue::String(text)) => Some(text.clone()),
        Some(ContextValue::Strings(texts)) => Some(texts.join("、")),
        Some(ContextValue::Number(number)) => Some(number.to_string()),
        Some(_) | None => None,
    };
    let name = part(ContextKind::InvalidArg).unwrap_or_default();
    let value = part(ContextKind::InvalidValue).unwrap_or_default();
    let mut text = match error.kind() {
        ErrorKind::UnknownArgument => format!("未知参数 `{name}`"),
        ErrorKind::InvalidValue if value.is_empty() => format!("`{name}` 需要一个值"),
        ErrorKind::InvalidValue | ErrorKind::ValueValidation => format!("`{name}` 的值 `{value}` 无效"),
        ErrorKind::InvalidSubcommand => {
            format!("未知命令 `{}`", part(ContextKind::InvalidSubcommand)?)
        }
        ErrorKind::NoEquals => format!("为 `{name}` 赋值时必须使用等号"),
        ErrorKind::TooManyValues => format!("`{name}` 的值过多：`{value}`"),
        ErrorKind::TooFewValues | ErrorKind::WrongNumberOfValues => format!("`{name}` 的值的个数不对"),
        ErrorKind::ArgumentConflict => match part(ContextKind::PriorArg) {
            Some(prior) if prior != name => format!("`{name}` 不能与 `{prior}` 同时使用"),
            _ => format!("`{name}` 不能重复使用"),
        },
        ErrorKind::MissingRequiredArgument => format!("缺少必需的参数：{name}"),
        ErrorKind::MissingSubcommand => "缺少子命令".to_owned(),
        ErrorKind::InvalidUtf8 => "参数不是有效的 UTF-8".to_owned(),
        _ => return None,
    };
    if let Some(choices) = part(ContextKind::ValidValue) {
        text.push_str(&format!("\n提示：可选值为 {choices}"));
    }
    for kind in [ContextKind::SuggestedArg, ContextKind::SuggestedValue, ContextKind::SuggestedSubcommand] {
        if let Some(near) = part(kind) {
            text.push_str(&format!("\n提示：您是否想输入 `{near}`？"));
        }
    }
    Some(format!("{text}\n提示：详见 `fix --help`"))
}

fn help_of(path: &str, id: &str) -> Option<&'static str> {
    let of = |command: &str| ARGUMENTS.iter().find(|(known, name, _)| *known == command && *name == id);
    of(path).or_else(|| of("")).map(|(.., help)| *help)
}

#[cfg(test)]
mod tests {
    use clap::CommandFactory;

    use super::*;
    use crate::cli::args::Cli;
    use crate::cli::help::fitted;

    fn is_chinese(c: char) -> bool {
        ('\u{2e80}'..'\u{fe30}').contains(&c) || ('\u{ff00}'..'\u{ffef}').contains(&c)
    }

    fn walk(command: &Command, path: &str, see: &mut dyn FnMut(&str, &Command)) {
        see(path, command);
        for sub in command.get_subcommands() {
            let inner = if path.is_empty() { sub.get_name().to_owned() } else { format!("{path} {}", sub.get_name()) };
            walk(sub, &inner, see);
        }
    }

    #[test]
    fn nothing_of_the_grammar_lacks_and_nothing_is_left_over() {
        let mut missing = Vec::new();
        let mut commands = Vec::new();
        let mut arguments = Vec::new();
        walk(&fitted(Cli::command()), "", &mut |path, command| {
            commands.push(path.to_owned());
            if !COMMANDS.iter().any(|(known, ..)| *known == path) {
                missing.push(format!("command `{path}`"));
            }
            for arg in command.get_arguments() {
                arguments.push((path.to_owned(), arg.get_id().to_string()));
                if help_of(path, arg.get_id().as_str()).is_none() {
                    missing.push(format!("`{path}` argument `{}`", arg.get_id()));
                }
            }
        });
        assert!(missing.is_empty(), "without Chinese help:\n{}", missing.join("\n"));
        for (path, ..) in COMMANDS {
            assert!(commands.iter().any(|known| known == path), "no command `{path}`");
        }
        for (path, id, _) in ARGUMENTS {
            let known = arguments.iter().any(|(at, name)| name == id && (path.is_empty() || at == path));
            assert!(known, "no argument `{path} {id}`");
        }
    }

    #[test]
    fn no_line_of_one_language_stands_in_the_other() {
        let english_words =
            [" the ", " and ", " with ", " of ", "Print ", "Usage", "Options", "Commands", "Arguments", "default:"];
        let check = |command: &mut Command, chinese: bool| {
            for help in [command.render_help().to_string(), command.render_long_help().to_string()] {
                for line in help.lines() {
                    if chinese {
                        assert!(!english_words.iter().any(|word| line.contains(word)), "{line}\n{help}");
                    } else {
                        assert!(!line.chars().any(is_chinese), "{line}");
                    }
                }
                assert!(!chinese || help.contains("用法：fix"), "{help}");
            }
        };
        fn each(command: &mut Command, check: &dyn Fn(&mut Command)) {
            check(command);
            command.get_subcommands_mut().for_each(|sub| each(sub, check));
        }
        each(&mut chinese(fitted(Cli::command())), &|command| check(command, true));
        each(&mut fitted(Cli::command()), &|command| check(command, false));
    }

    #[test]
    fn examples_are_the_same_commands() {
        let commands_of = |text: &str| -> Vec<String> {
            let lines = text.lines().filter(|line| line.starts_with("  ")).map(str::trim);
            lines.map(|line| line.split("   ").next().unwrap().trim().to_owned()).collect()
        };
        walk(&fitted(Cli::command()), "", &mut |path, command| {
            let english = command.get_before_help().map(ToString::to_string).unwrap_or_default();
            let (.., chinese) = COMMANDS.iter().find(|(known, ..)| *known == path).unwrap();
            assert_eq!(commands_of(&english), commands_of(chinese), "{path}");
        });
    }
}
