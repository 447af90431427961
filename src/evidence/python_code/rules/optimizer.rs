//! Optimizers that are given a model's parameters before `fully_shard` replaces them.
//!
//! Followed within a function, in order: which statement takes the parameters of which model, and which shards it.
//! Helpers of the same file that shard, or make the optimizer, are looked into.

use std::collections::BTreeMap;

use super::super::tree::Function;
use super::moving::{self, Block, Early};
use super::*;

pub const RULE: Rule = Rule { id: "hp-optimizer-memory", words: &["fully_shard", "hsdp"], check };

const SHARDING: &[&str] = &["torch.distributed.fsdp", "torch.distributed._composable", "hyper_parallel"];
const CLASSES: &[&str] = &[
    "ASGD",
    "Adadelta",
    "Adafactor",
    "Adagrad",
    "Adam",
    "AdamW",
    "AdamWeightDecay",
    "Adamax",
    "ChainedOptimizer",
    "FusedAdam",
    "Lamb",
    "Lars",
    "Lion",
    "Momentum",
    "Muon",
    "NAdam",
    "NpuFusedAdamW",
    "RAdam",
    "RMSprop",
    "SGD",
    "get_hyper_optimizer",
];
const PARAMETERS: &[&str] =
    &["get_parameters", "named_parameters", "parameters", "parameters_and_names", "trainable_params"];
/// Words of functions that have `optim` in their names and make none.
const NO_MAKERS: &[&str] = &["ckpt", "hook", "load", "offload", "save", "state", "step", "wrap", "zero"];

/// Something that happens to a model.
struct Event<'f> {
    kind: Happens<'f>,
    /// `model`, `self.model`, `model.layers`
    model: String,
    expr: &'f Expr<'f>,
    trail: Vec<Block<'f>>,
    /// The `if`s around it: where they begin, and which arm.
    arms: Vec<(usize, usize)>,
    /// A helper does it.
    by_helper: bool,
    /// Where the way ends that it lies on: behind a `return` nothing of it counts.
    until: Option<usize>,
}

/// Where parameters are collected.
type Place<'f> = (&'f Expr<'f>, Vec<Block<'f>>);

enum Happens<'f> {
    /// An optimizer takes its parameters; who holds it, and the statement that collects them.
    Taken {
        holder: Option<&'f str>,
    },
    Sharded,
    /// The name gets another model.
    Replaced,
}

/// What functions of the file do to their parameters, by name.
#[derive(Default)]
struct Helpers<'f> {
    shards: BTreeMap<&'f str, Vec<usize>>,
    makes: BTreeMap<&'f str, Vec<usize>>,
}

