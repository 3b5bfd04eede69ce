//! Manifest of training files: all inputs that determine the files, and their checksums.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use super::options::TrainingFilesOptions;
use crate::atomic_output::WrittenFile;

/// File name of a manifest.
pub(crate) const MANIFEST: &str = "manifest.json";

/// Format version of manifests.
pub(crate) fn manifest_version() -> u32 {
    1
}

/// All inputs that determine training files, and their checksums.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[non_exhaustive]
pub struct TrainingManifest {
    /// Format version of the manifest.
    pub manifest_version: u32,
    /// Version of tsql that wrote the files.
    pub tsql_version: String,
    /// Versions of all tables of the store, in the form of `--at`.
    pub at: String,
    /// Options that selected the rows; `None` for graphs.
    pub rows: Option<TrainingFilesOptions>,
    /// Options that selected the graphs; `None` for rows.
    pub graphs: Option<serde_json::Value>,
    /// SQL of the rows.
    pub sql: Option<String>,
    /// The split, if there is one.
    pub split: Option<SplitInfo>,
    /// The features, in the order of their columns.
    pub features: Vec<FeatureInfo>,
    /// The label.
    pub label: Option<LabelInfo>,
    /// Parts, one folder each.
    pub parts: Vec<ManifestPart>,
    /// Records that were left out.
    pub left_out: LeftOut,
}

/// A split in a manifest.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[non_exhaustive]
pub struct SplitInfo {
    /// Name and version: `by-task@1`.
    pub name: String,
    /// Version of the split.
    pub version: u64,
    /// Digest that identifies the split in any store.
    pub digest: String,
}

/// A feature in a manifest.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[non_exhaustive]
pub struct FeatureInfo {
    /// Its name.
    pub name: String,
    /// Output column.
    pub column: String,
    /// Version of its definition.
    pub version: u32,
    /// SQL expression.
    pub sql: String,
    /// Arrow type of its elements.
    pub element_type: String,
    /// Names of its elements.
    pub elements: Vec<String>,
}

/// A label in a manifest.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[non_exhaustive]
pub struct LabelInfo {
    /// Its name: `valid`.
    pub name: String,
    /// Version of its definition.
    pub version: u32,
    /// Description of the reference whose label is 1.
    pub relative_to: String,
    /// Version of `records` in which the best rows were determined.
    pub records_version: Option<u64>,
}

/// Rows or graphs of a part.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[non_exhaustive]
pub struct ManifestPart {
    /// Name of the part and of its folder.
    pub name: String,
    /// Number of rows; for graphs, of configurations.
    pub rows: u64,
    /// Number of groups; for graphs, of graphs.
    pub groups: u64,
    /// Number of rows of the largest group.
    pub largest_group: u64,
    /// Number of failed records among the rows.
    pub failed: u64,
    /// Sum of the XXH3-128 of the keys of all rows, independent of their order, as 32 hexadecimal digits.
    pub keys: String,
    /// Its files.
    pub files: Vec<ManifestFile>,
}

/// A file.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[non_exhaustive]
pub struct ManifestFile {
    /// Path relative to the manifest.
    pub path: String,
    /// Number of rows.
    pub rows: u64,
    /// Size in bytes.
    pub bytes: u64,
    /// SHA-256 in hexadecimal.
    pub sha256: String,
}

/// Numbers of records that were left out, by reason.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[non_exhaustive]
pub struct LeftOut {
    /// Failed measurements.
    pub failed: u64,
    /// Unmeasured or withheld records.
    pub unmeasured: u64,
    /// Records whose time is not a number above 0.
    pub without_cost: u64,
    /// Records in no part of the split.
    pub without_part: u64,
    /// Records in parts that were not requested.
    pub other_parts: u64,
    /// Records with a NULL feature, by feature.
    pub null_features: BTreeMap<String, u64>,
    /// Records of groups above the size limit that were not sampled.
    pub over_limit: u64,
    /// Number of groups that were split into several.
    pub cut_groups: u64,
}

/// Returns the manifest entry of a file.
pub(crate) fn file_entry(written: &WrittenFile) -> ManifestFile {
    ManifestFile {
        path: written.path.clone(),
        rows: written.rows,
        bytes: written.bytes,
        sha256: written.sha256.clone(),
    }
}
