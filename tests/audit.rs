//! `fix audit` as CI uses it: formats against their schemas, the project's word on findings, patches that git takes.

mod support;

use std::fs;
use std::path::Path;
use std::process::Command;

use serde_json::{Value, json};
use support::{Done, Sandbox, picture, tools};

/// A setup.py that gives a linker flag twice, twice.
const SETUP: &str = "\
import os
cmake_args = [
    \"-DCMAKE_EXE_LINKER_FLAGS=-fuse-ld=lld\",
    \"-DCMAKE_SHARED_LINKER_FLAGS=-fuse-ld=lld\",
    \"-DCMAKE_EXE_LINKER_FLAGS=-L/opt/a\",
    \"-DCMAKE_SHARED_LINKER_FLAGS=-L/opt/a\",
]
";

/// A project with these two findings, under git.
fn project() -> Sandbox {
    let sandbox = Sandbox::new();
    sandbox.write("setup.py", SETUP);
    commit(&sandbox, "first");
    sandbox
}

fn commit(sandbox: &Sandbox, message: &str) {
    let identity = ["-c", "user.name=a", "-c", "user.email=a@b", "-c", "commit.gpgsign=false"];
    for args in [vec!["init", "-q"], vec!["add", "."], vec!["commit", "-q", "-m", message]] {
        sandbox.run("git", identity.iter().chain(args.iter())).expect(0);
    }
}

fn parsed(done: &Done) -> Value {
    serde_json::from_str(&done.stdout).unwrap_or_else(|error| panic!("{error}\n{}{}", done.stdout, done.stderr))
}

fn fingerprints(document: &Value) -> Vec<String> {
    let places =
        document["findings"].as_array().unwrap().iter().flat_map(|finding| finding["places"].as_array().unwrap());
    places.map(|place| place["fingerprint"].as_str().unwrap().to_owned()).collect()
}

/// Validates documents, one a line, against a schema of the repository.
fn validate(schema: &str, lines: &str) {
    let script = "import json, sys, jsonschema\n\
                  schema = json.load(open(sys.argv[1]))\n\
                  kind = jsonschema.validators.validator_for(schema)\n\
                  kind.check_schema(schema)\n\
                  lines = [line for line in sys.stdin.read().splitlines() if line]\n\
                  assert lines, 'nothing to validate'\n\
                  for line in lines:\n    kind(schema).validate(json.loads(line))\n";
    let schema = Path::new(env!("CARGO_MANIFEST_DIR")).join(schema);
    let folder = tempfile::tempdir().unwrap();
    let input = folder.path().join("lines");
    fs::write(&input, lines).unwrap();
    let mut command = Command::new(tools::validator());
    command.args(["-I", "-c", script]).arg(schema).stdin(fs::File::open(&input).unwrap());
    let done = command.output().unwrap();
    assert!(done.status.success(), "{}\n{lines}", String::from_utf8_lossy(&done.stderr));
}

fn on_one_line(document: &str) -> String {
    serde_json::from_str::<Value>(document).unwrap().to_string()
}

/// What is told to another machine names no folder of this one.
fn tell(sandbox: &Sandbox, args: &[&str]) -> String {
    let done = sandbox.fix(args);
    let folder = sandbox.root().display().to_string();
    assert!(args.iter().any(|arg| arg.starts_with("json")) || !done.stdout.contains(&folder), "{}", done.stdout);
    done.stdout
}

/// Projects in all states that an audit tells: two places in a file, a tree without a file, one suppressed, nothing.
fn outputs(format: &str) -> Vec<String> {
    let mut all = Vec::new();
    let two = project();
    all.push(tell(&two, &["audit", "--format", format]));
    two.write("setup.py", SETUP.replacen("-L/opt/a\"", "-L/opt/a\"  # fix: ignore[linker-flag-given-twice]\n    ", 1));
    all.push(tell(&two, &["audit", "--format", format]));
    let moved = Sandbox::new();
    moved.write("CMakeLists.txt", "project(demo C)\n");
    let cache = "CMAKE_CACHEFILE_DIR:INTERNAL=/old/demo/a b\nCMAKE_HOME_DIRECTORY:INTERNAL=/old/demo\n\
                 CMAKE_PROJECT_NAME:STATIC=demo\nCMAKE_GENERATOR:INTERNAL=Ninja\n";
    moved.write("a b/CMakeCache.txt", cache);
    all.push(tell(&moved, &["audit", "--format", format, "--lang", "zh"]));
    all.push(Sandbox::new().fix(["audit", "--format", format]).stdout);
    all
}

