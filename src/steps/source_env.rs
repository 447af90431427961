//! Takes over what CANN's own `set_env.sh` exports, for our own commands and the re-run; changes no file.
//!
//! The script is run in a clean shell, and only its effect on variables is taken. It must be the one of an installation
//! that is recognised on this machine, and belong to root or this user; what a log or a recipe names does not count.

use std::collections::BTreeMap;
use std::ffi::{OsStr, OsString};

use super::{LowerError, Lowered, Order, Verb};
use crate::change::{AbsPath, EnvEdit, EnvOverlay};
use crate::evidence::ownership::{is_out_of_reach, script_in_reach};
use crate::evidence::questions::ArgSpec;
use crate::evidence::{FileKind, Host, ascend};
use crate::recipe::Text;

/// `source_env = { script = "${tool.set_env}" }`
pub const SOURCE_ENV: Verb = Verb {
    name: "source_env",
    about: "Sets what the set_env.sh of an installed CANN exports, as the re-run would see it; folders on PATH with a \
            build of AscendNPU-IR stay in front of CANN's.",
    args: &[ArgSpec { name: "script", required: true, about: "The set_env.sh of a recognised installation" }],
    lower: source_env,
};

/// Runs a script in a clean shell and returns the environment after it; `None` in commands that run nothing.
pub type Evaluate<'a> = dyn Fn(&AbsPath) -> Result<BTreeMap<OsString, OsString>, Text> + 'a;

/// Variables of the shell itself.
const SHELLS_OWN: &[&str] = &["_", "HOME", "LANG", "LANGUAGE", "LC_ALL", "OLDPWD", "PWD", "SHLVL"];

fn source_env(order: &Order<'_>) -> Result<Lowered, LowerError> {
    let script = order.path("script")?;
    let host = order.host;
    let installed = ascend::cann(host).into_iter().find(|cann| cann.set_env.as_ref() == Some(&script));
    let Some(cann) = installed else {
        return Err(LowerError(Text::new(
            format!("`{script}` belongs to no CANN that is recognised here"),
            format!("`{script}` 不属于本机可识别的 CANN"),
        )));
    };
    let reached = [(script.as_path(), FileKind::File), (cann.root.as_path(), FileKind::Folder)]
        .into_iter()
        .find(|(path, kind)| !is_out_of_reach(host, path, *kind))
        .map(|(path, _)| path.to_owned())
        .or_else(|| script_in_reach(host, cann.root.as_path()));
    if let Some(path) = reached {
        let path = path.display();
        return Err(LowerError(Text::new(
            format!("others than you and root could have written `{path}` or a folder above it: `{script}` is not run"),
            format!("除您和 root 以外的用户可以写入 `{path}` 或其上级目录：不会执行 `{script}`"),
        )));
    }
    let mut lowered = Lowered::default();
    match order.evaluate {
        Some(evaluate) => lowered.overlay = difference(&evaluate(&script).map_err(LowerError)?),
        // Nothing is run to say what would be done: these two are in every version of the script.
        None => {
            lowered.overlay.edit("ASCEND_HOME_PATH", EnvEdit::Set(cann.root.to_string()));
            lowered.overlay.edit("PATH", EnvEdit::Prepend(vec![cann.root.resolve("bin").to_string()]));
        }
    }
    if lowered.overlay.is_empty() {
        return Err(LowerError(Text::new(format!("`{script}` sets nothing"), format!("`{script}` 没有设置任何变量"))));
    }
    let kept = in_front(host);
    if !kept.is_empty() {
        lowered.overlay.edit("PATH", EnvEdit::Prepend(kept));
    }
    lowered.notes.push(Text::new(
        format!("the variables are what `{script}` exports in a shell of its own"),
        format!("以上变量即 `{script}` 在独立 shell 中导出的内容"),
    ));
    Ok(lowered)
}

/// Folders on PATH with a build of AscendNPU-IR: set_env.sh would put CANN's older tools in front of them.
fn in_front(host: &dyn Host) -> Vec<String> {
    let folders = ascend::search_path(host).into_iter().filter(|folder| ascend::is_npu_ir(folder, host));
    folders.filter_map(|folder| folder.into_os_string().into_string().ok()).collect()
}

/// What a script did to a clean environment. Lists were empty before, but for the folders of the system on PATH.
fn difference(after: &BTreeMap<OsString, OsString>) -> EnvOverlay {
    let mut overlay = EnvOverlay::default();
    for (name, value) in after {
        let (Some(name), Some(value)) = (name.to_str(), value.to_str()) else { continue };
        let loads_python = name == "PYTHONPATH";
        if SHELLS_OWN.contains(&name) || (EnvOverlay::steers_programs(name) && !loads_python) || value.contains('\n') {
            continue;
        }
        if name.ends_with("PATH") && is_list(name) {
            let folders: Vec<String> = std::env::split_paths(OsStr::new(value))
                .filter_map(|folder| folder.into_os_string().into_string().ok())
                .filter(|folder| folder.starts_with('/') && !(name == "PATH" && CLEAN_PATH.contains(&folder.as_str())))
                .collect();
            if !folders.is_empty() {
                overlay.edit(name, EnvEdit::Prepend(folders));
            }
        } else {
            overlay.edit(name, EnvEdit::Set(value.to_owned()));
        }
    }
    overlay
}

/// PATH of the clean shell.
pub const CLEAN_PATH: &[&str] = &["/usr/local/sbin", "/usr/local/bin", "/usr/sbin", "/usr/bin", "/sbin", "/bin"];

/// Names that end in `PATH` and hold a list; ASCEND_HOME_PATH and its like hold one folder.
fn is_list(name: &str) -> bool {
    const LISTS: &[&str] = &[
        "CMAKE_PREFIX_PATH",
        "CPATH",
        "CPLUS_INCLUDE_PATH",
        "C_INCLUDE_PATH",
        "LD_LIBRARY_PATH",
        "LIBRARY_PATH",
        "MANPATH",
        "PATH",
        "PKG_CONFIG_PATH",
        "PYTHONPATH",
    ];
    LISTS.contains(&name)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_a_script_did() {
        let after = [
            ("PATH", "/c/bin:/c/tools/ccec_compiler/bin:/usr/local/bin:/usr/bin:/bin"),
            ("LD_LIBRARY_PATH", "/c/lib64:/c/devlib:"),
            ("PYTHONPATH", "/c/python/site-packages:relative"),
            ("ASCEND_HOME_PATH", "/c"),
            ("LD_PRELOAD", "/c/evil.so"),
            ("BASH_ENV", "/c/evil"),
            ("PWD", "/"),
            ("SHLVL", "1"),
            ("TWO", "a\nb"),
        ];
        let after = after.map(|(name, value)| (OsString::from(name), OsString::from(value)));
        let overlay = difference(&after.into_iter().collect());
        let told: Vec<String> = overlay.iter().map(|(name, edit)| format!("{name} {edit:?}")).collect();
        assert_eq!(
            told,
            [
                "ASCEND_HOME_PATH Set(\"/c\")",
                "LD_LIBRARY_PATH Prepend([\"/c/lib64\", \"/c/devlib\"])",
                "PATH Prepend([\"/c/bin\", \"/c/tools/ccec_compiler/bin\"])",
                "PYTHONPATH Prepend([\"/c/python/site-packages\"])",
            ]
        );
    }
}
