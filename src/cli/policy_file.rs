//! The project's word on findings, for `fix audit`: `fix.toml`, the command line, the baseline.

use std::io::Read;
use std::path::Path;

use anyhow::{Context, Result, bail, ensure};

use super::args::Audit;
use super::own_file;
use super::selecting;
use super::session::Session;
use super::writing::would_write;
use crate::evidence::Host;
use crate::os::{AbsPath, git};
use crate::policy::{self, Baseline, FILE, LONGEST, Policy};
use crate::recipe::catalogue::Catalogue;
use crate::recipe::reader::Day;
use crate::report::Diagnosis;

/// No baseline of a real project comes near it.
const LARGEST_BASELINE: u64 = 64 << 20;

/// Reads the policy.
pub fn policy(args: &Audit, session: &Session, catalogue: &Catalogue) -> Result<Policy> {
    let known: Vec<String> = catalogue.entries().iter().flat_map(|entry| entry.names()).map(str::to_owned).collect();
    let mut policy = match configuration(args, session)? {
        None => Policy::default(),
        Some((name, text)) => policy::read(&name, &text, &known).map_err(|mistakes| {
            let lines: Vec<String> = mistakes.iter().map(|mistake| format!("{mistake}\n  {}", mistake.hint)).collect();
            anyhow::anyhow!("{}", lines.join("\n"))
        })?,
    };
    for name in args.select.iter().chain(&args.ignore) {
        if !known.iter().any(|known| policy::matches_name(name, known)) {
            // Says what is near.
            selecting::entry(catalogue, name)?;
            bail!("`{name}` is no known issue\nhint: `fix list` lists the issues");
        }
    }
    if !args.select.is_empty() {
        policy.select.clone_from(&args.select);
    }
    policy.ignore.extend(args.ignore.iter().cloned());
    Ok(policy)
}

/// The configuration's name and text, where there is one.
fn configuration(args: &Audit, session: &Session) -> Result<Option<(String, String)>> {
    if let Some(path) = &args.config {
        let file = session.resolve(path);
        return Ok(Some((path.display().to_string(), read(&file, LONGEST)?)));
    }
    if let Some(revision) = &args.config_from {
        // A commit without one has no suppressions: that is its word.
        let Some(text) = of_commit(session, revision, FILE, LONGEST)? else { return Ok(None) };
        return Ok(Some((format!("{revision}:{FILE}"), text)));
    }
    for folder in [Some(session.project()), session.host().git().top_level()].into_iter().flatten() {
        let file = folder.resolve(FILE);
        // A link that leads nowhere is a mistake to be told, not an absent file.
        if std::fs::symlink_metadata(file.as_path()).is_ok() {
            // Nobody writes a pipe that a checkout brings along, and a device has no end.
            let is_file = std::fs::metadata(file.as_path()).with_context(|| format!("cannot read `{file}`"))?.is_file();
            ensure!(is_file, "cannot read `{file}`: it is no regular file");
            return Ok(Some((FILE.to_owned(), read(&file, LONGEST)?)));
        }
    }
    Ok(None)
}

/// Reads the baseline that is to be compared with; `None` where there is none, or where the first is to be written.
pub fn baseline(args: &Audit, session: &Session, policy: &Policy) -> Result<Option<Baseline>> {
    let Some(file) = baseline_file(args, session, policy)? else { return Ok(None) };
    let text = match (&args.baseline, &policy.baseline, &args.config_from) {
        // As it is in that commit as well: else a pull request could know its own findings.
        (None, Some(name), Some(revision)) => match of_commit(session, revision, name, LARGEST_BASELINE)? {
            Some(text) => text,
            None => return Ok(None),
        },
        _ if args.write_baseline && std::fs::symlink_metadata(file.as_path()).is_err() => return Ok(None),
        _ => match read(&file, LARGEST_BASELINE) {
            Ok(text) => text,
            Err(error) => bail!("{error:#}\nhint: `--write-baseline` makes a baseline"),
        },
    };
    let baseline = Baseline::read(&text).with_context(|| format!("cannot take `{file}`"))?;
    Ok(Some(baseline))
}

/// Writes the baseline.
pub fn write_baseline(
    args: &Audit,
    session: &Session,
    policy: &Policy,
    diagnosis: &Diagnosis,
    old: Option<&Baseline>,
) -> Result<usize> {
    let Some(file) = baseline_file(args, session, policy)? else { return Ok(0) };
    let new = Baseline::of(diagnosis, old);
    if session.common.dry_run {
        session.say(&would_write(&file));
        return Ok(new.len());
    }
    own_file::write(&file, new.text().as_bytes(), Baseline::BEGINNING)?;
    Ok(new.len())
}

/// Where the baseline is: as the command line says, else as `fix.toml` says, beside it.
fn baseline_file(args: &Audit, session: &Session, policy: &Policy) -> Result<Option<AbsPath>> {
    if let Some(path) = &args.baseline {
        return Ok(Some(session.resolve(path)));
    }
    match &policy.baseline {
        Some(name) => Ok(Some(folder_of_configuration(args, session).resolve(name))),
        None if args.write_baseline => {
            bail!("`--write-baseline` needs a file: give `--baseline FILE`, or `baseline = \"FILE\"` in `{FILE}`")
        }
        None => Ok(None),
    }
}

/// The folder that `fix.toml` stands in, or would: another file that is read in its place is read as if it stood there.
fn folder_of_configuration(args: &Audit, session: &Session) -> AbsPath {
    let top = session.host().git().top_level().unwrap_or(session.project());
    let elsewhere = args.config.is_some() || args.config_from.is_some();
    let own = std::fs::symlink_metadata(session.project().resolve(FILE).as_path()).is_ok();
    if own && !elsewhere { session.project().clone() } else { top.clone() }
}

/// Reads a file of the work tree as it is in a commit; `None` where the commit has none.
fn of_commit(session: &Session, revision: &str, name: &str, most: u64) -> Result<Option<String>> {
    let Some(top) = session.host().git().top_level() else {
        bail!("`--config-from {revision}`: this is no git work tree")
    };
    let bytes = git::file_at(top, revision, Path::new(name), most)
        .with_context(|| format!("cannot read `{name}` of `{revision}`"))?;
    let text = bytes.map(String::from_utf8).transpose();
    text.with_context(|| format!("`{name}` of `{revision}` is not UTF-8"))
}

/// Today, as far as this machine knows.
pub fn today() -> Day {
    let seconds = i64::try_from(crate::os::machine::now().as_secs()).unwrap_or(i64::MAX);
    let text = crate::report::rfc3339(seconds);
    text.get(..10).and_then(Day::parse).unwrap_or(Day(9999, 12, 31))
}

fn read(path: &AbsPath, most: u64) -> Result<String> {
    let mut text = String::new();
    // No length is believed: `<(git show …)` is a pipe.
    std::fs::File::open(path.as_path())
        .and_then(|file| file.take(most + 1).read_to_string(&mut text))
        .with_context(|| format!("cannot read `{path}`"))?;
    if text.len() as u64 > most {
        bail!("`{path}` is too large");
    }
    Ok(text)
}
