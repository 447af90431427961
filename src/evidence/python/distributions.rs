//! What is installed in an environment, and whether its files are still what was installed.

use std::collections::BTreeSet;
use std::path::Path;

use sha2::{Digest, Sha256};

use super::Interpreter;
use crate::evidence::{FileKind, Host};
use crate::formats::python_metadata::{Recorded, header, record};
use crate::formats::wheel_name::normalise;
use crate::os::AbsPath;

/// An installed distribution.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Distribution {
    /// Normalised.
    pub name: String,
    pub version: String,
    /// The folder on `sys.path` that it was found in.
    pub folder: AbsPath,
    /// Its `.dist-info` or `.egg-info`.
    pub info: AbsPath,
    pub form: Form,
    /// The source folder of an editable install.
    pub editable: Option<AbsPath>,
}

/// How a distribution was installed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Form {
    DistInfo,
    EggInfo,
    /// `setup.py develop`: a link to the source folder.
    EggLink,
}

/// How the files of a distribution differ from its RECORD.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Damage {
    pub missing: Vec<String>,
    pub altered: Vec<String>,
    /// Files that were looked at.
    pub files: usize,
}

/// How closely files are compared with a RECORD.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Compare {
    Sizes,
    /// Contents as well, of files up to a bound.
    Contents,
}

const MOST_NAMES: usize = 50_000;
/// RECORD of torch has some ten thousand lines.
const RECORD: u64 = 64 << 20;
const TEXT: u64 = 8 << 20;
/// Bytes hashed at most in one comparison.
const HASHED: u64 = 4 << 30;
const MOST_FOLDERS: usize = 200;

/// Lists the folders that modules are imported from: the environment's own, and what their `.pth` files add.
pub fn import_folders(host: &dyn Host, interpreter: &Interpreter) -> Vec<AbsPath> {
    let mut folders = interpreter.packages.clone();
    for site in &interpreter.packages {
        for name in names(host, site).iter().filter(|name| name.ends_with(".pth")) {
            let Ok(bytes) = host.read(site.resolve(name).as_path(), TEXT) else { continue };
            for line in String::from_utf8_lossy(&bytes).lines() {
                let line = line.trim_end();
                if line.is_empty()
                    || line.starts_with(['#'])
                    || line.starts_with("import ")
                    || line.starts_with("import\t")
                {
                    continue;
                }
                let folder = site.resolve(line);
                let is_folder = host.follow(folder.as_path()).is_ok_and(|meta| meta.kind == FileKind::Folder);
                if is_folder && !folders.contains(&folder) && folders.len() < MOST_FOLDERS {
                    folders.push(folder);
                }
            }
        }
    }
    folders
}

/// Lists what is installed, as `pip list` does: of several of one name the first on the path counts.
pub fn installed(host: &dyn Host, interpreter: &Interpreter) -> Vec<Distribution> {
    let mut all: Vec<Distribution> = Vec::new();
    let mut seen = BTreeSet::new();
    for folder in import_folders(host, interpreter) {
        for found in in_folder(host, &folder) {
            if seen.insert(found.name.clone()) {
                all.push(found);
            }
        }
    }
    all.sort_by(|a, b| a.name.cmp(&b.name));
    all
}

/// Finds one distribution.
pub fn find(host: &dyn Host, interpreter: &Interpreter, name: &str) -> Option<Distribution> {
    let name = normalise(name);
    let mut folders = import_folders(host, interpreter).into_iter();
    folders.find_map(|folder| in_folder(host, &folder).into_iter().find(|one| one.name == name))
}

/// Lists the distributions of one folder.
pub fn in_folder(host: &dyn Host, folder: &AbsPath) -> Vec<Distribution> {
    let mut found: Vec<Distribution> = names(host, folder)
        .iter()
        .filter(|name| !name.starts_with('~'))
        .filter_map(|name| {
            if name.ends_with(".dist-info") {
                dist_info(host, folder, name)
            } else if name.ends_with(".egg-info") {
                egg_info(host, folder, name)
            } else if name.ends_with(".egg-link") {
                egg_link(host, folder, name)
            } else if name.ends_with(".egg") {
                let inner = folder.resolve(name);
                let mut found = described(host, &inner.resolve("EGG-INFO").resolve("PKG-INFO"))?;
                (found.folder, found.info, found.form) = (inner.clone(), inner.resolve("EGG-INFO"), Form::EggInfo);
                Some(found)
            } else {
                None
            }
        })
        .collect();
    // A link to the source goes before what the source folder itself says.
    found.sort_by(|a, b| (&a.name, a.form != Form::DistInfo).cmp(&(&b.name, b.form != Form::DistInfo)));
    found
}

fn names(host: &dyn Host, folder: &AbsPath) -> Vec<String> {
    let names = host.list(folder.as_path(), MOST_NAMES).unwrap_or_default();
    names.into_iter().filter_map(|name| name.into_string().ok()).collect()
}

/// Reads name and version out of a METADATA or PKG-INFO.
fn described(host: &dyn Host, metadata: &AbsPath) -> Option<Distribution> {
    let text = String::from_utf8_lossy(&host.read(metadata.as_path(), TEXT).ok()?).into_owned();
    let value = |name: &str| header(&text, name).first().map(|value| (*value).to_owned());
    Some(Distribution {
        name: normalise(&value("Name")?),
        version: value("Version")?,
        folder: metadata.parent()?.parent()?,
        info: metadata.parent()?,
        form: Form::DistInfo,
        editable: None,
    })
}

