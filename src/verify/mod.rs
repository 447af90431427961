//! Whether a repair worked, by facts of its own: the recipe's probes, asked again.
//!
//! An exit status alone proves nothing about a cause; a probe that cannot be answered proves nothing either.

use std::ffi::OsString;

use crate::evidence::{Host, Machine, ProbeAnswer, ask};
use crate::os::ports::PortState;
use crate::plan::Precondition;
use crate::recipe::{Case, Stage, Text};

/// What a repair is checked with.
pub struct Proof<'a> {
    pub case: &'a Case,
    /// What the machine said at diagnosis; the same questions are put again, with the same arguments.
    pub answers: &'a [ProbeAnswer],
    /// The machine, with the repair's environment.
    pub host: &'a dyn Host,
    pub command: Option<&'a [OsString]>,
}

/// One check and how it went.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Checked {
    pub probe: String,
    /// The answers that would prove it.
    pub wanted: Vec<String>,
    pub answer: String,
    pub seen: Text,
    pub holds: bool,
}

impl Proof<'_> {
    /// Makes the checks that can be made at `stage`: static ones always, the others after the re-run only.
    pub fn check(&self, stage: Stage) -> Vec<Checked> {
        let due: Vec<_> = self
            .case
            .verify
            .iter()
            .filter(|check| match check.stage {
                Stage::Static => true,
                Stage::Rerun => stage == Stage::Rerun,
            })
            .collect();
        due.into_iter()
            .filter_map(|check| {
                let asked = self.answers.iter().find(|answer| answer.probe == check.probe)?;
                let given = ask(&asked.question, &asked.args, Machine::Here(self.host), self.command);
                let word = given.word;
                Some(Checked {
                    probe: check.probe.clone(),
                    wanted: check.is.clone(),
                    answer: word.to_owned(),
                    seen: given.seen,
                    holds: check.is.iter().any(|wanted| wanted == word),
                })
            })
            .fold(Vec::new(), |mut all: Vec<Checked>, checked| {
                // A check of both stages is one fact.
                if !all.contains(&checked) {
                    all.push(checked);
                }
                all
            })
    }
}

/// Says which precondition of a repair does not hold now, if any.
pub fn unmet(preconditions: &[Precondition], host: &dyn Host) -> Option<Text> {
    preconditions.iter().find_map(|precondition| match *precondition {
        Precondition::PortFree(port) => match host.port(port) {
            // A server asks to reuse the address of connections that linger.
            PortState::Free | PortState::Lingering => None,
            PortState::Taken => Some(Text::new(
                format!("port {port}, which was free, has been taken meanwhile"),
                format!("端口 {port} 原本空闲，现已被占用"),
            )),
            PortState::Denied | PortState::Unclear => {
                Some(Text::new(format!("port {port} cannot be listened on"), format!("端口 {port} 无法监听")))
            }
        },
    })
}
