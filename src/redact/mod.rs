//! Secrets and private facts → placeholders. A leaf: everything that shows or stores text uses it.
