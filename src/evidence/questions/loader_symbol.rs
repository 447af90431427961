//! Why does the loader not find a symbol?
//!
//! The library that asks, those that are loaded with it and those that are installed are read as files. Which of them
//! gives the symbol, under which C++ ABI, tells the causes apart that the loader has one message for.

use std::path::{Path, PathBuf};

use super::{Answer, ArgSpec, Inquiry, Question, UNKNOWN};
use crate::evidence::cxx_names::{self, Owner, StringAbi};
use crate::evidence::elf::{Elf, NotElf};
use crate::evidence::loader::{Loader, Scope};
use crate::evidence::python_places::PythonPlaces;
use crate::evidence::{FileKind, Host, cann_libraries};
use crate::recipe::Text;

/// The questions of this file.
pub const QUESTIONS: &[Question] = &[Question {
    name: "loader_symbol",
    about: "Says why the loader does not find a symbol: another C++ ABI, another version, a library that is not on \
            the path, not linked, or hidden by another copy.",
    args: &[
        ArgSpec { name: "library", required: true, about: "The library that asks" },
        ArgSpec { name: "symbol", required: true, about: "The symbol, mangled" },
    ],
    answers: &[
        "resolved",
        "other_abi",
        "other_version",
        "other_python",
        "shadowed",
        "not_on_path",
        "given_elsewhere",
        "absent",
        "gone",
        "damaged",
    ],
    values: &["giver", "abi", "built_with", "folder", "set_env", "package", "python", "built_for", "missing", "reason"],
    ask: loader_symbol,
}];

/// Libraries that are read whole for their C++ names.
const MOST_READ: usize = 200;
/// Libraries that are asked for one name.
const MOST_ASKED: usize = 20_000;
/// Larger ones are asked by their hash table only, but for the frameworks'.
const LARGEST_READ: u64 = 128 << 20;
const MOST_NAMES: usize = 20_000;

fn loader_symbol(inquiry: &Inquiry<'_>) -> Answer {
    let host = inquiry.host;
    let (Some(named), Some(symbol)) = (first(inquiry, "library"), first(inquiry, "symbol")) else {
        return Answer::new(UNKNOWN, Text::new("no symbol of a library is named", "没有给出库与符号"));
    };
    let path = host.project().as_path().join(&named);
    match search(inquiry, &named, &path, &symbol) {
        Ok(answer) => answer,
        Err(NotElf::Missing) => {
            Answer::new("gone", Text::new(format!("`{named}` is not there any more"), format!("`{named}` 已不存在")))
        }
        Err(error) => {
            Answer::new("damaged", Text::new(format!("`{named}`: {error}"), format!("`{named}` 已损坏或无法读取")))
                .with("reason", error.to_string())
        }
    }
}

fn first(inquiry: &Inquiry<'_>, name: &str) -> Option<String> {
    inquiry.list(name).into_iter().next().filter(|text| !text.is_empty())
}

fn search(inquiry: &Inquiry<'_>, named: &str, path: &Path, symbol: &str) -> Result<Answer, NotElf> {
    let host = inquiry.host;
    let asking = Elf::open(host, path)?;
    let places = PythonPlaces::of(host, inquiry.command, Some(path));
    let owner = cxx_names::owner(symbol);
    let loader = Loader::of(host);
    let framework = framework(host, &places, owner);
    // What imports an extension of a framework has imported the framework.
    let mut before: Vec<PathBuf> = places.program.iter().cloned().collect();
    before.extend(framework.iter().cloned());
    let scope = loader.scope(path, &before)?;
    if !asking.wanted()?.iter().any(|wanted| wanted.name == symbol) {
        let seen = Text::new(
            format!("`{named}` does not ask for `{symbol}` any more"),
            format!("`{named}` 已不再需要 `{symbol}`"),
        );
        return Ok(Answer::new("resolved", seen));
    }
    if let Some(giver) = scope.giver(symbol) {
        return Ok(given("resolved", giver.path(), symbol));
    }
    if let Some(answer) = other_abi(host, &scope, &places, owner, &framework, symbol)? {
        return Ok(answer);
    }
    if let Some(answer) = shadowed(host, &loader, &asking, path, &before, symbol)? {
        return Ok(answer);
    }
    Ok(match owner {
        Owner::Python => of_python(named, &places, symbol),
        Owner::Cann => of_cann(host, &scope, symbol),
        Owner::Torch | Owner::TorchNpu | Owner::MindSpore => of_framework(owner, &framework, symbol),
        Owner::CxxLibrary | Owner::Other => elsewhere(host, &loader, &scope, &places, symbol),
    })
}

fn given(word: &'static str, giver: &Path, symbol: &str) -> Answer {
    let giver = giver.display().to_string();
    let seen = Text::new(format!("`{giver}` gives `{symbol}`"), format!("`{giver}` 提供 `{symbol}`"));
    Answer::new(word, seen).with("giver", giver)
}

