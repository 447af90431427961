//! Takes keys out of a TOML table, and complains about what is wrong or left, with line and column.

use std::collections::{BTreeMap, BTreeSet};
use std::ops::Range;

use toml_edit::{Item, TableLike, Value};

use super::nearest::suggest;
use super::source::Source;
use super::{Template, TemplateError, Text, TextTemplate};

/// Year, month and day.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub struct Day(pub i32, pub u8, pub u8);

impl Day {
    /// Reads `2027-01-31`.
    pub fn parse(text: &str) -> Option<Self> {
        let digits = |text: &str, len: usize| text.len() == len && text.bytes().all(|byte| byte.is_ascii_digit());
        let (year, rest) = text.split_once('-')?;
        let (month, day) = rest.split_once('-')?;
        if !digits(year, 4) || !digits(month, 2) || !digits(day, 2) {
            return None;
        }
        let day = Self(year.parse().ok()?, month.parse().ok()?, day.parse().ok()?);
        ((1..=12).contains(&day.1) && (1..=31).contains(&day.2)).then_some(day)
    }
}

impl std::fmt::Display for Day {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{:04}-{:02}-{:02}", self.0, self.1, self.2)
    }
}

/// Takes keys out of one table.
///
/// What cannot be read becomes an empty value and a mistake in the [`Source`]; [`Reader::finish`] complains about
/// the keys that nobody took.
pub struct Reader<'s, 't> {
    source: &'s Source<'t>,
    table: &'s dyn TableLike,
    path: String,
    at: usize,
    taken: BTreeSet<&'static str>,
}

impl<'s, 't> Reader<'s, 't> {
    /// Reads the top of a file.
    pub fn root(source: &'s Source<'t>, table: &'s dyn TableLike) -> Self {
        Self { source, table, path: String::new(), at: 0, taken: BTreeSet::new() }
    }

    /// The path of a key here.
    pub fn path(&self, key: &str) -> String {
        if self.path.is_empty() { key.to_owned() } else { format!("{}.{key}", self.path) }
    }

    /// Takes a text that must be there and not empty.
    pub fn text(&mut self, key: &'static str) -> String {
        match self.take(key) {
            Some(item) => self.as_text(key, item).unwrap_or_default(),
            None => {
                self.missing(key, &format!("add `{key} = \"…\"`"));
                String::new()
            }
        }
    }

    /// Takes a text that may be absent.
    pub fn optional_text(&mut self, key: &'static str) -> Option<String> {
        let item = self.take(key)?;
        self.as_text(key, item)
    }

    /// Takes a day that may be absent, as a TOML date or as text: `2027-01-31`.
    pub fn optional_day(&mut self, key: &'static str) -> Option<Day> {
        let item = self.take(key)?;
        let day = match (item.as_datetime(), item.as_str()) {
            (Some(datetime), _) => datetime.date.map(|date| Day(i32::from(date.year), date.month, date.day)),
            (None, Some(text)) => Day::parse(text),
            (None, None) => None,
        };
        if day.is_none() {
            let place = self.source.place(&self.path(key)).start;
            self.source.fail(place, format!("`{key}` is not a day"), "write it like `2027-01-31`");
        }
        day
    }

    /// Takes an array of texts that may be absent.
    pub fn texts(&mut self, key: &'static str) -> Vec<String> {
        let Some(item) = self.take(key) else { return Vec::new() };
        let Some(array) = item.as_array() else {
            self.wrong_type(key, item, "an array of strings");
            return Vec::new();
        };
        let mut texts = Vec::new();
        for (index, value) in array.iter().enumerate() {
            let path = format!("{}[{index}]", self.path(key));
            self.source.remember(path.clone(), value.span().unwrap_or(self.at..self.at));
            match value.as_str() {
                Some(text) => texts.push(self.not_empty(&path, text)),
                None => self.wrong_value(&path, value.type_name(), "a string"),
            }
        }
        texts
    }

    /// Takes `true` or `false`; absent is `false`.
    pub fn flag(&mut self, key: &'static str) -> bool {
        let Some(item) = self.take(key) else { return false };
        item.as_bool().unwrap_or_else(|| {
            self.wrong_type(key, item, "`true` or `false`");
            false
        })
    }

    /// Takes a number within a range that may be absent.
    pub fn number(&mut self, key: &'static str, range: std::ops::RangeInclusive<u32>, default: u32) -> u32 {
        let Some(item) = self.take(key) else { return default };
        let Some(number) = item.as_integer() else {
            self.wrong_type(key, item, "a number");
            return default;
        };
        match u32::try_from(number) {
            Ok(number) if range.contains(&number) => number,
            _ => {
                let place = self.source.place(&self.path(key)).start;
                let hint = format!("give a number from {} to {}", range.start(), range.end());
                self.source.fail(place, format!("`{key}` is out of range"), hint);
                default
            }
        }
    }

