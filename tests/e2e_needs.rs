//! What a build needs of the machine: memory, submodules, headers; with the real gcc and git.

mod support;

use std::fs;
use std::os::unix::fs::PermissionsExt;

use support::Sandbox;
use support::story::Story;

/// A compiler that the system ends when the build runs more than `most` jobs; gcc itself says so.
fn short_of_memory(sandbox: &mut Sandbox, jobs: &str, most: u32) {
    let folder = sandbox.root().join("passes");
    fs::create_dir(&folder).unwrap();
    let real = sandbox.run("g++", ["-print-prog-name=cc1plus"]).expect(0).stdout;
    let text =
        format!("#!/bin/sh\n[ \"${{MAX_JOBS:-1000}}\" -le {most} ] || kill -9 $$\nexec {} \"$@\"\n", real.trim());
    fs::write(folder.join("cc1plus"), text).unwrap();
    fs::set_permissions(folder.join("cc1plus"), fs::Permissions::from_mode(0o755)).unwrap();
    sandbox.write("a.cpp", "int main() { return 0; }\n");
    sandbox.write("build.sh", format!("g++ -B {}/ -c a.cpp -o a.o\n", folder.display()));
    sandbox.set("MAX_JOBS", jobs);
}

#[test]
fn a_compiler_that_was_killed_gets_fewer_companions() {
    let mut sandbox = Sandbox::new();
    // More than any machine has memory for.
    short_of_memory(&mut sandbox, "100000", 20_000);
    let story = Story::new(&sandbox, ["sh", "build.sh"], "Killed signal terminated program cc1plus");
    story.fails();
    let done = story.fix_command(&["run", "--yes"]).expect(0).says("cc-killed");
    assert!(done.stderr.contains("MAX_JOBS="), "{}", done.stderr);
    story.fails();
}

#[test]
fn a_single_job_cannot_become_fewer() {
    let mut sandbox = Sandbox::new();
    short_of_memory(&mut sandbox, "1", 0);
    let story = Story::new(&sandbox, ["sh", "build.sh"], "Killed signal terminated program cc1plus");
    story.is_left_alone(&[]).says("even a single compiler");
}

#[test]
fn a_number_of_jobs_on_the_command_line_is_told() {
    let mut sandbox = Sandbox::new();
    short_of_memory(&mut sandbox, "100000", 0);
    sandbox.write("Makefile", "a.o:\n\tsh build.sh\n");
    let story = Story::new(&sandbox, ["make", "-j8"], "Killed signal terminated program cc1plus");
    story.is_left_alone(&[]).says("the command itself asks for `-j8`");
}

#[test]
fn an_empty_submodule_is_named_with_its_command() {
    let sandbox = Sandbox::new();
    let git = |folder: &str, args: &[&str]| {
        let settings = ["-c", "user.name=a", "-c", "user.email=a@b", "-c", "protocol.file.allow=always", "-C", folder];
        sandbox.run("git", settings.iter().chain(args)).expect(0)
    };
    let part = sandbox.root().join("part");
    fs::create_dir(&part).unwrap();
    fs::write(part.join("setting.txt"), "1").unwrap();
    let part = part.to_str().unwrap();
    git(part, &["init", "-q"]);
    git(part, &["add", "."]);
    git(part, &["commit", "-qm", "part"]);
    let whole = sandbox.root().join("whole");
    fs::create_dir(&whole).unwrap();
    let whole = whole.to_str().unwrap();
    git(whole, &["init", "-q"]);
    git(whole, &["submodule", "add", "-q", part, "3rdparty/part"]);
    let script = "import os\nprint(open(os.path.join(os.path.dirname(os.path.abspath(__file__)), \
                  '3rdparty/part/setting.txt')).read())\n";
    fs::write(format!("{whole}/setup.py"), script).unwrap();
    git(whole, &["add", "."]);
    git(whole, &["commit", "-qm", "whole"]);
    let project = sandbox.project();
    git("/", &["clone", "-q", whole, project.to_str().unwrap()]);
    let story = Story::new(&sandbox, ["python3", "setup.py"], "No such file or directory: '");
    let done = story.is_left_alone(&[]).says("git-submodule-missing").says("3rdparty/part is not checked out");
    // The command that is advised does it.
    let advice = done.all().split_whitespace().collect::<Vec<_>>().join(" ");
    let command =
        advice.split('`').find(|part| part.contains("submodule update --init --checkout")).unwrap().to_owned();
    let line = command.replacen("git ", "git -c protocol.file.allow=always ", 1);
    sandbox.run("sh", ["-c", &line]).expect(0);
    story.passes();
    // Checked out, and still something is missing: another cause.
    fs::remove_file(project.join("3rdparty/part/setting.txt")).unwrap();
    story.is_left_alone(&[]).does_not_say("is not checked out");
}

