//! What names of a file stand for: imports, functions, and values that do not change.
//!
//! Only what is certain counts: a name that is bound twice, or from outside, has no value here.

use std::collections::{BTreeMap, BTreeSet};

use super::read::File;
use super::tree::{Call, Deed, Expr, Function, Into, Kind, Param, Stmt, walk, walk_exprs};

/// Steps from name to name before a value is given up.
const MOST_STEPS: usize = 8;
/// Packages that one name may come from.
const MOST_MEANINGS: usize = 8;

/// A file with its names.
pub struct Unit<'f> {
    pub file: &'f File<'f>,
    /// The module first, then every function in order.
    pub scopes: Vec<Scope<'f>>,
    /// By name; `None` where several have it.
    functions: BTreeMap<&'f str, Option<&'f Function<'f>>>,
    imports: BTreeMap<&'f str, BTreeSet<String>>,
    stars: Vec<String>,
    /// `parser.add_argument("--name", default=…)` by destination.
    options: BTreeMap<String, Vec<Option<&'f Expr<'f>>>>,
    /// Attributes that are assigned anywhere: `args.backend = …`.
    assigned_attributes: BTreeSet<&'f str>,
    /// Names that some function binds by `global` or `nonlocal`.
    outer: BTreeSet<&'f str>,
}

/// A function, or the module.
pub struct Scope<'f> {
    /// Absent for the module.
    pub function: Option<&'f Function<'f>>,
    pub body: &'f [Stmt<'f>],
    parent: usize,
    bindings: BTreeMap<&'f str, Vec<Binding<'f>>>,
}

/// A place where a name gets a value; `None` where it is not told.
type Binding<'f> = Option<&'f Expr<'f>>;

/// A value that is known.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Constant<'f> {
    Text(&'f str),
    Number(i64),
    Bool(bool),
    Nothing,
}

/// A known value and where it comes from.
#[derive(Debug, Clone, Copy)]
pub struct Known<'f> {
    pub constant: Constant<'f>,
    /// The literal.
    pub literal: &'f Expr<'f>,
    pub origin: Origin<'f>,
}

