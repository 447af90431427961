//! Every check of loading and linting, each with the place and the words it complains with.

mod tables;

use proptest::prelude::*;

use super::parse::LONGEST_FILE;
use super::samples::{FILE, RECIPE, vocabulary};
use super::*;
use tables::{BROKEN, UNTIDY};

/// Runs a table; `check` returns what is wrong with a text.
fn run_table(table: &str, rows: usize, check: impl Fn(&str) -> Vec<RecipeError>) {
    let mut seen = 0;
    for row in table.trim().split("\n\n") {
        let part = |mark: char| -> String {
            let lines = row.lines().filter_map(|line| line.strip_prefix(mark));
            lines.map(|line| format!("{}\n", line.strip_prefix(' ').unwrap_or(line))).collect()
        };
        let (from, to, expected) = (part('-'), part('+'), part('!'));
        assert_eq!(RECIPE.matches(&from).count(), 1, "{from}");
        let mistakes = check(&RECIPE.replace(&from, &to));
        let found: String = mistakes
            .iter()
            .map(|mistake| format!("{}:{}: {}\n", mistake.line, mistake.column, mistake.message))
            .collect();
        assert_eq!(found, expected, "{row}");
        for mistake in mistakes {
            assert_eq!(mistake.file, FILE);
            assert!(!mistake.hint.is_empty(), "{mistake}");
        }
        seen += 1;
    }
    assert_eq!(seen, rows);
}

#[test]
fn every_mistake_has_its_place_and_words() {
    run_table(BROKEN, 83, |text| parse(FILE, text, &vocabulary()).expect_err("a mistake was made"));
}

#[test]
fn every_untidiness_has_its_place_and_words() {
    run_table(UNTIDY, 25, |text| lint::lint_text(FILE, text, &vocabulary()));
}

#[test]
fn what_an_audit_may_report_is_checked() {
    for (audit, want) in [
        ("cases = [\"stale-cache\", \"mismatch\"]\neach = \"llvm_dir\"\nof = \"llvm.dir\"", &[][..]),
        ("cases = \"stale\"", &["26:9: no case `stale`"]),
        ("cases = [\"stale-cache\", \"stale-cache\"]", &["26:25: case `stale-cache` is named already"]),
        (
            "cases = [\"unclear\"]",
            &[
                "26:10: case `unclear` is neither `certain` nor `likely`",
                "26:10: case `unclear` needs no answer of the machine",
            ],
        ),
        ("each = \"llvm_dir\"", &["25:1: missing field `audit.cases`"]),
        ("cases = [\"mismatch\"]\neach = \"llvm_dir\"", &["25:1: `each` and `of` go together"]),
        ("cases = [\"mismatch\"]\neach = \"dir\"\nof = \"llvm.dir\"", &["27:8: no parameter `dir`"]),
        (
            "cases = [\"mismatch\"]\neach = \"llvm_dir\"\nof = \"llvm\"",
            &["28:6: probe `llvm` is named without a value"],
        ),
        ("cases = [\"mismatch\"]\nalways = true", &["27:1: unknown field `always`"]),
    ] {
        let text = RECIPE.replacen("[[param]]", &format!("[audit]\n{audit}\n\n[[param]]"), 1);
        let found = lint::lint_text(FILE, &text, &vocabulary());
        let found: Vec<String> =
            found.iter().map(|mistake| format!("{}:{}: {}", mistake.line, mistake.column, mistake.message)).collect();
        assert_eq!(found, want, "{audit}");
    }
    let says = RECIPE.replace("two LLVMs in ${llvm_dir}", "two LLVMs, ${missing_targets} is missing");
    let text = says.replacen("[[param]]", "[audit]\ncases = [\"mismatch\"]\n\n[[param]]", 1);
    let found = lint::lint_text(FILE, &text, &vocabulary());
    assert_eq!(found[0].message, "case `mismatch` says `${missing_targets}`, which only a log gives");
    let text = text.replace(", ${missing_targets} is missing", "$[, ${missing_targets} is missing]");
    assert_eq!(lint::lint_text(FILE, &text, &vocabulary()), []);
}

