//! Build trees and projects that ought not to be touched, or cannot be: links, tracked files, working folders, missing
//! permissions, full and read-only disks.

mod support;

use std::fs;
use std::os::unix::fs::{PermissionsExt, symlink};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use support::user::{PLAIN, give, is_root};
use support::waiting::{send, wait_for_file};
use support::{Done, Picture, Sandbox, differences, done, picture};

/// `fix run --yes -- cmake -B build`.
fn repair(sandbox: &Sandbox) -> Done {
    sandbox.fix(Sandbox::run_args(&["--yes"]))
}

#[track_caller]
fn assert_same(before: &Picture, after: &Picture) {
    assert_eq!(differences(before, after), [""; 0]);
}

/// Runs the repair and takes it back: all is as before.
#[track_caller]
fn there_and_back(sandbox: &Sandbox) {
    let before = picture(&sandbox.root().join("project"));
    repair(sandbox).expect(0);
    assert!(!sandbox.project().join("build/lib/libold.a").exists());
    sandbox.fix(["rollback"]).expect(0);
    assert_same(&before, &without_newcomers(sandbox.project_picture()));
}

/// What was built meanwhile is kept beside the tree where the state's disk is another one.
fn without_newcomers(mut picture: Picture) -> Picture {
    picture.retain(|path, _| !path.iter().any(|part| part == ".fix"));
    picture
}

#[test]
fn a_project_by_two_names_is_one() {
    let sandbox = Sandbox::with_moved_tree();
    let link = sandbox.root().join("by-link");
    symlink(sandbox.project(), &link).unwrap();
    let link = link.to_str().unwrap();
    let before = sandbox.project_picture();
    repair(&sandbox).expect(0);
    sandbox.fix(["rollback", "-C", link]).expect(0).says("the state before the repair is back");
    assert_same(&before, &sandbox.project_picture());
    sandbox.fix(["-C", link, "run", "--yes", "--", "cmake", "-B", "build"]).expect(0);
    sandbox.fix(["rollback"]).expect(0).says("the state before the repair is back");
    assert_same(&before, &sandbox.project_picture());
}

#[test]
fn a_linked_tree_keeps_its_link() {
    let sandbox = Sandbox::with_moved_tree();
    let scratch = sandbox.root().join("scratch");
    fs::create_dir(&scratch).unwrap();
    fs::rename(sandbox.project().join("build"), scratch.join("tree")).unwrap();
    symlink(scratch.join("tree"), sandbox.project().join("build")).unwrap();
    let before = (sandbox.project_picture(), picture(&scratch));
    // The command names the tree, the target is the user's: it is emptied where it lies.
    sandbox.on_rerun("mkdir -p \"$(readlink build)\"");
    repair(&sandbox).expect(0);
    assert!(fs::symlink_metadata(sandbox.project().join("build")).unwrap().is_symlink());
    assert!(!scratch.join("tree/lib/libold.a").exists());
    sandbox.fix(["rollback"]).expect(0);
    assert_same(&before.0, &sandbox.project_picture());
    assert_same(&before.1, &picture(&scratch));
}

#[test]
fn a_link_that_leads_nowhere_or_in_circles() {
    for target in ["nowhere", "build", "/"] {
        let sandbox = Sandbox::with_moved_tree();
        let log = sandbox.root().join("log");
        fs::write(&log, sandbox.moved_log()).unwrap();
        fs::remove_dir_all(sandbox.project().join("build")).unwrap();
        symlink(target, sandbox.project().join("build")).unwrap();
        let before = sandbox.project_picture();
        let done = sandbox.fix(["cmake-source-moved", "--yes=confirm", "--log", log.to_str().unwrap()]).expect(1);
        assert!(!done.all().is_empty());
        assert_same(&before, &sandbox.project_picture());
    }
}

fn git(sandbox: &Sandbox, args: &[&str]) {
    let identity = ["-c", "user.name=x", "-c", "user.email=x@example.org"];
    sandbox.run("git", identity.iter().chain(args)).expect(0);
}

#[test]
fn a_tree_with_tracked_files_stays() {
    let sandbox = Sandbox::with_moved_tree();
    git(&sandbox, &["init", "-q"]);
    git(&sandbox, &["add", "-f", "CMakeLists.txt", "build/lib/libold.a"]);
    git(&sandbox, &["commit", "-qm", "x"]);
    let before = sandbox.project_picture();
    repair(&sandbox).expect(1).says("git");
    sandbox.fix(Sandbox::run_args(&["--yes=confirm"])).expect(1);
    assert_same(&before, &sandbox.project_picture());
}

