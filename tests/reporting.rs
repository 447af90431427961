//! `fix report`, `fix completions`, `fix man` and the help, as a user meets them.

mod support;

use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::process::Stdio;

use support::Sandbox;

const LOG: &str = "[rank3]: File \"/home/quorvix/skylark/train.py\", line 3\n\
    ConnectionError: cannot connect to (trainer-17.corp.lan, 29500) from 10.2.3.4\n\
    RuntimeError: bad input of shape (4, 128), dtype torch.bfloat16, world_size: 8, token=hunter2hunter2\n\
    ERROR: build failed in /data/skylark/build by quorvix\n";

const PRIVATE: &[&str] = &["quorvix", "skylark", "trainer-17", "corp.lan", "10.2.3.4", "hunter2"];

#[test]
fn a_report_holds_what_is_asked_for_and_nothing_private() {
    let mut sandbox = Sandbox::new();
    sandbox.set("USER", "kazumba");
    sandbox.write("build.log", LOG);
    let info = sandbox.home().join("venv/lib/python3.11/site-packages/torch_npu-2.1.0.post3.dist-info");
    fs::create_dir_all(&info).unwrap();
    fs::create_dir_all(sandbox.home().join("venv/bin")).unwrap();
    support::moved::executable(&sandbox.home().join("venv/bin/python3.11"), "#!/bin/sh\n");
    std::os::unix::fs::symlink("python3.11", sandbox.home().join("venv/bin/python")).unwrap();
    fs::write(sandbox.home().join("venv/pyvenv.cfg"), "home = /usr/bin\nversion = 3.11.9\n").unwrap();
    sandbox.set("VIRTUAL_ENV", sandbox.home().join("venv"));
    let cann = sandbox.home().join("cann/x86_64-linux");
    fs::create_dir_all(&cann).unwrap();
    fs::write(cann.join("ascend_toolkit_install.info"), "package_name=Ascend-cann-toolkit\nversion=8.0.RC3\n").unwrap();
    sandbox.set("ASCEND_HOME_PATH", sandbox.home().join("cann"));
    let done = sandbox.fix([
        "report",
        "build.log",
        "--hide",
        "Mondrian",
        "--",
        "torchrun",
        "--nproc_per_node=8",
        "/home/quorvix/skylark/train.py",
        "--token",
        "hunter2hunter2",
        "--model",
        "Mondrian",
        "--as",
        "kazumba",
    ]);
    assert_eq!(done.code, 0, "{}", done.stderr);
    for word in PRIVATE.iter().chain(&["Mondrian", "kazumba"]) {
        assert!(!done.stdout.contains(word), "{word}:\n{}", done.stdout);
    }
    for wanted in [
        "torch_npu: 2.1.0.post3",
        "CANN: 8.0.RC3",
        "python: 3.11.9",
        "shape (4, 128)",
        "torch.bfloat16",
        "world_size: 8",
        "torchrun",
        "<host-1>",
        "<ip-1>",
        "<path-1>",
        "RuntimeError: bad input",
        "## Taken out",
    ] {
        assert!(done.stdout.contains(wanted), "{wanted}:\n{}", done.stdout);
    }
    let chinese = sandbox.fix(["report", "build.log", "--lang", "zh"]).stdout;
    for heading in
        ["关键报错", "软件版本", "芯片型号", "rank 数", "shape", "dtype", "复现命令", "已尝试方案", "已移除的内容"]
    {
        assert!(chinese.contains(&format!("## {heading}")), "{heading}:\n{chinese}");
    }
}

#[test]
fn json_files_and_utf16() {
    let sandbox = Sandbox::new();
    let utf16: Vec<u8> = [0xff, 0xfe].into_iter().chain(LOG.encode_utf16().flat_map(u16::to_le_bytes)).collect();
    sandbox.write("wide.log", &utf16);
    let done = sandbox.fix(["report", "wide.log", "--format", "json"]);
    let document: serde_json::Value = serde_json::from_str(&done.stdout).unwrap();
    assert_eq!((done.code, &document["schema_version"]), (0, &serde_json::json!(1)));
    assert!(document["replaced"].as_array().unwrap().len() >= 3, "{document}");
    assert!(document["excerpts"].to_string().contains("RuntimeError"), "{document}");
    assert!(PRIVATE.iter().all(|word| !done.stdout.contains(word)), "{}", done.stdout);

    let done = sandbox.fix(["report", "wide.log", "-o", "report.md"]);
    let file = sandbox.project().join("report.md");
    assert_eq!(fs::metadata(&file).unwrap().permissions().mode() & 0o777, 0o600, "{}", done.stderr);
    assert!(done.stdout.contains("# Bug report"), "shown as well: {}", done.stdout);
    assert_eq!(sandbox.fix(["report", "wide.log", "-o", "report.md", "-q"]).code, 0, "one of ours is replaced");
    sandbox.write("notes.md", "mine\n");
    let refused = sandbox.fix(["report", "wide.log", "-o", "notes.md", "--lang", "zh"]);
    assert_eq!(refused.code, 2);
    assert!(refused.stderr.contains("已存在"), "{}", refused.stderr);
    assert_eq!(fs::read_to_string(sandbox.project().join("notes.md")).unwrap(), "mine\n");
}

