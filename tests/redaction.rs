//! What leaves in a bug report: seeded secrets in many forms, and the labelled logs, which must still be recognised.

mod support;

use std::collections::BTreeSet;
use std::fs;
use std::path::Path;

use build_fix::redact::{Profile, Redactor, Rule};
use proptest::prelude::*;
use support::Sandbox;
use support::labelled::cases;

fn private(text: &str) -> String {
    Redactor::new(Profile::Private).redact(text).into_string()
}

/// A small generator of its own, so that the texts are the same everywhere and always.
struct Seeded(u64);

impl Seeded {
    fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        self.0 >> 33
    }

    fn below(&mut self, end: u64) -> u64 {
        self.next() % end
    }

    fn of<'a>(&mut self, list: &[&'a str]) -> &'a str {
        list[usize::try_from(self.below(list.len() as u64)).unwrap()]
    }

    fn word(&mut self, length: u64) -> String {
        let syllables = ["ka", "zu", "rem", "vix", "lo", "quor", "dje", "mba", "xan", "phi"];
        (0..length).map(|_| self.of(&syllables)).collect()
    }

    fn token(&mut self, length: usize) -> String {
        let letters = b"ABCDEFGHJKLMNPQRSTUVWXYZabcdefghjkmnpqrstuvwxyz23456789";
        let at = |n: u64| char::from(letters[usize::try_from(n).unwrap() % letters.len()]);
        let mut token: String = (0..length).map(|_| at(self.next())).collect();
        token.push_str("Q7z");
        token
    }

    fn hex(&mut self, length: usize) -> String {
        (0..length).map(|_| char::from_digit(u32::try_from(self.below(16)).unwrap(), 16).unwrap()).collect()
    }
}

