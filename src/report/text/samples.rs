//! Results for tests, with a secret and an escape sequence where logs have them.

use crate::recipe::{Applicability, ParamKind, Text, Value, Values};

use super::super::*;

pub fn diagnosis() -> Diagnosis {
    Diagnosis { findings: vec![finding()], outcome: Outcome::Found, unmatched: None, suppressed: Vec::new() }
}

pub fn finding() -> Finding {
    Finding {
        id: "tda-1.9".into(),
        slug: "llvmcgdata-residue".into(),
        rank: 1,
        confidence: Confidence::Certain,
        applicability: Applicability::Safe,
        case: "stale-cache".to_owned(),
        params: Values::from([
            ("package".to_owned(), Value::from("LLD")),
            ("missing_targets".to_owned(), Value::from(vec!["LLVMCGData".to_owned()])),
        ]),
        evidence: vec![Evidence {
            source: "build.log".into(),
            first_line: 12,
            last_line: 13,
            text: "CMake Error at \u{1b}[31mLLDTargets.cmake\nfrom https://me:hunter2@host/x".into(),
        }],
        answers: vec![AnswerLine {
            question: "stale_entries".into(),
            answer: "yes".into(),
            beside: false,
            seen: Text::new(
                "build/cmake/CMakeCache.txt names LLVMCGData",
                "build/cmake/CMakeCache.txt 中有 LLVMCGData",
            ),
        }],
        places: Vec::new(),
        changes: Vec::new(),
        edits: Vec::new(),
        rule: Rule::default(),
        apply_with: "fix tda-1.9".to_owned(),
        title: Text::new("a target of an older LLVM is missing", "缺少旧版 LLVM 的目标"),
        cause: Text::new("the build tree remembers another LLVM", "构建目录记住了另一个 LLVM"),
        remedy: Text::new("set the build tree aside and build again", "移走构建目录后重新构建"),
        repair: vec![Text::new("set aside build/cmake (1,234 files)", "移走 build/cmake（1,234 个文件）")],
        limits: Vec::new(),
    }
}

/// A finding at two places, with a repair, and one that is suppressed.
pub fn placed() -> Diagnosis {
    let place = |line, print: &str| Place {
        path: "src/a b.py".into(),
        line,
        column: 5,
        says: Text::new("`x` is gone", "`x` 已不存在"),
        fingerprint: print.into(),
        ..Place::default()
    };
    let edit = Edit { path: "src/a b.py".into(), start: (3, 1), end: (4, 1), old: "old\n".into(), new: "new\n".into() };
    let finding = Finding { places: vec![place(3, "aa"), place(9, "bb")], edits: vec![edit], ..finding() };
    let suppressed = Suppressed {
        id: "tda-1.10".into(),
        path: "setup.py".into(),
        line: 7,
        fingerprint: "cc".into(),
        by: SuppressedBy::Config,
        reason: Some("known & accepted".into()),
    };
    Diagnosis { findings: vec![finding], outcome: Outcome::Found, unmatched: None, suppressed: vec![suppressed] }
}

pub fn unmatched() -> Diagnosis {
    let telling =
        Evidence { source: "-".into(), first_line: 7, last_line: 7, text: "a.c:3: error: no such thing".into() };
    let nearest = Nearest { id: "cc-x".into(), title: Text::new("something like it", "类似的问题") };
    Diagnosis {
        findings: Vec::new(),
        outcome: Outcome::NoMatch,
        unmatched: Some(Unmatched { telling: vec![telling], nearest: vec![nearest], report_with: String::new() }),
        suppressed: Vec::new(),
    }
}

