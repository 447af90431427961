//! How a build script takes linker flags, without editing it.

use super::branches::{Environment, Taken};
use super::flow::{self, Choice, KindFlags, Words, linker_of, united};
use super::sites;
use super::source::Source;
use super::{Kind, MergeError, MergeOrder};

/// How a build script takes linker flags.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Inspection {
    /// 1-based line of the build's list, where there is one.
    pub line: Option<usize>,
    /// What CMake gets with the environment given, by kind in the order of [`Kind::ALL`].
    pub effective: [Effective; 3],
    /// Lines of repeated arguments of which the last one drops a `-fuse-ld=`.
    pub dropped: Vec<usize>,
    /// Environment variables that are split like a shell line and join the arguments behind all linker flags.
    pub variables: Vec<String>,
    /// Values that the script itself gives to environment variables that are not set.
    pub defaults: Vec<(String, String)>,
}

/// The value of a variable that the script gives to CMake.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Effective {
    Unset,
    /// Words; repeated arguments are already merged and one kind's `-fuse-ld=` speaks for all.
    Words(Vec<String>),
    /// A condition or an expression decides.
    Unknown,
}

/// Reads how a build script takes linker flags.
pub fn inspect(bytes: &[u8], order: &MergeOrder<'_>) -> Result<Inspection, MergeError> {
    let source = Source::new(bytes)?;
    let parsed = sites::parse(&source)?;
    let environment = Environment { env: order.env, defaults: &parsed.defaults, assigned: &parsed.assigned };
    let mut inspection = Inspection {
        line: None,
        effective: [Effective::Unset, Effective::Unset, Effective::Unset],
        dropped: Vec::new(),
        variables: Vec::new(),
        defaults: parsed.defaults.clone(),
    };
    let mut last_set = 0;
    if let (Choice::One(flow), _) = flow::choose(&parsed, &source, order, &environment) {
        inspection.line = flow.sites.first().map(|first| source.line(first.site.range.start));
        inspection.effective = Kind::ALL.map(|kind| effective(&source, &flow, kind));
        speak_for_all(&mut inspection.effective);
        inspection.dropped = dropped(&source, &flow);
        let setting = flow.sites.iter().filter(|site| site.sets_any()).map(|site| site.site.range.end);
        last_set = setting.max().unwrap_or(0);
    }
    // What is appended before a list with linker flags is overridden by it.
    for (at, variable) in &parsed.split_variables {
        if *at >= last_set && !inspection.variables.contains(variable) {
            inspection.variables.push(variable.clone());
        }
    }
    Ok(inspection)
}

fn effective(source: &Source<'_>, flow: &flow::Flow<'_>, kind: Kind) -> Effective {
    let mut value = Effective::Unset;
    for site in &flow.sites {
        match (site.of(kind), site.taken) {
            (KindFlags::Absent, _) | (_, Taken::No) => {}
            (KindFlags::Fixed(..), _) | (KindFlags::Set(_), Taken::Unknown) => value = Effective::Unknown,
            (KindFlags::Set(_), Taken::Yes) => value = as_text(site.words(source, kind)),
        }
    }
    value
}

fn as_text(words: Words) -> Effective {
    words
        .into_iter()
        .map(|word| String::from_utf8(word).ok())
        .collect::<Option<_>>()
        .map_or(Effective::Unknown, Effective::Words)
}

/// What one kind asks for as its linker, all kinds get, those that are not set among them.
fn speak_for_all(kinds: &mut [Effective; 3]) {
    let words = |kind: &Effective| match kind {
        Effective::Words(words) => words.iter().map(|word| word.clone().into_bytes()).collect(),
        Effective::Unset | Effective::Unknown => Words::new(),
    };
    let Some(linker) = kinds.iter().rev().find_map(|kind| linker_of(&words(kind))) else { return };
    for kind in kinds {
        if *kind == Effective::Unknown || linker_of(&words(kind)).is_some() {
            continue;
        }
        *kind = as_text(united([linker.clone()].into_iter().chain(words(kind))));
    }
}

fn dropped(source: &Source<'_>, flow: &flow::Flow<'_>) -> Vec<usize> {
    let mut lines = Vec::new();
    for site in &flow.sites {
        for kind in Kind::ALL {
            let KindFlags::Set(defines) = site.of(kind) else { continue };
            let Some(((_, last), repeated)) = defines.split_last() else { continue };
            let linker = |define: &super::literal::Define| linker_of(&flow::words(&source.bytes[define.value.clone()]));
            if linker(last).is_none() && repeated.iter().any(|(_, define)| linker(define).is_some()) {
                lines.push(source.line(last.value.start));
            }
        }
    }
    lines
}
