//! What is read of `fix.toml`, and what is taken out of findings.

use super::*;
use crate::recipe::{Applicability, Text};
use crate::report::{Diagnosis, Outcome, Rule};

const TODAY: Day = Day(2027, 1, 31);

fn known() -> Vec<String> {
    ["tda-1.9", "tda-1.10", "pip-index"].map(str::to_owned).to_vec()
}

fn mistakes(text: &str) -> Vec<String> {
    let mistakes = read(FILE, text, &known()).expect_err("a mistake was made");
    assert!(mistakes.iter().all(|mistake| !mistake.hint.is_empty()), "{mistakes:?}");
    mistakes.iter().map(ToString::to_string).collect()
}

#[test]
fn mistakes_are_told_with_their_place() {
    for (text, want) in [
        ("[audit]\nfail-onn = \"likely\"\n", "fix.toml:2:1: unknown field `fail-onn`"),
        ("[audits]\n", "fix.toml:1:2: unknown field `audits`"),
        ("[audit]\nfail-on = \"often\"\n", "fix.toml:2:11: `fail-on` cannot be `often`"),
        ("[audit]\nselect = [\"tda-1.8\"]\n", "fix.toml:2:11: `tda-1.8` is no known issue"),
        ("[[suppress]]\nid = \"tda-1.9\"\n", "fix.toml:1:1: missing field `suppress[0].reason`"),
        ("[[suppress]]\nid = \"tda-1.9\"\nreason = \" \"\n", "fix.toml:3:10: `suppress[0].reason` is empty"),
        ("[[suppress]]\nid = \"pip\"\nreason = \"x\"\n", "fix.toml:2:6: `pip` is no known issue"),
        ("[[suppress]]\nid = \"pip-*\"\nreason = \"x\"\nexpires = \"soon\"\n", "fix.toml:4:11: `expires` is not a day"),
        ("[[suppress]]\nid = \"pip-*\"\nreason = \"x\"\nuntil = 1\n", "fix.toml:4:1: unknown field `until`"),
        ("[audit\n", "fix.toml:1:7: "),
    ] {
        let found = mistakes(text);
        assert!(found.len() == 1 && found[0].starts_with(want), "{text}\n{found:?}");
    }
}

#[test]
fn a_configuration_is_read_whole() {
    let text = "[audit]\nselect = [\"tda-*\"]\nignore = [\"tda-1.10\"]\nfail-on = \"certain\"\ncomments = \"refuse\"\n\n\
                [[suppress]]\nid = \"tda-1.9\"\npath = \"a/**\"\nreason = \"known\"\nexpires = 2027-02-01\n";
    let policy = read(FILE, text, &known()).unwrap();
    assert_eq!((policy.fail_on, policy.comments), (Some(FailOn::Certain), Comments::Refuse));
    let names = |name: &str| vec![name.to_owned()];
    assert!(policy.wants(&names("tda-1.9")) && !policy.wants(&names("tda-1.10")) && !policy.wants(&names("pip-index")));
    let one = &policy.suppress[0];
    assert_eq!((one.expires, one.stands_at.as_str()), (Some(Day(2027, 2, 1)), "fix.toml:8"));
    assert_eq!(read(FILE, "", &known()), Ok(Policy::default()));
}

fn finding(id: &str, places: &[(&str, u32, &[&str])]) -> Finding {
    let place = |(path, line, ignored): &(&str, u32, &[&str])| Place {
        path: (*path).to_owned(),
        line: *line,
        fingerprint: format!("{id}-{path}-{line}"),
        ignored: ignored.iter().map(|id| (*id).to_owned()).collect(),
        ..Place::default()
    };
    Finding {
        id: id.to_owned(),
        slug: "s".to_owned(),
        rank: 7,
        confidence: Confidence::Certain,
        applicability: Applicability::Manual,
        case: String::new(),
        params: Default::default(),
        evidence: Vec::new(),
        answers: Vec::new(),
        title: Text::default(),
        cause: Text::default(),
        remedy: Text::default(),
        places: places.iter().map(place).collect(),
        changes: Vec::new(),
        edits: Vec::new(),
        rule: Rule::default(),
        apply_with: String::new(),
        repair: Vec::new(),
        limits: Vec::new(),
    }
}

fn suppression(id: &str, path: Option<&str>, expires: Option<Day>) -> Suppression {
    Suppression {
        id: id.to_owned(),
        path: path.map(str::to_owned),
        reason: "known".to_owned(),
        expires,
        stands_at: "fix.toml:1".to_owned(),
    }
}

#[test]
fn each_place_is_taken_out_on_somebodys_word() {
    let findings = || {
        vec![
            finding("a", &[("x/1.py", 1, &[]), ("y/2.py", 2, &["a"]), ("z/3.py", 3, &[]), ("w/4.py", 4, &["b"])]),
            finding("b", &[("x/1.py", 1, &[])]),
        ]
    };
    let old = Diagnosis {
        findings: vec![finding("a", &[("z/3.py", 3, &[])])],
        outcome: Outcome::Found,
        unmatched: None,
        suppressed: Vec::new(),
    };
    let baseline = Baseline::read(&Baseline::of(&old, None).text()).unwrap();
    let suppress = vec![
        suppression("a", Some("x"), Some(TODAY)),
        suppression("b", None, Some(Day(2027, 1, 30))),
        suppression("c", None, None),
    ];
    let policy = Policy { suppress, ..Policy::default() };
    let names = |id: &str| vec![id.to_owned()];
    let sifted = policy.sift(findings(), &names, Some(&baseline), TODAY);
    let left: Vec<(&str, usize, usize)> =
        sifted.findings.iter().map(|finding| (finding.id.as_str(), finding.rank, finding.places.len())).collect();
    assert_eq!(left, [("a", 7, 1), ("b", 7, 1)]);
    let by: Vec<(&str, SuppressedBy)> = sifted.suppressed.iter().map(|one| (one.path.as_str(), one.by)).collect();
    let want =
        [("x/1.py", SuppressedBy::Config), ("y/2.py", SuppressedBy::Comment), ("z/3.py", SuppressedBy::Baseline)];
    assert_eq!(by, want);
    assert_eq!((sifted.expired, sifted.unused), (vec![1], vec![2]));
    let strict = Policy { comments: Comments::Refuse, ..Policy::default() };
    assert_eq!(strict.sift(findings(), &names, None, TODAY).suppressed, []);
}

#[test]
fn a_baseline_of_another_kind_is_refused() {
    for text in ["", "[]", "{}", "{\"schema_version\": 2}", "{\"schema_version\": 1, \"findings\": 3}"] {
        assert!(Baseline::read(text).is_err(), "{text}");
    }
}

#[test]
fn only_comments_ignore() {
    assert_eq!(ignored_in("x = 1  # fix: ignore[tda-1.9, hp-oom]"), ["tda-1.9", "hp-oom"]);
    assert_eq!(ignored_in("// fix: ignore[a]"), ["a"]);
    assert_eq!(ignored_in("print(\"fix: ignore[a]\")"), [""; 0]);
    assert_eq!(ignored_in("# fix: ignore[a"), [""; 0]);
}
