//! Sets a CMake build tree aside, so that the next run makes it anew.
//!
//! Never touches a folder that is not recognised anew, whatever the recipe or the log calls it.

use std::path::{Path, PathBuf};

use super::{LowerError, Lowered, Order, Verb};
use crate::change::AbsPath;
use crate::change::{Change, RemoveTree, TreeFolder, TreeImage, TreeKind};
use crate::evidence::build_command::{self, BuildCommand, Configure};
use crate::evidence::build_tree::{self, BuildTree, NamedBy, NotATree};
use crate::evidence::mounts;
use crate::evidence::present_source::present_source;
use crate::evidence::questions::ArgSpec;
use crate::evidence::{Host, Tally, own_files};
use crate::formats::cmake_cache::{CMakeCache, Entry};
use crate::recipe::{Applicability, Text};

/// `set_aside_tree = { path = "${tree.path}", drop = "${llvm.entries}" }`
pub const SET_ASIDE_TREE: Verb = Verb {
    name: "set_aside_tree",
    about: "Sets a recognised CMake build tree aside, restorable; carries the user's own -D values over to the re-run.",
    args: &[
        ArgSpec { name: "path", required: true, about: "The build tree" },
        ArgSpec { name: "named", required: false, about: "The tree as the user names it" },
        ArgSpec { name: "drop", required: false, about: "Cache entries that are not carried over" },
        ArgSpec { name: "drop_under", required: false, about: "Folders: values that lie in them are not carried over" },
        ArgSpec { name: "moved_from", required: false, about: "Folders that the log names as the cache's old home" },
    ],
    lower: set_aside_tree,
};

/// Entries counted at most; a larger tree's figures are lower limits.
const COUNT_LIMIT: u64 = 2_000_000;
/// Settings told to the user at most.
const TOLD: usize = 12;

fn set_aside_tree(order: &Order<'_>) -> Result<Lowered, LowerError> {
    let mut lowered = Lowered::default();
    let path = order.path("path")?;
    let already = order.so_far.changes.iter().any(|change| match change {
        Change::RemoveTree(tree) => tree.path == path,
        Change::WriteFile(_) | Change::Run(_) => false,
    });
    if already {
        return Ok(lowered);
    }
    let named = order.text("named").and_then(|named| AbsPath::new(named).ok()).unwrap_or_else(|| path.clone());
    let tree = recognised(order, &named)?;
    if tree.path != path {
        return Err(LowerError(Text::new(
            format!("`{named}` leads to `{}`, not to `{path}`", tree.path),
            format!("`{named}` 指向 `{}`，而不是 `{path}`", tree.path),
        )));
    }
    refuse_mounts(order.host, &tree.path)?;
    can_be_made_again(order, &tree)?;
    carry_settings(order, &tree, &mut lowered);
    let sources = own_files::sources(order.host, &tree.path);
    if !sources.is_empty() {
        lowered.limits.push((Applicability::Confirm, own_files::told(&named, &sources)));
    }
    let before = measure(order.host, &tree.path)?;
    let mut folder = if makes_its_folder(order) { TreeFolder::Goes } else { TreeFolder::Stays };
    if named != tree.path {
        lowered.links.push((named, tree.path.clone()));
        folder = TreeFolder::StaysBehindLink;
    }
    let removed = RemoveTree { path: tree.path, before, kind: TreeKind::Derived, folder };
    lowered.changes.push(Change::RemoveTree(removed));
    Ok(lowered)
}

/// Says whether the user's command makes the folder of its build tree where there is none. A script may not.
fn makes_its_folder(order: &Order<'_>) -> bool {
    let Some(command) = order.command else { return false };
    build_command::direct_configure(command, order.host).is_some()
        || matches!(*builds_of(order), [BuildCommand::Python(_)])
}