#[test]
fn hidden_characters_are_shown() {
    let text = RECIPE.replace("targets are missing", "targets \u{202e}are\u{200b} missing");
    let found: Vec<String> = lint::lint_text(FILE, &text, &vocabulary()).iter().map(ToString::to_string).collect();
    let seen = "a character that cannot be seen";
    assert_eq!(found, [format!("{FILE}:10:20: {seen}: U+202E"), format!("{FILE}:10:24: {seen}: U+200B")]);
}

#[test]
fn a_good_recipe_is_read_whole() {
    assert_eq!(lint::lint_text(FILE, RECIPE, &vocabulary()), []);
    let recipe = parse(FILE, RECIPE, &vocabulary()).unwrap();
    let words = |words: &[&str]| words.iter().map(ToString::to_string).collect::<Vec<_>>();
    let template = |text: &str| Template::parse(text).unwrap();
    assert_eq!(
        (recipe.id.as_str(), recipe.slug.as_str(), recipe.family.as_str()),
        ("tda-1.9", "llvmcgdata-residue", "cmake")
    );
    assert_eq!((recipe.aliases, recipe.masks), (words(&["tda-3.9"]), words(&["cmake-imported-targets-missing"])));
    assert_eq!(recipe.references, ["https://example.org/faq#1.9"]);
    assert_eq!(recipe.applicability, Applicability::Confirm);
    assert_eq!(recipe.title, Text::new("LLVM targets are missing", "缺少 LLVM 目标"));
    assert_eq!((recipe.departs, recipe.why.unwrap().en.as_str()), (None, "The tree may hold work."));
    assert_eq!(
        recipe.params[0],
        Param {
            name: "missing_targets".into(),
            kind: ParamKind::Text,
            list: true,
            identifying: true,
            from: vec![ParamSource::Capture("missing_targets".into())],
            choices: vec![],
            help: None,
        }
    );
    let from_probe = ParamSource::Probe { probe: "llvm".into(), value: "dir".into() };
    assert_eq!(recipe.params[2].from, [from_probe, ParamSource::Env("LLVM_DIR".into())]);
    assert_eq!((recipe.signatures[0].lines, recipe.signatures[1].lines), (12, 8));
    assert_eq!((recipe.signatures[0].role, recipe.signatures[1].role), (Role::Required, Role::Veto));
    assert_eq!(recipe.probes[1].question, "llvm_pair");
    assert_eq!(recipe.probes[1].args["build_dir"], template("${tree.path}"));
    let [stale, mismatch, unclear] = recipe.cases.as_slice() else { panic!("three cases") };
    assert_eq!(stale.when["tree"], ["found"]);
    assert_eq!(stale.says.zh, template("`${tree.path}` 已过时"));
    assert_eq!(
        (stale.steps[0].verb.as_str(), &stale.steps[0].args["path"]),
        ("set_aside_tree", &template("${tree.path}"))
    );
    assert_eq!(stale.steps[0].only_if["clean"], ["tree"]);
    assert_eq!(stale.verify, [Check { probe: "llvm".into(), is: words(&["consistent"]), stage: Stage::Static }]);
    assert_eq!((stale.applicability, mismatch.applicability), (Applicability::Confirm, Applicability::Manual));
    assert_eq!((unclear.verdict, unclear.when.len(), unclear.advice.len()), (CaseVerdict::Possible, 0, 1));
}

#[test]
fn tables_may_be_written_in_any_toml_way() {
    let text = RECIPE
        .replace("[title]\nen = ", "[title]\n\"en\" = ")
        .replace(
            "ask = { cmake_tree = { hint = \"${missing_targets}\" } }",
            "ask.cmake_tree.hint = '${missing_targets}'",
        )
        .replace("when = { llvm = [\"mismatch\"] }", "when.llvm = \"mismatch\"")
        .replace('\n', "\r\n");
    assert_eq!(parse(FILE, &text, &vocabulary()), parse(FILE, RECIPE, &vocabulary()));
    let text = text.replace("hint = '${missing", "hint = 'a ${missng").replace("{ en = \"two", "{ on = \"two");
    let mistakes = parse(FILE, &text, &vocabulary()).unwrap_err();
    let places: Vec<(usize, usize)> = mistakes.iter().map(|mistake| (mistake.line, mistake.column)).collect();
    assert_eq!(places, [(83, 8), (83, 10)], "{mistakes:#?}");
}

