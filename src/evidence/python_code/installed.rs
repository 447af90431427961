//! The version of a package in the active Python environment, from its metadata; nothing is imported.

use std::path::PathBuf;

use crate::evidence::{FileKind, Host};
use crate::os::AbsPath;

const MOST_NAMES: usize = 20_000;
const LARGEST_METADATA: u64 = 1 << 20;

/// Returns the version of a package by its import name.
pub fn version(host: &dyn Host, package: &str) -> Option<String> {
    site_packages(host).into_iter().find_map(|folder| {
        let names = host.list(folder.as_path(), MOST_NAMES).ok()?;
        let same = |name: &str| name.replace('-', "_").eq_ignore_ascii_case(package);
        names.iter().filter_map(|name| name.to_str()).find_map(|name| {
            let stem = name.strip_suffix(".dist-info").or_else(|| name.strip_suffix(".egg-info"))?;
            let (name_part, _) = stem.split_once('-').unwrap_or((stem, ""));
            if !same(name_part) {
                return None;
            }
            let file = if name.ends_with(".dist-info") { "METADATA" } else { "PKG-INFO" };
            let bytes = host.read(folder.resolve(name).resolve(file).as_path(), LARGEST_METADATA).ok()?;
            let text = String::from_utf8_lossy(&bytes).into_owned();
            text.lines()
                .take_while(|line| !line.is_empty())
                .find_map(|line| line.strip_prefix("Version:").map(|version| version.trim().to_owned()))
        })
    })
}

/// The folders that the active environment's Python takes packages from, as far as the environment tells.
fn site_packages(host: &dyn Host) -> Vec<AbsPath> {
    let named = ["VIRTUAL_ENV", "CONDA_PREFIX"].iter().filter_map(|name| host.env(name)).map(PathBuf::from);
    let prefix = named.filter_map(|path| AbsPath::new(path).ok()).next();
    let Some(lib) = prefix.map(|prefix| prefix.resolve("lib")) else { return Vec::new() };
    let versions = host.list(lib.as_path(), MOST_NAMES).unwrap_or_default();
    versions
        .iter()
        .filter(|name| name.to_string_lossy().starts_with("python3."))
        .map(|name| lib.resolve(name).resolve("site-packages"))
        .filter(|folder| host.follow(folder.as_path()).is_ok_and(|meta| meta.kind == FileKind::Folder))
        .collect()
}

/// Says whether a version is older than a release; `None` where it does not read as a version.
pub fn is_older(version: &str, release: [u64; 3]) -> Option<bool> {
    let digits: String = version.chars().take_while(|c| c.is_ascii_digit() || *c == '.').collect();
    let mut parts = digits.split('.').filter(|part| !part.is_empty()).map(|part| part.parse::<u64>().ok());
    let first = parts.next()??;
    let mut next = || parts.next().flatten().unwrap_or(0);
    let numbers = [first, next(), next()];
    // 1.0.0rc1, 1.0.0.dev0 and 1.0.0a1 come before 1.0.0.
    let rest = &version[digits.len()..];
    let early = ["a", "b", "rc", "dev"].iter().any(|mark| rest.starts_with(mark));
    Some(numbers < release || (numbers == release && early))
}

#[cfg(test)]
mod tests {
    use std::ffi::OsString;

    use super::*;
    use crate::evidence::LocalHost;
    use crate::evidence::questions::testing::NoGit;

    #[test]
    fn reads_the_metadata_of_the_active_environment() {
        let root = tempfile::tempdir().unwrap();
        let info = root.path().join("lib/python3.11/site-packages/hyper_parallel-0.1.0.dist-info");
        std::fs::create_dir_all(&info).unwrap();
        std::fs::write(
            info.join("METADATA"),
            "Metadata-Version: 2.1\nName: hyper-parallel\nVersion: 0.1.0\n\nVersion: 9\n",
        )
        .unwrap();
        let project = AbsPath::new(root.path()).unwrap();
        let version = |env: &[(&str, &str)]| {
            let env = env.iter().map(|(name, value)| (OsString::from(name), OsString::from(value)));
            version(&LocalHost::new(project.clone(), env, Box::new(NoGit)), "hyper_parallel")
        };
        let prefix = root.path().display().to_string();
        assert_eq!(version(&[("VIRTUAL_ENV", &prefix)]).as_deref(), Some("0.1.0"));
        assert_eq!(version(&[("CONDA_PREFIX", &prefix)]).as_deref(), Some("0.1.0"));
        assert_eq!(version(&[]), None);
    }

    #[test]
    fn compares_versions() {
        for (version, want) in [
            ("0.1.0", Some(true)),
            ("1.0.0", Some(false)),
            ("1.0.0rc1", Some(true)),
            ("1.0.0.dev3", Some(true)),
            ("1.0.0.post1", Some(false)),
            ("1.0.1rc1", Some(false)),
            ("1.0.0+cpu", Some(false)),
            ("2", Some(false)),
            ("unknown", None),
        ] {
            assert_eq!(is_older(version, [1, 0, 0]), want, "{version}");
        }
    }
}
