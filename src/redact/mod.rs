//! Secrets and private facts → placeholders. A leaf: everything that shows or stores text uses it.
//!
//! What is not recognised is shown: the rules err on the side of hiding, but a reader must still be able to work
//! with a redacted log. A placeholder is `<secret-1>`; the same secret has the same number within one document.
//! Line breaks are never part of what is replaced, so that line numbers stay true.

mod kinds;
mod names;
mod private;
mod secrets;
mod shapes;

use std::collections::BTreeMap;
use std::fmt;
use std::ops::Range;

use serde::{Deserialize, Deserializer, Serialize, Serializer};

pub use kinds::{Kind, Rule};
pub use names::is_secret_name;

/// Text without secrets.
#[derive(Debug, Clone, Default, PartialEq, Eq, PartialOrd, Ord)]
pub struct Redacted(String);

/// How much is taken out.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Profile {
    /// Passwords, tokens, keys: for the user's own screen, journal and logs.
    Secrets,
    /// For strangers, in a bug report: also people, machines, addresses, processes and private paths. Colours and
    /// invisible characters go as well, as they could cut a name in two.
    Private,
}

/// Takes secrets out of the texts of one document, with consistent numbers.
#[derive(Debug, Clone)]
pub struct Redactor {
    profile: Profile,
    numbers: BTreeMap<(Kind, String), usize>,
    /// Names that are hidden wherever they stand alone, and why.
    names: BTreeMap<String, Rule>,
    replaced: BTreeMap<(Kind, Rule), usize>,
    /// The last number of each kind.
    last: BTreeMap<Kind, usize>,
}

/// How often a rule took something out.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Replaced {
    pub kind: Kind,
    pub rule: Rule,
    /// Places, not different things.
    pub count: usize,
}

/// A part of a text that is a secret, and the whole that it is a part of.
#[derive(Debug, Clone, PartialEq, Eq)]
struct Span {
    range: Range<usize>,
    rule: Rule,
    /// What the number stands for: a key's lines have one number.
    whole: Range<usize>,
}

/// Replacing can uncover another secret beside a placeholder; more rounds than these were never needed.
const ROUNDS: usize = 6;

/// Secrets and names that are looked for again, each with a pass over the text.
const MOST_REPEATED: usize = 64;

/// Takes the secrets out of one text.
pub fn redact(text: &str) -> Redacted {
    Redactor::new(Profile::Secrets).redact(text)
}

/// Says where secrets stand in a text: byte ranges in order, without overlap, none across a line break.
pub fn secret_ranges(text: &str) -> Vec<Range<usize>> {
    spans(text, secrets(text)).into_iter().map(|span| span.range).collect()
}

impl Redactor {
    pub fn new(profile: Profile) -> Self {
        Self {
            profile,
            numbers: BTreeMap::new(),
            names: BTreeMap::new(),
            replaced: BTreeMap::new(),
            last: BTreeMap::new(),
        }
    }

    /// Hides a name of this machine wherever it stands as a word: its user, its host name. A name that says nothing
    /// (`root`, `localhost`, `build`) stays.
    pub fn learn(&mut self, name: &str, rule: Rule) {
        if rule == Rule::Named {
            if !name.trim().is_empty() && !kinds::is_placeholder(name) {
                self.names.insert(name.trim().to_owned(), rule);
            }
        } else if private::is_telling(name) {
            self.names.entry(name.to_owned()).or_insert(rule);
        }
    }

    /// Learns the names that a text tells, to hide them in the texts of the document; the text itself goes nowhere.
    pub fn learn_from(&mut self, text: &str) {
        if self.profile == Profile::Private {
            let found = private::find(&private::without_disguise(text));
            found.names.iter().for_each(|(name, rule)| self.learn(name, *rule));
        }
    }

