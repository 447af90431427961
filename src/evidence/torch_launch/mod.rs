//! Where a command says on which port torchrun listens, and how another one is put there.
//!
//! It reads the command's words, the line of a `bash -c`, and the scripts that the command runs. A form that PyTorch
//! would not listen to, that hangs, or that the other nodes of a job must agree on is told as such and never rewritten.

mod grammar;
mod text;

use std::ffi::OsString;

use super::Host;
use super::build_command::{base_name, plain_words, strip_wrappers};
use crate::os::AbsPath;
use grammar::{ValueAt, Word};

pub(crate) use text::{is_shell_script, read_script};

/// The port that torchrun takes without an option, and that of its c10d rendezvous.
const STATIC_DEFAULT: u16 = 29500;
const C10D_DEFAULT: u16 = 29400;

/// A place in a command where the port of a job is said, or could be.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Launch {
    pub place: Place,
    /// The port that it listens on as it stands.
    pub port: u16,
    pub said: Said,
    pub(crate) edit: Edit,
}

/// What holds the words of a launch.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub enum Place {
    Command,
    /// A word of the command that is a shell's line.
    Line(usize),
    Script(AbsPath),
}

/// How the port is said.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Said {
    /// By an option, or an assignment in a script.
    Given,
    /// By nothing: it is PyTorch's default.
    Default,
    /// By a variable of the environment, or for want of it.
    Variable(String),
}

/// How another port is said: `before`, the port, `after`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Edit {
    pub at: EditAt,
    pub before: String,
    pub after: String,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum EditAt {
    /// Takes the place of a word of the command.
    Word(usize),
    /// Stands in front of a word of the command.
    InFront(usize),
    /// Takes the place of these bytes of a shell text.
    Bytes(std::ops::Range<usize>),
    Variable(String),
}

/// Why the port of a launch is not to be changed.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Stuck {
    /// All nodes of a job must name the same port.
    SeveralNodes,
    /// `--standalone` or port 0 of the c10d rendezvous: PyTorch takes a free port by itself.
    TakesAnyPort,
    /// Only a shell, or another program, could tell.
    Unclear,
}

/// What was found in a command.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Launches {
    /// At least one.
    Found(Vec<Launch>),
    Stuck(Stuck),
    None,
}

/// A command with another port in it.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Rewritten {
    /// The command, where its words change.
    pub argv: Option<Vec<OsString>>,
    /// Scripts, each with its text before and after.
    pub scripts: Vec<(AbsPath, String, String)>,
    pub variables: Vec<String>,
}

/// Finds the launches of a command.
pub fn find(command: &[OsString], host: &dyn Host) -> Launches {
    let Some(words) = plain_words(command) else { return Launches::Stuck(Stuck::Unclear) };
    match in_command(&words, host) {
        Ok(all) if all.is_empty() => Launches::None,
        Ok(all) => Launches::Found(all),
        Err(stuck) => Launches::Stuck(stuck),
    }
}

/// Puts `port` into those launches of `command` that use `taken`. Scripts are read again.
pub fn rewrite(command: &[OsString], taken: u16, port: u16, host: &dyn Host) -> Option<Rewritten> {
    let Launches::Found(mut all) = find(command, host) else { return None };
    all.retain(|launch| launch.port == taken);
    // From the end on, so that places stay where they are.
    all.sort_by_key(|launch| match &launch.edit.at {
        EditAt::Word(at) | EditAt::InFront(at) => std::cmp::Reverse(*at),
        EditAt::Bytes(range) => std::cmp::Reverse(range.start),
        EditAt::Variable(_) => std::cmp::Reverse(0),
    });
    let mut done = Rewritten::default();
    let mut argv = plain_words(command)?;
    for Launch { place, edit, .. } in &all {
        let text = format!("{}{port}{}", edit.before, edit.after);
        match (&edit.at, place) {
            (EditAt::Variable(name), _) => {
                if !done.variables.contains(name) {
                    done.variables.push(name.clone());
                }
                continue;
            }
            (EditAt::Word(at), _) => *argv.get_mut(*at)? = text,
            (EditAt::InFront(at), _) => argv.insert(*at, text),
            (EditAt::Bytes(range), Place::Line(at)) => argv.get_mut(*at)?.replace_range(range.clone(), &text),
            (EditAt::Bytes(range), Place::Script(path)) => {
                let known = done.scripts.iter().position(|(known, ..)| known == path);
                let index = match known {
                    Some(index) => index,
                    None => {
                        let old = text::read_script(path, host)?;
                        done.scripts.push((path.clone(), old.clone(), old));
                        done.scripts.len() - 1
                    }
                };
                let new = &mut done.scripts[index].2;
                // Two launches may share one assignment, which is changed once.
                if new.get(range.clone()).is_some_and(|now| now != text) {
                    new.replace_range(range.clone(), &text);
                }
                continue;
            }
            (EditAt::Bytes(_), Place::Command) => return None,
        }
        done.argv = Some(argv.iter().map(OsString::from).collect());
    }
    (!all.is_empty()).then_some(done)
}

