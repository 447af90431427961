//! Generated files: an edit means what it was to mean, and no other byte changes.

use super::*;

struct Dice(u64);

impl Dice {
    fn roll(&mut self, sides: usize) -> usize {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        (self.0 >> 11) as usize % sides
    }

    fn pick<'a>(&mut self, from: &[&'a str]) -> &'a str {
        from[self.roll(from.len())]
    }
}

fn list(dice: &mut Dice) -> String {
    let items: Vec<&str> =
        (0..dice.roll(4)).map(|_| dice.pick(&["\"a\"", "'b'", "\"c,\\\"#\"", "\"https://x/y\""])).collect();
    match dice.roll(4) {
        0 => format!("[{}]", items.join(", ")),
        1 => format!("[ {} ]", items.join(" , ")),
        2 => format!("[\n  {}\n]", items.join(",\n  ")),
        _ => format!(
            "[\n    # first\n{}]",
            items.iter().map(|item| format!("    {item}, # of, {item}\n")).collect::<String>()
        ),
    }
}

fn file(dice: &mut Dice) -> String {
    let mut text = String::new();
    if dice.roll(2) == 0 {
        text += "# top\n\n";
    }
    if dice.roll(2) == 0 {
        text += dice.pick(&[
            "index-url = \"https://a\"\n",
            "index-url='https://a' # why\n",
            "\"index-url\" = \"\"\"x\ny\"\"\"\n",
        ]);
    }
    if dice.roll(2) == 0 {
        text += &format!("extra-index-url={}\n", list(dice));
    }
    for _ in 0..dice.roll(3) {
        text += &format!("[[index]]\nurl = {} # i\ndefault = true\n", dice.pick(&["'https://i'", "\"https://j\""]));
    }
    if dice.roll(2) == 0 {
        text += &format!("[pip]\nextra-index-url = {} # e\nn = 1_000\nt = {{ a.b = 'x', c = [1, 2.0] }}\n", list(dice));
    }
    if dice.roll(3) == 0 && !text.is_empty() {
        text.pop();
    }
    if dice.roll(3) == 0 {
        text = text.replace('\n', "\r\n");
    }
    if dice.roll(4) == 0 {
        text.insert_str(0, MARK);
    }
    text
}

fn key(name: &str) -> Step {
    Step::Key(name.to_owned())
}

#[test]
fn edits_mean_what_they_were_to_and_keep_every_other_byte() {
    let mut dice = Dice(0x0123_4567_89ab_cdef);
    let (mut edited, mut refused) = (0, 0);
    for _ in 0..10_000 {
        let before = file(&mut dice);
        let value = dice.pick(&["https://new/simple", "q\"uo\\te", "it's"]).to_owned();
        let path = match dice.roll(4) {
            0 => vec![key("index-url")],
            1 => vec![key("index"), Step::At(dice.roll(2)), key("url")],
            2 => vec![key("extra-index-url")],
            _ => vec![key("pip"), key("extra-index-url")],
        };
        let item = |path: &[Step], at| path.iter().cloned().chain([Step::At(at)]).collect::<Vec<_>>();
        let change = match dice.roll(5) {
            0 => Edit::Replace { path, value },
            1 => Edit::Replace { path: item(&path, dice.roll(3)), value },
            2 => Edit::Append { path, value },
            3 => Edit::Remove { path: item(&path, dice.roll(3)) },
            _ => Edit::Set { key: "index-url".into(), value },
        };
        // The law itself, with the parser's own meaning on both sides, is asked by `edit`: what it hands out is read
        // again here by the other way, string by string.
        let after = match edit(before.as_bytes(), &change) {
            Ok(after) => after,
            Err(refusal) => {
                // Half of the edits are about what is not in the file, or is in it already.
                assert!(
                    matches!(refusal.reason, Reason::NotThere | Reason::BadWord),
                    "{refusal}: {change:?}\n{before:?}"
                );
                refused += 1;
                continue;
            }
        };
        edited += 1;
        let after = String::from_utf8(after).unwrap();
        let tell =
            |text: &str| strings(text.as_bytes()).unwrap().into_iter().map(|t| (t.path, t.value)).collect::<Vec<_>>();
        let (was, is) = (tell(&before), tell(&after));
        match &change {
            Edit::Replace { path, value } => {
                let want: Vec<_> =
                    was.iter().cloned().map(|(p, v)| if p == *path { (p, value.clone()) } else { (p, v) }).collect();
                assert_eq!(is, want, "{change:?}\n{before:?}\n{after:?}");
            }
            Edit::Append { .. } | Edit::Set { .. } => {
                assert_eq!(is.len(), was.len() + 1, "{change:?}\n{before:?}\n{after:?}")
            }
            Edit::RemoveKey { .. } => assert!(is.len() < was.len(), "{change:?}\n{before:?}\n{after:?}"),
            Edit::Remove { .. } => assert_eq!(is.len() + 1, was.len(), "{change:?}\n{before:?}\n{after:?}"),
        }
        // One stretch of the text is different; comments and line breaks of the rest are the same.
        let head = before.bytes().zip(after.bytes()).take_while(|(a, b)| a == b).count();
        let tail = before.bytes().rev().zip(after.bytes().rev()).take_while(|(a, b)| a == b).count();
        let gone = before.len().saturating_sub(head + tail);
        assert!(gone <= 60, "{change:?}\n{before:?}\n{after:?}");
        assert_eq!(comments(&before), comments(&after), "{change:?}\n{before:?}\n{after:?}");
        assert_eq!(before.starts_with(MARK), after.starts_with(MARK));
        assert!(!before.contains("\r\n") || !after.replace("\r\n", "").contains('\n'), "{before:?}\n{after:?}");
    }
    assert!(edited > 2000, "{edited} edited, {refused} refused");
}

