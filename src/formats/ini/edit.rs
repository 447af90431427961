//! The editor: one edit at a time, each read again and compared with what it was to mean.

use std::ops::Range;

use super::read::{is_comment, is_space};
use super::{Ini, Reason, Refusal, Setting};

/// What shall be different. Options are named in lower case; items are the words of a value.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Edit {
    /// Gives an option one value of one line; section and option are added where they are missing.
    Set {
        section: String,
        option: String,
        value: String,
    },
    /// Adds a word to a list, where it is not in it yet.
    AppendItem {
        section: String,
        option: String,
        item: String,
    },
    /// Puts a word in another's place, in every place; where it is in the list already, the other goes.
    ReplaceItem {
        section: String,
        option: String,
        item: String,
        by: String,
    },
    /// Takes a word out of a list; a list without words goes whole.
    RemoveItem {
        section: String,
        option: String,
        item: String,
    },
    RemoveOption {
        section: String,
        option: String,
    },
    AddSection {
        section: String,
    },
}

/// The lines of a file as pieces of text, to be put together again.
struct Lines<'t> {
    ini: &'t Ini<'t>,
    /// Byte ranges and what stands there afterwards; in order, without overlap.
    splices: Vec<(Range<usize>, String)>,
}

/// What a file means: its sections, each with options and values.
type Meaning = Vec<(String, Vec<(String, String)>)>;

/// Edits a file's bytes; an edit that changes nothing returns the same bytes.
pub fn edit(bytes: &[u8], edit: &Edit) -> Result<Vec<u8>, Refusal> {
    let ini = Ini::parse(bytes)?;
    check_words(edit, &ini)?;
    let mut lines = Lines { ini: &ini, splices: Vec::new() };
    lines.apply(edit);
    let after = lines.text();
    let refused = Refusal { line: line_of(edit, &ini), reason: Reason::OtherMeaning };
    let again = Ini::parse(after.as_bytes()).map_err(|_| refused.clone())?;
    if is_meant(&meaning(&ini), &meaning(&again), edit) { Ok(after.into_bytes()) } else { Err(refused) }
}

fn parts(edit: &Edit) -> (&str, Option<&str>) {
    match edit {
        Edit::Set { section, option, .. }
        | Edit::AppendItem { section, option, .. }
        | Edit::ReplaceItem { section, option, .. }
        | Edit::RemoveItem { section, option, .. }
        | Edit::RemoveOption { section, option } => (section, Some(option)),
        Edit::AddSection { section } => (section, None),
    }
}

/// The line that an edit is about, for a refusal.
fn line_of(edit: &Edit, ini: &Ini<'_>) -> usize {
    let (section, option) = parts(edit);
    let setting = option.and_then(|option| ini.setting(section, option)).map(Setting::line);
    setting.or_else(|| ini.section(section).map(|section| section.header + 1)).unwrap_or(1)
}

/// New words must be read as what they are.
fn check_words(edit: &Edit, ini: &Ini<'_>) -> Result<(), Refusal> {
    let (section, option) = parts(edit);
    let one_line =
        |text: &str| !text.is_empty() && text.trim_matches(is_space) == text && !text.contains(char::is_control);
    let name = |text: &str| one_line(text) && !text.contains(['=', ':']) && !text.starts_with(['[', '#', ';']);
    let word = |text: &str| one_line(text) && !text.contains(is_space) && !is_comment(text);
    let fits = match edit {
        Edit::Set { value, .. } => one_line(value),
        Edit::AppendItem { item, .. } => word(item),
        Edit::ReplaceItem { by, .. } => word(by),
        Edit::RemoveItem { .. } | Edit::RemoveOption { .. } | Edit::AddSection { .. } => true,
    };
    let section_fits = one_line(section) && !section.contains([']', '[']) && section != "DEFAULT";
    let option_fits = option.is_none_or(|option| name(option) && option.to_lowercase() == option);
    if fits && section_fits && option_fits {
        return Ok(());
    }
    Err(Refusal { line: line_of(edit, ini), reason: Reason::BadWord })
}

impl<'t> Lines<'t> {
    fn apply(&mut self, edit: &Edit) {
        let ini = self.ini;
        match edit {
            Edit::Set { section, option, value } => match ini.setting(section, option) {
                Some(setting) if setting.value == *value => {}
                Some(setting) => self.set(setting, value),
                None => self.add(section, option, value),
            },
            Edit::AppendItem { section, option, item } => match ini.setting(section, option) {
                None => self.add(section, option, item),
                Some(setting) => {
                    let items = ini.items(setting);
                    if items.is_empty() {
                        self.set(setting, item);
                    } else if items.iter().all(|(word, _)| word != item) {
                        self.append(setting, item);
                    }
                }
            },
            Edit::ReplaceItem { section, option, item, by } => {
                let Some(setting) = ini.setting(section, option) else { return };
                let items = ini.items(setting);
                if item == by {
                    return;
                }
                if items.iter().any(|(word, _)| word == by) {
                    self.remove_item(setting, item);
                } else {
                    let places = items.into_iter().filter(|(word, _)| word == item);
                    self.splices.extend(places.map(|(_, place)| (place.range, by.clone())));
                }
            }
            Edit::RemoveItem { section, option, item } => {
                if let Some(setting) = ini.setting(section, option) {
                    self.remove_item(setting, item);
                }
            }
            Edit::RemoveOption { section, option } => {
                if let Some(setting) = ini.setting(section, option) {
                    self.remove_option(setting);
                }
            }
            Edit::AddSection { section } => {
                if ini.section(section).is_none() {
                    self.add_section(section, "");
                }
            }
        }
    }

