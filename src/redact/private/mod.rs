//! What must not leave a company: people, machines, addresses, processes, private paths and links.
//!
//! Each rule says what it takes for private and what stays; where both are possible, it hides. Data of a business
//! have no shape: only the user can name them. All rules look at a text once, or a bounded way around a place.

mod addresses;
mod hosts;
mod paths;
mod people;
mod public;

use std::ops::Range;

use super::kinds::{Rule, ends_in_placeholder};

/// What was found.
#[derive(Debug, Default)]
pub(super) struct Found {
    /// In no order, overlapping.
    pub spans: Vec<(Range<usize>, Rule)>,
    /// Names that are to be hidden wherever they stand.
    pub names: Vec<(String, Rule)>,
}

/// Finds what is private.
pub(super) fn find(text: &str) -> Found {
    let mut found = Found::default();
    paths::find(text, &mut found);
    hosts::find(text, &mut found);
    people::find(text, &mut found);
    addresses::find(text, &mut found);
    found.spans.retain(|(range, _)| {
        !super::kinds::is_placeholder(&text[range.clone()])
            && !is_inside_placeholder(&text[..range.start], &text[range.end..])
    });
    found
}

/// Takes colours, other control codes and invisible characters out: they could stand in the middle of a name.
pub(super) fn without_disguise(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    let mut rest = text.chars().peekable();
    while let Some(c) = rest.next() {
        match c {
            '\u{1b}' => match rest.peek() {
                Some('[') => {
                    rest.next();
                    while let Some(next) = rest.peek().copied().filter(|c| ('\u{20}'..='\u{7e}').contains(c)) {
                        rest.next();
                        if ('@'..='~').contains(&next) {
                            break;
                        }
                    }
                }
                Some(']') => {
                    // A title or a link, up to BEL or ESC `\`; never across a line.
                    while rest.peek().is_some_and(|c| !matches!(c, '\u{7}' | '\u{1b}' | '\n')) {
                        rest.next();
                    }
                }
                Some(_) | None => {}
            },
            '\u{ad}' | '\u{200b}'..='\u{200f}' | '\u{202a}'..='\u{202e}' | '\u{2060}'..='\u{2069}' | '\u{feff}' => {}
            '\n' | '\r' | '\t' => out.push(c),
            c if c.is_control() => {}
            c => out.push(c),
        }
    }
    out
}

/// Says whether a name tells who or where somebody is; `root` and `localhost` do not.
pub(super) fn is_telling(name: &str) -> bool {
    name.len() >= 3
        && name.chars().any(char::is_alphabetic)
        && !public::is_common_name(name)
        && !public::is_public_host(name)
        && !public::is_public_name(name)
}

/// Finds where a name stands as a word of its own.
pub(super) fn standing_alone(text: &str, name: &str, rule: Rule) -> Vec<Range<usize>> {
    let is_part = |c: char| c.is_ascii_alphanumeric() || c == '_';
    let places = text.match_indices(name).filter(|(at, _)| {
        // What the user named is hidden in the middle of words as well; nothing is hidden within a placeholder.
        let (before, after) = (&text[..*at], &text[at + name.len()..]);
        let alone = rule == Rule::Named || (!before.ends_with(is_part) && !after.starts_with(is_part));
        alone && !is_inside_placeholder(before, after)
    });
    places.map(|(at, _)| at..at + name.len()).collect()
}

fn is_inside_placeholder(before: &str, after: &str) -> bool {
    let near = &before[before.floor_char_boundary(before.len().saturating_sub(24))..];
    let Some(open) = near.rfind('<') else { return false };
    let start = &near[open + 1..];
    let tail: String = after.chars().take(24).take_while(|c| *c != '\n').collect();
    super::kinds::Kind::ALL.iter().any(|kind| {
        let head = format!("{}-", kind.word());
        (head.starts_with(start) || start.starts_with(&head))
            && tail.find('>').is_some_and(|end| tail[..end].chars().all(|c| c.is_ascii_alphanumeric() || c == '-'))
    })
}

/// Says whether something can begin after `before`: no word, no placeholder, no path goes on.
fn begins_after(before: &str) -> bool {
    !before.ends_with(|c: char| c.is_ascii_alphanumeric() || matches!(c, '_' | '.' | '-'))
        && !ends_in_placeholder(before)
}

/// Says whether a word has ended before `after`.
fn ends_before(after: &str) -> bool {
    !after.starts_with(|c: char| c.is_ascii_alphanumeric() || c == '_')
}

#[cfg(test)]
mod tests {
    use super::super::{Profile, Redactor};

    fn private(text: &str) -> String {
        Redactor::new(Profile::Private).redact(text).into_string()
    }

