//! Tools of CANN and AscendNPU-IR that PATH does not find, or finds in the wrong order.

mod support;

use std::fs;
use std::os::unix::fs::{PermissionsExt, symlink};

use support::Sandbox;
use support::story::Story;

const NO_TOOL: &str = "No such file or directory: 'bishengir-opt'";
const NO_HIVMC: &str = "Cannot find hivmc under $PATH";
const MISMATCH: &str = "op operand count (4) does not match with the total size (0)";

#[test]
fn a_build_goes_on_path() {
    let mut sandbox = Sandbox::new();
    sandbox.with_kernel();
    let bin = sandbox.with_npu_ir();
    let cann = sandbox.with_cann("9.1.0");
    fs::remove_file(cann.join("bin/bishengir-opt")).unwrap();
    sandbox.prepend_path(&cann.join("bin"));
    let story = Story::new(&sandbox, ["python3", "kernel.py"], NO_TOOL);
    story.is_repaired("tda-1.4", &[], |done| {
        assert!(done.stdout.contains(&format!("compiled by {}", bin.display())), "{}", done.all());
    });
}

#[test]
fn a_link_that_leads_nowhere_and_a_half_build_are_no_tools() {
    let mut sandbox = Sandbox::new();
    sandbox.with_kernel();
    let bin = sandbox.with_npu_ir();
    let dead = sandbox.root().join("dead");
    fs::create_dir(&dead).unwrap();
    symlink("/nowhere/bishengir-opt", dead.join("bishengir-opt")).unwrap();
    sandbox.prepend_path(&dead);
    fs::remove_file(bin.join("bishengir-opt")).unwrap();
    Story::new(&sandbox, ["python3", "kernel.py"], NO_TOOL).is_left_alone(&[]).says("cannot be run");
}

#[test]
fn cann_is_sourced_and_the_own_build_stays_in_front() {
    let mut sandbox = Sandbox::new();
    sandbox.with_kernel();
    let bin = sandbox.with_npu_ir();
    let cann = sandbox.with_cann("9.1.0");
    sandbox.prepend_path(&bin);
    let story = Story::new(&sandbox, ["python3", "kernel.py"], NO_HIVMC);
    story.is_repaired("tda-1.5", &[], |done| {
        // In the other order it would fail with the operand count.
        assert!(done.stdout.contains(&format!("compiled by {}", bin.display())), "{}", done.all());
        assert!(done.stderr.contains(&format!("export ASCEND_HOME_PATH={}", cann.display())), "{}", done.all());
    });
    let lines = story.fix(&["env"]).expect(0).stdout;
    assert!(lines.contains("export PYTHONPATH="), "{lines}");
    // That one makes every later step load something.
    let github = story.fix(&["env", "--format", "github"]).expect(0).says("PYTHONPATH is not handed on");
    assert!(!github.stdout.contains("PYTHONPATH"), "{}", github.stdout);
}

#[test]
fn a_script_that_others_may_have_written_is_not_run() {
    let mut sandbox = Sandbox::new();
    sandbox.with_kernel();
    sandbox.prepend_path(&sandbox.with_npu_ir());
    let script = sandbox.with_cann("9.1.0").join("set_env.sh");
    let marker = sandbox.root().join("was-run");
    let text = format!("{}\ntouch {}\n", fs::read_to_string(&script).unwrap(), marker.display());
    fs::write(&script, text).unwrap();
    let other = script.with_file_name("extra").join("setenv.bash");
    fs::create_dir(other.parent().unwrap()).unwrap();
    fs::write(&other, "").unwrap();
    let story = Story::new(&sandbox, ["python3", "kernel.py"], NO_HIVMC);
    // The script, another one of the installation, a folder that leads to them.
    for (path, bad, good) in [
        (script.as_path(), 0o666, 0o644),
        (&other, 0o666, 0o644),
        (other.parent().unwrap(), 0o777, 0o755),
        (script.parent().unwrap().parent().unwrap(), 0o777, 0o755),
    ] {
        fs::set_permissions(path, fs::Permissions::from_mode(bad)).unwrap();
        story.is_left_alone(&[]).says("others than you and root could have written");
        fs::set_permissions(path, fs::Permissions::from_mode(good)).unwrap();
    }
    // To say what is wrong nothing is run.
    let log = sandbox.write("failed.log", story.fails().all());
    story.fix(&["diagnose", log.to_str().unwrap()]).expect(1).says("ASCEND_HOME_PATH");
    assert!(!marker.exists());
    story.fix_command(&["run", "--yes"]).expect(0);
    assert!(marker.exists());
}

