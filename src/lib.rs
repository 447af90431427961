//! `fix` recognises a failed build from its log and from the machine, shows the repair as a diff,
//! applies it in a crash-safe transaction, proves that it worked, and can take it back.
//!
//! The modules are the pipeline, in reading order:
//!
//! [`recipe`] + [`evidence`] → [`diagnosis`] → [`plan`] → [`diff`] → [`transaction`] → [`verify`] →
//! [`rollback`] → [`report`]
//!
//! [`change`] is the narrow waist: every verb of [`steps`] lowers to one of its three changes, and diff,
//! journal and undo know only these. [`policy`] is what a project says about findings. [`formats`] edits texts without losing a byte, [`os`] adapts the
//! operating system, [`redact`] takes secrets out of whatever is shown or stored.
//! `docs/architecture.md` has the table of who may import whom; `tests/tidy.rs` checks it.

pub mod change;
pub mod cli;
pub mod diagnosis;
pub mod diff;
pub mod evidence;
pub mod formats;
pub mod os;
pub mod plan;
pub mod policy;
pub mod recipe;
pub mod redact;
pub mod report;
pub mod rollback;
pub mod steps;
pub mod transaction;
pub mod verify;