fn in_command(words: &[String], host: &dyn Host) -> Result<Vec<Launch>, Stuck> {
    let rest = strip_wrappers(words).ok_or(Stuck::Unclear)?;
    let skipped = words.len() - rest.len();
    let name = rest.first().map(|program| base_name(program)).unwrap_or_default();
    if matches!(name, "sh" | "bash" | "dash" | "zsh") {
        let mut at = 1;
        while rest.get(at).is_some_and(|word| word.starts_with('-') || word.starts_with('+')) {
            let word = &rest[at];
            if !word.starts_with("--") && word.ends_with('c') {
                let line = rest.get(at + 1).ok_or(Stuck::Unclear)?;
                return text::launches(line, &Place::Line(skipped + at + 1), host, 0);
            }
            // `-o pipefail`
            at += if word.ends_with('o') { 2 } else { 1 };
        }
        let Some(script) = rest.get(at) else { return Ok(Vec::new()) };
        return in_script(script, host, 0);
    }
    let plain: Vec<Word<'_>> = rest.iter().map(|word| Word { raw: word, literal: Some(word) }).collect();
    let Some(behind) = behind_launcher(&plain) else {
        if rest.first().is_some_and(|program| program.contains('/') && !program.starts_with('-'))
            && let Some(program) = rest.first()
            && text::is_shell_script(&host.project().resolve(program), host)
        {
            return in_script(program, host, 0);
        }
        return direct(words, rest, host);
    };
    if environment_rules(|name| host.env(name).is_some()) || words[..skipped].iter().any(|w| w.starts_with("PET_")) {
        return Err(Stuck::Unclear);
    }
    let value = |at: ValueAt| plain.get(behind + at.word).and_then(|word| word.raw.get(at.from..)).map(str::to_owned);
    let port = choose(&plain[behind..], &value)?;
    let launch = |edit, port, said| Launch { place: Place::Command, port, said, edit };
    Ok(vec![match port {
        Port::Absent { option, port } => {
            let edit = Edit { at: EditAt::InFront(skipped + behind), before: option, after: String::new() };
            launch(edit, port, Said::Default)
        }
        Port::At { at, host_part } => {
            let word = plain[behind + at.word].raw;
            let number = word.get(at.from + host_part..).unwrap_or_default();
            let edit = Edit {
                at: EditAt::Word(skipped + behind + at.word),
                before: word[..at.from + host_part].to_owned(),
                after: String::new(),
            };
            launch(edit, number.parse().map_err(|_| Stuck::Unclear)?, Said::Given)
        }
        Port::NoneInEndpoint { at } => {
            let edit = Edit {
                at: EditAt::Word(skipped + behind + at.word),
                before: format!("{}:", plain[behind + at.word].raw),
                after: String::new(),
            };
            launch(edit, C10D_DEFAULT, Said::Default)
        }
    }])
}

/// Where a launcher's port is said.
enum Port {
    /// Nowhere: `option` in front of a port says it.
    Absent { option: String, port: u16 },
    /// In an option's value, behind `host_part` bytes of it.
    At { at: ValueAt, host_part: usize },
    /// In no part of an endpoint that names a host alone.
    NoneInEndpoint { at: ValueAt },
}

