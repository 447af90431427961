//! Which libstdc++ is loaded for a file, and would another one of this machine serve it?

use std::path::{Path, PathBuf};

use super::{Answer, ArgSpec, Inquiry, Question, UNKNOWN};
use crate::evidence::Host;
use crate::evidence::elf::{Elf, NotElf, VersionNeed};
use crate::evidence::loader::Loader;
use crate::evidence::python_places::PythonPlaces;
use crate::recipe::Text;

/// The questions of this file.
pub const QUESTIONS: &[Question] = &[Question {
    name: "libstdcxx_for",
    about: "Finds the libstdc++ that is loaded for a library, and another one of this machine that has what it lacks.",
    args: &[
        ArgSpec { name: "library", required: true, about: "The library that asks" },
        ArgSpec { name: "provider", required: false, about: "The libstdc++ that the loader complained of" },
    ],
    answers: &["shadowed", "shadowed_among_others", "newer_elsewhere", "fixed_path", "too_old", "met", "gone"],
    values: &["provider", "lacking", "better", "folder", "also", "newest"],
    ask: libstdcxx_for,
}];

const NAME: &str = "libstdc++.so.6";
/// Names in a folder with libraries.
const MOST_NAMES: usize = 100_000;
/// Libraries told to the user at most.
const TOLD: usize = 5;

fn libstdcxx_for(inquiry: &Inquiry<'_>) -> Answer {
    let host = inquiry.host;
    let unknown = |en: String, zh: String| Answer::new(UNKNOWN, Text::new(en, zh));
    let Some(named) = inquiry.list("library").into_iter().next() else {
        return unknown("no library is named".into(), "没有给出库名".into());
    };
    let library = host.project().as_path().join(&named);
    let needs = match needs(host, &library) {
        Ok(needs) => needs,
        Err(NotElf::Missing) => {
            return Answer::new(
                "gone",
                Text::new(format!("`{named}` is not there any more"), format!("`{named}` 已不存在")),
            );
        }
        Err(error) => return unknown(format!("`{named}`: {error}"), format!("无法读取 `{named}`（{error}）")),
    };
    let places = PythonPlaces::of(host, inquiry.command, Some(&library));
    let before: Vec<PathBuf> = places.program.iter().cloned().collect();
    let found = |loader: &Loader<'_>| provider(loader, &library, &before);
    let loader = Loader::of(host);
    let Some(taken) = found(&loader) else {
        return unknown(format!("no libstdc++ is found for `{named}`"), format!("没有为 `{named}` 找到 libstdc++"));
    };
    let lacking = lacking(host, &taken, &needs);
    let shown = taken.display().to_string();
    if lacking.is_empty() {
        let seen = Text::new(
            format!("`{shown}` has all that `{named}` asks for"),
            format!("`{shown}` 具备 `{named}` 所需的全部版本"),
        );
        return Answer::new("met", seen).with("provider", shown);
    }
    let list = lacking.join(", ");
    // What the loader says weighs more than what is worked out here: another program may have loaded its own.
    let real = |path: &Path| host.real(path).unwrap_or_else(|_| path.to_owned());
    let other =
        inquiry.text("provider").map(PathBuf::from).filter(|told| told.is_absolute() && real(told) != real(&taken));
    if let Some(told) = other {
        let told = told.display();
        return unknown(
            format!("the loader took `{told}`, where `{shown}` is expected"),
            format!("加载器使用了 `{told}`，而按环境推断应为 `{shown}`"),
        );
    }
    let candidates = candidates(host, &loader, places.program.as_deref());
    let newest = candidates.iter().filter_map(|path| newest(host, path)).max().map(|(version, _)| version);
    let better = candidates.into_iter().find(|path| self::lacking(host, path, &needs).is_empty());
    let Some(better) = better else {
        let seen = Text::new(
            format!("`{shown}` lacks {list}, and no libstdc++ here has it"),
            format!("`{shown}` 缺少 {list}，本机也没有具备它的 libstdc++"),
        );
        let answer = Answer::new("too_old", seen).with("provider", shown).with("lacking", lacking);
        return match newest {
            Some(version) => answer.with("newest", format!("GLIBCXX_3.4.{version}")),
            None => answer,
        };
    };
    let folder = better.parent().unwrap_or(Path::new("/")).to_owned();
    let seen = Text::new(
        format!("`{shown}` lacks {list}; `{}` has it", better.display()),
        format!("`{shown}` 缺少 {list}；`{}` 具备", better.display()),
    );
    let put_first = Loader::of(host).with_first(std::slice::from_ref(&folder));
    let helps = found(&put_first).is_some_and(|taken| self::lacking(host, &taken, &needs).is_empty());
    let also = also_changed(host, &loader, &folder);
    let hidden = loader.environment().iter().any(|entry| taken.starts_with(entry));
    let word = match (helps, hidden && loader.is_default(&folder), also.is_empty()) {
        (false, _, _) => "fixed_path",
        (true, true, true) => "shadowed",
        (true, true, false) => "shadowed_among_others",
        (true, false, _) => "newer_elsewhere",
    };
    let answer = Answer::new(word, seen)
        .with("provider", shown)
        .with("lacking", lacking)
        .with("better", better.display().to_string())
        .with("folder", folder.display().to_string());
    if also.is_empty() { answer } else { answer.with("also", also) }
}