/// The package that a framework installs its libraries with.
fn package(owner: Owner) -> Option<&'static str> {
    match owner {
        Owner::Torch => Some("torch"),
        Owner::TorchNpu => Some("torch_npu"),
        Owner::MindSpore => Some("mindspore"),
        Owner::Cann | Owner::Python | Owner::CxxLibrary | Owner::Other => None,
    }
}

/// Lists the libraries of the framework that a symbol belongs to; torch_npu's come with PyTorch's.
fn framework(host: &dyn Host, places: &PythonPlaces, owner: Owner) -> Vec<PathBuf> {
    let names: &[&str] = match owner {
        Owner::Torch => &["torch"],
        Owner::TorchNpu => &["torch_npu", "torch"],
        Owner::MindSpore => &["mindspore"],
        Owner::Cann | Owner::Python | Owner::CxxLibrary | Owner::Other => &[],
    };
    let folders = names.iter().filter_map(|name| places.of_package(host, name));
    folders.flat_map(|folder| libraries(host, &folder)).collect()
}

/// Lists the shared libraries right in a folder.
fn libraries(host: &dyn Host, folder: &Path) -> Vec<PathBuf> {
    let names = host.list(folder, MOST_NAMES).unwrap_or_default();
    let is_library = |name: &str| name.ends_with(".so") || name.contains(".so.");
    let names = names.iter().filter(|name| name.to_str().is_some_and(is_library));
    names
        .map(|name| folder.join(name))
        .filter(|path| host.follow(path).is_ok_and(|m| m.kind == FileKind::File))
        .collect()
}

/// Looks for the same function under the other string ABI.
fn other_abi(
    host: &dyn Host,
    scope: &Scope<'_>,
    places: &PythonPlaces,
    owner: Owner,
    framework: &[PathBuf],
    symbol: &str,
) -> Result<Option<Answer>, NotElf> {
    if owner == Owner::CxxLibrary || !symbol.starts_with("_Z") {
        return Ok(None);
    }
    let mut files: Vec<PathBuf> = framework.to_vec();
    files.extend(scope.objects.iter().map(|loaded| loaded.elf.path().to_owned()));
    if owner == Owner::Other {
        files.extend(packaged(host, places));
    }
    files.dedup();
    for path in files.iter().take(MOST_READ) {
        let small = host.follow(path).is_ok_and(|meta| meta.len <= LARGEST_READ);
        if !small && !framework.contains(path) {
            continue;
        }
        let Ok(symbols) = Elf::open(host, path).and_then(|elf| elf.symbols()) else { continue };
        let mut defined = symbols.iter().filter(|symbol| symbol.defined);
        if let Some(same) = defined.find(|given| cxx_names::is_same_with_other_abi(symbol, &given.name)) {
            let abi = match cxx_names::string_abi(&same.name) {
                Some(abi) => abi,
                // Without a string in its own name it is the one that lacks the mark.
                None => StringAbi::Old,
            };
            let giver = path.display().to_string();
            let seen = Text::new(
                format!("`{giver}` has it with _GLIBCXX_USE_CXX11_ABI={}: `{}`", abi.flag(), same.name),
                format!("`{giver}` 中的是 _GLIBCXX_USE_CXX11_ABI={} 的版本：`{}`", abi.flag(), same.name),
            );
            return Ok(Some(
                Answer::new("other_abi", seen)
                    .with("giver", giver)
                    .with("abi", abi.flag())
                    .with("built_with", abi.other().flag()),
            ));
        }
    }
    Ok(None)
}

/// Lists the libraries that packages bring: `<package>/lib/*.so`, `<package>.libs/*.so`, `<package>/*.so`.
fn packaged(host: &dyn Host, places: &PythonPlaces) -> Vec<PathBuf> {
    let mut all = Vec::new();
    for folder in &places.folders {
        all.extend(libraries(host, folder));
        for name in host.list(folder, MOST_NAMES).unwrap_or_default() {
            let package = folder.join(&name);
            if all.len() < MOST_ASKED && !name.to_string_lossy().ends_with("-info") {
                all.extend(libraries(host, &package));
                all.extend(libraries(host, &package.join("lib")));
            }
        }
    }
    all
}

/// Looks for another copy of a library that the file names.
fn shadowed(
    host: &dyn Host,
    loader: &Loader<'_>,
    asking: &Elf<'_>,
    path: &Path,
    before: &[PathBuf],
    symbol: &str,
) -> Result<Option<Answer>, NotElf> {
    for name in asking.needed()? {
        let mut copies = loader.all(&name);
        copies.extend(asking.runpath()?.unwrap_or_default().iter().map(|folder| folder.join(&name)));
        let gives = |copy: &&PathBuf| Elf::open(host, copy).is_ok_and(|elf| elf.gives(symbol).unwrap_or(false));
        let Some(better) = copies.iter().find(gives) else { continue };
        let Some(folder) = better.parent().map(Path::to_owned) else { continue };
        let put_first = Loader::of(host).with_first(std::slice::from_ref(&folder));
        if put_first.scope(path, before)?.giver(symbol).is_some() {
            let folder = folder.display().to_string();
            return Ok(Some(given("shadowed", better, symbol).with("folder", folder).with("missing", name)));
        }
    }
    Ok(None)
}

