//! Absolute, lexically clean paths.

use std::ffi::{OsStr, OsString};
use std::fmt;
use std::os::unix::ffi::{OsStrExt, OsStringExt};
use std::path::{Component, Path, PathBuf};

use serde::{Deserialize, Deserializer, Serialize, Serializer, de};

/// An absolute path without `.`, `..` or doubled slashes.
///
/// Cleaning is lexical: no link is followed, so that a path names what the user named.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct AbsPath(PathBuf);

/// A path that cannot be made into an [`AbsPath`].
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum PathError {
    /// The path is relative where an absolute one is needed.
    #[error("`{0}` is not an absolute path")]
    Relative(PathBuf),
    /// The path holds a NUL byte, which no system call takes.
    #[error("`{0}` holds a NUL byte")]
    Nul(PathBuf),
}

impl AbsPath {
    /// Takes an absolute path and cleans it lexically; `..` above the root stays at the root.
    pub fn new(path: impl AsRef<Path>) -> Result<Self, PathError> {
        let path = path.as_ref();
        if !path.is_absolute() {
            return Err(PathError::Relative(path.to_owned()));
        }
        if path.as_os_str().as_bytes().contains(&0) {
            return Err(PathError::Nul(path.to_owned()));
        }
        Ok(Self(clean(path)))
    }

    /// Resolves `path` against this folder: an absolute `path` replaces it, a relative one is appended.
    pub fn resolve(&self, path: impl AsRef<Path>) -> Self {
        Self(clean(&self.0.join(path)))
    }

    /// Returns the parent folder, or `None` for the root.
    pub fn parent(&self) -> Option<Self> {
        self.0.parent().map(|parent| Self(parent.to_owned()))
    }

    /// Returns the last component, or `None` for the root.
    pub fn file_name(&self) -> Option<&OsStr> {
        self.0.file_name()
    }

    /// Says whether this path is `folder` or lies below it, component by component.
    pub fn is_within(&self, folder: &AbsPath) -> bool {
        self.0.starts_with(&folder.0)
    }

    /// Follows the links of as much of the path as exists: two names of one place have one real path.
    pub fn real(&self) -> Self {
        let mut missing: Vec<&OsStr> = Vec::new();
        let mut folder = self.as_path();
        loop {
            if let Ok(found) = std::fs::canonicalize(folder) {
                let whole: PathBuf = std::iter::once(found.as_os_str()).chain(missing.iter().rev().copied()).collect();
                return Self(clean(&whole));
            }
            let (Some(parent), Some(name)) = (folder.parent(), folder.file_name()) else {
                return self.clone();
            };
            missing.push(name);
            folder = parent;
        }
    }

    /// Returns the path as the standard library takes it.
    pub fn as_path(&self) -> &Path {
        &self.0
    }
}

fn clean(path: &Path) -> PathBuf {
    let mut out = PathBuf::from("/");
    for component in path.components() {
        match component {
            Component::RootDir | Component::CurDir | Component::Prefix(_) => {}
            Component::ParentDir => {
                out.pop();
            }
            Component::Normal(name) => out.push(name),
        }
    }
    out
}

impl AsRef<Path> for AbsPath {
    fn as_ref(&self) -> &Path {
        &self.0
    }
}

impl fmt::Display for AbsPath {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.display().fmt(f)
    }
}

impl fmt::Debug for AbsPath {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(f)
    }
}

/// Prefix of the stored form of a path that is not UTF-8: the bytes follow in hexadecimal.
const HEX: &str = "hex:";

impl Serialize for AbsPath {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        match self.0.to_str() {
            Some(text) => serializer.serialize_str(text),
            None => {
                let bytes = self.0.as_os_str().as_bytes();
                let hex: String = bytes.iter().map(|byte| format!("{byte:02x}")).collect();
                serializer.serialize_str(&format!("{HEX}{hex}"))
            }
        }
    }
}

impl<'de> Deserialize<'de> for AbsPath {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let text = String::deserialize(deserializer)?;
        let path = match text.strip_prefix(HEX) {
            None => PathBuf::from(text),
            Some(hex) => {
                let digits = hex.as_bytes();
                if digits.len() % 2 != 0 || !digits.iter().all(u8::is_ascii_hexdigit) {
                    return Err(de::Error::custom("a path in hexadecimal is damaged"));
                }
                let bytes = digits
                    .chunks(2)
                    .map(|pair| {
                        let text = std::str::from_utf8(pair).expect("hexadecimal digits are ASCII");
                        u8::from_str_radix(text, 16).expect("both are hexadecimal digits")
                    })
                    .collect();
                PathBuf::from(OsString::from_vec(bytes))
            }
        };
        AbsPath::new(path).map_err(de::Error::custom)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn cleans_lexically() {
        for (given, want) in [("/a/./b//c/", "/a/b/c"), ("/a/../../b", "/b"), ("/", "/"), ("/a/b/..", "/a")] {
            assert_eq!(AbsPath::new(given).unwrap().as_path(), Path::new(want));
        }
        assert!(AbsPath::new("a").is_err());
        assert!(AbsPath::new("/a\0b").is_err());
    }

    #[test]
    fn a_name_that_only_begins_alike_is_not_within() {
        let root = AbsPath::new("/home/a").unwrap();
        assert!(AbsPath::new("/home/a/b").unwrap().is_within(&root));
        assert!(!AbsPath::new("/home/ab").unwrap().is_within(&root));
    }

    #[test]
    fn stored_form_keeps_every_byte() {
        let odd = AbsPath::new(Path::new(OsStr::from_bytes(b"/a/caf\xe9"))).unwrap();
        let text = serde_json::to_string(&odd).unwrap();
        assert_eq!(serde_json::from_str::<AbsPath>(&text).unwrap(), odd);
    }
}
