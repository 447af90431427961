//! Thin adapters to the operating system: paths, files, processes and ptys, git.
//!
//! They decide nothing about repairs and never print.

pub mod fault;
pub mod files;
pub mod git;
pub mod machine;
pub mod name;
pub mod path;
pub mod ports;
pub mod process;
pub mod pty;
pub mod rights;
pub mod signals;
pub mod survey;
pub mod terminal;
pub mod trees;
pub mod web;

pub use name::Name;
pub use path::{AbsPath, PathError};