    #[test]
    fn hides() {
        let cases = [
            ("at /home/alice/proj/setup.py:12", "at <path-1>/setup.py:12"),
            ("File \"/home/alice/proj/secret.py\", line 3", "File \"<path-1>.py\", line 3"),
            ("'/mnt/team share/x y/build'", "'<path-1>/build'"),
            ("-I/data/proj/include -L/data/proj/lib", "-I<path-1>/include -L<path-1>/lib"),
            ("位于/home/alice/proj，请检查 alice 的", "位于<path-1>，请检查 <user-1> 的"),
            ("see file:///home/alice/x.log", "see file://<path-1>/x.log"),
            ("C:\\Users\\alice\\proj\\setup.py", "<path-1>\\setup.py"),
            ("{\"p\": \"\\/home\\/alice\\/x\"}", "{\"p\": \"<path-1>\"}"),
            ("from smb://files.corp/team/x", "from smb://<host-1><path-1>"),
            ("\\\\filer01\\team\\x.txt", "<path-1>"),
            ("to=%2Fhome%2Falice%2Fx&y", "to=<path-1>&y"),
            ("~/proj/thing/build.log", "<path-1>/build.log"),
            ("alice@node-17:~$ make", "<user-1>@<host-1>:~$ make"),
            ("by alice.li@corp.example.cn now", "by <email-1> now"),
            ("工号：l00123456", "工号：<user-1>"),
            ("owner wx1234567 left", "owner <user-1> left"),
            ("USER=bob.w", "USER=<user-1>"),
            ("uid=1000(bobw) gid=1000(bobw)", "uid=1000(<user-1>) gid=1000(<user-1>)"),
            ("-rw-r--r-- 1 bobw staffers 12 x", "-rw-r--r-- 1 <user-1> <user-2> 12 x"),
            ("connect to 10.1.2.3:29500", "connect to <ip-1>:29500"),
            ("[::ffff:10.1.2.3]:80 fe80::1ff:fe23:4567:890a%eth0", "[<ip-1>]:80 <ip-2>"),
            ("ether 52:54:00:ab:cd:ef x 52-54-00-AB-CD-EF y 5254.00ab.cdef", "ether <mac-1> x <mac-2> y <mac-3>"),
            ("[PID: 4242] pid=77 (pid: 9) process 31", "[PID: <pid-1>] pid=<pid-2> (pid: <pid-3>) process <pid-4>"),
            ("[ERROR] HCCL(12345,python3):2024", "[ERROR] HCCL(<pid-1>,python3):2024"),
            ("HOSTNAME=trainer7", "HOSTNAME=<host-1>"),
            ("(node1.cluster.internal, 29500)", "(<host-1>, 29500)"),
            ("host='pypi.corp.lan', port=443", "host='<host-1>', port=443"),
            ("https://pypi.corp.lan/simple/innerpkg/?a=1", "https://<host-1><path-1>"),
            ("\u{1b}[31m/home/al\u{1b}[0mice/x\u{1b}[0m", "<path-1>"),
            ("http://10.0.0.7:8080/job/secret", "http://<ip-1>:8080<path-1>"),
        ];
        let wrong: Vec<String> = cases
            .iter()
            .filter(|(given, want)| private(given) != *want)
            .map(|(given, want)| format!("{given}\n  {}\n  {want}", private(given)))
            .collect();
        assert!(wrong.is_empty(), "{}", wrong.join("\n"));
    }

    #[test]
    fn keeps_what_helps() {
        let cases = [
            "driver version 24.1.0.3, CANN 8.0.RC3, torch 2.1.0.post3, npu-smi 24.1.0.3",
            "| npu-smi 24.1.rc2                 Version: 24.1.rc2 |",
            "torch==2.1.0.1 python-3.10.12.1",
            "git clone https://github.com/triton-lang/triton.git",
            "Looking in indexes: https://pypi.tuna.tsinghua.edu.cn/simple, https://pypi.org/simple",
            "shape (4, 128, 4096) dtype torch.bfloat16 rank 3 of 8",
            "EI0006 EZ9999 ERR99999 E30008 507011",
            "CMake Error at /usr/local/lib/cmake/llvm/LLVMConfig.cmake:12 (message):",
            "/usr/local/Ascend/ascend-toolkit/set_env.sh: No such file",
            "127.0.0.1:29500 0.0.0.0 localhost:8080 ::1 [::]",
            "PCI 0000:82:00.0 at 12:34:56.789 2024-01-02T03:04:05",
            "std::vector<int> a::b c10::cuda at::native",
            "import torch.distributed.run; threading.local; scipy.io",
            "file.cpp:1234:12: error, setup.py:29500",
            "actions/checkout@v4 memcpy@GLIBC_2.14 foo@plt",
            "and/or 1/2 application/json",
            "git@github.com:triton-lang/triton.git",
            "commit 3f2a1b4c5d6e7f8091a2b3c4d5e6f708192a3b4c",
        ];
        let wrong: Vec<String> = cases
            .iter()
            .filter(|given| private(given) != **given)
            .map(|given| format!("{given}\n  {}", private(given)))
            .collect();
        assert!(wrong.is_empty(), "{}", wrong.join("\n"));
    }
}
