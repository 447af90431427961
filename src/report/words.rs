//! What the reports say, in both languages: one function a sentence.

use crate::diff::words::sentences;

sentences! {
    nothing_wrong() "no failure was found" "未发现失败";
    clean() "no known issue shows here" "此处未见已知问题";
    found() "known issues were found" "发现已知问题";
    no_match() "no known issue matches what went wrong" "出现失败，但没有匹配的已知问题";
    nothing_to_do() "nothing to do here" "此处无需操作";
    repaired() "repaired and verified" "已修复并通过验证";
    would_change() "dry run: nothing was changed" "试运行：未做任何改动";
    planned() "the plan was written; nothing was changed" "已写出计划，未做任何改动";
    declined() "declined: nothing was changed" "已拒绝：未做任何改动";
    refused() "refused: nothing was changed" "拒绝执行：未做任何改动";
    not_repaired() "not repaired: nothing that may be applied helps" "未修复：没有可应用的办法";
    rolled_back() "the repair was not proved and was taken back" "修复未能得到证实，已撤回";
    restored() "the state before the repair is back" "已恢复到修复之前的状态";
    needs_attention() "taking the repair back did not complete: please look at the paths named above" "撤回未能完成：请检查上面列出的路径";
    passed() "the command passed" "命令执行成功";
    still_failing() "the command still fails" "命令仍然失败";
    at_work() "a repair is under way" "修复正在进行";
    listed() "listed" "已列出";
    interrupted() "interrupted: the state before the repair is back" "已中断：已恢复到修复之前的状态";
    failed() "`fix` itself failed" "`fix` 自身出错";

    certain() "certain" "确定";
    likely() "likely" "很可能";
    possible() "possible" "可能";
    refuted() "refuted by this machine" "本机情况与之不符";

    in_source(source) "in {source}:" "见 {source}：";
    in_standard_input() "in standard input:" "见标准输入：";
    machine() "this machine:" "本机情况：";
    cause(text) "cause: {text}" "原因：{text}";
    remedy(text) "remedy: {text}" "办法：{text}";
    would_do() "`fix` would:" "`fix` 将会：";
    would_create(path) "create {path}" "新建 {path}";
    would_change_file(path) "change {path}" "修改 {path}";
    would_delete(path) "delete {path}" "删除 {path}";
    would_set_aside(path, files, size) "set aside {path} ({files} files, {size}), restorable" "移走 {path}（{files} 个文件，{size}），可还原";
    would_run(command) "run `{command}`" "运行 `{command}`";
    would_set(name) "set {name} for the command" "为命令设置 {name}";
    would_rerun(command) "run `{command}` again" "重新运行 `{command}`";
    apply_safe(command) "safe; apply it with `{command}`" "安全；用 `{command}` 应用";
    apply_confirm(command) "needs your yes; apply it with `{command}`" "需要您确认；用 `{command}` 应用";
    apply_manual() "`fix` does not do this for you" "`fix` 不会代为执行";
    because(reason) "reason: {reason}" "理由：{reason}";
    suppressed(count, words) "{count} suppressed: {words}" "已抑制 {count} 项：{words}";
    by_comment(count) "{count} by a comment" "{count} 项由注释";
    by_config(count) "{count} by `fix.toml`" "{count} 项由 `fix.toml`";
    by_baseline(count) "{count} by the baseline" "{count} 项由基线";
    see_repair(command) "see the repair with `{command}`" "用 `{command}` 查看修复";
    repair_by_hand() "`fix` only advises here" "`fix` 在此只提供建议";
    beyond_limit(count) "{count} more findings are left out: this is the most that is taken" "另有 {count} 项未列出：已达到可接收的上限";
    stands_for_project() "no file of the project holds this: the line only stands for it" "项目中没有对应的文件：此行仅作占位";
    count_findings(count) "known issues: {count}" "已知问题：{count} 项";
    column_where() "WHERE" "位置";
    column_what() "WHAT" "问题";
    column_sure() "CONFIDENCE" "可信度";
    telling_lines() "the lines that tell most:" "最能说明问题的行：";
    nearest() "the nearest known issues:" "最相近的已知问题：";
    how_to_report() "to report it: send these lines with the command and the versions of your tools" "如需上报：请附上这些行、所用命令以及各工具的版本";
    report_with(command) "`{command}` gathers all of that" "`{command}` 可汇总这些内容";
    more_evidence(count) "… {count} more lines" "……另有 {count} 行";

    column_id() "ID" "编号";
    column_level() "LEVEL" "级别";
    column_title() "TITLE" "标题";
    column_time() "TIME (UTC)" "时间（UTC）";
    column_outcome() "OUTCOME" "结果";
    column_changes() "CHANGES" "改动";
    column_kept() "KEPT" "占用";
    column_issues() "ISSUES" "问题";
    column_folder() "FOLDER" "目录";
    no_recipes() "no recipe matches" "没有匹配的修复方案";
    no_history() "nothing was changed yet" "尚无任何改动";
    safe() "safe" "安全";
    confirm() "confirm" "需确认";
    manual() "manual" "手动";

    also(names) "also called: {names}" "别名：{names}";
    level(level) "level: {level}" "级别：{level}";
    why(text) "why: {text}" "理由：{text}";
    departs(text) "departs from the FAQ: {text}" "与 FAQ 的不同之处：{text}";
    causes() "causes told apart:" "可区分的成因：";
    case(name, level) "{name} ({level}):" "{name}（{level}）：";
    advice_only() "advice only" "仅提供建议";
    steps(verbs) "steps: {verbs}" "步骤：{verbs}";
    params() "parameters, for `--set NAME=VALUE`:" "参数（用于 `--set NAME=VALUE`）：";
    one_of(choices) "one of {choices}" "可取 {choices}";
    references() "references:" "参考：";
    code_recipe(id) "known issue: `fix show {id}`" "已知问题：`fix show {id}`";
    code_source(source) "source: {source}" "来源：{source}";
    code_installed() "the installed CANN says:" "本机 CANN 的说明：";
    code_in_log(code, title) "{code} in the log: {title}; `fix show {code}` explains it" "日志中的 {code}：{title}；用 `fix show {code}` 查看说明";

    change_write(path) "wrote {path}" "写入 {path}";
    change_delete(path) "deleted {path}" "删除 {path}";
    change_tree(path) "set aside {path}" "移走并保留 {path}";
    change_tree_of(path, files, size) "set aside {path} ({files} files, {size})" "移走并保留 {path}（{files} 个文件，{size}）";
    change_run(command) "ran {command}" "运行 {command}";
    change_environment(name) "changed for the command: {name}" "仅对该命令调整：{name}";
    change_command(command) "the command as it runs now: {command}" "现在运行的命令：{command}";
    change_precondition(what) "free when it was looked at again: {what}" "执行前再次确认空闲：{what}";
    check_holds(question, answer) "proved: {question} is {answer}" "已证实：{question} 为 {answer}";
    check_fails(question, answer) "not proved: {question} is {answer}" "未证实：{question} 为 {answer}";
    hint(text) "hint: {text}" "提示：{text}";
    take_back(group) "take it back with `fix rollback {group}`" "撤销：`fix rollback {group}`";
    next(command) "next: {command}" "接下来：{command}";
    ran(number, status) "run {number}: exit status {status}" "第 {number} 次运行：退出状态 {status}";
    ran_with(number, status, repairs) "run {number}, after {repairs}: exit status {status}" "第 {number} 次运行（在 {repairs} 之后）：退出状态 {status}";
    still_wrong() "still wrong:" "仍然存在的问题：";
    command_failed() "the command failed" "命令失败";
    what_is_wrong() "what is wrong:" "问题所在：";
    restored_path(path) "restored {path}" "已恢复 {path}";
    kept_path(path) "kept what stood in the way: {path}" "已保留挡在原位的内容：{path}";
    plan_file(path) "plan: {path}" "计划文件：{path}";
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::diff::words::check_sentences;

    check_sentences!();
}
