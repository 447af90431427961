//! Which chip is here, is its driver new enough for a CANN, how are CANN's packages for it called, and is a card sick?

use std::path::Path;

use super::{Answer, ArgSpec, Inquiry, Question, UNKNOWN};
use crate::evidence::Host;
use crate::evidence::ascend;
use crate::evidence::ascend_tables::{Chip, Tables};
use crate::evidence::cann_version::CannVersion;
use crate::evidence::npu_smi::{NpuChip, NpuSmi};
use crate::os::AbsPath;
use crate::recipe::Text;

pub const QUESTIONS: &[Question] = &[
    Question {
        name: "cann_packages",
        about: "How are the packages of a CANN called for this machine: for the chip that `npu-smi info` names, or that \
                an installed CANN has kernels of?",
        args: &[ArgSpec { name: "version", required: true, about: "The version of CANN" }],
        answers: &["of_chip", "of_any_chip", "no_version"],
        values: &["toolkit", "ops", "chip"],
        ask: cann_packages,
    },
    Question {
        name: "cann_driver",
        about: "Is the driver of this machine one that a CANN runs on?",
        args: &[ArgSpec { name: "version", required: true, about: "The version of CANN" }],
        answers: &["fits", "too_old", "unlisted", "no_driver"],
        values: &["driver", "wanted"],
        ask: cann_driver,
    },
    Question {
        name: "npu_card",
        about: "Does `npu-smi info` name a chip that is not well, and is somebody on it? Asked only for a repair.",
        args: &[],
        answers: &["healthy", "sick", "sick_in_use", "sick_whole_machine", "several_sick"],
        values: &["npu", "chip", "health"],
        ask: npu_card,
    },
];

const KERNELS: &str = "opp/built-in/op_impl/ai_core/tbe/kernel";
const MOST_NAMES: usize = 4096;
/// Where the driver says where it is, and where it is when nothing does.
const INSTALLED: &str = "/etc/ascend_install.info";
const USUAL: &str = "/usr/local/Ascend";

/// The chip of this machine: as npu-smi says, else as the kernels of all installed CANNs agree.
pub fn chip_here(host: &dyn Host) -> Option<&'static Chip> {
    if let Some(said) = NpuSmi::of(host) {
        return said.chip();
    }
    let mut kernels: Vec<String> = Vec::new();
    for cann in ascend::cann(host) {
        let folder = cann.root.resolve(KERNELS);
        let names = host.list(folder.as_path(), MOST_NAMES).unwrap_or_default();
        kernels.extend(names.iter().filter_map(|name| name.to_str()).map(str::to_owned));
    }
    let mut chips = kernels.iter().filter_map(|name| Tables::embedded().chip_of(name));
    let first = chips.next()?;
    chips.all(|chip| chip.name == first.name).then_some(first)
}

fn cann_packages(inquiry: &Inquiry<'_>) -> Answer {
    let version = inquiry.text("version").filter(|text| CannVersion::parse(text).is_some());
    let Some(version) = version else {
        return Answer::new("no_version", Text::new("no version of CANN is known", "不清楚 CANN 的版本"));
    };
    let tables = Tables::embedded();
    let toolkit = tables.toolkit(&version);
    let chip = chip_here(inquiry.host);
    if let Some((chip, ops)) = chip.and_then(|chip| Some((chip, tables.package(chip, &version)?))) {
        let name = &chip.name;
        let seen = Text::new(
            format!("the chip of this machine, or of the kernels on it, is {name}"),
            format!("本机（或所装 kernel）的芯片为 {name}"),
        );
        return Answer::new("of_chip", seen).with("toolkit", toolkit).with("ops", ops).with("chip", name.as_str());
    }
    let ops = tables.packages(&version).join(", ");
    let seen = Text::new("which chip is here is not known", "无法确定本机的芯片型号");
    Answer::new("of_any_chip", seen).with("toolkit", toolkit).with("ops", ops)
}

