//! `fix demo`: a real CMake project fails, is diagnosed, repaired, passes, and the repair is taken back.
//!
//! Everything on the screen is done by real programs: the project and two installs of a small LLVM stand-in are
//! unpacked into a temporary folder, and `fix` itself is run there. No compiler is needed.

use std::ffi::{OsStr, OsString};
use std::fs;
use std::io::IsTerminal;
use std::path::{Path, PathBuf};

use anyhow::{Context, Result, bail};

use super::args::Demo;
use super::output;
use super::session::Session;
use crate::recipe::{Lang, Text};

/// The project and the tool chain, by path below the demo's folder.
const FILES: &[(&str, &str)] = &[
    ("toolchain/CMakeLists.txt", include_str!("../../fixtures/projects/llvm-mini/toolchain/CMakeLists.txt")),
    ("toolchain/LLVMConfig.cmake.in", include_str!("../../fixtures/projects/llvm-mini/toolchain/LLVMConfig.cmake.in")),
    ("toolchain/MLIRConfig.cmake.in", include_str!("../../fixtures/projects/llvm-mini/toolchain/MLIRConfig.cmake.in")),
    ("toolchain/LLDConfig.cmake.in", include_str!("../../fixtures/projects/llvm-mini/toolchain/LLDConfig.cmake.in")),
    ("project/CMakeLists.txt", include_str!("../../demo/project/CMakeLists.txt")),
    ("project/third_party/amd/CMakeLists.txt", include_str!("../../demo/project/third_party/amd/CMakeLists.txt")),
];

/// Variables that would change what the demo shows.
const CLEARED: &[&str] = &[
    "LLVM_DIR",
    "MLIR_DIR",
    "LLD_DIR",
    "LLVM_ROOT",
    "CMAKE_PREFIX_PATH",
    "CMAKE_GENERATOR",
    "TRITON_BUILD_DIR",
    "CC",
    "CXX",
    "XDG_STATE_HOME",
];

/// Runs the demo; returns the exit code.
pub fn run(args: &Demo, session: &Session) -> Result<u8> {
    if session.common.json {
        bail!("the demo is a story to watch: it has no JSON form\nhint: `fix run --json -- CMD` has one");
    }
    if session.common.dry_run {
        session.say(&Text::new(
            "dry run: would make a project in a temporary folder, break it, repair it, and take the repair back",
            "试运行：将在临时目录中创建项目，制造失败，修复，再撤销修复",
        ));
        return Ok(1);
    }
    let folder = tempfile::Builder::new().prefix("fix-demo-").tempdir().context("cannot make a temporary folder")?;
    // The story names this folder many times; a path through a link would confuse CMake's own cache check.
    let place = fs::canonicalize(folder.path())?;
    let outcome = Story { place: &place, session, fast: args.fast }.tell();
    if args.keep {
        let kept = folder.keep();
        session.say(&Text::new(
            format!("\nkept in {}: try `cd {}/project` and the commands above", kept.display(), kept.display()),
            format!("\n已保留在 {}：可 `cd {}/project` 后重试上面的命令", kept.display(), kept.display()),
        ));
    }
    outcome
}

struct Story<'a> {
    place: &'a Path,
    session: &'a Session,
    fast: bool,
}