/// Recognises the tree anew, or says why it must not be touched.
pub(super) fn recognised(order: &Order<'_>, named: &AbsPath) -> Result<BuildTree, LowerError> {
    let moved_from: Vec<PathBuf> = order.list("moved_from").into_iter().map(PathBuf::from).collect();
    build_tree::recognise(order.host, named, NamedBy::User, &moved_from, &builds_of(order)).map_err(|why| {
        LowerError(match why {
            NotATree::NoCache => Text::new(
                format!("`{named}` is no build tree: it has no readable CMakeCache.txt"),
                format!("`{named}` 不是构建目录：其中没有可读的 CMakeCache.txt"),
            ),
            NotATree::InSource(_) => Text::new(
                format!("`{named}` holds the source of the build and is left alone"),
                format!("`{named}` 中包含源码，不予移动"),
            ),
            NotATree::Tracked(_, why) => Text::new(format!("left alone: {}", why.en), format!("不予移动：{}", why.zh)),
            NotATree::Refused(why) => why,
        })
    })
}

/// Refuses a tree with a mount point in it: what that shows lies elsewhere and is no part of the tree.
pub(super) fn refuse_mounts(host: &dyn Host, tree: &AbsPath) -> Result<(), LowerError> {
    let real = host.real(tree.as_path()).unwrap_or_else(|_| tree.as_path().to_owned());
    let mounted = |point: &PathBuf| *point != real && point.starts_with(&real);
    let Some(mount) = mounts::mount_points(host).into_iter().find(mounted) else { return Ok(()) };
    let mount = mount.display();
    Err(LowerError(Text::new(
        format!("`{tree}` is left alone: `{mount}` is mounted in it; unmount that first"),
        format!("不移动 `{tree}`：其中挂载了 `{mount}`；请先卸载"),
    )))
}

/// What the user's command builds.
pub(super) fn builds_of(order: &Order<'_>) -> Vec<BuildCommand> {
    order.command.map(|command| build_command::recognise(command, order.host)).unwrap_or_default()
}

/// Refuses where the user's command only builds: without its tree it would fail at once.
pub(super) fn can_be_made_again(order: &Order<'_>, tree: &BuildTree) -> Result<(), LowerError> {
    let host = order.host;
    if build_tree::can_be_made_again(host, &builds_of(order), tree) {
        return Ok(());
    }
    let source = present_source(host, &builds_of(order), tree);
    let source = source.display();
    Err(LowerError(Text::new(
        format!(
            "the command needs `{0}` configured; give the configure command instead: `cmake -S {source} -B {0}`",
            tree.named
        ),
        format!("该命令需要已配置的 `{0}`；请改用配置命令：`cmake -S {source} -B {0}`", tree.named),
    )))
}

/// Carries the user's own settings over to the re-run where it is a configure call, else tells them.
fn carry_settings(order: &Order<'_>, tree: &BuildTree, lowered: &mut Lowered) {
    let Some(bytes) = build_tree::read_cache(order.host, tree.path.as_path()) else { return };
    let cache = CMakeCache::parse(&bytes);
    let (drop, drop_under) = (order.list("drop"), order.list("drop_under"));
    let is_stale = |entry: &Entry| {
        let under = |path: &&str| drop_under.iter().any(|folder| Path::new(path).starts_with(folder));
        let gone = |path: &&str| order.host.follow(Path::new(path)).is_err();
        // `-D` would take a part of such a name for the type.
        let cannot_be_given = entry.name.contains(':');
        let leads_nowhere = |path: &&str| under(path) || (!entry.is_output() && gone(path));
        drop.contains(&entry.name) || cannot_be_given || entry.paths().iter().any(leads_nowhere)
    };
    let configure = order.command.and_then(|command| build_command::direct_configure(command, order.host));
    let builds = order.command.map(|command| build_command::recognise(command, order.host)).unwrap_or_default();
    let source = present_source(order.host, &builds, tree);
    let settings = build_tree::user_settings(order.host, &source, &cache);
    let configures = configures_of(&builds);
    let is_in_command = |entry: &&Entry| configures.iter().any(|configure| configure.defines.contains(&entry.name));
    let given: Vec<&Entry> = settings.iter().filter(|entry| !is_in_command(entry)).collect();
    let (stale, kept): (Vec<&Entry>, Vec<&Entry>) = given.into_iter().partition(|entry| is_stale(entry));
    if !stale.is_empty() {
        let list = listed(&stale);
        lowered.notes.push(Text::new(
            format!("settings of the old build tree that are stale and not carried over: {list}"),
            format!("旧构建目录中已失效、不再沿用的设置：{list}"),
        ));
        lowered.limits.extend(not_given_again(order, &stale));
    }
    match configure.filter(|configure| configure.tree.is_some() && configure.source.is_some()) {
        Some(configure) => {
            lowered.rerun_args.extend(kept.iter().map(|entry| entry.to_argument().into()));
            carry_generator(order.host, &configure, tree, lowered);
        }
        None if kept.is_empty() => {}
        None => {
            let list = listed(&kept);
            // The re-run would configure without them and build something else.
            if !configures.is_empty() {
                lowered.limits.push((
                    Applicability::Confirm,
                    Text::new(
                        format!("your command configures without what the old tree was given: {list}"),
                        format!("您的命令重新配置时不会带上旧构建目录的设置：{list}"),
                    ),
                ));
            }
            lowered.notes.push(Text::new(
                format!("the old build tree was configured with {list}; give them again where your command does not"),
                format!("旧构建目录的配置参数为 {list}；如果您的命令没有给出这些参数，请重新指定"),
            ));
        }
    }
}