fn dist_info(host: &dyn Host, folder: &AbsPath, name: &str) -> Option<Distribution> {
    let info = folder.resolve(name);
    let mut found = described(host, &info.resolve("METADATA")).or_else(|| {
        // pip goes by the folder's name where METADATA is lost.
        let (project, version) = name.strip_suffix(".dist-info")?.split_once('-')?;
        Some(Distribution {
            name: normalise(project),
            version: version.to_owned(),
            folder: folder.clone(),
            info: info.clone(),
            form: Form::DistInfo,
            editable: None,
        })
    })?;
    found.editable = editable_source(host, &info);
    Some(found)
}

fn egg_info(host: &dyn Host, folder: &AbsPath, name: &str) -> Option<Distribution> {
    let info = folder.resolve(name);
    let metadata = match host.follow(info.as_path()).ok()?.kind {
        FileKind::Folder => info.resolve("PKG-INFO"),
        FileKind::File | FileKind::Link | FileKind::Other => info.clone(),
    };
    let found = described(host, &metadata)?;
    Some(Distribution { folder: folder.clone(), info, form: Form::EggInfo, ..found })
}

fn egg_link(host: &dyn Host, folder: &AbsPath, name: &str) -> Option<Distribution> {
    let bytes = host.read(folder.resolve(name).as_path(), TEXT).ok()?;
    let text = String::from_utf8_lossy(&bytes).into_owned();
    let source = AbsPath::new(text.lines().next()?.trim()).ok()?;
    let egg = names(host, &source).into_iter().find(|name| name.ends_with(".egg-info"))?;
    let found = egg_info(host, &source, &egg)?;
    Some(Distribution { folder: folder.clone(), form: Form::EggLink, editable: Some(source), ..found })
}

/// Reads the source folder out of a `direct_url.json`, where the install is editable.
fn editable_source(host: &dyn Host, info: &AbsPath) -> Option<AbsPath> {
    let bytes = host.read(info.resolve("direct_url.json").as_path(), TEXT).ok()?;
    let json: serde_json::Value = serde_json::from_slice(&bytes).ok()?;
    json.get("dir_info")?.get("editable")?.as_bool().filter(|editable| *editable)?;
    AbsPath::new(percent_decoded(json.get("url")?.as_str()?.strip_prefix("file://")?)).ok()
}

fn percent_decoded(text: &str) -> String {
    let bytes = text.as_bytes();
    let mut out = Vec::with_capacity(bytes.len());
    let mut at = 0;
    while at < bytes.len() {
        let code = (bytes[at] == b'%').then(|| text.get(at + 1..at + 3)).flatten();
        match code.and_then(|code| u8::from_str_radix(code, 16).ok()) {
            Some(byte) => {
                out.push(byte);
                at += 3;
            }
            None => {
                out.push(bytes[at]);
                at += 1;
            }
        }
    }
    String::from_utf8_lossy(&out).into_owned()
}

/// Reads the RECORD of a distribution; `None` where it has none.
pub fn recorded(host: &dyn Host, distribution: &Distribution) -> Option<Vec<Recorded>> {
    let bytes = host.read(distribution.info.resolve("RECORD").as_path(), RECORD).ok()?;
    Some(record(&String::from_utf8_lossy(&bytes)))
}

/// Compares the files of a RECORD with what is there. Byte code is made anew when it is missing, and counts as nothing.
pub fn compare(host: &dyn Host, folder: &AbsPath, files: &[Recorded], how: Compare) -> Damage {
    let mut damage = Damage::default();
    let mut hashed = 0;
    for file in files {
        if file.path.ends_with(".pyc") {
            continue;
        }
        damage.files += 1;
        let path = folder.resolve(&file.path);
        match host.follow(path.as_path()) {
            Ok(meta) if meta.kind == FileKind::File => {
                let other_size = file.size.is_some_and(|size| size != meta.len);
                hashed += meta.len;
                let other_content = || {
                    let wanted = file.sha256.as_ref().filter(|_| how == Compare::Contents && hashed <= HASHED);
                    wanted.is_some_and(|wanted| sha256(host, path.as_path()).is_some_and(|hash| hash != *wanted))
                };
                if other_size || other_content() {
                    damage.altered.push(file.path.clone());
                }
            }
            Ok(_) | Err(_) => damage.missing.push(file.path.clone()),
        }
    }
    damage
}

/// Hashes a file in blocks, as RECORD writes it.
fn sha256(host: &dyn Host, path: &Path) -> Option<String> {
    const BLOCK: u64 = 4 << 20;
    let mut sum = Sha256::new();
    let mut offset = 0;
    loop {
        let bytes = host.read_up_to(path, offset, BLOCK).ok()?;
        sum.update(&bytes);
        offset += bytes.len() as u64;
        if (bytes.len() as u64) < BLOCK {
            return Some(base64(&sum.finalize()));
        }
    }
}

/// URL-safe base64 without padding.
fn base64(bytes: &[u8]) -> String {
    const DIGITS: &[u8; 64] = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_";
    let mut out = String::new();
    for chunk in bytes.chunks(3) {
        let mut block = [0; 3];
        block[..chunk.len()].copy_from_slice(chunk);
        let number = u32::from_be_bytes([0, block[0], block[1], block[2]]);
        for at in 0..=chunk.len() {
            out.push(char::from(DIGITS[(number >> (18 - 6 * at)) as usize & 63]));
        }
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn hashes_are_written_as_in_a_record() {
        assert_eq!(base64(b""), "");
        assert_eq!(base64(b"a"), "YQ");
        assert_eq!(base64(b"ab"), "YWI");
        assert_eq!(base64(b"abc"), "YWJj");
        assert_eq!(base64(&Sha256::digest(b"")), "47DEQpj8HBSa-_TImW-5JCeuQeRkm5NMpJWZG3hSuFU");
    }

    #[test]
    fn urls_are_decoded() {
        assert_eq!(percent_decoded("/a%20b/%E4%B8%AD%zz%"), "/a b/中%zz%");
    }
}
