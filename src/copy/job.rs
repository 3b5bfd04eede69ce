//! What is to be copied, from where to where, and what came of it.

use serde::Serialize;
use std::collections::HashMap;
use std::sync::Arc;

use datafusion::prelude::SessionContext;

use crate::store::Store;

/// What to copy.
#[derive(Clone, Default)]
#[non_exhaustive]
pub struct CopyOptions {
    pub(crate) predicate: Option<String>,
    pub(crate) dry_run: bool,
    pub(crate) progress: Option<CopyProgress>,
}

/// Is told what is copied, its rows so far, its rows in all.
pub type CopyProgress = Arc<dyn Fn(&str, u64, u64) + Send + Sync>;

impl CopyOptions {
    /// Only the records that this SQL over `records` selects (`source` is the name of their file), with all that they
    /// refer to.
    #[must_use]
    pub fn predicate(mut self, sql: impl Into<String>) -> Self {
        self.predicate = Some(sql.into());
        self
    }

    /// Only says what would be copied.
    #[must_use]
    pub fn dry_run(mut self, dry_run: bool) -> Self {
        self.dry_run = dry_run;
        self
    }

    /// Told now and then: what is copied, how many of its rows were, how many there are.
    #[must_use]
    pub fn progress(mut self, told: impl Fn(&str, u64, u64) + Send + Sync + 'static) -> Self {
        self.progress = Some(Arc::new(told));
        self
    }

    pub(super) fn tell(&self, what: &str, done: u64, of: u64) {
        if let Some(progress) = &self.progress {
            progress(what, done, of);
        }
    }
}

/// What a copy did, or would do.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
#[non_exhaustive]
pub struct Copied {
    /// Sources that are new in the other store.
    pub sources: u64,
    /// Sources of which it had the beginning.
    pub grown: u64,
    /// Sources that are other names of what it has.
    pub other_names: u64,
    /// Sources that it had.
    pub known: u64,
    /// Records that are new in it.
    pub records: u64,
    /// Graphs that are new in it.
    pub graphs: u64,
    /// Configurations that are new in it.
    pub configurations: u64,
    /// Sources that could not keep their name: the old and the new one.
    pub renamed: Vec<(String, String)>,
    /// Sources of which only a part was selected: their name, that of the shorter file which those lines are in the other
    /// store, and its records. They cannot be given back as they were.
    pub parts: Vec<(String, String, u64)>,
    /// Sources that were not copied: name and reason.
    pub refused: Vec<(String, String)>,
}

impl Copied {
    /// All that was asked for is in the other store.
    #[must_use]
    pub fn is_clean(&self) -> bool {
        self.refused.is_empty()
    }
}

/// What the whole work goes by.
pub(super) struct Copy<'a> {
    pub(super) from: &'a Store,
    pub(super) to: &'a Store,
    pub(super) context: SessionContext,
    pub(super) options: &'a CopyOptions,
}

/// What sources are called in the other store.
pub(super) type Names = HashMap<i64, i64>;