fn check(look: &Look<'_>) -> Vec<Found> {
    let unit = look.unit;
    let mut helpers = Helpers::default();
    // Helpers that call helpers: two rounds.
    for _ in 0..2 {
        let mut next = Helpers::default();
        for (at, scope) in unit.scopes.iter().enumerate() {
            let Some(function) = scope.function.filter(|function| unit.function(function.name).is_some()) else {
                continue;
            };
            let events = Follower::follow(look, &helpers, at);
            let of = |kind: fn(&Happens<'_>) -> bool| indices(function, &events, kind);
            next.shards.insert(function.name, of(|kind| matches!(kind, Happens::Sharded)));
            next.makes.insert(function.name, of(|kind| matches!(kind, Happens::Taken { .. })));
        }
        helpers = next;
    }
    let mut found = Vec::new();
    for at in 0..unit.scopes.len() {
        found.extend(judge(look, at, &Follower::follow(look, &helpers, at)));
    }
    found
}

/// Lists the parameters of a function that something happens to.
fn indices(function: &Function<'_>, events: &[Event<'_>], is: fn(&Happens<'_>) -> bool) -> Vec<usize> {
    let hit = |name: &str| events.iter().any(|event| is(&event.kind) && related(&event.model, name));
    function.params.iter().enumerate().filter(|(_, param)| hit(param.name)).map(|(at, _)| at).collect()
}

fn judge<'f>(look: &Look<'f>, scope: usize, events: &[Event<'f>]) -> Vec<Found> {
    let mut early: Vec<(&Event<'f>, Vec<&Event<'f>>)> = Vec::new();
    let takes = events.iter().enumerate().filter(|(_, event)| matches!(event.kind, Happens::Taken { .. }));
    for (at, taken) in takes.take(MOST_PLACES) {
        let Happens::Taken { holder } = taken.kind else { continue };
        let mut shards: Vec<&Event<'f>> = Vec::new();
        for later in &events[at + 1..] {
            let apart = taken.until.is_some_and(|until| later.expr.at >= until) || exclusive(&taken.arms, &later.arms);
            if apart || !related(&taken.model, &later.model) {
                continue;
            }
            match later.kind {
                Happens::Replaced
                    if taken.model == later.model || taken.model.starts_with(&format!("{}.", later.model)) =>
                {
                    break;
                }
                Happens::Sharded => shards.push(later),
                Happens::Replaced | Happens::Taken { .. } => {}
            }
        }
        let Some(last) = shards.last() else { continue };
        // Made again after sharding: the first one does no harm.
        let again = events.iter().any(|event| {
            event.expr.at > last.expr.at
                && matches!(event.kind, Happens::Taken { holder: other } if holder.is_some() && other == holder)
        });
        if !again {
            early.push((taken, shards));
        }
    }
    let all: Vec<Early<'_, 'f>> = early
        .iter()
        .map(|(taken, shards)| Early {
            taken: &taken.trail,
            shards: shards.iter().map(|shard| shard.trail.as_slice()).collect(),
            model: &taken.model,
        })
        .collect();
    let edits = moving::after_sharding(look, scope, &all);
    let lines = |event: &Event<'_>| look.unit.file.source.line(event.expr.at);
    early.iter().map(|(taken, shards)| {
        let line = shards.last().map_or(0, |shard| lines(shard));
        let model = &taken.model;
        let says = Text::new(
            format!("the optimizer takes the parameters of `{model}` here, before line {line} shards them: it keeps the whole ones"),
            format!("优化器在此取得 `{model}` 的参数，而第 {line} 行才进行切分：它持有的仍是完整参数"),
        );
        let plain = shards.iter().any(|shard| !shard.by_helper && taken.arms.starts_with(&shard.arms));
        let sure = if plain && !taken.by_helper && shards.iter().all(|shard| shard.arms.starts_with(&taken.arms)) { Sure::Certain } else { Sure::Likely };
        Found::new(taken.expr, sure, says).with(edits.clone().unwrap_or_default())
    }).collect()
}

fn exclusive(one: &[(usize, usize)], other: &[(usize, usize)]) -> bool {
    one.iter().any(|(at, arm)| other.iter().any(|(same, index)| at == same && arm != index))
}

/// Says whether one is the other or a part of it.
fn related(one: &str, other: &str) -> bool {
    let below = |part: &str, whole: &str| {
        part.strip_prefix(whole).is_some_and(|rest| rest.is_empty() || rest.starts_with(['.', '[']))
    };
    below(one, other) || below(other, one)
}

/// Follows a scope in order.
struct Follower<'f, 'l> {
    look: &'l Look<'f>,
    helpers: &'l Helpers<'f>,
    events: Vec<Event<'f>>,
    trail: Vec<Block<'f>>,
    arms: Vec<(usize, usize)>,
    /// Names that stand for parts of models: `layer` for `model.layers`.
    parts: BTreeMap<&'f str, String>,
    /// Names that hold collected parameters: whose, and where they were collected.
    collected: BTreeMap<&'f str, Vec<(String, Place<'f>)>>,
}