#[test]
fn json_and_json_lines_keep_to_the_published_schemas() {
    let mut documents: Vec<String> = outputs("json").iter().map(|document| on_one_line(document)).collect();
    let sandbox = Sandbox::new();
    sandbox.write("build.log", "error: nobody knows this\n");
    documents.push(on_one_line(&sandbox.fix(["diagnose", "--json", "build.log"]).expect(0).stdout));
    let log = "CMake Error: Error: generator : Ninja\nDoes not match the generator used previously: Unix Makefiles\n";
    sandbox.write("build.log", log);
    let done = sandbox.fix(["diagnose", "--format", "json", "build.log"]).expect(1);
    assert_eq!(parsed(&done)["findings"][0]["id"], "cmake-generator-mismatch");
    documents.push(on_one_line(&done.stdout));
    validate("schemas/findings.schema.json", &documents.join("\n"));
    let lines = outputs("jsonl");
    let kinds = |lines: &str| -> Vec<String> {
        let parsed = lines.lines().map(|line| serde_json::from_str::<Value>(line).unwrap());
        parsed.map(|line| line["kind"].as_str().unwrap().to_owned()).collect()
    };
    assert_eq!(kinds(&lines[0]), ["finding", "summary"]);
    assert_eq!(kinds(&lines[1]), ["finding", "suppressed", "summary"]);
    assert_eq!(kinds(&lines[3]), ["summary"]);
    validate("schemas/finding-line.schema.json", &lines.concat());
}

#[test]
fn sarif_keeps_to_the_standard_and_to_what_github_asks_for() {
    let documents = outputs("sarif");
    let lines: Vec<String> = documents.iter().map(|document| on_one_line(document)).collect();
    validate("fixtures/schemas/sarif-schema-2.1.0.json", &lines.join("\n"));
    let mut results_seen = 0;
    for document in &documents {
        let sarif: Value = serde_json::from_str(document).unwrap();
        assert_eq!(sarif["version"], "2.1.0");
        let run = &sarif["runs"][0];
        let driver = &run["tool"]["driver"];
        assert!(driver["name"].is_string() && driver["semanticVersion"].is_string());
        for rule in driver["rules"].as_array().unwrap() {
            for text in
                ["/id", "/name", "/shortDescription/text", "/fullDescription/text", "/help/text", "/help/markdown"]
            {
                assert!(!rule.pointer(text).unwrap().as_str().unwrap().is_empty(), "{text} {rule}");
            }
            assert!(rule.pointer("/defaultConfiguration/level").is_some() && rule["properties"]["tags"].is_array());
        }
        for result in run["results"].as_array().unwrap() {
            results_seen += 1;
            assert!(!result["message"]["text"].as_str().unwrap().is_empty());
            let at = result["ruleIndex"].as_u64().unwrap() as usize;
            assert_eq!(driver["rules"][at]["id"], result["ruleId"]);
            assert!(result["partialFingerprints"]["primaryLocationLineHash"].is_string());
            let place = &result["locations"][0]["physicalLocation"];
            let uri = place["artifactLocation"]["uri"].as_str().unwrap();
            assert!(["setup.py", "CMakeLists.txt"].contains(&uri), "a file of the project: {uri}");
            for number in ["startLine", "startColumn", "endLine", "endColumn"] {
                assert!(place["region"][number].as_u64().unwrap() >= 1);
            }
        }
    }
    assert_eq!(results_seen, 4);
    let suppressed: Value = serde_json::from_str(&documents[1]).unwrap();
    assert_eq!(suppressed["runs"][0]["properties"]["suppressed"], 1);
    let note = &suppressed["runs"][0]["invocations"][0]["toolExecutionNotifications"][0]["message"]["text"];
    assert_eq!(note, "1 suppressed: 1 by a comment");
}

