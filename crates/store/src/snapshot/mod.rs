//! Which version of each table is read: finding a store, opening it, time travel, caches.

pub(crate) mod at;
pub(crate) mod consistent_snapshot;
pub(crate) mod discover;
mod open_store;
pub(crate) mod prefetched_snapshots;
pub(crate) mod snapshot_cache;
mod table_snapshots;
