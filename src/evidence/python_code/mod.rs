//! Checks of Python sources: what a training script does that is known to go wrong.
//!
//! Sources are parsed, never run. A rule says something only where the code itself shows it; what may come from
//! elsewhere (another file, the command line, a branch) is no finding, or a less sure one. Reading is bounded in
//! size, depth, number of files and steps of the parser. A finding may carry byte edits; they count only when the
//! edited file was read again and the rule has nothing left to say about it.

mod files;
mod installed;
mod names;
mod project;
mod read;
mod rules;
mod source;
mod tree;

use std::collections::BTreeSet;

use crate::os::AbsPath;
use crate::recipe::Text;
use names::Unit;
use source::Source;
use tree::Expr;

pub use project::{check_project, project_facts};
pub use read::Unread;
pub use source::LARGEST;

/// Lists the names of all rules: the ids of the recipes that they serve.
pub fn rule_names() -> impl Iterator<Item = &'static str> {
    rules::ALL.iter().map(|rule| rule.id)
}

/// Finds a rule.
pub fn rule(id: &str) -> Option<&'static Rule> {
    rules::ALL.iter().find(|rule| rule.id == id)
}

/// One check, or several that belong to one issue.
pub struct Rule {
    /// The recipe's id; `# fix: ignore[id]` names it.
    pub id: &'static str,
    /// A file without any of these words is not parsed.
    words: &'static [&'static str],
    check: fn(&Look<'_>) -> Vec<Found>,
}

/// What a rule looks at.
struct Look<'f> {
    unit: &'f Unit<'f>,
    facts: &'f Facts,
}

/// What is known beside a file.
#[derive(Debug, Clone, Default)]
pub struct Facts {
    /// Those of [`rules::PROJECT_WORDS`] that some file of the project holds.
    words: BTreeSet<&'static str>,
    /// Environment variables that are set.
    environment: BTreeSet<String>,
    /// `HYPER_PARALLEL_PLATFORM`.
    platform: Option<String>,
    /// The version of hyper_parallel in the active Python environment.
    installed: Option<String>,
}

/// How sure a finding is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Sure {
    /// The pattern is there; whether it goes wrong depends on what is not known here.
    Open,
    Likely,
    Certain,
}

/// What a rule finds.
#[derive(Debug, Clone, PartialEq)]
pub struct Found {
    /// Where in the file, in bytes.
    at: usize,
    pub sure: Sure,
    pub says: Text,
    /// Makes it right; empty where a person has to.
    edits: Vec<Edit>,
    pub line: usize,
    pub column: usize,
}

/// Replaces a range of bytes; an empty range inserts.
#[derive(Debug, Clone, PartialEq, Eq)]
struct Edit {
    range: std::ops::Range<usize>,
    text: String,
}

/// What a rule says about one file.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Checked {
    /// In the order of the file.
    pub found: Vec<Found>,
    /// Findings that a comment silences, in the order of the file.
    pub ignored: Vec<Found>,
}

/// What a rule says about a project.
#[derive(Debug, Clone, Default)]
pub struct Report {
    pub found: Vec<(AbsPath, Found)>,
    /// Findings that a comment silences.
    pub ignored: Vec<(AbsPath, Found)>,
    /// Files that were looked at.
    pub files: usize,
    /// Files that could not be read, and why.
    pub unread: Vec<(AbsPath, Text)>,
    /// There are more files than are looked at.
    pub cut: bool,
    /// Files all of whose findings can be edited away.
    pub editable: BTreeSet<AbsPath>,
}

impl Rule {
    /// Says whether a file has any of the rule's words: else it has nothing to say of it.
    fn may_speak_of(&self, bytes: &[u8]) -> bool {
        self.words.iter().any(|word| memchr::memmem::find(bytes, word.as_bytes()).is_some())
    }
}

impl Found {
    fn new(at: &Expr<'_>, sure: Sure, says: Text) -> Self {
        Self { at: at.at, sure, says, edits: Vec::new(), line: 0, column: 0 }
    }

    fn with(mut self, edits: Vec<Edit>) -> Self {
        self.edits = edits;
        self
    }
}

