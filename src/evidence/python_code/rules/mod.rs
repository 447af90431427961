//! What rules know: one file an issue.

mod backend;
mod layout;
mod mesh;
mod moving;
mod optimizer;
#[cfg(test)]
mod optimizer_tests;
mod overlap;
mod prefetch;
mod sparse_attention;
mod stage;
mod stream;
#[cfg(test)]
mod testing;

use super::names::{Constant, Known, Origin, Unit};
use super::tree::{Arm, Call, Deed, Expr, Into, Kind, Stmt, walk_exprs};
use super::{Edit, Found, Look, Rule, Sure};
use crate::recipe::Text;

/// All rules.
pub const ALL: &[Rule] = &[
    backend::RULE,
    layout::RULE,
    mesh::RULE,
    optimizer::RULE,
    overlap::RULE,
    prefetch::RULE,
    sparse_attention::RULE,
    stage::RULE,
    stream::RULE,
];

/// Words that rules ask the whole project for.
pub const PROJECT_WORDS: &[&str] =
    &["cuda", "hsdp_sync_stream", "megatron_adaptor", "set_forward_prefetch_layer", "torch_npu", "transfer_to_npu"];

/// Places of one kind that are looked at in a file: hostile files have many, and each may cost a walk of the file.
const MOST_PLACES: usize = 200;

/// The package that most rules are about.
const HP: &[&str] = &["hyper_parallel"];

/// A call and what is around it.
struct Site<'f> {
    call: &'f Call<'f>,
    expr: &'f Expr<'f>,
    stmt: &'f Stmt<'f>,
    /// Index of the scope.
    scope: usize,
    /// The `if`s around it within the scope, and which of their arms.
    under: Vec<(&'f [Arm<'f>], usize)>,
    /// The loops around it within the scope, outermost first.
    loops: Vec<&'f Stmt<'f>>,
    /// The `with` statements around it within the scope.
    withs: Vec<&'f Stmt<'f>>,
}

/// Lists all calls of a file, in the order of scopes and statements.
fn sites<'f>(unit: &'f Unit<'f>) -> Vec<Site<'f>> {
    let mut all = Vec::new();
    for (scope, one) in unit.scopes.iter().enumerate() {
        let mut around = Around { scope, under: Vec::new(), loops: Vec::new(), withs: Vec::new(), all: &mut all };
        around.visit(one.body);
    }
    all
}

struct Around<'f, 'o> {
    scope: usize,
    under: Vec<(&'f [Arm<'f>], usize)>,
    loops: Vec<&'f Stmt<'f>>,
    withs: Vec<&'f Stmt<'f>>,
    all: &'o mut Vec<Site<'f>>,
}

impl<'f> Around<'f, '_> {
    fn visit(&mut self, body: &'f [Stmt<'f>]) {
        for stmt in body {
            for expr in stmt.exprs() {
                expr.walk(&mut |expr| {
                    let Some(call) = expr.as_call() else { return };
                    self.all.push(Site {
                        call,
                        expr,
                        stmt,
                        scope: self.scope,
                        under: self.under.clone(),
                        loops: self.loops.clone(),
                        withs: self.withs.clone(),
                    });
                });
            }
            match &stmt.kind {
                Deed::If(arms) => {
                    for (at, arm) in arms.iter().enumerate() {
                        self.under.push((arms, at));
                        self.visit(&arm.body);
                        self.under.pop();
                    }
                }
                Deed::Loop { body, otherwise, .. } => {
                    self.loops.push(stmt);
                    self.visit(body);
                    self.loops.pop();
                    self.visit(otherwise);
                }
                Deed::With { body, .. } => {
                    self.withs.push(stmt);
                    self.visit(body);
                    self.withs.pop();
                }
                _ => stmt.blocks(Into::ThisScope).into_iter().for_each(|block| self.visit(block)),
            }
        }
    }
}

impl<'f> Look<'f> {
    /// Says whether an environment variable is set.
    fn is_set(&self, name: &str) -> bool {
        self.facts.environment.contains(name)
    }

    /// Returns the value of an expression, where it is certain.
    fn known(&self, expr: Option<&'f Expr<'f>>, scope: usize) -> Option<Known<'f>> {
        self.unit.known(expr?, scope, &|name| self.is_set(name))
    }

    /// Returns the number that an expression is, where nothing outside of the code can change it.
    fn number(&self, expr: Option<&'f Expr<'f>>, scope: usize) -> Option<i64> {
        match self.known(expr, scope)? {
            Known { constant: Constant::Number(number), origin: Origin::Code, .. } => Some(number),
            _ => None,
        }
    }

    /// Says whether an expression is `True` for certain.
    fn is_true(&self, expr: Option<&'f Expr<'f>>, scope: usize) -> bool {
        self.known(expr, scope).is_some_and(|known| known.constant == Constant::Bool(true))
    }

    /// Says whether some expression of the file passes a test.
    fn any(&self, test: &mut dyn FnMut(&Expr<'_>) -> bool) -> bool {
        let mut found = false;
        walk_exprs(&self.unit.file.body, Into::Functions, &mut |expr| found = found || test(expr));
        found
    }

    /// Says whether a name stands anywhere in the file, plain or as an attribute.
    fn mentions(&self, name: &str) -> bool {
        self.any(&mut |expr| match &expr.kind {
            Kind::Name => expr.text == name,
            Kind::Attribute(_, attribute) => *attribute == name,
            _ => false,
        })
    }
}
