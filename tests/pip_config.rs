//! What `fix` reads of pip's configuration is what the real pip uses, over generated files, variables and arguments.

mod support;

use std::collections::BTreeMap;
use std::ffi::OsString;
use std::fs;
use std::io::{BufRead, BufReader, Write};
use std::path::PathBuf;
use std::process::{Command, Stdio};

use build_fix::change::AbsPath;
use build_fix::evidence::LocalHost;
use build_fix::evidence::pip_config::{Origin, PipConfig};
use build_fix::os::git::GitKnowledge;
use serde_json::{Value, json};
use support::{Sandbox, tools};

/// Answers what pip would use, and in which file it says so.
const PIP: &str = r#"
import contextlib, io, json, os, sys
from pip._internal.commands import create_command
from pip._internal.configuration import Configuration
for line in sys.stdin:
    case = json.loads(line)
    os.environ.clear()
    os.environ.update(case["env"])
    name, args = case["args"][0], case["args"][1:]
    isolated = "--isolated" in args
    args = [arg for arg in args if arg != "--isolated"]
    try:
        with contextlib.redirect_stderr(io.StringIO()), contextlib.redirect_stdout(io.StringIO()):
            options, _ = create_command(name, isolated=isolated).parser.parse_args(args)
    except SystemExit:
        print("null", flush=True)
        continue
    indexes = [] if options.no_index else [options.index_url] + options.extra_index_urls
    files = [name for _, names in Configuration(isolated).iter_config_files() for name in names]
    print(json.dumps([indexes, options.trusted_hosts, options.find_links, sorted(files)]), flush=True)
"#;

/// A generator of its own, the same in every run.
struct Dice(u64);

impl Dice {
    fn roll(&mut self, sides: usize) -> usize {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        (self.0 >> 11) as usize % sides
    }

    fn pick<'a>(&mut self, from: &[&'a str]) -> &'a str {
        from[self.roll(from.len())]
    }
}

fn file(dice: &mut Dice) -> String {
    let mut text = String::new();
    for section in ["global", "install", "download", "DEFAULT", "list"] {
        if dice.roll(3) == 0 {
            continue;
        }
        text += &format!("[{section}]\n");
        for option in ["index-url", "extra-index-url", "trusted-host", "find-links", "no-index"] {
            if dice.roll(3) > 0 {
                continue;
            }
            let value = match option {
                "no-index" => dice.pick(&["yes", "no", "0", "true"]).to_owned(),
                "index-url" => format!("http://i{}", dice.roll(1000)),
                _ => match dice.roll(4) {
                    0 => String::new(),
                    1 => format!("http://x{}", dice.roll(1000)),
                    2 => format!("\n    http://y{}\n    # why\n    http://z{}", dice.roll(1000), dice.roll(1000)),
                    _ => format!("http://p{} http://q{}", dice.roll(1000), dice.roll(1000)),
                },
            };
            let option = if dice.roll(4) == 0 { option.replace('-', "_").to_uppercase() } else { option.to_owned() };
            text += &format!("{option}{}{value}\n", dice.pick(&[" = ", ":", "="]));
        }
    }
    if dice.roll(40) == 0 {
        text += "[global]\n[global]\n";
    }
    text
}

