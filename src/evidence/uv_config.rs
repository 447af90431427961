//! Where uv's indexes come from, as uv itself would find them, without starting uv.
//!
//! From the strongest: the command line, `UV_*` variables, the project's `uv.toml` (or `[tool.uv]` of its
//! `pyproject.toml`, where no `uv.toml` stands beside it), the user's `uv.toml`, the system's. `UV_CONFIG_FILE` stands for
//! all files, `UV_NO_CONFIG` for none. uv reads no pip.conf.
//!
//! pixi has uv inside, and gives it the `pypi-options` of its manifest alone.

use std::ffi::OsString;

use super::pixi_files::{self, PixiCommand};
use super::{FileKind, Host};
use crate::formats::toml_file::{self, Reason, Step, Text};
use crate::os::AbsPath;

/// No configuration of a person comes near it.
const LIMIT: u64 = 4 << 20;

/// An index that somebody gave to uv.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct UvIndex {
    pub url: String,
    pub origin: UvOrigin,
}

/// Who gave it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum UvOrigin {
    CommandLine,
    Variable(String),
    File { path: AbsPath, line: usize, at: Vec<Step> },
}

/// A file that uv would stop at.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct UvUnread {
    pub path: AbsPath,
    pub line: usize,
    /// `None`: the file is there and cannot be read.
    pub reason: Option<Reason>,
}

/// Options and variables that give an index.
const OPTIONS: &[&str] = &["--index-url", "-i", "--default-index", "--extra-index-url", "--index"];
const VARIABLES: &[&str] = &["UV_DEFAULT_INDEX", "UV_INDEX", "UV_INDEX_URL", "UV_EXTRA_INDEX_URL"];

/// Lists the indexes of uv's configuration, from the strongest.
pub fn indexes(host: &dyn Host, command: Option<&[OsString]>) -> Result<Vec<UvIndex>, UvUnread> {
    if let Some(pixi) = command.and_then(PixiCommand::read) {
        return of_pixi(host, &pixi);
    }
    let words: Vec<String> =
        command.unwrap_or_default().iter().filter_map(|word| word.to_str().map(str::to_owned)).collect();
    let mut all = Vec::new();
    for (at, word) in words.iter().enumerate() {
        let (name, joined) = word.split_once('=').map_or((word.as_str(), None), |(name, value)| (name, Some(value)));
        if OPTIONS.contains(&name) {
            let value = joined.or_else(|| words.get(at + 1).map(String::as_str)).unwrap_or_default();
            all.push(UvIndex { url: plain(value).to_owned(), origin: UvOrigin::CommandLine });
        }
    }
    for name in VARIABLES {
        let value = host.env(name).and_then(|value| value.into_string().ok()).unwrap_or_default();
        let origin = UvOrigin::Variable((*name).to_owned());
        all.extend(value.split_whitespace().map(|url| UvIndex { url: plain(url).to_owned(), origin: origin.clone() }));
    }
    let off = host.env("UV_NO_CONFIG").is_some_and(|value| !value.is_empty() && value != "0" && value != "false");
    if off || words.iter().any(|word| word == "--no-config") {
        return Ok(all);
    }
    for (path, prefix) in files(host, &words) {
        for text in strings(host, &path)? {
            let Some(own) = text.path.strip_prefix(prefix) else { continue };
            if is_index(own) {
                let origin = UvOrigin::File { path: path.clone(), line: text.line, at: text.path.clone() };
                all.push(UvIndex { url: text.value, origin });
            }
        }
    }
    Ok(all)
}

/// Lists the indexes that a manifest of pixi gives.
fn of_pixi(host: &dyn Host, command: &PixiCommand) -> Result<Vec<UvIndex>, UvUnread> {
    let Some((path, table)) = pixi_files::manifest(host, command) else { return Ok(Vec::new()) };
    let strings = pixi_files::strings(host, &path).map_err(|unread| UvUnread {
        path: path.clone(),
        line: unread.as_ref().map_or(1, |refusal| refusal.line),
        reason: unread.map(|refusal| refusal.reason),
    })?;
    let own = |text: &Text| text.path.strip_prefix(table.as_slice()).is_some_and(is_pixi_index);
    let origin = |text: &Text| UvOrigin::File { path: path.clone(), line: text.line, at: text.path.clone() };
    let index = |text: &Text| UvIndex { url: text.value.clone(), origin: origin(text) };
    Ok(strings.iter().filter(|text| own(text)).map(index).collect())
}

