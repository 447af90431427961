//! The laws, over every fixture and every recipe.
//!
//! diff = golden · a dry run writes nothing · the patch gives what the repair gives · applying twice changes nothing ·
//! rollback restores everything · every recipe on every log · a crash at any step leaves the old or the new state.
//! A new recipe, verb or fixture enters them by existing. `FIX_BLESS=1` rewrites the golden plans.

mod support;

use std::fs;
use std::path::{Path, PathBuf};

use build_fix::cli::fixture::{Fixture, with_root};
use build_fix::recipe::catalogue::Catalogue;
use build_fix::recipe::{Value, Values};
use support::{Done, Picture, Sandbox, differences, picture};

fn fixtures() -> Vec<Fixture> {
    let all = Fixture::all(&Path::new(env!("CARGO_MANIFEST_DIR")).join("fixtures")).unwrap();
    let recipes: Vec<String> = fs::read_dir(Path::new(env!("CARGO_MANIFEST_DIR")).join("recipes"))
        .unwrap()
        .filter_map(|entry| Some(entry.unwrap().file_name().to_str()?.strip_suffix(".toml")?.to_owned()))
        .collect();
    all.into_iter().filter(|fixture| recipes.contains(&fixture.id)).collect()
}

/// A fixture, unpacked.
struct Case {
    fixture: Fixture,
    sandbox: Sandbox,
    log: Option<PathBuf>,
}

impl Case {
    fn new(fixture: &Fixture) -> Self {
        let mut sandbox = Sandbox::new();
        let root = sandbox.project();
        let log = fixture.unpack(&root).unwrap();
        let log = log.map(|bytes| {
            // Beside the project, so that the repair's own tree is looked at alone.
            let path = sandbox.root().join("log.txt");
            fs::write(&path, bytes).unwrap();
            path
        });
        for (name, value) in &fixture.env {
            sandbox.set(name, String::from_utf8(with_root(value.as_bytes(), &root)).unwrap());
        }
        // The width of the text must not depend on the length of the sandbox's name.
        sandbox.set("COLUMNS", "100000");
        if fixture.git {
            for args in [vec!["init", "-q"], vec!["add", "."], vec!["commit", "-q", "-m", "all"]] {
                let identity = ["-c", "user.name=a", "-c", "user.email=a@b"];
                sandbox.run("git", identity.iter().chain(args.iter())).expect(0);
            }
        }
        Self { fixture: fixture.clone(), sandbox, log }
    }

    /// `fix ISSUE` with the fixture's log, values and flags. Without a command the static checks are the proof.
    fn fix(&self, flags: &[&str]) -> Done {
        let mut args: Vec<String> = vec![self.fixture.id.clone(), "--color=never".into()];
        if let Some(log) = &self.log {
            args.extend(["--log".into(), log.display().to_string()]);
        }
        args.extend(self.fixture.set.iter().map(|set| format!("--set={set}")));
        args.extend(flags.iter().map(ToString::to_string));
        self.sandbox.fix(&args)
    }

    /// The tree, HOME and the state folder.
    fn pictures(&self) -> [Picture; 3] {
        [picture(&self.sandbox.project()), picture(&self.sandbox.home()), picture(&self.sandbox.state())]
    }

    fn name(&self) -> String {
        format!("{}/{}", self.fixture.id, self.fixture.name)
    }

    /// What a text says of this run's own folder, made equal for all runs. Sizes count the folder's own name.
    fn neutral(&self, text: &str) -> String {
        let text = text.replace(&self.sandbox.root().display().to_string(), "@SANDBOX@");
        let text = regex::Regex::new(r"[\d.,]+ (B|kB|MB)\b").unwrap().replace_all(&text, "@SIZE@").into_owned();
        // Which compilers are installed here is this machine's affair.
        text.split_inclusive('\n').filter(|line| !line.contains("/usr/lib/llvm-")).collect()
    }
}

/// The cases whose repair changes something here.
fn repairable() -> Vec<Case> {
    let mut all = Vec::new();
    for fixture in fixtures() {
        if !fixture.folder.join("before").is_dir() || fixture.is_look_alike() {
            continue;
        }
        let case = Case::new(&fixture);
        let planned = case.fix(&["-n", "--json"]);
        let document: serde_json::Value = serde_json::from_str(&planned.stdout)
            .unwrap_or_else(|error| panic!("{}: {error}\n{}{}", case.name(), planned.stdout, planned.stderr));
        if document["outcome"] == "would_change" {
            all.push(case);
        }
    }
    assert!(all.len() >= 10, "only {} fixtures have a repair", all.len());
    all
}

