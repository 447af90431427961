//! Tests of the questions about conda's channels.

use std::collections::BTreeMap;
use std::ffi::OsString;

use super::*;
use crate::evidence::questions::testing::NoGit;
use crate::evidence::{LocalHost, Network};
use crate::os::AbsPath;

const DEAD: &str = "https://m.example/pkgs/r";

/// A home with files, and a project beside it.
struct Place {
    folder: tempfile::TempDir,
    env: Vec<(OsString, OsString)>,
}

impl Place {
    fn new(files: &[(&str, &[u8])]) -> Self {
        let folder = tempfile::tempdir().unwrap();
        for (name, bytes) in files {
            let path = folder.path().join(name);
            std::fs::create_dir_all(path.parent().unwrap()).unwrap();
            std::fs::write(path, bytes).unwrap();
        }
        std::fs::create_dir_all(folder.path().join("home")).unwrap();
        std::fs::create_dir_all(folder.path().join("project")).unwrap();
        let env = vec![("HOME".into(), folder.path().join("home").into())];
        Self { folder, env }
    }

    fn set(mut self, name: &str, value: &str) -> Self {
        let value = value.replace("@ROOT@", self.folder.path().to_str().unwrap());
        self.env.push((name.into(), value.into()));
        self
    }

    fn ask(&self, question: fn(&Inquiry<'_>) -> Answer, command: &str) -> Answer {
        let project = AbsPath::new(self.folder.path().join("project")).unwrap();
        let host = LocalHost::new(project, self.env.clone(), Box::new(NoGit)).with_network(Network::Allowed);
        let args = BTreeMap::from([("url".to_owned(), Value::from(DEAD)), ("name".to_owned(), Value::from("pkgs/r"))]);
        let command: Vec<OsString> = command.split_whitespace().map(OsString::from).collect();
        question(&Inquiry { args: &args, host: &host, command: (!command.is_empty()).then_some(&command) })
    }
}

#[test]
fn says_where_it_stands() {
    let both = "channels: [https://m.example/pkgs/r/, other]\n";
    type Case<'a> = (&'a [(&'a str, &'a [u8])], &'a [(&'a str, &'a str)], &'a str, &'a str, &'a str);
    let cases: &[Case<'_>] = &[
        (&[("home/.condarc", both.as_bytes())], &[], "conda install x", "file", ".condarc`:1 (channels)"),
        (&[("home/.conda/condarc.d/a.yml", both.as_bytes())], &[], "", "file", "a.yml`:1 (channels)"),
        (&[("home/.mambarc", both.as_bytes())], &[], "micromamba install x", "file", ".mambarc`:1"),
        (&[("home/.mambarc", both.as_bytes())], &[], "conda install x", "nowhere", "names it"),
        (
            &[("root/.condarc", both.as_bytes())],
            &[("CONDA_EXE", "@ROOT@/root/bin/conda")],
            "",
            "file",
            "root/.condarc`:1",
        ),
        (&[("x.txt", both.as_bytes())], &[("CONDARC", "@ROOT@/x.txt")], "", "nowhere", "names it"),
        (&[("x.yml", both.as_bytes())], &[("CONDARC", "@ROOT@/x.yml")], "", "file", "x.yml`:1"),
        (&[], &[("CONDA_CHANNELS", "a, http://m.example/pkgs/r")], "", "environment_variable", "CONDA_CHANNELS"),
        (&[("home/.condarc", b"channels: [https://u:word@m.example/t/tk-1/pkgs/r, a]\n")], &[], "", "file", ":1"),
        (&[("home/.condarc", both.as_bytes())], &[], "conda install -c https://m.example/pkgs/r x", "in_command", "-c"),
        (&[("home/.condarc", both.as_bytes())], &[], "conda install --override-channels -c a x", "nowhere", "names it"),
        (&[("home/.condarc", b"channels: [https://m.example/pkgs/r]\n")], &[], "", "only_channel", ".condarc`:1"),
        (
            &[("home/.condarc", b"channel_alias: https://m.example/pkgs\nchannels: [r, a]\n")],
            &[],
            "",
            "file",
            ":2 (channels)",
        ),
        (
            &[("home/.condarc", b"channels: [defaults]\ndefault_channels:\n  - https://m.example/pkgs/r\n  - x\n")],
            &[],
            "",
            "file",
            ":3 (default_channels)",
        ),
        // A list in a weaker file that is final hides the stronger one's.
        (
            &[("root/.condarc", b"channels:  #!final\n  - a\n"), ("home/.condarc", both.as_bytes())],
            &[("CONDA_ROOT", "@ROOT@/root")],
            "",
            "nowhere",
            "names it",
        ),
        (
            &[("home/.condarc", b"channels: [grp, a]\ncustom_multichannels:\n  grp: [https://m.example/pkgs/r]\n")],
            &[],
            "",
            "uneditable",
            "nothing would be left",
        ),
        (&[("project/environment.yml", both.as_bytes())], &[], "conda env create", "file", "environment.yml`:1"),
        (&[("project/environment.yml", both.as_bytes())], &[], "conda install x", "nowhere", "names it"),
        (&[("project/dev.yml", both.as_bytes())], &[], "conda env update -f dev.yml", "file", "dev.yml`:1"),
        (&[("home/.condarc", both.as_bytes())], &[], "rattler-build build", UNKNOWN, "does not read"),
        (&[("home/.condarc", both.as_bytes())], &[], "pixi install", "nowhere", "names it"),
        (&[("home/.condarc", both.as_bytes())], &[], "micromamba install --no-rc x", "nowhere", "names it"),
        (&[("home/.condarc", both.as_bytes())], &[], "micromamba install --no-env x", UNKNOWN, "of its own"),
        (&[("project/lab.yml", both.as_bytes())], &[], "micromamba install --rc-file lab.yml", "file", "lab.yml`:1"),
        (&[("home/.condarc", both.as_bytes())], &[], "micromamba install --rc-file=lab.yml x", UNKNOWN, "of its own"),
        (&[("project/env/.condarc", both.as_bytes())], &[], "mamba install -p env x", "file", "env/.condarc`:1"),
        (&[("project/env/.condarc", both.as_bytes())], &[], "conda install -p env x", "nowhere", "names it"),
        (
            &[("root/envs/lab/.mambarc", both.as_bytes())],
            &[("MAMBA_ROOT_PREFIX", "@ROOT@/root")],
            "micromamba install -n lab x",
            "file",
            "lab/.mambarc`:1",
        ),
        (&[("home/.condarc", b"channels: [a\n")], &[], "", UNKNOWN, "this is no YAML"),
    ];
    for (files, env, command, word, seen) in cases {
        let place = env.iter().fold(Place::new(files), |place, (name, value)| place.set(name, value));
        let answer = place.ask(conda_channel, command);
        assert_eq!(answer.word, *word, "{files:?} {command}: {}", answer.seen.en);
        assert!(answer.seen.en.contains(seen), "{}", answer.seen.en);
        let told = format!("{answer:?}");
        assert!(!told.contains("word@") && !told.contains("tk-1"), "{told}");
    }
}

