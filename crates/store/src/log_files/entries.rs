//! The files that a log consists of, by their names.

/// Folder of the log in that of its table.
pub(crate) const FOLDER: &str = "_delta_log";

/// File that names the last checkpoint.
pub(crate) const LAST_CHECKPOINT: &str = "_last_checkpoint";

/// The entry of a version, in the folder of its table.
pub(crate) fn entry_path(version: u64) -> String {
    format!("{FOLDER}/{}", entry_name(version))
}

/// Does a file of a log with this name stay as it is, once it is written?
pub(crate) fn is_lasting(name: &str) -> bool {
    let number = name.get(..20).unwrap_or_default();
    number.bytes().all(|byte| byte.is_ascii_digit()) && number.len() == 20
}

/// The name of the entry of a version.
pub(crate) fn entry_name(version: u64) -> String {
    format!("{version:020}.json")
}

/// The name of the checkpoint of a version.
pub(crate) fn checkpoint_name(version: u64) -> String {
    format!("{version:020}.checkpoint.parquet")
}

/// The version of an entry of this name.
pub(crate) fn entry_version(name: &str) -> Option<u64> {
    name.strip_suffix(".json")?.parse().ok()
}

/// The version of a checkpoint of this name that is one file.
pub(crate) fn checkpoint_version(name: &str) -> Option<u64> {
    name.strip_suffix(".checkpoint.parquet")?.parse().ok()
}
