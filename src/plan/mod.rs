//! What `fix` is going to do, as a value: complete, comparable, with no decision left for apply time.

mod digest;
mod roots;

use std::ffi::OsString;
use std::os::unix::fs::MetadataExt;

use crate::change::{AbsPath, AllowedRoots, Change, EnvOverlay, FileState, Reversible, TreeKind};
use crate::diagnosis::Finding;
use crate::evidence::{FileKind, Host, Metadata, tracked_file};
use crate::recipe::{Applicability, Step, Text, Value, Values};
use crate::steps::{self, Evaluate, LowerError, Lowered, Order};

pub use crate::change::Precondition;
pub use roots::{RootsError, allowed_roots};

/// A repair, decided.
#[derive(Debug, Clone, PartialEq)]
pub struct Plan {
    pub recipe: String,
    pub slug: String,
    /// The recipe's case that was taken.
    pub case: String,
    pub title: Text,
    /// What is wrong here.
    pub says: Text,
    pub params: Values,
    /// The strictest of recipe, case, changes and surroundings.
    pub applicability: Applicability,
    /// Why it is not `safe`.
    pub limits: Vec<Text>,
    /// The project: where the locks are and what patches are relative to.
    pub root: AbsPath,
    pub roots: AllowedRoots,
    pub changes: Vec<Change>,
    pub overlay: EnvOverlay,
    /// The user's command again, where there is one.
    pub rerun: Option<Rerun>,
    /// What must hold when it is made: looked at again before the first change, and before the command runs.
    pub preconditions: Vec<Precondition>,
    pub notes: Vec<Text>,
    pub advice: Vec<Text>,
}

/// The user's command, as it runs after the repair.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Rerun {
    pub argv: Vec<OsString>,
    pub cwd: AbsPath,
    /// The command as the user gave it, where the repair changes its words and not only adds some.
    pub instead_of: Option<Vec<OsString>>,
}

/// What a plan is made in.
pub struct Surroundings<'a> {
    pub host: &'a dyn Host,
    pub command: Option<&'a [OsString]>,
    pub roots: &'a AllowedRoots,
    /// Runs a script of an installation in a clean shell; `None` where nothing may be run to make the plan.
    pub evaluate: Option<&'a Evaluate<'a>>,
}

/// Why there is no plan.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum PlanError {
    /// A verb cannot do what it is asked here.
    #[error("{0}")]
    Lower(#[from] LowerError),
    /// A change would touch a path outside the allowed roots.
    #[error("refusing to touch `{0}`: it lies outside the allowed roots")]
    OutsideRoots(AbsPath),
    /// Two steps want different things of one path.
    #[error("two steps want to change `{0}`")]
    Conflict(AbsPath),
    /// Two steps want different words for the command.
    #[error("two steps want to change the command")]
    TwoCommands,
    /// A step's variable has no value here.
    #[error("`{0}` has no value here")]
    Unbound(String),
}

impl Plan {
    /// Says whether the plan does anything by itself: changes, environment, or other arguments on the re-run.
    pub fn acts(&self) -> bool {
        let other_words = self.rerun.as_ref().is_some_and(|rerun| rerun.instead_of.is_some());
        !self.changes.is_empty() || !self.overlay.is_empty() || other_words
    }

    /// Says whether some change cannot be taken back.
    pub fn is_irreversible(&self) -> bool {
        self.changes.iter().any(|change| match change {
            Change::Run(run) => run.reversible == Reversible::No,
            Change::WriteFile(_) | Change::RemoveTree(_) => false,
        })
    }

    /// Returns the digest of everything that the plan does, in hexadecimal.
    pub fn digest(&self) -> String {
        digest::of(self)
    }
}

