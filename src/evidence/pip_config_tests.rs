//! Odd cases; what pip itself says of the same files is asked in `tests/e2e_pip_config.rs`.

use super::*;
use crate::evidence::LocalHost;
use crate::evidence::questions::testing::NoGit;

/// Files below a new HOME, which is the project as well.
struct Home(tempfile::TempDir);

impl Home {
    fn new(files: &[(&str, &str)]) -> Self {
        let home = Self(tempfile::tempdir().unwrap());
        for (name, text) in files {
            let path = home.path(name);
            std::fs::create_dir_all(path.as_path().parent().unwrap()).unwrap();
            std::fs::write(path.as_path(), text).unwrap();
        }
        home
    }

    fn path(&self, name: &str) -> AbsPath {
        AbsPath::new(self.0.path().canonicalize().unwrap()).unwrap().resolve(name)
    }

    fn read(&self, env: &[(&str, &str)], command: &str) -> Result<PipConfig, Unread> {
        let mut all = vec![("HOME", self.path("").to_string()), ("XDG_CONFIG_DIRS", "/nowhere".to_owned())];
        all.extend(env.iter().map(|(name, value)| (*name, (*value).to_owned())));
        let env = all.into_iter().map(|(name, value)| (OsString::from(name), OsString::from(value)));
        let host = LocalHost::new(self.path(""), env, Box::new(NoGit));
        let command: Vec<OsString> = shell_words::split(command).unwrap().into_iter().map(OsString::from).collect();
        PipConfig::read(&host, Some(&command))
    }

    fn indexes(&self, env: &[(&str, &str)], command: &str) -> String {
        let config = self.read(env, command).unwrap();
        config.indexes().into_iter().map(|index| index.url).collect::<Vec<_>>().join(" ")
    }
}

const FILE: &str =
    "[global]\nindex-url = http://g\nextra-index-url = http://e1\n  http://e2\n[download]\nindex-url = http://d\n";

#[test]
fn the_command_line_is_read_as_pip_reads_it() {
    let home = Home::new(&[
        (".config/pip/pip.conf", FILE),
        ("requirements.txt", "--extra-index-url http://r # why\n-i http://ri\nnumpy\n"),
    ]);
    for (command, want) in [
        ("pip install x", "http://g http://e1 http://e2"),
        ("pip download x", "http://d http://e1 http://e2"),
        ("pip --isolated install x", DEFAULT_INDEX),
        ("python3.11 -I -m pip install -i http://c x", "http://c http://e1 http://e2"),
        ("pip3 install --index-url=http://c --extra-index-url http://e3 x", "http://c http://e1 http://e2 http://e3"),
        ("pip install -ihttp://c x", "http://c http://e1 http://e2"),
        ("pip install --no-index x", ""),
        ("pip install -r requirements.txt", "http://ri http://e1 http://e2 http://r"),
        ("bash -c 'cd /; pip --timeout 3 download x'", "http://d http://e1 http://e2"),
        ("env A=b pip install x", "http://g http://e1 http://e2"),
        ("make", "http://g http://e1 http://e2"),
    ] {
        assert_eq!(home.indexes(&[], command), want, "{command}");
    }
}

#[test]
fn an_empty_value_hides_a_weaker_file_and_counts_for_nothing() {
    let home = Home::new(&[
        (".pip/pip.conf", "[global]\nindex-url = http://old\n"),
        (".config/pip/pip.conf", "[global]\nindex-url =\n"),
    ]);
    assert_eq!(home.indexes(&[], "pip install x"), DEFAULT_INDEX);
    assert_eq!(home.indexes(&[("PIP_INDEX_URL", "")], "pip install x"), DEFAULT_INDEX);
    assert_eq!(home.indexes(&[("PIP_PYPI_URL", "http://p")], "pip install x"), "http://p");
}

#[test]
fn what_pip_stops_at_is_named_with_its_line() {
    for (text, line, reason) in [
        ("[global]\nindex_url = a\nindex-url = b\n", 3, Reason::OptionTwice),
        ("[global]\n[install]\n[global]\n", 3, Reason::SectionTwice),
        ("\u{feff}[global]\n", 1, Reason::ByteOrderMark),
    ] {
        let home = Home::new(&[(".config/pip/pip.conf", text)]);
        let path = home.path(".config/pip/pip.conf");
        let unread = home.read(&[], "pip install x").unwrap_err();
        assert_eq!(unread, Unread { path, line, reason: Some(reason) }, "{text:?}");
        assert!(home.read(&[("PIP_CONFIG_FILE", "/dev/null")], "pip install x").is_ok());
    }
}
