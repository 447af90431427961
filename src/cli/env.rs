//! `fix env`: the environment of a repair, for the user's shell, the next steps of a job, or a start-up file.
//!
//! A child cannot change its parent's shell: these are lines to be read by it. Only `--persist` writes, in a transaction.

use std::io::Read;

use anyhow::{Context, Result, bail};

use super::apply::{examine_all, non_empty};
use super::args::{Env, EnvFormat};
use super::environment::{fish_lines, github_lines, shell_lines, with_block};
use super::output;
use super::repair::{Carried, Judgement, Permission, carry_out, permission};
use super::session::Session;
use super::{Refused, convert, selecting, writing};
use crate::change::{AbsPath, Change, EnvOverlay, FileImage, FileState, WriteFile};
use crate::diff::render_for_screen;
use crate::evidence::{FileKind, Host, tracked_file};
use crate::plan::Plan;
use crate::recipe::catalogue::Catalogue;
use crate::recipe::{Applicability, Text, Values};
use crate::report::{self, Outcome};
use crate::transaction;

/// A start-up file of a shell is a text that a person wrote.
const LARGEST: u64 = 4 << 20;

/// An environment and where it comes from.
struct Source {
    overlay: EnvOverlay,
    recipes: Vec<String>,
}

/// Prints or keeps the environment; returns the exit status.
pub fn run(args: &Env, session: &Session) -> Result<u8> {
    let source = if args.issues.is_empty() { last_repair(session)? } else { of_issues(args, session)? };
    let Some(source) = source.filter(|source| !source.overlay.is_empty()) else {
        session.say(&Text::new("no environment to set", "没有需要设置的环境变量"));
        if session.common.json || args.format == EnvFormat::Json {
            print_json(&Source { overlay: EnvOverlay::default(), recipes: Vec::new() });
        }
        return Ok(0);
    };
    if args.persist {
        return persist(&source, session);
    }
    if session.common.json || args.format == EnvFormat::Json {
        print_json(&source);
        return Ok(0);
    }
    let overlay = &source.overlay;
    let lines = match args.format {
        EnvFormat::Sh => shell_lines(overlay),
        EnvFormat::Fish => fish_lines(overlay),
        EnvFormat::Github => for_github(overlay, session)?,
        EnvFormat::Json => Vec::new(),
    };
    // Exact: it is for a shell, not for a person.
    output::hand_out(format!("{}\n", lines.join("\n")).as_bytes());
    Ok(0)
}

fn print_json(source: &Source) {
    let document = report::Environment {
        outcome: Outcome::Listed,
        recipes: source.recipes.clone(),
        variables: report::VariableLine::all_of(&source.overlay),
    };
    output::hand_out(report::json::render(&document).as_bytes());
}

fn root(session: &Session) -> AbsPath {
    session.host().git().top_level().unwrap_or(session.project()).clone()
}

fn last_repair(session: &Session) -> Result<Option<Source>> {
    let state = session.state()?;
    let remembered = transaction::recall(&state, &root(session))
        .map_err(|error| Refused::new(convert::transaction_refusal(&error)))?;
    Ok(remembered.map(|one| Source { overlay: one.overlay, recipes: one.recipes }))
}

fn of_issues(args: &Env, session: &Session) -> Result<Option<Source>> {
    let catalogue = Catalogue::embedded();
    let entries = selecting::entries(&catalogue, &args.issues)?;
    let mut source = Source { overlay: EnvOverlay::default(), recipes: Vec::new() };
    for found in examine_all(session, &entries, non_empty(&args.cmd), None)? {
        let plan = found.plan.map_err(Refused::new)?;
        if plan.applicability > Applicability::Manual && !plan.overlay.is_empty() {
            source.overlay.extend(&plan.overlay);
            source.recipes.push(plan.recipe);
        }
    }
    Ok(Some(source))
}

fn for_github(overlay: &EnvOverlay, session: &Session) -> Result<Vec<String>> {
    // Of the kernel: a value must not be able to hold its own end.
    let mut random = [0_u8; 16];
    std::fs::File::open("/dev/urandom")
        .and_then(|mut file| file.read_exact(&mut random))
        .context("cannot read `/dev/urandom`")?;
    let delimiter: String = random.iter().map(|byte| format!("{byte:02x}")).collect();
    let made = github_lines(overlay, &|name| session.env(name), &|| format!("fix_{delimiter}"));
    for name in &made.impossible {
        session.warn(&Text::new(
            format!("{name} cannot be handed on: GitHub's file takes neither unset variables nor several lines"),
            format!("无法传递 {name}：GitHub 的环境文件不支持删除变量，也不支持多行的值"),
        ));
    }
    for name in &made.withheld {
        session.warn(&Text::new(
            format!("{name} is not handed on: it would make every later step load something"),
            format!("不传递 {name}：它会使后续每个步骤都加载其他内容"),
        ));
    }
    Ok(made.lines)
}

