//! What a commit does, and what is said of it.

use std::collections::BTreeMap;

use crate::store::data_file::DataFile;

/// What a commit does.
#[derive(Clone, Debug, Default)]
pub(crate) struct Change {
    pub(crate) add: Vec<DataFile>,
    pub(crate) remove: Vec<DataFile>,
    /// Application transactions: who, and how far.
    pub(crate) transactions: Vec<(String, i64)>,
    /// The rows stay the same, only their files change.
    pub(crate) rewrite: bool,
}

/// What is said of an attempt to commit besides what it does.
#[derive(Clone, Debug)]
pub(crate) struct About<'a> {
    /// For people.
    pub(crate) detail: &'a str,
    /// A name that is used once.
    pub(crate) name: &'a str,
    /// Versions of other tables that the writer has seen.
    pub(crate) seen: BTreeMap<String, u64>,
    /// Entries of the log that are older than Delta's retention (30 days) go.
    pub(crate) cleans_up: bool,
}
