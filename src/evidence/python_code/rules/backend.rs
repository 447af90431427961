//! `init_process_group` with a backend that does not serve NPUs, in code that runs on them.

use super::*;

pub const RULE: Rule = Rule { id: "hp-gloo-npu", words: &["init_process_group"], check };

const MAKERS: &[&str] = &["torch.distributed", "hyper_parallel", "mindspore.mint.distributed"];
/// Words of conditions that choose a device or a backend.
const CHOOSES: &[&str] = &["cuda", "npu", "cpu", "gpu", "xpu", "device", "backend", "platform", "accelerator"];

fn check(look: &Look<'_>) -> Vec<Found> {
    let unit = look.unit;
    // What also runs on CUDA, or makes a group with HCCL elsewhere, knows what it does.
    if look.mentions("cuda") || look.any(&mut |expr| is_device(expr, "cuda")) || has_hccl(look) {
        return Vec::new();
    }
    let on_npu = look.any(&mut |expr| is_device(expr, "npu"))
        || look.any(&mut |expr| matches!(expr.kind, Kind::Attribute(_, "npu")));
    let here = on_npu || unit.imports("torch_npu");
    let is_test = unit.imports("pytest") || unit.imports("unittest") || look.any(&mut |expr| is_device(expr, "cpu"));
    let by_project = look.facts.has("torch_npu") && !look.facts.has("cuda") && !is_test;
    if !here && !by_project {
        return Vec::new();
    }
    let makers = sites(unit).into_iter().filter(|site| unit.is_from(&site.call.function, MAKERS, "init_process_group"));
    makers.take(MOST_PLACES).filter_map(|site| judge(look, &site, on_npu)).collect()
}

fn judge<'f>(look: &Look<'f>, site: &Site<'f>, on_npu: bool) -> Option<Found> {
    let chosen = site.under.iter().any(|(arms, at)| {
        let conditions = arms[..=*at].iter().filter_map(|arm| arm.condition.as_ref());
        conditions
            .map(|condition| condition.text.to_ascii_lowercase())
            .any(|text| CHOOSES.iter().any(|word| text.contains(word)))
    });
    if chosen {
        return None;
    }
    let given = site.call.argument(0, "backend")?;
    let known = look.known(Some(given), site.scope)?;
    let Constant::Text(backend) = known.constant else { return None };
    let lower = backend.to_ascii_lowercase();
    let parts: Vec<&str> = lower.split(',').map(str::trim).collect();
    let serves_npu = parts.iter().any(|part| part.starts_with("npu:"));
    let named = |name: &str| parts.iter().any(|part| *part == name || part.ends_with(&format!(":{name}")));
    if serves_npu || !(named("gloo") || named("nccl")) {
        return None;
    }
    // torch_npu's and MindSpeed's adaptors put HCCL in the place of NCCL.
    if named("nccl") && (look.facts.has("transfer_to_npu") || look.facts.has("megatron_adaptor")) {
        return None;
    }
    let (from_en, from_zh) = match known.origin {
        Origin::Code => (String::new(), String::new()),
        Origin::Environment(name) => (format!(" unless `{name}` is set"), format!("（未设置 `{name}` 时）")),
        Origin::Option(name) => {
            let flag = name.replace('_', "-");
            (format!(" unless `--{flag}` says otherwise"), format!("（未用 `--{flag}` 指定时）"))
        }
    };
    let says = Text::new(
        format!("the process group is made with `{backend}`{from_en}, which does not serve NPUs"),
        format!("进程组使用不支持 NPU 的后端 `{backend}`{from_zh}"),
    );
    let sure = if on_npu && known.origin == Origin::Code { Sure::Certain } else { Sure::Likely };
    Some(Found::new(site.expr, sure, says).with(edits(look, given, &known)))
}

/// Says whether a literal names a device: `"npu"`, `"npu:0"`, `f"npu:{rank}"`.
fn is_device(expr: &Expr<'_>, device: &str) -> bool {
    let text = match &expr.kind {
        Kind::Text(text) => text,
        Kind::Other(_) if expr.text.starts_with(['f', 'F']) => expr.text[1..].trim_start_matches(['"', '\'']),
        _ => return false,
    };
    text.strip_prefix(device).is_some_and(|rest| rest.is_empty() || rest.starts_with([':', '"', '\'', '{']))
}

/// Says whether the file names HCCL somewhere else than among the choices of an option.
fn has_hccl(look: &Look<'_>) -> bool {
    let is_hccl = |expr: &Expr<'_>| match expr.kind {
        Kind::Text(text) => text.eq_ignore_ascii_case("hccl") || text.contains(":hccl"),
        _ => false,
    };
    let (mut all, mut choices) = (0, 0);
    walk_exprs(&look.unit.file.body, Into::Functions, &mut |expr| {
        all += usize::from(is_hccl(expr));
        let options = expr.as_call().filter(|call| matches!(call.function.kind, Kind::Attribute(_, "add_argument")));
        if let Some(list) = options.and_then(|call| call.keyword("choices")) {
            list.walk(&mut |expr| choices += usize::from(is_hccl(expr)));
        }
    });
    all > choices
}