#[test]
fn a_tree_that_is_only_staged_or_ignored() {
    let sandbox = Sandbox::with_moved_tree();
    git(&sandbox, &["init", "-q"]);
    sandbox.write(".gitignore", "build/\n");
    git(&sandbox, &["add", "-A"]);
    git(&sandbox, &["commit", "-qm", "x"]);
    there_and_back(&sandbox);
    // Staged is tracked.
    git(&sandbox, &["add", "-f", "build/lib/libold.a"]);
    let before = sandbox.project_picture();
    repair(&sandbox).expect(1).says("git");
    assert_same(&before, &sandbox.project_picture());
}

#[test]
fn a_tree_that_holds_its_sources_stays() {
    let sandbox = Sandbox::with_moved_tree();
    sandbox.write("build/CMakeLists.txt", "project(inner)\n");
    let cache = fs::read_to_string(sandbox.project().join("build/CMakeCache.txt")).unwrap();
    let home = format!("CMAKE_HOME_DIRECTORY:INTERNAL={}/build\n", sandbox.project().display());
    sandbox.write("build/CMakeCache.txt", cache.replace("CMAKE_HOME_DIRECTORY:INTERNAL=/nowhere/first\n", &home));
    let before = sandbox.project_picture();
    sandbox.fix(Sandbox::run_args(&["--yes=confirm"])).expect(1);
    assert_same(&before, &sandbox.project_picture());
}

#[test]
fn a_tree_that_somebody_works_in_keeps_its_folder() {
    let sandbox = Sandbox::with_moved_tree();
    let inside = sandbox.project().join("build/lib");
    let mut shell = Command::new("sh");
    shell.args(["-c", "echo ready; read line; cat libold.a >/dev/null && test \"$(pwd -P)\" = \"$1\"", "sh"]);
    shell.arg(&inside).current_dir(&inside).stdin(Stdio::piped()).stdout(Stdio::piped());
    let mut shell = shell.spawn().unwrap();
    std::io::Read::read_exact(shell.stdout.as_mut().unwrap(), &mut [0; 6]).unwrap();
    let before = sandbox.project_picture();
    repair(&sandbox).expect(0);
    assert!(inside.is_dir(), "somebody's working folder stays where it is");
    assert!(!inside.join("libold.a").exists());
    sandbox.fix(["rollback"]).expect(0);
    assert_same(&before, &sandbox.project_picture());
    // The shell is still in the folder that has its name.
    drop(shell.stdin.take());
    assert!(shell.wait().unwrap().success());
}

#[test]
fn run_from_within_the_tree() {
    let sandbox = Sandbox::with_moved_tree();
    let log = sandbox.root().join("log");
    fs::write(&log, sandbox.moved_log()).unwrap();
    let before = sandbox.project_picture();
    let mut command = sandbox.fix_command();
    command.args(["cmake-source-moved", "--yes=confirm", "--log"]).arg(&log);
    command.current_dir(sandbox.project().join("build"));
    let done = done(command.output().unwrap());
    assert!(done.code <= 1, "{}", done.all());
    if done.code == 1 {
        assert_same(&before, &sandbox.project_picture());
    }
}

/// Takes a folder's permissions away; whoever drops it gives them back.
struct Locked(PathBuf);

impl Locked {
    fn new(path: PathBuf, mode: u32) -> Self {
        fs::set_permissions(&path, fs::Permissions::from_mode(mode)).unwrap();
        Self(path)
    }
}

impl Drop for Locked {
    fn drop(&mut self) {
        let _ = fs::set_permissions(&self.0, fs::Permissions::from_mode(0o755));
    }
}

#[test]
fn folders_without_permission() {
    for (folder, mode) in
        [("project", 0o555), ("project/build", 0o555), ("project/build/lib", 0o555), ("project/build/lib", 0)]
    {
        let sandbox = Sandbox::with_moved_tree();
        sandbox.fix_as_plain_user();
        let before = sandbox.project_picture();
        let locked = Locked::new(sandbox.root().join(folder), mode);
        let done = done(sandbox.fix_as_plain_user().args(Sandbox::run_args(&["--yes"])).output().unwrap());
        drop(locked);
        if done.code == 0 {
            // What could be moved was; the way back is open.
            let back = done.says("fix rollback");
            let rolled = support::done(sandbox.fix_as_plain_user().arg("rollback").output().unwrap());
            assert_eq!(rolled.code, 0, "{}{}", back.all(), rolled.all());
        } else {
            assert_eq!(done.code, 1, "{folder} {mode:o}: {}", done.all());
            assert!(!done.all().contains("panicked"), "{}", done.all());
        }
        let mut after = sandbox.project_picture();
        let relative = Path::new(folder).strip_prefix("project").unwrap();
        if let Some(entry) = after.get_mut(relative) {
            entry.mode = before[relative].mode;
        }
        assert_same(&before, &after);
    }
}

