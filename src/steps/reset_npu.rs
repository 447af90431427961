//! Resets a chip that is not well and that nobody uses. It cannot be taken back, so that it is never done unasked.
//!
//! Who is on the card is looked at again by `fix reset-npu` right before: no process is ended by it, whoever's it is.

use std::path::Path;

use super::{LowerError, Lowered, Order, Verb};
use crate::change::{AbsPath, Change, EnvOverlay, Reversible, Run};
use crate::evidence::npu_smi::{self, NpuSmi};
use crate::evidence::questions::ArgSpec;
use crate::recipe::Text;

/// `reset_npu = { npu = "${card.npu}", chip = "${card.chip}" }`
pub const RESET_NPU: Verb = Verb {
    name: "reset_npu",
    about: "Resets a chip that `npu-smi info` calls not OK (`npu-smi set -t reset -i NPU -c CHIP`), where no process is \
            on its NPU, on machines where that leaves the other NPUs alone. Needs `--allow-irreversible`.",
    args: &[
        ArgSpec { name: "npu", required: true, about: "The NPU, as npu-smi numbers it" },
        ArgSpec { name: "chip", required: true, about: "Its chip" },
    ],
    lower: reset_npu,
};

/// A reset takes about twenty seconds.
const TIMEOUT_SECONDS: u64 = 300;

/// Why a chip is not to be reset here; `None` where it may be.
pub fn forbidden(said: &NpuSmi, npu: u32, chip: u32) -> Option<Text> {
    if said.numbered {
        return Some(Text::new("on this machine a reset takes all NPUs along", "在本机上复位会影响所有 NPU"));
    }
    let Some(card) = said.chips.iter().find(|card| (card.npu, card.chip) == (npu, chip)) else {
        return Some(Text::new(
            format!("npu-smi knows no chip {chip} of NPU {npu}"),
            format!("npu-smi 中没有 NPU {npu} 的芯片 {chip}"),
        ));
    };
    if card.health == "OK" {
        return Some(Text::new(format!("NPU {npu} is well"), format!("NPU {npu} 状态正常")));
    }
    if !said.tells_processes {
        return Some(Text::new("npu-smi does not tell who uses the NPU", "npu-smi 没有给出 NPU 上的进程"));
    }
    let user = said.processes.iter().find(|process| process.npu == npu)?;
    let pid = user.pid;
    Some(Text::new(format!("process {pid} uses NPU {npu}"), format!("进程 {pid} 正在使用 NPU {npu}")))
}

fn reset_npu(order: &Order<'_>) -> Result<Lowered, LowerError> {
    let number = |name: &str| {
        let text = order.require(name)?;
        let wrong = || LowerError(Text::new(format!("`{text}` is no number"), format!("`{text}` 不是数字")));
        text.parse::<u32>().map_err(|_| wrong())
    };
    let (npu, chip) = (number("npu")?, number("chip")?);
    let (Some(program), Some(said)) = (npu_smi::program(order.host), NpuSmi::of(order.host)) else {
        return Err(LowerError(Text::new("npu-smi does not answer here", "此处 npu-smi 没有应答")));
    };
    if let Some(why) = forbidden(&said, npu, chip) {
        return Err(LowerError(why));
    }
    if order.host.user() != 0 {
        return Err(LowerError(Text::new("only root may reset an NPU", "只有 root 可以复位 NPU")));
    }
    let own = order.host.real(Path::new("/proc/self/exe")).ok();
    let Some(own) = own.and_then(|own| AbsPath::new(own).ok()) else {
        return Err(LowerError(Text::new("`/proc/self/exe` cannot be read", "无法读取 `/proc/self/exe`")));
    };
    let mut lowered = Lowered::default();
    lowered.notes.push(Text::new(
        format!("it looks once more who is on the NPU, then runs `{program} set -t reset -i {npu} -c {chip}`"),
        format!("会再次确认该 NPU 上没有进程，然后执行 `{program} set -t reset -i {npu} -c {chip}`"),
    ));
    lowered.changes.push(Change::Run(Run {
        argv: vec![
            own.as_path().as_os_str().to_owned(),
            "reset-npu".into(),
            npu.to_string().into(),
            chip.to_string().into(),
        ],
        cwd: order.host.project().clone(),
        env: EnvOverlay::default(),
        writes: Vec::new(),
        reversible: Reversible::No,
        timeout_seconds: TIMEOUT_SECONDS,
    }));
    Ok(lowered)
}
