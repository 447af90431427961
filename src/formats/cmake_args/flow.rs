//! Which list of a file is the build's, and what CMake ends up with: the last `-D` of a name wins.

use std::collections::BTreeSet;

use super::branches::{Environment, Taken, always_before, exclusive};
use super::literal::{Define, Value, mentions, mentions_kind};
use super::sites::{Owner, Parsed, Shape, Site};
use super::source::Source;
use super::{Kind, Left, MergeOrder, Reason};

/// Words of a command line, as bytes of the file.
pub type Words = Vec<Vec<u8>>;

/// The lists of one function that make up one call of CMake.
pub struct Flow<'a> {
    pub owner: &'a Owner,
    pub sites: Vec<SiteFlags<'a>>,
}

/// What one site says about linker flags.
pub struct SiteFlags<'a> {
    pub site: &'a Site,
    pub taken: Taken,
    /// By kind, in the order of [`Kind::ALL`].
    pub kinds: [KindFlags; 3],
}

/// What one site says about one kind of linker flags.
#[derive(Debug, Clone, PartialEq)]
pub enum KindFlags {
    Absent,
    /// Element and definition, in order.
    Set(Vec<(usize, Define)>),
    /// Set by an element that cannot be edited.
    Fixed(usize, Reason),
}

/// Which flow is the build's.
pub enum Choice<'a> {
    One(Flow<'a>),
    /// Several could be it.
    Ambiguous(Vec<&'a Site>),
    Nothing,
}

impl SiteFlags<'_> {
    pub fn of(&self, kind: Kind) -> &KindFlags {
        &self.kinds[kind as usize]
    }

    /// Says whether any kind is set here.
    pub fn sets_any(&self) -> bool {
        self.kinds.iter().any(|flags| *flags != KindFlags::Absent)
    }

    /// Returns all words given for a kind, as far as they count, the last `-fuse-ld=` only.
    pub fn words(&self, source: &Source<'_>, kind: Kind) -> Words {
        let KindFlags::Set(defines) = self.of(kind) else { return Words::new() };
        let all = defines.iter().flat_map(|(_, define)| words(&source.bytes[define.value.clone()]));
        united(all)
    }

    /// Returns the linker that any kind asks for here.
    pub fn linker(&self, source: &Source<'_>) -> Option<Vec<u8>> {
        Kind::ALL.into_iter().rev().find_map(|kind| linker_of(&self.words(source, kind)))
    }

    /// Returns the last element that sets linker flags.
    pub fn last_element(&self) -> Option<usize> {
        let last = |flags: &KindFlags| match flags {
            KindFlags::Absent => None,
            KindFlags::Set(defines) => defines.last().map(|(element, _)| *element),
            KindFlags::Fixed(element, _) => Some(*element),
        };
        self.kinds.iter().filter_map(last).max()
    }
}

impl<'a> Flow<'a> {
    /// Reads the lists of one owner.
    fn new(owner: &'a Owner, parsed: &'a Parsed, source: &Source<'_>, environment: &Environment<'_>) -> Self {
        let own = parsed.sites.iter().filter(|site| site.owner == *owner);
        let sites = own
            .map(|site| SiteFlags {
                site,
                taken: environment.taken(&site.arms),
                kinds: Kind::ALL.map(|kind| kind_flags(site, source, kind)),
            })
            .collect();
        Self { owner, sites }
    }

    /// Returns the linker that the flags of a site are meant for: its own, else that of a list that has always
    /// run before, else that of any list that always runs. One kind's `-fuse-ld=` speaks for all.
    pub fn linker(&self, source: &Source<'_>, index: usize) -> Option<Vec<u8>> {
        let here = self.sites[index].site;
        let before = self.sites[..index].iter().filter(|other| always_before(&other.site.arms, &here.arms));
        let own = self.sites[index].linker(source);
        own.or_else(|| before.rev().find_map(|other| other.linker(source))).or_else(|| self.common_linker(source))
    }

    /// Returns the linker of the lists that always run.
    pub fn common_linker(&self, source: &Source<'_>) -> Option<Vec<u8>> {
        let always = self.sites.iter().filter(|site| site.site.arms.is_empty());
        always.rev().find_map(|site| site.linker(source))
    }

