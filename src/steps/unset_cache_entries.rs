//! Takes entries out of a build tree's CMakeCache.txt, as `cmake -U` does; the objects stay.

use super::{LowerError, Lowered, Order, Verb, set_aside_tree};
use crate::change::AbsPath;
use crate::change::{Change, FileImage, FileState, WriteFile};
use crate::evidence::build_command::BuildCommand;
use crate::evidence::build_tree::{self, NamedBy, NotATree};
use crate::evidence::questions::ArgSpec;
use crate::evidence::tracked_file;
use crate::formats::cmake_cache::{CMakeCache, Entry};
use crate::recipe::{Applicability, Text};

/// `unset_cache_entries = { path = "${tree.path}", entries = "${llvm.entries}" }`
pub const UNSET_CACHE_ENTRIES: Verb = Verb {
    name: "unset_cache_entries",
    about: "Removes the named entries from a recognised build tree's CMakeCache.txt and keeps all else.",
    args: &[
        ArgSpec { name: "path", required: true, about: "The build tree" },
        ArgSpec { name: "named", required: false, about: "The tree as the user names it" },
        ArgSpec { name: "entries", required: true, about: "Names of the entries" },
        ArgSpec {
            name: "make_program",
            required: false,
            about: "The build program that CMAKE_MAKE_PROGRAM gets instead: without it a tree cannot be built, only configured",
        },
    ],
    lower: unset_cache_entries,
};

const MAKE_PROGRAM: &str = "CMAKE_MAKE_PROGRAM";

fn defines_of(build: &BuildCommand) -> Vec<String> {
    match build {
        BuildCommand::Configure(configure) => configure.defines.clone(),
        BuildCommand::Build { .. } | BuildCommand::Python(_) => Vec::new(),
    }
}

fn unset_cache_entries(order: &Order<'_>) -> Result<Lowered, LowerError> {
    let mut lowered = Lowered::default();
    let path = order.path("path")?;
    let named = order.text("named").and_then(|named| AbsPath::new(named).ok()).unwrap_or_else(|| path.clone());
    let mut entries = order.list("entries");
    let tree = match build_tree::recognise(order.host, &named, NamedBy::User, &[], &set_aside_tree::builds_of(order)) {
        Ok(tree) => tree,
        // Only the cache is edited: a build in its source, or one that git partly tracks, loses nothing else.
        Err(NotATree::InSource(tree) | NotATree::Tracked(tree, _)) => *tree,
        Err(NotATree::NoCache) => {
            return Err(LowerError(Text::new(
                format!("`{named}` has no readable CMakeCache.txt"),
                format!("`{named}` 中没有可读的 CMakeCache.txt"),
            )));
        }
        Err(NotATree::Refused(why)) => return Err(LowerError(why)),
    };
    // The files that a configure wrote call the CMake that is gone; every configure writes this entry anew.
    if entries.iter().any(|entry| entry == "CMAKE_COMMAND") {
        set_aside_tree::can_be_made_again(order, &tree)?;
        entries.retain(|entry| entry != "CMAKE_COMMAND");
    }
    let file = tree.path.resolve("CMakeCache.txt");
    lowered.limits.extend(tracked_file(order.host, &file).map(|why| (Applicability::Confirm, why)));
    let FileState::Present(before) = order.file(&file)? else {
        return Err(LowerError(Text::new(format!("`{file}` is gone"), format!("`{file}` 已不存在"))));
    };
    let pending = order.pending(&file);
    let now = match &pending {
        Some(FileState::Present(image)) => image,
        Some(FileState::Absent) => return Ok(lowered),
        None => &before,
    };
    let mut bytes = now.bytes.clone();
    if let Some(program) = order.text("make_program").filter(|_| entries.iter().any(|entry| entry == MAKE_PROGRAM)) {
        entries.retain(|entry| entry != MAKE_PROGRAM);
        bytes = CMakeCache::parse(&bytes).with_value(MAKE_PROGRAM, &program).unwrap_or(bytes);
    }
    let cache = CMakeCache::parse(&bytes);
    let defines: Vec<String> = set_aside_tree::builds_of(order).iter().flat_map(defines_of).collect();
    let is_dropped = |entry: &&&Entry| entries.contains(&entry.name) && !defines.contains(&entry.name);
    let given = cache.user_given();
    let dropped: Vec<&Entry> = given.iter().filter(is_dropped).copied().collect();
    lowered.limits.extend(set_aside_tree::not_given_again(order, &dropped));
    let bytes = cache.without(&entries);
    if bytes != now.bytes {
        if named != tree.path {
            lowered.links.push((named, tree.path.clone()));
        }
        let after = FileState::Present(FileImage { bytes, mode: before.mode });
        lowered.changes.push(Change::WriteFile(WriteFile { path: file, before: FileState::Present(before), after }));
    }
    Ok(lowered)
}
