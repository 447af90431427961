//! Where a repair may write on this machine.

use crate::change::{AbsPath, AllowedRoots};
use crate::evidence::{FileKind, Host};

/// Configuration files of known tools, below HOME.
const CONFIGURATION: &[&str] = &[
    ".condarc",
    ".conda/.condarc",
    ".conda/condarc",
    ".conda/condarc.d",
    ".config/conda",
    ".mambarc",
    ".pip/pip.conf",
    ".config/pip/pip.conf",
    ".config/uv/uv.toml",
    ".config/pixi/config.toml",
    ".pixi/config.toml",
    ".pixi/manifests/pixi-global.toml",
    ".bashrc",
    ".bash_profile",
    ".profile",
    ".zshrc",
    ".zprofile",
    ".config/fish/conf.d",
];

/// Why `fix` does not write at all here.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum RootsError {
    /// The effective user is root and HOME belongs to somebody else: files would change their owner.
    #[error("running as root with the home `{0}` of another user")]
    ForeignHome(AbsPath),
}

/// Lists what may be written: the git top level (outside git the project folder), configuration files of known
/// tools in HOME, the active Python or conda environment unless it is the system's or externally managed.
///
/// `/` and HOME itself are no project: whoever works there gets no root but what `--allow-path` names.
pub fn allowed_roots(host: &dyn Host, allowed: &[AbsPath]) -> Result<AllowedRoots, RootsError> {
    if let Some(home) = host.home()
        && host.user() == 0
        && host.follow(home.as_path()).is_ok_and(|meta| meta.user != 0)
    {
        return Err(RootsError::ForeignHome(home.clone()));
    }
    let mut roots = AllowedRoots::new(allowed.iter().cloned());
    let too_wide = |path: &AbsPath| path.parent().is_none() || host.home().is_some_and(|home| home.is_within(path));
    let project = [host.git().top_level(), Some(host.project())].into_iter().flatten().find(|path| !too_wide(path));
    if let Some(project) = project {
        roots.allow(project.clone());
    }
    if let Some(home) = host.home() {
        for name in CONFIGURATION {
            roots.allow(home.resolve(name));
        }
        // zsh's own files, where they do not lie in HOME itself.
        if let Some(folder) = host.env("ZDOTDIR").and_then(|folder| AbsPath::new(folder).ok())
            && folder.is_within(home)
        {
            roots.allow(folder.resolve(".zshrc"));
        }
    }
    for name in ["VIRTUAL_ENV", "CONDA_PREFIX"] {
        if let Some(prefix) = host.env(name).and_then(|value| AbsPath::new(value).ok())
            && !too_wide(&prefix)
            && is_private_environment(host, &prefix)
        {
            roots.allow(prefix);
        }
    }
    Ok(roots)
}

/// A Python environment that belongs to the user alone: theirs, and neither the system's nor managed by a
/// package manager (PEP 668).
fn is_private_environment(host: &dyn Host, prefix: &AbsPath) -> bool {
    let system = ["/usr", "/usr/local", "/opt", "/bin", "/lib"];
    if system.iter().any(|path| prefix.as_path() == std::path::Path::new(path)) {
        return false;
    }
    let Ok(meta) = host.follow(prefix.as_path()) else { return false };
    if meta.kind != FileKind::Folder || meta.user != host.user() {
        return false;
    }
    let marked = ["pyvenv.cfg", "conda-meta"].iter().any(|name| host.follow(prefix.resolve(name).as_path()).is_ok());
    let lib = prefix.resolve("lib");
    let managed = host.list(lib.as_path(), 1000).unwrap_or_default().iter().any(|name| {
        let name = name.to_string_lossy();
        name.starts_with("python")
            && host.follow(lib.resolve(name.as_ref()).resolve("EXTERNALLY-MANAGED").as_path()).is_ok()
    });
    marked && !managed
}