/// Turns a finding into a plan. A finding without a repair gives a plan that only advises.
pub fn build(finding: &Finding, surroundings: &Surroundings<'_>) -> Result<Plan, PlanError> {
    let host = surroundings.host;
    let mut lowered = Lowered::default();
    let mut advice = Vec::new();
    if let Some(case) = finding.case() {
        for step in case.steps.iter().filter(|step| applies(step, &finding.values)) {
            let wanted = lower(step, finding, surroundings, &lowered)?;
            merge(&mut lowered, wanted)?;
        }
        advice.extend(case.advice.iter().filter_map(|text| text.fill(&finding.values)));
    }
    let root = host.git().top_level().unwrap_or(host.project()).clone();
    let mut limits = std::mem::take(&mut lowered.limits);
    let mut roots = surroundings.roots.clone();
    for (link, target) in &lowered.links {
        if roots.containing(link).is_some() && leads_to_what_is_own(host, link, target) {
            roots.allow(target.clone());
        }
    }
    for change in &lowered.changes {
        for path in change.touches() {
            if roots.containing(path).is_none() {
                return Err(PlanError::OutsideRoots(path.clone()));
            }
        }
        limits.extend(limits_of(change, host));
    }
    if finding.went_on {
        limits.push((
            Applicability::Confirm,
            Text::new(
                "the log goes on after this message: what failed in the end may be another thing",
                "日志在此消息之后继续推进：最终失败的可能另有原因",
            ),
        ));
    }
    let mut applicability = finding.applicability;
    let mut reasons: Vec<Text> = Vec::new();
    if applicability < Applicability::Safe
        && let Some(why) = &finding.recipe.why
    {
        reasons.push(why.clone());
    }
    for (limit, why) in limits {
        applicability = applicability.min(limit);
        if !reasons.contains(&why) {
            reasons.push(why);
        }
    }
    advice.append(&mut lowered.advice);
    let rerun = surroundings.command.map(|command| {
        let words = lowered.rerun_argv.as_deref().unwrap_or(command);
        let argv = words.iter().chain(&lowered.rerun_args).cloned().collect();
        let instead_of = (words != command).then(|| command.to_vec());
        Rerun { argv, cwd: host.project().clone(), instead_of }
    });
    let case = finding.case().map(|case| case.name.clone()).unwrap_or_default();
    let says = finding.says();
    Ok(Plan {
        recipe: finding.recipe.id.clone(),
        slug: finding.recipe.slug.clone(),
        case,
        title: finding.title().clone(),
        says,
        params: finding.params(),
        applicability,
        limits: reasons,
        root,
        roots,
        changes: lowered.changes,
        overlay: lowered.overlay,
        rerun,
        preconditions: lowered.preconditions,
        notes: lowered.notes,
        advice,
    })
}

/// Says whether a link leads to a folder or file of the user's own: a linked build tree (`build → /scratch/…`) is moved
/// where it lies, a linked configuration file (`~/.condarc → ~/dotfiles/condarc`) is edited where it lies, and the link
/// stays.
fn leads_to_what_is_own(host: &dyn Host, link: &AbsPath, target: &AbsPath) -> bool {
    let real = host.real(link.as_path()).ok().and_then(|real| AbsPath::new(real).ok());
    let is_own = |meta: Metadata| matches!(meta.kind, FileKind::Folder | FileKind::File) && meta.user == host.user();
    let own = host.follow(target.as_path()).is_ok_and(is_own);
    real.as_ref() == Some(target) && own && target.parent().is_some() && host.home() != Some(target)
}

fn applies(step: &Step, values: &Values) -> bool {
    step.only_if.iter().all(|(name, words)| {
        let value = values.get(name).map(Value::to_list).unwrap_or_default();
        value.iter().any(|item| words.contains(item))
    })
}

fn lower_args(step: &Step, values: &Values) -> Result<std::collections::BTreeMap<String, Value>, PlanError> {
    let optional = |name: &str| {
        let verb = steps::find(&step.verb);
        verb.and_then(|verb| verb.args.iter().find(|spec| spec.name == name)).is_some_and(|spec| !spec.required)
    };
    let mut args = std::collections::BTreeMap::new();
    for (name, template) in &step.args {
        match template.fill(values) {
            Ok(value) => {
                args.insert(name.clone(), value);
            }
            Err(_) if optional(name) => {}
            Err(error) => return Err(PlanError::Unbound(error.to_string())),
        }
    }
    Ok(args)
}

fn lower(
    step: &Step,
    finding: &Finding,
    surroundings: &Surroundings<'_>,
    so_far: &Lowered,
) -> Result<Lowered, PlanError> {
    let verb = steps::find(&step.verb).ok_or_else(|| PlanError::Unbound(step.verb.clone()))?;
    let args = lower_args(step, &finding.values)?;
    let (host, command, evaluate) = (surroundings.host, surroundings.command, surroundings.evaluate);
    let order = Order { args: &args, host, command, so_far, evaluate };
    Ok((verb.lower)(&order)?)
}

