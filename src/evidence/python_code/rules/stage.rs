//! Arguments of pipeline stages and schedules that cannot fit together.

use super::*;

pub const RULE: Rule = Rule { id: "hp-pp-stage", words: &["PipelineStage"], check };

const SCHEDULES: &[&str] = &["Schedule1F1B", "ScheduleGPipe", "ScheduleInterleaved1F1B"];

/// A stage with what is known of its numbers.
struct Stage<'f> {
    site: Site<'f>,
    index: Option<i64>,
    number: Option<i64>,
}

fn check(look: &Look<'_>) -> Vec<Found> {
    let unit = look.unit;
    let mut found = Vec::new();
    let mut stages: Vec<Stage<'_>> = Vec::new();
    let all = sites(unit);
    found.extend(all.iter().filter_map(|site| divisible(look, site)));
    for site in all {
        if stages.len() < MOST_PLACES && unit.is_from(&site.call.function, HP, "PipelineStage") {
            let index = look.number(site.call.argument(1, "stage_index"), site.scope);
            let number = look.number(site.call.argument(2, "stage_num"), site.scope);
            stages.push(Stage { site, index, number });
        }
    }
    for (at, stage) in stages.iter().enumerate() {
        let here = stages.iter().filter(|other| other.site.scope == stage.site.scope).count();
        found.extend(arguments(look, stage, here));
        let earlier = &stages[..at];
        let other = earlier.iter().find(|other| {
            other.site.scope == stage.site.scope
                && !exclusive(&other.site, &stage.site)
                && matches!((other.number, stage.number), (Some(a), Some(b)) if a != b)
        });
        if let Some((other, number)) = other.and_then(|other| Some((other.number?, stage.number?))) {
            let says = Text::new(
                format!(
                    "this stage is one of {number}, another of the same pipeline one of {other}: `stage_num` must be the same everywhere"
                ),
                format!("此处 stage_num 为 {number}，同一流水线的另一处为 {other}：所有 stage 的 `stage_num` 必须一致"),
            );
            found.push(Found::new(stage.site.expr, Sure::Likely, says));
        }
    }
    found
}

fn arguments(look: &Look<'_>, stage: &Stage<'_>, here: usize) -> Option<Found> {
    let call = stage.site.call;
    let first = call.argument(0, "submodule");
    if look.number(first, stage.site.scope).is_some() {
        let says = Text::new(
            "the first argument of `PipelineStage` is the module, then come `stage_index` and `stage_num`",
            "`PipelineStage` 的第一个参数是子模型，其后才是 `stage_index` 与 `stage_num`",
        );
        return Some(Found::new(stage.site.expr, Sure::Certain, says));
    }
    let index = stage.index?;
    let number = stage.number;
    if index < 0 || number.is_some_and(|number| index >= number) {
        let of = number.map_or(String::new(), |number| format!("{number}"));
        let says = Text::new(
            format!("`stage_index` {index} is not one of the {of} stages: it counts from 0 to `stage_num` - 1"),
            format!("`stage_index` 为 {index}，超出 {of} 个 stage 的范围：应为 0 到 `stage_num` - 1"),
        );
        return Some(Found::new(stage.site.expr, Sure::Certain, says));
    }
    // The same index on every rank, as far as this call goes.
    let alone = here == 1 && stage.site.under.is_empty() && stage.site.loops.is_empty();
    (alone && number.is_some_and(|number| number > 1)).then(|| {
        let says = Text::new(
            format!("`stage_index` is {index} on every rank: it must follow from the rank"),
            format!("每个 rank 的 `stage_index` 都是 {index}：应由 rank 推出"),
        );
        Found::new(stage.site.expr, Sure::Likely, says)
    })
}

/// Says whether two calls never run in one pass: different arms of one `if`.
fn exclusive(one: &Site<'_>, other: &Site<'_>) -> bool {
    one.under
        .iter()
        .any(|(arms, at)| other.under.iter().any(|(others, index)| std::ptr::eq(*arms, *others) && at != index))
}

