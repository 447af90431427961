//! What every command needs: the machine, the language, colours, where state is kept, how to ask and tell.

use std::collections::BTreeMap;
use std::ffi::{OsStr, OsString};
use std::io::{self, BufRead, IsTerminal};
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};

use anstyle::{AnsiColor, Style};
use anyhow::{Context, Result};
use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::io::Errno;

use super::args::{Common, Language, Level, When};
use super::ci::Ci;
use super::output;
use super::{Refused, convert, sentences, vocabulary};
use crate::change::{AbsPath, AllowedRoots, EnvOverlay};
use crate::diff::{Colour, ScreenStyle};
use crate::evidence::host::Programs;
use crate::evidence::{LocalHost, Network};
use crate::os::git::GitKnowledge;
use crate::os::signals::{self, Interrupts};
use crate::os::terminal::escape_for_terminal;
use crate::plan::{RootsError, allowed_roots};
use crate::recipe::{Applicability, Lang, Text, Vocabulary};
use crate::redact::redact;
use crate::report::text::{TextStyle, choose_width, said_width};
use crate::report::{Refusal, RefusalReason};
use crate::transaction::StateDir;

/// One invocation of `fix`.
pub struct Session {
    pub common: Common,
    caller: AbsPath,
    project: AbsPath,
    env: BTreeMap<OsString, OsString>,
    host: LocalHost,
    network: Network,
    programs: Programs,
    lang: Lang,
    vocabulary: Vocabulary,
}

/// Colours of what `fix` says; empty where there is none.
pub struct Styles {
    pub heading: Style,
    pub command: Style,
    pub bad: Style,
}

impl Session {
    /// Takes the flags and this process's folder and environment.
    pub fn new(common: Common) -> Result<Self> {
        match common.color {
            When::Auto => {}
            When::Always => anstream::ColorChoice::Always.write_global(),
            When::Never => anstream::ColorChoice::Never.write_global(),
        }
        let caller = std::env::current_dir().context("the current folder does not exist any more")?;
        let caller = AbsPath::new(&caller)?;
        let project = match &common.directory {
            None => caller.clone(),
            Some(directory) => {
                let path = caller.resolve(directory);
                let is_folder =
                    std::fs::metadata(path.as_path()).with_context(|| format!("cannot work in `{path}`"))?;
                anyhow::ensure!(is_folder.is_dir(), "cannot work in `{path}`: it is not a folder");
                // As the kernel calls it for who works in it: one project is not two, for locks, history and rollback.
                path.real()
            }
        };
        let env: BTreeMap<OsString, OsString> = std::env::vars_os().collect();
        let network = if common.online { Network::Allowed } else { Network::NotAllowed };
        let host = host_in(&project, &env, network);
        let given = common.lang.map(|lang| match lang {
            Language::Zh => Lang::Zh,
            Language::En => Lang::En,
        });
        let lang = Lang::choose(given, |name| std::env::var(name).ok());
        let programs = Programs::NotAllowed;
        Ok(Self { common, caller, project, env, host, network, programs, lang, vocabulary: vocabulary::vocabulary() })
    }

    /// Lets questions ask programs of the system: for commands that plan a repair.
    #[must_use]
    pub fn asking_programs(mut self) -> Self {
        self.programs = Programs::Allowed;
        self.host = self.host_with(&EnvOverlay::default());
        self
    }

    pub fn host(&self) -> &LocalHost {
        &self.host
    }

    /// The machine as the user's command sees it after the repair.
    pub fn host_with(&self, overlay: &EnvOverlay) -> LocalHost {
        host_in(&self.project, &self.env_with(overlay), self.network).with_programs(self.programs)
    }

    /// This process's environment with the edits.
    pub fn env_with(&self, overlay: &EnvOverlay) -> BTreeMap<OsString, OsString> {
        let mut env = self.env.clone();
        for (name, _) in overlay.iter() {
            let name_os = OsString::from(name);
            match overlay.value(name, self.env.get(&name_os).map(OsString::as_os_str)) {
                Some(value) => env.insert(name_os, value),
                None => env.remove(&name_os),
            };
        }
        env
    }

    pub fn project(&self) -> &AbsPath {
        &self.project
    }

    pub fn lang(&self) -> Lang {
        self.lang
    }

    pub fn vocabulary(&self) -> &Vocabulary {
        &self.vocabulary
    }

    pub fn env(&self, name: &str) -> Option<OsString> {
        self.env.get(OsStr::new(name)).cloned()
    }

    /// Resolves a path that the user typed against the folder that they typed it in.
    pub fn resolve(&self, path: &Path) -> AbsPath {
        self.caller.resolve(path)
    }

    /// Opens the state folder; nothing is created before something is written.
    pub fn state(&self) -> Result<StateDir> {
        let explicit = self.common.state_dir.as_ref().map(|path| self.resolve(path));
        let path = StateDir::locate(explicit.as_ref(), &|name| self.env(name));
        path.map(StateDir::open).map_err(|error| Refused::new(convert::transaction_refusal(&error)).into())
    }

    /// The folders that may be written here.
    pub fn roots(&self) -> Result<AllowedRoots> {
        let allowed: Vec<AbsPath> = self.common.allow_path.iter().map(|path| self.resolve(path)).collect();
        allowed_roots(&self.host, &allowed).map_err(|error| {
            let RootsError::ForeignHome(home) = &error;
            Refused::new(Refusal {
                reason: RefusalReason::Surroundings,
                path: Some(home.to_string()),
                says: Text::new(error.to_string(), format!("当前为 root，而 HOME `{home}` 属于其他用户")),
                hint: Some(Text::new(
                    format!("run `fix` as the owner of `{home}`, or set HOME to root's own home"),
                    format!("请以 `{home}` 的所有者身份运行 `fix`，或将 HOME 设为 root 自己的主目录"),
                )),
            })
            .into()
        })
    }

