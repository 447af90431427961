//! Standard output and standard error: the only writer of both.
//!
//! A reader that went away or a full disk must never stop a repair half-way, so that nothing here fails or panics:
//! what could not be written is remembered, and [`finish`] says so at the end.

use std::io::{self, ErrorKind, Write};
use std::sync::Mutex;

/// Why something of standard output is lost; the first reason.
static LOST: Mutex<Option<ErrorKind>> = Mutex::new(None);

/// Writes styled text to standard output; styles are taken out where it takes none.
pub fn show(text: &str) {
    remember(anstream::stdout().write_all(text.as_bytes()));
}

/// Writes to standard output exactly what is given: a document for a program.
pub fn hand_out(bytes: &[u8]) {
    remember(io::stdout().write_all(bytes));
}

/// Writes styled text to standard error. Nobody can be told when that fails.
pub fn tell(text: &str) {
    let _ = anstream::stderr().write_all(text.as_bytes());
}

/// Writes to standard error exactly what is given. Nobody can be told when that fails.
pub fn say_raw(text: &str) {
    let _ = io::stderr().write_all(text.as_bytes());
}

/// Sees that standard output has everything; says why not.
pub fn finish() -> io::Result<()> {
    remember(io::stdout().flush());
    match *LOST.lock().unwrap_or_else(std::sync::PoisonError::into_inner) {
        Some(kind) => Err(kind.into()),
        None => Ok(()),
    }
}

fn remember(written: io::Result<()>) {
    if let Err(error) = written {
        LOST.lock().unwrap_or_else(std::sync::PoisonError::into_inner).get_or_insert(error.kind());
    }
}
