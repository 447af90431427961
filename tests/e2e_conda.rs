//! conda against servers of this machine: a channel that is gone is taken out where it stands.

mod support;

use std::fs;
use std::io::{BufRead, BufReader, Write};
use std::net::TcpListener;
use std::os::unix::fs::{PermissionsExt, symlink};
use std::path::PathBuf;
use std::sync::{Arc, Mutex};

use support::conda::{self, Channels};
use support::story::{Story, assert_same};
use support::{Done, Sandbox, picture};

/// A sandbox with conda and a server.
fn lab() -> (Sandbox, Channels) {
    let mut sandbox = Sandbox::new();
    conda::install(&mut sandbox);
    let channels = Channels::start(&sandbox);
    (sandbox, channels)
}

fn write(path: PathBuf, text: &str) -> PathBuf {
    fs::create_dir_all(path.parent().unwrap()).unwrap();
    fs::write(&path, text).unwrap();
    path
}

/// `conda create` with nothing said of channels.
fn create(sandbox: &Sandbox) -> Story<'_> {
    let prefix = sandbox.root().join("made");
    Story::new(
        sandbox,
        ["conda", "create", "-y", "-p", prefix.to_str().unwrap(), "demo"],
        "UnavailableInvalidChannel: HTTP 404",
    )
}

fn is_made(sandbox: &Sandbox) -> bool {
    sandbox.root().join("made/conda-meta").is_dir()
}

/// Takes the repair back, and sees everything as it was and the command fail again.
fn taken_back(story: &Story<'_>, file: &PathBuf, before: &str) {
    story.fix(&["rollback", "--yes"]).expect(0);
    assert_eq!(fs::read_to_string(file).unwrap(), before);
    let _ = fs::remove_dir_all(story.sandbox.root().join("made"));
    story.fails();
}

#[test]
fn the_entry_goes_from_default_channels() {
    let (sandbox, channels) = lab();
    let before = format!(
        "# the mirror\nchannels:\n  - defaults\ndefault_channels:\n  - {}   # kept\n  - \"{}/\"  # gone\nshow_channel_urls: true\n",
        channels.url("main"),
        channels.url("pkgs/r")
    );
    let file = write(sandbox.home().join(".condarc"), &before);
    let story = create(&sandbox);
    story.fails();
    // A log's word is no proof: plain `--yes` does not do it.
    story.fix_command(&["run", "--yes"]).expect(1).says("--yes=confirm");
    assert_eq!(fs::read_to_string(&file).unwrap(), before);
    story.fix_command(&["run", "--yes=confirm"]).expect(0).says("tda-1.11").says("repaired and verified");
    assert!(is_made(&sandbox));
    let after: String = before.split_inclusive('\n').filter(|line| !line.contains("pkgs/r")).collect();
    assert_eq!(fs::read_to_string(&file).unwrap(), after);
    taken_back(&story, &file, &before);
}

#[test]
fn the_servers_own_answer_makes_it_safe() {
    let (sandbox, channels) = lab();
    let before = format!("channels: [{}, {}]\n", channels.url("main"), channels.url("gone"));
    let file = write(sandbox.home().join(".condarc"), &before);
    let story = create(&sandbox);
    story.fails();
    let asked = channels.asked().len();
    story.fix_command(&["run", "--yes", "--online"]).expect(0).says("repaired and verified");
    assert!(is_made(&sandbox));
    assert_eq!(fs::read_to_string(&file).unwrap(), format!("channels: [{}]\n", channels.url("main")));
    let own: Vec<String> =
        channels.asked().into_iter().skip(asked).filter(|request| request.contains("build-fix/")).collect();
    assert!(own.iter().any(|request| request.starts_with("GET /gone/noarch/repodata.json HTTP/1.1")), "{own:?}");
    assert!(own.iter().all(|request| request.starts_with("GET /gone/noarch/")), "{own:?}");
    taken_back(&story, &file, &before);
}

