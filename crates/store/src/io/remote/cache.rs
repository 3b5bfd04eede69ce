//! Files in the user's cache folder.

use std::path::PathBuf;

/// Returns a folder of the cache. `None` if there is no cache.
pub(super) fn cache_folder(name: &str) -> Option<PathBuf> {
    Some(tsql_folders::cache()?.join(name))
}

/// Returns a file name for a key.
pub(super) fn hashed_name(key: &str) -> String {
    format!("{:032x}", twox_hash::XxHash3_128::oneshot(key.as_bytes()))
}
