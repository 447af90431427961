//! Moves statements behind sharding, where the program is the same otherwise.

use std::collections::BTreeSet;
use std::ops::Range;

use super::super::names::bound_by;
use super::super::source::Source;
use super::super::tree::walk;
use super::optimizer::is_sharding;
use super::*;

/// A statement's place in its block.
#[derive(Clone, Copy)]
pub struct Block<'f> {
    pub body: &'f [Stmt<'f>],
    pub index: usize,
}

/// Parameters that are taken before their model is sharded.
pub struct Early<'e, 'f> {
    pub taken: &'e [Block<'f>],
    /// Where the model is sharded after it.
    pub shards: Vec<&'e [Block<'f>]>,
    pub model: &'e str,
}

/// Builtins and methods that look at a model and change nothing.
const HARMLESS: &[&str] = &[
    "dict",
    "enumerate",
    "filter",
    "isinstance",
    "iter",
    "len",
    "list",
    "range",
    "reversed",
    "set",
    "sorted",
    "tuple",
    "zip",
];
const HARMLESS_METHODS: &[&str] = &[
    "children",
    "items",
    "keys",
    "modules",
    "named_children",
    "named_modules",
    "named_parameters",
    "numel",
    "parameters",
    "trainable_params",
    "values",
];
/// Builtins that look at no model at all.
const PLAIN: &[&str] = &["abs", "bool", "float", "int", "max", "min", "print", "round", "str"];
/// Packages whose optimizers and schedulers do nothing but take what they are given.
const MAKERS: &[&str] = &["torch.optim.", "hyper_parallel.", "mindspore."];

/// Returns the edits that move what takes parameters too early, and what depends on it, behind the last sharding.
pub fn after_sharding<'f>(look: &Look<'f>, scope: usize, early: &[Early<'_, 'f>]) -> Option<Vec<Edit>> {
    let first = early.first()?.taken;
    let home = *first.last()?;
    let mut moved: BTreeSet<usize> = BTreeSet::new();
    let mut shards: BTreeSet<usize> = BTreeSet::new();
    let mut models: BTreeSet<&str> = BTreeSet::new();
    for Early { taken, shards: sharded, model } in early {
        let here = |trail: &[Block<'f>]| {
            trail.iter().find(|block| std::ptr::eq(block.body, home.body)).map(|block| block.index)
        };
        // Taken right in this block: not within another statement of it.
        if taken.len() != first.len() {
            return None;
        }
        moved.insert(here(taken)?);
        for trail in sharded {
            shards.insert(here(trail)?);
        }
        models.insert(model.split('.').next()?);
    }
    let (start, end) = (*moved.first()?, *shards.last()?);
    if end.checked_sub(start)? > MOST_PLACES {
        return None;
    }
    let within = &home.body[start..=end];
    if mentions_scope(look.unit.scopes[scope].body) || has_jump(within) {
        return None;
    }
    for (at, stmt) in home.body.iter().enumerate().take(end + 1).skip(start) {
        if moved.contains(&at) {
            continue;
        }
        let depends = moved.range(..at).any(|m| !uses(stmt).is_disjoint(&binds(&home.body[*m])));
        if shards.contains(&at) {
            if depends || !only_shards(look, stmt, &models) {
                return None;
            }
        } else if depends {
            moved.insert(at);
        } else if !is_unrelated(look, stmt, &models) {
            return None;
        }
    }
    for m in &moved {
        let stmt = &home.body[*m];
        if !is_movable(look, stmt) || *m > end {
            return None;
        }
        for s in (m + 1..=end).filter(|s| !moved.contains(s)) {
            let other = &home.body[s];
            let bound = binds(other);
            let takes: BTreeSet<&str> = uses(stmt).difference(&models).copied().collect();
            let clash = !bound.is_disjoint(&takes)
                || !bound.is_disjoint(&binds(stmt))
                || !uses(other).is_disjoint(&binds(stmt));
            let rebinds_model = !bound.is_disjoint(&models) && !shards.contains(&s);
            if clash || rebinds_model {
                return None;
            }
        }
    }
    edits(look, home.body, &moved, end)
}

