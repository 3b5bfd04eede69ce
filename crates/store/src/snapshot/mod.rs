//! Which version of each table is read: finding a store, opening it, time travel, caches.

pub(crate) mod at;
pub(crate) mod prefetched_snapshots;
pub(crate) mod snapshot_cache;
