//! Layouts and meshes that are made anew in every step.

use std::collections::BTreeSet;

use super::super::names::bound_by;
use super::super::source::Source;
use super::super::tree::walk;
use super::*;

pub const RULE: Rule = Rule { id: "hp-redistribute", words: &["hyper_parallel"], check };

const MAKERS: &[&str] = &["Layout", "DeviceMesh", "init_device_mesh"];
/// Functions that run in each step.
const STEPS: &[&str] = &["forward", "construct", "train_step", "training_step", "train_one_step"];

fn check(look: &Look<'_>) -> Vec<Found> {
    let made = |site: &Site<'_>| MAKERS.iter().any(|maker| look.unit.is_from(&site.call.function, HP, maker));
    sites(look.unit).into_iter().filter(made).take(MOST_PLACES).filter_map(|site| judge(look, &site)).collect()
}

fn judge<'f>(look: &Look<'f>, site: &Site<'f>) -> Option<Found> {
    let unit = look.unit;
    let maker = *MAKERS.iter().find(|maker| unit.is_from(&site.call.function, HP, maker))?;
    let steps = site.loops.iter().rposition(|stmt| is_training(stmt));
    let scope = &unit.scopes[site.scope];
    let function = scope.function.filter(|function| STEPS.contains(&function.name));
    let mut names = BTreeSet::new();
    for argument in &site.call.arguments {
        argument.value.walk(&mut |expr| names.extend(expr.as_name()));
    }
    let (place, changing) = match (steps, function) {
        // The innermost loop whose turns are steps of training, and all that it binds.
        (Some(at), _) => ("loop", bound_in(&site.loops[at..=at])),
        // What a step is given may differ in every step.
        (None, Some(_)) => {
            ("step", scope.params().iter().map(|param| param.name).filter(|name| *name != "self").collect())
        }
        (None, None) => return None,
    };
    // Another layout in every step is what the program is about.
    if names.iter().any(|name| changing.contains(name)) {
        return None;
    }
    let plain = site.call.arguments.iter().all(|argument| is_plain(&argument.value))
        && names.iter().all(|name| cannot_change(look, name, site.scope));
    let sure = if plain { Sure::Certain } else { Sure::Likely };
    let (en, zh) = match (place, plain) {
        ("loop", true) => (
            "turn of the training loop, from what does not change in it",
            "训练循环的每一轮中重新创建，而其参数在循环中并不变化",
        ),
        ("loop", false) => (
            "turn of the training loop, from what seems not to change in it",
            "训练循环的每一轮中重新创建，而其参数在循环中似乎并不变化",
        ),
        (_, true) => ("step, from what does not change", "每一步中重新创建，而其参数并不变化"),
        (_, false) => ("step, from what seems not to change", "每一步中重新创建，而其参数似乎并不变化"),
    };
    let says = Text::new(format!("`{maker}` is made anew in every {en}"), format!("`{maker}` 在{zh}"));
    let edits = if maker == "Layout" && plain { hoist(look, site) } else { None };
    Some(Found::new(site.expr, sure, says).with(edits.unwrap_or_default()))
}

/// Says whether a loop's turns are steps of training: gradients, optimizer steps or redistribution in it.
fn is_training(stmt: &Stmt<'_>) -> bool {
    let Deed::Loop { body, .. } = &stmt.kind else { return false };
    // A loop that always leaves in its first turn is none.
    if body.last().is_some_and(|last| matches!(last.kind, Deed::Return(_)) || last_leaves(last)) {
        return false;
    }
    let mut trains = false;
    walk_exprs(body, Into::ThisScope, &mut |expr| {
        if let Some(Kind::Attribute(_, method)) = expr.as_call().map(|call| &call.function.kind) {
            trains |= matches!(*method, "backward" | "step" | "redistribute" | "zero_grad");
        }
    });
    trains
}

fn last_leaves(stmt: &Stmt<'_>) -> bool {
    matches!(&stmt.kind, Deed::Leave(_))
}

/// Lists the names that loops bind.
fn bound_in<'f>(loops: &[&'f Stmt<'f>]) -> BTreeSet<&'f str> {
    let mut names = BTreeSet::new();
    for stmt in loops {
        walk(std::slice::from_ref(*stmt), Into::Functions, &mut |stmt| {
            names.extend(bound_by(stmt).into_iter().map(|(name, _)| name));
        });
    }
    names
}

/// Says whether an argument is made of literals and names alone.
fn is_plain(expr: &Expr<'_>) -> bool {
    match &expr.kind {
        Kind::Name | Kind::Text(_) | Kind::Number(_) | Kind::Bool(_) | Kind::Nothing => true,
        Kind::Sequence(items) => items.iter().all(is_plain),
        _ => false,
    }
}