    /// Takes the secrets out of `text`. Redacting the result again changes nothing.
    pub fn redact(&mut self, text: &str) -> Redacted {
        // What earlier texts of the document told is hidden in this one as well; a name within a path only after the
        // path, which it would cut in two.
        let mut text = match self.profile {
            Profile::Secrets => self.hide_repeats(text.to_owned()),
            Profile::Private => private::without_disguise(text),
        };
        for _ in 0..ROUNDS {
            let mut found = secrets(&text);
            if self.profile == Profile::Private {
                let private = private::find(&text);
                private.names.iter().for_each(|(name, rule)| self.learn(name, *rule));
                found.extend(private.spans);
            }
            let found = spans(&text, found);
            if !found.is_empty() {
                text = self.replace(&text, &found);
            }
            text = self.hide_repeats(text);
            if found.is_empty() {
                break;
            }
        }
        Redacted(text)
    }

    /// Takes the secrets out of the value of a variable, option or key: the whole value when the name says so.
    pub fn redact_value(&mut self, name: &str, value: &str) -> Redacted {
        if is_secret_name(name) && !secrets::is_open(value) {
            return Redacted(self.placeholder(value, Rule::Secret));
        }
        self.redact(value)
    }

    /// Takes the secrets out of a command's words, seen together: `--token` and what follows it.
    pub fn redact_words(&mut self, words: &[String]) -> Vec<Redacted> {
        let ranges = secret_ranges(&words.join(" "));
        let mut at = 0;
        let mut out = Vec::with_capacity(words.len());
        for word in words {
            let inside = at..at + word.len();
            let (mut text, mut done) = (String::new(), at);
            for range in ranges.iter().filter(|range| range.start < inside.end && inside.start < range.end) {
                let (start, end) = (range.start.max(inside.start), range.end.min(inside.end));
                text.push_str(&word[done - at..start - at]);
                text.push_str(&self.placeholder(&word[start - at..end - at], Rule::Secret));
                done = end;
            }
            text.push_str(&word[done - at..]);
            out.push(self.redact(&text));
            at = inside.end + 1;
        }
        out
    }

    /// Says how many different secrets were taken out so far.
    pub fn count(&self) -> usize {
        self.numbers.len()
    }

    /// Lists what was taken out so far, by which rule and how often. It holds nothing of what was taken out.
    pub fn manifest(&self) -> Vec<Replaced> {
        self.replaced.iter().map(|((kind, rule), count)| Replaced { kind: *kind, rule: *rule, count: *count }).collect()
    }

    /// Hides what was found to be a secret in one place wherever else it stands.
    fn hide_repeats(&mut self, mut text: String) -> String {
        let secrets: Vec<(String, usize)> = self
            .numbers
            .iter()
            .filter(|((kind, secret), _)| *kind == Kind::Secret && is_unmistakable(secret))
            .map(|((_, secret), number)| (secret.clone(), *number))
            .take(MOST_REPEATED)
            .collect();
        for (secret, number) in secrets {
            let again = text.matches(secret.as_str()).count();
            if again > 0 {
                *self.replaced.entry((Kind::Secret, Rule::Secret)).or_default() += again;
                text = text.replace(secret.as_str(), &format!("<secret-{number}>"));
            }
        }
        let mut names: Vec<(String, Rule)> = self.names.iter().map(|(name, rule)| (name.clone(), *rule)).collect();
        // A name that holds another one comes first.
        names.sort_by_key(|(name, rule)| (*rule != Rule::Named, std::cmp::Reverse(name.len())));
        for (name, rule) in names.into_iter().take(MOST_REPEATED) {
            let places = private::standing_alone(&text, &name, rule);
            if !places.is_empty() {
                let spans: Vec<Span> =
                    places.into_iter().map(|range| Span { whole: range.clone(), range, rule }).collect();
                text = self.replace(&text, &spans);
            }
        }
        text
    }

    fn replace(&mut self, text: &str, spans: &[Span]) -> String {
        let mut out = String::with_capacity(text.len());
        let mut done = 0;
        for span in spans {
            out.push_str(&text[done..span.range.start]);
            out.push_str(&self.placeholder(&text[span.whole.clone()], span.rule));
            done = span.range.end;
        }
        out.push_str(&text[done..]);
        out
    }

    fn placeholder(&mut self, secret: &str, rule: Rule) -> String {
        let kind = rule.kind();
        let last = self.last.entry(kind).or_default();
        let number = *self.numbers.entry((kind, secret.to_owned())).or_insert_with(|| {
            *last += 1;
            *last
        });
        *self.replaced.entry((kind, rule)).or_default() += 1;
        format!("<{}-{number}>", kind.word())
    }
}