/// Finds the option that decides the port of a launch.
fn choose(words: &[Word<'_>], value: &dyn Fn(ValueAt) -> Option<String>) -> Result<Port, Stuck> {
    let options = grammar::read(words).ok_or(Stuck::Unclear)?;
    if options.opaque {
        return Err(Stuck::Unclear);
    }
    if options.standalone {
        return Err(Stuck::TakesAnyPort);
    }
    let text = |at: Option<ValueAt>| at.map(|at| value(at).ok_or(Stuck::Unclear)).transpose();
    if !matches!(text(options.nodes)?.as_deref(), None | Some("1" | "1:1")) {
        return Err(Stuck::SeveralNodes);
    }
    let backend = text(options.backend)?.unwrap_or("static".into());
    if !matches!(backend.as_str(), "static" | "c10d") {
        return Err(Stuck::Unclear);
    }
    let raw = |at: ValueAt| words.get(at.word).and_then(|word| word.raw.get(at.from..)).unwrap_or_default();
    match (options.endpoint.filter(|at| !raw(*at).trim_matches(['"', '\'']).is_empty()), backend.as_str()) {
        (Some(at), _) => {
            let endpoint = raw(at);
            // An IPv6 address has colons of its own.
            let colon = endpoint.rfind(':').filter(|colon| !endpoint[*colon..].contains(']'));
            match colon {
                Some(colon) if backend == "c10d" && endpoint[colon + 1..].trim_end_matches(['"', '\'']) == "0" => {
                    Err(Stuck::TakesAnyPort)
                }
                Some(colon) => Ok(Port::At { at, host_part: colon + 1 }),
                None if backend == "c10d" && words[at.word].literal == Some(words[at.word].raw) => {
                    Ok(Port::NoneInEndpoint { at })
                }
                None => Err(Stuck::Unclear),
            }
        }
        (None, "c10d") => Ok(Port::Absent { option: "--rdzv-endpoint=localhost:".into(), port: C10D_DEFAULT }),
        (None, _) => Ok(match options.master_port {
            Some(at) => Port::At { at, host_part: 0 },
            None => Port::Absent { option: "--master_port=".into(), port: STATIC_DEFAULT },
        }),
    }
}

/// Says whether variables of torchrun itself speak for its options: they would have to change as well.
fn environment_rules(set: impl Fn(&str) -> bool) -> bool {
    ["PET_MASTER_PORT", "PET_RDZV_ENDPOINT", "PET_RDZV_BACKEND", "PET_STANDALONE", "PET_NNODES"].into_iter().any(set)
}

/// The index of the first word behind a launcher's name, where the words are a call of one.
fn behind_launcher(words: &[Word<'_>]) -> Option<usize> {
    let name = base_name(words.first()?.literal?);
    if name == "torchrun" {
        return Some(1);
    }
    let python = name.strip_prefix("python")?;
    if !python.bytes().all(|byte| byte.is_ascii_digit() || byte == b'.') {
        return None;
    }
    let mut at = 1;
    loop {
        match words.get(at)?.literal? {
            "-m" => break,
            "-W" | "-X" => at += 2,
            option if option.starts_with('-') && !option.starts_with("--") => at += 1,
            _ => return None,
        }
    }
    let module = words.get(at + 1)?.literal?;
    matches!(module, "torch.distributed.run" | "torch.distributed.launch").then_some(at + 2)
}

/// A script that starts without torchrun: MASTER_PORT decides, where this process alone is the job.
fn direct(words: &[String], rest: &[String], host: &dyn Host) -> Result<Vec<Launch>, Stuck> {
    let name = rest.first().map(|program| base_name(program)).unwrap_or_default();
    if !name.starts_with("python") {
        return Ok(Vec::new());
    }
    let wrappers = &words[..words.len() - rest.len()];
    let own = |name: &str| {
        let value = |word: &String| word.strip_prefix(name)?.strip_prefix('=').map(str::to_owned);
        wrappers.iter().enumerate().rev().find_map(|(at, word)| Some((at, value(word)?)))
    };
    let world = own("WORLD_SIZE").map(|(_, value)| value).or_else(|| host.env("WORLD_SIZE")?.into_string().ok());
    let given = own("MASTER_PORT");
    let inherited = host.env("MASTER_PORT").and_then(|value| value.into_string().ok());
    let launch = |port: String, said, edit| {
        let port = port.parse().map_err(|_| Stuck::Unclear)?;
        // The other ranks were told the present port.
        if world.as_deref() == Some("1") {
            Ok(vec![Launch { place: Place::Command, port, said, edit }])
        } else {
            Err(Stuck::SeveralNodes)
        }
    };
    match (given, inherited) {
        (Some((at, port)), _) => {
            let edit = Edit { at: EditAt::Word(at), before: "MASTER_PORT=".into(), after: String::new() };
            launch(port, Said::Given, edit)
        }
        (None, Some(port)) => {
            let variable = "MASTER_PORT".to_owned();
            let edit = Edit { at: EditAt::Variable(variable.clone()), before: String::new(), after: String::new() };
            launch(port, Said::Variable(variable), edit)
        }
        (None, None) => Ok(Vec::new()),
    }
}

fn in_script(name: &str, host: &dyn Host, depth: usize) -> Result<Vec<Launch>, Stuck> {
    let path = host.project().resolve(name);
    let Some(script) = text::read_script(&path, host) else { return Ok(Vec::new()) };
    text::launches(&script, &Place::Script(path), host, depth)
}

#[cfg(test)]
mod tests;
