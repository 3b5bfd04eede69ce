//! The actions of a commit.

use std::collections::BTreeMap;

use crate::files::data_file::DataFile;

/// The actions of a commit.
#[derive(Clone, Debug, Default)]
pub struct Change {
    /// Files that come.
    pub add: Vec<DataFile>,
    /// Files that go.
    pub remove: Vec<DataFile>,
    /// Application transactions: who, and how far.
    pub transactions: Vec<(String, i64)>,
    /// The rows stay the same, only their files change.
    pub rewrite: bool,
}

/// What is said of an attempt to commit besides what it does.
#[derive(Clone, Debug)]
pub struct About<'a> {
    /// For people.
    pub detail: &'a str,
    /// A name that is used once.
    pub name: &'a str,
    /// Versions of other tables that the writer has seen.
    pub seen: BTreeMap<String, u64>,
    /// Entries of the log that are older than Delta's retention (30 days) go.
    pub cleans_up: bool,
}
