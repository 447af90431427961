//! The YAML editor against readers of others: generated files and hostile ones.

mod support;

use std::fs;

use build_fix::formats::yaml::{Reason, Yaml};
use serde_json::json;
use support::{Sandbox, tools};
use yaml_serde::Value;

const DEAD: &str = "https://mirrors.example.org/anaconda/pkgs/r";

/// Numbers that look random and are the same in every run.
struct Dice(u64);

impl Dice {
    fn roll(&mut self, sides: u64) -> u64 {
        self.0 = self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (self.0 >> 33) % sides
    }

    fn one_of<'a>(&mut self, words: &[&'a str]) -> &'a str {
        words[usize::try_from(self.roll(words.len() as u64)).unwrap()]
    }
}

fn scalar(dice: &mut Dice, text: &str) -> String {
    match dice.roll(5) {
        0 => format!("\"{text}\""),
        1 => format!("'{text}'"),
        _ => text.to_owned(),
    }
}

fn entry(dice: &mut Dice) -> String {
    let text =
        dice.one_of(&["defaults", "conda-forge", "https://h:8080/t/tk-1/x#part", "a-b_c", "清华", "file:///srv/c"]);
    scalar(dice, text)
}

/// A list in one of the many ways that people write one; `dead` says where the dead entry stands.
fn list(dice: &mut Dice, indent: &str, end: &str, dead: &[bool]) -> String {
    let items: Vec<String> = dead.iter().map(|dead| if *dead { scalar(dice, DEAD) } else { entry(dice) }).collect();
    let mut text = String::new();
    match dice.roll(4) {
        0 => {
            let gap = dice.one_of(&[", ", ",  ", " , "]);
            let last = dice.one_of(&["", "", " ", ", "]);
            text.push_str(&format!(" [{}{last}]{}{end}", items.join(gap), dice.one_of(&["", "  # c"])));
        }
        1 => {
            text.push_str(&format!(" [{end}"));
            for (at, item) in items.iter().enumerate() {
                let comma = if at + 1 < items.len() || dice.roll(2) == 0 { "," } else { "" };
                text.push_str(&format!("{indent}    {item}{comma}{}{end}", dice.one_of(&["", " # 注释: x", "  "])));
            }
            text.push_str(&format!("{indent}  ]{}{end}", dice.one_of(&["", " # after"])));
        }
        _ => {
            let own = dice.one_of(&["", "  ", "    "]);
            text.push_str(&format!("{}{end}", dice.one_of(&["", "  # order matters", "   "])));
            for item in items {
                if dice.roll(6) == 0 {
                    text.push_str(&format!("{indent}{own}# in between{end}"));
                }
                if dice.roll(9) == 0 {
                    text.push_str(end);
                }
                let gap = dice.one_of(&[" ", " ", "   "]);
                text.push_str(&format!("{indent}{own}-{gap}{item}{}{end}", dice.one_of(&["", "  # c", " # 注释: x"])));
            }
        }
    }
    text
}

/// What one generated file is, and where its dead entries stand.
struct Made {
    text: String,
    path: Vec<&'static str>,
}

fn file(seed: u64) -> Made {
    let mut dice = Dice(seed * 7919 + 13);
    let end = if dice.roll(5) == 0 { "\r\n" } else { "\n" };
    let mut text = String::new();
    if dice.roll(9) == 0 {
        text.push('\u{feff}');
    }
    if dice.roll(8) == 0 {
        text.push_str(&format!("---{end}"));
    }
    if dice.roll(3) == 0 {
        text.push_str(&format!("# mine, 请勿改动{end}{end}"));
    }
    let nested = dice.roll(4) == 0;
    let path = if nested { vec!["custom_multichannels", "lab"] } else { vec!["channels"] };
    let many = usize::try_from(1 + dice.roll(4)).unwrap();
    let hit = usize::try_from(dice.roll(many as u64)).unwrap();
    let twice = dice.roll(6) == 0;
    let dead: Vec<bool> = (0..many).map(|at| at == hit || (twice && at + 1 == many)).collect();
    let place = dice.roll(3);
    for key in 0..3 {
        if dice.roll(4) == 0 {
            text.push_str(&format!("# about {key}{end}"));
        }
        if key == place {
            if nested {
                text.push_str(&format!("custom_multichannels:{end}  other: [x]{end}  lab:"));
                let list = list(&mut dice, "  ", end, &dead);
                text.push_str(&list);
            } else {
                let name = dice.one_of(&["channels", "channels", "\"channels\""]);
                text.push_str(&format!("{name}:"));
                let list = list(&mut dice, "", end, &dead);
                text.push_str(&list);
            }
        } else {
            let other = match dice.roll(5) {
                0 => format!("k{key}: true  # c{end}"),
                1 => format!("k{key}: {{a: b, 'c d': \"e\"}}{end}"),
                2 => format!("k{key}:{end}  - x # c{end}  - y{end}"),
                3 => format!("k{key}:{end}  sub: [1, 2]{end}  t: |{end}    - {DEAD}{end}    text{end}"),
                _ => format!("k{key}: 'it''s'{end}"),
            };
            text.push_str(&other);
        }
        if dice.roll(4) == 0 {
            text.push_str(end);
        }
    }
    if dice.roll(6) == 0 {
        text.truncate(text.trim_end().len());
    }
    Made { text, path }
}