/// A file system of its own, small; gone when dropped.
struct SmallDisk(PathBuf);

impl SmallDisk {
    /// `None` where this user may not mount.
    fn mount(path: &Path, kib: u32) -> Option<Self> {
        let options = format!("size={kib}k");
        let mount = Command::new("mount").args(["-t", "tmpfs", "-o", &options, "tmpfs"]).arg(path).output().ok()?;
        mount.status.success().then(|| Self(path.to_owned()))
    }

    fn make_read_only(&self) {
        assert!(Command::new("mount").args(["-o", "remount,ro"]).arg(&self.0).status().unwrap().success());
    }
}

impl Drop for SmallDisk {
    fn drop(&mut self) {
        let _ = Command::new("umount").arg("-l").arg(&self.0).status();
    }
}

/// A full disk below the state: nothing can be saved, so nothing is changed; or the repair is undone.
#[test]
fn a_disk_that_is_full() {
    for kib in [0, 4, 8, 12, 16, 20, 24, 32] {
        let sandbox = Sandbox::with_moved_tree();
        let before = sandbox.project_picture();
        let mut command = sandbox.fix_command();
        command.args(Sandbox::run_args(&["--yes"]));
        let disk = SmallDisk::mount(&sandbox.state(), kib.max(4));
        if disk.is_some() {
            if kib == 0 {
                // Not one byte is left.
                let _ = fs::write(sandbox.state().join("filler"), vec![0; 1 << 20]);
            }
        } else {
            // Without the right to mount: no file may grow beyond the limit, which fails like a full disk.
            let program = command.get_program().to_owned();
            let args: Vec<_> = command.get_args().map(ToOwned::to_owned).collect();
            command = sandbox.command("bash");
            command.args(["-c", "trap '' XFSZ; ulimit -f \"$1\"; shift; exec \"$@\"", "bash"]);
            command.arg(kib.to_string()).arg(program).args(args);
        }
        let done = done(command.output().unwrap());
        assert!(!done.all().contains("panicked"), "{kib} KiB: {}", done.all());
        match done.code {
            0 => {
                sandbox.fix(["rollback"]).expect(0);
            }
            1 => {}
            code => panic!("{kib} KiB: status {code}: {}", done.all()),
        }
        assert_same(&before, &without_newcomers(sandbox.project_picture()));
        drop(disk);
    }
}

/// The re-run itself fills the disk that holds project and state.
#[test]
fn a_rerun_that_fills_the_disk() {
    let mut sandbox = Sandbox::with_moved_tree();
    let all = sandbox.root().join("all");
    fs::create_dir(&all).unwrap();
    let Some(_disk) = SmallDisk::mount(&all, 2048) else {
        return full_by_limit();
    };
    fs::create_dir(all.join("state")).unwrap();
    let copied = Command::new("cp").arg("-a").arg(sandbox.project()).arg(&all).status().unwrap();
    assert!(copied.success());
    sandbox.set("XDG_STATE_HOME", all.join("state"));
    let before = picture(&all.join("project"));
    sandbox.on_rerun("mkdir build; cat /dev/zero >build/filler; exit 5");
    let mut command = sandbox.fix_command();
    let done = done(command.args(Sandbox::run_args(&["--yes"])).current_dir(all.join("project")).output().unwrap());
    assert_eq!(done.code, 5, "{}", done.all());
    let after = picture(&all.join("project"));
    assert_same(&before, &after);
}

fn full_by_limit() {
    let sandbox = Sandbox::with_moved_tree();
    let before = sandbox.project_picture();
    sandbox.on_rerun("mkdir build; head -c 1000000 /dev/zero >build/filler; exit 5");
    let mut command = sandbox.command("bash");
    command.args(["-c", "trap '' XFSZ; ulimit -f 512; exec \"$@\"", "bash", env!("CARGO_BIN_EXE_fix")]);
    done(command.args(Sandbox::run_args(&["--yes"])).output().unwrap()).expect(5);
    assert_same(&before, &sandbox.project_picture());
}

