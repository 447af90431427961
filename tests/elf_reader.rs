//! The ELF reader and the model of the loader, checked against `readelf`, `objdump` and `ldd` on this machine's files.

mod support;

use std::collections::{BTreeMap, BTreeSet};
use std::ffi::OsString;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use build_fix::evidence::elf::{Elf, NotElf};
use build_fix::evidence::loader::Loader;
use build_fix::evidence::{GitState, LocalHost};
use build_fix::os::AbsPath;

struct NoGit;

impl GitState for NoGit {
    fn top_level(&self) -> Option<&AbsPath> {
        None
    }

    fn tracks(&self, _: &AbsPath) -> bool {
        false
    }
}

fn host(env: &[(&str, &str)]) -> LocalHost {
    let env = env.iter().map(|(name, value)| (OsString::from(name), OsString::from(value)));
    LocalHost::new(AbsPath::new("/").unwrap(), env, Box::new(NoGit))
}

fn tool(words: &[&str]) -> String {
    let mut command = Command::new(words[0]);
    command.args(&words[1..]).env("LC_ALL", "C").env_remove("LD_LIBRARY_PATH");
    let done = command.output().unwrap_or_else(|error| panic!("{}: {error}", words[0]));
    String::from_utf8_lossy(&done.stdout).into_owned() + &String::from_utf8_lossy(&done.stderr)
}

/// Real files of this machine: extensions of Python, libraries, programs; each once.
fn files() -> Vec<PathBuf> {
    let code = "import sysconfig; print(sysconfig.get_path('platstdlib'))";
    let python = PathBuf::from(tool(&["python3", "-c", code]).trim()).join("lib-dynload");
    let machine = std::env::consts::ARCH;
    let libraries = [format!("/usr/lib/{machine}-linux-gnu"), "/usr/lib64".to_owned(), "/usr/lib".to_owned()];
    let list = |folder: &Path, most: usize| {
        let mut all: Vec<PathBuf> =
            fs::read_dir(folder).into_iter().flatten().map(|entry| entry.unwrap().path()).collect();
        all.retain(|path| {
            path.is_file() && fs::read(path).is_ok_and(|bytes| bytes.starts_with(b"\x7fELF") && bytes.len() < 32 << 20)
        });
        all.sort();
        let step = (all.len() / most).max(1);
        all.into_iter().step_by(step).take(most).collect::<Vec<_>>()
    };
    let mut all = list(&python, 40);
    libraries.iter().for_each(|folder| all.extend(list(Path::new(folder), 90)));
    all.extend(list(Path::new("/usr/bin"), 20));
    let mut seen = BTreeSet::new();
    all.retain(|path| seen.insert(fs::canonicalize(path).unwrap()));
    assert!(all.len() >= 100, "only {} files", all.len());
    all
}

/// Entries of `readelf -d` in brackets, by tag.
fn dynamic(path: &str) -> BTreeMap<String, Vec<String>> {
    let mut all: BTreeMap<String, Vec<String>> = BTreeMap::new();
    for line in tool(&["readelf", "-dW", path]).lines() {
        let Some((_, rest)) = line.split_once('(') else { continue };
        let Some((tag, rest)) = rest.split_once(')') else { continue };
        let Some(value) = rest.split_once('[').and_then(|(_, value)| value.rsplit_once(']')) else { continue };
        all.entry(tag.to_owned()).or_default().push(value.0.to_owned());
    }
    all
}

#[test]
fn says_what_readelf_says() {
    let host = host(&[]);
    for path in files() {
        let elf = Elf::open(&host, &path).unwrap_or_else(|error| panic!("{}: {error}", path.display()));
        let name = path.to_str().unwrap();
        let dynamic = dynamic(name);
        let tag = |tag: &str| dynamic.get(tag).cloned().unwrap_or_default();
        assert_eq!(elf.needed().unwrap(), tag("NEEDED"), "{name}");
        assert_eq!(elf.soname().unwrap().into_iter().collect::<Vec<_>>(), tag("SONAME"), "{name}");
        let origin = path.parent().unwrap().to_str().unwrap();
        let folders = |lists: Vec<String>| -> Vec<PathBuf> {
            let all = lists.join(":").replace("$ORIGIN", origin);
            all.split(':').filter(|folder| !folder.is_empty()).map(PathBuf::from).collect()
        };
        assert_eq!(elf.rpath().unwrap(), folders(tag("RPATH")), "{name}");
        assert_eq!(elf.runpath().unwrap().unwrap_or_default(), folders(tag("RUNPATH")), "{name}");
    }
}

