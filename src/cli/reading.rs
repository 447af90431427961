//! From logs and running commands to findings.

use std::collections::BTreeMap;
use std::io::Read;
use std::path::Path;

use anyhow::{Context, Result};

use super::selecting;
use super::session::Session;
use crate::diagnosis::stage::{Progress, Stage};
use crate::diagnosis::went_on::{self, MILESTONES};
use crate::diagnosis::{Evidence, Finding, Origin, PatternOwner, candidates, examine, rank};
use crate::evidence::Host;
use crate::evidence::log::{LogScan, Pattern, Scanner, Session as LogSession};
use crate::os::process::Output;
use crate::recipe::catalogue::Entry;
use crate::recipe::{Recipe, Role, Text, Values};

/// The signatures of some recipes, ready to scan.
pub struct Reader<'c> {
    entries: Vec<&'c Entry>,
    scanner: Scanner,
    owners: Vec<PatternOwner>,
    required: BTreeMap<String, Vec<usize>>,
}

/// What was read of one command or one set of logs.
#[derive(Debug, Clone, Default)]
pub struct Reading {
    pub logs: Vec<LogScan>,
    /// The latest stage of the build that showed, where it was followed.
    pub stage: Stage,
}

/// Whether anybody asks how far the build of a log got.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Stages {
    Followed,
    Unasked,
}

impl<'c> Reader<'c> {
    /// Takes the recipes to look for.
    pub fn new(entries: Vec<&'c Entry>) -> Self {
        let mut patterns = Vec::new();
        let mut owners = Vec::new();
        let mut required: BTreeMap<String, Vec<usize>> = BTreeMap::new();
        for entry in &entries {
            for (index, signature) in entry.signatures.iter().enumerate() {
                if signature.role == Role::Required {
                    required.entry(entry.id.to_string()).or_default().push(index);
                }
                for alternative in signature.any.iter() {
                    patterns.push(Pattern {
                        regex: alternative.regex.to_string(),
                        anchors: alternative.anchors.iter().map(ToString::to_string).collect(),
                        lines: signature.lines.max(1),
                    });
                    owners.push(PatternOwner {
                        recipe: entry.id.to_string(),
                        signature: index,
                        role: signature.role,
                        lines: signature.lines,
                        side: signature.side,
                    });
                }
            }
        }
        for (at, milestone) in MILESTONES.iter().enumerate() {
            let anchors = vec![milestone.anchor.to_owned()];
            patterns.push(Pattern { regex: milestone.regex.to_owned(), anchors, lines: 1 });
            owners.push(went_on::owner(at));
        }
        Self { entries, scanner: Scanner::new(patterns), owners, required }
    }

    /// Reads one log.
    pub fn read(&self, source: &str, reader: impl Read, stages: Stages) -> std::io::Result<Reading> {
        if stages == Stages::Unasked {
            return Ok(Reading { logs: vec![self.scanner.scan(source, reader)?], stage: Stage::default() });
        }
        let mut watched = Watched { reader, progress: Progress::default() };
        let scan = self.scanner.scan(source, &mut watched)?;
        Ok(Reading { logs: vec![scan], stage: watched.progress.stage() })
    }

    /// Reads the logs that the user named; `-` is standard input.
    pub fn read_named<'p>(
        &self,
        session: &Session,
        paths: impl IntoIterator<Item = &'p Path>,
        stages: Stages,
    ) -> Result<Reading> {
        let mut all = Reading::default();
        for path in paths {
            let one = if path == Path::new("-") {
                self.read("-", std::io::stdin().lock(), stages).context("cannot read standard input")?
            } else {
                let file = session.resolve(path);
                let open = std::fs::File::open(file.as_path()).with_context(|| format!("cannot read `{file}`"))?;
                self.read(&path.to_string_lossy(), open, stages).with_context(|| format!("cannot read `{file}`"))?
            };
            all.logs.extend(one.logs);
            all.stage = all.stage.max(one.stage);
        }
        Ok(all)
    }

    /// Starts to read a running command.
    pub fn listen(&self) -> Listener {
        Listener {
            stdout: self.scanner.session("stdout"),
            stderr: self.scanner.session("stderr"),
            progress: [Progress::default(), Progress::default()],
        }
    }

    /// Diagnoses what was read, ranked.
    pub fn diagnose(&self, reading: &Reading, asking: &Asking<'_>, session: &Session) -> Result<Vec<Finding>> {
        let mut findings = Vec::new();
        for id in candidates(&reading.logs, &self.owners, &self.required) {
            let entry = self.entries.iter().find(|entry| entry.id == id).expect("candidates come from the entries");
            let recipe = recipe_of(entry)?;
            let set = selecting::set_for(session, &recipe);
            let evidence = self.evidence(reading, asking, &set);
            findings.extend(examine(&recipe, &evidence));
        }
        Ok(rank(findings))
    }

    /// Puts what was read together with the machine.
    pub fn evidence<'a>(&'a self, reading: &'a Reading, asking: &Asking<'a>, set: &'a Values) -> Evidence<'a> {
        Evidence {
            logs: &reading.logs,
            patterns: &self.owners,
            host: asking.host,
            origin: asking.origin,
            command: asking.command,
            set,
        }
    }
}

