//! What `npu-smi` tells, and repairs that cannot be taken back: a reset of an NPU, a rebuild of AscendNPU-IR.

mod support;

use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};

use support::story::Story;
use support::{Done, Sandbox};

const COLLECTIVE: &str = include_str!("../fixtures/tda-3.3/one-process-an-npu/log.txt");
const NO_KERNELS: &str = include_str!("../fixtures/tda-3.4/no-kernels/log.txt");
const INTERNAL: &str = include_str!("../fixtures/tda-3.1/versions-fit/log.txt");
const UNDEFINED: &str = include_str!("../fixtures/tda-2.1a/built-without-them/log.txt");

/// A job that prints a log and fails as long as `condition`, of a shell, holds.
fn job(sandbox: &Sandbox, log: &str, condition: &str) -> Vec<String> {
    sandbox.write("said.txt", log);
    sandbox.write("train.sh", format!("if {condition}; then cat said.txt >&2; exit 1; fi\necho trained\n"));
    vec!["bash".into(), "train.sh".into()]
}

fn set_calls(bin: &Path) -> Vec<String> {
    let calls = fs::read_to_string(bin.join("calls")).unwrap_or_default();
    calls.lines().filter(|line| line.starts_with("set")).map(str::to_owned).collect()
}

fn is_root() -> bool {
    rustix::process::geteuid().is_root()
}

fn fix(story: &Story<'_>, flags: &[&str]) -> Done {
    let mut args = vec!["tda-3.3", "--set", "how=reset", "--log", "said.txt"];
    args.extend(flags);
    story.fix_command(&args)
}

#[test]
fn a_sick_npu_is_reset_only_by_name() {
    let mut sandbox = Sandbox::new();
    let bin = sandbox.with_a2();
    let command = job(&sandbox, COLLECTIVE, &format!("grep -q Critical '{}/info.txt'", bin.display()));
    let story = Story::new(&sandbox, command, "Hccl");
    // Nobody asked for it.
    story.fix_command(&["run", "--yes=confirm"]).expect(1).says("NPU 1");
    if !is_root() {
        fix(&story, &["--yes=confirm", "--allow-irreversible=tda-3.3"]).expect(1).says("only root");
        assert!(set_calls(&bin).is_empty());
        return;
    }
    for flags in [&["-n"][..], &["--yes"], &["--yes=confirm"], &["--yes=confirm", "--allow-irreversible"]] {
        fix(&story, flags).expect(1).says("cannot be taken back");
        assert!(set_calls(&bin).is_empty(), "{flags:?}");
    }
    fix(&story, &["--yes=confirm", "--allow-irreversible=tda-3.3"]).expect(0).says("trained");
    assert_eq!(set_calls(&bin), ["set -t reset -i 1 -c 0"]);
}

#[test]
fn an_npu_that_somebody_uses_is_not_reset() {
    let mut sandbox = Sandbox::new();
    let bin = sandbox.with_a2();
    let info = fs::read_to_string(bin.join("info.txt")).unwrap();
    let used = info.replace("| 0       0                 | 99910 ", "| 1       0                 | 99910 ");
    assert_ne!(used, info);
    let command = job(&sandbox, COLLECTIVE, "true");
    let story = Story::new(&sandbox, command, "Hccl");
    fs::write(bin.join("info.txt"), used).unwrap();
    fix(&story, &["--yes=confirm", "--allow-irreversible=tda-3.3"]).expect(1);
    // Whoever came after the plan was made is seen as well.
    sandbox.fix(["reset-npu", "1", "0"]).expect(2).says("process 99910 uses NPU 1");
    sandbox.fix(["reset-npu", "0", "0"]).expect(2).says("NPU 0 is well");
    sandbox.fix(["reset-npu", "7", "0"]).expect(2).says("no chip 0 of NPU 7");
    assert!(set_calls(&bin).is_empty());
}

#[test]
fn a_reset_that_takes_the_whole_machine_along_is_advice_only() {
    let mut sandbox = Sandbox::new();
    let bin = sandbox.with_a3();
    let story = Story::new(&sandbox, job(&sandbox, COLLECTIVE, "true"), "Hccl");
    fix(&story, &["--yes=confirm", "--allow-irreversible=tda-3.3"]).expect(1).says("whole machine");
    sandbox.fix(["reset-npu", "1", "1"]).expect(2).says("takes all NPUs along");
    assert!(set_calls(&bin).is_empty());
}

#[test]
fn what_cannot_be_taken_back_is_told_when_the_command_still_fails() {
    let mut sandbox = Sandbox::new();
    let bin = sandbox.with_a2();
    let story = Story::new(&sandbox, job(&sandbox, COLLECTIVE, "true"), "Hccl");
    if !is_root() {
        fix(&story, &["--yes=confirm", "--allow-irreversible=tda-3.3"]).expect(1).says("only root");
        return;
    }
    fix(&story, &["--yes=confirm", "--allow-irreversible=tda-3.3"]).expect(2).says("cannot be taken back has run");
    assert_eq!(set_calls(&bin).len(), 1);
}

