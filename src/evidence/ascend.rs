//! What of Ascend is installed here: CANN, and builds of AscendNPU-IR.
//!
//! Reads names and small files; runs nothing. A folder counts when what must lie in it lies in it.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};

use super::cann_version::CannVersion;
use super::questions::object_kind::is_program;
use super::{FileKind, Host};
use crate::os::AbsPath;

/// An installation of CANN.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Cann {
    /// With every link followed.
    pub root: AbsPath,
    /// As it is usually named: `latest` and `cann` lead to a version.
    pub named: AbsPath,
    pub version: Option<String>,
    pub set_env: Option<AbsPath>,
}

/// A folder with the tools of AscendNPU-IR that a user built.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct NpuIr {
    pub bin: AbsPath,
    /// Whether its bishengir-opt has the attribute that Triton-distributed's patch adds.
    pub patched: bool,
}

/// The tools that a build of AscendNPU-IR brings.
const NPUIR_TOOLS: &[&str] = &["bishengir-opt", "bishengir-compile"];
/// Folders of CANN with programs.
pub const CANN_BINS: &[&str] = &["bin", "tools/bishengir/bin", "compiler/bin", "tools/ccec_compiler/bin"];
/// What is in every CANN, of old and of new layout.
const CANN_MARKS: &[&str] = &[
    "opp/version.info",
    "include/acl/acl.h",
    "lib64/libascendcl.so",
    "lib64/libacl_rt.so",
    "share/info/runtime/version.info",
    "aarch64-linux/ascend_toolkit_install.info",
    "x86_64-linux/ascend_toolkit_install.info",
];
const VERSION_FILES: &[&str] = &[
    "aarch64-linux/ascend_toolkit_install.info",
    "x86_64-linux/ascend_toolkit_install.info",
    "share/info/runtime/version.info",
    "toolkit/version.info",
    "compiler/version.info",
    "runtime/version.info",
    "opp/version.info",
];
/// Entries of a folder, and bytes of a version file.
const MOST_NAMES: usize = 1000;
const TEXT_LIMIT: u64 = 64 << 10;
/// bishengir-opt is a few hundred megabytes.
const TOOL_LIMIT: u64 = 2 << 30;

/// Lists the installations of CANN, the one that the environment names first, then the newest first.
pub fn cann(host: &dyn Host) -> Vec<Cann> {
    let named = ["ASCEND_HOME_PATH", "ASCEND_TOOLKIT_HOME"];
    let mut candidates: Vec<AbsPath> =
        named.iter().filter_map(|name| host.env(name).and_then(|value| AbsPath::new(value).ok())).collect();
    let fixed = candidates.len();
    let mut parents: Vec<AbsPath> =
        ["/usr/local/Ascend", "/opt/Ascend"].iter().filter_map(|path| AbsPath::new(path).ok()).collect();
    parents.extend(host.home().map(|home| home.resolve("Ascend")));
    for parent in &parents {
        for folder in [parent.clone(), parent.resolve("ascend-toolkit")] {
            let names = host.list(folder.as_path(), MOST_NAMES).unwrap_or_default();
            candidates.extend(names.iter().map(|name| folder.resolve(name)));
        }
    }
    let mut seen = BTreeSet::new();
    let mut all: Vec<Cann> = Vec::new();
    let mut first = Vec::new();
    for (at, candidate) in candidates.iter().enumerate() {
        let Some(found) = recognise(candidate, host) else { continue };
        if seen.insert(found.root.clone()) {
            if at < fixed { first.push(found) } else { all.push(found) }
        } else if at >= fixed
            && let Some(known) = first.iter_mut().chain(&mut all).find(|known| known.root == found.root)
            && known.set_env.is_none()
        {
            known.set_env = found.set_env;
        }
    }
    let version = |cann: &Cann| cann.version.as_deref().and_then(CannVersion::parse);
    all.sort_by(|one, other| (version(other), &one.root).cmp(&(version(one), &other.root)));
    first.extend(all);
    first
}

