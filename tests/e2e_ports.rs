//! A port that is really taken: the job gets another one where its command says it, or nothing is touched.

mod support;

use std::fs;
use std::os::unix::fs::PermissionsExt;

use support::story::Story;
use support::torchrun::{IN_USE, Squatter};
use support::{Done, Sandbox};

fn sandbox() -> Sandbox {
    let mut sandbox = Sandbox::new();
    sandbox.with_torchrun();
    sandbox
}

/// The port that the script was trained on.
fn trained_on(done: &Done) -> u16 {
    let all = done.all();
    let (_, rest) = all.split_once("trained on ").unwrap_or_else(|| panic!("not trained\n{all}"));
    rest.split_whitespace().next().unwrap().parse().unwrap()
}

#[test]
fn the_command_runs_with_another_port() {
    let sandbox = sandbox();
    let squatter = Squatter::take(&sandbox, 0);
    let port = squatter.port;
    for command in [
        vec!["torchrun".to_owned(), format!("--master_port={port}"), "train.py".into(), "--master_port=7".into()],
        vec!["torchrun".to_owned(), "--master-port".into(), port.to_string(), "train.py".into()],
        vec!["torchrun".to_owned(), format!("--rdzv-endpoint=127.0.0.1:{port}"), "train.py".into()],
        vec!["env".to_owned(), "A=b".into(), "torchrun".into(), format!("--master_p={port}"), "train.py".into()],
        vec!["bash".to_owned(), "-c".into(), format!("torchrun --master_port={port} train.py")],
    ] {
        let story = Story::new(&sandbox, command, format!("{IN_USE} {port}"));
        story.is_repaired("tda-1.2", &[], |done| {
            let now = trained_on(done);
            assert!((20_000..30_000).contains(&now) && now != port, "{now}");
            assert!(done.stderr.contains(&format!("port {now} is free")), "{}", done.stderr);
        });
    }
    assert_eq!(squatter.port, port);
}

#[test]
fn the_default_port_is_left() {
    let sandbox = sandbox();
    // Another test, or the machine itself, may have it: then it is taken all the same.
    let _squatter = std::net::TcpListener::bind("127.0.0.1:29500");
    let story = Story::new(&sandbox, ["torchrun", "train.py"], format!("{IN_USE} 29500"));
    story.is_repaired("tda-1.2", &[], |done| {
        assert_ne!(trained_on(done), 29500);
    });
}

#[test]
fn a_range_can_be_given() {
    let sandbox = sandbox();
    let squatter = Squatter::take(&sandbox, 0);
    let option = format!("--master_port={}", squatter.port);
    let story = Story::new(&sandbox, ["torchrun", &option, "train.py"], IN_USE);
    story.is_repaired("tda-1.2", &["--set", "ports=25000-25050"], |done| {
        assert!((25_000..=25_050).contains(&trained_on(done)));
    });
    story.fix_command(&["run", "--yes", "--set", "ports=80-90"]).expect(1).says("no port of `80-90` may be used");
}

#[test]
fn a_launch_script_is_changed_and_comes_back() {
    let sandbox = sandbox();
    let squatter = Squatter::take(&sandbox, 0);
    let port = squatter.port;
    let script = format!(
        "#!/usr/bin/env bash\nset -e\n# torchrun --master_port={port}\nPORT={port}   # of the store\ntorchrun \\\n  --nproc_per_node 1 \\\n  --master_port \"$PORT\" train.py \"$@\"\n"
    );
    let path = sandbox.write("train.sh", &script);
    fs::set_permissions(&path, fs::Permissions::from_mode(0o755)).unwrap();
    for command in [&["bash", "train.sh", "7"][..], &["./train.sh", "7"]] {
        let story = Story::new(&sandbox, command.iter().copied(), format!("{IN_USE} {port}"));
        story.is_repaired("tda-1.2", &[], |done| {
            let now = trained_on(done);
            let changed = script.replace(&format!("PORT={port}   #"), &format!("PORT={now}   #"));
            assert_eq!(fs::read_to_string(&path).unwrap(), changed);
        });
    }
}

