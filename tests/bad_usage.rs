//! Mistakes of the user: recipe files, names, values, plan files; and what programs get as JSON.

mod support;

use std::fs;
use std::os::unix::fs::symlink;
use std::path::PathBuf;

use serde_json::{Value, json};
use support::moved::COMMAND;
use support::{Sandbox, differences, picture};

/// A recipe of this project, with one thing changed.
fn recipe_with(old: &str, new: &str) -> String {
    let path = concat!(env!("CARGO_MANIFEST_DIR"), "/recipes/cmake-source-moved.toml");
    let text = fs::read_to_string(path).unwrap();
    assert!(text.contains(old), "{old}");
    text.replacen(old, new, 1)
}

#[test]
fn a_recipe_with_a_mistake_is_named_by_line_and_column() {
    let sandbox = Sandbox::new();
    let title = "en = \"The build tree was made in, or for, another folder\"";
    for (old, new, says) in [
        ("slug = ", "slugg = ", ":2:1"),
        ("id = \"cmake-source-moved\"", "id = \"cmake-other\"", ":1:"),
        ("applicability = \"safe\"", "applicability = \"sure\"", ":4:"),
        ("role = \"required\"", "role = \"needed\"", "needed"),
        ("ask = { cmake_tree = ", "ask = { cmake_treee = ", "cmake_tree"),
        ("${by_source.named}", "${by_sauce.named}", "by_sauce"),
        ("set_aside_tree = ", "set_aside_treee = ", "set_aside_tree"),
        ("(?P<build_dir>/[^\\r\\n]+?)/CMakeCache", "(?P<build_dir>/[^\\r\\n+?)/CMakeCache", ":"),
        ("lines = 12", "lines = -1", "lines"),
        ("lines = 12", "lines = 99999999999999999999", ":"),
        (title, "", "en"),
        ("[title]", "[title", ":7:"),
        ("[title]", "[title]\n[title]", ":8:"),
        ("id = ", "id = 7 #", ":1:"),
        ("capture = \"source\"", "capture = \"sauce\"", "sauce"),
        ("is = [\"no_tree\", \"here\"]", "is = [\"no_treee\"]", "no_treee"),
        ("The current CMakeCache", "\u{202e}\u{1b}[31m(", ":"),
    ] {
        let path = sandbox.write("cmake-source-moved.toml", recipe_with(old, new));
        let done = sandbox.fix(["recipe", "lint", path.to_str().unwrap()]).expect(1).says(says);
        assert!(done.stdout.contains("cmake-source-moved.toml:"), "{new}: {}", done.all());
        assert!(done.stdout.contains("hint: ") && !done.all().contains("panicked"), "{new}: {}", done.all());
        assert!(!done.all().contains(['\u{1b}', '\u{202e}']), "{:?}", done.all());
    }
    // Several names in one text are one name; as a list they are several.
    let step = "[[case.step]]\nset_aside_tree";
    for (names, code) in [("\"A B\"", 1), ("\"A,B\"", 1), ("[\"A\", \"B\"]", 0), ("\"A\"", 0), ("[]", 1), ("[1]", 1)] {
        let with = format!("[[case.step]]\nunset_env = {{ names = {names} }}\n\n{step}");
        let path = sandbox.write("cmake-source-moved.toml", recipe_with(step, &with));
        let done = sandbox.fix(["recipe", "lint", path.to_str().unwrap()]).expect(code);
        assert!(code == 0 || done.stdout.contains("hint: give "), "{names}: {}", done.all());
    }
    let good = sandbox.write("cmake-source-moved.toml", recipe_with("id", "id"));
    sandbox.fix(["recipe", "lint", good.to_str().unwrap()]).expect(0);
}

