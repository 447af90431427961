//! Where on this machine is the library that the linker did not find?
//!
//! Files decide, by their own headers: a library of another machine, a link that leads nowhere and a run-time
//! library without its link are no help to a linker.

use std::collections::BTreeMap;
use std::ffi::OsString;
use std::path::{Path, PathBuf};

use super::cached_tools::Cache;
use super::distribution::Distribution;
use super::object_kind::is_library;
use super::{Answer, ArgSpec, Inquiry, Question, UNKNOWN};
use crate::evidence::{FileKind, Host};
use crate::recipe::Text;

/// The questions of this file.
pub const QUESTIONS: &[Question] = &[Question {
    name: "library_folder",
    about: "Finds the folder of this machine that really holds the libraries a linker did not find.",
    args: &[
        ArgSpec { name: "library", required: true, about: "Names as after `-l`" },
        ArgSpec {
            name: "folders",
            required: false,
            about: "Folders to look into first; given by the user, never by a log",
        },
        ArgSpec { name: "linker", required: false, about: "The linker's path, as the message names it" },
        ArgSpec { name: "tree", required: false, about: "The build tree, whose cache names the compiler" },
    ],
    answers: &["found", "searched", "only_runtime", "absent"],
    values: &["folder", "folders", "files", "missing", "package", "packages", "install"],
    ask: library_folder,
}];

/// Names in one folder; `/usr/lib/x86_64-linux-gnu` of a workstation has about 10,000.
const MOST_NAMES: usize = 100_000;
/// Folders that are looked into.
const MOST_FOLDERS: usize = 200;
/// Libraries that are looked for.
const MOST_LIBRARIES: usize = 20;

fn library_folder(inquiry: &Inquiry<'_>) -> Answer {
    let host = inquiry.host;
    let mut libraries: Vec<String> =
        inquiry.list("library").into_iter().filter_map(|name| library_name(&name)).collect();
    libraries.dedup();
    libraries.truncate(MOST_LIBRARIES);
    if libraries.is_empty() {
        return Answer::new(UNKNOWN, Text::new("no library is named", "没有给出库名"));
    }
    let mut given: Vec<PathBuf> =
        inquiry.list("folders").into_iter().map(PathBuf::from).filter(|path| path.is_absolute()).collect();
    // A compiler of conda links against conda's own C library: the system's folders would mix the two.
    if let Some(conda) = host.env("CONDA_PREFIX").map(PathBuf::from) {
        let of_conda = |path: String| Path::new(&path).starts_with(&conda);
        if compiler(inquiry).or_else(|| inquiry.text("linker")).is_some_and(of_conda) {
            given.push(conda.join("lib"));
        }
    }
    let places = places(host, given);
    let mut names = BTreeMap::new();
    let found: Vec<Found> = libraries.iter().map(|library| find(host, library, &places, &mut names)).collect();
    answer(inquiry, &libraries, &found, &places)
}

/// Where one library is.
enum Found {
    /// In the place of this index.
    Linkable {
        place: usize,
        file: PathBuf,
    },
    /// Only the file that programs load is there.
    OnlyRuntime(PathBuf),
    Absent,
}

/// A folder with libraries.
struct Place {
    path: PathBuf,
    /// The system's own compilers and linkers look there by themselves.
    by_default: bool,
}

