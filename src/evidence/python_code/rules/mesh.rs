//! A mesh whose data-parallel dimension is 1, made or sharded over under the meta device, with a hyper-parallel that
//! cannot do it.

use super::super::installed::is_older;
use super::*;

pub const RULE: Rule = Rule { id: "hp-fsdp-mesh", words: &["fully_shard", "init_device_mesh"], check };

/// The release that mends it.
const MENDED: [u64; 3] = [1, 0, 0];

fn check(look: &Look<'_>) -> Vec<Found> {
    let unit = look.unit;
    let older = look.facts.installed.as_deref().and_then(|version| is_older(version, MENDED));
    if older == Some(false) {
        return Vec::new();
    }
    let all = sites(unit);
    let degenerate: Vec<&Site<'_>> =
        all.iter().filter(|site| no_data_dimension(look, site)).take(MOST_PLACES).collect();
    let mut found = Vec::new();
    for site in &all {
        let shards = unit.is_from(&site.call.function, HP, "fully_shard");
        let makes = unit.is_from(&site.call.function, HP, "init_device_mesh");
        if !(shards || makes) || !site.withs.iter().any(|stmt| is_meta(look, stmt)) {
            continue;
        }
        let wrong = if makes { no_data_dimension(look, site) } else { takes(look, site, &degenerate) };
        if !wrong {
            continue;
        }
        let version = look.facts.installed.as_deref();
        let (en, zh) = match version {
            Some(version) => (format!("hyper_parallel {version}"), format!("hyper_parallel {version}")),
            None => ("hyper_parallel before 1.0.0".to_owned(), "1.0.0 之前的 hyper_parallel".to_owned()),
        };
        let says = Text::new(
            format!("under the meta device, with a data-parallel dimension of 1: {en} fails to make the mesh"),
            format!("在 meta 设备上下文中且数据并行维度为 1：{zh} 无法创建 mesh"),
        );
        let sure = if older == Some(true) { Sure::Likely } else { Sure::Open };
        found.push(Found::new(site.expr, sure, says));
    }
    found
}

/// `init_device_mesh("npu", (1, 8), mesh_dim_names=("dp", "tp"))`
fn no_data_dimension(look: &Look<'_>, site: &Site<'_>) -> bool {
    if !look.unit.is_from(&site.call.function, HP, "init_device_mesh") {
        return false;
    }
    let items = |place, name| match site.call.argument(place, name).map(|expr| &expr.kind) {
        Some(Kind::Sequence(items)) => Some(items),
        _ => None,
    };
    let (Some(shape), Some(names)) = (items(1, "mesh_shape"), items(2, "mesh_dim_names")) else { return false };
    let named = |wanted: &[&str]| {
        names
            .iter()
            .position(|name| matches!(name.kind, Kind::Text(text) if wanted.iter().any(|w| text.starts_with(w))))
    };
    let size = |at: Option<usize>| at.and_then(|at| look.number(shape.get(at), site.scope));
    let data = size(named(&["dp", "fsdp", "data"]));
    let tensor = size(named(&["tp", "tensor", "model"]));
    data == Some(1) && tensor.is_some_and(|tensor| tensor > 1)
}

/// Says whether a call shards over one of these meshes, by name.
fn takes(look: &Look<'_>, site: &Site<'_>, meshes: &[&Site<'_>]) -> bool {
    let Some(mesh) = site.call.keyword("mesh") else { return false };
    let mut name = mesh;
    while let Kind::Subscript(value, _) = &name.kind {
        name = value;
    }
    let value = name.as_name().and_then(|name| look.unit.binding(name, site.scope)).map(|(_, value)| value.at);
    value.is_some_and(|at| meshes.iter().any(|mesh| mesh.expr.at == at))
}

/// `with torch.device("meta"):` and its like.
fn is_meta(look: &Look<'_>, stmt: &Stmt<'_>) -> bool {
    let mut found = false;
    for expr in stmt.exprs() {
        expr.walk(&mut |expr| {
            let Some(call) = expr.as_call() else { return };
            let paths = look.unit.paths(&call.function);
            let last = |names: &[&str]| {
                paths.iter().any(|path| path.rsplit('.').next().is_some_and(|last| names.contains(&last)))
            };
            let device = matches!(call.argument(0, "device").map(|expr| &expr.kind), Some(Kind::Text("meta")));
            found |= last(&["init_empty_weights"]) || (device && last(&["device", "init_on_device"]));
        });
    }
    found
}

#[cfg(test)]
mod tests {
    use super::super::testing::{Want, expect_with, facts_of};
    use super::*;

    const HEAD: &str = "import torch\nfrom hyper_parallel import fully_shard, init_device_mesh\n";
    const MESH: &str = "mesh = init_device_mesh('npu', (1, 8), mesh_dim_names=('dp', 'tp'))\n";

    #[test]
    fn meshes_without_data_parallelism_under_meta() {
        let shard = "with torch.device('meta'):\n    model = Model()\n    fully_shard(model, mesh=mesh['dp'])\n";
        let inside = format!("with torch.device('meta'):\n    {MESH}");
        for (version, code, want) in [
            (Some("0.1.0"), format!("{MESH}{shard}"), Want::Likely(6)),
            (Some("0.9.3"), inside.clone(), Want::Likely(4)),
            (None, format!("{MESH}{shard}"), Want::Open(6)),
            (Some("1.0.0"), format!("{MESH}{shard}"), Want::None),
            (Some("0.1.0"), format!("{MESH}{}", shard.replace("'meta'", "'cpu'")), Want::None),
            (Some("0.1.0"), format!("{}{shard}", MESH.replace("(1, 8)", "(2, 4)")), Want::None),
            (Some("0.1.0"), format!("{}{shard}", MESH.replace("(1, 8)", "(dp, tp)")), Want::None),
            (Some("0.1.0"), format!("{}{shard}", MESH.replace("(1, 8)", "(1, 1)")), Want::None),
            (
                Some("0.1.0"),
                format!("{MESH}with torch.device('meta'):\n    model = Model()\nfully_shard(model, mesh=mesh)\n"),
                Want::None,
            ),
            (Some("0.1.0"), format!("{MESH}{}", shard.replace("mesh=mesh['dp']", "mesh=other")), Want::None),
        ] {
            let text = format!("{HEAD}{code}");
            let mut facts = facts_of(&text);
            facts.installed = version.map(str::to_owned);
            expect_with(&RULE, &text, &facts, &want);
        }
    }
}
