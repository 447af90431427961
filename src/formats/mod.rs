//! Text → text editors that keep every byte they were not asked to change. No input, no output.

pub mod cmake_args;
pub mod cmake_cache;
pub mod cmake_lists;
pub mod cmake_targets;
pub mod ini;
pub mod python_metadata;
pub mod shell_script;
pub mod toml_file;
pub mod wheel_name;
pub mod yaml;
