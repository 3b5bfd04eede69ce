//! The table versions that a store shows, and proofs of versions between tables.

pub(crate) mod consistent_snapshot;
pub(crate) mod discover;
pub(crate) mod hide_unacknowledged;
mod open_store;
pub(crate) mod table_logs;
mod table_snapshots;