    fn text(&self) -> String {
        let mut out = String::new();
        let mut done = 0;
        for (range, text) in &self.splices {
            out.push_str(&self.ini.text()[done..range.start]);
            out.push_str(text);
            done = range.end;
        }
        out.push_str(&self.ini.text()[done..]);
        out
    }

    /// Gives a setting one value in its first line. Comments between the lines of the old one stay.
    fn set(&mut self, setting: &Setting, value: &str) {
        let first = &setting.pieces[0];
        let before = &self.ini.text()[..first.range.start];
        // `key =` gets a blank, `key=x` does not.
        let blank = if first.range.is_empty() && before.ends_with(['=', ':']) { " " } else { "" };
        self.splices.push((first.range.clone(), format!("{blank}{value}")));
        self.drop_lines(setting.lines.start + 1..setting.lines.end);
    }

    /// Adds a word in a line of its own, indented as the list is.
    fn append(&mut self, setting: &Setting, item: &str) {
        let last = setting.lines.end - 1;
        let indent = match setting.pieces.last() {
            Some(piece) if setting.pieces.len() > 1 => self.indent(piece.line).to_owned(),
            _ => format!("{}    ", self.indent(setting.lines.start)),
        };
        self.insert_after(last, &format!("{indent}{item}"));
    }

    fn remove_item(&mut self, setting: &Setting, item: &str) {
        let items = self.ini.items(setting);
        if items.iter().all(|(word, _)| *word == item) {
            if !items.is_empty() {
                self.remove_option(setting);
            }
            return;
        }
        for piece in &setting.pieces {
            let here: Vec<_> = items.iter().filter(|(_, place)| place.line == piece.line).collect();
            if here.iter().all(|(word, _)| *word != item) {
                continue;
            }
            let is_first = piece.line == setting.lines.start;
            if here.iter().all(|(word, _)| *word == item) && !is_first {
                let line = self.ini.lines()[piece.line];
                self.splices.push((line.start..line.next, String::new()));
                continue;
            }
            for (at, (word, place)) in here.iter().enumerate() {
                if *word != item {
                    continue;
                }
                // With the blanks before it, or after it where it is the first.
                let start = if at > 0 { here[at - 1].1.range.end } else { place.range.start };
                let end = if at == 0 && here.len() > 1 { here[1].1.range.start } else { place.range.end };
                match self.splices.last_mut() {
                    Some((range, _)) if range.end >= start => range.end = end.max(range.end),
                    _ => self.splices.push((start..end, String::new())),
                }
            }
        }
    }

    fn remove_option(&mut self, setting: &Setting) {
        self.drop_lines(setting.lines.clone());
    }

    /// Takes lines of a value out; comments between them are no part of it.
    fn drop_lines(&mut self, lines: Range<usize>) {
        for number in lines {
            let stripped = self.ini.stripped(number);
            if !is_comment(&self.ini.text()[stripped]) {
                let line = self.ini.lines()[number];
                self.splices.push((line.start..line.next, String::new()));
            }
        }
    }

    fn add(&mut self, section: &str, option: &str, value: &str) {
        let (equals, header) = (self.equals(), self.ini.section(section));
        let text = format!("{option}{equals}{value}");
        let Some(found) = header else { return self.add_section(section, &text) };
        match found.settings.last() {
            Some(last) => {
                let indent = self.indent(last.lines.start).to_owned();
                self.insert_after(last.lines.end - 1, &format!("{indent}{text}"));
            }
            None => {
                // A header that stands deeper than the option would go on with its value.
                let next = self.ini.sections().iter().map(|other| other.header).filter(|at| *at > found.header).min();
                let indent = next.map_or("", |next| self.indent(next)).to_owned();
                self.insert_after(found.header, &format!("{indent}{text}"));
            }
        }
    }

