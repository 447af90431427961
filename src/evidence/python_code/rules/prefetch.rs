//! Activation swap: wrapped layers whose order nobody registered, wrong bounds of the loop that registers it, and
//! policies that do not fit.

use super::super::tree::{Function, Param};
use super::*;

pub const RULE: Rule = Rule {
    id: "hp-swap",
    words: &["swap_wrapper", "MUST_SWAP", "set_forward_prefetch_layer", "swap_inputs", "policy_fn"],
    check,
};

const REGISTERS: &str = "set_forward_prefetch_layer";

fn check(look: &Look<'_>) -> Vec<Found> {
    if !look.unit.imports("hyper_parallel") {
        return Vec::new();
    }
    let all = sites(look.unit);
    let mut found: Vec<Found> = unregistered(look, &all).into_iter().collect();
    let registers = |site: &&Site<'_>| matches!(site.call.function.kind, Kind::Attribute(_, name) if name == REGISTERS);
    found.extend(all.iter().filter(registers).take(MOST_PLACES).filter_map(|site| bounds(look, site)));
    let with_policy = |site: &&Site<'_>| site.call.argument(1, "policy_fn").is_some();
    found.extend(all.iter().filter(with_policy).filter_map(|site| policy(look, site)).take(MOST_PLACES));
    found
}

/// Layers are wrapped for swapping, and no pair of neighbours is registered anywhere in the project.
fn unregistered(look: &Look<'_>, all: &[Site<'_>]) -> Option<Found> {
    let by_schedule = all.iter().any(|site| look.is_true(site.call.keyword("swap"), site.scope));
    if look.facts.has(REGISTERS) || by_schedule {
        return None;
    }
    let site = all.iter().find(|site| {
        let wraps = look.unit.is_from(&site.call.function, HP, "swap_wrapper");
        let checkpoints = look.unit.is_from(&site.call.function, HP, "checkpoint_wrapper");
        wraps || (checkpoints && (look.is_true(site.call.keyword("swap_inputs"), site.scope) || swaps(look, site)))
    })?;
    let says = Text::new(
        format!(
            "layers are wrapped for swapping here, and no file of the project calls `{REGISTERS}`: nothing is loaded ahead"
        ),
        format!("此处为 swap 包装了层，但项目中没有任何文件调用 `{REGISTERS}`：不会预取"),
    );
    Some(Found::new(site.expr, Sure::Likely, says))
}

/// Says whether the policy of a wrapper returns MUST_SWAP somewhere.
fn swaps(look: &Look<'_>, site: &Site<'_>) -> bool {
    let Some(Policy { returns, .. }) = policy_of(look, site) else { return false };
    returns.iter().any(|value| value.is_some_and(is_swap))
}

/// `for i in range(len(layers))` with `layers[i], layers[i + 1]`.
fn bounds<'f>(look: &Look<'f>, site: &Site<'f>) -> Option<Found> {
    let first = site.call.argument(0, "first_layer")?;
    let second = site.call.argument(1, "second_layer")?;
    if first.text == second.text && !matches!(first.kind, Kind::Call(_)) {
        let says = Text::new(
            "a layer is registered as its own neighbour, which has no effect",
            "把某一层注册为自己的相邻层，不起作用",
        );
        return Some(Found::new(site.expr, Sure::Certain, says));
    }
    let around = site.loops.last()?;
    let Deed::Loop { target: Some(target), head, body, .. } = &around.kind else { return None };
    let index = target.as_name()?;
    let (Kind::Subscript(one, at), Kind::Subscript(other, next)) = (&first.kind, &second.kind) else { return None };
    let ([at], [next]) = (at.as_slice(), next.as_slice()) else { return None };
    let follows = at.as_name() == Some(index)
        && matches!(&next.kind, Kind::Binary(left, "+", right)
            if left.as_name() == Some(index) && matches!(right.kind, Kind::Number(1)));
    let range = head.as_call().filter(|call| call.function.as_name() == Some("range"))?;
    if one.text != other.text || !follows || !look.unit.is_fixed("range", site.scope) {
        return None;
    }
    let [bound] = range.arguments.as_slice() else { return None };
    let length_of = |expr: &Expr<'_>| {
        let call = expr.as_call()?;
        let [argument] = call.arguments.as_slice() else { return None };
        (call.function.as_name() == Some("len")).then_some(argument.value.text == one.text)
    };
    if length_of(&bound.value) == Some(true) {
        let says = Text::new(
            format!(
                "the last turn asks for `{}`, which is one too many: it ends at `len({}) - 1`",
                second.text, one.text
            ),
            format!("最后一轮会访问 `{}`，越界一个：循环应到 `len({}) - 1` 为止", second.text, one.text),
        );
        let end = bound.value.range().end;
        // Up to now the last turn ends the program; a loop that does nothing else does the same otherwise. Inside
        // `try` that end may be what the program waits for.
        let single = body.len() == 1 && site.stmt.exprs().iter().any(|expr| expr.at == site.expr.at);
        let edits = if single && site.under.is_empty() && !guarded(look, site) {
            vec![Edit { range: end..end, text: " - 1".to_owned() }]
        } else {
            Vec::new()
        };
        return Some(Found::new(site.expr, Sure::Certain, says).with(edits));
    }
    if let Kind::Binary(left, "-", right) = &bound.value.kind
        && length_of(left) == Some(true)
        && let Kind::Number(less @ 2..) = right.kind
    {
        let says = Text::new(
            format!("the loop ends {less} before the last layer: its last pairs are not registered"),
            format!("循环在最后一层之前 {less} 层就结束：末尾的相邻层没有注册"),
        );
        return Some(Found::new(site.expr, Sure::Likely, says));
    }
    None
}