#[test]
fn a_recipe_that_is_no_text() {
    let sandbox = Sandbox::new();
    for bytes in [
        b"\xff\xfe\x00\x01".to_vec(),
        vec![0; 100],
        b"a = ".repeat(100_000),
        b"[".repeat(100_000),
        b"a = [".repeat(5000),
    ] {
        let path = sandbox.write("cmake-x.toml", bytes);
        let done = sandbox.fix(["recipe", "lint", path.to_str().unwrap()]);
        assert!(done.code == 1 || done.code == 2, "{} {}", done.code, &done.all()[..done.all().len().min(2000)]);
        assert!(done.all().contains("cmake-x.toml") && !done.all().contains("panicked"));
        assert!(done.all().len() < 64 << 10, "{} bytes", done.all().len());
    }
    fs::create_dir(sandbox.project().join("empty")).unwrap();
    symlink("loop.toml", sandbox.project().join("loop.toml")).unwrap();
    for missing in ["missing.toml", "loop.toml", "missing"] {
        let done = sandbox.fix(["recipe", "lint", missing]).expect(2);
        assert!(done.stderr.contains(missing), "{}", done.stderr);
    }
}

#[test]
fn unknown_names_suggest_the_nearest() {
    let sandbox = Sandbox::new();
    for (name, nearest) in [
        ("tda-1.99", "`tda-1.9`"),
        ("cmake-source-move", "`cmake-source-moved`"),
        ("lst", "`list`"),
        ("rollbak", "`rollback`"),
        ("dignose", "`diagnose`"),
    ] {
        let done = sandbox.fix([name]).expect(2).says(nearest);
        assert_eq!((done.stdout.as_str(), done.stderr.lines().count()), ("", 2), "{}", done.stderr);
    }
    for name in ["", " ", "../../etc/passwd", "tda-1.9;true", "一", &"x".repeat(100_000), "9999999999999.1"] {
        let done = sandbox.fix(["apply", name]).expect(2);
        assert!(!done.all().contains("panicked"), "{}", done.all());
    }
    for args in [&["show", "tda-1.99"][..], &["plan", "tda-1.99", "-o", "x"], &["apply", "tda-1.99", "--json"]] {
        sandbox.fix(args).expect(2).says("`tda-1.9`");
    }
    sandbox.fix(["rollback", "20200101-000000"]).expect(2).says("fix history");
    sandbox.fix(["rollback", "../../../etc"]).expect(2);
    assert!(picture(&sandbox.project()).is_empty() && picture(&sandbox.state()).is_empty());
}

#[test]
fn values_that_do_not_fit() {
    let sandbox = Sandbox::with_moved_tree();
    let log = sandbox.root().join("log");
    fs::write(&log, sandbox.moved_log()).unwrap();
    let before = sandbox.project_picture();
    for (id, value, says) in [
        ("tda-1.9", "clean", "is not NAME=VALUE"),
        ("tda-1.9", "clean=everything", "must be one of"),
        ("tda-1.9", "claen=tree", "no such parameter"),
        ("tda-1.9", "=", "no such parameter"),
        ("cmake-source-moved", "build_dir=a\u{1b}[31mb\nc", "build_dir"),
    ] {
        let set = format!("--set={value}");
        let done = sandbox.fix([id, "--yes", &set, "--log", log.to_str().unwrap()]).expect(2).says(says);
        assert!(!done.all().contains('\u{1b}'), "{:?}", done.all());
    }
    // A value that fits and leads out of the project is refused like one from a log.
    for folder in ["/etc", "/", "..", "../home"] {
        let set = format!("--set=build_dir={folder}");
        let done = sandbox.fix(["cmake-source-moved", "--yes=confirm", &set]);
        assert!(done.code <= 2 && !done.all().contains("panicked"), "{}", done.all());
    }
    assert_eq!(differences(&before, &sandbox.project_picture()), [""; 0]);
}

#[test]
fn wrong_flags_are_usage() {
    let sandbox = Sandbox::new();
    for args in [
        &["run"][..],
        &["run", "--"],
        &["run", "--rerun-timeout", "soon", "--", "true"],
        &["run", "--max-repairs", "-1", "--", "true"],
        &["run", "--yes=all", "--", "true"],
        &["apply"],
        &["apply", "--plan", "x", "tda-1.9"],
        &["diagnose", "--lang", "fr", "x"],
        &["--no-such-flag"],
        &["list", "--color", "pink"],
        &["history", "prune", "--keep", "many"],
        &["diagnose"],
    ] {
        let done = sandbox.fix(args).expect(2);
        assert!(done.stdout.is_empty() && done.stderr.starts_with("error:"), "{args:?}: {}", done.all());
    }
    assert!(picture(&sandbox.state()).is_empty());
}

