//! The channels that conda's configuration comes to, against what conda itself said of the same files.
//!
//! `fixtures/formats/conda/effective.json` holds configurations with the answers of conda 26.7 (`Channel.base_urls` of
//! `context.channels`, with `defaults` where there are none).

mod support;

use std::collections::BTreeSet;
use std::ffi::OsString;
use std::fs;
use std::path::Path;

use build_fix::evidence::{LocalHost, conda};
use build_fix::os::AbsPath;
use build_fix::os::git::GitKnowledge;
use support::Sandbox;

#[test]
fn channels_are_those_that_conda_sees() {
    let file = Path::new(env!("CARGO_MANIFEST_DIR")).join("fixtures/formats/conda/effective.json");
    let text = fs::read_to_string(file).unwrap();
    let cases: Vec<serde_json::Value> = serde_json::from_str(&text).unwrap();
    assert!(cases.len() >= 100);
    let mut wrong = Vec::new();
    for case in &cases {
        let sandbox = Sandbox::new();
        let home = sandbox.home();
        for (name, text) in case["files"].as_object().unwrap() {
            fs::create_dir_all(home.join(name).parent().unwrap()).unwrap();
            fs::write(home.join(name), text.as_str().unwrap()).unwrap();
        }
        let mut env: Vec<(OsString, OsString)> = vec![("HOME".into(), home.clone().into())];
        env.push(("CONDA_ROOT".into(), home.join("root").into()));
        for (name, value) in case["env"].as_object().unwrap() {
            let value = value.as_str().unwrap().replace("@HOME@", home.to_str().unwrap());
            env.push((name.into(), value.into()));
        }
        let project = AbsPath::new(sandbox.project()).unwrap();
        let host = LocalHost::new(project.clone(), env, Box::new(GitKnowledge::discover(&project)));
        let found = conda::effective(&host, None);
        assert!(found.broken.is_empty(), "{:?}", found.broken);
        let got: BTreeSet<String> = found.channels.iter().map(|channel| channel.base.url()).collect();
        let want: BTreeSet<String> =
            case["channels"].as_array().unwrap().iter().map(|url| url.as_str().unwrap().to_owned()).collect();
        if got != want {
            wrong.push(format!("{case:#}\n got {got:#?}\nwant {want:#?}"));
        }
    }
    assert!(wrong.is_empty(), "{} of {}:\n{}", wrong.len(), cases.len(), wrong.join("\n"));
}