/// Says whether a statement of the scope that catches exceptions holds the call.
fn guarded(look: &Look<'_>, site: &Site<'_>) -> bool {
    let mut found = false;
    super::super::tree::walk(look.unit.scopes[site.scope].body, Into::ThisScope, &mut |stmt| {
        let catches = matches!(stmt.kind, Deed::Blocks { .. } | Deed::With { .. });
        found |= catches && stmt.range.contains(&site.expr.at);
    });
    found
}

/// What a policy takes and returns.
struct Policy<'f> {
    params: &'f [Param<'f>],
    /// `None` for a bare `return`.
    returns: Vec<Option<&'f Expr<'f>>>,
    /// Whether every way through it is one of the returns, with no condition.
    single: bool,
}

fn policy_of<'f>(look: &Look<'f>, site: &Site<'f>) -> Option<Policy<'f>> {
    let given = site.call.argument(1, "policy_fn")?;
    let lambda = |expr: &'f Expr<'f>| match &expr.kind {
        Kind::Lambda(params, body) => {
            let single = !matches!(body.kind, Kind::Choice(_));
            Some(Policy { params, returns: vec![Some(&**body)], single })
        }
        _ => None,
    };
    if let Some(policy) = lambda(given) {
        return Some(policy);
    }
    let name = given.as_name()?;
    if let Some(policy) = look.unit.binding(name, site.scope).and_then(|(_, value)| lambda(value)) {
        return Some(policy);
    }
    let Function { params, body, .. } = look.unit.function(name)?;
    let mut returns = Vec::new();
    super::super::tree::walk(body, Into::ThisScope, &mut |stmt| {
        if let Deed::Return(value) = &stmt.kind {
            returns.push(value.as_ref());
        }
    });
    let single = returns.len() == 1 && body.iter().any(|stmt| matches!(stmt.kind, Deed::Return(_)));
    Some(Policy { params, returns, single })
}

fn is_swap(expr: &Expr<'_>) -> bool {
    matches!(expr.kind, Kind::Attribute(_, "MUST_SWAP"))
}

/// A policy that swaps every tensor, or whose parameters are those of the other wrapper.
fn policy(look: &Look<'_>, site: &Site<'_>) -> Option<Found> {
    let unit = look.unit;
    let swap = unit.is_from(&site.call.function, HP, "swap_wrapper");
    let checkpoint = unit.is_from(&site.call.function, HP, "checkpoint_wrapper");
    if !swap && !checkpoint {
        return None;
    }
    let policy = policy_of(look, site)?;
    let needed = policy.params.iter().filter(|param| !param.has_default && !param.spread).count();
    let spreads = policy.params.iter().any(|param| param.spread);
    let at = site.call.argument(1, "policy_fn")?;
    if swap && needed > 1 {
        let says = Text::new(
            "the policy of `swap_wrapper` is called with one tensor, and this one needs more arguments",
            "`swap_wrapper` 的策略函数只会收到一个张量参数，而此函数需要更多参数",
        );
        return Some(Found::new(at, Sure::Certain, says));
    }
    if checkpoint && policy.params.len() == 1 && !spreads {
        let says = Text::new(
            "the policy of `checkpoint_wrapper` is called with (ctx, op, …), and this one takes one argument",
            "`checkpoint_wrapper` 的策略函数以 (ctx, op, …) 调用，而此函数只接受一个参数",
        );
        return Some(Found::new(at, Sure::Certain, says));
    }
    let all = swap && policy.single && policy.returns.iter().all(|value| value.is_some_and(is_swap));
    all.then(|| {
        let says = Text::new(
            "the policy swaps every tensor, small ones too: it should return `MUST_SAVE` below some size",
            "该策略会换出所有张量（包括小张量）：小于阈值时应返回 `MUST_SAVE`",
        );
        Found::new(at, Sure::Likely, says)
    })
}