#[track_caller]
fn same(case: &Case, what: &str, before: &Picture, after: &Picture) {
    let found = differences(before, after);
    assert!(found.is_empty(), "{}: {what}:\n  {}", case.name(), found.join("\n  "));
}

#[test]
fn an_audit_finds_what_is_there_and_nothing_else() {
    let unfilled = regex::Regex::new("(^|[ `])<[a-z_]+>").unwrap();
    let mut found_some = 0;
    let mut others: Vec<String> = Vec::new();
    for fixture in fixtures().into_iter().filter(|fixture| fixture.folder.join("before").is_dir()) {
        let case = Case::new(&fixture);
        let before = case.pictures();
        let done = case.sandbox.fix(["audit", "--json"]);
        let document: serde_json::Value = serde_json::from_str(&done.stdout)
            .unwrap_or_else(|error| panic!("{}: {error}\n{}{}", case.name(), done.stdout, done.stderr));
        let findings = document["findings"].as_array().unwrap();
        let ids: Vec<&str> = findings.iter().map(|finding| finding["id"].as_str().unwrap()).collect();
        if ids != fixture.audit {
            others.push(format!("{}: {ids:?} instead of {:?}", case.name(), fixture.audit));
        }
        assert_eq!(done.code, i32::from(!ids.is_empty()), "{}", case.name());
        for text in findings.iter().flat_map(|finding| [&finding["cause"], &finding["remedy"]]) {
            let text = text.as_str().unwrap().replace("<folder>", "");
            assert!(!unfilled.is_match(&text), "{}: {text}", case.name());
        }
        for (what, (before, after)) in ["project", "home", "state"].iter().zip(before.iter().zip(&case.pictures())) {
            same(&case, &format!("an audit changed the {what}"), before, after);
        }
        found_some += usize::from(!ids.is_empty());
    }
    assert!(others.is_empty(), "{}", others.join("\n"));
    assert!(found_some >= 10, "audits find something in {found_some} fixtures only");
}

#[test]
fn every_recipe_on_every_log() {
    let sandbox = Sandbox::new();
    let root = Path::new(env!("CARGO_MANIFEST_DIR"));
    let done = sandbox.fix([
        "recipe",
        "test",
        "--recipes",
        root.join("recipes").to_str().unwrap(),
        "--fixtures",
        root.join("fixtures").to_str().unwrap(),
    ]);
    done.expect(0).says(" passed, 0 failed");
}

/// What has no value on a machine is left out of what is said, never shown by its name.
#[test]
fn no_variable_is_ever_shown_by_its_name() {
    let mut texts = 0;
    for entry in Catalogue::embedded().entries() {
        let recipe = entry.checked_recipe().unwrap();
        let file = Path::new(env!("CARGO_MANIFEST_DIR")).join(format!("recipes/{}.toml", recipe.id));
        let written = fs::read_to_string(file).unwrap();
        for case in &recipe.cases {
            for text in std::iter::once(&case.says).chain(&case.advice) {
                let names: Vec<String> = text.en.variables().chain(text.zh.variables()).map(str::to_owned).collect();
                // Nothing has a value, then all but one.
                let none = std::iter::once(Values::new());
                let all_but_one = names.iter().map(|lacking| {
                    let others = names.iter().filter(|name| *name != lacking);
                    others.map(|name| (name.clone(), Value::from("value"))).collect::<Values>()
                });
                for values in none.chain(all_but_one) {
                    let Some(said) = text.fill(&values) else { continue };
                    for (name, said) in names.iter().flat_map(|name| [(name, &said.en), (name, &said.zh)]) {
                        let shown = format!("<{}>", name.rsplit('.').next().unwrap());
                        // The words that a user is to replace stand in the recipe as they are.
                        let is_meant = written.contains(&shown);
                        assert!(is_meant || !said.contains(&shown), "{}/{}: {said}", recipe.id, case.name);
                        let is_whole = said.matches('`').count().is_multiple_of(2) && !said.contains('\u{0}');
                        assert!(is_whole && !said.contains("``"), "{}/{}: {said}", recipe.id, case.name);
                    }
                    texts += 1;
                }
            }
        }
    }
    assert!(texts > 500, "{texts}");
}