/// Adds what one step comes to. Two edits of one file become one; anything else of two steps that meets is a conflict.
/// What one step does to one path is in its own order.
fn merge(all: &mut Lowered, step: Lowered) -> Result<(), PlanError> {
    let earlier = all.changes.len();
    for change in step.changes {
        let same_file = all.changes.iter_mut().find_map(|earlier| match (earlier, &change) {
            (Change::WriteFile(earlier), Change::WriteFile(later)) if earlier.path == later.path => Some(earlier),
            (Change::WriteFile(_) | Change::RemoveTree(_) | Change::Run(_), _) => None,
        });
        if let (Some(earlier), Change::WriteFile(later)) = (same_file, &change) {
            if later.before != earlier.after && later.before != earlier.before {
                return Err(PlanError::Conflict(later.path.clone()));
            }
            earlier.after = later.after.clone();
            continue;
        }
        for path in change.touches() {
            let mut taken = all.changes[..earlier].iter().flat_map(Change::touches);
            if taken.any(|other| path.is_within(other) || other.is_within(path)) {
                return Err(PlanError::Conflict(path.clone()));
            }
        }
        all.changes.push(change);
    }
    all.overlay.extend(&step.overlay);
    all.rerun_args.extend(step.rerun_args);
    match (&all.rerun_argv, step.rerun_argv) {
        (Some(one), Some(other)) if *one != other => return Err(PlanError::TwoCommands),
        (_, Some(words)) => all.rerun_argv = Some(words),
        (_, None) => {}
    }
    all.preconditions.extend(step.preconditions);
    all.links.extend(step.links);
    all.notes.extend(step.notes);
    all.advice.extend(step.advice);
    all.limits.extend(step.limits);
    Ok(())
}

/// What a change's own surroundings say about doing it unasked.
fn limits_of(change: &Change, host: &dyn Host) -> Vec<(Applicability, Text)> {
    let mut limits = Vec::new();
    match change {
        Change::WriteFile(write) => {
            if matches!(write.before, FileState::Present(_)) {
                limits.extend(tracked_file(host, &write.path).map(|why| (Applicability::Confirm, why)));
                limits.extend(other_names(&write.path).map(|why| (Applicability::Confirm, why)));
            }
        }
        Change::RemoveTree(tree) => {
            if tree.kind == TreeKind::Plain {
                let path = &tree.path;
                limits.push((
                    Applicability::Confirm,
                    Text::new(format!("`{path}` is not a build tree"), format!("`{path}` 不是构建目录")),
                ));
            }
            // The old tree is kept beside the new one until it is pruned.
            if free_bytes(&tree.path).is_some_and(|free| free < tree.before.bytes) {
                limits.push((
                    Applicability::Confirm,
                    Text::new(
                        "less free disk space than the old tree takes: a rebuild may fill the disk",
                        "剩余磁盘空间小于旧构建目录的大小：重新构建可能写满磁盘",
                    ),
                ));
            }
        }
        Change::Run(run) => {
            if run.reversible == Reversible::No {
                limits.push((
                    Applicability::Confirm,
                    Text::new("a command of this repair cannot be taken back", "此修复中有一条命令无法撤销"),
                ));
            }
        }
    }
    limits
}

/// A file is replaced, so that its other names keep the old one.
fn other_names(path: &AbsPath) -> Option<Text> {
    let names = std::fs::symlink_metadata(path.as_path()).ok()?.nlink();
    let others = names.checked_sub(1).filter(|others| *others > 0)?;
    let (plural, keep) = if others == 1 { ("", "keeps") } else { ("s", "keep") };
    Some(Text::new(
        format!("`{path}` has {others} other name{plural} (hard links), which {keep} the old content"),
        format!("`{path}` 另有 {others} 个硬链接名，它们会保留旧内容"),
    ))
}

fn free_bytes(path: &AbsPath) -> Option<u64> {
    let stat = rustix::fs::statvfs(path.as_path()).ok()?;
    Some(stat.f_bavail.saturating_mul(stat.f_frsize))
}