#[cfg(test)]
mod tests {
    use super::super::testing::{Want, expect};
    use super::*;

    const HEAD: &str = "from hyper_parallel.core.activation_checkpoint import CheckpointPolicy as P, SwapManager, swap_wrapper, checkpoint_wrapper\n";
    const PAIRS: &str = "for i in range(len(m.layers) - 1):\n    SwapManager().set_forward_prefetch_layer(m.layers[i], m.layers[i + 1])\n";

    #[test]
    fn neighbours_are_registered_to_the_last() {
        for (code, want) in [
            ("m.a = swap_wrapper(m.a)\n".to_owned(), Want::Likely(2)),
            ("def pick(ctx, op, *a, **k):\n    return P.MUST_SWAP\nm = checkpoint_wrapper(m, policy_fn=pick)\n".into(), Want::Likely(4)),
            ("m = checkpoint_wrapper(m, swap_inputs=True)\n".into(), Want::Likely(2)),
            (PAIRS.replace(" - 1", ""), Want::Edit(format!("{HEAD}{PAIRS}"))),
            (PAIRS.replace(" - 1", "").replace('\n', "\r\n"), Want::Edit(format!("{HEAD}{}", PAIRS.replace('\n', "\r\n")))),
            // More happens in the loop, or around it.
            (format!("{}    print(i)\n", PAIRS.replace(" - 1", "")), Want::Certain(3)),
            (format!("try:\n    {}except IndexError:\n    pass\n", PAIRS.replace(" - 1", "").replace("\n    ", "\n        ")), Want::Certain(4)),
            (PAIRS.replace(" - 1", " - 2"), Want::Likely(3)),
            (PAIRS.replace("i + 1", "i"), Want::Certain(3)),
            // Right.
            (PAIRS.to_owned(), Want::None),
            (format!("m.a = swap_wrapper(m.a)\n{PAIRS}"), Want::None),
            ("for a, b in zip(m.layers, m.layers[1:]):\n    SwapManager().set_forward_prefetch_layer(a, b)\n".into(), Want::None),
            ("for i in range(1, len(m.layers)):\n    SwapManager().set_forward_prefetch_layer(m.layers[i - 1], m.layers[i])\n".into(), Want::None),
            ("m.a = swap_wrapper(m.a)\ns = Schedule(stages, 4, swap=True)\n".into(), Want::None),
            ("def pick(ctx, op, *a, **k):\n    return P.MUST_RECOMPUTE\nm = checkpoint_wrapper(m, policy_fn=pick)\n".into(), Want::None),
        ] {
            expect(&RULE, &format!("{HEAD}{code}"), &want);
        }
        expect(&RULE, "from other import swap_wrapper\nm = swap_wrapper(m)\n", &Want::None);
    }

    #[test]
    fn policies_fit_their_wrapper_and_look_at_the_size() {
        let good = "def pick(t):\n    if t.numel() < 9:\n        return P.MUST_SAVE\n    return P.MUST_SWAP\n";
        for (code, want) in [
            ("def pick(t):\n    return P.MUST_SWAP\nm = swap_wrapper(m, policy_fn=pick)\n".to_owned(), Want::Likely(7)),
            ("m = swap_wrapper(m, lambda t: P.MUST_SWAP)\n".into(), Want::Likely(5)),
            ("def pick(ctx, op, *a):\n    return x\nm = swap_wrapper(m, pick)\n".into(), Want::Certain(7)),
            (format!("{good}m = checkpoint_wrapper(m, policy_fn=pick)\n"), Want::Certain(9)),
            (format!("{good}m = swap_wrapper(m, pick)\n"), Want::None),
            ("m = swap_wrapper(m, lambda t: P.MUST_SWAP if t.numel() > 9 else P.MUST_SAVE)\n".into(), Want::None),
            ("m = swap_wrapper(m, policy_fn=config.policy)\n".into(), Want::None),
            ("def pick(*a):\n    return P.MUST_SAVE\nm = checkpoint_wrapper(m, policy_fn=pick)\n".into(), Want::None),
        ] {
            let text = format!("{HEAD}{PAIRS}\n{code}");
            expect(&RULE, &text, &want);
        }
    }
}