#[test]
fn a_disk_that_fills_while_the_command_runs_again() {
    let sandbox = Sandbox::with_moved_tree();
    let Some(disk) = SmallDisk::mount(&sandbox.state(), 4096) else {
        return full_by_limit();
    };
    let before = sandbox.project_picture();
    sandbox.on_rerun("echo $$ >\"$LOG.pid\"; while [ ! -f \"$LOG.go\" ]; do sleep 0.02; done; exit 5");
    let mut command = sandbox.fix_command();
    command.args(Sandbox::run_args(&["--yes"])).stdout(Stdio::piped()).stderr(Stdio::piped());
    let child = command.spawn().unwrap();
    wait_for_file(&sandbox.root().join("runs.pid"));
    // A disk with a file open for writing cannot be made read-only: one without space refuses to write as well.
    let _ = fs::write(disk.0.join("filler"), vec![0; 8 << 20]);
    fs::write(sandbox.root().join("runs.go"), "").unwrap();
    let done = done(child.wait_with_output().unwrap());
    assert!(!done.all().contains("panicked"), "{}", done.all());
    // The space that was reserved at the beginning is enough to put everything back at once.
    assert_eq!(done.code, 5, "{}", done.all());
    assert_same(&before, &sandbox.project_picture());
    sandbox.fix(["rollback"]).expect(0).says("nothing to take back");
}

#[test]
fn a_state_on_a_read_only_disk() {
    let sandbox = Sandbox::with_moved_tree();
    let Some(disk) = SmallDisk::mount(&sandbox.state(), 4096) else {
        return read_only_by_permission();
    };
    disk.make_read_only();
    let before = sandbox.project_picture();
    repair(&sandbox).expect(1).says("Read-only file system");
    assert_same(&before, &sandbox.project_picture());
}

fn read_only_by_permission() {
    let sandbox = Sandbox::with_moved_tree();
    sandbox.fix_as_plain_user();
    let before = sandbox.project_picture();
    let _locked = Locked::new(sandbox.state(), 0o555);
    done(sandbox.fix_as_plain_user().args(Sandbox::run_args(&["--yes"])).output().unwrap()).expect(1);
    assert_same(&before, &sandbox.project_picture());
}

#[test]
fn a_project_on_a_read_only_disk() {
    let sandbox = Sandbox::with_moved_tree();
    let all = sandbox.root().join("all");
    fs::create_dir(&all).unwrap();
    let Some(disk) = SmallDisk::mount(&all, 2048) else {
        return read_only_by_permission();
    };
    assert!(Command::new("cp").arg("-a").arg(sandbox.project()).arg(&all).status().unwrap().success());
    disk.make_read_only();
    let before = picture(&all);
    let mut command = sandbox.fix_command();
    let done = done(command.args(Sandbox::run_args(&["--yes"])).current_dir(all.join("project")).output().unwrap());
    done.expect(1).says("Read-only file system");
    assert_same(&before, &picture(&all));
}

#[test]
fn a_tree_on_another_disk_is_there_and_back() {
    let sandbox = Sandbox::with_moved_tree();
    // The state lies elsewhere: a rename across is impossible.
    let _disk = SmallDisk::mount(&sandbox.state(), 8192);
    there_and_back(&sandbox);
}

#[test]
fn a_tree_that_is_a_mount_point_is_emptied() {
    let sandbox = Sandbox::with_moved_tree();
    let build = sandbox.project().join("build");
    fs::rename(&build, sandbox.root().join("kept")).unwrap();
    fs::create_dir(&build).unwrap();
    let disk = SmallDisk::mount(&build, 2048);
    let copied = Command::new("cp").arg("-a").arg(sandbox.root().join("kept/.")).arg(&build).status().unwrap();
    assert!(copied.success());
    there_and_back(&sandbox);
    drop(disk);
}

#[test]
fn a_tree_with_a_mount_point_in_it_is_left_alone() {
    let sandbox = Sandbox::with_moved_tree();
    let data = sandbox.project().join("build/data");
    fs::create_dir(&data).unwrap();
    let Some(_disk) = SmallDisk::mount(&data, 64) else {
        eprintln!("a_tree_with_a_mount_point_in_it_is_left_alone: not tried, nothing may be mounted here");
        return;
    };
    fs::write(data.join("model.bin"), "dear\n").unwrap();
    let before = sandbox.project_picture();
    repair(&sandbox).expect(1).says(data.to_str().unwrap()).says("unmount");
    assert_same(&before, &sandbox.project_picture());
}

