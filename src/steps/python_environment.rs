//! What the verbs that install Python packages share: which environments may be changed, by which program, and what
//! such a change writes.

use super::{LowerError, Order};
use crate::change::AbsPath;
use crate::evidence::python::{Interpreter, Kind, distributions, installer};
use crate::evidence::{FileKind, Host};
use crate::recipe::Text;

/// A program that installs or builds for an interpreter.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Program {
    /// `python -m pip`
    Pip,
    Uv(AbsPath),
}

/// Reads the interpreter of an argument anew; one of the system, or of somebody else, is refused.
pub(super) fn environment(order: &Order<'_>, argument: &str) -> Result<Interpreter, LowerError> {
    let path = order.path(argument)?;
    let python = Interpreter::at(order.host, &path).ok_or_else(|| {
        LowerError(Text::new(
            format!("`{path}` is no Python that runs here"),
            format!("`{path}` 不是可在本机运行的 Python"),
        ))
    })?;
    let own = order.host.follow(python.prefix.as_path()).is_ok_and(|meta| meta.user == order.host.user());
    if python.kind == Kind::Base || python.externally_managed || !own {
        return Err(LowerError(Text::new(
            format!(
                "`{path}` is no environment of your own: packages are not put into `{}`; activate a virtual environment",
                python.prefix
            ),
            format!("`{path}` 不属于您自己的环境：不会向 `{}` 安装软件包；请先激活虚拟环境", python.prefix),
        )));
    }
    Ok(python)
}

/// Finds what installs into an environment: its own pip, else uv.
pub(super) fn program(host: &dyn Host, python: &Interpreter) -> Result<Program, LowerError> {
    if has_module(host, python, "pip") {
        return Ok(Program::Pip);
    }
    installer::helper_path(host, "uv").map(Program::Uv).ok_or_else(|| {
        let prefix = &python.prefix;
        LowerError(Text::new(
            format!("`{prefix}` has no pip, and there is no uv on PATH"),
            format!("`{prefix}` 中没有 pip，PATH 中也没有 uv"),
        ))
    })
}

/// Says whether `python -m NAME` finds something.
pub(super) fn has_module(host: &dyn Host, python: &Interpreter, name: &str) -> bool {
    let folders = distributions::import_folders(host, python);
    folders.iter().any(|folder| host.follow(folder.resolve(name).resolve("__main__.py").as_path()).is_ok())
}

/// Lists what an install writes. A virtual environment is small, and a wheel may put data anywhere into it; of conda's
/// the folders that packages and their scripts and data go into. Files that tools edit in place are named one by one,
/// so that they are copied and not linked.
pub(super) fn writes(host: &dyn Host, python: &Interpreter, data: &[String]) -> Vec<AbsPath> {
    let mut all = match python.kind {
        Kind::Virtual => vec![python.prefix.clone()],
        Kind::Conda | Kind::Base => {
            let mut folders: Vec<AbsPath> =
                python.packages.iter().filter(|one| one.is_within(&python.prefix)).cloned().collect();
            let usual = ["bin", "include", "share", "etc"].into_iter().map(str::to_owned);
            folders.extend(usual.chain(data.iter().cloned()).map(|name| python.prefix.resolve(name)));
            folders
        }
    };
    for site in python.packages.iter().filter(|site| site.is_within(&python.prefix)) {
        for name in host.list(site.as_path(), 50_000).unwrap_or_default() {
            let edited = [".pth", ".egg-link"].iter().any(|end| name.to_string_lossy().ends_with(end));
            let path = site.resolve(&name);
            if edited && host.inspect(path.as_path()).is_ok_and(|meta| meta.kind == FileKind::File) {
                all.push(path);
            }
        }
    }
    all.sort();
    all.dedup();
    all
}
