//! Python itself is the judge: what it reads before and after an edit, over 10,000 generated files.

use std::io::{BufRead, BufReader, Write};
use std::process::{Child, Command, Stdio};

use serde_json::{Value, json};

use super::{Edit, Ini, Reason, edit};

/// Python's reader, asked line by line.
struct Python {
    child: Child,
    answers: BufReader<std::process::ChildStdout>,
}

const READER: &str = r#"
import configparser, io, json, sys
for line in sys.stdin:
    out = []
    for text in json.loads(line):
        parser = configparser.RawConfigParser()
        try:
            parser.read_file(io.TextIOWrapper(io.BytesIO(text.encode()), encoding="utf-8"))
        except configparser.Error as error:
            out.append(None)
            continue
        sections = ([["DEFAULT", list(parser._defaults.items())]] if parser._defaults else [])
        out.append(sections + [[name, list(parser._sections[name].items())] for name in parser.sections()])
    print(json.dumps(out), flush=True)
"#;

impl Python {
    fn start() -> Self {
        let mut command = Command::new("python3");
        command.args(["-I", "-u", "-c", READER]).stdin(Stdio::piped()).stdout(Stdio::piped());
        let mut child = command.spawn().expect("these tests need python3");
        let answers = BufReader::new(child.stdout.take().unwrap());
        Self { child, answers }
    }

    fn read(&mut self, texts: &[&str]) -> Vec<Value> {
        writeln!(self.child.stdin.as_mut().unwrap(), "{}", json!(texts)).unwrap();
        let mut line = String::new();
        self.answers.read_line(&mut line).unwrap();
        serde_json::from_str(&line).unwrap()
    }
}

impl Drop for Python {
    fn drop(&mut self) {
        drop(self.child.stdin.take());
        self.child.wait().unwrap();
    }
}

/// A generator of its own, the same in every run.
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

const LINES: &[&str] = &[
    "[global]",
    "[install]",
    "[DEFAULT]",
    "[a]b",
    "[]",
    "[x] ; c",
    " [y]",
    "  [z]",
    "index-url = http://a/b",
    "index-url=x",
    "Trusted-Host =",
    "trusted-host:",
    "    h1",
    "  h2 ",
    "\th3",
    "    h1 h2  h1",
    "# c",
    "  # c2",
    "; c",
    "   ; c3",
    "",
    "   ",
    "key",
    "= v",
    "k : v = w",
    "k2=",
    "  k3 = v",
    "extra_index_url = a # no inline",
    "名 = 值",
    "\u{a0}x = y",
    "a\x1cb = c",
    "[z",
    "k4 = [x]",
    "    [install]",
    "  =",
    "K4=1",
    "x\x0c=2",
    " \u{2003}h",
    "extra-index-url = h1 h2",
    "extra-index-url =",
    "find-links = h1",
    "p = %(x)s %",
    "\u{85}q = 1",
];

const SOUND: &[&str] = &["    h1", "  h2 ", "\th3", "    h1 h2  h1", "# c", "  # c2", "; c", "", "   ", " h4"];

fn text(dice: &mut Dice) -> String {
    let newline = dice.pick(&["\n", "\n", "\n", "\r\n", "\r"]);
    let mut lines = Vec::new();
    if dice.roll(4) > 0 {
        // A file that Python reads, most likely.
        for section in ["[global]", " [install]", "[x]", "[DEFAULT]"] {
            if dice.roll(3) == 0 {
                continue;
            }
            lines.push(section);
            let indent = dice.roll(3) == 0;
            for option in [
                "index-url = h0",
                "Extra-Index-URL=",
                "extra-index-url = h1 h2 h1",
                "trusted-host : h1",
                "k = v",
                "find-links =",
            ] {
                if dice.roll(2) == 0 || (option.starts_with("extra") && lines.contains(&"Extra-Index-URL=")) {
                    continue;
                }
                lines.push(if indent && option.starts_with('k') { " k = v" } else { option });
                for _ in 0..dice.roll(4) {
                    lines.push(dice.pick(SOUND));
                }
            }
        }
    } else {
        if dice.roll(5) > 0 {
            lines.push("[global]");
        }
        for _ in 0..dice.roll(13) {
            lines.push(dice.pick(LINES));
        }
    }
    let mut text = lines.join(newline);
    if dice.roll(5) > 0 {
        text.push_str(newline);
    }
    if dice.roll(50) == 0 {
        text.insert(0, '\u{feff}');
    }
    text
}

