//! Which recipes explain the evidence, in which order, and how sure.
