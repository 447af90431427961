//! What is read of Python environments and wheels from files, held against what the real tools say.

mod support;

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::{Path, PathBuf};

use build_fix::change::AbsPath;
use build_fix::evidence::python::distributions::{self, Compare};
use build_fix::evidence::python::tags::Supported;
use build_fix::evidence::python::{Interpreter, Wheel, machine};
use build_fix::evidence::{GitState, LocalHost};
use build_fix::formats::wheel_name::{Tag, WheelName};
use support::{Sandbox, tools};

struct NoGit;

impl GitState for NoGit {
    fn top_level(&self) -> Option<&AbsPath> {
        None
    }

    fn tracks(&self, _: &AbsPath) -> bool {
        false
    }
}

fn host(sandbox: &Sandbox) -> LocalHost {
    let env = sandbox.env().iter().map(|(name, value)| (name.clone(), value.clone()));
    LocalHost::new(absolute(&sandbox.project()), env, Box::new(NoGit))
}

fn absolute(path: &Path) -> AbsPath {
    AbsPath::new(path).unwrap()
}

/// Runs a script in an interpreter that sees the tools' own packages as well (`packaging`).
fn python(sandbox: &Sandbox, program: &Path, script: &str, args: &[&str]) -> serde_json::Value {
    let shared = site_packages(&tools::python_tools().join("python"));
    let script = format!("import json, sys\nsys.path.append({:?})\n{script}", shared.display());
    let words = ["-I", "-c", &script].into_iter().chain(args.iter().copied());
    let done = sandbox.run(program.to_str().unwrap(), words).expect(0);
    serde_json::from_str(&done.stdout).unwrap()
}

fn site_packages(python: &Path) -> PathBuf {
    let code = "import sysconfig; print(sysconfig.get_path('purelib'))";
    let done = std::process::Command::new(python).args(["-I", "-c", code]).output().unwrap();
    PathBuf::from(String::from_utf8(done.stdout).unwrap().trim())
}

fn tool_interpreter(sandbox: &Sandbox) -> (PathBuf, Interpreter) {
    let program = tools::python_tools().join("python");
    let interpreter = Interpreter::at(&host(sandbox), &absolute(&program)).unwrap();
    (program, interpreter)
}

const FACTS: &str = "
import struct, sysconfig
print(json.dumps({
    'prefix': sys.prefix, 'base': sys.base_prefix, 'version': '%d.%d.%d' % sys.version_info[:3],
    'free': bool(sysconfig.get_config_var('Py_GIL_DISABLED')), 'purelib': sysconfig.get_path('purelib'),
    'scripts': sysconfig.get_path('scripts'),
}))";

/// The interpreters of this machine that are no stable part of a distribution are found too: each is held against itself.
#[test]
fn every_interpreter_of_this_machine_is_as_it_says_itself() {
    let mut sandbox = Sandbox::new();
    let (_, own) = tool_interpreter(&sandbox);
    for name in ["HOME", "PYENV_ROOT"] {
        if let Some(value) = std::env::var_os(name) {
            sandbox.set(name, value);
        }
    }
    let mut all = machine::interpreters(&host(&sandbox));
    all.push(own);
    for interpreter in &all {
        let program = interpreter.executable.as_path();
        if interpreter.major < 3 {
            continue;
        }
        let facts = python(&sandbox, program, FACTS, &[]);
        let text = |name: &str| facts[name].as_str().unwrap().to_owned();
        let real = |path: &str| fs::canonicalize(path).unwrap();
        assert_eq!(real(&interpreter.prefix.to_string()), real(&text("prefix")), "{interpreter:?}");
        assert_eq!(real(&interpreter.base.to_string()), real(&text("base")), "{interpreter:?}");
        assert!(text("version").starts_with(&interpreter.short_version()), "{interpreter:?}");
        if let Some(full) = &interpreter.full {
            assert_eq!(*full, text("version"), "{interpreter:?}");
        }
        assert_eq!(interpreter.free_threaded, facts["free"].as_bool().unwrap(), "{interpreter:?}");
        if !interpreter.externally_managed {
            let site = interpreter.site_packages().expect("an environment has a folder of packages");
            assert_eq!(real(&site.to_string()), real(&text("purelib")), "{interpreter:?}");
        }
    }
}

