//! A project whose build tree was copied from elsewhere, and a `cmake` that fails on it as the real one does: the
//! smallest real repair, at the price of a shell script. What the re-run does is the test's.

use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};

use super::{Picture, Sandbox, picture};

/// The folder that the tree was made in.
const ELSEWHERE: &str = "/nowhere/first";

/// Fails on a tree of another folder; else runs `hook`, then makes the tree.
const CMAKE: &str = r#"#!/bin/sh
tree=$PWD/build
cache=$tree/CMakeCache.txt
made=$tree
[ -f "$cache" ] && made=$(sed -n 's/^CMAKE_CACHEFILE_DIR:INTERNAL=//p' "$cache")
echo run >>"$LOG"
if [ "$made" != "$tree" ]; then
  echo "CMake Error: The current CMakeCache.txt directory $cache is different than the directory $made where CMakeCache.txt was created. This may result in binaries being created in the wrong place. If you are not sure, reedit the CMakeCache.txt" >&2
  echo "CMake Error: The source \"$PWD/CMakeLists.txt\" does not match the source \"/nowhere/first/CMakeLists.txt\" used to generate cache.  Re-run cmake with a different source directory." >&2
  exit 1
fi
if [ -f "$HOOK" ]; then . "$HOOK"; fi
mkdir -p "$tree"
cat >"$cache" <<END
CMAKE_GENERATOR:INTERNAL=Ninja
CMAKE_HOME_DIRECTORY:INTERNAL=$PWD
CMAKE_CACHEFILE_DIR:INTERNAL=$tree
END
echo "-- Configuring done"
echo "-- Build files have been written to: $tree"
exit 0
"#;

/// The command that fails.
pub const COMMAND: [&str; 3] = ["cmake", "-B", "build"];

impl Sandbox {
    /// A sandbox with the project, and the `cmake` first on PATH.
    pub fn with_moved_tree() -> Self {
        let mut sandbox = Self::new();
        let tools = sandbox.root().join("tools");
        fs::create_dir(&tools).unwrap();
        executable(&tools.join("cmake"), CMAKE);
        sandbox.prepend_path(&tools);
        sandbox.set("LOG", sandbox.root().join("runs"));
        sandbox.set("HOOK", sandbox.root().join("hook"));
        sandbox.write("CMakeLists.txt", "project(demo)\n");
        sandbox.write_moved_tree("build");
        sandbox
    }

    /// Writes a tree that was made elsewhere.
    pub fn write_moved_tree(&self, name: &str) {
        self.write(
            &format!("{name}/CMakeCache.txt"),
            format!(
                "CMAKE_GENERATOR:INTERNAL=Ninja\nCMAKE_HOME_DIRECTORY:INTERNAL={ELSEWHERE}\n\
                 CMAKE_CACHEFILE_DIR:INTERNAL={ELSEWHERE}/build\n"
            ),
        );
        self.write(&format!("{name}/CMakeFiles/cmake.check_cache"), "# made\n");
        self.write(&format!("{name}/lib/libold.a"), "old library\n");
    }

    /// What the `cmake` does where the real one would succeed: lines of a shell.
    pub fn on_rerun(&self, script: &str) {
        fs::write(self.root().join("hook"), script).unwrap();
    }

    /// How often the `cmake` ran.
    pub fn runs(&self) -> usize {
        fs::read_to_string(self.root().join("runs")).unwrap_or_default().lines().count()
    }

    /// The command's log, as it stands for this project.
    pub fn moved_log(&self) -> String {
        let done = self.run("cmake", &COMMAND[1..]);
        assert_eq!(done.code, 1);
        fs::remove_file(self.root().join("runs")).unwrap();
        done.stderr
    }

    /// A picture of the project.
    pub fn project_picture(&self) -> Picture {
        picture(&self.project())
    }

    /// Arguments of `fix run --yes` with the command.
    pub fn run_args(flags: &[&str]) -> Vec<String> {
        let command = COMMAND.iter().map(ToString::to_string);
        let head = std::iter::once("run").chain(flags.iter().copied()).chain(["--"]).map(str::to_owned);
        head.chain(command).collect()
    }
}

/// Writes a program.
pub fn executable(path: &Path, text: &str) -> PathBuf {
    fs::write(path, text).unwrap();
    fs::set_permissions(path, fs::Permissions::from_mode(0o755)).unwrap();
    path.to_owned()
}
