//! Where are the tools of CANN and AscendNPU-IR, and which of several does PATH find?

use std::path::{Path, PathBuf};

use super::{Answer, ArgSpec, Inquiry, Question, UNKNOWN};
use crate::evidence::ascend::{self, CANN_BINS, Origin, origin_of, search_path};
use crate::evidence::{Host, sourced};
use crate::os::AbsPath;
use crate::recipe::Text;

/// Bitcode of templates is small.
const BITCODE_LIMIT: u64 = 64 << 20;
const MOST_NAMES: usize = 1000;

pub const QUESTIONS: &[Question] = &[
    Question {
        name: "ascend_tool",
        about: "Where on this machine is a tool of CANN or AscendNPU-IR: on PATH, in a build, in an installation?",
        args: &[ArgSpec {
            name: "tool",
            required: true,
            about: "Its name; `npuc` is bishengir-compile, `ccec` bisheng",
        }],
        answers: &["on_path", "npu_ir", "cann", "cann_without_script", "broken", "nowhere"],
        values: &["tool", "bin", "set_env", "cann", "version"],
        ask: ascend_tool,
    },
    Question {
        name: "npu_ir_order",
        about: "Does PATH find the bishengir-opt with Triton-distributed's patch first, also behind a set_env.sh that the \
                command's own script sources?",
        args: &[],
        answers: &["patched_first", "other_first", "sourced_behind", "no_patched"],
        values: &["bin", "first", "place"],
        ask: npu_ir_order,
    },
    Question {
        name: "shmem_templates",
        about: "Does the device library of the bishengir-compile on PATH define aclshmem's functions, and does that of \
                another build?",
        args: &[],
        answers: &["defined", "in_another_build", "missing", "no_compiler"],
        values: &["compiler", "bin", "checkout", "option"],
        ask: shmem_templates,
    },
];

fn ascend_tool(inquiry: &Inquiry<'_>) -> Answer {
    let host = inquiry.host;
    let Some(named) = inquiry.list("tool").first().cloned() else {
        return Answer::new(UNKNOWN, Text::new("no tool is named", "未给出工具名"));
    };
    let tool = match named.as_str() {
        "npuc" => "bishengir-compile",
        "ccec" => "bisheng",
        other => other,
    };
    if tool.contains('/') || tool.starts_with('.') {
        return Answer::new(UNKNOWN, Text::new("that is no tool's name", "不是工具名"));
    }
    let answer = |word, seen: Text| Answer::new(word, seen).with("tool", tool);
    let on_path: Vec<PathBuf> = search_path(host).into_iter().map(|folder| folder.join(tool)).collect();
    if let Some(found) = on_path.iter().find(|file| ascend::is_runnable(file, host)) {
        let (shown, bin) = (found.display(), found.parent().unwrap_or(found).display().to_string());
        return answer("on_path", Text::new(format!("`{shown}` is on PATH"), format!("PATH 中有 `{shown}`")))
            .with("bin", bin);
    }
    let builds = ascend::npu_ir(host);
    if let Some(build) = builds.iter().find(|build| ascend::is_runnable(build.bin.resolve(tool).as_path(), host)) {
        let bin = &build.bin;
        let seen = Text::new(
            format!("`{bin}`, a build of AscendNPU-IR, has {tool}"),
            format!("AscendNPU-IR 的构建目录 `{bin}` 中有 {tool}"),
        );
        return answer("npu_ir", seen).with("bin", bin.to_string());
    }
    for cann in ascend::cann(host) {
        let bins = CANN_BINS.iter().map(|bin| cann.root.resolve(bin));
        let Some(bin) = bins.into_iter().find(|bin| ascend::is_runnable(bin.resolve(tool).as_path(), host)) else {
            continue;
        };
        let version = cann.version.clone().unwrap_or_else(|| "?".to_owned());
        let seen = Text::new(
            format!("CANN {version} in `{}` has {tool}", cann.root),
            format!("`{}` 中的 CANN {version} 带有 {tool}", cann.root),
        );
        let word = if cann.set_env.is_some() { "cann" } else { "cann_without_script" };
        let found = answer(word, seen)
            .with("bin", bin.to_string())
            .with("cann", cann.root.to_string())
            .with("version", version);
        return match &cann.set_env {
            Some(script) => found.with("set_env", script.to_string()),
            None => found,
        };
    }
    if let Some(broken) = on_path.iter().find(|file| host.inspect(file).is_ok()) {
        let shown = broken.display();
        let seen = Text::new(
            format!(
                "`{shown}` is there and cannot be run: a link that leads nowhere, no permission, or of another machine"
            ),
            format!("`{shown}` 存在但无法运行：链接失效、没有执行权限，或属于其他架构"),
        );
        return answer("broken", seen).with("bin", broken.parent().unwrap_or(broken).display().to_string());
    }
    answer("nowhere", Text::new(format!("no {tool} in the usual folders"), format!("常用目录中没有 {tool}")))
}

