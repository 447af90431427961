//! What an interrupted pip leaves: the old version under names that begin with `~`.
//!
//! pip renames what it replaces (`numpy` → `~umpy`) and puts it back, or away, when it is done. One that was killed does
//! neither: the whole old version is still there.

use std::collections::BTreeSet;

use super::distributions::{self, Compare, Distribution};
use crate::evidence::{FileKind, Host};
use crate::formats::python_metadata::{Recorded, header, record};
use crate::formats::wheel_name::normalise;
use crate::os::AbsPath;

/// A distribution that was being replaced when pip ended.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Interrupted {
    /// Normalised.
    pub name: String,
    pub version: String,
    pub state: State,
    /// What stands under a changed name, and the name that it had.
    pub moves: Vec<(AbsPath, AbsPath)>,
    /// What stands in the way of the old version.
    pub in_the_way: Vec<AbsPath>,
    /// Scripts that pip moved away, where they are and where they were.
    pub scripts: Vec<(AbsPath, AbsPath)>,
    /// Files of the old version that are nowhere.
    pub lost: Vec<String>,
}

/// What can be done about it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum State {
    /// The old version is whole and can be put back.
    Restorable,
    /// A whole version is installed: the rest is waste.
    Replaced,
    /// Neither is whole.
    Incomplete,
}

const MOST_NAMES: usize = 50_000;
const TEXT: u64 = 64 << 20;

/// Reads what interrupted installs left in a folder of packages.
pub fn of_folder(host: &dyn Host, site: &AbsPath) -> Vec<Interrupted> {
    let names = host.list(site.as_path(), MOST_NAMES).unwrap_or_default();
    let names: Vec<String> = names.into_iter().filter_map(|name| name.into_string().ok()).collect();
    let tilde: Vec<&str> = names.iter().map(String::as_str).filter(|name| name.starts_with('~')).collect();
    let installed = distributions::in_folder(host, site);
    tilde
        .iter()
        .filter(|name| name.ends_with(".dist-info"))
        .filter_map(|info| read(host, site, info, &tilde, &installed))
        .collect()
}

fn read(
    host: &dyn Host,
    site: &AbsPath,
    info: &str,
    tilde: &[&str],
    installed: &[Distribution],
) -> Option<Interrupted> {
    let text = |name: &str| {
        let bytes = host.read(site.resolve(info).resolve(name).as_path(), TEXT).ok()?;
        Some(String::from_utf8_lossy(&bytes).into_owned())
    };
    let (metadata, files) = (text("METADATA")?, record(&text("RECORD")?));
    let value = |name: &str| header(&metadata, name).first().map(|value| (*value).to_owned());
    let (name, version) = (normalise(&value("Name")?), value("Version")?);
    let own = |file: &Recorded| file.path.strip_suffix("/METADATA").filter(|top| !top.contains('/')).map(str::to_owned);
    let real_info = files.iter().find_map(own).filter(|real| is_old_name(info, real))?;
    let mut found = Interrupted {
        name,
        version,
        state: State::Incomplete,
        moves: vec![(site.resolve(info), site.resolve(&real_info))],
        in_the_way: Vec::new(),
        scripts: Vec::new(),
        lost: Vec::new(),
    };
    let same_name: Vec<&Distribution> = installed.iter().filter(|one| one.name == found.name).collect();
    for top in tops(&files).iter().filter(|top| **top != real_info) {
        found.moves.extend(stash_of(host, site, top, tilde).map(|(from, to)| (site.resolve(from), site.resolve(to))));
    }
    if same_name.iter().any(|one| is_whole(host, one)) {
        found.state = State::Replaced;
        return Some(found);
    }
    found.in_the_way.extend(found.moves.iter().map(|(_, to)| to.clone()));
    found.in_the_way.extend(same_name.iter().map(|one| one.info.clone()));
    found.in_the_way.retain(|path| host.inspect(path.as_path()).is_ok());
    found.in_the_way.sort();
    found.in_the_way.dedup();
    let simple = |path: &AbsPath| host.inspect(path.as_path()).is_ok_and(|meta| meta.kind == FileKind::Folder);
    let plain = found.in_the_way.iter().chain(found.moves.iter().map(|(from, _)| from)).all(simple);
    find_files(host, site, &files, &mut found);
    if found.lost.is_empty() && plain {
        found.state = State::Restorable;
    }
    Some(found)
}

/// Says whether a name is what pip makes of another: as long, and the same but for the first characters.
fn is_old_name(changed: &str, real: &str) -> bool {
    const LEADING: &str = "-~.=%0123456789";
    if changed.len() != real.len() || !changed.starts_with('~') || !changed.is_ascii() || !real.is_ascii() {
        return false;
    }
    let same = changed.bytes().rev().zip(real.bytes().rev()).take_while(|(a, b)| a == b).count();
    same > 0 && changed[1..changed.len() - same].chars().all(|c| LEADING.contains(c))
}

