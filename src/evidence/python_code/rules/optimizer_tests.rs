//! What the rule about optimizers finds, leaves alone, and moves.

use super::optimizer::RULE;
use super::testing::{Want, checked, expect, facts_of};

const HEAD: &str = "import torch\nfrom torch import optim\nfrom torch.distributed.fsdp import fully_shard\n";

fn with_head(code: &str) -> String {
    format!("{HEAD}{code}")
}

#[test]
fn optimizers_before_sharding() {
    for (code, want) in [
        // Found; a person has to see to it.
        ("def main(m):\n    opt = optim.AdamW(m.parameters())\n    print(m)\n    fully_shard(m)\n", Want::Certain(5)),
        (
            "def main(m):\n    opt = optim.AdamW(m.parameters())\n    if fsdp:\n        fully_shard(m)\n",
            Want::Likely(5),
        ),
        ("def main(m):\n    if a:\n        opt = optim.SGD(m.parameters())\n    fully_shard(m)\n", Want::Likely(6)),
        (
            "def shard(m):\n    for l in m.layers:\n        fully_shard(l)\ndef main(m):\n    opt = optim.SGD(m.parameters())\n    shard(m)\n",
            Want::Likely(8),
        ),
        (
            "def deep(x):\n    shard(x)\ndef shard(m):\n    fully_shard(m)\ndef main(m):\n    opt = optim.SGD(m.parameters())\n    deep(m)\n",
            Want::Likely(9),
        ),
        (
            "def make(m):\n    return optim.SGD(m.parameters())\ndef main(m):\n    o = make(m)\n    fully_shard(m)\n",
            Want::Likely(7),
        ),
        ("def main(m):\n    optimizer = build_optimizer(m, cfg)\n    m = fully_shard(m)\n", Want::Likely(5)),
        (
            "class T:\n    def __init__(self):\n        self.opt = optim.Adam(self.model.parameters())\n        self.setup()\n        fully_shard(self.model)\n",
            Want::Certain(6),
        ),
        (
            "def main(m):\n    params = [p for p in m.parameters() if p.requires_grad]\n    fully_shard(m)\n    print(m)\n    opt = optim.SGD(params)\n    fully_shard(m)\n",
            Want::Certain(5),
        ),
        ("def main(m):\n    opt = optim.SGD(m.head.parameters()); x = 1\n    fully_shard(m)\n", Want::Certain(5)),
        (
            "def main(m):\n    opt = optim.SGD([{'params': m.parameters()}])\n    for i, l in enumerate(m.layers):\n        log(i)\n        fully_shard(l)\n",
            Want::Certain(5),
        ),
        (
            "from hyper_parallel import hsdp\nnet = f()\nopt = optim.SGD(net.trainable_params())\nlog(net)\nhsdp(net, 2)\n",
            Want::Certain(6),
        ),
        // Right, or another matter.
        ("def main(m):\n    fully_shard(m)\n    opt = optim.AdamW(m.parameters())\n", Want::None),
        (
            "def main(m):\n    m = fully_shard(m)\n    params = list(m.parameters())\n    opt = optim.AdamW(params)\n",
            Want::None,
        ),
        (
            "def main(m):\n    opt = optim.SGD(m.parameters())\n    fully_shard(m)\n    opt = optim.SGD(m.parameters())\n",
            Want::None,
        ),
        ("def main(m, other):\n    opt = optim.SGD(m.parameters())\n    fully_shard(other)\n", Want::None),
        ("def main(m):\n    opt = optim.SGD(m.head.parameters())\n    fully_shard(m.body)\n", Want::None),
        ("def main(m):\n    opt = optim.SGD(m.parameters())\n    m = Model()\n    fully_shard(m)\n", Want::None),
        (
            "def main(m):\n    if a:\n        opt = optim.SGD(m.parameters())\n    else:\n        fully_shard(m)\n",
            Want::None,
        ),
        (
            "def main(m):\n    if a:\n        opt = optim.SGD(m.parameters())\n        return opt\n    fully_shard(m)\n",
            Want::None,
        ),
        (
            "def main(m):\n    n = sum(p.numel() for p in m.parameters())\n    fully_shard(m)\n    opt = optim.SGD(m.parameters(), lr=n)\n",
            Want::None,
        ),
        ("def a(m):\n    opt = optim.SGD(m.parameters())\ndef b(m):\n    fully_shard(m)\n", Want::None),
        (
            "def main(m):\n    load_optimizer_state(m)\n    fully_shard(m)\n    opt = optim.SGD(m.parameters())\n",
            Want::None,
        ),
        ("def main(m, fully_shard):\n    opt = optim.SGD(m.parameters())\n    shard(m)\n", Want::None),
    ] {
        expect(&RULE, &with_head(code), &want);
    }
    let other =
        "from mine import fully_shard\nfrom torch import optim\nopt = optim.SGD(m.parameters())\nfully_shard(m)\n";
    expect(&RULE, other, &Want::None);
}