#[test]
fn gitlab_junit_and_markdown_are_well_formed() {
    let documents: Vec<String> = outputs("gitlab").iter().map(|document| on_one_line(document)).collect();
    validate("fixtures/schemas/gitlab-code-quality.json", &documents.join("\n"));
    let script = "import sys, xml.etree.ElementTree as tree\n\
                  root = tree.parse(sys.argv[1]).getroot()\n\
                  print(root.tag, *(root.get(key) for key in ('tests', 'failures', 'skipped')))\n\
                  assert len(list(root.iter('failure'))) == int(root.get('failures'))\n";
    let folder = tempfile::tempdir().unwrap();
    let counts: Vec<String> = outputs("junit")
        .iter()
        .map(|document| {
            let file = folder.path().join("junit.xml");
            fs::write(&file, document).unwrap();
            let done = Command::new("python3").args(["-I", "-c", script]).arg(&file).output().unwrap();
            assert!(done.status.success(), "{}\n{document}", String::from_utf8_lossy(&done.stderr));
            String::from_utf8(done.stdout).unwrap().trim().to_owned()
        })
        .collect();
    assert_eq!(counts, ["testsuites 2 2 0", "testsuites 2 1 1", "testsuites 1 1 0", "testsuites 1 0 0"]);
    for document in outputs("markdown") {
        assert!(document.starts_with("### fix: "), "{document}");
    }
}

#[test]
fn fingerprints_stay_when_lines_move_and_folders_are_others() {
    let one = project();
    let first = fingerprints(&parsed(&one.fix(["audit", "--json"])));
    assert_eq!(first.len(), 2);
    assert_ne!(first[0], first[1]);
    one.write("setup.py", format!("# one more line\n\n{SETUP}"));
    assert_eq!(fingerprints(&parsed(&one.fix(["audit", "--json"]))), first);
    assert_eq!(fingerprints(&parsed(&project().fix(["audit", "--json"]))), first, "in another folder");
    assert_eq!(fingerprints(&parsed(&project().fix(["audit", "--json", "--lang", "zh"]))), first);
}

#[test]
fn the_status_says_what_was_asked_for() {
    let sandbox = project();
    for (args, want) in [
        (&["audit"][..], 1),
        (&["audit", "--fail-on", "never"], 0),
        (&["audit", "--fail-on=certain"], 1),
        (&["audit", "--format", "sarif"], 0),
        (&["audit", "--format", "sarif", "--fail-on", "likely"], 1),
        (&["audit", "--select", "tda-1.9"], 0),
        (&["audit", "--select", "cmake-*", "--ignore", "cmake-linker-*"], 0),
        (&["audit", "--fail-on", "sometimes"], 2),
        (&["audit", "--select", "tda-1.99"], 2),
        (&["audit", "--json", "--format", "sarif"], 2),
        (&["audit", "no-such-folder"], 2),
    ] {
        let before = picture(&sandbox.root());
        let done = sandbox.fix(args);
        assert_eq!(done.code, want, "{args:?}\n{}{}", done.stdout, done.stderr);
        assert!(picture(&sandbox.root()) == before, "{args:?} wrote something");
    }
    sandbox.write("fix.toml", "[audit]\nfail-on = \"never\"\n");
    sandbox.fix(["audit"]).expect(0);
    sandbox.fix(["audit", "--fail-on", "certain"]).expect(1);
}

#[test]
fn a_configuration_that_is_no_file_is_a_mistake_and_not_waited_for() {
    let sandbox = Sandbox::new();
    let file = sandbox.project().join("fix.toml");
    let made = Command::new("mkfifo").arg(&file).status().unwrap();
    assert!(made.success());
    sandbox.run("timeout", ["60", env!("CARGO_BIN_EXE_fix"), "audit"]).expect(2).says("it is no regular file");
    fs::remove_file(&file).unwrap();
    fs::create_dir(&file).unwrap();
    sandbox.fix(["audit"]).expect(2).says("it is no regular file");
    fs::remove_dir(&file).unwrap();
    std::os::unix::fs::symlink("/dev/zero", &file).unwrap();
    sandbox.fix(["audit"]).expect(2).says("it is no regular file");
}