#[test]
fn says_what_objdump_says_of_versions() {
    let host = host(&[]);
    let mut with_definitions = 0;
    for path in files() {
        let elf = Elf::open(&host, &path).unwrap();
        let text = tool(&["objdump", "-p", path.to_str().unwrap()]);
        let part = |title: &str| {
            text.split_once(title).map_or("", |(_, rest)| rest.split("\n\n").next().unwrap()).lines().skip(1)
        };
        let mut library = "";
        let mut wanted = BTreeSet::new();
        for line in part("Version References:") {
            if let Some((_, name)) = line.split_once("required from ") {
                library = name.trim_end_matches(':');
            } else if let Some(version) = line.split_whitespace().nth(3) {
                wanted.insert((library.to_owned(), version.to_owned()));
            }
        }
        let needs = elf.version_needs().unwrap();
        let needs: BTreeSet<_> = needs.into_iter().map(|need| (need.library, need.version)).collect();
        assert_eq!(needs, wanted, "{}", path.display());
        // `1 0x01 0x0865f4e6 libc.so.6` is the name of the file; what follows in deeper lines are parents.
        let lines = part("Version definitions:").filter(|line| line.starts_with(|c: char| c.is_ascii_digit()));
        let fields = lines.map(|line| line.split_whitespace().collect::<Vec<_>>());
        let given: Vec<String> = fields
            .filter(|fields| u32::from_str_radix(fields[1].trim_start_matches("0x"), 16).unwrap() & 1 == 0)
            .map(|fields| fields[3].to_owned())
            .collect();
        with_definitions += usize::from(!given.is_empty());
        assert_eq!(elf.versions().unwrap(), given, "{}", path.display());
    }
    assert!(with_definitions > 10, "{with_definitions}");
}

#[test]
fn says_what_readelf_says_of_symbols() {
    let host = host(&[]);
    let (mut defined, mut undefined) = (0, 0);
    for path in files() {
        let elf = Elf::open(&host, &path).unwrap();
        let mut wanted: Vec<(String, bool)> = Vec::new();
        for line in tool(&["readelf", "--dyn-syms", "-W", path.to_str().unwrap()]).lines() {
            // `<number>: … <section> name@VERSION (2)`; a kind may be of several words.
            let fields: Vec<&str> = line.split_whitespace().filter(|field| !field.starts_with('(')).collect();
            if fields.len() < 8 || !fields[0].trim_end_matches(':').bytes().all(|b| b.is_ascii_digit()) {
                continue;
            }
            wanted.push((fields[fields.len() - 1].replace("@@", "@"), fields[fields.len() - 2] != "UND"));
        }
        let mut have: Vec<(String, bool)> = elf
            .symbols()
            .unwrap()
            .iter()
            .map(|symbol| match &symbol.version {
                // `readelf` shows the mark of a version without a version.
                Some(version) if *version != symbol.name => (format!("{}@{version}", symbol.name), symbol.defined),
                Some(_) | None => (symbol.name.clone(), symbol.defined),
            })
            .collect();
        wanted.sort();
        have.sort();
        let (mine, theirs): (BTreeSet<_>, BTreeSet<_>) = (have.iter().collect(), wanted.iter().collect());
        let differences: Vec<_> = mine.symmetric_difference(&theirs).take(5).collect();
        assert!(differences.is_empty() && have.len() == wanted.len(), "{}: {differences:?}", path.display());
        // The hash table says the same as the whole list.
        for (name, is_defined) in have.iter().step_by(7) {
            let name = name.split('@').next().unwrap();
            let any = have.iter().any(|(other, defined)| *defined && other.split('@').next() == Some(name));
            defined += usize::from(any);
            undefined += usize::from(!is_defined);
            assert_eq!(elf.gives(name).unwrap(), any, "{} {name}", path.display());
        }
        assert!(!elf.gives("no_such_symbol_anywhere").unwrap());
    }
    assert!(defined > 1000 && undefined > 1000, "{defined} {undefined}");
}

#[test]
fn finds_what_the_loader_finds() {
    let host = host(&[]);
    let loader = Loader::of(&host);
    let mut checked = 0;
    for path in files() {
        let text = tool(&["ldd", "-r", path.to_str().unwrap()]);
        if text.contains("not a dynamic executable") || text.contains("statically linked") {
            continue;
        }
        let real = |path: &Path| fs::canonicalize(path).unwrap();
        let mut wanted = BTreeMap::new();
        let mut missing = BTreeSet::new();
        for line in text.lines() {
            match line.trim().split_once(" => ") {
                Some((name, "not found")) => drop(missing.insert(name.to_owned())),
                Some((name, file)) => {
                    let file = file.split(" (0x").next().unwrap();
                    wanted.insert(name.to_owned(), real(Path::new(file)));
                }
                None => {}
            }
        }
        let scope = loader.scope(&path, &[]).unwrap();
        let found: BTreeMap<String, PathBuf> = scope
            .objects
            .iter()
            .filter(|loaded| !loaded.asked.is_empty() && !loaded.asked.contains("ld-linux"))
            .map(|loaded| (loaded.asked.clone(), real(loaded.elf.path())))
            .collect();
        assert_eq!(found, wanted, "{}", path.display());
        let have: BTreeSet<String> = scope.missing.iter().map(|(name, _)| name.clone()).collect();
        assert_eq!(have, missing, "{}", path.display());
        let mut wanted = BTreeSet::new();
        for line in text.lines().filter(|line| line.ends_with(&format!("({})", path.display()))) {
            if let Some(rest) = line.trim().strip_prefix("undefined symbol: ") {
                wanted.insert(rest.split([',', '\t', ' ']).next().unwrap().to_owned());
            }
        }
        // `ldd -r` speaks of relocations only: a name that nothing refers to may be missing for ever.
        let unresolved = scope.unresolved(&scope.objects[0].elf).unwrap();
        let have: BTreeSet<String> = unresolved.into_iter().map(|symbol| symbol.name).collect();
        assert!(have.is_superset(&wanted), "{}: {have:?} {wanted:?}", path.display());
        let extra: Vec<_> = have.difference(&wanted).collect();
        assert!(extra.is_empty() || !missing.is_empty(), "{}: {extra:?}", path.display());
        assert!(scope.lacking().unwrap().is_empty(), "{}", path.display());
        checked += 1;
    }
    assert!(checked >= 100, "{checked}");
}