    /// Returns other sites that may run in the same pass.
    pub fn beside(&self, index: usize) -> impl Iterator<Item = (usize, &SiteFlags<'a>)> {
        let here = &self.sites[index].site.arms;
        self.sites.iter().enumerate().filter(move |(other, site)| *other != index && !exclusive(&site.site.arms, here))
    }
}

/// Splits a value at blanks.
pub fn words(value: &[u8]) -> Words {
    value.split(u8::is_ascii_whitespace).filter(|word| !word.is_empty()).map(<[u8]>::to_vec).collect()
}

/// Returns the last `-fuse-ld=` among words.
pub fn linker_of(words: &[Vec<u8>]) -> Option<Vec<u8>> {
    words.iter().rev().find(|word| word.starts_with(FUSE)).cloned()
}

const FUSE: &[u8] = b"-fuse-ld=";

/// Joins flags in their order, with the last `-fuse-ld=` only and without what says the same a second time.
///
/// Order and repetition have a meaning for a linker (`-Xlinker -rpath -Xlinker /a`, `--whole-archive`, `-la -lb -la`), so
/// that only words are dropped of which the first one alone counts.
pub fn united(words: impl Iterator<Item = Vec<u8>>) -> Words {
    let mut kept = Words::new();
    let mut once: BTreeSet<Vec<u8>> = BTreeSet::new();
    let mut is_argument = false;
    for word in words {
        let takes_next = !is_argument && takes_an_argument(&word);
        if word.starts_with(FUSE) {
            match kept.iter_mut().find(|old| old.starts_with(FUSE)) {
                Some(old) => *old = word,
                None => kept.push(word),
            }
        } else if is_argument || !counts_once(&word) || once.insert(word.clone()) {
            kept.push(word);
        }
        is_argument = takes_next;
    }
    kept
}

/// The first of several counts, wherever the others stand.
fn counts_once(word: &[u8]) -> bool {
    const ALONE: [&[u8]; 6] = [b"-fPIC", b"-fPIE", b"-pie", b"-pthread", b"-rdynamic", b"-static-libstdc++"];
    let folder = [&b"-L/"[..], b"-Wl,-rpath,/", b"-Wl,-rpath=/", b"-Wl,-rpath-link,/"];
    ALONE.contains(&word) || folder.iter().any(|start| word.starts_with(start))
}

/// Options of compiler drivers whose argument may be the next word.
fn takes_an_argument(word: &[u8]) -> bool {
    const OPTIONS: [&[u8]; 24] = [
        b"-L",
        b"-l",
        b"-T",
        b"-u",
        b"-e",
        b"-z",
        b"-o",
        b"-x",
        b"-B",
        b"-h",
        b"-m",
        b"-G",
        b"-Xlinker",
        b"-Xclang",
        b"-rpath",
        b"-framework",
        b"-target",
        b"-arch",
        b"-isysroot",
        b"-include",
        b"--sysroot",
        b"--param",
        b"-Xpreprocessor",
        b"-Xassembler",
    ];
    OPTIONS.contains(&word)
}

/// Says whether words search a folder already.
pub fn searches(words: &[Vec<u8>], folder: &str) -> bool {
    let trim = |text: &[u8]| text.strip_suffix(b"/").unwrap_or(text) == folder.trim_end_matches('/').as_bytes();
    let joined = words.iter().any(|word| word.strip_prefix(b"-L").is_some_and(trim));
    joined || words.windows(2).any(|pair| pair[0] == b"-L" && trim(&pair[1]))
}

fn kind_flags(site: &Site, source: &Source<'_>, kind: Kind) -> KindFlags {
    let mut defines = Vec::new();
    for (index, element) in site.elements.iter().enumerate() {
        match &element.value {
            Value::Literal(literal) => match literal.define(&source.text) {
                Ok(Some(define)) if define.kind == kind => defines.push((index, define)),
                Ok(_) => {}
                Err(reason) if mentions_kind(&source.text[element.range.clone()], kind) => {
                    return KindFlags::Fixed(index, reason);
                }
                Err(_) => {}
            },
            Value::Computed(reason) if mentions_kind(&source.text[element.range.clone()], kind) => {
                return KindFlags::Fixed(index, *reason);
            }
            Value::Computed(_) => {}
        }
        // `"-D", "CMAKE_EXE_LINKER_FLAGS=…"`: two elements that are one argument.
        if split_define(site, source, index, kind) {
            return KindFlags::Fixed(index, Reason::SplitDefine);
        }
    }
    if defines.is_empty() { KindFlags::Absent } else { KindFlags::Set(defines) }
}