#[test]
fn the_real_pip_agrees() {
    let sandbox = Sandbox::new();
    let environment = sandbox.root().join("environment");
    let tools = tools::python_tools().join("python");
    sandbox.run(tools.to_str().unwrap(), ["-m", "venv", "--without-pip", environment.to_str().unwrap()]).expect(0);
    let python = environment.join("bin/python");
    let code = "import sysconfig; print(sysconfig.get_path('purelib'))";
    let packages =
        |python: &PathBuf| sandbox.run(python.to_str().unwrap(), ["-c", code]).expect(0).stdout.trim().to_owned();
    fs::write(PathBuf::from(packages(&python)).join("tools.pth"), packages(&tools) + "\n").unwrap();
    let mut child = Command::new(&python);
    child.args(["-u", "-c", PIP]).current_dir(sandbox.project()).env_clear();
    let mut child = child.stdin(Stdio::piped()).stdout(Stdio::piped()).spawn().unwrap();
    let mut answers = BufReader::new(child.stdout.take().unwrap());
    let mut dice = Dice(0x2545_f491_4f6c_dd1d);
    let (mut read, mut refused) = (0, 0);
    for _ in 0..600 {
        for (name, odds) in [
            ("home/.pip/pip.conf", 2),
            ("home/.config/pip/pip.conf", 2),
            ("home/xdg/pip/pip.conf", 2),
            ("dirs/a/pip/pip.conf", 3),
            ("dirs/b/pip/pip.conf", 3),
            ("environment/pip.conf", 3),
            ("project/named.conf", 2),
        ] {
            let path = sandbox.root().join(name);
            let _ = fs::remove_file(&path);
            if dice.roll(odds) == 0 {
                fs::create_dir_all(path.parent().unwrap()).unwrap();
                fs::write(&path, file(&mut dice)).unwrap();
            }
        }
        let root = sandbox.root().display().to_string();
        let mut env: BTreeMap<String, String> =
            [("HOME", format!("{root}/home")), ("PATH", "/usr/bin:/bin".into())].map(|(n, v)| (n.to_owned(), v)).into();
        let choices = [
            ("XDG_CONFIG_HOME", vec![format!("{root}/home/xdg"), " ".into()]),
            ("XDG_CONFIG_DIRS", vec![format!("{root}/dirs/a:{root}/dirs/b"), format!("{root}/dirs/b")]),
            (
                "PIP_CONFIG_FILE",
                vec!["/dev/null".into(), format!("{root}/project/named.conf"), "named.conf".into(), "/gone".into()],
            ),
            ("PIP_INDEX_URL", vec!["http://env".into(), String::new()]),
            ("PIP_EXTRA_INDEX_URL", vec!["http://env1 http://env2".into(), String::new()]),
            ("PIP_TRUSTED_HOST", vec!["a b".into()]),
            ("PIP_NO_INDEX", vec!["0".into(), "1".into()]),
        ];
        for (name, values) in choices {
            if dice.roll(4) == 0 {
                env.insert(name.to_owned(), values[dice.roll(values.len())].clone());
            }
        }
        let mut args = vec![dice.pick(&["install", "install", "download", "wheel"]).to_owned()];
        for (arg, value) in
            [("-i", "http://c"), ("--extra-index-url", "http://e"), ("--trusted-host", "t"), ("--find-links", "f")]
        {
            if dice.roll(6) == 0 {
                args.extend([arg.to_owned(), value.to_owned()]);
            }
        }
        if dice.roll(8) == 0 {
            args.push("--isolated".to_owned());
        }
        writeln!(child.stdin.as_mut().unwrap(), "{}", json!({"env": env, "args": args})).unwrap();
        let mut line = String::new();
        answers.read_line(&mut line).unwrap();
        let pip: Value = serde_json::from_str(&line).unwrap();

        let project = AbsPath::new(sandbox.project()).unwrap();
        let all = env.iter().map(|(name, value)| (OsString::from(name), OsString::from(value)));
        let host = LocalHost::new(project.clone(), all, Box::new(GitKnowledge::discover(&project)));
        let words = [python.to_str().unwrap(), "-m", "pip"].into_iter().chain(args.iter().map(String::as_str));
        let command: Vec<OsString> = words.map(OsString::from).collect();
        let own = PipConfig::read(&host, Some(&command));
        let what = format!("{env:?} {args:?}");
        let config = match own {
            Ok(config) => config,
            Err(unread) => {
                // Where an option stands twice under two spellings, older pip takes the last one.
                assert!(pip.is_null() || unread.reason.is_some(), "{what}: {unread:?}, pip: {pip}");
                refused += 1;
                continue;
            }
        };
        let list = |option: &str| config.list(option).into_iter().map(|(word, _)| word).collect::<Vec<_>>();
        let indexes: Vec<String> = config.indexes().into_iter().map(|index| index.url).collect();
        assert_eq!(
            json!([indexes, list("trusted-host"), list("find-links")]),
            json!([pip[0], pip[1], pip[2]]),
            "{what}"
        );
        let nothing = env.get("PIP_CONFIG_FILE").is_some_and(|file| file == "/dev/null");
        let relative = env.get("PIP_CONFIG_FILE").is_some_and(|file| file == "named.conf");
        if !nothing && !relative {
            let mut files: Vec<String> = config.files.iter().map(ToString::to_string).collect();
            files.sort();
            assert_eq!(json!(files), pip[3], "{what}");
        }
        // Where a file gives the value, it stands there, in that line.
        for index in config.indexes() {
            if let Some(Origin::File { path, line, .. }) = &index.origin {
                let text = fs::read_to_string(path.as_path()).unwrap();
                let from: Vec<&str> = text.lines().skip(line - 1).take(4).collect();
                assert!(from.join("\n").contains(&index.url), "{what}: {path}:{line} {}", index.url);
            }
        }
        read += 1;
    }
    drop(child.stdin.take());
    child.wait().unwrap();
    assert!(read > 400 && refused > 5, "{read} read, {refused} refused");
}