#[test]
fn a_tracked_script_needs_a_yes_of_its_own() {
    let sandbox = sandbox();
    let squatter = Squatter::take(&sandbox, 0);
    let text = format!("torchrun --master_port={} train.py\n", squatter.port);
    let path = sandbox.write("train.sh", &text);
    let git = |args: &[&str]| {
        let settings = ["-c", "user.name=a", "-c", "user.email=a@b", "-c", "init.defaultBranch=main"];
        sandbox.run("git", settings.iter().chain(args)).expect(0)
    };
    git(&["init", "-q"]);
    git(&["add", "train.sh"]);
    git(&["commit", "-q", "-m", "project"]);
    let story = Story::new(&sandbox, ["bash", "train.sh"], IN_USE);
    story.fix_command(&["run", "--yes"]).expect(1).says("--yes=confirm");
    assert_eq!(fs::read_to_string(&path).unwrap(), text);
    story.fix_command(&["run", "--yes=confirm"]).expect(0);
    assert_ne!(fs::read_to_string(&path).unwrap(), text);
}

#[test]
fn a_variable_gets_another_value() {
    let mut sandbox = sandbox();
    let squatter = Squatter::take(&sandbox, 0);
    sandbox.write("train.sh", "torchrun --master_port=${MASTER_PORT:-29501} train.py\n");
    sandbox.set("MASTER_PORT", squatter.port.to_string());
    let story = Story::new(&sandbox, ["bash", "train.sh"], IN_USE);
    story.is_repaired("tda-1.2", &[], |done| {
        let now = trained_on(done);
        assert!(done.stderr.contains(&format!("export MASTER_PORT={now}")), "{}", done.stderr);
    });
}

#[test]
fn what_cannot_be_changed_here_is_left_alone() {
    let sandbox = sandbox();
    let squatter = Squatter::take(&sandbox, 0);
    let port = squatter.port.to_string();
    let option = format!("--master_port={port}");
    // All nodes must agree.
    let several = ["torchrun", "--nnodes=2", &option, "train.py"];
    Story::new(&sandbox, several, IN_USE).is_left_alone(&[]).says("all nodes of the job must agree");
    // Nobody can tell which port the script takes.
    sandbox.write("train.sh", format!("ports=(1 {port})\ntorchrun --master_port=${{ports[1]}} train.py\n"));
    Story::new(&sandbox, ["bash", "train.sh"], IN_USE).is_left_alone(&[]);
    // A log of another port.
    let said = format!(
        "raise SystemExit('torch.distributed.DistNetworkError: {IN_USE} {port}, useIpv6: false, code: -98, name: EADDRINUSE')"
    );
    sandbox.write("odd.py", said);
    let other = Squatter::take(&sandbox, 0);
    drop(other);
    Story::new(&sandbox, ["torchrun", "--master_port=28999", "odd.py"], IN_USE).is_left_alone(&[]);
}

#[test]
fn a_form_that_hangs_is_rewritten_before_it_runs() {
    let sandbox = sandbox();
    let squatter = Squatter::take(&sandbox, 0);
    let endpoint = format!("--rdzv-endpoint=localhost:{}", squatter.port);
    for command in
        [&["torchrun", "--rdzv-backend=c10d", &endpoint, "train.py"][..], &["torchrun", "--master_port=0", "train.py"]]
    {
        let mut args = vec!["tda-1.2", "--yes", "--"];
        args.extend(command);
        let now = trained_on(&sandbox.fix(args).expect(0));
        assert!((20_000..30_000).contains(&now));
    }
}

#[test]
fn an_earlier_run_of_the_command_is_named() {
    let sandbox = sandbox();
    let free = Squatter::take(&sandbox, 0).port.to_string();
    sandbox.write("long.py", "import time\nprint('at work', flush=True)\ntime.sleep(3600)\n");
    let command = ["torchrun", "--master_port", &free, "long.py"];
    let mut earlier =
        sandbox.command("torchrun").args(&command[1..]).stdout(std::process::Stdio::piped()).spawn().unwrap();
    let mut line = String::new();
    std::io::BufRead::read_line(&mut std::io::BufReader::new(earlier.stdout.take().unwrap()), &mut line).unwrap();
    assert_eq!(line, "at work\n");
    let mut args = vec!["tda-1.2", "-n", "--"];
    args.extend(command);
    let pid = earlier.id();
    sandbox.fix(args).expect(1).says(&format!("`kill {pid}`")).says("an earlier run of the same command");
    earlier.kill().unwrap();
    earlier.wait().unwrap();
}

