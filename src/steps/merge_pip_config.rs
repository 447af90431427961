//! Merges an index into the pip configuration that wins; whatever else stands in the file stays.
//!
//! Never edits a file whose value a stronger one hides, never turns certificates off for a host that the user did not
//! name, and never writes credentials anywhere but where they stood.

use super::own_config::{Follow, OwnFile, own_config};
use super::{LowerError, Lowered, Order, Verb};
use crate::change::AbsPath;
use crate::evidence::index_url::{IndexUrl, shown};
use crate::evidence::pip_config::{Origin, PipConfig};
use crate::evidence::questions::ArgSpec;
use crate::formats::ini::{self, Edit};
use crate::recipe::Text;

/// `merge_pip_config = { option = "index-url", value = "https://…/simple" }`
pub const VERB: Verb = Verb {
    name: "merge_pip_config",
    about: "Changes an index in the pip.conf that wins, or adds it to the user's own; keeps all else.",
    args: &[
        ArgSpec { name: "option", required: true, about: "`index-url` or `extra-index-url`" },
        ArgSpec { name: "value", required: false, about: "The index's URL; without it `replaces` is taken out" },
        ArgSpec { name: "replaces", required: false, about: "The URL in whose place it goes, without credentials" },
        ArgSpec {
            name: "trusted_host",
            required: false,
            about: "A host that the user named, which pip shall trust without certificates",
        },
    ],
    lower,
};

/// What stands for the credentials of a URL that is shown.
const HIDDEN: &str = "****";

/// The place that an edit goes to.
struct Target {
    path: AbsPath,
    section: String,
    key: String,
}

fn lower(order: &Order<'_>) -> Result<Lowered, LowerError> {
    let config = PipConfig::read(order.host, order.command).map_err(|unread| {
        let (path, line) = (unread.path, unread.line);
        let [en, zh] = [
            unread.reason.map_or("it cannot be read", |reason| reason.en()),
            unread.reason.map_or("无法读取", |reason| reason.zh()),
        ];
        LowerError(Text::new(format!("{path}:{line}: {en}"), format!("{path}:{line}：{zh}")))
    })?;
    let option = order.require("option")?;
    if option != "index-url" && option != "extra-index-url" {
        return Err(LowerError(Text::new(format!("`{option}` names no index"), format!("`{option}` 不是索引选项"))));
    }
    let trusted = order.text("trusted_host");
    let value = order.text("value").map(|value| secure(&value, trusted.as_deref())).transpose()?;
    let replaces = order.text("replaces");
    let target = target(&config, &option, replaces.as_deref())?;
    let own = own_config(order, &target.path, Follow::Folders)?;
    let mut bytes = own.bytes();
    bytes = edit(&own, &bytes, &index_edit(&config, &option, &target, value.as_deref(), replaces.as_deref())?)?;
    let mut lowered = Lowered::default();
    let host = value.as_deref().and_then(IndexUrl::parse).filter(IndexUrl::is_plain).map(|url| url.host.to_owned());
    if let Some(host) = host.filter(|host| trusted.as_deref() == Some(host)) {
        match trust_in(&config, &target)? {
            place if place.path == target.path => bytes = edit(&own, &bytes, &trust_edit(&place, host))?,
            place => {
                let other = own_config(order, &place.path, Follow::Folders)?;
                let after = edit(&other, &other.bytes(), &trust_edit(&place, host))?;
                other.write(&mut lowered, after);
            }
        }
    }
    own.write(&mut lowered, bytes);
    Ok(lowered)
}

/// Takes the new URL, where pip would use it.
fn secure(value: &str, trusted: Option<&str>) -> Result<String, LowerError> {
    let Some(url) = IndexUrl::parse(value) else {
        return Err(LowerError(Text::new("the index is no http or https URL", "索引不是 http 或 https 地址")));
    };
    let host = url.host;
    if url.is_plain() && !url.is_loopback() && trusted != Some(host) {
        return Err(LowerError(Text::new(
            format!("{host} would be asked over plain http: give https, or `--set trusted_host={host}`"),
            format!("将以明文 http 访问 {host}：请改用 https，或给出 `--set trusted_host={host}`"),
        )));
    }
    Ok(value.to_owned())
}