/// What may still change a value.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Origin<'f> {
    /// Nothing.
    Code,
    /// This environment variable.
    Environment(&'f str),
    /// This option of the command line.
    Option(&'f str),
}

impl<'f> Unit<'f> {
    /// Collects the names of a file.
    pub fn new(file: &'f File<'f>) -> Self {
        let mut unit = Self {
            file,
            scopes: Vec::new(),
            functions: BTreeMap::new(),
            imports: BTreeMap::new(),
            stars: Vec::new(),
            options: BTreeMap::new(),
            assigned_attributes: BTreeSet::new(),
            outer: BTreeSet::new(),
        };
        walk(&file.body, Into::Functions, &mut |stmt| unit.note(stmt));
        let mut collected = Vec::new();
        collect(None, &file.body, 0, &mut collected);
        unit.scopes = collected;
        for function in unit.scopes.iter().filter_map(|scope| scope.function) {
            unit.functions.entry(function.name).and_modify(|known| *known = None).or_insert(Some(function));
        }
        let mut options: Vec<(String, Option<&'f Expr<'f>>)> = Vec::new();
        walk_exprs(&file.body, Into::Functions, &mut |expr| options.extend(expr.as_call().and_then(option_of)));
        for (name, default) in options {
            unit.options.entry(name).or_default().push(default);
        }
        unit
    }

    fn note(&mut self, stmt: &'f Stmt<'f>) {
        match &stmt.kind {
            Deed::Import(imports) => {
                for import in imports {
                    if import.name == "*" {
                        self.stars.push(import.path.clone());
                    } else {
                        self.imports.entry(import.name).or_default().insert(import.path.clone());
                    }
                }
            }
            Deed::Assign { targets, .. } => {
                for target in targets {
                    if let Kind::Attribute(_, name) = &target.kind {
                        self.assigned_attributes.insert(name);
                    }
                }
            }
            Deed::Outer(names) => self.outer.extend(names.iter().copied()),
            _ => {}
        }
    }

    /// Lists the dotted paths that an expression may stand for: `torch.distributed.init_process_group`.
    pub fn paths(&self, expr: &Expr<'_>) -> Vec<String> {
        match &expr.kind {
            Kind::Name => {
                let imported = self.imports.get(expr.text);
                let mut all: Vec<String> = imported.into_iter().flatten().take(MOST_MEANINGS).cloned().collect();
                if all.is_empty() {
                    all.push(expr.text.to_owned());
                    all.extend(self.stars.iter().take(MOST_MEANINGS).map(|module| format!("{module}.{}", expr.text)));
                }
                all
            }
            Kind::Attribute(object, name) => {
                self.paths(object).into_iter().map(|path| format!("{path}.{name}")).collect()
            }
            Kind::Call(call) => self.paths(&call.function).into_iter().map(|path| format!("{path}()")).collect(),
            _ => Vec::new(),
        }
    }

    /// Says whether an expression stands for `last` of one of the packages `roots`.
    pub fn is_from(&self, expr: &Expr<'_>, roots: &[&str], last: &str) -> bool {
        let quick = match &expr.kind {
            Kind::Name => self.imports.contains_key(expr.text) || expr.text == last,
            Kind::Attribute(_, name) => *name == last,
            _ => false,
        };
        quick
            && self.paths(expr).iter().any(|path| {
                let ends = path.strip_suffix(last).is_some_and(|rest| rest.ends_with('.'));
                ends && roots.iter().any(|root| path.strip_prefix(root).is_some_and(|rest| rest.starts_with('.')))
            })
    }

    /// Says whether the file imports a package or something of it.
    pub fn imports(&self, root: &str) -> bool {
        let of = |path: &String| path == root || path.strip_prefix(root).is_some_and(|rest| rest.starts_with('.'));
        self.imports.values().flatten().any(of) || self.stars.iter().any(of)
    }

    /// Returns the function of this file that a name stands for.
    pub fn function(&self, name: &str) -> Option<&'f Function<'f>> {
        self.functions.get(name).copied().flatten()
    }

    /// Returns the value of an expression in a scope, where it is certain. `env` gives environment variables.
    pub fn known(&self, expr: &'f Expr<'f>, scope: usize, env: &dyn Fn(&str) -> bool) -> Option<Known<'f>> {
        self.known_in(expr, scope, env, MOST_STEPS)
    }

    fn known_in(
        &self,
        expr: &'f Expr<'f>,
        scope: usize,
        env: &dyn Fn(&str) -> bool,
        steps: usize,
    ) -> Option<Known<'f>> {
        let steps = steps.checked_sub(1)?;
        let plain = |constant| Some(Known { constant, literal: expr, origin: Origin::Code });
        match &expr.kind {
            Kind::Text(text) => plain(Constant::Text(text)),
            Kind::Number(number) => plain(Constant::Number(*number)),
            Kind::Bool(truth) => plain(Constant::Bool(*truth)),
            Kind::Nothing => plain(Constant::Nothing),
            Kind::Name => {
                let (at, value) = self.binding(expr.text, scope)?;
                self.known_in(value, at, env, steps)
            }
            Kind::Attribute(object, name) => {
                if self.assigned_attributes.contains(name) || !self.is_options(object, scope) {
                    return None;
                }
                let [Some(default)] = self.options.get(*name)?.as_slice() else { return None };
                let known = self.known_in(default, 0, env, steps)?;
                Some(Known { origin: Origin::Option(name), ..known })
            }
            Kind::Call(call) => {
                let path = self.paths(&call.function);
                let is = |wanted: &str| path.iter().any(|path| path == wanted);
                if is("os.getenv") || is("os.environ.get") {
                    let Kind::Text(name) = call.argument(0, "key")?.kind else { return None };
                    // What the environment says here is another matter than what the code says.
                    if env(name) {
                        return None;
                    }
                    let known = self.known_in(call.argument(1, "default")?, scope, env, steps)?;
                    return Some(Known { origin: Origin::Environment(name), ..known });
                }
                match &call.function.kind {
                    Kind::Attribute(text, "lower" | "strip") if call.arguments.is_empty() => {
                        self.known_in(text, scope, env, steps)
                    }
                    _ => None,
                }
            }
            Kind::Binary(left, "or", right) => {
                let call = left.as_call()?;
                let path = self.paths(&call.function);
                let reads = path.iter().any(|path| path == "os.getenv" || path == "os.environ.get");
                let Kind::Text(name) = call.argument(0, "key")?.kind else { return None };
                if !reads || call.arguments.len() != 1 || env(name) {
                    return None;
                }
                let known = self.known_in(right, scope, env, steps)?;
                Some(Known { origin: Origin::Environment(name), ..known })
            }
            _ => None,
        }
    }

    /// Says whether an expression holds the options of the command line.
    fn is_options(&self, object: &'f Expr<'f>, scope: usize) -> bool {
        let Some(name) = object.as_name() else { return false };
        let usual = ["args", "opt", "opts", "options", "flags", "FLAGS", "hparams"].contains(&name);
        let parsed = self.binding(name, scope).is_some_and(|(_, value)| {
            let function = value.as_call().map(|call| &call.function.kind);
            matches!(function, Some(Kind::Attribute(_, "parse_args")))
        });
        usual || parsed
    }

    /// Returns the one value that a name has in a scope, and the scope that gives it.
    pub fn binding(&self, name: &str, scope: usize) -> Option<(usize, &'f Expr<'f>)> {
        if self.outer.contains(name) {
            return None;
        }
        let mut at = scope;
        loop {
            let here = &self.scopes[at];
            if let Some(bindings) = here.bindings.get(name) {
                let [Some(value)] = bindings.as_slice() else { return None };
                return Some((at, value));
            }
            if at == 0 {
                return None;
            }
            at = here.parent;
        }
    }

    /// Says whether a name means the same all over a scope: a value that is given once, a parameter that is not
    /// assigned, an import or a function.
    pub fn is_fixed(&self, name: &str, scope: usize) -> bool {
        if self.outer.contains(name) {
            return false;
        }
        let mut at = scope;
        loop {
            let here = &self.scopes[at];
            if let Some(bindings) = here.bindings.get(name) {
                return bindings.len() == 1;
            }
            if at == 0 {
                // Built in, or imported.
                return true;
            }
            at = here.parent;
        }
    }
}

