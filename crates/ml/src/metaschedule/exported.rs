//! Options and reports of exported databases.

use derive_setters::Setters;
use serde::Serialize;

/// Options of an export of databases.
#[derive(Clone, Debug, Default, Setters)]
#[setters(strip_option)]
#[non_exhaustive]
pub struct DatabaseOptions {
    /// Exports only the records that this SQL over `records` selects.
    #[setters(into)]
    pub(super) predicate: Option<String>,
    /// Replaces files that exist.
    pub(super) overwrite: bool,
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
    pub rejected: Vec<(String, String)>,
    /// Number of selected records of other formats, which are in no database.
    pub other_records: u64,
}
