//! Golden texts of all renderings.

use proptest::prelude::*;

use super::samples;
use super::*;
use crate::os::terminal::is_unsafe;
use crate::recipe::Text;
use crate::report::{Diagnosis, Evidence, Finding, Outcome, RollbackResult};

const EN: TextStyle = TextStyle { lang: Lang::En, colour: Colour::Never, width: 60 };
const ZH: TextStyle = TextStyle { lang: Lang::Zh, colour: Colour::Never, width: 60 };

#[test]
fn a_finding() {
    let want = "\
1. tda-1.9: a target of an older LLVM is missing (certain)
   cause: the build tree remembers another LLVM
   in build.log:
   12 | CMake Error at \\x1b[31mLLDTargets.cmake
   13 | from https://<secret-1>@host/x
   this machine:
     stale_entries: yes – build/cmake/CMakeCache.txt names
       LLVMCGData
   remedy: set the build tree aside and build again
   `fix` would:
     set aside build/cmake (1,234 files)
   safe; apply it with `fix tda-1.9`
";
    assert_eq!(render_diagnosis(&samples::diagnosis(), &EN), want);
    let want = "\
1. tda-1.9: 缺少旧版 LLVM 的目标 (确定)
   原因：构建目录记住了另一个 LLVM
   见 build.log：
   12 | CMake Error at \\x1b[31mLLDTargets.cmake
   13 | from https://<secret-1>@host/x
   本机情况：
     stale_entries: yes – build/cmake/CMakeCache.txt 中有
       LLVMCGData
   办法：移走构建目录后重新构建
   `fix` 将会：
     移走 build/cmake（1,234 个文件）
   安全；用 `fix tda-1.9` 应用
";
    assert_eq!(render_diagnosis(&samples::diagnosis(), &ZH), want);
}

#[test]
fn nothing_matches() {
    let want = "\
no known issue matches what went wrong
the lines that tell most:
  in standard input:
  7 | a.c:3: error: no such thing
the nearest known issues:
  cc-x: something like it
to report it: send these lines with the command and the
  versions of your tools
";
    assert_eq!(render_diagnosis(&samples::unmatched(), &EN), want);
}

#[test]
fn lines_that_jump_have_a_gap_between_them() {
    let mut jumping = samples::unmatched();
    let unmatched = jumping.unmatched.as_mut().unwrap();
    for line in [9, 10] {
        let text = format!("line {line}");
        unmatched.telling.push(Evidence { first_line: line, last_line: line, text, ..unmatched.telling[0].clone() });
    }
    let shown = render_diagnosis(&jumping, &EN);
    assert!(shown.contains("   7 | a.c:3: error: no such thing\n   …\n   9 | line 9\n  10 | line 10\n"), "{shown}");
}

#[test]
fn a_first_failure_is_not_told_as_if_something_had_been_tried() {
    let mut result = samples::run_result();
    result.runs.truncate(1);
    result.group = None;
    result.refused.clear();
    let mut advice = samples::finding();
    advice.applicability = crate::recipe::Applicability::Manual;
    advice.limits = vec![Text::new("Which package it is, you know best.", "您最清楚是哪个软件包。")];
    result.remaining = vec![advice];
    let shown = render_run(&result, &EN);
    assert!(shown.contains("the command failed\nwhat is wrong:\n"), "{shown}");
    assert!(!shown.contains("still") && !shown.contains("would"), "{shown}");
    assert!(shown.contains("`fix` does not do this for you\n     reason: Which package"), "{shown}");
    result.runs = samples::run_result().runs;
    assert!(render_run(&result, &EN).contains("the command still fails"));
}

#[test]
fn tables() {
    let want = "\
ID                  LEVEL    TITLE
tda-1.9             safe     a target of an older LLVM is
                             missing
cmake-source-moved  confirm  the source moved
";
    assert_eq!(render_catalogue(&samples::catalogue(), &EN), want);
    let want = "\
编号                级别    标题
tda-1.9             安全    缺少旧版 LLVM 的目标
cmake-source-moved  需确认  源码目录已移动
";
    assert_eq!(render_catalogue(&samples::catalogue(), &ZH), want);
    let wide = TextStyle { width: 120, ..EN };
    let want = "\
ID  TIME (UTC)        OUTCOME   CHANGES  KEPT     ISSUES   FOLDER
g1  2026-11-30 23:43  repaired  2        56.0 MB  tda-1.9  /home/me/a project
";
    assert_eq!(render_history(&samples::history(), &wide), want);
}

#[test]
fn a_recipes_page() {
    let want = "\
tda-1.9 llvmcgdata-residue: a target of an older LLVM is
  missing
also called: cgdata
level: safe

cause: the build tree remembers another LLVM
remedy: set the build tree aside and build again
departs from the FAQ: the tree is kept

causes told apart:
  stale-cache (safe):
    the build tree remembers another LLVM
    steps: remove_dir

parameters, for `--set NAME=VALUE`:
  clean
    how much is cleaned
    one of whole, narrow

references:
  https://example.org/a/very/long/address/that/is/never/wrapped/anywhere/at/all.html
";
    assert_eq!(render_recipe(&samples::recipe(), &EN), want);
}

#[test]
fn results() {
    let want = "\
tda-1.9: a target of an older LLVM is missing – repaired
  and verified
  set aside build/cmake (1,234 files, 56.0 MB)
  ran pip install --token '<secret-1>'
  proved: stale_entries is no – no build tree
repaired and verified
take it back with `fix rollback g1`
next: pip install --token '<secret-1>' .
";
    assert_eq!(render_apply(&samples::apply_result(), &EN), want);
    let want = "\
run 1: exit status 2
run 2, after tda-1.9: exit status 1
refusing to touch `/etc/pip.conf`: it lies outside the
  allowed roots
  hint: pass `--allow-path /etc/pip.conf` to allow it
the command still fails
take it back with `fix rollback g1`
still wrong:
1. tda-1.9: a target of an older LLVM is missing (refuted
  by this machine)
   cause: the build tree remembers another LLVM
   this machine:
     stale_entries: yes – build/cmake/CMakeCache.txt names
       LLVMCGData
";
    assert_eq!(render_run(&samples::run_result(), &EN), want);
    let undone = RollbackResult {
        outcome: Outcome::Restored,
        exit_code: 0,
        group: Some("g1".into()),
        restored: vec!["build/\u{1b}cmake".into()],
        kept: vec!["build/cmake.new".into()],
        refused: Vec::new(),
    };
    let want = "\
restored build/\\x1bcmake
kept what stood in the way: build/cmake.new
the state before the repair is back
";
    assert_eq!(render_rollback(&undone, &EN), want);
}

proptest! {
    #[test]
    fn nothing_of_a_log_reaches_the_terminal_raw(text in any::<String>(), first_line in any::<u64>(), width in 0usize..200) {
        let words = Text::new(text.clone(), text.clone());
        let evidence = Evidence { source: text.clone(), first_line, last_line: first_line, text };
        let finding = Finding {
            evidence: vec![evidence],
            title: words.clone(),
            cause: words.clone(),
            remedy: words.clone(),
            repair: vec![words],
            ..samples::finding()
        };
        let diagnosis = Diagnosis { findings: vec![finding], outcome: Outcome::Found, unmatched: None, suppressed: Vec::new() };
        let shown = render_diagnosis(&diagnosis, &TextStyle { width, ..EN });
        prop_assert!(shown.chars().all(|c| c == '\n' || !is_unsafe(c)));
        let coloured = render_diagnosis(&diagnosis, &TextStyle { width, colour: Colour::Always, ..EN });
        prop_assert_eq!(anstream::adapter::strip_str(&coloured).to_string(), shown);
    }
}
