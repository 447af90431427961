//! Python environments as their files show them.
//!
//! Which interpreter a command means, what it takes, what is installed in it. No interpreter is started: an environment
//! in a project could run anything, and one that is broken would not answer.

pub mod at_work;
pub mod distributions;
pub mod installer;
mod interpreter;
pub mod leftovers;
pub mod machine;
pub mod modules;
pub mod tags;
mod wheel;
pub mod zip;

pub use interpreter::{Interpreter, Kind, Libc, Platform};
pub use wheel::{BrokenWheel, Wheel};
