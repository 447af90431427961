//! The folder of `fix run --report-dir`: what a CI job keeps of a run. Redacted, since such folders are published.

use std::path::Path;

use anyhow::{Context, Result, bail};
use serde::Serialize;

use super::own_file;
use super::session::Session;
use crate::change::AbsPath;
use crate::diff::{ScreenStyle, render_for_screen};
use crate::os::process::Output;
use crate::plan::Plan;
use crate::redact::redact;
use crate::report;

/// Shows that a folder is one of ours.
const RESULT: &str = "result.json";
/// Bytes of a run's output that are kept, of its beginning and of its end each.
const MOST_OF_A_LOG: usize = 8 << 20;
/// Bytes of one line that are waited for.
const LONGEST_LINE: usize = 1 << 20;

/// A folder for reports.
pub struct ReportDir {
    path: AbsPath,
    runs: usize,
    plans: usize,
}

/// What a run printed, whole lines of both streams in the order of arrival: a line of one that is cut by the other
/// could hide a secret from the rules.
#[derive(Debug, Default)]
pub struct Kept {
    /// Lines that are not complete yet, of standard output and standard error.
    open: [Vec<u8>; 2],
    beginning: Vec<u8>,
    end: Vec<u8>,
    left_out: usize,
}

impl ReportDir {
    /// Makes the folder. One that holds anything but an earlier report is refused.
    pub fn open(session: &Session, path: &Path) -> Result<Self> {
        let path = session.resolve(path);
        std::fs::create_dir_all(path.as_path()).with_context(|| format!("cannot make `{path}`"))?;
        let mut names = std::fs::read_dir(path.as_path()).with_context(|| format!("cannot read `{path}`"))?;
        let is_ours = std::fs::symlink_metadata(path.resolve(RESULT).as_path()).is_ok();
        if !is_ours && names.next().is_some() {
            bail!("`{path}` is not empty and holds no earlier report\nhint: name a new folder");
        }
        let dir = Self { path, runs: 0, plans: 0 };
        dir.clear();
        // From here on it is known as ours, whatever becomes of the run.
        dir.write(RESULT, "{}\n")?;
        Ok(dir)
    }

    /// Takes out what an earlier report left; what is none of ours stays.
    fn clear(&self) {
        for entry in std::fs::read_dir(self.path.as_path()).into_iter().flatten().flatten() {
            let name = entry.file_name().to_string_lossy().into_owned();
            let numbered = |before: &str, after: &str| {
                let number = name.strip_prefix(before).and_then(|rest| rest.strip_suffix(after));
                number.is_some_and(|number| !number.is_empty() && number.bytes().all(|byte| byte.is_ascii_digit()))
            };
            let journal = name == "journal-group.jsonl" || numbered("journal-", ".jsonl");
            if numbered("run-", ".log") || numbered("plan-", ".txt") || journal || name == "diagnosis.json" {
                // What cannot go now is told when it is written.
                let _ = std::fs::remove_file(entry.path());
            }
        }
    }

    /// Keeps what a run printed.
    pub fn log(&mut self, kept: &Kept) -> Result<()> {
        self.runs += 1;
        self.write(&format!("run-{}.log", self.runs), redact(&kept.text()).as_str())
    }

    /// Keeps a plan as its reader sees it.
    pub fn plan(&mut self, session: &Session, plan: &Plan) -> Result<()> {
        self.plans += 1;
        let shown = render_for_screen(plan, session.lang(), &ScreenStyle::default());
        self.write(&format!("plan-{}.txt", self.plans), &format!("{}: {}\n\n{shown}", plan.recipe, plan.digest()))
    }

    /// Keeps what is still wrong, what was done, and the journal.
    pub fn close(
        &self,
        diagnosis: &report::Diagnosis,
        result: &impl Serialize,
        journals: &[(String, Vec<u8>)],
    ) -> Result<()> {
        self.write("diagnosis.json", &report::json::render(diagnosis))?;
        for (name, bytes) in journals {
            self.write(&format!("journal-{name}"), redact(&String::from_utf8_lossy(bytes)).as_str())?;
        }
        self.write(RESULT, &report::json::render(result))
    }

    fn write(&self, name: &str, text: &str) -> Result<()> {
        // The folder is ours: whatever begins the file, it is from an earlier run.
        own_file::replace(&self.path.resolve(name), text.as_bytes())
    }
}

impl Kept {
    fn feed(&mut self, stream: usize, bytes: &[u8]) {
        self.open[stream].extend_from_slice(bytes);
        let complete = self.open[stream].iter().rposition(|byte| *byte == b'\n').map_or(0, |at| at + 1);
        // A line without end is not waited for.
        let complete = if self.open[stream].len() > LONGEST_LINE { self.open[stream].len() } else { complete };
        let lines: Vec<u8> = self.open[stream].drain(..complete).collect();
        self.add(&lines);
    }

    fn add(&mut self, bytes: &[u8]) {
        let room = MOST_OF_A_LOG.saturating_sub(self.beginning.len()).min(bytes.len());
        self.beginning.extend_from_slice(&bytes[..room]);
        self.end.extend_from_slice(&bytes[room..]);
        if self.end.len() > 2 * MOST_OF_A_LOG {
            let cut = self.end.len() - MOST_OF_A_LOG;
            self.left_out += cut;
            self.end.drain(..cut);
        }
    }

    fn text(&self) -> String {
        let open = self.open.iter().filter(|line| !line.is_empty());
        let open: String = open.map(|line| format!("{}\n", String::from_utf8_lossy(line))).collect();
        let beginning = String::from_utf8_lossy(&self.beginning);
        let end = String::from_utf8_lossy(&self.end);
        if self.left_out == 0 {
            return format!("{beginning}{end}{open}");
        }
        // The part of a line that is left could be the end of a secret that is not recognised any more.
        let (first, last) = (beginning.rfind('\n').unwrap_or(0), end.find('\n').map_or(end.len(), |at| at + 1));
        format!("{}\n… {} bytes …\n{}{open}", &beginning[..first], self.left_out, &end[last..])
    }
}

/// Hands what a command prints to two readers.
pub struct Tee<'a> {
    pub first: &'a mut dyn Output,
    pub kept: Option<&'a mut Kept>,
}

impl Output for Tee<'_> {
    fn stdout(&mut self, bytes: &[u8]) {
        self.first.stdout(bytes);
        if let Some(kept) = &mut self.kept {
            kept.feed(0, bytes);
        }
    }

    fn stderr(&mut self, bytes: &[u8]) {
        self.first.stderr(bytes);
        if let Some(kept) = &mut self.kept {
            kept.feed(1, bytes);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_of_two_streams_are_not_mixed() {
        let mut kept = Kept::default();
        kept.feed(1, b"open ");
        kept.feed(0, b"one\ntw");
        kept.feed(1, b"end\nlast");
        kept.feed(0, b"o\n");
        assert_eq!(kept.text(), "one\nopen end\ntwo\nlast\n");
    }

    #[test]
    fn of_a_long_log_both_ends_are_kept_by_whole_lines() {
        let mut kept = Kept::default();
        let line = format!("{}\n", "x".repeat(99));
        kept.add(b"first\n");
        for _ in 0..400_000 {
            kept.add(line.as_bytes());
        }
        kept.add(b"last\n");
        let text = kept.text();
        assert!(text.len() < 4 * MOST_OF_A_LOG && text.starts_with("first\n") && text.ends_with("\nlast\n"));
        let odd: Vec<&str> = text.lines().filter(|line| line.len() != 99).collect();
        assert_eq!(odd.len(), 3, "{odd:?}");
    }
}
