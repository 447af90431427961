//! What must hold when a repair is made, beyond the files that it changes.

use serde::{Deserialize, Serialize};

/// A fact that a plan counts on. It is looked at again before the first change, and again before the command runs: some
/// programs do not fail without it but wait for ever.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Precondition {
    /// Nothing listens on this TCP port, on any address.
    PortFree(u16),
}
