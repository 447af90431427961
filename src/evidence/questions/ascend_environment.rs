//! Do the variables of CANN lead to one installation, has it the kernels, and does torch_npu belong to it?

use std::path::Path;

use super::{Answer, ArgSpec, Inquiry, Question, UNKNOWN};
use crate::evidence::Host;
use crate::evidence::ascend::{self, Cann};
use crate::evidence::ascend_tables::Tables;
use crate::evidence::cann_version::CannVersion;
use crate::evidence::npu_smi::NpuSmi;
use crate::os::AbsPath;
use crate::recipe::Text;

pub const QUESTIONS: &[Question] = &[
    Question {
        name: "cann_environment",
        about: "Do ASCEND_HOME_PATH, ASCEND_OPP_PATH and LD_LIBRARY_PATH lead to one CANN that is there?",
        args: &[],
        answers: &["fits", "unset", "gone", "mixed", "no_cann"],
        values: &["home", "opp", "missing", "cann", "version", "set_env"],
        ask: cann_environment,
    },
    Question {
        name: "opp_kernels",
        about: "For which chips has the CANN of the environment kernels of its operators, and is the one of this machine \
                among them?",
        args: &[],
        answers: &["there", "other_chip", "none", "no_opp"],
        values: &["chips", "chip", "folder", "version", "packages", "socket_range"],
        ask: opp_kernels,
    },
    Question {
        name: "torch_npu_cann",
        about: "Does the torch_npu of the active Python environment belong to the CANN of the environment, or to another \
                one that is installed?",
        args: &[ArgSpec { name: "at_least", required: false, about: "A version that CANN must have besides" }],
        answers: &["fits", "other_installed", "other_wanted", "unlisted", "no_torch_npu", "no_cann"],
        values: &["torch_npu", "cann", "version", "wanted", "set_env", "other"],
        ask: torch_npu_cann,
    },
];

const KERNELS: &str = "built-in/op_impl/ai_core/tbe/kernel";
const MOST_NAMES: usize = 4096;
/// Variables of an active Python environment.
const ENVIRONMENTS: &[&str] = &["VIRTUAL_ENV", "CONDA_PREFIX"];

fn variable(name: &str, host: &dyn Host) -> Option<AbsPath> {
    host.env(name).and_then(|value| AbsPath::new(value).ok())
}

/// The installation that the environment names, by its real path.
fn of_environment(host: &dyn Host) -> Option<Cann> {
    let home = variable("ASCEND_HOME_PATH", host).or_else(|| variable("ASCEND_TOOLKIT_HOME", host))?;
    let real = host.real(home.as_path()).ok()?;
    ascend::cann(host).into_iter().find(|cann| cann.root.as_path() == real)
}

