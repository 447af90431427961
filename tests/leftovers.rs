//! `fix diagnose` without a log reads what tools left on disk.

mod support;

use support::Sandbox;

#[test]
fn logs_of_cmake_and_of_cann_are_found_newest_first() {
    let sandbox = Sandbox::new();
    sandbox.fix(["diagnose"]).expect(2).says("which log?");

    sandbox.write("CMakeLists.txt", "project(p NONE)\n");
    let cache = format!("CMAKE_HOME_DIRECTORY:INTERNAL={}\n", sandbox.project().display());
    sandbox.write("build/CMakeCache.txt", cache);
    sandbox.write("build/CMakeFiles/CMakeError.log", "");
    let message =
        "CMake Error: Error: generator : Ninja\nDoes not match the generator used previously: Unix Makefiles\n";
    let log = sandbox.write("build/CMakeFiles/CMakeConfigureLog.yaml", message);
    let old = std::time::SystemTime::now() - std::time::Duration::from_secs(3600);
    std::fs::File::options().write(true).open(&log).unwrap().set_modified(old).unwrap();
    let plog = sandbox.home().join("ascend/log/debug/plog");
    std::fs::create_dir_all(&plog).unwrap();
    std::fs::write(plog.join("plog-1_2.log"), "[INFO] nothing\n").unwrap();
    std::fs::write(plog.join("notes.txt"), "not a log\n").unwrap();

    let done = sandbox.fix(["diagnose", "--color=never"]).expect(1);
    let read: Vec<&str> = done.stderr.lines().filter_map(|line| line.strip_prefix("reading ")).collect();
    assert_eq!(read, [plog.join("plog-1_2.log").to_str().unwrap(), log.to_str().unwrap()], "{}", done.all());
    done.says("cmake-generator-mismatch");
}
