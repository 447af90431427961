//! Is something there?

use std::path::Path;

use super::{Answer, ArgSpec, Inquiry, Question, UNKNOWN};
use crate::recipe::Text;

/// The questions of this file.
pub const QUESTIONS: &[Question] = &[Question {
    name: "path_exists",
    about: "Says whether a file or folder is there.",
    args: &[ArgSpec { name: "path", required: false, about: "The path" }],
    answers: &["there", "missing"],
    values: &[],
    ask: path_exists,
}];

fn path_exists(inquiry: &Inquiry<'_>) -> Answer {
    let unknown = || Answer::new(UNKNOWN, Text::new("no path is known", "路径未知"));
    let Some(path) = inquiry.text("path").filter(|path| path.starts_with('/')) else { return unknown() };
    match inquiry.host.follow(Path::new(&path)) {
        Ok(_) => Answer::new("there", Text::new(format!("`{path}` is there"), format!("`{path}` 存在"))),
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => {
            Answer::new("missing", Text::new(format!("`{path}` is not there"), format!("`{path}` 不存在")))
        }
        Err(_) => unknown(),
    }
}