fn answer(inquiry: &Inquiry<'_>, libraries: &[String], found: &[Found], places: &[Place]) -> Answer {
    let host = inquiry.host;
    let distribution = Distribution::of(host);
    let mut folders: Vec<String> = Vec::new();
    let (mut files, mut missing, mut runtime) = (Vec::new(), Vec::new(), Vec::new());
    let mut all_searched = true;
    for (library, found) in libraries.iter().zip(found) {
        match found {
            Found::Linkable { place, file } => {
                let folder = places[*place].path.display().to_string();
                if !folders.contains(&folder) {
                    folders.push(folder);
                }
                files.push(file.display().to_string());
                all_searched &= places[*place].by_default;
            }
            Found::OnlyRuntime(file) => {
                runtime.push(file.display().to_string());
                missing.push(library.clone());
            }
            Found::Absent => missing.push(library.clone()),
        }
    }
    if !missing.is_empty() {
        let mut packages: Vec<String> =
            missing.iter().filter_map(|library| distribution.development(library)).map(str::to_owned).collect();
        packages.sort();
        packages.dedup();
        let install = distribution.install(&packages);
        let list = missing.iter().map(|name| format!("lib{name}")).collect::<Vec<_>>().join(", ");
        let (word, seen) = if runtime.len() == missing.len() {
            let files = runtime.join(", ");
            (
                "only_runtime",
                Text::new(
                    format!("only {files} is here; the link for the linker is missing"),
                    format!("本机只有 {files}，缺少链接器所需的开发链接"),
                ),
            )
        } else {
            (
                "absent",
                Text::new(
                    format!("{list} is in none of {} folders with libraries", places.len()),
                    format!("{} 个库目录中都没有 {list}", places.len()),
                ),
            )
        };
        let mut answer = Answer::new(word, seen).with("missing", missing).with("folders", folders);
        if let Some(package) = packages.first().cloned() {
            answer = answer.with("package", package).with("packages", packages).with("install", install);
        }
        return answer;
    }
    let list = files.join(", ");
    let (word, seen) = if all_searched && is_system_linker(inquiry) {
        (
            "searched",
            Text::new(
                format!("{list} is here, where this linker looks by itself"),
                format!("{list} 就在本机，且该链接器默认会搜索其所在目录"),
            ),
        )
    } else {
        ("found", Text::new(format!("{list} is here"), format!("本机有 {list}")))
    };
    let first = folders.first().cloned().unwrap_or_default();
    Answer::new(word, seen).with("folder", first).with("folders", folders).with("files", files)
}

/// Takes a name as it stands after `-l`; anything that could lead out of a folder is no name.
fn library_name(text: &str) -> Option<String> {
    let name = text.strip_prefix("-l").unwrap_or(text);
    let fits = |c: char| c.is_ascii_alphanumeric() || matches!(c, '_' | '.' | '+' | '-');
    let plain = name.strip_prefix(':').unwrap_or(name);
    let good = !plain.is_empty() && plain.len() <= 100 && plain.chars().all(fits) && plain != "." && plain != "..";
    good.then(|| name.to_owned())
}

/// Lists the folders that may hold libraries, the system's first: what a tool kit or conda brings may be of another
/// version than what the rest of the build uses.
fn places(host: &dyn Host, given: Vec<PathBuf>) -> Vec<Place> {
    let mut places: Vec<Place> = Vec::new();
    let mut seen: Vec<PathBuf> = Vec::new();
    let mut add = |path: PathBuf, by_default: bool| {
        if !path.is_absolute() || places.len() == MOST_FOLDERS {
            return;
        }
        let Ok(real) = host.real(&path) else { return };
        let folder = host.follow(&path).is_ok_and(|meta| meta.kind == FileKind::Folder);
        if folder && !seen.contains(&real) {
            seen.push(real);
            places.push(Place { path, by_default });
        }
    };
    given.into_iter().for_each(|path| add(path, false));
    for path in multiarch(host) {
        add(path, true);
    }
    for path in ["/usr/lib64", "/usr/local/lib64", "/usr/local/lib", "/usr/lib", "/lib64", "/lib"] {
        add(path.into(), true);
    }
    for path in loader_folders(host) {
        add(path, false);
    }
    for variable in ["LIBRARY_PATH", "LD_LIBRARY_PATH"] {
        for path in std::env::split_paths(&host.env(variable).unwrap_or_default()) {
            add(path, false);
        }
    }
    if let Some(conda) = host.env("CONDA_PREFIX") {
        add(Path::new(&conda).join("lib"), false);
    }
    places
}

/// Lists `/usr/lib/<machine>-linux-gnu` and its like.
fn multiarch(host: &dyn Host) -> Vec<PathBuf> {
    let machine = match std::env::consts::ARCH {
        "x86" => "i386",
        other => other,
    };
    let mut folders = Vec::new();
    for base in ["/usr/lib", "/lib", "/usr/local/lib"] {
        let names = host.list(Path::new(base), MOST_NAMES).unwrap_or_default();
        let fits =
            |name: &&OsString| name.to_str().is_some_and(|name| name.starts_with(machine) && name.contains("-linux-"));
        folders.extend(names.iter().filter(fits).map(|name| Path::new(base).join(name)));
    }
    folders
}