fn split_define(site: &Site, source: &Source<'_>, index: usize, kind: Kind) -> bool {
    let content = |index: usize| match &site.elements.get(index)?.value {
        Value::Literal(literal) => Some(&source.text[literal.content.clone()]),
        Value::Computed(_) => None,
    };
    let rest = content(index).and_then(|text| text.strip_prefix(kind.variable()));
    rest.is_some_and(|rest| rest.starts_with(['=', ':'])) && index > 0 && content(index - 1) == Some("-D")
}

/// Chooses the list of the failing build; the lists of other functions are left alone and named.
pub fn choose<'a>(
    parsed: &'a Parsed,
    source: &Source<'_>,
    order: &MergeOrder<'_>,
    environment: &Environment<'_>,
) -> (Choice<'a>, Vec<Left>) {
    let mut owners: Vec<&Owner> = Vec::new();
    for site in &parsed.sites {
        if !owners.contains(&&site.owner) && owners.len() < MOST_OWNERS {
            owners.push(&site.owner);
        }
    }
    // A list for another mode of CMake takes no definitions.
    owners.retain(|owner| {
        !parsed.sites.iter().filter(|site| site.owner == **owner).any(|site| is_other_mode(site, source))
    });
    let chosen = pick(&owners, parsed, source, order);
    let left = |owner: &&Owner| {
        let first = parsed.sites.iter().find(|site| site.owner == **owner)?;
        Some(Left {
            line: source.line(first.range.start),
            function: owner.function.clone(),
            reason: Reason::OtherFunction,
        })
    };
    match chosen {
        Pick::One(owner) => {
            let others = owners.iter().filter(|other| **other != owner).filter_map(left).collect();
            (Choice::One(Flow::new(owner, parsed, source, environment)), others)
        }
        Pick::Several(owners) => {
            let first = |owner: &&Owner| parsed.sites.iter().find(|site| site.owner == **owner);
            (Choice::Ambiguous(owners.iter().filter_map(first).collect()), Vec::new())
        }
        Pick::Nothing => (Choice::Nothing, Vec::new()),
    }
}

/// A file with more lists is no `setup.py`.
const MOST_OWNERS: usize = 64;

fn sites_of<'p>(parsed: &'p Parsed, owner: &'p Owner) -> impl Iterator<Item = &'p Site> {
    parsed.sites.iter().filter(move |site| site.owner == *owner)
}

enum Pick<'a> {
    One(&'a Owner),
    Several(Vec<&'a Owner>),
    Nothing,
}

fn pick<'a>(owners: &[&'a Owner], parsed: &Parsed, source: &Source<'_>, order: &MergeOrder<'_>) -> Pick<'a> {
    let sets = |owner: &Owner| {
        sites_of(parsed, owner)
            .flat_map(|site| &site.elements)
            .any(|element| mentions(&source.text[element.range.clone()]))
    };
    let begins = |owner: &Owner| sites_of(parsed, owner).any(|site| site.shape == Shape::Base);
    let in_function = |owner: &Owner, name: &str| owner.function.as_deref() == Some(name);
    let main = |owner: &Owner| sites_of(parsed, owner).any(|site| is_main(site, source));

    if let Some(function) = order.function {
        let named = owners.iter().find(|owner| in_function(owner, function) && (begins(owner) || sets(owner)));
        if let Some(owner) = named {
            return Pick::One(owner);
        }
    }
    let one_of = |narrow: &dyn Fn(&Owner) -> bool| {
        let left: Vec<&'a Owner> = owners.iter().copied().filter(|owner| narrow(owner)).collect();
        match left.as_slice() {
            [only] => Some(*only),
            _ => None,
        }
    };
    let builds = |owner: &Owner| in_function(owner, "build_extension");
    let rules: [&dyn Fn(&Owner) -> bool; 6] = [
        &|owner| builds(owner) && begins(owner) && sets(owner),
        &|owner| builds(owner) && begins(owner),
        &|owner| sets(owner) && begins(owner),
        &|owner| sets(owner),
        &|owner| begins(owner) && main(owner),
        &|owner| begins(owner),
    ];
    match rules.into_iter().find_map(one_of) {
        Some(owner) => Pick::One(owner),
        None if owners.is_empty() => Pick::Nothing,
        None => Pick::Several(owners.to_vec()),
    }
}