/// One text of a form, and what of it must not be left.
fn form(number: usize, seed: &mut Seeded) -> (String, Vec<String>) {
    let user = seed.word(3);
    let host = format!("{}{}-{}", seed.word(2), seed.below(90) + 10, seed.word(1));
    let project = seed.word(4);
    let token = seed.token(24);
    let (a, b, c) = (seed.below(256), seed.below(256), seed.below(254) + 1);
    let ip = match seed.below(4) {
        0 => format!("10.{a}.{b}.{c}"),
        1 => format!("192.168.{b}.{c}"),
        2 => format!("172.{}.{b}.{c}", 16 + seed.below(16)),
        _ => format!("{}.{a}.{b}.{c}", 130 + seed.below(60)),
    };
    let ip6 = format!("fd{}:{}::{}:{}", seed.hex(2), seed.below(9000) + 1000, seed.hex(3), seed.below(9000) + 1000);
    let mac: Vec<String> = (0..6).map(|_| seed.hex(2)).collect();
    let job = format!("{}00{}", seed.of(&["l", "w", "z", "c", "y"]), 100_000 + seed.below(900_000));
    let pid = format!("{}", 100_000 + seed.below(3_000_000));
    let port = 1024 + seed.below(60_000);
    let base64 = encoded(&format!("{user}:{token}"));
    match number {
        0 => (format!("index-url = https://{user}:{token}@{host}.corp.lan/simple"), vec![user, token, host]),
        1 => (format!("export HF_TOKEN={token}"), vec![token]),
        2 => (format!("{{\"password\": \"{token}\", \"user\": \"{user}\"}}"), vec![token, user]),
        3 => (format!("db:\n  password: {token}\n  host: {host}\n"), vec![token, host]),
        4 => (format!("[server]\r\npassword = {token}\r\nusername = {user}\r\n"), vec![token, user]),
        5 => (format!("tool --token {token} --username {user}"), vec![token, user]),
        6 => (format!("Authorization: Bearer {token}"), vec![token]),
        7 => (format!("> Proxy-Authorization: Basic {base64}"), vec![base64]),
        8 => (format!("sent Basic {base64} to the proxy"), vec![base64]),
        9 => (format!("x ghp_{token}, y glpat-{token}"), vec![token]),
        10 => (
            format!("-----BEGIN RSA PRIVATE KEY-----\n{token}\n{base64}\n-----END RSA PRIVATE KEY-----"),
            vec![token, base64],
        ),
        11 => (format!("connect to {ip}:{port} failed"), vec![ip]),
        12 => (format!("tcp://{ip}:{port}"), vec![ip]),
        13 => (format!("inet {ip}/24 scope global"), vec![ip]),
        14 => (format!("无法连接{ip}，请检查网络"), vec![ip]),
        15 => (format!("\"master\": \"{ip}\""), vec![ip]),
        16 => (format!("inet6 {ip6}/64"), vec![ip6]),
        17 => (format!("http://[{ip6}]:{port}/x"), vec![ip6]),
        18 => (
            format!("peer fe80::{}:{}%eth0 is down", mac[0], mac.concat().get(..4).unwrap()),
            vec![format!("fe80::{}", mac[0])],
        ),
        19 => (format!("mapped ::ffff:{ip} here"), vec![ip]),
        20 => (format!("link/ether {} brd ff:ff:ff:ff:ff:ff", mac.join(":")), vec![mac.join(":")]),
        21 => (format!("HWaddr {}", mac.join("-").to_uppercase()), vec![mac.join("-").to_uppercase()]),
        22 => (
            format!("mac=a{}.{}.{}", &mac.concat()[..3], &mac.concat()[3..7], &mac.concat()[7..11]),
            vec![mac.concat()[3..7].to_owned()],
        ),
        23 => (format!("{host}:{port}: connection refused"), vec![host]),
        24 => (
            format!(
                "[W socket.cpp:601] [c10d] The client socket cannot connect to ({host}.{project}.internal, {port})"
            ),
            vec![host, project],
        ),
        25 => (format!("MASTER_ADDR={host} MASTER_PORT={port}"), vec![host]),
        26 => (format!("主机名：{host}，用户：{user}"), vec![host, user]),
        27 => (format!("ssh: Could not resolve hostname {host}: Name or service not known"), vec![host]),
        28 => (
            format!(
                "HTTPSConnectionPool(host='{host}.{project}.com', port=443): Max retries exceeded with url: /simple"
            ),
            vec![host, project],
        ),
        29 => (format!("{user}@{host}:~/x$ make -j8"), vec![user, host]),
        30 => (format!("[{user}@{host} build]# ninja"), vec![user, host]),
        31 => (format!("(base) {user}@{host}:/home/{user}/{project}$ ls"), vec![user, host, project]),
        32 => (format!("scp out.log {user}@{ip}:/data/{project}"), vec![user, ip, project]),
        33 => (format!("  File \"/home/{user}/{project}/train.py\", line 12, in <module>"), vec![user, project]),
        34 => (format!("-I/home/{user}/{project}/include -Wl,-rpath,/data/{project}/lib"), vec![user, project]),
        35 => (format!("CMake Error at /mnt/nfs/{project}/CMakeLists.txt:12 (find_package):"), vec![project]),
        36 => (format!("open file:///home/{user}/{project}/x.log"), vec![user, project]),
        37 => (format!("open smb://{host}/{project}/x.log"), vec![host, project]),
        38 => (format!("open \\\\{host}\\{project}\\x.log"), vec![host, project]),
        39 => (format!("C:\\Users\\{user}\\{project}\\main.cpp(12): error C2065"), vec![user, project]),
        40 => (format!("{{\"cwd\": \"\\/home\\/{user}\\/{project}\"}}"), vec![user, project]),
        41 => (format!("GET /x?to=%2Fhome%2F{user}%2F{project}&a=1"), vec![user, project]),
        42 => (format!("文件位于/home/{user}/{project}，所有者 {user}"), vec![user, project]),
        43 => (
            format!("\u{1b}[31merror\u{1b}[0m in \u{1b}[1m/home/{user}/\u{1b}[4m{project}\u{1b}[0m/x.c"),
            vec![user, project],
        ),
        44 => (format!("\u{1b}[1m{}\u{1b}[0m{}@{host}.corp.com", &user[..3], &user[3..]), vec![user, host]),
        45 => (format!("cd /home/{user}/{project}\r\nmake: *** [all] Error 2\r\n"), vec![user, project]),
        46 => (format!("工号 {job} 姓名 {user}"), vec![job, user]),
        47 => (format!("cp /tmp/{job}_build/out.o ."), vec![job]),
        48 => (format!("mail to {user}.{project}@{host}.com for help"), vec![user, project, host]),
        49 => (format!("uid=1001({user}) gid=1001({user}) groups=1001({user}),27({project})"), vec![user, project]),
        50 => (format!("drwxr-xr-x 5 {user} {project} 4096 Jan  1 10:00 build"), vec![user, project]),
        51 => (format!("[PID: {pid}] exited; kill -9 {pid}"), vec![pid]),
        52 => (format!("[ERROR] RUNTIME({pid},python3):2024-05-06-07:08:09 [runtime.cc:12]"), vec![pid]),
        53 => (format!("failed (exitcode: 1) local_rank: 0 (pid: {pid}) of binary: /usr/bin/python3"), vec![pid]),
        54 => (format!("see /root/ascend/log/debug/plog/plog-{pid}_20240506070809123.log"), vec![pid]),
        55 => (format!("{user}  {pid}  99.0  1.2 123456 7890 pts/0 R+ 10:00 0:12 python"), vec![user, pid]),
        56 => (format!("git clone https://git.{host}.com/{project}/repo.git?job={job}"), vec![host, project, job]),
        57 => (format!("Cookie: session={token}; user={user}"), vec![token, user]),
        58 => (format!("curl -u {user}:{token} https://{host}.lan/{project}"), vec![token, host, project]),
        _ => (format!("aws_secret_access_key = {token}\n# {token} again, by {user}\nUSER={user}"), vec![token, user]),
    }
}