/// A proxy that tunnels to itself: whatever it is asked for is not there. Returns its port, and what it was asked.
fn proxy() -> (u16, Arc<Mutex<Vec<String>>>) {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let (port, asked) = (listener.local_addr().unwrap().port(), Arc::<Mutex<Vec<String>>>::default());
    let log = asked.clone();
    std::thread::spawn(move || {
        for mut stream in listener.incoming().flatten() {
            let mut reader = BufReader::new(stream.try_clone().unwrap());
            loop {
                let mut request = String::new();
                while reader.read_line(&mut request).is_ok_and(|length| length > 2) {}
                if request.is_empty() {
                    break;
                }
                let status = if request.starts_with("CONNECT") { "200 Connected" } else { "404 Not Found" };
                log.lock().unwrap().push(request);
                let length = if status.starts_with("404") { "Content-Length: 0\r\n" } else { "" };
                if stream.write_all(format!("HTTP/1.1 {status}\r\n{length}\r\n").as_bytes()).is_err() {
                    break;
                }
            }
        }
    });
    (port, asked)
}

#[test]
fn the_server_is_asked_by_the_proxy_of_the_environment() {
    let mut sandbox = Sandbox::new();
    let file = sandbox.home().join(".condarc");
    let text = "channels: [http://channel.invalid/gone, http://channel.invalid/main]\n";
    write(file, text);
    let said = "UnavailableInvalidChannel: HTTP 404 Not Found for channel gone <http://channel.invalid/gone>\n";
    sandbox.write("failed.log", said);
    let dry = ["tda-1.11", "-n", "--online", "--log", "failed.log"];
    // Nobody can tell without the proxy: there is no such host.
    let alone = sandbox.fix(dry);
    assert!(!alone.all().contains("conda_channel_online"), "{}", alone.all());
    let (port, asked) = proxy();
    sandbox.set("http_proxy", format!("http://127.0.0.1:{port}"));
    sandbox.fix(dry).says("http://channel.invalid/gone/noarch/repodata.json").says("404");
    let asked = asked.lock().unwrap().clone();
    assert!(asked.iter().any(|request| request.contains("/gone/noarch/repodata.json")), "{asked:?}");
    assert!(asked.iter().any(|request| request.contains("channel.invalid")), "{asked:?}");
    assert!(!asked.iter().any(|request| request.contains("/main/")), "{asked:?}");
}

#[test]
fn without_leave_nobody_is_asked() {
    let (sandbox, channels) = lab();
    write(
        sandbox.home().join(".condarc"),
        &format!("channels: [{}, {}]\n", channels.url("main"), channels.url("gone")),
    );
    create(&sandbox).fix_command(&["run", "-n"]).says("offline");
    assert!(channels.asked().iter().all(|request| !request.contains("build-fix/")));
}

/// `--online --yes=confirm` where the server's answer to us is another one than 404: nothing is done.
#[track_caller]
fn left_alone_with(prepare: impl FnOnce(&Channels), says: &str) {
    let (sandbox, channels) = lab();
    let before = format!("channels: [{}, {}]\n", channels.url("main"), channels.url("gone"));
    let file = write(sandbox.home().join(".condarc"), &before);
    let story = create(&sandbox);
    let log = story.fails().all();
    let log = sandbox.write("failed.log", log);
    prepare(&channels);
    let log = log.to_str().unwrap();
    let done = story.fix(&["tda-1.11", "--online", "--yes=confirm", "--log", log]);
    assert_eq!(done.code, 1, "{}", done.all());
    done.says(says);
    assert_eq!(fs::read_to_string(&file).unwrap(), before);
}

#[test]
fn a_channel_that_answers_again_stays() {
    left_alone_with(|channels| channels.answer("gone/", "200 OK"), "answers now");
}

#[test]
fn a_channel_with_another_index_stays() {
    left_alone_with(|channels| channels.answer("gone/noarch/repodata_shards", "200 OK"), "newer form only");
}

#[test]
fn a_channel_that_is_forbidden_stays() {
    left_alone_with(|channels| channels.answer("gone/", "403 Forbidden"), "does not answer with 404 to us");
}

#[test]
fn a_channel_that_leads_elsewhere_stays() {
    left_alone_with(
        |channels| channels.answer("gone/", "302 Found\r\nLocation: https://elsewhere.invalid/x"),
        "does not answer with 404 to us",
    );
}