/// Says whether a name has one value that nothing can change: a number, a text, a tuple of such. A list can be changed by
/// another of its names, and what a caller gave may be one.
fn cannot_change(look: &Look<'_>, name: &str, scope: usize) -> bool {
    let source = look.unit.file.source;
    look.unit.binding(name, scope).is_some_and(|(_, value)| is_immutable(source, value))
}

fn is_immutable(source: &Source, expr: &Expr<'_>) -> bool {
    match &expr.kind {
        Kind::Text(_) | Kind::Number(_) | Kind::Bool(_) | Kind::Nothing => true,
        Kind::Sequence(items) => {
            !source.text[expr.range()].starts_with(['[', '{']) && items.iter().all(|item| is_immutable(source, item))
        }
        _ => false,
    }
}

/// What a layout may depend on without being given it: the process group, the device.
fn sets_up(body: &[Stmt<'_>]) -> bool {
    let mut found = false;
    walk_exprs(body, Into::Functions, &mut |expr| {
        let Some(call) = expr.as_call() else { return };
        let name = match &call.function.kind {
            Kind::Attribute(_, name) => *name,
            _ => call.function.as_name().unwrap_or_default(),
        };
        found |= ["init", "destroy_", "new_group", "set_device", "set_context", "set_default"]
            .iter()
            .any(|start| name.starts_with(start));
    });
    found
}

/// Moves `name = Layout(…)` before the loop, where the program is the same otherwise.
fn hoist<'f>(look: &Look<'f>, site: &Site<'f>) -> Option<Vec<Edit>> {
    let unit = look.unit;
    let source = unit.file.source;
    let [outer] = site.loops.as_slice() else { return None };
    let Deed::Loop { body, .. } = &outer.kind else { return None };
    let at = body.iter().position(|stmt| std::ptr::eq(stmt, site.stmt))?;
    let Deed::Assign { targets, value, augmented: false } = &site.stmt.kind else { return None };
    let [target] = targets.as_slice() else { return None };
    let name = target.as_name()?;
    let scope = &unit.scopes[site.scope];
    // The only value that the name ever has, and nothing looks at it before.
    if body.len() < 2 || !std::ptr::eq(value, site.expr) || scope.times_bound(name) != 1 || sets_up(body) {
        return None;
    }
    let mut arguments = BTreeSet::new();
    value.walk(&mut |expr| arguments.extend(expr.as_name()));
    let fixed = |name: &&str| unit.is_fixed(name, site.scope) && !bound_in(&[outer]).contains(*name);
    // Used elsewhere in the loop, it might be changed there without being assigned.
    let only_here = |name: &&str| uses(body, name) == uses(std::slice::from_ref(site.stmt), name);
    if !arguments.iter().all(|name| fixed(name) && only_here(name)) || mentions_whole_scope(scope.body) {
        return None;
    }
    let before_it = uses(&body[..at], name) + usize::from(loop_head_uses(outer, name));
    if before_it > 0 || !only_read(scope.body, name) {
        return None;
    }
    // At the module's level other functions could look at it while the loop has not begun.
    if site.scope == 0 && unit.scopes.iter().skip(1).any(|scope| uses(scope.body, name) > 0) {
        return None;
    }
    let lines = source.whole_lines(&site.stmt.range);
    let text = &source.text;
    if !source.is_alone(&site.stmt.range)
        || !text[..lines.end].ends_with('\n')
        || text[lines.clone()].lines().count() != 1
    {
        return None;
    }
    if !source.before(outer.range.start).trim().is_empty() {
        return None;
    }
    let line = text[lines.clone()].trim_start();
    let indent = source.before(outer.range.start);
    let start = source.line_start(outer.range.start);
    Some(vec![
        Edit { range: start..start, text: format!("{indent}{line}") },
        Edit { range: lines, text: String::new() },
    ])
}