/// The project with its log, for commands that plan.
fn planned() -> (Sandbox, PathBuf) {
    let sandbox = Sandbox::with_moved_tree();
    let log = sandbox.root().join("log");
    fs::write(&log, sandbox.moved_log()).unwrap();
    (sandbox, log)
}

#[test]
fn every_command_hands_out_json() {
    let (sandbox, log) = planned();
    let log = log.to_str().unwrap().to_owned();
    let command = COMMAND.map(str::to_owned).to_vec();
    let with = |head: &[&str]| -> Vec<String> { head.iter().map(ToString::to_string).chain(command.clone()).collect() };
    let plain = |head: &[&str]| -> Vec<String> { head.iter().map(ToString::to_string).collect() };
    // In this order: each works on what the one before left.
    for (args, code, outcome) in [
        (plain(&["list", "--json"]), 0, "listed"),
        (plain(&["show", "tda-1.9", "--json"]), 0, "listed"),
        (plain(&["history", "--json"]), 0, "listed"),
        (plain(&["diagnose", &log, "--json"]), 1, "found"),
        (plain(&["diagnose", "CMakeLists.txt", "--json"]), 0, "nothing_wrong"),
        (plain(&["cmake-source-moved", "-n", "--json", "--log", &log]), 1, "would_change"),
        (plain(&["cmake-source-moved", "--json", "--log", &log]), 1, "refused"),
        (plain(&["plan", "cmake-source-moved", "--json", "--log", &log]), 1, "would_change"),
        (plain(&["plan", "cmake-source-moved", "--json", "--log", &log, "-o", "../plan.json"]), 0, "planned"),
        (with(&["run", "-n", "--json", "--"]), 1, "would_change"),
        (plain(&["run", "--json", "--", "true"]), 0, "passed"),
        (plain(&["run", "--json", "--", "false"]), 1, "still_failing"),
        (plain(&["apply", "--plan", "../plan.json", "--yes", "--json"]), 0, "repaired"),
        (plain(&["history", "--json"]), 0, "listed"),
        (plain(&["apply", "--plan", "../plan.json", "--yes", "--json"]), 1, "refused"),
        (plain(&["rollback", "-n", "--json"]), 1, "would_change"),
        (plain(&["rollback", "--json"]), 0, "restored"),
        (plain(&["rollback", "--json"]), 0, "nothing_to_do"),
        (plain(&["rollback", "-n", "--json"]), 0, "nothing_to_do"),
        (plain(&["rollback", "no-such-repair", "--json"]), 2, "failed"),
        (with(&["run", "--yes", "--json", "--"]), 0, "repaired"),
        (plain(&["rollback", "--json", "--quiet"]), 0, "restored"),
        (plain(&["tda-1.99", "--json"]), 2, "failed"),
        (plain(&["history", "prune", "--json"]), 0, "listed"),
    ] {
        let done = sandbox.fix(&args).expect(code);
        // What the user's command prints on standard output comes first, as it is.
        let text = done.stdout.find("\n{").map_or(done.stdout.as_str(), |at| &done.stdout[at + 1..]);
        let document: Value = serde_json::from_str(text).unwrap_or_else(|e| panic!("{args:?}: {e}: {}", done.all()));
        assert_eq!((&document["schema_version"], &document["outcome"]), (&json!(1), &json!(outcome)), "{args:?}");
        if let Some(stated) = document.get("exit_code") {
            assert_eq!(stated, &json!(code), "{args:?}");
        }
    }
}