fn cann_environment(inquiry: &Inquiry<'_>) -> Answer {
    let host = inquiry.host;
    let (home, opp) = (variable("ASCEND_HOME_PATH", host), variable("ASCEND_OPP_PATH", host));
    let installed = ascend::cann(host);
    let own = of_environment(host);
    let answer = |word, seen: Text| {
        let mut answer = Answer::new(word, seen);
        if let Some(cann) = own.as_ref().or(installed.iter().find(|cann| cann.set_env.is_some())) {
            answer = answer.with("cann", cann.root.to_string());
            answer = answer.with("version", cann.version.clone().unwrap_or_else(|| "?".to_owned()));
            if let Some(script) = &cann.set_env {
                answer = answer.with("set_env", script.to_string());
            }
        }
        for (name, path) in [("home", &home), ("opp", &opp)] {
            if let Some(path) = path {
                answer = answer.with(name, path.to_string());
            }
        }
        answer
    };
    if installed.is_empty() {
        let seen = Text::new("no CANN is in the usual folders", "常用目录中没有安装 CANN");
        return Answer::new("no_cann", seen);
    }
    for (name, path) in [("ASCEND_HOME_PATH", &home), ("ASCEND_OPP_PATH", &opp)] {
        if let Some(path) = path
            && host.follow(path.as_path()).is_err()
        {
            let seen = Text::new(
                format!("{name} leads to `{path}`, which is not there"),
                format!("{name} 指向不存在的 `{path}`"),
            );
            return answer("gone", seen).with("missing", name);
        }
    }
    let (Some(home), Some(opp)) = (&home, &opp) else {
        let name = if home.is_none() { "ASCEND_HOME_PATH" } else { "ASCEND_OPP_PATH" };
        let seen = Text::new(format!("{name} is not set"), format!("未设置 {name}"));
        return answer("unset", seen).with("missing", name);
    };
    let real = |path: &AbsPath| host.real(path.as_path()).unwrap_or_else(|_| path.as_path().to_owned());
    let root = real(home);
    if !real(opp).starts_with(&root) {
        let seen = Text::new(
            format!("ASCEND_OPP_PATH leads to `{opp}`, and ASCEND_HOME_PATH to `{home}`"),
            format!("ASCEND_OPP_PATH 指向 `{opp}`，而 ASCEND_HOME_PATH 指向 `{home}`"),
        );
        return answer("mixed", seen);
    }
    // The libraries of the installation that was sourced first come first, whatever was sourced before.
    let libraries = host.env("LD_LIBRARY_PATH").unwrap_or_default();
    let first = std::env::split_paths(&libraries).filter(|folder| folder.is_absolute()).find_map(|folder| {
        let folder = host.real(&folder).unwrap_or(folder);
        installed.iter().find(|cann| folder.starts_with(&cann.root))
    });
    if let Some(first) = first.filter(|first| first.root.as_path() != root) {
        let other = &first.root;
        let seen = Text::new(
            format!("LD_LIBRARY_PATH finds `{other}` first, and ASCEND_HOME_PATH leads to `{home}`"),
            format!("LD_LIBRARY_PATH 首先找到 `{other}`，而 ASCEND_HOME_PATH 指向 `{home}`"),
        );
        return answer("mixed", seen);
    }
    answer("fits", Text::new(format!("the variables lead to `{home}`"), format!("各变量均指向 `{home}`")))
}

fn opp_kernels(inquiry: &Inquiry<'_>) -> Answer {
    let host = inquiry.host;
    let own = of_environment(host);
    let opp = variable("ASCEND_OPP_PATH", host).or_else(|| own.as_ref().map(|cann| cann.root.resolve("opp")));
    let Some(opp) = opp.filter(|opp| host.follow(opp.as_path()).is_ok()) else {
        let seen = Text::new("ASCEND_OPP_PATH leads nowhere", "ASCEND_OPP_PATH 未指向有效目录");
        return Answer::new("no_opp", seen);
    };
    let tables = Tables::embedded();
    let folder = opp.resolve(KERNELS);
    let names = host.list(folder.as_path(), MOST_NAMES).unwrap_or_default();
    let known = names.iter().filter_map(|name| name.to_str()).filter_map(|name| Some((name, tables.chip_of(name)?)));
    let has_binaries =
        |name: &str| !host.list(folder.resolve(name).as_path(), MOST_NAMES).unwrap_or_default().is_empty();
    let chips: Vec<_> = known.filter(|(name, _)| has_binaries(name)).collect();
    let version = ascend::value_of(&opp.resolve("version.info"), "version", host);
    let version = version.or_else(|| own.and_then(|cann| cann.version)).unwrap_or_else(|| "?".to_owned());
    // Only the driver knows the chip itself: the kernels are what is doubted here.
    let here = NpuSmi::of(host).and_then(|said| said.chip());
    let packages = match here.and_then(|chip| tables.package(chip, &version)) {
        Some(package) => package,
        None => tables.packages(&version).join(", "),
    };
    let answer = |word, seen| {
        let answer = Answer::new(word, seen)
            .with("folder", folder.to_string())
            .with("packages", packages.as_str())
            .with("version", version.as_str());
        match here {
            Some(chip) => answer.with("chip", chip.name.as_str()),
            None => answer,
        }
    };
    if chips.is_empty() {
        let seen =
            Text::new(format!("`{folder}` has kernels of no chip"), format!("`{folder}` 中没有任何芯片的 kernel"));
        return answer("none", seen);
    }
    let told: Vec<String> = chips.iter().map(|(name, chip)| format!("{name} ({})", chip.name)).collect();
    let told = told.join(", ");
    if let Some(here) = here.filter(|here| chips.iter().all(|(_, chip)| chip.name != here.name)) {
        let name = &here.name;
        let seen = Text::new(
            format!("`{folder}` has kernels of {told}, and this machine has {name}"),
            format!("`{folder}` 中是 {told} 的 kernel，而本机为 {name}"),
        );
        return answer("other_chip", seen).with("chips", told);
    }
    let all = if chips.iter().all(|(_, chip)| chip.socket_range) { "yes" } else { "no" };
    answer("there", Text::new(format!("`{folder}` has kernels of {told}"), format!("`{folder}` 中有 {told} 的 kernel")))
        .with("chips", told)
        .with("socket_range", all)
}