fn any_edit(dice: &mut Dice) -> Edit {
    let section = dice.pick(&["global", "install", "x", "new"]).to_owned();
    let option = dice.pick(&["index-url", "extra-index-url", "trusted-host", "find-links", "k", "other"]).to_owned();
    let item = dice.pick(&["h1", "h2", "h3", "https://m/simple"]).to_owned();
    match dice.roll(6) {
        0 => Edit::Set { section, option, value: dice.pick(&["h1", "a b", "[x]", "# y", "100%"]).to_owned() },
        1 => Edit::AppendItem { section, option, item },
        2 => Edit::ReplaceItem { section, option, item, by: dice.pick(&["h2", "h3", "new", "[b]"]).to_owned() },
        3 => Edit::RemoveItem { section, option, item },
        4 => Edit::RemoveOption { section, option },
        _ => Edit::AddSection { section },
    }
}

fn words(text: &str) -> Vec<&str> {
    text.split(super::read::is_space).filter(|word| !word.is_empty()).collect()
}

type Sections = Vec<(String, Vec<(String, String)>)>;

/// Finds a section, or adds it.
fn section<'s>(sections: &'s mut Sections, name: &str, add: bool) -> Option<&'s mut Vec<(String, String)>> {
    if add && !sections.iter().any(|(known, _)| known == name) {
        sections.push((name.to_owned(), Vec::new()));
    }
    sections.iter_mut().find(|(known, _)| known == name).map(|(_, settings)| settings)
}

/// What the edit is to mean, in Python's own terms.
fn wanted(before: &Value, edit: &Edit) -> Value {
    let mut sections: Sections = serde_json::from_value(before.clone()).unwrap();
    let change = |settings: &mut Vec<(String, String)>, option: &str, by: &dyn Fn(Vec<String>) -> Vec<String>| {
        let Some(at) = settings.iter().position(|(key, _)| key == option) else { return };
        let old: Vec<String> = words(&settings[at].1).into_iter().map(str::to_owned).collect();
        let new = by(old.clone());
        if new.is_empty() && !old.is_empty() {
            settings.remove(at);
        } else {
            settings[at].1 = new.join("\n");
        }
    };
    match edit {
        Edit::Set { section: name, option, value } => {
            let settings = section(&mut sections, name, true).unwrap();
            match settings.iter_mut().find(|(key, _)| key == option) {
                Some((_, old)) => old.clone_from(value),
                None => settings.push((option.clone(), value.clone())),
            }
        }
        Edit::AppendItem { section: name, option, item } => {
            let settings = section(&mut sections, name, true).unwrap();
            if !settings.iter().any(|(key, _)| key == option) {
                settings.push((option.clone(), String::new()));
            }
            change(settings, option, &|mut list| {
                if !list.contains(item) {
                    list.push(item.clone());
                }
                list
            });
        }
        Edit::ReplaceItem { section: name, option, item, by } => {
            if let Some(settings) = section(&mut sections, name, false) {
                change(settings, option, &|list| {
                    let there = item != by && list.contains(by);
                    list.into_iter()
                        .filter(|word| !(there && word == item))
                        .map(|word| if word == *item { by.clone() } else { word })
                        .collect()
                });
            }
        }
        Edit::RemoveItem { section: name, option, item } => {
            if let Some(settings) = section(&mut sections, name, false) {
                change(settings, option, &|list| list.into_iter().filter(|word| word != item).collect());
            }
        }
        Edit::RemoveOption { section: name, option } => {
            if let Some(settings) = section(&mut sections, name, false) {
                settings.retain(|(key, _)| key != option);
            }
        }
        Edit::AddSection { section: name } => {
            section(&mut sections, name, true);
        }
    }
    json!(sections)
}

/// Makes lists equal that differ in blanks alone; only the edited option is compared so.
fn normal(value: &Value, edit: &Edit) -> Value {
    let (section, option) = match edit {
        Edit::AppendItem { section, option, .. }
        | Edit::ReplaceItem { section, option, .. }
        | Edit::RemoveItem { section, option, .. } => (section, option),
        Edit::Set { .. } | Edit::RemoveOption { .. } | Edit::AddSection { .. } => return value.clone(),
    };
    let mut sections: Sections = serde_json::from_value(value.clone()).unwrap();
    for (name, settings) in &mut sections {
        for (key, value) in settings.iter_mut().filter(|(key, _)| name == section && key == option) {
            let _ = key;
            *value = words(value).join(" ");
        }
    }
    json!(sections)
}