#[test]
fn says_where_it_stands_for_pixi() {
    let dead = "https://m.example/pkgs/r";
    let of = |text: &str| text.replace("DEAD", dead);
    for (name, text, command, word, seen) in [
        (
            "project/pixi.toml",
            "[workspace]\nchannels = ['DEAD', 'a']\n",
            "pixi install",
            "file",
            ":2 (workspace.channels)",
        ),
        (
            "project/pixi.toml",
            "[project]\nchannels = ['a', {channel='DEAD'}]\n",
            "pixi add x",
            "file",
            ":2 (project.channels",
        ),
        ("pixi.toml", "[project]\nchannels = ['a', 'DEAD/noarch']\n", "pixi run b", "file", ":2 (project.channels)"),
        ("project/pixi.toml", "[project]\nchannels = ['a', 'DEAD']\n", "make", "file", ":2 (project.channels)"),
        ("project/pixi.toml", "[project]\nchannels = ['a', 'DEAD']\n", "conda install x", "nowhere", "names it"),
        ("project/pixi.toml", "[project]\nchannels = ['a', 'DEAD']\n", "pixi global install x", "nowhere", "names it"),
        ("project/pixi.toml", "[project]\nchannels = ['DEAD', 'DEAD/']\n", "pixi install", "only_channel", ":2"),
        ("project/pixi.toml", "[project]\nchannels = 'DEAD'\n", "pixi install", "nowhere", "names it"),
        (
            "project/pyproject.toml",
            "[tool.pixi.workspace]\nchannels = ['a']\n[tool.pixi.feature.t]\nchannels = ['DEAD']\n",
            "pixi install",
            "file",
            "(tool.pixi.feature.t.channels)",
        ),
        (
            "project/pixi.toml",
            "[workspace]\nchannels = ['a']\n[feature]\nt = { channels = ['DEAD'] }\n",
            "pixi install",
            "uneditable",
            ":4 names it and cannot be edited",
        ),
        (
            "project/pixi.toml",
            "[workspace]\nchannels = ['a', 'DEAD']\n[dependencies]\nx = { channel = 'DEAD' }\n",
            "pixi install",
            "uneditable",
            ":4 wants a dependency",
        ),
        (
            "home/.config/pixi/config.toml",
            "[mirrors]\n'https://conda.anaconda.org/r' = ['DEAD']\n",
            "pixi exec x -c y",
            "only_channel",
            ":2",
        ),
        (
            "home/.config/pixi/config.toml",
            "default-channels = ['a', 'DEAD']\n",
            "pixi init",
            "file",
            "(default-channels)",
        ),
        ("home/.config/pixi/config.toml", "default-channels = ['a', 'DEAD']\n", "pixi install", "nowhere", "names it"),
        (
            "home/.pixi/manifests/pixi-global.toml",
            "[envs.x]\nchannels = ['a', 'DEAD']\n",
            "pixi global sync",
            "file",
            "(envs.x.channels)",
        ),
        (
            "project/lab/pixi.toml",
            "[project]\nchannels = ['a', 'DEAD']\n",
            "pixi install -m lab",
            "file",
            "lab/pixi.toml`:2",
        ),
        ("project/pixi.toml", "[project]\nchannels = ['a', 'DEAD']\nx = \n", "pixi install", "uneditable", "not TOML"),
        (
            "project/pixi.toml",
            "[project]\nchannels = ['a', 'DEAD']\n# \u{1}\n",
            "pixi install",
            "uneditable",
            "not TOML",
        ),
        ("project/pixi.toml", "[project]\nchannels = ['a']\nchannels = ['DEAD']\n", "pixi install", "uneditable", ":3"),
        ("project/pixi.toml", "[project]\nchannels = ['a']\n", "pixi exec -c DEAD x", "command_line", "-c"),
        ("project/pixi.toml", "[project]\nchannels = ['a']\n", "pixi exec x -c DEAD", "nowhere", "names it"),
    ] {
        // A project without its own manifest has those above it.
        let answer = Place::new(&[(name, of(text).as_bytes())]).ask(conda_channel, &of(command));
        assert_eq!(answer.word, word, "{text} {command}: {}", answer.seen.en);
        assert!(answer.seen.en.contains(seen), "{text} {command}: {}", answer.seen.en);
    }
    let long = of(&format!("[project]\nchannels = ['a', 'DEAD']\nx = '{}'\n", "y".repeat(5 << 20)));
    let answer = Place::new(&[("project/pixi.toml", long.as_bytes())]).ask(conda_channel, "pixi install");
    assert_eq!(answer.word, UNKNOWN, "{}", answer.seen.en);
}

