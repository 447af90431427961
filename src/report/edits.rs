//! A plan's file changes as lines to replace, for formats that carry repairs.

use crate::change::{AbsPath, Change, FileState};
use crate::plan::Plan;

/// Whole lines of a file that are replaced.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Edit {
    /// Relative to the top of the work tree, with `/`.
    pub path: String,
    /// 1-based line and column where the old text begins.
    pub start: (u32, u32),
    /// 1-based line and column right after the old text.
    pub end: (u32, u32),
    pub old: String,
    pub new: String,
}

/// Lists the edits of a plan, one a file. Only text files inside `top` that are there before and after have one, so
/// that nothing is listed unless it is the whole repair.
pub fn edits_of(plan: &Plan, top: &AbsPath) -> Vec<Edit> {
    let edits: Option<Vec<Edit>> = plan
        .changes
        .iter()
        .map(|change| match change {
            Change::WriteFile(write) => match (&write.before, &write.after) {
                (FileState::Present(before), FileState::Present(after)) if before.mode == after.mode => {
                    let path = write.path.as_path().strip_prefix(top).ok()?.to_str()?;
                    let (before, after) = (std::str::from_utf8(&before.bytes), std::str::from_utf8(&after.bytes));
                    Some(edit(path, before.ok()?, after.ok()?))
                }
                (FileState::Absent | FileState::Present(_), _) => None,
            },
            Change::RemoveTree(_) | Change::Run(_) => None,
        })
        .collect();
    edits.unwrap_or_default()
}

fn edit(path: &str, before: &str, after: &str) -> Edit {
    let old: Vec<&str> = before.split_inclusive('\n').collect();
    let new: Vec<&str> = after.split_inclusive('\n').collect();
    let first = old.iter().zip(&new).take_while(|(old, new)| old == new).count();
    let rest = old.len().min(new.len()) - first;
    let last = old.iter().rev().zip(new.iter().rev()).take(rest).take_while(|(old, new)| old == new).count();
    let (old_part, new_part) = (&old[first..old.len() - last], &new[first..new.len() - last]);
    Edit {
        path: path.to_owned(),
        start: after_lines(&old[..first]),
        end: after_lines(&old[..old.len() - last]),
        old: old_part.concat(),
        new: new_part.concat(),
    }
}

/// The place right after some lines: at the start of the next one, or behind a last line without a line feed.
fn after_lines(lines: &[&str]) -> (u32, u32) {
    let number = |count: usize| u32::try_from(count).unwrap_or(u32::MAX);
    match lines.last() {
        Some(last) if !last.ends_with('\n') => (number(lines.len()), number(last.chars().count() + 1)),
        Some(_) | None => (number(lines.len() + 1), 1),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    /// Replaces what an edit names, as a reader of SARIF does.
    fn apply(before: &str, edit: &Edit) -> String {
        let at = |(line, column): (u32, u32)| -> usize {
            let lines: Vec<&str> = before.split_inclusive('\n').collect();
            let start: usize = lines[..line as usize - 1].iter().map(|line| line.len()).sum();
            start + before[start..].chars().take(column as usize - 1).map(char::len_utf8).sum::<usize>()
        };
        format!("{}{}{}", &before[..at(edit.start)], edit.new, &before[at(edit.end)..])
    }

    proptest! {
        #[test]
        fn an_edit_is_the_change(before in "([a-c中]?\n?){0,8}", after in "([a-c中]?\n?){0,8}") {
            let edit = edit("file", &before, &after);
            prop_assert_eq!(apply(&before, &edit), after);
            prop_assert!(before.contains(&edit.old));
        }
    }

    #[test]
    fn places_are_told_as_editors_count() {
        let edit = edit("file", "one\ntwo\nthree", "one\n2\nthree");
        assert_eq!((edit.start, edit.end, &*edit.old, &*edit.new), ((2, 1), (3, 1), "two\n", "2\n"));
        let edit = super::edit("file", "one\nthree", "one\nthree\n");
        assert_eq!((edit.start, edit.end), ((2, 1), (2, 6)));
    }
}
