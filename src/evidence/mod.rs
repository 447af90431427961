//! What happened, before anyone interprets it: logs, the machine as it may be read, questions to it.
//!
//! Everything here reads. Nothing executes what a project or a log names.

pub mod ascend;
pub mod ascend_tables;
pub mod build_command;
pub mod build_tree;
pub mod cann_codes;
pub mod cann_version;
mod git;
pub mod host;
mod interrogate;
pub mod leftovers;
pub mod llvm_packages;
pub mod log;
pub mod mounts;
pub mod other_builds;
pub mod own_files;
pub mod ports;
pub mod present_source;
pub mod questions;
pub mod sourced;
pub mod torch_launch;

pub use git::{tracked_file, tracked_folder};
pub use host::{FileKind, GitState, Host, LocalHost, Metadata};
pub use interrogate::{Machine, ProbeAnswer, ask, interrogate};
