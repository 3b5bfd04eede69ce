//! Manifest of training files: all inputs that determine the files, and their checksums.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};
use tsql_store::atomic_output::WrittenFile;

use super::options::TrainingFilesOptions;

/// File name of a manifest.
pub(crate) const MANIFEST: &str = "manifest.json";

/// Format version of manifests.
pub(crate) fn manifest_version() -> u32 {
    1
}

/// All inputs that determine training files, and their checksums. Files contain it as metadata, so the written keys are
/// part of their checksums: fields with a newer name are still written under the earlier one.
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
    /// The target, which a model learns.
    #[serde(rename = "label", alias = "target")]
    pub target: Option<TargetInfo>,
    /// Parts, one folder each.
    pub parts: Vec<ManifestPart>,
    /// Records that are not among the rows.
    #[serde(rename = "left_out", alias = "excluded")]
    pub excluded: ExcludedRecords,
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

/// A target in a manifest.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[non_exhaustive]
pub struct TargetInfo {
    /// Its name: `valid`.
    pub name: String,
    /// Version of its definition.
    pub version: u32,
    /// Description of the reference with the value 1.
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

/// Numbers of records that are not among the rows, by reason.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[non_exhaustive]
pub struct ExcludedRecords {
    /// Failed measurements.
    pub failed: u64,
    /// Unmeasured or withheld records.
    pub unmeasured: u64,
    /// Records whose time is not a number above 0.
    #[serde(rename = "without_cost", alias = "invalid_runtime")]
    pub invalid_runtime: u64,
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

#[cfg(test)]
mod tests {
    use super::*;
    use crate::training::{Label, LargeGroups, TrainingFilesOptions};

    #[test]
    fn manifests_with_earlier_keys_are_read() {
        let earlier = r#"{
            "manifest_version": 1, "tsql_version": "0.1.0", "at": "records@1", "graphs": null, "sql": "SELECT 1", "split": null,
            "rows": {
                "features": ["workload_shape"], "where": null, "split": null, "parts": [], "group": "task", "label": "tenset",
                "form": "npz", "group_rows": 10000, "large_groups": "refused", "skip_null": false, "balance": null, "seed": 0
            },
            "features": [], "parts": [],
            "label": {"name": "tenset", "version": 1, "relative_to": "best", "records_version": null},
            "left_out": {
                "failed": 1, "unmeasured": 2, "without_cost": 3, "without_part": 4, "other_parts": 5, "null_features": {},
                "over_limit": 6, "cut_groups": 7
            }
        }"#;
        let manifest: TrainingManifest = serde_json::from_str(earlier).unwrap();
        let options = TrainingFilesOptions::new(["workload_shape"])
            .target(Label::Tenset)
            .file_format(crate::training::FileForm::Npz)
            .group_rows(10_000, LargeGroups::Rejected);
        assert_eq!(manifest.rows, Some(options));
        assert_eq!(manifest.excluded.invalid_runtime, 3);
        assert_eq!(manifest.target.as_ref().unwrap().name, "tenset");
        let now = serde_json::to_string(&manifest).unwrap();
        for key in ["\"label\"", "\"left_out\"", "\"form\"", "\"refused\""] {
            assert!(now.contains(key), "{key} in {now}");
        }
        let again: TrainingManifest = serde_json::from_str(&now).unwrap();
        assert!(manifest.differences(&again).is_empty());
    }

    #[test]
    fn the_earlier_name_of_a_choice_is_accepted() {
        assert_eq!(
            LargeGroups::parse("refused").unwrap(),
            LargeGroups::Rejected
        );
        assert_eq!(
            LargeGroups::parse("rejected").unwrap(),
            LargeGroups::Rejected
        );
    }
}