#[test]
fn npu_smi_is_asked_for_repairs_alone_and_never_that_of_the_project() {
    let mut sandbox = Sandbox::new();
    let bin = sandbox.with_a2();
    job(&sandbox, COLLECTIVE, "true");
    sandbox.fix(["diagnose", "said.txt"]).expect(1);
    sandbox.fix(["audit"]);
    assert!(!bin.join("calls").exists());
    let own = sandbox.project().join("bin");
    fs::rename(&bin, &own).unwrap();
    sandbox.prepend_path(&own);
    sandbox.fix(["tda-3.3", "-n", "--log", "said.txt", "--", "bash", "train.sh"]).expect(1);
    assert!(!own.join("calls").exists());
}

#[test]
fn packages_are_named_for_the_chip_that_is_here() {
    let mut sandbox = Sandbox::new();
    sandbox.with_a3();
    let cann = sandbox.with_cann("9.1.0");
    let kernels = cann.join("opp/built-in/op_impl/ai_core/tbe/kernel/ascend910b/add");
    fs::create_dir_all(kernels).unwrap();
    sandbox.set("ASCEND_HOME_PATH", &cann);
    sandbox.set("ASCEND_OPP_PATH", cann.join("opp"));
    let command = job(&sandbox, NO_KERNELS, "true");
    let story = Story::new(&sandbox, command, "AclOpKernelInit");
    let done = story.fix_command(&["tda-3.4", "-n", "--log", "said.txt"]).expect(1);
    done.says("this machine has Atlas A3").says("Ascend-cann-A3-ops_9.1.0_linux-").does_not_say("910b-ops");
}

#[test]
fn a_driver_that_is_too_old_for_cann() {
    let mut sandbox = Sandbox::new();
    sandbox.with_a2();
    let cann = sandbox.with_cann("9.1.0");
    sandbox.set("ASCEND_HOME_PATH", &cann);
    sandbox.set("ASCEND_OPP_PATH", cann.join("opp"));
    let venv = sandbox.root().join("venv");
    fs::create_dir_all(venv.join("lib/python3.11/site-packages/torch_npu-2.7.1.post8.dist-info")).unwrap();
    sandbox.set("VIRTUAL_ENV", &venv);
    let story = Story::new(&sandbox, job(&sandbox, INTERNAL, "true"), "error code is 4");
    let done = story.fix_command(&["tda-3.1", "-n", "--log", "said.txt"]).expect(1);
    done.says("the driver 24.1.0 is older than those that CANN 9.1.0 runs on");
}

/// A checkout of AscendNPU-IR that was built without the templates; its build.sh notes its arguments.
fn checkout(sandbox: &mut Sandbox) -> PathBuf {
    let bin = sandbox.with_npu_ir();
    let top = bin.ancestors().nth(2).unwrap().to_owned();
    for folder in ["bishengir", ".git", "build/lib", "build-tools"] {
        fs::create_dir_all(top.join(folder)).unwrap();
    }
    fs::write(top.join("build/lib/meta_op.mix.aic.c220.bc"), "BC").unwrap();
    fs::write(top.join("build/CMakeCache.txt"), "SHMEM_BUILD_TEMPLATE:BOOL=OFF\n").unwrap();
    let script =
        "#!/bin/bash\necho \"$@\" > arguments\necho 'BC aclshmem_barrier_all' > build/lib/meta_op.mix.aic.c220.bc\n";
    fs::write(top.join("build-tools/build.sh"), script).unwrap();
    sandbox.prepend_path(&bin);
    top
}

#[test]
fn npu_ir_is_built_anew_only_by_name() {
    let mut sandbox = Sandbox::new();
    let top = checkout(&mut sandbox);
    let cann = sandbox.with_cann("9.1.0");
    fs::write(cann.join("bin/bisheng"), "#!/bin/sh\n").unwrap();
    fs::set_permissions(cann.join("bin/bisheng"), fs::Permissions::from_mode(0o755)).unwrap();
    let condition = format!("! grep -q aclshmem '{}'/build/lib/*.bc", top.display());
    let story = Story::new(&sandbox, job(&sandbox, UNDEFINED, &condition), "undefined symbol");
    let run = |sandbox: &Sandbox, flags: &[&str]| {
        let mut args = vec!["run", "--set", "how=rebuild"];
        args.extend(flags);
        Story::new(sandbox, ["bash", "train.sh"], "").fix_command(&args)
    };
    story.fix_command(&["run", "--yes=confirm"]).expect(1).says("--build-shmem-template");
    // Without a compiler the templates would be left out again.
    run(&sandbox, &["--yes=confirm", "--allow-irreversible=tda-2.1a"]).expect(1).says("ASCEND_HOME_PATH");
    sandbox.set("ASCEND_HOME_PATH", &cann);
    for flags in [&["--yes"][..], &["--yes=confirm"], &["--yes=confirm", "--allow-irreversible=tda-3.3"]] {
        run(&sandbox, flags).expect(1).says("cannot be taken back");
        assert!(!top.join("arguments").exists(), "{flags:?}");
    }
    run(&sandbox, &["--yes=confirm", "--allow-irreversible=tda-2.1a"]).expect(0).says("trained");
    let arguments = fs::read_to_string(top.join("arguments")).unwrap();
    let want = format!(
        "-r -o ./build -t --build-type Release --build-shmem-template --bisheng-compiler={}\n",
        cann.join("bin").display()
    );
    assert_eq!(arguments, want);
}
