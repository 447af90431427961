//! Ports that are really taken.

use std::collections::BTreeMap;
use std::net::TcpListener;

use super::*;
use crate::evidence::LocalHost;
use crate::evidence::questions::testing::NoGit;
use crate::os::AbsPath;
use crate::recipe::Value;

fn ask(question: &str, args: &[(&str, &str)], command: &str, env: &[(&str, &str)]) -> Answer {
    let args: BTreeMap<String, Value> =
        args.iter().map(|(name, value)| ((*name).to_owned(), Value::Text((*value).to_owned()))).collect();
    let env = env.iter().map(|(name, value)| (OsString::from(name), OsString::from(value)));
    let host = LocalHost::new(AbsPath::new("/").unwrap(), env, Box::new(NoGit));
    let command: Vec<OsString> = shell_words::split(command).unwrap().into_iter().map(OsString::from).collect();
    let question = QUESTIONS.iter().find(|one| one.name == question).unwrap();
    (question.ask)(&Inquiry { args: &args, host: &host, command: (!command.is_empty()).then_some(&command) })
}

#[test]
fn launches() {
    for (ports, command, want) in [
        ("", "torchrun x.py", "default"),
        ("29500", "torchrun x.py", "default"),
        ("29501", "torchrun x.py", "another_port"),
        ("29501", "torchrun --master_port=29501 x.py", "given"),
        ("", "torchrun --master_port=0 x.py", "port_zero"),
        ("", "torchrun --nnodes=2 x.py", "several_nodes"),
        ("", "torchrun --standalone x.py", "takes_any_port"),
        ("", "torchrun --odd x.py", "unclear"),
        ("", "make", "none"),
        ("", "", UNKNOWN),
    ] {
        assert_eq!(ask("torch_launch", &[("ports", ports)], command, &[]).word, want, "{command}");
    }
}

#[test]
fn holders() {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let port = listener.local_addr().unwrap().port().to_string();
    let held = ask("port_holder", &[("port", &port)], "torchrun x.py", &[]);
    assert_eq!(held.word, "own");
    assert_eq!(held.values["pid"].to_text(), std::process::id().to_string());
    drop(listener);
    assert_eq!(ask("port_holder", &[("port", &port)], "", &[]).word, "free");
    assert_eq!(ask("port_holder", &[("port", "0")], "", &[]).word, UNKNOWN);
}

#[test]
fn free_ports() {
    let port = |range: &str, env: &[(&str, &str)]| {
        let answer = ask("free_port", &[("range", range)], "", env);
        answer.values.get("port").map_or(answer.word.to_owned(), Value::to_text)
    };
    let first: u16 = port("", &[]).parse().unwrap();
    assert!((20000..=29999).contains(&first));
    let listener = TcpListener::bind(("127.0.0.1", first)).unwrap();
    let second = port("", &[]);
    assert_ne!(second, first.to_string());
    assert_eq!(port(&format!("{first}-{first}"), &[]), "none");
    drop(listener);
    assert_eq!(port(&format!("{first}-{first}"), &[]), first.to_string());
    assert_eq!(port(&format!("{first}-{first}"), &[("HCCL_HOST_SOCKET_PORT_RANGE", &first.to_string())]), "none");
    assert_eq!(port("29500-29500", &[]), "none");
    assert_eq!(port("1-2", &[]), "bad_range");
}