fn literals<'a>(site: &'a Site, source: &'a Source<'_>) -> impl Iterator<Item = &'a str> {
    site.elements.iter().filter_map(|element| match &element.value {
        Value::Literal(literal) => Some(&source.text[literal.content.clone()]),
        Value::Computed(_) => None,
    })
}

/// `cmake --build`, `cmake -E`, `cmake -P`: no configuration.
fn is_other_mode(site: &Site, source: &Source<'_>) -> bool {
    literals(site, source).any(|text| matches!(text, "--build" | "--install" | "-E" | "-P"))
}

/// Arguments that the configuration of a Python extension has.
fn is_main(site: &Site, source: &Source<'_>) -> bool {
    let known =
        ["-G", "-DCMAKE_BUILD_TYPE", "-DCMAKE_LIBRARY_OUTPUT_DIRECTORY", "-DCMAKE_MAKE_PROGRAM", "-DPYTHON_EXECUTABLE"];
    site.shape == Shape::Base
        && site.elements.iter().any(|element| {
            let text = source.text[element.range.clone()].trim_start_matches(['f', 'r', '"', '\'']);
            known.iter().any(|start| text.starts_with(start))
        })
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn join(text: &str) -> String {
        String::from_utf8(united(words(text.as_bytes()).into_iter()).join(&b' ')).unwrap()
    }

    #[test]
    fn flags_that_mean_something_twice_stay() {
        let table = [
            ("-fuse-ld=lld -L/a -fuse-ld=gold -L/a", "-fuse-ld=gold -L/a"),
            ("-Wl,-rpath,/a -pthread -Wl,-rpath,/a -pthread", "-Wl,-rpath,/a -pthread"),
            ("-Xlinker -L/a -L/a -Xlinker -L/a", "-Xlinker -L/a -L/a -Xlinker -L/a"),
            ("-L/a -L -L/a", "-L/a -L -L/a"),
        ];
        for (flags, expected) in table {
            assert_eq!(join(flags), expected);
        }
        for flags in [
            "-Xlinker -rpath -Xlinker /a -Xlinker -rpath -Xlinker /b",
            "-Wl,-rpath -Wl,/a -Wl,-rpath -Wl,/b",
            "-Wl,--whole-archive -la -Wl,--no-whole-archive -Wl,--whole-archive -lb -Wl,--no-whole-archive",
            "-z now -z relro",
            "-L /opt/q -L /opt/q -L/opt/zlib/lib",
            "-la -lb -la",
            "-O2 -O3 -O2",
        ] {
            assert_eq!(join(flags), flags);
        }
    }

    proptest! {
        /// What is not told apart by its first place alone keeps its order and number.
        #[test]
        fn order_and_number_stay(picked in proptest::collection::vec(
            proptest::sample::select(vec![
                "-L/a", "-L/b", "-L /a", "-z now", "-z relro", "-Xlinker -rpath", "-Xlinker /a", "-Xlinker -L/a", "-la", "-lb",
                "-Wl,--whole-archive", "-Wl,-rpath,/a", "-Wl,-rpath -Wl,/a", "-pthread", "-fuse-ld=lld", "-fuse-ld=gold", "-O2",
            ]), 0..24))
        {
            let given = words(picked.join(" ").as_bytes());
            let kept = united(given.clone().into_iter());
            let ordered = |words: &Words| -> Words {
                words.iter().filter(|word| !counts_once(word) && !word.starts_with(FUSE)).cloned().collect()
            };
            prop_assert_eq!(ordered(&kept), ordered(&given), "of {}", picked.join(" "));
            prop_assert_eq!(linker_of(&kept), linker_of(&given));
            prop_assert!(given.iter().filter(|word| counts_once(word)).all(|word| kept.contains(word)));
            prop_assert_eq!(united(kept.clone().into_iter()), kept, "a second time changes nothing");
        }
    }
}
