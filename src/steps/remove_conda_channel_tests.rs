//! Tests of the verb that takes channels out.

use std::collections::BTreeMap;
use std::ffi::OsString;

use super::*;
use crate::change::{Change, FileState, WriteFile};
use crate::evidence::LocalHost;
use crate::evidence::questions::testing::NoGit;
use crate::recipe::Value;

/// What the verb comes to in a home with this `.condarc`: the text of the written files, or the error.
fn removed(
    condarc: Option<&str>,
    env: &[(&str, &str)],
    url: &str,
) -> (Result<Lowered, LowerError>, Vec<(String, String)>) {
    let folder = tempfile::tempdir().unwrap();
    let home = folder.path().canonicalize().unwrap();
    if let Some(text) = condarc {
        std::fs::write(home.join(".condarc"), text).unwrap();
    }
    let mut all: Vec<(OsString, OsString)> = vec![("HOME".into(), home.clone().into())];
    all.extend(env.iter().map(|(name, value)| (OsString::from(name), OsString::from(value))));
    let host = LocalHost::new(AbsPath::new(&home).unwrap(), all, Box::new(NoGit));
    let args = BTreeMap::from([("url".to_owned(), Value::from(url))]);
    let lowered =
        lower(&Order { args: &args, host: &host, command: None, so_far: &Lowered::default(), evaluate: None });
    let files = lowered.iter().flat_map(|lowered| &lowered.changes).map(|change| match change {
        Change::WriteFile(WriteFile { path, after: FileState::Present(image), .. }) => (
            path.as_path().strip_prefix(&home).unwrap().display().to_string(),
            String::from_utf8(image.bytes.clone()).unwrap(),
        ),
        other => panic!("{other:?}"),
    });
    let files = files.collect();
    (lowered, files)
}

#[test]
fn built_in_channels_are_written_out_without_it() {
    let r = "https://repo.anaconda.com/pkgs/r";
    for (condarc, want) in [
        (None, "default_channels:\n  - https://repo.anaconda.com/pkgs/main\n"),
        (
            Some("channels: [defaults]  # ours\n"),
            "channels: [defaults]  # ours\ndefault_channels:\n  - https://repo.anaconda.com/pkgs/main\n",
        ),
        // Named twice: by the list and by conda itself.
        (
            Some("channels:\n  - defaults\n  - pkgs/r\n"),
            "channels:\n  - defaults\ndefault_channels:\n  - https://repo.anaconda.com/pkgs/main\n",
        ),
    ] {
        let (lowered, files) = removed(condarc, &[], r);
        assert_eq!(files, [(".condarc".to_owned(), want.to_owned())], "{lowered:?}");
        assert!(lowered.unwrap().notes[0].en.contains("pkgs/main"));
    }
}

#[test]
fn variables_keep_what_is_left() {
    for (value, want) in [("a, https://h/r , b", EnvEdit::Set("a,b".to_owned())), ("https://h/r", EnvEdit::Unset)] {
        let (lowered, files) = removed(Some("channels: [c]\n"), &[("CONDA_CHANNELS", value)], "https://h/r");
        assert!(files.is_empty());
        let lowered = lowered.unwrap();
        assert_eq!(lowered.overlay.iter().collect::<Vec<_>>(), [("CONDA_CHANNELS", &want)]);
    }
}

#[test]
fn an_emptied_key_goes_and_conda_own_list_needs_a_yes() {
    let condarc = "channels: [defaults, a]\ndefault_channels:\n  - https://h/r\nx: 1\n";
    let (lowered, files) = removed(Some(condarc), &[], "https://h/r");
    assert_eq!(files[0].1, "channels: [defaults, a]\nx: 1\n");
    assert_eq!(lowered.unwrap().limits[0].0, Applicability::Confirm);
}

#[test]
fn what_cannot_be_done_is_refused() {
    for (condarc, want) in [
        ("channels: [https://h/r]\n", "no channel would be left"),
        ("channels: [a]\n", "no configuration names it any more"),
        ("channels: &x [https://h/r, a]\n", ":1 has to be edited by hand"),
    ] {
        let (lowered, files) = removed(Some(condarc), &[], "https://h/r");
        assert!(lowered.as_ref().unwrap_err().0.en.contains(want), "{lowered:?}");
        assert!(files.is_empty());
    }
}
