//! What a script of an installation does to a clean environment: the one place where `fix` runs one.
//!
//! Only for repairs that the user asked to see or to apply; diagnosing and auditing run nothing.

use std::collections::BTreeMap;
use std::ffi::{OsStr, OsString};
use std::os::unix::ffi::{OsStrExt, OsStringExt};
use std::time::Duration;

use super::session::Session;
use crate::change::AbsPath;
use crate::evidence::Host;
use crate::os::process::{Command, Status, run_captured};
use crate::recipe::Text;
use crate::steps::CLEAN_PATH;

/// A script that only sets variables is done at once.
const LONGEST: Duration = Duration::from_secs(20);
const MOST_OUTPUT: usize = 1 << 20;

/// Fixed: the path is an argument, never part of a shell's line. What the script prints goes nowhere.
const LINE: &str = "source \"$1\" >/dev/null 2>&1; exec /usr/bin/env -0";

/// Sources a script in a clean bash and returns the environment after it.
pub fn evaluate(session: &Session, script: &AbsPath) -> Result<BTreeMap<OsString, OsString>, Text> {
    let failed = |why: String| {
        Text::new(format!("`{script}` could not be evaluated: {why}"), format!("无法执行 `{script}`：{why}"))
    };
    let home = session.host().home().map_or("/".into(), |home| home.as_path().as_os_str().to_owned());
    let name = |name: &str, value: &OsStr| {
        let mut word = OsString::from(format!("{name}="));
        word.push(value);
        word
    };
    let mut argv: Vec<OsString> = vec!["/usr/bin/env".into(), "-i".into()];
    argv.extend([name("PATH", OsStr::new(&CLEAN_PATH.join(":"))), name("HOME", &home), "LC_ALL=C.UTF-8".into()]);
    argv.extend(["bash", "--noprofile", "--norc", "-c", LINE, "fix"].map(OsString::from));
    argv.push(script.as_path().as_os_str().to_owned());
    let root = AbsPath::new("/").map_err(|error| failed(error.to_string()))?;
    let mut command = Command::new(argv, root);
    command.timeout = Some(LONGEST);
    let done = run_captured(&command, MOST_OUTPUT).map_err(|error| failed(error.to_string()))?;
    if done.timed_out || done.truncated || done.status != Status::Exited(0) {
        return Err(failed(match done.status {
            Status::Exited(code) => format!("status {code}"),
            Status::Signalled(signal) => format!("signal {signal}"),
        }));
    }
    let entries = done.stdout.split(|byte| *byte == 0);
    Ok(entries
        .filter_map(|entry| {
            let equals = entry.iter().position(|byte| *byte == b'=')?;
            Some((OsStr::from_bytes(&entry[..equals]).to_owned(), OsString::from_vec(entry[equals + 1..].to_vec())))
        })
        .collect())
}