#[test]
fn another_answer_than_404_is_no_issue() {
    let (sandbox, channels) = lab();
    channels.answer("gone/", "403 Forbidden");
    write(
        sandbox.home().join(".condarc"),
        &format!("channels: [{}, {}]\n", channels.url("main"), channels.url("gone")),
    );
    let prefix = sandbox.root().join("made");
    Story::new(&sandbox, ["conda", "create", "-y", "-p", prefix.to_str().unwrap(), "demo"], "HTTP 403")
        .is_left_alone(&["--online"])
        .says("no known issue");
}

#[test]
fn an_environment_file_is_edited() {
    let (sandbox, channels) = lab();
    let before = format!(
        "name: made\nchannels:\n- {}\n- {}\ndependencies:\n- demo # 依赖\n",
        channels.url("gone"),
        channels.url("main")
    );
    let file = sandbox.write("environment.yml", &before);
    let prefix = sandbox.root().join("made");
    let command = ["conda", "env", "create", "-p", prefix.to_str().unwrap(), "-f", "environment.yml"];
    write(sandbox.home().join(".condarc"), &format!("channels: [{}]\n", channels.url("main")));
    let story = Story::new(&sandbox, command, "UnavailableInvalidChannel: HTTP 404");
    story.fails();
    story.fix_command(&["run", "--yes", "--online"]).expect(0).says("repaired and verified");
    assert!(is_made(&sandbox));
    assert_eq!(fs::read_to_string(&file).unwrap(), before.replace(&format!("- {}\n", channels.url("gone")), ""));
    taken_back(&story, &file, &before);
}

#[test]
fn a_variable_is_overlaid() {
    let (mut sandbox, channels) = lab();
    sandbox.set("CONDA_CHANNELS", format!("{},{}", channels.url("main"), channels.url("gone")));
    let story = create(&sandbox);
    story.fails();
    story.fix_command(&["run", "--yes", "--online"]).expect(0).says("CONDA_CHANNELS");
    assert!(is_made(&sandbox));
}

#[test]
fn what_the_command_asks_for_is_left_out_of_it() {
    let (sandbox, channels) = lab();
    let condarc = format!("channels: [{}]\n", channels.url("main"));
    let file = write(sandbox.home().join(".condarc"), &condarc);
    let (prefix, gone) = (sandbox.root().join("made"), channels.url("gone"));
    let command = ["conda", "create", "-y", "-p", prefix.to_str().unwrap(), "-c", &gone, "demo"];
    let story = Story::new(&sandbox, command, "UnavailableInvalidChannel: HTTP 404");
    story.fails();
    // Other words than the user's are run after a yes alone.
    story.fix_command(&["run", "--yes", "--online"]).expect(1).says("--yes=confirm");
    assert!(!is_made(&sandbox));
    let done = story.fix_command(&["run", "--yes=confirm", "--online"]).expect(0);
    done.says("repaired and verified").says(&format!("Leave `-c {gone}` out"));
    assert!(is_made(&sandbox));
    assert_eq!(fs::read_to_string(&file).unwrap(), condarc);
    story.fix(&["rollback", "--yes"]);
    fs::remove_dir_all(&prefix).unwrap();
    story.fails();
}

#[test]
fn a_line_of_a_shell_is_left_to_the_user() {
    let (sandbox, channels) = lab();
    write(sandbox.home().join(".condarc"), &format!("channels: [{}]\n", channels.url("main")));
    let (prefix, gone) = (sandbox.root().join("made"), channels.url("gone"));
    let line = format!("conda create -y -p {} -c {gone} demo", prefix.display());
    Story::new(&sandbox, ["sh", "-c", &line], "UnavailableInvalidChannel: HTTP 404")
        .is_left_alone(&["--online"])
        .says("command line");
}

#[test]
fn a_command_without_another_channel_is_left_to_the_user() {
    let (sandbox, channels) = lab();
    write(sandbox.home().join(".condarc"), &format!("channels: [{}]\n", channels.url("main")));
    let (prefix, gone) = (sandbox.root().join("made"), channels.url("gone"));
    let prefix = prefix.to_str().unwrap();
    let command = ["conda", "create", "-y", "-p", prefix, "--override-channels", "-c", &gone, "demo"];
    Story::new(&sandbox, command, "UnavailableInvalidChannel: HTTP 404")
        .is_left_alone(&["--online"])
        .says("the only one");
}