fn is_pixi_index(path: &[Step]) -> bool {
    let key = |step: &Step, names: &[&str]| matches!(step, Step::Key(key) if names.contains(&key.as_str()));
    let path = match path {
        [feature, _, rest @ ..] if key(feature, &["feature"]) => rest,
        [workspace, rest @ ..] if key(workspace, &["workspace", "project"]) => rest,
        path => path,
    };
    match path {
        [options, only] => key(options, &["pypi-options"]) && key(only, &["index-url"]),
        [options, list, Step::At(_)] => key(options, &["pypi-options"]) && key(list, &["extra-index-urls"]),
        [options, list, Step::At(_), last] => {
            key(options, &["pypi-options"]) && key(list, &["extra-index-urls"]) && key(last, &["url"])
        }
        _ => false,
    }
}

/// The user's own file, which a repair may add to where nothing says more.
pub fn user_file(host: &dyn Host) -> Option<AbsPath> {
    let config = host.env("XDG_CONFIG_HOME").filter(|config| !config.is_empty());
    let folder = match config {
        Some(config) => AbsPath::new(config).ok()?,
        None => host.home()?.resolve(".config"),
    };
    Some(folder.resolve("uv/uv.toml"))
}

/// Takes `name=https://…` apart.
fn plain(value: &str) -> &str {
    value.split_once('=').filter(|(name, _)| !name.contains([':', '/'])).map_or(value, |(_, url)| url)
}

/// Where uv looks, from the strongest, with the table that is uv's.
fn files(host: &dyn Host, words: &[String]) -> Vec<(AbsPath, &'static [Step])> {
    let named = words.windows(2).find(|pair| pair[0] == "--config-file").map(|pair| OsString::from(&pair[1]));
    if let Some(file) = named.or_else(|| host.env("UV_CONFIG_FILE").filter(|file| !file.is_empty())) {
        return vec![(host.project().resolve(file), &[])];
    }
    let is_file = |path: &AbsPath| host.follow(path.as_path()).is_ok_and(|meta| meta.kind == FileKind::File);
    let mut files: Vec<(AbsPath, &'static [Step])> = Vec::new();
    let mut folder = Some(host.project().clone());
    while let Some(at) = folder {
        let own = at.resolve("uv.toml");
        let project = at.resolve("pyproject.toml");
        if is_file(&own) {
            files.push((own, &[]));
            break;
        }
        let has_table = |text: &Text| text.path.starts_with(tool_uv());
        if is_file(&project) && strings(host, &project).is_ok_and(|strings| strings.iter().any(has_table)) {
            files.push((project, tool_uv()));
            break;
        }
        folder = at.parent();
    }
    files.extend(user_file(host).filter(is_file).map(|path| (path, &[] as &[Step])));
    let dirs = host.env("XDG_CONFIG_DIRS").filter(|dirs| !dirs.is_empty()).unwrap_or_else(|| "/etc/xdg".into());
    let system = std::env::split_paths(&dirs).map(|dir| dir.join("uv/uv.toml")).chain(["/etc/uv/uv.toml".into()]);
    files.extend(system.filter_map(|path| AbsPath::new(path).ok()).find(is_file).map(|path| (path, &[] as &[Step])));
    files
}

fn tool_uv() -> &'static [Step] {
    static PATH: std::sync::OnceLock<Vec<Step>> = std::sync::OnceLock::new();
    PATH.get_or_init(|| vec![Step::Key("tool".to_owned()), Step::Key("uv".to_owned())])
}

fn strings(host: &dyn Host, path: &AbsPath) -> Result<Vec<Text>, UvUnread> {
    let unread = |line, reason| UvUnread { path: path.clone(), line, reason };
    let bytes = host.read(path.as_path(), LIMIT).map_err(|_| unread(1, None))?;
    toml_file::strings(&bytes).map_err(|refusal| unread(refusal.line, Some(refusal.reason)))
}

/// Says whether a value's place is that of an index.
fn is_index(path: &[Step]) -> bool {
    let key = |step: &Step, name: &str| matches!(step, Step::Key(key) if key == name);
    let path = match path.split_first() {
        Some((first, rest)) if key(first, "pip") => rest,
        _ => path,
    };
    match path {
        [only] => key(only, "index-url"),
        [list, Step::At(_)] => key(list, "extra-index-url"),
        [list, Step::At(_), last] => key(list, "index") && key(last, "url"),
        _ => false,
    }
}