    /// The level up to which a repair is applied without asking; `None` asks for everything.
    pub fn unasked(&self) -> Option<Applicability> {
        self.common.yes.map(|level| match level {
            Level::Safe => Applicability::Safe,
            Level::Confirm => Applicability::Confirm,
        })
    }

    /// Whether a person can be asked: never in CI, where a terminal may be pretended.
    pub fn can_ask(&self) -> bool {
        !self.common.no_input && Ci::here(self).is_none() && io::stdin().is_terminal() && io::stderr().is_terminal()
    }

    /// Asks a yes-or-no question on the terminal; an empty answer is no.
    pub fn ask(&self, question: &Text) -> Result<bool> {
        output::tell(&format!("{} [y/N] ", question.get(self.lang)));
        let answer = read_answer()?;
        Ok(matches!(answer.trim().to_lowercase().as_str(), "y" | "yes" | "是" | "好"))
    }

    /// Asks the user to type a word, for what cannot be taken back.
    pub fn ask_for_word(&self, word: &str) -> Result<bool> {
        let question = Text::new(
            format!("This cannot be taken back. Type `{word}` to go on:"),
            format!("此操作无法撤销。请输入 `{word}` 以继续："),
        );
        output::tell(&format!("{} ", question.get(self.lang)));
        Ok(read_answer()?.trim() == word)
    }

    /// Says a sentence on standard error.
    pub fn say(&self, text: &Text) {
        if !self.common.quiet {
            output::tell(&format!("{}\n", for_screen(text.get(self.lang))));
        }
    }

    /// Says what must not be missed, also with `--quiet`.
    pub fn warn(&self, text: &Text) {
        output::tell(&format!("fix: {}\n", for_screen(text.get(self.lang))));
    }

    /// Says an error and how to mend it; a hint stands on a line of its own.
    pub fn fail(&self, error: &anyhow::Error) {
        let text = match error.downcast_ref::<Refused>() {
            Some(refused) => refused.sentence(self.lang),
            None if self.lang == Lang::Zh => sentences::in_chinese(&format!("{error:#}")),
            None => format!("{error:#}"),
        };
        let text = for_screen(&text);
        let bad = self.styles().bad;
        output::tell(&format!("{bad}{}{bad:#} {text}\n", Text::new("error:", "错误：").get(self.lang)));
    }

    /// How results are laid out; colours are taken out where the stream takes none.
    pub fn text_style(&self) -> TextStyle {
        let width = choose_width(self.env("COLUMNS").as_deref(), terminal_width());
        TextStyle { lang: self.lang, colour: Colour::Always, width }
    }

    /// How plans are shown.
    pub fn screen_style(&self) -> ScreenStyle {
        let width = said_width(self.env("COLUMNS").as_deref(), terminal_width());
        ScreenStyle { colour: Colour::Always, width, ..ScreenStyle::default() }
    }

    pub fn styles(&self) -> Styles {
        let colour = |colour: AnsiColor| Style::new().fg_color(Some(colour.into()));
        Styles { heading: Style::new().bold(), command: colour(AnsiColor::Cyan), bad: colour(AnsiColor::Red).bold() }
    }

    /// Finds a program on PATH.
    pub fn which(&self, name: &str) -> Option<PathBuf> {
        let path = self.env("PATH")?;
        std::env::split_paths(&path).map(|folder| folder.join(name)).find(|file| {
            std::fs::metadata(file).is_ok_and(|meta| meta.is_file() && meta.permissions().mode() & 0o111 != 0)
        })
    }
}

/// Makes a sentence of ours fit for a terminal: names in it come from elsewhere.
pub fn for_screen(text: &str) -> String {
    escape_for_terminal(redact(text).as_str())
}

/// Columns of the terminal that shows what we say.
fn terminal_width() -> Option<usize> {
    [rustix::stdio::stdout(), rustix::stdio::stderr()]
        .iter()
        .find_map(|stream| rustix::termios::tcgetwinsize(stream).ok())
        .map(|size| usize::from(size.ws_col))
}

fn host_in(project: &AbsPath, env: &BTreeMap<OsString, OsString>, network: Network) -> LocalHost {
    LocalHost::new(project.clone(), env.clone(), Box::new(GitKnowledge::discover(project))).with_network(network)
}

/// How often a prompt looks whether it shall end, in nanoseconds.
const GLANCE: i64 = 100_000_000;

/// Reads a line from the terminal. A signal that asks us to stop ends `fix` by it: nothing is begun at a prompt.
fn read_answer() -> Result<String> {
    let interrupts = Interrupts::install()?;
    let stdin = io::stdin();
    loop {
        if let Some(signal) = interrupts.requested() {
            output::tell("\n");
            signals::leave_by(signal);
            std::process::exit(128 + signal);
        }
        let mut ready = [PollFd::new(&stdin, PollFlags::IN)];
        match poll(&mut ready, Some(&Timespec { tv_sec: 0, tv_nsec: GLANCE })) {
            Ok(0) | Err(Errno::INTR) => {}
            Ok(_) => break,
            Err(error) => return Err(error.into()),
        }
    }
    let mut answer = String::new();
    stdin.lock().read_line(&mut answer)?;
    Ok(answer)
}