#[test]
fn allowed_paths_are_allowed_by_the_user_alone() {
    let sandbox = Sandbox::with_moved_tree();
    let home = sandbox.project();
    let before = sandbox.project_picture();
    let mut inside = sandbox;
    inside.set("HOME", &home);
    // A variable, a file of the project or of HOME never adds a root.
    inside.set("FIX_ALLOW_PATH", home.join("build"));
    inside.write("fix.toml", "allow_path = [\"build\"]\n");
    inside.fix(Sandbox::run_args(&["--yes"])).expect(1).says("--allow-path");
    fs::remove_file(inside.project().join("fix.toml")).unwrap();
    for wrong in ["/nowhere", "build-other", "buil"] {
        inside.fix(Sandbox::run_args(&["--yes", "--allow-path", wrong])).expect(1).says("--allow-path");
    }
    assert_eq!(differences(&before, &inside.project_picture()), [""; 0]);
    // Relative to the caller's folder.
    inside.fix(Sandbox::run_args(&["--yes", "--allow-path", "build"])).expect(0);
}

#[test]
fn a_plan_that_was_tampered_with_does_nothing() {
    let (sandbox, log) = planned();
    let plan = sandbox.root().join("plan.json");
    let args = ["plan", "cmake-source-moved", "--log", log.to_str().unwrap(), "-o", plan.to_str().unwrap(), "--"];
    sandbox.fix(args.iter().chain(&COMMAND)).expect(0);
    let good: Value = serde_json::from_str(&fs::read_to_string(&plan).unwrap()).unwrap();
    let before = sandbox.project_picture();
    let changed = |change: &dyn Fn(&mut Value)| {
        let mut value = good.clone();
        change(&mut value);
        serde_json::to_vec(&value).unwrap()
    };
    let text = serde_json::to_vec_pretty(&good).unwrap();
    let mut bad: Vec<(&str, Vec<u8>)> = vec![
        ("another digest", changed(&|value| value["repairs"][0]["digest"] = json!("0".repeat(64)))),
        ("another cause", changed(&|value| value["repairs"][0]["case"] = json!("source-gone"))),
        ("another recipe", changed(&|value| value["repairs"][0]["id"] = json!("tda-1.9"))),
        ("no recipe", changed(&|value| value["repairs"][0]["id"] = json!("../../x"))),
        ("another command", changed(&|value| value["command"] = json!(["sh", "-c", "touch owned"]))),
        ("another argument", changed(&|value| value["command"] = json!(["cmake", "-B", "build", "--trace"]))),
        ("other parameters", changed(&|value| value["repairs"][0]["params"]["build_dir"] = json!(["/etc"]))),
        ("a parameter too many", changed(&|value| value["repairs"][0]["params"]["extra"] = json!("x"))),
        (
            "a parameter of another kind",
            changed(&|value| value["repairs"][0]["params"]["created_in"] = json!({"a": 1})),
        ),
        ("an unknown key", changed(&|value| value["argv"] = json!(["sh"]))),
        ("an unknown key within", changed(&|value| value["repairs"][0]["run"] = json!("x"))),
        ("another format", changed(&|value| value["schema_version"] = json!(2))),
        ("no format", changed(&|value| value["schema_version"] = json!(null))),
        ("no repairs", changed(&|value| value["repairs"] = json!([]))),
        ("another folder", changed(&|value| value["project"] = json!("/elsewhere"))),
        ("truncated", text[..text.len() / 2].to_vec()),
        ("empty", Vec::new()),
        ("no object", b"[]".to_vec()),
        ("deep", b"[".repeat(200_000)),
        ("no text", vec![0xff; 1000]),
    ];
    bad.push(("huge", b" ".repeat(17 << 20)));
    for (what, bytes) in bad {
        fs::write(&plan, bytes).unwrap();
        let done = sandbox.fix(["apply", "--yes=confirm", "--plan", plan.to_str().unwrap()]);
        assert!(done.code == 1 || done.code == 2, "{what}: {} {}", done.code, done.all());
        assert!(!done.all().contains("panicked"), "{what}: {}", done.all());
        assert_eq!(done.stderr.matches("error:").count(), 1, "{what}: {}", done.all());
        assert_eq!(differences(&before, &sandbox.project_picture()), [""; 0], "{what}");
        assert_eq!(sandbox.runs(), 0, "{what}");
    }
    // What is shown must be what is done.
    let shown = changed(&|value| value["repairs"][0]["shown"] = json!(["\u{1b}[31mfalsehood"]));
    fs::write(&plan, shown).unwrap();
    let done = sandbox.fix(["apply", "--yes", "--plan", plan.to_str().unwrap()]).expect(1);
    assert!(!done.all().contains("falsehood"), "{}", done.all());
    assert_eq!(differences(&before, &sandbox.project_picture()), [""; 0]);
    // Every field is checked, each with its own reason.
    let other_level = if good["repairs"][0]["applicability"] == "safe" { "confirm" } else { "safe" };
    for (why, bytes) in [
        ("it was made in `/elsewhere`", changed(&|value| value["project"] = json!("/elsewhere"))),
        ("the cause was `source-gone`", changed(&|value| value["repairs"][0]["case"] = json!("source-gone"))),
        ("another level than it has", changed(&|value| value["repairs"][0]["applicability"] = json!(other_level))),
        ("its parameter `extra`", changed(&|value| value["repairs"][0]["params"]["extra"] = json!("x"))),
        ("would do something else", changed(&|value| value["repairs"][0]["digest"] = json!("0".repeat(64)))),
        ("would do something else", changed(&|value| value["command"] = json!(["cmake", "-B", "build", "--trace"]))),
        ("is not what the repair does", changed(&|value| value["repairs"][0]["shown"] = json!(["nothing"]))),
        ("reads 1", changed(&|value| value["schema_version"] = json!(2))),
        ("unknown field `run`", changed(&|value| value["repairs"][0]["run"] = json!("x"))),
        (
            "missing field `digest`",
            changed(&|value| drop(value["repairs"][0].as_object_mut().unwrap().remove("digest"))),
        ),
    ] {
        fs::write(&plan, bytes).unwrap();
        let done = sandbox.fix(["apply", "--yes=confirm", "--plan", plan.to_str().unwrap()]);
        assert!(done.code != 0 && done.stderr.contains(why), "{why}: {}", done.all());
        assert_eq!(differences(&before, &sandbox.project_picture()), [""; 0], "{why}");
    }
    fs::write(&plan, &text).unwrap();
    sandbox.fix(["apply", "--yes", "--plan", plan.to_str().unwrap()]).expect(0);
    sandbox.fix(["rollback"]).expect(0);
    assert_eq!(differences(&before, &sandbox.project_picture()), [""; 0]);
}