    /// Takes one word out of a closed set that may be absent.
    pub fn optional_word<T: Copy>(&mut self, key: &'static str, words: &[(&'static str, T)]) -> Option<T> {
        let text = self.optional_text(key)?;
        if let Some((_, meaning)) = words.iter().find(|(word, _)| *word == text) {
            return Some(*meaning);
        }
        let place = self.source.place(&self.path(key)).start;
        let hint = suggest(&text, words.iter().map(|(word, _)| *word), "");
        self.source.fail(place, format!("`{key}` cannot be `{text}`"), hint);
        None
    }

    /// Takes one word out of a closed set that must be there; what cannot be read becomes the first.
    pub fn word<T: Copy>(&mut self, key: &'static str, words: &[(&'static str, T)]) -> T {
        if !self.table.contains_key(key) {
            let known: Vec<&str> = words.iter().map(|(word, _)| *word).collect();
            self.missing(key, &format!("add `{key} = \"…\"`, one of: {}", known.join(", ")));
        }
        self.optional_word(key, words).unwrap_or(words[0].1)
    }

    /// Takes a bilingual text that must be there.
    pub fn bilingual(&mut self, key: &'static str) -> Text {
        if !self.table.contains_key(key) {
            self.missing(key, &format!("add `{key}` with `en` and `zh`"));
        }
        self.optional_bilingual(key).unwrap_or_default()
    }

    /// Takes a bilingual text that may be absent.
    pub fn optional_bilingual(&mut self, key: &'static str) -> Option<Text> {
        self.optional_table(key).map(Reader::into_text)
    }

    /// Takes a table that may be absent.
    pub fn optional_table(&mut self, key: &'static str) -> Option<Reader<'s, 't>> {
        let item = self.take(key)?;
        self.open(key, item)
    }

    /// Takes a table that must be there.
    pub fn required_table(&mut self, key: &'static str) -> Option<Reader<'s, 't>> {
        if !self.table.contains_key(key) {
            self.missing(key, &format!("add `{key} = {{ … }}`"));
        }
        self.optional_table(key)
    }

    /// Takes a word or an array of words that must be there.
    pub fn words(&mut self, key: &'static str) -> Vec<String> {
        let Some(item) = self.take(key) else {
            self.missing(key, &format!("add `{key} = [\"…\"]`"));
            return Vec::new();
        };
        self.as_words(key, item)
    }

    /// Takes an array of tables that may be absent.
    pub fn tables(&mut self, key: &'static str) -> Vec<Reader<'s, 't>> {
        let Some(item) = self.take(key) else { return Vec::new() };
        let tables: Vec<(&dyn TableLike, Range<usize>)> = match item {
            Item::ArrayOfTables(array) => {
                array.iter().map(|table| (table as &dyn TableLike, table.span().unwrap_or_default())).collect()
            }
            Item::Value(Value::Array(array)) if array.iter().all(Value::is_inline_table) => array
                .iter()
                .filter_map(|value| Some((value.as_inline_table()? as &dyn TableLike, value.span()?)))
                .collect(),
            Item::None | Item::Value(_) | Item::Table(_) => {
                self.wrong_type(key, item, "an array of tables");
                return Vec::new();
            }
        };
        let path = self.path(key);
        tables
            .into_iter()
            .enumerate()
            .map(|(index, (table, place))| {
                let path = format!("{path}[{index}]");
                self.source.remember(path.clone(), place.clone());
                Reader { source: self.source, table, path, at: place.start, taken: BTreeSet::new() }
            })
            .collect()
    }

    /// Reads the one key that is left as the name of a question or a verb, with its arguments.
    pub fn into_named(self, what: &str) -> (String, BTreeMap<String, Template>) {
        let left = self.left();
        let [(name, item)] = left.as_slice() else {
            let at = left.get(1).map_or(self.at, |(name, _)| self.key_place(name).start);
            let message = format!("expected one {what}, found {}", left.len());
            self.source.fail(at, message, format!("name exactly one {what}: `name = {{ argument = \"…\" }}`"));
            return (String::new(), BTreeMap::new());
        };
        self.source.remember(self.path(name), self.key_place(name));
        let args = self.open(name, item).map(Reader::into_templates).unwrap_or_default();
        ((*name).to_owned(), args)
    }

    /// Reads all keys as names of words: `{ tree = ["found"], clean = "tree" }`.
    pub fn into_words(self) -> BTreeMap<String, Vec<String>> {
        let mut all = BTreeMap::new();
        for (name, item) in self.left() {
            self.source.remember(self.path(name), self.key_place(name));
            all.insert(name.to_owned(), self.as_words(name, item));
        }
        all
    }

    /// Reads `en` and `zh`.
    pub fn into_text(mut self) -> Text {
        let text = Text { en: self.text("en"), zh: self.text("zh") };
        self.finish();
        text
    }

    /// Reads `en` and `zh`, which may hold variables.
    pub fn into_text_template(mut self) -> TextTemplate {
        let en = self.text("en");
        let zh = self.text("zh");
        let template = TextTemplate { en: self.template("en", &en), zh: self.template("zh", &zh) };
        self.finish();
        template
    }

    /// Complains about the keys that nobody took.
    pub fn finish(self) {
        for (name, _) in self.left() {
            let known = self.taken.iter().copied();
            let message = format!("unknown field `{name}`");
            self.source.complain_at(self.key_place(name).start, message, suggest(name, known, "remove it"));
        }
    }

    fn into_templates(self) -> BTreeMap<String, Template> {
        let mut args = BTreeMap::new();
        for (name, item) in self.left() {
            let path = self.path(name);
            self.source.remember(path.clone(), item.span().unwrap_or_else(|| self.key_place(name)));
            self.source.remember(format!("{path}.key"), self.key_place(name));
            match (item.as_str(), item.as_array()) {
                (Some(text), _) => {
                    args.insert(name.to_owned(), self.template(name, text));
                }
                (None, Some(array)) if !array.is_empty() && array.iter().all(Value::is_str) => {
                    let items = array.iter().filter_map(Value::as_str).map(|text| self.template(name, text));
                    args.insert(name.to_owned(), Template::list(items));
                }
                (None, _) => self.wrong_value(&path, item.type_name(), "a string, or an array of strings"),
            }
        }
        args
    }

    fn template(&self, key: &str, text: &str) -> Template {
        let path = self.path(key);
        let error = match Template::parse(text) {
            Ok(template) => return template,
            Err(error) => error,
        };
        let part = match &error {
            TemplateError::Unclosed(at) | TemplateError::UnclosedOption(at) => text.get(*at..).unwrap_or("${"),
            TemplateError::BadName(name) => &format!("${{{name}}}"),
            TemplateError::Unbound(_) => "",
        };
        let first_line = part.lines().next().unwrap_or_default();
        self.source.complain_about(&path, first_line, error.to_string(), "write `${name}`, and `$$` for a dollar sign");
        Template::default()
    }

    fn open(&self, key: &str, item: &'s Item) -> Option<Reader<'s, 't>> {
        let path = self.path(key);
        let Some(table) = item.as_table_like() else {
            self.wrong_type(key, item, "a table");
            return None;
        };
        let at = self.source.place(&path).start;
        Some(Reader { source: self.source, table, path, at, taken: BTreeSet::new() })
    }

    fn take(&mut self, key: &'static str) -> Option<&'s Item> {
        self.taken.insert(key);
        let item = self.table.get(key)?;
        // A table of dotted keys has no place of its own.
        let place = item.span().unwrap_or_else(|| self.key_place(key));
        self.source.remember(self.path(key), place);
        Some(item)
    }

    fn left(&self) -> Vec<(&'s str, &'s Item)> {
        self.table.iter().filter(|(name, _)| !self.taken.contains(name)).collect()
    }

    fn key_place(&self, key: &str) -> Range<usize> {
        self.table.key(key).and_then(toml_edit::Key::span).unwrap_or(self.at..self.at)
    }

    fn as_text(&self, key: &str, item: &Item) -> Option<String> {
        match item.as_str() {
            Some(text) => Some(self.not_empty(&self.path(key), text)),
            None => {
                self.wrong_type(key, item, "a string");
                None
            }
        }
    }

    fn as_words(&self, key: &str, item: &Item) -> Vec<String> {
        let path = self.path(key);
        let words: Vec<(&str, Option<Range<usize>>)> = match item.as_value() {
            Some(Value::String(text)) => vec![(text.value(), item.span())],
            Some(Value::Array(array)) if array.iter().all(Value::is_str) => {
                array.iter().filter_map(|value| Some((value.as_str()?, value.span()))).collect()
            }
            Some(_) | None => {
                self.wrong_type(key, item, "a string or an array of strings");
                return Vec::new();
            }
        };
        if words.is_empty() {
            self.source.complain(&path, format!("`{path}` has no words"), "give at least one word");
        }
        for (index, (_, place)) in words.iter().enumerate() {
            self.source.remember(format!("{path}[{index}]"), place.clone().unwrap_or_default());
        }
        words.into_iter().map(|(word, _)| word.to_owned()).collect()
    }

    fn not_empty(&self, path: &str, text: &str) -> String {
        if text.trim().is_empty() {
            self.source.complain(path, format!("`{path}` is empty"), "write something, or leave the field out");
        }
        text.to_owned()
    }

    fn missing(&self, key: &str, hint: &str) {
        self.source.fail(self.at, format!("missing field `{}`", self.path(key)), hint);
    }

    fn wrong_type(&self, key: &str, item: &Item, expected: &str) {
        self.wrong_value(&self.path(key), item.type_name(), expected);
    }

    fn wrong_value(&self, path: &str, found: &str, expected: &str) {
        let message = format!("`{path}` is of the wrong type: {found}");
        self.source.fail(self.source.place(path).start, message, format!("give {expected}"));
    }
}
