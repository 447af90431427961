//! Commands of many forms, each with what becomes of it when its port is taken.

use super::*;
use crate::evidence::LocalHost;
use crate::evidence::questions::testing::NoGit;

struct Folder {
    folder: tempfile::TempDir,
    env: Vec<(OsString, OsString)>,
}

impl Folder {
    fn new(env: &[(&str, &str)]) -> Self {
        let env = env.iter().map(|(name, value)| (OsString::from(name), OsString::from(value))).collect();
        Self { folder: tempfile::tempdir().unwrap(), env }
    }

    fn write(&self, name: &str, text: &str) {
        std::fs::write(self.folder.path().join(name), text).unwrap();
    }

    /// The command with 20001 for its port, or why it has none.
    fn told(&self, line: &str) -> String {
        let root = AbsPath::new(self.folder.path().canonicalize().unwrap()).unwrap();
        let host = LocalHost::new(root.clone(), self.env.clone(), Box::new(NoGit));
        let command: Vec<OsString> = shell_words::split(line).unwrap().into_iter().map(OsString::from).collect();
        let all = match find(&command, &host) {
            Launches::Found(all) => all,
            Launches::Stuck(stuck) => return format!("{stuck:?}"),
            Launches::None => return "none".into(),
        };
        let Some(done) = rewrite(&command, all[0].port, 20001, &host) else { return "cannot".into() };
        let mut told = vec![all[0].port.to_string()];
        if let Some(argv) = done.argv {
            let words: Vec<String> = argv.into_iter().map(|word| word.into_string().unwrap()).collect();
            told.push(shell_words::join(words));
        }
        told.extend(done.variables.iter().map(|name| format!("env {name}")));
        told.extend(
            done.scripts
                .into_iter()
                .map(|(path, _, new)| format!("{}: {new}", path.as_path().strip_prefix(&root).unwrap().display())),
        );
        told.join(" | ")
    }
}

#[test]
fn commands() {
    let folder = Folder::new(&[]);
    for (line, want) in [
        ("torchrun --nproc-per-node=2 x.py", "29500 | torchrun '--master_port=20001' '--nproc-per-node=2' x.py"),
        ("torchrun x.py --master_port=5", "29500 | torchrun '--master_port=20001' x.py '--master_port=5'"),
        ("torchrun --master_port=29500 x.py", "29500 | torchrun '--master_port=20001' x.py"),
        ("torchrun --master-port 29501 x.py", "29501 | torchrun --master-port 20001 x.py"),
        ("torchrun --master_p=7000 x.py", "7000 | torchrun '--master_p=20001' x.py"),
        (
            "torchrun --master_port=1 --master_port=29500 x.py",
            "29500 | torchrun '--master_port=1' '--master_port=20001' x.py",
        ),
        (
            "/opt/bin/torchrun --rdzv-endpoint=127.0.0.1:29500 --master_port=20658 x.py",
            "29500 | /opt/bin/torchrun '--rdzv-endpoint=127.0.0.1:20001' '--master_port=20658' x.py",
        ),
        ("torchrun --rdzv_endpoint [::1]:29500 x.py", "29500 | torchrun --rdzv_endpoint '[::1]:20001' x.py"),
        (
            "torchrun --rdzv-backend=c10d --rdzv-endpoint=localhost x.py",
            "29400 | torchrun '--rdzv-backend=c10d' '--rdzv-endpoint=localhost:20001' x.py",
        ),
        (
            "torchrun --rdzv-backend=c10d x.py",
            "29400 | torchrun '--rdzv-endpoint=localhost:20001' '--rdzv-backend=c10d' x.py",
        ),
        ("torchrun --rdzv-backend=c10d --rdzv-endpoint=localhost:0 x.py", "TakesAnyPort"),
        ("torchrun --standalone --master_port=29500 x.py", "TakesAnyPort"),
        ("torchrun --master_port=0 x.py", "0 | torchrun '--master_port=20001' x.py"),
        ("torchrun --nnodes=2 --node-rank=0 x.py", "SeveralNodes"),
        ("torchrun --nnodes=1:4 x.py", "SeveralNodes"),
        ("torchrun --nnodes 1 x.py", "29500 | torchrun '--master_port=20001' --nnodes 1 x.py"),
        ("torchrun --rdzv-backend=etcd x.py", "Unclear"),
        ("torchrun --new-option x.py", "Unclear"),
        (
            "python3 -u -m torch.distributed.run --nproc-per-node=2 x.py",
            "29500 | python3 -u -m torch.distributed.run '--master_port=20001' '--nproc-per-node=2' x.py",
        ),
        (
            "python -m torch.distributed.launch --master_port=9000 x.py",
            "9000 | python -m torch.distributed.launch '--master_port=20001' x.py",
        ),
        ("env A=1 nohup torchrun x.py", "29500 | env 'A=1' nohup torchrun '--master_port=20001' x.py"),
        ("env PET_MASTER_PORT=5 torchrun x.py", "Unclear"),
        (
            "env MASTER_PORT=29500 WORLD_SIZE=1 RANK=0 python x.py",
            "29500 | env 'MASTER_PORT=20001' 'WORLD_SIZE=1' 'RANK=0' python x.py",
        ),
        ("env MASTER_PORT=29500 WORLD_SIZE=2 RANK=0 python x.py", "SeveralNodes"),
        ("python x.py", "none"),
        ("torchrunner x.py", "none"),
        ("make test", "none"),
        ("bash -c 'cd a && torchrun x.py'", "29500 | bash -c 'cd a && torchrun --master_port=20001 x.py'"),
        ("bash -lc 'torchrun --master_port=${P:-29500} x.py'", "29500 | env P"),
        ("bash -c 'torchrun x.py & torchrun y.py'", "Unclear"),
    ] {
        assert_eq!(folder.told(line), want, "{line}");
    }
}