/// As Python tells it: sections in order, the one of the defaults first, where it holds anything.
fn as_python(ini: &Ini<'_>) -> Value {
    let tell = |section: &super::Section| {
        let settings: Vec<_> = section.settings.iter().map(|setting| json!([setting.key, setting.value])).collect();
        json!([section.name, settings])
    };
    let is_default = |section: &&super::Section| section.name == "DEFAULT";
    let defaults = ini.sections().iter().filter(is_default).filter(|section| !section.settings.is_empty());
    let others = ini.sections().iter().filter(|section| !is_default(section));
    json!(defaults.chain(others).map(tell).collect::<Vec<_>>())
}

/// Outside of the edited option's own lines, every byte stands as it stood.
fn assert_lossless(before: &str, after: &str, edit: &Edit) {
    let ini = Ini::parse(before.as_bytes()).unwrap();
    let own = match edit {
        Edit::Set { section, option, .. }
        | Edit::AppendItem { section, option, .. }
        | Edit::ReplaceItem { section, option, .. }
        | Edit::RemoveItem { section, option, .. }
        | Edit::RemoveOption { section, option } => ini
            .setting(section, option)
            .map(|setting| ini.lines()[setting.lines.start].start..ini.lines()[setting.lines.end - 1].next),
        Edit::AddSection { .. } => None,
    };
    let lossless = match own {
        Some(own) => {
            let (head, tail) = (&before[..own.start], &before[own.end..]);
            after.len() >= head.len() + tail.len() && after.starts_with(head) && after.ends_with(tail)
        }
        None => {
            // Something is put in; nothing goes.
            let same = |pair: &(u8, u8)| pair.0 == pair.1;
            let head = before.bytes().zip(after.bytes()).take_while(same).count();
            let tail = before.bytes().rev().zip(after.bytes().rev()).take_while(same).count();
            head + tail >= before.len()
        }
    };
    assert!(lossless, "{edit:?}\n{before:?}\n{after:?}");
    let comments = |text: &str| -> Vec<String> {
        let lines = text.split(['\n', '\r']).map(|line| line.trim_matches(super::read::is_space));
        lines.filter(|line| line.starts_with(['#', ';'])).map(str::to_owned).collect()
    };
    assert_eq!(comments(before), comments(after), "{edit:?}\n{before:?}\n{after:?}");
    let breaks = |text: &str| text.ends_with(['\n', '\r']);
    let goes = matches!(
        edit,
        Edit::RemoveItem { .. } | Edit::RemoveOption { .. } | Edit::Set { .. } | Edit::ReplaceItem { .. }
    );
    assert!(before.is_empty() || goes || breaks(before) == breaks(after), "{edit:?}\n{before:?}\n{after:?}");
}

#[test]
fn python_reads_what_was_meant() {
    let mut python = Python::start();
    let mut dice = Dice(0x9e37_79b9_7f4a_7c15);
    let (mut edited, mut refused, mut unread) = (0, 0, 0);
    for _ in 0..10_000 {
        let (before, change) = (text(&mut dice), any_edit(&mut dice));
        let result = edit(before.as_bytes(), &change);
        let after = result.as_ref().map(|bytes| String::from_utf8(bytes.clone()).unwrap()).unwrap_or_default();
        let read = python.read(&[&before, &after]);
        let own = Ini::parse(before.as_bytes());
        match (&read[0], &own) {
            (Value::Null, Err(_)) => {
                assert!(result.is_err());
                unread += 1;
                continue;
            }
            (python, Ok(own)) => assert_eq!(*python, as_python(own), "{before:?}"),
            (python, Err(refusal)) => panic!("{before:?}: {refusal}, Python: {python}"),
        }
        match result {
            Ok(_) => {
                edited += 1;
                assert_eq!(
                    normal(&read[1], &change),
                    normal(&wanted(&read[0], &change), &change),
                    "{change:?}\n{before:?}\n{after:?}"
                );
                assert_lossless(&before, &after, &change);
            }
            Err(refusal) => {
                refused += 1;
                assert_eq!(refusal.reason, Reason::OtherMeaning, "{change:?}\n{before:?}");
            }
        }
    }
    assert!(edited > 5000 && unread > 1000, "{edited} edited, {refused} refused, {unread} unread");
    // Only edits beside odd indentation may be given up.
    assert!(refused * 100 < edited, "{edited} edited, {refused} refused");
}

