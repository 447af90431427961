//! `fix reset-npu NPU CHIP`, which a repair runs: resets this very chip where it is not well and nobody is on its NPU.

use std::time::Duration;

use anyhow::{Context, Result, bail, ensure};

use super::args::ResetNpu;
use super::session::Session;
use crate::evidence::npu_smi::{self, NpuSmi};
use crate::os::AbsPath;
use crate::os::process::{Command, Status, run_captured};
use crate::recipe::Text;
use crate::steps::forbidden_reset;

/// A reset takes about twenty seconds.
const LONGEST: Duration = Duration::from_secs(240);
const MOST_OUTPUT: usize = 64 << 10;

/// Looks once more who is on the card, and resets it; returns the exit status.
pub fn run(args: &ResetNpu, session: &Session) -> Result<u8> {
    let (npu, chip) = (args.npu, args.chip);
    let program = npu_smi::program(session.host()).context("there is no npu-smi that may be run")?;
    let said = NpuSmi::of(session.host()).context("`npu-smi info` does not answer")?;
    if let Some(why) = forbidden_reset(&said, npu, chip) {
        bail!("nothing is reset: {}", why.get(session.lang()));
    }
    if session.common.dry_run {
        session.say(&Text::new(
            format!("would reset chip {chip} of NPU {npu}"),
            format!("将复位 NPU {npu} 的芯片 {chip}"),
        ));
        return Ok(1);
    }
    let words = ["set", "-t", "reset", "-i", &npu.to_string(), "-c", &chip.to_string()].map(std::ffi::OsString::from);
    let argv = [vec![program.as_path().as_os_str().to_owned()], words.to_vec()].concat();
    let mut command = Command::new(argv, AbsPath::new("/")?);
    command.timeout = Some(LONGEST);
    let done = run_captured(&command, MOST_OUTPUT).with_context(|| format!("cannot run `{program}`"))?;
    let said = String::from_utf8_lossy(&[done.stdout, done.stderr].concat()).trim().to_owned();
    ensure!(!done.timed_out, "`{program}` did not end in time: {said}");
    // It prints `This device does not support setting reset.` and ends well all the same.
    let refused = said.contains("does not support");
    ensure!(done.status == Status::Exited(0) && !refused, "NPU {npu} was not reset: {said}");
    Ok(0)
}