#[test]
fn a_plan_file_that_cannot_be_read_or_written() {
    let (sandbox, log) = planned();
    fs::create_dir(sandbox.project().join("folder")).unwrap();
    for path in ["missing.json", "folder", "missing/plan.json", "/dev/zero", "/dev/null"] {
        let done = sandbox.fix(["apply", "--yes", "--plan", path]).expect(2);
        assert!(done.stderr.contains(path) && done.stderr.lines().count() <= 2, "{}", done.stderr);
    }
    let before = sandbox.project_picture();
    for path in ["folder", "missing/plan.json", "/dev/full"] {
        let args = ["plan", "cmake-source-moved", "--log", log.to_str().unwrap(), "-o", path];
        sandbox.fix(args).expect(2).says("cannot write").says(path);
    }
    assert_eq!(differences(&before, &sandbox.project_picture()), [""; 0]);
}

#[test]
fn a_plan_whose_project_changed_is_stale() {
    let (sandbox, log) = planned();
    let plan = sandbox.root().join("plan.json");
    sandbox.fix(["plan", "cmake-source-moved", "--log", log.to_str().unwrap(), "-o", plan.to_str().unwrap()]).expect(0);
    let build = sandbox.project().join("build");
    fs::rename(&build, sandbox.project().join("old")).unwrap();
    let apply = ["apply", "--yes=confirm", "--plan", plan.to_str().unwrap()];
    sandbox.fix(apply).expect(1).says("refusing the reviewed plan").says("fix plan cmake-source-moved -o");
    // The same names in another folder are another tree.
    sandbox.write_moved_tree("build");
    let before = sandbox.project_picture();
    let done = sandbox.fix(apply);
    assert!(done.code <= 1, "{}", done.all());
    if done.code == 0 {
        sandbox.fix(["rollback"]).expect(0);
    }
    assert_eq!(differences(&before, &sandbox.project_picture()), [""; 0]);
    let mut command = sandbox.fix_command();
    let elsewhere = support::done(command.args(apply).current_dir(sandbox.home()).output().unwrap());
    elsewhere.expect(1);
}

