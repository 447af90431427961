//! Counts the bytes that are looked at more closely than by the one pass, so that tests can hold the scanner to linear
//! work without a clock. Outside of tests it does nothing.

#[cfg(not(test))]
#[inline(always)]
pub fn count(_: usize) {}

#[cfg(test)]
pub use counted::{count, take};

#[cfg(test)]
mod counted {
    use std::cell::Cell;

    thread_local! {
        static BYTES: Cell<u64> = const { Cell::new(0) };
    }

    pub fn count(bytes: usize) {
        BYTES.set(BYTES.get() + bytes as u64);
    }

    /// Returns what was counted in this thread since the last time.
    pub fn take() -> u64 {
        BYTES.take()
    }
}
