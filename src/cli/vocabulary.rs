//! What recipes may name in this program: its questions, its verbs, and how its scanner looks for a signature.

use crate::evidence::log::literals;
use crate::evidence::questions;
use crate::recipe::{ArgTerm, QuestionTerm, VerbTerm, Vocabulary};
use crate::steps;

/// The vocabulary of this program, sorted by name.
pub fn vocabulary() -> Vocabulary {
    let mut questions: Vec<QuestionTerm> = questions::all()
        .map(|question| QuestionTerm {
            name: question.name,
            about: question.about,
            args: terms(question.args),
            answers: question.answers.to_vec(),
            values: question.values.to_vec(),
        })
        .collect();
    questions.sort_by_key(|question| question.name);
    let mut verbs: Vec<VerbTerm> =
        steps::all().map(|verb| VerbTerm { name: verb.name, about: verb.about, args: terms(verb.args) }).collect();
    verbs.sort_by_key(|verb| verb.name);
    Vocabulary {
        questions,
        verbs,
        anchors: |regex| literals::anchors(regex).map_err(|error| error.to_string()),
        least_anchor: literals::GOOD_BYTES,
    }
}

fn terms(args: &[questions::ArgSpec]) -> Vec<ArgTerm> {
    args.iter().map(|arg| ArgTerm { name: arg.name, required: arg.required, about: arg.about }).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::recipe::catalogue::{Catalogue, Entry};
    use crate::recipe::{UNKNOWN, lint};

    #[test]
    fn names_are_unique_and_unknown_is_not_among_the_answers() {
        let vocabulary = vocabulary();
        for pair in vocabulary.questions.windows(2) {
            assert_ne!(pair[0].name, pair[1].name);
        }
        for pair in vocabulary.verbs.windows(2) {
            assert_ne!(pair[0].name, pair[1].name);
        }
        for question in &vocabulary.questions {
            assert!(!question.answers.contains(&UNKNOWN), "{}", question.name);
        }
        assert_eq!(UNKNOWN, questions::UNKNOWN);
    }

    #[test]
    fn every_embedded_recipe_passes_lint() {
        let vocabulary = vocabulary();
        let catalogue = Catalogue::embedded();
        let files = catalogue.entries().iter().map(|entry| (&*entry.file, &*entry.toml));
        let mistakes: Vec<String> =
            lint::lint(files, &vocabulary).iter().map(|mistake| format!("{mistake}\nhint: {}", mistake.hint)).collect();
        assert!(mistakes.is_empty(), "{}", mistakes.join("\n"));
    }

    #[test]
    fn lint_refuses_anchors_that_cost_a_second_pass() {
        let vocabulary = vocabulary();
        let entry = Catalogue::embedded().entries().iter().find(|entry| entry.id == "tda-1.9").unwrap().clone();
        let begins = entry.toml.find("any = [").unwrap() + "any = [".len();
        let line = entry.toml[..begins].lines().count() + 1;
        let table = [
            (r"Exec\ format", None),
            (r"EJ0003bad", Some("the literal `EJ0003bad`, which this is looked for by, has 9 of at least 11 bytes")),
            (r"HCCL: EJ0003bad", None),
            (r"EJ0003bad\S+|the\ long\ alternative", Some("the literal `EJ0003bad`,")),
        ];
        for (regex, expected) in table {
            let toml = format!("{}\n  \'\'\'{regex}\'\'\',{}", &entry.toml[..begins], &entry.toml[begins..]);
            let mistakes = lint::lint_text(&entry.file, &toml, &vocabulary);
            let found: Vec<_> =
                mistakes.iter().map(|mistake| (mistake.line, &*mistake.message, &*mistake.hint)).collect();
            assert_eq!(found.len(), usize::from(expected.is_some()), "{regex}: {found:?}");
            for (at, message, hint) in found {
                assert_eq!(at, line, "{regex}");
                assert!(message.contains(expected.unwrap()), "{message}");
                assert!(hint.contains("quote"), "{hint}");
            }
        }
    }

    #[test]
    fn the_index_of_the_build_says_what_the_files_say() {
        let folder = tempfile::tempdir().unwrap();
        let embedded = Catalogue::embedded();
        for entry in embedded.entries() {
            std::fs::write(folder.path().join(format!("{}.toml", entry.id)), &*entry.toml).unwrap();
        }
        let read = Catalogue::from_folder(folder.path(), &vocabulary()).unwrap();
        assert_eq!(read.entries().len(), embedded.entries().len());
        for (read, embedded) in read.entries().iter().zip(embedded.entries()) {
            let read = Entry { file: embedded.file.clone(), ..read.clone() };
            assert_eq!(read, *embedded);
        }
    }
}
