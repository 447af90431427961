//! Launches in a shell text: a script, or the line of a `bash -c`.

use std::collections::BTreeMap;
use std::ops::Range;

use super::grammar::{ValueAt, Word};
use super::{
    Edit, EditAt, Launch, Place, Port, Said, Stuck, base_name, behind_launcher, choose, environment_rules, in_script,
};
use crate::evidence::{FileKind, Host};
use crate::formats::shell_script::{Command, assignment, commands};
use crate::os::AbsPath;

/// A launch script is a page or two.
const LARGEST: u64 = 1 << 20;
/// Scripts that call scripts.
const DEEPEST: usize = 3;

/// Reads a shell script of this user's own; `None` for anything else. A link is not followed: a write would replace it.
pub fn read_script(path: &AbsPath, host: &dyn Host) -> Option<String> {
    let meta = host.inspect(path.as_path()).ok()?;
    if meta.kind != FileKind::File {
        return None;
    }
    String::from_utf8(host.read(path.as_path(), LARGEST).ok()?).ok()
}

/// Says whether a file's first line names a shell.
pub fn is_shell_script(path: &AbsPath, host: &dyn Host) -> bool {
    let head = host.head(path.as_path(), 128).unwrap_or_default();
    let first = String::from_utf8_lossy(&head).lines().next().unwrap_or_default().to_owned();
    let Some(rest) = first.strip_prefix("#!") else { return false };
    rest.split_whitespace().take(3).any(|word| matches!(base_name(word), "sh" | "bash" | "dash" | "zsh"))
}

/// Finds the launches of a text.
pub fn launches(text: &str, place: &Place, host: &dyn Host, depth: usize) -> Result<Vec<Launch>, Stuck> {
    let commands = commands(text).ok_or(Stuck::Unclear)?;
    let source = Source { text, variables: Variables::of(text, &commands), host };
    let mut all = Vec::new();
    let mut moved = false;
    for command in &commands {
        let words = source.words(command);
        let skipped = words.iter().take_while(|word| is_prefix(word)).count();
        let words = &words[skipped..];
        let Some(first) = words.first().and_then(|word| word.literal) else { continue };
        let name = base_name(first);
        moved |= matches!(name, "cd" | "pushd");
        if let Some(behind) = behind_launcher(words) {
            let own = |name: &str| source.variables.0.contains_key(name) || host.env(name).is_some();
            // Two jobs beside each other would get one port.
            if environment_rules(own) || command.background {
                return Err(Stuck::Unclear);
            }
            all.push(source.launch(command, skipped + behind, place)?);
            continue;
        }
        let called = match name {
            "sh" | "bash" | "source" | "." => words.get(1).and_then(|word| word.literal),
            _ => (first.ends_with(".sh") && first.contains('/')).then_some(first),
        };
        if let Some(called) = called.filter(|called| !called.starts_with('-')) {
            if moved || depth + 1 >= DEEPEST {
                return Err(Stuck::Unclear);
            }
            all.extend(in_script(called, host, depth + 1)?);
        }
    }
    Ok(all)
}

/// Wrappers and assignments in front of a program.
fn is_prefix(word: &Word<'_>) -> bool {
    assignment(word.raw).is_some() || matches!(word.literal, Some("env" | "nohup" | "exec" | "setsid"))
}

struct Source<'a> {
    text: &'a str,
    variables: Variables<'a>,
    host: &'a dyn Host,
}

/// Values that a text assigns, by name: each with its place. Several are several values.
struct Variables<'a>(BTreeMap<&'a str, Vec<Range<usize>>>);

impl<'a> Variables<'a> {
    fn of(text: &'a str, commands: &[Command]) -> Self {
        let mut all: BTreeMap<&str, Vec<Range<usize>>> = BTreeMap::new();
        for command in commands {
            for word in &command.words {
                let raw = &text[word.span.clone()];
                // Arguments of the form `name=value` (`--set a=b`) are none, but harmless: they make a name unclear.
                if let Some((name, value)) = assignment(raw) {
                    all.entry(name).or_default().push(word.span.start + value.start..word.span.start + value.end);
                }
            }
        }
        Self(all)
    }
}