impl Facts {
    fn has(&self, word: &str) -> bool {
        self.words.contains(word)
    }
}

/// Checks one file. `Ok(None)` where it is no text of Python.
pub fn check_file(rule: &Rule, bytes: &[u8], facts: &Facts) -> Result<Option<Checked>, Unread> {
    if !rule.may_speak_of(bytes) {
        return Ok(Some(Checked::default()));
    }
    Ok(check_by(&[rule], bytes, facts)?.and_then(|mut all| all.pop()))
}

/// Checks one file by several rules, whose words it has; it is parsed once.
fn check_by(rules: &[&Rule], bytes: &[u8], facts: &Facts) -> Result<Option<Vec<Checked>>, Unread> {
    let Some(source) = Source::new(bytes) else { return Ok(None) };
    let file = read::read(&source)?;
    let unit = Unit::new(&file);
    Ok(Some(rules.iter().map(|rule| check_unit(rule, &unit, facts)).collect()))
}

fn check_unit(rule: &Rule, unit: &Unit<'_>, facts: &Facts) -> Checked {
    let (file, source) = (unit.file, unit.file.source);
    let mut checked = Checked::default();
    let mut all = (rule.check)(&Look { unit, facts });
    all.sort_by_key(|found| found.at);
    all.dedup_by(|a, b| a.at == b.at && a.says == b.says);
    for mut found in all {
        found.line = source.line(found.at);
        found.column = source.column(found.at);
        // A guess of the parser is nothing to build an edit on.
        if file.broken || !source.editable {
            found.edits.clear();
            found.sure = found.sure.min(if file.broken { Sure::Likely } else { Sure::Certain });
        }
        let is_ignored = is_ignored(&file.comments, found.line, rule.id);
        if is_ignored { &mut checked.ignored } else { &mut checked.found }.push(found);
    }
    checked
}

/// Returns the file with everything that a rule finds set right, where each finding can be edited and the edited
/// file proves it.
pub fn repair_file(rule: &Rule, bytes: &[u8], facts: &Facts) -> Option<Vec<u8>> {
    let before = check_file(rule, bytes, facts).ok()??;
    if before.found.is_empty() || before.found.iter().any(|found| found.edits.is_empty()) {
        return None;
    }
    let mut edits: Vec<Edit> = before.found.iter().flat_map(|found| found.edits.iter().cloned()).collect();
    edits.sort_by_key(|edit| (edit.range.start, edit.range.end));
    // Two findings about one constant want the same edit.
    edits.dedup();
    let after = apply(bytes, &edits)?;
    let source = Source::new(&after)?;
    let sound = read::read(&source).is_ok_and(|file| !file.broken);
    let again = check_file(rule, &after, facts).ok()??;
    (sound && again.found.is_empty() && again.ignored.len() == before.ignored.len()).then_some(after)
}

/// Applies sorted edits; `None` when they overlap.
fn apply(bytes: &[u8], edits: &[Edit]) -> Option<Vec<u8>> {
    let mut out = Vec::with_capacity(bytes.len() + 256);
    let mut at = 0;
    for edit in edits {
        out.extend_from_slice(bytes.get(at..edit.range.start)?);
        out.extend_from_slice(edit.text.as_bytes());
        at = edit.range.end;
    }
    out.extend_from_slice(bytes.get(at..)?);
    Some(out)
}

/// Says whether `# fix: ignore[id]` stands on a line or on the one above.
fn is_ignored(comments: &[(usize, &str)], line: usize, id: &str) -> bool {
    let names = |comment: &str| {
        let rest = comment.trim_start_matches('#').trim_start();
        let ids = rest.strip_prefix("fix:").and_then(|rest| rest.trim_start().strip_prefix("ignore["));
        let ids = ids.and_then(|rest| rest.split_once(']')).map(|(ids, _)| ids);
        ids.is_some_and(|ids| ids.split(',').any(|one| one.trim() == id))
    };
    // They stand in the order of lines.
    let from = comments.partition_point(|(at, _)| *at + 1 < line);
    comments[from..].iter().take_while(|(at, _)| *at <= line).any(|(_, comment)| names(comment))
}