#[test]
fn damaged_files_are_said_to_be_damaged() {
    let host = host(&[]);
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("lib.so");
    let source = folder.path().join("lib.c");
    fs::write(&source, "#include <stdlib.h>\nint a(void){return atoi(\"1\");} int b(void){return a();}").unwrap();
    let built = Command::new("cc").args(["-shared", "-fPIC", "-o"]).arg(&path).arg(&source).status().unwrap();
    assert!(built.success());
    let whole = fs::read(&path).unwrap();
    let read_all = |path: &Path| -> Result<(), NotElf> {
        let elf = Elf::open(&host, path)?;
        elf.needed()?;
        elf.runpath()?;
        elf.rpath()?;
        elf.soname()?;
        elf.version_needs()?;
        elf.versions()?;
        elf.symbols()?;
        elf.gives("a")?;
        Loader::of(&host).scope(path, &[])?.lacking().map(drop)
    };
    assert_eq!(read_all(&path), Ok(()));
    let mut damaged = BTreeSet::new();
    // Every byte of the headers and tables in turn, then several at a time, in a fixed order.
    let mut state = 0x2545_f491_4f6c_dd1d_u64;
    let mut next = || {
        state ^= state << 13;
        state ^= state >> 7;
        state ^= state << 17;
        state
    };
    for round in 0..6000usize {
        let mut bytes = whole.clone();
        let changes = if round < 4096 { 1 } else { 8 };
        for change in 0..changes {
            let at =
                if change == 0 && round < 4096 { round % bytes.len() } else { next() as usize % 4096.min(bytes.len()) };
            bytes[at] = match round % 3 {
                0 => 0xff,
                1 => next() as u8,
                _ => bytes[at] ^ 0x80,
            };
        }
        fs::write(&path, &bytes).unwrap();
        if let Err(error) = read_all(&path) {
            damaged.insert(error.to_string());
        }
    }
    assert!(damaged.len() >= 3, "{damaged:?}");
    for (bytes, want) in [
        (&b""[..], NotElf::Other),
        (b"version https://git-lfs.github.com/spec/v1\n", NotElf::Other),
        (b"\x7fELF\x02\x01\x01", NotElf::Other),
        (&whole[..900], NotElf::Truncated),
    ] {
        fs::write(&path, bytes).unwrap();
        assert_eq!(read_all(&path), Err(want));
    }
    assert_eq!(read_all(folder.path()), Err(NotElf::Other));
    assert_eq!(read_all(&folder.path().join("none")), Err(NotElf::Missing));
}

#[test]
fn says_what_auditwheel_says_of_wheels() {
    let host = host(&[]);
    let bin = support::tools::auditwheel();
    let folder = tempfile::tempdir().unwrap();
    let wheels = support::tools::wheels(&["markupsafe==3.0.2", "pyyaml==6.0.2", "msgpack==1.1.0", "wrapt==1.17.2"]);
    assert!(wheels.len() >= 4, "{wheels:?}");
    for wheel in wheels {
        let unpacked = folder.path().join(wheel.file_stem().unwrap());
        let (from, to) = (wheel.to_str().unwrap(), unpacked.to_str().unwrap());
        tool(&["python3", "-m", "zipfile", "-e", from, to]);
        let mut have = BTreeSet::new();
        let mut left = vec![unpacked.clone()];
        while let Some(path) = left.pop() {
            if path.is_dir() {
                left.extend(fs::read_dir(&path).unwrap().map(|entry| entry.unwrap().path()));
            } else if let Ok(elf) = Elf::open(&host, &path) {
                have.extend(elf.version_needs().unwrap().into_iter().map(|need| need.version));
            }
        }
        assert!(!have.is_empty(), "{from} has no compiled module");
        let said = tool(&[bin.join("auditwheel").to_str().unwrap(), "show", from]);
        // `libc.so.6 with versions {'GLIBC_2.14', 'GLIBC_2.2.5'}`, in lines of any length.
        let wanted: BTreeSet<String> = said
            .split(|c: char| !(c.is_ascii_alphanumeric() || c == '_' || c == '.'))
            .filter(|word| word.starts_with("GLIBC_") || word.starts_with("GLIBCXX_") || word.starts_with("CXXABI_"))
            .map(str::to_owned)
            .collect();
        assert_eq!(have, wanted, "{from}:\n{said}");
    }
}
