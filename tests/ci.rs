//! The snippets of `ci/`, run step by step as a runner does, and `fix run` inside CI.

mod support;

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use serde_json::Value;
use support::{Done, Sandbox, tools};

const DROPPED: &str =
    "cmake_args = [\n    \"-DCMAKE_EXE_LINKER_FLAGS=-fuse-ld=lld\",\n    \"-DCMAKE_EXE_LINKER_FLAGS=-L/x\",\n]\n";

/// Reads a YAML file of the repository.
fn yaml(name: &str) -> Value {
    let script = "import json, sys, yaml\nprint(json.dumps(yaml.safe_load(open(sys.argv[1])), default=str))";
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join(name);
    let done = Command::new(tools::validator()).args(["-I", "-c", script]).arg(path).output().unwrap();
    assert!(done.status.success(), "{}", String::from_utf8_lossy(&done.stderr));
    serde_json::from_slice(&done.stdout).unwrap()
}

/// A project under git with a finding, and `fix` on PATH.
fn project() -> Sandbox {
    let mut sandbox = Sandbox::new();
    sandbox.prepend_path(Path::new(env!("CARGO_BIN_EXE_fix")).parent().unwrap());
    sandbox.write("setup.py", DROPPED);
    let identity = ["-c", "user.name=a", "-c", "user.email=a@b"];
    for args in [vec!["init", "-q"], vec!["add", "."], vec!["commit", "-q", "-m", "all"]] {
        sandbox.run("git", identity.iter().chain(args.iter())).expect(0);
    }
    sandbox
}

/// What GitHub's runner sets for each step.
fn github(sandbox: &mut Sandbox) -> (PathBuf, PathBuf) {
    let files = (sandbox.root().join("summary.md"), sandbox.root().join("output"));
    for (name, file) in [("GITHUB_STEP_SUMMARY", &files.0), ("GITHUB_OUTPUT", &files.1)] {
        fs::write(file, "").unwrap();
        sandbox.set(name, file);
    }
    sandbox.set("GITHUB_ACTIONS", "true");
    sandbox.set("CI", "true");
    files
}

/// Runs the steps of the composite action with inputs, as the runner does: expressions in `env`, bash with its flags.
fn act(sandbox: &mut Sandbox, inputs: &[(&str, &str)]) -> Done {
    let action = yaml("ci/github/action.yml");
    let [step] = action["runs"]["steps"].as_array().unwrap().as_slice() else { panic!("one step") };
    assert_eq!(step["shell"], "bash");
    let script = step["run"].as_str().unwrap();
    assert!(!script.contains("${{"), "an expression in a script could be code");
    for (name, value) in step["env"].as_object().unwrap() {
        let expression = value.as_str().unwrap();
        let input = expression.strip_prefix("${{ inputs.").unwrap().strip_suffix(" }}").unwrap();
        let given = inputs.iter().find(|(name, _)| *name == input).map(|(_, value)| *value);
        let value = given.unwrap_or_else(|| action["inputs"][input]["default"].as_str().unwrap());
        sandbox.set(name, value);
    }
    let file = sandbox.root().join("step.sh");
    fs::write(&file, script).unwrap();
    sandbox.run("bash", ["--noprofile", "--norc", "-e", "-o", "pipefail", file.to_str().unwrap()])
}

#[test]
fn the_github_action_annotates_and_leaves_a_sarif_file() {
    let mut sandbox = project();
    let (summary, output) = github(&mut sandbox);
    let done = act(&mut sandbox, &[]).expect(1);
    assert!(done.stdout.starts_with("::error file=setup.py,line=3,"), "{}", done.stdout);
    assert_eq!(fs::read_to_string(&output).unwrap(), "sarif=fix.sarif\n");
    let sarif: Value = serde_json::from_slice(&fs::read(sandbox.project().join("fix.sarif")).unwrap()).unwrap();
    assert_eq!(sarif["runs"][0]["results"][0]["ruleId"], "cmake-linker-flag-twice");
    assert!(fs::read_to_string(&summary).unwrap().contains("setup.py:3"));
    // What a pull request writes about itself does not count.
    sandbox.write("fix.toml", "[[suppress]]\nid = \"cmake-*\"\nreason = \"mine\"\n");
    act(&mut sandbox, &[]).expect(0);
    act(&mut sandbox, &[("config-from", "HEAD")]).expect(1);
    act(&mut sandbox, &[("config-from", "HEAD"), ("fail-on", "never")]).expect(0);
    let injected = "; touch injected #";
    act(&mut sandbox, &[("directory", injected)]).expect(2);
    assert!(!sandbox.project().join("injected").exists());
    assert!(yaml("ci/github/workflow.yml")["jobs"]["audit"]["steps"].is_array());
}

