//! Options and reports of exported databases.

use serde::Serialize;

/// Options of an export of databases.
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

/// A written database.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[non_exhaustive]
pub struct ExportedDatabase {
    /// Folder, relative to the folder of the export.
    pub folder: String,
    /// Platform of its records.
    pub platform: String,
    /// Target of its records, as JSON; empty if they have none.
    pub target: String,
    /// Number of lines of its records file.
    pub records: u64,
    /// Number of lines of its workloads file.
    pub workloads: u64,
}

/// Report of an export of databases.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
#[non_exhaustive]
pub struct ExportedDatabases {
    /// Databases in the folder.
    pub databases: Vec<ExportedDatabase>,
    /// Databases that were not written because other files exist there: folder and reason.
    pub refused: Vec<(String, String)>,
    /// Number of selected records of other formats, which are in no database.
    pub other_records: u64,
}
