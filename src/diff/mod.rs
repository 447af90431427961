//! A plan as a person or `git apply` reads it.
//!
//! [`render_patch`] gives exact bytes for programs, [`render_for_screen`] redacted and escaped text for people.
//! Both read the plan and nothing else, so that neither can disagree with what the repair does.

mod patch;
mod screen;
mod unified;
pub(crate) mod words;
mod wrap;

pub use patch::{LeftOut, Patch, Reason, render_patch};
pub use screen::{Colour, ScreenStyle, render_file, render_for_screen, shown_command};
pub(crate) use screen::{bytes_for_reading, thousands};
pub use unified::DiffError;
pub(crate) use wrap::{pad, wrap};