fn torch_npu_cann(inquiry: &Inquiry<'_>) -> Answer {
    let host = inquiry.host;
    if ENVIRONMENTS.iter().all(|name| variable(name, host).is_none()) {
        return Answer::new(UNKNOWN, Text::new("no Python environment is active", "没有激活 Python 环境"));
    }
    let Some(torch_npu) = torch_npu_version(host) else {
        let seen = Text::new("the active Python environment has no torch_npu", "当前 Python 环境中没有 torch_npu");
        return Answer::new("no_torch_npu", seen);
    };
    let installed = ascend::cann(host);
    let Some(present) = of_environment(host).or_else(|| installed.first().cloned()) else {
        let seen = Text::new("no CANN is in the usual folders", "常用目录中没有安装 CANN");
        let answer = Answer::new("no_cann", seen).with("torch_npu", torch_npu.as_str());
        return match Tables::embedded().cann_of(&torch_npu) {
            Some(wanted) => answer.with("wanted", wanted),
            None => answer,
        };
    };
    let version = present.version.clone().unwrap_or_else(|| "?".to_owned());
    let answer = |word, seen| {
        Answer::new(word, seen)
            .with("torch_npu", torch_npu.as_str())
            .with("cann", present.root.to_string())
            .with("version", version.as_str())
    };
    let Some(wanted) = Tables::embedded().cann_of(&torch_npu) else {
        let seen = Text::new(
            format!("the table knows no torch_npu {torch_npu}; CANN is {version}"),
            format!("兼容表中没有 torch_npu {torch_npu}；CANN 为 {version}"),
        );
        return answer("unlisted", seen);
    };
    let at_least = inquiry.text("at_least").and_then(|text| CannVersion::parse(&text));
    let same = |text: Option<&str>| {
        let version = text.and_then(CannVersion::parse);
        version.is_some() && version == CannVersion::parse(wanted) && version >= at_least
    };
    if same(Some(&version)) {
        let seen = Text::new(
            format!("torch_npu {torch_npu} belongs to CANN {version}"),
            format!("torch_npu {torch_npu} 与 CANN {version} 配套"),
        );
        return answer("fits", seen).with("wanted", wanted);
    }
    let seen = Text::new(
        format!("torch_npu {torch_npu} belongs to CANN {wanted}, and the environment has {version}"),
        format!("torch_npu {torch_npu} 应配 CANN {wanted}，而当前环境为 {version}"),
    );
    let other = installed.iter().find(|cann| same(cann.version.as_deref()) && cann.set_env.is_some());
    match other.and_then(|other| Some((other, other.set_env.as_ref()?))) {
        Some((other, script)) => answer("other_installed", seen)
            .with("wanted", wanted)
            .with("other", other.root.to_string())
            .with("set_env", script.to_string()),
        None => answer("other_wanted", seen).with("wanted", wanted),
    }
}

/// The version of torch_npu in the active environment, from its metadata's name.
fn torch_npu_version(host: &dyn Host) -> Option<String> {
    ENVIRONMENTS.iter().find_map(|name| {
        let lib = variable(name, host)?.resolve("lib");
        let versions = host.list(lib.as_path(), MOST_NAMES).unwrap_or_default();
        let pythons = versions.iter().filter(|name| name.to_string_lossy().starts_with("python3"));
        pythons
            .map(|python| lib.resolve(python).resolve("site-packages"))
            .find_map(|packages| in_packages(packages.as_path(), host))
    })
}

fn in_packages(packages: &Path, host: &dyn Host) -> Option<String> {
    let names = host.list(packages, 100_000).ok()?;
    names.iter().find_map(|name| {
        let rest = name.to_str()?.strip_prefix("torch_npu-")?;
        rest.strip_suffix(".dist-info").map(str::to_owned)
    })
}