#[test]
fn chips_are_asked_for_where_the_program_is_safe() {
    let mut sandbox = Sandbox::new();
    let table = support::labelled::root().join("fixtures/npu-smi/a2.txt");
    let stub = format!("#!/bin/sh\ncat '{}'\n", table.display());
    let place = |folder: &std::path::Path, mode: u32| {
        fs::create_dir_all(folder).unwrap();
        fs::write(folder.join("npu-smi"), &stub).unwrap();
        fs::set_permissions(folder.join("npu-smi"), fs::Permissions::from_mode(mode)).unwrap();
        fs::set_permissions(folder, fs::Permissions::from_mode(0o755)).unwrap();
    };
    sandbox.write("build.log", LOG);
    let inside = sandbox.project().join("bin");
    let writable = sandbox.home().join("loose");
    let safe = sandbox.home().join("bin");
    place(&inside, 0o755);
    place(&writable, 0o777);
    place(&safe, 0o755);
    for (folder, asked) in [(&inside, false), (&writable, false), (&safe, true)] {
        let path = format!("{}:/usr/bin:/bin", folder.display());
        sandbox.set("PATH", path);
        let report = sandbox.fix(["report", "build.log"]).stdout;
        assert_eq!(report.contains("1 × 910B1 (Critical)"), asked, "{}:\n{report}", folder.display());
    }
}

#[test]
fn completions_are_scripts_of_their_shells() {
    let sandbox = Sandbox::new();
    for (shell, structure) in [("bash", "complete -F _fix"), ("zsh", "#compdef fix"), ("fish", "complete -c fix")] {
        let done = sandbox.fix(["completions", shell]);
        assert_eq!(done.code, 0, "{}", done.stderr);
        assert!(done.stdout.contains(structure) && done.stdout.contains("rollback"), "{shell}");
        assert!(done.stdout.contains("tda-1.9"), "{shell}: the ids of issues");
        let script = sandbox.write(&format!("script.{shell}"), &done.stdout);
        // The shell itself reads it where it is here; the structure is looked at always.
        if sandbox.run("sh", ["-c", &format!("command -v {shell}")]).code == 0 {
            let checked = sandbox.run(shell, ["-n", script.to_str().unwrap()]);
            assert_eq!(checked.code, 0, "{shell}: {}", checked.stderr);
        }
    }
    assert_eq!(sandbox.fix(["completions", "tcsh"]).code, 2);
}

#[test]
fn manual_pages_are_pages() {
    let sandbox = Sandbox::new();
    let done = sandbox.fix(["man", "pages"]);
    assert_eq!(done.code, 0, "{}", done.stderr);
    let folder = sandbox.project().join("pages");
    let names: Vec<String> =
        fs::read_dir(&folder).unwrap().map(|entry| entry.unwrap().file_name().into_string().unwrap()).collect();
    for name in ["fix.1", "fix-run.1", "fix-report.1", "fix-rollback.1"] {
        assert!(names.iter().any(|known| known == name), "{names:?}");
    }
    let has_groff = sandbox.run("sh", ["-c", "command -v groff"]).code == 0;
    for name in names {
        let page = fs::read_to_string(folder.join(&name)).unwrap();
        for part in [".TH ", ".SH NAME", ".SH SYNOPSIS", ".SH OPTIONS"] {
            assert!(page.contains(part), "{name}: {part}");
        }
        if has_groff {
            let mut groff = sandbox.command("groff");
            groff.args(["-man", "-ww", "-z"]).arg(folder.join(&name)).stderr(Stdio::piped());
            let output = groff.output().unwrap();
            assert!(output.status.success(), "{name}: {}", String::from_utf8_lossy(&output.stderr));
        }
    }
    assert_eq!(sandbox.fix(["man", "pages"]).code, 0, "ours are replaced");
    assert!(sandbox.fix(["man"]).stdout.contains(".SH NAME"));
}

#[test]
fn both_readmes_have_the_same_content() {
    let read = |name: &str| fs::read_to_string(support::labelled::root().join(name)).unwrap();
    let (english, chinese) = (read("README.md"), read("README.zh.md"));
    assert!(english.contains("(README.zh.md)") && chinese.contains("(README.md)"));
    let commands = |text: &str| -> Vec<String> {
        let lines =
            text.lines().filter(|line| ["fix ", "cargo ", "scripts/"].iter().any(|head| line.starts_with(head)));
        lines
            .map(|line| line.split([' ', '-']).filter(|word| !word.is_empty()).take(2).collect::<Vec<_>>().join(" "))
            .collect()
    };
    assert_eq!(commands(&english), commands(&chinese));
    let headings = |text: &str| text.lines().filter(|line| line.starts_with("## ")).count();
    assert_eq!(headings(&english), headings(&chinese));
    for word in ["FIX_KEEP_REPAIRS", "--allow-path", "125", "docs/performance.md", "XDG_STATE_HOME"] {
        assert!(english.contains(word) && chinese.contains(word), "{word}");
    }
}

#[test]
fn help_follows_the_locale() {
    let mut sandbox = Sandbox::new();
    assert!(sandbox.fix(["run", "--help"]).stdout.contains("Usage:"));
    assert!(sandbox.fix(["run", "--help", "--lang", "zh"]).stdout.contains("用法：fix run"));
    sandbox.set("LC_ALL", "zh_CN.UTF-8");
    let help = sandbox.fix(["--help"]).stdout;
    assert!(help.contains("用法：fix") && help.contains("撤销") && !help.contains("Usage"), "{help}");
    let unknown = sandbox.fix(["rollback", "no-such"]);
    assert!(format!("{}{}", unknown.stdout, unknown.stderr).contains("没有修复 `no-such`"), "{}", unknown.stdout);
    assert!(sandbox.fix(["diagnose", "absent.log"]).stderr.contains("无法读取"));
    for (args, says) in [
        (&["list", "--no-such"][..], "未知参数 `--no-such`"),
        (&["report", "--format", "xml"], "可选值为"),
        (&["run"], "缺少必需的参数"),
    ] {
        let done = sandbox.fix(args);
        assert!(done.code == 2 && done.stderr.contains(says), "{args:?}: {}", done.stderr);
    }
    assert!(sandbox.fix(["--lang", "en", "--help"]).stdout.contains("Usage:"));
}
