//! The edits that bring a folder into the linker flags of a flow.

use super::branches::{Taken, always_before, exclusive};
use super::edits::{self, Edit};
use super::flow::{self, Flow, KindFlags, SiteFlags, Words, linker_of, searches, united};
use super::literal::Value;
use super::sites::{Opaque, Shape};
use super::source::Source;
use super::{Deed, Done, Kind, Manual, Reason};

/// What is to be edited, and what cannot be.
#[derive(Default)]
pub struct Edits {
    pub edits: Vec<Edit>,
    pub done: Vec<Done>,
    pub manual: Vec<Manual>,
}

/// Plans the edits of one flow; `other_functions` set linker flags too and may be called by it.
pub fn plan(source: &Source<'_>, flow: &Flow<'_>, folder: &str, calls: &[&Opaque], other_functions: &[&str]) -> Edits {
    let mut planner =
        Planner { source, flow, flag: format!("-L{folder}"), folder, out: Edits::default(), added: Vec::new() };
    for index in 0..flow.sites.len() {
        planner.refuse_fixed(index);
        for kind in Kind::ALL {
            planner.merge(index, kind);
        }
    }
    for index in 0..flow.sites.len() {
        planner.add_beside(index);
    }
    planner.cover();
    planner.overridden();
    planner.replaced();
    for call in calls {
        let text = &source.text[call.range.clone()];
        if other_functions.iter().any(|function| text.contains(&format!("{function}("))) {
            planner.manual(call.range.start, Reason::Overrides);
        }
    }
    planner.finish()
}

struct Planner<'a, 'f> {
    source: &'a Source<'a>,
    flow: &'a Flow<'f>,
    folder: &'a str,
    flag: String,
    out: Edits,
    /// Site, kind and argument of new elements.
    added: Vec<(usize, Kind, String)>,
}

impl Planner<'_, '_> {
    fn manual(&mut self, at: usize, reason: Reason) {
        self.out.manual.push(Manual { line: self.source.line(at), reason });
    }

    fn done(&mut self, at: usize, kind: Kind, deed: Deed) {
        self.out.done.push(Done { line: self.source.line(at), kind, deed });
    }

    fn refuse_fixed(&mut self, index: usize) {
        let here = &self.flow.sites[index];
        let mut refused: Vec<(usize, Reason)> = here
            .kinds
            .iter()
            .filter_map(|flags| match flags {
                KindFlags::Fixed(element, reason) => Some((here.site.elements[*element].range.start, *reason)),
                KindFlags::Absent | KindFlags::Set(_) => None,
            })
            .collect();
        refused.dedup_by_key(|(at, _)| *at);
        for (at, reason) in refused {
            self.manual(at, reason);
        }
    }

    /// Brings the folder into every value of a kind that a site sets, and folds repeated ones.
    fn merge(&mut self, index: usize, kind: Kind) {
        let here = &self.flow.sites[index];
        let KindFlags::Set(defines) = here.of(kind) else { return };
        let Some(((_, last), repeated)) = defines.split_last() else { return };
        let words = here.words(self.source, kind);
        let linker = match linker_of(&words) {
            Some(_) => None,
            None => self.flow.linker(self.source, index),
        };
        let missing = !searches(&words, self.folder);
        if repeated.is_empty() && linker.is_none() && !missing {
            self.done(last.value.start, kind, Deed::Already);
            return;
        }
        if repeated.is_empty() {
            // The present words stay as they are, blanks and all.
            let empty = words.is_empty();
            if let Some(linker) = &linker {
                let mut text = linker.clone();
                text.extend_from_slice(if empty && !missing { b"" } else { b" " });
                self.out.edits.push(Edit::insert(last.value.start, text));
            }
            if missing {
                let blank = if empty { "" } else { " " };
                self.out.edits.push(Edit::insert(last.value.end, format!("{blank}{}", self.flag)));
            }
            self.done(last.value.start, kind, Deed::Merged);
            return;
        }
        let mut all = Vec::new();
        all.extend(linker);
        all.extend(words);
        if missing {
            all.push(self.flag.clone().into_bytes());
        }
        let text = united(all.into_iter()).join(&b' ');
        self.out.edits.push(Edit::replace(last.value.clone(), text));
        self.done(last.value.start, kind, Deed::Merged);
        for (element, define) in repeated {
            self.out.edits.push(edits::remove(self.source, &here.site.elements[*element]));
            self.done(define.value.start, kind, Deed::Folded);
        }
    }

