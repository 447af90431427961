//! Which program of the machine `fix` itself may run: none of the project, and none that strangers could have put there.

use std::path::{Path, PathBuf};

use super::ownership::is_out_of_reach;
use super::{FileKind, Host};
use crate::os::AbsPath;

/// Whether a program in the project's folder may count at all.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum InProject {
    Never,
    /// That of the active environment, which is the user's word.
    ActiveEnvironment,
}

/// Lists the trusted programs `name` in `folders`, in that order, each by the path that leads to it.
///
/// Each is root's or the user's own, and out of everybody else's reach ([`is_out_of_reach`]).
pub fn trusted<'h>(
    host: &'h dyn Host,
    name: &'h str,
    folders: impl IntoIterator<Item = PathBuf> + 'h,
    in_project: InProject,
) -> impl Iterator<Item = AbsPath> + 'h {
    let active: Vec<AbsPath> = match in_project {
        InProject::Never => Vec::new(),
        InProject::ActiveEnvironment => {
            let prefixes = ["VIRTUAL_ENV", "CONDA_PREFIX"].into_iter().filter_map(|name| host.env(name));
            prefixes.filter_map(|prefix| Some(AbsPath::new(prefix).ok()?.resolve("bin"))).collect()
        }
    };
    // `/` and HOME hold everything: whoever works there has no folder of the project that could be told from others.
    let projects: Vec<PathBuf> = [Some(host.project()), host.git().top_level()]
        .into_iter()
        .flatten()
        .filter(|path| path.parent().is_some() && host.home() != Some(*path))
        .filter_map(|path| host.real(path.as_path()).ok())
        .collect();
    folders.into_iter().filter_map(|folder| AbsPath::new(folder).ok()).filter_map(move |folder| {
        let path = folder.resolve(name);
        let real = host.real(path.as_path()).ok()?;
        let real_folder = host.real(folder.as_path()).ok()?;
        let of_project = |path: &Path| projects.iter().any(|project| path.starts_with(project));
        let allowed = active.contains(&folder) || !(of_project(&real_folder) || of_project(&real));
        let trusted = is_out_of_reach(host, path.as_path(), FileKind::File)
            && host.follow(&real).is_ok_and(|meta| meta.mode & 0o111 != 0);
        (allowed && trusted).then_some(path)
    })
}
