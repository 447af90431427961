//! What happened, before anyone interprets it: logs, the machine as it may be read, questions to it.
//!
//! Everything here reads. Nothing executes what a project or a log names.

pub mod build_command;
pub mod build_tree;
pub mod cann_codes;
pub mod cmake_presets;
mod git;
pub mod host;
mod interrogate;
pub mod inventory;
pub mod leftovers;
pub mod llvm_packages;
pub mod log;
pub mod mounts;
pub mod other_builds;
pub mod own_files;
pub mod present_source;
pub mod questions;

pub use git::{tracked_file, tracked_folder};
pub use host::{FileKind, GitState, Host, LocalHost, Metadata, Tally};
pub use interrogate::{Machine, ProbeAnswer, ask, interrogate};