#[test]
fn the_gitlab_jobs_leave_their_reports() {
    let mut sandbox = project();
    sandbox.set("GITLAB_CI", "true");
    let job = &yaml("ci/gitlab.yml")["fix-audit"];
    let script: Vec<&str> = job["script"].as_array().unwrap().iter().map(|line| line.as_str().unwrap()).collect();
    let run = |sandbox: &mut Sandbox, base: &str| {
        sandbox.set("CI_MERGE_REQUEST_DIFF_BASE_SHA", base);
        for (name, value) in job["variables"].as_object().unwrap() {
            let value = value.as_str().unwrap().replace("${CI_MERGE_REQUEST_DIFF_BASE_SHA}", base);
            sandbox.set(name, value);
        }
        sandbox.run("bash", ["-e", "-o", "pipefail", "-c", &script.join("\n")])
    };
    for base in ["", "HEAD"] {
        run(&mut sandbox, base).expect(1);
        for report in ["codequality", "junit"] {
            let file = sandbox.project().join(job["artifacts"]["reports"][report].as_str().unwrap());
            assert!(fs::read_to_string(&file).unwrap().contains("cmake-linker-flag-twice"), "{report}");
            fs::remove_file(file).unwrap();
        }
    }
}

#[test]
fn the_hook_of_pre_commit_fails_on_what_is_certain() {
    let sandbox = project();
    let hooks = yaml(".pre-commit-hooks.yaml");
    let hook = &hooks[0];
    assert_eq!((&hook["language"], &hook["pass_filenames"]), (&"system".into(), &false.into()));
    let words = shell_words::split(hook["entry"].as_str().unwrap()).unwrap();
    sandbox.run(&words[0], &words[1..]).expect(1);
    sandbox.write("setup.py", DROPPED.replace("-L/x", "-fuse-ld=lld -L/x"));
    sandbox.run(&words[0], &words[1..]).expect(0);
}

/// A build that fails in a known way, and prints what would be commands of the runner.
const BUILD: &str = "printf '::add-path::/evil\\n'; printf 'ghp_0123456789abcdefghijklmnopqrstuvwxyz\\n'; \
    printf 'CMake Error: Error: generator : Ninja\\nDoes not match the generator used previously: Unix Makefiles\\n' >&2; \
    printf 'no end of line' >&2; exit 3";

#[test]
fn what_a_build_prints_is_no_command_of_the_runner() {
    let mut sandbox = project();
    let (summary, _) = github(&mut sandbox);
    // As the runner does: one log of both streams.
    let script = "exec fix run -- bash -c \"$1\" 2>&1";
    let done = sandbox.run("bash", ["-c", script, "bash", BUILD]).expect(3);
    let mut stopped: Option<String> = None;
    let mut obeyed = Vec::new();
    for line in done.stdout.lines().map(str::trim_start) {
        match (&stopped, line.strip_prefix("::stop-commands::")) {
            (None, Some(token)) => {
                assert!(token.len() == 32 && token.bytes().all(|byte| byte.is_ascii_hexdigit()));
                stopped = Some(token.to_owned());
            }
            (Some(token), _) if line == format!("::{token}::") => stopped = None,
            (None, None) if line.starts_with("::") => obeyed.push(line.to_owned()),
            (Some(_) | None, _) => {}
        }
    }
    assert_eq!(stopped, None, "the fence is taken down at the end");
    assert!(obeyed.iter().all(|line| !line.contains("evil")), "{obeyed:?}");
    assert!(obeyed.iter().any(|line| line.contains("title=cmake-generator-mismatch%3A")), "{}", done.stdout);
    assert!(fs::read_to_string(&summary).unwrap().contains("cmake-generator-mismatch"));
    // Standard output is the command's alone, byte for byte.
    let done = sandbox.fix(["run", "--", "bash", "-c", "printf 'a\\nb'"]).expect(0);
    assert_eq!(done.stdout, "a\nb");
    let done = sandbox.fix(["run", "--workflow-commands=allow", "--", "bash", "-c", "printf '::x::\\n'"]).expect(0);
    assert!(!done.stderr.contains("stop-commands"), "{}", done.stderr);
}

#[test]
fn a_report_folder_holds_log_diagnosis_and_result_without_secrets() {
    let sandbox = project();
    let dir = sandbox.project().join("fix-report");
    sandbox.fix(["run", "--report-dir", "fix-report", "--", "bash", "-c", BUILD]).expect(3);
    let read = |name: &str| fs::read_to_string(dir.join(name)).unwrap();
    let log = read("run-1.log");
    assert!(log.contains("::add-path::/evil") && !log.contains("ghp_"), "{log}");
    let diagnosis: Value = serde_json::from_str(&read("diagnosis.json")).unwrap();
    assert_eq!(diagnosis["findings"][0]["id"], "cmake-generator-mismatch");
    let result: Value = serde_json::from_str(&read("result.json")).unwrap();
    assert_eq!((&result["outcome"], &result["exit_code"]), (&"still_failing".into(), &3.into()));
    // Again into the same folder; never into somebody else's.
    sandbox.fix(["run", "--report-dir", "fix-report", "--", "true"]).expect(0);
    let result: Value = serde_json::from_str(&read("result.json")).unwrap();
    assert_eq!(result["outcome"], "passed");
    assert_eq!(read("run-1.log"), "", "nothing of the earlier run is left");
    let done = sandbox.fix(["run", "--report-dir", ".", "--", "touch", "ran"]).expect(125);
    assert!(done.stderr.contains("is not empty") && !sandbox.project().join("ran").exists());
}
