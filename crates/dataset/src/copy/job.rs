//! Options, state and result of a copy.

use std::collections::HashMap;
use std::sync::Arc;

use datafusion::prelude::SessionContext;
use derive_setters::Setters;
use serde::Serialize;
use tsql_store::Store;

/// Options of a copy.
#[derive(Clone, Default, Setters)]
#[setters(strip_option)]
#[non_exhaustive]
pub struct CopyOptions {
    /// Copies only the records that this SQL over `records` selects (`source` is the name of their file), with all rows
    /// that they refer to.
    #[setters(into)]
    pub(crate) predicate: Option<String>,
    /// Only reports what would be copied.
    pub(crate) dry_run: bool,
    #[setters(skip)]
    pub(crate) progress: Option<CopyProgress>,
}

/// Progress callback: current item, rows done, total rows.
pub type CopyProgress = Arc<dyn Fn(&str, u64, u64) + Send + Sync>;

impl CopyOptions {
    /// Sets the progress callback: current item, rows done, total rows.
    #[must_use]
    pub fn progress(mut self, callback: impl Fn(&str, u64, u64) + Send + Sync + 'static) -> Self {
        self.progress = Some(Arc::new(callback));
        self
    }

    pub(super) fn report_progress(&self, what: &str, done: u64, of: u64) {
        if let Some(progress) = &self.progress {
            progress(what, done, of);
        }
    }
}

/// Result of a copy, or of a dry run.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
#[non_exhaustive]
pub struct CopyReport {
    /// New sources in the other store.
    pub sources: u64,
    /// Sources of which it had a prefix.
    pub grown: u64,
    /// Aliases of sources in the other store.
    pub other_names: u64,
    /// Sources that it had already.
    pub unchanged: u64,
    /// New records.
    pub records: u64,
    /// New graphs.
    pub graphs: u64,
    /// New configurations.
    pub configurations: u64,
    /// Sources that could not keep their name: old and new name.
    pub renamed: Vec<(String, String)>,
    /// Sources of which some lines were selected: name, name of the shorter file with these lines in the other store,
    /// and number of its records. They cannot be exported as they were.
    pub partial: Vec<(String, String, u64)>,
    /// Sources that were not copied: name and reason.
    pub rejected: Vec<(String, String)>,
}

impl CopyReport {
    /// Returns whether everything was copied.
    #[must_use]
    pub fn is_clean(&self) -> bool {
        self.rejected.is_empty()
    }
}

/// State of a copy.
pub(super) struct CopyJob<'a> {
    pub(super) from: &'a Store,
    pub(super) to: &'a Store,
    pub(super) context: SessionContext,
    pub(super) options: &'a CopyOptions,
}

/// Source ids in the other store.
pub(super) type SourceIds = HashMap<i64, i64>;
