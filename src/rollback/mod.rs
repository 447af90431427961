//! Undo: the newest group of a folder, whole, or a refusal.