#[test]
fn the_only_channel_stays() {
    let (sandbox, channels) = lab();
    write(sandbox.home().join(".condarc"), &format!("channels:\n  - {}\n", channels.url("gone")));
    create(&sandbox).is_left_alone(&["--online"]).says("the only one");
}

#[test]
fn every_place_that_names_it_is_edited() {
    let (sandbox, channels) = lab();
    let first = format!("channels: [{}]\n", channels.url("gone"));
    let own = write(sandbox.home().join(".condarc"), &first);
    let second = format!("channels:\r\n  - {}\r\n  - {}/linux-64\r\n", channels.url("main"), channels.url("gone"));
    let other = write(sandbox.home().join(".conda/condarc"), &second);
    let story = create(&sandbox);
    story.fails();
    story.fix_command(&["run", "--yes", "--online"]).expect(0).says("repaired and verified");
    // The whole list of the first file was dead: its key goes, and no empty list stays.
    assert_eq!(fs::read_to_string(&own).unwrap(), "");
    assert_eq!(fs::read_to_string(&other).unwrap(), format!("channels:\r\n  - {}\r\n", channels.url("main")));
    story.fix(&["rollback", "--yes"]).expect(0);
    assert_eq!((fs::read_to_string(&own).unwrap(), fs::read_to_string(&other).unwrap()), (first, second));
}

#[test]
fn a_link_into_dotfiles_stays_a_link() {
    let (sandbox, channels) = lab();
    let before = format!("channels:\n  - {}\n  - {}\n", channels.url("gone"), channels.url("main"));
    let file = write(sandbox.home().join("dotfiles/condarc"), &before);
    let link = sandbox.home().join(".condarc");
    symlink("dotfiles/condarc", &link).unwrap();
    let story = create(&sandbox);
    story.fails();
    story.fix_command(&["run", "--yes", "--online"]).expect(0).says("repaired and verified");
    assert_eq!(fs::read_link(&link).unwrap(), PathBuf::from("dotfiles/condarc"));
    assert_eq!(fs::read_to_string(&file).unwrap(), format!("channels:\n  - {}\n", channels.url("main")));
    taken_back(&story, &file, &before);
    assert_eq!(fs::read_link(&link).unwrap(), PathBuf::from("dotfiles/condarc"));
}

#[test]
fn a_link_of_links_is_refused() {
    let (sandbox, channels) = lab();
    write(
        sandbox.home().join("real"),
        &format!("channels:\n  - {}\n  - {}\n", channels.url("gone"), channels.url("main")),
    );
    symlink("real", sandbox.home().join("middle")).unwrap();
    symlink("middle", sandbox.home().join(".condarc")).unwrap();
    create(&sandbox).is_left_alone(&["--online"]).says("another link");
}

#[test]
fn a_file_outside_needs_leave() {
    let (mut sandbox, channels) = lab();
    let before = format!("channels:\n  - {}\n  - {}\n", channels.url("gone"), channels.url("main"));
    let file = write(sandbox.root().join("system/lab.yml"), &before);
    sandbox.set("CONDARC", &file);
    let story = create(&sandbox);
    story.is_left_alone(&["--online"]).says("outside the allowed roots").says("--allow-path");
    let allowed = file.to_str().unwrap();
    story.fix_command(&["run", "--yes", "--online", "--allow-path", allowed]).expect(0).says("repaired and verified");
    taken_back(&story, &file, &before);
}

#[test]
fn a_file_that_cannot_be_edited_is_named_with_its_line() {
    let gone_and = |text: &str, channels: &Channels| {
        text.replace("GONE", &channels.url("gone")).replace("MAIN", &channels.url("main"))
    };
    for (text, says) in [
        ("default_channels: [MAIN]\nbase: &c\n  - MAIN\n  - GONE\nchannels: *c\n", ":5 names it"),
        ("a: &a GONE\nchannels: [MAIN, *a]\n", ":2 names it"),
        ("channels: &c\n  - MAIN\n  - GONE\nlater: *c\n", ":1 names it"),
    ] {
        let (sandbox, channels) = lab();
        write(sandbox.home().join(".condarc"), &gone_and(text, &channels));
        create(&sandbox).is_left_alone(&["--online"]).says(says);
    }
}