/// Finds the file that wins for the option.
fn target(config: &PipConfig, option: &str, replaces: Option<&str>) -> Result<Target, LowerError> {
    let origins = match replaces {
        Some(old) => {
            let listed = config.list(option).into_iter().filter(|(word, _)| shown(word) == old).map(|(_, by)| by);
            listed.collect()
        }
        None => config.winning(option).map(|setting| setting.origin.clone()).into_iter().collect::<Vec<_>>(),
    };
    match origins.last() {
        Some(Origin::File { path, line, section, .. }) if section == "DEFAULT" => Err(LowerError(Text::new(
            format!("{path}:{line} stands in `[DEFAULT]`, which counts for every section: change it by hand"),
            format!("{path}:{line} 位于对所有节生效的 `[DEFAULT]` 中，请手工修改"),
        ))),
        Some(Origin::File { path, section, key, .. }) => {
            Ok(Target { path: path.clone(), section: section.clone(), key: key.clone() })
        }
        Some(Origin::Variable(name)) => Err(LowerError(Text::new(
            format!("the variable {name} gives `{option}`: no file would change anything"),
            format!("`{option}` 由环境变量 {name} 给出：修改任何文件都不会生效"),
        ))),
        Some(Origin::CommandLine) => Err(LowerError(Text::new(
            format!("the command gives `{option}` itself: no file would change anything"),
            format!("`{option}` 由命令自身给出：修改任何文件都不会生效"),
        ))),
        None if replaces.is_some() => Err(LowerError(Text::new(
            format!("`{option}` does not hold that index any more"),
            format!("`{option}` 中已没有该索引"),
        ))),
        None => {
            let Some(path) = config.user_file.clone() else {
                return Err(LowerError(Text::new(
                    "pip reads no configuration file of the user here",
                    "此处 pip 不读取任何用户配置文件",
                )));
            };
            Ok(Target { path, section: "global".to_owned(), key: option.to_owned() })
        }
    }
}

fn index_edit(
    config: &PipConfig,
    option: &str,
    target: &Target,
    value: Option<&str>,
    replaces: Option<&str>,
) -> Result<Edit, LowerError> {
    let (section, key) = (target.section.clone(), target.key.clone());
    let raw = |old: &str| config.list(option).into_iter().map(|(word, _)| word).find(|word| shown(word) == old);
    let old = replaces.and_then(raw);
    Ok(match (value, old) {
        (Some(value), Some(old)) => {
            let by = with_credentials(value, &old)?;
            Edit::ReplaceItem { section, option: key, item: old, by }
        }
        (Some(value), None) => {
            let value = with_credentials(value, "")?;
            if option == "index-url" {
                Edit::Set { section, option: key, value }
            } else {
                Edit::AppendItem { section, option: key, item: value }
            }
        }
        (None, Some(old)) => Edit::RemoveItem { section, option: key, item: old },
        (None, None) => {
            return Err(LowerError(Text::new("nothing is to be changed", "没有给出要修改的内容")));
        }
    })
}

/// Gives a URL that came here without credentials those of the one that it replaces, at the same host only.
fn with_credentials(value: &str, old: &str) -> Result<String, LowerError> {
    let Some(new) = IndexUrl::parse(value) else { return Ok(value.to_owned()) };
    if new.credentials != Some(HIDDEN) {
        return Ok(value.to_owned());
    }
    let was = IndexUrl::parse(old).filter(|was| was.host == new.host);
    match was.and_then(|was| was.credentials) {
        Some(credentials) => Ok(value.replacen(HIDDEN, credentials, 1)),
        None => Err(LowerError(Text::new("the index's credentials are not known", "索引的登录凭据未知"))),
    }
}

/// Finds the list of trusted hosts that wins; where there is none, it begins beside the index.
fn trust_in(config: &PipConfig, beside: &Target) -> Result<Target, LowerError> {
    let winning = config.all("trusted-host").rfind(|setting| setting.origin != Origin::CommandLine);
    match winning.map(|setting| &setting.origin) {
        Some(Origin::File { path, section, key, .. }) => {
            Ok(Target { path: path.clone(), section: section.clone(), key: key.clone() })
        }
        Some(Origin::Variable(name)) => Err(LowerError(Text::new(
            format!("the variable {name} gives the trusted hosts: no file would change anything"),
            format!("trusted-host 由环境变量 {name} 给出：修改任何文件都不会生效"),
        ))),
        Some(Origin::CommandLine) | None => {
            Ok(Target { path: beside.path.clone(), section: beside.section.clone(), key: "trusted-host".to_owned() })
        }
    }
}

fn trust_edit(target: &Target, host: String) -> Edit {
    Edit::AppendItem { section: target.section.clone(), option: target.key.clone(), item: host }
}

fn edit(own: &OwnFile, bytes: &[u8], edit: &Edit) -> Result<Vec<u8>, LowerError> {
    let path = &own.named;
    ini::edit(bytes, edit).map_err(|refusal| {
        let (line, reason) = (refusal.line, refusal.reason);
        LowerError(Text::new(
            format!("{path}:{line} cannot be edited: {}", reason.en()),
            format!("无法修改 {path}:{line}：{}", reason.zh()),
        ))
    })
}