fn document(told: &support::Done) -> serde_json::Value {
    serde_json::from_str(&told.stdout).unwrap_or_else(|error| panic!("{error}: {}", told.stdout))
}

#[test]
fn every_answer_to_json_is_one_document() {
    let sandbox = Sandbox::new();
    let told = sandbox.fix(["demo", "--json"]);
    assert_eq!((told.code, &document(&told)["outcome"]), (2, &"failed".into()));
    let told = sandbox.fix(["list", "--json", "--no-such-flag"]);
    let failure = document(&told);
    assert_eq!((told.code, &failure["exit_code"]), (2, &2.into()));
    assert!(failure["error"].as_str().unwrap().contains("--no-such-flag"), "{failure}");
    // What follows belongs to the command.
    assert_eq!(sandbox.fix(["list", "--no-such-flag", "--", "--json"]).stdout, "");
    let one = document(&sandbox.fix(["show", "tda-1.9", "--json"]));
    let several = document(&sandbox.fix(["show", "tda-1.9", "EI0020", "--json"]));
    assert_eq!(several["pages"][0]["id"], one["id"]);
    assert_eq!(several["pages"].as_array().unwrap().len(), 2);
}

#[test]
fn diagnose_says_less_or_more() {
    let sandbox = Sandbox::new();
    let log = sandbox.project().join("build.log");
    std::fs::write(&log, "exec: \"bishengir-opt\": executable file not found in $PATH\n").unwrap();
    let told = |flag: &str| sandbox.fix(["diagnose", "build.log", "--log-only", flag]);
    assert_eq!(told("-q").stdout.lines().count(), 1);
    assert!(told("-q").stdout.starts_with("tda-1.4  "));
    assert!(told("-v").stderr.contains("1 lines"), "{}", told("-v").stderr);
    assert!(!told("--color=never").stderr.contains("1 lines"));
}

#[test]
fn a_chinese_charset_gets_its_own_bytes() {
    let mut sandbox = Sandbox::new();
    sandbox.set("LC_ALL", "zh_CN.GBK");
    let output = sandbox.fix_command().args(["show", "tda-1.9"]).output().unwrap();
    assert!(std::str::from_utf8(&output.stdout).is_err());
    let (text, _, had_errors) = encoding_rs::GBK.decode(&output.stdout);
    assert!(!had_errors && text.contains("原因"), "{text}");
    let document = sandbox.fix_command().args(["show", "tda-1.9", "--json"]).output().unwrap();
    assert!(serde_json::from_slice::<serde_json::Value>(&document.stdout).is_ok());
}

/// A recipe that takes another case than its author meant does not pass, though it fires.
#[test]
fn a_new_recipe_is_tested_for_its_case() {
    let sandbox = Sandbox::new();
    fs::create_dir(sandbox.project().join("recipes")).unwrap();
    sandbox.fix(["recipe", "new", "cmake-my-issue"]).expect(0);
    let test = ["recipe", "test", "cmake-my-issue"];
    sandbox.fix(test).expect(0).says("first: case `unclear`").says("not-look-alike: left alone").says("2 passed");
    let path = sandbox.project().join("recipes/cmake-my-issue.toml");
    let text = fs::read_to_string(&path).unwrap().replace("name = \"unclear\"", "name = \"other\"");
    fs::write(&path, text).unwrap();
    sandbox.fix(test).expect(1).says("the case is `other`, not `unclear`");
    fs::remove_file(sandbox.project().join("fixtures/cmake-my-issue/first/case.toml")).unwrap();
    sandbox.fix(test).expect(0).says("case `other`; no `expect` in case.toml");
}