fn uses(body: &[Stmt<'_>], name: &str) -> usize {
    let mut times = 0;
    walk_exprs(body, Into::Functions, &mut |expr| times += usize::from(expr.as_name() == Some(name)));
    times
}

fn loop_head_uses(stmt: &Stmt<'_>, name: &str) -> bool {
    stmt.exprs().iter().any(|expr| {
        let mut found = false;
        expr.walk(&mut |expr| found |= expr.as_name() == Some(name));
        found
    })
}

/// `locals()`, `exec` and their like may look at any name.
fn mentions_whole_scope(body: &[Stmt<'_>]) -> bool {
    let mut found = false;
    walk_exprs(body, Into::Functions, &mut |expr| {
        found |= matches!(expr.as_name(), Some("locals" | "globals" | "vars" | "eval" | "exec" | "dir"));
    });
    found
}

/// Says whether a layout is neither changed nor kept: called to make another, or given to what only reads it.
fn only_read(body: &[Stmt<'_>], name: &str) -> bool {
    const READERS: &[&str] = &["DTensor", "distribute_module", "distribute_tensor", "from_local", "redistribute"];
    let mut good = 1;
    walk_exprs(body, Into::Functions, &mut |expr| {
        if let Some(call) = expr.as_call() {
            good += usize::from(call.function.as_name() == Some(name));
            let reads = match &call.function.kind {
                Kind::Attribute(_, method) => READERS.contains(method),
                _ => call.function.as_name().is_some_and(|function| READERS.contains(&function)),
            };
            if reads {
                good += call.arguments.iter().filter(|argument| argument.value.as_name() == Some(name)).count();
            }
        }
    });
    uses(body, name) == good
}

#[cfg(test)]
mod tests {
    use super::super::testing::{Want, expect};
    use super::*;

    const HEAD: &str = "from hyper_parallel import Layout, init_device_mesh as idm\n";

    #[test]
    fn layouts_in_the_training_loop() {
        let before = "def train(x, shape):\n    for step in range(9):\n        layout = Layout((2, 4), ('dp', 'tp'))  # mesh\n        x = x.redistribute(layout('dp', 'tp'))\n";
        let after = "def train(x, shape):\n    layout = Layout((2, 4), ('dp', 'tp'))  # mesh\n    for step in range(9):\n        x = x.redistribute(layout('dp', 'tp'))\n";
        for (code, want) in [
            (before.to_owned(), Want::Edit(format!("{HEAD}{after}"))),
            (before.replace('\n', "\r\n"), Want::Edit(format!("{HEAD}{}", after.replace('\n', "\r\n")))),
            (before.replace("    ", "\t"), Want::Edit(format!("{HEAD}{}", after.replace("    ", "\t")))),
            (
                format!("SHAPE = (2, 4)\n{}", before.replace("(2, 4)", "SHAPE")),
                Want::Edit(format!("{HEAD}SHAPE = (2, 4)\n{}", after.replace("(2, 4)", "SHAPE"))),
            ),
            // What may be a list, and be changed by another name.
            (before.replace("(2, 4)", "shape"), Want::Likely(4)),
            (format!("SHAPE = [2, 4]\n{}", before.replace("(2, 4)", "SHAPE")), Want::Likely(5)),
            // Kept, and what a layout depends on unseen.
            (before.replace("range(9):\n", "range(9):\n        dist.init_process_group()\n"), Want::Certain(5)),
            (format!("{before}        seen.append(layout)\n"), Want::Certain(4)),
            // Changed on the way, looked at before, bound again, two loops, several on a line.
            (before.replace("layout('dp', 'tp')", "layout.set_tensor_map(0)"), Want::Certain(4)),
            (before.replace("range(9):\n", "range(9):\n        print(layout)\n"), Want::Certain(5)),
            (format!("{before}    layout = None\n"), Want::Certain(4)),
            (before.replace("  # mesh", "; y = 1"), Want::Certain(4)),
            (before.replace("(x, shape):", "(x, shape):\n    locals()"), Want::Certain(5)),
            (before.replace("layout = Layout", "layout = idm"), Want::Certain(4)),
            (before.replace("(2, 4)", "shape()"), Want::Likely(4)),
            (format!("{}        shape.append(1)\n", before.replace("(2, 4)", "shape")), Want::Likely(4)),
            ("def forward(self, x):\n    m = idm('npu', (8,))\n    return x\n".into(), Want::Certain(3)),
            ("while True:\n    loss.backward()\n    f(Layout((8,), ('dp',)))\n".into(), Want::Certain(4)),
            // Right, or another matter.
            (before.replace("(2, 4)", "(step, 4)"), Want::None),
            (before.replace("x.redistribute", "x.cut"), Want::None),
            (after.to_owned(), Want::None),
            ("def forward(self, x, shape):\n    return Layout(shape, ('dp',))\n".into(), Want::None),
            ("def build(self):\n    return Layout((8,), ('dp',))\n".into(), Want::None),
            ("while True:\n    m = Layout((8,), ('dp',))\n    m.step()\n    break\n".into(), Want::None),
            ("for s in x:\n    s.step()\n    def f():\n        return Layout((8,), ('dp',))\n".into(), Want::None),
        ] {
            expect(&RULE, &format!("{HEAD}{code}"), &want);
        }
        expect(
            &RULE,
            "import hyper_parallel\nfrom rich import Layout\nwhile True:\n    a.step(); Layout()\n",
            &Want::None,
        );
    }
}