/// Says whether a secret can be told from an ordinary word: `password=password` must not hide the word.
fn is_unmistakable(secret: &str) -> bool {
    let has = |test: fn(&u8) -> bool| secret.as_bytes().iter().any(test);
    let of_a_placeholder = {
        let rest = secret.trim_end_matches('>').trim_end_matches(|c: char| c.is_ascii_digit());
        "<secret-".ends_with(rest)
    };
    secret.len() >= 8
        && !secret.contains('\n')
        && has(u8::is_ascii_digit)
        && has(u8::is_ascii_alphabetic)
        && !of_a_placeholder
}

fn secrets(text: &str) -> Vec<(Range<usize>, Rule)> {
    secrets::find(text).into_iter().map(|range| (range, Rule::Secret)).collect()
}

/// Sorts and merges what was found, cut at line breaks.
fn spans(text: &str, found: Vec<(Range<usize>, Rule)>) -> Vec<Span> {
    let mut found: Vec<Span> = found.into_iter().flat_map(|(whole, rule)| lines(text, whole, rule)).collect();
    found.sort_by_key(|span| (span.range.start, std::cmp::Reverse(span.range.end), span.rule));
    let mut merged: Vec<Span> = Vec::with_capacity(found.len());
    for span in found {
        match merged.last_mut() {
            Some(last) if span.range.start < last.range.end => {
                // One inside the other is common (a token as a password) and has the outer one's number.
                if span.range.end > last.range.end {
                    last.range.end = span.range.end;
                    last.whole = last.range.clone();
                    last.rule = last.rule.min(span.rule);
                }
            }
            _ => merged.push(span),
        }
    }
    merged
}

/// Cuts a secret at line breaks and takes the blanks around each line out of it.
fn lines(text: &str, whole: Range<usize>, rule: Rule) -> Vec<Span> {
    let mut found = Vec::new();
    let mut at = whole.start;
    for line in text[whole.clone()].split('\n') {
        let start = at + (line.len() - line.trim_start().len());
        let end = start + line.trim().len();
        if start < end && !kinds::is_placeholder(&text[start..end]) {
            found.push(Span { range: start..end, whole: whole.clone(), rule });
        }
        at += line.len() + 1;
    }
    found
}

impl Redacted {
    pub fn as_str(&self) -> &str {
        &self.0
    }

    pub fn into_string(self) -> String {
        self.0
    }
}

impl fmt::Display for Redacted {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(&self.0)
    }
}

impl Serialize for Redacted {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_str(&self.0)
    }
}

impl<'de> Deserialize<'de> for Redacted {
    /// Reads stored text; it is redacted again, as a file can be edited.
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        Ok(redact(&String::deserialize(deserializer)?))
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn numbers_are_consistent_within_a_document() {
        let mut redactor = Redactor::new(Profile::Secrets);
        let first = redactor.redact("https://u:one@a/ https://u:two@b/");
        assert_eq!(first.as_str(), "https://<secret-1>@a/ https://<secret-2>@b/");
        assert_eq!(redactor.redact("x https://u:two@c").as_str(), "x https://<secret-2>@c");
        assert_eq!(redactor.redact_value("HF_TOKEN", "anything at all").as_str(), "<secret-3>");
        assert_eq!(redactor.redact_value("PATH", "/bin:/usr/bin").as_str(), "/bin:/usr/bin");
        assert_eq!(
            redactor.redact_value("PIP_INDEX_URL", "https://u:one@a").as_str(),
            "https://<secret-4>@a".replace('4', "1")
        );
        assert_eq!(redactor.count(), 3);
    }

    #[test]
    fn a_secret_is_hidden_wherever_it_stands_again() {
        let cases = [
            ("TOKEN=abc12345\nsent abc12345 to host", "TOKEN=<secret-1>\nsent <secret-1> to host"),
            ("password=swordfish\nwrong swordfish", "password=<secret-1>\nwrong swordfish"),
            ("password=secret-1\nsee <secret-1>", "password=<secret-1>\nsee <secret-1>"),
        ];
        for (given, want) in cases {
            assert_eq!(redact(given).as_str(), want);
        }
        let stored = serde_json::to_string(&redact("TOKEN=abc12345")).unwrap();
        assert_eq!(serde_json::from_str::<Redacted>(&stored).unwrap().as_str(), "TOKEN=<secret-1>");
        assert_eq!(serde_json::from_str::<Redacted>("\"TOKEN=abc12345\"").unwrap().as_str(), "TOKEN=<secret-1>");
    }

