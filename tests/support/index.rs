//! Package indexes on this machine: a small wheel, a server that has it, and a port where nobody answers.

use std::io::{BufRead, BufReader, Write};
use std::net::{TcpListener, TcpStream};
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use super::{Sandbox, tools};

/// The package that only the index here has.
pub const PACKAGE: &str = "labdemo";

/// An index that answers at `/simple/`; it ends with the test.
pub struct Index {
    pub port: u16,
    stop: Arc<AtomicBool>,
}

/// What the server has: request paths and bodies.
type Pages = Arc<Vec<(String, Vec<u8>)>>;

impl Index {
    /// Serves the package's wheel, made by the sandbox's Python.
    pub fn start(sandbox: &Sandbox) -> Self {
        let folder = sandbox.root().join("wheels");
        let name = wheel(sandbox, &folder);
        Self::serve(&[(name, std::fs::read(folder.join(format!("{PACKAGE}-1.0-py3-none-any.whl"))).unwrap())])
    }

    /// Serves files as wheels of the package; any other page is not found.
    pub fn serve(files: &[(String, Vec<u8>)]) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let port = listener.local_addr().unwrap().port();
        let links: String = files.iter().map(|(name, _)| format!("<a href=\"/files/{name}\">{name}</a>\n")).collect();
        let mut pages = vec![(format!("/simple/{PACKAGE}/"), format!("<!DOCTYPE html>\n{links}").into_bytes())];
        pages.extend(files.iter().map(|(name, body)| (format!("/files/{name}"), body.clone())));
        let (pages, stop) = (Pages::new(pages), Arc::new(AtomicBool::new(false)));
        let ends = stop.clone();
        std::thread::spawn(move || {
            for stream in listener.incoming().map_while(Result::ok) {
                if ends.load(Ordering::SeqCst) {
                    break;
                }
                let pages = pages.clone();
                std::thread::spawn(move || answer(stream, &pages));
            }
        });
        Self { port, stop }
    }

    pub fn url(&self) -> String {
        format!("http://127.0.0.1:{}/simple", self.port)
    }
}

impl Drop for Index {
    fn drop(&mut self) {
        self.stop.store(true, Ordering::SeqCst);
        let _ = TcpStream::connect(("127.0.0.1", self.port));
    }
}

/// A port of this machine that refuses connections.
pub fn dead_url() -> String {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    format!("http://127.0.0.1:{}/simple", listener.local_addr().unwrap().port())
}

fn answer(stream: TcpStream, pages: &[(String, Vec<u8>)]) {
    let mut reader = BufReader::new(stream);
    let mut first = String::new();
    if reader.read_line(&mut first).is_err() {
        return;
    }
    loop {
        let mut line = String::new();
        match reader.read_line(&mut line) {
            Ok(0) | Err(_) => return,
            Ok(_) if line.trim().is_empty() => break,
            Ok(_) => {}
        }
    }
    let path = first.split_whitespace().nth(1).unwrap_or_default().to_owned();
    let page = pages.iter().find(|(known, _)| *known == path);
    let (status, body) = page.map_or(("404 Not Found", Vec::new()), |(_, body)| ("200 OK", body.clone()));
    let kind = if path.ends_with('/') { "text/html" } else { "application/octet-stream" };
    let head = format!(
        "HTTP/1.1 {status}\r\nContent-Type: {kind}\r\nContent-Length: {}\r\nConnection: close\r\n\r\n",
        body.len()
    );
    let mut stream = reader.into_inner();
    let _ = stream.write_all(head.as_bytes()).and_then(|()| stream.write_all(&body));
}

/// Makes the wheel; returns its name.
pub fn wheel(sandbox: &Sandbox, folder: &Path) -> String {
    let python = tools::python_tools().join("python");
    let done = sandbox.run(python.to_str().unwrap(), ["-c", WHEEL, folder.to_str().unwrap(), PACKAGE]).expect(0);
    done.stdout.trim().to_owned()
}

const WHEEL: &str = r#"
import base64, hashlib, os, sys, zipfile
folder, name = sys.argv[1:]
os.makedirs(folder, exist_ok=True)
info = f"{name}-1.0.dist-info"
files = {
    f"{name}.py": "VERSION = '1.0'\n",
    f"{info}/METADATA": f"Metadata-Version: 2.1\nName: {name}\nVersion: 1.0\n",
    f"{info}/WHEEL": "Wheel-Version: 1.0\nGenerator: tests\nRoot-Is-Purelib: true\nTag: py3-none-any\n",
}
digest = lambda text: base64.urlsafe_b64encode(hashlib.sha256(text.encode()).digest()).rstrip(b"=").decode()
record = "".join(f"{path},sha256={digest(text)},{len(text)}\n" for path, text in files.items())
wheel = f"{name}-1.0-py3-none-any.whl"
with zipfile.ZipFile(os.path.join(folder, wheel), "w") as archive:
    for path, text in files.items():
        archive.writestr(path, text)
    archive.writestr(f"{info}/RECORD", record + f"{info}/RECORD,,\n")
print(wheel)
"#;