#[test]
fn a_state_folder_inside_the_project_or_the_tree() {
    let sandbox = Sandbox::with_moved_tree();
    let before = sandbox.project_picture();
    let state = sandbox.project().join("build/state");
    let inside = format!("--state-dir={}", state.display());
    let done = sandbox.fix(Sandbox::run_args(&["--yes", &inside])).expect(1);
    done.says("it holds the state of `fix`").says("--state-dir");
    let mut now = sandbox.project_picture();
    now.retain(|path, _| !path.starts_with("build/state"));
    assert_same(&before, &now);

    let sandbox = Sandbox::with_moved_tree();
    let before = sandbox.project_picture();
    sandbox.fix(Sandbox::run_args(&["--yes", "--state-dir=.state"])).expect(0);
    sandbox.fix(["rollback", "--state-dir=.state"]).expect(0);
    let mut now = sandbox.project_picture();
    now.retain(|path, _| !path.starts_with(".state"));
    assert_same(&before, &now);
}

#[test]
fn home_is_no_project() {
    let mut sandbox = Sandbox::with_moved_tree();
    sandbox.set("HOME", sandbox.project());
    let before = sandbox.project_picture();
    repair(&sandbox).expect(1).says("it lies outside the allowed roots").says("--allow-path");
    assert_same(&before, &sandbox.project_picture());
    let allow = format!("--allow-path={}", sandbox.project().join("build").display());
    sandbox.fix(Sandbox::run_args(&["--yes", &allow])).expect(0);
    sandbox.fix(["rollback"]).expect(0);
    assert_same(&before, &sandbox.project_picture());
}

#[test]
fn the_root_is_no_project() {
    let sandbox = Sandbox::with_moved_tree();
    let before = sandbox.project_picture();
    let log = sandbox.root().join("log");
    fs::write(&log, sandbox.moved_log()).unwrap();
    for args in [vec!["cmake-source-moved", "--yes=confirm"], vec!["diagnose"]] {
        let mut command = sandbox.fix_command();
        command.current_dir("/").args(args).arg("--log").arg(&log);
        let done = done(command.output().unwrap());
        assert_eq!(done.code, 1, "{}", done.all());
        assert_same(&before, &sandbox.project_picture());
    }
}

#[test]
fn a_tree_of_another_user() {
    if !is_root() {
        // Only root can make such a tree; for anybody else it is one that cannot be written.
        return folders_without_permission();
    }
    // In its place it may belong to whoever runs the container; its owner comes back with it.
    let sandbox = Sandbox::with_moved_tree();
    give(&sandbox.project().join("build"), PLAIN);
    there_and_back(&sandbox);
    let owner = |name: &str| std::os::unix::fs::MetadataExt::uid(&fs::metadata(sandbox.project().join(name)).unwrap());
    assert_eq!((owner("build"), owner("build/lib/libold.a")), (PLAIN, PLAIN));
    // Behind a link it is somebody's storage.
    fs::rename(sandbox.project().join("build"), sandbox.root().join("storage")).unwrap();
    symlink("../storage", sandbox.project().join("build")).unwrap();
    let before = (sandbox.project_picture(), picture(&sandbox.root().join("storage")));
    sandbox.fix(Sandbox::run_args(&["--yes=confirm"])).expect(1).says("belongs to another user");
    assert_same(&before.0, &sandbox.project_picture());
    assert_same(&before.1, &picture(&sandbox.root().join("storage")));
}

#[test]
fn a_tree_that_grows_meanwhile_is_kept_whole() {
    let sandbox = Sandbox::with_moved_tree();
    let build = sandbox.project().join("build");
    let mut writer = Command::new("sh");
    writer.args(["-c", "i=0; while :; do i=$((i+1)); mkdir -p build && echo x >build/new-$i; done"]);
    let mut writer = writer.current_dir(sandbox.project()).stderr(Stdio::null()).spawn().unwrap();
    let done = sandbox.fix(Sandbox::run_args(&["--yes"]));
    send(writer.id(), "KILL");
    writer.wait().unwrap();
    assert!(!done.all().contains("panicked") && done.code <= 1, "{}", done.all());
    if done.code == 0 {
        sandbox.fix(["rollback"]).expect(0);
    }
    assert_eq!(fs::read(build.join("lib/libold.a")).unwrap(), b"old library\n");
}