const FORMS: usize = 60;

fn encoded(text: &str) -> String {
    let letters = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
    let mut out = String::new();
    for chunk in text.as_bytes().chunks(3) {
        let bits = chunk.iter().fold(0u32, |bits, byte| bits << 8 | u32::from(*byte)) << (8 * (3 - chunk.len()));
        for place in 0..4 {
            let sextet = (bits >> (18 - 6 * place)) & 63;
            out.push(if place > chunk.len() { '=' } else { char::from(letters[sextet as usize]) });
        }
    }
    out
}

/// The seeded texts: each form again and again until there are as many secrets as asked for.
fn seeded(secrets: usize) -> Vec<(usize, String, Vec<String>)> {
    let mut seed = Seeded(20_261_201);
    let mut all = Vec::new();
    let mut planted = 0;
    while planted < secrets {
        for number in 0..FORMS {
            let (text, secrets) = form(number, &mut seed);
            assert!(secrets.iter().all(|secret| text.contains(secret.as_str()) || text.contains('\u{1b}')), "{text}");
            planted += secrets.len();
            all.push((number, text, secrets));
        }
    }
    all
}

#[test]
fn of_five_hundred_seeded_secrets_none_is_left() {
    let texts = seeded(500);
    let planted: usize = texts.iter().map(|(_, _, secrets)| secrets.len()).sum();
    assert!(planted >= 500, "{planted}");
    let mut left = Vec::new();
    for (number, text, secrets) in &texts {
        let shown = private(text);
        for secret in secrets.iter().filter(|secret| shown.to_lowercase().contains(&secret.to_lowercase())) {
            left.push(format!("form {number}: {secret}\n  {text}\n  {shown}"));
        }
    }
    assert!(left.is_empty(), "{} of {planted} left:\n{}", left.len(), left.join("\n"));
}

#[test]
fn none_is_left_in_one_document_and_the_numbers_are_consistent() {
    let texts = seeded(100);
    let document: String = texts.iter().map(|(_, text, _)| format!("{text}\n")).collect();
    let mut redactor = Redactor::new(Profile::Private);
    let shown = redactor.redact(&document).into_string();
    for (number, text, secrets) in &texts {
        for secret in secrets {
            assert!(!shown.contains(secret.as_str()), "form {number}: {secret} of {text}");
        }
    }
    assert_eq!(shown.lines().count(), document.lines().count());
    assert!(redactor.manifest().iter().map(|one| one.count).sum::<usize>() >= FORMS);
    let mut redactor = Redactor::new(Profile::Private);
    let first = redactor.redact("from 10.1.1.1 to 10.2.2.2").into_string();
    assert_eq!((first.as_str(), redactor.redact("10.2.2.2").as_str()), ("from <ip-1> to <ip-2>", "<ip-2>"));
}

