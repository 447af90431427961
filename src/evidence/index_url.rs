//! URLs of package indexes: their parts, and a form that holds no credentials.
//!
//! Credentials of a URL are never shown, compared or handed on.

/// An index's URL, taken apart.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct IndexUrl<'u> {
    /// `https`, in the case that the user wrote.
    pub scheme: &'u str,
    /// `user:password`, where it is there.
    pub credentials: Option<&'u str>,
    /// Without brackets and port.
    pub host: &'u str,
    pub port: Option<&'u str>,
    /// With its first slash; may be empty.
    pub path: &'u str,
}

/// Hosts whose indexes are copies of the public one, or the public one itself: whatever they had, another has too.
const PUBLIC: &[&str] = &[
    "pypi.org",
    "pypi.python.org",
    "pypi.tuna.tsinghua.edu.cn",
    "mirrors.tuna.tsinghua.edu.cn",
    "mirror.nju.edu.cn",
    "mirrors.nju.edu.cn",
    "mirrors.aliyun.com",
    "mirrors.cloud.aliyuncs.com",
    "mirrors.ustc.edu.cn",
    "pypi.mirrors.ustc.edu.cn",
    "mirrors.bfsu.edu.cn",
    "mirrors.pku.edu.cn",
    "mirrors.zju.edu.cn",
    "mirrors.hit.edu.cn",
    "mirrors.sustech.edu.cn",
    "mirror.sjtu.edu.cn",
    "mirrors.sjtug.sjtu.edu.cn",
    "mirrors.cloud.tencent.com",
    "mirrors.tencent.com",
    "mirrors.huaweicloud.com",
    "repo.huaweicloud.com",
    "mirrors.163.com",
    "mirror.baidu.com",
    "pypi.douban.com",
    "pypi.doubanio.com",
    "pypi.hustunique.com",
    "pypi.sdutlinux.org",
];

impl<'u> IndexUrl<'u> {
    /// Takes an `http` or `https` URL apart.
    pub fn parse(url: &'u str) -> Option<Self> {
        let (scheme, rest) = url.split_once("://")?;
        if !scheme.eq_ignore_ascii_case("http") && !scheme.eq_ignore_ascii_case("https") {
            return None;
        }
        let (authority, path) = rest.split_at(rest.find(['/', '?', '#']).unwrap_or(rest.len()));
        let path = path.split(['?', '#']).next().unwrap_or_default();
        let (credentials, place) = match authority.rsplit_once('@') {
            Some((credentials, place)) => (Some(credentials), place),
            None => (None, authority),
        };
        let (host, port) = match place.strip_prefix('[').and_then(|inner| inner.split_once(']')) {
            Some((host, port)) => (host, port.strip_prefix(':')),
            None => place.rsplit_once(':').map_or((place, None), |(host, port)| (host, Some(port))),
        };
        (!host.is_empty()).then_some(Self { scheme, credentials, host, port, path })
    }

    /// Says whether it is plain http.
    pub fn is_plain(&self) -> bool {
        self.scheme.eq_ignore_ascii_case("http")
    }

    /// Says whether the host is this machine: such traffic leaves no wire.
    pub fn is_loopback(&self) -> bool {
        self.host.eq_ignore_ascii_case("localhost")
            || self.host.parse::<std::net::IpAddr>().is_ok_and(|address| address.is_loopback())
    }

    /// Says whether the index is known for a copy of the public one.
    pub fn is_public(&self) -> bool {
        let host = self.host.to_ascii_lowercase();
        self.credentials.is_none() && PUBLIC.contains(&host.as_str())
    }

    /// The port, as a program would take it.
    pub fn port_or_default(&self) -> &str {
        self.port.filter(|port| !port.is_empty()).unwrap_or(if self.is_plain() { "80" } else { "443" })
    }

    /// Says whether a request for a project's page goes to this index: `/simple/numpy/` to `/simple`.
    pub fn serves(&self, request: &str) -> bool {
        let request = request.split(['?', '#']).next().unwrap_or_default().trim_end_matches('/');
        let base = self.path.trim_end_matches('/');
        request.rsplit_once('/').is_some_and(|(folder, name)| folder == base && !name.is_empty())
    }
}

/// A URL as it may be shown: its credentials are gone. Two URLs that differ in them alone look the same.
pub fn shown(url: &str) -> String {
    let Some((scheme, rest)) = url.split_once("://") else { return url.to_owned() };
    let end = rest.find(['/', '?', '#']).unwrap_or(rest.len());
    match rest[..end].rfind('@') {
        Some(at) => format!("{scheme}://****@{}", &rest[at + 1..]),
        None => url.to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn takes_urls_apart_and_hides_credentials() {
        let url = IndexUrl::parse("https://u:p%40w@[::1]:8443/simple/?x=@y").unwrap();
        assert_eq!((url.credentials, url.host, url.port, url.path), (Some("u:p%40w"), "::1", Some("8443"), "/simple/"));
        assert!(url.is_loopback() && url.serves("/simple/numpy/") && !url.serves("/simple/") && !url.is_public());
        assert_eq!(shown("https://u:p@host/simple?a=b@c"), "https://****@host/simple?a=b@c");
        assert_eq!(shown("https://host/simple"), "https://host/simple");
        assert_eq!(shown("https://u:p/w@host/x"), "https://u:p/w@host/x");
        assert!(IndexUrl::parse("HTTP://PyPI.org").unwrap().is_public());
        assert!(!IndexUrl::parse("https://u@pypi.org").unwrap().is_public());
        for other in ["file:///x", "https://", "//x", "ftp://x/"] {
            assert_eq!(IndexUrl::parse(other), None, "{other}");
        }
    }
}