fn npu_ir_order(inquiry: &Inquiry<'_>) -> Answer {
    let host = inquiry.host;
    let mut files = search_path(host).into_iter().map(|folder| folder.join("bishengir-opt"));
    let first = files.find(|file| ascend::is_runnable(file, host));
    let Some(patched) = ascend::npu_ir(host).into_iter().find(|build| build.patched) else {
        let seen = Text::new(
            "no build of AscendNPU-IR with the patch is in the usual folders",
            "常用目录中没有带补丁的 AscendNPU-IR 构建",
        );
        return Answer::new("no_patched", seen);
    };
    let bin = patched.bin.to_string();
    let answer = |word, seen| Answer::new(word, seen).with("bin", bin.as_str());
    let sourced = inquiry.command.and_then(|command| sourced::find(command, host));
    if let Some(found) = sourced.filter(|found| !found.has_behind(&bin)) {
        let line = found.line;
        let seen = Text::new(
            format!("the command's script sources set_env.sh in line {line}, which puts CANN in front"),
            format!("命令所用脚本第 {line} 行 source 了 set_env.sh，会把 CANN 排到最前"),
        );
        return answer("sourced_behind", seen);
    }
    match first {
        Some(first) if ascend::is_patched(&first, host) && origin_of(parent(&first), host) == Origin::Build => {
            let shown = first.display();
            answer("patched_first", Text::new(format!("`{shown}` comes first"), format!("`{shown}` 排在最前")))
        }
        other => {
            let shown = other.as_ref().map_or("nothing".to_owned(), |file| file.display().to_string());
            let seen = Text::new(
                format!("PATH finds `{shown}` first; `{bin}` has the patch"),
                format!("PATH 首先找到 `{shown}`；带补丁的在 `{bin}`"),
            );
            answer("other_first", seen).with("first", shown)
        }
    }
}

fn parent(file: &Path) -> &Path {
    file.parent().unwrap_or(file)
}

fn shmem_templates(inquiry: &Inquiry<'_>) -> Answer {
    let host = inquiry.host;
    let mut files = search_path(host).into_iter().map(|folder| folder.join("bishengir-compile"));
    let Some(compiler) = files.find(|file| ascend::is_runnable(file, host)) else {
        return Answer::new(
            "no_compiler",
            Text::new("no bishengir-compile is on PATH", "PATH 中没有 bishengir-compile"),
        );
    };
    let shown = compiler.display().to_string();
    let real = host.real(&compiler).unwrap_or_else(|_| compiler.clone());
    if defines_shmem(parent(&real), host) {
        let seen = Text::new(format!("the library of `{shown}` defines them"), format!("`{shown}` 的设备库中有定义"));
        return Answer::new("defined", seen).with("compiler", shown);
    }
    let others = ascend::npu_ir(host);
    if let Some(other) = others.iter().find(|build| defines_shmem(build.bin.as_path(), host)) {
        let bin = other.bin.to_string();
        let seen = Text::new(
            format!("the library of `{shown}` does not define them, that of `{bin}` does"),
            format!("`{shown}` 的设备库中没有定义，而 `{bin}` 的有"),
        );
        return Answer::new("in_another_build", seen).with("compiler", shown).with("bin", bin);
    }
    let seen =
        Text::new(format!("the library of `{shown}` does not define them"), format!("`{shown}` 的设备库中没有定义"));
    let answer = Answer::new("missing", seen).with("compiler", shown);
    // `<checkout>/build/bin`: how it was configured.
    let build = real.ancestors().skip(2).take(2).find(|folder| host.follow(&folder.join("CMakeCache.txt")).is_ok());
    let Some((build, checkout)) = build.and_then(|build| Some((build, build.parent()?))) else { return answer };
    let option = AbsPath::new(build.join("CMakeCache.txt"))
        .ok()
        .and_then(|cache| ascend::value_of(&cache, "SHMEM_BUILD_TEMPLATE:BOOL", host));
    answer.with("checkout", checkout.display().to_string()).with("option", option.unwrap_or_else(|| "unset".to_owned()))
}

/// Looks into the bitcode beside a compiler.
fn defines_shmem(bin: &Path, host: &dyn Host) -> bool {
    let Some(library) = bin.parent().map(|parent| parent.join("lib")) else { return false };
    let names = host.list(&library, MOST_NAMES).unwrap_or_default();
    names.iter().filter(|name| name.to_string_lossy().ends_with(".bc")).any(|name| {
        let bytes = host.read(&library.join(name), BITCODE_LIMIT).unwrap_or_default();
        memchr::memmem::find(&bytes, b"aclshmem").is_some()
    })
}
