//! Builds a checkout of AscendNPU-IR anew, with aclshmem's templates. The old build is not kept: it cannot be taken back.
//!
//! `build.sh` is the project's own program: it is run only from a checkout of this user's own, recognised as one.

use std::path::Path;

use super::{LowerError, Lowered, Order, Verb};
use crate::change::{AbsPath, Change, EnvOverlay, Reversible, Run};
use crate::evidence::ownership::is_out_of_reach;
use crate::evidence::questions::ArgSpec;
use crate::evidence::{FileKind, ascend};
use crate::recipe::Text;

/// `rebuild_npu_ir = { checkout = "${templates.checkout}" }`
pub const REBUILD_NPU_IR: Verb = Verb {
    name: "rebuild_npu_ir",
    about: "Runs `build-tools/build.sh` of a checkout of AscendNPU-IR with `-r` and `--build-shmem-template`, for the CANN \
            of the environment. Needs `--allow-irreversible`.",
    args: &[ArgSpec { name: "checkout", required: true, about: "The top folder of the checkout" }],
    lower: rebuild_npu_ir,
};

/// It builds LLVM too where that is not built yet.
const TIMEOUT_SECONDS: u64 = 6 * 3600;

fn rebuild_npu_ir(order: &Order<'_>) -> Result<Lowered, LowerError> {
    let (checkout, host) = (order.path("checkout")?, order.host);
    let script = checkout.resolve("build-tools/build.sh");
    let is = |path: &AbsPath, kind: FileKind| {
        let meta = host.inspect(path.as_path());
        meta.is_ok_and(|meta| meta.kind == kind && meta.user == host.user())
            && is_out_of_reach(host, path.as_path(), kind)
    };
    // build.sh asks for a git work tree; `.git` of a submodule is a file.
    let in_git = host.inspect(checkout.resolve(".git").as_path()).is_ok();
    let recognised = is(&checkout, FileKind::Folder)
        && is(&script, FileKind::File)
        && is(&checkout.resolve("bishengir"), FileKind::Folder)
        && in_git;
    if !recognised {
        return Err(LowerError(Text::new(
            format!("`{checkout}` is no checkout of AscendNPU-IR of yours"),
            format!("`{checkout}` 不是您自己的 AscendNPU-IR 源码目录"),
        )));
    }
    let home = host.env("ASCEND_HOME_PATH").and_then(|home| AbsPath::new(home).ok());
    let real = home.and_then(|home| host.real(home.as_path()).ok());
    let cann = ascend::cann(host).into_iter().find(|cann| real.as_deref() == Some(cann.root.as_path()));
    let bins = cann.iter().flat_map(|cann| ascend::CANN_BINS.iter().map(|bin| cann.root.resolve(bin)));
    // Without it the script prints a line and leaves the templates out.
    let Some(compiler) = bins.into_iter().find(|bin| ascend::is_runnable(bin.resolve("bisheng").as_path(), host))
    else {
        return Err(LowerError(Text::new(
            "ASCEND_HOME_PATH leads to no CANN with bisheng: source its set_env.sh first",
            "ASCEND_HOME_PATH 未指向带有 bisheng 的 CANN：请先 source 其 set_env.sh",
        )));
    };
    let shell = ["/usr/bin/bash", "/bin/bash"].into_iter().find(|shell| host.follow(Path::new(shell)).is_ok());
    let Some(shell) = shell else {
        return Err(LowerError(Text::new("there is no bash", "没有 bash")));
    };
    let mut argv: Vec<std::ffi::OsString> = vec![shell.into(), script.as_path().as_os_str().to_owned()];
    argv.extend(["-r", "-o", "./build", "-t", "--build-type", "Release", "--build-shmem-template"].map(Into::into));
    argv.push(format!("--bisheng-compiler={compiler}").into());
    let mut lowered = Lowered::default();
    lowered.notes.push(Text::new(
        format!("this builds `{checkout}/build` anew, which takes an hour; the present build is not kept"),
        format!("将重新构建 `{checkout}/build`，约需一小时；现有构建不会保留"),
    ));
    lowered.changes.push(Change::Run(Run {
        argv,
        cwd: checkout,
        env: EnvOverlay::default(),
        writes: Vec::new(),
        reversible: Reversible::No,
        timeout_seconds: TIMEOUT_SECONDS,
    }));
    Ok(lowered)
}