    /// Adds the kinds that a list with linker flags lacks: what one kind needs, all need.
    fn add_beside(&mut self, index: usize) {
        let here = &self.flow.sites[index];
        if !here.sets_any() || here.site.shape == Shape::Single {
            return;
        }
        let linker = self.flow.linker(self.source, index);
        for kind in Kind::ALL {
            if *here.of(kind) != KindFlags::Absent {
                continue;
            }
            let mut base = Vec::new();
            let mut elsewhere = false;
            for (other, flags) in self.flow.beside(index) {
                if !self.sets(other, kind) {
                    continue;
                }
                let words = self.words(other, kind);
                // A list that always comes before and names no linker would be built with another one than the rest.
                let lacks_linker = linker.is_some() && linker_of(&words).is_none();
                let before = other < index
                    && always_before(&flags.site.arms, &here.site.arms)
                    && flags.site.arms.len() < here.site.arms.len();
                let fixed = matches!(flags.of(kind), KindFlags::Fixed(..));
                if before && lacks_linker && !fixed {
                    base = words;
                } else {
                    elsewhere = true;
                }
            }
            if elsewhere {
                continue;
            }
            let mut all: Vec<Vec<u8>> = linker.iter().cloned().collect();
            all.extend(base);
            if !searches(&all, self.folder) {
                all.push(self.flag.clone().into_bytes());
            }
            match String::from_utf8(united(all.into_iter()).join(&b' ')) {
                Ok(words) if words.is_ascii() && !words.contains(['"', '\'', '\\']) => {
                    self.added.push((index, kind, words));
                }
                Ok(_) | Err(_) => self.manual(here.site.range.start, Reason::Quotes),
            }
        }
    }

    /// Says whether a site will set a kind.
    fn sets(&self, index: usize, kind: Kind) -> bool {
        *self.flow.sites[index].of(kind) != KindFlags::Absent || self.addition(index, kind).is_some()
    }

    /// Returns the words that a site will give to a kind, but for the folder.
    fn words(&self, index: usize, kind: Kind) -> Words {
        let added = self.addition(index, kind).map(|argument| flow::words(argument.as_bytes()));
        added.unwrap_or_else(|| self.flow.sites[index].words(self.source, kind))
    }

    fn addition(&self, index: usize, kind: Kind) -> Option<&str> {
        let added = self.added.iter().find(|(site, added, _)| *site == index && *added == kind);
        added.map(|(_, _, argument)| argument.as_str())
    }

    /// Adds kinds that may stay unset to the list that always runs.
    fn cover(&mut self) {
        for kind in Kind::ALL {
            let setting: Vec<usize> = (0..self.flow.sites.len()).filter(|index| self.sets(*index, kind)).collect();
            if setting.iter().any(|index| self.flow.sites[*index].taken == Taken::Yes) {
                continue;
            }
            let first_setting = setting.first().copied().unwrap_or(usize::MAX);
            let fits = |index: &usize| *index < first_setting && self.flow.sites[*index].site.shape != Shape::Single;
            let before: Vec<usize> = (0..self.flow.sites.len()).filter(fits).collect();
            let begins = |index: &usize| self.flow.sites[*index].site.shape == Shape::Base;
            let always = |index: &usize| self.flow.sites[*index].site.arms.is_empty();
            let beginnings: Vec<usize> = before.iter().copied().filter(begins).collect();
            let targets = match beginnings.iter().copied().rfind(always).or_else(|| before.iter().copied().find(always))
            {
                Some(index) => vec![index],
                // Each arm of an `if` begins a list of its own.
                None => beginnings,
            };
            if targets.is_empty() {
                let at = self.flow.sites.first().map_or(0, |first| first.site.range.start);
                self.manual(at, Reason::NoListBefore);
            }
            let linker = self.flow.common_linker(self.source);
            let linker = linker.and_then(|linker| String::from_utf8(linker).ok());
            let argument = linker.map_or_else(|| self.flag.clone(), |linker| format!("{linker} {}", self.flag));
            self.added.extend(targets.into_iter().map(|index| (index, kind, argument.clone())));
        }
    }

