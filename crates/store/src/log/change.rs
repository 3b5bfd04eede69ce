//! Contents of a commit.

use std::collections::BTreeMap;

use crate::files::data_file::DataFile;

/// Actions of a commit.
#[derive(Clone, Debug, Default)]
pub struct Change {
    /// Added files.
    pub add: Vec<DataFile>,
    /// Removed files.
    pub remove: Vec<DataFile>,
    /// Application transactions: application id and version.
    pub transactions: Vec<(String, i64)>,
    /// Only the files change, not the rows.
    pub rewrite: bool,
}

/// Metadata of a commit attempt.
#[derive(Clone, Debug)]
pub struct CommitContext<'a> {
    /// Description for people.
    pub detail: &'a str,
    /// Unique name.
    pub name: &'a str,
    /// Versions of other tables that the writer has read.
    pub seen: BTreeMap<String, u64>,
    /// Whether log entries older than Delta's retention (30 days) are deleted.
    pub cleans_up: bool,
}