pub fn repair() -> RepairLine {
    RepairLine {
        id: "tda-1.9".into(),
        slug: "llvmcgdata-residue".into(),
        case: "stale-cache".into(),
        applicability: Applicability::Safe,
        outcome: Outcome::Repaired,
        title: finding().title,
        limits: Vec::new(),
        changes: vec![
            ChangeLine {
                kind: ChangeKind::RemoveTree,
                path: "build/cmake".into(),
                argv: Vec::new(),
                files: Some(1234),
                bytes: Some(56_000_000),
            },
            ChangeLine {
                kind: ChangeKind::Run,
                path: "/p".into(),
                argv: ["pip", "install", "--token", "hunter2"].map(str::to_owned).to_vec(),
                files: None,
                bytes: None,
            },
        ],
        checks: vec![CheckLine {
            question: "stale_entries".into(),
            answer: "no".into(),
            holds: true,
            seen: Text::new("no build tree", "没有构建目录"),
        }],
    }
}

pub fn apply_result() -> ApplyResult {
    ApplyResult {
        outcome: Outcome::Repaired,
        exit_code: 0,
        group: Some("g1".into()),
        repairs: vec![repair()],
        refused: Vec::new(),
        next: ["pip", "install", "--token", "hunter2", "."].map(str::to_owned).to_vec(),
    }
}

pub fn run_result() -> RunResult {
    RunResult {
        unmatched: None,
        outcome: Outcome::StillFailing,
        exit_code: 1,
        command: vec!["make".into()],
        runs: vec![RunLine { status: 2, with: Vec::new() }, RunLine { status: 1, with: vec!["tda-1.9".into()] }],
        group: Some("g1".into()),
        repairs: Vec::new(),
        refused: vec![Refusal {
            reason: RefusalReason::OutsideRoots,
            path: Some("/etc/pip.conf".into()),
            says: Text::new(
                "refusing to touch `/etc/pip.conf`: it lies outside the allowed roots",
                "拒绝修改 `/etc/pip.conf`：它不在允许的目录内",
            ),
            hint: Some(Text::new(
                "pass `--allow-path /etc/pip.conf` to allow it",
                "如需允许，请加 `--allow-path /etc/pip.conf`",
            )),
        }],
        remaining: vec![Finding { confidence: Confidence::Refuted, evidence: Vec::new(), ..finding() }],
    }
}

pub fn history() -> History {
    History {
        outcome: Outcome::Listed,
        deleted: Vec::new(),
        groups: vec![HistoryLine {
            id: "g1".into(),
            time: 1_796_082_226,
            outcome: Outcome::Repaired,
            folder: "/home/me/a project".into(),
            recipes: vec!["tda-1.9".into()],
            changes: 2,
            bytes: 56_000_000,
        }],
    }
}

pub fn catalogue() -> Catalogue {
    let line = |id: &str, applicability, en: &str, zh: &str| CatalogueLine {
        id: id.into(),
        slug: "x".into(),
        aliases: Vec::new(),
        applicability,
        title: Text::new(en, zh),
    };
    Catalogue {
        outcome: Outcome::Listed,
        recipes: vec![
            line("tda-1.9", Applicability::Safe, "a target of an older LLVM is missing", "缺少旧版 LLVM 的目标"),
            line("cmake-source-moved", Applicability::Confirm, "the source moved", "源码目录已移动"),
        ],
    }
}

pub fn recipe() -> RecipePage {
    RecipePage {
        outcome: Outcome::Listed,
        id: "tda-1.9".into(),
        slug: "llvmcgdata-residue".into(),
        aliases: vec!["cgdata".into()],
        applicability: Applicability::Safe,
        why: None,
        title: finding().title,
        cause: finding().cause,
        remedy: finding().remedy,
        departs: Some(Text::new("the tree is kept", "目录会保留")),
        references: vec!["https://example.org/a/very/long/address/that/is/never/wrapped/anywhere/at/all.html".into()],
        params: vec![ParamLine {
            name: "clean".into(),
            kind: ParamKind::Text,
            choices: vec!["whole".into(), "narrow".into()],
            help: Some(Text::new("how much is cleaned", "清理范围")),
        }],
        cases: vec![CaseLine {
            name: "stale-cache".into(),
            applicability: Applicability::Safe,
            says: finding().cause,
            steps: vec!["remove_dir".into()],
        }],
    }
}
