//! What is known of a file before it is opened.

use std::collections::BTreeMap;
use std::path::PathBuf;
use std::sync::Arc;

use serde::{Deserialize, Serialize};

use tsql_codecs::identity::ContentHasher;

use crate::naming;

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
    /// The folder that it lies in: on disk, or in the archive or bucket that it came from.
    pub fn folder(&self) -> Folder {
        let on_disk = self.file.parent().map(naming::readable_path);
        let (above, file) = self.path.rsplit_once('/').unwrap_or(("", &self.path));
        let has_own_name = self.file.file_name().map(naming::readable).as_deref() == Some(file);
        let path = on_disk.filter(|_| has_own_name);
        let path = path.unwrap_or_else(|| above.to_owned());
        let mut hasher = ContentHasher::new();
        hasher.update(path.as_bytes());
        let name = path.rsplit('/').next().unwrap_or_default().to_owned();
        let hash = hasher.hex();
        Folder { name, hash }
    }

    /// What it was in the store that it was exported from, if it was of this dataset.
    pub fn was(&self, dataset: &str) -> Option<&ExportedFile> {
        let exported = self.exported.as_deref();
        exported.filter(|file| file.dataset == dataset)
    }
}

/// A folder with files that belong together.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Folder {
    /// Its own name.
    pub name: String,
    /// XXH3-128 of its path: two folders of one name are two.
    pub hash: String,
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
    /// Its labels.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub labels: BTreeMap<String, String>,
}