/// A CANN in the user's home: the layout is the real one, its libraries give one function each.
fn cann(sandbox: &Sandbox, names: &[&str]) -> std::path::PathBuf {
    let root = sandbox.home().join("Ascend/cann-9.1.0");
    for folder in ["lib64", "include/acl", "opp", "bin"] {
        fs::create_dir_all(root.join(folder)).unwrap();
    }
    fs::write(root.join("include/acl/acl.h"), "").unwrap();
    fs::write(root.join("set_env.sh"), "").unwrap();
    for name in names.iter().chain(&["libascendcl.so"]) {
        let source = sandbox.root().join("stub.c");
        let function = name.trim_start_matches("lib").trim_end_matches(".so");
        fs::write(&source, format!("int Hccl_{function}(void) {{ return 0; }}\n")).unwrap();
        let (file, soname) = (root.join("lib64").join(name), format!("-Wl,-soname,{name}"));
        sandbox
            .run("cc", ["-shared", "-fPIC", &soname, "-o", file.to_str().unwrap(), source.to_str().unwrap()])
            .expect(0);
    }
    root
}

/// A library that calls CANN, linked with it or not, and the command that loads it.
fn caller(sandbox: &Sandbox, root: &std::path::Path, linked: bool) -> [String; 3] {
    let source = sandbox.root().join("uses.c");
    fs::write(&source, "int Hccl_hccl(void); int use(void) { return Hccl_hccl(); }\n").unwrap();
    let library = sandbox.project().join("libuses.so");
    let folder = format!("-L{}", root.join("lib64").display());
    let mut words = vec!["-shared", "-fPIC", "-Wl,-z,now", "-o", library.to_str().unwrap(), source.to_str().unwrap()];
    if linked {
        words.extend([folder.as_str(), "-lhccl"]);
    }
    sandbox.run("cc", words).expect(0);
    let code = format!("import ctypes; ctypes.CDLL({:?})", library.to_str().unwrap());
    ["python3".to_owned(), "-c".to_owned(), code]
}

#[test]
fn a_library_of_cann_is_put_on_the_path() {
    let sandbox = Sandbox::new();
    let root = cann(&sandbox, &["libhccl.so"]);
    let command = caller(&sandbox, &root, true);
    let story = Story::new(&sandbox, command, "libhccl.so: cannot open shared object file");
    story.fails();
    let done = story.fix_command(&["run", "--yes"]).expect(0).says("cc-library-not-loaded");
    assert!(done.stderr.contains("LD_LIBRARY_PATH") && done.stderr.contains("set_env.sh"), "{}", done.stderr);
    story.fails();
    fs::remove_file(root.join("lib64/libhccl.so")).unwrap();
    story.is_left_alone(&[]).says("nowhere on this machine");
}

#[test]
fn a_symbol_of_cann_that_nothing_links_is_not_helped_by_a_path() {
    let sandbox = Sandbox::new();
    let root = cann(&sandbox, &["libhccl.so"]);
    let command = caller(&sandbox, &root, false);
    // A path alone loads nothing.
    let story = Story::new(&sandbox, command, "undefined symbol: Hccl_hccl");
    story.is_left_alone(&[]).says("lib64/libhccl.so` gives `Hccl_hccl`");
}

#[test]
fn custom_operators_get_the_one_cann_that_is_here() {
    let mut sandbox = Sandbox::new();
    let root = cann(&sandbox, &[]);
    let script = "import os\nif not os.environ.get('ASCEND_OPP_PATH'):\n\
                  \x20   raise ValueError(\"Environment variable 'ASCEND_OPP_PATH' must be set for Ascend backend.\")\n\
                  print(os.environ['ASCEND_OPP_PATH'].split('opp')[0])\n";
    sandbox.write("build.py", script);
    let story = Story::new(&sandbox, ["python3", "build.py"], "Environment variable 'ASCEND_OPP_PATH' must be set");
    let status = story.fails().code;
    // Whose CANN it is to be is asked before.
    story.fix_command(&["run", "--yes"]).expect(status).says("hp-custom-ops");
    let done = story.fix_command(&["run", "--yes=confirm"]).expect(0);
    assert_eq!(done.stdout.trim().lines().last(), Some(format!("{}/", root.display()).as_str()), "{}", done.all());
    story.fails();
    // Two of them: it is the user's choice.
    let other = sandbox.home().join("Ascend/cann-8.5.0");
    support::copy_tree(&root, &other);
    story.is_left_alone(&[]).says("several CANN are here");
    sandbox.set("ASCEND_HOME_PATH", &root);
    sandbox.set("ASCEND_OPP_PATH", "");
    let story = Story::new(&sandbox, ["python3", "build.py"], "Environment variable 'ASCEND_OPP_PATH' must be set");
    story.fix_command(&["run", "--yes=confirm"]).expect(0).says("ASCEND_OPP_PATH is not set");
}