fn edits<'f>(look: &Look<'f>, body: &'f [Stmt<'f>], moved: &BTreeSet<usize>, end: usize) -> Option<Vec<Edit>> {
    let source = look.unit.file.source;
    let text = &source.text;
    let last = &body[end].range;
    let target = source.next_line(last.end - 1);
    let behind = text[last.end..target].trim();
    if !text[..target].ends_with('\n') || !(behind.is_empty() || behind.starts_with('#')) {
        return None;
    }
    let mut runs: Vec<Range<usize>> = Vec::new();
    for at in moved {
        let stmt = &body[*at];
        if !source.is_alone(&stmt.range) {
            return None;
        }
        let lines = with_comment(source, &stmt.range);
        match runs.last_mut().filter(|run| run.end == lines.start) {
            Some(run) => run.end = lines.end,
            None => runs.push(lines),
        }
    }
    let mut block = String::new();
    let mut all = Vec::new();
    for mut run in runs {
        // Between two empty lines one goes along, so that none is doubled here and none is missing there.
        let above = source.line_start(run.start.saturating_sub(1));
        let is_empty = |lines: &str| lines.trim().is_empty() && lines.ends_with('\n');
        if above < run.start && is_empty(&text[above..run.start]) && is_empty(&text[run.end..source.next_line(run.end)])
        {
            run.start = above;
        }
        block.push_str(&text[run.clone()]);
        all.push(Edit { range: run, text: String::new() });
    }
    all.push(Edit { range: target..target, text: block });
    Some(all)
}

/// The lines of a statement, with the comment right above, which is about it.
fn with_comment(source: &Source, range: &Range<usize>) -> Range<usize> {
    let mut lines = source.whole_lines(range);
    let indent = source.before(range.start);
    while lines.start > 0 {
        let above = source.line_start(lines.start - 1);
        let line = &source.text[above..lines.start];
        let comment = line.strip_prefix(indent).is_some_and(|rest| rest.starts_with('#'));
        let shebang = above == 0 && line.starts_with("#!");
        if !comment || shebang || line.contains("fix:") {
            break;
        }
        lines.start = above;
    }
    lines
}

/// Lists the names that a statement looks at, anywhere in it.
fn uses<'f>(stmt: &'f Stmt<'f>) -> BTreeSet<&'f str> {
    let mut names = BTreeSet::new();
    walk_exprs(std::slice::from_ref(stmt), Into::Functions, &mut |expr| match &expr.kind {
        Kind::Name => {
            names.insert(expr.text);
        }
        // `self.optimizer`: the attribute is the name.
        Kind::Attribute(object, name) if object.as_name() == Some("self") => {
            names.insert(name);
        }
        _ => {}
    });
    if let Deed::Assign { targets, augmented: false, .. } = &stmt.kind {
        for target in targets.iter().filter_map(Expr::as_name) {
            let mut read = false;
            if let Deed::Assign { value, .. } = &stmt.kind {
                value.walk(&mut |expr| read |= expr.as_name() == Some(target));
            }
            if !read {
                names.remove(target);
            }
        }
    }
    names
}

fn binds<'f>(stmt: &'f Stmt<'f>) -> BTreeSet<&'f str> {
    let mut names = BTreeSet::new();
    walk(std::slice::from_ref(stmt), Into::Functions, &mut |stmt| {
        names.extend(bound_by(stmt).into_iter().map(|(name, _)| name));
        if let Deed::Assign { targets, .. } = &stmt.kind {
            for target in targets {
                if let Kind::Attribute(_, name) = &target.kind {
                    names.insert(name);
                }
            }
        }
    });
    names
}