#[test]
fn moves_what_can_be_moved() {
    let before = "def main(m, mesh):\n    # the optimizer\n    opt = optim.AdamW(\n        m.parameters(),\n        lr=1e-3,\n    )  # fused\n    sched = optim.lr_scheduler.StepLR(opt, 3)\n    steps = 10\n    for l in m.layers:\n        fully_shard(l, mesh=mesh)\n    m = fully_shard(m, mesh=mesh)  # root\n    train(m, opt)\n";
    let after = "def main(m, mesh):\n    steps = 10\n    for l in m.layers:\n        fully_shard(l, mesh=mesh)\n    m = fully_shard(m, mesh=mesh)  # root\n    # the optimizer\n    opt = optim.AdamW(\n        m.parameters(),\n        lr=1e-3,\n    )  # fused\n    sched = optim.lr_scheduler.StepLR(opt, 3)\n    train(m, opt)\n";
    for to in
        [|text: &str| text.to_owned(), |text: &str| text.replace('\n', "\r\n"), |text: &str| text.replace("    ", "\t")]
    {
        expect(&RULE, &with_head(&to(before)), &Want::Edit(with_head(&to(after))));
    }
    // Parameters that were collected move along, and two optimizers keep their order.
    let before = "def main(a):\n    p = list(a.parameters())\n    o = optim.SGD(p)\n    q = optim.SGD(a.parameters())\n    fully_shard(a)\n";
    let after = "def main(a):\n    fully_shard(a)\n    p = list(a.parameters())\n    o = optim.SGD(p)\n    q = optim.SGD(a.parameters())\n";
    expect(&RULE, &with_head(before), &Want::Edit(with_head(after)));
    let before = "def main(a):\n    p = [x for x in a.parameters() if x.requires_grad]\n    fully_shard(a)\n    o = optim.SGD(p)\n";
    let after = "def main(a):\n    fully_shard(a)\n    p = [x for x in a.parameters() if x.requires_grad]\n    o = optim.SGD(p)\n";
    expect(&RULE, &with_head(before), &Want::Edit(with_head(after)));
    // An empty line goes along where it would be doubled.
    let before = "def main(a):\n    x = 1\n\n    o = optim.SGD(a.parameters())\n\n    fully_shard(a)\n\n    go(o)\n";
    let after = "def main(a):\n    x = 1\n\n    fully_shard(a)\n\n    o = optim.SGD(a.parameters())\n\n    go(o)\n";
    expect(&RULE, &with_head(before), &Want::Edit(with_head(after)));
    let hyper = "from hyper_parallel.core.optimizer import get_hyper_optimizer\nfrom hyper_parallel import fully_shard as fs\nmodel = build()\nopt = get_hyper_optimizer(model=model)\nmodel = fs(model)\n";
    let after = "from hyper_parallel.core.optimizer import get_hyper_optimizer\nfrom hyper_parallel import fully_shard as fs\nmodel = build()\nmodel = fs(model)\nopt = get_hyper_optimizer(model=model)\n";
    expect(&RULE, hyper, &Want::Edit(after.into()));
}

#[test]
fn what_might_change_the_program_is_not_moved() {
    let good = "def main(m):\n    lr = 1\n    opt = optim.AdamW(m.parameters(), lr=lr)\n    fully_shard(m)\n";
    assert!(matches!(checked(&RULE, &with_head(good), &facts_of(good)).found.len(), 1));
    for code in [
        good.replace("    fully_shard", "    lr = 2\n    fully_shard"),
        good.replace("    fully_shard", "    freeze(net)\n    fully_shard"),
        good.replace("    fully_shard", "    cfg.lr = 2\n    fully_shard"),
        good.replace("    fully_shard", "    rates[0] += 2\n    fully_shard"),
        good.replace("    fully_shard", "    log(opt)\n    fully_shard"),
        good.replace("    fully_shard", "    m.requires_grad_(False)\n    fully_shard"),
        good.replace("    fully_shard", "    if a:\n        return\n    fully_shard"),
        good.replace("    fully_shard", "    yield\n    fully_shard"),
        good.replace("    fully_shard", "    locals()\n    fully_shard"),
        good.replace("    fully_shard(m)\n", "    fully_shard(m)"),
        good.replace("    fully_shard(m)", "    fully_shard(m); go()"),
        good.replace("    fully_shard(m)", "    fully_shard(wrap(m))\n    fully_shard(m)"),
        good.replace("lr=lr", "lr=next(rates)"),
        good.replace("    opt = optim", "    opt = x[0] = optim"),
        "opt = optim.SGD(m.parameters())\ndef f():\n    print(opt)\nf()\nfully_shard(m)\n".to_owned(),
        format!("{good}def broken(:\n    pass\n"),
    ] {
        let text = with_head(&code);
        let found = checked(&RULE, &text, &facts_of(&text)).found;
        assert_eq!(found.len(), 1, "{text}\n{found:#?}");
        let repaired = super::super::repair_file(&RULE, text.as_bytes(), &facts_of(&text));
        assert_eq!(repaired.map(|bytes| String::from_utf8(bytes).unwrap()), None, "{text}");
    }
}

#[test]
fn a_comment_silences_one_finding() {
    let code = "def main(m):\n    opt = optim.SGD(m.parameters())  # fix: ignore[hp-optimizer-memory]\n    print(m)\n    fully_shard(m)\n";
    for (code, found, suppressed) in [
        (code.to_owned(), 0, 1),
        (code.replace("hp-optimizer-memory", "hp-swap"), 1, 0),
        (code.replace("hp-optimizer-memory", "hp-swap, hp-optimizer-memory"), 0, 1),
        (
            code.replace("    opt = optim.SGD(m.parameters())  #", "    #")
                .replace("]\n", "]\n    opt = optim.SGD(m.parameters())\n"),
            0,
            1,
        ),
        (code.replace("  # fix: ignore[hp-optimizer-memory]", "; x = '# fix: ignore[hp-optimizer-memory]'"), 1, 0),
    ] {
        let text = with_head(&code);
        let checked = checked(&RULE, &text, &facts_of(&text));
        assert_eq!((checked.found.len(), checked.ignored.len()), (found, suppressed), "{text}");
    }
}