#[test]
fn a_configuration_suppresses_counts_and_tells_its_mistakes() {
    let sandbox = project();
    let suppress = "[[suppress]]\nid = \"cmake-linker-flag-twice\"\nreason = \"the second is wanted\"\n";
    sandbox.write("fix.toml", format!("{suppress}path = \"setup.py\"\n"));
    sandbox.fix(["audit"]).expect(0).says("2 suppressed: 2 by `fix.toml`");
    let document = parsed(&sandbox.fix(["audit", "--json"]));
    assert_eq!(
        (&document["outcome"], &document["suppressed"][0]["reason"]),
        (&json!("clean"), &json!("the second is wanted"))
    );
    sandbox.write("fix.toml", format!("{suppress}path = \"python/**\"\n"));
    sandbox
        .fix(["audit"])
        .expect(1)
        .says("fix.toml:2: the suppression of `cmake-linker-flag-twice` hides nothing here");
    sandbox.write("fix.toml", format!("{suppress}expires = 2020-01-31\n"));
    sandbox.fix(["audit"]).expect(1).says("was over on 2020-01-31");
    sandbox.write("fix.toml", format!("{suppress}expirs = 2020-01-31\n"));
    sandbox.fix(["audit"]).expect(2).says("fix.toml:4:1: unknown field `expirs`");
    sandbox.write("fix.toml", "[[suppress]]\nid = \"cmake-linker-flag-twice\"\n");
    sandbox.fix(["audit"]).expect(2).says("missing field `suppress[0].reason`");
}

#[test]
fn a_pull_request_cannot_suppress_its_own_findings() {
    let sandbox = project();
    let base = sandbox.run("git", ["rev-parse", "HEAD"]).stdout.trim().to_owned();
    sandbox.write("fix.toml", "[[suppress]]\nid = \"cmake-*\"\nreason = \"let me through\"\n");
    sandbox.fix(["audit"]).expect(0);
    sandbox.fix(["audit", "--config-from", &base]).expect(1);
    // The same through a pipe, and from a commit that has the file.
    let script = "git show \"$1:fix.toml\" > /dev/null 2>&1; exec \"$2\" audit --config <(echo)";
    sandbox.run("bash", ["-c", script, "bash", &base, env!("CARGO_BIN_EXE_fix")]).expect(1);
    commit(&sandbox, "second");
    sandbox.fix(["audit", "--config-from", "HEAD"]).expect(0);
    sandbox
        .fix(["audit", "--config-from", "no-such-branch"])
        .expect(2)
        .says("cannot read `fix.toml` of `no-such-branch`");
    // Comments of the pull request count only where the base says so.
    sandbox.write("fix.toml", "[audit]\ncomments = \"refuse\"\n");
    sandbox.write("setup.py", SETUP.replace("-L/opt/a\",", "-L/opt/a\",  # fix: ignore[cmake-linker-flag-twice]"));
    sandbox.fix(["audit"]).expect(1);
    sandbox.write("fix.toml", "");
    sandbox.fix(["audit"]).expect(0).says("2 suppressed: 2 by a comment");
}

#[test]
fn a_baseline_tells_only_what_is_new() {
    let sandbox = project();
    let baseline = sandbox.root().join("known.json");
    let known = baseline.to_str().unwrap();
    sandbox.fix(["audit", "--baseline", known]).expect(2).says("--write-baseline");
    sandbox.fix(["audit", "--baseline", known, "--write-baseline"]).expect(0).says("holds 2 findings");
    sandbox.fix(["audit", "--baseline", known]).expect(0).says("2 suppressed: 2 by the baseline");
    // Written again, nothing is forgotten.
    sandbox.fix(["audit", "--baseline", known, "--write-baseline"]).expect(0).says("holds 2 findings");
    sandbox.write(
        "setup.py",
        SETUP.replace(
            "]\n",
            "    \"-DCMAKE_MODULE_LINKER_FLAGS=-fuse-ld=lld\",\n    \"-DCMAKE_MODULE_LINKER_FLAGS=-L/x\",\n]\n",
        ),
    );
    let document = parsed(&sandbox.fix(["audit", "--json", "--baseline", known]).expect(1));
    assert_eq!((fingerprints(&document).len(), document["suppressed"].as_array().unwrap().len()), (1, 2));
    fs::write(&baseline, "{\"schema_version\": 7}").unwrap();
    sandbox.fix(["audit", "--baseline", known]).expect(2).says("it has the format 7");
    // A file that is none of ours is never overwritten.
    let done = sandbox.fix(["audit", "--baseline", "setup.py", "--write-baseline"]).expect(2);
    assert!(done.stderr.contains("not a baseline"), "{}", done.stderr);
}