#[test]
fn the_patched_tool_comes_first() {
    let mut sandbox = Sandbox::new();
    sandbox.with_kernel();
    let bin = sandbox.with_npu_ir();
    sandbox.prepend_path(&bin);
    sandbox.prepend_path(&sandbox.with_cann("9.1.0").join("bin"));
    let story = Story::new(&sandbox, ["python3", "kernel.py"], MISMATCH);
    story.is_repaired("tda-1.7", &[], |done| {
        assert!(done.stdout.contains(&format!("compiled by {}", bin.display())), "{}", done.all());
    });
}

#[test]
fn a_launcher_that_sources_cann_gets_a_line_behind_it() {
    let mut sandbox = Sandbox::new();
    sandbox.with_kernel();
    let bin = sandbox.with_npu_ir();
    sandbox.prepend_path(&bin);
    let script = sandbox.with_cann("9.1.0").join("set_env.sh");
    let text = format!("set -e\nsource {}  # CANN\npython3 kernel.py\n", script.display());
    let launcher = sandbox.write("train.sh", &text);
    let story = Story::new(&sandbox, ["bash", "train.sh"], MISMATCH);
    story.is_repaired("tda-1.7", &[], |_| {
        let want = text.replace("# CANN\n", &format!("# CANN\nexport PATH={}:\"$PATH\"\n", bin.display()));
        assert_eq!(fs::read_to_string(&launcher).unwrap(), want);
    });
    let line = format!("source {} && python3 kernel.py", script.display());
    Story::new(&sandbox, ["bash", "-c", &line], MISMATCH).is_repaired("tda-1.7", &[], |_| {});
}

#[test]
fn tools_that_cannot_be_run_are_not_put_on_path() {
    let mut sandbox = Sandbox::new();
    sandbox.with_kernel();
    let bin = sandbox.with_npu_ir();
    let cann = sandbox.with_cann("9.1.0");
    fs::remove_file(cann.join("bin/bishengir-opt")).unwrap();
    sandbox.prepend_path(&cann.join("bin"));
    let tool = bin.join("bishengir-opt");
    let whole = fs::read(&tool).unwrap();
    let other_machine = {
        let mut head = vec![0_u8; 64];
        // ELF, 64 bits, little endian, a program, for a machine that nobody has.
        head[..7].copy_from_slice(b"\x7fELF\x02\x01\x01");
        head[16] = 2;
        head[18..20].copy_from_slice(&0xfff0_u16.to_le_bytes());
        head
    };
    let write = |bytes: &[u8], mode: u32| {
        let _ = fs::remove_file(&tool);
        fs::write(&tool, bytes).unwrap();
        fs::set_permissions(&tool, fs::Permissions::from_mode(mode)).unwrap();
    };
    let story = Story::new(&sandbox, ["python3", "kernel.py"], NO_TOOL);
    for (what, bytes, mode) in [
        ("permission", whole.as_slice(), 0o644),
        ("architecture", &other_machine, 0o755),
        ("interpreter", b"#!/nowhere/sh\n", 0o755),
        ("empty", b"", 0o755),
    ] {
        write(bytes, mode);
        let done = story.is_left_alone(&[]);
        assert!(done.all().contains("ascend_tool: nowhere"), "{what}: {}", done.all());
    }
    fs::remove_file(&tool).unwrap();
    fs::create_dir(&tool).unwrap();
    story.is_left_alone(&[]);
    fs::remove_dir(&tool).unwrap();
    write(&whole, 0o755);
    story.is_repaired("tda-1.4", &[], |_| {});
}
