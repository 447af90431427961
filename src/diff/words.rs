//! The sentences around a diff, in both languages.

/// Defines one function a sentence, and the list of all of them for tests.
macro_rules! sentences {
    ($( $name:ident ( $($arg:ident),* ) $en:literal $zh:literal; )*) => {
        $(
            pub fn $name($($arg: impl std::fmt::Display),*) -> crate::recipe::Text {
                crate::recipe::Text::new(format!($en), format!($zh))
            }
        )*

        /// Every sentence with its arguments' names in their places.
        #[cfg(test)]
        pub const ALL: &[(&str, &[&str], fn() -> crate::recipe::Text)] =
            &[$( (stringify!($name), &[$(stringify!($arg)),*], || $name($(stringify!($arg)),*)) ),*];
    };
}

/// Checks that each sentence says something of its own in both languages, with all of its arguments.
#[cfg(test)]
macro_rules! check_sentences {
    () => {
        #[test]
        fn every_sentence_is_there_in_both_languages() {
            for (name, args, sentence) in ALL {
                let text = sentence();
                assert!(!text.en.trim().is_empty() && !text.zh.trim().is_empty(), "{name} is empty");
                assert_ne!(text.en, text.zh, "{name}");
                assert!(text.en.is_ascii() || text.en.contains('…') || text.en.contains('→'), "{name}: {}", text.en);
                assert!(!text.zh.is_ascii(), "{name}: {}", text.zh);
                for arg in *args {
                    assert!(text.en.contains(arg) && text.zh.contains(arg), "{name} leaves {arg} out");
                }
            }
        }
    };
}

#[cfg(test)]
pub(crate) use check_sentences;
pub(crate) use sentences;

sentences! {
    create(path) "create {path}" "新建 {path}";
    change(path) "change {path}" "修改 {path}";
    delete(path) "delete {path}" "删除 {path}";
    mode(old, new) "permissions {old} → {new}" "权限 {old} → {new}";
    new_mode(new) "permissions {new}" "权限 {new}";
    binary(old, new) "binary file, {old} → {new} bytes" "二进制文件，{old} → {new} 字节";
    binary_of(size) "binary file, {size} bytes" "二进制文件，{size} 字节";
    empty_file() "empty file" "空文件";
    differs_invisibly() "differs only in what is hidden here" "差异仅在此处隐去的内容中";
    cannot_compare() "cannot be shown as a diff" "无法以差异形式显示";
    more_lines(count) "… {count} more lines" "……另有 {count} 行";
    more_characters(count) "… {count} more characters" "……另有 {count} 个字符";
    set_aside(path) "set aside {path}" "移走并保留 {path}";
    restorable(files, size) "{files} files, {size}; restorable with `fix rollback`" "{files} 个文件，{size}；可用 `fix rollback` 还原";
    restorable_about(files, size) "{files} files, about {size}; restorable with `fix rollback`" "{files} 个文件，约 {size}；可用 `fix rollback` 还原";
    restorable_at_least(files, size) "more than {files} files, {size}; restorable with `fix rollback`" "超过 {files} 个文件，{size}；可用 `fix rollback` 还原";
    derived() "a build tree: your build makes it again" "构建目录：重新构建时会再次生成";
    run(folder) "run, in {folder}:" "在 {folder} 中运行：";
    writes(paths) "it writes {paths}; saved before" "它会写入 {paths}；事先已备份";
    irreversible() "this cannot be taken back" "此操作无法撤销";
    environment() "environment of the commands and of the re-run:" "命令与重新运行所用的环境变量：";
    rerun(folder) "then again, in {folder}:" "随后在 {folder} 中重新运行：";
    rerun_instead(folder) "then, with these words instead, in {folder}:" "随后改用以下命令，在 {folder} 中重新运行：";
    port_free(port) "looked at again before that: port {port} is free" "执行前会再次确认：端口 {port} 空闲";
    note(text) "note: {text}" "说明：{text}";
    advice(text) "left for you: {text}" "需您自行处理：{text}";
    nothing() "changes nothing" "不做任何改动";
    safe() "safe: `--yes` applies it" "安全（safe）：`--yes` 即可应用";
    confirm() "confirm: applied after a yes, or with `--yes=confirm`" "需确认（confirm）：确认后应用，或使用 `--yes=confirm`";
    manual() "manual: advice only, nothing is applied" "手动（manual）：仅提供建议，不会应用";
    because(reason) "reason: {reason}" "理由：{reason}";
}

#[cfg(test)]
mod tests {
    use super::*;

    check_sentences!();
}