fn recognise(named: &AbsPath, host: &dyn Host) -> Option<Cann> {
    let root = AbsPath::new(host.real(named.as_path()).ok()?).ok()?;
    let has = |name: &str| host.follow(root.resolve(name).as_path()).is_ok();
    if !has("bin") || !CANN_MARKS.iter().any(|mark| has(mark)) {
        return None;
    }
    // Up to 8.3 the file stands beside the versions, and is of `latest`.
    let beside = named.parent().filter(|parent| parent.file_name().is_some_and(|name| name == "ascend-toolkit"));
    let beside =
        beside.filter(|parent| host.real(parent.resolve("latest").as_path()).is_ok_and(|real| real == root.as_path()));
    let files = [Some(root.resolve("set_env.sh")), beside.map(|parent| parent.resolve("set_env.sh"))];
    let is_file = |path: &AbsPath| host.inspect(path.as_path()).is_ok_and(|meta| meta.kind == FileKind::File);
    let set_env = files.into_iter().flatten().find(is_file);
    Some(Cann { version: version_of(&root, host), root, named: named.clone(), set_env })
}

/// Reads the version of an installation.
fn version_of(root: &AbsPath, host: &dyn Host) -> Option<String> {
    VERSION_FILES.iter().find_map(|name| value_of(&root.resolve(name), "version", host))
}

/// Takes the value of a key of a `key=value` file; the case of the key does not matter.
pub fn value_of(file: &AbsPath, key: &str, host: &dyn Host) -> Option<String> {
    let bytes = host.read(file.as_path(), TEXT_LIMIT).ok()?;
    let text = String::from_utf8_lossy(&bytes).into_owned();
    text.lines().find_map(|line| {
        let (name, value) = line.split_once('=')?;
        let value = value.trim().trim_matches(['[', ']', '"']);
        (name.trim().eq_ignore_ascii_case(key) && !value.is_empty()).then(|| value.to_owned())
    })
}

/// Lists the folders with the tools of AscendNPU-IR that were built here, patched ones first.
pub fn npu_ir(host: &dyn Host) -> Vec<NpuIr> {
    let project = host.project();
    let mut checkouts = vec![
        project.clone(),
        project.resolve("AscendNPU-IR"),
        project.resolve("third_party/ascend/AscendNPU-IR"),
        project.resolve("3rdparty/triton-ascend/third_party/ascend/AscendNPU-IR"),
    ];
    checkouts.extend(project.parent().map(|parent| parent.resolve("AscendNPU-IR")));
    checkouts.extend(host.home().map(|home| home.resolve("AscendNPU-IR")));
    let mut bins: Vec<AbsPath> =
        checkouts.iter().flat_map(|at| [at.resolve("build/bin"), at.resolve("build/install/bin")]).collect();
    bins.extend(search_path(host).into_iter().filter_map(|folder| AbsPath::new(folder).ok()));
    let mut all: Vec<NpuIr> = Vec::new();
    for bin in bins {
        if is_npu_ir(bin.as_path(), host) && all.iter().all(|known| known.bin != bin) {
            let patched = is_patched(&bin.as_path().join("bishengir-opt"), host);
            all.push(NpuIr { bin, patched });
        }
    }
    all.sort_by_key(|one| !one.patched);
    all
}

/// Says whether a folder holds both tools, and is none of CANN's or of a Python package.
pub fn is_npu_ir(bin: &Path, host: &dyn Host) -> bool {
    NPUIR_TOOLS.iter().all(|tool| is_runnable(&bin.join(tool), host)) && origin_of(bin, host) == Origin::Build
}

/// Where a folder of tools comes from.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Origin {
    Cann,
    /// triton-ascend's own package.
    Bundled,
    Build,
}

/// Tells where a folder of programs comes from, by what lies around it.
pub fn origin_of(bin: &Path, host: &dyn Host) -> Origin {
    let real = host.real(bin).unwrap_or_else(|_| bin.to_owned());
    if real.ends_with("backends/ascend/bishengir/bin") {
        return Origin::Bundled;
    }
    let in_cann = real
        .ancestors()
        .skip(1)
        .take(3)
        .any(|root| CANN_MARKS.iter().any(|mark| host.follow(&root.join(mark)).is_ok()));
    if in_cann { Origin::Cann } else { Origin::Build }
}

/// Says whether a bishengir-opt knows the attribute of Triton-distributed's patch.
pub fn is_patched(tool: &Path, host: &dyn Host) -> bool {
    host.read(tool, TOOL_LIMIT).is_ok_and(|bytes| memchr::memmem::find(&bytes, b"no_side_effect").is_some())
}