#[test]
fn the_tags_are_those_of_packaging() {
    let sandbox = Sandbox::new();
    let (program, interpreter) = tool_interpreter(&sandbox);
    let mut pairs = vec![(program, interpreter)];
    for interpreter in machine::interpreters(&host(&sandbox)) {
        pairs.push((interpreter.executable.as_path().to_owned(), interpreter));
    }
    let mut compared = 0;
    for (program, interpreter) in pairs {
        let Some(supported) = Supported::by(&interpreter) else { continue };
        let script = "from packaging import tags\nprint(json.dumps([str(tag) for tag in tags.sys_tags()]))";
        let said = python(&sandbox, &program, script, &[]);
        let said: BTreeSet<String> =
            said.as_array().unwrap().iter().map(|tag| tag.as_str().unwrap().to_owned()).collect();
        let worked_out: BTreeSet<String> = supported.tags().iter().map(Tag::to_string).collect();
        let differ: Vec<&String> = said.symmetric_difference(&worked_out).take(10).collect();
        assert!(differ.is_empty(), "{}: {differ:?}", interpreter.executable);
        compared += 1;
    }
    assert!(compared > 0);
}

/// Some hundred names in every combination of what wheels are made for.
fn names() -> Vec<String> {
    let mut names = Vec::new();
    for python in ["cp39", "cp310", "cp311", "cp312", "cp313", "py3", "py2.py3", "py311", "pp310"] {
        for abi in ["cp39", "cp311", "cp311m", "cp313t", "abi3", "none", "pypy310_pp73"] {
            for platform in [
                "any",
                "linux_x86_64",
                "linux_aarch64",
                "manylinux2014_x86_64.manylinux_2_17_x86_64",
                "manylinux_2_34_aarch64",
                "manylinux_2_99_x86_64",
                "musllinux_1_1_x86_64",
                "win_amd64",
                "macosx_11_0_arm64",
            ] {
                names.push(format!("a-1.0-{python}-{abi}-{platform}.whl"));
            }
        }
    }
    names.extend(
        ["a-1.0.whl", "a-1-py3-none.whl", "a__b-1-py3-none-any.whl", "a-x-py3-none-any.whl"].map(str::to_owned),
    );
    names.extend(
        ["A.b_C-1.0.post1-3x-py3-none-any.whl", "a-1-x-py3-none-any.whl", "a-1!2.0rc1-py3-none-any.whl"]
            .map(str::to_owned),
    );
    names
}

#[test]
fn names_fit_where_packaging_says_so() {
    let sandbox = Sandbox::new();
    let (program, interpreter) = tool_interpreter(&sandbox);
    let supported = Supported::by(&interpreter).unwrap();
    let names = names();
    let list = sandbox.write("names.json", serde_json::to_string(&names).unwrap());
    let script = "
from packaging import tags, utils
own = set(tags.sys_tags())
def read(name):
    try:
        project, version, build, found = utils.parse_wheel_filename(name)
        return [project, str(version), bool(own & found)]
    except Exception:
        return None
print(json.dumps([read(name) for name in json.load(open(sys.argv[1]))]))";
    let said = python(&sandbox, &program, script, &[list.to_str().unwrap()]);
    let mut fitting = 0;
    for (name, said) in names.iter().zip(said.as_array().unwrap()) {
        let read = WheelName::parse(name).ok().map(|wheel| {
            let fits = supported.fit(&wheel.tags).is_ok();
            fitting += usize::from(fits);
            serde_json::json!([wheel.name, wheel.version.to_string(), fits])
        });
        assert_eq!(read.unwrap_or_default(), *said, "{name}");
    }
    assert!(fitting > 5, "{fitting}");
}

const READ_WHEEL: &str = "
import zipfile, email, os
from packaging import tags
def read(path):
    archive = zipfile.ZipFile(path)
    of = lambda name: email.message_from_bytes(archive.read(next(n for n in archive.namelist() if n.count('/') == 1 and n.endswith('.dist-info/' + name))))
    metadata, wheel = of('METADATA'), of('WHEEL')
    built = sorted(str(tag) for line in wheel.get_all('Tag') for tag in tags.parse_tag(line))
    return [metadata['Requires-Python'], built, len(archive.namelist())]
