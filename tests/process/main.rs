//! `build_fix::os::process` with real programs: as if we were not there, with pipes, files and terminals.

mod pipes;
mod place;
mod terminal;
mod terminals;