/// A batch of known size that a schedule of known micro batches cannot cut; MindSpore refuses it.
fn divisible(look: &Look<'_>, site: &Site<'_>) -> Option<Found> {
    let unit = look.unit;
    SCHEDULES.iter().find(|schedule| unit.is_from(&site.call.function, HP, schedule))?;
    let micro = look.number(site.call.argument(1, "micro_batch_num"), site.scope)?;
    let says = |what: (&str, &str), size: i64| {
        Text::new(
            format!("{} {size} cannot be cut into {micro} micro batches of one size", what.0),
            format!("{} {size} 无法均分为 {micro} 个 micro batch", what.1),
        )
    };
    if micro < 1 {
        let text = Text::new(format!("`micro_batch_num` is {micro}"), format!("`micro_batch_num` 为 {micro}"));
        return Some(Found::new(site.expr, Sure::Certain, text));
    }
    let mindspore = unit.imports("mindspore") && !unit.imports("torch");
    let (_, batch) = ["batch_size", "global_batch_size", "local_batch_size", "BATCH_SIZE"]
        .iter()
        .find_map(|name| unit.binding(name, site.scope))?;
    let size = look.number(Some(batch), site.scope)?;
    (mindspore && size % micro != 0)
        .then(|| Found::new(site.expr, Sure::Likely, says(("a batch of", "batch 大小"), size)))
}

#[cfg(test)]
mod tests {
    use super::super::testing::{Want, expect};
    use super::*;

    const HEAD: &str = "import mindspore\nfrom hyper_parallel import PipelineStage, ScheduleInterleaved1F1B as S\n";

    #[test]
    fn stages_and_schedules() {
        for (code, want) in [
            ("PipelineStage(net, 4, 4)\n", Want::Certain(3)),
            ("PipelineStage(net, stage_index=-1, stage_num=4)\n", Want::Certain(3)),
            ("N = 4\nPipelineStage(net, 4, N)\n", Want::Certain(4)),
            ("PipelineStage(1, 4, net)\n", Want::Certain(3)),
            (
                "def f():\n    a = PipelineStage(net, rank, 4)\n    b = PipelineStage(net, rank + 4, 8)\n",
                Want::Likely(5),
            ),
            ("PipelineStage(net, 0, 2)\n", Want::Likely(3)),
            ("def f():\n    batch_size = 6\n    S(stages, 4)\nPipelineStage\n", Want::Likely(5)),
            ("S(stages, micro_batch_num=0)\nPipelineStage\n", Want::Certain(3)),
            // Right, or not told.
            ("PipelineStage(net, rank, 4)\n", Want::None),
            ("PipelineStage(net, 0, 1)\n", Want::None),
            ("if rank == 0:\n    s = PipelineStage(net, 0, 2)\nelse:\n    s = PipelineStage(net, 1, 2)\n", Want::None),
            ("s = [PipelineStage(net, 0, 2), PipelineStage(net, 1, 2)]\n", Want::None),
            ("def f(n):\n    PipelineStage(net, 3, n)\n", Want::None),
            ("def f():\n    PipelineStage(net, rank, 4)\ndef g():\n    PipelineStage(net, rank, 8)\n", Want::None),
            ("def f():\n    batch_size = 8\n    S(stages, 4)\nPipelineStage\n", Want::None),
            ("def f(n):\n    batch_size = 6\n    S(stages, n)\nPipelineStage\n", Want::None),
            ("import os\nN = int(os.getenv('N', '4'))\nPipelineStage(net, 4, N)\n", Want::None),
        ] {
            expect(&RULE, &format!("{HEAD}{code}"), &want);
        }
        // torch's own takes the same order, and is another matter.
        expect(
            &RULE,
            "from torch.distributed.pipelining import PipelineStage\nPipelineStage(net, 4, 4)\n",
            &Want::None,
        );
    }
}
