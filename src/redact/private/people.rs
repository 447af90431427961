//! People and what they run: names of users, job numbers, e-mails, process ids.

use std::sync::LazyLock;

use regex::{Match, Regex};

use super::super::kinds::Rule;
use super::Found;
use super::public;

/// Finds them.
pub(super) fn find(text: &str, found: &mut Found) {
    if text.contains('@') {
        at_signs(text, found);
    }
    users(text, found);
    job_numbers(text, found);
    process_ids(text, found);
    basic_auth(text, found);
}

/// E-mails, `user@host` of a prompt or of ssh. What else has an `@` stays: versions, symbols, branches.
fn at_signs(text: &str, found: &mut Found) {
    static AT: LazyLock<Regex> = LazyLock::new(|| {
        regex(
            r"(?P<user>[\p{L}\p{N}_][\p{L}\p{N}_.+-]*)@(?P<host>[\p{L}\p{N}](?:[\p{L}\p{N}.-]*[\p{L}\p{N}])?)(?P<after>[:/]?[ ~/]?[^\n]?)",
        )
    });
    for captures in AT.captures_iter(text) {
        let (user, host) =
            (captures.name("user").expect("in the expression"), captures.name("host").expect("in the expression"));
        let before = &text[..user.start()];
        if before.ends_with(['@', '.']) || text[host.end()..].starts_with('_') || is_no_host(host.as_str()) {
            continue;
        }
        let public = public::is_public_host(host.as_str());
        if public && user.as_str() == "git" {
            continue;
        }
        let top = host.as_str().rsplit_once('.').map(|(_, top)| top);
        let is_mail = top.is_some_and(|top| top.len() >= 2 && top.chars().all(char::is_alphabetic));
        if is_mail && !before.ends_with("://") && !text[host.end()..].starts_with(":~") {
            found.spans.push((user.start()..host.end(), Rule::Email));
            if super::is_telling(user.as_str()) {
                found.names.push((user.as_str().to_owned(), Rule::UserName));
            }
            continue;
        }
        let after = &text[host.end()..];
        // A bounded way back, so that a text of one line is not looked at over and over.
        let near = &before[before.floor_char_boundary(before.len().saturating_sub(200))..];
        let line = near.rsplit('\n').next().unwrap_or_default();
        let of_a_shell = [":~", ":/", " ~", " /", "]#", "]$", "#", "$"].iter().any(|mark| after.starts_with(mark))
            || ["ssh", "scp", "rsync", "sftp"].iter().any(|tool| line.contains(tool))
            || line.trim_end_matches(['[', '(', ' ']).is_empty();
        let has_mark = host.as_str().bytes().any(|byte| byte.is_ascii_digit() || matches!(byte, b'-' | b'.'));
        if of_a_shell || has_mark {
            name(user, Rule::UserName, found);
            let is_address = host.as_str().bytes().all(|byte| byte.is_ascii_digit() || byte == b'.');
            if !public && !is_address {
                name(host, Rule::HostName, found);
            }
        }
    }
}

/// What stands after the `@` of a version, a symbol or a branch.
fn is_no_host(name: &str) -> bool {
    static NO_HOST: LazyLock<Regex> = LazyLock::new(|| {
        regex(
            r"(?i)^(?:v?[0-9][0-9.]*(?:[-.]?(?:rc|post|dev|a|b)[0-9]*)?|plt|got.*|tpoff|main|master|head|latest|glibc.*|gcc.*|cxxabi.*|[0-9a-f]{7,40})$",
        )
    });
    NO_HOST.is_match(name) && name.parse::<std::net::Ipv4Addr>().is_err()
}

