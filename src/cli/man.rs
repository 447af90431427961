//! `fix man [DIR]`: manual pages, one a command, made from the grammar of the command line.

use anyhow::{Context, Result};
use clap::{Command, CommandFactory};

use super::args::{Cli, Man};
use super::session::Session;
use super::writing::would_write;
use super::{help, output, own_file};
use crate::recipe::Text;

/// Begins every page, so that a file of ours is known again.
const BEGINNING: &str = ".\\\" made by fix man\n";

/// Writes the pages into a folder, or prints the main one.
pub fn run(args: &Man, session: &Session) -> Result<u8> {
    let pages = pages()?;
    let Some(folder) = &args.folder else {
        output::hand_out(pages[0].1.as_bytes());
        return Ok(0);
    };
    let folder = session.resolve(folder);
    if session.common.dry_run {
        pages.iter().for_each(|(name, _)| session.say(&would_write(&folder.resolve(name))));
        return Ok(1);
    }
    std::fs::create_dir_all(folder.as_path()).with_context(|| format!("cannot write `{folder}`"))?;
    for (name, page) in &pages {
        own_file::write(&folder.resolve(name), page.as_bytes(), BEGINNING.as_bytes())?;
    }
    let count = pages.len();
    session.say(&Text::new(
        format!("{count} manual pages are in `{folder}`"),
        format!("{count} 个手册页已写入 `{folder}`"),
    ));
    Ok(0)
}

/// The pages with their file names, the main one first.
pub fn pages() -> Result<Vec<(String, String)>> {
    let command = help::fitted(Cli::command());
    let mut all = vec![page(&command, "fix")?];
    for sub in command.get_subcommands().filter(|sub| !sub.is_hide_set()) {
        let name = format!("fix-{}", sub.get_name());
        all.push(page(&sub.clone().name(name.clone()), &name)?);
    }
    Ok(all)
}

fn page(command: &Command, name: &str) -> Result<(String, String)> {
    let mut bytes = BEGINNING.as_bytes().to_vec();
    clap_mangen::Man::new(command.clone()).title(name.to_uppercase()).render(&mut bytes)?;
    Ok((format!("{name}.1"), String::from_utf8_lossy(&bytes).into_owned()))
}
