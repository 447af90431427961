//! Links the backends of a Triton checkout as its own setup does.
//!
//! Never over anything but a link that leads nowhere, and only to a backend that is whole.

use std::ffi::OsString;

use super::{LowerError, Lowered, Order, Verb};
use crate::change::{AbsPath, Change, EnvOverlay, Reversible, Run};
use crate::evidence::FileKind;
use crate::evidence::python::installer;
use crate::evidence::questions::ArgSpec;
use crate::evidence::questions::triton_backends::{FILES, can_be_linked};
use crate::recipe::Text;

/// `link_backends = { links = "${backends.links}", targets = "${backends.targets}" }`
pub const LINK_BACKENDS: Verb = Verb {
    name: "link_backends",
    about: "Links the backends of a Triton checkout to `third_party`, where nothing or a dangling link is.",
    args: &[
        ArgSpec { name: "links", required: true, about: "The folders that are missing" },
        ArgSpec { name: "targets", required: true, about: "What each is to lead to, in the same order" },
    ],
    lower: link_backends,
};

const TIMEOUT_SECONDS: u64 = 60;

fn link_backends(order: &Order<'_>) -> Result<Lowered, LowerError> {
    let host = order.host;
    let paths = |name: &str| -> Result<Vec<AbsPath>, LowerError> {
        let absolute = |path: String| {
            AbsPath::new(path).map_err(|error| LowerError(Text::new(error.to_string(), error.to_string())))
        };
        order.list(name).into_iter().map(absolute).collect()
    };
    let (links, targets) = (paths("links")?, paths("targets")?);
    let linker = installer::helper_path(host, "ln")
        .ok_or_else(|| LowerError(Text::new("there is no `ln` on PATH", "PATH 中没有 `ln`")))?;
    let mut lowered = Lowered::default();
    for (link, target) in links.iter().zip(&targets) {
        let is_file = |file: &&str| {
            host.follow(target.resolve(file).as_path()).is_ok_and(|meta| meta.kind == FileKind::File && meta.len > 0)
        };
        if !can_be_linked(host, link) || !FILES.iter().all(is_file) {
            return Err(LowerError(Text::new(
                format!("`{link}` cannot be linked to `{target}`"),
                format!("无法将 `{link}` 链接到 `{target}`"),
            )));
        }
        let words: [OsString; 5] =
            [linker.as_path().into(), "-sfT".into(), "--".into(), target.as_path().into(), link.as_path().into()];
        lowered.changes.push(Change::Run(Run {
            argv: words.to_vec(),
            cwd: host.project().clone(),
            env: EnvOverlay::default(),
            writes: vec![link.clone()],
            reversible: Reversible::Yes,
            timeout_seconds: TIMEOUT_SECONDS,
        }));
    }
    Ok(lowered)
}