/// Where a program names a user.
fn users(text: &str, found: &mut Found) {
    static NAMED: LazyLock<Regex> = LazyLock::new(|| {
        regex(
            r#"(?x) (?: \b(?:USER|LOGNAME|USERNAME|SUDO_USER|GITLAB_USER_LOGIN|user|username|user_name|userName|login|owner|author|whoami|User|Username|Owner|Author)["']? [\ \t]* [=:：]
                | --(?:username|user-name)[\ =] | --user= | --owner[\ =] | (?:用户名|用户|姓名|账号|账户|工号|作者|登录名|负责人|提交人) ["']? [\ \t]* (?:[=:：]|是|为)? )
            [\ \t]* ["']? (?P<user>[\p{L}\p{N}_][\p{L}\p{N}_.-]*)"#,
        )
    });
    static SAID: LazyLock<Regex> = LazyLock::new(|| {
        regex(
            r#"(?x) (?: \b(?:uid|gid|groups)=[0-9]+\( | ,[0-9]+\( | \b(?:for|by|of|as|from)\ (?:the\ )?(?:invalid\ )?user\ | \blogged\ in\ as\ | \bchown\ (?:-[A-Za-z]+\ )*
                | \bsu\ -\ | \bsudo\ -u\ | \bssh\ -l\ | (?:^|[\s"'=:(])~ ) ["'“]? (?P<user>[\p{L}_][\p{L}\p{N}_.-]*)(?::(?P<group>[A-Za-z_][A-Za-z0-9_.-]*))?"#,
        )
    });
    static LISTED: LazyLock<Regex> = LazyLock::new(|| {
        regex(
            r"(?m)^[\s│|]*[-dlbcps][rwxsStT-]{9}[.+@]?[ \t]+[0-9]+[ \t]+(?P<user>[A-Za-z_][\w.-]*)[ \t]+(?P<group>[A-Za-z_][\w.-]*)[ \t]",
        )
    });
    static PROCESS: LazyLock<Regex> = LazyLock::new(|| {
        regex(
            r"(?m)^[ \t]*(?P<user>[A-Za-z_][\w.+-]*)[ \t]+(?P<pid>[0-9]{1,8})[ \t]+[0-9.]+[ \t]+[0-9.]+[ \t]+[0-9]+[ \t]",
        )
    });
    for captures in NAMED.captures_iter(text) {
        name(captures.name("user").expect("in the expression"), Rule::UserName, found);
    }
    for captures in SAID.captures_iter(text).chain(LISTED.captures_iter(text)) {
        name(captures.name("user").expect("in the expression"), Rule::UserName, found);
        if let Some(group) = captures.name("group") {
            name(group, Rule::UserName, found);
        }
    }
    for captures in PROCESS.captures_iter(text) {
        name(captures.name("user").expect("in the expression"), Rule::UserName, found);
        found.spans.push((captures.name("pid").expect("in the expression").range(), Rule::ProcessId));
    }
}

/// `l00123456`, `wx1234567`: a letter or the mark of a partner, then six figures or more.
fn job_numbers(text: &str, found: &mut Found) {
    static JOB: LazyLock<Regex> = LazyLock::new(|| {
        regex(r"(?P<user>(?:[A-Za-z](?:00|30|50|60|80)[0-9]{6}|[A-Za-z][0-9]{8}|[A-Za-z]{0,2}(?:wx|WX)[0-9]{6,8}))")
    });
    for captures in JOB.captures_iter(text) {
        let user = captures.name("user").expect("in the expression");
        let (before, after) = (&text[..user.start()], &text[user.end()..]);
        if begins_or_follows_a_mark(before) && !after.starts_with(|c: char| c.is_ascii_alphanumeric()) {
            found.spans.push((user.range(), Rule::JobNumber));
            found.names.push((user.as_str().to_owned(), Rule::JobNumber));
        }
    }
}

fn begins_or_follows_a_mark(before: &str) -> bool {
    !before.ends_with(|c: char| c.is_ascii_alphanumeric())
}

fn process_ids(text: &str, found: &mut Found) {
    static NAMED: LazyLock<Regex> = LazyLock::new(|| {
        regex(
            r#"(?ix) (?: \b p?pid s? ["']? | \b process(?:\ id)? | \b(?:kill|kill\ -9|kill\ -KILL|strace\ -p|gdb\ -p)\  | \bthread(?:\ id)? | \btid | 进程号? | 线程号? | 进程\ ?ID ) ["']?
            (?: [\ \t]* [=:：\#] | \ is | 为 | 是 )? [\ \t]* [\[(]? (?P<pid>[0-9]{1,9})\b"#,
        )
    });
    static LOGGED: LazyLock<Regex> = LazyLock::new(|| {
        regex(
            r"(?mx) (?: \b(?:plog|device|trace)-(?P<plog>[0-9]+)_[0-9] | \b[A-Z][A-Z0-9_]{1,15}\((?P<cann>[0-9]+),
                | ^==(?P<valgrind>[0-9]+)== | ^[IWEF][0-9]{4}\ [0-9:.]+\ +(?P<glog>[0-9]+)\ | \b[a-z][a-z0-9_.-]*\[(?P<syslog>[0-9]{2,8})\]:
                | ^\|\ +[0-9]+\ +[0-9]+\ +\|\ +(?P<smi>[0-9]+)\ +\| | \bpid-(?P<file>[0-9]+) | \bfailed\ \(exitcode:\ -?[0-9]+\)\ local_rank:\ [0-9]+\ \(pid:\ (?P<elastic>[0-9]+)\) )",
        )
    });
    for captures in NAMED.captures_iter(text) {
        let pid = captures.name("pid").expect("in the expression");
        // `process 0.5`, `thread 3/8`: a count or a share.
        if !text[pid.end()..].starts_with(['.', '/', '%']) {
            found.spans.push((pid.range(), Rule::ProcessId));
        }
    }
    for captures in LOGGED.captures_iter(text) {
        found.spans.extend(captures.iter().skip(1).flatten().map(|pid| (pid.range(), Rule::ProcessId)));
    }
}

/// `Basic` and base64 of `user:password`, wherever it stands.
fn basic_auth(text: &str, found: &mut Found) {
    static BASIC: LazyLock<Regex> =
        LazyLock::new(|| regex(r"(?i-u)\bbasic[ \t]+(?P<secret>[A-Za-z0-9+/_-]{6,}={0,2})"));
    for captures in BASIC.captures_iter(text) {
        let secret = captures.name("secret").expect("in the expression");
        let looks_encoded = secret.as_str().ends_with('=')
            || secret.as_str().bytes().any(|byte| byte.is_ascii_digit() || matches!(byte, b'+' | b'/'))
            || secret.as_str().bytes().skip(1).any(|byte| byte.is_ascii_uppercase());
        if looks_encoded {
            found.spans.push((secret.range(), Rule::Secret));
        }
    }
}

fn name(found_at: Match<'_>, rule: Rule, found: &mut Found) {
    let text = found_at.as_str().trim_end_matches(['.', '-']);
    let is_word_of_ours = public::is_common_name(text) || text.bytes().all(|byte| byte.is_ascii_digit());
    if text.len() < 2 || is_word_of_ours || public::is_public_host(text) {
        return;
    }
    found.spans.push((found_at.start()..found_at.start() + text.len(), rule));
    found.names.push((text.to_owned(), rule));
}

fn regex(pattern: &str) -> Regex {
    Regex::new(pattern).expect("the pattern is a constant that a test compiles")
}