#[test]
fn every_recipe_has_a_firing_case_and_a_look_alike() {
    let all = fixtures();
    for entry in fs::read_dir(Path::new(env!("CARGO_MANIFEST_DIR")).join("recipes")).unwrap() {
        let name = entry.unwrap().file_name().into_string().unwrap();
        let Some(id) = name.strip_suffix(".toml") else { continue };
        // What no log tells of is only shown.
        let text = fs::read_to_string(Path::new(env!("CARGO_MANIFEST_DIR")).join("recipes").join(&name)).unwrap();
        if !text.contains("[[signature]]") {
            continue;
        }
        let own: Vec<&Fixture> = all.iter().filter(|fixture| fixture.id == id).collect();
        assert!(own.iter().any(|fixture| !fixture.is_look_alike()), "{id} has no fixture that fires");
        assert!(own.iter().any(|fixture| fixture.is_look_alike()), "{id} has no look-alike");
    }
}

#[test]
fn the_plan_is_as_written_down() {
    let bless = std::env::var_os("FIX_BLESS").is_some();
    for case in repairable() {
        let shown = case.neutral(&case.fix(&["-n"]).stdout);
        let golden = case.fixture.folder.join("plan.diff");
        if bless {
            fs::write(&golden, &shown).unwrap();
            continue;
        }
        let want = fs::read_to_string(&golden)
            .unwrap_or_else(|_| panic!("{}: no plan.diff; FIX_BLESS=1 writes it", case.name()));
        assert_eq!(shown, want, "{}: FIX_BLESS=1 rewrites it", case.name());
    }
}

#[test]
fn a_dry_run_writes_nothing() {
    for case in repairable() {
        let before = case.pictures();
        case.fix(&["-n"]).expect(1);
        case.fix(&["-n", "--yes=confirm", "--json"]).expect(1);
        for (before, after) in before.iter().zip(&case.pictures()) {
            same(&case, "a dry run changed something", before, after);
        }
    }
}

#[test]
fn applying_repairs_once_and_rolling_back_restores() {
    let mut kinds = std::collections::BTreeSet::new();
    for case in repairable() {
        let before = case.pictures();
        let done = case.fix(&["--yes=confirm", "--json"]);
        let document: serde_json::Value = serde_json::from_str(&done.stdout).unwrap();
        assert_eq!(document["outcome"], "repaired", "{}: {}{}", case.name(), done.stdout, done.stderr);
        for change in document["repairs"][0]["changes"].as_array().unwrap() {
            kinds.insert(change["kind"].as_str().unwrap().to_owned());
        }
        let repaired = case.pictures();
        let changes_files = document["group"].is_string();
        assert_eq!(changes_files, !differences(&before[0], &repaired[0]).is_empty(), "{}", case.name());
        if !changes_files {
            continue;
        }
        same(&case, "HOME was touched", &before[1], &repaired[1]);
        // Again: whatever it says now, nothing changes.
        case.fix(&["--yes=confirm"]);
        same(&case, "applying twice", &repaired[0], &picture(&case.sandbox.project()));
        case.sandbox.fix(["rollback", "--yes"]).expect(0);
        let back = case.pictures();
        let without_times = |picture: &Picture| {
            let mut picture = picture.clone();
            // A restored input whose dependents stay new gets the present time, so that make and ninja notice.
            picture.values_mut().for_each(|entry| entry.modified = 0);
            picture
        };
        same(&case, "rollback", &without_times(&before[0]), &without_times(&back[0]));
        same(&case, "rollback touched HOME", &before[1], &back[1]);
        let trees = document["repairs"][0]["changes"].as_array().unwrap();
        if trees.iter().all(|change| change["kind"] == "remove-tree" || change["kind"] == "environment") {
            same(&case, "times of a restored tree", &before[0], &back[0]);
        }
    }
    assert!(kinds.contains("write-file") && kinds.contains("remove-tree"), "{kinds:?}");
}