/// Whom to ask, and about whose command.
#[derive(Clone, Copy)]
pub struct Asking<'a> {
    pub host: &'a dyn Host,
    pub origin: Origin,
    pub command: Option<&'a [std::ffi::OsString]>,
}

/// Parses the recipe of an entry.
pub fn recipe_of(entry: &Entry) -> Result<Recipe> {
    entry.checked_recipe().map_err(|errors| {
        let lines: Vec<String> = errors.iter().map(ToString::to_string).collect();
        anyhow::anyhow!("the recipe `{}` is broken:\n{}", entry.id, lines.join("\n"))
    })
}

/// Says whether a log speaks of this machine's project: it lies in the project, names it, or the user does by giving a
/// path that is here by `--set`.
pub fn origin_of(session: &Session, reading: &Reading, paths: &[&Path], recipes: &[Recipe]) -> Origin {
    if session.common.log_only {
        return Origin::Elsewhere;
    }
    let root = session.host().git().top_level().unwrap_or(session.project());
    if root.parent().is_none() {
        return Origin::Elsewhere;
    }
    let inside = paths.iter().any(|path| *path != Path::new("-") && session.resolve(path).is_within(root));
    let name = format!("{root}/");
    let named = reading.logs.iter().any(|log| {
        log.hits.iter().any(|hit| hit.text.contains(&name))
            || log.telling.iter().chain(&log.tail).any(|line| line.text.contains(&name))
    });
    // What the user calls the tree of that log is on this machine, so that the log is of this machine as well.
    let is_here = |text: &String| session.host().follow(session.project().resolve(text).as_path()).is_ok();
    let given = selecting::given_paths(session, recipes).iter().any(is_here);
    if inside || named || given {
        return Origin::ThisMachine;
    }
    let piped = paths.contains(&Path::new("-")) && comes_through_a_pipe();
    if piped { Origin::Piped } else { Origin::Elsewhere }
}

/// Says whether standard input is a pipe. Whoever types `cmake … | fix diagnose -` in a project means that project; but
/// `cat` may stand before the pipe as well, so that it proves nothing.
fn comes_through_a_pipe() -> bool {
    let status = rustix::fs::fstat(rustix::stdio::stdin());
    status.is_ok_and(|status| rustix::fs::FileType::from_raw_mode(status.st_mode) == rustix::fs::FileType::Fifo)
}

/// Says that this machine was not asked, or showed nothing, and how it can be, where a log is from elsewhere as far as
/// can be seen.
pub fn mention_not_asked<'f>(session: &Session, origin: Origin, findings: impl IntoIterator<Item = &'f Finding>) {
    if origin == Origin::Piped && findings.into_iter().any(|finding| !finding.asked) {
        session.say(&Text::new(
            "note: this machine does not confirm what the pipe says, and the log does not name this project; \
             if it is this project's build, `fix run -- CMD` runs it and is sure",
            "注意：本机情况未能印证管道传入的日志，且日志未提及此项目；若确为此项目的构建，请用 `fix run -- CMD` 运行",
        ));
    } else if origin == Origin::Elsewhere && !session.common.log_only {
        session.say(&Text::new(
            "note: this machine was not asked: the log neither lies in this project nor names it; \
             put it into the project, or let `fix run -- CMD` run the build",
            "注意：未询问本机：日志既不在此项目中，也未提及此项目；请将其放入项目目录，或用 `fix run -- CMD` 运行构建",
        ));
    }
}

/// Scans what a command prints while it runs.
pub struct Listener {
    stdout: LogSession,
    stderr: LogSession,
    progress: [Progress; 2],
}

impl Listener {
    /// Ends the scan.
    pub fn finish(self) -> Reading {
        let stage = self.progress.iter().map(Progress::stage).max().unwrap_or_default();
        let logs = [self.stdout.finish(), self.stderr.finish()].into_iter().filter(|log| log.bytes > 0).collect();
        Reading { logs, stage }
    }
}

impl Output for Listener {
    fn stdout(&mut self, bytes: &[u8]) {
        self.progress[0].feed(bytes);
        self.stdout.feed(bytes);
    }

    fn stderr(&mut self, bytes: &[u8]) {
        self.progress[1].feed(bytes);
        self.stderr.feed(bytes);
    }
}

/// A reader that follows the stages of the build on the way.
struct Watched<R> {
    reader: R,
    progress: Progress,
}

impl<R: Read> Read for Watched<R> {
    fn read(&mut self, buffer: &mut [u8]) -> std::io::Result<usize> {
        let n = self.reader.read(buffer)?;
        self.progress.feed(&buffer[..n]);
        Ok(n)
    }
}