    /// Names assignments that throw away what an earlier list said.
    fn replaced(&mut self) {
        for (index, later) in self.flow.sites.iter().enumerate() {
            let throws_away = |earlier: &SiteFlags<'_>| {
                !earlier.site.elements.is_empty() && !exclusive(&earlier.site.arms, &later.site.arms)
            };
            if later.site.shape == Shape::Base && self.flow.sites[..index].iter().any(throws_away) {
                self.out
                    .manual
                    .push(Manual { line: self.source.line(later.site.range.start), reason: Reason::Replaces });
            }
        }
    }

    /// Names the places that drop another list's `-fuse-ld=` on some way through the file.
    fn overridden(&mut self) {
        for (index, later) in self.flow.sites.iter().enumerate() {
            for kind in Kind::ALL {
                let KindFlags::Set(defines) = later.of(kind) else { continue };
                let inherits = self.flow.linker(self.source, index);
                let dropped = self.flow.sites[..index].iter().any(|earlier| {
                    !always_before(&earlier.site.arms, &later.site.arms)
                        && !exclusive(&earlier.site.arms, &later.site.arms)
                        && linker_of(&earlier.words(self.source, kind)).is_some_and(|linker| Some(linker) != inherits)
                });
                if let (true, Some((_, define))) = (dropped, defines.last()) {
                    self.out
                        .manual
                        .push(Manual { line: self.source.line(define.value.start), reason: Reason::Overrides });
                }
            }
        }
    }

    fn finish(mut self) -> Edits {
        for (index, here) in self.flow.sites.iter().enumerate() {
            let mut new: Vec<(Kind, String)> = self
                .added
                .iter()
                .filter(|(site, _, _)| *site == index)
                .map(|(_, kind, words)| (*kind, format!("-D{}={words}", kind.variable())))
                .collect();
            new.sort_by_key(|(kind, _)| *kind as usize);
            if new.is_empty() {
                continue;
            }
            let last = here.site.elements.len().checked_sub(1);
            let after = here.last_element().or(last);
            if after == last && last.is_some_and(|last| waits_for_a_value(self.source, &here.site.elements[last].value))
            {
                self.manual(here.site.range.start, Reason::OpenEnd);
                continue;
            }
            let at = after.map_or(here.site.range.start, |element| here.site.elements[element].range.start);
            for (kind, _) in &new {
                self.done(at, *kind, Deed::Added);
            }
            let arguments: Vec<String> = new.into_iter().map(|(_, argument)| argument).collect();
            self.out.edits.extend(edits::add(self.source, here.site, after, &arguments));
        }
        self.out.manual.sort_by_key(|manual| manual.line);
        self.out.manual.dedup();
        self.out
    }
}

/// An option whose value is a later element or comes with a later `append`.
fn waits_for_a_value(source: &Source<'_>, value: &Value) -> bool {
    match value {
        Value::Literal(literal) => {
            matches!(&source.text[literal.content.clone()], "-G" | "-S" | "-B" | "-D" | "-A" | "-T" | "-C" | "-U")
        }
        Value::Computed(_) => false,
    }
}
