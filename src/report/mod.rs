//! One model of a result, and its renderings.
