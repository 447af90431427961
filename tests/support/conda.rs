//! conda, and servers of channels on this machine.
//!
//! conda itself is in no package registry. By default a stand-in takes its place, which reads conda's configuration
//! and asks real servers; with FIX_E2E=full the tests run the conda that FIX_CONDA names.

use std::collections::BTreeMap;
use std::fs;
use std::io::{BufRead, BufReader, Write};
use std::net::TcpListener;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex};

use super::{Sandbox, tools};

/// A server of channels: `/main` has one, every other name has none.
pub struct Channels {
    port: u16,
    answers: Arc<Mutex<BTreeMap<String, String>>>,
    asked: Arc<Mutex<Vec<String>>>,
}

/// Puts conda on the sandbox's path.
pub fn install(sandbox: &mut Sandbox) {
    let bin = sandbox.root().join("bin");
    fs::create_dir_all(&bin).unwrap();
    let program = bin.join("conda");
    let script = if std::env::var_os("FIX_E2E").is_some_and(|value| value == "full") {
        let conda = std::env::var("FIX_CONDA").expect("with FIX_E2E=full, FIX_CONDA has to name a conda program");
        assert!(Path::new(&conda).is_file(), "FIX_CONDA={conda} is no file");
        format!("#!/bin/sh\nexec {conda} \"$@\"\n")
    } else {
        let file = sandbox.root().join("stand_in_conda.py");
        fs::write(&file, include_str!("stand_in_conda.py")).unwrap();
        format!("#!/bin/sh\nexec {} {} \"$@\"\n", tools::yaml_readers().join("python").display(), file.display())
    };
    fs::write(&program, script).unwrap();
    fs::set_permissions(&program, fs::Permissions::from_mode(0o755)).unwrap();
    sandbox.prepend_path(&bin);
    sandbox.set("CONDA_ROOT", sandbox.root().join("conda"));
    sandbox.set("CONDA_PKGS_DIRS", sandbox.root().join("packages"));
    sandbox.set("CONDA_SOLVER", "classic");
    // What conda keeps for itself in HOME is no part of the story.
    sandbox.set("CONDA_NUMBER_CHANNEL_NOTICES", "0");
    sandbox.set("CONDA_REGISTER_ENVS", "false");
}

impl Channels {
    /// Starts a server; it ends with the test.
    pub fn start(sandbox: &Sandbox) -> Self {
        let folder = sandbox.root().join("served");
        let script = sandbox.root().join("make_channel.py");
        fs::write(&script, include_str!("make_channel.py")).unwrap();
        let main = folder.join("main");
        sandbox.run("/usr/bin/env", ["python3", script.to_str().unwrap(), main.to_str().unwrap()]).expect(0);
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let port = listener.local_addr().unwrap().port();
        let answers: Arc<Mutex<BTreeMap<String, String>>> = Arc::default();
        let asked: Arc<Mutex<Vec<String>>> = Arc::default();
        let (known, log) = (answers.clone(), asked.clone());
        std::thread::spawn(move || {
            for stream in listener.incoming().flatten() {
                let (folder, known, log) = (folder.clone(), known.clone(), log.clone());
                std::thread::spawn(move || answer(stream, &folder, &known, &log));
            }
        });
        Self { port, answers, asked }
    }

    pub fn url(&self, name: &str) -> String {
        format!("http://127.0.0.1:{}/{name}", self.port)
    }

    /// Lets every path that begins with this be answered with a status line, and headers after it.
    pub fn answer(&self, path: &str, status: &str) {
        self.answers.lock().unwrap().insert(path.to_owned(), status.to_owned());
    }

    /// Requests so far, each as its lines.
    pub fn asked(&self) -> Vec<String> {
        self.asked.lock().unwrap().clone()
    }
}

fn answer(
    mut stream: std::net::TcpStream,
    folder: &Path,
    known: &Mutex<BTreeMap<String, String>>,
    log: &Mutex<Vec<String>>,
) {
    let mut reader = BufReader::new(stream.try_clone().unwrap());
    let mut request = String::new();
    while reader.read_line(&mut request).is_ok_and(|length| length > 2) {}
    let path = request.split_whitespace().nth(1).unwrap_or_default().trim_start_matches('/').to_owned();
    let is_head = request.starts_with("HEAD");
    log.lock().unwrap().push(request);
    let set =
        known.lock().unwrap().iter().find(|(start, _)| path.starts_with(start.as_str())).map(|(_, line)| line.clone());
    let file: Option<Vec<u8>> = fs::read(folder.join(PathBuf::from(&path))).ok();
    let (status, body) = match (set, file) {
        (Some(status), _) => (status, Vec::new()),
        (None, Some(body)) => ("200 OK".to_owned(), body),
        (None, None) => ("404 Not Found".to_owned(), Vec::new()),
    };
    let head = format!("HTTP/1.1 {status}\r\nContent-Length: {}\r\nConnection: close\r\n\r\n", body.len());
    let _ = stream.write_all(head.as_bytes());
    if !is_head {
        let _ = stream.write_all(&body);
    }
}