    fn add_section(&mut self, name: &str, option: &str) {
        let (newline, text) = (self.newline(), self.ini.text());
        let mut new = String::new();
        if let Some(last) = self.ini.lines().len().checked_sub(1) {
            if self.ini.lines()[last].end == self.ini.lines()[last].next {
                new.push_str(newline);
            }
            if !self.ini.stripped(last).is_empty() {
                new.push_str(newline);
            }
        }
        new.push_str(&format!("[{name}]{newline}"));
        if !option.is_empty() {
            new.push_str(&format!("{option}{newline}"));
        }
        if !text.is_empty() && !text.ends_with(['\n', '\r']) {
            new.truncate(new.len() - newline.len());
        }
        self.splices.push((text.len()..text.len(), new));
    }

    /// Puts a line behind another; a file without a line break at its end stays without one.
    fn insert_after(&mut self, number: usize, text: &str) {
        let line = self.ini.lines()[number];
        let newline = match &self.ini.text()[line.end..line.next] {
            "" => self.newline(),
            own => own,
        };
        let new = if line.end == line.next { format!("{newline}{text}") } else { format!("{text}{newline}") };
        self.splices.push((line.next..line.next, new));
    }

    fn indent(&self, number: usize) -> &'t str {
        let line = self.ini.lines()[number];
        &self.ini.text()[line.start..self.ini.stripped(number).start]
    }

    /// The line break of the file's first line.
    fn newline(&self) -> &'t str {
        let first = self.ini.lines().first().map(|line| &self.ini.text()[line.end..line.next]);
        first.filter(|newline| !newline.is_empty()).unwrap_or("\n")
    }

    /// What stands between option and value elsewhere in the file.
    fn equals(&self) -> &'static str {
        let mut settings = self.ini.sections().iter().flat_map(|section| &section.settings);
        let tight = |setting: &Setting| {
            let first = &setting.pieces[0];
            let line = self.ini.lines()[first.line];
            let before = &self.ini.text()[line.start..first.range.start];
            !first.range.is_empty() && before.ends_with('=') && !before.trim_end_matches('=').ends_with(is_space)
        };
        if settings.next().is_some_and(tight) { "=" } else { " = " }
    }
}

fn meaning(ini: &Ini<'_>) -> Meaning {
    let setting = |setting: &Setting| (setting.key.clone(), setting.value.clone());
    ini.sections()
        .iter()
        .map(|section| (section.name.clone(), section.settings.iter().map(setting).collect()))
        .collect()
}

/// Says whether nothing but what was wanted is different.
fn is_meant(before: &Meaning, after: &Meaning, edit: &Edit) -> bool {
    let mut wanted = before.clone();
    let (section, option) = parts(edit);
    let at = wanted.iter().position(|(name, _)| name == section);
    let adds = matches!(edit, Edit::Set { .. } | Edit::AppendItem { .. } | Edit::AddSection { .. });
    let at = match at {
        Some(at) => at,
        None if adds => {
            wanted.push((section.to_owned(), Vec::new()));
            wanted.len() - 1
        }
        None => return before == after,
    };
    let Some(option) = option else { return wanted == *after };
    let settings = &mut wanted[at].1;
    let place = settings.iter().position(|(key, _)| key == option);
    let words =
        |text: &str| -> Vec<String> { text.split(is_space).filter(|w| !w.is_empty()).map(str::to_owned).collect() };
    let mut list = place.map(|place| words(&settings[place].1)).unwrap_or_default();
    // A list may be laid out anew; whatever is set is compared letter by letter.
    let mut exact = None;
    match edit {
        Edit::Set { value, .. } => exact = Some(value.clone()),
        Edit::AppendItem { item, .. } => {
            if !list.contains(item) {
                list.push(item.clone());
            }
        }
        Edit::ReplaceItem { item, by, .. } => {
            if item != by && list.contains(by) {
                list.retain(|word| word != item);
            }
            list.iter_mut().filter(|word| *word == item).for_each(|word| word.clone_from(by));
        }
        Edit::RemoveItem { item, .. } => list.retain(|word| word != item),
        Edit::RemoveOption { .. } => list.clear(),
        Edit::AddSection { .. } => {}
    }
    let was_empty = place.is_some_and(|place| words(&settings[place].1).is_empty());
    let goes = list.is_empty() && exact.is_none() && (!was_empty || matches!(edit, Edit::RemoveOption { .. }));
    match (place, goes) {
        (Some(place), true) => {
            settings.remove(place);
            return wanted == *after;
        }
        (None, true) => return wanted == *after,
        (Some(_), false) => {}
        (None, false) => settings.push((option.to_owned(), String::new())),
    }
    let mut found = after.clone();
    let setting = found.get_mut(at).and_then(|(_, settings)| settings.iter_mut().find(|(key, _)| key == option));
    let Some((_, value)) = setting else { return false };
    if !exact.map_or_else(|| words(value) == list, |exact| *value == exact) {
        return false;
    }
    // Nothing else may differ.
    value.clear();
    wanted[at].1.iter_mut().filter(|(key, _)| key == option).for_each(|(_, value)| value.clear());
    wanted == found
}
