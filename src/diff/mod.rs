//! A plan as a person or `git apply` reads it.