fn value_at<'v>(value: &'v mut Value, path: &[&str]) -> &'v mut Value {
    path.iter().fold(value, |value, name| value.get_mut(*name).unwrap())
}

/// Reads a text with a reader of others, which takes no mark of its encoding.
fn read(text: &str) -> Value {
    let text = text.strip_prefix('\u{feff}').unwrap_or(text);
    yaml_serde::from_str(text).unwrap_or_else(|error| panic!("{error}\n{text}"))
}

/// What an edit should come to, in a tree of another reader.
fn model(text: &str, path: &[&str]) -> (Value, usize) {
    let mut value = read(text);
    let list = value_at(&mut value, path).as_sequence_mut().unwrap();
    list.retain(|item| item.as_str() != Some(DEAD));
    let left = list.len();
    if left == 0 {
        let (name, above) = path.split_last().unwrap();
        value_at(&mut value, above).as_mapping_mut().unwrap().remove(*name);
    }
    (value, left)
}

/// What the editor made of a file.
struct Edited {
    after: String,
    /// What another reader should say of it.
    want: Value,
    left: usize,
}

fn edit(made: &Made) -> Result<Edited, String> {
    let yaml = Yaml::parse(made.text.as_bytes()).map_err(|error| error.to_string())?;
    let (want, left) = model(&made.text, &made.path);
    let edited =
        if left == 0 { yaml.without_key(&made.path) } else { yaml.without_entries(&made.path, &|text| text == DEAD) };
    let bytes = edited.map_err(|error| format!("{error}: {:?}", error.reason))?;
    Ok(Edited { after: String::from_utf8(bytes).unwrap(), want, left })
}

#[test]
fn ten_thousand_files_say_what_they_should_and_keep_the_rest() {
    let mut refused = 0;
    for seed in 0..10_000 {
        let made = file(seed);
        let edited = match edit(&made) {
            Ok(edited) => edited,
            Err(why) => {
                assert!(why.contains("Layout"), "{why}\n{}", made.text);
                refused += 1;
                continue;
            }
        };
        let Edited { after, want, left } = &edited;
        let got = read(after);
        let is_nothing = |value: &Value| value.is_null() || value.as_mapping().is_some_and(|map| map.is_empty());
        assert!(got == *want || (is_nothing(&got) && is_nothing(want)), "{}\n→\n{after}", made.text);
        only_cut(&made, after, *left);
    }
    assert!(refused < 400, "{refused} of 10000 refused");
}

/// Every line of the result is one of the original, in order, or one of a list in brackets that got shorter; whole
/// lines that are gone name the dead channel or belong to the emptied key.
fn only_cut(made: &Made, after: &str, left: usize) {
    assert_eq!(made.text.starts_with('\u{feff}'), after.starts_with('\u{feff}'));
    let after = after.trim_start_matches('\u{feff}');
    let old: Vec<&str> = made.text.trim_start_matches('\u{feff}').split_inclusive('\n').collect();
    let without_end = |line: &str| line.trim_end_matches(['\r', '\n']).to_owned();
    let is_last = |at: usize| at + 1 == after.split_inclusive('\n').count();
    let mut at = 0;
    for (number, line) in after.split_inclusive('\n').enumerate() {
        let is_kept =
            |old: &str| old == line || (is_last(number) && without_end(old) == line) || is_shortened(old, line);
        let found = (at..old.len()).find(|at| is_kept(old[*at]));
        let found = found.unwrap_or_else(|| panic!("a new line {line:?}\n{}\n→\n{after}", made.text));
        for gone in &old[at..found] {
            assert!(gone.contains(DEAD) || left == 0, "lost {gone:?}\n{}\n→\n{after}", made.text);
        }
        at = found + 1;
    }
    // Without a last line break, one goes with the last entry: a blank line above it may then end the file.
    let is_blank_at_end = |gone: &str| gone.trim().is_empty() && !made.text.ends_with('\n');
    let goes = |gone: &&str| gone.contains(DEAD) || left == 0 || is_blank_at_end(gone);
    assert!(old[at..].iter().all(goes), "{}\n→\n{after}", made.text);
    if left > 0 && made.text.ends_with('\n') {
        assert!(after.ends_with('\n'), "{}\n→\n{after}", made.text);
    }
}

