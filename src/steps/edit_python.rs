//! Sets right in Python sources what a rule finds there; every other byte stays.

use super::{LowerError, Lowered, Order, Verb};
use crate::change::AbsPath;
use crate::change::{Change, FileImage, FileState, WriteFile};
use crate::evidence::python_code::{self, LARGEST};
use crate::evidence::questions::ArgSpec;
use crate::evidence::tracked_file;
use crate::recipe::{Applicability, Text};

/// `edit_python = { rule = "hp-swap", path = "${code.file}" }`
pub const EDIT_PYTHON: Verb = Verb {
    name: "edit_python",
    about: "Edits Python files so that a rule of `python_code` finds nothing any more, where the program is the same otherwise; refuses where any finding would be left to do by hand.",
    args: &[
        ArgSpec { name: "rule", required: true, about: "The rule, named after the recipe that it serves" },
        ArgSpec { name: "path", required: true, about: "The files" },
    ],
    lower: edit_python,
};

fn edit_python(order: &Order<'_>) -> Result<Lowered, LowerError> {
    let name = order.require("rule")?;
    let Some(rule) = python_code::rule(&name) else {
        return Err(LowerError(Text::new(format!("there is no rule `{name}`"), format!("没有名为 `{name}` 的规则"))));
    };
    let facts = python_code::project_facts(order.host);
    let mut lowered = Lowered::default();
    for path in order.list("path") {
        let path = AbsPath::new(&path)
            .map_err(|error| LowerError(Text::new(error.to_string(), format!("路径无效：{error}"))))?;
        let FileState::Present(before) = order.file(&path)? else {
            return Err(LowerError(Text::new(format!("`{path}` is gone"), format!("`{path}` 已不存在"))));
        };
        let now = match order.pending(&path) {
            Some(FileState::Present(image)) => image,
            Some(FileState::Absent) => continue,
            None => before.clone(),
        };
        let edited = (now.bytes.len() as u64 <= LARGEST)
            .then(|| python_code::repair_file(rule, &now.bytes, &facts))
            .flatten()
            .ok_or_else(|| {
                LowerError(Text::new(
                    format!("`{path}` cannot be edited so that the program stays the same otherwise"),
                    format!("无法在不改变程序其他行为的前提下编辑 `{path}`"),
                ))
            })?;
        lowered.limits.extend(tracked_file(order.host, &path).map(|why| (Applicability::Confirm, why)));
        let after = FileImage { bytes: edited, mode: before.mode };
        lowered.changes.push(Change::WriteFile(WriteFile {
            path,
            before: FileState::Present(before),
            after: FileState::Present(after),
        }));
    }
    Ok(lowered)
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;
    use std::path::Path;

    use super::*;
    use crate::evidence::LocalHost;
    use crate::evidence::questions::testing::NoGit;
    use crate::recipe::Value;

    const LOOP: &str = "from hyper_parallel import SwapManager\nfor i in range(len(m.layers)):\n    SwapManager().set_forward_prefetch_layer(m.layers[i], m.layers[i + 1])\n";

    fn edit(root: &Path, name: &str, so_far: &Lowered) -> Result<Lowered, LowerError> {
        let host = LocalHost::new(AbsPath::new(root).unwrap(), [], Box::new(NoGit));
        let args = BTreeMap::from([
            ("rule".to_owned(), Value::from("hp-swap")),
            ("path".to_owned(), Value::from(root.join(name).display().to_string())),
        ]);
        edit_python(&Order { args: &args, host: &host, command: None, so_far, evaluate: None })
    }

    #[test]
    fn writes_the_proved_file_or_nothing() {
        let root = tempfile::tempdir().unwrap();
        let root = root.path();
        std::fs::write(root.join("a.py"), LOOP).unwrap();
        let lowered = edit(root, "a.py", &Lowered::default()).unwrap();
        let [Change::WriteFile(WriteFile { before, after, .. })] = lowered.changes.as_slice() else {
            panic!("{lowered:?}")
        };
        let FileState::Present(after) = after else { panic!("{after:?}") };
        assert_eq!(String::from_utf8(after.bytes.clone()).unwrap(), LOOP.replace("layers))", "layers) - 1)"));
        assert!(matches!(before, FileState::Present(image) if image.bytes == LOOP.as_bytes()));
        // What an earlier step makes of the file is what counts.
        assert!(edit(root, "a.py", &lowered).is_err());
        for (name, text) in [
            ("b.py", format!("{LOOP}    print(i)\n")),
            ("c.py", format!("{LOOP}def broken(:\n")),
            ("d.py", "print(1)\n".to_owned()),
        ] {
            std::fs::write(root.join(name), text).unwrap();
            assert!(edit(root, name, &Lowered::default()).unwrap_err().0.en.contains("cannot be edited"), "{name}");
        }
        assert!(edit(root, "gone.py", &Lowered::default()).unwrap_err().0.en.contains("is gone"));
        std::os::unix::fs::symlink(root.join("a.py"), root.join("link.py")).unwrap();
        assert!(edit(root, "link.py", &Lowered::default()).is_err());
    }
}