fn configures_of(builds: &[BuildCommand]) -> Vec<&Configure> {
    builds
        .iter()
        .filter_map(|build| match build {
            BuildCommand::Configure(configure) => Some(configure),
            BuildCommand::Build { .. } | BuildCommand::Python(_) => None,
        })
        .collect()
}

/// What a person once typed is gone for good when a repair drops it, and the build is another one: never unasked. A
/// script that configures gives its settings again, but for the compiler nobody answers.
pub(super) fn not_given_again(order: &Order<'_>, dropped: &[&Entry]) -> Option<(Applicability, Text)> {
    let builds = builds_of(order);
    let by_script = builds.iter().any(|build| matches!(build, BuildCommand::Python(_)));
    let is_typed = !by_script && (!builds.is_empty() || order.command.is_none());
    let is_compiler = |entry: &&Entry| entry.name.starts_with("CMAKE_") && entry.name.ends_with("_COMPILER");
    let list = listed(dropped);
    (!dropped.is_empty() && (is_typed || dropped.iter().any(is_compiler))).then(|| {
        let why = Text::new(
            format!("a setting that the old tree was given is not given again: {list}"),
            format!("旧构建目录曾指定的设置不会再次传入：{list}"),
        );
        (Applicability::Confirm, why)
    })
}

/// Keeps the generator that the tree had: an empty tree would get CMake's default.
fn carry_generator(host: &dyn Host, configure: &Configure, tree: &BuildTree, lowered: &mut Lowered) {
    let is_default = tree.generator.is_empty() || tree.generator == "Unix Makefiles";
    if configure.generator.is_none() && !is_default && host.env("CMAKE_GENERATOR").is_none() {
        lowered.rerun_args.extend(["-G".into(), tree.generator.as_str().into()]);
    }
}

fn listed(entries: &[&Entry]) -> String {
    let mut list: Vec<String> = entries.iter().take(TOLD).map(|entry| format!("`{}`", entry.to_argument())).collect();
    if entries.len() > TOLD {
        list.push(format!("… (+{})", entries.len() - TOLD));
    }
    list.join(" ")
}

/// Identifies a folder and counts what is in it, without following links.
pub(super) fn measure(host: &dyn Host, path: &AbsPath) -> Result<TreeImage, LowerError> {
    let failed = |error: std::io::Error| {
        LowerError(Text::new(format!("`{path}` cannot be read: {error}"), format!("无法读取 `{path}`：{error}")))
    };
    let own = host.inspect(path.as_path()).map_err(failed)?;
    let Tally { files, bytes, estimated, at_least } = host.tally(path.as_path(), COUNT_LIMIT);
    Ok(TreeImage { device: own.device, inode: own.inode, files, bytes, estimated, at_least })
}
