//! Names of hosts: in URLs, where a program names one, and by their domains. Public hosts stay.

use std::sync::LazyLock;

use regex::{Match, Regex};

use super::super::kinds::Rule;
use super::public;
use super::{Found, begins_after, ends_before, paths};

/// Finds hosts that are not public, and what follows them in a link.
pub(super) fn find(text: &str, found: &mut Found) {
    if text.contains("://") {
        urls(text, found);
    }
    named(text, found);
    domains(text, found);
    with_port(text, found);
}

fn urls(text: &str, found: &mut Found) {
    static URL: LazyLock<Regex> = LazyLock::new(|| {
        regex(
            r#"(?x) \b (?P<scheme>[A-Za-z][A-Za-z0-9+.-]*) :// (?: (?:<[a-z]+-[0-9]+> | (?P<user>[^\s/@"'`<>:]+)) (?: :[^\s/@"'`<>]* )? @ )?
            (?P<host> \[[0-9A-Fa-f:.%a-z]+\] | [\p{L}\p{N}][\p{L}\p{N}_.-]* ) (?: :[0-9]+ )?
            (?P<path> /[^\s"'`<>\\)\]},;，。；）]* )? (?P<query> [?\#][^\s"'`<>\\)\]},;]* )? "#,
        )
    });
    for captures in URL.captures_iter(text) {
        if let Some(user) = captures.name("user").filter(|user| super::is_telling(user.as_str())) {
            found.spans.push((user.range(), Rule::UserName));
        }
        let host = captures.name("host").expect("it is in the expression");
        let name = host.as_str().trim_end_matches('.');
        if public::is_public_host(name) || is_this_machine(name) {
            continue;
        }
        // Addresses have a rule of their own.
        if !name.starts_with('[') && !is_number(name) {
            take_range(host.start()..host.start() + name.len(), name, found);
        }
        let rest = [captures.name("path"), captures.name("query")];
        let start = rest.iter().flatten().map(Match::start).next();
        let (Some(start), Some(end)) = (start, rest.iter().flatten().map(Match::end).next_back()) else { continue };
        let path = captures.name("path").map_or("", |path| path.as_str());
        if captures.name("query").is_some() || paths::private_part(path.trim_end_matches('.'), '/').is_some() {
            let end = start + text[start..end].trim_end_matches('.').len();
            found.spans.push((start..end, Rule::Link));
        }
    }
}

/// `HOSTNAME=x`, `host: x`, `--master_addr x`, `resolve host x`, `on node x`, `主机名：x`.
fn named(text: &str, found: &mut Found) {
    static ASSIGNED: LazyLock<Regex> = LazyLock::new(|| {
        regex(
            r#"(?ix) (?: \b (?: [a-z]+_ )? (?: host [_\ -]? name | node [_\ -]? name | master_addr | master-addr | server [_-]? name
                | rdzv[_-]endpoint | machine [_-]? name | computer[_-]?name | nodelist | host | node | server | endpoint ) | 主机名? | 服务器名? | 节点名? | 机器名? ) ["']? \s*
            (?: [=:：] | 是 | 为 ) [\ \t]* ["']? (?P<host>[A-Za-z0-9][A-Za-z0-9.-]*[A-Za-z0-9])"#,
        )
    });
    static SAID: LazyLock<Regex> = LazyLock::new(|| {
        regex(
            r#"(?ix) (?: --(?:master[_-]addr|hostname|host|rdzv[_-]endpoint|server|node) [\ ] | \b resolve \ (?:host(?:name)?:?\ )? | \b (?:ssh|scp|sftp|ping|telnet) \ (?:-[A-Za-z]+\ )*
                | \b (?:on|from|to|at|of|with|by|via|for|connect(?:ing|ed)?\ to) \ (?:the\ )?(?:host|node|server|machine|peer|remote)\ | \b Host\ key\ .{0,40}\ for\ | 主机\ ? | 节点\ ? | 服务器\ ? )
            ["'(\[]? (?P<host>[A-Za-z][A-Za-z0-9.-]*[A-Za-z0-9])"#,
        )
    });
    static PAIR: LazyLock<Regex> =
        LazyLock::new(|| regex(r#"[\(\[]["']?(?P<host>[A-Za-z][A-Za-z0-9.-]*)["']?, ?[0-9]{2,5}[\)\]]"#));
    for (expression, sure) in [(&ASSIGNED, true), (&SAID, false), (&PAIR, false)] {
        for captures in expression.captures_iter(text) {
            let host = captures.name("host").expect("it is in the expression");
            let name = host.as_str();
            let plain = name.bytes().all(|byte| byte.is_ascii_alphabetic());
            // A mere word may be a word: where it is assigned it is a name.
            let key_says = captures[0].to_ascii_lowercase();
            let strong = ["name", "addr", "名"].iter().any(|part| key_says.contains(part));
            if (plain && !(sure && strong)) || !ends_before(&text[host.end()..]) {
                continue;
            }
            take(host, found);
        }
    }
}

/// Names of two parts or more that end as names of hosts do.
fn domains(text: &str, found: &mut Found) {
    static DOMAIN: LazyLock<Regex> = LazyLock::new(|| {
        regex(
            r"(?i-u)(?P<host>[a-z0-9](?:[a-z0-9_-]*[a-z0-9])?(?:\.[a-z0-9](?:[a-z0-9_-]*[a-z0-9])?)*\.(?P<top>com|cn|org|edu|gov|net|io|local|internal|intranet|intra|corp|lan|localdomain|svc|home|cloud|dev|ai|me|tech|example|test|invalid))",
        )
    });
    for captures in DOMAIN.captures_iter(text) {
        let host = captures.name("host").expect("it is in the expression");
        let name = host.as_str();
        let (before, after) = (&text[..host.start()], &text[host.end()..]);
        let goes_on = after.strip_prefix('.').is_some_and(|rest| rest.starts_with(|c: char| c.is_ascii_alphanumeric()));
        if !begins_after(before) || !ends_before(after) || after.starts_with('-') || goes_on || after.starts_with('(') {
            continue;
        }
        let sure = matches!(
            &*captures["top"].to_ascii_lowercase(),
            "com" | "cn" | "org" | "edu" | "gov" | "corp" | "lan" | "intranet" | "localdomain"
        );
        let labels = name.split('.').count();
        let has_number = name.bytes().any(|byte| byte.is_ascii_digit() || byte == b'-');
        // `threading.local`, `scipy.io`, `self.net`: names of a program.
        let is_host = sure || has_number || labels >= 3 || after.starts_with(':');
        if is_host && !name.contains('_') {
            take(host, found);
        }
    }
}

/// `node-7:29500`.
fn with_port(text: &str, found: &mut Found) {
    static PORT: LazyLock<Regex> =
        LazyLock::new(|| regex(r"(?-u)(?P<host>[A-Za-z][A-Za-z0-9]*(?:[0-9]|-[A-Za-z0-9-]*[A-Za-z0-9])):[0-9]{4,5}\b"));
    static NO_HOST: LazyLock<Regex> = LazyLock::new(|| {
        regex(
            r"(?i-u)^(?:rank|local_?rank|npu|device|dev|gpu|cpu|line|cuda|cp|py|python|gloo|step|epoch|iter|worker_?rank|stage|layer|v|l|c|h)[-_]?[0-9]*$",
        )
    });
    for captures in PORT.captures_iter(text) {
        let host = captures.name("host").expect("it is in the expression");
        if begins_after(&text[..host.start()])
            && !text[..host.start()].ends_with('/')
            && !NO_HOST.is_match(host.as_str())
        {
            take(host, found);
        }
    }
}

fn take(host: Match<'_>, found: &mut Found) {
    take_range(host.range(), host.as_str(), found);
}

fn take_range(range: std::ops::Range<usize>, name: &str, found: &mut Found) {
    let lower = name.to_ascii_lowercase();
    let of_a_toolchain =
        ["linux", "-gnu", "darwin", "windows-", "x86", "aarch64", "amd64"].iter().any(|part| lower.contains(part));
    let file = !public::extension(name).is_empty() && name.matches('.').count() == 1;
    if public::is_public_host(name)
        || public::is_common_name(name)
        || is_number(name)
        || of_a_toolchain
        || file
        || name.len() < 2
    {
        return;
    }
    found.spans.push((range, Rule::HostName));
    found.names.push((name.to_owned(), Rule::HostName));
}

fn is_number(name: &str) -> bool {
    name.bytes().all(|byte| byte.is_ascii_digit() || byte == b'.')
}

fn is_this_machine(name: &str) -> bool {
    matches!(name, "127.0.0.1" | "0.0.0.0" | "[::1]" | "[::]" | "localhost")
}

fn regex(pattern: &str) -> Regex {
    Regex::new(pattern).expect("the pattern is a constant that a test compiles")
}
