//! What real shells make of the lines.

use super::*;

fn overlay() -> EnvOverlay {
    let mut overlay = EnvOverlay::default();
    overlay.edit("A", EnvEdit::Set("it's $HOME".into()));
    overlay.edit("B", EnvEdit::Unset);
    overlay.edit("P", EnvEdit::Prepend(vec!["/x y".into(), "/z".into()]));
    overlay
}

#[test]
fn lines_do_in_a_real_shell_what_the_overlay_says() {
    let script = format!("{}\nprintf '%s|%s|%s' \"$A\" \"${{B-unset}}\" \"$P\"", shell_lines(&overlay()).join("\n"));
    for (before, want) in [(Some("/old"), "it's $HOME|unset|/x y:/z:/old"), (None, "it's $HOME|unset|/x y:/z")] {
        let mut command = std::process::Command::new("sh");
        command.args(["-c", &script]).env("B", "b").env_remove("P");
        if let Some(before) = before {
            command.env("P", before);
        }
        assert_eq!(String::from_utf8(command.output().unwrap().stdout).unwrap(), want);
    }
}

#[test]
fn lines_for_fish() {
    assert_eq!(fish_lines(&overlay()), ["set -gx A 'it\\'s $HOME'", "set -e B", "set -gx --path P '/x y' '/z' $P"]);
}

#[test]
fn a_value_cannot_set_another_variable_at_github() {
    let mut overlay = overlay();
    for name in ["LD_PRELOAD", "BASH_ENV", "PYTHONPATH", "NODE_OPTIONS", "GITHUB_TOKEN"] {
        overlay.edit(name, EnvEdit::Set("/x".into()));
    }
    overlay.edit("N", EnvEdit::Set("a\nPATH=/evil".into()));
    let made = github_lines(&overlay, &|name| (name == "P").then(|| "/old".into()), &|| "D".into());
    assert_eq!(made.lines, ["A<<D", "it's $HOME", "D", "P<<D", "/x y:/z:/old", "D"]);
    assert_eq!(made.impossible, ["B", "N"]);
    assert_eq!(made.withheld, ["BASH_ENV", "GITHUB_TOKEN", "LD_PRELOAD", "NODE_OPTIONS", "PYTHONPATH"]);
}

#[test]
fn a_block_is_written_once_and_in_its_place() {
    let lines = |text: &str| vec![text.to_owned()];
    for text in
        ["", "a\n", "a", "a\r\nb\r\n", "# >>> fix: /q >>>\nx\n# <<< fix: /q <<<\n", "# >>> fix: /p >>>\nnever closed\n"]
    {
        let folder = AbsPath::new("/p").unwrap();
        let once = with_block(text, &folder, &lines("export A=1"));
        assert!(once.starts_with(text) && once.contains("\nexport A=1\n"), "{once}");
        assert_eq!(with_block(&once, &folder, &lines("export A=1")), once);
        let more = format!("{once}after\n");
        let changed = with_block(&more, &folder, &lines("export A=2"));
        assert_eq!(changed, more.replace("A=1", "A=2"));
    }
}

#[test]
fn the_name_of_a_folder_is_no_line_of_a_start_up_file() {
    use std::ffi::OsStr;
    let own = ["export A=1".to_owned()];
    let mut blocks = Vec::new();
    for name in [
        &b"/p\necho evil"[..],
        b"/p\recho evil",
        b"/p\\necho evil",
        b"/p\xffx",
        b"/p\xfex",
        "/p\u{fffd}x".as_bytes(),
        "/\u{9879}\u{76ee}".as_bytes(),
    ] {
        let folder = AbsPath::new(OsStr::from_bytes(name)).unwrap();
        let block = with_block("", &folder, &own);
        let code: Vec<&str> = block.split(['\n', '\r']).filter(|line| !line.starts_with('#')).collect();
        assert_eq!(code, ["export A=1", ""], "{block}");
        assert_eq!(with_block(&block, &folder, &own), block);
        assert!(!blocks.contains(&block), "two folders, one block: {block}");
        blocks.push(block);
    }
    assert!(blocks.pop().unwrap().contains("/\u{9879}\u{76ee} >>>"), "plain names stay as they are");
}