/// `locals()`, `exec`, `global` and their like: names are not what they seem.
fn mentions_scope(body: &[Stmt<'_>]) -> bool {
    let mut found = false;
    walk_exprs(body, Into::Functions, &mut |expr| {
        found |= matches!(expr.as_name(), Some("locals" | "globals" | "vars" | "eval" | "exec" | "dir"));
    });
    walk(body, Into::Functions, &mut |stmt| found |= matches!(stmt.kind, Deed::Outer(_)));
    found
}

/// Something may leave the block on the way.
fn has_jump(body: &[Stmt<'_>]) -> bool {
    let mut found = false;
    walk(body, Into::ThisScope, &mut |stmt| {
        let leaves = matches!(stmt.kind, Deed::Return(_) | Deed::Leave(_) | Deed::Delete(_) | Deed::Blocks { .. });
        found |= leaves || stmt.broken;
    });
    walk_exprs(body, Into::ThisScope, &mut |expr| {
        found |= expr.text.starts_with("yield") || expr.text.starts_with("await");
    });
    found
}

/// Calls nothing but sharding and what looks at the model.
fn only_shards(look: &Look<'_>, stmt: &Stmt<'_>, models: &BTreeSet<&str>) -> bool {
    let simple = matches!(stmt.kind, Deed::Expr(_) | Deed::Assign { augmented: false, .. } | Deed::Loop { .. });
    let mut good = simple;
    walk_exprs(std::slice::from_ref(stmt), Into::Functions, &mut |expr| {
        let Some(call) = expr.as_call() else { return };
        let harmless = match &call.function.kind {
            Kind::Name => HARMLESS.contains(&call.function.text) && look.unit.function(call.function.text).is_none(),
            Kind::Attribute(_, method) => HARMLESS_METHODS.contains(method),
            _ => false,
        };
        good &= harmless || is_sharding(look, call) || is_policy(look, call);
    });
    // What it binds is the model, or its own loop variable.
    let own: BTreeSet<&str> = match &stmt.kind {
        Deed::Loop { .. } => binds(stmt),
        _ => BTreeSet::new(),
    };
    good && binds(stmt).iter().all(|name| models.contains(name) || own.contains(name))
}

/// `MixedPrecisionPolicy(…)` and its like among the arguments of sharding.
fn is_policy(look: &Look<'_>, call: &Call<'_>) -> bool {
    let paths = look.unit.paths(&call.function);
    paths.iter().any(|path| {
        let own = path.starts_with("torch.") || path.starts_with("hyper_parallel.");
        own && path.ends_with("Policy")
    })
}

/// Has nothing to do with the model, and calls nothing that could, by another name of it.
fn is_unrelated(look: &Look<'_>, stmt: &Stmt<'_>, models: &BTreeSet<&str>) -> bool {
    let mut good = match &stmt.kind {
        Deed::Import(_) => return true,
        Deed::Expr(_) | Deed::Other(_) => true,
        Deed::Assign { targets, augmented, .. } => {
            !augmented && targets.iter().all(|target| target.as_name().is_some())
        }
        _ => false,
    };
    walk_exprs(std::slice::from_ref(stmt), Into::Functions, &mut |expr| {
        let Some(call) = expr.as_call() else { return };
        let name = call.function.as_name();
        good &= name.is_some_and(|name| {
            (HARMLESS.contains(&name) || PLAIN.contains(&name)) && look.unit.function(name).is_none()
        });
    });
    good && uses(stmt).is_disjoint(models)
}

/// A plain statement that makes an optimizer, a scheduler or a list of parameters.
fn is_movable(look: &Look<'_>, stmt: &Stmt<'_>) -> bool {
    let mut good = matches!(stmt.kind, Deed::Expr(_) | Deed::Assign { augmented: false, .. }) && !stmt.broken;
    if let Deed::Assign { targets, .. } = &stmt.kind {
        good &= targets.iter().all(|target| match &target.kind {
            Kind::Name => true,
            Kind::Attribute(object, _) => object.as_name() == Some("self"),
            _ => false,
        });
    }
    walk_exprs(std::slice::from_ref(stmt), Into::Functions, &mut |expr| {
        let Some(call) = expr.as_call() else { return };
        let made =
            look.unit.paths(&call.function).iter().any(|path| MAKERS.iter().any(|maker| path.starts_with(maker)));
        let harmless = match &call.function.kind {
            Kind::Name => HARMLESS.contains(&call.function.text) && look.unit.function(call.function.text).is_none(),
            Kind::Attribute(_, method) => HARMLESS_METHODS.contains(method),
            _ => false,
        };
        good &= made || harmless;
    });
    good
}