#[test]
fn a_hostile_file_that_names_it_is_for_the_user_to_edit() {
    let long = format!("channels: [https://m.example/pkgs/r, a]\nx: {}\n", "y".repeat(1 << 20));
    let cases: &[(&[u8], &str)] = &[
        (b"channels: https://m.example/pkgs/r\n", "no list"),
        (b"channels:\n  - a\n\t- https://m.example/pkgs/r\n", "a tab indents"),
        (b"channels:\n  - &x https://m.example/pkgs/r\n  - a\n", "anchor"),
        (b"x: &x [https://m.example/pkgs/r]\nchannels: *x\n", "anchor"),
        (b"x: &x {channels: [https://m.example/pkgs/r]}\n<<: *x\n", "merge key"),
        (b"channels: !!python/tuple [https://m.example/pkgs/r, a]\n", "tag"),
        (b"channels: [a]\nchannels: [https://m.example/pkgs/r]\n", "twice"),
        (b"channels: [https://m.example/pkgs/r, a]\n# \xff\n", "UTF-8"),
        (b"channels: [https://m.example/pkgs/r, a]\n---\nx: 1\n", "several documents"),
    ];
    for (bytes, why) in cases {
        let answer = Place::new(&[("home/.condarc", bytes)]).ask(conda_channel, "");
        let text = String::from_utf8_lossy(bytes);
        assert_eq!(answer.word, "uneditable", "{text}: {}", answer.seen.en);
        assert!(answer.seen.en.contains(why), "{text}: {}", answer.seen.en);
    }
    // What is not read at all cannot be said to name it.
    let answer = Place::new(&[("home/.condarc", long.as_bytes())]).ask(conda_channel, "");
    assert_eq!(answer.word, UNKNOWN, "{}", answer.seen.en);
}

#[test]
fn what_conda_would_ask_in_its_own_way_is_not_asked() {
    let plain: &[u8] = b"channels: [https://m.example/pkgs/r, a]\n";
    type Case<'a> = (&'a [(&'a str, &'a [u8])], &'a str);
    let cases: &[Case<'_>] = &[
        (&[("home/.condarc", b"channels: [https://u:p@m.example/pkgs/r, a]\n")], "private"),
        (&[("home/.condarc", b"channels: [https://m.example/t/tk-1/pkgs/r, a]\n")], "private"),
        (&[("home/.condarc", plain), ("home/.netrc", b"machine m.example login u password p\n")], "private"),
        (&[("home/.condarc", plain), ("home/.continuum/anaconda-client/tokens/x.token", b"t")], "private"),
        (&[("home/.condarc", b"channels: [https://m.example/pkgs/r, a]\nproxy_servers: {http: p}\n")], "private"),
        (&[("home/.condarc", b"channels: [a]\n")], UNKNOWN),
        (&[], UNKNOWN),
    ];
    for (files, word) in cases {
        let answer = Place::new(files).ask(conda_channel_online, "");
        assert_eq!(answer.word, *word, "{files:?}: {}", answer.seen.en);
        assert!(!answer.values.contains_key("asked"));
    }
}
