//! Hands a diagnosis out in the format that is asked for, and says how the command ends.

use std::fs::OpenOptions;
use std::io::Write;

use anyhow::{Result, bail};

use super::args::{Format, Reporting};
use super::output;
use super::session::Session;
use crate::policy::{FAIL_ON, FailOn};
use crate::recipe::Text;
use crate::report::{self, Diagnosis, github, words};

impl Reporting {
    /// The format that is asked for; `--json` is one as well.
    pub fn format(&self, session: &Session) -> Result<Format> {
        match (self.format, session.common.json) {
            (Some(format), true) if format != Format::Json => {
                bail!("`--json` and `--format` ask for different formats")
            }
            (Some(format), _) => Ok(format),
            (None, true) => Ok(Format::Json),
            (None, false) => Ok(Format::Text),
        }
    }

    /// From which confidence on the command fails: the command line's word, the project's, or the usual. A SARIF file
    /// is a report: what is done about it is decided where it is read, unless the command line says otherwise.
    pub fn fail_on(&self, format: Format, project: Option<FailOn>, usual: FailOn) -> FailOn {
        let given = self.fail_on.as_ref().and_then(|word| FAIL_ON.iter().find(|(known, _)| known == word));
        match (given, format) {
            (Some((_, given)), _) => *given,
            (None, Format::Sarif) => FailOn::Never,
            (None, _) => project.unwrap_or(usual),
        }
    }
}

/// Says whether findings make the command fail.
pub fn fails(diagnosis: &Diagnosis, fail_on: FailOn) -> bool {
    diagnosis.findings.iter().any(|finding| fail_on.fails(finding.confidence))
}

/// Hands a diagnosis out in a format for programs; text is the caller's matter.
pub fn hand_out(session: &Session, diagnosis: &Diagnosis, format: Format) {
    let lang = session.lang();
    let document = match format {
        Format::Text => report::text::render_diagnosis(diagnosis, &session.text_style()),
        Format::Json => report::json::render(diagnosis),
        Format::Jsonl => report::json::render_lines(diagnosis),
        Format::Sarif => report::sarif::render(diagnosis, lang),
        Format::Gitlab => {
            // The format is a bare list.
            if let Some(counted) = diagnosis.count_suppressed() {
                session.say(&counted);
            }
            report::gitlab::render(diagnosis, lang)
        }
        Format::Junit => report::junit::render(diagnosis, lang),
        Format::Markdown => report::markdown::render(diagnosis, lang),
        Format::Github => {
            let annotations = github::render(diagnosis, lang);
            let in_summary = step_summary(session, &report::markdown::render(diagnosis, lang));
            if annotations.left > 0 && !in_summary {
                session.say(&words::beyond_limit(annotations.left));
            }
            annotations.text
        }
    };
    match format {
        Format::Text => output::show(&document),
        Format::Json
        | Format::Jsonl
        | Format::Sarif
        | Format::Github
        | Format::Gitlab
        | Format::Junit
        | Format::Markdown => output::hand_out(document.as_bytes()),
    }
}

/// Adds to the step's summary, where GitHub Actions gives a file for it; says whether all of it is there.
pub fn step_summary(session: &Session, markdown: &str) -> bool {
    let Some(path) = session.env("GITHUB_STEP_SUMMARY").filter(|path| !path.is_empty()) else { return false };
    let add = || -> std::io::Result<bool> {
        // The runner makes the file; nothing else is written to.
        let mut file = OpenOptions::new().append(true).open(&path)?;
        let already = file.metadata()?;
        if !already.is_file() {
            return Err(std::io::ErrorKind::InvalidInput.into());
        }
        let fitting = github::fit_summary(markdown, usize::try_from(already.len()).unwrap_or(usize::MAX));
        file.write_all(fitting.as_bytes())?;
        Ok(fitting.len() == markdown.len())
    };
    add().unwrap_or_else(|error| {
        let path = path.display();
        session.say(&Text::new(
            format!("the step's summary `{path}` cannot be written: {error}"),
            format!("无法写入步骤摘要 `{path}`：{error}"),
        ));
        false
    })
}
