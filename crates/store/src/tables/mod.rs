//! Which version of each table a store shows, and what its tables prove of each other.

pub(crate) mod acknowledged;
pub(crate) mod consistent_snapshot;
pub(crate) mod discover;
mod open_store;
mod table_logs;
mod table_snapshots;