#[test]
fn what_the_user_names_goes_wherever_it_stands() {
    let mut redactor = Redactor::new(Profile::Private);
    redactor.learn("Skylark", Rule::Named);
    redactor.learn("kestrel", Rule::HostName);
    redactor.learn("root", Rule::UserName);
    redactor.learn("merlin", Rule::UserName);
    assert_eq!(redactor.redact("/home/merlin/kingfisher/setup.py merlin").as_str(), "<path-1>/setup.py <user-1>");
    let shown = redactor.redact("libSkylarkCore on kestrel by root, kestrels fly").into_string();
    assert_eq!(shown, "lib<hidden-1>Core on <host-1> by root, kestrels fly");
}

#[test]
fn labelled_logs_are_recognised_after_redaction() {
    let sandbox = Sandbox::new();
    let ids = |log: &Path| -> BTreeSet<String> {
        let done = sandbox.fix(["diagnose", "--log-only", "--json", log.to_str().unwrap()]);
        let document: serde_json::Value = serde_json::from_str(&done.stdout).unwrap();
        let findings = document["findings"].as_array().unwrap().iter();
        findings.map(|found| found["id"].as_str().unwrap().to_owned()).collect()
    };
    let mut lost = Vec::new();
    let mut looked_at = 0;
    for case in cases() {
        let Ok(text) = fs::read_to_string(&case.log) else { continue };
        let before = ids(&case.log);
        if before.is_empty() {
            continue;
        }
        looked_at += 1;
        let redacted = sandbox.write("redacted.log", private(&text));
        let after = ids(&redacted);
        if before != after {
            let shown = private(&text);
            let changed: Vec<String> = text
                .lines()
                .zip(shown.lines())
                .filter(|(old, new)| old != new)
                .map(|(old, new)| format!("  {old}\n  {new}"))
                .collect();
            lost.push(format!("{}: {before:?} became {after:?}\n{}", case.log.display(), changed.join("\n")));
        }
    }
    assert!(looked_at > 100, "{looked_at}");
    assert!(lost.is_empty(), "{} of {looked_at}:\n{}", lost.len(), lost.join("\n"));
}

fn pieces() -> impl Strategy<Value = String> {
    let seeded: Vec<String> = seeded(130).into_iter().map(|(_, text, _)| text).collect();
    let piece = prop_oneof![
        prop::sample::select(seeded),
        "[/\\\\~:@.=%<>\\[\\]()\"' -]{1,4}",
        "[a-zA-Z0-9_.-]{1,10}",
        "<(user|host|ip|mac|pid|path|email|secret)-[0-9]{1,2}>",
        Just("/home/".to_owned()),
        Just("host: ".to_owned()),
        Just("pid=".to_owned()),
        any::<String>(),
    ];
    prop::collection::vec(piece, 0..8).prop_map(|pieces| pieces.concat())
}

proptest! {
    #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::with_cases(256) })]
    #[test]
    fn redacting_twice_is_redacting_once(text in pieces()) {
        let once = private(&text);
        prop_assert_eq!(private(&once), once.clone());
        prop_assert!(once.len() <= text.len() * 12 + 16);
        prop_assert_eq!(once.matches('\n').count(), text.matches('\n').count());
    }
}

#[test]
fn large_and_hostile_texts_end() {
    let pieces = [
        "/", "/home/", "a@", "10.0.0.", ":", "::1", "\\\\", "%2Fa", "https://", "user=", "host=x", "~", "\\/a",
        "<path-1>",
    ];
    for piece in pieces {
        let text = piece.repeat(200_000 / piece.len());
        assert!(private(&text).len() <= text.len() * 12, "{piece}");
    }
}