/// Says whether a line lost nothing but dead entries and their commas.
fn is_shortened(old: &str, new: &str) -> bool {
    if !old.contains(DEAD) {
        return false;
    }
    let bare =
        |line: &str| line.replace(&format!("\"{DEAD}\""), "").replace(&format!("'{DEAD}'"), "").replace(DEAD, "");
    let letters = |line: &str| bare(line).chars().filter(|c| !matches!(c, ',' | ' ')).collect::<String>();
    let start = old.chars().zip(new.chars()).take_while(|(a, b)| a == b).count();
    let end = old.chars().rev().zip(new.chars().rev()).take_while(|(a, b)| a == b).count();
    letters(old) == letters(new) && (start + end + 1 >= new.chars().count() || old.matches(DEAD).count() > 1)
}

#[test]
fn the_readers_of_conda_read_the_same() {
    let python = tools::yaml_readers().join("python");
    let sandbox = Sandbox::new();
    let mut cases = Vec::new();
    for seed in 20_000..20_600 {
        let made = file(seed);
        let Ok(Edited { after, left, .. }) = edit(&made) else { continue };
        cases.push(json!({"before": made.text, "after": after, "path": made.path, "left": left, "dead": DEAD}));
    }
    assert!(cases.len() > 500, "{}", cases.len());
    let file = sandbox.root().join("cases.json");
    fs::write(&file, serde_json::to_vec(&cases).unwrap()).unwrap();
    let script = r#"
import io, json, sys
import yaml
from ruamel.yaml import YAML
readers = [yaml.safe_load, lambda text: YAML(typ="safe", pure=True).load(text), lambda text: YAML(typ="rt").load(text)]
for case in json.load(open(sys.argv[1])):
    for read in readers:
        want, got = read(case["before"].lstrip("\ufeff")), read(case["after"].lstrip("\ufeff"))
        above = want
        for name in case["path"][:-1]:
            above = above[name]
        kept = [item for item in above[case["path"][-1]] if item != case["dead"]]
        assert len(kept) == case["left"], case
        if kept:
            above[case["path"][-1]] = kept
        else:
            del above[case["path"][-1]]
        assert (got or {}) == (want or {}), (case, got, want)
print("agreed", len(readers))
"#;
    sandbox.run(python.to_str().unwrap(), ["-c", script, file.to_str().unwrap()]).expect(0).says("agreed 3");
}

#[test]
fn a_list_is_added_under_a_new_key() {
    let entries = vec!["https://h/pkgs/main".to_owned(), "yes".to_owned(), "a: b".to_owned()];
    for text in ["", "# only\n", "a: 1\n", "a: 1", "a:\r\n- x\r\n", "\u{feff}a: 1\n", "t: |\n  x\n"] {
        let yaml = Yaml::parse(text.as_bytes()).unwrap();
        let bytes = yaml.with_list("default_channels", &entries).unwrap();
        let after = String::from_utf8(bytes).unwrap();
        assert!(after.starts_with(text), "{text:?} {after:?}");
        let value = read(&after);
        let told: Vec<&str> =
            value["default_channels"].as_sequence().unwrap().iter().map(|item| item.as_str().unwrap()).collect();
        assert_eq!(told, entries, "{after}");
    }
    for (text, want) in [
        ("default_channels: []\n", Reason::KeyIsThere),
        ("{a: 1}\n", Reason::Layout),
        ("a: 1\n...\n", Reason::Disagrees),
        ("b: &x {c: 1}\n<<: *x\n", Reason::MergeKey),
    ] {
        let error = Yaml::parse(text.as_bytes()).unwrap().with_list("default_channels", &entries).unwrap_err();
        assert_eq!(error.reason, want, "{text}");
    }
}

