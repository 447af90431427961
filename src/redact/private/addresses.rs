//! Addresses: IPv4, IPv6, MAC. A version that looks like one stays where its surroundings say so.

use std::net::{Ipv4Addr, Ipv6Addr};
use std::sync::LazyLock;

use regex::Regex;

use super::super::kinds::Rule;
use super::Found;

/// How far before a number the word is looked for that makes it a version.
const NEAR: usize = 48;

/// Finds addresses other than those that every machine has.
pub(super) fn find(text: &str, found: &mut Found) {
    static IPV4: LazyLock<Regex> = LazyLock::new(|| regex(r"(?-u)[0-9]{1,3}(?:\.[0-9]{1,3}){3}"));
    static IPV6: LazyLock<Regex> = LazyLock::new(|| {
        regex(
            r"(?-u)(?:[0-9A-Fa-f]{0,4}:){2,8}(?:[0-9]{1,3}(?:\.[0-9]{1,3}){3}|[0-9A-Fa-f]{1,4})?(?:%[A-Za-z0-9_.-]+)?",
        )
    });
    static MAC: LazyLock<Regex> = LazyLock::new(|| {
        regex(
            r"(?-u)(?:[0-9A-Fa-f]{2}(?:(?::[0-9A-Fa-f]{2}){5}|(?:-[0-9A-Fa-f]{2}){5})|[0-9A-Fa-f]{4}\.[0-9A-Fa-f]{4}\.[0-9A-Fa-f]{4})",
        )
    });
    for place in IPV6.find_iter(text) {
        let (mut start, mut end) = (place.start(), place.end());
        // A separator before or after it is none of its own: `[::1]:80`, `addr: fe80::1:`.
        let mut address = place.as_str().split('%').next().unwrap_or_default();
        if address.ends_with(':') && !address.ends_with("::") {
            address = &address[..address.len() - 1];
            end = start + address.len();
        }
        if address.starts_with(':') && !address.starts_with("::") {
            address = &address[1..];
            start += 1;
        }
        if !stands_alone(text, start, end, ":") {
            continue;
        }
        let Ok(parsed) = address.parse::<Ipv6Addr>() else { continue };
        let figures = address.bytes().any(|byte| byte.is_ascii_digit());
        let groups = address.split(':').filter(|group| !group.is_empty()).count();
        // `dead::beef` may be a name of C++; `::` and `::1` are everybody's.
        let is_address = figures && groups >= 2 && !parsed.is_loopback() && !parsed.is_unspecified();
        if is_address {
            found.spans.push((start..end, Rule::Ipv6));
        }
    }
    for place in IPV4.find_iter(text) {
        let Ok(address) = place.as_str().parse::<Ipv4Addr>() else { continue };
        let common =
            address.is_loopback() || address.is_unspecified() || address.is_broadcast() || address.octets()[0] == 255;
        if !common
            && stands_alone(text, place.start(), place.end(), "")
            && !is_version(text, place.start(), place.end(), address)
        {
            found.spans.push((place.range(), Rule::Ipv4));
        }
    }
    for place in MAC.find_iter(text) {
        let letters = place.as_str().bytes().any(|byte| byte.is_ascii_alphabetic());
        let dotted = place.as_str().contains('.');
        if stands_alone(text, place.start(), place.end(), ":") && (letters || !dotted) {
            found.spans.push((place.range(), Rule::Mac));
        }
    }
}

/// Says whether no longer word or number goes on at either end.
fn stands_alone(text: &str, start: usize, end: usize, joints: &str) -> bool {
    let (before, after) = (&text[..start], &text[end..]);
    let goes_on = |c: char| c.is_ascii_alphanumeric() || c == '_';
    let joint = |c: char| joints.contains(c);
    // After a point another number makes it longer; a point alone ends a sentence.
    let longer = ['.', ':', '-'].iter().any(|mark| {
        (*mark != ':' || joint(':'))
            && after
                .strip_prefix(*mark)
                .is_some_and(|rest| rest.starts_with(|c: char| c.is_ascii_hexdigit() && *mark != '-'))
    });
    let shorter = before.ends_with('.')
        || (joint(':')
            && before.ends_with(':')
            && before[..before.len() - 1].ends_with(|c: char| c.is_ascii_hexdigit()));
    !before.ends_with(goes_on) && !after.starts_with(goes_on) && !longer && !shorter
}

/// Says whether four numbers are a version: their surroundings say so, and nothing says that they are an address.
fn is_version(text: &str, start: usize, end: usize, address: Ipv4Addr) -> bool {
    static WORD: LazyLock<Regex> = LazyLock::new(|| {
        regex(
            r"(?i)(?:version|driver|firmware|cann|toolkit|release|npu-smi|gcc|python|cmake|clang|llvm|torch|package|software|ver|版本|固件|驱动)[^\n,;]{0,24}$",
        )
    });
    let before = &text[..start];
    let after = &text[end..];
    let near = &before[before.floor_char_boundary(before.len().saturating_sub(NEAR))..];
    let near = near.rsplit('\n').next().unwrap_or_default();
    if ["==", ">=", "<=", "~=", "!=", "-", "_"].iter().any(|mark| near.ends_with(mark)) && !near.ends_with("--") {
        // `ip-10.0.0.1`: a name of an address goes before.
        return !near.to_ascii_lowercase().trim_end_matches(['-', '_', '=']).ends_with("ip");
    }
    let of_a_network = after.strip_prefix(':').is_some_and(|rest| rest.starts_with(|c: char| c.is_ascii_digit()))
        || after.starts_with('/')
        || near.ends_with("://")
        || near.ends_with('@');
    if of_a_network {
        return false;
    }
    if ["post", ".post", "rc", ".rc", "-rc"].iter().any(|mark| after.starts_with(mark)) {
        return true;
    }
    let says_address = ["ip", "addr", "host", "peer", "connect", "server", "gateway", "inet", "route", "ping", "地址"];
    let lower = near.to_ascii_lowercase();
    if let Some(word) = WORD.find(&lower) {
        return !says_address.iter().any(|says| lower[word.start()..].contains(says));
    }
    let [first, second, third, fourth] = address.octets();
    let of_a_private_net =
        address.is_private() || address.is_link_local() || (first == 100 && (64..128).contains(&second));
    // Drivers are called `24.1.0.3`.
    !of_a_private_net
        && (5..=30).contains(&first)
        && second < 10
        && third < 10
        && fourth < 10
        && !says_address.iter().any(|says| lower.contains(says))
}

fn regex(pattern: &str) -> Regex {
    Regex::new(pattern).expect("the pattern is a constant that a test compiles")
}
