//! Reviewed plans: written by `fix plan -o`, made again and compared by `fix apply --plan`.
//!
//! The file is for people and for comparing. Nothing of it is executed: the plan is made again from the recipe,
//! the parameters and this machine, and must have the same digest.

use std::ffi::OsString;
use std::io::Read;
use std::path::Path;

use anyhow::{Context, Result, bail};
use serde::{Deserialize, Serialize};

use super::Refused;
use super::apply::{Found, examine_all, non_empty};
use super::output;
use super::own_file;
use super::reading::recipe_of;
use super::repair::withheld;
use super::selecting;
use super::session::Session;
use crate::diagnosis::Finding;
use crate::diff::{ScreenStyle, render_for_screen};
use crate::plan::Plan;
use crate::recipe::catalogue::Catalogue;
use crate::recipe::{Applicability, Lang, Recipe, Text, Value, Values};
use crate::redact::{Profile, Redactor};
use crate::report::RefusalReason;

/// Number of this file format.
const FORMAT: u32 = 1;
/// A plan file is a page or two of text.
const LARGEST: u64 = 16 << 20;

/// A plan file.
#[derive(Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct PlanFile {
    schema_version: u32,
    /// The folder that it was made in.
    project: String,
    repairs: Vec<Reviewed>,
    /// The user's command.
    command: Vec<String>,
}

/// One repair of a plan file.
#[derive(Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct Reviewed {
    id: String,
    case: String,
    applicability: Applicability,
    /// Parameters from logs and the command line.
    params: Values,
    digest: String,
    /// What it does, for the reviewer; redacted.
    shown: Vec<String>,
}

/// Characters of a line that differs.
const LONGEST_SHOWN: usize = 200;

/// How a plan file begins.
const BEGINNING: &[u8] = b"{\n  \"schema_version\"";

/// What a plan does, as its reviewer reads it.
fn shown(plan: &Plan, lang: Lang) -> Vec<String> {
    render_for_screen(plan, lang, &ScreenStyle::default()).lines().map(str::to_owned).collect()
}

/// Writes plans to a file, mode 0600; returns the digests.
pub fn write(session: &Session, path: &Path, planned: &[(&Finding, &Plan)], command: &[OsString]) -> Result<String> {
    let mut repairs = Vec::new();
    let mut redactor = Redactor::new(Profile::Secrets);
    for (finding, plan) in planned {
        for (name, value) in &finding.given {
            let text = value.to_text();
            if redactor.redact_value(name, &text).as_str() != text {
                bail!(
                    "the parameter `{name}` holds a secret, and a plan file is read by others\nhint: use `fix {}` here",
                    plan.recipe
                );
            }
        }
        repairs.push(Reviewed {
            id: plan.recipe.clone(),
            case: plan.case.clone(),
            applicability: plan.applicability,
            params: finding.given.clone(),
            digest: plan.digest(),
            shown: shown(plan, session.lang()),
        });
    }
    let command = command
        .iter()
        .map(|word| word.to_str().map(str::to_owned).with_context(|| format!("`{}` is not UTF-8", word.display())))
        .collect::<Result<Vec<String>>>()?;
    if redactor.redact_words(&command).iter().zip(&command).any(|(redacted, word)| redacted.as_str() != word) {
        bail!("the command holds a secret, and a plan file is read by others\nhint: pass secrets by the environment");
    }
    let digest = repairs.iter().map(|repair| repair.digest.as_str()).collect::<Vec<_>>().join(":");
    let file = PlanFile { schema_version: FORMAT, project: session.project().to_string(), repairs, command };
    let mut text = serde_json::to_string_pretty(&file)?;
    text.push('\n');
    if path == Path::new("-") {
        output::hand_out(text.as_bytes());
        return Ok(digest);
    }
    let path = session.resolve(path);
    own_file::write(&path, text.as_bytes(), BEGINNING)?;
    Ok(digest)
}

/// Reads a plan file.
pub fn read(session: &Session, path: &Path) -> Result<PlanFile> {
    let path = session.resolve(path);
    let mut text = String::new();
    // No length is believed: it may be a pipe or a device.
    std::fs::File::open(path.as_path())
        .and_then(|file| file.take(LARGEST + 1).read_to_string(&mut text))
        .with_context(|| format!("cannot read `{path}`"))?;
    if text.len() as u64 > LARGEST {
        bail!("`{path}` is too large for a plan file");
    }
    let version: serde_json::Value =
        serde_json::from_str(&text).with_context(|| format!("`{path}` is not a plan file"))?;
    match version.get("schema_version").and_then(serde_json::Value::as_u64) {
        Some(1) => {}
        Some(other) => bail!("`{path}` has the format {other}; this `fix` reads {FORMAT}"),
        None => bail!("`{path}` is not a plan file: it has no `schema_version`"),
    }
    let file: PlanFile = serde_json::from_str(&text).with_context(|| format!("`{path}` is not a plan file"))?;
    if file.repairs.is_empty() {
        bail!("`{path}` is not a plan file: it has no repairs");
    }
    Ok(file)
}

impl PlanFile {
    /// The user's command, as it was planned.
    pub fn command(&self) -> Vec<OsString> {
        self.command.iter().map(OsString::from).collect()
    }

