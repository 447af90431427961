//! What a build has left of an extension, and whether the user's command would build it again.

use super::{Answer, ArgSpec, Inquiry, Place, Question, UNKNOWN};
use crate::evidence::Host;
use crate::evidence::build_command::{self, BuildCommand};
use crate::evidence::extension_objects::{self, Leftover};
use crate::os::AbsPath;
use crate::recipe::Text;

/// The questions of this file.
pub const QUESTIONS: &[Question] = &[Question {
    name: "extension_build",
    about: "Finds the objects that a build has left of an extension, and whether the user's command builds it again.",
    args: &[
        ArgSpec { name: "library", required: true, about: "The extension module" },
        ArgSpec { name: "macro", required: false, about: "A macro whose value matters" },
        ArgSpec { name: "value", required: false, about: "The value that it must have" },
    ],
    answers: &["rebuilds", "run_time", "set_by_project", "builds_elsewhere", "not_built", "tracked"],
    values: &["project", "trees", "module", "setting"],
    ask: extension_build,
}];

/// Files in which a project gives flags.
const SETTINGS: &[&str] = &["setup.py", "pyproject.toml", "setup.cfg", "CMakeLists.txt"];
const LARGEST_SETTINGS: u64 = 4 << 20;

fn extension_build(inquiry: &Inquiry<'_>) -> Answer {
    let host = inquiry.host;
    let named = inquiry.list("library").into_iter().next().unwrap_or_default();
    if named.is_empty() {
        return Answer::new(UNKNOWN, Text::new("no library is named", "没有给出库名"));
    }
    let library = host.project().resolve(&named);
    let builds = inquiry.command.map(|command| build_command::recognise(command, host)).unwrap_or_default();
    let (word, left) = match extension_objects::left_at_run_time(host, &library) {
        Some(left) => ("run_time", left),
        None => match extension_objects::left_by_command(host, &library, &builds) {
            Some(left) => ("rebuilds", left),
            None => return without_command(host, &library, &named, &builds),
        },
    };
    for tree in &left.trees {
        if let Err(why) = extension_objects::recognise(host, tree) {
            return Answer::new("tracked", why).with("project", left.project.to_string());
        }
    }
    if let Some((macro_name, value)) = inquiry.text("macro").zip(inquiry.text("value"))
        && let Some((place, other)) = set_otherwise(host, &left.project, &macro_name, &value)
    {
        let setting = format!("{}:{}", place.path, place.line);
        let seen = Text::new(
            format!("`{setting}` gives {macro_name} the value {other}"),
            format!("`{setting}` 把 {macro_name} 设为 {other}"),
        );
        let mut answer = Answer::new("set_by_project", seen).with("setting", setting);
        answer.places.push(place);
        return answer.with("project", left.project.to_string());
    }
    found(word, &left)
}

fn found(word: &'static str, left: &Leftover) -> Answer {
    let trees: Vec<String> = left.trees.iter().map(AbsPath::to_string).collect();
    let list = trees.iter().map(|tree| format!("`{tree}`")).collect::<Vec<_>>();
    let seen = Text::new(format!("a build has left {}", list.join(", ")), format!("构建留下了 {}", list.join("、")));
    let answer = Answer::new(word, seen).with("project", left.project.to_string()).with("trees", trees);
    match &left.module {
        Some(module) => answer.with("module", module.to_string()),
        None => answer,
    }
}

/// Answers where the user's command builds nothing that this module could come from.
fn without_command(host: &dyn Host, library: &AbsPath, named: &str, builds: &[BuildCommand]) -> Answer {
    let is_python = |build: &&BuildCommand| match build {
        BuildCommand::Python(_) => true,
        BuildCommand::Configure(_) | BuildCommand::Build { .. } => false,
    };
    let mut above = library.parent();
    let mut project = None;
    while let Some(folder) = above.filter(|folder| folder.is_within(host.project())) {
        if extension_objects::is_package(host, &folder) {
            project = Some(folder);
            break;
        }
        above = folder.parent();
    }
    if builds.iter().any(|build| is_python(&build)) {
        let seen = Text::new(
            format!("the command builds, and what it builds is not seen to be `{named}`"),
            format!("该命令会执行构建，但看不出它构建的是 `{named}`"),
        );
        return Answer::new("builds_elsewhere", seen);
    }
    let seen =
        Text::new(format!("the command does not build `{named}` again"), format!("该命令不会重新构建 `{named}`"));
    let answer = Answer::new("not_built", seen);
    match project {
        Some(project) => answer.with("project", project.to_string()),
        None => answer,
    }
}

/// Finds a place where the project's own files give a macro another value: what stands there wins over the environment.
fn set_otherwise(host: &dyn Host, project: &AbsPath, name: &str, value: &str) -> Option<(Place, String)> {
    for file in SETTINGS {
        let path = project.resolve(file);
        let Ok(bytes) = host.read(path.as_path(), LARGEST_SETTINGS) else { continue };
        let text = String::from_utf8_lossy(&bytes).into_owned();
        for (at, line) in text.lines().enumerate() {
            let code = line.split('#').next().unwrap_or_default();
            let Some(found) = code.find(name) else { continue };
            // `-DNAME=0`, `("NAME", "0")`, `NAME = 0`; what is worked out when it runs tells nothing here.
            let behind = code[found + name.len()..].trim_start_matches(['"', '\'', ',', '=', ' ', '\t']);
            let other: String = behind.chars().take_while(char::is_ascii_alphanumeric).collect();
            if matches!(other.as_str(), "0" | "1") && other != value {
                let says = Text::new(format!("{name} is {other} here"), format!("此处 {name} 为 {other}"));
                let column = code[..found].chars().count() as u32 + 1;
                return Some((Place { path, line: at as u32 + 1, column, says }, other));
            }
        }
    }
    None
}
