//! The only writer of the user's files: journal, backups, locks, recovery.
