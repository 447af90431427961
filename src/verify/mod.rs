//! Whether a repair worked, by facts of its own.
