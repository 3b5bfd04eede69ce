//! What is known of a file before it is opened.

use std::path::PathBuf;
use std::sync::Arc;

use serde::{Deserialize, Serialize};

/// Standard input, as it is named on the command line.
pub const STDIN: &str = "-";

/// A file to be ingested.
#[derive(Clone, Debug)]
pub struct Input {
    /// Where it is read from.
    pub file: PathBuf,
    /// How it was named: the argument, and below a directory the path in it.
    pub path: String,
    /// The name that it gets in the store: from the last part of the argument on.
    pub name: String,
    /// The name of the directory that it was found in, where that may give its platform: of a file
    /// that was named itself, and of one in a directory without a name of its own, none does.
    pub directory: Option<String>,
    /// It was named itself or matched a pattern, not found in a directory or archive.
    pub explicit: bool,
    /// What it was in the store that it was exported from.
    pub exported: Option<Arc<ExportedFile>>,
}

impl Input {
    /// What it was in the store that it was exported from, if it was of this dataset.
    pub fn was(&self, dataset: &str) -> Option<&ExportedFile> {
        let exported = self.exported.as_deref();
        exported.filter(|file| file.dataset == dataset)
    }
}

/// A file of an export, as the ledger has it.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct ExportedFile {
    /// Where it lies below the export's root; spelled as names in the store are.
    pub path: String,
    /// Its name in the store.
    pub name: String,
    /// Its dataset.
    pub dataset: String,
    /// Its platform.
    pub platform: String,
    /// TpuGraphs: its collection.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub collection: Option<String>,
    /// TpuGraphs: its split.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub split: Option<String>,
    /// GraphNet: how a row of the hub's Parquet named it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub hub_path: Option<String>,
}