#[test]
fn the_configuration_names_the_baseline() {
    let sandbox = project();
    sandbox.fix(["audit", "--write-baseline"]).expect(2).says("needs a file");
    sandbox.write("fix.toml", "[audit]\nbaseline = \"../known.json\"\n");
    sandbox.fix(["audit"]).expect(2).says("fix.toml:2:12: the baseline is outside of the work tree");
    sandbox.write("fix.toml", "[audit]\nbaseline = \"ci/known.json\"\n");
    sandbox.write("ci/note", "");
    commit(&sandbox, "a configuration");
    sandbox.fix(["audit"]).expect(2).says("--write-baseline");
    // A commit without the file knows nothing, whatever a pull request writes.
    sandbox.fix(["audit", "--write-baseline"]).expect(0).says("holds 2 findings");
    sandbox.fix(["audit"]).expect(0).says("2 suppressed: 2 by the baseline");
    sandbox.fix(["audit", "--config-from", "HEAD"]).expect(1);
    commit(&sandbox, "a baseline");
    sandbox.fix(["audit", "--config-from", "HEAD"]).expect(0).says("2 suppressed: 2 by the baseline");
}

/// An optimizer that is made before the model is sharded.
const TRAIN: &str = "\
import torch
from torch.distributed.fsdp import fully_shard


def main(model):
    optimizer = torch.optim.AdamW(model.parameters())
    fully_shard(model)
    return optimizer
";

#[test]
fn comments_in_python_sources_are_counted_and_can_be_refused() {
    let sandbox = Sandbox::new();
    sandbox.write("one/train.py", TRAIN);
    sandbox.write("two/train.py", TRAIN.replace("())\n", "())  # fix: ignore[hp-optimizer-memory]\n"));
    let places = |document: &Value| -> Vec<String> {
        let found = document["findings"].as_array().unwrap().iter();
        let places = found.flat_map(|finding| finding["places"].as_array().unwrap());
        places.map(|place| format!("{}:{}", place["path"].as_str().unwrap(), place["line"])).collect()
    };
    let document = parsed(&sandbox.fix(["audit", "--json"]).expect(1));
    assert_eq!(places(&document), ["one/train.py:6"]);
    assert_eq!(document["suppressed"].as_array().unwrap().len(), 1);
    sandbox.write("fix.toml", "[audit]\ncomments = \"refuse\"\n");
    let document = parsed(&sandbox.fix(["audit", "--json"]).expect(1));
    assert_eq!(places(&document), ["one/train.py:6", "two/train.py:6"]);
    // The repair leaves alone what is meant so.
    sandbox.write("fix.toml", "");
    let patch = sandbox.root().join("fix.patch");
    sandbox.fix(["audit", "--patch", patch.to_str().unwrap()]).expect(1);
    let patch = fs::read_to_string(patch).unwrap();
    assert!(patch.contains("one/train.py") && !patch.contains("two/train.py"), "{patch}");
}

#[test]
fn annotations_go_to_the_log_and_the_rest_to_the_summary() {
    let mut sandbox = project();
    let summary = sandbox.root().join("summary.md");
    fs::write(&summary, "before\n").unwrap();
    sandbox.set("GITHUB_STEP_SUMMARY", &summary);
    let done = sandbox.fix(["audit", "--format", "github"]).expect(1);
    let lines: Vec<&str> = done.stdout.lines().collect();
    assert!(
        lines[0].starts_with("::error file=setup.py,line=5,col=5,title=cmake-linker-flag-twice%3A "),
        "{}",
        done.stdout
    );
    assert_eq!((lines.len(), lines[2]), (3, "fix: known issues: 2"));
    let text = fs::read_to_string(&summary).unwrap();
    assert!(text.starts_with("before\n### fix: known issues: 2\n") && text.contains("setup.py:6"), "{text}");
    // Only a file that the runner made is added to.
    sandbox.set("GITHUB_STEP_SUMMARY", sandbox.root().join("absent.md"));
    sandbox.fix(["audit", "--format", "github"]).expect(1).says("cannot be written");
    assert!(!sandbox.root().join("absent.md").exists());
}