impl Story<'_> {
    fn tell(&self) -> Result<u8> {
        let say = |en: &str, zh: &str| self.chapter(en, zh);
        for (name, text) in FILES {
            let path = self.place.join(name);
            fs::create_dir_all(path.parent().expect("every name has a folder"))?;
            fs::write(path, text)?;
        }
        let tools = self.tools()?;
        say(
            "1. Two LLVM installs of the same version; the newer commit has the component LLVMCGData. (Both are made now; their output is not shown.)",
            "1. 两份版本号相同的 LLVM；较新的提交带有 LLVMCGData 组件。（现在生成这两份安装，输出从略。）",
        );
        for (name, with) in [("llvm-old", "OFF"), ("llvm-new", "ON")] {
            let build = format!("tb-{name}");
            let prefix = format!("-DCMAKE_INSTALL_PREFIX={}/{name}", self.place.display());
            let with = format!("-DLLVM_MINI_CGDATA={with}");
            self.quietly(&tools, &["cmake", "-S", "toolchain", "-B", &build, &prefix, &with])?;
            self.quietly(&tools, &["cmake", "--install", &build])?;
        }
        say(
            "2. The project was once configured with the old LLVM: its build tree remembers it.",
            "2. 项目曾用旧 LLVM 配置过：构建目录记住了它。",
        );
        let configure = |llvm: &str, backend: &str| -> Vec<String> {
            let library = format!("-DLLVM_LIBRARY_DIR={}/{llvm}/lib", self.place.display());
            let mut command = vec!["cmake".into(), "-B".into(), "build".into(), library];
            if !backend.is_empty() {
                command.push(format!("-DAPP_BACKENDS={backend}"));
            }
            command
        };
        let old = configure("llvm-old", "");
        if self.show(&tools, "project", &old)? != 0 {
            bail!("the first configure of the demo failed; its output is above");
        }
        say(
            "3. LLVM moved on and the amd backend is switched on. `fix run` wraps the build: it fails, is diagnosed, repaired, and run again.",
            "3. 换用新 LLVM 并启用 amd 后端。用 `fix run` 包住构建：失败、诊断、修复、重跑。",
        );
        let new = configure("llvm-new", "amd");
        let mut wrapped: Vec<String> = vec!["fix".into(), "run".into(), "--yes".into(), "--".into()];
        wrapped.extend(new.iter().cloned());
        let repaired = self.show(&tools, "project", &wrapped)?;
        if repaired != 0 {
            return Ok(1);
        }
        say("4. It builds.", "4. 构建通过。");
        self.show(&tools, "project", &["cmake".into(), "--build".into(), "build".into()])?;
        say(
            "5. And the repair can be taken back: the old build tree returns.",
            "5. 修复可以撤销：旧构建目录原样恢复。",
        );
        self.show(&tools, "project", &["fix".into(), "history".into()])?;
        if self.show(&tools, "project", &["fix".into(), "rollback".into(), "--yes".into()])? != 0 {
            return Ok(1);
        }
        say("6. With it the failure is back, as it was:", "6. 失败也随之原样重现：");
        let again = self.show(&tools, "project", &new)?;
        if again == 0 {
            bail!("after the rollback the build should fail as before, but it passed");
        }
        say(
            "That is the whole story. Try it on your build: fix run -- CMD",
            "演示结束。在你的构建上试试：fix run -- CMD",
        );
        Ok(0)
    }

    fn chapter(&self, en: &str, zh: &str) {
        let text = Text::new(en, zh);
        if !self.fast && std::io::stdout().is_terminal() {
            std::thread::sleep(std::time::Duration::from_millis(1500));
        }
        let style = self.session.styles().heading;
        output::show(&format!("\n{style}{}{style:#}\n", text.get(self.session.lang())));
    }

    /// Shows a command and runs it in a folder of the demo; returns its exit status.
    fn show(&self, tools: &Tools, folder: &str, command: &[String]) -> Result<i32> {
        let shown = shell_words::join(command);
        let style = self.session.styles().command;
        output::show(&format!("{style}$ {shown}{style:#}\n"));
        let mut words: Vec<OsString> = command.iter().map(OsString::from).collect();
        if words[0] == "fix" {
            let own = std::env::current_exe().context("cannot find the program `fix` itself")?;
            let state = self.place.join("state");
            words.splice(0..1, [own.into_os_string(), "--state-dir".into(), state.into_os_string()]);
            let lang = match self.session.lang() {
                Lang::En => "en",
                Lang::Zh => "zh",
            };
            words.splice(1..1, ["--lang".into(), lang.into()]);
        }
        // One stream, so that the story stays in order when it is written to a file.
        let done = tools.expression(&words).dir(self.place.join(folder)).stderr_to_stdout().unchecked().run()?;
        Ok(done.status.code().unwrap_or(1))
    }

    fn quietly(&self, tools: &Tools, command: &[&str]) -> Result<()> {
        let words: Vec<OsString> = command.iter().map(OsString::from).collect();
        let done = tools.expression(&words).dir(self.place).stderr_to_stdout().stdout_capture().unchecked().run()?;
        if !done.status.success() {
            bail!("`{}` failed:\n{}", command.join(" "), String::from_utf8_lossy(&done.stdout));
        }
        Ok(())
    }

    /// Finds cmake with a build program on this machine, or installs both from PyPI into the demo's folder.
    fn tools(&self) -> Result<Tools> {
        let has = |name: &str| self.session.which(name).is_some();
        if has("cmake") && (has("ninja") || has("make") || has("gmake")) {
            return Ok(Tools { path: None, generator: (!has("make") && !has("gmake")).then_some("Ninja") });
        }
        self.session.say(&Text::new(
            "no cmake with make or ninja on this machine: installing both from PyPI into a private environment …",
            "本机没有 cmake 及 make/ninja：正从 PyPI 安装到私有环境……",
        ));
        let Some(python) = self.session.which("python3") else {
            bail!("the demo needs cmake, or python3 to install it; neither is on PATH");
        };
        let packages = self.place.join("pip");
        let install = duct::cmd(
            &python,
            ["-m", "pip", "install", "--quiet", "--disable-pip-version-check", "--only-binary=:all:", "--target"]
                .iter()
                .map(OsString::from)
                .chain([packages.clone().into_os_string(), "cmake".into(), "ninja".into()]),
        )
        .stderr_to_stdout()
        .stdout_capture()
        .unchecked()
        .run()
        .context("cannot start python3")?;
        if !install.status.success() {
            bail!(
                "cmake could not be installed from PyPI (is this machine offline?):\n{}\nhint: install cmake and ninja, then run `fix demo` again",
                String::from_utf8_lossy(&install.stdout)
            );
        }
        let real = |package: &str| packages.join(package).join("data/bin");
        let folders = [packages.join("bin"), real("cmake"), real("ninja")];
        // pip's wrapper scripts import their package from site-packages; the programs themselves stand below data/bin.
        let mut path: Vec<PathBuf> = folders.iter().skip(1).filter(|folder| folder.is_dir()).cloned().collect();
        path.push(folders[0].clone());
        path.extend(std::env::split_paths(&self.session.env("PATH").unwrap_or_default()));
        Ok(Tools { path: Some((std::env::join_paths(path)?, packages)), generator: Some("Ninja") })
    }
}

/// How the demo's programs are found and started.
struct Tools {
    /// PATH and PYTHONPATH of the private environment.
    path: Option<(OsString, PathBuf)>,
    generator: Option<&'static str>,
}

impl Tools {
    fn expression(&self, words: &[OsString]) -> duct::Expression {
        let mut expression = duct::cmd(words[0].as_os_str(), &words[1..]);
        // With duct the edit that is made first wins: what is set here is not cleared below.
        if let Some((path, packages)) = &self.path {
            expression = expression.env("PATH", path).env("PYTHONPATH", packages);
        }
        if let Some(generator) = self.generator {
            expression = expression.env(OsStr::new("CMAKE_GENERATOR"), generator);
        }
        for name in CLEARED {
            expression = expression.env_remove(name);
        }
        expression
    }
}
