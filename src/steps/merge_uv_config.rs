//! Changes an index where uv takes it from: `uv.toml`, or `[tool.uv]` of a `pyproject.toml`; all else stays.
//!
//! Never writes credentials anywhere, and never edits a file that a variable or the command hides.

use super::own_config::{Follow, own_config};
use super::{LowerError, Lowered, Order, Verb};
use crate::evidence::index_url::{IndexUrl, shown};
use crate::evidence::questions::ArgSpec;
use crate::evidence::uv_config::{UvOrigin, indexes, user_file};
use crate::formats::toml_file::{self, Edit};
use crate::recipe::Text;

/// `merge_uv_config = { value = "https://…/simple", replaces = "${index.url}" }`
pub const VERB: Verb = Verb {
    name: "merge_uv_config",
    about: "Changes an index in the uv.toml or pyproject.toml that gives it, or adds it to the user's own uv.toml.",
    args: &[
        ArgSpec { name: "value", required: true, about: "The index's URL" },
        ArgSpec { name: "replaces", required: false, about: "The URL in whose place it goes, without credentials" },
    ],
    lower,
};

fn lower(order: &Order<'_>) -> Result<Lowered, LowerError> {
    let value = order.require("value")?;
    let secure =
        IndexUrl::parse(&value).is_some_and(|url| url.credentials.is_none() && (!url.is_plain() || url.is_loopback()));
    if !secure {
        return Err(LowerError(Text::new(
            "the new index must be https, without credentials",
            "新索引必须使用 https，且不含登录凭据",
        )));
    }
    let all = indexes(order.host, order.command).map_err(|unread| {
        let (path, line) = (unread.path, unread.line);
        let en = unread.reason.map_or("it cannot be read", |reason| reason.en());
        let zh = unread.reason.map_or("无法读取", |reason| reason.zh());
        LowerError(Text::new(format!("{path}:{line}: {en}"), format!("{path}:{line}：{zh}")))
    })?;
    let (path, edits) = match order.text("replaces") {
        None => {
            let Some(path) = user_file(order.host) else {
                return Err(LowerError(Text::new("there is no home", "没有主目录")));
            };
            (path, vec![Edit::Set { key: "index-url".to_owned(), value }])
        }
        Some(old) => {
            let named = || all.iter().filter(|index| shown(&index.url) == old);
            let Some(UvOrigin::File { path, .. }) = named().next().map(|index| &index.origin) else {
                return Err(LowerError(Text::new(
                    "the index stands in no file of uv: no edit would change anything",
                    "该索引不在 uv 的任何文件中：修改文件不会生效",
                )));
            };
            let edits = named().filter_map(|index| match &index.origin {
                UvOrigin::File { path: other, at, .. } if other == path => {
                    Some(Edit::Replace { path: at.clone(), value: value.clone() })
                }
                UvOrigin::File { .. } | UvOrigin::Variable(_) | UvOrigin::CommandLine => None,
            });
            (path.clone(), edits.collect())
        }
    };
    let own = own_config(order, &path, Follow::Folders)?;
    let mut bytes = own.bytes();
    for edit in &edits {
        bytes = toml_file::edit(&bytes, edit).map_err(|refusal| {
            let (line, reason) = (refusal.line, refusal.reason);
            LowerError(Text::new(
                format!("{path}:{line} cannot be edited: {}", reason.en()),
                format!("无法修改 {path}:{line}：{}", reason.zh()),
            ))
        })?;
    }
    let mut lowered = Lowered::default();
    own.write(&mut lowered, bytes);
    Ok(lowered)
}