/// The entries of the folder of packages that a RECORD speaks of.
fn tops(files: &[Recorded]) -> BTreeSet<&str> {
    let first = |file: &'_ Recorded| !file.path.starts_with(['.', '/']) && file.path.contains('/');
    let tops = files.iter().filter(|file| first(file)).filter_map(|file| file.path.split('/').next());
    tops.filter(|top| *top != "__pycache__").collect()
}

/// Finds the folder that a package was renamed to.
fn stash_of<'n>(host: &dyn Host, site: &AbsPath, top: &'n str, tilde: &[&'n str]) -> Option<(&'n str, &'n str)> {
    let is_folder =
        |name: &str| host.inspect(site.resolve(name).as_path()).is_ok_and(|meta| meta.kind == FileKind::Folder);
    let exact = format!("~{}", top.get(1..)?);
    let candidates = || tilde.iter().copied().filter(|name| is_old_name(name, top) && is_folder(name));
    // Two leftovers of one package: which is whose cannot be told.
    let found = candidates().find(|name| *name == exact).or_else(|| candidates().next())?;
    Some((found, top))
}

fn is_whole(host: &dyn Host, one: &Distribution) -> bool {
    let Some(files) = distributions::recorded(host, one) else { return false };
    let damage = distributions::compare(host, &one.folder, &files, Compare::Sizes);
    damage.files > 0 && damage.missing.is_empty() && damage.altered.is_empty()
}

/// Looks for every file of the old version where it is now; what lies outside of the moved folders may be in one of
/// pip's folders for what it uninstalls.
fn find_files(host: &dyn Host, site: &AbsPath, files: &[Recorded], found: &mut Interrupted) {
    let fits = |path: &AbsPath, file: &Recorded| {
        let meta = host.follow(path.as_path());
        meta.is_ok_and(|meta| meta.kind == FileKind::File && file.size.is_none_or(|size| size == meta.len))
    };
    let mut stashes = None;
    for file in files.iter().filter(|file| !file.path.ends_with(".pyc")) {
        let real = site.resolve(&file.path);
        let moved = found.moves.iter().find(|(_, to)| real.is_within(to)).map(|(from, to)| {
            let below = real.as_path().strip_prefix(to.as_path()).unwrap_or(real.as_path());
            from.resolve(below)
        });
        let here = moved.as_ref().unwrap_or(&real);
        if fits(here, file) {
            continue;
        }
        let name = real.file_name().unwrap_or_default().to_owned();
        let stashes = stashes.get_or_insert_with(|| uninstall_folders(host));
        let kept = stashes
            .iter()
            .map(|folder| folder.resolve(&name))
            .find(|path| file.sha256.is_some() && whole(host, path, file));
        match kept {
            Some(kept) if moved.is_none() => found.scripts.push((kept, real)),
            Some(_) | None => found.lost.push(file.path.clone()),
        }
    }
}

/// A file in a folder that anybody may write to counts only with the content that was installed.
fn whole(host: &dyn Host, path: &AbsPath, file: &Recorded) -> bool {
    let own = host.inspect(path.as_path()).is_ok_and(|meta| meta.kind == FileKind::File && meta.user == host.user());
    let (Some(parent), Some(name)) = (path.parent(), path.file_name().and_then(|name| name.to_str())) else {
        return false;
    };
    let alone = Recorded { path: name.to_owned(), ..file.clone() };
    let damage = distributions::compare(host, &parent, &[alone], Compare::Contents);
    own && damage.missing.is_empty() && damage.altered.is_empty()
}

/// Where pip keeps single files until it is done.
fn uninstall_folders(host: &dyn Host) -> Vec<AbsPath> {
    let variable = ["TMPDIR", "TEMP", "TMP"].iter().find_map(|name| AbsPath::new(host.env(name)?).ok());
    let Some(folder) = variable.or_else(|| AbsPath::new("/tmp").ok()) else { return Vec::new() };
    let names = host.list(folder.as_path(), MOST_NAMES).unwrap_or_default();
    let of_pip = names.iter().filter(|name| name.to_string_lossy().starts_with("pip-uninstall-"));
    of_pip.map(|name| folder.resolve(name)).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_changed_as_pip_does() {
        for (changed, real, want) in [
            ("~umpy", "numpy", true),
            ("~-mpy", "numpy", true),
            ("~umpy", "dumpy", true),
            ("~umpy-1.0.dist-info", "numpy-1.0.dist-info", true),
            ("~umpy", "numpyx", false),
            ("~xmpy", "numpy", false),
            ("numpy", "numpy", false),
            ("~", "a", false),
            ("~é", "né", false),
        ] {
            assert_eq!(is_old_name(changed, real), want, "{changed} {real}");
        }
    }
}
