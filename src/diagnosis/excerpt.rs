//! The lines that a finding rests on.

use crate::evidence::log::{Hit, LogScan};

/// Most excerpts of a finding: more prove nothing more.
const MOST: usize = 8;

/// Lines of a log.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Excerpt {
    /// Name of the log.
    pub source: String,
    /// 1-based.
    pub first_line: u64,
    pub last_line: u64,
    /// As they stand in the log: to be redacted and escaped before they are shown.
    pub text: String,
}

/// Makes excerpts of hits, one a place.
pub(super) fn from_hits(logs: &[LogScan], hits: &[(usize, &Hit)]) -> Vec<Excerpt> {
    let mut excerpts: Vec<Excerpt> = Vec::new();
    for (at, hit) in hits {
        let source = &logs[*at].source;
        let covered = excerpts
            .iter()
            .any(|seen| seen.source == *source && seen.first_line <= hit.first_line && hit.last_line <= seen.last_line);
        if covered {
            continue;
        }
        if excerpts.len() == MOST {
            break;
        }
        excerpts.push(Excerpt {
            source: source.clone(),
            first_line: hit.first_line,
            last_line: hit.last_line,
            text: hit.text.clone(),
        });
    }
    excerpts
}