/// What a raw value is.
#[derive(Debug, PartialEq, Eq)]
enum Raw<'t> {
    Number(u16),
    /// `$NAME`, `${NAME}`, `${NAME:-default}`.
    Variable {
        name: &'t str,
        default: Option<&'t str>,
    },
    Other,
}

fn classify(raw: &str) -> Raw<'_> {
    let bare = raw.trim_matches(['"', '\'']);
    if !bare.is_empty() && bare.bytes().all(|byte| byte.is_ascii_digit()) {
        return bare.parse().map_or(Raw::Other, Raw::Number);
    }
    let Some(rest) = bare.strip_prefix('$').filter(|_| !raw.starts_with('\'')) else { return Raw::Other };
    let inner = match rest.strip_prefix('{') {
        Some(inner) => match inner.strip_suffix('}') {
            Some(inner) => inner,
            None => return Raw::Other,
        },
        None => rest,
    };
    let end = inner.find(|c: char| !c.is_ascii_alphanumeric() && c != '_').unwrap_or(inner.len());
    let (name, tail) = inner.split_at(end);
    if name.is_empty() || name.starts_with(|c: char| c.is_ascii_digit()) {
        return Raw::Other;
    }
    let default = tail.strip_prefix(":-").or(tail.strip_prefix('-')).or(tail.strip_prefix(":="));
    match (tail.is_empty(), default) {
        (true, _) => Raw::Variable { name, default: None },
        (false, Some(default)) if rest.starts_with('{') => Raw::Variable { name, default: Some(default) },
        (false, _) => Raw::Other,
    }
}

/// A value with the place that says it.
struct Resolved {
    value: String,
    said: Said,
    at: EditAt,
}

impl<'a> Source<'a> {
    fn words(&self, command: &'a Command) -> Vec<Word<'a>> {
        let word = |word: &'a crate::formats::shell_script::Word| Word {
            raw: &self.text[word.span.clone()],
            literal: word.literal.as_deref(),
        };
        command.words.iter().map(word).collect()
    }

    fn launch(&self, command: &'a Command, behind: usize, place: &Place) -> Result<Launch, Stuck> {
        let words = self.words(command);
        let value = |at: ValueAt| {
            let raw = words.get(behind + at.word)?.raw.get(at.from..)?;
            match classify(raw) {
                Raw::Other => (!raw.contains(['$', '`'])).then(|| raw.trim_matches(['"', '\'']).to_owned()),
                Raw::Number(_) | Raw::Variable { .. } => Some(self.resolve(raw, 0..0, 0)?.value),
            }
        };
        let chosen = match choose(&words[behind..], &value) {
            Err(Stuck::Unclear) => return self.elsewhere(place),
            chosen => chosen?,
        };
        let start = |at: ValueAt| command.words[behind + at.word].span.start + at.from;
        let insert = |offset: usize| EditAt::Bytes(offset..offset);
        let (edit, port, said) = match chosen {
            Port::Absent { option, port } => {
                let after_launcher = command.words[behind - 1].span.end;
                let edit = Edit { at: insert(after_launcher), before: format!(" {option}"), after: String::new() };
                (edit, port, Said::Default)
            }
            Port::NoneInEndpoint { at } => {
                let end = command.words[behind + at.word].span.end;
                let edit = Edit { at: insert(end), before: ":".into(), after: String::new() };
                (edit, super::C10D_DEFAULT, Said::Default)
            }
            Port::At { at, host_part } => {
                let from = start(at) + host_part;
                let raw = &self.text[from..command.words[behind + at.word].span.end];
                return self.said(raw, from, place);
            }
        };
        Ok(Launch { place: place.clone(), port, said, edit })
    }

