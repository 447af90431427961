//! Whether a log went on well after a problem: something tried, failed, and was done another way.

use std::collections::BTreeMap;

use crate::evidence::log::Speaker;

use super::{Hit, LogScan, PatternOwner, Role, Side};

/// What a tool prints when a step has passed.
pub struct Milestone {
    pub regex: &'static str,
    /// Stands in every match.
    pub anchor: &'static str,
    /// Whether the whole build is done with it, so that nothing before it can have stopped the build.
    ends: bool,
}

/// The scanner looks for these beside the signatures of recipes; their patterns belong to no recipe.
pub const MILESTONES: &[Milestone] = &[
    Milestone { regex: r"^\s*-- Build files have been written to: ", anchor: "have been written to:", ends: false },
    Milestone { regex: r"^\s*Successfully installed ", anchor: "Successfully installed", ends: true },
];

/// How a log went on after a problem.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Course {
    /// Nothing says that it did.
    Stopped,
    /// A later step of the same kind passed; what failed in the end may be another thing.
    WentOn,
    /// The build was done after it, and nothing failed since: it was handled.
    Ended,
}

/// The owner of the milestone's pattern.
pub fn owner(milestone: usize) -> PatternOwner {
    PatternOwner { recipe: String::new(), signature: milestone, role: Role::Supporting, lines: 1, side: Side::Around }
}

/// Says how `log` went on after the last of `hits`, each program for itself: what one rank goes on with ends no other's.
pub(super) fn course(log: &LogScan, patterns: &[PatternOwner], hits: &[&Hit]) -> Course {
    let mut last: BTreeMap<Speaker, &Hit> = BTreeMap::new();
    for hit in hits {
        let of_program = last.entry(hit.program).or_insert(hit);
        if hit.last_line > of_program.last_line {
            *of_program = hit;
        }
    }
    last.into_values().map(|hit| course_after(log, patterns, hit)).min().unwrap_or(Course::Stopped)
}

fn course_after(log: &LogScan, patterns: &[PatternOwner], last: &Hit) -> Course {
    let is_after = |hit: &&Hit| {
        patterns[hit.pattern].recipe.is_empty()
            && hit.first_line > last.last_line
            && !hit.program.is_other(last.program)
    };
    let mut course = Course::Stopped;
    for hit in log.hits.iter().filter(is_after) {
        let ends = MILESTONES[patterns[hit.pattern].signature].ends;
        let failed_since = log.telling.iter().any(|line| line.number > hit.last_line);
        if ends && !failed_since {
            return Course::Ended;
        }
        course = Course::WentOn;
    }
    course
}
