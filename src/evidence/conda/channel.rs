//! Names and URLs of channels, compared as conda compares them.

use super::Channel;
use crate::evidence::Host;

/// Folders of a channel that conda takes off its URL.
const PLATFORMS: &[&str] = &[
    "noarch",
    "emscripten-wasm32",
    "wasi-wasm32",
    "freebsd-64",
    "linux-32",
    "linux-64",
    "linux-aarch64",
    "linux-armv6l",
    "linux-armv7l",
    "linux-ppc64",
    "linux-ppc64le",
    "linux-riscv64",
    "linux-s390x",
    "osx-64",
    "osx-arm64",
    "win-32",
    "win-64",
    "win-arm64",
    "zos-z",
];

/// Where a channel lies, without what is secret in its URL.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Base {
    pub scheme: String,
    /// `host:port/path`, without a slash at its end.
    pub place: String,
    /// The URL as written holds a password or token.
    pub is_private: bool,
}

/// A channel that a log says is gone.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Dead {
    At(Base),
    /// The log has no URL of it.
    Named(String),
}

impl Base {
    /// Takes a URL; `None` where it is none.
    pub fn of(url: &str) -> Option<Self> {
        let (scheme, rest) = url.trim().split_once("://")?;
        let (host, path) = rest.split_once('/').unwrap_or((rest, ""));
        let (host, has_password) = match host.rsplit_once('@') {
            Some((_, host)) => (host, true),
            None => (host, false),
        };
        let (path, has_token) = without_token(path);
        let path = without_platform(path.trim_matches('/'));
        let path = path.trim_matches('/');
        if host.is_empty() && scheme != "file" || scheme.is_empty() {
            return None;
        }
        let place = if path.is_empty() { host.to_lowercase() } else { format!("{}/{path}", host.to_lowercase()) };
        Some(Self { scheme: scheme.to_lowercase(), place, is_private: has_password || has_token })
    }

    /// Returns the URL without secrets.
    pub fn url(&self) -> String {
        format!("{}://{}", self.scheme, self.place)
    }

    /// Host name without port.
    pub fn host(&self) -> &str {
        let host = self.place.split('/').next().unwrap_or_default();
        host.rsplit_once(':').map_or(host, |(host, _)| host)
    }

    /// Says whether both are one channel; a mirror serves the same by http and https.
    fn is_same(&self, other: &Base) -> bool {
        let family = |base: &Base| if base.scheme == "http" { "https".to_owned() } else { base.scheme.clone() };
        self.place == other.place && family(self) == family(other)
    }
}

impl Dead {
    /// Takes what a log says, URLs first: a name may be of several mirrors.
    pub fn all(urls: &[String], names: &[String]) -> Vec<Self> {
        let bases: Vec<Self> = urls.iter().filter_map(|url| Base::of(url)).map(Self::At).collect();
        if !bases.is_empty() {
            return bases;
        }
        names
            .iter()
            .map(|name| name.trim_matches('/').to_owned())
            .filter(|name| !name.is_empty())
            .map(Self::Named)
            .collect()
    }

    /// Says whether a channel is this one.
    pub fn is(&self, channel: &Channel) -> bool {
        match self {
            Dead::At(base) => base.is_same(&channel.base),
            Dead::Named(name) => channel.base.place.split_once('/').is_some_and(|(_, path)| path == name),
        }
    }

    /// Says whether a text that cannot be taken apart may name this channel.
    pub fn is_mentioned(&self, text: &str) -> bool {
        match self {
            Dead::At(base) => {
                let name = base.place.split_once('/').map_or(base.place.as_str(), |(_, path)| path);
                text.to_lowercase().contains(&base.place.to_lowercase()) || (!name.is_empty() && text.contains(name))
            }
            Dead::Named(name) => text.contains(name),
        }
    }
}

fn without_token(path: &str) -> (String, bool) {
    let rest = path.trim_start_matches('/');
    match rest.strip_prefix("t/").and_then(|rest| rest.split_once('/').or(Some((rest, "")))) {
        Some((_, rest)) => (rest.to_owned(), true),
        None => (path.to_owned(), false),
    }
}

/// Takes the platform's folder off a path or name.
pub fn without_platform(path: &str) -> String {
    let parts: Vec<&str> = path.split('/').collect();
    let platform = parts.iter().skip(1).position(|part| PLATFORMS.contains(part)).map(|at| at + 1);
    let kept = parts.iter().enumerate().filter(|(at, _)| Some(*at) != platform).map(|(_, part)| *part);
    kept.collect::<Vec<_>>().join("/")
}

/// Puts environment variables in, as conda does in channels; an unknown one stays as it is.
pub fn expanded(host: &dyn Host, text: &str) -> String {
    let mut out = String::new();
    let mut rest = text;
    while let Some(at) = rest.find('$') {
        out.push_str(&rest[..at]);
        let after = &rest[at + 1..];
        let is_name = |c: char| c.is_ascii_alphanumeric() || c == '_';
        let (name, length) = match after.strip_prefix('{').and_then(|inner| inner.split_once('}')) {
            Some((name, _)) => (name, name.len() + 2),
            None => {
                let length = after.find(|c| !is_name(c)).unwrap_or(after.len());
                (&after[..length], length)
            }
        };
        let value = if name.is_empty() { None } else { host.env(name).and_then(|value| value.into_string().ok()) };
        match value {
            Some(value) => out.push_str(&value),
            None => out.push_str(&rest[at..at + 1 + length]),
        }
        rest = &after[length..];
    }
    out.push_str(rest);
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn urls_of_one_channel_are_one() {
        for url in [
            "https://h.org/pkgs/r",
            "https://h.org/pkgs/r/",
            "http://h.org/pkgs/r",
            "https://user:word@H.org/pkgs/r",
            "https://h.org/t/tk-1234/pkgs/r",
            "https://h.org/pkgs/r/linux-64",
            "https://h.org/pkgs/r/noarch/",
        ] {
            let dead = Dead::all(&["https://h.org/pkgs/r".to_owned()], &["r".to_owned()]);
            let channel = Channel { base: Base::of(url).unwrap(), origin: super::super::Origin::BuiltIn };
            assert!(dead[0].is(&channel), "{url}");
            assert_eq!(channel.base.is_private, url.contains("word") || url.contains("tk-"), "{url}");
            assert!(!channel.base.url().contains("word"), "{url}");
        }
        for url in ["https://h.org/pkgs/r2", "https://h.org/pkgs", "https://h.org:8080/pkgs/r", "https://g.org/pkgs/r"]
        {
            let dead = Dead::all(&["https://h.org/pkgs/r".to_owned()], &[]);
            let channel = Channel { base: Base::of(url).unwrap(), origin: super::super::Origin::BuiltIn };
            assert!(!dead[0].is(&channel), "{url}");
        }
        assert_eq!(Base::of("no url"), None);
        assert_eq!(Base::of("https:///x"), None);
        assert_eq!(Base::of("file:///srv/c/").unwrap().url(), "file:///srv/c");
    }
}