impl<'f, 'l> Follower<'f, 'l> {
    fn follow(look: &'l Look<'f>, helpers: &'l Helpers<'f>, scope: usize) -> Vec<Event<'f>> {
        let mut follower = Self {
            look,
            helpers,
            events: Vec::new(),
            trail: Vec::new(),
            arms: Vec::new(),
            parts: BTreeMap::new(),
            collected: BTreeMap::new(),
        };
        follower.block(look.unit.scopes[scope].body);
        follower.events.sort_by_key(|event| event.expr.at);
        follower.events
    }

    fn block(&mut self, body: &'f [Stmt<'f>]) {
        for (index, stmt) in body.iter().enumerate() {
            self.trail.push(Block { body, index });
            self.stmt(stmt);
            match &stmt.kind {
                Deed::If(arms) => {
                    for (at, arm) in arms.iter().enumerate() {
                        let first = self.events.len();
                        self.arms.push((stmt.range.start, at));
                        self.block(&arm.body);
                        self.arms.pop();
                        if arm.body.last().is_some_and(|last| matches!(last.kind, Deed::Return(_) | Deed::Leave(_))) {
                            let end = stmt.range.end;
                            self.events[first..].iter_mut().for_each(|event| event.until = event.until.or(Some(end)));
                        }
                    }
                }
                Deed::Loop { target, head, .. } => {
                    if let (Some(target), Some(model)) = (target, self.first_model(head)) {
                        target.walk(&mut |expr| {
                            if let Some(name) = expr.as_name() {
                                self.parts.insert(name, model.clone());
                            }
                        });
                    }
                    stmt.blocks(Into::ThisScope).into_iter().for_each(|block| self.block(block));
                }
                Deed::Blocks { .. } => {
                    for (at, block) in stmt.blocks(Into::ThisScope).into_iter().enumerate() {
                        // The handlers of `try` run after a part of it.
                        if at > 0 {
                            self.arms.push((stmt.range.start + 1, at));
                        }
                        self.block(block);
                        if at > 0 {
                            self.arms.pop();
                        }
                    }
                }
                _ => stmt.blocks(Into::ThisScope).into_iter().for_each(|block| self.block(block)),
            }
            self.trail.pop();
        }
    }

    fn stmt(&mut self, stmt: &'f Stmt<'f>) {
        let mut calls: Vec<&'f Expr<'f>> = Vec::new();
        for expr in stmt.exprs() {
            expr.walk(&mut |expr| calls.extend(expr.as_call().map(|_| expr)));
        }
        let holder = match &stmt.kind {
            Deed::Assign { targets, .. } => targets.first().map(|target| target.text),
            _ => None,
        };
        for expr in &calls {
            let Some(call) = expr.as_call() else { continue };
            self.sharding(call, expr);
            self.taking(call, expr, holder);
        }
        let Deed::Assign { targets, value, augmented: false } = &stmt.kind else { return };
        for target in targets {
            self.assigned(target, value);
        }
    }

    fn assigned(&mut self, target: &'f Expr<'f>, value: &'f Expr<'f>) {
        let Some(model) = self.model_of(target) else {
            // Several targets: whatever stood there is gone.
            bound_by_target(target, &mut |name| {
                self.parts.remove(name);
                self.collected.remove(name);
            });
            return;
        };
        let from = self.parameters_in(value);
        if let Some(name) = target.as_name() {
            self.parts.remove(name);
            self.collected.remove(name);
            if !from.is_empty() && !self.makes_optimizer(value) {
                let trail = self.trail.clone();
                let all = from.into_iter().map(|(model, expr)| (model, (expr, trail.clone()))).collect();
                self.collected.insert(name, all);
                return;
            }
            let part = matches!(
                value.kind,
                Kind::Attribute(..) | Kind::Name | Kind::Subscript(..) | Kind::Comprehension { .. }
            );
            if let (true, Some(whole)) = (part, self.first_model(value)) {
                self.parts.insert(name, whole);
                return;
            }
        }
        // `model = wrap(model)` is the same model still.
        let mut itself = false;
        value.walk(&mut |expr| itself |= expr.text == target.text);
        if !itself {
            self.push(Happens::Replaced, model, target, false);
        }
    }

    fn push(&mut self, kind: Happens<'f>, model: String, expr: &'f Expr<'f>, by_helper: bool) {
        let (trail, arms) = (self.trail.clone(), self.arms.clone());
        self.events.push(Event { kind, model, expr, trail, arms, by_helper, until: None });
    }

    fn sharding(&mut self, call: &'f Call<'f>, expr: &'f Expr<'f>) {
        if is_sharding(self.look, call) {
            if let Some(model) = call.argument(0, "module").and_then(|module| self.model_of(module)) {
                self.push(Happens::Sharded, model, expr, false);
            }
            return;
        }
        for model in self.given_to_helper(call, |helpers| &helpers.shards) {
            self.push(Happens::Sharded, model, expr, true);
        }
    }

    fn taking(&mut self, call: &'f Call<'f>, expr: &'f Expr<'f>, holder: Option<&'f str>) {
        let mut taken: Vec<(String, Option<Place<'f>>)> = Vec::new();
        let mut by_helper = false;
        match maker(self.look, call) {
            Some(Maker::Class) => {
                for name in ["params", "model", "muon_params", "adamw_params"] {
                    // The model itself, parameters of it, or what was collected from it.
                    let place = if name == "params" { 0 } else { usize::MAX };
                    let Some(given) = call.argument(place, name) else { continue };
                    if name == "model" {
                        taken.extend(self.model_of(given).map(|model| (model, None)));
                    }
                    taken.extend(self.given_parameters(given));
                }
            }
            Some(Maker::Function) if holder.is_some_and(|holder| holder.to_ascii_lowercase().contains("opt")) => {
                by_helper = true;
                let with_optimizer =
                    call.arguments.iter().any(|argument| argument.value.text.to_ascii_lowercase().contains("optim"));
                if !with_optimizer {
                    let first = call.argument(0, "model").into_iter();
                    taken.extend(first.filter_map(|given| self.model_of(given)).map(|model| (model, None)));
                    for argument in &call.arguments {
                        taken.extend(self.given_parameters(&argument.value));
                    }
                }
            }
            Some(Maker::Function) | None => {
                by_helper = true;
                let models = self.given_to_helper(call, |helpers| &helpers.makes);
                taken.extend(models.into_iter().map(|model| (model, None)));
            }
        }
        taken.dedup_by(|a, b| a.0 == b.0);
        for (model, collected) in taken {
            let (at, trail) = collected.unwrap_or_else(|| (expr, self.trail.clone()));
            let arms = self.arms.clone();
            let kind = Happens::Taken { holder };
            self.events.push(Event { kind, model, expr: at, trail, arms, by_helper, until: None });
        }
    }

    /// Lists the models that a call gives to a helper which does something to that parameter.
    fn given_to_helper(
        &self,
        call: &'f Call<'f>,
        of: for<'h> fn(&'h Helpers<'f>) -> &'h BTreeMap<&'f str, Vec<usize>>,
    ) -> Vec<String> {
        let Some(name) = call.function.as_name() else { return Vec::new() };
        let (Some(indices), Some(function)) = (of(self.helpers).get(name), self.look.unit.function(name)) else {
            return Vec::new();
        };
        let given = indices.iter().filter_map(|at| call.argument(*at, function.params[*at].name));
        given.filter_map(|given| self.model_of(given)).collect()
    }

    /// Lists whose parameters an argument holds, directly or collected before.
    fn given_parameters(&self, given: &'f Expr<'f>) -> Vec<(String, Option<Place<'f>>)> {
        let mut all: Vec<_> = self.parameters_in(given).into_iter().map(|(model, _)| (model, None)).collect();
        given.walk(&mut |expr| {
            let collected = expr.as_name().and_then(|name| self.collected.get(name));
            let known = collected.into_iter().flatten();
            all.extend(known.map(|(model, place)| (model.clone(), Some(place.clone()))));
        });
        all
    }

    /// Lists whose parameters an expression asks for: `model.parameters()`.
    fn parameters_in(&self, expr: &'f Expr<'f>) -> Vec<(String, &'f Expr<'f>)> {
        let mut all = Vec::new();
        expr.walk(&mut |expr| {
            let function = expr.as_call().map(|call| &call.function.kind);
            if let Some(Kind::Attribute(object, method)) = function
                && PARAMETERS.contains(method)
                && let Some(model) = self.model_of(object)
            {
                all.push((model, expr));
            }
        });
        all
    }

    fn makes_optimizer(&self, value: &'f Expr<'f>) -> bool {
        let mut makes = false;
        value.walk(&mut |expr| makes |= expr.as_call().is_some_and(|call| maker(self.look, call).is_some()));
        makes
    }

    /// Returns the model that an expression names: a name with attributes and elements.
    fn model_of(&self, expr: &Expr<'_>) -> Option<String> {
        match &expr.kind {
            Kind::Name => Some(self.parts.get(expr.text).cloned().unwrap_or_else(|| expr.text.to_owned())),
            Kind::Attribute(object, name) => Some(format!("{}.{name}", self.model_of(object)?)),
            Kind::Subscript(value, _) => self.model_of(value),
            _ => None,
        }
    }

    /// Returns the first model in a loop's head: `model.layers` in `enumerate(model.layers)`.
    fn first_model(&self, expr: &Expr<'_>) -> Option<String> {
        match &expr.kind {
            Kind::Call(call) => match &call.function.kind {
                Kind::Attribute(object, _) => self.first_model(object),
                _ => call.arguments.iter().find_map(|argument| self.first_model(&argument.value)),
            },
            Kind::Comprehension { clauses, .. } => clauses.iter().find_map(|(_, iterable)| self.first_model(iterable)),
            Kind::Binary(left, _, right) => self.first_model(left).or_else(|| self.first_model(right)),
            _ => self.model_of(expr),
        }
    }
}

fn bound_by_target<'f>(target: &'f Expr<'f>, forget: &mut dyn FnMut(&'f str)) {
    target.walk(&mut |expr| expr.as_name().into_iter().for_each(&mut *forget));
}

/// Says whether a call shards a model.
pub fn is_sharding(look: &Look<'_>, call: &Call<'_>) -> bool {
    look.unit.is_from(&call.function, SHARDING, "fully_shard") || look.unit.is_from(&call.function, HP, "hsdp")
}

/// What makes an optimizer.
enum Maker {
    Class,
    /// A function that has it in its name.
    Function,
}

fn maker(look: &Look<'_>, call: &Call<'_>) -> Option<Maker> {
    let path = look.unit.paths(&call.function);
    let lasts: Vec<&str> = path.iter().filter_map(|path| path.rsplit('.').next()).collect();
    if lasts.iter().any(|last| CLASSES.contains(last)) {
        return Some(Maker::Class);
    }
    let makes = |last: &&str| {
        let lower = last.to_ascii_lowercase();
        lower.contains("optim") && !lower.ends_with("()") && !NO_MAKERS.iter().any(|word| lower.contains(word))
    };
    lasts.iter().any(makes).then_some(Maker::Function)
}