folder = sys.argv[1]
print(json.dumps({name: read(os.path.join(folder, name)) for name in os.listdir(folder) if name.endswith('.whl')}))";

#[test]
fn wheels_are_read_as_zipfile_reads_them() {
    let sandbox = Sandbox::new();
    let (program, _) = tool_interpreter(&sandbox);
    let host = host(&sandbox);
    let folder = tools::wheels_of_many_kinds();
    let said = python(&sandbox, &program, READ_WHEEL, &[folder.to_str().unwrap()]);
    let said: BTreeMap<String, serde_json::Value> = serde_json::from_value(said).unwrap();
    assert!(said.len() >= 9, "{said:?}");
    for (name, said) in &said {
        let path = absolute(&folder.join(name));
        let wheel = Wheel::read(&host, &path).unwrap_or_else(|error| panic!("{name}: {error}"));
        let mut built: Vec<String> = wheel.built_for.iter().map(Tag::to_string).collect();
        built.sort();
        let members = build_fix::evidence::python::zip::Archive::open(&host, &path).unwrap().members.len();
        assert_eq!(serde_json::json!([wheel.requires_python, built, members]), *said, "{name}");
        assert!(!wheel.is_renamed(), "{name}");
    }
}

#[test]
fn a_renamed_a_cut_and_a_damaged_wheel_are_told() {
    let sandbox = Sandbox::new();
    let host = host(&sandbox);
    let bytes = fs::read(tools::wheels_of_many_kinds().join("six-1.17.0-py2.py3-none-any.whl")).unwrap();
    let read = |name: &str, bytes: &[u8]| Wheel::read(&host, &absolute(&sandbox.write(name, bytes)));
    assert!(read("six-1.17.0-cp311-cp311-linux_x86_64.whl", &bytes).unwrap().is_renamed());
    let told = |result: Result<Wheel, build_fix::evidence::python::BrokenWheel>| result.unwrap_err().to_string();
    assert_eq!(told(read("six-1.16.0-py2.py3-none-any.whl", &bytes)), "inside it is `six 1.17.0`");
    assert_eq!(told(read("seven-1.17.0-py2.py3-none-any.whl", &bytes)), "it has no WHEEL");
    let name = "six-1.17.0-py2.py3-none-any.whl";
    for len in (0..bytes.len()).step_by(211) {
        assert!(read(name, &bytes[..len]).is_err(), "{len} of {} bytes", bytes.len());
    }
    // One wrong byte anywhere is refused or unseen, and never a panic.
    let mut refused = 0;
    for at in (0..bytes.len()).step_by(97).chain(bytes.len() - 400..bytes.len()) {
        let mut damaged = bytes.clone();
        damaged[at] ^= 0x55;
        refused += usize::from(read(name, &damaged).is_err());
    }
    assert!(refused > 20, "{refused}");
}

/// An environment with pip and setuptools of its own.
fn environment(sandbox: &Sandbox) -> (PathBuf, Interpreter) {
    let folder = sandbox.root().join("environment");
    let tools = tools::python_tools().join("python");
    sandbox.run(tools.to_str().unwrap(), ["-m", "venv", folder.to_str().unwrap()]).expect(0);
    let program = folder.join("bin/python");
    let interpreter = Interpreter::at(&host(sandbox), &absolute(&program)).unwrap();
    (program, interpreter)
}

