//! What the tests of rules share.

use super::super::{Checked, Facts, Sure, check_file, repair_file};
use super::{PROJECT_WORDS, Rule};

/// What a rule should say about a snippet.
#[derive(Debug)]
pub enum Want {
    None,
    /// Findings whose first is at this line, and no edit.
    Certain(usize),
    Likely(usize),
    Open(usize),
    /// The file after the edit.
    Edit(String),
}

/// Checks a snippet as a project of one file.
pub fn checked(rule: &Rule, text: &str, facts: &Facts) -> Checked {
    check_file(rule, text.as_bytes(), facts).unwrap().unwrap()
}

pub fn facts_of(text: &str) -> Facts {
    Facts { words: PROJECT_WORDS.iter().copied().filter(|word| text.contains(word)).collect(), ..Facts::default() }
}

#[track_caller]
pub fn expect(rule: &Rule, text: &str, want: &Want) {
    expect_with(rule, text, &facts_of(text), want);
}

#[track_caller]
pub fn expect_with(rule: &Rule, text: &str, facts: &Facts, want: &Want) {
    let found = checked(rule, text, facts).found;
    let repaired = repair_file(rule, text.as_bytes(), facts).map(|bytes| String::from_utf8(bytes).unwrap());
    let (line, sure) = match want {
        Want::None => {
            assert!(found.is_empty(), "{text}\n{found:#?}");
            return;
        }
        Want::Certain(line) => (*line, Sure::Certain),
        Want::Likely(line) => (*line, Sure::Likely),
        Want::Open(line) => (*line, Sure::Open),
        Want::Edit(after) => {
            assert_eq!(repaired.as_deref(), Some(after.as_str()), "{text}\n{found:#?}");
            return;
        }
    };
    let first = found.first().unwrap_or_else(|| panic!("nothing is found in\n{text}"));
    assert_eq!((first.line, first.sure), (line, sure), "{text}\n{found:#?}");
    assert_eq!(repaired, None, "{text}\n{found:#?}");
}
