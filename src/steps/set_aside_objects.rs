//! Sets aside what a build of Python extensions keeps, so that the next build compiles everything anew.
//!
//! Never touches a folder that is not recognised anew, nor a module that git tracks.

use super::{LowerError, Lowered, Order, Verb, set_aside_tree};
use crate::change::{AbsPath, Change, FileState, RemoveTree, TreeFolder, TreeKind, WriteFile};
use crate::evidence::questions::ArgSpec;
use crate::evidence::{extension_objects, tracked_file};
use crate::recipe::Text;

/// `set_aside_objects = { trees = "${build.trees}", module = "${build.module}" }`
pub const SET_ASIDE_OBJECTS: Verb = Verb {
    name: "set_aside_objects",
    about: "Sets aside recognised objects of a Python extension (setuptools' build/temp.* and build/lib.*, PyTorch's \
            run-time builds), restorable, and the module that was made of them.",
    args: &[
        ArgSpec { name: "trees", required: true, about: "The folders of objects" },
        ArgSpec { name: "module", required: false, about: "The module beside its sources" },
    ],
    lower: set_aside_objects,
};

fn set_aside_objects(order: &Order<'_>) -> Result<Lowered, LowerError> {
    let mut lowered = Lowered::default();
    let trees = order.list("trees");
    for named in &trees {
        let named = AbsPath::new(named).map_err(|error| LowerError(Text::new(error.to_string(), error.to_string())))?;
        let path = extension_objects::recognise(order.host, &named)
            .map_err(|why| LowerError(Text::new(format!("left alone: {}", why.en), format!("不予移动：{}", why.zh))))?;
        if path != named {
            return Err(LowerError(Text::new(
                format!("left alone: a link leads to `{path}`"),
                format!("不予移动：有链接指向 `{path}`"),
            )));
        }
        set_aside_tree::refuse_mounts(order.host, &path)?;
        let before = set_aside_tree::measure(order.host, &path)?;
        let tree = RemoveTree { path, before, kind: TreeKind::Derived, folder: TreeFolder::Goes };
        lowered.changes.push(Change::RemoveTree(tree));
    }
    if trees.is_empty() {
        return Err(LowerError(Text::new("no folder of objects is known", "没有已知的目标文件目录")));
    }
    if order.text("module").is_some() {
        let path = order.path("module")?;
        // A module that is under version control is no product of the build.
        if let Some(why) = tracked_file(order.host, &path) {
            return Err(LowerError(Text::new(format!("left alone: {}", why.en), format!("不予移动：{}", why.zh))));
        }
        let before = order.file(&path)?;
        if before != FileState::Absent {
            lowered.changes.push(Change::WriteFile(WriteFile { path, before, after: FileState::Absent }));
        }
    }
    Ok(lowered)
}
