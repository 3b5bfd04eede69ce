//! What is exported as databases, and what came of it.

use serde::Serialize;

/// Which records are exported as databases, and how.
#[derive(Clone, Debug, Default)]
#[non_exhaustive]
pub struct DatabaseOptions {
    pub(super) predicate: Option<String>,
    pub(super) overwrite: bool,
}

impl DatabaseOptions {
    /// Exports only the records that this SQL over `records` selects.
    #[must_use]
    pub fn predicate(mut self, sql: impl Into<String>) -> Self {
        self.predicate = Some(sql.into());
        self
    }

    /// Replaces files that exist.
    #[must_use]
    pub fn overwrite(mut self, overwrite: bool) -> Self {
        self.overwrite = overwrite;
        self
    }
}

/// A database that was written.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[non_exhaustive]
pub struct ExportedDatabase {
    /// Its folder, below that of the export.
    pub folder: String,
    /// Platform of its records.
    pub platform: String,
    /// Target of its records, as JSON; empty where they state none.
    pub target: String,
    /// Lines of its file of records.
    pub records: u64,
    /// Lines of its file of workloads.
    pub workloads: u64,
}

/// What an export of databases wrote.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
#[non_exhaustive]
pub struct ExportedDatabases {
    /// Databases that are in the folder.
    pub databases: Vec<ExportedDatabase>,
    /// Databases that were not written, by folder, because other files exist there.
    pub refused: Vec<(String, String)>,
    /// Selected records of other formats, which are in no database.
    pub other_records: u64,
}