/// The version of the driver: from its own file, else from npu-smi.
fn driver(host: &dyn Host) -> Option<String> {
    let installed = AbsPath::new(INSTALLED).ok()?;
    let root = ascend::value_of(&installed, "Driver_Install_Path_Param", host).unwrap_or_else(|| USUAL.to_owned());
    let file = AbsPath::new(Path::new(&root).join("driver/version.info")).ok()?;
    ascend::value_of(&file, "version", host).or_else(|| NpuSmi::of(host)?.driver)
}

fn cann_driver(inquiry: &Inquiry<'_>) -> Answer {
    let Some(version) = inquiry.text("version") else {
        return Answer::new(UNKNOWN, Text::new("no version of CANN is known", "不清楚 CANN 的版本"));
    };
    let Some(driver) = driver(inquiry.host) else {
        let seen = Text::new("no driver of Ascend is seen here", "本机未发现昇腾驱动");
        return Answer::new("no_driver", seen);
    };
    let tables = Tables::embedded();
    let wanted = tables.drivers_of(&version).map(|all| all.join(", ")).unwrap_or_default();
    let (word, seen) = match tables.driver_fits(&version, &driver) {
        Some(true) => (
            "fits",
            Text::new(
                format!("CANN {version} runs on driver {driver}"),
                format!("驱动 {driver} 与 CANN {version} 兼容"),
            ),
        ),
        Some(false) => (
            "too_old",
            Text::new(
                format!("driver {driver} is older than those that CANN {version} runs on ({wanted})"),
                format!("驱动 {driver} 早于 CANN {version} 所支持的版本（{wanted}）"),
            ),
        ),
        None => (
            "unlisted",
            Text::new(
                format!("the table does not tell whether CANN {version} runs on driver {driver}"),
                format!("兼容表中没有 CANN {version} 与驱动 {driver} 的组合"),
            ),
        ),
    };
    let answer = Answer::new(word, seen).with("driver", driver);
    if wanted.is_empty() { answer } else { answer.with("wanted", wanted) }
}

fn npu_card(inquiry: &Inquiry<'_>) -> Answer {
    let Some(said) = NpuSmi::of(inquiry.host) else {
        let seen =
            Text::new("npu-smi is not here, does not answer, or was not asked", "没有 npu-smi、它没有应答，或未询问它");
        return Answer::new(UNKNOWN, seen);
    };
    let sick: Vec<&NpuChip> = said.chips.iter().filter(|chip| chip.health != "OK").collect();
    let [card] = sick.as_slice() else {
        let (word, seen) = match sick.len() {
            0 => ("healthy", Text::new("npu-smi calls all chips OK", "npu-smi 显示所有芯片均为 OK")),
            count => (
                "several_sick",
                Text::new(
                    format!("npu-smi calls {count} chips not OK"),
                    format!("npu-smi 显示有 {count} 个芯片状态异常"),
                ),
            ),
        };
        return Answer::new(word, seen);
    };
    let (npu, chip, health) = (card.npu, card.chip, &card.health);
    let on_it: Vec<String> =
        said.processes.iter().filter(|process| process.npu == npu).map(|process| process.pid.to_string()).collect();
    let (word, who) = if said.numbered {
        ("sick_whole_machine", Text::new("; a reset takes all NPUs of the machine along", "；复位会影响整机所有 NPU"))
    } else if !on_it.is_empty() || !said.tells_processes {
        let pids = on_it.join(", ");
        ("sick_in_use", Text::new(format!("; processes on it: {pids}"), format!("；其上的进程：{pids}")))
    } else {
        ("sick", Text::new("; no process is on it", "；其上没有进程"))
    };
    let seen = Text::new(
        format!("npu-smi calls chip {chip} of NPU {npu} {health}{}", who.en),
        format!("npu-smi 显示 NPU {npu} 的芯片 {chip} 状态为 {health}{}", who.zh),
    );
    Answer::new(word, seen).with("npu", npu.to_string()).with("chip", chip.to_string()).with("health", health.as_str())
}