/// How many `#` stand outside of strings.
fn comments(text: &str) -> usize {
    let in_strings: usize = strings(text.as_bytes()).unwrap().iter().map(|text| text.value.matches('#').count()).sum();
    text.matches('#').count() - in_strings
}

#[test]
fn edits_look_as_a_person_would_make_them() {
    let done = |text: &str, change: Edit| String::from_utf8(edit(text.as_bytes(), &change).unwrap()).unwrap();
    let list = || vec![key("extra-index-url")];
    let append = || Edit::Append { path: list(), value: "https://c".into() };
    let text = "extra-index-url = [\n    \"https://a\",  # a\n    'https://b',  # b\n]\n";
    assert_eq!(done(text, append()), text.replace("'https://b',", "'https://b',\n    'https://c',"));
    assert_eq!(done("extra-index-url=[ \"a\" ]", append()), "extra-index-url=[ \"a\", \"https://c\" ]");
    assert_eq!(done("extra-index-url = []\n", append()), "extra-index-url = [\"https://c\"]\n");
    let remove = |at| Edit::Remove { path: vec![key("extra-index-url"), Step::At(at)] };
    assert_eq!(done("extra-index-url = [\"a\", \"b\"]\n", remove(0)), "extra-index-url = [\"b\"]\n");
    assert_eq!(done("extra-index-url = [\"a\", \"b\"]\n", remove(1)), "extra-index-url = [\"a\"]\n");
    assert_eq!(
        done("extra-index-url = [\r\n  \"a\",\r\n  \"b\"\r\n]\r\n", remove(0)),
        "extra-index-url = [\r\n  \"b\"\r\n]\r\n"
    );
    let set = |value: &str| Edit::Set { key: "index-url".into(), value: value.into() };
    assert_eq!(done("", set("x")), "index-url = \"x\"\n");
    assert_eq!(done("# c\n[pip]\na = 1\n", set("x")), "index-url = \"x\"\n\n# c\n[pip]\na = 1\n");
    assert_eq!(done("\u{feff}a = 1 # c\r\n[pip]\r\n", set("x")), "\u{feff}a = 1 # c\r\nindex-url = \"x\"\r\n[pip]\r\n");
}

#[test]
fn a_key_goes_with_its_lines_or_not_at_all() {
    let done = |text: &str, path: &[&str]| {
        let path = path.iter().map(|name| key(name)).collect();
        edit(text.as_bytes(), &Edit::RemoveKey { path }).map(|bytes| String::from_utf8(bytes).unwrap())
    };
    let way = ["feature", "x", "channels"];
    for (text, want) in [
        ("[feature.x]\nchannels = [\"a\"] # one\nb = 1\n", "[feature.x]\nb = 1\n"),
        ("[feature.x]\r\nb = 1\r\nchannels = [\r\n  \"a\",\r\n]\r\n", "[feature.x]\r\nb = 1\r\n"),
        ("[feature.x]\nchannels = [\"a\"]", "[feature.x]\n"),
    ] {
        assert_eq!(done(text, &way).as_deref(), Ok(want), "{text}");
    }
    assert_eq!(done("\u{feff}a = 1\nb = 2\n", &["a"]).unwrap(), "\u{feff}b = 2\n");
    for text in [
        // The table itself would go, or what stands beside it.
        "feature.x.channels = [\"a\"]\n",
        "[feature]\nx = { channels = [\"a\"], b = 1 }\n",
        "[feature.x]\nchannels = [\"a\"]\nchannels = [\"b\"]\n",
        "[feature.x]\nb = 1\n",
    ] {
        assert!(done(text, &way).is_err(), "{text}");
    }
}

#[test]
fn what_is_no_toml_is_refused_with_its_line() {
    let set = Edit::Set { key: "k".into(), value: "v".into() };
    for (text, line, reason) in [
        (&b"a = 1\nb = [1,\nc = 2\n"[..], 3, Reason::NotToml),
        (b"a = 1\na = 2\n", 2, Reason::NotToml),
        (b"a = 1\nb = '\xff'\n", 2, Reason::NotUtf8),
    ] {
        let refusal = edit(text, &set).unwrap_err();
        assert_eq!((refusal.line, refusal.reason), (line, reason), "{:?}", String::from_utf8_lossy(text));
    }
    let deep = format!("a = {}{}\n", "[".repeat(100_000), "]".repeat(100_000));
    assert_eq!(edit(deep.as_bytes(), &set).unwrap_err().reason, Reason::NotToml);
}