#[test]
fn a_veto_gives_no_parameter() {
    let text = RECIPE
        .replace("[\"Could not", "[\"(?P<package>a)Could not")
        .replace("capture = \"missing_targets\"", "capture = \"package\"");
    let mistakes = parse(FILE, &text, &vocabulary()).unwrap_err();
    assert_eq!(mistakes[0].message, "no signature has a group `package`");
}

#[test]
fn cases_shadow_together() {
    // Neither alone takes everything of the last case; the two before it do.
    let text = RECIPE
        .replace("when = { llvm = [\"stale\"], tree = \"found\" }", "when = { tree = [\"found\", \"unknown\"] }")
        .replace("when = { llvm = [\"mismatch\"] }", "when = { tree = \"none\" }");
    let mistakes = parse(FILE, &text, &vocabulary()).unwrap_err();
    assert_eq!(mistakes.len(), 1, "{mistakes:#?}");
    assert_eq!(mistakes[0].message, "case `unclear` is never taken");
    // A parameter may have no value, so its choices do not cover everything.
    let text = RECIPE.replace("when = { llvm = [\"mismatch\"] }", "when = { clean = [\"tree\", \"narrow\"] }");
    assert!(parse(FILE, &text, &vocabulary()).is_ok());
}

#[test]
fn names_and_masks_are_checked_over_all_recipes() {
    let other = RECIPE.replace("\"tda-1.9\"", "\"tda-1.8\"").replace("\"llvmcgdata-residue\"", "\"TDA-1.9\"");
    let files = [(FILE, RECIPE), ("recipes/tda-1.8.toml", other.as_str())];
    let mistakes = lint::lint(files, &vocabulary());
    let found: Vec<String> = mistakes.iter().map(ToString::to_string).collect();
    assert_eq!(
        found,
        [
            "recipes/tda-1.8.toml:2:8: `TDA-1.9` is a name of recipe `tda-1.9` already",
            "recipes/tda-1.8.toml:2:8: `TDA-1.9` is not in lower-case kebab",
            "recipes/tda-1.8.toml:3:12: `tda-3.9` is a name of recipe `tda-1.9` already",
            "recipes/tda-1.8.toml:6:10: no recipe `cmake-imported-targets-missing`",
            "recipes/tda-1.9.toml:6:10: no recipe `cmake-imported-targets-missing`",
        ]
    );
}

#[test]
fn one_file_is_checked_with_those_beside_it() {
    let folder = tempfile::tempdir().unwrap();
    let write = |id: &str, text: &str| {
        let path = folder.path().join(format!("{id}.toml"));
        std::fs::write(&path, text).unwrap();
        path
    };
    let mine = write("tda-1.9", RECIPE);
    let other = RECIPE.replace("\"tda-1.9\"", "\"tda-9.9\"").replace("\"llvmcgdata-residue\"", "\"other\"");
    write("tda-9.9", &other.replace("cause", "broken"));
    let messages = |path: &std::path::Path| {
        let mistakes = lint::lint_path(path, &vocabulary()).unwrap();
        mistakes.into_iter().map(|mistake| mistake.message).collect::<Vec<_>>()
    };
    assert_eq!(messages(&mine), ["no recipe `cmake-imported-targets-missing`"]);
    write("tda-9.9", &other);
    write("cmake-imported-targets-missing", "this one is not ready");
    assert_eq!(messages(&mine), ["`tda-3.9` is a name of recipe `tda-9.9` already"]);
    assert_eq!(messages(folder.path()).len(), 2);
    assert!(lint::lint_path(&folder.path().join("gone.toml"), &vocabulary()).is_err());
}

#[test]
fn long_files_are_refused_and_cut_ones_never_read() {
    let long = format!("{RECIPE}# {}", "x".repeat(LONGEST_FILE));
    let mistakes = parse(FILE, &long, &vocabulary()).unwrap_err();
    assert!(mistakes[0].to_string().contains("more than the 262144 that a recipe may have"), "{mistakes:?}");
    // What is cut after its first case may be a shorter recipe; before, it is none.
    let first_case = RECIPE.find("已过时").unwrap();
    for (end, _) in RECIPE.char_indices() {
        let result = parse(FILE, &RECIPE[..end], &vocabulary());
        assert!(result.is_err() || end > first_case, "cut at {end}");
    }
}

