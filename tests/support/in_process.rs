//! Diagnosis of a log by all recipes within the test's own process.

use std::collections::{BTreeMap, BTreeSet};

use build_fix::cli::vocabulary::vocabulary;
use build_fix::diagnosis::{Evidence, Origin, PatternOwner, candidates, examine, rank};
use build_fix::evidence::log::{LogScan, Pattern, Scanner};
use build_fix::evidence::{GitState, LocalHost};
use build_fix::os::AbsPath;
use build_fix::recipe::catalogue::Catalogue;
use build_fix::recipe::{Recipe, Role, Values};

use super::labelled::root;

/// All recipes, in this process: a thousand logs are too many for a process each.
pub struct Diagnosis {
    recipes: BTreeMap<String, Recipe>,
    scanner: Scanner,
    owners: Vec<PatternOwner>,
    required: BTreeMap<String, Vec<usize>>,
    host: LocalHost,
}

struct NoGit;

impl GitState for NoGit {
    fn top_level(&self) -> Option<&AbsPath> {
        None
    }

    fn tracks(&self, _: &AbsPath) -> bool {
        false
    }
}

impl Diagnosis {
    pub fn new() -> Self {
        let catalogue = Catalogue::embedded();
        let mut required: BTreeMap<String, Vec<usize>> = BTreeMap::new();
        let (mut patterns, mut owners) = (Vec::new(), Vec::new());
        for pattern in catalogue.patterns() {
            let recipe = pattern.entry.id.to_string();
            if pattern.role == Role::Required {
                let signatures = required.entry(recipe.clone()).or_default();
                if !signatures.contains(&pattern.signature) {
                    signatures.push(pattern.signature);
                }
            }
            patterns.push(Pattern {
                regex: pattern.regex.to_owned(),
                anchors: pattern.anchors.iter().map(ToString::to_string).collect(),
                lines: pattern.lines.max(1),
            });
            let (signature, role, lines, side) = (pattern.signature, pattern.role, pattern.lines, pattern.side);
            owners.push(PatternOwner { recipe, signature, role, lines, side });
        }
        let host = LocalHost::new(AbsPath::new(root()).unwrap(), [], Box::new(NoGit));
        let vocabulary = vocabulary();
        let recipes =
            catalogue.entries().iter().map(|entry| (entry.id.to_string(), entry.recipe(&vocabulary).unwrap()));
        Self { recipes: recipes.collect(), scanner: Scanner::new(patterns), owners, required, host }
    }

    /// The recipes whose findings a finding of this one explains.
    pub fn masked_by(&self, recipe: &str) -> &[String] {
        self.recipes.get(recipe).map_or(&[], |recipe| &recipe.masks)
    }

    /// The recipes of which a log holds anything at all: also what would take a failure back, or add to one.
    pub fn touched_by(&self, log: &[u8]) -> BTreeSet<String> {
        let scan = self.scanner.scan("log", log).unwrap();
        scan.totals.keys().map(|pattern| self.owners[*pattern].recipe.clone()).collect()
    }

    /// What `fix diagnose --log-only --json` says of a log, as far as labels go, and whether each of its
    /// lines says it alone.
    pub fn of(&self, log: &[u8]) -> Vec<serde_json::Value> {
        let logs = [self.scanner.scan("log", log).unwrap()];
        let findings = self.findings(&logs);
        findings
            .into_iter()
            .map(|finding| {
                let params = finding.params();
                let params: BTreeMap<_, _> = params.iter().map(|(name, value)| (name, value.to_list())).collect();
                let one_line = finding.evidence.iter().all(|lines| lines.first_line == lines.last_line);
                serde_json::json!({ "id": finding.recipe.id, "params": params, "one_line": one_line })
            })
            .collect()
    }

    fn findings(&self, logs: &[LogScan]) -> Vec<build_fix::diagnosis::Finding> {
        let set = Values::new();
        let evidence = Evidence {
            logs,
            patterns: &self.owners,
            host: &self.host,
            origin: Origin::Elsewhere,
            command: None,
            set: &set,
        };
        let found = candidates(logs, &self.owners, &self.required);
        rank(found.iter().filter_map(|id| examine(&self.recipes[id], &evidence)).collect())
    }
}