fn of_python(named: &str, places: &PythonPlaces, symbol: &str) -> Answer {
    let Some((major, minor)) = places.version else {
        return Answer::new(UNKNOWN, Text::new("which Python imports it is not known", "不清楚由哪个 Python 导入"));
    };
    let python = format!("{major}.{minor}");
    let file = named.rsplit('/').next().unwrap_or(named);
    let tag = file.split('.').find_map(|part| part.strip_prefix("cpython-")).and_then(|rest| rest.split('-').next());
    let built_for = tag.and_then(|tag| Some(format!("{}.{}", tag.get(..1)?, tag.get(1..)?)));
    let seen =
        Text::new(format!("Python {python} does not give `{symbol}`"), format!("Python {python} 不提供 `{symbol}`"));
    let answer = Answer::new("other_python", seen).with("python", python);
    match built_for {
        Some(built_for) => answer.with("built_for", built_for),
        None => answer,
    }
}

fn of_cann(host: &dyn Host, scope: &Scope<'_>, symbol: &str) -> Answer {
    let roots = cann_libraries::roots(host);
    for root in &roots {
        let folders = cann_libraries::folders(host, root);
        let all = folders.iter().flat_map(|folder| libraries(host, folder));
        let gives = |path: &PathBuf| Elf::open(host, path).is_ok_and(|elf| elf.gives(symbol).unwrap_or(false));
        if let Some(giver) = all.take(MOST_ASKED).find(gives) {
            let name = giver.file_name().unwrap_or_default().to_string_lossy().into_owned();
            // A path helps only whoever asks for the library by its name.
            if !scope.missing.iter().any(|(missing, _)| *missing == name) {
                return given("given_elsewhere", &giver, symbol);
            }
            let folder = giver.parent().unwrap_or(Path::new("/")).display().to_string();
            let answer = given("not_on_path", &giver, symbol).with("folder", folder);
            let missing: Vec<String> = scope.missing.iter().map(|(name, _)| name.clone()).collect();
            let answer = if missing.is_empty() { answer } else { answer.with("missing", missing) };
            return match cann_libraries::set_env(host, root) {
                Some(script) => answer.with("set_env", script.display().to_string()),
                None => answer,
            };
        }
    }
    if roots.is_empty() {
        let seen = Text::new(
            format!("`{symbol}` is CANN's, and no CANN is found here"),
            format!("`{symbol}` 属于 CANN，而本机没有找到 CANN"),
        );
        return Answer::new("absent", seen);
    }
    let list = roots.iter().map(|root| format!("`{}`", root.display())).collect::<Vec<_>>().join(", ");
    let seen = Text::new(
        format!("`{symbol}` is CANN's, and {list} does not give it"),
        format!("`{symbol}` 属于 CANN，而 {list} 中没有"),
    );
    Answer::new("other_version", seen).with("package", "CANN")
}

fn of_framework(owner: Owner, framework: &[PathBuf], symbol: &str) -> Answer {
    let package = package(owner).unwrap_or_default();
    let Some(folder) = framework.first().and_then(|path| path.parent()) else {
        let seen = Text::new(
            format!("`{symbol}` is {package}'s, and no {package} is found here"),
            format!("`{symbol}` 属于 {package}，而本机没有找到它"),
        );
        return Answer::new("absent", seen).with("package", package);
    };
    let folder = folder.display().to_string();
    let seen = Text::new(
        format!("no library in `{folder}` gives `{symbol}`, under neither C++ ABI"),
        format!("`{folder}` 中的库都不提供 `{symbol}`，两种 C++ ABI 都没有"),
    );
    Answer::new("other_version", seen).with("package", package).with("folder", folder)
}

/// Looks for a library anywhere that gives the symbol, which the file does not name.
fn elsewhere(host: &dyn Host, loader: &Loader<'_>, scope: &Scope<'_>, places: &PythonPlaces, symbol: &str) -> Answer {
    let files = packaged(host, places).into_iter().chain(loader.known());
    let gives = |path: &PathBuf| Elf::open(host, path).is_ok_and(|elf| elf.gives(symbol).unwrap_or(false));
    if let Some(giver) = files.take(MOST_ASKED).find(gives) {
        return given("given_elsewhere", &giver, symbol);
    }
    if !scope.missing.is_empty() || scope.cut {
        let missing: Vec<String> = scope.missing.iter().map(|(name, _)| name.clone()).collect();
        let list = missing.join(", ");
        let seen =
            Text::new(format!("{list} is not found, and may give it"), format!("没有找到 {list}，符号可能在其中"));
        return Answer::new(UNKNOWN, seen).with("missing", missing);
    }
    let seen = Text::new(
        format!("no library that is installed here gives `{symbol}`"),
        format!("本机已安装的库都不提供 `{symbol}`"),
    );
    Answer::new("absent", seen)
}
