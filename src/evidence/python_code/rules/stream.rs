//! Gradients that are reduced in a stream of their own and used before anybody waits for them.

use super::*;

pub const RULE: Rule = Rule { id: "hp-hsdp-overlap", words: &["comm_async"], check };

const WAITS: &str = "hsdp_sync_stream";

fn check(look: &Look<'_>) -> Vec<Found> {
    let unit = look.unit;
    let all = sites(unit);
    let overlapped: Vec<&Site<'_>> = all
        .iter()
        .filter(|site| unit.is_from(&site.call.function, HP, "hsdp"))
        // The place among the arguments differs by version: only the keyword is certain.
        .filter(|site| look.is_true(site.call.keyword("comm_async"), site.scope))
        .collect();
    // Whoever waits somewhere in the project may do it from here.
    if overlapped.is_empty() || look.facts.has(WAITS) {
        return Vec::new();
    }
    let mut found = Vec::new();
    for here in all.chunk_by(|one, next| one.scope == next.scope) {
        let Some(backward) = here.iter().find(|site| is_backward(site)) else { continue };
        let used = here.iter().find(|site| site.expr.at > backward.expr.at && uses_gradients(site));
        let Some(used) = used else { continue };
        let same = overlapped.iter().take(MOST_PLACES).any(|site| site.scope == used.scope);
        let says = Text::new(
            format!(
                "gradients are used here without `{WAITS}()` after backward, and `comm_async=True` reduces them in another stream"
            ),
            format!("反向之后未调用 `{WAITS}()` 就在此使用梯度，而 `comm_async=True` 会在另一条流中规约梯度"),
        );
        let sure = if same { Sure::Certain } else { Sure::Likely };
        found.push(Found::new(used.expr, sure, says));
    }
    found
}

/// `loss.backward()`, or a function that MindSpore made for value and gradients.
fn is_backward(site: &Site<'_>) -> bool {
    match site.call.function.kind {
        Kind::Attribute(_, name) => name == "backward",
        Kind::Name => matches!(site.call.function.text, "grad_fn" | "backward_fn" | "value_and_grad_fn"),
        _ => false,
    }
}

fn uses_gradients(site: &Site<'_>) -> bool {
    match &site.call.function.kind {
        Kind::Attribute(object, "step") => {
            let text = object.text.to_ascii_lowercase();
            text.contains("opt") || text.contains("scaler")
        }
        Kind::Attribute(_, name) => name.starts_with("clip_grad"),
        Kind::Name => site.call.function.text.starts_with("clip_grad") || site.call.function.text == "optimizer",
        _ => false,
    }
}

#[cfg(test)]
mod tests {
    use super::super::testing::{Want, expect};
    use super::*;

    const HEAD: &str = "from hyper_parallel import hsdp\n";

    #[test]
    fn gradients_are_waited_for() {
        for (code, want) in [
            (
                "net = hsdp(net, 2, comm_async=True)\nfor x in data:\n    net(x).backward()\n    optimizer.step()\n",
                Want::Certain(5),
            ),
            (
                "net = hsdp(net, 2, comm_async=True)\ndef step(x):\n    net(x).backward()\n    torch.nn.utils.clip_grad_norm_(net.parameters(), 1)\n    optimizer.step()\n",
                Want::Likely(5),
            ),
            ("A = True\nhsdp(net, comm_async=A)\nloss, grads = grad_fn(x)\noptimizer(grads)\n", Want::Certain(5)),
            // Waited for, not overlapped, or nothing used here.
            (
                "from hyper_parallel import hsdp_sync_stream\nhsdp(net, comm_async=True)\nloss.backward()\nhsdp_sync_stream()\noptimizer.step()\n",
                Want::None,
            ),
            ("hsdp(net, 2)\nloss.backward()\noptimizer.step()\n", Want::None),
            ("hsdp(net, comm_async=False)\nloss.backward()\noptimizer.step()\n", Want::None),
            ("hsdp(net, comm_async=flag)\nloss.backward()\noptimizer.step()\n", Want::None),
            ("hsdp(net, comm_async=True)\nloss.backward()\nscheduler.step()\n", Want::None),
            ("hsdp(net, comm_async=True)\noptimizer.step()\nloss.backward()\n", Want::None),
        ] {
            expect(&RULE, &format!("{HEAD}{code}"), &want);
        }
        expect(&RULE, "from other import hsdp\nhsdp(n, comm_async=True)\nl.backward()\nopt.step()\n", &Want::None);
    }
}