/// Lists the folders that the system's loader knows: a library there runs, but no linker looks for it there.
fn loader_folders(host: &dyn Host) -> Vec<PathBuf> {
    let mut files = vec![PathBuf::from("/etc/ld.so.conf")];
    let parts = Path::new("/etc/ld.so.conf.d");
    let names = host.list(parts, 1000).unwrap_or_default();
    files.extend(
        names
            .iter()
            .filter(|name| name.to_str().is_some_and(|name| name.ends_with(".conf")))
            .map(|name| parts.join(name)),
    );
    let mut folders = Vec::new();
    for file in files {
        let text = host.read(&file, 64 << 10).unwrap_or_default();
        let text = String::from_utf8_lossy(&text).into_owned();
        folders.extend(text.lines().map(str::trim).filter(|line| line.starts_with('/')).map(PathBuf::from));
    }
    folders
}

fn find(host: &dyn Host, library: &str, places: &[Place], names: &mut BTreeMap<usize, Vec<OsString>>) -> Found {
    let wanted: Vec<String> = match library.strip_prefix(':') {
        Some(exact) => vec![exact.to_owned()],
        None => vec![format!("lib{library}.so"), format!("lib{library}.a")],
    };
    for (index, place) in places.iter().enumerate() {
        if let Some(file) = wanted.iter().map(|name| place.path.join(name)).find(|file| is_library(host, file)) {
            return Found::Linkable { place: index, file };
        }
    }
    let prefix = format!("lib{library}.so.");
    for (index, place) in places.iter().enumerate() {
        let names = names.entry(index).or_insert_with(|| host.list(&place.path, MOST_NAMES).unwrap_or_default());
        let versioned = names.iter().filter(|name| {
            let rest = name.to_str().and_then(|name| name.strip_prefix(&prefix));
            rest.is_some_and(|rest| rest.starts_with(|c: char| c.is_ascii_digit()))
        });
        if let Some(file) = versioned.map(|name| place.path.join(name)).find(|file| is_library(host, file)) {
            return Found::OnlyRuntime(file);
        }
    }
    Found::Absent
}

/// Says whether the linker was the system's own, run by a compiler of the system: it has looked into the default
/// folders already, and a library there must have come since.
fn is_system_linker(inquiry: &Inquiry<'_>) -> bool {
    let host = inquiry.host;
    let foreign = |name: &str| host.env(name).is_some_and(|value| value.to_string_lossy().contains("--sysroot"));
    if ["CFLAGS", "CXXFLAGS", "LDFLAGS"].iter().any(|name| foreign(name)) || host.env("CONDA_BUILD_SYSROOT").is_some() {
        return false;
    }
    let of_system = |path: &str| {
        let path = Path::new(path);
        let real = host.real(path).unwrap_or_else(|_| path.to_owned());
        ["/usr/bin", "/bin", "/usr/lib", "/lib"]
            .iter()
            .any(|folder| path.starts_with(folder) && real.starts_with("/usr"))
    };
    if cached(inquiry, "CMAKE_SYSROOT").is_some_and(|sysroot| !sysroot.is_empty()) {
        return false;
    }
    compiler(inquiry).or_else(|| inquiry.text("linker")).is_some_and(|program| of_system(&program))
}

/// Returns the compiler that the build tree's cache names.
fn compiler(inquiry: &Inquiry<'_>) -> Option<String> {
    let absolute = |name: &str| cached(inquiry, name).filter(|path| path.starts_with('/'));
    absolute("CMAKE_CXX_COMPILER").or_else(|| absolute("CMAKE_C_COMPILER"))
}

fn cached(inquiry: &Inquiry<'_>, name: &str) -> Option<String> {
    let cache = Cache::read(inquiry.host, Path::new(&inquiry.text("tree")?))?;
    cache.get(name).map(str::to_owned)
}

#[cfg(test)]
#[path = "library_folder_tests.rs"]
mod tests;
