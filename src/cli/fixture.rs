//! Fixtures of recipes: `fixtures/<id>/<case>/` with `log.txt`, `before/`, `plan.diff` and `case.toml`.

use std::collections::BTreeMap;
use std::fs;
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};

use anyhow::{Context, Result, bail};

/// Stands for the folder that a fixture is unpacked in.
const ROOT_MARK: &[u8] = b"@ROOT@";

/// One fixture.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Fixture {
    /// The recipe that it is about, or resembles.
    pub id: String,
    /// Name of its folder; `not-…` is a look-alike that must be left alone.
    pub name: String,
    pub folder: PathBuf,
    /// The recipe's case that must be taken, where that is said.
    pub expect: Option<String>,
    /// Other recipes whose findings are right here as well.
    pub also: Vec<String>,
    pub command: Vec<String>,
    /// Environment variables of the command; values may hold `@ROOT@`.
    pub env: BTreeMap<String, String>,
    /// Values given with `--set`.
    pub set: Vec<String>,
    /// Recipes that an audit of `before/` finds, in order.
    pub audit: Vec<String>,
    /// Whether `before/` is put under git and committed.
    pub git: bool,
}

impl Fixture {
    /// Says whether the recipe must not fire: `expect = ""`, or a name `not-…` with nothing expected.
    pub fn is_look_alike(&self) -> bool {
        match self.expect.as_deref() {
            Some(case) => case.is_empty(),
            None => self.name.starts_with("not-"),
        }
    }

    /// Lists the fixtures below a folder, sorted.
    pub fn all(fixtures: &Path) -> Result<Vec<Self>> {
        let mut all = Vec::new();
        for id in folders(fixtures)? {
            for folder in folders(&id)? {
                if !folder.join("log.txt").exists() && !folder.join("case.toml").exists() {
                    continue;
                }
                all.push(Self::read(&folder)?);
            }
        }
        Ok(all)
    }

    /// Reads one fixture.
    pub fn read(folder: &Path) -> Result<Self> {
        let name = |path: &Path| path.file_name().map(|name| name.to_string_lossy().into_owned()).unwrap_or_default();
        let mut fixture = Self {
            id: folder.parent().map(name).unwrap_or_default(),
            name: name(folder),
            folder: folder.to_owned(),
            expect: None,
            also: Vec::new(),
            command: Vec::new(),
            env: BTreeMap::new(),
            set: Vec::new(),
            audit: Vec::new(),
            git: false,
        };
        let file = folder.join("case.toml");
        let Ok(text) = fs::read_to_string(&file) else { return Ok(fixture) };
        let broken = |what: &str| anyhow::anyhow!("{}: {what}", file.display());
        let table: toml_edit::DocumentMut = text.parse().with_context(|| file.display().to_string())?;
        let strings = |item: &toml_edit::Item, key: &str| -> Result<Vec<String>> {
            let array = item.as_array().ok_or_else(|| broken(&format!("`{key}` is a list of texts")))?;
            array
                .iter()
                .map(|value| {
                    value.as_str().map(str::to_owned).ok_or_else(|| broken(&format!("`{key}` is a list of texts")))
                })
                .collect()
        };
        for (key, item) in table.iter() {
            match key {
                "expect" => {
                    fixture.expect = Some(item.as_str().ok_or_else(|| broken("`expect` is a text"))?.to_owned())
                }
                "also" => fixture.also = strings(item, key)?,
                "command" => fixture.command = strings(item, key)?,
                "set" => fixture.set = strings(item, key)?,
                "audit" => fixture.audit = strings(item, key)?,
                "git" => fixture.git = item.as_bool().ok_or_else(|| broken("`git` is true or false"))?,
                "env" => {
                    let env = item.as_table_like().ok_or_else(|| broken("`env` is a table of texts"))?;
                    for (name, value) in env.iter() {
                        let value = value.as_str().ok_or_else(|| broken("`env` is a table of texts"))?;
                        fixture.env.insert(name.to_owned(), value.to_owned());
                    }
                }
                other => bail!("{}: unknown key `{other}`", file.display()),
            }
        }
        Ok(fixture)
    }

    /// Unpacks `before/` into a folder; returns the log's bytes, where there is one.
    pub fn unpack(&self, root: &Path) -> Result<Option<Vec<u8>>> {
        let before = self.folder.join("before");
        if before.is_dir() {
            copy(&before, root, root)?;
        }
        let log = fs::read(self.folder.join("log.txt")).ok();
        Ok(log.map(|log| with_root(&log, root)))
    }
}

fn folders(below: &Path) -> Result<Vec<PathBuf>> {
    let mut all = Vec::new();
    for entry in fs::read_dir(below).with_context(|| format!("cannot read `{}`", below.display()))? {
        let path = entry?.path();
        if path.is_dir() {
            all.push(path);
        }
    }
    all.sort();
    Ok(all)
}

fn copy(from: &Path, to: &Path, root: &Path) -> Result<()> {
    fs::create_dir_all(to)?;
    for entry in fs::read_dir(from)? {
        let entry = entry?;
        let (source, target) = (entry.path(), to.join(entry.file_name()));
        let kind = entry.file_type()?;
        if kind.is_dir() {
            copy(&source, &target, root)?;
        } else if kind.is_symlink() {
            let link = with_root(fs::read_link(&source)?.as_os_str().as_bytes(), root);
            std::os::unix::fs::symlink(std::ffi::OsStr::from_bytes(&link), &target)?;
        } else {
            fs::write(&target, with_root(&fs::read(&source)?, root))?;
            fs::set_permissions(&target, fs::metadata(&source)?.permissions())?;
        }
    }
    Ok(())
}

/// Puts `root` in the place of `@ROOT@`.
pub fn with_root(bytes: &[u8], root: &Path) -> Vec<u8> {
    let mut out = Vec::with_capacity(bytes.len());
    let mut rest = bytes;
    while let Some(at) = memchr::memmem::find(rest, ROOT_MARK) {
        out.extend_from_slice(&rest[..at]);
        out.extend_from_slice(root.as_os_str().as_bytes());
        rest = &rest[at + ROOT_MARK.len()..];
    }
    out.extend_from_slice(rest);
    out
}