#[test]
fn the_patch_gives_what_the_repair_gives() {
    let mut carried = 0;
    for case in repairable() {
        let patch = case.sandbox.root().join("repair.patch");
        case.fix(&["-n", "--patch", patch.to_str().unwrap()]);
        let Ok(bytes) = fs::read(&patch) else { continue };
        if bytes.is_empty() {
            continue;
        }
        carried += 1;
        let other = Case::new(&case.fixture);
        // The other sandbox has another root: the patch is made again there.
        let patch = other.sandbox.root().join("repair.patch");
        other.fix(&["-n", "--patch", patch.to_str().unwrap()]);
        let names: Vec<PathBuf> = fs::read_to_string(&patch)
            .unwrap()
            .lines()
            .filter_map(|line| line.strip_prefix("+++ b/").or_else(|| line.strip_prefix("--- a/")))
            .map(|name| PathBuf::from(name.trim_end_matches('\t')))
            .collect();
        other.sandbox.run("git", ["apply", patch.to_str().unwrap()]).expect(0);
        let by_patch = picture(&other.sandbox.project());
        // Repaired at the same place, so that paths in the files agree.
        let repaired = Case::new(&other.fixture);
        repaired.fix(&["--yes=confirm"]).expect(0);
        let by_repair = picture(&repaired.sandbox.project());
        for name in names {
            let content = |picture: &Picture, case: &Case| {
                picture.get(&name).map(|entry| case.neutral(&String::from_utf8_lossy(&entry.content)))
            };
            assert_eq!(
                content(&by_patch, &other),
                content(&by_repair, &repaired),
                "{}: {}",
                case.name(),
                name.display()
            );
        }
    }
    assert!(carried >= 2, "only {carried} patches");
}

#[test]
fn a_look_alike_is_left_alone() {
    for fixture in fixtures().into_iter().filter(Fixture::is_look_alike) {
        let case = Case::new(&fixture);
        let before = case.pictures();
        let done = case.fix(&["--yes=confirm"]);
        assert!(done.code <= 1, "{}: {}{}", case.name(), done.stdout, done.stderr);
        for (before, after) in before.iter().zip(&case.pictures()) {
            same(&case, "a look-alike was repaired", before, after);
        }
    }
}

#[test]
#[cfg(debug_assertions)]
fn a_crash_at_any_step_leaves_the_old_or_the_new_state() {
    let mut schedules = 0;
    for fixture in one_of_each_kind() {
        for step in 0.. {
            let mut case = Case::new(&fixture);
            let before = case.pictures();
            case.sandbox.set("FIX_CRASH_AT", step.to_string());
            let died = case.fix(&["--yes=confirm"]);
            case.sandbox.unset("FIX_CRASH_AT");
            let whole = died.code <= 2;
            schedules += 1;
            if whole {
                assert_eq!(died.code, 0, "{}: {}{}", case.name(), died.stdout, died.stderr);
                break;
            }
            // The next writing command recovers first, whatever it is itself about; here it finds nothing to do.
            case.sandbox.fix(["rollback", "--yes"]);
            let after = case.pictures();
            let found = differences(&without_time(&before[0]), &without_time(&after[0]));
            assert!(found.is_empty(), "{}: killed at step {step}: {}", case.name(), found.join("\n  "));
            same(&case, "HOME after a crash", &before[1], &after[1]);
            assert!(step < 400, "{}: no end of steps", case.name());
        }
    }
    assert!(schedules > 40, "only {schedules} schedules");
}

/// One repairable fixture for every set of changes, so that the schedules stay few.
#[cfg(debug_assertions)]
fn one_of_each_kind() -> Vec<Fixture> {
    let mut seen = std::collections::BTreeSet::new();
    let mut all = Vec::new();
    for case in repairable() {
        let planned = case.fix(&["-n", "--json"]);
        let document: serde_json::Value = serde_json::from_str(&planned.stdout).unwrap();
        let kinds: Vec<String> = document["repairs"][0]["changes"]
            .as_array()
            .unwrap()
            .iter()
            .map(|change| change["kind"].to_string())
            .filter(|kind| !kind.contains("environment"))
            .collect();
        if !kinds.is_empty() && seen.insert(kinds) {
            all.push(case.fixture.clone());
        }
    }
    all
}

#[cfg(debug_assertions)]
fn without_time(picture: &Picture) -> Picture {
    let mut picture = picture.clone();
    picture.values_mut().for_each(|entry| entry.modified = 0);
    picture
}
