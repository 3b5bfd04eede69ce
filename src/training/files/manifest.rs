//! What a manifest says: everything that files follow from, and what they are.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use super::options::TrainingFilesOptions;
use crate::delivered::Written;

/// The name of a manifest.
pub(crate) const MANIFEST: &str = "manifest.json";

/// The form of manifests.
pub(crate) fn manifest_version() -> u32 {
    1
}

/// Everything that files for training follow from, and what they are.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[non_exhaustive]
pub struct TrainingManifest {
    /// Form of the manifest.
    pub manifest_version: u32,
    /// The tsql that wrote the files.
    pub tsql_version: String,
    /// Versions of all tables that the store had then, as `--at` takes them.
    pub at: String,
    /// How the rows were chosen; `None` of graphs.
    pub rows: Option<TrainingFilesOptions>,
    /// How graphs were chosen; `None` of rows.
    pub graphs: Option<serde_json::Value>,
    /// The SQL whose answer the rows are.
    pub sql: Option<String>,
    /// The split, where there is one.
    pub split: Option<SplitTold>,
    /// The features, in the order of their columns.
    pub features: Vec<FeatureTold>,
    /// What the label is.
    pub label: Option<LabelTold>,
    /// A folder each.
    pub parts: Vec<ManifestPart>,
    /// What was left out.
    pub left_out: LeftOut,
}

/// A split, as a manifest tells it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[non_exhaustive]
pub struct SplitTold {
    /// As it was asked for: `by-task@1`.
    pub name: String,
    /// Version of the split.
    pub version: u64,
    /// What it is, in any store.
    pub digest: String,
}

/// A feature, as a manifest tells it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[non_exhaustive]
pub struct FeatureTold {
    /// Its name.
    pub name: String,
    /// Its column.
    pub column: String,
    /// The version of its definition.
    pub version: u32,
    /// As SQL computes it.
    pub sql: String,
    /// Arrow's type of its numbers.
    pub element_type: String,
    /// The name of each of its elements.
    pub elements: Vec<String>,
}

/// A label, as a manifest tells it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[non_exhaustive]
pub struct LabelTold {
    /// Its name: `valid`.
    pub name: String,
    /// The version of its definition.
    pub version: u32,
    /// What 1 is relative to.
    pub relative_to: String,
    /// The version of `records` that the best ones are of.
    pub records_version: Option<u64>,
}

/// The rows, or graphs, of a part.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[non_exhaustive]
pub struct ManifestPart {
    /// Its name, and its folder.
    pub name: String,
    /// Its rows; of graphs, their configurations.
    pub rows: u64,
    /// Its groups; of graphs, these.
    pub groups: u64,
    /// Rows of the largest one.
    pub largest_group: u64,
    /// Failed records among the rows.
    pub failed: u64,
    /// The sum of the XXH3-128 of all rows' keys, whatever their order, as 32 digits.
    pub keys: String,
    /// Its files.
    pub files: Vec<ManifestFile>,
}

/// A file.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[non_exhaustive]
pub struct ManifestFile {
    /// Its path beside the manifest.
    pub path: String,
    /// Its rows.
    pub rows: u64,
    /// Its size.
    pub bytes: u64,
    /// Its checksum.
    pub sha256: String,
}

/// Records that are not among the rows, and why.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[non_exhaustive]
pub struct LeftOut {
    /// The measurement failed.
    pub failed: u64,
    /// It was never made, or is withheld.
    pub unmeasured: u64,
    /// Its time is no number above 0.
    pub without_cost: u64,
    /// They are in no part of the split.
    pub without_part: u64,
    /// They are in parts that were not asked for.
    pub other_parts: u64,
    /// A feature is NULL: how many of each.
    pub null_features: BTreeMap<String, u64>,
    /// Their group was larger than a query may be, and others of it were chosen.
    pub over_limit: u64,
    /// Groups that were cut into several.
    pub cut_groups: u64,
}

/// A file, as a manifest tells it.
pub(crate) fn file_told(written: &Written) -> ManifestFile {
    ManifestFile {
        path: written.path.clone(),
        rows: written.rows,
        bytes: written.bytes,
        sha256: written.sha256.clone(),
    }
}
