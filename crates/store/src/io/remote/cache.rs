//! Files of the user's cache.

use std::path::PathBuf;

/// A folder of the cache; `None` where there is none.
pub(super) fn folder(name: &str) -> Option<PathBuf> {
    Some(tsql_folders::cache()?.join(name))
}

/// A file name for what `key` says.
pub(super) fn hash(key: &str) -> String {
    format!("{:032x}", twox_hash::XxHash3_128::oneshot(key.as_bytes()))
}