/// Says whether a file is run, not imported: who imports it may look at its constants.
fn is_script(look: &Look<'_>) -> bool {
    let calls = |stmt: &Stmt<'_>| matches!(&stmt.kind, Deed::Expr(expr) if expr.as_call().is_some());
    look.unit.file.body.iter().any(calls) || look.mentions("__name__")
}

/// The literal itself, where nothing but this call takes it and torch_npu is there to bring HCCL.
fn edits(look: &Look<'_>, given: &Expr<'_>, known: &Known<'_>) -> Vec<Edit> {
    let literal = known.literal;
    let text = |new: &str| match literal.kind {
        Kind::Text(content) => literal.text.replacen(content, new, 1),
        _ => String::new(),
    };
    let new = match known.constant {
        // Groups of CPU tensors go on as before.
        Constant::Text("gloo") => text("cpu:gloo,npu:hccl"),
        Constant::Text("nccl") => text("hccl"),
        _ => return Vec::new(),
    };
    let only_here = literal.at == given.at
        || given.as_name().is_some_and(|name| {
            let mut times = 0;
            walk_exprs(&look.unit.file.body, Into::Functions, &mut |expr| {
                times += usize::from(expr.as_name() == Some(name))
            });
            let exported = look.any(&mut |expr| matches!(expr.kind, Kind::Text(text) if text == name));
            times == 2 && !exported && is_script(look)
        });
    if known.origin != Origin::Code || !only_here || !look.unit.imports("torch_npu") || look.unit.imports("mindspore") {
        return Vec::new();
    }
    vec![Edit { range: literal.range(), text: new }]
}

#[cfg(test)]
mod tests {
    use super::super::testing::{Want, expect};
    use super::*;

    const NPU: &str = "import torch\nimport torch_npu\nimport torch.distributed as dist\ntorch.npu.set_device(0)\n";

    #[test]
    fn backends_that_do_not_serve_npus() {
        let mixed = |text: &str| format!("{NPU}{}", text.replace("'gloo'", "'cpu:gloo,npu:hccl'"));
        for (code, want) in [
            ("dist.init_process_group('gloo')\n", Want::Edit(mixed("dist.init_process_group('gloo')\n"))),
            (
                "dist.init_process_group(backend=\"nccl\", rank=0)\n",
                Want::Edit(format!("{NPU}dist.init_process_group(backend=\"hccl\", rank=0)\n")),
            ),
            (
                "B = 'gloo'\ndef main():\n    dist.init_process_group(B)\n",
                Want::Edit(mixed("B = 'gloo'\ndef main():\n    dist.init_process_group(B)\n")),
            ),
            (
                "from hyper_parallel import init_process_group as ipg\nipg(backend='gloo')\n",
                Want::Edit(mixed("from hyper_parallel import init_process_group as ipg\nipg(backend='gloo')\n")),
            ),
            // The constant is asked elsewhere: whoever asks would see another value.
            ("B = 'gloo'\nprint(B)\ndist.init_process_group(B)\n", Want::Certain(7)),
            ("import os\ndist.init_process_group(os.getenv('BACKEND', 'gloo'))\n", Want::Likely(6)),
            (
                "p.add_argument('--backend', default='nccl', choices=['nccl', 'hccl'])\nargs = p.parse_args()\ndist.init_process_group(args.backend)\n",
                Want::Likely(7),
            ),
            ("if not dist.is_initialized():\n    dist.init_process_group('cpu:gloo')\n", Want::Certain(6)),
            // Not wrong.
            ("dist.init_process_group('hccl')\n", Want::None),
            ("dist.init_process_group('cpu:gloo,npu:hccl')\n", Want::None),
            ("dist.init_process_group()\n", Want::None),
            ("dist.init_process_group('hccl' if npu else 'gloo')\n", Want::None),
            ("b = 'gloo'\nif npu:\n    b = 'hccl'\ndist.init_process_group(b)\n", Want::None),
            ("dist.init_process_group('gloo')\ng = dist.new_group(backend='hccl')\n", Want::None),
            ("if device == 'cpu':\n    dist.init_process_group('gloo')\n", Want::None),
            ("if torch.cuda.is_available():\n    dist.init_process_group('nccl')\n", Want::None),
            ("from torch_npu.contrib import transfer_to_npu\ndist.init_process_group('nccl')\n", Want::None),
            ("dist.new_group(backend='gloo')\n", Want::None),
            ("other.init_process_group('gloo')\n", Want::None),
            ("dist.init_process_group(args.backend)\n", Want::None),
        ] {
            expect(&RULE, &format!("{NPU}{code}"), &want);
        }
        expect(&RULE, "import torch.distributed as dist\ndist.init_process_group('gloo')\n", &Want::None);
        let imported = "import torch_npu\nfrom torch.distributed import init_process_group\nB = 'gloo'\ndef main(x):\n    init_process_group(B)\n    x.npu()\n";
        expect(&RULE, imported, &Want::Certain(5));
        // On MindSpore, or without torch_npu, a person has to see to it.
        expect(
            &RULE,
            "import mindspore\nfrom hyper_parallel import init_process_group\nx = 'npu:0'\ninit_process_group('gloo')\n",
            &Want::Certain(4),
        );
    }
}
