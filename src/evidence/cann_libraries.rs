//! Where CANN and the NPU driver keep their libraries on this machine.

use std::path::{Path, PathBuf};

use super::{FileKind, Host};

/// Folders that hold an installation, or several, in the order of a look-up.
const PLACES: &[&str] = &["/usr/local/Ascend", "/opt/Ascend"];
/// How an installation is named below them; a link to the newest comes first.
const NAMES: &[&str] = &["cann", "ascend-toolkit/latest", "latest"];

/// Lists the installations: what the environment names, then those in the usual places.
pub fn roots(host: &dyn Host) -> Vec<PathBuf> {
    let mut roots: Vec<PathBuf> = Vec::new();
    let mut add = |root: PathBuf| {
        if root.is_absolute() && is_root(host, &root) && !roots.contains(&root) {
            roots.push(root);
        }
    };
    for name in ["ASCEND_HOME_PATH", "ASCEND_TOOLKIT_HOME"] {
        host.env(name).map(PathBuf::from).into_iter().for_each(&mut add);
    }
    let home = host.home().map(|home| home.resolve("Ascend").as_path().to_owned());
    for place in PLACES.iter().map(PathBuf::from).chain(home) {
        NAMES.iter().map(|name| place.join(name)).for_each(&mut add);
        for name in host.list(&place, 1000).unwrap_or_default().iter().rev() {
            if name.to_str().is_some_and(|name| name.starts_with("cann-")) {
                add(place.join(name));
            }
        }
    }
    roots
}

/// Says whether a folder is an installation: it has the library that everything starts from.
pub fn is_root(host: &dyn Host, root: &Path) -> bool {
    ["lib64/libascendcl.so", "lib64/libacl_rt.so"].iter().any(|name| host.follow(&root.join(name)).is_ok())
}

/// Lists the folders of an installation, and of the driver, that its set_env.sh puts on LD_LIBRARY_PATH.
pub fn folders(host: &dyn Host, root: &Path) -> Vec<PathBuf> {
    let own = ["lib64", "lib64/plugin/opskernel", "lib64/plugin/nnengine"].iter().map(|name| root.join(name));
    let driver =
        ["lib64/driver", "lib64/common", "lib64"].iter().map(|name| Path::new("/usr/local/Ascend/driver").join(name));
    let all = own.chain(driver);
    all.filter(|folder| host.follow(folder).is_ok_and(|meta| meta.kind == FileKind::Folder)).collect()
}

/// Returns the script that sets the environment of an installation.
pub fn set_env(host: &dyn Host, root: &Path) -> Option<PathBuf> {
    let beside = root.parent().map(|parent| parent.join("set_env.sh"));
    let own = Some(root.join("set_env.sh"));
    [own, beside].into_iter().flatten().find(|path| host.follow(path).is_ok_and(|meta| meta.kind == FileKind::File))
}