#[test]
fn many_mistakes_stay_cheap() {
    let text: String = (0..20_000).map(|number| format!("x{number} = 1\n")).collect();
    assert!(text.len() < LONGEST_FILE);
    assert_eq!(parse(FILE, &text, &vocabulary()).unwrap_err().len(), 100);
    let keys = "a.".repeat(100_000);
    for deep in [
        format!("id = {}", "[".repeat(100_000)),
        format!("id = {}", "{a=".repeat(60_000)),
        format!("{keys}a = 1"),
        format!("[{keys}a]"),
        format!("id = {{ {keys}a = 1 }}"),
        format!("[{}", "[a]\n[a".repeat(20_000)),
    ] {
        assert!(!parse(FILE, &deep, &vocabulary()).unwrap_err().is_empty());
    }
    let cases: String = (0..3_000)
        .map(|number| {
            format!("[[case]]\nname = \"c{number}\"\nverdict = \"possible\"\nsays = {{ en = \"a\", zh = \"中\" }}\n")
        })
        .collect();
    let mistakes = parse(FILE, &format!("{RECIPE}{cases}"), &vocabulary()).unwrap_err();
    assert_eq!(mistakes[0].message, "the recipe has more than 64 cases");
}

/// Keys and values out of which TOML grows that comes close to recipes.
fn toml() -> impl Strategy<Value = String> {
    let key = prop_oneof![
        Just("id"),
        Just("title"),
        Just("param"),
        Just("signature"),
        Just("case"),
        Just("when"),
        Just("step"),
        Just("says"),
        Just("ask"),
        Just("any"),
        Just("is"),
        Just("en"),
        Just("'a.b[0]'"),
        Just("\"\""),
        Just("lines"),
    ];
    let leaf = prop_oneof![
        Just("1".to_owned()),
        Just("true".to_owned()),
        Just("1.5".to_owned()),
        Just("1979-05-27".to_owned()),
        Just("'${a.b}'".to_owned()),
        Just("\"${\"".to_owned()),
        Just("'(?P<a'".to_owned()),
        "'[^'\\n\\p{Cc}]{0,9}'",
    ];
    let value = leaf.prop_recursive(3, 12, 3, {
        let key = key.clone();
        move |inner| {
            prop_oneof![
                prop::collection::vec(inner.clone(), 0..3).prop_map(|items| format!("[{}]", items.join(", "))),
                (key.clone(), inner).prop_map(|(key, value)| format!("{{ {key} = {value} }}")),
            ]
        }
    });
    let header = (key.clone(), any::<bool>())
        .prop_map(|(key, many)| if many { format!("[[{key}]]") } else { format!("[{key}]") });
    let field = (key, value).prop_map(|(key, value)| format!("{key} = {value}"));
    prop::collection::vec(prop_oneof![header, field], 0..8).prop_map(|lines| lines.join("\n"))
}

proptest! {
    #[test]
    fn random_toml_is_refused_with_a_place(text in toml()) {
        let mistakes = parse(FILE, &text, &vocabulary()).unwrap_err();
        for mistake in mistakes {
            let line = text.split('\n').nth(mistake.line - 1);
            prop_assert!(line.is_some_and(|line| mistake.column <= line.chars().count() + 1), "{mistake}");
        }
    }

    #[test]
    fn random_edits_never_panic(at in 0..RECIPE.len(), len in 0..40usize, put in ".{0,12}") {
        let floor = |mut at: usize| { while !RECIPE.is_char_boundary(at) { at -= 1 } at };
        let (start, end) = (floor(at), floor((at + len).min(RECIPE.len())).max(floor(at)));
        let text = format!("{}{put}{}", &RECIPE[..start], &RECIPE[end..]);
        for mistake in lint::lint_text(FILE, &text, &vocabulary()) {
            let line = text.split('\n').nth(mistake.line - 1);
            prop_assert!(line.is_some_and(|line| mistake.column <= line.chars().count() + 1), "{mistake}");
        }
    }
}
