//! Names of log files.

/// Folder of the log in the table's folder.
pub(crate) const FOLDER: &str = "_delta_log";

/// File that names the last checkpoint.
pub(crate) const LAST_CHECKPOINT: &str = "_last_checkpoint";

/// Returns the path of the entry of a version, in the table's folder.
pub(crate) fn entry_path(version: u64) -> String {
    format!("{FOLDER}/{}", entry_name(version))
}

/// Returns whether a log file of this name is never changed after it was written.
pub(crate) fn is_immutable(name: &str) -> bool {
    let number = name.get(..20).unwrap_or_default();
    number.bytes().all(|byte| byte.is_ascii_digit()) && number.len() == 20
}

/// Returns the file name of the entry of a version.
pub(crate) fn entry_name(version: u64) -> String {
    format!("{version:020}.json")
}

/// Returns the file name of the checkpoint of a version.
pub(crate) fn checkpoint_name(version: u64) -> String {
    format!("{version:020}.checkpoint.parquet")
}

/// Parses the version of an entry's file name.
pub(crate) fn entry_version(name: &str) -> Option<u64> {
    name.strip_suffix(".json")?.parse().ok()
}

/// Parses the version of a single-file checkpoint's file name.
pub(crate) fn checkpoint_version(name: &str) -> Option<u64> {
    name.strip_suffix(".checkpoint.parquet")?.parse().ok()
}