#[test]
fn a_plan_is_stale_when_its_port_is_taken() {
    let sandbox = sandbox();
    let squatter = Squatter::take(&sandbox, 0);
    let option = format!("--master_port={}", squatter.port);
    let plan = sandbox.root().join("plan.json");
    let plan = plan.to_str().unwrap();
    sandbox.fix(["plan", "tda-1.2", "-o", plan, "--", "torchrun", &option, "train.py"]).expect(0);
    let text = fs::read_to_string(plan).unwrap();
    let (_, rest) = text.split_once("port ").and_then(|_| text.split_once("again before that: port ")).unwrap();
    let wanted: u16 = rest.split(' ').next().unwrap().parse().unwrap();
    let taken = Squatter::take(&sandbox, wanted);
    sandbox.fix(["apply", "--plan", plan]).expect(1).says("refusing the reviewed plan");
    drop(taken);
    let done = sandbox.fix(["apply", "--plan", plan, "--yes"]).expect(0);
    assert_eq!(trained_on(&done), wanted);
}

#[test]
fn an_earlier_run_is_ended_only_by_name() {
    let sandbox = sandbox();
    let free = Squatter::take(&sandbox, 0).port.to_string();
    sandbox.write(
        "long.py",
        "import sys, time\nprint('at work', flush=True)\ntime.sleep(3600 if len(sys.argv) < 2 else 0)\n",
    );
    let command = ["torchrun", "--master_port", &free, "long.py"];
    let mut earlier =
        sandbox.command("torchrun").args(&command[1..]).stdout(std::process::Stdio::piped()).spawn().unwrap();
    let mut line = String::new();
    std::io::BufRead::read_line(&mut std::io::BufReader::new(earlier.stdout.take().unwrap()), &mut line).unwrap();
    let fix = |flags: &[&str]| {
        let mut args = vec!["tda-1.2", "--set", "how=end"];
        args.extend(flags);
        args.push("--");
        args.extend(command);
        sandbox.fix(args)
    };
    for flags in [&["--yes"][..], &["--yes=confirm"], &["--yes=confirm", "--allow-irreversible"]] {
        fix(flags).expect(1).says("cannot be taken back");
        assert!(earlier.try_wait().unwrap().is_none(), "{flags:?}");
    }
    // Another start time is another process.
    let pid = earlier.id().to_string();
    sandbox.fix(["end-process", &pid, "1"]).expect(2).says("another one has its number");
    assert!(earlier.try_wait().unwrap().is_none());
    let args = ["tda-1.2", "--set", "how=end", "--yes=confirm", "--allow-irreversible=tda-1.2"];
    // The command would go on for an hour: without it, the checks are the proof.
    let mut again: Vec<&str> = args.to_vec();
    again.extend(["--rerun-timeout", "1", "--"]);
    again.extend(command);
    sandbox.fix(again);
    support::waiting::wait_for_end(&mut earlier);
}

#[test]
fn a_port_of_the_host_that_hccl_wants_is_left() {
    let mut sandbox = sandbox();
    let squatter = Squatter::take(&sandbox, 0);
    // HCCL's part of it: it listens where the variable says, and says so in CANN's words.
    let script = r#"import os, socket, sys
port = int(os.environ.get("HCCL_IF_BASE_PORT", "60000"))
try:
    socket.create_server(("127.0.0.1", port))
except OSError:
    sys.exit("Communication_Error_Bind_IP_Port(EI0019): Failed to enable listening for the host network adapter socket."
             f"Reason: The IP address 127.0.0.1 and port {port} have already been bound.")
print("trained on", port)
"#;
    sandbox.write("train.py", script);
    sandbox.set("HCCL_IF_BASE_PORT", squatter.port.to_string());
    let free = Squatter::take(&sandbox, 0).port;
    let command = ["torchrun".to_owned(), format!("--master_port={free}"), "train.py".into()];
    let story = Story::new(&sandbox, command, "Failed to enable listening for the host network adapter socket");
    story.fails();
    // The ranks on other machines need the same port: that is for a person to know.
    story.fix_command(&["run", "--yes"]).expect(1).says("--yes=confirm");
    let done = story.fix_command(&["run", "--yes=confirm"]).expect(0).says("hccl-host-port-in-use");
    let now = trained_on(&done);
    assert!((20_000..30_000).contains(&now) && now.is_multiple_of(32), "{now}");
    assert!(done.stderr.contains(&format!("export HCCL_IF_BASE_PORT={now}")), "{}", done.stderr);
    // The environment alone was changed, for that run: the next one fails as before.
    story.fails();
    let again = story.fix_command(&["run", "--yes=confirm"]).expect(0);
    assert_eq!(trained_on(&again), now);
}
