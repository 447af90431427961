//! Which file a command's name means, found as a shell finds it.

use std::ffi::{OsStr, OsString};
use std::io;
use std::os::unix::ffi::{OsStrExt, OsStringExt};
use std::path::Path;

use rustix::fs::{Access, AtFlags, CWD, accessat};

use super::{Command, SpawnError};
use crate::os::AbsPath;

/// Where a shell looks when there is no `PATH`.
const DEFAULT_PATH: &str = "/usr/local/bin:/usr/bin:/bin";

/// Returns what to hand to `execve`: the name itself when it has a slash, so that a script finds in `$0` what the
/// user typed; else the first executable file of that name on the command's own `PATH`.
pub(super) fn find_program(command: &Command) -> Result<OsString, SpawnError> {
    let name = command.program();
    if name.is_empty() {
        return Err(SpawnError::NotFound(name.to_owned()));
    }
    if name.as_bytes().contains(&b'/') {
        return match check(&command.cwd, Path::new(name)) {
            Found::Executable => Ok(name.to_owned()),
            Found::Refused(error) | Found::Unreachable(error) => Err(SpawnError::NotExecutable(name.to_owned(), error)),
            Found::Missing => Err(SpawnError::NotFound(name.to_owned())),
        };
    }
    let path = command.variable("PATH").unwrap_or_else(|| DEFAULT_PATH.into());
    let mut refused = None;
    for folder in path.as_bytes().split(|byte| *byte == b':') {
        // An empty element is the working folder.
        let folder = if folder.is_empty() { OsStr::new(".") } else { OsStr::from_bytes(folder) };
        let candidate = Path::new(folder).join(name);
        match check(&command.cwd, &candidate) {
            Found::Executable => return Ok(candidate.into_os_string()),
            // A folder is passed over; a file that may not be run is remembered in case no other is found.
            Found::Refused(error) if error.kind() != io::ErrorKind::IsADirectory => refused = refused.or(Some(error)),
            Found::Refused(_) | Found::Unreachable(_) | Found::Missing => {}
        }
    }
    Err(match refused {
        Some(error) => SpawnError::NotExecutable(name.to_owned(), error),
        None => SpawnError::NotFound(name.to_owned()),
    })
}

/// Returns the argument vector that runs a script without `#!` line, as a shell would run it, or `None` when the file
/// is a program of another machine.
pub(super) fn script_arguments(command: &Command, file: &OsStr) -> Option<Vec<OsString>> {
    use std::io::Read;
    let mut start = Vec::new();
    std::fs::File::open(command.cwd.as_path().join(file)).ok()?.take(80).read_to_end(&mut start).ok()?;
    let first_line = start.split(|byte| *byte == b'\n').next().unwrap_or_default();
    if first_line.contains(&0) {
        return None;
    }
    // A name that begins with a dash would be an option of the shell.
    let mut script = file.to_owned();
    if script.as_bytes().starts_with(b"-") {
        script = OsString::from_vec([b"./", file.as_bytes()].concat());
    }
    let arguments = command.argv.iter().skip(1).cloned();
    Some(["/bin/sh".into(), script].into_iter().chain(arguments).collect())
}

enum Found {
    Executable,
    Refused(io::Error),
    Unreachable(io::Error),
    Missing,
}

fn check(cwd: &AbsPath, file: &Path) -> Found {
    // Not `AbsPath::resolve`: cleaning `link/../x` would name another file than the kernel takes.
    let path = cwd.as_path().join(file);
    let metadata = match std::fs::metadata(&path) {
        Ok(metadata) => metadata,
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Found::Missing,
        Err(error) => return Found::Unreachable(error),
    };
    if metadata.is_dir() {
        return Found::Refused(io::ErrorKind::IsADirectory.into());
    }
    match accessat(CWD, &path, Access::EXEC_OK, AtFlags::EACCESS) {
        Ok(()) => Found::Executable,
        Err(error) => Found::Refused(error.into()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::fs;
    use std::os::unix::fs::PermissionsExt;

    fn write(path: &Path, mode: u32) {
        fs::write(path, "#!/bin/sh\n").unwrap();
        fs::set_permissions(path, fs::Permissions::from_mode(mode)).unwrap();
    }

    #[test]
    fn finds_what_a_shell_finds() {
        let folder = tempfile::tempdir().unwrap();
        let root = AbsPath::new(folder.path()).unwrap();
        for name in ["one", "two", "two/tool.d", "one/sub"] {
            fs::create_dir_all(folder.path().join(name)).unwrap();
        }
        write(&folder.path().join("one/tool"), 0o644);
        write(&folder.path().join("two/tool"), 0o755);
        write(&folder.path().join("one/plain"), 0o644);
        write(&folder.path().join("here"), 0o755);
        let path = format!("{0}/one:{0}/two:", root);
        let find = |name: &str, path: Option<&str>| {
            let mut command = Command::new([name], root.clone());
            command.env.push(("PATH".into(), path.map(Into::into)));
            match find_program(&command) {
                Ok(file) => file.into_string().unwrap().replace(&root.to_string(), "ROOT"),
                Err(SpawnError::NotFound(_)) => "127".to_owned(),
                Err(SpawnError::NotExecutable(..)) => "126".to_owned(),
                Err(SpawnError::Other(error)) => panic!("{error}"),
            }
        };
        for (name, want) in [
            ("tool", "ROOT/two/tool"),
            ("plain", "126"),
            ("sub", "127"),
            ("here", "./here"),
            ("absent", "127"),
            ("", "127"),
            ("./here", "./here"),
            ("one/tool", "126"),
            ("./one", "126"),
            ("./absent", "127"),
            ("here/x", "126"),
        ] {
            assert_eq!(find(name, Some(&path)), want, "{name}");
        }
        assert!(find("sh", None).ends_with("/sh"));
        assert_eq!(find("sh", Some("/nonexistent")), "127");
    }

    #[test]
    fn only_a_text_is_handed_to_the_shell() {
        let folder = tempfile::tempdir().unwrap();
        let root = AbsPath::new(folder.path()).unwrap();
        let command = Command::new(["x", "argument"], root.clone());
        for (content, want) in [(&b"echo a\n\0"[..], true), (b"", true), (b"\x7fELF\0\0", false)] {
            fs::write(folder.path().join("file"), content).unwrap();
            assert_eq!(script_arguments(&command, OsStr::new("file")).is_some(), want);
        }
        fs::write(folder.path().join("-c"), "true").unwrap();
        let want: Vec<OsString> = vec!["/bin/sh".into(), "./-c".into(), "argument".into()];
        assert_eq!(script_arguments(&command, OsStr::new("-c")), Some(want));
    }
}
