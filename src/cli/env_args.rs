//! The flags of `fix env`, and the arguments of the commands that repairs run.

use std::ffi::OsString;

use clap::{Args, ValueEnum};

#[derive(Debug, Args)]
pub struct Env {
    /// Issues: diagnosed here, nothing is applied; else the last repair of this folder
    #[arg(value_name = "ISSUE")]
    pub issues: Vec<String>,
    /// How it is written
    #[arg(long, value_name = "FORMAT", default_value = "sh")]
    pub format: EnvFormat,
    /// Write it to the start-up file of your shell
    #[arg(long, conflicts_with = "format")]
    pub persist: bool,
    /// Command that the issue is about
    #[arg(last = true, value_name = "CMD")]
    pub cmd: Vec<OsString>,
}

#[derive(Debug, Args)]
pub struct ResetNpu {
    /// Number of the NPU
    pub npu: u32,
    /// Number of the chip on it
    pub chip: u32,
}

#[derive(Debug, Args)]
pub struct EndProcess {
    /// Number of the process
    pub pid: u32,
    /// Clock ticks after boot
    pub start: u64,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub enum EnvFormat {
    Sh,
    Fish,
    Github,
    Json,
}