fn needs(host: &dyn Host, library: &Path) -> Result<Vec<VersionNeed>, NotElf> {
    let needs = Elf::open(host, library)?.version_needs()?;
    Ok(needs.into_iter().filter(|need| need.library == NAME && !need.weak).collect())
}

fn provider(loader: &Loader<'_>, library: &Path, before: &[PathBuf]) -> Option<PathBuf> {
    let scope = loader.scope(library, before).ok()?;
    scope.library(NAME).map(|elf| elf.path().to_owned())
}

/// Lists the versions that a libstdc++ lacks; one that cannot be read lacks all.
fn lacking(host: &dyn Host, provider: &Path, needs: &[VersionNeed]) -> Vec<String> {
    let given = Elf::open(host, provider).and_then(|elf| elf.versions()).unwrap_or_default();
    needs.iter().map(|need| need.version.clone()).filter(|version| !given.contains(version)).collect()
}

/// Lists every libstdc++ that may be asked to serve: the loader's own, conda's, the one beside the interpreter.
fn candidates(host: &dyn Host, loader: &Loader<'_>, program: Option<&Path>) -> Vec<PathBuf> {
    let mut all = loader.all(NAME);
    let conda = host.env("CONDA_PREFIX").map(|prefix| PathBuf::from(prefix).join("lib").join(NAME));
    let real = program.and_then(|program| host.real(program).ok());
    let beside = real.and_then(|program| Some(program.parent()?.parent()?.join("lib").join(NAME)));
    let more = conda.into_iter().chain(beside);
    all.extend(more.filter(|path| path.is_absolute() && Elf::open(host, path).is_ok()));
    all
}

/// Returns the highest `GLIBCXX_3.4.N` of a library.
fn newest(host: &dyn Host, path: &Path) -> Option<(u32, PathBuf)> {
    let versions = Elf::open(host, path).and_then(|elf| elf.versions()).unwrap_or_default();
    let numbers = versions.iter().filter_map(|version| version.strip_prefix("GLIBCXX_3.4.")?.parse().ok());
    numbers.max().map(|version| (version, path.to_owned()))
}

/// Lists other libraries that would come from `folder` as well, where now a folder of LD_LIBRARY_PATH gives them.
fn also_changed(host: &dyn Host, loader: &Loader<'_>, folder: &Path) -> Vec<String> {
    let mut also = Vec::new();
    for entry in loader.environment().iter().filter(|entry| *entry != folder) {
        for name in host.list(entry, MOST_NAMES).unwrap_or_default() {
            let Some(text) = name.to_str().filter(|name| name.contains(".so")) else { continue };
            let is_runtime = text.starts_with("libstdc++.so") || text.starts_with("libgcc_s.so");
            if !is_runtime && host.follow(&folder.join(text)).is_ok() && !also.iter().any(|have| have == text) {
                also.push(text.to_owned());
            }
        }
    }
    also.sort();
    also.truncate(TOLD);
    also
}