    #[test]
    fn words_of_a_command_are_seen_together() {
        let words = ["curl", "-u", "me:hunter2", "--token", "abcd", "-H", "Cookie: a=b c", "https://h/x"];
        let shown = Redactor::new(Profile::Secrets).redact_words(&words.map(str::to_owned));
        let shown: Vec<&str> = shown.iter().map(Redacted::as_str).collect();
        assert_eq!(shown[..6], ["curl", "-u", "<secret-1>", "--token", "<secret-2>", "-H"]);
        assert!(!shown.concat().contains("a=b"), "{shown:?}");
    }

    #[test]
    fn a_key_keeps_its_lines() {
        let key = "a\n-----BEGIN RSA PRIVATE KEY-----\r\nMIIEow\r\nAbC/+=\r\n-----END RSA PRIVATE KEY-----\r\nb";
        let want =
            "a\n-----BEGIN RSA PRIVATE KEY-----\r\n<secret-1>\r\n<secret-1>\r\n-----END RSA PRIVATE KEY-----\r\nb";
        assert_eq!(redact(key).as_str(), want);
    }

    /// Pieces that the rules look at, to be put together at random.
    fn pieces() -> impl Strategy<Value = String> {
        let piece = prop_oneof![
            Just("https://user:p%40ss@host/x".to_owned()),
            Just("password=".to_owned()),
            Just("\"token\": \"".to_owned()),
            Just("Authorization: Bearer ".to_owned()),
            Just("--api-key ".to_owned()),
            Just("ghp_0123456789abcdefghijABCDEFGHIJ".to_owned()),
            Just("AKIAIOSFODNN7EXAMPLE".to_owned()),
            Just("-----BEGIN PRIVATE KEY-----\n".to_owned()),
            Just("-----END PRIVATE KEY-----".to_owned()),
            Just("curl -u ".to_owned()),
            Just("<secret-1>".to_owned()),
            Just("machine h login l password ".to_owned()),
            Just("http_proxy=".to_owned()),
            Just("\u{1b}[32m".to_owned()),
            "[\\n \"'@:=/&<>,;\\\\-]{1,3}",
            "[a-zA-Z0-9+/_.-]{1,12}",
            any::<String>(),
        ];
        prop::collection::vec(piece, 0..12).prop_map(|pieces| pieces.concat())
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(512))]
        #[test]
        fn redacting_twice_is_redacting_once(text in pieces()) {
            let once = redact(&text);
            prop_assert_eq!(redact(once.as_str()), once.clone());
            prop_assert_eq!(once.as_str().matches('\n').count(), text.matches('\n').count());
        }

        #[test]
        fn a_secret_in_a_known_place_never_comes_out(
            before in "[ a-zA-Z0-9:/.\\n-]{0,20}",
            secret in "[A-Za-z0-9]{3,4}[0-9][A-Z][a-z][A-Za-z0-9_%.+]{9,30}Q",
            after in "(\\n[ -~]{0,20})?",
            shape in 0usize..10,
        ) {
            let told = match shape {
                0 => format!("https://user:{secret}@host/simple"),
                1 => format!("MY_PASSWORD={secret}"),
                2 => format!("{{\"api_key\": \"{secret}\"}}"),
                3 => format!("Authorization: Bearer {secret}"),
                4 => format!("tool --token {secret} run"),
                5 => format!("password = {secret}"),
                6 => format!("index-url = https://__token__:{secret}@host/simple"),
                7 => format!("?access_token={secret}&x=1"),
                8 => format!("curl -u me:{secret} https://host"),
                _ => format!("machine host login me password {secret}"),
            };
            let text = format!("{before}\n{told}{after}");
            prop_assert!(!redact(&text).as_str().contains(&secret), "{}", redact(&text));
        }
    }
}
