//! What happened, before anyone interprets it: logs, the machine as it may be read, questions to it.
//!
//! Everything here reads. Nothing executes what a project or a log names.

pub mod ascend;
pub mod ascend_tables;
pub mod build_command;
pub mod build_tree;
pub mod cann_codes;
pub mod cann_libraries;
pub mod cann_version;
pub mod cmake_presets;
pub mod compilers;
pub mod conda;
pub mod cxx_names;
pub mod elf;
pub mod extension_objects;
mod git;
pub mod host;
pub mod index_url;
mod interrogate;
pub mod inventory;
pub mod leftovers;
pub mod llvm_packages;
pub mod loader;
pub mod log;
mod memo;
pub mod mounts;
pub mod npu_smi;
pub mod other_builds;
pub mod own_files;
pub mod ownership;
pub mod pip_config;
pub mod pixi_files;
pub mod ports;
pub mod present_source;
pub mod python;
pub mod python_code;
pub mod python_places;
pub mod questions;
mod remembering;
pub mod sourced;
pub mod torch_launch;
pub mod trusted_programs;
pub mod uv_config;

pub use git::{tracked_file, tracked_folder};
pub use host::{Comments, FileKind, GitState, Host, LocalHost, Metadata, Network, OnlineError, Tally};
pub use interrogate::{Machine, ProbeAnswer, ask, interrogate};
pub use memo::Memo;
pub use remembering::Remembering;