#[test]
fn hostile_files_are_refused_with_line_and_reason() {
    let cases: &[(&str, u32, Reason)] = &[
        ("channels: DEAD\n", 1, Reason::NoList),
        ("channels:\n  - DEAD\n\t- x\n", 3, Reason::TabIndent),
        ("channels:\n  - &r DEAD\n  - x\ndefault_channels: [*r]\n", 2, Reason::Anchor),
        ("a: &r DEAD\nchannels:\n  - *r\n  - DEAD\n", 3, Reason::Anchor),
        ("default_channels: &m\n  - x\n  - DEAD\nchannels: *m\n", 4, Reason::Anchor),
        ("channels: &m\n  - x\n  - DEAD\ndefault_channels: *m\n", 1, Reason::Anchor),
        ("base: &b\n  k: 1\n<<: *b\nchannels: [x, DEAD]\n", 3, Reason::MergeKey),
        ("channels:\n  - !!str DEAD\n  - x\n", 2, Reason::Tag),
        ("channels: !!set\n  - DEAD\n  - x\n", 1, Reason::Tag),
        ("a: !!python/object/apply:os.system ['id']\nchannels: [x, DEAD]\n", 1, Reason::ForeignTag),
        ("channels: [x, DEAD]\nchannels: [x]\n", 2, Reason::DuplicateKey),
        ("a:\n  b: 1\n  b: 2\nchannels: [x, DEAD]\n", 3, Reason::DuplicateKey),
        ("channels: [x, DEAD]\n---\nchannels: [x]\n", 2, Reason::SeveralDocuments),
        ("channels: [x, DEAD\n", 0, Reason::Syntax),
        ("channels:\n  - x\n  - DEAD\n foo: [1\n", 0, Reason::Syntax),
        ("- DEAD\n- x\n", 1, Reason::NoMapping),
        ("just text\n", 1, Reason::NoMapping),
        ("channels:\n  - DEAD\n  - {a: b}\n", 3, Reason::NoText),
        ("channels:\n  - |\n    DEAD\n  - x\n", 1, Reason::Absent),
        ("channels:\n  - DEAD\n", 1, Reason::NothingLeft),
        ("{channels: [x, DEAD], a: 1}\n", 0, Reason::Absent),
        ("other: [DEAD]\n", 1, Reason::Absent),
    ];
    for (text, line, want) in cases {
        let text = text.replace("DEAD", DEAD);
        let result =
            Yaml::parse(text.as_bytes()).and_then(|yaml| yaml.without_entries(&["channels"], &|text| text == DEAD));
        if *want == Reason::Absent && text.starts_with('{') {
            // In brackets all the way, the entry alone goes.
            assert_eq!(String::from_utf8(result.unwrap()).unwrap(), "{channels: [x], a: 1}\n");
            continue;
        }
        let error = result.expect_err(&text);
        assert_eq!(error.reason, *want, "{text}: {error}");
        assert!(*line == 0 || (error.line as i64 - i64::from(*line)).abs() <= 1, "{text}: {error}");
    }
    let broken = [b"channels:\n  - x\n  - \xff\xfe\n".as_slice(), b"\xff"];
    for bytes in broken {
        assert_eq!(Yaml::parse(bytes).unwrap_err().reason, Reason::NotUtf8);
    }
}

#[test]
fn large_and_deep_files_are_bounded() {
    let line = format!("channels: [{}, {DEAD}]\n", "x".repeat(900_000));
    let yaml = Yaml::parse(line.as_bytes()).unwrap();
    assert_eq!(yaml.without_entries(&["channels"], &|text| text == DEAD).unwrap().len(), line.len() - DEAD.len() - 2);
    let many: String = (0..60_000).map(|at| format!("key{at}: 1\n")).collect();
    assert_eq!(Yaml::parse(many.as_bytes()).unwrap().keys(&[]).len(), 60_000);
    let large = format!("a: {}\n", "x".repeat(1 << 20));
    assert_eq!(Yaml::parse(large.as_bytes()).unwrap_err().reason, Reason::TooLarge);
    for deep in ["[".repeat(500_000), "a: ".repeat(300_000), "- ".repeat(400_000), "{a: ".repeat(200_000)] {
        let reason = Yaml::parse(deep.as_bytes()).unwrap_err().reason;
        assert!(matches!(reason, Reason::TooDeep | Reason::Syntax | Reason::NoMapping), "{reason:?}");
    }
}