/// A build tree beside its sources, with a stale LLVM in its cache: the repair is an edit of one file.
fn stale_in_source() -> Sandbox {
    let sandbox = Sandbox::new();
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("fixtures/tda-1.9/stale-in-source");
    build_fix::cli::fixture::Fixture::read(&folder).unwrap().unpack(&sandbox.project()).unwrap();
    sandbox
}

#[test]
fn a_patch_and_the_fixes_of_sarif_are_the_repair() {
    let sandbox = stale_in_source();
    let patch = sandbox.root().join("audit.patch");
    let cache = sandbox.project().join("CMakeCache.txt");
    let before = fs::read_to_string(&cache).unwrap();
    let done = sandbox.fix(["audit", "--diff", "--patch", patch.to_str().unwrap()]).expect(1);
    assert!(done.stdout.contains("-LLVM_DIR:"), "{}", done.stdout);
    let sarif = parsed(&sandbox.fix(["audit", "--format", "sarif"]));
    assert_eq!(fs::read_to_string(&cache).unwrap(), before, "an audit writes nothing");
    sandbox.run("git", ["init", "-q"]).expect(0);
    sandbox.run("git", ["apply", patch.to_str().unwrap()]).expect(0);
    let after = fs::read_to_string(&cache).unwrap();
    assert_ne!(after, before);
    let change = &sarif["runs"][0]["results"][0]["fixes"][0]["artifactChanges"][0];
    assert_eq!(change["artifactLocation"]["uri"], "CMakeCache.txt");
    let replacement = &change["replacements"][0];
    let at = |which: &str| -> usize {
        let region = &replacement["deletedRegion"];
        let line = region[format!("{which}Line")].as_u64().unwrap() as usize;
        assert_eq!(region[format!("{which}Column")], 1);
        before.split_inclusive('\n').take(line - 1).map(str::len).sum()
    };
    let text = replacement["insertedContent"]["text"].as_str().unwrap();
    assert_eq!(format!("{}{text}{}", &before[..at("start")], &before[at("end")..]), after);
    // What it found is gone.
    sandbox.fix(["audit"]).expect(0);
}

#[test]
fn each_of_several_trees_has_its_own_finding_and_its_own_repair() {
    let sandbox = Sandbox::new();
    sandbox.write("CMakeLists.txt", "project(demo C)\n");
    let tools = "CMAKE_AR:FILEPATH=/gone/llvm-ar\nCMAKE_RANLIB:FILEPATH=/gone/llvm-ranlib\n";
    for tree in ["build-a", "build-b", "build-c"] {
        let root = sandbox.project();
        let cache = format!(
            "CMAKE_CACHEFILE_DIR:INTERNAL={0}/{tree}\nCMAKE_HOME_DIRECTORY:INTERNAL={0}\nCMAKE_GENERATOR:INTERNAL=Ninja\n{1}",
            root.display(),
            if tree == "build-c" { "" } else { tools }
        );
        sandbox.write(&format!("{tree}/CMakeCache.txt"), cache);
    }
    let document = parsed(&sandbox.fix(["audit", "--json"]).expect(1));
    let findings = document["findings"].as_array().unwrap();
    let trees: Vec<&str> = findings.iter().map(|finding| finding["changes"][0]["path"].as_str().unwrap()).collect();
    assert_eq!(trees, ["build-a", "build-b"]);
    let prints = fingerprints(&document);
    assert_ne!(prints[0], prints[1]);
    let done = sandbox.fix(["audit"]).expect(1);
    assert!(done.stdout.contains("`fix tda-1.10 --set 'build_dir=build-b'`"), "{}", done.stdout);
    sandbox.fix(["tda-1.10", "--set", "build_dir=build-b", "--yes"]).expect(0);
    let document = parsed(&sandbox.fix(["audit", "--json"]).expect(1));
    assert_eq!(fingerprints(&document), prints[..1]);
}
