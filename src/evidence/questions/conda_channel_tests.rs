//! Tests of the questions about conda's channels.
