//! Why has the folder that ninja is called in no build.ninja?

use super::{Answer, ArgSpec, Inquiry, Question};
use crate::evidence::build_command;
use crate::evidence::build_tree;
use crate::formats::cmake_cache::CMakeCache;
use crate::os::AbsPath;
use crate::recipe::Text;

/// The questions of this file.
pub const QUESTIONS: &[Question] = &[Question {
    name: "build_files",
    about: "Tells whether the folder that ninja is called in was never configured, only half, or for another program.",
    args: &[ArgSpec { name: "folder", required: false, about: "The folder, as ninja names it" }],
    answers: &["other_generator", "half_configured", "not_configured", "here"],
    values: &["folder", "generator", "source", "trees"],
    ask: build_files,
}];

fn build_files(inquiry: &Inquiry<'_>) -> Answer {
    let host = inquiry.host;
    let folder = by_command(inquiry).or_else(|| inquiry.text("folder").map(|folder| host.project().resolve(folder)));
    let folder = folder.unwrap_or_else(|| host.project().clone());
    let about = |word, en: String, zh: String| Answer::new(word, Text::new(en, zh)).with("folder", folder.to_string());
    if host.follow(&folder.as_path().join("build.ninja")).is_ok() {
        return about("here", format!("`{folder}` has a build.ninja"), format!("`{folder}` 中有 build.ninja"));
    }
    let Some(bytes) = build_tree::read_cache(host, folder.as_path()) else {
        let trees: Vec<String> = build_tree::in_usual_places(host)
            .into_iter()
            .filter(|tree| host.follow(&tree.as_path().join("build.ninja")).is_ok())
            .map(|tree| tree.to_string())
            .collect();
        let answer = about(
            "not_configured",
            format!("`{folder}` has neither build.ninja nor CMakeCache.txt"),
            format!("`{folder}` 中既没有 build.ninja 也没有 CMakeCache.txt"),
        );
        return if trees.is_empty() { answer } else { answer.with("trees", trees) };
    };
    let cache = CMakeCache::parse(&bytes);
    let generator = cache.value("CMAKE_GENERATOR").unwrap_or_default();
    let answer = if generator.is_empty() || generator.starts_with("Ninja") {
        about(
            "half_configured",
            format!("`{folder}` has a cache but no build.ninja: its configure did not end well"),
            format!("`{folder}` 中有缓存但没有 build.ninja：上次配置没有成功"),
        )
    } else {
        about(
            "other_generator",
            format!("`{folder}` is configured for {generator}"),
            format!("`{folder}` 是为 {generator} 配置的"),
        )
        .with("generator", generator)
    };
    match cache.value("CMAKE_HOME_DIRECTORY") {
        Some(source) => answer.with("source", source),
        None => answer,
    }
}

/// The folder of `ninja -C folder` and `cmake --build folder`.
fn by_command(inquiry: &Inquiry<'_>) -> Option<AbsPath> {
    let words = build_command::plain_words(inquiry.command?)?;
    let (program, arguments) = build_command::strip_wrappers(&words)?.split_first()?;
    let project = inquiry.host.project();
    match build_command::base_name(program) {
        "ninja" | "ninja-build" | "samu" => build_command::folder_option(arguments, &["-C"], project),
        "cmake" | "cmake3" => {
            let at = arguments.iter().position(|word| word == "--build")?;
            let folder =
                arguments.get(at + 1).filter(|word| build_command::is_literal(word) && !word.starts_with('-'))?;
            Some(project.resolve(folder))
        }
        _ => None,
    }
}