#[test]
fn the_environment_decides() {
    for (env, line, want) in [
        (&[("MASTER_PORT", "29500"), ("WORLD_SIZE", "1")][..], "python x.py", "29500 | env MASTER_PORT"),
        (&[("MASTER_PORT", "29500"), ("WORLD_SIZE", "4")], "python x.py", "SeveralNodes"),
        (&[("MASTER_PORT", "29500")], "python x.py", "SeveralNodes"),
        // torchrun does not look at it.
        (&[("MASTER_PORT", "5000")], "torchrun x.py", "29500 | torchrun '--master_port=20001' x.py"),
        (&[("PET_RDZV_ENDPOINT", "h:1")], "torchrun x.py", "Unclear"),
        (&[("MASTER_PORT", "5000")], "bash -c 'torchrun --master_port=$MASTER_PORT x.py'", "5000 | env MASTER_PORT"),
    ] {
        assert_eq!(Folder::new(env).told(line), want, "{line}");
    }
}

#[test]
fn scripts() {
    let cases = [
        (
            "torchrun --nproc_per_node 8 \\\n  train.py # torchrun\n",
            "29500 | t.sh: torchrun --master_port=20001 --nproc_per_node 8 \\\n  train.py # torchrun\n",
        ),
        (
            "# torchrun --master_port=1\ncat <<E\ntorchrun x\nE\ntorchrun --master_port='29500' x.py \"$@\"\n",
            "29500 | t.sh: # torchrun --master_port=1\ncat <<E\ntorchrun x\nE\ntorchrun --master_port='20001' x.py \"$@\"\n",
        ),
        (
            "export MASTER_PORT=29501\ntorchrun --master_port $MASTER_PORT x.py\n",
            "29501 | t.sh: export MASTER_PORT=20001\ntorchrun --master_port $MASTER_PORT x.py\n",
        ),
        ("PORT=${PORT:-29501}\ntorchrun --master_port \"$PORT\" x.py\n", "29501 | env PORT"),
        ("P=1\nP=2\ntorchrun --master_port $P x.py\n", "Unclear"),
        ("torchrun --master_port $(shuf -n1 -i 1-9) x.py\n", "Unclear"),
        (
            "torchrun --rdzv_endpoint=127.0.0.1:23456 a.py\ntorchrun --rdzv_endpoint=127.0.0.1:23456 b.py\n",
            "23456 | t.sh: torchrun --rdzv_endpoint=127.0.0.1:20001 a.py\ntorchrun --rdzv_endpoint=127.0.0.1:20001 b.py\n",
        ),
        (
            "ARGS=\"--nproc_per_node 8 --master_port 6000\"\ntorchrun $ARGS x.py\n",
            "6000 | t.sh: ARGS=\"--nproc_per_node 8 --master_port 20001\"\ntorchrun $ARGS x.py\n",
        ),
        (
            "NNODES=1\nMASTER_PORT=6000\nARGS=(\n --nnodes $NNODES\n --master_port $MASTER_PORT\n)\ntorchrun ${ARGS[@]} x.py\n",
            "6000 | t.sh: NNODES=1\nMASTER_PORT=20001\nARGS=(\n --nnodes $NNODES\n --master_port $MASTER_PORT\n)\ntorchrun ${ARGS[@]} x.py\n",
        ),
        ("NNODES=2\nARGS=\"--nnodes $NNODES --master_port 6000\"\ntorchrun $ARGS x.py\n", "Unclear"),
        ("torchrun $ARGS x.py\n", "Unclear"),
        ("NNODES=2\ntorchrun --nnodes=$NNODES x.py\n", "SeveralNodes"),
        ("torchrun --nnodes=$NNODES x.py\n", "Unclear"),
        ("run() {\n  torchrun x.py\n}\nrun\n", "29500 | t.sh: run() {\n  torchrun --master_port=20001 x.py\n}\nrun\n"),
        ("echo 'torchrun x.py'\n", "none"),
        ("torchrun x.py '\n", "Unclear"),
        ("torchrun x.py &\nwait\n", "Unclear"),
    ];
    for (script, want) in cases {
        let folder = Folder::new(&[]);
        folder.write("t.sh", script);
        for line in ["bash t.sh", "bash -e -o pipefail t.sh 8"] {
            assert_eq!(folder.told(line), want, "{line}: {script}");
        }
    }
}

#[test]
fn scripts_that_call_scripts() {
    let folder = Folder::new(&[]);
    folder.write("a.sh", "#!/usr/bin/env bash\nset -e\nbash b.sh\n");
    folder.write("b.sh", "torchrun x.py\n");
    assert_eq!(folder.told("./a.sh"), "29500 | b.sh: torchrun --master_port=20001 x.py\n");
    folder.write("a.sh", "cd x\nbash b.sh\n");
    assert_eq!(folder.told("bash a.sh"), "Unclear");
    folder.write("a.sh", "bash a.sh\n");
    assert_eq!(folder.told("bash a.sh"), "Unclear");
}
