//! Results as text for a terminal: redacted, escaped, wrapped between words, understandable without colour.

mod catalogue;
mod diagnosis;
#[cfg(test)]
mod golden;
mod page;
mod results;
#[cfg(test)]
pub(super) mod samples;

use std::ffi::OsStr;

use crate::recipe::Lang;

pub use crate::diff::Colour;
pub use catalogue::{render_catalogue, render_code, render_history, render_recipe};
pub use diagnosis::render_diagnosis;
pub(super) use page::{confidence, level};
pub use results::{render_apply, render_plan, render_rollback, render_run};

/// How text is laid out.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct TextStyle {
    pub lang: Lang,
    pub colour: Colour,
    /// Columns at which prose is wrapped; paths and lines of logs never are.
    pub width: usize,
}

/// Columns where nothing says otherwise.
const USUAL_WIDTH: usize = 80;
/// Narrower is not honoured: every word would stand alone.
const NARROWEST: usize = 20;

/// Chooses the width from COLUMNS, else from what the terminal says, else 80.
pub fn choose_width(columns: Option<&OsStr>, terminal: Option<usize>) -> usize {
    said_width(columns, terminal).unwrap_or(USUAL_WIDTH)
}

/// The width that COLUMNS or else the terminal says, where one does.
pub fn said_width(columns: Option<&OsStr>, terminal: Option<usize>) -> Option<usize> {
    let said = columns.and_then(OsStr::to_str).and_then(|text| text.trim().parse().ok()).filter(|width| *width > 0);
    said.or(terminal.filter(|width| *width > 0)).map(|width: usize| width.max(NARROWEST))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn width() {
        let cases = [
            (Some("120"), None, 120),
            (Some(""), Some(100), 100),
            (Some("x"), None, 80),
            (Some("0"), None, 80),
            (Some("3"), None, 20),
            (None, Some(0), 80),
        ];
        for (columns, terminal, want) in cases {
            assert_eq!(choose_width(columns.map(OsStr::new), terminal), want);
        }
    }
}
