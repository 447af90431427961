//! Overlap of forward and backward chunks that do not have the same number of layers.

use super::*;

pub const RULE: Rule = Rule { id: "hp-overlap-deadlock", words: &["overlap_b_f"], check };

fn check(look: &Look<'_>) -> Vec<Found> {
    let unit = look.unit;
    if !unit.imports("hyper_parallel") {
        return Vec::new();
    }
    let mut found = Vec::new();
    let overlaps = |site: &Site<'_>| site.call.keyword("overlap_b_f").is_some();
    for site in sites(unit).into_iter().filter(overlaps).take(MOST_PLACES) {
        if !look.is_true(site.call.keyword("overlap_b_f"), site.scope) {
            continue;
        }
        // The numbers of layers that this function or the module gives to its chunks.
        for scope in [site.scope, 0] {
            let Some((name, list, numbers)) = chunks(look, scope) else { continue };
            let says = Text::new(
                format!(
                    "`overlap_b_f` pairs chunks, and `{name}` gives them {numbers:?} layers: where a pair differs, one thread waits for ever"
                ),
                format!(
                    "`overlap_b_f` 使 chunk 成对执行，而 `{name}` 给出的层数为 {numbers:?}：层数不同的一对会有一个线程一直等待"
                ),
            );
            found.push(Found::new(list, Sure::Likely, says));
            break;
        }
    }
    found
}

/// Finds a list of different numbers of layers per chunk or stage in a scope.
fn chunks<'f>(look: &Look<'f>, scope: usize) -> Option<(&'f str, &'f Expr<'f>, Vec<i64>)> {
    let mut found = None;
    let mut take = |name: &'f str, value: &'f Expr<'f>| {
        let lower = name.to_ascii_lowercase();
        let fits = (lower.contains("layer") || lower.contains("moe"))
            && ["chunk", "stage", "rank"].iter().any(|word| lower.contains(word));
        let Kind::Sequence(items) = &value.kind else { return };
        let numbers: Option<Vec<i64>> = items.iter().map(|item| look.number(Some(item), scope)).collect();
        if let Some(numbers) = numbers.filter(|numbers| fits && numbers.windows(2).any(|pair| pair[0] != pair[1])) {
            found.get_or_insert((name, value, numbers));
        }
    };
    let body = look.unit.scopes[scope].body;
    super::super::tree::walk(body, Into::ThisScope, &mut |stmt| {
        if let Deed::Assign { targets, value, augmented: false } = &stmt.kind {
            targets.iter().filter_map(Expr::as_name).for_each(|name| take(name, value));
        }
    });
    walk_exprs(body, Into::ThisScope, &mut |expr| {
        for argument in expr.as_call().iter().flat_map(|call| &call.arguments) {
            if let Some(name) = argument.name {
                take(name, &argument.value);
            }
        }
    });
    found
}

#[cfg(test)]
mod tests {
    use super::super::testing::{Want, expect};
    use super::*;

    const HEAD: &str = "from hyper_parallel import ScheduleInterleaved1F1B as S\n";

    #[test]
    fn chunks_of_different_length() {
        for (code, want) in [
            ("layers_per_chunk = [2, 3]\ns = S(stages, 4, overlap_b_f=True)\n", Want::Likely(2)),
            (
                "def f():\n    OVERLAP = True\n    cut(model, moe_layers_per_stage=(4, 4, 3))\n    S(stages, 8, overlap_b_f=OVERLAP)\n",
                Want::Likely(4),
            ),
            ("layers_per_chunk = [2, 2]\ns = S(stages, 4, overlap_b_f=True)\n", Want::None),
            ("layers_per_chunk = [2, 3]\ns = S(stages, 4, overlap_b_f=False)\n", Want::None),
            ("layers_per_chunk = [2, n]\ns = S(stages, 4, overlap_b_f=True)\n", Want::None),
            ("stage_ids = [0, 1]\ns = S(stages, 4, overlap_b_f=True)\n", Want::None),
            ("def f():\n    layers_per_chunk = [2, 3]\ns = S(stages, 4, overlap_b_f=True)\n", Want::None),
        ] {
            expect(&RULE, &format!("{HEAD}{code}"), &want);
        }
        expect(&RULE, "layers_per_chunk = [2, 3]\nS(overlap_b_f=True)\n", &Want::None);
    }
}
