//! Context parallelism of the DSA classes on MindSpore, where they are place holders that do nothing.

use super::*;

pub const RULE: Rule = Rule { id: "hp-cp-mindspore", words: &["DSA"], check };

fn check(look: &Look<'_>) -> Vec<Found> {
    let unit = look.unit;
    let mut found = Vec::new();
    for site in sites(unit) {
        let paths = unit.paths(&site.call.function);
        let class = paths.iter().filter(|path| path.starts_with("hyper_parallel.")).find_map(|path| {
            let name = path.rsplit('.').next()?;
            let rest = name.strip_prefix("Async").unwrap_or(name);
            (rest.starts_with("DSA") && rest.ends_with("ContextParallel")).then(|| name.to_owned())
        });
        let (Some(class), Some(sure)) = (class, on_mindspore(look)) else { continue };
        let says = Text::new(
            format!("`{class}` does nothing on MindSpore: only the PyTorch backend has it"),
            format!("`{class}` 在 MindSpore 上不起作用：仅 PyTorch 后端支持"),
        );
        found.push(Found::new(site.expr, sure, says));
    }
    found
}

/// Says whether the file runs on MindSpore: what the environment or the file chooses, else what it imports.
fn on_mindspore(look: &Look<'_>) -> Option<Sure> {
    let unit = look.unit;
    let mut chosen: Option<&str> = look.facts.platform.as_deref();
    super::super::tree::walk(&unit.file.body, Into::Functions, &mut |stmt| {
        let Deed::Assign { targets, value, .. } = &stmt.kind else { return };
        let platform = targets.iter().any(|target| {
            matches!(&target.kind, Kind::Subscript(table, keys) if table.text.ends_with("environ")
                && matches!(keys.as_slice(), [Expr { kind: Kind::Text("HYPER_PARALLEL_PLATFORM"), .. }]))
        });
        if let (true, Kind::Text(text)) = (platform, &value.kind) {
            chosen = Some(text);
        }
    });
    match chosen {
        Some(platform) => platform.eq_ignore_ascii_case("mindspore").then_some(Sure::Certain),
        None => (unit.imports("mindspore") && !unit.imports("torch")).then_some(Sure::Likely),
    }
}

#[cfg(test)]
mod tests {
    use super::super::testing::{Want, expect, expect_with, facts_of};
    use super::*;

    const USE: &str = "from hyper_parallel.core.context_parallel import AsyncDSAIndexerContextParallel as A\nA(mesh)\n";

    #[test]
    fn dsa_classes_on_mindspore() {
        for (code, want) in [
            (format!("import mindspore as ms\n{USE}"), Want::Likely(3)),
            (format!("import os\nos.environ['HYPER_PARALLEL_PLATFORM'] = 'mindspore'\n{USE}"), Want::Certain(4)),
            (format!("import mindspore\n{}", USE.replace("Async", "")), Want::Likely(3)),
            (format!("import torch\n{USE}"), Want::None),
            (format!("import mindspore, torch\n{USE}"), Want::None),
            (format!("import os, mindspore\nos.environ['HYPER_PARALLEL_PLATFORM'] = 'torch'\n{USE}"), Want::None),
            (USE.to_owned(), Want::None),
            (
                format!("import mindspore\n{}", USE.replace("AsyncDSAIndexerContextParallel", "AsyncContextParallel")),
                Want::None,
            ),
            (format!("import mindspore\n{}", USE.replace("A(mesh)", "print(A)")), Want::None),
            (format!("import mindspore\n{}", USE.replace("hyper_parallel", "other")), Want::None),
        ] {
            expect(&RULE, &code, &want);
        }
        let mut facts = facts_of(USE);
        facts.platform = Some("mindspore".into());
        expect_with(&RULE, USE, &facts, &Want::Certain(2));
    }
}
