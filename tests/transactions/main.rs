//! Transactions, their recovery and their rollback, on real files with real programs.

mod afterwards;
#[cfg(debug_assertions)]
mod crash;
mod files;
mod forgetting;
mod in_place;
mod kill;
mod places;
mod repairs;
mod times;
mod traces;
