//! Tests of the verb that takes channels out.