/// Says whether a shell could run a file: a program of this machine, or a script whose interpreter is there.
pub fn is_runnable(file: &Path, host: &dyn Host) -> bool {
    if !is_program(host, file) {
        return false;
    }
    let head = host.head(file, 256).unwrap_or_default();
    let Some(line) = head.strip_prefix(b"#!") else { return true };
    let line = String::from_utf8_lossy(line).lines().next().unwrap_or_default().to_owned();
    line.split_whitespace().next().is_some_and(|interpreter| host.follow(Path::new(interpreter)).is_ok())
}

/// The folders of PATH, in order.
pub fn search_path(host: &dyn Host) -> Vec<PathBuf> {
    let path = host.env("PATH").unwrap_or_default();
    std::env::split_paths(&path).filter(|folder| folder.is_absolute()).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::evidence::LocalHost;
    use crate::evidence::questions::testing::NoGit;
    use std::fs;
    use std::os::unix::fs::{PermissionsExt, symlink};

    fn tool(path: &Path, text: &str) {
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, text).unwrap();
        fs::set_permissions(path, fs::Permissions::from_mode(0o755)).unwrap();
    }

    fn file(path: &Path, text: &str) {
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, text).unwrap();
    }

    #[test]
    fn installations_of_both_layouts() {
        let folder = tempfile::tempdir().unwrap();
        let home = fs::canonicalize(folder.path()).unwrap();
        let ascend = home.join("Ascend");
        // Since 8.5.
        file(&ascend.join("cann-9.1.0/share/info/runtime/version.info"), "Version=9.1.0\n");
        file(&ascend.join("cann-9.1.0/set_env.sh"), "");
        tool(&ascend.join("cann-9.1.0/bin/hivmc"), "#!/bin/sh\n");
        symlink("cann-9.1.0", ascend.join("cann")).unwrap();
        // Before.
        let info = "package_name=Ascend-cann-toolkit\nversion=8.1.RC1\n";
        file(&ascend.join("ascend-toolkit/8.1.RC1/aarch64-linux/ascend_toolkit_install.info"), info);
        fs::create_dir(ascend.join("ascend-toolkit/8.1.RC1/bin")).unwrap();
        symlink("8.1.RC1", ascend.join("ascend-toolkit/latest")).unwrap();
        file(&ascend.join("ascend-toolkit/set_env.sh"), "");
        // Something else.
        fs::create_dir_all(ascend.join("driver/bin")).unwrap();
        let env = [("HOME", home.as_os_str())].map(|(name, value)| (name.into(), value.to_owned()));
        let host = LocalHost::new(AbsPath::new("/").unwrap(), env, Box::new(NoGit));
        let told: Vec<(String, Option<String>)> = cann(&host)
            .into_iter()
            .filter(|one| one.root.as_path().starts_with(&home))
            .map(|one| {
                (
                    one.version.unwrap(),
                    one.set_env.map(|path| path.as_path().strip_prefix(&ascend).unwrap().display().to_string()),
                )
            })
            .collect();
        let want = [("9.1.0", "cann-9.1.0/set_env.sh"), ("8.1.RC1", "ascend-toolkit/set_env.sh")];
        assert_eq!(told, want.map(|(version, file)| (version.to_owned(), Some(file.to_owned()))));
    }

    #[test]
    fn builds_of_npu_ir_that_are_whole() {
        let folder = tempfile::tempdir().unwrap();
        let root = fs::canonicalize(folder.path()).unwrap();
        let host = LocalHost::new(AbsPath::new(&root).unwrap(), [], Box::new(NoGit));
        let bin = root.join("AscendNPU-IR/build/bin");
        tool(&bin.join("bishengir-compile"), "#!/bin/sh\n");
        assert_eq!(npu_ir(&host), []);
        tool(&bin.join("bishengir-opt"), "#!/nowhere/sh\n");
        assert_eq!(npu_ir(&host), []);
        tool(&bin.join("bishengir-opt"), "#!/bin/sh\n# no_side_effect\n");
        assert_eq!(npu_ir(&host), [NpuIr { bin: AbsPath::new(&bin).unwrap(), patched: true }]);
        file(&root.join("AscendNPU-IR/opp/version.info"), "Version=9.1.0\n");
        assert_eq!(npu_ir(&host), []);
    }
}