/// The start-up file of the user's shell, where its bytes really stand, and the lines in its language.
fn start_up_file(overlay: &EnvOverlay, session: &Session) -> Result<(AbsPath, AbsPath, Vec<String>)> {
    let Some(home) = session.host().home() else { bail!("there is no HOME to write a start-up file in") };
    let shell = session.env("SHELL").unwrap_or_default().to_string_lossy().into_owned();
    let (name, lines) = match shell.rsplit('/').next().unwrap_or_default() {
        "bash" => (".bashrc", shell_lines(overlay)),
        "zsh" => (".zshrc", shell_lines(overlay)),
        "fish" => (".config/fish/conf.d/build-fix.fish", fish_lines(overlay)),
        _ => (".profile", shell_lines(overlay)),
    };
    // zsh looks for its own files there instead of HOME.
    let folder = match (name, session.env("ZDOTDIR").filter(|folder| !folder.is_empty())) {
        (".zshrc", Some(folder)) => {
            AbsPath::new(&folder).with_context(|| format!("ZDOTDIR is `{}`", folder.display()))?
        }
        _ => home.clone(),
    };
    let named = folder.resolve(name);
    // A link to a file that is kept elsewhere stays: what it leads to is changed.
    let path = named.real();
    Ok((named, path, lines))
}

fn persist(source: &Source, session: &Session) -> Result<u8> {
    let (named, path, lines) = start_up_file(&source.overlay, session)?;
    let root = root(session);
    let host = session.host();
    let before = match host.inspect(path.as_path()) {
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => FileState::Absent,
        meta => {
            let meta = meta.with_context(|| format!("cannot read `{path}`"))?;
            anyhow::ensure!(meta.kind == FileKind::File, "`{path}` is no regular file");
            let bytes = host.read(path.as_path(), LARGEST).with_context(|| format!("cannot read `{path}`"))?;
            FileState::Present(FileImage { bytes, mode: meta.mode })
        }
    };
    let (old, mode) = match &before {
        FileState::Absent => (String::new(), 0o644),
        FileState::Present(image) => {
            let text = String::from_utf8(image.bytes.clone()).with_context(|| format!("`{path}` is not UTF-8"))?;
            (text, image.mode)
        }
    };
    let new = with_block(&old, &root, &lines);
    if new == old {
        session.say(&Text::new(format!("`{path}` has it already"), format!("`{path}` 中已有这些设置")));
        return Ok(0);
    }
    let after = FileState::Present(FileImage { bytes: new.into_bytes(), mode });
    let mut roots = session.roots()?;
    let is_own = host.follow(path.as_path()).is_ok_and(|meta| meta.user == host.user());
    if roots.containing(&named).is_some() && is_own {
        roots.allow(path.clone());
    }
    if roots.containing(&path).is_none() {
        return Err(Refused::new(convert::plan_refusal(&crate::plan::PlanError::OutsideRoots(path))).into());
    }
    let tracked = tracked_file(host, &path);
    let title = Text::new("Keep the environment of a repair", "保留修复所需的环境变量");
    let plan = Plan {
        recipe: source.recipes.join(", "),
        slug: "environment".to_owned(),
        case: "persist".to_owned(),
        says: title.clone(),
        title,
        params: Values::new(),
        applicability: if tracked.is_some() { Applicability::Confirm } else { Applicability::Safe },
        limits: tracked.into_iter().collect(),
        root: root.clone(),
        roots,
        changes: vec![Change::WriteFile(WriteFile { path: path.clone(), before, after })],
        overlay: EnvOverlay::default(),
        rerun: None,
        preconditions: Vec::new(),
        notes: Vec::new(),
        advice: Vec::new(),
    };
    output::tell(&render_for_screen(&plan, session.lang(), &session.screen_style()));
    if session.common.dry_run {
        return Ok(1);
    }
    match permission(session, &plan)? {
        Permission::Granted => {}
        Permission::Declined => return Ok(1),
        Permission::Withheld(refusal) => return Err(Refused::new(refusal).into()),
    }
    let state = session.state()?;
    writing::recover(session, &state, &root)?;
    let mut group = writing::group(&state, &root, &[]);
    match carry_out(session, &mut group, &[&plan], &mut |_| Judgement::Repaired)? {
        Carried::Kept(_) => {
            let id = group.id();
            session.say(&Text::new(
                format!("wrote `{path}`: new shells have it; `fix rollback {id}` takes it out"),
                format!("已写入 `{path}`，新开的 shell 会生效；用 `fix rollback {id}` 可移除"),
            ));
            writing::prune(session, &state);
            Ok(0)
        }
        Carried::Undone(why) => bail!("{}", why.get(session.lang())),
        Carried::Refused(refusal) => Err(Refused::new(refusal).into()),
        Carried::NeedsAttention { why, left } => bail!("{why}: {}", left.join("; ")),
    }
}