#[test]
fn a_file_that_changed_since_the_plan_is_not_touched() {
    let (sandbox, channels) = lab();
    let before = format!("channels:\n  - {}\n  - {}\n", channels.url("gone"), channels.url("main"));
    let file = write(sandbox.home().join(".condarc"), &before);
    let story = create(&sandbox);
    let log = sandbox.write("failed.log", story.fails().all());
    let plan = sandbox.root().join("plan.json");
    let (log, plan) = (log.to_str().unwrap(), plan.to_str().unwrap());
    story.fix(&["plan", "tda-1.11", "--log", log, "-o", plan]).expect(0);
    let changed = format!("# mine\n{before}");
    fs::write(&file, &changed).unwrap();
    let done: Done = story.fix(&["apply", "--plan", plan, "--yes=confirm", "--log", log]);
    assert_ne!(done.code, 0, "{}", done.all());
    assert_eq!(fs::read_to_string(&file).unwrap(), changed);
}

#[test]
fn a_file_without_permission_stays_as_it_is() {
    let (sandbox, channels) = lab();
    let before = format!("channels:\n  - {}\n  - {}\n", channels.url("gone"), channels.url("main"));
    write(sandbox.home().join(".condarc"), &before);
    let log = sandbox.write("failed.log", create(&sandbox).fails().all());
    fs::set_permissions(sandbox.home(), fs::Permissions::from_mode(0o555)).unwrap();
    let mut command = sandbox.fix_as_plain_user();
    let home = picture(&sandbox.home());
    command.args(["tda-1.11", "--yes=confirm", "--log", log.to_str().unwrap()]);
    let done = support::done(command.output().unwrap()).says("its folder is not").says("nothing was changed");
    assert_eq!(done.code, 1, "{}", done.all());
    assert_same(&home, &picture(&sandbox.home()));
    fs::set_permissions(sandbox.home(), fs::Permissions::from_mode(0o755)).unwrap();
}

#[test]
fn the_classic_solver_stands_in_for_one_that_is_not_there() {
    let (mut sandbox, channels) = lab();
    write(sandbox.home().join(".condarc"), &format!("channels: [{}]\n", channels.url("main")));
    write(sandbox.root().join("conda/lib/python3.11/site-packages/conda/__init__.py"), "");
    sandbox.unset("CONDA_SOLVER");
    let mut story = create(&sandbox);
    story.message = "it was not recognized. Choose one of: classic".to_owned();
    story.fails();
    story.fix_command(&["run", "--yes"]).expect(1);
    story
        .fix_command(&["run", "--yes=confirm"])
        .expect(0)
        .says("conda-libmamba-solver-missing")
        .says("CONDA_SOLVER")
        .says("repaired and verified");
    assert!(is_made(&sandbox));
}

#[test]
fn a_solver_that_is_there_and_cannot_be_loaded_is_left_alone() {
    let (mut sandbox, channels) = lab();
    write(sandbox.home().join(".condarc"), &format!("channels: [{}]\n", channels.url("main")));
    let plugin = sandbox.root().join("conda/lib/python3.11/site-packages/conda_libmamba_solver/__init__.py");
    write(plugin, "");
    // A program that says what conda says: its own search goes by Python's metadata, which is whole here.
    let said = "Error while loading conda entry point: conda-libmamba-solver (libarchive.so.19: cannot open shared \
                object file: No such file or directory)\n\nCondaValueError: You have chosen a non-default solver \
                backend (libmamba) but it was not recognized. Choose one of: classic";
    let program = write(sandbox.root().join("bin/conda"), &format!("#!/bin/sh\nprintf '%s\\n' '{said}' >&2\nexit 1\n"));
    fs::set_permissions(program, fs::Permissions::from_mode(0o755)).unwrap();
    sandbox.unset("CONDA_SOLVER");
    let mut story = create(&sandbox);
    story.message = "it was not recognized".to_owned();
    story.is_left_alone(&[]).says("libarchive.so.19 is gone");
}

#[test]
fn an_emptied_list_of_channels_is_named() {
    let (sandbox, _channels) = lab();
    let file = write(sandbox.home().join(".condarc"), "ssl_verify: true\nchannels: []\n");
    let mut story = create(&sandbox);
    story.message = "NoChannelsConfiguredError".to_owned();
    story.is_left_alone(&[]).says("conda-no-channels").says(&format!("`{}`:2", file.display()));
}