impl<'f> Scope<'f> {
    /// Says how often a name gets a value here.
    pub fn times_bound(&self, name: &str) -> usize {
        self.bindings.get(name).map_or(0, Vec::len)
    }

    pub fn params(&self) -> &'f [Param<'f>] {
        self.function.map_or(&[], |function| &function.params)
    }
}

/// Collects the scopes below some statements.
fn collect<'f>(function: Option<&'f Function<'f>>, body: &'f [Stmt<'f>], parent: usize, scopes: &mut Vec<Scope<'f>>) {
    let own = scopes.len();
    let mut bindings: BTreeMap<&'f str, Vec<Binding<'f>>> = BTreeMap::new();
    for param in function.iter().flat_map(|function| &function.params) {
        bindings.entry(param.name).or_default().push(None);
    }
    walk(body, Into::ThisScope, &mut |stmt| {
        for (name, value) in bound_by(stmt) {
            bindings.entry(name).or_default().push(value);
        }
    });
    scopes.push(Scope { function, body, parent, bindings });
    let mut inner = Vec::new();
    functions(body, &mut inner);
    for function in inner {
        collect(Some(function), &function.body, own, scopes);
    }
}

/// Lists the functions right in some statements, and the methods of classes.
fn functions<'f>(body: &'f [Stmt<'f>], all: &mut Vec<&'f Function<'f>>) {
    walk(body, Into::ThisScope, &mut |stmt| match &stmt.kind {
        Deed::Function(function) => all.push(function),
        Deed::Class { body, .. } => functions(body, all),
        _ => {}
    });
}

/// Lists the names that a statement itself binds, with the value where it is told.
pub fn bound_by<'f>(stmt: &'f Stmt<'f>) -> Vec<(&'f str, Binding<'f>)> {
    let mut all = Vec::new();
    match &stmt.kind {
        Deed::Assign { targets, value, augmented } => {
            for target in targets {
                match target.as_name() {
                    Some(name) if !augmented => all.push((name, Some(value))),
                    _ => names_in(target, &mut all),
                }
            }
        }
        Deed::Import(imports) => all.extend(imports.iter().map(|import| (import.name, None))),
        Deed::Loop { target, .. } => target.iter().for_each(|target| names_in(target, &mut all)),
        Deed::Function(function) => all.push((function.name, None)),
        Deed::Class { name, .. } => all.push((name, None)),
        Deed::Delete(items) => items.iter().for_each(|item| names_in(item, &mut all)),
        Deed::With { items, .. } | Deed::Blocks { heads: items, .. } => {
            // `as name`: whatever is named there may be bound.
            let with_as = items.iter().filter(|item| item.text.contains(" as "));
            with_as.for_each(|item| item.walk(&mut |expr| all.extend(expr.as_name().map(|name| (name, None)))));
        }
        Deed::Expr(_) | Deed::If(_) | Deed::Return(_) | Deed::Leave(_) | Deed::Outer(_) | Deed::Other(_) => {}
    }
    for expr in stmt.exprs() {
        expr.walk(&mut |expr| {
            if let Kind::Walrus(name, value) = &expr.kind {
                all.extend(name.as_name().map(|name| (name, Some(&**value))));
            }
        });
    }
    all
}

/// Lists the plain names of a target: `a, (b, *c)`; attributes and elements bind no name.
fn names_in<'f>(target: &'f Expr<'f>, all: &mut Vec<(&'f str, Binding<'f>)>) {
    match &target.kind {
        Kind::Name => all.push((target.text, None)),
        Kind::Sequence(items) | Kind::Other(items) => items.iter().for_each(|item| names_in(item, all)),
        _ => {}
    }
}