    /// A launch whose port is said by `raw`, which stands at `from`.
    fn said(&self, raw: &str, from: usize, place: &Place) -> Result<Launch, Stuck> {
        // A quote in front of a number stays, and so does one behind it.
        let bare = raw.trim_matches(['"', '\'']);
        let start = from + raw.find(bare).unwrap_or_default();
        let found = self.resolve(raw, start..start + bare.len(), 0).ok_or(Stuck::Unclear)?;
        let port = found.value.parse().map_err(|_| Stuck::Unclear)?;
        let edit = Edit { at: found.at, before: String::new(), after: String::new() };
        Ok(Launch { place: place.clone(), port, said: found.said, edit })
    }

    /// Follows a value to the place that says it: a number in the text, or a variable of the environment.
    fn resolve(&self, raw: &str, at: Range<usize>, depth: usize) -> Option<Resolved> {
        let (name, default) = match classify(raw) {
            Raw::Number(number) => {
                return Some(Resolved { value: number.to_string(), said: Said::Given, at: EditAt::Bytes(at) });
            }
            Raw::Variable { name, default } if depth < 4 => (name, default),
            Raw::Variable { .. } | Raw::Other => return None,
        };
        match self.variables.0.get(name).map(Vec::as_slice) {
            None => {
                let now = self.host.env(name).and_then(|value| value.into_string().ok()).filter(|v| !v.is_empty());
                let value = now.or_else(|| default.map(str::to_owned))?;
                let said = Said::Variable(name.to_owned());
                Some(Resolved { value, said, at: EditAt::Variable(name.to_owned()) })
            }
            Some([only]) => {
                let raw = &self.text[only.clone()];
                // `P=${P:-29500}` asks the environment.
                if let Raw::Variable { name: inner, default } = classify(raw)
                    && inner == name
                {
                    let now = self.host.env(name).and_then(|value| value.into_string().ok()).filter(|v| !v.is_empty());
                    let value = now.or_else(|| default.map(str::to_owned))?;
                    let said = Said::Variable(name.to_owned());
                    return Some(Resolved { value, said, at: EditAt::Variable(name.to_owned()) });
                }
                let bare = raw.trim_matches(['"', '\'']);
                let start = only.start + raw.find(bare).unwrap_or_default();
                self.resolve(raw, start..start + bare.len(), depth + 1)
            }
            Some(_) => None,
        }
    }

    /// The port of a launch whose options stand in a variable: of all the text, one place may name it.
    fn elsewhere(&self, place: &Place) -> Result<Launch, Stuck> {
        let mut found = Vec::new();
        for name in ["--master_port", "--master-port"] {
            found.extend(self.text.match_indices(name).map(|(at, _)| at + name.len()));
        }
        let [at] = found.as_slice() else { return Err(Stuck::Unclear) };
        let several = ["--nnodes", "--rdzv", "--standalone"].iter().any(|word| self.text.contains(word));
        let rest = &self.text[*at..];
        let value = rest.trim_start_matches(['=', ' ']);
        let from = at + rest.len() - value.len();
        let end = value.find(|c: char| c.is_whitespace() || matches!(c, '"' | '\'' | ')' | ';')).unwrap_or(value.len());
        let line = self.text[..*at].rfind('\n').map_or(0, |newline| newline + 1);
        let comment = self.text[line..*at].contains('#');
        if several && !self.one_node() || comment || from == *at {
            return Err(Stuck::Unclear);
        }
        self.said(&value[..end], from, place)
    }

    /// Says whether the text names one node, and no rendezvous that would decide the port.
    fn one_node(&self) -> bool {
        if ["--rdzv", "--standalone"].iter().any(|word| self.text.contains(word)) {
            return false;
        }
        let mut all = self.text.match_indices("--nnodes").map(|(at, word)| {
            let value = self.text[at + word.len()..].trim_start_matches(['=', ' ']);
            let end = value.find(|c: char| c.is_whitespace() || matches!(c, '"' | '\'' | ')')).unwrap_or(value.len());
            self.resolve(&value[..end], 0..0, 0).is_some_and(|found| found.value == "1")
        });
        all.all(|one| one)
    }
}
