//! The stable words for how a command ended.

use serde::{Deserialize, Serialize};

use crate::recipe::Text;

use super::words;

/// How a command ended. The words in JSON never change.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Outcome {
    /// Nothing is wrong.
    NothingWrong,
    /// An audit found no known issue.
    Clean,
    /// Known issues were found.
    Found,
    /// Something failed that no recipe knows.
    NoMatch,
    /// The repair is in place already.
    NothingToDo,
    /// Applied and proved.
    Repaired,
    /// A dry run that would change something.
    WouldChange,
    /// A plan was written.
    Planned,
    /// The user said no.
    Declined,
    /// Drift, a guard, or a level that was not allowed.
    Refused,
    /// Nothing that may be applied helps.
    NotRepaired,
    /// The repair failed or was not proved, and was taken back.
    RolledBack,
    /// `fix rollback` put the old state back.
    Restored,
    /// Taking back did not complete: somebody must look.
    NeedsAttention,
    /// The command passed; no repair was needed.
    Passed,
    /// The command fails still.
    StillFailing,
    /// A repair, or taking it back, is under way.
    AtWork,
    /// Information was shown.
    Listed,
    /// Ended by a signal, the old state put back.
    Interrupted,
    /// `fix` itself failed.
    Failed,
}

/// Why something was not done. The words in JSON never change.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum RefusalReason {
    /// A file or folder is not what the plan saw.
    Drift,
    /// A path outside the allowed roots.
    OutsideRoots,
    /// Files tracked by git, or not recognised as what the log calls it.
    Guard,
    /// More than `--yes` allows.
    Level,
    /// Needs `--allow-irreversible`.
    Irreversible,
    /// Another `fix` is at work there.
    Locked,
    /// Nobody can be asked.
    NoInput,
    /// The plan file is stale.
    StalePlan,
    /// The wrong user, a missing HOME, a full or read-only disk.
    Surroundings,
}

impl Outcome {
    /// All outcomes.
    pub const ALL: [Outcome; 20] = [
        Outcome::NothingWrong,
        Outcome::Found,
        Outcome::NoMatch,
        Outcome::NothingToDo,
        Outcome::Repaired,
        Outcome::WouldChange,
        Outcome::Planned,
        Outcome::Declined,
        Outcome::Refused,
        Outcome::NotRepaired,
        Outcome::RolledBack,
        Outcome::Restored,
        Outcome::NeedsAttention,
        Outcome::Passed,
        Outcome::StillFailing,
        Outcome::Listed,
        Outcome::Interrupted,
        Outcome::Failed,
        Outcome::AtWork,
        Outcome::Clean,
    ];

    /// Says the outcome in a sentence.
    pub fn sentence(self) -> Text {
        match self {
            Outcome::NothingWrong => words::nothing_wrong(),
            Outcome::Clean => words::clean(),
            Outcome::Found => words::found(),
            Outcome::NoMatch => words::no_match(),
            Outcome::NothingToDo => words::nothing_to_do(),
            Outcome::Repaired => words::repaired(),
            Outcome::WouldChange => words::would_change(),
            Outcome::Planned => words::planned(),
            Outcome::Declined => words::declined(),
            Outcome::Refused => words::refused(),
            Outcome::NotRepaired => words::not_repaired(),
            Outcome::RolledBack => words::rolled_back(),
            Outcome::Restored => words::restored(),
            Outcome::NeedsAttention => words::needs_attention(),
            Outcome::Passed => words::passed(),
            Outcome::StillFailing => words::still_failing(),
            Outcome::AtWork => words::at_work(),
            Outcome::Listed => words::listed(),
            Outcome::Interrupted => words::interrupted(),
            Outcome::Failed => words::failed(),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn words_stay() {
        let words: Vec<String> =
            Outcome::ALL.iter().map(|outcome| serde_json::to_string(outcome).unwrap().replace('"', "")).collect();
        let want = "nothing_wrong found no_match nothing_to_do repaired would_change planned declined refused \
                    not_repaired rolled_back restored needs_attention passed still_failing listed interrupted failed at_work clean";
        assert_eq!(words.join(" "), want);
    }
}
