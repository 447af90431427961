//! What is taken out, and by which rule: the words of placeholders and of a manifest.

use serde::Serialize;

/// What a placeholder stands for.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Kind {
    Secret,
    User,
    Host,
    Ip,
    Mac,
    Pid,
    Path,
    Email,
    Hidden,
}

/// Why something was taken out.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Rule {
    /// A password, token or key.
    Secret,
    UserName,
    JobNumber,
    HostName,
    Ipv4,
    Ipv6,
    Mac,
    ProcessId,
    /// A folder or file outside the usual places of systems and tools.
    Path,
    /// What follows the name of a host that is not public.
    Link,
    Email,
    /// A text that the user named.
    Named,
}

impl Kind {
    pub const ALL: [Kind; 9] =
        [Kind::Secret, Kind::User, Kind::Host, Kind::Ip, Kind::Mac, Kind::Pid, Kind::Path, Kind::Email, Kind::Hidden];

    /// The word in its placeholders.
    pub fn word(self) -> &'static str {
        match self {
            Kind::Secret => "secret",
            Kind::User => "user",
            Kind::Host => "host",
            Kind::Ip => "ip",
            Kind::Mac => "mac",
            Kind::Pid => "pid",
            Kind::Path => "path",
            Kind::Email => "email",
            Kind::Hidden => "hidden",
        }
    }
}

impl Rule {
    pub fn kind(self) -> Kind {
        match self {
            Rule::Secret => Kind::Secret,
            Rule::UserName | Rule::JobNumber => Kind::User,
            Rule::HostName => Kind::Host,
            Rule::Ipv4 | Rule::Ipv6 => Kind::Ip,
            Rule::Mac => Kind::Mac,
            Rule::ProcessId => Kind::Pid,
            Rule::Path | Rule::Link => Kind::Path,
            Rule::Email => Kind::Email,
            Rule::Named => Kind::Hidden,
        }
    }
}

/// Says whether `text` is one of our placeholders.
pub(super) fn is_placeholder(text: &str) -> bool {
    let inner = text.strip_prefix('<').and_then(|rest| rest.strip_suffix('>'));
    inner.and_then(|inner| inner.split_once('-')).is_some_and(|(word, number)| {
        Kind::ALL.iter().any(|kind| kind.word() == word)
            && !number.is_empty()
            && number.bytes().all(|byte| byte.is_ascii_digit())
    })
}

/// Says whether a placeholder ends where `text` does.
pub(super) fn ends_in_placeholder(text: &str) -> bool {
    let near = &text[text.floor_char_boundary(text.len().saturating_sub(LONGEST))..];
    text.ends_with('>') && near.rfind('<').is_some_and(|at| is_placeholder(&near[at..]))
}

/// No placeholder is longer.
const LONGEST: usize = 30;