    /// Makes the plan again on this machine; refuses when it is another one than was reviewed.
    pub fn make_again(&self, session: &Session) -> Result<Vec<Found>> {
        let catalogue = Catalogue::embedded();
        let command = self.command();
        let mut all = Vec::new();
        for reviewed in &self.repairs {
            let entry = selecting::entry(&catalogue, &reviewed.id)?;
            if session.project().to_string() != self.project {
                let (was, is) = (&self.project, session.project());
                return Err(stale(
                    &reviewed.id,
                    &format!("it was made in `{was}`, and this is `{is}`"),
                    &format!("它是在 `{was}` 中生成的，而当前目录为 `{is}`"),
                ));
            }
            if let Some(name) = reviewed.odd_parameter(&recipe_of(entry)?) {
                return Err(stale(
                    &reviewed.id,
                    &format!("its parameter `{name}` is none that this issue takes"),
                    &format!("参数 `{name}` 不是该问题可用的参数"),
                ));
            }
            let found = examine_all(session, &[entry], non_empty(&command), Some(&reviewed.params))?;
            let Some(found) = found.into_iter().next() else {
                return Err(stale(&reviewed.id, "this machine shows nothing of it any more", "本机已无此问题的迹象"));
            };
            let plan = match &found.plan {
                Ok(plan) => plan,
                Err(refusal) => return Err(stale(&reviewed.id, &refusal.says.en, &refusal.says.zh)),
            };
            if plan.case != reviewed.case {
                let (was, is) = (&reviewed.case, &plan.case);
                return Err(stale(
                    &reviewed.id,
                    &format!("the cause was `{was}` and is `{is}` now"),
                    &format!("原因当时为 `{was}`，现在为 `{is}`"),
                ));
            }
            if plan.digest() != reviewed.digest {
                let differs = reviewed.difference(plan);
                return Err(stale(
                    &reviewed.id,
                    &format!(
                        "the repair would do something else now: files, folders, environment or command changed since{}",
                        differs.en
                    ),
                    &format!("现在的修复与评审时不同：文件、目录、环境或命令已变化{}", differs.zh),
                ));
            }
            if plan.applicability != reviewed.applicability {
                return Err(stale(
                    &reviewed.id,
                    "the file gives it another level than it has",
                    "文件中的级别与该修复的实际级别不同",
                ));
            }
            // What was reviewed is what is done, to the letter; it was written in one of our languages.
            if ![Lang::En, Lang::Zh].iter().any(|lang| shown(plan, *lang) == reviewed.shown) {
                let differs = reviewed.difference(plan);
                return Err(stale(
                    &reviewed.id,
                    &format!("what the file shows is not what the repair does now{}", differs.en),
                    &format!("文件中展示的内容与现在的修复不一致{}", differs.zh),
                ));
            }
            all.push(found);
        }
        Ok(all)
    }
}

impl Reviewed {
    /// Says where what the reviewer saw differs from what would be done now, in the language of the file. Its own words
    /// are quoted only where they differ from ours in nothing but numbers: they may be anybody's.
    fn difference(&self, plan: &Plan) -> Text {
        let alike = |lang: &Lang| shown(plan, *lang).iter().filter(|line| self.shown.contains(line)).count();
        let lang = [Lang::Zh, Lang::En].into_iter().max_by_key(alike).unwrap_or(Lang::En);
        let now = shown(plan, lang);
        let only = |these: &[String], others: &[String]| {
            let line = these.iter().find(|line| !line.trim().is_empty() && !others.contains(line));
            line.map(|line| line.trim().chars().take(LONGEST_SHOWN).collect::<String>())
        };
        match (only(&self.shown, &now), only(&now, &self.shown)) {
            (Some(was), Some(is)) if without_digits(&was) == without_digits(&is) => {
                Text::new(format!("; it was: {was}; it is: {is}"), format!("；当时：{was}；现在：{is}"))
            }
            (_, Some(is)) => Text::new(format!("; it is now: {is}"), format!("；现在：{is}")),
            (_, None) => Text::default(),
        }
    }

    /// Returns a parameter that the recipe does not have, or whose value is not as it must be.
    fn odd_parameter(&self, recipe: &Recipe) -> Option<&str> {
        let fits = |name: &String, value: &Value| {
            let mut params = recipe.params.iter().filter(|param| param.name == *name);
            params.any(|param| param.kind.admit(value, &param.choices).as_ref() == Some(value))
        };
        self.params.iter().find(|(name, value)| !fits(name, value)).map(|(name, _)| name.as_str())
    }
}

fn without_digits(text: &str) -> String {
    text.chars().filter(|c| !c.is_ascii_digit()).collect()
}

fn stale(id: &str, en: &str, zh: &str) -> anyhow::Error {
    Refused::new(withheld(
        RefusalReason::StalePlan,
        Text::new(
            format!("refusing the reviewed plan for `{id}`: {en}"),
            format!("拒绝执行 `{id}` 的已评审计划：{zh}"),
        ),
        Text::new(
            format!("make and review a new plan with `fix plan {id} -o FILE`"),
            format!("请用 `fix plan {id} -o FILE` 重新生成并评审"),
        ),
    ))
    .into()
}