/// Reads `parser.add_argument("--dist-backend", default="gloo")`.
fn option_of<'f>(call: &'f Call<'f>) -> Option<(String, Option<&'f Expr<'f>>)> {
    if !matches!(call.function.kind, Kind::Attribute(_, "add_argument")) {
        return None;
    }
    let text = |expr: &'f Expr<'f>| match expr.kind {
        Kind::Text(text) => Some(text),
        _ => None,
    };
    let positional = call.arguments.iter().filter(|argument| argument.name.is_none());
    let flags: Vec<&str> = positional.filter_map(|argument| text(&argument.value)).collect();
    let name = match call.keyword("dest") {
        Some(dest) => text(dest)?,
        None => flags.iter().find(|flag| flag.starts_with("--")).or(flags.first())?.trim_start_matches('-'),
    };
    Some((name.replace('-', "_"), call.keyword("default")))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::evidence::python_code::read::read;
    use crate::evidence::python_code::source::Source;

    /// The value of the argument of the first call of `want`, as text.
    fn value(text: &str, env: &[&str]) -> Option<String> {
        let source = Source::new(text.as_bytes()).unwrap();
        let file = read(&source).unwrap();
        let unit = Unit::new(&file);
        for (at, scope) in unit.scopes.iter().enumerate() {
            let mut found = None;
            walk_exprs(scope.body, Into::ThisScope, &mut |expr| {
                let call = expr.as_call().filter(|call| call.function.text == "want");
                found = found.or(call.map(|call| &call.arguments[0].value));
            });
            if let Some(expr) = found {
                let known = unit.known(expr, at, &|name| env.contains(&name))?;
                return Some(format!("{:?} {:?}", known.constant, known.origin));
            }
        }
        panic!("no call in {text}");
    }

    #[test]
    fn values_that_are_certain() {
        let parser = "p.add_argument('-b', '--dist-backend', default='gloo')\nargs = p.parse_args()\n";
        for (text, want) in [
            ("want('a')".to_owned(), Some("Text(\"a\") Code")),
            ("X = 'a'\ndef f():\n    want(X)".into(), Some("Text(\"a\") Code")),
            ("def f():\n    x = y = 3\n    want(y)".into(), Some("Number(3) Code")),
            ("import os\nwant(os.getenv('B', 'gloo'))".into(), Some("Text(\"gloo\") Environment(\"B\")")),
            (
                "from os import environ as e\nB = e.get('B', 'gloo')\nwant(B.lower())".into(),
                Some("Text(\"gloo\") Environment(\"B\")"),
            ),
            ("import os\nwant(os.environ.get('B') or 'gloo')".into(), Some("Text(\"gloo\") Environment(\"B\")")),
            (format!("{parser}want(args.dist_backend)"), Some("Text(\"gloo\") Option(\"dist_backend\")")),
            (
                format!("def main(args):\n    want(args.dist_backend)\n{parser}"),
                Some("Text(\"gloo\") Option(\"dist_backend\")"),
            ),
            // Not certain.
            (format!("{parser}args.dist_backend = 'x'\nwant(args.dist_backend)"), None),
            ("X = 'a'\nX = 'b'\nwant(X)".into(), None),
            ("X = 'a'\ndef g():\n    global X\n    X = 'b'\ndef f():\n    want(X)".into(), None),
            ("def f(x='a'):\n    want(x)".into(), None),
            ("for x in y:\n    want(x)".into(), None),
            ("x = 'a'\nx += 'b'\nwant(x)".into(), None),
            ("with f() as x:\n    want(x)".into(), None),
            ("want('a' if b else 'c')".into(), None),
            ("x = x\nwant(x)".into(), None),
            ("import os\nwant(os.getenv('SET', 'gloo'))".into(), None),
        ] {
            assert_eq!(value(&text, &["SET"]).as_deref(), want, "{text}");
        }
    }

    #[test]
    fn imports_lead_to_where_a_name_is_from() {
        for (text, want) in [
            ("import torch.distributed as dist\ndist.init_process_group()", true),
            ("import torch\ntorch.distributed.init_process_group()", true),
            ("from torch import distributed as d\nd.init_process_group()", true),
            ("from torch.distributed import init_process_group as i\ni()", true),
            ("from torch.distributed import *\ninit_process_group()", true),
            (
                "try:\n    from a import i\nexcept E:\n    from torch.distributed import init_process_group as i\ni()",
                true,
            ),
            ("init_process_group()", false),
            ("from torchy.distributed import init_process_group\ninit_process_group()", false),
            ("import torch.distributed as dist\nother.init_process_group()", false),
        ] {
            let source = Source::new(text.as_bytes()).unwrap();
            let file = read(&source).unwrap();
            let unit = Unit::new(&file);
            let mut found = false;
            walk_exprs(&file.body, Into::Functions, &mut |expr| {
                found |= expr
                    .as_call()
                    .is_some_and(|call| unit.is_from(&call.function, &["torch.distributed"], "init_process_group"));
            });
            assert_eq!(found, want, "{text}");
        }
    }
}
