//! The only writer of the user's files: journal, backups, locks, recovery.
//!
//! lock → begin → for each change { back up → intent on disk → act → done } → prove → commit. A failure, an
//! interrupt or a proof that does not hold undoes all of it in reverse. Whatever happens, and wherever the
//! process dies, the files are as before or as after, never between: what was cut off is undone by
//! [`recover`], which the next writing command calls first.
//!
//! It decides nothing: what to change comes as a value, whether it worked as a closure. It never prints.

mod apply;
mod beside;
mod damage;
mod error;
mod history;
mod in_place;
mod journal;
mod lock;
mod mounts;
mod newcomers;
mod past;
mod prune;
mod recovery;
mod remembered;
mod run;
mod saved;
mod seen;
mod set_aside;
mod snapshot;
mod state;
mod strangers;
mod tombstone;
mod undo;
mod write;

use std::cell::RefCell;

use serde::{Deserialize, Serialize};

use crate::change::{AbsPath, AllowedRoots, Change, EnvOverlay};
use crate::os::machine::ProcessId;

pub use apply::Group;
pub use error::{Drift, TransactionError, Version};
pub use history::{GroupState, GroupSummary, TransactionState, TransactionSummary, history, journals};
pub use journal::Summary;
pub use prune::{Clock, Limits, Newcomers, Pruned, beyond, prune, prune_these};
pub use recovery::{Interrupted, Recovered, RecoveredOutcome, Scope, Unfinished, Unrecoverable, pending, recover};
pub use remembered::{Remembered, forget, recall, remember};
pub use state::StateDir;
pub use tombstone::{ForgottenBy, Tombstone, tombstones};

pub(crate) use apply::refuse_unfinished;
pub(crate) use damage::damage;
pub(crate) use history::root_of;
pub(crate) use journal::{Act, Begin, FORMAT, GroupRecord, Lines, Record, Scratch, SeenAt};
pub(crate) use lock::Locks;
pub(crate) use mounts::refuse_mounts;
pub(crate) use past::Past;
pub(crate) use recovery::{SAVES, Trust, finish_rollback, recover_one, roots_of};
pub(crate) use saved::{Saved, save};
pub(crate) use seen::{Rights, Seen, present_version};
pub(crate) use set_aside::SetAside;
pub(crate) use snapshot::{changed_in_place, place_beside};
pub(crate) use state::GroupDir;

/// What to do, decided by a plan.
#[derive(Debug, Clone, Copy)]
pub struct Order<'a> {
    pub recipe: &'a str,
    pub slug: &'a str,
    pub case: &'a str,
    pub title: &'a Title,
    /// Identifies the plan.
    pub digest: &'a str,
    pub changes: &'a [Change],
    pub roots: &'a AllowedRoots,
    /// The plan's environment, for the commands among the changes.
    pub overlay: &'a EnvOverlay,
}

/// What a repair is called, in both languages.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Title {
    pub en: String,
    pub zh: String,
}

/// Whether the repair worked.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Proof {
    Proved,
    Failed { why: String },
}

/// What a transaction came to.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Outcome {
    /// The changes stay.
    Committed { transaction: String },
    /// All is as before. `kept` names what was built meanwhile and moved out of the way.
    Undone { why: String, kept: Vec<AbsPath> },
    /// Not all could be undone; `left` has a sentence for each thing, `kept` names what was moved out of the way.
    NeedsAttention { why: String, left: Vec<String>, kept: Vec<AbsPath> },
}

/// Progress, for the person who waits.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Event {
    /// Change `index` of `total` begins, counted from 0.
    Change {
        index: usize,
        total: usize,
    },
    /// A folder is moved aside or back.
    Moving {
        path: AbsPath,
    },
    /// A folder is being saved or copied, for a rename is impossible.
    Saving {
        path: AbsPath,
    },
    /// So many more bytes were copied or looked at; one event a file.
    Copied {
        bytes: u64,
    },
    Running {
        program: String,
    },
    Proving,
    Undoing,
}

/// Follows a transaction and may stop it.
pub trait Watch {
    fn event(&mut self, event: Event);
    /// Says whether the user wants it to end; it is then undone.
    fn interrupted(&self) -> bool;
}

/// Neither shows progress nor interrupts.
#[derive(Debug, Clone, Copy, Default)]
pub struct Unwatched;

impl Watch for Unwatched {
    fn event(&mut self, _event: Event) {}

    fn interrupted(&self) -> bool {
        false
    }
}

/// The changes are made; the proof is to be had.
pub struct Applied<'a> {
    pub transaction: &'a str,
    pub changes: &'a [Change],
    note: RefCell<&'a mut dyn FnMut(Record) -> Result<(), TransactionError>>,
}

impl Applied<'_> {
    /// Records a process that works on the files for the proof (the user's command again), so that a recovery
    /// never works beside it. Call it right after the start.
    pub fn started(&self, pid: u32) -> Result<(), TransactionError> {
        match ProcessId::of(pid) {
            Some(process) => (self.note.borrow_mut())(Record::Child { process }),
            None => Ok(()),
        }
    }
}

/// Space that an undo may need on a full disk, kept while a transaction runs.
pub(crate) const RESERVE: &str = "reserve";
