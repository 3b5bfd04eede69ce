//! Snapshots of tables: points in history, prefetching, and caches.

pub(crate) mod at;
pub(crate) mod prefetched_snapshots;
pub(crate) mod snapshot_cache;
