//! Training scripts that go wrong are run by Python, repaired, run again, and taken back.
//!
//! What the scripts import is a stand-in of a few lines beside them; the scripts, Python and `fix` are real.

mod support;

use std::fs;

use support::Sandbox;

/// Parameters that `fully_shard` replaces, as torch and hyper-parallel do; layouts that are counted.
const STANDIN: &str = r#"
import types

class Parameter:
    sharded = False

class Model:
    def __init__(self, layers=3):
        self.weight = Parameter()
        self.layers = [types.SimpleNamespace(weight=Parameter()) for _ in range(layers)]
    def parameters(self):
        return [self.weight] + [layer.weight for layer in self.layers]

def fully_shard(module):
    module.weight = Parameter()
    module.weight.sharded = True
    return module

class Layout:
    made = 0
    def __init__(self, shape, names):
        Layout.made += 1
    def __call__(self, *names):
        return names

class SwapManager:
    pairs = []
    def set_forward_prefetch_layer(self, first, second):
        SwapManager.pairs.append((first, second))
"#;

const OPTIMIZER: &str = r#"from hyper_parallel import Model, fully_shard
from hyper_parallel.optim import Adam

model = Model()
optimizer = Adam(model.parameters())
for layer in model.layers:
    fully_shard(layer)
fully_shard(model)
assert all(parameter.sharded for parameter in optimizer.params), "the optimizer holds whole parameters"
"#;

const SWAP: &str = r#"from hyper_parallel import Model, SwapManager

model = Model()
for i in range(len(model.layers)):
    SwapManager().set_forward_prefetch_layer(model.layers[i], model.layers[i + 1])
assert len(SwapManager.pairs) == 2
"#;

const LAYOUT: &str = r#"from hyper_parallel import Layout


class Tensor:
    def redistribute(self, layout):
        return self


def train(x, steps):
    for step in range(steps):
        layout = Layout((2, 4), ("dp", "tp"))
        x = x.redistribute(layout("dp", "tp"))


train(Tensor(), 5)
assert Layout.made == 1, "a layout was made anew in every step"
"#;

fn story(id: &str, script: &str, complaint: &str) {
    let sandbox = Sandbox::new();
    sandbox.write("train.py", script);
    // Beside the project: what is installed is not the user's own code.
    let lib = sandbox.root().join("lib/hyper_parallel");
    fs::create_dir_all(&lib).unwrap();
    fs::write(lib.join("__init__.py"), STANDIN).unwrap();
    fs::write(
        lib.join("optim.py"),
        "class Adam:\n    def __init__(self, params):\n        self.params = list(params)\n",
    )
    .unwrap();
    let path = format!("PYTHONPATH={}", sandbox.root().join("lib").display());
    let run = || sandbox.run("/usr/bin/env", [&path, "python3", "train.py"]);
    run().expect(1).says(complaint);
    let done = sandbox.fix([id, "--yes=confirm"]);
    done.expect(0).says("repaired and verified");
    let repaired = fs::read_to_string(sandbox.project().join("train.py")).unwrap();
    assert_ne!(repaired, script);
    run().expect(0);
    // What was found is gone, and asking again changes nothing.
    sandbox.fix([id, "--yes=confirm"]).expect(0);
    assert_eq!(fs::read_to_string(sandbox.project().join("train.py")).unwrap(), repaired);
    sandbox.fix(["rollback", "--yes"]).expect(0);
    assert_eq!(fs::read_to_string(sandbox.project().join("train.py")).unwrap(), script);
    run().expect(1).says(complaint);
}

#[test]
fn an_optimizer_made_before_sharding() {
    story("hp-optimizer-memory", OPTIMIZER, "the optimizer holds whole parameters");
}

#[test]
fn one_pair_of_layers_too_many() {
    story("hp-swap", SWAP, "IndexError");
}

#[test]
fn a_layout_made_in_every_step() {
    story("hp-redistribute", LAYOUT, "a layout was made anew in every step");
}
