//! Transactions, their recovery and their rollback, on real files with real programs.

mod afterwards;
#[cfg(debug_assertions)]
mod crash;
mod files;
mod forgetting;
#[cfg(debug_assertions)]
mod guards;
mod in_place;
mod kill;
#[cfg(debug_assertions)]
mod later_work;
mod places;
mod repairs;
mod times;
mod traces;