fn done(text: &str, change: Edit) -> String {
    String::from_utf8(edit(text.as_bytes(), &change).unwrap()).unwrap()
}

#[test]
fn edits_look_as_a_person_would_make_them() {
    let (section, option) = ("global".to_owned(), "extra-index-url".to_owned());
    let append = |item: &str| Edit::AppendItem { section: section.clone(), option: option.clone(), item: item.into() };
    let file =
        "# c\r\n[global]\r\nextra-index-url =\r\n    https://a/\r\n    # why\r\n    https://b/\r\n\r\n[install]\r\nk=v";
    assert_eq!(done(file, append("https://c/")), file.replace("https://b/\r\n", "https://b/\r\n    https://c/\r\n"));
    assert_eq!(done("[global]\nextra-index-url=a", append("b")), "[global]\nextra-index-url=a\n    b");
    assert_eq!(done("[global]\nextra-index-url=\n", append("b")), "[global]\nextra-index-url= b\n");
    assert_eq!(done("", append("b")), "[global]\nextra-index-url = b\n");
    assert_eq!(done("[x]\na=1\n", append("b")), "[x]\na=1\n\n[global]\nextra-index-url=b\n");
    let remove = |item: &str| Edit::RemoveItem { section: section.clone(), option: option.clone(), item: item.into() };
    assert_eq!(done(file, remove("https://a/")), file.replace("    https://a/\r\n", ""));
    assert_eq!(done("[global]\nextra-index-url = a b  c\n", remove("b")), "[global]\nextra-index-url = a  c\n");
    assert_eq!(done("[global]\nextra-index-url = a b  c\n", remove("a")), "[global]\nextra-index-url = b  c\n");
    assert_eq!(done("[global]\nextra-index-url = a\n  # why\n  a\nk = 1\n", remove("a")), "[global]\n  # why\nk = 1\n");
    let set = Edit::Set { section: "global".into(), option: "index-url".into(), value: "https://m".into() };
    assert_eq!(done("[global]\nIndex-URL:  http://old \t\n", set), "[global]\nIndex-URL:  https://m \t\n");
}

#[test]
fn what_python_does_not_read_is_refused_with_its_line() {
    let add = |item: &str| Edit::AppendItem { section: "global".into(), option: "k".into(), item: item.into() };
    for (text, line, reason) in [
        (&b"[global]\nk = \xff\n"[..], 2, Reason::NotUtf8),
        (b"\xef\xbb\xbf[global]\n", 1, Reason::ByteOrderMark),
        (b"\n\nk = v\n", 3, Reason::NoSection),
        (b"[a]\n[b]\n[a]\n", 3, Reason::SectionTwice),
        (b"[a]\nK = 1\nk: 2\n", 3, Reason::OptionTwice),
        (b"[a]\nnothing\n", 2, Reason::NoDelimiter),
        (b"[a]\n= x\n", 2, Reason::NoName),
    ] {
        let refusal = edit(text, &add("x")).unwrap_err();
        assert_eq!((refusal.line, refusal.reason), (line, reason), "{:?}", String::from_utf8_lossy(text));
    }
    for item in ["", "a b", "#x", ";x", "a\nb", "\u{1b}[0m"] {
        assert_eq!(edit(b"[global]\n", &add(item)).unwrap_err().reason, Reason::BadWord, "{item:?}");
    }
}

#[test]
fn a_line_of_a_megabyte_and_many_lines_take_no_longer() {
    let long = format!("[global]\nk = {}\n", "x".repeat(1 << 20));
    let add = Edit::AppendItem { section: "global".into(), option: "k".into(), item: "y".into() };
    assert_eq!(done(&long, add.clone()), format!("{long}    y\n"));
    let many: String = (0..100_000).map(|at| format!("o{at} = 1\n")).collect();
    assert!(done(&format!("[global]\n{many}"), add).ends_with("o99999 = 1\nk = y\n"));
}