#[test]
fn what_is_installed_is_what_pip_lists() {
    let mut sandbox = Sandbox::new();
    for (name, value) in [("PIP_NO_INDEX", "1"), ("PIP_DISABLE_PIP_VERSION_CHECK", "1")] {
        sandbox.set(name, value);
    }
    let (program, interpreter) = environment(&sandbox);
    let program = program.to_str().unwrap();
    let shared = site_packages(&tools::python_tools().join("python"));
    let own = interpreter.site_packages().unwrap().as_path().to_owned();
    let wheel = tools::wheels_of_many_kinds().join("six-1.17.0-py2.py3-none-any.whl");
    sandbox.run(program, ["-m", "pip", "install", wheel.to_str().unwrap()]).expect(0);
    fs::write(own.join("shared.pth"), format!("# tools\n{}\nimport sys\n/nonexistent\n", shared.display())).unwrap();
    for (folder, name) in [("one", "Mini.One"), ("two", "mini_two")] {
        let setup = format!("from setuptools import setup\nsetup(name={name:?}, version='0.1', packages=[])\n");
        sandbox.write(&format!("{folder}/setup.py"), setup);
    }
    let one = sandbox.project().join("one");
    let install = ["-m", "pip", "install", "--no-build-isolation", "-e", one.to_str().unwrap()];
    sandbox.run(program, install).expect(0);
    // As `setup.py develop` of setuptools before 80 leaves it.
    let two = sandbox.project().join("two");
    let mut egg = sandbox.command(program);
    assert!(egg.args(["setup.py", "-q", "egg_info"]).current_dir(&two).output().unwrap().status.success());
    fs::write(own.join("mini-two.egg-link"), format!("{}\n.", two.display())).unwrap();
    fs::write(own.join("easy-install.pth"), format!("{}\n", two.display())).unwrap();

    let listed = sandbox.run(program, ["-m", "pip", "list", "--format=json"]).expect(0);
    let listed: Vec<serde_json::Value> = serde_json::from_str(&listed.stdout).unwrap();
    let told = |value: &serde_json::Value, name: &str| value[name].as_str().unwrap_or_default().to_owned();
    let want: BTreeMap<String, (String, String)> = listed
        .iter()
        .map(|one| {
            let name = build_fix::formats::wheel_name::normalise(&told(one, "name"));
            (name, (told(one, "version"), told(one, "editable_project_location")))
        })
        .collect();
    let read: BTreeMap<String, (String, String)> = distributions::installed(&host(&sandbox), &interpreter)
        .into_iter()
        .map(|one| (one.name, (one.version, one.editable.map(|path| path.to_string()).unwrap_or_default())))
        .collect();
    assert_eq!(read, want);
    assert_eq!(read["mini-one"].1, one.display().to_string());
    assert_eq!(read["mini-two"].1, two.display().to_string());
}

#[test]
fn damage_is_found_by_the_record() {
    let sandbox = Sandbox::new();
    let (program, interpreter) = environment(&sandbox);
    let wheel = tools::wheels_of_many_kinds().join("six-1.17.0-py2.py3-none-any.whl");
    let install = ["-m", "pip", "install", "--no-index", wheel.to_str().unwrap()];
    sandbox.run(program.to_str().unwrap(), install).expect(0);
    let host = host(&sandbox);
    let damage = |how| {
        let six = distributions::find(&host, &interpreter, "SIX").unwrap();
        let files = distributions::recorded(&host, &six).unwrap();
        let damage = distributions::compare(&host, &six.folder, &files, how);
        assert!(damage.files > 5, "{damage:?}");
        (damage.missing, damage.altered)
    };
    assert_eq!(damage(Compare::Contents), (Vec::new(), Vec::new()));
    let pip = distributions::find(&host, &interpreter, "pip").unwrap();
    let of_pip = distributions::recorded(&host, &pip).unwrap();
    let whole = distributions::compare(&host, &pip.folder, &of_pip, Compare::Contents);
    assert!(whole.missing.is_empty() && whole.altered.is_empty(), "{whole:?}");

    let module = interpreter.site_packages().unwrap().as_path().join("six.py");
    let text = fs::read_to_string(&module).unwrap();
    // Of the same size: only the content tells.
    fs::write(&module, text.replacen("Benjamin", "Nimajneb", 1)).unwrap();
    assert_eq!(damage(Compare::Sizes), (Vec::new(), Vec::new()));
    assert_eq!(damage(Compare::Contents), (Vec::new(), vec!["six.py".to_owned()]));
    fs::remove_file(&module).unwrap();
    assert_eq!(damage(Compare::Sizes), (vec!["six.py".to_owned()], Vec::new()));
}
